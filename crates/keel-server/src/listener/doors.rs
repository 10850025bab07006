//! Doors: the listeners there are, where their primaries are, and the thread that keeps both true.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use keel_group::ClientConnection;
use parking_lot::{Condvar, Mutex, RwLock};

use super::addresses::{Claims, Look, Virtual};
use super::guests::Told;
use super::network::Rtnetlink;
use super::sockets::{Accepted, SocketState, Sockets};
use crate::errorlog::ErrorLog;
use crate::keeper::Keeper;
use crate::link::Link;

/// How often the groups are looked at while nobody waits.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The same while connections are held: a primary that is there is a connection that can go on.
const LOOK_EVERY_HELD: Duration = Duration::from_millis(5);
/// How often what could not be bound is tried again, and what is bound is looked at.
const BIND_EVERY: Duration = Duration::from_secs(1);
/// Links remembered before the dead ones are swept out for the first time.
const LINKS_KEPT: usize = 64;

/// Where a listener's connections belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The primary is here.
    Here,
    /// It is there.
    There(Target),
    /// There is none that is known here.
    Nowhere,
}

/// The primary on another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its server name.
    pub server: String,
    /// Where its own listener's port may be reached from here, in the order in which they are tried.
    pub addresses: Vec<(String, u16)>,
    /// Where clients reach it, if its configuration says so: they are sent there by a routing token.
    pub route: Option<(String, u16)>,
}

/// A listener as its group is configured and stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The group's id.
    pub id: [u8; 16],
    /// The group's name.
    pub group: String,
    /// The listener's.
    pub dns_name: String,
    /// Its port.
    pub port: u16,
    /// Its own addresses, wherever they are.
    pub addresses: Vec<IpAddr>,
    /// Of these the ones that are to be on this machine while the primary is.
    pub carried: Vec<Virtual>,
    /// Where other members of this instance's groups are connected from: what they say of a client they forward is believed.
    pub members: Vec<IpAddr>,
    /// Where its primary is.
    pub place: Place,
    /// It is about to be here: clients may come, and wait.
    pub opening: bool,
    /// Nobody can have taken the place of a primary here unheard.
    pub certain: bool,
}

/// Who knows the groups. Called by the listener thread only, many times a second: it should cost microseconds.
pub trait Source: Send + Sync {
    /// Every listener of a group this instance is a member of.
    fn standings(&self) -> Vec<Standing>;
    /// Tells the other members who is connected with the listeners' own addresses here.
    fn tell_clients(&self, connections: &[ClientConnection]);
    /// What the others said of theirs.
    fn clients_of_others(&self) -> Vec<ClientConnection>;
}

/// A span of time in which a door's primary stays where it is.
#[derive(Debug)]
pub struct Turn {
    ended: PipeReader,
    /// Dropped when the turn ends.
    open: Mutex<Option<PipeWriter>>,
}

impl Turn {
    fn begin() -> std::io::Result<Arc<Turn>> {
        let (ended, open) = std::io::pipe()?;
        Ok(Arc::new(Turn { ended, open: Mutex::new(Some(open)) }))
    }

    fn end(&self) {
        self.open.lock().take();
    }

    /// Becomes readable (hung up) when the turn ends.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.ended.as_raw_fd()
    }
}

/// A connection that came through a door and has been let in.
struct Guest {
    link: Weak<Link>,
    /// The server it was sent on to; `None` when it is served here.
    server: Option<String>,
    /// Its two ends.
    ends: Option<ClientConnection>,
}

struct DoorState {
    standing: Standing,
    turn: Arc<Turn>,
    sockets: Vec<SocketState>,
    guests: Vec<Guest>,
    sweep_at: usize,
}

/// One listener.
pub struct Door {
    state: Mutex<DoorState>,
    /// RESTART LISTENER: its sockets are to be opened anew.
    pub(super) restart: AtomicBool,
}

impl Door {
    /// Where connections go now, and until when that holds.
    #[must_use]
    pub fn place(&self) -> (Place, Arc<Turn>) {
        let state = self.state.lock();
        (state.standing.place.clone(), Arc::clone(&state.turn))
    }

