//! The endpoint: who listens, who dials, and when.
//!
//! * STARTED listens and dials; STOPPED does neither and has no connections; DISABLED listens and refuses with a reason.
//! * Of two instances that know each other's ids the one with the **smaller id dials**; the other does so too when nothing
//!   has come for a while (half a second), because the way may be open in one direction only. Two connections between the
//!   same two never last: the newer one replaces the older.
//! * A failed attempt is repeated after a pause that doubles from a twentieth of a second to one; the error is kept for the
//!   views.

use crate::error::ConnectError;
use crate::handshake::{self, Verdict, bye};
use crate::identity::{Certificate, Fingerprint};
use crate::shell::Shared;
use keel_transport::{Hello, Purpose};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use uuid::Uuid;

/// STATE of the endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndpointState {
    /// Listens and answers.
    Started,
    /// Does not listen.
    #[default]
    Stopped,
    /// Listens and refuses.
    Disabled,
}

/// The endpoint as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointConfig {
    /// STATE.
    pub state: EndpointState,
    /// LISTENER_IP; `None` for all addresses.
    pub address: Option<IpAddr>,
    /// LISTENER_PORT; 0 takes a free one.
    pub port: u16,
    /// AUTHENTICATION = CERTIFICATE; `None` for the instance's own.
    pub certificate: Option<Certificate>,
    /// Certificates of peers that SQL says may connect, DER.
    pub trusted: Vec<Vec<u8>>,
    /// What peers are told to connect to, `TCP://host:port`; empty when unknown.
    pub url: String,
}

impl EndpointConfig {
    /// Started on a port of an address, with the instance's own certificate.
    #[must_use]
    pub fn started(address: Option<IpAddr>, port: u16) -> EndpointConfig {
        let state = EndpointState::Started;
        EndpointConfig { state, address, port, certificate: None, trusted: Vec::new(), url: String::new() }
    }
}

/// How long an instance with the greater id waits to be called before it calls itself.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// A machine that comes back is met again this soon; an attempt costs one packet while it is away.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Connections that have not said hello yet, at most; more are closed unheard.
const GREETING_MAX: usize = 64;

/// A listening socket and the thread that accepts on it.
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    stopping: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Listening {
    /// Binds and starts to accept.
    pub(crate) fn start(shared: &Arc<Shared>, config: &EndpointConfig) -> std::io::Result<Listening> {
        let listener = match config.address {
            Some(ip) => TcpListener::bind((ip, config.port))?,
            // Dual stack where the system has it.
            None => TcpListener::bind((Ipv6Addr::UNSPECIFIED, config.port))
                .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, config.port)))?,
        };
        let address = listener.local_addr()?;
        let stopping = Arc::new(AtomicBool::new(false));
        let (weak, flag) = (Arc::downgrade(shared), Arc::clone(&stopping));
        let greeting = Arc::new(AtomicUsize::new(0));
        let thread = thread::Builder::new().name("endpoint".into()).spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let Some(shared) = weak.upgrade().filter(|_| !flag.load(Ordering::Acquire)) else { return };
                greet(shared, socket, &greeting);
            }
        })?;
        Ok(Listening { address, stopping, thread: Some(thread) })
    }

    /// Stops listening; connections made stay.
    pub(crate) fn stop(mut self) {
        self.stopping.store(true, Ordering::Release);
        let ip = match self.address.ip() {
            ip if !ip.is_unspecified() => ip,
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        // Wakes the thread; if nobody listens any more it is gone already.
        let _ = TcpStream::connect_timeout(&(ip, self.address.port()).into(), Duration::from_secs(1));
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by its own thread.
            let _ = thread.join();
        }
    }
}

/// Shakes hands on a thread of its own, which then becomes the connection's reader.
fn greet(shared: Arc<Shared>, socket: TcpStream, greeting: &Arc<AtomicUsize>) {
    if greeting.fetch_add(1, Ordering::AcqRel) >= GREETING_MAX {
        greeting.fetch_sub(1, Ordering::AcqRel);
        return;
    }
    let counter = Arc::clone(greeting);
    let spawned = thread::Builder::new().name("peer reader".into()).spawn(move || {
        let tls = shared.tls();
        let judge = |fingerprint, hello: &Hello| judge(&shared, tls.fingerprint(), fingerprint, hello);
        let met = handshake::answer(socket, &tls, &shared.own(), judge);
        counter.fetch_sub(1, Ordering::AcqRel);
        match met {
            Ok(met) => shared.serve(met),
            Err(error) => shared.note_refusal(&error),
        }
    });
    if spawned.is_err() {
        greeting.fetch_sub(1, Ordering::AcqRel);
    }
}

