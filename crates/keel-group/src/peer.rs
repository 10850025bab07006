//! [`Peer`]: another instance while a connection to it is up, and the thread that sends.
//!
//! ```text
//!   control (any thread) ─► control buffer ─┐
//!                                           ├─► sender thread ─► link
//!   flush leader ─► lanes.take ─► link  ────┘        ▲
//!                       └─ busy, compressed, no credit: ring the sender's bell
//! ```
//! Order of locks: lanes, then the link's writing right. Whoever takes a block out of a lane holds the lanes until it has
//! the writing right, so blocks of one lane never overtake each other; nobody waits for the network while holding lanes.

use crate::bell::Bell;
use crate::counters::{PeerTotals, add};
use crate::identity::Fingerprint;
use crate::lanes::{Flight, LaneFailure, Lanes, Turn};
use crate::link::{Link, Sent};
use keel_cluster::{GroupDatabaseId, InstanceId};
use keel_transport::limits::SEED_WINDOW_BYTES;
use keel_transport::{Class, Frame, Granting, Heartbeat, PooledBlock, Session};
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How long a seeding thread waits before it looks whether the connection is still there.
const SEED_ROOM_WAIT: Duration = Duration::from_millis(200);

/// Another instance, for as long as one connection lasts.
pub(crate) struct Peer {
    pub(crate) instance: InstanceId,
    pub(crate) name: String,
    /// Which version of the product it runs; `None` for one from before that was told.
    pub(crate) product: Option<String>,
    /// The latest protocol version that both sides speak.
    pub(crate) version: u16,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) link: Link,
    /// Encoded control frames that wait for the sender.
    control: Mutex<Vec<u8>>,
    pub(crate) lanes: Mutex<Lanes>,
    /// Where acknowledgements belong.
    sending: Mutex<HashMap<Session, (GroupDatabaseId, Arc<Flight>)>>,
    pub(crate) bell: Bell,
    /// Seeding frames have left the queue. Waited for with `lanes`.
    seed_room: Condvar,
    /// Credit given to the peer for seeding.
    pub(crate) seed_granting: Mutex<Granting>,
    /// The same for all connections to this instance.
    pub(crate) totals: Arc<PeerTotals>,
    /// `sent` of the peer's last heartbeat; nanoseconds of its clock.
    beat_sent: AtomicU64,
    /// When that came; nanoseconds of the own clock.
    beat_came: AtomicU64,
    /// When the system last had bytes from it, as the pulse saw. What the reader is busy with does not matter.
    heard: Heard,
    /// The pulse found the connection closed or reset.
    gone: AtomicBool,
    /// The last round trip, nanoseconds.
    pub(crate) round_trip: AtomicU64,
}

/// When something was last heard; nanoseconds. Written by the pulse, read by the clock.
#[derive(Default)]
struct Heard {
    at: AtomicU64,
    /// `at` as it was told last.
    told: AtomicU64,
}

/// The system counts silence in its own ticks, so the moment reckoned from it wavers by some milliseconds: moments no further
/// apart than this are one. A fraction of the time between two signs of life.
const SAME_MOMENT_NANOS: u64 = 20_000_000;

impl Heard {
    fn saw(&self, at: u64) {
        self.at.fetch_max(at, Ordering::AcqRel);
    }

    /// Something was heard since this last said so.
    fn is_news(&self) -> bool {
        let at = self.at.load(Ordering::Acquire);
        let news = at > self.told.load(Ordering::Acquire).saturating_add(SAME_MOMENT_NANOS);
        if news {
            self.told.store(at, Ordering::Release);
        }
        news
    }
}

/// What a new connection brings.
pub(crate) struct NewPeer {
    pub(crate) instance: InstanceId,
    pub(crate) name: String,
    pub(crate) product: Option<String>,
    pub(crate) version: u16,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) link: Link,
    pub(crate) totals: Arc<PeerTotals>,
}

impl Peer {
    pub(crate) fn new(new: NewPeer) -> Arc<Peer> {
        Arc::new(Peer {
            instance: new.instance,
            name: new.name,
            product: new.product,
            version: new.version,
            fingerprint: new.fingerprint,
            link: new.link,
            control: Mutex::new(Vec::new()),
            lanes: Mutex::new(Lanes::new()),
            sending: Mutex::new(HashMap::new()),
            bell: Bell::default(),
            seed_room: Condvar::new(),
            seed_granting: Mutex::new(Granting::new(SEED_WINDOW_BYTES)),
            totals: new.totals,
            beat_sent: AtomicU64::new(0),
            beat_came: AtomicU64::new(0),
            heard: Heard::default(),
            gone: AtomicBool::new(false),
            round_trip: AtomicU64::new(0),
        })
    }

