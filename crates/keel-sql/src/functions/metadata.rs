//! Functions about databases and their objects.

use super::{int, number, string, text};
use crate::catalog::{DBO, Named, Picture, fold};
use crate::engine::{DatabaseEntry, TEMPDB};
use crate::session::info::Info;
use crate::session::scope::Scope;
use crate::views::partitions::CATALOG_OBJECT;
use keel_base::DatabaseId;
use keel_query::catalog::{Catalog as _, ColumnDef, IndexDef, IndexKind, ModuleKind, ObjectId, TableDef};
use keel_query::scope::NameParts;
use keel_types::error::Result;
use keel_types::{Decimal, SqlType, Value};
use std::sync::Arc;

fn current(info: &Info) -> Arc<Picture> {
    info.seen_picture(&info.current_database())
}

fn in_database(info: &Info, id: Option<i64>) -> Option<(Arc<DatabaseEntry>, Arc<Picture>)> {
    let entry = match id {
        None => info.current_database(),
        Some(id) => info.database_shown_as(DatabaseId(u32::try_from(id).ok()?))?,
    };
    let picture = info.seen_picture(&entry);
    Some((entry, picture))
}

/// Splits `[a].b."c"` into parts, innermost last.
#[must_use]
pub fn split_name(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = name.trim().chars().peekable();
    while let Some(c) = chars.next() {
        let close = match c {
            '[' => ']',
            '"' => '"',
            '.' => {
                parts.push(String::new());
                continue;
            }
            c => {
                parts.last_mut().expect("never empty").push(c);
                continue;
            }
        };
        while let Some(c) = chars.next() {
            if c == close {
                if chars.peek() != Some(&close) {
                    break;
                }
                chars.next();
            }
            parts.last_mut().expect("never empty").push(c);
        }
    }
    parts
}

/// What a name in a string stands for.
pub fn find(info: &Info, name: &str) -> Option<(Arc<DatabaseEntry>, Named)> {
    let parts = split_name(name);
    let part =
        |back: usize| parts.len().checked_sub(back).map(|i| parts[i].as_str()).filter(|s| !s.is_empty());
    let object = part(1)?;
    if object.starts_with('#') && !object.starts_with("##") {
        let temp = info.temp.borrow();
        let table = temp.find(object).map(|t| Named::Table(Arc::clone(t)));
        let procedure = || temp.find_procedure(object).map(|p| Named::Module(Arc::clone(&p.module)));
        return Some((info.engine.database_by_id(TEMPDB)?, table.or_else(procedure)?));
    }
    let mut scope = Scope::bare(info, info.current_database().id);
    scope.identity.schema_id = match info.module() {
        Some(module) if module.object_id != 0 => module.schema_id,
        _ => info.default_schema(&info.current_database()),
    };
    scope.resolve_unfollowed(NameParts { database: part(3), schema: part(2), object })
}

/// What a name in a string stands for, if the session's user may know of it.
pub fn find_seen(info: &Info, name: &str) -> Option<(Arc<DatabaseEntry>, Named)> {
    find(info, name).filter(|(entry, named)| is_seen(info, entry, named))
}

/// Whether the session's user sees it; what is the session's own they do.
fn is_seen(info: &Info, entry: &Arc<DatabaseEntry>, named: &Named) -> bool {
    let picture = info.seen_picture(entry);
    if Arc::ptr_eq(&picture, &info.picture(entry)) {
        return true;
    }
    match named {
        Named::Constraint(table, _) => picture.table_by_id(table.object_id).is_some(),
        named => entry.id == TEMPDB || picture.objects().any(|o| o.object_id == id_of(named)),
    }
}

/// `$PARTITION`: the function's database and number, the value.
pub(super) fn partition_number(info: &Info, args: &[Value]) -> Result<Value> {
    let [Value::Int(database), Value::Int(function), value] = args else { return Ok(Value::Null) };
    let database = u32::try_from(*database).ok().map(keel_base::DatabaseId);
    let entry = database.and_then(|id| info.engine.database_by_id(id));
    let picture = entry.map(|e| info.picture(&e));
    let function = picture.as_ref().and_then(|p| p.partition_function(i32::try_from(*function).ok()?));
    Ok(function.map_or(Value::Null, |f| Value::Int(f.partition_of(value) as i64)))
}

