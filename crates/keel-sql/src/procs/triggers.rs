//! `sp_settriggerorder`: which of the triggers that fire together is the first, and which the last.

use super::{Outcome, ok, string};
use crate::catalog::{CatalogObject, Named};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::functions::find_named;
use crate::run::{Argument, Runner};
use crate::triggers::event_types;
use keel_parser::ast::TriggerTarget;
use keel_query::catalog::{Catalog as _, EventTriggerDef, ModuleDef, RowActions, TriggerDef};
use keel_types::error::Result;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    First,
    Last,
    None,
}

/// What the order is for.
struct Wanted {
    trigger: String,
    order: Order,
    /// As the caller wrote it.
    order_text: String,
    event: String,
}

/// `sp_settriggerorder @triggername, @order, @stmttype [, @namespace]`
pub(super) fn sp_settriggerorder(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let invalid = || errors::invalid_procedure_option("sys.sp_settriggerorder");
    let order_text = string(args, "order", 1).unwrap_or_default();
    let order = match order_text.to_ascii_lowercase().as_str() {
        "first" => Order::First,
        "last" => Order::Last,
        "none" => Order::None,
        _ => return Err(invalid().into()),
    };
    let trigger = string(args, "triggername", 0).unwrap_or_default();
    let event = string(args, "stmttype", 2).unwrap_or_default();
    let wanted = Wanted { trigger, order, order_text, event };
    let scope = match string(args, "namespace", 3).map(|n| n.to_ascii_uppercase()).as_deref() {
        None => None,
        Some("DATABASE") => Some(TriggerTarget::Database),
        Some("SERVER") => Some(TriggerTarget::AllServer),
        Some(_) => return Err(invalid().into()),
    };
    if scope == Some(TriggerTarget::AllServer) {
        runner.sysadmin()?;
    } else {
        runner.owner_only()?;
    }
    runner.in_statement(|runner| match &scope {
        None => order_of_rows(runner, &wanted, invalid()),
        Some(scope) => order_of_events(runner, scope, &wanted, invalid()),
    })?;
    ok()
}

fn order_of_rows(runner: &mut Runner<'_>, w: &Wanted, invalid: Box<keel_types::SqlError>) -> Result<()> {
    let found = find_named(runner.info, &w.trigger);
    let Some((entry, Named::Module(module))) = found else {
        return Err(errors::could_not_find_object(&w.trigger));
    };
    let Some(def) = module.trigger else { return Err(errors::could_not_find_object(&w.trigger)) };
    if def.instead_of {
        return Err(errors::instead_of_order(&w.trigger));
    }
    let event = w.event.to_ascii_lowercase();
    let (slot, fires): (fn(&mut RowActions) -> &mut bool, bool) = match event.as_str() {
        "insert" => (|a| &mut a.insert, def.on_insert),
        "update" => (|a| &mut a.update, def.on_update),
        "delete" => (|a| &mut a.delete, def.on_delete),
        _ => return Err(invalid),
    };
    if !fires {
        return Err(errors::not_a_trigger_for(&w.trigger, event));
    }
    let has = |mut def: TriggerDef| match w.order {
        Order::First => *slot(&mut def.first),
        Order::Last => *slot(&mut def.last),
        Order::None => false,
    };
    let others = runner.info.picture(&entry).triggers(module.parent);
    if others.iter().any(|o| o.object_id != module.object_id && o.trigger.is_some_and(has)) {
        return Err(errors::order_taken(&w.order_text, &w.event));
    }
    let mut def = def;
    *slot(&mut def.first) = w.order == Order::First;
    *slot(&mut def.last) = w.order == Order::Last;
    put(runner, &entry, ModuleDef { trigger: Some(def), ..(*module).clone() })
}

fn order_of_events(
    runner: &mut Runner<'_>,
    scope: &TriggerTarget,
    w: &Wanted,
    invalid: Box<keel_types::SqlError>,
) -> Result<()> {
    let missing = || errors::could_not_find_object(&w.trigger);
    let (entry, scope) = runner.trigger_scope(scope).ok_or_else(missing)?;
    let Some(Named::Module(module)) = runner.info.picture(&entry).named(scope, &w.trigger) else {
        return Err(missing());
    };
    let mut def: EventTriggerDef = module.events.as_deref().cloned().ok_or_else(missing)?;
    let event = w.event.to_ascii_uppercase();
    let fires = match event_types::named(&event) {
        Some(known) if known.is_group() => return Err(invalid),
        Some(known) => def.events.iter().filter_map(|e| event_types::named(e)).any(|e| known.within(e)),
        None if event == event_types::LOGON => def.events.contains(&event),
        None => return Err(invalid),
    };
    if !fires {
        return Err(errors::not_a_trigger_for(&w.trigger, event.to_ascii_lowercase()));
    }
    let has = |def: &EventTriggerDef| match w.order {
        Order::First => def.first.contains(&event),
        Order::Last => def.last.contains(&event),
        Order::None => false,
    };
    let picture = runner.info.picture(&entry);
    let others = picture.event_triggers(scope).filter(|o| o.object_id != module.object_id);
    if others.filter_map(|o| o.events.as_deref()).any(has) {
        let (order, event) = (w.order_text.to_ascii_lowercase(), event.to_ascii_lowercase());
        return Err(errors::order_taken(order, event));
    }
    def.first.retain(|e| *e != event);
    def.last.retain(|e| *e != event);
    match w.order {
        Order::First => def.first.push(event),
        Order::Last => def.last.push(event),
        Order::None => {}
    }
    put(runner, &entry, ModuleDef { events: Some(Box::new(def)), ..(*module).clone() })
}

fn put(runner: &mut Runner<'_>, entry: &Arc<DatabaseEntry>, module: ModuleDef) -> Result<()> {
    runner.put(entry, CatalogObject::Module(Arc::new(module)))
}
