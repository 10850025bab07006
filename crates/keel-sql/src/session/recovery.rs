//! Session recovery: a client whose connection is lost between two requests, because the instance died or failed over, say, connects
//! again and has its session made anew, unseen by the application. Database and language it knows by itself; the SET options and
//! CONTEXT_INFO it keeps for the server as bytes that only the server understands.
//!
//! What else a session can hold is lost with it: while it holds such a thing it is not [recoverable](Session::is_recoverable), and
//! its client must tell the application that the connection is broken.

use super::Session;
use super::options::{SetOptions, Switches};
use crate::errors;
use crate::run::use_database;
use keel_query::IsolationLevel;
use keel_types::datetime::language::Language;
use keel_types::datetime::parse::DateOrder;
use keel_types::error::Result;

/// Bytes of a state. Always the same: Microsoft's JDBC driver takes a value that grows for another one.
pub const STATE_BYTES: usize = 1 + 1 + 4 + 1 + 8 + 4 + 1 + 1 + 1 + 4 + 1 + CONTEXT_BYTES;
/// Bytes of CONTEXT_INFO at most.
const CONTEXT_BYTES: usize = 128;
/// The first byte: how the others are to be read.
const FORMAT: u8 = 1;

const ISOLATION: [IsolationLevel; 5] = [
    IsolationLevel::ReadUncommitted,
    IsolationLevel::ReadCommitted,
    IsolationLevel::RepeatableRead,
    IsolationLevel::Serializable,
    IsolationLevel::Snapshot,
];
const DATE_FORMATS: [DateOrder; 6] =
    [DateOrder::Mdy, DateOrder::Dmy, DateOrder::Ymd, DateOrder::Ydm, DateOrder::Myd, DateOrder::Dym];

/// The SET options and CONTEXT_INFO of a session, and whether its database is a copy that can only be read.
pub type State = [u8; STATE_BYTES];

impl Session {
    /// The options as they are now, for the client to keep.
    #[must_use]
    pub fn recovery_state(&self) -> State {
        let copy = self.info.current_database().is_copy();
        encode(&self.info.options.borrow(), copy, &self.info.shared.context_info.lock())
    }

    /// The options of a session that has just begun.
    #[must_use]
    pub fn initial_state(&self) -> State {
        encode(&self.info.shared.initial, false, &[])
    }

    /// Whether nothing would be lost if the session were made anew from its database, its language and its
    /// [state](Session::recovery_state): no transaction, temporary table or procedure, cursor, application lock, value of
    /// `sp_set_session_context`, XML document, EXECUTE AS or IDENTITY_INSERT. Prepared statements are the driver's to prepare again.
    #[must_use]
    pub fn is_recoverable(&self) -> bool {
        let info = &self.info;
        info.transaction.borrow().count == 0
            && info.temp.borrow().is_empty()
            && info.cursors.borrow().is_empty()
            && info.impersonated.borrow().is_empty()
            && info.identity_insert.get().is_none()
            && info.xml_documents.borrow().is_empty()
            && info.shared.context.lock().is_empty()
            && info.shared.app_locks.lock().is_empty()
    }

    /// Makes a session that has just begun into the one that its client has lost. Errors: its database cannot be used; it was no copy
    /// and is one here (976), so that the application had better look for the primary; or the state is none of this server's (17832).
    pub fn recover(&mut self, database: &str, language: &str, state: &[u8]) -> Result<()> {
        let Kept { mut options, copy, context } = decode(state).ok_or_else(errors::bad_recovery_data)?;
        if !database.is_empty() && !database.eq_ignore_ascii_case(&self.database) {
            use_database(&self.info, database)?;
            self.database = self.info.shown_here();
        }
        if self.info.current_database().is_copy() && !copy {
            return Err(crate::hadr::errors::not_accessible(&self.database));
        }
        if let Some(language) = Language::find(language) {
            options.dates.language = language;
        }
        self.txns.configure(options.isolation, options.lock_timeout_ms, options.deadlock_priority);
        self.info.change_options(|now| *now = options);
        *self.info.shared.context_info.lock() = context;
        Ok(())
    }

