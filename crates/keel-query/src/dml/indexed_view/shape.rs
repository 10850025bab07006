//! What an indexed view is made of, for those who are to make one: its columns, its tables, and what of them cannot be kept.

use super::{ColumnSource, Groups, Taken};
use crate::bind::rel::{AggFunc, Rel, SlotSet};
use crate::bind::{Binder, BoundQuery};
use crate::catalog::{ModuleDef, ObjectId, TableDef};
use crate::errors::Result;
use crate::expr::fold::constant;
use crate::expr::{Expr, ExprKind, Slot};
use crate::plan::Planner;
use crate::plan::api::{describe, finish};
use crate::plan::run::{Body, Plan};
use crate::scope::BindScope;
use keel_types::{Collation, SqlType, Value};
use std::sync::Arc;

/// A view as its query is bound.
pub struct ViewShape {
    /// Its columns.
    pub columns: Vec<ViewColumn>,
    /// The tables of its FROM clause, each reference.
    pub tables: Vec<Arc<TableDef>>,
    /// Something that is no table is read: a system view or a function.
    pub reads_others: bool,
    /// It has groups.
    pub grouped: bool,
    /// All that is grouped by is among its columns.
    pub shows_groups: bool,
    /// A column computes with an aggregate or with what is grouped by.
    pub computes_with_groups: bool,
    /// No row can satisfy its conditions, whatever the tables hold.
    pub is_empty: bool,
    /// What of its expressions cannot be kept.
    pub fault: Option<ExprFault>,
    /// A float or real that WHERE, a join or GROUP BY looks at: the column's name, empty where there is none.
    pub imprecise_condition: Option<String>,
}

/// Why an expression of a view cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprFault {
    /// A function, by its name, gives another value each time, or in each session.
    Nondeterministic(String),
    /// A user's function, which its own text judges.
    UserFunction {
        /// `schema.name`
        name: String,
        /// Object id.
        object_id: ObjectId,
    },
    /// A string is read as a date as the session's language has it, in a conversion that is written or is not.
    Date {
        /// It is written.
        explicit: bool,
    },
    /// A constant is a floating number.
    ImpreciseConstant,
}

/// A column of a view.
pub struct ViewColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Collation.
    pub collation: Collation,
    /// It can be NULL.
    pub nullable: bool,
    /// Table and position of the column that it shows as it is.
    pub origin: Option<(Arc<TableDef>, usize)>,
    /// Floating numbers take part in its value.
    pub imprecise: bool,
    /// Its value is the same whenever it is asked for.
    pub deterministic: bool,
    /// What it is.
    pub kind: ViewColumnKind,
}

/// What a column of a view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewColumnKind {
    /// A value; in a view with groups one of the group's.
    Value,
    /// COUNT_BIG(*).
    CountAll,
    /// COUNT_BIG of an expression.
    Count,
    /// SUM.
    Sum {
        /// Its argument can be NULL.
        of_nullable: bool,
    },
    /// Another aggregate.
    Other,
}

fn is_imprecise(ty: SqlType) -> bool {
    matches!(ty, SqlType::Float | SqlType::Real)
}

fn reads_imprecise(e: &Expr) -> bool {
    e.any(&mut |x| is_imprecise(x.ty))
}

/// What a view is made of.
///
/// # Errors
/// Those of its query.
pub fn indexed_view_shape(scope: &dyn BindScope, module: &ModuleDef) -> Result<ViewShape> {
    let mut binder = Binder::new(scope);
    let bound = binder.unnoticed(|b| b.unguarded(|b| b.view(module)))?;
    let names: Vec<String> = bound.columns.iter().map(|c| c.name.clone()).collect();
    let (bound, computes_with_groups) = below_projection(bound);
    let taken = Taken::apart(bound);
    let mut tables = Vec::new();
    collect_tables(&taken.input, &mut tables);
    let columns = names.into_iter().enumerate();
    let columns: Vec<ViewColumn> =
        columns.map(|(at, name)| column(&binder, &taken, at, name, &tables)).collect();
    let shown = |slot: &Slot| taken.columns.contains(slot);
    let groups = || taken.groups.iter().flat_map(|g| &g.keys);
    let condition = imprecise_condition(&binder, &taken.input);
    let grouping = groups().find(|(_, e)| reads_imprecise(e)).map(|(_, e)| slot_name(&binder, e));
    Ok(ViewShape {
        grouped: taken.groups.is_some(),
        shows_groups: groups().all(|(slot, _)| shown(slot)),
        computes_with_groups,
        reads_others: reads_others(&taken.input),
        is_empty: is_empty(&taken.input),
        fault: faults(&taken).into_iter().next(),
        imprecise_condition: condition.or(grouping),
        columns,
        tables: tables.into_iter().map(|(_, table)| table).collect(),
    })
}

