//! The instances: processes of this very program, and the commands that make a group of them.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use keel_bench::tds::{Address, free_port};

use super::show::Show;
use super::{DATABASE, Demo, GROUP};

/// Lines of a health log that are shown of each instance when a group does not come about.
const HEALTH_LINES: usize = 12;

/// One instance.
struct Node {
    name: String,
    data: PathBuf,
    address: Address,
    endpoint: u16,
    /// Port of its dashboard.
    dashboard: u16,
    child: Option<Child>,
}

impl Node {
    /// Of its dashboard.
    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.dashboard)
    }
}

/// All of them. Whatever still runs is killed when this is dropped, and the directory goes.
pub struct Cluster {
    program: PathBuf,
    dir: PathBuf,
    keep: bool,
    memory: u32,
    nodes: Vec<Node>,
}

/// The one asked for, or one that meets the policy and that nobody else knows.
fn password() -> String {
    std::env::var("MSSQL_SA_PASSWORD").unwrap_or_else(|_| format!("Demo-{:08x}", fastrand::u32(..)))
}

impl Cluster {
    /// Starts the instances.
    pub fn start(show: &Show, demo: &Demo, interrupted: &AtomicBool) -> Result<Cluster> {
        let dir = demo
            .data
            .clone()
            .unwrap_or_else(|| std::env::temp_dir().join(format!("keel-demo-{}", std::process::id())));
        if dir.exists() && dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
            bail!("{} is not empty; --data takes a new directory", dir.display());
        }
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let program = std::env::current_exe().context("where this program is")?;
        let mut cluster = Cluster { program, dir, keep: demo.keep, memory: demo.memory, nodes: Vec::new() };
        show.step(&format!("{} instances, each a process with its own disk and log", demo.replicas));
        let password = password();
        for n in 1..=demo.replicas {
            if interrupted.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            let name = format!("NODE{n}");
            let address = Address {
                address: format!("127.0.0.1:{}", free_port()?),
                user: "sa".into(),
                password: password.clone(),
                database: DATABASE.into(),
                encrypt: true,
                read_only: false,
            };
            let data = cluster.dir.join(&name);
            let (endpoint, dashboard) = (free_port()?, free_port()?);
            cluster.nodes.push(Node { name, data, address, endpoint, dashboard, child: None });
            let working = show.working(&format!("starting NODE{n}"));
            cluster.restart(usize::from(n) - 1)?;
            let node = &cluster.nodes[usize::from(n) - 1];
            working.done(&format!("{} answers on {}, {}", node.name, node.address.address, node.url()));
        }
        Ok(cluster)
    }

    /// Starts an instance that does not run, on its data.
    pub fn restart(&mut self, number: usize) -> Result<()> {
        let memory = self.memory.to_string();
        let node = &mut self.nodes[number];
        let mut command = Command::new(&self.program);
        command
            .args(["serve", "--quiet", "--listen", &node.address.address, "--server-name", &node.name])
            .args(["--dashboard", &format!("127.0.0.1:{}", node.dashboard), "--dashboard-anyone"])
            .args(["--max-server-memory", &memory, "--data"])
            .arg(&node.data)
            .env("MSSQL_SA_PASSWORD", &node.address.password)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C is for this process, which stops them in good order.
            .process_group(0);
        let mut child = command.spawn().with_context(|| format!("starting {}", node.name))?;
        let mut ready = String::new();
        BufReader::new(child.stdout.take().context("no standard output")?).read_line(&mut ready)?;
        if ready.is_empty() {
            let log = node.data.join("log/errorlog");
            bail!("{} ended before it was ready ({}); see {}", node.name, child.wait()?, log.display());
        }
        node.child = Some(child);
        Ok(())
    }

    /// Kills an instance as a power cut of the process would.
    pub fn kill(&mut self, number: usize) -> Result<()> {
        let mut child = self.nodes[number].child.take().context("it does not run")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Makes the group by the three commands.
    pub fn make_group(&self, show: &Show) -> Result<()> {
        show.step("a group, by three commands");
        let endpoint = |node: &Node| format!("127.0.0.1:{}", node.endpoint);
        let server = |node: &Node| node.address.address.replace(':', ",");
        let first = &self.nodes[0];
        let said = self.command(show, first, &["init", "--endpoint", &endpoint(first)])?;
        let token = said.lines().map(str::trim).find(|line| line.starts_with("keel://"));
        let token = token.context("keel init gave no join token")?;
        for node in &self.nodes[1..] {
            self.command(show, node, &["join", token, "--endpoint", &endpoint(node)])?;
        }
        let members: Vec<String> = self.nodes[1..].iter().map(server).collect();
        // Beside a busy disk it takes its time.
        let mut create = vec!["group", "create", GROUP, "--database", DATABASE, "--wait", "600"];
        for member in &members {
            create.extend(["--member", member]);
        }
        let said = self.command(show, first, &create)?;
        let copies = self.nodes.len() - 1;
        if !said.contains(&format!("{copies} of {copies} copies are synchronized.")) {
            bail!("the copies were not synchronized in time: {said}{}", self.health());
        }
        show.good(&format!("{copies} copies were seeded over TLS and are synchronized"));
        Ok(())
    }

    /// The last words of each instance's health log: the directories are gone when somebody asks why.
    fn health(&self) -> String {
        let of_node = |node: &Node| {
            let text = std::fs::read_to_string(node.data.join("log/alwayson_health"));
            let text = text.unwrap_or_else(|error| format!("its health log cannot be read: {error}"));
            let lines: Vec<&str> = text.lines().collect();
            let last = lines.iter().skip(lines.len().saturating_sub(HEALTH_LINES));
            last.map(|line| format!("{}: {line}\n", node.name)).collect::<String>()
        };
        self.nodes.iter().map(of_node).collect()
    }

    /// Runs a command of this program against `node`; shows it as it would be typed.
    fn command(&self, show: &Show, node: &Node, arguments: &[&str]) -> Result<String> {
        let server = node.address.address.replace(':', ",");
        let typed: Vec<String> = arguments
            .iter()
            .map(|a| if a.starts_with("keel://") { "keel://…".into() } else { (*a).to_owned() })
            .collect();
        let working = show.working(&format!("keel {} -S {server}", typed.join(" ")));
        let output = Command::new(&self.program)
            .args(arguments)
            .args(["-S", &server, "-C"])
            .env("SQLCMDPASSWORD", &node.address.password)
            .env_remove("SQLCMDUSER")
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!("keel {}: {said}{}", typed.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        working.done(&format!("$ keel {} -S {server}", typed.join(" ")));
        Ok(said)
    }

    /// How clients reach the instances, in order.
    pub fn addresses(&self) -> Vec<Address> {
        self.nodes.iter().map(|node| node.address.clone()).collect()
    }

    /// Name of an instance.
    pub fn name(&self, number: usize) -> &str {
        &self.nodes[number].name
    }

    /// Says how to connect with what people have.
    pub fn invite(&self, show: &Show, leader: usize) {
        let password = &self.nodes[leader].address.password;
        let at = |number: usize| &self.nodes[number].address.address;
        let reader = (leader + 1) % self.nodes.len();
        let (host, port) = at(leader).split_once(':').unwrap_or(("127.0.0.1", "1433"));
        show.step("the group is yours until Ctrl-C");
        for line in [
            format!("primary    {} on {}", self.name(leader), at(leader)),
            format!("readable   {} on {}", self.name(reader), at(reader)),
            format!("dashboard  {}   (buttons: log in as sa, {password})", self.nodes[leader].url()),
            format!("keel       keel sql -S {host},{port} -U sa -P '{password}' -C -d {DATABASE}"),
            format!("sqlcmd     sqlcmd -S {host},{port} -U sa -P '{password}' -C -d {DATABASE}"),
            format!(
                "JDBC       jdbc:sqlserver://{host}:{port};databaseName={DATABASE};user=sa;password={password};trustServerCertificate=true"
            ),
            format!(
                "ODBC       Driver={{ODBC Driver 18 for SQL Server}};Server={host},{port};Database={DATABASE};UID=sa;PWD={password};TrustServerCertificate=yes"
            ),
            format!("Python     pymssql.connect('{host}', 'sa', '{password}', '{DATABASE}', port={port})"),
            "try        ALTER AVAILABILITY GROUP demo FAILOVER on a secondary; SELECT * FROM sys.dm_hadr_database_replica_states".into(),
        ] {
            show.say(&line);
        }
    }

    /// Stops all instances in good order and removes the data, unless it is to be kept.
    pub fn stop(mut self, show: &Show) -> Result<()> {
        let working = show.working("stopping");
        for node in &self.nodes {
            if let Some(pid) = node.child.as_ref().and_then(|c| libc::pid_t::try_from(c.id()).ok()) {
                // SAFETY: the process is our child and has not been waited for.
                unsafe { libc::kill(pid, libc::SIGTERM) };
            }
        }
        for node in &mut self.nodes {
            if let Some(mut child) = node.child.take() {
                let status = child.wait()?;
                if !status.success() {
                    bail!("{} did not stop cleanly: {status}", node.name);
                }
            }
        }
        let kept = if self.keep { format!("; the data is in {}", self.dir.display()) } else { String::new() };
        working.done(&format!("all instances have stopped{kept}"));
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.nodes.iter_mut().filter_map(|node| node.child.as_mut()) {
            // It may have ended already; either way it is gone afterwards.
            let _ = child.kill();
            let _ = child.wait();
        }
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
