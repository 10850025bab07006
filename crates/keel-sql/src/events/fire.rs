//! Where sessions fire their events.

use super::actor::{Attempt, InDatabase};
use super::catalog::{Event, Field};
use crate::engine::{Before, Engine};
use crate::event_notifications::raise::{Elements, Place};
use crate::event_notifications::types::Raised;
use crate::hadr::HealthEvent;
use crate::program::{Instruction, Op, Program, ProgramKind};
use crate::secrets::without_secrets;
use crate::session::info::Info;
use crate::sink::{RpcParam, RpcValue};
use keel_store::base::thread_misses;
use keel_types::{SqlError, SqlType, Value};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longest text of a value in a call's text, characters; what is longer is cut.
const VALUE_CHARS_MAX: usize = 8000;
const BATCHES: u64 = 1 << Event::SqlBatchStarting as u8 | 1 << Event::SqlBatchCompleted as u8;
const CALLS: u64 = 1 << Event::RpcStarting as u8 | 1 << Event::RpcCompleted as u8;
/// Bits of what is told of statements.
pub(super) const STATEMENTS: u64 = 1 << Event::SqlStatementStarting as u8
    | 1 << Event::SqlStatementCompleted as u8
    | 1 << Event::SpStatementStarting as u8
    | 1 << Event::SpStatementCompleted as u8;
const MODULES: u64 = 1 << Event::ModuleStart as u8 | 1 << Event::ModuleEnd as u8;

/// A client's request that somebody watches.
pub enum Request {
    /// A batch: its text.
    Batch(String),
    /// A call: the procedure's name, and the call as a statement.
    Call(String, String),
}

/// Where a session's counters stood when something began.
pub struct Began {
    at: Duration,
    cpu: Duration,
    reads: u64,
    used: [u64; 3],
}

impl Info {
    /// Fires an event in this session.
    pub fn fire(&self, event: Event, fields: &[Field]) {
        self.engine.events.fire(event, self.engine.now_utc(), self, fields);
    }

    fn used(&self) -> [u64; 3] {
        let used = &self.shared.used;
        [&used.logical_reads, &used.writes, &used.rows].map(|n| n.load(Ordering::Relaxed))
    }

    fn mark(&self) -> Began {
        let clock = &self.engine.options().env.clock;
        Began { at: clock.now(), cpu: self.cpu(), reads: thread_misses(), used: self.used() }
    }

    /// Duration, processor time, reads, logical reads, writes and rows since then.
    fn cost(&self, began: &Began) -> [Field; 6] {
        let clock = &self.engine.options().env.clock;
        let micros = |span: Duration| span.as_micros() as u64;
        let [logical, writes, rows] = self.used();
        [
            micros(clock.now().saturating_sub(began.at)).into(),
            micros(self.cpu().saturating_sub(began.cpu)).into(),
            (thread_misses() - began.reads).into(),
            (logical - began.used[0]).into(),
            (writes - began.used[1]).into(),
            (rows - began.used[2]).into(),
        ]
    }

    // ---- requests ----

    /// A batch has come. `None` when nobody wants to know.
    #[must_use]
    pub fn batch_starting(&self, text: &str) -> Option<Request> {
        if !self.engine.events.wants_any(BATCHES) {
            return None;
        }
        let text = without_secrets(text);
        self.fire(Event::SqlBatchStarting, &[(&*text).into()]);
        Some(Request::Batch(text.into_owned()))
    }

    /// A call has come.
    #[must_use]
    pub fn call_starting(&self, name: &str, parameters: &[RpcParam]) -> Option<Request> {
        if !self.engine.events.wants_any(CALLS) {
            return None;
        }
        let statement = without_secrets(&call_text(name, parameters)).into_owned();
        self.fire(Event::RpcStarting, &[0u32.into(), name.into(), statement.as_str().into()]);
        Some(Request::Call(name.to_owned(), statement))
    }

    /// It has ended, and what it used has been counted.
    pub fn request_completed(&self, request: Option<Request>) {
        let Some(request) = request else { return };
        let (used, before) = (&self.shared.used, &self.shared.used_before);
        let figure = |of: fn(&crate::engine::Usage) -> &AtomicU64| -> Field {
            of(used).load(Ordering::Relaxed).saturating_sub(of(before).load(Ordering::Relaxed)).into()
        };
        let result = if self.shared.cancel.is_cancelled() { 2u32 } else { u32::from(self.error.get() != 0) };
        let cost = [
            figure(|u| &u.cpu_us),
            figure(|u| &u.elapsed_us),
            figure(|u| &u.reads),
            figure(|u| &u.logical_reads),
            figure(|u| &u.writes),
        ];
        let rows = figure(|u| &u.rows);
        let mut fields = cost.to_vec();
        match request {
            Request::Batch(text) => {
                fields.extend([rows, result.into(), text.into()]);
                self.fire(Event::SqlBatchCompleted, &fields);
            }
            Request::Call(name, statement) => {
                fields.extend([result.into(), rows, 0u32.into(), name.into(), statement.into()]);
                self.fire(Event::RpcCompleted, &fields);
            }
        }
    }

