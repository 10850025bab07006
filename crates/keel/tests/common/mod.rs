//! Instances as processes, and what tests ask of them.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]
#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod ledger;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub const KEEL: &str = env!("CARGO_BIN_EXE_keel");
pub const PASSWORD: &str = "Keel-Test-1";

/// A disk or a processor that everybody works on stands still for seconds at times: no reason to lead no more here. Who is to
/// lose its role is killed, stopped or told to.
const NEVER_UNFIT: &str = "health_disk_stall_ms = 0\nhealth_disk_stall_alone_ms = 0\nhealth_starved_ms = 0\n";

/// One instance, killed if the test fails before it stops it.
pub struct Instance {
    pub name: String,
    pub data: PathBuf,
    /// Each has an address of its own, as on machines of their own: listeners have one port on all of them.
    pub ip: String,
    pub port: u16,
    pub endpoint: u16,
    /// More arguments of `keel serve`.
    more: Vec<String>,
    child: Option<Child>,
}

/// Nothing that a test waits for takes so long, on a slow and busy machine either.
pub const LONG: Duration = Duration::from_secs(120);

/// Looks until there is something, or nothing for too long.
pub fn comes<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + LONG;
    loop {
        let found = look();
        if found.is_some() || Instant::now() > deadline {
            return found;
        }
        thread::park_timeout(Duration::from_millis(50));
    }
}

/// A port for a server to listen on.
pub fn free_port() -> u16 {
    keel_bench::tds::free_port().unwrap()
}

impl Instance {
    pub fn new(dir: &Path, number: usize) -> Instance {
        Instance::with(dir, number, &[])
    }

    /// The same, with more arguments for `keel serve`.
    pub fn with(dir: &Path, number: usize, more: &[String]) -> Instance {
        let name = format!("NODE{number}");
        let (ip, port, endpoint) = (format!("127.0.0.{number}"), free_port(), free_port());
        let config = dir.join(format!("{name}.toml"));
        std::fs::write(&config, NEVER_UNFIT).unwrap();
        let (data, mut more) = (dir.join(&name), more.to_vec());
        more.extend(["--config".to_owned(), config.display().to_string()]);
        let mut instance = Instance { data, name, ip, port, endpoint, more, child: None };
        instance.start();
        instance
    }

    pub fn start(&mut self) {
        let listen = format!("{}:{}", self.ip, self.port);
        let mut command = Command::new(KEEL);
        command.args(["serve", "--quiet", "--listen", &listen, "--max-server-memory", "192"]);
        command.args(["--server-name", &self.name, "--data"]).arg(&self.data);
        command.args(&self.more);
        command.env("MSSQL_SA_PASSWORD", PASSWORD).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("keel: ready for connections"), "{ready}");
        self.child = Some(child);
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub fn signal(&self, signal: libc::c_int) {
        let pid = libc::pid_t::try_from(self.child.as_ref().unwrap().id()).unwrap();
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(pid, signal) };
    }

    pub fn stop(&mut self) {
        self.signal(libc::SIGTERM);
        let mut child = self.child.take().unwrap();
        assert!(child.wait().unwrap().success());
    }

    pub fn server(&self) -> String {
        format!("{},{}", self.ip, self.port)
    }

    /// Where the others reach its endpoint.
    pub fn endpoint(&self) -> String {
        format!("{}:{}", self.ip, self.endpoint)
    }

    /// The first value of a query, asked at a port of this node.
    pub fn value_at(&self, port: u16, query: &str) -> String {
        let (server, query) = (format!("{},{port}", self.ip), format!("SET NOCOUNT ON; {query}"));
        let mut command = Command::new(KEEL);
        command.args([
            "sql", "-S", &server, "-P", PASSWORD, "-C", "-W", "-b", "--csv", "-h", "-1", "-Q", &query,
        ]);
        String::from_utf8_lossy(&command.output().unwrap().stdout).trim().to_owned()
    }

    pub fn sql(&self, more: &[&str]) -> Output {
        let mut command = Command::new(KEEL);
        command.args(["sql", "-S", &self.server(), "-P", PASSWORD, "-C", "-W", "-b"]).args(more);
        command.output().unwrap()
    }

    /// The first value of a query.
    pub fn value(&self, query: &str) -> String {
        let query = format!("SET NOCOUNT ON; {query}");
        let output = self.sql(&["--csv", "-h", "-1", "-Q", &query]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub fn run(&self, text: &str) {
        let output = self.sql(&["-Q", text]);
        assert!(
            output.status.success(),
            "{} on {}: {}",
            text,
            self.name,
            String::from_utf8_lossy(&output.stdout)
        );
    }

    /// Asks until the answer is the wanted one.
    pub fn until(&self, query: &str, wanted: &str) {
        let mut last = String::new();
        let answers = comes(|| {
            last = self.value(query);
            (last == wanted).then_some(())
        });
        if answers.is_none() {
            panic!("{} on {} stayed {last:?}, wanted {wanted:?}\n{}", query, self.name, self.log());
        }
    }

    /// Returns once the log says `text`: a view may show what happened before the log's line is written.
    pub fn logs(&self, text: &str) {
        let said = comes(|| self.log().contains(text).then_some(()));
        assert!(said.is_some(), "{text:?} is not in the log of {}:\n{}", self.name, self.log());
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.data.join("log/errorlog")).unwrap_or_default()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// So many instances of one cluster, joined by the commands, in a directory of the test's own.
pub fn cluster(test: &str, count: usize) -> (PathBuf, Vec<Instance>) {
    let dir = std::env::temp_dir().join(format!("keel-{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let nodes: Vec<Instance> = (1..=count).map(|n| Instance::new(&dir, n)).collect();
    let (first, others) = nodes.split_first().unwrap();
    let said = keel(&["init", "--endpoint", &first.endpoint()], first);
    let token = said.lines().find(|l| l.starts_with("keel://")).unwrap().trim().to_owned();
    for node in others {
        keel(&["join", &token, "--endpoint", &node.endpoint()], node);
    }
    (dir, nodes)
}

/// Runs a command of the binary against an instance; it must succeed. Returns what it said.
pub fn keel(more: &[&str], node: &Instance) -> String {
    let mut command = Command::new(KEEL);
    command.args(more).args(["-S", &node.server(), "-P", PASSWORD, "-C"]);
    let output = command.output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{more:?}: {said}\n{}", node.log());
    said
}
