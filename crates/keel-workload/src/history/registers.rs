//! Is there an order of a register's operations, each somewhere between its beginning and its end, in which every one of them gets
//! the answer it got?
//!
//! The search is Wing and Gong's with Lowe's memory: one operation after the other is taken that began before every other one left
//! has ended, and configurations (operations taken, value) that were seen before are not tried again. Its cost grows with the
//! operations that are under way at once and write, so registers should have few clients and not live long.

use super::Outcome;
use std::collections::HashSet;

/// What was done with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It was read: the value seen (only an operation that ended [`Outcome::Ok`] has one).
    Read(Option<i64>),
    /// It was written.
    Write(i64),
    /// It was set to the second value if it held the first: whether it did.
    CompareAndSet(i64, i64, bool),
}

/// One operation on one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What.
    pub what: What,
    /// When it began, in any unit.
    pub began: u64,
    /// When its outcome was known.
    pub ended: u64,
    /// That outcome.
    pub outcome: Outcome,
}

impl Operation {
    /// It leaves the value as it is, for certain, and is possible on it.
    fn is_known_to_keep(&self, value: i64) -> bool {
        let writes = matches!(self.what, What::Write(_) | What::CompareAndSet(_, _, true));
        self.outcome == Outcome::Ok && !writes && self.apply(value) == Some(value)
    }

    /// The value after it, if it is possible on this one. What ended unknown may always be possible, with any effect it could have.
    fn apply(&self, value: i64) -> Option<i64> {
        let known = self.outcome == Outcome::Ok;
        match self.what {
            What::Read(seen) => (!known || seen == Some(value)).then_some(value),
            What::Write(new) => Some(new),
            What::CompareAndSet(old, new, _) if !known => Some(if old == value { new } else { value }),
            What::CompareAndSet(old, new, true) => (old == value).then_some(new),
            What::CompareAndSet(old, _, false) => (old != value).then_some(value),
        }
    }
}

/// Whether the operations are linearizable on a register that begins with `initial`.
#[must_use]
pub fn is_linearizable(operations: &[Operation], initial: i64) -> bool {
    let known: Vec<Operation> = operations.iter().copied().filter(|o| o.outcome != Outcome::Fail).collect();
    // A read whose answer is not known says nothing.
    let mut rest: Vec<Operation> = known
        .into_iter()
        .filter(|o| o.outcome == Outcome::Ok || !matches!(o.what, What::Read(_)))
        .map(|o| if o.outcome == Outcome::Info { Operation { ended: u64::MAX, ..o } } else { o })
        .collect();
    rest.sort_by_key(|o| o.began);
    let mut seen: HashSet<(Vec<u64>, i64)> = HashSet::new();
    let mut stack = vec![(vec![0u64; rest.len().div_ceil(64)], initial)];
    while let Some((taken, value)) = stack.pop() {
        let is_taken = |i: usize| taken[i / 64] >> (i % 64) & 1 == 1;
        let left = || (0..rest.len()).filter(|i| !is_taken(*i));
        let Some(first_end) = left().map(|i| rest[i].ended).min() else { return true };
        if first_end == u64::MAX {
            // Nobody knows whether what is left has happened.
            return true;
        }
        let due = || left().take_while(|i| rest[*i].began <= first_end);
        // What changes nothing and is possible now need not be tried later as well.
        let still = due().find(|i| rest[*i].is_known_to_keep(value));
        for i in due().filter(|i| still.is_none_or(|still| still == *i)) {
            if let Some(after) = rest[i].apply(value) {
                let mut next = taken.clone();
                next[i / 64] |= 1 << (i % 64);
                if seen.insert((next.clone(), after)) {
                    stack.push((next, after));
                }
            }
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(what: What, began: u64, ended: u64) -> Operation {
        Operation { what, began, ended, outcome: Outcome::Ok }
    }

    fn unknown(what: What, began: u64) -> Operation {
        Operation { what, began, ended: began + 1, outcome: Outcome::Info }
    }

    #[test]
    fn one_after_the_other_must_agree() {
        let history = [op(What::Write(5), 0, 1), op(What::Read(Some(5)), 2, 3)];
        assert!(is_linearizable(&history, 0));
        let stale = [op(What::Write(5), 0, 1), op(What::Read(Some(0)), 2, 3)];
        assert!(!is_linearizable(&stale, 0), "a stale read");
        let phantom = [op(What::Read(Some(9)), 2, 3)];
        assert!(!is_linearizable(&phantom, 0));
    }

    #[test]
    fn what_overlaps_may_be_either_way_but_not_back_and_forth() {
        let write = op(What::Write(5), 0, 10);
        for seen in [0, 5] {
            assert!(is_linearizable(&[write, op(What::Read(Some(seen)), 1, 2)], 0));
        }
        let back = [write, op(What::Read(Some(5)), 1, 2), op(What::Read(Some(0)), 3, 4)];
        assert!(!is_linearizable(&back, 0));
    }

    #[test]
    fn what_is_not_known_may_happen_late_or_never_but_not_before_it_began() {
        let lost = unknown(What::Write(5), 10);
        assert!(is_linearizable(&[lost, op(What::Read(Some(0)), 20, 21)], 0));
        assert!(is_linearizable(
            &[lost, op(What::Read(Some(0)), 20, 21), op(What::Read(Some(5)), 30, 31)],
            0
        ));
        assert!(!is_linearizable(&[lost, op(What::Read(Some(5)), 1, 2)], 0));
    }

    #[test]
    fn what_was_refused_has_not_happened() {
        let refused = Operation { what: What::Write(5), began: 0, ended: 1, outcome: Outcome::Fail };
        assert!(!is_linearizable(&[refused, op(What::Read(Some(5)), 2, 3)], 0));
    }

    #[test]
    fn two_do_not_both_win() {
        let both = [op(What::CompareAndSet(0, 1, true), 0, 9), op(What::CompareAndSet(0, 2, true), 1, 8)];
        assert!(!is_linearizable(&both, 0));
        let one = [op(What::CompareAndSet(0, 1, true), 0, 9), op(What::CompareAndSet(0, 2, false), 1, 8)];
        assert!(is_linearizable(&one, 0));
    }
}
