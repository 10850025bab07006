//! Pictures of a copy's catalog by position: what a secondary's readers bind against.
//!
//! ```text
//!   log       ──┬────────────┬──────────┬─────► redo
//!            change c1     change c2   stable point
//!   snapshot S     c1 ≤ S < c2: picture of that era
//! ```
//! A primary's catalog changes under locks that readers of the schema respect. A copy's changes by redo, which waits for
//! nobody: a transaction there binds every statement against the picture of its own snapshot. Between two changes, in one
//! **era**, all snapshots have the same picture. What redo tells of changes is kept for the newest eras only, and so are the
//! pictures: a transaction keeps the one it began with by itself, so only who begins asks here, at a point that is new. What
//! is not kept is read from the system tree at the snapshot, which shows the catalog of any position like any other rows.
//!
//! Rows that hold no definition (counters) change the system tree as well: an era whose objects are those of another
//! shares its picture, and so its plans.

use crate::catalog::Picture;
use keel_base::Lsn;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Changes whose positions are known; which era a snapshot before them is in is not asked.
const CHANGES_MAX: usize = 64;
/// Pictures kept; sessions that read the same era share one.
const PICTURES_MAX: usize = 4;

/// See the module. Written by redo, read by sessions.
#[derive(Default)]
pub(super) struct History {
    /// 0, or: the catalog has changed, as readers at this position and later see it.
    stale: AtomicU64,
    /// Counts what redo has told of, and changes of role.
    told: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Counts the times everything was forgotten.
    life: u64,
    /// Of snapshots before this nothing is known.
    since: Lsn,
    /// Ascending, all after `since`.
    changes: Vec<Lsn>,
    pictures: Vec<Known>,
}

struct Known {
    /// A snapshot that shows it.
    at: Lsn,
    fingerprint: u64,
    picture: Arc<Picture>,
}

impl Kept {
    /// Which stretch between changes a snapshot is in.
    fn era(&self, at: Lsn) -> usize {
        self.changes.partition_point(|change| *change <= at)
    }
}

impl History {
    /// Redo is about to show a change at `position`; 0: another history begins. Cheap, and waits for nobody.
    pub(super) fn note(&self, position: Lsn) {
        self.told.fetch_add(1, Ordering::AcqRel);
        let mut kept = self.kept.lock();
        if position == Lsn::ZERO {
            *kept = Kept { life: kept.life + 1, ..Kept::default() };
            // Changes that were told before may have been cut off; nobody need wait for their positions.
            self.stale.store(1, Ordering::Release);
            return;
        }
        if let Err(place) = kept.changes.binary_search(&position) {
            kept.changes.insert(place, position);
            if kept.changes.len() > CHANGES_MAX {
                kept.since = kept.changes.remove(0);
                let since = kept.since;
                kept.pictures.retain(|known| known.at >= since);
            }
        }
        self.stale.fetch_max(position.0, Ordering::AcqRel);
    }

    /// The role is another; what has been told of changes still holds.
    pub(super) fn role_changed(&self) {
        self.told.fetch_add(1, Ordering::AcqRel);
        let mut kept = self.kept.lock();
        let since = kept.changes.last().copied().unwrap_or(kept.since);
        *kept = Kept { life: kept.life + 1, since, ..Kept::default() };
        self.stale.fetch_max(1, Ordering::AcqRel);
    }

    /// A number that is another when redo has changed, or is about to change, anything of the catalog since.
    pub(super) fn told(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }

    /// 0, or the position of a change that the picture for everybody may lack.
    pub(super) fn stale(&self) -> u64 {
        self.stale.load(Ordering::Acquire)
    }

