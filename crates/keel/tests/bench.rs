//! Every measurement at a tiny scale, as a user runs it: the report is there in all its forms and says the same in each, and
//! what must hold holds. Nothing here looks at how fast anything was.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

use keel_bench::report::Report;
use keel_workload::Connection as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A directory of a test's own; removed when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        Place(std::env::temp_dir().join(format!("keel-bench-test-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `keel bench` and returns its report, read back from JSON.
fn bench(place: &Place, words: &str) -> (Report, PathBuf) {
    let output = Command::new(env!("CARGO_BIN_EXE_keel"))
        .arg("bench")
        .args(words.split_whitespace())
        .arg("--report")
        .arg(place.path())
        .env_remove("SQLCMDPASSWORD")
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "keel bench {words}: {said}");
    let page = said.lines().find_map(|line| line.strip_prefix("report: ")).unwrap();
    let json = Path::new(page).with_extension("json");
    (Report::read(&json).unwrap(), json)
}

/// What every report must be.
fn well_formed(report: &Report, json: &Path, what: &str) {
    assert_eq!(report.what, what);
    assert!(report.violations().next().is_none() && !report.checks.is_empty(), "{:?}", report.checks);
    assert!(
        report.figures.iter().any(|figure| !figure.samples.is_empty())
            && !report.tables.is_empty()
            && !report.settings.is_empty()
    );
    assert!(report.versions.contains_key("Evenkeel"), "{:?}", report.versions);
    for figure in &report.figures {
        assert!(figure.samples.iter().all(|s| s.is_finite()), "{figure:?}");
    }
    for table in &report.tables {
        assert!(!table.rows.is_empty(), "{}", table.title);
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{table:?}");
    }
    for plot in &report.plots {
        assert!(!plot.series.is_empty(), "{}", plot.title);
        assert!(plot.series.iter().all(|s| s.values.len() == plot.x.len()), "{}", plot.title);
    }
    let csv = std::fs::read_to_string(json.with_extension("csv")).unwrap();
    let samples: usize = report.figures.iter().map(|figure| figure.samples.len()).sum();
    assert_eq!(csv.lines().count(), 1 + samples, "a heading, and a line for each sample");
    let page = std::fs::read_to_string(json.with_extension("html")).unwrap();
    assert!(page.contains(&report.settings_hash) && page.ends_with("</html>"));
    assert!(!page.contains("src=") && !page.contains("href="), "it loads nothing");
}

