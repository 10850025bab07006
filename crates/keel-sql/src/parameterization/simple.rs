//! Simple parameterization: the literals that become parameters without anybody asking for it.
//!
//! They are those of a query or change of one table that stand by themselves: compared with a column, assigned to one, or among the values
//! of an INSERT. A statement with anything that could make another plan better for another value (joins, subqueries, lists, TOP, groups,
//! hints) has none. What is left is safe if its plan is trivial, which is looked at when it is compiled.

use super::shape::Shape;
use super::{Choice, is_least_int, may_stand_beside};
use keel_parser::ast::{
    self, AssignOp, BinaryOp, CompareOp, DmlFilter, Expr, ExprKind, InsertSource, Literal, LogicalOp,
    QueryBody, SelectItem, StatementKind, TableHint, TableRef, TableSource, TableSourceKind, UnaryOp,
    UpdateSet,
};

/// The literals of a batch that become parameters; `None` when none may, or when there is a statement that may have none.
pub fn choose(shape: &Shape<'_>, batch: &ast::Batch) -> Option<Choice> {
    let mut found = Found::default();
    batch.statements.iter().try_for_each(|statement| found.statement(&statement.kind))?;
    Choice::of(shape, &found.literals, found.names)
}

/// What was found in a batch: where literals begin that become parameters, and where names of tables and columns do.
#[derive(Default)]
struct Found {
    literals: Vec<u32>,
    names: Vec<u32>,
}

impl Found {
    /// `None` of a statement that can have no parameters, nor stand beside one that has.
    fn statement(&mut self, kind: &StatementKind) -> Option<()> {
        match kind {
            StatementKind::Select(select) => self.select(select),
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Update(update) => self.update(update),
            StatementKind::Delete(delete) => self.delete(delete),
            other => may_stand_beside(other).then_some(()),
        }
    }

    fn select(&mut self, select: &ast::SelectStatement) -> Option<()> {
        let query = &select.query;
        let QueryBody::Select(body) = &query.body else { return None };
        let plain = select.with.is_none()
            && select.options.is_empty()
            && query.offset.is_none()
            && query.for_clause.is_none()
            && !body.distinct
            && body.top.is_none()
            && body.into.is_none()
            && body.group_by.is_none()
            && body.having.is_none()
            && body.windows.is_empty();
        if !plain {
            return None;
        }
        body.items.iter().try_for_each(|item| self.item(item))?;
        for item in &query.order_by {
            self.value(&item.expr)?;
        }
        match &body.from[..] {
            [] => body.filter.is_none().then_some(()),
            [table] => {
                self.source(table)?;
                body.filter.iter().try_for_each(|filter| self.condition(filter))
            }
            _ => None,
        }
    }

    fn item(&mut self, item: &SelectItem) -> Option<()> {
        match item {
            SelectItem::Star { .. } => Some(()),
            SelectItem::Expr { expr, .. } => self.value(expr),
            SelectItem::Assign { .. } => None,
        }
    }

    fn insert(&mut self, insert: &ast::Insert) -> Option<()> {
        if insert.with.is_some() || insert.top.is_some() || !insert.options.is_empty() {
            return None;
        }
        self.target(&insert.target)?;
        self.names.extend(insert.columns.iter().map(|column| column.span.start));
        self.output(&insert.output)?;
        match &insert.source {
            InsertSource::Values(rows) => rows.iter().flatten().try_for_each(|value| self.assigned(value)),
            InsertSource::DefaultValues => Some(()),
            InsertSource::Query(_) | InsertSource::Execute(_) => None,
        }
    }

    fn update(&mut self, update: &ast::Update) -> Option<()> {
        if update.with.is_some()
            || update.top.is_some()
            || !update.options.is_empty()
            || !update.from.is_empty()
        {
            return None;
        }
        self.target(&update.target)?;
        self.output(&update.output)?;
        for set in &update.assignments {
            let UpdateSet::Column { column, op, value } = set else { return None };
            self.column(column);
            match op {
                AssignOp::Set => self.assigned(value)?,
                AssignOp::Compound(op) => self.operand(*op, value)?,
            }
        }
        self.filter(update.filter.as_ref())
    }

    fn delete(&mut self, delete: &ast::Delete) -> Option<()> {
        if delete.with.is_some()
            || delete.top.is_some()
            || !delete.options.is_empty()
            || !delete.from.is_empty()
        {
            return None;
        }
        self.target(&delete.target)?;
        self.output(&delete.output)?;
        self.filter(delete.filter.as_ref())
    }

    fn filter(&mut self, filter: Option<&DmlFilter>) -> Option<()> {
        match filter {
            None => Some(()),
            Some(DmlFilter::Where(condition)) => self.condition(condition),
            Some(DmlFilter::CurrentOf(_)) => None,
        }
    }

