//! The statement a session is at, as other threads may see it: activity views and deadlock reports tell it.

use crate::program::{Instruction, Program, Runs, Unit};
use crate::query_store::{plan_hash, query_hash};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a session runs. Its own thread writes, others read.
#[derive(Default)]
pub struct Current {
    program: Mutex<Option<Arc<Program>>>,
    /// The instruction it is at.
    at: AtomicU32,
}

/// A statement of a program.
#[derive(Clone)]
pub struct StatementAt {
    /// The batch or module.
    pub program: Arc<Program>,
    /// Its place among the program's instructions.
    instruction: u32,
    /// Where the statement begins in its text, bytes.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// Its line.
    pub line: u32,
}

/// What ran when another program began.
pub type Before = Option<(Arc<Program>, u32)>;

impl Current {
    /// A program begins. Returns what ran before.
    pub fn enter(&self, program: &Arc<Program>) -> Before {
        let before = self.program.lock().replace(Arc::clone(program));
        let at = self.at.swap(0, Ordering::Relaxed);
        before.map(|program| (program, at))
    }

    /// Back to what ran before.
    pub fn leave(&self, before: Before) {
        let (program, at) = before.map_or((None, 0), |(program, at)| (Some(program), at));
        self.at.store(at, Ordering::Relaxed);
        *self.program.lock() = program;
    }

    /// The program is at this instruction.
    pub fn step(&self, instruction: u32) {
        self.at.store(instruction, Ordering::Relaxed);
    }

    /// The statement that runs, if one does.
    #[must_use]
    pub fn statement(&self) -> Option<StatementAt> {
        // What is read beside a running session may be an instruction of the program before.
        StatementAt::of(&self.program.lock().clone()?, self.at.load(Ordering::Relaxed))
    }
}

impl StatementAt {
    /// The statement of an instruction, if there is such a one.
    #[must_use]
    pub fn of(program: &Arc<Program>, instruction: u32) -> Option<StatementAt> {
        let Instruction { start, end, line, .. } = *program.code.get(instruction as usize)?;
        Some(StatementAt { program: Arc::clone(program), instruction, start, end, line })
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.program.text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// `query_hash`.
    #[must_use]
    pub fn query_hash(&self) -> u64 {
        query_hash(&self.program, (self.start, self.end))
    }

    /// `query_plan_hash` of the plan that is kept of it; 0 when none is.
    #[must_use]
    pub fn plan_hash(&self) -> u64 {
        let kept = self.unit().and_then(Unit::newest);
        kept.map_or(0, |compiled| plan_hash(&compiled.code))
    }

    /// How many plans were made of it.
    #[must_use]
    pub fn generation(&self) -> u64 {
        1 + self.unit().map_or(0, |unit| unit.recompilations.load(Ordering::Relaxed))
    }

    /// How often it ran and what that cost; `None` when it did not, and of what is no query.
    #[must_use]
    pub fn runs(&self) -> Option<Runs> {
        self.program.code.get(self.instruction as usize)?.stats.as_ref()?.runs()
    }

    fn unit(&self) -> Option<&Unit> {
        self.program.code.get(self.instruction as usize)?.op.unit()
    }

    /// Where it is in its text: [`Program::offsets`].
    #[must_use]
    pub fn offsets(&self) -> (i64, i64) {
        self.program.offsets((self.start, self.end))
    }
}
