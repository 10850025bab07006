//! Several `keel serve` processes that form an availability group, made as an administrator would: endpoints, join tokens,
//! `CREATE AVAILABILITY GROUP`, joins, seeding.

use crate::target::Server;
use crate::tds::{Keel, Launch, TdsConnection, free_port};
use anyhow::{Context, Result, bail, ensure};
use keel_workload::{Cell, Connection};
use std::path::Path;
use std::time::{Duration, Instant};

/// The group's name.
pub const GROUP: &str = "bench";
/// Time between two looks at a state that is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a copy may take to be made and to catch up.
const PATIENCE: Duration = Duration::from_secs(600);

/// Whether the primary waits for a secondary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It does.
    Synchronous,
    /// It does not.
    Asynchronous,
}

impl Mode {
    fn words(self) -> &'static str {
        match self {
            Mode::Synchronous => "SYNCHRONOUS_COMMIT",
            Mode::Asynchronous => "ASYNCHRONOUS_COMMIT",
        }
    }

    /// `synchronization_state` of a copy that has all there is, in this mode.
    fn settled(self) -> i64 {
        match self {
            Mode::Synchronous => 2,
            Mode::Asynchronous => 1,
        }
    }
}

/// One instance.
pub struct Node {
    /// Server name.
    pub name: String,
    /// How it is started again.
    pub launch: Launch,
    /// Port of its endpoint.
    endpoint: u16,
    keel: Option<Keel>,
}

impl Node {
    /// The running process.
    ///
    /// # Errors
    /// When it was killed.
    pub fn keel(&self) -> Result<&Keel> {
        self.keel.as_ref().with_context(|| format!("{} is not running", self.name))
    }

    /// Kills it without a warning.
    pub fn kill(&mut self) {
        self.keel = None;
    }

    /// Ends it as an operator does (SIGTERM), and waits for that.
    ///
    /// # Errors
    /// When it is not running.
    pub fn end(&mut self) -> Result<()> {
        let keel = self.keel.take().with_context(|| format!("{} is not running", self.name))?;
        keel.end().with_context(|| format!("ending {}", self.name))
    }

    /// Starts it again on its files.
    ///
    /// # Errors
    /// When it does not become ready.
    pub fn start(&mut self) -> Result<()> {
        self.keel = None;
        self.keel = Some(self.launch.start().with_context(|| format!("starting {}", self.name))?);
        Ok(())
    }

    /// A session in a database.
    ///
    /// # Errors
    /// When it cannot be reached or refuses.
    pub fn session(&self, database: &str) -> Result<TdsConnection> {
        self.keel()?.address().session(database)
    }

    /// Runs a script in `master`.
    ///
    /// # Errors
    /// What the server says.
    pub fn run(&self, sql: &str) -> Result<()> {
        self.session("master")?.execute(sql).with_context(|| format!("on {}: {sql}", self.name))
    }

    /// The first number of a query run in `master`; `None` for no row or NULL.
    ///
    /// # Errors
    /// What the server says.
    pub fn number(&self, sql: &str) -> Result<Option<i64>> {
        number(&mut self.session("master")?, sql)
    }

    fn url(&self) -> String {
        format!("TCP://{}:{}", self.launch.host, self.endpoint)
    }

    /// Total of a performance counter whose value grows, such as `Log Bytes Flushed/sec`.
    ///
    /// # Errors
    /// What the server says; an unknown counter.
    pub fn counter(&self, name: &str) -> Result<u64> {
        let sql = format!(
            "SELECT MAX(cntr_value) FROM sys.dm_os_performance_counters WHERE counter_name = '{name}' AND instance_name IN \
             ('_Total', '')"
        );
        let value = self.number(&sql)?.with_context(|| format!("no counter {name}"))?;
        Ok(u64::try_from(value)?)
    }
}

/// The first number of a query; `None` for no row or NULL.
///
/// # Errors
/// What the server says.
pub fn number(connection: &mut dyn Connection, sql: &str) -> Result<Option<i64>> {
    let rows = connection.query(sql)?;
    match rows.first().and_then(|row| row.first()) {
        Some(Cell::Int(n)) => Ok(Some(*n)),
        Some(Cell::Null) | None => Ok(None),
        Some(other) => bail!("{sql} gave {other:?}"),
    }
}

