//! The table that SELECT … INTO makes: a heap with the columns of its result, without constraints.

use super::TableBuilder;
use crate::catalog::{CatalogObject, DBO, fold};
use crate::ddl::Place;
use crate::engine::TEMPDB;
use crate::errors;
use crate::program::Program;
use crate::run::Runner;
use keel_parser::ast;
use keel_query::catalog::{ColumnDef, IndexDef, TableDef};
use keel_types::SqlType;
use keel_types::error::Result;
use std::sync::Arc;

/// Makes the table of SELECT … INTO; `steps` are seed and increment of its identity column.
pub fn create_for_select_into(
    runner: &mut Runner<'_>,
    program: &Arc<Program>,
    name: &ast::ObjectName,
    columns: &[keel_query::ColumnMeta],
    steps: (i64, i64),
) -> Result<Arc<TableDef>> {
    let temporary = name.is_temporary();
    let place = if temporary {
        Place { entry: runner.entry_of(TEMPDB)?, schema_id: DBO, name: name.name.text.to_string() }
    } else {
        runner.place(program, name)?
    };
    let local = temporary && !name.is_global_temporary();
    let level = runner.info.nest_level();
    if local {
        if runner.info.temp.borrow().exists_at(&place.name, level) {
            return Err(errors::object_exists(&place.name));
        }
    } else {
        runner.lock_name(&place)?;
        runner.check_free(&place)?;
    }
    let mut table = {
        let scope = runner.ddl_scope(program);
        let mut table = TableBuilder::new(&scope, &place.entry, place.schema_id, &place.name).table;
        for c in columns {
            if c.name.is_empty() {
                return Err(keel_types::SqlError::new(
                    1038,
                    15,
                    5,
                    "An object or column name is missing or empty. For SELECT INTO statements, verify each column has a name. For other statements, look for empty alias names. Aliases defined as \"\" or [] are not allowed. Change the alias to a valid name.",
                ));
            }
            if table.columns.iter().any(|o| fold(&o.name) == fold(&c.name)) {
                return Err(errors::duplicate_column(&place.name, &c.name));
            }
            let ty = if c.ty == SqlType::Null { SqlType::Int } else { c.ty };
            of_same_database(runner, &place, c, local)?;
            table.columns.push(ColumnDef {
                collation: c.collation,
                nullable: c.nullable,
                identity: c.identity.then_some(steps),
                ..ColumnDef::plain(table.columns.len(), &c.name, ty)
            });
            table.next_column_id += 1;
            table.next_ordinal += 1;
        }
        table
    };
    table.indexes.push(IndexDef::heap(place.entry.allocate_tree()?));
    if local {
        table.object_id = -table.object_id;
        let table = Arc::new(table);
        runner.before_temp_change();
        runner.info.temp.borrow_mut().add(level, Arc::clone(&table));
        return Ok(table);
    }
    runner.lock_collections(&place.entry, &table)?;
    let table = Arc::new(table);
    runner.put(&place.entry, CatalogObject::Table(Arc::clone(&table)))?;
    if temporary {
        runner.info.global_tables.borrow_mut().push(table.object_id);
    }
    Ok(table)
}

/// Error 458 for typed xml whose collection is not the new table's database's, and 33296 for a column whose key is not. A temporary table
/// may have its session's.
fn of_same_database(
    runner: &Runner<'_>,
    place: &Place,
    c: &keel_query::ColumnMeta,
    local: bool,
) -> Result<()> {
    if let Some(scheme) = c.ty.scheme()
        && place.entry.id != crate::engine::TEMPDB
        && scheme.key.database_id != place.entry.id.0
    {
        return Err(crate::column_keys::errors::key_of_other_database(&place.name));
    }
    let Some(of) = c.ty.xml_schema() else { return Ok(()) };
    let entry = if local { runner.info.current_database() } else { Arc::clone(&place.entry) };
    let picture = runner.info.picture(&entry);
    if picture.xml_collection(of.collection).is_some_and(|own| own.version() == of.version) {
        return Ok(());
    }
    let [_, collection] = keel_query::xml_collection::name_of(of).unwrap_or_default();
    let source = c.source.as_ref().and_then(|s| runner.info.engine.database_by_id(s.database));
    let database = source.map_or_else(String::new, |e| e.name().to_string());
    Err(errors::typed_xml_of_other_database(&place.name, &c.name, &collection, &database))
}
