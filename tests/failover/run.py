#!/usr/bin/env python3
"""How long do clients wait, and what do they lose, when the primary of a group fails?

Starts three `keel serve` processes with a synchronous, automatic group and a listener, runs writers with a ledger through the
listener with a stock driver, and for each fault and run: lets them write, fails the primary, waits until every writer goes on,
takes the fault back, waits until the group is whole again, and compares what was acknowledged with what is there.

    tests/failover/run.py --faults kill,planned --runs 5
    sudo tests/failover/run.py --faults all --runs 50 --driver go --csv failover.csv
    sudo tests/failover/run.py --system patroni --faults all --runs 50      # PostgreSQL 15, Patroni and etcd, as they come
    sudo tests/failover/run.py --system patroni-fast --faults all --runs 50 # and as fast as they may be set

As root the nodes live in network namespaces with addresses and file systems of their own, and all faults can be had; without
root they live on 127.0.0.x, and only kill, stop and planned can. See docs/benchmarks.md.
"""

import argparse
import csv
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from cluster import Cluster
from patroni_cluster import PatroniCluster

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = ROOT / "target" / "clients"

# Fault: what it is, and whether the group is to have another primary afterwards.
FAULTS = {
    "kill": "the process is killed (kill -9): its sockets close",
    "stop": "the process is stopped (SIGSTOP): its sockets stay and nothing answers",
    "partition": "the node is cut off from everybody, both ways",
    "one-way-in": "nothing reaches the node; what it sends arrives",
    "one-way-out": "the node receives; nothing it sends arrives",
    "disk": "its file system is frozen (fsfreeze): writes do not end",
    "power-off": "cut off and killed at once: no socket is closed",
    "planned": "ALTER AVAILABILITY GROUP ... FAILOVER on a secondary",
}
UNPRIVILEGED = ["kill", "stop", "planned"]


class Writers:
    """Clients in processes of their own; each line they print is an acknowledged row or a failed try."""

    def __init__(self, options, cluster, campaign):
        self.acks = {}
        self.errors = {}
        self.lock = threading.Lock()
        hosts = ",".join(node.ip for node in cluster.nodes)
        command, count = self.command(options)
        settings = dict(
            os.environ,
            KEEL_HOSTS=hosts,
            KEEL_PORT=str(cluster.port),
            KEEL_PASSWORD=cluster.password,
            KEEL_CAMPAIGN=str(campaign),
            KEEL_PACE_MS=str(options.pace_ms),
            KEEL_TIMEOUT_MS=str(options.client_timeout_ms),
        )
        self.processes = []
        for first in range(0, options.writers, count):
            settings["KEEL_FIRST_WRITER"] = str(first)
            settings["KEEL_WRITERS"] = str(min(count, options.writers - first))
            process = subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=sys.stderr, text=True)
            self.processes.append(process)
            threading.Thread(target=self.read, args=(process,), daemon=True).start()

    def command(self, options):
        """The program, and how many writers one process of it has."""
        if options.driver == "psycopg2":
            return ["/usr/bin/python3", str(HERE / "writer_pg.py")], options.writers
        if options.driver == "pymssql":
            venv = CACHE / "python"
            if not (venv / "bin" / "python").exists():
                subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            python = venv / "bin" / "python"
            if subprocess.run([python, "-c", "import pymssql"], capture_output=True).returncode != 0:
                subprocess.run([venv / "bin" / "pip", "install", "-q", "pymssql"], check=True)
            return [str(python), str(HERE / "writer.py")], 1
        if options.driver == "go":
            place = CACHE / "failover-go"
            place.mkdir(parents=True, exist_ok=True)
            (place / "main.go").write_bytes((HERE / "go" / "main.go").read_bytes())
            if not (place / "go.sum").exists():
                (place / "go.mod").write_bytes((HERE / "go" / "go.mod").read_bytes())
                subprocess.run(["go", "get", "github.com/microsoft/go-mssqldb@v1.11.2"], cwd=place, check=True,
                               stderr=subprocess.DEVNULL)
            subprocess.run(["go", "build", "-o", "writer", "."], cwd=place, check=True)
            return [str(place / "writer")], options.writers
        lib = CACHE / "jdbc" / "lib"
        if not lib.exists():
            pom = ROOT / "tests" / "clients" / "jdbc" / "pom.xml"
            subprocess.run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={lib}"],
                           check=True)
        return ["java", "-cp", f"{lib}/*", str(HERE / "jdbc" / "Writer.java")], options.writers

    def read(self, process):
        for line in process.stdout:
            kind, writer, rest = line.rstrip("\n").split(" ", 2)
            with self.lock:
                if kind == "A":
                    n, at = rest.split(" ")
                    self.acks.setdefault(int(writer), []).append((int(n), int(at)))
                else:
                    self.errors.setdefault(rest[:100], 0)
                    self.errors[rest[:100]] += 1

    def since(self, at):
        """Acknowledgements of each writer after a time, with the last one before it."""
        with self.lock:
            found = {}
            for writer, acks in self.acks.items():
                first = next((i for i in range(len(acks) - 1, -1, -1) if acks[i][1] <= at), 0)
                found[writer] = acks[first:]
            return found

    def all_go_on(self, count, since):
        """Whether every writer was acknowledged something within the last tenth of a second, and after `since`."""
        now = time.time_ns()
        newest = {w: a[-1][1] for w, a in self.since(0).items()}
        return len(newest) == count and all(at > since and now - at < 100_000_000 for at in newest.values())

    def take(self):
        """All acknowledgements so far, taken off the books but for the newest of each writer."""
        with self.lock:
            taken = {w: list(a) for w, a in self.acks.items()}
            self.acks = {w: a[-1:] for w, a in self.acks.items()}
            return taken

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


