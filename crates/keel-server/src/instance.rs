//! An instance from its data directory: lock, error log, engine, `sa`, network; and the way back.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use keel_base::env::Env;
use keel_sql::{Engine, EngineOptions, FailoverCluster as _, LoginRecord, PasswordHasher};

use crate::agent::Agent;
use crate::backend::EngineBackend;
use crate::broker::Courier;
use crate::config::Config;
use crate::directory::ActiveDirectory;
use crate::errorlog::ErrorLog;
use crate::failover_cluster::{Guard, Member, Seat};
use crate::front::Front;
use crate::hadr::Replication;
use crate::health::Health;
use crate::history::Rounds;
use crate::keeper::Launch;
use crate::listener::OwnAddress;
use crate::mail::Smtp;
use crate::password::{self, Passwords};
use crate::remote::Remotes;
use crate::server::Server;
use crate::teller::{self, Teller};
use crate::witness::WitnessDirectory;

/// Variable with the password that `sa` gets on the first start.
const SA_PASSWORD_VARIABLE: &str = "MSSQL_SA_PASSWORD";

/// A running instance.
pub struct Instance {
    engine: Arc<Engine>,
    server: Server,
    replication: Option<Arc<Replication>>,
    witness: Option<WitnessDirectory>,
    health: Arc<Health>,
    /// Threads that come round: what they do is done before the log ends.
    rounds: [Rounds; 3],
    /// Threads that follow commits.
    tellers: [Teller; 4],
    agent: Option<Agent>,
    courier: Courier,
    /// The address of a failover cluster instance.
    address: Option<OwnAddress>,
    log: Arc<ErrorLog>,
    /// Held until the instance has stopped.
    _lock: DirectoryLock,
}

impl Instance {
    /// Opens the databases and starts to accept connections. `seat` is the directory of a failover cluster instance, which this machine
    /// has got ([`Member::wait`]).
    pub fn start(config: Config, seat: Option<Seat>) -> Result<Instance> {
        let (lock, seat) = match seat {
            Some(Seat { lock, member, from, free_for }) => (lock, Some((member, from, free_for))),
            None => (DirectoryLock::take(&config.data)?, None),
        };
        let log = ErrorLog::start(&config.data.join("log"), config.log_to_stderr)
            .context("cannot write the error log")?;
        let log = Arc::new(log);
        let began = std::time::Instant::now();
        let member = seat.as_ref().map(|(member, ..)| Arc::clone(member));
        let started = Self::start_locked(config, lock, member, Arc::clone(&log));
        if let (Ok(_), Some((member, from, free_for))) = (&started, &seat) {
            let from = from.as_ref().map_or_else(String::new, |from| format!(" from {from}"));
            log.entry(
                "Cluster",
                &format!(
                    "{} has taken the instance over{from}: its lock was free for {} ms, its databases were open {} ms later.",
                    member.node(),
                    free_for.as_millis(),
                    began.elapsed().as_millis()
                ),
            );
        }
        if let Err(e) = &started {
            log.entry("Server", &format!("The server could not be started: {e:#}"));
        }
        started
    }

