import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopyOptions;
import com.microsoft.sqlserver.jdbc.SQLServerColumnEncryptionJavaKeyStoreProvider;
import com.microsoft.sqlserver.jdbc.SQLServerPreparedStatement;
import java.math.BigDecimal;
import java.nio.file.*;
import java.sql.*;
import java.util.*;

/** Always Encrypted with mssql-jdbc: a master key in a Java key store, made by keytool. */
public class EncryptedTest {
    static final String HOST = System.getenv("KEEL_HOST");
    static final String PORT = System.getenv("KEEL_PORT");
    static final String PASSWORD = System.getenv("KEEL_PASSWORD");
    static final String DATABASE = System.getenv("KEEL_DATABASE");
    static final String ALIAS = "cmk";
    static final String SECRET = "keystore-1";
    static String store;

    interface Check {
        void run() throws Exception;
    }

    static Connection connect(String more) throws SQLException {
        return DriverManager.getConnection("jdbc:sqlserver://" + HOST + ":" + PORT + ";user=sa;password=" + PASSWORD
            + ";databaseName=" + DATABASE + ";trustServerCertificate=true;" + more);
    }

    /** A client that encrypts. */
    static Connection encrypting() throws SQLException {
        return connect("columnEncryptionSetting=Enabled;sendTimeAsDatetime=false;"
            + "keyStoreAuthentication=JavaKeyStorePassword;keyStoreLocation=" + store + ";keyStoreSecret=" + SECRET + ";");
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

    static void refused(int number, Check check) throws Exception {
        try {
            check.run();
        } catch (SQLException e) {
            if (e.getErrorCode() != number) throw new AssertionError("got " + e.getErrorCode() + ": " + e.getMessage());
            return;
        }
        throw new AssertionError("not refused with " + number);
    }

    static String encrypted(String kind) {
        return " ENCRYPTED WITH (COLUMN_ENCRYPTION_KEY = cek, ENCRYPTION_TYPE = " + kind
            + ", ALGORITHM = 'AEAD_AES_256_CBC_HMAC_SHA_256')";
    }

    static final String DETERMINISTIC = encrypted("DETERMINISTIC");
    static final String RANDOMIZED = encrypted("RANDOMIZED");
    static final String BIN2 = " COLLATE Latin1_General_BIN2";

    static void keys() throws Exception {
        Path directory = Files.createTempDirectory("keel");
        store = directory.resolve("store.p12").toString();
        Process made = new ProcessBuilder("keytool", "-genkeypair", "-keyalg", "RSA", "-keysize", "2048", "-alias", ALIAS,
            "-keystore", store, "-storetype", "PKCS12", "-storepass", SECRET, "-dname", "CN=keel", "-validity", "30")
            .inheritIO().start();
        equal(made.waitFor(), 0);
        byte[] key = new byte[32];
        new java.security.SecureRandom().nextBytes(key);
        var provider = new SQLServerColumnEncryptionJavaKeyStoreProvider(store, SECRET.toCharArray());
        byte[] sealed = provider.encryptColumnEncryptionKey(ALIAS, "RSA_OAEP", key);
        try (Connection c = connect("")) {
            execute(c, "CREATE COLUMN MASTER KEY cmk WITH (KEY_STORE_PROVIDER_NAME = 'MSSQL_JAVA_KEYSTORE', KEY_PATH = '" + ALIAS + "')",
                "CREATE COLUMN ENCRYPTION KEY cek WITH VALUES (COLUMN_MASTER_KEY = cmk, ALGORITHM = 'RSA_OAEP', ENCRYPTED_VALUE = 0x"
                    + HexFormat.of().formatHex(sealed) + ")",
                "CREATE TABLE patients (id int IDENTITY PRIMARY KEY, ssn char(11)" + BIN2 + DETERMINISTIC + " NOT NULL UNIQUE,"
                    + " name nvarchar(50)" + BIN2 + RANDOMIZED + " NULL, born date" + RANDOMIZED + " NULL)");
            equal(value(c, "SELECT encryption_type_desc FROM sys.columns WHERE name = 'ssn'"), "DETERMINISTIC");
        }
    }

    static void insert(Connection c, String ssn, String name, String born) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("INSERT INTO patients (ssn, name, born) VALUES (?, ?, ?)")) {
            s.setString(1, ssn);
            s.setNString(2, name);
            s.setDate(3, born == null ? null : java.sql.Date.valueOf(born));
            equal(s.executeUpdate(), 1);
        }
    }

    static String nameOf(Connection c, String ssn) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("SELECT name FROM patients WHERE ssn = ?")) {
            s.setString(1, ssn);
            try (ResultSet r = s.executeQuery()) {
                return r.next() ? r.getString(1) : null;
            }
        }
    }

    static void rows() throws Exception {
        try (Connection c = encrypting()) {
            insert(c, "795-73-9838", "Catherine", "1996-09-10");
            insert(c, "990-00-6818", "Кім", null);
            insert(c, "123-45-6789", null, "2000-02-29");
            for (int i = 0; i < 3; i++) equal(nameOf(c, "795-73-9838"), "Catherine");
            equal(nameOf(c, "990-00-6818"), "Кім");
            equal(nameOf(c, "000-00-0000"), null);
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT * FROM patients ORDER BY id")) {
                r.next();
                equal(r.getString("ssn"), "795-73-9838");
                equal(r.getDate("born").toString(), "1996-09-10");
                r.next();
                equal(r.getDate("born"), null);
                equal(r.getMetaData().getColumnTypeName(2), "char");
            }
            refused(2627, () -> insert(c, "795-73-9838", "Somebody else", null));
        }
    }

    static void update() throws Exception {
        try (Connection c = encrypting()) {
            try (PreparedStatement s = c.prepareStatement("UPDATE patients SET name = ?, born = ? WHERE ssn = ?")) {
                s.setNString(1, "Catherine A.");
                s.setNull(2, Types.DATE);
                s.setString(3, "795-73-9838");
                equal(s.executeUpdate(), 1);
            }
            equal(nameOf(c, "795-73-9838"), "Catherine A.");
            try (PreparedStatement s = c.prepareStatement("SELECT COUNT(*) FROM patients WHERE ssn IN (?, ?) AND born IS NULL")) {
                s.setString(1, "795-73-9838");
                s.setString(2, "990-00-6818");
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    equal(r.getInt(1), 2);
                }
            }
            try (PreparedStatement s = c.prepareStatement("DELETE FROM patients WHERE ssn = ?")) {
                s.setString(1, "123-45-6789");
                equal(s.executeUpdate(), 1);
            }
        }
    }

    static void batch() throws Exception {
        try (Connection c = encrypting()) {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO patients (ssn, name, born) VALUES (?, ?, ?)")) {
                for (int i = 10; i < 20; i++) {
                    s.setString(1, "555-00-00" + i);
                    s.setNString(2, "n" + i);
                    s.setDate(3, java.sql.Date.valueOf("2001-01-" + i));
                    s.addBatch();
                }
                equal(s.executeBatch().length, 10);
            }
            equal(nameOf(c, "555-00-0017"), "n17");
        }
    }

    static void procedure() throws Exception {
        try (Connection c = connect("")) {
            execute(c, "CREATE PROCEDURE find_patient @ssn char(11), @name nvarchar(50) OUTPUT AS"
                + " SELECT @name = name FROM patients WHERE ssn = @ssn; SELECT id, ssn, name FROM patients WHERE ssn = @ssn");
        }
        try (Connection c = encrypting(); CallableStatement s = c.prepareCall("{call find_patient(?, ?)}")) {
            s.setString(1, "990-00-6818");
            s.registerOutParameter(2, Types.NVARCHAR, 50);
            try (ResultSet r = s.executeQuery()) {
                r.next();
                equal(r.getString("name"), "Кім");
            }
            equal(s.getString(2), "Кім");
        }
    }

    record Kind(String type, Object value, int jdbc) {}

    static void types() throws Exception {
        List<Kind> kinds = List.of(new Kind("bit", true, Types.BIT), new Kind("tinyint", (short) 200, Types.TINYINT),
            new Kind("smallint", (short) -7, Types.SMALLINT), new Kind("int", 123456, Types.INTEGER),
            new Kind("bigint", 1L << 40, Types.BIGINT), new Kind("real", 1.5f, Types.REAL), new Kind("float", -2.25, Types.DOUBLE),
            new Kind("decimal(10,2)", new BigDecimal("12345.67"), Types.DECIMAL), new Kind("money", new BigDecimal("99.9900"), microsoft.sql.Types.MONEY),
            new Kind("smallmoney", new BigDecimal("-1.5000"), microsoft.sql.Types.SMALLMONEY), new Kind("char(10)" + BIN2, "fixed", Types.CHAR),
            new Kind("varchar(100)" + BIN2, "varying", Types.VARCHAR), new Kind("varchar(max)" + BIN2, "long".repeat(3000), Types.LONGVARCHAR),
            new Kind("nchar(10)" + BIN2, "фікс", Types.NCHAR), new Kind("nvarchar(100)" + BIN2, "різне", Types.NVARCHAR),
            new Kind("nvarchar(max)" + BIN2, "довге".repeat(3000), Types.LONGNVARCHAR), new Kind("date", java.sql.Date.valueOf("2020-02-29"), Types.DATE),
            new Kind("time(7)", Time.valueOf("12:34:56"), Types.TIME), new Kind("datetime2(7)", Timestamp.valueOf("2021-03-04 05:06:07.1234567"), Types.TIMESTAMP),
            new Kind("datetime", Timestamp.valueOf("2021-03-04 05:06:07.123"), microsoft.sql.Types.DATETIME),
            new Kind("smalldatetime", Timestamp.valueOf("2021-03-04 05:06:00"), microsoft.sql.Types.SMALLDATETIME),
            new Kind("datetimeoffset(3)", microsoft.sql.DateTimeOffset.valueOf(Timestamp.valueOf("2022-05-06 07:08:09.123"), 120), microsoft.sql.Types.DATETIMEOFFSET),
            new Kind("uniqueidentifier", "0E984725-C51C-4BF4-9960-E1C80E27ABA0", microsoft.sql.Types.GUID),
            new Kind("binary(5)", new byte[] {1, 2, 3, 4, 5}, Types.BINARY), new Kind("varbinary(20)", new byte[] {9, 8}, Types.VARBINARY),
            new Kind("varbinary(max)", new byte[9000], Types.LONGVARBINARY));
        int n = 0;
        for (Kind kind : kinds) {
            String table = "kind" + n++;
            try (Connection plain = connect("")) {
                execute(plain, "CREATE TABLE " + table + " (id int, d " + kind.type + DETERMINISTIC + " NULL, r " + kind.type + RANDOMIZED + " NULL)");
            }
            try (Connection c = encrypting()) {
                one(c, table, kind);
            } catch (SQLException | AssertionError e) {
                throw new AssertionError(kind.type + ": " + e.getMessage(), e);
            }
        }
    }

    static void set(SQLServerPreparedStatement s, int at, Kind kind, Object value) throws SQLException {
        switch (kind.type.split("[ (]")[0]) {
            case "tinyint" -> { if (value == null) s.setNull(at, Types.TINYINT); else s.setShort(at, (Short) value); }
            case "bit" -> { if (value == null) s.setNull(at, Types.BIT); else s.setBoolean(at, (Boolean) value); }
            case "decimal" -> s.setBigDecimal(at, (BigDecimal) value, 10, 2);
            case "money" -> s.setMoney(at, (BigDecimal) value);
            case "smallmoney" -> s.setSmallMoney(at, (BigDecimal) value);
            case "nchar", "nvarchar" -> s.setNString(at, (String) value);
            case "datetime" -> s.setDateTime(at, (Timestamp) value);
            case "smalldatetime" -> s.setSmallDateTime(at, (Timestamp) value);
            case "datetimeoffset" -> s.setDateTimeOffset(at, (microsoft.sql.DateTimeOffset) value, 3);
            case "datetime2" -> s.setTimestamp(at, (Timestamp) value);
            case "time" -> s.setTime(at, (Time) value);
            case "date" -> s.setDate(at, (java.sql.Date) value);
            case "uniqueidentifier" -> s.setUniqueIdentifier(at, (String) value);
            case "binary", "varbinary" -> s.setBytes(at, (byte[]) value);
            default -> s.setObject(at, value, kind.jdbc);
        }
    }

    static void one(Connection c, String table, Kind kind) throws SQLException {
        for (Object value : new Object[] {kind.value, null}) {
            try (var s = (SQLServerPreparedStatement) c.prepareStatement("INSERT INTO " + table + " VALUES (?, ?, ?)")) {
                s.setInt(1, value == null ? 2 : 1);
                set(s, 2, kind, value);
                set(s, 3, kind, value);
                s.executeUpdate();
            }
        }
        try (var s = (SQLServerPreparedStatement) c.prepareStatement("SELECT id, d, r FROM " + table + " WHERE d = ?")) {
            set(s, 1, kind, kind.value);
            try (ResultSet r = s.executeQuery()) {
                if (!r.next()) throw new AssertionError("not found");
                equal(r.getInt(1), 1);
                for (int i = 2; i <= 3; i++) {
                    Object got = r.getObject(i);
                    if (kind.value instanceof byte[] bytes) equal(Arrays.equals((byte[]) got, bytes), true);
                    else equal(got.toString().trim(), kind.value.toString());
                }
                equal(r.next(), false);
            }
        }
        equal(value(c, "SELECT COUNT(*) FROM " + table + " WHERE d IS NULL AND r IS NULL"), 1);
    }

    static void bulk() throws Exception {
        try (Connection plain = connect("")) {
            execute(plain, "CREATE TABLE copied (id int, ssn char(11)" + BIN2 + DETERMINISTIC + " NOT NULL, name nvarchar(50)" + BIN2 + RANDOMIZED + " NULL, born date" + RANDOMIZED + " NULL)");
        }
        try (Connection from = encrypting(); Connection to = encrypting(); Statement s = from.createStatement();
            ResultSet r = s.executeQuery("SELECT id, ssn, name, born FROM patients"); SQLServerBulkCopy copy = new SQLServerBulkCopy(to)) {
            copy.setDestinationTableName("copied");
            copy.writeToServer(r);
        }
        try (Connection c = encrypting()) {
            equal(value(c, "SELECT COUNT(*) FROM copied k JOIN patients p ON p.ssn = k.ssn"), value(c, "SELECT COUNT(*) FROM patients"));
            try (PreparedStatement s = c.prepareStatement("SELECT name FROM copied WHERE ssn = ?")) {
                s.setString(1, "990-00-6818");
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    equal(r.getString(1), "Кім");
                }
            }
        }
        // Ciphertexts, as they are.
        try (Connection from = connect(""); Connection to = connect(""); Statement s = from.createStatement();
            ResultSet r = s.executeQuery("SELECT id, ssn, name, born FROM patients"); SQLServerBulkCopy copy = new SQLServerBulkCopy(to)) {
            execute(to, "TRUNCATE TABLE copied");
            SQLServerBulkCopyOptions options = new SQLServerBulkCopyOptions();
            options.setAllowEncryptedValueModifications(true);
            copy.setBulkCopyOptions(options);
            copy.setDestinationTableName("copied");
            copy.writeToServer(r);
        }
        try (Connection c = encrypting()) {
            equal(value(c, "SELECT name FROM copied ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY"), "Кім");
        }
    }

    static void plain() throws Exception {
        try (Connection c = connect("")) {
            equal(((byte[]) value(c, "SELECT ssn FROM patients WHERE id = 1")).length, 65);
            refused(206, () -> execute(c, "INSERT INTO patients (ssn) VALUES ('111-11-1111')"));
            refused(402, () -> execute(c, "SELECT * FROM patients WHERE ssn = '795-73-9838'"));
            refused(33299, () -> execute(c, "SELECT * FROM patients WHERE ssn LIKE '795%'"));
            equal(value(c, "SELECT COUNT(DISTINCT ssn) FROM patients"), value(c, "SELECT COUNT(*) FROM patients"));
        }
    }

    public static void main(String[] args) throws Exception {
        Map<String, Check> checks = new LinkedHashMap<>();
        checks.put("encrypted keys", EncryptedTest::keys);
        checks.put("encrypted rows", EncryptedTest::rows);
        checks.put("encrypted update", EncryptedTest::update);
        checks.put("encrypted batch", EncryptedTest::batch);
        checks.put("encrypted procedure", EncryptedTest::procedure);
        checks.put("encrypted types", EncryptedTest::types);
        checks.put("encrypted bulk copy", EncryptedTest::bulk);
        checks.put("encrypted without the setting", EncryptedTest::plain);
        int failed = 0;
        for (var check : checks.entrySet()) {
            try {
                check.getValue().run();
                System.out.println("ok     jdbc " + check.getKey());
            } catch (Throwable e) {
                failed++;
                System.out.println("FAILED jdbc " + check.getKey() + ": " + e);
                if (System.getenv("KEEL_TRACE") != null) e.printStackTrace(System.out);
            }
        }
        System.exit(failed == 0 ? 0 : 1);
    }
}
