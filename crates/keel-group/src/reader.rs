//! The reader thread of a peer: everything that comes over one connection.
//!
//! ```text
//!   bytes ─► all frames that are here ─► blocks into their logs
//!                                        then per database: one harden, one acknowledgement
//!                                        then credit for what was stored
//!                                        then redo of what is due, if it is little and of one database
//! ```

use crate::copy::Copy;
use crate::counters::add;
use crate::link::{LinkReader, ReadError};
use crate::peer::Peer;
use crate::shell::Shared;
use keel_base::env::real::run_promptly;
use keel_cluster::{CopyPositions, Event, GroupDatabaseId, InstanceId, ReceiveFailure, SessionId};
use keel_node::HeldRedo;
use keel_transport::limits::LOG_WINDOW_BYTES;
use keel_transport::{Ack, Block, Class, Frame, Granting, Session};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// With more than this to redo, a copy tells how far it is without being sent anything.
const TELL_APPLIED_BYTES: u64 = 1 << 20;

/// Sessions that are remembered.
const SESSIONS_MAX: usize = 10_000;

/// What is kept of a connection between two batches.
struct Reading {
    window: Granting,
    /// Which database a session was about when it was last looked for: with many databases a search takes longer than a block.
    sessions: HashMap<Session, GroupDatabaseId>,
}

/// What one batch of frames touched.
#[derive(Default)]
struct Batch {
    /// Sessions with new blocks, and the commit point the last of them carried; `None` without blocks.
    touched: BTreeMap<Session, Touched>,
    /// Log bytes taken in.
    log_bytes: usize,
    /// Something told the machine that the peer lives.
    told: bool,
}

struct Touched {
    database: GroupDatabaseId,
    agreed: keel_base::Lsn,
    blocks: bool,
}

fn broken(what: &str) -> ReadError {
    io::Error::new(io::ErrorKind::InvalidData, what).into()
}

impl Shared {
    /// Reads until the connection ends; returns why. Commits on the other side wait for what this thread acknowledges, and commits
    /// here for the acknowledgements it reads: it goes before sessions.
    pub(crate) fn read(self: &Arc<Self>, peer: &Arc<Peer>, mut reader: LinkReader) -> ReadError {
        run_promptly();
        let window = Granting::new(LOG_WINDOW_BYTES);
        let mut reading = Reading { window, sessions: HashMap::new() };
        loop {
            if let Err(error) = self.read_batch(peer, &mut reader, &mut reading) {
                return error;
            }
            if let Err(error) = reader.wait(&peer.link) {
                return error;
            }
        }
    }

    fn read_batch(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        reader: &mut LinkReader,
        reading: &mut Reading,
    ) -> Result<(), ReadError> {
        let mut batch = Batch::default();
        while let Some(frame) = reader.ready()? {
            add(&peer.totals.receives, 1);
            self.frame(peer, frame, &mut batch, reading)?;
        }
        peer.totals.received_bytes.store(peer.link.traffic().1, Ordering::Relaxed);
        let copies: Vec<Arc<Copy>> = batch.touched.values().filter_map(|t| self.copy(t.database)).collect();
        let mut held: Vec<HeldRedo<'_>> = copies.iter().map(|copy| copy.db.hold_redo()).collect();
        for (session, touched) in &batch.touched {
            self.finish_session(peer, *session, touched);
        }
        if let Some(total) = reading.window.consumed(batch.log_bytes) {
            peer.send_control_now(&Frame::Credit { class: Class::Log, total });
        }
        if !batch.told && batch.touched.is_empty() {
            return Ok(());
        }
        self.step(Event::Heard { peer: peer.instance });
        if let (Some(one), true) = (held.pop(), held.is_empty()) {
            one.work();
        }
        Ok(())
    }

