//! The collation of an instance.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, open_in_collation, run, value, well};
use keel_base::env::sim::{SimDisk, Tear};
use keel_sql::ServerLog;
use parking_lot::Mutex;
use std::sync::Arc;

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl ServerLog for Lines {
    fn write(&self, text: &str) {
        self.0.lock().push(text.to_owned());
    }
}

const TURKISH: &str = "Turkish_CI_AS";
const CASED: &str = "Latin1_General_100_BIN2_UTF8";

#[test]
fn an_instance_is_made_in_a_collation_and_stays_in_it() {
    let disk = SimDisk::new();
    let log = Arc::new(Lines::default());
    let mut session = connect(&open_in_collation(&disk, Arc::clone(&log) as _, CASED));
    well(&mut session, "CREATE DATABASE shop; CREATE DATABASE other COLLATE Turkish_CI_AS");
    let all = "SELECT STRING_AGG(CONCAT(name, ' ', collation_name), ', ') WITHIN GROUP (ORDER BY database_id) FROM sys.databases";
    let expected =
        format!("master {CASED}, tempdb {CASED}, model {CASED}, msdb {CASED}, shop {CASED}, other {TURKISH}");
    assert_eq!(value(&mut session, all), expected);
    let property = "SELECT STRING_AGG(CAST(SERVERPROPERTY(p) AS varchar(100)), ' ') FROM (VALUES ('Collation'), ('SqlCharSetName'), ('ComparisonStyle')) AS asked (p)";
    assert_eq!(value(&mut session, property), format!("{CASED} cp65001 0"));
    // Who goes to a database in another one is told.
    let said = run(&mut session, "USE other; USE shop; USE master");
    let told: Vec<&str> = said.lines().filter(|line| line.starts_with("(collation")).collect();
    assert_eq!(told, [format!("(collation {TURKISH})"), format!("(collation {CASED})")]);
    // Names of the instance are in it, and its temporary tables.
    well(&mut session, "USE other; CREATE TABLE #t (name sysname); INSERT #t VALUES ('shop'), ('SHOP')");
    let both = "SELECT COUNT(*) FROM #t t JOIN sys.databases d ON d.name = t.name";
    assert_eq!(value(&mut session, both), "1");
    drop(session);
    // Another start does not change it, whatever is asked for.
    let disk = disk.crash(Tear::LoseAll);
    let mut session = connect(&open(&disk));
    assert_eq!(value(&mut session, all), expected);
    drop(session);
    let disk = disk.crash(Tear::LoseAll);
    let mut session = connect(&open_in_collation(&disk, Arc::clone(&log) as _, TURKISH));
    assert_eq!(value(&mut session, all), expected);
    let stays = format!(
        "The instance was made with collation {CASED} and stays with it: {TURKISH} is for a first start."
    );
    assert!(log.0.lock().contains(&stays), "{:?}", log.0.lock());
}
