//! One server instance as SQL sees it: its databases, logins, configuration, sessions and caches.
//!
//! ```text
//!   data directory/  master/  tempdb/  model/  msdb/  db5/ …  work/
//! ```
//!
//! Every database is a directory with its own log and data file. `master`'s system tree also holds one row per database
//! (id, name, directory), per login and per changed configuration value, so the list of databases is as durable as
//! anything else. `tempdb` is volatile: emptied at every start, as is `work`, where statements put what memory does not hold.

mod accounts;
mod attach;
mod clone;
mod copies;
mod current;
mod database;
mod encryption;
mod history;
mod load;
mod logins;
mod missing_indexes;
mod places;
pub(crate) mod planning;
mod registry;
mod secrets;
mod server;
mod snapshots;
mod state;
mod told;
mod users;
mod waits;

pub(crate) use attach::RAISED as RAISED_BY_ATTACHING;
pub use attach::{Attach, NotAttached};
pub use clone::CloneOptions;
pub(crate) use clone::{CLONE, VERIFIED_CLONE};
pub use current::{Before, Current, StatementAt};
pub use database::{DatabaseEntry, OpenTransaction};
pub use encryption::{Unopened, thumbprint};
pub use load::{Load, LoadRecord};
pub use logins::{DatabaseUser, LoginRecord, Logins};
use missing_indexes::MissingIndexes;
pub use missing_indexes::{Group, Lacked};
pub use registry::{SessionShared, Sessions, Status, Traffic, Usage, add};
pub use server::StoredDatabase;
pub use snapshots::StoredSnapshot;
pub(crate) use snapshots::{RAISED as RAISED_BY_SNAPSHOTS, cannot_revert, not_of_a_snapshot};
pub use state::Restoring;
pub use told::{ErrorCounts, Told};
pub(crate) use users::{Changing, Looking, Stay};
pub use users::{OpenIn, Visit};
pub(crate) use waits::WAITFOR;
pub use waits::Waits;

use crate::cache::ProgramCache;
use crate::catalog::{CatalogObject, DatabaseSettings};
use crate::errors;
use crate::map::db_error;
use crate::session::{Session, SessionOptions};
use hashbrown::HashMap;
use keel_base::DatabaseId;
use keel_base::env::Env;
use keel_node::{Database, DbOptions, Durability, Instance, InstanceOptions};
use keel_types::Collation;
use keel_types::error::Result;
use parking_lot::{Mutex, RwLock};
use smol_str::SmolStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// `master`
pub const MASTER: DatabaseId = DatabaseId(1);
/// `tempdb`
pub const TEMPDB: DatabaseId = DatabaseId(2);
/// `model`
pub const MODEL: DatabaseId = DatabaseId(3);
/// `msdb`
pub const MSDB: DatabaseId = DatabaseId(4);
/// Directory of the files of sorts and hash tables that memory does not hold; emptied at every start.
const WORK_DIRECTORY: &str = "work";
/// Table variables: their rows live in tempdb but in transactions of their own, so that ROLLBACK does not touch them.
pub const TABLE_VARIABLES: DatabaseId = DatabaseId(u32::MAX);
pub(crate) const FIRST_USER_DATABASE: u32 = 5;
/// The trace flag that holds checkpoints off.
const TRACE_NO_CHECKPOINTS: i32 = 3505;

/// Turns passwords into stored hashes; the algorithm is the server's business.
pub trait PasswordHasher: Send + Sync {
    /// A salted, slow hash.
    fn hash(&self, password: &str) -> Vec<u8>;
    /// Whether a hash that was made elsewhere (`PASSWORD = 0x… HASHED`) is of a form that can be verified.
    fn knows(&self, stored: &[u8]) -> bool;
    /// Whether `password` made `stored`.
    fn verify(&self, password: &str, stored: &[u8]) -> bool;
    /// A key sealed with a password, stretched slowly: for files, and for keys that a password protects.
    fn seal(&self, key: &[u8], password: &str) -> Vec<u8>;
    /// The way back; `None` for a wrong password, or when it is damaged.
    fn open(&self, sealed: &[u8], password: &str) -> Option<Vec<u8>>;
}

