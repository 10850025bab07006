//! Service Broker where many send and receive at the same time: exactly once, in order, a group at a time. Procedures that queues start.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open_logging, run, server, well};
use keel_base::env::sim::SimDisk;
use keel_sql::broker::Monitor;
use keel_sql::{Engine, ServerLog, Session};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The one value of a query.
fn value(session: &mut Session, sql: &str) -> String {
    well(session, sql).lines().nth(2).unwrap().trim().to_owned()
}

const MADE: &str = "CREATE DATABASE shop";
const OBJECTS: &str = "USE shop;
    CREATE QUEUE asks; CREATE QUEUE answers;
    CREATE SERVICE asker ON QUEUE asks; CREATE SERVICE answerer ON QUEUE answers ([DEFAULT]);
    CREATE TABLE got (id int IDENTITY PRIMARY KEY, h uniqueidentifier, n bigint, body int, receiver int)";

const SENDERS: usize = 3;
const RECEIVERS: usize = 4;
const CONVERSATIONS: usize = 4;
const MESSAGES: usize = 25;

/// Begins conversations and sends in turn on them, some of it in transactions that are rolled back.
fn send(session: &mut Session) {
    well(session, "USE shop");
    let mut text = String::from("SET NOCOUNT ON; DECLARE @n int = 0;");
    for c in 0..CONVERSATIONS {
        text += &format!(
            "DECLARE @h{c} uniqueidentifier; BEGIN DIALOG @h{c} FROM SERVICE asker TO SERVICE 'answerer';"
        );
    }
    text += &format!("WHILE @n < {MESSAGES} BEGIN SET @n += 1;");
    for c in 0..CONVERSATIONS {
        text += &format!(
            "BEGIN TRAN; SEND ON CONVERSATION @h{c} (CONVERT(varbinary(4), @n)); \
             IF (@n + {c}) % 5 = 0 BEGIN ROLLBACK; SEND ON CONVERSATION @h{c} (CONVERT(varbinary(4), @n)); END ELSE COMMIT;"
        );
    }
    well(session, &(text + " END"));
}

/// Receives until a message says that it is over; every third time it takes nothing.
fn receive(session: &mut Session, receiver: usize, over: &AtomicBool) {
    well(session, "USE shop");
    let mut turn = 0;
    while !over.load(Ordering::SeqCst) {
        turn += 1;
        let end = if turn % 3 == 0 { "ROLLBACK" } else { "COMMIT" };
        well(
            session,
            &format!(
                "SET NOCOUNT ON; DECLARE @m TABLE (h uniqueidentifier, n bigint, body varbinary(4)); BEGIN TRAN;
                 WAITFOR (RECEIVE TOP (3) conversation_handle, message_sequence_number, message_body FROM answers INTO @m), TIMEOUT 20;
                 INSERT got SELECT h, n, CONVERT(int, body), {receiver} FROM @m ORDER BY n; {end}"
            ),
        );
    }
}

#[test]
fn messages_come_once_and_in_order_whoever_receives() {
    let engine = server();
    let mut sa = connect(&engine);
    well(&mut sa, MADE);
    well(&mut sa, OBJECTS);
    // Receivers that roll back must not switch it off.
    well(&mut sa, "ALTER QUEUE answers WITH POISON_MESSAGE_HANDLING (STATUS = OFF)");
    let over = Arc::new(AtomicBool::new(false));
    let receivers: Vec<_> = (0..RECEIVERS)
        .map(|receiver| {
            let (engine, over) = (Arc::clone(&engine), Arc::clone(&over));
            std::thread::spawn(move || receive(&mut connect(&engine), receiver, &over))
        })
        .collect();
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| {
            let engine = Arc::clone(&engine);
            std::thread::spawn(move || send(&mut connect(&engine)))
        })
        .collect();
    senders.into_iter().for_each(|s| s.join().unwrap());
    let all = (SENDERS * CONVERSATIONS * MESSAGES).to_string();
    while value(&mut sa, "SELECT COUNT(*) FROM got") != all {
        assert!(receivers.iter().all(|r| !r.is_finished()), "a receiver has failed");
        std::thread::yield_now();
    }
    over.store(true, Ordering::SeqCst);
    receivers.into_iter().for_each(|r| r.join().unwrap());
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM got"), all);
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM answers"), "0");
    let conversations = (SENDERS * CONVERSATIONS).to_string();
    assert_eq!(value(&mut sa, "SELECT COUNT(DISTINCT h) FROM got"), conversations);
    // In each conversation the bodies come in the order in which they were sent, as do the numbers.
    let wrong = "WITH o AS (SELECT body, n, ROW_NUMBER() OVER (PARTITION BY h ORDER BY id) AS r FROM got)
                 SELECT COUNT(*) FROM o WHERE body <> r OR n <> r - 1";
    assert_eq!(value(&mut sa, wrong), "0");
}

