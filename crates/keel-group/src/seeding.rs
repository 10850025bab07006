//! Seeding: a copy of a database made over the connection.
//!
//! ```text
//!   target                                             source
//!   Want ────────────────────────────────────────────► (allowed by the machine) opens a picture
//!                                     ◄──────────────── Offer: what the picture is
//!   From: where each stream stands ──────────────────►  one thread per stream: chunk, compress, throttle, queue
//!   one thread: chunk to disk, credit back ◄═══════════ chunks, after log in the sender's turns
//!   all streams through: the database opens
//!   Done ─────────────────────────────────────────────► the picture is let go a little later
//! ```
//! * The source rests between chunks so that it takes a [share](crate::share) of the processor that its other work leaves.
//! * A chunk is on the target's disk before its credit goes back, so a slow disk there slows the source and nothing else.
//! * After a break both sides keep what they have for [`KEEP`]: the source its picture, the target its files. The next
//!   Want for the same database is answered with the same picture, and the target says how far each stream got.
//! * What is given up for another reason leaves nothing behind.

use crate::host::Place;
use crate::peer::Peer;
use crate::rate::Rate;
use crate::share::{self, Share};
use crate::shell::Shared;
use crate::throttle::Throttle;
use keel_cluster::{Event, GroupDatabaseId, InstanceId};
use keel_node::{Database, DbError};
use keel_node::{SeedInfo, SeedSink, SeedSource};
use keel_transport::limits::SEED_BYTES_MAX;
use keel_transport::{SeedChunk, compress, frame};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use uuid::Uuid;

/// How long both sides keep what they have after a break, and the source its picture after the end.
const KEEP: Duration = Duration::from_secs(600);
const KEEP_AFTER_END: Duration = Duration::from_secs(30);
/// Streams of one seeding.
const STREAMS: usize = 2;
/// Bytes of a chunk before compression, about.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that wait for the sender, per peer.
const QUEUED_MAX: usize = 6;
/// Ended attempts remembered for views.
const HISTORY_MAX: usize = 64;
/// The machine is told of progress no more often than this.
const REPORT_EVERY: Duration = Duration::from_millis(250);

/// A chunk with a very long row goes in pieces; the first byte of each says whether more follow.
const PIECE_BYTES_MAX: usize = SEED_BYTES_MAX - 1;
/// No chunk is longer: no row is.
const CHUNK_BYTES_MAX: usize = 1 << 30;

const _: () = assert!(CHUNK_BYTES * 2 <= PIECE_BYTES_MAX);

/// What source and target say to each other beside the chunks.
#[derive(Debug, Serialize, Deserialize)]
enum SeedMsg {
    Want { operation: Uuid, database: GroupDatabaseId },
    Offer { operation: Uuid, info: Vec<u8> },
    From { operation: Uuid, positions: Vec<Vec<u8>> },
    Done { operation: Uuid },
    Failed { operation: Uuid, text: String },
}

/// How an attempt stands or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeedingOutcome {
    /// Under way.
    Running,
    /// The copy is whole.
    Completed,
    /// Not, because.
    Failed(String),
}

/// One attempt, for views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedingState {
    /// The attempt; the same on both sides.
    pub operation: Uuid,
    /// The database in its group.
    pub database: GroupDatabaseId,
    /// Its name.
    pub name: String,
    /// The other side.
    pub peer: InstanceId,
    /// This instance sends.
    pub is_source: bool,
    /// How it stands.
    pub outcome: SeedingOutcome,
    /// Nanoseconds since 1970 UTC.
    pub started: i128,
    /// Nanoseconds since 1970 UTC.
    pub ended: Option<i128>,
    /// Bytes of chunks moved so far, those of attempts before that were not sent again included.
    pub done_bytes: u64,
    /// Bytes to move in all, as estimated.
    pub total_bytes: u64,
    /// Bytes that took on the wire.
    pub wire_bytes: u64,
    /// Nanoseconds spent reading (source) or writing (target).
    pub disk_nanos: u64,
    /// Nanoseconds spent waiting for the connection (source).
    pub network_nanos: u64,
    /// Bytes a second since it began.
    pub bytes_per_second: u64,
    /// When it will be done if it goes on as in the last seconds, nanoseconds since 1970 UTC.
    pub estimate: Option<i128>,
}