    fn frame(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        frame: Frame,
        batch: &mut Batch,
        reading: &mut Reading,
    ) -> Result<(), ReadError> {
        match frame {
            Frame::Block(block) => {
                if !reading.window.received(block.wire_bytes) {
                    return Err(broken("the peer sent more log than it had credit for"));
                }
                batch.log_bytes += block.wire_bytes;
                self.block(peer, &block, batch, reading);
            }
            Frame::Commit { session, agreed } => {
                if let Some(database) = self.receiving(peer.instance, session, reading) {
                    let touched = batch.touched.entry(session);
                    let touched = touched.or_insert(Touched { database, agreed, blocks: false });
                    touched.agreed = touched.agreed.max(agreed);
                }
            }
            Frame::Ack(ack) => self.acknowledged(peer, &ack),
            Frame::Heartbeat(beat) => {
                peer.beat(beat, self.nanos());
                batch.told = true;
            }
            Frame::Credit { class, total } => peer.granted(class, total),
            Frame::Control(body) => {
                if !self.control(peer, &body) {
                    return Err(broken("the peer sent a control message that cannot be read"));
                }
            }
            Frame::Seed(chunk) => {
                if !peer.seed_granting.lock().received(chunk.wire_bytes) {
                    return Err(broken("the peer sent more of a seeding than it had credit for"));
                }
                batch.told = true;
                self.seed_chunk(peer, chunk);
            }
            Frame::Bye { text, .. } => return Err(broken(&text)),
            Frame::Hello(_) | Frame::Product(_) => return Err(broken("the peer said hello twice")),
        }
        Ok(())
    }

    /// The database a session from this peer is about, if it counts here.
    fn receiving(
        &self,
        peer: InstanceId,
        session: Session,
        reading: &mut Reading,
    ) -> Option<GroupDatabaseId> {
        let copies = self.copies.read();
        let receives = |copy: &&Arc<Copy>| copy.receives(peer, session);
        let known = reading.sessions.get(&session).and_then(|database| copies.get(database));
        if let Some(copy) = known.filter(receives) {
            return Some(copy.id);
        }
        let database = copies.values().find(receives)?.id;
        if reading.sessions.len() >= SESSIONS_MAX {
            reading.sessions.clear();
        }
        reading.sessions.insert(session, database);
        Some(database)
    }

    fn block(self: &Arc<Self>, peer: &Arc<Peer>, block: &Block, batch: &mut Batch, reading: &mut Reading) {
        let known = batch.touched.get(&block.session).map(|t| t.database);
        let Some(database) = known.or_else(|| self.receiving(peer.instance, block.session, reading)) else {
            return;
        };
        let Some(copy) = self.copy(database) else { return };
        match copy.take(block) {
            Ok(false) => {}
            Ok(true) => {
                let touched = batch.touched.entry(block.session);
                let touched = touched.or_insert(Touched { database, agreed: block.agreed, blocks: true });
                touched.agreed = touched.agreed.max(block.agreed);
                touched.blocks = true;
            }
            Err(failure) => self.receive_failed(database, SessionId(block.session.0), failure),
        }
    }

    pub(crate) fn receive_failed(
        self: &Arc<Self>,
        database: GroupDatabaseId,
        session: SessionId,
        failure: ReceiveFailure,
    ) {
        if let Some(copy) = self.copy(database) {
            copy.stop_receiving();
        }
        self.step(Event::ReceiveFailed { database, session, failure });
    }

    fn finish_session(self: &Arc<Self>, peer: &Arc<Peer>, session: Session, touched: &Touched) {
        let database = touched.database;
        if touched.blocks {
            let Some(copy) = self.copy(database) else { return };
            match copy.harden(peer, session) {
                Ok(None) => return,
                Ok(Some(lsn)) => self.step(Event::Hardened { database, lsn }),
                Err(failure) => return self.receive_failed(database, SessionId(session.0), failure),
            }
        }
        self.step(Event::Announced { database, session: SessionId(session.0), agreed: touched.agreed });
    }

    /// Tells the primary how far redo is, when it has much to do.
    pub(crate) fn tell_applied(&self, copy: &Copy) {
        let far = copy.db.applied().advance(TELL_APPLIED_BYTES) < copy.agreed();
        let from = copy.receiving_from().filter(|_| far);
        if let Some((session, peer)) = from.and_then(|(session, peer)| Some((session, self.peer(peer)?))) {
            copy.acknowledge(&peer, Session(session.0));
        }
    }

    fn acknowledged(self: &Arc<Self>, peer: &Arc<Peer>, ack: &Ack) {
        let Some((database, flight)) = peer.session(ack.session) else { return };
        flight.acknowledged(ack.hardened, ack.harden_nanos, self.nanos());
        let positions =
            CopyPositions { received: ack.received, hardened: ack.hardened, applied: ack.applied };
        let session = SessionId(ack.session.0);
        self.step_acknowledged(database, Event::Acked { peer: peer.instance, database, session, positions });
    }
}
