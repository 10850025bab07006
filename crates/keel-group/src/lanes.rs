//! [`Lanes`]: what one peer is being sent, and whose turn it is.
//!
//! A lane is one database's log on its way to one peer. Lanes share the connection by turns of [`TURN_BYTES`], so that a
//! database far behind does not hold up the others. They also share the peer's credit.

use crate::counters::{CopyTotals, PeerTotals, add};
use keel_base::Lsn;
use keel_cluster::{GroupDatabaseId, SendFailure, SessionId};
use keel_log::LogError;
use keel_log::block::FLAG_UNFINISHED;
use keel_transport::feed::FeedError;
use keel_transport::limits::{LOG_WINDOW_BYTES, SEED_WINDOW_BYTES};
use keel_transport::{LogFeed, PooledBlock, Session, Spending, frame};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of one lane before the next has its turn.
const TURN_BYTES: usize = 64 << 10;
/// Bytes gathered for one write to the connection: control waits behind no more than this.
pub(crate) const BATCH_BYTES: usize = 192 << 10;
/// Blocks on their way whose times are kept.
const FLIGHT_MAX: usize = 4096;

/// Blocks on their way to a peer: when each was sent, until it is acknowledged.
#[derive(Default)]
pub(crate) struct Flight {
    blocks: Mutex<VecDeque<InFlight>>,
    /// Everything before this was sent.
    sent: AtomicU64,
    pub(crate) totals: CopyTotals,
}

struct InFlight {
    end: Lsn,
    sealed_at: u64,
    sent_at: u64,
}

impl Flight {
    fn sent(&self, block: &PooledBlock, now: u64) {
        let end = block.header().end_lsn();
        self.sent.store(end.0, Ordering::Release);
        add(&self.totals.blocks, 1);
        add(&self.totals.log_bytes, block.stored().len() as u64);
        let mut blocks = self.blocks.lock();
        if blocks.len() < FLIGHT_MAX {
            blocks.push_back(InFlight { end, sealed_at: block.sealed_at(), sent_at: now });
        }
    }

    /// Everything before this was sent.
    pub(crate) fn sent_lsn(&self) -> Lsn {
        Lsn(self.sent.load(Ordering::Acquire))
    }

    /// The peer has hardened up to `hardened`, and its flush took `harden_nanos`.
    pub(crate) fn acknowledged(&self, hardened: Lsn, harden_nanos: u64, now: u64) {
        let mut blocks = self.blocks.lock();
        while let Some(first) = blocks.front().filter(|b| b.end <= hardened) {
            // A block that was read from the files waited for nobody.
            if first.sealed_at != 0 {
                let away = now.saturating_sub(first.sent_at);
                add(&self.totals.measured, 1);
                add(&self.totals.queue_nanos, first.sent_at.saturating_sub(first.sealed_at));
                add(&self.totals.network_nanos, away.saturating_sub(harden_nanos));
                add(&self.totals.remote_flush_nanos, harden_nanos.min(away));
            }
            blocks.pop_front();
        }
    }
}

/// What a flush leader has to do for a block and a peer.
pub(crate) enum Turn {
    /// Nothing: the peer is not sent this database.
    Nobody,
    /// The sender's: it is not what the peer gets next, or may not go now, or is to be compressed.
    Later,
    /// Send it, behind this head.
    Now([u8; frame::BLOCK_HEAD_BYTES]),
}

/// One database's log on its way to one peer.
pub(crate) struct Lane {
    pub(crate) session: SessionId,
    pub(crate) feed: LogFeed,
    pub(crate) flight: Arc<Flight>,
    pub(crate) compress: bool,
    /// Blocks that begin before this may go, and what was appended at once with the last of them.
    pub(crate) limit: Lsn,
    /// The last block may have ended in the midst of what was appended at once.
    pub(crate) unfinished: bool,
    /// The commit point, moved by whoever learns it.
    pub(crate) agreed: Arc<AtomicU64>,
    /// The commit point the peer was last told.
    pub(crate) announced: u64,
    /// A block went out since the announcer last looked.
    pub(crate) busy: bool,
}

