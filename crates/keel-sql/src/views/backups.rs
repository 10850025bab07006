//! Managed backup, under the names of both its schemas in `msdb`: it is off, has nothing configured and has done nothing.

use super::{BIT, Column, DATE, GUID, INT, NAME, NULL, SystemView, TEXT, ViewContext, bit, int};
use keel_types::Value;

type Rows = Vec<Vec<Value>>;

fn nothing(_: &ViewContext<'_>) -> Rows {
    Vec::new()
}

const INSTANCE: &[Column] = &[
    ("is_managed_backup_enabled", BIT),
    ("credential_name", NAME),
    ("retention_days", INT),
    ("storage_url", TEXT),
    ("encryption_algorithm", NAME),
    ("encryptor_type", NAME),
    ("encryptor_name", NAME),
];

const DATABASE: &[Column] = &super::joined::<11>(
    &[("db_name", NAME), ("db_guid", GUID), ("is_availability_database", BIT), ("is_dropped", BIT)],
    INSTANCE,
);

const HEALTH: &[Column] = &[
    ("number_of_storage_connectivity_errors", INT),
    ("number_of_sql_errors", INT),
    ("number_of_invalid_credential_errors", INT),
    ("number_of_other_errors", INT),
    ("number_of_corrupted_or_deleted_backups", INT),
    ("number_of_backup_loops", INT),
    ("number_of_retention_loops", INT),
];

const AVAILABLE: &[Column] = &[
    ("backup_path", TEXT),
    ("backup_type", NAME),
    ("backup_database_guid", GUID),
    ("first_lsn", NAME),
    ("last_lsn", NAME),
    ("backup_start_date", DATE),
    ("backup_finish_date", DATE),
    ("machine_name", NAME),
    ("last_recovery_fork_id", GUID),
    ("first_recovery_fork_id", GUID),
    ("fork_point_lsn", NAME),
    ("availability_group_guid", GUID),
];

fn off(_: &ViewContext<'_>) -> Rows {
    vec![vec![bit(false), NULL, NULL, NULL, NULL, NULL, NULL]]
}

fn healthy(_: &ViewContext<'_>) -> Rows {
    vec![HEALTH.iter().map(|_| int(0)).collect()]
}

const fn of(schema: &'static str) -> [SystemView; 4] {
    [
        SystemView { schema, name: "fn_backup_instance_config", columns: INSTANCE, rows: off },
        SystemView { schema, name: "fn_backup_db_config", columns: DATABASE, rows: nothing },
        SystemView { schema, name: "fn_get_health_status", columns: HEALTH, rows: healthy },
        SystemView { schema, name: "fn_available_backups", columns: AVAILABLE, rows: nothing },
    ]
}

const BY_NAME: [[SystemView; 4]; 2] = [of("managed_backup"), of("smart_admin")];

/// Functions of `msdb`.
pub(super) static TABLES: &[SystemView] = BY_NAME.as_flattened();
