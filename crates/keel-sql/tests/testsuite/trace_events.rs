//! Event notifications of what belongs to no transaction: logins, deadlocks, who waits too long.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, run, server, value, well};
use keel_sql::broker::Monitor;
use keel_sql::events::blocked::Blocked;
use keel_sql::{Engine, Session};
use std::sync::Arc;

/// What has come: the type of each event with one of its elements, in order.
fn told(session: &mut Session, element: &str) -> String {
    let sql = format!(
        "SET NOCOUNT ON; DECLARE @all nvarchar(max) = N'', @h uniqueidentifier, @b xml;
         WHILE 1 = 1 BEGIN
             SET @h = NULL;
             RECEIVE TOP (1) @h = conversation_handle, @b = CAST(message_body AS xml) FROM told;
             IF @h IS NULL BREAK;
             END CONVERSATION @h;
             SET @all += @b.value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(40)') + N' '
                 + ISNULL(@b.value('({element})[1]', 'nvarchar(100)'), N'-') + N';';
         END
         SELECT N'told ' + @all AS told"
    );
    value(session, &sql).strip_prefix("told").unwrap().trim().to_owned()
}

/// A database with a service that is told of an event of the server.
fn watching(events: &str) -> (Arc<Engine>, Session, Monitor) {
    let engine = server();
    let mut sa = connect(&engine);
    well(&mut sa, "CREATE DATABASE watch");
    well(
        &mut sa,
        "USE watch; CREATE QUEUE told;
         CREATE SERVICE watchman ON QUEUE told ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);
         CREATE TABLE t (id int PRIMARY KEY, n int); INSERT t VALUES (1, 0), (2, 0)",
    );
    let sql = format!(
        "CREATE EVENT NOTIFICATION e ON SERVER FOR {events} TO SERVICE 'watchman', 'current database'"
    );
    well(&mut sa, &sql);
    let monitor = Monitor::new(&engine);
    (engine, sa, monitor)
}

#[test]
fn logins_and_logouts_are_told() {
    let (engine, mut sa, mut monitor) = watching("AUDIT_LOGIN, AUDIT_LOGOUT");
    let mut other = connect(&engine);
    other.log_on(false, false).unwrap();
    monitor.turn();
    assert_eq!(told(&mut sa, "/EVENT_INSTANCE/LoginName"), "AUDIT_LOGIN sa;");
    other.log_on(true, false).unwrap();
    drop(other);
    monitor.turn();
    // The broker's own sessions begin and end without a word.
    assert_eq!(told(&mut sa, "/EVENT_INSTANCE/EventSubClass"), "AUDIT_LOGIN 2;AUDIT_LOGOUT -;");
    well(&mut sa, "DROP EVENT NOTIFICATION e ON SERVER");
    connect(&engine).log_on(false, false).unwrap();
    monitor.turn();
    assert_eq!(told(&mut sa, "/EVENT_INSTANCE/LoginName"), "");
}

/// Waits until a session waits for a lock.
fn until_somebody_waits(engine: &Engine) {
    while engine.instance().locks().waiting().is_empty() {
        std::thread::yield_now();
    }
}

#[test]
fn a_deadlock_is_told_with_its_graph() {
    let (engine, mut sa, mut monitor) = watching("DEADLOCK_GRAPH");
    let (mut one, mut two) = (connect(&engine), connect(&engine));
    well(&mut one, "USE watch; BEGIN TRAN; UPDATE t SET n = 1 WHERE id = 1");
    well(&mut two, "USE watch; SET DEADLOCK_PRIORITY LOW; BEGIN TRAN; UPDATE t SET n = 2 WHERE id = 2");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| run(&mut one, "UPDATE t SET n = 1 WHERE id = 2"));
        until_somebody_waits(&engine);
        let second = run(&mut two, "UPDATE t SET n = 2 WHERE id = 1");
        assert!(second.contains("1205"), "{second}");
        assert!(!first.join().unwrap().contains("Msg"));
    });
    monitor.turn();
    let victims = "count(/EVENT_INSTANCE/TextData/deadlock-list/deadlock/victim-list/victimProcess)";
    assert_eq!(told(&mut sa, victims), "DEADLOCK_GRAPH 1;");
}

#[test]
fn who_waits_longer_than_the_threshold_is_told() {
    let (engine, mut sa, mut monitor) = watching("BLOCKED_PROCESS_REPORT");
    well(&mut sa, "EXEC sp_configure 'show advanced options', 1; RECONFIGURE");
    well(&mut sa, "EXEC sp_configure 'blocked process threshold', 5; RECONFIGURE");
    let (mut one, mut two) = (connect(&engine), connect(&engine));
    well(&mut one, "USE watch; BEGIN TRAN; UPDATE t SET n = 1 WHERE id = 1");
    well(&mut two, "USE watch");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| run(&mut two, "UPDATE t SET n = 2 WHERE id = 1"));
        let mut blocked = Blocked::default();
        let told = loop {
            blocked.look(&engine);
            monitor.turn();
            let told = told(&mut sa, "/EVENT_INSTANCE/DatabaseID");
            if !told.is_empty() {
                break told;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        assert_eq!(told, format!("BLOCKED_PROCESS_REPORT {};", value(&mut sa, "SELECT DB_ID() AS id")));
        well(&mut one, "COMMIT");
        assert!(!waits.join().unwrap().contains("Msg"));
    });
}
