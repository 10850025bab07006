//! The gates that people see: who is waited for, when waiting ends, what commands answer. Two machines that hear each other
//! at once; what the engine would answer is answered at once too, but for records, which become durable when the test says.

use crate::message::GroupBeat;
use crate::*;
use keel_base::{Epoch, Lsn};
use std::collections::VecDeque;
use std::time::Duration;
use uuid::Uuid;

mod leaving;
mod managed;
mod names;
mod old_disk;
mod returning;
mod sending;

const GROUP: GroupId = GroupId(Uuid::from_u128(1));
const DATABASE: GroupDatabaseId = GroupDatabaseId(Uuid::from_u128(2));

fn instance(i: usize) -> InstanceId {
    InstanceId(Uuid::from_u128(100 + i as u128))
}

fn replica(i: usize) -> ReplicaId {
    ReplicaId(Uuid::from_u128(200 + i as u128))
}

struct Pair {
    nodes: Vec<Node>,
    now: Duration,
    /// Records are not written while this is set.
    disk_stalls: bool,
    waiting: Vec<(usize, GroupId, u64)>,
    ends: [Lsn; 2],
    /// Nothing before this can be cut.
    floors: [Lsn; 2],
    /// The epoch of the blocks in the logs, of a test in which a log with some is looked at.
    written_in: Option<Epoch>,
    /// Everything done, without messages.
    done: Vec<(usize, Action)>,
    cut: bool,
}

impl Pair {
    fn new(required: u8) -> Pair {
        let options = GroupOptions {
            required_synchronized_secondaries: required,
            cluster_type: ClusterType::None,
            ..GroupOptions::default()
        };
        Pair::with(options, FailoverMode::Manual)
    }

    fn with(options: GroupOptions, mode: FailoverMode) -> Pair {
        let node = |i: usize| {
            let me = Identity { instance: instance(i), server_name: format!("N{i}") };
            Node::new(me, Vec::new(), None, i as u64 + 1, Duration::ZERO)
        };
        let mut pair = Pair {
            nodes: vec![node(0), node(1)],
            now: Duration::from_secs(1),
            disk_stalls: false,
            waiting: Vec::new(),
            ends: [Lsn::ZERO; 2],
            floors: [Lsn::ZERO; 2],
            written_in: None,
            done: Vec::new(),
            cut: false,
        };
        let mirroring = options.cluster_type.is_mirroring();
        let mut config = GroupConfig::new(GROUP, "AG", options);
        for i in 0..2 {
            let url = format!("TCP://n{i}:5022");
            let mut options = ReplicaOptions::new(url, AvailabilityMode::Synchronous, mode);
            if mirroring {
                options.seeding_mode = SeedingMode::Automatic;
            }
            config.replicas.push(Replica::new(replica(i), format!("n{i}"), options));
        }
        config.databases.push(GroupDatabase::new(DATABASE, "db", 7));
        pair.command(0, 1, Command::CreateGroup { config: Box::new(config), log_epoch: Epoch(1) });
        pair.event(0, Event::DatabaseOpened { database: DATABASE, facts: pair.facts(0) });
        if !mirroring {
            pair.command(1, 2, Command::Join { name: "ag".into(), cluster_type: None });
        }
        pair
    }

    fn facts(&self, i: usize) -> LogFacts {
        let epochs = [Epoch(1)].into_iter().chain(self.written_in);
        let history = epochs.map(|epoch| (epoch, Lsn::ZERO)).collect();
        LogFacts { history, end: self.ends[i], agreed: Lsn::ZERO, floor: self.floors[i], reached: Lsn::ZERO }
    }

    fn connect(&mut self) {
        for i in 0..2 {
            self.event(i, Event::Connected { peer: instance(1 - i), name: format!("N{}", 1 - i) });
        }
        self.pass(1);
        self.event(1, Event::DatabaseOpened { database: DATABASE, facts: self.facts(1) });
        self.pass(2);
    }