def until(what, seconds, condition):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    print(f"   gave up waiting after {seconds} s: {what}", file=sys.stderr)
    return False


def gaps(acks, end):
    """The longest time without an acknowledgement, of each writer, in ms."""
    found = []
    for list_ in acks.values():
        times = [at for _, at in list_ if at <= end] + [end]
        found.append(max((b - a for a, b in zip(times, times[1:])), default=0) / 1e6)
    return found


def one_run(options, cluster, writers, fault):
    """One fault from a whole group to a whole group. Returns a row, or None when the group did not come back."""
    count = options.writers
    if not until("a whole group and busy writers", 180,
                 lambda: cluster.is_whole() and writers.all_go_on(count, 0)):
        return None
    time.sleep(random.uniform(0.5, 1.0))
    old = cluster.primary()
    target = next(n for n in cluster.nodes if n is not old)
    began = time.time_ns()
    inject = cluster.inject(fault, old, target)
    if options.by_hand and fault != "planned":
        time.sleep(options.by_hand / 1000)
        cluster.force(target)
    went_on = until("writers to go on", 60, lambda: writers.all_go_on(count, began + 1_000_000))
    # A writer whose connection the fault has not touched yet would look as if it went on.
    time.sleep(options.settle)
    went_on = until("writers to go on", 60, lambda: writers.all_go_on(count, began + 1_000_000)) and went_on
    ended = time.time_ns()
    found = gaps(writers.since(began), ended)
    new = next((n.name for n in cluster.nodes if n is not old and cluster.is_primary(n)), old.name)
    inject.heal()
    if options.by_hand and fault != "planned":
        until("suspended copies", 60, lambda: cluster.resume(target))
    whole = until("a whole group after the fault", 180, cluster.is_whole)
    until("writers to go on", 60, lambda: writers.all_go_on(count, ended))
    back = gaps(writers.since(ended), time.time_ns())
    lost = cluster.lost(writers.take())
    return {
        "fault": fault,
        "old": old.name,
        "new": new,
        "went_on": went_on,
        "whole": whole,
        "gap_ms_min": round(min(found), 1),
        "gap_ms_median": round(statistics.median(found), 1),
        "gap_ms_max": round(max(found), 1),
        "return_gap_ms_max": round(max(back), 1),
        "lost": lost,
    }


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", default="kill,planned", help=f"comma-separated, or all: {', '.join(FAULTS)}")
    parser.add_argument("--runs", type=int, default=5, help="runs of each fault")
    parser.add_argument("--driver", choices=["pymssql", "go", "jdbc", "psycopg2"], default="go")
    parser.add_argument("--system", choices=["keel", "patroni", "patroni-fast"], default="keel",
                        help="what is failed over; the latter two need root and Debian's patroni, etcd-server, postgresql-15")
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--pace-ms", type=float, default=2.0, help="pause of a writer between two rows")
    parser.add_argument("--client-timeout-ms", type=int, default=500,
                        help="how long a client waits for an answer (pymssql: whole seconds)")
    parser.add_argument("--settle", type=float, default=1.0, help="seconds of writing behind each failover")
    parser.add_argument("--by-hand", type=int, default=0, metavar="MS",
                        help="fail over by force this many ms after the fault, for groups that do not by themselves")
    parser.add_argument("--manual", action="store_true", help="leave FAILOVER_MODE = MANUAL")
    parser.add_argument("--keel", default=os.environ.get("KEEL", str(ROOT / "target" / "release" / "keel")))
    parser.add_argument("--csv", help="a row for each run")
    parser.add_argument("--keep", action="store_true", help="keep the nodes' directories")
    options = parser.parse_args()
    root = os.geteuid() == 0
    if options.system != "keel":
        options.driver = "psycopg2"
        if not root:
            parser.error("Patroni's nodes need root")
    elif options.driver == "psycopg2":
        parser.error("psycopg2 is for PostgreSQL")
    faults = list(FAULTS if root else UNPRIVILEGED) if options.faults == "all" else options.faults.split(",")
    for fault in faults:
        if fault not in FAULTS:
            parser.error(f"no fault is called {fault}")
        if not root and fault not in UNPRIVILEGED:
            parser.error(f"{fault} needs root")

    work = pathlib.Path(tempfile.mkdtemp(prefix="keel-failover-"))
    rows, failed = [], False
    if options.system == "keel":
        cluster = Cluster(options.keel, work, namespaces=root, frozen="disk" in faults)
    else:
        cluster = PatroniCluster(work, "disk" in faults, options.system == "patroni-fast")
    writers = None
    try:
        cluster.start()
        cluster.make_group(automatic=not options.manual and not options.by_hand)
        writers = Writers(options, cluster, 1)
        for fault in faults:
            for run in range(options.runs):
                row = one_run(options, cluster, writers, fault)
                if row is None:
                    failed = True
                    break
                row["run"] = run
                row["driver"] = options.driver
                rows.append(row)
                print(f"{fault:12} run {run + 1:3}: {row['old']} -> {row['new']}, gap {row['gap_ms_min']:.0f} to "
                      f"{row['gap_ms_max']:.0f} ms, on return {row['return_gap_ms_max']:.0f} ms, lost {row['lost']}",
                      flush=True)
    finally:
        if writers:
            writers.stop()
            for text, times in sorted(writers.errors.items(), key=lambda e: -e[1])[:8]:
                print(f"   {times} x {text}", file=sys.stderr)
        if failed or options.keep:
            print(f"   the nodes' directories are kept in {work}", file=sys.stderr)
        cluster.stop(keep=failed or options.keep)

    print(f"\n{'fault':12} {'runs':>5} {'p50 ms':>9} {'p99 ms':>9} {'max ms':>9} {'return p99':>11} {'lost':>6}  ({options.driver})")
    for fault in faults:
        of = [r for r in rows if r["fault"] == fault]
        if not of:
            print(f"{fault:12} {0:5}")
            continue
        worst = [r["gap_ms_max"] for r in of]
        back = [r["return_gap_ms_max"] for r in of]
        lost = sum(r["lost"] for r in of)
        failed |= lost > 0 or not all(r["went_on"] and r["whole"] for r in of)
        print(f"{fault:12} {len(of):5} {percentile(worst, 50):9.1f} {percentile(worst, 99):9.1f} {max(worst):9.1f} "
              f"{percentile(back, 99):11.1f} {lost:6}")
    if options.csv and rows:
        with open(options.csv, "w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
