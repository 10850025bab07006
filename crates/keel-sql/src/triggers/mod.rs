//! Triggers: which fire, in what order, and how they run inside the statement that fires them.
//!
//! ```text
//!   rows changed ──► AFTER and INSTEAD OF triggers of the table ─┐
//!   definition changed ──► Event ──► triggers of server, database ├─► run: a program inside the statement's transaction
//!   session begins ──► LOGON triggers of the server ─────────────┘
//! ```
//!
//! A trigger does not fire itself (but AFTER triggers, where RECURSIVE_TRIGGERS is on); one that another has fired may fire
//! the first again. Without `nested triggers` no AFTER trigger fires below another.
//!
//! | module | owns |
//! | --- | --- |
//! | [`event_types`] | the events there are, and their groups |
//! | [`event`] | one event and what EVENTDATA() says of it |
//! | `statement` | the events of a statement that changes definitions |
//! | `fire` | firing the triggers of databases and of the server |
//!
//! Deliberately absent: how a trigger's text becomes a program (`modules`), finding rows (`keel-query`).

pub mod event;
pub mod event_types;
mod fire;
mod statement;

pub use event::Event;
pub use fire::any_logon;
pub(crate) use statement::{command_text, described};

use crate::engine::DatabaseEntry;
use crate::errors;
use crate::modules::{drop_tables, invoke, program};
use crate::run::Frame;
use crate::session::info::{Info, Occasion, RunningTrigger, TriggerRows};
use keel_query::ExecCtx;
use keel_query::catalog::{Catalog as _, ModuleDef, ObjectId, RowActions};
use keel_query::context::{DmlAction, TriggerEvent, TriggerInvoker};
use keel_types::error::Result;
use std::sync::Arc;

/// Id of the server option `nested triggers`.
const NESTED_TRIGGERS: i32 = 115;

/// Runs AFTER triggers for plans.
pub struct Triggers;

impl TriggerInvoker for Triggers {
    fn fire(&self, ctx: &mut ExecCtx<'_>, event: TriggerEvent<'_>) -> Result<()> {
        let info = Info::of(ctx.session);
        let Some(entry) = info.engine.database_by_id(event.table.database) else { return Ok(()) };
        let mut triggers = info.picture(&entry).triggers(event.table.object_id);
        triggers.retain(|m| fires(m, event.action) && may_fire(info, &entry, m.object_id));
        triggers.sort_by_key(|m| rank(m, event.action));
        for module in triggers {
            let rows = TriggerRows {
                table: Arc::new(event.table.clone()),
                inserted: Arc::new(event.inserted.to_vec()),
                deleted: Arc::new(event.deleted.to_vec()),
                updated: event.updated_columns.to_vec(),
            };
            run(ctx, &entry, &module, Occasion::After(rows))?;
        }
        Ok(())
    }
}

/// Runs one trigger.
pub fn run(
    ctx: &mut ExecCtx<'_>,
    entry: &Arc<DatabaseEntry>,
    module: &Arc<ModuleDef>,
    occasion: Occasion,
) -> Result<()> {
    let info = Info::of(ctx.session);
    let program = program(info, entry, module)?;
    let affected = occasion.rows().map_or(0, |r| r.inserted.len().max(r.deleted.len()));
    let running = RunningTrigger { database: entry.id, trigger: module.object_id, occasion };
    info.triggers.borrow_mut().push(running);
    let mut frame = Frame::new(&program, info.nest_level() + 1);
    info.row_count.set(affected as u64);
    enter_transaction(info);
    // It runs in its own database, whatever the session's is.
    let here = info.current_database();
    if here.id != entry.id {
        info.database.replace(Arc::clone(entry));
    }
    let outcome = invoke(ctx, &program, &[], &mut frame);
    if here.id != entry.id {
        info.database.replace(here);
    }
    let (ended, doomed) = leave_transaction(info);
    info.triggers.borrow_mut().pop();
    drop_tables(ctx, &frame);
    outcome?;
    if ended {
        return Err(errors::ended_in_trigger());
    }
    if doomed {
        return Err(errors::error_in_trigger());
    }
    Ok(())
}

/// A trigger runs inside its statement's transaction and counts it, also when nobody began one.
fn enter_transaction(info: &Info) {
    let mut state = info.transaction.borrow_mut();
    if state.count == 0 {
        state.count = 1;
        state.doomed = false;
        state.of_statement = true;
        state.triggers = 0;
    }
    state.triggers += u32::from(state.of_statement);
}

/// Says whether the transaction has ended, and whether it is doomed. One that the trigger began after it had ended another
/// stays.
fn leave_transaction(info: &Info) -> (bool, bool) {
    let mut state = info.transaction.borrow_mut();
    let found = (state.count == 0, state.doomed);
    if state.of_statement {
        state.triggers -= 1;
        if state.triggers == 0 {
            state.count = 0;
            state.doomed = false;
            state.of_statement = false;
        }
    }
    found
}

/// Whether a trigger is an enabled AFTER trigger for a change.
#[must_use]
pub fn fires(module: &ModuleDef, action: DmlAction) -> bool {
    module.trigger.is_some_and(|t| {
        let event = match action {
            DmlAction::Insert => t.on_insert,
            DmlAction::Update => t.on_update,
            DmlAction::Delete => t.on_delete,
        };
        event && !t.instead_of && !t.disabled
    })
}

/// Whether the trigger that is being run, of all the innermost, is this one.
#[must_use]
pub fn is_innermost(info: &Info, entry: &DatabaseEntry, trigger: ObjectId) -> bool {
    info.triggers.borrow().last().is_some_and(|t| t.trigger == trigger && t.database == entry.id)
}

/// Whether those being run let an AFTER trigger fire.
fn may_fire(info: &Info, entry: &DatabaseEntry, trigger: ObjectId) -> bool {
    let after = |t: &RunningTrigger| matches!(t.occasion, Occasion::After(_));
    let nested = info.triggers.borrow().iter().any(after);
    if nested && info.engine.configuration(NESTED_TRIGGERS).running == 0 {
        return false;
    }
    !is_innermost(info, entry, trigger) || recursive(entry)
}

/// RECURSIVE_TRIGGERS of a database.
fn recursive(entry: &DatabaseEntry) -> bool {
    entry.picture().settings().flags.get("RECURSIVE_TRIGGERS").copied().unwrap_or(false)
}

/// Its place among those that fire together: one may be the first, one the last; the others by age.
fn rank(module: &ModuleDef, action: DmlAction) -> (i8, ObjectId) {
    let has = |actions: RowActions| match action {
        DmlAction::Insert => actions.insert,
        DmlAction::Update => actions.update,
        DmlAction::Delete => actions.delete,
    };
    let order = module.trigger.unwrap_or_default();
    (i8::from(has(order.last)) - i8::from(has(order.first)), module.object_id)
}
