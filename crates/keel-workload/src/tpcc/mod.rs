//! TPROC-C: the order-entry workload of the TPC-C specification (revision 5.11), run through stored procedures as
//! HammerDB does it. Not a TPC result: no terminals, no audited pricing, think time off by default.
//!
//! Five transactions in the specification's mix; new orders per minute (NOPM) is the figure. The same tables, the
//! same procedures statement by statement, in T-SQL and in PL/pgSQL, so that two servers do the same work.
//!
//! [`check::consistency`] holds the specification's consistency conditions 1-4 (section 3.3.2): a lost or torn
//! transaction breaks one of them. [`run::Ledger`] keeps what the server acknowledged; [`check::ledger`] asks for it.

pub mod check;
pub mod load;
pub mod run;
pub mod schema;

/// Items, and stock rows in each warehouse (section 4.3.3.1). The specification's size.
pub const ITEMS: i64 = 100_000;
/// Districts in each warehouse.
pub const DISTRICTS: i64 = 10;
/// Customers in each district.
pub const CUSTOMERS: i64 = 3_000;

/// How much data: the specification's cardinalities, or smaller ones for tests.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: i64,
    /// Items.
    pub items: i64,
    /// Customers in each district, and orders in each district at the start.
    pub customers: i64,
}

impl Scale {
    /// The specification's cardinalities.
    #[must_use]
    pub fn full(warehouses: i64) -> Scale {
        Scale { warehouses, items: ITEMS, customers: CUSTOMERS }
    }
}

/// Last names are three syllables chosen by the digits of a number in 0..=999 (section 4.3.2.3).
#[must_use]
pub fn last_name(number: i64) -> String {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    [number / 100, number / 10 % 10, number % 10].iter().map(|d| SYLLABLES[*d as usize % 10]).collect()
}

/// The specification's non-uniform random number, `NURand(a, low, high)` (section 2.1.6) with C = 123.
pub fn nurand(rng: &mut fastrand::Rng, a: i64, low: i64, high: i64) -> i64 {
    const C: i64 = 123;
    (((rng.i64(0..=a) | rng.i64(low..=high)) + C) % (high - low + 1)) + low
}
