//! Evenkeel: three instances, a synchronous group that fails over by itself, and its listener.

use super::system::System;
use super::{ANSWER, REPLICAS, Settings};
use crate::fleet::{Fleet, GROUP, Mode, number};
use crate::ledger::is_primary;
use crate::machines::Machines;
use crate::target::Server;
use crate::tds::{Address, Launch, TdsConnection, free_port};
use crate::tpcc;
use crate::writers::Door;
use anyhow::{Context, Result};
use keel_workload::{Cell, Connection};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DATABASE: &str = "shop";

/// See the module.
pub(super) struct Group {
    fleet: Fleet,
    hosts: Vec<String>,
    listener: u16,
    /// The listener's own address, which moves with the primary; the only one that clients know then.
    address: Option<String>,
    /// What a server runs once it was replaced.
    binary: PathBuf,
}

impl Group {
    /// Starts the instances, makes the ledger and the load's tables, and then the group.
    pub(super) fn start(
        binary: &Path,
        dir: &Path,
        machines: &Machines,
        settings: &Settings,
        load: Option<tpcc::Settings>,
    ) -> Result<Group> {
        // So many failovers in a row would be held back, and the pauses measured.
        let file = dir.join("keel.toml");
        let cluster = settings.cluster.join("\n");
        std::fs::write(&file, format!("[cluster]\nflap_max = 1000000\n{cluster}\n"))?;
        let config = file.display().to_string();
        let options: Vec<&str> =
            ["--config", &config].into_iter().chain(settings.options.iter().map(String::as_str)).collect();
        let launches = machines.all.iter().map(|machine| {
            let first = settings.from.as_deref().unwrap_or(binary);
            let launch = Launch::new(first, &machine.data.join("keel"), &options)?;
            Ok(Launch { host: machine.host.clone(), before: machine.before.clone(), ..launch })
        });
        let mut fleet = Fleet::start(launches.collect::<Result<_>>()?, DATABASE)?;
        fleet.automatic = true;
        let sql =
            "CREATE TABLE dbo.ledger (campaign int, writer int, n int, PRIMARY KEY (campaign, writer, n))";
        fleet.nodes[0].session(DATABASE)?.execute(sql)?;
        if let Some(load) = load {
            tpcc::build(&fleet, load, 2)?;
        }
        let hosts = machines.all.iter().map(|machine| machine.host.clone()).collect();
        let address = machines.free.clone().filter(|_| settings.moving_address);
        let group = Group { fleet, hosts, listener: free_port()?, address, binary: binary.to_path_buf() };
        group.make()?;
        Ok(group)
    }

    fn make(&self) -> Result<()> {
        self.fleet.create_group()?;
        for node in 1..REPLICAS {
            self.fleet.add_replica(node, Mode::Synchronous)?;
            self.fleet.wait_settled(0, node, Mode::Synchronous)?;
        }
        let with = self.address.as_ref().map_or("DISTRIBUTED_NETWORK_NAME".to_owned(), |address| {
            format!("IP ((N'{address}', N'255.255.255.0'))")
        });
        self.fleet.nodes[0].run(&format!(
            "ALTER AVAILABILITY GROUP {GROUP} ADD LISTENER N'bench-listener' (WITH {with}, PORT = {})",
            self.listener
        ))
    }

    /// A session that gives up on who does not answer.
    fn look(&self, node: usize, database: &str) -> Result<TdsConnection> {
        self.fleet.nodes[node].keel()?.address().session_within(database, ANSWER)
    }

    fn primary(&self) -> Option<usize> {
        (0..REPLICAS).find(|node| self.is_primary(*node))
    }
}

/// The listener on each machine.
impl Door for Vec<Address> {
    fn open(&self, host: usize, patience: std::time::Duration) -> Result<Box<dyn Connection + Send>> {
        let address = self.get(host % self.len().max(1)).context("a listener")?;
        Ok(Box::new(address.session_within(&address.database, patience)?))
    }

    fn hosts(&self) -> Vec<String> {
        self.iter().filter_map(|a| Some(a.address.rsplit_once(':')?.0.to_owned())).collect()
    }

    fn port(&self) -> u16 {
        self.first().and_then(|a| a.address.rsplit_once(':')?.1.parse().ok()).unwrap_or_default()
    }

    fn password(&self) -> &str {
        self.first().map_or("", |a| &a.password)
    }
}

impl Server for Group {
    fn name(&self) -> String {
        self.fleet.name()
    }

    fn connect(&self) -> Result<Box<dyn Connection + Send>> {
        let primary = self.primary().context("there is no primary")?;
        Ok(Box::new(self.fleet.nodes[primary].session(DATABASE)?))
    }
}

impl System for Group {
    fn door(&self) -> Arc<dyn Door> {
        let own =
            self.fleet.nodes.iter().find_map(|node| node.keel().ok()).map(|keel| keel.address().clone());
        let with = |host: &String| {
            let address = format!("{host}:{}", self.listener);
            Some(Address { address, database: DATABASE.into(), ..own.clone()? })
        };
        let hosts = self.address.as_ref().map_or(&*self.hosts, std::slice::from_ref);
        Arc::new(hosts.iter().filter_map(with).collect::<Vec<_>>())
    }

    fn is_primary(&self, node: usize) -> bool {
        self.look(node, "master").is_ok_and(|mut session| is_primary(&mut session, DATABASE))
    }

    fn answers(&self, node: usize) -> bool {
        self.look(node, "master").is_ok()
    }

    fn is_whole(&self) -> bool {
        let sql = "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2";
        let whole =
            |node| Some(number(&mut self.look(node, "master").ok()?, sql).ok()? == Some(REPLICAS as i64));
        self.primary().and_then(whole).unwrap_or(false)
    }

    fn opened(&self, node: usize) -> Option<i64> {
        let sql =
            "SELECT TOP (1) CONVERT(bigint, opened_ms) FROM sys.dm_keel_failovers ORDER BY began_utc DESC";
        number(&mut self.look(node, "master").ok()?, sql).ok()?
    }

    fn record(&self, node: usize) -> Option<String> {
        let sql = "SELECT TOP (1) summary FROM sys.dm_keel_failovers ORDER BY began_utc DESC";
        let rows = self.look(node, "master").ok()?.query(sql).ok()?;
        match rows.first()?.first()? {
            Cell::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Each is on its new primary's record.
    fn failovers(&self) -> Result<i64> {
        let sql = "SELECT COUNT(*) FROM sys.dm_keel_failovers";
        (0..REPLICAS).map(|node| number(&mut self.look(node, "master")?, sql)?.context("a number")).sum()
    }

    fn kill(&mut self, node: usize) -> Result<()> {
        self.fleet.nodes[node].kill();
        Ok(())
    }

    fn stop(&mut self, node: usize, stopped: bool) -> Result<()> {
        let pid = self.fleet.nodes[node].keel()?.pid().to_string();
        crate::command(&["kill", if stopped { "-STOP" } else { "-CONT" }, &pid]).map(|_| ())
    }

    fn power_off(&mut self, node: usize) -> Result<()> {
        self.kill(node)
    }

    fn start_again(&mut self, node: usize) -> Result<()> {
        self.fleet.nodes[node].start()
    }

    fn replace(&mut self, node: usize) -> Result<()> {
        let node = &mut self.fleet.nodes[node];
        node.end()?;
        node.launch.binary.clone_from(&self.binary);
        node.start()
    }

    fn fail_over(&mut self, _from: usize, to: usize) -> Result<()> {
        self.fleet.nodes[to].run(&format!("ALTER AVAILABILITY GROUP {GROUP} FAILOVER"))
    }
}
