//! Transactions over two databases of a group, and branches of a transaction manager, over real processes that are killed.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, KEEL, PASSWORD, cluster, comes, keel};
use keel_tds::client::{Client, ClientEncryption, ConnectOptions, trust_any_certificate};
use keel_tds::login::Login;
use keel_tds::request::TransactionRequest;
use keel_tds::token::Token;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

struct Group {
    dir: PathBuf,
    nodes: Vec<Instance>,
}

impl Group {
    /// Three instances with a group of two databases, which has DTC_SUPPORT = PER_DB.
    fn new(test: &str) -> Group {
        let (dir, nodes) = cluster(&format!("distributed-{test}"), 3);
        let (first, others) = nodes.split_first().unwrap();
        for database in ["shop", "bank"] {
            first.run(&format!("CREATE DATABASE {database}"));
            first.run(&format!("CREATE TABLE {database}.dbo.t (n int PRIMARY KEY)"));
        }
        let members: Vec<String> = others.iter().map(Instance::server).collect();
        let mut arguments = vec!["group", "create", "sales", "--database", "shop", "--database", "bank"];
        members.iter().for_each(|member| arguments.extend(["--member", member]));
        keel(&arguments, first);
        first.run("ALTER AVAILABILITY GROUP sales SET (DTC_SUPPORT = PER_DB)");
        assert_eq!(first.value("SELECT dtc_support FROM sys.availability_groups"), "1");
        Group { dir, nodes }
    }

