//! [`Plan`]: a world and what is done to it, as text. A seed grows into a plan; a plan that fails is made smaller by leaving
//! lines out ([`crate::shrink()`]) and, once understood, kept as a script.
//!
//! ```text
//! world 3 1 force 7        instances, databases, whether forced failovers are among the operations, seed of the chances
//! lossy 20                 control and data frames lost, doubled or late: so many in a thousand
//! 1200 crash 0 5           at 1200 ms: the power of instance 0 goes; 5 chooses what its disk keeps
//! 2000 restart 0
//! 2100 failover 1
//! ```

use keel_base::env::sim::SplitMix;
use std::fmt;

/// One thing that is done to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Clients write so many commits to a database, at whatever instance takes them.
    Write(usize, u32),
    /// Power goes; the number chooses what the disk keeps of what was not synced.
    Crash(usize, u64),
    /// Power goes at the n-th disk operation from now.
    PowerCut(usize, u64, u64),
    /// An instance that is down starts.
    Restart(usize),
    /// Nothing gets from one to the other any more; nobody is told.
    Cut(usize, usize),
    /// It does again.
    Heal(usize, usize),
    /// The connection between two breaks and both see it.
    Reset(usize, usize),
    /// The instance does nothing for so many milliseconds.
    Pause(usize, u64),
    /// Its monotonic clock jumps ahead by so many milliseconds.
    Jump(usize, u64),
    /// Its disk takes so many milliseconds for a sync.
    Slow(usize, u64),
    /// Its disk takes no more bytes.
    Full(usize),
    /// Its disk has room again.
    Free(usize),
    /// Checkpoint of a database.
    Checkpoint(usize, usize),
    /// FAILOVER on an instance.
    Failover(usize),
    /// FORCE_FAILOVER_ALLOW_DATA_LOSS on an instance.
    Force(usize),
    /// SET (ROLE = SECONDARY) on an instance.
    Offline(usize),
    /// SUSPEND of a database on an instance.
    Suspend(usize, usize),
    /// RESUME of a database on an instance.
    Resume(usize, usize),
    /// REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT, given to whoever is primary.
    Required(u8),
    /// An instance becomes synchronous (1) or asynchronous (0).
    Mode(usize, u8),
    /// Its replica is removed from the group.
    Remove(usize),
    /// Its replica is added to the group again and joins.
    Add(usize),
    /// A database is removed from the group.
    RemoveDatabase(usize),
    /// It is added again by the primary.
    AddDatabase(usize),
}

/// A world and what is done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Instances, 2 ..= 5.
    pub instances: usize,
    /// Databases, 1 ..= 3.
    pub databases: usize,
    /// Forced failovers are among the operations: some losses are allowed.
    pub force: bool,
    /// Grows the latencies and everything else that is not an operation.
    pub chances: u64,
    /// Frames lost, doubled or late, of a thousand.
    pub lossy: u64,
    /// Operations with their times in milliseconds, ascending.
    pub ops: Vec<(u64, Op)>,
}

impl Plan {
    /// The plan of a seed. `length` in milliseconds of virtual time before the faults stop.
    pub fn grow(seed: u64, length: u64) -> Plan {
        let mut dice = SplitMix(seed);
        let _ = dice.next();
        let instances = [2, 3, 3, 3, 4][dice.below(5) as usize];
        let databases = [1, 1, 2][dice.below(3) as usize];
        let mut plan = Plan {
            instances,
            databases,
            force: dice.below(3) == 0,
            chances: dice.next(),
            lossy: [0, 0, 5, 50][dice.below(4) as usize],
            ops: Vec::new(),
        };
        // Each world has its own favourite troubles: all at once hide one another.
        let favourite = |kind: u64| matches!(kind, 0..=3 | 16) && plan.force;
        let kinds: Vec<u64> =
            (0..KINDS).filter(|kind| dice.below(if favourite(*kind) { 2 } else { 3 }) == 0).collect();
        let mut at = 300;
        while at < length {
            let pause = if dice.below(4) == 0 { 2500 } else { 250 };
            at += 1 + dice.below(pause);
            let op = if kinds.is_empty() || dice.below(2) == 0 {
                Op::Write(dice.below(databases as u64) as usize, 1 + dice.below(20) as u32)
            } else {
                plan.pick(kinds[dice.below(kinds.len() as u64) as usize], &mut dice)
            };
            plan.ops.push((at, op));
        }
        if plan.force && dice.coin() {
            plan.part_and_force(length / 2 + dice.below(length), &mut dice);
        }
        plan
    }

    /// The network parts, an operator forces a failover on the other side, clients go on writing on both, it heals.
    fn part_and_force(&mut self, at: u64, dice: &mut SplitMix) {
        let n = self.instances;
        let alone = dice.below(n as u64) as usize;
        let forced = (alone + 1 + dice.below(n as u64 - 1) as usize) % n;
        let heal = at + 5_500 + dice.below(4_000);
        for other in (0..n).filter(|i| *i != alone) {
            for (a, b) in [(alone, other), (other, alone)] {
                self.ops.push((at, Op::Cut(a, b)));
                self.ops.push((heal, Op::Heal(a, b)));
            }
        }
        self.ops.push((at + 1, Op::Write(0, 5)));
        self.ops.push((at + 5_200, Op::Force(forced)));
        self.ops.push((at + 5_400, Op::Write(0, 5)));
        self.ops.push((heal, Op::Write(0, 3)));
        self.ops.sort_by_key(|(at, _)| *at);
    }

