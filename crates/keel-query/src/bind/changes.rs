//! CHANGETABLE, and the functions that ask for versions of change tracking.
//!
//! CHANGE_TRACKING_CURRENT_VERSION and CHANGE_TRACKING_MIN_VALID_VERSION are subqueries over a table function: their answer must
//! belong to the snapshot in which the statement reads the changes, or a change between the two would never be told.

use super::expr::{Clause, ExprCx};
use super::from::{BoundSource, rename};
use super::merge_types::assign_to;
use super::{Binder, Scope, same_name};
use crate::changes::{ChangesTable, RowVersionTable, key_columns};
use crate::errors::{self, Result};
use crate::expr::{Expr, ExprKind};
use crate::scope::{ObjectRef, VirtualTable};
use keel_parser::ast;
use keel_types::SqlType;
use std::sync::Arc;

/// The function behind both functions: one row with `current_version` and `min_valid_version` of the table that it is given.
pub const VERSIONS_FUNCTION: &str = "fn_keel_change_versions";

impl Binder<'_> {
    /// `CHANGETABLE (…) AS alias`. Errors 22103, 22104, 22105, 22107, 22110 and 22111.
    pub(super) fn change_table(
        &mut self,
        name: &ast::ObjectName,
        of: &ast::ChangesOf,
        exposed: (Option<&ast::Ident>, &[ast::Ident]),
        outer: &Scope<'_>,
    ) -> Result<BoundSource> {
        let (Some(alias), columns) = exposed else { return Err(errors::changetable_alias()) };
        let written = name.to_string();
        let table = match self.lookup(name)? {
            ObjectRef::Table(table) if !name.name.text.starts_with('#') => table,
            _ => return Err(errors::changetable_object(&written)),
        };
        let trees = self.scope.catalog(table.database).and_then(|catalog| catalog.change_trees());
        let (Some(def), Some(trees)) = (&table.change_tracking, trees) else {
            return Err(errors::not_tracked(&written));
        };
        let key = key_columns(&table);
        let ids: Vec<i32> = key.iter().map(|(at, _)| table.columns[*at].column_id).collect();
        self.scope.note_changes(&table, &ids);
        let (virtual_table, args): (Arc<dyn VirtualTable>, _) = match of {
            ast::ChangesOf::Since(since) => {
                let since = self.value(since, &mut ExprCx::new(&Scope::default(), Clause::Other))?;
                let since = assign_to(since, SqlType::BigInt)?;
                (Arc::new(ChangesTable::new(&table, def, trees)), vec![since])
            }
            ast::ChangesOf::Row { columns, values } => {
                let mut args: Vec<Option<Expr>> = vec![None; key.len()];
                let mut places = Vec::new();
                for column in columns {
                    let own = |(at, _): &(usize, _)| same_name(&table.columns[*at].name, &column.text);
                    let place = key.iter().position(own);
                    places.push(place.ok_or_else(|| errors::changetable_column(&column.text, &written))?);
                }
                if columns.len() != key.len() {
                    return Err(errors::changetable_column_count(&written));
                }
                if values.len() != columns.len() {
                    return Err(errors::changetable_version_arguments());
                }
                for ((place, column), value) in places.into_iter().zip(columns).zip(values) {
                    let value = self.value(value, &mut ExprCx::new(outer, Clause::Other))?;
                    let value = assign_to(value, table.columns[key[place].0].ty)?;
                    if args[place].replace(value).is_some() {
                        return Err(errors::changetable_column_twice(&column.text));
                    }
                }
                let args = args.into_iter().flatten().collect();
                (Arc::new(RowVersionTable::new(&table, def, trees)), args)
            }
        };
        let (rel, mut sources) = self.virtual_table(virtual_table, alias.as_str(), args, false, name);
        rename(&mut sources, columns, alias.as_str())?;
        Ok((rel, sources))
    }

    /// The functions that ask for versions; `None` for others.
    pub(super) fn change_function(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Option<Expr>> {
        let (column, wanted) = match name {
            "CHANGE_TRACKING_CURRENT_VERSION" => ("current_version", 0),
            "CHANGE_TRACKING_MIN_VALID_VERSION" => ("min_valid_version", 1),
            _ => return Ok(None),
        };
        if call.args.len() != wanted {
            return Err(keel_types::raise::wrong_argument_count(&name.to_ascii_lowercase(), wanted, wanted));
        }
        if let Some(table) = call.args.first() {
            let e = self.value(table, cx)?;
            let literal_null = matches!(&e.kind, ExprKind::Const(v) if matches!(v, keel_types::Value::Null));
            if !matches!(e.ty, SqlType::Int) || literal_null {
                return Err(keel_types::raise::bad_argument_type(e.ty, 1, &name.to_ascii_lowercase()));
            }
        }
        let text = format!("(SELECT {column} FROM sys.{VERSIONS_FUNCTION}(NULL))");
        let mut e = keel_parser::parse_expr(&text).map_err(|e| super::parse_error(*e))?;
        if let Some(table) = call.args.first() {
            argument_of(&mut e, table);
        }
        self.value(&e, cx).map(Some)
    }
}

/// Puts an argument in the place of NULL in the query over the function.
fn argument_of(e: &mut ast::Expr, argument: &ast::Expr) {
    let ast::ExprKind::Subquery(query) = &mut e.kind else { unreachable!("the text is a subquery") };
    let ast::QueryBody::Select(select) = &mut query.body else { unreachable!("the text is a SELECT") };
    for source in &mut select.from {
        if let ast::TableSourceKind::Function { args, .. } = &mut source.kind {
            *args = vec![argument.clone()];
        }
    }
}
