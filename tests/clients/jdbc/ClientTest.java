import com.microsoft.sqlserver.jdbc.Geography;
import com.microsoft.sqlserver.jdbc.Geometry;
import com.microsoft.sqlserver.jdbc.ISQLServerBulkData;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopyOptions;
import com.microsoft.sqlserver.jdbc.SQLServerDataTable;
import com.microsoft.sqlserver.jdbc.SQLServerException;
import com.microsoft.sqlserver.jdbc.SQLServerPreparedStatement;
import com.microsoft.sqlserver.jdbc.SQLServerResultSet;
import java.math.BigDecimal;
import java.sql.*;
import java.util.*;
import java.util.concurrent.atomic.AtomicBoolean;

/** mssql-jdbc. */
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
        return DriverManager.getConnection("jdbc:sqlserver://" + HOST + ":" + PORT + ";user=sa;password=" + PASSWORD
            + ";databaseName=" + DATABASE + ";trustServerCertificate=true;" + more);
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

    static void login() throws Exception {
        for (String encrypt : List.of("true", "false")) {
            try (Connection c = connect("encrypt=" + encrypt)) {
                equal(value(c, "SELECT DB_NAME()"), DATABASE);
                equal(c.isValid(5), true);
                equal(c.getMetaData().getDatabaseProductName(), "Microsoft SQL Server");
            }
        }
    }

    /** TDS 8.0: the certificate the server made is the one trusted. */
    static void strict() throws Exception {
        String more = "encrypt=strict;trustServerCertificate=false;serverCertificate=" + System.getenv("KEEL_CERTIFICATE");
        try (Connection c = connect(more)) {
            equal(value(c, "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID"), "TRUE");
        }
    }

    static void wrongPassword() {
        try {
            connect("password=wrong");
            throw new AssertionError("logged in");
        } catch (SQLException e) {
            equal(e.getErrorCode(), 18456);
        }
    }

    static void everyType() throws Exception {
        Object[][] types = {
            {"bit", true}, {"tinyint", (short) 255}, {"smallint", (short) -32768}, {"int", 7}, {"bigint", Long.MIN_VALUE},
            {"decimal(38,4)", new BigDecimal("-1234567890123456789012345678901234.5678")},
            {"money", new BigDecimal("922337203685477.5807")}, {"float", 1.5e300}, {"real", 0.5f},
            {"date", java.sql.Date.valueOf("9999-12-31")}, {"datetime", Timestamp.valueOf("1999-12-31 23:59:59.997")},
            {"datetime2(7)", Timestamp.valueOf("2026-11-21 20:21:22.1234567")},
            {"varchar(50)", "caf\u00e9 \u20ac"}, {"nvarchar(50)", "\u6f22\u5b57"},
            {"varchar(max)", "x".repeat(20000)}, {"nvarchar(max)", "\u6f22".repeat(20000)},
            {"uniqueidentifier", "01234567-89AB-CDEF-0123-456789ABCDEF"},
        };
        try (Connection c = connect()) {
            for (int i = 0; i < types.length; i++) {
                execute(c, "CREATE TABLE #t" + i + " (v " + types[i][0] + " NULL)");
                try (PreparedStatement p = c.prepareStatement("INSERT #t" + i + " VALUES (?)")) {
                    p.setObject(1, types[i][1]);
                    p.executeUpdate();
                    p.setObject(1, null);
                    p.executeUpdate();
                }
                try (Statement s = c.createStatement();
                     ResultSet r = s.executeQuery("SELECT v FROM #t" + i + " ORDER BY CASE WHEN v IS NULL THEN 1 ELSE 0 END")) {
                    r.next();
                    equal(r.getObject(1), types[i][1]);
                    r.next();
                    equal(r.getObject(1), null);
                }
            }
            byte[] bytes = new byte[10000];
            new Random(1).nextBytes(bytes);
            execute(c, "CREATE TABLE #b (v varbinary(max))");
            try (PreparedStatement p = c.prepareStatement("INSERT #b VALUES (?)")) {
                p.setBytes(1, bytes);
                p.executeUpdate();
            }
            equal(Arrays.equals((byte[]) value(c, "SELECT v FROM #b"), bytes), true);
        }
    }

    /** The driver's own reading and writing of the product's bytes. */
    static void spatialTypes() throws Exception {
        List<String> shapes = List.of("POINT(1.5 2)", "LINESTRING(0 0, 1 1, 2 0)", "POLYGON((0 0, 3 0, 3 3, 0 0), (2 1, 2.5 1, 2.5 1.5, 2 1))",
            "MULTIPOINT((1 2), (3 4))", "GEOMETRYCOLLECTION(POINT(1 1), LINESTRING(0 0, 1 1))", "POINT(1 2 3 4)", "POINT EMPTY");
        try (Connection c = connect()) {
            execute(c, "CREATE TABLE #s (id int, g geometry, e geography, h hierarchyid)");
            try (SQLServerPreparedStatement p = (SQLServerPreparedStatement) c.prepareStatement("INSERT #s VALUES (?, ?, ?, ?)")) {
                for (int i = 0; i < shapes.size(); i++) {
                    p.setInt(1, i);
                    p.setGeometry(2, Geometry.STGeomFromText(shapes.get(i), 7));
                    p.setGeography(3, Geography.STGeomFromText(shapes.get(i), 4326));
                    p.setString(4, "/" + i + "/");
                    p.executeUpdate();
                }
            }
            String sql = "SELECT g, e, h, g.ToString(), e.STAsText(), h.ToString(), g.STSrid FROM #s ORDER BY id";
            try (Statement s = c.createStatement(); SQLServerResultSet r = (SQLServerResultSet) s.executeQuery(sql)) {
                for (int i = 0; i < shapes.size(); i++) {
                    r.next();
                    String written = Geometry.STGeomFromText(shapes.get(i), 7).toString();
                    equal(r.getGeometry(1).toString(), written);
                    equal(r.getGeography(2).toString(), Geography.STGeomFromText(shapes.get(i), 4326).toString());
                    equal(r.getBytes(3).length > 0, true);
                    equal(r.getString(4).replace(" ", ""), shapes.get(i).replace(" ", ""));
                    equal(r.getString(6), "/" + i + "/");
                    equal(r.getInt(7), 7);
                }
                equal(r.getMetaData().getColumnTypeName(1), "geometry");
            }
        }
    }

    static void preparedAgainAndAgain() throws Exception {
        try (Connection c = connect(); PreparedStatement p = c.prepareStatement("SELECT ? + 1, ?")) {
            for (int i = 0; i < 100; i++) {
                p.setInt(1, i);
                p.setString(2, "text " + i);
                try (ResultSet r = p.executeQuery()) {
                    r.next();
                    equal(r.getInt(1), i + 1);
                    equal(r.getString(2), "text " + i);
                }
            }
        }
    }

    static void procedure() throws Exception {
        try (Connection c = connect()) {
            execute(c, "CREATE OR ALTER PROCEDURE p_jdbc @a int, @b int OUTPUT AS SELECT @a; SET @b = @a * 2; RETURN 7");
            try (CallableStatement s = c.prepareCall("{? = call p_jdbc(?, ?)}")) {
                s.registerOutParameter(1, Types.INTEGER);
                s.setInt(2, 21);
                s.registerOutParameter(3, Types.INTEGER);
                ResultSet r = s.executeQuery();
                r.next();
                equal(r.getInt(1), 21);
                r.close();
                equal(s.getInt(1), 7);
                equal(s.getInt(3), 42);
            }
        }
    }

    static void transactions() throws Exception {
        try (Connection c = connect()) {
            execute(c, "CREATE TABLE tx_jdbc (a int)");
            c.setAutoCommit(false);
            execute(c, "INSERT tx_jdbc VALUES (1)");
            c.rollback();
            equal(value(c, "SELECT COUNT(*) FROM tx_jdbc"), 0);
            execute(c, "INSERT tx_jdbc VALUES (1)");
            Savepoint point = c.setSavepoint("s");
            execute(c, "INSERT tx_jdbc VALUES (2)");
            c.rollback(point);
            c.commit();
            equal(value(c, "SELECT COUNT(*) FROM tx_jdbc"), 1);
            c.commit();
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            equal(c.getTransactionIsolation(), Connection.TRANSACTION_SERIALIZABLE);
            c.setAutoCommit(true);
            execute(c, "DROP TABLE tx_jdbc");
        }
    }

    /** A procedure's rows end before the error of its next statement, under NOCOUNT too. */
    static void rowsBeforeAnError() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            execute(c, "CREATE TABLE rows_jdbc (a int NOT NULL)",
                "CREATE PROCEDURE rows_then_error AS SET NOCOUNT ON INSERT rows_jdbc OUTPUT 5 VALUES (1) INSERT rows_jdbc VALUES (NULL)");
            equal(s.execute("EXEC rows_then_error"), true);
            try (ResultSet r = s.getResultSet()) {
                equal(r.next(), true);
                equal(r.getInt(1), 5);
                equal(r.next(), false);
            }
            try {
                s.getMoreResults();
                throw new AssertionError("no error");
            } catch (SQLException e) {
                equal(e.getErrorCode(), 515);
            }
            execute(c, "DROP PROCEDURE rows_then_error", "DROP TABLE rows_jdbc");
        }
    }

    /** What the driver says of NULLs that have no type: lengths and precisions of 0. */
    static void nullsOfNoType() throws Exception {
        try (Connection c = connect()) {
            execute(c, "CREATE TYPE nulls_jdbc AS TABLE (d decimal(10, 2), n numeric(5))");
            try (PreparedStatement p = c.prepareStatement("SELECT ?")) {
                p.setNull(1, microsoft.sql.Types.GUID);
                try (ResultSet r = p.executeQuery()) {
                    r.next();
                    equal(r.getString(1), null);
                }
            }
            SQLServerDataTable rows = new SQLServerDataTable();
            rows.addColumnMetadata("d", Types.DECIMAL);
            rows.addColumnMetadata("n", Types.NUMERIC);
            rows.addRow(null, null);
            try (SQLServerPreparedStatement p = (SQLServerPreparedStatement) c.prepareStatement("SELECT COUNT(*) FROM ? WHERE d IS NULL")) {
                p.setStructured(1, "nulls_jdbc", rows);
                try (ResultSet r = p.executeQuery()) {
                    r.next();
                    equal(r.getInt(1), 1);
                }
            }
            execute(c, "DROP TYPE nulls_jdbc", "CREATE PROCEDURE xml_jdbc @x xml OUTPUT AS SELECT 1");
            try (CallableStatement s = c.prepareCall("{call xml_jdbc (?)}")) {
                SQLXML xml = c.createSQLXML();
                xml.setString("<a/>");
                s.setNString(1, "of another type before");
                s.setSQLXML(1, xml);
                s.registerOutParameter(1, Types.SQLXML);
                s.execute();
                equal(s.getSQLXML(1).getString(), "<a/>");
            }
            execute(c, "DROP PROCEDURE xml_jdbc");
        }
    }

    /** A bulk load that waits for a lock is given up when its time is over: the attention stands behind its rows. */
    static void bulkCopyTimesOut() throws Exception {
        try (Connection holder = connect(); Connection source = connect(); Connection c = connect()) {
            execute(holder, "CREATE TABLE held_jdbc (a int, b int)");
            holder.setAutoCommit(false);
            execute(holder, "SELECT * FROM held_jdbc WITH (TABLOCKX)");
            SQLServerBulkCopyOptions options = new SQLServerBulkCopyOptions();
            options.setTableLock(true);
            options.setBulkCopyTimeout(1);
            try (SQLServerBulkCopy copy = new SQLServerBulkCopy(c); Statement s = source.createStatement();
                 ResultSet rows = s.executeQuery("SELECT 1, 1 UNION ALL SELECT 2, 2")) {
                copy.setBulkCopyOptions(options);
                copy.setDestinationTableName("held_jdbc");
                copy.writeToServer(rows);
                throw new AssertionError("did not wait");
            } catch (SQLException e) {
                equal(e.getMessage(), "The query has timed out.");
            }
            holder.rollback();
            holder.setAutoCommit(true);
            equal(value(c, "SELECT COUNT(*) FROM held_jdbc"), 0);
            execute(holder, "DROP TABLE held_jdbc");
        }
    }

    /** A session whose connection is lost while it is idle is made again as it was; the driver looks after 15 s, or at once if told to. */
    static void lostConnectionsAreRecovered() throws Exception {
        try (Connection c = connect(); Connection other = connect()) {
            execute(c, "USE tempdb; SET LOCK_TIMEOUT 1234; SET DATEFIRST 3");
            Object spid = value(c, "SELECT @@SPID");
            var tracker = c.getClass().getSuperclass().getDeclaredField("idleNetworkTracker");
            tracker.setAccessible(true);
            var idle = tracker.get(c).getClass().getDeclaredMethod("setMaxIdleMillis", int.class);
            idle.setAccessible(true);
            idle.invoke(tracker.get(c), -1);
            execute(other, "KILL " + spid);
            while (!Objects.equals(value(other, "SELECT COUNT(*) FROM sys.dm_exec_connections WHERE session_id = " + spid), 0)) {
                Thread.onSpinWait();
            }
            equal(value(c, "SELECT CONCAT(DB_NAME(), ' ', @@LOCK_TIMEOUT, ' ', @@DATEFIRST)"), "tempdb 1234 3");
        }
    }

    static void errors() throws Exception {
        try (Connection c = connect()) {
            Object[][] all = {{"SELECT * FROM nowhere", 208, "S0002"}, {"SELECT 1/0", 8134, "S0001"}, {"RAISERROR('x', 16, 2)", 50000, "S0002"}};
            for (Object[] one : all) {
                try {
                    value(c, (String) one[0]);
                    throw new AssertionError("no error from " + one[0]);
                } catch (SQLServerException e) {
                    equal(e.getErrorCode(), one[1]);
                    equal(e.getSQLServerError().getErrorSeverity(), 16);
                }
            }
            try {
                value(c, "SELECT 1;\n\nSELECT * FROM nowhere");
            } catch (SQLServerException e) {
                equal((int) e.getSQLServerError().getLineNumber(), 3);
            }
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
                    throw new RuntimeException(e);
                }
            });
            other.start();
            long started = System.nanoTime();
            try {
                s.execute("WAITFOR DELAY '00:10:00'");
                throw new AssertionError("not cancelled");
            } catch (SQLException e) {
                equal(e.getMessage().toLowerCase().contains("cancel"), true);
            } finally {
                ended.set(true);
                other.join();
            }
            equal(System.nanoTime() - started < 300_000_000_000L, true);
            equal(value(c, "SELECT 1"), 1);
        }
    }

    static void queryTimeout() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            try {
                s.execute("WAITFOR DELAY '00:10:00'");
                throw new AssertionError("no time-out");
            } catch (SQLTimeoutException e) {
                equal(value(c, "SELECT 1"), 1);
            }
        }
    }

    static void metadata() throws Exception {
        try (Connection c = connect()) {
            execute(c, "CREATE TABLE meta_jdbc (id int NOT NULL PRIMARY KEY, name nvarchar(30) NULL)");
            List<String> seen = new ArrayList<>();
            try (ResultSet r = c.getMetaData().getColumns(null, "dbo", "meta_jdbc", "%")) {
                while (r.next()) seen.add(r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME"));
            }
            equal(seen, List.of("id int", "name nvarchar"));
            try (ResultSet r = c.getMetaData().getPrimaryKeys(null, "dbo", "meta_jdbc")) {
                r.next();
                equal(r.getString("COLUMN_NAME"), "id");
            }
            try (PreparedStatement p = c.prepareStatement("SELECT id, name FROM meta_jdbc WHERE id = ?")) {
                equal(p.getMetaData().getColumnCount(), 2);
                equal(p.getParameterMetaData().getParameterTypeName(1), "int");
            }
            try (PreparedStatement p = c.prepareStatement("INSERT meta_jdbc (id, name) VALUES (?, ?)")) {
                ParameterMetaData m = p.getParameterMetaData();
                equal(m.getParameterCount(), 2);
                equal(m.getParameterType(1), Types.INTEGER);
                equal(m.getParameterTypeName(2), "nvarchar");
                equal(m.getPrecision(2), 30);
            }
            execute(c, "DROP TABLE meta_jdbc");
        }
    }

    static void generatedKeysAndBatches() throws Exception {
        try (Connection c = connect()) {
            execute(c, "CREATE TABLE #k (id int IDENTITY PRIMARY KEY, v int)");
            try (PreparedStatement p = c.prepareStatement("INSERT #k (v) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                p.setInt(1, 5);
                p.executeUpdate();
                ResultSet r = p.getGeneratedKeys();
                r.next();
                equal(r.getInt(1), 1);
            }
            try (PreparedStatement p = c.prepareStatement("INSERT #k (v) VALUES (?)")) {
                for (int i = 0; i < 50; i++) {
                    p.setInt(1, i);
                    p.addBatch();
                }
                equal(Arrays.stream(p.executeBatch()).sum(), 50);
            }
        }
    }

    /** 100,000 rows made as they are asked for. */
    static class Rows implements ISQLServerBulkData {
        int i = -1;

        public Set<Integer> getColumnOrdinals() {
            return new LinkedHashSet<>(List.of(1, 2));
        }

        public String getColumnName(int column) {
            return column == 1 ? "a" : "b";
        }

        public int getColumnType(int column) {
            return column == 1 ? Types.INTEGER : Types.NVARCHAR;
        }

        public int getPrecision(int column) {
            return column == 1 ? 10 : 30;
        }

        public int getScale(int column) {
            return 0;
        }

        public Object[] getRowData() {
            return new Object[] {i, i % 7 == 0 ? null : "row " + i};
        }

        public boolean next() {
            return ++i < 100_000;
        }
    }

    static void bulkCopy() throws Exception {
        try (Connection c = connect()) {
            execute(c, "CREATE TABLE bulk_jdbc (a int NOT NULL, b nvarchar(30) NULL)");
            try (SQLServerBulkCopy bulk = new SQLServerBulkCopy(c)) {
                bulk.setDestinationTableName("bulk_jdbc");
                bulk.writeToServer(new Rows());
            }
            equal(value(c, "SELECT COUNT(*) FROM bulk_jdbc"), 100_000);
            equal(value(c, "SELECT COUNT(b) FROM bulk_jdbc"), 85_714);
            execute(c, "DROP TABLE bulk_jdbc");
        }
    }

    static void tableValuedParameter() throws Exception {
        try (Connection c = connect()) {
            execute(c, "DROP PROCEDURE IF EXISTS p_pairs_jdbc", "DROP TYPE IF EXISTS pairs_jdbc",
                "CREATE TYPE pairs_jdbc AS TABLE (a int, b nvarchar(20))",
                "CREATE OR ALTER PROCEDURE p_pairs_jdbc @p pairs_jdbc READONLY AS SELECT SUM(a), COUNT(*) FROM @p");
            SQLServerDataTable rows = new SQLServerDataTable();
            rows.addColumnMetadata("a", Types.INTEGER);
            rows.addColumnMetadata("b", Types.NVARCHAR);
            for (int i = 1; i <= 10; i++) rows.addRow(i, "x");
            try (SQLServerPreparedStatement p = (SQLServerPreparedStatement) c.prepareStatement("EXEC p_pairs_jdbc ?")) {
                p.setStructured(1, "pairs_jdbc", rows);
                ResultSet r = p.executeQuery();
                r.next();
                equal(r.getInt(1), 55);
                equal(r.getInt(2), 10);
            }
        }
    }

    static void cursorTable(Connection c, String name, int rows) throws SQLException {
        execute(c, "DROP TABLE IF EXISTS " + name,
            "CREATE TABLE " + name + " (id int NOT NULL PRIMARY KEY, name nvarchar(30) NULL, amount decimal(9,2) NULL)",
            "INSERT " + name + " SELECT value, CONCAT('row ', value), value * 1.5 FROM GENERATE_SERIES(1, " + rows + ")");
    }

    static void scrolls(ResultSet r, int rows) throws SQLException {
        equal(r.isBeforeFirst(), true);
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
        equal(r.getRow(), rows);
        equal(r.absolute(17), true);
        equal(r.getInt(1), 17);
        equal(r.relative(-5), true);
        equal(r.getInt(1), 12);
        equal(r.relative(11), true);
        equal(r.getInt(1), 23);
        equal(r.absolute(-2), true);
        equal(r.getInt(1), rows - 1);
        equal(r.relative(-1000), false);
        equal(r.isBeforeFirst(), true);
        equal(r.absolute(rows + 1), false);
        equal(r.isAfterLast(), true);
        r.beforeFirst();
        equal(r.next(), true);
        equal(r.getInt(1), 1);
    }

    static void cursorsScroll() throws Exception {
        int[] types = {ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.TYPE_SCROLL_SENSITIVE};
        try (Connection c = connect()) {
            cursorTable(c, "scroll_jdbc", 50);
            for (int type : types) {
                for (int size : new int[] {1, 7, 128}) {
                    try (Statement s = c.createStatement(type, ResultSet.CONCUR_READ_ONLY)) {
                        s.setFetchSize(size);
                        try (ResultSet r = s.executeQuery("SELECT id, name, amount FROM scroll_jdbc ORDER BY id")) {
                            equal(r.getMetaData().getTableName(1), "scroll_jdbc");
                            scrolls(r, 50);
                        }
                        try (ResultSet r = s.executeQuery("SELECT id FROM scroll_jdbc WHERE id > 1000")) {
                            equal(r.next(), false);
                            equal(r.last(), false);
                        }
                    }
                    try (PreparedStatement p = c.prepareStatement(
                            "SELECT id, name FROM scroll_jdbc WHERE id <= ? ORDER BY id", type, ResultSet.CONCUR_READ_ONLY)) {
                        p.setFetchSize(size);
                        for (int rows : new int[] {30, 40, 50}) {
                            p.setInt(1, rows);
                            try (ResultSet r = p.executeQuery()) {
                                scrolls(r, rows);
                            }
                        }
                    }
                }
            }
            // A dynamic cursor.
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE + 1, ResultSet.CONCUR_READ_ONLY);
                 Statement other = c.createStatement()) {
                s.setFetchSize(7);
                ResultSet r = s.executeQuery("SELECT id, name FROM scroll_jdbc ORDER BY id");
                for (int i = 1; i <= 50; i++) {
                    equal(r.next(), true);
                    equal(r.getInt(1), i);
                }
                other.execute("INSERT scroll_jdbc (id, name) VALUES (51, 'later')");
                equal(r.next(), true);
                equal(r.getInt(1), 51);
                equal(r.next(), false);
                equal(r.previous(), true);
                equal(r.getString(2), "later");
                equal(r.first(), true);
                equal(r.getInt(1), 1);
            }
        }
    }

    static void cursorsForwardOnly() throws Exception {
        try (Connection c = connect("selectMethod=cursor;")) {
            cursorTable(c, "forward_jdbc", 300);
            try (Statement s = c.createStatement(); Statement other = c.createStatement();
                 ResultSet r = s.executeQuery("SELECT id, name, NULL AS n FROM forward_jdbc ORDER BY id")) {
                int n = 0;
                while (r.next()) {
                    equal(r.getInt(1), ++n);
                    equal(r.getObject(3), null);
                    // Two results at once on one connection is what people use it for.
                    if (n % 50 == 0) {
                        try (ResultSet inner = other.executeQuery("SELECT COUNT(*) FROM forward_jdbc")) {
                            inner.next();
                            equal(inner.getInt(1), 300);
                        }
                    }
                }
                equal(n, 300);
            }
            try (PreparedStatement p = c.prepareStatement("SELECT name FROM forward_jdbc WHERE id = ?")) {
                for (int i = 1; i <= 20; i++) {
                    p.setInt(1, i);
                    try (ResultSet r = p.executeQuery()) {
                        equal(r.next(), true);
                        equal(r.getString(1), "row " + i);
                        equal(r.next(), false);
                    }
                }
            }
            // What cannot be a cursor is executed as it is.
            try (Statement s = c.createStatement()) {
                equal(s.execute("DECLARE @n int = 5; SELECT @n"), true);
                ResultSet r = s.getResultSet();
                r.next();
                equal(r.getInt(1), 5);
                equal(s.executeUpdate("UPDATE forward_jdbc SET name = 'x' WHERE id < 4"), 3);
                equal(s.execute("UPDATE forward_jdbc SET name = 'y' WHERE id < 6"), false);
                equal(s.getUpdateCount(), 5);
            }
            try (PreparedStatement p = c.prepareStatement("UPDATE forward_jdbc SET amount = ? WHERE id = ?")) {
                p.setBigDecimal(1, new BigDecimal("1.25"));
                p.setInt(2, 9);
                equal(p.executeUpdate(), 1);
            }
            try {
                value(c, "SELECT * FROM nowhere");
                throw new AssertionError("no error");
            } catch (SQLException e) {
                equal(e.getErrorCode(), 208);
            }
        }
    }

    static void cursorsUpdate() throws Exception {
        try (Connection c = connect(); Connection other = connect()) {
            for (int type : new int[] {ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.TYPE_FORWARD_ONLY}) {
                cursorTable(c, "update_jdbc", 10);
                try (Statement s = c.createStatement(type, ResultSet.CONCUR_UPDATABLE);
                     ResultSet r = s.executeQuery("SELECT id, name AS label, amount FROM update_jdbc ORDER BY id")) {
                    r.next();
                    r.updateString(2, "changed \u6f22");
                    r.updateBigDecimal("amount", new BigDecimal("7.25"));
                    r.updateRow();
                    equal(r.getString(2), "changed \u6f22");
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
                    r.next();
                    equal(r.getInt(1), 4);
                    // Somebody else was faster.
                    execute(other, "UPDATE update_jdbc SET name = 'other' WHERE id = 4");
                    r.updateString(2, "mine");
                    try {
                        r.updateRow();
                        throw new AssertionError("the check did not fail");
                    } catch (SQLException e) {
                        equal(e.getErrorCode(), 16934);
                    }
                    r.cancelRowUpdates();
                }
                List<String> seen = new ArrayList<>();
                try (Statement s = c.createStatement();
                     ResultSet r = s.executeQuery("SELECT id, name, amount FROM update_jdbc WHERE id < 5 OR id > 50 ORDER BY id")) {
                    while (r.next()) seen.add(r.getInt(1) + " " + r.getString(2) + " " + r.getBigDecimal(3));
                }
                equal(seen, List.of("1 changed \u6f22 7.25", "2 null 3.00", "4 other 6.00", "100 inserted null"));
            }
        }
    }

    /** A keyset shows changes of others and notices what they delete. */
    static void cursorsSeeOthers() throws Exception {
        try (Connection c = connect(); Connection other = connect()) {
            cursorTable(c, "keyset_jdbc", 10);
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE);
                 ResultSet r = s.executeQuery("SELECT id, name FROM keyset_jdbc ORDER BY id")) {
                equal(r.absolute(3), true);
                equal(r.getString(2), "row 3");
                execute(other, "UPDATE keyset_jdbc SET name = 'new' WHERE id = 3", "DELETE keyset_jdbc WHERE id = 5");
                r.refreshRow();
                equal(r.getString(2), "new");
                equal(r.absolute(5), true);
                equal(r.rowDeleted(), true);
                equal(r.absolute(6), true);
                equal(r.rowDeleted(), false);
            }
        }
    }

    public static void main(String[] only) {
        CHECKS.put("login", ClientTest::login);
        CHECKS.put("strict", ClientTest::strict);
        CHECKS.put("wrongPassword", ClientTest::wrongPassword);
        CHECKS.put("everyType", ClientTest::everyType);
        CHECKS.put("spatialTypes", ClientTest::spatialTypes);
        CHECKS.put("preparedAgainAndAgain", ClientTest::preparedAgainAndAgain);
        CHECKS.put("procedure", ClientTest::procedure);
        CHECKS.put("transactions", ClientTest::transactions);
        CHECKS.put("errors", ClientTest::errors);
        CHECKS.put("rowsBeforeAnError", ClientTest::rowsBeforeAnError);
        CHECKS.put("nullsOfNoType", ClientTest::nullsOfNoType);
        CHECKS.put("bulkCopyTimesOut", ClientTest::bulkCopyTimesOut);
        CHECKS.put("lostConnectionsAreRecovered", ClientTest::lostConnectionsAreRecovered);
        CHECKS.put("cancel", ClientTest::cancel);
        CHECKS.put("queryTimeout", ClientTest::queryTimeout);
        CHECKS.put("metadata", ClientTest::metadata);
        CHECKS.put("generatedKeysAndBatches", ClientTest::generatedKeysAndBatches);
        CHECKS.put("bulkCopy", ClientTest::bulkCopy);
        CHECKS.put("tableValuedParameter", ClientTest::tableValuedParameter);
        CHECKS.put("cursorsScroll", ClientTest::cursorsScroll);
        CHECKS.put("cursorsForwardOnly", ClientTest::cursorsForwardOnly);
        CHECKS.put("cursorsUpdate", ClientTest::cursorsUpdate);
        CHECKS.put("cursorsSeeOthers", ClientTest::cursorsSeeOthers);
        boolean failed = false;
        for (var check : CHECKS.entrySet()) {
            if (only.length > 0 && !Arrays.asList(only).contains(check.getKey())) continue;
            try {
                check.getValue().run();
                System.out.println("ok     jdbc " + check.getKey());
            } catch (Throwable e) {
                failed = true;
                System.out.println("FAILED jdbc " + check.getKey());
                e.printStackTrace(System.out);
            }
        }
        System.exit(failed ? 1 : 0);
    }
}
