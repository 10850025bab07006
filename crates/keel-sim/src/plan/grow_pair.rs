//! The plan of a seed for two groups and a distributed availability group over them.

use super::{Op, Pair, Plan};
use keel_base::env::sim::SplitMix;

/// Troubles of pairs; what is there twice comes twice as often.
const KINDS: [&str; 40] = [
    "change roles",
    "change roles",
    "change roles",
    "disaster",
    "disaster",
    "yield",
    "take",
    "take",
    "apart",
    "apart",
    "together",
    "together",
    "far",
    "pace",
    "side loses power",
    "leaders crash",
    "leaders crash",
    "isolate",
    "healall",
    "healall",
    "crashall",
    "restartall",
    "restartall",
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
    "jump",
    "slow",
    "stall",
    "checkpoint",
    "failover",
    "fewer",
];

impl Plan {
    /// The plan of a seed for a pair of groups.
    pub fn grow_pair(seed: u64, length: u64) -> Plan {
        let mut dice = SplitMix(seed ^ 0x0DA6_0DA6);
        let _ = dice.next();
        let sizes = [2, 3, 3];
        let (first, second) = (sizes[dice.below(3) as usize], sizes[dice.below(3) as usize]);
        let databases = [1, 1, 2][dice.below(3) as usize];
        let mut plan = Plan {
            instances: first + second,
            databases,
            force: dice.below(3) == 0,
            cluster: dice.below(4) != 0,
            external: false,
            pair: Some(Pair { second, synchronous: dice.below(3) != 0 }),
            witness: false,
            late: 0,
            chances: dice.next(),
            lossy: [0, 0, 5, 50][dice.below(4) as usize],
            real: false,
            walls: seed | 1,
            ops: Vec::new(),
        };
        let kinds: Vec<&str> = KINDS.into_iter().filter(|_| dice.below(3) == 0).collect();
        // Now and then before the two have met.
        let mut at = [500, 3000, 4500, 4500][dice.below(4) as usize];
        let end = at + length;
        while at < end {
            let pause = if dice.below(3) == 0 { 3000 } else { 400 };
            at += 1 + dice.below(pause);
            if kinds.is_empty() || dice.coin() {
                let database = dice.below(databases as u64) as usize;
                plan.ops.push((at, Op::Write(database, 1 + dice.below(20) as u32)));
            } else {
                let kind = kinds[dice.below(kinds.len() as u64) as usize];
                plan.trouble_pair(at, kind, &mut dice);
            }
        }
        plan.ops.sort_by_key(|(at, _)| *at);
        plan.fail_disks();
        plan.let_redo_lag();
        plan.take_copies_out();
        plan.administer();
        plan
    }

    fn trouble_pair(&mut self, at: u64, kind: &str, dice: &mut SplitMix) {
        let second = self.pair.map_or(0, |pair| pair.second);
        let side = dice.below(2) as usize;
        let members =
            if side == 0 { 0..self.instances - second } else { self.instances - second..self.instances };
        let mut then = |after: u64, op: Op| self.ops.push((at + after, op));
        match kind {
            // The product's way: synchronous, the role is given up, and taken on the other side.
            "change roles" => {
                if dice.below(3) == 0 {
                    then(0, Op::Pace(1 + dice.below(2) as u8));
                }
                let after = 100 + dice.below(400);
                then(after, Op::Write(0, 1 + dice.below(5) as u32));
                // One of the two is not the source, and says so.
                then(after + dice.below(20), Op::Yield(0));
                then(after + dice.below(20), Op::Yield(1));
                let taken = after + [10, 60, 300, 2000][dice.below(4) as usize];
                for again in 0..1 + dice.below(4) {
                    then(taken + again * (1 + dice.below(60)), Op::Take(side));
                }
                then(taken + 500, Op::Write(0, 5));
            }
            // The sides part, the one takes the role, clients write on both, and they meet again.
            "disaster" => {
                then(0, Op::Write(0, 5));
                then(1, Op::Apart(1 + dice.below(3) as u8));
                then(50, Op::Write(0, 5));
                let forced = 60 + dice.below(7000);
                then(forced, Op::Take(side));
                then(forced + dice.below(600), Op::Write(0, 5));
                let back = forced + dice.below(4000);
                then(back, Op::Apart(0));
                then(back + dice.below(300), Op::Write(0, 5));
                for i in members {
                    if dice.coin() {
                        then(back + dice.below(3000), Op::Resume(i, 0));
                    }
                }
            }
            "side loses power" => {
                for i in members.clone() {
                    then(dice.below(5), Op::Crash(i, dice.next()));
                }
                if dice.coin() {
                    then(50 + dice.below(2000), Op::Take(1 - side));
                }
                let back = 100 + dice.below(6000);
                for i in members {
                    then(back + dice.below(1000), Op::Restart(i));
                }
            }
            // Whoever they are: one of each side.
            "leaders crash" => {
                for i in [members.start, (members.start + second) % self.instances] {
                    if dice.below(4) != 0 {
                        self.ops.push((at + dice.below(30), Op::Crash(i, dice.next())));
                        self.ops.push((at + 500 + dice.below(5000), Op::Restart(i)));
                    }
                }
            }
            "yield" => then(0, Op::Yield(side)),
            "take" => then(0, Op::Take(side)),
            "apart" => then(0, Op::Apart(1 + dice.below(3) as u8)),
            "together" => then(0, Op::Apart(0)),
            "far" => then(0, Op::Far([0, 5, 50, 400][dice.below(4) as usize])),
            "pace" => then(0, Op::Pace(dice.below(3) as u8)),
            "fewer" => {
                let kind = ["mode", "suspend", "resume", "force", "required", "full", "free", "sick", "well"];
                let op = self.pick_for_cluster(kind[dice.below(9) as usize], dice);
                self.ops.push((at, op));
            }
            other => {
                let op = self.pick_for_cluster(other, dice);
                self.ops.push((at, op));
            }
        }
    }
}