    fn output(&mut self, clauses: &[ast::OutputClause]) -> Option<()> {
        for clause in clauses {
            if clause.into.is_some() {
                return None;
            }
            clause.items.iter().try_for_each(|item| self.item(item))?;
        }
        Some(())
    }

    fn target(&mut self, target: &ast::DmlTarget) -> Option<()> {
        let TableRef::Named(name) = &target.table else { return None };
        self.table(name, &target.hints)
    }

    fn source(&mut self, source: &TableSource) -> Option<()> {
        let TableSourceKind::Named { name, alias, hints, sample: None, system_time: None } = &source.kind
        else {
            return None;
        };
        self.names.extend(alias.iter().map(|alias| alias.span.start));
        self.table(name, hints)
    }

    /// A table of the database that is no temporary one: what those are called is another table for everybody.
    fn table(&mut self, name: &ast::ObjectName, hints: &[TableHint]) -> Option<()> {
        let elsewhere = name.server.is_some() || name.database.is_some() || name.name.text.starts_with('#');
        let directs = |hint: &TableHint| {
            matches!(
                hint,
                TableHint::Index(_) | TableHint::ForceSeek(_) | TableHint::ForceScan | TableHint::Other(_)
            )
        };
        if elsewhere || hints.iter().any(directs) {
            return None;
        }
        self.names.extend(name.schema.iter().chain([&name.name]).map(|part| part.span.start));
        Some(())
    }

    fn column(&mut self, column: &ast::ColumnRef) {
        if let Some(qualifier) = &column.qualifier {
            let parts = [&qualifier.database, &qualifier.schema].into_iter().flatten();
            self.names.extend(parts.chain([&qualifier.name]).map(|part| part.span.start));
        }
        self.names.push(column.name.span.start);
    }

    /// A value that keeps its literals. One that asks queries or calls methods is for nobody to decide about.
    fn value(&mut self, e: &Expr) -> Option<()> {
        match &e.kind {
            ExprKind::Column(column) => self.column(column),
            ExprKind::Method { .. } | ExprKind::StaticMethod { .. } | ExprKind::Mutated { .. } => {
                return None;
            }
            ExprKind::Function(call) if call.over.is_some() => return None,
            // What stands for a unit of time is no column.
            ExprKind::Function(_) => return (!e.has_query()).then_some(()),
            _ if e.has_query() => return None,
            _ => return e.children().into_iter().try_for_each(|child| self.value(child)),
        }
        Some(())
    }

    /// A literal by itself, maybe with a sign, becomes a parameter.
    fn literal(&mut self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Literal(Literal::Null) => false,
            ExprKind::Literal(_) => {
                self.literals.push(e.span.start);
                true
            }
            ExprKind::Unary { op: op @ (UnaryOp::Minus | UnaryOp::Plus), operand } => {
                let literal = matches!(operand.kind, ExprKind::Literal(_)) && !is_least_int(*op, operand);
                literal && self.literal(operand)
            }
            _ => false,
        }
    }

    /// What a column gets: a literal, or something that may add one to a column.
    fn assigned(&mut self, e: &Expr) -> Option<()> {
        if self.literal(e) {
            return Some(());
        }
        match &e.kind {
            ExprKind::Binary { op, left, right } if matches!(left.kind, ExprKind::Column(_)) => {
                self.value(left)?;
                self.operand(*op, right)
            }
            _ => self.value(e),
        }
    }

    /// A number that is added to a column. Of strings the sum's type follows from their lengths, so they stay.
    fn operand(&mut self, op: BinaryOp, e: &Expr) -> Option<()> {
        let number = !matches!(e.kind, ExprKind::Literal(Literal::String { .. } | Literal::Binary(_)));
        if number && matches!(op, BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply) && self.literal(e)
        {
            return Some(());
        }
        self.value(e)
    }

    fn condition(&mut self, e: &Expr) -> Option<()> {
        match &e.kind {
            ExprKind::Logical { op: LogicalOp::And, terms } => {
                terms.iter().try_for_each(|term| self.condition(term))
            }
            ExprKind::Compare { op, left, right } if *op != CompareOp::NotEqual => {
                self.compared([left, right])
            }
            ExprKind::Between { operand, low, high, negated: false } => {
                self.compared([operand, low])?;
                self.compared([operand, high])
            }
            ExprKind::IsNull { operand, .. } => self.value(operand),
            _ => None,
        }
    }

    /// A column and a literal, or something without any.
    fn compared(&mut self, sides: [&Expr; 2]) -> Option<()> {
        for (column, other) in [(sides[0], sides[1]), (sides[1], sides[0])] {
            if matches!(column.kind, ExprKind::Column(_)) && self.literal(other) {
                return self.value(column);
            }
        }
        let literal = |e: &Expr| !matches!(e.kind, ExprKind::Column(_) | ExprKind::Literal(Literal::Null));
        if sides.into_iter().any(literal) {
            return None;
        }
        sides.into_iter().try_for_each(|side| self.value(side))
    }
}
