//! The two threads that work by time.
//!
//! * The **clock** tells commit points that no block has carried, hands on what the [pulse](crate::pulse) has found out about the
//!   peers and lets the machine's time pass. It waits for no disk.
//! * The **keeper** does everything else that comes round: binds databases to groups, dials, looks after retention,
//!   compression and redo's health.

use crate::bell::Bell;
use crate::copy::Copy;
use crate::endpoint::{EndpointState, Target};
use crate::error::GroupError;
use crate::handshake;
use crate::peer::Peer;
use crate::shell::Shared;
use keel_base::Lsn;
use keel_base::env::real::run_urgently;
use keel_cluster::{
    Event, GroupConfig, GroupDatabase, GroupDatabaseId, GroupId, LogFacts, ReceiveFailure, RoleStatus,
    TICK_EVERY,
};
use keel_node::{Database, Role};
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a commit point may wait for a block to carry it.
const ANNOUNCE_EVERY: Duration = Duration::from_millis(5);
const KEEP_EVERY: Duration = Duration::from_millis(50);
const RETAIN_EVERY: Duration = Duration::from_millis(1000);

/// A database that a group names.
struct Named {
    group: GroupId,
    id: GroupDatabaseId,
    name: String,
    log_id: u32,
    /// This instance is the group's primary, and writes.
    leads: bool,
}

impl Shared {
    /// The body of the clock's thread.
    pub(crate) fn run_clock(self: &Arc<Self>) {
        run_urgently();
        let mut ticked = Duration::ZERO;
        while !self.stopping.load(Ordering::Acquire) {
            self.wait_for_time(&self.bells.clock, ANNOUNCE_EVERY);
            let gone: Vec<Arc<Peer>> = {
                let peers = self.peers.read();
                peers.values().for_each(|peer| peer.announce());
                peers.values().filter(|peer| peer.is_gone()).cloned().collect()
            };
            for peer in gone {
                self.disconnect(&peer, "closed by the other side");
                peer.link.close();
            }
            let now = self.now();
            if now >= ticked + TICK_EVERY {
                ticked = now;
                self.tell_heard();
                self.tick();
            }
        }
    }

    /// Hands on to the machine whom the pulse has heard of.
    fn tell_heard(self: &Arc<Self>) {
        let heard: Vec<_> =
            self.peers.read().values().filter(|p| p.newly_heard()).map(|p| p.instance).collect();
        heard.into_iter().for_each(|peer| self.step(Event::Heard { peer }));
    }

    /// The body of the keeper thread.
    pub(crate) fn run_keeper(self: &Arc<Self>) {
        let mut retained = Duration::ZERO;
        while !self.stopping.load(Ordering::Acquire) {
            self.wait_for_time(&self.bells.keeper, KEEP_EVERY);
            self.bind();
            self.dial();
            self.adopt();
            self.settle_expected();
            self.watch_copies();
            if self.compression_due.swap(false, Ordering::AcqRel) {
                self.settle_compression();
            }
            let now = self.now();
            if now >= retained + RETAIN_EVERY {
                retained = now;
                self.settle_compression();
                self.retain_log();
                self.tidy_seedings();
            }
        }
    }

    fn wait_for_time(&self, bell: &Bell, time: Duration) {
        let began = self.nanos();
        bell.wait_for(time);
        self.waits.timer.waited(self.nanos().saturating_sub(began));
    }

    pub(crate) fn record_written(
        self: &Arc<Self>,
        group: GroupId,
        revision: u64,
        result: &Result<(), GroupError>,
    ) {
        match result {
            Ok(()) => self.step(Event::Persisted { group, revision }),
            Err(error) => {
                self.note(
                    None,
                    &format!("The configuration of an availability group cannot be written: {error}"),
                );
                self.step(Event::PersistFailed { group, revision });
            }
        }
    }

    pub(crate) fn store_written(self: &Arc<Self>, revision: u64, result: &Result<(), GroupError>) {
        match result {
            Ok(()) => self.step(Event::StorePersisted { revision }),
            Err(error) => {
                self.note(None, &format!("The state of the cluster cannot be written: {error}"));
                self.step(Event::StorePersistFailed { revision });
            }
        }
    }

    /// Gives every database that a group names, and that is here, to the machine; but for those that were told to leave their group.
    pub(crate) fn bind(self: &Arc<Self>) {
        for named in self.named_databases() {
            // Looked up first: a copy that is being made is bound by whoever makes it, before its attempt ends.
            let Some(db) = self.registered(&named) else { continue };
            if !self.seedings.is_target(named.id) {
                self.bind_one(named, db);
            }
        }
    }

    /// Gives the copy to the machine that has just been made here.
    pub(crate) fn bind_seeded(self: &Arc<Self>, id: GroupDatabaseId) {
        if let Some(named) = self.named_databases().into_iter().find(|named| named.id == id)
            && let Some(db) = self.registered(&named)
        {
            self.bind_one(named, db);
        }
    }

    /// Of a database that was joined and is not here, say because it was dropped after SET HADR OFF: nobody need wait for it.
    pub(crate) fn tell_if_missing(self: &Arc<Self>, id: GroupDatabaseId) {
        let named = self.named_databases().into_iter().find(|named| named.id == id);
        if named.is_some_and(|named| self.registered(&named).is_none()) {
            self.step(Event::DatabaseClosed { database: id });
        }
    }

