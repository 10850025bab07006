"""Random queries and changes against a server and PostgreSQL: see run.sh."""

import argparse
import collections
import datetime
import decimal
import os
import random
import sys
import time

import psycopg
import pymssql

from changes import Changes
from statements import Generator
from tree import CASTS, shrink

SECONDS_MAX = 20  # for an answer
TIMES_OUT = "does not answer in time"
TOO_LONG = "error 9829"  # of STRING_AGG, which PostgreSQL does not limit


class Server:
    """The server that is tested. An answer is a list of rows, or a text that says what went wrong."""

    def __init__(self, address):
        self.host, self.port = address.rsplit(":", 1)
        self.database = "master"
        self.connect()

    def connect(self):
        self.connection = pymssql.connect(server=self.host, port=self.port, user="sa", password=os.environ["MSSQL_SA_PASSWORD"],
                                          database=self.database, autocommit=True, timeout=SECONDS_MAX)

    def answer(self, statement):
        cursor, begun = self.connection.cursor(), time.time()
        try:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []
        except pymssql.Error as e:
            number = e.args[0] if e.args else 0
            if number and number < 20000 or number >= 50000:
                return f"error {number}: {e.args[1].decode(errors='replace').splitlines()[0]}"
            late = time.time() - begun >= SECONDS_MAX
            self.connect()
            return TIMES_OUT if late else "closes the connection"


class Postgres:
    def __init__(self, url):
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute("set statement_timeout = '1s'")

    def answer(self, statement):
        try:
            cursor = self.connection.execute(statement)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as e:
            return f"error {e.sqlstate}: {e}".splitlines()[0]


def plain(value):
    if isinstance(value, decimal.Decimal):
        return format(value.normalize() + 0, "f")
    return None if value is None else str(int(value) if isinstance(value, bool) else value)


def rows(answer):
    return [tuple(plain(v) for v in row) for row in answer]


def difference(ours, theirs, ordered):
    """What is wrong with the server's answer, if anything. What PostgreSQL refuses says nothing."""
    if isinstance(ours, str) and not ours.startswith("error"):
        return ours
    if isinstance(theirs, str):
        return None
    if isinstance(ours, str):
        return None if ours.startswith(TOO_LONG) else ours.split(":")[0]
    ours, theirs = rows(ours), rows(theirs)
    if collections.Counter(ours) != collections.Counter(theirs):
        return "other rows"
    return "another order" if ordered and ours != theirs else None


def as_parameters(query):
    """The statement with its literals as parameters."""
    parameters = []
    text = query.text(parameters).replace("'", "''")
    if not parameters or len(parameters) > 500:
        return query.text()
    declared = ", ".join(f"@p{i} {CASTS[t]}" for i, (t, _) in enumerate(parameters))
    return f"exec sp_executesql N'{text}', N'{declared}', " + ", ".join(f"@p{i} = {v}" for i, (_, v) in enumerate(parameters))


