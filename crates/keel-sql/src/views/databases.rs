//! Databases, files and configuration.

use super::{
    BIT, Column, DATE, DESC, GUID, INT, NAME, NULL, SID, SMALL, SystemView, TINY, VARIANT, ViewContext, bit,
    date, int, text,
};
use crate::catalog::{DatabaseSettings, DelayedDurability};
use crate::config;
use crate::engine::{DatabaseEntry, StoredSnapshot, Unopened};
use crate::hadr::lsn::value as lsn;
use keel_node::detached::{Files, files as files_of};
use keel_query::catalog::Catalog as _;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const PATH: SqlType = SqlType::NVarChar(Length::Limited(260));

const DATABASE: &[Column] = &[
    ("name", NAME),
    ("database_id", INT),
    ("source_database_id", INT),
    ("owner_sid", SID),
    ("create_date", DATE),
    ("compatibility_level", TINY),
    ("collation_name", NAME),
    ("user_access", TINY),
    ("user_access_desc", DESC),
    ("is_read_only", BIT),
    ("is_auto_close_on", BIT),
    ("is_auto_shrink_on", BIT),
    ("state", TINY),
    ("state_desc", DESC),
    ("is_in_standby", BIT),
    ("is_cleanly_shutdown", BIT),
    ("is_supplemental_logging_enabled", BIT),
    ("snapshot_isolation_state", TINY),
    ("snapshot_isolation_state_desc", DESC),
    ("is_read_committed_snapshot_on", BIT),
    ("recovery_model", TINY),
    ("recovery_model_desc", DESC),
    ("page_verify_option", TINY),
    ("page_verify_option_desc", DESC),
    ("is_auto_create_stats_on", BIT),
    ("is_auto_create_stats_incremental_on", BIT),
    ("is_auto_update_stats_on", BIT),
    ("is_auto_update_stats_async_on", BIT),
    ("is_ansi_null_default_on", BIT),
    ("is_ansi_nulls_on", BIT),
    ("is_ansi_padding_on", BIT),
    ("is_ansi_warnings_on", BIT),
    ("is_arithabort_on", BIT),
    ("is_concat_null_yields_null_on", BIT),
    ("is_numeric_roundabort_on", BIT),
    ("is_quoted_identifier_on", BIT),
    ("is_recursive_triggers_on", BIT),
    ("is_cursor_close_on_commit_on", BIT),
    ("is_local_cursor_default", BIT),
    ("is_fulltext_enabled", BIT),
    ("is_trustworthy_on", BIT),
    ("is_db_chaining_on", BIT),
    ("is_parameterization_forced", BIT),
    ("is_master_key_encrypted_by_server", BIT),
    ("is_query_store_on", BIT),
    ("is_published", BIT),
    ("is_subscribed", BIT),
    ("is_merge_published", BIT),
    ("is_distributor", BIT),
    ("is_sync_with_backup", BIT),
    ("service_broker_guid", GUID),
    ("is_broker_enabled", BIT),
    ("log_reuse_wait", TINY),
    ("log_reuse_wait_desc", DESC),
    ("is_date_correlation_on", BIT),
    ("is_cdc_enabled", BIT),
    ("is_encrypted", BIT),
    ("is_honor_broker_priority_on", BIT),
    ("replica_id", GUID),
    ("group_database_id", GUID),
    ("resource_pool_id", INT),
    ("default_language_lcid", SMALL),
    ("default_language_name", NAME),
    ("default_fulltext_language_lcid", INT),
    ("default_fulltext_language_name", NAME),
    ("is_nested_triggers_on", BIT),
    ("is_transform_noise_words_on", BIT),
    ("two_digit_year_cutoff", SMALL),
    ("containment", TINY),
    ("containment_desc", DESC),
    ("target_recovery_time_in_seconds", INT),
    ("delayed_durability", INT),
    ("delayed_durability_desc", DESC),
    ("is_memory_optimized_elevate_to_snapshot_on", BIT),
    ("is_federation_member", BIT),
    ("is_remote_data_archive_enabled", BIT),
    ("is_mixed_page_allocation_on", BIT),
    ("is_temporal_history_retention_enabled", BIT),
    ("catalog_collation_type", INT),
    ("catalog_collation_type_desc", DESC),
    ("physical_database_name", NAME),
    ("is_result_set_caching_on", BIT),
    ("is_accelerated_database_recovery_on", BIT),
    ("is_tempdb_spill_to_remote_store", BIT),
    ("is_stale_page_detection_on", BIT),
    ("is_memory_optimized_enabled", BIT),
    ("is_data_retention_enabled", BIT),
    ("is_ledger_on", BIT),
    ("is_change_feed_enabled", BIT),
];

