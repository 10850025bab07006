//! Which queries can be watched, and what they read: the product's rules, as the text and the definitions tell them.

use crate::ddl::OTHER_AGGREGATES;
use crate::ddl::determinism::is_deterministic;
use keel_parser::ast::{self, CompareOp, ExprKind, QueryBody, SelectItem, TableHint, TableSourceKind};
use keel_query::catalog::{ColumnDef, TableDef};
use keel_types::SqlType;
use std::sync::Arc;

/// Aggregates that a query in groups may have.
const AGGREGATES: [&str; 2] = ["COUNT_BIG", "SUM"];
/// Functions of the session and of whoever asks. What changes by itself is [told apart](crate::ddl::determinism) for indexes, too.
const OF_SESSION: [&str; 22] = [
    "CURRENT_USER",
    "SESSION_USER",
    "SYSTEM_USER",
    "USER",
    "USER_NAME",
    "USER_ID",
    "SUSER_NAME",
    "SUSER_SNAME",
    "SUSER_ID",
    "SUSER_SID",
    "ORIGINAL_LOGIN",
    "CONTEXT_INFO",
    "HOST_NAME",
    "HOST_ID",
    "APP_NAME",
    "DB_NAME",
    "DB_ID",
    "IS_MEMBER",
    "HAS_PERMS_BY_NAME",
    "SCOPE_IDENTITY",
    "IDENT_CURRENT",
    "FORMATMESSAGE",
];

/// A table that a query reads.
pub(super) struct Source {
    /// What its columns are qualified with.
    pub alias: String,
    pub table: Arc<TableDef>,
    /// `column_id`s that it reads.
    pub columns: Vec<i32>,
}

/// A comparison of a column with an expression that has no columns.
pub(super) struct Comparison<'q> {
    /// Index of the table, and position of its column.
    pub column: (usize, usize),
    pub op: CompareOp,
    pub with: &'q ast::Expr,
}

/// What a query reads.
#[derive(Default)]
pub(super) struct Reading<'q> {
    pub sources: Vec<Source>,
    pub comparisons: Vec<Comparison<'q>>,
}

/// Looks at a query and its text; `table` finds a table by its name. `None` when it cannot be watched.
pub(super) fn reading<'q>(
    select: &'q ast::SelectStatement,
    text: &str,
    table: &dyn Fn(&ast::ObjectName) -> Option<Arc<TableDef>>,
) -> Option<Reading<'q>> {
    let QueryBody::Select(block) = &select.query.body else { return None };
    let query = &select.query;
    let plain = select.with.as_ref().is_none_or(|w| w.ctes.is_empty())
        && query.offset.is_none()
        && !matches!(query.for_clause, Some(ast::ForClause::Browse))
        && !block.distinct
        && block.top.is_none()
        && block.into.is_none()
        && block.having.is_none()
        && block.windows.is_empty()
        && !block.from.is_empty();
    if !plain || !is_deterministic(text) {
        return None;
    }
    let mut looking = Looking { table, reading: Reading::default(), grouped: false };
    for source in &block.from {
        looking.source(source)?;
    }
    if let Some(group) = &block.group_by {
        looking.grouped = true;
        looking.group(group)?;
    }
    looking.items(&block.items, query)?;
    looking.joins(&block.from)?;
    if let Some(filter) = &block.filter {
        // What depends on no row never changes.
        if !looking.expr(filter)? {
            return None;
        }
        looking.compare(filter);
    }
    for item in &query.order_by {
        if !names_item(&item.expr, &block.items) {
            looking.value(&item.expr)?;
        }
    }
    Some(looking.reading)
}

struct Looking<'q, 't> {
    table: &'t dyn Fn(&ast::ObjectName) -> Option<Arc<TableDef>>,
    reading: Reading<'q>,
    grouped: bool,
}