    /// A client has cancelled what it asked for.
    pub fn attention(&self) {
        if self.engine.events.wants(Event::Attention) {
            let (used, before) = (&self.shared.used.elapsed_us, &self.shared.used_before.elapsed_us);
            let took = used.load(Ordering::Relaxed).saturating_sub(before.load(Ordering::Relaxed));
            self.fire(Event::Attention, &[took.into(), 0u32.into()]);
        }
    }

    /// The session begins, or its connection is taken from a pool.
    pub fn logged_in(&self, pooled: bool) {
        self.raise_audit(Raised::AuditLogin, |said| {
            said.with("EventSubClass", if pooled { "2" } else { "1" }).with("Success", "1")
        });
        if self.engine.events.wants(Event::Login) {
            let database = self.current_database();
            let size = self.shared.login.packet_size;
            let name = database.name().to_string();
            self.fire(
                Event::Login,
                &[pooled.into(), false.into(), database.id.0.into(), size.into(), name.into()],
            );
        }
    }

    /// The session ends.
    pub fn logged_out(&self) {
        self.raise_audit(Raised::AuditLogout, |said| {
            let used = &self.shared.used;
            let figure = |n: &AtomicU64| n.load(Ordering::Relaxed).to_string();
            let connected = (self.engine.now_local() - self.shared.connected).max(0) / 10;
            said.with("Duration", &connected.to_string())
                .with("Reads", &figure(&used.reads))
                .with("Writes", &figure(&used.writes))
                .with("CPU", &(used.cpu_us.load(Ordering::Relaxed) / 1_000).to_string())
                .with("Success", "1")
        });
        if self.engine.events.wants(Event::Logout) {
            let used = &self.shared.used;
            let figure = |n: &AtomicU64| Field::from(n.load(Ordering::Relaxed));
            let connected = (self.engine.now_local() - self.shared.connected).max(0) / 10;
            let fields = [
                false.into(),
                connected.into(),
                figure(&used.cpu_us),
                figure(&used.reads),
                figure(&used.logical_reads),
                figure(&used.writes),
            ];
            self.fire(Event::Logout, &fields);
        }
    }

    /// Tells the services that want to know of a session's beginning or end.
    fn raise_audit(&self, raised: Raised, more: impl FnOnce(Elements) -> Elements) {
        let database = self.current_database();
        let place = Place { database: Some(database.id), queue: None };
        self.engine.raise(raised, place, self.shared.id, || {
            let login = &self.shared.login;
            let sid = self.login_of(&self.identity_at_login()).map(|l| l.sid).unwrap_or_default();
            let said = Elements::default()
                .with("DatabaseID", &database.id.0.to_string())
                .with("HostName", &login.host_name)
                .with("ClientProcessID", &login.client_pid.to_string())
                .with("ApplicationName", &login.app_name)
                .with("LoginName", &login.login);
            more(said)
                .with("ServerName", &self.engine.options().server_name)
                .with("DatabaseName", &database.name())
                .bytes("LoginSid", &sid)
                .with("SessionLoginName", &login.login)
        });
    }

    // ---- statements and modules ----

    /// A statement begins. `None` when it is no statement.
    #[cold]
    #[must_use]
    pub fn statement_starting(&self, program: &Program, instruction: &Instruction) -> Option<Began> {
        // The return at the end of a text is not in it.
        let end_of_text = matches!(instruction.op, Op::Return(None)) && instruction.end == 0;
        if end_of_text || matches!(instruction.op, Op::Jump { .. } | Op::EnterTry { .. } | Op::LeaveTry) {
            return None;
        }
        let place = self.place(program, instruction);
        if is_batch(program) {
            let mut fields = vec![0u32.into()];
            fields.extend(place);
            self.fire(Event::SqlStatementStarting, &fields);
        } else {
            let mut fields = object(program).to_vec();
            fields.extend([0u32.into(), self.nest_level().into()]);
            let [line, from, to, statement] = place;
            fields.extend([line, from, to, name_of(program), statement]);
            self.fire(Event::SpStatementStarting, &fields);
        }
        Some(self.mark())
    }