    /// The second may take new copies: SEEDING_MODE = AUTOMATIC, and GRANT CREATE ANY DATABASE.
    fn seed_automatically(&mut self) {
        let mut options =
            ReplicaOptions::new("TCP://n1:5022", AvailabilityMode::Synchronous, FailoverMode::Manual);
        options.seeding_mode = SeedingMode::Automatic;
        let options = Box::new(options);
        self.command(0, 3, Command::ModifyReplica { group: GROUP, replica: replica(1), options });
        self.command(1, 4, Command::AllowCreate { group: GROUP, allowed: true });
    }

    fn command(&mut self, i: usize, id: u64, command: Command) {
        self.event(i, Event::Command { id: CommandId(id), command });
    }

    fn event(&mut self, i: usize, event: Event) {
        let mut queue = VecDeque::from([(i, event)]);
        while let Some((i, event)) = queue.pop_front() {
            let actions = self.nodes[i].step(self.now, event);
            self.carry_out(i, actions, &mut queue);
        }
    }

    /// Lets seconds pass, tick by tick.
    fn pass(&mut self, seconds: u64) {
        self.pass_ticks(seconds * 10);
    }

    fn pass_ticks(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.now += Duration::from_millis(100);
            for i in 0..2 {
                let actions = self.nodes[i].tick(self.now);
                let mut queue = VecDeque::new();
                self.carry_out(i, actions, &mut queue);
                while let Some((i, event)) = queue.pop_front() {
                    let actions = self.nodes[i].step(self.now, event);
                    self.carry_out(i, actions, &mut queue);
                }
            }
        }
    }

    fn carry_out(&mut self, i: usize, actions: Vec<Action>, queue: &mut VecDeque<(usize, Event)>) {
        for action in actions {
            match &action {
                Action::Send { msg, .. } if !self.cut => {
                    let msg = Msg::decode(&msg.encode()).unwrap();
                    queue.push_back((1 - i, Event::Message { peer: instance(i), msg }));
                    continue;
                }
                Action::Persist { group, revision, record } => {
                    assert_eq!(GroupRecord::decode(&record.encode()).unwrap(), **record);
                    let (group, revision) = (*group, *revision);
                    if self.disk_stalls {
                        self.waiting.push((i, group, revision));
                    } else {
                        queue.push_back((i, Event::Persisted { group, revision }));
                    }
                }
                Action::PersistStore { revision, .. } => {
                    queue.push_back((i, Event::StorePersisted { revision: *revision }));
                }
                Action::Promote { group, epoch, databases } => {
                    let databases = databases.iter().map(|id| (*id, self.facts(i))).collect();
                    queue.push_back((i, Event::Promoted { group: *group, epoch: *epoch, databases }));
                }
                Action::Demote { .. } => queue.push_back((i, Event::Demoted { group: GROUP })),
                Action::Inspect { session, .. } => {
                    let facts = self.facts(i);
                    queue.push_back((i, Event::Inspected { database: DATABASE, session: *session, facts }));
                }
                Action::Drain { .. } => {
                    let ends = vec![(DATABASE, self.ends[i])];
                    queue.push_back((i, Event::Drained { group: GROUP, ends }));
                }
                _ => {}
            }
            self.done.push((i, action));
        }
    }

    /// The stalled disk writes what it was given.
    fn disk_goes_on(&mut self) {
        self.disk_stalls = false;
        for (i, group, revision) in std::mem::take(&mut self.waiting) {
            self.event(i, Event::Persisted { group, revision });
        }
    }

    fn write(&mut self, end: u64) {
        self.ends[0] = Lsn(end);
        self.event(0, Event::Hardened { database: DATABASE, lsn: Lsn(end) });
    }

    /// The secondary has hardened and says so.
    fn follow(&mut self, end: u64) {
        self.follow_redone(end, 0);
    }

    /// It says too how far it is redone.
    fn follow_redone(&mut self, end: u64, applied: u64) {
        self.ends[1] = Lsn(end);
        let session = self.done.iter().rev().find_map(|(i, action)| match action {
            Action::Receive { session, .. } if *i == 1 => Some(*session),
            _ => None,
        });
        self.event(1, Event::Hardened { database: DATABASE, lsn: Lsn(end) });
        let at = Lsn(end);
        let positions = CopyPositions { received: at, hardened: at, applied: Lsn(applied) };
        let session = session.expect("the secondary receives");
        self.event(0, Event::Acked { peer: instance(1), database: DATABASE, session, positions });
    }

    fn agreed(&self) -> u64 {
        self.status(0).databases[0].agreed.0
    }

    fn status(&self, i: usize) -> GroupStatus {
        self.nodes[i].status().remove(0)
    }

    /// The session in which blocks were last sent.
    fn sent_in(&self) -> SessionId {
        let started = self.done.iter().rev().find_map(|(_, action)| match action {
            Action::StartSending { session, .. } => Some(*session),
            _ => None,
        });
        started.expect("blocks are sent")
    }

    fn answer(&self, id: u64) -> Option<Result<(), CommandError>> {
        self.done.iter().find_map(|(_, action)| match action {
            Action::Reply { command, result } if *command == CommandId(id) => Some(result.clone()),
            _ => None,
        })
    }
}

