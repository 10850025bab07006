#!/usr/bin/env python3
"""Two builds, or one with two environments, beside each other under TPROC-C: what docs/profiles.md says of them.

    tests/profile/beside.py [--group] [--pairs N] [--clients N] [--transactions N] [--warehouses N] FIRST SECOND

FIRST and SECOND are a path of `keel`, perhaps behind variables: "MIMALLOC_PURGE_DELAY=-1 target/release/keel". Both are
started and loaded, then run slices of a fixed number of transactions by turns, the other way round in every second pair;
FIRST's program is the driver of both. With --group each is a primary with a synchronous secondary, the primaries on
processor 0 and all else on 1, behind a checkpoint. Printed are the medians of each, and of SECOND / FIRST over the pairs
with its quartiles.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import socket
import statistics
import subprocess
import tempfile
from pathlib import Path

PASSWORD = "Beside-2026"
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def keel(program, *arguments, pinned=False):
    pin = ["taskset", "-c", "1"] if pinned else []
    environment = os.environ | {"SQLCMDPASSWORD": PASSWORD}
    done = subprocess.run([*pin, program, *arguments], env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"keel {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


class Server:
    """A `keel serve` on a port of its own."""

    def __init__(self, words, place, name, processor=None):
        *variables, self.program = shlex.split(words)
        environment = os.environ | dict(v.split("=", 1) for v in variables) | {"MSSQL_SA_PASSWORD": PASSWORD}
        pin = [] if processor is None else ["taskset", "-c", str(processor)]
        serve = ["serve", "--data", f"{place}/{name}", "--listen", "127.0.0.1:0", "--server-name", name]
        self.process = subprocess.Popen(
            [*pin, self.program, *serve], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        ready = re.search(r":(\d+)\s*$", self.process.stdout.readline())
        if not ready:
            raise SystemExit(f"{words}: the server did not become ready")
        self.address = f"127.0.0.1,{ready[1]}"

    def spent(self):
        """Microseconds of its own and of the kernel, and page faults, since it began."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return float(fields[11]) * TICK_US, float(fields[12]) * TICK_US, float(fields[7])

    def resident_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def with_secondary(words, place, name):
    """A primary that has the rows, with a synchronous secondary."""
    primary = Server(words, place, f"{name}1", 0)
    yield primary
    secondary = Server(words, place, f"{name}2", 1)
    run = lambda command, *more, at=primary: keel(primary.program, *command, "-S", at.address, "-C", *more)
    token = re.search(r"keel://\S+", run(["init"], "--endpoint", f"127.0.0.1:{free_port()}"))[0]
    run(["join", token], "--endpoint", f"127.0.0.1:{free_port()}", at=secondary)
    run(["sql"], "-b", "-Q", "ALTER DATABASE tpcc SET RECOVERY FULL")
    run(["group", "create", "ag"], "--database", "tpcc", "--member", secondary.address)
    run(["sql"], "-b", "-Q", "CHECKPOINT", "-d", "tpcc")
    yield secondary


def bench(driver, server, place, options, *more):
    address = ["--server", server.address, "-P", PASSWORD, "--warehouses", str(options.warehouses), "--report", f"{place}/reports"]
    said = keel(driver, "bench", "tpcc", *address, *more, pinned=options.group)
    report = re.search(r"report: (\S+)\.html", said)[1]
    figures = json.loads(Path(f"{report}.json").read_text())["figures"]
    return next(f["samples"][0] for f in figures if f["name"] == "transactions")


def slice_of(driver, servers, place, options):
    before = [s.spent() for s in servers]
    more = ["--no-build", "--warm-up", "0", "--clients", str(options.clients), "--transactions", str(options.transactions)]
    rate = bench(driver, servers[0], place, options, *more)
    per = [(b - a) / options.transactions for s, was in zip(servers, before) for a, b in zip(was, s.spent())]
    return [rate, *per]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--group", action="store_true")
    for name, default in ("pairs", 12), ("clients", 8), ("transactions", 15_000), ("warehouses", 4):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("first")
    parser.add_argument("second")
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix="keel-beside-")
    sides = []
    try:
        driver = shlex.split(options.first)[-1]
        for name, words in ("A", options.first), ("B", options.second):
            making = with_secondary(words, place, name) if options.group else iter([Server(words, place, name)])
            sides.append([next(making)])
            bench(driver, sides[-1][0], place, options, "--clients", "8", "--seconds", "3")
            sides[-1].extend(making)
        seen = [[], []]
        for pair in range(options.pairs):
            for side in (0, 1) if pair % 2 == 0 else (1, 0):
                seen[side].append(slice_of(driver, sides[side], place, options))
        of_one = ["user us", "kernel us", "page faults"]
        names = ["transactions/s", *(f"{who}{n}" for who in ["", "secondary: "][: len(sides[0])] for n in of_one)]
        print(f"{'per transaction':24}{'first':>10}{'second':>10}{'second / first (quartiles)':>32}")
        for at, name in enumerate(names):
            first, second = ([row[at] for row in rows] for rows in seen)
            ratios = [b / a for a, b in zip(first, second) if a > 0]
            spread = "" if len(ratios) < 2 else "{1:.3f} ({0:.3f} to {2:.3f})".format(*statistics.quantiles(ratios, n=4, method="inclusive"))
            print(f"{name:24}{statistics.median(first):10.2f}{statistics.median(second):10.2f}{spread:>32}")
        for number in range(len(sides[0])):
            print(f"{'resident MB':24}" + "".join(f"{side[number].resident_mb():10.0f}" for side in sides))
    finally:
        for server in (s for side in sides for s in side):
            server.process.terminate()
            server.process.wait()
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
