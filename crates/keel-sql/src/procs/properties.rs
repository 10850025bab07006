//! Extended properties: names and values that users and tools hang on databases, schemas, objects, columns, indexes and
//! parameters (`MS_Description` is what they call a comment).
//!
//! A property is a catalog object of its own, so that it takes part in transactions like the rest, and goes with what it
//! belongs to. The list of levels in a call (`SCHEMA dbo`, `TABLE t`, `COLUMN c`) leads to the three numbers by which
//! `sys.extended_properties` names its owner.

use super::{Outcome, argument, ok, string};
use crate::catalog::{
    CatalogKey, CatalogObject, CatalogOp, Named, Picture, PropertyDef, fold, object_class, property_class,
};
use crate::engine::DatabaseEntry;
use crate::run::{Argument, Runner};
use crate::session::info::Info;
use crate::triggers::Event;
use keel_query::catalog::{Catalog as _, DATABASE_TRIGGERS, ModuleDef, ModuleKind, TableDef};
use keel_types::cast::{self, Cast};
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType, Value};
use std::sync::Arc;

/// Most bytes of a value.
const VALUE_BYTES_MAX: usize = 7500;
const TEXT: SqlType = SqlType::NVarChar(Length::Max);

/// What a property belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Owner {
    class: u8,
    major: i32,
    minor: i32,
}

impl Owner {
    fn has(self, p: &PropertyDef) -> bool {
        self == Owner { class: p.class, major: p.major, minor: p.minor }
    }
}

/// The database of a call.
pub struct Here<'a> {
    /// The session's view of the server.
    pub info: &'a Info,
    /// The database.
    pub entry: &'a Arc<DatabaseEntry>,
    /// Its objects.
    pub picture: &'a Picture,
}

impl Here<'_> {
    /// The names and ids of a view's columns.
    fn columns(&self, m: &ModuleDef) -> Vec<(i32, String)> {
        let columns = crate::views::module_columns(self.info, self.entry, m);
        columns.into_iter().map(|c| (c.column_id, c.name)).collect()
    }

    /// The names and ids of a procedure's or function's parameters.
    fn parameters(&self, m: &Arc<ModuleDef>) -> Vec<(i32, String)> {
        if matches!(m.kind, ModuleKind::View | ModuleKind::Trigger) {
            return Vec::new();
        }
        let Ok(program) = crate::modules::program(self.info, self.entry, m) else { return Vec::new() };
        program.parameters.iter().zip(1..).map(|(p, id)| (id, p.name.to_string())).collect()
    }

    fn part_of_module(&self, m: &Arc<ModuleDef>, kind: &str, name: &str) -> Option<Owner> {
        let (class, parts) = match kind {
            "COLUMN" => (property_class::OBJECT, self.columns(m)),
            "PARAMETER" => (property_class::PARAMETER, self.parameters(m)),
            _ => return None,
        };
        let (minor, _) = parts.into_iter().find(|(_, other)| fold(other) == fold(name))?;
        Some(Owner { class, major: m.object_id, minor })
    }

    /// What level an id below an object is, and its name.
    fn part(&self, class: u8, major: i32, minor: i32) -> Option<(&'static str, String)> {
        let named = |parts: Vec<(i32, String)>| parts.into_iter().find(|(id, _)| *id == minor).map(|p| p.1);
        if let Some(m) = self.picture.module_by_id(major).filter(|_| class != property_class::INDEX) {
            return Some(match class {
                property_class::PARAMETER => ("PARAMETER", named(self.parameters(m))?),
                _ => ("COLUMN", named(self.columns(m))?),
            });
        }
        let table = self.picture.stored().find(|t| t.object_id == major)?;
        if class == property_class::INDEX {
            return Some(("INDEX", table.indexes.iter().find(|i| i.index_id == minor)?.name.clone()));
        }
        Some(("COLUMN", table.columns.iter().find(|c| c.column_id == minor)?.name.clone()))
    }
}

/// The value of a property.
#[must_use]
pub fn value_of(p: &PropertyDef) -> Value {
    let Some(text) = &p.value else { return Value::Null };
    let cast: Result<Cast> = cast::explicit(TEXT, p.ty);
    let value = cast.and_then(|c| c.apply(&Value::str(text.as_str())));
    value.map_or(Value::Null, |v| Value::Variant(Arc::new((p.ty, v))))
}

/// Type and name of each level that was given.
struct Levels(Vec<(String, String)>);

impl Levels {
    fn of(args: &[Argument], from: usize) -> Levels {
        let level = |n: usize| {
            let kind = string(args, &format!("level{n}type"), from + 2 * n)?;
            let name = string(args, &format!("level{n}name"), from + 2 * n + 1).unwrap_or_default();
            Some((kind.trim().to_ascii_uppercase(), name))
        };
        Levels((0..3).map_while(level).collect())
    }

