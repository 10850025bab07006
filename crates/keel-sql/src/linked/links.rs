//! The connections of a session to other servers: those that rest, and asking over one ([`Lease`]).
//!
//! A connection is for one server, login and database ([`Target`]). What a statement streams from has one of its own while it does; it is
//! given back at the end of the answer, or when nobody wants more of it, and the next request over it resets it. The connection of a
//! branch (`branch`) stays with its transaction.

use super::branch::Branches;
use super::definition::LinkedServer;
use super::errors;
use super::link::{Broken, Failed, Link, Reply, Request, Target, Wait};
use crate::engine::SessionShared;
use crate::session::info::Info;
use crate::sink::{ColumnMeta, RpcParam, RpcValue};
use keel_query::{IsolationLevel, SessionInfo as _};
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType, Value};
use parking_lot::Mutex;
use smol_str::SmolStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

/// The most severe that an error of another server is here: it does not end this session.
const SEVERITY_MAX: u8 = 16;

/// The connections of a session to other servers.
#[derive(Default)]
pub struct Links {
    idle: Mutex<Vec<(Target, Box<dyn Link>)>>,
    /// Parts of the open transaction at other servers.
    pub(super) branches: Mutex<Branches>,
    /// Savepoints taken so far: a branch begins, and is changed, behind so many.
    pub(super) marks: AtomicU64,
    /// Whether there have ever been any, so that who has none need not look.
    pub(super) any: AtomicBool,
}

/// A server that is asked: a linked one, or one that a query names by its address.
pub struct Server {
    /// Name, for messages.
    pub name: String,
    /// Name of the provider, for messages.
    pub provider: String,
    /// Where it is, and who asks.
    pub target: Target,
    /// How long a query may take.
    pub limit: Option<Duration>,
    /// A call inside a transaction is a part of it.
    pub promotion: bool,
}

impl LinkedServer {
    /// The server as a session asks it.
    ///
    /// # Errors
    /// 7416 and 15274 when it is nobody there.
    pub fn asked_by(&self, info: &Info) -> Result<Arc<Server>> {
        Ok(Arc::new(Server {
            name: self.name.clone(),
            provider: self.provider.clone(),
            target: self.target(info)?,
            limit: self.query_limit(&info.engine),
            promotion: self.promotion,
        }))
    }
}

impl Server {
    /// The product's error of a provider, with what it says.
    pub(super) fn failed(&self, text: &str) -> Box<SqlError> {
        errors::provider_failed(&self.provider, &self.name, text)
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// 7303 with the reason before it; those of the server when it refuses the login.
    pub(super) fn connect(&self, info: &Info) -> Result<Box<dyn Link>> {
        let stop = || info.shared.cancel.is_cancelled();
        self.connect_for(&info.engine, &stop).map_err(|failed| match failed {
            Failed::Stopped => keel_query::errors::cancelled(),
            Failed::Unreachable(reason) => {
                info.say(errors::returned_message(&self.provider, &self.name, reason));
                errors::cannot_initialize(&self.provider, &self.name)
            }
            Failed::Refused(mut said) => match said.pop() {
                Some(e) => theirs(e),
                None => errors::cannot_initialize(&self.provider, &self.name),
            },
        })
    }

    pub(super) fn connect_for(
        &self,
        engine: &crate::Engine,
        stop: &dyn Fn() -> bool,
    ) -> std::result::Result<Box<dyn Link>, Failed> {
        let connector = engine.linked.connector.get();
        let connector = connector.ok_or_else(|| {
            Failed::Unreachable("There are no connections to other servers here.".to_owned())
        })?;
        connector.connect(&self.target, stop)
    }
}

/// An error of another server as one of this.
#[must_use]
pub fn theirs(e: SqlError) -> Box<SqlError> {
    let severity = e.severity.min(SEVERITY_MAX);
    Box::new(SqlError { severity, line: 0, procedure: None, ..e })
}

/// What a request wants of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Rows: what the transaction has changed there is seen.
    Read,
    /// A change, which is a part of the open transaction or fails.
    Change,
    /// A procedure or a text: a part of the open transaction where the server is configured so.
    Call,
}

/// A connection while something asks over it.
pub struct Lease {
    links: Arc<Links>,
    server: Arc<Server>,
    link: Option<Box<dyn Link>>,
    shared: Arc<SessionShared>,
    deadline: Option<Instant>,
    /// The answer is not at its end.
    answering: bool,
    /// Somebody has used it before: the next request resets it.
    reset: bool,
    /// It belongs to a branch.
    in_branch: bool,
    /// When it was asked, until something is answered.
    asked: Option<Instant>,
}

