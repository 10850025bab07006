#!/usr/bin/env python3
"""A client that is thrown out again and again, beside a `keel bench failover` with the driver pymssql: what docs/benchmarks.md says of
connections that a new primary's system remembers.

    target/clients/python/bin/python3 tests/failover/thrown-out.py [SECONDS [TIMES A SECOND]]

Logs in through the benchmark's listener, as its pymssql writer does, and raises an error that ends the connection, from the
server's side first. Ends after SECONDS (300), or with the benchmark, and prints how often it was thrown out.
"""

import sys
import time
from pathlib import Path

import pymssql


def writer():
    """What the benchmark's writer with pymssql was told in its environment; None while there is none."""
    for process in Path("/proc").glob("[0-9]*/environ"):
        try:
            pairs = process.read_text(errors="replace").split("\0")
        except OSError:
            continue
        told = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        # Writers with other drivers have names that only they can resolve.
        if "KEEL_PORT" in told and told.get("KEEL_HOSTS", "-")[0].isdigit():
            return told
    return None


def throw_out(told):
    """True when the connection was made, and ended as it should."""
    host = told["KEEL_HOSTS"].split(",")[0]
    to = {"server": host, "port": told["KEEL_PORT"], "user": "sa", "password": told["KEEL_PASSWORD"]}
    try:
        connection = pymssql.connect(**to, login_timeout=2, timeout=2, autocommit=True)
    except pymssql.Error:
        return False
    try:
        connection.cursor().execute("RAISERROR('out', 20, 1) WITH LOG")
    except pymssql.Error:
        return True
    finally:
        connection.close()
    return False


def main():
    seconds, pace = (float(a) for a in (*sys.argv[1:], *("300", "10")[len(sys.argv) - 1 :]))
    end, done, told = time.monotonic() + seconds, 0, None
    while time.monotonic() < end:
        told = told or writer()
        if told and throw_out(told):
            done += 1
        elif told and not writer():
            break
        time.sleep(1 / pace)
    print(f"thrown out {done} times")


if __name__ == "__main__":
    main()
