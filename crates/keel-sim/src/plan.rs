//! [`Plan`]: a world and what is done to it, as text. A seed grows into a plan; a plan that fails is made smaller by leaving
//! lines out ([`crate::shrink()`]) and, once understood, kept as a script.
//!
//! ```text
//! world 3 1 force 7        instances, databases, whether forced failovers are among the operations, seed of the chances
//!                          (`real` among them: whole databases; `cluster`, `witness`: a cluster that heals itself; `external`:
//!                          a manager from outside says who leads)
//! pair 2 synchronous       the last two instances are a second group, the forwarder's side of a distributed availability group
//! late 1                   the last instance is a new one: not in the group before it is added
//! walls 5                  wall clocks jump about, by this seed; 0 or no such line: they go as time does
//! lossy 20                 control and data frames lost, doubled or late: so many in a thousand
//! 1200 crash 0 5           at 1200 ms: the power of instance 0 goes; 5 chooses what its disk keeps
//! 2000 restart 0
//! 2100 failover 1
//! ```
//! What follows a line `---` is not read: the transcript of a rule is kept there.

mod administer;
mod change_more;
mod grow_pair;
mod text;

use keel_base::env::sim::SplitMix;

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
    /// Redo of the instance's copies stands still (1), as when memory is full, or goes on (0).
    Lag(usize, u8),
    /// The instance does nothing for so many milliseconds.
    Pause(usize, u64),
    /// Its monotonic clock jumps ahead by so many milliseconds.
    Jump(usize, u64),
    /// Its disk takes so many milliseconds for a sync.
    Slow(usize, u64),
    /// The n-th operation of its disk from now that can fail does, once; a process that cannot go on after that ends and is
    /// started again. The number chooses what the disk keeps of what was not synced.
    Fail(usize, u64, u64),
    /// Its disk takes no more bytes.
    Full(usize),
    /// The disk of its databases' logs takes no more bytes; that of everything else has room.
    FullLog(usize),
    /// The disk of everything but the logs takes no more bytes.
    FullData(usize),
    /// Its disk has room again.
    Free(usize),
    /// Checkpoint of a database.
    Checkpoint(usize, usize),
    /// A checkpoint of a database, and the power goes at the n-th disk operation from now; the last number chooses what the
    /// disk keeps.
    CheckpointCut(usize, usize, u64, u64),
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
    /// FAILOVER_MODE of an instance's replica: AUTOMATIC (1) or MANUAL (0).
    Automatic(usize, u8),
    /// SEEDING_MODE of an instance's replica: AUTOMATIC (1) or MANUAL (0).
    Seeding(usize, u8),
    /// SESSION_TIMEOUT of an instance's replica, in seconds.
    Timeout(usize, u8),
    /// The group has so many listeners from now on.
    Listeners(u8),
    /// Its replica is removed from the group.
    Remove(usize),
    /// Its replica is added to the group again and joins.
    Add(usize),
    /// A database is removed from the group.
    RemoveDatabase(usize),
    /// It is added again by the primary.
    AddDatabase(usize),
    /// DROP AVAILABILITY GROUP on an instance; on whoever leads, when it is none of them.
    Drop(usize),
    /// CREATE AVAILABILITY GROUP of the same name on an instance, and JOIN on the others: with those databases whose bits are set and that are
    /// there alone, or are restored or made for it.
    Create(usize, u8),
    /// SET HADR OFF of a database on an instance.
    Leave(usize, usize),
    /// SET HADR AVAILABILITY GROUP of a database on an instance where that was given.
    Join(usize, usize),
    /// Nothing gets from the instance to any other (1), to it (2), or both (3), until it heals.
    Isolate(usize, u8),
    /// Everything gets everywhere again.
    HealAll,
    /// The power of everybody goes at once.
    CrashAll(u64),
    /// Whoever is down starts, one after the other, so many milliseconds apart; the number chooses the order.
    RestartAll(u64, u64),
    /// Power goes, and the disk is lost with everything on it, unless it holds what nobody else does.
    Wipe(usize),
    /// Somebody puts a copy of an instance's disk aside.
    Keep(usize),
    /// Power goes, and the instance has the disk that was put aside last instead of its own, unless that holds what nobody else does.
    Old(usize),
    /// An instance that is down loses the last bytes of its logs, unless they are what nobody else has; the number chooses
    /// how many.
    Damage(usize, u64),
    /// An operator makes the instance's vote alone count.
    ForceQuorum(usize),
    /// An operator removes an instance from the cluster.
    Dismiss(usize),
    /// An operator has the witness that was removed be a member of the cluster again.
    Enlist,
    /// The instance reports itself unfit to lead.
    Sick(usize),
    /// What made it unfit has just passed.
    Better(usize),
    /// It is fit again.
    Well(usize),
    /// SET (ROLE = SECONDARY) of the distributed group, given to whoever leads a side.
    Yield(usize),
    /// FORCE_FAILOVER_ALLOW_DATA_LOSS of the distributed group, given to whoever leads a side. Where no loss is allowed: only when the
    /// role was given up.
    Take(usize),
    /// Nothing gets from the first side to the second any more (1), back (2), both (3); everything does (0).
    Apart(u8),
    /// What goes between the sides takes so many milliseconds more.
    Far(u64),
    /// The modes of the distributed group's members: asynchronous (0), synchronous (1), and commits wait for the other side (2).
    Pace(u8),
}

