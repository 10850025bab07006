//! An immutable picture of one database's objects, with the lookups that binders and system views need.

mod broker;
mod column_keys;
mod keys;
mod read;
mod seen;
mod xml;

use super::object::{CatalogKey, CatalogObject, DatabaseSettings, PropertyDef, SchemaDef};
use super::overlay::CatalogOp;
use super::principal::PrincipalDef;
use super::{DBO, GUEST, INFORMATION_SCHEMA, SYS};
use crate::audit::definition::SpecificationDef;
use crate::broker::definition::QueueDef;
use crate::plan_guides::PlanGuideDef;
use hashbrown::{HashMap, HashSet};
use keel_base::DatabaseId;
use keel_query::catalog::{
    BindableDef, Catalog, CheckDef, DefaultDef, IndexDef, ModuleDef, ObjectId, SequenceDef, SynonymDef,
    TableDef, TypeDef,
};
use keel_query::full_text::{FullTextCatalogDef, StoplistDef};
use keel_query::partition::{PartitionFunctionDef, PartitionSchemeDef, PartitionedBy};
use keel_query::policy::PolicyDef;
use keel_query::xml_collection::XmlCollectionDef;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A name as compared: identifiers do not distinguish case.
#[must_use]
pub fn fold(name: &str) -> SmolStr {
    keel_types::collation::fold_identifier(name)
}

type NameKey = (i32, SmolStr);

/// What a schema-scoped name stands for.
#[derive(Clone, Debug)]
pub enum Named {
    /// A table.
    Table(Arc<TableDef>),
    /// A module.
    Module(Arc<ModuleDef>),
    /// A synonym.
    Synonym(Arc<SynonymDef>),
    /// What CREATE DEFAULT or CREATE RULE made.
    Bindable(Arc<BindableDef>),
    /// A sequence.
    Sequence(Arc<SequenceDef>),
    /// A security policy.
    Policy(Arc<PolicyDef>),
    /// A queue.
    Queue(Arc<QueueDef>),
    /// A constraint, of this table.
    Constraint(Arc<TableDef>, ObjectId),
}

/// An entry of `sys.objects`.
#[derive(Clone, Debug)]
pub struct ObjectRef<'a> {
    /// Object id.
    pub object_id: ObjectId,
    /// Schema id.
    pub schema_id: i32,
    /// Name.
    pub name: &'a str,
    /// `parent_object_id`.
    pub parent: ObjectId,
    /// Two-character type, as in `sys.objects`.
    pub kind: &'static str,
    /// create_date.
    pub created: i64,
    /// modify_date.
    pub modified: i64,
}

/// One database's objects at one version.
#[derive(Clone, Debug)]
pub struct Picture {
    database: DatabaseId,
    /// The database's name when the picture was made: what messages about encrypted columns say.
    database_name: SmolStr,
    version: u64,
    settings: Arc<DatabaseSettings>,
    schemas: BTreeMap<i32, Arc<SchemaDef>>,
    tables: BTreeMap<ObjectId, Arc<TableDef>>,
    modules: BTreeMap<ObjectId, Arc<ModuleDef>>,
    synonyms: BTreeMap<ObjectId, Arc<SynonymDef>>,
    bindables: BTreeMap<ObjectId, Arc<BindableDef>>,
    sequences: BTreeMap<ObjectId, Arc<SequenceDef>>,
    types: BTreeMap<i32, Arc<TypeDef>>,
    principals: BTreeMap<i32, Arc<PrincipalDef>>,
    properties: BTreeMap<i32, Arc<PropertyDef>>,
    partition_functions: BTreeMap<i32, Arc<PartitionFunctionDef>>,
    partition_schemes: BTreeMap<i32, Arc<PartitionSchemeDef>>,
    policies: BTreeMap<ObjectId, Arc<PolicyDef>>,
    full_text_catalogs: BTreeMap<i32, Arc<FullTextCatalogDef>>,
    stoplists: BTreeMap<i32, Arc<StoplistDef>>,
    audit_specifications: BTreeMap<i32, Arc<SpecificationDef>>,
    plan_guides: BTreeMap<i32, Arc<PlanGuideDef>>,
    xml_collections: BTreeMap<i32, Arc<XmlCollectionDef>>,
    keys: Arc<keys::Keys>,
    column_keys: Arc<column_keys::ColumnKeys>,
    broker: Arc<broker::Objects>,
    /// Indexed views by the tables that they are made of.
    indexed_views: BTreeMap<ObjectId, Vec<ObjectId>>,
    /// Version that brought a table or module as it is, of those changed since the catalog was read.
    changed: HashMap<ObjectId, u64, foldhash::fast::RandomState>,
    names: HashMap<NameKey, (CatalogKey, ObjectId), foldhash::fast::RandomState>,
    type_names: HashMap<NameKey, i32, foldhash::fast::RandomState>,
    schema_names: HashMap<SmolStr, i32, foldhash::fast::RandomState>,
    /// Of the picture that a user sees: modules whose texts they may not read.
    hidden_texts: HashSet<ObjectId, foldhash::fast::RandomState>,
}

