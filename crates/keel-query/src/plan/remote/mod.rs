//! What of a query is sent to another server.
//!
//! ```text
//!   Join(Filter(srv.a), srv.b)   ──ship──►   Remote("… FROM [a] AS T1 CROSS JOIN [b] AS T2 WHERE T1.[x] = @p1 AND T1.[id] = T2.[id]")
//! ```
//!
//! [`ship`] goes through a tree from its leaves up. A table of another server is a [`Remote`]; what stands above it is put into its text as
//! long as it means the same there, and stays here where it does not. Values that do not come from its tables (variables, functions of
//! this server, columns of the query around it) are parameters. Two remotes of one server that are joined become one.
//!
//! Sent are: comparisons, LIKE, IN, IS NULL and what AND, OR and NOT make of them; arithmetic on numbers, conversions between numbers and between dates, CASE and
//! COALESCE of them, a few functions; inner, left, semi and anti joins; GROUP BY with COUNT, SUM, AVG, MIN and MAX; DISTINCT; TOP, with ORDER BY of
//! numbers and dates. Texts are compared there only where their columns' collations decide, and never sorted there. What is sent again
//! above a TOP (the TOP and the ORDER BY themselves) is done here once more.

mod text;

use super::physical::Planned;
use super::shown::{Part, Shown};
use super::{Planner, cost};
use crate::bind::Binder;
use crate::bind::rel::{Aggregate, JoinKind, JoinMethod, Rel, SlotSet, VirtualRef};
use crate::errors::{self, Result};
use crate::exec::node::{Op, VirtualScan};
use crate::expr::compile::Compiler;
use crate::expr::{Expr, Slot};
use crate::scope::{VirtualColumn, VirtualTable};
use keel_types::SqlType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A column of a remote, as its text names it.
#[derive(Clone, Debug)]
struct Given {
    text: String,
    /// The number of its table, when it is nothing but a column of one.
    table: Option<u32>,
}

/// A query for another server in the making.
#[derive(Clone, Debug)]
pub struct Remote {
    base: VirtualRef,
    server: Arc<str>,
    strings: bool,
    /// Parameters: their numbers, and what they are.
    pub args: Vec<(u32, Expr)>,
    columns: BTreeMap<Slot, Given>,
    from: String,
    /// `from` is more than one table.
    compound: bool,
    conditions: Vec<String>,
    /// GROUP BY, once it is grouped.
    groups: Option<Vec<String>>,
    having: Vec<String>,
    distinct: bool,
    top: Option<String>,
    order: Vec<String>,
    /// A guess of its rows.
    pub rows: f64,
}

/// Sends of a tree what can be sent.
#[must_use]
pub fn ship(rel: Rel, binder: &mut Binder<'_>) -> Rel {
    if !reads_elsewhere(&rel) {
        return rel;
    }
    match rel {
        Rel::Virtual { table, args, first_slot, alias } => match Remote::of_table(&table, first_slot, binder)
        {
            Some(remote) => Rel::Remote(Box::new(remote)),
            None => Rel::Virtual { table, args, first_slot, alias },
        },
        Rel::Filter { input, predicates } => filter(ship(*input, binder), predicates, binder),
        Rel::Project { input, exprs } => project(ship(*input, binder), exprs, binder),
        Rel::Join { kind: JoinKind::Inner, .. } => inner(rel, binder),
        Rel::Join { kind, left, right, on, hint } => {
            outer(kind, ship(*left, binder), ship(*right, binder), on, hint, binder)
        }
        Rel::Aggregate { input, groups, sets: None, grouping_id: None, aggs, scalar } => {
            aggregate(ship(*input, binder), groups, aggs, scalar, binder)
        }
        Rel::Top { input, count: Some(count), percent: false, ties: None, offset: None } => {
            top(ship(*input, binder), count, binder)
        }
        Rel::Distinct { input, slots } => distinct(ship(*input, binder), slots, binder),
        mut other => {
            for input in other.inputs_mut() {
                let old = std::mem::replace(input, Rel::One);
                *input = ship(old, binder);
            }
            other
        }
    }
}

