//! Before a batch runs, and when a module is made: whether the columns that the statements name are there, and have types that
//! go together.
//!
//! The product compiles a batch before it runs any of it, and does nothing at all of one that names a column which its table
//! does not have: all such statements are told of, also those that no branch would have come to. A statement whose tables are
//! not there yet waits until it is run (deferred name resolution). Nor does it make or alter a procedure, function or trigger
//! that names such a column.
//!
//! Batches are looked at that have more than one statement and change no definitions themselves: what those statements come to
//! is seen when they are run, one by one. A module is looked at up to the first statement that changes definitions. The plans made here are kept for what is run before rows change, and for INSERT; others
//! are made again from what the tables hold by then.

use super::call::bind_arguments;
use super::reach::Reach;
use super::{Argument, Runner, failure_status};
use crate::ddl::NamedByModule;
use crate::errors;
use crate::program::{Op, Program, Unit, UnitSource};
use crate::run::Frame;
use crate::session::info::Info;
use keel_parser::ast::{self, StatementKind};
use keel_query::Plan;
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Whether an error is of a name that stands for nothing, which no TRY of the same level catches: what a statement waited for has not
/// come (deferred name resolution).
pub(super) fn is_of_names(e: &SqlError) -> bool {
    e.number == 208 || REFUSED.contains(&e.number)
}

/// A column that is not there (by a name of one part, of several), or in more than one of the tables; types that do not go together.
const REFUSED: [i32; 4] = [207, 4104, 209, 206];

impl Runner<'_> {
    /// Of dynamic text: tells what is wrong with its columns, and gives the status that it returns then. An error where somebody
    /// catches it.
    pub(super) fn refused(&mut self, program: &Arc<Program>, frame: &Frame) -> Result<Option<i32>> {
        let mut refusals = self.refusals(program, frame);
        if refusals.is_empty() {
            return Ok(None);
        }
        let first = refusals.remove(0);
        if self.raise_all || self.info.try_depth.get() > 0 {
            return Err(first);
        }
        self.info.error.set(first.number);
        self.report(&first);
        refusals.iter().for_each(|e| self.report(e));
        self.statement_failed(Reach::Program, &first);
        self.done_error();
        Ok(Some(failure_status(&first)))
    }

    /// Why a text cannot be prepared with these values: nothing where it can, or where only its execution will tell. A text that is a single
    /// statement needs what it names.
    pub fn unprepared(
        &mut self,
        text: &Arc<str>,
        declarations: &Arc<str>,
        args: &[Argument],
    ) -> Vec<Box<SqlError>> {
        let program = match self.batch_program(text, declarations, &[], true) {
            Ok(program) => program,
            Err(e) => return vec![errors::located(e, 1, None)],
        };
        let mut frame = Frame::new(&program, self.info.nest_level() + 1);
        if bind_arguments(&program.parameters, "", args, &mut frame, self.dates()).is_err() {
            return Vec::new();
        }
        let mut wrong = self.refusals(&program, &frame);
        if let ([only, end], []) = (program.code.as_slice(), wrong.as_slice())
            && matches!(end.op, Op::Return(None))
            && let Some(unit) = looked_at(&only.op)
        {
            let refusal = self.find_unit(&program, &frame, unit).err().filter(|e| is_of_names(e));
            wrong.extend(refusal.map(|e| errors::located(e, only.line, None)));
        }
        wrong
    }

    /// What is wrong with the columns that a batch names; nothing of it must run then.
    pub fn refusals(&mut self, program: &Arc<Program>, frame: &Frame) -> Vec<Box<SqlError>> {
        let version = self.info.catalog_version(program.identity.database).wrapping_add(1);
        if program.looked_at.load(Ordering::Relaxed) == version || self.only_compiles() || !worth_it(program)
        {
            return Vec::new();
        }
        let mut refusals = Vec::new();
        let mut rows_change = false;
        let _ahead = LooksAhead::begin(self.info);
        for instruction in &program.code {
            let Some(unit) = looked_at(&instruction.op) else { continue };
            let keeps = !rows_change || inserts(unit);
            rows_change |= matches!(instruction.op, Op::Dml { .. });
            let outcome = if keeps {
                self.find_unit(program, frame, unit).map(drop)
            } else {
                self.compile(program, frame, unit).map(drop)
            };
            let refusal = outcome.err().filter(|e| REFUSED.contains(&e.number));
            refusals.extend(refusal.map(|e| errors::located(e, instruction.line, None)));
        }
        if refusals.is_empty() {
            program.looked_at.store(version, Ordering::Relaxed);
        }
        refusals
    }

    /// What is wrong with the columns of a module's unit. Of one that reads system views nothing is said: where they lack
    /// columns of the product's, the other branches of a procedure that asks for them work.
    fn refusal(&self, program: &Program, frame: &Frame, unit: &Unit) -> Option<Box<SqlError>> {
        let scope = self.scope(program, frame);
        let e = self.compile_in(&scope, unit).err()?;
        (REFUSED.contains(&e.number) && !scope.reads_system.get()).then_some(e)
    }

    /// Of an inline function that is to be made: whether its query can be compiled. What it reads must be there, as for a view.
    pub fn check_query(&self, program: &Program, query: &ast::SelectStatement) -> Result<Plan> {
        let frame = Frame::new(program, self.info.nest_level() + 1);
        keel_query::compile_select(&self.scope(program, &frame), query)
    }

    /// What the statements of a function name, or the query of an inline one.
    pub(crate) fn named_in_program(
        &self,
        program: &Program,
        query: Option<&ast::SelectStatement>,
    ) -> Result<NamedByModule> {
        let frame = Frame::new(program, self.info.nest_level() + 1);
        let scope = self.scope(program, &frame);
        if let Some(query) = query {
            keel_query::compile_select(&scope, query)?;
            return Ok(NamedByModule::by(scope));
        }
        let mut uses = Vec::new();
        for unit in program.code.iter().filter_map(|i| looked_at(&i.op)) {
            uses.extend(self.compile_in(&scope, unit)?.needs);
        }
        Ok(NamedByModule { uses, ..NamedByModule::by(scope) })
    }

    /// Of a module that is to be made: whether what it names is there. All that is wrong is told, the last as the error.
    pub fn check_names(&mut self, program: &Program) -> Result<()> {
        let frame = Frame::new(program, self.info.nest_level() + 1);
        let name = program.identity.name.as_deref();
        let mut refusals = Vec::new();
        let _ahead = LooksAhead::begin(self.info);
        for instruction in &program.code {
            if changes_names(&instruction.op) {
                break;
            }
            let Some(unit) = looked_at(&instruction.op) else { continue };
            refusals.extend(
                self.refusal(program, &frame, unit).map(|e| errors::located(e, instruction.line, name)),
            );
        }
        let Some(last) = refusals.pop() else { return Ok(()) };
        refusals.iter().for_each(|e| self.report(e));
        Err(last)
    }
}

