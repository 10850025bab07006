//! The procedures: `sp_query_store_…`. All but those about single queries take nothing. They ask for ALTER on the database.

use super::flush::{flush, remove_queries, statistics_rows};
use super::{ActualState, Wanted, actual_state, advice, gather, is_written, loaded};
use crate::catalog::SecurableRef;
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::procs::{Outcome, argument, number, ok, string};
use crate::run::{Argument, Runner, parse_error};
use keel_parser::ast::QueryHint;
use keel_types::SqlError;
use keel_types::error::Result;
use std::collections::BTreeSet;
use std::sync::Arc;

fn error(number: i32, severity: u8, state: u8, text: String) -> Box<SqlError> {
    SqlError::new(number, severity, state, text)
}

/// 12402. Each procedure has a state of its own.
fn no_query(query: u64, entry: &DatabaseEntry, state: u8) -> Box<SqlError> {
    let text = format!(
        "Query with provided query_id ({query}) is not found in the Query Store for database ({}). Check the query_id value and rerun the command.",
        entry.id.0
    );
    error(12402, 11, state, text)
}

/// 12403
fn no_plan(plan: u64, entry: &DatabaseEntry, state: u8) -> Box<SqlError> {
    let text = format!(
        "Query plan with provided plan_id ({plan}) is not found in the Query Store for database ({}). Check the plan_id value and rerun the command.",
        entry.id.0
    );
    error(12403, 11, state, text)
}

/// 12405 for a store that is off.
fn switched_on(entry: &DatabaseEntry, state: u8) -> Result<()> {
    if actual_state(entry) != ActualState::Off {
        return Ok(());
    }
    let text = format!(
        "The command failed because the query store is not enabled for database ({}). Make sure that the query store is enabled for the database and rerun the command.",
        entry.id.0
    );
    Err(error(12405, 16, state, text))
}

/// 12455
fn unsupported_hint(name: &str, state: u8) -> Box<SqlError> {
    error(12455, 16, state, format!("Setting query hint(s) '{name}' in Query Store is not supported."))
}

/// A number that must be given: errors 313 and 214.
fn id(args: &[Argument], procedure: &str, name: &str, position: usize) -> Result<u64> {
    if argument(args, name, position).is_none() {
        let text = format!(
            "An insufficient number of arguments were supplied for the procedure or function {procedure}."
        );
        return Err(error(313, 16, 51, text));
    }
    match number(args, name, position) {
        // None is negative: it is not there.
        Some(n) => Ok(u64::try_from(n).unwrap_or(0)),
        None => Err(error(214, 16, 51, format!("Procedure expects parameter '@{name}' of type 'bigint'."))),
    }
}

/// The current database, for who may change its store, where that is done.
fn changed(runner: &Runner<'_>) -> Result<Arc<DatabaseEntry>> {
    let info = runner.info;
    let entry = info.current_database();
    if !info.may(&entry, "ALTER", SecurableRef::Database) {
        let text = "User does not have necessary permissions to execute Query Store stored procedure.";
        return Err(error(12421, 14, 1, text.to_owned()));
    }
    if entry.is_copy() {
        let text = "Query Store stored procedure is not available on readable secondary replica.";
        return Err(error(12446, 16, 1, text.to_owned()));
    }
    if !is_written(&entry) {
        return Err(errors::database_read_only(entry.name()));
    }
    info.add_up();
    gather(&info.engine);
    drop(loaded(&entry)?);
    Ok(entry)
}

/// `sp_query_store_flush_db`: what is in memory is written.
pub(crate) fn sp_query_store_flush_db(runner: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    let entry = changed(runner)?;
    flush(&entry)?;
    ok()
}

/// `sp_query_store_clear_message_queues`: there are none.
pub(crate) fn sp_query_store_clear_message_queues(runner: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    changed(runner)?;
    ok()
}

/// `sp_query_store_consistency_check`: error 12427 while the store is on.
pub(crate) fn sp_query_store_consistency_check(runner: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    let entry = changed(runner)?;
    let picture = entry.picture();
    if picture.settings().query_store.as_ref().is_some_and(|s| s.wanted != Wanted::Off) {
        let text = "Cannot perform operation on Query Store while it is enabled. Please turn off Query Store for the database and try again.";
        return Err(error(12427, 16, 3, text.to_owned()).into());
    }
    check(&entry)?;
    flush(&entry)?;
    ok()
}

/// Removes rows that refer to others which are not there.
fn check(entry: &Arc<DatabaseEntry>) -> Result<()> {
    let rows = statistics_rows(entry)?;
    // Loaded again: a store that is off lets go of its memory whenever it likes.
    let mut memory = loaded(entry)?;
    let lost: BTreeSet<u64> = memory
        .plans
        .iter()
        .filter(|(_, row)| !memory.queries.contains_key(&row.query))
        .map(|(n, _)| *n)
        .collect();
    for (key, plan) in rows {
        if lost.contains(&plan) || !memory.plans.contains_key(&plan) {
            memory.remove_row(key);
        }
    }
    memory.remove_plans(&lost);
    Ok(())
}