    /// As error messages name them.
    fn text(&self) -> String {
        if self.0.is_empty() {
            return "object specified".to_owned();
        }
        self.0.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(".")
    }

    fn owner(&self, here: &Here<'_>) -> Option<Owner> {
        let picture = here.picture;
        let mut levels = self.0.iter().map(|(kind, name)| (kind.as_str(), name.as_str()));
        let Some((kind, name)) = levels.next() else {
            return Some(Owner { class: property_class::DATABASE, major: 0, minor: 0 });
        };
        if kind == "FILEGROUP" && fold(name) == "primary" && levels.next().is_none() {
            return Some(Owner { class: property_class::DATASPACE, major: 1, minor: 0 });
        }
        if kind == "TRIGGER" && levels.clone().next().is_none() {
            let Named::Module(trigger) = picture.named(DATABASE_TRIGGERS, name)? else { return None };
            return Some(Owner { class: property_class::OBJECT, major: trigger.object_id, minor: 0 });
        }
        if !matches!(kind, "SCHEMA" | "USER") {
            return None;
        }
        let schema = picture.schema_id(name)?;
        let Some((kind, name)) = levels.next() else {
            return Some(Owner { class: property_class::SCHEMA, major: schema, minor: 0 });
        };
        if kind == "TYPE" {
            let ty = picture.types().find(|t| t.schema_id == schema && fold(&t.name) == fold(name))?;
            return Some(Owner { class: property_class::TYPE, major: ty.user_type_id, minor: 0 });
        }
        if kind == "XML SCHEMA COLLECTION" {
            let found = picture.xml_collection_named(schema, name)?;
            return Some(Owner {
                class: property_class::XML_COLLECTION,
                major: found.collection_id,
                minor: 0,
            });
        }
        let object = |major| Owner { class: property_class::OBJECT, major, minor: 0 };
        let named = picture.named(schema, name)?;
        let Some((kind, name)) = levels.next() else { return Some(object(id_of(&named)?)) };
        match (&named, kind) {
            (Named::Table(t), _) => part_of_table(picture, t, kind, name),
            (Named::Module(m), "INDEX") => part_of_table(picture, m.rows.as_ref()?, kind, name),
            (Named::Module(m), "TRIGGER") => {
                let trigger = |o: &&Arc<keel_query::catalog::ModuleDef>| {
                    o.parent == m.object_id && fold(&o.name) == fold(name)
                };
                Some(object(picture.modules().find(trigger)?.object_id))
            }
            (Named::Module(m), _) => here.part_of_module(m, kind, name),
            _ => None,
        }
    }
}

fn id_of(named: &Named) -> Option<i32> {
    Some(match named {
        Named::Table(t) => t.object_id,
        Named::Module(m) => m.object_id,
        Named::Synonym(s) => s.object_id,
        Named::Bindable(b) => b.object_id,
        Named::Sequence(s) => s.object_id,
        Named::Policy(p) => p.object_id,
        Named::Queue(q) => q.object_id,
        Named::Constraint(..) => return None,
    })
}

fn part_of_table(picture: &Picture, table: &TableDef, kind: &str, name: &str) -> Option<Owner> {
    let same = |other: &str| fold(other) == fold(name);
    let (class, major, minor) = match kind {
        "COLUMN" => {
            let column = table.columns.iter().find(|c| same(&c.name))?;
            (property_class::OBJECT, table.object_id, column.column_id)
        }
        "INDEX" => {
            let index = table.indexes.iter().map(|i| (&i.name, i.index_id));
            let content = table.content_indexes.iter().map(|i| (&i.name, i.index_id));
            let stored = table.columnstores.iter().map(|i| (&i.name, i.index_id));
            let (_, id) = index.chain(content).chain(stored).find(|(name, _)| same(name))?;
            (property_class::INDEX, table.object_id, id)
        }
        "CONSTRAINT" | "TRIGGER" => {
            let part = picture.objects().find(|o| o.parent == table.object_id && same(o.name))?;
            (property_class::OBJECT, part.object_id, 0)
        }
        _ => return None,
    };
    Some(Owner { class, major, minor })
}

/// A call resolved: the property's name, its owner, and the property when it is there.
struct Call {
    entry: Arc<DatabaseEntry>,
    name: String,
    levels: Levels,
    owner: Owner,
    existing: Option<Arc<PropertyDef>>,
}

