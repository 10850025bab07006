"""pyodbc over Microsoft's ODBC driver 18."""

import datetime as dt
import threading
import time
import uuid

import odbc_cursors  # noqa: F401  (for its checks)
import pyodbc
from harness import CERTIFICATE, DATABASE, HOST, PASSWORD, PORT, TYPES, USER, check, equal, run

pyodbc.pooling = False


def connect(autocommit=True, timeout=30, **more):
    options = {
        "DRIVER": "{ODBC Driver 18 for SQL Server}",
        "SERVER": f"{HOST},{PORT}",
        "UID": USER,
        "PWD": PASSWORD,
        "DATABASE": DATABASE,
        "Encrypt": "yes",
        "TrustServerCertificate": "yes",
    }
    text = ";".join(f"{k}={v}" for k, v in {**options, **more}.items())
    return pyodbc.connect(text, autocommit=autocommit, timeout=timeout)


@check
def every_encryption():
    for encrypt in ["no", "yes"]:
        equal(connect(Encrypt=encrypt).execute("SELECT 1").fetchval(), 1)
    encrypted = connect().execute("SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID")
    equal(encrypted.fetchval(), "TRUE")


@check
def strict_encryption():
    c = connect(Encrypt="strict", ServerCertificate=CERTIFICATE)
    equal(c.execute("SELECT 1").fetchval(), 1)


@check
def databases_with_another_collation():
    """The driver refuses a change of collation that tells what it was before."""
    c = connect()
    c.execute("IF DB_ID('sensitive') IS NULL CREATE DATABASE sensitive COLLATE SQL_Latin1_General_CP1_CS_AS")
    for name in ["sensitive", "master"]:
        c.execute(f"USE {name}")
        equal(c.execute("SELECT DB_NAME()").fetchval(), name)
    c.execute("DROP DATABASE sensitive")


@check
def values_that_are_none():
    c = connect()
    c.execute("CREATE TABLE #f (f float)")
    for value in [float("inf"), float("-inf"), float("nan")]:
        try:
            c.execute("INSERT #f VALUES (?)", value)
        except pyodbc.Error as e:
            assert "8023" in e.args[1] and "not a valid instance of data type float" in e.args[1], e
        else:
            raise AssertionError(f"{value} was taken")
    equal(c.execute("SELECT COUNT(*) FROM #f").fetchval(), 0)


@check
def long_messages():
    cursor = connect().cursor()
    cursor.execute(f"PRINT '{'a' * 8000}'")
    equal(len(cursor.messages[0][1].split("[SQL Server]")[1]), 8000)


@check
def table_valued_parameters():
    c = connect()
    c.execute("DROP PROCEDURE IF EXISTS sum_of; DROP TYPE IF EXISTS numbers_odbc")
    c.execute("CREATE TYPE numbers_odbc AS TABLE (n int, t varchar(10))")
    c.execute("CREATE PROCEDURE sum_of @rows numbers_odbc READONLY AS SELECT SUM(n), MAX(t) FROM @rows")
    equal(list(c.execute("EXEC sum_of ?", ([(1, "a"), (2, "b")],)).fetchone()), [3, "b"])


@check
def wrong_password():
    try:
        connect(PWD="wrong")
    except pyodbc.Error as e:
        equal(e.args[0], "28000")
        assert "18456" in e.args[1], e
    else:
        raise AssertionError("logged in")


@check
def lost_connections_are_recovered():
    """A session whose connection is lost between two statements is made again as it was, unless something would be missing."""
    other = connect()

    def lose(c):
        spid = c.execute("SELECT @@SPID").fetchval()
        other.execute(f"KILL {spid}")
        while other.execute(f"SELECT COUNT(*) FROM sys.dm_exec_connections WHERE session_id = {spid}").fetchval():
            pass
        # The driver looks only at connections that have been idle for some milliseconds.
        other.execute("WAITFOR DELAY '00:00:00.100'")

    # One result at a time, and several.
    for several in ["no", "yes"]:
        c = connect(MARS_Connection=several)
        c.execute("USE tempdb; SET LOCK_TIMEOUT 1234; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET DATEFIRST 3")
        lose(c)
        equal(tuple(c.execute("SELECT DB_NAME(), @@LOCK_TIMEOUT, @@DATEFIRST").fetchone()), ("tempdb", 1234, 3))
        c.execute("SET LOCK_TIMEOUT 4321")
        lose(c)
        equal(tuple(c.execute("SELECT DB_NAME(), @@LOCK_TIMEOUT, @@DATEFIRST").fetchone()), ("tempdb", 4321, 3))
    for i, sql in enumerate(["CREATE TABLE #t (a int)", "BEGIN TRANSACTION", "EXEC sp_set_session_context 'k', 1"] * 2):
        c = connect(MARS_Connection="no" if i < 3 else "yes")
        c.execute(sql)
        lose(c)
        try:
            c.execute("SELECT 1")
        except pyodbc.Error as e:
            equal(e.args[0] in ("08S01", "IMC01", "IMC06", "HY000"), True)
        else:
            raise AssertionError(f"recovered in spite of {sql}")


@check
def every_type():
    c = connect()
    for i, (sql_type, value) in enumerate(TYPES):
        c.execute(f"CREATE TABLE #t{i} (v {sql_type} NULL)")
        c.execute(f"INSERT #t{i} VALUES (?)", value)
        # The driver asks for the parameter's type (sp_describe_undeclared_parameters), as None has none.
        c.execute(f"INSERT #t{i} VALUES (?)", None)
        rows = c.execute(f"SELECT v FROM #t{i} ORDER BY CASE WHEN v IS NULL THEN 1 ELSE 0 END").fetchall()
        got = uuid.UUID(rows[0][0]) if isinstance(value, uuid.UUID) else rows[0][0]
        # pyodbc sends times without their fraction.
        equal(got, value.replace(microsecond=0) if isinstance(value, dt.time) else value)
        equal(rows[1][0], None)


