//! Views of features this server does not have: there, with the product's columns, and empty, so that scripts and tools that
//! ask for them first (`IF NOT EXISTS …`) find what they expect. Backup history of `msdb` is among them.

use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, NAME, SID, SMALL, SystemView, TEXT, TINY, VARIANT, ViewContext,
};
use keel_types::{Length, SqlType, Value};

const N256: SqlType = SqlType::NVarChar(Length::Limited(256));
const LSN: SqlType = SqlType::Numeric { precision: 25, scale: 0 };

fn nothing(_: &ViewContext<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

const fn none(name: &'static str, columns: &'static [Column]) -> SystemView {
    SystemView { schema: "sys", name, columns, rows: nothing }
}

const fn none_in_dbo(name: &'static str, columns: &'static [Column]) -> SystemView {
    SystemView { schema: "dbo", name, columns, rows: nothing }
}

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    none("assemblies", &[
        ("name", NAME), ("principal_id", INT), ("assembly_id", INT), ("clr_name", N256), ("permission_set", TINY),
        ("permission_set_desc", DESC), ("is_visible", BIT), ("create_date", DATE), ("modify_date", DATE), ("is_user_defined", BIT),
    ]),
    none("assembly_types", &[("name", NAME), ("assembly_id", INT), ("user_type_id", INT), ("assembly_class", NAME)]),
    none("xml_schema_collections", &[
        ("xml_collection_id", INT), ("schema_id", INT), ("principal_id", INT), ("name", NAME), ("create_date", DATE), ("modify_date", DATE),
    ]),
    none("xml_indexes", &[("object_id", INT), ("name", NAME), ("index_id", INT), ("type", TINY), ("using_xml_index_id", INT)]),
    none("spatial_indexes", &[("object_id", INT), ("name", NAME), ("index_id", INT), ("type", TINY)]),
    none("fulltext_catalogs", &[("fulltext_catalog_id", INT), ("name", NAME), ("path", N256), ("is_default", BIT), ("principal_id", INT)]),
    none("fulltext_indexes", &[("object_id", INT), ("unique_index_id", INT), ("fulltext_catalog_id", INT), ("is_enabled", BIT)]),
    none("fulltext_index_columns", &[("object_id", INT), ("column_id", INT), ("type_column_id", INT), ("language_id", INT)]),
    none("partition_functions", &[
        ("name", NAME), ("function_id", INT), ("type", super::KIND), ("type_desc", DESC), ("fanout", INT),
        ("boundary_value_on_right", BIT), ("is_system", BIT), ("create_date", DATE), ("modify_date", DATE),
    ]),
    none("partition_schemes", &[
        ("name", NAME), ("data_space_id", INT), ("type", super::KIND), ("type_desc", DESC), ("is_default", BIT),
        ("is_system", BIT), ("function_id", INT),
    ]),
    none("partition_range_values", &[("function_id", INT), ("boundary_id", INT), ("parameter_id", INT), ("value", VARIANT)]),
    none("partition_parameters", &[("function_id", INT), ("parameter_id", INT), ("system_type_id", TINY), ("user_type_id", INT)]),
    none("destination_data_spaces", &[("partition_scheme_id", INT), ("destination_id", INT), ("data_space_id", INT)]),
    none("linked_logins", &[("server_id", INT), ("local_principal_id", INT), ("uses_self_credential", BIT), ("remote_name", NAME), ("modify_date", DATE)]),
    none("credentials", &[("credential_id", INT), ("name", NAME), ("credential_identity", TEXT), ("create_date", DATE), ("modify_date", DATE)]),
    none("symmetric_keys", &[("name", NAME), ("principal_id", INT), ("symmetric_key_id", INT), ("key_length", INT), ("create_date", DATE)]),
    none("asymmetric_keys", &[("name", NAME), ("principal_id", INT), ("asymmetric_key_id", INT), ("key_length", INT)]),
    none("column_master_keys", &[("name", NAME), ("column_master_key_id", INT), ("create_date", DATE), ("modify_date", DATE)]),
    none("column_encryption_keys", &[("name", NAME), ("column_encryption_key_id", INT), ("create_date", DATE), ("modify_date", DATE)]),
    none("security_policies", &[("name", NAME), ("object_id", INT), ("schema_id", INT), ("is_enabled", BIT)]),
    none("masked_columns", &[("object_id", INT), ("name", NAME), ("column_id", INT), ("is_masked", BIT), ("masking_function", N256)]),
    none("periods", &[("name", NAME), ("period_type", TINY), ("object_id", INT), ("start_column_id", INT), ("end_column_id", INT)]),
    none("change_tracking_databases", &[("database_id", INT), ("is_auto_cleanup_on", TINY), ("retention_period", INT), ("retention_period_units", TINY)]),
    none("change_tracking_tables", &[("object_id", INT), ("is_track_columns_updated_on", BIT), ("min_valid_version", BIG), ("begin_version", BIG), ("cleanup_version", BIG)]),
    none("service_queues", &[("name", NAME), ("object_id", INT), ("schema_id", INT), ("is_receive_enabled", BIT)]),
    none("services", &[("name", NAME), ("service_id", INT), ("principal_id", INT), ("service_queue_id", INT)]),
    none("external_tables", &[("name", NAME), ("object_id", INT), ("schema_id", INT), ("location", N256), ("data_source_id", INT)]),
    none("external_data_sources", &[("data_source_id", INT), ("name", NAME), ("location", N256), ("type_desc", DESC)]),
    none("hash_indexes", &[("object_id", INT), ("name", NAME), ("index_id", INT), ("bucket_count", INT)]),
    none("plan_guides", &[("plan_guide_id", INT), ("name", NAME), ("is_disabled", BIT), ("query_text", TEXT)]),
    none("server_triggers", &[("name", NAME), ("object_id", INT), ("type", super::KIND), ("is_disabled", BIT)]),
    none("sql_expression_dependencies", &[
        ("referencing_id", INT), ("referencing_minor_id", INT), ("referencing_class", TINY), ("referencing_class_desc", DESC),
        ("is_schema_bound_reference", BIT), ("referenced_class", TINY), ("referenced_class_desc", DESC),
        ("referenced_server_name", NAME), ("referenced_database_name", NAME), ("referenced_schema_name", NAME),
        ("referenced_entity_name", NAME), ("referenced_id", INT), ("referenced_minor_id", INT), ("is_caller_dependent", BIT),
        ("is_ambiguous", BIT),
    ]),
    none("dm_exec_query_plan", &[("dbid", SMALL), ("objectid", INT), ("number", SMALL), ("encrypted", BIT), ("query_plan", SqlType::Xml)]),
    none("dm_db_index_usage_stats", &[
        ("database_id", SMALL), ("object_id", INT), ("index_id", INT), ("user_seeks", BIG), ("user_scans", BIG),
        ("user_lookups", BIG), ("user_updates", BIG), ("last_user_seek", DATE), ("last_user_scan", DATE),
        ("last_user_lookup", DATE), ("last_user_update", DATE),
    ]),
    none("dm_db_missing_index_details", &[
        ("index_handle", INT), ("database_id", SMALL), ("object_id", INT), ("equality_columns", TEXT), ("inequality_columns", TEXT),
        ("included_columns", TEXT), ("statement", TEXT),
    ]),
    none("dm_db_xtp_checkpoint_stats", &[("last_lsn_processed", BIG), ("end_of_log_lsn", BIG)]),
    none("dm_exec_query_memory_grants", &[
        ("session_id", SMALL), ("request_id", INT), ("dop", SMALL), ("request_time", DATE), ("grant_time", DATE),
        ("requested_memory_kb", BIG), ("granted_memory_kb", BIG), ("used_memory_kb", BIG), ("wait_time_ms", BIG),
    ]),
    none("dm_os_ring_buffers", &[
        ("ring_buffer_address", SID), ("ring_buffer_type", DESC), ("timestamp", BIG), ("record", TEXT),
    ]),
    none("dm_xe_sessions", &[("address", SID), ("name", N256), ("create_time", DATE), ("total_buffer_size", BIG)]),
    none("server_event_sessions", &[("event_session_id", INT), ("name", NAME), ("startup_state", BIT)]),
    none("database_query_store_options", &[
        ("desired_state", SMALL), ("desired_state_desc", DESC), ("actual_state", SMALL), ("actual_state_desc", DESC),
        ("readonly_reason", INT), ("current_storage_size_mb", BIG), ("max_storage_size_mb", BIG),
    ]),
    none("numbered_procedures", &[("object_id", INT), ("procedure_number", SMALL), ("definition", TEXT)]),
    none("assembly_modules", &[("object_id", INT), ("assembly_id", INT), ("assembly_class", NAME), ("assembly_method", NAME)]),
    none("sysreferences", &[("constid", INT), ("fkeyid", INT), ("rkeyid", INT), ("rkeyindid", SMALL), ("keycnt", SMALL)]),
    none("sysdepends", &[("id", INT), ("depid", INT), ("number", SMALL), ("depnumber", SMALL)]),
    none("sysservers", &[("srvid", SMALL), ("srvstatus", SMALL), ("srvname", NAME), ("srvproduct", NAME), ("providername", NAME), ("datasource", TEXT)]),
];

