//! Groups of one name in one cluster.

use super::*;
use std::collections::BTreeSet;

fn another(number: u128) -> GroupId {
    GroupId(Uuid::from_u128(10 + number))
}

/// A group of one replica is made.
fn create(pair: &mut Pair, i: usize, name: &str, command: u64) {
    let mut config = GroupConfig::new(another(command.into()), name, GroupOptions::default());
    let mode = AvailabilityMode::Synchronous;
    let options = ReplicaOptions::new(format!("TCP://n{i}:5022"), mode, FailoverMode::Manual);
    let id = ReplicaId(Uuid::from_u128(300 + u128::from(command)));
    config.replicas.push(Replica::new(id, format!("n{i}"), options));
    pair.command(i, command, Command::CreateGroup { config: Box::new(config), log_epoch: Epoch(1) });
}

/// The groups of that name that the cluster knows and that were not dropped.
fn named(pair: &Pair, i: usize, name: &str) -> Vec<GroupId> {
    let known = pair.nodes[i].agreed_configs().filter(|g| !g.dropped && g.name.eq_ignore_ascii_case(name));
    known.map(|g| g.id).collect()
}

/// What this instance has said to the other one since, and nobody has heard.
fn unheard(pair: &mut Pair, by: usize) -> Vec<Msg> {
    let done = std::mem::take(&mut pair.done).into_iter();
    done.filter_map(|(i, action)| match action {
        Action::Send { msg, .. } if i == by => Some(msg),
        _ => None,
    })
    .collect()
}

#[test]
fn of_two_groups_of_one_name_that_are_made_at_once_one_is_made() {
    for arrives in [true, false] {
        let mut pair = automatic_pair();
        pair.done.clear();
        pair.cut = true;
        create(&mut pair, 1, "Second", 11);
        let late = unheard(&mut pair, 1);
        create(&mut pair, 0, "second", 12);
        pair.cut = false;
        assert_eq!((pair.answer(11), pair.answer(12)), (None, Some(Ok(()))));
        for msg in late.into_iter().filter(|_| arrives) {
            pair.event(0, Event::Message { peer: instance(1), msg });
        }
        pair.pass(2);
        assert_eq!(pair.answer(11), Some(Err(CommandError::GroupExists)), "arrives: {arrives}");
        for i in 0..2 {
            assert_eq!(named(&pair, i, "SECOND"), [another(12)]);
        }
        assert_eq!(pair.nodes[1].status().len(), 1, "nothing is left of it");
    }
}

#[test]
fn a_name_is_taken_while_the_cluster_has_a_group_of_it() {
    let mut pair = automatic_pair();
    create(&mut pair, 0, "second", 11);
    pair.pass(1);
    create(&mut pair, 1, "SECOND", 12);
    assert_eq!(pair.answer(12), Some(Err(CommandError::GroupExists)));
    pair.command(0, 13, Command::DropGroup { group: another(11) });
    pair.pass(1);
    create(&mut pair, 1, "SECOND", 14);
    pair.pass(1);
    assert_eq!(pair.answer(14), Some(Ok(())));
    assert_eq!(named(&pair, 0, "second"), [another(14)]);
}

/// What was on its way when CREATE was refused comes after the group that was in its way is dropped.
#[test]
fn what_was_refused_for_its_name_is_not_made_once_the_name_is_free() {
    let mut pair = automatic_pair();
    pair.done.clear();
    pair.cut = true;
    create(&mut pair, 1, "second", 11);
    let late = unheard(&mut pair, 1);
    create(&mut pair, 0, "second", 12);
    pair.cut = false;
    pair.pass(2);
    assert_eq!(pair.answer(11), Some(Err(CommandError::GroupExists)));
    pair.command(0, 13, Command::DropGroup { group: another(12) });
    pair.pass(1);
    for msg in late {
        pair.event(0, Event::Message { peer: instance(1), msg });
    }
    pair.pass(2);
    for i in 0..2 {
        assert_eq!(named(&pair, i, "second"), []);
    }
    create(&mut pair, 1, "second", 14);
    pair.pass(1);
    assert_eq!(pair.answer(14), Some(Ok(())), "the name is free");
}