/// Where lines of the server's error log go (deadlock graphs, RAISERROR WITH LOG, database start-up).
pub trait ServerLog: Send + Sync {
    /// One entry, may have several lines.
    fn write(&self, text: &str);
    /// A record of an audit TO APPLICATION_LOG: one line. The error is what the system says of the file.
    fn record(&self, line: &str) -> std::io::Result<()> {
        self.write(line);
        Ok(())
    }
    /// Begins a new file and keeps the old one among the archives. Nothing where it is not kept.
    fn cycle(&self) -> std::io::Result<()> {
        Ok(())
    }
    /// The files it is kept in: 0 is the current one, then those before it. None where it is not kept.
    fn archives(&self) -> Vec<(u32, PathBuf)> {
        Vec::new()
    }
}

/// What an instance is made of.
#[derive(Clone)]
pub struct EngineOptions {
    /// Directory of all databases.
    pub data_dir: PathBuf,
    /// Files, time, random bytes.
    pub env: Env,
    /// `@@SERVERNAME`.
    pub server_name: String,
    /// The instance's collation, which its system databases are made with at the first start; what is said later changes nothing.
    pub collation: Option<Collation>,
    /// Memory, checkpoint throttle, redo workers.
    pub instance: InstanceOptions,
    /// Processors that a statement's threads are spread over.
    pub processors: std::num::NonZero<usize>,
    /// Stack of a session's thread, and of those that help it.
    pub session_stack_bytes: usize,
    /// Password hashing.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Error log.
    pub log: Arc<dyn ServerLog>,
}

#[derive(Default)]
struct Databases {
    by_name: HashMap<SmolStr, Arc<DatabaseEntry>>,
    by_id: HashMap<DatabaseId, Arc<DatabaseEntry>>,
}

