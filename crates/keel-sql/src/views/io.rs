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
    ("modified_extent_page_count", BIG),
];

const BUFFERS: &[Column] = &[
    ("database_id", INT),
    ("file_id", INT),
    ("page_id", INT),
    ("page_level", INT),
    ("allocation_unit_id", BIG),
    ("page_type", SqlType::NVarChar(Length::Limited(60))),
    ("row_count", INT),
    ("free_space_in_bytes", INT),
    ("is_modified", super::BIT),
    ("numa_node", INT),
    ("read_microsec", BIG),
    ("is_in_bpool_extension", super::BIT),
];

const LOG_SPACE: &[Column] = &[
    ("database_id", SMALL),
    ("total_log_size_in_bytes", BIG),
    ("used_log_space_in_bytes", BIG),
    ("used_log_space_in_percent", SqlType::Real),
    ("log_space_in_bytes_since_last_backup", BIG),
];

const LOG_INFO: &[Column] = &[
    ("database_id", INT),
    ("file_id", SMALL),
    ("vlf_begin_offset", BIG),
    ("vlf_size_mb", SqlType::Float),
    ("vlf_sequence_number", BIG),
    ("vlf_active", super::BIT),
    ("vlf_status", INT),
    ("vlf_parity", TINY),
    ("vlf_first_lsn", SqlType::NVarChar(Length::Limited(48))),
    ("vlf_create_lsn", SqlType::NVarChar(Length::Limited(48))),
    ("vlf_encryptor_thumbprint", SqlType::VarBinary(Length::Limited(20))),
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
    ("log_backup_time", SqlType::DateTime),
    ("log_backup_lsn", SqlType::NVarChar(Length::Limited(24))),
    ("log_since_last_log_backup_mb", SqlType::Float),
    ("log_checkpoint_lsn", SqlType::NVarChar(Length::Limited(24))),
    ("log_since_last_checkpoint_mb", SqlType::Float),
    ("log_recovery_lsn", SqlType::NVarChar(Length::Limited(24))),
    ("log_recovery_size_mb", SqlType::Float),
    ("recovery_vlf_count", BIG),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_io_virtual_file_stats", columns: FILE_STATS, rows: file_stats },
    SystemView { schema: "sys", name: "dm_db_file_space_usage", columns: FILE_SPACE, rows: file_space },
    SystemView { schema: "sys", name: "dm_os_buffer_descriptors", columns: BUFFERS, rows: buffers },
    SystemView { schema: "sys", name: "dm_db_log_space_usage", columns: LOG_SPACE, rows: log_space },
    SystemView { schema: "sys", name: "dm_db_log_stats", columns: LOG_STATS, rows: log_stats },
    SystemView { schema: "sys", name: "dm_db_log_info", columns: LOG_INFO, rows: log_info },
    SystemView {
        schema: "sys",
        name: "dm_db_persisted_sku_features",
        columns: &[("feature_name", super::NAME), ("feature_id", INT)],
        rows: |_| Vec::new(),
    },
];

/// The files that the arguments (database and file, NULL for all) stand for.
pub(super) fn selected(cx: &ViewContext<'_>) -> Vec<(std::sync::Arc<DatabaseEntry>, i64)> {
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
        // A snapshot has no log.
        let all = if d.snapshot().is_some() { 1 } else { 2 };
        files.extend((1..=all).filter(|f| file.is_none_or(|w| w == *f)).map(|f| (d.clone(), f)));
    }
    files
}

/// The pages that the cache holds. Pages in a file do not change, so none is modified; which trees share one is not told.
fn buffers(cx: &ViewContext<'_>) -> Rows {
    // Pages of snapshots are their sources'.
    let databases = cx.engine.databases().into_iter().filter(|d| d.snapshot().is_none());
    let files = databases.map(|d| (d.store.store().base().cache_id(), d.id.0));
    let files: std::collections::HashMap<u32, u32> = files.collect();
    let row = |p: keel_store::base::CachedPage| {
        let database = files.get(&p.file)?;
        let kind = if p.level == 0 { "DATA_PAGE" } else { "INDEX_PAGE" };
        let mut row =
            vec![int(*database), int(1), int(p.page), int(p.level), NULL, text(kind), int(p.rows as i64)];
        row.extend([NULL, super::bit(false), int(0), NULL, super::bit(false)]);
        Some(row)
    };
    cx.engine.instance().page_cache().pages().into_iter().filter_map(row).collect()
}