fn let_go(pair: &Pair, writable: bool) -> Vec<usize> {
    let release = Action::Release { database: DATABASE, writable };
    let released: BTreeSet<usize> =
        pair.done.iter().filter(|(_, action)| *action == release).map(|(i, _)| *i).collect();
    released.into_iter().collect()
}

#[test]
fn a_group_that_nobody_leads_is_dropped_on_a_secondary_for_everybody() {
    let mut pair = automatic_pair();
    pair.command(0, 9, Command::Offline { group: GROUP });
    pair.pass(1);
    assert_eq!(pair.answer(9), Some(Ok(())));
    pair.command(1, 10, Command::DropGroup { group: GROUP });
    pair.pass(2);
    assert_eq!(pair.answer(10), Some(Ok(())));
    assert_eq!((let_go(&pair, false), let_go(&pair, true)), (vec![0, 1], vec![]));
    create(&mut pair, 1, "ag", 11);
    pair.pass(1);
    assert_eq!(pair.answer(11), Some(Ok(())), "the name is free");
}

#[test]
fn a_group_that_was_dropped_while_no_majority_was_heard_is_dropped_again() {
    let mut pair = automatic_pair();
    pair.cut = true;
    for i in 0..2 {
        pair.event(i, Event::Disconnected { peer: instance(1 - i) });
    }
    pair.pass(1);
    pair.command(1, 9, Command::DropGroup { group: GROUP });
    assert_eq!(pair.answer(9), Some(Err(CommandError::DropIncomplete)));
    assert!(pair.nodes[1].status().is_empty());
    pair.cut = false;
    for i in 0..2 {
        pair.event(i, Event::Connected { peer: instance(1 - i), name: format!("N{}", 1 - i) });
    }
    pair.pass(2);
    assert_eq!(pair.status(0).role, RoleStatus::Primary, "the others have it still");
    assert_eq!(pair.nodes[1].dropped_here("AG"), Some(GROUP));
    pair.command(1, 10, Command::DropGroup { group: GROUP });
    pair.pass(2);
    assert_eq!(pair.answer(10), Some(Ok(())));
    assert!(pair.nodes[0].status().is_empty());
    assert_eq!(pair.nodes[1].dropped_here("AG"), None);
    create(&mut pair, 1, "ag", 11);
    pair.pass(1);
    assert_eq!(pair.answer(11), Some(Ok(())), "the name is free");
}

#[test]
fn a_group_that_was_dropped_here_alone_is_forgotten_when_the_cluster_drops_it() {
    let mut pair = automatic_pair();
    pair.cut = true;
    for i in 0..2 {
        pair.event(i, Event::Disconnected { peer: instance(1 - i) });
    }
    pair.pass(1);
    pair.command(1, 9, Command::DropGroup { group: GROUP });
    pair.command(0, 10, Command::DropGroup { group: GROUP });
    pair.cut = false;
    for i in 0..2 {
        pair.event(i, Event::Connected { peer: instance(1 - i), name: format!("N{}", 1 - i) });
    }
    pair.pass(2);
    pair.command(1, 11, Command::Join { name: "ag".into(), cluster_type: None });
    assert_eq!(pair.answer(11), None, "it waits for another group of the name");
}

