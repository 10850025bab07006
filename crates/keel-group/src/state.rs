//! [`GroupsState`]: a picture of everything, in plain data, for views and counters.

use crate::counters::{CopyCounters, PeerCounters};
use crate::error::ConnectError;
use crate::groups::Groups;
use crate::seeding::SeedingState;
use keel_base::Lsn;
use keel_cluster::{GroupDatabaseId, GroupId, GroupStatus, InstanceId, Listener, PrimaryPlace, Replica};
use keel_log::LogStats;
use keel_node::Role;
use std::net::IpAddr;
use std::sync::atomic::Ordering;

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
    /// A connection is up.
    pub connected: bool,
    /// Where it is, while it is connected.
    pub address: Option<IpAddr>,
    /// The last round trip, nanoseconds; 0 when none was measured.
    pub round_trip_nanos: u64,
    /// Totals.
    pub counters: PeerCounters,
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
    /// Where the primary is.
    pub place: PrimaryPlace,
    /// The primary's replica, when it is elsewhere.
    pub primary: Option<Replica>,
}

impl Groups {
    /// The listeners of all groups. Costs microseconds, whatever the number of databases.
    #[must_use]
    pub fn listeners(&self) -> Vec<ListenerPlace> {
        let machine = self.shared.machine.lock();
        let with_listener = machine.primaries().flat_map(|(config, place)| {
            let primary = match place {
                PrimaryPlace::There(replica) => config.replica(replica).cloned(),
                PrimaryPlace::Here | PrimaryPlace::Unknown => None,
            };
            config.listeners.iter().take(1).map(move |listener| ListenerPlace {
                group: config.id,
                name: config.name.clone(),
                listener: listener.clone(),
                place,
                primary: primary.clone(),
            })
        });
        with_listener.collect()
    }

    /// A picture of everything. Takes the machine's lock for a moment.
    #[must_use]
    pub fn state(&self) -> GroupsState {
        let shared = &self.shared;
        let groups = shared.machine.lock().status();
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
            threads: shared.threads.load(Ordering::Relaxed),
            pool_bytes: shared.budget.bytes(),
        }
    }
}
