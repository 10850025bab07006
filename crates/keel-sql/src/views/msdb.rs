//! Tables of `msdb` beside [the agent's](crate::agent::install), which are tables like any other: the history of backups, mail, policies. There
//! is neither mail nor a policy here: those have the product's columns and are empty, so that scripts which look into them first find
//! what they expect.

use super::{BIG, BIT, Column, DATE, GUID, INT, NAME, SID, SMALL, SystemView, TEXT, TINY, ViewContext};
use crate::backup::history;
use crate::catalog::{DBO, SystemDatabase};
use crate::engine::MSDB;
use crate::session::info::Info;
use keel_base::DatabaseId;
use keel_query::catalog::{ColumnDef, TableDef};
use keel_types::{Length, SqlType, Value};
use std::sync::{Arc, LazyLock};

/// Object ids of the tables begin here, below those of what users make.
const FIRST_ID: i32 = 2_000;

/// The tables as objects, without keys.
static SHOWN: LazyLock<Vec<Arc<TableDef>>> = LazyLock::new(|| {
    let shown = |(at, view): (usize, &SystemView)| {
        let columns = view.columns.iter().enumerate();
        let columns = columns.map(|(i, (name, ty))| ColumnDef::plain(i, *name, *ty)).collect();
        Arc::new(TableDef::plain(MSDB, FIRST_ID + at as i32, DBO, view.name, columns, 0))
    };
    TABLES.iter().enumerate().map(shown).collect()
});

/// These tables as objects of the database that is asked about: none of another one than an `msdb`.
pub(crate) fn shown(info: &Info, database: DatabaseId) -> &'static [Arc<TableDef>] {
    let here = database == MSDB || info.system_database(database) == Some(SystemDatabase::Msdb);
    if here { &SHOWN } else { &[] }
}

const N100: SqlType = SqlType::NVarChar(Length::Limited(100));
const N128: SqlType = SqlType::NVarChar(Length::Limited(128));
const N256: SqlType = SqlType::NVarChar(Length::Limited(256));
const N260: SqlType = SqlType::NVarChar(Length::Limited(260));
const N512: SqlType = SqlType::NVarChar(Length::Limited(512));
const C1: SqlType = SqlType::Char(1);
const LSN: SqlType = SqlType::Numeric { precision: 25, scale: 0 };
const SIZE: SqlType = SqlType::Numeric { precision: 20, scale: 0 };

