//! Deadlocks: found the moment the last one of a cycle blocks, resolved by one victim, told in the product's words.
//!
//! **Finding.** A session that has queued its request walks the wait-for graph from itself: who holds, or waits
//! earlier for, what it wants in a conflicting mode; what do those wait for; and so on. Since everybody who blocks
//! does so, whoever closes a cycle finds it. The walk locks one shard at a time and therefore sees edges of different
//! moments; but a session that waits cannot release anything, so once a cycle is found, it is enough to look at its
//! edges a second time: if each member is still in the same wait, the edges held all at once.
//!
//! **Victim.** The least deadlock priority, then the least log written, then the youngest.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::owner::{OwnerDescription, OwnerShared};
use super::resource::{OwnedResource, Resource};
use super::wait::WaitState;
use super::{LockManager, Mode, WaitPlace};

/// One session of a deadlock.
#[derive(Clone, Debug)]
pub struct DeadlockProcess {
    /// The session (see [`super::LockOwner::new`]).
    pub agent: u64,
    /// What it says about itself.
    pub description: OwnerDescription,
    /// What it waits for.
    pub resource: OwnedResource,
    /// In which mode.
    pub mode: Mode,
    /// For how long.
    pub waited: Duration,
    /// Bytes of log written.
    pub log_used: u64,
    /// Its deadlock priority.
    pub priority: i32,
}

/// Somebody's part in a resource of a deadlock.
#[derive(Clone, Copy, Debug)]
pub struct DeadlockRole {
    /// The session.
    pub agent: u64,
    /// The mode held or wanted.
    pub mode: Mode,
    /// It waits to strengthen what it holds.
    pub converts: bool,
}

/// A resource of a deadlock.
#[derive(Clone, Debug)]
pub struct DeadlockResource {
    /// The resource.
    pub resource: OwnedResource,
    /// Who holds it.
    pub owners: Vec<DeadlockRole>,
    /// Who waits for it.
    pub waiters: Vec<DeadlockRole>,
}

/// A deadlock as it was when the victim was chosen.
#[derive(Clone, Debug)]
pub struct DeadlockGraph {
    /// Index of the victim in `processes`.
    pub victim: usize,
    /// The sessions of the cycle, each waiting for the next, the last for the first.
    pub processes: Vec<DeadlockProcess>,
    /// What each of them waits for.
    pub resources: Vec<DeadlockResource>,
}

/// Supplies names for a resource: object name and index name, empty when unknown.
pub type ResourceNames<'a> = dyn Fn(&Resource<'_>) -> (String, String) + 'a;

impl DeadlockGraph {
    fn process_id(agent: u64) -> String {
        format!("process{agent:x}")
    }

    /// The lines of trace flag 1222.
    #[must_use]
    pub fn lines_1222(&self, names: &ResourceNames<'_>) -> Vec<String> {
        let mut out = vec!["deadlock-list".to_owned()];
        let victim = &self.processes[self.victim];
        out.push(format!(" deadlock victim={}", Self::process_id(victim.agent)));
        out.push("  process-list".to_owned());
        for process in &self.processes {
            let who = &process.description;
            out.push(format!(
                "   process id={} taskpriority=0 logused={} waitresource={} waittime={} ownerId={} transactionname={} \
                 lockMode={} status=suspended spid={} sbid=0 ecid=0 priority={} trancount=1 clientapp={} hostname={} \
                 loginname={} isolationlevel={} currentdb={}",
                Self::process_id(process.agent),
                process.log_used,
                process.resource.as_ref(),
                process.waited.as_millis(),
                process.agent,
                who.transaction_name,
                process.mode,
                who.session_id,
                process.priority,
                who.application,
                who.host,
                who.login,
                who.isolation,
                who.database,
            ));
            out.push("    executionStack".to_owned());
            out.push(format!("     frame procname={} line={}", who.procedure, who.line));
            out.extend(who.statement.lines().map(|line| format!("     {line}")));
            out.push("    inputbuf".to_owned());
            out.extend(who.input_buffer.lines().map(|line| format!("     {line}")));
        }
        out.push("  resource-list".to_owned());
        for resource in &self.resources {
            out.push(format!("   {}", self.resource_line(resource, names)));
            out.push("    owner-list".to_owned());
            for owner in &resource.owners {
                out.push(format!("     owner id={} mode={}", Self::process_id(owner.agent), owner.mode));
            }
            out.push("    waiter-list".to_owned());
            for waiter in &resource.waiters {
                let kind = if waiter.converts { "convert" } else { "wait" };
                let id = Self::process_id(waiter.agent);
                out.push(format!("     waiter id={id} mode={} requestType={kind}", waiter.mode));
            }
        }
        out
    }

