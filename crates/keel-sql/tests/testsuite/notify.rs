//! Query notifications: who is told of what, when, and once.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, run, server, well};
use keel_base::env::sim::SimDisk;
use keel_sql::broker::Monitor;
use keel_sql::notify::Request;
use keel_sql::{Engine, Session};
use std::sync::Arc;

const OBJECTS: &str = "USE shop;
    CREATE QUEUE told;
    CREATE SERVICE news ON QUEUE told ([http://schemas.microsoft.com/SQL/Notifications/PostQueryNotification]);
    CREATE TABLE dbo.goods (id int PRIMARY KEY, name nvarchar(20), price int NOT NULL, note varchar(10), weight float);
    CREATE TABLE dbo.sales (id int PRIMARY KEY, good int, n int NOT NULL);
    INSERT dbo.goods VALUES (1, 'tea', 10, 'a', 1), (2, 'salt', 20, 'b', 2), (3, 'rice', 30, 'c', 3)";

/// What has come: message, type, source and info of each, in order. Their conversations are ended.
const TOLD: &str = "SET NOCOUNT ON; DECLARE @all nvarchar(max) = N'', @h uniqueidentifier, @b xml;
    WHILE 1 = 1 BEGIN
        SET @h = NULL;
        RECEIVE TOP (1) @h = conversation_handle, @b = CAST(message_body AS xml) FROM told;
        IF @h IS NULL BREAK;
        END CONVERSATION @h;
        SET @all += @b.value('declare namespace qn=\"http://schemas.microsoft.com/SQL/Notifications/QueryNotification\"; (/qn:QueryNotification/qn:Message)[1]', 'nvarchar(100)')
            + N' ' + @b.value('(/*/@type)[1]', 'nvarchar(20)') + N' ' + @b.value('(/*/@source)[1]', 'nvarchar(20)')
            + N' ' + @b.value('(/*/@info)[1]', 'nvarchar(40)') + N';';
    END
    SELECT N'told ' + @all AS told";

fn value(session: &mut Session, sql: &str) -> String {
    well(session, sql).lines().nth(2).unwrap().trim().to_owned()
}

fn told(session: &mut Session) -> String {
    value(session, TOLD).strip_prefix("told").unwrap().trim().to_owned()
}

fn request(message: &str, deployment: &str) -> Option<Request> {
    Some(Request { message: message.to_owned(), deployment: deployment.to_owned(), timeout_s: None })
}

/// Runs a batch whose results are to be watched.
fn watch(session: &mut Session, message: &str, sql: &str) -> String {
    session.watch_request(request(message, "service=news;local database=shop"));
    let said = run(session, sql);
    session.watch_request(None);
    said
}

fn shop(engine: &Arc<Engine>) -> Session {
    let mut sa = connect(engine);
    well(&mut sa, "CREATE DATABASE shop");
    well(&mut sa, OBJECTS);
    sa
}

#[test]
fn a_change_of_what_a_query_reads_is_told_once() {
    let engine = server();
    let mut sa = shop(&engine);
    let cheap = "SELECT id, name FROM dbo.goods WHERE price < 25 AND name <> N'salt'";
    watch(&mut sa, "cheap", cheap);
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "1");
    // Other columns, other rows, nothing at all, and what is undone.
    well(&mut sa, "UPDATE dbo.goods SET note = 'x'");
    well(&mut sa, "UPDATE dbo.goods SET price += 1 WHERE id = 3");
    well(&mut sa, "INSERT dbo.goods (id, name, price) VALUES (4, N'gold', 1000), (5, N'salt', 1)");
    well(&mut sa, "DELETE dbo.goods WHERE id > 3");
    well(&mut sa, "UPDATE dbo.goods SET price = 0 WHERE id = 99");
    well(&mut sa, "BEGIN TRAN; UPDATE dbo.goods SET price = 0; ROLLBACK");
    well(&mut sa, "BEGIN TRAN; SAVE TRAN s; UPDATE dbo.goods SET price = 0; ROLLBACK TRAN s; COMMIT");
    assert_eq!(told(&mut sa), "");
    // A row that comes into the result by its price; it is there when the transaction has committed.
    well(&mut sa, "BEGIN TRAN; UPDATE dbo.goods SET price = 5 WHERE id = 3");
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "1");
    well(&mut sa, "COMMIT");
    assert_eq!(told(&mut sa), "cheap change data update;");
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "0");
    well(&mut sa, "DELETE dbo.goods WHERE id = 3");
    assert_eq!(told(&mut sa), "");
    // One that goes, and one that comes.
    watch(&mut sa, "again", cheap);
    well(&mut sa, "DELETE dbo.goods WHERE id = 1");
    assert_eq!(told(&mut sa), "again change data delete;");
    watch(&mut sa, "new", cheap);
    well(&mut sa, "INSERT dbo.goods (id, name, price) VALUES (6, N'peas', 2)");
    assert_eq!(told(&mut sa), "new change data insert;");
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.conversation_endpoints"), "0");
}

