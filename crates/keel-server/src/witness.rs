//! A witness: a member of a cluster that votes and does nothing else. No databases, no clients, a few megabytes of memory.
//!
//! It is the groups of an instance ([`keel_group::Groups`]) without anything around them: the same endpoint, the same trust, the
//! same state on disk.
//!
//! Or a **witness directory** on storage that all members share ([`WitnessDirectory`]): whichever member holds the lock of the
//! directory runs the witness in its own process, with identity and votes kept there. When it dies the system lets go of the
//! lock, and another member goes on as the same witness. The storage has to give the lock to one at a time, and to keep the
//! writes of who has lost it from the files: as file systems of one machine, and cluster file systems that fence, do.

use std::fs::{File, TryLockError};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use keel_base::env::Env;
use keel_cluster::{GroupDatabaseId, LogEntry};
use keel_group::{EndpointConfig, Groups, GroupsOptions, Host, JoinToken, Place, RoleChange};
use keel_node::Database;

use crate::errorlog::ErrorLog;

/// How a witness is set up.
#[derive(Clone, Debug)]
pub struct WitnessConfig {
    /// Where it keeps its identity and what it has voted for.
    pub data: PathBuf,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where the members reach it, `host:port`; what it listens on when `None`.
    pub advertise: Option<String>,
    /// Its name in the cluster.
    pub name: String,
    /// A token of a member, to join with; not needed again once it is a member.
    pub join: Option<String>,
    /// Its messages go to standard error too.
    pub log_to_stderr: bool,
}

/// A running witness.
pub struct Witness {
    groups: Groups,
    address: SocketAddr,
}

/// Log kept for peers: a witness sends none.
const POOL_BYTES: usize = 1 << 20;
/// How often it is looked whether the directory's lock is free.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a token for the witness in the directory is good.
const TOKEN_VALID: Duration = Duration::from_secs(600);
/// Between two attempts to use the token.
const JOIN_EVERY: Duration = Duration::from_secs(1);

struct WitnessHost {
    log: Arc<ErrorLog>,
}

impl Host for WitnessHost {
    fn role_changed(&self, _change: &RoleChange) {}

    fn log(&self, entry: &LogEntry) {
        self.log.entry("Witness", &format!("{:?}", entry.what));
    }

    fn note(&self, _database: Option<GroupDatabaseId>, text: &str) {
        self.log.entry("Witness", text);
    }

    fn place(&self, _name: &str) -> Result<Place, String> {
        Err("a witness holds no databases".to_owned())
    }

    fn seeded(&self, _name: &str, _place: &Place, _database: &Arc<Database>) -> Result<(), String> {
        Err("a witness holds no databases".to_owned())
    }

    fn seeding_ended(&self, _name: &str, _place: &Place) {}
}

impl Witness {
    /// Starts it: reads what it has voted for, listens, and joins if it is told to. The member whose token it is need not be
    /// there yet: it is asked until it answers.
    pub fn start(config: &WitnessConfig) -> Result<Witness> {
        std::fs::create_dir_all(&config.data)
            .with_context(|| format!("cannot make the directory {}", config.data.display()))?;
        let token: Option<JoinToken> = config
            .join
            .as_deref()
            .map(|t| t.parse().map_err(|_| anyhow::anyhow!("this is not a join token")))
            .transpose()?;
        let log = ErrorLog::start(&config.data.join("log"), config.log_to_stderr)
            .context("cannot write the log")?;
        let host = Arc::new(WitnessHost { log: Arc::new(log) });
        let options = GroupsOptions {
            pool_bytes: POOL_BYTES,
            witness: true,
            ..GroupsOptions::new(config.name.clone())
        };
        let dir = keel_group::groups::directory(&config.data);
        let groups = Groups::open(&Env::real(), &dir, options, Arc::clone(&host) as Arc<dyn Host>)
            .context("the witness cannot be started")?;
        let endpoint = EndpointConfig::started(Some(config.listen.ip()), config.listen.port());
        let address = groups.set_endpoint(endpoint).context("the witness cannot listen")?;
        let address = address.context("the witness does not listen")?;
        let reached = config.advertise.clone().unwrap_or_else(|| address.to_string());
        groups.set_endpoint_url(&format!("TCP://{reached}"));
        let witness = Witness { groups, address };
        if let Some(token) = token.filter(|_| witness.groups.cluster().is_none()) {
            witness.join(&token, &host.log);
        }
        Ok(witness)
    }

