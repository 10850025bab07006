//! The Query Store's views. What is yet to be written is in them, too.

use super::{
    BIG, BIT, Column, DESC, INT, NAME, NULL, SID, SMALL, SystemView, TEXT, TINY, ViewContext, bit, int, text,
    view,
};
use crate::catalog::SecurableRef;
use crate::errors;
use crate::functions::PRODUCT_VERSION;
use crate::query_store::{
    self, ActualState, CaptureMode, ContextRow, Figure, ForcedRow, HintRow, IntervalRow, PlanRow, QueryRow,
    RuntimeRow, Stored, TextRow, WaitRow, Wanted, figure, read_documents, read_rows, statement_handle,
};
use keel_types::{Length, SqlType, Value};
use std::collections::{BTreeMap, BTreeSet};

type Rows = Vec<Vec<Value>>;

const MOMENT: SqlType = SqlType::DateTimeOffset(7);
const FLOAT: SqlType = SqlType::Float;
const HASH: SqlType = SqlType::Binary(8);
const ADDRESS: SqlType = SqlType::VarBinary(Length::Limited(8));
const N256: SqlType = SqlType::NVarChar(Length::Limited(256));
/// `query_hint_failure_reason_desc` and `plan_forcing_type_desc` of nothing.
const NONE: &str = "NONE";

#[rustfmt::skip]
const OPTIONS: &[Column] = &[
    ("desired_state", SMALL), ("desired_state_desc", DESC), ("actual_state", SMALL), ("actual_state_desc", DESC),
    ("readonly_reason", INT), ("current_storage_size_mb", BIG), ("flush_interval_seconds", BIG), ("interval_length_minutes", BIG),
    ("max_storage_size_mb", BIG), ("stale_query_threshold_days", BIG), ("max_plans_per_query", BIG), ("query_capture_mode", SMALL),
    ("query_capture_mode_desc", DESC), ("capture_policy_execution_count", INT), ("capture_policy_total_compile_cpu_time_ms", BIG),
    ("capture_policy_total_execution_cpu_time_ms", BIG), ("capture_policy_stale_threshold_hours", INT),
    ("size_based_cleanup_mode", SMALL), ("size_based_cleanup_mode_desc", DESC), ("wait_stats_capture_mode", SMALL),
    ("wait_stats_capture_mode_desc", DESC), ("actual_state_additional_info", TEXT),
];

#[rustfmt::skip]
const QUERIES: &[Column] = &[
    ("query_id", BIG), ("query_text_id", BIG), ("context_settings_id", BIG), ("object_id", BIG), ("batch_sql_handle", SID),
    ("query_hash", HASH), ("is_internal_query", BIT), ("query_parameterization_type", TINY),
    ("query_parameterization_type_desc", DESC), ("initial_compile_start_time", MOMENT),
    ("last_compile_start_time", MOMENT), ("last_execution_time", MOMENT),
    ("last_compile_batch_sql_handle", SID), ("last_compile_batch_offset_start", BIG), ("last_compile_batch_offset_end", BIG),
    ("count_compiles", BIG), ("avg_compile_duration", FLOAT), ("last_compile_duration", BIG),
    ("avg_bind_duration", FLOAT), ("last_bind_duration", BIG), ("avg_bind_cpu_time", FLOAT),
    ("last_bind_cpu_time", BIG), ("avg_optimize_duration", FLOAT), ("last_optimize_duration", BIG),
    ("avg_optimize_cpu_time", FLOAT), ("last_optimize_cpu_time", BIG), ("avg_compile_memory_kb", FLOAT),
    ("last_compile_memory_kb", BIG), ("max_compile_memory_kb", BIG), ("is_clouddb_internal_query", BIT),
];

#[rustfmt::skip]
const TEXTS: &[Column] = &[
    ("query_text_id", BIG), ("query_sql_text", TEXT), ("statement_sql_handle", SID), ("is_part_of_encrypted_module", BIT),
    ("has_restricted_text", BIT),
];

#[rustfmt::skip]
const PLANS: &[Column] = &[
    ("plan_id", BIG), ("query_id", BIG), ("plan_group_id", BIG), ("engine_version", DESC), ("compatibility_level", SMALL),
    ("query_plan_hash", HASH), ("query_plan", TEXT), ("is_online_index_plan", BIT), ("is_trivial_plan", BIT),
    ("is_parallel_plan", BIT), ("is_forced_plan", BIT), ("is_natively_compiled", BIT), ("force_failure_count", BIG),
    ("last_force_failure_reason", INT), ("last_force_failure_reason_desc", NAME), ("count_compiles", BIG),
    ("initial_compile_start_time", MOMENT), ("last_compile_start_time", MOMENT),
    ("last_execution_time", MOMENT), ("avg_compile_duration", FLOAT), ("last_compile_duration", BIG),
    ("plan_forcing_type", INT), ("plan_forcing_type_desc", DESC), ("has_compile_replay_script", BIT),
    ("is_optimized_plan_forcing_disabled", BIT), ("plan_type", INT), ("plan_type_desc", DESC),
];

