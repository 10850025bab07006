//! Procedures about sessions: context, application locks, who is there.

use super::{Outcome, argument, number, ok, string};
use crate::errors;
use crate::run::{Argument, Halt, Returned, Runner};
use crate::session::app_locks::{Caller, Owner};
use crate::session::info::Info;
use crate::session::options::Switches;
use keel_store::lock::{LockError, OwnedResource, Wait};
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

/// `sp_getapplock @Resource, @LockMode, @LockOwner, @LockTimeout, @DbPrincipal`. The status says how it went: 0 at once, 1
/// after a wait, -1 the time is over, -2 cancelled, -3 chosen as a deadlock victim, -999 what was asked for cannot be.
pub(super) fn sp_getapplock(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let outcome = take_lock(runner, args);
    told(runner, outcome)
}

/// An error that no TRY block catches is told, and the status says that there was one.
fn told(runner: &mut Runner<'_>, outcome: Outcome) -> Outcome {
    const FAILED: i32 = -999;
    match outcome {
        Err(Halt::Raised(mut e))
            if runner.info.try_depth.get() == 0 && !runner.info.on(Switches::XACT_ABORT) =>
        {
            e.line = 1;
            e.procedure = Some("xp_userlock".to_owned());
            runner.report(&e);
            runner.info.error.set(e.number);
            status(FAILED)
        }
        outcome => outcome,
    }
}

fn take_lock(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let (caller, info) = (Caller("sp_getapplock"), runner.info);
    let asked = AppLock::of(info, caller, args, 2, 4)?;
    let mode = caller.mode(&string(args, "LockMode", 1).unwrap_or_default())?;
    let default = i64::from(info.options.borrow().lock_timeout_ms);
    let timeout = number(args, "LockTimeout", 3).unwrap_or(default);
    if timeout < -1 {
        return Err(errors::application_lock_timeout(caller.0).into());
    }
    let wait = u64::try_from(timeout).map_or(Wait::Forever, |ms| Wait::AtMost(Duration::from_millis(ms)));
    if info.take_app_lock(asked.resource.clone(), mode, asked.owner, Wait::NO).is_ok() {
        return ok();
    }
    let waited = if wait == Wait::NO {
        Err(LockError::Timeout)
    } else {
        info.take_app_lock(asked.resource, mode, asked.owner, wait)
    };
    status(match waited {
        Ok(()) => 1,
        Err(LockError::Timeout) => -1,
        Err(LockError::Cancelled) => -2,
        Err(LockError::Deadlock(_)) => -3,
    })
}

/// `sp_releaseapplock @Resource, @LockOwner, @DbPrincipal`
pub(super) fn sp_releaseapplock(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let outcome = release_lock(runner, args);
    told(runner, outcome)
}

fn release_lock(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let asked = AppLock::of(runner.info, Caller("sp_releaseapplock"), args, 1, 2)?;
    if runner.info.release_app_lock(&asked.resource, asked.owner) {
        return ok();
    }
    Err(errors::application_lock_not_held(asked.principal, asked.name).into())
}

/// What both procedures are told.
struct AppLock {
    resource: OwnedResource,
    owner: Owner,
    principal: String,
    name: String,
}

impl AppLock {
    /// `owner_at` and `principal_at` are positions among arguments without names.
    fn of(
        info: &Info,
        caller: Caller,
        args: &[Argument],
        owner_at: usize,
        principal_at: usize,
    ) -> std::result::Result<AppLock, Halt> {
        let name = string(args, "Resource", 0).unwrap_or_default();
        let principal = string(args, "DbPrincipal", principal_at).unwrap_or_else(|| "public".to_owned());
        let word = string(args, "LockOwner", owner_at);
        let owner = word.map_or(Ok(Owner::Transaction), |word| caller.owner(&word))?;
        if owner == Owner::Transaction && info.transaction.borrow().count == 0 {
            return Err(errors::needs_user_transaction().into());
        }
        let resource = caller.resource(info, &principal, &name)?;
        Ok(AppLock { resource, owner, principal, name })
    }
}
