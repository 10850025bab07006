//! Tables of `msdb`: the history of backups, the agent's jobs, alerts and mail, policies. There is neither an agent nor a policy
//! here: those have the product's columns and are empty, so that scripts which look into them first find what they expect.

use super::{BIG, BIT, Column, DATE, GUID, INT, NAME, SID, SMALL, SystemView, TEXT, TINY, ViewContext};
use crate::backup::history;
use keel_types::{Length, SqlType, Value};

const N100: SqlType = SqlType::NVarChar(Length::Limited(100));
const N128: SqlType = SqlType::NVarChar(Length::Limited(128));
const N256: SqlType = SqlType::NVarChar(Length::Limited(256));
const N260: SqlType = SqlType::NVarChar(Length::Limited(260));
const N512: SqlType = SqlType::NVarChar(Length::Limited(512));
const C1: SqlType = SqlType::Char(1);
const LSN: SqlType = SqlType::Numeric { precision: 25, scale: 0 };
const SIZE: SqlType = SqlType::Numeric { precision: 20, scale: 0 };
const STAMP: SqlType = SqlType::DateTime;

fn nothing(_: &ViewContext<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

const fn none(name: &'static str, columns: &'static [Column]) -> SystemView {
    SystemView { schema: "dbo", name, columns, rows: nothing }
}

const JOB: &[Column] = &[
    ("job_id", GUID),
    ("originating_server_id", INT),
    ("name", NAME),
    ("enabled", TINY),
    ("description", N512),
    ("start_step_id", INT),
    ("category_id", INT),
    ("owner_sid", SID),
    ("notify_level_eventlog", INT),
    ("notify_level_email", INT),
    ("notify_level_netsend", INT),
    ("notify_level_page", INT),
    ("notify_email_operator_id", INT),
    ("notify_netsend_operator_id", INT),
    ("notify_page_operator_id", INT),
    ("delete_level", INT),
    ("date_created", DATE),
    ("date_modified", DATE),
    ("version_number", INT),
];

const JOB_VIEW: &[Column] = &[
    ("job_id", GUID),
    ("originating_server", NAME),
    ("name", NAME),
    ("enabled", TINY),
    ("description", N512),
    ("start_step_id", INT),
    ("category_id", INT),
    ("owner_sid", SID),
    ("notify_level_eventlog", INT),
    ("notify_level_email", INT),
    ("notify_level_netsend", INT),
    ("notify_level_page", INT),
    ("notify_email_operator_id", INT),
    ("notify_netsend_operator_id", INT),
    ("notify_page_operator_id", INT),
    ("delete_level", INT),
    ("date_created", DATE),
    ("date_modified", DATE),
    ("version_number", INT),
    ("originating_server_id", INT),
    ("master_server", BIT),
];

/// Policies are not evaluated, nothing is kept of them.
fn policy_settings() -> Vec<Vec<Value>> {
    let off = || Value::Variant(std::sync::Arc::new((INT, Value::Int(0))));
    ["Enabled", "HistoryRetentionInDays", "LogOnSuccess"].map(|name| vec![Value::str(name), off()]).into()
}

#[rustfmt::skip]
pub(super) static TABLES: &[SystemView] = &[
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
    // ---- jobs ----
    none("sysjobs", JOB),
    none("sysjobs_view", JOB_VIEW),
    none("sysjobsteps", &[
        ("job_id", GUID), ("step_id", INT), ("step_name", NAME), ("subsystem", SqlType::NVarChar(Length::Limited(40))), ("command", TEXT),
        ("flags", INT), ("additional_parameters", TEXT), ("cmdexec_success_code", INT), ("on_success_action", TINY),
        ("on_success_step_id", INT), ("on_fail_action", TINY), ("on_fail_step_id", INT), ("server", NAME), ("database_name", NAME),
        ("database_user_name", NAME), ("retry_attempts", INT), ("retry_interval", INT), ("os_run_priority", INT),
        ("output_file_name", SqlType::NVarChar(Length::Limited(200))), ("last_run_outcome", INT), ("last_run_duration", INT),
        ("last_run_retries", INT), ("last_run_date", INT), ("last_run_time", INT), ("proxy_id", INT), ("step_uid", GUID),
    ]),
    none("sysjobstepslogs", &[
        ("log_id", INT), ("log", TEXT), ("date_created", DATE), ("date_modified", DATE), ("log_size", BIG), ("step_uid", GUID),
    ]),
    none("sysjobhistory", &[
        ("instance_id", INT), ("job_id", GUID), ("step_id", INT), ("step_name", NAME), ("sql_message_id", INT), ("sql_severity", INT),
        ("message", SqlType::NVarChar(Length::Limited(4000))), ("run_status", INT), ("run_date", INT), ("run_time", INT),
        ("run_duration", INT), ("operator_id_emailed", INT), ("operator_id_netsent", INT), ("operator_id_paged", INT),
        ("retries_attempted", INT), ("server", NAME),
    ]),
    none("sysjobactivity", &[
        ("session_id", INT), ("job_id", GUID), ("run_requested_date", DATE), ("run_requested_source", NAME), ("queued_date", DATE),
        ("start_execution_date", DATE), ("last_executed_step_id", INT), ("last_executed_step_date", DATE),
        ("stop_execution_date", DATE), ("job_history_id", INT), ("next_scheduled_run_date", DATE),
    ]),
    none("sysjobservers", &[
        ("job_id", GUID), ("server_id", INT), ("last_run_outcome", TINY), ("last_outcome_message", SqlType::NVarChar(Length::Limited(4000))),
        ("last_run_date", INT), ("last_run_time", INT), ("last_run_duration", INT),
    ]),
    none("sysjobschedules", &[("schedule_id", INT), ("job_id", GUID), ("next_run_date", INT), ("next_run_time", INT)]),
    none("sysschedules", &[
        ("schedule_id", INT), ("schedule_uid", GUID), ("originating_server_id", INT), ("name", NAME), ("owner_sid", SID),
        ("enabled", INT), ("freq_type", INT), ("freq_interval", INT), ("freq_subday_type", INT), ("freq_subday_interval", INT),
        ("freq_relative_interval", INT), ("freq_recurrence_factor", INT), ("active_start_date", INT), ("active_end_date", INT),
        ("active_start_time", INT), ("active_end_time", INT), ("date_created", DATE), ("date_modified", DATE), ("version_number", INT),
    ]),
    none("syssessions", &[("session_id", INT), ("agent_start_date", DATE)]),
    none("sysproxies", &[
        ("proxy_id", INT), ("name", NAME), ("credential_id", INT), ("enabled", TINY), ("description", N512), ("user_sid", SID),
        ("credential_date_created", DATE),
    ]),
    none("syssubsystems", &[
        ("subsystem_id", INT), ("subsystem", SqlType::NVarChar(Length::Limited(40))), ("description_id", INT),
        ("subsystem_dll", SqlType::NVarChar(Length::Limited(255))), ("agent_exe", SqlType::NVarChar(Length::Limited(255))),
        ("start_entry_point", SqlType::NVarChar(Length::Limited(30))), ("event_entry_point", SqlType::NVarChar(Length::Limited(30))),
        ("stop_entry_point", SqlType::NVarChar(Length::Limited(30))), ("max_worker_threads", INT),
    ]),
    none("syscategories", &[("category_id", INT), ("category_class", INT), ("category_type", TINY), ("name", NAME)]),
    // ---- alerts, operators, mail ----
    none("sysalerts", &[
        ("id", INT), ("name", NAME), ("event_source", N100), ("event_category_id", INT), ("event_id", INT), ("message_id", INT),
        ("severity", INT), ("enabled", TINY), ("delay_between_responses", INT), ("last_occurrence_date", INT),
        ("last_occurrence_time", INT), ("last_response_date", INT), ("last_response_time", INT), ("notification_message", N512),
        ("include_event_description", TINY), ("database_name", N512), ("event_description_keyword", N100), ("occurrence_count", INT),
        ("count_reset_date", INT), ("count_reset_time", INT), ("job_id", GUID), ("has_notification", INT), ("flags", INT),
        ("performance_condition", N512), ("category_id", INT),
    ]),
    none("sysnotifications", &[("alert_id", INT), ("operator_id", INT), ("notification_method", TINY)]),
    none("sysoperators", &[
        ("id", INT), ("name", NAME), ("enabled", TINY), ("email_address", N100), ("last_email_date", INT), ("last_email_time", INT),
        ("pager_address", N100), ("last_pager_date", INT), ("last_pager_time", INT), ("weekday_pager_start_time", INT),
        ("weekday_pager_end_time", INT), ("saturday_pager_start_time", INT), ("saturday_pager_end_time", INT),
        ("sunday_pager_start_time", INT), ("sunday_pager_end_time", INT), ("pager_days", TINY), ("netsend_address", N100),
        ("last_netsend_date", INT), ("last_netsend_time", INT), ("category_id", INT),
    ]),
    none("sysmail_profile", &[
        ("profile_id", INT), ("name", NAME), ("description", N256), ("last_mod_datetime", STAMP), ("last_mod_user", NAME),
    ]),
    none("sysmail_account", &[
        ("account_id", INT), ("name", NAME), ("description", N256), ("email_address", N128), ("display_name", N128),
        ("replyto_address", N128), ("last_mod_datetime", STAMP), ("last_mod_user", NAME),
    ]),
    none("sysmail_profileaccount", &[
        ("profile_id", INT), ("account_id", INT), ("sequence_number", INT), ("last_mod_datetime", STAMP), ("last_mod_user", NAME),
    ]),
    none("sysmail_event_log", &[
        ("log_id", INT), ("event_type", SqlType::VarChar(Length::Limited(11))), ("log_date", STAMP), ("description", TEXT),
        ("process_id", INT), ("mailitem_id", INT), ("account_id", INT), ("last_mod_date", STAMP), ("last_mod_user", NAME),
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
    none("logmarkhistory", &[
        ("database_name", N128), ("mark_name", N128), ("description", SqlType::NVarChar(Length::Limited(255))), ("user_name", N128),
        ("lsn", LSN), ("mark_time", DATE),
    ]),
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
