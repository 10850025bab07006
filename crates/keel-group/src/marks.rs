//! [`Marks`]: how far each copy certainly reached, noted outside the logs.
//!
//! A disk may lose the end of a log without a trace, and a log cannot tell that of itself. So every [`MARK_EVERY`], if anything
//! has moved, a thread writes down for each copy that leads or follows what is both hardened here and agreed on in its group.
//! A log that ends before its mark is known to be short when it is opened ([`keel_cluster::LogFacts::reached`]), and does not
//! lead. What was committed after the last mark is not covered: then only the other members' logs tell. An instance that
//! stops in order writes its marks last of all, so they are exact then; only what everybody's sudden death cuts off within one
//! period is left.
//!
//! That rest is left on purpose. A mark that is exact at every block is a second durable write with each commit group, since
//! it must not share the fate of the block: under the block's own sync it is lost together with it, and without a sync
//! nothing is known of it after a power cut, which is when logs lose their ends.
//!
//! The marks of all copies are one state in [`crate::slots`]: one write in place and one sync, whatever the number of databases.
//! A mark may become lower: when its copy has cut its log because a primary said so. The mark of a copy that neither leads nor
//! follows only grows: what it lost while nobody looked must not lower it.

use crate::bell::Bell;
use crate::error::GroupError;
use crate::shell::Shared;
use crate::slots::Slots;
use keel_base::Lsn;
use keel_base::env::Env;
use keel_cluster::GroupDatabaseId;
use keel_node::Role;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What is committed and lost within this time is not noticed by a mark.
const MARK_EVERY: Duration = Duration::from_millis(200);

/// The marks of one instance.
pub(crate) struct Marks {
    slots: Mutex<Slots>,
    noted: Mutex<BTreeMap<GroupDatabaseId, Lsn>>,
    /// Set when there were marks and none can be read.
    lost: Option<String>,
    pub(crate) bell: Bell,
}

impl Marks {
    /// Reads what is in `dir`. Marks that cannot be read are as good as none, and the log says so; one slot of the two may be an
    /// interrupted write.
    pub(crate) fn open(env: &Env, dir: &Path) -> Result<Marks, GroupError> {
        let (slots, found) = Slots::open(env, &dir.join("marks"))?;
        let lost = (found.state.is_none() && found.damage.is_some()).then(|| {
            format!(
                "How far the copies of databases reached cannot be read from {}: a log that lost its end may pass for whole.",
                dir.join("marks").display()
            )
        });
        let noted = found.state.map(|bytes| decode(&bytes)).unwrap_or_default();
        Ok(Marks { slots: Mutex::new(slots), noted: Mutex::new(noted), lost, bell: Bell::default() })
    }

    /// What the copy of this database reached; zero when nothing is known.
    pub(crate) fn of(&self, database: GroupDatabaseId) -> Lsn {
        self.noted.lock().get(&database).copied().unwrap_or_default()
    }

    /// Replaces the marks, durably, if they differ.
    fn write(&self, marks: BTreeMap<GroupDatabaseId, Lsn>) -> Result<(), GroupError> {
        if *self.noted.lock() == marks {
            return Ok(());
        }
        self.slots.lock().write(&encode(&marks))?;
        *self.noted.lock() = marks;
        Ok(())
    }
}

fn encode(marks: &BTreeMap<GroupDatabaseId, Lsn>) -> Vec<u8> {
    marks.iter().flat_map(|(id, lsn)| [&id.0.as_bytes()[..], &lsn.0.to_le_bytes()].concat()).collect()
}

fn decode(bytes: &[u8]) -> BTreeMap<GroupDatabaseId, Lsn> {
    let entries = bytes.chunks_exact(24).filter_map(|entry| {
        let (id, lsn) = entry.split_first_chunk::<16>()?;
        Some((GroupDatabaseId(uuid::Uuid::from_bytes(*id)), Lsn(u64::from_le_bytes(lsn.try_into().ok()?))))
    });
    entries.collect()
}

impl Shared {
    /// The body of the thread that writes marks.
    pub(crate) fn run_marks(self: &Arc<Self>) {
        if let Some(lost) = &self.marks.lost {
            self.note(None, lost);
        }
        let mut failing = false;
        while !self.stopping.load(Ordering::Acquire) {
            self.marks.bell.wait_for(MARK_EVERY);
            let result = self.marks.write(self.present_marks());
            if let Some(error) = result.as_ref().err().filter(|_| !failing) {
                self.note(None, &format!("How far the copies of databases reach cannot be written: {error}"));
            }
            failing = result.is_err();
        }
    }

    /// Writes what the copies have reached when nothing moves any more: connections and sessions have ended.
    pub(crate) fn write_last_marks(&self) {
        if let Err(error) = self.marks.write(self.present_marks()) {
            self.note(None, &format!("How far the copies of databases reach cannot be written: {error}"));
        }
    }

    fn present_marks(&self) -> BTreeMap<GroupDatabaseId, Lsn> {
        let mut marks = self.marks.noted.lock().clone();
        let named: Vec<GroupDatabaseId> =
            self.machine.lock().configs().flat_map(|c| c.databases.iter().map(|d| d.id)).collect();
        marks.retain(|id, _| named.contains(id));
        for copy in self.copies.read().values().filter(|c| named.contains(&c.id)) {
            let counts = match copy.db.role() {
                Role::Primary => true,
                Role::Secondary => copy.receiving_session().is_some(),
                Role::Standalone | Role::Resolving => false,
            };
            let reached = copy.db.agreed().min(copy.log().hardened());
            let known = marks.get(&copy.id).copied().unwrap_or_default();
            if (counts && reached > Lsn::ZERO) || reached > known {
                marks.insert(copy.id, reached);
            }
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, Tear, env};
    use uuid::Uuid;

    #[test]
    fn marks_survive_a_power_cut_and_may_become_lower() {
        let (one, two) = (GroupDatabaseId(Uuid::from_u128(1)), GroupDatabaseId(Uuid::from_u128(2)));
        let mut disk = SimDisk::new();
        for (first, second) in [(100, 7), (250, 7), (200, 9)] {
            let marks = Marks::open(&env(&disk, 1), Path::new("groups")).unwrap();
            marks.write(BTreeMap::from([(one, Lsn(first)), (two, Lsn(second))])).unwrap();
            disk = disk.crash(Tear::LoseAll);
            let marks = Marks::open(&env(&disk, 1), Path::new("groups")).unwrap();
            assert_eq!((marks.of(one), marks.of(two)), (Lsn(first), Lsn(second)));
            assert_eq!(marks.of(GroupDatabaseId(Uuid::from_u128(3))), Lsn::ZERO);
            assert_eq!(marks.lost, None);
        }
    }

    #[test]
    fn marks_that_are_gone_are_missed() {
        let disk = SimDisk::new();
        let open = || Marks::open(&env(&disk, 1), Path::new("groups")).unwrap();
        let marks = BTreeMap::from([(GroupDatabaseId(Uuid::from_u128(1)), Lsn(7))]);
        open().write(marks).unwrap();
        for slot in ["groups/marks/state.0", "groups/marks/state.1"] {
            assert_eq!(open().lost, None);
            disk.flip(Path::new(slot), 30, 1);
        }
        assert!(open().lost.is_some_and(|said| said.contains("groups/marks")));
    }
}
