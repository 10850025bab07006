#!/usr/bin/env python3
"""Fills HammerDB's TPROC-H tables in bulk with rows of the package tpchgen-cli, in minutes instead of hours.

    load.py --server HOST:PORT --password WORD --tables FILE --indexes FILE --duck FILE [--scale N] [--database tpch]

--tables and --indexes are what schema.tcl prints: HammerDB's own statements. The rows go into the DuckDB database first,
in HammerDB's order of columns, and from there through text files and BULK INSERT, so the server must be on this machine.
The DuckDB database is kept: compare.py takes it as the other engine. Needs the packages tpchgen-cli, duckdb and pyodbc.
"""
import argparse, os, re, subprocess, sys, tempfile, time

import duckdb
import pyodbc


def lines(path):
    return [line.strip() for line in open(path, encoding="utf-8") if line.strip()]


def columns(statement):
    """Names and DuckDB types of a CREATE TABLE's columns."""
    inner = statement[statement.index("(") + 1:statement.rindex(")")]
    pairs = [part.split(None, 1) for part in re.split(r",(?![^()]*\))", inner)]
    return [(name, re.sub(r"\b(not )?null\b", "", kind).strip()) for name, kind in pairs]


def fill(duck, server, statement, directory):
    """One table, on both sides."""
    table = re.match(r"create table dbo\.(\w+)", statement)[1]
    named = columns(statement)
    duck.execute(f"create table {table} ({', '.join(f'{n} {k}' for n, k in named)})")
    wanted = ", ".join(n for n, _ in named)
    duck.execute(f"insert into {table} select {wanted} from '{directory}/{table}.parquet'")
    text = f"{directory}/{table}.tbl"
    duck.execute(f"copy {table} to '{text}' (format csv, delimiter '|', header false, quote '', escape '')")
    os.remove(f"{directory}/{table}.parquet")
    start = time.monotonic()
    server.execute(statement)
    server.execute(f"bulk insert dbo.{table} from '{text}' with (fieldterminator='|', rowterminator='0x0a', tablock)")
    seconds = time.monotonic() - start
    os.remove(text)
    ours = server.execute(f"select count_big(*) from dbo.{table}").fetchval()
    theirs = duck.execute(f"select count(*) from {table}").fetchone()[0]
    if ours != theirs:
        sys.exit(f"{table}: {ours} rows on the server of {theirs}")
    print(f"{table}: {ours} rows in {seconds:.1f} s", flush=True)


def main():
    p = argparse.ArgumentParser()
    for name in ("server", "password", "tables", "indexes", "duck"):
        p.add_argument(f"--{name}", required=True)
    p.add_argument("--scale", default="1")
    p.add_argument("--database", default="tpch")
    o = p.parse_args()
    server = pyodbc.connect(
        "DRIVER={ODBC Driver 18 for SQL Server};SERVER=" + o.server.replace(":", ",")
        + f";UID=sa;PWD={o.password};TrustServerCertificate=yes", autocommit=True)
    server.execute(f"create database {o.database}")
    server.execute(f"alter database {o.database} set recovery simple")
    server.execute(f"use {o.database}")
    with tempfile.TemporaryDirectory() as directory:
        # The server reads the files under whatever user it runs.
        os.chmod(directory, 0o755)
        generator = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
        subprocess.run([generator, "parquet", "-s", o.scale, f"--output-dir={directory}"], check=True)
        duck = duckdb.connect(o.duck)
        for statement in lines(o.tables):
            fill(duck, server, statement, directory)
        duck.close()
    start = time.monotonic()
    for statement in lines(o.indexes):
        server.execute(statement)
    print(f"keys and indexes in {time.monotonic() - start:.1f} s", flush=True)


main()