    fn resource_line(&self, resource: &DeadlockResource, names: &ResourceNames<'_>) -> String {
        let borrowed = resource.resource.as_ref();
        let (object, index) = names(&borrowed);
        let mode = resource.owners.first().map_or("", |owner| owner.mode.name());
        let database = borrowed.database().0;
        let mut line = String::new();
        let written = match borrowed {
            Resource::Key(_, tree, _) | Resource::Range(_, tree) => write!(
                line,
                "keylock hobtid={} dbid={database} objectname={object} indexname={index} id=lock{}{} mode={mode}",
                tree.0,
                tree.0,
                borrowed.description(),
            ),
            Resource::Object(_, id) => {
                write!(
                    line,
                    "objectlock objid={id} dbid={database} objectname={object} id=lock{id} mode={mode}"
                )
            }
            Resource::Application(..) => write!(
                line,
                "applicationlock hash={} dbid={database} id=lock mode={mode}",
                borrowed.description()
            ),
            Resource::Database(_) => write!(line, "databaselock dbid={database} id=lock mode={mode}"),
            Resource::Metadata(..) => {
                write!(
                    line,
                    "metadatalock classid={} dbid={database} id=lock mode={mode}",
                    borrowed.description()
                )
            }
        };
        written.expect("writing to a string does not fail");
        line
    }

    /// The lines of trace flag 1204.
    #[must_use]
    pub fn lines_1204(&self) -> Vec<String> {
        let mut out = vec!["Deadlock encountered .... Printing deadlock information".to_owned()];
        out.push("Wait-for graph".to_owned());
        for (number, resource) in self.resources.iter().enumerate() {
            out.push(String::new());
            out.push(format!("Node:{}", number + 1));
            out.push(format!(
                "{} CleanCnt:2 Mode:{} Flags: 0x1",
                resource.resource.as_ref(),
                mode_of(resource)
            ));
            out.push(" Grant List 0:".to_owned());
            out.extend(resource.owners.iter().flat_map(|owner| self.party_1204(" Owner", owner)));
            out.push(" Requested by:".to_owned());
            out.extend(
                resource
                    .waiters
                    .iter()
                    .flat_map(|waiter| self.party_1204("  ResType:LockOwner Stype:'OR'", waiter)),
            );
        }
        let victim = &self.processes[self.victim];
        out.push(String::new());
        out.push("Victim Resource Owner:".to_owned());
        out.push(format!(
            " ResType:LockOwner Stype:'OR' Mode: {} SPID:{}",
            victim.mode, victim.description.session_id
        ));
        out
    }

    fn party_1204(&self, intro: &str, role: &DeadlockRole) -> Vec<String> {
        let process = self.processes.iter().find(|process| process.agent == role.agent);
        let who = process.map(|process| process.description.clone()).unwrap_or_default();
        let mut lines = vec![format!("{intro} Mode: {} SPID:{} ECID:0", role.mode, who.session_id)];
        if process.is_some() {
            lines.push(format!("   SPID: {} ECID: 0 Statement Type: Line #: {}", who.session_id, who.line));
            lines.push(format!("   Input Buf: Language Event: {}", who.input_buffer));
        }
        lines
    }
}

fn mode_of(resource: &DeadlockResource) -> &'static str {
    resource.owners.first().map_or("", |owner| owner.mode.name())
}

/// The waiting sessions by agent.
pub(super) type Waits = HashMap<u64, WaitPlace>;

impl LockManager {
    /// Looks for cycles through `agent` and resolves each with a victim.
    pub(super) fn detect(&self, agent: u64) {
        let mut found = Vec::new();
        {
            let mut waits = self.waits.lock();
            while let Some(cycle) = self.find_cycle(&waits, agent) {
                let graph =
                    if self.holds_still(&waits, &cycle) { self.picture(&waits, &cycle) } else { None };
                let Some(graph) = graph else {
                    // Something moved. Who does not wait any more is about to say so: do not wait for that.
                    waits.retain(|_, place| place.owner.cell.is_waiting());
                    continue;
                };
                let victim = graph.processes[graph.victim].agent;
                // Gone from the waiting either way: somebody has settled it, or we do.
                let place = waits.remove(&victim).expect("members of the cycle wait");
                if place.owner.cell.settle(WaitState::Victim(graph.clone())) {
                    self.stats.deadlocks.fetch_add(1, Ordering::Relaxed);
                    found.push(graph);
                }
            }
        }
        if let Some(report) = &*self.on_deadlock.read() {
            found.iter().for_each(report);
        }
    }

