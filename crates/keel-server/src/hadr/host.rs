//! What the groups ask of the instance: access follows roles, seeded databases appear, events are logged.

use std::sync::{Arc, OnceLock, Weak};

use keel_base::Lsn;
use keel_cluster::{
    GroupConfig, GroupDatabaseId, GroupId, LeaveReason, LogEntry, LogEvent, ReplicaId, RoleStatus,
};
use keel_group::{Groups, Host, Place, RoleChange};
use keel_node::{Database, DbOptions};
use keel_sql::Engine;
use keel_sql::agent::board::Event;
use keel_sql::engine::{DatabaseEntry, Restoring};
use keel_sql::hadr::HealthEvent;

use super::health::HealthLog;
use crate::errorlog::ErrorLog;
use crate::keeper::Keeper;
use crate::listener::Doors;

/// See the module's chapter.
pub(super) struct ServerHost {
    pub(super) engine: Weak<Engine>,
    pub(super) log: Arc<ErrorLog>,
    pub(super) health: HealthLog,
    /// Set once the groups run; for the names in events.
    pub(super) groups: OnceLock<Weak<Groups>>,
    /// The listeners: they hear of every change of role.
    pub(super) doors: OnceLock<Arc<Doors>>,
    /// It is told that this process runs.
    pub(super) keeper: OnceLock<Arc<Keeper>>,
}

/// The names of what an event is about.
#[derive(Default)]
struct Names {
    group: Option<String>,
    database: Option<String>,
    replica: Option<String>,
    /// The group is the mirroring session of this database.
    session: Option<String>,
}

impl Names {
    /// A text about a group, in words about the mirroring session that it is.
    fn about_session(&self, text: String) -> String {
        match (&self.group, &self.session) {
            (Some(group), Some(database)) => text.replace(
                &format!("availability group '{group}'"),
                &format!("the mirroring session of database '{database}'"),
            ),
            _ => text,
        }
    }

    /// The group as users know it.
    fn shown_group(&self) -> Option<String> {
        self.group.clone().filter(|_| self.session.is_none())
    }
}

/// Severity of what the groups log.
const INFORMATION: u8 = 10;

impl ServerHost {
    fn names(
        &self,
        group: Option<keel_cluster::GroupId>,
        database: Option<GroupDatabaseId>,
        replica: Option<ReplicaId>,
    ) -> Names {
        let Some(groups) = self.groups.get().and_then(Weak::upgrade) else { return Names::default() };
        let state = groups.state();
        let of = |c: &&keel_cluster::GroupConfig| {
            group.is_none_or(|g| c.id == g) && database.is_none_or(|d| c.database(d).is_some())
        };
        let configs: Vec<_> = state.groups.iter().map(|g| &g.config).collect();
        let Some(config) = configs.into_iter().find(of) else { return Names::default() };
        Names {
            group: Some(config.name.clone()),
            session: session_of(config),
            database: database.and_then(|d| config.database(d)).map(|d| d.name.clone()),
            replica: replica.and_then(|r| name_of(config, r)),
        }
    }

    fn config(&self, group: GroupId) -> Option<GroupConfig> {
        let groups = self.groups.get().and_then(Weak::upgrade)?;
        groups.state().groups.into_iter().map(|g| g.config).find(|c| c.id == group)
    }

    fn event(&self, name: &str, number: i32, text: String, names: Names) {
        let text = names.about_session(text);
        self.log.entry("AlwaysOn", &text);
        if let Some(engine) = self.engine.upgrade() {
            let database = names.database.clone().unwrap_or_default();
            let event = || Event { number, severity: INFORMATION, database, text: text.clone() };
            engine.agent().note_event(event);
        }
        let event = HealthEvent {
            time_utc: 0,
            name: name.to_owned(),
            group: names.shown_group(),
            replica: names.replica,
            database: names.database,
            number,
            text,
        };
        if let Some(engine) = self.engine.upgrade() {
            engine.fire_of_group(&event);
        }
        self.health.write(event);
    }

