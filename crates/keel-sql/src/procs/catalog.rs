//! Catalog procedures that drivers and tools call (`sp_tables`, `sp_columns`, `sp_help`…).
//!
//! They are ordinary T-SQL over system views, kept beside this file as CREATE PROCEDURE statements between GO lines: those of
//! drivers in `catalog.sql`; in `management.sql` those of management tools about files, and about the mail that this server does not
//! have; in `security.sql` those about users, roles and permissions; in `administration.sql` those of older releases' administrators, and
//! those that answer for what is not here. Each is compiled when a database first runs it and
//! cached like any module. Adding one is adding a batch there.

use keel_parser::ast;
use keel_query::catalog::{ModuleDef, ModuleKind};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Object ids of these procedures go down from here.
const FIRST_ID: i32 = -10_000;
/// Those of functions go down from here.
const FIRST_FUNCTION_ID: i32 = -15_000;

static ALL: LazyLock<BTreeMap<String, Arc<ModuleDef>>> = LazyLock::new(|| {
    let texts = [
        include_str!("catalog.sql"),
        include_str!("management.sql"),
        include_str!("security.sql"),
        include_str!("administration.sql"),
        crate::capture::PROCEDURES,
        crate::full_text::PROCEDURES,
    ];
    modules(&texts, FIRST_ID, ModuleKind::Procedure)
});

/// Scalar functions of the system that are T-SQL: those of change data capture.
static FUNCTIONS: LazyLock<BTreeMap<String, Arc<ModuleDef>>> =
    LazyLock::new(|| modules(&[crate::capture::FUNCTIONS], FIRST_FUNCTION_ID, ModuleKind::ScalarFunction));

fn modules(texts: &[&str], first_id: i32, kind: ModuleKind) -> BTreeMap<String, Arc<ModuleDef>> {
    let batches = texts.iter().flat_map(|t| t.split("\nGO\n")).map(str::trim).filter(|b| !b.is_empty());
    batches.enumerate().filter_map(|(i, text)| module(first_id - i as i32, text, kind)).collect()
}

fn module(object_id: i32, text: &str, kind: ModuleKind) -> Option<(String, Arc<ModuleDef>)> {
    let before = if kind == ModuleKind::Procedure { "create procedure sys." } else { "create function sys." };
    let rest = text.split_once(before)?.1;
    let name = rest.split(|c: char| c.is_whitespace() || c == '(').next()?.to_owned();
    let module = ModuleDef {
        object_id,
        schema_id: crate::catalog::SYS,
        name: name.clone(),
        kind,
        text: text.to_owned(),
        ansi_nulls: true,
        quoted_identifier: true,
        parent: 0,
        trigger: None,
        events: None,
        execute_as: None,
        signatures: Vec::new(),
        rows: None,
        startup: false,
        created: 0,
        modified: 0,
    };
    Some((name.to_ascii_lowercase(), Arc::new(module)))
}

/// The procedure of that name: `sp_x`, `sys.sp_x`, `db..sp_x`.
#[must_use]
pub fn find(name: &ast::ObjectName) -> Option<Arc<ModuleDef>> {
    let text = name.name.text.as_str();
    let system = ["sp_", "xp_"].iter().any(|p| text.get(..3).is_some_and(|t| t.eq_ignore_ascii_case(p)))
        || name.database.as_ref().is_some_and(|d| d.is("msdb"));
    if !system || !name.schema.as_ref().is_none_or(|s| s.is("sys") || s.is("dbo")) {
        return None;
    }
    ALL.get(&text.to_ascii_lowercase()).cloned()
}

/// The function of that name, without its schema.
#[must_use]
pub fn find_function(name: &str) -> Option<&'static Arc<ModuleDef>> {
    FUNCTIONS.get(&name.to_ascii_lowercase())
}

/// The function with that id.
#[must_use]
pub fn function_by_id(object_id: i32) -> Option<&'static Arc<ModuleDef>> {
    FUNCTIONS.values().find(|m| m.object_id == object_id)
}

/// Every function.
pub fn functions() -> impl Iterator<Item = &'static Arc<ModuleDef>> {
    FUNCTIONS.values()
}

/// Every procedure.
pub fn all() -> impl Iterator<Item = &'static Arc<ModuleDef>> {
    ALL.values()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_parses() {
        for module in super::all().chain(super::functions()) {
            let parsed = crate::modules::parse(module);
            assert!(parsed.is_ok(), "{}: {:?}", module.name, parsed.err());
        }
    }
}