#[test]
fn a_measurement_whose_lines_nobody_reads_goes_on_to_its_report() {
    let place = Place::new("unread");
    let mut child = Command::new(env!("CARGO_BIN_EXE_keel"))
        .args("bench point --rows 100 --clients 1 --seconds 1 --warm-up 0 --report".split(' '))
        .arg(place.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
    let reports = std::fs::read_dir(place.path()).unwrap();
    let is_json = |name: &Path| name.extension().is_some_and(|extension| extension == "json");
    assert!(reports.into_iter().any(|file| is_json(&file.unwrap().path())));
}

#[test]
fn tpcc_steps_through_users_and_two_runs_are_compared() {
    let place = Place::new("tpcc");
    let words =
        "tpcc --warehouses 1 --shrink 100 --clients 1,3 --think-ms 5 --seconds 2 --warm-up 0 --repeat 2";
    let (report, json) = bench(&place, words);
    well_formed(&report, &json, "tpcc");
    assert_eq!(report.settings["clients"], "1, 3");
    let rates = report.figures.iter().filter(|f| f.name == "transactions");
    assert_eq!(
        rates.map(|f| (f.case.as_str(), f.samples.len())).collect::<Vec<_>>(),
        [("1 users", 2), ("3 users", 2)]
    );
    assert_eq!(report.plots.len(), 3, "by users twice, and over time");
    let (again, after) = bench(&place, words);
    assert_eq!(report.settings_hash, again.settings_hash);
    let words = format!("compare {} {}", json.display(), after.display());
    let (compared, _) = bench(&place, &words);
    let both = |name: &str| {
        report
            .figures
            .iter()
            .zip(&again.figures)
            .filter(|(a, b)| a.name == name && !a.samples.is_empty() && !b.samples.is_empty())
            .count()
    };
    assert!(both("transactions") == 2 && compared.tables[0].rows.len() >= 2, "{:?}", compared.tables);
}

#[test]
fn tpcc_runs_against_a_server_that_is_named() {
    let place = Place::new("named");
    let keel = Path::new(env!("CARGO_BIN_EXE_keel"));
    let data = Place::new("named-data");
    let server = keel_bench::tds::Keel::start(keel, data.path(), &[]).unwrap();
    let address = server.address().address.replace(':', ",");
    let password = &server.address().password;
    let target = format!("--server {address} -P {password} --database bench1");
    let (report, json) =
        bench(&place, &format!("tpcc {target} --warehouses 1 --shrink 100 --clients 2 --transactions 50"));
    assert!(report.versions.keys().any(|name| name.starts_with("Evenkeel at ")), "{:?}", report.versions);
    assert!(
        !std::fs::read_to_string(json).unwrap().contains(password.as_str()),
        "no password is written down"
    );
    // The rows stay, and are used again.
    let (again, _) = bench(
        &place,
        &format!("tpcc {target} --no-build --warehouses 1 --shrink 100 --clients 2 --transactions 50"),
    );
    assert!(again.figures.iter().all(|figure| figure.name != "load"));
}

#[test]
fn tpch_asks_two_databases_and_then_one_that_is_named() {
    let place = Place::new("tpch");
    let (report, json) = bench(&place, "tpch --scale 0.002 --databases 2 --streams 2");
    well_formed(&report, &json, "tpch");
    assert_eq!(report.checks.len(), 2, "answers, and rows: {:?}", report.checks);
    assert_eq!(report.tables[0].rows.len(), 2, "one database, and two");
    assert_eq!(report.tables[1].rows.len(), 22);
    assert_eq!(report.plots.len(), 2, "by query, and by databases");
    let keel = Path::new(env!("CARGO_BIN_EXE_keel"));
    let data = Place::new("tpch-data");
    let server = keel_bench::tds::Keel::start(keel, data.path(), &[]).unwrap();
    let (address, password) = (server.address().address.replace(':', ","), &server.address().password);
    let words = format!("tpch --server {address} -P {password} --scale 0.002 --streams 1");
    let (report, json) = bench(&place, &words);
    assert_eq!(report.settings["database"], "tproch");
    assert!(!std::fs::read_to_string(json).unwrap().contains(password.as_str()));
    // The rows stay, and refreshes go on where the first run ended.
    let (again, json) = bench(&place, &format!("{words} --no-build"));
    assert!(again.figures.iter().all(|figure| figure.name != "load"));
    assert!(again.violations().next().is_none(), "{}", json.display());
}

#[test]
fn tpch_reads_a_secondary_while_users_work_at_its_primary() {
    let place = Place::new("tpch-secondary");
    let words = "tpch --secondary --scale 0.002 --streams 2 --users 2 --think-ms 5 --warehouses 1 --shrink 100 \
                 --seconds 1 --warm-up 0 --serve-options=--max-server-memory=256";
    let (report, json) = bench(&place, words);
    well_formed(&report, &json, "tpch");
    assert_eq!(report.checks.len(), 4, "{:?}", report.checks);
    let case = |name: &str, case: &str| report.figures.iter().any(|f| f.name == name && f.case == case);
    assert!(case("throughput × size", "without users") && case("throughput × size", "beside users"));
    assert!(report.plots.iter().any(|plot| plot.title == "Queues" && plot.x.len() >= 2));
}

#[test]
fn databases_are_added_and_a_machine_is_sized_for_more() {
    let place = Place::new("consolidation");
    let words = "consolidation --databases 2 --users 2 --think-ms 5 --warehouses 1 --shrink 100 --seconds 1 --warm-up 0";
    let (report, json) = bench(&place, words);
    well_formed(&report, &json, "consolidation");
    assert_eq!(report.tables[0].rows.len(), 2, "a row for each step");
    assert_eq!(report.tables[2].rows.len(), 4, "data and log of each database");
    let size = |words: &str| -> (bool, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_keel"))
            .arg("size")
            .args(words.split_whitespace())
            .env_remove("SQLCMDPASSWORD")
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (output.status.success(), said.concat())
    };
    let file = json.display();
    let (done, text) = size(&format!("{file} --transactions-per-second 5000 --databases 40 --disk-iops 200"));
    assert!(done && text.contains("2 databases") && text.contains("disks for the IOPS"), "{text}");
    let (done, text) = size(&format!("{file} --secondaries 3 --json"));
    assert!(done, "{text}");
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(all["measured"]["figures"]["databases"]["value"], 2.0);
    let (done, text) = size("/nowhere/report.json");
    assert!(!done && text.contains("/nowhere/report.json"), "{text}");
    let (done, text) = size(&format!("{file} --disk-iops 0"));
    assert!(!done && text.contains("above zero"), "{text}");
    assert!(!size("").0, "a report or a server is needed");
}

#[test]
fn a_machine_is_sized_by_a_server_that_runs() {
    let keel = Path::new(env!("CARGO_BIN_EXE_keel"));
    let data = Place::new("size-data");
    let server = keel_bench::tds::Keel::start(keel, data.path(), &[]).unwrap();
    server.address().create_database().unwrap();
    let size = || {
        let address = &server.address().address;
        Command::new(keel)
            .args(["size", "--server", address, "--seconds", "1"])
            .env("SQLCMDPASSWORD", &server.address().password)
            .output()
            .unwrap()
    };
    let idle = size();
    let said = String::from_utf8_lossy(&idle.stderr);
    assert!(!idle.status.success() && said.contains("no transaction was measured"), "{said}");
    let stop = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = server.address().session(&server.address().database).unwrap();
            session.execute("CREATE TABLE t (n int NOT NULL)").unwrap();
            while !stop.load(Ordering::Relaxed) {
                session.execute("INSERT t VALUES (1)").unwrap();
            }
        });
        let output = size();
        stop.store(true, Ordering::Relaxed);
        output
    });
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("watched for 1 s"), "{output:?}");
    assert!(text.contains("of each replica") && text.contains("1 databases"), "{text}");
}

