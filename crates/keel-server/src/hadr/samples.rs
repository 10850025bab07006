//! What a picture of the groups cannot say by itself: rates, and how far behind in time a copy is. One thread looks once a second; it is the same one whatever the number of databases.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use keel_cluster::{GroupDatabaseId, ReplicaId};
use keel_group::{Groups, GroupsState};
use parking_lot::{Condvar, Mutex};
use time::OffsetDateTime;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// Samples of a log's end that are kept: lags up to so many seconds are known.
const LINE_MAX: usize = 600;

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
    seen: i128,
    hardened: u64,
    applied: u64,
    rates: Rates,
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
                inner.moved((d.database, g.me), d.hardened.0, d.applied.0, now);
                for c in &d.copies {
                    inner.moved((d.database, c.replica), c.positions.hardened.0, c.positions.applied.0, now);
                }
            }
        }
    }

    /// How fast a copy moves.
    pub(super) fn rates(&self, database: GroupDatabaseId, replica: ReplicaId) -> Rates {
        self.inner.lock().copies.get(&(database, replica)).map(|m| m.rates).unwrap_or_default()
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

    fn moved(&mut self, copy: (GroupDatabaseId, ReplicaId), hardened: u64, applied: u64, now: i128) {
        let movement = self.copies.entry(copy).or_default();
        let nanos = now - movement.seen;
        if movement.seen > 0 {
            let (sent, redone) =
                (hardened.saturating_sub(movement.hardened), applied.saturating_sub(movement.applied));
            if sent > 0 {
                movement.rates.send = rate(sent, nanos);
            }
            if redone > 0 {
                movement.rates.redo = rate(redone, nanos);
            }
        }
        *movement = Movement { seen: now, hardened, applied, rates: movement.rates };
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
            samples.inner.lock().moved((d, r), hardened, applied, at * second);
        }
        assert_eq!(samples.rates(d, r), Rates { send: 1000, redo: 600 });
        samples.inner.lock().line(d, 500, 1);
        assert_eq!(samples.lag_seconds(d, 500, 500), Some(0));
        assert!(samples.lag_seconds(d, 400, 500) > Some(0), "it has not reached what was there in 1970");
    }
}
