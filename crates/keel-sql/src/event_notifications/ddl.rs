//! CREATE and DROP EVENT NOTIFICATION, and who may.

use super::definition::{EventNotificationDef, On};
use super::types;
use crate::broker::guid_text;
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, Named, SecurableRef, object_class};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::program::Program;
use crate::run::Runner;
use crate::triggers::event_types;
use keel_parser::ast::{EventNotification, EventScope, Ident, ObjectName};
use keel_types::error::Result;
use smol_str::SmolStr;
use std::sync::Arc;

impl Runner<'_> {
    /// The database that keeps the notifications of a scope, and what they are on. Error 208 or the like when a queue is not there.
    fn place_of_scope(&self, program: &Program, scope: &EventScope) -> Result<(Arc<DatabaseEntry>, On)> {
        match scope {
            EventScope::Server => Ok((self.info.master()?, On::Server)),
            EventScope::Database => Ok((self.info.current_database(), On::Database)),
            EventScope::Queue(name) => match self.named(program, name) {
                Some((entry, Named::Queue(queue))) => Ok((entry, On::Queue(queue.object_id))),
                _ => Err(errors::cannot_alter_principal("find", "queue", &name.name.text)),
            },
        }
    }

    /// Whether the session may make or drop notifications of a scope.
    pub(crate) fn may_define_event_notification(
        &self,
        program: &Program,
        verb: &str,
        scope: &EventScope,
        events: &[SmolStr],
    ) -> Result<()> {
        let (entry, on) = self.place_of_scope(program, scope)?;
        let trace = events.iter().any(|e| types::named(e).is_some() || types::group(e).is_some());
        let may = match on {
            On::Server => {
                self.info.may_on_server("ALTER ANY EVENT NOTIFICATION")
                    || verb == "CREATE"
                        && self.info.may_on_server(if trace {
                            "CREATE TRACE EVENT NOTIFICATION"
                        } else {
                            "CREATE DDL EVENT NOTIFICATION"
                        })
            }
            On::Database => {
                self.info.may(&entry, "ALTER ANY DATABASE EVENT NOTIFICATION", SecurableRef::Database)
                    || verb == "CREATE"
                        && self.info.may(
                            &entry,
                            "CREATE DATABASE DDL EVENT NOTIFICATION",
                            SecurableRef::Database,
                        )
            }
            On::Queue(id) => self.info.may(&entry, "ALTER", SecurableRef::Object(id)),
        };
        if may { Ok(()) } else { Err(errors::no_permission("")) }
    }

    pub(crate) fn create_event_notification(
        &mut self,
        program: &Program,
        n: &EventNotification,
    ) -> Result<()> {
        let (entry, on) = self.place_of_scope(program, &n.on)?;
        for event in &n.events {
            check_event(event, on)?;
        }
        let picture = self.info.picture(&entry);
        let name = &*n.name.text;
        if picture.event_notifications().any(|other| other.on == on && crate::views::same(name, &other.name))
        {
            return Err(errors::object_exists(name));
        }
        let broker = match &*n.broker {
            here if here.eq_ignore_ascii_case("current database") => {
                guid_text(&self.info.current_database().broker_id())
            }
            given => given.trim().to_owned(),
        };
        let def = EventNotificationDef {
            id: entry.allocate_object(),
            name: name.to_owned(),
            on,
            fan_in: n.fan_in,
            events: n.events.iter().map(|e| e.to_ascii_uppercase()).collect(),
            service: n.service.to_string(),
            broker,
            owner: self.info.token_in(&entry).map_or(crate::catalog::DBO_USER, |token| token.user),
            sid: self.info.own_sid(),
            created: self.info.engine.now_local(),
        };
        self.put(&entry, CatalogObject::EventNotification(Arc::new(def)))?;
        self.info.engine.subscriptions.sends(entry.id);
        Ok(())
    }

    pub(crate) fn drop_event_notifications(
        &mut self,
        program: &Program,
        names: &[Ident],
        scope: &EventScope,
    ) -> Result<()> {
        let (entry, on) = self.place_of_scope(program, scope)?;
        for name in names {
            let picture = self.info.picture(&entry);
            let found = picture
                .event_notifications()
                .find(|n| n.on == on && crate::views::same(&n.name, &name.text))
                .map(|n| n.id);
            let missing =
                || errors::cannot_drop_missing("event notification", ObjectName::simple(name.clone()));
            let id = found.ok_or_else(missing)?;
            self.change(
                &entry,
                CatalogOp::Remove(CatalogKey { class: object_class::EVENT_NOTIFICATION, id }),
            )?;
        }
        Ok(())
    }
}

/// Whether there can be a notification of an event: errors 1084 and 1098, and 40517 for what is not told of here.
fn check_event(event: &str, on: On) -> Result<()> {
    if let Some(raised) = types::named(event) {
        let fits = match on {
            On::Queue(_) => raised.is_of_queue(),
            On::Server => true,
            On::Database => false,
        };
        return if fits { Ok(()) } else { Err(errors::event_not_here()) };
    }
    if types::group(event).is_some() {
        return if on == On::Server { Ok(()) } else { Err(errors::event_not_here()) };
    }
    if let Some(known) = event_types::named(event) {
        let fits = match on {
            On::Server => true,
            On::Database => !known.is_server_level(),
            On::Queue(_) => false,
        };
        return if fits { Ok(()) } else { Err(errors::event_not_here()) };
    }
    if types::is_elsewhere(event) {
        return Err(errors::not_supported(format!(
            "An event notification of {}",
            event.to_ascii_uppercase()
        )));
    }
    Err(errors::no_event(event))
}
