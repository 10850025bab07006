//! One catalog object as stored.
//!
//! Key: class byte, then the id as four bytes big-endian. Row: JSON of the definition.

use super::principal::PrincipalDef;
use crate::audit::definition::SpecificationDef;
use crate::broker::definition::{ContractDef, MessageTypeDef, QueueDef, RouteDef, ServiceDef};
use crate::capture::CaptureSettings;
use crate::column_keys::{ColumnEncryptionKeyDef, ColumnMasterKeyDef};
use crate::event_notifications::definition::EventNotificationDef;
use crate::keys::{AsymmetricKeyDef, CertificateDef, CredentialDef, MasterKeyDef, SymmetricKeyDef};
use crate::plan_guides::PlanGuideDef;
use crate::query_store::QueryStoreSettings;
use crate::scoped::ScopedSetting;
use keel_query::catalog::{BindableDef, ChangeTrees, ModuleDef, SequenceDef, SynonymDef, TableDef, TypeDef};
use keel_query::full_text::{FullTextCatalogDef, StoplistDef};
use keel_query::partition::{PartitionFunctionDef, PartitionSchemeDef};
use keel_query::policy::PolicyDef;
use keel_query::xml_collection::XmlCollectionDef;
use keel_types::SqlType;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemaDef {
    /// `schema_id`.
    pub schema_id: i32,
    /// Name.
    pub name: String,
    /// `principal_id` of the owner.
    pub owner: i32,
}

/// Options of a database that ALTER DATABASE SET changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DatabaseSettings {
    /// FULL, BULK_LOGGED or SIMPLE.
    pub recovery: String,
    /// READ_COMMITTED_SNAPSHOT as last set. Readers use row versions either way; this is what is reported.
    pub read_committed_snapshot: bool,
    /// ALLOW_SNAPSHOT_ISOLATION.
    pub allow_snapshot: bool,
    /// READ_ONLY.
    pub read_only: bool,
    /// MULTI_USER, SINGLE_USER or RESTRICTED_USER.
    pub user_access: String,
    /// OFFLINE.
    pub offline: bool,
    /// COMPATIBILITY_LEVEL.
    pub compatibility: u8,
    /// TARGET_RECOVERY_TIME in seconds.
    pub target_recovery_seconds: u32,
    /// DELAYED_DURABILITY.
    pub delayed_durability: DelayedDurability,
    /// COLLATE.
    pub collation: String,
    /// PAGE_VERIFY, as last set. Pages are verified either way; this is what is reported.
    pub page_verify: PageVerify,
    /// Boolean options that are remembered and reported, by upper-case name.
    pub flags: std::collections::BTreeMap<String, bool>,
    /// Create date, 100 ns ticks since 0001-01-01.
    pub created: i64,
    /// `sid` of the login that owns it; sa's by default.
    pub owner: Vec<u8>,
    /// How far the log is in log backups; `None` before the first full backup, and where none are wanted.
    pub log_chain: Option<LogChain>,
    /// The full backup that differential ones refer to.
    pub differential_base: Option<DifferentialBase>,
    /// CHANGE_TRACKING = ON.
    pub change_tracking: Option<ChangeRetention>,
    /// Where its versions are. They stay when it is switched off: a version is never given twice.
    pub change_trees: Option<ChangeTrees>,
    /// Change data capture, where it is enabled.
    pub capture: Option<CaptureSettings>,
    /// The Query Store's options, once somebody has set one.
    pub query_store: Option<QueryStoreSettings>,
    /// ALTER DATABASE SCOPED CONFIGURATION: what is not at its default, by name.
    pub scoped: std::collections::BTreeMap<String, ScopedSetting>,
    /// `service_broker_guid`; `None` of one that was made when there was no broker.
    pub broker_id: Option<[u8; 16]>,
    /// The logical name of its data file, once the database has another name than it was made with.
    pub file_name: Option<String>,
    /// Which system database of a contained availability group it is. A part of the database, so that copies and restored ones know it.
    pub system: Option<SystemDatabase>,
}