/// The first text of a query.
///
/// # Errors
/// What the server says; no row, or something else than a text.
pub fn text(connection: &mut dyn Connection, sql: &str) -> Result<String> {
    let rows = connection.query(sql)?;
    match rows.first().and_then(|row| row.first()) {
        Some(Cell::Text(text)) => Ok(text.clone()),
        other => bail!("{sql} gave {other:?}"),
    }
}

/// Instances that trust each other. Killed when dropped.
pub struct Fleet {
    /// The first is the primary until a failover.
    pub nodes: Vec<Node>,
    /// SESSION_TIMEOUT of replicas added from now on.
    pub session_timeout_seconds: u32,
    /// FAILOVER_MODE of replicas added from now on is AUTOMATIC.
    pub automatic: bool,
    database: String,
    /// Databases that were added to the group.
    more: usize,
}

impl Fleet {
    /// Starts the processes that `launches` names and lets them trust each other. The first gets an empty database.
    ///
    /// # Errors
    /// When one does not start, or what it says.
    pub fn start(launches: Vec<Launch>, database: &str) -> Result<Fleet> {
        let mut nodes = Vec::new();
        for (i, mut launch) in launches.into_iter().enumerate() {
            let name = format!("NODE{}", i + 1);
            launch.options.extend(["--server-name".into(), name.clone(), "--quiet".into()]);
            let mut node = Node { name, launch, endpoint: free_port()?, keel: None };
            node.start()?;
            nodes.push(node);
        }
        let fleet = Fleet {
            nodes,
            session_timeout_seconds: 10,
            automatic: false,
            database: database.into(),
            more: 0,
        };
        fleet.introduce()?;
        let mut first = fleet.nodes[0].session("master")?;
        first.execute(&format!("CREATE DATABASE [{database}]"))?;
        Ok(fleet)
    }

    /// Launches of `count` instances on the loopback address below `dir`, with these options.
    ///
    /// # Errors
    /// When no port is free.
    pub fn launches(binary: &Path, dir: &Path, count: usize, options: &[&str]) -> Result<Vec<Launch>> {
        (1..=count).map(|n| Launch::new(binary, &dir.join(format!("node{n}")), options)).collect()
    }

    fn introduce(&self) -> Result<()> {
        for node in &self.nodes {
            node.run(&format!(
                "CREATE ENDPOINT Hadr_endpoint STATE = STARTED AS TCP (LISTENER_PORT = {}) FOR DATABASE_MIRRORING (ROLE = \
                 ALL)",
                node.endpoint
            ))?;
        }
        let Some((first, others)) = self.nodes.split_first() else { return Ok(()) };
        let mut session = first.session("master")?;
        let token = text(&mut session, &format!("EXEC sys.sp_keel_invite @url = N'{}'", first.url()))?;
        for node in others {
            node.run(&format!("EXEC sys.sp_keel_join @token = N'{token}', @url = N'{}'", node.url()))?;
        }
        Ok(())
    }

