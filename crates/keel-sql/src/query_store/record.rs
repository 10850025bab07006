//! What a session notes of the statements it runs.
//!
//! An execution costs, beside what is measured of every statement, one look into a map that only this session has, and an entry of a list; at
//! the end of the request, or when the list is full, the entries are added to the sums of their slots.

use super::Map;
use super::identity::category_of;
use super::rows::ContextRow;
use crate::program::{Compiled, InUse, Program, RunCost, Unit};
use crate::run::Halt;
use crate::session::info::Info;
use crate::session::options::Switches;
use keel_base::{DatabaseId, waits};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Statements with their plans that a session remembers; at the limit it begins anew.
const KNOWN_MAX: usize = 256;
/// Executions that are added up at once.
const RAN_MAX: usize = 256;
/// Slots that wait to be gathered; above this the session gathers by itself.
const WAITING_MAX: usize = 1024;

/// What is counted of an execution, by the place in its row.
pub(crate) mod figure {
    /// Nanoseconds from beginning to end.
    pub const DURATION: usize = 0;
    /// Nanoseconds of processor time.
    pub const CPU: usize = 1;
    /// Pages' worth of rows read.
    pub const LOGICAL_READS: usize = 2;
    /// Rows written.
    pub const WRITES: usize = 3;
    /// Pages read from disk.
    pub const READS: usize = 4;
    /// Threads.
    pub const DEGREE: usize = 5;
    /// Rows returned or changed.
    pub const ROWS: usize = 6;
    /// How many there are.
    pub const COUNT: usize = 7;
}

/// Regular, aborted by the client, ended by an error: the sums of a slot.
const EXECUTIONS: [u8; 3] = [0, 3, 4];

/// Many executions' share of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    #[serde(rename = "t")]
    pub total: u64,
    /// Sum of squares.
    #[serde(rename = "s")]
    pub squares: f64,
    #[serde(rename = "l")]
    pub last: u64,
    #[serde(rename = "n")]
    pub min: u64,
    #[serde(rename = "x")]
    pub max: u64,
}

impl Figure {
    /// Adds one; `before` are there already.
    pub fn add(&mut self, before: u64, n: u64) {
        self.last = n;
        self.min = if before == 0 { n } else { self.min.min(n) };
        // Most figures of most executions are nothing.
        if n > 0 {
            self.total += n;
            self.squares += n as f64 * n as f64;
            self.max = self.max.max(n);
        }
    }

    /// Adds later ones; `before` are there already, and `more` has at least one.
    pub fn merge(&mut self, before: u64, more: &Figure) {
        self.total += more.total;
        self.squares += more.squares;
        self.last = more.last;
        self.min = if before == 0 { more.min } else { self.min.min(more.min) };
        self.max = self.max.max(more.max);
    }

    /// Average and standard deviation of so many.
    pub fn spread(&self, count: u64) -> (f64, f64) {
        let count = count.max(1) as f64;
        let average = self.total as f64 / count;
        (average, (self.squares / count - average * average).max(0.0).sqrt())
    }
}

/// Executions of one outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub count: u64,
    /// When the first and the last of them ended, local ticks.
    pub first: i64,
    pub last: i64,
    pub figures: [Figure; figure::COUNT],
    /// By category: executions that waited, and nanoseconds.
    pub waits: SmallVec<[(u8, u64, Figure); 1]>,
}

impl Sums {
    fn add(&mut self, at: i64, figures: &[u64; figure::COUNT], waited: &[(u8, u64)]) {
        for (sum, n) in self.figures.iter_mut().zip(figures) {
            sum.add(self.count, *n);
        }
        if self.count == 0 {
            self.first = at;
        }
        self.last = at;
        self.count += 1;
        for (category, nanos) in waited {
            self.add_wait(*category, *nanos);
        }
    }

    fn add_wait(&mut self, category: u8, nanos: u64) {
        let at = self.waits.iter().position(|(c, ..)| *c == category).unwrap_or_else(|| {
            self.waits.push((category, 0, Figure::default()));
            self.waits.len() - 1
        });
        let (_, count, waited) = &mut self.waits[at];
        waited.add(*count, nanos);
        *count += 1;
    }
}

