//! The resource governor on sessions that run side by side: what it holds up goes on, and what it counts adds up.
//!
//! Nothing here depends on how long something takes: loops are of fixed length, and what is asserted is what was counted.

use crate::common::{Sink, open, server};
use keel_base::env::sim::SimDisk;
use keel_sql::{CancelHandle, Engine, Session, SessionOptions};
use std::sync::Arc;

/// A session from a host of that name; the classifiers here go by it.
fn connect(engine: &Arc<Engine>, host: &str) -> Session {
    let options = SessionOptions {
        login: "sa".to_owned(),
        sysadmin: true,
        database: "master".to_owned(),
        host_name: host.to_owned(),
        ansi_defaults: true,
        ..SessionOptions::default()
    };
    let mut session = engine.session(options).expect("connects");
    session.classify();
    session
}

fn run(session: &mut Session, text: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(text, &mut sink);
    sink.0.finish()
}

/// The first value of the first row.
fn value(session: &mut Session, query: &str) -> String {
    let answer = run(session, query);
    answer.lines().nth(2).unwrap_or_else(|| panic!("{query}: {answer}")).trim().to_owned()
}

fn number(session: &mut Session, query: &str) -> i64 {
    value(session, query).parse().expect("a number")
}

/// Makes a group of that name that sessions from hosts of the same name get into.
fn govern(engine: &Arc<Engine>, definitions: &str) {
    let mut sa = connect(engine, "sa");
    let classify =
        "create function dbo.classify() returns sysname with schemabinding as begin return host_name() end";
    for batch in [classify, definitions] {
        assert_eq!(run(&mut sa, batch), "");
    }
    let on = "alter resource governor with (classifier_function = dbo.classify); alter resource governor reconfigure";
    assert_eq!(run(&mut sa, on), "");
}

/// A loop that takes some milliseconds.
const LOOP: &str = "declare @i int = 0; while @i < 40000 set @i += 1; select @i as done";

const POOL: &str = "from sys.dm_resource_governor_resource_pools where name";

/// So many busy sessions want more than one percent of the processors.
fn more_than_one_percent(engine: &Engine) -> usize {
    engine.governor().schedulers() / 100 + 1
}

/// Waits until a session of that pool has been made to sleep.
fn until_held_up(sa: &mut Session, pool: &str) {
    let held_up = format!("select total_cpu_delayed_ms {POOL} = '{pool}'");
    while number(sa, &held_up) == 0 {
        std::thread::yield_now();
    }
}

const SLOW: &str =
    "create resource pool slow with (cap_cpu_percent = 1); create workload group slow using slow";