/// One server instance. Shared by all sessions.
pub struct Engine {
    options: EngineOptions,
    instance: Arc<Instance>,
    work: Arc<keel_query::WorkSpace>,
    /// Threads that help sessions.
    workers: Arc<keel_query::Workers>,
    databases: RwLock<Databases>,
    /// Serialises CREATE, ALTER and DROP DATABASE.
    admin: Mutex<()>,
    /// Sessions.
    pub sessions: Sessions,
    /// Compiled batches and modules.
    pub programs: ProgramCache,
    /// Row counts and distributions, for the planner.
    pub statistics: keel_query::stats::StatisticsCache,
    /// Indexes that plans lacked.
    missing_indexes: MissingIndexes,
    /// Statements that have changed many rows.
    much_changed: AtomicU64,
    configuration: RwLock<HashMap<i32, ConfigurationValue>>,
    stamp: AtomicU64,
    started: i64,
    trace_flags: Arc<RwLock<Vec<i32>>>,
    /// Messages of users.
    pub messages: crate::messages::UserMessages,
    requests: AtomicU64,
    /// What clients were told of errors.
    pub errors: ErrorCounts,
    /// Samples of the processors' load.
    pub load: Load,
    /// Statements that slept in WAITFOR, how long, and the longest, nanoseconds.
    pub(crate) waitfor: Waits,
    hadr: std::sync::OnceLock<Arc<dyn crate::hadr::Hadr>>,
    stop: std::sync::OnceLock<Box<dyn Fn(bool) + Send + Sync>>,
    listening: std::sync::OnceLock<Vec<std::net::SocketAddr>>,
    diagnostics: std::sync::OnceLock<Arc<dyn crate::diagnostics::Diagnostics>>,
    failover_cluster: std::sync::OnceLock<Arc<dyn crate::FailoverCluster>>,
    objects: std::sync::OnceLock<Arc<dyn keel_base::env::objects::Objects>>,
    directory: std::sync::OnceLock<Arc<dyn crate::windows::Directory>>,
    /// Turns of balanced read-only routing.
    pub routing: crate::hadr::Rotation,
    /// Ids given to databases that are being seeded.
    places: Mutex<Vec<u32>>,
    /// Files that backups are being written to.
    pub(crate) devices: Arc<crate::backup::Devices>,
    /// The service master key, once it was needed.
    service_key: Mutex<Option<secrets::ServiceKey>>,
    /// Databases that could not be opened.
    unopened: Mutex<Vec<Unopened>>,
    /// Rung when captured changes wait to be told.
    pub capture_bell: crate::capture::Bell,
    /// Rung when rows wait to be indexed.
    pub full_text_bell: crate::capture::Bell,
    /// Wakes who gathers for Query Stores.
    pub query_store_bell: crate::capture::Bell,
    /// Service Broker: who waits, what runs.
    pub broker: crate::broker::Broker,
    /// Events that services are to be told of.
    pub raised: crate::event_notifications::raise::Events,
    /// Queries whose results are watched.
    pub subscriptions: crate::notify::registry::Subscriptions,
    /// Held by who gathers what statements cost. Before a store's memory, and never by who holds that.
    pub(crate) gathering: Mutex<()>,
    /// Rung when the thread that makes audits' records durable shall end.
    pub audit_bell: crate::capture::Bell,
    /// Some database's statements are recorded.
    pub(crate) query_stores: AtomicBool,
    /// There have been tables in tempdb that are not a session's own.
    shares_tempdb: AtomicBool,
    /// Event sessions that run.
    pub events: crate::events::Events,
    /// Audits that run.
    pub audits: crate::audit::Audits,
    governor: crate::governor::Governor,
    /// Transactions that somebody else decides about.
    pub(crate) distributed: crate::distributed::Distributed,
    /// Other servers by name.
    pub(crate) linked: crate::linked::Linked,
    /// What `sp_monitor` said last.
    pub(crate) monitored: Mutex<Option<crate::procs::Monitored>>,
    /// Held while a credential is made, changed or dropped.
    pub(crate) credentials_changing: Mutex<()>,
}

/// A configured and a running value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigurationValue {
    /// As set by `sp_configure`.
    pub configured: i64,
    /// As in force since RECONFIGURE.
    pub running: i64,
}

