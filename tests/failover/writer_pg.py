"""Writers to PostgreSQL with psycopg2, one thread each. Prints as writer.py does."""

import os
import sys
import threading
import time

import psycopg2

HOSTS = os.environ["KEEL_HOSTS"]
CAMPAIGN = int(os.environ["KEEL_CAMPAIGN"])
PACE = float(os.environ["KEEL_PACE_MS"]) / 1000
TIMEOUT_MS = int(os.environ["KEEL_TIMEOUT_MS"])
FIRST, COUNT = int(os.environ["KEEL_FIRST_WRITER"]), int(os.environ["KEEL_WRITERS"])
OUT = threading.Lock()


def say(text):
    with OUT:
        print(text, flush=True)


def connect():
    # A silent server is given up by the kernel: libpq has no time-out for an answer.
    connection = psycopg2.connect(host=HOSTS, port=os.environ["KEEL_PORT"], user="postgres", dbname="postgres",
                                  password=os.environ["KEEL_PASSWORD"], target_session_attrs="read-write",
                                  connect_timeout=2, tcp_user_timeout=TIMEOUT_MS, keepalives_idle=1,
                                  options=f"-c statement_timeout={max(TIMEOUT_MS, 1)}")
    connection.autocommit = True
    return connection


def write(writer):
    connection, n = None, 0
    while True:
        n += 1
        try:
            if connection is None:
                connection = connect()
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO ledger VALUES (%s, %s, %s)", (CAMPAIGN, writer, n))
            say(f"A {writer} {n} {time.time_ns()}")
            time.sleep(PACE)
        except psycopg2.Error as error:
            say(f"E {writer} {' '.join(str(error).split())}")
            if connection is not None:
                connection.close()
                connection = None
            time.sleep(0.01)


if __name__ == "__main__":
    threads = [threading.Thread(target=write, args=(FIRST + i,), daemon=True) for i in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit(0)