#[test]
fn a_commit_waits_for_the_synchronized_secondary() {
    let mut pair = Pair::new(0);
    pair.write(10);
    assert_eq!(pair.agreed(), 10, "nobody is there to be waited for");
    pair.connect();
    assert_eq!(pair.answer(2), Some(Ok(())));
    assert_eq!(pair.status(0).databases[0].copies[0].state, SynchronizationState::Synchronizing);
    pair.follow(10);
    assert_eq!(pair.status(0).databases[0].copies[0].state, SynchronizationState::Synchronized);
    assert_eq!(pair.status(0).health, Health::Healthy);
    pair.write(20);
    assert_eq!(pair.agreed(), 10);
    assert_eq!(pair.status(0).databases[0].waited_for, [replica(1)]);
    pair.follow(20);
    assert_eq!(pair.agreed(), 20);
}

#[test]
fn news_of_the_own_log_may_wait_while_others_hold_the_commit_point() {
    let mut pair = Pair::new(0);
    let waits = |pair: &Pair| pair.nodes[0].waits_for_others(DATABASE);
    pair.write(10);
    assert!(!waits(&pair), "nobody is waited for");
    pair.connect();
    pair.follow(10);
    assert!(waits(&pair), "the secondary has acknowledged no more than is agreed on");
    assert!(!pair.nodes[1].waits_for_others(DATABASE), "it leads nothing");
    pair.write(20);
    assert!(waits(&pair));
    pair.follow(20);
    assert!(waits(&pair));
    pair.follow(30);
    assert!(!waits(&pair), "only the own log is missing");
    pair.write(30);
    assert_eq!(pair.agreed(), 30);
    pair.event(0, Event::Disconnected { peer: instance(1) });
    pair.pass(1);
    assert!(!waits(&pair), "nobody is waited for any more");
}

#[test]
fn waiting_ends_only_when_the_removal_is_durable() {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.write(10);
    pair.disk_stalls = true;
    pair.event(0, Event::Disconnected { peer: instance(1) });
    pair.pass(1);
    assert_eq!(pair.agreed(), 0);
    pair.disk_goes_on();
    assert_eq!(pair.agreed(), 10);
}

#[test]
fn silence_ends_waiting_after_the_session_time_out() {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.cut = true;
    pair.write(10);
    pair.pass(9);
    assert_eq!(pair.agreed(), 0);
    pair.pass(2);
    assert_eq!(pair.agreed(), 10);
    assert!(pair.done.iter().any(|(i, a)| *i == 0 && *a == Action::Disconnect { peer: instance(1) }));
}

#[test]
fn required_secondaries_hold_commits_up_and_say_so() {
    let mut pair = Pair::new(1);
    pair.write(10);
    assert_eq!(pair.agreed(), 0);
    let blocked = Some(Blocked::RequiredSecondaries { have: 0, need: 1 });
    assert_eq!(pair.status(0).databases[0].blocked, blocked);
    let options = Box::new(GroupOptions::default());
    pair.command(0, 9, Command::SetOptions { group: GROUP, options });
    pair.pass(1);
    assert_eq!(pair.answer(9), Some(Ok(())));
    assert_eq!(pair.agreed(), 10);
}

#[test]
fn a_join_that_names_another_type_is_refused() {
    let mut pair = Pair::new(0);
    let other = Command::Join { name: "ag".into(), cluster_type: Some(ClusterType::External) };
    pair.command(1, 3, other);
    pair.connect();
    assert_eq!(pair.answer(2), Some(Ok(())), "this one named no type");
    assert_eq!(pair.answer(3), Some(Err(CommandError::ClusterTypeMismatch)));
}

