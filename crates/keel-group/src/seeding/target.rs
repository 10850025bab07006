//! The target of a seeding: one thread that writes chunks and opens the copy in the end.

use super::{
    ANEW, Attempt, BROKE, CHUNK_BYTES_MAX, Job, KEEP, STOPPED, SeedMsg, SeedingOutcome, TOGETHER_BYTES_MAX,
    Target, may_go_on, text_of,
};
use crate::host::Place;
use crate::peer::Peer;
use crate::shell::Shared;
use keel_cluster::{Event, GroupDatabaseId, GroupId, InstanceId};
use keel_node::{Database, SeedInfo, SeedSink};
use keel_transport::SeedChunk;
use keel_transport::limits::VERSION_REFUSED;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use uuid::Uuid;

impl Shared {
    /// The machine wants a copy made here.
    pub(crate) fn expect_seed(self: &Arc<Self>, peer: InstanceId, database: GroupDatabaseId) {
        self.spawn_attempt((peer, database), move |shared| shared.begin_target(peer, database));
    }

    fn begin_target(self: &Arc<Self>, peer: InstanceId, database: GroupDatabaseId) {
        let named = self.named(database);
        let peer_now = self.peer(peer);
        let (Some(name), Some(peer_now)) = (named, peer_now) else {
            return self.step(Event::SeedEnded { peer, database, completed: false });
        };
        self.close_copy(database);
        let mut bytes = [0; 16];
        self.env.random.fill(&mut bytes);
        let operation = uuid::Builder::from_random_bytes(bytes).into_uuid();
        let kept = self.kept_place(database);
        let place = match kept.map_or_else(|| self.host.place(&name), Ok) {
            Ok(place) => place,
            Err(text) => {
                self.note(Some(database), &format!("{name} cannot be seeded here: {text}"));
                if peer_now.version >= VERSION_REFUSED {
                    let refused = SeedMsg::Refused { operation, database, text: text.clone() };
                    self.send_seed_msg(&peer_now, &refused);
                }
                let attempt = self.attempt(operation, database, name, peer, false);
                self.seedings.remember(attempt.shown(self, SeedingOutcome::Failed(text)));
                return self.step(Event::SeedEnded { peer, database, completed: false });
            }
        };
        let (jobs, work) = mpsc::channel();
        let attempt = self.attempt(operation, database, name, peer, false);
        let (chunks, writing) = (Mutex::new(Some(jobs)), Mutex::new(()));
        let target = Arc::new(Target { attempt, place, chunks, writing });
        self.seedings.targets.lock().insert(operation, Arc::clone(&target));
        self.send_seed_msg(&peer_now, &SeedMsg::Want { operation, database });
        if !self.is_current(&peer_now) {
            // The connection broke before this attempt could be found among those over it.
            self.end_target(&target, BROKE);
        }
        // This thread goes on as the one that writes.
        let written = {
            let _writing = target.writing.lock();
            self.write_target(&peer_now, &target, &work)
        };
        if let Err(text) = written {
            self.send_seed_msg(&peer_now, &SeedMsg::Failed { operation, text: text.clone() });
            self.end_target(&target, &text);
        }
        // Nobody gives it more work. What nobody wants any more has its credit back, or the next attempt would have less.
        target.chunks.lock().take();
        work.iter().for_each(|job| give_back(&peer_now, &job));
    }

    /// The place with half a copy of an attempt before, which is over when this returns.
    fn kept_place(self: &Arc<Self>, database: GroupDatabaseId) -> Option<Place> {
        let running: Vec<_> = self.seedings.targets.lock().values().cloned().collect();
        for target in running.iter().filter(|t| t.attempt.database == database) {
            self.put_target_by(target, ANEW);
        }
        let (kept, until) = self.seedings.places.lock().remove(&database)?;
        if until <= self.now() {
            self.clean(&kept);
            return None;
        }
        drop(kept.writing.lock());
        Some(kept.place.clone())
    }