    /// What administrators' alerts wait for: a line for each database of a group whose role changes here.
    fn tell_databases(&self, id: GroupId, group: Option<String>, (from, to): &(String, String)) {
        let Some(config) = self.config(id) else { return };
        let session = session_of(&config);
        let mirrored = session.is_some();
        let kind = if mirrored { "mirrored" } else { "availability group" };
        let role = |role: &str| match mirrored {
            true => role.replace("PRIMARY", "PRINCIPAL").replace("SECONDARY", "MIRROR"),
            false => role.to_owned(),
        };
        let (from, to) = (role(from), role(to));
        for database in &config.databases {
            let text = format!(
                "The {kind} database \"{}\" is changing roles from \"{from}\" to \"{to}\" because the mirroring \
                 session or availability group failed over due to role synchronization. This is an informational message \
                 only. No user action is required.",
                database.name
            );
            let (group, database) = (group.clone(), Some(database.name.clone()));
            let session = session.clone();
            self.event("error_reported", 1480, text, Names { group, database, replica: None, session });
        }
    }

    fn ring(&self) {
        if let Some(doors) = self.doors.get() {
            doors.ring();
        }
    }

    fn entry(&self, engine: &Engine, name: &str) -> Option<Arc<DatabaseEntry>> {
        engine.database(name)
    }
}

impl Host for ServerHost {
    fn log_backed_up(&self, name: &str, until: Lsn, at: i64) -> bool {
        let entry = self.engine.upgrade().and_then(|engine| self.entry(&engine, name));
        entry.is_some_and(|entry| entry.note_log_backup(until, at, 0).is_ok())
    }

    fn role_changed(&self, change: &RoleChange) {
        let Some(engine) = self.engine.upgrade() else { return };
        let Some(entry) = self.entry(&engine, &change.name) else { return };
        // Members of the group never take only log, unless they have left it.
        let left = change.role.is_none() && !change.usable;
        let restoring = if left { Restoring::Closed } else { Restoring::No };
        if let Err(e) = engine.set_restoring(&entry, restoring) {
            self.log.entry("AlwaysOn", &format!("Database '{}': {}", change.name, e.message));
        }
        // A database that has just entered a group as primary serves its sessions on; everybody else's role ends them.
        if change.role != Some(RoleStatus::Primary) && !(change.role.is_none() && change.usable) {
            let ended = engine.end_sessions_in(entry.id);
            if ended > 0 {
                let text = format!(
                    "Nonqualified transactions are being rolled back in database {} for an Always On Availability \
                     Groups state change: {ended} sessions ended.",
                    change.name
                );
                self.log.entry("AlwaysOn", &text);
            }
        }
        self.ring();
    }

    fn primary_moved(&self, _group: GroupId) {
        self.ring();
    }

    fn alive(&self, peers: usize) {
        if let Some(keeper) = self.keeper.get() {
            keeper.beat(peers);
        }
    }

    fn log(&self, entry: &LogEntry) {
        let replica = match &entry.what {
            LogEvent::ReplicaConnected(r) | LogEvent::Synchronized(r) | LogEvent::NeedsSeeding(r) => Some(*r),
            LogEvent::Failover(record) => Some(record.to),
            LogEvent::ReplicaDisconnected { replica, .. } | LogEvent::NotSynchronized { replica, .. } => {
                Some(*replica)
            }
            _ => None,
        };
        let names = self.names(entry.group, entry.database, replica);
        // A database that has been taken out of its group is nobody's to wait for.
        let is_gone = entry.database.is_some() && names.database.is_none();
        if is_gone && matches!(entry.what, LogEvent::NotSynchronized { .. }) {
            return;
        }
        let (name, number, text) = match &entry.what {
            LogEvent::Failover(record) => {
                let Some(config) = self.config(record.group) else { return };
                ("availability_replica_state_change", 0, super::cluster::told(record, &config))
            }
            what => words(what, &names),
        };
        let group = names.group.clone();
        self.event(name, number, text, names);
        if let (LogEvent::RoleChanged { from, to, .. }, Some(group_id)) = (&entry.what, entry.group) {
            self.tell_databases(group_id, group, &(from.to_string(), to.to_string()));
        }
    }