impl Call {
    fn of(runner: &Runner<'_>, args: &[Argument], from: usize, state: u8) -> Result<Call> {
        let entry = runner.info.current_database();
        let picture = runner.info.picture(&entry);
        let name = string(args, "name", 0).unwrap_or_default();
        let levels = Levels::of(args, from);
        let here = Here { info: runner.info, entry: &entry, picture: &picture };
        let owner = levels.owner(&here).ok_or_else(|| {
            let text = format!(
                "Object is invalid. Extended properties are not permitted on '{}', or the object does not exist.",
                levels.text()
            );
            SqlError::new(15135, 16, state, text)
        })?;
        let found = picture.properties().find(|p| owner.has(p) && fold(&p.name) == fold(&name));
        let existing = found.cloned();
        Ok(Call { entry, name, levels, owner, existing })
    }

    fn missing(&self, state: u8) -> Box<SqlError> {
        let text = format!(
            "Property cannot be updated or deleted. Property '{}' does not exist for '{}'.",
            self.name,
            self.levels.text()
        );
        SqlError::new(15217, 16, state, text)
    }

    /// Stores the property with the value of a call.
    fn store(&self, runner: &mut Runner<'_>, args: &[Argument], id: i32) -> Result<()> {
        let given = argument(args, "value", 1);
        let value = given.and_then(|a| a.value.clone()).unwrap_or_default();
        let ty = given.map_or(TEXT, |a| a.ty);
        let (ty, value) = match value {
            Value::Variant(inner) => (inner.0, inner.1.clone()),
            other => (ty, other),
        };
        let ty = if ty == SqlType::Null { TEXT } else { ty };
        let text = match &value {
            Value::Null => None,
            other => Some(cast::to_text(other, ty, if ty.is_temporal() { 121 } else { 2 })?.to_string()),
        };
        if text.as_ref().is_some_and(|t| t.len() > VALUE_BYTES_MAX) {
            let text = "The size associated with an extended property cannot be more than 7,500 bytes.";
            return Err(SqlError::new(15097, 16, 1, text));
        }
        let Owner { class, major, minor } = self.owner;
        let property = PropertyDef { id, class, major, minor, name: self.name.clone(), ty, value: text };
        runner.put(&self.entry, CatalogObject::Property(Arc::new(property)))
    }
}

/// The event of a call: the deepest level, with the one above it where there are three.
fn event(call: &Call, verb: &str, args: &[Argument]) -> Option<Event> {
    let levels = &call.levels.0;
    let event = Event::within(&format!("{verb}_EXTENDED_PROPERTY"), &call.entry)?;
    let schema = levels.first().filter(|_| levels.len() > 1);
    let event = event.element("SchemaName", schema.map_or("", |(_, name)| name.as_str()));
    let event = match levels.last() {
        Some((kind, name)) => event.object(name, kind),
        None => event.object(&call.entry.name(), "DATABASE"),
    };
    let host = levels.get(1).filter(|_| levels.len() > 2);
    let event = event.target(host.map_or("", |(_, n)| n.as_str()), host.map_or("", |(k, _)| k.as_str()));
    let event = event.element("PropertyName", &call.name);
    let value = (verb != "DROP").then(|| string(args, "value", 1).unwrap_or_default());
    let event = match value {
        Some(value) => event.element("PropertyValue", &value),
        None => event,
    };
    let given: Vec<String> =
        args.iter().map(|a| a.value.as_ref().map(crate::convert::display).unwrap_or_default()).collect();
    Some(event.list("Parameters", "Param", given.iter().map(String::as_str)))
}

/// `sp_addextendedproperty @name, @value, @level0type, @level0name, …`
pub(super) fn sp_addextendedproperty(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.owner_only()?;
    runner.in_statement(|runner| {
        runner.lock_catalog(&runner.info.current_database())?;
        let call = Call::of(runner, args, 2, 8)?;
        if call.existing.is_some() {
            let text = format!(
                "Property cannot be added. Property '{}' already exists for '{}'.",
                call.name,
                call.levels.text()
            );
            return Err(SqlError::new(15233, 16, 1, text));
        }
        let picture = runner.info.picture(&call.entry);
        let id = picture.properties().map(|p| p.id).max().unwrap_or(0) + 1;
        call.store(runner, args, id)?;
        runner.fire_event_of("sp_addextendedproperty", event(&call, "CREATE", args))
    })?;
    ok()
}

/// `sp_updateextendedproperty @name, @value, @level0type, @level0name, …`
pub(super) fn sp_updateextendedproperty(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.owner_only()?;
    runner.in_statement(|runner| {
        runner.lock_catalog(&runner.info.current_database())?;
        let call = Call::of(runner, args, 2, 3)?;
        let id = call.existing.as_ref().ok_or_else(|| call.missing(1))?.id;
        call.store(runner, args, id)?;
        runner.fire_event_of("sp_updateextendedproperty", event(&call, "ALTER", args))
    })?;
    ok()
}

