//! The plan cache: programs, their statements and modules, how often they ran and what that cost.

use super::{BIG, Column, DATE, INT, KIND, NULL, SystemView, ViewContext, date, int, text};
use crate::engine::StatementAt;
use crate::program::{Program, ProgramKind, Runs, Total};
use crate::secrets::without_secrets;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

type Rows = Vec<Vec<Value>>;

const HANDLE: SqlType = SqlType::VarBinary(Length::Limited(64));
const HASH: SqlType = SqlType::Binary(8);
const WORDS: SqlType = SqlType::NVarChar(Length::Limited(50));

const QUERY: &[Column] = &[
    ("sql_handle", HANDLE),
    ("statement_start_offset", INT),
    ("statement_end_offset", INT),
    ("plan_generation_num", BIG),
    ("plan_handle", HANDLE),
    ("creation_time", DATE),
    ("last_execution_time", DATE),
    ("execution_count", BIG),
    ("total_worker_time", BIG),
    ("last_worker_time", BIG),
    ("min_worker_time", BIG),
    ("max_worker_time", BIG),
    ("total_physical_reads", BIG),
    ("last_physical_reads", BIG),
    ("min_physical_reads", BIG),
    ("max_physical_reads", BIG),
    ("total_logical_writes", BIG),
    ("last_logical_writes", BIG),
    ("min_logical_writes", BIG),
    ("max_logical_writes", BIG),
    ("total_logical_reads", BIG),
    ("last_logical_reads", BIG),
    ("min_logical_reads", BIG),
    ("max_logical_reads", BIG),
    ("total_clr_time", BIG),
    ("last_clr_time", BIG),
    ("min_clr_time", BIG),
    ("max_clr_time", BIG),
    ("total_elapsed_time", BIG),
    ("last_elapsed_time", BIG),
    ("min_elapsed_time", BIG),
    ("max_elapsed_time", BIG),
    ("query_hash", HASH),
    ("query_plan_hash", HASH),
    ("total_rows", BIG),
    ("last_rows", BIG),
    ("min_rows", BIG),
    ("max_rows", BIG),
    ("statement_sql_handle", HANDLE),
    ("statement_context_id", BIG),
    ("total_dop", BIG),
    ("last_dop", BIG),
    ("min_dop", BIG),
    ("max_dop", BIG),
    ("total_grant_kb", BIG),
    ("last_grant_kb", BIG),
    ("min_grant_kb", BIG),
    ("max_grant_kb", BIG),
    ("total_used_grant_kb", BIG),
    ("last_used_grant_kb", BIG),
    ("min_used_grant_kb", BIG),
    ("max_used_grant_kb", BIG),
    ("total_ideal_grant_kb", BIG),
    ("last_ideal_grant_kb", BIG),
    ("min_ideal_grant_kb", BIG),
    ("max_ideal_grant_kb", BIG),
    ("total_reserved_threads", BIG),
    ("last_reserved_threads", BIG),
    ("min_reserved_threads", BIG),
    ("max_reserved_threads", BIG),
    ("total_used_threads", BIG),
    ("last_used_threads", BIG),
    ("min_used_threads", BIG),
    ("max_used_threads", BIG),
    ("total_columnstore_segment_reads", BIG),
    ("last_columnstore_segment_reads", BIG),
    ("min_columnstore_segment_reads", BIG),
    ("max_columnstore_segment_reads", BIG),
    ("total_columnstore_segment_skips", BIG),
    ("last_columnstore_segment_skips", BIG),
    ("min_columnstore_segment_skips", BIG),
    ("max_columnstore_segment_skips", BIG),
    ("total_spills", BIG),
    ("last_spills", BIG),
    ("min_spills", BIG),
    ("max_spills", BIG),
    ("total_num_physical_reads", BIG),
    ("last_num_physical_reads", BIG),
    ("min_num_physical_reads", BIG),
    ("max_num_physical_reads", BIG),
    ("total_page_server_reads", BIG),
    ("last_page_server_reads", BIG),
    ("min_page_server_reads", BIG),
    ("max_page_server_reads", BIG),
    ("total_num_page_server_reads", BIG),
    ("last_num_page_server_reads", BIG),
    ("min_num_page_server_reads", BIG),
    ("max_num_page_server_reads", BIG),
];

