//! A plan as text, and back.

use super::{Op, Pair, Plan};
use std::fmt;

impl Plan {
    /// Reads a script.
    ///
    /// # Errors
    /// Names the line that makes no sense.
    pub fn parse(text: &str) -> Result<Plan, String> {
        let mut plan = Plan {
            instances: 3,
            databases: 1,
            force: false,
            cluster: false,
            external: false,
            pair: None,
            witness: false,
            late: 0,
            chances: 1,
            lossy: 0,
            real: false,
            walls: 0,
            ops: Vec::new(),
        };
        for line in text.lines().take_while(|l| *l != "---") {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                plan.parse_line(line).ok_or_else(|| format!("not understood: {line}"))?;
            }
        }
        plan.ops.sort_by_key(|(at, _)| *at);
        Ok(plan)
    }

    fn parse_line(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let n = |at: usize| words.get(at).and_then(|w| w.parse::<u64>().ok());
        let i = |at: usize| n(at).map(|v| v as usize);
        match *words.first()? {
            "world" => {
                self.instances = i(1)?;
                self.databases = i(2)?;
                self.force = words.contains(&"force");
                self.cluster = words.contains(&"cluster");
                self.external = words.contains(&"external");
                self.witness = words.contains(&"witness");
                self.real = words.contains(&"real");
                self.chances = words.last()?.parse().ok()?;
            }
            "late" => self.late = i(1)?,
            "lossy" => self.lossy = n(1)?,
            "walls" => self.walls = n(1)?,
            "pair" => self.pair = Some(Pair { second: i(1)?, synchronous: *words.get(2)? == "synchronous" }),
            _ => {
                let op = match *words.get(1)? {
                    "write" => Op::Write(i(2)?, n(3)? as u32),
                    "crash" => Op::Crash(i(2)?, n(3)?),
                    "powercut" => Op::PowerCut(i(2)?, n(3)?, n(4)?),
                    "restart" => Op::Restart(i(2)?),
                    "cut" => Op::Cut(i(2)?, i(3)?),
                    "heal" => Op::Heal(i(2)?, i(3)?),
                    "reset" => Op::Reset(i(2)?, i(3)?),
                    "lag" => Op::Lag(i(2)?, n(3)? as u8),
                    "pause" => Op::Pause(i(2)?, n(3)?),
                    "jump" => Op::Jump(i(2)?, n(3)?),
                    "slow" => Op::Slow(i(2)?, n(3)?),
                    "fail" => Op::Fail(i(2)?, n(3)?, n(4)?),
                    "full" => Op::Full(i(2)?),
                    "fulllog" => Op::FullLog(i(2)?),
                    "fulldata" => Op::FullData(i(2)?),
                    "free" => Op::Free(i(2)?),
                    "checkpoint" => Op::Checkpoint(i(2)?, i(3)?),
                    "checkpointcut" => Op::CheckpointCut(i(2)?, i(3)?, n(4)?, n(5)?),
                    "failover" => Op::Failover(i(2)?),
                    "force" => Op::Force(i(2)?),
                    "offline" => Op::Offline(i(2)?),
                    "suspend" => Op::Suspend(i(2)?, i(3)?),
                    "resume" => Op::Resume(i(2)?, i(3)?),
                    "required" => Op::Required(n(2)? as u8),
                    "mode" => Op::Mode(i(2)?, n(3)? as u8),
                    "failovermode" => Op::Automatic(i(2)?, n(3)? as u8),
                    "seedingmode" => Op::Seeding(i(2)?, n(3)? as u8),
                    "timeout" => Op::Timeout(i(2)?, n(3)? as u8),
                    "listeners" => Op::Listeners(n(2)? as u8),
                    "drop" => Op::Drop(i(2)?),
                    "create" => Op::Create(i(2)?, n(3)? as u8),
                    "remove" => Op::Remove(i(2)?),
                    "add" => Op::Add(i(2)?),
                    "removedatabase" => Op::RemoveDatabase(i(2)?),
                    "adddatabase" => Op::AddDatabase(i(2)?),
                    "leave" => Op::Leave(i(2)?, i(3)?),
                    "join" => Op::Join(i(2)?, i(3)?),
                    "isolate" => Op::Isolate(i(2)?, n(3)? as u8),
                    "healall" => Op::HealAll,
                    "crashall" => Op::CrashAll(n(2)?),
                    "restartall" => Op::RestartAll(n(2)?, n(3)?),
                    "wipe" => Op::Wipe(i(2)?),
                    "keep" => Op::Keep(i(2)?),
                    "old" => Op::Old(i(2)?),
                    "damage" => Op::Damage(i(2)?, n(3)?),
                    "forcequorum" => Op::ForceQuorum(i(2)?),
                    "dismiss" => Op::Dismiss(i(2)?),
                    "enlist" => Op::Enlist,
                    "sick" => Op::Sick(i(2)?),
                    "better" => Op::Better(i(2)?),
                    "well" => Op::Well(i(2)?),
                    "yield" => Op::Yield(i(2)?),
                    "take" => Op::Take(i(2)?),
                    "apart" => Op::Apart(n(2)? as u8),
                    "far" => Op::Far(n(2)?),
                    "pace" => Op::Pace(n(2)? as u8),
                    _ => return None,
                };
                self.ops.push((n(0)?, op));
            }
        }
        Some(())
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Write(d, n) => write!(f, "write {d} {n}"),
            Op::Crash(i, s) => write!(f, "crash {i} {s}"),
            Op::PowerCut(i, n, s) => write!(f, "powercut {i} {n} {s}"),
            Op::Restart(i) => write!(f, "restart {i}"),
            Op::Cut(i, j) => write!(f, "cut {i} {j}"),
            Op::Heal(i, j) => write!(f, "heal {i} {j}"),
            Op::Reset(i, j) => write!(f, "reset {i} {j}"),
            Op::Lag(i, on) => write!(f, "lag {i} {on}"),
            Op::Pause(i, ms) => write!(f, "pause {i} {ms}"),
            Op::Jump(i, ms) => write!(f, "jump {i} {ms}"),
            Op::Slow(i, ms) => write!(f, "slow {i} {ms}"),
            Op::Fail(i, n, s) => write!(f, "fail {i} {n} {s}"),
            Op::Full(i) => write!(f, "full {i}"),
            Op::FullLog(i) => write!(f, "fulllog {i}"),
            Op::FullData(i) => write!(f, "fulldata {i}"),
            Op::Free(i) => write!(f, "free {i}"),
            Op::Checkpoint(i, d) => write!(f, "checkpoint {i} {d}"),
            Op::CheckpointCut(i, d, n, s) => write!(f, "checkpointcut {i} {d} {n} {s}"),
            Op::Failover(i) => write!(f, "failover {i}"),
            Op::Force(i) => write!(f, "force {i}"),
            Op::Offline(i) => write!(f, "offline {i}"),
            Op::Suspend(i, d) => write!(f, "suspend {i} {d}"),
            Op::Resume(i, d) => write!(f, "resume {i} {d}"),
            Op::Required(n) => write!(f, "required {n}"),
            Op::Mode(i, m) => write!(f, "mode {i} {m}"),
            Op::Automatic(i, on) => write!(f, "failovermode {i} {on}"),
            Op::Seeding(i, on) => write!(f, "seedingmode {i} {on}"),
            Op::Timeout(i, s) => write!(f, "timeout {i} {s}"),
            Op::Listeners(n) => write!(f, "listeners {n}"),
            Op::Drop(i) => write!(f, "drop {i}"),
            Op::Create(i, which) => write!(f, "create {i} {which}"),
            Op::Remove(i) => write!(f, "remove {i}"),
            Op::Add(i) => write!(f, "add {i}"),
            Op::RemoveDatabase(d) => write!(f, "removedatabase {d}"),
            Op::AddDatabase(d) => write!(f, "adddatabase {d}"),
            Op::Leave(i, d) => write!(f, "leave {i} {d}"),
            Op::Join(i, d) => write!(f, "join {i} {d}"),
            Op::Isolate(i, ways) => write!(f, "isolate {i} {ways}"),
            Op::HealAll => write!(f, "healall"),
            Op::CrashAll(s) => write!(f, "crashall {s}"),
            Op::RestartAll(ms, s) => write!(f, "restartall {ms} {s}"),
            Op::Wipe(i) => write!(f, "wipe {i}"),
            Op::Keep(i) => write!(f, "keep {i}"),
            Op::Old(i) => write!(f, "old {i}"),
            Op::Damage(i, n) => write!(f, "damage {i} {n}"),
            Op::ForceQuorum(i) => write!(f, "forcequorum {i}"),
            Op::Dismiss(i) => write!(f, "dismiss {i}"),
            Op::Enlist => write!(f, "enlist"),
            Op::Sick(i) => write!(f, "sick {i}"),
            Op::Better(i) => write!(f, "better {i}"),
            Op::Well(i) => write!(f, "well {i}"),
            Op::Yield(side) => write!(f, "yield {side}"),
            Op::Take(side) => write!(f, "take {side}"),
            Op::Apart(ways) => write!(f, "apart {ways}"),
            Op::Far(ms) => write!(f, "far {ms}"),
            Op::Pace(pace) => write!(f, "pace {pace}"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |on: bool, word: &'static str| if on { word } else { "" };
        let (force, cluster) = (word(self.force, "force "), word(self.cluster, "cluster "));
        let (witness, external) = (word(self.witness, "witness "), word(self.external, "external "));
        let real = word(self.real, "real ");
        let (instances, databases, chances) = (self.instances, self.databases, self.chances);
        writeln!(f, "world {instances} {databases} {force}{cluster}{external}{witness}{real}{chances}")?;
        if let Some(Pair { second, synchronous }) = self.pair {
            writeln!(f, "pair {second} {}", if synchronous { "synchronous" } else { "asynchronous" })?;
        }
        if self.late != 0 {
            writeln!(f, "late {}", self.late)?;
        }
        if self.walls != 0 {
            writeln!(f, "walls {}", self.walls)?;
        }
        writeln!(f, "lossy {}", self.lossy)?;
        for (at, op) in &self.ops {
            writeln!(f, "{at} {op}")?;
        }
        Ok(())
    }
}