#[test]
fn nobody_is_forced_to_lead_with_a_copy_that_is_gone() {
    let mut pair = Pair::new(0);
    pair.connect();
    // That it left the set is not on disk, so it does not know.
    pair.disk_stalls = true;
    pair.event(1, Event::DatabaseClosed { database: DATABASE });
    pair.command(1, 9, Command::ForceFailover { group: GROUP });
    assert_eq!(pair.answer(9), Some(Err(CommandError::NotSynchronized)));
    assert_eq!(pair.status(1).role, RoleStatus::Secondary);
}

#[test]
fn nobody_takes_a_vacant_role_without_a_copy() {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.write(20);
    pair.follow(20);
    pair.command(0, 8, Command::Offline { group: GROUP });
    pair.pass(3);
    assert_eq!((pair.answer(8), pair.status(1).role), (Some(Ok(())), RoleStatus::Resolving));
    pair.event(1, Event::DatabaseClosed { database: DATABASE });
    pair.command(1, 9, Command::Failover { group: GROUP });
    pair.pass(15);
    assert_eq!(pair.answer(9), Some(Err(CommandError::NotSynchronized)));
    pair.command(0, 10, Command::Failover { group: GROUP });
    pair.pass(3);
    assert_eq!((pair.answer(10), pair.status(0).role), (Some(Ok(())), RoleStatus::Primary));
}

#[test]
fn a_planned_failover_hands_the_role_over() {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.command(1, 9, Command::Failover { group: GROUP });
    assert_eq!(pair.answer(9), Some(Ok(())));
    assert_eq!(pair.status(1).role, RoleStatus::Primary);
    assert_eq!(pair.status(0).role, RoleStatus::Secondary);
}

/// A heartbeat that was on its way while the role was handed over says that its sender does not lead, which it did not know yet.
#[test]
fn what_the_new_primary_said_before_it_was_told_does_not_take_the_role_from_it() {
    let mut pair = automatic_pair();
    let said = GroupBeat {
        group: GROUP,
        stamp: pair.status(1).durable,
        primary: false,
        taking: false,
        fitness: Fitness::Fit,
        sending: Vec::new(),
        standing: Vec::new(),
        logs: Vec::new(),
    };
    pair.disk_stalls = true;
    pair.command(1, 9, Command::Failover { group: GROUP });
    assert_eq!(pair.status(0).operational, OperationalState::Pending, "the role is given up");
    pair.event(0, Event::Message { peer: instance(1), msg: Msg::Beat(vec![said]) });
    // It follows before the other one leads.
    pair.waiting.sort_unstable();
    pair.disk_goes_on();
    pair.pass(1);
    assert_eq!(pair.status(1).role, RoleStatus::Primary);
    assert_eq!(pair.status(0).role, RoleStatus::Secondary);
    assert!(pair.status(0).failovers.iter().all(|record| record.kind != FailoverKind::Automatic));
}

#[test]
fn a_failover_with_something_unacknowledged_is_called_off() {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.write(10);
    pair.command(1, 9, Command::Failover { group: GROUP });
    assert_eq!(pair.answer(9), None);
    pair.pass(3);
    assert_eq!(pair.answer(9), Some(Err(CommandError::FailoverTimedOut)));
    assert_eq!(pair.status(0).role, RoleStatus::Primary);
    assert!(pair.done.iter().any(|(i, a)| *i == 0 && matches!(a, Action::Undrain { .. })));
}

