//! Groups that an instance has been taken out of, or that were dropped, and old news of them.

use super::*;

/// What the primary says of the group in a configuration of before.
fn say(pair: &mut Pair, config: &GroupConfig) {
    let msg = Msg::Config(Box::new(config.clone()));
    pair.event(1, Event::Message { peer: instance(0), msg });
}

/// The second instance starts with what the cluster has agreed on, and no record of any group.
fn lose_record(pair: &mut Pair) {
    let me = pair.nodes[1].identity().clone();
    let store = pair.done.iter().rev().find_map(|(i, action)| match action {
        Action::PersistStore { record, .. } if *i == 1 => Some((**record).clone()),
        _ => None,
    });
    pair.nodes[1] = Node::new(me, Vec::new(), store.as_ref(), 77, pair.now);
    pair.event(1, Event::Connected { peer: instance(0), name: "N0".into() });
}

#[test]
fn old_news_brings_nobody_back_into_a_group_that_he_was_taken_out_of() {
    let mut pair = automatic_pair();
    let before = pair.status(0).config.clone();
    pair.command(0, 9, Command::RemoveReplica { group: GROUP, replica: replica(1) });
    pair.pass(3);
    assert!(pair.nodes[1].status().is_empty());
    pair.command(1, 10, Command::Join { name: "ag".into(), cluster_type: None });
    pair.cut = true;
    say(&mut pair, &before);
    assert!(pair.nodes[1].status().is_empty());
    assert_eq!(pair.answer(10), None, "it waits for another group of the name");
}

#[test]
fn old_news_brings_no_dropped_group_back() {
    let mut pair = automatic_pair();
    let before = pair.status(0).config.clone();
    pair.command(0, 9, Command::DropGroup { group: GROUP });
    pair.pass(3);
    lose_record(&mut pair);
    // It hears how far the cluster has come.
    pair.event(0, Event::Connected { peer: instance(1), name: "N1".into() });
    pair.pass(2);
    pair.cut = true;
    say(&mut pair, &before);
    assert!(pair.nodes[1].status().is_empty());
}

#[test]
fn who_has_lost_his_record_gets_it_back_as_the_cluster_has_it() {
    for changed in [false, true] {
        let mut pair = automatic_pair();
        let before = pair.status(0).config.clone();
        let mut agreed = before.clone();
        // What is known on the disk to be agreed is what came before the last.
        for required_synchronized_secondaries in [1, 0].into_iter().filter(|_| changed) {
            agreed = pair.status(0).config.clone();
            let options = GroupOptions { required_synchronized_secondaries, ..before.options.clone() };
            pair.command(0, 9, Command::SetOptions { group: GROUP, options: Box::new(options) });
            pair.pass(1);
        }
        pair.cut = true;
        lose_record(&mut pair);
        say(&mut pair, &before);
        assert_eq!(pair.status(1).config, agreed, "changed meanwhile: {changed}");
        assert_eq!(agreed.stamp > before.stamp, changed);
    }
}

/// What the store has folded into its snapshot is not applied again when it starts.
#[test]
fn a_group_without_a_record_is_there_after_a_start_however_long_ago_it_was_agreed_on() {
    let mut pair = automatic_pair();
    let options = pair.status(0).config.options.clone();
    for n in 0..70u8 {
        let options = GroupOptions { required_synchronized_secondaries: 1 - n % 2, ..options.clone() };
        pair.command(0, 50, Command::SetOptions { group: GROUP, options: Box::new(options) });
        pair.pass(1);
    }
    pair.cut = true;
    lose_record(&mut pair);
    assert_eq!(pair.nodes[1].status().len(), 1);
}

#[test]
fn a_forced_quorum_does_not_bring_a_group_back_that_is_known_to_be_dropped() {
    let mut pair = automatic_pair();
    // The second hears of it from the primary and not from the store.
    pair.cut = true;
    pair.command(0, 9, Command::DropGroup { group: GROUP });
    let told = pair.done.iter().rev().find_map(|(_, action)| match action {
        Action::Send { msg: Msg::Config(config), .. } if config.dropped => Some((**config).clone()),
        _ => None,
    });
    say(&mut pair, &told.expect("the primary tells its members"));
    assert!(pair.nodes[1].status().is_empty());
    assert!(pair.nodes[1].agreed_configs().all(|group| !group.dropped));
    pair.command(1, 10, Command::ForceQuorum);
    assert_eq!(pair.answer(10), Some(Ok(())));
    assert!(pair.nodes[1].agreed_configs().all(|group| group.dropped));
    pair.pass(1);
    assert_eq!(pair.nodes[1].cluster_status().unwrap().quorum, QuorumState::Normal);
}
