"""mssql-python, Microsoft's driver of its own."""

import mssql_python
from harness import DATABASE, HOST, PASSWORD, PORT, TYPES, USER, check, equal, run


def connect(autocommit=True, **more):
    options = {
        "SERVER": f"{HOST},{PORT}",
        "UID": USER,
        "PWD": PASSWORD,
        "DATABASE": DATABASE,
        "Encrypt": "yes",
        "TrustServerCertificate": "yes",
    }
    text = ";".join(f"{k}={v}" for k, v in {**options, **more}.items())
    return mssql_python.connect(text, autocommit=autocommit)


@check
def login():
    k = connect().cursor()
    k.execute("SELECT DB_NAME(), 1")
    equal(tuple(k.fetchone()), (DATABASE, 1))


@check
def wrong_password():
    try:
        connect(PWD="wrong")
    except Exception as e:
        assert "Login failed" in str(e), e
    else:
        raise AssertionError("logged in")


@check
def every_type():
    c = connect()
    k = c.cursor()
    for i, (sql_type, value) in enumerate(TYPES):
        k.execute(f"CREATE TABLE #t{i} (v {sql_type} NULL)")
        k.execute(f"INSERT #t{i} VALUES (?)", value)
        k.execute(f"SELECT v FROM #t{i}")
        equal(k.fetchone()[0], value)


@check
def transactions():
    c = connect(autocommit=False)
    k = c.cursor()
    k.execute("CREATE TABLE tx_mp (a int)")
    c.commit()
    k.execute("INSERT tx_mp VALUES (1)")
    c.rollback()
    k.execute("SELECT COUNT(*) FROM tx_mp")
    equal(k.fetchone()[0], 0)
    k.execute("DROP TABLE tx_mp")
    c.commit()


@check
def pooled_connections_are_reset():
    mssql_python.pooling(max_size=2, idle_timeout=30)
    for _ in range(5):
        c = connect()
        k = c.cursor()
        k.execute("SELECT OBJECT_ID('tempdb..#left_over')")
        equal(k.fetchone()[0], None)
        k.execute("CREATE TABLE #left_over (a int)")
        c.close()


@check
def errors():
    k = connect().cursor()
    try:
        k.execute("SELECT * FROM nowhere")
    except Exception as e:
        assert "Invalid object name 'nowhere'" in str(e), e
    else:
        raise AssertionError("no error")


run("mssql-python")