    fn start_locked(
        mut config: Config,
        lock: DirectoryLock,
        member: Option<Arc<Member>>,
        log: Arc<ErrorLog>,
    ) -> Result<Instance> {
        log.entry("Server", &format!("Evenkeel {} ({})", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH));
        log.entry("Server", &format!("Server process ID is {}.", std::process::id()));
        log.entry("Server", &format!("Data directory is {}.", config.data.display()));
        let memory = config.max_server_memory_bytes();
        log.entry("Server", &format!("Max server memory is {} MB.", memory >> 20));
        for flag in &config.trace_flags {
            log.entry("Server", &format!("Trace flag {flag} is set from the start."));
        }
        let collation = config.collation()?;
        let passwords = Arc::new(Passwords::new());
        let engine = Engine::open(EngineOptions {
            data_dir: config.data.clone(),
            env: Env::real(),
            server_name: config.server_name(),
            collation,
            instance: keel_sql::InstanceOptions {
                memory_bytes: usize::try_from(memory).unwrap_or(usize::MAX),
                checkpoint_bytes_per_second: u64::from(config.checkpoint_throttle) << 20,
                ..keel_sql::InstanceOptions::default()
            },
            hasher: Arc::clone(&passwords) as Arc<dyn PasswordHasher>,
            processors: std::thread::available_parallelism().unwrap_or(std::num::NonZero::<usize>::MIN),
            session_stack_bytes: config.session_stack * 1024,
            log: Arc::clone(&log) as _,
        })
        .map_err(|e| anyhow!("the databases could not be opened: {e}"))?;
        let own = || config.data.join("ca-certificates");
        let authorities = config.ca_certificates.clone().unwrap_or_else(own);
        let certificates = Some(authorities.clone());
        let urls =
            keel_objects::Options { certificates, plain: config.plain_http.clone(), ..Default::default() };
        engine.set_objects(Arc::new(keel_objects::Storage::new(urls)));
        if let Some(directory) = ActiveDirectory::new(&config, authorities.clone())? {
            engine.set_directory(Arc::new(directory));
        }
        engine.set_connector(Arc::new(Remotes { host_name: crate::config::host_name() }));
        for flag in &config.trace_flags {
            engine.set_trace_flag(i32::try_from(*flag).context("a trace flag is a small number")?, true);
        }
        let connections = engine.configuration(keel_sql::config::USER_CONNECTIONS).running;
        if let Ok(connections @ 1..) = usize::try_from(connections) {
            config.max_connections = config.max_connections.min(connections);
        }
        ensure_sa(&engine, &passwords, &log)?;
        let address = member.as_ref().and_then(|member| member.address());
        let address = address.map(|address| OwnAddress::take(address, &log)).transpose()?;
        if let Some(member) = member {
            engine.set_failover_cluster(member);
        }
        let (agent, stack) = (config.agent, config.session_stack * 1024);
        let cluster = config.cluster.options();
        let replication = if config.hadr { Some(Replication::start(&engine, &log, cluster)?) } else { None };
        let groups = replication.as_ref().map(|r| Arc::clone(r.groups()));
        if let Some(groups) = &groups {
            groups.set_seeding_share(config.seeding_share);
        }
        let witness = match (&config.witness_directory, &groups) {
            (Some(directory), Some(groups)) => {
                Some(WitnessDirectory::start(directory.clone(), Arc::clone(groups), Arc::clone(&log))?)
            }
            _ => None,
        };
        let health = Health::start(&config, &engine, groups, &log)?;
        let backend = Arc::new(EngineBackend(Arc::clone(&engine)));
        let mut server = Server::start(config, backend, passwords, Arc::clone(&log))?;
        engine.set_listening(server.addresses().to_vec());
        if let Some(replication) = &replication {
            replication.set_doors(server.doors());
            if let Some(address) = server.addresses().first() {
                replication.groups().set_client_port(address.port());
            }
            server.open_doors(Arc::clone(replication) as _)?;
        }
        for address in server.addresses() {
            log.entry("Server", &format!("Server is listening on {address}."));
        }
        let rounds =
            [Rounds::cleaning(&engine, &log)?, Rounds::deciding(&engine)?, Rounds::telling(&engine)?];
        let teller = |chore| Teller::start(chore, &engine, &log);
        let tellers = [
            teller(&teller::TELLING)?,
            teller(&teller::CRAWLING)?,
            teller(&teller::GATHERING)?,
            teller(&teller::SETTLING)?,
        ];
        let agent = Agent::start_if(agent, &engine, &log, Smtp::new(authorities), stack);
        let courier = Courier::start(&engine, &log, stack)?;
        crate::startup::start(&engine, &log, stack);
        log.entry("Server", "The server is now ready for client connections.");
        Ok(Instance {
            engine,
            server,
            replication,
            witness,
            health,
            rounds,
            tellers,
            agent,
            courier,
            address,
            log,
            _lock: lock,
        })
    }

    /// Watches over a failover cluster instance while it is here: `start_over` is called when this machine has to give it up, and must
    /// not return.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn guard(&self, member: &Arc<Member>, start_over: impl Fn() + Send + 'static) -> Result<Guard> {
        let log = Arc::clone(&self.log);
        let give_up = move |why: &str| {
            log.entry("Cluster", why);
            start_over();
        };
        Guard::start(member, Box::new(give_up)).context("no thread to watch over the instance")
    }

    /// Starts the process that lets clients go when this one stands still, if there is something to watch and it is wanted
    /// ([`Config::keeper`]).
    pub fn start_keeper(&mut self, config: &Config, launch: Launch) -> Result<()> {
        let Some(replication) = self.replication.as_ref().filter(|_| config.keeper) else { return Ok(()) };
        // By then the other members have found out, and one of them has begun to take over.
        let cluster = config.cluster.options();
        self.server
            .start_keeper(launch, cluster.silence + cluster.stagger)
            .context("no thread for a keeper")?;
        replication.set_keeper(self.server.keeper());
        Ok(())
    }

    /// Addresses bound.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.server.addresses()
    }

    /// `min server memory` of `sp_configure` as it is now, in bytes.
    pub fn min_server_memory(&self) -> impl Fn() -> usize + Send + 'static {
        let engine = Arc::downgrade(&self.engine);
        move || engine.upgrade().map_or(0, |engine| engine.min_server_memory())
    }

    /// For ways in other than TDS.
    #[must_use]
    pub fn front(&self) -> Front {
        self.server.front()
    }

    /// Sets what the SHUTDOWN statement calls (with true for NOWAIT); it must return at once.
    pub fn on_shutdown(&self, stop: Box<dyn Fn(bool) + Send + Sync>) {
        self.engine.on_shutdown(stop);
    }

    /// Ends all sessions, checkpoints, closes the databases.
    pub fn stop(self) -> Result<()> {
        self.log.entry("Server", "The server is shutting down.");
        if let Some(agent) = self.agent {
            agent.stop();
        }
        self.courier.stop();
        if !self.server.stop() {
            self.log.entry("Server", "Some sessions did not end in time.");
        }
        self.health.stop();
        self.rounds.into_iter().for_each(Rounds::stop);
        self.tellers.into_iter().for_each(Teller::stop);
        if let Some(witness) = &self.witness {
            witness.stop();
        }
        if let Some(replication) = &self.replication {
            replication.stop();
        }
        self.engine.shutdown();
        drop(self.address);
        self.log.entry("Server", "The server has shut down.");
        Ok(())
    }
}