const PROCEDURE: &[Column] = &[
    ("database_id", INT),
    ("object_id", INT),
    ("type", KIND),
    ("type_desc", super::DESC),
    ("sql_handle", HANDLE),
    ("plan_handle", HANDLE),
    ("cached_time", DATE),
    ("last_execution_time", DATE),
    ("execution_count", BIG),
    ("total_worker_time", BIG),
    ("last_worker_time", BIG),
    ("min_worker_time", BIG),
    ("max_worker_time", BIG),
    ("total_physical_reads", BIG),
    ("last_physical_reads", BIG),
    ("min_physical_reads", BIG),
    ("max_physical_reads", BIG),
    ("total_logical_writes", BIG),
    ("last_logical_writes", BIG),
    ("min_logical_writes", BIG),
    ("max_logical_writes", BIG),
    ("total_logical_reads", BIG),
    ("last_logical_reads", BIG),
    ("min_logical_reads", BIG),
    ("max_logical_reads", BIG),
    ("total_elapsed_time", BIG),
    ("last_elapsed_time", BIG),
    ("min_elapsed_time", BIG),
    ("max_elapsed_time", BIG),
    ("total_spills", BIG),
    ("last_spills", BIG),
    ("min_spills", BIG),
    ("max_spills", BIG),
];

const CACHED: &[Column] = &[
    ("bucketid", INT),
    ("refcounts", INT),
    ("usecounts", INT),
    ("size_in_bytes", INT),
    ("memory_object_address", HANDLE),
    ("cacheobjtype", WORDS),
    ("objtype", WORDS),
    ("plan_handle", HANDLE),
    ("pool_id", INT),
    ("parent_plan_handle", HANDLE),
];

/// `dm_exec_query_plan`, and with `query_plan` of another type `dm_exec_text_query_plan`.
const fn plan_columns(plan: SqlType) -> [Column; 5] {
    [
        ("dbid", super::SMALL),
        ("objectid", INT),
        ("number", super::SMALL),
        ("encrypted", super::BIT),
        ("query_plan", plan),
    ]
}

/// The views.
pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_exec_query_stats", columns: QUERY, rows: query_stats },
    SystemView { schema: "sys", name: "dm_exec_procedure_stats", columns: PROCEDURE, rows: procedure_stats },
    SystemView { schema: "sys", name: "dm_exec_function_stats", columns: PROCEDURE, rows: function_stats },
    SystemView { schema: "sys", name: "dm_exec_trigger_stats", columns: PROCEDURE, rows: trigger_stats },
    SystemView { schema: "sys", name: "dm_exec_cached_plans", columns: CACHED, rows: cached_plans },
    SystemView {
        schema: "sys",
        name: "dm_exec_query_optimizer_info",
        columns: &[
            ("counter", SqlType::NVarChar(Length::Limited(4000))),
            ("occurrence", BIG),
            ("value", SqlType::Float),
        ],
        // Which hints and strategies plans had is not counted.
        rows: |cx| {
            let programs = &cx.engine.programs;
            let compiled = [&programs.misses, &programs.compiled_modules];
            let compiled: u64 = compiled.iter().map(|n| n.load(Ordering::Relaxed)).sum();
            vec![vec![text("optimizations"), int(compiled as i64), Value::Float(1.0)]]
        },
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_valid_use_hints",
        columns: &[("name", super::NAME)],
        rows: |_| keel_query::bind::USE_HINTS.iter().map(|name| vec![text(*name)]).collect(),
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_plan_attributes",
        columns: &[
            ("attribute", SqlType::VarChar(Length::Limited(128))),
            ("value", super::VARIANT),
            ("is_cache_key", super::BIT),
        ],
        rows: plan_attributes,
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_query_plan",
        columns: &plan_columns(SqlType::Xml),
        rows: query_plan,
    },
    // What the last execution counted is not kept; without that, the product gives what it estimated.
    SystemView {
        schema: "sys",
        name: "dm_exec_query_plan_stats",
        columns: &plan_columns(SqlType::Xml),
        rows: query_plan,
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_text_query_plan",
        columns: &plan_columns(super::TEXT),
        rows: query_plan,
    },
];

const SQL_HANDLE: u8 = 0x03;
const PLAN_HANDLE: u8 = 0x06;

fn handle(kind: u8, program: &Program) -> Value {
    let mut bytes = vec![kind, 0, 0, 0];
    bytes.extend(program.id.to_be_bytes());
    Value::bytes(bytes)
}

