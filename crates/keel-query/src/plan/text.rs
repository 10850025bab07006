//! SHOWPLAN text: operators and expressions in the product's style.

use super::access::Path;
use super::physical::Planned;
use super::run::Body;
use super::{Planner, SubPlan};
use crate::bind::rel::{Aggregate, Get, JoinKind, SetKind, SortKey};
use crate::catalog::{IndexDef, IndexKind};
use crate::exec::node::{Node, Op};
use crate::expr::{ArithOp, Expr, ExprKind, Slot};
use keel_types::Value;
use std::fmt::Write;

impl Planner<'_, '_> {
    fn object(&self, get: &Get, index: Option<&IndexDef>) -> String {
        let t = &get.table;
        let scope = self.binder.scope;
        let mut s = format!(
            "[{}].[{}].[{}]",
            scope.database_name(t.database),
            scope.schema_name(t.database, t.schema_id),
            t.name
        );
        if let Some(i) = index.filter(|i| !i.name.is_empty()) {
            let _ = write!(s, ".[{}]", i.name);
        }
        if get.alias != t.name && !get.alias.is_empty() {
            let _ = write!(s, " AS [{}]", get.alias);
        }
        s
    }

    /// The line of a table access.
    pub(super) fn access_text(
        &self,
        get: &Get,
        path: &Path,
        index: &IndexDef,
        conjuncts: &[Expr],
        consumed: &[usize],
        residual: &[Expr],
    ) -> String {
        let pattern = path.pattern();
        let seek = !consumed.is_empty() || pattern.is_some();
        let name = match (index.kind, seek) {
            (IndexKind::Heap, _) => "Table Scan",
            (IndexKind::Clustered, true) => "Clustered Index Seek",
            (IndexKind::Clustered, false) => "Clustered Index Scan",
            (IndexKind::Nonclustered, true) => "Index Seek",
            (IndexKind::Nonclustered, false) => "Index Scan",
        };
        let mut s = format!("{name}(OBJECT:({})", self.object(get, Some(index)));
        if seek {
            let parts: Vec<Expr> = conjuncts
                .iter()
                .enumerate()
                .filter(|(i, _)| consumed.contains(i) || pattern == Some(*i))
                .map(|(_, e)| e.clone())
                .collect();
            let _ = write!(s, ", SEEK:({})", self.conjunction_text(&parts));
        }
        if !residual.is_empty() {
            let _ = write!(s, ", WHERE:({})", self.conjunction_text(residual));
        }
        if path.backward {
            s.push_str(" ORDERED BACKWARD");
        } else if seek {
            s.push_str(" ORDERED FORWARD");
        }
        s.push(')');
        s
    }

    /// The line of a key lookup.
    pub(super) fn lookup_text(&self, get: &Get) -> String {
        let clustered = get.table.clustered();
        let name = if clustered.kind == IndexKind::Heap { "RID Lookup" } else { "Clustered Index Seek" };
        format!("{name}(OBJECT:({}) LOOKUP ORDERED FORWARD)", self.object(get, Some(clustered)))
    }

    fn conjunction_text(&self, parts: &[Expr]) -> String {
        parts.iter().map(|e| self.expr_text(e)).collect::<Vec<_>>().join(" AND ")
    }

    pub(super) fn filter_text(&self, startup: &[Expr], rest: &[Expr]) -> String {
        match (startup.is_empty(), rest.is_empty()) {
            (true, _) => format!("Filter(WHERE:({}))", self.conjunction_text(rest)),
            (false, true) => format!("Filter(WHERE:(STARTUP EXPR({})))", self.conjunction_text(startup)),
            (false, false) => format!(
                "Filter(WHERE:(STARTUP EXPR({}) AND {}))",
                self.conjunction_text(startup),
                self.conjunction_text(rest)
            ),
        }
    }

    pub(super) fn project_text(&self, exprs: &[(Slot, Expr)]) -> String {
        let parts: Vec<String> =
            exprs.iter().map(|(s, e)| format!("[Expr{:04}]={}", 1000 + s, self.expr_text(e))).collect();
        format!("Compute Scalar(DEFINE:({}))", parts.join(", "))
    }

    pub(super) fn sort_text(&self, keys: &[SortKey], top: bool) -> String {
        let parts: Vec<String> = keys
            .iter()
            .map(|k| format!("{} {}", self.expr_text(&k.expr), if k.descending { "DESC" } else { "ASC" }))
            .collect();
        let name = if top { "Sort(TOP N, " } else { "Sort(" };
        format!("{name}ORDER BY:({}))", parts.join(", "))
    }

