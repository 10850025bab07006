"""Server cursors through ODBC itself, which Python's modules do not offer: the driver manager called by ctypes.

Every SQLSetStmtAttr, SQLFetchScroll and SQLSetPos below becomes an sp_cursor… call of Microsoft's driver.
"""

import ctypes
from ctypes import byref, c_char_p, c_int, c_long, c_short, c_ulong, c_ushort, c_void_p, create_string_buffer

from harness import DATABASE, HOST, PASSWORD, PORT, USER, check, equal

ENV, DBC, STMT = 1, 2, 3
CURSOR_TYPE, CONCURRENCY, ROW_ARRAY_SIZE, ROW_STATUS, ROWS_FETCHED = 6, 7, 27, 25, 26
FORWARD_ONLY, KEYSET, DYNAMIC, STATIC = 0, 1, 2, 3
READ_ONLY, LOCK, ROWVER, VALUES = 1, 2, 3, 4
NEXT, FIRST, LAST, PRIOR, ABSOLUTE, RELATIVE = 1, 2, 3, 4, 5, 6
POSITION, REFRESH, UPDATE, DELETE, ADD = 0, 1, 2, 3, 4
NO_DATA = 100
C_LONG, C_CHAR = 4, 1


class Connection:
    def __init__(self):
        self.odbc = ctypes.CDLL("libodbc.so.2")
        self.env, self.dbc = c_void_p(), c_void_p()
        self.odbc.SQLAllocHandle(ENV, None, byref(self.env))
        self.odbc.SQLSetEnvAttr(self.env, 200, c_void_p(3), 0)
        self.odbc.SQLAllocHandle(DBC, self.env, byref(self.dbc))
        text = (
            f"DRIVER={{ODBC Driver 18 for SQL Server}};SERVER={HOST},{PORT};UID={USER};PWD={PASSWORD};"
            f"DATABASE={DATABASE};TrustServerCertificate=yes"
        )
        self.must(self.odbc.SQLDriverConnect(self.dbc, None, text.encode(), -3, None, 0, None, 0), DBC, self.dbc)

    def message(self, kind, handle, number=1):
        state, text = create_string_buffer(6), create_string_buffer(1000)
        native, length = c_int(), c_short()
        self.odbc.SQLGetDiagRec(kind, handle, number, state, byref(native), text, 1000, byref(length))
        return state.value.decode(), native.value, text.value.decode()

    def must(self, result, kind, handle):
        assert result in (0, 1), (result, self.message(kind, handle))
        return result

    def statement(self, **attributes):
        return Statement(self, **attributes)


class Statement:
    """A statement with columns id (int) and name (varchar) bound, `size` rows at a time."""

    def __init__(self, connection, size=1, cursor=None, concurrency=None):
        self.c, self.odbc = connection, connection.odbc
        self.handle = c_void_p()
        self.odbc.SQLAllocHandle(STMT, connection.dbc, byref(self.handle))
        self.ids, self.id_lengths = (c_int * size)(), (c_long * size)()
        self.names, self.name_lengths = (ctypes.c_char * 31 * size)(), (c_long * size)()
        self.status, self.fetched = (c_ushort * size)(), c_ulong()
        self.set(ROW_ARRAY_SIZE, c_void_p(size))
        self.set(ROW_STATUS, self.status)
        self.set(ROWS_FETCHED, byref(self.fetched))
        if cursor is not None:
            self.set(CURSOR_TYPE, c_void_p(cursor))
        if concurrency is not None:
            self.set(CONCURRENCY, c_void_p(concurrency))

    def must(self, result):
        return self.c.must(result, STMT, self.handle)

    def set(self, attribute, value):
        self.must(self.odbc.SQLSetStmtAttr(self.handle, attribute, value, 0))

    def attribute(self, attribute):
        value = c_ulong()
        self.must(self.odbc.SQLGetStmtAttr(self.handle, attribute, byref(value), 0, None))
        return value.value

    def execute(self, sql):
        self.must(self.odbc.SQLExecDirect(self.handle, c_char_p(sql.encode()), -3))
        return self.bind()

    def bind(self):
        columns = self.columns()
        if columns == 0:
            return self
        self.must(self.odbc.SQLBindCol(self.handle, 1, C_LONG, self.ids, 4, self.id_lengths))
        if columns > 1:
            self.must(self.odbc.SQLBindCol(self.handle, 2, C_CHAR, self.names, 31, self.name_lengths))
        return self

    def columns(self):
        columns = c_short()
        self.must(self.odbc.SQLNumResultCols(self.handle, byref(columns)))
        return columns.value

    def values(self, sql):
        """All rows of a query, every value asked for as text by itself."""
        self.must(self.odbc.SQLExecDirect(self.handle, c_char_p(sql.encode()), -3))
        rows, columns = [], self.columns()
        while self.must_or_end(self.odbc.SQLFetchScroll(self.handle, NEXT, c_long(0))):
            rows.append([self.value(i + 1) for i in range(columns)])
        return rows

    def must_or_end(self, result):
        return result != NO_DATA and self.must(result) in (0, 1)

    def value(self, column):
        text, length = create_string_buffer(4000), c_long()
        self.must(self.odbc.SQLGetData(self.handle, c_ushort(column), C_CHAR, text, 4000, byref(length)))
        return None if length.value < 0 else text.value.decode()

    def fetch(self, orientation=NEXT, offset=0):
        result = self.odbc.SQLFetchScroll(self.handle, orientation, c_long(offset))
        if result == NO_DATA:
            return []
        self.must(result)
        return list(self.ids[: self.fetched.value])

    def text(self, row=0):
        return self.names[row].value.decode()

    def set_row(self, row, id_, name):
        self.ids[row], self.id_lengths[row] = id_, 4
        self.names[row].value, self.name_lengths[row] = name.encode(), len(name)

    def position(self, row, operation):
        return self.odbc.SQLSetPos(self.handle, c_ulong(row), operation, 0)

    def close(self):
        self.odbc.SQLFreeHandle(STMT, self.handle)


