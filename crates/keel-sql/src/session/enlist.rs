//! Working in a transaction that a manager decides about ([`crate::distributed::branch`]).
//!
//! A session takes a branch up by its cookie: what others have done in it is its open transaction then, which it can neither commit nor begin
//! anew. It leaves it by an empty cookie, with the reset of its connection, or when it ends, which rolls the branch back. A session whose
//! branch was rolled back gets error 8525 for everything until it leaves.

use super::Session;
use crate::distributed::branch::Left;
use crate::errors;
use crate::run::Runner;
use crate::sink::{EnvChange, ResultSink};
use keel_types::error::Result;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Session {
    /// A request to work in the branch that a cookie means, or in none.
    pub(super) fn propagate(&mut self, cookie: &[u8], sink: &mut dyn ResultSink) -> Result<()> {
        self.defect(sink);
        if cookie.is_empty() {
            return Ok(());
        }
        if self.info.transaction.borrow().count > 0 {
            return Err(crate::distributed::errors::enlist_failed(
                "the session has a transaction of its own",
            ));
        }
        let branch = self.info.engine.branch_of(cookie).ok_or_else(crate::distributed::errors::bad_cookie)?;
        // What was looked up outside a transaction is no part of this one.
        self.txns.rollback();
        let left =
            branch.take_up(self.info.shared.id).ok_or_else(crate::distributed::errors::context_in_use)?;
        self.txns.put_work(left.work);
        *self.info.overlays.borrow_mut() = left.overlays;
        *self.info.enlisted.borrow_mut() = Some(Arc::clone(&branch));
        let descriptor = self.info.engine.stamp();
        {
            let mut state = self.info.transaction.borrow_mut();
            (state.count, state.descriptor, state.doomed, state.of_statement) = (1, descriptor, false, false);
            state.name = "DTCXact".into();
        }
        let shared = &self.info.shared;
        *shared.transaction_name.lock() = "DTCXact".into();
        shared.transaction_id.store(descriptor, Ordering::Relaxed);
        shared.transaction_began.store(branch.began, Ordering::Relaxed);
        shared.transactions.store(1, Ordering::Relaxed);
        *shared.uow.lock() = Some(branch.uow);
        shared.enlisted.store(true, Ordering::Relaxed);
        sink.env_change(EnvChange::EnlistTransaction(descriptor));
        Ok(())
    }

    /// Leaves the branch that it works in, if it does; what it has done is there for who goes on with it.
    pub(super) fn defect(&mut self, sink: &mut dyn ResultSink) {
        let Some(branch) = self.info.enlisted.borrow_mut().take() else { return };
        let descriptor = self.info.transaction.borrow().descriptor;
        let open = self.info.transaction.borrow().count > 0;
        let left = Left {
            work: self.txns.take_work(),
            overlays: std::mem::take(&mut *self.info.overlays.borrow_mut()),
        };
        self.info.temp_at_begin.borrow_mut().take();
        Runner::new(&self.info, &mut self.txns, sink).leave_transaction();
        if !open {
            // It was rolled back, as the branch knows.
            branch.doom(self.info.engine.now_utc(), true);
        } else {
            branch.leave(left);
        }
        *self.info.shared.uow.lock() = None;
        self.info.shared.enlisted.store(false, Ordering::Relaxed);
        sink.env_change(EnvChange::DefectTransaction(descriptor));
    }

    /// The work of its branch was rolled back; the session leaves it when `leaves`.
    pub(super) fn doom_enlisted(&self, leaves: bool) {
        if let Some(branch) = &*self.info.enlisted.borrow() {
            branch.doom(self.info.engine.now_utc(), leaves);
        }
    }

    /// Answers a request with error 8525 when the branch that it works in is over.
    pub(super) fn refuse_completed(&mut self, sink: &mut dyn ResultSink) -> bool {
        if self.info.enlisted.borrow().is_none() || self.info.transaction.borrow().count > 0 {
            return false;
        }
        self.refuse(crate::distributed::errors::distributed_completed(), sink);
        true
    }

    /// Whether the request cannot be run, because it has to be recorded and cannot be. Told then.
    pub(super) fn refuse_unaudited(&mut self, text: &str, sink: &mut dyn ResultSink) -> bool {
        let Err(e) = self.info.audit_batch_started(text) else { return false };
        self.refuse(e, sink);
        true
    }

    fn refuse(&mut self, e: Box<keel_types::SqlError>, sink: &mut dyn ResultSink) {
        let mut runner = Runner::new(&self.info, &mut self.txns, sink);
        let e = errors::located(e, 1, None);
        runner.info.error.set(e.number);
        runner.report(&e);
        runner.final_done(true);
        self.end_request(sink);
    }
}