/// PAGE_VERIFY, with the catalog's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageVerify {
    /// NONE
    None = 0,
    /// TORN_PAGE_DETECTION
    TornPageDetection = 1,
    /// CHECKSUM
    #[default]
    Checksum = 2,
}

impl PageVerify {
    /// All of them.
    pub const ALL: [PageVerify; 3] = [PageVerify::None, PageVerify::TornPageDetection, PageVerify::Checksum];

    /// The word of ALTER DATABASE and `page_verify_option_desc`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PageVerify::None => "NONE",
            PageVerify::TornPageDetection => "TORN_PAGE_DETECTION",
            PageVerify::Checksum => "CHECKSUM",
        }
    }
}

/// DELAYED_DURABILITY: whether commits are answered before they are durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DelayedDurability {
    /// None is.
    #[default]
    Disabled,
    /// Those are that say so.
    Allowed,
    /// All are.
    Forced,
}

impl DelayedDurability {
    /// In the order of the catalog's numbers, with their names.
    pub const ALL: [(DelayedDurability, &'static str); 3] = [
        (DelayedDurability::Disabled, "DISABLED"),
        (DelayedDurability::Allowed, "ALLOWED"),
        (DelayedDurability::Forced, "FORCED"),
    ];

    /// Whether a commit is that says so, or does not.
    #[must_use]
    pub fn delays(self, asked: bool) -> bool {
        self == DelayedDurability::Forced || self == DelayedDurability::Allowed && asked
    }
}

/// What a database of a contained availability group is to those in the group's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SystemDatabase {
    /// `master`: logins, server roles, what was granted to them.
    Master,
    /// `msdb`: jobs, histories of backups.
    Msdb,
}

/// The flag of CONTAINMENT = PARTIAL.
const CONTAINMENT: &str = "CONTAINMENT";

impl DatabaseSettings {
    /// CONTAINMENT = PARTIAL: the database has users who log in to it.
    #[must_use]
    pub fn is_contained(&self) -> bool {
        self.flags.get(CONTAINMENT).copied().unwrap_or(false)
    }
}

/// CHANGE_TRACKING of a database: how long changes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRetention {
    /// CHANGE_RETENTION: so many units.
    pub count: i32,
    /// 1 minutes, 2 hours, 3 days.
    pub unit: u8,
    /// AUTO_CLEANUP.
    pub auto_cleanup: bool,
}

impl Default for ChangeRetention {
    fn default() -> Self {
        ChangeRetention { count: 2, unit: 3, auto_cleanup: true }
    }
}

impl ChangeRetention {
    /// Names of the units, from 1.
    pub const UNITS: [&'static str; 3] = ["MINUTES", "HOURS", "DAYS"];

    /// How long that is in minutes.
    #[must_use]
    pub fn minutes(&self) -> i64 {
        let minutes_of_unit = match self.unit {
            1 => 1,
            2 => 60,
            _ => 24 * 60,
        };
        i64::from(self.count) * minutes_of_unit
    }
}

/// The last full backup of a database that is not copy-only. A part of the database, as the chain of log backups is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferentialBase {
    /// Identity of the database that it is a backup of: one restored from a backup has none.
    pub family: [u8; 16],
    /// Identity of the backup set.
    pub set: [u8; 16],
    /// Where its rows are complete.
    pub checkpoint: u64,
    /// Everything before this is in it.
    pub last: u64,
    /// Checksum of the log's block that ends there.
    pub checksum: u32,
    /// When it ended, local ticks.
    pub at: i64,
}

/// The log backups of a database, which continue each other from a full backup on. A part of the database, so that any member of a
/// group can make the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChain {
    /// Identity of the database that it belongs to: one restored from a backup begins a chain of its own.
    pub family: [u8; 16],
    /// The next log backup begins here.
    pub backed_up: u64,
    /// Where the rows of the last full backup are complete.
    pub full: u64,
    /// When the backup that ends there ended, local ticks.
    pub at: i64,
    /// All that was committed before this is in backups, local ticks; 0 when that is not known.
    #[serde(default)]
    pub complete: i64,
    /// How many log backups there have been.
    pub count: u64,
}

