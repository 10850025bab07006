//! Linked servers between two real processes: golden scripts (`tests/linked`), and kills between the two phases of a commit.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, KEEL, PASSWORD};
use keel_tds::client::{Client, ClientEncryption, ConnectOptions, trust_any_certificate};
use keel_tds::login::{Login, OptionFlags2};
use keel_tds::token::done::command;
use keel_tds::token::{DoneKind, DoneStatus, Token};
use keel_testkit::golden;
use keel_testkit::runner::{self, Connect, Connection, World};
use keel_testkit::transcript::{Message, Transcript};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Two instances, the first of which knows the second as `there`.
struct Pair {
    dir: PathBuf,
    here: Instance,
    there: Instance,
}

impl Pair {
    fn new(test: &str) -> Pair {
        let dir = std::env::temp_dir().join(format!("keel-linked-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let (here, there) = (Instance::new(&dir, 1), Instance::new(&dir, 2));
        here.run(&format!(
            "EXEC sp_addlinkedserver 'there', '', 'MSOLEDBSQL', '{}';
             EXEC sp_addlinkedsrvlogin 'there', 'false', NULL, 'sa', '{PASSWORD}';
             EXEC sp_serveroption 'there', 'rpc out', 'true';",
            there.server()
        ));
        Pair { dir, here, there }
    }

    /// Databases, tables and logins of the script before are gone.
    fn clean(&self) {
        for node in [&self.here, &self.there] {
            node.run(
                "DECLARE @s nvarchar(max) = N'';
                 SELECT @s += N'ALTER DATABASE ' + QUOTENAME(name) + N' SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE ' + QUOTENAME(name) + N';'
                 FROM sys.databases WHERE database_id > 4;
                 SELECT @s += N'DROP LOGIN ' + QUOTENAME(name) + N';' FROM sys.sql_logins WHERE name <> N'sa';
                 SELECT @s += N'DROP SERVER ROLE ' + QUOTENAME(name) + N';' FROM sys.server_principals WHERE type = 'R' AND is_fixed_role = 0 AND name <> N'public';
                 SELECT @s += N'EXEC sp_dropserver ' + QUOTENAME(name, '''') + N', ''droplogins'';' FROM sys.servers WHERE is_linked = 1 AND name <> N'there';
                 EXEC (@s);",
            );
        }
        self.here.run(
            "EXEC sp_serveroption 'there', 'rpc out', 'true'; EXEC sp_serveroption 'there', 'data access', 'true';
             EXEC sp_configure 'show advanced options', 1; RECONFIGURE; EXEC sp_configure 'Ad Hoc Distributed Queries', 0; RECONFIGURE;",
        );
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.here.kill();
        self.there.kill();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn log_in(ip: &str, port: u16) -> Client<TcpStream> {
    let io = TcpStream::connect((ip, port)).unwrap();
    let login = Login {
        user_name: "sa".into(),
        password: PASSWORD.into(),
        flags2: OptionFlags2::ODBC,
        ..Login::default()
    };
    let tls = Some(trust_any_certificate().unwrap());
    let options = ConnectOptions { login, encryption: ClientEncryption::LoginOnly, tls, host: ip.to_owned() };
    Client::connect(io, &options).unwrap()
}

/// Session `other` is at the other server, all others are here. What the scripts call `{there}` is its address.
impl World for &mut Pair {
    fn connect(&mut self, name: &str) -> Connect {
        let node = if name == "other" { &self.there } else { &self.here };
        let (address, there) = ((node.ip.clone(), node.port), self.there.server());
        Box::new(move || Box::new(Asking { client: log_in(&address.0, address.1), there }))
    }

    fn waiting(&self) -> usize {
        let query = "SELECT COUNT(*) FROM sys.dm_os_waiting_tasks WHERE wait_type LIKE 'LCK%'";
        [&self.here, &self.there].iter().map(|node| node.value(query).parse::<usize>().unwrap_or(0)).sum()
    }

    fn restart(&mut self) {
        self.here.kill();
        self.here.start();
    }
}

struct Asking {
    client: Client<TcpStream>,
    there: String,
}

impl Connection for Asking {
    fn run(&mut self, batch: &str) -> String {
        self.client.batch(&batch.replace("{there}", &self.there)).unwrap();
        let mut transcript = Transcript::default();
        loop {
            let token = match self.client.next_token() {
                Ok(Some(token)) => token,
                Ok(None) => break,
                Err(e) => {
                    transcript.line(&format!("(session ended: {e})"));
                    break;
                }
            };
            match token {
                Token::Columns(columns) => transcript.columns(columns.into_iter().map(|c| c.name)),
                Token::Row(row) => {
                    let columns = self.client.columns();
                    let cells = row.iter().zip(columns).map(|(v, c)| keel_tds::display::format(v, &c.ty));
                    let cells: Vec<String> = cells.collect();
                    transcript.row(cells);
                }
                Token::Done(done) if done.kind != DoneKind::Proc => {
                    // Values given to variables are counted too.
                    let assigned = done.command == command::SELECT && !transcript.in_table();
                    let counted = done.status.contains(DoneStatus::COUNT) && !assigned;
                    transcript.done(counted.then_some(done.rows));
                }
                Token::Message(m) if m.number != 5701 && m.number != 5703 => transcript.message(&Message {
                    number: m.number,
                    severity: m.class,
                    state: m.state,
                    line: m.line,
                    procedure: Some(m.procedure.as_str()).filter(|p| !p.is_empty()),
                    text: &m.text,
                }),
                _ => {}
            }
        }
        transcript.finish().replace(&self.there, "{there}")
    }
}

/// Connections that rested while the other server was started anew are not asked again, whatever is asked.
#[test]
fn a_server_that_was_started_anew_is_asked_over_new_connections() {
    let mut pair = Pair::new("anew");
    pair.there.run("CREATE DATABASE d");
    pair.there.run("CREATE TABLE d.dbo.t (a int NOT NULL PRIMARY KEY)");
    let client = log_in(&pair.here.ip, pair.here.port);
    let mut here = Asking { client, there: pair.there.server() };
    for batch in [
        "INSERT there.d.dbo.t VALUES (1)",
        "INSERT there.d.dbo.t VALUES (2)",
        "EXEC ('INSERT d.dbo.t VALUES (3)') AT there",
        "EXEC there.d.sys.sp_executesql N'INSERT t VALUES (4)'",
        "SELECT COUNT(*) AS n FROM there.d.dbo.t",
        "SELECT * FROM OPENQUERY(there, 'SELECT COUNT(*) AS n FROM d.dbo.t')",
    ] {
        let said = here.run(batch);
        assert!(!said.contains("Msg "), "{batch}: {said}");
        pair.there.kill();
        pair.there.start();
    }
    assert_eq!(pair.there.value("SELECT COUNT(*) FROM d.dbo.t"), "4");
}

#[test]
fn scripts() {
    let mut pair = Pair::new("scripts");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/linked");
    golden::check(&scripts, |script| {
        pair.clean();
        runner::run(script, &mut &mut pair)
    });
}

/// A client that cancels here cancels there: the request is over at the other server, and the session can ask again.
#[test]
fn who_cancels_here_cancels_there() {
    let pair = Pair::new("cancel");
    let texts = [
        "EXEC ('WAITFOR DELAY ''00:10:00''') AT there",
        "SELECT * FROM OPENQUERY(there, 'SELECT a = 1 WAITFOR DELAY ''00:10:00''')",
        // More rows than lie between three processes while the last one reads none.
        "SELECT c FROM there.shop.dbo.big",
    ];
    pair.there.run("CREATE DATABASE shop");
    pair.there.run(
        "CREATE TABLE shop.dbo.big (c char(400)); INSERT shop.dbo.big SELECT value FROM GENERATE_SERIES(1, 150000)",
    );
    let mut session = log_in(&pair.here.ip, pair.here.port);
    let busy = "SELECT COUNT(*) FROM sys.dm_exec_requests r JOIN sys.dm_exec_sessions s ON s.session_id = r.session_id WHERE s.program_name LIKE '%linked%'";
    for text in texts {
        session.batch(text).unwrap();
        pair.there.until(&format!("SELECT IIF(({busy}) > 0, 1, 0)"), "1");
        session.attention().unwrap();
        session.drain_attention().unwrap();
        pair.there.until(busy, "0");
        session.batch("SELECT COUNT(*) FROM OPENQUERY(there, 'SELECT a = 1') q").unwrap();
        let mut rows = 0;
        while let Some(token) = session.next_token().unwrap() {
            rows += i32::from(matches!(token, Token::Row(_)));
        }
        assert_eq!(rows, 1, "{text}");
    }
}

/// A client that inserts numbers here and there, each in one transaction, and says which were acknowledged.
fn writer(node: &Instance, from: i32) -> std::process::Child {
    let text = format!(
        "SET NOCOUNT ON; SET XACT_ABORT ON; DECLARE @n int = {from};
         WHILE 1 = 1 BEGIN
             BEGIN TRAN; INSERT shop.dbo.t VALUES (@n); INSERT there.shop.dbo.t VALUES (@n); COMMIT;
             RAISERROR ('%d', 0, 1, @n) WITH NOWAIT; SET @n += 1;
         END"
    );
    let mut command = Command::new(KEEL);
    command.args(["sql", "-S", &node.server(), "-P", PASSWORD, "-C", "-b", "-Q", &text]);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// One of the two is killed while a client writes to both, again and again: when both are back, both have the same rows, all that were
/// acknowledged are among them, and nothing is locked or in doubt.
#[test]
fn both_servers_have_it_or_none_has_whoever_is_killed() {
    let mut pair = Pair::new("kills");
    for node in [&pair.here, &pair.there] {
        node.run("CREATE DATABASE shop");
        node.run("CREATE TABLE shop.dbo.t (n int PRIMARY KEY)");
    }
    for round in 0..6 {
        let from = round * 100_000;
        let child = writer(&pair.here, from);
        let enough =
            format!("SELECT IIF(MAX(n) > {} + ABS(CHECKSUM(NEWID())) % 40, 1, 0) FROM shop.dbo.t", from + 10);
        pair.there.until(&enough, "1");
        let killed = if round % 3 == 2 { &mut pair.there } else { &mut pair.here };
        killed.kill();
        if round % 3 == 2 {
            // The other one goes on as far as it can: its client is told of an error.
            killed.start();
        }
        let said = String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned();
        let acknowledged = said.lines().filter_map(|line| line.trim().parse::<i32>().ok()).next_back();
        if round % 3 != 2 {
            pair.here.start();
        }
        pair.there
            .until("SELECT COUNT(*) FROM sys.dm_tran_active_transactions WHERE transaction_type = 4", "0");
        let count = format!("SELECT COUNT(*) FROM shop.dbo.t WHERE n >= {from}");
        let both = format!(
            "SELECT COUNT(*) FROM shop.dbo.t s JOIN there.shop.dbo.t b ON b.n = s.n WHERE s.n >= {from}"
        );
        pair.there.until(&count, &pair.here.value(&count));
        assert_eq!(pair.here.value(&both), pair.here.value(&count), "round {round}");
        let last = acknowledged.unwrap();
        let kept = format!("SELECT COUNT(*) FROM shop.dbo.t WHERE n BETWEEN {from} AND {last}");
        for node in [&pair.here, &pair.there] {
            assert_eq!(node.value(&kept), (last - from + 1).to_string(), "round {round}");
            node.run("SET LOCK_TIMEOUT 0; BEGIN TRAN; UPDATE shop.dbo.t SET n = n; ROLLBACK");
        }
    }
}
