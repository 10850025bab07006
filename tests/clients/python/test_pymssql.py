"""pymssql (FreeTDS)."""

import uuid

import pymssql
from harness import DATABASE, HOST, PASSWORD, PORT, TYPES, USER, check, equal, run


def connect(**more):
    options = dict(server=HOST, port=str(PORT), user=USER, password=PASSWORD, database=DATABASE)
    return pymssql.connect(**{**options, **more})


@check
def login_and_first_questions():
    with connect() as c, c.cursor() as k:
        k.execute("SELECT @@VERSION, DB_NAME(), @@SPID, SUSER_SNAME()")
        version, database, spid, login = k.fetchone()
        assert version.startswith("Microsoft SQL Server"), version
        equal(database, DATABASE)
        assert spid > 50
        equal(login, USER)


@check
def wrong_password():
    try:
        connect(password="wrong")
    except pymssql.OperationalError as e:
        equal(e.args[0][0] if isinstance(e.args[0], tuple) else e.args[0], 18456)
    else:
        raise AssertionError("logged in")


@check
def unknown_database():
    try:
        connect(database="nowhere")
    except pymssql.OperationalError as e:
        number = e.args[0][0] if isinstance(e.args[0], tuple) else e.args[0]
        assert number in (4060, 18456), e
    else:
        raise AssertionError("logged in")


@check
def every_type():
    with connect(autocommit=True) as c, c.cursor() as k:
        for i, (sql_type, value) in enumerate(TYPES):
            k.execute(f"CREATE TABLE #t{i} (v {sql_type} NULL)")
            # The driver writes bytes as a string literal and only bytearray as a binary one.
            sent = str(value) if isinstance(value, uuid.UUID) else value
            sent = bytearray(sent) if isinstance(sent, bytes) else sent
            k.execute(f"INSERT #t{i} VALUES (%s)", (sent,))
            k.execute(f"INSERT #t{i} VALUES (%s)", (None,))
            k.execute(f"SELECT v FROM #t{i} ORDER BY CASE WHEN v IS NULL THEN 1 ELSE 0 END")
            rows = k.fetchall()
            equal(len(rows), 2)
            got = rows[0][0]
            if sql_type.startswith(("datetime", "smalldatetime")):
                # The driver's own datetime has milliseconds only for the old types.
                equal(str(got)[:19], str(value)[:19])
            else:
                equal(got, value)
            equal(rows[1][0], None)


@check
def types_with_methods_are_bytes():
    point = bytes.fromhex("E6100000010C000000000000004000000000000010C0")
    with connect(autocommit=True) as c, c.cursor() as k:
        k.execute("CREATE TABLE #s (g geography, h hierarchyid)")
        k.execute("INSERT #s VALUES (%s, %s)", (bytearray(point), "/1/"))
        k.execute("SELECT g, h, g.Lat, h.ToString() FROM #s")
        equal(k.fetchall(), [(point, b"\x58", 2.0, "/1/")])


@check
def procedure_with_output():
    with connect(autocommit=True) as c, c.cursor() as k:
        k.execute("CREATE OR ALTER PROCEDURE p_out @a int, @b int OUTPUT AS BEGIN SET @b = @a * 2; RETURN 5 END")
        result = k.callproc("p_out", (21, pymssql.output(int)))
        equal(result[1], 42)


@check
def transactions():
    with connect() as c, c.cursor() as k:
        k.execute("CREATE TABLE tx_pymssql (a int)")
        c.commit()
        k.execute("INSERT tx_pymssql VALUES (1)")
        c.rollback()
        k.execute("SELECT COUNT(*) FROM tx_pymssql")
        equal(k.fetchone()[0], 0)
        k.execute("INSERT tx_pymssql VALUES (1)")
        c.commit()
        k.execute("SELECT COUNT(*) FROM tx_pymssql")
        equal(k.fetchone()[0], 1)
        k.execute("DROP TABLE tx_pymssql")
        c.commit()


@check
def errors_have_numbers():
    with connect() as c, c.cursor() as k:
        for sql, number in [("SELECT * FROM nowhere", 208), ("SELECT 1/0", 8134), ("SELEC", 102), ("RAISERROR('x', 16, 2)", 50000)]:
            try:
                k.execute(sql)
                k.fetchall()
            except pymssql.Error as e:
                equal(e.args[0], 2812 if sql == "SELEC" else number)
            else:
                raise AssertionError(f"no error from {sql}")


@check
def executemany_and_rowcount():
    with connect() as c, c.cursor() as k:
        k.execute("CREATE TABLE #m (a int, b varchar(20))")
        k.executemany("INSERT #m VALUES (%d, %s)", [(i, f"row {i}") for i in range(100)])
        k.execute("UPDATE #m SET b = 'x' WHERE a < 10")
        equal(k.rowcount, 10)


@check
def bulk_copy():
    with connect() as c, c.cursor() as k:
        k.execute("CREATE TABLE bulk_pymssql (a int, b varchar(20))")
        c.commit()
        c.bulk_copy("bulk_pymssql", [(i, f"row {i}") for i in range(100_000)])
        c.commit()
        k.execute("SELECT COUNT(*), SUM(CAST(a AS bigint)), MAX(b) FROM bulk_pymssql")
        equal(k.fetchone(), (100_000, 4999950000, "row 99999"))
        k.execute("DROP TABLE bulk_pymssql")
        c.commit()


@check
def bulk_copy_into_a_view():
    with connect() as c, c.cursor() as k:
        k.execute("CREATE TABLE behind_pymssql (id int IDENTITY, b varchar(20), made date DEFAULT '2024-01-01', a int)")
        k.execute("CREATE VIEW view_pymssql AS SELECT a AS number, b AS label FROM behind_pymssql")
        c.commit()
        c.bulk_copy("view_pymssql", [(i, f"row {i}") for i in range(1_000)])
        c.commit()
        k.execute("SELECT COUNT(*), MAX(id), SUM(a), MAX(b), CONVERT(char(10), MAX(made)) FROM behind_pymssql")
        equal(k.fetchone(), (1_000, 1_000, 499500, "row 999", "2024-01-01"))
        k.execute("DROP VIEW view_pymssql; DROP TABLE behind_pymssql")
        c.commit()


run("pymssql")