#[test]
fn variables_joins_and_groups_are_watched_and_the_same_query_is_watched_once() {
    let engine = server();
    let mut sa = shop(&engine);
    let one = "DECLARE @id int = 2; SELECT name, price FROM dbo.goods WHERE id = @id";
    watch(&mut sa, "one", one);
    watch(&mut sa, "one", one);
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "1");
    well(&mut sa, "UPDATE dbo.goods SET price = 1 WHERE id = 1");
    assert_eq!(told(&mut sa), "");
    well(
        &mut sa,
        "MERGE dbo.goods g USING (SELECT 2 AS id) s ON g.id = s.id WHEN MATCHED THEN UPDATE SET price = 1;",
    );
    assert_eq!(told(&mut sa), "one change data update;");
    let join = "SELECT g.name, s.n FROM dbo.goods AS g JOIN dbo.sales AS s ON s.good = g.id WHERE s.n BETWEEN 1 AND 9 ORDER BY g.name";
    watch(&mut sa, "join", join);
    well(&mut sa, "INSERT dbo.sales VALUES (1, 1, 10)");
    assert_eq!(told(&mut sa), "");
    well(&mut sa, "INSERT dbo.sales VALUES (2, 1, 9)");
    assert_eq!(told(&mut sa), "join change data insert;");
    watch(&mut sa, "sum", "SELECT good, COUNT_BIG(*) AS c, SUM(n) AS n FROM dbo.sales GROUP BY good");
    well(&mut sa, "CREATE PROCEDURE sell AS DELETE dbo.sales WHERE id = 1");
    well(&mut sa, "EXEC sell");
    assert_eq!(told(&mut sa), "sum change data delete;");
}

