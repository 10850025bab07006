//! Files and space: `dm_io_virtual_file_stats` and the views about log and data space.

use super::{BIG, Column, INT, NULL, SMALL, SystemView, TINY, ViewContext, int, text};
use crate::engine::DatabaseEntry;
use keel_store::base::PAGE_SIZE;
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const FILE_STATS: &[Column] = &[
    ("database_id", SMALL),
    ("file_id", SMALL),
    ("sample_ms", BIG),
    ("num_of_reads", BIG),
    ("num_of_bytes_read", BIG),
    ("io_stall_read_ms", BIG),
    ("io_stall_queued_read_ms", BIG),
    ("num_of_writes", BIG),
    ("num_of_bytes_written", BIG),
    ("io_stall_write_ms", BIG),
    ("io_stall_queued_write_ms", BIG),
    ("io_stall", BIG),
    ("size_on_disk_bytes", BIG),
    ("file_handle", SqlType::VarBinary(Length::Limited(8))),
];

const FILE_SPACE: &[Column] = &[
    ("database_id", SMALL),
    ("file_id", SMALL),
    ("filegroup_id", SMALL),
    ("total_page_count", BIG),
    ("allocated_extent_page_count", BIG),
    ("unallocated_extent_page_count", BIG),
    ("version_store_reserved_page_count", BIG),
    ("user_object_reserved_page_count", BIG),
    ("internal_object_reserved_page_count", BIG),
    ("mixed_extent_page_count", BIG),
];

const LOG_SPACE: &[Column] = &[
    ("database_id", SMALL),
    ("total_log_size_in_bytes", BIG),
    ("used_log_space_in_bytes", BIG),
    ("used_log_space_in_percent", SqlType::Real),
    ("log_space_in_bytes_since_last_backup", BIG),
];

const LOG_STATS: &[Column] = &[
    ("database_id", INT),
    ("recovery_model", SqlType::NVarChar(Length::Limited(60))),
    ("log_min_lsn", SqlType::NVarChar(Length::Limited(24))),
    ("log_end_lsn", SqlType::NVarChar(Length::Limited(24))),
    ("current_vlf_sequence_number", BIG),
    ("current_vlf_size_mb", SqlType::Float),
    ("total_vlf_count", BIG),
    ("total_log_size_mb", SqlType::Float),
    ("active_vlf_count", BIG),
    ("active_log_size_mb", SqlType::Float),
    ("log_truncation_holdup_reason", SqlType::NVarChar(Length::Limited(60))),
    ("log_checkpoint_lsn", SqlType::NVarChar(Length::Limited(24))),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_io_virtual_file_stats", columns: FILE_STATS, rows: file_stats },
    SystemView { schema: "sys", name: "dm_db_file_space_usage", columns: FILE_SPACE, rows: file_space },
    SystemView { schema: "sys", name: "dm_db_log_space_usage", columns: LOG_SPACE, rows: log_space },
    SystemView { schema: "sys", name: "dm_db_log_stats", columns: LOG_STATS, rows: log_stats },
    SystemView {
        schema: "sys",
        name: "dm_os_volume_stats",
        columns: &[
            ("database_id", INT),
            ("file_id", INT),
            ("volume_mount_point", SqlType::NVarChar(Length::Limited(512))),
            ("logical_volume_name", SqlType::NVarChar(Length::Limited(512))),
            ("file_system_type", SqlType::NVarChar(Length::Limited(512))),
            ("is_read_only", TINY),
            ("is_compressed", TINY),
        ],
        rows: |cx| {
            let volume = |d: &DatabaseEntry, file: i64| {
                vec![int(d.id.0), int(file), text("/"), text(""), text(""), int(0), int(0)]
            };
            selected(cx).iter().map(|(d, file)| volume(d, *file)).collect()
        },
    },
    SystemView {
        schema: "sys",
        name: "dm_db_persisted_sku_features",
        columns: &[("feature_name", super::NAME), ("feature_id", INT)],
        rows: |_| Vec::new(),
    },
];

