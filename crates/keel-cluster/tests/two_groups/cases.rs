//! What happens to the two groups: whatever a seed makes of it, and stories of single faults.

use super::*;

fn run(seed: u64) {
    let mut world = World::new(seed);
    world.until_healthy("the start");
    for round in 0..6 {
        let (source, choice) = (world.source().unwrap(), world.random.next() % 5);
        let forwarder = world.leader(1 - source / 3).unwrap();
        let any = (world.random.next() % NODES as u64) as usize;
        let dying: BTreeSet<usize> = match choice {
            0 => [source].into(),
            1 => [forwarder].into(),
            2 => [source, forwarder].into(),
            3 => [any].into(),
            _ => BTreeSet::new(),
        };
        let what = format!("round {round}: {dying:?} of source {source} and forwarder {forwarder}");
        let pause = world.random.next() % 300;
        world.pass(pause);
        dying.iter().for_each(|i| world.kill(*i));
        if dying.is_empty() {
            world.change_roles();
        }
        let pause = world.random.next() % 4000;
        world.pass(pause);
        dying.iter().for_each(|i| world.start(*i));
        world.check(&what);
    }
    assert!(world.acknowledged.len() > 50, "seed {seed}: nobody wrote");
}

fn seeds() -> std::ops::Range<u64> {
    match std::env::var(ONE_SEED).ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 1..41,
    }
}

#[test]
fn kills_and_planned_changes_lose_nothing() {
    seeds().for_each(run);
}

#[test]
fn a_lost_side_comes_back_to_the_history_of_the_other() {
    for seed in seeds() {
        let mut world = World::new(seed);
        world.until_healthy("the start");
        for round in 0..3 {
            world.disaster();
            world.check(&format!("disaster {round}"));
        }
    }
}

/// The forwarder takes up the turn that gave the role up, for which it becomes primary of its group anew; a command meanwhile waits.
#[test]
fn the_role_is_taken_as_soon_as_it_was_given_up() {
    for seed in seeds() {
        let mut world = World::new(seed);
        world.until_healthy("the start");
        let source = world.source().unwrap();
        let forwarder = world.leader(1 - source / 3).unwrap();
        let yields = world.command(source, Command::YieldDistributed { group: group(source / 3) });
        for _ in 0..10_000 {
            if world.replies.contains_key(&yields) {
                break;
            }
            world.next();
        }
        assert_eq!(world.replies.get(&yields), Some(&Ok(())), "seed {seed}");
        (0..seed).for_each(|_| world.next());
        let forces = world.command(forwarder, Command::ForceDistributed { group: group(forwarder / 3) });
        world.pass(3000);
        assert_eq!(world.replies.get(&forces), Some(&Ok(())), "seed {seed}");
        world.check("a change of roles at once");
    }
}

#[test]
fn nobody_is_in_a_forwarders_set_with_a_copy_that_is_not_whole() {
    for seed in seeds() {
        let mut world = World::new(seed);
        world.until_healthy("the beginning");
        world.closed = Some(0);
        world.pass(1000);
        let forwarder = world.leader(1).unwrap();
        let member = (3..NODES).find(|i| *i != forwarder).unwrap();
        // The forwarder has a new copy, and of the log nothing has come yet; the other one is seeded from that.
        let engine = world.engines[forwarder].as_mut().unwrap();
        engine.base = Lsn(engine.end().0 + 1);
        world.opened(forwarder);
        world.kill(member);
        world.engines[member] = None;
        world.pass(3000);
        world.start(member);
        world.pass(30_000);
        assert_eq!(world.leader(1), Some(forwarder), "seed {seed}");
        assert!(world.engines[member].is_some(), "seed {seed}: there is no copy");
        assert!(!world.is_healthy(), "seed {seed}: in the set with half a copy");
        world.closed = None;
        world.check("its log came");
    }
}

/// A side on which only new copies are: they lack what is in their base trees, and so nobody leads with them.
fn with_new_copies_only(seed: u64) -> (World, usize) {
    let mut world = World::new(seed);
    world.until_healthy("the beginning");
    world.closed = Some(0);
    world.pass(1000);
    let forwarder = world.leader(1).unwrap();
    let engine = world.engines[forwarder].as_mut().unwrap();
    engine.base = Lsn(engine.end().0 + 1);
    world.opened(forwarder);
    for member in (3..NODES).filter(|i| *i != forwarder) {
        world.kill(member);
        world.engines[member] = None;
        world.pass(3000);
        world.start(member);
    }
    world.pass(30_000);
    (3..NODES).for_each(|i| assert!(world.engines[i].is_some(), "seed {seed}: {i} has no copy"));
    (world, forwarder)
}

