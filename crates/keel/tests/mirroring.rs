//! Database mirroring over processes: two partners, and two with a witness.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, KEEL, PASSWORD, comes, keel};
use std::path::PathBuf;
use std::process::{Command, Stdio};

struct Servers {
    dir: PathBuf,
    nodes: Vec<Instance>,
}

impl Servers {
    /// Instances that trust each other, by certificates as a DBA hands them over by hand, each with its endpoint.
    fn by_certificates(test: &str, count: usize) -> Servers {
        let servers = Servers::new(test, count);
        let file = |node: &Instance| servers.dir.join(format!("{}.cer", node.name)).display().to_string();
        for node in &servers.nodes {
            node.run(&format!(
                "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'Master-1';
                 CREATE CERTIFICATE own WITH SUBJECT = N'endpoint of {}';
                 BACKUP CERTIFICATE own TO FILE = N'{}';
                 CREATE ENDPOINT mirroring STATE = STARTED AS TCP (LISTENER_PORT = {}, LISTENER_IP = ({}))
                     FOR DATABASE_MIRRORING (AUTHENTICATION = CERTIFICATE own, ROLE = ALL)",
                node.name,
                file(node),
                node.endpoint,
                node.ip
            ));
        }
        for node in &servers.nodes {
            for other in servers.nodes.iter().filter(|other| other.name != node.name) {
                let name = &other.name;
                node.run(&format!(
                    "CREATE LOGIN {name} WITH PASSWORD = N'Partner-1'; CREATE USER {name} FOR LOGIN {name};
                     CREATE CERTIFICATE of_{name} AUTHORIZATION {name} FROM FILE = N'{}';
                     GRANT CONNECT ON ENDPOINT::mirroring TO {name}",
                    file(other)
                ));
            }
        }
        servers
    }

    /// Instances that trust each other by a join token, and so are a cluster.
    fn by_token(test: &str, count: usize) -> Servers {
        let servers = Servers::new(test, count);
        let (first, others) = servers.nodes.split_first().unwrap();
        let said = keel(&["init", "--endpoint", &first.endpoint()], first);
        let token = said.lines().find(|l| l.starts_with("keel://")).unwrap().trim().to_owned();
        for node in others {
            keel(&["join", &token, "--endpoint", &node.endpoint()], node);
        }
        servers
    }

