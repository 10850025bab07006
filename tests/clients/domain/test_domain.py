"""An account that has no login but its groups', with Microsoft's ODBC driver."""

import sys

import pyodbc

CONNECTION = "Driver={ODBC Driver 18 for SQL Server};Server=db1.corp.example.com,1433;Trusted_Connection=yes;TrustServerCertificate=yes"


def main():
    connection = pyodbc.connect(CONNECTION, autocommit=True)
    row = connection.execute(
        "SELECT SUSER_SNAME(), DB_NAME(), (SELECT auth_scheme FROM sys.dm_exec_connections WHERE session_id = @@SPID),"
        " (SELECT nt_user_name FROM sys.dm_exec_sessions WHERE session_id = @@SPID)"
    ).fetchone()
    expected = ("KEELAD\\cid", "shop", "KERBEROS", "cid")
    if tuple(row) != expected:
        print(f"FAILED domain odbc_by_a_group\nexpected {expected}\ngot      {tuple(row)}")
        return 1
    print("ok     domain odbc_by_a_group")
    return 0


sys.exit(main())