    /// The node that is primary, once one is and both databases answer.
    fn primary(&self) -> usize {
        let query =
            "SELECT COUNT(*) FROM sys.dm_hadr_availability_replica_states WHERE is_local = 1 AND role = 1";
        let counts = "SELECT (SELECT COUNT(*) FROM shop.dbo.t) * 0 + (SELECT COUNT(*) FROM bank.dbo.t) * 0";
        let leads = |node: &Instance| node.value(query) == "1" && node.value(counts) == "0";
        comes(|| self.nodes.iter().position(leads)).unwrap_or_else(|| {
            panic!("no primary: {}", self.nodes.iter().map(Instance::log).collect::<String>())
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.nodes.clear();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A client that writes numbers into both databases, each in one transaction, and says which were acknowledged.
fn writer(node: &Instance, from: i32) -> Child {
    let text = format!(
        "SET NOCOUNT ON; DECLARE @n int = {from};
         WHILE 1 = 1 BEGIN
             BEGIN TRAN; INSERT shop.dbo.t VALUES (@n); INSERT bank.dbo.t VALUES (@n); COMMIT;
             RAISERROR ('%d', 0, 1, @n) WITH NOWAIT; SET @n += 1;
         END"
    );
    let mut command = Command::new(KEEL);
    command.args(["sql", "-S", &node.server(), "-P", PASSWORD, "-C", "-b", "-Q", &text]);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// The primary is killed while a client writes to both databases, again and again: both have the same rows, and all that were acknowledged.
#[test]
fn both_databases_of_a_group_have_it_or_none_has_whoever_is_killed() {
    let mut group = Group::new("pair");
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let at = group.primary();
        let child = writer(&group.nodes[at], round * 100_000);
        let enough = format!(
            "SELECT IIF(MAX(n) > {} + ABS(CHECKSUM(NEWID())) % 40, 1, 0) FROM shop.dbo.t",
            round * 100_000 + 30
        );
        group.nodes[at].until(&enough, "1");
        group.nodes[at].kill();
        let said = String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned();
        let numbers = said.lines().filter_map(|line| line.trim().parse::<i32>().ok());
        acknowledged.extend(numbers);
        let now = group.primary();
        let node = &group.nodes[now];
        // What was in doubt decides itself: the database that was written to first leads here, too.
        node.until("SELECT COUNT(*) FROM sys.dm_tran_active_transactions WHERE transaction_type = 4", "0");
        let differ = "SELECT COUNT(*) FROM shop.dbo.t s FULL JOIN bank.dbo.t b ON s.n = b.n WHERE s.n IS NULL OR b.n IS NULL";
        assert_eq!(node.value(differ), "0", "round {round}");
        let last = acknowledged.last().unwrap();
        let count = format!("SELECT COUNT(*) FROM shop.dbo.t WHERE n = {last}");
        assert_eq!(node.value(&count), "1", "round {round}");
        let count = format!("SELECT COUNT(*) FROM shop.dbo.t WHERE n BETWEEN {} AND {last}", round * 100_000);
        assert_eq!(node.value(&count), (last - round * 100_000 + 1).to_string(), "round {round}");
        // Nothing is locked.
        node.run("SET LOCK_TIMEOUT 0; BEGIN TRAN; UPDATE shop.dbo.t SET n = n; UPDATE bank.dbo.t SET n = n; ROLLBACK");
        group.nodes[at].start();
        group.nodes[now].until(
            "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2",
            "6",
        );
    }
}

/// A connection that takes up branches, as the JDBC driver's do.
struct Worker(Client<TcpStream>);

impl Worker {
    fn new(node: &Instance) -> Worker {
        let login = Login { user_name: "sa".into(), password: PASSWORD.into(), ..Login::default() };
        let tls = Some(trust_any_certificate().unwrap());
        let options =
            ConnectOptions { login, encryption: ClientEncryption::LoginOnly, tls, host: node.ip.clone() };
        Worker(Client::connect(TcpStream::connect((node.ip.as_str(), node.port)).unwrap(), &options).unwrap())
    }

    fn finish(&mut self) {
        while let Some(token) = self.0.next_token().unwrap() {
            if let Token::Message(message) = token {
                assert!(message.class <= 10, "{}", message.text);
            }
        }
    }

    fn enlist(&mut self, cookie: Vec<u8>) {
        self.0.transaction(&TransactionRequest::Propagate(cookie)).unwrap();
        self.finish();
    }

    fn run(&mut self, batch: &str) {
        self.0.batch(batch).unwrap();
        self.finish();
    }
}

/// A verb on branch 0x01 of a manager, with the text of its status, and of its output where it has one.
fn verb(node: &Instance, call: &str) -> String {
    node.value(&format!(
        "DECLARE @s int, @t varchar(8000), @o varbinary(8000);
         EXEC master..xp_sqljdbc_xa_{call}; SELECT CONCAT(@s, ' ', CONVERT(varchar(max), @o, 2))"
    ))
}

const START: &str = "start @s OUTPUT, @t OUTPUT, 0x01, 0xBB, 0, @o OUTPUT, 0, 7";
const END: &str = "end @s OUTPUT, @t OUTPUT, 0x01, 0xBB, 0x4000000, 7, NULL";
const PREPARE: &str = "prepare @s OUTPUT, @t OUTPUT, 0x01, 0xBB, 7";
const COMMIT: &str = "commit @s OUTPUT, @t OUTPUT, 0x01, 0xBB, 0, 7";
const RECOVER: &str = "recover @s OUTPUT, @t OUTPUT, 0x1000000, @o OUTPUT";

/// A branch that is prepared in both databases when the primary is killed: the next primary has it in doubt, and so has the one after
/// that; who commits it there commits it everywhere, once.
#[test]
fn a_prepared_branch_is_in_doubt_on_every_next_primary_until_it_is_committed() {
    let mut group = Group::new("branch");
    let at = group.primary();
    let started = verb(&group.nodes[at], START);
    let (status, cookie) = started.split_once(' ').unwrap();
    assert_eq!(status, "0", "{started}");
    let bytes = (0..cookie.len() / 2).map(|i| u8::from_str_radix(&cookie[2 * i..2 * i + 2], 16).unwrap());
    let mut worker = Worker::new(&group.nodes[at]);
    worker.enlist(bytes.collect());
    worker.run("INSERT shop.dbo.t VALUES (1); INSERT bank.dbo.t VALUES (1)");
    worker.enlist(Vec::new());
    assert_eq!((verb(&group.nodes[at], END), verb(&group.nodes[at], PREPARE)), ("0".into(), "0".into()));
    group.nodes[at].kill();
    let now = group.primary();
    assert_eq!(verb(&group.nodes[now], RECOVER), "0 07000000010101BB");
    group.nodes[at].start();
    let synchronized =
        "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2";
    group.nodes[now].until(synchronized, "6");
    // A copy knows of it, and cannot be told.
    let other = (0..3).find(|n| *n != now).unwrap();
    assert_eq!(verb(&group.nodes[other], COMMIT), "-7");
    let locked = group.nodes[now].sql(&["-Q", "SET LOCK_TIMEOUT 0; UPDATE shop.dbo.t SET n = n WHERE n = 1"]);
    assert!(String::from_utf8_lossy(&locked.stdout).contains("Msg 1222"), "{locked:?}");
    group.nodes[other].run("ALTER AVAILABILITY GROUP sales FAILOVER");
    let last = group.primary();
    assert_eq!(last, other);
    assert_eq!(verb(&group.nodes[last], COMMIT), "0");
    assert_eq!(verb(&group.nodes[last], COMMIT), "-4");
    assert_eq!(verb(&group.nodes[last], RECOVER), "0");
    let both = "SELECT (SELECT COUNT(*) FROM shop.dbo.t) + (SELECT COUNT(*) FROM bank.dbo.t)";
    assert_eq!(group.nodes[last].value(both), "2");
    assert_eq!(verb(&group.nodes[at], COMMIT), "-4");
}
