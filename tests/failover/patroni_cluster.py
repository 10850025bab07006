"""The same three nodes with PostgreSQL 15, Patroni and etcd, as Debian packages them (patroni, etcd-server, postgresql-15,
python3-psycopg2), with the interface of cluster.Cluster. Needs root: each node is a network namespace.

`fast` takes the fastest settings that Patroni accepts; otherwise its defaults. Both wait for a synchronous standby
(synchronous_mode), as keel's group does. Each node has an etcd member, a Patroni and a PostgreSQL; clients are given all three
addresses and look for the one that takes writes (libpq's target_session_attrs).
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

from cluster import Cluster, Injected, run

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")
PORT, REST, ETCD, ETCD_PEER = 5432, 8008, 2379, 2380
# Patroni refuses less than 20, 1 and 3 seconds, and wants loop_wait + 2 * retry_timeout <= ttl.
DEFAULT = {"ttl": 30, "loop_wait": 10, "retry_timeout": 10}
FAST = {"ttl": 20, "loop_wait": 1, "retry_timeout": 3, "primary_start_timeout": 0, "master_start_timeout": 0}


class PatroniCluster(Cluster):
    def __init__(self, work, frozen, fast):
        super().__init__(None, work, namespaces=True, frozen=frozen)
        self.settings = FAST if fast else DEFAULT
        self.port = PORT
        self.processes = {}
        work.chmod(0o755)

    # ---- machines ----

    def start(self):
        self.started = False
        super().start()
        for node in self.nodes:
            self.start_etcd(node)
        self.started = True
        for node in self.nodes:
            self.start_node(node)

    def spawn(self, node, name, *command, **environment):
        log = open(self.work / f"{node.name}.{name}.log", "a")
        as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        process = subprocess.Popen(node.enter() + as_postgres + list(command), stdout=log, stderr=log,
                                   cwd=node.data, env=dict(os.environ, HOME=str(node.data), **environment))
        self.processes.setdefault(node.name, {})[name] = process
        return process

    def start_etcd(self, node):
        peers = ",".join(f"{n.name}=http://{n.ip}:{ETCD_PEER}" for n in self.nodes)
        self.spawn(node, "etcd", "etcd", "--name", node.name, "--data-dir", str(node.data / "etcd"),
                   "--listen-client-urls", f"http://{node.ip}:{ETCD}", "--advertise-client-urls", f"http://{node.ip}:{ETCD}",
                   "--listen-peer-urls", f"http://{node.ip}:{ETCD_PEER}",
                   "--initial-advertise-peer-urls", f"http://{node.ip}:{ETCD_PEER}", "--initial-cluster", peers,
                   "--initial-cluster-state", "new", "--enable-v2=true", "--logger", "zap")

    def start_node(self, node):
        shutil.chown(node.data, "postgres", "postgres")
        node.data.chmod(0o700)
        if not self.started:
            return
        if self.processes[node.name]["etcd"].poll() is not None:
            self.start_etcd(node)
        if self.processes[node.name].get("patroni") is None or self.processes[node.name]["patroni"].poll() is not None:
            config = node.data / "patroni.json"
            config.write_text(json.dumps(self.configuration(node)))
            node.process = self.spawn(node, "patroni", "patroni", str(config))

    def configuration(self, node):
        password = {"password": self.password}
        return {
            "scope": "shop",
            "name": node.name,
            "restapi": {"listen": f"{node.ip}:{REST}", "connect_address": f"{node.ip}:{REST}"},
            "etcd3": {"hosts": [f"{n.ip}:{ETCD}" for n in self.nodes]},
            "bootstrap": {
                "dcs": dict(self.settings, synchronous_mode=True, postgresql={"use_pg_rewind": True, "parameters": {
                    "synchronous_commit": "on", "max_connections": 50, "wal_log_hints": "on"}}),
                "initdb": [{"encoding": "UTF8"}, "data-checksums"],
                "pg_hba": ["local all all trust", "host all all 0.0.0.0/0 scram-sha-256",
                           "host replication all 0.0.0.0/0 scram-sha-256"],
            },
            "postgresql": {
                "listen": f"{node.ip}:{PORT}",
                "connect_address": f"{node.ip}:{PORT}",
                "data_dir": str(node.data / "pg"),
                "bin_dir": str(BIN),
                "pgpass": str(node.data / "pgpass"),
                "parameters": {"unix_socket_directories": str(node.data)},
                "authentication": {"superuser": dict(password, username="postgres"),
                                   "replication": dict(password, username="replicator"),
                                   "rewind": dict(password, username="rewinder")},
            },
        }

    def stop(self, keep):
        for node in self.nodes:
            self.signal_node(node, signal.SIGCONT, ["etcd"])
            self.signal_node(node, signal.SIGKILL, ["etcd"])
        super().stop(keep)

    def processes_of(self, node, more=()):
        """Patroni and PostgreSQL, and what else of the node's is named."""
        found = run("ip", "netns", "pids", node.ns, check=False).stdout.split()
        wanted = []
        for pid in found:
            try:
                name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            except OSError:
                continue
            if name in ("postgres", "patroni", "python3", *more):
                wanted.append(int(pid))
        return wanted

    def signal_node(self, node, which, more=()):
        for pid in self.processes_of(node, more):
            try:
                os.kill(pid, which)
            except ProcessLookupError:
                pass
        for process in self.processes.get(node.name, {}).values():
            if which == signal.SIGKILL and (process.args[0] != "etcd" or more):
                try:
                    process.wait(timeout=1)
                except subprocess.TimeoutExpired:
                    pass

    # ---- SQL ----

    def sql(self, node, text, timeout=5):
        command = node.enter() + [str(BIN / "psql"), "-X", "-q", "-A", "-t", "-F", ",", "-c", text,
                                  f"host={node.ip} port={PORT} user=postgres dbname=postgres connect_timeout=2"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                                  env=dict(os.environ, PGPASSWORD=self.password))
        except subprocess.TimeoutExpired:
            return None
        return [line.split(",") for line in done.stdout.splitlines() if line] if done.returncode == 0 else None

    def make_group(self, automatic):
        import time
        deadline = time.monotonic() + 180
        while not self.is_whole():
            if time.monotonic() > deadline:
                raise RuntimeError("Patroni's cluster does not come up; see the logs")
            time.sleep(0.2)
        self.must(self.primary(), "CREATE TABLE IF NOT EXISTS ledger (campaign int, writer int, n int, PRIMARY KEY (campaign, writer, n))")

    def is_primary(self, node):
        return self.sql(node, "SELECT pg_is_in_recovery()") == [["f"]]

    def is_whole(self):
        """Both standbys stream, and one of them is waited for."""
        primary = self.primary()
        if primary is None:
            return False
        rows = self.sql(primary, "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'")
        return rows is not None and len(rows) == 2 and ["sync"] in rows

    def lost(self, acks):
        primary, lost = self.primary(), 0
        for writer, list_ in acks.items():
            numbers = [n for n, _ in list_]
            rows = self.must(primary, f"SELECT n FROM ledger WHERE campaign = 1 AND writer = {writer} "
                                      f"AND n BETWEEN {min(numbers)} AND {max(numbers)}")
            there = {int(row[0]) for row in rows}
            lost += len([n for n in numbers if n not in there])
        return lost

    # ---- faults ----

    def fault_kill(self, node, _):
        """PostgreSQL is killed; Patroni beside it goes on, as it is there to notice."""
        postmaster = int((node.data / "pg" / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        return Injected(lambda: self.start_node(node))

    def fault_stop(self, node, _):
        self.signal_node(node, signal.SIGSTOP)
        return Injected(lambda: self.signal_node(node, signal.SIGCONT))

    def fault_power_off(self, node, target):
        cut = self.fault_partition(node, target)
        self.signal_node(node, signal.SIGKILL, ["etcd"])

        def heal():
            cut.heal()
            self.start_node(node)

        return Injected(heal)

    def fault_planned(self, node, _):
        """A switchover through Patroni's REST interface, to the synchronous standby."""
        body = json.dumps({"leader": node.name}).encode()
        request = urllib.request.Request(f"http://{node.ip}:{REST}/switchover", body, {"Content-Type": "application/json"})
        try:
            urllib.request.urlopen(request, timeout=60).read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"switchover: {error.read().decode()}") from error
        return Injected(lambda: None)
