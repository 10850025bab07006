//! Instances that start from an older copy of their disk, with the others' memory of what they have said since.

use super::*;
use protobuf::Message as _;
use raft::eraftpb::{HardState, Message, MessageType, Snapshot};

type Records = (GroupRecord, StoreRecord);

/// What the disk of an instance holds.
fn disk(pair: &Pair, i: usize) -> Records {
    let mut own = pair.done.iter().rev().filter(|(of, _)| *of == i).map(|(_, action)| action);
    let store = own.clone().find_map(|action| match action {
        Action::PersistStore { record, .. } => Some((**record).clone()),
        _ => None,
    });
    let group = own.find_map(|action| match action {
        Action::Persist { record, .. } => Some((**record).clone()),
        _ => None,
    });
    (group.expect("it has a group"), store.expect("it is of a cluster"))
}

/// The group is changed so many times, by who leads it.
fn change(pair: &mut Pair, times: u8) {
    for n in 0..times {
        let required_synchronized_secondaries = 1 - n % 2;
        let options = GroupOptions { required_synchronized_secondaries, ..pair.status(0).config.options };
        pair.command(0, 50, Command::SetOptions { group: GROUP, options: Box::new(options) });
        pair.pass(1);
    }
}

/// The instance's process ends, and it starts from this disk; the two are connected at once.
fn start(pair: &mut Pair, i: usize, records: Records) {
    start_alone(pair, i, records);
    connect(pair);
    pair.pass(20);
}

/// The instance's process ends, and it starts from this disk.
fn start_alone(pair: &mut Pair, i: usize, (group, store): Records) {
    let me = pair.nodes[i].identity().clone();
    pair.event(1 - i, Event::Disconnected { peer: instance(i) });
    pair.nodes[i] = Node::new(me, vec![group], Some(&store), 77, pair.now);
    pair.done.clear();
    pair.event(i, Event::DatabaseOpened { database: DATABASE, facts: pair.facts(i) });
}

fn connect(pair: &mut Pair) {
    for j in 0..2 {
        pair.event(j, Event::Connected { peer: instance(1 - j), name: format!("N{}", 1 - j) });
    }
}

fn said(pair: &Pair, by: usize, wanted: &LogEvent) -> bool {
    pair.done.iter().any(|(i, a)| *i == by && matches!(a, Action::Log(entry) if entry.what == *wanted))
}

#[test]
fn a_member_from_an_older_disk_comes_back_under_another_number() {
    let mut pair = automatic_pair();
    let old = disk(&pair, 1);
    change(&mut pair, 3);
    start(&mut pair, 1, old);
    assert!(said(&pair, 1, &LogEvent::OldRecord));
    let (primary, secondary) = (pair.status(0), pair.status(1));
    assert_eq!((primary.role, secondary.role), (RoleStatus::Primary, RoleStatus::Secondary));
    assert_eq!(primary.durable, secondary.durable, "it has all that was agreed");
    assert!(primary.config.is_failover_ready(replica(1)));
}

#[test]
fn a_member_from_its_own_disk_goes_on_under_its_number() {
    let mut pair = automatic_pair();
    change(&mut pair, 3);
    let newest = disk(&pair, 1);
    start(&mut pair, 1, newest);
    assert!(!said(&pair, 1, &LogEvent::OldRecord));
    assert!(pair.status(0).config.is_failover_ready(replica(1)));
}

#[test]
fn who_has_the_only_vote_and_an_older_disk_gives_it_up() {
    let mut pair = automatic_pair();
    let old = disk(&pair, 0);
    change(&mut pair, 5);
    let agreed = pair.status(1).durable;
    start(&mut pair, 0, old);
    assert!(said(&pair, 0, &LogEvent::OldRecord));
    assert_ne!(pair.status(0).role, RoleStatus::Primary);
    assert_eq!(pair.status(1).durable, agreed, "nothing is taken from it");
}

#[test]
fn who_has_the_only_vote_asks_before_it_elects_itself() {
    let mut pair = automatic_pair();
    let old = disk(&pair, 0);
    change(&mut pair, 1);
    let agreed = pair.status(1).durable;
    start(&mut pair, 0, old);
    assert!(said(&pair, 0, &LogEvent::OldRecord), "it would have put another word where that one is");
    assert_eq!(pair.status(1).durable, agreed);
}

