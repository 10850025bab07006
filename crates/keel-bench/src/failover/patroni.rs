//! PostgreSQL, Patroni and etcd, as Debian packages them (`postgresql-15`, `patroni`, `etcd-server`): an etcd member, a Patroni
//! and a PostgreSQL on each machine, and a synchronous standby that is waited for (`synchronous_mode`), as a group's
//! secondaries are.

use super::system::System;
use super::{ANSWER, LOOK_EVERY, REPLICAS, WHOLE, within};
use crate::machines::{Machine, Machines};
use crate::patient::Patient;
use crate::pg::{PgConnection, programs};
use crate::target::Server;
use crate::tpcc;
use crate::writers::Door;
use anyhow::{Context, Result, bail, ensure};
use keel_workload::{Cell, Connection};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const PASSWORD: &str = "Bench-mark-2026";
const SCOPE: &str = "bench";
const PORT: u16 = 5432;
const REST: u16 = 8008;
const ETCD: u16 = 2379;
const ETCD_PEERS: u16 = 2380;

/// See the module.
pub(super) struct Patroni {
    nodes: Vec<Node>,
    /// PostgreSQL's.
    programs: PathBuf,
    fast: bool,
}

/// One machine, and what runs on it.
struct Node {
    machine: Machine,
    name: String,
    etcd: Option<Child>,
    patroni: Option<Child>,
}

/// Patroni's defaults, or the least it accepts: `loop_wait` + 2 * `retry_timeout` must not be more than `ttl`.
fn times(fast: bool) -> Value {
    if fast {
        json!({ "ttl": 20, "loop_wait": 1, "retry_timeout": 3, "primary_start_timeout": 0, "master_start_timeout": 0 })
    } else {
        json!({ "ttl": 30, "loop_wait": 10, "retry_timeout": 10 })
    }
}