fn reads_elsewhere(rel: &Rel) -> bool {
    let own = matches!(rel, Rel::Virtual { table, .. } if table.0.remote().is_some());
    own || rel.inputs().into_iter().any(reads_elsewhere)
}

fn filter(input: Rel, predicates: Vec<Expr>, binder: &mut Binder<'_>) -> Rel {
    let Rel::Remote(mut remote) = input else { return input.filter(predicates) };
    if remote.top.is_some() || remote.distinct {
        return Rel::Remote(remote).filter(predicates);
    }
    let kept: Vec<Expr> = predicates.into_iter().filter(|p| !remote.take_condition(p, binder)).collect();
    Rel::Remote(remote).filter(kept)
}

fn project(input: Rel, exprs: Vec<(Slot, Expr)>, binder: &mut Binder<'_>) -> Rel {
    let Rel::Remote(mut remote) = input else { return input.project(exprs) };
    if remote.distinct {
        return Rel::Remote(remote).project(exprs);
    }
    let mut kept = Vec::new();
    for (slot, e) in exprs {
        let text = if remote.touches(&e) { remote.value(&e, binder) } else { None };
        match text {
            Some(text) => {
                let table = e.as_slot().and_then(|s| remote.columns.get(&s)?.table);
                remote.columns.insert(slot, Given { text, table });
            }
            None => kept.push((slot, e)),
        }
    }
    Rel::Remote(remote).project(kept)
}

/// The leaves and conditions of inner joins that stand one on the other.
fn flatten(rel: Rel, leaves: &mut Vec<Rel>, on: &mut Vec<Expr>, binder: &mut Binder<'_>) {
    match rel {
        Rel::Join { kind: JoinKind::Inner, left, right, on: own, hint: None } => {
            flatten(*left, leaves, on, binder);
            flatten(*right, leaves, on, binder);
            on.extend(own);
        }
        other => leaves.push(ship(other, binder)),
    }
}

fn inner(rel: Rel, binder: &mut Binder<'_>) -> Rel {
    let Rel::Join { kind, left, right, on, hint } = rel else { return rel };
    if hint.is_some() {
        let (left, right) = (ship(*left, binder), ship(*right, binder));
        return hinted(kind, left, right, on, hint, binder);
    }
    let (mut leaves, mut conditions) = (Vec::new(), Vec::new());
    flatten(Rel::Join { kind, left, right, on, hint }, &mut leaves, &mut conditions, binder);
    let everything: SlotSet = leaves.iter().flat_map(Rel::produced).collect();
    // A condition that reads another leaf, too, would ask once for each of its rows.
    let alone =
        |c: &Expr, own: &SlotSet| c.slots().iter().all(|s| own.contains(s) || !everything.contains(s));
    while let Some((a, b, joined, left)) = pair(&leaves, &conditions, &alone, binder) {
        leaves.remove(b);
        leaves[a] = Rel::Remote(Box::new(joined));
        conditions = left;
    }
    // What is about one leaf alone belongs to it.
    for leaf in &mut leaves {
        if let Rel::Remote(remote) = leaf {
            let own: SlotSet = remote.slots().collect();
            let closed = remote.top.is_some() || remote.distinct;
            conditions.retain(|c| closed || !alone(c, &own) || !remote.take_condition(c, binder));
        }
    }
    let mut leaves = leaves.into_iter();
    let Some(first) = leaves.next() else { return Rel::One };
    let joined = leaves.fold(first, |left, right| Rel::Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        on: Vec::new(),
        hint: None,
    });
    match joined {
        Rel::Join { kind, left, right, hint, .. } => Rel::Join { kind, left, right, on: conditions, hint },
        single => single.filter(conditions),
    }
}