/// Takes away a projection over an aggregation, which no indexed view has: whether there was one.
fn below_projection(bound: BoundQuery) -> (BoundQuery, bool) {
    let BoundQuery { mut rel, columns } = bound;
    let mut computes = false;
    loop {
        match rel {
            Rel::Project { input, .. } if has_groups(&input) => (rel, computes) = (*input, true),
            other => return (BoundQuery { rel: other, columns }, computes),
        }
    }
}

fn has_groups(rel: &Rel) -> bool {
    matches!(rel, Rel::Aggregate { .. }) || rel.inputs().into_iter().any(has_groups)
}

/// What of a view's expressions cannot be kept, users' functions last: only their texts tell.
fn faults(taken: &Taken) -> Vec<ExprFault> {
    let mut found = Vec::new();
    let mut look = |e: &Expr| {
        e.any(&mut |e| {
            found.extend(fault_of(e));
            false
        });
    };
    each_expr(&taken.input, &mut look);
    if let Some(Groups { keys, aggs }) = &taken.groups {
        keys.iter().for_each(|(_, e)| look(e));
        aggs.iter().flat_map(|a| &a.arg).for_each(&mut look);
    }
    found.sort_by_key(|f| matches!(f, ExprFault::UserFunction { .. }));
    found
}

fn each_expr(rel: &Rel, f: &mut dyn FnMut(&Expr)) {
    rel.for_own_exprs(f);
    rel.inputs().into_iter().for_each(|r| each_expr(r, f));
}

fn fault_of(e: &Expr) -> Option<ExprFault> {
    match &e.kind {
        ExprKind::Session { name, .. } => Some(ExprFault::Nondeterministic(name.to_lowercase())),
        ExprKind::Builtin(b, args) if !b.foldable || follows_session(&b.name, args) => {
            Some(ExprFault::Nondeterministic(b.name.to_lowercase()))
        }
        ExprKind::Udf(info, _) => {
            Some(ExprFault::UserFunction { name: info.name.clone(), object_id: info.object_id })
        }
        ExprKind::Const(Value::Float(_)) if is_imprecise(e.ty) => Some(ExprFault::ImpreciseConstant),
        ExprKind::Cast(c) if reads_by_language(c.input.ty, e.ty) => {
            let style = c.style.as_ref().and_then(Expr::as_const);
            let fixed = matches!(style, Some(Value::Int(n)) if is_fixed_style(*n));
            (!fixed).then_some(ExprFault::Date { explicit: c.explicit })
        }
        _ => None,
    }
}

/// Whether a function that is one of its arguments for a session is not for all: languages name days and months, and begin the
/// week.
fn follows_session(name: &str, args: &[Expr]) -> bool {
    let part = |word: &str| {
        let first = args.first().and_then(constant);
        matches!(first, Some(Value::Str(part)) if part.eq_ignore_ascii_case(word))
    };
    match name {
        "DATENAME" | "FORMAT" | "PARSE" | "ISDATE" => true,
        "DATEPART" => part("weekday") || part("week"),
        _ => false,
    }
}

/// Whether a conversion without a style depends on the session's language.
fn reads_by_language(from: SqlType, to: SqlType) -> bool {
    from.is_string() && is_date(to)
        || to.is_string() && matches!(from, SqlType::DateTime | SqlType::SmallDateTime)
}

fn is_date(ty: SqlType) -> bool {
    use SqlType as T;
    matches!(
        ty,
        T::Date | T::Time(_) | T::DateTime | T::SmallDateTime | T::DateTime2(_) | T::DateTimeOffset(_)
    )
}

/// Whether a style of CONVERT reads a date the same in every language.
fn is_fixed_style(style: i64) -> bool {
    matches!(style, 20 | 21) || style > 100 && !matches!(style, 106 | 107 | 109 | 113)
}

fn collect_tables(rel: &Rel, into: &mut Vec<(u32, Arc<TableDef>)>) {
    if let Rel::Get(g) = rel {
        into.push((g.id, g.table.clone()));
    }
    rel.inputs().into_iter().for_each(|r| collect_tables(r, into));
}

fn column(
    binder: &Binder<'_>,
    taken: &Taken,
    at: usize,
    name: String,
    tables: &[(u32, Arc<TableDef>)],
) -> ViewColumn {
    let info = &binder.slots[taken.columns[at] as usize];
    let of_table = |(id, i): (u32, usize)| Some((tables.iter().find(|(t, _)| *t == id)?.1.clone(), i));
    let (kind, of) = match taken.column(binder, at) {
        ColumnSource::Value(e) => {
            let computed = e.as_slot().and_then(|slot| computed_into(&taken.input, slot)).cloned();
            (ViewColumnKind::Value, Some(computed.unwrap_or(e)))
        }
        ColumnSource::Aggregate(a) => match (a.func, &a.arg) {
            (AggFunc::CountStar, _) => (ViewColumnKind::CountAll, None),
            (AggFunc::Count, e) => (ViewColumnKind::Count, e.clone()),
            (AggFunc::Sum, Some(e)) => (ViewColumnKind::Sum { of_nullable: can_be_null(e) }, Some(e.clone())),
            (_, e) => (ViewColumnKind::Other, e.clone()),
        },
    };
    let judge = |fault: fn(&Expr) -> bool| of.as_ref().is_some_and(|e| e.any(&mut |e| fault(e)));
    ViewColumn {
        name,
        ty: info.ty,
        collation: info.collation,
        nullable: info.nullable,
        origin: info.origin.and_then(of_table),
        imprecise: judge(|e| is_imprecise(e.ty)) || is_imprecise(info.ty),
        deterministic: !judge(|e| {
            matches!(fault_of(e), Some(ExprFault::Nondeterministic(_) | ExprFault::Date { .. }))
        }),
        kind,
    }
}

