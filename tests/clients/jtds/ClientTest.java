import java.io.*;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;
import java.util.concurrent.atomic.AtomicBoolean;
import net.sourceforge.jtds.jdbcx.JtdsDataSource;

/** jTDS 1.3, which speaks TDS 7.1, and 7.0 where it is told to. */
public class ClientTest {
    static final String HOST = System.getenv("KEEL_HOST");
    static final String PORT = System.getenv("KEEL_PORT");
    static final String PASSWORD = System.getenv("KEEL_PASSWORD");
    static final String DATABASE = System.getenv("KEEL_DATABASE");

    interface Check {
        void run() throws Exception;
    }

    static final Map<String, Check> CHECKS = new LinkedHashMap<>();

    static Connection connect(String more) throws SQLException {
        return DriverManager.getConnection("jdbc:jtds:sqlserver://" + HOST + ":" + PORT + "/" + DATABASE + ";user=sa;password="
            + PASSWORD + ";" + more);
    }

    static Connection connect() throws SQLException {
        return connect("");
    }

    static void equal(Object got, Object expected) {
        if (!Objects.equals(got, expected)) throw new AssertionError("got " + got + ", expected " + expected);
    }

    static Object value(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return r.getObject(1);
        }
    }

    static void execute(Connection c, String... all) throws SQLException {
        try (Statement s = c.createStatement()) {
            for (String sql : all) s.execute(sql);
        }
    }

    static String text(Clob clob) throws SQLException {
        return clob.getSubString(1, (int) clob.length());
    }

    static void login() throws Exception {
        for (String more : List.of("", "TDS=7.0", "packetSize=512", "packetSize=32768", "appName=tool;wsid=desk", "lastUpdateCount=false",
                "useCursors=true", "sendStringParametersAsUnicode=false")) {
            try (Connection c = connect(more)) {
                equal(value(c, "SELECT DB_NAME()"), DATABASE);
                equal(c.getMetaData().getDatabaseProductName(), "Microsoft SQL Server");
                equal(c.getMetaData().getDatabaseMajorVersion(), 16);
                c.setCatalog("tempdb");
                equal(c.getCatalog(), "tempdb");
            }
        }
    }

    /** What the server says that the client speaks. */
    static void version() throws Exception {
        try (Connection c = connect()) {
            equal(value(c, "SELECT protocol_version FROM sys.dm_exec_connections WHERE session_id = @@SPID"), 0x71000001);
        }
    }

    /** Not "request", TLS for the login alone: the driver throws away what of the answer has come when it ends TLS. */
    static void encryption() throws Exception {
        for (String ssl : List.of("off", "require")) {
            try (Connection c = connect("ssl=" + ssl)) {
                equal(value(c, "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID"),
                    ssl.equals("require") ? "TRUE" : "FALSE");
                equal(value(c, "SELECT REPLICATE(CAST('x' AS varchar(max)), 100000)").toString().isEmpty(), false);
            }
        }
    }

    static void wrongPassword() {
        try {
            connect("password=wrong");
            throw new AssertionError("logged in");
        } catch (SQLException e) {
            equal(e.getErrorCode(), 18456);
        }
        try {
            connect("databaseName=nowhere");
            throw new AssertionError("logged in");
        } catch (SQLException e) {
            equal(e.getErrorCode(), 4060);
        }
    }

    static final Object[][] TYPES = {
        {"bit", true}, {"tinyint", 255}, {"smallint", -32768}, {"int", 7}, {"bigint", Long.MIN_VALUE},
        {"decimal(38,4)", new BigDecimal("-1234567890123456789012345678901234.5678")}, {"numeric(5,0)", new BigDecimal("-12345")},
        {"money", new BigDecimal("922337203685477.5807")}, {"smallmoney", new BigDecimal("-214748.3648")},
        {"float", 1.5e300}, {"real", 0.5f},
        {"datetime", Timestamp.valueOf("1999-12-31 23:59:59.997")}, {"smalldatetime", Timestamp.valueOf("2026-11-21 20:21:00")},
        {"char(5)", "ab   "}, {"varchar(50)", "caf\u00e9 \u20ac"}, {"nchar(3)", "\u6f22  "}, {"nvarchar(50)", "\u6f22\u5b57"},
        {"uniqueidentifier", "01234567-89AB-CDEF-0123-456789ABCDEF"}, {"sql_variant", 5}, {"sql_variant", "text"},
        {"date", "9999-12-31"}, {"time(0)", "20:21:22"}, {"time(7)", "20:21:22.1234567"}, {"datetime2(0)", "2026-11-21 20:21:22"},
        {"datetime2(3)", "0001-01-01 00:00:00.123"}, {"datetime2(7)", "2026-11-21 20:21:22.1234567"},
        {"datetimeoffset(3)", "2026-11-21 20:21:22.123 +05:30"}, {"hierarchyid", "/1/2/"},
    };

    static void everyType() throws Exception {
        for (String more : List.of("prepareSQL=0", "prepareSQL=1", "prepareSQL=2", "prepareSQL=3", "TDS=7.0")) {
            try (Connection c = connect(more)) {
                for (int i = 0; i < TYPES.length; i++) everyType(c, "#t" + i, (String) TYPES[i][0], TYPES[i][1]);
            }
        }
    }

    static void everyType(Connection c, String table, String type, Object value) throws Exception {
        execute(c, "CREATE TABLE " + table + " (id int IDENTITY, v " + type + " NULL)");
        try (PreparedStatement p = c.prepareStatement("INSERT " + table + " (v) VALUES (?)")) {
            p.setObject(1, value);
            equal(p.executeUpdate(), 1);
            p.setNull(1, Types.VARCHAR);
            equal(p.executeUpdate(), 1);
        }
        execute(c, "INSERT " + table + " (v) VALUES (NULL)");
        String shown = type.equals("hierarchyid") ? "v.ToString()" : "v";
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT " + shown + " FROM " + table + " ORDER BY id")) {
            r.next();
            equal(type + " " + r.getObject(1), type + " " + value);
            while (r.next()) equal(r.getObject(1), null);
        }
    }

    /** Types that 7.1 has not: longer ones are text, ntext and image. */
    static void longTypes() throws Exception {
        byte[] bytes = new byte[10000];
        new Random(1).nextBytes(bytes);
        String wide = "\u6f22".repeat(20000);
        for (String more : List.of("", "TDS=7.0", "useLOBs=false")) {
            try (Connection c = connect(more)) {
                execute(c, "CREATE TABLE #l (id int, a varchar(max), b nvarchar(max), c varbinary(max), d xml, e text, f ntext, g image)");
                try (PreparedStatement p = c.prepareStatement("INSERT #l VALUES (?, ?, ?, ?, ?, ?, ?, ?)")) {
                    p.setInt(1, 1);
                    p.setString(2, "x".repeat(20000));
                    p.setCharacterStream(3, new StringReader(wide), wide.length());
                    p.setBytes(4, bytes);
                    p.setString(5, "<a><b>1</b></a>");
                    p.setCharacterStream(6, new StringReader("caf\u00e9"), 4);
                    p.setString(7, wide);
                    p.setBinaryStream(8, new ByteArrayInputStream(bytes), bytes.length);
                    p.executeUpdate();
                    p.setInt(1, 2);
                    for (int i : new int[] {2, 3, 5, 6, 7}) p.setNull(i, Types.VARCHAR);
                    for (int i : new int[] {4, 8}) p.setNull(i, Types.VARBINARY);
                    p.executeUpdate();
                    p.setInt(1, 3);
                    for (int i : new int[] {2, 3, 5, 6, 7}) p.setString(i, "");
                    for (int i : new int[] {4, 8}) p.setBytes(i, new byte[0]);
                    p.executeUpdate();
                }
                try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT * FROM #l ORDER BY id")) {
                    r.next();
                    equal(r.getString(2), "x".repeat(20000));
                    equal(r.getString(3), wide);
                    equal(Arrays.equals(r.getBytes(4), bytes), true);
                    equal(r.getString(5), "<a><b>1</b></a>");
                    equal(r.getString(6), "caf\u00e9");
                    equal(text(r.getClob(7)), wide);
                    equal(Arrays.equals(r.getBlob(8).getBytes(1, bytes.length), bytes), true);
                    r.next();
                    for (int i = 2; i <= 8; i++) equal(r.getObject(i), null);
                    r.next();
                    for (int i : new int[] {2, 3, 5, 6, 7}) equal(r.getString(i), "");
                    for (int i : new int[] {4, 8}) equal(r.getBytes(i).length, 0);
                    equal(r.next(), false);
                    boolean lobs = !more.equals("useLOBs=false");
                    equal(r.getMetaData().getColumnType(2), lobs ? Types.CLOB : Types.LONGVARCHAR);
                    equal(r.getMetaData().getColumnType(4), lobs ? Types.BLOB : Types.LONGVARBINARY);
                }
            }
        }
    }

    static void spatialTypes() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement();
             ResultSet r = s.executeQuery("SELECT geometry::Parse('POINT(1 2)'), hierarchyid::Parse('/1/'), "
                 + "CAST(CAST('2026-01-02' AS date) AS sql_variant), CAST(N'x' AS sql_variant)")) {
            r.next();
            equal(r.getBytes(1).length, 22);
            equal(r.getBytes(2).length, 1);
            equal(r.getString(3), "2026-01-02");
            equal(r.getString(4), "x");
        }
    }

    static void preparedAgainAndAgain() throws Exception {
        for (int how = 0; how <= 3; how++) {
            try (Connection c = connect("prepareSQL=" + how); PreparedStatement p = c.prepareStatement("SELECT ? + 1, ?")) {
                for (int i = 0; i < 50; i++) {
                    p.setInt(1, i);
                    p.setString(2, "text " + i);
                    try (ResultSet r = p.executeQuery()) {
                        r.next();
                        equal(r.getInt(1), i + 1);
                        equal(r.getString(2), "text " + i);
                    }
                }
                equal(p.getParameterMetaData().getParameterCount(), 2);
            }
        }
    }

    static void procedure() throws Exception {
        try (Connection c = connect()) {
            execute(c, "CREATE OR ALTER PROCEDURE p_jtds @a int, @b int OUTPUT, @c nvarchar(50) OUTPUT, @d decimal(10,2) OUTPUT, "
                + "@e datetime OUTPUT, @f varchar(max) OUTPUT, @g date = NULL OUTPUT AS SELECT @a; SET @b = @a * 2; SET @c = @c + N'\u6f22'; "
                + "SET @d = 1.25; SET @e = '2026-01-02T03:04:05'; SET @f = REPLICATE(CAST('y' AS varchar(max)), 9000); "
                + "SET @g = '2026-01-02'; RETURN 7");
            try (CallableStatement s = c.prepareCall("{? = call p_jtds(?, ?, ?, ?, ?, ?, ?)}")) {
                s.registerOutParameter(1, Types.INTEGER);
                s.setInt(2, 21);
                s.registerOutParameter(3, Types.INTEGER);
                s.setString(4, "in");
                s.registerOutParameter(4, Types.VARCHAR);
                s.registerOutParameter(5, Types.DECIMAL, 2);
                s.registerOutParameter(6, Types.TIMESTAMP);
                s.registerOutParameter(7, Types.VARCHAR);
                s.registerOutParameter(8, Types.VARCHAR);
                ResultSet r = s.executeQuery();
                r.next();
                equal(r.getInt(1), 21);
                r.close();
                equal(s.getInt(1), 7);
                equal(s.getInt(3), 42);
                equal(s.getString(4), "in\u6f22");
                equal(s.getBigDecimal(5), new BigDecimal("1.25"));
                equal(s.getTimestamp(6), Timestamp.valueOf("2026-01-02 03:04:05"));
                // As long as what the driver says that it takes.
                equal(s.getString(7).length(), 4000);
                equal(s.getString(8), "2026-01-02");
            }
            execute(c, "CREATE OR ALTER FUNCTION f_jtds(@a int) RETURNS int AS BEGIN RETURN @a + 1 END");
            try (CallableStatement s = c.prepareCall("{? = call f_jtds(?)}")) {
                s.registerOutParameter(1, Types.INTEGER);
                s.setInt(2, 4);
                s.execute();
                equal(s.getInt(1), 5);
            }
            execute(c, "DROP PROCEDURE p_jtds", "DROP FUNCTION f_jtds");
        }
    }

    static void transactions() throws Exception {
        try (Connection c = connect()) {
            execute(c, "CREATE TABLE tx_jtds (a int)");
            c.setAutoCommit(false);
            execute(c, "INSERT tx_jtds VALUES (1)");
            c.rollback();
            equal(value(c, "SELECT COUNT(*) FROM tx_jtds"), 0);
            execute(c, "INSERT tx_jtds VALUES (1)");
            Savepoint point = c.setSavepoint("s");
            execute(c, "INSERT tx_jtds VALUES (2)");
            c.rollback(point);
            c.commit();
            equal(value(c, "SELECT COUNT(*) FROM tx_jtds"), 1);
            c.commit();
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            equal(c.getTransactionIsolation(), Connection.TRANSACTION_SERIALIZABLE);
            c.setAutoCommit(true);
            execute(c, "DROP TABLE tx_jtds");
        }
    }

    static void errors() throws Exception {
        try (Connection c = connect()) {
            Object[][] all = {{"SELECT * FROM nowhere", 208, "S0002"}, {"SELECT 1/0", 8134, "22012"}, {"\n\nRAISERROR('x', 16, 2)", 50000, "S1000"}};
            for (Object[] one : all) {
                try {
                    value(c, (String) one[0]);
                    throw new AssertionError("no error from " + one[0]);
                } catch (SQLException e) {
                    equal(e.getErrorCode(), one[1]);
                    equal(e.getSQLState(), one[2]);
                }
            }
            try (Statement s = c.createStatement()) {
                s.execute("PRINT 'said'; RAISERROR('warned', 9, 1); SELECT 1");
                equal(s.getWarnings().getMessage(), "said");
                equal(s.getWarnings().getNextWarning().getMessage(), "warned");
                // The driver's own exception has the line.
                try {
                    s.execute("SELECT 1\n\nSELECT 1/0");
                    equal(s.getMoreResults(), true);
                    s.getResultSet().next();
                    throw new AssertionError("no error");
                } catch (SQLException e) {
                    equal(e.getErrorCode(), 8134);
                }
            }
            equal(value(c, "SELECT 1"), 1);
        }
    }

    static void cancel() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            AtomicBoolean ended = new AtomicBoolean();
            Thread other = new Thread(() -> {
                // Nothing is cancelled by one that comes before the statement has begun.
                try {
                    while (!ended.get()) {
                        Thread.sleep(300);
                        s.cancel();
                    }
                } catch (Exception e) {
                    e.printStackTrace();
                }
            });
            other.start();
            try {
                s.execute("WAITFOR DELAY '00:10:00'");
                throw new AssertionError("not cancelled");
            } catch (SQLException e) {
                // Behind one that says that the statement failed, for no reason.
                while (e.getNextException() != null) e = e.getNextException();
                equal(e.getSQLState(), "HY008");
            } finally {
                ended.set(true);
                other.join();
            }
            s.setQueryTimeout(1);
            try {
                s.execute("WAITFOR DELAY '00:01:00'");
                throw new AssertionError("not timed out");
            } catch (SQLException e) {
                equal(e.getSQLState(), "HYT00");
            }
            equal(value(c, "SELECT 1"), 1);
        }
    }

    static void generatedKeysAndBatches() throws Exception {
        for (String more : List.of("", "prepareSQL=0", "prepareSQL=2", "batchSize=3")) {
            try (Connection c = connect(more)) {
                execute(c, "CREATE TABLE #keys (id int IDENTITY(10, 5), name nvarchar(20) UNIQUE)");
                try (PreparedStatement p = c.prepareStatement("INSERT #keys (name) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                    p.setString(1, "a");
                    equal(p.executeUpdate(), 1);
                    try (ResultSet r = p.getGeneratedKeys()) {
                        r.next();
                        equal(r.getInt(1), 10);
                    }
                }
                try (PreparedStatement p = c.prepareStatement("INSERT #keys (name) VALUES (?)")) {
                    for (int i = 0; i < 20; i++) {
                        p.setString(1, "name " + i);
                        p.addBatch();
                    }
                    int[] counts = p.executeBatch();
                    equal(counts.length, 20);
                    equal(Arrays.stream(counts).allMatch(n -> n == 1), true);
                    for (String name : List.of("new", "a", "newer")) {
                        p.setString(1, name);
                        p.addBatch();
                    }
                    try {
                        p.executeBatch();
                        throw new AssertionError("no error");
                    } catch (BatchUpdateException e) {
                        equal(e.getErrorCode(), 2627);
                    }
                }
                try (Statement s = c.createStatement()) {
                    s.addBatch("UPDATE #keys SET name = name + '!' WHERE id < 20");
                    s.addBatch("DELETE #keys WHERE id = 10");
                    equal(Arrays.toString(s.executeBatch()), "[2, 1]");
                    equal(s.execute("SELECT 1 SELECT 2 UPDATE #keys SET name = name WHERE id = 15"), true);
                    equal(s.getMoreResults(), true);
                    equal(s.getMoreResults(), false);
                    equal(s.getUpdateCount(), 1);
                    equal(s.getMoreResults(), false);
                    equal(s.getUpdateCount(), -1);
                }
            }
        }
    }

    static List<String> names(ResultSet r, String column) throws SQLException {
        List<String> all = new ArrayList<>();
        while (r.next()) all.add(r.getString(column));
        r.close();
        return all;
    }

    static void metadata() throws Exception {
        try (Connection c = connect()) {
            execute(c, "CREATE TABLE meta_jtds (id int NOT NULL PRIMARY KEY, name nvarchar(30) NULL, day date, body varchar(max))",
                "CREATE TABLE child_jtds (id int REFERENCES meta_jtds (id))",
                "CREATE PROCEDURE proc_jtds @a int, @b varchar(10) OUTPUT AS RETURN 1");
            DatabaseMetaData m = c.getMetaData();
            equal(names(m.getTables(null, null, "%a_jtds", new String[] {"TABLE"}), "TABLE_NAME"), List.of("meta_jtds"));
            equal(names(m.getColumns(null, "dbo", "meta_jtds", null), "COLUMN_NAME"), List.of("id", "name", "day", "body"));
            equal(names(m.getPrimaryKeys(null, null, "meta_jtds"), "COLUMN_NAME"), List.of("id"));
            equal(names(m.getExportedKeys(null, null, "meta_jtds"), "FKTABLE_NAME"), List.of("child_jtds"));
            equal(names(m.getImportedKeys(null, null, "child_jtds"), "PKTABLE_NAME"), List.of("meta_jtds"));
            equal(names(m.getIndexInfo(null, null, "meta_jtds", true, false), "COLUMN_NAME").contains("id"), true);
            equal(names(m.getProcedures(null, null, "proc_jtds"), "PROCEDURE_NAME"), List.of("proc_jtds"));
            equal(names(m.getProcedureColumns(null, null, "proc_jtds", null), "COLUMN_NAME"), List.of("@RETURN_VALUE", "@a", "@b"));
            equal(names(m.getCatalogs(), "TABLE_CAT").contains(DATABASE), true);
            equal(names(m.getSchemas(), "TABLE_SCHEM").contains("dbo"), true);
            equal(names(m.getTypeInfo(), "TYPE_NAME").contains("nvarchar"), true);
            equal(names(m.getBestRowIdentifier(null, null, "meta_jtds", 0, true), "COLUMN_NAME"), List.of("id"));
            names(m.getVersionColumns(null, null, "meta_jtds"), "COLUMN_NAME");
            names(m.getTablePrivileges(null, null, "meta_jtds"), "PRIVILEGE");
            names(m.getColumnPrivileges(null, null, "meta_jtds", "id"), "PRIVILEGE");
            names(m.getCrossReference(null, null, "meta_jtds", null, null, "child_jtds"), "FKCOLUMN_NAME");
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT * FROM meta_jtds")) {
                ResultSetMetaData row = r.getMetaData();
                equal(row.getColumnCount(), 4);
                equal(row.isNullable(1), ResultSetMetaData.columnNoNulls);
                equal(row.getColumnDisplaySize(2), 30);
                equal(row.getColumnTypeName(3), "nvarchar");
                equal(row.getPrecision(3), 10);
                equal(row.getColumnTypeName(4), "text");
            }
            execute(c, "DROP PROCEDURE proc_jtds", "DROP TABLE child_jtds, meta_jtds");
        }
    }

    static void cursorTable(Connection c, String name, int rows) throws SQLException {
        execute(c, "DROP TABLE IF EXISTS " + name, "CREATE TABLE " + name + " (id int PRIMARY KEY, name nvarchar(20), amount decimal(9,2), "
            + "body varchar(max), day date)");
        try (PreparedStatement p = c.prepareStatement("INSERT " + name + " VALUES (?, ?, ?, ?, ?)")) {
            for (int i = 1; i <= rows; i++) {
                p.setInt(1, i);
                p.setString(2, "row " + i);
                p.setBigDecimal(3, new BigDecimal(i).multiply(new BigDecimal("1.5")));
                p.setString(4, "body " + i);
                p.setString(5, "2026-01-02");
                p.addBatch();
            }
            p.executeBatch();
        }
    }

    static void scrolls(ResultSet r, int rows) throws SQLException {
        for (int i = 1; i <= rows; i++) {
            equal(r.next(), true);
            equal(r.getInt(1), i);
        }
        equal(r.next(), false);
        equal(r.isAfterLast(), true);
        for (int i = rows; i >= 1; i--) {
            equal(r.previous(), true);
            equal(r.getString(2), "row " + i);
        }
        equal(r.previous(), false);
        equal(r.first(), true);
        equal(r.getInt(1), 1);
        equal(r.last(), true);
        equal(r.getInt(1), rows);
        equal(r.absolute(17), true);
        equal(r.getInt(1), 17);
        equal(r.relative(-5), true);
        equal(r.getInt(1), 12);
        equal(r.absolute(-2), true);
        equal(r.getInt(1), rows - 1);
        equal(r.absolute(rows + 1), false);
        r.beforeFirst();
        equal(r.next(), true);
        equal(r.getString(4), "body 1");
        equal(r.getString(5), "2026-01-02");
    }

    static void cursorsScroll() throws Exception {
        int[] types = {ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.TYPE_SCROLL_SENSITIVE};
        String sql = "SELECT id, name, amount, body, day FROM scroll_jtds ";
        for (String more : List.of("", "prepareSQL=0", "prepareSQL=2", "TDS=7.0")) {
            try (Connection c = connect(more)) {
                cursorTable(c, "scroll_jtds", 50);
                for (int type : types) {
                    for (int size : new int[] {1, 7, 128}) {
                        try (Statement s = c.createStatement(type, ResultSet.CONCUR_READ_ONLY)) {
                            s.setFetchSize(size);
                            try (ResultSet r = s.executeQuery(sql + "ORDER BY id")) {
                                scrolls(r, 50);
                            }
                            try (ResultSet r = s.executeQuery(sql + "WHERE id > 1000")) {
                                equal(r.next(), false);
                                equal(r.last(), false);
                            }
                        }
                        try (PreparedStatement p = c.prepareStatement(sql + "WHERE id <= ? ORDER BY id", type, ResultSet.CONCUR_READ_ONLY)) {
                            p.setFetchSize(size);
                            for (int rows : new int[] {30, 50}) {
                                p.setInt(1, rows);
                                try (ResultSet r = p.executeQuery()) {
                                    scrolls(r, rows);
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    static void cursorsForwardOnly() throws Exception {
        try (Connection c = connect("useCursors=true")) {
            cursorTable(c, "forward_jtds", 300);
            try (Statement s = c.createStatement(); Statement other = c.createStatement();
                 ResultSet r = s.executeQuery("SELECT id, name, NULL AS n FROM forward_jtds ORDER BY id")) {
                int n = 0;
                while (r.next()) {
                    equal(r.getInt(1), ++n);
                    if (n % 50 == 0) {
                        try (ResultSet inner = other.executeQuery("SELECT COUNT(*) FROM forward_jtds")) {
                            inner.next();
                            equal(inner.getInt(1), 300);
                        }
                    }
                }
                equal(n, 300);
            }
            try (Statement s = c.createStatement()) {
                s.setCursorName("named_jtds");
                try (ResultSet r = s.executeQuery("SELECT id, name FROM forward_jtds FOR UPDATE"); Statement u = c.createStatement()) {
                    r.next();
                    r.next();
                    equal(u.executeUpdate("UPDATE forward_jtds SET name = 'here' WHERE CURRENT OF named_jtds"), 1);
                }
            }
            equal(value(c, "SELECT COUNT(*) FROM forward_jtds WHERE name = 'here'"), 1);
        }
    }

    static void cursorsUpdate() throws Exception {
        try (Connection c = connect()) {
            for (int type : new int[] {ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.TYPE_FORWARD_ONLY}) {
                cursorTable(c, "update_jtds", 10);
                try (Statement s = c.createStatement(type, ResultSet.CONCUR_UPDATABLE);
                     ResultSet r = s.executeQuery("SELECT id, name AS label, amount, body FROM update_jtds ORDER BY id")) {
                    r.next();
                    r.updateString(2, "changed \u6f22");
                    r.updateBigDecimal("amount", new BigDecimal("7.25"));
                    r.updateString(4, "z".repeat(9000));
                    r.updateRow();
                    r.next();
                    r.updateNull("label");
                    r.updateRow();
                    r.next();
                    r.deleteRow();
                    r.moveToInsertRow();
                    r.updateInt(1, 100);
                    r.updateString(2, "inserted");
                    r.insertRow();
                    r.moveToCurrentRow();
                }
                List<String> seen = new ArrayList<>();
                try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(
                        "SELECT id, name, amount, DATALENGTH(body) FROM update_jtds WHERE id < 4 OR id > 50 ORDER BY id")) {
                    while (r.next()) seen.add(r.getInt(1) + " " + r.getString(2) + " " + r.getBigDecimal(3) + " " + r.getString(4));
                }
                equal(seen, List.of("1 changed \u6f22 7.25 9000", "2 null 3.00 6", "100 inserted null null"));
            }
        }
    }

    static void pool() throws Exception {
        JtdsDataSource source = new JtdsDataSource();
        source.setServerName(HOST);
        source.setPortNumber(Integer.parseInt(PORT));
        source.setDatabaseName(DATABASE);
        source.setUser("sa");
        source.setPassword(PASSWORD);
        var pooled = source.getPooledConnection();
        Object spid = null;
        for (int i = 0; i < 3; i++) {
            try (Connection c = pooled.getConnection()) {
                Object now = value(c, "SELECT @@SPID");
                equal(spid == null || spid.equals(now), true);
                spid = now;
                c.setAutoCommit(false);
                execute(c, "CREATE TABLE pool_jtds (a int)");
                c.rollback();
            }
        }
        pooled.close();
    }

    public static void main(String[] only) {
        CHECKS.put("login", ClientTest::login);
        CHECKS.put("version", ClientTest::version);
        CHECKS.put("encryption", ClientTest::encryption);
        CHECKS.put("wrongPassword", ClientTest::wrongPassword);
        CHECKS.put("everyType", ClientTest::everyType);
        CHECKS.put("longTypes", ClientTest::longTypes);
        CHECKS.put("spatialTypes", ClientTest::spatialTypes);
        CHECKS.put("preparedAgainAndAgain", ClientTest::preparedAgainAndAgain);
        CHECKS.put("procedure", ClientTest::procedure);
        CHECKS.put("transactions", ClientTest::transactions);
        CHECKS.put("errors", ClientTest::errors);
        CHECKS.put("cancel", ClientTest::cancel);
        CHECKS.put("generatedKeysAndBatches", ClientTest::generatedKeysAndBatches);
        CHECKS.put("metadata", ClientTest::metadata);
        CHECKS.put("cursorsScroll", ClientTest::cursorsScroll);
        CHECKS.put("cursorsForwardOnly", ClientTest::cursorsForwardOnly);
        CHECKS.put("cursorsUpdate", ClientTest::cursorsUpdate);
        CHECKS.put("pool", ClientTest::pool);
        boolean failed = false;
        for (var check : CHECKS.entrySet()) {
            if (only.length > 0 && !Arrays.asList(only).contains(check.getKey())) continue;
            try {
                check.getValue().run();
                System.out.println("ok     jtds " + check.getKey());
            } catch (Throwable e) {
                failed = true;
                System.out.println("FAILED jtds " + check.getKey());
                e.printStackTrace(System.out);
            }
        }
        System.exit(failed ? 1 : 0);
    }
}