impl Links {
    /// A connection for a request of a session.
    ///
    /// # Errors
    /// Those of settling what the session has committed, of connecting, and of becoming part of the transaction.
    pub fn lease(self: &Arc<Links>, info: &Info, server: &Arc<Server>, purpose: Purpose) -> Result<Lease> {
        // Others see there what follows from what was committed here.
        info.settle()?;
        let branch = self.branch_link(info, server, purpose)?;
        let (link, reset, in_branch) = match branch {
            Some(link) => (link, false, true),
            None => match self.rested(&server.target) {
                Some(link) => (link, true, false),
                None => (server.connect(info)?, false, false),
            },
        };
        let mut lease = Lease {
            links: Arc::clone(self),
            server: Arc::clone(server),
            link: Some(link),
            shared: Arc::clone(&info.shared),
            deadline: server.limit.map(|limit| Instant::now() + limit),
            answering: false,
            reset,
            in_branch,
            asked: None,
        };
        if !in_branch {
            lease.take_settings(info)?;
        }
        Ok(lease)
    }

    /// One that rests. Those that the other server has closed meanwhile are let go.
    fn rested(&self, target: &Target) -> Option<Box<dyn Link>> {
        let mut idle = self.idle.lock();
        while let Some(at) = idle.iter().position(|(of, _)| of == target) {
            let (_, mut link) = idle.swap_remove(at);
            if link.is_open() {
                return Some(link);
            }
        }
        None
    }

    pub(super) fn rest(&self, target: Target, link: Box<dyn Link>) {
        self.idle.lock().push((target, link));
    }
}

/// The text that gives a connection the settings of a session that act on what it asks; `None` where they are those of a new one.
pub(super) fn settings(info: &Info) -> Option<String> {
    let mut text = String::new();
    let level = match info.isolation() {
        IsolationLevel::ReadCommitted => None,
        IsolationLevel::ReadUncommitted => Some("READ UNCOMMITTED"),
        IsolationLevel::RepeatableRead => Some("REPEATABLE READ"),
        IsolationLevel::Serializable => Some("SERIALIZABLE"),
        IsolationLevel::Snapshot => Some("SNAPSHOT"),
    };
    if let Some(level) = level {
        text.push_str(&format!("SET TRANSACTION ISOLATION LEVEL {level};"));
    }
    let lock_timeout = info.options.borrow().lock_timeout_ms;
    if lock_timeout != -1 {
        text.push_str(&format!("SET LOCK_TIMEOUT {lock_timeout};"));
    }
    (!text.is_empty()).then_some(text)
}

impl Lease {
    fn take_settings(&mut self, info: &Info) -> Result<()> {
        match settings(info) {
            Some(text) => self.run(&Request::Batch(&text)).map(drop),
            None => Ok(()),
        }
    }

    /// Whether it belongs to a branch, so that what it answers must be read whole before others ask.
    #[must_use]
    pub fn is_in_branch(&self) -> bool {
        self.in_branch
    }

    fn link(&mut self) -> Result<&mut Box<dyn Link>> {
        let server = &self.server;
        self.link.as_mut().ok_or_else(|| server.failed("The connection is lost."))
    }

    /// Asks; the answer before must have been read.
    ///
    /// # Errors
    /// 7399 when the connection is lost.
    pub fn ask(&mut self, request: &Request<'_>) -> Result<()> {
        let reset = std::mem::take(&mut self.reset);
        if let Err(refused) = self.link()?.ask(request, reset) {
            self.link = None;
            return Err(self.server.failed(&refused.0));
        }
        (self.answering, self.asked) = (true, Some(Instant::now()));
        Ok(())
    }

