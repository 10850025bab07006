//! Which variables and parameters of a text hold encrypted values.
//!
//! Nobody declares it: it follows from where they stand. A variable that is compared with an encrypted column, assigned to one or from one,
//! or passed on as a parameter that is encrypted, is encrypted in the same way, and so is what is assigned to it. The statements are
//! compiled with what is known, and tell what more they need, until there is nothing new. What does not compile tells nothing: it may be
//! about a table that the text makes.

use crate::describe;
use crate::engine::DatabaseEntry;
use crate::program::{ArgValue, Call, CallTarget, Op, Program, UnitSource};
use crate::session::info::Info;
use keel_base::DatabaseId;
use keel_query::catalog::{Catalog as _, ObjectId};
use keel_types::SqlType;
use keel_types::ty::encrypted::alike;
use std::cell::RefCell;
use std::sync::Arc;

/// Rounds over one text. Each finds a variable more; longer chains of assignments are nobody's.
const ROUNDS_MAX: usize = 16;

thread_local! {
    /// Modules that are being looked at: one that calls itself is taken as it is declared.
    static UNDER_WAY: RefCell<Vec<(DatabaseId, ObjectId)>> = const { RefCell::new(Vec::new()) };
}

/// What programs of a database were made against, as far as encrypted columns count: 0 where there are none.
pub(crate) fn version(info: &Info, entry: &Arc<DatabaseEntry>) -> u64 {
    let picture = info.picture(entry);
    if picture.has_column_keys() { picture.version() } else { 0 }
}

/// Whether a program is made for another one that is being looked at, and may not know all yet.
pub(crate) fn is_under_way() -> bool {
    UNDER_WAY.with(|w| !w.borrow().is_empty())
}

/// Gives the variables of a program the types that they have.
pub(crate) fn settled(info: &Info, program: Program) -> Program {
    let identity = (program.identity.database, program.identity.object_id);
    let Some(entry) = info.engine.database_by_id(identity.0) else { return program };
    let known = UNDER_WAY.with(|w| identity.1 != 0 && w.borrow().contains(&identity));
    if program.variables.is_empty() || known || !info.picture(&entry).has_column_keys() {
        return program;
    }
    UNDER_WAY.with(|w| w.borrow_mut().push(identity));
    let mut program = Arc::new(program);
    for _ in 0..ROUNDS_MAX {
        let found = round(info, &program);
        let Some(known) = Arc::get_mut(&mut program) else { break };
        if !apply(known, found) {
            break;
        }
    }
    UNDER_WAY.with(|w| w.borrow_mut().pop());
    Arc::try_unwrap(program).expect("nobody else has seen the program")
}

type Found = Vec<(usize, SqlType)>;

/// What the statements tell with the types that are known.
fn round(info: &Info, program: &Arc<Program>) -> Found {
    let mut found = Found::new();
    for instruction in &program.code {
        match &instruction.op {
            Op::Call(call) => of_call(info, program, call, &mut found),
            op => {
                let (outcome, notes) = describe::deduced(info, program, instruction);
                found.extend(notes);
                // What a variable is set to, it holds.
                if let (Op::Assign { slot, .. }, Ok(Some(value))) = (op, outcome) {
                    found.extend(like(program, *slot as usize, value));
                }
            }
        }
    }
    found
}

/// A variable that holds values of an encrypted type, if its own is that of the plaintext.
fn like(program: &Program, slot: usize, ty: SqlType) -> Option<(usize, SqlType)> {
    let (scheme, own) = (ty.scheme()?, program.variables.get(slot)?.ty);
    (!own.is_encrypted() && (alike(own, scheme.plain) || alike(scheme.plain, own)))
        .then(|| (slot, scheme.of(own)))
}

fn of_call(info: &Info, program: &Program, call: &Call, found: &mut Found) {
    let CallTarget::Name(name) = &call.target else { return };
    let Ok(Some(callee)) = describe::procedure(info, program, name) else { return };
    for (i, arg) in call.args.iter().enumerate() {
        let ArgValue::Slot(slot) = arg.value else { continue };
        let formal = match &arg.name {
            Some(name) => callee.parameters.iter().find(|p| p.name.eq_ignore_ascii_case(name)),
            None => callee.parameters.get(i),
        };
        found.extend(formal.and_then(|formal| like(program, slot as usize, formal.ty)));
    }
}

/// Puts in what was found; whether any of it is new.
fn apply(program: &mut Program, found: Found) -> bool {
    let mut any = false;
    for (at, ty) in found {
        let Some(variable) = program.variables.get_mut(at).filter(|v| !v.ty.is_encrypted()) else { continue };
        if !ty.is_encrypted() {
            continue;
        }
        variable.ty = ty;
        any = true;
        if let Some(parameter) = program.parameters.get_mut(at) {
            parameter.ty = ty;
        }
        for instruction in &mut program.code {
            if let Op::Assign { slot, value, .. } = &mut instruction.op
                && *slot as usize == at
                && let UnitSource::Expr(_, Some(to)) = &mut value.source
            {
                *to = ty;
            }
        }
    }
    any
}