    fn named_databases(&self) -> Vec<Named> {
        let me = keel_cluster::InstanceId(self.identity.instance);
        let machine = self.machine.lock();
        let of_group = |config: &GroupConfig| {
            // Who keeps the configuration only has no copies, though it may have a database of that name.
            let keeps = config.replica_of(me).is_some_and(|replica| replica.keeps_data());
            // A forwarder's copies follow, as those of secondaries.
            let (group, leads) = (config.id, config.primary_instance() == Some(me) && !config.forwards());
            let named =
                |d: &GroupDatabase| Named { group, id: d.id, name: d.name.clone(), log_id: d.log_id, leads };
            let stays = |d: &&GroupDatabase| !machine.has_left(group, d.id);
            config.databases.iter().filter(|_| keeps).filter(stays).map(named).collect::<Vec<_>>()
        };
        machine.configs().flat_map(of_group).collect()
    }

    fn registered(&self, named: &Named) -> Option<Arc<Database>> {
        self.registry.read().get(&named.name.to_uppercase()).map(|(_, db)| Arc::clone(db))
    }

    fn bind_one(self: &Arc<Self>, named: Named, db: Arc<Database>) {
        // A database that stands alone joins where it leads; elsewhere it is somebody's own and stays so.
        let fits = db.log().is_some_and(|log| log.log_id() == named.log_id);
        if !fits || !(named.leads || db.role() != Role::Standalone) || self.copy(named.id).is_some() {
            return;
        }
        let id = named.id;
        let Some(copy) = Copy::new(id, named.group, named.name, db, &self.budget) else { return };
        match self.copies.write().entry(id) {
            Entry::Vacant(free) => free.insert(Arc::clone(&copy)),
            Entry::Occupied(_) => return,
        };
        let facts = LogFacts { reached: self.marks.of(id), ..copy.facts_quietly() };
        self.step(Event::DatabaseOpened { database: id, facts });
    }

    /// Dials everybody who is missing.
    fn dial(self: &Arc<Self>) {
        if self.endpoint_state() != EndpointState::Started {
            return;
        }
        for target in self.targets() {
            let connected = {
                let peers = self.peers.read();
                let is_meant = |p: &&Arc<Peer>| {
                    p.name.eq_ignore_ascii_case(&target.name) || target.instance == Some(p.instance.0)
                };
                peers.values().filter(is_meant).any(|p| !p.link.is_closed())
            };
            let due = self.dialer.lock().is_due(&target, self.identity.instance, connected, self.now());
            if due {
                let name = target.name.clone();
                if self.spawn("peer reader", move |shared| shared.dial_one(&target)).is_err() {
                    self.dialer.lock().ended(&name, None, self.now());
                }
            }
        }
    }

    fn dial_one(self: &Arc<Self>, target: &Target) {
        let tls = self.tls();
        let trusted = |fingerprint| self.trust.knows(fingerprint);
        let met = handshake::dial(&target.address, &tls, &self.own(), trusted, None);
        let error = match &met {
            Ok(_) => None,
            Err(error) => Some((error.clone(), self.env.clock.unix_nanos())),
        };
        self.dialer.lock().ended(&target.name, error, self.now());
        if let Ok(met) = met {
            let instance = uuid::Uuid::from_bytes(met.peer.instance);
            self.dialer.lock().answered(&target.address, instance);
            if instance == self.identity.instance || !self.trust.allows(met.fingerprint, instance) {
                return met.link.close();
            }
            self.serve(met);
        }
    }

    /// Tells the machine how far redo is, and whether it has failed; lets pools go.
    fn watch_copies(self: &Arc<Self>) {
        let copies: Vec<Arc<Copy>> = self.copies.read().values().cloned().collect();
        for copy in copies {
            match copy.db.role() {
                Role::Secondary => {
                    if let Some(what) = copy.db.redo_error() {
                        if let Some(session) = copy.receiving_session() {
                            self.note(Some(copy.id), &format!("Redo of {} has failed: {what}", copy.name));
                            self.receive_failed(copy.id, session, ReceiveFailure::RedoFailed);
                        }
                    } else if let Some(lsn) = copy.newly_applied() {
                        self.step(Event::Applied { database: copy.id, lsn });
                        // No block may come, and take an acknowledgement along, before the primary knows.
                        self.tell_applied(&copy);
                    }
                }
                Role::Primary => copy.release_pool(),
                Role::Standalone | Role::Resolving => {}
            }
        }
    }

    /// Keeps the log that the other replicas still need, on the primary.
    fn retain_log(&self) {
        let groups = self.machine.lock().status();
        for group in groups {
            for database in &group.databases {
                let Some(copy) = self.copy(database.database) else { continue };
                let primary = group.role == RoleStatus::Primary;
                let keep: Vec<(String, Lsn)> = database
                    .copies
                    .iter()
                    .filter(|_| primary)
                    .map(|c| (c.replica.to_string(), c.positions.hardened))
                    .collect();
                for holder in copy.hold(&keep) {
                    let mut replicas = group.config.replicas.iter();
                    let name = replicas.find(|r| r.id.to_string() == holder).map(|r| &*r.server_name);
                    self.note(
                        Some(copy.id),
                        &format!(
                            "The log that {} still needs of {} is no longer kept: the copy there will be seeded anew.",
                            name.unwrap_or(&holder),
                            copy.name
                        ),
                    );
                }
            }
        }
    }
}