fn id_of(named: &Named) -> ObjectId {
    match named {
        Named::Table(t) => t.object_id,
        Named::Module(m) => m.object_id,
        Named::Synonym(s) => s.object_id,
        Named::Bindable(b) => b.object_id,
        Named::Sequence(s) => s.object_id,
        Named::Policy(p) => p.object_id,
        Named::Queue(q) => q.object_id,
        Named::Constraint(_, id) => *id,
    }
}

pub(super) fn object_id(info: &Info, args: &[Value]) -> Result<Value> {
    let Some(name) = text(args, 0) else { return Ok(Value::Null) };
    let Some((entry, named)) = find_seen(info, name) else {
        let parts = split_name(name);
        let schema = parts.len().checked_sub(2).map(|i| parts[i].as_str()).filter(|s| !s.is_empty());
        let object = parts.last().map_or("", String::as_str);
        let shipped = shown_in_msdb(info, &parts).map(|t| (t.object_id, "U"));
        let shipped = shipped.or_else(|| crate::views::shipped_object(schema, object));
        let fits = |kind: &str| text(args, 1).is_none_or(|k| k.trim().eq_ignore_ascii_case(kind.trim()));
        return Ok(int(shipped.filter(|(_, kind)| fits(kind)).map(|(id, _)| i64::from(id))));
    };
    let id = id_of(&named);
    if let Some(kind) = text(args, 1) {
        let picture = info.picture(&entry);
        let temporary = matches!(&named, Named::Module(m) if m.name.starts_with('#')).then_some("P");
        let actual = picture.objects().find(|o| o.object_id == id).map(|o| o.kind.trim()).or(temporary);
        let matches =
            actual.map_or(id < 0 && kind.eq_ignore_ascii_case("U"), |a| a.eq_ignore_ascii_case(kind.trim()));
        if !matches {
            return Ok(Value::Null);
        }
    }
    Ok(Value::Int(i64::from(id)))
}

/// The table of the system's in `msdb` that a name stands for.
fn shown_in_msdb(info: &Info, parts: &[String]) -> Option<&'static Arc<TableDef>> {
    let part =
        |back: usize| parts.len().checked_sub(back).map(|i| parts[i].as_str()).filter(|s| !s.is_empty());
    let database = match part(3) {
        Some(name) => info.engine.database(name)?.id,
        None => info.current_database().id,
    };
    let here = part(2).is_none_or(|schema| schema.eq_ignore_ascii_case("dbo"));
    let object = part(1).filter(|_| here)?;
    crate::views::msdb::shown(info, database).iter().find(|t| t.name.eq_ignore_ascii_case(object))
}

/// An object that a function is asked about.
pub(super) struct Found {
    pub name: String,
    pub schema_id: i32,
    pub kind: &'static str,
    pub parent: ObjectId,
}

pub(super) fn object(info: &Info, id: Option<i64>, database: Option<i64>) -> Option<(Arc<Picture>, Found)> {
    let id = i32::try_from(id?).ok()?;
    let (entry, picture) = in_database(info, database)?;
    if id < 0 {
        if let Some(t) = info.temp.borrow().by_id(id) {
            let found = Found { name: t.name.clone(), schema_id: DBO, kind: "U", parent: 0 };
            return Some((picture, found));
        }
        let (name, kind) = crate::views::shipped_name(id)?;
        let found = Found { name, schema_id: crate::catalog::SYS, kind: kind.trim_end(), parent: 0 };
        return Some((picture, found));
    }
    if let Some(t) = crate::views::msdb::shown(info, entry.id).iter().find(|t| t.object_id == id) {
        return Some((picture, Found { name: t.name.clone(), schema_id: DBO, kind: "U", parent: 0 }));
    }
    let found = picture.objects().find(|o| o.object_id == id).map(|o| Found {
        name: o.name.to_owned(),
        schema_id: o.schema_id,
        kind: o.kind.trim(),
        parent: o.parent,
    })?;
    Some((picture, found))
}

