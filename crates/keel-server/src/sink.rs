//! What a session says, as tokens.
//!
//! Rows are encoded straight into the outbox; whole packets leave as soon as enough has gathered. The last DONE is held
//! back until it is known whether more follows. Nothing leaves before what the session has committed is durable. When an attention has come, everything that is not yet sent of this
//! response is worthless to the client: the sink then swallows what the session still says.

use std::sync::Arc;

use keel_sql::sink::{ColumnMeta, ColumnOrigin, DoneInfo, DoneKind, EnvChange, ResultSink, SinkClosed};
use keel_tds::Dialect;
use keel_tds::outbox::Outbox;
use keel_tds::token::done::{Done, DoneKind as TokenKind, DoneStatus};
use keel_tds::token::{
    self, Column, ColumnFlags, EnvChange as EnvToken, column, message, misc, return_value,
};
use keel_tds::wire::WireError;
use keel_types::{SqlError, SqlType, Value};

use smol_str::SmolStr;

use crate::backend::Settler;
use crate::bulk::GIVEN_UP;
use crate::encode;
use crate::link::Link;
use crate::login::Both;
use crate::session::FATAL_SEVERITY;

/// Who speaks to a client, and how.
#[derive(Clone, Copy)]
pub struct Speaker<'a> {
    /// The server's name, which its messages have.
    pub server: &'a str,
    /// What the client understands.
    pub dialect: Dialect,
    /// Whether the client wants to know how columns are encrypted.
    pub encrypts: bool,
}

impl Speaker<'_> {
    /// Appends a message as ERROR or INFO by its severity. Severity 10 goes out as 0, as in the product: clients of FreeTDS take
    /// every message above for an error, and raised one for each `RAISERROR(…, 10, 1)`.
    pub fn put_message(self, out: &mut Vec<u8>, m: &SqlError) {
        message::put(
            out,
            &message::Parts {
                is_error: m.severity > 10,
                number: m.number,
                state: m.state,
                class: if m.severity == 10 { 0 } else { m.severity },
                text: &m.message,
                server: self.server,
                procedure: m.procedure.as_deref().unwrap_or(""),
                line: m.line,
            },
            self.dialect,
        );
    }

    /// Appends a DONE without a count.
    pub fn put_done(self, out: &mut Vec<u8>, status: DoneStatus) {
        Done { kind: TokenKind::Done, status, command: 0, rows: 0 }.put(out, self.dialect);
    }
}

/// The server's side of one request's response.
pub struct TdsSink<'a> {
    link: &'a Arc<Link>,
    settler: &'a Settler,
    outbox: &'a mut Outbox,
    columns: &'a mut Vec<Column>,
    speaker: Speaker<'a>,
    pending: Option<Done>,
    /// The client cannot be reached any more.
    closed: bool,
    /// Highest severity said.
    severity: u8,
    /// Whether an error was said since the last DONE that was written.
    any: bool,
    /// The client has the columns of the next result set already.
    columns_known: bool,
}

