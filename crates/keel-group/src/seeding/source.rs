//! The source of a seeding: a picture of the database, sent in chunks by a thread per stream.

use super::{
    ANEW, Attempt, BROKE, CHUNK_BYTES, KEEP, KEEP_AFTER_END, PIECE_BYTES_MAX, QUEUED_MAX, STREAMS, SeedMsg,
    SeedingOutcome, Source, may_go_on, text_of,
};
use crate::peer::Peer;
use crate::share;
use crate::shell::Shared;
use crate::throttle::Throttle;
use keel_cluster::{Event, GroupDatabaseId, InstanceId};
use keel_node::SeedSource;
use keel_transport::{compress, frame};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use uuid::Uuid;

impl Shared {
    /// The machine allows a copy to be sent.
    pub(crate) fn seed(self: &Arc<Self>, peer: InstanceId, database: GroupDatabaseId) {
        let wanted = self.seedings.allowed.lock().insert((peer, database), None).flatten();
        if let (Some(operation), Some(peer)) = (wanted, self.peer(peer)) {
            self.seed_wanted(&peer, operation, database);
        }
    }

    pub(super) fn seed_wanted(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        operation: Uuid,
        database: GroupDatabaseId,
    ) {
        let running: Vec<_> = self.seedings.sources.lock().values().cloned().collect();
        let running =
            running.iter().find(|s| (s.attempt.peer, s.attempt.database) == (peer.instance, database));
        if let Some(source) = running {
            // The target has begun anew: what is on its way is of no use.
            self.put_by(source, SeedingOutcome::Failed(ANEW.into()));
        } else {
            let mut allowed = self.seedings.allowed.lock();
            let key = (peer.instance, database);
            if allowed.get(&key) != Some(&None) {
                // The machine has not allowed it yet: it will, or not.
                allowed.insert(key, Some(operation));
                return;
            }
            allowed.remove(&key);
        }
        let peer = Arc::clone(peer);
        // Opening a picture takes a checkpoint.
        self.spawn_attempt((peer.instance, database), move |shared| {
            shared.open_source(&peer, operation, database);
        });
    }

    fn open_source(self: &Arc<Self>, peer: &Arc<Peer>, operation: Uuid, database: GroupDatabaseId) {
        let opened = self.picture(peer.instance, database);
        match opened {
            Ok((name, picture)) => {
                let attempt = self.attempt(operation, database, name, peer.instance, true);
                attempt.total.store(picture.info().bytes, Ordering::Relaxed);
                let info = picture.info().encode();
                let source = Arc::new(Source { attempt, picture, streams_left: AtomicU32::new(0) });
                self.seedings.sources.lock().insert(operation, Arc::clone(&source));
                self.send_seed_msg(peer, &SeedMsg::Offer { operation, info });
                if !self.is_current(peer) {
                    // The connection broke before this attempt could be found among those over it.
                    self.put_by(&source, SeedingOutcome::Failed(BROKE.into()));
                }
            }
            Err(text) => {
                let name = self.named(database).unwrap_or_default();
                let attempt = self.attempt(operation, database, name, peer.instance, true);
                self.seedings.remember(attempt.shown(self, SeedingOutcome::Failed(text.clone())));
                self.note(Some(database), &format!("The database cannot be seeded: {text}"));
                self.send_seed_msg(peer, &SeedMsg::Failed { operation, text });
                self.step(Event::SeedEnded { peer: peer.instance, database, completed: false });
            }
        }
    }

    /// A target has no place for the copy: whoever looks at the source wants to know.
    pub(super) fn seed_refused(
        self: &Arc<Self>,
        peer: InstanceId,
        operation: Uuid,
        database: GroupDatabaseId,
        text: String,
    ) {
        // Nobody waits for it, say because the role went elsewhere meanwhile.
        if self.seedings.allowed.lock().remove(&(peer, database)).is_none() {
            return;
        }
        let name = self.named(database).unwrap_or_default();
        let attempt = self.attempt(operation, database, name, peer, true);
        self.seedings.remember(attempt.shown(self, SeedingOutcome::Failed(text)));
        self.step(Event::SeedEnded { peer, database, completed: false });
    }

    fn picture(
        &self,
        peer: InstanceId,
        database: GroupDatabaseId,
    ) -> Result<(String, Arc<SeedSource>), String> {
        let copy = self.copy(database).ok_or("it is not open here")?;
        let mut pictures = self.seedings.pictures.lock();
        // One whose log was given back meanwhile is of no use: the copy could not go on from there. Nor is one of a copy that was here
        // before this one, perhaps with another history.
        if let Some((picture, _)) = pictures.remove(&(peer, database))
            && picture.is_of(&copy.db)
            && picture.info().log_start >= copy.log().truncated()
        {
            return Ok((copy.name.clone(), picture));
        }
        drop(pictures);
        let holder = format!("seeding {peer}");
        let picture = SeedSource::open(&copy.db, &holder, STREAMS).map_err(|e| e.to_string())?;
        Ok((copy.name.clone(), Arc::new(picture)))
    }

    pub(super) fn source(&self, peer: InstanceId, operation: Uuid) -> Option<Arc<Source>> {
        self.seedings.sources.lock().get(&operation).filter(|s| s.attempt.peer == peer).cloned()
    }

