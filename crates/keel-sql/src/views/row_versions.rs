//! Row versions, as administrators of the product look for what keeps them: how much there is of them in each database, and the
//! transactions that need them. Versions are in memory here, in the delta, and not in `tempdb`; nothing lists them one by one.

use super::locks::{in_transaction, transaction_id};
use super::{BIG, INT, NULL, SMALL, SystemView, TINY, ViewContext, int};
use keel_query::IsolationLevel;
use keel_store::base::PAGE_SIZE;
use keel_types::datetime::TICKS_PER_SECOND;
use keel_types::{Length, SqlType, Value};
use std::sync::atomic::Ordering;

type Rows = Vec<Vec<Value>>;

const IMAGE: SqlType = SqlType::VarBinary(Length::Limited(8000));

fn nothing(_: &ViewContext<'_>) -> Rows {
    Vec::new()
}

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    super::view("dm_tran_version_store_space_usage", &[
        ("database_id", INT), ("reserved_page_count", BIG), ("reserved_space_kb", BIG),
    ], space),
    super::view("dm_tran_active_snapshot_database_transactions", &[
        ("transaction_id", BIG), ("transaction_sequence_num", BIG), ("commit_sequence_num", BIG), ("session_id", INT),
        ("is_snapshot", SqlType::Bit), ("first_snapshot_sequence_num", BIG), ("max_version_chain_traversed", INT),
        ("average_version_chain_traversed", SqlType::Float), ("elapsed_time_seconds", BIG),
    ], active),
    super::view("dm_tran_transactions_snapshot", &[
        ("transaction_sequence_num", BIG), ("snapshot_id", INT), ("snapshot_sequence_num", BIG),
    ], nothing),
    super::view("dm_tran_current_snapshot", &[("transaction_sequence_num", BIG)], nothing),
    super::view("dm_tran_top_version_generators", &[
        ("database_id", INT), ("rowset_id", BIG), ("aggregated_record_length_in_bytes", INT),
    ], nothing),
    super::view("dm_tran_version_store", &[
        ("transaction_sequence_num", BIG), ("version_sequence_num", BIG), ("database_id", SMALL), ("rowset_id", BIG), ("status", TINY),
        ("min_length_in_bytes", SMALL), ("record_length_first_part_in_bytes", SMALL), ("record_image_first_part", IMAGE),
        ("record_length_second_part_in_bytes", SMALL), ("record_image_second_part", IMAGE),
    ], nothing),
];

fn space(cx: &ViewContext<'_>) -> Rows {
    let row = |database: &std::sync::Arc<crate::engine::DatabaseEntry>| {
        let bytes = database.store.stats().delta_bytes;
        vec![
            int(database.id.0),
            int(bytes.div_ceil(PAGE_SIZE as u64) as i64),
            int(bytes.div_ceil(1024) as i64),
        ]
    };
    cx.engine.databases().iter().map(row).collect()
}

/// Every open transaction reads versions or makes them. Lengths of chains are not counted.
fn active(cx: &ViewContext<'_>) -> Rows {
    let now = cx.engine.now_local();
    let row = |s: &std::sync::Arc<crate::engine::SessionShared>| {
        let id = transaction_id(s) as i64;
        let snapshot = s.options.lock().isolation == IsolationLevel::Snapshot;
        let elapsed = (now - s.transaction_began.load(Ordering::Relaxed)).max(0) / TICKS_PER_SECOND;
        let mut row = vec![int(id), int(id), NULL, int(s.id), super::bit(snapshot), int(0), int(0)];
        row.extend([Value::Float(0.0), int(elapsed)]);
        row
    };
    in_transaction(cx).iter().map(row).collect()
}