    /// The agents of a shortest cycle through `start`, in waiting order.
    fn find_cycle(&self, waits: &Waits, start: u64) -> Option<Vec<u64>> {
        let mut came_from: HashMap<u64, u64> = HashMap::new();
        let mut to_visit = VecDeque::from([start]);
        while let Some(agent) = to_visit.pop_front() {
            let Some(place) = waits.get(&agent) else { continue };
            for blocker in self.blockers(place) {
                if blocker.agent() == start {
                    let mut cycle = vec![agent];
                    while let Some(before) = came_from.get(cycle.last().expect("not empty")) {
                        cycle.push(*before);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if waits.contains_key(&blocker.agent()) && !came_from.contains_key(&blocker.agent()) {
                    came_from.insert(blocker.agent(), agent);
                    to_visit.push_back(blocker.agent());
                }
            }
        }
        None
    }

    /// Whether each member still waits for the next.
    fn holds_still(&self, waits: &Waits, cycle: &[u64]) -> bool {
        (0..cycle.len()).all(|index| {
            let next = cycle[(index + 1) % cycle.len()];
            let Some(place) = waits.get(&cycle[index]) else { return false };
            place.owner.cell.is_waiting()
                && self.blockers(place).iter().any(|blocker| blocker.agent() == next)
        })
    }

    /// Who keeps a queued request waiting; empty when it is not queued any more.
    pub(super) fn blockers(&self, place: &WaitPlace) -> Vec<Arc<OwnerShared>> {
        let shard = self.shards[place.shard].lock();
        let Some(head) = shard.heads_at(place.head) else { return Vec::new() };
        let is_it =
            |w: &super::table::Waiter| w.wait_id == place.wait_id && Arc::ptr_eq(&w.owner, &place.owner);
        let Some(position) = head.waiters().position(is_it) else { return Vec::new() };
        let waiter = head.waiters().nth(position).expect("just found");
        let interval = waiter.interval.as_deref();
        let holders =
            head.blocking_grants(&waiter.owner, waiter.mode, interval).map(|grant| grant.owner.clone());
        let mut blockers: Vec<_> = holders.collect();
        if !waiter.converts {
            let earlier = head.blocking_waiters(position, &waiter.owner, waiter.mode, interval);
            blockers.extend(earlier.map(|waiter| waiter.owner.clone()));
        }
        blockers
    }

    /// The graph to report, or `None` when a member has just left.
    fn picture(&self, waits: &Waits, cycle: &[u64]) -> Option<Arc<DeadlockGraph>> {
        let mut processes = Vec::new();
        let mut resources = Vec::new();
        let mut victim = 0;
        let mut victim_rank = None;
        for (index, agent) in cycle.iter().enumerate() {
            let place = &waits[agent];
            let owner = &place.owner;
            let priority = owner.priority.load(Ordering::Relaxed);
            let log_used = owner.log_used.load(Ordering::Relaxed);
            let rank = (priority, log_used, std::cmp::Reverse(owner.id));
            if victim_rank.is_none_or(|least| rank < least) {
                victim_rank = Some(rank);
                victim = index;
            }
            let (resource, mode) = self.resource_picture(place)?;
            processes.push(DeadlockProcess {
                agent: *agent,
                description: owner.context().describe(),
                resource: resource.resource.clone(),
                mode,
                waited: place.since.elapsed(),
                log_used,
                priority,
            });
            resources.push(resource);
        }
        Some(Arc::new(DeadlockGraph { victim, processes, resources }))
    }

    fn resource_picture(&self, place: &WaitPlace) -> Option<(DeadlockResource, Mode)> {
        let shard = self.shards[place.shard].lock();
        let head = shard.heads_at(place.head)?;
        let role = |agent, mode, converts| DeadlockRole { agent, mode, converts };
        let owners = head.granted.iter().map(|grant| role(grant.owner.agent(), grant.mode, false)).collect();
        let waiters = head.waiters().map(|w| role(w.owner.agent(), w.mode, w.converts)).collect();
        let wanted =
            head.waiters().find(|w| w.wait_id == place.wait_id && Arc::ptr_eq(&w.owner, &place.owner));
        let mode = wanted?.mode;
        Some((DeadlockResource { resource: head.resource.clone(), owners, waiters }, mode))
    }
}
