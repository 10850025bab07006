//! The procedures that the JDBC driver's XA resource calls: X/Open's verbs, with the driver's arguments.
//!
//! The driver's server part, a library of extended procedures, has each give back a status and a text in its first two arguments; a cookie,
//! by which a connection is enlisted (a request of the wire protocol), comes with `xa_start`. Sysadmins may call them, and members of
//! master's role SqlJDBCXAUser, which `sp_sqljdbc_xa_install` makes.

use super::{Outcome, argument, number};
use crate::distributed::branch::{Answer, Status};
use crate::distributed::{XID_PART_BYTES_MAX, Xid};
use crate::engine::MASTER;
use crate::errors;
use crate::run::{Argument, Returned, Runner};
use crate::views::INT;
use keel_types::{Length, SqlType, Value};

/// Who may call them, besides sysadmins.
const ROLE: &str = "SqlJDBCXAUser";
/// Bytes of branches that one answer can name.
const RECOVER_BYTES_MAX: usize = 8000;
/// `TMSTARTRSCAN`
const START_SCAN: i64 = 0x0100_0000;
const TEXT: SqlType = SqlType::VarChar(Length::Limited(8000));
const BYTES: SqlType = SqlType::VarBinary(Length::Limited(8000));

/// Error 229 for who may not call a procedure.
fn may_call(runner: &Runner<'_>, name: &str) -> keel_types::Result<()> {
    if runner.info.unrestricted.get() {
        return Ok(());
    }
    let member = runner.info.engine.database_by_id(MASTER).is_some_and(|master| {
        let role = master.picture().principal_named(ROLE);
        let token = runner.info.token_in(&master);
        role.zip(token).is_some_and(|(role, token)| token.is(role.principal_id))
    });
    if member {
        Ok(())
    } else {
        Err(errors::permission_denied("EXECUTE", name, "mssqlsystemresource", "sys"))
    }
}

fn bytes(args: &[Argument], name: &str, at: usize) -> Vec<u8> {
    match argument(args, name, at).and_then(|a| a.value.as_ref()) {
        Some(Value::Bytes(bytes)) => bytes.to_vec(),
        _ => Vec::new(),
    }
}

fn flags(args: &[Argument], at: usize) -> i64 {
    number(args, "flags", at).unwrap_or(0)
}

/// The branch that a call names; `None` when no branch can be called so.
fn xid(args: &[Argument], format_at: usize) -> Option<Xid> {
    let format = i32::try_from(number(args, "format", format_at).unwrap_or(0)).ok()?;
    let xid = Xid { format, global: bytes(args, "gtrid", 2), branch: bytes(args, "bqual", 3) };
    (xid.global.len() <= XID_PART_BYTES_MAX && xid.branch.len() <= XID_PART_BYTES_MAX).then_some(xid)
}

fn invalid() -> Answer {
    (Status::Invalid, "The transaction branch has no valid identifier.".to_owned())
}

/// Status and text, and what else there is.
fn told((status, text): Answer, more: Vec<(usize, Value, SqlType)>) -> Outcome {
    let text = if text.is_empty() { "OK".to_owned() } else { text };
    let mut outputs = vec![(0, Value::Int(i64::from(status as i32)), INT), (1, Value::str(text), TEXT)];
    outputs.extend(more);
    Ok(Returned { outputs, ..Returned::default() })
}

fn version() -> Value {
    Value::str(env!("CARGO_PKG_VERSION").to_owned())
}

/// `xp_sqljdbc_xa_init_ex @status OUTPUT, @text OUTPUT, @version OUTPUT`
pub(super) fn init(runner: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    may_call(runner, "xp_sqljdbc_xa_init_ex")?;
    told((Status::Ok, String::new()), vec![(2, version(), TEXT)])
}

