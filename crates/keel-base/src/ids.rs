//! Positions and identifiers. Each has its own type so that two of them cannot be swapped by accident.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A position in one database's log: the number of log bytes before it since the log began. Grows for ever,
/// never reused. `Lsn(0)` means "before everything". The product's printed forms are made at the SQL boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Before every record.
    pub const ZERO: Lsn = Lsn(0);
    /// After every record that can exist.
    pub const MAX: Lsn = Lsn(u64::MAX);

    /// The position `bytes` further on.
    #[must_use]
    pub const fn advance(self, bytes: u64) -> Lsn {
        Lsn(self.0 + bytes)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Configuration number of the primary that wrote a log block; every new primary starts a greater one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch(pub u64);

/// A database of one instance (`sys.databases.database_id`): 1 `master`, 2 `tempdb`, 3 `model`, 4 `msdb`, 5… users'.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DatabaseId(pub u32);

/// One ordered index of a database: a table's clustered index or heap, or one of its nonclustered indexes.
/// The base tree stores all of them in one B+tree under the key `TreeId (4 bytes, big-endian) ++ key`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TreeId(pub u32);

/// A transaction of one instance, unique since start-up. 0 is never used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxnId(pub u64);