    pub(super) fn aggregate_text(
        &self,
        groups: &[(Slot, Expr)],
        aggs: &[Aggregate],
        ordered: bool,
    ) -> String {
        let calls: Vec<String> = aggs
            .iter()
            .map(|a| {
                let arg = a.arg.as_ref().map_or("*".to_owned(), |e| self.expr_text(e));
                let distinct = if a.distinct { "DISTINCT " } else { "" };
                format!(
                    "[Expr{:04}]={}({distinct}{arg})",
                    1000 + a.slot,
                    format!("{:?}", a.func).to_uppercase()
                )
            })
            .collect();
        let keys: Vec<String> = groups.iter().map(|(_, e)| self.expr_text(e)).collect();
        let mut s =
            if ordered { "Stream Aggregate(".to_owned() } else { "Hash Match(Aggregate, ".to_owned() };
        if !keys.is_empty() {
            let label = if ordered { "GROUP BY" } else { "HASH" };
            let _ = write!(s, "{label}:({})", keys.join(", "));
            if !calls.is_empty() {
                s.push(' ');
            }
        }
        if !calls.is_empty() {
            let _ = write!(s, "DEFINE:({})", calls.join(", "));
        }
        s.push(')');
        s
    }

    pub(super) fn loop_text(&self, kind: JoinKind, outer: &Planned) -> String {
        let _ = outer;
        format!("Nested Loops({})", kind_text(kind))
    }

    pub(super) fn hash_text(&self, kind: JoinKind, keys: &[Expr], rest: &[Expr]) -> String {
        if keys.is_empty() && rest.is_empty() {
            return format!("Nested Loops({})", kind_text(kind));
        }
        let mut s = format!("Hash Match({}", kind_text(kind));
        if !keys.is_empty() {
            let _ = write!(s, ", HASH:({})", self.conjunction_text(keys));
        }
        if !rest.is_empty() {
            let _ = write!(s, ", RESIDUAL:({})", self.conjunction_text(rest));
        }
        s.push(')');
        s
    }

    /// An expression in the product's style.
    #[must_use]
    pub fn expr_text(&self, e: &Expr) -> String {
        let list = |l: &[Expr]| l.iter().map(|x| self.expr_text(x)).collect::<Vec<_>>().join(",");
        match &e.kind {
            ExprKind::Const(v) => constant_text(v),
            ExprKind::Slot(s) => self.slot_text(*s),
            ExprKind::Var(v) => format!("[@{v}]"),
            ExprKind::Arith(op, a, b) => {
                let op = match op {
                    ArithOp::Add => "+",
                    ArithOp::Sub => "-",
                    ArithOp::Mul => "*",
                    ArithOp::Div => "/",
                    ArithOp::Mod => "%",
                    ArithOp::BitAnd => "&",
                    ArithOp::BitOr => "|",
                    ArithOp::BitXor => "^",
                };
                format!("({}{op}{})", self.expr_text(a), self.expr_text(b))
            }
            ExprKind::Neg(a) => format!("-{}", self.expr_text(a)),
            ExprKind::BitNot(a) => format!("~{}", self.expr_text(a)),
            ExprKind::Compare(op, a, b) => format!("{}{}{}", self.expr_text(a), op.text(), self.expr_text(b)),
            ExprKind::And(p) => p.iter().map(|x| self.expr_text(x)).collect::<Vec<_>>().join(" AND "),
            ExprKind::Or(p) => {
                format!("({})", p.iter().map(|x| self.expr_text(x)).collect::<Vec<_>>().join(" OR "))
            }
            ExprKind::Not(a) => format!("NOT {}", self.expr_text(a)),
            ExprKind::IsNull(a) => format!("{} IS NULL", self.expr_text(a)),
            ExprKind::Case(whens, otherwise) => {
                let mut s = "CASE".to_owned();
                for (c, v) in whens {
                    let _ = write!(s, " WHEN {} THEN {}", self.expr_text(c), self.expr_text(v));
                }
                if let Some(o) = otherwise {
                    let _ = write!(s, " ELSE {}", self.expr_text(o));
                }
                s + " END"
            }
            ExprKind::FirstOf(parts) => format!("isnull({})", list(parts)),
            ExprKind::Cast(c) if c.explicit => format!("CONVERT({},{},0)", e.ty, self.expr_text(&c.input)),
            ExprKind::Cast(c) => format!("CONVERT_IMPLICIT({},{},0)", e.ty, self.expr_text(&c.input)),
            ExprKind::Like(a, b, _) => format!("{} like {}", self.expr_text(a), self.expr_text(b)),
            ExprKind::InList(a, l) => format!("{} IN ({})", self.expr_text(a), list(l)),
            ExprKind::Builtin(b, args) => format!("{}({})", b.name.to_lowercase(), list(args)),
            ExprKind::Session { name, args, .. } if name.starts_with("@@") && args.is_empty() => {
                name.to_string()
            }
            ExprKind::Session { name, args, .. } => format!("{}({})", name.to_lowercase(), list(args)),
            ExprKind::Udf(f, args) => format!("{}({})", f.name, list(args)),
            ExprKind::Subquery(_) => "[Subquery]".to_owned(),
        }
    }