#[test]
fn point_and_checkpoint_and_memory() {
    let place = Place::new("single");
    let (report, json) = bench(&place, "point --rows 500 --clients 2 --seconds 1 --warm-up 0");
    well_formed(&report, &json, "point");
    let load = "--warehouses 1 --shrink 100 --clients 2 --seconds 2 --warm-up 0";
    let (report, json) = bench(&place, &format!("checkpoint --throttle 0,50 {load}"));
    well_formed(&report, &json, "checkpoint");
    assert_eq!(report.plots[0].series.len(), 2);
    let (report, json) = bench(
        &place,
        "memory --shrink 64 --memory 4096 --database 512 --large-rows 1000 --clients 2 --seconds 1",
    );
    well_formed(&report, &json, "memory");
}

#[test]
fn recovery_and_crash() {
    let place = Place::new("crash");
    let load = "--warehouses 1 --shrink 100 --clients 2";
    let (report, json) = bench(&place, &format!("recovery {load} --seconds 1"));
    well_formed(&report, &json, "recovery");
    let (report, json) = bench(&place, &format!("crash {load} --rounds 2"));
    well_formed(&report, &json, "crash");
}

#[test]
fn a_group_is_measured() {
    let place = Place::new("group");
    let load = "--warehouses 1 --shrink 100 --seconds 1 --serve-options=--max-server-memory=256";
    let (report, json) = bench(&place, &format!("sync-cost {load} --clients 1,2 --rounds 1 --warm-up 0"));
    well_formed(&report, &json, "sync-cost");
    assert_eq!(report.tables[0].rows.len(), 2 * 3, "three primaries for each number of clients");
    let (report, json) = bench(&place, &format!("redo {load} --clients 2"));
    well_formed(&report, &json, "redo");
    let (report, json) = bench(&place, &format!("seeding {load} --clients 2 --repeat 1"));
    well_formed(&report, &json, "seeding");
}

