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
//! * A chunk is on the target's disk before its credit goes back, so a slow disk there slows the source and nothing else. Those that
//!   came while the disk was busy are written together.
//! * After a break both sides keep what they have for [`KEEP`]: the source its picture, the target its files. The next
//!   Want for the same database is answered with the same picture, and the target says how far each stream got.
//! * What is given up for another reason leaves nothing behind. An offer that nobody waits for any more is refused.

mod source;
mod target;

use crate::host::Place;
use crate::peer::Peer;
use crate::rate::Rate;
use crate::share::Share;
use crate::shell::Shared;
use keel_base::panics;
use keel_cluster::{Event, GroupDatabaseId, GroupId, InstanceId};
use keel_node::{DbError, SeedSource};
use keel_transport::SeedChunk;
use keel_transport::limits::SEED_BYTES_MAX;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
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
/// Chunks of this many bytes are written together, and a last one.
const TOGETHER_BYTES_MAX: usize = 16 << 20;
/// No chunk is longer: no row is.
const CHUNK_BYTES_MAX: usize = 1 << 30;

/// Why an attempt ends that the machine wants no longer.
const STOPPED: &str = "it was stopped";
/// Why it ends when its connection does.
const BROKE: &str = "the connection broke";
/// Why it ends when the target begins another.
const ANEW: &str = "the target began anew";

/// Whether another attempt may go on with what one had that ended for this reason: its picture, its files. Nothing is wrong with
/// them then. The peer gives its reasons in the same words.
fn may_go_on(why: &str) -> bool {
    [STOPPED, BROKE, ANEW].contains(&why)
}

const _: () = assert!(CHUNK_BYTES * 2 <= PIECE_BYTES_MAX);

/// What source and target say to each other beside the chunks.
#[derive(Debug, Serialize, Deserialize)]
enum SeedMsg {
    Want {
        operation: Uuid,
        database: GroupDatabaseId,
    },
    Offer {
        operation: Uuid,
        info: Vec<u8>,
    },
    From {
        operation: Uuid,
        positions: Vec<Vec<u8>>,
    },
    Done {
        operation: Uuid,
    },
    Failed {
        operation: Uuid,
        text: String,
    },
    /// The target cannot begin: it has no place for the copy.
    Refused {
        operation: Uuid,
        database: GroupDatabaseId,
        text: String,
    },
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
    /// Starts a thread of an attempt. When there is none to be had, or it panics, the attempt is over and nothing else.
    fn spawn_attempt(
        self: &Arc<Self>,
        (peer, database): Errand,
        body: impl FnOnce(&Arc<Shared>) + Send + 'static,
    ) {
        let spawned = self.spawn("seeding", move |shared| {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(&shared))) {
                let what = format!("a system assertion check has failed: {}", panics::text(&*panic));
                shared.attempt_broke((peer, database), &what);
            }
        });
        if let Err(error) = spawned {
            let (shared, what) = (Arc::clone(self), error.to_string());
            // The machine's lock may be held here.
            self.work.give(GroupId(Uuid::nil()), move || shared.attempt_broke((peer, database), &what));
        }
    }

    /// Whoever makes a copy, here or there, and the machine, which tries again, hear that it comes to nothing.
    fn attempt_broke(self: &Arc<Self>, errand: Errand, what: &str) {
        let (peer, database) = errand;
        self.note(Some(database), &format!("Seeding failed: {what}"));
        let of = |a: &Attempt| (a.peer, a.database) == errand;
        let sources: Vec<_> = self.seedings.sources.lock().values().cloned().collect();
        let targets: Vec<_> = self.seedings.targets.lock().values().cloned().collect();
        let mut over = Vec::new();
        for source in sources.iter().filter(|s| of(&s.attempt)) {
            self.put_by(source, SeedingOutcome::Failed(what.to_owned()));
            over.push(source.attempt.operation);
        }
        for target in targets.iter().filter(|t| of(&t.attempt)) {
            self.put_target_by(target, what);
            over.push(target.attempt.operation);
        }
        if let Some(to) = self.peer(peer) {
            let failed = |operation| SeedMsg::Failed { operation, text: what.to_owned() };
            over.into_iter().for_each(|operation| self.send_seed_msg(&to, &failed(operation)));
        }
        self.step(Event::SeedEnded { peer, database, completed: false });
    }

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
            SeedMsg::Offer { operation, info } => {
                if self.target(peer.instance, operation).is_some() {
                    self.to_target(peer, operation, Job::Offer(info));
                } else {
                    // It was stopped while the picture was made, when the source could not be told. Another that waits already
                    // is let go on when the machine asks again.
                    self.send_seed_msg(peer, &SeedMsg::Failed { operation, text: STOPPED.into() });
                }
            }
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
                    self.end_target(&target, &text);
                }
            }
            SeedMsg::Refused { operation, database, text } => {
                self.seed_refused(peer.instance, operation, database, text);
            }
        }
        true
    }

    /// A connection broke: attempts over it end, and may go on from where they are over the next.
    pub(crate) fn seeding_peer_gone(self: &Arc<Self>, peer: InstanceId) {
        self.seedings.allowed.lock().retain(|(p, _), _| *p != peer);
        let sources: Vec<_> = self.seedings.sources.lock().values().cloned().collect();
        for source in sources.iter().filter(|s| s.attempt.peer == peer) {
            self.end_source(source, SeedingOutcome::Failed(BROKE.into()));
        }
        let targets: Vec<_> = self.seedings.targets.lock().values().cloned().collect();
        for target in targets.iter().filter(|t| t.attempt.peer == peer) {
            self.end_target(target, BROKE);
        }
    }

    /// Whether this is the connection to that peer, still.
    fn is_current(&self, peer: &Arc<Peer>) -> bool {
        self.peer(peer.instance).is_some_and(|now| Arc::ptr_eq(&now, peer))
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
            self.end_target(target, "the database is no longer in the group");
        }
    }
}

fn text_of(error: DbError) -> String {
    error.to_string()
}
