//! A session's thread: log in, then a request, its response, and the next, until the client goes.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use keel_base::panics::damage;
use keel_sql::panicked;
use keel_sql::sink::ResultSink;
use keel_sql::{RpcParam, RpcProcedure, TransactionRequest as SqlTransactionRequest};
use keel_tds::outbox::Outbox;
use keel_tds::packet::{PacketType, Status};
use keel_tds::request::rpc::{CallFlags, ProcId};
use keel_tds::request::{self, Calls, Procedure, TransactionRequest, transaction};
use keel_tds::token::Column;
use keel_tds::token::done::{Done, DoneKind, DoneStatus};
use keel_tds::token::{EnvChange, misc};
use keel_tds::wire::{Message, WireError};
use keel_tds::{DecodeError, Dialect, bytes::Reader, text};
use keel_types::SqlError;

use crate::backend::{Settler, SqlSession};
use crate::bulk::WireBulk;
use crate::decode;
use crate::link::Link;
use crate::listener::Door;
use crate::listener::admit::{Admission, admit};
use crate::login::{self, LoggedIn, Refused, Way};
use crate::recovery::Known;
use crate::server::Shared;
use crate::sink::{Speaker, TdsSink};

/// How long a client may take to log in.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(60);
/// Errors of this severity end the connection.
pub(crate) const FATAL_SEVERITY: u8 = 20;

/// The thread's body. `door` is the listener that the connection came through, if it came through one.
pub fn run(shared: &Arc<Shared>, link: &Arc<Link>, peer: SocketAddr, door: Option<Arc<Door>>) {
    // Both only make waiting shorter or bounded; a socket that refuses them still works.
    let _ = link.socket.set_nodelay(true);
    let (way, client) = match (door.is_some(), admit(&shared.doors, door, link, peer)) {
        (_, Admission::Done) => return,
        (_, Admission::Route(host, port)) => (Way::Route(host, port), peer.ip()),
        (true, Admission::Serve(client, group)) => (Way::Here(group), client),
        (false, Admission::Serve(client, Some(group))) => (Way::Here(Some(group)), client),
        (false, Admission::Serve(client, None)) => (Way::ByName, client),
    };
    let peer = SocketAddr::new(client, peer.port());
    let _ = link.socket.set_read_timeout(Some(LOGIN_TIMEOUT));
    let logged_in = match login::log_in(shared, link, peer, way) {
        Ok(logged_in) => logged_in,
        Err(Refused::Told | Refused::Wire(WireError::Closed)) => return,
        Err(Refused::Wire(e)) => {
            let text =
                format!("A connection was closed before its login was complete: {e} [CLIENT: {}]", peer.ip());
            shared.log.entry("Logon", &text);
            return;
        }
    };
    let _ = link.socket.set_read_timeout(None);
    let spid = logged_in.session.id();
    let mut connection = Connection::new(shared, link, logged_in);
    loop {
        match connection.serve_one() {
            Ok(()) => {}
            // As an idle one that is killed: .NET takes a connection that has ended in order for one that lives.
            Err(End::Killed) => {
                link.reset();
                break;
            }
            Err(End::Client) => {
                link.wire.lock().close(&mut &link.socket);
                break;
            }
            Err(End::Wire(e)) => {
                link.wire.lock().close(&mut &link.socket);
                shared.log.entry(&format!("spid{spid}"), &format!("The connection was closed: {e}"));
                break;
            }
        }
    }
    // Before the session goes: who sees that it has gone may count on its client seeing that, too.
    link.shut_down();
    drop(connection);
}

/// Why the loop ends.
enum End {
    /// The client has gone, or was told to.
    Client,
    /// The session was killed, and the client's last response does not say so. It gets no word of farewell: one that looks for
    /// the end of an idle connection takes whatever there is to read for life, and would not recover its session.
    Killed,
    /// The connection or protocol failed.
    Wire(WireError),
}

impl From<WireError> for End {
    fn from(e: WireError) -> End {
        match e {
            WireError::Closed => End::Client,
            WireError::Io(e)
                if matches!(
                    e.kind(),
                    std::io::ErrorKind::ConnectionReset
                        | std::io::ErrorKind::BrokenPipe
                        | std::io::ErrorKind::NotConnected
                ) =>
            {
                End::Client
            }
            e => End::Wire(e),
        }
    }
}