pub(super) fn object_name(info: &Info, args: &[Value]) -> Result<Value> {
    if number(args, 0) == Some(CATALOG_OBJECT.into()) {
        return Ok(string(Some("sysrscols")));
    }
    Ok(string(object(info, number(args, 0), number(args, 1)).map(|(_, o)| o.name)))
}

pub(super) fn object_schema_name(info: &Info, args: &[Value]) -> Result<Value> {
    if number(args, 0) == Some(CATALOG_OBJECT.into()) {
        return Ok(string(Some("sys")));
    }
    let found = object(info, number(args, 0), number(args, 1));
    Ok(string(found.and_then(|(p, o)| p.schema_name(o.schema_id))))
}

pub(super) fn object_definition(info: &Info, args: &[Value]) -> Result<Value> {
    let picture = current(info);
    let Some(id) = number(args, 0).and_then(|n| i32::try_from(n).ok()) else { return Ok(Value::Null) };
    if let Some(m) = picture.module_by_id(id) {
        return Ok(picture.text_of(m).map_or(Value::Null, Value::str));
    }
    if let Some(bindable) = picture.bindables().find(|b| b.object_id == id) {
        return Ok(Value::str(bindable.text.as_str()));
    }
    for t in picture.tables() {
        if let Some(c) = t.checks.iter().find(|c| c.object_id == id) {
            return Ok(Value::str(c.text.as_str()));
        }
        if let Some(d) = t.columns.iter().filter_map(|c| c.default_constraint()).find(|d| d.object_id == id) {
            return Ok(Value::str(d.text.as_str()));
        }
    }
    Ok(Value::Null)
}

pub(super) fn db_id(info: &Info, args: &[Value]) -> Result<Value> {
    if args.is_empty() {
        return Ok(Value::Int(i64::from(info.shown(&info.current_database()).0.0)));
    }
    Ok(int(text(args, 0).and_then(|n| info.find_database(n)).map(|e| i64::from(info.shown(&e).0.0))))
}

pub(super) fn db_name(info: &Info, args: &[Value]) -> Result<Value> {
    let id = number(args, 0).filter(|_| !args.is_empty());
    if !args.is_empty() && id.is_none() {
        return Ok(Value::Null);
    }
    Ok(string(in_database(info, id.filter(|id| *id != 0)).map(|(e, _)| info.shown(&e).1.to_string())))
}

pub(super) fn original_db_name(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::str(info.shared.login.database.as_str()))
}

pub(super) fn schema_id(info: &Info, args: &[Value]) -> Result<Value> {
    if args.is_empty() {
        return Ok(Value::Int(info.default_schema(&info.current_database()).into()));
    }
    Ok(int(text(args, 0).and_then(|n| current(info).schema_id(n)).map(i64::from)))
}

pub(super) fn schema_name(info: &Info, args: &[Value]) -> Result<Value> {
    if args.is_empty() {
        let schema = info.default_schema(&info.current_database());
        return Ok(string(current(info).schema_name(schema)));
    }
    Ok(string(number(args, 0).and_then(|n| current(info).schema_name(n as i32))))
}

/// `user_type_id` of a type by name.
#[must_use]
pub fn type_number(picture: &Picture, name: &str) -> Option<i32> {
    let parts = split_name(name);
    let last = parts.last()?;
    let system = keel_types::ty::catalog::system_types().iter().find(|t| t.name.eq_ignore_ascii_case(last));
    let of_system = parts.len() == 1 || parts[parts.len() - 2].eq_ignore_ascii_case("sys");
    if let (true, Some(system)) = (of_system, system) {
        return Some(system.user_type_id);
    }
    let schema = if parts.len() > 1 { picture.schema_id(&parts[parts.len() - 2])? } else { DBO };
    picture.user_type(schema, last).map(|t| t.user_type_id)
}

