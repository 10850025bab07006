//! The replication side of SQL ([`keel_sql::hadr::Hadr`]) over the groups of [`keel_group`].
//!
//! ```text
//!   statements, views, logins ──Hadr──► Replication ──► keel_group::Groups
//!   sessions, databases, logs ◄─────── ServerHost ◄──────┘
//! ```
//!
//! It translates and decides nothing: commands and refusals in `commands`, configuration in `convert`, what views
//! show in `states`, `cluster`, `listeners` and `samples`, both for database mirroring in `mirroring`, what a cluster stands on in `validation`, what the groups ask of the
//! instance in `host`, the health log in `health`.

mod cluster;
mod commands;
mod convert;
mod distributed;
mod health;
mod host;
mod listeners;
mod mirroring;
mod samples;
mod states;
mod validation;

use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use keel_base::Lsn;
use keel_cluster::ClusterOptions;
use keel_group::{
    Certificate, Compression, EndpointConfig, EndpointState, Groups, GroupsOptions, Host, JoinToken,
};
use keel_sql::Engine;
use keel_sql::hadr::{
    self, Caller, EndpointAddress, EndpointSpec, Hadr, HadrCommand, HadrState, HealthEvent, errors,
};
use parking_lot::Mutex;

use crate::errorlog::ErrorLog;
use crate::keeper::Keeper;
use crate::listener::Doors;
use host::ServerHost;
use samples::Samples;

/// Trace flag: blocks for asynchronous replicas, and seedings, are not compressed.
const TRACE_NO_COMPRESSION: i32 = 1462;
/// Trace flag: blocks for synchronous replicas are compressed.
const TRACE_COMPRESS_SYNCHRONOUS: i32 = 9592;
/// Trace flag: seedings are compressed even so.
const TRACE_COMPRESS_SEEDING: i32 = 9567;

/// See the module's chapter.
pub struct Replication {
    groups: Arc<Groups>,
    engine: Weak<Engine>,
    host: Arc<ServerHost>,
    samples: Arc<Samples>,
    sampling: Mutex<Option<JoinHandle<()>>>,
    /// Set once the network side is there.
    doors: OnceLock<Arc<Doors>>,
}

impl Replication {
    /// Starts the groups of an instance: its databases become known, its endpoint listens, and the engine gets its
    /// replication side. Before the first client.
    pub fn start(
        engine: &Arc<Engine>,
        log: &Arc<ErrorLog>,
        cluster: ClusterOptions,
    ) -> Result<Arc<Replication>> {
        let options = engine.options();
        let dir = keel_group::groups::directory(&options.data_dir);
        let health = health::HealthLog::open(&options.data_dir.join("log"))
            .context("cannot write the AlwaysOn health log")?;
        let host = Arc::new(ServerHost {
            engine: Arc::downgrade(engine),
            log: Arc::clone(log),
            health,
            groups: OnceLock::new(),
            doors: OnceLock::new(),
            keeper: OnceLock::new(),
        });
        let groups = Groups::open(
            &options.env,
            &dir,
            GroupsOptions { cluster, ..GroupsOptions::new(options.server_name.clone()) },
            Arc::clone(&host) as Arc<dyn Host>,
        )
        .context("the availability groups cannot be started")?;
        let groups = Arc::new(groups);
        host.groups.set(Arc::downgrade(&groups)).unwrap_or_else(|_| unreachable!("set once"));
        let (samples, sampling) = Samples::start(&groups).context("no thread for the groups' samples")?;
        let sampling = Mutex::new(Some(sampling));
        let engine_of = Arc::downgrade(engine);
        let doors = OnceLock::new();
        let replication = Arc::new(Replication { groups, engine: engine_of, host, samples, sampling, doors });
        let may_be_a_member = |e: &&Arc<keel_sql::engine::DatabaseEntry>| {
            e.id > keel_sql::engine::MSDB && e.snapshot().is_none()
        };
        for entry in engine.databases().iter().filter(may_be_a_member) {
            replication.groups.register_database(&entry.name(), &entry.store);
        }
        if let Some(spec) = engine.endpoint_spec().map_err(|e| anyhow::anyhow!("{}", e.message))?
            && let Err(e) = replication.set_endpoint(&spec)
        {
            // The instance serves its own databases all the same.
            log.entry("AlwaysOn", &e.message);
        }
        replication.trace_flags(&engine.trace_flags());
        engine.set_hadr(Arc::clone(&replication) as Arc<dyn Hadr>);
        Ok(replication)
    }

    /// Ends connections and threads; the databases are the engine's to close.
    pub fn stop(&self) {
        self.samples.stop();
        if let Some(thread) = self.sampling.lock().take() {
            // A panic there has been reported by its own thread.
            let _ = thread.join();
        }
        self.groups.stop();
    }

    /// Gives the listeners' sockets, once: statements and views are about them from now on.
    pub fn set_doors(&self, doors: &Arc<Doors>) {
        // Whoever comes second has another server's, which nobody asked for.
        let _ = self.doors.set(Arc::clone(doors));
        let _ = self.host.doors.set(Arc::clone(doors));
    }

    /// Gives the keeper, once: from now on it is told that this process runs.
    pub fn set_keeper(&self, keeper: &Arc<Keeper>) {
        // Whoever comes second has another server's, which nobody asked for.
        let _ = self.host.keeper.set(Arc::clone(keeper));
    }

