//! The keeper's own process: one thread, one loop, and a moment after the instance's end.
//!
//! When the instance has gone the system would close all that was its own, and its clients would come back before there is
//! anybody to come back to. So those that came by an address which moves with the primary are held until the new primary has
//! taken it: it ends their connections itself ([`crate::listener::addresses`]), and they find it listening. All others have
//! other addresses to go to, and are reset at once.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result, bail};
use keel_base::env::real::run_urgently;

use super::memory::{self, Memory};
use super::notes::{self, Note, What};
use super::socket;
use super::watch::{LOOK_EVERY, Verdict, Watch};
use crate::listener::addresses_taken;
use std::time::{Duration, Instant};

/// How long clients are held at most after the end of the instance: most failovers are done by then.
const HELD_MAX: Duration = Duration::from_millis(300);
/// When the system ends this process after that, should it have come to a stand.
const GONE_AFTER_SECONDS: libc::c_uint = 2;
/// Hang-ups taken from the system at a time.
const EVENTS_MAX: usize = 64;

/// The body of the process that `keel serve` starts. `control` is its end of the connection to the instance. Returns when the
/// instance has gone, and clients that were held longer have been let go.
pub fn run(control: OwnedFd) -> Result<()> {
    settle_in();
    let mut ward = Ward::new(control)?;
    if ward.watch()? == End::Farewell {
        return Ok(());
    }
    // SAFETY: it takes a number.
    unsafe { libc::alarm(GONE_AFTER_SECONDS) };
    let moving = addresses_taken();
    ward.outlive(&|ip| moving.contains(&ip))
}

/// How the instance has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// In order: it sees to its clients itself.
    Farewell,
    /// It is dead.
    Death,
}

/// Makes this process not end before the instance, and run when little else does. All of it only helps, and may be refused.
fn settle_in() {
    // SAFETY: these calls take numbers, and addresses of local structures.
    unsafe {
        // Whoever stops a whole process group, or what runs in a unit, means the instance; its end is this one's.
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut files = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut files) == 0 {
            files.rlim_cur = files.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const files);
        }
        // A keeper that is swapped out like its instance is of no use. Only what has been touched is kept.
        libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT);
    }
    run_urgently();
}

/// What is held, and the instance it is held for.
struct Ward {
    control: OwnedFd,
    /// Tells of hang-ups of what is held, and of notes.
    epoll: OwnedFd,
    held: HashMap<RawFd, (OwnedFd, What)>,
    memory: Memory,
    watch: Watch,
    /// Connections reset, and those that waited to be accepted, since the instance stands still.
    let_go: [u64; 2],
}

