import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.*;
import java.util.*;
import java.util.concurrent.*;

/** Debezium's SQL Server connector in its embedded engine, with offsets and schema history in files. */
public class StreamTest {
    static final String HOST = System.getenv("KEEL_HOST");
    static final String PORT = System.getenv("KEEL_PORT");
    static final String PASSWORD = System.getenv("KEEL_PASSWORD");
    static final String DATABASE = System.getenv("KEEL_DATABASE");
    static final ObjectMapper JSON = new ObjectMapper();

    interface Check {
        void run() throws Exception;
    }

    static final Map<String, Check> CHECKS = new LinkedHashMap<>();
    static Connection connection;
    static Path files;

    static void equal(Object got, Object expected) {
        if (!Objects.equals(got, expected)) throw new AssertionError("got " + got + ", expected " + expected);
    }

    static void execute(String... all) throws SQLException {
        try (Statement s = connection.createStatement()) {
            for (String sql : all) s.execute(sql);
        }
    }

    /** The connector while it runs, and what it has told. */
    static class Engine implements AutoCloseable {
        final BlockingQueue<JsonNode> told = new LinkedBlockingQueue<>();
        final ExecutorService thread = Executors.newSingleThreadExecutor();
        final DebeziumEngine<ChangeEvent<String, String>> engine;
        volatile String ended;