impl From<std::io::Error> for End {
    fn from(e: std::io::Error) -> End {
        WireError::from(e).into()
    }
}

struct Connection<'a> {
    shared: &'a Arc<Shared>,
    link: &'a Arc<Link>,
    session: Box<dyn SqlSession>,
    settler: Settler,
    speaker: Speaker<'a>,
    outbox: Outbox,
    /// What the client keeps of the session, if it wants to know.
    known: Option<Known>,
    /// Room kept from request to request.
    columns: Vec<Column>,
    sql: String,
}

/// What the sink said of a response that is now complete.
struct Outcome {
    severity: u8,
    closed: bool,
}

impl<'a> Connection<'a> {
    fn new(shared: &'a Arc<Shared>, link: &'a Arc<Link>, logged_in: LoggedIn) -> Connection<'a> {
        let LoggedIn { session, outbox, known, dialect, encrypts, .. } = logged_in;
        let speaker = Speaker { server: shared.backend.server_name(), dialect, encrypts };
        let settler = session.settler();
        Connection {
            shared,
            link,
            session,
            settler,
            speaker,
            outbox,
            known,
            columns: Vec::new(),
            sql: String::new(),
        }
    }

    /// One request and its response.
    fn serve_one(&mut self) -> Result<(), End> {
        let mut wire = self.link.wire.lock();
        wire.wait_turn(&mut login::Both(self.link))?;
        let header = wire.wait_header(&mut &self.link.socket)?;
        if header.kind == PacketType::BulkLoad {
            self.link.begin_request();
            drop(wire);
            return self.serve_bulk();
        }
        let message = wire.read_message(&mut &self.link.socket)?;
        self.link.begin_request();
        if wire.has_input() {
            // The attention came in the same read as its request.
            self.link.look_for_attention(&mut wire);
        }
        self.link.note_packets(&wire);
        drop(wire);

        self.outbox.start(PacketType::TabularResult, Status::empty());
        let outcome = if message.kind == PacketType::Attention {
            self.attention_alone()
        } else if message.status.contains(Status::IGNORE) {
            self.plain_done(DoneStatus::ERROR)
        } else {
            self.guarded(|c| c.execute(&message))
        };
        self.link.wire.lock().recycle(message);
        self.finish(outcome)
    }

    /// Sends the rest of the response, answering an attention if one has come.
    fn finish(&mut self, outcome: Outcome) -> Result<(), End> {
        let mut wire = self.link.wire.lock();
        self.link.end_request();
        if outcome.closed || self.link.is_gone() {
            return Err(End::Client);
        }
        if self.link.attention_pending() {
            let attention = wire.read_message(&mut &self.link.socket)?;
            if attention.kind != PacketType::Attention {
                return Err(End::Wire(DecodeError::Malformed("attention").into()));
            }
            wire.recycle(attention);
            self.link.clear_attention();
            // The cancelled response ends in error, and the attention is answered by a message of its own: tedious waits for
            // two messages, and the ODBC driver takes a statement that did not end in error for one that succeeded.
            self.plain_done(DoneStatus::ERROR);
            self.outbox.finish(&mut wire, &mut &self.link.socket)?;
            self.outbox.start(PacketType::TabularResult, Status::empty());
            self.plain_done(DoneStatus::ATTENTION);
        }
        self.outbox.finish(&mut wire, &mut &self.link.socket)?;
        self.link.note_packets(&wire);
        match (outcome.severity >= FATAL_SEVERITY, self.session.is_ended()) {
            (true, _) => Err(End::Client),
            (false, true) => Err(End::Killed),
            (false, false) => Ok(()),
        }
    }

    /// Runs `f`; a panic in it becomes the product's assertion failure, or what is said of damaged data, and ends this connection only.
    fn guarded(&mut self, f: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        match catch_unwind(AssertUnwindSafe(|| f(self))) {
            Ok(outcome) => outcome,
            Err(panic) => {
                let mut error = panicked(&*panic);
                let (number, severity, state) = (error.number, error.severity, error.state);
                self.shared.log.entry(
                    &format!("spid{}", self.session.id()),
                    &format!("Error: {number}, Severity: {severity}, State: {state}. {}", error.message),
                );
                let text = match damage(&*panic) {
                    Some(_) => {
                        "An inconsistency was detected during an internal operation. Please contact technical support."
                    }
                    None => {
                        "A system assertion check has failed. Check the SQL Server error log for details."
                    }
                };
                error.message = text.into();
                error.line = 1;
                self.speaker.put_message(self.outbox.payload(), &error);
                self.plain_done(DoneStatus::ERROR);
                Outcome { severity, closed: !(self.settler)() }
            }
        }
    }

    fn plain_done(&mut self, status: DoneStatus) -> Outcome {
        let status = status.with_if(DoneStatus::IN_TRANSACTION, self.session.in_transaction());
        let done = Done { kind: DoneKind::Done, status, command: 0xFD, rows: 0 };
        done.put(self.outbox.payload(), self.speaker.dialect);
        Outcome { severity: 0, closed: false }
    }

    /// An attention after the response was complete.
    fn attention_alone(&mut self) -> Outcome {
        self.link.clear_attention();
        self.plain_done(DoneStatus::ATTENTION)
    }

    fn execute(&mut self, message: &Message) -> Outcome {
        let Connection { shared, link, session, settler, speaker, outbox, known, columns, sql } = self;
        let dialect = speaker.dialect;
        let mut sink = TdsSink::new(link, settler, outbox, columns, *speaker);
        let mut refused = false;
        let reset = Status::RESET_CONNECTION.0 | Status::RESET_CONNECTION_KEEP_TRANSACTION.0;
        if message.status.0 & reset != 0 {
            EnvChange::ResetAck.put(sink.payload(), dialect);
            let keep = message.status.contains(Status::RESET_CONNECTION_KEEP_TRANSACTION);
            session.reset(keep, &mut sink);
            if let Some(known) = known {
                known.reset();
            }
            if let Err(mut e) = session.log_on(true, shared.config.logon_triggers) {
                e.line = e.line.max(1);
                sink.message(&e);
                refused = true;
            }
            session.classify();
        }
        // A session that has been killed meanwhile says so itself: a request passed over in silence would be taken for done.
        if !link.attention_pending() && !refused {
            let done = match message.kind {
                PacketType::SqlBatch => batch(session.as_mut(), message.payload(), dialect, sql, &mut sink),
                PacketType::Rpc => calls(session.as_mut(), message.payload(), dialect, &mut sink),
                PacketType::TransactionManager => {
                    transaction_request(session.as_mut(), message.payload(), dialect, &mut sink)
                }
                kind => Err(DecodeError::Unsupported { what: "request", code: kind as u32 }),
            };
            if let Err(e) = done {
                sink.message(&bad_request(&e));
            }
        }
        session.settle(&mut sink);
        if !link.attention_pending() {
            let status = DoneStatus::empty()
                .with_if(DoneStatus::ERROR, sink.severity() > 10)
                .with_if(DoneStatus::IN_TRANSACTION, session.in_transaction());
            let kind = if message.kind == PacketType::Rpc { DoneKind::Proc } else { DoneKind::Done };
            if let Some(known) = known {
                known.tell(session.as_ref(), sink.before_end());
            }
            sink.end(Done { kind, status, command: 0, rows: 0 });
        }
        Outcome { severity: sink.severity(), closed: sink.is_closed() }
    }

    fn serve_bulk(&mut self) -> Result<(), End> {
        self.outbox.start(PacketType::TabularResult, Status::empty());
        let mut failed = false;
        let outcome = self.guarded(|c| {
            let Connection { link, session, settler, speaker, outbox, columns, .. } = c;
            let mut rows = WireBulk::new(link, speaker.dialect, speaker.encrypts);
            let mut sink = TdsSink::new(link, settler, outbox, columns, *speaker);
            if session.bulk_target().is_some() {
                session.bulk_load(&mut rows, &mut sink);
            } else {
                sink.message(&SqlError::new(
                    4022,
                    16,
                    1,
                    "Bulk load data was expected but not sent. The batch will be terminated.",
                ));
            }
            rows.drain();
            failed = rows.failed;
            let status = DoneStatus::empty()
                .with_if(DoneStatus::ERROR, sink.severity() > 10)
                .with_if(DoneStatus::IN_TRANSACTION, session.in_transaction());
            sink.end(Done { kind: DoneKind::Done, status, command: 0xF0, rows: 0 });
            Outcome { severity: sink.severity(), closed: sink.is_closed() }
        });
        self.finish(outcome)?;
        if failed { Err(End::Client) } else { Ok(()) }
    }
}

