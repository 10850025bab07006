//! The statement a session is at, as other threads may see it: activity views and deadlock reports tell it.

use crate::program::{Instruction, Program};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What a session runs. Its own thread writes, others read.
#[derive(Default)]
pub struct Current {
    program: Mutex<Option<Arc<Program>>>,
    /// Beginning and end of the statement in the program's text, bytes: the high and the low half.
    span: AtomicU64,
    line: AtomicU32,
}

/// A statement of a program.
#[derive(Clone)]
pub struct StatementAt {
    /// The batch or module.
    pub program: Arc<Program>,
    /// Where the statement begins in its text, bytes.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// Its line.
    pub line: u32,
}

impl Current {
    /// A program begins or, of a call that has ended, goes on. Returns what ran before.
    pub fn enter(&self, program: &Arc<Program>) -> Option<StatementAt> {
        let before = self.program.lock().replace(Arc::clone(program));
        let before = before.map(|program| self.at(program));
        self.go_to(0, 0, 1);
        before
    }

    /// Back to what ran before.
    pub fn leave(&self, before: Option<StatementAt>) {
        let Some(before) = before else {
            *self.program.lock() = None;
            return;
        };
        self.go_to(before.start, before.end, before.line);
        *self.program.lock() = Some(before.program);
    }

    fn go_to(&self, start: u32, end: u32, line: u32) {
        self.span.store(u64::from(start) << 32 | u64::from(end), Ordering::Relaxed);
        self.line.store(line, Ordering::Relaxed);
    }

    /// The program is at this instruction.
    pub fn step(&self, instruction: &Instruction) {
        self.go_to(instruction.start, instruction.end, instruction.line);
    }

    fn at(&self, program: Arc<Program>) -> StatementAt {
        let span = self.span.load(Ordering::Relaxed);
        let length = program.text.len() as u32;
        // The two halves may be of a statement of the program before: what is read beside a running session is a guess.
        let end = (span as u32).min(length);
        let start = ((span >> 32) as u32).min(end);
        StatementAt { program, start, end, line: self.line.load(Ordering::Relaxed) }
    }

    /// The statement that runs, if one does.
    #[must_use]
    pub fn statement(&self) -> Option<StatementAt> {
        let program = self.program.lock().clone()?;
        Some(self.at(program))
    }
}

impl StatementAt {
    /// Its text; empty when a place in the text was read while it moved.
    #[must_use]
    pub fn text(&self) -> &str {
        self.program.text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Where it begins and ends in the text in bytes of UTF-16, as the product counts; the end is -1 at the end of the text.
    #[must_use]
    pub fn offsets(&self) -> (i64, i64) {
        let text = &*self.program.text;
        let until = |end: u32| {
            let units = text.get(..end as usize).map_or(0, |part| part.encode_utf16().count());
            2 * units as i64
        };
        let rest = text.get(self.end as usize..).unwrap_or_default();
        let ends = rest.trim_end_matches(|c: char| c.is_whitespace() || c == ';').is_empty();
        (until(self.start), if ends { -1 } else { until(self.end) })
    }
}
