//! Table variables: checked when their batch or module is compiled, made when it runs. Their rows are in
//! tempdb, under negative ids, and their names are the program's own.

use super::TableBuilder;
use crate::catalog::DBO;
use crate::engine::{DatabaseEntry, TABLE_VARIABLES, TEMPDB};
use crate::errors;
use crate::program::{Program, TableShape};
use crate::session::info::Info;
use crate::session::scope::Scope;
use keel_parser::ast::TableElement;
use keel_query::catalog::TableDef;
use keel_types::error::Result;
use std::sync::Arc;

fn variable_of(
    scope: &Scope<'_>,
    tempdb: &DatabaseEntry,
    name: &str,
    elements: &[TableElement],
) -> Result<TableDef> {
    let mut builder = TableBuilder::new(scope, tempdb, DBO, name);
    builder.private = true;
    // A temporary table has the collation of tempdb, a variable that of its database.
    builder.collation = scope.database_collation();
    builder.all(elements)
}

/// The error of a table variable that cannot be made, when its batch or module is compiled: nothing of it runs then.
pub fn check_table_variable(scope: &Scope<'_>, name: &str, elements: &[TableElement]) -> Result<()> {
    let tempdb = scope.info.engine.database_by_id(TEMPDB).ok_or_else(|| errors::no_database("tempdb"))?;
    variable_of(scope, &tempdb, name, elements).map(|_| ())
}

/// The definition of a table variable of a program, with fresh storage.
pub fn table_variable(info: &Info, program: &Program, index: usize) -> Result<Arc<TableDef>> {
    let def = &program.tables[index];
    let mut scope = Scope::bare(info, program.identity.database);
    scope.identity = program.identity.clone();
    let tempdb = info.engine.database_by_id(TEMPDB).ok_or_else(|| errors::no_database("tempdb"))?;
    let mut table = match &def.shape {
        TableShape::Elements(elements) => variable_of(&scope, &tempdb, &def.name, elements)?,
        TableShape::Type(name) => {
            let ty = scope.table_type(name).ok_or_else(|| errors::no_type(index + 1, name))?;
            let table = ty.table.as_deref().expect("a table type has a table");
            let mut table = table.clone();
            table.object_id = tempdb.allocate_object();
            table.name = def.name.to_string();
            for index in &mut table.indexes {
                index.tree = tempdb.allocate_tree()?;
            }
            table
        }
    };
    table.object_id = -table.object_id.abs();
    table.database = TABLE_VARIABLES;
    Ok(Arc::new(table))
}