impl<'a> TdsSink<'a> {
    /// For one request. `columns` is room that is kept from request to request.
    pub fn new(
        link: &'a Arc<Link>,
        settler: &'a Settler,
        outbox: &'a mut Outbox,
        columns: &'a mut Vec<Column>,
        speaker: Speaker<'a>,
    ) -> TdsSink<'a> {
        TdsSink {
            link,
            settler,
            outbox,
            columns,
            speaker,
            pending: None,
            closed: false,
            severity: 0,
            any: false,
            columns_known: false,
        }
    }

    /// Highest severity said so far.
    #[must_use]
    pub fn severity(&self) -> u8 {
        self.severity
    }
    /// Whether the client cannot be reached any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }
    /// Whether anything has been said at all.
    #[must_use]
    pub fn said_anything(&self) -> bool {
        self.any
    }

    /// Says whether the client has asked not to be sent columns that it knows.
    pub fn set_columns_known(&mut self, known: bool) {
        self.columns_known = known;
    }

    /// Ends a part of the response after which another follows in any case (a call of several).
    pub fn end_part(&mut self) {
        self.write_pending(true);
    }

    /// The outbox for a token that stands before the last DONE.
    pub fn before_end(&mut self) -> &mut Vec<u8> {
        self.outbox.payload()
    }

    /// Ends the response. `or` is the DONE of a request that ended without one.
    pub fn end(&mut self, or: Done) {
        match self.pending.take() {
            Some(done) => done.put(self.outbox.payload(), self.speaker.dialect),
            None => or.put(self.outbox.payload(), self.speaker.dialect),
        }
    }

    /// The outbox for tokens the sink does not know.
    pub fn payload(&mut self) -> &mut Vec<u8> {
        self.write_pending(true);
        self.any = true;
        self.outbox.payload()
    }

    fn write_pending(&mut self, more: bool) {
        if let Some(mut done) = self.pending.take() {
            done.status = done.status.with_if(DoneStatus::MORE, more);
            done.put(self.outbox.payload(), self.speaker.dialect);
        }
    }

    fn muted(&self) -> bool {
        self.closed || self.link.attention_pending()
    }

    fn return_value(&mut self, ordinal: u16, name: &str, status: u8, (ty, value): (&SqlType, &Value)) {
        let Speaker { dialect, encrypts, .. } = self.speaker;
        let out = self.payload();
        let encrypted = encrypts && ty.is_encrypted();
        let flags = ColumnFlags::empty().with_if(ColumnFlags::ENCRYPTED, encrypted);
        return_value::put_head(out, ordinal, name, status, flags, dialect);
        encode::put_returned(out, *ty, value, (dialect, encrypts));
    }

    /// Sends whole packets.
    fn send(&mut self, all: bool) -> Result<(), SinkClosed> {
        if !(self.settler)() {
            self.closed = true;
            return Err(SinkClosed);
        }
        let mut wire = self.link.wire.lock();
        let sent = if all {
            self.outbox.flush_all(&mut wire, &mut &self.link.socket)
        } else {
            self.outbox.flush_full(&mut wire, &mut &self.link.socket)
        };
        let sent = sent.map_err(WireError::from).and_then(|()| wire.wait_for_window(&mut Both(self.link)));
        if wire.is_multiplexed() && wire.has_input() {
            self.link.look_for_attention(&mut wire);
        }
        self.link.look_if_asked(&mut wire);
        if sent.is_err() || self.link.is_gone() {
            self.closed = true;
            return Err(SinkClosed);
        }
        Ok(())
    }
}

impl ResultSink for TdsSink<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        if self.muted() {
            return;
        }
        self.columns.clear();
        let dialect = self.speaker.dialect;
        self.columns.extend(columns.iter().map(|c| encode::wire_column(c, dialect)));
        self.write_pending(true);
        self.any = true;
        if self.columns_known {
            column::put_none(self.outbox.payload());
        } else {
            column::put(self.outbox.payload(), self.columns.iter(), dialect, self.speaker.encrypts);
        }
    }

    fn reshaped(&mut self) {
        self.columns_known = false;
    }

    fn origins(&mut self, table: &[SmolStr], columns: &[ColumnOrigin]) {
        if self.muted() || self.columns_known {
            return;
        }
        let out = self.outbox.payload();
        if !table.is_empty() {
            misc::put_tables(out, &[table.iter().map(SmolStr::to_string).collect()], self.speaker.dialect);
        }
        let info = |(i, (origin, sent)): (usize, (&ColumnOrigin, &Column))| misc::ColumnInfo {
            // The number is a byte and wraps; readers go by the order.
            column: (i + 1) as u8,
            table: origin.column.is_some().into(),
            status: if origin.column.is_none() { misc::ColumnInfo::EXPRESSION } else { 0 }
                | if origin.key { misc::ColumnInfo::KEY } else { 0 }
                | if origin.hidden { misc::ColumnInfo::HIDDEN } else { 0 },
            name: origin.column.as_ref().filter(|c| **c != *sent.name).map(SmolStr::to_string),
        };
        let infos: Vec<_> = columns.iter().zip(self.columns.iter()).enumerate().map(info).collect();
        misc::put_column_info(out, &infos);
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        if self.closed {
            return Err(SinkClosed);
        }
        debug_assert_eq!(row.len(), self.columns.len(), "a row has the columns announced");
        let mut token = WholeToken::start(self.outbox.payload());
        put_row(token.out, self.columns, row, self.speaker.dialect);
        token.complete = true;
        drop(token);
        if self.outbox.is_full() { self.send(false) } else { Ok(()) }
    }

    fn done(&mut self, done: DoneInfo) {
        if self.muted() {
            return;
        }
        self.write_pending(true);
        self.any = true;
        self.pending = Some(Done {
            kind: match done.kind {
                DoneKind::Done => TokenKind::Done,
                DoneKind::InProc => TokenKind::InProc,
                DoneKind::Proc => TokenKind::Proc,
            },
            status: DoneStatus::empty()
                .with_if(DoneStatus::COUNT, done.count.is_some())
                .with_if(DoneStatus::ERROR, done.error)
                .with_if(DoneStatus::SERVER_ERROR, done.error && self.severity >= FATAL_SEVERITY)
                .with_if(DoneStatus::IN_TRANSACTION, done.in_transaction),
            command: done.command,
            rows: done.count.unwrap_or(0),
        });
    }

    fn message(&mut self, m: &SqlError) {
        self.severity = self.severity.max(m.severity);
        if self.muted() || m.number == GIVEN_UP {
            return;
        }
        self.write_pending(true);
        self.any = true;
        self.speaker.put_message(self.outbox.payload(), m);
        if self.outbox.is_full() {
            // A client that has gone is noticed by the next row.
            let _ = self.send(false);
        }
    }

    fn return_status(&mut self, status: i32) {
        if !self.muted() {
            misc::put_return_status(self.payload(), status);
        }
    }

    fn output(&mut self, ordinal: usize, name: &str, ty: &SqlType, value: &Value) {
        if self.muted() {
            return;
        }
        let ordinal = u16::try_from(ordinal).expect("calls have at most 2110 parameters");
        self.return_value(ordinal, name, return_value::OUTPUT, (ty, value));
    }

    fn function_value(&mut self, ty: &SqlType, value: &Value) {
        if !self.muted() {
            self.return_value(0, "", return_value::FUNCTION, (ty, value));
        }
    }

    fn env_change(&mut self, change: EnvChange) {
        // Clients must learn these even when the rest of the response is dropped.
        let change = match change {
            EnvChange::Database { old, new } => EnvToken::Database { new, old },
            // Microsoft's ODBC driver takes an old value for an error of the protocol.
            EnvChange::Collation { new, .. } => {
                EnvToken::Collation { new: Some(encode::wire_collation(new)), old: None }
            }
            EnvChange::Language { old, new } => EnvToken::Language { new, old },
            EnvChange::BeginTransaction(d) => EnvToken::BeginTransaction(d),
            EnvChange::CommitTransaction(d) => EnvToken::CommitTransaction(d),
            EnvChange::RollbackTransaction(d) => EnvToken::RollbackTransaction(d),
            EnvChange::EnlistTransaction(d) => EnvToken::EnlistTransaction(d),
            EnvChange::DefectTransaction(d) => EnvToken::DefectTransaction(d),
        };
        let dialect = self.speaker.dialect;
        if change.is_known(dialect) {
            change.put(self.payload(), dialect);
        }
    }

    fn flush(&mut self) {
        if !self.closed {
            self.write_pending(true);
            // A client that has gone is noticed by the next row.
            let _ = self.send(true);
        }
    }

    fn retract(&mut self) {
        self.pending = None;
        self.closed |= !self.outbox.take_back();
    }
}