    /// Sends a small frame ahead of all bulk that is not yet with the system. Never waits.
    pub(crate) fn send_control(&self, frame: &Frame) {
        frame.encode(&mut self.control.lock());
        add(&self.totals.sends, 1);
        self.bell.ring();
    }

    /// The same on the calling thread if the connection is free, so that no other has to be woken: for acknowledgements.
    pub(crate) fn send_control_now(&self, frame: &Frame) {
        let mut control = self.control.lock();
        frame.encode(&mut control);
        add(&self.totals.sends, 1);
        let Some(mut writer) = self.link.try_begin() else {
            drop(control);
            return self.bell.ring();
        };
        let bytes = std::mem::take(&mut *control);
        drop(control);
        add(&self.totals.sent_bytes, bytes.len() as u64);
        match writer.send_now(&bytes) {
            Ok(true) => {}
            Ok(false) => self.bell.ring(),
            Err(_) => self.link.close(),
        }
    }

    /// Gives a sign of life and takes one, for the pulse: nothing here waits. `frame` is the caller's, to be used again.
    pub(crate) fn pulse(&self, now: u64, frame: &mut Vec<u8>) {
        match self.link.vital_signs() {
            Some(signs) if !signs.open => return self.gone.store(true, Ordering::Release),
            // Its bytes wait for this side's reader: the peer is not the one that is silent.
            Some(signs) if signs.unread => self.heard.saw(now),
            Some(signs) => {
                let silent = u64::try_from(signs.silent.as_nanos()).unwrap_or(u64::MAX);
                self.heard.saw(now.saturating_sub(silent));
            }
            None => {}
        }
        let echo = self.beat_sent.load(Ordering::Acquire);
        let held = now.saturating_sub(self.beat_came.load(Ordering::Acquire));
        frame.clear();
        Frame::Heartbeat(Heartbeat { sent: now, echo, held }).encode(frame);
        match self.link.send_idle(frame) {
            // Somebody is writing: that is a sign of life.
            Ok(Sent::Busy) => {}
            Ok(sent) => {
                add(&self.totals.sends, 1);
                add(&self.totals.sent_bytes, frame.len() as u64);
                if sent == Sent::Part {
                    self.bell.ring();
                }
            }
            Err(_) => self.gone.store(true, Ordering::Release),
        }
    }

    /// A heartbeat of the peer came in.
    pub(crate) fn beat(&self, beat: Heartbeat, now: u64) {
        self.beat_sent.store(beat.sent, Ordering::Release);
        self.beat_came.store(now, Ordering::Release);
        if beat.echo != 0 {
            let away = now.saturating_sub(beat.echo).saturating_sub(beat.held);
            self.round_trip.store(away, Ordering::Relaxed);
        }
    }

    /// The pulse has heard of the peer since the last call.
    pub(crate) fn newly_heard(&self) -> bool {
        self.heard.is_news()
    }

    /// The connection is closed or reset, whether or not the reader has come to see it.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// A flush leader has sealed a block: sends it at once if that needs no waiting, else leaves it to the sender.
    pub(crate) fn offer(&self, database: GroupDatabaseId, block: &PooledBlock, now: u64) {
        let Some(mut lanes) = self.lanes.try_lock() else { return self.bell.ring() };
        let Some(mut writer) = self.link.try_begin() else { return self.bell.ring() };
        let head = match lanes.take(database, block, now) {
            Turn::Nobody => return,
            Turn::Later => return self.bell.ring(),
            Turn::Now(head) => head,
        };
        drop(lanes);
        add(&self.totals.sends, 1);
        add(&self.totals.leader_writes, 1);
        add(&self.totals.sent_bytes, (head.len() + block.stored().len()) as u64);
        match writer.send_pair_now(&head, block.stored()) {
            Ok(true) => {}
            Ok(false) => self.bell.ring(),
            Err(_) => self.link.close(),
        }
    }

