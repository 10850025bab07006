//! `OBJECTPROPERTY` and `OBJECTPROPERTYEX`.

use super::metadata::{Found, object};
use super::{number, text};
use crate::catalog::Picture;
use crate::ddl::determinism::is_deterministic;
use crate::modules;
use crate::session::info::Info;
use keel_query::catalog::{
    Catalog as _, IndexKind, ModuleDef, ModuleKind, ObjectId, ReferentialAction, TableDef, TriggerDef,
};
use keel_types::error::Result;
use keel_types::{SqlType, Value};

/// OBJECTPROPERTYEX: the properties of OBJECTPROPERTY, and BaseType, as sql_variant.
pub(super) fn object_property_ex(info: &Info, args: &[Value]) -> Result<Value> {
    if text(args, 1).is_some_and(|property| property.eq_ignore_ascii_case("Cardinality")) {
        let id = number(args, 0).and_then(|id| i32::try_from(id).ok());
        let table = id.and_then(|id| info.table_by_id(info.current_database().id, id));
        let rows = table.map(|t| info.count_rows(&t)).transpose()?;
        return Ok(rows.map_or(Value::Null, |rows| super::variant(SqlType::BigInt, Value::Int(rows))));
    }
    Ok(match any_object_property(info, args)? {
        Value::Int(n) => super::variant_int(n),
        Value::Str(s) => super::variant_text(s),
        other => other,
    })
}

/// OBJECTPROPERTY: those that are numbers.
pub(super) fn object_property(info: &Info, args: &[Value]) -> Result<Value> {
    let value = any_object_property(info, args)?;
    Ok(if matches!(value, Value::Str(_)) { Value::Null } else { value })
}

fn any_object_property(info: &Info, args: &[Value]) -> Result<Value> {
    let Some((picture, o)) = object(info, number(args, 0), None) else { return Ok(Value::Null) };
    let id = number(args, 0).unwrap_or(0) as i32;
    let table = info.table_by_id(info.current_database().id, id);
    let module = picture.module_by_id(id);
    let is = |kinds: &[&str]| Value::Int(i64::from(kinds.contains(&o.kind)));
    let flag = |b: bool| Value::Int(i64::from(b));
    let ordered =
        |has: fn(&TriggerDef) -> bool| module.and_then(|m| m.trigger).map_or(Value::Null, |t| flag(has(&t)));
    let fires = matches!(o.kind, "U" | "V");
    let triggered = |has: fn(&TriggerDef) -> bool| {
        if fires { flag(!triggers(&picture, id, has).is_empty()) } else { Value::Null }
    };
    let property = text(args, 1).unwrap_or("").to_ascii_lowercase();
    Ok(match property.as_str() {
        "istable" => is(&["U", "S", "TT", "IT"]),
        "isusertable" => is(&["U"]),
        "isview" => is(&["V"]),
        "isprocedure" => is(&["P", "PC", "X"]),
        "isscalarfunction" => is(&["FN"]),
        "isinlinefunction" => is(&["IF"]),
        "istablefunction" => is(&["IF", "TF"]),
        "istrigger" => is(&["TR"]),
        "isprimarykey" => is(&["PK"]),
        "isuniquecnst" => is(&["UQ"]),
        "isforeignkey" => is(&["F"]),
        "ischeckcnst" => is(&["C"]),
        "isdefaultcnst" => flag(o.kind == "D" && o.parent != 0),
        "isdefault" => flag(o.kind == "D" && o.parent == 0),
        "isrule" => is(&["R"]),
        "isqueue" | "isreplproc" => flag(false),
        "isextendedproc" => is(&["X"]),
        "isexecuted" => flag(module.is_some()),
        "isschemabound" => match module.filter(|m| m.kind != ModuleKind::Trigger) {
            Some(m) => flag(modules::is_schema_bound(m)),
            None => Value::Null,
        },
        "isdeterministic" => {
            match module.filter(|m| !matches!(m.kind, ModuleKind::Trigger | ModuleKind::Procedure)) {
                Some(m) => flag(modules::is_schema_bound(m) && is_deterministic(&m.text)),
                None => Value::Null,
            }
        }
        "isindexable" if o.kind == "V" => {
            let entry = info.current_database();
            flag(module.is_some_and(|m| crate::ddl::is_indexable(info, &entry, m)))
        }
        "isindexed" if o.kind == "V" => flag(module.is_some_and(|m| m.rows.is_some())),
        "execisstartup" => startup(module),
        "isconstraint" => flag(o.parent != 0 && ["PK", "UQ", "F", "C", "D"].contains(&o.kind)),
        "ismsshipped" | "issystemtable" => flag(id < 0 && table.is_none()),
        "schemaid" => Value::Int(i64::from(o.schema_id)),
        "ownerid" => Value::Int(1),
        "basetype" => Value::str(o.kind),
        // The text of every module can be read.
        "isencrypted" => flag(false),
        // Tables are made with both on, whatever the session had.
        "isquotedidenton" | "isansinullson" if table.is_some() => flag(true),
        "execisquotedidenton" | "isquotedidenton" => {
            module.map_or(Value::Null, |m| flag(m.quoted_identifier))
        }
        "execisansinullson" | "isansinullson" => module.map_or(Value::Null, |m| flag(m.ansi_nulls)),
        "execisinserttrigger" => ordered(|t| t.on_insert),
        "execisupdatetrigger" => ordered(|t| t.on_update),
        "execisdeletetrigger" => ordered(|t| t.on_delete),
        "execisinsteadoftrigger" => ordered(|t| t.instead_of),
        "execisaftertrigger" => ordered(|t| !t.instead_of),
        "execistriggernotforrepl" => ordered(|_| false),
        "execisfirstinserttrigger" => ordered(|t| t.first.insert),
        "execisfirstupdatetrigger" => ordered(|t| t.first.update),
        "execisfirstdeletetrigger" => ordered(|t| t.first.delete),
        "execislastinserttrigger" => ordered(|t| t.last.insert),
        "execislastupdatetrigger" => ordered(|t| t.last.update),
        "execislastdeletetrigger" => ordered(|t| t.last.delete),
        "execistriggerdisabled" => ordered(|t| t.disabled),
        "hasaftertrigger" => triggered(|t| !t.instead_of),
        "hasinsteadoftrigger" => triggered(|t| t.instead_of),
        "hasinserttrigger" => triggered(|t| t.on_insert),
        "hasupdatetrigger" => triggered(|t| t.on_update),
        "hasdeletetrigger" => triggered(|t| t.on_delete),
        _ => match &table {
            Some(t) => match super::full_text::table_property(info, t, &property)? {
                Some(value) => value,
                None => table_property(t, &property, &picture),
            },
            None => match picture.stored_by_id(id) {
                Some(view) => super::full_text::table_property(info, &view, &property)?.unwrap_or_default(),
                None => constraint_property(info, &o, id, &property),
            },
        },
    })
}