fn judge(shared: &Shared, own: Fingerprint, fingerprint: Fingerprint, hello: &Hello) -> Verdict {
    if shared.endpoint_state() != EndpointState::Started {
        return Verdict::Refuse(bye::DISABLED, ConnectError::Disabled);
    }
    if hello.instance == shared.own().instance {
        return Verdict::Refuse(bye::SELF, ConnectError::Itself);
    }
    match hello.purpose {
        Purpose::Member if shared.trust.allows(fingerprint, Uuid::from_bytes(hello.instance)) => {
            Verdict::Welcome
        }
        Purpose::Member => Verdict::Refuse(bye::UNTRUSTED, ConnectError::Untrusted),
        Purpose::Join | Purpose::JoinAsWitness if shared.trust.accepts(&hello.proof, fingerprint, own) => {
            Verdict::Welcome
        }
        Purpose::Join | Purpose::JoinAsWitness => {
            Verdict::Refuse(bye::JOIN_REFUSED, ConnectError::JoinRefused)
        }
    }
}

/// Somebody to be connected with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Server name, the key.
    pub(crate) name: String,
    /// `host:port`.
    pub(crate) address: String,
    /// Its id when it is known.
    pub(crate) instance: Option<Uuid>,
}

/// What is known of the attempts to reach one server.
#[derive(Default)]
struct Attempts {
    dialing: bool,
    pause: Duration,
    not_before: Duration,
    missing_since: Option<Duration>,
    pub(crate) last_error: Option<(ConnectError, i128)>,
}

/// The dialing side's memory, by server name in upper case.
#[derive(Default)]
pub(crate) struct Dialer {
    attempts: HashMap<String, Attempts>,
    /// Who answered last at an address that is nobody's by name.
    answered: HashMap<String, Uuid>,
}

impl Dialer {
    /// Whether to dial now. `connected` forgets the past failures' pause.
    pub(crate) fn is_due(&mut self, target: &Target, own: Uuid, connected: bool, now: Duration) -> bool {
        let attempts = self.attempts.entry(target.name.to_uppercase()).or_default();
        if connected {
            attempts.missing_since = None;
            attempts.pause = Duration::ZERO;
            attempts.not_before = now;
            return false;
        }
        let missing_since = *attempts.missing_since.get_or_insert(now);
        let patient = target.instance.is_some_and(|theirs| theirs < own) && now < missing_since + PATIENCE;
        if attempts.dialing || patient || now < attempts.not_before {
            return false;
        }
        attempts.dialing = true;
        true
    }

    /// An attempt ended.
    pub(crate) fn ended(&mut self, name: &str, error: Option<(ConnectError, i128)>, now: Duration) {
        let attempts = self.attempts.entry(name.to_uppercase()).or_default();
        attempts.dialing = false;
        if error.is_some() {
            attempts.pause = (attempts.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
            attempts.last_error = error;
        }
        attempts.not_before = now + attempts.pause;
    }

    /// Somebody answered at an address.
    pub(crate) fn answered(&mut self, address: &str, instance: Uuid) {
        self.answered.insert(address.to_uppercase(), instance);
    }

    /// Who did last.
    pub(crate) fn last_at(&self, address: &str) -> Option<Uuid> {
        self.answered.get(&address.to_uppercase()).copied()
    }

    /// A connection that was up broke.
    pub(crate) fn lost(&mut self, name: &str, error: ConnectError, wall_nanos: i128) {
        self.attempts.entry(name.to_uppercase()).or_default().last_error = Some((error, wall_nanos));
    }

    /// The last failure to connect to a server, and when (wall clock, nanoseconds since 1970 UTC).
    pub(crate) fn last_error(&self, name: &str) -> Option<(ConnectError, i128)> {
        self.attempts.get(&name.to_uppercase()).and_then(|a| a.last_error.clone())
    }

    /// All of them.
    pub(crate) fn last_errors(&self) -> Vec<(String, ConnectError, i128)> {
        let errors = self.attempts.iter().filter_map(|(name, attempts)| {
            let (error, when) = attempts.last_error.clone()?;
            Some((name.clone(), error, when))
        });
        errors.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_id_dials_first_and_pauses_double() {
        let (small, great) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let target = |instance| Target { name: "B".into(), address: "b:1".into(), instance };
        let at = Duration::from_millis;
        let mut dialer = Dialer::default();
        assert!(!dialer.is_due(&target(Some(small)), great, false, at(0)));
        assert!(
            dialer.is_due(&target(Some(small)), great, false, at(2000)),
            "after a while it dials all the same"
        );
        let mut dialer = Dialer::default();
        assert!(dialer.is_due(&target(Some(great)), small, false, at(0)));
        assert!(!dialer.is_due(&target(Some(great)), small, false, at(0)), "one attempt at a time");
        let mut now = 0;
        for pause in [50, 100, 200, 400, 800, 1000, 1000] {
            dialer.ended("b", Some((ConnectError::Untrusted, 0)), at(now));
            assert!(!dialer.is_due(&target(None), small, false, at(now + pause - 1)));
            now += pause;
            assert!(dialer.is_due(&target(None), small, false, at(now)));
        }
        dialer.ended("b", None, at(now));
        assert!(!dialer.is_due(&target(None), small, true, at(now)));
        assert!(
            dialer.is_due(&target(None), small, false, at(now)),
            "a lost connection is made again at once"
        );
        assert_eq!(dialer.last_error("B").map(|e| e.0), Some(ConnectError::Untrusted));
    }
}