/// The documents of an XML schema collection: schema, name, and the target namespace wanted.
pub(super) fn xml_schema_namespace(info: &Info, args: &[Value]) -> Result<Value> {
    let picture = current(info);
    let (schema, name) = (text(args, 0).unwrap_or(""), text(args, 1).unwrap_or(""));
    let found = picture.schema_id(schema).and_then(|schema| picture.xml_collection_named(schema, name));
    let Some(found) = found else {
        if schema.eq_ignore_ascii_case("sys") && name.eq_ignore_ascii_case("sys") {
            return Err(crate::errors::builtin_xml_schemata());
        }
        return Err(keel_query::errors::no_xml_collection(&format!("{schema}.{name}")));
    };
    let namespace = text(args, 2);
    match keel_query::xml_collection::components::document_of(found, namespace) {
        Some(documents) => Ok(Value::str(documents)),
        None => Err(crate::errors::no_xml_namespace(namespace.unwrap_or(""), &found.name)),
    }
}

pub(super) fn type_id(info: &Info, args: &[Value]) -> Result<Value> {
    Ok(int(text(args, 0).and_then(|n| type_number(&current(info), n)).map(i64::from)))
}

pub(super) fn type_name(info: &Info, args: &[Value]) -> Result<Value> {
    let Some(id) = number(args, 0) else { return Ok(Value::Null) };
    let system = keel_types::ty::catalog::system_types().iter().find(|t| i64::from(t.user_type_id) == id);
    if let Some(system) = system {
        return Ok(Value::str(system.name));
    }
    Ok(string(current(info).type_by_id(id as i32).map(|t| t.name.clone())))
}

pub(super) fn type_property(info: &Info, args: &[Value]) -> Result<Value> {
    let picture = current(info);
    let name = text(args, 0).unwrap_or("");
    let Some(id) = type_number(&picture, name) else { return Ok(Value::Null) };
    let last = split_name(name).pop().unwrap_or_default();
    let alias = picture.type_by_id(id);
    let ty = match alias {
        Some(alias) => alias.base,
        None => keel_types::ty::parse::parse_type(&last, &[], keel_types::ty::parse::TypeSite::default())?,
    };
    let nullable = alias.map_or(!last.eq_ignore_ascii_case("sysname"), |alias| alias.nullable);
    Ok(match text(args, 1).unwrap_or("").to_ascii_lowercase().as_str() {
        "precision" if alias.is_none() => Value::Int(greatest_precision(&last, ty)),
        "precision" => Value::Int(precision(ty)),
        "scale" => scale(ty),
        "allowsnull" => Value::Int(i64::from(nullable)),
        "usesansitrim" | "ownerid" => Value::Int(1),
        _ => Value::Null,
    })
}

/// What a type may have at most, where a length or precision is given with it.
fn greatest_precision(name: &str, ty: SqlType) -> i64 {
    match ty {
        SqlType::NVarChar(_) if name.eq_ignore_ascii_case("sysname") => 128,
        SqlType::Char(_) | SqlType::VarChar(_) | SqlType::Binary(_) | SqlType::VarBinary(_) => 8000,
        SqlType::NChar(_) | SqlType::NVarChar(_) => 4000,
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => 38,
        _ => precision(ty),
    }
}

fn table(info: &Info, id: Option<i64>) -> Option<Arc<TableDef>> {
    let id = i32::try_from(id?).ok()?;
    if let Some(t) = info.temp.borrow().by_id(id) {
        return Some(Arc::clone(t));
    }
    current(info).stored_by_id(id)
}

pub(super) fn col_name(info: &Info, args: &[Value]) -> Result<Value> {
    let id = number(args, 1).unwrap_or(0);
    let found = table(info, number(args, 0));
    Ok(string(
        found.and_then(|t| t.columns.iter().find(|c| i64::from(c.column_id) == id).map(|c| c.name.clone())),
    ))
}

fn named_table(info: &Info, name: &str) -> Option<Arc<TableDef>> {
    match find_seen(info, name)?.1 {
        Named::Table(t) => Some(t),
        Named::Module(view) => view.rows.clone(),
        _ => None,
    }
}

pub(super) fn col_length(info: &Info, args: &[Value]) -> Result<Value> {
    let column = fold(text(args, 1).unwrap_or(""));
    let length = |columns: &[ColumnDef]| {
        let found = columns.iter().find(|c| fold(&c.name) == column);
        int(found.map(|c| i64::from(crate::views::facts(c.ty).max_length)))
    };
    if let Some(t) = text(args, 0).and_then(|n| named_table(info, n)) {
        return Ok(length(&t.columns));
    }
    let view = object_id(info, &args[..1])?.as_int();
    Ok(length(&view.map(|id| crate::views::view_columns(info, id)).unwrap_or_default()))
}

