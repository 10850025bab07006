//! # Change data capture: what changed, row by row, in the order of commits
//!
//! ```text
//!   statement ─► staged rows ─┐
//!   commit    ─► number ──────┴─ tell ─► cdc.lsn_time_mapping, cdc.<instance>_CT ─► cdc.fn_cdc_get_all_changes_<instance>
//!                                  ▲                                             └► clean-up
//!                       bell, every second, sp_cdc_scan
//! ```
//!
//! Statements stage what they change, and commits number themselves ([`keel_query::capture`]). One *teller* for each database, who stands
//! where the product's capture job does, moves whole transactions in the order of their numbers into tables that are like any other, and the
//! transaction's row of `cdc.lsn_time_mapping` with them, in one transaction of its own. So a change is told at once with its LSN,
//! which is the number in the product's form: who has seen an LSN as the greatest never finds a row at or below it later. The
//! teller runs where the database is written; secondaries hear of it by the log, and so does the next primary, where numbers go on.
//!
//! | file | owns |
//! | --- | --- |
//! | `tell` | telling, and what `sys.dm_cdc_log_scan_sessions` shows of it |
//! | `enable` | databases and tables: enabling and disabling |
//! | `instance` | a capture instance: what was asked for, its change table and functions as texts |
//! | `jobs` | the two jobs and their settings |
//! | `cleanup` | changes whose retention is over |
//! | `objects.sql` | what is made in a database |
//! | `procedures.sql`, `functions.sql` | procedures and functions of the system that are T-SQL |
//!
//! Invariants: numbers only grow, on whichever instance they are given; a number is told in one transaction with all that belongs to
//! it and never again; a table that is not captured does nothing here but look into an empty list.
//!
//! Deliberately absent: jobs of the agent. The teller and the clean-up are threads of the server; what `sp_cdc_change_job` sets
//! belongs to the database and goes with it to every replica.

mod cleanup;
mod enable;
mod instance;
mod jobs;
mod tell;

pub use cleanup::clean;
pub(crate) use enable::{
    sp_keel_cdc_attach, sp_keel_cdc_check, sp_keel_cdc_disable_db, sp_keel_cdc_disable_table,
    sp_keel_cdc_enable_db, sp_keel_cdc_enable_table,
};
pub(crate) use instance::{CaptureNames, literal};
pub use jobs::{CaptureJob, CaptureSettings, CleanupJob};
pub(crate) use jobs::{job_id, sp_keel_cdc_job, sp_keel_cdc_run};
pub use tell::tell_all;
pub(crate) use tell::{Refused, ScanSession, sp_cdc_scan};

use crate::engine::DatabaseEntry;
use crate::hadr::lsn;
use keel_base::TreeId;
use keel_node::{Transaction, TxnError};
use keel_query::capture::{self, Ordered};
use keel_query::catalog::TableDef;
use keel_types::error::Result;
use keel_types::{SqlError, Value};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Texts of procedures of the system.
pub(crate) const PROCEDURES: &str = include_str!("procedures.sql");
/// Texts of functions of the system.
pub(crate) const FUNCTIONS: &str = include_str!("functions.sql");
/// Name of the schema, and of the user that owns it.
pub const SCHEMA: &str = "cdc";

/// What a database's teller remembers, in memory.
#[derive(Default)]
pub(crate) struct State {
    /// The greatest number given here; `None` before the first in this role. Written under `change_order`.
    greatest: Mutex<Option<u64>>,
    /// Held while changes are told, to the end of the transaction.
    telling: Mutex<()>,
    /// `sp_cdc_stop_job`: nothing is told until the job is started, or the instance, or the role changes.
    stopped: AtomicBool,
    log: Mutex<tell::Log>,
}

impl State {
    /// Numbers that another instance has given meanwhile are in the database, and a job that was stopped by hand was that of then.
    pub(crate) fn role_changed(&self) {
        *self.greatest.lock() = None;
        self.set_stopped(false);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(crate) fn set_stopped(&self, stopped: bool) {
        self.stopped.store(stopped, Ordering::Release);
    }

    /// Telling so far, oldest first.
    pub(crate) fn sessions(&self) -> Vec<ScanSession> {
        self.log.lock().sessions.iter().cloned().collect()
    }

    /// What went wrong, oldest first.
    pub(crate) fn refusals(&self) -> Vec<Refused> {
        self.log.lock().errors.iter().cloned().collect()
    }
}

/// Wakes who tells.
#[derive(Default)]
pub struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    /// There is something to tell.
    pub fn ring(&self) {
        *self.rung.lock() = true;
        self.heard.notify_all();
    }

    /// Waits until somebody rings, so long at most; says whether somebody did.
    pub fn wait(&self, at_most: Duration) -> bool {
        let mut rung = self.rung.lock();
        if !*rung {
            self.heard.wait_for(&mut rung, at_most);
        }
        std::mem::take(&mut *rung)
    }
}

/// The tables of a database that telling writes to.
struct ChangeTables {
    /// The tree of order.
    order: TreeId,
    /// `cdc.lsn_time_mapping`
    mapping: Arc<TableDef>,
    /// Change tables, and where rows are staged for them.
    instances: Vec<(Arc<TableDef>, TreeId)>,
}

/// A transaction that has made its first captured change in a database.
#[derive(Clone, Copy)]
pub(crate) struct Begun {
    order: TreeId,
    /// Where the log ended then.
    at: u64,
    /// When it was, UTC in ticks of 100 ns.
    time: i64,
}

impl Begun {
    /// Now; `None` where nothing is captured.
    pub(crate) fn now(entry: &DatabaseEntry, now_utc: i64) -> Option<Begun> {
        let order = entry.picture().settings().capture?.order;
        Some(Begun { order, at: position(entry), time: now_utc })
    }