/// A statement with a plan, as one session has run it.
pub(crate) struct Slot {
    pub program: Arc<Program>,
    /// `None` of what is planned anew each time.
    pub compiled: Option<Arc<Compiled>>,
    /// Where the statement is in the program's text, bytes.
    pub span: (u32, u32),
    /// Whose store it belongs to.
    pub database: DatabaseId,
    pub context: ContextRow,
    /// Where it belongs: in which life of the database's memory that was found, and the plan's number.
    pub place: Mutex<Option<(u64, u64)>>,
    sums: Mutex<[Option<Box<Sums>>; 3]>,
}

impl Slot {
    /// What has been added up since it was taken last, by outcome.
    pub fn take(&self) -> Vec<(u8, Sums)> {
        let sums = std::mem::take(&mut *self.sums.lock());
        EXECUTIONS.into_iter().zip(sums).filter_map(|(kind, sums)| Some((kind, *sums?))).collect()
    }
}

/// A session's slots, as others may see them.
#[derive(Default)]
pub struct Recorded(pub(super) Mutex<Vec<Arc<Slot>>>);

impl Recorded {
    /// Its session has ended.
    pub(crate) fn leave_to(&self, others: &Recorded) {
        let slots = std::mem::take(&mut *self.0.lock());
        if !slots.is_empty() {
            others.0.lock().extend(slots);
        }
    }
}

/// An execution that is yet to be added up.
struct Ran {
    slot: u32,
    outcome: usize,
    at: i64,
    figures: [u64; figure::COUNT],
    /// Categories and nanoseconds; nearly always none.
    waits: Vec<(u8, u64)>,
}

/// What tells slots apart: what ran, by which plan, in which database, and under which settings.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Known {
    program: u64,
    /// The place of the statement in it.
    statement: usize,
    plan: usize,
    database: DatabaseId,
    switches: u32,
    /// Language, order of dates, and first day of the week.
    dates: (i16, i16, u8),
}

/// What a session's own thread needs.
#[derive(Default)]
pub struct Recording {
    /// The plan of the running statement is wanted.
    wanted: Cell<bool>,
    /// The slot of the running statement, from 1; 0 before its plan is known.
    slot: Cell<u32>,
    depth: Cell<u32>,
    known: RefCell<Map<Known, u32>>,
    slots: RefCell<Vec<Arc<Slot>>>,
    ran: RefCell<Vec<Ran>>,
}

/// Where the session's notes stood when a statement began.
pub(crate) struct StatementBegun {
    waits: usize,
    /// Those of the statement around it.
    around: (bool, u32),
}

impl Info {
    /// Whether a statement of a program is recorded: one of a module where the module is, any other where its session is.
    #[inline]
    pub(crate) fn records(&self, program: &Program) -> bool {
        self.engine.query_stores.load(Ordering::Relaxed) && self.records_now(program)
    }

    fn records_now(&self, program: &Program) -> bool {
        if program.id == 0 || program.identity.object_id < 0 {
            return false;
        }
        let here = self.database.borrow();
        if program.identity.object_id == 0 || here.id == program.identity.database {
            return here.query_store.captures();
        }
        let there = self.engine.database_by_id(program.identity.database);
        there.is_some_and(|entry| entry.query_store.captures())
    }

    /// A statement begins.
    pub(crate) fn record_start(&self) -> StatementBegun {
        let recording = &self.recording;
        if recording.depth.replace(recording.depth.get() + 1) == 0 {
            waits::follow(true);
        }
        StatementBegun {
            waits: waits::followed(),
            around: (recording.wanted.replace(true), recording.slot.replace(0)),
        }
    }

    /// Its plan is known.
    #[inline]
    pub(crate) fn record_plan(&self, program: &Arc<Program>, unit: &Unit, compiled: &InUse<'_>) {
        if self.recording.wanted.replace(false) {
            self.find_slot(program, unit, compiled);
        }
    }