impl Engine {
    /// Opens every database under the data directory, creating the system databases on first start.
    pub fn open(options: EngineOptions) -> Result<Arc<Engine>> {
        let io = |e: std::io::Error| db_error(keel_node::DbError::Io(e.to_string().into()), "master");
        options.env.disk.create_dir_all(&options.data_dir).map_err(io)?;
        let instance = Instance::new(options.env.clone(), options.instance.clone());
        let (disk, dir) = (Arc::clone(&options.env.disk), options.data_dir.join(WORK_DIRECTORY));
        let work = keel_query::WorkSpace::new(disk, &dir, options.instance.memory_bytes).map_err(io)?;
        let (helpers, stack) = (options.processors.get() - 1, options.session_stack_bytes);
        let engine = Engine {
            instance,
            work,
            workers: keel_query::Workers::new(helpers, stack, Arc::clone(&options.env.clock)),
            databases: RwLock::default(),
            admin: Mutex::new(()),
            sessions: Sessions::default(),
            capture_bell: crate::capture::Bell::default(),
            full_text_bell: crate::capture::Bell::default(),
            query_store_bell: crate::capture::Bell::default(),
            broker: crate::broker::Broker::default(),
            raised: crate::event_notifications::raise::Events::default(),
            subscriptions: crate::notify::registry::Subscriptions::default(),
            gathering: Mutex::default(),
            audit_bell: crate::capture::Bell::default(),
            query_stores: AtomicBool::new(false),
            shares_tempdb: AtomicBool::new(false),
            programs: ProgramCache::new(options.instance.memory_bytes),
            statistics: keel_query::stats::StatisticsCache::default(),
            missing_indexes: MissingIndexes::default(),
            much_changed: AtomicU64::new(0),
            configuration: RwLock::default(),
            stamp: AtomicU64::new(1),
            started: crate::clock::utc_ticks(&*options.env.clock),
            trace_flags: Arc::default(),
            messages: crate::messages::UserMessages::default(),
            requests: AtomicU64::new(0),
            errors: ErrorCounts::default(),
            load: Load::default(),
            waitfor: Waits::default(),
            events: crate::events::Events::default(),
            audits: crate::audit::Audits::default(),
            governor: crate::governor::Governor::new(crate::clock::local_ticks(&*options.env.clock)),
            distributed: crate::distributed::Distributed::default(),
            linked: crate::linked::Linked::default(),
            credentials_changing: Mutex::default(),
            monitored: Mutex::default(),
            hadr: std::sync::OnceLock::new(),
            stop: std::sync::OnceLock::new(),
            listening: std::sync::OnceLock::new(),
            diagnostics: std::sync::OnceLock::new(),
            failover_cluster: std::sync::OnceLock::new(),
            objects: std::sync::OnceLock::new(),
            directory: std::sync::OnceLock::new(),
            routing: crate::hadr::Rotation::default(),
            places: Mutex::default(),
            devices: Arc::default(),
            service_key: Mutex::default(),
            unopened: Mutex::default(),
            options,
        };
        let engine = Arc::new(engine);
        engine.tell_deadlocks();
        engine.log_failed_checkpoints();
        engine.log_failed_flushes();
        engine.know_secrets();
        engine.open_databases()?;
        engine.encrypt_work();
        engine.follow_query_stores();
        Ok(engine)
    }

    /// Deadlocks are told to event sessions and, with trace flags 1222 and 1204, to the error log.
    fn tell_deadlocks(self: &Arc<Engine>) {
        let engine = Arc::downgrade(self);
        self.instance.locks().on_deadlock(Box::new(move |graph| {
            let Some(engine) = engine.upgrade() else { return };
            engine.fire_deadlock(graph);
            let flags = engine.trace_flags();
            if flags.contains(&1222) {
                let names = |resource: &keel_store::lock::Resource<'_>| engine.locked_names(resource);
                engine.options.log.write(&graph.lines_1222(&names).join("\n"));
            }
            if flags.contains(&1204) {
                engine.options.log.write(&graph.lines_1204().join("\n"));
            }
        }));
    }

    /// Checkpoints nobody waits for must not fail unseen: the log grows until they succeed.
    fn log_failed_checkpoints(self: &Arc<Engine>) {
        let engine = Arc::downgrade(self);
        self.instance.on_failed_checkpoint(Box::new(move |store, error| {
            let Some(engine) = engine.upgrade() else { return };
            let Some(entry) = engine.database_by_id(store.id()) else { return };
            let log = &engine.options.log;
            log.write("Error: 5901, Severity: 16, State: 1.");
            log.write(&format!(
                "One or more recovery units belonging to database '{}' failed to generate a checkpoint. {error}. \
                 It is tried again; the log is kept until then.",
                entry.name()
            ));
        }));
    }

    /// Nor must flushes: commits with delayed durability have been answered.
    fn log_failed_flushes(self: &Arc<Engine>) {
        let engine = Arc::downgrade(self);
        self.instance.on_failed_flush(Box::new(move |store, error| {
            let Some(engine) = engine.upgrade() else { return };
            let Some(entry) = engine.database_by_id(store.id()) else { return };
            let log = &engine.options.log;
            let e = errors::database_unavailable(entry.name(), error);
            log.write(&format!("Error: {}, Severity: {}, State: {}.", e.number, e.severity, e.state));
            log.write(&format!(
                "{}. Commits that were answered before they were durable may be lost.",
                e.message
            ));
        }));
    }

