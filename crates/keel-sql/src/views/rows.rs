//! Tables that exist only while a statement runs: captured rows, and `inserted` and `deleted` of a trigger.

use crate::session::info::Info;
use keel_query::ExecCtx;
use keel_query::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

fn source(rows: Arc<Vec<Vec<Value>>>) -> RowSource {
    Box::new((0..rows.len()).map(move |i| Ok(rows[i].clone())))
}

struct Captured {
    columns: Vec<VirtualColumn>,
}

/// The rows captured last, as a table.
pub fn captured(info: &Info) -> Option<Arc<dyn VirtualTable>> {
    let columns = info.captured.borrow().last()?.columns.clone();
    Some(Arc::new(Captured { columns }))
}

impl VirtualTable for Captured {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, ctx: &mut ExecCtx<'_>, _args: &[Value]) -> Result<RowSource> {
        let rows = Info::of(ctx.session).captured.borrow().last().map(|c| Arc::clone(&c.rows));
        Ok(source(rows.unwrap_or_default()))
    }
}

struct TriggerTable {
    inserted: bool,
    columns: Vec<VirtualColumn>,
}

/// `inserted` or `deleted` of the trigger being run.
pub fn trigger_rows(info: &Info, inserted: bool) -> Option<Arc<dyn VirtualTable>> {
    let triggers = info.triggers.borrow();
    let column = |c: &keel_query::catalog::ColumnDef| VirtualColumn {
        name: c.name.clone(),
        ty: c.ty,
        nullable: true,
        collation: c.collation,
    };
    let columns = triggers.last()?.occasion.rows()?.table.columns.iter().map(column).collect();
    Some(Arc::new(TriggerTable { inserted, columns }))
}

impl VirtualTable for TriggerTable {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, ctx: &mut ExecCtx<'_>, _args: &[Value]) -> Result<RowSource> {
        let triggers = Info::of(ctx.session).triggers.borrow();
        let running = triggers.last().and_then(|t| t.occasion.rows());
        let rows = running.map(|t| Arc::clone(if self.inserted { &t.inserted } else { &t.deleted }));
        drop(triggers);
        Ok(source(rows.unwrap_or_default()))
    }
}
