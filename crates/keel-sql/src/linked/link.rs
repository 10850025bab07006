//! A connection to another server, as SQL sees it: [`Link`], and who opens one: [`Connector`]. The host implements both.

use crate::sink::{ColumnMeta, RpcParam};
use keel_types::{SqlError, SqlType, Value};
use std::time::{Duration, Instant};

/// How much of a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypt {
    /// The login only, unless the server wants more.
    Optional,
    /// Everything.
    Mandatory,
    /// TLS before the first packet.
    Strict,
}

/// Where to connect, and as whom.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Name or address of the machine.
    pub host: String,
    /// Its port; `None` with an instance, whose port is asked for.
    pub port: Option<u16>,
    /// Name of an instance; empty for the default one.
    pub instance: String,
    /// Encryption.
    pub encrypt: Encrypt,
    /// Any certificate will do.
    pub trust: bool,
    /// The name that the certificate must have; `None` for the machine's.
    pub certificate_name: Option<String>,
    /// ApplicationIntent=ReadOnly.
    pub read_only: bool,
    /// All addresses of the machine are tried at once.
    pub all_addresses: bool,
    /// Login.
    pub user: String,
    /// Its password.
    pub password: String,
    /// Initial database; empty for the login's own.
    pub database: String,
    /// How long connecting and logging in may take.
    pub timeout: Duration,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum Failed {
    /// The server cannot be reached, or does not speak as it should: the reason.
    Unreachable(String),
    /// It has refused the login, with these errors.
    Refused(Vec<SqlError>),
    /// Whoever asked has stopped asking.
    Stopped,
}

/// Opens connections to other servers.
pub trait Connector: Send + Sync {
    /// Connects and logs in. `stop` is asked now and then whether anybody still waits.
    ///
    /// # Errors
    /// Those of [`Failed`].
    fn connect(&self, to: &Target, stop: &dyn Fn() -> bool) -> Result<Box<dyn Link>, Failed>;
}

/// What is asked of another server.
#[derive(Debug)]
pub enum Request<'a> {
    /// A batch.
    Batch(&'a str),
    /// A procedure by its name.
    Call(&'a str, &'a [RpcParam]),
    /// To work in the transaction that a cookie means; an empty one for none.
    Propagate(&'a [u8]),
}

/// What another server answers, in its order.
#[derive(Debug)]
pub enum Reply {
    /// A result set begins.
    Columns(Vec<ColumnMeta>),
    /// A row of it.
    Row(Vec<Value>),
    /// An error or information.
    Message(SqlError),
    /// A statement is complete; the end of a procedure is none.
    Done {
        /// Rows, when it says how many.
        count: Option<u64>,
        /// The product's number of the statement's kind.
        command: u16,
    },
    /// Return status of a procedure.
    Status(i32),
    /// An output parameter: its place among the parameters, type and value.
    Output(usize, SqlType, Value),
}

/// Why an answer ends early.
#[derive(Debug)]
pub enum Broken {
    /// The connection is gone: the reason.
    Lost(String),
    /// Whoever asked has stopped asking; the other server was told, and the connection can be used again.
    Stopped,
    /// It took too long; likewise.
    TimedOut,
}

/// How long one waits for an answer.
pub struct Wait<'a> {
    /// Whether whoever asked has stopped asking.
    pub stop: &'a dyn Fn() -> bool,
    /// When it is too late.
    pub deadline: Option<Instant>,
}

/// The connection cannot be used any more: the reason.
#[derive(Debug)]
pub struct Refused(pub String);

/// A connection to another server. One request at a time: the next after the last reply.
pub trait Link: Send {
    /// Asks. The connection is as new before it, when `reset`.
    ///
    /// # Errors
    /// When the connection is gone.
    fn ask(&mut self, request: &Request<'_>, reset: bool) -> Result<(), Refused>;
    /// The next part of the answer; `None` at its end.
    ///
    /// # Errors
    /// Those of [`Broken`].
    fn next(&mut self, wait: &Wait<'_>) -> Result<Option<Reply>, Broken>;
    /// Whether the other server has not closed it, as far as is known here; between requests.
    fn is_open(&mut self) -> bool;
    /// Ends an answer that nobody wants any more of. False when the connection is gone.
    fn cancel(&mut self) -> bool;
}
