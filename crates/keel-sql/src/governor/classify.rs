//! Which function in master may classify sessions, and which one does.

use super::errors;
use crate::engine::{Engine, MASTER};
use crate::modules;
use crate::program::ProgramKind;
use crate::session::info::Info;
use keel_base::DatabaseId;
use keel_parser::ast;
use keel_query::catalog::{Catalog as _, ModuleDef, ModuleKind, ObjectId};
use keel_types::SqlType;
use keel_types::error::Result;

/// Whether a function is the classifier, in force or to be.
#[must_use]
pub fn classifier_is(engine: &Engine, database: DatabaseId, function: ObjectId) -> bool {
    let governor = engine.governor();
    let is = |classifier: i32| classifier != 0 && classifier == function;
    database == MASTER && (is(governor.running().classifier) || is(governor.kept().0.settings.classifier))
}

/// The function of that name in master, if it can classify. Errors 10903, 10904 and 10907.
pub(crate) fn find_classifier(info: &Info, name: &ast::ObjectName) -> Result<ObjectId> {
    let master = info.engine.master();
    let picture = info.picture(&master);
    let schema = name.schema.as_ref().map_or("dbo", |s| s.text.as_str());
    let schema_id = picture.schema_id(schema).ok_or_else(|| errors::no_classifier_schema(schema))?;
    let found = picture.named(schema_id, &name.name.text);
    let module = match found {
        Some(crate::catalog::Named::Module(m)) if name.database.is_none() => m,
        Some(_) if name.database.is_none() => return Err(errors::not_a_classifier(schema, &name.name.text)),
        _ => return Err(errors::no_classifier(&name.name.text)),
    };
    if can_classify(info, &module) {
        Ok(module.object_id)
    } else {
        Err(errors::not_a_classifier(schema, &module.name))
    }
}

/// A scalar function without parameters that is schema-bound and returns sysname.
fn can_classify(info: &Info, module: &ModuleDef) -> bool {
    let Ok(program) = modules::lower(info, MASTER, module) else { return false };
    module.kind == ModuleKind::ScalarFunction
        && program.identity.kind == ProgramKind::Function
        && program.parameters.is_empty()
        && program.returns == Some(SqlType::SYSNAME)
        && modules::is_schema_bound(module)
}
