"""One writer with pymssql (FreeTDS). Prints `A writer n time_ns` for each acknowledged row and `E writer text` for each failure."""

import os
import time

import pymssql

HOSTS = os.environ["KEEL_HOSTS"].split(",")
WRITER = int(os.environ["KEEL_FIRST_WRITER"])
CAMPAIGN = int(os.environ["KEEL_CAMPAIGN"])
PACE = float(os.environ["KEEL_PACE_MS"]) / 1000
# The driver knows whole seconds only.
TIMEOUT = max(1, round(int(os.environ["KEEL_TIMEOUT_MS"]) / 1000))


def write(connection, n):
    cursor = connection.cursor()
    cursor.execute("INSERT shop.dbo.ledger (campaign, writer, n) VALUES (%d, %d, %d)", (CAMPAIGN, WRITER, n))
    cursor.close()


def main():
    n, host, connection = 0, WRITER, None
    while True:
        n += 1
        try:
            if connection is None:
                connection = pymssql.connect(server=HOSTS[host % len(HOSTS)], port=os.environ["KEEL_PORT"], user="sa",
                                             password=os.environ["KEEL_PASSWORD"], database="shop", autocommit=True,
                                             timeout=TIMEOUT, login_timeout=TIMEOUT)
            write(connection, n)
            print(f"A {WRITER} {n} {time.time_ns()}", flush=True)
            time.sleep(PACE)
        except pymssql.Error as error:
            print(f"E {WRITER} {' '.join(str(error).split())}", flush=True)
            host += 1
            if connection is not None:
                try:
                    connection.close()
                except pymssql.Error:
                    pass
                connection = None


if __name__ == "__main__":
    main()