#[test]
fn what_cannot_be_watched_is_said_at_once() {
    let engine = server();
    let mut sa = shop(&engine);
    well(&mut sa, "CREATE VIEW dbo.all_goods AS SELECT id FROM dbo.goods");
    well(&mut sa, "CREATE SYNONYM dbo.wares FOR dbo.goods");
    well(&mut sa, "CREATE TABLE dbo.computed (id int, twice AS id * 2)");
    for query in [
        "SELECT * FROM dbo.goods",
        "SELECT id FROM goods",
        "SELECT id FROM shop.dbo.goods",
        "SELECT DISTINCT id FROM dbo.goods",
        "SELECT TOP (1) id FROM dbo.goods",
        "SELECT id FROM dbo.goods UNION ALL SELECT id FROM dbo.sales",
        "SELECT g.id FROM dbo.goods g LEFT JOIN dbo.sales s ON s.good = g.id",
        "SELECT g.id FROM dbo.goods g JOIN dbo.goods h ON h.id = g.id",
        "SELECT COUNT(*) AS n FROM dbo.goods",
        "SELECT id, DECRYPTBYKEY(0x00) AS plain FROM dbo.goods",
        "SELECT COUNT_BIG(*) AS n FROM dbo.goods",
        "SELECT MAX(price) AS m FROM dbo.goods",
        "SELECT good, SUM(good) AS n FROM dbo.sales GROUP BY good",
        "SELECT good FROM dbo.sales GROUP BY good HAVING COUNT_BIG(*) > 1",
        "SELECT id + 1 FROM dbo.goods",
        "SELECT id, id FROM dbo.goods",
        "SELECT id FROM dbo.goods WHERE 1 = 0",
        "SELECT id FROM dbo.goods WHERE id = @@SPID",
        "SELECT id, GETDATE() AS now FROM dbo.goods",
        "SELECT id FROM dbo.goods WHERE weight > 1",
        "SELECT id FROM dbo.goods WHERE EXISTS (SELECT 1 FROM dbo.sales)",
        "SELECT id FROM (SELECT id FROM dbo.goods) AS g",
        "WITH g AS (SELECT id FROM dbo.goods) SELECT id FROM g",
        "SELECT id FROM dbo.all_goods",
        "SELECT id FROM dbo.wares",
        "SELECT id FROM dbo.computed",
        "SELECT name FROM sys.objects",
        "SELECT conversation_handle FROM dbo.told",
        "SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS n FROM dbo.goods",
        "DECLARE @i int; SELECT @i = id FROM dbo.goods",
        "SELECT id FROM dbo.goods WITH (NOLOCK)",
    ] {
        watch(&mut sa, "no", query);
        assert_eq!(told(&mut sa), "no subscribe statement query;", "{query}");
    }
    watch(&mut sa, "no", "UPDATE dbo.goods SET price = 1 WHERE id = 1");
    assert_eq!(told(&mut sa), "no subscribe statement invalid;");
    let plain = "SELECT id FROM dbo.goods";
    well(&mut sa, "SET ANSI_WARNINGS OFF");
    watch(&mut sa, "no", plain);
    well(&mut sa, "SET ANSI_WARNINGS ON");
    assert_eq!(told(&mut sa), "no subscribe environment set options;");
    well(&mut sa, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    watch(&mut sa, "no", plain);
    well(&mut sa, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    assert_eq!(told(&mut sa), "no subscribe environment isolation;");
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "0");
}

#[test]
fn definitions_that_change_are_told() {
    let engine = server();
    let mut sa = shop(&engine);
    let mut monitor = Monitor::new(&engine);
    let plain = "SELECT id, name FROM dbo.goods";
    watch(&mut sa, "rows", plain);
    well(&mut sa, "TRUNCATE TABLE dbo.goods");
    assert_eq!(told(&mut sa), "rows change data truncate;");
    watch(&mut sa, "columns", plain);
    well(&mut sa, "CREATE INDEX names ON dbo.goods (name)");
    monitor.turn();
    assert_eq!(told(&mut sa), "");
    well(&mut sa, "ALTER TABLE dbo.goods ADD size int");
    monitor.turn();
    assert_eq!(told(&mut sa), "columns change object alter;");
    watch(&mut sa, "table", plain);
    well(&mut sa, "BEGIN TRAN; DROP TABLE dbo.goods; ROLLBACK");
    monitor.turn();
    assert_eq!(told(&mut sa), "");
    well(&mut sa, "DROP TABLE dbo.goods");
    monitor.turn();
    assert_eq!(told(&mut sa), "table change object drop;");
}

#[test]
fn a_transaction_that_was_there_before_the_subscription_tells_of_it() {
    let engine = server();
    let mut sa = shop(&engine);
    let mut monitor = Monitor::new(&engine);
    monitor.turn();
    let mut writer = connect(&engine);
    well(&mut writer, "USE shop; BEGIN TRAN; UPDATE dbo.goods SET price = 99 WHERE id = 1");
    let seen = watch(&mut sa, "late", "SELECT price FROM dbo.goods WHERE id = 1");
    assert!(seen.contains("10"), "{seen}");
    monitor.turn();
    assert_eq!(told(&mut sa), "");
    well(&mut writer, "COMMIT");
    monitor.turn();
    assert_eq!(told(&mut sa), "late change data update;");
}

#[test]
fn two_writers_do_not_wait_for_each_other() {
    let engine = server();
    let mut sa = shop(&engine);
    let mut monitor = Monitor::new(&engine);
    monitor.turn();
    watch(&mut sa, "both", "SELECT id, price FROM dbo.goods");
    let (mut one, mut two) = (connect(&engine), connect(&engine));
    well(&mut one, "USE shop; BEGIN TRAN; UPDATE dbo.goods SET price = 1 WHERE id = 1");
    well(&mut two, "USE shop; SET LOCK_TIMEOUT 0; UPDATE dbo.goods SET price = 2 WHERE id = 2");
    assert_eq!(told(&mut sa), "both change data update;");
    well(&mut one, "COMMIT");
    monitor.turn();
    assert_eq!(told(&mut sa), "");
}

#[test]
fn a_restart_is_told_and_time_is_over_once() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut sa = shop(&engine);
    watch(&mut sa, "kept", "SELECT id FROM dbo.goods");
    drop(sa);
    engine.shutdown();
    drop(engine);
    let engine = open(&disk);
    let mut sa = connect(&engine);
    well(&mut sa, "USE shop");
    let mut monitor = Monitor::new(&engine);
    monitor.turn();
    assert_eq!(told(&mut sa), "kept change database restart;");
    Monitor::new(&engine).turn();
    assert_eq!(told(&mut sa), "");
    sa.watch_request(Some(Request { timeout_s: Some(1), ..request("short", "service=news").unwrap() }));
    well(&mut sa, "SELECT id FROM dbo.goods");
    sa.watch_request(None);
    assert_eq!(value(&mut sa, "SELECT timeout FROM sys.dm_qn_subscriptions"), "1");
    loop {
        monitor.turn();
        let said = told(&mut sa);
        if !said.is_empty() {
            assert_eq!(said, "short change timeout expired;");
            break;
        }
        std::thread::yield_now();
    }
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "0");
}