fn ensure_sa(engine: &Engine, passwords: &Passwords, log: &ErrorLog) -> Result<()> {
    if engine.login("sa").is_some() {
        return Ok(());
    }
    let given = std::env::var(SA_PASSWORD_VARIABLE).ok().filter(|p| !p.is_empty());
    if given.as_ref().is_some_and(|p| p.chars().count() < 8) {
        bail!("{SA_PASSWORD_VARIABLE} must have at least 8 characters");
    }
    let chosen = given.clone().unwrap_or_else(password::generate);
    let sa = LoginRecord::sa(passwords.hash(&chosen));
    engine.add_login(sa).map_err(|e| anyhow!("the login sa could not be made: {e}"))?;
    if given.is_some() {
        log.entry("Server", &format!("The login sa was made with the password in {SA_PASSWORD_VARIABLE}."));
    } else {
        // To the terminal only: the log file stays, and is read by more people.
        eprintln!("keel: the login sa was made with the password {chosen} (shown only this once)");
        log.entry("Server", "The login sa was made with a generated password.");
    }
    Ok(())
}

/// Keeps a second server out of the directory. The lock is the operating system's and goes with the process.
pub(crate) struct DirectoryLock {
    file: File,
}

/// What whoever has a directory's lock has written into it: its process and, of a failover cluster instance, its machine.
pub(crate) struct Holder(String);

impl Holder {
    fn process(&self) -> &str {
        self.0.split_whitespace().next().unwrap_or_default()
    }

    /// The machine, if it said so.
    pub(crate) fn node(&self) -> Option<&str> {
        self.0.split_whitespace().nth(1)
    }
}

impl DirectoryLock {
    fn take(dir: &Path) -> Result<DirectoryLock> {
        match DirectoryLock::attempt(dir)? {
            Ok((lock, _)) => {
                lock.sign("")?;
                Ok(lock)
            }
            Err(holder) => {
                bail!("{} is in use by another server (process {})", dir.display(), holder.process())
            }
        }
    }

    /// The lock, with who had it before; or who has it.
    pub(crate) fn attempt(
        dir: &Path,
    ) -> Result<std::result::Result<(DirectoryLock, Option<Holder>), Holder>> {
        let path = dir.join("keel.lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        let locked = match file.try_lock() {
            Ok(()) => true,
            Err(std::fs::TryLockError::WouldBlock) => false,
            Err(std::fs::TryLockError::Error(e)) => {
                return Err(e).with_context(|| format!("cannot lock {}", path.display()));
            }
        };
        let mut holder = String::new();
        // Only for messages.
        let _ = file.read_to_string(&mut holder);
        let holder = Holder(holder);
        if !locked {
            return Ok(Err(holder));
        }
        let before = (!holder.process().is_empty()).then_some(holder);
        Ok(Ok((DirectoryLock { file }, before)))
    }

    /// Says who has it.
    pub(crate) fn sign(&self, node: &str) -> Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{} {node}", std::process::id())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_directory_one_server() {
        let dir = std::env::temp_dir().join(format!("keel-lock-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary directory");
        let first = DirectoryLock::take(&dir).expect("free");
        let second = DirectoryLock::take(&dir).err().expect("taken").to_string();
        assert!(second.contains(&std::process::id().to_string()), "{second}");
        drop(first);
        DirectoryLock::take(&dir).expect("free again");
        std::fs::remove_dir_all(&dir).expect("ours");
    }
}