    /// The next part of the answer; `None` at its end.
    ///
    /// # Errors
    /// 7399 when the connection is lost or the time is over; 3617 when the client has cancelled.
    pub fn reply(&mut self) -> Result<Option<Reply>> {
        let shared = Arc::clone(&self.shared);
        let stop = || shared.cancel.is_cancelled();
        let wait = Wait { stop: &stop, deadline: self.deadline };
        let next = self.link()?.next(&wait);
        if let Some(asked) = self.asked.take() {
            let nanos = u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX);
            keel_base::waits::note("OLEDB", nanos);
        }
        match next {
            Ok(Some(reply)) => Ok(Some(reply)),
            Ok(None) => {
                self.answering = false;
                Ok(None)
            }
            Err(Broken::Lost(reason)) => {
                (self.link, self.answering) = (None, false);
                Err(self.server.failed(&reason))
            }
            Err(Broken::Stopped) => {
                self.answering = false;
                Err(keel_query::errors::cancelled())
            }
            Err(Broken::TimedOut) => {
                self.answering = false;
                Err(self.server.failed(
                    "Execution terminated by the provider because a resource limit was reached: query timeout expired.",
                ))
            }
        }
    }

    /// Asks and reads the whole answer.
    ///
    /// # Errors
    /// Those of asking; the first error of the other server.
    pub fn run(&mut self, request: &Request<'_>) -> Result<Answer> {
        self.ask(request)?;
        let (mut answer, mut failed) = (Answer::default(), None);
        while let Some(reply) = self.reply()? {
            match reply {
                Reply::Columns(columns) => answer.sets.push((columns, Vec::new())),
                Reply::Row(row) => {
                    if let Some((_, rows)) = answer.sets.last_mut() {
                        rows.push(row);
                    }
                }
                Reply::Message(e) if e.severity > 10 => {
                    failed.get_or_insert(e);
                }
                Reply::Message(_) => {}
                Reply::Done { count, .. } => answer.count = count.or(answer.count),
                Reply::Status(status) => answer.status = Some(status),
                Reply::Output(..) => {}
            }
        }
        match failed {
            Some(e) => Err(theirs(e)),
            None => Ok(answer),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut link) = self.link.take() else {
            if self.in_branch {
                self.links.branch_lost(&self.server.target);
            }
            return;
        };
        let usable = !self.answering || link.cancel();
        match (usable, self.in_branch) {
            (true, true) => self.links.branch_back(&self.server.target, link),
            (true, false) => self.links.rest(self.server.target.clone(), link),
            (false, true) => self.links.branch_lost(&self.server.target),
            (false, false) => {}
        }
    }
}

/// A whole answer.
#[derive(Debug, Default)]
pub struct Answer {
    /// Result sets.
    pub sets: Vec<(Vec<ColumnMeta>, Vec<Vec<Value>>)>,
    /// Rows of the last statement that counts some: its own, behind those of its triggers.
    pub count: Option<u64>,
    /// Return status.
    pub status: Option<i32>,
}

impl Answer {
    /// The rows of its first result set.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Value>] {
        self.sets.first().map_or(&[], |(_, rows)| rows)
    }
}

/// A parameter by name.
#[must_use]
pub fn parameter(name: &str, ty: SqlType, value: Value) -> RpcParam {
    let ty = sent_type(ty, &value);
    RpcParam { name: SmolStr::new(name), ty, value: RpcValue::Scalar(value), output: false }
}

/// The type that a value has on its way: old types of long values are not sent in parameters, and text in one byte a character only
/// where no code page changes it.
#[must_use]
fn sent_type(ty: SqlType, value: &Value) -> SqlType {
    let national = |length: u16| {
        let length = if length <= 4000 { Length::Limited(length.max(1)) } else { Length::Max };
        SqlType::NVarChar(length)
    };
    let plain = value.as_str().is_none_or(str::is_ascii);
    match ty {
        SqlType::Null => SqlType::Int,
        SqlType::VarChar(Length::Max)
        | SqlType::Text
        | SqlType::NText
        | SqlType::Xml
        | SqlType::TypedXml(_) => SqlType::NVarChar(Length::Max),
        SqlType::VarChar(Length::Limited(n)) | SqlType::Char(n) if !plain => national(n),
        SqlType::Image | SqlType::HierarchyId | SqlType::Geometry | SqlType::Geography => {
            SqlType::VarBinary(Length::Max)
        }
        SqlType::RowVersion => SqlType::Binary(8),
        SqlType::Encrypted(e) => e.scheme().cipher(),
        other => other,
    }
}

const TEXT: SqlType = SqlType::NVarChar(Length::Max);

/// The parameters of `sp_executesql` for a text: itself, the declarations, and then the values. Without any the text alone.
#[must_use]
pub fn execute_sql(text: &str, values: Vec<RpcParam>) -> Vec<RpcParam> {
    let mut all = vec![parameter("", TEXT, Value::str(text))];
    if !values.is_empty() {
        let output = |p: &RpcParam| if p.output { " OUTPUT" } else { "" };
        let declared: Vec<String> =
            values.iter().map(|p| format!("{} {}{}", p.name, p.ty, output(p))).collect();
        all.push(parameter("", TEXT, Value::str(declared.join(", "))));
        // By their places: a server looks names up one by one.
        all.extend(values.into_iter().map(|p| RpcParam { name: SmolStr::default(), ..p }));
    }
    all
}