    /// Tells commit points that no block has carried lately.
    pub(crate) fn announce(&self) {
        let Some(mut lanes) = self.lanes.try_lock() else { return };
        let mut bytes = Vec::new();
        lanes.announcements(&mut bytes);
        drop(lanes);
        if !bytes.is_empty() {
            self.control.lock().extend_from_slice(&bytes);
            self.bell.ring();
        }
    }

    pub(crate) fn granted(&self, class: Class, total: u64) {
        let mut lanes = self.lanes.lock();
        match class {
            Class::Log => lanes.log_credit.granted(total),
            Class::Seed => lanes.seed_credit.granted(total),
        };
        drop(lanes);
        self.bell.ring();
    }

    pub(crate) fn note_session(&self, session: Session, database: GroupDatabaseId, flight: Arc<Flight>) {
        self.sending.lock().insert(session, (database, flight));
    }

    pub(crate) fn forget_session(&self, session: Session) {
        self.sending.lock().remove(&session);
    }

    /// Queues a seeding frame once fewer than `queued_max` wait. False when the connection has ended.
    pub(crate) fn queue_seed(&self, bytes: Vec<u8>, cost: usize, queued_max: usize) -> bool {
        let mut lanes = self.lanes.lock();
        while lanes.seeds.len() >= queued_max {
            if self.link.is_closed() {
                return false;
            }
            self.seed_room.wait_for(&mut lanes, SEED_ROOM_WAIT);
        }
        lanes.seeds.push_back((bytes, cost));
        drop(lanes);
        self.bell.ring();
        true
    }

    /// Counts seeding bytes that are on disk, or that nobody wants, and gives credit for more.
    pub(crate) fn seed_stored(&self, wire_bytes: usize) {
        let total = self.seed_granting.lock().consumed(wire_bytes);
        if let Some(total) = total {
            self.send_control_now(&Frame::Credit { class: Class::Seed, total });
        }
    }

    /// Which database a session is about, and its blocks on their way.
    pub(crate) fn session(&self, session: Session) -> Option<(GroupDatabaseId, Arc<Flight>)> {
        self.sending.lock().get(&session).cloned()
    }

    /// Blocks on their way for one database.
    pub(crate) fn flight(&self, database: GroupDatabaseId) -> Option<Arc<Flight>> {
        self.sending.lock().values().find(|(d, _)| *d == database).map(|(_, f)| Arc::clone(f))
    }

    /// The body of the sender thread. `now` is the clock in nanoseconds; `failed` is told of lanes that ended.
    pub(crate) fn run_sender(&self, now: impl Fn() -> u64, failed: impl Fn(LaneFailure)) {
        let mut batch = Vec::new();
        while !self.link.is_closed() {
            let began = now();
            self.bell.wait();
            add(&self.totals.idle_waits, 1);
            add(&self.totals.idle_nanos, now().saturating_sub(began));
            if let Err(_gone) = self.send_all(&now, &failed, &mut batch) {
                // The reader sees the end and cleans up.
                self.link.close();
            }
        }
    }

    /// Sends until nothing more may go.
    fn send_all(
        &self,
        now: &impl Fn() -> u64,
        failed: &impl Fn(LaneFailure),
        batch: &mut Vec<u8>,
    ) -> io::Result<()> {
        loop {
            batch.clear();
            let mut lanes = self.lanes.lock();
            batch.append(&mut self.control.lock());
            lanes.gather(now(), &self.totals, batch);
            self.seed_room.notify_all();
            let failures = std::mem::take(&mut lanes.failures);
            let mut writer = self.link.begin();
            drop(lanes);
            let idle = batch.is_empty() && writer.is_drained();
            if !idle {
                add(&self.totals.sender_writes, 1);
                add(&self.totals.sent_bytes, batch.len() as u64);
                writer.send(batch)?;
            }
            drop(writer);
            let none_failed = failures.is_empty();
            failures.into_iter().for_each(failed);
            if idle && none_failed {
                self.totals.wire_sent_bytes.fetch_max(self.link.traffic().0, Ordering::Relaxed);
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_moment_is_news_once_however_it_wavers() {
        let heard = Heard::default();
        let ms = |n: u64| n * 1_000_000;
        heard.saw(ms(1000));
        assert!(heard.is_news());
        for wavers in [998, 1003, 1001, 1007, 1012, 1019] {
            heard.saw(ms(wavers));
            assert!(!heard.is_news());
        }
        heard.saw(ms(1050));
        assert!(heard.is_news());
    }
}
