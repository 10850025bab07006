//! What a picture of the groups cannot say by itself: rates, when a copy moved last, and how far behind in time it is. One
//! thread looks four times a second; it is the same one whatever the number of databases.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use keel_cluster::{GroupDatabaseId, ReplicaId};
use keel_group::{Groups, GroupsState};
use parking_lot::{Condvar, Mutex};
use time::OffsetDateTime;

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(250);
/// Rates are over at least this long, nanoseconds.
const RATE_NANOS_MIN: i128 = 1_000_000_000;
/// Samples of a log's end that are kept: lags up to a quarter of so many seconds are known.
const LINE_MAX: usize = 2400;

/// What was seen, and until when the thread runs.
#[derive(Default)]
pub(super) struct Samples {
    inner: Mutex<Inner>,
    stopped: Mutex<bool>,
    stop: Condvar,
}

#[derive(Default)]
struct Inner {
    /// Ends of logs, each with the time (nanoseconds since 1970) when it was seen, oldest first.
    lines: HashMap<GroupDatabaseId, VecDeque<(i128, u64)>>,
    copies: HashMap<(GroupDatabaseId, ReplicaId), Movement>,
}

/// How a copy moves.
#[derive(Clone, Copy, Debug, Default)]
struct Movement {
    /// The rates' last look.
    rated: i128,
    rated_at: Places,
    rates: Rates,
    places: Places,
    times: Times,
}

/// Where a copy is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) hardened: u64,
    pub(super) applied: u64,
}

/// When each of its places was seen to change last, nanoseconds since 1970; `None` before it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) sent: Option<i128>,
    pub(super) received: Option<i128>,
    pub(super) hardened: Option<i128>,
    pub(super) applied: Option<i128>,
}

/// Bytes per second, over the last second in which something moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rates {
    pub(super) send: u64,
    pub(super) redo: u64,
}

fn now() -> i128 {
    OffsetDateTime::now_utc().unix_timestamp_nanos()
}

/// Bytes per second, of so many bytes in so many nanoseconds.
fn rate(bytes: u64, nanos: i128) -> u64 {
    if nanos <= 0 { 0 } else { u64::try_from(i128::from(bytes) * 1_000_000_000 / nanos).unwrap_or(u64::MAX) }
}

impl Samples {
    /// Starts to look.
    pub(super) fn start(groups: &Arc<Groups>) -> std::io::Result<(Arc<Samples>, JoinHandle<()>)> {
        let samples = Arc::new(Samples::default());
        let (running, groups) = (Arc::clone(&samples), Arc::downgrade(groups));
        let thread =
            std::thread::Builder::new().name("group samples".into()).spawn(move || running.run(&groups))?;
        Ok((samples, thread))
    }

    fn run(&self, groups: &Weak<Groups>) {
        let mut stopped = self.stopped.lock();
        while !*stopped {
            self.stop.wait_for(&mut stopped, PERIOD);
            let Some(groups) = groups.upgrade() else { return };
            self.look(&groups.state(), now());
        }
    }

    /// Ends the thread.
    pub(super) fn stop(&self) {
        *self.stopped.lock() = true;
        self.stop.notify_all();
    }

    fn look(&self, state: &GroupsState, now: i128) {
        let mut inner = self.inner.lock();
        for g in &state.groups {
            for d in &g.databases {
                inner.line(d.database, d.agreed.0, now);
                let local = state.copies.iter().find(|copy| copy.database == d.database);
                let received = local.map_or(d.hardened.0, |copy| copy.appended.0);
                let own = Places { sent: 0, received, hardened: d.hardened.0, applied: d.applied.0 };
                inner.moved((d.database, g.me), own, now);
                for c in &d.copies {
                    let instance = g.config.replica(c.replica).and_then(|r| r.instance);
                    let sending =
                        local.and_then(|copy| copy.sending.iter().find(|s| Some(s.peer) == instance));
                    let p = c.positions;
                    let sent = sending.map_or(p.received, |s| s.sent).0;
                    let (hardened, applied) = (p.hardened.0, p.applied.0);
                    let places = Places { sent, received: p.received.0, hardened, applied };
                    inner.moved((d.database, c.replica), places, now);
                }
            }
        }
    }