/// `sp_dropextendedproperty @name, @level0type, @level0name, …`
pub(super) fn sp_dropextendedproperty(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.owner_only()?;
    runner.in_statement(|runner| {
        runner.lock_catalog(&runner.info.current_database())?;
        let call = Call::of(runner, args, 1, 1)?;
        let id = call.existing.as_ref().ok_or_else(|| call.missing(2))?.id;
        runner.change(&call.entry, CatalogOp::Remove(CatalogKey { class: object_class::PROPERTY, id }))?;
        runner.fire_event_of("sp_dropextendedproperty", event(&call, "DROP", args))
    })?;
    ok()
}

/// The levels that lead to a property's owner; `None` when it is gone.
fn path(here: &Here<'_>, p: &PropertyDef) -> Option<Vec<(&'static str, String)>> {
    let picture = here.picture;
    let in_schema = |id: i32| Some(("SCHEMA", picture.schema_name(id)?));
    let object = |id: i32| picture.objects().find(|o| o.object_id == id);
    let kind = |code: &str| match code.trim() {
        "U" => "TABLE",
        "V" => "VIEW",
        "P" => "PROCEDURE",
        "FN" | "IF" | "TF" => "FUNCTION",
        "SN" => "SYNONYM",
        "SO" => "SEQUENCE",
        "TR" => "TRIGGER",
        _ => "CONSTRAINT",
    };
    Some(match (p.class, p.minor) {
        (property_class::DATABASE, _) => Vec::new(),
        (property_class::SCHEMA, _) => vec![in_schema(p.major)?],
        (property_class::TYPE, _) => {
            let ty = picture.type_by_id(p.major)?;
            vec![in_schema(ty.schema_id)?, ("TYPE", ty.name.clone())]
        }
        (property_class::XML_COLLECTION, _) => {
            let found = picture.xml_collection(p.major)?;
            vec![in_schema(found.schema_id)?, ("XML SCHEMA COLLECTION", found.name.clone())]
        }
        (class, minor) => {
            if let Some(trigger) = picture.event_triggers(DATABASE_TRIGGERS).find(|m| m.object_id == p.major)
            {
                return Some(vec![("TRIGGER", trigger.name.clone())]);
            }
            let own = object(p.major)?;
            let mut path = vec![in_schema(own.schema_id)?];
            if let Some(parent) = object(own.parent) {
                path.push((kind(parent.kind), parent.name.to_owned()));
            }
            path.push((kind(own.kind), own.name.to_owned()));
            if class == property_class::INDEX || minor != 0 {
                path.push(here.part(class, p.major, minor)?);
            }
            path
        }
    })
}

/// `fn_listextendedproperty(name, level0type, level0name, …)`: the properties at exactly the levels whose types are given;
/// NULL as a name stands for all.
#[must_use]
pub fn listed(here: &Here<'_>, args: &[Value]) -> Vec<Vec<Value>> {
    let text = |n: usize| args.get(n).and_then(Value::as_str);
    let fits = |wanted: Option<&str>, name: &str| wanted.is_none_or(|w| fold(w) == fold(name));
    let depth = (0..3).take_while(|n| text(1 + 2 * n).is_some()).count();
    let mut rows = Vec::new();
    for p in here.picture.properties().filter(|p| fits(text(0), &p.name)) {
        let Some(path) = path(here, p).filter(|path| path.len() == depth) else { continue };
        let same = path.iter().enumerate().all(|(n, (kind, name))| {
            let wanted = text(1 + 2 * n).unwrap_or_default();
            let wanted = if wanted.eq_ignore_ascii_case("USER") { "SCHEMA" } else { wanted };
            wanted.eq_ignore_ascii_case(kind) && fits(text(2 + 2 * n), name)
        });
        if same {
            let (kind, name) = match path.last() {
                Some((kind, name)) => (Value::str(*kind), Value::str(name.as_str())),
                None => (Value::Null, Value::Null),
            };
            rows.push(vec![kind, name, Value::str(p.name.as_str()), value_of(p)]);
        }
    }
    rows
}

impl Runner<'_> {
    /// What was said of an object goes with it; with `minor` only of that column.
    pub(crate) fn forget_properties(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        class: u8,
        major: i32,
        minor: Option<i32>,
    ) -> Result<()> {
        let parts = [property_class::OBJECT, property_class::PARAMETER, property_class::INDEX];
        let same_class = |p: &PropertyDef| {
            p.class == class
                || (class == property_class::OBJECT && minor.is_none() && parts.contains(&p.class))
        };
        let picture = self.info.picture(entry);
        let gone = picture
            .properties()
            .filter(|p| same_class(p) && p.major == major && minor.is_none_or(|minor| p.minor == minor));
        for id in gone.map(|p| p.id).collect::<Vec<_>>() {
            self.change(entry, CatalogOp::Remove(CatalogKey { class: object_class::PROPERTY, id }))?;
        }
        Ok(())
    }
}