/// Two leaves of one server that a condition connects which can be sent: their places, the two joined, and the conditions that are left.
fn pair(
    leaves: &[Rel],
    conditions: &[Expr],
    alone: &dyn Fn(&Expr, &SlotSet) -> bool,
    binder: &mut Binder<'_>,
) -> Option<(usize, usize, Remote, Vec<Expr>)> {
    for (a, first) in leaves.iter().enumerate() {
        for (b, second) in leaves.iter().enumerate().skip(a + 1) {
            let (Rel::Remote(x), Rel::Remote(y)) = (first, second) else { continue };
            if x.server != y.server || !x.is_open() || !y.is_open() {
                continue;
            }
            let connects = |c: &Expr| x.touches(c) && y.touches(c);
            if !conditions.iter().any(connects) {
                continue;
            }
            let mut joined = (**x).clone();
            joined.join((**y).clone());
            let own: SlotSet = joined.slots().collect();
            let (mut connected, mut left) = (false, Vec::new());
            for c in conditions {
                if alone(c, &own) && joined.take_condition(c, binder) {
                    connected |= connects(c);
                } else {
                    left.push(c.clone());
                }
            }
            if connected {
                return Some((a, b, joined, left));
            }
        }
    }
    None
}

/// `INNER REMOTE JOIN` and `INNER LOOP JOIN`: the right side is asked for each row of the left one.
fn hinted(
    kind: JoinKind,
    left: Rel,
    right: Rel,
    on: Vec<Expr>,
    hint: Option<JoinMethod>,
    binder: &mut Binder<'_>,
) -> Rel {
    let Rel::Remote(mut remote) = right else {
        return Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, hint };
    };
    let looped = hint == Some(JoinMethod::Loop) && remote.is_open();
    let kept = on.into_iter().filter(|c| !(looped && remote.take_condition(c, binder))).collect();
    Rel::Join { kind, left: Box::new(left), right: Box::new(Rel::Remote(remote)), on: kept, hint }
}

fn outer(
    kind: JoinKind,
    left: Rel,
    right: Rel,
    on: Vec<Expr>,
    hint: Option<JoinMethod>,
    binder: &mut Binder<'_>,
) -> Rel {
    let plain = |left, right, on| Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, hint };
    let sendable = matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti) && hint.is_none();
    match (left, right) {
        (Rel::Remote(l), Rel::Remote(r)) if sendable && l.server == r.server && l.is_open() => {
            let whole = if r.is_open() && (kind != JoinKind::Left || r.conditions.is_empty()) {
                (*r).clone()
            } else {
                (*r).clone().derived(binder)
            };
            match l.clone().with(kind, whole, &on, binder) {
                Some(joined) => Rel::Remote(Box::new(joined)),
                None => plain(Rel::Remote(l), Rel::Remote(r), on),
            }
        }
        (left, right) => plain(left, right, on),
    }
}

fn aggregate(
    input: Rel,
    groups: Vec<(Slot, Expr)>,
    aggs: Vec<Aggregate>,
    scalar: bool,
    binder: &mut Binder<'_>,
) -> Rel {
    let whole = |input| Rel::Aggregate {
        input: Box::new(input),
        groups: groups.clone(),
        sets: None,
        grouping_id: None,
        aggs: aggs.clone(),
        scalar,
    };
    let Rel::Remote(remote) = input else { return whole(input) };
    let open = if remote.is_open() { (*remote).clone() } else { (*remote).clone().derived(binder) };
    match open.grouped(&groups, &aggs, scalar, binder) {
        Some(grouped) => Rel::Remote(Box::new(grouped)),
        None => whole(Rel::Remote(remote)),
    }
}

fn top(input: Rel, count: Expr, binder: &mut Binder<'_>) -> Rel {
    let above = |input| Rel::Top {
        input: Box::new(input),
        count: Some(count.clone()),
        percent: false,
        ties: None,
        offset: None,
    };
    if !count.slots().is_empty() || count.has_subquery() || count.is_volatile() {
        return above(input);
    }
    match input {
        Rel::Remote(mut remote) if remote.top.is_none() => {
            let n = remote.parameter(&count, binder);
            remote.top = Some(n);
            above(Rel::Remote(remote))
        }
        Rel::Sort { input, keys } => match *input {
            Rel::Remote(mut remote) if remote.top.is_none() && !remote.distinct => {
                if let Some(order) = remote.order_by(&keys, binder) {
                    let n = remote.parameter(&count, binder);
                    (remote.order, remote.top) = (order, Some(n));
                }
                above(Rel::Sort { input: Box::new(Rel::Remote(remote)), keys })
            }
            input => above(Rel::Sort { input: Box::new(input), keys }),
        },
        input => above(input),
    }
}

