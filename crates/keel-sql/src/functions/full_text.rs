//! FULLTEXTCATALOGPROPERTY, FULLTEXTSERVICEPROPERTY, and what OBJECTPROPERTY says of a table's full-text index.

use super::text;
use crate::full_text::{CatalogStatus, IndexStatus, count_pending};
use crate::session::info::Info;
use keel_query::catalog::TableDef;
use keel_query::full_text::{FullTextDef, Tracking};
use keel_types::Value;
use keel_types::datetime::TICKS_PER_SECOND;
use keel_types::error::Result;

/// 1990-01-01 in seconds since 0001-01-01, from which on `PopulateCompletionAge` counts.
const AGE_BEGINS: i64 = 62_766_921_600;
const MEGABYTE: u64 = 1 << 20;

fn count(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX).min(i32::MAX.into()))
}

/// `FULLTEXTCATALOGPROPERTY(name, property)`
pub(super) fn catalog_property(info: &Info, args: &[Value]) -> Result<Value> {
    let entry = info.current_database();
    let picture = info.picture(&entry);
    let catalog = text(args, 0).and_then(|name| picture.full_text_catalog_named(name));
    let Some(catalog) = catalog else { return Ok(Value::Null) };
    let property = text(args, 1).unwrap_or("").to_ascii_lowercase();
    if property == "accentsensitivity" {
        return Ok(Value::Int(catalog.accents.into()));
    }
    let id = catalog.catalog_id;
    let indexes: Vec<&FullTextDef> = picture
        .stored()
        .filter_map(|t| t.full_text.as_ref())
        .filter(|index| index.catalog_id == id)
        .collect();
    let counting = matches!(property.as_str(), "indexsize" | "uniquekeycount");
    // What the session has committed counts.
    info.settle()?;
    let status = || CatalogStatus::of(&entry, &indexes, counting);
    Ok(match property.as_str() {
        "populatestatus" => Value::Int(status()?.populating),
        "mergestatus" => Value::Int(status()?.merging.into()),
        "itemcount" => count(status()?.items),
        "uniquekeycount" => count(status()?.words),
        "indexsize" => count(status()?.bytes / MEGABYTE),
        "populatecompletionage" => match status()?.ended {
            0 => Value::Int(0),
            ended => Value::Int(ended / TICKS_PER_SECOND - AGE_BEGINS),
        },
        "importstatus" | "logsize" => Value::Int(0),
        _ => Value::Null,
    })
}

/// `FULLTEXTSERVICEPROPERTY(property)`
pub(super) fn service_property(_: &Info, args: &[Value]) -> Result<Value> {
    Ok(match text(args, 0).unwrap_or("").to_ascii_lowercase().as_str() {
        "isfulltextinstalled" | "verifysignature" => Value::Int(1),
        "resourceusage" | "connecttimeout" | "datatimeout" | "loadosresources" => Value::Int(0),
        _ => Value::Null,
    })
}

/// The properties of a table's full-text index; `None` for others.
pub(super) fn table_property(info: &Info, t: &TableDef, property: &str) -> Result<Option<Value>> {
    let flag = |b: bool| Value::Int(b.into());
    let Some(index) = &t.full_text else {
        let known = property.starts_with("tablefulltext") || property == "tablehasactivefulltextindex";
        return Ok(known.then_some(Value::Int(0)));
    };
    let entry = info.current_database();
    let status = || info.settle().and_then(|()| IndexStatus::of(&entry, index));
    Ok(Some(match property {
        "tablehasactivefulltextindex" => flag(index.enabled),
        "tablefulltextbackgroundupdateindexon" => flag(index.tracking == Tracking::Auto),
        "tablefulltextchangetrackingon" => flag(index.tracking != Tracking::Off),
        "tablefulltextcatalogid" => Value::Int(index.catalog_id.into()),
        "tablefulltextkeycolumn" => {
            let key = index.key_column(t).map(|at| t.columns[at].column_id);
            Value::Int(key.unwrap_or(0).into())
        }
        "tablefulltextdocsprocessed" => {
            let crawl = status()?.crawl;
            count(crawl.population.map_or(crawl.documents, |p| p.processed))
        }
        "tablefulltextfailcount" => count(status()?.crawl.failed),
        "tablefulltextitemcount" => count(status()?.crawl.documents),
        "tablefulltextpendingchanges" => count(info.settle().and_then(|()| count_pending(&entry, index))?),
        "tablefulltextpopulatestatus" => Value::Int(status()?.table_status()),
        _ => return Ok(None),
    }))
}

/// `COLUMNPROPERTY(…, 'FullTextTypeColumn')` and the like; `None` for others.
pub(super) fn column_property(t: &TableDef, column_id: i32, property: &str) -> Option<Value> {
    let index = t.full_text.as_ref();
    let column = index.and_then(|index| index.column(column_id));
    Some(Value::Int(match property {
        "isfulltextindexed" => column.is_some().into(),
        "fulltexttypecolumn" => column.and_then(|c| c.type_column).unwrap_or(0).into(),
        "istypeforfulltextblob" => {
            let mut all = index.iter().flat_map(|index| &index.columns);
            all.any(|c| c.type_column == Some(column_id)).into()
        }
        "statisticalsemantics" => 0,
        _ => return None,
    }))
}
