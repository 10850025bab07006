"""One writer with pymssql (FreeTDS) or Microsoft's ODBC driver: `writer.py pymssql|odbc`.

Prints `A writer n time_ns` for each acknowledged row and `E writer text` for each failure."""

import os
import sys
import time

HOSTS = os.environ["KEEL_HOSTS"].split(",")
# Whether they are names with several addresses each, which the ODBC driver tries side by side.
MULTI_SUBNET = "KEEL_MULTI_SUBNET" in os.environ
PORT = os.environ["KEEL_PORT"]
PASSWORD = os.environ["KEEL_PASSWORD"]
WRITER = int(os.environ["KEEL_FIRST_WRITER"])
CAMPAIGN = int(os.environ["KEEL_CAMPAIGN"])
PACE = float(os.environ["KEEL_PACE_MS"]) / 1000
LOGINS_FIRST = int(os.environ["KEEL_LOGINS_FIRST"])
# The drivers know whole seconds only.
TIMEOUT = max(1, round(int(os.environ["KEEL_TIMEOUT_MS"]) / 1000))

if sys.argv[1] == "odbc":
    import pyodbc as driver

    driver.pooling = False

    def connect(host):
        connection = driver.connect(
            f"DRIVER={{ODBC Driver 18 for SQL Server}};SERVER=tcp:{host},{PORT};DATABASE=shop;UID=sa;PWD={PASSWORD};"
            f"TrustServerCertificate=yes;ConnectRetryCount=0;MultiSubnetFailover={'Yes' if MULTI_SUBNET else 'No'}", autocommit=True, timeout=TIMEOUT)
        connection.timeout = TIMEOUT
        return connection
else:
    import pymssql as driver

    def connect(host):
        return driver.connect(server=host, port=PORT, user="sa", password=PASSWORD, database="shop", autocommit=True,
                              timeout=TIMEOUT, login_timeout=TIMEOUT)


def write(connection, n):
    cursor = connection.cursor()
    cursor.execute(f"INSERT shop.dbo.ledger (campaign, writer, n) VALUES ({CAMPAIGN}, {WRITER}, {n})")
    cursor.close()


def main():
    n, host, connection = 0, WRITER, None
    for _ in range(LOGINS_FIRST):
        try:
            # Of severity 20: the connection is over.
            connect(HOSTS[host % len(HOSTS)]).cursor().execute("RAISERROR (N'A writer ends its connection.', 20, 1) WITH LOG")
        except driver.Error:
            time.sleep(0.001)
    while True:
        n += 1
        try:
            if connection is None:
                connection = connect(HOSTS[host % len(HOSTS)])
            write(connection, n)
            print(f"A {WRITER} {n} {time.time_ns()}", flush=True)
            time.sleep(PACE)
        except driver.Error as error:
            print(f"E {WRITER} {' '.join(str(error).split())}", flush=True)
            host += 1
            # The writers and the servers share a machine.
            time.sleep(0.001)
            if connection is not None:
                try:
                    connection.close()
                except driver.Error:
                    pass
                connection = None


if __name__ == "__main__":
    main()