    fn note(&self, database: Option<GroupDatabaseId>, text: &str) {
        let names = database.map(|d| self.names(None, Some(d), None)).unwrap_or_default();
        self.event("error_reported", 0, text.to_owned(), names);
    }

    fn place(&self, name: &str) -> Result<Place, String> {
        let engine = self.engine.upgrade().ok_or("the instance stops")?;
        let (id, dir) = engine.reserve_place(name).map_err(|e| e.message.clone())?;
        Ok(Place { instance: Arc::clone(engine.instance()), id, dir, options: DbOptions::default() })
    }

    fn seeded(&self, name: &str, place: &Place, database: &Arc<Database>) -> Result<(), String> {
        let engine = self.engine.upgrade().ok_or("the instance stops")?;
        let adopted = engine.adopt_database(name, place.id, Arc::clone(database));
        adopted.map_err(|e| e.message.clone())
    }

    fn seeding_ended(&self, _name: &str, place: &Place) {
        if let Some(engine) = self.engine.upgrade() {
            engine.release_place(place.id);
        }
    }
}

/// The server name of a replica, or the name of the group that follows as one.
fn name_of(config: &GroupConfig, replica: ReplicaId) -> Option<String> {
    let member = || config.distributed.as_ref()?.members.iter().find(|m| m.id == replica);
    let own = config.replica(replica).map(|r| r.server_name.clone());
    own.or_else(|| member().map(|m| m.group.clone()))
}

/// The database whose mirroring session a group is.
fn session_of(config: &GroupConfig) -> Option<String> {
    let mirrored = config.options.cluster_type.is_mirroring();
    config.databases.first().filter(|_| mirrored).map(|database| database.name.clone())
}

