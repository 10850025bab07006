//! From the slots of sessions to the databases that they are of.

use super::is_written;
use super::record::{Slot, Sums};
use crate::clock;
use crate::engine::{DatabaseEntry, Engine};
use keel_types::error::Result;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Sums by outcome, with whose they are.
type Taken = (Arc<Slot>, Vec<(u8, Sums)>);

/// Takes what all sessions have added up. One at a time: who comes second finds it where it belongs, and not in the first one's hands.
pub(crate) fn gather(engine: &Engine) {
    let _one = engine.gathering.lock();
    gather_held(engine);
}

/// The same unless somebody is at it: for sessions, which have locks of rows and must not wait.
pub(crate) fn gather_if_free(engine: &Engine) {
    if let Some(_one) = engine.gathering.try_lock() {
        gather_held(engine);
    }
}

/// Takes what all sessions have added up. What cannot be read of a database's store, and so cannot be added to, is lost: the next who looks
/// is told why, and the thread that cleans says so in the error log.
pub(super) fn gather_held(engine: &Engine) {
    let mut by_database: BTreeMap<u32, Vec<Taken>> = BTreeMap::new();
    let mut take = |slots: &mut Vec<Arc<Slot>>| {
        for slot in slots.iter() {
            let taken = slot.take();
            if !taken.is_empty() {
                by_database.entry(slot.database.0).or_default().push((Arc::clone(slot), taken));
            }
        }
        // Those that their session has forgotten.
        slots.retain(|slot| Arc::strong_count(slot) > 1);
    };
    engine.sessions.all().iter().for_each(|session| take(&mut session.recorded.0.lock()));
    take(&mut std::mem::take(&mut *engine.sessions.left_behind.0.lock()));
    for (database, taken) in by_database {
        if let Some(entry) = engine.database_by_id(keel_base::DatabaseId(database)) {
            let _ = add(&entry, &taken);
        }
    }
}

fn add(entry: &DatabaseEntry, taken: &[Taken]) -> Result<()> {
    if !is_written(entry) || !entry.query_store.captures() {
        return Ok(());
    }
    let picture = entry.picture();
    let Some(settings) = &picture.settings().query_store else { return Ok(()) };
    let behind = i64::from(clock::offset_minutes()) * clock::TICKS_PER_MINUTE;
    let mut memory = super::loaded(entry)?;
    for (slot, sums) in taken {
        memory.take(settings, picture.settings().compatibility, slot, sums, behind);
    }
    entry.query_store.bytes.store(memory.bytes(), Ordering::Relaxed);
    drop(memory);
    entry.query_store.follow(entry);
    Ok(())
}
