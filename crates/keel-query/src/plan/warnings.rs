//! What a plan warns of: conversions of columns on whose account an index cannot be searched, or rows are only guessed
//! (`PlanAffectingConvert`).

use super::Planner;
use super::access::column_side;
use super::days::day_of;
use super::through;
use crate::bind::rel::Get;
use crate::expr::{CmpOp, Expr, ExprKind};

/// A conversion that the plan suffers from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// What suffers, in the product's words: `Seek Plan` or `Cardinality Estimate`.
    pub issue: &'static str,
    /// The comparison, or the conversion alone.
    pub expression: String,
}

/// The converted column of a side of a comparison, where no index on it could be searched.
fn converted(get: &Get, side: &Expr) -> Option<usize> {
    if column_side(get, side).is_some() || day_of(get, side).is_some() || through::is_sought(get, side) {
        return None;
    }
    let ExprKind::Cast(cast) = &side.kind else { return None };
    get.column_of(cast.input.as_slot()?)
}

impl Planner<'_, '_> {
    /// Notes the conversions in conditions on a table's rows.
    pub(super) fn note_conversions(&mut self, get: &Get, conjuncts: &[Expr]) {
        let own = |e: &Expr| e.slots().iter().any(|s| get.column_of(*s).is_some());
        for e in conjuncts {
            let sides: &[(&Expr, bool)] = match &e.kind {
                ExprKind::Compare(op, l, r) if *op != CmpOp::Ne => &[(l, own(r)), (r, own(l))],
                ExprKind::InList(l, list) => &[(l, list.iter().any(own))],
                _ => continue,
            };
            for (side, _) in sides.iter().filter(|(_, by_itself)| !by_itself) {
                let Some(column) = converted(get, side) else { continue };
                let id = get.table.columns[column].column_id;
                let leads = get.table.indexes.iter().any(|index| {
                    !index.disabled && index.key.first().is_some_and(|first| first.column_id == id)
                });
                let conversion = match leads {
                    true => Conversion { issue: "Seek Plan", expression: self.expr_text(e) },
                    false => Conversion { issue: "Cardinality Estimate", expression: self.expr_text(side) },
                };
                if !self.binder.conversions.contains(&conversion) {
                    self.binder.conversions.push(conversion);
                }
            }
        }
    }
}