@check
def types_with_methods_are_bytes():
    point = bytes.fromhex("E6100000010C000000000000004000000000000010C0")
    c = connect()
    c.add_output_converter(-151, bytes)  # SQL_SS_UDT, which pyodbc leaves to its users
    c.execute("CREATE TABLE #s (g geography, h hierarchyid)")
    c.execute("INSERT #s VALUES (?, ?)", point, "/1/")
    row = c.execute("SELECT g, h, g.Lat, h.ToString() FROM #s").fetchone()
    equal(tuple(row), (point, b"\x58", 2.0, "/1/"))


@check
def prepared_again_and_again():
    k = connect().cursor()
    for i in range(200):
        equal(tuple(k.execute("SELECT ? + 1, ?", i, f"text {i}").fetchone()), (i + 1, f"text {i}"))


@check
def metadata_questions():
    c = connect()
    c.execute("CREATE TABLE meta_odbc (id int NOT NULL PRIMARY KEY, name nvarchar(30) NULL, price decimal(9,2) NOT NULL)")
    k = c.cursor()
    equal([r.table_name for r in k.tables(table="meta_odbc")], ["meta_odbc"])
    equal([(r.column_name, r.type_name) for r in k.columns(table="meta_odbc")],
          [("id", "int"), ("name", "nvarchar"), ("price", "decimal")])
    equal([r.column_name for r in k.primaryKeys("meta_odbc")], ["id"])
    k.execute("SELECT id, name, price FROM meta_odbc")
    equal([d[0] for d in k.description], ["id", "name", "price"])
    equal([d[6] for d in k.description], [False, True, False])
    c.execute("DROP TABLE meta_odbc")


@check
def transactions():
    c = connect(autocommit=False)
    c.execute("CREATE TABLE tx_odbc (a int)")
    c.commit()
    c.execute("INSERT tx_odbc VALUES (1)")
    c.rollback()
    equal(c.execute("SELECT COUNT(*) FROM tx_odbc").fetchval(), 0)
    c.execute("INSERT tx_odbc VALUES (1)")
    c.commit()
    equal(c.execute("SELECT COUNT(*) FROM tx_odbc").fetchval(), 1)
    c.execute("DROP TABLE tx_odbc")
    c.commit()


@check
def errors():
    c = connect()
    for sql, state, number in [
        ("SELECT * FROM nowhere", "42S02", 208),
        ("SELECT 1/0", "22012", 8134),
        ("RAISERROR('x', 16, 2)", "42000", 50000),
    ]:
        try:
            c.execute(sql).fetchall()
        except pyodbc.Error as e:
            equal(e.args[0], state)
            assert f"({number})" in e.args[1], e
        else:
            raise AssertionError(f"no error from {sql}")
    c.execute("CREATE TABLE #u (a int PRIMARY KEY)")
    c.execute("INSERT #u VALUES (1)")
    try:
        c.execute("INSERT #u VALUES (1)")
    except pyodbc.IntegrityError as e:
        assert "2627" in e.args[1], e
    else:
        raise AssertionError("no error")


@check
def several_results_and_output():
    c = connect()
    c.execute("CREATE OR ALTER PROCEDURE p_odbc @a int, @b int OUTPUT AS SELECT @a; SET @b = @a * 2; SELECT N'two'; RETURN 7")
    k = c.execute("DECLARE @r int, @b int; EXEC @r = p_odbc ?, @b OUTPUT; SELECT @r, @b", 21)
    seen = [k.fetchall()]
    while k.nextset():
        if k.description:
            seen.append(k.fetchall())
    equal([[tuple(r) for r in rows] for rows in seen], [[(21,)], [("two",)], [(7, 42)]])
    k = c.execute("{CALL p_odbc (?, ?)}", 5, 0)
    equal(k.fetchval(), 5)


@check
def cancel():
    k = connect().cursor()
    ended = threading.Event()

    def until_it_ends():
        # Nothing is cancelled by one that comes before the statement has begun.
        while not ended.wait(0.3):
            k.cancel()

    other = threading.Thread(target=until_it_ends)
    other.start()
    started = time.monotonic()
    try:
        k.execute("WAITFOR DELAY '00:10:00'")
    except pyodbc.Error as e:
        equal(e.args[0], "HY008")
    else:
        raise AssertionError("not cancelled")
    finally:
        # The other thread may still be inside the driver with this statement.
        ended.set()
        other.join()
    assert time.monotonic() - started < 300
    equal(k.execute("SELECT 1").fetchval(), 1)


@check
def query_timeout():
    c = connect()
    c.timeout = 1
    try:
        c.execute("WAITFOR DELAY '00:10:00'")
    except pyodbc.OperationalError as e:
        equal(e.args[0], "HYT00")
    else:
        raise AssertionError("no time-out")


@check
def fast_executemany():
    c = connect()
    c.execute("CREATE TABLE many_odbc (a int, b nvarchar(30))")
    k = c.cursor()
    k.fast_executemany = True
    k.executemany("INSERT many_odbc VALUES (?, ?)", [(i, f"row {i}") for i in range(2000)])
    equal(tuple(c.execute("SELECT COUNT(*), SUM(a) FROM many_odbc").fetchone()), (2000, 1999000))
    c.execute("DROP TABLE many_odbc")


@check
def large_result():
    c = connect()
    rows = c.execute(
        "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
        "SELECT i, REPLICATE(N'x', i % 100) FROM n OPTION (MAXRECURSION 0)"
    ).fetchall()
    equal(len(rows), 20000)
    equal(tuple(rows[99]), (100, ""))


run("odbc")
