//! CREATE, ALTER and DROP of the broker's objects, and who may.

use super::definition::{
    ActivationDef, ContractDef, ContractMessage, FIRST_ID, LOCAL_ROUTE, MessageTypeDef, QueueDef, RouteDef,
    ServiceDef, ValidationDef,
};
use super::errors;
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, Named, Picture, SecurableRef, object_class};
use crate::engine::DatabaseEntry;
use crate::errors::cannot_alter_principal as missing;
use crate::program::Program;
use crate::run::Runner;
use keel_parser::ast::{
    self, ActivationOptions, ActivationUser, BrokerClass, BrokerStatement as S, QueueOptions, RouteOptions,
    SentBy, Validation,
};
use keel_query::catalog::{Catalog as _, EXECUTE_AS_OWNER, ModuleKind};
use keel_types::error::Result;
use std::sync::Arc;

const TICKS_PER_SECOND: i64 = 10_000_000;

/// Verb, class and name of a statement, for triggers.
pub(crate) fn named_by(s: &S) -> (&'static str, &'static str, ast::ObjectName) {
    let simple = |name: &ast::Ident| ast::ObjectName::simple(name.clone());
    match s {
        S::CreateMessageType { name, .. } => ("CREATE", "MESSAGE TYPE", simple(name)),
        S::AlterMessageType { name, .. } => ("ALTER", "MESSAGE TYPE", simple(name)),
        S::CreateContract { name, .. } => ("CREATE", "CONTRACT", simple(name)),
        S::CreateQueue { name, .. } => ("CREATE", "QUEUE", name.clone()),
        S::AlterQueue { name, .. } | S::MaintainQueue { name } => ("ALTER", "QUEUE", name.clone()),
        S::CreateService { name, .. } => ("CREATE", "SERVICE", simple(name)),
        S::AlterService { name, .. } => ("ALTER", "SERVICE", simple(name)),
        S::CreateRoute { name, .. } => ("CREATE", "ROUTE", simple(name)),
        S::AlterRoute { name, .. } => ("ALTER", "ROUTE", simple(name)),
        S::CreateEventNotification(n) => ("CREATE", "EVENT NOTIFICATION", simple(&n.name)),
        S::DropEventNotification { names, .. } => ("DROP", "EVENT NOTIFICATION", simple(&names[0])),
        S::Drop { class, name, .. } => ("DROP", title(*class), name.clone()),
    }
}

fn title(class: BrokerClass) -> &'static str {
    match class {
        BrokerClass::MessageType => "MESSAGE TYPE",
        BrokerClass::Contract => "CONTRACT",
        BrokerClass::Queue => "QUEUE",
        BrokerClass::Service => "SERVICE",
        BrokerClass::Route => "ROUTE",
    }
}

/// What a permission on one of the broker's objects is on, and what ALL means for it.
pub(crate) fn securable(
    picture: &Picture,
    class: &str,
    name: &str,
) -> Option<(SecurableRef, &'static [&'static str])> {
    Some(match class {
        "MESSAGE TYPE" => (SecurableRef::MessageType(picture.message_type_named(name)?.id), &["REFERENCES"]),
        "CONTRACT" => (SecurableRef::Contract(picture.contract_named(name)?.id), &["REFERENCES"]),
        "SERVICE" => (SecurableRef::Service(picture.service_named(name)?.id), &["SEND"]),
        _ => (SecurableRef::Route(picture.routes().find(|r| r.name == name)?.id), &["CONTROL"]),
    })
}

