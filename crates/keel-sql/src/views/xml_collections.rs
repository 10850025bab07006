//! XML schema collections: what there is, what is in them, and whose types they are.

use super::columns::tables;
use super::{BIT, Column, DATE, DESC, INT, NAME, NULL, SystemView, ViewContext, bit, date, int, text};
use crate::catalog::SYS;
use keel_query::xml_collection::components::{Component, Detail, components, namespaces};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const LONG: SqlType = SqlType::NVarChar(Length::Limited(4000));
const LETTER: SqlType = SqlType::Char(1);

/// The product's own collection.
const OWN: i64 = 1;

#[rustfmt::skip]
const COMPONENT: &[Column] = &[
    ("xml_component_id", SqlType::BigInt), ("xml_collection_id", INT), ("xml_namespace_id", INT), ("is_qualified", BIT), ("name", LONG),
    ("symbol_space", LETTER), ("symbol_space_desc", DESC), ("kind", LETTER), ("kind_desc", DESC), ("derivation", LETTER),
    ("derivation_desc", DESC), ("base_xml_component_id", SqlType::BigInt), ("scoping_xml_component_id", SqlType::BigInt),
];

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    view("xml_schema_collections", collections, &[
        ("xml_collection_id", INT), ("schema_id", INT), ("principal_id", INT), ("name", NAME), ("create_date", DATE), ("modify_date", DATE),
    ]),
    view("xml_schema_namespaces", all_namespaces, &[("xml_collection_id", INT), ("name", LONG), ("xml_namespace_id", INT)]),
    view("xml_schema_components", all_components, COMPONENT),
    view("xml_schema_types", types, &super::joined::<21>(COMPONENT, &[
        ("is_abstract", BIT), ("allows_mixed_content", BIT), ("is_extension_blocked", BIT), ("is_restriction_blocked", BIT),
        ("is_final_extension", BIT), ("is_final_restriction", BIT), ("is_final_list_member", BIT), ("is_final_union_member", BIT),
    ])),
    view("xml_schema_elements", elements, &super::joined::<23>(COMPONENT, &[
        ("is_default_fixed", BIT), ("is_abstract", BIT), ("is_nillable", BIT), ("must_be_qualified", BIT), ("is_extension_blocked", BIT),
        ("is_restriction_blocked", BIT), ("is_substitution_blocked", BIT), ("is_final_extension", BIT), ("is_final_restriction", BIT),
        ("default_value", LONG),
    ])),
    view("xml_schema_attributes", attributes, &super::joined::<16>(COMPONENT, &[
        ("is_default_fixed", BIT), ("must_be_qualified", BIT), ("default_value", LONG),
    ])),
    view("column_xml_schema_collection_usages", columns, &[("object_id", INT), ("column_id", INT), ("xml_collection_id", INT)]),
    view("parameter_xml_schema_collection_usages", parameters, &[
        ("object_id", INT), ("parameter_id", INT), ("xml_collection_id", INT),
    ]),
];

const fn view(
    name: &'static str,
    rows: fn(&ViewContext<'_>) -> Rows,
    columns: &'static [Column],
) -> SystemView {
    SystemView { schema: "sys", name, columns, rows }
}

fn collections(cx: &ViewContext<'_>) -> Rows {
    let created = cx.picture.settings().created;
    let mut rows = vec![vec![int(OWN), int(SYS), NULL, text("sys"), date(created), date(created)]];
    rows.extend(cx.picture.xml_collections().map(|c| {
        let owner = c.owner.map_or(NULL, int);
        let mut row = vec![int(c.collection_id), int(c.schema_id), owner, text(c.name.as_str())];
        row.extend([date(c.created), date(c.modified)]);
        row
    }));
    rows
}

fn all_namespaces(cx: &ViewContext<'_>) -> Rows {
    const NAMESPACES: [&str; 3] = [
        "http://www.w3.org/2001/XMLSchema",
        "http://schemas.microsoft.com/sqlserver/2004/sqltypes",
        "http://www.w3.org/XML/1998/namespace",
    ];
    let row =
        |collection: i64, (i, name): (usize, &str)| vec![int(collection), text(name), int(i as i64 + 1)];
    let mut rows: Rows = NAMESPACES.into_iter().enumerate().map(|n| row(OWN, n)).collect();
    for c in cx.picture.xml_collections() {
        let names = namespaces(c);
        rows.extend(names.iter().enumerate().map(|(i, n)| row(i64::from(c.collection_id), (i, n))));
    }
    rows
}

/// The rows of a view: its own columns behind those that all components have.
fn each(cx: &ViewContext<'_>, own: impl Fn(&Component) -> Option<Vec<Value>>) -> Rows {
    let mut rows = Vec::new();
    for c in cx.picture.xml_collections() {
        for component in components(c) {
            let Some(mut own) = own(&component) else { continue };
            let name = component.name.as_deref().map_or(NULL, text);
            let mut row = vec![int(component.id), int(c.collection_id), int(component.namespace)];
            row.extend([bit(component.qualified), name]);
            let (kind, space) = component.kind;
            row.extend([space, kind, component.derivation].into_iter().flatten().map(text));
            row.extend([component.base.map_or(NULL, int), NULL]);
            row.append(&mut own);
            rows.push(row);
        }
    }
    rows
}

fn all_components(cx: &ViewContext<'_>) -> Rows {
    each(cx, |_| Some(Vec::new()))
}

fn types(cx: &ViewContext<'_>) -> Rows {
    each(cx, |c| match &c.detail {
        Detail::Type(is_abstract, mixed, block, finals) => {
            let mut row = vec![bit(*is_abstract), bit(*mixed)];
            row.extend(block.iter().chain(finals).map(|b| bit(*b)));
            row.extend([bit(false), bit(false)]);
            Some(row)
        }
        _ => None,
    })
}

fn elements(cx: &ViewContext<'_>) -> Rows {
    each(cx, |c| match &c.detail {
        Detail::Element(is_abstract, nillable, block, constraint) => {
            let fixed = constraint.as_ref().is_some_and(|c| c.fixed);
            let mut row = vec![bit(fixed), bit(*is_abstract), bit(*nillable), bit(c.qualified)];
            row.extend(block.iter().map(|b| bit(*b)));
            row.extend([bit(false), bit(false), constraint.as_ref().map_or(NULL, |c| text(c.text.clone()))]);
            Some(row)
        }
        _ => None,
    })
}

fn attributes(cx: &ViewContext<'_>) -> Rows {
    each(cx, |c| match &c.detail {
        Detail::Attribute(constraint) => {
            let fixed = constraint.as_ref().is_some_and(|c| c.fixed);
            Some(vec![
                bit(fixed),
                bit(c.qualified),
                constraint.as_ref().map_or(NULL, |c| text(c.text.clone())),
            ])
        }
        _ => None,
    })
}

fn columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for c in &t.columns {
            if let Some(of) = c.ty.xml_schema() {
                rows.push(vec![int(t.object_id), int(c.column_id), int(of.collection)]);
            }
        }
    }
    rows
}

fn parameters(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for m in cx.picture.modules() {
        let Some(program) = super::modules::program(cx, m) else { continue };
        let returned = program.returns.map(|ty| (0, ty));
        let given = program.parameters.iter().enumerate().map(|(i, p)| (i as i64 + 1, p.ty));
        for (number, ty) in returned.into_iter().chain(given) {
            if let Some(of) = ty.xml_schema() {
                rows.push(vec![int(m.object_id), int(number), int(of.collection)]);
            }
        }
    }
    rows
}
