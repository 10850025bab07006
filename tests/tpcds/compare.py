#!/usr/bin/env python3
"""The 99 queries of TPC-DS on a server and on DuckDB, over the rows of load.py: both give the same rows, and each takes how long.

    compare.py --server HOST:PORT --password WORD --duck FILE [--database tpcds] [--only 1,2,...] [--postgres "DSN"]
               [--seconds N] [--show]

The texts are those of DuckDB's package, translated by translate.py. Rows are compared as multisets, numbers with a
tolerance; where a query's TOP cuts off ties it is compared without. A query that takes longer than --seconds is given
up. --show prints the differences. Needs the packages duckdb, duckdb-extension-tpcds, sqlglot, pymssql (psycopg2-binary).
"""
import argparse, datetime, decimal, pathlib, sys, threading, time

import duckdb
import duckdb_extension_tpcds
import pymssql

import translate

DIGITS = 5


def plain(value):
    """A value as all would give it: without the blanks of char(n), and a text without letters is loaded as NULL."""
    if isinstance(value, str):
        return value.rstrip().casefold() or None
    if isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, datetime.datetime):
        return str(value.date())
    return None if value is None else str(value)


def order(row):
    """Sorts rows of all types; numbers coarsely, so that noise in the last digits does not part equal rows."""
    return [(0, "") if v is None else (1, f"{v:.4g}") if isinstance(v, float) else (2, v) for v in row]


def alike(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 10**-DIGITS * max(1.0, abs(a), abs(b))
    return a == b


def difference(ours, theirs):
    """The first row that is not alike; None when there is none."""
    ours, theirs = (sorted(([plain(v) for v in row] for row in rows), key=order) for rows in (ours, theirs))
    if len(ours) != len(theirs):
        return f"{len(ours)} rows of {len(theirs)}"
    for a, b in zip(ours, theirs):
        if len(a) != len(b) or not all(map(alike, a, b)):
            return f"{a} is not {b}"
    return None


def timed(execute, query):
    start = time.monotonic()
    rows = execute(query)
    return rows, time.monotonic() - start


class Server:
    def __init__(self, o):
        host, port = o.server.split(":")
        self.connection = pymssql.connect(host, "sa", o.password, o.database, port=port, autocommit=True, timeout=o.seconds)

    def __call__(self, query):
        cursor = self.connection.cursor()
        cursor.execute(query)
        return cursor.fetchall()


class Postgres:
    def __init__(self, o):
        import psycopg2
        self.connection = psycopg2.connect(o.postgres, options=f"-c statement_timeout={o.seconds}s")
        self.connection.autocommit = True

    def __call__(self, query):
        cursor = self.connection.cursor()
        cursor.execute(query)
        return cursor.fetchall()


def attempt(make, execute, query):
    """Rows and seconds, or what went wrong as a text."""
    try:
        return (*timed(execute, make(query)), None)
    except Exception as e:  # noqa: BLE001 - every driver has its own errors
        return None, 0.0, " ".join(str(part) for part in e.args).replace("\n", " ")[:300]


def main():
    p = argparse.ArgumentParser()
    for name in ("server", "password", "duck"):
        p.add_argument(f"--{name}", required=True)
    p.add_argument("--database", default="tpcds")
    p.add_argument("--only", type=lambda s: {int(n) for n in s.split(",")})
    p.add_argument("--postgres")
    p.add_argument("--seconds", type=int, default=300)
    p.add_argument("--show", action="store_true")
    o = p.parse_args()
    duck = duckdb.connect(o.duck, read_only=True)
    extension = next(pathlib.Path(duckdb_extension_tpcds.__file__).parent.rglob("*.duckdb_extension"))
    duck.execute(f"load '{extension}'")
    duck.execute("set default_null_order = 'nulls_first_on_asc_last_on_desc'")
    queries = duck.execute("select query_nr, query from tpcds_queries() order by 1").fetchall()
    theirs = lambda query: duck.execute(query).fetchall()
    postgres = Postgres(o) if o.postgres else None
    wrong = []
    for number, query in queries:
        if o.only and number not in o.only:
            continue
        try:
            server = Server(o)
        except Exception as e:  # noqa: BLE001
            sys.exit(f"the server does not answer: {e}")
        expected, duck_seconds = timed(theirs, translate.duckdb(query))
        rows, seconds, error = attempt(translate.tsql, server, query)
        if error is None:
            error = difference(rows, expected)
            if error and translate.has_limit(query):
                whole = translate.without_limit(query)
                rows, _, error = attempt(translate.tsql, server, whole)
                error = error or difference(rows, theirs(translate.duckdb(whole)))
        beside = ""
        if postgres:
            _, postgres_seconds, failed = attempt(translate.postgres, postgres, query)
            beside = f", PostgreSQL {postgres_seconds:.2f} s" if not failed else f", PostgreSQL: {failed}"
        print(f"query {number:2}: {len(expected)} rows, {seconds:.2f} s, DuckDB {duck_seconds:.2f} s{beside}"
              + (f"  WRONG: {error if o.show else error[:100]}" if error else ""), flush=True)
        if error:
            wrong.append(number)
    if wrong:
        sys.exit(f"not as DuckDB has it: {wrong}")
    print("all queries give the same rows")


main()