    fn find_slot(&self, program: &Arc<Program>, unit: &Unit, compiled: &InUse<'_>) {
        let found = &compiled.dependencies;
        if found.catalogs.is_empty() && found.temporary.is_empty() && found.objects.is_empty() {
            // It reads nothing: `SELECT 1`.
            return;
        }
        // What mentions temporary tables is compiled for each of them: the first plan stands for all.
        let plan =
            if found.temporary.is_empty() { std::ptr::from_ref::<Compiled>(compiled) as usize } else { 0 };
        let key = self.known(program, std::ptr::from_ref(unit) as usize, plan);
        let known = self.recording.known.borrow().get(&key).copied();
        let slot = known.unwrap_or_else(|| {
            let crate::program::UnitSource::Statement(statement) = &unit.source else { return 0 };
            let span = (statement.span.start, statement.span.end);
            self.new_slot(key, program, Some(compiled.share()), span)
        });
        self.recording.slot.set(slot);
    }

    #[inline]
    fn known(&self, program: &Program, statement: usize, plan: usize) -> Known {
        let options = self.options.borrow();
        let switches = options.switches.0 & Switches::PLAN_AFFECTING.0;
        let dates = (options.dates.language.id, options.dates.order as i16, options.date_first);
        Known { program: program.id, statement, plan, database: self.database.borrow().id, switches, dates }
    }

    #[cold]
    fn new_slot(
        &self,
        key: Known,
        program: &Arc<Program>,
        compiled: Option<Arc<Compiled>>,
        span: (u32, u32),
    ) -> u32 {
        let recording = &self.recording;
        if recording.slots.borrow().len() >= KNOWN_MAX {
            // Of statements around this one the figures stay with their slots: they look at these again when they end.
            self.add_up();
            if recording.depth.get() > 1 {
                return 0;
            }
            recording.known.borrow_mut().clear();
            recording.slots.borrow_mut().clear();
        }
        let of_module = program.identity.object_id != 0;
        let database = if of_module { program.identity.database } else { self.database.borrow().id };
        let context = self.context_row(of_module, program.identity.schema_id);
        let slot = Slot {
            program: Arc::clone(program),
            compiled,
            span,
            database,
            context,
            place: Mutex::default(),
            sums: Mutex::default(),
        };
        let slot = Arc::new(slot);
        let waiting = {
            let mut recorded = self.shared.recorded.0.lock();
            recorded.push(Arc::clone(&slot));
            recorded.len()
        };
        if waiting > WAITING_MAX {
            super::gather_if_free(&self.engine);
        }
        let mut slots = recording.slots.borrow_mut();
        slots.push(slot);
        let number = slots.len() as u32;
        recording.known.borrow_mut().insert(key, number);
        number
    }

    /// A statement that is planned anew each time has been planned.
    pub(crate) fn record_unkept(&self, program: &Arc<Program>, at: usize, span: (u32, u32)) {
        if !self.recording.wanted.replace(false) {
            return;
        }
        let key = self.known(program, at, 0);
        let known = self.recording.known.borrow().get(&key).copied();
        let slot = known.unwrap_or_else(|| self.new_slot(key, program, None, span));
        self.recording.slot.set(slot);
    }

    /// A statement has ended, at this cost.
    pub(crate) fn record_end<T>(
        &self,
        begun: StatementBegun,
        cost: &RunCost,
        outcome: &std::result::Result<T, Halt>,
    ) {
        let recording = &self.recording;
        let depth = recording.depth.get() - 1;
        recording.depth.set(depth);
        let waits = if waits::followed() > begun.waits { waited_since(begun.waits) } else { Vec::new() };
        if depth == 0 {
            waits::follow(false);
        }
        recording.wanted.set(begun.around.0);
        let slot = recording.slot.replace(begun.around.1);
        if slot == 0 {
            return;
        }
        let outcome = match outcome {
            Ok(_) => 0,
            Err(_) if self.shared.cancel.is_cancelled() => 1,
            Err(_) => 2,
        };
        let mut figures = [0; figure::COUNT];
        figures[figure::DURATION] = cost.elapsed_nanos;
        figures[figure::CPU] = cost.cpu_nanos;
        figures[figure::LOGICAL_READS] = cost.logical_reads;
        figures[figure::WRITES] = cost.writes;
        figures[figure::READS] = cost.reads;
        figures[figure::DEGREE] = cost.degree;
        figures[figure::ROWS] = cost.rows;
        let at = cost.began + (cost.elapsed_nanos / 100) as i64;
        let mut ran = recording.ran.borrow_mut();
        ran.push(Ran { slot, outcome, at, figures, waits });
        if ran.len() >= RAN_MAX {
            drop(ran);
            self.add_up();
        }
    }