        Engine(String name, String... more) {
            Properties p = new Properties();
            p.setProperty("name", name);
            p.setProperty("connector.class", "io.debezium.connector.sqlserver.SqlServerConnector");
            p.setProperty("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
            p.setProperty("offset.storage.file.filename", files.resolve(name + ".offsets").toString());
            p.setProperty("offset.flush.interval.ms", "0");
            p.setProperty("schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory");
            p.setProperty("schema.history.internal.file.filename", files.resolve(name + ".history").toString());
            p.setProperty("topic.prefix", "keel");
            p.setProperty("database.hostname", HOST);
            p.setProperty("database.port", PORT);
            p.setProperty("database.user", "sa");
            p.setProperty("database.password", PASSWORD);
            p.setProperty("database.names", DATABASE);
            p.setProperty("database.encrypt", "true");
            p.setProperty("database.trustServerCertificate", "true");
            p.setProperty("table.include.list", "dbo.item,dbo.client");
            p.setProperty("poll.interval.ms", "50");
            p.setProperty("converter.schemas.enable", "false");
            // Read so, it knows when an instance has been disabled.
            p.setProperty("data.query.mode", "function");
            for (int i = 0; i < more.length; i += 2) p.setProperty(more[i], more[i + 1]);
            engine = DebeziumEngine.create(Json.class).using(p).notifying(this::take)
                .using((success, message, error) -> ended = success ? "ended" : message + ": " + error).build();
            thread.execute(engine);
        }

        void take(ChangeEvent<String, String> event) {
            try {
                // What is deleted is followed by an event without a value, and changes of definitions have an own topic.
                JsonNode value = event.value() == null ? null : JSON.readTree(event.value());
                if (value != null && value.has("op")) told.add(value);
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }

        /** The next event: operation, table, key, and the rest of the row before and after. */
        String next() throws Exception {
            JsonNode event = null;
            for (int i = 0; event == null && i < 600; i++) {
                event = told.poll(100, TimeUnit.MILLISECONDS);
                if (event == null && ended != null) throw new AssertionError("the engine has ended: " + ended);
            }
            if (event == null) throw new AssertionError("nothing was told for a minute");
            return event.get("op").asText() + " " + event.get("source").get("table").asText() + " " + row(event.get("before")) + ">"
                + row(event.get("after"));
        }

        static String row(JsonNode row) {
            if (row == null || row.isNull()) return "";
            List<String> parts = new ArrayList<>();
            row.forEach(value -> parts.add(value.asText()));
            return String.join(",", parts);
        }

        List<String> next(int count) throws Exception {
            List<String> all = new ArrayList<>();
            for (int i = 0; i < count; i++) all.add(next());
            return all;
        }

        void nothingMore() throws Exception {
            JsonNode event = told.poll(1, TimeUnit.SECONDS);
            if (event != null) throw new AssertionError("told again: " + event);
        }

        @Override
        public void close() throws Exception {
            engine.close();
            thread.shutdown();
            if (!thread.awaitTermination(60, TimeUnit.SECONDS)) throw new AssertionError("the engine does not end");
        }
    }

    static Engine stream;

    static void snapshot() throws Exception {
        execute(
            "EXEC sys.sp_cdc_enable_db",
            "CREATE TABLE dbo.item (id int NOT NULL PRIMARY KEY, name nvarchar(30), price decimal(9, 2), at datetime2(3))",
            "CREATE TABLE dbo.client (id int NOT NULL PRIMARY KEY, name varchar(30) NOT NULL)",
            "INSERT dbo.item VALUES (1, N'één', 1.5, '2026-01-02T03:04:05.678'), (2, N'two', NULL, NULL)",
            "INSERT dbo.client VALUES (1, 'Ann')",
            "EXEC sys.sp_cdc_enable_table N'dbo', N'item', @role_name = NULL",
            "EXEC sys.sp_cdc_enable_table N'dbo', N'client', @role_name = NULL");
        stream = new Engine("stream", "decimal.handling.mode", "string", "snapshot.mode", "initial");
        List<String> rows = stream.next(3);
        Collections.sort(rows);
        equal(rows, List.of("r client >1,Ann", "r item >1,één,1.50,1767323045678", "r item >2,two,null,null"));
    }

    static void changes() throws Exception {
        execute("INSERT dbo.item VALUES (3, N'three', 3, NULL)", "UPDATE dbo.item SET price = 33 WHERE id = 3", "DELETE dbo.item WHERE id = 2");
        equal(stream.next(3), List.of("c item >3,three,3.00,null", "u item 3,three,3.00,null>3,three,33.00,null", "d item 2,two,null,null>"));
    }

    static void transactions() throws Exception {
        execute("BEGIN TRANSACTION; INSERT dbo.client VALUES (2, 'Bob'); INSERT dbo.item VALUES (4, N'four', 4, NULL);"
            + " UPDATE dbo.client SET name = 'Bobby' WHERE id = 2; COMMIT");
        execute("BEGIN TRANSACTION; INSERT dbo.client VALUES (9, 'Nobody'); ROLLBACK");
        execute("UPDATE dbo.client SET id = 3 WHERE id = 2");
        equal(stream.next(5), List.of("c client >2,Bob", "c item >4,four,4.00,null", "u client 2,Bob>2,Bobby", "d client 2,Bobby>", "c client >3,Bobby"));
    }

    static void restart() throws Exception {
        stream.close();
        execute("INSERT dbo.item VALUES (5, N'five', 5, NULL)", "DELETE dbo.client WHERE id = 3");
        stream = new Engine("stream", "decimal.handling.mode", "string", "snapshot.mode", "initial");
        equal(stream.next(2), List.of("c item >5,five,5.00,null", "d client 3,Bobby>"));
        execute("UPDATE dbo.item SET name = N'5' WHERE id = 5");
        equal(stream.next(), "u item 5,five,5.00,null>5,5,5.00,null");
        stream.nothingMore();
    }

    static void manyAtOnce() throws Exception {
        execute("INSERT dbo.client SELECT value, CONCAT('c', value) FROM GENERATE_SERIES(100, 1099)");
        for (int i = 100; i < 1100; i++) equal(stream.next(), "c client >" + i + ",c" + i);
        for (int i = 0; i < 200; i++) execute("UPDATE dbo.client SET name = 'n" + i + "' WHERE id = 100");
        String before = "c100";
        for (int i = 0; i < 200; i++) {
            equal(stream.next(), "u client 100," + before + ">100,n" + i);
            before = "n" + i;
        }
    }

    static void anotherColumn() throws Exception {
        execute("ALTER TABLE dbo.item ADD colour varchar(10) NULL");
        execute("INSERT dbo.item VALUES (6, N'six', 6, NULL, 'red')");
        equal(stream.next(), "c item >6,six,6.00,null");
        execute("EXEC sys.sp_cdc_enable_table N'dbo', N'item', @capture_instance = N'item_2', @role_name = NULL");
        execute("INSERT dbo.item VALUES (7, N'seven', 7, NULL, 'green')");
        equal(stream.next(), "c item >7,seven,7.00,null,green");
        execute("EXEC sys.sp_cdc_disable_table N'dbo', N'item', N'dbo_item'");
        execute("UPDATE dbo.item SET colour = 'blue' WHERE id = 7");
        equal(stream.next(), "u item 7,seven,7.00,null,green>7,seven,7.00,null,blue");
        stream.close();
    }

    /** Every isolation of the snapshot, with writers beside it. */
    static void isolations() throws Exception {
        execute("ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON");
        for (String mode : List.of("exclusive", "repeatable_read", "snapshot", "read_committed", "read_uncommitted")) {
            try (Engine engine = new Engine(mode, "snapshot.isolation.mode", mode, "table.include.list", "dbo.item", "snapshot.mode", "initial")) {
                Set<String> ids = new TreeSet<>();
                for (int i = 0; i < 6; i++) ids.add(engine.next().replaceAll("^r item >(\\d+),.*", "$1"));
                equal(ids, new TreeSet<>(Set.of("1", "3", "4", "5", "6", "7")));
                execute("UPDATE dbo.item SET name = N'" + mode + "' WHERE id = 1");
                equal(engine.next().matches("u item 1,.*>1," + mode + ",.*"), true);
            }
        }
    }

    /** Changes read by the functions, and from the change tables themselves, by somebody who may do nothing but read. */
    static void queryModes() throws Exception {
        execute("CREATE LOGIN debezium WITH PASSWORD = '" + PASSWORD + "'", "CREATE USER debezium FOR LOGIN debezium",
            "GRANT SELECT ON SCHEMA::dbo TO debezium", "GRANT SELECT ON SCHEMA::cdc TO debezium");
        for (String mode : List.of("function", "direct")) {
            int id = mode.length() * 1000;
            try (Engine engine = new Engine(mode, "data.query.mode", mode, "snapshot.mode", "no_data", "table.include.list", "dbo.client",
                "database.user", "debezium")) {
                // It streams from when it has looked: what it says first says that it has.
                execute("INSERT dbo.client VALUES (" + id + ", 'begin')");
                for (int i = 0; i < 300 && engine.told.isEmpty(); i++) {
                    Thread.sleep(100);
                    execute("UPDATE dbo.client SET name = CONCAT('n', " + i + ") WHERE id = " + id);
                }
                while (engine.told.poll(1, TimeUnit.SECONDS) != null) {}
                execute("UPDATE dbo.client SET name = 'last' WHERE id = " + id, "DELETE dbo.client WHERE id = " + id);
                equal(engine.next().matches("u client " + id + ",n\\d+>" + id + ",last"), true);
                equal(engine.next(), "d client " + id + ",last>");
            }
        }
    }

    static {
        CHECKS.put("snapshot", StreamTest::snapshot);
        CHECKS.put("changes", StreamTest::changes);
        CHECKS.put("transactions", StreamTest::transactions);
        CHECKS.put("restart", StreamTest::restart);
        CHECKS.put("many at once", StreamTest::manyAtOnce);
        CHECKS.put("another column", StreamTest::anotherColumn);
        CHECKS.put("isolations of the snapshot", StreamTest::isolations);
        CHECKS.put("functions and change tables", StreamTest::queryModes);
    }

    public static void main(String[] args) throws Exception {
        files = Files.createTempDirectory("debezium");
        connection = DriverManager.getConnection("jdbc:sqlserver://" + HOST + ":" + PORT + ";user=sa;password=" + PASSWORD + ";databaseName="
            + DATABASE + ";trustServerCertificate=true");
        boolean failed = false;
        for (Map.Entry<String, Check> check : CHECKS.entrySet()) {
            try {
                check.getValue().run();
                System.out.println("ok     debezium " + check.getKey());
            } catch (Throwable e) {
                failed = true;
                System.out.println("FAILED debezium " + check.getKey());
                e.printStackTrace(System.out);
            }
        }
        System.exit(failed ? 1 : 0);
    }
}