/// The `object_id` of what a name stands for.
#[must_use]
pub fn id_of(named: &Named) -> ObjectId {
    match named {
        Named::Table(t) => t.object_id,
        Named::Module(m) => m.object_id,
        Named::Synonym(s) => s.object_id,
        Named::Bindable(b) => b.object_id,
        Named::Sequence(s) => s.object_id,
        Named::Policy(p) => p.object_id,
        Named::Queue(q) => q.object_id,
        Named::Constraint(_, id) => *id,
    }
}

impl Picture {
    /// A database that holds nothing but its fixed schemas.
    #[must_use]
    pub fn empty(database: DatabaseId) -> Picture {
        let mut picture = Picture {
            database,
            database_name: SmolStr::default(),
            version: 1,
            settings: Arc::default(),
            schemas: BTreeMap::new(),
            tables: BTreeMap::new(),
            modules: BTreeMap::new(),
            synonyms: BTreeMap::new(),
            bindables: BTreeMap::new(),
            sequences: BTreeMap::new(),
            types: BTreeMap::new(),
            principals: BTreeMap::new(),
            properties: BTreeMap::new(),
            partition_functions: BTreeMap::new(),
            partition_schemes: BTreeMap::new(),
            policies: BTreeMap::new(),
            full_text_catalogs: BTreeMap::new(),
            stoplists: BTreeMap::new(),
            audit_specifications: BTreeMap::new(),
            plan_guides: BTreeMap::new(),
            xml_collections: BTreeMap::new(),
            keys: Arc::default(),
            column_keys: Arc::default(),
            broker: Arc::default(),
            indexed_views: BTreeMap::new(),
            changed: HashMap::default(),
            names: HashMap::default(),
            type_names: HashMap::default(),
            schema_names: HashMap::default(),
            hidden_texts: HashSet::default(),
        };
        let own = [(DBO, "dbo"), (GUEST, "guest"), (INFORMATION_SCHEMA, "INFORMATION_SCHEMA"), (SYS, "sys")];
        let of_roles = super::principal::FIXED_ROLES.iter().map(|(name, id)| (*id, *name));
        for (id, name) in own.into_iter().chain(of_roles) {
            picture.put(CatalogObject::Schema(Arc::new(SchemaDef {
                schema_id: id,
                name: name.to_owned(),
                owner: id,
            })));
        }
        picture
    }

    /// Sets the database's name.
    #[must_use]
    pub fn named_database(mut self, name: &str) -> Picture {
        self.database_name = name.into();
        self
    }

    /// Sets the version.
    #[must_use]
    pub fn at_version(mut self, version: u64) -> Picture {
        self.version = version;
        self
    }

    /// The version in which a table or module was last created or altered; `None` when not since the catalog was read.
    #[must_use]
    pub fn changed_at(&self, id: ObjectId) -> Option<u64> {
        self.changed.get(&id).copied()
    }

    /// Remembers which tables and modules came or changed with this version.
    pub fn note_changes(&mut self, ops: &[CatalogOp], version: u64) {
        use super::object_class as class;
        for op in ops {
            let (key, kept) = match op {
                CatalogOp::Put(object) => (object.key(), true),
                CatalogOp::Remove(key) => (*key, false),
            };
            if key.class == class::XML_COLLECTION {
                // What queries know of typed columns, they know of the collection.
                for table in self.users_of_xml(key.id) {
                    self.changed.insert(table, version);
                }
            }
            if matches!(key.class, class::COLUMN_MASTER_KEY | class::COLUMN_ENCRYPTION_KEY) {
                for table in self.encrypted_tables() {
                    self.changed.insert(table, version);
                }
            }
            if !matches!(key.class, class::TABLE | class::MODULE) {
                continue;
            }
            if kept {
                self.changed.insert(key.id, version);
            } else {
                self.changed.remove(&key.id);
            }
        }
    }