    /// Adds what has run since the last time to the sums of its slots.
    pub(crate) fn add_up(&self) {
        let mut ran = self.recording.ran.borrow_mut();
        let slots = self.recording.slots.borrow();
        for run in ran.drain(..) {
            let Some(slot) = slots.get(run.slot as usize - 1) else { continue };
            let mut sums = slot.sums.lock();
            let sums = sums[run.outcome].get_or_insert_default();
            sums.add(run.at, &run.figures, &run.waits);
        }
    }

    /// The settings under which a statement of a module, or of a batch with names in this schema, is compiled.
    pub(super) fn context_row(&self, of_module: bool, schema: i32) -> ContextRow {
        let options = self.options.borrow();
        let bits = [
            (Switches::ANSI_PADDING, 0x01),
            (Switches::FORCEPLAN, 0x04),
            (Switches::CONCAT_NULL, 0x08),
            (Switches::ANSI_WARNINGS, 0x10),
            (Switches::ANSI_NULLS, 0x20),
            (Switches::QUOTED_IDENTIFIER, 0x40),
            (Switches::NULL_DEFAULT_ON, 0x80),
            (Switches::NULL_DEFAULT_OFF, 0x100),
            (Switches::ARITHABORT, 0x1000),
            (Switches::NUMERIC_ROUNDABORT, 0x2000),
        ];
        // Plans may be parallel.
        let set_options = bits.iter().filter(|(s, _)| options.on(*s)).map(|(_, bit)| bit).sum::<i32>() | 0x02;
        ContextRow {
            set_options,
            language: options.dates.language.id,
            date_format: options.dates.order as i16 + 1,
            date_first: options.date_first,
            schema: if of_module { -2 } else { schema },
            contained: false,
        }
    }
}

/// What the thread has waited for since a place in the list, by category.
#[cold]
fn waited_since(from: usize) -> Vec<(u8, u64)> {
    let mut sums: Vec<(u8, u64)> = Vec::new();
    waits::each_followed(from, |wait_type, nanos| {
        let category = category_of(wait_type);
        match sums.iter_mut().find(|(c, _)| *c == category) {
            Some((_, sum)) => *sum += nanos,
            None => sums.push((category, nanos)),
        }
    });
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(durations: &[u64]) -> Sums {
        let mut sums = Sums::default();
        for (at, duration) in durations.iter().enumerate() {
            let mut figures = [1; figure::COUNT];
            figures[figure::DURATION] = *duration;
            sums.add(at as i64, &figures, &[(3, *duration)]);
        }
        sums
    }

    #[test]
    fn sums_of_sums_are_sums() {
        let (first, then, whole) = (sums(&[7, 3]), sums(&[5, 9, 1]), sums(&[7, 3, 5, 9, 1]));
        let mut both = first.figures[figure::DURATION];
        both.merge(first.count, &then.figures[figure::DURATION]);
        assert_eq!(both, whole.figures[figure::DURATION]);
        assert_eq!([both.total, both.last, both.min, both.max], [25, 1, 1, 9]);
        let (average, deviation) = both.spread(whole.count);
        assert!((average - 5.0).abs() < 1e-9 && (deviation - 8f64.sqrt()).abs() < 1e-9);
        assert_eq!(whole.waits.to_vec(), [(3, 5, both)]);
        let mut fresh = Figure::default();
        fresh.merge(0, &then.figures[figure::DURATION]);
        assert_eq!(fresh, then.figures[figure::DURATION]);
    }
}