/// What both kinds of attempt count.
struct Attempt {
    operation: Uuid,
    database: GroupDatabaseId,
    name: String,
    peer: InstanceId,
    is_source: bool,
    started: i128,
    began: Duration,
    total: AtomicU64,
    done: AtomicU64,
    /// What of `done` came from an earlier attempt.
    before: AtomicU64,
    wire: AtomicU64,
    disk_nanos: AtomicU64,
    network_nanos: AtomicU64,
    reported: Mutex<Duration>,
    rate: Mutex<Rate>,
    ended: AtomicBool,
}

impl Attempt {
    fn shown(&self, shared: &Shared, outcome: SeedingOutcome) -> SeedingState {
        let load = |a: &AtomicU64| a.load(Ordering::Relaxed);
        let (done, total) = (load(&self.done), load(&self.total));
        let took = shared.now().saturating_sub(self.began).as_secs_f64();
        let moved = done.saturating_sub(load(&self.before));
        let rate = if took > 0.0 { moved as f64 / took } else { 0.0 };
        let lately = self.rate.lock().per_second().unwrap_or(rate);
        let now = shared.env.clock.unix_nanos();
        let running = outcome == SeedingOutcome::Running;
        let left = total.saturating_sub(done) as f64;
        SeedingState {
            operation: self.operation,
            database: self.database,
            name: self.name.clone(),
            peer: self.peer,
            is_source: self.is_source,
            outcome,
            started: self.started,
            ended: (!running).then_some(now),
            done_bytes: done,
            total_bytes: total,
            wire_bytes: load(&self.wire),
            disk_nanos: load(&self.disk_nanos),
            network_nanos: load(&self.network_nanos),
            bytes_per_second: rate as u64,
            estimate: (running && lately > 0.0).then(|| now + (left / lately * 1e9) as i128),
        }
    }
}

/// A picture on its way to one peer.
struct Source {
    attempt: Attempt,
    picture: Arc<SeedSource>,
    streams_left: AtomicU32,
}

/// A copy being made here.
struct Target {
    attempt: Attempt,
    place: Place,
    chunks: Mutex<Option<mpsc::Sender<Job>>>,
    /// Held by the thread that writes while it may touch the place.
    writing: Mutex<()>,
}

enum Job {
    Offer(Vec<u8>),
    Chunk(SeedChunk),
}

/// To whom, and what.
type Errand = (InstanceId, GroupDatabaseId);

/// All seedings of an instance.
#[derive(Default)]
pub(crate) struct Seedings {
    /// The machine allowed these to be copied to that peer.
    allowed: Mutex<BTreeMap<Errand, Option<Uuid>>>,
    sources: Mutex<HashMap<Uuid, Arc<Source>>>,
    /// Pictures kept for another attempt, with the time until which.
    pictures: Mutex<BTreeMap<Errand, (Arc<SeedSource>, Duration)>>,
    targets: Mutex<HashMap<Uuid, Arc<Target>>>,
    /// Places with half a copy, kept for another attempt.
    places: Mutex<BTreeMap<GroupDatabaseId, (Arc<Target>, Duration)>>,
    history: Mutex<VecDeque<SeedingState>>,
    /// Bytes a second of one seeding; 0 without a limit.
    pub(crate) rate_max: AtomicU64,
    /// Processor time of all seedings from here together.
    pub(crate) share: Mutex<Share>,
}

impl Seedings {
    /// Whether a copy of this database is being made here.
    pub(crate) fn is_target(&self, database: GroupDatabaseId) -> bool {
        self.targets.lock().values().any(|t| t.attempt.database == database)
    }

    fn remember(&self, state: SeedingState) {
        let mut history = self.history.lock();
        history.push_back(state);
        if history.len() > HISTORY_MAX {
            history.pop_front();
        }
    }
}