#[test]
fn a_forced_failover_suspends_the_other_copy_until_resume() {
    let mut pair = Pair::new(0);
    pair.connect();
    for i in 0..2 {
        pair.event(i, Event::Disconnected { peer: instance(1 - i) });
    }
    pair.command(1, 9, Command::Failover { group: GROUP });
    assert_eq!(pair.answer(9), Some(Err(CommandError::PrimaryNotConnected)));
    pair.command(1, 10, Command::ForceFailover { group: GROUP });
    assert_eq!(pair.answer(10), Some(Ok(())));
    for i in 0..2 {
        pair.event(i, Event::Connected { peer: instance(1 - i), name: format!("N{}", 1 - i) });
    }
    pair.pass(3);
    let old = pair.status(0);
    assert_eq!((old.role, old.databases[0].suspended), (RoleStatus::Secondary, Some(SuspendReason::Partner)));
    assert_eq!(old.databases[0].state, SynchronizationState::NotSynchronizing);
    pair.command(0, 11, Command::Resume { database: DATABASE });
    pair.pass(3);
    assert_eq!(pair.status(0).databases[0].state, SynchronizationState::Synchronized);
}

#[test]
fn a_suspended_copy_is_out_of_the_set_and_comes_back() {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.command(1, 9, Command::Suspend { database: DATABASE });
    pair.write(10);
    assert_eq!(pair.agreed(), 10);
    assert_eq!(pair.status(0).health, Health::PartiallyHealthy);
    pair.command(1, 10, Command::Resume { database: DATABASE });
    pair.pass(2);
    assert_eq!(pair.status(0).databases[0].copies[0].state, SynchronizationState::Synchronizing);
    pair.follow(10);
    assert_eq!(pair.status(0).databases[0].copies[0].state, SynchronizationState::Synchronized);
}

#[test]
fn a_copy_whose_blocks_never_follow_asks_ever_more_seldom_and_says_so_once() {
    let mut pair = Pair::new(0);
    pair.connect();
    let received = |pair: &Pair| {
        let of_second = pair.done.iter().filter(|(i, _)| *i == 1);
        let sessions = of_second.filter_map(|(_, action)| match action {
            Action::Receive { session, .. } => Some(*session),
            _ => None,
        });
        sessions.collect::<Vec<_>>()
    };
    let told = |pair: &Pair| {
        let is_gap = |a: &Action| matches!(a, Action::Log(LogEntry { what: LogEvent::Gaps { .. }, .. }));
        pair.done.iter().filter(|(_, a)| is_gap(a)).count()
    };
    let gap = |pair: &mut Pair| {
        let session = *received(pair).last().unwrap();
        pair.event(1, Event::ReceiveFailed { database: DATABASE, session, failure: ReceiveFailure::Gap });
    };
    gap(&mut pair);
    assert_eq!(received(&pair).len(), 2, "a message may have been lost: at once");
    gap(&mut pair);
    assert_eq!(received(&pair).len(), 2, "not at once again");
    // Every new attempt finds the same.
    for _ in 0..300 {
        pair.pass_ticks(1);
        gap(&mut pair);
    }
    let tries = received(&pair).len();
    assert!((15..30).contains(&tries), "{tries} in half a minute");
    assert_eq!(told(&pair), 1);
    // Another place is another story.
    pair.pass(3);
    pair.follow(10);
    pair.write(10);
    let asked = |pair: &Pair| {
        pair.done.iter().filter(|(i, a)| *i == 1 && matches!(a, Action::Inspect { .. })).count()
    };
    let before = asked(&pair);
    gap(&mut pair);
    assert_eq!(asked(&pair), before + 1);
    assert_eq!(told(&pair), 1);
}

#[test]
fn a_copy_that_is_told_to_leave_leaves_also_when_the_group_changes_meanwhile() {
    let mut pair = Pair::new(0);
    pair.connect();
    let released = |pair: &Pair| {
        pair.done.iter().any(|(i, a)| *i == 1 && matches!(a, Action::Release { writable: false, .. }))
    };
    pair.disk_stalls = true;
    let options = GroupOptions { health_check_timeout_ms: 40_000, ..pair.status(0).config.options.clone() };
    pair.command(0, 7, Command::SetOptions { group: GROUP, options: Box::new(options) });
    pair.command(1, 8, Command::LeaveDatabase { database: DATABASE });
    assert!(!released(&pair));
    pair.disk_goes_on();
    assert!(released(&pair));
    // It may join again before it has left.
    pair.done.clear();
    pair.command(1, 9, Command::JoinDatabase { database: DATABASE });
    pair.disk_stalls = true;
    pair.command(1, 10, Command::LeaveDatabase { database: DATABASE });
    pair.command(1, 11, Command::JoinDatabase { database: DATABASE });
    pair.disk_goes_on();
    assert!(!released(&pair));
}