impl Ward {
    fn new(control: OwnedFd) -> Result<Ward> {
        notes::wait(control.as_raw_fd(), -1);
        let first =
            notes::receive(control.as_raw_fd()).context("`keel serve` starts the keeper, nobody else")?;
        let Some(Note { what: What::Memory, numbers: [bound_ms, ..], passed: Some(file) }) = first else {
            bail!("the instance has gone");
        };
        let memory = Memory::open(file).context("the shared memory")?;
        // SAFETY: it takes a number; a descriptor that comes back is nobody else's.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(io::Error::last_os_error()).context("no epoll");
        }
        // SAFETY: it was just made, and is owned from here.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let watch = Watch::new(Duration::from_millis(bound_ms), memory::now());
        let ward = Ward { control, epoll, held: HashMap::new(), memory, watch, let_go: [0; 2] };
        ward.control(libc::EPOLL_CTL_ADD, ward.control.as_raw_fd(), libc::EPOLLIN)?;
        Ok(ward)
    }

    /// What the system is to tell of a descriptor; hang-ups always.
    fn control(&self, operation: libc::c_int, fd: RawFd, events: libc::c_int) -> io::Result<()> {
        let mut event =
            libc::epoll_event { events: events.cast_unsigned(), u64: u64::from(fd.cast_unsigned()) };
        // SAFETY: the pointer is to a structure that lives until the call returns.
        let failed = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &raw mut event) };
        if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Until the instance has gone.
    fn watch(&mut self) -> Result<End> {
        loop {
            let mut told = false;
            for fd in self.wait(LOOK_EVERY) {
                if fd == self.control.as_raw_fd() {
                    told = true;
                } else {
                    self.forget(fd);
                }
            }
            if told && let Some(end) = self.take_notes()? {
                return Ok(end);
            }
            match self.watch.look(memory::now(), self.memory.last_beat()) {
                Verdict::Wait => {}
                Verdict::Release => self.let_go(),
                Verdict::RunsAgain(stood) => {
                    let ms = u64::try_from(stood.as_millis()).unwrap_or(u64::MAX);
                    let [reset, waited] = std::mem::take(&mut self.let_go);
                    // It has room: the instance has taken nothing and sent little meanwhile.
                    notes::send(self.control.as_raw_fd(), What::RunsAgain, [ms, reset, waited], None)?;
                }
            }
        }
    }

    /// Descriptors of which the system tells something, at most after `time`.
    fn wait(&self, time: Duration) -> Vec<RawFd> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
        let max = i32::try_from(EVENTS_MAX).expect("a small number");
        // Rounded up: a wait that ends early would be begun again and again.
        let timeout = i32::try_from(time.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
        // SAFETY: the pointer and count are those of the array.
        let ready = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), max, timeout) };
        let ready = usize::try_from(ready).unwrap_or(0);
        events[..ready].iter().map(|event| RawFd::try_from(event.u64).unwrap_or(-1)).collect()
    }

    /// The instance has gone. Its clients go, but for those that came by an address that moves: they are held for a moment. See
    /// the module.
    fn outlive(mut self, moves: &dyn Fn(IpAddr) -> bool) -> Result<()> {
        self.control(libc::EPOLL_CTL_DEL, self.control.as_raw_fd(), 0)?;
        self.let_go_but(moves);
        let end = Instant::now() + HELD_MAX;
        while !self.held.is_empty() && Instant::now() < end {
            for fd in self.wait(end.saturating_duration_since(Instant::now())) {
                self.forget(fd);
            }
        }
        self.let_go();
        Ok(())
    }

    /// Takes what the instance hands over. Tells when it has gone.
    fn take_notes(&mut self) -> Result<Option<End>> {
        loop {
            match notes::receive(self.control.as_raw_fd()) {
                Ok(None) => return Ok(Some(End::Death)),
                Ok(Some(Note { what: What::Farewell, .. })) => return Ok(Some(End::Farewell)),
                Ok(Some(Note { what, passed: Some(socket), .. })) => {
                    let fd = socket.as_raw_fd();
                    // What cannot be watched would be held for ever.
                    if self.control(libc::EPOLL_CTL_ADD, fd, 0).is_ok() {
                        self.held.insert(fd, (socket, what));
                    }
                }
                // This process may have no more descriptors: that client is not looked after.
                Ok(Some(_)) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(Some(End::Death)),
                Err(e) => return Err(e).context("the connection to the instance"),
            }
        }
    }

    /// Lets a duplicate go whose socket has ended.
    fn forget(&mut self, fd: RawFd) {
        if let Some((socket, _)) = self.held.remove(&fd) {
            // The instance may hold the socket still, and then the system would go on telling of it.
            let _ = self.control(libc::EPOLL_CTL_DEL, socket.as_raw_fd(), 0);
        }
    }

    /// Lets all clients go: first nobody new comes in, so that whoever is reset goes elsewhere.
    fn let_go(&mut self) {
        self.let_go_but(&|_| false);
    }

    /// The same, but for those whose end of the connection here is an address that `stays`.
    fn let_go_but(&mut self, stays: &dyn Fn(IpAddr) -> bool) {
        let goes = |socket: &OwnedFd, what: What| {
            what == What::Listener || !socket::own_address(socket).is_some_and(stays)
        };
        let held = self.held.iter().filter(|(_, (socket, what))| goes(socket, *what));
        let held: Vec<(RawFd, What)> = held.map(|(fd, (_, what))| (*fd, *what)).collect();
        let (listeners, connections): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|(_, what)| *what == What::Listener);
        for (fd, _) in listeners {
            self.let_go[1] += socket::waiting(fd);
            socket::shut_down(fd);
            self.forget(fd);
        }
        for (fd, _) in connections {
            self.let_go[0] += 1;
            if socket::disconnect(fd).is_err() {
                socket::shut_down(fd);
            }
            self.forget(fd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Listener;
    use super::*;
    use std::io::Read as _;
    use std::net::TcpStream;

    /// An address of this machine that the keeper takes for one that moves with the primary.
    const MOVING: [u8; 4] = [127, 0, 0, 9];

    /// An instance's end, and a keeper on a thread instead of a process.
    struct Kept {
        control: OwnedFd,
        memory: Memory,
        keeper: std::thread::JoinHandle<Result<()>>,
    }

    impl Kept {
        fn new() -> Kept {
            let (control, other) = notes::pair().unwrap();
            let memory = Memory::create().unwrap();
            notes::send(control.as_raw_fd(), What::Memory, [100, 0, 0], Some(memory.fd())).unwrap();
            let keeper = std::thread::spawn(move || {
                let mut ward = Ward::new(other)?;
                if ward.watch()? == End::Farewell {
                    return Ok(());
                }
                ward.outlive(&|ip| ip == IpAddr::from(MOVING))
            });
            Kept { control, memory, keeper }
        }

        fn hand(&self, what: What, socket: &impl AsRawFd) {
            notes::send(self.control.as_raw_fd(), what, [0; 3], Some(socket.as_raw_fd())).unwrap();
        }
    }

    #[test]
    fn clients_of_who_stands_still_are_reset_and_refused_until_it_runs() {
        let kept = Kept::new();
        let listener = Listener::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let mut client = TcpStream::connect(listener.address()).unwrap();
        let (session, _) = listener.accept().unwrap();
        let waiting = TcpStream::connect(listener.address()).unwrap();
        kept.hand(What::Connection, &session);
        kept.hand(What::Listener, &listener);
        // The only beat, for now.
        kept.memory.beat();
        assert_eq!(client.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        let refused = TcpStream::connect(listener.address()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(waiting.peek(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        assert!((&session).read(&mut [0]).is_err(), "the session finds it gone");
        kept.memory.beat();
        assert!(notes::wait(kept.control.as_raw_fd(), -1));
        let said = notes::receive(kept.control.as_raw_fd()).unwrap().unwrap();
        assert_eq!((said.what, &said.numbers[1..]), (What::RunsAgain, &[1, 1][..]));
        assert!(said.numbers[0] >= 100, "{said:?}");
        notes::hang_up(&kept.control);
        kept.keeper.join().unwrap().unwrap();
    }

    #[test]
    fn a_session_that_ends_ends_for_the_client_though_a_duplicate_is_held() {
        let kept = Kept::new();
        let listener = Listener::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let mut client = TcpStream::connect(listener.address()).unwrap();
        let link = crate::link::Link::new(listener.accept().unwrap().0);
        kept.hand(What::Connection, &link.socket);
        drop(link);
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        drop(kept.control);
        kept.keeper.join().unwrap().unwrap();
    }

    #[test]
    fn clients_of_who_has_gone_are_reset_but_where_the_address_moves_they_wait_for_the_new_owner() {
        let mut kept = Kept::new();
        let stays = Listener::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let moves = Listener::bind(&[(MOVING, 0).into()]).unwrap();
        let mut client = TcpStream::connect(stays.address()).unwrap();
        let mut held = TcpStream::connect(moves.address()).unwrap();
        let sessions = [&stays, &moves].map(|listener| listener.accept().unwrap().0);
        for session in &sessions {
            kept.hand(What::Connection, session);
        }
        for listener in [&stays, &moves] {
            kept.hand(What::Listener, listener);
        }
        // The system closes what the instance had; the keeper's duplicates are left.
        let (control, other_end) = notes::pair().unwrap();
        drop((sessions, std::mem::replace(&mut kept.control, control), other_end));
        assert_eq!(client.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(TcpStream::connect(moves.address()).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        // Nobody has taken the address: it is reset in the end.
        assert_eq!(held.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        kept.keeper.join().unwrap().unwrap();
    }

    #[test]
    fn an_instance_that_ends_in_order_keeps_its_sockets_to_the_end() {
        let kept = Kept::new();
        let listener = Listener::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
        let client = TcpStream::connect(listener.address()).unwrap();
        let (session, _) = listener.accept().unwrap();
        kept.hand(What::Listener, &listener);
        kept.hand(What::Connection, &session);
        notes::send(kept.control.as_raw_fd(), What::Farewell, [0; 3], None).unwrap();
        notes::hang_up(&kept.control);
        kept.keeper.join().unwrap().unwrap();
        assert!(socket::listens(listener.as_raw_fd()));
        session.set_nonblocking(true).unwrap();
        assert_eq!((&session).read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(client);
    }
}
