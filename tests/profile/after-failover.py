#!/usr/bin/env python3
"""Who has the processors after a failover: what docs/profiles.md says of it.

    tests/profile/after-failover.py [--window MS] KEEL [OPTIONS of keel bench failover]

Runs `KEEL bench failover OPTIONS` under `perf record` on all processors, and reads in the nodes' error logs when clients were
last without a primary. Printed are, for each failover, the milliseconds of processor in the window after it (100), by the
threads' names, and how many of them were in page faults and in those of huge pages. The benchmark's end, when its nodes go, may be one
more column. Needs perf and root.
"""

import argparse
import collections
import datetime
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

LOST = re.compile(r"^(\S+ \S+) .*Connections to the listener .* wait for a primary")
# "keel-session 123 4567.890123:" and then one line for each caller.
SAMPLE = re.compile(r"^\s*(.+?)\s+(\d+)\s+(\d+\.\d+):\s*$")
FAULTS = {"handle_mm_fault": "(page faults)", "do_huge_pmd_anonymous_page": "(of huge pages)"}
HERTZ = 4000


def lost_in(log):
    """When clients of a node's listener were without a primary, seconds since 1970."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return []
    times = (found.group(1) for found in map(LOST.match, lines) if found)
    return [datetime.datetime.fromisoformat(t).timestamp() for t in times]


def run(keel, bench):
    """Runs the benchmark, and reads the logs while they are there: it removes its directory. Returns what was found."""
    found = set()
    with subprocess.Popen([keel, "bench", "failover", *bench]) as running:
        logs = Path(tempfile.gettempdir()) / f"keel-bench-{running.pid}-failover"
        while running.poll() is None:
            time.sleep(0.5)
            for log in logs.glob("**/errorlog*"):
                found.update(lost_in(log))
    if running.returncode != 0:
        raise SystemExit(running.returncode)
    return found


def failovers(times):
    """The first time of each failover: its nodes do not see it at once."""
    first = []
    for t in sorted(times):
        if not first or t - first[-1] > 1:
            first.append(t)
    return first


def samples(recorded):
    """Thread's name, time, and the functions it was in, of every sample."""
    command = ["perf", "script", "-i", recorded, "-F", "comm,tid,time,ip,sym"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as perf:
        sample = None
        for line in perf.stdout:
            if found := SAMPLE.match(line):
                sample = (found.group(1), float(found.group(3)), set())
            elif sample and (words := line.split()):
                sample[2].add(words[1] if len(words) > 1 else words[0])
            elif sample:
                yield sample
                sample = None


def profile(recorded, starts, window):
    """Milliseconds by name for each start."""
    shares = [collections.Counter() for _ in starts]
    for name, at, inside in samples(recorded):
        for start, share in zip(starts, shares):
            if start <= at < start + window and name != "swapper":
                share[name] += 1000 / HERTZ
                for function, what in FAULTS.items():
                    share[what] += 1000 / HERTZ if function in inside else 0
    return shares


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=float, default=100, metavar="MS")
    parser.add_argument("keel")
    options, bench = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as place:
        recorded = f"{place}/perf.data"
        record = ["perf", "record", "-q", "-a", "-g", "-k", "CLOCK_MONOTONIC", "-F", str(HERTZ), "-m", "4096"]
        perf = subprocess.Popen([*record, "-e", "cpu-clock", "-o", recorded])
        try:
            found = run(options.keel, bench)
        finally:
            perf.send_signal(signal.SIGINT)
            perf.wait()
        offset = time.time() - time.monotonic()
        starts = [t - offset for t in failovers(found)]
        shares = profile(recorded, starts, options.window / 1000)
    total = sum(shares, collections.Counter())
    names = [name for name, ms in total.most_common() if ms >= 1]
    print(f"ms of processor in the {options.window:.0f} ms after each of {len(starts)} failovers")
    for name in names:
        row = " ".join(f"{share[name]:6.1f}" for share in shares)
        print(f"{name:>18} {row}")


if __name__ == "__main__":
    main()
