//! Contained availability groups: a group with a `master` and an `msdb` of its own.
//!
//! ```text
//!   group sales:  sales_master  sales_msdb  shop         replicated like any databases of a group
//!   who comes through its listener, or names one of its databases:
//!                 master ─► sales_master     msdb ─► sales_msdb
//! ```
//!
//! ## Model
//!
//! * A group is contained when it has the two databases, by their names: no other database may get these. So every member of the group
//!   knows it by the configuration, also before it has a copy.
//! * Logins, server roles and what is granted to them are rows of the group's `master`; jobs and histories of backups are in its
//!   `msdb`. Both go with the log to every replica, and a failover changes neither.
//! * It is a context, not a wall: by names in three parts and USE the instance's other databases are reached by whoever may.
//!
//! See `docs/groups.md`, and the product's documentation, "Contained availability groups".

use super::Guid;
use super::state::{GroupState, HadrState, Role};
use crate::catalog::{DatabaseSettings, SystemDatabase};
use crate::engine::{DatabaseEntry, Engine, LoginRecord};
use keel_types::error::Result;
use smol_str::SmolStr;
use std::sync::Arc;

/// What `master` and `msdb` are in the context of a contained group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainedGroup {
    /// `group_id`
    pub id: Guid,
    /// The group's name.
    pub name: SmolStr,
    /// Name of its `master`.
    pub master: SmolStr,
    /// Name of its `msdb`.
    pub msdb: SmolStr,
}

impl ContainedGroup {
    /// The group of that id and name, were it contained.
    #[must_use]
    pub fn new(id: Guid, name: &str) -> ContainedGroup {
        let [master, msdb] = system_databases(name).map(SmolStr::from);
        ContainedGroup { id, name: name.into(), master, msdb }
    }

    /// The database that a name stands for in its context.
    #[must_use]
    pub fn real_name<'a>(&'a self, name: &'a str) -> &'a str {
        match system_of(name) {
            Some(SystemDatabase::Master) => &self.master,
            Some(SystemDatabase::Msdb) => &self.msdb,
            None => name,
        }
    }

    /// Which of its system databases has this name.
    #[must_use]
    pub fn role_of(&self, name: &str) -> Option<SystemDatabase> {
        let is = |other: &str| crate::views::same(name, other);
        match () {
            () if is(&self.master) => Some(SystemDatabase::Master),
            () if is(&self.msdb) => Some(SystemDatabase::Msdb),
            () => None,
        }
    }
}

/// Names of the system databases that a contained group of this name has: its `master`, its `msdb`.
#[must_use]
pub fn system_databases(group: &str) -> [String; 2] {
    ["master", "msdb"].map(|system| format!("{group}_{system}"))
}

/// Which system database a name means to those in a context.
#[must_use]
pub fn system_of(name: &str) -> Option<SystemDatabase> {
    let is = |system: &str| name.eq_ignore_ascii_case(system);
    match () {
        () if is("master") => Some(SystemDatabase::Master),
        () if is("msdb") => Some(SystemDatabase::Msdb),
        () => None,
    }
}

impl GroupState {
    /// What it has of its own, if it is contained.
    #[must_use]
    pub fn contained(&self) -> Option<ContainedGroup> {
        let group = ContainedGroup::new(self.id, &self.spec.name);
        let has = |name: &str| self.database(name).is_some();
        (has(&group.master) && has(&group.msdb)).then_some(group)
    }
}

impl HadrState {
    /// The context of who names this database, or comes by a listener of this group.
    #[must_use]
    pub fn context(&self, listener: Option<Guid>, database: &str) -> Option<ContainedGroup> {
        let by_listener = listener.and_then(|id| self.groups.iter().find(|group| group.id == id));
        by_listener
            .or_else(|| self.group_of(database).map(|(group, _)| group))
            .and_then(GroupState::contained)
    }
}

impl Engine {
    /// The context of a client that came by a listener of this group, or names this database.
    #[must_use]
    pub fn context(&self, listener: Option<Guid>, database: &str) -> Option<ContainedGroup> {
        self.hadr()?.state().context(listener, database)
    }

    /// Contained groups whose primary is here.
    #[must_use]
    pub fn contained_primaries(&self) -> Vec<ContainedGroup> {
        let Some(hadr) = self.hadr() else { return Vec::new() };
        let state = hadr.state();
        state.groups.iter().filter(|g| g.role == Role::Primary).filter_map(GroupState::contained).collect()
    }

    /// Makes the system databases of a group that is to be contained: empty ones, with the instance's administrators.
    ///
    /// # Errors
    /// When they cannot be made; none of them stays then.
    pub(super) fn make_system_databases(self: &Arc<Engine>, group: &ContainedGroup) -> Result<()> {
        let made = self.try_system_databases(group);
        if made.is_err() {
            self.drop_system_databases(group);
        }
        made
    }

    /// Removes what [`Engine::make_system_databases`] has made.
    pub(super) fn drop_system_databases(&self, group: &ContainedGroup) {
        for name in [&group.master, &group.msdb] {
            // One that was not made needs no removing.
            let _ = self.drop_database(name);
        }
    }

    fn try_system_databases(self: &Arc<Engine>, group: &ContainedGroup) -> Result<()> {
        let settings = |system| DatabaseSettings {
            recovery: "FULL".to_owned(),
            allow_snapshot: true,
            system: Some(system),
            collation: self.collation().name().to_owned(),
            ..DatabaseSettings::default()
        };
        let master = self.create_database(&group.master, settings(SystemDatabase::Master))?;
        self.copy_administrators(&master)?;
        self.create_database(&group.msdb, settings(SystemDatabase::Msdb))?;
        crate::agent::install_contained(self, group)
    }

    fn copy_administrators(&self, master: &DatabaseEntry) -> Result<()> {
        let logins = self.logins()?;
        let administrators = logins.iter().filter(|login| login.sysadmin && !login.role);
        administrators.cloned().try_for_each(|login| {
            // Roles of one's own, and what was granted by number, are the instance's.
            let (roles, permissions) = (Vec::new(), Vec::new());
            let default_database = "master".to_owned();
            self.add_login_to(master, LoginRecord { roles, permissions, default_database, ..login })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_context() {
        let group = ContainedGroup::new([7; 16], "Sales");
        assert_eq!((&*group.master, &*group.msdb), ("Sales_master", "Sales_msdb"));
        assert_eq!(group.real_name("MASTER"), "Sales_master");
        assert_eq!(group.real_name("msdb"), "Sales_msdb");
        assert_eq!(group.real_name("shop"), "shop");
        assert_eq!(group.role_of("sales_MASTER"), Some(SystemDatabase::Master));
        assert_eq!(group.role_of("master"), None);
    }
}