/// The program that a `sql_handle` or `plan_handle` names.
pub(super) fn by_handle(cx: &ViewContext<'_>, handle: &[u8]) -> Option<Arc<Program>> {
    let [SQL_HANDLE | PLAN_HANDLE, 0, 0, 0, id @ ..] = handle else { return None };
    let id = u64::from_be_bytes(id.try_into().ok()?);
    let cached = cx.engine.programs.all().into_iter().find(|p| p.id == id);
    // What a session runs may have left the cache.
    let running = || {
        cx.engine
            .sessions
            .all()
            .iter()
            .find_map(|s| s.current.statement().map(|at| at.program).filter(|p| p.id == id))
    };
    cached.or_else(running)
}

/// `sql_handle` and `plan_handle` of a program.
pub(crate) fn handles(program: &Program) -> [Value; 2] {
    [handle(SQL_HANDLE, program), handle(PLAN_HANDLE, program)]
}

/// A program's text with the declarations of its parameters in front, without passwords.
pub(super) fn shown_text(program: &Program) -> String {
    format!("{}{}", program.declarations(), without_secrets(&program.text))
}

/// The row of `dm_exec_sql_text`.
pub(super) fn text_row(program: &Program) -> Vec<Value> {
    let object = program.identity.object_id;
    let object = if object == 0 { NULL } else { int(object) };
    vec![int(program.identity.database.0), object, NULL, super::bit(false), text(shown_text(program))]
}

/// What keeps two plans of one text apart here: the database and the module they are of.
fn plan_attributes(cx: &ViewContext<'_>) -> Rows {
    let Some(handle) = cx.args.first().and_then(Value::as_bytes) else { return Vec::new() };
    let Some(program) = by_handle(cx, handle) else { return Vec::new() };
    let attribute =
        |name: &'static str, value: i64| vec![text(name), super::whole_number(INT, value), super::bit(true)];
    let database = i64::from(program.identity.database.0);
    vec![attribute("dbid", database), attribute("objectid", i64::from(program.identity.object_id))]
}

/// The plans of a text's statements. `dm_exec_text_query_plan` may name one by where it begins and ends.
fn query_plan(cx: &ViewContext<'_>) -> Rows {
    let Some(handle) = cx.args.first().and_then(Value::as_bytes) else { return Vec::new() };
    let Some(program) = by_handle(cx, handle) else { return Vec::new() };
    let named = |at: usize| match cx.args.get(at) {
        Some(Value::Int(offset)) => Some(*offset),
        _ => None,
    };
    let wanted = (named(1).unwrap_or(0), named(2).unwrap_or(-1));
    let place = match wanted {
        (0, -1) => None,
        _ => {
            let at = statements(&program).find(|at| at.offsets() == wanted);
            let Some(at) = at else { return Vec::new() };
            Some((at.start, at.end))
        }
    };
    let mut row = text_row(&program);
    let document = crate::run::cached_document(&program, place);
    row[4] = document.filter(|d| levels(d) <= XML_LEVELS_MAX).map_or(NULL, text);
    vec![row]
}

/// What a value of xml may be nested. A plan that is nested deeper is NULL, as in the product; `dm_exec_text_query_plan` has it.
const XML_LEVELS_MAX: usize = 128;

/// How deep a document is nested. Its attributes have neither of the characters that make tags.
fn levels(document: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for tag in document.split('<').skip(1) {
        let Some((tag, _)) = tag.split_once('>') else { continue };
        if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
        } else if !tag.starts_with(['?', '!']) {
            deepest = deepest.max(depth + 1);
            depth += usize::from(!tag.ends_with('/'));
        }
    }
    deepest
}

fn figures(total: &Total) -> [Value; 4] {
    total.get().map(Value::Int)
}

/// The statements of a program that are queries or changes.
fn statements(program: &Arc<Program>) -> impl Iterator<Item = StatementAt> + '_ {
    let counted = (0..).zip(&program.code).filter(|(_, instruction)| instruction.stats.is_some());
    counted.filter_map(|(at, _)| StatementAt::of(program, at))
}

fn query_stats(cx: &ViewContext<'_>) -> Rows {
    let rows_of = |program: &Arc<Program>| -> Rows {
        statements(program).filter_map(|at| Some(query_row(&at, &at.runs()?))).collect()
    };
    cx.engine.programs.all().iter().flat_map(rows_of).collect()
}

