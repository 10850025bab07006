//! Inserting many rows without a statement: INSERT BULK, INSERT … EXECUTE, table-valued parameters.

use super::Assignment;
use super::insert::{InsertRow, insert_row};
use super::run::write_row;
use super::target::{RowBuffers, Target};
use crate::bind::Binder;
use crate::bind::rel::SlotInfo;
use crate::catalog::TableDef;
use crate::context::ExecCtx;
use crate::errors::Result;
use crate::exec::cx::Cx;
use crate::expr::compile::{Compiler, NoSubqueries};
use crate::scope::BindScope;
use keel_node::LockMode;
use keel_types::{SqlType, Value};
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
}

/// A compiled bulk insert into some columns of a table.
pub struct BulkInserter {
    target: Target,
    row: InsertRow,
    source_first: usize,
    slot_count: usize,
    options: BulkOptions,
    /// Defaults that replace NULLs, by source column.
    defaults: Vec<Option<crate::expr::compile::Code>>,
}

impl BulkInserter {
    /// Compiles an insert of rows with these column positions and types.
    pub fn new(
        scope: &dyn BindScope,
        table: &Arc<TableDef>,
        columns: &[(usize, SqlType)],
        options: BulkOptions,
    ) -> Result<BulkInserter> {
        let mut binder = Binder::new(scope);
        let target = Target::new(&mut binder, table)?;
        let source_first = binder.slots.len();
        let mut exprs = Vec::new();
        let (mut positions, mut defaults) = (Vec::new(), Vec::new());
        for (i, ty) in columns {
            let c = &table.columns[*i];
            let slot = binder.new_slot(SlotInfo {
                name: c.name.clone(),
                ty: *ty,
                collation: c.collation,
                nullable: true,
                origin: None,
            });
            let skip = (c.identity.is_some() && !options.keep_identity)
                || c.computed.is_some()
                || c.ty == SqlType::RowVersion;
            defaults.push(None);
            if skip {
                continue;
            }
            if !options.keep_nulls && c.default.is_some() {
                let e = target.default_of(&mut binder, *i)?;
                let e =
                    crate::bind::merge_types::assign_to(e, *ty).unwrap_or_else(|_| crate::expr::Expr::null());
                let code = Compiler { subqueries: &mut NoSubqueries }.value(&e)?;
                if let Some(d) = defaults.last_mut() {
                    *d = Some(code);
                }
            }
            positions.push(*i);
            exprs.push(binder.read(slot));
        }
        let (mut row, all) = insert_row(&mut binder, &target, &positions, exprs, true)?;
        for (column, e) in all {
            let code = target.assignment(e, column, &mut Compiler { subqueries: &mut NoSubqueries })?;
            row.assignments.push(Assignment { column, code });
        }
        let slot_count = binder.slots.len();
        Ok(BulkInserter { target, row, source_first, slot_count, options, defaults })
    }

    /// Inserts a batch; all of it or nothing. Returns the number of rows and the last identity value given out.
    pub fn insert(
        &self,
        ctx: &mut ExecCtx<'_>,
        rows: &mut dyn Iterator<Item = Result<Vec<Value>>>,
    ) -> Result<crate::context::RunInfo> {
        let mut cx = Cx::new(ctx, vec![Value::Null; self.slot_count]);
        let table = &self.target.table;
        let txn = cx.txn(table.database)?;
        txn.lock_table(table.object_id as u32, LockMode::IntentExclusive)
            .map_err(|e| cx.storage_error(&e))?;
        let mark = cx.txn(table.database)?.savepoint();
        let result = self.insert_all(&mut cx, rows);
        let txn = cx.txn(table.database)?;
        if result.is_err() {
            // The error that stopped the batch is the one to report.
            let _ = txn.rollback_to(mark);
        } else {
            txn.release(mark);
        }
        result
    }

    fn insert_all(
        &self,
        cx: &mut Cx<'_>,
        rows: &mut dyn Iterator<Item = Result<Vec<Value>>>,
    ) -> Result<crate::context::RunInfo> {
        let mut buffers = RowBuffers::default();
        let mut info = crate::context::RunInfo::default();
        for row in rows {
            cx.tick()?;
            for (i, v) in row?.into_iter().enumerate() {
                cx.slots[self.source_first + i] = match (&v, &self.defaults[i]) {
                    (Value::Null, Some(default)) => default.eval(cx)?,
                    _ => v,
                };
            }
            let given = self.row.fill(&self.target, cx)?;
            let written = if self.options.check_constraints {
                write_row(&self.target, cx, &mut buffers)?
            } else {
                self.target.insert(cx, &mut buffers)?
            };
            if written {
                info.rows += 1;
                info.identity = given.or(info.identity);
            }
        }
        Ok(info)
    }
}
