//! Service Broker's objects. Names of all but queues are compared byte by byte.

use super::super::object_class as class;
use super::{CatalogKey, Picture, fold};
use crate::broker::definition::{
    ContractDef, FIRST_ID, MessageTypeDef, QueueDef, RouteDef, SYSTEM_CONTRACTS, SYSTEM_ROUTE,
    SYSTEM_SERVICES, SYSTEM_TYPES, ServiceDef,
};
use crate::catalog::{CatalogObject, SecurableRef};
use crate::event_notifications::definition::{EventNotificationDef, On};
use keel_query::catalog::{ObjectId, TableDef};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All of them, apart from the rest of the picture: most databases have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    pub message_types: BTreeMap<i32, Arc<MessageTypeDef>>,
    pub contracts: BTreeMap<i32, Arc<ContractDef>>,
    pub queues: BTreeMap<ObjectId, Arc<QueueDef>>,
    pub services: BTreeMap<i32, Arc<ServiceDef>>,
    pub routes: BTreeMap<i32, Arc<RouteDef>>,
    pub event_notifications: BTreeMap<ObjectId, Arc<EventNotificationDef>>,
}

impl Picture {
    pub(super) fn put_broker(&mut self, object: CatalogObject) {
        let key = object.key();
        let database = self.database;
        let all = Arc::make_mut(&mut self.broker);
        match object {
            CatalogObject::MessageType(d) => drop(all.message_types.insert(d.id, d)),
            CatalogObject::Contract(d) => drop(all.contracts.insert(d.id, d)),
            CatalogObject::Service(d) => drop(all.services.insert(d.id, d)),
            CatalogObject::Route(d) => drop(all.routes.insert(d.id, d)),
            CatalogObject::EventNotification(d) => drop(all.event_notifications.insert(d.id, d)),
            CatalogObject::Queue(mut d) => {
                // Renamed, moved, or of a copy that has another id.
                let (rows, of) = (&d.rows, (&d.name, d.schema_id));
                if rows.database != database || (&rows.name, rows.schema_id) != of {
                    let (name, schema_id) = (d.name.clone(), d.schema_id);
                    let rows = Arc::make_mut(&mut Arc::make_mut(&mut d).rows);
                    *rows = TableDef { database, name, schema_id, ..rows.clone() };
                }
                self.names.insert((d.schema_id, fold(&d.name)), (key, d.object_id));
                all.queues.insert(d.object_id, d);
            }
            _ => unreachable!("nothing else is the broker's"),
        }
    }

    pub(super) fn remove_broker(&mut self, key: CatalogKey) {
        let all = &*self.broker;
        let there = match key.class {
            class::MESSAGE_TYPE => all.message_types.contains_key(&key.id),
            class::CONTRACT => all.contracts.contains_key(&key.id),
            class::QUEUE => all.queues.contains_key(&key.id),
            class::SERVICE => all.services.contains_key(&key.id),
            class::EVENT_NOTIFICATION => all.event_notifications.contains_key(&key.id),
            _ => all.routes.contains_key(&key.id),
        };
        if !there {
            return;
        }
        let all = Arc::make_mut(&mut self.broker);
        match key.class {
            class::MESSAGE_TYPE => drop(all.message_types.remove(&key.id)),
            class::CONTRACT => drop(all.contracts.remove(&key.id)),
            class::SERVICE => drop(all.services.remove(&key.id)),
            class::ROUTE => drop(all.routes.remove(&key.id)),
            class::EVENT_NOTIFICATION => drop(all.event_notifications.remove(&key.id)),
            _ => {
                if let Some(d) = all.queues.remove(&key.id) {
                    self.names.remove(&(d.schema_id, fold(&d.name)));
                }
            }
        }
    }

    /// Leaves those that somebody sees.
    pub(super) fn see_broker(&mut self, sees: impl Fn(SecurableRef) -> bool) {
        let all = &*self.broker;
        if all.message_types.is_empty()
            && all.contracts.is_empty()
            && all.queues.is_empty()
            && all.services.is_empty()
            && all.routes.is_empty()
            && all.event_notifications.is_empty()
        {
            return;
        }
        let all = Arc::make_mut(&mut self.broker);
        all.message_types.retain(|id, _| sees(SecurableRef::MessageType(*id)));
        all.contracts.retain(|id, _| sees(SecurableRef::Contract(*id)));
        all.queues.retain(|id, _| sees(SecurableRef::Object(*id)));
        all.services.retain(|id, _| sees(SecurableRef::Service(*id)));
        all.routes.retain(|id, _| sees(SecurableRef::Route(*id)));
        all.event_notifications.retain(|_, d| match d.on {
            On::Queue(id) => sees(SecurableRef::Object(id)),
            On::Server | On::Database => sees(SecurableRef::Database),
        });
    }