    pub(super) fn start_streams(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        operation: Uuid,
        positions: Vec<Vec<u8>>,
    ) {
        let Some(source) = self.source(peer.instance, operation) else { return };
        let streams = source.picture.info().streams();
        if positions.len() != streams || source.streams_left.load(Ordering::Acquire) != 0 {
            return self.end_source(&source, SeedingOutcome::Failed("the target lost its way".into()));
        }
        source.streams_left.store(u32::try_from(streams).unwrap_or(u32::MAX), Ordering::Release);
        let throttle = Arc::new(Mutex::new(Throttle::new(self.seedings.rate_max.load(Ordering::Relaxed))));
        for (stream, after) in positions.into_iter().enumerate() {
            let (peer, source, throttle) = (Arc::clone(peer), Arc::clone(&source), Arc::clone(&throttle));
            self.spawn_attempt((peer.instance, source.attempt.database), move |shared| {
                let sent = shared.send_stream(&peer, &source, stream, after, &throttle);
                if let Err(text) = sent {
                    shared.send_seed_msg(&peer, &SeedMsg::Failed { operation, text: text.clone() });
                    shared.end_source(&source, SeedingOutcome::Failed(text));
                }
            });
        }
    }

    fn send_stream(
        self: &Arc<Self>,
        peer: &Peer,
        source: &Source,
        stream: usize,
        mut after: Vec<u8>,
        throttle: &Mutex<Throttle>,
    ) -> Result<(), String> {
        let attempt = &source.attempt;
        let pack = self.compression.read().seeding;
        for number in 0.. {
            if attempt.ended.load(Ordering::Acquire) || peer.link.is_closed() {
                return Ok(());
            }
            let (began, worked) = (self.nanos(), share::thread_time());
            let (chunk, goes_on_after) =
                source.picture.chunk(stream, &after, CHUNK_BYTES).map_err(text_of)?;
            attempt.disk_nanos.fetch_add(self.nanos() - began, Ordering::Relaxed);
            let mut pieces = chunk.chunks(PIECE_BYTES_MAX).peekable();
            while let Some(piece) = pieces.next() {
                let more = pieces.peek().is_some();
                let payload = [&[u8::from(more)], piece].concat();
                if !self.send_piece(peer, attempt, (stream, number), &payload, throttle, pack) {
                    return Ok(());
                }
            }
            self.report(attempt);
            match goes_on_after {
                Some(key) => after = key,
                None => return Ok(()),
            }
            self.rest_after(share::thread_time().saturating_sub(worked));
        }
        Ok(())
    }

    /// Gives way to the instance's other work after so much processor time.
    fn rest_after(&self, worked: Duration) {
        let now = self.now();
        let mut share = self.seedings.share.lock();
        if share.is_due(now) {
            share.look(share::used(), now);
        }
        let rest = share.spend(worked, now);
        drop(share);
        if !rest.is_zero() {
            thread::park_timeout(rest);
        }
    }

    /// Queues one frame as fast as throttle and peer allow. False when the connection has ended.
    fn send_piece(
        &self,
        peer: &Peer,
        attempt: &Attempt,
        (stream, number): (usize, u64),
        payload: &[u8],
        throttle: &Mutex<Throttle>,
        pack: bool,
    ) -> bool {
        let packed = if pack { compress::compress(payload) } else { None };
        let mut bytes = Vec::with_capacity(packed.as_ref().map_or(payload.len(), Vec::len) + 64);
        let operation = *attempt.operation.as_bytes();
        let index = u32::try_from(stream).unwrap_or(u32::MAX);
        let cost = frame::encode_seed(&mut bytes, operation, index, number, payload, packed.as_deref());
        let pause = throttle.lock().spend(cost, self.now());
        if !pause.is_zero() {
            thread::park_timeout(pause);
        }
        let began = self.nanos();
        let queued = peer.queue_seed(bytes, cost, QUEUED_MAX);
        attempt.network_nanos.fetch_add(self.nanos() - began, Ordering::Relaxed);
        attempt.done.fetch_add(payload.len() as u64, Ordering::Relaxed);
        attempt.wire.fetch_add(cost as u64, Ordering::Relaxed);
        queued
    }

    pub(super) fn end_source(self: &Arc<Self>, source: &Arc<Source>, outcome: SeedingOutcome) {
        let completed = outcome == SeedingOutcome::Completed;
        if self.put_by(source, outcome) {
            let (peer, database) = (source.attempt.peer, source.attempt.database);
            self.step(Event::SeedEnded { peer, database, completed });
        }
    }

    /// Ends an attempt; false when it had ended already. Its picture is kept, and the log from there on held, until the copy
    /// has begun to follow; or for another attempt that [may go on](may_go_on) with it.
    pub(super) fn put_by(&self, source: &Arc<Source>, outcome: SeedingOutcome) -> bool {
        let attempt = &source.attempt;
        if attempt.ended.swap(true, Ordering::AcqRel) {
            return false;
        }
        self.seedings.sources.lock().remove(&attempt.operation);
        let keep = match &outcome {
            SeedingOutcome::Completed => Some(KEEP_AFTER_END),
            SeedingOutcome::Failed(why) => may_go_on(why).then_some(KEEP),
            SeedingOutcome::Running => None,
        };
        if let Some(keep) = keep {
            let key = (attempt.peer, attempt.database);
            self.seedings.pictures.lock().insert(key, (Arc::clone(&source.picture), self.now() + keep));
        }
        self.seedings.remember(attempt.shown(self, outcome));
        true
    }
}