impl<'q> Looking<'q, '_> {
    fn source(&mut self, source: &'q ast::TableSource) -> Option<()> {
        match &source.kind {
            TableSourceKind::Named { name, alias, hints, sample, system_time } => {
                let two_parts = name.schema.is_some() && name.database.is_none() && name.server.is_none();
                let dirty = |h: &TableHint| {
                    matches!(h, TableHint::ReadPast | TableHint::NoLock | TableHint::ReadUncommitted)
                };
                if !two_parts || sample.is_some() || system_time.is_some() || hints.iter().any(dirty) {
                    return None;
                }
                let table = (self.table)(name)?;
                let odd = table.queue || table.history_of.is_some() || table.versioning().is_some();
                let computed = |c: &ColumnDef| c.computed.is_some();
                let again = self.reading.sources.iter().any(|s| s.table.object_id == table.object_id);
                if odd || again || table.columns.iter().any(computed) {
                    return None;
                }
                let alias = alias.as_ref().unwrap_or(&name.name).text.to_string();
                self.reading.sources.push(Source { alias, table, columns: Vec::new() });
                Some(())
            }
            TableSourceKind::Join {
                left, right, kind: ast::JoinKind::Inner | ast::JoinKind::Cross, ..
            } => {
                self.source(left)?;
                self.source(right)
            }
            _ => None,
        }
    }

    /// The conditions of joins, once all tables are known.
    fn joins(&mut self, from: &'q [ast::TableSource]) -> Option<()> {
        from.iter().try_for_each(|source| {
            let TableSourceKind::Join { left, right, on, .. } = &source.kind else { return Some(()) };
            self.joins(std::slice::from_ref(&**left))?;
            self.joins(std::slice::from_ref(&**right))?;
            let Some(on) = on else { return Some(()) };
            self.expr(on)?;
            self.compare(on);
            Some(())
        })
    }

    fn group(&mut self, group: &'q ast::GroupBy) -> Option<()> {
        if group.all || group.with.is_some() {
            return None;
        }
        group.items.iter().try_for_each(|item| match item {
            ast::GroupItem::Expr(e) => self.value(e),
            ast::GroupItem::Composite(list) => list.iter().try_for_each(|e| self.value(e)),
            _ => None,
        })
    }

    /// Columns have names, each its own; a column that is all there is stands once.
    fn items(&mut self, items: &'q [SelectItem], query: &ast::Query) -> Option<()> {
        let named_elsewhere = query.for_clause.is_some();
        let mut names: Vec<String> = Vec::new();
        for item in items {
            let SelectItem::Expr { expr, alias } = item else { return None };
            let own = match &expr.kind {
                ExprKind::Column(c) => Some(&c.name),
                _ => None,
            };
            match alias.as_ref().or(own) {
                Some(name) if names.iter().any(|n| n.eq_ignore_ascii_case(&name.text)) => return None,
                Some(name) => names.push(name.text.to_string()),
                None if named_elsewhere => {}
                None => return None,
            }
            self.value(expr)?;
        }
        Some(())
    }

    /// A value: of float columns only what they hold.
    fn value(&mut self, e: &'q ast::Expr) -> Option<()> {
        if let ExprKind::Column(c) = &e.kind {
            return self.column(c).map(|_| ());
        }
        self.expr(e).map(|_| ())
    }

    /// An expression; says whether it reads any column.
    fn expr(&mut self, e: &'q ast::Expr) -> Option<bool> {
        match &e.kind {
            ExprKind::Column(c) => {
                let inexact = |ty: SqlType| matches!(ty, SqlType::Float | SqlType::Real);
                let of = self.column(c)?;
                return (!inexact(self.definition(of).ty)).then_some(true);
            }
            ExprKind::Subquery(_)
            | ExprKind::Exists(_)
            | ExprKind::InQuery { .. }
            | ExprKind::Quantified { .. }
            | ExprKind::FullText { .. }
            | ExprKind::GlobalVariable(_)
            | ExprKind::NextValueFor { .. }
            | ExprKind::Pseudo { .. }
            | ExprKind::Method { .. }
            | ExprKind::StaticMethod { .. }
            | ExprKind::Property { .. }
            | ExprKind::AtTimeZone { .. }
            | ExprKind::Mutated { .. } => return None,
            ExprKind::Function(call) => return self.call(call),
            _ => {}
        }
        let mut any = false;
        for part in e.children() {
            any |= self.expr(part)?;
        }
        Some(any)
    }

    fn call(&mut self, call: &'q ast::FunctionCall) -> Option<bool> {
        let name = call.name.name.text.to_ascii_uppercase();
        // Functions of users, and methods of columns, which look like them.
        if call.name.schema.is_some() || call.over.is_some() || call.within_group.is_some() || call.distinct {
            return None;
        }
        let lists: [&[&str]; 3] = [&OTHER_AGGREGATES, &["COUNT", "RAND"], &OF_SESSION];
        let forbidden = lists.iter().any(|list| list.contains(&&*name));
        if forbidden || AGGREGATES.contains(&&*name) && !self.grouped {
            return None;
        }
        let date_part = matches!(&*name, "DATEADD" | "DATEDIFF" | "DATEDIFF_BIG" | "DATEPART" | "DATENAME");
        if name == "SUM"
            && let [ast::Expr { kind: ExprKind::Column(c), .. }] = &*call.args
        {
            let of = self.column(c)?;
            return (!self.definition(of).nullable).then_some(true);
        }
        let mut any = call.star;
        for argument in call.args.iter().skip(usize::from(date_part)) {
            any |= self.expr(argument)?;
        }
        Some(any)
    }

    fn definition(&self, (source, at): (usize, usize)) -> &ColumnDef {
        &self.reading.sources[source].table.columns[at]
    }

    /// The column that a name means, which is read.
    fn column(&mut self, c: &ast::ColumnRef) -> Option<(usize, usize)> {
        let (source, at) = self.find(c)?;
        let source_of = &mut self.reading.sources[source];
        let column = &source_of.table.columns[at];
        if matches!(column.ty, SqlType::Text | SqlType::NText | SqlType::Image) {
            return None;
        }
        if !source_of.columns.contains(&column.column_id) {
            source_of.columns.push(column.column_id);
        }
        Some((source, at))
    }

    fn find(&self, c: &ast::ColumnRef) -> Option<(usize, usize)> {
        let qualifier = c.qualifier.as_ref().map(|q| &*q.name.text);
        let sources = self.reading.sources.iter().enumerate();
        let mut named = sources.filter(|(_, s)| qualifier.is_none_or(|q| crate::views::same(q, &s.alias)));
        named.find_map(|(n, s)| {
            let at = s.table.columns.iter().position(|d| crate::views::same(&c.name.text, &d.name))?;
            Some((n, at))
        })
    }

    /// Remembers what a condition asks of single columns, whatever else it asks.
    fn compare(&mut self, e: &'q ast::Expr) {
        match &e.kind {
            ExprKind::Logical { op: ast::LogicalOp::And, terms } => {
                terms.iter().for_each(|term| self.compare(term));
            }
            ExprKind::Compare { op, left, right } => {
                self.comparison(left, *op, right);
                self.comparison(right, turned(*op), left);
            }
            ExprKind::Between { operand, low, high, negated: false } => {
                self.comparison(operand, CompareOp::GreaterOrEqual, low);
                self.comparison(operand, CompareOp::LessOrEqual, high);
            }
            _ => {}
        }
    }

    fn comparison(&mut self, column: &'q ast::Expr, op: CompareOp, with: &'q ast::Expr) {
        if let ExprKind::Column(c) = &column.kind
            && matches!(with.kind, ExprKind::Literal(_) | ExprKind::Variable(_))
            && let Some(column) = self.find(c)
        {
            self.reading.comparisons.push(Comparison { column, op, with });
        }
    }
}

/// Whether an expression is the name of one of the columns that are returned.
fn names_item(e: &ast::Expr, items: &[SelectItem]) -> bool {
    let ExprKind::Column(ast::ColumnRef { qualifier: None, name }) = &e.kind else { return false };
    items.iter().any(|item| match item {
        SelectItem::Expr { alias: Some(alias), .. } => crate::views::same(&alias.text, &name.text),
        _ => false,
    })
}

/// The comparison with its sides exchanged.
fn turned(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
        same => same,
    }
}