fn distinct(input: Rel, slots: Vec<Slot>, binder: &mut Binder<'_>) -> Rel {
    let whole = |input| Rel::Distinct { input: Box::new(input), slots: slots.clone() };
    let Rel::Remote(mut remote) = input else { return whole(input) };
    let fits = |s: &Slot| remote.columns.contains_key(s) && remote.compares(*s, binder);
    if remote.top.is_some() || remote.distinct || !slots.iter().all(fits) {
        return whole(Rel::Remote(remote));
    }
    remote.columns.retain(|slot, _| slots.contains(slot));
    remote.distinct = true;
    remote.rows = (remote.rows * 0.5).max(1.0);
    Rel::Remote(remote)
}

impl Remote {
    fn of_table(table: &VirtualRef, first_slot: Slot, binder: &mut Binder<'_>) -> Option<Remote> {
        let source = table.0.remote()?;
        let number = binder.remote_number();
        let column = |(at, c): (usize, &VirtualColumn)| {
            let text = format!("T{number}.{}", keel_parser::to_text::quote_name(&c.name));
            (first_slot + at as Slot, Given { text, table: Some(number) })
        };
        Some(Remote {
            server: source.server.into(),
            strings: source.strings,
            args: Vec::new(),
            columns: table.0.columns().iter().enumerate().map(column).collect(),
            from: format!("{} AS T{number}", source.object),
            compound: false,
            conditions: Vec::new(),
            groups: None,
            having: Vec::new(),
            distinct: false,
            top: None,
            order: Vec::new(),
            rows: table.0.row_count_estimate() as f64,
            base: table.clone(),
        })
    }