    fn pick(&self, kind: u64, dice: &mut SplitMix) -> Op {
        let i = dice.below(self.instances as u64) as usize;
        let j = (i + 1 + dice.below(self.instances as u64 - 1) as usize) % self.instances;
        let d = dice.below(self.databases as u64) as usize;
        match kind {
            0 => Op::Crash(i, dice.next()),
            1 => Op::PowerCut(i, 1 + dice.below(12), dice.next()),
            2 | 3 => Op::Restart(i),
            4 => Op::Cut(i, j),
            5 => Op::Heal(i, j),
            6 => Op::Reset(i, j),
            7 => Op::Pause(i, 50 + dice.below(8000)),
            8 => Op::Jump(i, dice.below(20_000)),
            9 => Op::Slow(i, dice.below(800)),
            10 => Op::Full(i),
            11 => Op::Free(i),
            12 => Op::Checkpoint(i, d),
            13..=15 => Op::Failover(i),
            16 if self.force => Op::Force(i),
            16 => Op::Failover(i),
            17 => Op::Offline(i),
            18 => Op::Suspend(i, d),
            19 => Op::Resume(i, d),
            20 => Op::Required(dice.below(2) as u8),
            21 => Op::Mode(i, dice.below(2) as u8),
            22 => Op::Remove(i),
            23 => Op::Add(i),
            24 => Op::RemoveDatabase(d),
            _ => Op::AddDatabase(d),
        }
    }

    /// Reads a script.
    ///
    /// # Errors
    /// Names the line that makes no sense.
    pub fn parse(text: &str) -> Result<Plan, String> {
        let mut plan =
            Plan { instances: 3, databases: 1, force: false, chances: 1, lossy: 0, ops: Vec::new() };
        for line in text.lines() {
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
                self.force = words.get(3) == Some(&"force");
                self.chances = words.last()?.parse().ok()?;
            }
            "lossy" => self.lossy = n(1)?,
            _ => {
                let op = match *words.get(1)? {
                    "write" => Op::Write(i(2)?, n(3)? as u32),
                    "crash" => Op::Crash(i(2)?, n(3)?),
                    "powercut" => Op::PowerCut(i(2)?, n(3)?, n(4)?),
                    "restart" => Op::Restart(i(2)?),
                    "cut" => Op::Cut(i(2)?, i(3)?),
                    "heal" => Op::Heal(i(2)?, i(3)?),
                    "reset" => Op::Reset(i(2)?, i(3)?),
                    "pause" => Op::Pause(i(2)?, n(3)?),
                    "jump" => Op::Jump(i(2)?, n(3)?),
                    "slow" => Op::Slow(i(2)?, n(3)?),
                    "full" => Op::Full(i(2)?),
                    "free" => Op::Free(i(2)?),
                    "checkpoint" => Op::Checkpoint(i(2)?, i(3)?),
                    "failover" => Op::Failover(i(2)?),
                    "force" => Op::Force(i(2)?),
                    "offline" => Op::Offline(i(2)?),
                    "suspend" => Op::Suspend(i(2)?, i(3)?),
                    "resume" => Op::Resume(i(2)?, i(3)?),
                    "required" => Op::Required(n(2)? as u8),
                    "mode" => Op::Mode(i(2)?, n(3)? as u8),
                    "remove" => Op::Remove(i(2)?),
                    "add" => Op::Add(i(2)?),
                    "removedatabase" => Op::RemoveDatabase(i(2)?),
                    "adddatabase" => Op::AddDatabase(i(2)?),
                    _ => return None,
                };
                self.ops.push((n(0)?, op));
            }
        }
        Some(())
    }
}

/// How many kinds [`Plan::pick`] knows.
const KINDS: u64 = 26;

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
            Op::Pause(i, ms) => write!(f, "pause {i} {ms}"),
            Op::Jump(i, ms) => write!(f, "jump {i} {ms}"),
            Op::Slow(i, ms) => write!(f, "slow {i} {ms}"),
            Op::Full(i) => write!(f, "full {i}"),
            Op::Free(i) => write!(f, "free {i}"),
            Op::Checkpoint(i, d) => write!(f, "checkpoint {i} {d}"),
            Op::Failover(i) => write!(f, "failover {i}"),
            Op::Force(i) => write!(f, "force {i}"),
            Op::Offline(i) => write!(f, "offline {i}"),
            Op::Suspend(i, d) => write!(f, "suspend {i} {d}"),
            Op::Resume(i, d) => write!(f, "resume {i} {d}"),
            Op::Required(n) => write!(f, "required {n}"),
            Op::Mode(i, m) => write!(f, "mode {i} {m}"),
            Op::Remove(i) => write!(f, "remove {i}"),
            Op::Add(i) => write!(f, "add {i}"),
            Op::RemoveDatabase(d) => write!(f, "removedatabase {d}"),
            Op::AddDatabase(d) => write!(f, "adddatabase {d}"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let force = if self.force { "force " } else { "" };
        writeln!(f, "world {} {} {force}{}", self.instances, self.databases, self.chances)?;
        writeln!(f, "lossy {}", self.lossy)?;
        for (at, op) in &self.ops {
            writeln!(f, "{at} {op}")?;
        }
        Ok(())
    }
}