impl Patroni {
    /// Starts all of it, makes the ledger and the load's tables.
    pub(super) fn start(
        dir: &Path,
        machines: &Machines,
        fast: bool,
        load: Option<tpcc::Settings>,
    ) -> Result<Patroni> {
        for (program, package) in [("patroni", "patroni"), ("etcd", "etcd-server")] {
            let found = crate::command(&["sh", "-c", &format!("command -v {program}")]);
            ensure!(found.is_ok(), "{program} is missing (Debian: apt-get install {package})");
        }
        // The user that the servers run as comes through.
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755))?;
        let node = |(n, machine): (usize, &Machine)| Node {
            machine: machine.clone(),
            name: format!("node{}", n + 1),
            etcd: None,
            patroni: None,
        };
        let nodes = machines.all.iter().enumerate().map(node).collect();
        let mut system = Patroni { nodes, programs: programs()?, fast };
        for node in 0..REPLICAS {
            system.prepare(node)?;
            system.start_etcd(node)?;
        }
        for node in 0..REPLICAS {
            system.start_again(node)?;
        }
        ensure!(
            within(WHOLE, || system.is_whole()),
            "Patroni's cluster does not come up: {}",
            system.complaints()
        );
        let sql = "CREATE TABLE ledger (campaign int, writer int, n int, PRIMARY KEY (campaign, writer, n))";
        system.connect()?.execute(sql)?;
        if let Some(load) = load {
            tpcc::build(&system, load, 2)?;
        }
        Ok(system)
    }

    fn prepare(&self, node: usize) -> Result<()> {
        let data = &self.nodes[node].machine.data;
        std::fs::set_permissions(data, std::fs::Permissions::from_mode(0o700))?;
        std::fs::write(self.config_of(node), serde_json::to_vec_pretty(&self.config(node))?)?;
        crate::command(&["chown", "-R", "postgres:postgres", &data.display().to_string()]).map(|_| ())
    }

    fn config_of(&self, node: usize) -> PathBuf {
        self.nodes[node].machine.data.join("patroni.json")
    }

    fn config(&self, node: usize) -> Value {
        let Node { machine, name, .. } = &self.nodes[node];
        let (host, data) = (&machine.host, machine.data.display());
        let etcd: Vec<String> = self.nodes.iter().map(|n| format!("{}:{ETCD}", n.machine.host)).collect();
        let mut shared = times(self.fast);
        shared["synchronous_mode"] = json!(true);
        // A server whose log parted from the primary's comes back by itself, by pg_rewind or, where that fails, by a new copy.
        shared["postgresql"] = json!({
            "use_pg_rewind": true,
            "remove_data_directory_on_rewind_failure": true,
            "remove_data_directory_on_diverged_timelines": true,
            "parameters": { "synchronous_commit": "on", "max_connections": 50, "wal_log_hints": "on" },
        });
        let login = |user: &str| json!({ "username": user, "password": PASSWORD });
        json!({
            "scope": SCOPE,
            "name": name,
            "restapi": { "listen": format!("{host}:{REST}"), "connect_address": format!("{host}:{REST}") },
            "etcd3": { "hosts": etcd },
            "bootstrap": {
                "dcs": shared,
                "initdb": [{ "encoding": "UTF8" }, "data-checksums"],
                "pg_hba": [
                    "local all all trust",
                    "host all all 0.0.0.0/0 scram-sha-256",
                    "host replication all 0.0.0.0/0 scram-sha-256",
                ],
            },
            "postgresql": {
                "listen": format!("{host}:{PORT}"),
                "connect_address": format!("{host}:{PORT}"),
                "data_dir": format!("{data}/pg"),
                "bin_dir": self.programs.display().to_string(),
                "pgpass": format!("{data}/pgpass"),
                "parameters": { "unix_socket_directories": data.to_string() },
                "authentication": {
                    "superuser": login("postgres"),
                    "replication": login("replicator"),
                    "rewind": login("rewinder"),
                },
            },
        })
    }

    /// Starts a program on a machine, as the user that PostgreSQL runs as.
    fn spawn(&self, node: usize, words: &[String]) -> Result<Child> {
        let machine = &self.nodes[node].machine;
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(machine.data.join(format!("{}.log", words[0])))?;
        let user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"].map(str::to_owned);
        let all: Vec<&String> = machine.before.iter().chain(&user).chain(words).collect();
        Command::new(all[0])
            .args(&all[1..])
            .current_dir(&machine.data)
            .env("HOME", &machine.data)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", words[0]))
    }

    fn start_etcd(&mut self, node: usize) -> Result<()> {
        let peer = |n: &Node| format!("{}=http://{}:{ETCD_PEERS}", n.name, n.machine.host);
        let peers: Vec<String> = self.nodes.iter().map(peer).collect();
        let own = &self.nodes[node];
        let (clients, members) = (
            format!("http://{}:{ETCD}", own.machine.host),
            format!("http://{}:{ETCD_PEERS}", own.machine.host),
        );
        let data = own.machine.data.join("etcd").display().to_string();
        let words = [
            ("--name", own.name.clone()),
            ("--data-dir", data),
            ("--listen-client-urls", clients.clone()),
            ("--advertise-client-urls", clients),
            ("--listen-peer-urls", members.clone()),
            ("--initial-advertise-peer-urls", members),
            ("--initial-cluster", peers.join(",")),
            ("--initial-cluster-state", "new".into()),
            ("--logger", "zap".into()),
        ];
        let words = words.into_iter().flat_map(|(option, value)| [option.to_owned(), value]);
        let words: Vec<String> = ["etcd".to_owned()].into_iter().chain(words).collect();
        self.nodes[node].etcd = Some(self.spawn(node, &words)?);
        Ok(())
    }

    /// The processes on a machine that the store of votes does not need.
    fn servers_on(&self, node: usize) -> Result<Vec<String>> {
        let is_etcd = |pid: &u32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "etcd")
        };
        let pids = self.nodes[node].machine.pids()?;
        Ok(pids.into_iter().filter(|pid| !is_etcd(pid)).map(|pid| pid.to_string()).collect())
    }

    /// A session on one server, whatever its role.
    fn look(&self, node: usize) -> Result<Patient> {
        Patient::open(at(&self.nodes[node].machine.host, "any"), ANSWER)
    }

    fn number(&self, node: usize, sql: &str) -> Result<i64> {
        match self.look(node)?.query(sql)?.first().and_then(|row| row.first()) {
            Some(Cell::Int(n)) => Ok(*n),
            other => bail!("{sql} gave {other:?}"),
        }
    }

    fn primary(&self) -> Option<usize> {
        (0..REPLICAS).find(|node| self.is_primary(*node))
    }

    /// The end of what each machine wrote down.
    fn complaints(&self) -> String {
        let end = |node: &Node| {
            let log = std::fs::read_to_string(node.machine.data.join("patroni.log")).unwrap_or_default();
            log.lines().last().map(|line| format!("{}: {line}", node.name))
        };
        self.nodes.iter().filter_map(end).collect::<Vec<_>>().join("; ")
    }
}

fn at(host: &str, wanted: &str) -> String {
    format!(
        "host={host} port={PORT} user=postgres password={PASSWORD} dbname=postgres target_session_attrs={wanted}"
    )
}

/// Whether a child has ended, or never was.
fn is_gone(child: &mut Option<Child>) -> bool {
    child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
}