/// A primary takes no blocks: a copy that lacks some of what its base tree holds stays closed there, and is made anew when the role
/// is gone.
#[test]
fn a_copy_that_could_not_be_led_with_is_made_anew() {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.seed_automatically();
    pair.write(20);
    pair.follow(20);
    pair.cut = true;
    (0..2).for_each(|i| pair.event(i, Event::Disconnected { peer: instance(1 - i) }));
    pair.disk_stalls = true;
    pair.command(1, 9, Command::ForceFailover { group: GROUP });
    // While the claim is on its way the copy is opened anew, and the end of its log is gone.
    (pair.ends[1], pair.floors[1]) = (Lsn(5), Lsn(20));
    pair.event(1, Event::DatabaseClosed { database: DATABASE });
    pair.event(1, Event::DatabaseOpened { database: DATABASE, facts: pair.facts(1) });
    pair.disk_goes_on();
    pair.pass(15);
    let status = pair.status(1);
    assert_eq!((status.role, status.databases[0].open), (RoleStatus::Primary, false));
    pair.cut = false;
    for i in 0..2 {
        pair.event(i, Event::Connected { peer: instance(1 - i), name: format!("N{}", 1 - i) });
    }
    pair.pass(3);
    pair.command(0, 10, Command::ForceFailover { group: GROUP });
    pair.pass(5);
    assert_eq!((pair.status(0).role, pair.status(1).role), (RoleStatus::Primary, RoleStatus::Secondary));
    pair.done.clear();
    pair.command(1, 11, Command::Resume { database: DATABASE });
    pair.pass(3);
    assert!(pair.done.iter().any(|(i, a)| *i == 1 && matches!(a, Action::ExpectSeed { .. })));
}

/// Two nodes of a cluster, the second in the set.
fn automatic_pair() -> Pair {
    let options = GroupOptions { cluster_type: ClusterType::Wsfc, ..GroupOptions::default() };
    let mut pair = Pair::with(options, FailoverMode::Automatic);
    pair.pass(1);
    pair.connect();
    pair.pass(5);
    assert!(pair.status(0).config.is_failover_ready(replica(1)));
    pair
}

/// How far the secondary may be sent, and what writers wait, as was said last.
fn held_back(pair: &Pair) -> (Option<Lsn>, Option<Duration>) {
    let last = |of: &dyn Fn(&Action) -> Option<Lsn>| pair.done.iter().rev().find_map(|(_, a)| of(a));
    let limit = last(&|action| match action {
        Action::SendUntil { limit, .. } => Some(*limit),
        _ => None,
    });
    let wait = pair.done.iter().rev().find_map(|(_, action)| match action {
        Action::SlowWriters { time, .. } => Some(*time),
        _ => None,
    });
    (limit, wait)
}

#[test]
fn a_member_with_much_to_redo_slows_writers_and_leaves_when_its_redo_stands_still() {
    let mut pair = automatic_pair();
    let options = ClusterOptions { recovery_queue_max: 1000, ..ClusterOptions::default() };
    pair.nodes = pair.nodes.drain(..).map(|node| node.with_options(options.clone())).collect();
    pair.write(400);
    pair.follow_redone(400, 0);
    assert_eq!(held_back(&pair), (None, None), "less than half of the bound");
    pair.write(800);
    pair.follow_redone(800, 0);
    let (limit, wait) = held_back(&pair);
    assert_eq!(limit, Some(Lsn(1000)));
    let wait = wait.unwrap();
    assert!(!wait.is_zero() && wait < Duration::from_millis(20), "{wait:?}");
    pair.follow_redone(800, 200);
    assert_eq!(held_back(&pair).0, Some(Lsn(1200)), "more is sent as it redoes");
    pair.write(1200);
    pair.follow_redone(1200, 200);
    assert_eq!(pair.agreed(), 1200);
    assert_eq!(held_back(&pair).1, Some(Duration::from_millis(20)));
    // It may be sent no more, and redoes nothing: commits wait for it, and then no longer.
    pair.write(1300);
    assert_eq!(pair.agreed(), 1200);
    pair.pass(4);
    assert_eq!(pair.agreed(), 1300);
    let left = pair.done.iter().find_map(|(_, action)| match action {
        Action::Log(LogEntry { what: LogEvent::NotSynchronized { reason, .. }, .. }) => Some(*reason),
        _ => None,
    });
    assert_eq!(left, Some(LeaveReason::Behind));
    assert_eq!(held_back(&pair).1, Some(Duration::ZERO), "who is not in the set slows nobody");
    // Near the end again, but with too much to redo: it stays out.
    pair.follow_redone(1300, 400);
    pair.pass(2);
    assert!(!pair.status(0).config.is_failover_ready(replica(1)));
    pair.follow_redone(1300, 1000);
    assert_eq!(held_back(&pair).0, Some(Lsn::MAX));
    pair.pass(2);
    assert!(pair.status(0).config.is_failover_ready(replica(1)));
}