impl DatabaseSettings {
    /// The collation of columns, variables and literals that name none.
    #[must_use]
    pub fn default_collation(&self) -> keel_types::Collation {
        keel_types::Collation::by_name(&self.collation).unwrap_or_default()
    }
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        DatabaseSettings {
            recovery: "FULL".into(),
            read_committed_snapshot: false,
            allow_snapshot: false,
            read_only: false,
            user_access: "MULTI_USER".into(),
            offline: false,
            compatibility: 160,
            target_recovery_seconds: 60,
            delayed_durability: DelayedDurability::Disabled,
            collation: "SQL_Latin1_General_CP1_CI_AS".into(),
            page_verify: PageVerify::Checksum,
            flags: std::collections::BTreeMap::new(),
            created: 0,
            owner: vec![1],
            log_chain: None,
            differential_base: None,
            change_tracking: None,
            change_trees: None,
            capture: None,
            query_store: None,
            scoped: std::collections::BTreeMap::new(),
            broker_id: None,
            file_name: None,
            system: None,
        }
    }
}

/// An extended property (`sp_addextendedproperty`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropertyDef {
    /// Its own number, unique in the database.
    pub id: i32,
    /// What it belongs to: see `property_class`.
    pub class: u8,
    /// The object's, schema's or type's id; 0 of the database.
    pub major: i32,
    /// Of a column, index or parameter; else 0.
    pub minor: i32,
    /// Name.
    pub name: String,
    /// Type of the value.
    pub ty: SqlType,
    /// The value as text; `None` for NULL.
    pub value: Option<String>,
}

/// `sys.extended_properties.class`.
pub mod property_class {
    /// The database.
    pub const DATABASE: u8 = 0;
    /// An object or a column.
    pub const OBJECT: u8 = 1;
    /// A parameter.
    pub const PARAMETER: u8 = 2;
    /// A schema.
    pub const SCHEMA: u8 = 3;
    /// A type.
    pub const TYPE: u8 = 6;
    /// `XML_SCHEMA_COLLECTION`
    pub const XML_COLLECTION: u8 = 10;
    /// An index.
    pub const INDEX: u8 = 7;
    /// A filegroup.
    pub const DATASPACE: u8 = 20;
}

/// Class byte and id of a stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CatalogKey {
    /// See [`object_class`].
    pub class: u8,
    /// Object, schema or type id.
    pub id: i32,
}

impl CatalogKey {
    /// The key bytes in the system tree.
    #[must_use]
    pub fn bytes(self) -> [u8; 5] {
        let id = self.id.to_be_bytes();
        [self.class, id[0], id[1], id[2], id[3]]
    }

    /// The way back; `None` for what is no key.
    #[must_use]
    pub fn parse(key: &[u8]) -> Option<CatalogKey> {
        let (class, id) = key.split_first()?;
        Some(CatalogKey { class: *class, id: i32::from_be_bytes(id.try_into().ok()?) })
    }
}

