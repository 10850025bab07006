import com.microsoft.sqlserver.jdbc.SQLServerXADataSource;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;
import javax.sql.XAConnection;
import javax.transaction.xa.*;

/** mssql-jdbc's XA resource, and Narayana over two instances. The first argument says which part. */
public class XaTest {
    static final String PASSWORD = System.getenv("KEEL_PASSWORD");
    static final int[] PORTS = {Integer.parseInt(System.getenv("KEEL_PORT")), Integer.parseInt(System.getenv("KEEL_PORT_2"))};

    static class Branch implements Xid {
        final byte[] global, branch;

        Branch(String global, String branch) {
            this.global = global.getBytes(StandardCharsets.UTF_8);
            this.branch = branch.getBytes(StandardCharsets.UTF_8);
        }

        public int getFormatId() {
            return 4711;
        }

        public byte[] getGlobalTransactionId() {
            return global;
        }

        public byte[] getBranchQualifier() {
            return branch;
        }
    }

    static SQLServerXADataSource source(int node) {
        SQLServerXADataSource source = new SQLServerXADataSource();
        source.setServerName("127.0.0.1");
        source.setPortNumber(PORTS[node]);
        source.setUser("sa");
        source.setPassword(PASSWORD);
        source.setDatabaseName("master");
        source.setTrustServerCertificate(true);
        return source;
    }

    static void equal(Object got, Object expected) {
        if (!Objects.equals(got, expected)) throw new AssertionError("got " + got + ", expected " + expected);
    }

    interface Verb {
        void call() throws XAException;
    }

    static void refused(int code, Verb verb) {
        try {
            verb.call();
        } catch (XAException e) {
            equal(e.errorCode, code);
            return;
        }
        throw new AssertionError("not refused with " + code);
    }

    static int count(int node, String where) throws Exception {
        try (Connection c = source(node).getConnection(); Statement s = c.createStatement();
                ResultSet r = s.executeQuery("SELECT COUNT(*) FROM dbo.xa WHERE " + where)) {
            r.next();
            return r.getInt(1);
        }
    }

    /** One handle for each physical connection: another would have it reset, which leaves the branch. */
    static final Map<XAConnection, Connection> HANDLES = new IdentityHashMap<>();

    static Statement statement(XAConnection c) throws Exception {
        if (!HANDLES.containsKey(c)) HANDLES.put(c, c.getConnection());
        return HANDLES.get(c).createStatement();
    }

    static void work(XAConnection c, Xid xid, int flags, String sql) throws Exception {
        c.getXAResource().start(xid, flags);
        try (Statement s = statement(c)) {
            s.execute(sql);
        }
        c.getXAResource().end(xid, XAResource.TMSUCCESS);
    }

