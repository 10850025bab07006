//! What the client of a connection keeps of its session, to have it recovered (MS-TDS 2.2.7.21), and telling it what has changed.
//!
//! Two states are told: the options of the session, and a number that counts what was told. The number is a state because the driver
//! judges by it what is newer, over all the connections that the session has lived on: whoever recovers the session counts on from
//! there.

use keel_sql::recovery::State;
use keel_tds::recovery::Recovery;
use keel_tds::token::misc;

use crate::backend::SqlSession;

/// The state that is the number of the token it was told in.
const SEQUENCE: u8 = 0;
/// The state that has the options.
const OPTIONS: u8 = 1;
/// Says that the session cannot be recovered any more, whatever comes.
const NEVER_AGAIN: u32 = u32::MAX;
/// Drivers compare numbers as signed ones.
const SEQUENCE_MAX: u32 = i32::MAX as u32;

/// What a client knows.
pub struct Known {
    sequence: u32,
    initial: State,
    options: State,
    recoverable: bool,
}

impl Known {
    /// Of a session that has just logged in; `recovered` is what it was made from.
    pub fn new(session: &dyn SqlSession, recovered: Option<&Recovery>) -> Known {
        let told = recovered.and_then(|r| r.state(SEQUENCE)).and_then(|bytes| bytes.try_into().ok());
        let initial = session.initial_state();
        Known { sequence: told.map_or(0, u32::from_le_bytes), initial, options: initial, recoverable: true }
    }

    /// Data of the feature's acknowledgement: the states that a new session has.
    pub fn initial(&self, f: impl FnOnce(&[(u8, &[u8])])) {
        f(&[(SEQUENCE, &self.sequence.to_le_bytes()), (OPTIONS, &self.initial)]);
    }

    /// The session is a new one again, as the client knows: its connection was reset.
    pub fn reset(&mut self) {
        self.options = self.initial;
        self.recoverable = true;
    }

    /// Appends SESSIONSTATE if something has changed. A DONE must follow.
    pub fn tell(&mut self, session: &dyn SqlSession, out: &mut Vec<u8>) {
        if self.sequence == NEVER_AGAIN {
            return;
        }
        let recoverable = session.is_recoverable();
        // Options that are told while the session is not recoverable would have to be told again when it is.
        let options = recoverable.then(|| session.recovery_state()).filter(|o| *o != self.options);
        if recoverable == self.recoverable && options.is_none() {
            return;
        }
        self.recoverable = recoverable;
        self.sequence = if self.sequence < SEQUENCE_MAX { self.sequence + 1 } else { NEVER_AGAIN };
        let number = self.sequence.to_le_bytes();
        match &options {
            Some(o) => {
                misc::put_session_state(
                    out,
                    self.sequence,
                    recoverable,
                    &[(SEQUENCE, &number), (OPTIONS, o)],
                );
            }
            None => misc::put_session_state(out, self.sequence, recoverable, &[(SEQUENCE, &number)]),
        }
        self.options = options.unwrap_or(self.options);
    }
}

/// Makes a new session into the one that is to be recovered.
pub fn recover(session: &mut dyn SqlSession, lost: &Recovery) -> keel_types::error::Result<()> {
    session.recover(lost.database(), lost.language(), lost.state(OPTIONS).unwrap_or_default())
}
