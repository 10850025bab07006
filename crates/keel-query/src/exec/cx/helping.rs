//! What an execution shares with those of its helpers ([`crate::exec::parallel`]), and what they tell it at their end.

use super::{Cx, IoCounters};
use crate::errors::{self, Result};
use crate::exec::parallel::Together;
use crate::memory::MemoryShare;
use keel_base::DatabaseId;
use keel_node::{Isolation, ReadView};
use parking_lot::Mutex;
use std::sync::Arc;

/// Views by database and level.
pub(crate) type Views = Vec<(DatabaseId, Option<Isolation>, ReadView)>;

/// Working memory of a statement that has helpers, of all its threads together. They take more of it one after the other, so that what
/// limits a statement limits all of them.
#[derive(Default)]
pub(crate) struct Common {
    /// What they have been granted, bytes.
    granted: usize,
    /// What they hold, bytes: each as of when it last asked for more or gave some back.
    held: usize,
    /// The statement has given everything back.
    ended: bool,
    /// What its resource pool has for it.
    share: Option<Arc<MemoryShare>>,
}

impl Common {
    /// Has `reserve` take more for the statement, which is told what it has; how much.
    pub(super) fn take(&mut self, reserve: impl FnOnce(usize) -> usize) -> usize {
        let taken = if self.ended { 0 } else { reserve(self.granted) };
        self.granted += taken;
        taken
    }
}

/// What a helper's execution has to tell.
pub(crate) struct Report {
    bytes_read: u64,
    saw_null: bool,
    memory: usize,
    granted: usize,
    told: usize,
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

    /// The memory that the statement has becomes that of all its threads, as its resource pool allows.
    pub(crate) fn share_memory(&mut self) -> Arc<Mutex<Common>> {
        self.know_share();
        let (granted, share) = (self.granted, self.rare().share.clone());
        let together = self.rare().together.get_or_insert_default();
        let make = || Arc::new(Mutex::new(Common { granted, share, ..Common::default() }));
        let common = Arc::clone(together.common.get_or_insert_with(make));
        self.held_together();
        common
    }

    /// This is a helper's execution.
    pub(crate) fn begin_helping(&mut self, views: Views, together: Together, counts_io: bool) {
        self.views = views.into();
        let rare = self.rare();
        rare.share = together.common.as_ref().and_then(|common| common.lock().share.clone());
        rare.together = Some(Box::new(together));
        rare.io = counts_io.then(IoCounters::default);
    }

    /// What a helper's execution has to tell. What it holds is its session's from then on.
    pub(crate) fn report(&mut self) -> Report {
        let messages = self.take_messages();
        let io = self.rare.as_mut().and_then(|rare| rare.io.take());
        let told = self.together().map_or(0, |together| std::mem::take(&mut together.told));
        Report {
            bytes_read: std::mem::take(&mut self.bytes_read),
            saw_null: std::mem::take(&mut self.saw_null),
            memory: std::mem::take(&mut self.memory),
            granted: std::mem::take(&mut self.granted),
            told,
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
        self.granted += report.granted;
        if let Some(together) = self.together() {
            together.told += report.told;
        }
        let rare = self.rare();
        rare.refused |= report.refused;
        if let (Some(own), Some(io)) = (&mut rare.io, report.io) {
            own.absorb(io);
        }
        for message in report.messages {
            self.warn(message);
        }
    }

    /// Takes over what helpers have told whose gather had ended before. Once the operators are closed nobody tells any more.
    pub(crate) fn absorb_late(&mut self) {
        let late = self.together().map(|together| together.take_late());
        late.into_iter().flatten().for_each(|report| self.absorb(report));
    }

    /// The statement ends: what all its threads were granted is this execution's.
    pub(super) fn end_sharing(&mut self) {
        let Some(common) = self.common() else { return };
        let granted = {
            let mut common = common.lock();
            common.ended = true;
            common.granted
        };
        self.granted = granted;
    }

    /// What all threads of the statement have; `None` where there has been one thread so far.
    pub(super) fn common(&self) -> Option<&Arc<Mutex<Common>>> {
        self.rare.as_ref()?.together.as_ref()?.common.as_ref()
    }

    /// What all threads of the statement hold, as far as they have told; this one tells.
    pub(super) fn held_together(&mut self) -> usize {
        let memory = self.memory;
        let Some(Together { common: Some(common), told, .. }) = self.together() else { return memory };
        let mut common = common.lock();
        common.held = (common.held + memory).saturating_sub(std::mem::replace(told, memory));
        common.held
    }

    /// Tells that this thread holds less than it has told.
    pub(super) fn tell_less(&mut self) {
        let memory = self.memory;
        if self.together().is_some_and(|together| together.told > memory) {
            self.held_together();
        }
    }

    /// Whether this is a helper's execution.
    #[inline]
    pub(crate) fn helps(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.together.as_ref().is_some_and(|t| t.helps()))
    }
}
