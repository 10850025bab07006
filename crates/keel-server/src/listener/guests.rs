//! Who is connected with the listeners' own addresses here: the other members are told, so that whoever takes the addresses over can
//! end these connections.

use std::time::{Duration, Instant};

use keel_group::ClientConnection;

/// How often they are told of changes at most: more rarely the more there are, since all are named each time.
const TELL_AFTER: Duration = Duration::from_millis(20);
const TELL_AFTER_EACH: Duration = Duration::from_micros(50);

/// What the others have been told. Owned by the listener thread.
#[derive(Default)]
pub(super) struct Told {
    last: Vec<ClientConnection>,
    at: Option<Instant>,
    /// There is something to tell, and it is too early.
    due_at: Option<Instant>,
}

impl Told {
    /// Whether they are to be told at `now` that these are the connections; if so, they count as told.
    pub(super) fn is_due(&mut self, now: Instant, connections: &mut Vec<ClientConnection>) -> bool {
        connections.sort_unstable();
        self.due_at = None;
        if *connections == self.last {
            return false;
        }
        let count = u32::try_from(connections.len()).unwrap_or(u32::MAX);
        let due_at = self.at.map_or(now, |at| at + TELL_AFTER.max(TELL_AFTER_EACH * count));
        if now < due_at {
            self.due_at = Some(due_at);
            return false;
        }
        self.at = Some(now);
        self.last.clone_from(connections);
        true
    }

    /// When it is time for what it was too early for.
    pub(super) fn next(&self, now: Instant) -> Option<Duration> {
        self.due_at.map(|at| at.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(port: u16) -> ClientConnection {
        ClientConnection { client: ([10, 0, 0, 1], port).into(), own: ([10, 0, 0, 9], 1500).into() }
    }

    #[test]
    fn others_hear_of_changes_once() {
        let (mut told, began) = (Told::default(), Instant::now());
        let mut due = |ms, ports: &[u16]| {
            let mut connections: Vec<_> = ports.iter().copied().map(connection).collect();
            told.is_due(began + Duration::from_millis(ms), &mut connections)
        };
        assert!(!due(0, &[]), "nobody was ever here");
        assert!(due(10, &[2, 1]) && !due(40, &[1, 2]));
        assert!(due(50, &[1]) && !due(6_000, &[1]));
        assert!(due(7_000, &[]) && !due(20_000, &[]), "the end is told once");
    }

    #[test]
    fn thousands_of_connections_are_told_less_often() {
        let (mut told, began) = (Told::default(), Instant::now());
        let mut many: Vec<_> = (0..10_000).map(connection).collect();
        assert!(told.is_due(began, &mut many));
        many.pop();
        assert!(!told.is_due(began + Duration::from_millis(400), &mut many));
        assert!(told.is_due(began + Duration::from_millis(500), &mut many));
    }
}