/// As long as it is there other servers are not asked: a statement that names their tables waits until its turn comes.
struct LooksAhead<'a>(&'a Info);

impl LooksAhead<'_> {
    fn begin(info: &Info) -> LooksAhead<'_> {
        info.looks_ahead.set(true);
        LooksAhead(info)
    }
}

impl Drop for LooksAhead<'_> {
    fn drop(&mut self) {
        self.0.looks_ahead.set(false);
    }
}

/// What is looked at ahead of an instruction: its statement, or the expression that it begins with.
fn looked_at(op: &Op) -> Option<&Unit> {
    match op {
        Op::Select { query: unit, .. }
        | Op::Dml { statement: unit, .. }
        | Op::JumpUnless { condition: unit, .. }
        | Op::Assign { value: unit, .. }
        | Op::Print(unit)
        | Op::Return(Some(unit)) => Some(unit),
        Op::DeclareCursor(cursor) => Some(&cursor.query),
        _ => None,
    }
}

/// Whether names may mean something else behind it.
fn changes_names(op: &Op) -> bool {
    use StatementKind::{Checkpoint, Dbcc, Truncate, UpdateStatistics};
    match op {
        Op::Use(_) | Op::SelectInto(_) => true,
        Op::Statement(s) => !matches!(s.kind, Checkpoint(_) | Dbcc(_) | Truncate(_) | UpdateStatistics(_)),
        _ => false,
    }
}

/// Whether it has more than one statement, and none after which names may mean something else.
fn worth_it(program: &Program) -> bool {
    let mut statements = 0;
    for instruction in &program.code {
        match &instruction.op {
            op if changes_names(op) => return false,
            Op::Return(None) => {}
            _ => statements += 1,
        }
    }
    statements > 1
}

fn inserts(unit: &Unit) -> bool {
    matches!(&unit.source, UnitSource::Statement(s) if matches!(s.kind, StatementKind::Insert(_)))
}