    /// It has ended.
    #[cold]
    pub fn statement_completed(&self, program: &Program, instruction: &Instruction, began: Option<Began>) {
        let Some(began) = began else { return };
        let mut cost = self.cost(&began);
        cost[5] = self.row_count.get().into();
        let place = self.place(program, instruction);
        if is_batch(program) {
            let fields: Vec<Field> = cost.into_iter().chain(place).collect();
            self.fire(Event::SqlStatementCompleted, &fields);
        } else {
            let [line, from, to, statement] = place;
            let mut fields = object(program).to_vec();
            fields.extend(cost);
            fields.extend([self.nest_level().into(), line, from, to, name_of(program), statement]);
            self.fire(Event::SpStatementCompleted, &fields);
        }
    }

    /// Line, beginning, end and text of a statement.
    fn place(&self, program: &Program, instruction: &Instruction) -> [Field; 4] {
        let at = self.shared.current.statement().filter(|at| at.program.id == program.id);
        let (from, to) = at.as_ref().map_or((0, -1), crate::engine::StatementAt::offsets);
        let text = program.text.get(instruction.start as usize..instruction.end as usize).unwrap_or_default();
        [instruction.line.into(), from.into(), to.into(), (&*without_secrets(text)).into()]
    }

    /// A module begins.
    #[must_use]
    pub fn module_starting(&self, program: &Program, caller: &Before) -> Option<Box<(Began, String)>> {
        if !self.engine.events.wants_any(MODULES) || program.identity.object_id == 0 {
            return None;
        }
        // What calls it: a statement of another text, or the client.
        let statement = match caller.as_ref().and_then(|(text, at)| crate::engine::StatementAt::of(text, *at))
        {
            Some(at) => without_secrets(at.text()).into_owned(),
            None => self.shared.shown_text(),
        };
        let mut fields = module(program).to_vec();
        fields.push(statement.as_str().into());
        self.fire(Event::ModuleStart, &fields);
        Some(Box::new((self.mark(), statement)))
    }

    /// It has ended.
    pub fn module_completed(&self, program: &Program, began: Option<Box<(Began, String)>>) {
        let Some(began) = began else { return };
        let (began, statement) = *began;
        let [duration, .., rows] = self.cost(&began);
        let mut fields = module(program).to_vec();
        fields.extend([statement.into(), duration, rows]);
        self.fire(Event::ModuleEnd, &fields);
    }

    // ---- errors and transactions ----

    /// A client is told an error or message, or a CATCH block takes it.
    pub fn error_reported(&self, e: &SqlError, caught: bool, logged: bool) {
        if !self.engine.events.wants(Event::ErrorReported) {
            return;
        }
        let numbers = (e.number, e.severity, e.state);
        let fields = error_fields(numbers, (caught, logged), &e.message);
        self.fire(Event::ErrorReported, &fields);
    }

    /// A transaction begins, is committed, rolled back or marked: `state` is a key of
    /// [`TRANSACTION_STATE`](super::catalog::TRANSACTION_STATE).
    pub fn transaction_marked(&self, state: u32, name: &str) {
        self.audit_transaction(state);
        if !self.engine.events.wants(Event::SqlTransaction) {
            return;
        }
        let began = self.shared.transaction_began.load(Ordering::Relaxed);
        let took = if state == 0 { 0 } else { (self.engine.now_local() - began).max(0) / 10 };
        let id = self.shared.transaction_id.load(Ordering::Relaxed);
        let (object, savepoint) = if state == 3 { ("", name) } else { (name, "") };
        let fields = [2u32.into(), state.into(), took.into(), id.into(), object.into(), savepoint.into()];
        self.fire(Event::SqlTransaction, &fields);
    }
}

impl Engine {
    /// What `sp_server_diagnostics` says now, to the sessions that want it. Called every five minutes.
    pub fn fire_diagnostics(&self) {
        use super::catalog::COMPONENT;
        let Some(diagnostics) = self.diagnostics().filter(|_| self.events.wants(Event::DiagnosticsResult))
        else {
            return;
        };
        for component in diagnostics.components() {
            let named = |(_, name): &&(u32, &str)| name.eq_ignore_ascii_case(&component.name);
            let Some((key, _)) = COMPONENT.values.iter().find(named) else { continue };
            let fields = [(*key).into(), u32::from(component.state).into(), component.data.into()];
            self.events.fire(Event::DiagnosticsResult, self.now_utc(), &super::actor::Nobody, &fields);
        }
    }