/// Class bytes of [`CatalogKey`]: part of the stored format, never reuse one.
pub mod object_class {
    /// Database settings (id 0).
    pub const SETTINGS: u8 = 1;
    /// Schemas.
    pub const SCHEMA: u8 = 2;
    /// Tables.
    pub const TABLE: u8 = 3;
    /// Views, procedures, functions, triggers.
    pub const MODULE: u8 = 4;
    /// Synonyms.
    pub const SYNONYM: u8 = 5;
    /// Sequences.
    pub const SEQUENCE: u8 = 6;
    /// Alias and table types.
    pub const TYPE: u8 = 7;
    /// Users and roles.
    pub const PRINCIPAL: u8 = 8;
    /// Extended properties, under numbers of their own.
    pub const PROPERTY: u8 = 9;
    /// Partition functions.
    pub const PARTITION_FUNCTION: u8 = 10;
    /// Partition schemes.
    pub const PARTITION_SCHEME: u8 = 11;
    /// Security policies.
    pub const POLICY: u8 = 12;
    /// Full-text catalogs.
    pub const FULL_TEXT_CATALOG: u8 = 13;
    /// Stop lists.
    pub const STOPLIST: u8 = 14;
    /// Database audit specifications.
    pub const DATABASE_AUDIT_SPECIFICATION: u8 = 15;
    /// XML schema collections.
    pub const XML_COLLECTION: u8 = 16;
    /// Message types of the broker.
    pub const MESSAGE_TYPE: u8 = 17;
    /// Contracts.
    pub const CONTRACT: u8 = 18;
    /// Queues.
    pub const QUEUE: u8 = 19;
    /// Services.
    pub const SERVICE: u8 = 20;
    /// Routes.
    pub const ROUTE: u8 = 21;
    /// What CREATE DEFAULT and CREATE RULE made.
    pub const BINDABLE: u8 = 22;
    /// Event notifications; in master those of the server.
    pub const EVENT_NOTIFICATION: u8 = 23;
    /// Plan guides.
    pub const PLAN_GUIDE: u8 = 24;
    /// Reserved ends of counters: identity values by table id, see `engine::counters`.
    pub const COUNTER: u8 = 32;
    /// Reserved ends of sequences by object id.
    pub const SEQUENCE_VALUE: u8 = 33;
    /// Marks of transactions by session, for the log alone, see `session::log_mark`.
    pub const LOG_MARK: u8 = 34;
    /// In master: databases of the instance.
    pub const DATABASE: u8 = 40;
    /// In master: logins.
    pub const LOGIN: u8 = 41;
    /// In master: server configuration.
    pub const CONFIGURATION: u8 = 42;
    /// In master: the resource governor's own settings.
    pub const GOVERNOR: u8 = 44;
    /// In master: resource pools.
    pub const RESOURCE_POOL: u8 = 45;
    /// In master: workload groups.
    pub const WORKLOAD_GROUP: u8 = 46;
    /// In master: linked servers with their logins.
    pub const LINKED_SERVER: u8 = 47;
    /// In master: branches of transactions at other servers that may be prepared and not decided.
    pub const REMOTE_BRANCH: u8 = 48;
    /// In master: endpoints for database mirroring.
    pub const ENDPOINT: u8 = 50;
    /// In master: event sessions.
    pub const EVENT_SESSION: u8 = 53;
    /// In master: server audits.
    pub const AUDIT: u8 = 54;
    /// In master: server audit specifications.
    pub const AUDIT_SPECIFICATION: u8 = 55;
    /// Certificates.
    pub const CERTIFICATE: u8 = 51;
    /// The master key.
    pub const MASTER_KEY: u8 = 52;
    /// Asymmetric keys.
    pub const ASYMMETRIC_KEY: u8 = 56;
    /// Symmetric keys.
    pub const SYMMETRIC_KEY: u8 = 57;
    /// Database scoped credentials.
    pub const SCOPED_CREDENTIAL: u8 = 58;
    /// In master: credentials.
    pub const CREDENTIAL: u8 = 59;
    /// In master: backups that were made.
    pub const BACKUP: u8 = 60;
    /// In master: databases that were restored.
    pub const RESTORE: u8 = 61;
    /// In master: marked transactions.
    pub const MARKED: u8 = 62;
    /// In master: messages of users.
    pub const USER_MESSAGE: u8 = 63;
    /// In master: names of backup devices.
    pub const BACKUP_DEVICE: u8 = 64;
    /// In master: directories of databases that are being made or dropped.
    pub const PLACE: u8 = 65;
    /// Column master keys.
    pub const COLUMN_MASTER_KEY: u8 = 70;
    /// Column encryption keys.
    pub const COLUMN_ENCRYPTION_KEY: u8 = 71;
}