fn query_row(at: &StatementAt, runs: &Runs) -> Vec<Value> {
    let [sql, plan] = handles(&at.program);
    let (from, to) = at.offsets();
    let mut row = vec![sql, int(from), int(to), int(at.generation() as i64), plan];
    let mut figures_of = figures_of(runs);
    let elapsed = figures_of.split_off(figures_of.len() - 4);
    row.extend(figures_of);
    // Nothing runs in a CLR.
    row.extend([0; 4].map(int));
    row.extend(elapsed);
    row.extend([at.query_hash(), at.plan_hash()].map(|hash| Value::bytes(hash.to_be_bytes().to_vec())));
    row.extend(figures(&runs.rows));
    let degrees = runs.degree.get();
    row.extend([NULL, NULL]);
    row.extend(degrees.map(int));
    row.extend([0; 12].map(int));
    // Threads beside the session's own, which are reserved when they are used.
    let own = [runs.executions as i64, 1, 1, 1];
    let helpers: Vec<i64> = degrees.iter().zip(own).map(|(all, own)| all - own).collect();
    row.extend(helpers.iter().chain(&helpers).map(|n| int(*n)));
    // Grants, column stores: there are none. What is written to files is not counted by statement, and every physical read is one
    // of a page.
    row.extend([0; 8].map(int));
    row.extend([NULL; 4]);
    row.extend(figures(&runs.reads));
    row.extend([0; 8].map(int));
    row
}

/// From `creation_time` or `cached_time` to `max_elapsed_time`.
fn figures_of(runs: &Runs) -> Vec<Value> {
    let mut row = vec![date(runs.created), date(runs.last), int(runs.executions as i64)];
    for total in [&runs.cpu_us, &runs.reads, &runs.writes, &runs.logical_reads, &runs.elapsed_us] {
        row.extend(figures(total));
    }
    row
}

/// The same for equal texts, in every run of the server (FNV-1a).
pub fn text_hash(text: &str) -> u64 {
    let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3);
    text.bytes().fold(0xCBF2_9CE4_8422_2325, step)
}

fn procedure_stats(cx: &ViewContext<'_>) -> Rows {
    module_stats(cx, ProgramKind::Procedure, "P ", "SQL_STORED_PROCEDURE")
}

/// Functions that return a value; what one costs that returns a table is that of the statements in it.
fn function_stats(cx: &ViewContext<'_>) -> Rows {
    module_stats(cx, ProgramKind::Function, "FN", "SQL_SCALAR_FUNCTION")
}

fn trigger_stats(cx: &ViewContext<'_>) -> Rows {
    module_stats(cx, ProgramKind::Trigger, "TR", "SQL_TRIGGER")
}

fn module_stats(
    cx: &ViewContext<'_>,
    wanted: ProgramKind,
    kind: &'static str,
    described: &'static str,
) -> Rows {
    let row = |p: &Arc<Program>| {
        let runs = p.stats.runs()?;
        let mut row =
            vec![int(p.identity.database.0), int(p.identity.object_id), text(kind), text(described)];
        row.extend(handles(p));
        row.extend(figures_of(&runs));
        row.extend([NULL; 4]);
        Some(row)
    };
    let all = cx.engine.programs.all();
    let of_kind = |p: &&Arc<Program>| p.identity.kind == wanted && p.identity.object_id > 0;
    all.iter().filter(of_kind).filter_map(row).collect()
}

/// `objtype` of a plan.
pub(super) fn kind(program: &Program) -> &'static str {
    match program.identity.kind {
        ProgramKind::Batch if program.parameterized.is_some() => "Prepared",
        ProgramKind::Batch => "Adhoc",
        ProgramKind::Dynamic => "Prepared",
        ProgramKind::Trigger => "Trigger",
        ProgramKind::Procedure | ProgramKind::Function | ProgramKind::TableFunction => "Proc",
    }
}

fn cached_plans(cx: &ViewContext<'_>) -> Rows {
    let row = |(i, p): (usize, Arc<Program>)| {
        // What is left of a text has run once.
        let uses = p.stats.runs().map_or(i64::from(p.is_stub()), |runs| runs.executions as i64);
        let bytes = p.kept_bytes();
        let mut row = vec![int(i as i64), int(Arc::strong_count(&p) as i64), int(uses), int(bytes as i64)];
        let what = if p.is_stub() { "Compiled Plan Stub" } else { "Compiled Plan" };
        row.extend([NULL, text(what), text(kind(&p)), handle(PLAN_HANDLE, &p), int(2), NULL]);
        row
    };
    cx.engine.programs.all().into_iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn levels_of_a_document_are_those_of_its_elements() {
        let levels = super::levels;
        assert_eq!(levels("<?xml version=\"1.0\"?><a b=\"c\"><d/><e><f>text</f></e><!-- <g> --></a>"), 3);
        assert_eq!(levels(""), 0);
    }
}
