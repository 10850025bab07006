//! The instance's side of its keeper: what is handed over, and the thread that starts the process and hears of it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::listener::Listener;
use super::memory::Memory;
use super::notes::{self, Note, What};
use crate::errorlog::ErrorLog;
use crate::link::Link;

/// How often what could not be handed over is tried again.
const AGAIN_EVERY: Duration = Duration::from_secs(1);
/// Pause before an ended keeper is replaced, doubled up to [`PAUSE_MAX`] while they live no longer than that.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The command that runs [`super::run`] in a process of its own, with its end of the connection as standard input.
pub type Launch = Box<dyn Fn() -> Command + Send>;

/// A keeper as the instance knows it. It does nothing until it is started.
pub struct Keeper {
    log: Arc<ErrorLog>,
    memory: Memory,
    /// The end of the connection to the process, while there is one.
    control: Mutex<Option<Arc<OwnedFd>>>,
    /// Numbers what has to be handed over: whatever was handed in an earlier round is not held any more.
    round: AtomicU64,
    /// Something could not be handed over.
    missed: AtomicBool,
    /// With the round they were last handed over in.
    listeners: Mutex<Vec<(Weak<Listener>, u64)>>,
    /// Another member has been connected: there may be somebody to go to.
    wanted: AtomicBool,
    stopping: Mutex<bool>,
    wake: Condvar,
}

impl Keeper {
    /// One that is not started.
    pub fn new(log: Arc<ErrorLog>) -> io::Result<Arc<Keeper>> {
        Ok(Arc::new(Keeper {
            log,
            memory: Memory::create()?,
            control: Mutex::new(None),
            round: AtomicU64::new(0),
            missed: AtomicBool::new(false),
            listeners: Mutex::default(),
            wanted: AtomicBool::new(false),
            stopping: Mutex::new(false),
            wake: Condvar::new(),
        }))
    }

    /// The instance runs, and is connected to so many other members. Called by the groups' pulse; takes no lock.
    pub fn beat(&self, peers: usize) {
        self.memory.beat();
        if peers > 0 && !self.wanted.swap(true, Ordering::AcqRel) {
            self.wake.notify_all();
        }
    }

    /// A connection has come in.
    pub(crate) fn hold(&self, link: &Link) {
        let Some(control) = self.control.lock().clone() else { return };
        let round = self.round.load(Ordering::Acquire);
        if link.held_in.swap(round, Ordering::AcqRel) == round {
            return;
        }
        if notes::send(control.as_raw_fd(), What::Connection, [0; 3], Some(link.socket.as_raw_fd())).is_err()
        {
            link.held_in.store(0, Ordering::Release);
            self.missed.store(true, Ordering::Release);
        }
    }

    /// A socket listens.
    pub(crate) fn hold_listener(&self, listener: &Arc<Listener>) {
        let mut listeners = self.listeners.lock();
        listeners.retain(|(listener, _)| listener.strong_count() > 0);
        listeners.push((Arc::downgrade(listener), 0));
        drop(listeners);
        self.hand_listeners();
    }

    fn hand_listeners(&self) {
        let Some(control) = self.control.lock().clone() else { return };
        let round = self.round.load(Ordering::Acquire);
        for (listener, held_in) in self.listeners.lock().iter_mut().filter(|(_, held)| *held != round) {
            let Some(listener) = listener.upgrade() else { continue };
            // One that does not listen is hung up, and would be let go as soon as it is taken.
            let handed = listener.listen_if_ended().and_then(|()| {
                notes::send(control.as_raw_fd(), What::Listener, [0; 3], Some(listener.as_raw_fd()))
            });
            match handed {
                Ok(()) => *held_in = round,
                Err(_) => self.missed.store(true, Ordering::Release),
            }
        }
    }

    /// Hands over all that is not held in this round.
    fn hand_all(&self, links: &dyn Fn() -> Vec<Arc<Link>>) {
        self.missed.store(false, Ordering::Release);
        self.hand_listeners();
        links().iter().for_each(|link| self.hold(link));
    }

    /// Ends the process, and the thread.
    pub fn stop(&self) {
        *self.stopping.lock() = true;
        self.wake.notify_all();
        if let Some(control) = self.control.lock().take() {
            // It would take the end of the connection for this process's death, and end listening while that still ends here.
            let _ = notes::send(control.as_raw_fd(), What::Farewell, [0; 3], None);
            notes::hang_up(&control);
        }
    }

    /// Whether it is to stop; waits for that, at most for `time`.
    fn stops_within(&self, time: Duration) -> bool {
        let mut stopping = self.stopping.lock();
        if !*stopping {
            self.wake.wait_for(&mut stopping, time);
        }
        *stopping
    }