impl Shared {
    fn send_seed_msg(&self, peer: &Peer, msg: &SeedMsg) {
        let body = postcard::to_stdvec(msg).expect("writing to a vector cannot fail");
        self.send_seeding(peer, &body);
    }

    fn attempt(
        &self,
        operation: Uuid,
        database: GroupDatabaseId,
        name: String,
        peer: InstanceId,
        is_source: bool,
    ) -> Attempt {
        Attempt {
            operation,
            database,
            name,
            peer,
            is_source,
            started: self.env.clock.unix_nanos(),
            began: self.now(),
            total: AtomicU64::new(0),
            done: AtomicU64::new(0),
            before: AtomicU64::new(0),
            wire: AtomicU64::new(0),
            disk_nanos: AtomicU64::new(0),
            network_nanos: AtomicU64::new(0),
            reported: Mutex::new(Duration::ZERO),
            rate: Mutex::default(),
            ended: AtomicBool::new(false),
        }
    }

    fn report(self: &Arc<Self>, attempt: &Attempt) {
        {
            let mut reported = attempt.reported.lock();
            if self.now() < *reported + REPORT_EVERY {
                return;
            }
            *reported = self.now();
        }
        let (done, total) = (attempt.done.load(Ordering::Relaxed), attempt.total.load(Ordering::Relaxed));
        attempt.rate.lock().tell(done, self.now());
        self.step(Event::SeedProgress { peer: attempt.peer, database: attempt.database, done, total });
    }

    /// Running and past attempts, newest last.
    pub(crate) fn seeding_states(&self) -> Vec<SeedingState> {
        let mut states: Vec<SeedingState> = self.seedings.history.lock().iter().cloned().collect();
        let sources = self.seedings.sources.lock();
        states.extend(sources.values().map(|s| s.attempt.shown(self, SeedingOutcome::Running)));
        drop(sources);
        let targets = self.seedings.targets.lock();
        states.extend(targets.values().map(|t| t.attempt.shown(self, SeedingOutcome::Running)));
        states
    }

    /// A message about seeding came. False when it cannot be read.
    pub(crate) fn seeding_message(self: &Arc<Self>, peer: &Arc<Peer>, body: &[u8]) -> bool {
        let Ok(msg) = postcard::from_bytes::<SeedMsg>(body) else { return false };
        match msg {
            SeedMsg::Want { operation, database } => self.seed_wanted(peer, operation, database),
            SeedMsg::Offer { operation, info } => self.to_target(peer, operation, Job::Offer(info)),
            SeedMsg::From { operation, positions } => self.start_streams(peer, operation, positions),
            SeedMsg::Done { operation } => {
                if let Some(source) = self.source(peer.instance, operation) {
                    self.end_source(&source, SeedingOutcome::Completed);
                }
            }
            SeedMsg::Failed { operation, text } => {
                if let Some(source) = self.source(peer.instance, operation) {
                    self.end_source(&source, SeedingOutcome::Failed(text));
                } else if let Some(target) = self.target(peer.instance, operation) {
                    self.end_target(&target, &text, true);
                }
            }
        }
        true
    }

    // ---- the source -------------------------------------------------------------------------------------------------

    /// The machine allows a copy to be sent.
    pub(crate) fn seed(self: &Arc<Self>, peer: InstanceId, database: GroupDatabaseId) {
        let wanted = self.seedings.allowed.lock().insert((peer, database), None).flatten();
        if let (Some(operation), Some(peer)) = (wanted, self.peer(peer)) {
            self.seed_wanted(&peer, operation, database);
        }
    }