    /// The slots that it can give.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.columns.keys().copied()
    }

    /// Rows can be filtered and joined before anything else is done with them.
    fn is_open(&self) -> bool {
        self.groups.is_none() && !self.distinct && self.top.is_none()
    }

    fn touches(&self, e: &Expr) -> bool {
        e.slots().iter().any(|s| self.columns.contains_key(s))
    }

    /// Puts a condition into the text; false when it stays here.
    fn take_condition(&mut self, e: &Expr, binder: &mut Binder<'_>) -> bool {
        if !self.touches(e) {
            return false;
        }
        let args = self.args.len();
        let Some(text) = self.condition(e, binder) else {
            self.args.truncate(args);
            return false;
        };
        if self.groups.is_some() {
            self.having.push(text)
        } else {
            self.conditions.push(text)
        }
        self.rows = (self.rows * 0.3).max(1.0);
        true
    }

    /// Joins another of the same server: every row with every row, until conditions come.
    fn join(&mut self, other: Remote) {
        let second = if other.compound { format!("({})", other.from) } else { other.from };
        self.from = format!("{} CROSS JOIN {second}", self.from);
        self.compound = true;
        self.strings &= other.strings;
        self.args.extend(other.args);
        self.columns.extend(other.columns);
        self.conditions.extend(other.conditions);
        self.rows = (self.rows * other.rows).min(1e12);
    }

    /// Left, semi and anti joins; `None` when a condition cannot be sent.
    fn with(mut self, kind: JoinKind, other: Remote, on: &[Expr], binder: &mut Binder<'_>) -> Option<Remote> {
        let mut both = self.clone();
        both.strings &= other.strings;
        both.columns.extend(other.columns.clone());
        both.args.extend(other.args.clone());
        let texts: Option<Vec<String>> = on.iter().map(|c| both.condition(c, binder)).collect();
        let texts = texts?;
        self.args = both.args;
        let second = if other.compound { format!("({})", other.from) } else { other.from };
        if kind == JoinKind::Left {
            let on = if texts.is_empty() { "1 = 1".to_owned() } else { texts.join(" AND ") };
            self.from = format!("{} LEFT OUTER JOIN {second} ON {on}", self.from);
            self.compound = true;
            self.strings = both.strings;
            self.columns = both.columns;
            return Some(self);
        }
        let conditions: Vec<String> = other.conditions.into_iter().chain(texts).collect();
        let filter = if conditions.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", conditions.join(" AND "))
        };
        let not = if kind == JoinKind::Anti { "NOT " } else { "" };
        self.conditions.push(format!("{not}EXISTS (SELECT 1 FROM {second}{filter})"));
        self.rows = (self.rows * 0.5).max(1.0);
        Some(self)
    }

    fn grouped(
        mut self,
        groups: &[(Slot, Expr)],
        aggs: &[Aggregate],
        scalar: bool,
        binder: &mut Binder<'_>,
    ) -> Option<Remote> {
        let (mut columns, mut by) = (BTreeMap::new(), Vec::new());
        for (slot, e) in groups {
            if !self.touches(e) || e.as_slot().is_some_and(|s| !self.compares(s, binder)) {
                return None;
            }
            let text = self.value(e, binder)?;
            by.push(text.clone());
            columns.insert(*slot, Given { text, table: None });
        }
        for agg in aggs {
            let text = self.aggregate_text(agg, binder)?;
            columns.insert(agg.slot, Given { text, table: None });
        }
        self.rows = if scalar { 1.0 } else { (self.rows * 0.1).max(1.0) };
        (self.columns, self.groups) = (columns, Some(by));
        Some(self)
    }

    /// The same as a table of its own, so that more can be done with its rows.
    fn derived(self, binder: &mut Binder<'_>) -> Remote {
        let number = binder.remote_number();
        let slots: Vec<Slot> = self.slots().collect();
        let list: Vec<String> =
            self.columns.iter().map(|(slot, given)| format!("{} AS [C{slot}]", given.text)).collect();
        let text = self.text(&list.join(", "));
        let column = |slot: Slot| (slot, Given { text: format!("D{number}.[C{slot}]"), table: None });
        Remote {
            columns: slots.into_iter().map(column).collect(),
            from: format!("({text}) AS D{number}"),
            compound: false,
            conditions: Vec::new(),
            groups: None,
            having: Vec::new(),
            distinct: false,
            top: None,
            order: Vec::new(),
            ..self
        }
    }

    /// The query that gives this list.
    fn text(&self, list: &str) -> String {
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        let top = self.top.as_ref().map(|n| format!("TOP ({n}) ")).unwrap_or_default();
        let mut text = format!("SELECT {distinct}{top}{list} FROM {}", self.from);
        let mut clause = |word: &str, parts: &[String], between: &str| {
            if !parts.is_empty() {
                text.push_str(&format!(" {word} {}", parts.join(between)));
            }
        };
        clause("WHERE", &self.conditions, " AND ");
        clause("GROUP BY", self.groups.as_deref().unwrap_or_default(), ", ");
        clause("HAVING", &self.having, " AND ");
        clause("ORDER BY", &self.order, ", ");
        text
    }

    fn parameters(&self) -> (Vec<(String, SqlType)>, Vec<Expr>) {
        let ty = |e: &Expr| if e.ty == SqlType::Null { SqlType::Int } else { e.ty };
        self.args.iter().map(|(n, e)| ((format!("@p{n}"), ty(e)), e.clone())).unzip()
    }

    /// The table that asks for the columns that are needed, its arguments, and the slots of its columns.
    ///
    /// # Errors
    /// When its server's table makes no queries.
    pub fn finish(self, binder: &Binder<'_>, need: &SlotSet) -> Result<Asked> {
        let wanted = |slot: &Slot| self.distinct || need.contains(slot);
        let slots: Vec<Slot> = self.slots().filter(wanted).collect();
        let list: Vec<String> = slots.iter().map(|s| self.columns[s].text.clone()).collect();
        let column = |slot: &Slot| {
            let info = &binder.slots[*slot as usize];
            VirtualColumn {
                name: info.name.clone(),
                ty: info.ty,
                nullable: info.nullable,
                collation: info.collation,
            }
        };
        let mut columns: Vec<VirtualColumn> = slots.iter().map(column).collect();
        let list = if list.is_empty() {
            columns.push(VirtualColumn::new("", SqlType::Int));
            "1".to_owned()
        } else {
            list.join(", ")
        };
        let (parameters, args) = self.parameters();
        let query = self.base.0.remote_query(self.text(&list), parameters, columns, self.rows as u64);
        Ok((query.ok_or_else(|| errors::not_supported("A query of this table"))?, args, slots))
    }

    /// A change that its server makes by itself, when the query gives all of these slots: its text is made of what the query consists of.
    /// `computed` are those that are computed here: parameters, where they are the same for all rows. With the table that makes it and its arguments.
    pub(crate) fn change(
        mut self,
        computed: &[(Slot, Expr)],
        outputs: &[Slot],
        make: &dyn Fn(&RemoteParts) -> Option<String>,
        binder: &mut Binder<'_>,
    ) -> Option<(Arc<dyn VirtualTable>, Vec<Expr>)> {
        for (slot, e) in computed.iter().filter(|(slot, _)| outputs.contains(slot)) {
            if self.touches(e) || computed.iter().any(|(other, _)| e.slots().contains(other)) {
                return None;
            }
            let text = self.value(e, binder)?;
            self.columns.insert(*slot, Given { text, table: None });
        }
        let values: Option<Vec<String>> =
            outputs.iter().map(|s| Some(self.columns.get(s)?.text.clone())).collect();
        let parts = RemoteParts {
            server: Arc::clone(&self.server),
            target: outputs.first().and_then(|s| self.columns.get(s)?.table).map(|n| format!("T{n}")),
            query: self.text(&values.clone()?.join(", ")),
            from: self.from.clone(),
            conditions: self.conditions.join(" AND "),
            values: values?,
            open: self.is_open(),
        };
        let text = make(&parts)?;
        let (parameters, args) = self.parameters();
        Some((self.base.0.remote_change(text, parameters)?, args))
    }
}