const LSN: SqlType = SqlType::Numeric { precision: 25, scale: 0 };

const FILE: &[Column] = &[
    ("database_id", INT),
    ("file_id", INT),
    ("file_guid", GUID),
    ("type", TINY),
    ("type_desc", DESC),
    ("data_space_id", INT),
    ("name", NAME),
    ("physical_name", PATH),
    ("state", TINY),
    ("state_desc", DESC),
    ("size", INT),
    ("max_size", INT),
    ("growth", INT),
    ("is_media_read_only", BIT),
    ("is_read_only", BIT),
    ("is_sparse", BIT),
    ("is_percent_growth", BIT),
    ("is_name_reserved", BIT),
    ("is_persistent_log_buffer", BIT),
    ("create_lsn", LSN),
    ("drop_lsn", LSN),
    ("read_only_lsn", LSN),
    ("read_write_lsn", LSN),
    ("differential_base_lsn", LSN),
    ("differential_base_guid", GUID),
    ("differential_base_time", DATE),
    ("redo_start_lsn", LSN),
    ("redo_start_fork_guid", GUID),
    ("redo_target_lsn", LSN),
    ("redo_target_fork_guid", GUID),
    ("backup_lsn", LSN),
    ("credential_id", INT),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "databases", columns: DATABASE, rows: databases },
    SystemView {
        schema: "sys",
        name: "sysdatabases",
        columns: &[
            ("name", NAME),
            ("dbid", SMALL),
            ("sid", SID),
            ("mode", SMALL),
            ("status", INT),
            ("status2", INT),
            ("crdate", DATE),
            ("reserved", DATE),
            ("category", INT),
            ("cmptlevel", TINY),
            ("filename", PATH),
            ("version", SMALL),
        ],
        rows: old_databases,
    },
    SystemView { schema: "sys", name: "master_files", columns: FILE, rows: master_files },
    SystemView { schema: "sys", name: "database_files", columns: FILE.split_at(1).1, rows: database_files },
    SystemView {
        schema: "sys",
        name: "filegroups",
        columns: &[
            ("name", NAME),
            ("data_space_id", INT),
            ("type", super::KIND),
            ("type_desc", DESC),
            ("is_default", BIT),
            ("is_system", BIT),
            ("filegroup_guid", GUID),
            ("log_filegroup_id", INT),
            ("is_read_only", BIT),
            ("is_autogrow_all_files", BIT),
        ],
        rows: filegroups,
    },
    SystemView {
        schema: "sys",
        name: "data_spaces",
        columns: &[
            ("name", NAME),
            ("data_space_id", INT),
            ("type", super::KIND),
            ("type_desc", DESC),
            ("is_default", BIT),
            ("is_system", BIT),
        ],
        rows: data_spaces,
    },
    SystemView {
        schema: "sys",
        name: "configurations",
        columns: &[
            ("configuration_id", INT),
            ("name", SqlType::NVarChar(Length::Limited(35))),
            ("value", VARIANT),
            ("minimum", VARIANT),
            ("maximum", VARIANT),
            ("value_in_use", VARIANT),
            ("description", SqlType::NVarChar(Length::Limited(255))),
            ("is_dynamic", BIT),
            ("is_advanced", BIT),
        ],
        rows: configurations,
    },
    SystemView {
        schema: "sys",
        name: "database_recovery_status",
        columns: &[
            ("database_id", INT),
            ("database_guid", GUID),
            ("family_guid", GUID),
            ("last_log_backup_lsn", LSN),
            ("recovery_fork_guid", GUID),
            ("first_recovery_fork_guid", GUID),
            ("fork_point_lsn", LSN),
        ],
        rows: |cx| {
            let row = |d: &Arc<DatabaseEntry>| {
                let family = || Value::Guid(d.store.control().family);
                let backed_up = d.log_chain().map_or(NULL, |chain| lsn(chain.backed_up));
                vec![int(d.id.0), family(), family(), backed_up, family(), family(), NULL]
            };
            cx.engine.databases().iter().map(row).collect()
        },
    },
];

