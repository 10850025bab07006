//! XML and spatial indexes: checked, remembered and shown. Methods look at the values themselves, with or without them.

use crate::catalog::fold;
use crate::ddl::table::option_on;
use crate::errors;
use crate::run::Runner;
use keel_parser::ast::{self, OptValue};
use keel_query::catalog::{ColumnDef, ContentIndexDef, ContentIndexKind, IndexKind, TableDef};
use keel_types::SqlType;
use keel_types::error::Result;

/// Where the `index_id`s of the kinds begin.
const FIRST_XML: i32 = 256_000;
const FIRST_SPATIAL: i32 = 384_000;

impl Runner<'_> {
    /// Errors: 1911 and 1913 as of any index, 6330 to 6332, 6343 and 6344 of XML, 12002 to 12008 of spatial indexes.
    pub(super) fn create_content_index(
        &mut self,
        table: &TableDef,
        c: &ast::CreateIndex,
        content: &ast::ContentIndex,
    ) -> Result<()> {
        let mut base = table.clone();
        if option_on(&c.options, "DROP_EXISTING") {
            base.content_indexes.retain(|i| fold(&i.name) != fold(&c.name.text));
        }
        let taken = |name: &str| fold(name) == fold(&c.name.text);
        let all = base.indexes.iter().map(|i| &i.name).chain(base.columnstores.iter().map(|i| &i.name));
        let others =
            base.statistics.iter().map(|s| &s.name).chain(base.content_indexes.iter().map(|i| &i.name));
        if all.chain(others).any(|name| taken(name)) {
            return Err(errors::index_exists(&c.table, &c.name.text));
        }
        let [named] = c.columns.as_slice() else { return Err(keel_query::errors::syntax_near(",")) };
        let column = base.columns.iter().find(|o| fold(&o.name) == fold(&named.name.text));
        let column = column.ok_or_else(|| errors::no_column_in_table(&named.name.text))?;
        let kind = match content {
            ast::ContentIndex::PrimaryXml => primary_xml(&base, column)?,
            ast::ContentIndex::Xml { using } => secondary_xml(&base, column, using.as_ref(), &c.name.text)?,
            ast::ContentIndex::Spatial { scheme } => spatial(&base, column, scheme.as_deref(), &c.options)?,
        };
        let first = if matches!(kind, ContentIndexKind::Spatial { .. }) { FIRST_SPATIAL } else { FIRST_XML };
        let of_kind = base
            .content_indexes
            .iter()
            .map(|i| i.index_id)
            .filter(|id| (first..first + 100_000).contains(id));
        let index_id = of_kind.max().map_or(first, |id| id + 1);
        let def = ContentIndexDef { index_id, name: c.name.text.to_string(), column: column.column_id, kind };
        base.content_indexes.push(def);
        self.replace_table(base).map(|_| ())
    }

    /// Whether there was such an index; a primary XML index takes its secondary ones with it.
    pub(super) fn drop_content_index(&mut self, table: &TableDef, name: &str) -> Result<bool> {
        let found = table.content_indexes.iter().find(|i| fold(&i.name) == fold(name));
        let Some(id) = found.map(|i| i.index_id) else { return Ok(false) };
        let mut base = table.clone();
        let below = |i: &ContentIndexDef| matches!(i.kind, ContentIndexKind::SecondaryXml { primary, .. } if primary == id);
        base.content_indexes.retain(|i| i.index_id != id && !below(i));
        self.replace_table(base)?;
        Ok(true)
    }
}

/// Columns of the clustered primary key.
fn clustered_key(table: &TableDef) -> Option<usize> {
    let index = table.indexes.iter().find(|i| i.is_primary_key)?;
    (index.kind == IndexKind::Clustered).then_some(index.key.len())
}

fn primary_xml(table: &TableDef, column: &ColumnDef) -> Result<ContentIndexKind> {
    if !column.ty.is_xml() {
        return Err(errors::not_xml_column(&column.name, &table.name));
    }
    let primary =
        |i: &&ContentIndexDef| i.column == column.column_id && i.kind == ContentIndexKind::PrimaryXml;
    if let Some(other) = table.content_indexes.iter().find(primary) {
        return Err(errors::second_primary_xml(&other.name, &column.name, &table.name));
    }
    match clustered_key(table) {
        Some(columns) if columns < 16 => Ok(ContentIndexKind::PrimaryXml),
        _ => Err(errors::no_key_for_xml_index(&table.name)),
    }
}