/// A stored definition.
#[derive(Clone, Debug)]
pub enum CatalogObject {
    /// Database settings.
    Settings(Arc<DatabaseSettings>),
    /// A schema.
    Schema(Arc<SchemaDef>),
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
    /// A type.
    Type(Arc<TypeDef>),
    /// An XML schema collection.
    XmlCollection(Arc<XmlCollectionDef>),
    /// A user or role.
    Principal(Arc<PrincipalDef>),
    /// An extended property.
    Property(Arc<PropertyDef>),
    /// A partition function.
    PartitionFunction(Arc<PartitionFunctionDef>),
    /// A partition scheme.
    PartitionScheme(Arc<PartitionSchemeDef>),
    /// A security policy.
    Policy(Arc<PolicyDef>),
    /// A full-text catalog.
    FullTextCatalog(Arc<FullTextCatalogDef>),
    /// A stop list.
    Stoplist(Arc<StoplistDef>),
    /// A database audit specification.
    AuditSpecification(Arc<SpecificationDef>),
    /// A plan guide.
    PlanGuide(Arc<PlanGuideDef>),
    /// A message type.
    MessageType(Arc<MessageTypeDef>),
    /// A contract.
    Contract(Arc<ContractDef>),
    /// A queue.
    Queue(Arc<QueueDef>),
    /// A service.
    Service(Arc<ServiceDef>),
    /// An event notification.
    EventNotification(Arc<EventNotificationDef>),
    /// A route.
    Route(Arc<RouteDef>),
    /// The master key.
    MasterKey(Arc<MasterKeyDef>),
    /// A certificate.
    Certificate(Arc<CertificateDef>),
    /// An asymmetric key.
    AsymmetricKey(Arc<AsymmetricKeyDef>),
    /// A symmetric key.
    SymmetricKey(Arc<SymmetricKeyDef>),
    /// A database scoped credential.
    Credential(Arc<CredentialDef>),
    /// A column master key.
    ColumnMasterKey(Arc<ColumnMasterKeyDef>),
    /// A column encryption key.
    ColumnEncryptionKey(Arc<ColumnEncryptionKeyDef>),
}

impl CatalogObject {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> CatalogKey {
        let (class, id) = match self {
            CatalogObject::Settings(_) => (object_class::SETTINGS, 0),
            CatalogObject::Schema(d) => (object_class::SCHEMA, d.schema_id),
            CatalogObject::Table(d) => (object_class::TABLE, d.object_id),
            CatalogObject::Module(d) => (object_class::MODULE, d.object_id),
            CatalogObject::Synonym(d) => (object_class::SYNONYM, d.object_id),
            CatalogObject::Bindable(d) => (object_class::BINDABLE, d.object_id),
            CatalogObject::Sequence(d) => (object_class::SEQUENCE, d.object_id),
            CatalogObject::Type(d) => (object_class::TYPE, d.user_type_id),
            CatalogObject::XmlCollection(d) => (object_class::XML_COLLECTION, d.collection_id),
            CatalogObject::Principal(d) => (object_class::PRINCIPAL, d.principal_id),
            CatalogObject::Property(d) => (object_class::PROPERTY, d.id),
            CatalogObject::PartitionFunction(d) => (object_class::PARTITION_FUNCTION, d.function_id),
            CatalogObject::PartitionScheme(d) => (object_class::PARTITION_SCHEME, d.data_space_id),
            CatalogObject::Policy(d) => (object_class::POLICY, d.object_id),
            CatalogObject::FullTextCatalog(d) => (object_class::FULL_TEXT_CATALOG, d.catalog_id),
            CatalogObject::Stoplist(d) => (object_class::STOPLIST, d.stoplist_id),
            CatalogObject::AuditSpecification(d) => (object_class::DATABASE_AUDIT_SPECIFICATION, d.id),
            CatalogObject::PlanGuide(d) => (object_class::PLAN_GUIDE, d.id),
            CatalogObject::MessageType(d) => (object_class::MESSAGE_TYPE, d.id),
            CatalogObject::Contract(d) => (object_class::CONTRACT, d.id),
            CatalogObject::Queue(d) => (object_class::QUEUE, d.object_id),
            CatalogObject::Service(d) => (object_class::SERVICE, d.id),
            CatalogObject::Route(d) => (object_class::ROUTE, d.id),
            CatalogObject::EventNotification(d) => (object_class::EVENT_NOTIFICATION, d.id),
            CatalogObject::MasterKey(d) => (object_class::MASTER_KEY, d.id),
            CatalogObject::Certificate(d) => (object_class::CERTIFICATE, d.id),
            CatalogObject::AsymmetricKey(d) => (object_class::ASYMMETRIC_KEY, d.id),
            CatalogObject::SymmetricKey(d) => (object_class::SYMMETRIC_KEY, d.id),
            CatalogObject::Credential(d) => (object_class::SCOPED_CREDENTIAL, d.id),
            CatalogObject::ColumnMasterKey(d) => (object_class::COLUMN_MASTER_KEY, d.id),
            CatalogObject::ColumnEncryptionKey(d) => (object_class::COLUMN_ENCRYPTION_KEY, d.id),
        };
        CatalogKey { class, id }
    }
}

