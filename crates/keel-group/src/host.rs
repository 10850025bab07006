//! [`Host`]: what the process around the groups does for them.

use keel_base::{DatabaseId, Lsn};
use keel_cluster::{GroupDatabaseId, GroupId, LogEntry, RoleStatus};
use keel_node::{Database, DbOptions, Instance};
use std::path::PathBuf;
use std::sync::Arc;

/// A database's access changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleChange {
    /// The group.
    pub group: GroupId,
    /// The database in the group.
    pub database: GroupDatabaseId,
    /// Its name.
    pub name: String,
    /// What it is now; `None` when it is in no group any more.
    pub role: Option<RoleStatus>,
    /// It can be used: on line as primary, following as secondary, or standalone again. False: as after a restore without
    /// recovery, or not decided.
    pub usable: bool,
}

/// Where a new database is to be made.
#[derive(Clone)]
pub struct Place {
    /// The instance it will belong to.
    pub instance: Arc<Instance>,
    /// Its number in the instance.
    pub id: DatabaseId,
    /// Its directory; nothing is there.
    pub dir: PathBuf,
    /// Its log's sizes and limits.
    pub options: DbOptions,
}

/// Called by the groups' threads, one call at a time per group. Implementations may block for a while (ending sessions), but
/// must not call back into [`crate::Groups`] commands.
pub trait Host: Send + Sync {
    /// A database's role changed: sessions that the new role does not allow must end, access follows it.
    fn role_changed(&self, change: &RoleChange);
    /// The group's primary is elsewhere now, or not known ([`crate::Groups::listeners`]). Called by any thread, also beside other
    /// calls, and with the machine locked: it must do no more than wake somebody.
    fn primary_moved(&self, _group: GroupId) {}
    /// This process runs, and is connected to so many peers. Called by the pulse, many times a second: it must take no lock that
    /// anybody holds while he waits. When it is not called, the peers do not hear this instance either.
    fn alive(&self, _peers: usize) {}
    /// A line for the health log and the error log.
    fn log(&self, entry: &LogEntry);
    /// The same for what the machine does not decide: lost connections, seeding.
    fn note(&self, database: Option<GroupDatabaseId>, text: &str);
    /// A database is to be seeded under this name: where to make it. An older copy of the same group database, which the
    /// groups have let go of, is to be removed first. A standalone database of that name, or the place taken
    /// otherwise, is an error told in words.
    fn place(&self, name: &str) -> Result<Place, String>;
    /// The seeded database is whole and open, in no role yet.
    fn seeded(&self, name: &str, place: &Place, database: &Arc<Database>) -> Result<(), String>;
    /// A member has made a backup of the log of a database of which this is the primary, up to `until`, at a time in the host's measure:
    /// to be noted in the database. Called beside other calls; returns whether it is, durably.
    fn log_backed_up(&self, _name: &str, _until: Lsn, _at: i64) -> bool {
        false
    }
    /// A seeding was given up: what was made at the place has been removed.
    fn seeding_ended(&self, name: &str, place: &Place);
}
