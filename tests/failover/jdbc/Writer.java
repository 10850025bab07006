// Writers with Microsoft's JDBC driver. Each prints `A writer n time_ns` for every acknowledged row and `E writer text` for
// every failure.
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;

public class Writer {
    /** So many logins are between two that nobody answers, before the first row. */
    static final int TURNED_AWAY_EVERY = 50;

    static String setting(String name) {
        return System.getenv(name);
    }

    static int number(String name) {
        return Integer.parseInt(setting(name));
    }

    static synchronized void say(String line) {
        System.out.println(line);
        // Flushes; nobody listens any more when the benchmark was killed.
        if (System.out.checkError()) {
            System.exit(1);
        }
    }

    static long now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }

    /** The writers and the servers share a machine. */
    static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Once, and thrown out again: the first time is slow, and the writers are to be those of an application that has run for long and has
     * lost connections before.
     */
    static void logIn(String url) {
        try (Connection connection = DriverManager.getConnection(url, "sa", setting("KEEL_PASSWORD"));
             PreparedStatement nothing = connection.prepareStatement("SELECT 1 WHERE 1 = ?");
             Statement end = connection.createStatement()) {
            nothing.setInt(1, 1);
            nothing.execute();
            end.execute("RAISERROR (N'A writer ends its connection.', 20, 1) WITH LOG");
        } catch (SQLException e) {
            pause();
        }
    }

    /**
     * By who accepts a connection and closes it without a word, as the machine does that is not the primary any more: the driver logs
     * that, and the first line that Java logs takes it a tenth of a second.
     */
    static void turnedAway(String options) {
        try (ServerSocket door = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread porter = new Thread(() -> {
                try (Socket visitor = door.accept()) {
                    visitor.getInputStream().read();
                } catch (IOException e) {
                    // Nobody came.
                }
            });
            porter.start();
            String url = "jdbc:sqlserver://127.0.0.1:" + door.getLocalPort() + options;
            DriverManager.getConnection(url, "sa", setting("KEEL_PASSWORD")).close();
        } catch (IOException | SQLException e) {
            pause();
        }
    }

    static void run(int writer) {
        String[] hosts = setting("KEEL_HOSTS").split(",");
        // Whether they are names with several addresses each, which the driver tries side by side.
        boolean multiSubnet = setting("KEEL_MULTI_SUBNET") != null;
        int timeout = number("KEEL_TIMEOUT_MS");
        long pace = Math.round(Double.parseDouble(setting("KEEL_PACE_MS")));
        int host = writer;
        int n = 0;
        int logins = number("KEEL_LOGINS_FIRST");
        while (true) {
            // Login time-outs are whole seconds; the socket's is not, and holds for the login too.
            String options = ";databaseName=shop;encrypt=true;trustServerCertificate=true;connectRetryCount=0;multiSubnetFailover="
                + multiSubnet + ";loginTimeout="
                + Math.max(1, timeout / 1000) + ";socketTimeout=" + timeout;
            String url = "jdbc:sqlserver://" + hosts[host % hosts.length] + ":" + setting("KEEL_PORT") + options;
            if (logins > 0) {
                if (logins % TURNED_AWAY_EVERY == 0) {
                    turnedAway(options);
                }
                logins--;
                logIn(url);
                continue;
            }
            try (Connection connection = DriverManager.getConnection(url, "sa", setting("KEEL_PASSWORD"));
                 PreparedStatement insert = connection.prepareStatement(
                     "INSERT shop.dbo.ledger (campaign, writer, n) VALUES (?, ?, ?)")) {
                while (true) {
                    n++;
                    insert.setInt(1, number("KEEL_CAMPAIGN"));
                    insert.setInt(2, writer);
                    insert.setInt(3, n);
                    insert.executeUpdate();
                    say("A " + writer + " " + n + " " + now());
                    Thread.sleep(pace);
                }
            } catch (SQLException e) {
                say("E " + writer + " " + String.join(" ", String.valueOf(e.getMessage()).split("\\s+")));
                host++;
                pause();
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int first = number("KEEL_FIRST_WRITER");
        for (int i = 0; i < number("KEEL_WRITERS"); i++) {
            int writer = first + i;
            new Thread(() -> run(writer)).start();
        }
    }
}