def table(c, name, rows):
    s = c.statement()
    s.execute(f"DROP TABLE IF EXISTS {name}")
    s.execute(f"CREATE TABLE {name} (id int NOT NULL PRIMARY KEY, name varchar(30) NULL)")
    s.execute(f"INSERT {name} SELECT value, CONCAT('row ', value) FROM GENERATE_SERIES(1, {rows})")
    s.close()


@check
def cursors_scroll():
    c = Connection()
    table(c, "scroll_odbc", 10)
    for kind in [STATIC, KEYSET]:
        s = c.statement(size=4, cursor=kind).execute("SELECT id, name FROM scroll_odbc ORDER BY id")
        equal(s.attribute(CURSOR_TYPE), kind)
        equal(s.fetch(), [1, 2, 3, 4])
        equal(s.fetch(), [5, 6, 7, 8])
        equal(s.text(1), "row 6")
        equal(s.fetch(), [9, 10])
        equal(s.fetch(), [])
        equal(s.fetch(PRIOR), [7, 8, 9, 10])
        equal(s.fetch(FIRST), [1, 2, 3, 4])
        equal(s.fetch(LAST), [7, 8, 9, 10])
        equal(s.fetch(ABSOLUTE, 3), [3, 4, 5, 6])
        equal(s.fetch(RELATIVE, 2), [5, 6, 7, 8])
        equal(s.fetch(ABSOLUTE, -2), [9, 10])
        equal(s.fetch(ABSOLUTE, 11), [])
        s.close()
    # Two results at once on one connection.
    a = c.statement(cursor=STATIC).execute("SELECT id, name FROM scroll_odbc ORDER BY id")
    b = c.statement(cursor=STATIC).execute("SELECT id, name FROM scroll_odbc ORDER BY id DESC")
    for i in range(1, 11):
        equal((a.fetch(), b.fetch()), ([i], [11 - i]))
    # What has no key is static.
    s = c.statement(cursor=KEYSET).execute("SELECT COUNT(*) FROM scroll_odbc")
    equal((s.attribute(CURSOR_TYPE), s.fetch()), (STATIC, [10]))


@check
def cursors_see_what_is_inserted():
    c = Connection()
    table(c, "dynamic_odbc", 10)
    other = Connection().statement()
    s = c.statement(size=4, cursor=DYNAMIC, concurrency=VALUES).execute("SELECT id, name FROM dynamic_odbc WHERE id > 0")
    equal(s.attribute(CURSOR_TYPE), DYNAMIC)
    equal(s.fetch(), [1, 2, 3, 4])
    other.execute("INSERT dynamic_odbc VALUES (0, 'no'), (11, 'new'), (12, 'new'); DELETE dynamic_odbc WHERE id IN (2, 6)")
    equal(s.fetch(), [5, 7, 8, 9])
    s.set_row(1, 7, "seven")
    s.must(s.position(2, UPDATE))
    s.must(s.position(3, DELETE))
    equal(s.fetch(), [10, 11, 12])
    equal(s.fetch(), [])
    equal(s.fetch(PRIOR), [9, 10, 11, 12])
    equal(s.fetch(FIRST), [1, 3, 4, 5])
    equal(s.fetch(RELATIVE, 4), [7, 9, 10, 11])
    equal(s.text(0), "seven")
    equal(s.fetch(LAST), [9, 10, 11, 12])
    # Without a suitable order it is a keyset, and says so.
    s = c.statement(cursor=DYNAMIC).execute("SELECT id, name FROM dynamic_odbc ORDER BY name")
    equal(s.attribute(CURSOR_TYPE), KEYSET)