#[test]
fn who_waits_for_a_message_is_shown_waiting() {
    let engine = server();
    let mut sa = connect(&engine);
    well(&mut sa, MADE);
    well(&mut sa, OBJECTS);
    let waiter = {
        let engine = Arc::clone(&engine);
        let wait = "USE shop; DECLARE @t sysname; WAITFOR (RECEIVE @t = message_type_name FROM answers), TIMEOUT 60000";
        std::thread::spawn(move || well(&mut connect(&engine), wait))
    };
    let shown = "SELECT COUNT(*) FROM sys.dm_exec_requests r JOIN sys.dm_os_waiting_tasks w ON w.session_id = r.session_id AND w.wait_type = r.wait_type
        WHERE r.command = 'WAITFOR' AND r.status = 'suspended' AND r.wait_type = 'BROKER_RECEIVE_WAITFOR'";
    // It is one of those who wait a moment before it is shown.
    while value(&mut sa, shown) != "1" {
        assert!(!waiter.is_finished(), "it does not wait");
        std::thread::yield_now();
    }
    well(
        &mut sa,
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE asker TO SERVICE 'answerer'; SEND ON CONVERSATION @h ('x')",
    );
    waiter.join().unwrap();
    assert_eq!(value(&mut sa, shown), "0");
    let noted = "SELECT COUNT(*) FROM sys.dm_os_wait_stats WHERE wait_type = 'BROKER_RECEIVE_WAITFOR' AND waiting_tasks_count > 0";
    assert_eq!(value(&mut sa, noted), "1");
}

/// The broker's thread, as the server has it.
struct Courier(Arc<AtomicBool>, JoinHandle<()>, Arc<Engine>);

impl Courier {
    fn start(engine: &Arc<Engine>) -> Courier {
        let stop = Arc::new(AtomicBool::new(false));
        let (its, stopping) = (Arc::clone(engine), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut monitor = Monitor::new(&its);
            while !stopping.load(Ordering::SeqCst) {
                let rest = Duration::from_secs(1);
                its.broker.bell.wait(monitor.rest().map_or(rest, |r| r.min(rest)));
                let (started, failed) = monitor.turn();
                assert!(failed.is_empty(), "{failed:?}");
                started.into_iter().for_each(|run| drop(std::thread::spawn(move || run.execute())));
            }
        });
        Courier(stop, thread, Arc::clone(engine))
    }

    fn stop(self) {
        self.0.store(true, Ordering::SeqCst);
        self.2.broker.bell.ring();
        self.1.join().unwrap();
        while self.2.broker.running() > 0 {
            self.2.broker.stop();
            std::thread::yield_now();
        }
    }
}

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl ServerLog for Log {
    fn write(&self, text: &str) {
        self.0.lock().push(text.to_owned());
    }
}

/// Answers everything that is asked, and ends what is ended.
const ANSWERS: &str = "CREATE PROCEDURE dbo.answer AS
    BEGIN
        SET NOCOUNT ON;
        DECLARE @h uniqueidentifier, @t sysname, @b varbinary(max);
        WHILE 1 = 1
        BEGIN
            SET @h = NULL;
            WAITFOR (RECEIVE TOP (1) @h = conversation_handle, @t = message_type_name, @b = message_body FROM dbo.answers), TIMEOUT 50;
            IF @h IS NULL RETURN;
            IF @t = 'DEFAULT'
            BEGIN
                INSERT dbo.got (h, body, receiver) VALUES (@h, CONVERT(int, @b), USER_ID());
                SEND ON CONVERSATION @h (CONVERT(varbinary(4), CONVERT(int, @b) * 2));
            END
            ELSE END CONVERSATION @h;
        END
    END";