fn databases(cx: &ViewContext<'_>) -> Rows {
    let hadr = super::hadr::state(cx);
    let ids = |name: &str| {
        let (group, database) = hadr.group_of(name)?;
        Some([group.local()?.id, database.id])
    };
    let mirrors =
        |name: &str| hadr.mirroring_of(name).is_some_and(|m| m.role == crate::hadr::Role::Secondary);
    let row = |d: &Arc<DatabaseEntry>| database(cx, d, ids(&d.name()), mirrors(&d.name()));
    let mut rows: Rows = cx.info.shown_databases().iter().map(row).collect();
    if cx.info.context().is_none() {
        rows.extend(cx.engine.unopened().iter().map(unopened));
    }
    rows
}

/// A database that could not be opened: what master knows of it.
fn unopened(d: &Unopened) -> Vec<Value> {
    let known = |name: &str| match name {
        "name" | "physical_database_name" => text(d.name.as_str()),
        "database_id" => int(d.id.0),
        "source_database_id" => d.snapshot().map_or(NULL, |snapshot| int(snapshot.source)),
        "state" => int(3),
        "state_desc" => text("RECOVERY_PENDING"),
        "user_access" => int(0),
        "user_access_desc" => text("MULTI_USER"),
        _ => NULL,
    };
    DATABASE.iter().map(|column| known(column.0)).collect()
}