#[test]
fn a_new_session_is_limited_from_its_first_block() {
    let mut pair = Pair::new(0);
    let options = ClusterOptions { recovery_queue_max: 1000, ..ClusterOptions::default() };
    pair.nodes = pair.nodes.drain(..).map(|node| node.with_options(options.clone())).collect();
    pair.write(5000);
    pair.connect();
    let started = pair.done.iter().rev().find_map(|(_, action)| match action {
        Action::StartSending { from, limit, .. } => Some((*from, *limit)),
        _ => None,
    });
    assert_eq!(started, Some((Lsn::ZERO, Lsn(1000))));
    // What it may not redo yet does not hold its log back.
    pair.follow_redone(900, 900);
    pair.follow_redone(1800, 1800);
    assert_eq!(held_back(&pair).0, Some(Lsn(2800)));
    pair.follow_redone(4600, 4600);
    assert_eq!(held_back(&pair).0, Some(Lsn::MAX));
}

/// The secondary has hardened and says so; the primary's own flush has not ended.
fn run_ahead(pair: &mut Pair, end: u64) {
    pair.follow(end);
    assert_eq!(pair.ends[0], Lsn::ZERO, "only one of them has written");
}

#[test]
fn a_primary_is_outrun_when_all_who_could_follow_have_more() {
    let mut pair = automatic_pair();
    assert!(!pair.nodes[0].is_outrun(DATABASE, Lsn(10)), "they stand where it stands");
    run_ahead(&mut pair, 10);
    assert!(pair.nodes[0].is_outrun(DATABASE, Lsn(10)));
    assert!(!pair.nodes[0].is_outrun(DATABASE, Lsn(11)), "the flush holds more than they have");
    assert!(!pair.nodes[0].is_outrun(DATABASE, Lsn(0)), "no flush is under way");
    assert!(!pair.nodes[1].is_outrun(DATABASE, Lsn(10)), "it leads nothing");
    pair.write(10);
    assert!(!pair.nodes[0].is_outrun(DATABASE, Lsn(10)), "its own flush has ended");
}

#[test]
fn a_primary_is_not_outrun_by_who_is_not_heard_or_could_not_follow() {
    let mut pair = automatic_pair();
    run_ahead(&mut pair, 10);
    pair.cut = true;
    pair.pass(1);
    assert!(!pair.nodes[0].is_outrun(DATABASE, Lsn(10)), "what it had is old news");
    let mut pair = Pair::new(0);
    pair.connect();
    run_ahead(&mut pair, 10);
    assert!(
        !pair.nodes[0].is_outrun(DATABASE, Lsn(10)),
        "nobody takes over by himself in a group without a cluster"
    );
}

#[test]
fn a_primary_is_not_outrun_while_failovers_are_held_back() {
    let mut pair = automatic_pair();
    let options = ClusterOptions { flap_max: 0, ..ClusterOptions::default() };
    run_ahead(&mut pair, 10);
    let node = pair.nodes.remove(0).with_options(options);
    assert!(!node.is_outrun(DATABASE, Lsn(10)));
}

fn mirroring_pair() -> Pair {
    let options = GroupOptions { cluster_type: ClusterType::Mirroring, ..GroupOptions::default() };
    Pair::with(options, FailoverMode::Manual)
}

fn expected(log_id: u32, principal: usize) -> Event {
    Event::Expecting([ExpectedSession { log_id, principal: instance(principal) }].into())
}

