//! Events of one's own.

use super::{Outcome, argument, number, ok, string};
use crate::errors;
use crate::events::catalog::{Event, Field};
use crate::run::{Argument, Returned, Runner};
use keel_types::Value;

/// Numbers of events of users.
const USER_EVENTS: std::ops::RangeInclusive<i64> = 82..=91;
/// "The specified event is not valid."
const NOT_VALID: i32 = 3;

/// `sp_trace_generateevent @eventid, @userinfo, @userdata`: fires `user_event`.
pub(super) fn sp_trace_generateevent(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let info = runner.info;
    if !info.unrestricted.get() && !info.may_on_server("ALTER TRACE") {
        return Err(errors::no_permission("").into());
    }
    let event = number(args, "eventid", 0).filter(|n| USER_EVENTS.contains(n));
    let Some(event) = event else { return Ok(Returned { status: NOT_VALID, ..Returned::default() }) };
    if info.engine.events.wants(Event::UserEvent) {
        let text = string(args, "userinfo", 1).unwrap_or_default();
        let data = match argument(args, "userdata", 2).and_then(|a| a.value.as_ref()) {
            Some(Value::Bytes(bytes)) => Field::Bytes(bytes.to_vec()),
            _ => Field::Null,
        };
        info.fire(Event::UserEvent, &[event.into(), text.into(), data]);
    }
    ok()
}
