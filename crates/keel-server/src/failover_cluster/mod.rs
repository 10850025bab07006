//! Failover cluster instances: one instance whose data directory lies on storage that several machines share.
//!
//! ```text
//!   machine 1: keel serve ── has the lock ── the instance ──┐
//!   machine 2: keel serve ── waits for it                   ├── data directory: keel.lock, failover_cluster/, databases
//!   machine 3: keel serve ── waits for it                   ┘
//! ```
//!
//! ## Model
//!
//! * **The lock of the data directory is the instance.** Whoever has it opens the databases and serves; the storage gives it to one at
//!   a time (the lock disk of two machines, without a third). The system lets go of it when a process dies.
//! * In `failover_cluster/` every machine signs each second (module `shared`): one whose sign stands still is down.
//!   `owners` has the **possible owners** in the order of preference, written by the instance; a machine that is started beside the others is
//!   none before somebody says so.
//! * Who waits looks at the lock fifty times a second. When it is free the first possible owner that is up takes it, the next one a
//!   moment later (module `turn`), so that a taker that dies is followed.
//! * The owner gives the instance up when it has reached none of the addresses of `reach` for `member_timeout_ms`: it has no clients then, and the
//!   storage may be on another network. It ends as by `kill -9` and waits with the others. Nobody takes the instance who
//!   cannot reach one.
//! * **Moved** it is by the owner's word: it notes to whom, stops with a checkpoint, and waits.
//!
//! ## Deliberately absent
//!
//! Taking the lock from a process that stands still: it could wake up and write. Storage that fences by itself (a cluster file system,
//! reservations) takes the lock from a machine that it cuts off; a local file system never does. Who wants machines without
//! storage in common has availability groups.

mod shared;
mod turn;
mod watch;

use crate::config::{Config, machine_name};
use crate::instance::DirectoryLock;
use crate::listener::{OwnAddress, Virtual};
use anyhow::{Context, Result, bail};
use keel_sql::{ClusterNode, FailoverCluster};
use parking_lot::Mutex;
use shared::Shared;
use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use turn::{Seen, Verdict};
pub use watch::Guard;

/// How often who waits looks at the lock.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often a machine signs.
const SIGN_EVERY: Duration = Duration::from_secs(1);

/// This machine as a member.
pub struct Member {
    shared: Shared,
    node: String,
    reach: Vec<String>,
    timeout: Duration,
    address: Option<Virtual>,
    signs: Mutex<Signs>,
    moving: AtomicBool,
}

/// What is known of the others' signs of life.
#[derive(Default)]
struct Signs {
    signed: Option<Instant>,
    sequence: u64,
    /// Of each machine: its last number, and when it was new.
    seen: BTreeMap<String, (u64, Instant, bool)>,
}

/// The instance, for who has just got it.
pub struct Seat {
    pub(crate) lock: DirectoryLock,
    pub(crate) member: Arc<Member>,
    /// Who had it before, if anybody had.
    pub(crate) from: Option<String>,
    /// How long it was free before it was taken.
    pub(crate) free_for: Duration,
}

/// What came of a look at the lock.
enum Look {
    Taken(Seat),
    /// Not now, with what is waited for if that is worth a word.
    Wait(Option<String>),
}

