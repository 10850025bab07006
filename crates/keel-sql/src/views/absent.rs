//! Views over what this server does not have, which administrators' scripts read beside all others: column stores, tables in
//! memory, SQL trace, plans as XML,
//! priorities and remote bindings of service broker, encryption, clusters of the operating system. They have the product's columns and no rows.

use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, KIND, NAME, SMALL, SystemView, TEXT, TINY, VARIANT, ViewContext,
};
use keel_types::{Length, SqlType, Value};

const N60: SqlType = SqlType::NVarChar(Length::Limited(60));
const N256: SqlType = SqlType::NVarChar(Length::Limited(256));
const HANDLE: SqlType = SqlType::VarBinary(Length::Limited(64));
const ADDRESS: SqlType = SqlType::VarBinary(Length::Limited(8));
const FLOAT: SqlType = SqlType::Float;
const REAL: SqlType = SqlType::Real;
const PRECISE: SqlType = SqlType::DateTime2(7);

fn nothing(_: &ViewContext<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

const fn none(name: &'static str, columns: &'static [Column]) -> SystemView {
    SystemView { schema: "sys", name, columns, rows: nothing }
}

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    // ---- column stores ----
    none("column_store_dictionaries", &[
        ("hobt_id", BIG), ("column_id", INT), ("dictionary_id", INT), ("version", INT), ("type", INT), ("last_id", INT),
        ("entry_count", BIG), ("on_disk_size", BIG), ("partition_id", BIG),
    ]),
    none("column_store_segments", &[
        ("partition_id", BIG), ("hobt_id", BIG), ("column_id", INT), ("segment_id", INT), ("version", INT), ("encoding_type", INT),
        ("row_count", INT), ("status", INT), ("base_id", BIG), ("magnitude", FLOAT), ("primary_dictionary_id", INT),
        ("secondary_dictionary_id", INT), ("min_data_id", BIG), ("max_data_id", BIG), ("null_value", BIG), ("on_disk_size", BIG),
        ("has_nulls", BIT), ("collation_id", INT),
    ]),
    none("column_store_row_groups", &[
        ("object_id", INT), ("index_id", INT), ("partition_number", INT), ("row_group_id", INT), ("delta_store_hobt_id", BIG),
        ("state", TINY), ("state_description", N60), ("total_rows", BIG), ("deleted_rows", BIG), ("size_in_bytes", BIG),
    ]),
    none("dm_db_column_store_row_group_physical_stats", &[
        ("object_id", INT), ("index_id", INT), ("partition_number", INT), ("row_group_id", INT), ("delta_store_hobt_id", BIG),
        ("state", TINY), ("state_desc", N60), ("total_rows", BIG), ("deleted_rows", BIG), ("size_in_bytes", BIG),
        ("trim_reason", TINY), ("trim_reason_desc", N60), ("transition_to_compressed_state", TINY),
        ("transition_to_compressed_state_desc", N60), ("has_vertipaq_optimization", BIT), ("generation", BIG),
        ("created_time", DATE), ("closed_time", DATE),
    ]),
    none("dm_db_column_store_row_group_operational_stats", &[
        ("object_id", INT), ("index_id", INT), ("partition_number", INT), ("row_group_id", INT), ("scan_count", INT),
        ("delete_buffer_scan_count", INT), ("index_scan_count", INT), ("rowgroup_lock_count", BIG),
        ("rowgroup_lock_wait_count", BIG), ("rowgroup_lock_wait_in_ms", BIG),
    ]),
    none("internal_partitions", &[
        ("partition_id", BIG), ("object_id", INT), ("index_id", INT), ("partition_number", INT), ("hobt_id", BIG),
        ("internal_object_type", TINY), ("internal_object_type_desc", N60), ("row_group_id", INT), ("rows", BIG),
        ("data_compression", TINY), ("data_compression_desc", N60), ("optimize_for_sequential_key", BIT),
    ]),
    none("internal_tables", &[
        ("name", NAME), ("object_id", INT), ("principal_id", INT), ("schema_id", INT), ("parent_object_id", INT), ("type", KIND),
        ("type_desc", DESC), ("create_date", DATE), ("modify_date", DATE), ("is_ms_shipped", BIT), ("is_published", BIT),
        ("is_schema_published", BIT), ("internal_type", TINY), ("internal_type_desc", N60), ("parent_id", INT),
        ("parent_minor_id", INT), ("lob_data_space_id", INT), ("filestream_data_space_id", INT),
    ]),
    // ---- tables in memory ----
    none("memory_optimized_tables_internal_attributes", &[
        ("object_id", INT), ("xtp_object_id", BIG), ("type", INT), ("type_desc", N60), ("minor_id", INT),
    ]),
    none("dm_db_xtp_table_memory_stats", &[
        ("object_id", INT), ("memory_allocated_for_table_kb", BIG), ("memory_used_by_table_kb", BIG),
        ("memory_allocated_for_indexes_kb", BIG), ("memory_used_by_indexes_kb", BIG),
    ]),
    none("dm_db_xtp_hash_index_stats", &[
        ("object_id", INT), ("xtp_object_id", BIG), ("index_id", INT), ("total_bucket_count", BIG), ("empty_bucket_count", BIG),
        ("avg_chain_length", BIG), ("max_chain_length", BIG),
    ]),
    none("dm_db_xtp_nonclustered_index_stats", &[
        ("object_id", INT), ("xtp_object_id", BIG), ("index_id", INT), ("delta_pages", BIG), ("internal_pages", BIG),
        ("leaf_pages", BIG), ("outstanding_retired_nodes", BIG), ("page_update_count", BIG), ("page_update_retry_count", BIG),
        ("page_consolidation_count", BIG), ("page_consolidation_retry_count", BIG), ("page_split_count", BIG),
        ("page_split_retry_count", BIG), ("key_split_count", BIG), ("key_split_retry_count", BIG), ("page_merge_count", BIG),
        ("page_merge_retry_count", BIG), ("key_merge_count", BIG), ("key_merge_retry_count", BIG),
    ]),
    none("dm_db_xtp_index_stats", &[
        ("object_id", INT), ("xtp_object_id", BIG), ("index_id", INT), ("scans_started", BIG), ("scans_retries", BIG),
        ("rows_returned", BIG), ("rows_touched", BIG), ("rows_expiring", BIG), ("rows_expired", BIG), ("rows_expired_removed", BIG),
        ("phantom_scans_started", BIG), ("phantom_scans_retries", BIG), ("phantom_rows_touched", BIG),
        ("phantom_expiring_rows_encountered", BIG), ("phantom_expired_rows_encountered", BIG),
        ("phantom_expired_removed_rows_encountered", BIG), ("phantom_expired_rows_removed", BIG), ("object_address", ADDRESS),
    ]),
    none("dm_db_xtp_memory_consumers", &[
        ("memory_consumer_id", BIG), ("memory_consumer_type", INT), ("memory_consumer_type_desc", N60),
        ("memory_consumer_desc", N60), ("object_id", INT), ("xtp_object_id", BIG), ("index_id", INT), ("allocated_bytes", BIG),
        ("used_bytes", BIG), ("allocation_count", INT), ("partition_count", INT), ("sizeclass_count", INT), ("min_sizeclass", INT),
        ("max_sizeclass", INT), ("memory_consumer_address", ADDRESS),
    ]),
    none("dm_xtp_system_memory_consumers", &[
        ("memory_consumer_id", BIG), ("memory_consumer_type", INT), ("memory_consumer_type_desc", N60),
        ("memory_consumer_desc", N60), ("lookaside_id", BIG), ("pagepool_id", BIG), ("allocated_bytes", BIG), ("used_bytes", BIG),
        ("allocation_count", INT), ("partition_count", INT), ("sizeclass_count", INT), ("min_sizeclass", INT),
        ("max_sizeclass", INT), ("memory_consumer_address", ADDRESS),
    ]),
    none("dm_db_xtp_checkpoint_files", &[
        ("container_id", INT), ("container_guid", GUID), ("checkpoint_file_id", GUID), ("relative_file_path", N256),
        ("file_type", SMALL), ("file_type_desc", N60), ("internal_storage_slot", INT), ("checkpoint_pair_file_id", GUID),
        ("file_size_in_bytes", BIG), ("file_size_used_in_bytes", BIG), ("logical_row_count", BIG), ("state", SMALL),
        ("state_desc", N60), ("lower_bound_tsn", BIG), ("upper_bound_tsn", BIG), ("begin_checkpoint_id", BIG),
        ("end_checkpoint_id", BIG), ("last_updated_checkpoint_id", BIG), ("encryption_status", INT), ("encryption_status_desc", N60),
    ]),
    none("dm_db_xtp_transactions", &[
        ("node_id", SMALL), ("xtp_transaction_id", BIG), ("transaction_id", BIG), ("session_id", SMALL), ("begin_tsn", BIG),
        ("end_tsn", BIG), ("state", INT), ("state_desc", N60), ("result", INT), ("result_desc", N60), ("xtp_parent_transaction_node_id", SMALL),
        ("xtp_parent_transaction_id", BIG), ("last_error", INT), ("is_speculative", BIT), ("is_prepared", BIT),
        ("is_delayed_durability", BIT), ("memory_address", ADDRESS), ("database_address", ADDRESS),
    ]),
    // ---- the insides of the product's engine: memory's parts, its hosts and threads, what waits for disks ----
    none("dm_os_memory_objects", &[
        ("memory_object_address", ADDRESS), ("parent_address", ADDRESS), ("pages_in_bytes", BIG), ("creation_options", INT),
        ("bytes_used", BIG), ("type", N60), ("name", NAME), ("memory_node_id", SMALL), ("creation_time", DATE),
        ("max_pages_in_bytes", BIG), ("page_size_in_bytes", INT), ("page_allocator_address", ADDRESS),
        ("creation_stack_address", ADDRESS), ("sequence_num", INT), ("partition_type", INT), ("partition_type_desc", N60),
        ("contention_factor", REAL), ("waiting_tasks_count", BIG), ("exclusive_access_count", BIG),
    ]),
    none("dm_os_memory_pools", &[
        ("memory_pool_address", ADDRESS), ("pool_id", INT), ("type", N60), ("name", N256), ("max_free_entries_count", BIG),
        ("free_entries_count", BIG), ("removed_in_all_rounds_count", BIG),
    ]),
    none("dm_os_memory_cache_clock_hands", &[
        ("cache_address", ADDRESS), ("name", N256), ("type", N60), ("clock_hand", N60), ("clock_status", N60), ("rounds_count", BIG),
        ("removed_all_rounds_count", BIG), ("updated_last_round_count", BIG), ("removed_last_round_count", BIG),
        ("last_tick_time", BIG), ("round_start_time", BIG), ("last_round_start_time", BIG),
    ]),
    none("dm_os_memory_cache_entries", &[
        ("cache_address", ADDRESS), ("name", N256), ("type", N60), ("entry_address", ADDRESS), ("entry_data_address", ADDRESS),
        ("in_use_count", INT), ("is_dirty", BIT), ("disk_ios_count", INT), ("context_switches_count", INT), ("original_cost", INT),
        ("current_cost", INT), ("memory_object_address", ADDRESS), ("pages_kb", BIG),
        ("entry_data", SqlType::NVarChar(Length::Limited(2048))), ("pool_id", INT), ("time_to_generate", BIG), ("use_count", BIG),
        ("average_time_between_uses", BIG), ("time_since_last_use", BIG), ("probability_of_reuse", BIG), ("value", BIG),
    ]),
    none("dm_os_memory_brokers", &[
        ("pool_id", INT), ("memory_broker_type", N60), ("allocations_kb", BIG), ("allocations_kb_per_sec", BIG),
        ("predicted_allocations_kb", BIG), ("target_allocations_kb", BIG), ("future_allocations_kb", BIG), ("overall_limit_kb", BIG),
        ("last_notification", N60),
    ]),
    none("dm_os_out_of_memory_events", &[
        ("event_time", PRECISE), ("oom_cause", TINY), ("oom_cause_desc", N60), ("available_physical_memory_mb", INT),
        ("initial_job_object_memory_limit_mb", INT), ("current_job_object_memory_limit_mb", INT), ("process_memory_usage_mb", INT),
        ("non_sos_usage_mb", INT), ("committed_memory_target_mb", INT), ("committed_memory_mb", INT),
        ("allocation_potential_memory_mb", INT), ("oom_factor", TINY), ("oom_factor_desc", N60),
        ("oom_resource_pools", SqlType::NVarChar(Length::Limited(4000))), ("top_memory_clerks", SqlType::NVarChar(Length::Limited(4000))),
        ("top_resource_pools", SqlType::NVarChar(Length::Limited(4000))),
        ("possible_leaked_memory_clerks", SqlType::NVarChar(Length::Limited(4000))), ("possible_non_sos_leaked_memory_mb", INT),
    ]),
    none("dm_os_hosts", &[
        ("host_address", ADDRESS), ("type", N60), ("name", SqlType::NVarChar(Length::Limited(32))), ("enqueued_tasks_count", INT),
        ("active_tasks_count", INT), ("completed_ios_count", INT), ("completed_ios_in_bytes", BIG), ("active_ios_count", INT),
        ("default_memory_clerk_address", ADDRESS),
    ]),
    none("dm_os_dispatcher_pools", &[
        ("dispatcher_pool_address", ADDRESS), ("type", N256), ("name", N256), ("dispatcher_count", INT), ("dispatcher_ideal_count", INT),
        ("dispatcher_timeout_ms", INT), ("dispatcher_waiting_count", INT), ("queue_length", INT),
    ]),
    none("dm_os_threads", &[
        ("thread_address", ADDRESS), ("started_by_sqlservr", BIT), ("os_thread_id", INT), ("status", INT),
        ("instruction_address", ADDRESS), ("creation_time", DATE), ("kernel_time", BIG), ("usermode_time", BIG),
        ("stack_base_address", ADDRESS), ("stack_end_address", ADDRESS), ("stack_bytes_committed", BIG), ("stack_bytes_used", BIG),
        ("affinity", BIG), ("priority", INT), ("locale", INT), ("token", ADDRESS), ("is_impersonating", INT),
        ("is_waiting_on_loader_lock", INT), ("fiber_data", ADDRESS), ("thread_handle", ADDRESS), ("event_handle", ADDRESS),
        ("scheduler_address", ADDRESS), ("worker_address", ADDRESS), ("fiber_context_address", ADDRESS), ("self_address", ADDRESS),
        ("processor_group", SMALL),
    ]),
    none("dm_os_stacks", &[("stack_address", ADDRESS), ("frame_index", INT), ("frame_address", ADDRESS)]),
    none("dm_io_pending_io_requests", &[
        ("io_completion_request_address", ADDRESS), ("io_type", N60), ("io_pending_ms_ticks", BIG), ("io_pending", INT),
        ("io_completion_routine_address", ADDRESS), ("io_user_data_address", ADDRESS), ("scheduler_address", ADDRESS),
        ("io_handle", ADDRESS), ("io_offset", BIG), ("io_handle_path", N256),
    ]),
    none("dm_exec_background_job_queue", &[
        ("time_queued", DATE), ("job_id", INT), ("database_id", INT), ("object_id1", INT), ("object_id2", INT), ("object_id3", INT),
        ("object_id4", INT), ("error_code", INT), ("request_type", SMALL), ("retry_count", SMALL), ("in_progress", SMALL),
        ("session_id", SMALL),
    ]),
    none("dm_exec_background_job_queue_stats", &[
        ("queue_max_len", INT), ("enqueued_count", INT), ("started_count", INT), ("ended_count", INT), ("failed_lock_count", INT),
        ("failed_other_count", INT), ("failed_giveup_count", INT), ("enqueue_failed_full_count", INT),
        ("enqueue_failed_duplicate_count", INT), ("elapsed_avg_ms", INT), ("elapsed_max_ms", INT),
    ]),
    none("dm_exec_query_optimizer_memory_gateways", &[
        ("pool_id", INT), ("name", NAME), ("max_count", INT), ("active_count", INT), ("waiter_count", INT), ("threshold_factor", BIG),
        ("threshold", BIG), ("is_active", BIT),
    ]),
    none("fn_PageResCracker", &[("db_id", INT), ("file_id", INT), ("page_id", INT)]),
    none("dm_db_page_info", &[
        ("database_id", INT), ("file_id", INT), ("page_id", INT), ("page_header_version", INT), ("page_type", INT),
        ("page_type_desc", N60), ("page_type_flag_bits", SqlType::NVarChar(Length::Limited(64))),
        ("page_type_flag_bits_desc", N256), ("page_flag_bits", SqlType::NVarChar(Length::Limited(64))),
        ("page_flag_bits_desc", N256), ("page_lsn", SqlType::NVarChar(Length::Limited(64))), ("page_level", INT), ("object_id", INT),
        ("index_id", INT), ("partition_id", BIG), ("alloc_unit_id", BIG), ("is_encrypted", BIT), ("has_checksum", BIT),
        ("checksum", INT), ("is_iam_page", BIT), ("is_mixed_extent", BIT), ("has_ghost_records", BIT),
        ("has_version_records", BIT), ("has_persisted_version_records", BIT), ("pfs_page_id", INT), ("pfs_is_allocated", BIT),
        ("pfs_alloc_percent", INT), ("pfs_status", SqlType::NVarChar(Length::Limited(64))), ("pfs_status_desc", N256),
        ("gam_page_id", INT), ("gam_status", BIT), ("gam_status_desc", N60), ("sgam_page_id", INT), ("sgam_status", BIT),
        ("sgam_status_desc", N60), ("diff_map_page_id", INT), ("diff_status", BIT), ("diff_status_desc", N60),
        ("ml_map_page_id", INT), ("ml_status", BIT), ("ml_status_desc", N60), ("prev_page_file_id", SMALL),
        ("prev_page_page_id", INT), ("next_page_file_id", SMALL), ("next_page_page_id", INT), ("fixed_length", SMALL),
        ("slot_count", SMALL), ("ghost_rec_count", SMALL), ("free_bytes", SMALL), ("free_data_offset", INT),
        ("reserved_bytes", SMALL), ("reserved_bytes_by_xdes_id", SMALL), ("xdes_id", SqlType::NVarChar(Length::Limited(64))),
    ]),
    // ---- assemblies at work, accelerators, snapshots by storage ----
    none("dm_clr_appdomains", &[
        ("appdomain_address", ADDRESS), ("appdomain_id", INT), ("appdomain_name", SqlType::VarChar(Length::Limited(386))),
        ("creation_time", DATE), ("db_id", INT), ("user_id", INT), ("state", NAME), ("strong_refcount", INT), ("weak_refcount", INT),
        ("cost", INT), ("value", INT), ("compatibility_level", INT), ("total_processor_time_ms", BIG),
        ("total_allocated_memory_kb", BIG), ("survived_memory_kb", BIG),
    ]),
    none("dm_clr_loaded_assemblies", &[("assembly_id", INT), ("appdomain_address", ADDRESS), ("load_time", DATE)]),
    none("dm_clr_tasks", &[
        ("task_address", ADDRESS), ("sos_task_address", ADDRESS), ("appdomain_address", ADDRESS), ("state", NAME), ("abort_state", NAME),
        ("type", NAME), ("affinity_count", INT), ("forced_yield_count", INT),
    ]),
    none("dm_server_accelerator_status", &[
        ("accelerator", NAME), ("accelerator_desc", N256), ("config", SMALL), ("config_in_use", SMALL), ("mode", SMALL),
        ("mode_desc", N256), ("mode_reason", INT), ("mode_reason_desc", N256), ("accelerator_hardware_detected", BIT),
        ("accelerator_library_version", NAME), ("accelerator_driver_version", NAME),
    ]),
    none("dm_server_suspend_status", &[
        ("db_id", INT), ("db_name", NAME), ("suspend_session_id", INT), ("suspend_time_ms", BIG), ("is_diffmap_cleared", BIT),
        ("is_writeio_frozen", BIT),
    ]),
    // ---- SQL trace ----
    none("trace_events", &[("trace_event_id", SMALL), ("category_id", SMALL), ("name", NAME)]),
    none("trace_categories", &[("category_id", SMALL), ("name", NAME), ("type", TINY)]),
    none("trace_columns", &[
        ("trace_column_id", SMALL), ("name", NAME), ("type_name", NAME), ("max_size", INT), ("is_filterable", BIT),
        ("is_repeatable", BIT), ("is_repeated_base", BIT),
    ]),
    none("trace_event_bindings", &[("trace_event_id", SMALL), ("trace_column_id", SMALL)]),
    none("trace_subclass_values", &[
        ("trace_event_id", SMALL), ("trace_column_id", SMALL), ("subclass_name", NAME), ("subclass_value", SMALL),
    ]),
    // ---- memory that queries wait for, and plans with what their last run counted ----
    none("dm_exec_query_memory_grants", &[
        ("session_id", SMALL), ("request_id", INT), ("scheduler_id", INT), ("dop", SMALL), ("request_time", DATE),
        ("grant_time", DATE), ("requested_memory_kb", BIG), ("granted_memory_kb", BIG), ("required_memory_kb", BIG),
        ("used_memory_kb", BIG), ("max_used_memory_kb", BIG), ("query_cost", FLOAT), ("timeout_sec", INT),
        ("resource_semaphore_id", SMALL), ("queue_id", SMALL), ("wait_order", INT), ("is_next_candidate", BIT),
        ("wait_time_ms", BIG), ("plan_handle", HANDLE), ("sql_handle", HANDLE), ("group_id", INT), ("pool_id", INT),
        ("is_small", TINY), ("ideal_memory_kb", BIG), ("reserved_worker_count", INT), ("used_worker_count", INT),
        ("max_used_worker_count", INT), ("reserved_node_bitmap", BIG),
    ]),
    none("dm_exec_query_statistics_xml", &[
        ("session_id", SMALL), ("request_id", INT), ("sql_handle", HANDLE), ("plan_handle", HANDLE), ("query_plan", SqlType::Xml),
    ]),
    none("dm_exec_query_profiles", &[
        ("session_id", SMALL), ("request_id", INT), ("sql_handle", HANDLE), ("plan_handle", HANDLE), ("physical_operator_name", N256),
        ("node_id", INT), ("thread_id", INT), ("task_address", ADDRESS), ("row_count", BIG), ("rewind_count", BIG),
        ("rebind_count", BIG), ("end_of_scan_count", BIG), ("estimate_row_count", BIG), ("first_active_time", BIG),
        ("last_active_time", BIG), ("open_time", BIG), ("first_row_time", BIG), ("last_row_time", BIG), ("close_time", BIG),
        ("elapsed_time_ms", BIG), ("cpu_time_ms", BIG), ("database_id", SMALL), ("object_id", INT), ("index_id", INT),
        ("scan_count", BIG), ("logical_read_count", BIG), ("physical_read_count", BIG), ("read_ahead_count", BIG),
        ("write_page_count", BIG), ("lob_logical_read_count", BIG), ("lob_physical_read_count", BIG), ("lob_read_ahead_count", BIG),
        ("segment_read_count", INT), ("segment_skip_count", INT), ("actual_read_row_count", BIG), ("estimated_read_row_count", BIG),
        ("page_server_read_count", BIG), ("page_server_read_ahead_count", BIG), ("lob_page_server_read_count", BIG),
        ("lob_page_server_read_ahead_count", BIG),
    ]),
    none("dm_db_tuning_recommendations", &[
        ("name", SqlType::NVarChar(Length::Limited(4000))), ("type", SqlType::NVarChar(Length::Limited(4000))), ("reason", TEXT),
        ("valid_since", PRECISE), ("last_refresh", PRECISE), ("state", TEXT), ("is_executable_action", BIT),
        ("is_revertable_action", BIT), ("execute_action_start_time", PRECISE), ("execute_action_duration", SqlType::Time(7)),
        ("execute_action_initiated_by", TEXT), ("execute_action_initiated_time", PRECISE), ("revert_action_start_time", PRECISE),
        ("revert_action_duration", SqlType::Time(7)), ("revert_action_initiated_by", TEXT), ("revert_action_initiated_time", PRECISE),
        ("score", INT), ("details", TEXT),
    ]),
    none("database_automatic_tuning_options", &[
        ("name", NAME), ("desired_state", SMALL), ("desired_state_desc", N60), ("actual_state", SMALL), ("actual_state_desc", N60),
        ("reason", SMALL), ("reason_desc", N60),
    ]),
    none("database_automatic_tuning_configurations", &[
        ("option", N60), ("option_value", N60), ("type", N60), ("type_value", super::VARIANT),
        ("details", SqlType::NVarChar(Length::Limited(4000))), ("state", INT),
    ]),
    none("dm_db_incremental_stats_properties", &[
        ("object_id", INT), ("stats_id", INT), ("partition_number", INT), ("last_updated", PRECISE), ("rows", BIG),
        ("rows_sampled", BIG), ("steps", INT), ("unfiltered_rows", BIG), ("modification_counter", BIG),
    ]),
    // ---- service broker ----
    none("conversation_priorities", &[
        ("priority_id", INT), ("name", NAME), ("service_contract_id", INT), ("local_service_id", INT), ("remote_service_name", N256),
        ("priority", TINY),
    ]),
    none("remote_service_bindings", &[
        ("name", NAME), ("remote_service_binding_id", INT), ("principal_id", INT), ("remote_service_name", N256),
        ("service_contract_id", INT), ("remote_principal_id", INT), ("is_anonymous_on", BIT),
    ]),
    // ---- encryption, modules from outside ----
    none("extended_procedures", &[
        ("name", NAME), ("object_id", INT), ("principal_id", INT), ("schema_id", INT), ("parent_object_id", INT), ("type", KIND),
        ("type_desc", DESC), ("create_date", DATE), ("modify_date", DATE), ("is_ms_shipped", BIT), ("is_published", BIT),
        ("is_schema_published", BIT), ("dll_name", NAME),
    ]),
    none("assembly_references", &[("assembly_id", INT), ("referenced_assembly_id", INT)]),
    none("trusted_assemblies", &[
        ("hash", SqlType::VarBinary(Length::Max)), ("description", SqlType::NVarChar(Length::Limited(4000))), ("create_date", PRECISE),
        ("created_by", NAME),
    ]),
    none("dm_os_loaded_modules", &[
        ("base_address", ADDRESS), ("file_version", SqlType::VarChar(Length::Limited(23))),
        ("product_version", SqlType::VarChar(Length::Limited(23))), ("debug", BIT), ("patched", BIT), ("prerelease", BIT),
        ("private_build", BIT), ("special_build", BIT), ("language", INT), ("company", N256), ("description", N256), ("name", N256),
    ]),
    // ---- the operating system, and what is not counted ----
    none("dm_io_cluster_shared_drives", &[("DriveName", SqlType::NChar(2))]),
    none("dm_server_registry", &[("registry_key", N256), ("value_name", N256), ("value_data", VARIANT)]),
    none("dm_server_memory_dumps", &[("filename", N256), ("creation_time", SqlType::DateTimeOffset(7)), ("size_in_bytes", BIG)]),
    none("dm_os_memory_cache_hash_tables", &[
        ("cache_address", ADDRESS), ("name", N256), ("type", N60), ("table_level", INT), ("buckets_count", INT),
        ("buckets_in_use_count", INT), ("buckets_min_length", INT), ("buckets_max_length", INT), ("buckets_avg_length", INT),
        ("buckets_max_length_ever", INT), ("hits_count", BIG), ("misses_count", BIG), ("buckets_avg_scan_hit_length", INT),
        ("buckets_avg_scan_miss_length", INT),
    ]),
    none("dm_os_buffer_pool_extension_configuration", &[
        ("path", N256), ("file_id", INT), ("state", INT), ("state_description", N60), ("current_size_in_kb", BIG),
    ]),
    none("dm_os_latch_stats", &[
        ("latch_class", N60), ("waiting_requests_count", BIG), ("wait_time_ms", BIG), ("max_wait_time_ms", BIG),
    ]),
    none("dm_os_spinlock_stats", &[
        ("name", N256), ("collisions", BIG), ("spins", BIG), ("spins_per_collision", REAL), ("sleep_time", BIG), ("backoffs", BIG),
    ]),
    none("dm_db_mirroring_auto_page_repair", &[
        ("database_id", INT), ("file_id", INT), ("page_id", BIG), ("error_type", SMALL), ("page_status", TINY), ("modification_time", DATE),
    ]),
    none("dm_tran_persistent_version_store_stats", &[
        ("database_id", INT), ("pvs_filegroup_id", SMALL), ("persistent_version_store_size_kb", BIG), ("online_index_version_store_size_kb", BIG),
        ("current_aborted_transaction_count", BIG), ("oldest_active_transaction_id", BIG), ("oldest_aborted_transaction_id", BIG),
        ("min_transaction_timestamp", BIG), ("online_index_min_transaction_timestamp", BIG), ("secondary_low_water_mark", BIG),
        ("offrow_version_cleaner_start_time", DATE), ("offrow_version_cleaner_end_time", DATE),
        ("aborted_version_cleaner_start_time", DATE), ("aborted_version_cleaner_end_time", DATE),
        ("pvs_off_row_page_skipped_low_water_mark", BIG), ("pvs_off_row_page_skipped_transaction_not_cleaned", BIG),
        ("pvs_off_row_page_skipped_oldest_active_xdesid", BIG), ("pvs_off_row_page_skipped_min_useful_xts", BIG),
        ("pvs_off_row_page_skipped_oldest_snapshot", BIG), ("pvs_off_row_page_skipped_oldest_aborted_xdesid", BIG),
    ]),
];