/// A table that asks another server, its arguments, and the slots of its columns.
pub type Asked = (Arc<dyn VirtualTable>, Vec<Expr>, Vec<Slot>);

/// What a query for another server consists of, for a change made of it.
#[derive(Clone, Debug)]
pub struct RemoteParts {
    /// Its server.
    pub server: Arc<str>,
    /// The name of the table whose column the first value is.
    pub target: Option<String>,
    /// All of it, giving the values.
    pub query: String,
    /// FROM.
    pub from: String,
    /// WHERE; empty for none.
    pub conditions: String,
    /// What it gives.
    pub values: Vec<String>,
    /// It has nothing but FROM and WHERE.
    pub open: bool,
}

impl Planner<'_, '_> {
    /// What another server computes: the columns that are needed are asked for.
    pub(super) fn plan_remote(&mut self, remote: Remote, need: &SlotSet) -> Result<Planned> {
        let rows = remote.rows;
        let (table, args, slots) = remote.finish(self.binder, need)?;
        let args = Compiler { subqueries: self }.values(&args)?;
        let columns = slots.iter().enumerate().map(|(at, slot)| (at, *slot as usize)).collect();
        let shown = table.shown().map_or_else(Shown::default, |sent| show_sent(&sent));
        let produced = slots.into_iter().collect();
        let scan = VirtualScan { table: VirtualRef(table), args, columns, residual: None, shown };
        let cost = cost::REMOTE_START + rows * cost::REMOTE_ROW;
        Ok(Planned::plain(Op::Virtual(Arc::new(scan)), rows, cost, produced))
    }
}

/// What is sent to another server.
pub(super) fn show_sent(sent: &crate::scope::SentText<'_>) -> Shown {
    let (server, text) = (sent.server.to_owned(), sent.text.to_owned());
    Shown::new(sent.operator, vec![Part::Sent(server, text)])
}