fn batch(
    session: &mut dyn SqlSession,
    payload: &[u8],
    dialect: Dialect,
    sql: &mut String,
    sink: &mut TdsSink<'_>,
) -> Result<(), DecodeError> {
    let mut r = Reader::new(payload);
    let headers = request::AllHeaders::decode(&mut r, dialect)?;
    if !r.remaining().is_multiple_of(2) {
        return Err(DecodeError::Malformed("batch text"));
    }
    sql.clear();
    text::push_utf16le(sql, r.rest());
    session.watch_request(watched(headers));
    session.execute_batch(sql, sink);
    if sql.capacity() > keel_tds::limits::BUFFER_KEEP_BYTES {
        *sql = String::new();
    }
    Ok(())
}

/// What the client wants to be told of the results of a request.
fn watched(headers: request::AllHeaders) -> Option<keel_sql::notify::Request> {
    let n = *headers.notification?;
    Some(keel_sql::notify::Request { message: n.id, deployment: n.deployment, timeout_s: n.timeout })
}

fn calls(
    session: &mut dyn SqlSession,
    payload: &[u8],
    dialect: Dialect,
    sink: &mut TdsSink<'_>,
) -> Result<(), DecodeError> {
    let mut calls = Calls::decode(payload, dialect)?;
    session.watch_request(watched(std::mem::take(&mut calls.headers)));
    let mut parameters = Vec::new();
    let mut first = true;
    while let Some(call) = calls.next_call(std::mem::take(&mut parameters)) {
        let mut call = call?;
        if !std::mem::take(&mut first) {
            sink.end_part();
        }
        if call.no_exec {
            continue;
        }
        let decoded: Result<Vec<RpcParam>, _> =
            call.parameters.drain(..).enumerate().map(|(i, p)| decode::parameter(i + 1, p)).collect();
        match decoded {
            Ok(decoded) => {
                let procedure = match &call.procedure {
                    Procedure::Id(id) => RpcProcedure::Id(*id as u16),
                    Procedure::Name(name) => RpcProcedure::Name(name),
                };
                // Only a fetch has columns that the client can know: those of the cursor's opening.
                let fetch = call.procedure == Procedure::Id(ProcId::CursorFetch);
                sink.set_columns_known(fetch && call.flags.contains(CallFlags::NO_METADATA));
                session.execute_rpc(procedure, decoded, sink);
                sink.set_columns_known(false);
            }
            Err(e) => {
                sink.message(&e);
                misc::put_return_status(sink.payload(), -6);
            }
        }
        parameters = call.parameters;
    }
    Ok(())
}