@check
def a_forward_only_cursor_is_fetched_from_behind_its_last_row():
    """The driver does so when a statement is executed again with rowsets larger than its result."""
    c = Connection()
    s = c.statement(size=20)
    s.must(s.odbc.SQLPrepare(s.handle, b"SELECT 1 AS id, 'x' AS name", -3))
    for _ in range(3):
        s.must(s.odbc.SQLExecute(s.handle))
        s.bind()
        equal(s.fetch(), [1])
        equal(s.fetch(), [])
        s.must(s.odbc.SQLFreeStmt(s.handle, 0))


@check
def cursors_change():
    c = Connection()
    table(c, "change_odbc", 6)
    s = c.statement(size=3, cursor=KEYSET, concurrency=VALUES).execute("SELECT id, name FROM change_odbc ORDER BY id")
    equal(s.fetch(), [1, 2, 3])
    s.set_row(1, 2, "two")
    s.must(s.position(2, UPDATE))
    s.must(s.position(3, DELETE))
    s.set_row(0, 77, "added")
    s.must(s.position(1, ADD))
    equal(s.fetch(FIRST), [1, 2, 3])
    equal(list(s.status), [0, 0, 1])  # the third row is SQL_ROW_DELETED
    equal(s.text(1), "two")
    other = Connection().statement()
    other.execute("UPDATE change_odbc SET name = 'theirs' WHERE id = 1")
    s.set_row(0, 1, "mine")
    equal(s.position(1, UPDATE), -1)
    equal(c.message(STMT, s.handle)[1], 16934)
    s.must(s.position(1, REFRESH))
    equal(s.text(0), "theirs")
    # By the cursor's name.
    s.odbc.SQLSetCursorName(s.handle, b"mine", -3)
    s.must(s.position(2, POSITION))
    s.close()
    seen = c.statement(size=20).execute("SELECT id, name FROM change_odbc ORDER BY id")
    equal(seen.fetch(), [1, 2, 4, 5, 6, 77])
    equal([seen.text(i) for i in (0, 1, 5)], ["theirs", "two", "added"])


@check
def cursors_over_large_values():
    """Of columns that are not bound the driver asks for text pointers, and for each value when it is read."""
    c = Connection()
    c.statement().execute("DROP TABLE IF EXISTS large_odbc")
    c.statement().execute(
        "CREATE TABLE large_odbc (id int NOT NULL PRIMARY KEY, a varchar(max), b nvarchar(max), c text, d varbinary(max), e xml, "
        "f ntext, g image)"
    )
    c.statement().execute(
        "INSERT large_odbc VALUES (1, 'one', N'uno', 'old', 0x0102, '<a/>', N'alt', 0x03), "
        "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "
        "(3, REPLICATE('x', 900), REPLICATE(N'y', 900), REPLICATE('z', 900), 0x04, '<b/>', N'', 0x05)"
    )
    wanted = [
        ["1", "one", "uno", "old", "0102", "<a/>", "alt", "03"],
        ["2"] + [None] * 7,
        ["3", "x" * 900, "y" * 900, "z" * 900, "04", "<b/>", "", "05"],
    ]
    for kind in [FORWARD_ONLY, STATIC, KEYSET, DYNAMIC]:
        equal(c.statement(cursor=kind).values("SELECT * FROM large_odbc ORDER BY id"), wanted)


@check
def prepared_statements_tell_their_columns():
    c = Connection()
    table(c, "prepared_odbc", 3)
    s = c.statement()
    s.must(s.odbc.SQLPrepare(s.handle, b"SELECT id, name FROM prepared_odbc WHERE id > ?", -3))
    equal(s.columns(), 2)
    name, length, kind, size = create_string_buffer(50), c_short(), c_short(), c_ulong()
    described = s.odbc.SQLDescribeCol(s.handle, 2, name, 50, byref(length), byref(kind), byref(size), None, None)
    equal((described, name.value, kind.value, size.value), (0, b"name", 12, 30))
    s.close()
    s = c.statement()
    s.must(s.odbc.SQLPrepare(s.handle, b"SELECT nosuch FROM prepared_odbc", -3))
    equal(s.odbc.SQLExecute(s.handle), -1)
    equal([c.message(STMT, s.handle, n)[1] for n in (1, 2)], [207, 8180])