    /// Adds or replaces an object.
    pub fn put(&mut self, object: CatalogObject) {
        let key = object.key();
        self.remove(key);
        match object {
            CatalogObject::Settings(d) => self.settings = d,
            CatalogObject::Schema(d) => {
                self.schema_names.insert(fold(&d.name), d.schema_id);
                self.schemas.insert(d.schema_id, d);
            }
            CatalogObject::Table(mut d) => {
                // A copy, seeded or restored, has another id than the database that its definitions were written in.
                if d.database != self.database {
                    Arc::make_mut(&mut d).database = self.database;
                }
                self.current_xml(&mut d);
                self.current_column_keys(&mut d);
                for (name, id) in table_names(&d) {
                    self.names.insert((d.schema_id, fold(name)), (key, id));
                }
                self.tables.insert(d.object_id, d);
            }
            CatalogObject::Module(mut d) => {
                self.names.insert((d.schema_id, fold(&d.name)), (key, d.object_id));
                if d.rows.is_some() {
                    adopt_rows(Arc::make_mut(&mut d), self.database);
                }
                for table in d.rows.iter().flat_map(|rows| &rows.view_of) {
                    self.indexed_views.entry(*table).or_default().push(d.object_id);
                }
                self.modules.insert(d.object_id, d);
            }
            CatalogObject::Synonym(d) => {
                self.names.insert((d.schema_id, fold(&d.name)), (key, d.object_id));
                self.synonyms.insert(d.object_id, d);
            }
            CatalogObject::Bindable(d) => {
                self.names.insert((d.schema_id, fold(&d.name)), (key, d.object_id));
                self.bindables.insert(d.object_id, d);
            }
            CatalogObject::Sequence(d) => {
                self.names.insert((d.schema_id, fold(&d.name)), (key, d.object_id));
                self.sequences.insert(d.object_id, d);
            }
            CatalogObject::XmlCollection(d) => self.put_xml_collection(d),
            CatalogObject::Type(mut d) => {
                self.current_xml_of_type(&mut d);
                self.type_names.insert((d.schema_id, fold(&d.name)), d.user_type_id);
                self.types.insert(d.user_type_id, d);
            }
            CatalogObject::Principal(d) => {
                self.principals.insert(d.principal_id, d);
            }
            CatalogObject::Property(d) => {
                self.properties.insert(d.id, d);
            }
            CatalogObject::PartitionFunction(d) => {
                self.partition_functions.insert(d.function_id, d);
            }
            CatalogObject::PartitionScheme(d) => {
                self.partition_schemes.insert(d.data_space_id, d);
            }
            CatalogObject::Policy(d) => {
                self.names.insert((d.schema_id, fold(&d.name)), (key, d.object_id));
                self.policies.insert(d.object_id, d);
            }
            CatalogObject::FullTextCatalog(d) => {
                self.full_text_catalogs.insert(d.catalog_id, d);
            }
            CatalogObject::Stoplist(d) => {
                self.stoplists.insert(d.stoplist_id, d);
            }
            CatalogObject::AuditSpecification(d) => {
                self.audit_specifications.insert(d.id, d);
            }
            CatalogObject::PlanGuide(d) => {
                self.plan_guides.insert(d.id, d);
            }
            object @ (CatalogObject::MessageType(_)
            | CatalogObject::Contract(_)
            | CatalogObject::Queue(_)
            | CatalogObject::Service(_)
            | CatalogObject::Route(_)
            | CatalogObject::EventNotification(_)) => self.put_broker(object),
            CatalogObject::MasterKey(d) => Arc::make_mut(&mut self.keys).master = Some(d),
            CatalogObject::Certificate(d) => {
                Arc::make_mut(&mut self.keys).certificates.insert(d.id, d);
            }
            CatalogObject::AsymmetricKey(d) => {
                Arc::make_mut(&mut self.keys).asymmetric.insert(d.id, d);
            }
            CatalogObject::SymmetricKey(d) => {
                Arc::make_mut(&mut self.keys).symmetric.insert(d.id, d);
            }
            CatalogObject::Credential(d) => {
                Arc::make_mut(&mut self.keys).credentials.insert(d.id, d);
            }
            CatalogObject::ColumnMasterKey(d) => self.put_column_master_key(d),
            CatalogObject::ColumnEncryptionKey(d) => self.put_column_encryption_key(d),
        }
    }