    /// The listener as it stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.state.lock().standing.clone()
    }

    /// A connection goes in, to be served here or by `server`. False when the turn it was decided in is over: decide anew.
    pub fn enter(&self, turn: &Arc<Turn>, link: &Arc<Link>, server: Option<&str>) -> bool {
        let mut state = self.state.lock();
        if !Arc::ptr_eq(&state.turn, turn) {
            return false;
        }
        if state.guests.len() >= state.sweep_at {
            state.guests.retain(|g| g.link.strong_count() > 0);
            state.sweep_at = LINKS_KEPT.max(state.guests.len() * 2);
        }
        let ends = ends(link);
        state.guests.push(Guest { link: Arc::downgrade(link), server: server.map(str::to_owned), ends });
        true
    }

    /// Who came here by one of the listener's own addresses that move: those that are forwarded too, for when the address leaves.
    fn connections(&self) -> Vec<ClientConnection> {
        let state = self.state.lock();
        let carried = |c: &ClientConnection| state.standing.carried.iter().any(|v| v.ip == c.own.ip());
        let alive = state.guests.iter().filter(|g| g.link.strong_count() > 0);
        alive.filter_map(|g| g.ends).filter(carried).collect()
    }

    pub(super) fn set_sockets(&self, sockets: Vec<SocketState>) {
        self.state.lock().sockets = sockets;
    }

    pub(super) fn sockets(&self) -> Vec<SocketState> {
        self.state.lock().sockets.clone()
    }

    /// Takes over how things stand. Returns how many connections were closed because their primary is no longer where
    /// they are.
    fn update(&self, standing: Standing) -> usize {
        let mut state = self.state.lock();
        if state.standing == standing {
            return 0;
        }
        let moved = state.standing.place != standing.place;
        state.standing = standing;
        if !moved {
            return 0;
        }
        // Without descriptors for a new turn the old one goes on: who waits looks again when its own time is over.
        if let Ok(turn) = Turn::begin() {
            std::mem::replace(&mut state.turn, turn).end();
        }
        let place = state.standing.place.clone();
        let stays = |guest: &Guest| match (&guest.server, &place) {
            (None, Place::Here) => true,
            (None, _) | (Some(_), Place::Here) => false,
            (Some(server), Place::There(target)) => *server == target.server,
            // A lost connection between the nodes says nothing about the one that carries the client.
            (Some(_), Place::Nowhere) => true,
        };
        let (stay, go): (Vec<_>, Vec<_>) = std::mem::take(&mut state.guests)
            .into_iter()
            .filter(|g| g.link.strong_count() > 0)
            .partition(stays);
        state.guests = stay;
        drop(state);
        go.iter().filter_map(|g| g.link.upgrade()).map(|link| link.reset()).count()
    }
}

/// All listeners of an instance.
pub struct Doors {
    doors: RwLock<Vec<Arc<Door>>>,
    bell: Bell,
    /// Connections that wait for a primary now.
    pub(super) held: AtomicUsize,
    /// How long they wait at most.
    pub(super) hold_max: Duration,
    /// Listeners' addresses are taken onto the primary's machine.
    carries: bool,
    log: Arc<ErrorLog>,
    /// Counts rounds of the thread, for whoever waits for one.
    rounds: Mutex<u64>,
    round_done: Condvar,
    stopping: AtomicBool,
}

struct Bell {
    heard: PipeReader,
    ring: PipeWriter,
    rung: AtomicBool,
}

impl Doors {
    /// No listeners yet. `hold_max` is how long a connection waits for a primary; `carries`: listeners' addresses are taken onto
    /// the primary's machine.
    pub fn new(log: Arc<ErrorLog>, hold_max: Duration, carries: bool) -> std::io::Result<Arc<Doors>> {
        let (heard, ring) = std::io::pipe()?;
        Ok(Arc::new(Doors {
            doors: RwLock::new(Vec::new()),
            bell: Bell { heard, ring, rung: AtomicBool::new(false) },
            held: AtomicUsize::new(0),
            hold_max,
            carries,
            log,
            rounds: Mutex::new(0),
            round_done: Condvar::new(),
            stopping: AtomicBool::new(false),
        }))
    }

    /// The groups may stand otherwise than before: look now. Never waits.
    pub fn ring(&self) {
        if !self.bell.rung.swap(true, Ordering::AcqRel) {
            // One byte at a time is in the pipe, so it always has room.
            let _ = (&self.bell.ring).write(&[0]);
        }
    }

    /// Waits until the thread has looked at everything once more, at most for `timeout`.
    pub fn settle(&self, timeout: Duration) {
        let mut rounds = self.rounds.lock();
        // The round under way may have looked before; the one after it has not.
        let wanted = *rounds + 2;
        let deadline = Instant::now() + timeout;
        while *rounds < wanted {
            self.ring();
            if self.round_done.wait_for(&mut rounds, LOOK_EVERY_HELD).timed_out()
                && Instant::now() >= deadline
            {
                return;
            }
        }
    }

