//! Functions about the session itself.

use super::{int, string, text, variant_int, variant_text};
use crate::session::app_locks::Caller;
use crate::session::info::{Info, Occasion, RunningTrigger};
use crate::session::options::Switches;
use keel_types::error::Result;
use keel_types::{Decimal, SqlError, Value};
use std::sync::Arc;

pub(super) fn row_count(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(info.row_count.get() as i64))
}

pub(super) fn error(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(i64::from(info.error.get())))
}

pub(super) fn tran_count(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(i64::from(info.transaction.borrow().count)))
}

pub(super) fn xact_state(info: &Info, _: &[Value]) -> Result<Value> {
    let state = info.transaction.borrow();
    Ok(Value::Int(match (state.count, state.doomed) {
        (0, _) => 0,
        (_, true) => -1,
        _ => 1,
    }))
}

fn number38(n: Option<i64>) -> Value {
    n.map_or(Value::Null, |n| Value::Decimal(Decimal::new(i128::from(n), 0)))
}

pub(super) fn identity(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(number38(info.identity.get()))
}

pub(super) fn scope_identity(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(number38(info.scope_identity.get()))
}

pub(super) fn fetch_status(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(i64::from(info.fetch_status.get())))
}

pub(super) fn cursor_rows(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(info.cursors.borrow().last_count))
}

pub(super) fn cursor_status(info: &Info, args: &[Value]) -> Result<Value> {
    let cursors = info.cursors.borrow();
    let name = crate::catalog::fold(text(args, 1).unwrap_or(""));
    let is = |source: &str| text(args, 0).is_some_and(|s| s.eq_ignore_ascii_case(source));
    if is("variable") {
        let id = info.cursor_variable(&name);
        return Ok(Value::Int(id.map_or(-3, |id| cursors.status_of_variable(id))));
    }
    let global = is("global");
    Ok(Value::Int(cursors.status(cursors.find(&name, info.nest_level(), global))))
}

pub(super) fn nest_level(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(i64::from(info.nest_level())))
}

pub(super) fn spid(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(i64::from(info.shared.id)))
}

pub(super) fn proc_id(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(info.module().map_or(0, |m| i64::from(m.object_id))))
}

pub(super) fn options(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(info.options.borrow().switches.at_at_options()))
}

pub(super) fn lock_timeout(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(i64::from(info.options.borrow().lock_timeout_ms)))
}

pub(super) fn text_size(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(i64::from(info.options.borrow().text_size)))
}

pub(super) fn date_first(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(i64::from(info.options.borrow().date_first)))
}

pub(super) fn language(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::str(info.options.borrow().dates.language.name))
}

pub(super) fn lang_id(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(info.options.borrow().dates.language.id.into()))
}

fn caught<T>(info: &Info, get: impl FnOnce(&Arc<SqlError>) -> T) -> Option<T> {
    info.caught.borrow().last().map(get)
}

pub(super) fn error_number(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(int(caught(info, |e| i64::from(e.number))))
}

pub(super) fn error_message(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(string(caught(info, |e| e.message.clone())))
}

pub(super) fn error_severity(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(int(caught(info, |e| i64::from(e.severity))))
}

pub(super) fn error_state(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(int(caught(info, |e| i64::from(e.state))))
}

pub(super) fn error_line(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(int(caught(info, |e| i64::from(e.line))))
}

pub(super) fn error_procedure(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(string(caught(info, |e| e.procedure.clone()).flatten()))
}

pub(super) fn session_context(info: &Info, args: &[Value]) -> Result<Value> {
    let key = crate::catalog::fold(text(args, 0).unwrap_or(""));
    Ok(info.shared.context.lock().get(&key).map_or(Value::Null, |(v, _)| v.clone()))
}

pub(super) fn context_info(info: &Info, _: &[Value]) -> Result<Value> {
    let bytes = info.shared.context_info.lock();
    Ok(if bytes.is_empty() { Value::Null } else { Value::bytes(bytes.clone()) })
}

pub(super) fn session_property(info: &Info, args: &[Value]) -> Result<Value> {
    let name = text(args, 0).unwrap_or("").to_ascii_uppercase();
    let known = [
        "ANSI_NULLS",
        "ANSI_PADDING",
        "ANSI_WARNINGS",
        "ARITHABORT",
        "CONCAT_NULL_YIELDS_NULL",
        "NUMERIC_ROUNDABORT",
        "QUOTED_IDENTIFIER",
    ];
    if !known.contains(&name.as_str()) {
        return Ok(Value::Null);
    }
    Ok(Switches::by_name(&name).map_or(Value::Null, |s| variant_int(i64::from(info.on(s)))))
}

pub(super) fn transaction_id(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(info.transaction.borrow().descriptor as i64))
}

pub(super) fn format_message(info: &Info, args: &[Value]) -> Result<Value> {
    let template = match &args[0] {
        Value::Int(n) => {
            let language = info.options.borrow().dates.language;
            match crate::views::messages::find(&info.engine, *n as i32, language) {
                Some((_, template)) => template,
                None => return Ok(Value::Null),
            }
        }
        other => crate::convert::display(other).into(),
    };
    Ok(Value::str(template.fill(&args[1..])?))
}

