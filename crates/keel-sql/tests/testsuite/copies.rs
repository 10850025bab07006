//! A primary and a secondary, fed by hand: what readers of the secondary see while redo changes its catalog.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open, store, value};
use keel_base::env::sim::{SimDisk, Tear};
use keel_base::{Epoch, Lsn};
use keel_sql::catalog::{CatalogKey, CatalogOp, object_class};
use keel_sql::{Engine, Session};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

struct Pair {
    primary: Arc<Engine>,
    secondary: Arc<Engine>,
    epoch: u64,
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(sql, &mut sink);
    sink.0.finish()
}

/// A session of sa in the database.
fn reader(engine: &Arc<Engine>) -> Session {
    let mut session = connect(engine);
    assert_eq!(run(&mut session, "SET NOCOUNT ON"), "");
    assert!(run(&mut session, "USE shop").contains("Changed database context"));
    session
}

fn change(session: &mut Session, sql: &str) {
    let said = run(session, sql);
    assert!(!said.contains("Msg "), "{sql}: {said}");
}

impl Pair {
    fn new(setup: &[&str]) -> Pair {
        let disk = SimDisk::new();
        let primary = open(&disk);
        let mut session = connect(&primary);
        change(&mut session, "CREATE DATABASE shop");
        change(&mut session, "USE shop");
        for batch in setup {
            change(&mut session, batch);
        }
        store(&primary).enter_group(Epoch(1)).unwrap();
        let secondary = open(&disk.crash(Tear::KeepAll));
        let copy = store(&secondary);
        copy.demote().unwrap();
        let end = copy.hardened();
        copy.apply_up_to(end).unwrap();
        assert!(copy.wait_applied(end, LONG));
        Pair { primary, secondary, epoch: 1 }
    }

    /// Sends the secondary what the primary has hardened; applied when it returns.
    fn ship(&self) -> Lsn {
        let (from, to) = (store(&self.primary), store(&self.secondary));
        let at = to.log().unwrap().appended();
        let mut scanner = from.log().unwrap().scan(at).unwrap();
        while let Some(block) = scanner.next().unwrap() {
            to.receive(Epoch(self.epoch), block.bytes).unwrap();
        }
        let end = to.harden().unwrap();
        to.apply_up_to(end).unwrap();
        assert!(to.wait_applied(end, LONG));
        end
    }

    /// The copies change their roles.
    fn swap(&mut self) {
        self.ship();
        self.epoch += 1;
        store(&self.primary).fence("roles change");
        store(&self.secondary).promote(Epoch(self.epoch)).unwrap();
        // Nobody of a group is here whose answers commits could wait for.
        store(&self.secondary).set_waiting(false).unwrap();
        store(&self.primary).demote().unwrap();
        std::mem::swap(&mut self.primary, &mut self.secondary);
        self.ship();
    }
}

const SETUP: &[&str] = &[
    "CREATE TABLE item (id int PRIMARY KEY, name varchar(10), price int);
     INSERT item VALUES (1, 'rope', 4), (2, 'sail', 310), (3, 'anchor', 99)",
    "CREATE INDEX by_name ON item (name)",
    "CREATE TABLE gone (x int); INSERT gone VALUES (7), (8)",
    "CREATE PROCEDURE report AS SELECT COUNT(*) AS items FROM item",
    "CREATE FUNCTION twice (@x int) RETURNS int AS BEGIN RETURN @x * 2 END",
    "CREATE VIEW cheap AS SELECT id, price FROM item WHERE price < 100",
    r#"CREATE XML SCHEMA COLLECTION notes AS N'<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"><s:element name="n" type="s:int"/></s:schema>'"#,
    "CREATE TABLE noted (x xml(notes)); INSERT noted VALUES ('<n>01</n>')",
];

