//! Full-text search: its objects, its languages, and what its indexes hold and do.

use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, NAME, NULL, SMALL, SystemView, ViewContext, bit, date, int, text,
};
use crate::catalog::SecurableRef;
use crate::engine::DatabaseEntry;
use crate::full_text::{CatalogStatus, IndexStatus, count_pending, parse_rows, read_keywords};
use keel_query::catalog::{Catalog as _, TableDef};
use keel_query::full_text::{FullTextDef, PopulationKind, StoplistDef, Tracking};
use keel_text::{document, language};
use keel_types::{Length, SqlType, Value, column};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const fn chars(n: u16) -> SqlType {
    SqlType::NVarChar(Length::Limited(n))
}

const KEYWORD: SqlType = SqlType::VarBinary(Length::Limited(128));
const LONG: SqlType = chars(4000);

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    view("fulltext_catalogs", catalogs, &[
        ("fulltext_catalog_id", INT), ("name", NAME), ("path", chars(260)), ("is_default", BIT), ("is_accent_sensitivity_on", BIT),
        ("data_space_id", INT), ("file_id", INT), ("principal_id", INT), ("is_importing", BIT),
    ]),
    view("sysfulltextcatalogs", old_catalogs, &[("ftcatid", SMALL), ("name", NAME), ("status", SMALL), ("path", chars(260))]),
    view("fulltext_indexes", indexes, &[
        ("object_id", INT), ("unique_index_id", INT), ("fulltext_catalog_id", INT), ("is_enabled", BIT),
        ("change_tracking_state", SqlType::Char(1)), ("change_tracking_state_desc", DESC), ("has_crawl_completed", BIT),
        ("crawl_type", SqlType::Char(1)), ("crawl_type_desc", DESC), ("crawl_start_date", DATE), ("crawl_end_date", DATE),
        ("incremental_timestamp", SqlType::Binary(8)), ("stoplist_id", INT), ("data_space_id", INT), ("property_list_id", INT),
    ]),
    view("fulltext_index_columns", index_columns, &[
        ("object_id", INT), ("column_id", INT), ("type_column_id", INT), ("language_id", INT), ("statistical_semantics", INT),
    ]),
    view("fulltext_index_catalog_usages", usages, &[("object_id", INT), ("index_id", INT), ("fulltext_catalog_id", INT)]),
    view("fulltext_stoplists", stoplists, &[
        ("stoplist_id", INT), ("name", NAME), ("create_date", DATE), ("modify_date", DATE), ("principal_id", INT),
    ]),
    view("fulltext_stopwords", stopwords, &[
        ("stoplist_id", INT), ("stopword", chars(64)), ("language", NAME), ("language_id", INT),
    ]),
    view("fulltext_system_stopwords", system_stopwords, &[("stopword", chars(64)), ("language_id", INT)]),
    view("fulltext_languages", languages, &[("lcid", INT), ("name", NAME)]),
    view("fulltext_document_types", document_types, &[
        ("document_type", NAME), ("class_id", GUID), ("path", chars(260)), ("version", NAME), ("manufacturer", NAME),
    ]),
    view("dm_fts_active_catalogs", active_catalogs, &[
        ("database_id", INT), ("catalog_id", INT), ("memory_address", SqlType::VarBinary(Length::Limited(8))), ("name", NAME),
        ("is_paused", BIT), ("status", INT), ("status_description", chars(120)), ("previous_status", INT),
        ("previous_status_description", chars(120)), ("worker_count", INT), ("active_fts_index_count", INT),
        ("auto_population_count", INT), ("manual_population_count", INT), ("full_incremental_population_count", INT),
        ("row_count_in_thousands", INT), ("is_importing", BIT),
    ]),
    view("dm_fts_index_population", populations, &[
        ("database_id", INT), ("catalog_id", INT), ("table_id", INT), ("memory_address", SqlType::VarBinary(Length::Limited(8))),
        ("population_type", INT), ("population_type_description", chars(120)), ("is_clustered_index_scan", BIT), ("range_count", INT),
        ("completed_range_count", INT), ("outstanding_batch_count", INT), ("status", INT), ("status_description", chars(120)),
        ("completion_type", INT), ("completion_type_description", chars(120)), ("worker_count", INT), ("queued_population_type", INT),
        ("queued_population_type_description", chars(120)), ("start_time", DATE), ("incremental_timestamp", SqlType::Binary(8)),
    ]),
    view("dm_fts_index_keywords", index_keywords, &[
        ("keyword", KEYWORD), ("display_term", LONG), ("column_id", INT), ("document_count", INT),
    ]),
    view("dm_fts_index_keywords_by_document", keywords_by_document, &[
        ("keyword", KEYWORD), ("display_term", LONG), ("column_id", INT), ("document_id", BIG), ("occurrence_count", INT),
    ]),
    view("dm_fts_parser", parser, &[
        ("keyword", KEYWORD), ("group_id", INT), ("phrase_id", INT), ("occurrence", INT), ("special_term", LONG),
        ("display_term", LONG), ("expansion_type", INT), ("source_term", LONG),
    ]),
];