#[test]
fn an_administrator_gets_by_without_a_source_that_new_copies_wait_for() {
    for seed in seeds() {
        let (mut world, forwarder) = with_new_copies_only(seed);
        (0..3).for_each(|i| world.kill(i));
        world.pass(3000);
        let force = Command::ForceDistributed { group: group(1) };
        let told = forwarder;
        assert_eq!(
            world.answer(told, force.clone()),
            Some(Err(CommandError::NotSynchronized)),
            "seed {seed}"
        );
        // SET HADR OFF: the half copy is none of the group's any more, and the side leads with what else it has.
        let leave = Command::LeaveDatabase { database: DATABASE };
        assert_eq!(world.answer(told, leave), Some(Ok(())), "seed {seed}");
        assert_eq!(world.answer(told, force), Some(Ok(())), "seed {seed}");
        // In its place comes what a backup has, as another database.
        let remove = Command::RemoveDatabase { database: DATABASE };
        assert_eq!(world.answer(told, remove), Some(Ok(())), "seed {seed}");
    }
}

#[test]
fn an_administrator_gets_by_without_a_forwarder_when_the_others_have_new_copies() {
    for seed in seeds() {
        let (mut world, forwarder) = with_new_copies_only(seed);
        world.kill(forwarder);
        world.pass(15_000);
        assert_eq!(world.leader(1), None, "seed {seed}");
        let told = (3..NODES).find(|i| *i != forwarder).unwrap();
        let force = Command::ForceFailover { group: group(1) };
        assert_eq!(
            world.answer(told, force.clone()),
            Some(Err(CommandError::NotSynchronized)),
            "seed {seed}"
        );
        let leave = Command::LeaveDatabase { database: DATABASE };
        assert_eq!(world.answer(told, leave), Some(Ok(())), "seed {seed}");
        assert_eq!(world.answer(told, force), Some(Ok(())), "seed {seed}");
        // It leads, and takes another copy from the source, from which the others go on.
        let join = Command::JoinDatabase { database: DATABASE };
        assert_eq!(world.answer(told, join), Some(Ok(())), "seed {seed}");
        world.start(forwarder);
        world.closed = None;
        for _ in 0..20 {
            (3..NODES).for_each(|i| _ = world.command(i, Command::Resume { database: DATABASE }));
            world.pass(3000);
        }
        world.check("a new copy was made of the source");
    }
}

/// Whoever followed the copy that a forwarder had before has acknowledged nothing of the one that came in its place.
#[test]
fn what_members_have_of_an_old_copy_is_not_acknowledged_of_a_new_one() {
    for seed in seeds() {
        let mut world = World::new(seed);
        world.until_healthy("the beginning");
        world.closed = Some(0);
        world.pass(1000);
        let (source, forwarder) = (world.source().unwrap(), world.leader(1).unwrap());
        let begun = world.engines[source].as_ref().unwrap().log[..3].to_vec();
        world.engines[forwarder] = Some(Engine { mode: Mode::Secondary, ..Engine::new(begun) });
        world.opened(forwarder);
        for _ in 0..3000 {
            world.next();
            let engine = world.engines[forwarder].as_ref().unwrap();
            let record = world.kept[forwarder].record.as_ref().unwrap();
            let set = &record.config.database(DATABASE).unwrap().synchronized;
            let index_of = |r: &ReplicaId| (r.0.as_u128() - 200) as usize;
            let mut others = set.iter().map(index_of).filter(|i| *i != forwarder);
            let counted = others.any(|i| !engine.senders.contains_key(&i));
            let acknowledged = engine.receiving.is_some() && engine.ack_limit > Lsn::ZERO;
            assert!(!(counted && acknowledged), "seed {seed}: acknowledged for who does not follow");
            if acknowledged {
                break;
            }
        }
        world.closed = None;
        world.check("another copy of the forwarder's");
    }
}