    pub(super) fn named(&self, database: GroupDatabaseId) -> Option<String> {
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
                    let frames = with_those_behind(peer, chunk, work)?;
                    let last = self.write_chunks(attempt, made, &frames, &mut begun);
                    frames.iter().for_each(|frame| peer.seed_stored(frame.wire_bytes));
                    self.report(attempt);
                    *streams_left = streams_left.saturating_sub(last?);
                    if *streams_left == 0 {
                        let (made, _) = sink.take().expect("it is there");
                        return self.complete_target(peer, target, made);
                    }
                }
                (Job::Offer(_), Some(_)) => return Err("a second offer came".into()),
                (job @ Job::Chunk(_), None) => {
                    give_back(peer, &job);
                    return Err("a chunk came before the offer".into());
                }
            }
        }
        // The channel was closed by whoever ended the attempt.
        Ok(())
    }

    /// Takes frames, and writes the chunks that are whole by then, all at once; how many completed their stream.
    fn write_chunks(
        &self,
        attempt: &Attempt,
        sink: &SeedSink,
        frames: &[SeedChunk],
        begun: &mut BTreeMap<u32, Vec<u8>>,
    ) -> Result<usize, String> {
        let mut chunks = Vec::new();
        for frame in frames {
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
            } else {
                chunks.push(whole);
            }
        }
        let began = self.nanos();
        let last = sink.apply(&chunks).map_err(text_of)?;
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
        // What it will acknowledge counts only as long as it is found again after a restart.
        if let Err(text) = self.host.seeded(&attempt.name, &target.place, &db) {
            drop(db);
            self.lay_by(target, &text);
            self.send_seed_msg(peer, &SeedMsg::Failed { operation: attempt.operation, text });
            self.step(Event::SeedEnded { peer: attempt.peer, database: attempt.database, completed: false });
            return Ok(());
        }
        self.seedings.remember(attempt.shown(self, SeedingOutcome::Completed));
        self.registry.write().insert(attempt.name.to_uppercase(), (attempt.name.clone(), db));
        // The machine learns of the open copy first, and from nobody else: without one it would ask for another.
        self.bind_seeded(attempt.database);
        self.seedings.targets.lock().remove(&attempt.operation);
        self.send_seed_msg(peer, &SeedMsg::Done { operation: attempt.operation });
        self.step(Event::SeedEnded { peer: attempt.peer, database: attempt.database, completed: true });
        Ok(())
    }

    pub(super) fn target(&self, peer: InstanceId, operation: Uuid) -> Option<Arc<Target>> {
        self.seedings.targets.lock().get(&operation).filter(|t| t.attempt.peer == peer).cloned()
    }

    pub(super) fn to_target(&self, peer: &Peer, operation: Uuid, job: Job) {
        let Some(target) = self.target(peer.instance, operation) else { return give_back(peer, &job) };
        let unwanted = match target.chunks.lock().as_ref() {
            // Nobody takes it when the attempt has just ended.
            Some(chunks) => chunks.send(job).err().map(|unsent| unsent.0),
            None => Some(job),
        };
        unwanted.iter().for_each(|job| give_back(peer, job));
    }

    /// A chunk came.
    pub(crate) fn seed_chunk(&self, peer: &Peer, chunk: SeedChunk) {
        self.to_target(peer, Uuid::from_bytes(chunk.operation), Job::Chunk(chunk));
    }

    /// The machine wants no copy of the database made here any more: attempts of now end, and leave what another can go on from.
    pub(crate) fn stop_seeding(self: &Arc<Self>, database: GroupDatabaseId) {
        let running: Vec<_> = self.seedings.targets.lock().values().cloned().collect();
        for target in running.into_iter().filter(|t| t.attempt.database == database) {
            let shared = Arc::clone(self);
            // Not under the machine's lock: it is noted in a file.
            self.work.give(GroupId(Uuid::nil()), move || {
                let operation = target.attempt.operation;
                if shared.put_target_by(&target, STOPPED)
                    && let Some(peer) = shared.peer(target.attempt.peer)
                {
                    shared.send_seed_msg(&peer, &SeedMsg::Failed { operation, text: STOPPED.into() });
                }
            });
        }
    }

    /// Ends an attempt that did not succeed, and tells the machine. Its files wait for another attempt that
    /// [may go on](may_go_on) with them; otherwise nothing stays.
    pub(super) fn end_target(self: &Arc<Self>, target: &Arc<Target>, text: &str) {
        if self.put_target_by(target, text) {
            let (peer, database) = (target.attempt.peer, target.attempt.database);
            self.step(Event::SeedEnded { peer, database, completed: false });
        }
    }

    /// The same without a word to the machine, which waits for another attempt or for none; false when it had ended already.
    pub(super) fn put_target_by(&self, target: &Arc<Target>, text: &str) -> bool {
        if target.attempt.ended.swap(true, Ordering::AcqRel) {
            return false;
        }
        self.lay_by(target, text);
        true
    }

    /// Keeps the place of an attempt that has ended, for another one or to be cleaned.
    fn lay_by(&self, target: &Arc<Target>, text: &str) {
        let attempt = &target.attempt;
        target.chunks.lock().take();
        self.seedings.targets.lock().remove(&attempt.operation);
        // What is to be cleaned is cleaned at the next tidying, when nobody writes to it any more.
        let until = if may_go_on(text) { self.now() + KEEP } else { Duration::ZERO };
        self.seedings.places.lock().insert(attempt.database, (Arc::clone(target), until));
        self.seedings.remember(attempt.shown(self, SeedingOutcome::Failed(text.to_owned())));
        self.note(Some(attempt.database), &format!("Seeding of {} ended: {text}", attempt.name));
    }

    pub(super) fn clean(&self, target: &Target) {
        let (database, name, place) = (target.attempt.database, &target.attempt.name, &target.place);
        let _nobody_writes = target.writing.lock();
        if let Err(error) = Database::remove(&place.instance, &place.dir) {
            self.note(Some(database), &format!("What was left of {name} could not be removed: {error}"));
        }
        self.host.seeding_ended(name, place);
    }
}

/// A chunk that nobody wants takes no credit.
fn give_back(peer: &Peer, job: &Job) {
    if let Job::Chunk(chunk) = job {
        peer.seed_stored(chunk.wire_bytes);
    }
}

/// A chunk and those that came while the disk was busy: they are written together, so that a slow disk is not waited for at
/// each.
fn with_those_behind(
    peer: &Peer,
    first: SeedChunk,
    work: &mpsc::Receiver<Job>,
) -> Result<Vec<SeedChunk>, String> {
    let mut bytes = first.payload.len();
    let mut frames = vec![first];
    while bytes < TOGETHER_BYTES_MAX
        && let Ok(job) = work.try_recv()
    {
        match job {
            Job::Chunk(chunk) => {
                bytes += chunk.payload.len();
                frames.push(chunk);
            }
            Job::Offer(_) => {
                frames.iter().for_each(|frame| peer.seed_stored(frame.wire_bytes));
                return Err("a second offer came".into());
            }
        }
    }
    Ok(frames)
}