pub(super) fn columns_updated(info: &Info, _: &[Value]) -> Result<Value> {
    let triggers = info.triggers.borrow();
    let Some(rows) = triggers.last().and_then(|t| t.occasion.rows()) else { return Ok(Value::Null) };
    let bytes = (rows.table.next_column_id as usize).div_ceil(8);
    let mut mask = vec![0u8; bytes.max(1)];
    let all: Vec<i32> = if rows.updated.is_empty() && rows.deleted.is_empty() {
        rows.table.columns.iter().map(|c| c.column_id).collect()
    } else {
        rows.updated.clone()
    };
    for id in all {
        mask[(id as usize - 1) / 8] |= 1 << ((id - 1) % 8);
    }
    Ok(Value::bytes(mask))
}

/// TRIGGER_NESTLEVEL([object_id [, 'AFTER' | 'IOT' [, 'DML' | 'DDL']]]): a trigger of events counts as AFTER.
pub(super) fn trigger_nest_level(info: &Info, args: &[Value]) -> Result<Value> {
    let id = match args.first() {
        Some(Value::Int(id)) if *id != 0 => Some(*id),
        Some(Value::Null) if args.len() == 1 => return Ok(Value::Null),
        _ => None,
    };
    let (kind, category) = (text(args, 1), text(args, 2));
    let is = |given: Option<&str>, what: &str| given.is_none_or(|g| g.eq_ignore_ascii_case(what));
    let counts = |t: &&RunningTrigger| {
        let instead = matches!(t.occasion, Occasion::InsteadOf(_));
        let rows = t.occasion.rows().is_some();
        id.is_none_or(|id| id == i64::from(t.trigger))
            && is(kind, if instead { "IOT" } else { "AFTER" })
            && is(category, if rows { "DML" } else { "DDL" })
    };
    Ok(Value::Int(info.triggers.borrow().iter().filter(counts).count() as i64))
}

/// EVENTDATA(): NULL outside a trigger of events.
pub(super) fn event_data(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(match info.triggers.borrow().last().map(|t| &t.occasion) {
        Some(Occasion::Event(data)) => data.clone(),
        _ => Value::Null,
    })
}

pub(super) fn connection_property(info: &Info, args: &[Value]) -> Result<Value> {
    let login = &info.shared.login;
    Ok(match text(args, 0).unwrap_or("").to_ascii_lowercase().as_str() {
        "net_transport" => variant_text("TCP"),
        "protocol_type" => variant_text("TSQL"),
        "auth_scheme" => variant_text(login.auth_scheme()),
        "local_net_address" => login.local.map_or(Value::Null, |a| variant_text(a.ip().to_string())),
        "local_tcp_port" => login.local.map_or(Value::Null, |a| variant_int(a.port().into())),
        "client_net_address" => variant_text(login.client_address.as_str()),
        "physical_net_transport" => variant_text("TCP"),
        _ => Value::Null,
    })
}

pub(super) fn get_ansi_null(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(i64::from(info.on(Switches::NULL_DEFAULT_ON))))
}

/// `APPLOCK_MODE(principal, resource, owner)`
pub(super) fn applock_mode(info: &Info, args: &[Value]) -> Result<Value> {
    let caller = Caller("APPLOCK_MODE");
    let resource = caller.resource(info, text(args, 0).unwrap_or(""), text(args, 1).unwrap_or(""))?;
    let owner = caller.owner(text(args, 2).unwrap_or(""))?;
    Ok(Value::str(info.shared.app_lock_mode(&resource, owner)))
}

/// `APPLOCK_TEST(principal, resource, mode, owner)`
pub(super) fn applock_test(info: &Info, args: &[Value]) -> Result<Value> {
    let caller = Caller("APPLOCK_TEST");
    let resource = caller.resource(info, text(args, 0).unwrap_or(""), text(args, 1).unwrap_or(""))?;
    let mode = caller.mode(text(args, 2).unwrap_or(""))?;
    caller.owner(text(args, 3).unwrap_or(""))?;
    Ok(Value::Int(i64::from(info.would_get_app_lock(&resource, mode))))
}

/// UPDATE(column) in a trigger: INSERT assigns every column.
pub(super) fn column_updated(info: &Info, args: &[Value]) -> Result<Value> {
    let triggers = info.triggers.borrow();
    let Some(rows) = triggers.last().and_then(|t| t.occasion.rows()) else { return Ok(Value::Bit(false)) };
    let name = text(args, 0).unwrap_or("");
    let Some(column) = rows.table.columns.iter().find(|c| crate::views::same(&c.name, name)) else {
        return Err(SqlError::new(207, 16, 1, format!("Invalid column name '{name}'.")));
    };
    let all = rows.updated.is_empty() && rows.deleted.is_empty() && !rows.inserted.is_empty();
    Ok(Value::Bit(all || rows.updated.contains(&column.column_id)))
}
