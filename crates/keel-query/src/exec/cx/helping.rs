//! What an execution shares with those of its helpers ([`crate::exec::parallel`]), and what they tell it at their end.

use super::{Cx, IoCounters};
use crate::errors::{self, Result};
use crate::exec::parallel::Together;
use keel_base::DatabaseId;
use keel_node::{Isolation, ReadView};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Views by database and level.
pub(crate) type Views = Vec<(DatabaseId, Option<Isolation>, ReadView)>;

/// What a helper's execution has to tell.
pub(crate) struct Report {
    bytes_read: u64,
    saw_null: bool,
    memory: usize,
    refused: bool,
    messages: Vec<errors::Error>,
    io: Option<IoCounters>,
}

impl Cx<'_> {
    /// The statement's views, made where it has not read yet.
    pub(crate) fn views_of(&mut self, reads: &[(DatabaseId, Option<Isolation>)]) -> Result<Views> {
        for (database, level) in reads {
            self.view(*database, *level)?;
        }
        Ok(self.views.to_vec())
    }

    /// The memory that the statement has been granted becomes that of all its threads.
    pub(crate) fn share_grant(&mut self) -> Arc<AtomicUsize> {
        let granted = self.granted;
        let together = self.rare().together.get_or_insert_default();
        Arc::clone(together.granted.get_or_insert_with(|| Arc::new(granted.into())))
    }

    /// This is a helper's execution.
    pub(crate) fn begin_helping(&mut self, views: Views, together: Together, counts_io: bool) {
        self.views = views.into();
        let rare = self.rare();
        rare.together = Some(Box::new(together));
        rare.io = counts_io.then(IoCounters::default);
    }

    /// What a helper's execution has to tell. What it holds is its session's from then on.
    pub(crate) fn report(&mut self) -> Report {
        let messages = self.take_messages();
        let io = self.rare.as_mut().and_then(|rare| rare.io.take());
        Report {
            bytes_read: std::mem::take(&mut self.bytes_read),
            saw_null: std::mem::take(&mut self.saw_null),
            memory: std::mem::take(&mut self.memory),
            refused: self.rare.as_ref().is_some_and(|rare| rare.refused),
            messages,
            io,
        }
    }

    /// Takes over what a helper has told.
    pub(crate) fn absorb(&mut self, report: Report) {
        self.bytes_read += report.bytes_read;
        self.saw_null |= report.saw_null;
        self.memory += report.memory;
        let rare = self.rare();
        rare.refused |= report.refused;
        if let (Some(own), Some(io)) = (&mut rare.io, report.io) {
            own.absorb(io);
        }
        for message in report.messages {
            self.warn(message);
        }
    }

    /// Helpers have ended: what they were granted is this execution's.
    pub(crate) fn end_sharing(&mut self) {
        if let Some(granted) = self.granted_together() {
            self.granted = granted;
        }
    }

    /// What all threads of the statement have been granted; `None` where there is one thread.
    pub(super) fn granted_together(&self) -> Option<usize> {
        let granted = self.rare.as_ref()?.together.as_ref()?.granted.as_ref()?;
        Some(granted.load(Ordering::Relaxed))
    }

    /// Whether this is a helper's execution.
    #[inline]
    pub(crate) fn helps(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.together.as_ref().is_some_and(|t| t.helps()))
    }
}