const fn view(
    name: &'static str,
    rows: fn(&ViewContext<'_>) -> Rows,
    columns: &'static [Column],
) -> SystemView {
    SystemView { schema: "sys", name, columns, rows }
}

/// Tables and indexed views with a full-text index.
fn indexed<'p>(cx: &'p ViewContext<'_>) -> impl Iterator<Item = (&'p Arc<TableDef>, &'p FullTextDef)> {
    cx.picture.stored().filter_map(|t| Some((t, t.full_text.as_ref()?)))
}

/// What a read has brought; when it could not be made, the query fails.
fn read<T>(cx: &ViewContext<'_>, read: keel_types::error::Result<T>) -> Option<T> {
    read.map_err(|e| cx.fail(e)).ok()
}

fn big(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

fn date_or_null(ticks: i64) -> Value {
    if ticks == 0 { NULL } else { date(ticks) }
}

fn catalogs(cx: &ViewContext<'_>) -> Rows {
    let row = |c: &Arc<keel_query::full_text::FullTextCatalogDef>| {
        let head = [int(c.catalog_id), text(c.name.as_str()), NULL, bit(c.is_default), bit(c.accents)];
        [&head[..], &[NULL, NULL, int(c.owner), bit(false)]].concat()
    };
    cx.picture.full_text_catalogs().map(row).collect()
}

fn old_catalogs(cx: &ViewContext<'_>) -> Rows {
    let all = cx.picture.full_text_catalogs();
    all.map(|c| vec![int(c.catalog_id), text(c.name.as_str()), int(0), NULL]).collect()
}

fn indexes(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    for (t, index) in indexed(cx) {
        let Some(status) = read(cx, IndexStatus::of(&cx.entry, index)) else { break };
        let (state, state_name) = match index.tracking {
            Tracking::Auto => ("A", "AUTO"),
            Tracking::Manual => ("M", "MANUAL"),
            Tracking::Off => ("O", "OFF"),
        };
        let crawl = &status.crawl;
        let kind = crawl.population.as_ref().map(|p| p.kind).or(crawl.last_kind);
        let (kind, kind_name) = match kind {
            Some(PopulationKind::Full) => (text("F"), text("FULL_CRAWL")),
            Some(PopulationKind::Incremental) => (text("I"), text("INCREMENTAL_CRAWL")),
            Some(PopulationKind::Update) => (text("U"), text("UPDATE_CRAWL")),
            None => (NULL, NULL),
        };
        let started = crawl.population.as_ref().map_or(crawl.last_started, |p| p.started);
        let ended = if crawl.population.is_some() { 0 } else { crawl.last_ended };
        let version = Value::bytes(crawl.last_row_version.to_be_bytes().to_vec());
        let mut row = vec![int(t.object_id), int(index.key_index), int(index.catalog_id), bit(index.enabled)];
        row.extend([text(state), text(state_name), bit(ended != 0), kind, kind_name, date_or_null(started)]);
        row.extend([date_or_null(ended), if ended == 0 { NULL } else { version }]);
        row.extend([index.stoplist.map_or(NULL, int), int(1), NULL]);
        rows.push(row);
    }
    rows
}

fn index_columns(cx: &ViewContext<'_>) -> Rows {
    let of = |(t, index): (&Arc<TableDef>, &FullTextDef)| {
        let id = t.object_id;
        let row = |c: &keel_query::full_text::FullTextColumn| {
            vec![int(id), int(c.column_id), c.type_column.map_or(NULL, int), int(c.language), int(0)]
        };
        index.columns.iter().map(row).collect::<Rows>()
    };
    indexed(cx).flat_map(of).collect()
}

fn usages(cx: &ViewContext<'_>) -> Rows {
    indexed(cx)
        .map(|(t, index)| vec![int(t.object_id), int(index.key_index), int(index.catalog_id)])
        .collect()
}

fn stoplists(cx: &ViewContext<'_>) -> Rows {
    let row = |s: &Arc<StoplistDef>| {
        vec![int(s.stoplist_id), text(s.name.as_str()), date(s.created), date(s.modified), int(s.owner)]
    };
    cx.picture.stoplists().map(row).collect()
}

fn stopwords(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    for list in cx.picture.stoplists() {
        for (lcid, word) in &list.words {
            let name = language::by_lcid(*lcid).map_or(NULL, |l| text(l.name));
            rows.push(vec![int(list.stoplist_id), text(word.as_str()), name, int(*lcid)]);
        }
    }
    rows
}

fn system_stopwords(_: &ViewContext<'_>) -> Rows {
    let of = |l: &language::Language| {
        let lcid = l.lcid;
        l.stop_words().into_iter().map(move |word| vec![text(word.as_str()), int(lcid)])
    };
    language::LANGUAGES.iter().flat_map(of).collect()
}

fn languages(_: &ViewContext<'_>) -> Rows {
    language::LANGUAGES.iter().map(|l| vec![int(l.lcid), text(l.name)]).collect()
}

fn document_types(_: &ViewContext<'_>) -> Rows {
    document::types().map(|extension| vec![text(extension), NULL, NULL, NULL, NULL]).collect()
}

/// Catalogs of the database with something under way.
fn active_catalogs(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    for c in cx.picture.full_text_catalogs() {
        let of: Vec<&FullTextDef> = indexed(cx)
            .filter(|(_, index)| index.catalog_id == c.catalog_id)
            .map(|(_, index)| index)
            .collect();
        let Some(status) = read(cx, CatalogStatus::of(&cx.entry, &of, false)) else { break };
        if status.populating == 0 {
            continue;
        }
        let count = |n: usize| int(i32::try_from(n).unwrap_or(i32::MAX));
        let mut row = vec![int(cx.entry.id.0), int(c.catalog_id), NULL, text(c.name.as_str())];
        row.extend([bit(status.populating == 2), int(0), text("Normal"), int(0), text("Normal"), int(1)]);
        row.extend([count(of.len()), int(0), int(0), count(of.len()), big(status.items / 1000), bit(false)]);
        rows.push(row);
    }
    rows
}

fn populations(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    for (t, index) in indexed(cx) {
        let Some(status) = read(cx, IndexStatus::of(&cx.entry, index)) else { break };
        let population = status.crawl.population.as_ref();
        let (kind, name) = match population.map(|p| p.kind) {
            Some(PopulationKind::Full) => (1, "FULL"),
            Some(PopulationKind::Incremental) => (2, "INCREMENTAL"),
            Some(PopulationKind::Update) => (3, "MANUAL"),
            None if status.follows() => (4, "AUTO"),
            None => continue,
        };
        let paused = population.is_some_and(|p| p.paused);
        let (state, state_name) = if paused { (7, "Paused") } else { (5, "Processing normally") };
        let Some(waiting) = read(cx, count_pending(&cx.entry, index)) else { break };
        let batches = i32::try_from(waiting).unwrap_or(i32::MAX);
        let started = population.map_or(0, |p| p.started);
        let mut row = vec![int(cx.entry.id.0), int(index.catalog_id), int(t.object_id), NULL, int(kind)];
        row.extend([text(name), bit(population.is_some()), int(1), int(0), int(batches), int(state)]);
        row.extend([text(state_name), int(0), text("NONE"), int(1), int(0), text("NONE")]);
        row.extend([date_or_null(started), NULL]);
        rows.push(row);
    }
    rows
}

/// The database and table that the arguments name, with an index, of a table whose indexed columns the reader may read in all rows, and the
/// keys when it is told those. Nothing is wrong with a function that is not called.
fn named(cx: &ViewContext<'_>, keys: bool) -> Option<(Arc<DatabaseEntry>, Arc<TableDef>)> {
    if cx.args.is_empty() {
        return None;
    }
    let argument = |at: usize| match cx.args.get(at) {
        Some(Value::Int(n)) => Some(*n),
        _ => None,
    };
    let (Some(database), Some(object)) = (argument(0), argument(1)) else {
        let text = "Parameters of dm_fts_index_keywords, dm_fts_index_keywords_by_document, dm_fts_index_keywords_by_property, and dm_fts_index_keywords_position_by_document cannot be null.";
        cx.fail(keel_types::SqlError::new(30_007, 16, 1, text));
        return None;
    };
    let id = u32::try_from(database).ok().map(keel_base::DatabaseId);
    let entry = id.and_then(|id| cx.engine.database_by_id(id));
    let Some(entry) = entry else {
        let text = format!("A fulltext system view or stvf cannot open database id {database}.");
        cx.fail(keel_types::SqlError::new(30_003, 16, 1, text));
        return None;
    };
    let table = i32::try_from(object).ok().and_then(|id| entry.picture().stored_by_id(id));
    let may = |t: &Arc<TableDef>| {
        let Some(index) = &t.full_text else { return false };
        let key = index.key_column(t).filter(|_| keys).map(|at| t.columns[at].column_id);
        let columns: Vec<i32> = index.columns.iter().map(|c| c.column_id).chain(key).collect();
        let reads = |id: &i32| cx.info.may(&entry, "SELECT", SecurableRef::Column(t.object_id, *id));
        columns.iter().all(reads) && cx.info.sees_all(&entry, t, &columns)
    };
    match table.filter(may) {
        Some(table) => Some((entry, table)),
        None => {
            let text = format!("A fulltext system view or stvf cannot open user table object id {object}.");
            cx.fail(keel_types::SqlError::new(30_006, 16, 1, text));
            None
        }
    }
}

/// A word as the bytes that the product shows of it, UTF-16 with the first byte high, and as text.
fn word(word: &str) -> [Value; 2] {
    let bytes: Vec<u8> = word.encode_utf16().flat_map(u16::to_be_bytes).take(128).collect();
    [Value::bytes(bytes), text(word)]
}

fn index_keywords(cx: &ViewContext<'_>) -> Rows {
    let Some((entry, table)) = named(cx, false) else { return Rows::new() };
    let mut rows = Rows::new();
    let done = read_keywords(cx.info, &entry, &table, |k| {
        let count = i32::try_from(k.documents.len()).unwrap_or(i32::MAX);
        rows.push([&word(&k.word)[..], &[int(k.column_id), int(count)]].concat());
    });
    read(cx, done);
    rows
}

fn keywords_by_document(cx: &ViewContext<'_>) -> Rows {
    let Some((entry, table)) = named(cx, true) else { return Rows::new() };
    let key = table.full_text.as_ref().and_then(|index| index.key_column(&table));
    let Some(key) = key.map(|at| table.columns[at].ty) else { return Rows::new() };
    let mut rows = Rows::new();
    let done = read_keywords(cx.info, &entry, &table, |k| {
        for d in &k.documents {
            let id = match column::decode(&d.value, &key) {
                Value::Int(id) => Value::Int(id),
                _ => big(d.document),
            };
            let count = i32::try_from(d.occurrences).unwrap_or(i32::MAX);
            rows.push([&word(&k.word)[..], &[int(k.column_id), id, int(count)]].concat());
        }
    });
    read(cx, done);
    rows
}

/// `sys.dm_fts_parser(query, lcid, stoplist, accent sensitivity)`
fn parser(cx: &ViewContext<'_>) -> Rows {
    let Some(query) = cx.args.first() else { return Rows::new() };
    let query = query.as_str().unwrap_or_default();
    let number = |at: usize| cx.args.get(at).and_then(Value::as_int);
    let lcid = number(1).and_then(|n| i32::try_from(n).ok()).unwrap_or(language::ENGLISH);
    let stoplist = number(2).and_then(|n| i32::try_from(n).ok());
    let list = stoplist.and_then(|id| cx.picture.stoplist(id));
    let accents = matches!(cx.args.get(3), Some(Value::Bit(true) | Value::Int(1)));
    let parsed = parse_rows(query, lcid, stoplist.map(|id| (id, list.as_deref())), accents);
    let row = |w: &crate::full_text::ParsedWord| {
        let [keyword, display] = word(&w.word);
        let mut row = vec![keyword, Value::Int(w.group), Value::Int(w.phrase), Value::Int(w.occurrence)];
        row.extend([text(w.special), display, Value::Int(w.expansion), text(w.source.as_str())]);
        row
    };
    read(cx, parsed).unwrap_or_default().iter().map(row).collect()
}
