//! [`GroupsState`]: a picture of everything, in plain data, for views and counters.

use crate::counters::{CopyCounters, PeerCounters, Waits};
use crate::error::ConnectError;
use crate::groups::Groups;
use crate::seeding::SeedingState;
use keel_base::Lsn;
use keel_cluster::{
    ClusterType, Event, Fitness, GroupConfig, GroupDatabaseId, GroupId, GroupStatus, InstanceId, Listener,
    PrimaryPlace, Replica,
};
use keel_log::LogStats;
use keel_node::Role;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Everything there is to see.
#[derive(Clone, Debug, Default)]
pub struct GroupsState {
    /// What the machine knows of each group.
    pub groups: Vec<GroupStatus>,
    /// Local copies.
    pub copies: Vec<CopyState>,
    /// Other instances that are, or were, connected.
    pub peers: Vec<PeerState>,
    /// Seedings under way and past, newest last.
    pub seedings: Vec<SeedingState>,
    /// Failures to connect, by server name: the last of each.
    pub connect_errors: Vec<(String, ConnectError, i128)>,
    /// Waits of workers for a job.
    pub work_queue: Waits,
    /// Waits of the threads that work by time.
    pub timer: Waits,
    /// Waits of commands for their answer.
    pub command: Waits,
    /// Threads that serve groups.
    pub threads: usize,
    /// Log kept in memory for peers, bytes.
    pub pool_bytes: usize,
}

/// A local copy of a group's database.
#[derive(Clone, Debug)]
pub struct CopyState {
    /// In the group.
    pub database: GroupDatabaseId,
    /// Its name.
    pub name: String,
    /// What the engine may do with it.
    pub role: Role,
    /// Log before this is gone.
    pub truncated: Lsn,
    /// End of the log in memory.
    pub appended: Lsn,
    /// End of the log on disk.
    pub hardened: Lsn,
    /// The commit point.
    pub agreed: Lsn,
    /// What readers see.
    pub applied: Lsn,
    /// Commits that wait for other replicas now.
    pub commits_waiting: usize,
    /// What came in, on a secondary.
    pub received: CopyCounters,
    /// Counters of its log: the local flush is in them.
    pub log: LogStats,
    /// Where it goes, on a primary.
    pub sending: Vec<SendingState>,
}

/// A copy's log on its way to one instance.
#[derive(Clone, Copy, Debug)]
pub struct SendingState {
    /// To whom.
    pub peer: InstanceId,
    /// Everything before this was sent.
    pub sent: Lsn,
    /// Totals, with the split of the commits' way.
    pub counters: CopyCounters,
}

/// Another instance.
#[derive(Clone, Debug)]
pub struct PeerState {
    /// Who.
    pub instance: InstanceId,
    /// Its server name; empty when it is not connected.
    pub name: String,
    /// Which version of the product it runs; `None` when it is not connected, and for one from before that was told.
    pub product: Option<String>,
    /// A connection is up.
    pub connected: bool,
    /// Where it is, while it is connected.
    pub address: Option<IpAddr>,
    /// The last round trip, nanoseconds; 0 when none was measured.
    pub round_trip_nanos: u64,
    /// Totals.
    pub counters: PeerCounters,
}

/// A group as far as the health of this instance concerns it.
#[derive(Clone, Debug)]
pub struct HealthSubject {
    /// The group.
    pub group: GroupId,
    /// Its name.
    pub name: String,
    /// FAILURE_CONDITION_LEVEL, 1 to 5.
    pub failure_condition_level: u8,
    /// HEALTH_CHECK_TIMEOUT, milliseconds.
    pub health_check_timeout_ms: u32,
    /// DB_FAILOVER.
    pub db_failover: bool,
    /// The primary is here.
    pub leads: bool,
    /// The logs of its databases here.
    pub databases: Vec<LogHealth>,
}

/// How a database's log fares on this instance's disk.
#[derive(Clone, Debug)]
pub struct LogHealth {
    /// The database's name.
    pub database: String,
    /// Age of the flush under way; zero when there is none.
    pub flushing_for: Duration,
    /// Bytes of log that it holds; zero when there is none.
    pub flushing_bytes: u64,
    /// A write has failed, and nothing is written any more.
    pub failed: bool,
    /// Every replica that could take over has hardened all that the flush holds
    /// ([`is_outrun`](keel_cluster::Node::is_outrun)).
    pub outrun: bool,
}

/// A group that has a listener, and where its primary is.
#[derive(Clone, Debug)]
pub struct ListenerPlace {
    /// The group.
    pub group: GroupId,
    /// Its name.
    pub name: String,
    /// Its listener.
    pub listener: Listener,
    /// What its cluster is.
    pub cluster_type: ClusterType,
    /// Where its replicas' machines are reached: `ENDPOINT_URL` and `READ_ONLY_ROUTING_URL` of each.
    pub urls: Vec<String>,
    /// Where the primary is.
    pub place: PrimaryPlace,
    /// The primary's replica, when it is elsewhere.
    pub primary: Option<Replica>,
    /// Whether nobody can have taken a primary's place here unheard: news of a majority of the votes is fresh.
    pub certain: bool,
}

fn urls(replica: &Replica) -> impl Iterator<Item = &String> {
    [&replica.options.endpoint_url].into_iter().chain(&replica.options.read_only_routing_url)
}

