//! The messages of event notifications.

use super::definition::{EventNotificationDef, On};
use crate::broker::definition::{EVENT_NOTIFICATION, EVENT_SERVICE, POST_EVENT_CONTRACT};
use crate::broker::{Notice, Sent};
use crate::catalog::{CatalogKey, CatalogOp, object_class};
use crate::engine::{DatabaseEntry, MASTER};
use crate::run::Runner;
use crate::session::info::Info;
use crate::triggers::Event;
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

/// Whether two notifications WITH FAN_IN have one message of an event.
pub(super) fn is_fanned_in(a: &EventNotificationDef, b: &EventNotificationDef) -> bool {
    a.fan_in && b.fan_in && (&a.sid, &a.service, &a.broker) == (&b.sid, &b.service, &b.broker)
}

impl Runner<'_> {
    /// Tells of a definition that was changed, in the statement's transaction.
    pub(crate) fn notify_event(
        &mut self,
        event: &Event,
        document: &mut dyn FnMut(&Info) -> Value,
    ) -> Result<()> {
        let own = event.database.clone().filter(|d| d.id != MASTER);
        let master = self.info.find_database("master");
        for entry in master.into_iter().chain(own) {
            let picture = self.info.picture(&entry);
            let here = |n: &&Arc<EventNotificationDef>| match n.on {
                On::Server => true,
                On::Database => event.database.as_ref().is_some_and(|d| d.id == entry.id),
                On::Queue(_) => false,
            };
            let newborn = |n: &EventNotificationDef| {
                event.kind.name == "CREATE_EVENT_NOTIFICATION"
                    && event.said("ObjectName").is_some_and(|name| crate::views::same(name, &n.name))
            };
            let wanted: Vec<_> = picture
                .event_notifications()
                .filter(here)
                .filter(|n| event.is_among(&n.events) && !newborn(n))
                .cloned()
                .collect();
            for (at, notification) in wanted.iter().enumerate() {
                if wanted[..at].iter().any(|other| is_fanned_in(other, notification)) {
                    continue;
                }
                if let Value::Str(body) = document(self.info) {
                    self.send_event(&entry, notification, event.kind.name, &body)?;
                }
            }
        }
        Ok(())
    }

    /// Sends one. A notification whose service is not there is dropped.
    fn send_event(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        n: &EventNotificationDef,
        kind: &str,
        body: &str,
    ) -> Result<()> {
        let notice = Notice {
            from: EVENT_SERVICE,
            contract: POST_EVENT_CONTRACT,
            message_type: EVENT_NOTIFICATION,
            to: &n.service,
            broker: Some(&n.broker),
            owner: n.owner,
            body,
        };
        let Sent::Failed { handle, why } = self.send_notice(entry, &notice)? else { return Ok(()) };
        let log = &self.info.engine.options().log;
        let handle = crate::broker::guid_text(&handle);
        log.write(&format!(
            "Failure to send an event notification instance of type '{kind}' on conversation handle '{handle}'. Error Code = '{why}'."
        ));
        log.write(&format!(
            "Event notification '{}' in database '{}' dropped due to send time service broker errors. Check to ensure the conversation handle, service broker contract, and service specified in the event notification are active.",
            n.name,
            entry.name()
        ));
        let key = CatalogKey { class: object_class::EVENT_NOTIFICATION, id: n.id };
        self.change(entry, CatalogOp::Remove(key))
    }

    /// Sends what was raised for the notifications of a database. Says whether some could not be sent.
    pub(crate) fn send_raised(&mut self, entry: &Arc<DatabaseEntry>) -> Result<bool> {
        let (mut left, mut failed) = (false, Ok(()));
        for waiting in self.info.engine.raised.take(entry.id) {
            let sent = self.in_statement(|runner| {
                let picture = runner.info.picture(entry);
                // It may have been dropped meanwhile.
                let there = picture.event_notifications().any(|n| n.id == waiting.notification.id);
                if !there {
                    return Ok(());
                }
                runner.send_event(entry, &waiting.notification, waiting.kind, &waiting.body)
            });
            if sent.is_err() {
                self.info.engine.raised.put_back(waiting);
                left = true;
            }
            failed = failed.and(sent);
        }
        failed.map(|()| left)
    }
}