/// An event's name, the product's number, and one line about it.
fn words(event: &LogEvent, names: &Names) -> (&'static str, i32, String) {
    let group = names.group.as_deref().unwrap_or("?");
    let replica = names.replica.as_deref().unwrap_or("?");
    let database = names.database.as_deref().unwrap_or("?");
    match event {
        LogEvent::RoleChanged { from, to, epoch } => (
            "availability_replica_state_change",
            19406,
            format!(
                "The state of the local availability replica in availability group '{group}' has changed from \
                 '{from}' to '{to}' (epoch {}).",
                epoch.0
            ),
        ),
        LogEvent::ReplicaConnected(_) => (
            "hadr_transport_session_state",
            35202,
            format!(
                "A connection for availability group '{group}' to availability replica '{replica}' has been \
                 established."
            ),
        ),
        LogEvent::ReplicaDisconnected { timed_out: true, .. } => (
            "hadr_transport_session_state",
            35206,
            format!(
                "A connection time-out has occurred on the connection to availability replica '{replica}' of \
                 availability group '{group}'."
            ),
        ),
        LogEvent::ReplicaDisconnected { timed_out: false, .. } => (
            "hadr_transport_session_state",
            35267,
            format!(
                "The connection to availability replica '{replica}' of availability group '{group}' is lost."
            ),
        ),
        LogEvent::Synchronized(_) => (
            "hadr_db_partner_set_sync_state",
            0,
            format!("Database '{database}' is synchronized on availability replica '{replica}'."),
        ),
        LogEvent::NotSynchronized { reason, .. } => (
            "hadr_db_partner_set_sync_state",
            0,
            format!(
                "Database '{database}' is no longer synchronized on availability replica '{replica}': {}. Commits do \
                 not wait for it.",
                why(*reason)
            ),
        ),
        LogEvent::Suspended(reason) => (
            "data_movement_suspend_resume",
            35264,
            format!(
                "Always On Availability Groups data movement for database '{database}' has been suspended for the \
                 following reason: \"{}\" (Source ID {}).",
                reason.description(),
                reason.code()
            ),
        ),
        LogEvent::Resumed => (
            "data_movement_suspend_resume",
            35265,
            format!(
                "Always On Availability Groups data movement for database '{database}' has been resumed."
            ),
        ),
        LogEvent::LogCut { at, from } => (
            "hadr_undo_of_redo_log_scan",
            35285,
            format!(
                "The recovery LSN of database '{database}' is {}; {} bytes of log behind it were cut.",
                keel_sql::hadr::lsn::to_number(at.0),
                from.0.saturating_sub(at.0)
            ),
        ),
        LogEvent::Gaps { at, times } => (
            "hadr_db_log_gap",
            0,
            format!(
                "The log blocks that come for database '{database}' do not follow on its log, which ends at {}: {times} times \
                 in a row. They are asked for again, after longer and longer pauses.",
                keel_sql::hadr::lsn::to_number(at.0)
            ),
        ),
        LogEvent::LogShort { end, reached } => (
            "hadr_db_log_short",
            0,
            format!(
                "The log of database '{database}' ends {} bytes before what this copy is known to have held: its disk has \
                 lost the end. This replica of availability group '{group}' does not take the primary role before it has \
                 followed a primary; only FORCE_FAILOVER_ALLOW_DATA_LOSS makes it.",
                reached.0.saturating_sub(end.0)
            ),
        ),
        LogEvent::OldRecord => (
            "availability_replica_state_change",
            0,
            "What this instance has of the cluster's decisions is older than what it has acknowledged: it was started from an older copy \
             of its data directory, or its disk has lost what was written. It has no vote until the cluster has taken it in again."
                .to_owned(),
        ),
        LogEvent::OldLeader(leader) => (
            "availability_replica_state_change",
            0,
            format!(
                "'{leader}' leads the cluster's decisions and lacks some that were agreed on before: it, or a member that elected it, was \
                 started from an older copy of its data directory. Nothing is taken from it. Stop it, and force a quorum here if there \
                 is none."
            ),
        ),
        LogEvent::Forced { epoch, synchronized } => (
            "availability_replica_state_change",
            0,
            format!(
                "A failover of availability group '{group}' was forced on this replica (epoch {}); it {} every \
                 acknowledged commit.",
                epoch.0,
                if *synchronized { "held" } else { "was not known to hold" }
            ),
        ),
        // Told with its whole story elsewhere.
        LogEvent::Failover(_) => ("availability_replica_state_change", 0, String::new()),
        LogEvent::FailoverHeldBack { pause_ms } => (
            "availability_replica_automatic_failover_validation",
            0,
            format!(
                "An automatic failover of availability group '{group}' is held back for {pause_ms} ms: there were too \
                 many in a short time."
            ),
        ),
        LogEvent::MuchToRedo(redo) => (
            "availability_replica_state_change",
            0,
            format!(
                "A failover of availability group '{group}' to this replica was asked for, which has {} KB of log to redo first. \
                 Nobody can write for about {} ms.",
                redo.bytes / 1024,
                redo.time.as_millis()
            ),
        ),
        LogEvent::Unhealthy(reason) => (
            "availability_group_lease_expired",
            0,
            format!("This instance is not fit to lead availability group '{group}': {reason}."),
        ),
        LogEvent::NeedsSeeding(_) => (
            "hadr_automatic_seeding_state_transition",
            1408,
            format!(
                "The copy of database '{database}' on '{replica}' cannot follow and must be seeded anew."
            ),
        ),
    }
}

fn why(reason: LeaveReason) -> &'static str {
    match reason {
        LeaveReason::Disconnected => "its connection is lost",
        LeaveReason::Stopped => "it stopped receiving",
        LeaveReason::Stalled => "it hardened nothing for its session time-out",
        LeaveReason::Behind => {
            "its recovery queue is at its bound, and it redid nothing for its session time-out"
        }
        LeaveReason::Configured => "its configuration has changed",
    }
}