    fn join(&self, token: &JoinToken, log: &ErrorLog) {
        let mut said = String::new();
        while let Err(error) = self.groups.join(token) {
            let text = format!("The join token cannot be used yet: {error}");
            if text != said {
                log.entry("Witness", &text);
                said = text;
            }
            std::thread::sleep(JOIN_EVERY);
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends its connections and threads.
    pub fn stop(&self) {
        self.groups.stop();
    }
}

/// A directory on shared storage whose lock decides which member runs the witness; see the module.
pub struct WitnessDirectory {
    stopping: Arc<AtomicBool>,
}

impl WitnessDirectory {
    /// Starts to look for the lock, as soon as this instance is a member of a cluster.
    pub fn start(
        directory: PathBuf,
        groups: Arc<Groups>,
        log: Arc<ErrorLog>,
    ) -> std::io::Result<WitnessDirectory> {
        let stopping = Arc::new(AtomicBool::new(false));
        let seeker = Seeker { directory, groups, log, stopping: Arc::clone(&stopping) };
        std::thread::Builder::new().name("witness directory".into()).spawn(move || seeker.run())?;
        Ok(WitnessDirectory { stopping })
    }

    /// Lets go of the lock soon, if it is held. Does not wait for the storage.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }
}

/// The body of the thread.
struct Seeker {
    directory: PathBuf,
    groups: Arc<Groups>,
    log: Arc<ErrorLog>,
    stopping: Arc<AtomicBool>,
}

impl Seeker {
    fn run(&self) {
        let mut said = String::new();
        while !self.stopping.load(Ordering::Acquire) {
            if self.groups.cluster().is_some()
                && let Err(error) = self.take_turn()
            {
                let text = format!("The witness directory {}: {error:#}", self.directory.display());
                if text != said {
                    self.log.entry("Witness", &text);
                    said = text;
                }
                std::thread::sleep(JOIN_EVERY);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Runs the witness as long as this instance does, if the lock is free.
    fn take_turn(&self) -> Result<()> {
        std::fs::create_dir_all(&self.directory).context("cannot be made")?;
        let Some(_lock) = lock(&self.directory)? else { return Ok(()) };
        // Where the members reach each other is where this one's witness is reached.
        let (endpoint, listening) = self.groups.endpoint();
        let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let ip = listening.map_or(any, |address| address.ip());
        let host = endpoint.url.trim_start_matches("TCP://").rsplit_once(':').map_or("", |(host, _)| host);
        let token = self.groups.invite(TOKEN_VALID).context("this instance has no endpoint yet")?;
        let witness = Witness::start(&WitnessConfig {
            data: self.directory.clone(),
            listen: SocketAddr::new(ip, 0),
            advertise: None,
            name: "WITNESS".to_owned(),
            join: Some(token.to_string()),
            log_to_stderr: false,
        })?;
        witness.groups.set_endpoint_url(&format!("TCP://{host}:{}", witness.address.port()));
        self.log.entry(
            "Witness",
            &format!("This instance runs the witness of the directory {}.", self.directory.display()),
        );
        while !self.stopping.load(Ordering::Acquire) {
            std::thread::sleep(LOOK_EVERY);
        }
        witness.stop();
        Ok(())
    }
}

/// The directory's lock, unless somebody else holds it. Let go of when the file is closed, also by the death of the process.
fn lock(directory: &Path) -> Result<Option<File>> {
    let path = directory.join("lock");
    let file =
        File::options().create(true).truncate(false).write(true).open(&path).context("cannot be locked")?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error).context("cannot be locked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_locked_by_one_and_free_when_that_one_is_gone() {
        let directory = std::env::temp_dir().join(format!("keel-witness-lock-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let held = lock(&directory).expect("a lock");
        assert!(held.is_some());
        assert!(lock(&directory).expect("an answer").is_none());
        drop(held);
        assert!(lock(&directory).expect("a lock").is_some());
        std::fs::remove_dir_all(&directory).expect("removed");
    }
}
