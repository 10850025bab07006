//! A witness: a member of a cluster that votes and does nothing else. No databases, no clients, a few megabytes of memory.
//!
//! It is the groups of an instance ([`keel_group::Groups`]) without anything around them: the same endpoint, the same trust, the
//! same state on disk.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
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