/// A second group, and a distributed availability group over the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Its instances: so many, the last ones.
    pub second: usize,
    /// Commits on the one side wait for the other, at first.
    pub synchronous: bool,
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
    /// The group is one of a cluster, with automatic failover.
    pub cluster: bool,
    /// Of a cluster: who leads is what a manager from outside says.
    pub external: bool,
    /// The instances are those of two groups.
    pub pair: Option<Pair>,
    /// One more instance that only votes.
    pub witness: bool,
    /// So many of the instances, the last ones, are new: not in the group at first.
    pub late: usize,
    /// Its databases are real ones.
    pub real: bool,
    /// Grows the latencies and everything else that is not an operation.
    pub chances: u64,
    /// Seed of the wall clocks' jumps; 0 = they go as time does.
    pub walls: u64,
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
            cluster: false,
            external: false,
            pair: None,
            witness: false,
            late: 0,
            chances: dice.next(),
            lossy: [0, 0, 5, 50][dice.below(4) as usize],
            real: false,
            walls: seed | 1,
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
        plan.fail_disks();
        plan.let_redo_lag();
        plan.take_copies_out();
        plan.administer();
        plan.change_more();
        plan
    }

    /// The plan of a seed for a cluster that heals itself: no operator but where the plan says so.
    pub fn grow_cluster(seed: u64, length: u64) -> Plan {
        let mut dice = SplitMix(seed ^ 0xC1_05_7E_12);
        let _ = dice.next();
        let instances = [2, 3, 3, 3, 3, 4, 5][dice.below(7) as usize];
        let databases = [1, 1, 2][dice.below(3) as usize];
        let mut plan = Plan {
            instances,
            databases,
            force: dice.below(8) == 0,
            cluster: true,
            external: false,
            pair: None,
            witness: dice.below(if instances % 2 == 0 { 2 } else { 6 }) == 0,
            late: 0,
            chances: dice.next(),
            lossy: [0, 0, 5, 50][dice.below(4) as usize],
            real: false,
            walls: seed | 1,
            ops: Vec::new(),
        };
        let kinds: Vec<u64> = (0..CLUSTER_KINDS.len() as u64).filter(|_| dice.below(3) == 0).collect();
        let mut at = 1500;
        while at < length + 1500 {
            let pause = if dice.below(3) == 0 { 3000 } else { 300 };
            at += 1 + dice.below(pause);
            let op = if kinds.is_empty() || dice.below(2) == 0 {
                Op::Write(dice.below(databases as u64) as usize, 1 + dice.below(20) as u32)
            } else {
                let kind = kinds[dice.below(kinds.len() as u64) as usize];
                plan.pick_for_cluster(CLUSTER_KINDS[kind as usize], &mut dice)
            };
            plan.ops.push((at, op));
        }
        plan.set_piece(at, &mut dice);
        // A lost log end while the other members of the set are away as well is more than is survived: scripts do it.
        plan.ops.retain(|(_, op)| !matches!(op, Op::Damage(..)));
        plan.change_members();
        plan.fail_disks();
        plan.let_redo_lag();
        plan.take_copies_out();
        plan.administer();
        plan.go_back();
        plan.change_more();
        plan
    }

    /// The plan of a seed for a cluster whose manager is another one: the same troubles, and words that nobody would have needed.
    pub fn grow_external(seed: u64, length: u64) -> Plan {
        let mut plan = Plan { external: true, ..Plan::grow_cluster(seed ^ 0xE7_7E_12, length) };
        // A manager may tell an older disk to lead before anybody has shown it that it is one: more than is survived.
        plan.ops.retain(|(_, op)| !matches!(op, Op::Keep(_) | Op::Old(_)));
        let mut dice = SplitMix(plan.chances ^ 0x0F_F1);
        let end = plan.ops.last().map_or(0, |(at, _)| *at);
        for _ in 0..dice.below(4) {
            let i = dice.below(plan.instances as u64) as usize;
            plan.ops.push((2500 + dice.below(end.max(1)), Op::Offline(i)));
        }
        plan.ops.sort_by_key(|(at, _)| *at);
        plan
    }

    /// Some disks fail for a moment. Chances of its own, as of all that was added to the worlds later.
    fn fail_disks(&mut self) {
        let mut dice = SplitMix(self.chances ^ 0xFA_11);
        if dice.below(4) != 0 {
            return;
        }
        let end = self.ops.last().map_or(0, |(at, _)| *at);
        for _ in 0..1 + dice.below(3) {
            let i = dice.below(self.instances as u64) as usize;
            let at = 400 + dice.below(end.max(400));
            self.ops.push((at, Op::Fail(i, 1 + dice.below(30), dice.next())));
            self.ops.push((at + 5, Op::Write(0, 1 + dice.below(10) as u32)));
        }
        self.ops.sort_by_key(|(at, _)| *at);
    }

    /// Redo of a copy stands still under much load, and mostly goes on later.
    fn let_redo_lag(&mut self) {
        let mut dice = SplitMix(self.chances ^ 0x1A_66);
        if dice.below(4) != 0 {
            return;
        }
        let end = self.ops.last().map_or(0, |(at, _)| *at);
        for _ in 0..1 + dice.below(2) {
            let i = dice.below(self.instances as u64) as usize;
            let at = 1000 + dice.below(end.max(1000));
            let time = 100 + dice.below(4000);
            self.ops.push((at, Op::Lag(i, 1)));
            for _ in 0..1 + dice.below(6) {
                self.ops.push((at + dice.below(time), Op::Write(0, 10 + dice.below(60) as u32)));
            }
            if dice.below(4) != 0 {
                self.ops.push((at + time, Op::Lag(i, 0)));
            }
        }
        self.ops.sort_by_key(|(at, _)| *at);
    }

    /// Copies are taken out of the group under load, and mostly joined again: at once, soon, or after others have led.
    fn take_copies_out(&mut self) {
        let mut dice = SplitMix(self.chances ^ 0x0FF_1E7);
        if dice.below(4) != 0 {
            return;
        }
        let end = self.ops.last().map_or(0, |(at, _)| *at);
        for _ in 0..1 + dice.below(3) {
            let i = dice.below(self.instances as u64) as usize;
            let d = dice.below(self.databases as u64) as usize;
            let at = 1000 + dice.below(end.max(1000));
            let out = [0, 50, 1000, 8000][dice.below(4) as usize];
            self.ops.push((at, Op::Write(d, 1 + dice.below(10) as u32)));
            self.ops.push((at + dice.below(10), Op::Leave(i, d)));
            self.ops.push((at + 10 + dice.below(100), Op::Write(d, 1 + dice.below(10) as u32)));
            if out > 0 {
                self.ops.push((at + 10 + dice.below(out), Op::Join(i, d)));
            }
        }
        self.ops.sort_by_key(|(at, _)| *at);
    }

    /// Somebody starts an instance from an older copy of its disk.
    fn go_back(&mut self) {
        let mut dice = SplitMix(self.chances ^ 0x01_D0);
        if dice.below(6) != 0 {
            return;
        }
        let end = self.ops.last().map_or(0, |(at, _)| *at);
        let i = dice.below((self.instances + usize::from(self.witness)) as u64) as usize;
        let at = 2500 + dice.below(end.max(2500));
        let back = at + 1000 + dice.below(5000);
        self.ops.extend([
            (at, Op::Keep(i)),
            (at + dice.below(1000), Op::Write(0, 5)),
            (at + dice.below(1000), Op::Failover(dice.below(self.instances as u64) as usize)),
            (back, Op::Old(i)),
            (back + 100 + dice.below(1500), Op::Restart(i)),
        ]);
        self.ops.sort_by_key(|(at, _)| *at);
    }

    /// A node is taken out of the group, perhaps of the cluster too, while clients write, and comes back; or all but one are
    /// down, and an operator lets that one decide alone and forces it to lead.
    fn change_members(&mut self) {
        let mut dice = SplitMix(self.chances ^ 0x6E_0D);
        let end = self.ops.last().map_or(0, |(at, _)| *at);
        let i = dice.below(self.instances as u64) as usize;
        let mut ops = Vec::new();
        match dice.below(8) {
            0 | 1 if self.instances > 2 => {
                let at = 2500 + dice.below(end);
                let back = at + 1000 + dice.below(3000);
                ops.extend([(at, Op::Write(0, 5)), (at + 20, Op::Remove(i)), (at + 60, Op::Write(0, 5))]);
                if dice.coin() {
                    ops.push((at + 300 + dice.below(600), Op::Dismiss(i)));
                }
                ops.extend([(back, Op::Add(i)), (back + 30, Op::Write(0, 5)), (back + 600, Op::Write(0, 5))]);
            }
            2..=5 if self.force => {
                let at = end + 1000;
                ops.extend([
                    (at, Op::HealAll),
                    (at + 10, Op::RestartAll(10, dice.next())),
                    (at + 4000, Op::Write(0, 5)),
                ]);
                let others = (0..self.instances + usize::from(self.witness)).filter(|j| *j != i);
                ops.extend(others.map(|j| (at + 4010 + dice.below(30), Op::Crash(j, dice.next()))));
                ops.extend([
                    (at + 6500, Op::ForceQuorum(i)),
                    (at + 7500, Op::Force(i)),
                    (at + 8500, Op::Write(0, 5)),
                ]);
                ops.extend([
                    (at + 9000, Op::RestartAll(dice.below(800), dice.next())),
                    (at + 13_000, Op::Write(0, 5)),
                ]);
            }
            _ => {}
        }
        self.ops.extend(ops);
        self.ops.sort_by_key(|(at, _)| *at);
    }

    /// Troubles that come together by accident too seldom.
    fn set_piece(&mut self, at: u64, dice: &mut SplitMix) {
        let n = self.instances as u64;
        let i = dice.below(n) as usize;
        let mut then = |after: u64, op: Op| self.ops.push((at + after, op));
        match dice.below(6) {
            0 => {
                then(100, Op::Write(0, 5));
                then(150 + dice.below(100), Op::CrashAll(dice.next()));
                if dice.coin() {
                    then(300, Op::Damage(i, dice.below(300)));
                }
                then(400, Op::RestartAll(dice.below(1500), dice.next()));
                then(8000, Op::Write(0, 5));
            }
            1 => {
                then(100, Op::Write(0, 5));
                then(150, Op::Isolate(i, 1 + dice.below(3) as u8));
                then(200, Op::Write(0, 5));
                then(2500, Op::Write(0, 5));
                then(3000, Op::HealAll);
            }
            2 => then(100, Op::Wipe(i)),
            _ => {}
        }
    }

    fn pick_for_cluster(&self, kind: &str, dice: &mut SplitMix) -> Op {
        let n = self.instances + usize::from(self.witness);
        let i = dice.below(n as u64) as usize;
        match kind {
            "isolate" => Op::Isolate(i, 1 + dice.below(3) as u8),
            "healall" => Op::HealAll,
            "crashall" => Op::CrashAll(dice.next()),
            "restartall" => Op::RestartAll(dice.below(1500), dice.next()),
            "wipe" => Op::Wipe(i),
            "damage" => Op::Damage(i, dice.below(200)),
            "sick" => Op::Sick(i),
            "well" if dice.coin() => Op::Better(i),
            "well" => Op::Well(i),
            "stall" => Op::Slow(i, 500 + dice.below(6000)),
            "crash" => Op::Crash(i, dice.next()),
            "powercut" => Op::PowerCut(i, 1 + dice.below(12), dice.next()),
            "restart" => Op::Restart(i),
            "cut" | "heal" | "reset" => {
                let j = (i + 1 + dice.below(n as u64 - 1) as usize) % n;
                match kind {
                    "cut" => Op::Cut(i, j),
                    "heal" => Op::Heal(i, j),
                    _ => Op::Reset(i, j),
                }
            }
            "pause" => Op::Pause(i, 50 + dice.below(4000)),
            "jump" => Op::Jump(i, dice.below(20_000)),
            other => {
                let kinds = [
                    ("slow", 9),
                    ("full", 10),
                    ("free", 11),
                    ("checkpoint", 12),
                    ("failover", 13),
                    ("force", 16),
                    ("offline", 17),
                    ("suspend", 18),
                    ("resume", 19),
                    ("required", 20),
                    ("mode", 21),
                    ("remove", 22),
                    ("add", 23),
                ];
                let kind = kinds.iter().find(|k| k.0 == other).map_or(12, |k| k.1);
                self.pick(kind, dice)
            }
        }
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

    /// The same world with real databases, and with some troubles that only they have.
    #[must_use]
    pub fn with_real_databases(mut self) -> Plan {
        let mut dice = SplitMix(self.chances ^ 0xC4EC);
        let end = self.ops.last().map_or(0, |(at, _)| *at);
        let start = if self.cluster { 2500 } else { 600 };
        for _ in 0..dice.below(4) {
            let i = dice.below(self.instances as u64) as usize;
            let d = dice.below(self.databases as u64) as usize;
            let at = start + dice.below(end.max(start + 1) - start);
            self.ops.push((at, Op::Write(d, 5 + dice.below(20) as u32)));
            self.ops.push((at + 30, Op::CheckpointCut(i, d, 1 + dice.below(48), dice.next())));
            self.ops.push((at + 300 + dice.below(900), Op::Restart(i)));
        }
        if self.cluster && dice.coin() {
            // A primary that is cut off goes on writing; what nobody else has is taken back when it follows again.
            let i = dice.below(self.instances as u64) as usize;
            let at = end + 2500;
            self.ops.push((at, Op::HealAll));
            self.ops.push((at + 10, Op::RestartAll(10, dice.next())));
            self.ops.push((at + 3000, Op::Write(0, 5)));
            self.ops.push((at + 3200, Op::Isolate(i, 1 + dice.below(3) as u8)));
            for n in 0..4 {
                self.ops.push((at + 3210 + n * 60, Op::Write(0, 6)));
            }
            self.ops.push((at + 5000 + dice.below(2000), Op::HealAll));
            self.ops.push((at + 8000, Op::Write(0, 5)));
        }
        self.ops.sort_by_key(|(at, _)| *at);
        Plan { real: true, ..self }
    }
}

/// How many kinds [`Plan::pick`] knows.
const KINDS: u64 = 26;

/// Troubles of clusters; what is there twice comes twice as often.
const CLUSTER_KINDS: [&str; 36] = [
    "damage",
    "damage",
    "isolate",
    "isolate",
    "healall",
    "healall",
    "healall",
    "crashall",
    "restartall",
    "restartall",
    "wipe",
    "sick",
    "well",
    "stall",
    "crash",
    "crash",
    "crash",
    "powercut",
    "restart",
    "restart",
    "restart",
    "cut",
    "heal",
    "reset",
    "pause",
    "pause",
    "jump",
    "slow",
    "full",
    "free",
    "checkpoint",
    "failover",
    "failover",
    "force",
    "suspend",
    "resume",
];
