//! A group of three while its machines fail, and what its clients saw meanwhile, judged afterwards.
//!
//! Clients come through the listener, each with a connection of its own, and note when they begin an operation and what they learn
//! of its end (`clients`): transactions that append to lists and read them, registers that are read, written and compared,
//! money that is moved. Others read whole snapshots on every node. Meanwhile one machine after the other is killed, stopped and
//! continued, or cut off both ways or one way ([`crate::machines`]), or its clock jumps (`clocks`). In the end everything is healed, all is read once more on every node,
//! and the checks of [`keel_workload::history`] judge it.
//!
//! A read of a register may be as old as the lease allows a deposed primary to be ([`Settings::stale_reads`]); nothing else may.

mod clients;
mod clocks;

pub use clients::Counts;

use crate::command;
use crate::fleet::{Fleet, GROUP, Mode, until};
use crate::ledger::is_primary;
use crate::machines::Machines;
use crate::tds::free_port;
use anyhow::{Context, Result};
use clients::Notes;
use clocks::Clock;
use keel_workload::history::{bank, lists, registers};
use keel_workload::{Cell, Connection};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

const DATABASE: &str = "histories";
const NODES: usize = 3;

/// What may happen to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its process is killed and started again.
    Kill,
    /// Its process is stopped and continued.
    Pause,
    /// As [`Fault::Pause`], but never the primary's.
    PauseSecondary,
    /// It is cut off. As root, in namespaces ([`Machines::apart`]).
    Isolate,
    /// It is not heard by the others.
    MuteOut,
    /// It does not hear the others.
    MuteIn,
    /// A planned failover to it.
    Planned,
    /// Its clock jumps, up to an hour in either direction, and stays there. Needs libfaketime.
    Clock,
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long faults go on.
    pub time: Duration,
    /// Of all random choices.
    pub seed: u64,
    /// Clients of each kind.
    pub clients: u64,
    /// What happens, chosen from at random.
    pub faults: Vec<Fault>,
    /// Of the transactions on lists.
    pub isolation: lists::Isolation,
    /// How old a read of a register may be.
    pub stale_reads: Duration,
    /// In network namespaces, as root ([`Machines::apart`]); else on loopback, where nothing can be cut.
    pub apart: bool,
}

/// What a run gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What the clients did.
    pub counts: Counts,
    /// Faults by name.
    pub faults: BTreeMap<String, u64>,
    /// What was found that may not be; empty is well.
    pub violations: Vec<String>,
    /// Anomalies that the isolation level allows.
    pub allowed: usize,
}

impl Outcome {
    /// A few lines.
    #[must_use]
    pub fn report(&self) -> String {
        let faults: Vec<String> = self.faults.iter().map(|(name, n)| format!("{n} x {name}")).collect();
        format!(
            "{}; {}; {} anomalies the isolation level allows, {} violations",
            self.counts,
            faults.join(", "),
            self.allowed,
            self.violations.len()
        )
    }
}

/// Runs it with servers of this binary, in a directory that is empty.
///
/// # Errors
/// When servers do not start or do not come back, or what they say. What was found wrong with histories is in the outcome.
pub fn run(binary: &Path, dir: &Path, settings: &Settings) -> Result<Outcome> {
    std::fs::create_dir_all(dir)?;
    let config = dir.join("keel.toml");
    // So many failovers in a row would be held back.
    std::fs::write(&config, "[cluster]\nflap_max = 1000000\n")?;
    let config = config.to_str().context("a directory whose name is text")?;
    let options = ["--config", config, "--max-server-memory", "256"];
    let mut launches = Fleet::launches(binary, dir, NODES, &options)?;
    let machines =
        if settings.apart { Machines::apart(dir, NODES, false)? } else { Machines::plain(dir, NODES)? };
    let mut clocks = Vec::new();
    for (launch, machine) in launches.iter_mut().zip(&machines.all) {
        (launch.host, launch.before) = (machine.host.clone(), machine.before.clone());
        if settings.faults.contains(&Fault::Clock) {
            let clock = Clock::new(&machine.data)?;
            launch.before.extend(clock.before()?);
            clocks.push(clock);
        }
    }
    let mut fleet = Fleet::start(launches, DATABASE)?;
    fleet.automatic = true;
    clients::set_up(&mut fleet.nodes[0].session(DATABASE)?)?;
    fleet.create_group()?;
    for node in 1..NODES {
        fleet.add_replica(node, Mode::Synchronous)?;
    }
    let port = free_port()?;
    fleet.nodes[0].run(&format!(
        "ALTER AVAILABILITY GROUP {GROUP} ADD LISTENER N'{DATABASE}' (WITH DISTRIBUTED_NETWORK_NAME, PORT = {port})"
    ))?;
    let mut outcome = Outcome::default();
    let notes = Notes::new(&fleet, port, settings)?;
    let mut conductor =
        Conductor { fleet: &mut fleet, machines: &machines, clocks, settings, dice: settings.seed };
    conductor.wait_whole()?;
    std::thread::scope(|scope| {
        notes.start(scope, settings.clients);
        let conducted = conductor.conduct(&mut outcome.faults);
        notes.stop();
        conducted
    })?;
    let primary = conductor.wait_whole()?;
    judge(&fleet, primary, notes, settings, &mut outcome)?;
    Ok(outcome)
}

/// What happens to the machines.
struct Conductor<'a> {
    fleet: &'a mut Fleet,
    machines: &'a Machines,
    clocks: Vec<Clock>,
    settings: &'a Settings,
    dice: u64,
}