/// The servers' addresses: whoever takes writes.
struct Addresses(Vec<String>);

impl Door for Addresses {
    fn open(&self, host: usize, patience: Duration) -> Result<Box<dyn Connection + Send>> {
        Ok(Box::new(Patient::open(at(&self.0[host % self.0.len()], "read-write"), patience)?))
    }

    fn hosts(&self) -> Vec<String> {
        self.0.clone()
    }

    fn port(&self) -> u16 {
        PORT
    }

    fn password(&self) -> &str {
        PASSWORD
    }
}

impl Server for Patroni {
    fn name(&self) -> String {
        if self.fast { "Patroni, fast" } else { "Patroni" }.into()
    }

    fn connect(&self) -> Result<Box<dyn Connection + Send>> {
        let primary = self.primary().context("there is no primary")?;
        Ok(Box::new(PgConnection::open(&at(&self.nodes[primary].machine.host, "read-write"))?))
    }
}

impl System for Patroni {
    fn door(&self) -> Arc<dyn Door> {
        Arc::new(Addresses(self.nodes.iter().map(|node| node.machine.host.clone()).collect()))
    }

    fn is_primary(&self, node: usize) -> bool {
        self.number(node, "SELECT pg_is_in_recovery()::int").is_ok_and(|recovers| recovers == 0)
    }

    fn answers(&self, node: usize) -> bool {
        self.look(node).is_ok()
    }

    /// Both standbys stream, and one of them is waited for.
    fn is_whole(&self) -> bool {
        let sql = "SELECT (COUNT(*) + 10 * COUNT(*) FILTER (WHERE sync_state = 'sync'))::int FROM pg_stat_replication \
                   WHERE state = 'streaming'";
        self.primary().is_some_and(|primary| self.number(primary, sql).is_ok_and(|n| n == 12))
    }

    fn opened(&self, _node: usize) -> Option<i64> {
        None
    }

    /// Each begins a timeline.
    fn failovers(&self) -> Result<i64> {
        let primary = self.primary().context("there is no primary")?;
        self.number(primary, "SELECT timeline_id FROM pg_control_checkpoint()")
    }

    fn kill(&mut self, node: usize) -> Result<()> {
        let file = self.nodes[node].machine.data.join("pg/postmaster.pid");
        let text = std::fs::read_to_string(file)?;
        crate::command(&["kill", "-KILL", text.lines().next().context("an empty postmaster.pid")?])
            .map(|_| ())
    }

    fn stop(&mut self, node: usize, stopped: bool) -> Result<()> {
        let pids = self.servers_on(node)?;
        let words = ["kill", if stopped { "-STOP" } else { "-CONT" }];
        let words: Vec<&str> = words.into_iter().chain(pids.iter().map(String::as_str)).collect();
        // One of them may have ended since.
        let _ = crate::command(&words);
        Ok(())
    }

    fn power_off(&mut self, node: usize) -> Result<()> {
        while let pids = self.nodes[node].machine.pids()?
            && !pids.is_empty()
        {
            let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
            let words: Vec<&str> =
                ["kill", "-KILL"].into_iter().chain(pids.iter().map(String::as_str)).collect();
            let _ = crate::command(&words);
            // Ended children count as long as nobody has asked for them.
            let (etcd, patroni) = (&mut self.nodes[node].etcd.take(), &mut self.nodes[node].patroni.take());
            for child in [etcd, patroni].into_iter().flatten() {
                child.wait()?;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Patroni starts PostgreSQL where only that was killed.
    fn start_again(&mut self, node: usize) -> Result<()> {
        if is_gone(&mut self.nodes[node].etcd) {
            self.start_etcd(node)?;
        }
        if is_gone(&mut self.nodes[node].patroni) {
            let words = ["patroni".to_owned(), self.config_of(node).display().to_string()];
            self.nodes[node].patroni = Some(self.spawn(node, &words)?);
        }
        Ok(())
    }

    /// To the standby that is waited for: Patroni takes no other.
    fn replace(&mut self, _node: usize) -> Result<()> {
        anyhow::bail!("PostgreSQL is not upgraded here")
    }

    fn fail_over(&mut self, from: usize, _to: usize) -> Result<()> {
        let (config, leader) = (self.config_of(from).display().to_string(), &self.nodes[from].name);
        crate::command(&["patronictl", "-c", &config, "switchover", SCOPE, "--leader", leader, "--force"])
            .map(|_| ())
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        for node in 0..self.nodes.len() {
            // Best effort: a machine that is removed ends what runs on it no other way.
            let _ = self.stop(node, false);
            let _ = self.power_off(node);
        }
    }
}