#[test]
fn capped_sessions_sleep_and_finish() {
    let engine = server();
    govern(
        &engine,
        "create resource pool many with (cap_cpu_percent = 80); create workload group many using many
         create resource pool slow with (cap_cpu_percent = 1); create workload group slow using slow",
    );
    let slow = more_than_one_percent(&engine) + 1;
    let threads: Vec<_> = std::iter::repeat_n("slow", slow)
        .chain(["many", "many"])
        .map(|host| {
            let engine = Arc::clone(&engine);
            std::thread::spawn(move || {
                let mut session = connect(&engine, host);
                value(&mut session, LOOP)
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().expect("it ends"), "40000");
    }
    let mut sa = connect(&engine, "sa");
    for pool in ["slow", "many"] {
        let used = number(&mut sa, &format!("select total_cpu_usage_ms {POOL} = '{pool}'"));
        assert!(used > 0, "{pool} has used {used} ms");
    }
    assert!(number(&mut sa, &format!("select total_cpu_delayed_ms {POOL} = 'slow'")) > 0);
    let running = engine.governor().running();
    let group = running.groups.iter().find(|g| g.name == "slow").expect("it is in force");
    let figures = group.figures(std::iter::empty());
    // Whoever is woken up gets something done: a sleep for each half millisecond used, and one before each request.
    assert!(figures.delays.saturating_sub(figures.requests) * 500 <= figures.cpu_us, "{figures:?}");
    let requests =
        "select total_request_count from sys.dm_resource_governor_workload_groups where name = 'slow'";
    // Being classified is one as well, in the group that the session then leaves.
    assert_eq!(number(&mut sa, requests), slow as i64);
}

#[test]
fn what_is_held_up_can_be_cancelled() {
    let engine = server();
    govern(&engine, SLOW);
    let sessions = more_than_one_percent(&engine);
    let (tell, told) = std::sync::mpsc::channel();
    let running: Vec<_> = (0..sessions)
        .map(|_| {
            let (engine, tell) = (Arc::clone(&engine), tell.clone());
            std::thread::spawn(move || {
                let mut session = connect(&engine, "slow");
                tell.send(session.cancel_handle()).expect("somebody listens");
                run(&mut session, "while 1 = 1 declare @i int = 1");
                run(&mut session, "select 1 as one")
            })
        })
        .collect();
    let cancels: Vec<_> = told.iter().take(sessions).collect();
    until_held_up(&mut connect(&engine, "sa"), "slow");
    cancels.iter().for_each(CancelHandle::cancel);
    // The sessions live, and what they owe is slept off before their next request.
    for thread in running {
        assert!(thread.join().expect("it ends").contains("one"));
    }
}

#[test]
fn disabling_wakes_who_sleeps() {
    let engine = server();
    govern(&engine, SLOW);
    let running: Vec<_> = (0..more_than_one_percent(&engine))
        .map(|_| {
            let engine = Arc::clone(&engine);
            std::thread::spawn(move || {
                let mut session = connect(&engine, "slow");
                // At one percent of the processors this takes half a minute and more.
                value(&mut session, "declare @i int = 0; while @i < 1000000 set @i += 1; select @i as done")
            })
        })
        .collect();
    let mut sa = connect(&engine, "sa");
    until_held_up(&mut sa, "slow");
    assert_eq!(run(&mut sa, "alter resource governor disable"), "");
    for thread in running {
        assert_eq!(thread.join().expect("it ends"), "1000000");
    }
}

#[test]
fn a_pooled_connection_is_classified_again() {
    let engine = server();
    let mut session = connect(&engine, "later");
    govern(&engine, "create workload group later");
    let group =
        "select g.name from sys.dm_exec_sessions as s join sys.dm_resource_governor_workload_groups as g
                 on g.group_id = s.group_id where s.session_id = @@spid";
    assert_eq!(value(&mut session, group), "default");
    session.reset(false, &mut Sink::default());
    session.classify();
    assert_eq!(value(&mut session, group), "later");
}

#[test]
fn counters_have_a_row_for_each_pool_and_group() {
    let engine = server();
    govern(&engine, "create resource pool reports; create workload group nightly using reports");
    let mut sa = connect(&engine, "nightly");
    run(&mut sa, LOOP);
    let counter = |object: &str, name: &str, instance: &str| {
        format!(
            "select cntr_value from sys.dm_os_performance_counters where object_name = 'SQLServer:{object}'
             and counter_name = '{name}' and instance_name = '{instance}'"
        )
    };
    assert_eq!(number(&mut sa, &counter("Resource Pool Stats", "CPU usage target %", "reports")), 100);
    assert!(number(&mut sa, &counter("Workload Group Stats", "CPU usage % base", "nightly")) > 0);
    assert_eq!(number(&mut sa, &counter("Workload Group Stats", "Active requests", "nightly")), 1);
    assert!(number(&mut sa, &counter("Workload Group Stats", "Requests completed/sec", "nightly")) >= 3);
    assert_eq!(number(&mut sa, &counter("Workload Group Stats", "Queued requests", "internal")), 0);
}

#[test]
fn reads_of_data_files_are_the_pools_whose_session_reads() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut sa = connect(&engine, "sa");
    run(&mut sa, "create table t (id int primary key, filler char(500) not null default 'x')");
    // Far more than what a look at the catalog reads along with it.
    run(&mut sa, "insert t (id) select value from generate_series(1, 40000); checkpoint");
    drop(sa);
    engine.shutdown();
    drop(engine);
    let engine = open(&disk);
    let mut sa = connect(&engine, "sa");
    assert_eq!(value(&mut sa, "select count(filler) from t"), "40000");
    assert!(number(&mut sa, &format!("select read_io_completed_total {POOL} = 'default'")) > 0);
    assert!(number(&mut sa, &format!("select read_bytes_total {POOL} = 'default'")) > 0);
    assert_eq!(number(&mut sa, &format!("select read_io_completed_total {POOL} = 'internal'")), 0);
}