    /// How fast a copy moves.
    pub(super) fn rates(&self, database: GroupDatabaseId, replica: ReplicaId) -> Rates {
        self.inner.lock().copies.get(&(database, replica)).map(|m| m.rates).unwrap_or_default()
    }

    /// When a copy moved last.
    pub(super) fn times(&self, database: GroupDatabaseId, replica: ReplicaId) -> Times {
        self.inner.lock().copies.get(&(database, replica)).map(|m| m.times).unwrap_or_default()
    }

    /// When a database's commits had come as far as `position`; nanoseconds since 1970. `None` when that is too long ago.
    pub(super) fn committed_at(&self, database: GroupDatabaseId, position: u64) -> Option<i128> {
        let inner = self.inner.lock();
        let line = inner.lines.get(&database)?;
        let reached = line.iter().find(|(_, end)| *end >= position)?;
        let known = line.front().is_some_and(|(_, end)| *end <= position);
        known.then_some(reached.0)
    }

    /// Seconds between now and when the log ended where a copy is; 0 when it is at the end.
    pub(super) fn lag_seconds(&self, database: GroupDatabaseId, applied: u64, agreed: u64) -> Option<u64> {
        if applied >= agreed {
            return Some(0);
        }
        let inner = self.inner.lock();
        let line = inner.lines.get(&database)?;
        // The first end it has not reached yet is as old as it is behind.
        let (seen, _) = line.iter().find(|(_, end)| *end > applied)?;
        u64::try_from((now() - seen) / 1_000_000_000).ok()
    }
}

impl Inner {
    fn line(&mut self, database: GroupDatabaseId, end: u64, now: i128) {
        let line = self.lines.entry(database).or_default();
        if line.back().is_none_or(|(_, last)| *last != end) {
            if line.len() == LINE_MAX {
                line.pop_front();
            }
            line.push_back((now, end));
        }
    }

    fn moved(&mut self, copy: (GroupDatabaseId, ReplicaId), places: Places, now: i128) {
        let movement = self.copies.entry(copy).or_default();
        let (before, times) = (movement.places, &mut movement.times);
        for (was, is, time) in [
            (before.sent, places.sent, &mut times.sent),
            (before.received, places.received, &mut times.received),
            (before.hardened, places.hardened, &mut times.hardened),
            (before.applied, places.applied, &mut times.applied),
        ] {
            if was != is {
                *time = Some(now);
            }
        }
        movement.places = places;
        let nanos = now - movement.rated;
        if nanos < RATE_NANOS_MIN {
            return;
        }
        let from = movement.rated_at;
        let sent = places.hardened.saturating_sub(from.hardened);
        let redone = places.applied.saturating_sub(from.applied);
        let first = movement.rated == 0;
        (movement.rated, movement.rated_at) = (now, places);
        if sent > 0 && !first {
            movement.rates.send = rate(sent, nanos);
        }
        if redone > 0 && !first {
            movement.rates.redo = rate(redone, nanos);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn rates_are_of_the_last_second_that_moved() {
        let (d, r) = (GroupDatabaseId(Uuid::from_u128(1)), ReplicaId(Uuid::from_u128(2)));
        let samples = Samples::default();
        let second = 1_000_000_000;
        for (at, hardened, applied) in [(1, 100, 0), (2, 1100, 500), (3, 1100, 1100), (4, 1100, 1100)] {
            let places = Places { sent: 0, received: hardened, hardened, applied };
            samples.inner.lock().moved((d, r), places, at * second);
        }
        assert_eq!(samples.rates(d, r), Rates { send: 1000, redo: 600 });
        let times = samples.times(d, r);
        assert_eq!((times.sent, times.received), (None, Some(2 * second)));
        assert_eq!((times.hardened, times.applied), (Some(2 * second), Some(3 * second)));
        samples.inner.lock().line(d, 500, 1);
        assert_eq!(samples.committed_at(d, 500), Some(1));
        assert_eq!(samples.committed_at(d, 400), None, "that was before anybody looked");
        assert_eq!(samples.committed_at(d, 600), None, "that has not been seen yet");
        assert_eq!(samples.lag_seconds(d, 500, 500), Some(0));
        assert!(samples.lag_seconds(d, 400, 500) > Some(0), "it has not reached what was there in 1970");
    }
}
