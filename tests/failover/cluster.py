"""Three nodes with a group and a listener, and the faults they can be given."""

import os
import shutil
import signal
import socket
import subprocess

PASSWORD = "Keel-Test-1"
BRIDGE = "keelfo0"
NET = "10.91.7"


def run(*command, check=True, **more):
    return subprocess.run(command, check=check, capture_output=True, text=True, **more)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Node:
    def __init__(self, number, work, namespaces):
        self.number = number
        self.name = f"NODE{number}"
        self.ns = f"keelfo{number}" if namespaces else None
        self.ip = f"{NET}.{10 + number}" if namespaces else f"127.0.0.{number}"
        self.mac = f"02:4b:45:45:4c:{number:02x}"
        self.data = work / self.name
        self.image = work / f"{self.name}.img"
        self.process = None
        self.mounted = False

    def enter(self):
        return ["ip", "netns", "exec", self.ns] if self.ns else []


class Injected:
    """A fault, and how it is taken back."""

    def __init__(self, heal):
        self.heal = heal


class Cluster:
    def __init__(self, keel, work, namespaces, frozen):
        self.keel, self.work, self.frozen = keel, work, frozen
        self.password = PASSWORD
        self.namespaces = namespaces
        self.nodes = [Node(n, work, namespaces) for n in (1, 2, 3)]
        if namespaces:
            self.tds, self.endpoint, self.port = 1433, 5022, 1500
        else:
            self.tds, self.endpoint, self.port = free_port(), free_port(), free_port()

    # ---- machines ----

    def start(self):
        if self.namespaces:
            self.remove_network()
            run("ip", "link", "add", BRIDGE, "type", "bridge")
            run("ip", "addr", "add", f"{NET}.1/24", "dev", BRIDGE)
            run("ip", "link", "set", BRIDGE, "up")
        for node in self.nodes:
            if node.ns:
                run("ip", "netns", "add", node.ns)
                run("ip", "link", "add", node.ns, "type", "veth", "peer", "name", "eth0", "netns", node.ns)
                run("ip", "link", "set", node.ns, "master", BRIDGE, "up")
                run(*node.enter(), "ip", "link", "set", "eth0", "address", node.mac)
                run(*node.enter(), "ip", "addr", "add", f"{node.ip}/24", "dev", "eth0")
                run(*node.enter(), "ip", "link", "set", "eth0", "up")
                run(*node.enter(), "ip", "link", "set", "lo", "up")
            node.data.mkdir()
            if self.frozen:
                with open(node.image, "wb") as image:
                    image.truncate(8 << 30)
                run("mkfs.ext4", "-q", str(node.image))
                run("mount", "-o", "loop", str(node.image), str(node.data))
                node.mounted = True
        for node in self.nodes:
            self.start_node(node)

    def start_node(self, node):
        # So many failovers in a row would be held back, and the pauses measured.
        settings = self.work / "keel.toml"
        settings.write_text("[cluster]\nflap_max = 1000000\n")
        command = node.enter() + [self.keel, "serve", "--config", str(settings), "--quiet", "--data", str(node.data / "keel"), "--listen",
                                  f"{node.ip}:{self.tds}", "--server-name", node.name, "--max-server-memory", "512"]
        environment = dict(os.environ, MSSQL_SA_PASSWORD=PASSWORD)
        node.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True,
                                        stderr=open(self.work / f"{node.name}.stderr", "a"))
        ready = node.process.stdout.readline()
        if not ready.startswith("keel: ready"):
            raise RuntimeError(f"{node.name} did not start: {ready}")

    def stop(self, keep):
        for node in self.nodes:
            if node.mounted:
                run("fsfreeze", "-u", str(node.data), check=False)
            if node.process and node.process.poll() is None:
                node.process.send_signal(signal.SIGCONT)
                node.process.kill()
            if node.process:
                node.process.wait()
            if node.mounted and not keep:
                run("umount", str(node.data), check=False)
        if self.namespaces:
            self.remove_network()
        if not keep:
            shutil.rmtree(self.work, ignore_errors=True)

    def remove_network(self):
        for node in self.nodes:
            run("ip", "link", "del", node.ns, check=False)
            run("ip", "netns", "del", node.ns, check=False)
        run("ip", "link", "del", BRIDGE, check=False)

    # ---- SQL ----

    def sql(self, node, text, timeout=5):
        """The rows of a batch as lists of strings; None when it failed."""
        command = [self.keel, "sql", "-S", f"{node.ip},{self.tds}", "-P", PASSWORD, "-C", "-W", "-b", "-l", "2", "--csv",
                   "-h", "-1", "-Q", "SET NOCOUNT ON; " + text]
        try:
            done = run(*command, check=False, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            return None
        return [line.split(",") for line in done.stdout.splitlines() if line]

    def must(self, node, text, timeout=60):
        rows = self.sql(node, text, timeout)
        if rows is None:
            raise RuntimeError(f"{node.name} refused: {text}")
        return rows

    def make_group(self, automatic):
        one, others = self.nodes[0], self.nodes[1:]
        login = ["-P", PASSWORD, "-C"]
        at = lambda node: ["-S", f"{node.ip},{self.tds}"]
        said = run(self.keel, "init", "--endpoint", f"{one.ip}:{self.endpoint}", *at(one), *login).stdout
        token = next(line.strip() for line in said.splitlines() if line.startswith("keel://"))
        for node in others:
            run(self.keel, "join", token, "--endpoint", f"{node.ip}:{self.endpoint}", *at(node), *login)
        self.must(one, "CREATE DATABASE shop")
        self.must(one, "CREATE TABLE shop.dbo.ledger (campaign int, writer int, n int, PRIMARY KEY (campaign, writer, n))")
        members = [x for node in others for x in ("--member", f"{node.ip},{self.tds}")]
        run(self.keel, "group", "create", "ag1", "--database", "shop", *members, *at(one), *login, timeout=120)
        if automatic:
            for node in self.nodes:
                self.must(one, f"ALTER AVAILABILITY GROUP ag1 MODIFY REPLICA ON N'{node.name}' WITH (FAILOVER_MODE = AUTOMATIC)")
        self.must(one, "ALTER AVAILABILITY GROUP ag1 ADD LISTENER N'ag1-listener' "
                       f"(WITH DISTRIBUTED_NETWORK_NAME, PORT = {self.port})")

    def is_primary(self, node):
        return self.sql(node, "SELECT sys.fn_hadr_is_primary_replica('shop')") == [["1"]]

    def primary(self):
        return next((node for node in self.nodes if self.is_primary(node)), None)

    def is_whole(self):
        primary = self.primary()
        return primary is not None and self.sql(
            primary, "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2") == [["3"]]

    def force(self, node):
        self.must(node, "ALTER AVAILABILITY GROUP ag1 FORCE_FAILOVER_ALLOW_DATA_LOSS")

    def resume(self, primary):
        """Lets the copies that a forced failover suspended follow. Whether all do."""
        for node in self.nodes:
            if node is not primary:
                self.sql(node, "ALTER DATABASE shop SET HADR RESUME")
        return self.is_whole()

    def lost(self, acks):
        """How many acknowledged rows are not there."""
        primary, lost = self.primary(), 0
        for writer, list_ in acks.items():
            numbers = [n for n, _ in list_]
            low, high = min(numbers), max(numbers)
            rows = self.must(primary, f"SELECT n FROM shop.dbo.ledger WHERE campaign = 1 AND writer = {writer} "
                                      f"AND n BETWEEN {low} AND {high}")
            there = {int(row[0]) for row in rows}
            missing = [n for n in numbers if n not in there]
            if missing:
                print(f"   LOST by writer {writer}: {missing[:10]}{' ...' if len(missing) > 10 else ''}")
            lost += len(missing)
        return lost

    # ---- faults ----

    def inject(self, fault, node, target):
        return getattr(self, "fault_" + fault.replace("-", "_"))(node, target)

    def fault_kill(self, node, _):
        node.process.kill()
        node.process.wait()
        return Injected(lambda: self.start_node(node))

    def fault_stop(self, node, _):
        node.process.send_signal(signal.SIGSTOP)
        return Injected(lambda: node.process.send_signal(signal.SIGCONT))

    def fault_partition(self, node, _):
        run("ip", "link", "set", node.ns, "down")
        return Injected(lambda: run("ip", "link", "set", node.ns, "up"))

    def fault_power_off(self, node, target):
        cut = self.fault_partition(node, target)
        node.process.kill()
        node.process.wait()

        def heal():
            cut.heal()
            self.start_node(node)

        return Injected(heal)

    def fault_planned(self, _, target):
        self.must(target, "ALTER AVAILABILITY GROUP ag1 FAILOVER")
        return Injected(lambda: None)

    def fault_disk(self, node, _):
        run("fsfreeze", "-f", str(node.data))
        return Injected(lambda: run("fsfreeze", "-u", str(node.data)))

    # One way is lost by a wrong hardware address for the other side: packets leave and nobody takes them.

    def misdirect(self, where, whom, wrong):
        enter = where.enter() if where else []
        device = "eth0" if where else BRIDGE
        if wrong:
            run(*enter, "ip", "neigh", "replace", whom, "lladdr", "02:00:00:00:00:fe", "dev", device, "nud", "permanent")
        else:
            run(*enter, "ip", "neigh", "del", whom, "dev", device)

    def fault_one_way_out(self, node, _):
        peers = [f"{NET}.1"] + [n.ip for n in self.nodes if n is not node]
        for ip in peers:
            self.misdirect(node, ip, True)
        return Injected(lambda: [self.misdirect(node, ip, False) for ip in peers])

    def fault_one_way_in(self, node, _):
        places = [None] + [n for n in self.nodes if n is not node]
        for place in places:
            self.misdirect(place, node.ip, True)
        return Injected(lambda: [self.misdirect(place, node.ip, False) for place in places])
