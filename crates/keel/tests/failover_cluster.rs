//! Failover cluster instances: processes with one data directory, of which one serves.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{KEEL, LONG, PASSWORD, free_port};
use keel_bench::tds::{Address, TdsConnection};
use keel_workload::{Cell, Connection};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// One of the machines.
struct Machine {
    name: String,
    /// Where the instance is reached when it is here.
    address: Address,
    arguments: Vec<String>,
    child: Child,
    said: Receiver<String>,
}

impl Machine {
    fn start(dir: &Path, number: u8, more: &str) -> Machine {
        let (name, ip, port) = (format!("NODE{number}"), format!("127.0.0.{number}"), free_port());
        let config = dir.join(format!("{name}.toml"));
        let reach = format!("[failover_cluster]\nenabled = true\nnode = \"{name}\"\n{more}\n");
        std::fs::write(&config, reach).unwrap();
        let mut arguments: Vec<String> =
            ["serve", "--quiet", "--server-name", "SHOP", "--max-server-memory", "192"]
                .map(str::to_owned)
                .to_vec();
        arguments.extend(["--listen".to_owned(), format!("{ip}:{port}"), "--data".to_owned()]);
        arguments.push(dir.join("shared").display().to_string());
        arguments.extend(["--config".to_owned(), config.display().to_string()]);
        let address = Address {
            address: format!("{ip}:{port}"),
            user: "sa".into(),
            password: PASSWORD.into(),
            database: "master".into(),
            encrypt: false,
            read_only: false,
        };
        let (child, said) = run(&arguments);
        Machine { name, address, arguments, child, said }
    }

    fn restart(&mut self) {
        (self.child, self.said) = run(&self.arguments);
    }

    /// Waits until it says a line that begins so.
    fn says(&self, beginning: &str) {
        loop {
            let line =
                self.said.recv_timeout(LONG).unwrap_or_else(|e| panic!("{} {e}: {beginning}", self.name));
            if line.starts_with(&format!("keel: {beginning}")) {
                return;
            }
        }
    }

    fn serves(&self) {
        self.says("ready for connections on ");
    }

    fn session(&self) -> TdsConnection {
        self.address.session("master").unwrap()
    }

    fn value(&self, query: &str) -> Cell {
        self.session().query(query).unwrap().swap_remove(0).swap_remove(0)
    }

    fn refusal(&self, statement: &str) -> String {
        format!("{:?}", self.session().execute(statement).unwrap_err())
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(arguments: &[String]) -> (Child, Receiver<String>) {
    let mut command = Command::new(KEEL);
    command.args(arguments).env("MSSQL_SA_PASSWORD", PASSWORD).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (lines, said) = channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| lines.send(line)));
    (child, said)
}

struct Dir(PathBuf);