const QUERIES: &[&str] = &[
    "SELECT * FROM item ORDER BY id",
    "SELECT id FROM item WITH (INDEX (by_name)) WHERE name = 'sail'",
    "SELECT SUM(x) AS total FROM gone",
    "EXEC report",
    "SELECT dbo.twice(id) AS doubled FROM item ORDER BY id",
    "SELECT * FROM cheap ORDER BY id",
    "SELECT x, x.value('(/n)[1] + 1', 'int') AS more FROM noted",
    "SELECT x.exist('/m') AS m FROM noted",
    "SELECT c.name FROM sys.columns c WHERE c.object_id = OBJECT_ID('item') ORDER BY c.column_id",
    "SELECT i.name FROM sys.indexes i WHERE i.object_id = OBJECT_ID('item') AND i.index_id > 1 ORDER BY i.name",
    "IF COL_LENGTH('item', 'extra') IS NULL SELECT 'none' AS extra ELSE SELECT MAX(extra) AS extra FROM item",
];

const CHANGES: &[&str] = &[
    "ALTER TABLE item ADD extra int NOT NULL DEFAULT 5",
    "UPDATE item SET extra = id, price = price + 1",
    "ALTER TABLE item ALTER COLUMN price bigint",
    "DROP INDEX by_name ON item",
    "CREATE INDEX by_price ON item (price); CREATE INDEX by_name ON item (name, id)",
    "ALTER PROCEDURE report AS SELECT SUM(id) AS ids FROM item",
    "ALTER FUNCTION twice (@x int) RETURNS int AS BEGIN RETURN @x * 20 END",
    "ALTER VIEW cheap AS SELECT id, name FROM item",
    "DROP INDEX by_price ON item; ALTER TABLE item DROP COLUMN price",
    r#"ALTER XML SCHEMA COLLECTION notes ADD N'<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"><s:element name="m" type="s:int"/></s:schema>'"#,
    "INSERT noted VALUES ('<m>2</m>')",
    "DROP TABLE noted; DROP XML SCHEMA COLLECTION notes",
    "DROP TABLE gone",
    "CREATE TABLE gone (x bigint, y int); INSERT gone VALUES (70, 1), (80, 2)",
    "TRUNCATE TABLE item",
    "DROP TABLE item; CREATE TABLE item (id varchar(3), extra varchar(9)); INSERT item VALUES ('a', 'b')",
];

fn all(session: &mut Session) -> String {
    QUERIES.iter().map(|q| format!("> {q}\n{}", run(session, q))).collect()
}