fn database(
    cx: &ViewContext<'_>,
    d: &DatabaseEntry,
    member: Option<[crate::hadr::Guid; 2]>,
    mirrors: bool,
) -> Vec<Value> {
    let picture = d.picture();
    let s: &DatabaseSettings = picture.settings();
    let flag = |name: &str| bit(s.flags.get(name).copied().unwrap_or(false));
    let unless = |name: &str| bit(s.flags.get(name).copied().unwrap_or(true));
    let no = || bit(false);
    let access = match s.user_access.as_str() {
        "SINGLE_USER" => 1,
        "RESTRICTED_USER" => 2,
        _ => 0,
    };
    let recovery = match s.recovery.as_str() {
        "FULL" => 1,
        "BULK_LOGGED" => 2,
        _ => 3,
    };
    let (wait, wait_name) = super::log_reuse_wait(cx, d);
    // A mirror takes nothing but log, as a copy does that is being restored.
    let state = match (d.is_restoring() || mirrors, s.offline) {
        (true, _) => (1, "RESTORING"),
        (false, true) => (6, "OFFLINE"),
        (false, false) => (0, "ONLINE"),
    };
    let snapshot = if s.allow_snapshot { (1, "ON") } else { (0, "OFF") };
    let owner = if s.owner.is_empty() { vec![1] } else { s.owner.clone() };
    let (id, name) = cx.info.shown(d);
    let source = d.snapshot().map_or(NULL, |snapshot| int(snapshot.source));
    let mut row = vec![text(&*name), int(id.0), source, Value::bytes(owner)];
    row.extend([date(s.created), int(s.compatibility), text(s.collation.as_str()), int(access)]);
    row.extend([
        text(s.user_access.as_str()),
        bit(s.read_only || d.is_standby()),
        flag("AUTO_CLOSE"),
        flag("AUTO_SHRINK"),
    ]);
    row.extend([
        int(state.0),
        text(state.1),
        bit(d.is_standby()),
        no(),
        no(),
        int(snapshot.0),
        text(snapshot.1),
    ]);
    row.extend([
        bit(s.read_committed_snapshot),
        int(recovery),
        text(s.recovery.as_str()),
        int(s.page_verify as i32),
        text(s.page_verify.name()),
    ]);
    row.extend([unless("AUTO_CREATE_STATISTICS"), no(), unless("AUTO_UPDATE_STATISTICS")]);
    row.push(flag("AUTO_UPDATE_STATISTICS_ASYNC"));
    for name in ["ANSI_NULL_DEFAULT", "ANSI_NULLS", "ANSI_PADDING", "ANSI_WARNINGS", "ARITHABORT"] {
        row.push(flag(name));
    }
    row.extend([flag("CONCAT_NULL_YIELDS_NULL"), flag("NUMERIC_ROUNDABORT"), flag("QUOTED_IDENTIFIER")]);
    row.extend([flag("RECURSIVE_TRIGGERS"), flag("CURSOR_CLOSE_ON_COMMIT")]);
    row.extend([flag("CURSOR_DEFAULT"), no()]);
    let opens = picture.master_key().is_some_and(|key| cx.engine.master_key_bytes(key).is_some());
    let queries = s.query_store.as_ref().is_some_and(|q| q.wanted != crate::query_store::Wanted::Off);
    row.extend([flag("TRUSTWORTHY"), flag("DB_CHAINING"), flag("PARAMETERIZATION")]);
    row.extend([
        bit(opens),
        bit(queries),
        no(),
        no(),
        no(),
        no(),
        no(),
        Value::Guid(d.broker_id()),
        bit(d.has_broker()),
    ]);
    row.extend([
        int(wait),
        text(wait_name),
        flag("DATE_CORRELATION_OPTIMIZATION"),
        bit(s.capture.is_some()),
        bit(d.store.is_encrypted()),
        flag("HONOR_BROKER_PRIORITY"),
    ]);
    row.extend(member.map_or([NULL, NULL], |ids| ids.map(Value::Guid)));
    row.extend([NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL]);
    let contained = s.is_contained();
    row.extend([int(i32::from(contained)), text(if contained { "PARTIAL" } else { "NONE" })]);
    let delayed = DelayedDurability::ALL.iter().position(|(d, _)| *d == s.delayed_durability).unwrap_or(0);
    row.extend([
        int(s.target_recovery_seconds),
        int(delayed as i32),
        text(DelayedDurability::ALL[delayed].1),
    ]);
    row.extend([no(), no(), no(), no()]);
    row.push(bit(picture.limits_history()));
    row.extend([int(0), text("DATABASE_DEFAULT"), text(&*d.name())]);
    row.extend(std::iter::repeat_n(bit(false), DATABASE.len() - row.len()));
    row
}

fn old_databases(cx: &ViewContext<'_>) -> Rows {
    cx.info
        .shown_databases()
        .iter()
        .map(|d| {
            let picture = d.picture();
            let s = picture.settings();
            let (id, name) = cx.info.shown(d);
            vec![
                text(&*name),
                int(id.0),
                Value::bytes(vec![1]),
                int(0),
                int(if s.offline { 512 } else { 65_536 }),
                int(0),
                date(s.created),
                date(0),
                int(0),
                int(s.compatibility),
                text(
                    d.snapshot().map_or_else(
                        || files_of(d.store.dir()).data.display().to_string(),
                        |s| s.path.clone(),
                    ),
                ),
                int(957),
            ]
        })
        .collect()
}