fn put_row(out: &mut Vec<u8>, columns: &[Column], row: &[Value], dialect: Dialect) {
    // A bitmap pays when many NULLs are saved; for narrow rows the plain form is smaller or equal.
    let many_nulls = || row.iter().filter(|v| v.is_null()).count() * 4 > row.len();
    if columns.len() > 8 && dialect.has_null_bitmaps() && many_nulls() {
        let bitmap = token::row::start_nbc_row(out, row.len());
        for (i, (value, column)) in row.iter().zip(columns).enumerate() {
            if value.is_null() {
                token::row::mark_null(out, bitmap, i);
            } else {
                encode::put_value(out, &column.ty, value, dialect);
            }
        }
    } else {
        out.push(token::ROW);
        for (value, column) in row.iter().zip(columns) {
            encode::put_value(out, &column.ty, value, dialect);
        }
    }
}

/// Takes back what was written of a token when its writer panics, so that an error message can still follow.
struct WholeToken<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    complete: bool,
}

impl<'a> WholeToken<'a> {
    fn start(out: &'a mut Vec<u8>) -> WholeToken<'a> {
        let start = out.len();
        WholeToken { out, start, complete: false }
    }
}

impl Drop for WholeToken<'_> {
    fn drop(&mut self) {
        if !self.complete {
            self.out.truncate(self.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The byte of the class in the token of a message: after token, length, number and state.
    fn class(severity: u8) -> (u8, u8) {
        let mut out = Vec::new();
        let speaker = Speaker { server: "server", dialect: Dialect::default(), encrypts: false };
        speaker.put_message(&mut out, &SqlError::new(50000, severity, 1, "text"));
        (out[0], out[8])
    }

    #[test]
    fn severity_ten_is_sent_as_class_zero() {
        let (info, error) = (0xAB, 0xAA);
        assert_eq!(class(0), (info, 0));
        assert_eq!(class(9), (info, 9));
        assert_eq!(class(10), (info, 0));
        assert_eq!(class(11), (error, 11));
    }
}
