//! What the client of a connection keeps of its session, to have it recovered (MS-TDS 2.2.7.21), and telling it what has changed.
//!
//! Told are a number that counts what was told, and the options of the session, in parts. The number is a state because the driver
//! judges by it what is newer, over all the connections that the session has lived on: whoever recovers the session counts on from
//! there.

use keel_sql::recovery::State;
use keel_tds::recovery::Recovery;
use keel_tds::token::misc;

use crate::backend::SqlSession;

/// The state that is the number of the token it was told in.
const SEQUENCE: u8 = 0;
/// The states that have the options, one part after the other.
const OPTIONS: std::ops::RangeInclusive<u8> = 1..=2;
/// Bytes of a part at most: Microsoft's JDBC drivers 10 and 11 take lengths as signed bytes.
const PART_MAX: usize = 127;
const _: () = assert!(size_of::<State>() <= 2 * PART_MAX, "the options have two parts");
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
        f(&numbered(&self.sequence.to_le_bytes(), Some(&self.initial)));
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
        misc::put_session_state(out, self.sequence, recoverable, &numbered(&number, options.as_ref()));
        self.options = options.unwrap_or(self.options);
    }
}

/// The states to tell: the number, and the parts of the options if they have changed.
fn numbered<'a>(number: &'a [u8], options: Option<&'a State>) -> Vec<(u8, &'a [u8])> {
    let parts = options.into_iter().flat_map(|options| OPTIONS.zip(options.chunks(PART_MAX)));
    std::iter::once((SEQUENCE, number)).chain(parts).collect()
}

/// Makes a new session into the one that is to be recovered.
pub fn recover(session: &mut dyn SqlSession, lost: &Recovery) -> keel_types::error::Result<()> {
    let options: Vec<u8> = OPTIONS.filter_map(|id| lost.state(id)).flatten().copied().collect();
    session.recover(lost.database(), lost.language(), &options)
}