/// `sp_query_store_reset_exec_stats @plan_id`: the plan's statistics are forgotten.
pub(crate) fn sp_query_store_reset_exec_stats(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let entry = changed(runner)?;
    let plan = id(args, "sp_query_store_reset_exec_stats", "plan_id", 0)?;
    let rows = statistics_rows(&entry)?;
    let mut memory = loaded(&entry)?;
    if !memory.plans.contains_key(&plan) {
        return Err(no_plan(plan, &entry, 2).into());
    }
    memory.remove_statistics(&BTreeSet::from([plan]), &rows);
    drop(memory);
    flush(&entry)?;
    ok()
}

/// `sp_query_store_remove_plan @plan_id`: the plan and its statistics; the query stays. Error 12426 while it is forced.
pub(crate) fn sp_query_store_remove_plan(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let entry = changed(runner)?;
    let plan = id(args, "sp_query_store_remove_plan", "plan_id", 0)?;
    let rows = statistics_rows(&entry)?;
    let mut memory = loaded(&entry)?;
    if !memory.plans.contains_key(&plan) {
        return Err(no_plan(plan, &entry, 1).into());
    }
    if memory.forced.values().any(|(_, row)| row.plan == plan) {
        let text = format!(
            "Plan with provided plan id ({plan}) cannot be deleted since it has active forcing policy."
        );
        return Err(error(12426, 16, 1, text).into());
    }
    let plans = BTreeSet::from([plan]);
    memory.remove_statistics(&plans, &rows);
    memory.remove_plans(&plans);
    drop(memory);
    flush(&entry)?;
    ok()
}

/// `sp_query_store_remove_query @query_id`: the query with all that belongs to it. Error 12456 while it has hints, 12425 while a plan of it is forced.
pub(crate) fn sp_query_store_remove_query(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let entry = changed(runner)?;
    let query = id(args, "sp_query_store_remove_query", "query_id", 0)?;
    let rows = statistics_rows(&entry)?;
    let mut memory = loaded(&entry)?;
    if !memory.queries.contains_key(&query) {
        return Err(no_query(query, &entry, 1).into());
    }
    if memory.forced.contains_key(&query) {
        let text = format!(
            "Query with provided query id ({query}) cannot be deleted since it has active forcing policy."
        );
        return Err(error(12425, 16, 1, text).into());
    }
    if memory.hints.contains_key(&query) {
        let text = format!(
            "Query with provided query id ({query}) cannot be removed from Query Store since it has query hint(s). Clear the query hints before removing the query."
        );
        return Err(error(12456, 16, 1, text).into());
    }
    remove_queries(&mut memory, &[query], &rows);
    drop(memory);
    flush(&entry)?;
    ok()
}

/// `sp_query_store_set_hints @query_id, @query_hints`: what the query is compiled with from now on, in the place of its own hints.
pub(crate) fn sp_query_store_set_hints(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let entry = changed(runner)?;
    switched_on(&entry, 6)?;
    let query = id(args, "sp_query_store_set_hints", "query_id", 0)?;
    let Some(text) = string(args, "query_hints", 1) else {
        let text = "Procedure expects parameter '@query_hints' of type 'nvarchar(max)'.";
        return Err(error(214, 16, 51, text.to_owned()).into());
    };
    check_hints(&text)?;
    set_hints(runner, &entry, query, Some(text), 5)
}

/// `sp_query_store_clear_hints @query_id`
pub(crate) fn sp_query_store_clear_hints(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let entry = changed(runner)?;
    switched_on(&entry, 7)?;
    let query = id(args, "sp_query_store_clear_hints", "query_id", 0)?;
    set_hints(runner, &entry, query, None, 6)
}

/// Error 12457 while a plan of the query is forced.
fn set_hints(
    runner: &Runner<'_>,
    entry: &Arc<DatabaseEntry>,
    query: u64,
    text: Option<String>,
    state: u8,
) -> Outcome {
    {
        let mut memory = loaded(entry)?;
        if !memory.queries.contains_key(&query) {
            return Err(no_query(query, entry, state).into());
        }
        if text.is_some() && memory.forced.contains_key(&query) {
            let text = format!(
                "Query with query_id {query} has forced plan. No hints can be applied to it while it has forced plan."
            );
            return Err(error(12457, 16, 1, text).into());
        }
        memory.set_hints(query, text);
    }
    advised(runner, entry)
}

/// What queries are compiled by has changed: durable when this returns, and every plan is made anew.
fn advised(runner: &Runner<'_>, entry: &Arc<DatabaseEntry>) -> Outcome {
    flush(entry)?;
    entry.query_store.advice.forget();
    runner.info.engine.programs.forget(entry.id);
    ok()
}