class Tables:
    """Tables with indexes of all kinds, rows in the base tree and after it; the same rows in PostgreSQL."""

    def __init__(self, seed, server, postgres):
        self.r, self.server, self.postgres = random.Random(seed), server, postgres
        self.script, self.tables, self.indexed = [], [], []
        postgres.answer("drop schema public cascade")
        postgres.answer("create schema public")
        server.database = "master"
        server.connect()
        self.ours("if db_id('random_statements') is not null alter database random_statements set single_user with rollback immediate")
        self.ours("drop database if exists random_statements")
        self.ours("create database random_statements collate Latin1_General_BIN2")
        server.database = "random_statements"
        server.connect()
        for i in range(self.r.randint(3, 5)):
            self.table(f"t{i}")
        self.targets = list(self.tables)
        for i in range(self.r.randint(0, 3)):
            self.view(f"v{i}", Generator(seed * 7 + i, self.tables))

    def ours(self, statement):
        answer = self.server.answer(statement)
        if isinstance(answer, str):
            sys.exit(f"{statement}\n{answer}")
        self.script.append(statement)

    def both(self, statement, pg=None):
        self.ours(statement)
        answer = self.postgres.answer(pg or statement)
        if isinstance(answer, str):
            sys.exit(f"{pg or statement}\n{answer}")

    def table(self, name):
        r = self.r
        columns = [("id", "int"), ("a", "int")] + [c for c in (("b", "int"), ("n", "num"), ("s", "text"), ("d", "date"), ("s2", "text")) if r.random() < 0.8]
        kind = r.choice(["heap", "primary key (id)", "primary key (id)", "primary key nonclustered (id)", "index c clustered (a desc, id)", "index c unique clustered (id desc)"])
        body = ", ".join(f"{c} {CASTS[t]}" + (" not null" if c == "id" else "") for c, t in columns)
        computed = r.random() < 0.25
        persisted = r.choice(["", " persisted"])
        self.both(f"create table {name} ({body}" + (f", cc as (a % 3){persisted}" if computed else "") + (f", {kind}" if kind != "heap" else "") + ")",
                  f"create table {name} ({body}" + (", cc int generated always as (a % 3) stored" if computed else "") + ")")
        count = r.choice([0, 1, 3, 6, 10, 14, 25, 40])
        into = f"insert into {name} ({', '.join(c for c, _ in columns)}) values "
        values = ["(" + ", ".join(str(i) if c == "id" else self.literal(t) for c, t in columns) + ")" for i in range(1, count + 1)]
        cut, index_first = r.randint(0, count), r.random() < 0.5
        columns += [("cc", "int")] if computed else []
        if index_first:
            self.indexes(name, columns)
        for part in (values[:cut], values[cut:]):
            if part:
                self.both(into + ", ".join(part))
            if r.random() < 0.5:
                self.ours("checkpoint")
        if not index_first:
            self.indexes(name, columns)
        for _ in range(r.randint(0, 3)):
            at = r.randint(0, count)
            self.both(r.choice([f"update {name} set a = a + 1 where id % 3 = {at % 3}", f"update {name} set a = null where id = {at}", f"delete from {name} where id = {at}"]))
        self.tables.append((name, columns))

    def indexes(self, name, columns):
        r, names = self.r, [c for c, _ in columns]
        for i in range(r.choice([0, 0, 1, 2, 3])):
            keys = r.sample(names, r.randint(1, min(3, len(names))))
            others = [c for c in names if c not in keys]
            included = f" include ({r.choice(others)})" if others and r.random() < 0.4 else ""
            which = " where " + r.choice(["a is not null", "a > 2", "id > 3", "a in (1, 2, 3)", "a = 1 and id > 2"]) if r.random() < 0.25 else ""
            unique = "unique " if "id" in keys and r.random() < 0.5 else ""
            self.indexed += [] if which else [(name, f"i{i}")]
            self.ours(f"create {unique}index i{i} on {name} ({', '.join(k + r.choice(['', '', ' desc']) for k in keys)}){included}{which}")

    def literal(self, type):
        r = self.r
        if r.random() < 0.18:
            return "null"
        if type == "int":
            return str(r.randint(-3, 8))
        if type == "num":
            return r.choice(["0", "1", "1.5", "-0.75", "2.25", "10.1", "0.25", "3"])
        if type == "text":
            return "'" + "".join(r.choice("abAB1c") for _ in range(r.randint(0, 3))) + "'"
        return f"'{datetime.date(2020, 1, 1) + datetime.timedelta(days=r.choice([0, 1, 58, 59, 60, -200, 365, 729]))}'"

    def view(self, name, generator):
        generator.budget = 2
        query = generator.query([], 2)
        if isinstance(self.postgres.answer(f"create view {name} as {query.pg_text()}"), str):
            return
        if isinstance(self.postgres.answer(f"select * from {name}"), str):
            self.postgres.answer(f"drop view {name}")
            return
        self.ours(f"create view {name} as {query.text()}")
        self.tables.append((name, query.columns))