    fn open_databases(self: &Arc<Engine>) -> Result<()> {
        let first_start = !self.options.env.disk.exists(&self.options.data_dir.join("master"));
        let master = self.open_or_create(MASTER, "master", "master", first_start, Durability::Durable)?;
        self.add(&master);
        self.keep_collation();
        self.seal_private_keys()?;
        self.load_configuration(&master)?;
        self.limit_memory();
        self.load_governor()?;
        let tempdb = self.open_or_create(TEMPDB, "tempdb", "tempdb", true, Durability::Volatile)?;
        self.add(&tempdb);
        for (id, name) in [(MODEL, "model"), (MSDB, "msdb")] {
            let missing = !self.options.env.disk.exists(&self.options.data_dir.join(name));
            let entry = self.open_or_create(id, name, name, missing, Durability::Durable)?;
            self.add(&entry);
        }
        // Scripts look whether it is there before they make a backup; if it cannot be made, the first backup says why.
        let _ = self.options.env.disk.create_dir_all(&crate::backup::default_directory(self));
        let mut databases = server::stored_databases(&master)?;
        self.sweep(&databases);
        // A snapshot is opened over its source.
        databases.sort_by_key(|stored| stored.snapshot.is_some());
        for stored in databases.clone() {
            self.options.log.write(&format!("Starting up database '{}'.", stored.name));
            match self.open_stored(&stored) {
                Ok(entry) => {
                    entry.note_restoring(stored.waits());
                    self.add(&entry);
                    self.show_standby(&entry);
                }
                Err(e) => self.note_unopened(stored, e),
            }
        }
        self.sweep_snapshots(&databases);
        self.resolve_in_doubt();
        self.begin_event_sessions()?;
        self.begin_audits()
    }

    /// Says so where another collation is asked for than the one that the instance was made with.
    fn keep_collation(&self) {
        let own = self.collation();
        if let Some(other) = self.options.collation.filter(|other| *other != own) {
            let (own, other) = (own.name(), other.name());
            self.options.log.write(&format!(
                "The instance was made with collation {own} and stays with it: {other} is for a first start."
            ));
        }
    }

    /// Opens a database that master remembers.
    fn open_stored(&self, stored: &StoredDatabase) -> Result<Arc<DatabaseEntry>> {
        if let Some(snapshot) = &stored.snapshot {
            return self.open_stored_snapshot(stored, snapshot);
        }
        let (id, directory) = (DatabaseId(stored.id), &stored.directory);
        self.open_or_create(id, &stored.name, directory, false, Durability::Durable)
    }

    fn open_or_create(
        &self,
        id: DatabaseId,
        name: &str,
        directory: &str,
        create: bool,
        durability: Durability,
    ) -> Result<Arc<DatabaseEntry>> {
        let dir = self.options.data_dir.join(directory);
        let options = DbOptions { durability, ..DbOptions::default() };
        // A volatile database is emptied by opening it.
        let store = if create && !(durability == Durability::Volatile && self.options.env.disk.exists(&dir)) {
            Database::create(&self.instance, id, &dir, &options)
        } else {
            Database::open(&self.instance, id, &dir, &options, &mut |_| {})
        };
        let store = store.map_err(|e| db_error(e, name))?;
        let entry = DatabaseEntry::load(id, name, store)?;
        if create {
            let settings = DatabaseSettings {
                created: self.now_local(),
                recovery: if id.0 < FIRST_USER_DATABASE && id != MODEL { "SIMPLE" } else { "FULL" }
                    .to_owned(),
                allow_snapshot: id == MASTER || id == MSDB,
                collation: self.collation().name().to_owned(),
                ..DatabaseSettings::default()
            };
            entry.put_now(CatalogObject::Settings(Arc::new(settings)))?;
        }
        Ok(entry)
    }

