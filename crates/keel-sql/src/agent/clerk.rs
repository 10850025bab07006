//! The agent's own session in `msdb`: statements, and their rows as values.

use super::Office;
use crate::session::{Session, SessionOptions};
use crate::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};

/// `principal_id` of the login that the agent works as; `sa`, however it is called.
const SA: i32 = 1;

/// See the module.
pub(crate) struct Clerk {
    office: Office,
    program: &'static str,
    session: Session,
}

impl Clerk {
    pub(crate) fn new(office: &Office, program: &'static str) -> Result<Clerk> {
        let mut session = office.engine().session(options(office, program, "msdb"))?;
        session.classify();
        Ok(Clerk { office: office.clone(), program, session })
    }

    /// Executes statements; their first error is the answer.
    pub(crate) fn run(&mut self, text: &str) -> Result<()> {
        self.rows(text).map(|_| ())
    }

    /// The rows of all their results.
    pub(super) fn rows(&mut self, text: &str) -> Result<Vec<Vec<Value>>> {
        // Somebody has killed it.
        if self.session.is_ended() {
            *self = Clerk::new(&self.office, self.program)?;
        }
        let mut gathered = Gathered::default();
        self.session.execute_batch(text, &mut gathered);
        match gathered.error {
            Some(error) => Err(error),
            None => Ok(gathered.rows),
        }
    }
}

/// A session of the agent itself.
pub(super) fn options(office: &Office, program: &str, database: &str) -> SessionOptions {
    let engine = office.engine();
    let master = engine.master_in(office.context());
    let logins = master.and_then(|master| master.logins()).ok();
    let login = logins.and_then(|logins| logins.of_id(SA).map(|login| login.name.clone()));
    SessionOptions {
        login: login.unwrap_or_else(|| "sa".to_owned()),
        sysadmin: true,
        database: database.to_owned(),
        app_name: program.to_owned(),
        host_name: crate::views::machine_of(&engine.options().server_name).to_owned(),
        client_interface: "Evenkeel".to_owned(),
        packet_size: 4096,
        ansi_defaults: true,
        context: office.context().cloned(),
        ..SessionOptions::default()
    }
}

/// A session of the instance's own, in a database.
pub(crate) fn session_options(
    engine: &std::sync::Arc<crate::engine::Engine>,
    program: &str,
    database: &str,
) -> SessionOptions {
    options(&Office::of_instance(engine), program, database)
}

#[derive(Default)]
struct Gathered {
    rows: Vec<Vec<Value>>,
    error: Option<Box<SqlError>>,
}

impl ResultSink for Gathered {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, row: &[Value]) -> std::result::Result<(), SinkClosed> {
        self.rows.push(row.to_vec());
        Ok(())
    }
    fn done(&mut self, _: DoneInfo) {}
    fn message(&mut self, message: &SqlError) {
        if message.severity > 10 && self.error.is_none() {
            self.error = Some(Box::new(message.clone()));
        }
    }
    fn return_status(&mut self, _: i32) {}
    fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
    fn env_change(&mut self, _: EnvChange) {}
}

/// A text as a literal.
pub(super) fn quoted(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// An id as a literal, in the order of bytes that a conversion from binary takes.
pub(super) fn guid(id: super::JobId) -> String {
    format!("'{}'", uuid_text(id))
}

/// An id as it is shown.
pub(super) fn uuid_text(id: super::JobId) -> String {
    crate::convert::display(&Value::Guid(id))
}

/// A column as a number; 0 for NULL.
pub(super) fn number(row: &[Value], at: usize) -> i64 {
    match row.get(at) {
        Some(Value::Int(n)) => *n,
        Some(Value::Bit(b)) => i64::from(*b),
        _ => 0,
    }
}

/// The same where it is known to be small.
pub(super) fn int(row: &[Value], at: usize) -> i32 {
    i32::try_from(number(row, at)).unwrap_or(0)
}

/// A column as text; empty for NULL.
pub(super) fn text(row: &[Value], at: usize) -> String {
    row.get(at).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A column as an id.
pub(super) fn id(row: &[Value], at: usize) -> super::JobId {
    match row.get(at) {
        Some(Value::Guid(id)) => *id,
        _ => [0; 16],
    }
}
