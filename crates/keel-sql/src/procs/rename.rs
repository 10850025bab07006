//! `sp_rename`: another name for an object, a column, an index, statistics, a type or a database.

use super::{Outcome, ok, string};
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, Named, id_of, object_class};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::functions::{find_named, type_number};
use crate::run::{Argument, Runner};
use crate::triggers::Event;
use keel_parser::to_text::quote_name;
use keel_query::catalog::{Catalog as _, ModuleDef, TableDef, TypeDef};
use keel_types::SqlError;
use std::sync::Arc;

/// Characters of a name.
const NAME_MAX: usize = 128;
/// Parameters of `sp_rename`.
const NAMES: [&str; 3] = ["objname", "newname", "objtype"];

/// What triggers of the database are told: what it was and what it is on, before it has another name.
fn rename_event(
    runner: &Runner<'_>,
    kind: &str,
    old: &str,
    new: &str,
    parameters: &[String],
) -> Option<Event> {
    let event = match kind {
        "DATABASE" => return None,
        "USERDATATYPE" => {
            let (entry, ty) = type_named(runner, old)?;
            let schema = runner.info.picture(&entry).schema_name(ty.schema_id)?;
            let event = Event::within("RENAME", &entry)?.element("SchemaName", &schema);
            event.object(&ty.name, "TYPE").element("TargetObjectName", "").element("TargetObjectType", "")
        }
        "COLUMN" | "INDEX" | "STATISTICS" => {
            let (table, part) = owner_of_part(runner, old).ok()?;
            let entry = runner.entry_of(table.database).ok()?;
            let schema = runner.info.picture(&entry).schema_name(table.schema_id)?;
            let event = Event::within("RENAME", &entry)?.element("SchemaName", &schema);
            event.object(&part, kind).target(&table.name, "TABLE")
        }
        _ => {
            let (entry, named) = find_named(runner.info, old)?;
            let (schema, name, kind) = crate::triggers::described(&named);
            let schema = runner.info.picture(&entry).schema_name(schema)?;
            let event = Event::within("RENAME", &entry)?.element("SchemaName", &schema);
            event.object(&name, kind).element("TargetObjectName", "").element("TargetObjectType", "")
        }
    };
    let event = event.element("NewObjectName", new);
    Some(event.list("Parameters", "Param", parameters.iter().map(String::as_str)))
}

/// `sp_rename @objname, @newname, @objtype`
pub(super) fn sp_rename(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.owner_only()?;
    let old = string(args, "objname", 0).unwrap_or_default();
    // A parameter of type sysname, which takes no more of it.
    let new: String = string(args, "newname", 1).unwrap_or_default().chars().take(NAME_MAX).collect();
    let given = string(args, "objtype", 2).map(|kind| kind.to_ascii_uppercase());
    let kind = given.unwrap_or_else(|| kind_of(runner, &old).to_owned());
    let parameters: Vec<String> = (0..3).filter_map(|i| string(args, NAMES[i], i)).collect();
    let event = rename_event(runner, &kind, &old, &new, &parameters);
    runner.in_statement(|runner| {
        match kind.as_str() {
            "COLUMN" | "INDEX" | "STATISTICS" => rename_part(runner, &old, &new, &kind),
            "USERDATATYPE" => rename_type(runner, &old, &new),
            "DATABASE" => {
                let entry = runner.info.find_database(&old).ok_or_else(|| errors::no_database(&old))?;
                runner.info.engine.rename_database(&entry, &new)
            }
            _ => rename_object(runner, &old, &new),
        }?;
        runner.fire_event_of("sp_rename", event)
    })?;
    let text = "Caution: Changing any part of an object name could break scripts and stored procedures.";
    runner.report(&SqlError::new(15477, 0, 1, text));
    ok()
}

