//! Security policies and their predicates: `sys.security_policies`, `sys.security_predicates`, and what they depend on.

use super::{
    BIT, Column, DATE, DESC, INT, KIND, NAME, NULL, SystemView, TEXT, ViewContext, bit, date, int, text,
};
use crate::catalog::Named;
use keel_parser::ast::ExprKind;
use keel_query::catalog::Catalog as _;
use keel_query::policy::{PolicyDef, PredicateDef, PredicateKind};
use keel_types::Value;

type Rows = Vec<Vec<Value>>;

const POLICY: &[Column] = &[
    ("name", NAME),
    ("object_id", INT),
    ("principal_id", INT),
    ("schema_id", INT),
    ("parent_object_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("is_ms_shipped", BIT),
    ("is_enabled", BIT),
    ("is_not_for_replication", BIT),
    ("uses_database_collation", BIT),
    ("is_schema_bound", BIT),
];

const PREDICATE: &[Column] = &[
    ("object_id", INT),
    ("security_predicate_id", INT),
    ("target_object_id", INT),
    ("predicate_definition", TEXT),
    ("predicate_type", INT),
    ("predicate_type_desc", DESC),
    ("operation", INT),
    ("operation_desc", DESC),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "security_policies", columns: POLICY, rows: policies },
    SystemView { schema: "sys", name: "security_predicates", columns: PREDICATE, rows: predicates },
];

fn policies(cx: &ViewContext<'_>) -> Rows {
    let row = |p: &PolicyDef| {
        vec![
            text(p.name.as_str()),
            int(p.object_id),
            NULL,
            int(p.schema_id),
            int(0),
            text("SP"),
            text("SECURITY_POLICY"),
            date(p.created),
            date(p.modified),
            bit(false),
            bit(p.enabled),
            bit(p.not_for_replication),
            bit(true),
            bit(p.schema_bound),
        ]
    };
    cx.picture.policies().map(|p| row(p)).collect()
}

fn predicates(cx: &ViewContext<'_>) -> Rows {
    let row = |policy: &PolicyDef, p: &PredicateDef| {
        let (kind, name) = if p.kind.filters() { (0, "FILTER") } else { (1, "BLOCK") };
        let (operation, operation_name) = match p.kind {
            PredicateKind::Filter | PredicateKind::Block => (NULL, NULL),
            PredicateKind::AfterInsert => (int(1), text("AFTER INSERT")),
            PredicateKind::AfterUpdate => (int(2), text("AFTER UPDATE")),
            PredicateKind::BeforeUpdate => (int(3), text("BEFORE UPDATE")),
            PredicateKind::BeforeDelete => (int(4), text("BEFORE DELETE")),
        };
        vec![
            int(policy.object_id),
            int(p.predicate_id),
            int(p.target),
            text(p.text.as_str()),
            int(kind),
            text(name),
            operation,
            operation_name,
        ]
    };
    let of = |policy: &PolicyDef| policy.predicates.iter().map(|p| row(policy, p)).collect::<Rows>();
    cx.picture.policies().flat_map(|p| of(p)).collect()
}

/// Rows of `sys.sql_expression_dependencies`: of each policy its functions, its tables, and the columns that are handed over.
pub(super) fn dependencies(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    for policy in cx.picture.policies() {
        let mut seen: Vec<(i32, i32)> = Vec::new();
        for predicate in &policy.predicates {
            for (object, column) in named(cx, predicate) {
                if seen.contains(&(object, column)) {
                    continue;
                }
                seen.push((object, column));
                let Some(o) = cx.picture.objects().find(|o| o.object_id == object) else { continue };
                let schema = cx.picture.schema_name(o.schema_id).unwrap_or_default();
                let mut row = vec![int(policy.object_id), int(0), int(1), text("OBJECT_OR_COLUMN")];
                row.extend([bit(policy.schema_bound), int(1), text("OBJECT_OR_COLUMN"), NULL, NULL]);
                row.extend([text(schema.as_str()), text(o.name), int(object), int(column)]);
                row.extend([bit(false), bit(false)]);
                rows.push(row);
            }
        }
    }
    rows
}

/// What a predicate names: objects, and columns of its table.
fn named(cx: &ViewContext<'_>, predicate: &PredicateDef) -> Vec<(i32, i32)> {
    let mut found = Vec::new();
    if let Ok(call) = keel_parser::parse_expr(&predicate.text)
        && let ExprKind::Function(call) = call.kind
        && let Some(schema) = &call.name.schema
        && let Some(schema) = cx.picture.schema_id(&schema.text)
        && let Some(Named::Module(function)) = cx.picture.named(schema, &call.name.name.text)
    {
        found.push((function.object_id, 0));
    }
    found.push((predicate.target, 0));
    let columns = crate::ddl::guarded_columns(&cx.picture, predicate);
    found.extend(columns.into_iter().map(|column| (predicate.target, column)));
    found
}