/// A lane that ended by itself.
pub(crate) struct LaneFailure {
    pub(crate) database: GroupDatabaseId,
    pub(crate) session: SessionId,
    pub(crate) failure: SendFailure,
    pub(crate) what: String,
}

/// Everything bulk that one peer is sent.
pub(crate) struct Lanes {
    by_database: BTreeMap<GroupDatabaseId, Lane>,
    /// Whose turn was last.
    last: Option<GroupDatabaseId>,
    pub(crate) log_credit: Spending,
    pub(crate) seed_credit: Spending,
    /// Seeding frames ready to go, each with the bytes it costs.
    pub(crate) seeds: VecDeque<(Vec<u8>, usize)>,
    /// Since when there is no credit although there is something to send; nanoseconds.
    stopped_at: Option<u64>,
    pub(crate) failures: Vec<LaneFailure>,
}

impl Lanes {
    pub(crate) fn new() -> Lanes {
        Lanes {
            by_database: BTreeMap::new(),
            last: None,
            log_credit: Spending::new(LOG_WINDOW_BYTES),
            seed_credit: Spending::new(SEED_WINDOW_BYTES),
            seeds: VecDeque::new(),
            stopped_at: None,
            failures: Vec::new(),
        }
    }

    pub(crate) fn open(&mut self, database: GroupDatabaseId, lane: Lane) {
        self.by_database.insert(database, lane);
    }

    pub(crate) fn close(&mut self, database: GroupDatabaseId) -> Option<Lane> {
        self.by_database.remove(&database)
    }

    pub(crate) fn set_compression(&mut self, database: GroupDatabaseId, compress: bool) {
        if let Some(lane) = self.by_database.get_mut(&database) {
            lane.compress = compress;
        }
    }

    /// How far the session's blocks may go.
    pub(crate) fn set_limit(&mut self, database: GroupDatabaseId, session: SessionId, limit: Lsn) {
        if let Some(lane) = self.by_database.get_mut(&database).filter(|lane| lane.session == session) {
            lane.limit = limit;
        }
    }

    /// The flush leader's way: takes `block` if it is what the peer gets next and may get now.
    pub(crate) fn take(&mut self, database: GroupDatabaseId, block: &PooledBlock, now: u64) -> Turn {
        let Some(lane) = self.by_database.get_mut(&database) else { return Turn::Nobody };
        // Compressing is for a thread nobody waits for.
        if lane.compress || !self.log_credit.may_send() || !lane.may_go_on() || !lane.feed.take(block) {
            return Turn::Later;
        }
        lane.went(block);
        let agreed = lane.announce();
        lane.flight.sent(block, now);
        self.log_credit.sent(block.stored().len());
        Turn::Now(frame::block_head(Session(lane.session.0), agreed, block.stored().len(), false))
    }

    /// The sender's way: gathers up to [`BATCH_BYTES`] of everything that may go.
    pub(crate) fn gather(&mut self, now: u64, totals: &PeerTotals, out: &mut Vec<u8>) {
        while out.len() < BATCH_BYTES && self.log_credit.may_send() {
            if !self.turn(now, totals, out) {
                break;
            }
        }
        self.note_credit(now, totals);
        while out.len() < BATCH_BYTES && self.seed_credit.may_send() {
            let Some((bytes, cost)) = self.seeds.pop_front() else { break };
            out.extend_from_slice(&bytes);
            self.seed_credit.sent(cost);
        }
    }

    fn note_credit(&mut self, now: u64, totals: &PeerTotals) {
        match (self.log_credit.may_send(), self.stopped_at) {
            (false, None) => {
                self.stopped_at = Some(now);
                add(&totals.flow_controls, 1);
            }
            (true, Some(since)) => {
                self.stopped_at = None;
                add(&totals.flow_control_nanos, now.saturating_sub(since));
            }
            _ => {}
        }
    }

