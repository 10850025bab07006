//! Sessions that wait for a lock longer than `blocked process threshold (s)`: told once for each multiple of it.

use super::actor::InDatabase;
use super::catalog::{Event, Field};
use crate::config::BLOCKED_PROCESS_THRESHOLD;
use crate::engine::Engine;
use crate::event_notifications::raise::{Elements, Place};
use crate::event_notifications::types::Raised;
use keel_store::lock::{Resource, WaitInfo};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// What has been told, between two looks. Kept by who looks every second.
#[derive(Default)]
pub struct Blocked {
    /// By session: multiples of the threshold that were told of its wait.
    told: HashMap<u64, u64>,
    turns: u64,
}

impl Blocked {
    /// Looks who waits, and tells it to the event sessions that want it.
    pub fn look(&mut self, engine: &Engine) {
        let threshold = u64::try_from(engine.configuration(BLOCKED_PROCESS_THRESHOLD).running).unwrap_or(0);
        let wanted = engine.events.wants(Event::BlockedProcessReport)
            || !engine.who_wants(Raised::BlockedProcessReport, Place::default()).is_empty();
        if threshold == 0 || !wanted {
            self.told.clear();
            return;
        }
        self.turns += 1;
        let waiting = engine.instance().locks().waiting();
        for wait in self.due(&waiting, threshold) {
            engine.fire_blocked(wait, self.turns);
        }
    }

    /// Those whose wait has come to another multiple of the threshold.
    fn due<'w>(&mut self, waiting: &'w [WaitInfo], threshold: u64) -> Vec<&'w WaitInfo> {
        let before = std::mem::take(&mut self.told);
        let mut due = Vec::new();
        for wait in waiting {
            let times = wait.waited.as_secs() / threshold;
            if times == 0 {
                continue;
            }
            // A new wait of the same session begins anew: it is shorter than what was told.
            if before.get(&wait.agent).is_none_or(|told| *told != times) {
                due.push(wait);
            }
            self.told.insert(wait.agent, times);
        }
        due
    }
}

impl Engine {
    fn fire_blocked(&self, wait: &WaitInfo, turn: u64) {
        let Some(report) = self.blocked_report(wait, turn) else { return };
        let resource = wait.resource.as_ref();
        let database = resource.database();
        let name = self.database_by_id(database).map(|entry| entry.name().to_string()).unwrap_or_default();
        let object = match resource {
            Resource::Object(_, id) => Field::from(id as i32),
            _ => Field::from(0i32),
        };
        let place = Place { database: Some(database), queue: None };
        self.raise(Raised::BlockedProcessReport, place, 0, || {
            let object_id = match resource {
                Resource::Object(_, id) => id as i32,
                _ => 0,
            };
            Elements::default()
                .holding("TextData", &report)
                .with("DatabaseID", &database.0.to_string())
                .with("Duration", &wait.waited.as_micros().to_string())
                .with("ObjectID", &object_id.to_string())
                .with("ServerName", &self.options().server_name)
        });
        let session = u32::try_from(wait.agent).ok().and_then(|id| self.sessions.get(id));
        let transaction = session.map_or(0, |s| s.transaction_id.load(Ordering::Relaxed));
        let fields = [
            (wait.waited.as_micros() as u64).into(),
            database.0.into(),
            object,
            wait.mode.name().into(),
            transaction.into(),
            report.into(),
            name.as_str().into(),
        ];
        self.events.fire(Event::BlockedProcessReport, self.now_utc(), &InDatabase { name: &name }, &fields);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::DatabaseId;
    use keel_store::lock::Mode;
    use std::time::Duration;

    fn wait(agent: u64, seconds: u64) -> WaitInfo {
        WaitInfo {
            agent,
            resource: Resource::Object(DatabaseId(5), 7).to_owned(),
            mode: Mode::X,
            waited: Duration::from_secs(seconds),
            blocked_by: vec![99],
        }
    }

    #[test]
    fn each_multiple_is_told_once() {
        let mut blocked = Blocked::default();
        let mut due =
            |waits: &[WaitInfo]| -> Vec<u64> { blocked.due(waits, 5).iter().map(|w| w.agent).collect() };
        assert_eq!(due(&[wait(51, 4), wait(52, 5)]), [52]);
        assert_eq!(due(&[wait(51, 5), wait(52, 6)]), [51]);
        assert_eq!(due(&[wait(52, 10)]), [52]);
        assert_eq!(due(&[]), [0u64; 0]);
        assert_eq!(due(&[wait(52, 11)]), [52], "another wait");
    }
}