    fn add(&self, entry: &Arc<DatabaseEntry>) {
        self.limit_log(entry);
        let mut databases = self.databases.write();
        databases.by_name.insert(crate::catalog::fold(&entry.name()), Arc::clone(entry));
        databases.by_id.insert(entry.id, Arc::clone(entry));
    }

    /// The instance's collation: what it was made with, and its system databases are in.
    #[must_use]
    pub fn collation(&self) -> Collation {
        match self.database_by_id(MASTER) {
            Some(master) => master.picture().settings().default_collation(),
            None => self.options.collation.unwrap_or_default(),
        }
    }

    /// What it was opened with.
    #[must_use]
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// The store's instance.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// What limits the resources that requests use.
    #[must_use]
    pub fn governor(&self) -> &crate::governor::Governor {
        &self.governor
    }

    /// Tells where the host takes clients' connections, once; for the views.
    pub fn set_listening(&self, addresses: Vec<std::net::SocketAddr>) {
        // A second host of the same engine would be a mistake; the first one's addresses stay true.
        let _ = self.listening.set(addresses);
    }

    /// Where the host takes clients' connections; none when nobody said.
    #[must_use]
    pub fn listening(&self) -> &[std::net::SocketAddr] {
        self.listening.get().map_or(&[], Vec::as_slice)
    }

    /// Sets who measures for `sp_server_diagnostics`, once.
    pub fn set_diagnostics(&self, diagnostics: Arc<dyn crate::diagnostics::Diagnostics>) {
        // The first one goes on measuring; a second would only repeat it.
        let _ = self.diagnostics.set(diagnostics);
    }

    /// Who measures, if anybody does.
    #[must_use]
    pub fn diagnostics(&self) -> Option<&Arc<dyn crate::diagnostics::Diagnostics>> {
        self.diagnostics.get()
    }

    /// Sets what reaches URLs for BACKUP and RESTORE, once. Without it none is reached.
    pub fn set_objects(&self, objects: Arc<dyn keel_base::env::objects::Objects>) {
        let _ = self.objects.set(objects);
    }

    /// What reaches URLs.
    pub(crate) fn objects(&self) -> Option<&Arc<dyn keel_base::env::objects::Objects>> {
        self.objects.get()
    }

    /// Makes it a failover cluster instance, once, before the first client.
    pub fn set_failover_cluster(&self, cluster: Arc<dyn crate::FailoverCluster>) {
        let _ = self.failover_cluster.set(cluster);
    }

    /// What runs it, when it is a failover cluster instance.
    #[must_use]
    pub fn failover_cluster(&self) -> Option<&Arc<dyn crate::FailoverCluster>> {
        self.failover_cluster.get()
    }

    /// Sets what SHUTDOWN calls (with true for NOWAIT), once; it must return at once. False when there is one already.
    pub fn on_shutdown(&self, stop: Box<dyn Fn(bool) + Send + Sync>) -> bool {
        self.stop.set(stop).is_ok()
    }

    /// Asks the host to stop; false when it gave no way.
    pub(crate) fn request_shutdown(&self, no_wait: bool) -> bool {
        let stop = self.stop.get();
        stop.inspect(|stop| stop(no_wait)).is_some()
    }

    /// Threads that help sessions.
    #[must_use]
    pub fn workers(&self) -> &Arc<keel_query::Workers> {
        &self.workers
    }

    /// Working memory of statements, and the files behind it.
    #[must_use]
    pub fn work_space(&self) -> &Arc<keel_query::WorkSpace> {
        &self.work
    }

    /// Connects the replication side, once, before the first client; false when there is one already.
    pub fn set_hadr(&self, hadr: Arc<dyn crate::hadr::Hadr>) -> bool {
        self.hadr.set(hadr).is_ok()
    }

