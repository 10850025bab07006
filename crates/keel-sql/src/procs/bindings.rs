//! `sp_bindefault`, `sp_bindrule` and the way back: what CREATE DEFAULT and CREATE RULE made acts on columns.

use super::{Outcome, ok, string};
use crate::ddl::{Binding, default_usage, rule_usage};
use crate::errors;
use crate::run::{Argument, Runner};
use crate::triggers::Event;
use keel_types::SqlError;

/// Numbers and texts of what is said: of a column, of a type, and of the columns of a type.
type Said = [(i32, &'static str); 3];

const DEFAULT_BOUND: Said = [
    (15511, "Default bound to column."),
    (15512, "Default bound to data type."),
    (15513, "The new default has been bound to columns(s) of the specified user data type."),
];
const RULE_BOUND: Said = [
    (15514, "Rule bound to table column."),
    (15515, "Rule bound to data type."),
    (15516, "The new rule has been bound to column(s) of the specified user data type."),
];
const DEFAULT_UNBOUND: Said = [
    (15519, "Default unbound from table column."),
    (15520, "Default unbound from data type."),
    (15521, "Columns of the specified user data type had their defaults unbound."),
];
const RULE_UNBOUND: Said = [
    (15522, "Rule unbound from table column."),
    (15523, "Rule unbound from data type."),
    (15524, "Columns of the specified user data type had their rules unbound."),
];

/// `sp_bindefault @defname, @objname [, @futureonly]`
pub(super) fn sp_bindefault(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    bind(runner, args, Binding::Default)
}

/// `sp_bindrule @rulename, @objname [, @futureonly]`
pub(super) fn sp_bindrule(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    bind(runner, args, Binding::Rule)
}

/// `sp_unbindefault @objname [, @futureonly]`
pub(super) fn sp_unbindefault(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    unbind(runner, args, Binding::Default)
}

/// `sp_unbindrule @objname [, @futureonly]`
pub(super) fn sp_unbindrule(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    unbind(runner, args, Binding::Rule)
}

fn is_future_only(word: &str) -> bool {
    word.trim().eq_ignore_ascii_case("futureonly")
}

fn bind(runner: &mut Runner<'_>, args: &[Argument], binding: Binding) -> Outcome {
    let rule = binding == Binding::Rule;
    let (procedure, parameter) =
        if rule { ("sp_bindrule", "rulename") } else { ("sp_bindefault", "defname") };
    let missing = |name: &str| errors::parameter_missing(procedure, format!("@{name}"));
    let name = string(args, parameter, 0).ok_or_else(|| missing(parameter))?;
    let to = string(args, "objname", 1).ok_or_else(|| missing("objname"))?;
    let future = string(args, "futureonly", 2);
    if future.as_deref().is_some_and(|word| !is_future_only(word)) {
        return Err(if rule { rule_usage() } else { default_usage() }.into());
    }
    let event = event(runner, if rule { "BIND_RULE" } else { "BIND_DEFAULT" }, &to, args);
    let column = runner.in_statement(|runner| {
        let column = runner.bind(binding, &name, &to, future.is_some())?;
        runner.fire_event_of(procedure, event)?;
        Ok(column)
    })?;
    say(runner, if rule { RULE_BOUND } else { DEFAULT_BOUND }, column, future.is_some());
    ok()
}

fn unbind(runner: &mut Runner<'_>, args: &[Argument], binding: Binding) -> Outcome {
    let rule = binding == Binding::Rule;
    let procedure = if rule { "sp_unbindrule" } else { "sp_unbindefault" };
    let missing = || errors::parameter_missing(procedure, "@objname");
    let from = string(args, "objname", 0).ok_or_else(missing)?;
    let future = string(args, "futureonly", 1).is_some_and(|word| is_future_only(&word));
    let event = event(runner, if rule { "UNBIND_RULE" } else { "UNBIND_DEFAULT" }, &from, args);
    let column = runner.in_statement(|runner| {
        let column = runner.unbind(binding, &from, future)?;
        runner.fire_event_of(procedure, event)?;
        Ok(column)
    })?;
    say(runner, if rule { RULE_UNBOUND } else { DEFAULT_UNBOUND }, column, future);
    ok()
}

/// What triggers of the database are told.
fn event(runner: &Runner<'_>, kind: &str, target: &str, args: &[Argument]) -> Option<Event> {
    let event = Event::within(kind, &runner.info.current_database())?;
    let event = event.element("ObjectName", target);
    let given: Vec<String> =
        args.iter().map(|a| a.value.as_ref().map(crate::convert::display).unwrap_or_default()).collect();
    Some(event.list("Parameters", "Param", given.iter().map(String::as_str)))
}

fn say(runner: &mut Runner<'_>, said: Said, column: bool, future_only: bool) {
    let [of_column, of_type, of_columns] = said;
    let lines = match (column, future_only) {
        (true, _) => vec![of_column],
        (false, true) => vec![of_type],
        (false, false) => vec![of_type, of_columns],
    };
    for (number, text) in lines {
        runner.report(&SqlError::new(number, 10, 1, text));
    }
}