    /// One lane's turn: the next after the last that has anything. False when none has.
    fn turn(&mut self, now: u64, totals: &PeerTotals, out: &mut Vec<u8>) -> bool {
        let after = self.last.map_or(0, |last| self.by_database.range(..=last).count());
        let order: Vec<GroupDatabaseId> = {
            let keys: Vec<_> = self.by_database.keys().copied().collect();
            keys[after..].iter().chain(&keys[..after]).copied().collect()
        };
        for database in order {
            let Some(lane) = self.by_database.get_mut(&database) else { continue };
            let before = lane.feed.from_disk_bytes();
            let sent = lane.send(now, &mut self.log_credit, totals, out);
            add(&totals.disk_bytes, lane.feed.from_disk_bytes() - before);
            match sent {
                Ok(0) => {}
                Ok(_) => {
                    self.last = Some(database);
                    return true;
                }
                Err(error) => {
                    let session = lane.session;
                    let failure = match &error {
                        FeedError::Log(LogError::Truncated { .. }) => SendFailure::LogGone,
                        FeedError::NoBlock { .. } => SendFailure::NoBlock,
                        FeedError::Log(_) => SendFailure::ReadFailed,
                    };
                    let what = error.to_string();
                    self.by_database.remove(&database);
                    self.failures.push(LaneFailure { database, session, failure, what });
                }
            }
        }
        false
    }

    /// Commit points that no block has carried since the last call.
    pub(crate) fn announcements(&mut self, out: &mut Vec<u8>) {
        for lane in self.by_database.values_mut() {
            let agreed = lane.agreed.load(Ordering::Acquire);
            if !std::mem::take(&mut lane.busy) && agreed > lane.announced {
                lane.announced = agreed;
                let session = Session(lane.session.0);
                frame::Frame::Commit { session, agreed: Lsn(agreed) }.encode(out);
            }
        }
    }
}

impl Lane {
    /// The peer may be sent the next block: its redo is not too far behind.
    fn may_go_on(&self) -> bool {
        self.unfinished || self.feed.position() < self.limit
    }

    fn went(&mut self, block: &PooledBlock) {
        self.unfinished = block.header().flags & FLAG_UNFINISHED != 0;
    }

    /// The commit point, for a block to carry.
    fn announce(&mut self) -> Lsn {
        self.announced = self.agreed.load(Ordering::Acquire);
        self.busy = true;
        Lsn(self.announced)
    }

    fn encode(&mut self, block: &PooledBlock, now: u64, out: &mut Vec<u8>) -> usize {
        let agreed = self.announce();
        let compressed = if self.compress { block.compressed() } else { None };
        if let Some(packed) = compressed {
            let totals = &self.flight.totals;
            add(&totals.compressions, 1);
            add(&totals.compressed_from_bytes, block.stored().len() as u64);
            add(&totals.compressed_to_bytes, packed.len() as u64);
        }
        self.flight.sent(block, now);
        frame::encode_block(out, Session(self.session.0), agreed, block.stored(), compressed)
    }

    /// Encodes up to a turn's bytes; returns how many blocks.
    fn send(
        &mut self,
        now: u64,
        credit: &mut Spending,
        totals: &PeerTotals,
        out: &mut Vec<u8>,
    ) -> Result<usize, FeedError> {
        let (mut blocks, mut bytes) = (0, 0);
        while bytes < TURN_BYTES && credit.may_send() && self.may_go_on() {
            let Some(block) = self.feed.next()? else { break };
            self.went(&block);
            let cost = self.encode(&block, now, out);
            credit.sent(cost);
            bytes += cost;
            blocks += 1;
            add(&totals.sends, 1);
        }
        Ok(blocks)
    }
}