pub(super) fn column_property(info: &Info, args: &[Value]) -> Result<Value> {
    let name = fold(text(args, 1).unwrap_or(""));
    let property = text(args, 2).unwrap_or("").to_ascii_lowercase();
    let of = |columns: &[ColumnDef], indexes: &[IndexDef]| {
        let column = columns.iter().find(|c| fold(&c.name) == name);
        column.map_or(Value::Null, |c| one_column_property(columns, indexes, c, &property))
    };
    if let Some(value) = view_column_property(info, number(args, 0), &name, &property) {
        return Ok(value);
    }
    if let Some(t) = table(info, number(args, 0)) {
        let column = t.columns.iter().find(|c| fold(&c.name) == name);
        let searched = column.and_then(|c| super::full_text::column_property(&t, c.column_id, &property));
        if let Some(value) = searched {
            return Ok(value);
        }
        let period = t.columns.iter().position(|c| fold(&c.name) == name);
        let period = period.and_then(|i| Some((t.period_part(i)?, t.is_hidden(i))));
        return Ok(match (property.as_str(), period) {
            ("generatedalwaystype", Some((part, _))) => Value::Int(part as i64 + 1),
            ("ishidden", Some((_, hidden))) => Value::Int(i64::from(hidden)),
            _ => of(&t.columns, &t.indexes),
        });
    }
    let picture = info.picture(&info.current_database());
    let mut behind_types = picture.types().filter_map(|t| t.table.as_ref());
    if let Some(t) = behind_types.find(|t| Some(i64::from(t.object_id)) == number(args, 0)) {
        return Ok(of(&t.columns, &t.indexes));
    }
    match number(args, 0).map(|id| crate::views::view_columns(info, id)).unwrap_or_default() {
        columns if columns.is_empty() => parameter_property(info, args),
        columns => Ok(of(&columns, &[])),
    }
}

/// What of a view's column decides whether it can be in an index; `None` for other columns and properties.
fn view_column_property(info: &Info, id: Option<i64>, name: &str, property: &str) -> Option<Value> {
    if !matches!(property, "isdeterministic" | "isprecise" | "isindexable") {
        return None;
    }
    let entry = info.current_database();
    let module = info.picture(&entry).module_by_id(i32::try_from(id?).ok()?).cloned()?;
    if module.kind != ModuleKind::View {
        return None;
    }
    let shape = crate::ddl::shape_of(info, &entry, &module).ok()?;
    let column = shape.columns.into_iter().find(|c| fold(&c.name) == name)?;
    let key =
        column.ty.is_key_type() && column.deterministic && (!column.imprecise || column.origin.is_some());
    let bound = crate::modules::is_schema_bound(&module);
    Some(Value::Int(i64::from(match property {
        "isdeterministic" => bound && column.deterministic,
        "isprecise" => bound && !column.imprecise,
        _ => bound && key,
    })))
}

/// Digits, or characters of strings: -1 of the large types.
fn precision(ty: SqlType) -> i64 {
    let facts = crate::views::facts(ty);
    match ty {
        SqlType::UniqueIdentifier => 16,
        _ => facts.characters.map_or(i64::from(facts.precision), i64::from),
    }
}

/// NULL of types that are not counted in digits.
fn scale(ty: SqlType) -> Value {
    let facts = crate::views::facts(ty);
    let none = matches!(ty, SqlType::Float | SqlType::Real | SqlType::UniqueIdentifier | SqlType::Bit);
    if none || facts.characters.is_some() { Value::Null } else { Value::Int(i64::from(facts.scale)) }
}

