//! Subqueries inside expressions: run on demand, and remembered while their outer values stay the same.

use super::basic::same_values;
use super::cx::{Cx, SubqueryState};
use super::save;
use crate::errors::{self, Result};
use crate::expr::CmpOp;
use crate::expr::compile::{Code, compare_three_valued};
use keel_types::{Collation, Value};

/// Where an expression asks a subquery.
#[derive(Debug)]
pub struct Asked {
    /// Its number in the plan.
    pub number: usize,
    /// Slots of the outer query that decide what it answers.
    pub outer: Vec<usize>,
}

/// What is asked of a subquery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// The value of its one row.
    Value,
    /// Whether it has rows.
    Exists,
    /// All of its rows.
    Rows,
}

/// Takes the state out of the execution while `f` runs with it, so that both can be borrowed.
fn with_state<T>(
    cx: &mut Cx<'_>,
    number: usize,
    f: impl FnOnce(&mut SubqueryState, &mut Cx<'_>) -> Result<T>,
) -> Result<T> {
    let mut state = cx.subqueries[number].take().expect("a subquery does not contain itself");
    let result = f(&mut state, cx);
    cx.subqueries[number] = Some(state);
    result
}

fn cached(
    cx: &mut Cx<'_>,
    Asked { number, outer }: &Asked,
    compute: impl FnOnce(&mut SubqueryState, &mut Cx<'_>) -> Result<Value>,
) -> Result<Value> {
    with_state(cx, *number, |state, cx| {
        if state.kept == 0 {
            return compute(state, cx);
        }
        let key = save(cx, outer);
        if let Some((_, answer)) = state.answers.iter().find(|(old, _)| same_values(old, &key)) {
            return Ok(answer.clone());
        }
        let value = compute(state, cx)?;
        let answer = (key, value.clone());
        if state.answers.len() < state.kept {
            state.answers.push(answer);
        } else {
            state.answers[state.oldest] = answer;
            state.oldest = (state.oldest + 1) % state.kept;
        }
        Ok(value)
    })
}

/// The answer of a subquery that has one for the whole statement, known or found now; `None` while it is being found.
///
/// # Errors
/// Those of running it. It is as if it had not been asked.
pub(super) fn answer(cx: &mut Cx<'_>, number: usize, asks: Asks) -> Result<Option<Value>> {
    if cx.subqueries.get(number).is_none_or(Option::is_none) {
        return Ok(None);
    }
    let asked = Asked { number, outer: Vec::new() };
    let saw_null = cx.saw_null;
    let answer = match asks {
        Asks::Value => scalar(cx, &asked).map(Some),
        Asks::Exists => exists(cx, &asked).map(|found| Some(Value::Bit(found))),
        Asks::Rows => Ok(None),
    };
    if let (Err(_), Some(state)) = (&answer, &mut cx.subqueries[number]) {
        state.root.close();
        cx.saw_null = saw_null;
    }
    answer
}

/// The single value of a scalar subquery; its slot number is the first of its state.
pub fn scalar(cx: &mut Cx<'_>, asked: &Asked) -> Result<Value> {
    cached(cx, asked, |state, cx| {
        state.root.open(cx)?;
        if !state.root.next(cx)? {
            return Ok(Value::Null);
        }
        let value = cx.slots[state.result_slot].clone();
        if state.root.next(cx)? {
            return Err(errors::subquery_many_rows());
        }
        Ok(value)
    })
}

/// EXISTS.
pub fn exists(cx: &mut Cx<'_>, asked: &Asked) -> Result<bool> {
    let found = cached(cx, asked, |state, cx| {
        state.root.open(cx)?;
        Ok(Value::Bit(state.root.next(cx)?))
    })?;
    Ok(matches!(found, Value::Bit(true)))
}

/// `needle op ANY (subquery)`, three-valued.
pub fn any(
    cx: &mut Cx<'_>,
    asked: &Asked,
    op: CmpOp,
    needle: &Code,
    item: &Code,
    collation: Collation,
) -> Result<Option<bool>> {
    let value = needle.eval(cx)?;
    with_state(cx, asked.number, |state, cx| {
        state.root.open(cx)?;
        let mut unknown = false;
        while state.root.next(cx)? {
            match item.with(cx, |i| compare_three_valued(op, &value, i, collation))? {
                Some(true) => return Ok(Some(true)),
                None => unknown = true,
                Some(false) => {}
            }
        }
        Ok(if unknown { None } else { Some(false) })
    })
}
