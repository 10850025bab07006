//! What happens to a group as a whole: it is dropped and made anew while faults happen, new nodes come and old ones are evicted; and more
//! that administrators change, and disks that are full in part.

use super::{Op, Plan};
use keel_base::env::sim::SplitMix;

/// Whoever leads: no instance has this number.
const LEADER: usize = 99;

impl Plan {
    /// Some worlds have one of these. Chances of its own, as of all that was added to the worlds later.
    pub(super) fn change_more(&mut self) {
        let mut dice = SplitMix(self.chances ^ 0x0003_0E0E);
        let start = if self.cluster { 2500 } else { 600 };
        let end = self.ops.last().map_or(0, |(at, _)| *at).max(start + 1);
        let at = start + dice.below(end - start);
        match dice.below(12) {
            0 | 1 => self.fill_one_disk(at, &mut dice),
            2 => self.change_session_timeouts(at, &mut dice),
            3 => self.change_listeners(at, &mut dice),
            // An old disk knows a group that was dropped, and nobody can tell it.
            4 | 5 if !self.force && !self.has_old_disks() => self.make_anew(at, &mut dice),
            6 if self.cluster && !self.witness && self.instances < 5 => self.bring_new_nodes(at, &mut dice),
            _ => {}
        }
        self.ops.sort_by_key(|(at, _)| *at);
    }

    fn has_old_disks(&self) -> bool {
        self.ops.iter().any(|(_, op)| matches!(op, Op::Old(_) | Op::Wipe(_) | Op::ForceQuorum(_)))
    }

    /// The disk of the logs, or that of everything else, has no room for a while.
    fn fill_one_disk(&mut self, at: u64, dice: &mut SplitMix) {
        let i = dice.below(self.instances as u64) as usize;
        let d = dice.below(self.databases as u64) as usize;
        let full = if dice.coin() { Op::FullLog(i) } else { Op::FullData(i) };
        let time = 200 + dice.below(6000);
        let writes =
            (0..2 + dice.below(5)).map(|_| (at + dice.below(time), Op::Write(d, 5 + dice.below(20) as u32)));
        self.ops.extend(writes.collect::<Vec<_>>());
        self.ops.push((at, full));
        self.ops.push((at + dice.below(time), Op::Checkpoint(i, d)));
        match dice.below(4) {
            0 => self.ops.push((at + dice.below(time), Op::Failover(i))),
            1 => self.ops.push((at + dice.below(time), Op::Crash(i, dice.next()))),
            _ => {}
        }
        self.ops.push((at + time, Op::Free(i)));
        self.ops.push((at + time + dice.below(500), Op::Restart(i)));
    }

    fn change_session_timeouts(&mut self, at: u64, dice: &mut SplitMix) {
        let i = dice.below(self.instances as u64) as usize;
        let back = 500 + dice.below(6000);
        self.ops.push((at, Op::Timeout(i, 5 + dice.below(30) as u8)));
        self.ops.push((at + dice.below(back), Op::Write(0, 5)));
        if dice.coin() {
            let ways = 1 + dice.below(3) as u8;
            self.ops.push((at + dice.below(back), Op::Isolate(i, ways)));
            self.ops.push((at + back + dice.below(4000), Op::HealAll));
        }
        self.ops.push((at + back, Op::Timeout(i, 5 + dice.below(6) as u8)));
    }

    fn change_listeners(&mut self, at: u64, dice: &mut SplitMix) {
        for _ in 0..1 + dice.below(4) {
            self.ops.push((at + dice.below(4000), Op::Listeners(dice.below(3) as u8)));
        }
        let i = dice.below(self.instances as u64) as usize;
        self.ops.push((at + dice.below(4000), Op::Failover(i)));
    }

    /// DROP AVAILABILITY GROUP, mostly where it is led, and CREATE of the name where somebody is, perhaps before the other is through and
    /// more than once; and something else goes wrong meanwhile.
    fn make_anew(&mut self, mut at: u64, dice: &mut SplitMix) {
        let n = self.instances as u64;
        for _ in 0..1 + dice.below(2) {
            let mut then = |after: u64, op: Op| self.ops.push((at + after, op));
            let i = dice.below(n) as usize;
            let j = (i + 1 + dice.below(n - 1) as usize) % n as usize;
            then(0, Op::Write(0, 1 + dice.below(8) as u32));
            let by = if dice.below(3) == 0 { i } else { LEADER };
            then(dice.below(30), Op::Drop(by));
            match dice.below(8) {
                0 => then(dice.below(60), Op::Crash(i, dice.next())),
                1 => then(dice.below(60), Op::Isolate(i, 1 + dice.below(3) as u8)),
                2 => then(dice.below(60), Op::PowerCut(i, 1 + dice.below(12), dice.next())),
                3 => then(dice.below(60), Op::Full(i)),
                4 => then(dice.below(60), Op::Slow(i, 100 + dice.below(900))),
                5 => then(dice.below(60), Op::Failover(i)),
                _ => {}
            }
            let mut made = 0;
            for _ in 0..1 + dice.below(3) {
                made += [20, 300, 2000][dice.below(3) as usize] + dice.below(200);
                let on = [i, j, dice.below(n) as usize][dice.below(3) as usize];
                let which = [255, 255, 1, 2, 0][dice.below(5) as usize];
                then(made, Op::Create(on, which));
                then(made + 50 + dice.below(1000), Op::Write(0, 1 + dice.below(8) as u32));
            }
            let back = made + dice.below(3000);
            for op in [Op::Free(i), Op::Slow(i, 1), Op::HealAll, Op::Restart(i)] {
                then(back, op);
            }
            then(back + 2500, Op::Write(0, 1 + dice.below(8) as u32));
            at += back + dice.below(4000);
        }
    }

    /// Nodes that the cluster has never had come, and one that it had goes for good.
    fn bring_new_nodes(&mut self, at: u64, dice: &mut SplitMix) {
        let old = dice.below(self.instances as u64) as usize;
        let new = self.instances;
        self.late = 1 + dice.below((5 - self.instances as u64).min(2)) as usize;
        self.instances += self.late;
        for i in new..self.instances {
            let came = at + dice.below(3000);
            for again in 0..3 {
                self.ops.push((came + again * (500 + dice.below(1500)), Op::Add(i)));
            }
            match dice.below(4) {
                0 => {
                    self.ops.push((came + dice.below(2000), Op::Crash(i, dice.next())));
                    self.ops.push((came + 2000 + dice.below(2000), Op::Restart(i)));
                }
                1 => self.ops.push((came + 1000 + dice.below(3000), Op::Failover(i))),
                _ => {}
            }
        }
        let gone = at + 500 + dice.below(5000);
        self.ops.push((gone, Op::Write(0, 5)));
        self.ops.push((gone + 5, Op::Remove(old)));
        if dice.coin() {
            self.ops.push((gone + 200 + dice.below(600), Op::Dismiss(old)));
        }
        self.ops.push((gone + 2000, Op::Write(0, 5)));
    }
}