/// Tables of `msdb`'s dbo schema.
#[rustfmt::skip]
pub(super) static MSDB: &[SystemView] = &[
    none_in_dbo("backupset", &[
        ("backup_set_id", INT), ("backup_set_uuid", GUID), ("media_set_id", INT), ("first_family_number", TINY), ("name", NAME),
        ("description", N256), ("user_name", NAME), ("position", INT), ("first_lsn", LSN), ("last_lsn", LSN),
        ("checkpoint_lsn", LSN), ("database_backup_lsn", LSN), ("backup_start_date", DATE), ("backup_finish_date", DATE),
        ("type", SqlType::Char(1)), ("backup_size", SqlType::Numeric { precision: 20, scale: 0 }), ("database_name", NAME),
        ("server_name", NAME), ("machine_name", NAME), ("recovery_model", DESC), ("is_copy_only", BIT), ("is_damaged", BIT),
        ("has_backup_checksums", BIT), ("compressed_backup_size", SqlType::Numeric { precision: 20, scale: 0 }),
    ]),
    none_in_dbo("backupmediafamily", &[
        ("media_set_id", INT), ("family_sequence_number", TINY), ("media_family_id", GUID), ("media_count", INT),
        ("logical_device_name", NAME), ("physical_device_name", N256), ("device_type", TINY), ("physical_block_size", INT), ("mirror", TINY),
    ]),
    none_in_dbo("backupmediaset", &[
        ("media_set_id", INT), ("media_uuid", GUID), ("media_family_count", TINY), ("name", NAME), ("description", N256),
        ("software_name", NAME), ("is_password_protected", BIT), ("is_compressed", BIT),
    ]),
    none_in_dbo("restorehistory", &[
        ("restore_history_id", INT), ("restore_date", DATE), ("destination_database_name", NAME), ("user_name", NAME),
        ("backup_set_id", INT), ("restore_type", SqlType::Char(1)), ("replace", BIT), ("recovery", BIT),
    ]),
    none_in_dbo("sysjobs", &[
        ("job_id", GUID), ("originating_server_id", INT), ("name", NAME), ("enabled", TINY), ("description", N256),
        ("start_step_id", INT), ("category_id", INT), ("owner_sid", SID), ("date_created", DATE), ("date_modified", DATE),
    ]),
];
