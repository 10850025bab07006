//! Sessions in which the primary can send no more.

use super::*;

#[test]
fn a_copy_whose_log_is_gone_makes_room_for_one_new_copy() {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.seed_automatically();
    pair.pass(1);
    let (peer, session) = (instance(1), pair.sent_in());
    let failure = SendFailure::LogGone;
    pair.event(0, Event::SendFailed { peer, database: DATABASE, session, failure });
    let asked =
        |pair: &Pair| pair.done.iter().filter(|(_, a)| matches!(a, Action::ExpectSeed { .. })).count();
    assert_eq!(asked(&pair), 1);
    pair.command(1, 5, Command::ForceFailover { group: GROUP });
    pair.pass(1);
    assert_eq!(pair.answer(5), Some(Err(CommandError::NotSynchronized)), "nothing is left to lead with");
    // It is taken away when the seeding begins.
    pair.event(1, Event::DatabaseClosed { database: DATABASE });
    pair.pass(1);
    assert_eq!(asked(&pair), 1, "the attempt goes on");
    pair.event(1, Event::SeedEnded { peer: instance(0), database: DATABASE, completed: false });
    pair.pass(30);
    assert!(asked(&pair) > 1, "one that failed is repeated");
}

#[test]
fn a_copy_at_whose_end_no_block_of_the_primary_begins_is_suspended_and_says_why() {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.pass(1);
    let (peer, session) = (instance(1), pair.sent_in());
    let failure = SendFailure::NoBlock;
    pair.event(0, Event::SendFailed { peer, database: DATABASE, session, failure });
    pair.pass(1);
    assert_eq!(pair.status(1).databases[0].suspended, Some(SuspendReason::NoCommonPoint));
}

#[test]
fn a_log_that_cannot_be_read_is_asked_for_ever_more_seldom() {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.pass(1);
    let asked = |pair: &Pair| pair.done.iter().filter(|(_, a)| matches!(a, Action::Inspect { .. })).count();
    let fail = |pair: &mut Pair| {
        let (peer, session, failure) = (instance(1), pair.sent_in(), SendFailure::ReadFailed);
        pair.event(0, Event::SendFailed { peer, database: DATABASE, session, failure });
    };
    fail(&mut pair);
    assert_eq!(pair.status(1).databases[0].suspended, Some(SuspendReason::Capture));
    let mut pauses = Vec::new();
    for _ in 0..7 {
        let (before, mut ticks) = (asked(&pair), 0);
        while asked(&pair) == before {
            pair.pass_ticks(1);
            ticks += 1;
        }
        pauses.push(ticks);
        fail(&mut pair);
    }
    assert!(pauses.windows(2).all(|two| two[0] <= two[1]) && pauses[6] >= 250, "{pauses:?}");
    // It can be read again.
    pair.pass(31);
    pair.write(10);
    pair.follow(10);
    assert_eq!(pair.status(1).databases[0].suspended, None);
    assert_eq!(pair.agreed(), 10);
}
