//! The parts into which a range of a table is cut: whoever is free takes the next one.

use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Parts for each thread: enough that nobody waits long for the last one.
pub(crate) const PARTS_EACH: usize = 16;

/// Low and high end of a part.
type Part<'m> = (Bound<&'m [u8]>, Bound<&'m [u8]>);

/// A range in parts, ascending. Taken in this order, or from the end by a backward scan.
#[derive(Debug)]
pub(crate) struct Morsels {
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
    /// Where one part ends and the next begins.
    cuts: Vec<Vec<u8>>,
    next: AtomicUsize,
}

impl Morsels {
    pub fn new(low: Bound<Vec<u8>>, high: Bound<Vec<u8>>, cuts: Vec<Vec<u8>>) -> Morsels {
        Morsels { low, high, cuts, next: AtomicUsize::new(0) }
    }

    /// How many parts there are.
    pub fn count(&self) -> usize {
        self.cuts.len() + 1
    }

    /// Nobody takes any more.
    pub fn end(&self) {
        self.next.store(self.count(), Ordering::Relaxed);
    }

    /// The next part that nobody has taken.
    pub fn take(&self, backward: bool) -> Option<Part<'_>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number >= self.count() {
            return None;
        }
        let at = if backward { self.cuts.len() - number } else { number };
        let low = match at.checked_sub(1) {
            None => self.low.as_ref().map(Vec::as_slice),
            Some(before) => Bound::Included(self.cuts[before].as_slice()),
        };
        let high = match self.cuts.get(at) {
            None => self.high.as_ref().map(Vec::as_slice),
            Some(cut) => Bound::Excluded(cut.as_slice()),
        };
        Some((low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_leave_nothing_out() {
        let morsels = || Morsels::new(Bound::Unbounded, Bound::Excluded(vec![9]), vec![vec![3], vec![5]]);
        let all = |backward| {
            let morsels = morsels();
            std::iter::from_fn(|| morsels.take(backward).map(|part| format!("{part:?}"))).collect::<Vec<_>>()
        };
        let forward = all(false);
        assert_eq!(
            forward,
            [
                "(Unbounded, Excluded([3]))",
                "(Included([3]), Excluded([5]))",
                "(Included([5]), Excluded([9]))"
            ]
        );
        assert_eq!(all(true), forward.into_iter().rev().collect::<Vec<_>>());
    }
}
