//! Groups whose roles a cluster manager decides about (CLUSTER_TYPE = EXTERNAL).

use super::*;

/// Two nodes whose roles a cluster manager decides, the second in the set.
fn managed_pair() -> Pair {
    let options = GroupOptions { cluster_type: ClusterType::External, ..GroupOptions::default() };
    let mut pair = Pair::with(options, FailoverMode::External);
    pair.pass(1);
    pair.connect();
    pair.pass(5);
    assert!(pair.status(0).config.is_failover_ready(replica(1)));
    pair
}

#[test]
fn a_cluster_manager_moves_the_role_and_sends_a_secondary_off_line() {
    let mut pair = managed_pair();
    pair.write(10);
    pair.follow(10);
    pair.command(0, 20, Command::Offline { group: GROUP });
    pair.pass(3);
    assert_eq!(pair.answer(20), Some(Ok(())));
    assert_eq!(pair.status(0).role, RoleStatus::Resolving, "nobody leads, and nobody takes the role");
    pair.command(1, 21, Command::Failover { group: GROUP });
    pair.pass(3);
    assert_eq!(pair.answer(21), Some(Ok(())));
    assert_eq!((pair.status(0).role, pair.status(1).role), (RoleStatus::Secondary, RoleStatus::Primary));
    // After the promotion the others go off line, until they are told to follow.
    pair.command(0, 22, Command::Offline { group: GROUP });
    pair.pass(10);
    assert_eq!(pair.answer(22), Some(Ok(())));
    assert_eq!(pair.status(0).role, RoleStatus::Resolving);
    assert!(!pair.status(1).config.is_failover_ready(replica(0)), "nobody waits for it");
    pair.command(0, 23, Command::Failover { group: GROUP });
    assert_eq!(pair.answer(23), Some(Err(CommandError::NotSynchronized)));
    pair.command(0, 24, Command::Follow { group: GROUP });
    pair.pass(3);
    assert_eq!(pair.answer(24), Some(Ok(())));
    assert_eq!(pair.status(0).role, RoleStatus::Secondary);
    pair.command(1, 25, Command::Follow { group: GROUP });
    assert_eq!(pair.answer(25), Some(Err(CommandError::IsPrimary)), "that is what OFFLINE is for");
}

#[test]
fn a_secondary_goes_off_line_only_where_a_cluster_manager_decides() {
    for mut pair in [automatic_pair(), Pair::new(0)] {
        pair.connect();
        pair.command(1, 20, Command::Offline { group: GROUP });
        pair.command(1, 21, Command::Follow { group: GROUP });
        for answer in [20, 21].map(|id| pair.answer(id)) {
            assert_eq!(answer, Some(Err(CommandError::NotPrimary)));
        }
        assert_eq!(pair.status(1).role, RoleStatus::Secondary);
    }
}