impl Dir {
    fn new(test: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("keel-fci-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("shared")).unwrap();
        Dir(dir)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.0.join("shared/log/errorlog")).unwrap()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Inserts numbers wherever the instance is, until told to stop; returns those that were acknowledged.
fn write(addresses: &[Address], stop: &AtomicBool, done: &AtomicUsize) -> Vec<i64> {
    let (mut acknowledged, mut next) = (Vec::new(), 0);
    while !stop.load(Ordering::Acquire) {
        for address in addresses {
            let Ok(mut session) = address.session_within("shop", Duration::from_secs(5)) else { continue };
            while !stop.load(Ordering::Acquire) {
                next += 1;
                if session.execute(&format!("INSERT t VALUES ({next})")).is_err() {
                    break;
                }
                acknowledged.push(next);
                done.store(acknowledged.len(), Ordering::Release);
            }
        }
    }
    acknowledged
}

#[test]
fn the_instance_goes_from_machine_to_machine_and_loses_nothing() {
    let dir = Dir::new("moves");
    let mut one = Machine::start(&dir.0, 1, "");
    one.serves();
    let two = Machine::start(&dir.0, 2, "");
    two.says("waiting: NODE1 has the instance");
    // Whoever is started beside the others is no possible owner by that.
    assert!(one.refusal("EXEC sp_keel_move_instance").contains("no other possible owner is up"));
    assert!(one.refusal("EXEC sp_keel_move_instance 'NODE9'").contains("there is no machine NODE9"));
    assert!(one.refusal("EXEC sp_keel_possible_owners 'NODE2'").contains("NODE1 has the instance"));
    one.session().execute("EXEC sp_keel_possible_owners N'NODE1, node2'; CREATE DATABASE shop").unwrap();
    one.address.session("shop").unwrap().execute("CREATE TABLE t (n int PRIMARY KEY)").unwrap();
    let here = "SELECT NodeName FROM sys.dm_os_cluster_nodes WHERE is_current_owner = 1 AND status_description = 'up'";
    assert_eq!(one.value(here), Cell::Text("NODE1".into()));
    assert_eq!(one.value("SELECT CAST(SERVERPROPERTY('IsClustered') AS int)"), Cell::Int(1));

    let (addresses, stop) = ([one.address.clone(), two.address.clone()], Arc::new(AtomicBool::new(false)));
    let done = Arc::new(AtomicUsize::new(0));
    let (stopping, counted) = (Arc::clone(&stop), Arc::clone(&done));
    let writer = std::thread::spawn(move || write(&addresses, &stopping, &counted));
    let goes_on = || {
        let before = done.load(Ordering::Acquire);
        while done.load(Ordering::Acquire) < before + 20 {
            std::thread::yield_now();
        }
    };
    goes_on();
    one.kill();
    two.serves();
    one.restart();
    one.says("waiting: NODE2 has the instance");
    let both_up = "SELECT COUNT(*) FROM sys.dm_os_cluster_nodes WHERE status = 0";
    while two.value(both_up) != Cell::Int(2) {}
    goes_on();
    // The session ends with the instance, before or after it is told that it will.
    let _ = two.session().execute("EXEC sp_keel_move_instance");
    one.serves();
    two.says("waiting: NODE1 has the instance");
    assert_eq!(
        one.value("SELECT CAST(SERVERPROPERTY('ComputerNamePhysicalNetBIOS') AS varchar(9))"),
        Cell::Text("NODE1".into())
    );
    goes_on();
    one.kill();
    two.serves();
    goes_on();
    stop.store(true, Ordering::Release);
    let acknowledged = writer.join().unwrap();
    let mut there = two.address.session("shop").unwrap();
    let rows = there.query("SELECT n FROM t").unwrap();
    let found: std::collections::BTreeSet<String> = rows.iter().map(|row| format!("{:?}", row[0])).collect();
    let lost: Vec<&i64> =
        acknowledged.iter().filter(|n| !found.contains(&format!("{:?}", Cell::Int(**n)))).collect();
    assert!(lost.is_empty(), "{lost:?} of {} are lost", acknowledged.len());
    assert!(dir.log().contains("NODE2 has taken the instance over from NODE1: its lock was free for"));
}

#[test]
fn who_is_cut_off_gives_the_instance_up() {
    let dir = Dir::new("reach");
    let near = |listener: &TcpListener| {
        format!("reach = [\"{}\"]\nmember_timeout_ms = 600", listener.local_addr().unwrap())
    };
    let (its, others) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let one = Machine::start(&dir.0, 1, &near(&its));
    one.serves();
    let two = Machine::start(&dir.0, 2, &near(&others));
    two.says("waiting: NODE1 has the instance");
    one.session().execute("EXEC sp_keel_possible_owners N'NODE1, NODE2'; CREATE DATABASE shop").unwrap();
    drop(its);
    two.serves();
    one.says("waiting: NODE2 has the instance");
    assert_eq!(two.value("SELECT name FROM sys.databases WHERE name = 'shop'"), Cell::Text("shop".into()));
    let logs: Vec<String> = std::fs::read_dir(dir.0.join("shared/log"))
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
        .collect();
    let why = "NODE1 has reached none of 127.0.0.1:";
    assert!(logs.iter().any(|log| log.contains(why) && log.contains("and gives the instance up.")));
    // It takes none either, though nobody else is there.
    drop(two);
    one.says("waiting: none of 127.0.0.1:");
}
