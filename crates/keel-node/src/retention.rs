//! Who else needs the log: replicas that have not got it yet, seeding, backups under way.
//!
//! Each **holder** has a name and a position from which on it needs the log. Log is not given back past the lowest of them,
//! but no holder can fill the disk: one that lags by more than the retention limit is given up. Its log goes, and it is
//! marked, so that its replica is made anew instead of being sent a gap.

use crate::database::Database;
use keel_base::Lsn;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// A holder of log, for monitoring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHolder {
    /// Its name.
    pub name: String,
    /// It needs the log from here on.
    pub from: Lsn,
    /// It was given up: log that it needs is gone, or may go at any time.
    pub lost: bool,
}

/// All holders of a database.
pub(crate) struct Holders {
    by_name: Mutex<BTreeMap<String, (Lsn, bool)>>,
    /// Bytes of log kept for a holder at most.
    retention: AtomicU64,
}

impl Default for Holders {
    fn default() -> Holders {
        Holders { by_name: Mutex::new(BTreeMap::new()), retention: AtomicU64::new(u64::MAX) }
    }
}

impl Holders {
    /// The lowest position that is held.
    pub(crate) fn oldest(&self) -> Option<Lsn> {
        self.by_name.lock().values().filter(|(_, lost)| !lost).map(|(from, _)| *from).min()
    }

    /// Gives back log that the database itself needs from `own` on and that ends at `end`, as far as the holders let it;
    /// those that lag too far are given up. Nobody begins to hold meanwhile.
    pub(crate) fn give_back(&self, own: Lsn, end: Lsn, give: impl FnOnce(Lsn)) {
        let retention = self.retention.load(Ordering::Relaxed);
        let mut holders = self.by_name.lock();
        let mut before = own;
        for (from, lost) in holders.values_mut().filter(|holder| !holder.1) {
            if *from < own && end.0.saturating_sub(from.0) > retention {
                *lost = true;
            } else {
                before = before.min(*from);
            }
        }
        give(before);
    }
}

impl Database {
    /// Keeps the log from `from` on for `holder`, instead of the position it held before. False when it lags too far, now
    /// or earlier, or that log is gone already: the replica must be made anew, and the holder released.
    pub fn hold_log(&self, holder: &str, from: Lsn) -> bool {
        let kept = {
            let mut holders = self.holders.by_name.lock();
            let entry = holders.entry(holder.to_owned()).or_insert((from, false));
            entry.0 = from;
            entry.1 |= self.log().is_none_or(|log| from < log.truncated());
            !entry.1
        };
        self.give_log_back();
        kept && self.log_holders().iter().any(|held| held.name == holder && !held.lost)
    }

    /// Ends a holding.
    pub fn release_log(&self, holder: &str) {
        self.holders.by_name.lock().remove(holder);
        self.give_log_back();
    }

    /// Everybody who holds log.
    pub fn log_holders(&self) -> Vec<LogHolder> {
        let holders = self.holders.by_name.lock();
        holders
            .iter()
            .map(|(name, (from, lost))| LogHolder { name: name.clone(), from: *from, lost: *lost })
            .collect()
    }

    /// Sets how many bytes of log are kept for a holder at most; `u64::MAX`, the default, for no limit.
    pub fn set_log_retention(&self, bytes: u64) {
        self.holders.retention.store(bytes, Ordering::Relaxed);
        self.give_log_back();
    }
}