#[test]
fn what_is_missing_is_said() {
    let refused = |words: &str| -> String {
        let keel = Command::new(env!("CARGO_BIN_EXE_keel"))
            .arg("bench")
            .args(words.split_whitespace())
            .output()
            .unwrap();
        assert!(!keel.status.success(), "{words}");
        String::from_utf8_lossy(&keel.stderr).into_owned()
    };
    assert!(refused("tpcc --no-build").contains("--server"));
    assert!(refused("tpch --scale 0.0001").contains("0.001"));
    assert!(refused("tpch --scale 0.001 --databases 16 --streams 64").contains("refreshes"));
    assert!(refused("tpch --secondary --databases 2").contains("--databases"));
    assert!(refused("tpch --users 3").contains("--secondary"));
    assert!(refused("compare /nowhere/a.json /nowhere/b.json").contains("/nowhere/a.json"));
    if !cfg!(feature = "postgres") {
        assert!(refused("tpcc --on postgres").contains("--features postgres"));
    }
}

#[test]
fn a_group_fails_over() {
    let place = Place::new("failover");
    let words = "failover --faults kill,planned --runs 1 --writers 2 --settle-ms 100 --client-timeout-ms 1000 \
                 --load-clients 1 --shrink 100 --serve-options=--max-server-memory=256";
    let (report, json) = bench(&place, words);
    well_formed(&report, &json, "failover");
    assert_eq!(report.tables[0].rows.len(), 2, "a row for each fault");
    assert!(report.tables[0].rows.iter().all(|row| row.last().unwrap() == "0"), "{:?}", report.tables[0]);
}

/// Needs root and network namespaces. Clients know one address only: they go on when it has moved.
#[test]
fn clients_of_one_address_go_on_when_it_moves() {
    if !keel_bench::machines::is_root()
        || keel_bench::machines::Machines::apart(&std::env::temp_dir(), 1, false).is_err()
    {
        return;
    }
    let place = Place::new("moving-address");
    // Nobody gives up by itself while the test waits for it to go on.
    let words = "failover --moving-address --faults partition,planned,kill --runs 1 --writers 2 --settle-ms 100 \
                 --client-timeout-ms 20000";
    let (report, json) = bench(&place, words);
    well_formed(&report, &json, "failover");
}

#[test]
fn what_is_killed_leaves_nothing_behind() {
    let mut killed = Command::new(env!("CARGO_BIN_EXE_keel"))
        .args(["bench", "point", "--warm-up", "600"])
        .env_remove("SQLCMDPASSWORD")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let data = std::env::temp_dir().join(format!("keel-bench-{}-keel", killed.id()));
    let comes_to = |there: bool| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while data.exists() != there && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        data.exists() == there
    };
    assert!(comes_to(true), "{}", data.display());
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(comes_to(false), "{}", data.display());
}

#[test]
fn a_group_lives_through_a_fault() {
    let place = Place::new("soak");
    let (report, json) = bench(&place, "soak --minutes 0.01 --clients 2");
    well_formed(&report, &json, "soak");
}

/// Needs root, and the programs that make thin links.
#[test]
fn a_thin_link_is_measured_where_it_can_be_made() {
    let there = |program: &str| Command::new(program).arg("-V").output().is_ok();
    if !keel_bench::machines::is_root()
        || !there("ip")
        || !there("tc")
        || keel_bench::thin_link::Namespace::new().is_err()
    {
        return;
    }
    let place = Place::new("compression");
    let (report, json) = bench(&place, "compression --rate 50mbit,100mbit --queue 1 --repeat 1 --shrink 300");
    well_formed(&report, &json, "compression");
    assert_eq!(report.tables[0].rows.len(), 4, "each link, compressed and not");
}