fn file_stats(cx: &ViewContext<'_>) -> Rows {
    let up_ms = cx.engine.instance().env().clock.now().as_millis() as i64;
    let ms = |nanos: u64| (nanos / 1_000_000) as i64;
    let row = |(d, file): (std::sync::Arc<DatabaseEntry>, i64)| {
        let stats = d.store.stats();
        let (reads, writes, size) = if let Some(snapshot) = d.snapshot() {
            // What is read of it is read of its source's file; its own are the pages that the source has no more.
            let held = cx.engine.snapshot_info(snapshot).map_or(0, |s| s.held_bytes);
            ((0, 0, 0), (0, 0, 0), held)
        } else if file == 1 {
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
    let in_memory = stats.delta_bytes / PAGE_SIZE as u64;
    row.extend([int(in_memory as i64), int(used as i64), int(0), int(0)]);
    // Since the last full backup: what was written, and what a checkpoint will write. Without one, everything.
    let base = cx.entry.differential_base();
    let written = base.and_then(|base| cx.entry.store.pages_since(keel_base::Lsn(base.last)).ok());
    row.push(int(written.map_or(used, |pages| (pages + in_memory).min(used)) as i64));
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

/// A position in the three parts of the product's form.
fn lsn_text(lsn: keel_base::Lsn) -> Value {
    let n = lsn.0;
    text(format!("{:08x}:{:08x}:{:04x}", n >> 36, (n >> 9) & 0x7ff_ffff, n & 0x1ff))
}

const MB: f64 = 1_048_576.0;

/// A virtual log file: a file of its own here, shown as if all lay one behind the other.
pub(crate) struct Vlf {
    /// Where it begins, in bytes.
    pub begin: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its number; 0 while it holds nothing.
    pub sequence: u64,
    /// Its first position.
    pub first_lsn: keel_base::Lsn,
}

impl Vlf {
    /// Status as the product counts: 2 in use, 0 reusable.
    pub fn status(&self) -> i64 {
        if self.sequence == 0 { 0 } else { 2 }
    }
}

/// The virtual log files of a database; none where the log is not on disk.
pub(crate) fn vlfs(d: &DatabaseEntry) -> Vec<Vlf> {
    let segments = d.store.log().map(|log| log.segments()).unwrap_or_default();
    let mut begin = 0;
    let place = |s: keel_node::SegmentInfo| {
        let vlf = Vlf { begin, bytes: s.size_bytes, sequence: s.sequence, first_lsn: s.first_lsn };
        begin += s.size_bytes;
        vlf
    };
    segments.into_iter().map(place).collect()
}

fn log_info(cx: &ViewContext<'_>) -> Rows {
    let wanted = cx.args.first().and_then(Value::as_int);
    let row = |d: &DatabaseEntry, v: &Vlf| {
        let mut row = vec![int(d.id.0), int(2), int(v.begin as i64), Value::Float(v.bytes as f64 / MB)];
        row.extend([int(v.sequence as i64), super::bit(v.sequence != 0), int(v.status()), int(0)]);
        row.extend([if v.sequence == 0 { NULL } else { lsn_text(v.first_lsn) }, NULL, NULL]);
        row
    };
    let mut databases = cx.engine.databases();
    databases.retain(|d| wanted.is_none_or(|id| id == i64::from(d.id.0)));
    databases.iter().flat_map(|d| vlfs(d).iter().map(|v| row(d, v)).collect::<Vec<_>>()).collect()
}

fn log_stats(cx: &ViewContext<'_>) -> Rows {
    let wanted = cx.args.first().and_then(Value::as_int);
    let mb = |bytes: u64| Value::Float(bytes as f64 / MB);
    let row = |d: &std::sync::Arc<DatabaseEntry>| {
        let (stats, positions) = (d.store.stats(), d.store.positions());
        let vlfs = vlfs(d);
        let current = vlfs.iter().rfind(|v| v.sequence != 0);
        let active = vlfs.iter().filter(|v| v.sequence != 0).count();
        // All but those that end before a replay would begin.
        let replayed = vlfs.iter().filter(|v| v.sequence != 0 && v.first_lsn > positions.redo_start).count();
        let replayed = (replayed + 1).min(active);
        let since = |lsn: keel_base::Lsn| mb(positions.appended.0.saturating_sub(lsn.0));
        let picture = d.picture();
        let chain = d.log_chain();
        let backed_up = chain.filter(|chain| chain.count != 0);
        let never = i64::from(keel_types::datetime::DAY_1900) * keel_types::datetime::TICKS_PER_DAY;
        let mut row = vec![int(d.id.0), text(picture.settings().recovery.as_str())];
        row.extend([lsn_text(positions.truncated), lsn_text(positions.appended)]);
        row.extend([int(current.map_or(0, |v| v.sequence as i64)), mb(current.map_or(0, |v| v.bytes))]);
        row.extend([int(vlfs.len() as i64), mb(stats.log_file_bytes), int(active as i64)]);
        row.extend([
            mb(stats.log_used_bytes),
            text(super::log_reuse_wait(cx, d).1),
            Value::DateTime(backed_up.map_or(never, |chain| chain.at)),
            lsn_text(backed_up.map_or(keel_base::Lsn::ZERO, |chain| keel_base::Lsn(chain.backed_up))),
            chain.map_or(mb(stats.log_used_bytes), |chain| since(keel_base::Lsn(chain.backed_up))),
        ]);
        row.extend([lsn_text(positions.checkpoint), since(positions.checkpoint)]);
        row.extend([lsn_text(positions.redo_start), since(positions.redo_start), int(replayed as i64)]);
        row
    };
    let databases = cx.engine.databases();
    databases.iter().filter(|d| wanted.is_none_or(|id| id == i64::from(d.id.0))).map(row).collect()
}