fn one_column_property(columns: &[ColumnDef], indexes: &[IndexDef], c: &ColumnDef, property: &str) -> Value {
    let flag = |b: bool| Value::Int(i64::from(b));
    let facts = crate::views::facts(c.ty);
    match property {
        "allowsnull" => flag(c.nullable),
        "columnid" => Value::Int(i64::from(c.column_id)),
        "isidentity" => flag(c.identity.is_some()),
        "iscomputed" => flag(c.computed.is_some()),
        "isdeterministic" => c
            .computed
            .as_ref()
            .map_or(Value::Null, |x| flag(crate::ddl::determinism::is_deterministic(&x.text))),
        "ispersisted" => flag(c.computed.as_ref().is_some_and(|x| x.persisted)),
        "isindexable" => flag(facts.max_length != -1),
        "ismasked" => flag(c.mask.is_some()),
        "isrowguidcol" => flag(c.rowguid),
        "issparse"
        | "iscolumnset"
        | "ishidden"
        | "isidnotforrepl"
        | "generatedalwaystype"
        | "isxmlindexable"
        | "isoutparam"
        | "systemdataaccess"
        | "userdataaccess" => flag(false),
        "isprimarykey" => {
            flag(indexes.iter().any(|i| i.is_primary_key && i.key.iter().any(|k| k.column_id == c.column_id)))
        }
        "precision" => Value::Int(precision(c.ty)),
        "scale" => scale(c.ty),
        "charmaxlen" => facts.characters.map_or(Value::Null, |n| Value::Int(i64::from(n))),
        "usesansitrim" => flag(true),
        "iscursortype" => flag(false),
        "isprecise" | "issystemverified" => c.computed.as_ref().map_or(Value::Null, |_| {
            flag(property == "issystemverified" || !matches!(c.ty, SqlType::Real | SqlType::Float))
        }),
        "ordinal" => {
            Value::Int(columns.iter().position(|o| o.column_id == c.column_id).map_or(0, |i| i as i64 + 1))
        }
        _ => Value::Null,
    }
}

/// `COLUMNPROPERTY` of a procedure's or function's parameter.
fn parameter_property(info: &Info, args: &[Value]) -> Result<Value> {
    let entry = info.current_database();
    let picture = info.picture(&entry);
    let id = number(args, 0).and_then(|id| i32::try_from(id).ok());
    let Some(module) = id.and_then(|id| picture.module_by_id(id)) else { return Ok(Value::Null) };
    let program = crate::modules::program(info, &entry, module)?;
    let name = fold(text(args, 1).unwrap_or(""));
    let Some(at) = program.parameters.iter().position(|p| fold(&p.name) == name) else {
        return Ok(Value::Null);
    };
    let (parameter, facts) = (&program.parameters[at], crate::views::facts(program.parameters[at].ty));
    Ok(match text(args, 2).unwrap_or("").to_ascii_lowercase().as_str() {
        "allowsnull" | "usesansitrim" => Value::Int(1),
        "isoutparam" => Value::Int(i64::from(parameter.output)),
        "iscursortype" => Value::Int(i64::from(parameter.cursor)),
        "columnid" | "ordinal" => Value::Int(at as i64 + 1),
        "precision" => Value::Int(precision(parameter.ty)),
        "scale" => scale(parameter.ty),
        "charmaxlen" => facts.characters.map_or(Value::Null, |n| Value::Int(i64::from(n))),
        _ => Value::Null,
    })
}

pub(super) fn index_col(info: &Info, args: &[Value]) -> Result<Value> {
    let found = text(args, 0).and_then(|n| named_table(info, n));
    let (index, position) = (number(args, 1).unwrap_or(0), number(args, 2).unwrap_or(0));
    Ok(string(found.and_then(|t| {
        let index = t.indexes.iter().find(|i| i64::from(i.index_id) == index)?;
        let key = index.key.get(usize::try_from(position).ok()?.checked_sub(1)?)?;
        t.columns.iter().find(|c| c.column_id == key.column_id).map(|c| c.name.clone())
    })))
}

