// mssql-jdbc by Kerberos: Java's own, with tickets from the cache that KRB5CCNAME names.
import java.sql.*;

public class KerberosTest {
    static final String WHO =
        "SELECT SUSER_SNAME(), auth_scheme FROM sys.dm_exec_connections WHERE session_id = @@SPID";
    static int failed = 0;

    interface Body { void run() throws Exception; }

    static void check(String name, Body body) {
        try {
            body.run();
            System.out.println("ok     kerberos jdbc_" + name);
        } catch (Throwable e) {
            failed++;
            System.out.println("FAILED kerberos jdbc_" + name);
            e.printStackTrace(System.out);
        }
    }

    static Connection open(String more) throws SQLException {
        return DriverManager.getConnection("jdbc:sqlserver://localhost:" + System.getenv("KEEL_PORT") + ";databaseName="
            + System.getenv("KEEL_DATABASE") + ";trustServerCertificate=true;integratedSecurity=true;authenticationScheme=JavaKerberos;" + more);
    }

    static void isBob(Connection c) throws Exception {
        try (c; var rows = c.createStatement().executeQuery(WHO)) {
            rows.next();
            var got = rows.getString(1) + " " + rows.getString(2);
            if (!got.equals("KEEL\\bob KERBEROS")) throw new Exception("got " + got);
        }
    }

    public static void main(String[] arguments) {
        if (System.getenv("KRB5CCNAME").endsWith("bob")) check("with_tickets", () -> isBob(open("")));
        else check("without_login", () -> {
            try (var c = open("")) {
                throw new Exception("logged in");
            } catch (SQLException e) {
                if (e.getErrorCode() != 18456) throw e;
            }
        });
        System.exit(failed == 0 ? 0 : 1);
    }
}