/// The class of extended properties that objects of this class have.
#[must_use]
pub fn property_class_of(class: u8) -> Option<u8> {
    Some(match class {
        object_class::TABLE
        | object_class::MODULE
        | object_class::SYNONYM
        | object_class::BINDABLE
        | object_class::SEQUENCE
        | object_class::QUEUE
        | object_class::POLICY => property_class::OBJECT,
        object_class::SCHEMA => property_class::SCHEMA,
        object_class::TYPE => property_class::TYPE,
        object_class::XML_COLLECTION => property_class::XML_COLLECTION,
        _ => return None,
    })
}

/// The JSON of a definition.
#[must_use]
pub fn encode(object: &CatalogObject) -> Vec<u8> {
    let json = match object {
        CatalogObject::Settings(d) => serde_json::to_vec(&**d),
        CatalogObject::Schema(d) => serde_json::to_vec(&**d),
        CatalogObject::Table(d) => serde_json::to_vec(&**d),
        CatalogObject::Module(d) => serde_json::to_vec(&**d),
        CatalogObject::Synonym(d) => serde_json::to_vec(&**d),
        CatalogObject::Bindable(d) => serde_json::to_vec(&**d),
        CatalogObject::Sequence(d) => serde_json::to_vec(&**d),
        CatalogObject::Type(d) => serde_json::to_vec(&**d),
        CatalogObject::XmlCollection(d) => serde_json::to_vec(&**d),
        CatalogObject::Principal(d) => serde_json::to_vec(&**d),
        CatalogObject::Property(d) => serde_json::to_vec(&**d),
        CatalogObject::PartitionFunction(d) => serde_json::to_vec(&**d),
        CatalogObject::PartitionScheme(d) => serde_json::to_vec(&**d),
        CatalogObject::Policy(d) => serde_json::to_vec(&**d),
        CatalogObject::FullTextCatalog(d) => serde_json::to_vec(&**d),
        CatalogObject::Stoplist(d) => serde_json::to_vec(&**d),
        CatalogObject::AuditSpecification(d) => serde_json::to_vec(&**d),
        CatalogObject::MessageType(d) => serde_json::to_vec(&**d),
        CatalogObject::Contract(d) => serde_json::to_vec(&**d),
        CatalogObject::Queue(d) => serde_json::to_vec(&**d),
        CatalogObject::Service(d) => serde_json::to_vec(&**d),
        CatalogObject::EventNotification(d) => serde_json::to_vec(&**d),
        CatalogObject::PlanGuide(d) => serde_json::to_vec(&**d),
        CatalogObject::Route(d) => serde_json::to_vec(&**d),
        CatalogObject::MasterKey(d) => serde_json::to_vec(&**d),
        CatalogObject::Certificate(d) => serde_json::to_vec(&**d),
        CatalogObject::AsymmetricKey(d) => serde_json::to_vec(&**d),
        CatalogObject::SymmetricKey(d) => serde_json::to_vec(&**d),
        CatalogObject::Credential(d) => serde_json::to_vec(&**d),
        CatalogObject::ColumnMasterKey(d) => serde_json::to_vec(&**d),
        CatalogObject::ColumnEncryptionKey(d) => serde_json::to_vec(&**d),
    };
    json.expect("definitions hold nothing that JSON cannot")
}