/// What only constraints have.
fn constraint_property(info: &Info, o: &Found, id: i32, property: &str) -> Value {
    let flag = |b: bool| Value::Int(i64::from(b));
    let Some(t) = info.table_by_id(info.current_database().id, o.parent) else { return Value::Null };
    let index = t.indexes.iter().find(|i| i.constraint_id == id);
    let disabled = t.checks.iter().any(|c| c.object_id == id && c.disabled)
        || t.foreign_keys.iter().any(|f| f.object_id == id && f.disabled);
    let of_column = t.columns.iter().any(|c| c.default_constraint().is_some_and(|d| d.object_id == id))
        || t.checks.iter().any(|c| c.object_id == id && c.column != 0)
        || t.foreign_keys.iter().any(|f| f.object_id == id && f.columns.len() == 1);
    match property {
        "cnstisclustkey" => index.map_or(Value::Null, |i| flag(i.kind == IndexKind::Clustered)),
        "cnstisnonclustkey" => index.map_or(Value::Null, |i| flag(i.kind == IndexKind::Nonclustered)),
        "cnstiscolumn" => flag(of_column),
        "cnstisdeletecascade" => {
            let cascades = |f: &keel_query::catalog::ForeignKeyDef| f.on_delete == ReferentialAction::Cascade;
            flag(t.foreign_keys.iter().any(|f| f.object_id == id && cascades(f)))
        }
        "cnstisupdatecascade" => {
            let cascades = |f: &keel_query::catalog::ForeignKeyDef| f.on_update == ReferentialAction::Cascade;
            flag(t.foreign_keys.iter().any(|f| f.object_id == id && cascades(f)))
        }
        "cnstisdisabled" => flag(disabled),
        "cnstisnottrusted" => flag(
            t.checks.iter().any(|c| c.object_id == id && c.untrusted)
                || t.foreign_keys.iter().any(|f| f.object_id == id && f.untrusted),
        ),
        "cnstisnotrepl" => flag(false),
        _ => Value::Null,
    }
}