/// The file of a snapshot: where it was said to be, and as large as its source was.
fn snapshot_file(d: &DatabaseEntry, snapshot: &StoredSnapshot) -> Vec<Value> {
    let mut row = vec![int(d.id.0), int(1), NULL, int(0), text("ROWS"), int(1)];
    row.extend([text(snapshot.file.as_str()), text(snapshot.path.as_str()), int(0), text("ONLINE")]);
    row.extend([int(d.store.stats().data_pages as i64), int(-1), int(0)]);
    row.extend([bit(false), bit(false), bit(true), bit(false), bit(false), bit(false)]);
    row.resize(FILE.len(), NULL);
    row
}

fn files(d: &Arc<DatabaseEntry>) -> Rows {
    if let Some(snapshot) = d.snapshot() {
        return vec![snapshot_file(d, snapshot)];
    }
    let Files { data, log } = files_of(d.store.dir());
    let stats = d.store.stats();
    let log_pages = stats.log_file_bytes / keel_store::base::PAGE_SIZE as u64;
    [(1, 0, "ROWS", "", data, stats.data_pages), (2, 1, "LOG", "_log", log, log_pages)]
        .into_iter()
        .map(|(id, kind, kind_name, suffix, file, pages)| {
            let mut row = vec![int(d.id.0), int(id), NULL, int(kind), text(kind_name), int(2 - id)];
            row.extend([text(format!("{}{suffix}", d.file_name())), text(file.display().to_string())]);
            row.extend([int(0), text("ONLINE"), int(pages as i64), int(-1), int(8192)]);
            row.extend(std::iter::repeat_n(bit(false), 6));
            row.resize(FILE.len(), NULL);
            if let Some(base) = d.differential_base().filter(|_| kind == 0) {
                let at = FILE.iter().position(|column| column.0 == "differential_base_lsn");
                let shown = [lsn(base.checkpoint), Value::Guid(base.set), date(base.at)];
                row.splice(at.map_or(0..0, |at| at..at + shown.len()), shown);
            }
            row
        })
        .collect()
}

fn master_files(cx: &ViewContext<'_>) -> Rows {
    cx.engine.databases().iter().flat_map(files).collect()
}

/// `sysaltfiles`: the same in the old form.
pub(super) fn old_files(cx: &ViewContext<'_>) -> Rows {
    let row = |row: Vec<Value>| {
        let named = |name: &str| FILE.iter().position(|c| c.0 == name).map_or(NULL, |at| row[at].clone());
        let mut old = ["file_id", "data_space_id", "size", "max_size", "growth"].map(named).to_vec();
        old.extend([int(0), int(0)]);
        old.extend(["database_id", "name", "physical_name"].map(named));
        old
    };
    master_files(cx).into_iter().map(row).collect()
}

fn database_files(cx: &ViewContext<'_>) -> Rows {
    files(&cx.entry).into_iter().map(|row| row[1..].to_vec()).collect()
}

fn data_spaces(cx: &ViewContext<'_>) -> Rows {
    let schemes = super::partitions::schemes(cx);
    filegroups(cx).into_iter().chain(schemes).map(|r| r[..6].to_vec()).collect()
}

fn filegroups(_: &ViewContext<'_>) -> Rows {
    let mut row = vec![text("PRIMARY"), int(1), text("FG"), text("ROWS_FILEGROUP"), bit(true), bit(false)];
    row.extend([NULL, NULL, bit(false), bit(false)]);
    vec![row]
}

fn configurations(cx: &ViewContext<'_>) -> Rows {
    let variant = |n: i64| Value::Variant(Arc::new((INT, Value::Int(n))));
    config::OPTIONS
        .iter()
        .map(|o| {
            let v = cx.engine.configuration(o.id);
            vec![
                int(o.id),
                text(o.name),
                variant(v.configured),
                variant(o.minimum),
                variant(o.maximum),
                variant(v.running),
                text(o.name),
                bit(o.dynamic),
                bit(o.advanced),
            ]
        })
        .collect()
}
