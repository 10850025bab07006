"""What the parser takes for T-SQL beside what ScriptDom takes: see run.sh."""

import argparse
import ast
import collections
import pathlib
import random
import re
import subprocess
import threading
import time

TOKEN = re.compile(
    r"\s+|--[^\n]*|/\*.*?\*/|N?'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\[(?:[^\]]|\]\])*\]|[@#$\w]+(?:\.\d+)?|<>|[<>!]=|\|\||::|.",
    re.DOTALL)
TOKENS_MAX = 64  # of a batch that is mutated
MUTATIONS = 50  # at a time


class Side:
    """A parser in a process of its own. It answers with what is wrong (number, line, message) or where statements begin."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, batches):
        def send():
            for batch in batches:
                self.process.stdin.write(batch.replace("\0", " ").encode("utf-8", "replace") + b"\0")
            self.process.stdin.flush()

        sender = threading.Thread(target=send)
        sender.start()
        answers = [self.process.stdout.readline().decode().rstrip("\n").split("\t") for _ in batches]
        sender.join()
        return [(None, [int(at) for at in a[1:]]) if a[0] == "ok" else ((int(a[0]), int(a[1]), a[2]), []) for a in answers]


# ---- batches ----

def batches_of(path):
    """(line, batch) of a script, of a document's T-SQL blocks, or of the strings in a Python file."""
    text = path.read_bytes()
    encoding = "utf-16" if text[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = text.decode(encoding, "replace").replace("\r\n", "\n")
    if path.suffix == ".md":
        blocks = [(text.count("\n", 0, m.start()) + 2, m[1])
                  for m in re.finditer(r"^```\s*(?:t?sql)\b[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE | re.IGNORECASE)]
    elif path.suffix == ".py":
        blocks = [(node.lineno, node.value) for node in ast.walk(ast.parse(text))
                  if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value]
    else:
        blocks = [(1, text)]
    for line, block in blocks:
        for begins, batch in split_go(block):
            yield line + begins, batch


def split_go(script):
    """(line from 0, batch) of each batch between GO lines."""
    begins, lines, inside = 0, [], None
    for number, line in enumerate(script.split("\n")):
        if inside is None and re.fullmatch(r"\s*go\b\s*\d*\s*;?\s*(--.*)?", line, re.IGNORECASE):
            if "".join(lines).strip():
                yield begins, "\n".join(lines)
            begins, lines = number + 1, []
            continue
        lines.append(line)
        inside = inside_after(line, inside)
    if "".join(lines).strip():
        yield begins, "\n".join(lines)


def inside_after(line, inside):
    """The closing mark of the string, quoted name or comment in which the line ends."""
    at = 0
    while at < len(line):
        if inside:
            end = line.find(inside, at)
            if end < 0:
                return inside
            at, inside = end + len(inside), None
        elif line.startswith("--", at):
            return None
        elif line.startswith("/*", at):
            at, inside = at + 2, "*/"
        else:
            inside = {"'": "'", '"': '"', "[": "]"}.get(line[at])
            at += 1
    return inside


# ---- differences ----

def kind_of(ours, theirs):
    """Of two errors, either of which may not be."""
    if ours and theirs:
        return None if ours[1] == theirs[1] else "another line"
    return "too strict" if ours else "too lenient" if theirs else None


def solid(token):
    return not token.isspace() and not token.startswith(("--", "/*"))


def words_of(batch, how_many=3):
    words = [t for t in TOKEN.findall(batch) if re.match(r"[\w@#$(\[\"{]", t)]
    return " ".join("@" if w[0] == "@" else w.upper() for w in words[:how_many])


def cut(batch, begins):
    """The statements that begin at these UTF-16 positions."""
    units = batch.encode("utf-16-le")
    ends = begins[1:] + [len(units) // 2]
    return [units[2 * a:2 * b].decode("utf-16-le", "replace").rstrip("\n") for a, b in zip(begins, ends)]


def mutate(batch, others, chance):
    tokens = TOKEN.findall(batch)
    places = [i for i, t in enumerate(tokens) if solid(t)]
    at = chance.choice(places)
    match chance.randrange(5):
        case 0:
            tokens[at] = " "
        case 1:
            tokens[at] += " " + tokens[at]
        case 2:
            other = chance.choice(places)
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 3:
            tokens[at] = " " + chance.choice(others) + " "
        case _:
            tokens[at] += " " + chance.choice(others) + " "
    return "".join(tokens)


class Comparison:
    def __init__(self, options):
        self.ours = Side([options.ours])
        self.theirs = Side(["bash", "-c", options.theirs])
        self.options = options

    def differences(self, batches):
        """(kind, our error, their error, where ours has statements, where theirs) of each batch."""
        return [(kind_of(our, their), our, their, our_begins, their_begins)
                for (our, our_begins), (their, their_begins) in zip(self.ours.ask(batches), self.theirs.ask(batches))]

    def corpus(self):
        for place in map(pathlib.Path, self.options.places):
            paths = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.suffix in (".sql", ".md"))
            for path in paths:
                for line, batch in batches_of(path):
                    yield f"{path}:{line}", batch

    def compare(self):
        """All batches as they are. Of one that one side takes, the statements that the other does not."""
        places, batches = zip(*self.corpus())
        counts, seen = collections.Counter(), set()
        for place, batch, (kind, our, their, our_begins, their_begins) in zip(places, batches, self.differences(batches)):
            counts[kind or ("refused by both" if our else "taken by both")] += 1
            if kind is None:
                continue
            statements = cut(batch, our_begins or their_begins)
            found = [(s, d) for s, d in zip(statements, self.differences(statements)) if d[0] == kind]
            for statement, (_, our, their, *_) in found or [(batch, (kind, our, their))]:
                self.show(kind, place, statement, our, their, seen)
        print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))

    def show(self, kind, place, text, our, their, seen):
        said = " | ".join(f"{who} {e[0]}, line {e[1]}: {e[2]}" for who, e in (("ours", our), ("ScriptDom", their)) if e)
        like = kind, words_of(text), re.sub(r"line \d+", "", said)
        if like in seen or self.options.only not in (None, kind):
            return
        seen.add(like)
        lines = text.split("\n")
        around = " ".join(" ".join(lines[max(0, e[1] - 2):e[1] + 1]).strip() for e in (our, their) if e)
        print(f"{kind}: {place}: {said}\n    {' '.join(lines[0].split())[:100]} … {' '.join(around.split())[:300]}", flush=True)

    def shrink(self, batch, kind, error):
        """Leaves out tokens as long as the difference stays: what is left, and the error of the one that refuses it."""
        tokens, size = [t for t in TOKEN.findall(batch) if solid(t)], TOKENS_MAX
        while size:
            shorter = [tokens[:at] + tokens[at + size:] for at in range(0, len(tokens), size)]
            same = [(s, d) for s, d in zip(shorter, self.differences([" ".join(s) for s in shorter])) if d[0] == kind]
            if same:
                tokens, error = same[0][0], same[0][1][1] or same[0][1][2]
            else:
                size //= 2
        return " ".join(tokens), error

    def mutations(self):
        batches = [batch for _, batch in self.corpus()]
        taken = [s for batch, (_, our, their, _, begins) in zip(batches, self.differences(batches))
                 if not our and not their for s in cut(batch, begins) + [batch] if 1 < sum(map(solid, TOKEN.findall(s))) <= TOKENS_MAX]
        others = sorted({t for batch in taken for t in TOKEN.findall(batch) if solid(t)})
        chance, until = random.Random(self.options.seed), time.time() + 60 * self.options.minutes
        tried, groups = 0, collections.defaultdict(dict)
        while taken and time.time() < until:
            made = [mutate(chance.choice(taken), others, chance) for _ in range(MUTATIONS)]
            tried += len(made)
            for batch, (kind, our, their, *_) in zip(made, self.differences(made)):
                if kind in ("too lenient", "too strict") and self.options.only in (None, kind) and time.time() < until:
                    small, error = self.shrink(batch, kind, our or their)
                    groups[kind, words_of(small)][" ".join(small.split())] = error
        for (kind, head), smalls in sorted(groups.items(), key=lambda group: -len(group[1])):
            print(f"{kind}: {head}: {len(smalls)}")
            for small, error in sorted(smalls.items(), key=lambda item: len(item[0]))[:5]:
                print(f"    {small[:200]}\n        {error[0]}: {error[2]}")
        print(f"{tried} mutations, {sum(map(len, groups.values()))} differences in {len(groups)} groups")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True)
    parser.add_argument("--theirs", required=True)
    parser.add_argument("--mutate", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--only", choices=["too lenient", "too strict", "another line"])
    parser.add_argument("places", nargs="+")
    comparison = Comparison(parser.parse_args())
    if comparison.options.mutate:
        comparison.mutations()
    else:
        comparison.compare()


if __name__ == "__main__":
    main()