/// The files that the arguments (database and file, NULL for all) stand for.
fn selected(cx: &ViewContext<'_>) -> Vec<(std::sync::Arc<DatabaseEntry>, i64)> {
    let wanted = |at: usize| match cx.args.get(at) {
        Some(Value::Int(n)) => Some(*n),
        _ => None,
    };
    let (database, file) = (wanted(0), wanted(1));
    let mut files = Vec::new();
    for d in cx.engine.databases() {
        if database.is_some_and(|id| id != i64::from(d.id.0)) {
            continue;
        }
        files.extend([1, 2].into_iter().filter(|f| file.is_none_or(|w| w == *f)).map(|f| (d.clone(), f)));
    }
    files
}

fn file_stats(cx: &ViewContext<'_>) -> Rows {
    let up_ms = cx.engine.instance().env().clock.now().as_millis() as i64;
    let ms = |nanos: u64| (nanos / 1_000_000) as i64;
    let row = |(d, file): (std::sync::Arc<DatabaseEntry>, i64)| {
        let stats = d.store.stats();
        let (reads, writes, size) = if file == 1 {
            let io = d.store.store().base().io_stats();
            let reads = (io.reads, io.read_bytes, ms(io.read_nanos));
            (reads, (io.writes, io.write_bytes, ms(io.write_nanos)), stats.data_pages * PAGE_SIZE as u64)
        } else {
            let log = stats.log;
            ((0, 0, 0), (log.flushes, log.bytes_flushed, ms(log.flush_nanos)), stats.log_file_bytes)
        };
        let mut row = vec![int(d.id.0), int(file), int(up_ms)];
        row.extend([int(reads.0 as i64), int(reads.1 as i64), int(reads.2), int(0)]);
        row.extend([int(writes.0 as i64), int(writes.1 as i64), int(writes.2), int(0)]);
        row.extend([int(reads.2 + writes.2), int(size as i64), NULL]);
        row
    };
    selected(cx).into_iter().map(row).collect()
}

fn file_space(cx: &ViewContext<'_>) -> Rows {
    let stats = cx.entry.store.stats();
    let used = stats.data_pages.saturating_sub(stats.data_pages_free);
    let mut row = vec![int(cx.entry.id.0), int(1), int(1), int(stats.data_pages as i64)];
    row.extend([int(used as i64), int(stats.data_pages_free as i64)]);
    row.extend([int((stats.delta_bytes / PAGE_SIZE as u64) as i64), int(used as i64), int(0), int(0)]);
    vec![row]
}

fn log_space(cx: &ViewContext<'_>) -> Rows {
    let stats = cx.entry.store.stats();
    let used = stats.log_used_bytes as i64;
    let percent =
        if stats.log_file_bytes == 0 { 0.0 } else { 100.0 * used as f64 / stats.log_file_bytes as f64 };
    let mut row = vec![int(cx.entry.id.0), int(stats.log_file_bytes as i64), int(used)];
    row.extend([Value::Float(percent), int(used)]);
    vec![row]
}

fn log_stats(cx: &ViewContext<'_>) -> Rows {
    let wanted = match cx.args.first() {
        Some(Value::Int(n)) => Some(*n),
        _ => None,
    };
    let mb = |bytes: u64| Value::Float(bytes as f64 / 1_048_576.0);
    let lsn = |lsn: keel_base::Lsn| {
        let n = lsn.0;
        text(format!("{:08x}:{:08x}:{:04x}", n >> 36, (n >> 9) & 0x7ff_ffff, n & 0x1ff))
    };
    let row = |d: &std::sync::Arc<DatabaseEntry>| {
        let (stats, positions) = (d.store.stats(), d.store.positions());
        let picture = d.picture();
        let mut row = vec![int(d.id.0), text(picture.settings().recovery.as_str())];
        row.extend([lsn(positions.truncated), lsn(positions.appended), int(0), mb(0)]);
        row.extend([int(stats.log.segments_created as i64), mb(stats.log_file_bytes), int(1)]);
        row.extend([mb(stats.log_used_bytes), text(super::log_reuse_wait(d).1), lsn(positions.checkpoint)]);
        row
    };
    let databases = cx.engine.databases();
    databases.iter().filter(|d| wanted.is_none_or(|id| id == i64::from(d.id.0))).map(row).collect()
}