    /// A login failed: error 18456, with the reason that the client is not told.
    pub fn fire_failed_login(&self, attempt: &Attempt<'_>) {
        self.audit_failed_login(attempt);
        self.raise(Raised::AuditLoginFailed, Place::default(), 0, || {
            Elements::default()
                .with("TextData", attempt.text)
                .with("HostName", attempt.client.1)
                .with("ApplicationName", attempt.client.0)
                .with("LoginName", attempt.name)
                .with("Success", "0")
                .with("Error", "18456")
                .with("State", &attempt.state.to_string())
                .with("ServerName", &self.options().server_name)
                .with("SessionLoginName", attempt.name)
        });
        if self.events.wants(Event::ErrorReported) {
            let fields = error_fields((18_456, 14, attempt.state), (false, true), attempt.text);
            self.events.fire(Event::ErrorReported, self.now_utc(), attempt, &fields);
        }
    }

    /// An event of an availability group, to the sessions that want it.
    pub fn fire_of_group(&self, told: &HealthEvent) {
        let Some(event) = Event::named(&told.name) else { return };
        if !self.events.wants(event) {
            return;
        }
        let text = |name: &Option<String>| name.as_deref().map_or(Field::Null, Field::from);
        let database = told.database.as_deref().unwrap_or_default();
        let actor = InDatabase { name: database };
        let now = self.now_utc();
        if event == Event::ErrorReported {
            let fields = error_fields((told.number, 10, 1), (false, true), &told.text);
            self.events.fire(event, now, &actor, &fields);
            return;
        }
        let fields = [
            text(&told.group),
            text(&told.replica),
            text(&told.database),
            told.number.into(),
            told.text.as_str().into(),
        ];
        self.events.fire(event, now, &actor, &fields);
    }
}

/// The columns of `error_reported`: number, severity and state; whether a CATCH block took it, and whether it is in the error log.
fn error_fields(
    (number, severity, state): (i32, u8, u8),
    (caught, logged): (bool, bool),
    text: &str,
) -> [Field; 8] {
    let user = number >= 50_000;
    let destination = if logged { 6u32 } else { 2 };
    [
        number.into(),
        i32::from(severity).into(),
        i32::from(state).into(),
        user.into(),
        (if user { 4u32 } else { 2 }).into(),
        destination.into(),
        caught.into(),
        text.into(),
    ]
}

/// Whether statements of it are a batch's own.
fn is_batch(program: &Program) -> bool {
    program.identity.kind == ProgramKind::Batch
}

/// Two letters of an object's type as a number, as the product counts them.
fn object_type(program: &Program) -> u32 {
    match program.identity.kind {
        ProgramKind::Batch => 20_801,
        ProgramKind::Dynamic => 20_816,
        ProgramKind::Procedure => 8272,
        ProgramKind::Trigger => 21_076,
        ProgramKind::Function => 20_038,
        ProgramKind::TableFunction => 18_004,
    }
}

/// Database, object and kind of a program.
fn object(program: &Program) -> [Field; 3] {
    let identity = &program.identity;
    [identity.database.0.into(), identity.object_id.into(), object_type(program).into()]
}

fn module(program: &Program) -> [Field; 4] {
    let [database, id, kind] = object(program);
    [kind, name_of(program), id, database]
}

fn name_of(program: &Program) -> Field {
    program.identity.name.as_deref().unwrap_or_default().into()
}

/// A call as a statement: `exec dbo.p @a=1,@b=N'x',@c=@c output`.
pub(crate) fn call_text(name: &str, parameters: &[RpcParam]) -> String {
    let mut out = format!("exec {name}");
    for (n, parameter) in parameters.iter().enumerate() {
        out.push(if n == 0 { ' ' } else { ',' });
        if !parameter.name.is_empty() {
            let _ = write!(out, "{}=", parameter.name);
        }
        match &parameter.value {
            RpcValue::Scalar(value) => push_literal(value, parameter.ty, &mut out),
            RpcValue::Default => out.push_str("default"),
            RpcValue::Table { rows, .. } => drop(write!(out, "/* {} rows */", rows.len())),
        }
        if parameter.output {
            out.push_str(" output");
        }
    }
    out
}

fn push_literal(value: &Value, ty: SqlType, out: &mut String) {
    let text = match value {
        Value::Null => return out.push_str("NULL"),
        Value::Str(text) => text.to_string(),
        Value::Bit(_) | Value::Int(_) | Value::Bytes(_) | Value::Decimal(_) => crate::convert::display(value),
        other => crate::convert::display_typed(other, ty),
    };
    let cut: String = text.chars().take(VALUE_CHARS_MAX).collect();
    if matches!(value, Value::Bit(_) | Value::Int(_) | Value::Bytes(_) | Value::Decimal(_)) {
        out.push_str(&cut);
        return;
    }
    let national = matches!(ty, SqlType::NVarChar(_) | SqlType::NChar(_));
    let _ = write!(out, "{}'{}'", if national { "N" } else { "" }, cut.replace('\'', "''"));
}
