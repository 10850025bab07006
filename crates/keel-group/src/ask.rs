//! Questions that one instance asks another over the control channel, each with one answer.
//!
//! The machine does not ask this way: its messages need no answer to be right. This is for what an operator wants of another
//! instance: how fast is your disk, take over.

use crate::measure::Measurement;
use crate::partners::{Movement, PartnerAnswer};
use crate::peer::Peer;
use crate::shell::Shared;
use keel_base::Lsn;
use keel_cluster::{Command, CommandError, GroupDatabaseId, GroupId, InstanceId};
use keel_node::Role;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// How long an instance may take over a failover it was asked for.
pub(crate) const TAKE_OVER_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the primary may take to note a log backup: a commit in its group.
pub(crate) const NOTE_TIMEOUT: Duration = Duration::from_secs(30);

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    /// Answer at once.
    Ping,
    /// Measure your disk, and the way to everybody you are connected with.
    Measure,
    /// An operator wants you to become the group's primary.
    TakeOver {
        /// The group.
        group: GroupId,
        /// Even if that loses something.
        force: bool,
    },
    /// A backup of the log was made here: note that in the database, of which you have the primary copy.
    LogBackedUp {
        /// Which.
        database: GroupDatabaseId,
        /// Everything before this is in a backup.
        until: Lsn,
        /// When that was, in the host's measure.
        at: i64,
    },
    /// Do you expect to be the mirror of this database, with me as the principal?
    Partner {
        /// Its name.
        database: String,
        /// Identity of its log.
        log_id: u32,
    },
    /// I put another mirroring session in the place of this one: expect it.
    ExpectAnew {
        /// The session.
        group: GroupId,
        /// Identity of the database's log.
        log_id: u32,
        /// My endpoint.
        url: String,
    },
    /// The session was suspended or resumed here: do that too.
    Move {
        /// The session.
        group: GroupId,
        /// Its database.
        database: GroupDatabaseId,
        /// What was done.
        movement: Movement,
    },
}

/// What can be answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// To [`Question::Ping`].
    Pong,
    /// To [`Question::Measure`].
    Measured(Measurement),
    /// To [`Question::TakeOver`]: how it went; `None` when it did not end in time.
    TakenOver(Option<Result<(), CommandError>>),
    /// To [`Question::LogBackedUp`]: whether it is noted.
    Noted(bool),
    /// To [`Question::Partner`].
    Partner(PartnerAnswer),
    /// To [`Question::ExpectAnew`] and [`Question::Move`]: whether it is done.
    Done(bool),
}

/// As sent.
#[derive(Serialize, Deserialize)]
struct Numbered<T> {
    number: u64,
    what: T,
}

/// Questions that wait for their answers.
#[derive(Default)]
pub(crate) struct Asked {
    next: AtomicU64,
    waiting: Mutex<HashMap<(InstanceId, u64), mpsc::Sender<Answer>>>,
}

impl Shared {
    /// Asks and waits. `None` when the peer is not connected or does not answer in time.
    pub(crate) fn ask(&self, peer: InstanceId, question: &Question, timeout: Duration) -> Option<Answer> {
        let number = self.asked.next.fetch_add(1, Ordering::Relaxed);
        let body = postcard::to_stdvec(&Numbered { number, what: question }).ok()?;
        let to = self.peer(peer)?;
        let (answer, answered) = mpsc::channel();
        self.asked.waiting.lock().insert((peer, number), answer);
        self.send_question(&to, &body);
        let result = answered.recv_timeout(timeout).ok();
        self.asked.waiting.lock().remove(&(peer, number));
        result
    }

    /// A question came. False when it cannot be read.
    pub(crate) fn question(self: &Arc<Self>, peer: &Arc<Peer>, body: &[u8]) -> bool {
        let Ok(Numbered { number, what }) = postcard::from_bytes::<Numbered<Question>>(body) else {
            return false;
        };
        if what == Question::Ping {
            self.answer(peer, number, Answer::Pong);
            return true;
        }
        // The reader has other things to do; who cannot be answered hears nothing and says so.
        let peer = Arc::clone(peer);
        let _ = self.spawn("question", move |shared| {
            let answer = match what {
                Question::Ping => Answer::Pong,
                Question::Measure => Answer::Measured(shared.measure()),
                Question::TakeOver { group, force } => {
                    let command = match force {
                        true => Command::ForceFailover { group },
                        false => Command::Failover { group },
                    };
                    Answer::TakenOver(shared.command(command, TAKE_OVER_TIMEOUT))
                }
                Question::LogBackedUp { database, until, at } => {
                    let copy = shared.copy(database).filter(|copy| copy.db.role() == Role::Primary);
                    Answer::Noted(copy.is_some_and(|copy| shared.host.log_backed_up(&copy.name, until, at)))
                }
                Question::Partner { database, log_id } => {
                    Answer::Partner(shared.partner_answer(peer.instance, &database, log_id))
                }
                Question::ExpectAnew { group, log_id, url } => {
                    Answer::Done(shared.expect_anew(&peer, group, log_id, url))
                }
                Question::Move { group, database, movement } => {
                    Answer::Done(shared.moved_by(peer.instance, (group, database), movement))
                }
            };
            shared.answer(&peer, number, answer);
        });
        true
    }

    fn answer(&self, peer: &Peer, number: u64, answer: Answer) {
        if let Ok(body) = postcard::to_stdvec(&Numbered { number, what: answer }) {
            self.send_answer(peer, &body);
        }
    }

    /// An answer came. False when it cannot be read.
    pub(crate) fn answered(&self, peer: InstanceId, body: &[u8]) -> bool {
        let Ok(Numbered { number, what }) = postcard::from_bytes::<Numbered<Answer>>(body) else {
            return false;
        };
        if let Some(waiting) = self.asked.waiting.lock().remove(&(peer, number)) {
            // Whoever asked may have given up.
            let _ = waiting.send(what);
        }
        true
    }
}