#[test]
fn a_queue_starts_its_procedure_when_messages_come() {
    let log = Arc::new(Log::default());
    let engine = open_logging(&SimDisk::new(), Arc::clone(&log) as _);
    let courier = Courier::start(&engine);
    let mut sa = connect(&engine);
    well(&mut sa, MADE);
    well(&mut sa, OBJECTS);
    well(&mut sa, ANSWERS);
    well(&mut sa, "CREATE USER worker WITHOUT LOGIN; GRANT EXECUTE ON dbo.answer TO worker");
    well(
        &mut sa,
        "ALTER QUEUE answers WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.answer, MAX_QUEUE_READERS = 2, EXECUTE AS 'worker')",
    );
    let ask = "SET NOCOUNT ON; DECLARE @h uniqueidentifier, @b int; BEGIN DIALOG @h FROM SERVICE asker TO SERVICE 'answerer';
        SEND ON CONVERSATION @h (CONVERT(varbinary(4), 21));
        WAITFOR (RECEIVE @b = CONVERT(int, message_body) FROM asks WHERE conversation_handle = @h), TIMEOUT 60000;
        END CONVERSATION @h; SELECT @b";
    assert_eq!(value(&mut sa, ask), "42");
    // Again once it has gone home.
    while engine.broker.running() > 0 {
        std::thread::yield_now();
    }
    assert_eq!(value(&mut sa, ask), "42");
    assert_eq!(value(&mut sa, "SELECT COUNT(*) FROM got WHERE receiver = USER_ID('worker')"), "2");
    let ends = "SET NOCOUNT ON; WHILE EXISTS (SELECT 1 FROM sys.conversation_endpoints) WAITFOR DELAY '00:00:00.005'; SELECT COUNT(*) FROM answers";
    assert_eq!(value(&mut sa, ends), "0");
    let shown = "SELECT COUNT(*) FROM sys.dm_broker_queue_monitors WHERE queue_id = OBJECT_ID('answers') AND last_activated_time IS NOT NULL";
    assert_eq!(value(&mut sa, shown), "1");
    courier.stop();
    assert_eq!(*log.0.lock(), Vec::<String>::new());
}

#[test]
fn what_an_activated_procedure_says_is_in_the_error_log_and_nothing_spins() {
    let log = Arc::new(Log::default());
    let engine = open_logging(&SimDisk::new(), Arc::clone(&log) as _);
    let courier = Courier::start(&engine);
    let mut sa = connect(&engine);
    well(&mut sa, MADE);
    well(&mut sa, OBJECTS);
    well(&mut sa, "CREATE PROCEDURE dbo.fails AS RAISERROR('no use', 16, 1)");
    well(
        &mut sa,
        "ALTER QUEUE answers WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.fails, MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)",
    );
    well(
        &mut sa,
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE asker TO SERVICE 'answerer'; SEND ON CONVERSATION @h ('x')",
    );
    while log.0.lock().is_empty() {
        std::thread::yield_now();
    }
    while engine.broker.running() > 0 {
        std::thread::yield_now();
    }
    // It has not looked into the queue: it is not started again at once.
    for _ in 0..20 {
        engine.broker.bell.ring();
        run(&mut sa, "SELECT 1");
    }
    courier.stop();
    let said = "The activated proc '[shop].[dbo].[fails]' running on queue 'shop.dbo.answers' output the following:  'no use'";
    assert_eq!(*log.0.lock(), [said]);
}

#[test]
fn a_timer_sends_without_anybody() {
    let engine = server();
    let courier = Courier::start(&engine);
    let mut sa = connect(&engine);
    well(&mut sa, MADE);
    well(&mut sa, OBJECTS);
    let waits = "SET NOCOUNT ON; DECLARE @h uniqueidentifier, @t sysname; BEGIN DIALOG @h FROM SERVICE asker TO SERVICE 'answerer';
        BEGIN CONVERSATION TIMER (@h) TIMEOUT = 1;
        WAITFOR (RECEIVE @t = message_type_name FROM asks), TIMEOUT 60000; SELECT @t";
    assert_eq!(value(&mut sa, waits), "http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer");
    // What waits for a service is delivered when it is there.
    let waits = "SET NOCOUNT ON; DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE asker TO SERVICE 'late'; SEND ON CONVERSATION @h ('x')";
    well(&mut sa, waits);
    well(&mut sa, "CREATE SERVICE late ON QUEUE answers ([DEFAULT])");
    let came = "SET NOCOUNT ON; DECLARE @s sysname; WAITFOR (RECEIVE @s = service_name FROM answers), TIMEOUT 60000; SELECT @s";
    assert_eq!(value(&mut sa, came), "late");
    courier.stop();
}

#[test]
fn it_rests_when_what_it_waited_for_is_gone() {
    let engine = server();
    let mut sa = connect(&engine);
    well(&mut sa, MADE);
    well(&mut sa, OBJECTS);
    let waits = "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE asker TO SERVICE 'late'; SEND ON CONVERSATION @h ('x')";
    well(&mut sa, waits);
    let mut monitor = Monitor::new(&engine);
    assert!(monitor.turn().1.is_empty());
    assert!(monitor.rest().is_some());
    well(&mut sa, "USE master; DROP DATABASE shop");
    assert!(monitor.turn().1.is_empty());
    assert_eq!(monitor.rest(), None);
}
