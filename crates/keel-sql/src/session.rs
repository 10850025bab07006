//! One client's session.

use crate::engine::Engine;
use crate::sink::{ColumnMeta, ResultSink, RpcParam, RpcProcedure, TransactionRequest};
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Who connects, from where, with what.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Login name.
    pub login: String,
    /// Member of sysadmin.
    pub sysadmin: bool,
    /// Initial database; empty for the login's default.
    pub database: String,
    /// APP_NAME().
    pub app_name: String,
    /// HOST_NAME().
    pub host_name: String,
    /// Client library name.
    pub client_interface: String,
    /// Process id at the client.
    pub client_pid: i32,
    /// Client's network address.
    pub client_address: String,
    /// Negotiated packet size.
    pub packet_size: i32,
    /// Connection is encrypted.
    pub encrypted: bool,
    /// Login asked for ODBC-style defaults (ANSI options on). DB-Library clients have them off.
    pub ansi_defaults: bool,
    /// ApplicationIntent=ReadOnly.
    pub read_only_intent: bool,
}

/// Stops what a session is doing, from another thread (attention, KILL, shutdown).
#[derive(Clone, Debug, Default)]
pub struct CancelHandle {
    cancelled: Arc<AtomicBool>,
}

impl CancelHandle {
    /// Asks the running request to stop; it ends within a row's work, also out of lock waits and WAITFOR. A request
    /// that starts later is not affected.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }
}

/// Where the rows of a bulk load go (answer to `INSERT BULK`).
#[derive(Clone, Debug)]
pub struct BulkTarget {
    /// The columns the client announced, with the types of the table; rows have values in this order.
    pub columns: Vec<ColumnMeta>,
}

/// Rows of a bulk load; filled row by row.
pub trait BulkSource {
    /// Puts the next row into `row` (cleared before); false at the end.
    fn next(&mut self, row: &mut Vec<Value>) -> Result<bool>;
}

/// One client's session: database, transaction, SET options, temp tables, prepared statements. One thread at a time.
pub struct Session {
    engine: Arc<Engine>,
    options: SessionOptions,
    cancel: CancelHandle,
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, options: SessionOptions) -> Session {
        Session { engine, options, cancel: CancelHandle::default() }
    }

    /// `@@SPID`.
    #[must_use]
    pub fn id(&self) -> u16 {
        51
    }

    /// The instance.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Name of the current database.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.options.database
    }

    /// Descriptor of the open transaction, 0 when none.
    #[must_use]
    pub fn transaction_descriptor(&self) -> u64 {
        0
    }

    /// A handle that stops what this session does.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// True once an error of severity 20 or more, or KILL, has ended the session: the connection must be closed.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        false
    }

    /// Runs a batch. All outcomes, errors included, go to the sink.
    pub fn execute_batch(&mut self, _text: &str, _sink: &mut dyn ResultSink) {}

    /// Runs a procedure. All outcomes, errors included, go to the sink; ends with return status, output
    /// parameters and a `DoneKind::Proc`.
    pub fn execute_rpc(
        &mut self,
        _procedure: RpcProcedure<'_>,
        _parameters: Vec<RpcParam>,
        _sink: &mut dyn ResultSink,
    ) {
    }

    /// Runs a transaction manager request.
    pub fn transaction_request(&mut self, _request: TransactionRequest, _sink: &mut dyn ResultSink) {}

    /// After an `INSERT BULK` batch: what the rows of the following bulk-load message must look like.
    #[must_use]
    pub fn bulk_target(&self) -> Option<&BulkTarget> {
        None
    }

    /// Loads the rows that follow an `INSERT BULK` batch.
    pub fn bulk_load(&mut self, _rows: &mut dyn BulkSource, _sink: &mut dyn ResultSink) {}

    /// The connection goes back to a pool (the RESETCONNECTION bit): rolls back (unless `keep_transaction`), drops temp
    /// objects and prepared statements, restores options and the initial database.
    pub fn reset(&mut self, _keep_transaction: bool, _sink: &mut dyn ResultSink) {}
}
