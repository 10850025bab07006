//! XML and spatial indexes, and the assembly types. What they hold is nothing: see the catalog's `ContentIndexDef`.

use super::columns::tables;
use super::{BIT, Column, DESC, INT, NAME, NULL, SMALL, SystemView, TEXT, TINY, ViewContext, bit, int, text};
use keel_query::catalog::{ContentIndexDef, ContentIndexKind, TableDef};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const FLOAT: SqlType = SqlType::Float;

#[rustfmt::skip]
const INDEX: &[Column] = &[
    ("object_id", INT), ("name", NAME), ("index_id", INT), ("type", TINY), ("type_desc", DESC), ("is_unique", BIT),
    ("data_space_id", INT), ("ignore_dup_key", BIT), ("is_primary_key", BIT), ("is_unique_constraint", BIT), ("fill_factor", TINY),
    ("is_padded", BIT), ("is_disabled", BIT), ("is_hypothetical", BIT), ("is_ignored_in_optimization", BIT),
    ("allow_row_locks", BIT), ("allow_page_locks", BIT),
];

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "xml_indexes", rows: xml_indexes, columns: &super::joined::<26>(INDEX, &[
        ("using_xml_index_id", INT), ("secondary_type", SqlType::Char(1)), ("secondary_type_desc", DESC), ("has_filter", BIT),
        ("filter_definition", TEXT), ("xml_index_type", TINY), ("xml_index_type_description", DESC), ("path_id", INT),
        ("auto_created", BIT),
    ]) },
    SystemView { schema: "sys", name: "spatial_indexes", rows: spatial_indexes, columns: &super::joined::<23>(INDEX, &[
        ("spatial_index_type", TINY), ("spatial_index_type_desc", DESC), ("tessellation_scheme", NAME), ("has_filter", BIT),
        ("filter_definition", TEXT), ("auto_created", BIT),
    ]) },
    SystemView { schema: "sys", name: "spatial_index_tessellations", rows: tessellations, columns: &[
        ("object_id", INT), ("index_id", INT), ("tessellation_scheme", NAME), ("bounding_box_xmin", FLOAT), ("bounding_box_ymin", FLOAT),
        ("bounding_box_xmax", FLOAT), ("bounding_box_ymax", FLOAT), ("level_1_grid", SMALL), ("level_1_grid_desc", DESC),
        ("level_2_grid", SMALL), ("level_2_grid_desc", DESC), ("level_3_grid", SMALL), ("level_3_grid_desc", DESC),
        ("level_4_grid", SMALL), ("level_4_grid_desc", DESC), ("cells_per_object", INT),
    ] },
    SystemView { schema: "sys", name: "assembly_types", rows: assembly_types, columns: &[
        ("name", NAME), ("system_type_id", TINY), ("user_type_id", INT), ("schema_id", INT), ("principal_id", INT),
        ("max_length", SMALL), ("precision", TINY), ("scale", TINY), ("collation_name", NAME), ("is_nullable", BIT),
        ("is_user_defined", BIT), ("is_assembly_type", BIT), ("default_object_id", INT), ("rule_object_id", INT), ("assembly_id", INT),
        ("assembly_class", NAME), ("is_binary_ordered", BIT), ("is_fixed_length", BIT), ("prog_id", SqlType::NVarChar(Length::Limited(40))),
        ("assembly_qualified_name", SqlType::NVarChar(Length::Limited(4000))), ("is_table_type", BIT),
    ] },
];

/// The columns that `sys.indexes` has too, up to `allow_page_locks`.
pub(super) fn head(t: &TableDef, i: &ContentIndexDef) -> Vec<Value> {
    let (number, name) =
        if matches!(i.kind, ContentIndexKind::Spatial { .. }) { (4, "SPATIAL") } else { (3, "XML") };
    let mut row = vec![int(t.object_id), text(i.name.as_str()), int(i.index_id), int(number), text(name)];
    row.extend([bit(false), int(1), bit(false), bit(false), bit(false), int(0), bit(false), bit(false)]);
    row.extend([bit(false), bit(false), bit(true), bit(true)]);
    row
}

fn each(
    cx: &ViewContext<'_>,
    mut row: impl FnMut(&TableDef, &ContentIndexDef) -> Option<Vec<Value>>,
) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        rows.extend(t.content_indexes.iter().filter_map(|i| row(&t, i)));
    }
    rows
}

fn xml_indexes(cx: &ViewContext<'_>) -> Rows {
    each(cx, |t, i| {
        let (using, usage, kind) = match &i.kind {
            ContentIndexKind::PrimaryXml => (NULL, None, (0, "PRIMARY_XML")),
            ContentIndexKind::SecondaryXml { primary, usage } => {
                (int(*primary), Some(usage.as_str()), (1, "SECONDARY_XML"))
            }
            ContentIndexKind::Spatial { .. } => return None,
        };
        let letter = usage.map(|u| match u {
            "VALUE" => "V",
            "PATH" => "P",
            _ => "R",
        });
        let mut row = head(t, i);
        row.extend([using, letter.map_or(NULL, text), usage.map_or(NULL, text), bit(false), NULL]);
        row.extend([int(kind.0), text(kind.1), NULL, bit(false)]);
        Some(row)
    })
}

fn spatial_indexes(cx: &ViewContext<'_>) -> Rows {
    each(cx, |t, i| {
        let ContentIndexKind::Spatial { scheme, .. } = &i.kind else { return None };
        let mut row = head(t, i);
        let (number, name) = if scheme.starts_with("GEOMETRY") { (1, "GEOMETRY") } else { (2, "GEOGRAPHY") };
        row.extend([int(number), text(name), text(scheme.as_str()), bit(false), NULL, bit(false)]);
        Some(row)
    })
}

fn tessellations(cx: &ViewContext<'_>) -> Rows {
    each(cx, |t, i| {
        let ContentIndexKind::Spatial { scheme, bounds, levels, cells } = &i.kind else { return None };
        let mut row = vec![int(t.object_id), int(i.index_id), text(scheme.as_str())];
        row.extend((0..4).map(|at| bounds.map_or(NULL, |b| Value::Float(b[at]))));
        for at in 0..4 {
            let level = levels.map(|l| l[at]);
            row.push(level.map_or(NULL, int));
            row.push(level.map_or(NULL, |l| text(["LOW", "MEDIUM", "HIGH"][usize::from(l.clamp(1, 3)) - 1])));
        }
        row.push(int(*cells));
        Some(row)
    })
}

fn assembly_types(_: &ViewContext<'_>) -> Rows {
    let all = [SqlType::HierarchyId, SqlType::Geometry, SqlType::Geography];
    let row = |ty: SqlType| {
        let class = format!("Microsoft.SqlServer.Types.{}", keel_query::clr::class_of(ty));
        let full = format!(
            "{class}, Microsoft.SqlServer.Types, Version=11.0.0.0, Culture=neutral, PublicKeyToken=89845dcd8080cc91"
        );
        let mut row = vec![text(ty.name()), int(ty.system_type_id()), int(ty.user_type_id())];
        row.extend([int(crate::catalog::SYS), NULL, int(ty.max_length_bytes()), int(0), int(0), NULL]);
        row.extend([bit(true), bit(false), bit(true), int(0), int(0), int(1), text(class)]);
        row.extend([bit(ty == SqlType::HierarchyId), bit(false), NULL, text(full), bit(false)]);
        row
    };
    all.into_iter().map(row).collect()
}