/// A service of another database, that watches from there what is in `shop`.
fn mart(sa: &mut Session) {
    well(sa, "CREATE DATABASE mart");
    well(
        sa,
        "USE mart; CREATE QUEUE told;
         CREATE SERVICE news ON QUEUE told ([http://schemas.microsoft.com/SQL/Notifications/PostQueryNotification]); USE shop",
    );
}

#[test]
fn a_database_that_is_dropped_is_told_elsewhere() {
    let engine = server();
    let mut sa = shop(&engine);
    mart(&mut sa);
    let mut monitor = Monitor::new(&engine);
    monitor.turn();
    sa.watch_request(request("gone", "service=news;local database=mart"));
    well(&mut sa, "SELECT id FROM dbo.goods");
    sa.watch_request(None);
    watch(&mut sa, "own", "SELECT name FROM dbo.goods");
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "2");
    let mut other = connect(&engine);
    well(&mut other, "USE shop");
    well(&mut sa, "USE mart");
    // It stays while somebody is in it, and so do they.
    assert!(run(&mut sa, "DROP DATABASE shop").contains("3702"));
    monitor.turn();
    assert_eq!(told(&mut sa), "");
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "2");
    drop(other);
    well(&mut sa, "DROP DATABASE shop");
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "0");
    monitor.turn();
    assert_eq!(told(&mut sa), "gone change database drop;");
}

#[test]
fn who_watches_a_database_that_is_restored_is_told_of_a_restart() {
    let engine = server();
    let mut sa = shop(&engine);
    let mut monitor = Monitor::new(&engine);
    monitor.turn();
    watch(&mut sa, "kept", "SELECT id FROM dbo.goods");
    well(&mut sa, "BACKUP DATABASE shop TO DISK = 'shop.bak'");
    assert_eq!(told(&mut sa), "");
    watch(&mut sa, "later", "SELECT name FROM dbo.goods");
    well(&mut sa, "USE master; RESTORE DATABASE shop FROM DISK = 'shop.bak' WITH REPLACE; USE shop");
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "0");
    monitor.turn();
    assert_eq!(told(&mut sa), "kept change database restart;");
    // Also where the database is gone meanwhile, and the restored one has its number, without the broker's having seen it.
    well(&mut sa, "USE master; DROP DATABASE shop; RESTORE DATABASE shop FROM DISK = 'shop.bak'; USE shop");
    monitor.turn();
    assert_eq!(told(&mut sa), "kept change database restart;");
}