impl Runner<'_> {
    /// Refuses what the session may not do.
    pub(crate) fn may_define_broker(
        &self,
        entry: &Arc<DatabaseEntry>,
        program: &Program,
        s: &S,
    ) -> Result<()> {
        match s {
            S::CreateEventNotification(n) => {
                return self.may_define_event_notification(program, "CREATE", &n.on, &n.events);
            }
            S::DropEventNotification { on, .. } => {
                return self.may_define_event_notification(program, "DROP", on, &[]);
            }
            _ => {}
        }
        let (verb, class, name) = named_by(s);
        let lower = verb.to_lowercase();
        if class == "QUEUE" {
            if verb == "CREATE" {
                return self.may_create("CREATE QUEUE", &name);
            }
            // What is not there has an error of its own.
            let Some((entry, object, schema)) = self.object(program, &name) else { return Ok(()) };
            let permission = if verb == "DROP" { "CONTROL" } else { "ALTER" };
            let may = self.info.may(&entry, permission, SecurableRef::Object(object))
                || self.info.may(&entry, "ALTER", SecurableRef::Schema(schema));
            return if may { Ok(()) } else { Err(missing(lower, "queue", &name.name.text)) };
        }
        if verb == "CREATE" {
            return self.may_here_or_262(entry, &format!("CREATE {class}"));
        }
        let Some((on, _)) = securable(&self.info.picture(entry), class, &name.name.text) else {
            return Ok(());
        };
        let permission = if verb == "DROP" { "CONTROL" } else { "ALTER" };
        let may = self.info.may(entry, permission, on)
            || self.info.may(entry, &format!("ALTER ANY {class}"), SecurableRef::Database);
        if may { Ok(()) } else { Err(missing(lower, class.to_lowercase(), &name.name.text)) }
    }

    pub(crate) fn broker_statement(&mut self, program: &Arc<Program>, s: &S) -> Result<()> {
        let entry = self.info.current_database();
        if entry.is_read_only() {
            return Err(crate::errors::database_read_only(entry.name()));
        }
        match s {
            S::CreateEventNotification(n) => self.create_event_notification(program, n),
            S::DropEventNotification { names, on } => self.drop_event_notifications(program, names, on),
            S::CreateMessageType { name, owner, validation } => {
                self.create_message_type(program, &entry, name, owner.as_ref(), validation)
            }
            S::AlterMessageType { name, validation } => {
                let picture = self.info.picture(&entry);
                let found = picture.message_type_named(&name.text);
                let found = found.ok_or_else(|| missing("alter", "message type", &name.text))?;
                if found.id < FIRST_ID {
                    return Err(errors::system_object());
                }
                let validation = self.validation(program, &entry, validation)?;
                let def = MessageTypeDef { validation, ..(**found).clone() };
                self.put(&entry, CatalogObject::MessageType(Arc::new(def)))
            }
            S::CreateContract { name, owner, messages } => {
                self.create_contract(&entry, name, owner.as_ref(), messages)
            }
            S::CreateQueue { name, options } => self.create_queue(program, name, options),
            S::AlterQueue { name, options } => {
                let (entry, queue) = self.queue_to("alter", program, name)?;
                self.lock_schema(entry.id, queue.object_id)?;
                let def = self.with_options(program, &entry, (*queue).clone(), options)?;
                self.put(&entry, CatalogObject::Queue(Arc::new(def)))?;
                self.touch_queue(&entry, queue.object_id);
                Ok(())
            }
            // Where messages lie is the store's business.
            S::MaintainQueue { name } => self.queue_to("alter", program, name).map(|_| ()),
            S::CreateService { name, owner, queue, contracts } => {
                self.create_service(program, &entry, (name, owner.as_ref()), queue, contracts)
            }
            S::AlterService { name, queue, contracts } => {
                self.alter_service(program, &entry, name, queue.as_ref(), contracts)
            }
            S::CreateRoute { name, owner, options } => {
                self.create_route(&entry, name, owner.as_ref(), options)
            }
            S::AlterRoute { name, options } => {
                let picture = self.info.picture(&entry);
                let found = picture.routes().find(|r| r.name == *name.text).cloned();
                let found = found.ok_or_else(|| missing("alter", "route", &name.text))?;
                let def = self.route((*found).clone(), options)?;
                self.put(&entry, CatalogObject::Route(Arc::new(def)))
            }
            S::Drop { class, name, if_exists } => {
                self.drop_of_broker(program, &entry, *class, name, *if_exists)
            }
        }
    }

    /// What ALTER DATABASE SET does to conversations before it changes the broker's options. Error 9772.
    pub(crate) fn prepare_broker(&mut self, entry: &Arc<DatabaseEntry>, options: &[ast::Opt]) -> Result<()> {
        let says = |name: &str| options.iter().any(|o| o.name == name);
        if says("ENABLE_BROKER") && !entry.has_broker() {
            let id = entry.broker_id();
            let same = |d: &Arc<DatabaseEntry>| d.id != entry.id && d.has_broker() && d.broker_id() == id;
            if self.info.engine.databases().iter().any(same) {
                return Err(errors::same_broker(entry.name()));
            }
        }
        if !entry.picture().has_queues() {
            return Ok(());
        }
        if says("ERROR_BROKER_CONVERSATIONS") {
            let why = keel_types::SqlError::new(
                9719,
                16,
                1,
                "The database for this conversation endpoint is attached or restored.",
            );
            return self.in_statement(|runner| runner.fail_all(entry, &why));
        }
        if says("NEW_BROKER") {
            return self.in_statement(|runner| runner.forget_all(entry));
        }
        Ok(())
    }

    /// Gives an object of the broker to somebody.
    pub(crate) fn give_broker_object(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        class: &str,
        name: &str,
        to: &ast::Ident,
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        let gone = || missing("find", class.to_lowercase(), name);
        let (on, _) = securable(&picture, class, name).ok_or_else(gone)?;
        if !self.info.may(entry, "TAKE OWNERSHIP", on) && !self.info.may(entry, "CONTROL", on) {
            return Err(gone());
        }
        let owner = self.broker_owner_named(entry, Some(to))?;
        let object = match on {
            SecurableRef::MessageType(id) if id >= FIRST_ID => picture
                .message_type(id)
                .map(|d| CatalogObject::MessageType(Arc::new(MessageTypeDef { owner, ..(**d).clone() }))),
            SecurableRef::Contract(id) if id >= FIRST_ID => picture
                .contract(id)
                .map(|d| CatalogObject::Contract(Arc::new(ContractDef { owner, ..(**d).clone() }))),
            SecurableRef::Service(id) => picture
                .service(id)
                .map(|d| CatalogObject::Service(Arc::new(ServiceDef { owner, ..(**d).clone() }))),
            SecurableRef::Route(id) => {
                let found = picture.routes().find(|d| d.id == id);
                found.map(|d| CatalogObject::Route(Arc::new(RouteDef { owner, ..(**d).clone() })))
            }
            _ => None,
        };
        self.put(entry, object.ok_or_else(errors::system_object)?)
    }

    /// AUTHORIZATION, or who the session is.
    fn broker_owner_named(&self, entry: &Arc<DatabaseEntry>, name: Option<&ast::Ident>) -> Result<i32> {
        match name {
            Some(name) => {
                let found = self.info.picture(entry).principal_named(&name.text);
                Ok(found.ok_or_else(|| missing("find", "user", &name.text))?.principal_id)
            }
            None => Ok(self.info.token_in(entry).map_or(crate::catalog::DBO_USER, |token| token.user)),
        }
    }

    // ---- message types and contracts ----

    fn create_message_type(
        &mut self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        name: &ast::Ident,
        owner: Option<&ast::Ident>,
        validation: &Validation,
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        if picture.message_type_named(&name.text).is_some() {
            return Err(crate::errors::object_exists(&name.text));
        }
        let def = MessageTypeDef {
            id: next_id(picture.message_types().map(|d| d.id)),
            name: name.text.to_string(),
            owner: self.broker_owner_named(entry, owner)?,
            validation: self.validation(program, entry, validation)?,
        };
        self.put(entry, CatalogObject::MessageType(Arc::new(def)))
    }

    fn validation(
        &self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        validation: &Validation,
    ) -> Result<ValidationDef> {
        Ok(match validation {
            Validation::None => ValidationDef::None,
            Validation::Empty => ValidationDef::Empty,
            Validation::WellFormedXml => ValidationDef::WellFormedXml,
            Validation::ValidXml(collection) => {
                let place = self.place(program, collection)?;
                let picture = self.info.picture(entry);
                let found = picture.xml_collection_named(place.schema_id, &place.name);
                let gone = || keel_query::errors::no_xml_collection(&collection.name.text);
                ValidationDef::ValidXml(found.ok_or_else(gone)?.collection_id)
            }
        })
    }

    fn create_contract(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &ast::Ident,
        owner: Option<&ast::Ident>,
        messages: &[(ast::Ident, SentBy)],
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        if picture.contract_named(&name.text).is_some() {
            return Err(crate::errors::object_exists(&name.text));
        }
        let mut of: Vec<ContractMessage> = Vec::new();
        for (named, by) in messages {
            let found = picture.message_type_named(&named.text);
            let found = found.ok_or_else(|| errors::no_message_type(&named.text))?;
            if of.iter().any(|m| m.message_type == found.id) {
                return Err(errors::message_type_twice(&named.text));
            }
            of.push(ContractMessage {
                message_type: found.id,
                by_initiator: *by != SentBy::Target,
                by_target: *by != SentBy::Initiator,
            });
        }
        if !of.iter().any(|m| m.by_initiator) {
            return Err(errors::nothing_by_initiator(&name.text));
        }
        let def = ContractDef {
            id: next_id(picture.contracts().map(|d| d.id)),
            name: name.text.to_string(),
            owner: self.broker_owner_named(entry, owner)?,
            messages: of,
        };
        self.put(entry, CatalogObject::Contract(Arc::new(def)))
    }

    // ---- queues ----

    /// A queue by name. Error 15151.
    pub(super) fn queue_to(
        &self,
        verb: &str,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Result<(Arc<DatabaseEntry>, Arc<QueueDef>)> {
        match self.named(program, name) {
            Some((entry, Named::Queue(queue))) => Ok((entry, queue)),
            _ => Err(missing(verb, "queue", &name.name.text)),
        }
    }

    fn create_queue(
        &mut self,
        program: &Arc<Program>,
        name: &ast::ObjectName,
        options: &QueueOptions,
    ) -> Result<()> {
        let place = self.place(program, name)?;
        self.lock_name(&place)?;
        self.check_free(&place)?;
        let (entry, now) = (&place.entry, self.info.engine.now_local());
        let object_id = entry.allocate_object();
        let trees = [entry.allocate_tree()?, entry.allocate_tree()?];
        let collation = self.info.picture(entry).settings().default_collation();
        let of = (object_id, place.schema_id, place.name.as_str());
        let rows = keel_query::queue::table(entry.id, of, collation, trees, now);
        let def = QueueDef {
            object_id,
            schema_id: place.schema_id,
            name: place.name.clone(),
            enabled: true,
            retention: false,
            poison_handling: true,
            activation: None,
            rows: Arc::new(rows),
            created: now,
            modified: now,
        };
        let def = self.with_options(program, entry, def, options)?;
        self.put(entry, CatalogObject::Queue(Arc::new(def)))
    }

    fn with_options(
        &self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        queue: QueueDef,
        options: &QueueOptions,
    ) -> Result<QueueDef> {
        let activation = match &options.activation {
            None => queue.activation.clone(),
            Some(ActivationOptions::Drop) => None,
            Some(set) => Some(self.activation(program, entry, &queue, set)?),
        };
        Ok(QueueDef {
            enabled: options.status.unwrap_or(queue.enabled),
            retention: options.retention.unwrap_or(queue.retention),
            poison_handling: options.poison_handling.unwrap_or(queue.poison_handling),
            activation,
            modified: self.info.engine.now_local(),
            ..queue
        })
    }

    fn activation(
        &self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        queue: &QueueDef,
        set: &ActivationOptions,
    ) -> Result<ActivationDef> {
        let ActivationOptions::Set { status, procedure, max_readers, execute_as } = set else {
            unreachable!("the caller has dealt with DROP")
        };
        let before = queue.activation.as_ref();
        let procedure = match procedure {
            Some(name) => self.activated(program, name)?,
            None => before.map(|a| a.procedure.clone()).ok_or_else(|| errors::no_procedure(&queue.name))?,
        };
        let execute_as = match execute_as {
            Some(ActivationUser::Owner) => EXECUTE_AS_OWNER,
            Some(ActivationUser::Myself) => {
                self.info.token_in(entry).map_or(crate::catalog::DBO_USER, |token| token.user)
            }
            Some(ActivationUser::Named(name)) => {
                if self.info.picture(entry).principal_named(name).is_none() {
                    return Err(errors::no_user(name));
                }
                self.user_to_be(entry, name)?.principal_id
            }
            None => before.map(|a| a.execute_as).ok_or_else(|| errors::no_activation_user(&queue.name))?,
        };
        let max_readers = match max_readers {
            Some(n) => i16::try_from(*n).ok().filter(|n| *n >= 0).ok_or_else(|| {
                keel_types::SqlError::new(102, 15, 1, format!("Incorrect syntax near '{n}'."))
            })?,
            None => before.map_or(0, |a| a.max_readers),
        };
        Ok(ActivationDef {
            enabled: status.unwrap_or_else(|| before.is_none_or(|a| a.enabled)),
            procedure,
            max_readers,
            execute_as,
        })
    }

    /// The name of a procedure in three parts. Errors 9614, 9620 and 9653.
    fn activated(&self, program: &Program, name: &ast::ObjectName) -> Result<String> {
        let found = self.named(program, name);
        let Some((entry, Named::Module(module))) = found else {
            return Err(errors::no_procedure(&name.name.text));
        };
        match module.kind {
            ModuleKind::Procedure => {}
            ModuleKind::ScalarFunction | ModuleKind::InlineTableFunction | ModuleKind::TableFunction => {
                return Err(errors::not_a_procedure(&module.name));
            }
            _ => return Err(errors::no_procedure(&module.name)),
        }
        if !crate::modules::program(self.info, &entry, &module)?.parameters.is_empty() {
            return Err(errors::has_parameters(&module.name));
        }
        let schema = self.info.picture(&entry).schema_name(module.schema_id).unwrap_or_default();
        let quoted = |part: &str| format!("[{}]", part.replace(']', "]]"));
        Ok(format!("{}.{}.{}", quoted(&entry.name()), quoted(&schema), quoted(&module.name)))
    }

    // ---- services ----

    fn create_service(
        &mut self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        (name, owner): (&ast::Ident, Option<&ast::Ident>),
        queue: &ast::ObjectName,
        contracts: &[ast::Ident],
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        if picture.service_named(&name.text).is_some() {
            return Err(crate::errors::object_exists(&name.text));
        }
        let mut of = Vec::new();
        for named in contracts {
            let id = contract_named(&picture, named)?;
            if of.contains(&id) {
                return Err(errors::contract_twice(&named.text));
            }
            of.push(id);
        }
        let def = ServiceDef {
            id: next_id(picture.services().map(|d| d.id)),
            name: name.text.to_string(),
            owner: self.broker_owner_named(entry, owner)?,
            queue: self.queue_of_service(program, entry, queue)?,
            contracts: of,
        };
        self.put(entry, CatalogObject::Service(Arc::new(def)))?;
        self.touch_everything();
        Ok(())
    }

    fn queue_of_service(
        &mut self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        name: &ast::ObjectName,
    ) -> Result<i32> {
        let (home, queue) = self.queue_to("find", program, name)?;
        let may = self.info.may(entry, "REFERENCES", SecurableRef::Object(queue.object_id));
        if home.id != entry.id || !may {
            return Err(missing("find", "queue", &name.name.text));
        }
        self.lock_queue(entry, queue.object_id)?;
        Ok(queue.object_id)
    }

    fn alter_service(
        &mut self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        name: &ast::Ident,
        queue: Option<&ast::ObjectName>,
        contracts: &[(bool, ast::Ident)],
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        let found = picture.service_named(&name.text);
        let mut def = (**found.ok_or_else(|| missing("alter", "service", &name.text))?).clone();
        if queue.is_none() && contracts.is_empty() {
            return Err(errors::nothing_altered(&name.text));
        }
        for (add, named) in contracts {
            let id = contract_named(&picture, named)?;
            match (add, def.contracts.contains(&id)) {
                (true, true) => return Err(errors::contract_twice(&named.text)),
                (true, false) => def.contracts.push(id),
                (false, true) => def.contracts.retain(|c| *c != id),
                (false, false) => return Err(errors::no_contract(&named.text)),
            }
        }
        if let Some(queue) = queue {
            def.queue = self.queue_of_service(program, entry, queue)?;
            self.move_messages(entry, &def)?;
        }
        self.put(entry, CatalogObject::Service(Arc::new(def)))?;
        self.touch_everything();
        Ok(())
    }

    // ---- routes ----

    fn create_route(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &ast::Ident,
        owner: Option<&ast::Ident>,
        options: &RouteOptions,
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        if picture.routes().any(|r| r.name == *name.text) {
            return Err(crate::errors::object_exists(&name.text));
        }
        if options.address.is_none() {
            return Err(errors::route_address("ADDRESS", &name.text));
        }
        let def = RouteDef {
            // The number of the one that every database has stays its own.
            id: next_id(picture.routes().map(|d| d.id).chain([LOCAL_ROUTE])),
            name: name.text.to_string(),
            owner: self.broker_owner_named(entry, owner)?,
            service: None,
            broker_instance: None,
            lifetime: None,
            dropped: false,
        };
        let def = self.route(def, options)?;
        self.put(entry, CatalogObject::Route(Arc::new(def)))?;
        self.touch_everything();
        Ok(())
    }

    fn route(&self, route: RouteDef, options: &RouteOptions) -> Result<RouteDef> {
        let local = options.address.as_ref().is_none_or(|a| a.eq_ignore_ascii_case("LOCAL"));
        if !local || options.mirror_address.is_some() {
            return Err(crate::errors::not_supported("A route to another instance"));
        }
        let until = |seconds: i64| self.info.engine.now_utc() + seconds.saturating_mul(TICKS_PER_SECOND);
        let def = RouteDef {
            service: options.service.as_ref().map(ToString::to_string).or(route.service),
            broker_instance: options
                .broker_instance
                .as_ref()
                .map(ToString::to_string)
                .or(route.broker_instance),
            lifetime: options.lifetime.map(until).or(route.lifetime),
            ..route
        };
        if def.broker_instance.is_some() && def.service.is_none() {
            return Err(errors::route_instance_alone(&def.name));
        }
        Ok(def)
    }

    // ---- DROP ----

    fn drop_of_broker(
        &mut self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        class: BrokerClass,
        name: &ast::ObjectName,
        if_exists: bool,
    ) -> Result<()> {
        if class == BrokerClass::Queue {
            return match self.queue_to("drop", program, name) {
                Ok((entry, queue)) => self.drop_queue(&entry, &queue),
                Err(_) if if_exists => Ok(()),
                Err(e) => Err(e),
            };
        }
        if name.schema.is_some() {
            return Err(errors::prefixes(class.name(), name));
        }
        let (picture, text) = (self.info.picture(entry), &*name.name.text);
        let Some((on, _)) = securable(&picture, title(class), text) else {
            return if if_exists { Ok(()) } else { Err(missing("drop", class.name(), text)) };
        };
        let (class_of, id) = match on {
            SecurableRef::MessageType(id) => (object_class::MESSAGE_TYPE, id),
            SecurableRef::Contract(id) => (object_class::CONTRACT, id),
            SecurableRef::Service(id) => (object_class::SERVICE, id),
            SecurableRef::Route(id) => (object_class::ROUTE, id),
            _ => unreachable!("nothing else is the broker's"),
        };
        if id < FIRST_ID {
            return Err(errors::system_object());
        }
        let by = match class {
            BrokerClass::MessageType => {
                let uses = |c: &Arc<ContractDef>| c.messages.iter().any(|m| m.message_type == id);
                picture.contracts().any(uses).then_some("contract")
            }
            BrokerClass::Contract => {
                picture.services().any(|s| s.contracts.contains(&id)).then_some("service")
            }
            _ => None,
        };
        if let Some(by) = by {
            return Err(errors::bound(class.name(), text, by));
        }
        match class {
            BrokerClass::Service => {
                let gone = keel_types::SqlError::new(8470, 16, 1, "Remote service has been dropped.");
                self.end_all(entry, &gone, |e| e.service == id)?;
            }
            BrokerClass::Contract => {
                let gone =
                    keel_types::SqlError::new(8487, 16, 1, "The remote service contract has been dropped.");
                self.end_all(entry, &gone, |e| e.contract == id)?;
            }
            BrokerClass::Route if id == LOCAL_ROUTE => {
                let dropped = RouteDef { dropped: true, ..(**super::definition::SYSTEM_ROUTE).clone() };
                return self.put(entry, CatalogObject::Route(Arc::new(dropped)));
            }
            _ => {}
        }
        self.change(entry, CatalogOp::Remove(CatalogKey { class: class_of, id }))
    }

    fn drop_queue(&mut self, entry: &Arc<DatabaseEntry>, queue: &QueueDef) -> Result<()> {
        self.lock_schema(entry.id, queue.object_id)?;
        if self.info.picture(entry).services().any(|s| s.queue == queue.object_id) {
            return Err(errors::bound("queue", &queue.name, "service"));
        }
        let key = CatalogKey { class: object_class::QUEUE, id: queue.object_id };
        self.change(entry, CatalogOp::Remove(key))?;
        for index in &queue.rows.indexes {
            self.discard_tree(&queue.rows, index.tree)?;
        }
        self.touch_queue(entry, queue.object_id);
        Ok(())
    }
}

fn contract_named(picture: &Picture, name: &ast::Ident) -> Result<i32> {
    picture.contract_named(&name.text).map(|c| c.id).ok_or_else(|| errors::no_contract(&name.text))
}

/// The next id of somebody's own.
fn next_id(known: impl Iterator<Item = i32>) -> i32 {
    known.max().map_or(FIRST_ID, |last| (last + 1).max(FIRST_ID))
}
