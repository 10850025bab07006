//! What a session tells its client: [`ResultSink`] and the words it uses.
//!
//! The session calls the sink in exactly the order in which a client of the product sees the tokens. Two rules keep
//! the two sides simple:
//!
//! * **The session does not know whether more follows.** A sink holds the last [`DoneInfo`] back until the next call
//!   or the end of the request, and sets the protocol's MORE bit by which of the two came. A request that ended without
//!   any `done` gets a final one from the sink's owner.
//! * **A row borrows.** The slice given to [`ResultSink::row`] is reused for the next row; the sink encodes or copies.
//!
//! Deliberately absent: bytes, packets, token numbers. `keel-server` turns this into TDS.

use keel_types::{Collation, SqlError, SqlType, Value};
use smol_str::SmolStr;

/// One column of a result set.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnMeta {
    /// Name; empty for an expression without alias.
    pub name: SmolStr,
    /// Type as described to the client.
    pub ty: SqlType,
    /// Collation of character types.
    pub collation: Collation,
    /// Whether NULL can appear.
    pub nullable: bool,
    /// Column of a table that may be written through (not an expression).
    pub updatable: bool,
    /// An IDENTITY column.
    pub identity: bool,
    /// A computed column.
    pub computed: bool,
}

impl ColumnMeta {
    /// A nullable expression column.
    #[must_use]
    pub fn new(name: impl Into<SmolStr>, ty: SqlType) -> ColumnMeta {
        ColumnMeta {
            name: name.into(),
            ty,
            collation: Collation::default(),
            nullable: true,
            updatable: false,
            identity: false,
            computed: false,
        }
    }
}

/// Database (empty: it is not known here), schema and name of the collection of typed xml, while it is there.
#[must_use]
pub fn xml_collection(of: keel_types::XmlSchema) -> Option<[String; 3]> {
    let [schema, name] = keel_query::xml_collection::name_of(of)?;
    Some([String::new(), schema, name])
}

/// Which of the three completion tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoneKind {
    /// A statement of a batch.
    Done,
    /// A statement inside a procedure, function or dynamic batch.
    InProc,
    /// The end of a procedure called by RPC.
    Proc,
}

/// A statement, or a procedure, is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoneInfo {
    /// Which token.
    pub kind: DoneKind,
    /// Rows affected or returned; `None` when there is no count to tell (or NOCOUNT is on).
    pub count: Option<u64>,
    /// The product's command number (`CurCmd`), 0 when unknown: see [`command`].
    pub command: u16,
    /// The statement failed (its error message came before).
    pub error: bool,
    /// A transaction is open after it.
    pub in_transaction: bool,
    /// Acknowledges an attention: the request was cancelled.
    pub attention: bool,
}

/// `CurCmd` numbers of [`DoneInfo::command`].
pub mod command {
    /// SELECT
    pub const SELECT: u16 = 0xC1;
    /// SELECT INTO
    pub const SELECT_INTO: u16 = 0xC2;
    /// INSERT
    pub const INSERT: u16 = 0xC3;
    /// DELETE
    pub const DELETE: u16 = 0xC4;
    /// UPDATE
    pub const UPDATE: u16 = 0xC5;
    /// Begin of a transaction
    pub const BEGIN_TRANSACTION: u16 = 0xD4;
    /// Rollback
    pub const ROLLBACK: u16 = 0xD2;
    /// Commit
    pub const COMMIT: u16 = 0xD5;
    /// CREATE TABLE
    pub const CREATE_TABLE: u16 = 0xC6;
    /// DROP TABLE
    pub const DROP_TABLE: u16 = 0xC7;
    /// EXECUTE
    pub const EXECUTE: u16 = 0xE0;
    /// MERGE
    pub const MERGE: u16 = 0x117;
    /// SET, DECLARE and other statements without rows
    pub const OTHER: u16 = 0xFD;
}

/// A change of the session's environment that clients keep track of.
#[derive(Clone, Debug, PartialEq)]
pub enum EnvChange {
    /// USE.
    Database {
        /// The database left.
        old: String,
        /// The database entered.
        new: String,
    },
    /// USE of a database in another collation.
    Collation {
        /// The collation left.
        old: Collation,
        /// The collation entered.
        new: Collation,
    },
    /// SET LANGUAGE.
    Language {
        /// Left.
        old: String,
        /// Entered.
        new: String,
    },
    /// A transaction began; clients send its descriptor with later requests.
    BeginTransaction(u64),
    /// It committed.
    CommitTransaction(u64),
    /// It rolled back.
    RollbackTransaction(u64),
    /// The session works in a transaction that a manager decides about; clients send its descriptor with later requests.
    EnlistTransaction(u64),
    /// It does not any more.
    DefectTransaction(u64),
}

