"""A list of named checks with one line of outcome each; what every Python driver's program is made of."""

import datetime as dt
import decimal
import os
import sys
import traceback
import uuid

HOST = os.environ["KEEL_HOST"]
PORT = int(os.environ["KEEL_PORT"])
USER = "sa"
PASSWORD = os.environ["KEEL_PASSWORD"]
DATABASE = os.environ["KEEL_DATABASE"]
CERTIFICATE = os.environ["KEEL_CERTIFICATE"]

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def run(driver):
    only = sys.argv[1:]
    failed = 0
    for function in CHECKS:
        name = function.__name__
        if only and name not in only:
            continue
        try:
            function()
            print(f"ok     {driver} {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {driver} {name}", flush=True)
            traceback.print_exc()
    sys.exit(1 if failed else 0)


def equal(got, expected):
    assert got == expected, f"got {got!r}, expected {expected!r}"


# Type, value. Each is sent as a parameter, stored in a column of the type, read back and compared.
TYPES = [
    ("bit", True),
    ("tinyint", 255),
    ("smallint", -32768),
    ("int", 2147483647),
    ("bigint", -9223372036854775808),
    ("decimal(38,4)", decimal.Decimal("-1234567890123456789012345678901234.5678")),
    ("numeric(9,2)", decimal.Decimal("1234567.89")),
    ("money", decimal.Decimal("922337203685477.5807")),
    ("smallmoney", decimal.Decimal("-214748.3648")),
    ("float", 1.7976931348623157e308),
    ("real", 0.5),
    ("date", dt.date(9999, 12, 31)),
    ("time(6)", dt.time(23, 59, 59, 999999)),
    ("datetime", dt.datetime(1753, 1, 1, 0, 0, 0, 3000)),
    ("smalldatetime", dt.datetime(2079, 6, 6, 23, 59)),
    ("datetime2(6)", dt.datetime(1, 1, 1, 0, 0, 0, 1)),
    ("char(5)", "abc  "),
    ("varchar(50)", "café €"),
    ("nchar(5)", "漢字   "),
    ("nvarchar(50)", "漢字 😀 ü"),
    ("varchar(max)", "x" * 20000),
    ("nvarchar(max)", "漢" * 20000),
    ("binary(4)", b"\x01\x02\x03\x04"),
    ("varbinary(10)", b"\x00\xff"),
    ("varbinary(max)", bytes(range(256)) * 100),
    ("uniqueidentifier", uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")),
]
