//! Inserting many rows without a statement: INSERT BULK.
//!
//! ```text
//! source ── Cell ──► BulkRow::put: fits the column? ── yes ──► stored bytes at once
//!                                    └─ no ──► slot ─► conversion ─► slot ─► stored bytes
//! end of row ──► other columns computed ──► key and stored row ──► one insert, no lock of its own
//! ```
//!
//! A value that needs no conversion is never more than borrowed bytes; only columns that keys, indexes, constraints and
//! computed columns read become values in slots. With the table locked for the load (TABLOCK), or from the row on where
//! the lock could be escalated, rows need no locks and the base is asked once per gap in its keys.

use super::Assignment;
use super::insert::{InsertRow, insert_row};
use super::target::{Guard, RowBuffers, Target};
use crate::bind::Binder;
use crate::bind::rel::SlotInfo;
use crate::capture::Operation;
use crate::catalog::{ColumnDef, TableDef};
use crate::changes::ChangeKind;
use crate::context::{DmlAction, ExecCtx, RowSink, RunInfo};
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use crate::expr::compile::{Code, Compiler, NoSubqueries};
use crate::plan::run::subquery_states;
use crate::plan::{Planner, SubPlan};
use crate::scope::BindScope;
use keel_node::LockMode;
use keel_store::row::RowBuilder;
use keel_types::{Decimal, Length, SqlType, Value, column};
use std::sync::Arc;

/// What a bulk insert does differently.
#[derive(Clone, Copy, Debug, Default)]
pub struct BulkOptions {
    /// KEEP_IDENTITY: identity values come with the rows.
    pub keep_identity: bool,
    /// CHECK_CONSTRAINTS: without it CHECK and FOREIGN KEY are not looked at.
    pub check_constraints: bool,
    /// KEEP_NULLS: without it a NULL takes the column's default.
    pub keep_nulls: bool,
    /// TABLOCK: the table is locked for bulk update from the start.
    pub table_lock: bool,
}

impl BulkOptions {
    /// The lock of the table that the caller takes before it compiles, so that the definition stays what it is.
    #[must_use]
    pub fn lock_mode(self) -> LockMode {
        if self.table_lock { LockMode::BulkUpdate } else { LockMode::IntentExclusive }
    }
}