/// Where a column of a cursor comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnOrigin {
    /// The table's column; `None` for an expression.
    pub column: Option<SmolStr>,
    /// Part of the key by which a row is found again.
    pub key: bool,
    /// Not one of the query's own columns.
    pub hidden: bool,
}

/// The client has gone; nothing more can be delivered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkClosed;

/// Receives everything a request produces, in the order in which clients must see it.
pub trait ResultSink {
    /// A result set begins.
    fn columns(&mut self, columns: &[ColumnMeta]);
    /// The result set that begins next has columns which the client cannot know, even if it said that it does.
    fn reshaped(&mut self) {}
    /// The result set is a cursor's over this table (schema and name; nothing when its rows are of no single table), with a line for every
    /// column; comes between `columns` and the first row.
    fn origins(&mut self, table: &[SmolStr], columns: &[ColumnOrigin]) {
        let _ = (table, columns);
    }
    /// A row of it.
    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed>;
    /// A statement or procedure is complete.
    fn done(&mut self, done: DoneInfo);
    /// An error (severity 11 and above) or information.
    fn message(&mut self, message: &SqlError);
    /// The return status of a procedure called by RPC.
    fn return_status(&mut self, status: i32);
    /// An output parameter of a procedure called by RPC.
    fn output(&mut self, ordinal: usize, name: &str, ty: &SqlType, value: &Value);
    /// The value of a scalar function called by RPC; for sinks that send no remote calls nothing to do.
    fn function_value(&mut self, _ty: &SqlType, _value: &Value) {}
    /// Where plans go, if it is not here: who collects rows for INSERT … EXEC has no use for those of a plan.
    fn beside(&mut self) -> Option<&mut dyn ResultSink> {
        None
    }
    /// The session's environment changed.
    fn env_change(&mut self, change: EnvChange);
    /// What was given so far should reach the client now (RAISERROR … WITH NOWAIT).
    fn flush(&mut self) {}
    /// What was given so far may not be true: the client should not see it. A sink that has passed some of it on takes nothing more.
    fn retract(&mut self) {}
}

/// Where nobody listens.
pub(crate) struct Unheard;

impl ResultSink for Unheard {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, _: &[Value]) -> Result<(), SinkClosed> {
        Ok(())
    }
    fn done(&mut self, _: DoneInfo) {}
    fn message(&mut self, _: &SqlError) {}
    fn return_status(&mut self, _: i32) {}
    fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
    fn env_change(&mut self, _: EnvChange) {}
}

/// The procedure of a remote call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpcProcedure<'a> {
    /// By name, one to four parts.
    Name(&'a str),
    /// One of the numbered ones: 1 sp_cursor … 10 sp_executesql, 11 sp_prepare, 12 sp_execute, 13 sp_prepexec,
    /// 14 sp_prepexecrpc, 15 sp_unprepare.
    Id(u16),
}

/// A table-valued parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TvpName {
    /// Schema; empty when not sent.
    pub schema: String,
    /// Type name.
    pub name: String,
}

/// What a parameter carries.
#[derive(Clone, Debug)]
pub enum RpcValue {
    /// A value of the parameter's type.
    Scalar(Value),
    /// The procedure's default.
    Default,
    /// Rows of a table type, columns in the type's order.
    Table {
        /// The table type.
        type_name: TvpName,
        /// The type in which each of the type's columns is sent; `None` for one that takes its default. Empty for no table at all.
        columns: Vec<Option<SqlType>>,
        /// Rows: a value for each column that is sent.
        rows: Vec<Vec<Value>>,
    },
}

/// One parameter of a remote call.
#[derive(Clone, Debug)]
pub struct RpcParam {
    /// Name with its `@`, empty when positional.
    pub name: SmolStr,
    /// Type on the wire.
    pub ty: SqlType,
    /// Value.
    pub value: RpcValue,
    /// The client wants its value back.
    pub output: bool,
}

/// A transaction manager request.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionRequest {
    /// Begin, optionally changing the session's isolation level (the protocol's numbers: 1 read uncommitted,
    /// 2 read committed, 3 repeatable read, 4 serializable, 5 snapshot; 0 keeps it).
    Begin {
        /// Isolation level.
        isolation: u8,
        /// Name, may be empty.
        name: String,
    },
    /// Commit; `begin_next` starts another at once.
    Commit {
        /// Name, may be empty.
        name: String,
        /// Isolation level and name of the next transaction.
        begin_next: Option<(u8, String)>,
    },
    /// Roll back, to a savepoint when `name` is one.
    Rollback {
        /// Name, may be empty.
        name: String,
        /// Isolation level and name of the next transaction.
        begin_next: Option<(u8, String)>,
    },
    /// Set a savepoint.
    Save {
        /// Its name.
        name: String,
    },
    /// Work in the transaction that a cookie means, which a manager decides about; without one in none.
    Propagate {
        /// From who began it.
        cookie: Vec<u8>,
    },
}