impl Conductor<'_> {
    fn below(&mut self, n: u64) -> u64 {
        // Numerical Recipes' generator: any will do here, and the same seed must do the same.
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % n
    }

    fn pause(&mut self, least: u64, most: u64) {
        let span = least + self.below(most - least);
        std::thread::sleep(Duration::from_millis(span));
    }

    fn primary(&self) -> Option<usize> {
        (0..NODES).find(|i| {
            let session = self.fleet.nodes[*i].session("master");
            session.is_ok_and(|mut session| is_primary(&mut session, DATABASE))
        })
    }

    /// Waits until every copy is synchronized with a primary, and says who that is.
    fn wait_whole(&self) -> Result<usize> {
        let sql = "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2";
        let mut leads = 0;
        until("the group is whole", || {
            let primary = self.primary();
            leads = primary.unwrap_or(leads);
            let synchronized = primary.and_then(|p| self.fleet.nodes[p].number(sql).ok().flatten());
            Ok(synchronized == Some(NODES as i64))
        })?;
        Ok(leads)
    }

    fn conduct(&mut self, told: &mut BTreeMap<String, u64>) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < self.settings.time {
            self.pause(300, 1500);
            let fault = self.settings.faults[self.below(self.settings.faults.len() as u64) as usize];
            // The primary twice as often as each of the others.
            let primary = self.wait_whole()?;
            let victim = match self.below(4) as usize {
                n if n < NODES && fault != Fault::PauseSecondary => n,
                n => (primary + usize::from(fault == Fault::PauseSecondary) * (1 + n % 2)) % NODES,
            };
            *told.entry(format!("{fault:?}")).or_default() += 1;
            self.inflict(fault, victim).with_context(|| format!("{fault:?} on NODE{}", victim + 1))?;
        }
        Ok(())
    }

    /// Nothing that the victim sends arrives (`out`), nothing arrives there (`into`), and nobody is told; or all of it again.
    fn cut(&self, victim: usize, (out, into): (bool, bool), cut: bool) -> Result<()> {
        if out {
            self.machines.mute(victim, cut)?;
        }
        if into {
            self.machines.deafen(victim, cut)?;
        }
        Ok(())
    }

    fn inflict(&mut self, fault: Fault, victim: usize) -> Result<()> {
        match fault {
            Fault::Kill => {
                self.fleet.nodes[victim].kill();
                self.pause(200, 2000);
                self.fleet.nodes[victim].start()
            }
            Fault::Pause | Fault::PauseSecondary => {
                let pid = self.fleet.nodes[victim].keel()?.pid().to_string();
                command(&["kill", "-STOP", &pid])?;
                self.pause(100, 3000);
                command(&["kill", "-CONT", &pid]).map(|_| ())
            }
            Fault::Isolate | Fault::MuteOut | Fault::MuteIn => {
                let (out, into) = (fault != Fault::MuteIn, fault != Fault::MuteOut);
                self.cut(victim, (out, into), true)?;
                self.pause(200, 4000);
                self.cut(victim, (out, into), false)
            }
            Fault::Planned => {
                // Refused when it leads already, or something else is under way.
                let _ = self.fleet.nodes[victim].run(&format!("ALTER AVAILABILITY GROUP {GROUP} FAILOVER"));
                Ok(())
            }
            Fault::Clock => {
                let seconds = self.below(7200) as i64 - 3600;
                self.clocks.get(victim).context("no clock of its own")?.jump(seconds)?;
                // Into the next failures: what a clock does wrong it does when something is decided.
                self.pause(1000, 3000);
                Ok(())
            }
        }
    }
}

fn list_rows(session: &mut dyn Connection) -> Result<BTreeMap<i64, Vec<i64>>> {
    let rows = session.query("SELECT k, v FROM dbo.lists")?;
    rows.iter().map(|row| clients::list_of(row).context("a list")).collect()
}

/// Reads everything once more, and checks it all.
fn judge(
    fleet: &Fleet,
    primary: usize,
    notes: Notes,
    settings: &Settings,
    outcome: &mut Outcome,
) -> Result<()> {
    let history = notes.into_history();
    outcome.counts = history.counts();
    let last = list_rows(&mut fleet.nodes[primary].session(DATABASE)?)?;
    let position = fleet.position(primary)?;
    for (i, node) in fleet.nodes.iter().enumerate().filter(|(i, _)| *i != primary) {
        fleet.wait_redone(i, &position)?;
        if list_rows(&mut node.session(DATABASE)?)? != last {
            outcome.violations.push(format!("the lists on {} are not those of the primary", node.name));
        }
    }
    let (allowed, broken): (Vec<_>, Vec<_>) =
        lists::check(&history.lists, &last).into_iter().partition(|a| a.kind.is_allowed(settings.isolation));
    outcome.allowed = allowed.len();
    outcome.violations.extend(broken.iter().map(ToString::to_string));
    let looks = bank::check(&history.looks, clients::ACCOUNTS, clients::TOTAL);
    outcome.violations.extend(looks);
    for (register, operations) in &history.registers {
        if !registers::is_linearizable(operations, 0) {
            let mut told: Vec<String> = operations.iter().map(|o| format!("{o:?}")).collect();
            told.sort_unstable();
            outcome
                .violations
                .push(format!("register {register} is not linearizable:\n  {}", told.join("\n  ")));
        }
    }
    let sum = fleet.nodes[primary]
        .session(DATABASE)?
        .query("SELECT SUM(CONVERT(bigint, balance)) FROM dbo.accounts")?;
    if sum.first().and_then(|row| row.first()) != Some(&Cell::Int(clients::TOTAL)) {
        outcome
            .violations
            .push(format!("in the end the accounts hold {sum:?} instead of {}", clients::TOTAL));
    }
    Ok(())
}