    /// The replication side; `None` on an instance that stands alone.
    #[must_use]
    pub fn hadr(&self) -> Option<&Arc<dyn crate::hadr::Hadr>> {
        self.hadr.get()
    }

    /// A database by name.
    #[must_use]
    pub fn database(&self, name: &str) -> Option<Arc<DatabaseEntry>> {
        self.databases.read().by_name.get(&crate::catalog::fold(name)).cloned()
    }

    /// A database by id; table variables answer as tempdb.
    #[must_use]
    pub fn database_by_id(&self, id: DatabaseId) -> Option<Arc<DatabaseEntry>> {
        let id = if id == TABLE_VARIABLES { TEMPDB } else { id };
        self.databases.read().by_id.get(&id).cloned()
    }

    /// All databases by id.
    #[must_use]
    pub fn databases(&self) -> Vec<Arc<DatabaseEntry>> {
        let mut all: Vec<_> = self.databases.read().by_id.values().cloned().collect();
        all.sort_by_key(|d| d.id);
        all
    }

    /// Whether a database has the name, open or not.
    fn is_name_taken(&self, name: &str) -> bool {
        let folded = crate::catalog::fold(name);
        self.database(name).is_some()
            || self.unopened.lock().iter().any(|u| crate::catalog::fold(&u.name) == folded)
    }

    /// CREATE DATABASE
    pub fn create_database(&self, name: &str, settings: DatabaseSettings) -> Result<Arc<DatabaseEntry>> {
        let _admin = self.admin.lock();
        if self.is_name_taken(name) {
            return Err(errors::database_exists(name));
        }
        let id = self.free_id();
        // The directory's name is never reused, so that what is left of a dropped database cannot be taken for a new one.
        let directory = format!("db{id}-{:x}", self.now_utc());
        self.note_place(id, &directory)?;
        let entry = self.open_or_create(DatabaseId(id), name, &directory, true, Durability::Durable)?;
        let settings = DatabaseSettings { created: self.now_local(), ..settings };
        entry.put_now(CatalogObject::Settings(Arc::new(settings)))?;
        let master = self.master();
        server::adopt_place(&master, &StoredDatabase::new(id, name, directory))?;
        self.add(&entry);
        Ok(entry)
    }