pub(super) fn index_property(info: &Info, args: &[Value]) -> Result<Value> {
    let Some(t) = table(info, number(args, 0)) else { return Ok(Value::Null) };
    let name = fold(text(args, 1).unwrap_or(""));
    let flag = |b: bool| Value::Int(i64::from(b));
    let Some(i) = t.indexes.iter().find(|i| fold(&i.name) == name) else {
        // Statistics are asked for as if they were an index.
        let Some(s) = t.statistics.iter().find(|s| fold(&s.name) == name) else { return Ok(Value::Null) };
        return Ok(match text(args, 2).unwrap_or("").to_ascii_lowercase().as_str() {
            "indexid" => Value::Int(i64::from(s.stats_id)),
            "isstatistics" => flag(true),
            "isautostatistics" | "isunique" | "isclustered" | "isdisabled" | "ishypothetical" => flag(false),
            _ => Value::Null,
        });
    };
    Ok(match text(args, 2).unwrap_or("").to_ascii_lowercase().as_str() {
        "indexid" => Value::Int(i64::from(i.index_id)),
        "isunique" => flag(i.unique),
        "isclustered" => flag(i.kind == IndexKind::Clustered),
        "isdisabled" => flag(i.disabled && i.hypothetical.is_none()),
        "ishypothetical" => flag(i.hypothetical.is_some()),
        "isstatistics" | "isautostatistics" | "iscolumnstore" => flag(false),
        "ispadindex" => flag(i.pages.padded),
        "ispagelockdisallowed" => flag(i.pages.no_page_locks),
        "isrowlockdisallowed" => flag(i.pages.no_row_locks),
        "isoptimizedforsequentialkey" => flag(i.pages.sequential_key),
        "isfulltextkey" => flag(t.full_text.as_ref().is_some_and(|index| index.key_index == i.index_id)),
        "indexfillfactor" => Value::Int(i64::from(i.fill_factor)),
        "indexdepth" => Value::Int(1),
        _ => Value::Null,
    })
}

pub(super) fn index_key_property(info: &Info, args: &[Value]) -> Result<Value> {
    let Some(t) = table(info, number(args, 0)) else { return Ok(Value::Null) };
    let index = number(args, 1).unwrap_or(0);
    let at = number(args, 2).and_then(|n| usize::try_from(n - 1).ok());
    let key = t.indexes.iter().find(|i| i64::from(i.index_id) == index).and_then(|i| i.key.get(at?));
    Ok(match (text(args, 3).unwrap_or("").to_ascii_lowercase().as_str(), key) {
        ("columnid", Some(k)) => Value::Int(i64::from(k.column_id)),
        ("isdescending", Some(k)) => Value::Int(i64::from(k.descending)),
        _ => Value::Null,
    })
}

fn number38(n: Option<i64>) -> Value {
    n.map_or(Value::Null, |n| Value::Decimal(Decimal::new(i128::from(n), 0)))
}

pub(super) fn ident_current(info: &Info, args: &[Value]) -> Result<Value> {
    let Some(t) = text(args, 0).and_then(|n| named_table(info, n)) else { return Ok(Value::Null) };
    let Some((seed, _)) = t.columns.iter().find_map(|c| c.identity) else { return Ok(Value::Null) };
    let entry = info.engine.database_by_id(t.database);
    Ok(number38(entry.map(|e| e.current_identity(t.object_id).unwrap_or(seed))))
}

pub(super) fn ident_seed(info: &Info, args: &[Value]) -> Result<Value> {
    let found = text(args, 0).and_then(|n| named_table(info, n));
    Ok(number38(found.and_then(|t| t.columns.iter().find_map(|c| c.identity)).map(|i| i.0)))
}

pub(super) fn ident_incr(info: &Info, args: &[Value]) -> Result<Value> {
    let found = text(args, 0).and_then(|n| named_table(info, n));
    Ok(number38(found.and_then(|t| t.columns.iter().find_map(|c| c.identity)).map(|i| i.1)))
}

pub(super) fn file_name(info: &Info, args: &[Value]) -> Result<Value> {
    let entry = info.current_database();
    let name = entry.file_name();
    Ok(match number(args, 0) {
        Some(1) => Value::str(&*name),
        Some(2) if entry.snapshot().is_none() => Value::str(format!("{name}_log")),
        _ => Value::Null,
    })
}

