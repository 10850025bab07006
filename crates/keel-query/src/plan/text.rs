//! Operators and expressions in the product's style, for SHOWPLAN.

use super::Planner;
use super::access::Path;
use super::shown::{Object, Part, SeekKey, Shown};
use crate::bind::rel::{Aggregate, Get, JoinKind, SortKey};
use crate::catalog::{IndexDef, IndexKind, TableDef};
use crate::dml::Target;
use crate::expr::{ArithOp, Expr, ExprKind, Slot};
use keel_types::Value;
use std::fmt::Write;

impl Planner<'_, '_> {
    /// A table, under the alias of a reference and by way of an index.
    fn object(&self, table: &TableDef, alias: &str, index: Option<&IndexDef>) -> Part {
        let scope = self.binder.scope;
        Part::Object(Box::new(Object {
            database: scope.database_name(table.database),
            schema: scope.schema_name(table.database, table.schema_id),
            table: table.name.clone(),
            index: index.filter(|i| !i.name.is_empty()).map(|i| i.name.clone()),
            alias: (alias != table.name && !alias.is_empty()).then(|| alias.to_owned()),
            kind: index.map(|i| i.kind),
        }))
    }

    /// A table access.
    pub(super) fn show_access(
        &self,
        get: &Get,
        path: &Path,
        index: &IndexDef,
        conjuncts: &[Expr],
        consumed: &[usize],
        residual: &[Expr],
    ) -> Shown {
        let tested = path.tested();
        let seek = !consumed.is_empty() || !tested.is_empty();
        let name = match (index.kind, seek) {
            (IndexKind::Heap, _) => "Table Scan",
            (IndexKind::Clustered, true) => "Clustered Index Seek",
            (IndexKind::Clustered, false) => "Clustered Index Scan",
            (IndexKind::Nonclustered, true) => "Index Seek",
            (IndexKind::Nonclustered, false) => "Index Scan",
        };
        let mut parts = vec![self.object(&get.table, &get.alias, Some(index))];
        if seek {
            let sought = |i: &usize| consumed.contains(i) || tested.contains(i);
            let keys = conjuncts.iter().enumerate().filter(|(i, _)| sought(i));
            parts.push(Part::Seek(keys.map(|(_, e)| self.seek_key(get, e)).collect()));
        }
        if !residual.is_empty() {
            parts.push(Part::Where(self.conjunction_text(residual)));
        }
        if path.backward || seek {
            parts.push(Part::Ordered(path.backward));
        }
        Shown::new(name, parts)
    }

    pub(super) fn seek_key(&self, get: &Get, e: &Expr) -> SeekKey {
        let comparison = match &e.kind {
            ExprKind::Compare(op, a, b) => {
                let column = |x: &Expr| {
                    x.as_slot().and_then(|s| get.column_of(s)).map(|i| get.table.columns[i].name.clone())
                };
                match (column(a), column(b)) {
                    (Some(name), _) => Some((name, op.text(), self.expr_text(b))),
                    (None, Some(name)) => Some((name, op.flip().text(), self.expr_text(a))),
                    (None, None) => None,
                }
            }
            _ => None,
        };
        SeekKey { text: self.expr_text(e), comparison }
    }

    /// A key lookup.
    pub(super) fn show_lookup(&self, get: &Get, columns: Vec<String>) -> Shown {
        let clustered = get.table.clustered();
        let name = if clustered.kind == IndexKind::Heap { "RID Lookup" } else { "Clustered Index Seek" };
        Shown::new(
            name,
            vec![self.object(&get.table, &get.alias, Some(clustered)), Part::Lookup, Part::Columns(columns)],
        )
    }

    /// A change of a table's rows, or of these columns of them, and of the views that are kept with it.
    pub(crate) fn show_change(
        &self,
        physical: &'static str,
        logical: &'static str,
        target: &Target,
        changed: Option<&[usize]>,
    ) -> Shown {
        let views = target.views_kept(changed).map(|rows| self.object(rows, "", Some(rows.clustered())));
        let objects = std::iter::once(self.object(&target.table, "", None)).chain(views);
        Shown::of(physical, logical, objects.collect())
    }

    fn conjunction_text(&self, parts: &[Expr]) -> String {
        parts.iter().map(|e| self.expr_text(e)).collect::<Vec<_>>().join(" AND ")
    }

    pub(super) fn show_filter(&self, startup: &[Expr], rest: &[Expr]) -> Shown {
        let condition = match (startup.is_empty(), rest.is_empty()) {
            (true, _) => self.conjunction_text(rest),
            (false, true) => format!("STARTUP EXPR({})", self.conjunction_text(startup)),
            (false, false) => {
                format!(
                    "STARTUP EXPR({}) AND {}",
                    self.conjunction_text(startup),
                    self.conjunction_text(rest)
                )
            }
        };
        Shown::new("Filter", vec![Part::Where(condition)])
    }

    pub(super) fn show_project(&self, exprs: &[(Slot, Expr)]) -> Shown {
        let define = exprs.iter().map(|(s, e)| (expression_name(*s), self.expr_text(e)));
        Shown::new("Compute Scalar", vec![Part::Define(define.collect())])
    }

    pub(super) fn show_sort(&self, keys: &[SortKey], top: bool) -> Shown {
        let keys = Part::OrderBy(keys.iter().map(|k| (self.expr_text(&k.expr), k.descending)).collect());
        if top {
            Shown::of("Sort", "TopN Sort", vec![Part::TopN, keys])
        } else {
            Shown::new("Sort", vec![keys])
        }
    }