fn transaction_request(
    session: &mut dyn SqlSession,
    payload: &[u8],
    dialect: Dialect,
    sink: &mut TdsSink<'_>,
) -> Result<(), DecodeError> {
    let next = |b: transaction::Begin| (b.isolation as u8, b.name);
    let (_, request) = TransactionRequest::decode(payload, dialect)?;
    let request = match request {
        TransactionRequest::Begin(b) => {
            SqlTransactionRequest::Begin { isolation: b.isolation as u8, name: b.name }
        }
        TransactionRequest::Commit { name, then } => {
            SqlTransactionRequest::Commit { name, begin_next: then.map(next) }
        }
        TransactionRequest::Rollback { name, then } => {
            SqlTransactionRequest::Rollback { name, begin_next: then.map(next) }
        }
        TransactionRequest::Save(name) => SqlTransactionRequest::Save { name },
        TransactionRequest::Propagate(cookie) => SqlTransactionRequest::Propagate { cookie },
        TransactionRequest::Distributed(_) => {
            sink.message(&SqlError::new(
                8501,
                16,
                3,
                "MSDTC on server is unavailable. Distributed transactions are not supported.",
            ));
            return Ok(());
        }
    };
    session.transaction_request(request, sink);
    Ok(())
}

/// A request that could not be understood. Its boundaries were intact, so the connection can go on.
fn bad_request(e: &DecodeError) -> SqlError {
    let mut error = match e {
        DecodeError::TooManyParameters(_) => {
            let text = "The incoming request has too many parameters. The server supports a maximum of 2100 parameters. Reduce the number of parameters and resend the request.";
            SqlError::new(8003, 16, 1, text)
        }
        _ => {
            let text = format!("The incoming tabular data stream (TDS) protocol stream is incorrect: {e}.");
            SqlError::new(4002, 16, 1, text)
        }
    };
    error.line = 1;
    *error
}
