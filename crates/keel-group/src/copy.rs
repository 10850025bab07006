//! [`Copy`]: the local copy of one database of a group, on the path of its log.
//!
//! * As a primary's, each sealed block goes into the pool and is offered to every peer that has a lane ([`Copy::tapped`]).
//! * As a secondary's, blocks of the one session that counts are appended and hardened by the reader thread of the peer
//!   they come from. The **quiet** lock is held while a block is taken in or the log is hardened; who holds it for another
//!   reason (inspecting, cutting, changing role) has the log to itself.
//! * No acknowledgement leaves after [`Copy::stop_receiving`] has returned.

use crate::counters::{CopyTotals, add};
use crate::lanes::Flight;
use crate::own_log::Word;
use crate::peer::Peer;
use keel_base::env::Clock;
use keel_base::{Epoch, Lsn};
use keel_cluster::{
    CopyPositions, GroupDatabaseId, GroupId, InstanceId, LogFacts, ReceiveFailure, SessionId,
};
use keel_log::{Log, SealedBlock, block};
use keel_node::{Database, DbError};
use keel_transport::{Ack, Block, Frame, LogFeed, LogPool, PoolBudget, Session};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The local copy of one database of a group.
pub(crate) struct Copy {
    pub(crate) id: GroupDatabaseId,
    pub(crate) group: GroupId,
    pub(crate) name: String,
    pub(crate) db: Arc<Database>,
    log: Log,
    pool: Arc<LogPool>,
    clock: Arc<dyn Clock>,
    /// Peers with a lane of this database, each with what is on its way there.
    targets: RwLock<Vec<(Arc<Peer>, Arc<Flight>)>>,
    /// The commit point, as blocks and announcements carry it.
    pub(crate) agreed: Arc<AtomicU64>,
    /// What the machine is yet to hear of its log.
    pub(crate) word: Word,
    quiet: Mutex<()>,
    receiving: Mutex<Option<Receiving>>,
    /// What came in.
    pub(crate) totals: CopyTotals,
    /// The applied point the machine knows.
    applied_told: AtomicU64,
    /// Nothing beyond this is acknowledged: others follow this copy and may lack it.
    ack_limit: AtomicU64,
    /// Log kept for other replicas.
    held: Mutex<BTreeMap<String, Lsn>>,
    /// Holders that lag too far. Locked after `held`.
    lost: Mutex<BTreeSet<String>>,
}

/// Whose blocks are taken.
#[derive(Clone, Copy)]
struct Receiving {
    session: SessionId,
    peer: InstanceId,
    epoch: Epoch,
}

impl Copy {
    pub(crate) fn new(
        id: GroupDatabaseId,
        group: GroupId,
        name: String,
        db: Arc<Database>,
        budget: &Arc<PoolBudget>,
    ) -> Option<Arc<Copy>> {
        let log = db.log()?.clone();
        let pool = Arc::new(LogPool::new(budget, log.appended()));
        let clock = Arc::clone(&db.instance().env().clock);
        Some(Arc::new(Copy {
            id,
            group,
            name,
            db,
            log,
            pool,
            clock,
            targets: RwLock::new(Vec::new()),
            agreed: Arc::new(AtomicU64::new(0)),
            word: Word::default(),
            quiet: Mutex::new(()),
            receiving: Mutex::new(None),
            totals: CopyTotals::default(),
            applied_told: AtomicU64::new(0),
            ack_limit: AtomicU64::new(u64::MAX),
            held: Mutex::new(BTreeMap::new()),
            lost: Mutex::new(BTreeSet::new()),
        }))
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// The log to oneself: no block is taken in and nothing hardened by a reader meanwhile.
    pub(crate) fn quiet(&self) -> MutexGuard<'_, ()> {
        self.quiet.lock()
    }