impl Member {
    /// The machine as the configuration has it; `None` when the instance is no failover cluster instance.
    ///
    /// # Errors
    /// When the instance has no name of its own, an address is none, or the directory cannot be written.
    pub fn of(config: &Config) -> Result<Option<Arc<Member>>> {
        let cluster = &config.failover_cluster;
        if !cluster.enabled {
            return Ok(None);
        }
        if config.server_name.is_empty() {
            bail!("a failover cluster instance has a name of its own on all machines: --server-name");
        }
        let address = match cluster.address.as_str() {
            "" => None,
            address => Some(
                address.parse::<Virtual>().map_err(|e| anyhow::anyhow!("failover_cluster.address: {e}"))?,
            ),
        };
        let node = if cluster.node.is_empty() { machine_name() } else { cluster.node.clone() };
        // It names a file, and stands in the lock's.
        if !node.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) || node.starts_with('.') {
            bail!("'{node}' is no name of a machine: letters, digits, '-', '_' and '.'");
        }
        let shared = Shared::open(&config.data.join("failover_cluster"))
            .context("the shared directory cannot be written")?;
        Ok(Some(Arc::new(Member {
            shared,
            node: node.to_uppercase(),
            reach: cluster.reach.clone(),
            timeout: Duration::from_millis(cluster.member_timeout_ms.max(100).into()),
            address,
            signs: Mutex::default(),
            moving: AtomicBool::new(false),
        })))
    }

    /// Waits until this machine has the instance. `say` takes what it waits for, whenever that changes.
    ///
    /// # Errors
    /// When the shared directory cannot be read or written at first. Later that is waited for too.
    pub fn wait(self: &Arc<Self>, config: &Config, say: &mut dyn FnMut(&str)) -> Result<Seat> {
        if let Some(address) = self.address {
            OwnAddress::give_back(address);
        }
        let (mut said, mut free_since, mut looked) = (String::new(), None::<Instant>, false);
        loop {
            let look = match self.look(config, &mut free_since) {
                Err(e) if !looked => return Err(e),
                Err(e) => Look::Wait(Some(format!("waiting: {e:#}"))),
                Ok(look) => look,
            };
            looked = true;
            match look {
                Look::Taken(seat) => return Ok(seat),
                Look::Wait(Some(text)) if text != said => {
                    say(&text);
                    said = text;
                }
                Look::Wait(_) => {}
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Takes the instance, if it is free and this machine's turn.
    fn look(self: &Arc<Self>, config: &Config, free_since: &mut Option<Instant>) -> Result<Look> {
        self.sign(false).context("the shared directory cannot be written")?;
        let (lock, before) = match DirectoryLock::attempt(&config.data)? {
            Ok(free) => free,
            Err(holder) => {
                *free_since = None;
                let holder = holder.node().unwrap_or("another process");
                return Ok(Look::Wait(Some(format!("waiting: {holder} has the instance"))));
            }
        };
        let free_for = free_since.get_or_insert_with(Instant::now).elapsed();
        let from = before.and_then(|holder| holder.node().map(str::to_owned));
        let text = match self.judge(free_for, from.as_deref())? {
            Verdict::NoOwner => format!(
                "waiting: {} is no possible owner of this instance; where it runs: EXEC sys.sp_keel_possible_owners N'…, {}'",
                self.node, self.node
            ),
            Verdict::Wait => return Ok(Look::Wait(None)),
            Verdict::Take if !self.reaches_one() => {
                format!("waiting: none of {} is reached", self.reach.join(", "))
            }
            Verdict::Take => {
                lock.sign(&self.node)?;
                self.begin()?;
                return Ok(Look::Taken(Seat { lock, member: Arc::clone(self), from, free_for }));
            }
        };
        Ok(Look::Wait(Some(text)))
    }

    fn judge(&self, free_for: Duration, last: Option<&str>) -> std::io::Result<Verdict> {
        let (owners, wished) = (self.shared.owners()?, self.shared.wish()?);
        let up = self.up()?;
        Ok(turn::judge(&Seen {
            me: &self.node,
            owners: &owners,
            up: &up,
            last,
            wished: wished.as_deref(),
            free_for,
        }))
    }

    /// It has the instance now.
    fn begin(&self) -> Result<()> {
        if self.shared.owners()?.is_empty() {
            self.shared.set_owners(std::slice::from_ref(&self.node))?;
        }
        self.shared.clear_wish()?;
        self.signs.lock().signed = None;
        self.sign(true).context("the shared directory cannot be written")
    }

    /// Says that this machine is up, when it is time to.
    fn sign(&self, owner: bool) -> std::io::Result<()> {
        let mut signs = self.signs.lock();
        if signs.signed.is_some_and(|at| at.elapsed() < SIGN_EVERY) {
            return Ok(());
        }
        if signs.sequence == 0 {
            // One more than the process before this one has said, or others would wait for it to get there.
            signs.sequence = self.shared.sign_of(&self.node).map_or(0, |sign| sign.sequence);
        }
        signs.sequence += 1;
        self.shared.sign(&self.node, &shared::Sign { sequence: signs.sequence, owner })?;
        signs.signed = Some(Instant::now());
        Ok(())
    }

    /// Machines that are up, with whether they have the instance.
    fn seen(&self) -> std::io::Result<Vec<(String, bool, bool)>> {
        let (mut signs, now) = (self.signs.lock(), Instant::now());
        for (name, sign) in self.shared.signs()? {
            match signs.seen.get_mut(&name) {
                Some(seen) if seen.0 == sign.sequence => {}
                Some(seen) => *seen = (sign.sequence, now, sign.owner),
                // Whoever has just begun to look knows of nobody that he is gone: he lets the others go first.
                None => {
                    signs.seen.insert(name, (sign.sequence, now, sign.owner));
                }
            }
        }
        let is_up = |at: &Instant| now.duration_since(*at) < self.timeout;
        Ok(signs.seen.iter().map(|(name, (_, at, owner))| (name.clone(), is_up(at), *owner)).collect())
    }

    fn up(&self) -> std::io::Result<Vec<String>> {
        Ok(self.seen()?.into_iter().filter(|(_, up, _)| *up).map(|(name, ..)| name).collect())
    }

    /// Whether one of the addresses of `reach` takes a connection; true without any.
    fn reaches_one(&self) -> bool {
        let each = self.timeout / 3;
        let takes = |address: &String| {
            let addresses = address.to_socket_addrs().into_iter().flatten();
            addresses.into_iter().any(|address| TcpStream::connect_timeout(&address, each).is_ok())
        };
        self.reach.is_empty() || self.reach.iter().any(takes)
    }

    /// The address that goes with the instance.
    #[must_use]
    pub fn address(&self) -> Option<Virtual> {
        self.address
    }

    /// Whether the instance is leaving this machine by its own word.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.moving.load(Ordering::Acquire)
    }
}

impl FailoverCluster for Member {
    fn node(&self) -> &str {
        &self.node
    }

    fn nodes(&self) -> Vec<ClusterNode> {
        let owners = self.shared.owners().unwrap_or_default();
        let seen = self.seen().unwrap_or_default();
        let node = |(name, up, _): (String, bool, bool)| {
            let me = name == self.node;
            let preference = owners.iter().position(|owner| *owner == name);
            ClusterNode { up: up || me, is_current_owner: me, preference, name }
        };
        seen.into_iter().map(node).collect()
    }

    fn set_possible_owners(&self, names: &[String]) -> std::result::Result<(), String> {
        if !names.contains(&self.node) {
            return Err(format!("{} has the instance and has to stay a possible owner of it", self.node));
        }
        self.shared.set_owners(names).map_err(|e| format!("the list cannot be written: {e}"))
    }

    fn prepare_move(&self, to: Option<&str>) -> std::result::Result<(), String> {
        let others: Vec<ClusterNode> =
            self.nodes().into_iter().filter(|node| node.name != self.node).collect();
        let may = |node: &&ClusterNode| node.up && node.preference.is_some();
        let found = match to {
            Some(to) => others.iter().find(|node| node.name.eq_ignore_ascii_case(to)),
            None => others.iter().filter(may).min_by_key(|node| node.preference),
        };
        let to = match (found, to) {
            (Some(node), _) if may(&node) => &node.name,
            (Some(node), _) if node.up => {
                return Err(format!("{} is no possible owner of the instance", node.name));
            }
            (Some(node), _) => return Err(format!("{} is not up", node.name)),
            (None, Some(to)) => return Err(format!("there is no machine {to}")),
            (None, None) => return Err("no other possible owner is up".to_owned()),
        };
        self.shared.set_wish(to).map_err(|e| format!("it cannot be written down: {e}"))?;
        self.moving.store(true, Ordering::Release);
        Ok(())
    }
}