#[test]
fn a_mirror_enters_the_session_that_it_expects() {
    let mut pair = mirroring_pair();
    pair.event(1, expected(7, 0));
    pair.connect();
    assert_eq!(pair.status(1).config.id, GROUP);
    pair.follow(0);
    pair.write(10);
    assert_eq!(pair.agreed(), 0, "SAFETY FULL: the mirror is waited for");
    pair.follow(10);
    assert_eq!(pair.agreed(), 10);
    // The mirror is away: the principal goes on exposed.
    pair.cut = true;
    pair.write(20);
    pair.pass(11);
    assert_eq!(pair.agreed(), 20);
}

#[test]
fn nobody_is_made_a_mirror_who_does_not_expect_it() {
    for event in [Event::Expecting([].into()), expected(8, 0), expected(7, 1)] {
        let mut pair = mirroring_pair();
        pair.event(1, event);
        pair.connect();
        assert!(pair.nodes[1].status().is_empty());
        assert_eq!(pair.nodes[1].invitations().count(), 0, "no group that users could join");
        // The offer comes again.
        pair.event(1, expected(7, 0));
        pair.pass(2);
        assert_eq!(pair.status(1).config.id, GROUP);
    }
}

#[test]
fn the_roles_of_a_session_are_swapped_without_loss() {
    let mut pair = mirroring_pair();
    pair.event(1, expected(7, 0));
    pair.connect();
    pair.write(10);
    pair.follow(10);
    pair.command(1, 9, Command::Failover { group: GROUP });
    pair.pass(1);
    assert_eq!(pair.answer(9), Some(Ok(())));
    assert_eq!([pair.status(0).role, pair.status(1).role], [RoleStatus::Secondary, RoleStatus::Primary]);
}

#[test]
fn an_old_principal_whose_tail_cannot_be_cut_is_made_anew_when_resumed() {
    let mut pair = mirroring_pair();
    pair.event(1, expected(7, 0));
    pair.connect();
    pair.write(10);
    pair.follow(10);
    pair.cut = true;
    for i in 0..2 {
        pair.event(i, Event::Disconnected { peer: instance(1 - i) });
    }
    pair.write(20);
    pair.floors[0] = Lsn(20);
    pair.command(1, 9, Command::ForceFailover { group: GROUP });
    pair.pass(1);
    assert_eq!(pair.answer(9), Some(Ok(())));
    pair.cut = false;
    for i in 0..2 {
        pair.event(i, Event::Connected { peer: instance(1 - i), name: format!("N{}", 1 - i) });
    }
    pair.pass(2);
    let suspended = |pair: &Pair| pair.status(0).databases[0].suspended;
    assert_eq!(suspended(&pair), Some(SuspendReason::Partner), "its tail is kept");
    pair.command(1, 10, Command::Resume { database: DATABASE });
    pair.pass(2);
    assert_eq!(suspended(&pair), None);
    let asked = Action::ExpectSeed { peer: instance(1), database: DATABASE };
    assert!(pair.done.iter().any(|(i, action)| *i == 0 && *action == asked));
}

#[test]
fn a_session_that_the_mirror_has_ended_alone_ends_when_they_meet() {
    let mut pair = mirroring_pair();
    pair.event(1, expected(7, 0));
    pair.connect();
    pair.follow(0);
    for i in 0..2 {
        pair.event(i, Event::Disconnected { peer: instance(1 - i) });
    }
    pair.command(1, 9, Command::DropGroup { group: GROUP });
    assert_eq!(pair.answer(9), Some(Ok(())));
    let released = |pair: &Pair, i: usize, writable| {
        let release = Action::Release { database: DATABASE, writable };
        pair.done.iter().any(|(at, action)| *at == i && *action == release)
    };
    assert!(released(&pair, 1, false) && !released(&pair, 0, true));
    for i in 0..2 {
        pair.event(i, Event::Connected { peer: instance(1 - i), name: format!("N{}", 1 - i) });
    }
    pair.pass(2);
    assert!(released(&pair, 0, true), "the principal's copy stands alone");
    assert!(pair.nodes.iter().all(|node| node.status().is_empty()));
}
