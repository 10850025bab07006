//! Firing triggers of the server and of databases on events, and telling the services that want to know of them.

use super::{Event, event, event_types, is_innermost, recursive};
use crate::engine::DatabaseEntry;
use crate::run::Runner;
use crate::session::info::{Info, Occasion};
use keel_query::catalog::{DATABASE_TRIGGERS, EventTriggerDef, ModuleDef, SERVER_TRIGGERS};
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    /// Fires what there is for these events, one after the other: the server's triggers, then the database's. `command` gives
    /// the text of the statement. An error, or a transaction that has ended, is the statement's.
    pub(crate) fn fire_events(&mut self, events: &[Event], command: &dyn Fn() -> String) -> Result<()> {
        events.iter().try_for_each(|event| self.fire_event(event, command))
    }

    fn fire_event(&mut self, event: &Event, command: &dyn Fn() -> String) -> Result<()> {
        let master = self.info.find_database("master").map(|m| (m, SERVER_TRIGGERS));
        let own = event.database.clone().map(|d| (d, DATABASE_TRIGGERS));
        let mut document = None;
        for (entry, scope) in master.into_iter().chain(own) {
            for trigger in self.triggers_of(event, &entry, scope) {
                let document = document.get_or_insert_with(|| event.document(self.info, &command())).clone();
                let occasion = Occasion::Event(document);
                super::run(&mut self.context_with(&mut []), &entry, &trigger, occasion)?;
            }
        }
        self.notify_event(event, &mut |info| {
            document.get_or_insert_with(|| event.document(info, &command())).clone()
        })
    }

    /// Fires what there is for an event that a procedure of the system brings.
    pub(crate) fn fire_event_of(&mut self, procedure: &str, event: Option<Event>) -> Result<()> {
        let calling = self.info.calling.borrow().clone();
        let command = || match &calling {
            Some((text, span)) => span.text(text).to_owned(),
            None => format!("EXEC {procedure}"),
        };
        self.fire_events(event.as_slice(), &command)
    }

    /// Those that fire, in order.
    fn triggers_of(&self, event: &Event, entry: &Arc<DatabaseEntry>, scope: i32) -> Vec<Arc<ModuleDef>> {
        let newborn = |m: &ModuleDef| {
            event.newborn.as_ref().is_some_and(|(s, name)| *s == scope && crate::views::same(name, &m.name))
        };
        let fires = |m: &Arc<ModuleDef>| {
            is_enabled(m)
                && m.events.as_ref().is_some_and(|e| event.is_among(&e.events))
                && !newborn(m)
                && (!is_innermost(self.info, entry, m.object_id) || recursive(entry))
        };
        let picture = self.info.picture(entry);
        let mut found: Vec<_> = picture.event_triggers(scope).filter(|m| fires(m)).cloned().collect();
        sort(&mut found, event.kind.name);
        found
    }

    /// Fires the server's triggers of LOGON: an error refuses the login.
    pub(crate) fn fire_logon(&mut self, pooled: bool) -> Result<()> {
        let Some(master) = self.info.find_database("master") else { return Ok(()) };
        let picture = self.info.picture(&master);
        let of_server = picture.event_triggers(SERVER_TRIGGERS);
        let mut found: Vec<_> = of_server.filter(|m| fires_on_logon(m)).cloned().collect();
        sort(&mut found, event_types::LOGON);
        for trigger in found {
            let occasion = Occasion::Event(event::logon_document(self.info, pooled));
            super::run(&mut self.context_with(&mut []), &master, &trigger, occasion)?;
        }
        Ok(())
    }
}

fn is_enabled(m: &ModuleDef) -> bool {
    m.trigger.is_some_and(|t| !t.disabled)
}

/// Whether a trigger waits for sessions to begin.
#[must_use]
pub fn any_logon(info: &Info) -> bool {
    let Some(master) = info.find_database("master") else { return false };
    let picture = master.picture();
    picture.event_triggers(SERVER_TRIGGERS).any(|m| fires_on_logon(m))
}

fn fires_on_logon(m: &ModuleDef) -> bool {
    is_enabled(m) && m.events.as_ref().is_some_and(|e| e.events.iter().any(|n| n == event_types::LOGON))
}

/// One may be the first for an event, one the last; the others go by age.
fn sort(triggers: &mut [Arc<ModuleDef>], event: &str) {
    let has = |names: &[String]| names.iter().any(|n| n == event);
    let rank = |e: &EventTriggerDef| i8::from(has(&e.last)) - i8::from(has(&e.first));
    triggers.sort_by_key(|m| (m.events.as_ref().map(|e| rank(e)), m.object_id));
}
