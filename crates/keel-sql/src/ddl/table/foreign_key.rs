//! FOREIGN KEY constraints of a table that is made or changed.

use super::TableBuilder;
use crate::catalog::fold;
use crate::ddl::find_table;
use crate::errors;
use keel_parser::ast;
use keel_query::catalog::{Catalog as _, ColumnDef, ForeignKeyDef, ReferentialAction, TableDef};
use keel_types::error::Result;
use keel_types::{SqlError, SqlType};
use std::sync::Arc;

/// The one error about a foreign key that stands alone.
const COLUMN_COUNTS_DIFFER: i32 = 8139;

/// A FOREIGN KEY constraint as written.
pub(super) struct Reference<'s> {
    /// CONSTRAINT name.
    pub name: Option<&'s ast::Ident>,
    /// The columns that refer.
    pub columns: &'s [ast::Ident],
    /// The table referred to.
    pub table: &'s ast::ObjectName,
    /// Its columns; empty: its primary key.
    pub referenced: &'s [ast::Ident],
    /// ON DELETE.
    pub on_delete: Option<&'s ast::ReferentialAction>,
    /// ON UPDATE.
    pub on_update: Option<&'s ast::ReferentialAction>,
}

impl TableBuilder<'_> {
    /// A FOREIGN KEY constraint. An error of what it refers to comes before 1750, as everything's that ends a constraint.
    pub(super) fn foreign_key(&mut self, key: &Reference<'_>) -> Result<()> {
        match self.references(key) {
            Err(e) if e.number != COLUMN_COUNTS_DIFFER => {
                self.scope.info.say(e);
                Err(errors::constraint_not_created())
            }
            outcome => outcome,
        }
    }

    fn references(&mut self, key: &Reference<'_>) -> Result<()> {
        let Reference { name, columns, table: referenced_name, referenced, on_delete, on_update } = *key;
        let object_id = self.object_id();
        let first = columns.first().map_or("", |c| c.text.as_str());
        let name = self.constraint_name(name, "FK", first, object_id);
        let own_table = fold(&referenced_name.name.text) == fold(&self.table.name)
            && referenced_name.schema.as_ref().is_none_or(|s| self.is_own_schema(&s.text));
        let other = match find_table(self.scope, referenced_name) {
            Some(t) => t,
            None if own_table => Arc::new(self.table.clone()),
            None => return Err(errors::foreign_key_no_table(&name, referenced_name)),
        };
        let mut own_ids = Vec::new();
        for c in columns {
            let at = self
                .find_column(c)
                .map_err(|_| errors::foreign_key_own_column(&name, &c.text, &self.table.name))?;
            own_ids.push(self.table.columns[at].column_id);
        }
        let referenced_columns = referenced_columns(&other, referenced, &name)?;
        if referenced_columns.len() != own_ids.len() {
            return Err(SqlError::new(
                COLUMN_COUNTS_DIFFER,
                16,
                0,
                format!(
                    "Number of referencing columns in foreign key differs from number of referenced columns, table '{}'.",
                    self.table.name
                ),
            ));
        }
        for (own, theirs) in own_ids.iter().zip(&referenced_columns) {
            self.comparable(&name, *own, &other, *theirs)?;
        }
        let nulls = [on_delete, on_update].contains(&Some(&ast::ReferentialAction::SetNull));
        let required = |id: &i32| self.table.columns.iter().any(|c| c.column_id == *id && !c.nullable);
        if nulls && own_ids.iter().any(required) {
            return Err(errors::set_null_of_required(&name));
        }
        if other.candidate_key(&referenced_columns).is_none() {
            return Err(errors::no_candidate_key(referenced_name, &name));
        }
        self.table.foreign_keys.push(ForeignKeyDef {
            object_id,
            name,
            columns: own_ids,
            referenced_table: other.object_id,
            referenced_columns,
            on_delete: action(on_delete),
            on_update: action(on_update),
            disabled: false,
            untrusted: false,
        });
        Ok(())
    }

    /// Whether a column may refer to another: of the same type, length and collation.
    fn comparable(&self, foreign_key: &str, own: i32, other: &TableDef, theirs: i32) -> Result<()> {
        let own = self.table.columns.iter().find(|c| c.column_id == own).expect("found by name");
        let theirs = other.columns.iter().find(|c| c.column_id == theirs).expect("found by name");
        let shown = |table: &TableDef, column: &ColumnDef| format!("{}.{}", table.name, column.name);
        let names = || (shown(other, theirs), shown(&self.table, own));
        let decimal = |t: SqlType| matches!(t, SqlType::Decimal { .. } | SqlType::Numeric { .. });
        let same =
            own.ty.system_type_id() == theirs.ty.system_type_id() || decimal(own.ty) && decimal(theirs.ty);
        let measure = |t: SqlType| (t.max_length_bytes(), t.precision(), t.scale());
        let encrypted = own.ty.is_encrypted() || theirs.ty.is_encrypted();
        if encrypted && !keel_types::ty::encrypted::compares(own.ty, theirs.ty) {
            let (referenced, referencing) = names();
            Err(crate::column_keys::errors::other_scheme(referenced, referencing, foreign_key))
        } else if !same {
            let (referenced, referencing) = names();
            Err(errors::foreign_key_types(referenced, referencing, foreign_key))
        } else if measure(own.ty) != measure(theirs.ty) {
            let (referenced, referencing) = names();
            Err(errors::foreign_key_lengths(referenced, referencing, foreign_key))
        } else if own.ty.is_string() && own.collation != theirs.collation {
            let (referenced, referencing) = names();
            Err(errors::foreign_key_collations(referenced, referencing, foreign_key))
        } else {
            Ok(())
        }
    }

    fn is_own_schema(&self, schema: &str) -> bool {
        let picture = self.scope.info.picture(&self.scope.info.current_database());
        picture.schema_id(schema) == Some(self.table.schema_id)
    }
}

fn referenced_columns(other: &TableDef, referenced: &[ast::Ident], name: &str) -> Result<Vec<i32>> {
    if referenced.is_empty() {
        let primary = other.indexes.iter().find(|i| i.is_primary_key);
        let primary = primary.ok_or_else(|| {
            SqlError::new(1773, 16, 0, format!(
                "Foreign key '{name}' has implicit reference to object '{}' which does not have a primary key defined on it.", other.name))
        })?;
        return Ok(primary.key.iter().map(|k| k.column_id).collect());
    }
    referenced
        .iter()
        .map(|c| {
            let found = other.columns.iter().find(|o| fold(&o.name) == fold(&c.text));
            found
                .map(|o| o.column_id)
                .ok_or_else(|| errors::foreign_key_no_column(name, &c.text, &other.name))
        })
        .collect()
}

fn action(a: Option<&ast::ReferentialAction>) -> ReferentialAction {
    match a {
        None | Some(ast::ReferentialAction::NoAction) => ReferentialAction::NoAction,
        Some(ast::ReferentialAction::Cascade) => ReferentialAction::Cascade,
        Some(ast::ReferentialAction::SetNull) => ReferentialAction::SetNull,
        Some(ast::ReferentialAction::SetDefault) => ReferentialAction::SetDefault,
    }
}
