//! What columns and tables may not be declared with.

use super::TableBuilder;
use crate::catalog::fold;
use crate::ddl::determinism::is_deterministic;
use crate::ddl::mentions_column;
use crate::errors;
use keel_parser::ast::{self, ConstraintKind};
use keel_parser::lexer::{self, Tok};
use keel_query::catalog::ColumnDef;
use keel_types::error::Result;
use keel_types::{SqlError, SqlType};

/// Bytes that a row may have on its page, with what the format needs.
const ROW_BYTES_MAX: usize = 8060;

/// The column that error 207 is about.
fn unknown_column(e: &SqlError) -> &str {
    let name = e.message.strip_prefix("Invalid column name '").and_then(|name| name.strip_suffix("'."));
    name.unwrap_or_default()
}

/// Error 1046 for a query in a condition or a default.
pub(super) fn refuse_queries(e: &ast::Expr) -> Result<()> {
    if e.has_query() { Err(errors::no_subqueries()) } else { Ok(()) }
}

impl TableBuilder<'_> {
    /// Constraints of a column that exclude each other: errors 8148 and 8151.
    pub(super) fn check_inline_constraints(&self, c: &ast::ColumnDefinition) -> Result<()> {
        let count = |of: fn(&ConstraintKind) -> bool| c.constraints.iter().filter(|k| of(&k.kind)).count();
        let (column, table) = (&c.name.text, &self.table.name);
        if count(|k| matches!(k, ConstraintKind::Default { .. })) > 1 {
            return Err(errors::second_column_constraint("DEFAULT", column, table));
        }
        if count(|k| matches!(k, ConstraintKind::Check { .. })) > 1 {
            return Err(errors::second_column_constraint("CHECK", column, table));
        }
        let primary = count(|k| matches!(k, ConstraintKind::Key { primary: true, .. }));
        let unique = count(|k| matches!(k, ConstraintKind::Key { primary: false, .. }));
        if unique > 1 {
            return Err(errors::second_column_constraint("UNIQUE", column, table));
        }
        if primary > 0 && unique > 0 {
            return Err(errors::primary_and_unique(column, table));
        }
        Ok(())
    }

    /// What one column says against the table: a second rowversion (2738), a computed value that is to be kept and changes
    /// by itself (4936).
    pub(super) fn check_column(&self, def: &ColumnDef) -> Result<()> {
        let table = &self.table.name;
        if def.ty == SqlType::RowVersion && self.table.columns.iter().any(|c| c.ty == SqlType::RowVersion) {
            return Err(errors::second_rowversion(table, &def.name));
        }
        match &def.computed {
            Some(computed) if computed.persisted && !is_deterministic(&computed.text) => {
                Err(errors::persisted_not_deterministic(&def.name, table))
            }
            _ => Ok(()),
        }
    }

    /// Error 2729 for a key of a computed column that changes by itself.
    pub(super) fn check_key_is_deterministic(&self, column: &ColumnDef) -> Result<()> {
        match &column.computed {
            Some(computed) if !is_deterministic(&computed.text) => {
                Err(errors::key_not_deterministic(&column.name, &self.table.name))
            }
            _ => Ok(()),
        }
    }

    /// Errors 8141 and 1750 for the CHECK of a column that names another.
    pub(super) fn check_of_column(&self, column: &str, text: &str) -> Result<()> {
        let others = self.table.columns.iter().filter(|c| fold(&c.name) != fold(column));
        if others.into_iter().any(|c| mentions_column(text, &c.name)) {
            self.scope.info.say(errors::check_names_another(column, &self.table.name));
            return Err(errors::constraint_not_created());
        }
        Ok(())
    }

    /// The error of a CHECK that no row could be asked: a column that is not there (1759, then 1750), operands that do not go
    /// together (402, 206), functions that there are not.
    pub(super) fn check_condition(&self, text: &str) -> Result<()> {
        let columns = self.table.columns.iter();
        match self.over_columns(columns, |rows| format!("SELECT 1 FROM {rows} WHERE {text}")) {
            Ok(_) => Ok(()),
            Err(e) if e.number == 207 => {
                let name = unknown_column(&e);
                self.scope.info.say(errors::constraint_column_missing(name));
                Err(errors::constraint_not_created())
            }
            Err(e) => Err(e),
        }
    }

    /// The error of a DEFAULT that no row could get: a column's name (128), a value that does not become one of the column's
    /// type by itself (206, 257), a query in it (1046).
    pub(in crate::ddl) fn check_default(&self, value: &ast::Expr, ty: SqlType) -> Result<()> {
        refuse_queries(value)?;
        match self.at_home(|scope| keel_query::compile_expr(scope, value, Some(ty)).map(|_| ())) {
            Err(e) if e.number == 207 => {
                let name = unknown_column(&e);
                Err(errors::name_not_permitted(name))
            }
            outcome => outcome,
        }
    }

    /// Error 112 for a DEFAULT with a variable in it.
    pub(in crate::ddl) fn refuse_variables(&self, text: &str) -> Result<()> {
        let tokens = lexer::tokenize(text, true).unwrap_or_default();
        if !tokens.iter().any(|t| t.tok == Tok::Variable) {
            return Ok(());
        }
        Err(errors::variables_in(if self.creating { "CREATE TABLE" } else { "ALTER TABLE" }))
    }

    /// Error 1701 for a table none of whose rows would fit: the columns of fixed length take too much.
    pub(in crate::ddl) fn check_row_size(&self) -> Result<()> {
        let kept = || self.table.columns.iter().filter(|c| c.computed.as_ref().is_none_or(|x| x.persisted));
        let bits = kept().filter(|c| c.ty == SqlType::Bit).count();
        let fixed: usize = kept().map(|c| fixed_bytes(c.ty)).sum();
        // Four bytes of header, two for the number of columns, and a bit for each that may be NULL.
        let overhead = 6 + kept().count().div_ceil(8);
        let size = fixed + bits.div_ceil(8) + overhead;
        if size > ROW_BYTES_MAX {
            return Err(errors::row_too_large(&self.table.name, size, overhead));
        }
        Ok(())
    }
}

/// What a value takes in every row, bits apart; nothing for types of varying length.
fn fixed_bytes(ty: SqlType) -> usize {
    let varies = matches!(
        ty,
        SqlType::Bit
            | SqlType::VarChar(_)
            | SqlType::NVarChar(_)
            | SqlType::VarBinary(_)
            | SqlType::Text
            | SqlType::NText
            | SqlType::Image
            | SqlType::Xml
            | SqlType::TypedXml(_)
            | SqlType::SqlVariant
            | SqlType::HierarchyId
            | SqlType::Geometry
            | SqlType::Geography
            | SqlType::Encrypted(_)
    );
    if varies { 0 } else { usize::try_from(ty.max_length_bytes()).unwrap_or(0) }
}