    fn new(test: &str, count: usize) -> Servers {
        let dir = std::env::temp_dir().join(format!("keel-mirroring-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let nodes = (1..=count).map(|n| Instance::new(&dir, n)).collect();
        Servers { dir, nodes }
    }

    /// Makes the database on the first, restores it on the second, and begins the session.
    fn mirror(&self) {
        let [principal, mirror, ..] = &self.nodes[..] else { unreachable!("two at least were made") };
        principal.run("CREATE DATABASE shop");
        principal.run("CREATE TABLE shop.dbo.t (a int PRIMARY KEY, b nvarchar(50)); INSERT shop.dbo.t VALUES (1, N'before')");
        self.restore(principal, mirror);
        mirror.run(&format!("ALTER DATABASE shop SET PARTNER = 'TCP://{}'", principal.endpoint()));
        assert_eq!(mirror.value(STATE), "1 MIRROR");
        principal.run(&format!("ALTER DATABASE shop SET PARTNER = 'TCP://{}'", mirror.endpoint()));
        synchronized(principal, mirror);
    }

    fn restore(&self, from: &Instance, to: &Instance) {
        let (full, log) = (self.dir.join("shop.bak"), self.dir.join("shop.trn"));
        let (full, log) = (full.display(), log.display());
        from.run(&format!(
            "BACKUP DATABASE shop TO DISK = N'{full}' WITH FORMAT; BACKUP LOG shop TO DISK = N'{log}' WITH FORMAT"
        ));
        to.run(&format!(
            "RESTORE DATABASE shop FROM DISK = N'{full}' WITH NORECOVERY; RESTORE LOG shop FROM DISK = N'{log}' WITH NORECOVERY"
        ));
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.nodes.clear();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

const STATE: &str = "SELECT CONCAT(mirroring_state, ' ', mirroring_role_desc) FROM sys.database_mirroring WHERE mirroring_role IS NOT NULL";

fn synchronized(principal: &Instance, mirror: &Instance) {
    principal.until(STATE, "4 PRINCIPAL");
    mirror.until(STATE, "4 MIRROR");
}

/// The number of the error that a batch ends with.
fn refused(node: &Instance, batch: &str, number: &str) {
    let output = node.sql(&["-Q", batch]);
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains(&format!("Msg {number},")), "{batch}: {said}");
}

/// Inserts rows one by one until it is refused.
struct Load {
    child: std::process::Child,
    /// What it prints: the keys whose inserts were acknowledged.
    said: PathBuf,
}

impl Load {
    /// From this key on.
    fn begin(node: &Instance, from: u32) -> Load {
        let batch = format!(
            "SET NOCOUNT ON; SET XACT_ABORT ON; DECLARE @a int = {from}; DECLARE @said nvarchar(20);
             WHILE 1 = 1
             BEGIN
                 INSERT dbo.t VALUES (@a, N'load');
                 SET @said = CONVERT(nvarchar(20), @a);
                 RAISERROR (@said, 0, 1) WITH NOWAIT;
                 SET @a += 1
             END"
        );
        let said = node.data.with_extension(format!("load{from}"));
        let mut command = Command::new(KEEL);
        command.args(["sql", "-S", &node.server(), "-d", "shop", "-P", PASSWORD, "-C", "-b", "-Q", &batch]);
        command.stdout(std::fs::File::create(&said).unwrap()).stderr(Stdio::null());
        Load { child: command.spawn().unwrap(), said }
    }

    /// It ends with the server that it loads.
    fn acknowledged(mut self) -> Vec<u32> {
        self.child.wait().unwrap();
        let said = std::fs::read_to_string(&self.said).unwrap();
        said.lines().filter_map(|line| line.trim().parse().ok()).collect()
    }
}

/// What a login to the database is told about where else to find it.
fn failover_partner(node: &Instance, database: &str) -> Option<String> {
    let login = keel_tds::login::Login {
        user_name: "sa".to_owned(),
        password: PASSWORD.to_owned(),
        database: database.to_owned(),
        packet_size: 4096,
        ..Default::default()
    };
    let options = keel_tds::client::ConnectOptions {
        login,
        encryption: keel_tds::client::ClientEncryption::On,
        tls: Some(keel_tds::client::trust_any_certificate().unwrap()),
        host: node.ip.clone(),
    };
    let socket = std::net::TcpStream::connect((node.ip.as_str(), node.port)).unwrap();
    keel_tds::client::Client::connect(socket, &options).unwrap().failover_partner
}

fn rows(node: &Instance) -> String {
    node.value("SELECT CONCAT(COUNT(*), ' ', CHECKSUM_AGG(CHECKSUM(a, b))) FROM shop.dbo.t")
}

#[test]
fn two_partners_change_roles_and_lose_nothing() {
    let mut servers = Servers::by_certificates("pair", 2);
    servers.mirror();
    let [one, two] = &mut servers.nodes[..] else { unreachable!("two were made") };

    // What the views say, and what they do not.
    let about = "SELECT CONCAT(mirroring_safety_level_desc, ' ', mirroring_partner_instance, ' ', mirroring_witness_state_desc, ' ',
        mirroring_connection_timeout) FROM sys.database_mirroring WHERE mirroring_guid IS NOT NULL";
    assert_eq!(one.value(about), "FULL NODE2 UNKNOWN 10");
    assert_eq!(two.value(about), "FULL NODE1 UNKNOWN 10");
    assert_eq!(two.value("SELECT state_desc FROM sys.databases WHERE name = 'shop'"), "RESTORING");
    for node in [&*one, &*two] {
        let groups = "SELECT (SELECT COUNT(*) FROM sys.availability_groups) + (SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states)
            + (SELECT COUNT(*) FROM sys.databases WHERE replica_id IS NOT NULL)";
        assert_eq!(node.value(groups), "0");
        assert_eq!(node.value("SELECT COUNT(*) FROM sys.dm_db_mirroring_connections"), "1");
    }
    assert_eq!(failover_partner(one, "shop"), Some(two.server()));
    assert_eq!(failover_partner(one, "master"), None);
    refused(two, "SELECT * FROM shop.dbo.t", "954");
    refused(two, "USE shop", "954");
    refused(one, "DROP DATABASE shop", "3743");
    refused(one, "ALTER DATABASE shop SET RECOVERY SIMPLE", "1468");
    refused(two, "ALTER DATABASE shop SET PARTNER FAILOVER", "1470");
    refused(two, "ALTER DATABASE shop SET PARTNER FORCE_SERVICE_ALLOW_DATA_LOSS", "1455");

    // Reports from the mirror: it cannot be used, a snapshot of it can, whoever is principal afterwards.
    let report = "SELECT CONCAT(COUNT(*), ' ', MAX(b)) FROM report.dbo.t";
    two.run("CREATE DATABASE report ON (NAME = shop, FILENAME = '/report.ss') AS SNAPSHOT OF shop");
    assert_eq!(two.value(report), "1 before");
    refused(two, "RESTORE DATABASE shop FROM DATABASE_SNAPSHOT = 'report'", "3104");

    // A planned failover, with a load that it cuts off: what was acknowledged is there.
    let began = Load::begin(one, 1000);
    one.until("SELECT IIF(MAX(a) > 1050, 'loaded', 'not yet') FROM shop.dbo.t", "loaded");
    one.run("ALTER DATABASE shop SET PARTNER FAILOVER");
    let keys = began.acknowledged();
    assert!(keys.len() > 50, "{}", keys.len());
    synchronized(two, one);
    assert_eq!(two.value(report), "1 before");
    let last = keys.last().unwrap();
    let there = two.value(&format!("SELECT COUNT(*) FROM shop.dbo.t WHERE a BETWEEN 1000 AND {last}"));
    assert_eq!(there, keys.len().to_string());
    refused(one, "USE shop", "954");
    assert_eq!(failover_partner(two, "shop"), Some(one.server()));

    // Without the mirror the principal goes on, also over a restart of its own, and the mirror catches up.
    one.kill();
    two.until(STATE, "1 PRINCIPAL");
    two.run("INSERT shop.dbo.t VALUES (2, N'exposed')");
    two.kill();
    two.start();
    two.until("SELECT b FROM shop.dbo.t WHERE a = 2", "exposed");
    two.run("INSERT shop.dbo.t VALUES (3, N'exposed after a restart')");
    one.start();
    synchronized(two, one);

    // Of two that are one there is no session.
    let own = format!("TCP://{}", two.endpoint());
    refused(two, &format!("CREATE DATABASE alone; ALTER DATABASE alone SET PARTNER = '{own}'"), "1452");

    // The principal dies under load; the mirror is made to serve. SAFETY FULL: nothing acknowledged is lost.
    let began = Load::begin(two, 5000);
    two.until("SELECT IIF(MAX(a) > 5050, 'loaded', 'not yet') FROM shop.dbo.t", "loaded");
    two.kill();
    let keys = began.acknowledged();
    one.until(STATE, "1 MIRROR");
    one.run("ALTER DATABASE shop SET PARTNER FORCE_SERVICE_ALLOW_DATA_LOSS");
    let there = format!("SELECT COUNT(*) FROM shop.dbo.t WHERE a BETWEEN 5000 AND {}", keys.last().unwrap());
    one.until(&there, &keys.len().to_string());
    one.run("INSERT shop.dbo.t VALUES (4, N'forced')");
    // The old principal comes back, suspended until the new one says that it may drop what it had alone.
    two.start();
    one.until(STATE, "0 PRINCIPAL");
    two.until(STATE, "0 MIRROR");
    refused(two, "ALTER DATABASE shop SET PARTNER RESUME", "1470");
    one.run("ALTER DATABASE shop SET PARTNER RESUME");
    synchronized(one, two);
    let before = rows(one);
    one.run("ALTER DATABASE shop SET PARTNER FAILOVER");
    synchronized(two, one);
    assert_eq!(rows(two), before);
    // Its log was cut at what both had; the snapshot is from before that.
    assert_eq!(two.value(report), "1 before");

    // SUSPEND and RESUME, SAFETY, TIMEOUT.
    two.run("ALTER DATABASE shop SET PARTNER SUSPEND");
    two.until(STATE, "0 PRINCIPAL");
    one.until(STATE, "0 MIRROR");
    two.run("INSERT shop.dbo.t VALUES (5, N'suspended')");
    refused(two, "ALTER DATABASE shop SET PARTNER FAILOVER", "1422");
    two.run("BACKUP LOG shop TO DISK = N'shop.trn' WITH FORMAT");
    let waits = "SELECT log_reuse_wait_desc FROM sys.databases WHERE name = 'shop'";
    two.until(&format!("USE shop; CHECKPOINT; {waits}"), "DATABASE_MIRRORING");
    two.run("ALTER DATABASE shop SET PARTNER RESUME");
    synchronized(two, one);
    two.run("ALTER DATABASE shop SET PARTNER SAFETY OFF; ALTER DATABASE shop SET PARTNER TIMEOUT 3");
    one.until(about, "OFF NODE2 UNKNOWN 5");
    refused(two, "ALTER DATABASE shop SET PARTNER FAILOVER", "1477");
    two.until(STATE, "4 PRINCIPAL");
    two.run("ALTER DATABASE shop SET PARTNER SAFETY FULL");
    synchronized(two, one);

    // A tail that the mirror never had: it is dropped when the new principal says so.
    two.run("ALTER DATABASE shop SET PARTNER SAFETY OFF");
    two.until(STATE, "4 PRINCIPAL");
    one.kill();
    two.until(STATE, "1 PRINCIPAL");
    two.run(
        "INSERT shop.dbo.t VALUES (100, N'lost'); USE shop; CHECKPOINT; INSERT dbo.t VALUES (101, N'lost')",
    );
    two.kill();
    one.start();
    one.until(STATE, "1 MIRROR");
    refused(one, "USE shop", "954");
    one.run("ALTER DATABASE shop SET PARTNER FORCE_SERVICE_ALLOW_DATA_LOSS");
    one.until("SELECT COUNT(*) FROM shop.dbo.t WHERE b = N'lost'", "0");
    one.run("INSERT shop.dbo.t VALUES (100, N'kept')");
    two.start();
    one.until(STATE, "0 PRINCIPAL");
    one.run("ALTER DATABASE shop SET PARTNER RESUME");
    synchronized(one, two);
    one.run("ALTER DATABASE shop SET PARTNER SAFETY FULL");
    synchronized(one, two);
    let before = rows(one);
    one.run("ALTER DATABASE shop SET PARTNER FAILOVER");
    synchronized(two, one);
    assert_eq!(rows(two), before);
    assert_eq!(two.value("SELECT b FROM shop.dbo.t WHERE a = 100"), "kept");

    // Both die; the principal comes back alone, and cannot know whether the mirror was made to serve meanwhile. Who knows says so.
    two.kill();
    one.kill();
    two.start();
    until_refused(two, "SELECT * FROM shop.dbo.t", "956");
    two.run("ALTER DATABASE shop SET PARTNER FORCE_SERVICE_ALLOW_DATA_LOSS");
    two.until("SELECT b FROM shop.dbo.t WHERE a = 100", "kept");
    one.start();
    synchronized(two, one);

    // OFF: the principal stands alone, the mirror takes log again, and both are free for another session.
    two.run("ALTER DATABASE shop SET PARTNER OFF");
    two.until("SELECT COUNT(*) FROM sys.database_mirroring WHERE mirroring_guid IS NOT NULL", "0");
    one.until("SELECT COUNT(*) FROM sys.database_mirroring WHERE mirroring_guid IS NOT NULL", "0");
    assert_eq!(one.value("SELECT state_desc FROM sys.databases WHERE name = 'shop'"), "RESTORING");
    two.run("INSERT shop.dbo.t VALUES (6, N'alone')");
    refused(two, &format!("ALTER DATABASE shop SET PARTNER = 'TCP://{}'", one.endpoint()), "1416");
    one.run(&format!("ALTER DATABASE shop SET PARTNER = 'TCP://{}'", two.endpoint()));
    two.run(&format!("ALTER DATABASE shop SET PARTNER = 'TCP://{}'", one.endpoint()));
    synchronized(two, one);
    // The mirror ends it while the principal is away, which does so too when it is back.
    two.kill();
    one.until(STATE, "1 MIRROR");
    one.run("ALTER DATABASE shop SET PARTNER OFF");
    two.start();
    two.until("SELECT COUNT(*) FROM sys.database_mirroring WHERE mirroring_guid IS NOT NULL", "0");
    two.until("SELECT COUNT(*) FROM shop.dbo.t WHERE a = 6", "1");
    one.run("RESTORE DATABASE shop WITH RECOVERY");
    assert_eq!(rows(one), rows(two));
    servers.nodes.iter_mut().for_each(Instance::stop);
}

const WITNESS: &str = "SELECT CONCAT(mirroring_witness_state_desc, ' ', mirroring_role_desc) FROM sys.database_mirroring WHERE mirroring_role IS NOT NULL";

/// A failover by itself, and a principal that is left alone.
fn with_a_witness(servers: &mut Servers) {
    servers.mirror();
    let [one, two, three] = &mut servers.nodes[..] else { unreachable!("three were made") };
    refused(one, &format!("ALTER DATABASE shop SET WITNESS = 'TCP://{}'", two.endpoint()), "1429");
    refused(one, &format!("ALTER DATABASE shop SET WITNESS = 'TCP://{}:1'", three.ip), "1418");
    refused(two, &format!("ALTER DATABASE shop SET WITNESS = 'TCP://{}'", three.endpoint()), "1470");
    let began = Load::begin(one, 1000);
    one.until("SELECT IIF(MAX(a) > 1020, 'loaded', 'not yet') FROM shop.dbo.t", "loaded");
    // Commits go on meanwhile.
    one.run(&format!("ALTER DATABASE shop SET WITNESS = 'TCP://{}'", three.endpoint()));
    one.until(WITNESS, "CONNECTED PRINCIPAL");
    two.until(WITNESS, "CONNECTED MIRROR");
    synchronized(one, two);
    let witnessed =
        "SELECT CONCAT(principal_server_name, ' ', mirror_server_name, ' ', partner_sync_state_desc)
        FROM sys.database_mirroring_witnesses WHERE database_name = 'shop'";
    three.until(witnessed, "NODE1 NODE2 SYNCHRONIZED");
    assert_eq!(three.value("SELECT COUNT(*) FROM sys.availability_groups"), "0");

    // The principal dies: the mirror takes its place without being told.
    let here = one.value("SELECT MAX(a) FROM shop.dbo.t");
    one.until(&format!("SELECT IIF(MAX(a) > {here} + 20, 'goes on', 'not yet') FROM shop.dbo.t"), "goes on");
    one.kill();
    let keys = began.acknowledged();
    let there = format!("SELECT COUNT(*) FROM shop.dbo.t WHERE a BETWEEN 1000 AND {}", keys.last().unwrap());
    two.until(&there, &keys.len().to_string());
    two.run("INSERT shop.dbo.t VALUES (2, N'failed over')");
    two.until(WITNESS, "CONNECTED PRINCIPAL");
    three.until(witnessed, "NODE2 NODE1 UNSYNCHRONIZED");
    // It comes back as the mirror, and nobody need say so.
    one.start();
    synchronized(two, one);
    three.until(witnessed, "NODE2 NODE1 SYNCHRONIZED");
    two.run("ALTER DATABASE shop SET PARTNER FAILOVER");
    synchronized(one, two);

    // A principal that stands still is one no more when it goes on: what it acknowledged is at the new one.
    let began = Load::begin(one, 500_000);
    one.until("SELECT IIF(MAX(a) > 500020, 'loaded', 'not yet') FROM shop.dbo.t", "loaded");
    one.signal(libc::SIGSTOP);
    two.until(WITNESS, "CONNECTED PRINCIPAL");
    two.run("INSERT shop.dbo.t VALUES (4, N'while it stood still')");
    one.signal(libc::SIGCONT);
    let keys = began.acknowledged();
    let last = keys.last().unwrap();
    let there = format!("SELECT COUNT(*) FROM shop.dbo.t WHERE a BETWEEN 500000 AND {last}");
    two.until(&there, &keys.len().to_string());
    synchronized(two, one);
    two.run("ALTER DATABASE shop SET PARTNER FAILOVER");
    synchronized(one, two);

    // A principal that sees neither partner nor witness does not serve; with one of them back it does.
    two.kill();
    three.kill();
    until_refused(one, "SELECT COUNT(*) FROM shop.dbo.t", "955");
    three.start();
    one.until("SELECT b FROM shop.dbo.t WHERE a = 2", "failed over");
    one.run("INSERT shop.dbo.t VALUES (3, N'exposed')");
    two.start();
    synchronized(one, two);

    // Without the witness it is a pair again.
    one.run("ALTER DATABASE shop SET WITNESS OFF");
    one.until(WITNESS, "UNKNOWN PRINCIPAL");
    three.until("SELECT COUNT(*) FROM sys.database_mirroring_witnesses", "0");
    synchronized(one, two);
    let before = rows(one);
    one.run("ALTER DATABASE shop SET PARTNER FAILOVER");
    synchronized(two, one);
    assert_eq!(rows(two), before);
    servers.nodes.iter_mut().for_each(Instance::stop);
}

fn until_refused(node: &Instance, batch: &str, number: &str) {
    let refused = comes(|| {
        let output = node.sql(&["-Q", batch]);
        String::from_utf8_lossy(&output.stdout).contains(&format!("Msg {number},")).then_some(())
    });
    assert!(refused.is_some(), "{batch} on {} was not refused with {number}:\n{}", node.name, node.log());
}

#[test]
fn a_witness_makes_failovers_automatic() {
    with_a_witness(&mut Servers::by_certificates("witness", 3));
}

#[test]
fn members_of_a_cluster_need_no_certificates() {
    with_a_witness(&mut Servers::by_token("cluster", 3));
}

/// Two databases between the same two instances, one made while the other is written: they share the connection.
#[test]
fn sessions_share_the_connection_and_a_witness_that_will_not_is_done_without() {
    let mut servers = Servers::by_certificates("several", 3);
    servers.mirror();
    let [one, two, three] = &mut servers.nodes[..] else { unreachable!("three were made") };
    let began = Load::begin(one, 1000);
    let file = servers.dir.join("other.bak").display().to_string();
    one.run(&format!("CREATE DATABASE other; BACKUP DATABASE other TO DISK = N'{file}'"));
    two.run(&format!("RESTORE DATABASE other FROM DISK = N'{file}' WITH NORECOVERY"));
    let lost = "SELECT COUNT(*) FROM sys.dm_keel_health_log WHERE message LIKE '%is lost%'";
    let before = one.value(lost);
    two.run(&format!("ALTER DATABASE other SET PARTNER = 'TCP://{}'", one.endpoint()));
    assert_eq!(one.value(lost), before);
    // The mirror dies before the session begins, and expects it still.
    two.kill();
    two.start();
    one.until("SELECT mirroring_state FROM sys.database_mirroring WHERE DB_NAME(database_id) = 'shop'", "4");
    let before = one.value(lost);
    one.run(&format!("ALTER DATABASE other SET PARTNER = 'TCP://{}'", two.endpoint()));
    one.until("SELECT COUNT(*) FROM sys.database_mirroring WHERE mirroring_state = 4", "2");
    two.until("SELECT COUNT(*) FROM sys.database_mirroring WHERE mirroring_state = 4", "2");
    assert_eq!(one.value("SELECT COUNT(*) FROM sys.dm_db_mirroring_connections"), "1");
    assert_eq!(one.value(lost), before);

    // A member of another cluster is no witness; the session is as it was, and commits went on.
    three.run(&format!(
        "CREATE AVAILABILITY GROUP own FOR REPLICA ON N'NODE3' WITH
            (ENDPOINT_URL = N'TCP://{}', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL)",
        three.endpoint()
    ));
    refused(one, &format!("ALTER DATABASE shop SET WITNESS = 'TCP://{}'", three.endpoint()), "1456");
    one.until("SELECT COUNT(*) FROM sys.database_mirroring WHERE mirroring_state = 4 AND mirroring_witness_state = 0", "2");
    two.until("SELECT COUNT(*) FROM sys.database_mirroring WHERE mirroring_state = 4", "2");
    let here = one.value("SELECT MAX(a) FROM shop.dbo.t");
    one.until(&format!("SELECT IIF(MAX(a) > {here} + 20, 'goes on', 'not yet') FROM shop.dbo.t"), "goes on");
    one.kill();
    let keys = began.acknowledged();
    two.until("SELECT COUNT(*) FROM sys.database_mirroring WHERE mirroring_state = 1", "2");
    two.run("ALTER DATABASE shop SET PARTNER FORCE_SERVICE_ALLOW_DATA_LOSS");
    let there = format!("SELECT COUNT(*) FROM shop.dbo.t WHERE a BETWEEN 1000 AND {}", keys.last().unwrap());
    two.until(&there, &keys.len().to_string());
    two.stop();
    three.stop();
}