class Trial:
    """One query, by literals or by parameters."""

    def __init__(self, seed, number, tables):
        generator = Generator(seed * 100_003 + number, tables.tables)
        self.tables, self.name = tables, f"{seed}/{number}"
        self.query = generator.statement(generator.r.choice([2, 3, 3, 4]), generator.r.choice([1, 3, 5, 8]))
        self.parameters = generator.chance(0.3)

    def shown(self, query):
        """The text as the script has it."""
        return self.text(query)

    def text(self, query):
        return as_parameters(query) if self.parameters else query.text()

    def wrong(self, query):
        theirs = self.tables.postgres.answer(query.pg_text())
        if isinstance(theirs, str) or len(theirs) > 5000:
            return None
        ordered = query.type == "statement" and any(k.ordered for k in query.kids)
        return difference(self.tables.server.answer(self.text(query)), theirs, ordered)

    def run(self):
        wrong = self.wrong(self.query)
        if wrong is None:
            return None
        small = self.query if wrong == TIMES_OUT else shrink(self.query, lambda q: self.wrong(q) == wrong)
        server, postgres = self.tables.server, self.tables.postgres
        script = "\ngo\n".join([*self.tables.script, self.shown(small)])
        path = f"random-{self.name.replace('/', '-')}.sql"
        with open(path, "w", encoding="utf-8") as file:
            file.write(script + "\n")
        print(f"{self.name}: {wrong}; the whole script is in {path}\n  {self.text(small)}\n  {small.pg_text()}")
        print(f"  ours   {str(server.answer(self.text(small)))[:400]}\n  theirs {str(postgres.answer(small.pg_text()))[:400]}", flush=True)
        return wrong


class TrialOfChanges(Trial):
    """One change, by literals or by parameters, in a transaction that is rolled back: what it gives, and what all reads of the tables give then and afterwards."""

    def __init__(self, seed, number, tables):
        generator = Changes(seed * 200_003 + number, tables.tables, tables.targets)
        self.tables, self.name = tables, f"{seed}/c{number}"
        self.query = generator.change(generator.r.choice([1, 2, 3]), generator.r.choice([0, 1, 3]))
        self.parameters = generator.chance(0.3)

    def shown(self, query):
        reads = [f"select * from {name}" for name, _ in self.tables.targets]
        return "\n".join(["begin transaction", self.text(query), *reads, "rollback"])

    def wrong(self, query):
        server, postgres = self.tables.server, self.tables.postgres
        postgres.answer("begin")
        theirs = postgres.answer(query.pg_text())
        if isinstance(theirs, str):
            postgres.answer("rollback")
            return None
        server.answer("begin transaction")
        wrong = difference(server.answer(self.text(query)), theirs, False) or self.contents("the change")
        server.answer("if @@trancount > 0 rollback")
        postgres.answer("rollback")
        return wrong or self.contents("the rollback")

    def contents(self, when):
        """What is different in the tables, by whatever index they are read."""
        for name, columns in self.tables.targets:
            names = ", ".join(c for c, _ in columns)
            theirs = self.tables.postgres.answer(f"select {names} from {name}")
            for hint in ["", *(f" with (index({index}))" for table, index in self.tables.indexed if table == name)]:
                wrong = difference(self.tables.server.answer(f"select {names} from {name}{hint}"), theirs, False)
                if wrong:
                    return f"{wrong} in {name}{hint} after {when}"
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("postgres")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    server, postgres = Server(options.address), Postgres(options.postgres)
    end, seed, count, failures = time.time() + options.minutes * 60, options.seed, 0, 0
    while time.time() < end:
        tables = Tables(seed, server, postgres)
        for number in range(120):
            if time.time() < end:
                count += 2
                failures += Trial(seed, number, tables).run() is not None
                failures += TrialOfChanges(seed, number, tables).run() is not None
        seed += 1
    print(f"{count} queries and changes, seeds {options.seed} to {seed - 1}: {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