    /// The picture for everybody has what was `seen` as missing.
    pub(super) fn caught_up(&self, seen: u64) {
        // What redo has changed since is for the next reader.
        let _ = self.stale.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Which life of the history this is, for [`History::keep`].
    pub(super) fn life(&self) -> u64 {
        self.kept.lock().life
    }

    /// The picture of a snapshot at `at`, if it is kept.
    pub(super) fn find(&self, at: Lsn) -> Option<Arc<Picture>> {
        let kept = self.kept.lock();
        let era = kept.era(at);
        let known = kept.pictures.iter().rfind(|known| kept.era(known.at) == era);
        known.filter(|_| at >= kept.since).map(|known| Arc::clone(&known.picture))
    }

    /// The picture of the objects with this fingerprint, if it is kept.
    pub(super) fn alike(&self, fingerprint: u64) -> Option<Arc<Picture>> {
        let kept = self.kept.lock();
        let known = kept.pictures.iter().rfind(|known| known.fingerprint == fingerprint);
        known.map(|known| Arc::clone(&known.picture))
    }

    /// Keeps what was read at a snapshot, unless everything was forgotten since `life` was asked for.
    pub(super) fn keep(&self, life: u64, at: Lsn, fingerprint: u64, picture: &Arc<Picture>) {
        let mut kept = self.kept.lock();
        if kept.life != life || at < kept.since {
            return;
        }
        let place = kept.pictures.partition_point(|known| known.at <= at);
        kept.pictures.insert(place, Known { at, fingerprint, picture: Arc::clone(picture) });
        if kept.pictures.len() > PICTURES_MAX {
            kept.pictures.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::DatabaseId;
    use keel_query::catalog::Catalog as _;

    fn picture(version: u64) -> Arc<Picture> {
        Arc::new(Picture::empty(DatabaseId(5)).at_version(version))
    }

    #[test]
    fn snapshots_of_one_era_share_a_picture_and_others_do_not() {
        let history = History::default();
        let found = |at| history.find(Lsn(at)).map(|p| p.version());
        history.keep(0, Lsn(10), 1, &picture(1));
        assert_eq!((found(5), found(10), found(99)), (Some(1), Some(1), Some(1)));
        history.note(Lsn(20));
        assert_eq!((found(19), found(20)), (Some(1), None), "a change shows from its position on");
        history.keep(0, Lsn(25), 2, &picture(2));
        history.note(Lsn(30));
        assert_eq!((found(19), found(20), found(29), found(30)), (Some(1), Some(2), Some(2), None));
        assert_eq!(history.alike(1).map(|p| p.version()), Some(1));
        assert_eq!(history.stale(), 30);
    }

    #[test]
    fn what_is_forgotten_is_not_guessed() {
        let history = History::default();
        let life = history.life();
        history.keep(life, Lsn(1), 1, &picture(1));
        for n in 1..=CHANGES_MAX as u64 + 1 {
            history.note(Lsn(n * 10));
        }
        assert!(history.find(Lsn(1)).is_none(), "its era cannot be told any more");
        history.keep(life, Lsn(1), 1, &picture(1));
        assert!(history.find(Lsn(1)).is_none());
        history.keep(life, Lsn(10), 2, &picture(2));
        assert_eq!(history.find(Lsn(19)).map(|p| p.version()), Some(2));
        history.note(Lsn::ZERO);
        assert!(history.find(Lsn(19)).is_none());
        assert_eq!(history.stale(), 1, "what was cut off is not waited for");
        history.note(Lsn(1));
        history.role_changed();
        history.keep(life + 2, Lsn::ZERO, 1, &picture(1));
        assert!(history.find(Lsn(1)).is_none(), "a snapshot before the last change is not kept");
        history.keep(life, Lsn(10), 2, &picture(2));
        assert!(history.find(Lsn(10)).is_none(), "read before the history was another");
        for n in 0..=PICTURES_MAX as u64 {
            history.keep(life + 2, Lsn(n + 1), n, &picture(n));
        }
        assert!(history.alike(0).is_none(), "the oldest goes");
        assert!(history.alike(PICTURES_MAX as u64).is_some());
    }
}
