"""Random transactions side by side at SERIALIZABLE, on a server that is running.

Each is logged with what its statements gave. Repeated one after the other, in the order of their commits, in a database that began with the same
rows, they must give the same, and leave the same rows behind. PostgreSQL is not needed. The tables are named by indexes at random, so that rows are
found by all of them."""

import argparse
import collections
import random
import re
import sys
import threading
import time

import pymssql

from changes import Changes
from run import Server, Tables, rows

THREADS, TRANSACTIONS = 4, 25
DUPLICATE = (2601, 2627)  # an answer like others; whatever else fails ends its transaction
TABLE = re.compile(r"\b(t\d) as (\w+)\b(?! \()")


class Nobody:
    """In PostgreSQL's place."""

    def answer(self, _):
        return []


def give(connection, statement):
    """What a statement gives: its rows in any order, how many it changed, or an error's number."""
    cursor = connection.cursor()
    try:
        cursor.execute(statement)
        return collections.Counter(rows(cursor.fetchall())) if cursor.description else cursor.rowcount
    except pymssql.Error as e:
        return f"error {e.args[0]}"


def failed(answer):
    return isinstance(answer, str) and answer not in [f"error {n}" for n in DUPLICATE]


class Session(threading.Thread):
    def __init__(self, number, seed, tables, barrier, log):
        super().__init__()
        self.number, self.tables, self.barrier, self.log = number, tables, barrier, log
        self.r = random.Random(seed * 1009 + number)
        self.generator = Changes(seed * 77_003 + number, tables.tables, tables.targets)
        server = Server(f"{tables.server.host}:{tables.server.port}")
        server.database = tables.server.database
        server.connect()
        self.connection = server.connection

    def statement(self):
        r, depth = self.r, self.r.choice([0, 1, 2])
        if r.random() < 0.5:
            query = self.generator.statement(max(depth, 1), r.choice([0, 1, 2]))
        else:
            query = self.generator.change(depth, r.choice([0, 1]))
        text = query.text()
        return text if text.startswith("merge") else TABLE.sub(self.hinted, text)

    def hinted(self, table):
        indexes = [index for name, index in self.tables.indexed if name == table[1]]
        return f"{table[0]} with (index({self.r.choice(indexes)}))" if indexes and self.r.random() < 0.6 else table[0]

    def run(self):
        give(self.connection, "set transaction isolation level serializable; set lock_timeout 10000")
        self.barrier.wait()
        for n in range(TRANSACTIONS):
            give(self.connection, "begin transaction")
            done = []
            statements = [self.statement() for _ in range(self.r.randint(1, 4))]
            # What was read once is read again.
            for statement in [*statements, statements[0]]:
                done.append((statement, give(self.connection, statement)))
                if failed(done[-1][1]):
                    break
            done.append((f"insert into done values ({self.number}, {n})", 1))
            committed = None
            if not failed(done[-2][1]) and not failed(give(self.connection, done[-1][0])):
                committed = give(self.connection, "commit; select sys.fn_keel_commit_lsn() as lsn")
            if isinstance(committed, collections.Counter):
                self.log.append((int(next(iter(committed))[0]), done))
            else:
                give(self.connection, "if @@trancount > 0 rollback")


class Trial:
    def __init__(self, seed, server):
        self.tables, self.log = Tables(seed, server, Nobody()), []
        for name, _ in self.tables.targets:
            self.tables.ours(f"create unique index of_id on {name} (id)")
            self.tables.indexed.append((name, "of_id"))
        self.tables.ours("create table done (session int, n int, primary key (session, n))")
        barrier = threading.Barrier(THREADS)
        sessions = [Session(number, seed, self.tables, barrier, self.log) for number in range(THREADS)]
        for session in sessions:
            session.start()
        for session in sessions:
            session.join()
        self.log.sort(key=lambda entry: entry[0])

    def wrong(self):
        """What is different when the transactions run one after the other."""
        left = {name: give(self.tables.server.connection, f"select * from {name}") for name, _ in self.tables.targets}
        for name, index in self.tables.indexed:
            if give(self.tables.server.connection, f"select * from {name} with (index({index}))") != left[name]:
                return f"index {index} of {name} has other rows"
        again = self.fresh()
        for lsn, done in self.log:
            give(again, "begin transaction")
            for statement, given in done:
                answer = give(again, statement)
                if answer != given and not failed(answer):
                    return f"commit {lsn}: {statement}\n  side by side {str(given)[:400]}\n  by itself    {str(answer)[:400]}"
            give(again, "commit")
        for name, rows_left in left.items():
            if give(again, f"select * from {name}") != rows_left:
                return f"{name} has other rows in the end"
        return None

    def fresh(self):
        """A connection to a database with the tables as they were in the beginning."""
        server, database = self.tables.server, "random_serial"
        server.answer("use master")
        server.answer(f"if db_id('{database}') is not null alter database {database} set single_user with rollback immediate")
        server.answer(f"drop database if exists {database}")
        server.answer(f"create database {database} collate Latin1_General_BIN2")
        server.answer(f"use {database}")
        for statement in self.tables.script:
            if "database" not in statement:
                server.answer(statement)
        return server.connection


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    server, end, seed, count, failures = Server(options.address), time.time() + options.minutes * 60, options.seed, 0, 0
    while time.time() < end:
        trial = Trial(seed, server)
        wrong, count = trial.wrong(), count + len(trial.log)
        if wrong:
            failures += 1
            print(f"{seed}: {wrong}", flush=True)
        seed += 1
    print(f"{count} transactions, seeds {options.seed} to {seed - 1}: {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