fn nothing(_: &ViewContext<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

const fn none(name: &'static str, columns: &'static [Column]) -> SystemView {
    SystemView { schema: "dbo", name, columns, rows: nothing }
}

/// Policies are not evaluated, nothing is kept of them.
fn policy_settings() -> Vec<Vec<Value>> {
    let off = || Value::Variant(std::sync::Arc::new((INT, Value::Int(0))));
    ["Enabled", "HistoryRetentionInDays", "LogOnSuccess"].map(|name| vec![Value::str(name), off()]).into()
}

#[rustfmt::skip]
pub(super) static TABLES: &[SystemView] = &[
    SystemView { schema: "dbo", name: "cdc_jobs", columns: super::capture::JOBS, rows: super::capture::jobs },
    // ---- backups ----
    SystemView { schema: "dbo", name: "backupset", columns: &[
        ("backup_set_id", INT), ("backup_set_uuid", GUID), ("media_set_id", INT), ("first_family_number", TINY),
        ("first_media_number", SMALL), ("last_family_number", TINY), ("last_media_number", SMALL), ("catalog_family_number", TINY),
        ("catalog_media_number", SMALL), ("position", INT), ("expiration_date", DATE), ("software_vendor_id", INT), ("name", N128),
        ("description", SqlType::NVarChar(Length::Limited(255))), ("user_name", N128), ("software_major_version", TINY),
        ("software_minor_version", TINY), ("software_build_version", SMALL), ("time_zone", SMALL), ("mtf_minor_version", TINY),
        ("first_lsn", LSN), ("last_lsn", LSN), ("checkpoint_lsn", LSN), ("database_backup_lsn", LSN), ("database_creation_date", DATE),
        ("backup_start_date", DATE), ("backup_finish_date", DATE), ("type", C1), ("sort_order", SMALL), ("code_page", SMALL),
        ("compatibility_level", TINY), ("database_version", INT), ("backup_size", SIZE), ("database_name", N128), ("server_name", N128),
        ("machine_name", N128), ("flags", INT), ("unicode_locale", INT), ("unicode_compare_style", INT), ("collation_name", N128),
        ("is_password_protected", BIT), ("recovery_model", SqlType::NVarChar(Length::Limited(60))), ("has_bulk_logged_data", BIT),
        ("is_snapshot", BIT), ("is_readonly", BIT), ("is_single_user", BIT), ("has_backup_checksums", BIT), ("is_damaged", BIT),
        ("begins_log_chain", BIT), ("has_incomplete_metadata", BIT), ("is_force_offline", BIT), ("is_copy_only", BIT),
        ("first_recovery_fork_guid", GUID), ("last_recovery_fork_guid", GUID), ("fork_point_lsn", LSN), ("database_guid", GUID),
        ("family_guid", GUID), ("differential_base_lsn", LSN), ("differential_base_guid", GUID), ("compressed_backup_size", SIZE),
        ("key_algorithm", SqlType::NVarChar(Length::Limited(32))), ("encryptor_thumbprint", SqlType::VarBinary(Length::Limited(20))),
        ("encryptor_type", SqlType::NVarChar(Length::Limited(32))), ("last_valid_restore_time", DATE),
        ("compression_algorithm", SqlType::NVarChar(Length::Limited(32))),
    ], rows: history::backupset },
    SystemView { schema: "dbo", name: "backupmediafamily", columns: &[
        ("media_set_id", INT), ("family_sequence_number", TINY), ("media_family_id", GUID), ("media_count", INT),
        ("logical_device_name", N128), ("physical_device_name", N260), ("device_type", TINY), ("physical_block_size", INT), ("mirror", TINY),
    ], rows: history::backupmediafamily },
    SystemView { schema: "dbo", name: "backupmediaset", columns: &[
        ("media_set_id", INT), ("media_uuid", GUID), ("media_family_count", TINY), ("name", N128),
        ("description", SqlType::NVarChar(Length::Limited(255))), ("software_name", N128), ("software_vendor_id", INT),
        ("MTF_major_version", TINY), ("mirror_count", TINY), ("is_password_protected", BIT), ("is_compressed", BIT), ("is_encrypted", BIT),
    ], rows: history::backupmediaset },
    none("backupfile", &[
        ("backup_set_id", INT), ("first_family_number", TINY), ("first_media_number", SMALL), ("filegroup_name", N128),
        ("page_size", INT), ("file_number", LSN), ("backed_up_page_count", LSN), ("file_type", C1), ("source_file_block_size", LSN),
        ("file_size", SIZE), ("logical_name", N128), ("physical_drive", N260), ("physical_name", N260), ("state", TINY),
        ("state_desc", SqlType::NVarChar(Length::Limited(64))), ("create_lsn", LSN), ("drop_lsn", LSN), ("file_guid", GUID),
        ("read_only_lsn", LSN), ("read_write_lsn", LSN), ("differential_base_lsn", LSN), ("differential_base_guid", GUID),
        ("backup_size", SIZE), ("filegroup_guid", GUID), ("is_readonly", BIT), ("is_present", BIT),
    ]),
    none("backupfilegroup", &[
        ("backup_set_id", INT), ("name", NAME), ("filegroup_id", INT), ("filegroup_guid", GUID), ("type", SqlType::Char(2)),
        ("type_desc", SqlType::NVarChar(Length::Limited(60))), ("is_default", BIT), ("is_readonly", BIT), ("log_filegroup_guid", GUID),
    ]),
    SystemView { schema: "dbo", name: "restorehistory", columns: &[
        ("restore_history_id", INT), ("restore_date", DATE), ("destination_database_name", N128), ("user_name", N128),
        ("backup_set_id", INT), ("restore_type", C1), ("replace", BIT), ("recovery", BIT), ("restart", BIT), ("stop_at", DATE),
        ("device_count", TINY), ("stop_at_mark_name", N128), ("stop_before", BIT),
    ], rows: history::restorehistory },
    none("restorefile", &[
        ("restore_history_id", INT), ("file_number", LSN), ("destination_phys_drive", N260), ("destination_phys_name", N260),
    ]),
    none("restorefilegroup", &[("restore_history_id", INT), ("filegroup_name", N128)]),
    none("suspect_pages", &[
        ("database_id", INT), ("file_id", INT), ("page_id", BIG), ("event_type", INT), ("error_count", INT), ("last_update_date", DATE),
    ]),
    // ---- data-tier applications ----
    none("sysdac_instances", &[
        ("instance_id", GUID), ("instance_name", NAME), ("type_name", NAME), ("type_version", SqlType::NVarChar(Length::Limited(64))),
        ("description", SqlType::NVarChar(Length::Limited(4000))), ("type_stream", SqlType::VarBinary(Length::Max)), ("date_created", DATE),
        ("created_by", NAME), ("database_name", NAME),
    ]),
    none("sysdac_history_internal", &[
        ("action_id", INT), ("sequence_id", INT), ("instance_id", GUID), ("action_type", TINY), ("action_type_name", SqlType::VarChar(Length::Limited(19))),
        ("action_status", TINY), ("action_status_name", SqlType::VarChar(Length::Limited(11))), ("required", BIT), ("dac_name_pretran", NAME),
        ("dac_name_posttran", NAME), ("sqlscript", TEXT), ("payload", SqlType::VarBinary(Length::Max)), ("comments", TEXT),
        ("error_string", TEXT), ("created_by", NAME), ("date_created", DATE), ("date_modified", DATE),
    ]),
    // ---- policies ----
    SystemView {
        schema: "dbo", name: "syspolicy_configuration", columns: &[("name", NAME), ("current_value", super::VARIANT)],
        rows: |_| policy_settings(),
    },
    none("syspolicy_system_health_state", &[
        ("health_state_id", BIG), ("policy_id", INT), ("last_run_date", DATE), ("target_query_expression_with_id", SqlType::NVarChar(Length::Limited(400))),
        ("target_query_expression", TEXT), ("result", BIT),
    ]),
    none("syspolicy_conditions", &[
        ("condition_id", INT), ("name", NAME), ("date_created", DATE), ("description", TEXT), ("created_by", NAME), ("modified_by", NAME),
        ("date_modified", DATE), ("facet", TEXT), ("expression", TEXT), ("is_name_condition", SMALL), ("obj_name", NAME), ("is_system", BIT),
    ]),
    none("syspolicy_policies", &[
        ("policy_id", INT), ("name", NAME), ("condition_id", INT), ("root_condition_id", INT), ("date_created", DATE),
        ("execution_mode", INT), ("policy_category_id", INT), ("schedule_uid", GUID), ("description", TEXT),
        ("help_text", SqlType::NVarChar(Length::Limited(4000))), ("help_link", SqlType::NVarChar(Length::Limited(2083))),
        ("object_set_id", INT), ("is_enabled", BIT), ("job_id", GUID), ("created_by", NAME), ("modified_by", NAME),
        ("date_modified", DATE), ("is_system", BIT),
    ]),
    none("syspolicy_policy_categories", &[("policy_category_id", INT), ("name", NAME), ("mandate_database_subscriptions", BIT)]),
    none("syspolicy_policy_category_subscriptions", &[
        ("policy_category_subscription_id", INT), ("target_type", NAME), ("target_object", NAME), ("policy_category_id", INT),
    ]),
    none("syspolicy_policy_execution_history", &[
        ("history_id", BIG), ("policy_id", INT), ("start_date", DATE), ("end_date", DATE), ("result", BIT), ("is_full_run", BIT),
        ("exception_message", TEXT), ("exception", TEXT),
    ]),
    none("syspolicy_policy_execution_history_details", &[
        ("detail_id", BIG), ("history_id", BIG), ("target_query_expression", TEXT), ("target_query_expression_with_id", TEXT),
        ("execution_date", DATE), ("result", BIT), ("result_detail", TEXT), ("exception_message", TEXT), ("exception", TEXT),
    ]),
    none("syspolicy_object_sets", &[
        ("object_set_id", INT), ("object_set_name", NAME), ("facet_id", INT), ("facet_name", TEXT), ("is_system", BIT),
    ]),
    none("syspolicy_target_sets", &[
        ("target_set_id", INT), ("object_set_id", INT), ("type_skeleton", NAME), ("type", NAME), ("enabled", BIT),
    ]),
    none("syspolicy_target_set_levels", &[
        ("target_set_level_id", INT), ("target_set_id", INT), ("type_skeleton", NAME), ("condition_id", INT), ("level_name", NAME),
    ]),
    // ---- maintenance plans ----
    none("sysmaintplan_plans", &[
        ("id", GUID), ("name", NAME), ("description", SqlType::NVarChar(Length::Limited(1024))), ("create_date", DATE), ("owner", NAME),
        ("version_major", INT), ("version_minor", INT), ("version_build", INT), ("version_comments", SqlType::NVarChar(Length::Limited(1024))),
        ("from_msx", BIT), ("has_targets", BIT),
    ]),
    none("sysmaintplan_subplans", &[
        ("subplan_id", GUID), ("subplan_name", NAME), ("subplan_description", N512), ("plan_id", GUID), ("job_id", GUID),
        ("msx_job_id", GUID), ("schedule_id", INT), ("msx_plan", BIT),
    ]),
    none("sysmaintplan_log", &[
        ("task_detail_id", GUID), ("plan_id", GUID), ("subplan_id", GUID), ("start_time", DATE), ("end_time", DATE), ("succeeded", BIT),
        ("logged_remotely", BIT), ("source_server_name", N128), ("plan_name", N128), ("subplan_name", N128),
    ]),
    none("sysmaintplan_logdetail", &[
        ("task_detail_id", GUID), ("line1", N256), ("line2", N256), ("line3", N256), ("line4", N256), ("line5", N256),
        ("server_name", N128), ("start_time", DATE), ("end_time", DATE), ("error_number", INT),
        ("error_message", SqlType::NVarChar(Length::Limited(1024))), ("command", TEXT), ("succeeded", BIT),
    ]),
    none("sysssispackages", &[
        ("name", NAME), ("id", GUID), ("description", SqlType::NVarChar(Length::Limited(1024))), ("createdate", DATE), ("folderid", GUID),
        ("ownersid", SID), ("packagedata", SqlType::Image), ("packageformat", INT), ("packagetype", INT), ("vermajor", INT),
        ("verminor", INT), ("verbuild", INT), ("vercomments", SqlType::NVarChar(Length::Limited(1024))), ("verid", GUID), ("isencrypted", BIT),
        ("readrolesid", SID), ("writerolesid", SID),
    ]),
    none("sysssispackagefolders", &[("folderid", GUID), ("parentfolderid", GUID), ("foldername", NAME)]),
    none("sysdbmaintplans", &[
        ("plan_id", GUID), ("plan_name", NAME), ("date_created", DATE), ("owner", NAME), ("max_history_rows", INT),
        ("remote_history_server", NAME), ("max_remote_history_rows", INT), ("user_defined_1", INT), ("user_defined_2", N100),
        ("user_defined_3", DATE), ("user_defined_4", GUID),
    ]),
    none("sysalerts_performance_counters_view", &[
        ("object_name", N128), ("counter_name", N128), ("instance_name", N128), ("cntr_value", BIG), ("cntr_type", INT),
        ("server_name", NAME),
    ]),
    SystemView { schema: "dbo", name: "logmarkhistory", columns: &[
        ("database_name", N128), ("mark_name", N128), ("description", SqlType::NVarChar(Length::Limited(255))), ("user_name", N128),
        ("lsn", LSN), ("mark_time", DATE),
    ], rows: history::logmarkhistory },
    // ---- log shipping ----
    none("log_shipping_primary_databases", &[
        ("primary_id", GUID), ("primary_database", NAME), ("backup_directory", N512), ("backup_share", N512),
        ("backup_retention_period", INT), ("backup_job_id", GUID), ("monitor_server", NAME), ("user_specified_monitor", BIT),
        ("monitor_server_security_mode", BIT), ("last_backup_file", N512), ("last_backup_date", DATE), ("backup_compression", TINY),
    ]),
    none("log_shipping_secondary_databases", &[
        ("secondary_database", NAME), ("secondary_id", GUID), ("restore_delay", INT), ("restore_all", BIT), ("restore_mode", BIT),
        ("disconnect_users", BIT), ("block_size", INT), ("buffer_count", INT), ("max_transfer_size", INT), ("last_restored_file", N512),
        ("last_restored_date", DATE),
    ]),
    none("log_shipping_monitor_primary", &[
        ("primary_id", GUID), ("primary_server", NAME), ("primary_database", NAME), ("backup_threshold", INT), ("threshold_alert", INT),
        ("threshold_alert_enabled", BIT), ("last_backup_file", N512), ("last_backup_date", DATE), ("last_backup_date_utc", DATE),
        ("history_retention_period", INT),
    ]),
    none("log_shipping_monitor_secondary", &[
        ("secondary_server", NAME), ("secondary_database", NAME), ("secondary_id", GUID), ("primary_server", NAME),
        ("primary_database", NAME), ("restore_threshold", INT), ("threshold_alert", INT), ("threshold_alert_enabled", BIT),
        ("last_copied_file", N512), ("last_copied_date", DATE), ("last_copied_date_utc", DATE), ("last_restored_file", N512),
        ("last_restored_date", DATE), ("last_restored_date_utc", DATE), ("last_restored_latency", INT),
        ("history_retention_period", INT),
    ]),
];