/// `xp_sqljdbc_xa_start @status OUTPUT, @text OUTPUT, @gtrid, @bqual, @flags, @cookie OUTPUT, @timeout, @format, @version OUTPUT, …, @uow
/// OUTPUT`: what stands between is about the server, which knows it.
pub(super) fn start(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_call(runner, "xp_sqljdbc_xa_start")?;
    let Some(xid) = xid(args, 7) else { return told(invalid(), Vec::new()) };
    let timeout = number(args, "timeout", 6).unwrap_or(0);
    let (answer, branch) = runner.info.engine.start_branch(&xid, flags(args, 4), timeout);
    let mut more = vec![(8, version(), TEXT)];
    if let Some(branch) = branch {
        more.push((5, Value::bytes(branch.cookie()), BYTES));
        more.push((15, Value::bytes(branch.uow.to_vec()), BYTES));
    }
    told(answer, more)
}

/// `xp_sqljdbc_xa_end @status OUTPUT, @text OUTPUT, @gtrid, @bqual, @flags, @format, @uow OUTPUT`
pub(super) fn end(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_call(runner, "xp_sqljdbc_xa_end")?;
    let Some(xid) = xid(args, 5) else { return told(invalid(), Vec::new()) };
    let (answer, uow) = runner.info.engine.end_branch(&xid, flags(args, 4));
    told(answer, uow.map(|uow| (6, Value::bytes(uow.to_vec()), BYTES)).into_iter().collect())
}

/// Where the format stands in calls that have flags before it only in their `_ex` form.
fn format_at(args: &[Argument]) -> usize {
    if args.len() > 5 { 5 } else { 4 }
}

/// `xp_sqljdbc_xa_prepare @status OUTPUT, @text OUTPUT, @gtrid, @bqual, @format`; `_ex` with flags before the format.
pub(super) fn prepare(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_call(runner, "xp_sqljdbc_xa_prepare")?;
    let answer =
        xid(args, format_at(args)).map_or_else(invalid, |xid| runner.info.engine.prepare_branch(&xid));
    told(answer, Vec::new())
}

/// `xp_sqljdbc_xa_commit @status OUTPUT, @text OUTPUT, @gtrid, @bqual, @flags, @format`
pub(super) fn commit(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_call(runner, "xp_sqljdbc_xa_commit")?;
    let (engine, shared) = (&runner.info.engine, &runner.info.shared);
    let done = |xid: Xid| engine.commit_branch(shared, &xid, flags(args, 4));
    told(xid(args, 5).map_or_else(invalid, done), Vec::new())
}

/// `xp_sqljdbc_xa_rollback`, with the arguments of `xp_sqljdbc_xa_prepare`.
pub(super) fn rollback(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_call(runner, "xp_sqljdbc_xa_rollback")?;
    let done = |xid: Xid| runner.info.engine.rollback_branch(&xid);
    told(xid(args, format_at(args)).map_or_else(invalid, done), Vec::new())
}

/// `xp_sqljdbc_xa_forget`: nothing is decided here without the manager that would have to be remembered for it.
pub(super) fn forget(runner: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    may_call(runner, "xp_sqljdbc_xa_forget")?;
    told((Status::Unknown, "No transaction branch was completed heuristically.".to_owned()), Vec::new())
}

/// `xp_sqljdbc_xa_recover @status OUTPUT, @text OUTPUT, @flags, @branches OUTPUT`: for each branch its format (four bytes, lowest first),
/// the lengths of its parts, and those. As many as fit; the others are told when these are decided.
pub(super) fn recover(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    may_call(runner, "xp_sqljdbc_xa_recover")?;
    let mut named = Vec::new();
    // A scan is over with its first answer.
    if flags(args, 2) & START_SCAN != 0 {
        for xid in runner.info.engine.recover_branches() {
            let length = |part: &[u8]| u8::try_from(part.len()).unwrap_or(0);
            let bytes = 6 + xid.global.len() + xid.branch.len();
            if named.len() + bytes > RECOVER_BYTES_MAX {
                break;
            }
            named.extend_from_slice(&xid.format.to_le_bytes());
            named.extend([length(&xid.global), length(&xid.branch)]);
            named.extend_from_slice(&xid.global);
            named.extend_from_slice(&xid.branch);
        }
    }
    let named = if named.is_empty() { Value::Null } else { Value::bytes(named) };
    told((Status::Ok, String::new()), vec![(3, named, BYTES)])
}