    /// The event notifications by id.
    pub fn event_notifications(&self) -> impl Iterator<Item = &Arc<EventNotificationDef>> {
        self.broker.event_notifications.values()
    }

    /// Whether there is any queue: without one there are no conversations.
    #[must_use]
    pub fn has_queues(&self) -> bool {
        !self.broker.queues.is_empty()
    }

    /// The queues by id.
    pub fn queues(&self) -> impl Iterator<Item = &Arc<QueueDef>> {
        self.broker.queues.values()
    }

    /// A queue by id.
    #[must_use]
    pub fn queue(&self, id: ObjectId) -> Option<&Arc<QueueDef>> {
        self.broker.queues.get(&id)
    }

    /// The message types, those of every database first.
    pub fn message_types(&self) -> impl Iterator<Item = &Arc<MessageTypeDef>> {
        SYSTEM_TYPES.iter().chain(self.broker.message_types.values())
    }

    /// A message type by id.
    #[must_use]
    pub fn message_type(&self, id: i32) -> Option<&Arc<MessageTypeDef>> {
        if id < FIRST_ID {
            SYSTEM_TYPES.iter().find(|t| t.id == id)
        } else {
            self.broker.message_types.get(&id)
        }
    }

    /// A message type by name.
    #[must_use]
    pub fn message_type_named(&self, name: &str) -> Option<&Arc<MessageTypeDef>> {
        self.message_types().find(|t| t.name == name)
    }

    /// The contracts, those of every database first.
    pub fn contracts(&self) -> impl Iterator<Item = &Arc<ContractDef>> {
        SYSTEM_CONTRACTS.iter().chain(self.broker.contracts.values())
    }

    /// A contract by id.
    #[must_use]
    pub fn contract(&self, id: i32) -> Option<&Arc<ContractDef>> {
        if id < FIRST_ID {
            SYSTEM_CONTRACTS.iter().find(|c| c.id == id)
        } else {
            self.broker.contracts.get(&id)
        }
    }

    /// A contract by name.
    #[must_use]
    pub fn contract_named(&self, name: &str) -> Option<&Arc<ContractDef>> {
        self.contracts().find(|c| c.name == name)
    }

    /// The services by id.
    pub fn services(&self) -> impl Iterator<Item = &Arc<ServiceDef>> {
        self.broker.services.values()
    }

    /// A service by id, of the instance itself too.
    #[must_use]
    pub fn service(&self, id: i32) -> Option<&Arc<ServiceDef>> {
        if id < FIRST_ID {
            SYSTEM_SERVICES.iter().find(|s| s.id == id)
        } else {
            self.broker.services.get(&id)
        }
    }

    /// A service by name.
    #[must_use]
    pub fn service_named(&self, name: &str) -> Option<&Arc<ServiceDef>> {
        self.services().find(|s| s.name == name)
    }

    /// The routes: that of every database, unless it was dropped, and those that somebody made.
    pub fn routes(&self) -> impl Iterator<Item = &Arc<RouteDef>> {
        let own = &self.broker.routes;
        let of_all = (!own.contains_key(&SYSTEM_ROUTE.id)).then_some(&*SYSTEM_ROUTE);
        of_all.into_iter().chain(own.values().filter(|route| !route.dropped))
    }

    /// `principal_id` of the owner of one of the broker's objects other than queues.
    #[must_use]
    pub fn broker_owner(&self, on: SecurableRef) -> Option<i32> {
        match on {
            SecurableRef::MessageType(id) => self.message_type(id).map(|d| d.owner),
            SecurableRef::Contract(id) => self.contract(id).map(|d| d.owner),
            SecurableRef::Service(id) => self.service(id).map(|d| d.owner),
            SecurableRef::Route(id) => self.routes().find(|d| d.id == id).map(|d| d.owner),
            _ => None,
        }
    }

    /// The trees of queues.
    pub(super) fn queue_trees(&self) -> impl Iterator<Item = u32> {
        self.queues().flat_map(|q| q.rows.indexes.iter().map(|i| i.tree.0))
    }
}
