//! TPROC-H: the decision-support workload derived from the TPC-H specification (revision 3), as HammerDB calls its own. Not a
//! TPC result, and not comparable with published ones: nothing is audited or priced, and comments are sentences of our own.
//!
//! Eight tables ([`schema`]), rows by the specification's rules ([`rows`]), 22 queries whose parameters are drawn for each
//! stream from a seed ([`queries`]), and two refresh functions that insert and delete a thousandth of the orders
//! ([`refresh`]). The *power test* is one stream with a refresh before and after it, the *throughput test* several streams at
//! once with as many refreshes beside them; [`metrics`] makes the figures of both.
//!
//! Every row depends on the seed, its table and its key alone, so that loaders share the work as they like ([`load`]) and the
//! rows of an order can be made again when it is deleted. What was loaded and refreshed is added up ([`load::Tally`]), and
//! [`check`] asks the server for the same sums. [`answers`] compares what two streams with the same parameters were told.
//!
//! Other than in the specification: comments are made of fewer words, among them those that queries look for, about as often;
//! the order of a stream's queries is the specification's for the power test, and drawn from the seed for the others; the
//! refreshes of the throughput test begin with the streams.

pub mod answers;
pub mod check;
pub mod load;
pub mod metrics;
pub mod queries;
pub mod refresh;
pub mod rows;
pub mod schema;
mod words;

/// The smallest scale factor at which every rule of the rows can hold.
pub const FACTOR_MIN: f64 = 0.001;
/// The largest: keys of orders are four times their number and must fit into an `int`.
pub const FACTOR_MAX: f64 = 300.0;

/// How much data: the specification's cardinalities (section 4.2.5) times a factor, which may be a fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The scale factor; 1 is about a gigabyte of raw rows.
    pub factor: f64,
}

impl Scale {
    fn times(self, n: f64) -> i64 {
        ((self.factor * n).round() as i64).max(1)
    }

    /// Rows of `supplier`.
    #[must_use]
    pub fn suppliers(self) -> i64 {
        self.times(10_000.0)
    }

    /// Rows of `part`; `partsupp` has four for each.
    #[must_use]
    pub fn parts(self) -> i64 {
        self.times(200_000.0)
    }

    /// Rows of `customer`.
    #[must_use]
    pub fn customers(self) -> i64 {
        self.times(150_000.0)
    }

    /// Rows of `orders`; `lineitem` has one to seven for each.
    #[must_use]
    pub fn orders(self) -> i64 {
        self.times(1_500_000.0)
    }

    /// Orders that one refresh inserts, and that one deletes.
    #[must_use]
    pub fn refreshed(self) -> i64 {
        self.times(1_500.0)
    }

    /// Clerks that orders name.
    #[must_use]
    pub fn clerks(self) -> i64 {
        self.times(1_000.0)
    }

    /// Streams that the specification asks of a throughput test at least (section 5.3.4).
    #[must_use]
    pub fn streams_min(self) -> u32 {
        match self.factor {
            f if f < 10.0 => 2,
            f if f < 30.0 => 3,
            f if f < 100.0 => 4,
            f if f < 300.0 => 5,
            _ => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cardinalities_follow_the_factor() {
        let one = Scale { factor: 1.0 };
        assert_eq!(
            (one.suppliers(), one.parts(), one.customers(), one.orders(), one.refreshed()),
            (10_000, 200_000, 150_000, 1_500_000, 1_500)
        );
        let small = Scale { factor: FACTOR_MIN };
        assert_eq!((small.suppliers(), small.parts(), small.refreshed()), (10, 200, 2));
        assert_eq!(small.clerks(), 1, "no cardinality is zero");
        let highest_key = rows::order_key(Scale { factor: FACTOR_MAX }.orders(), 1);
        assert!(highest_key < i64::from(i32::MAX), "{highest_key} fits into an int");
    }
}
