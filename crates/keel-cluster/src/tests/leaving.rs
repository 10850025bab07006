//! SET HADR OFF and AVAILABILITY GROUP of a database: what was let go is followed with again, and nothing is thrown away that may be
//! counted on.

use super::*;

fn with_seeding() -> Pair {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.seed_automatically();
    pair.pass(1);
    pair.write(10);
    pair.follow(10);
    assert_eq!(pair.agreed(), 10);
    pair.written_in = Some(pair.status(0).durable.epoch);
    pair
}

fn count(pair: &Pair, wanted: fn(&Action) -> bool) -> usize {
    pair.done.iter().filter(|(_, action)| wanted(action)).count()
}

fn thrown_away(pair: &Pair) -> usize {
    count(pair, |action| matches!(action, Action::ExpectSeed { .. }))
}

fn seeds(pair: &Pair) -> usize {
    count(pair, |action| matches!(action, Action::Seed { .. }))
}

fn is_synchronized(pair: &Pair) -> bool {
    pair.status(0).databases[0].copies[0].state == SynchronizationState::Synchronized
}

const LEAVE: Command = Command::LeaveDatabase { database: DATABASE };
const JOIN: Command = Command::JoinDatabase { database: DATABASE };

#[test]
fn a_copy_that_was_let_go_is_taken_back() {
    let mut pair = with_seeding();
    pair.command(1, 5, LEAVE);
    pair.pass(1);
    assert!(!is_synchronized(&pair));
    pair.command(1, 6, JOIN);
    pair.pass(5);
    assert_eq!(thrown_away(&pair), 0, "it may yet be opened");
    pair.event(1, Event::DatabaseOpened { database: DATABASE, facts: pair.facts(1) });
    pair.pass(1);
    assert!(is_synchronized(&pair));
    assert_eq!(thrown_away(&pair), 0);
}

#[test]
fn a_copy_that_is_joined_before_it_was_let_go_follows_on() {
    let mut pair = with_seeding();
    pair.disk_stalls = true;
    pair.command(1, 5, LEAVE);
    pair.command(1, 6, JOIN);
    pair.disk_goes_on();
    pair.pass(1);
    assert!(is_synchronized(&pair));
    assert_eq!(thrown_away(&pair), 0);
    assert_eq!(count(&pair, |action| matches!(action, Action::Release { .. })), 0);
}

#[test]
fn a_copy_is_made_anew_at_once_when_there_is_word_that_none_is_left() {
    let mut pair = with_seeding();
    pair.command(1, 5, LEAVE);
    pair.pass(1);
    pair.command(1, 6, JOIN);
    pair.event(1, Event::DatabaseClosed { database: DATABASE });
    assert_eq!((thrown_away(&pair), seeds(&pair)), (1, 1));
}

#[test]
fn who_asks_for_a_new_copy_counts_for_no_commit_and_gets_it_when_no_record_counts_on_the_old_one() {
    let mut pair = with_seeding();
    pair.disk_stalls = true;
    // Acknowledged by the secondary before the primary has it.
    pair.follow(20);
    pair.event(1, Event::DatabaseClosed { database: DATABASE });
    pair.pass(3);
    assert_eq!((thrown_away(&pair), seeds(&pair)), (0, 0), "the record counts on it");
    pair.write(20);
    assert_eq!(pair.agreed(), 10, "what it had is gone");
    pair.disk_goes_on();
    pair.pass(1);
    assert_eq!(pair.agreed(), 20);
    assert_eq!((thrown_away(&pair), seeds(&pair)), (1, 1));
}

#[test]
fn who_has_the_role_leaves_no_database_while_it_does_not_lead() {
    let mut pair = with_seeding();
    pair.event(0, Event::Disconnected { peer: instance(1) });
    pair.event(1, Event::Disconnected { peer: instance(0) });
    let record = pair.done.iter().rev().find_map(|(i, action)| match action {
        Action::Persist { record, .. } if *i == 0 => Some((**record).clone()),
        _ => None,
    });
    let me = Identity { instance: instance(0), server_name: "N0".into() };
    pair.nodes[0] = Node::new(me, vec![record.unwrap()], None, 9, pair.now);
    pair.command(0, 5, LEAVE);
    assert_eq!(pair.answer(5), Some(Err(CommandError::IsPrimary)));
}