#[rustfmt::skip]
const RUNTIME: &[Column] = &[
    ("runtime_stats_id", BIG), ("plan_id", BIG), ("runtime_stats_interval_id", BIG), ("execution_type", TINY),
    ("execution_type_desc", DESC), ("first_execution_time", MOMENT),
    ("last_execution_time", MOMENT), ("count_executions", BIG),
    ("avg_duration", FLOAT), ("last_duration", BIG), ("min_duration", BIG), ("max_duration", BIG), ("stdev_duration", FLOAT),
    ("avg_cpu_time", FLOAT), ("last_cpu_time", BIG), ("min_cpu_time", BIG), ("max_cpu_time", BIG), ("stdev_cpu_time", FLOAT),
    ("avg_logical_io_reads", FLOAT), ("last_logical_io_reads", BIG), ("min_logical_io_reads", BIG), ("max_logical_io_reads", BIG), ("stdev_logical_io_reads", FLOAT),
    ("avg_logical_io_writes", FLOAT), ("last_logical_io_writes", BIG), ("min_logical_io_writes", BIG), ("max_logical_io_writes", BIG), ("stdev_logical_io_writes", FLOAT),
    ("avg_physical_io_reads", FLOAT), ("last_physical_io_reads", BIG), ("min_physical_io_reads", BIG), ("max_physical_io_reads", BIG), ("stdev_physical_io_reads", FLOAT),
    ("avg_clr_time", FLOAT), ("last_clr_time", BIG), ("min_clr_time", BIG), ("max_clr_time", BIG), ("stdev_clr_time", FLOAT),
    ("avg_dop", FLOAT), ("last_dop", BIG), ("min_dop", BIG), ("max_dop", BIG), ("stdev_dop", FLOAT),
    ("avg_query_max_used_memory", FLOAT), ("last_query_max_used_memory", BIG), ("min_query_max_used_memory", BIG), ("max_query_max_used_memory", BIG), ("stdev_query_max_used_memory", FLOAT),
    ("avg_rowcount", FLOAT), ("last_rowcount", BIG), ("min_rowcount", BIG), ("max_rowcount", BIG), ("stdev_rowcount", FLOAT),
    ("avg_num_physical_io_reads", FLOAT), ("last_num_physical_io_reads", BIG), ("min_num_physical_io_reads", BIG), ("max_num_physical_io_reads", BIG), ("stdev_num_physical_io_reads", FLOAT),
    ("avg_log_bytes_used", FLOAT), ("last_log_bytes_used", BIG), ("min_log_bytes_used", BIG), ("max_log_bytes_used", BIG), ("stdev_log_bytes_used", FLOAT),
    ("avg_tempdb_space_used", FLOAT), ("last_tempdb_space_used", BIG), ("min_tempdb_space_used", BIG), ("max_tempdb_space_used", BIG), ("stdev_tempdb_space_used", FLOAT),
    ("avg_page_server_io_reads", FLOAT), ("last_page_server_io_reads", BIG), ("min_page_server_io_reads", BIG), ("max_page_server_io_reads", BIG), ("stdev_page_server_io_reads", FLOAT),
    ("replica_group_id", BIG),
];

#[rustfmt::skip]
const CONTEXTS: &[Column] = &[
    ("context_settings_id", BIG), ("set_options", ADDRESS), ("language_id", SMALL), ("date_format", SMALL), ("date_first", TINY),
    ("status", SqlType::VarBinary(Length::Limited(2))), ("required_cursor_options", INT), ("acceptable_cursor_options", INT),
    ("merge_action_type", SMALL), ("default_schema_id", INT), ("is_replication_specific", BIT), ("is_contained", SqlType::VarBinary(Length::Limited(1))),
];

#[rustfmt::skip]
const INTERVALS: &[Column] = &[
    ("runtime_stats_interval_id", BIG), ("start_time", MOMENT), ("end_time", MOMENT),
    ("comment", N256),
];