/// What a name without `@objtype` is of: what is no object may be a column, an index, or a type.
fn kind_of(runner: &Runner<'_>, name: &str) -> &'static str {
    let is_column =
        |(t, part): (Arc<TableDef>, String)| t.columns.iter().any(|c| crate::views::same(&c.name, &part));
    let is_index =
        |(t, part): (Arc<TableDef>, String)| t.indexes.iter().any(|i| crate::views::same(&i.name, &part));
    if find_named(runner.info, name).is_some() {
        "OBJECT"
    } else if owner_of_part(runner, name).is_ok_and(is_column) {
        "COLUMN"
    } else if owner_of_part(runner, name).is_ok_and(is_index) {
        "INDEX"
    } else if type_named(runner, name).is_some() {
        "USERDATATYPE"
    } else {
        "OBJECT"
    }
}

/// The type `[schema.]name` of the current database that a user made, alias or table type.
fn type_named(runner: &Runner<'_>, name: &str) -> Option<(Arc<DatabaseEntry>, Arc<TypeDef>)> {
    let entry = runner.info.current_database();
    let picture = runner.info.picture(&entry);
    let found = picture.type_by_id(type_number(&picture, name)?)?.clone();
    Some((entry, found))
}

/// Columns and parameters keep the type, which they know by its number; text that names it is not changed.
fn rename_type(runner: &mut Runner<'_>, old: &str, new: &str) -> keel_types::Result<()> {
    let (entry, ty) = type_named(runner, old).ok_or_else(|| wrong_kind("USERDATATYPE"))?;
    let picture = runner.info.picture(&entry);
    let other = picture.user_type(ty.schema_id, new);
    if other.is_some_and(|other| other.user_type_id != ty.user_type_id) {
        return Err(name_in_use(new, "USERDATATYPE"));
    }
    let uses = |m: &&Arc<ModuleDef>| {
        let declared = crate::declared::of_module(runner.info, &entry, &picture, m);
        crate::modules::is_schema_bound(m) && declared.all().any(|used| used.user_type_id == ty.user_type_id)
    };
    if picture.modules().any(|m| uses(&m)) {
        return Err(errors::enforced_dependencies(old));
    }
    let key = CatalogKey { class: object_class::TYPE, id: ty.user_type_id };
    runner.change(&entry, CatalogOp::Remove(key))?;
    let renamed = TypeDef { name: new.to_owned(), ..(*ty).clone() };
    runner.put(&entry, CatalogObject::Type(Arc::new(renamed)))
}

fn name_in_use(new: &str, kind: &str) -> Box<SqlError> {
    let text = format!(
        "Error: The new name '{new}' is already in use as a {kind} name and would cause a duplicate that is not permitted."
    );
    SqlError::new(15335, 11, 1, text)
}

fn ambiguous(runner: &Runner<'_>, name: &str) -> Box<SqlError> {
    let database = runner.info.current_database().name();
    let text = format!(
        "No item by the name of '{name}' could be found in the current database '{database}', given that @itemtype was input as '(null)'."
    );
    SqlError::new(15225, 11, 1, text)
}

fn wrong_kind(kind: &str) -> Box<SqlError> {
    let text =
        format!("Either the parameter @objname is ambiguous or the claimed @objtype ({kind}) is wrong.");
    SqlError::new(15248, 11, 1, text)
}

fn rename_object(runner: &mut Runner<'_>, old: &str, new: &str) -> keel_types::Result<()> {
    let (entry, named) = find_named(runner.info, old).ok_or_else(|| ambiguous(runner, old))?;
    let picture = runner.info.picture(&entry);
    // The same name in other letters is its own.
    let id = id_of(&named);
    let taken = |schema| picture.named(schema, new).is_some_and(|other| id_of(&other) != id);
    let exists = || name_in_use(new, "OBJECT");
    let is_bound = |id| !runner.bound_to(&entry, id).is_empty();
    match named {
        Named::Table(t) => {
            if taken(t.schema_id) {
                return Err(exists());
            }
            if is_bound(t.object_id) {
                return Err(errors::enforced_dependencies(old));
            }
            if !t.captures.is_empty() {
                return Err(crate::ddl::table_renamed());
            }
            runner.lock_schema(t.database, t.object_id)?;
            let mut t = (*t).clone();
            t.name = new.to_owned();
            runner.change(
                &entry,
                CatalogOp::Remove(CatalogKey { class: object_class::TABLE, id: t.object_id }),
            )?;
            runner.replace_table(t).map(|_| ())
        }
        Named::Module(m) => {
            if taken(m.schema_id) {
                return Err(exists());
            }
            if is_bound(m.object_id) {
                return Err(errors::enforced_dependencies(old));
            }
            let what = ("rename", crate::ddl::kind_word(m.kind), old);
            crate::plan_guides::refuse_guided(runner, &entry, what, m.object_id)?;
            let mut m = (*m).clone();
            m.name = new.to_owned();
            runner.put(&entry, CatalogObject::Module(Arc::new(m)))
        }
        Named::Policy(p) => {
            if taken(p.schema_id) {
                return Err(exists());
            }
            let mut p = (*p).clone();
            p.name = new.to_owned();
            runner.put(&entry, CatalogObject::Policy(Arc::new(p)))
        }
        Named::Bindable(b) => {
            if taken(b.schema_id) {
                return Err(exists());
            }
            let key = CatalogKey { class: object_class::BINDABLE, id: b.object_id };
            runner.change(&entry, CatalogOp::Remove(key))?;
            let mut b = (*b).clone();
            b.name = new.to_owned();
            runner.put(&entry, CatalogObject::Bindable(Arc::new(b)))
        }
        Named::Sequence(s) => {
            if taken(s.schema_id) {
                return Err(exists());
            }
            let mut s = (*s).clone();
            s.name = new.to_owned();
            runner.put(&entry, CatalogObject::Sequence(Arc::new(s)))
        }
        Named::Synonym(s) => {
            if taken(s.schema_id) {
                return Err(exists());
            }
            let mut s = (*s).clone();
            s.name = new.to_owned();
            runner.put(&entry, CatalogObject::Synonym(Arc::new(s)))
        }
        Named::Queue(q) => {
            if taken(q.schema_id) {
                return Err(exists());
            }
            let mut q = (*q).clone();
            q.name = new.to_owned();
            runner.put(&entry, CatalogObject::Queue(Arc::new(q)))
        }
        Named::Constraint(t, id) => {
            if taken(t.schema_id) {
                return Err(exists());
            }
            let mut t = (*t).clone();
            t.indexes.iter_mut().filter(|i| i.constraint_id == id).for_each(|i| i.name = new.to_owned());
            t.checks.iter_mut().filter(|c| c.object_id == id).for_each(|c| c.name = new.to_owned());
            t.foreign_keys.iter_mut().filter(|k| k.object_id == id).for_each(|k| k.name = new.to_owned());
            let defaults = t.columns.iter_mut().filter_map(|c| c.default.as_mut());
            defaults.filter(|d| d.object_id == id).for_each(|d| d.name = new.to_owned());
            runner.replace_table(t).map(|_| ())
        }
    }
}

/// The table of `[database.][schema.]table.part`, or the rows of an indexed view, and the part.
pub(crate) fn owner_of_part(runner: &Runner<'_>, name: &str) -> keel_types::Result<(Arc<TableDef>, String)> {
    let mut parts = crate::functions::split_name(name);
    let part = parts.pop().ok_or_else(|| ambiguous(runner, name))?;
    let quoted: Vec<String> = parts.iter().map(|p| quote_name(p)).collect();
    let found = find_named(runner.info, &quoted.join("."));
    let found = match found {
        Some((entry, Named::Table(t))) => Some((entry, t)),
        Some((entry, Named::Module(view))) => view.rows.clone().map(|rows| (entry, rows)),
        _ => None,
    };
    let Some((entry, t)) = found else { return Err(ambiguous(runner, name)) };
    let here = entry.id == runner.info.current_database().id || t.object_id < 0;
    if here { Ok((t, part)) } else { Err(ambiguous(runner, name)) }
}

fn rename_part(runner: &mut Runner<'_>, old: &str, new: &str, kind: &str) -> keel_types::Result<()> {
    let column = kind == "COLUMN";
    let (t, part) = owner_of_part(runner, old).map_err(|_| wrong_kind(kind))?;
    if column && !t.view_of.is_empty() {
        return Err(wrong_kind(kind));
    }
    runner.lock_schema(t.database, t.object_id)?;
    let mut t = (*t).clone();
    let taken = if column {
        t.columns.iter().any(|c| crate::views::same(&c.name, new))
    } else {
        let indexes = t.indexes.iter().map(|i| &i.name);
        indexes.chain(t.statistics.iter().map(|s| &s.name)).any(|name| crate::views::same(name, new))
    };
    if taken && !crate::views::same(&part, new) {
        return Err(name_in_use(new, kind));
    }
    if column && !t.captures.is_empty() {
        return Err(crate::ddl::column_renamed(&part));
    }
    if column && (has_dependents(&t, &part) || t.history_of.is_some()) {
        return Err(errors::enforced_dependencies(old));
    }
    if column && bound_to_column(runner, &t, &part) {
        return Err(errors::enforced_dependencies(old));
    }
    if column && let Some(history) = runner.history_of(&t) {
        runner.lock_schema(history.database, history.object_id)?;
        let mut history = (*history).clone();
        for c in history.columns.iter_mut().filter(|c| crate::views::same(&c.name, &part)) {
            c.name = new.to_owned();
        }
        runner.replace_table(history)?;
    }
    let is_part = |name: &str| crate::views::same(name, &part);
    let found = match kind {
        "COLUMN" => t.columns.iter_mut().map(|c| &mut c.name).find(|name| is_part(name)),
        "STATISTICS" => t.statistics.iter_mut().map(|s| &mut s.name).find(|name| is_part(name)),
        _ => t.indexes.iter_mut().map(|i| &mut i.name).find(|name| is_part(name)),
    };
    *found.ok_or_else(|| wrong_kind(kind))? = new.to_owned();
    runner.replace_table(t).map(|_| ())
}

/// Whether a module WITH SCHEMABINDING names the column.
fn bound_to_column(runner: &Runner<'_>, t: &TableDef, column: &str) -> bool {
    let id = t.columns.iter().find(|c| crate::views::same(&c.name, column)).map(|c| c.column_id);
    let entry = runner.info.engine.database_by_id(t.database);
    let (Some(id), Some(entry)) = (id, entry) else { return false };
    runner.bound_to(&entry, t.object_id).iter().any(|bound| bound.columns.contains(&id))
}

/// Whether a check, a computed column or an index's filter names the column.
fn has_dependents(t: &TableDef, column: &str) -> bool {
    let names = |text: &str| crate::ddl::mentions_column(text, column);
    t.checks.iter().any(|c| names(&c.text))
        || t.columns.iter().any(|c| c.computed.as_ref().is_some_and(|c| names(&c.text)))
        || t.indexes.iter().any(|i| i.filter.as_deref().is_some_and(names))
}