    /// Takes an object out; nothing happens when it is not there.
    pub fn remove(&mut self, key: CatalogKey) {
        use super::object_class as class;
        match key.class {
            class::SCHEMA => {
                if let Some(d) = self.schemas.remove(&key.id) {
                    self.schema_names.remove(&fold(&d.name));
                }
            }
            class::TABLE => {
                if let Some(d) = self.tables.remove(&key.id) {
                    for (name, _) in table_names(&d) {
                        self.names.remove(&(d.schema_id, fold(name)));
                    }
                }
            }
            class::MODULE => {
                if let Some(d) = self.modules.remove(&key.id) {
                    self.names.remove(&(d.schema_id, fold(&d.name)));
                    for table in d.rows.iter().flat_map(|rows| &rows.view_of) {
                        if let Some(views) = self.indexed_views.get_mut(table) {
                            views.retain(|v| *v != key.id);
                        }
                    }
                }
            }
            class::SYNONYM => {
                if let Some(d) = self.synonyms.remove(&key.id) {
                    self.names.remove(&(d.schema_id, fold(&d.name)));
                }
            }
            class::BINDABLE => {
                if let Some(d) = self.bindables.remove(&key.id) {
                    self.names.remove(&(d.schema_id, fold(&d.name)));
                }
            }
            class::SEQUENCE => {
                if let Some(d) = self.sequences.remove(&key.id) {
                    self.names.remove(&(d.schema_id, fold(&d.name)));
                }
            }
            class::TYPE => {
                if let Some(d) = self.types.remove(&key.id) {
                    self.type_names.remove(&(d.schema_id, fold(&d.name)));
                }
            }
            class::PRINCIPAL => {
                self.principals.remove(&key.id);
            }
            class::XML_COLLECTION => {
                self.xml_collections.remove(&key.id);
            }
            class::PROPERTY => {
                self.properties.remove(&key.id);
            }
            class::PARTITION_FUNCTION => {
                self.partition_functions.remove(&key.id);
            }
            class::PARTITION_SCHEME => {
                self.partition_schemes.remove(&key.id);
            }
            class::FULL_TEXT_CATALOG => {
                self.full_text_catalogs.remove(&key.id);
            }
            class::STOPLIST => {
                self.stoplists.remove(&key.id);
            }
            class::DATABASE_AUDIT_SPECIFICATION => {
                self.audit_specifications.remove(&key.id);
            }
            class::PLAN_GUIDE => {
                self.plan_guides.remove(&key.id);
            }
            class::MASTER_KEY
            | class::CERTIFICATE
            | class::ASYMMETRIC_KEY
            | class::SYMMETRIC_KEY
            | class::SCOPED_CREDENTIAL => {
                self.remove_key(key);
            }
            class::COLUMN_MASTER_KEY | class::COLUMN_ENCRYPTION_KEY => self.remove_column_key(key),
            class::MESSAGE_TYPE
            | class::CONTRACT
            | class::QUEUE
            | class::SERVICE
            | class::ROUTE
            | class::EVENT_NOTIFICATION => {
                self.remove_broker(key);
            }
            class::POLICY => {
                if let Some(d) = self.policies.remove(&key.id) {
                    self.names.remove(&(d.schema_id, fold(&d.name)));
                }
            }
            _ => {}
        }
    }

    /// The extended properties.
    pub fn properties(&self) -> impl Iterator<Item = &Arc<PropertyDef>> {
        self.properties.values()
    }

    /// The partition functions by id.
    pub fn partition_functions(&self) -> impl Iterator<Item = &Arc<PartitionFunctionDef>> {
        self.partition_functions.values()
    }

    /// The partition schemes by id.
    pub fn partition_schemes(&self) -> impl Iterator<Item = &Arc<PartitionSchemeDef>> {
        self.partition_schemes.values()
    }

    /// A partition function by id.
    #[must_use]
    pub fn partition_function(&self, id: i32) -> Option<&Arc<PartitionFunctionDef>> {
        self.partition_functions.get(&id)
    }