#[rustfmt::skip]
const WAITS: &[Column] = &[
    ("wait_stats_id", BIG), ("plan_id", BIG), ("runtime_stats_interval_id", BIG), ("wait_category", TINY),
    ("wait_category_desc", DESC), ("execution_type", TINY), ("execution_type_desc", DESC), ("total_query_wait_time_ms", BIG),
    ("avg_query_wait_time_ms", FLOAT), ("last_query_wait_time_ms", BIG), ("min_query_wait_time_ms", BIG),
    ("max_query_wait_time_ms", BIG), ("stdev_query_wait_time_ms", FLOAT), ("replica_group_id", BIG),
];

#[rustfmt::skip]
const HINTS: &[Column] = &[
    ("query_hint_id", BIG), ("query_id", BIG), ("replica_group_id", BIG), ("query_hint_text", TEXT), ("last_query_hint_failure_reason", INT),
    ("last_query_hint_failure_reason_desc", NAME), ("query_hint_failure_count", BIG), ("source", INT), ("source_desc", NAME), ("comment", TEXT),
];

const FORCED: &[Column] = &[
    ("plan_forcing_location_id", BIG),
    ("query_id", BIG),
    ("plan_id", BIG),
    ("replica_group_id", BIG),
    ("timestamp", SqlType::DateTime),
    ("plan_forcing_flags", INT),
];
const REPLICAS: &[Column] = &[("replica_group_id", BIG), ("role_type", SMALL), ("replica_name", NAME)];
#[rustfmt::skip]
const FEEDBACK: &[Column] = &[
    ("plan_feedback_id", BIG), ("plan_id", BIG), ("feature_id", TINY), ("feature_desc", DESC), ("feedback_data", TEXT), ("state", INT),
    ("state_desc", DESC), ("create_time", MOMENT), ("last_updated_time", MOMENT), ("replica_group_id", BIG),
];
#[rustfmt::skip]
const VARIANTS: &[Column] = &[("query_variant_query_id", BIG), ("parent_query_id", BIG), ("dispatcher_plan_id", BIG)];

/// The views.
pub(super) static VIEWS: &[SystemView] = &[
    view("database_query_store_options", OPTIONS, options),
    view("query_store_query", QUERIES, queries),
    view("query_store_query_text", TEXTS, texts),
    view("query_store_plan", PLANS, plans),
    view("query_store_runtime_stats", RUNTIME, runtime),
    view("query_context_settings", CONTEXTS, contexts),
    view("query_store_runtime_stats_interval", INTERVALS, intervals),
    view("query_store_wait_stats", WAITS, waits),
    view("query_store_query_hints", HINTS, hints),
    view("query_store_plan_forcing_locations", FORCED, forced),
    // There is no feedback, and no query has variants.
    view("query_store_plan_feedback", FEEDBACK, |_| Rows::new()),
    view("query_store_query_variant", VARIANTS, |_| Rows::new()),
    view("query_store_replicas", REPLICAS, |cx| {
        if may_look(cx) {
            vec![vec![int(1), int(1), text(cx.engine.options().server_name.as_str())]]
        } else {
            Rows::new()
        }
    }),
];

