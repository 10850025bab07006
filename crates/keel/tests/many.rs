//! A hundred databases in a group of two instances, with the threads that one needs, and a planned failover of all of them.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

use std::path::Path;

use keel_bench::fleet::{Fleet, GROUP, Mode, number, until};
use keel_bench::process::threads;
use keel_workload::Connection;

const DATABASES: usize = 100;

#[test]
fn a_hundred_databases_need_the_threads_of_one() {
    let dir = std::env::temp_dir().join(format!("keel-many-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let keel = Path::new(env!("CARGO_BIN_EXE_keel"));
    let launches = Fleet::launches(keel, &dir, 2, &["--max-server-memory", "256"]).unwrap();
    let fleet = Fleet::start(launches, "shop").unwrap();
    fleet.create_group().unwrap();
    fleet.add_replica(1, Mode::Synchronous).unwrap();
    fleet.wait_settled(0, 1, Mode::Synchronous).unwrap();
    let mut primary = fleet.nodes[0].session("master").unwrap();
    let mut secondary = fleet.nodes[1].session("master").unwrap();
    let synchronized = "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE is_local = 0 AND synchronization_state = 2";
    let pids = fleet.pids().unwrap();
    let before: Vec<usize> = pids.iter().map(|pid| threads(*pid)).collect();

    let names: Vec<String> = (1..DATABASES).map(|n| format!("shop{n}")).collect();
    for name in &names {
        primary.execute(&format!("CREATE DATABASE {name}")).unwrap();
        primary
            .execute(&format!(
                "CREATE TABLE {name}.dbo.t (n int PRIMARY KEY); INSERT {name}.dbo.t VALUES (1)"
            ))
            .unwrap();
    }
    primary.execute(&format!("ALTER AVAILABILITY GROUP {GROUP} ADD DATABASE {}", names.join(", "))).unwrap();
    let all = Some(DATABASES as i64);
    until("all copies are synchronized", || Ok(number(&mut primary, synchronized)? == all)).unwrap();
    for name in &names {
        primary.execute(&format!("INSERT {name}.dbo.t VALUES (2)")).unwrap();
    }
    for name in [&names[0], &names[names.len() / 2], &names[names.len() - 1]] {
        let rows = format!("SELECT COUNT(*) FROM {name}.dbo.t");
        until("the copy is read", || Ok(number(&mut secondary, &rows)? == Some(2))).unwrap();
    }
    // Those that made the copies have gone.
    until("there are no more threads than before", || {
        Ok(pids.iter().zip(&before).all(|(pid, before)| threads(*pid) <= *before))
    })
    .unwrap();
    let moved = format!("ALTER AVAILABILITY GROUP {GROUP} FAILOVER");
    until("the set is on record there", || Ok(secondary.execute(&moved).is_ok())).unwrap();
    for name in &names {
        secondary.execute(&format!("INSERT {name}.dbo.t VALUES (3)")).unwrap();
    }
    until("all copies are synchronized again", || Ok(number(&mut secondary, synchronized)? == all)).unwrap();
    let automatic = "SELECT COUNT(*) FROM sys.dm_keel_failovers WHERE kind = 'AUTOMATIC'";
    assert_eq!(number(&mut secondary, automatic).unwrap(), Some(0));
    drop(fleet);
    std::fs::remove_dir_all(&dir).unwrap();
}