    /// The thread's body: it must live as long as the process it starts, whose end the system ties to its own. `bound`: the
    /// instance that has not beaten for so long does not run. `links` are the connections there are.
    pub fn run(&self, launch: &Launch, bound: Duration, links: &dyn Fn() -> Vec<Arc<Link>>) {
        while !self.wanted.load(Ordering::Acquire) {
            if self.stops_within(AGAIN_EVERY) {
                return;
            }
        }
        let mut pause = PAUSE_FIRST;
        loop {
            let began = Instant::now();
            let ended = match self.start(launch, bound) {
                Ok((child, control)) => self.attend(child, &control, bound, links),
                Err(e) => format!("could not be started: {e}"),
            };
            if *self.stopping.lock() {
                return;
            }
            self.log.entry("Server", &format!("The keeper process {ended}. Another one is started."));
            pause = if began.elapsed() > PAUSE_MAX { PAUSE_FIRST } else { pause };
            if self.stops_within(pause) {
                return;
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn start(&self, launch: &Launch, bound: Duration) -> io::Result<(Child, Arc<OwnedFd>)> {
        let (control, other) = notes::pair()?;
        let bound_ms = u64::try_from(bound.as_millis()).unwrap_or(u64::MAX);
        notes::send(control.as_raw_fd(), What::Memory, [bound_ms, 0, 0], Some(self.memory.fd()))?;
        let mut command = launch();
        command.stdin(Stdio::from(other)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        // The command holds the other end until it is dropped: the process's end must be the only one.
        drop(command);
        Ok((child, Arc::new(control)))
    }

    /// Hands over and listens until the process ends. Returns how it did.
    fn attend(
        &self,
        mut child: Child,
        control: &Arc<OwnedFd>,
        bound: Duration,
        links: &dyn Fn() -> Vec<Arc<Link>>,
    ) -> String {
        self.round.fetch_add(1, Ordering::AcqRel);
        let stopping = {
            // Under the lock, so that whoever stops this finds either the flag unseen or the connection.
            let mut place = self.control.lock();
            let stopping = *self.stopping.lock();
            *place = Some(Arc::clone(control)).filter(|_| !stopping);
            stopping
        };
        if !stopping {
            self.hand_all(links);
            let text = format!(
                "The keeper process {} holds clients' connections, and lets them go when this process does not run for {} ms.",
                child.id(),
                bound.as_millis()
            );
            self.log.entry("Server", &text);
            self.listen(control, links);
        }
        self.control.lock().take();
        // It has ended, or is to: nothing of it is needed.
        let _ = child.kill();
        child.wait().map_or_else(|e| e.to_string(), |status| format!("has ended ({status})"))
    }

    /// Until the process has ended.
    fn listen(&self, control: &OwnedFd, links: &dyn Fn() -> Vec<Arc<Link>>) {
        let timeout = i32::try_from(AGAIN_EVERY.as_millis()).expect("a second");
        loop {
            if !notes::wait(control.as_raw_fd(), timeout) {
                if self.missed.load(Ordering::Acquire) {
                    self.hand_all(links);
                }
                continue;
            }
            match notes::receive(control.as_raw_fd()) {
                Ok(Some(Note { what: What::RunsAgain, numbers, .. })) => {
                    self.round.fetch_add(1, Ordering::AcqRel);
                    self.hand_all(links);
                    self.tell(numbers);
                }
                Ok(Some(_)) => {}
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn tell(&self, [ms, reset, waited]: [u64; 3]) {
        let text = format!(
            "This process did not run for {ms} ms: its keeper reset {reset} connections, and {waited} more that had not been \
             accepted, and refused others meanwhile."
        );
        self.log.entry("Server", &text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::socket;
    use super::*;

    #[test]
    fn a_listening_socket_listens_when_it_is_handed_over() {
        let dir = std::env::temp_dir().join(format!("keel-keeper-{}", std::process::id()));
        let log = Arc::new(ErrorLog::start(&dir, false).unwrap());
        let keeper = Keeper::new(log).unwrap();
        let (control, other) = notes::pair().unwrap();
        *keeper.control.lock() = Some(Arc::new(control));
        keeper.round.store(1, Ordering::Release);
        let listener = Arc::new(Listener::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap());
        // The keeper has ended it, and the thread that accepts has not had its turn since.
        socket::shut_down(listener.as_raw_fd());
        keeper.hold_listener(&listener);
        let note = notes::receive(other.as_raw_fd()).unwrap().unwrap();
        assert_eq!(note.what, What::Listener);
        assert!(socket::listens(note.passed.unwrap().as_raw_fd()));
        let client = std::net::TcpStream::connect(listener.address()).unwrap();
        assert_eq!(listener.accept().unwrap().1, client.local_addr().unwrap());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
