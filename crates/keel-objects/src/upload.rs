//! An object that is written: parts, sent by a thread while the next one is filled.

use crate::service::Service;
use keel_base::env::File;
use keel_base::env::objects::NewObject;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often who waits for the thread looks whether its client still does.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long giving up may take with a storage that does not answer.
const GIVE_UP_WITHIN: Duration = Duration::from_secs(20);

/// An upload. The thread lives as long as it does.
pub(crate) struct Upload {
    shared: Arc<Shared>,
    part_bytes: usize,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    service: Box<dyn Service>,
    /// What the upload is called.
    id: String,
    /// An object that is there is replaced.
    replace: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes taken so far.
    length: u64,
    /// The part that is being filled.
    filling: Vec<u8>,
    /// One that waits to be sent.
    waiting: Option<Vec<u8>>,
    /// One is being sent.
    sending: bool,
    /// What the parts that were sent are called, in their order.
    tags: Vec<String>,
    failed: Option<(ErrorKind, String)>,
    end: End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// There is none yet.
    #[default]
    Open,
    /// The object is there.
    Whole,
    /// It will never be.
    Gone,
}

impl State {
    fn check(&self) -> io::Result<()> {
        match (&self.failed, self.end) {
            (Some((kind, text)), _) => Err(io::Error::new(*kind, text.clone())),
            (None, End::Open) => Ok(()),
            (None, _) => Err(io::Error::other("the object has been ended")),
        }
    }
}

impl Upload {
    pub fn begin(service: Box<dyn Service>, part_bytes: usize, replace: bool) -> io::Result<Upload> {
        let id = service.begin(replace)?;
        let shared =
            Arc::new(Shared { service, id, replace, state: Mutex::default(), changed: Condvar::new() });
        let sender = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("object upload".into()).spawn(move || sender.send_parts());
        let thread = Mutex::new(Some(thread?));
        Ok(Upload { shared, part_bytes, thread })
    }

    /// Takes the last part out of who sends, and him with it; who is stuck in sending ends by himself.
    fn stop(&self, end: End) -> End {
        let until = Instant::now() + GIVE_UP_WITHIN;
        let mut state = self.shared.state.lock();
        let was = std::mem::replace(&mut state.end, end);
        (state.waiting, state.filling) = (None, Vec::new());
        self.shared.changed.notify_all();
        while state.sending && Instant::now() < until {
            self.shared.changed.wait_for(&mut state, LOOK_EVERY);
        }
        let is_stuck = state.sending;
        drop(state);
        if let Some(thread) = self.thread.lock().take().filter(|_| !is_stuck) {
            let _ = thread.join();
        }
        was
    }
}

impl Shared {
    /// The thread: parts in their order, until there are no more.
    fn send_parts(&self) {
        let mut state = self.state.lock();
        loop {
            let Some(part) = state.waiting.take() else {
                if state.end != End::Open || state.failed.is_some() {
                    return;
                }
                self.changed.wait(&mut state);
                continue;
            };
            state.sending = true;
            let number = state.tags.len() + 1;
            self.changed.notify_all();
            let sent = MutexGuard::unlocked(&mut state, || self.send_part(number, &part));
            match sent {
                Ok(tag) => state.tags.push(tag),
                Err(e) => {
                    state.failed = Some((e.kind(), e.to_string()));
                    state.waiting = None;
                }
            }
            state.sending = false;
            self.changed.notify_all();
        }
    }

    fn send_part(&self, number: usize, part: &[u8]) -> io::Result<String> {
        let (service, most) = (&self.service, self.service.parts_max());
        if number > most {
            let text = format!("more than {most} parts");
            return Err(io::Error::new(ErrorKind::FileTooLarge, text));
        }
        let waits = || !self.is_cancelled() && self.state.lock().end == End::Open;
        service.send(&self.id, number, part, &waits)
    }

    fn is_cancelled(&self) -> bool {
        (self.service.client().cancelled)()
    }

    /// Waits until something is so, or has failed.
    fn wait_until(
        &self,
        state: &mut MutexGuard<'_, State>,
        is_so: impl Fn(&State) -> bool,
    ) -> io::Result<()> {
        loop {
            state.check()?;
            if is_so(state) {
                return Ok(());
            }
            if self.is_cancelled() {
                return Err(ErrorKind::Interrupted.into());
            }
            self.changed.wait_for(state, LOOK_EVERY);
        }
    }

    /// Nothing of it is left. Whether anybody waits does not matter, but it does not take for ever.
    fn clean_up(&self, was: End) {
        let until = Instant::now() + GIVE_UP_WITHIN;
        let waits = || Instant::now() < until;
        // What cannot be taken away stays for the storage's own rules.
        let _ = match was {
            End::Open => self.service.abort(&self.id, &waits),
            End::Whole => self.service.remove(&waits),
            End::Gone => Ok(()),
        };
    }
}

impl File for Upload {
    /// Nothing of it can be read before it is whole.
    fn read_at(&self, _: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = self.shared.state.lock().length;
        if offset >= length { Ok(0) } else { Err(ErrorKind::Unsupported.into()) }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.shared.state.lock();
        state.check()?;
        if offset != state.length {
            return Err(io::Error::new(
                ErrorKind::Unsupported,
                "an object is written from its beginning to its end",
            ));
        }
        let mut rest = buf;
        while !rest.is_empty() {
            let room = self.part_bytes - state.filling.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            if state.filling.capacity() == 0 {
                state.filling.reserve_exact(self.part_bytes);
            }
            state.filling.extend_from_slice(now);
            state.length += now.len() as u64;
            rest = later;
            if state.filling.len() == self.part_bytes {
                self.shared.wait_until(&mut state, |s| s.waiting.is_none())?;
                state.waiting = Some(std::mem::take(&mut state.filling));
                self.shared.changed.notify_all();
            }
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.shared.state.lock().check()
    }

    fn sync_all(&self) -> io::Result<()> {
        let shared = &self.shared;
        let mut state = shared.state.lock();
        if state.end == End::Whole {
            return Ok(());
        }
        shared.wait_until(&mut state, |s| s.waiting.is_none())?;
        if !state.filling.is_empty() || state.tags.is_empty() && !state.sending {
            state.waiting = Some(std::mem::take(&mut state.filling));
            shared.changed.notify_all();
        }
        shared.wait_until(&mut state, |s| s.waiting.is_none() && !s.sending)?;
        let (tags, length) = (std::mem::take(&mut state.tags), state.length);
        drop(state);
        let done = shared.service.complete(&shared.id, &tags, length, shared.replace);
        let mut state = shared.state.lock();
        match &done {
            Ok(()) => state.end = End::Whole,
            Err(e) => state.failed = Some((e.kind(), e.to_string())),
        }
        shared.changed.notify_all();
        done
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.shared.state.lock().length)
    }

    /// It has the length that it has.
    fn set_len(&self, len: u64) -> io::Result<()> {
        if len == self.len()? { Ok(()) } else { Err(ErrorKind::Unsupported.into()) }
    }

    fn allocate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

impl NewObject for Upload {
    fn give_up(&self) {
        let was = self.stop(End::Gone);
        self.shared.clean_up(was);
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let whole = self.shared.state.lock().end == End::Whole;
        let was = self.stop(if whole { End::Whole } else { End::Gone });
        if !whole {
            self.shared.clean_up(was);
        }
    }
}