    /// SET LANGUAGE
    #[must_use]
    pub fn language(&self) -> String {
        self.info.options.borrow().dates.language.name.to_owned()
    }
}

/// What a state says.
#[derive(Debug, PartialEq)]
struct Kept {
    /// Their language left out.
    options: SetOptions,
    copy: bool,
    context: Vec<u8>,
}

fn encode(o: &SetOptions, copy: bool, context: &[u8]) -> State {
    let mut state = [0; STATE_BYTES];
    let place = |of: u8| [of];
    let isolation = ISOLATION.iter().position(|i| *i == o.isolation).unwrap_or_default() as u8;
    let date_format = DATE_FORMATS.iter().position(|f| *f == o.dates.order).unwrap_or_default() as u8;
    let parts: [&[u8]; 12] = [
        &place(FORMAT),
        &place(copy.into()),
        &o.switches.0.to_le_bytes(),
        &place(isolation),
        &o.row_count.to_le_bytes(),
        &o.lock_timeout_ms.to_le_bytes(),
        &o.deadlock_priority.to_le_bytes(),
        &place(date_format),
        &place(o.date_first),
        &o.text_size.to_le_bytes(),
        &place(context.len().min(CONTEXT_BYTES) as u8),
        &context[..context.len().min(CONTEXT_BYTES)],
    ];
    let mut at = 0;
    for part in parts {
        state[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    state
}

fn decode(state: &[u8]) -> Option<Kept> {
    let state: &State = state.try_into().ok()?;
    let mut rest = &state[..];
    let mut take = |n: usize| {
        let (part, behind) = rest.split_at(n);
        rest = behind;
        part
    };
    if take(1)[0] != FORMAT {
        return None;
    }
    let copy = take(1)[0] != 0;
    let mut options = SetOptions::new(true);
    options.switches = Switches(u32::from_le_bytes(take(4).try_into().ok()?));
    options.isolation = *ISOLATION.get(usize::from(take(1)[0]))?;
    options.row_count = u64::from_le_bytes(take(8).try_into().ok()?);
    options.lock_timeout_ms = i32::from_le_bytes(take(4).try_into().ok()?);
    options.deadlock_priority = i8::from_le_bytes(take(1).try_into().ok()?);
    options.dates.order = *DATE_FORMATS.get(usize::from(take(1)[0]))?;
    options.date_first = take(1)[0];
    options.text_size = i32::from_le_bytes(take(4).try_into().ok()?);
    let context_bytes = usize::from(take(1)[0]);
    let sound = (1..=7).contains(&options.date_first)
        && (-10..=10).contains(&options.deadlock_priority)
        && options.lock_timeout_ms >= -1
        && context_bytes <= CONTEXT_BYTES;
    sound.then(|| Kept { options, copy, context: rest[..context_bytes].to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_back_as_they_were() {
        let mut options = SetOptions::new(false);
        options.switches.set(Switches::XACT_ABORT, true);
        options.isolation = IsolationLevel::Serializable;
        options.lock_timeout_ms = -1;
        options.deadlock_priority = -7;
        options.dates.order = DateOrder::Dym;
        options.date_first = 3;
        options.row_count = 1 << 40;
        let back = decode(&encode(&options, true, &[1, 2, 3])).expect("sound");
        assert_eq!(back, Kept { options, copy: true, context: vec![1, 2, 3] });
    }

    #[test]
    fn what_no_session_has_is_refused() {
        let good = encode(&SetOptions::new(true), false, &[0; CONTEXT_BYTES]);
        assert!(decode(&good).is_some());
        assert!(decode(&good[1..]).is_none());
        for (at, value) in [(0, 2), (6, 9), (20, 9), (21, 0), (26, 200)] {
            let mut bad = good;
            bad[at] = value;
            assert!(decode(&bad).is_none(), "byte {at}");
        }
    }
}