#[test]
fn who_has_the_only_vote_and_its_own_disk_leads_again_with_or_without_the_other() {
    for alone in [true, false] {
        let mut pair = automatic_pair();
        change(&mut pair, 3);
        let newest = disk(&pair, 0);
        start_alone(&mut pair, 0, newest);
        if !alone {
            connect(&mut pair);
        }
        // Alone it waits for the other's log, which may be longer than its own.
        pair.pass(if alone { 12 } else { 2 });
        assert_eq!(pair.status(0).role, RoleStatus::Primary, "alone: {alone}");
    }
}

#[test]
fn nothing_is_taken_from_a_leader_that_has_other_words_where_some_were_agreed() {
    let mut pair = automatic_pair();
    let old = disk(&pair, 0);
    change(&mut pair, 3);
    let agreed = pair.nodes[1].store_position();
    start_alone(&mut pair, 0, old);
    // Nobody could tell it.
    pair.pass(2);
    connect(&mut pair);
    pair.pass(20);
    assert!(said(&pair, 1, &LogEvent::OldLeader("N0".into())));
    assert_eq!(pair.nodes[1].store_position(), agreed, "nor when it has said more than is known here");
}

/// The leader's snapshot of so many positions after what the second has, with the contents of the second changed.
fn snapshot(pair: &Pair, ahead: i64, change: impl FnOnce(&mut Contents)) -> Msg {
    let status = pair.nodes[1].cluster_status().unwrap();
    let number = |i: usize| {
        status.members.iter().map(|m| &m.member).find(|m| m.instance == instance(i)).unwrap().number
    };
    let (_, record) = disk(pair, 1);
    let mut snapshot = Snapshot::parse_from_bytes(&record.snapshot).unwrap();
    let mut contents: Contents = postcard::from_bytes(&snapshot.data).unwrap();
    contents.groups = pair.nodes[1].agreed_configs().map(|g| (g.id, g.clone())).collect();
    change(&mut contents);
    snapshot.data = postcard::to_stdvec(&contents).unwrap().into();
    let term = HardState::parse_from_bytes(&record.hard).unwrap().term;
    let (index, meta) = (status.applied.saturating_add_signed(ahead), snapshot.mut_metadata());
    (meta.index, meta.term) = (index, term);
    let mut message = Message { to: number(1), from: number(0), term, ..Message::default() };
    message.set_msg_type(MessageType::MsgSnapshot);
    message.set_snapshot(snapshot);
    let (cluster, generation, message) =
        (status.cluster, status.generation, message.write_to_bytes().unwrap());
    Msg::Store(StoreMsg::Raft { cluster, generation, message })
}

/// A majority that starts from old disks writes on, and folds what it has into a snapshot that is longer than the log of who was there.
#[test]
fn no_snapshot_is_taken_that_lacks_what_was_agreed() {
    type Make = fn(&mut Contents);
    let lacking: [(Make, bool); 3] = [
        (|_| {}, true),
        (|contents| contents.groups.get_mut(&GROUP).unwrap().stamp.version -= 1, false),
        (|contents| contents.groups.clear(), false),
    ];
    for (make, taken) in lacking {
        let mut pair = automatic_pair();
        change(&mut pair, 3);
        let before = pair.nodes[1].store_position().unwrap();
        let msg = snapshot(&pair, 5, make);
        pair.cut = true;
        pair.event(1, Event::Message { peer: instance(0), msg });
        let after = pair.nodes[1].store_position().unwrap();
        assert_eq!(said(&pair, 1, &LogEvent::OldLeader("N0".into())), !taken);
        assert_eq!(after.1, before.1 + if taken { 5 } else { 0 });
        assert_eq!(pair.nodes[1].agreed_configs().count(), 1);
    }
}

#[test]
fn an_older_snapshot_that_comes_late_proves_nothing() {
    let mut pair = automatic_pair();
    change(&mut pair, 3);
    let before = pair.nodes[1].store_position();
    let msg = snapshot(&pair, -1, |contents| contents.groups.get_mut(&GROUP).unwrap().stamp.version -= 1);
    pair.event(1, Event::Message { peer: instance(0), msg });
    assert!(!said(&pair, 1, &LogEvent::OldLeader("N0".into())));
    assert_eq!(pair.nodes[1].store_position(), before);
}
