#!/usr/bin/env python3
"""What statements with values written into them cost a server: docs/benchmarks.md, "Texts with literals".

    tests/profile/literals.py [--calls N] [--rounds N] KEEL [KEEL]

Each build (one, or two by turns) is started; pymssql, which writes values into its statements, then executes so many INSERT, SELECT,
UPDATE and DELETE statements by the key of a table (5,000). Printed are, for each round, statements a second and the server's
processor time a statement. Then so many texts with lists that stay literals are executed by EXEC (20,000), without and with `optimize for
ad hoc workloads`, and the server's resident memory is told. Needs pymssql as `tests/clients/run.sh pymssql` installs it.
"""
import argparse
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pymssql

PASSWORD = "Literals-2026"
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")
LISTS = """
DECLARE @n int = 0, @s nvarchar(200)
WHILE @n < {texts}
BEGIN
    SET @n += 1
    SET @s = CONCAT(N'DECLARE @x int; SELECT @x = count(*) FROM t WHERE id IN (', @n, N', ', @n + 1, N', ', @n + 2, N')')
    EXEC (@s)
END"""


class Server:
    """A build, on a directory of its own."""

    def __init__(self, keel, *options):
        self.directory = tempfile.TemporaryDirectory()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        command = [keel, "serve", "--data", f"{self.directory.name}/data", "--listen", f"127.0.0.1:{self.port}", *options]
        environment = os.environ | {"MSSQL_SA_PASSWORD": PASSWORD}
        self.log = open(f"{self.directory.name}/log", "w")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, env=environment)
        if not self.process.stdout.readline():
            raise SystemExit(Path(self.log.name).read_text())
        self.execute("CREATE TABLE t (id int PRIMARY KEY, name nvarchar(100), amount decimal(10, 2))")

    def connect(self):
        return pymssql.connect(f"127.0.0.1:{self.port}", "sa", PASSWORD, "master", autocommit=True)

    def execute(self, text):
        with self.connect() as connection:
            connection.cursor().execute(text)

    def processor_us(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * TICK_US

    def resident_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        self.directory.cleanup()


def statements(server, calls):
    """Statements a second of each kind, and the server's microseconds for one of them."""
    kinds = {
        "INSERT": lambda n: ("INSERT t VALUES (%d, %s, %s)", (n, f"name {n}", n * 0.25)),
        "SELECT": lambda n: ("SELECT name, amount FROM t WHERE id = %d", (n,)),
        "UPDATE": lambda n: ("UPDATE t SET name = %s, amount = %s WHERE id = %d", (f"other {n}", n * 0.5, n)),
        "DELETE": lambda n: ("DELETE t WHERE id = %d", (n,)),
    }
    rates, before = {}, server.processor_us()
    with server.connect() as connection:
        cursor = connection.cursor()
        for kind, text in kinds.items():
            began = time.monotonic()
            for n in range(1, calls + 1):
                cursor.execute(*text(n))
                if kind == "SELECT":
                    cursor.fetchall()
            rates[kind] = calls / (time.monotonic() - began)
    return rates, (server.processor_us() - before) / (calls * len(kinds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("keel", nargs="+")
    options = parser.parse_args()
    servers = [Server(keel) for keel in options.keel]
    for _ in range(options.rounds):
        for keel, server in zip(options.keel, servers):
            rates, processor = statements(server, options.calls)
            told = ", ".join(f"{kind} {rate:,.0f}/s" for kind, rate in rates.items())
            print(f"{keel}: {told}; {processor:.0f} us of the server's processors each", flush=True)
    for server in servers:
        server.stop()
    for keel in options.keel:
        for on in (0, 1):
            server = Server(keel)
            server.execute("EXEC sp_configure 'show advanced options', 1; RECONFIGURE")
            server.execute(f"EXEC sp_configure 'optimize for ad hoc workloads', {on}; RECONFIGURE")
            server.execute(LISTS.format(texts=options.calls * 4))
            print(f"{keel}: {options.calls * 4:,} lists, optimize for ad hoc workloads {on}: {server.resident_mb():.0f} MB", flush=True)
            server.stop()


if __name__ == "__main__":
    main()