fn table_property(t: &TableDef, property: &str, picture: &Picture) -> Value {
    let flag = |b: bool| Value::Int(i64::from(b));
    let trigger_count = |has: fn(&TriggerDef) -> bool| triggers(picture, t.object_id, has).len() as i64;
    let first_trigger = |has: fn(&TriggerDef) -> bool| {
        Value::Int(triggers(picture, t.object_id, has).first().map_or(0, |id| i64::from(*id)))
    };
    match property {
        "tablehasidentity" => flag(t.columns.iter().any(|c| c.identity.is_some())),
        "tablehasrowguidcol" => flag(t.columns.iter().any(|c| c.rowguid)),
        "tablehasprimarykey" => flag(t.indexes.iter().any(|i| i.is_primary_key)),
        "tablehasclustindex" => flag(t.indexes.iter().any(|i| i.kind == IndexKind::Clustered)),
        "tablehasnonclustindex" => flag(t.indexes.iter().any(|i| i.kind == IndexKind::Nonclustered)),
        "tablehasindex" => flag(t.indexes.iter().any(|i| i.kind != IndexKind::Heap)),
        "tablehasuniquecnst" => flag(t.indexes.iter().any(|i| i.is_unique_constraint)),
        "tablehasforeignkey" => flag(!t.foreign_keys.is_empty()),
        "tablehasforeignref" => flag(!picture.referencing(t.object_id).is_empty()),
        "tablehascheckcnst" => flag(!t.checks.is_empty()),
        "tablehasdefaultcnst" => flag(t.columns.iter().any(|c| c.default_constraint().is_some())),
        "tablehastimestamp" => flag(t.columns.iter().any(|c| c.ty == SqlType::RowVersion)),
        "tablehasinserttrigger" => flag(trigger_count(|t| t.on_insert) > 0),
        "tablehasupdatetrigger" => flag(trigger_count(|t| t.on_update) > 0),
        "tablehasdeletetrigger" => flag(trigger_count(|t| t.on_delete) > 0),
        "tableinserttrigger" => first_trigger(|t| t.on_insert),
        "tableupdatetrigger" => first_trigger(|t| t.on_update),
        "tabledeletetrigger" => first_trigger(|t| t.on_delete),
        "tableinserttriggercount" => Value::Int(trigger_count(|t| t.on_insert)),
        "tableupdatetriggercount" => Value::Int(trigger_count(|t| t.on_update)),
        "tabledeletetriggercount" => Value::Int(trigger_count(|t| t.on_delete)),
        "tablehastextimage" => {
            let old = |ty| matches!(ty, SqlType::Text | SqlType::NText | SqlType::Image);
            flag(t.columns.iter().any(|c| old(c.ty)))
        }
        "isindexed" => flag(t.indexes.iter().any(|i| i.kind != IndexKind::Heap)),
        "isindexable" => flag(true),
        "tabletemporaltype" => Value::Int(match (t.versioning(), t.history_of) {
            (Some(_), _) => 2,
            (None, Some(_)) => 1,
            (None, None) => 0,
        }),
        "tableisfake"
        | "tableismemoryoptimized"
        | "tableispinned"
        | "tableislockedonbulkload"
        | "tabletextinrowlimit"
        | "tablehascolumnset"
        | "tablehasvardecimalstorageformat"
        | "isreplicated" => Value::Int(0),
        _ => Value::Null,
    }
}

/// Whether a procedure runs when the instance starts.
fn startup(module: Option<&std::sync::Arc<ModuleDef>>) -> Value {
    let procedure = module.filter(|m| m.kind == ModuleKind::Procedure);
    procedure.map_or(Value::Null, |m| Value::Int(i64::from(m.startup)))
}

/// The triggers of a table or view that have something.
fn triggers(picture: &Picture, parent: ObjectId, has: fn(&TriggerDef) -> bool) -> Vec<ObjectId> {
    let triggers = picture.triggers(parent);
    triggers.iter().filter(|m| m.trigger.is_some_and(|t| has(&t))).map(|m| m.object_id).collect()
}
