//! The watcher: one thread that notices attentions and vanished clients while requests execute.
//!
//! Every tick it looks which links have been busy with the same request since the tick before, and waits for input on
//! those sockets only, until the next tick. So a request shorter than a tick costs nothing, and one that is longer is
//! cancelled as soon as its attention arrives. Bytes are taken off the socket through the link's own framing, so
//! encryption makes no difference; whatever turns out not to be an attention stays there for the session thread.
//!
//! It also closes the connections of sessions that were killed: at once when they wait for a request, and shortly after when
//! they are busy, because the cancelled request may be stuck where nothing cancels it, in a disk that does not answer.

use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::link::Link;

/// How long a request may run before it is watched, and how long the watcher sleeps.
const TICK: Duration = Duration::from_millis(20);
/// Ticks that a killed session's request has to end by itself and say why.
const KILLED_TICKS_MAX: u32 = 5;

#[derive(Default)]
struct State {
    links: HashMap<u64, Weak<Link>>,
    next_id: u64,
    stopped: bool,
}

/// All links of a server, and the thread that watches them.
#[derive(Default)]
pub struct Watcher {
    state: Mutex<State>,
    /// Signalled when the first link arrives and at the end.
    changed: Condvar,
}

/// What the watcher remembers of a link between ticks.
struct Seen {
    request: u64,
    /// Input came that is not an attention: do not look again during this request.
    settled: bool,
    /// Ticks in which the session was found killed and still busy.
    killed_ticks: u32,
}

impl Watcher {
    /// Adds a link; the number is for [`Watcher::remove`].
    pub fn add(&self, link: &Arc<Link>) -> u64 {
        let mut state = self.state.lock();
        state.next_id += 1;
        let id = state.next_id;
        state.links.insert(id, Arc::downgrade(link));
        self.changed.notify_one();
        id
    }

    /// Removes a link.
    pub fn remove(&self, id: u64) {
        self.state.lock().links.remove(&id);
        self.changed.notify_one();
    }

    /// How many connections there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.lock().links.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All connections there are.
    #[must_use]
    pub fn links(&self) -> Vec<Arc<Link>> {
        self.state.lock().links.values().filter_map(Weak::upgrade).collect()
    }

    /// Ends every connection.
    pub fn shut_down_all(&self) {
        for link in self.links() {
            link.shut_down();
        }
    }

    /// Lets [`Watcher::run`] return.
    pub fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Waits until all connections are gone, at most for `timeout`; whether they are.
    pub fn wait_empty(&self, timeout: Duration) -> bool {
        let deadline = std::time::Instant::now() + timeout;
        let mut state = self.state.lock();
        while !state.links.is_empty() {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                return state.links.is_empty();
            }
        }
        true
    }

    /// The thread's body.
    pub fn run(&self) {
        let mut seen: HashMap<u64, Seen> = HashMap::new();
        loop {
            let mut watched = Vec::new();
            {
                let mut state = self.state.lock();
                while state.links.is_empty() && !state.stopped {
                    seen.clear();
                    self.changed.wait(&mut state);
                }
                if state.stopped {
                    return;
                }
                seen.retain(|id, _| state.links.contains_key(id));
                for (&id, link) in &state.links {
                    if let Some(link) = link.upgrade() {
                        consider(&mut seen, &mut watched, id, link);
                    }
                }
            }
            wait_for_input(&watched, &mut seen);
        }
    }
}

fn consider(
    seen: &mut HashMap<u64, Seen>,
    watched: &mut Vec<(u64, u64, Arc<Link>)>,
    id: u64,
    link: Arc<Link>,
) {
    let request = link.busy();
    if request == 0 {
        if link.is_killed_idle() {
            link.reset();
        }
        return;
    }
    match seen.get_mut(&id) {
        Some(s) if s.request == request => {
            if link.is_killed() {
                s.killed_ticks += 1;
                if s.killed_ticks == KILLED_TICKS_MAX {
                    link.reset();
                }
            }
            if !s.settled {
                watched.push((id, request, link));
            }
        }
        _ => {
            seen.insert(id, Seen { request, settled: false, killed_ticks: 0 });
        }
    }
}

fn wait_for_input(watched: &[(u64, u64, Arc<Link>)], seen: &mut HashMap<u64, Seen>) {
    if watched.is_empty() {
        std::thread::sleep(TICK);
        return;
    }
    let mut polls: Vec<libc::pollfd> = watched
        .iter()
        .map(|(_, _, link)| libc::pollfd { fd: link.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let count = libc::nfds_t::try_from(polls.len()).expect("connections are limited");
    let timeout = i32::try_from(TICK.as_millis()).expect("a tick is short");
    // SAFETY: the pointer and count are those of the vector, and the links keep their descriptors open.
    let ready = unsafe { libc::poll(polls.as_mut_ptr(), count, timeout) };
    if ready <= 0 {
        return;
    }
    for (poll, (id, request, link)) in polls.iter().zip(watched) {
        if poll.revents == 0 {
            continue;
        }
        let Some(mut wire) = link.wire.try_lock() else {
            // The session thread is sending; it will look itself.
            link.ask_to_look();
            continue;
        };
        if link.busy() == *request {
            link.look_for_attention(&mut wire);
            if let Some(s) = seen.get_mut(id) {
                // A load that waits for a lock has its rows here already, and its attention behind them.
                s.settled = !wire.may_bring_attention();
            }
        }
    }
}