/// A value on its way in, borrowed where that saves a copy.
#[derive(Debug)]
pub enum Cell<'a> {
    /// NULL of any type.
    Null,
    /// An integer of any type.
    Int(i64),
    /// A number, a point in time, a guid, …
    Value(Value),
    /// A string of any type that is known to be ASCII.
    Ascii(&'a [u8]),
    /// A string of any type.
    Text(&'a str),
    /// A binary string of any type.
    Binary(&'a [u8]),
}

impl Cell<'_> {
    /// As an owned value.
    #[must_use]
    pub fn into_value(self) -> Value {
        match self {
            Cell::Null => Value::Null,
            Cell::Int(n) => Value::Int(n),
            Cell::Value(v) => v,
            Cell::Ascii(bytes) => Value::Str(String::from_utf8_lossy(bytes).into()),
            Cell::Text(s) => Value::Str(s.into()),
            Cell::Binary(b) => Value::Bytes(b.into()),
        }
    }
}

/// Takes the values of one row.
pub trait BulkRow {
    /// Forgets what was put so far: the row begins (again).
    fn start(&mut self);
    /// Takes the value of the source's column `index`.
    fn put(&mut self, index: usize, cell: Cell<'_>) -> Result<()>;
}

/// Gives the rows, one at each call; false at the end.
pub type NextRow<'a> = dyn FnMut(&mut dyn BulkRow) -> Result<bool> + 'a;

/// When a value can be stored in a column without a conversion.
enum Fit {
    /// Always.
    Same,
    /// An integer in this range.
    Integer(i64, i64),
    /// A decimal of the column's scale and at most this many digits.
    Decimal { precision: u8, scale: u8 },
    /// An ASCII string up to this length; `blanks` at its end are left away.
    Text { length: usize, blanks: bool },
    /// Bytes, at least and at most so many.
    Bytes(usize, usize),
    /// Never.
    No,
}

/// A column of the source.
struct Source {
    /// The table's column, or `None` when the value is not wanted.
    column: Option<usize>,
    fit: Fit,
    /// The value is needed beside its stored bytes.
    keep: bool,
    slot: usize,
    /// Conversion of the value in `slot`.
    convert: Code,
    /// What replaces NULL.
    default: Option<Code>,
}

/// A compiled bulk insert into some columns of a table.
pub struct BulkInserter {
    target: Target,
    /// Columns that the source does not give.
    row: InsertRow,
    /// Which columns those are, as far as they are stored.
    made: Vec<usize>,
    not_null: Vec<usize>,
    sources: Vec<Source>,
    slot_count: usize,
    /// What block predicates look up.
    subplans: Vec<SubPlan>,
    options: BulkOptions,
}

fn fit(from: SqlType, to: SqlType) -> Fit {
    use SqlType as T;
    let length = |l: Length| match l {
        Length::Limited(n) => usize::from(n),
        Length::Max => usize::MAX,
    };
    let whole = |t: T| matches!(t, T::TinyInt | T::SmallInt | T::Int | T::BigInt);
    let binary = |t: T| matches!(t, T::Binary(_) | T::VarBinary(_) | T::Image);
    match to {
        T::TinyInt if whole(from) => Fit::Integer(0, 255),
        T::SmallInt if whole(from) => Fit::Integer(i16::MIN.into(), i16::MAX.into()),
        T::Int if whole(from) => Fit::Integer(i32::MIN.into(), i32::MAX.into()),
        T::BigInt if whole(from) => Fit::Same,
        T::Decimal { precision, scale } | T::Numeric { precision, scale }
            if matches!(from, T::Decimal { .. } | T::Numeric { .. }) =>
        {
            Fit::Decimal { precision, scale }
        }
        T::Char(n) | T::NChar(n) if from.is_string() => Fit::Text { length: n.into(), blanks: true },
        T::VarChar(n) | T::NVarChar(n) if from.is_string() => Fit::Text { length: length(n), blanks: false },
        T::Text | T::NText if from.is_string() => Fit::Text { length: usize::MAX, blanks: false },
        T::Binary(n) if binary(from) => Fit::Bytes(n.into(), n.into()),
        T::VarBinary(n) if binary(from) => Fit::Bytes(0, length(n)),
        T::Encrypted(_) if from.is_encrypted() => Fit::Bytes(0, usize::MAX),
        T::Image if binary(from) => Fit::Bytes(0, usize::MAX),
        T::Xml | T::TypedXml(_) => Fit::No,
        _ if from == to && !from.is_string() && !binary(from) => Fit::Same,
        _ => Fit::No,
    }
}

impl Fit {
    fn holds(&self, cell: &Cell<'_>) -> bool {
        match (self, cell) {
            (Fit::Same, Cell::Value(_) | Cell::Int(_)) => true,
            (Fit::Integer(low, high), Cell::Value(Value::Int(n)) | Cell::Int(n)) => n >= low && n <= high,
            (Fit::Decimal { precision, scale }, Cell::Value(Value::Decimal(d))) => {
                d.scale == *scale && Decimal::fits(*d, *precision)
            }
            (Fit::Text { length, .. }, Cell::Ascii(bytes)) => bytes.len() <= *length,
            (Fit::Text { length, .. }, Cell::Text(s)) => s.len() <= *length && s.is_ascii(),
            (Fit::Bytes(low, high), Cell::Binary(b)) => b.len() >= *low && b.len() <= *high,
            _ => false,
        }
    }
}

impl BulkInserter {
    /// Compiles an insert of rows whose values go to these column positions and have these types.
    pub fn new(
        scope: &dyn BindScope,
        table: &Arc<TableDef>,
        columns: &[(usize, SqlType)],
        options: BulkOptions,
    ) -> Result<BulkInserter> {
        let mut binder = Binder::new(scope);
        let mut target = Target::new(&mut binder, table)?;
        if table.history_of.is_some() {
            return Err(errors::history_inserted(&target.full_name));
        }
        target.bind_blocks(&mut binder)?;
        if !options.check_constraints {
            target.checks.clear();
            target.parents.clear();
        }
        target.parents.iter().for_each(|parent| parent.announce(scope));
        let given = |i: usize| {
            let c = &table.columns[i];
            let generated = table.period_part(i).is_some();
            let ours = c.computed.is_some() || c.ty == SqlType::RowVersion || generated;
            !ours && (c.identity.is_none() || options.keep_identity)
        };
        let positions: Vec<usize> = columns.iter().map(|(i, _)| *i).filter(|i| given(*i)).collect();
        let read = target.read_by_insert();
        let mut sources = Vec::with_capacity(columns.len());
        for (i, ty) in columns {
            let wanted = given(*i);
            sources.push(source(&mut binder, &target, *i, *ty, wanted, options.keep_nulls, read[*i])?);
        }
        let nothing = vec![crate::expr::Expr::null(); positions.len()];
        let (mut row, all) = insert_row(&mut binder, &target, &positions, nothing, true)?;
        for (column, e) in all.into_iter().skip(positions.len()) {
            let code = target.assignment(e, column, &mut Compiler { subqueries: &mut NoSubqueries })?;
            row.assignments.push(Assignment { column, code });
        }
        let not_null = std::mem::take(&mut row.not_null);
        let stored = target.ordinals().iter().flatten().copied();
        let made = stored.filter(|i| !positions.contains(i)).collect();
        let mut planner = Planner::new(&mut binder);
        row.blocks = target.blocks_after(&mut planner, None)?;
        let subplans = planner.subplans;
        let slot_count = binder.slots.len();
        Ok(BulkInserter { target, row, made, not_null, sources, slot_count, subplans, options })
    }

    /// Inserts rows until there are no more: all of them or nothing. The caller holds the table's
    /// [lock](BulkOptions::lock_mode).
    pub fn insert(
        &self,
        ctx: &mut ExecCtx<'_>,
        next: &mut NextRow<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<RunInfo> {
        let mut cx = Cx::new(ctx, vec![Value::Null; self.slot_count]);
        cx.subqueries = subquery_states(&self.subplans, None);
        self.target.check_set_options(&cx, "BULK INSERT")?;
        let database = self.target.table.database;
        let mark = cx.txn(database)?.savepoint();
        let mut buffers = RowBuffers::default();
        self.target.begin(&mut buffers);
        self.target.begin_watching(&mut cx, &mut buffers, DmlAction::Insert);
        let result = self.insert_all(&mut cx, &mut buffers, next);
        self.target.end(&mut buffers, cx.session.about_now_local());
        let txn = cx.txn(database)?;
        if result.is_err() {
            // The error that stopped the load is the one to report.
            let _ = txn.rollback_to(mark);
        } else {
            txn.release(mark);
        }
        for message in cx.take_messages() {
            sink.message(&message);
        }
        result
    }

    fn insert_all(
        &self,
        cx: &mut Cx<'_>,
        buffers: &mut RowBuffers,
        next: &mut NextRow<'_>,
    ) -> Result<RunInfo> {
        if self.options.table_lock {
            buffers.guard = Guard::Table(Vec::new());
        }
        let mut row = Taken::default();
        let mut info = RunInfo::default();
        let mut seen = 0u64;
        loop {
            cx.tick()?;
            if !next(&mut Taking { inserter: self, cx, row: &mut row })? {
                break;
            }
            seen += 1;
            buffers.escalate(&self.target.table, cx, seen)?;
            let given = self.complete(cx, &mut row)?;
            if self.store(cx, buffers, &row)? {
                info.rows += 1;
                info.identity = given.or(info.identity);
            }
        }
        self.target.check_awaited(cx, buffers, DmlAction::Insert.name())?;
        super::indexed_view::settle(cx)?;
        Ok(info)
    }

    /// Computes what the source does not give; checks NOT NULL and, if asked to, CHECK.
    fn complete(&self, cx: &mut Cx<'_>, row: &mut Taken) -> Result<Option<i64>> {
        let given = self.row.fill(&self.target, cx)?;
        for i in &self.made {
            row.take_slot(*i, &cx.slots[self.target.new_first + i], &self.target.table.columns[*i]);
        }
        for i in &self.not_null {
            if row.is_null(*i) {
                let name = &self.target.table.columns[*i].name;
                return Err(errors::null_not_allowed(name, &self.target.full_name, "INSERT"));
            }
        }
        Ok(given)
    }

    fn store(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, row: &Taken) -> Result<bool> {
        let target = &self.target;
        let mut key = std::mem::take(&mut b.key);
        let mut builder = std::mem::take(&mut b.row);
        let stored = row.build(target, &mut builder);
        let written = target
            .clustered_key(cx, target.new_first, &mut key)
            .and_then(|()| target.insert_stored(cx, b, &key, stored));
        let written = match written {
            Ok(true) => target.capture_stored(cx, b, Operation::Insert, stored).map(|()| true),
            other => other,
        };
        b.key = key;
        b.row = builder;
        let written = written?;
        if written {
            target.note_new(cx, b)?;
            target.track(cx, b, ChangeKind::Insert, target.new_first)?;
            target.queue(cx, b, target.new_first)?;
            target.tell_new(cx, b);
            for n in 0..target.parents.len() {
                target.check_parent(cx, b, n, DmlAction::Insert.name())?;
            }
            self.row.blocks.check(target, cx)?;
        }
        Ok(written)
    }
}

/// Compiles what happens to one column of the source.
fn source(
    binder: &mut Binder<'_>,
    target: &Target,
    i: usize,
    ty: SqlType,
    wanted: bool,
    keep_nulls: bool,
    keep: bool,
) -> Result<Source> {
    let c = &target.table.columns[i];
    let slot = binder.new_slot(SlotInfo {
        name: c.name.clone(),
        ty,
        collation: c.collation,
        nullable: true,
        origin: None,
    });
    let mut compiler = Compiler { subqueries: &mut NoSubqueries };
    let mut out = Source {
        column: None,
        fit: Fit::No,
        keep,
        slot: slot as usize,
        convert: Code::Const(Value::Null),
        default: None,
    };
    if !wanted {
        return Ok(out);
    }
    out.column = Some(i);
    out.fit = fit(ty, c.ty);
    out.convert = target.assignment(binder.read(slot), i, &mut compiler)?;
    if !keep_nulls && c.default.is_some() {
        let default = target.default_of(binder, i)?;
        out.default = Some(target.assignment(default, i, &mut compiler)?);
    }
    Ok(out)
}

/// The stored bytes of a row's columns, in the order in which they came.
#[derive(Default)]
struct Taken {
    data: Vec<u8>,
    /// By column position: where its bytes are; `None` is NULL.
    places: Vec<Option<(u32, u32)>>,
}

impl Taken {
    fn is_null(&self, column: usize) -> bool {
        self.places[column].is_none()
    }

    fn bytes(&self, column: usize) -> Option<&[u8]> {
        self.places[column].map(|(from, to)| &self.data[from as usize..to as usize])
    }

    fn take(&mut self, column: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let from = self.data.len() as u32;
        write(&mut self.data);
        self.places[column] = Some((from, self.data.len() as u32));
    }

    fn take_slot(&mut self, column: usize, value: &Value, def: &ColumnDef) {
        match value {
            Value::Null => self.places[column] = None,
            value => self.take(column, |out| column::encode(value, &def.ty, out)),
        }
    }

    fn build<'r>(&self, target: &Target, row: &'r mut RowBuilder) -> &'r [u8] {
        row.clear(target.width());
        let places = target.ordinals().iter().map(|position| position.and_then(|i| self.places[i]));
        let mut end = 0;
        let in_order = places.clone().flatten().all(|(from, to)| std::mem::replace(&mut end, to) == from);
        if in_order && end as usize == self.data.len() {
            // They came as they are stored.
            row.push_all(places.map(|place| place.map(|(_, to)| to)), &self.data);
        } else {
            for position in target.ordinals() {
                row.push(position.and_then(|i| self.bytes(i)));
            }
        }
        row.finish()
    }
}

/// A row while its values come in.
struct Taking<'t, 'a> {
    inserter: &'t BulkInserter,
    cx: &'t mut Cx<'a>,
    row: &'t mut Taken,
}

impl BulkRow for Taking<'_, '_> {
    fn start(&mut self) {
        self.row.data.clear();
        self.row.places.clear();
        self.row.places.resize(self.inserter.target.table.columns.len(), None);
    }

    fn put(&mut self, index: usize, cell: Cell<'_>) -> Result<()> {
        let target = &self.inserter.target;
        let Some(source) = self.inserter.sources.get(index) else { return Ok(()) };
        let Some(i) = source.column else { return Ok(()) };
        let (slot, def) = (target.new_first + i, &target.table.columns[i]);
        if !source.fit.holds(&cell) {
            match (&cell, &source.default) {
                (Cell::Null, Some(default)) => default.eval_into(self.cx, slot)?,
                (Cell::Null, None) => self.cx.slots[slot] = Value::Null,
                _ => {
                    self.cx.slots[source.slot] = cell.into_value();
                    source.convert.eval_into(self.cx, slot)?;
                }
            }
            self.row.take_slot(i, &self.cx.slots[slot], def);
            return Ok(());
        }
        match cell {
            Cell::Null => {}
            Cell::Int(n) => self.row.take(i, |out| column::encode_integer(n, out)),
            Cell::Ascii(mut bytes) => {
                if matches!(source.fit, Fit::Text { blanks: true, .. }) {
                    let end = bytes.iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1);
                    bytes = &bytes[..end];
                }
                self.row.take(i, |out| out.extend_from_slice(bytes));
            }
            Cell::Value(v) => self.row.take(i, |out| column::encode(&v, &def.ty, out)),
            Cell::Text(s) => {
                let blanks = matches!(source.fit, Fit::Text { blanks: true, .. });
                let s = if blanks { s.trim_end_matches(' ') } else { s };
                self.row.take(i, |out| out.extend_from_slice(s.as_bytes()));
            }
            Cell::Binary(b) => self.row.take(i, |out| out.extend_from_slice(b)),
        }
        if source.keep {
            // As any reader of the stored row will see it.
            let bytes = self.row.bytes(i).unwrap_or_default();
            self.cx.slots[slot] = column::decode(bytes, &def.ty);
        }
        Ok(())
    }
}
