//! The context of a contained availability group: what `master` and `msdb` are to a session, and which databases it is shown.
//!
//! Everything else in the session asks here instead of the instance; a session outside any group's context gets the instance's.

use super::SessionOptions;
use super::info::Info;
use crate::catalog::SystemDatabase;
use crate::engine::{DatabaseEntry, Engine, LoginRecord, Logins, MASTER, MSDB, TEMPDB};
use crate::errors;
use crate::hadr::ContainedGroup;
use crate::sink::{EnvChange, ResultSink};
use keel_base::DatabaseId;
use keel_types::Collation;
use keel_types::error::Result;
use std::borrow::Cow;
use std::sync::Arc;

/// Where a session is.
pub(crate) struct Here {
    /// The database, by the name that it is shown by.
    pub database: String,
    collation: Collation,
}

impl Here {
    /// Tells the client that the session has gone from here to there.
    pub fn left_for(self, there: &Here, sink: &mut dyn ResultSink) {
        sink.env_change(EnvChange::Database { old: self.database, new: there.database.clone() });
        if self.collation != there.collation {
            sink.env_change(EnvChange::Collation { old: self.collation, new: there.collation });
        }
    }
}

impl Engine {
    /// The database that a name stands for in a context.
    #[must_use]
    pub fn database_in(&self, context: Option<&ContainedGroup>, name: &str) -> Option<Arc<DatabaseEntry>> {
        self.database(context.map_or(name, |group| group.real_name(name)))
    }

    /// What is `master` in a context.
    ///
    /// # Errors
    /// 911 where the group has no copy of it here. The instance's takes nobody in instead.
    pub fn master_in(&self, context: Option<&ContainedGroup>) -> Result<Arc<DatabaseEntry>> {
        self.database_in(context, "master").ok_or_else(|| errors::no_database("master"))
    }

    /// The login of that name in a context.
    #[must_use]
    pub fn login_in(&self, context: Option<&ContainedGroup>, name: &str) -> Option<LoginRecord> {
        self.master_in(context).and_then(|master| master.logins()).ok()?.named(name).cloned()
    }

    /// What somebody who connects is as a login.
    #[must_use]
    pub(crate) fn login_of(&self, options: &SessionOptions) -> Option<LoginRecord> {
        let logins = self.master_in(options.context.as_ref()).and_then(|master| master.logins()).ok()?;
        match &options.account {
            Some(account) => logins.of_account(account).map(Cow::into_owned),
            None => logins.named(&options.login).cloned(),
        }
    }
}

impl Info {
    /// The contained group in whose context the session is.
    #[must_use]
    pub fn context(&self) -> Option<&ContainedGroup> {
        self.shared.login.context.as_ref()
    }

    /// A database by the name that it has here.
    #[must_use]
    pub fn find_database(&self, name: &str) -> Option<Arc<DatabaseEntry>> {
        self.engine.database_in(self.context(), name)
    }

    /// What is `master` here.
    ///
    /// # Errors
    /// 911 where the group of the context has no copy of it any more.
    pub fn master(&self) -> Result<Arc<DatabaseEntry>> {
        self.engine.master_in(self.context())
    }

    /// All logins.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn logins(&self) -> Result<Arc<Logins>> {
        self.master()?.logins()
    }

    /// The login of that name (names compare without case).
    #[must_use]
    pub fn login_named(&self, name: &str) -> Option<LoginRecord> {
        self.engine.login_in(self.context(), name)
    }

    /// Whether that database is `master` or `msdb` here, and which.
    #[must_use]
    pub fn system_database(&self, id: DatabaseId) -> Option<SystemDatabase> {
        match self.context() {
            None if id == MASTER => Some(SystemDatabase::Master),
            None if id == MSDB => Some(SystemDatabase::Msdb),
            None => None,
            Some(group) => self.engine.database_by_id(id).and_then(|entry| group.role_of(&entry.name())),
        }
    }

    /// Id and name by which a database is shown.
    #[must_use]
    pub fn shown(&self, entry: &DatabaseEntry) -> (DatabaseId, Arc<str>) {
        let name = entry.name();
        match self.context().and_then(|group| group.role_of(&name)) {
            Some(SystemDatabase::Master) => (MASTER, "master".into()),
            Some(SystemDatabase::Msdb) => (MSDB, "msdb".into()),
            None => (entry.id, name),
        }
    }

    /// The name by which the current database is shown.
    #[must_use]
    pub fn shown_here(&self) -> String {
        self.shown(&self.current_database()).1.to_string()
    }

    /// Where the session is, as clients keep track of it.
    pub(crate) fn here(&self) -> Here {
        Here { database: self.shown_here(), collation: self.collation_here() }
    }

    /// The current database's collation.
    #[must_use]
    pub fn collation_here(&self) -> Collation {
        self.current_database().picture().settings().default_collation()
    }

    /// The database that is shown with an id.
    #[must_use]
    pub fn database_shown_as(&self, id: DatabaseId) -> Option<Arc<DatabaseEntry>> {
        match id {
            MASTER => self.find_database("master"),
            MSDB => self.find_database("msdb"),
            id => self.engine.database_by_id(id),
        }
    }

    /// The databases that `sys.databases` shows: in a group's context those of the group, their snapshots, and tempdb.
    #[must_use]
    pub fn shown_databases(&self) -> Vec<Arc<DatabaseEntry>> {
        let mut all = self.engine.databases();
        let Some(group) = self.context() else { return all };
        let state = self.engine.hadr().map(|hadr| hadr.state());
        let members = state.as_ref().and_then(|state| state.group(&group.name));
        let is_member = |e: &DatabaseEntry| members.is_some_and(|group| group.database(&e.name()).is_some());
        let of_member = |e: &DatabaseEntry| {
            let source = e.snapshot().and_then(|s| self.engine.database_by_id(DatabaseId(s.source)));
            source.is_some_and(|source| is_member(&source))
        };
        all.retain(|e| e.id == TEMPDB || is_member(e) || of_member(e));
        all.sort_by_key(|entry| self.shown(entry).0);
        all
    }
}
