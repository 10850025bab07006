//! Filtered indexes: when a statement may read one.
//!
//! An index with a WHERE has entries of the rows for which that is true. It stands for the table in a statement whose own conditions let
//! through no other rows. That is shown condition by condition: each of the index's is about one column and constants, and one of the
//! statement's, about the same column and constants, leaves no value for which it is not true, or is the same. What compares a column
//! with anything lets through no NULL. A variable's value is not known, so it shows nothing else.

use super::Planner;
use super::access::{Request, column_side};
use crate::bind::expr::{Clause, ExprCx};
use crate::bind::rel::Get;
use crate::bind::{Scope, Source, SourceColumn, parse_error};
use crate::errors::Result;
use crate::expr::{CmpOp, Expr, ExprKind};
use keel_types::compare::comparer;
use keel_types::{Collation, SqlType, Value};
use std::cmp::Ordering;
use std::rc::Rc;

/// The conditions of a table's filtered indexes, by position in `TableDef::indexes`.
pub(super) type Filters = Vec<(usize, Vec<Expr>)>;

/// A condition about a column and constants.
struct Simple<'e> {
    column: usize,
    /// The type and collation in which it compares.
    compared: (SqlType, Collation),
    holds: Holds<'e>,
}

/// For which values of the column it is true.
enum Holds<'e> {
    Compare(CmpOp, &'e Value),
    In(Vec<&'e Value>),
    /// For all but NULL.
    NotNull,
    /// Not for NULL, nor maybe for others.
    Unknown,
}

impl Planner<'_, '_> {
    /// Learns the conditions of a table's filtered indexes.
    pub(super) fn learn_filters(&mut self, get: &Get) -> Result<()> {
        let filtered = get.table.indexes.iter().any(|i| i.filter.is_some());
        if !filtered || self.filters.contains_key(&get.id) {
            return Ok(());
        }
        let columns = get.table.columns.iter().enumerate();
        let columns = columns.map(|(i, c)| SourceColumn { name: c.name.clone(), slot: get.slot(i) });
        let source = Source { get: Some(get.id), ..Source::of(&get.table.name, columns.collect()) };
        let scope = Scope::new(vec![Rc::new(source)], None);
        let mut filters = Filters::new();
        for (at, index) in get.table.indexes.iter().enumerate() {
            let Some(text) = &index.filter else { continue };
            let e = keel_parser::parse_expr(text).map_err(|e| parse_error(*e))?;
            let bound =
                self.binder.unnoticed(|b| b.condition(&e, &mut ExprCx::new(&scope, Clause::Other)))?;
            let parts = match bound.kind {
                ExprKind::And(parts) => parts,
                _ => vec![bound],
            };
            filters.push((at, parts));
        }
        self.filters.insert(get.id, filters);
        Ok(())
    }

    /// The conditions of a filtered index when all rows that are asked for are in it.
    pub(super) fn filter_met(&self, r: &Request<'_>, index: usize) -> Option<&[Expr]> {
        let (_, filter) = self.filters.get(&r.get.id)?.iter().find(|(at, _)| *at == index)?;
        let known: Vec<Simple<'_>> = r.conjuncts.iter().flat_map(|e| simple(r.get, e)).collect();
        let met = |e: &Expr| {
            let said = || r.conjuncts.iter().any(|c| format!("{:?}", c.kind) == format!("{:?}", e.kind));
            simple(r.get, e).is_some_and(|asked| known.iter().any(|k| implies(k, &asked))) || said()
        };
        filter.iter().all(met).then_some(filter)
    }
}

fn simple<'e>(get: &Get, e: &'e Expr) -> Option<Simple<'e>> {
    match &e.kind {
        ExprKind::Compare(op, l, r) => {
            [(l, r, *op), (r, l, op.flip())].into_iter().find_map(|(side, value, op)| {
                let holds = match value.as_const() {
                    Some(value) => Holds::Compare(op, value),
                    None => Holds::Unknown,
                };
                Some(Simple { column: column_side(get, side)?, compared: (side.ty, e.collation), holds })
            })
        }
        ExprKind::InList(l, list) => {
            let constants: Option<Vec<&Value>> = list.iter().map(Expr::as_const).collect();
            let holds = constants.map_or(Holds::Unknown, Holds::In);
            Some(Simple { column: column_side(get, l)?, compared: (l.ty, e.collation), holds })
        }
        ExprKind::Like(l, ..) => of_one(get, l, Holds::Unknown),
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::IsNull(l) => of_one(get, l, Holds::NotNull),
            _ => None,
        },
        _ => None,
    }
}

fn of_one<'e>(get: &Get, of: &Expr, holds: Holds<'e>) -> Option<Simple<'e>> {
    Some(Simple { column: column_side(get, of)?, compared: (of.ty, of.collation), holds })
}

/// Whether no value for which `known` is true is one for which `asked` is not.
fn implies(known: &Simple<'_>, asked: &Simple<'_>) -> bool {
    use CmpOp::{Eq, Ge, Gt, Le, Lt, Ne};
    if known.column != asked.column {
        return false;
    }
    if matches!(asked.holds, Holds::NotNull) {
        return true;
    }
    let ((ty, collation), (other, _)) = (known.compared, asked.compared);
    let alike = ty.family() == other.family() || ty.is_string() && other.is_string();
    if !alike || known.compared.1 != asked.compared.1 {
        return false;
    }
    let order = |a: &Value, b: &Value| match (a, b) {
        (Value::Null, _) | (_, Value::Null) => None,
        _ => Some(comparer(ty)(a, b, collation)),
    };
    let is_met = |value: &Value| match &asked.holds {
        Holds::Compare(op, b) => order(value, b).is_some_and(|o| op.holds(o)),
        Holds::In(list) => list.iter().any(|b| order(value, b) == Some(Ordering::Equal)),
        Holds::NotNull => true,
        Holds::Unknown => false,
    };
    match (&known.holds, &asked.holds) {
        (Holds::Compare(Eq, a), _) => is_met(a),
        (Holds::In(list), _) => list.iter().all(|a| is_met(a)),
        (Holds::Compare(op, a), Holds::Compare(wanted, b)) => match (op, wanted, order(a, b)) {
            (_, _, None) => false,
            (Lt, Lt | Le | Ne, Some(o)) => o.is_le(),
            (Le, Le, Some(o)) => o.is_le(),
            (Le, Lt | Ne, Some(o)) => o.is_lt(),
            (Gt, Gt | Ge | Ne, Some(o)) => o.is_ge(),
            (Ge, Ge, Some(o)) => o.is_ge(),
            (Ge, Gt | Ne, Some(o)) => o.is_gt(),
            (Ne, Ne, Some(o)) => o.is_eq(),
            _ => false,
        },
        _ => false,
    }
}
