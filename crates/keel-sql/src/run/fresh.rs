//! Whether a plan was made from what is known of its tables now: asked by whoever is about to execute it
//! ([`crate::engine::planning`] has when and why).

use super::Runner;
use crate::engine::TEMPDB;
use crate::program::{Compiled, OUT_OF_DATE, Sampled};
use keel_query::catalog::Catalog as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Runner<'_> {
    /// Whether the statistics that a plan was made from are still what is known of its tables. One that is not would still be right.
    #[inline]
    pub(super) fn is_fresh(&self, compiled: &Compiled) -> bool {
        if compiled.sampled.is_empty() {
            return true;
        }
        let now = self.info.engine.look();
        match compiled.looked.load(Ordering::Relaxed) {
            OUT_OF_DATE => false,
            looked => looked == now || self.has_statistics_of(compiled, now),
        }
    }

    #[cold]
    fn has_statistics_of(&self, compiled: &Compiled, now: u64) -> bool {
        let engine = &self.info.engine;
        let is_known = |s: &Sampled| {
            let Some(entry) = engine.database_by_id(s.database) else { return true };
            let own = (s.database == TEMPDB).then(|| self.info.temp.borrow().by_id(s.object).cloned());
            let Some(table) = own.flatten().or_else(|| entry.picture().table_by_id(s.object)) else {
                return true;
            };
            Arc::ptr_eq(&engine.statistics_of(&entry, &table), &s.statistics)
        };
        let fresh = compiled.sampled.iter().all(is_known);
        compiled.looked.store(if fresh { now } else { OUT_OF_DATE }, Ordering::Relaxed);
        fresh
    }
}