    /// A partition function by name.
    #[must_use]
    pub fn partition_function_named(&self, name: &str) -> Option<&Arc<PartitionFunctionDef>> {
        self.partition_functions.values().find(|f| fold(&f.name) == fold(name))
    }

    /// A partition scheme by name.
    #[must_use]
    pub fn partition_scheme_named(&self, name: &str) -> Option<&Arc<PartitionSchemeDef>> {
        self.partition_schemes.values().find(|s| fold(&s.name) == fold(name))
    }

    /// A partition scheme by id.
    #[must_use]
    pub fn partition_scheme(&self, id: i32) -> Option<&Arc<PartitionSchemeDef>> {
        self.partition_schemes.get(&id)
    }

    /// The function that says which partition of a table or index a row belongs to.
    #[must_use]
    pub fn partitioned_by(&self, by: Option<PartitionedBy>) -> Option<&Arc<PartitionFunctionDef>> {
        self.partition_function(self.partition_scheme(by?.scheme)?.function_id)
    }

    /// A user or role that is stored.
    #[must_use]
    pub fn stored_principal(&self, id: i32) -> Option<&Arc<PrincipalDef>> {
        self.principals.get(&id)
    }

    /// Users and roles that are stored, by id.
    pub fn stored_principals(&self) -> impl Iterator<Item = &Arc<PrincipalDef>> {
        self.principals.values()
    }

    /// The database's options.
    #[must_use]
    pub fn settings(&self) -> &Arc<DatabaseSettings> {
        &self.settings
    }

