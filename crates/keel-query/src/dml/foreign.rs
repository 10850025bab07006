//! Foreign keys: the referenced row must exist; what happens to referencing rows when a referenced one goes.

use super::target::Target;
use crate::bind::{Binder, same_name};
use crate::catalog::{ForeignKeyDef, ReferentialAction, TableDef};
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use crate::scope::BindScope;
use crate::usage::IndexUse;
use keel_base::{DatabaseId, TreeId};
use keel_node::LockMode;
use keel_types::key::{self, KeyColumn};
use keel_types::{SqlError, Value};
use std::sync::Arc;

/// "The row that this one refers to exists."
pub struct ParentCheck {
    /// Constraint name.
    name: String,
    /// Referencing columns (positions), in the order of the parent's key.
    pub columns: Vec<usize>,
    keys: Vec<KeyColumn>,
    database: DatabaseId,
    object: u32,
    tree: TreeId,
    parent_name: String,
    /// The one referenced column, for the message.
    parent_column: Option<String>,
    own_table: bool,
    /// Counters of the index that is looked into; none where nobody counts.
    pub uses: Option<Arc<IndexUse>>,
}

/// What a row refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// Nothing: NULL.
    None,
    /// A row that is there.
    There,
    /// A row of its own table that is not there yet: the statement may still bring it.
    Awaited,
}

/// Compiles the foreign keys of a target.
pub fn parent_checks(binder: &Binder<'_>, target: &Target) -> Result<Vec<ParentCheck>> {
    let table = &target.table;
    let mut checks = Vec::new();
    let Some(catalog) = binder.scope.catalog(table.database) else { return Ok(checks) };
    for fk in table.foreign_keys.iter().filter(|f| !f.disabled) {
        let parent = if fk.referenced_table == table.object_id {
            table.clone()
        } else {
            match catalog.table_by_id(fk.referenced_table) {
                Some(p) => p,
                None => continue,
            }
        };
        let Some(index) = parent.candidate_key(&fk.referenced_columns) else { continue };
        let mut columns = Vec::new();
        let mut keys = Vec::new();
        for k in &index.key {
            let at = fk.referenced_columns.iter().position(|c| *c == k.column_id);
            let own = at.and_then(|at| table.column_index(fk.columns[at]));
            let (Some(own), Some(theirs)) = (own, parent.column_index(k.column_id)) else { continue };
            let c = &parent.columns[theirs];
            columns.push(own);
            keys.push(KeyColumn { ty: c.ty, collation: c.collation, descending: k.descending });
        }
        let schema = binder.scope.schema_name(parent.database, parent.schema_id);
        let parent_column = match fk.referenced_columns.as_slice() {
            [one] => parent.column_index(*one).map(|i| parent.columns[i].name.clone()),
            _ => None,
        };
        checks.push(ParentCheck {
            name: fk.name.clone(),
            columns,
            keys,
            database: parent.database,
            object: parent.object_id as u32,
            tree: index.tree,
            parent_name: format!("{schema}.{}", parent.name),
            parent_column,
            own_table: parent.object_id == table.object_id,
            uses: binder.scope.index_use(parent.database, index.tree),
        });
    }
    Ok(checks)
}

impl ParentCheck {
    /// Whether the row that is looked up is locked: it is where others may delete it.
    #[must_use]
    pub fn locks(&self) -> bool {
        !self.own_table
    }

    /// Says while the statement is compiled that it looks here.
    pub fn announce(&self, scope: &dyn BindScope) {
        if self.locks() {
            scope.will_lock(self.database, self.object as i32);
        }
    }

    /// Checks the row in the new slots, holding the referenced row against deletion. Its key is left in the buffer.
    pub fn check(
        &self,
        cx: &mut Cx<'_>,
        target: &Target,
        buffer: &mut Vec<u8>,
        statement: &str,
    ) -> Result<Parent> {
        buffer.clear();
        for (i, column) in self.columns.iter().zip(&self.keys) {
            let v = &cx.slots[target.new_first + i];
            if matches!(v, Value::Null) {
                return Ok(Parent::None);
            }
            key::append(buffer, v, column);
        }
        if !self.own_table {
            // The intent keeps loads of the parent away, whose rows have no locks of their own.
            let txn = cx.txn(self.database)?;
            txn.lock_table(self.object, LockMode::IntentShared)
                .and_then(|()| txn.lock_row(self.tree, buffer, LockMode::Shared))
                .map_err(|e| cx.storage_error(&e))?;
        }
        match self.is_there(cx, buffer)? {
            true => Ok(Parent::There),
            false if self.own_table => Ok(Parent::Awaited),
            false => Err(self.conflict(target, statement)),
        }
    }

    /// Whether a row with this key can be referred to.
    pub fn is_there(&self, cx: &mut Cx<'_>, key: &[u8]) -> Result<bool> {
        let found = cx.txn(self.database)?.get_latest(self.tree, key);
        Ok(found.map_err(|e| cx.storage_error(&e))?.is_some())
    }

    /// Error 547 of a row that refers to none.
    pub fn conflict(&self, target: &Target, statement: &str) -> Box<SqlError> {
        let column = self.parent_column.as_ref().map_or(String::new(), |c| format!(", column '{c}'"));
        errors::constraint_conflict(
            statement,
            if self.own_table { "FOREIGN KEY SAME TABLE" } else { "FOREIGN KEY" },
            &self.name,
            &target.database,
            &self.parent_name,
            &column,
        )
    }
}

/// A foreign key of another table that points at the target.
#[derive(Clone)]
pub struct ChildKey {
    /// The referencing table.
    pub table: Arc<TableDef>,
    /// The constraint.
    pub fk: ForeignKeyDef,
}

impl ChildKey {
    /// What it does for a statement.
    #[must_use]
    pub fn action(&self, delete: bool) -> ReferentialAction {
        if delete { self.fk.on_delete } else { self.fk.on_update }
    }
}

/// Foreign keys that point at a table.
#[must_use]
pub fn children(binder: &Binder<'_>, table: &TableDef) -> Vec<ChildKey> {
    let Some(catalog) = binder.scope.catalog(table.database) else { return Vec::new() };
    let known = catalog.referencing(table.object_id).into_iter();
    known.filter(|(_, fk)| !fk.disabled).map(|(table, fk)| ChildKey { table, fk }).collect()
}

/// Whether two tables are one.
#[must_use]
pub fn same_table(a: &TableDef, b: &TableDef) -> bool {
    a.database == b.database && a.object_id == b.object_id && same_name(&a.name, &b.name)
}