/// Errors 102 and 12455 of hints that cannot be set.
fn check_hints(text: &str) -> Result<()> {
    let first = text.split_whitespace().next().unwrap_or_default();
    let first = first.split('(').next().unwrap_or_default();
    if !first.eq_ignore_ascii_case("OPTION") {
        return Err(error(102, 15, 1, format!("Incorrect syntax near '{first}'.")));
    }
    for hint in advice::parse_hints(text).map_err(parse_error)? {
        match hint {
            QueryHint::OptimizeFor(_) => return Err(unsupported_hint("OPTIMIZE FOR", 2)),
            QueryHint::TableHint(..) => return Err(unsupported_hint("TABLE HINT", 1)),
            QueryHint::Other(words) if words.starts_with("USE PLAN") => {
                return Err(unsupported_hint("USE PLAN", 1));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The query and the plan that a procedure about forcing is called with.
fn plan_of_query(entry: &DatabaseEntry, args: &[Argument], procedure: &str) -> Result<(u64, u64)> {
    switched_on(entry, 4)?;
    let query = id(args, procedure, "query_id", 0)?;
    let plan = id(args, procedure, "plan_id", 1)?;
    let memory = loaded(entry)?;
    if !memory.queries.contains_key(&query) {
        return Err(no_query(query, entry, 2));
    }
    if memory.plans.get(&plan).is_none_or(|row| row.query != query) {
        let text = format!(
            "Query plan with provided plan_id ({plan}) is not found in the Query Store for query ({query}). Check the plan_id value and rerun the command."
        );
        return Err(error(12406, 11, 1, text));
    }
    Ok((query, plan))
}

/// What both are also given: errors 12460, 12463 and 12464. The only group of replicas is the first, which has them all.
fn check_scope(args: &[Argument], plan: u64, (replicas, at): (&str, usize)) -> Result<()> {
    match number(args, replicas, at) {
        None | Some(1) => Ok(()),
        Some(..=0) => Err(error(12463, 11, 1, "Replica groups id should be greater than 0".to_owned())),
        Some(group) => {
            let text =
                format!("Query plan with plan_id ({plan}) cannot be forced for replica group id ({group})");
            Err(error(12464, 16, 1, text))
        }
    }
}

/// Whether a plan can be made again: 12447 of one that is made anew each time, 12458 while the query has hints.
fn check_forcible(entry: &Arc<DatabaseEntry>, query: u64, plan: u64) -> Result<()> {
    let memory = loaded(entry)?;
    if memory.hints.contains_key(&query) {
        let text = format!(
            "Query with query_id {query} has query store hints. Query Store can't force a plan for it while it has hints."
        );
        return Err(error(12458, 16, 1, text));
    }
    if memory.plans.get(&plan).is_none_or(|row| row.hash == 0) {
        let text = format!(
            "Query plan with plan_id ({plan}) cannot be forced for query with query_id ({query}) as plan forcing is not supported for this type of statement."
        );
        return Err(error(12447, 16, 1, text));
    }
    if !memory.has_directions(plan) {
        return Err(errors::not_supported(
            "Forcing a plan that was captured by an earlier version and has not run since then",
        ));
    }
    Ok(())
}

/// `sp_query_store_force_plan @query_id, @plan_id`: the query is compiled to this plan from now on, in the place of another that was forced.
pub(crate) fn sp_query_store_force_plan(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let entry = changed(runner)?;
    let (query, plan) = plan_of_query(&entry, args, "sp_query_store_force_plan")?;
    if let Some(disabled) = number(args, "disable_optimized_plan_forcing", 2).filter(|n| !(0..=1).contains(n))
    {
        let text = format!(
            "The value of ({disabled}) is not valid for the parameter @disable_optimized_plan_forcing. Please pass either 0 or 1."
        );
        return Err(error(12460, 16, 1, text).into());
    }
    check_scope(args, plan, ("replica_group_id", 3))?;
    check_forcible(&entry, query, plan)?;
    loaded(&entry)?.force(query, plan, runner.info.engine.now_utc());
    advised(runner, &entry)
}

/// `sp_query_store_unforce_plan @query_id, @plan_id`: this plan is forced no more, if it was.
pub(crate) fn sp_query_store_unforce_plan(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let entry = changed(runner)?;
    let (query, plan) = plan_of_query(&entry, args, "sp_query_store_unforce_plan")?;
    check_scope(args, plan, ("replica_group_id", 2))?;
    {
        let mut memory = loaded(&entry)?;
        if memory.forced.get(&query).is_none_or(|(_, row)| row.plan != plan) {
            return ok();
        }
        memory.unforce(query);
    }
    advised(runner, &entry)
}
