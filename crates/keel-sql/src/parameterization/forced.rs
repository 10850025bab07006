//! Forced parameterization: all literals of queries and changes become parameters but for those that say what a statement is rather than what
//! it looks for: select lists, groups and orders, TOP, patterns of LIKE, styles, constants that are computed with, and arguments of XQuery
//! and full-text search (the product's documentation has the list under `PARAMETERIZATION FORCED`).

use super::shape::Shape;
use super::{Choice, is_least_int, may_stand_beside};
use keel_parser::ast::{
    self, BinaryOp, DmlFilter, Expr, ExprKind, InsertSource, Literal, MergeAction, Query, QueryBody,
    QueryHint, StatementKind, TableSource, TableSourceKind, UpdateSet, With,
};

/// Methods of xml, whose arguments are literals. On a column they look like functions of a schema.
const METHODS: [&str; 5] = ["value", "query", "exist", "nodes", "modify"];

/// The literals of a batch that become parameters; `None` when none may, or when there is a statement that may have none.
pub fn choose(shape: &Shape<'_>, batch: &ast::Batch) -> Option<Choice> {
    let mut found = Found::default();
    batch.statements.iter().try_for_each(|statement| found.statement(&statement.kind))?;
    Choice::of(shape, &found.literals, Vec::new())
}

/// Where literals begin that become parameters.
#[derive(Default)]
struct Found {
    literals: Vec<u32>,
}

impl Found {
    /// `None` of a statement that can have no parameters, nor stand beside one that has.
    fn statement(&mut self, kind: &StatementKind) -> Option<()> {
        match kind {
            StatementKind::Select(select) => {
                compiled_once(&select.options)?;
                self.ctes(select.with.as_ref());
                self.query(&select.query);
            }
            StatementKind::Insert(insert) => {
                compiled_once(&insert.options)?;
                self.ctes(insert.with.as_ref());
                match &insert.source {
                    InsertSource::Values(rows) => rows.iter().flatten().for_each(|value| self.expr(value)),
                    InsertSource::Query(query) => self.query(query),
                    InsertSource::DefaultValues => {}
                    InsertSource::Execute(_) => return None,
                }
            }
            StatementKind::Update(update) => {
                compiled_once(&update.options)?;
                self.ctes(update.with.as_ref());
                self.assignments(&update.assignments);
                update.from.iter().for_each(|source| self.source(source));
                self.filter(update.filter.as_ref())?;
            }
            StatementKind::Delete(delete) => {
                compiled_once(&delete.options)?;
                self.ctes(delete.with.as_ref());
                delete.from.iter().for_each(|source| self.source(source));
                self.filter(delete.filter.as_ref())?;
            }
            StatementKind::Merge(merge) => self.merge(merge)?,
            other => return may_stand_beside(other).then_some(()),
        }
        Some(())
    }

    fn merge(&mut self, merge: &ast::Merge) -> Option<()> {
        compiled_once(&merge.options)?;
        self.ctes(merge.with.as_ref());
        self.source(&merge.source);
        self.expr(&merge.on);
        for when in &merge.whens {
            when.condition.iter().for_each(|condition| self.expr(condition));
            match &when.action {
                MergeAction::Update(assignments) => self.assignments(assignments),
                MergeAction::Insert { values, .. } => {
                    values.iter().flatten().for_each(|value| self.expr(value))
                }
                MergeAction::Delete => {}
            }
        }
        Some(())
    }

    fn ctes(&mut self, with: Option<&With>) {
        with.iter().flat_map(|with| &with.ctes).for_each(|cte| self.query(&cte.query));
    }

    fn assignments(&mut self, assignments: &[UpdateSet]) {
        for set in assignments {
            if let UpdateSet::Column { value, .. } = set {
                self.expr(value);
            }
        }
    }

    fn filter(&mut self, filter: Option<&DmlFilter>) -> Option<()> {
        match filter {
            None => {}
            Some(DmlFilter::Where(condition)) => self.expr(condition),
            Some(DmlFilter::CurrentOf(_)) => return None,
        }
        Some(())
    }

    fn query(&mut self, query: &Query) {
        self.body(&query.body);
    }

    fn body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => {
                select.from.iter().for_each(|source| self.source(source));
                select.filter.iter().for_each(|filter| self.expr(filter));
            }
            QueryBody::Set { terms, .. } => terms.iter().for_each(|term| self.body(term)),
        }
    }

    fn source(&mut self, source: &TableSource) {
        match &source.kind {
            TableSourceKind::Join { left, right, on, .. } => {
                self.source(left);
                self.source(right);
                on.iter().for_each(|on| self.expr(on));
            }
            TableSourceKind::Derived { query, .. } => self.query(query),
            TableSourceKind::Function { name, args, .. } if name.schema.is_some() && !is_method(name) => {
                args.iter().for_each(|arg| self.expr(arg));
            }
            TableSourceKind::Pivot { source, .. } | TableSourceKind::Unpivot { source, .. } => {
                self.source(source)
            }
            _ => {}
        }
    }

    fn expr(&mut self, e: &Expr) {
        use ExprKind as K;
        match &e.kind {
            K::Literal(Literal::Null) => {}
            K::Literal(_) => self.literals.push(e.span.start),
            K::Unary { op, operand } if is_least_int(*op, operand) => {}
            K::Binary { op, left, right } => {
                let computes = !matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor);
                for side in [left, right] {
                    if !(computes && is_constant(side)) {
                        self.expr(side);
                    }
                }
            }
            K::Convert { operand, .. } | K::Like { operand, .. } => self.expr(operand),
            K::Function(call) if call.over.is_some() || is_method(&call.name) => {}
            K::Subquery(query) | K::Exists(query) => self.query(query),
            K::InQuery { operand, query, .. } | K::Quantified { left: operand, query, .. } => {
                self.expr(operand);
                self.query(query);
            }
            K::FullText { .. }
            | K::RegexpLike(_)
            | K::Method { .. }
            | K::StaticMethod { .. }
            | K::Mutated { .. }
            | K::Parse { .. } => {}
            _ => e.children().into_iter().for_each(|child| self.expr(child)),
        }
    }
}

/// `None` of a statement that is compiled for one execution.
fn compiled_once(options: &[QueryHint]) -> Option<()> {
    (!options.contains(&QueryHint::Recompile)).then_some(())
}

fn is_method(name: &ast::ObjectName) -> bool {
    name.schema.is_some() && METHODS.contains(&&*name.name.text)
}

/// Whether there is nothing in it but literals.
fn is_constant(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Literal(_) => true,
        ExprKind::Unary { operand, .. } => is_constant(operand),
        ExprKind::Binary { left, right, .. } => is_constant(left) && is_constant(right),
        _ => false,
    }
}