impl Groups {
    /// What the health of this instance is judged by, for each group but mirroring sessions, which fail over for want of a principal
    /// only. Takes no lock that is held around disk or network.
    #[must_use]
    pub fn health_subjects(&self) -> Vec<HealthSubject> {
        let subject = |(config, place): (&GroupConfig, PrimaryPlace)| HealthSubject {
            group: config.id,
            name: config.name.clone(),
            failure_condition_level: config.options.failure_condition_level,
            health_check_timeout_ms: config.options.health_check_timeout_ms,
            db_failover: config.options.db_failover,
            leads: place == PrimaryPlace::Here,
            databases: Vec::new(),
        };
        // Ages first: what has been hardened elsewhere by then is compared with flushes that had begun.
        let copies: Vec<_> = self.shared.copies.read().values().map(|c| (c.group, Arc::clone(c))).collect();
        let aged = copies.into_iter().map(|(group, copy)| {
            let flushing_for = copy.log().flushing_for().unwrap_or_default();
            let end = copy.log().flushing_to();
            (group, copy, flushing_for, end)
        });
        let aged: Vec<_> = aged.collect();
        let machine = self.shared.machine_up_to_date();
        let groups = machine.primaries().filter(|(config, _)| !config.options.cluster_type.is_mirroring());
        let mut subjects: Vec<_> = groups.map(subject).collect();
        for (group, copy, flushing_for, end) in aged {
            let Some(subject) = subjects.iter_mut().find(|s| s.group == group) else { continue };
            let outrun = subject.leads && !flushing_for.is_zero() && machine.is_outrun(copy.id, end);
            subject.databases.push(LogHealth {
                database: copy.name.clone(),
                flushing_for,
                flushing_bytes: end.0.saturating_sub(copy.log().hardened().0),
                failed: copy.log().is_poisoned(),
                outrun,
            });
        }
        subjects
    }

    /// Tells the group whether this instance should lead it.
    pub fn report_health(&self, group: GroupId, fitness: Fitness) {
        let group = Some(group);
        self.shared.step(match fitness {
            Fitness::Unfit(reason) => Event::Unhealthy { group, reason },
            Fitness::Recovering(reason) => Event::Recovering { group, reason },
            Fitness::Fit => Event::Healthy { group },
        });
    }

    /// The listeners of all groups. Costs microseconds, whatever the number of databases.
    #[must_use]
    pub fn listeners(&self) -> Vec<ListenerPlace> {
        let machine = self.shared.machine.lock();
        let certain = machine.leads_for_certain(self.shared.now());
        let with_listener = machine.primaries().flat_map(|(config, place)| {
            let primary = match place {
                PrimaryPlace::There(replica) => config.replica(replica).cloned(),
                PrimaryPlace::Here | PrimaryPlace::Opening | PrimaryPlace::Unknown => None,
            };
            config.listeners.iter().take(1).map(move |listener| ListenerPlace {
                group: config.id,
                name: config.name.clone(),
                listener: listener.clone(),
                cluster_type: config.options.cluster_type,
                urls: config.replicas.iter().flat_map(urls).cloned().collect(),
                place,
                primary: primary.clone(),
                certain,
            })
        });
        with_listener.collect()
    }

    /// A picture of everything. Takes the machine's lock for a moment.
    #[must_use]
    pub fn state(&self) -> GroupsState {
        let shared = &self.shared;
        let groups = shared.machine_up_to_date().status();
        let peers = shared.peers.read().clone();
        let copies = shared.copies.read().values().cloned().collect::<Vec<_>>();
        let copies = copies
            .iter()
            .map(|copy| {
                let log = copy.log();
                let sending = peers.values().filter_map(|peer| {
                    let flight = peer.flight(copy.id)?;
                    let counters = flight.totals.shown();
                    Some(SendingState { peer: peer.instance, sent: flight.sent_lsn(), counters })
                });
                CopyState {
                    database: copy.id,
                    name: copy.name.clone(),
                    role: copy.db.role(),
                    truncated: log.truncated(),
                    appended: log.appended(),
                    hardened: log.hardened(),
                    agreed: copy.db.agreed(),
                    applied: copy.db.applied(),
                    commits_waiting: copy.db.commits_waiting(),
                    received: copy.totals.shown(),
                    log: log.stats(),
                    sending: sending.collect(),
                }
            })
            .collect();
        let totals = shared.all_totals();
        let peers = totals
            .into_iter()
            .map(|(instance, totals)| {
                let peer = peers.get(&instance);
                PeerState {
                    instance,
                    name: peer.map(|p| p.name.clone()).unwrap_or_default(),
                    product: peer.and_then(|p| p.product.clone()),
                    connected: peer.is_some(),
                    address: peer.and_then(|p| p.link.peer_address()),
                    round_trip_nanos: peer.map_or(0, |p| p.round_trip.load(Ordering::Relaxed)),
                    counters: totals.shown(),
                }
            })
            .collect();
        GroupsState {
            groups,
            copies,
            peers,
            seedings: shared.seeding_states(),
            connect_errors: shared.dialer.lock().last_errors(),
            work_queue: shared.waits.work_queue.shown(),
            timer: shared.waits.timer.shown(),
            command: shared.waits.command.shown(),
            threads: shared.threads.load(Ordering::Relaxed),
            pool_bytes: shared.budget.bytes(),
        }
    }
}