    fn slot_text(&self, slot: Slot) -> String {
        let info = &self.binder.slots[slot as usize];
        match info.origin.and_then(|(g, _)| self.tables.get(&g)) {
            Some(t) if !info.name.is_empty() => format!("[{}].[{}]", t.name, info.name),
            _ => format!("[Expr{:04}]", 1000 + slot),
        }
    }
}

fn kind_text(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Inner Join",
        JoinKind::Left => "Left Outer Join",
        JoinKind::Full => "Full Outer Join",
        JoinKind::Semi => "Left Semi Join",
        JoinKind::Anti | JoinKind::NotIn => "Left Anti Semi Join",
    }
}

fn constant_text(v: &Value) -> String {
    match v {
        Value::Null => "NULL".to_owned(),
        Value::Int(n) => format!("({n})"),
        Value::Bit(b) => format!("({})", u8::from(*b)),
        Value::Float(f) => format!("({f})"),
        Value::Str(s) => format!("'{}'", s.replace('\'', "''")),
        Value::Decimal(d) => {
            let ty = keel_types::SqlType::Decimal { precision: 38, scale: d.scale };
            keel_types::cast::to_text(v, ty, 0).map_or_else(|_| "?".into(), |t| format!("({t})"))
        }
        other => format!("'{other:?}'"),
    }
}

/// The lines of a plan, each operator below the one that reads it.
pub(crate) fn explain(body: &Body, subplans: &[SubPlan]) -> Vec<String> {
    let mut lines = Vec::new();
    match body {
        Body::Query { root, .. } | Body::Assign { root, .. } => node(root, 0, &mut lines),
        Body::Dml(dml) => dml.explain(&mut lines),
    }
    for s in subplans {
        node(&s.node, 0, &mut lines);
    }
    lines
}

/// Adds a node's lines.
pub(crate) fn node(n: &Node, depth: usize, lines: &mut Vec<String>) {
    let mut line = |text: &str, depth: usize| lines.push(format!("{}|--{text}", " ".repeat(2 + depth * 5)));
    match &n.op {
        Op::One => line("Constant Scan", depth),
        Op::Empty => line("Constant Scan", depth),
        Op::Access(a) => match &a.lookup_text {
            None => line(&a.text, depth),
            Some(lookup) => {
                line("Nested Loops(Inner Join)", depth);
                line(&a.text, depth + 1);
                line(lookup, depth + 1);
            }
        },
        Op::Virtual(v) => line(&v.text, depth),
        Op::Values(_) => line("Constant Scan(VALUES)", depth),
        Op::Filter(f) => {
            line(&f.text, depth);
            node(&f.input, depth + 1, lines);
        }
        Op::Project(p) => {
            line(&p.text, depth);
            node(&p.input, depth + 1, lines);
        }
        Op::Loop(l) => {
            line(&l.text, depth);
            node(&l.outer, depth + 1, lines);
            node(&l.inner, depth + 1, lines);
        }
        Op::HashJoin(h) => {
            line(&h.text, depth);
            node(&h.build, depth + 1, lines);
            node(&h.probe, depth + 1, lines);
        }
        Op::Aggregate(a) => {
            line(&a.text, depth);
            node(&a.input, depth + 1, lines);
        }
        Op::Sort(s) => {
            line(&s.text, depth);
            node(&s.input, depth + 1, lines);
        }
        Op::Top(t) => {
            line(&t.text, depth);
            node(&t.input, depth + 1, lines);
        }
        Op::Distinct(d) => {
            line(&d.text, depth);
            node(&d.input, depth + 1, lines);
        }
        Op::SetOp(s) => {
            let text = match s.kind {
                SetKind::UnionAll => "Concatenation",
                SetKind::Intersect => "Hash Match(Left Semi Join)",
                SetKind::Except => "Hash Match(Left Anti Semi Join)",
            };
            line(text, depth);
            node(&s.left, depth + 1, lines);
            node(&s.right, depth + 1, lines);
        }
        Op::Window(w) => {
            line(&w.text, depth);
            node(&w.input, depth + 1, lines);
        }
        Op::Recursive(r) => {
            line("Index Spool(WITH STACK)", depth);
            node(&r.anchor, depth + 1, lines);
            node(&r.step, depth + 1, lines);
        }
        Op::WorkTable(_) => line("Table Spool(WITH STACK)", depth),
        Op::MaxOneRow(i) => {
            line("Assert", depth);
            node(i, depth + 1, lines);
        }
        Op::Spool(s) => {
            line("Table Spool", depth);
            node(&s.input, depth + 1, lines);
        }
    }
}
