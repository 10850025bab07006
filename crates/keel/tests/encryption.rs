//! Encrypted databases of real processes: files that hold nothing readable, a scan that is killed, groups.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, comes, keel};
use std::path::{Path, PathBuf};

const MARKER: &str = "a marker nobody else writes";

struct Dir(PathBuf);

impl Dir {
    fn new(test: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("keel-encryption-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Files below a directory that hold the marker.
fn marked(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(marked(&path));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(MARKER.len()).any(|w| w == MARKER.as_bytes())
        {
            found.push(path);
        }
    }
    found
}

/// The directory of the only user database.
fn database(node: &Instance) -> PathBuf {
    let entries = std::fs::read_dir(&node.data).unwrap().flatten().map(|e| e.path());
    let is_db = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("db"));
    entries.into_iter().find(is_db).unwrap()
}

fn until_clean(node: &Instance) {
    let clean = comes(|| {
        let _ = node.sql(&["-d", "shop", "-Q", "CHECKPOINT"]);
        marked(&database(node)).is_empty().then_some(())
    });
    assert!(clean.is_some(), "{:?} on {}\n{}", marked(&database(node)), node.name, node.log());
}

const FILL: &str = "CREATE TABLE shop.dbo.t (id int IDENTITY PRIMARY KEY, a varchar(900)); \
    INSERT shop.dbo.t SELECT TOP 20000 REPLICATE('a marker nobody else writes', 1 + ABS(CHECKSUM(NEWID())) % 30) \
    FROM sys.all_columns x CROSS JOIN sys.all_columns y";

fn certificate_to(node: &Instance, dir: &Path) {
    node.run(&format!(
        "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Key-1'; CREATE CERTIFICATE safe WITH SUBJECT = 'safe'; \
         BACKUP CERTIFICATE safe TO FILE = '{0}/safe.cer' WITH PRIVATE KEY (FILE = '{0}/safe.pvk', ENCRYPTION BY PASSWORD = 'Key-File-1')",
        dir.display()
    ));
}

fn certificate_from(node: &Instance, dir: &Path) {
    node.run(&format!(
        "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Key-2'; CREATE CERTIFICATE safe FROM FILE = '{0}/safe.cer' \
         WITH PRIVATE KEY (FILE = '{0}/safe.pvk', DECRYPTION BY PASSWORD = 'Key-File-1')",
        dir.display()
    ));
}

const ENCRYPT: &str = "CREATE DATABASE ENCRYPTION KEY WITH ALGORITHM = AES_256 ENCRYPTION BY SERVER CERTIFICATE safe; \
    ALTER DATABASE shop SET ENCRYPTION ON";
const STATE: &str =
    "SELECT encryption_state FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID('shop')";

#[test]
fn a_scan_that_is_killed_again_and_again_ends_and_leaves_nothing_readable() {
    let dir = Dir::new("killed");
    // A slow scan: two megabytes a second.
    let mut node = Instance::with(&dir.0, 1, &["-k".to_owned(), "2".to_owned()]);
    certificate_to(&node, &dir.0);
    node.run("CREATE DATABASE shop; ALTER DATABASE shop SET RECOVERY SIMPLE");
    node.run(FILL);
    node.run("USE shop; CHECKPOINT");
    let count = node.value("SELECT CONCAT(COUNT(*), ' ', SUM(LEN(a))) FROM shop.dbo.t");
    assert!(!marked(&database(&node)).is_empty());
    node.run(&format!("USE shop; {ENCRYPT}"));
    for round in 0..4 {
        node.run(&format!("INSERT shop.dbo.t VALUES ('{MARKER} {round}')"));
        node.kill();
        node.start();
    }
    let last = node.value(
        "SELECT CONCAT(COUNT(*), ' ', SUM(LEN(a))) FROM shop.dbo.t WHERE a NOT LIKE 'a marker nobody else writes _'",
    );
    assert_eq!(last, count);
    node.until(STATE, "3");
    until_clean(&node);
    assert_eq!(
        node.value("SELECT COUNT(*) FROM shop.dbo.t WHERE a LIKE 'a marker nobody else writes _'"),
        "4"
    );
    node.run("DBCC CHECKDB (shop) WITH NO_INFOMSGS");
    let backup = dir.0.join("shop.bak");
    node.run(&format!("BACKUP DATABASE shop TO DISK = '{}'", backup.display()));
    assert!(marked(&dir.0).is_empty(), "{:?}", marked(&dir.0));
    node.stop();
}

#[test]
fn a_group_is_encrypted_on_every_member_and_a_member_without_the_certificate_waits_for_it() {
    let dir = Dir::new("group");
    let mut nodes: Vec<Instance> = (1..=3).map(|n| Instance::new(&dir.0, n)).collect();
    let token = keel(&["init", "--endpoint", &nodes[0].endpoint()], &nodes[0]);
    let token = token.lines().find(|line| line.starts_with("keel://")).unwrap().trim().to_owned();
    for node in &nodes[1..] {
        keel(&["join", &token, "--endpoint", &node.endpoint()], node);
    }
    certificate_to(&nodes[0], &dir.0);
    certificate_from(&nodes[1], &dir.0);
    nodes[0].run("CREATE DATABASE shop");
    nodes[0].run(FILL);
    let members = [nodes[1].server(), nodes[2].server()];
    let made =
        ["group", "create", "ag1", "--database", "shop", "--member", &members[0], "--member", &members[1]];
    keel(&made, &nodes[0]);
    for node in &nodes {
        node.until("SELECT COUNT(*) FROM sys.databases WHERE name = 'shop'", "1");
    }
    nodes[0].run(&format!("USE shop; {ENCRYPT}"));
    nodes[0].run("INSERT shop.dbo.t VALUES ('after')");
    // The picture that the others were seeded from is kept for half a minute, and its pages with it.
    nodes[0].until(STATE, "3");
    nodes[1].until(STATE, "3");
    // The third has the log, and cannot read it.
    nodes[2].until(
        "SELECT encryption_scan_state_desc FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID('shop')",
        "ABORTED",
    );
    nodes[2].kill();
    nodes[2].start();
    nodes[2].until("SELECT state_desc FROM sys.databases WHERE name = 'shop'", "RECOVERY_PENDING");
    assert!(nodes[2].log().contains("33111"), "{}", nodes[2].log());
    nodes[0].run("INSERT shop.dbo.t VALUES ('while the third waits')");
    certificate_from(&nodes[2], &dir.0);
    nodes[2].until("SELECT state_desc FROM sys.databases WHERE name = 'shop'", "ONLINE");
    let healthy = "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_health_desc = 'HEALTHY'";
    nodes[0].until(healthy, "3");
    nodes[2].until(STATE, "3");
    // Failover, and back over a restart.
    nodes[2].run("ALTER AVAILABILITY GROUP ag1 FAILOVER");
    nodes[2].until("SELECT sys.fn_hadr_is_primary_replica('shop')", "1");
    nodes[2].run("INSERT shop.dbo.t VALUES ('from the third')");
    nodes[2].until(healthy, "3");
    assert_eq!(nodes[2].value("SELECT COUNT(*) FROM shop.dbo.t"), "20003");
    // What was written from then on is readable nowhere; the old log leaves once it is backed up.
    nodes[2].run(&format!("INSERT shop.dbo.t VALUES ('{MARKER}')"));
    nodes[2].run("BACKUP DATABASE shop TO DISK = 'NUL'; BACKUP LOG shop TO DISK = 'NUL'");
    for node in &nodes {
        let data = database(node).join("data.keel");
        let bytes = std::fs::read(data).unwrap();
        assert!(!bytes.windows(MARKER.len()).any(|w| w == MARKER.as_bytes()), "{}", node.name);
    }
    for node in &mut nodes {
        node.stop();
    }
}

/// A master key goes with its database, and what each instance opens by itself does not.
#[test]
fn after_a_failover_the_master_key_opens_with_its_password_and_then_by_itself() {
    let dir = Dir::new("keys");
    let mut nodes: Vec<Instance> = (1..=2).map(|n| Instance::new(&dir.0, n)).collect();
    let token = keel(&["init", "--endpoint", &nodes[0].endpoint()], &nodes[0]);
    let token = token.lines().find(|line| line.starts_with("keel://")).unwrap().trim().to_owned();
    keel(&["join", &token, "--endpoint", &nodes[1].endpoint()], &nodes[1]);
    nodes[0].run(
        "CREATE DATABASE shop; USE shop; CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Key-1'; \
         CREATE CERTIFICATE c WITH SUBJECT = 'c'; CREATE SYMMETRIC KEY k WITH ALGORITHM = AES_256 ENCRYPTION BY CERTIFICATE c; \
         CREATE TABLE t (v varbinary(200)); OPEN SYMMETRIC KEY k DECRYPTION BY CERTIFICATE c; \
         INSERT t VALUES (ENCRYPTBYKEY(KEY_GUID('k'), 'kept'))",
    );
    let member = nodes[1].server();
    keel(&["group", "create", "ag1", "--database", "shop", "--member", &member], &nodes[0]);
    let opens = "SELECT is_master_key_encrypted_by_server FROM sys.databases WHERE name = 'shop'";
    let healthy = "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_health_desc = 'HEALTHY'";
    nodes[0].until(healthy, "2");
    assert_eq!(nodes[0].value(opens), "1");
    nodes[1].until(opens, "0");
    nodes[1].run("ALTER AVAILABILITY GROUP ag1 FAILOVER");
    nodes[1].until("SELECT sys.fn_hadr_is_primary_replica('shop')", "1");
    let read = "USE shop; SELECT CONVERT(varchar(20), DECRYPTBYKEYAUTOCERT(CERT_ID('c'), NULL, v)) FROM t";
    let open = "USE shop; OPEN MASTER KEY DECRYPTION BY PASSWORD = 'Master-Key-1'; \
        ALTER MASTER KEY ADD ENCRYPTION BY SERVICE MASTER KEY";
    nodes[1].run(open);
    assert_eq!(nodes[1].value(read), "kept");
    // Back again: the first instance opens it as before.
    nodes[1].until(healthy, "2");
    nodes[0].run("ALTER AVAILABILITY GROUP ag1 FAILOVER");
    nodes[0].until("SELECT sys.fn_hadr_is_primary_replica('shop')", "1");
    assert_eq!(nodes[0].value(read), "kept");
    nodes[0].until(healthy, "2");
    nodes[1].until(opens, "1");
    for node in &mut nodes {
        node.stop();
    }
}
