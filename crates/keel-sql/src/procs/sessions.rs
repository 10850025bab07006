//! Procedures about sessions: context, application locks, who is there.

use super::{Outcome, argument, number, ok, string};
use crate::run::{Argument, Returned, Runner};
use keel_types::{SqlError, SqlType, Value};
use std::time::Duration;

pub(super) fn sp_reset_connection(_: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    ok()
}

pub(super) fn sp_set_session_context(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let Some(key) = string(args, "key", 0) else {
        return Err(SqlError::new(
            225,
            16,
            1,
            "The parameters supplied for the procedure \"sp_set_session_context\" are not valid.",
        )
        .into());
    };
    let given = argument(args, "value", 1);
    let value = given.and_then(|a| a.value.clone()).unwrap_or(Value::Null);
    let ty = given.map_or(SqlType::Null, |a| a.ty);
    let read_only = number(args, "read_only", 2).unwrap_or(0) != 0;
    let mut context = runner.info.shared.context.lock();
    let folded = crate::catalog::fold(&key);
    if context.get(&folded).is_some_and(|(_, locked)| *locked) {
        let text = format!(
            "Cannot set key '{key}' in the session context. The key has been set as read_only for this session."
        );
        return Err(SqlError::new(15664, 16, 1, text).into());
    }
    let value = match value {
        Value::Null | Value::Variant(_) => value,
        value => Value::Variant(std::sync::Arc::new((ty, value))),
    };
    context.insert(folded, (value, read_only));
    ok()
}

fn status(n: i32) -> Outcome {
    Ok(Returned { status: n, ..Returned::default() })
}

/// `sp_getapplock @Resource, @LockMode, @LockOwner, @LockTimeout, @DbPrincipal`
pub(super) fn sp_getapplock(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    use keel_query::SessionInfo as _;
    let Some(resource) = string(args, "Resource", 0) else { return status(-999) };
    let owner = string(args, "LockOwner", 2).unwrap_or_else(|| "Transaction".to_owned());
    let session_owned = owner.eq_ignore_ascii_case("session");
    if !session_owned && runner.info.transaction.borrow().count == 0 {
        return status(-999);
    }
    let timeout =
        number(args, "LockTimeout", 3).unwrap_or_else(|| runner.info.options.borrow().lock_timeout_ms.into());
    let mode = string(args, "LockMode", 1).unwrap_or_default();
    let shared = mode.eq_ignore_ascii_case("shared") || mode.eq_ignore_ascii_case("intentshared");
    let key = smol_str::format_smolstr!("{}:{resource}", if shared { "S" } else { "X" });
    let clock = std::sync::Arc::clone(&runner.info.engine.options().env.clock);
    let deadline = u64::try_from(timeout).ok().map(|ms| clock.now() + Duration::from_millis(ms));
    let mut waited = false;
    loop {
        if runner.info.engine.take_app_lock(runner.info, &key, session_owned) {
            return status(i32::from(waited));
        }
        waited = true;
        if runner.info.cancelled() {
            return status(-2);
        }
        if deadline.is_some_and(|d| clock.now() >= d) {
            return status(-1);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// `sp_releaseapplock @Resource, @LockOwner`
pub(super) fn sp_releaseapplock(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let Some(resource) = string(args, "Resource", 0) else { return status(-999) };
    let owner = string(args, "LockOwner", 1).unwrap_or_else(|| "Transaction".to_owned());
    let session_owned = owner.eq_ignore_ascii_case("session");
    let mut locks = runner.info.shared.app_locks.lock();
    let held = locks.iter().position(|(r, s)| *s == session_owned && r.get(2..) == Some(resource.as_str()));
    match held {
        Some(at) => {
            locks.remove(at);
            ok()
        }
        None => {
            let text = format!(
                "Cannot release the application lock (Database Principal: 'public', Resource: '{resource}') because it is not currently held."
            );
            Err(SqlError::new(1223, 16, 1, text).into())
        }
    }
}