fn number(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// UTC, ticks of 100 ns; 0 is never.
fn moment(ticks: i64) -> Value {
    if ticks == 0 { NULL } else { Value::DateTimeOffset(ticks, 0) }
}

fn hash(hash: u64) -> Value {
    Value::bytes(hash.to_be_bytes().to_vec())
}

/// Error 262 for who has no VIEW DATABASE STATE.
fn may_look(cx: &ViewContext<'_>) -> bool {
    let may = cx.info.may(&cx.entry, "VIEW DATABASE STATE", SecurableRef::Database);
    if !may {
        cx.fail(errors::database_permission_denied("VIEW DATABASE STATE", cx.entry.name()));
    }
    may
}

/// The rows of a kind, with what sessions have not handed over yet.
fn read<T: Stored>(cx: &ViewContext<'_>) -> Vec<(u64, T)> {
    if !may_look(cx) {
        return Vec::new();
    }
    cx.info.add_up();
    query_store::gather(cx.engine);
    read_rows(&cx.entry).unwrap_or_else(|e| {
        cx.fail(e);
        Vec::new()
    })
}

fn options(cx: &ViewContext<'_>) -> Rows {
    if cx.entry.id == crate::engine::MASTER || cx.entry.id == crate::engine::TEMPDB {
        return Rows::new();
    }
    if !may_look(cx) {
        return Rows::new();
    }
    let settings = cx.entry.picture().settings().query_store.clone().unwrap_or_default();
    let named = |list: &[(Wanted, &'static str)], at: usize| [int(at as i64), text(list[at].1)];
    let wanted = settings.wanted as usize;
    let (actual, reason) = match query_store::actual_state(&cx.entry) {
        ActualState::Off => (0, 0),
        ActualState::ReadOnly(reason) => (1, reason),
        ActualState::ReadWrite => (2, 0),
    };
    let bytes = query_store::bytes(&cx.entry).unwrap_or_else(|e| {
        cx.fail(e);
        0
    });
    let mut row = named(&Wanted::ALL, wanted).to_vec();
    row.extend(named(&Wanted::ALL, actual));
    row.extend([
        int(reason),
        number(bytes.div_ceil(1 << 20)),
        int(settings.flush_seconds),
        int(settings.interval_minutes),
    ]);
    row.extend([int(settings.size_mb_max), int(settings.stale_days), int(settings.plans_max)]);
    let capture = settings.capture as usize;
    row.extend([int(capture as i64 + 1), text(CaptureMode::ALL[capture].1)]);
    let policy = settings.policy;
    let policy = [policy.executions, policy.compile_ms, policy.execution_ms, policy.stale_hours];
    row.extend(policy.map(|n| if settings.capture == CaptureMode::Custom { int(n) } else { NULL }));
    let switch = |on: bool, name: &'static str| [int(i64::from(on)), text(if on { name } else { "OFF" })];
    row.extend(switch(settings.cleans_by_size, "AUTO"));
    row.extend(switch(settings.waits, "ON"));
    row.push(text(""));
    vec![row]
}

fn texts(cx: &ViewContext<'_>) -> Rows {
    let row = |(id, row): (u64, TextRow)| {
        let handle = Value::bytes(statement_handle(&row.text));
        vec![number(id), text(row.text), handle, bit(false), bit(row.restricted)]
    };
    read(cx).into_iter().map(row).collect()
}

fn contexts(cx: &ViewContext<'_>) -> Rows {
    let row = |(id, c): (u64, ContextRow)| {
        let options = Value::bytes(c.set_options.to_be_bytes().to_vec());
        let mut row = vec![number(id), options, int(c.language), int(c.date_format), int(c.date_first)];
        row.extend([
            NULL,
            int(0),
            int(0),
            int(0),
            int(c.schema),
            bit(false),
            Value::bytes(vec![u8::from(c.contained)]),
        ]);
        row
    };
    read(cx).into_iter().map(row).collect()
}

fn queries(cx: &ViewContext<'_>) -> Rows {
    let row = |(id, q): (u64, QueryRow)| {
        let mut row = vec![
            number(id),
            number(q.text),
            number(q.context),
            int(q.object),
            NULL,
            hash(q.hash),
            bit(false),
        ];
        row.extend([
            int(q.parameters),
            text(crate::parameterization::KINDS[usize::from(q.parameters).min(3)]),
        ]);
        row.extend([moment(q.compiles.first), moment(q.compiles.last), moment(q.executed), NULL]);
        row.extend([int(q.offsets.0), int(q.offsets.1), number(q.compiles.count)]);
        row.extend([Value::Float(q.compiles.average_us()), number(q.compiles.last_us)]);
        // Compiling is measured as a whole.
        for _ in 0..4 {
            row.extend([Value::Float(0.0), int(0)]);
        }
        row.extend([Value::Float(0.0), int(0), int(0), bit(false)]);
        row
    };
    read(cx).into_iter().map(row).collect()
}

/// `last_force_failure_reason_desc`
fn failure(number: i32) -> &'static str {
    match number {
        0 => NONE,
        3617 => "COMPILATION_ABORTED_BY_CLIENT",
        8690 => "HINT_CONFLICT",
        8698 => "NO_PLAN",
        8712 => "NO_INDEX",
        _ => "GENERAL_FAILURE",
    }
}

fn plans(cx: &ViewContext<'_>) -> Rows {
    let rows = read::<PlanRow>(cx);
    let forced: BTreeSet<u64> = read::<ForcedRow>(cx).into_iter().map(|(_, row)| row.plan).collect();
    let mut documents = read_documents(&cx.entry).unwrap_or_else(|e| {
        cx.fail(e);
        BTreeMap::new()
    });
    let mut row = |(id, p): (u64, PlanRow)| {
        let document = documents.remove(&id);
        // No text of a document has these quotation marks.
        let is_trivial = document.as_ref().is_some_and(|d| d.contains("StatementOptmLevel=\"TRIVIAL\""));
        let document = document.map_or(NULL, text);
        let is_forced = forced.contains(&id);
        let mut row = vec![
            number(id),
            number(p.query),
            int(0),
            text(PRODUCT_VERSION),
            int(p.compatibility),
            hash(p.hash),
            document,
        ];
        row.extend([
            bit(false),
            bit(is_trivial),
            bit(p.parallel),
            bit(is_forced),
            bit(false),
            number(p.failures),
            int(p.failure),
            text(failure(p.failure)),
        ]);
        row.extend([
            number(p.compiles.count),
            moment(p.compiles.first),
            moment(p.compiles.last),
            moment(p.executed),
        ]);
        row.extend([Value::Float(p.compiles.average_us()), number(p.compiles.last_us)]);
        row.extend([int(i64::from(is_forced)), text(if is_forced { "MANUAL" } else { NONE })]);
        row.extend([bit(false), bit(false), int(0), text("Compiled Plan")]);
        row
    };
    rows.into_iter().map(&mut row).collect()
}

fn forced(cx: &ViewContext<'_>) -> Rows {
    let row = |(id, f): (u64, ForcedRow)| {
        vec![number(id), number(f.query), number(f.plan), int(1), Value::DateTime(f.since), NULL]
    };
    read(cx).into_iter().map(row).collect()
}

fn intervals(cx: &ViewContext<'_>) -> Rows {
    let row = |(id, i): (u64, IntervalRow)| vec![number(id), moment(i.start), moment(i.end), NULL];
    read(cx).into_iter().map(row).collect()
}

fn execution(kind: u8) -> [Value; 2] {
    let name = match kind {
        0 => "Regular",
        3 => "Aborted",
        _ => "Exception",
    };
    [int(kind), text(name)]
}

/// Average, last, least, largest and deviation, in units of so many; what is in between the least and the largest stays there.
fn figures(f: &Figure, count: u64, unit: u64) -> [Value; 5] {
    let (average, deviation) = f.spread(count);
    let scaled = |n: f64| Value::Float(n / unit as f64);
    [
        scaled(average),
        number(f.last / unit),
        number(f.min / unit),
        number(f.max.div_ceil(unit)),
        scaled(deviation),
    ]
}

fn runtime(cx: &ViewContext<'_>) -> Rows {
    /// Nanoseconds of a µs.
    const MICRO: u64 = 1000;
    let row = |(id, r): (u64, RuntimeRow)| {
        let of = |place: Option<usize>, unit: u64| {
            let figure = place.and_then(|at| r.figures.get(at)).copied().unwrap_or_default();
            figures(&figure, r.count, unit)
        };
        let mut row = vec![number(id), number(r.plan), number(r.interval)];
        row.extend(execution(r.execution));
        row.extend([moment(r.first), moment(r.last), number(r.count)]);
        row.extend(of(Some(figure::DURATION), MICRO));
        row.extend(of(Some(figure::CPU), MICRO));
        row.extend(of(Some(figure::LOGICAL_READS), 1));
        row.extend(of(Some(figure::WRITES), 1));
        row.extend(of(Some(figure::READS), 1));
        // Nothing runs in a CLR; grants of memory are not counted by statement.
        row.extend(of(None, 1));
        row.extend(of(Some(figure::DEGREE), 1));
        row.extend(of(None, 1));
        row.extend(of(Some(figure::ROWS), 1));
        row.extend(of(Some(figure::READS), 1));
        // Nor are bytes of the log and of tempdb; there are no page servers.
        (0..3).for_each(|_| row.extend(of(None, 1)));
        row.push(int(1));
        row
    };
    read(cx).into_iter().map(row).collect()
}

fn waits(cx: &ViewContext<'_>) -> Rows {
    /// Nanoseconds of a ms.
    const MILLI: u64 = 1_000_000;
    let row = |(id, w): (u64, WaitRow)| {
        let mut row = vec![number(id), number(w.plan), number(w.interval), int(w.category)];
        let category =
            query_store::CATEGORIES.get(usize::from(w.category)).map_or("Unknown", |(name, _)| name);
        row.push(text(category));
        row.extend(execution(w.execution));
        row.push(number(w.waited.total.div_ceil(MILLI)));
        row.extend(figures(&w.waited, w.count, MILLI));
        row.push(int(1));
        row
    };
    read(cx).into_iter().map(row).collect()
}

fn hints(cx: &ViewContext<'_>) -> Rows {
    let row = |(id, h): (u64, HintRow)| {
        let mut row = vec![number(id), number(h.query), int(1), text(h.text), int(0), text(NONE), int(0)];
        row.extend([int(0), text("User"), NULL]);
        row
    };
    read(cx).into_iter().map(row).collect()
}
