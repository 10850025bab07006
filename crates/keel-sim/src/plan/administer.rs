//! What administrators type at any time, some of it at a bad one: modes and options of a group that is in use, databases that leave it
//! and come back, a witness that is replaced, a second fault in the midst of a planned failover.

use super::{Op, Plan};
use keel_base::env::sim::SplitMix;

impl Plan {
    /// Some worlds are administered. Chances of its own, as of all that was added to the worlds later.
    pub(super) fn administer(&mut self) {
        let mut dice = SplitMix(self.chances ^ 0xAD_311);
        if dice.below(3) != 0 {
            return;
        }
        let start = if self.cluster { 2500 } else { 600 };
        let end = self.ops.last().map_or(0, |(at, _)| *at);
        for _ in 0..1 + dice.below(4) {
            let at = start + dice.below(end.max(start + 1) - start);
            self.administer_once(at, &mut dice);
        }
        self.ops.sort_by_key(|(at, _)| *at);
    }

    fn administer_once(&mut self, at: u64, dice: &mut SplitMix) {
        let n = self.instances;
        let i = dice.below(n as u64) as usize;
        let j = (i + 1 + dice.below(n as u64 - 1) as usize) % n;
        let d = dice.below(self.databases as u64) as usize;
        let back = 200 + dice.below(4000);
        let mostly = dice.below(4) != 0;
        let mut then = |after: u64, op: Op| self.ops.push((at + after, op));
        then(0, Op::Write(d, 1 + dice.below(8) as u32));
        then(back / 2, Op::Write(d, 1 + dice.below(8) as u32));
        match dice.below(9) {
            0 => {
                then(1, Op::Required(1 + dice.below(2) as u8));
                then(back, Op::Required(dice.below(2) as u8));
            }
            1 => {
                then(1, Op::Mode(i, 0));
                then(back, Op::Mode(i, 1));
            }
            2 if !self.external => {
                then(1, Op::Automatic(i, 0));
                if mostly {
                    then(back, Op::Automatic(i, 1));
                }
            }
            3 => {
                then(1, Op::Seeding(i, 0));
                if mostly {
                    then(back, Op::Seeding(i, 1));
                }
            }
            4 => {
                then(1, Op::Suspend(i, d));
                if mostly {
                    then(back, Op::Resume(i, d));
                }
            }
            5 if self.pair.is_none() => {
                then(1, Op::RemoveDatabase(d));
                then(back, Op::AddDatabase(d));
                then(back + 100, Op::Write(d, 3));
            }
            6 if self.witness => {
                then(1, Op::Dismiss(n));
                if mostly {
                    then(back / 2, Op::Wipe(n));
                    then(back / 2 + 50, Op::Restart(n));
                }
                then(back, Op::Enlist);
            }
            7 if self.force => {
                then(1, Op::Force(i));
                then(1 + dice.below(400), Op::Force(j));
            }
            _ => {
                let first =
                    [Op::Slow(i, 100 + dice.below(400)), Op::Full(j), Op::Cut(i, j)][dice.below(3) as usize];
                let second = [Op::Crash(j, dice.next()), Op::Cut(j, i), Op::Full(i)][dice.below(3) as usize];
                then(1, Op::Failover(i));
                then(dice.below(30), first);
                then(1 + dice.below(60), second);
                for op in
                    [Op::Slow(i, 1), Op::Free(i), Op::Free(j), Op::Heal(i, j), Op::Heal(j, i), Op::Restart(j)]
                {
                    then(back, op);
                }
            }
        }
    }
}