    /// ALTER DATABASE … MODIFY NAME
    pub fn rename_database(&self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<()> {
        let _admin = self.admin.lock();
        if self.is_name_taken(name) {
            return Err(errors::database_exists(name));
        }
        let directory = self.stored_directory(entry.store.dir());
        let master = self.master();
        server::store_database(&master, &StoredDatabase::new(entry.id.0, name, directory))?;
        let mut databases = self.databases.write();
        databases.by_name.remove(&crate::catalog::fold(&entry.name()));
        entry.rename(name);
        databases.by_name.insert(crate::catalog::fold(name), Arc::clone(entry));
        Ok(())
    }

    /// DROP DATABASE
    pub fn drop_database(&self, name: &str) -> Result<()> {
        let _admin = self.admin.lock();
        let Some(entry) = self.database(name) else { return self.drop_unopened(name) };
        if entry.id.0 < FIRST_USER_DATABASE {
            return Err(errors::cannot_drop_system(name));
        }
        if let Some(snapshot) = entry.snapshot() {
            return self.drop_open_snapshot(&entry, snapshot);
        }
        self.has_no_snapshots(entry.id, "drop")?;
        if !self.is_left_alone(&entry) {
            return Err(errors::database_in_use(name));
        }
        let master = self.master();
        let directory = self.stored_directory(entry.store.dir());
        server::give_up_database(&master, &server::StoredPlace { id: entry.id.0, directory })?;
        {
            let mut databases = self.databases.write();
            databases.by_name.remove(&crate::catalog::fold(name));
            databases.by_id.remove(&entry.id);
        }
        entry.mark_dropped();
        self.subscriptions.forget(entry.id);
        if let Some(hadr) = self.hadr() {
            hadr.database_dropped(name);
        }
        self.programs.forget(entry.id);
        self.statistics.forget(entry.id);
        let dir = entry.store.dir().to_path_buf();
        let _ = entry.store.close();
        self.remove_dropped(name, entry.id.0, &dir);
        Ok(())
    }

    /// Removes the directory of a database that is in no list any more, for good: one that came back would be in the way of the next
    /// database that is made there. Where it was attached it may be the home of other files: those stay.
    pub(super) fn remove_dir(&self, dir: &std::path::Path) -> std::io::Result<()> {
        if !dir.starts_with(&self.options.data_dir) {
            return Database::remove(&self.instance, dir).map_err(std::io::Error::other);
        }
        let disk = &self.options.env.disk;
        disk.remove_dir_all(dir)?;
        dir.parent().map_or(Ok(()), |parent| disk.sync_dir(parent))
    }

    /// A number no other call of this process gets: versions of private catalogs, transaction descriptors.
    pub fn stamp(&self) -> u64 {
        self.stamp.fetch_add(1, Ordering::Relaxed)
    }

    /// Local time, 100 ns ticks since 0001-01-01.
    #[must_use]
    pub fn now_local(&self) -> i64 {
        crate::clock::local_ticks(&*self.options.env.clock)
    }

    /// UTC, 100 ns ticks since 0001-01-01.
    #[must_use]
    pub fn now_utc(&self) -> i64 {
        crate::clock::utc_ticks(&*self.options.env.clock)
    }

    /// When the instance started, UTC ticks.
    #[must_use]
    pub fn started(&self) -> i64 {
        self.started
    }

    /// DBCC TRACEON/TRACEOFF (…, -1)
    pub fn set_trace_flag(&self, flag: i32, on: bool) {
        let mut flags = self.trace_flags.write();
        flags.retain(|f| *f != flag);
        if on {
            flags.push(flag);
            flags.sort_unstable();
        }
        if let Some(hadr) = self.hadr() {
            hadr.trace_flags(&flags);
        }
        if flag == TRACE_NO_CHECKPOINTS {
            self.instance.hold_checkpoints(on);
        }
    }

    /// Global trace flags that are on.
    #[must_use]
    pub fn trace_flags(&self) -> Vec<i32> {
        self.trace_flags.read().clone()
    }

    /// A table of tempdb is made that is not a session's own.
    pub(crate) fn note_shared_tempdb(&self) {
        self.shares_tempdb.store(true, Ordering::Relaxed);
    }

    /// Whether there have been such.
    pub(crate) fn shares_tempdb(&self) -> bool {
        self.shares_tempdb.load(Ordering::Relaxed)
    }

    /// The settings, role or state of some database have become others: whether statements are recorded anywhere.
    pub fn follow_query_stores(&self) {
        let mut anywhere = false;
        for entry in self.databases() {
            anywhere |= entry.query_store.follow(&entry);
        }
        self.query_stores.store(anywhere, Ordering::Relaxed);
    }

    /// Batch Requests/sec.
    pub fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Batches and remote calls since start-up.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// A session for an authenticated login. Fails with 4060 when its database cannot be opened, 18456-family errors
    /// are the server's.
    pub fn session(self: &Arc<Engine>, options: SessionOptions) -> Result<Session> {
        Session::open(Arc::clone(self), options)
    }

    /// Ends all work, checkpoints and closes every database.
    pub fn shutdown(&self) {
        self.audit_server_state("SVSD", &Default::default(), &crate::events::actor::Nobody);
        self.sessions.cancel_all();
        crate::query_store::flush_all(self);
        for entry in self.databases().into_iter().rev() {
            if let Err(e) = entry.close() {
                self.options.log.write(&format!(
                    "Database '{}' did not close cleanly. {}",
                    entry.name(),
                    e.message
                ));
            }
        }
        self.settle_audits();
    }
}