#[test]
fn the_databases_of_a_group_that_was_refused_for_its_name_stand_alone() {
    let mut pair = automatic_pair();
    let mut config = GroupConfig::new(another(11), "second", GroupOptions::default());
    let options = ReplicaOptions::new("TCP://n1:5022", AvailabilityMode::Synchronous, FailoverMode::Manual);
    config.replicas.push(Replica::new(ReplicaId(Uuid::from_u128(311)), "n1", options));
    let database = GroupDatabaseId(Uuid::from_u128(411));
    config.databases.push(GroupDatabase::new(database, "other", 8));
    pair.cut = true;
    pair.command(1, 11, Command::CreateGroup { config: Box::new(config), log_epoch: Epoch(1) });
    create(&mut pair, 0, "second", 12);
    pair.cut = false;
    pair.pass(2);
    assert_eq!(pair.answer(11), Some(Err(CommandError::GroupExists)));
    let release = (1, Action::Release { database, writable: true });
    assert!(pair.done.contains(&release));
}

/// A group of both instances, made on the first one.
fn create_for_both(pair: &mut Pair, command: u64) {
    let options = GroupOptions { cluster_type: ClusterType::None, ..GroupOptions::default() };
    let mut config = GroupConfig::new(another(command.into()), "ag", options);
    for i in 0..2 {
        let mode = AvailabilityMode::Synchronous;
        let options = ReplicaOptions::new(format!("TCP://n{i}:5022"), mode, FailoverMode::Manual);
        let id = ReplicaId(Uuid::from_u128(300 + u128::from(command) * 2 + i));
        config.replicas.push(Replica::new(id, format!("n{i}"), options));
    }
    pair.command(0, command, Command::CreateGroup { config: Box::new(config), log_epoch: Epoch(1) });
}

fn join(pair: &mut Pair, command: u64) {
    pair.command(1, command, Command::Join { name: "AG".into(), cluster_type: None });
}

/// Without a cluster: the second has dropped the group while nobody led it; the first has it still.
fn dropped_on_the_second() -> Pair {
    let mut pair = Pair::new(0);
    pair.connect();
    pair.command(0, 8, Command::Offline { group: GROUP });
    pair.pass(1);
    pair.command(1, 9, Command::DropGroup { group: GROUP });
    assert_eq!((pair.answer(8), pair.answer(9)), (Some(Ok(())), Some(Ok(()))));
    assert!(pair.nodes[1].status().is_empty());
    pair
}

#[test]
fn join_takes_the_group_that_is_offered_and_not_one_that_was_dropped_here() {
    for offered_before in [true, false] {
        let mut pair = dropped_on_the_second();
        pair.command(0, 10, Command::DropGroup { group: GROUP });
        create_for_both(&mut pair, 11);
        if offered_before {
            pair.pass(1);
        }
        join(&mut pair, 12);
        pair.pass(1);
        assert_eq!((pair.answer(11), pair.answer(12)), (Some(Ok(())), Some(Ok(()))));
        for i in 0..2 {
            assert_eq!(pair.status(i).config.id, another(11), "offered before: {offered_before}");
        }
    }
}

#[test]
fn join_takes_back_what_was_dropped_here_alone_when_another_has_it() {
    let mut pair = dropped_on_the_second();
    join(&mut pair, 10);
    assert_eq!(pair.answer(10), None);
    pair.pass(1);
    assert_eq!(pair.answer(10), Some(Ok(())));
    assert_eq!(pair.status(1).config.id, GROUP);
}

#[test]
fn a_group_that_is_offered_no_more_is_not_in_the_way_of_join() {
    let mut pair = dropped_on_the_second();
    let before = pair.status(0).config.clone();
    let mut other = GroupConfig::new(another(11), "ag", before.options.clone());
    other.replicas = before.replicas.iter().cloned().map(|r| Replica { instance: None, ..r }).collect();
    pair.event(1, Event::Message { peer: instance(0), msg: Msg::Invite(Box::new(other)) });
    assert_eq!(pair.nodes[1].invitations().count(), 1);
    pair.pass(4);
    assert_eq!(pair.nodes[1].invitations().count(), 0);
    join(&mut pair, 12);
    pair.pass(1);
    assert_eq!(pair.answer(12), Some(Ok(())));
    assert_eq!(pair.status(1).config.id, GROUP);
}