#[test]
fn subscriptions_outlive_single_user_and_are_told_when_a_database_comes_online() {
    let engine = server();
    let mut sa = shop(&engine);
    let mut monitor = Monitor::new(&engine);
    monitor.turn();
    watch(&mut sa, "alone", "SELECT id, price FROM dbo.goods");
    well(&mut sa, "ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE");
    monitor.turn();
    assert_eq!(told(&mut sa), "");
    well(&mut sa, "UPDATE dbo.goods SET price = 5");
    well(&mut sa, "ALTER DATABASE shop SET MULTI_USER");
    monitor.turn();
    assert_eq!(told(&mut sa), "alone change data update;");
    watch(&mut sa, "away", "SELECT id, price FROM dbo.goods");
    well(&mut sa, "USE master; ALTER DATABASE shop SET OFFLINE");
    monitor.turn();
    well(&mut sa, "ALTER DATABASE shop SET ONLINE; USE shop");
    monitor.turn();
    assert_eq!(told(&mut sa), "away change database restart;");
}

#[test]
fn who_may_not_is_refused_and_a_subscription_can_be_killed() {
    let engine = server();
    let mut sa = shop(&engine);
    well(&mut sa, "CREATE USER clerk WITHOUT LOGIN; GRANT SELECT ON SCHEMA::dbo TO clerk");
    let plain = "SELECT id FROM dbo.goods";
    well(&mut sa, "EXECUTE AS USER = 'clerk'");
    let said = watch(&mut sa, "m", plain);
    assert!(said.contains("9205"), "{said}");
    well(&mut sa, "REVERT; GRANT SUBSCRIBE QUERY NOTIFICATIONS TO clerk; EXECUTE AS USER = 'clerk'");
    let said = watch(&mut sa, "m", plain);
    assert!(!said.contains("Msg"), "{said}");
    well(&mut sa, "REVERT");
    // Who may not send to the service is not told.
    well(&mut sa, "DELETE dbo.goods");
    assert_eq!(told(&mut sa), "");
    assert!(value(&mut sa, "SELECT COUNT(*) FROM sys.transmission_queue") == "1");
    well(&mut sa, "GRANT SEND ON SERVICE::news TO clerk");
    well(&mut sa, "EXEC sys.sp_keel_broker_turn");
    assert_eq!(told(&mut sa), "m change data delete;");
    for (deployment, number) in [
        ("", "9233"),
        ("service=", "9235"),
        ("service=news;local database=nowhere", "9236"),
        ("service=news;queue=told", "9229"),
    ] {
        sa.watch_request(request("m", deployment));
        let said = run(&mut sa, plain);
        sa.watch_request(None);
        assert!(said.contains(number), "{deployment}: {said}");
    }
    watch(&mut sa, "m", plain);
    assert!(run(&mut sa, "KILL QUERY NOTIFICATION SUBSCRIPTION 99").contains("9206"));
    let id = value(&mut sa, "SELECT id FROM sys.dm_qn_subscriptions");
    well(&mut sa, &format!("KILL QUERY NOTIFICATION SUBSCRIPTION {id}"));
    watch(&mut sa, "m", plain);
    well(&mut sa, "KILL QUERY NOTIFICATION SUBSCRIPTION ALL");
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM sys.dm_qn_subscriptions"), "0");
    well(&mut sa, "INSERT dbo.goods (id, price) VALUES (1, 1)");
    assert_eq!(told(&mut sa), "");
}
