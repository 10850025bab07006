//! The server as a whole: listeners, connections, start and stop.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::backend::Backend;
use crate::certificate::TlsConfigs;
use crate::config::{self, Config};
use crate::errorlog::ErrorLog;
use crate::front::Front;
use crate::integrated::Kerberos;
use crate::keeper::{Keeper, Launch, Listener};
use crate::link::Link;
use crate::listener::{Door, Doors, Source};
use crate::password::Passwords;
use crate::session;
use crate::watcher::Watcher;

/// How long sessions get to end after they have been told to.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(10);

/// How long an address that is taken is tried: the keeper of an instance that was killed a moment ago may not have ended yet.
const BIND_MAX: Duration = Duration::from_secs(1);
/// Between two tries.
const BIND_EVERY: Duration = Duration::from_millis(10);

/// What all connections share.
pub struct Shared {
    /// Configuration.
    pub config: Config,
    /// The SQL side.
    pub backend: Arc<dyn Backend>,
    /// TLS settings.
    pub tls: TlsConfigs,
    /// Password verification.
    pub passwords: Arc<Passwords>,
    /// Who may log in by Kerberos, where that is configured.
    pub kerberos: Option<Kerberos>,
    /// The error log.
    pub log: Arc<ErrorLog>,
    /// Listeners of availability groups.
    pub doors: Arc<Doors>,
    /// The process that lets clients go when this one stands still.
    pub keeper: Arc<Keeper>,
    watcher: Watcher,
    stopping: AtomicBool,
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Binds the configured addresses and starts to accept connections.
    pub fn start(
        config: Config,
        backend: Arc<dyn Backend>,
        passwords: Arc<Passwords>,
        log: Arc<ErrorLog>,
    ) -> Result<Server> {
        let files = config.certificate()?;
        if config.tls_certificate.is_none() {
            files.ensure(&config::host_name())?;
        }
        let tls = files.load()?;
        let kerberos = Kerberos::new(&config)?;
        let mut listeners = Vec::new();
        for address in std::iter::once(&config.listen).chain(&config.also_listen) {
            listeners.push(bind(address)?);
        }
        let keeper = Keeper::new(Arc::clone(&log)).context("no memory to share with a keeper")?;
        let hold_max = Duration::from_secs(config.listener_hold.into());
        let doors = Doors::new(Arc::clone(&log), hold_max, config.listener_addresses)
            .context("no pipe for the listeners' thread")?;
        let shared = Arc::new(Shared {
            config,
            backend,
            tls,
            passwords,
            kerberos,
            log,
            doors,
            keeper,
            watcher: Watcher::default(),
            stopping: AtomicBool::new(false),
        });
        let mut addresses = Vec::new();
        let mut threads = Vec::new();
        for listener in listeners {
            addresses.push(listener.address());
            shared.keeper.hold_listener(&listener);
            let shared = Arc::clone(&shared);
            threads.push(
                thread::Builder::new().name("listener".into()).spawn(move || accept(&shared, &listener))?,
            );
        }
        let watched = Arc::clone(&shared);
        threads.push(thread::Builder::new().name("watcher".into()).spawn(move || watched.watcher.run())?);
        Ok(Server { shared, addresses, threads })
    }

    /// Addresses bound, with the ports that were taken for port 0.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// For ways in other than TDS.
    #[must_use]
    pub fn front(&self) -> Front {
        Front(Arc::clone(&self.shared))
    }

    /// The listeners of availability groups; none until [`Server::open_doors`].
    #[must_use]
    pub fn doors(&self) -> &Arc<Doors> {
        &self.shared.doors
    }

    /// Starts to listen on the ports of availability groups' listeners.
    pub fn open_doors(&mut self, source: Arc<dyn Source>) -> Result<()> {
        let (shared, own) = (Arc::clone(&self.shared), self.addresses.clone());
        let run = move || {
            let doors = Arc::clone(&shared.doors);
            doors.run(&*source, &own, &shared.keeper, &|a| {
                start_session(&shared, a.socket, a.peer, Some(a.door))
            });
        };
        self.threads.push(thread::Builder::new().name("group listener".into()).spawn(run)?);
        Ok(())
    }

    /// Starts the process that lets clients go when this one has not run for `bound`; it begins with the first beat that tells of
    /// another member ([`Keeper::beat`]).
    pub fn start_keeper(&mut self, launch: Launch, bound: Duration) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let run = move || shared.keeper.run(&launch, bound, &|| shared.watcher.links());
        self.threads.push(thread::Builder::new().name("keeper".into()).spawn(run)?);
        Ok(())
    }

    /// See [`Server::start_keeper`].
    #[must_use]
    pub fn keeper(&self) -> &Arc<Keeper> {
        &self.shared.keeper
    }

    /// Connections now.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.watcher.len()
    }

    /// Stops accepting, ends every session and waits for their threads. Returns whether all of them ended in time.
    pub fn stop(self) -> bool {
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.doors.stop();
        for address in &self.addresses {
            // Wakes the listener; if that fails it is gone already.
            let _ = TcpStream::connect_timeout(&reachable(*address), Duration::from_secs(1));
        }
        self.shared.watcher.shut_down_all();
        let all_ended = self.shared.watcher.wait_empty(SHUTDOWN_WAIT);
        self.shared.watcher.stop();
        self.shared.keeper.stop();
        for thread in self.threads {
            // A listener that panicked has nothing more to stop.
            let _ = thread.join();
        }
        all_ended
    }
}

fn bind(address: &str) -> Result<Arc<Listener>> {
    let resolved: Vec<SocketAddr> = address
        .to_socket_addrs()
        .with_context(|| format!("{address} is not an address with a port"))?
        .collect();
    let deadline = Instant::now() + BIND_MAX;
    loop {
        match Listener::bind(&resolved) {
            Ok(listener) => return Ok(Arc::new(listener)),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                thread::sleep(BIND_EVERY);
            }
            Err(e) => return Err(e).with_context(|| format!("cannot listen on {address}")),
        }
    }
}

/// Where to connect to reach a listener bound to any address.
fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    let ip = if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
    SocketAddr::new(ip, address.port())
}

fn accept(shared: &Arc<Shared>, listener: &Listener) {
    loop {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok((socket, peer)) => {
                // The instance's own port may be a listener's too, on the listener's own addresses.
                let door = socket.local_addr().ok().and_then(|local| shared.doors.at_address(local));
                start_session(shared, socket, peer, door);
            }
            Err(e) => {
                shared.log.entry("Server", &format!("A connection could not be accepted: {e}"));
                // Out of descriptors, usually: trying again at once would only burn the processor.
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

fn start_session(shared: &Arc<Shared>, socket: TcpStream, peer: SocketAddr, door: Option<Arc<Door>>) {
    if shared.watcher.len() >= shared.config.max_connections {
        shared.log.entry("Logon", &format!("Too many connections; one was closed. [CLIENT: {}]", peer.ip()));
        return;
    }
    let link = Arc::new(Link::new(socket));
    let id = shared.watcher.add(&link);
    shared.keeper.hold(&link);
    let body = Arc::clone(shared);
    let spawned = thread::Builder::new()
        .name("session".into())
        .stack_size(shared.config.session_stack * 1024)
        .spawn(move || {
            // Removed also when the thread panics outside a request.
            let _removed = Removal { shared: &body, id };
            session::run(&body, &link, peer, door);
        });
    if let Err(e) = spawned {
        shared.watcher.remove(id);
        shared.log.entry("Server", &format!("No thread could be started for a connection: {e}"));
    }
}

struct Removal<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        self.shared.watcher.remove(self.id);
    }
}