    /// The groups themselves, for the command line's short way.
    #[must_use]
    pub fn groups(&self) -> &Arc<Groups> {
        &self.groups
    }

    fn engine(&self) -> keel_types::error::Result<Arc<Engine>> {
        self.engine.upgrade().ok_or_else(errors::feature_off)
    }

    fn set_endpoint(&self, spec: &EndpointSpec) -> keel_types::error::Result<()> {
        let address = match &spec.address {
            EndpointAddress::All => None,
            EndpointAddress::Ip(ip) => ip.parse().ok(),
        };
        let config = EndpointConfig {
            state: match spec.state {
                hadr::EndpointState::Started => EndpointState::Started,
                hadr::EndpointState::Stopped => EndpointState::Stopped,
                hadr::EndpointState::Disabled => EndpointState::Disabled,
            },
            address,
            port: spec.port,
            certificate: spec.identity.clone().map(|(certificate, key)| Certificate { certificate, key }),
            trusted: spec.trusted.clone(),
            url: self
                .own_url()
                .unwrap_or_else(|| format!("TCP://{}:{}", crate::config::host_name(), spec.port)),
        };
        match self.groups.set_endpoint(config) {
            Ok(Some(address)) => {
                self.host
                    .log
                    .entry("AlwaysOn", &format!("The endpoint '{}' listens on {address}.", spec.name));
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(e) => Err(errors::endpoint_not_listening(spec.port, e)),
        }
    }

    fn drop_endpoint(&self) -> keel_types::error::Result<()> {
        let (config, _) = self.groups.endpoint();
        let stopped = EndpointConfig {
            state: EndpointState::Stopped,
            certificate: None,
            trusted: Vec::new(),
            ..config
        };
        self.groups.set_endpoint(stopped).map(|_| ()).map_err(|e| errors::endpoint_not_listening(0, e))
    }

    /// What a group's configuration says this instance is reached at.
    fn own_url(&self) -> Option<String> {
        let name = self.groups.server_name();
        let state = self.groups.state();
        state.groups.iter().find_map(|g| Some(g.config.replica_named(name)?.options.endpoint_url.clone()))
    }
}

impl Hadr for Replication {
    fn execute(&self, _caller: &Caller, command: HadrCommand) -> keel_types::error::Result<()> {
        self.carry_out(command)
    }

    fn state(&self) -> Arc<HadrState> {
        Arc::new(states::state(self))
    }

    fn log_backed_up(&self, database: &str, until: Lsn, at: i64) -> bool {
        self.groups.log_backed_up(database, until, at)
    }

    fn health_log(&self) -> Vec<HealthEvent> {
        self.host.health.newest()
    }

    fn cluster(&self) -> Option<hadr::cluster::ClusterState> {
        cluster::state(self)
    }

    fn failovers(&self) -> Vec<hadr::cluster::FailoverRecord> {
        cluster::failovers(self)
    }

    fn validate_cluster(&self) -> keel_types::error::Result<hadr::cluster::ClusterReport> {
        let log_dir = self.engine()?.options().data_dir.join("log");
        let found = self.groups.validate();
        let members = cluster::state(self).map(|c| c.members).unwrap_or_default();
        let report = validation::report(&found, &members);
        Ok(validation::keep(report, &log_dir, self.groups.server_name()))
    }

    fn members(&self) -> Vec<(String, String)> {
        let own = (self.groups.server_name().to_owned(), self.groups.endpoint().0.url);
        // A witness can hold no replica.
        let members = self.groups.cluster().map(|c| c.members).unwrap_or_default();
        let witness = |id| members.iter().any(|m| m.member.witness && m.member.instance.0 == id);
        let others =
            self.groups.members().into_iter().filter(|m| !witness(m.instance)).map(|m| (m.name, m.url));
        std::iter::once(own).chain(others).collect()
    }

    fn invite(&self, url: &str, hours: u32) -> keel_types::error::Result<String> {
        self.groups.set_endpoint_url(url);
        // Whoever comes with the token comes into a cluster.
        self.form_cluster(url)?;
        let token = self.groups.invite(Duration::from_secs(u64::from(hours) * 3600));
        token.map(|t| t.to_string()).map_err(errors::join_token_refused)
    }

    fn use_invitation(&self, token: &str, url: &str) -> keel_types::error::Result<()> {
        let token: JoinToken = token.parse().map_err(|_| errors::bad_join_token())?;
        self.groups.set_endpoint_url(url);
        self.groups.join(&token).map(|_| ()).map_err(errors::join_token_refused)
    }

    fn trace_flags(&self, flags: &[i32]) {
        self.groups.set_compression(Compression {
            asynchronous: !flags.contains(&TRACE_NO_COMPRESSION),
            synchronous: flags.contains(&TRACE_COMPRESS_SYNCHRONOUS),
            seeding: !flags.contains(&TRACE_NO_COMPRESSION) || flags.contains(&TRACE_COMPRESS_SEEDING),
        });
    }

    fn database_opened(&self, entry: &Arc<keel_sql::engine::DatabaseEntry>) {
        self.groups.register_database(&entry.name(), &entry.store);
    }

    fn database_dropped(&self, name: &str) {
        self.groups.unregister_database(name);
    }
}
