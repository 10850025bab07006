//! Subqueries that have one answer for the whole statement: the session's thread finds it before helpers begin, with helpers where the
//! subquery has parallel parts, and each helper is given it.

use super::ParallelPlan;
use crate::exec::cx::Cx;
use crate::exec::subquery;
use keel_types::Value;

/// Answers, with the numbers of their subqueries.
pub(super) type Answers = Vec<(usize, Value)>;

/// Finds those that are not known yet. `None` when one fails: only who runs the statement row by row finds out whether it is asked at all.
pub(super) fn find(plan: &ParallelPlan, cx: &mut Cx<'_>) -> Option<Answers> {
    let mut answers = Answers::new();
    for (number, subplan) in plan.subplans.iter().enumerate() {
        if !subplan.has_one_answer() {
            continue;
        }
        match subquery::answer(cx, number, subplan.asks) {
            Ok(answer) => answers.extend(answer.map(|answer| (number, answer))),
            Err(_) => return None,
        }
    }
    Some(answers)
}

/// Gives them to a helper.
pub(super) fn give(answers: Answers, cx: &mut Cx<'_>) {
    for (number, answer) in answers {
        if let Some(Some(state)) = cx.subqueries.get_mut(number) {
            state.answers.push((Vec::new(), answer));
        }
    }
}
