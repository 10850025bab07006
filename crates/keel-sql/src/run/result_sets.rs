//! EXECUTE … WITH RESULT SETS: the results of a call under the names and types that its caller wants.

use super::{Frame, Halt, Runner, Txns};
use crate::errors;
use crate::program::{Call, Program, WantedColumn};
use crate::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use keel_types::cast::{self, Cast};
use keel_types::datetime::language::Dates;
use keel_types::{SqlError, SqlType, Value};
use std::sync::Arc;

impl Runner<'_> {
    /// Makes a call whose results are as `wanted`: errors 11535 to 11538 and 11553 where they cannot be.
    pub(super) fn call_with_results(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        call: &Call,
        wanted: &[Vec<WantedColumn>],
    ) -> Result<(), Halt> {
        let dates = self.dates();
        let mut shaped =
            Shaped { outer: self.sink, wanted, begun: 0, casts: Vec::new(), dates, failed: None };
        let mut inner = Runner {
            info: self.info,
            txns: match &mut self.txns {
                Txns::Own(set) => Txns::Own(set),
                Txns::Lent(lent) => Txns::Lent(*lent),
            },
            sink: &mut shaped,
            try_depth: self.try_depth,
            in_proc: self.in_proc,
            raise_all: self.raise_all,
            capturing: self.capturing,
            in_trigger: self.in_trigger,
            line: self.line,
            anew: false,
        };
        let outcome = inner.call_plainly(program, frame, call);
        if let Some(e) = shaped.failed {
            return Err(e.into());
        }
        outcome?;
        if shaped.begun < wanted.len() {
            return Err(errors::fewer_result_sets(wanted.len(), shaped.begun).into());
        }
        Ok(())
    }
}

/// Gives results on in the shape that is wanted; everything else passes through.
struct Shaped<'a> {
    outer: &'a mut dyn ResultSink,
    wanted: &'a [Vec<WantedColumn>],
    /// Result sets that have begun.
    begun: usize,
    /// Conversions of the present one's columns.
    casts: Vec<Cast>,
    dates: Dates,
    /// Why the results are not as wanted: the call's error, whatever else comes of it.
    failed: Option<Box<SqlError>>,
}

impl Shaped<'_> {
    fn begin(&mut self, given: &[ColumnMeta]) -> Result<Vec<ColumnMeta>, Box<SqlError>> {
        let number = self.begun + 1;
        let wanted =
            self.wanted.get(self.begun).ok_or_else(|| errors::more_result_sets(self.wanted.len()))?;
        self.begun = number;
        if wanted.len() != given.len() {
            return Err(errors::result_set_columns(wanted.len(), number, given.len()));
        }
        self.casts.clear();
        let mut columns = Vec::with_capacity(wanted.len());
        for (at, (want, have)) in wanted.iter().zip(given).enumerate() {
            let cast = cast::implicit(have.ty, want.ty)
                .map_err(|_| errors::result_set_type(want.ty, at + 1, number, have.ty))?;
            self.casts.push(cast.with_dates(self.dates));
            let collation =
                if have.ty.is_string() { have.collation } else { ColumnMeta::new("", want.ty).collation };
            columns.push(ColumnMeta {
                collation,
                nullable: want.nullable,
                ..ColumnMeta::new(want.name.clone(), want.ty)
            });
        }
        Ok(columns)
    }

    fn shape(&self, row: &[Value]) -> Result<Vec<Value>, Box<SqlError>> {
        let wanted = &self.wanted[self.begun - 1];
        let mut shaped = Vec::with_capacity(row.len());
        for (at, ((value, cast), want)) in row.iter().zip(&self.casts).zip(wanted).enumerate() {
            if value.is_null() && !want.nullable {
                return Err(errors::result_set_null(at + 1, self.begun));
            }
            shaped.push(cast.apply(value)?);
        }
        Ok(shaped)
    }
}

impl ResultSink for Shaped<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        match self.begin(columns) {
            Ok(columns) if self.failed.is_none() => self.outer.columns(&columns),
            Ok(_) => {}
            Err(e) => drop(self.failed.get_or_insert(e)),
        }
    }
    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        if self.failed.is_some() {
            return Err(SinkClosed);
        }
        match self.shape(row) {
            Ok(row) => self.outer.row(&row),
            Err(e) => {
                self.failed = Some(e);
                Err(SinkClosed)
            }
        }
    }
    fn done(&mut self, done: DoneInfo) {
        self.outer.done(done);
    }
    fn message(&mut self, message: &SqlError) {
        // What ends because a row was not taken has its reason in the error that follows.
        if self.failed.is_none() {
            self.outer.message(message);
        }
    }
    fn return_status(&mut self, status: i32) {
        self.outer.return_status(status);
    }
    fn output(&mut self, ordinal: usize, name: &str, ty: &SqlType, value: &Value) {
        self.outer.output(ordinal, name, ty, value);
    }
    fn function_value(&mut self, ty: &SqlType, value: &Value) {
        self.outer.function_value(ty, value);
    }
    fn env_change(&mut self, change: EnvChange) {
        self.outer.env_change(change);
    }
    fn flush(&mut self) {
        self.outer.flush();
    }
}
