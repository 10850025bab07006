//! Groups of one name in one cluster.

use super::*;

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