    fn seed_wanted(self: &Arc<Self>, peer: &Arc<Peer>, operation: Uuid, database: GroupDatabaseId) {
        let running: Vec<_> = self.seedings.sources.lock().values().cloned().collect();
        let running =
            running.iter().find(|s| (s.attempt.peer, s.attempt.database) == (peer.instance, database));
        if let Some(source) = running {
            // The target has begun anew: what is on its way is of no use.
            self.put_by(source, SeedingOutcome::Failed("the target began anew".into()));
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
        let spawned = self.spawn("seeding", move |shared| shared.open_source(&peer, operation, database));
        if let Err(error) = spawned {
            self.note(Some(database), &format!("Seeding could not start: {error}"));
        }
    }

    fn open_source(self: &Arc<Self>, peer: &Arc<Peer>, operation: Uuid, database: GroupDatabaseId) {
        let opened = self.picture(peer.instance, database);
        match opened {
            Ok((name, picture)) => {
                let attempt = self.attempt(operation, database, name, peer.instance, true);
                attempt.total.store(picture.info().bytes, Ordering::Relaxed);
                let info = picture.info().encode();
                let source = Source { attempt, picture, streams_left: AtomicU32::new(0) };
                self.seedings.sources.lock().insert(operation, Arc::new(source));
                self.send_seed_msg(peer, &SeedMsg::Offer { operation, info });
            }
            Err(text) => {
                let attempt = self.attempt(operation, database, String::new(), peer.instance, true);
                self.seedings.remember(attempt.shown(self, SeedingOutcome::Failed(text.clone())));
                self.note(Some(database), &format!("The database cannot be seeded: {text}"));
                self.send_seed_msg(peer, &SeedMsg::Failed { operation, text });
                self.step(Event::SeedEnded { peer: peer.instance, database, completed: false });
            }
        }
    }

    fn picture(
        &self,
        peer: InstanceId,
        database: GroupDatabaseId,
    ) -> Result<(String, Arc<SeedSource>), String> {
        let copy = self.copy(database).ok_or("it is not open here")?;
        let mut pictures = self.seedings.pictures.lock();
        // One whose log was given back meanwhile is of no use: the copy could not go on from there.
        if let Some((picture, _)) = pictures.remove(&(peer, database))
            && picture.info().log_start >= copy.log().truncated()
        {
            return Ok((copy.name.clone(), picture));
        }
        drop(pictures);
        let holder = format!("seeding {peer}");
        let picture = SeedSource::open(&copy.db, &holder, STREAMS).map_err(|e| e.to_string())?;
        Ok((copy.name.clone(), Arc::new(picture)))
    }

    fn source(&self, peer: InstanceId, operation: Uuid) -> Option<Arc<Source>> {
        self.seedings.sources.lock().get(&operation).filter(|s| s.attempt.peer == peer).cloned()
    }

    fn start_streams(self: &Arc<Self>, peer: &Arc<Peer>, operation: Uuid, positions: Vec<Vec<u8>>) {
        let Some(source) = self.source(peer.instance, operation) else { return };
        let streams = source.picture.info().streams();
        if positions.len() != streams || source.streams_left.load(Ordering::Acquire) != 0 {
            return self.end_source(&source, SeedingOutcome::Failed("the target lost its way".into()));
        }
        source.streams_left.store(u32::try_from(streams).unwrap_or(u32::MAX), Ordering::Release);
        let throttle = Arc::new(Mutex::new(Throttle::new(self.seedings.rate_max.load(Ordering::Relaxed))));
        for (stream, after) in positions.into_iter().enumerate() {
            let (peer, source, throttle) = (Arc::clone(peer), Arc::clone(&source), Arc::clone(&throttle));
            let ending = Arc::clone(&source);
            let spawned = self.spawn("seeding", move |shared| {
                let sent = shared.send_stream(&peer, &source, stream, after, &throttle);
                if let Err(text) = sent {
                    shared.send_seed_msg(&peer, &SeedMsg::Failed { operation, text: text.clone() });
                    shared.end_source(&source, SeedingOutcome::Failed(text));
                }
            });
            if let Err(error) = spawned {
                return self.end_source(&ending, SeedingOutcome::Failed(error.to_string()));
            }
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

    fn end_source(self: &Arc<Self>, source: &Arc<Source>, outcome: SeedingOutcome) {
        let completed = outcome == SeedingOutcome::Completed;
        if self.put_by(source, outcome) {
            let (peer, database) = (source.attempt.peer, source.attempt.database);
            self.step(Event::SeedEnded { peer, database, completed });
        }
    }

    /// Ends an attempt and keeps its picture; false when it had ended already. The log from the picture on is held until
    /// the copy has begun to follow, or for another attempt.
    fn put_by(&self, source: &Arc<Source>, outcome: SeedingOutcome) -> bool {
        let attempt = &source.attempt;
        if attempt.ended.swap(true, Ordering::AcqRel) {
            return false;
        }
        self.seedings.sources.lock().remove(&attempt.operation);
        let keep = if outcome == SeedingOutcome::Completed { KEEP_AFTER_END } else { KEEP };
        let key = (attempt.peer, attempt.database);
        self.seedings.pictures.lock().insert(key, (Arc::clone(&source.picture), self.now() + keep));
        self.seedings.remember(attempt.shown(self, outcome));
        true
    }

    // ---- the target -------------------------------------------------------------------------------------------------

    /// The machine wants a copy made here.
    pub(crate) fn expect_seed(self: &Arc<Self>, peer: InstanceId, database: GroupDatabaseId) {
        let spawned = self.spawn("seeding", move |shared| shared.begin_target(peer, database));
        if let Err(error) = spawned {
            self.note(Some(database), &format!("Seeding could not start: {error}"));
        }
    }

    fn begin_target(self: &Arc<Self>, peer: InstanceId, database: GroupDatabaseId) {
        let named = self.named(database);
        let peer_now = self.peer(peer);
        let (Some(name), Some(peer_now)) = (named, peer_now) else {
            return self.step(Event::SeedEnded { peer, database, completed: false });
        };
        self.close_copy(database);
        let kept = self.kept_place(database);
        let place = match kept.map_or_else(|| self.host.place(&name), Ok) {
            Ok(place) => place,
            Err(text) => {
                self.note(Some(database), &format!("{name} cannot be seeded here: {text}"));
                let attempt = self.attempt(Uuid::nil(), database, name, peer, false);
                self.seedings.remember(attempt.shown(self, SeedingOutcome::Failed(text)));
                return self.step(Event::SeedEnded { peer, database, completed: false });
            }
        };
        let mut bytes = [0; 16];
        self.env.random.fill(&mut bytes);
        let operation = uuid::Builder::from_random_bytes(bytes).into_uuid();
        let (jobs, work) = mpsc::channel();
        let attempt = self.attempt(operation, database, name, peer, false);
        let (chunks, writing) = (Mutex::new(Some(jobs)), Mutex::new(()));
        let target = Arc::new(Target { attempt, place, chunks, writing });
        self.seedings.targets.lock().insert(operation, Arc::clone(&target));
        self.send_seed_msg(&peer_now, &SeedMsg::Want { operation, database });
        // This thread goes on as the one that writes.
        let written = {
            let _writing = target.writing.lock();
            self.write_target(&peer_now, &target, &work)
        };
        if let Err(text) = written {
            self.send_seed_msg(&peer_now, &SeedMsg::Failed { operation, text: text.clone() });
            self.end_target(&target, &text, true);
        }
    }

    /// The place with half a copy of an attempt before, which is over when this returns.
    fn kept_place(self: &Arc<Self>, database: GroupDatabaseId) -> Option<Place> {
        let running: Vec<_> = self.seedings.targets.lock().values().cloned().collect();
        for target in running.iter().filter(|t| t.attempt.database == database) {
            self.end_target(target, "another attempt began", false);
        }
        let (kept, _) = self.seedings.places.lock().remove(&database)?;
        drop(kept.writing.lock());
        Some(kept.place.clone())
    }

    fn named(&self, database: GroupDatabaseId) -> Option<String> {
        let machine = self.machine.lock();
        machine.configs().flat_map(|c| &c.databases).find(|d| d.id == database).map(|d| d.name.clone())
    }

    fn write_target(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        target: &Arc<Target>,
        work: &mpsc::Receiver<Job>,
    ) -> Result<(), String> {
        let attempt = &target.attempt;
        let operation = attempt.operation;
        let mut sink: Option<(SeedSink, usize)> = None;
        // Chunks of which only some pieces are here, by stream.
        let mut begun: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        while let Ok(job) = work.recv() {
            match (job, &mut sink) {
                (Job::Offer(info), None) => {
                    let info = SeedInfo::decode(&info).ok_or("the offer cannot be read")?;
                    attempt.total.store(info.bytes, Ordering::Relaxed);
                    let place = &target.place;
                    let made =
                        SeedSink::create(&place.instance, place.id, &place.dir, &info).map_err(text_of)?;
                    let streams = info.streams();
                    let positions: Result<Vec<_>, _> = (0..streams).map(|s| made.position(s)).collect();
                    let positions = positions.map_err(text_of)?;
                    sink = Some((made, streams));
                    self.send_seed_msg(peer, &SeedMsg::From { operation, positions });
                }
                (Job::Chunk(chunk), Some((made, streams_left))) => {
                    let last = self.write_chunk(attempt, made, &chunk, &mut begun)?;
                    peer.seed_stored(chunk.wire_bytes);
                    self.report(attempt);
                    *streams_left -= usize::from(last);
                    if *streams_left == 0 {
                        let (made, _) = sink.take().expect("it is there");
                        return self.complete_target(peer, target, made);
                    }
                }
                (Job::Offer(_), Some(_)) => return Err("a second offer came".into()),
                (Job::Chunk(_), None) => return Err("a chunk came before the offer".into()),
            }
        }
        // The channel was closed by whoever ended the attempt.
        Ok(())
    }

    /// Takes a frame; true when it completed the last chunk of its stream.
    fn write_chunk(
        &self,
        attempt: &Attempt,
        sink: &SeedSink,
        frame: &SeedChunk,
        begun: &mut BTreeMap<u32, Vec<u8>>,
    ) -> Result<bool, String> {
        let (more, piece) = frame.payload.split_first().ok_or("an empty chunk came")?;
        let mut whole = begun.remove(&frame.stream).unwrap_or_default();
        whole.extend_from_slice(piece);
        attempt.done.fetch_add(frame.payload.len() as u64, Ordering::Relaxed);
        attempt.wire.fetch_add(frame.wire_bytes as u64, Ordering::Relaxed);
        if whole.len() > CHUNK_BYTES_MAX {
            return Err("a chunk is too long".into());
        }
        if *more != 0 {
            begun.insert(frame.stream, whole);
            return Ok(false);
        }
        let began = self.nanos();
        let last = sink.apply(&whole).map_err(text_of)?;
        attempt.disk_nanos.fetch_add(self.nanos() - began, Ordering::Relaxed);
        Ok(last)
    }

    fn complete_target(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        target: &Arc<Target>,
        sink: SeedSink,
    ) -> Result<(), String> {
        let attempt = &target.attempt;
        let db: Arc<Database> = sink.finish(&target.place.options).map_err(text_of)?;
        if attempt.ended.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.seedings.remember(attempt.shown(self, SeedingOutcome::Completed));
        if let Err(text) = self.host.seeded(&attempt.name, &target.place, &db) {
            self.note(
                Some(attempt.database),
                &format!("{} was seeded but cannot be used: {text}", attempt.name),
            );
        }
        self.registry.write().insert(attempt.name.to_uppercase(), (attempt.name.clone(), db));
        self.seedings.targets.lock().remove(&attempt.operation);
        self.send_seed_msg(peer, &SeedMsg::Done { operation: attempt.operation });
        // The machine learns of the open copy first: without one it would ask for another.
        self.bind();
        self.step(Event::SeedEnded { peer: attempt.peer, database: attempt.database, completed: true });
        Ok(())
    }

    fn target(&self, peer: InstanceId, operation: Uuid) -> Option<Arc<Target>> {
        self.seedings.targets.lock().get(&operation).filter(|t| t.attempt.peer == peer).cloned()
    }

    fn to_target(&self, peer: &Peer, operation: Uuid, job: Job) {
        let Some(target) = self.target(peer.instance, operation) else { return };
        let chunks = target.chunks.lock();
        // Nobody takes it when the attempt has just ended.
        let _ = chunks.as_ref().map(|chunks| chunks.send(job));
    }

    /// A chunk came.
    pub(crate) fn seed_chunk(&self, peer: &Peer, chunk: SeedChunk) {
        let operation = Uuid::from_bytes(chunk.operation);
        if self.target(peer.instance, operation).is_none() {
            return peer.seed_stored(chunk.wire_bytes);
        }
        self.to_target(peer, operation, Job::Chunk(chunk));
    }

    /// Ends an attempt that did not succeed. With `clean` nothing stays; otherwise the files wait for another attempt.
    fn end_target(self: &Arc<Self>, target: &Arc<Target>, text: &str, clean: bool) {
        let attempt = &target.attempt;
        if attempt.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        target.chunks.lock().take();
        self.seedings.targets.lock().remove(&attempt.operation);
        // What is to be cleaned is cleaned at the next tidying, when nobody writes to it any more.
        let until = if clean { Duration::ZERO } else { self.now() + KEEP };
        self.seedings.places.lock().insert(attempt.database, (Arc::clone(target), until));
        self.seedings.remember(attempt.shown(self, SeedingOutcome::Failed(text.to_owned())));
        self.note(Some(attempt.database), &format!("Seeding of {} ended: {text}", attempt.name));
        let (peer, database) = (attempt.peer, attempt.database);
        self.step(Event::SeedEnded { peer, database, completed: false });
    }

    fn clean(&self, target: &Target) {
        let (database, name, place) = (target.attempt.database, &target.attempt.name, &target.place);
        let _nobody_writes = target.writing.lock();
        if let Err(error) = Database::remove(&place.instance, &place.dir) {
            self.note(Some(database), &format!("What was left of {name} could not be removed: {error}"));
        }
        self.host.seeding_ended(name, place);
    }

    // ---- both -------------------------------------------------------------------------------------------------------

    /// A connection broke: attempts over it end, and may go on from where they are over the next.
    pub(crate) fn seeding_peer_gone(self: &Arc<Self>, peer: InstanceId) {
        self.seedings.allowed.lock().retain(|(p, _), _| *p != peer);
        let sources: Vec<_> = self.seedings.sources.lock().values().cloned().collect();
        for source in sources.iter().filter(|s| s.attempt.peer == peer) {
            self.end_source(source, SeedingOutcome::Failed("the connection broke".into()));
        }
        let targets: Vec<_> = self.seedings.targets.lock().values().cloned().collect();
        for target in targets.iter().filter(|t| t.attempt.peer == peer) {
            self.end_target(target, "the connection broke", false);
        }
    }

    /// Lets go of what was kept long enough, and of copies that are no longer wanted.
    pub(crate) fn tidy_seedings(self: &Arc<Self>) {
        let now = self.now();
        self.seedings.pictures.lock().retain(|_, (_, until)| *until > now);
        let wanted: Vec<GroupDatabaseId> = {
            let machine = self.machine.lock();
            machine.configs().flat_map(|c| c.databases.iter().map(|d| d.id)).collect()
        };
        let stale: Vec<_> = {
            let mut places = self.seedings.places.lock();
            let stale =
                places.extract_if(.., |database, (_, until)| *until <= now || !wanted.contains(database));
            stale.collect()
        };
        stale.iter().for_each(|(_, (target, _))| self.clean(target));
        let targets: Vec<_> = self.seedings.targets.lock().values().cloned().collect();
        for target in targets.iter().filter(|t| !wanted.contains(&t.attempt.database)) {
            self.end_target(target, "the database is no longer in the group", true);
        }
    }
}

fn text_of(error: DbError) -> String {
    error.to_string()
}