    /// The group's database.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    fn replica(&self, node: usize, mode: Mode) -> String {
        let node = &self.nodes[node];
        format!(
            "N'{}' WITH (ENDPOINT_URL = N'{}', AVAILABILITY_MODE = {}, FAILOVER_MODE = {}, SEEDING_MODE = AUTOMATIC, \
             SESSION_TIMEOUT = {}, SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))",
            node.name,
            node.url(),
            mode.words(),
            if self.automatic { "AUTOMATIC" } else { "MANUAL" },
            self.session_timeout_seconds
        )
    }

    /// Makes the group with the first instance as its primary and only replica.
    ///
    /// # Errors
    /// What the server says.
    pub fn create_group(&self) -> Result<()> {
        let first = self.replica(0, Mode::Synchronous);
        self.nodes[0].run(&format!(
            "CREATE AVAILABILITY GROUP {GROUP} FOR DATABASE [{}] REPLICA ON {first}",
            self.database
        ))
    }

    /// Adds a second database of the primary to the group, before it has secondaries.
    ///
    /// # Errors
    /// What the server says.
    pub fn add_database(&mut self, name: &str) -> Result<()> {
        self.nodes[0].run(&format!("ALTER AVAILABILITY GROUP {GROUP} ADD DATABASE [{name}]"))?;
        self.more += 1;
        Ok(())
    }

    /// Adds an instance to the group; its copy is seeded from then on.
    ///
    /// # Errors
    /// What the servers say.
    pub fn add_replica(&self, node: usize, mode: Mode) -> Result<()> {
        self.nodes[0]
            .run(&format!("ALTER AVAILABILITY GROUP {GROUP} ADD REPLICA ON {}", self.replica(node, mode)))?;
        let joiner = &self.nodes[node];
        joiner.run(&format!("ALTER AVAILABILITY GROUP {GROUP} JOIN"))?;
        joiner.run(&format!("ALTER AVAILABILITY GROUP {GROUP} GRANT CREATE ANY DATABASE"))
    }

    /// Waits until the primary (by number) sees that an instance's copy has all there is.
    ///
    /// # Errors
    /// When it does not come to that, or what the server says.
    pub fn wait_settled(&self, primary: usize, node: usize, mode: Mode) -> Result<()> {
        let name = &self.nodes[node].name;
        let sql = format!(
            "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states s JOIN sys.availability_replicas r \
             ON r.replica_id = s.replica_id WHERE r.replica_server_name = N'{name}' AND s.synchronization_state = {} AND \
             s.redo_queue_size < 64",
            mode.settled()
        );
        let mut session = self.nodes[primary].session("master")?;
        let all = 1 + self.more as i64;
        until(&format!("{name} has all there is"), || Ok(number(&mut session, &sql)? == Some(all)))
    }

    /// Ends the group on the primary, which keeps its database, and removes the others' copies.
    ///
    /// # Errors
    /// What the servers say.
    pub fn drop_group(&self) -> Result<()> {
        self.nodes[0].run(&format!("DROP AVAILABILITY GROUP {GROUP}"))?;
        for node in &self.nodes[1..] {
            // It may not have heard yet that the group is gone.
            until(&format!("{} lets its copy go", node.name), || {
                Ok(node.run(&format!("DROP DATABASE IF EXISTS [{}]", self.database)).is_ok())
            })?;
        }
        Ok(())
    }

    /// A position behind everything that the primary (by number) has committed, as text.
    ///
    /// # Errors
    /// What the server says.
    pub fn position(&self, primary: usize) -> Result<String> {
        let mut session = self.nodes[primary].session(&self.database)?;
        session.execute(
            "IF OBJECT_ID(N'dbo.keel_bench_mark') IS NULL CREATE TABLE dbo.keel_bench_mark (n int NOT NULL)",
        )?;
        session.execute("INSERT dbo.keel_bench_mark VALUES (1)")?;
        text(&mut session, "SELECT CONVERT(varchar(40), sys.fn_keel_commit_lsn())")
    }

    /// Waits until an instance's copy has redone everything before a [position](Fleet::position).
    ///
    /// # Errors
    /// When it does not come to that, or what the server says.
    pub fn wait_redone(&self, node: usize, position: &str) -> Result<()> {
        let sql = format!(
            "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE is_local = 1 AND last_redone_lsn >= {position}"
        );
        let mut session = self.nodes[node].session("master")?;
        until(&format!("{} has redone {position}", self.nodes[node].name), || {
            Ok(number(&mut session, &sql)? == Some(1))
        })
    }

    /// Process ids.
    ///
    /// # Errors
    /// When one was killed.
    pub fn pids(&self) -> Result<Vec<u32>> {
        self.nodes.iter().map(|node| Ok(node.keel()?.pid())).collect()
    }
}

/// Looks until it is so.
///
/// # Errors
/// After ten minutes, with `what` in the error; what the look itself gives.
pub fn until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !is_so()? {
        ensure!(began.elapsed() < PATIENCE, "this has not happened: {what}");
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

impl Server for Fleet {
    fn name(&self) -> String {
        "Evenkeel".into()
    }

    /// To the first instance.
    fn connect(&self) -> Result<Box<dyn Connection + Send>> {
        Ok(Box::new(self.nodes[0].session(&self.database)?))
    }
}
