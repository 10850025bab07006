//! Rows of several threads as they come.

use super::GatherNode;
use super::team::{LOOK, Team};
use crate::errors::Result;
use crate::exec::count::Counts;
use crate::exec::cx::Cx;
use crate::exec::{Operator, restore, save};
use keel_types::Value;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};

/// Rows that a helper sends at once.
const BATCH_ROWS: usize = 256;
/// Batches that wait for the session's thread; helpers wait when there are more.
const BATCHES_MAX: usize = 8;

/// Rows, flat.
type Batch = Vec<Value>;

/// Gathers rows. The session's thread makes rows itself while none wait for it.
pub struct GatherOp {
    node: Arc<GatherNode>,
    slots: Arc<[usize]>,
    input: Box<dyn Operator>,
    counts: Option<Counts>,
    // Before the team: helpers that wait to send go on when nobody receives any more.
    batches: Option<Receiver<Batch>>,
    team: Option<Team<()>>,
    batch: Batch,
    /// Position in the batch.
    at: usize,
    /// What the own input has left in the slots that rows of batches go into.
    own: Option<Vec<Value>>,
    /// The own input is at its end.
    ended: bool,
}

impl GatherOp {
    /// An operator with its own input.
    #[must_use]
    pub fn new(node: Arc<GatherNode>, counts: Option<&Counts>) -> GatherOp {
        let input = node.input.operator(counts);
        let slots = node.slots.as_deref().unwrap_or_default().into();
        GatherOp {
            node,
            slots,
            input,
            counts: counts.cloned(),
            batches: None,
            team: None,
            batch: Vec::new(),
            at: 0,
            own: None,
            ended: false,
        }
    }

    fn start(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let (sender, batches) = sync_channel(BATCHES_MAX);
        let slots = Arc::clone(&self.slots);
        let send = move |input: &mut dyn Operator, cx: &mut Cx<'_>| send_rows(&slots, input, cx, &sender);
        self.team = Team::start(&self.node, self.counts.as_ref(), cx, &send)?;
        self.batches = self.team.is_some().then_some(batches);
        Ok(())
    }

    /// The next row of the batch into its slots.
    fn next_of_batch(&mut self, cx: &mut Cx<'_>) -> bool {
        let slots = &self.slots;
        let Some(row) = self.batch.get_mut(self.at..self.at + slots.len()) else { return false };
        for (slot, value) in slots.iter().zip(row) {
            cx.slots[*slot] = std::mem::take(value);
        }
        self.at += slots.len();
        true
    }

    /// Gets a batch if one is there, or waits for it once the own input has ended. False when none came.
    fn receive(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let (Some(batches), Some(team)) = (&self.batches, &mut self.team) else { return Ok(false) };
        let batch = loop {
            if !self.ended {
                match batches.try_recv() {
                    Ok(batch) => break batch,
                    Err(TryRecvError::Empty) => return Ok(false),
                    Err(TryRecvError::Disconnected) => {}
                }
            } else {
                match batches.recv_timeout(LOOK) {
                    Ok(batch) => break batch,
                    Err(RecvTimeoutError::Timeout) => {
                        cx.session.look_up()?;
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => {}
                }
            }
            // All helpers are done.
            self.batches = None;
            if let Some(team) = self.team.take() {
                team.finish(Ok(()), cx)?;
            }
            return Ok(false);
        };
        team.look(cx)?;
        if self.own.is_none() && !self.ended {
            self.own = Some(save(cx, &self.slots));
        }
        (self.batch, self.at) = (batch, 0);
        Ok(true)
    }
}

/// What a helper does.
fn send_rows(
    slots: &[usize],
    input: &mut dyn Operator,
    cx: &mut Cx<'_>,
    sender: &SyncSender<Batch>,
) -> Result<()> {
    let width = slots.len();
    let mut batch = Vec::with_capacity(width * BATCH_ROWS);
    input.open(cx)?;
    while input.next(cx)? {
        batch.extend(slots.iter().map(|slot| cx.slots[*slot].clone()));
        if batch.len() >= width * BATCH_ROWS {
            let full = std::mem::replace(&mut batch, Vec::with_capacity(width * BATCH_ROWS));
            if sender.send(full).is_err() {
                return Ok(());
            }
        }
    }
    if !batch.is_empty() {
        // Nobody listens any more when the statement has ended early.
        let _ = sender.send(batch);
    }
    Ok(())
}

impl Operator for GatherOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.close();
        self.ended = false;
        self.start(cx)?;
        self.input.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if self.next_of_batch(cx) || (self.receive(cx)? && self.next_of_batch(cx)) {
                cx.tick()?;
                return Ok(true);
            }
            if self.ended {
                if self.team.is_none() {
                    return Ok(false);
                }
                continue;
            }
            if let Some(own) = self.own.take() {
                restore(cx, &self.slots, &own);
            }
            if self.input.next(cx)? {
                return Ok(true);
            }
            self.ended = true;
        }
    }

    fn close(&mut self) {
        (self.batches, self.team) = (None, None);
        (self.batch, self.own) = (Vec::new(), None);
        self.at = 0;
        self.input.close();
    }
}
