//! Event sessions of an instance: rows of master, and those that run.

use super::actor::Existing;
use super::catalog::Event;
use super::definition::Definition;
use super::errors;
use super::running::Running;
use super::shipped;
use super::target::Surroundings;
use crate::catalog::object_class;
use crate::engine::Engine;
use crate::event_notifications::raise::{Elements, Place};
use crate::event_notifications::types::Raised;
use keel_types::error::Result;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Engine {
    /// The event sessions there are, by number.
    pub fn event_sessions(&self) -> Result<Vec<Definition>> {
        let mut all: Vec<Definition> = self.master_rows(object_class::EVENT_SESSION)?;
        all.sort_by_key(|d| d.id);
        Ok(all)
    }

    /// The event session of that name.
    pub fn event_session(&self, name: &str) -> Result<Option<Definition>> {
        let same = |d: &Definition| crate::views::same(&d.name, name);
        Ok(self.event_sessions()?.into_iter().find(same))
    }

    /// Keeps a new or changed session; number 0 gets the next free one.
    pub fn put_event_session(&self, definition: &mut Definition) -> Result<()> {
        if definition.id == 0 {
            let used = self.event_sessions()?.iter().map(|d| d.id).max().unwrap_or(0);
            definition.id = used.max(shipped::ALWAYSON_HEALTH) + 1;
        }
        self.put_master_row(object_class::EVENT_SESSION, definition.id, Some(&*definition))
    }

    /// Stops and forgets one.
    pub fn drop_event_session(&self, id: i32) -> Result<()> {
        self.put_master_row::<Definition>(object_class::EVENT_SESSION, id, None)?;
        self.events.stop(id);
        Ok(())
    }

    /// Where files of events are that are named without a directory: beside the error log.
    #[must_use]
    pub fn event_directory(&self) -> PathBuf {
        self.options().data_dir.join("log")
    }

    /// Starts a session, or has the running one go on with another definition.
    pub fn start_event_session(&self, definition: Definition) -> Result<()> {
        let dir = self.event_directory();
        let options = self.options();
        let around =
            Surroundings { disk: &options.env.disk, dir: &dir, log: &options.log, now: self.now_utc() };
        let before = self.events.running(definition.id);
        let started = before.as_ref().map_or_else(|| self.now_local(), |b| b.started);
        let running = Running::start(definition, started, before.as_deref(), &around)
            .map_err(|(target, e)| errors::not_initialized("target", format!("package0.{target}"), e))?;
        let running = Arc::new(running);
        self.events.start(Arc::clone(&running));
        if before.is_none() && running.wants(Event::ExistingConnection) {
            self.tell_existing(&running);
        }
        Ok(())
    }

    /// Tells a session that starts who is connected.
    fn tell_existing(&self, running: &Running) {
        for session in self.sessions.all() {
            let database = session.database.load(Ordering::Relaxed);
            let name = self.database_name(database);
            let size = session.login.packet_size;
            let fields = [false.into(), false.into(), database.into(), size.into(), name.into()];
            let actor = Existing { engine: self, session: &session };
            running.take(Event::ExistingConnection, self.now_utc(), 0, &actor, &fields);
        }
    }

    /// Where there is no session, as at the first start, the shipped ones are made; those run that say so.
    pub fn begin_event_sessions(&self) -> Result<()> {
        if self.event_sessions()?.is_empty() {
            for mut shipped in [shipped::system_health(), shipped::alwayson_health()] {
                self.put_event_session(&mut shipped)?;
            }
        }
        for definition in self.event_sessions()?.into_iter().filter(|d| d.options.startup) {
            let name = definition.name.clone();
            if let Err(e) = self.start_event_session(definition) {
                self.options().log.write(&format!("Event session \"{name}\" failed to start. {}", e.message));
            }
        }
        Ok(())
    }

    /// This instance is about to have an availability group: its health session runs from now on, with every start, unless somebody
    /// has dropped it. When it cannot, the error log says so, and the group is made all the same.
    pub fn begin_group_health(&self) {
        let begin = || {
            let _admin = self.events.admin.lock();
            let Some(mut health) = self.event_session(shipped::ALWAYSON_HEALTH_NAME)? else { return Ok(()) };
            if self.events.running(health.id).is_some() {
                return Ok(());
            }
            health.options.startup = true;
            self.put_event_session(&mut health)?;
            self.start_event_session(health)
        };
        if let Err(e) = begin() {
            let e: Box<keel_types::SqlError> = e;
            let text =
                format!("Event session \"{}\" failed to start. {}", shipped::ALWAYSON_HEALTH_NAME, e.message);
            self.options().log.write(&text);
        }
    }

    /// A deadlock was resolved.
    pub(crate) fn fire_deadlock(&self, graph: &keel_store::lock::DeadlockGraph) {
        self.raise(Raised::DeadlockGraph, Place::default(), 0, || {
            let report = format!("<deadlock-list>{}</deadlock-list>", self.deadlock_report(graph));
            Elements::default().holding("TextData", &report).with("ServerName", &self.options().server_name)
        });
        if self.events.wants(Event::XmlDeadlockReport) {
            let report = self.deadlock_report(graph);
            let (now, nobody) = (self.now_utc(), super::actor::Nobody);
            self.events.fire(Event::XmlDeadlockReport, now, &nobody, &[report.into()]);
        }
    }
}