pub(super) fn file_id(info: &Info, args: &[Value]) -> Result<Value> {
    let name = info.current_database().file_name();
    let asked = text(args, 0).unwrap_or("");
    Ok(if crate::views::same(asked, &name) {
        Value::Int(1)
    } else if info.current_database().snapshot().is_none()
        && crate::views::same(asked, &format!("{name}_log"))
    {
        Value::Int(2)
    } else {
        Value::Null
    })
}

/// Pages of the log that hold what is still needed are not counted apart: the whole file is in use.
pub(super) fn file_property(info: &Info, args: &[Value]) -> Result<Value> {
    let entry = info.current_database();
    let Value::Int(file) = file_id(info, args)? else { return Ok(Value::Null) };
    let stats = entry.store.stats();
    let pages = match file {
        1 => stats.data_pages.saturating_sub(stats.data_pages_free),
        _ => stats.log_file_bytes / keel_store::base::PAGE_SIZE as u64,
    };
    Ok(match text(args, 1).unwrap_or("").to_ascii_lowercase().as_str() {
        "isreadonly" => Value::Int(i64::from(info.picture(&entry).settings().read_only)),
        "isprimaryfile" => Value::Int(i64::from(file == 1)),
        "islogfile" => Value::Int(i64::from(file == 2)),
        "spaceused" => Value::Int(pages as i64),
        _ => Value::Null,
    })
}

pub(super) fn filegroup_id(_: &Info, args: &[Value]) -> Result<Value> {
    let primary = text(args, 0).is_some_and(|name| crate::views::same(name, "PRIMARY"));
    Ok(if primary { Value::Int(1) } else { Value::Null })
}

/// `FILEGROUPPROPERTY`: PRIMARY is the only one.
pub(super) fn filegroup_property(info: &Info, args: &[Value]) -> Result<Value> {
    if filegroup_id(info, args)?.is_null() {
        return Ok(Value::Null);
    }
    Ok(match text(args, 1).unwrap_or("").to_ascii_lowercase().as_str() {
        "isreadonly" | "isuserdefinedfg" => Value::Int(0),
        "isdefault" => Value::Int(1),
        _ => Value::Null,
    })
}

/// `STATS_DATE(object, statistics)`: when the sample was taken; NULL when none was.
pub(super) fn stats_date(info: &Info, args: &[Value]) -> Result<Value> {
    let entry = info.current_database();
    let (Some(table), Some(id)) = (table(info, number(args, 0)), number(args, 1)) else {
        return Ok(Value::Null);
    };
    let there = table.indexes.iter().any(|i| i64::from(i.index_id) == id)
        || table.statistics.iter().any(|s| i64::from(s.stats_id) == id);
    let known = info.engine.statistics.known(&entry.store, &table).filter(|_| there);
    Ok(known
        .map_or(Value::Null, |k| Value::DateTime(crate::clock::unix_to_local_ticks(k.0.taken_unix_nanos))))
}

pub(super) fn filegroup_name(_: &Info, args: &[Value]) -> Result<Value> {
    Ok(if number(args, 0) == Some(1) { Value::str("PRIMARY") } else { Value::Null })
}

/// `CHANGE_TRACKING_IS_COLUMN_IN_MASK(column_id, change_columns)`: NULL stands for all columns.
pub(super) fn is_column_in_mask(_: &Info, args: &[Value]) -> Result<Value> {
    let Value::Int(column) = args[0] else {
        return Err(keel_types::raise::bad_argument_type(
            SqlType::Null,
            1,
            "change_tracking_is_column_in_mask",
        ));
    };
    let mask = match &args[1] {
        Value::Null => return Ok(Value::Int(1)),
        Value::Bytes(mask) if mask.len() >= 8 => mask,
        _ => {
            return Err(keel_types::SqlError::new(
                22101,
                16,
                1,
                "The value supplied for the change_columns argument of CHANGE_TRACKING_IS_COLUMN_IN_MASK function is not valid. The value must be a bitmask returned by the CHANGETABLE(CHANGES ...) function.",
            ));
        }
    };
    let ids = mask[4..].chunks_exact(4).map(|id| i64::from(i32::from_le_bytes([id[0], id[1], id[2], id[3]])));
    Ok(Value::Int(i64::from(ids.into_iter().any(|id| id == column))))
}