/// Every change of the schema arrives while transactions of all levels are open on the secondary: they see neither rows nor
/// definitions of later, whoever else compiles the same texts meanwhile, and nothing waits for anybody.
#[test]
fn a_transaction_on_a_secondary_keeps_the_schema_of_its_snapshot() {
    let pair = Pair::new(SETUP);
    let mut writer = reader(&pair.primary);
    let mut now = reader(&pair.secondary);
    let mut open_ones: Vec<(Session, String)> = Vec::new();
    for (n, sql) in CHANGES.iter().enumerate() {
        let mut session = reader(&pair.secondary);
        if n % 2 == 0 {
            change(&mut session, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
        }
        change(&mut session, "BEGIN TRANSACTION");
        // One that has only looked at one row before the change has the schema of then as well.
        change(&mut session, "SELECT TOP 1 id FROM item");
        let seen = all(&mut now);
        open_ones.push((session, seen));
        change(&mut writer, sql);
        pair.ship();
        assert_eq!(all(&mut now), all(&mut writer), "after {sql}");
        for (session, seen) in &mut open_ones {
            assert_eq!(all(session), *seen, "after {sql}");
        }
        if n % 4 == 3 {
            store(&pair.secondary).checkpoint().unwrap();
        }
    }
    for (session, seen) in &mut open_ones {
        assert_eq!(all(session), *seen);
        change(session, "COMMIT");
        assert_eq!(all(session), all(&mut writer), "a new transaction sees the newest");
    }
}

/// Statements by themselves: each binds and reads at one point, also when the trees that it names are replaced meanwhile.
#[test]
fn statements_on_a_secondary_never_meet_rows_of_another_schema() {
    let pair = Pair::new(&[
        "CREATE TABLE t (id int PRIMARY KEY, a int, b int)",
        "INSERT t SELECT value, 1, 1 FROM GENERATE_SERIES(1, 50)",
    ]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut session = reader(&pair.secondary);
                let mut looks = 0;
                while !stop.load(Ordering::Relaxed) || looks == 0 {
                    let said = run(&mut session, "SELECT COUNT(*) AS n, SUM(a) AS a FROM t");
                    let right = said.contains("50 | 50");
                    assert!(right, "{said}");
                    looks += 1;
                }
            });
        }
        let mut writer = reader(&pair.primary);
        for n in 0..40 {
            change(
                &mut writer,
                ["ALTER TABLE t ALTER COLUMN a bigint", "ALTER TABLE t ALTER COLUMN a int"][n % 2],
            );
            pair.ship();
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// What a primary did to its catalog is known to it as a copy, and what comes after that too.
#[test]
fn copies_that_change_roles_have_the_catalog_of_their_primary() {
    let mut pair = Pair::new(SETUP);
    for n in 0..4 {
        let mut writer = reader(&pair.primary);
        change(&mut writer, &format!("CREATE TABLE made_{n} (x int); INSERT made_{n} VALUES ({n})"));
        pair.ship();
        let mut old = reader(&pair.secondary);
        change(&mut old, "BEGIN TRANSACTION");
        let before = all(&mut old);
        change(&mut writer, &format!("ALTER TABLE item ADD c{n} int"));
        pair.ship();
        assert_eq!(all(&mut old), before);
        let made = format!("SELECT * FROM made_{n}");
        assert_eq!(run(&mut old, &made), run(&mut writer, &made));
        change(&mut old, "COMMIT");
        assert_eq!(all(&mut old), all(&mut writer));
        drop((old, writer));
        pair.swap();
        let (mut writer, mut now) = (reader(&pair.primary), reader(&pair.secondary));
        assert_eq!(all(&mut now), all(&mut writer));
        change(&mut writer, &format!("INSERT made_{n} VALUES (100)"));
        pair.ship();
        assert_eq!(run(&mut now, &made), run(&mut writer, &made));
    }
}

/// Between requests a session without a transaction holds nothing: the next statement sees what has come since.
#[test]
fn a_session_of_a_secondary_sees_what_has_come_since_its_last_statement() {
    let pair = Pair::new(SETUP);
    let mut now = reader(&pair.secondary);
    let mut writer = reader(&pair.primary);
    let look = "DECLARE @n int = (SELECT COUNT(*) FROM gone); IF @n > 0 SELECT @n AS n, COL_LENGTH('gone', 'y') AS y";
    run(&mut now, look);
    change(&mut writer, "ALTER TABLE gone ADD y int; INSERT gone (x) VALUES (9)");
    pair.ship();
    assert_eq!(run(&mut now, look), run(&mut writer, look));
    change(&mut now, "SELECT OBJECT_ID('gone')");
    change(&mut writer, "ALTER TABLE gone DROP COLUMN y; DELETE gone WHERE x = 9");
    pair.ship();
    assert_eq!(run(&mut now, look), run(&mut writer, look));
    assert_eq!(store(&pair.secondary).store().snapshots_active(), 0, "nobody holds a snapshot");
}

/// Ranges that are split and merged and partitions that are emptied and moved arrive like any change, and a transaction on the
/// secondary goes on with the ranges it began with.
#[test]
fn partitions_arrive_on_a_secondary() {
    let mut pair = Pair::new(&[
        "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (10, 20)",
        "CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])",
        "CREATE TABLE t (id int PRIMARY KEY, v int) ON ps (id); CREATE INDEX iv ON t (v)",
        "CREATE TABLE u (id int PRIMARY KEY, v int); CREATE INDEX iv ON u (v)",
        "INSERT t VALUES (5, 1), (15, 2), (16, 3), (25, 4)",
    ]);
    let looks = [
        "SELECT $PARTITION.pf(id) AS p, id FROM t ORDER BY id",
        "SELECT v FROM t WITH (INDEX (iv)) WHERE v > 0 ORDER BY v",
        "SELECT id, v FROM u ORDER BY id",
        "SELECT fanout FROM sys.partition_functions",
        "SELECT partition_number AS p, rows FROM sys.partitions WHERE object_id = OBJECT_ID('t') ORDER BY index_id, 1",
    ];
    let look = |session: &mut Session| -> String { looks.iter().map(|q| run(session, q)).collect() };
    for sql in [
        "ALTER PARTITION FUNCTION pf() SPLIT RANGE (16)",
        "ALTER TABLE t SWITCH PARTITION 2 TO u",
        "TRUNCATE TABLE t WITH (PARTITIONS (1, 4))",
        "ALTER TABLE u SWITCH TO t PARTITION 2",
        "ALTER PARTITION FUNCTION pf() MERGE RANGE (10)",
    ] {
        let (mut writer, mut old) = (reader(&pair.primary), reader(&pair.secondary));
        let mut now = reader(&pair.secondary);
        change(&mut old, "BEGIN TRANSACTION");
        let before = look(&mut old);
        assert_eq!(before, look(&mut writer));
        change(&mut writer, sql);
        pair.ship();
        assert_eq!(look(&mut now), look(&mut writer), "{sql}");
        // Counts are those of now, what is read is not.
        assert_eq!(run(&mut old, looks[0]), before[..run(&mut old, looks[0]).len()], "{sql}");
        change(&mut old, "COMMIT");
    }
    pair.swap();
    assert_eq!(look(&mut reader(&pair.secondary)), look(&mut reader(&pair.primary)));
}

/// Versions go on where they were on whoever writes now, no transaction's number comes back, and both copies tell the same.
#[test]
fn changes_are_tracked_across_a_change_of_roles() {
    let mut pair = Pair::new(&[
        "ALTER DATABASE shop SET CHANGE_TRACKING = ON",
        "CREATE TABLE item (id int PRIMARY KEY, price int); ALTER TABLE item ENABLE CHANGE_TRACKING",
        "INSERT item VALUES (1, 4), (2, 310); UPDATE item SET price = 5 WHERE id = 1",
    ]);
    let asked = "SELECT CHANGE_TRACKING_CURRENT_VERSION() AS now, id, SYS_CHANGE_OPERATION AS op, SYS_CHANGE_VERSION AS version
                 FROM CHANGETABLE(CHANGES item, 1) AS c";
    let mut seen = Vec::new();
    for round in 0..3 {
        change(
            &mut reader(&pair.primary),
            &format!("UPDATE item SET price = price + 1 WHERE id = 2; INSERT item VALUES (1{round}, 0)"),
        );
        pair.ship();
        let there = run(&mut reader(&pair.secondary), asked);
        assert_eq!(there, run(&mut reader(&pair.primary), asked));
        seen.push(there);
        pair.swap();
    }
    assert!(seen[2].contains("8   | 1  | U  | 2"), "{}", seen[2]);
    let twice = "SELECT COUNT(*) - COUNT(DISTINCT xdes_id) AS twice FROM sys.dm_tran_commit_table";
    assert!(run(&mut reader(&pair.primary), twice).lines().any(|l| l.trim() == "0"));
}

/// A secondary filters rows and masks values as the primary does, and follows it when that changes.
#[test]
fn policies_and_masks_hold_on_a_secondary() {
    let pair = Pair::new(&[
        "CREATE TABLE item (id int PRIMARY KEY, owner sysname, secret varchar(9) MASKED WITH (FUNCTION = 'default()'));
         INSERT item VALUES (1, 'ann', 'one'), (2, 'dbo', 'two')",
        "CREATE USER ann WITHOUT LOGIN; GRANT SELECT ON item TO ann",
        "CREATE FUNCTION dbo.own (@owner sysname) RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT 1 AS ok WHERE @owner = USER_NAME()",
        "CREATE SECURITY POLICY dbo.own_rows ADD FILTER PREDICATE dbo.own(owner) ON dbo.item",
    ]);
    let mut writer = reader(&pair.primary);
    let mut far = reader(&pair.secondary);
    let seen = |session: &mut Session| {
        let rows = run(session, "EXECUTE AS USER = 'ann'; SELECT id, secret FROM item ORDER BY id; REVERT");
        let rows = rows.lines().skip(2).filter(|line| line.contains('|'));
        rows.map(|line| line.split_whitespace().collect::<String>()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(seen(&mut far), "1|xxxx");
    assert!(run(&mut far, "SELECT id FROM item").lines().any(|line| line.trim() == "2"));
    change(&mut writer, "ALTER SECURITY POLICY dbo.own_rows WITH (STATE = OFF); GRANT UNMASK TO ann");
    assert_eq!(seen(&mut far), "1|xxxx");
    pair.ship();
    assert_eq!(seen(&mut far), "1|one 2|two");
    change(&mut writer, "ALTER SECURITY POLICY dbo.own_rows WITH (STATE = ON); REVOKE UNMASK TO ann");
    pair.ship();
    assert_eq!(seen(&mut far), "1|xxxx");
}

/// The rows of an indexed view come to a secondary with the log, and are kept there when it has become the primary.
#[test]
fn indexed_views_are_kept_on_whichever_copy_is_primary() {
    let mut pair = Pair::new(&[
        "CREATE TABLE dbo.item (id int PRIMARY KEY, kind int NOT NULL, price int NOT NULL); INSERT dbo.item VALUES (1, 1, 10), (2, 1, 20)",
        "CREATE VIEW dbo.kinds WITH SCHEMABINDING AS SELECT kind, COUNT_BIG(*) AS n, SUM(price) AS price FROM dbo.item GROUP BY kind",
    ]);
    change(&mut reader(&pair.primary), "CREATE UNIQUE CLUSTERED INDEX cx ON dbo.kinds (kind)");
    let stored = "SELECT * FROM dbo.kinds WITH (NOEXPAND) ORDER BY kind";
    let astray = "SELECT COUNT(*) AS astray FROM (SELECT * FROM dbo.kinds EXCEPT SELECT * FROM dbo.kinds WITH (NOEXPAND)) AS d OPTION (EXPAND VIEWS)";
    for round in 0..3 {
        change(
            &mut reader(&pair.primary),
            &format!(
                "INSERT dbo.item VALUES (1{round}, {round}, 5); UPDATE dbo.item SET price = price + 1 WHERE id = 1;
                 CREATE INDEX ix{round} ON dbo.kinds (n)"
            ),
        );
        pair.ship();
        let there = run(&mut reader(&pair.secondary), stored);
        assert_eq!(there, run(&mut reader(&pair.primary), stored));
        assert!(run(&mut reader(&pair.secondary), astray).lines().any(|l| l.trim() == "0"));
        let hinted = format!("SELECT * FROM dbo.kinds WITH (NOEXPAND, INDEX (ix{round})) ORDER BY kind");
        assert_eq!(there, run(&mut reader(&pair.secondary), &hinted));
        pair.swap();
    }
    let rows = run(&mut reader(&pair.primary), stored);
    assert!(rows.contains("1    | 3 | 38") && rows.contains("2    | 1 | 5"), "{rows}");
}

/// Who becomes primary has all that was acknowledged, but not all of it is agreed on yet as far as it knows: the one before died before
/// it could say so. Whoever asks meanwhile waits; what was acknowledged to him, a table even, must not be missing.
#[test]
fn what_was_acknowledged_is_there_as_soon_as_the_new_primary_answers() {
    let pair = Pair::new(SETUP);
    let mut writer = reader(&pair.primary);
    change(&mut writer, "INSERT item VALUES (4, 'mast', 900)");
    change(&mut writer, "CREATE TABLE fresh (a int); INSERT fresh VALUES (42)");
    let (from, to) = (store(&pair.primary), store(&pair.secondary));
    let mut scanner = from.log().unwrap().scan(to.log().unwrap().appended()).unwrap();
    while let Some(block) = scanner.next().unwrap() {
        to.receive(Epoch(pair.epoch), block.bytes).unwrap();
    }
    let end = to.harden().unwrap();
    from.fence("it died");
    to.promote(Epoch(pair.epoch + 1)).unwrap();

    let (answers, answered) = std::sync::mpsc::channel();
    let engine = Arc::clone(&pair.secondary);
    let asks = std::thread::spawn(move || {
        let mut session = reader(&engine);
        answers.send(run(&mut session, "SELECT name FROM item WHERE id = 4; SELECT a FROM fresh")).unwrap();
    });
    // However long this is, there is no answer before the others have the log.
    assert!(answered.recv_timeout(Duration::from_millis(50)).is_err());
    to.advance_agreed(end);
    let said = answered.recv_timeout(LONG).unwrap();
    assert!(said.contains("mast") && said.contains("42"), "{said}");
    asks.join().unwrap();
}

const TOLD: &str = "SET NOCOUNT ON; DECLARE @all nvarchar(max) = N'', @h uniqueidentifier, @b xml;
    WHILE 1 = 1 BEGIN
        SET @h = NULL;
        RECEIVE TOP (1) @h = conversation_handle, @b = CAST(message_body AS xml) FROM told;
        IF @h IS NULL BREAK;
        END CONVERSATION @h;
        SET @all += @b.value('(/*/*)[1]', 'nvarchar(100)') + N' ' + @b.value('(/*/@info)[1]', 'nvarchar(40)') + N';';
    END
    SELECT @all AS told";

/// Who watches is told when another instance is the primary, by that one; also when it is the first again and nobody has told between.
#[test]
fn query_notifications_are_told_of_a_failover() {
    use keel_sql::broker::Monitor;
    use keel_sql::notify::Request;
    let mut pair = Pair::new(&[
        "CREATE QUEUE told",
        "CREATE SERVICE news ON QUEUE told ([http://schemas.microsoft.com/SQL/Notifications/PostQueryNotification])",
        "CREATE TABLE goods (id int PRIMARY KEY, price int NOT NULL); INSERT goods VALUES (1, 10)",
    ]);
    let watch = |engine: &Arc<Engine>, message: &str| {
        let mut session = reader(engine);
        let deployment = "service=news;local database=shop".to_owned();
        session.watch_request(Some(Request { message: message.to_owned(), deployment, timeout_s: None }));
        change(&mut session, "SELECT id, price FROM dbo.goods");
    };
    let (mut of_one, mut of_two) = (Monitor::new(&pair.primary), Monitor::new(&pair.secondary));
    of_one.turn();
    of_two.turn();
    watch(&pair.primary, "moved");
    pair.swap();
    of_one.turn();
    of_two.turn();
    let said = run(&mut reader(&pair.primary), TOLD);
    assert!(said.contains("moved restart;"), "{said}");
    // The second has it, and has not told of what is changed there when the first is the primary again.
    watch(&pair.primary, "there");
    pair.swap();
    of_two.turn();
    change(&mut reader(&pair.primary), "UPDATE goods SET price = 11");
    pair.swap();
    of_one.turn();
    of_two.turn();
    let said = run(&mut reader(&pair.primary), TOLD);
    assert!(said.contains("there restart;"), "{said}");
}

/// Who reads the catalog again after a change of role does not lose what another session has published and not committed yet; and that is
/// made of what the log says, not of what the secondary knew.
#[test]
fn what_is_published_after_a_change_of_role_is_not_lost() {
    let mut pair = Pair::new(SETUP);
    let mut session = reader(&pair.primary);
    change(&mut session, "CREATE TABLE later (x int)");
    let mut id = |name: &str| value(&mut session, &format!("SELECT OBJECT_ID('{name}')")).parse().unwrap();
    let (gone, later) = (id("gone"), id("later"));
    pair.swap();
    // The first to ask the new primary for its catalog is who changes it.
    let entry = pair.primary.database("shop").unwrap();
    entry.publish(&[CatalogOp::Remove(CatalogKey { class: object_class::TABLE, id: gone })]);
    // Another one does before that is committed.
    let _ = entry.version();
    entry.settle();
    let picture = entry.picture();
    assert!(picture.stored_by_id(gone).is_none(), "lost");
    assert!(picture.stored_by_id(later).is_some(), "of before");
}