/// Whether a value can be NULL where arithmetic that fails is an error.
fn can_be_null(e: &Expr) -> bool {
    let any = |list: &[Expr]| list.iter().any(can_be_null);
    match &e.kind {
        ExprKind::Const(v) => matches!(v, Value::Null),
        ExprKind::Arith(_, a, b) => can_be_null(a) || can_be_null(b),
        ExprKind::Neg(a) | ExprKind::BitNot(a) => can_be_null(a),
        ExprKind::Cast(c) => c.lenient || can_be_null(&c.input),
        ExprKind::Case(whens, otherwise) => {
            whens.iter().any(|(_, then)| can_be_null(then))
                || otherwise.as_ref().is_none_or(|e| can_be_null(e))
        }
        ExprKind::FirstOf(list) => list.iter().all(can_be_null),
        ExprKind::Builtin(_, args) => e.nullable && (args.is_empty() || any(args)),
        _ => e.nullable,
    }
}

/// The expression that a slot is computed from.
fn computed_into(rel: &Rel, slot: Slot) -> Option<&Expr> {
    if let Rel::Project { exprs, .. } = rel
        && let Some((_, e)) = exprs.iter().find(|(s, _)| *s == slot)
    {
        return Some(e);
    }
    rel.inputs().into_iter().find_map(|r| computed_into(r, slot))
}

fn reads_others(rel: &Rel) -> bool {
    matches!(rel, Rel::Virtual { .. }) || rel.inputs().into_iter().any(reads_others)
}

/// Whether one of the conditions is false by itself.
fn is_empty(rel: &Rel) -> bool {
    let never = |e: &Expr| matches!(constant(e), Some(Value::Bit(false)));
    match rel {
        Rel::Empty(_) => true,
        Rel::Filter { predicates, .. } if predicates.iter().any(never) => true,
        Rel::Join { on, .. } if on.iter().any(never) => true,
        rel => rel.inputs().into_iter().any(is_empty),
    }
}

/// The name of the first float or real that conditions look at.
fn imprecise_condition(binder: &Binder<'_>, rel: &Rel) -> Option<String> {
    let conditions = match rel {
        Rel::Filter { predicates, .. } => predicates.as_slice(),
        Rel::Join { on, .. } => on.as_slice(),
        _ => &[],
    };
    let own = conditions.iter().find(|e| reads_imprecise(e)).map(|e| slot_name(binder, e));
    own.or_else(|| rel.inputs().into_iter().find_map(|r| imprecise_condition(binder, r)))
}

fn slot_name(binder: &Binder<'_>, e: &Expr) -> String {
    let mut slots = e.slots().into_iter().map(|s| &binder.slots[s as usize]);
    slots.find(|s| is_imprecise(s.ty)).map_or_else(String::new, |s| s.name.clone())
}

/// Compiles the query of a view so that it reads the newest rows of its tables, under locks: what the view's own rows are to be.
///
/// # Errors
/// Those of its query.
pub fn compile_view_rows(scope: &dyn BindScope, module: &ModuleDef) -> Result<Plan> {
    let mut binder = Binder::new(scope);
    let mut bound = binder.unnoticed(|b| b.unguarded(|b| b.view(module)))?;
    lock_all(&mut bound.rel);
    let BoundQuery { rel, columns } = bound;
    let named: Vec<(&str, Slot)> = columns.iter().map(|c| (c.name.as_str(), c.slot)).collect();
    let meta = describe(&binder, &rel, &named);
    let need: SlotSet = columns.iter().map(|c| c.slot).collect();
    let mut planner = Planner::new(&mut binder);
    let root = Arc::new(planner.plan_tree(rel, &need)?.node);
    let subplans = planner.subplans;
    let body = Body::Query { root, output: columns.iter().map(|c| c.slot as usize).collect() };
    Ok(finish(&binder, body, subplans, meta, None))
}

fn lock_all(rel: &mut Rel) {
    if let Rel::Get(g) = rel {
        // The table's lock saves those of its rows.
        (g.hints.repeatable, g.hints.table_exclusive) = (true, true);
    }
    rel.inputs_mut().into_iter().for_each(lock_all);
}