    pub(super) fn show_top(
        &self,
        count: Option<&Expr>,
        percent: bool,
        ties: Option<&[SortKey]>,
        offset: Option<&Expr>,
    ) -> Shown {
        // A number is converted when the plan is made.
        let text = |e: &Expr| match &e.kind {
            ExprKind::Cast(c) if c.input.as_const().is_some() => self.expr_text(&c.input),
            _ => self.expr_text(e),
        };
        let skipped = offset.map(|e| Part::Offset(text(e)));
        let wanted = count.map(|e| Part::Top { count: text(e), percent });
        let tied = ties.map(|keys| Part::Ties(keys.iter().map(|k| self.expr_text(&k.expr)).collect()));
        Shown::new("Top", skipped.into_iter().chain(wanted).chain(tied).collect())
    }

    pub(super) fn show_aggregate(&self, groups: &[(Slot, Expr)], aggs: &[Aggregate], ordered: bool) -> Shown {
        let call = |a: &Aggregate| {
            let arg = a.arg.as_ref().map_or("*".to_owned(), |e| self.expr_text(e));
            let distinct = if a.distinct { "DISTINCT " } else { "" };
            (expression_name(a.slot), format!("{}({distinct}{arg})", format!("{:?}", a.func).to_uppercase()))
        };
        let keys: Vec<String> = groups.iter().map(|(_, e)| self.expr_text(e)).collect();
        let mut parts = Vec::new();
        if !keys.is_empty() {
            parts.push(if ordered { Part::GroupBy(keys) } else { Part::Hash(keys) });
        }
        if !aggs.is_empty() {
            parts.push(Part::Define(aggs.iter().map(call).collect()));
        }
        Shown::of(if ordered { "Stream Aggregate" } else { "Hash Match" }, "Aggregate", parts)
    }

    pub(super) fn show_hash(&self, kind: JoinKind, keys: &[Expr], rest: &[Expr]) -> Shown {
        if keys.is_empty() && rest.is_empty() {
            return show_loop(kind);
        }
        let mut parts = Vec::new();
        if !keys.is_empty() {
            parts.push(Part::Hash(vec![self.conjunction_text(keys)]));
        }
        if !rest.is_empty() {
            parts.push(Part::Residual(self.conjunction_text(rest)));
        }
        Shown::of("Hash Match", kind_text(kind), parts)
    }

    /// An expression in the product's style.
    #[must_use]
    pub fn expr_text(&self, e: &Expr) -> String {
        let list = |l: &[Expr]| l.iter().map(|x| self.expr_text(x)).collect::<Vec<_>>().join(",");
        match &e.kind {
            ExprKind::Const(v) => constant_text(v),
            ExprKind::Slot(s) => self.slot_text(*s),
            ExprKind::Var(v) => {
                let name = self.binder.scope.variable_name(*v);
                name.map_or_else(|| format!("[@{v}]"), |name| format!("[{name}]"))
            }
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
            ExprKind::Builtin(b, args) => self.call_text(&b.name, args),
            ExprKind::Session { name, args, .. } if name.starts_with("@@") && args.is_empty() => {
                name.to_string()
            }
            ExprKind::Session { name, args, .. } => self.call_text(name, args),
            ExprKind::Masked(mask, e) => {
                format!("DataMask({},'{}')", self.expr_text(e), mask.function.text())
            }
            ExprKind::Udf(f, args) => format!("{}({})", f.name, list(args)),
            ExprKind::Subquery(_) => "[Subquery]".to_owned(),
        }
    }

    /// A call, without the passwords in it.
    fn call_text(&self, name: &str, args: &[Expr]) -> String {
        let secret = secret_arguments(name);
        let one = |(at, arg): (usize, &Expr)| match secret.contains(&at) {
            true => "'******'".to_owned(),
            false => self.expr_text(arg),
        };
        let args: Vec<String> = args.iter().enumerate().map(one).collect();
        format!("{}({})", name.to_lowercase(), args.join(","))
    }

    fn slot_text(&self, slot: Slot) -> String {
        let info = &self.binder.slots[slot as usize];
        match info.origin.and_then(|(g, _)| self.tables.get(&g)) {
            Some(t) if !info.name.is_empty() => format!("[{}].[{}]", t.name, info.name),
            _ => format!("[{}]", expression_name(slot)),
        }
    }
}

/// Which arguments of a function are passwords, from 0. Texts that are recorded leave them out like plans.
#[must_use]
pub fn secret_arguments(name: &str) -> &'static [usize] {
    match name.to_ascii_uppercase().as_str() {
        "ENCRYPTBYPASSPHRASE" | "DECRYPTBYPASSPHRASE" | "PWDENCRYPT" | "PWDCOMPARE" => &[0],
        "DECRYPTBYKEYAUTOCERT" | "DECRYPTBYKEYAUTOASYMKEY" => &[1],
        "DECRYPTBYCERT" | "DECRYPTBYASYMKEY" | "SIGNBYCERT" | "SIGNBYASYMKEY" => &[2],
        "CERTPRIVATEKEY" => &[1, 2],
        _ => &[],
    }
}

/// Name of a computed value.
fn expression_name(slot: Slot) -> String {
    format!("Expr{:04}", 1000 + slot)
}

/// Nested loops.
pub(super) fn show_loop(kind: JoinKind) -> Shown {
    Shown::of("Nested Loops", kind_text(kind), Vec::new())
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