    /// All schemas by id.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<SchemaDef>> {
        self.schemas.values()
    }

    /// All tables by id.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.tables.values()
    }

    /// The rows of indexed views, as tables, by the views' ids.
    pub fn view_rows(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.modules.values().filter_map(|m| m.rows.as_ref())
    }

    /// All that has rows and indexes: tables, and indexed views.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.tables().chain(self.view_rows())
    }

    /// A table, or an indexed view's rows, by id.
    #[must_use]
    pub fn stored_by_id(&self, id: ObjectId) -> Option<Arc<TableDef>> {
        let view = || self.modules.get(&id)?.rows.clone();
        self.table_by_id(id).or_else(view)
    }

    /// All modules by id.
    pub fn modules(&self) -> impl Iterator<Item = &Arc<ModuleDef>> {
        self.modules.values()
    }

    /// What CREATE DEFAULT and CREATE RULE made, by id.
    pub fn bindables(&self) -> impl Iterator<Item = &Arc<BindableDef>> {
        self.bindables.values()
    }

    /// All synonyms by id.
    pub fn synonyms(&self) -> impl Iterator<Item = &Arc<SynonymDef>> {
        self.synonyms.values()
    }

    /// All sequences by id.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<SequenceDef>> {
        self.sequences.values()
    }

    /// All security policies by id.
    pub fn policies(&self) -> impl Iterator<Item = &Arc<PolicyDef>> {
        self.policies.values()
    }

    /// All full-text catalogs by id.
    pub fn full_text_catalogs(&self) -> impl Iterator<Item = &Arc<FullTextCatalogDef>> {
        self.full_text_catalogs.values()
    }

    /// A full-text catalog by name.
    #[must_use]
    pub fn full_text_catalog_named(&self, name: &str) -> Option<&Arc<FullTextCatalogDef>> {
        self.full_text_catalogs.values().find(|c| fold(&c.name) == fold(name))
    }

    /// A full-text catalog by id.
    #[must_use]
    pub fn full_text_catalog(&self, id: i32) -> Option<&Arc<FullTextCatalogDef>> {
        self.full_text_catalogs.get(&id)
    }

    /// All stop lists by id.
    pub fn stoplists(&self) -> impl Iterator<Item = &Arc<StoplistDef>> {
        self.stoplists.values()
    }

    /// Plan guides.
    pub fn plan_guides(&self) -> impl Iterator<Item = &Arc<PlanGuideDef>> {
        self.plan_guides.values()
    }

    /// All audit specifications by id.
    pub fn audit_specifications(&self) -> impl Iterator<Item = &Arc<SpecificationDef>> {
        self.audit_specifications.values()
    }

    /// A stop list by name.
    #[must_use]
    pub fn stoplist_named(&self, name: &str) -> Option<&Arc<StoplistDef>> {
        self.stoplists.values().find(|s| fold(&s.name) == fold(name))
    }

    /// All user types by id.
    pub fn types(&self) -> impl Iterator<Item = &Arc<TypeDef>> {
        self.types.values()
    }

    /// A schema.
    #[must_use]
    pub fn schema(&self, id: i32) -> Option<&Arc<SchemaDef>> {
        self.schemas.get(&id)
    }

    /// A module by id.
    #[must_use]
    pub fn module_by_id(&self, id: ObjectId) -> Option<&Arc<ModuleDef>> {
        self.modules.get(&id)
    }

    /// A type by id.
    #[must_use]
    pub fn type_by_id(&self, id: i32) -> Option<&Arc<TypeDef>> {
        self.types.get(&id)
    }

    /// What a name stands for, whatever it is.
    #[must_use]
    pub fn named(&self, schema_id: i32, name: &str) -> Option<Named> {
        use super::object_class as class;
        let (key, id) = *self.names.get(&(schema_id, fold(name)))?;
        Some(match key.class {
            class::TABLE => {
                let table = Arc::clone(self.tables.get(&key.id)?);
                if id == key.id { Named::Table(table) } else { Named::Constraint(table, id) }
            }
            class::MODULE => Named::Module(Arc::clone(self.modules.get(&key.id)?)),
            class::SYNONYM => Named::Synonym(Arc::clone(self.synonyms.get(&key.id)?)),
            class::BINDABLE => Named::Bindable(Arc::clone(self.bindables.get(&key.id)?)),
            class::SEQUENCE => Named::Sequence(Arc::clone(self.sequences.get(&key.id)?)),
            class::POLICY => Named::Policy(Arc::clone(self.policies.get(&key.id)?)),
            class::QUEUE => Named::Queue(Arc::clone(self.queue(key.id)?)),
            _ => return None,
        })
    }

    /// The triggers of the database, or those of the server that are kept in it: `scope` is
    /// [`DATABASE_TRIGGERS`](keel_query::catalog::DATABASE_TRIGGERS) or
    /// [`SERVER_TRIGGERS`](keel_query::catalog::SERVER_TRIGGERS).
    pub fn event_triggers(&self, scope: i32) -> impl Iterator<Item = &Arc<ModuleDef>> {
        self.modules.values().filter(move |m| m.schema_id == scope && m.events.is_some())
    }

    /// Every entry of `sys.objects` for user objects: all but triggers of databases and the server.
    pub fn objects(&self) -> impl Iterator<Item = ObjectRef<'_>> {
        let tables = self.tables.values().flat_map(|t| table_objects(t));
        let modules = self.modules.values().filter(|m| m.events.is_none()).map(|m| ObjectRef {
            object_id: m.object_id,
            schema_id: m.schema_id,
            name: &m.name,
            parent: m.parent,
            kind: module_kind_code(m.kind),
            created: m.created,
            modified: m.modified,
        });
        let synonyms = self.synonyms.values().map(|s| ObjectRef {
            object_id: s.object_id,
            schema_id: s.schema_id,
            name: &s.name,
            parent: 0,
            kind: "SN",
            created: s.created,
            modified: s.created,
        });
        let sequences = self.sequences.values().map(|s| ObjectRef {
            object_id: s.object_id,
            schema_id: s.schema_id,
            name: &s.name,
            parent: 0,
            kind: "SO",
            created: s.created,
            modified: s.modified,
        });
        let policies = self.policies.values().map(|p| ObjectRef {
            object_id: p.object_id,
            schema_id: p.schema_id,
            name: &p.name,
            parent: 0,
            kind: "SP",
            created: p.created,
            modified: p.modified,
        });
        let queues = self.queues().map(|q| ObjectRef {
            object_id: q.object_id,
            schema_id: q.schema_id,
            name: &q.name,
            parent: 0,
            kind: "SQ",
            created: q.created,
            modified: q.modified,
        });
        let bindables = self.bindables.values().map(|b| ObjectRef {
            object_id: b.object_id,
            schema_id: b.schema_id,
            name: &b.name,
            parent: 0,
            kind: if b.is_rule { "R " } else { "D " },
            created: b.created,
            modified: b.modified,
        });
        let others = sequences.chain(policies).chain(queues).chain(bindables);
        tables.chain(modules).chain(synonyms).chain(others)
    }

    /// Greatest object id in use.
    #[must_use]
    pub fn max_object_id(&self) -> ObjectId {
        let modules = self.modules.keys().copied();
        self.objects().map(|o| o.object_id).chain(modules).max().unwrap_or(0)
    }

    /// Greatest tree id in use.
    #[must_use]
    pub fn max_tree(&self) -> u32 {
        let indexes = self.stored().flat_map(|t| t.indexes.iter().map(|i| i.tree.0));
        let tracking = self.tables.values().filter_map(|t| t.change_tracking.as_ref());
        let tracking = tracking.flat_map(|t| [t.changes.0, t.by_key.0]);
        let versions = self.settings().change_trees.map(|t| t.versions.0.max(t.transactions.0));
        let staged = self.tables.values().flat_map(|t| t.captures.iter().map(|c| c.staged.0));
        let order = self.settings().capture.map(|c| c.order.0);
        let queries = self.settings().query_store.as_ref().and_then(|s| s.tree).map(|tree| tree.0);
        let searched = self.stored().filter_map(|t| t.full_text.as_ref());
        let searched = searched.flat_map(|f| f.trees.all()).map(|tree| tree.0);
        let all =
            indexes.chain(tracking).chain(versions).chain(staged).chain(order).chain(queries).chain(searched);
        all.chain(self.queue_trees()).max().unwrap_or(0)
    }
}