    /// Shows each sealed block to the pool and the peers from now on, and calls `hardened` after each flush: this copy is the
    /// primary's.
    pub(crate) fn tap(self: &Arc<Self>, hardened: impl Fn(&Arc<Copy>) + Send + Sync + 'static) {
        // Blocks that were sealed untapped are not in the pool; a flush under way may be about to seal one.
        self.pool.skip_to(Lsn::MAX);
        let copy = Arc::downgrade(self);
        self.log.set_tap(Some(Arc::new(move |block: &SealedBlock<'_>| {
            if let Some(copy) = copy.upgrade() {
                copy.tapped(block);
            }
        })));
        let copy = Arc::downgrade(self);
        self.log.set_hardened_hook(Some(Arc::new(move |lsn| {
            if let Some(copy) = copy.upgrade() {
                hardened(&copy);
                // Who reads the files has something new.
                copy.ring_those_behind(lsn);
            }
        })));
    }

    /// The reverse.
    pub(crate) fn untap(&self) {
        self.log.set_tap(None);
        self.log.set_hardened_hook(None);
        self.pool.release_before(Lsn::MAX);
    }

    /// Offers what has been hardened to the peers that have a lane: blocks that this copy takes in go on from the files.
    pub(crate) fn relay(self: &Arc<Self>) {
        self.pool.skip_to(Lsn::MAX);
        let copy = Arc::downgrade(self);
        self.log.set_hardened_hook(Some(Arc::new(move |lsn| {
            if let Some(copy) = copy.upgrade() {
                copy.ring_those_behind(lsn);
            }
        })));
    }

    fn tapped(&self, block: &SealedBlock<'_>) {
        let targets = self.targets.read();
        if targets.is_empty() {
            return self.pool.skip_to(block.header.end_lsn());
        }
        let now = self.nanos();
        let pooled = self.pool.push(block, now, self.done(&targets));
        for (peer, _) in targets.iter() {
            peer.offer(self.id, &pooled, now);
        }
    }

    /// A reader of the log for one peer.
    pub(crate) fn feed(&self, from: Lsn) -> LogFeed {
        LogFeed::new(self.log.clone(), Arc::clone(&self.pool), from)
    }

    pub(crate) fn add_target(&self, peer: &Arc<Peer>, flight: Arc<Flight>) {
        let mut targets = self.targets.write();
        targets.retain(|(p, _)| !Arc::ptr_eq(p, peer));
        targets.push((Arc::clone(peer), flight));
    }

    pub(crate) fn remove_target(&self, peer: &Arc<Peer>) {
        self.targets.write().retain(|(p, _)| !Arc::ptr_eq(p, peer));
    }

    /// Lets the pool forget what every peer has.
    pub(crate) fn release_pool(&self) {
        let done = self.done(&self.targets.read());
        self.pool.release_before(done);
    }

    /// Everything before this was sent to every peer and is in the files.
    fn done(&self, targets: &[(Arc<Peer>, Arc<Flight>)]) -> Lsn {
        let sent = targets.iter().map(|(_, flight)| flight.sent_lsn()).min();
        sent.unwrap_or(Lsn::MAX).min(self.log.hardened())
    }

    fn ring_those_behind(&self, lsn: Lsn) {
        for (peer, flight) in self.targets.read().iter() {
            if flight.sent_lsn() < lsn {
                peer.bell.ring();
            }
        }
    }

    pub(crate) fn set_agreed(&self, lsn: Lsn) {
        self.agreed.fetch_max(lsn.0, Ordering::AcqRel);
        self.db.advance_agreed(lsn);
    }

    /// The log as it is while quiet.
    pub(crate) fn facts(&self) -> LogFacts {
        // Before the end: a checkpoint may come between the two.
        let floor = self.db.floor();
        LogFacts {
            history: self.log.epochs(),
            end: self.log.hardened(),
            agreed: self.db.agreed(),
            floor,
            reached: Lsn::ZERO,
        }
    }

    pub(crate) fn facts_quietly(&self) -> LogFacts {
        let _quiet = self.quiet.lock();
        self.facts()
    }

    /// The same for a new attempt to follow, which goes on behind all that was ever taken in: what an attempt that ended
    /// took and did not harden any more is hardened first, else the next one's blocks would begin before the log's end.
    pub(crate) fn facts_to_go_on(&self) -> LogFacts {
        let _quiet = self.quiet.lock();
        if self.log.appended() > self.log.hardened() {
            // When it fails the log takes nothing from now on, and the first block says so.
            let _ = self.db.harden();
        }
        self.facts()
    }

    pub(crate) fn receive(&self, session: SessionId, peer: InstanceId, epoch: Epoch) {
        self.limit_acks(Lsn::MAX);
        *self.receiving.lock() = Some(Receiving { session, peer, epoch });
    }

    /// Acknowledges nothing beyond this as hardened until blocks are received anew.
    pub(crate) fn limit_acks(&self, lsn: Lsn) {
        self.ack_limit.store(lsn.0, Ordering::Release);
    }

    pub(crate) fn stop_receiving(&self) {
        *self.receiving.lock() = None;
    }

    /// Whether blocks of this session from this peer are taken.
    pub(crate) fn receives(&self, peer: InstanceId, session: Session) -> bool {
        self.receiving.lock().is_some_and(|r| r.peer == peer && r.session.0 == session.0)
    }

    fn current(&self, session: Session) -> Option<Receiving> {
        self.receiving.lock().filter(|r| r.session.0 == session.0)
    }

    /// The session whose blocks are taken.
    pub(crate) fn receiving_session(&self) -> Option<SessionId> {
        self.receiving.lock().map(|r| r.session)
    }

    /// The session whose blocks are taken, and who sends them.
    pub(crate) fn receiving_from(&self) -> Option<(SessionId, InstanceId)> {
        self.receiving.lock().map(|r| (r.session, r.peer))
    }

    /// The commit point, as far as it is known here.
    pub(crate) fn agreed(&self) -> Lsn {
        Lsn(self.agreed.load(Ordering::Acquire))
    }

    /// The applied point if it has moved since the last call.
    pub(crate) fn newly_applied(&self) -> Option<Lsn> {
        let applied = self.db.applied().min(self.log.hardened());
        (self.applied_told.swap(applied.0, Ordering::AcqRel) != applied.0).then_some(applied)
    }

    /// Keeps log from being given back: for each holder, everything from its position on. Holders not named let go. A
    /// position of zero (nothing heard from that replica yet) keeps what there is. Returns those that have just fallen farther
    /// behind than log is kept: when they come back they find it gone, and are seeded anew.
    pub(crate) fn hold(&self, keep: &[(String, Lsn)]) -> Vec<String> {
        let mut held = self.held.lock();
        let mut lost = self.lost.lock();
        let mut given_up = Vec::new();
        for (holder, lsn) in keep {
            let lsn = if *lsn == Lsn::ZERO {
                held.get(holder).copied().unwrap_or(self.log.truncated())
            } else {
                *lsn
            };
            if self.db.hold_log(holder, lsn) {
                lost.remove(holder);
            } else if lost.insert(holder.clone()) {
                given_up.push(holder.clone());
            }
            held.insert(holder.clone(), lsn);
        }
        held.retain(|holder, _| {
            let wanted = keep.iter().any(|(h, _)| h == holder);
            if !wanted {
                self.db.release_log(holder);
                lost.remove(holder);
            }
            wanted
        });
        given_up
    }

    /// Takes a block in. `false` when its session no longer counts.
    pub(crate) fn take(&self, block: &Block) -> Result<bool, ReceiveFailure> {
        let _quiet = self.quiet.lock();
        let Some(receiving) = self.current(block.session) else { return Ok(false) };
        match self.db.receive(receiving.epoch, &block.stored) {
            Ok(_) => {
                add(&self.totals.blocks, 1);
                add(&self.totals.log_bytes, block.stored.len() as u64);
                if block.wire_bytes != block.stored.len() {
                    add(&self.totals.decompressions, 1);
                    add(&self.totals.decompressed_bytes, block.stored.len() as u64);
                }
                Ok(true)
            }
            Err(error) => Err(self.why(&error, &block.stored)),
        }
    }

    fn why(&self, error: &DbError, stored: &[u8]) -> ReceiveFailure {
        let first = block::decode_header(stored).map(|h| h.first_lsn);
        match error {
            DbError::Role(_) if first == Ok(self.log.appended()) => ReceiveFailure::Mismatch,
            DbError::Role(_) => ReceiveFailure::Gap,
            DbError::Corrupt(_) => ReceiveFailure::RedoFailed,
            _ => ReceiveFailure::WriteFailed,
        }
    }

    /// Hardens what was taken in and acknowledges it to `peer`; `None` when the session no longer counts.
    pub(crate) fn harden(&self, peer: &Peer, session: Session) -> Result<Option<Lsn>, ReceiveFailure> {
        let _quiet = self.quiet.lock();
        if self.current(session).is_none() {
            return Ok(None);
        }
        let began = self.nanos();
        let lsn = self.db.harden().map_err(|_| ReceiveFailure::WriteFailed)?;
        let harden_nanos = self.nanos().saturating_sub(began);
        Ok(self.send_ack(peer, session, harden_nanos).then_some(lsn))
    }

    /// Tells `peer` where the copy stands, without hardening anything or waiting for who does.
    pub(crate) fn acknowledge(&self, peer: &Peer, session: Session) {
        self.send_ack(peer, session, 0);
    }

    /// False when the session no longer counts.
    fn send_ack(&self, peer: &Peer, session: Session, harden_nanos: u64) -> bool {
        let CopyPositions { received, hardened, applied } = self.positions();
        let hardened = hardened.min(Lsn(self.ack_limit.load(Ordering::Acquire)));
        let receiving = self.receiving.lock();
        let counts = receiving.is_some_and(|r| r.session.0 == session.0);
        if counts {
            peer.send_control_now(&Frame::Ack(Ack { session, received, hardened, applied, harden_nanos }));
        }
        counts
    }

    /// Where the copy stands.
    pub(crate) fn positions(&self) -> CopyPositions {
        let hardened = self.log.hardened();
        let received = self.log.appended().max(hardened);
        CopyPositions { received, hardened, applied: self.db.applied().min(hardened) }
    }

    pub(crate) fn nanos(&self) -> u64 {
        u64::try_from(self.clock.now().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, Tear, env};
    use keel_base::{DatabaseId, TreeId};
    use keel_log::LogOptions;
    use keel_node::{DbOptions, Durability, Instance, InstanceOptions, Isolation};
    use keel_store::row::RowBuilder;
    use std::path::Path;
    use uuid::Uuid;

    const DIR: &str = "data/db5";

    fn options() -> DbOptions {
        let log = LogOptions { segment_bytes: 1, segment_bytes_max: 1, ..LogOptions::default() };
        DbOptions { durability: Durability::Durable, log }
    }

    fn instance(disk: &Arc<SimDisk>, seed: u64) -> Arc<Instance> {
        let by_hand = InstanceOptions { by_hand: true, memory_bytes: 64 << 20, ..InstanceOptions::default() };
        Instance::new(env(disk, seed), by_hand)
    }

    /// The connection ends between a block and its hardening.
    #[test]
    fn an_attempt_that_ended_before_it_hardened_is_gone_on_from() {
        let (disk, id) = (SimDisk::new(), DatabaseId(5));
        let primary = Database::create(&instance(&disk, 1), id, Path::new(DIR), &options()).unwrap();
        primary.enter_group(Epoch(1)).unwrap();
        let other = instance(&disk.crash(Tear::KeepAll), 2);
        let db = Database::open(&other, id, Path::new(DIR), &options(), &mut |_| ()).unwrap();
        db.demote().unwrap();
        let uuid = Uuid::from_u128(1);
        let copy =
            Copy::new(GroupDatabaseId(uuid), GroupId(uuid), "db".into(), db, &PoolBudget::new(1 << 20))
                .unwrap();
        let peer = InstanceId(uuid);
        copy.receive(SessionId(1), peer, Epoch(1));
        let mut txn = primary.begin(Isolation::ReadCommitted);
        txn.insert(TreeId(10), b"key", &RowBuilder::build(&[Some(b"value")])).unwrap();
        txn.commit().unwrap().wait().unwrap();
        let mut scanner = primary.log().unwrap().scan(copy.log().appended()).unwrap();
        let stored = scanner.next().unwrap().unwrap().bytes.to_vec();
        let wire_bytes = stored.len();
        let block = Block { session: Session(1), agreed: Lsn::ZERO, stored, wire_bytes };
        assert_eq!(copy.take(&block), Ok(true));
        copy.stop_receiving();
        assert!(copy.facts().end < copy.log().appended(), "taken and not hardened");
        assert_eq!(copy.facts_to_go_on().end, copy.log().appended());
    }
}
