//! INSERT, UPDATE, DELETE, MERGE, TRUNCATE, bulk statements, UPDATE STATISTICS.

use super::Parser;
use super::query::assign_op;
use crate::ast::{
    BulkColumn, BulkInsert, ColumnRef, Delete, DmlFilter, DmlTarget, Expr, ExprKind, Insert, InsertBulk,
    InsertSource, Merge, MergeAction, MergeMatch, MergeWhen, OutputClause, OutputInto, TableRef, Truncate,
    Update, UpdateSet, UpdateStatistics, With,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;

/// Most rows of `INSERT … VALUES`.
const VALUES_ROWS_MAX: usize = 1000;

impl Parser<'_> {
    fn table_ref(&mut self) -> Result<TableRef> {
        if self.tok() == Tok::Variable {
            return Ok(TableRef::Variable(self.variable()?));
        }
        Ok(TableRef::Named(self.object_name()?))
    }

    /// Hints of a target need WITH: a bare parenthesis is a column list.
    fn dml_target(&mut self) -> Result<DmlTarget> {
        let table = self.table_ref()?;
        let hints = if self.at_kw(Kw::WITH) { self.target_hints()? } else { Vec::new() };
        Ok(DmlTarget { table, hints })
    }

    /// TOP of a data change: its parentheses must be there.
    fn top_of_change(&mut self) -> Result<Option<crate::ast::Top>> {
        if self.at_kw(Kw::TOP) && self.tok_ahead(1) != Tok::LParen {
            self.bump();
            return Err(self.unexpected());
        }
        self.top()
    }

    // ---- INSERT ----

    #[inline(never)]
    pub(super) fn insert(&mut self, with: Option<With>) -> Result<Insert> {
        self.expect_kw(Kw::INSERT)?;
        let top = self.top_of_change()?;
        self.eat_kw(Kw::INTO);
        let target = self.dml_target()?;
        // `INSERT t (SELECT …)` has no column list.
        let columns =
            if self.tok() == Tok::LParen && !matches!(self.tok_ahead(1), Tok::Kw(Kw::SELECT) | Tok::LParen) {
                self.insert_columns()?
            } else {
                Vec::new()
            };
        let output = self.output_clauses()?;
        let source = self.insert_source()?;
        let options = self.option_clause()?;
        Ok(Insert { with, top, target, columns, output, source, options })
    }

    /// Column names; a qualifier, which the product ignores, is dropped.
    fn insert_columns(&mut self) -> Result<Vec<crate::ast::Ident>> {
        if self.tok_ahead(1) == Tok::RParen {
            self.at += 2;
            return Ok(Vec::new());
        }
        self.parenthesized_list(|p| {
            if p.tok() == Tok::Pseudo || matches!(p.tok(), Tok::Kw(Kw::IDENTITYCOL | Kw::ROWGUIDCOL)) {
                return Ok(p.take_ident());
            }
            // So is one without names: `(.a)`.
            while p.eat(Tok::Dot) {}
            Ok(p.column_ref()?.name)
        })
    }

    fn insert_source(&mut self) -> Result<InsertSource> {
        match self.tok() {
            Tok::Kw(Kw::VALUES) => {
                self.bump();
                let rows = self.list(Self::value_row)?;
                if rows.len() > VALUES_ROWS_MAX {
                    let text = "The number of row value expressions in the INSERT statement exceeds the maximum \
                                allowed number of 1000 row values.";
                    return Err(self.error(10738, text));
                }
                Ok(InsertSource::Values(rows))
            }
            Tok::Kw(Kw::DEFAULT) => {
                self.bump();
                self.expect_kw(Kw::VALUES)?;
                Ok(InsertSource::DefaultValues)
            }
            Tok::Kw(Kw::EXEC | Kw::EXECUTE) => Ok(InsertSource::Execute(Box::new(self.execute()?))),
            Tok::Kw(Kw::SELECT) | Tok::LParen => Ok(InsertSource::Query(Box::new(self.query()?))),
            _ => Err(self.unexpected()),
        }
    }

    // ---- OUTPUT ----

    fn output_clauses(&mut self) -> Result<Vec<OutputClause>> {
        let mut clauses = Vec::new();
        while clauses.len() < 2 && self.eat_word("OUTPUT") {
            let items = self.list(Self::select_item)?;
            let into = if self.eat_kw(Kw::INTO) {
                Some(OutputInto { target: self.table_ref()?, columns: self.optional_ident_list()? })
            } else {
                None
            };
            let last = into.is_none();
            clauses.push(OutputClause { items, into });
            if last {
                break;
            }
        }
        Ok(clauses)
    }

    // ---- UPDATE ----

    #[inline(never)]
    pub(super) fn update(&mut self, with: Option<With>) -> Result<Update> {
        self.expect_kw(Kw::UPDATE)?;
        let top = self.top_of_change()?;
        let table = self.table_ref()?;
        let hints = self.target_hints()?;
        self.expect_kw(Kw::SET)?;
        let assignments = self.list(Self::update_set)?;
        let output = self.output_clauses()?;
        let from = self.optional_from()?;
        let filter = self.dml_filter()?;
        let options = self.option_clause()?;
        Ok(Update {
            with,
            top,
            target: DmlTarget { table, hints },
            assignments,
            output,
            from,
            filter,
            options,
        })
    }

    fn update_set(&mut self) -> Result<UpdateSet> {
        if self.tok() == Tok::Variable {
            return self.update_set_variable();
        }
        let column = self.column_ref()?;
        if self.tok() == Tok::LParen && column.name.is("WRITE") {
            return self.update_write(column);
        }
        if self.tok() == Tok::LParen {
            return self.update_method(column);
        }
        let op = self.assignment_op()?;
        Ok(UpdateSet::Column { column, op, value: self.argument()? })
    }

    /// `column.modify('…')`; `column` arrived with the method as its last part.
    fn update_method(&mut self, method: ColumnRef) -> Result<UpdateSet> {
        let Some(name) = method.qualifier.filter(|q| q.schema.is_none()) else {
            return Err(self.unexpected());
        };
        let span = name.span;
        let column = ColumnRef { qualifier: None, name: name.name };
        let target = Box::new(Expr { kind: ExprKind::Column(column.clone()), span });
        let kind = ExprKind::Mutated { target, method: method.name, args: self.call_args()? };
        let value = Expr { kind, span: self.since(span) };
        Ok(UpdateSet::Column { column, op: crate::ast::AssignOp::Set, value })
    }

    fn assignment_op(&mut self) -> Result<crate::ast::AssignOp> {
        match assign_op(self.tok()) {
            Some(op) => {
                self.bump();
                Ok(op)
            }
            None => Err(self.unexpected()),
        }
    }

    /// `@v = e` or `@v = column = e`.
    fn update_set_variable(&mut self) -> Result<UpdateSet> {
        let variable = self.variable()?;
        let op = self.assignment_op()?;
        let value = self.expr()?;
        match (value.kind, assign_op(self.tok())) {
            (ExprKind::Column(column), Some(column_op)) => {
                self.bump();
                Ok(UpdateSet::VariableAndColumn { variable, column, op: column_op, value: self.argument()? })
            }
            (kind, _) => Ok(UpdateSet::Variable { variable, op, value: Expr { kind, span: value.span } }),
        }
    }

    /// `column.WRITE(e, offset, length)`; `column` arrived with WRITE as its last part.
    fn update_write(&mut self, column: ColumnRef) -> Result<UpdateSet> {
        let Some(name) = column.qualifier else { return Err(self.unexpected()) };
        let column = ColumnRef {
            qualifier: name.schema.map(crate::ast::ObjectName::simple).map(Box::new),
            name: name.name,
        };
        self.parenthesized(|p| {
            let value = p.expr()?;
            p.expect(Tok::Comma)?;
            let offset = p.expr()?;
            p.expect(Tok::Comma)?;
            Ok(UpdateSet::Write { column, value, offset, length: p.expr()? })
        })
    }

    fn dml_filter(&mut self) -> Result<Option<DmlFilter>> {
        if !self.eat_kw(Kw::WHERE) {
            return Ok(None);
        }
        if self.eat_kw(Kw::CURRENT) {
            self.expect_kw(Kw::OF)?;
            return Ok(Some(DmlFilter::CurrentOf(self.cursor_ref()?)));
        }
        Ok(Some(DmlFilter::Where(self.condition()?)))
    }

    // ---- DELETE ----

    #[inline(never)]
    pub(super) fn delete(&mut self, with: Option<With>) -> Result<Delete> {
        self.expect_kw(Kw::DELETE)?;
        let top = self.top_of_change()?;
        self.eat_kw(Kw::FROM);
        let table = self.table_ref()?;
        let hints = self.target_hints()?;
        let output = self.output_clauses()?;
        let from = self.optional_from()?;
        let filter = self.dml_filter()?;
        let options = self.option_clause()?;
        Ok(Delete { with, top, target: DmlTarget { table, hints }, output, from, filter, options })
    }

    // ---- MERGE ----

    #[inline(never)]
    pub(super) fn merge(&mut self, with: Option<With>) -> Result<Merge> {
        self.expect_kw(Kw::MERGE)?;
        let top = self.top_of_change()?;
        self.eat_kw(Kw::INTO);
        let target = self.dml_target()?;
        let alias = self.table_alias()?;
        self.expect_word("USING")?;
        let source = self.table_source()?;
        self.expect_kw(Kw::ON)?;
        let on = self.condition()?;
        let mut whens = Vec::new();
        while self.at_kw(Kw::WHEN) {
            whens.push(self.merge_when()?);
        }
        if whens.is_empty() {
            return Err(self.unexpected());
        }
        let output = self.output_clauses()?;
        let options = self.option_clause()?;
        Ok(Merge { with, top, target, alias, source, on, whens, output, options })
    }

    fn merge_when(&mut self) -> Result<MergeWhen> {
        self.bump();
        let not = self.eat_kw(Kw::NOT);
        self.expect_word("MATCHED")?;
        let matched = if !not {
            MergeMatch::Matched
        } else if self.eat_kw(Kw::BY) {
            match self.one_of(&["TARGET", "SOURCE"]) {
                Some("TARGET") => MergeMatch::NotMatchedByTarget,
                Some(_) => MergeMatch::NotMatchedBySource,
                None => return Err(self.unexpected()),
            }
        } else {
            MergeMatch::NotMatchedByTarget
        };
        let condition = if self.eat_kw(Kw::AND) { Some(self.condition()?) } else { None };
        self.expect_kw(Kw::THEN)?;
        Ok(MergeWhen { matched, condition, action: self.merge_action()? })
    }

    fn merge_action(&mut self) -> Result<MergeAction> {
        match self.tok() {
            Tok::Kw(Kw::UPDATE) => {
                self.bump();
                self.expect_kw(Kw::SET)?;
                Ok(MergeAction::Update(self.list(Self::update_set)?))
            }
            Tok::Kw(Kw::DELETE) => {
                self.bump();
                Ok(MergeAction::Delete)
            }
            Tok::Kw(Kw::INSERT) => {
                self.bump();
                let columns = if self.tok() == Tok::LParen { self.insert_columns()? } else { Vec::new() };
                if self.eat_kw(Kw::DEFAULT) {
                    self.expect_kw(Kw::VALUES)?;
                    return Ok(MergeAction::Insert { columns, values: None });
                }
                self.expect_kw(Kw::VALUES)?;
                Ok(MergeAction::Insert { columns, values: Some(self.value_row()?) })
            }
            _ => Err(self.unexpected()),
        }
    }

    // ---- the rest ----

    #[inline(never)]
    pub(super) fn truncate(&mut self) -> Result<Truncate> {
        self.expect_kw(Kw::TRUNCATE)?;
        self.expect_kw(Kw::TABLE)?;
        let table = self.object_name()?;
        let partitions = self.truncated_partitions()?;
        Ok(Truncate { table, partitions })
    }

    #[inline(never)]
    pub(super) fn bulk_insert(&mut self) -> Result<BulkInsert> {
        self.expect_kw(Kw::BULK)?;
        self.expect_kw(Kw::INSERT)?;
        let table = self.object_name()?;
        self.expect_kw(Kw::FROM)?;
        let file = self.ident_or_string()?.text;
        let options = if self.eat_kw(Kw::WITH) { self.options_in_parentheses()? } else { Vec::new() };
        Ok(BulkInsert { table, file, options })
    }

    #[inline(never)]
    pub(super) fn insert_bulk(&mut self) -> Result<InsertBulk> {
        self.expect_kw(Kw::INSERT)?;
        self.expect_kw(Kw::BULK)?;
        let table = self.object_name()?;
        let columns =
            if self.tok() == Tok::LParen { self.parenthesized_list(Self::bulk_column)? } else { Vec::new() };
        let options = if self.eat_kw(Kw::WITH) { self.options_in_parentheses()? } else { Vec::new() };
        Ok(InsertBulk { table, columns, options })
    }

    fn bulk_column(&mut self) -> Result<BulkColumn> {
        let name = self.any_word()?;
        let ty = self.type_name()?;
        let collation = if self.eat_kw(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
        let nullable = self.nullability()?;
        Ok(BulkColumn { name, ty, collation, nullable })
    }

    /// NULL, NOT NULL or nothing.
    pub(super) fn nullability(&mut self) -> Result<Option<bool>> {
        if self.eat_kw(Kw::NULL) {
            return Ok(Some(true));
        }
        if self.at_kw(Kw::NOT) && self.tok_ahead(1) == Tok::Kw(Kw::NULL) {
            self.at += 2;
            return Ok(Some(false));
        }
        Ok(None)
    }

    #[inline(never)]
    pub(super) fn update_statistics(&mut self) -> Result<UpdateStatistics> {
        self.expect_kw(Kw::UPDATE)?;
        self.expect_kw(Kw::STATISTICS)?;
        let table = self.object_name()?;
        let names = if self.tok() == Tok::LParen {
            self.ident_list()?
        } else if self.at_ident() {
            vec![self.ident()?]
        } else {
            Vec::new()
        };
        let options = if self.eat_kw(Kw::WITH) { self.option_list()? } else { Vec::new() };
        Ok(UpdateStatistics { table, names, options })
    }
}