/// Lets the rows of an indexed view have the view's own name and place: it may have been renamed or moved, and a copy, seeded
/// or restored, has another id than the database that its definitions were written in.
fn adopt_rows(view: &mut ModuleDef, database: DatabaseId) {
    let Some(rows) = &mut view.rows else { return };
    if rows.name == view.name && rows.schema_id == view.schema_id && rows.database == database {
        return;
    }
    let rows = Arc::make_mut(rows);
    rows.database = database;
    rows.schema_id = view.schema_id;
    rows.name.clone_from(&view.name);
}

/// `sys.objects.type` of a module.
#[must_use]
pub fn module_kind_code(kind: keel_query::catalog::ModuleKind) -> &'static str {
    use keel_query::catalog::ModuleKind;
    match kind {
        ModuleKind::View => "V ",
        ModuleKind::Procedure => "P ",
        ModuleKind::ScalarFunction => "FN",
        ModuleKind::InlineTableFunction => "IF",
        ModuleKind::TableFunction => "TF",
        ModuleKind::Trigger => "TR",
    }
}

fn key_constraints(table: &TableDef) -> impl Iterator<Item = &IndexDef> {
    table.indexes.iter().filter(|i| i.is_primary_key || i.is_unique_constraint)
}

fn defaults(table: &TableDef) -> impl Iterator<Item = &DefaultDef> {
    table.columns.iter().filter_map(|c| c.default_constraint())
}

/// The names a table takes in its schema: its own and those of its constraints.
#[must_use]
pub fn table_names(table: &TableDef) -> Vec<(&str, ObjectId)> {
    let mut names = vec![(table.name.as_str(), table.object_id)];
    names.extend(key_constraints(table).map(|i| (i.name.as_str(), i.constraint_id)));
    names.extend(defaults(table).map(|d| (d.name.as_str(), d.object_id)));
    names.extend(table.checks.iter().map(|c: &CheckDef| (c.name.as_str(), c.object_id)));
    names.extend(table.foreign_keys.iter().map(|f| (f.name.as_str(), f.object_id)));
    names
}

/// A table and its constraints, as `sys.objects` lists them.
#[must_use]
pub fn table_objects(table: &TableDef) -> Vec<ObjectRef<'_>> {
    let entry = |object_id, name, kind, parent| ObjectRef {
        object_id,
        schema_id: table.schema_id,
        name,
        parent,
        kind,
        created: table.created,
        modified: table.modified,
    };
    let parent = table.object_id;
    let mut out = vec![entry(table.object_id, table.name.as_str(), "U ", 0)];
    out.extend(key_constraints(table).map(|i| {
        entry(i.constraint_id, i.name.as_str(), if i.is_primary_key { "PK" } else { "UQ" }, parent)
    }));
    out.extend(defaults(table).map(|d| entry(d.object_id, d.name.as_str(), "D ", parent)));
    out.extend(table.checks.iter().map(|c| entry(c.object_id, c.name.as_str(), "C ", parent)));
    out.extend(table.foreign_keys.iter().map(|f| entry(f.object_id, f.name.as_str(), "F ", parent)));
    out
}