fn secondary_xml(
    table: &TableDef,
    column: &ColumnDef,
    using: Option<&(ast::Ident, smol_str::SmolStr)>,
    name: &str,
) -> Result<ContentIndexKind> {
    let Some((primary, usage)) = using else { return Err(errors::secondary_xml_without_using(name)) };
    let found = table.content_indexes.iter().find(|i| {
        i.column == column.column_id
            && i.kind == ContentIndexKind::PrimaryXml
            && fold(&i.name) == fold(&primary.text)
    });
    let found = found.ok_or_else(|| errors::no_primary_xml(&primary.text, &table.name, &column.name))?;
    Ok(ContentIndexKind::SecondaryXml { primary: found.index_id, usage: usage.to_string() })
}

fn spatial(
    table: &TableDef,
    column: &ColumnDef,
    scheme: Option<&str>,
    options: &[ast::Opt],
) -> Result<ContentIndexKind> {
    if !column.ty.is_spatial() {
        return Err(errors::not_spatial_column(&column.name, &table.name));
    }
    if clustered_key(table).is_none() {
        return Err(errors::no_key_for_spatial_index(&table.name));
    }
    let family = column.ty.name().to_ascii_uppercase();
    let scheme = scheme.map_or_else(|| format!("{family}_AUTO_GRID"), str::to_owned);
    let automatic = scheme.ends_with("_AUTO_GRID");
    if ![format!("{family}_GRID"), format!("{family}_AUTO_GRID")].contains(&scheme) {
        return Err(errors::wrong_tessellation(&scheme));
    }
    let bounds = numbers(options, "BOUNDING_BOX")?;
    if column.ty == SqlType::Geometry && bounds.is_none() {
        return Err(errors::no_bounding_box());
    }
    let cells = options.iter().find(|o| o.name == "CELLS_PER_OBJECT").and_then(|o| number(&o.value));
    let usual = match (automatic, column.ty) {
        (false, _) => 16,
        (true, SqlType::Geometry) => 8,
        (true, _) => 12,
    };
    #[allow(clippy::cast_possible_truncation, reason = "at most 8192 cells")]
    let cells = cells.map_or(usual, |n| n.clamp(1.0, 8192.0) as i32);
    let levels = if automatic { None } else { Some(grids(options)) };
    Ok(ContentIndexKind::Spatial { scheme, bounds, levels, cells })
}

fn number(value: &OptValue) -> Option<f64> {
    match value {
        OptValue::Number(literal) | OptValue::Measure(literal, _) => match literal {
            ast::Literal::Int(n) => Some(f64::from(*n)),
            ast::Literal::Float(n) => Some(*n),
            #[allow(clippy::cast_precision_loss, reason = "a coordinate is a float")]
            ast::Literal::Numeric { mantissa, scale, .. } => {
                Some(*mantissa as f64 / 10f64.powi((*scale).into()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The four numbers of an option, in order or by name. Error 102 for another count.
fn numbers(options: &[ast::Opt], name: &str) -> Result<Option<[f64; 4]>> {
    let Some(option) = options.iter().find(|o| o.name == name) else { return Ok(None) };
    let OptValue::List(items) = &option.value else { return Err(errors::bad_index_parameter(name)) };
    let mut found = [f64::NAN; 4];
    for (at, item) in items.iter().enumerate() {
        let named = ["XMIN", "YMIN", "XMAX", "YMAX"].iter().position(|n| item.name == *n);
        let slot = found.get_mut(named.unwrap_or(at)).ok_or_else(|| errors::bad_index_parameter(name))?;
        *slot = number(&item.value).ok_or_else(|| errors::bad_index_parameter(name))?;
    }
    if found.iter().any(|n| n.is_nan()) {
        return Err(errors::bad_index_parameter(name));
    }
    Ok(Some(found))
}

/// LOW, MEDIUM or HIGH of the four levels, in order or by name.
fn grids(options: &[ast::Opt]) -> [u8; 4] {
    let mut levels = [2; 4];
    let Some(OptValue::List(items)) = options.iter().find(|o| o.name == "GRIDS").map(|o| &o.value) else {
        return levels;
    };
    for (at, item) in items.iter().enumerate() {
        let named = ["LEVEL_1", "LEVEL_2", "LEVEL_3", "LEVEL_4"].iter().position(|n| item.name == *n);
        let word = match &item.value {
            OptValue::Word(word) => word.text.to_ascii_uppercase(),
            _ => item.name.to_ascii_uppercase(),
        };
        let density = ["LOW", "MEDIUM", "HIGH"].iter().position(|w| word == *w).unwrap_or(1);
        if let Some(level) = levels.get_mut(named.unwrap_or(at)) {
            *level = density as u8 + 1;
        }
    }
    levels
}