    /// Lets [`Doors::run`] return.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.ring();
    }

    /// Connections that wait for a primary now.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }

    /// Whether no group has a listener.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.doors.read().is_empty()
    }

    /// The listener of a group.
    #[must_use]
    pub fn of_group(&self, id: [u8; 16]) -> Option<Arc<Door>> {
        self.doors.read().iter().find(|d| d.state.lock().standing.id == id).cloned()
    }

    /// The listener that has this address among its own.
    #[must_use]
    pub fn at_address(&self, address: SocketAddr) -> Option<Arc<Door>> {
        let fits = |d: &&Arc<Door>| {
            let state = d.state.lock();
            state.standing.port == address.port()
                && state.standing.addresses.contains(&address.ip().to_canonical())
        };
        self.doors.read().iter().find(fits).cloned()
    }

    /// The listener that a client means by the server name in its login (`name`, `name.domain`, `tcp:name,port`).
    #[must_use]
    pub fn named(&self, server: &str) -> Option<Arc<Door>> {
        let server = server.strip_prefix("tcp:").unwrap_or(server);
        let host = server.split([',', '\\', ':']).next().unwrap_or(server);
        let short = host.split('.').next().unwrap_or(host);
        let fits = |d: &&Arc<Door>| {
            let state = d.state.lock();
            let name = &state.standing.dns_name;
            name.eq_ignore_ascii_case(host) || name.eq_ignore_ascii_case(short)
        };
        self.doors.read().iter().find(fits).cloned()
    }

    /// Where a group's listener listens here, and what kept it from listening elsewhere.
    #[must_use]
    pub fn sockets(&self, id: [u8; 16]) -> Vec<SocketState> {
        self.of_group(id).map(|d| d.sockets()).unwrap_or_default()
    }

    /// All sockets of all listeners.
    #[must_use]
    pub fn all_sockets(&self) -> Vec<SocketState> {
        self.doors.read().iter().flat_map(|d| d.sockets()).collect()
    }

    /// Opens a listener's sockets anew and waits until that is done.
    pub fn restart(&self, id: [u8; 16], timeout: Duration) {
        if let Some(door) = self.of_group(id) {
            door.restart.store(true, Ordering::Release);
            self.settle(timeout);
        }
    }

    /// The thread's body: sockets, accepts and standings until [`Doors::stop`]. `own` are the addresses the instance itself
    /// listens on; `keeper` gets every socket and `start` every accepted connection.
    pub fn run(&self, source: &dyn Source, own: &[SocketAddr], keeper: &Keeper, start: &dyn Fn(Accepted)) {
        let mut sockets = Sockets::new(own.to_vec());
        let mut claims = Claims::new(Box::new(Rtnetlink));
        let mut told = Told::default();
        // Lines go to the log from a thread of their own: connections must not wait for a disk that does not answer.
        let (lines, said) = std::sync::mpsc::channel::<(&str, String)>();
        let log = Arc::clone(&self.log);
        let writer = std::thread::Builder::new().name("listener log".into());
        let writer = writer.spawn(move || said.iter().for_each(|(source, text)| log.entry(source, &text)));
        let say = |source: &'static str, text: &str| {
            // Nobody takes it when the thread could not be made; the listener works all the same.
            let _ = lines.send((source, text.to_owned()));
        };
        let mut bind_next = Instant::now();
        while !self.stopping.load(Ordering::Acquire) {
            self.bell.rung.store(false, Ordering::Release);
            let changed = self.refresh(source.standings(), &|text| say("AlwaysOn", text));
            let now = Instant::now();
            let (others, say_it) = (|| source.clients_of_others(), |text: &str| say("AlwaysOn", text));
            let look = self.look(now, &others, &say_it);
            let changed = claims.tend(&look) || changed;
            if changed || now >= bind_next {
                bind_next = now + BIND_EVERY;
                let doors = self.doors.read().clone();
                sockets.settle(&doors, &claims, keeper, &|text| say("AlwaysOn", text));
            }
            claims.announce(&look);
            self.tell(&mut told, now, source);
            *self.rounds.lock() += 1;
            self.round_done.notify_all();
            let every = if self.held() > 0 { LOOK_EVERY_HELD } else { LOOK_EVERY };
            let next = claims.next(&look).into_iter().chain(told.next(now)).fold(every, Duration::min);
            let rung = sockets.wait(self.bell.heard.as_raw_fd(), next);
            if rung {
                let _ = (&self.bell.heard).read(&mut [0; 8]);
            }
            sockets.accept(start, &|text| say("Server", text));
        }
        claims.release();
        drop(lines);
        if let Ok(writer) = writer {
            // It ends with the channel; a panic there has been reported by its own thread.
            let _ = writer.join();
        }
    }

    /// How the listeners' addresses stand.
    fn look<'a>(
        &self,
        now: Instant,
        others: &'a dyn Fn() -> Vec<ClientConnection>,
        say: &'a dyn Fn(&str),
    ) -> Look<'a> {
        let doors = if self.carries { self.doors.read().clone() } else { Vec::new() };
        let mut look = Look {
            now,
            here: Vec::new(),
            certain: Vec::new(),
            elsewhere: Vec::new(),
            known: Vec::new(),
            others,
            whose: "a listener",
            say,
        };
        for standing in doors.iter().map(|d| d.standing()) {
            if standing.place == Place::Here || standing.opening {
                look.here.extend(&standing.carried);
                look.certain.extend(standing.addresses.iter().filter(|_| standing.certain));
            } else if matches!(standing.place, Place::There(_)) {
                look.elsewhere.extend(&standing.addresses);
            }
            look.known.extend(standing.addresses);
        }
        look
    }

    /// Tells the other members who is connected, when that is due.
    fn tell(&self, told: &mut Told, now: Instant, source: &dyn Source) {
        if self.carries {
            let mut connections: Vec<_> = self.doors.read().iter().flat_map(|d| d.connections()).collect();
            if told.is_due(now, &mut connections) {
                source.tell_clients(&connections);
            }
        }
    }

    /// Takes over how the listeners stand. Returns whether sockets may have to be opened or closed.
    fn refresh(&self, standings: Vec<Standing>, say: &dyn Fn(&str)) -> bool {
        let mut changed = false;
        let known: Vec<Arc<Door>> = self.doors.read().clone();
        for door in &known {
            changed |= door.restart.load(Ordering::Acquire);
        }
        let mut doors = Vec::with_capacity(standings.len());
        for standing in standings {
            let old = known.iter().find(|d| d.state.lock().standing.id == standing.id);
            match old {
                Some(door) => {
                    let before = door.standing();
                    changed |= (before.port, &before.addresses) != (standing.port, &standing.addresses);
                    let (group, place) = (standing.group.clone(), standing.place.clone());
                    let closed = door.update(standing);
                    if before.place != place {
                        say(&moved(&before.dns_name, &group, &place, closed));
                    }
                    doors.push(Arc::clone(door));
                }
                None => {
                    let Ok(turn) = Turn::begin() else { continue };
                    changed = true;
                    let state = DoorState {
                        standing,
                        turn,
                        sockets: Vec::new(),
                        guests: Vec::new(),
                        sweep_at: LINKS_KEPT,
                    };
                    doors.push(Arc::new(Door { state: Mutex::new(state), restart: AtomicBool::new(false) }));
                }
            }
        }
        let gone = known.iter().filter(|d| !doors.iter().any(|n| Arc::ptr_eq(d, n)));
        for door in gone {
            changed = true;
            // Whoever waits there is served as on the instance's own port.
            let mut standing = door.standing();
            standing.place = Place::Here;
            door.update(standing);
        }
        if changed || doors.len() != known.len() {
            *self.doors.write() = doors;
        }
        changed
    }
}

fn ends(link: &Link) -> Option<ClientConnection> {
    let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (client, own) = (link.socket.peer_addr().ok()?, link.socket.local_addr().ok()?);
    Some(ClientConnection { client: plain(client), own: plain(own) })
}

fn moved(listener: &str, group: &str, place: &Place, closed: usize) -> String {
    let place = match place {
        Place::Here => "are served here".to_owned(),
        Place::There(target) => match &target.route {
            Some((host, port)) => format!("are sent to '{}' at {host}:{port}", target.server),
            None => format!("are forwarded to '{}'", target.server),
        },
        Place::Nowhere => "wait for a primary".to_owned(),
    };
    format!(
        "Connections to the listener '{listener}' of availability group '{group}' {place}; {closed} of an earlier primary \
         were closed."
    )
}
