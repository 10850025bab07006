#!/usr/bin/env python3
"""Runs the 22 queries of HammerDB's TPROC-H on the server and on DuckDB over the same rows, and compares.

    compare.py --server HOST:PORT --password WORD --queries FILE [--database tpch] [--only N,N] [--duck FILE]

FILE is what queries.tcl prints, or HammerDB's log of a run in verbose mode. Tables are copied row by row through ODBC
into a DuckDB database, in a temporary directory or in the file given. `to_duckdb` holds every change the texts need
there; each is a difference of dialect, not of meaning. Needs the packages pyodbc and duckdb, and the driver.
"""
import argparse, csv, datetime, decimal, os, re, sys, tempfile, time

import duckdb
import pyodbc

TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
UNITS = {"dd": "day", "mm": "month", "yy": "year"}


def to_duckdb(text):
    """T-SQL of the 22 queries as DuckDB says it."""
    text = re.sub(r"option \(maxdop \d+\)", "", text)
    top = re.match(r"\s*select top (\d+) ", text)
    if top:
        text = "select " + text[top.end():] + f" limit {top[1]}"
    text = text.replace("count_big(", "count(")
    # An average of whole numbers is a whole number.
    text = re.sub(r"avg\(cast\(l_quantity as bigint\)\)", "(sum(l_quantity) // count(l_quantity))", text)
    text = re.sub(r"avg\(l_quantity\)", "(sum(l_quantity) // count(l_quantity))", text)
    text = re.sub(r"datepart\(yy,(\w+)\)", r"year(\1)", text)
    text = re.sub(
        r"dateadd\((\w+),(-?\d+),(?:cast\()?('[-0-9]+')\s*(?:as datetime\))?\)",
        lambda m: f"(date {m[3]} + interval ({m[2]}) {UNITS[m[1]]})", text)
    # The default collation does not tell cases apart.
    return re.sub(r"\blike\b", "ilike", text)


def queries(log):
    """Statements of each query by its number."""
    found, number = {}, None
    for line in open(log, encoding="utf-8", errors="replace"):
        line = re.sub(r"^Vuser \d+:", "", line).rstrip("\n")
        start = re.match(r"Executing Query (\d+) ", line)
        if start:
            number = int(start[1])
        elif number and number not in found and re.match(r"\s*(select|create view)", line):
            found[number] = [s.strip() for s in line.split(";") if s.strip()]
    return found


def copy(server, duck, directory):
    """Every table of the server into DuckDB, column for column; char columns lose their padding."""
    for table in TABLES:
        cursor = server.cursor()
        cursor.execute(f"select * from dbo.{table}")
        path = os.path.join(directory, table + ".csv")
        with open(path, "w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            while rows := cursor.fetchmany(20000):
                writer.writerows([v.rstrip() if isinstance(v, str) else v for v in row] for row in rows)
        columns = []
        for column in server.cursor().columns(table=table, schema="dbo"):
            kind = column.type_name
            if kind in ("decimal", "numeric"):
                kind = f"decimal({column.column_size},{column.decimal_digits})"
            columns.append(f"{column.column_name} {kind}")
        duck.execute(f"create table {table} ({', '.join(columns)})")
        duck.execute(f"copy {table} from '{path}' (format csv, header false)")
        os.remove(path)
        ours = server.cursor().execute(f"select count_big(*) from dbo.{table}").fetchval()
        theirs = duck.execute(f"select count(*) from {table}").fetchone()[0]
        print(f"{table}: {ours} rows", flush=True)
        if ours != theirs:
            sys.exit(f"{table}: {ours} rows on the server, {theirs} in the copy")


def same(a, b):
    """Equal values; numbers that one side rounds to six digits after the point count as equal."""
    if isinstance(a, str) and isinstance(b, str):
        return a.rstrip() == b.rstrip()
    if isinstance(a, datetime.datetime):
        a = a.date()
    if isinstance(b, datetime.datetime):
        b = b.date()
    numbers = (int, float, decimal.Decimal)
    if isinstance(a, numbers) and isinstance(b, numbers):
        a, b = float(a), float(b)
        return abs(a - b) <= max(2e-6, 1e-9 * max(abs(a), abs(b)))
    return a == b


def run(connection, statements):
    """Rows of the only statement that has some, and the seconds it took."""
    rows, start = None, time.monotonic()
    for s in statements:
        result = connection.execute(s)
        if s.lstrip().lower().startswith("select"):
            rows = [tuple(r) for r in result.fetchall()]
    return rows, time.monotonic() - start


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--server", required=True)
    p.add_argument("--password", required=True)
    p.add_argument("--queries", required=True)
    p.add_argument("--database", default="tpch")
    p.add_argument("--only", default="")
    p.add_argument("--duck", default="", help="DuckDB file to keep, or to use when it is there")
    o = p.parse_args()
    server = pyodbc.connect(
        "DRIVER={ODBC Driver 18 for SQL Server};SERVER=" + o.server.replace(":", ",")
        + f";DATABASE={o.database};UID=sa;PWD={o.password};TrustServerCertificate=yes", autocommit=True)
    only = {int(n) for n in o.only.split(",") if n}
    texts = queries(o.queries)
    if len(texts) != 22:
        sys.exit(f"{o.queries} has {len(texts)} of 22 queries")
    different = []
    with tempfile.TemporaryDirectory() as directory:
        kept = bool(o.duck) and os.path.exists(o.duck)
        duck = duckdb.connect(o.duck or os.path.join(directory, "copy.duckdb"))
        if not kept:
            copy(server, duck, directory)
        for number in sorted(texts):
            if only and number not in only:
                continue
            ours, seconds = run(server.cursor(), texts[number])
            theirs, _ = run(duck, [to_duckdb(s) for s in texts[number]])
            equal = len(ours) == len(theirs) and all(
                len(a) == len(b) and all(map(same, a, b)) for a, b in zip(ours, theirs))
            print(f"query {number}: {len(ours)} rows, {'equal' if equal else 'DIFFERENT'}, {seconds:.2f} s", flush=True)
            if not equal:
                different.append(number)
                for a, b in [(a, b) for a, b in zip(ours, theirs) if not all(map(same, a, b))][:3]:
                    print(f"  server {a}\n  DuckDB {b}")
                print(f"  {len(ours)} rows on the server, {len(theirs)} in DuckDB")
    if different:
        sys.exit(f"different rows: queries {different}")
    print("TPROC-H: all compared queries give the same rows")


if __name__ == "__main__":
    main()
