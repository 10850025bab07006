"""Runs sqllogictest scripts against a server: see run.sh. The form of the scripts is sqllogictest's about.wiki."""

import argparse
import hashlib
import itertools
import multiprocessing
import os
import pathlib
import sys

import pymssql

ENGINE = "mssql"
FAILURES = "sqllogictest-failures.txt"


def records(path):
    """The script's records for this engine: (line, words, text, expected lines or None)."""
    lines = iter(enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1))
    ours = True
    for number, line in lines:
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] in ("skipif", "onlyif"):
            ours &= (words[0] == "onlyif") == (words[1] == ENGINE)
            continue
        block = list(itertools.takewhile(str.strip, (text for _, text in lines))) if words[0] in ("statement", "query") else []
        mine, ours = ours, True
        if not mine:
            continue
        if words[0] == "halt":
            return
        cut = block.index("----") if "----" in block else len(block)
        yield number, words, "\n".join(block[:cut]), block[cut + 1 :] if cut < len(block) else None


def shown(value, kind):
    """A value as sqllogictest prints one of type I, R or T."""
    if value is None:
        return "NULL"
    if kind == "I":
        return str(int(value))
    if kind == "R":
        return f"{float(value):.3f}"
    return "".join(c if " " <= c <= "~" else "@" for c in str(value)) or "(empty)"


def answer(rows, kinds, order):
    """All values in the order in which they are compared."""
    rows = [[shown(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in rows]
    if order == "rowsort":
        rows.sort()
    values = list(itertools.chain.from_iterable(rows))
    return sorted(values) if order == "valuesort" else values


def digest(values):
    return hashlib.md5("".join(f"{value}\n" for value in values).encode()).hexdigest()


def judge(cursor, words, text, expected, labels):
    """None, or what is wrong."""
    try:
        cursor.execute(text)
        rows = cursor.fetchall() if words[0] == "query" else []
    except pymssql.Error as error:
        return None if words[1] == "error" else f"error {error}"
    if words[0] == "statement":
        return None if words[1] == "ok" else "no error"
    order, label = (words[2:] + ["nosort", None][len(words[2:]) :])[:2]
    try:
        values = answer(rows, words[1], order)
    except ValueError as error:
        return f"columns or types differ: {error}"
    if label and labels.setdefault(label, digest(values)) != digest(values):
        return f"another query of label {label} gave other rows"
    hashed = f"{len(values)} values hashing to {digest(values)}"
    if expected is None or expected in (values, [hashed]):
        return None
    return f"expected {expected[:10]}, got {values[:10] if len(values) <= 10 else hashed}"


def run(job):
    """Runs a script in a database of its own: (script, records that hold, failures)."""
    path, (host, port), password = job
    connection = pymssql.connect(server=host, port=port, user="sa", password=password, autocommit=True)
    cursor = connection.cursor()
    database = f"sqllogictest_{os.getpid()}"
    cursor.execute(f"DROP DATABASE IF EXISTS {database}; CREATE DATABASE {database}")
    cursor.execute(f"USE {database}")
    good, failures, labels = 0, [], {}
    for line, words, text, expected in records(path):
        if words[0] in ("statement", "query"):
            wrong = judge(cursor, words, text, expected, labels)
            good += wrong is None
            if wrong:
                failures.append(f"{path}:{line}\n{text}\n=> {wrong}\n")
    cursor.execute(f"USE master; DROP DATABASE {database}")
    return path, good, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scripts", type=pathlib.Path)
    parser.add_argument("address")
    parser.add_argument("patterns", nargs="*", default=["**/*.test"])
    parser.add_argument("--every", type=int, default=1, help="run each N-th script")
    parser.add_argument("--jobs", type=int, default=2, help="connections at a time")
    options = parser.parse_intermixed_args()
    host, _, port = options.address.rpartition(":")
    paths = sorted({p for pattern in options.patterns for p in options.scripts.glob(pattern)})[:: options.every]
    if not paths:
        sys.exit("no script matches")
    jobs = [(path, (host, port), os.environ["MSSQL_SA_PASSWORD"]) for path in paths]
    held = failed = 0
    with multiprocessing.Pool(options.jobs) as pool, open(FAILURES, "w", encoding="utf-8") as report:
        for done, (path, good, failures) in enumerate(pool.imap_unordered(run, jobs), 1):
            held, failed = held + good, failed + len(failures)
            report.writelines(f"{failure}\n" for failure in failures)
            name = path.relative_to(options.scripts)
            print(f"{done} of {len(paths)}: {name}: {good} hold, {len(failures)} fail", flush=True)
    print(f"{held} statements and queries hold, {failed} fail")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
