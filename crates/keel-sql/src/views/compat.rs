//! Views of features this server does not have: there, with the product's columns, and empty, so that scripts and tools that
//! ask for them first (`IF NOT EXISTS …`) find what they expect.

use super::{BIG, BIT, Column, DATE, DESC, INT, NAME, SID, SMALL, SystemView, TEXT, TINY, ViewContext};
use keel_types::{Length, SqlType, Value};

const N256: SqlType = SqlType::NVarChar(Length::Limited(256));

fn nothing(_: &ViewContext<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

const fn none(name: &'static str, columns: &'static [Column]) -> SystemView {
    SystemView { schema: "sys", name, columns, rows: nothing }
}

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    none("assemblies", &[
        ("name", NAME), ("principal_id", INT), ("assembly_id", INT), ("clr_name", N256), ("permission_set", TINY),
        ("permission_set_desc", DESC), ("is_visible", BIT), ("create_date", DATE), ("modify_date", DATE), ("is_user_defined", BIT),
    ]),
    none("external_tables", &[
        ("name", NAME), ("object_id", INT), ("principal_id", INT), ("schema_id", INT), ("parent_object_id", INT),
        ("type", super::KIND), ("type_desc", DESC), ("create_date", DATE), ("modify_date", DATE), ("is_ms_shipped", BIT),
        ("is_published", BIT), ("is_schema_published", BIT), ("max_column_id_used", INT), ("uses_ansi_nulls", BIT),
        ("data_source_id", INT), ("file_format_id", INT), ("location", SqlType::NVarChar(Length::Limited(4000))),
        ("reject_type", SqlType::VarChar(Length::Limited(20))), ("reject_value", SqlType::Float), ("reject_sample_value", SqlType::Float),
        ("distribution_type", INT), ("distribution_desc", SqlType::NVarChar(Length::Limited(120))), ("sharding_col_id", INT),
        ("remote_schema_name", NAME), ("remote_object_name", NAME), ("rejected_row_location", SqlType::NVarChar(Length::Limited(4000))),
        ("table_options", TEXT),
    ]),
    none("external_data_sources", &[
        ("data_source_id", INT), ("name", NAME), ("location", SqlType::NVarChar(Length::Limited(4000))), ("type_desc", N256), ("type", TINY),
        ("resource_manager_location", SqlType::NVarChar(Length::Limited(4000))), ("credential_id", INT), ("database_name", NAME),
        ("shard_map_name", NAME), ("connection_options", SqlType::NVarChar(Length::Limited(4000))), ("pushdown", N256),
    ]),
    none("hash_indexes", &[
        ("object_id", INT), ("name", NAME), ("index_id", INT), ("type", TINY), ("type_desc", DESC), ("is_unique", BIT),
        ("data_space_id", INT), ("ignore_dup_key", BIT), ("is_primary_key", BIT), ("is_unique_constraint", BIT), ("fill_factor", TINY),
        ("is_padded", BIT), ("is_disabled", BIT), ("is_hypothetical", BIT), ("is_ignored_in_optimization", BIT),
        ("allow_row_locks", BIT), ("allow_page_locks", BIT),
        ("has_filter", BIT), ("filter_definition", TEXT), ("bucket_count", INT), ("auto_created", BIT),
    ]),
    none("dm_db_xtp_checkpoint_stats", &[("last_lsn_processed", BIG), ("end_of_log_lsn", BIG)]),
    none("dm_os_server_diagnostics_log_configurations", &[("is_enabled", BIT), ("path", N256), ("max_size", INT), ("max_files", INT)]),
    none("index_resumable_operations", &[
        ("object_id", INT), ("index_id", INT), ("name", NAME), ("sql_text", TEXT), ("last_max_dop_used", SMALL),
        ("partition_number", INT), ("state", TINY), ("state_desc", DESC), ("start_time", DATE), ("last_pause_time", DATE),
        ("total_execution_time", INT), ("percent_complete", SqlType::Float), ("page_count", BIG),
    ]),
    none("numbered_procedures", &[("object_id", INT), ("procedure_number", SMALL), ("definition", TEXT)]),
    none("assembly_modules", &[
        ("object_id", INT), ("assembly_id", INT), ("assembly_class", NAME), ("assembly_method", NAME), ("null_on_null_input", BIT),
        ("execute_as_principal_id", INT),
    ]),
    none("dm_os_tasks", &[
        ("task_address", SID), ("task_state", DESC), ("context_switches_count", INT), ("pending_io_count", INT),
        ("pending_io_byte_count", BIG), ("pending_io_byte_average", INT), ("scheduler_id", INT), ("session_id", SMALL),
        ("exec_context_id", INT), ("request_id", INT), ("worker_address", SID), ("host_address", SID), ("parent_task_address", SID),
    ]),
    none("dm_os_workers", &[
        ("worker_address", SID), ("status", INT), ("is_preemptive", BIT), ("is_fiber", BIT), ("is_sick", BIT),
        ("is_in_cc_exception", BIT), ("is_fatal_exception", BIT), ("is_inside_catch", BIT),
        ("is_in_polling_io_completion_routine", BIT), ("context_switch_count", INT), ("pending_io_count", INT),
        ("pending_io_byte_count", BIG), ("pending_io_byte_average", INT), ("wait_started_ms_ticks", BIG),
        ("wait_resumed_ms_ticks", BIG), ("task_bound_ms_ticks", BIG), ("worker_created_ms_ticks", BIG), ("exception_num", INT),
        ("exception_severity", INT), ("exception_address", SID), ("affinity", BIG), ("state", DESC), ("start_quantum", BIG),
        ("end_quantum", BIG), ("last_wait_type", N256), ("return_code", INT), ("quantum_used", BIG), ("max_quantum", BIG),
        ("boost_count", INT), ("tasks_processed_count", INT), ("fiber_address", SID), ("task_address", SID),
        ("memory_object_address", SID), ("thread_address", SID), ("signal_worker_address", SID), ("scheduler_address", SID),
        ("processor_group", SMALL),
    ]),
    none("dm_db_session_space_usage", &[
        ("session_id", SMALL), ("database_id", SMALL), ("user_objects_alloc_page_count", BIG), ("user_objects_dealloc_page_count", BIG),
        ("internal_objects_alloc_page_count", BIG), ("internal_objects_dealloc_page_count", BIG),
        ("user_objects_deferred_dealloc_page_count", BIG),
    ]),
    none("dm_db_task_space_usage", &[
        ("task_address", SID), ("is_remote_task", BIT), ("session_id", SMALL), ("request_id", INT), ("exec_context_id", INT),
        ("database_id", SMALL), ("user_objects_alloc_page_count", BIG), ("user_objects_dealloc_page_count", BIG),
        ("internal_objects_alloc_page_count", BIG), ("internal_objects_dealloc_page_count", BIG),
    ]),
    none("dm_sql_referenced_entities", &[
        ("referencing_minor_id", INT), ("referenced_server_name", NAME), ("referenced_database_name", NAME), ("referenced_schema_name", NAME),
        ("referenced_entity_name", NAME), ("referenced_minor_name", NAME), ("referenced_id", INT), ("referenced_minor_id", INT),
        ("referenced_class", TINY), ("referenced_class_desc", DESC), ("is_caller_dependent", BIT), ("is_ambiguous", BIT),
        ("is_selected", BIT), ("is_updated", BIT), ("is_select_all", BIT),
    ]),
    none("dm_sql_referencing_entities", &[
        ("referencing_schema_name", NAME), ("referencing_entity_name", NAME), ("referencing_id", INT), ("referencing_class", TINY),
        ("referencing_class_desc", DESC), ("is_caller_dependent", BIT),
    ]),
    none("sql_dependencies", &[
        ("class", TINY), ("class_desc", DESC), ("object_id", INT), ("column_id", INT), ("referenced_major_id", INT),
        ("referenced_minor_id", INT), ("is_selected", BIT), ("is_updated", BIT), ("is_select_all", BIT),
    ]),
    none("traces", &[
        ("id", INT), ("status", INT), ("path", N256), ("max_size", BIG), ("stop_time", DATE), ("max_files", INT), ("is_rowset", BIT),
        ("is_rollover", BIT), ("is_shutdown", BIT), ("is_default", BIT), ("buffer_count", INT), ("start_time", DATE), ("event_count", BIG),
    ]),
    none("sysremotelogins", &[("remoteserverid", SMALL), ("remoteusername", NAME), ("status", SMALL), ("sid", SID), ("changedate", DATE)]),
    none("sysoledbusers", &[
        ("rmtsrvid", SMALL), ("rmtloginame", NAME), ("rmtpassword", NAME), ("loginsid", SID), ("status", SMALL), ("changedate", DATE),
    ]),
    none("sysopentapes", &[("openTape", SqlType::NVarChar(Length::Limited(64)))]),
];

/// Tables of `master`'s dbo schema: the numbers of type P, which scripts count with.
#[rustfmt::skip]
pub(super) static MASTER: &[SystemView] = &[SystemView {
    schema: "dbo",
    name: "spt_values",
    columns: &[
        ("name", SqlType::NVarChar(Length::Limited(35))), ("number", INT), ("type", SqlType::NChar(3)), ("low", INT), ("high", INT),
        ("status", INT),
    ],
    rows: |_| {
        let row = |n: i32| {
            vec![Value::Null, super::int(n), super::text("P  "), super::int(n / 8 + 1), super::int(1 << (n % 8)), super::int(0)]
        };
        let mut rows: Vec<_> = (0..2048).map(row).collect();
        // The size of a page, as procedures of old look it up.
        let mut page = vec![super::text("WINDOWS/NT"), super::int(1), super::text("E  "), super::int(8192)];
        page.extend([Value::Null, super::int(0)]);
        rows.push(page);
        rows
    },
}];
