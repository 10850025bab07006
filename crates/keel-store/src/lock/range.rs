//! Intervals of keys, for range requests.

use std::cmp::Ordering;
use std::ops::Bound;

/// A key interval with owned ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    lower: Bound<Box<[u8]>>,
    upper: Bound<Box<[u8]>>,
}

impl Interval {
    /// From two bounds.
    #[must_use]
    pub fn new(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Interval {
        Interval { lower: lower.map(Box::from), upper: upper.map(Box::from) }
    }

    /// One key.
    #[must_use]
    pub fn point(key: &[u8]) -> Interval {
        Interval::new(Bound::Included(key), Bound::Included(key))
    }

    /// Whether some key may lie in both.
    #[must_use]
    pub fn overlaps(&self, other: &Interval) -> bool {
        meets(&self.lower, &other.upper) && meets(&other.lower, &self.upper)
    }

    /// Whether every key of `other` lies in this one.
    #[must_use]
    pub fn contains(&self, other: &Interval) -> bool {
        let lower = match (&self.lower, &other.lower) {
            (Bound::Unbounded, _) => true,
            (_, Bound::Unbounded) => false,
            (Bound::Excluded(mine), Bound::Included(theirs)) => mine < theirs,
            (
                Bound::Included(mine) | Bound::Excluded(mine),
                Bound::Included(theirs) | Bound::Excluded(theirs),
            ) => mine <= theirs,
        };
        let upper = match (&self.upper, &other.upper) {
            (Bound::Unbounded, _) => true,
            (_, Bound::Unbounded) => false,
            (Bound::Excluded(mine), Bound::Included(theirs)) => mine > theirs,
            (
                Bound::Included(mine) | Bound::Excluded(mine),
                Bound::Included(theirs) | Bound::Excluded(theirs),
            ) => mine >= theirs,
        };
        lower && upper
    }
}

/// Whether an interval that begins at `lower` reaches one that ends at `upper`.
fn meets(lower: &Bound<Box<[u8]>>, upper: &Bound<Box<[u8]>>) -> bool {
    match (lower, upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Included(low), Bound::Included(high)) => low.cmp(high) != Ordering::Greater,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            low < high
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Bound::{Excluded, Included, Unbounded};

    fn interval(lower: Bound<&str>, upper: Bound<&str>) -> Interval {
        Interval::new(lower.map(str::as_bytes), upper.map(str::as_bytes))
    }

    #[test]
    fn overlap_respects_open_ends() {
        let b_to_d = interval(Included("b"), Excluded("d"));
        assert!(b_to_d.overlaps(&Interval::point(b"b")));
        assert!(b_to_d.overlaps(&Interval::point(b"c")));
        assert!(!b_to_d.overlaps(&Interval::point(b"d")));
        assert!(!b_to_d.overlaps(&interval(Unbounded, Excluded("b"))));
        assert!(b_to_d.overlaps(&interval(Unbounded, Included("b"))));
        assert!(!b_to_d.overlaps(&interval(Included("d"), Unbounded)));
        assert!(b_to_d.overlaps(&interval(Unbounded, Unbounded)));
    }

    #[test]
    fn containment() {
        let b_to_d = interval(Included("b"), Excluded("d"));
        assert!(b_to_d.contains(&Interval::point(b"c")));
        assert!(!b_to_d.contains(&Interval::point(b"d")));
        assert!(b_to_d.contains(&b_to_d));
        assert!(!b_to_d.contains(&interval(Included("b"), Included("d"))));
        assert!(interval(Unbounded, Unbounded).contains(&b_to_d));
    }
}