/// The definition stored under a key of `class`; `None` for classes that are not catalog objects.
pub fn decode(class: u8, json: &[u8]) -> Result<Option<CatalogObject>, serde_json::Error> {
    Ok(Some(match class {
        object_class::SETTINGS => CatalogObject::Settings(serde_json::from_slice(json).map(Arc::new)?),
        object_class::SCHEMA => CatalogObject::Schema(serde_json::from_slice(json).map(Arc::new)?),
        object_class::TABLE => CatalogObject::Table(serde_json::from_slice(json).map(Arc::new)?),
        object_class::MODULE => CatalogObject::Module(serde_json::from_slice(json).map(Arc::new)?),
        object_class::SYNONYM => CatalogObject::Synonym(serde_json::from_slice(json).map(Arc::new)?),
        object_class::BINDABLE => CatalogObject::Bindable(serde_json::from_slice(json).map(Arc::new)?),
        object_class::SEQUENCE => CatalogObject::Sequence(serde_json::from_slice(json).map(Arc::new)?),
        object_class::XML_COLLECTION => {
            CatalogObject::XmlCollection(serde_json::from_slice(json).map(Arc::new)?)
        }
        object_class::TYPE => CatalogObject::Type(serde_json::from_slice(json).map(Arc::new)?),
        object_class::PRINCIPAL => CatalogObject::Principal(serde_json::from_slice(json).map(Arc::new)?),
        object_class::PROPERTY => CatalogObject::Property(serde_json::from_slice(json).map(Arc::new)?),
        object_class::PARTITION_FUNCTION => {
            CatalogObject::PartitionFunction(serde_json::from_slice(json).map(Arc::new)?)
        }
        object_class::PARTITION_SCHEME => {
            CatalogObject::PartitionScheme(serde_json::from_slice(json).map(Arc::new)?)
        }
        object_class::POLICY => CatalogObject::Policy(serde_json::from_slice(json).map(Arc::new)?),
        object_class::FULL_TEXT_CATALOG => {
            CatalogObject::FullTextCatalog(serde_json::from_slice(json).map(Arc::new)?)
        }
        object_class::STOPLIST => CatalogObject::Stoplist(serde_json::from_slice(json).map(Arc::new)?),
        object_class::DATABASE_AUDIT_SPECIFICATION => {
            CatalogObject::AuditSpecification(serde_json::from_slice(json).map(Arc::new)?)
        }
        object_class::MESSAGE_TYPE => CatalogObject::MessageType(serde_json::from_slice(json).map(Arc::new)?),
        object_class::CONTRACT => CatalogObject::Contract(serde_json::from_slice(json).map(Arc::new)?),
        object_class::QUEUE => CatalogObject::Queue(serde_json::from_slice(json).map(Arc::new)?),
        object_class::SERVICE => CatalogObject::Service(serde_json::from_slice(json).map(Arc::new)?),
        object_class::PLAN_GUIDE => CatalogObject::PlanGuide(serde_json::from_slice(json).map(Arc::new)?),
        object_class::EVENT_NOTIFICATION => {
            CatalogObject::EventNotification(serde_json::from_slice(json).map(Arc::new)?)
        }
        object_class::ROUTE => CatalogObject::Route(serde_json::from_slice(json).map(Arc::new)?),
        object_class::MASTER_KEY => CatalogObject::MasterKey(serde_json::from_slice(json).map(Arc::new)?),
        object_class::CERTIFICATE => CatalogObject::Certificate(serde_json::from_slice(json).map(Arc::new)?),
        object_class::ASYMMETRIC_KEY => {
            CatalogObject::AsymmetricKey(serde_json::from_slice(json).map(Arc::new)?)
        }
        object_class::SYMMETRIC_KEY => {
            CatalogObject::SymmetricKey(serde_json::from_slice(json).map(Arc::new)?)
        }
        object_class::SCOPED_CREDENTIAL => {
            CatalogObject::Credential(serde_json::from_slice(json).map(Arc::new)?)
        }
        object_class::COLUMN_MASTER_KEY => {
            CatalogObject::ColumnMasterKey(serde_json::from_slice(json).map(Arc::new)?)
        }
        object_class::COLUMN_ENCRYPTION_KEY => {
            CatalogObject::ColumnEncryptionKey(serde_json::from_slice(json).map(Arc::new)?)
        }
        _ => return Ok(None),
    }))
}
