"""ODBC, mssql-python and pymssql by Kerberos: tickets of bob, who has a login, and of eve, who has none."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from harness import DATABASE, PORT, check, equal, run  # noqa: E402

WHO = "SELECT SUSER_SNAME(), auth_scheme, DB_NAME() FROM sys.dm_exec_connections WHERE session_id = @@SPID"


def cache(user):
    os.environ["KRB5CCNAME"] = os.environ["KEEL_TICKETS"] + user


def odbc(user, **more):
    import pyodbc

    cache(user)
    # It would call a server on this machine by the machine's name.
    options = {"ServerSPN": f"MSSQLSvc/localhost:{PORT}", "Server": f"localhost,{PORT}", "Database": DATABASE, "Trusted_Connection": "yes", "TrustServerCertificate": "yes", **more}
    text = "Driver={ODBC Driver 18 for SQL Server};" + ";".join(f"{k}={v}" for k, v in options.items())
    return pyodbc.connect(text, autocommit=True)


def refused(connect, number):
    try:
        connect()
    except Exception as e:
        assert str(number) in str(e) or "Login failed for user 'KEEL\\eve'" in str(e), e
    else:
        raise AssertionError("logged in")


@check
def odbc_with_tickets():
    equal(tuple(odbc("bob").execute(WHO).fetchone()), ("KEEL\\bob", "KERBEROS", DATABASE))


@check
def odbc_without_encryption_of_what_follows():
    equal(tuple(odbc("bob", Encrypt="optional").execute(WHO).fetchone()), ("KEEL\\bob", "KERBEROS", DATABASE))


@check
def odbc_before_the_first_packet_encrypted():
    options = {"Encrypt": "strict", "ServerCertificate": os.environ["KEEL_CERTIFICATE"]}
    equal(tuple(odbc("bob", **options).execute(WHO).fetchone()), ("KEEL\\bob", "KERBEROS", DATABASE))


@check
def odbc_by_another_name_of_the_server():
    equal(odbc("bob", ServerSPN="MSSQLSvc/localhost").execute(WHO).fetchone()[0], "KEEL\\bob")


@check
def odbc_for_another_service():
    refused(lambda: odbc("bob", ServerSPN="HTTP/localhost"), 18452)


@check
def odbc_without_login():
    refused(lambda: odbc("eve"), 18456)


@check
def mssql_python_with_tickets():
    import mssql_python

    cache("bob")
    c = mssql_python.connect(f"Server=localhost,{PORT};Database={DATABASE};Trusted_Connection=yes;TrustServerCertificate=yes;ServerSPN=MSSQLSvc/localhost:{PORT}")
    equal(tuple(c.cursor().execute(WHO).fetchone()), ("KEEL\\bob", "KERBEROS", DATABASE))


@check
def pymssql_without_name_and_password():
    import pymssql

    cache("bob")
    c = pymssql.connect(server="localhost", port=str(PORT), database=DATABASE).cursor()
    c.execute(WHO)
    equal(c.fetchone(), ("KEEL\\bob", "KERBEROS", DATABASE))


run("kerberos")
