//! Scripts of administrators that need a database to themselves, while clients are busy in it: throw them out, then restore or drop.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::ledger::Dir;
use common::{Instance, KEEL, PASSWORD};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};

/// What clients are at when they are thrown out: statement after statement, in a transaction, waiting for somebody's lock, and, from
/// another database, in a transaction that has touched this one.
const CLIENTS: [&str; 6] = [
    "USE shop; WHILE 1 = 1 UPDATE t SET b += 1 WHERE a = 1",
    "USE shop; SET NOCOUNT ON; WHILE 1 = 1 BEGIN BEGIN TRAN; INSERT t (b) VALUES (1); UPDATE t SET b += 1 WHERE a < 3; ROLLBACK END",
    "USE shop; WHILE 1 = 1 SELECT COUNT_BIG(*) FROM t AS x CROSS JOIN t AS y",
    "USE shop; BEGIN TRAN; UPDATE t SET b += 1 WHERE a = 5; WAITFOR DELAY '01:00'",
    "USE shop; WHILE 1 = 1 UPDATE t SET b += 1 WHERE a = 5",
    "USE tempdb; BEGIN TRAN; INSERT shop.dbo.t (b) VALUES (7); WAITFOR DELAY '01:00'",
];

struct Clients(Vec<Child>);

impl Clients {
    /// All of them, and one that has a transaction open and does nothing.
    fn start(node: &Instance) -> Clients {
        let start = |more: &[&str]| {
            let mut command = Command::new(KEEL);
            command.args(["sql", "-S", &node.server(), "-P", PASSWORD, "-C"]).args(more);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut all: Vec<Child> = CLIENTS.iter().map(|batch| start(&["-Q", batch])).collect();
        let mut idle = start(&[]);
        let stdin = idle.stdin.as_mut().unwrap();
        stdin.write_all(b"USE shop; BEGIN TRAN; INSERT t (b) VALUES (9)\nGO\n").unwrap();
        all.push(idle);
        let clients = Clients(all);
        let busy = "SELECT COUNT(DISTINCT l.request_session_id) FROM sys.dm_tran_locks AS l JOIN sys.dm_exec_sessions AS s ON s.session_id = l.request_session_id
                    WHERE s.session_id <> @@SPID AND (s.database_id = DB_ID('shop') OR s.open_transaction_count > 0)";
        node.until(busy, &(CLIENTS.len() + 1).to_string());
        clients
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for client in &mut self.0 {
            let _ = client.kill();
            let _ = client.wait();
        }
    }
}

fn make_shop(node: &Instance) {
    node.run(
        "CREATE DATABASE shop; CREATE TABLE shop.dbo.t (a int IDENTITY PRIMARY KEY, b int NOT NULL DEFAULT 0)",
    );
    node.run("INSERT shop.dbo.t (b) SELECT 0 FROM GENERATE_SERIES(1, 2000)");
    node.run("BACKUP DATABASE shop TO DISK = 'shop.bak' WITH INIT");
}

/// Runs a script that must come to its end, and that says what became of the others.
fn throws_out(node: &Instance, script: &str) {
    let output = node.sql(&["-Q", script]);
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
    let end = "Nonqualified transactions are being rolled back. Estimated rollback completion: 100%.";
    assert!(said.contains(end), "{script}: {said}");
}

#[test]
fn who_is_thrown_out_is_gone_when_alter_database_comes_back() {
    let dir = Dir::new("exclusive");
    let node = Instance::new(&dir.0, 1);
    make_shop(&node);
    const SCRIPTS: [&str; 5] = [
        "ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE; RESTORE DATABASE shop FROM DISK = 'shop.bak' WITH REPLACE",
        "ALTER DATABASE shop SET READ_ONLY WITH ROLLBACK AFTER 1 SECONDS; ALTER DATABASE shop SET READ_WRITE WITH NO_WAIT",
        "ALTER DATABASE shop SET OFFLINE WITH ROLLBACK IMMEDIATE; ALTER DATABASE shop SET ONLINE",
        "USE shop; ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE; UPDATE t SET b = 0; ALTER DATABASE shop SET MULTI_USER",
        "ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE shop",
    ];
    for _ in 0..3 {
        for script in SCRIPTS {
            let clients = Clients::start(&node);
            throws_out(&node, script);
            drop(clients);
        }
        make_shop(&node);
    }
}

/// Nobody gets in between, however hard they try: the database is changed all the same, and they are back afterwards.
#[test]
fn clients_that_come_back_at_once_do_not_keep_a_database_from_its_change() {
    let dir = Dir::new("exclusive-again");
    let node = Instance::new(&dir.0, 1);
    make_shop(&node);
    let stubborn = || {
        let mut command = Command::new("sh");
        let again = format!(
            "while :; do '{KEEL}' sql -S {} -P {PASSWORD} -C -d shop -Q \"UPDATE t SET b += 1 WHERE a = 1; WAITFOR DELAY '00:00:01'\"; done",
            node.server()
        );
        command.args(["-c", &again]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let clients = Clients((0..4).map(|_| stubborn()).collect());
    for _ in 0..3 {
        node.until("SELECT IIF(COUNT(*) > 1, 'back', 'away') FROM sys.dm_exec_sessions WHERE database_id = DB_ID('shop')", "back");
        throws_out(&node, "ALTER DATABASE shop SET READ_ONLY WITH ROLLBACK IMMEDIATE");
        node.until("SELECT IIF(COUNT(*) > 1, 'back', 'away') FROM sys.dm_exec_sessions WHERE database_id = DB_ID('shop')", "back");
        throws_out(&node, "ALTER DATABASE shop SET READ_WRITE WITH ROLLBACK IMMEDIATE");
    }
    drop(clients);
}