    static List<String> recovered(XAResource resource) throws XAException {
        List<String> found = new ArrayList<>();
        for (Xid xid : resource.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN)) {
            if (xid.getFormatId() == 4711) found.add(new String(xid.getGlobalTransactionId(), StandardCharsets.UTF_8));
        }
        Collections.sort(found);
        return found;
    }

    /** The verbs, one after the other. */
    static void verbs() throws Exception {
        XAConnection a = source(0).getXAConnection(), b = source(0).getXAConnection();
        XAResource ra = a.getXAResource(), rb = b.getXAResource();
        equal(ra.isSameRM(rb), true);
        try (Statement s = statement(a)) {
            s.execute("DROP TABLE IF EXISTS dbo.xa; CREATE TABLE dbo.xa (n int PRIMARY KEY)");
        }
        Branch one = new Branch("verbs-1", "b");
        work(a, one, XAResource.TMNOFLAGS, "INSERT dbo.xa VALUES (1)");
        refused(XAException.XAER_DUPID, () -> rb.start(one, XAResource.TMNOFLAGS));
        refused(XAException.XAER_PROTO, () -> ra.commit(one, false));
        equal(ra.prepare(one), XAResource.XA_OK);
        equal(recovered(rb), List.of("verbs-1"));
        // Another connection commits it.
        rb.commit(one, false);
        refused(XAException.XAER_NOTA, () -> rb.commit(one, false));
        equal(count(0, "n = 1"), 1);

        Branch two = new Branch("verbs-2", "b");
        work(a, two, XAResource.TMNOFLAGS, "INSERT dbo.xa VALUES (2)");
        work(b, two, XAResource.TMJOIN, "INSERT dbo.xa VALUES (3)");
        ra.commit(two, true);
        equal(count(0, "n IN (2, 3)"), 2);

        Branch three = new Branch("verbs-3", "b");
        ra.start(three, XAResource.TMNOFLAGS);
        try (Statement s = statement(a)) {
            s.execute("INSERT dbo.xa VALUES (4)");
            ra.end(three, XAResource.TMSUSPEND);
            // The same connection works in another meanwhile, and for itself.
            Branch other = new Branch("verbs-4", "b");
            ra.start(other, XAResource.TMNOFLAGS);
            s.execute("INSERT dbo.xa VALUES (5)");
            ra.end(other, XAResource.TMSUCCESS);
            equal(ra.prepare(other), XAResource.XA_OK);
            ra.rollback(other);
            s.execute("INSERT dbo.xa VALUES (6)");
            ra.start(three, XAResource.TMRESUME);
            s.execute("INSERT dbo.xa VALUES (7)");
            ra.end(three, XAResource.TMSUCCESS);
        }
        equal(ra.prepare(three), XAResource.XA_OK);
        ra.commit(three, false);
        equal(count(0, "n IN (4, 6, 7)"), 3);
        equal(count(0, "n = 5"), 0);

        Branch reads = new Branch("verbs-5", "b");
        work(a, reads, XAResource.TMNOFLAGS, "SELECT COUNT(*) FROM dbo.xa");
        equal(ra.prepare(reads), XAResource.XA_RDONLY);
        refused(XAException.XAER_NOTA, () -> ra.rollback(reads));

        ra.setTransactionTimeout(1);
        Branch late = new Branch("verbs-6", "b");
        work(a, late, XAResource.TMNOFLAGS, "INSERT dbo.xa VALUES (8)");
        ra.setTransactionTimeout(0);
        for (int i = 0; i < 300 && count(0, "n = 8 OR EXISTS (SELECT * FROM sys.dm_tran_locks WHERE request_session_id = -2)") > 0; i++) {
            Thread.sleep(20);
        }
        refused(XAException.XA_RBTIMEOUT, () -> ra.prepare(late));
        equal(count(0, "n = 8"), 0);
        equal(recovered(ra), List.of());
        a.close();
        b.close();
    }

    /** Prepares a branch on each instance and leaves them: the instances are killed then. */
    static void prepare(String name) throws Exception {
        for (int node = 0; node < 2; node++) {
            XAConnection c = source(node).getXAConnection();
            try (Statement s = statement(c)) {
                s.execute("IF OBJECT_ID('dbo.xa') IS NULL CREATE TABLE dbo.xa (n int PRIMARY KEY)");
            }
            int number = name.hashCode() & 0xFFFF;
            work(c, new Branch(name, "node" + node), XAResource.TMNOFLAGS, "INSERT dbo.xa VALUES (" + number + ")");
            equal(c.getXAResource().prepare(new Branch(name, "node" + node)), XAResource.XA_OK);
            equal(count(node, "n = " + number), 0);
        }
    }

    /** Finds them in doubt, and decides. */
    static void decide(String name, boolean commit) throws Exception {
        for (int node = 0; node < 2; node++) {
            XAConnection c = source(node).getXAConnection();
            XAResource resource = c.getXAResource();
            equal(recovered(resource), List.of(name));
            Branch branch = new Branch(name, "node" + node);
            if (commit) resource.commit(branch, false);
            else resource.rollback(branch);
            refused(XAException.XAER_NOTA, () -> resource.commit(branch, false));
            equal(recovered(resource), List.of());
            equal(count(node, "n = " + (name.hashCode() & 0xFFFF)), commit ? 1 : 0);
            c.close();
        }
    }

    /** Narayana moves money between the instances; some of it is rolled back. */
    static void manager() throws Exception {
        for (int node = 0; node < 2; node++) {
            try (Connection c = source(node).getConnection(); Statement s = c.createStatement()) {
                s.execute("DROP TABLE IF EXISTS dbo.account; CREATE TABLE dbo.account (id int PRIMARY KEY, money int); INSERT dbo.account VALUES (1, 1000)");
            }
        }
        jakarta.transaction.TransactionManager tm = com.arjuna.ats.jta.TransactionManager.transactionManager();
        int moved = 0;
        for (int i = 0; i < 40; i++) {
            tm.begin();
            XAConnection[] all = {source(0).getXAConnection(), source(1).getXAConnection()};
            for (int node = 0; node < 2; node++) {
                equal(tm.getTransaction().enlistResource(all[node].getXAResource()), true);
                try (Connection c = all[node].getConnection(); Statement s = c.createStatement()) {
                    s.execute("UPDATE dbo.account SET money = money " + (node == 0 ? "-" : "+") + " 1");
                }
            }
            if (i % 4 == 3) {
                tm.rollback();
            } else {
                tm.commit();
                moved++;
            }
            for (XAConnection c : all) c.close();
        }
        for (int node = 0; node < 2; node++) {
            try (Connection c = source(node).getConnection(); Statement s = c.createStatement();
                    ResultSet r = s.executeQuery("SELECT money FROM dbo.account")) {
                r.next();
                equal(r.getInt(1), node == 0 ? 1000 - moved : 1000 + moved);
            }
        }
        equal(moved, 30);
    }

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "verbs" -> verbs();
            case "prepare" -> prepare(args[1]);
            case "commit" -> decide(args[1], true);
            case "rollback" -> decide(args[1], false);
            case "manager" -> manager();
            default -> throw new IllegalArgumentException(args[0]);
        }
        System.out.println("xa " + String.join(" ", args) + ": ok");
        System.exit(0);
    }
}
