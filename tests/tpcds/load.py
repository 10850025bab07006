#!/usr/bin/env python3
"""Makes the tables of TPC-DS with rows of DuckDB's generator, and loads them in bulk.

    load.py --server HOST:PORT --password WORD --duck FILE [--scale N] [--database tpcds] [--postgres "DSN"]

The rows are made in the DuckDB database, which is kept for compare.py, and go from there through text files and BULK
INSERT, so the server must be on this machine. With --postgres the same tables, keys and rows go there too, by COPY.
Needs the packages duckdb, duckdb-extension-tpcds of the same version, pymssql, and for --postgres psycopg2-binary.
"""
import argparse, os, pathlib, sys, tempfile, time

import duckdb
import duckdb_extension_tpcds
import pymssql

# Columns of the primary keys that have more than one; the others' is the table's first column.
KEYS = {
    "catalog_returns": ["cr_item_sk", "cr_order_number"],
    "catalog_sales": ["cs_item_sk", "cs_order_number"],
    "inventory": ["inv_date_sk", "inv_item_sk", "inv_warehouse_sk"],
    "store_returns": ["sr_item_sk", "sr_ticket_number"],
    "store_sales": ["ss_item_sk", "ss_ticket_number"],
    "web_returns": ["wr_item_sk", "wr_order_number"],
    "web_sales": ["ws_item_sk", "ws_order_number"],
}


def generate(path, scale):
    """The DuckDB database with all rows."""
    made = not os.path.exists(path)
    duck = duckdb.connect(path)
    extension = next(pathlib.Path(duckdb_extension_tpcds.__file__).parent.rglob("*.duckdb_extension"))
    duck.execute(f"load '{extension}'")
    if made:
        duck.execute(f"call dsdgen(sf={scale})")
    return duck


def kind(duck, table, column, duck_type):
    """A column's type: char(n) for texts of one length as the specification's identifiers and flags, varchar for others."""
    if duck_type in ("BIGINT", "INTEGER"):
        return "int"
    if duck_type != "VARCHAR":
        return duck_type.lower()
    low, high = duck.execute(f"select min(strlen({column})), max(strlen({column})) from {table}").fetchone()
    return f"char({high})" if low == high and high in (1, 16) else "varchar(200)"


def statement(duck, table):
    """CREATE TABLE, which all the databases here understand."""
    columns = duck.execute(
        "select column_name, data_type from duckdb_columns() where table_name = ? order by column_index", [table]
    ).fetchall()
    key = KEYS.get(table, [columns[0][0]])
    lines = [f"{n} {kind(duck, table, n, t)} {'not null' if n in key else 'null'}" for n, t in columns]
    return f"create table {table} ({', '.join(lines)}, primary key ({', '.join(key)}))"


def into_server(cursor, table, text):
    cursor.execute(f"bulk insert {table} from '{text}' with (fieldterminator='|', rowterminator='0x0a', tablock)")


def into_postgres(cursor, table, text):
    with open(text, encoding="utf-8") as file:
        cursor.copy_expert(f"copy {table} from stdin with (delimiter '|', null '')", file)


def main():
    p = argparse.ArgumentParser()
    for name in ("server", "password", "duck"):
        p.add_argument(f"--{name}", required=True)
    p.add_argument("--scale", default="1")
    p.add_argument("--database", default="tpcds")
    p.add_argument("--postgres")
    o = p.parse_args()
    duck = generate(o.duck, o.scale)
    host, port = o.server.split(":")
    server = pymssql.connect(host, "sa", o.password, port=port, autocommit=True).cursor()
    for text in (f"create database {o.database}", f"alter database {o.database} set recovery simple", f"use {o.database}"):
        server.execute(text)
    targets = [("server", server, into_server)]
    if o.postgres:
        import psycopg2
        connection = psycopg2.connect(o.postgres)
        connection.autocommit = True
        targets.append(("postgres", connection.cursor(), into_postgres))
    tables = [t for (t,) in duck.execute("select table_name from duckdb_tables() order by 1").fetchall()]
    with tempfile.TemporaryDirectory() as directory:
        # The server reads the files under whatever user it runs.
        os.chmod(directory, 0o755)
        for table in tables:
            text = f"{directory}/{table}.tbl"
            duck.execute(f"copy {table} to '{text}' (format csv, delimiter '|', header false, quote '', escape '')")
            theirs = duck.execute(f"select count(*) from {table}").fetchone()[0]
            for name, cursor, fill in targets:
                start = time.monotonic()
                cursor.execute(statement(duck, table))
                fill(cursor, table, text)
                seconds = time.monotonic() - start
                cursor.execute(f"select count(*) from {table}")
                ours = cursor.fetchone()[0]
                if ours != theirs:
                    sys.exit(f"{table}: {ours} rows on {name} of {theirs}")
                print(f"{table}: {ours} rows on {name} in {seconds:.1f} s", flush=True)
            os.remove(text)
    if o.postgres:
        targets[1][1].execute("vacuum analyze")


main()
