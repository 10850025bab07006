//! Making a failing plan small: leave out as many operations as possible, in ever smaller runs, while it still fails.

use crate::plan::Plan;

/// The smallest plan found that still fails, and how it fails. Tries at most `tries_max` plans.
pub fn shrink(plan: &Plan, tries_max: usize) -> (Plan, String) {
    let mut best = plan.clone();
    let mut why = crate::run(&best).err().unwrap_or_default();
    let mut tries = 0;
    let mut run = best.ops.len().div_ceil(2).max(1);
    loop {
        let mut shrunk = false;
        let mut at = 0;
        while at < best.ops.len() && tries < tries_max {
            let mut candidate = best.clone();
            candidate.ops.drain(at..(at + run).min(best.ops.len()));
            tries += 1;
            match crate::run(&candidate) {
                Err(error) => {
                    best = candidate;
                    why = error;
                    shrunk = true;
                }
                Ok(_) => at += run,
            }
        }
        if tries >= tries_max || run == 1 && !shrunk {
            return (best, why);
        }
        if !shrunk || run > best.ops.len() {
            run = (run / 2).max(1);
        }
    }
}