    /// Gives a transaction that is about to commit its number. `of` are its own number and that of its changes. Under
    /// [`DatabaseEntry::change_order`], until the log has the commit.
    pub(crate) fn put_in_order(
        self,
        entry: &DatabaseEntry,
        txn: &mut Transaction,
        of: (u64, u64),
        now_utc: i64,
    ) -> std::result::Result<(), TxnError> {
        let number = next_number(entry, txn, self.order)?;
        let (transaction, changes) = of;
        let ordered =
            Ordered { number, transaction, changes, begun_at: self.at, begun: self.time, ended: now_utc };
        capture::put_in_order(txn, self.order, &ordered)
    }
}

/// A number that is greater than all that were given, and less than all that will be. Under [`DatabaseEntry::change_order`].
fn next_number(
    entry: &DatabaseEntry,
    txn: &mut Transaction,
    order: TreeId,
) -> std::result::Result<u64, TxnError> {
    let mut greatest = entry.capture.greatest.lock();
    let last = match *greatest {
        Some(last) => last,
        None => capture::newest(txn, order)?,
    };
    // Where the log ends now; what committed before has made it longer. A log that was put back, by RESTORE, may end before numbers
    // that were given.
    let number = position(entry).max(last + 1);
    *greatest = Some(number);
    Ok(number)
}

/// The number from which on an instance captures, as an LSN's literal: nothing that is told has it, so who asks for what began between
/// two LSNs that were told finds it, whichever of the ends he counts in.
pub(crate) fn start_of_instance(
    entry: &DatabaseEntry,
    txn: &mut Transaction,
) -> std::result::Result<String, TxnError> {
    let Some(capture) = entry.picture().settings().capture else { return Ok(lsn_literal(entry)) };
    let _order = entry.change_order.lock();
    next_number(entry, txn, capture.order).map(number_literal)
}

/// Where a database's log ends.
pub(crate) fn position(entry: &DatabaseEntry) -> u64 {
    entry.store.positions().appended.0
}

/// A number as an LSN.
fn lsn(number: u64) -> Value {
    Value::Bytes(lsn::to_binary(number).as_slice().into())
}

/// The LSN of where a database's log ends, as a literal.
pub(crate) fn lsn_literal(entry: &DatabaseEntry) -> String {
    number_literal(position(entry))
}

/// A number as an LSN's literal.
fn number_literal(number: u64) -> String {
    let bytes = lsn::to_binary(number);
    bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}"))
}

/// Messages that procedures here raise by number: number, severity, text.
pub(crate) const MESSAGES: &[(i32, u8, &str)] = &[
    (
        22850,
        16,
        "The threshold value specified for the Change Data Capture cleanup process must be greater than 0. When creating or modifying the cleanup job, specify a positive threshold value. If this error is encountered when executing the sys.sp_cdc_cleanup_change_table stored procedure, reset the threshold value associated with the job to a non-negative value by using the sp_cdc_change_job stored procedure.",
    ),
    (22920, 16, "The named capture instance %s does not exist for database %s."),
    (
        22931,
        16,
        "Source table '%s.%s' does not exist in the current database. Ensure that the correct database context is set. Specify a valid schema and table name for the database.",
    ),
    (
        22957,
        16,
        "LSN %s, specified as the new low end point for the change table associated with capture instance '%s', is not within the Change Data Capture timeline [%s, %s].",
    ),
    (
        22964,
        16,
        "LSN %s, specified as the new low end point for change table cleanup must represent the start_lsn value of a current entry in the cdc.lsn_time_mapping table. Choose an LSN value that satisfies this requirement.",
    ),
    (
        22972,
        16,
        "When calling stored procedure [sys].sp_cdc_help_change_data capture, if either @source_schema or @source_name is non-null and non-empty, the other parameter must also be non-null and non-empty.",
    ),
    (22981, 16, "Object does not exist or access is denied."),
];

/// `sys.fn_keel_cdc_refuse(number, net, instance)`: why the functions of an instance have no answer.
pub(crate) fn refuse(info: &crate::session::info::Info, args: &[Value]) -> Result<Value> {
    let net = matches!(args[1], Value::Bit(true) | Value::Int(1));
    let kind = if net { "net" } else { "all" };
    if matches!(args[0], Value::Int(229)) {
        let name = format!("fn_cdc_get_{kind}_changes_{}", args[2].as_str().unwrap_or_default());
        let database = info.current_database().name();
        return Err(crate::errors::permission_denied("SELECT", name, database, SCHEMA.to_owned()));
    }
    let text = format!(
        "An insufficient number of arguments were supplied for the procedure or function cdc.fn_cdc_get_{kind}_changes_ ... ."
    );
    Err(SqlError::new(313, 16, 3, text))
}

/// A number as views show an LSN: `0000002A:00000100:0001`.
pub(crate) fn lsn_text(number: u64) -> String {
    let bytes = lsn::to_binary(number);
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    format!("{}:{}:{}", hex(&bytes[..4]), hex(&bytes[4..8]), hex(&bytes[8..]))
}

/// `__$seqval` of a change: the transaction's LSN for its last, one less for each before it.
fn sequence(of: &Ordered, change: u64) -> Value {
    let start = lsn::to_binary(of.number).iter().fold(0u128, |n, byte| n << 8 | u128::from(*byte));
    let at = start.saturating_sub(u128::from(of.changes.saturating_sub(change)));
    Value::Bytes(at.to_be_bytes()[6..].into())
}

fn error(number: i32, text: String) -> Box<SqlError> {
    SqlError::new(number, 16, 1, text)
}
