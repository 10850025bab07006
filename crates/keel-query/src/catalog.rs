//! What the binder knows of a database: schemas, tables, columns, indexes, constraints, modules.
//!
//! A [`Catalog`] is an immutable picture with a version; DDL makes a new one inside its transaction and the
//! engine publishes it at commit. Plans remember the version they were made with.
//! These definitions are stored as rows of the system tree (one row per object), so every field here is part of a
//! format: add with `#[serde(default)]`, never change a meaning.

mod bindable;
mod compression;
mod index;
mod module;
mod plain;
mod sensitivity;

pub use bindable::{BindableDef, DefaultDef, RuleDef};
pub use compression::Compression;
pub use index::{IndexColumn, IndexDef, IndexKind, PageOptions};
pub use module::{
    DATABASE_TRIGGERS, EXECUTE_AS_OWNER, EventTriggerDef, ModuleDef, ModuleKind, RowActions, SERVER_TRIGGERS,
    SignatureDef, TriggerDef,
};
pub use sensitivity::Sensitivity;

use crate::full_text::{FullTextDef, StoplistDef};
use crate::mask::MaskDef;
use crate::policy::PolicyDef;
use keel_base::{DatabaseId, TreeId};
use keel_types::{Collation, SqlType};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An object id of `sys.objects`; user objects are positive and unique in their database.
pub type ObjectId = i32;

/// A column of a table or view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnDef {
    /// `column_id`, from 1; never reused after DROP COLUMN.
    pub column_id: i32,
    /// Position in the stored row, from 0. Stable for the life of the column.
    pub ordinal: u16,
    /// Name as declared.
    pub name: String,
    /// Declared type.
    pub ty: SqlType,
    /// Collation of character types.
    pub collation: Collation,
    /// NULL allowed.
    pub nullable: bool,
    /// IDENTITY(seed, increment).
    pub identity: Option<(i64, i64)>,
    /// DEFAULT constraint, or bound default.
    pub default: Option<DefaultDef>,
    /// AS expression, PERSISTED or not.
    pub computed: Option<ComputedDef>,
    /// Encoded value that rows stored before ADD COLUMN … DEFAULT have (keel_store::row column bytes).
    pub missing_value: Option<Vec<u8>>,
    /// ROWGUIDCOL.
    #[serde(default)]
    pub rowguid: bool,
    /// MASKED WITH.
    #[serde(default)]
    pub mask: Option<MaskDef>,
    /// ADD SENSITIVITY CLASSIFICATION.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    /// `user_type_id` of the alias type it was declared with; `ty` is what that stands for.
    #[serde(default)]
    pub alias: Option<i32>,
    /// The rule that `sp_bindrule` bound to it.
    #[serde(default)]
    pub rule: Option<RuleDef>,
}

impl ColumnDef {
    /// Its DEFAULT constraint; none when it is bound to what CREATE DEFAULT made.
    #[must_use]
    pub fn default_constraint(&self) -> Option<&DefaultDef> {
        self.default.as_ref().filter(|default| !default.is_bound())
    }
}

/// A computed column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComputedDef {
    /// Expression text.
    pub text: String,
    /// PERSISTED.
    pub persisted: bool,
}

/// Statistics of columns together, made by CREATE STATISTICS. What they say is sampled when a plan asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsDef {
    /// `stats_id`: shared with the `index_id`s of the table, never one of them.
    pub stats_id: i32,
    /// Name.
    pub name: String,
    /// `column_id`s in order.
    pub columns: Vec<i32>,
    /// WHERE, as text: remembered and shown, the sample is of all rows.
    pub filter: Option<String>,
    /// NORECOMPUTE: a table that changes is not sampled again because of it.
    pub no_recompute: bool,
}

/// A columnstore index, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnstoreDef {
    /// `index_id`: shared with the other indexes and the statistics of the table.
    pub index_id: i32,
    /// Name.
    pub name: String,
    /// CLUSTERED: of all columns.
    pub clustered: bool,
    /// `column_id`s of a nonclustered one.
    pub columns: Vec<i32>,
    /// WHERE, as text.
    pub filter: Option<String>,
}

/// An index of what is inside of a column's values, as it was asked for: XML or spatial. It holds nothing, and no plan reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContentIndexDef {
    /// `index_id`, of the same series as those of other indexes.
    pub index_id: i32,
    /// Name.
    pub name: String,
    /// `column_id` of the column.
    pub column: i32,
    /// What it was asked to be.
    pub kind: ContentIndexKind,
}

/// Kinds of [`ContentIndexDef`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ContentIndexKind {
    /// PRIMARY XML.
    PrimaryXml,
    /// A secondary XML index.
    SecondaryXml {
        /// `index_id` of its primary one.
        primary: i32,
        /// VALUE, PATH or PROPERTY.
        usage: String,
    },
    /// SPATIAL.
    Spatial {
        /// Name of the tessellation scheme.
        scheme: String,
        /// BOUNDING_BOX: least x and y, most x and y.
        bounds: Option<[f64; 4]>,
        /// GRIDS: 1 LOW, 2 MEDIUM, 3 HIGH of the four levels; none of a scheme that chooses them itself.
        levels: Option<[u8; 4]>,
        /// CELLS_PER_OBJECT.
        cells: i32,
    },
}

impl TableDef {
    /// The next free `index_id`: those of all kinds of indexes and of statistics are one series; XML and spatial indexes take
    /// theirs from 256,000 and 384,000 on, as the product's do.
    #[must_use]
    pub fn next_index_id(&self) -> i32 {
        let indexes = self.indexes.iter().map(|i| i.index_id);
        let others = self.statistics.iter().map(|s| s.stats_id);
        let all = indexes.chain(others).chain(self.columnstores.iter().map(|c| c.index_id));
        all.max().unwrap_or(1).max(1) + 1
    }
}

/// A CHECK constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckDef {
    /// Object id.
    pub object_id: ObjectId,
    /// Name.
    pub name: String,
    /// Condition text.
    pub text: String,
    /// `column_id` of the column it was declared with, or of the only one that it names; 0 of one that is the table's.
    #[serde(default)]
    pub column: i32,
    /// NOCHECK.
    pub disabled: bool,
    /// Rows came in unchecked (`is_not_trusted`); WITH CHECK CHECK CONSTRAINT makes up for it.
    #[serde(default)]
    pub untrusted: bool,
}

/// What a foreign key does to its rows when the referenced row goes or changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReferentialAction {
    /// Error 547.
    NoAction,
    /// Follow.
    Cascade,
    /// NULL.
    SetNull,
    /// Default.
    SetDefault,
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForeignKeyDef {
    /// Object id.
    pub object_id: ObjectId,
    /// Name.
    pub name: String,
    /// Referencing columns.
    pub columns: Vec<i32>,
    /// Referenced table.
    pub referenced_table: ObjectId,
    /// Referenced columns.
    pub referenced_columns: Vec<i32>,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
    /// NOCHECK.
    pub disabled: bool,
    /// Rows came in unchecked (`is_not_trusted`); WITH CHECK CHECK CONSTRAINT makes up for it.
    #[serde(default)]
    pub untrusted: bool,
}

/// PERIOD FOR SYSTEM_TIME: which columns say from when to when a row was true, and where its history is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodDef {
    /// `column_id` of GENERATED ALWAYS AS ROW START.
    pub start: i32,
    /// `column_id` of GENERATED ALWAYS AS ROW END.
    pub end: i32,
    /// HIDDEN, of each: not among the columns of `*`.
    pub hidden: [bool; 2],
    /// SYSTEM_VERSIONING = ON.
    pub versioning: Option<VersioningDef>,
}

/// SYSTEM_VERSIONING = ON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersioningDef {
    /// The history table.
    pub history: ObjectId,
    /// HISTORY_RETENTION_PERIOD: count and unit (3 days, 4 weeks, 5 months, 6 years); `None` is INFINITE. Older versions
    /// are not shown, and are removed.
    pub retention: Option<(i32, i32)>,
}

impl VersioningDef {
    /// The time before which a version must have ended to be too old, as an expression. `None` when none ever is.
    #[must_use]
    pub fn oldest_kept(&self) -> Option<String> {
        let (count, unit) = self.retention?;
        let unit = match unit {
            3 => "DAY",
            4 => "WEEK",
            5 => "MONTH",
            _ => "YEAR",
        };
        Some(format!("DATEADD({unit}, -{count}, SYSUTCDATETIME())"))
    }
}

/// CHANGE_TRACKING of a table: where its changes are kept (see [`crate::changes`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeTrackingDef {
    /// TRACK_COLUMNS_UPDATED.
    pub columns: bool,
    /// The version that was current when it began.
    pub begin: u64,
    /// The transaction that emptied the table since: who knows less than its version has to read all again.
    pub restarted_by: Option<u64>,
    /// Changes by transaction.
    pub changes: TreeId,
    /// The same by primary key.
    pub by_key: TreeId,
}

/// A capture instance of a table: where its changes are staged for its change table (see [`crate::capture`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureDef {
    /// The change table.
    pub change_table: ObjectId,
    /// Changes that were not told yet.
    pub staged: TreeId,
    /// `column_id`s of the captured columns, in the order of the change table. Of one that was dropped since, there is no column.
    pub columns: Vec<i32>,
    /// The unique index that tells rows apart, when net changes are asked for.
    pub index_id: Option<i32>,
    /// Partitions may be switched in and out, which is not captured.
    pub partition_switch: bool,
}

/// The trees in which a database keeps which transaction has which version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeTrees {
    /// Version → transaction and time.
    pub versions: TreeId,
    /// Transaction → version.
    pub transactions: TreeId,
}

/// A table: user, temporary, table variable, or internal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableDef {
    /// Database that holds its rows (tempdb for temporary tables and table variables).
    pub database: DatabaseId,
    /// Object id.
    pub object_id: ObjectId,
    /// Schema id.
    pub schema_id: i32,
    /// Name.
    pub name: String,
    /// Columns in declaration order.
    pub columns: Vec<ColumnDef>,
    /// `indexes[0]` is the clustered index or heap.
    pub indexes: Vec<IndexDef>,
    /// CHECK constraints.
    pub checks: Vec<CheckDef>,
    /// FOREIGN KEY constraints of this table.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// Statistics made by CREATE STATISTICS.
    #[serde(default)]
    pub statistics: Vec<StatisticsDef>,
    /// `sp_autostats` OFF: what is known stays as it is until UPDATE STATISTICS.
    #[serde(default)]
    pub no_auto_statistics: bool,
    /// Columnstore indexes: remembered and shown. They hold no rows, and no plan reads them.
    #[serde(default)]
    pub columnstores: Vec<ColumnstoreDef>,
    /// XML and spatial indexes: remembered and shown.
    #[serde(default)]
    pub content_indexes: Vec<ContentIndexDef>,
    /// PERIOD FOR SYSTEM_TIME.
    #[serde(default)]
    pub period: Option<PeriodDef>,
    /// The system-versioned table of which this is the history.
    #[serde(default)]
    pub history_of: Option<ObjectId>,
    /// CHANGE_TRACKING.
    #[serde(default)]
    pub change_tracking: Option<ChangeTrackingDef>,
    /// Change data capture: its instances, two at most.
    #[serde(default)]
    pub captures: Vec<CaptureDef>,
    /// LOCK_ESCALATION.
    #[serde(default)]
    pub lock_escalation: LockEscalation,
    /// MEMORY_OPTIMIZED: remembered and shown. Its rows are kept as those of other tables.
    #[serde(default)]
    pub memory_optimized: Option<Durability>,
    /// Its full-text index.
    #[serde(default)]
    pub full_text: Option<FullTextDef>,
    /// The tables of an indexed view whose rows these are; of any other table there are none.
    #[serde(default)]
    pub view_of: Vec<ObjectId>,
    /// The messages of a queue: nothing but SEND, RECEIVE and their kin changes them.
    #[serde(default)]
    pub queue: bool,
    /// Next free column_id.
    pub next_column_id: i32,
    /// Next free ordinal.
    pub next_ordinal: u16,
    /// create_date, 100 ns ticks since 0001-01-01.
    pub created: i64,
    /// modify_date.
    pub modified: i64,
}

/// What the rows of a memory-optimized table were said to survive. They survive everything, whatever was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Durability {
    /// SCHEMA_AND_DATA, as when nothing is said.
    SchemaAndData,
    /// SCHEMA_ONLY.
    SchemaOnly,
}

/// Whether a statement that adds many rows asks for the table's lock instead of theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LockEscalation {
    /// It does.
    #[default]
    Table,
    /// It does not.
    Disable,
    /// As `Table`: partitions have no locks of their own.
    Auto,
}

impl TableDef {
    /// Whether statements may ask for its lock instead of those of many rows.
    #[must_use]
    pub fn escalates_locks(&self) -> bool {
        self.lock_escalation != LockEscalation::Disable && !self.name.starts_with('@')
    }
}

impl LockEscalation {
    /// In the order of the catalog's numbers, with their names.
    pub const ALL: [(LockEscalation, &'static str); 3] = [
        (LockEscalation::Table, "TABLE"),
        (LockEscalation::Disable, "DISABLE"),
        (LockEscalation::Auto, "AUTO"),
    ];
}

/// CREATE SYNONYM: another name for an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SynonymDef {
    /// Object id.
    pub object_id: ObjectId,
    /// Schema id.
    pub schema_id: i32,
    /// Name.
    pub name: String,
    /// What it stands for, one to four parts, outermost first.
    pub target: Vec<String>,
    /// create_date.
    pub created: i64,
}

/// CREATE SEQUENCE. Its current value is not part of the definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceDef {
    /// Object id.
    pub object_id: ObjectId,
    /// Schema id.
    pub schema_id: i32,
    /// Name.
    pub name: String,
    /// Integer type.
    pub ty: SqlType,
    /// START WITH.
    pub start: i64,
    /// INCREMENT BY.
    pub increment: i64,
    /// MINVALUE.
    pub minimum: i64,
    /// MAXVALUE.
    pub maximum: i64,
    /// CYCLE.
    pub cycle: bool,
    /// create_date.
    pub created: i64,
    /// modify_date.
    pub modified: i64,
}

/// CREATE TYPE: an alias of a system type, or a table type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypeDef {
    /// `user_type_id`, from 257.
    pub user_type_id: i32,
    /// Schema id.
    pub schema_id: i32,
    /// Name.
    pub name: String,
    /// Base type of an alias (`SqlType::Null` for a table type).
    pub base: SqlType,
    /// NULL allowed when a column does not say.
    pub nullable: bool,
    /// Columns, keys and checks of a table type.
    pub table: Option<Box<TableDef>>,
    /// The default that is bound to it, which new columns of the type have.
    #[serde(default)]
    pub default: Option<DefaultDef>,
    /// The rule likewise.
    #[serde(default)]
    pub rule: Option<RuleDef>,
}

/// One database's objects at one version. Lookups are by case-insensitive name (`keel_types` folding).
pub trait Catalog: Send + Sync {
    /// Grows with every DDL commit; part of the plan cache key.
    fn version(&self) -> u64;
    /// The database.
    fn database(&self) -> DatabaseId;
    /// TEMPORAL_HISTORY_RETENTION: versions of rows that are older than their table's retention period are not shown, and are
    /// removed.
    fn limits_history(&self) -> bool {
        true
    }
    /// Where versions of change tracking are, once it has been on.
    fn change_trees(&self) -> Option<ChangeTrees> {
        None
    }
    /// Schema id by name.
    fn schema_id(&self, name: &str) -> Option<i32>;
    /// Table by schema and name.
    fn table(&self, schema_id: i32, name: &str) -> Option<Arc<TableDef>>;
    /// Table by id.
    fn table_by_id(&self, id: ObjectId) -> Option<Arc<TableDef>>;
    /// Module by schema and name.
    fn module(&self, schema_id: i32, name: &str) -> Option<Arc<ModuleDef>>;
    /// Foreign keys that point at a table.
    fn referencing(&self, table: ObjectId) -> Vec<(Arc<TableDef>, ForeignKeyDef)>;
    /// Schema name by id.
    fn schema_name(&self, _schema_id: i32) -> Option<String> {
        None
    }
    /// A stop list by id.
    fn stoplist(&self, _stoplist_id: i32) -> Option<Arc<StoplistDef>> {
        None
    }
    /// Synonym by schema and name.
    fn synonym(&self, _schema_id: i32, _name: &str) -> Option<Arc<SynonymDef>> {
        None
    }
    /// Sequence by schema and name.
    fn sequence(&self, _schema_id: i32, _name: &str) -> Option<Arc<SequenceDef>> {
        None
    }
    /// Alias or table type by schema and name.
    fn user_type(&self, _schema_id: i32, _name: &str) -> Option<Arc<TypeDef>> {
        None
    }
    /// Enabled security policies with a predicate on a table or view.
    fn policies_on(&self, _object: ObjectId) -> Vec<Arc<PolicyDef>> {
        Vec::new()
    }
    /// Indexed views whose rows come from a table.
    fn indexed_views(&self, _table: ObjectId) -> Vec<Arc<ModuleDef>> {
        Vec::new()
    }
    /// Triggers of a table or view, in creation order.
    fn triggers(&self, _table: ObjectId) -> Vec<Arc<ModuleDef>> {
        Vec::new()
    }
}

impl TableDef {
    /// The index behind the primary key.
    #[must_use]
    pub fn primary_key(&self) -> Option<&IndexDef> {
        self.indexes.iter().find(|i| i.is_primary_key)
    }
    /// Position in `columns` of a `column_id`.
    #[must_use]
    pub fn column_index(&self, column_id: i32) -> Option<usize> {
        self.columns.iter().position(|c| c.column_id == column_id)
    }
    /// Whether the column at a position is of the period: 0 its start, 1 its end.
    #[must_use]
    pub fn period_part(&self, position: usize) -> Option<usize> {
        let period = self.period.as_ref()?;
        let id = self.columns[position].column_id;
        [period.start, period.end].into_iter().position(|c| c == id)
    }
    /// Whether `*` leaves the column at a position out.
    #[must_use]
    pub fn is_hidden(&self, position: usize) -> bool {
        let hidden = self.period.as_ref().map_or([false; 2], |p| p.hidden);
        self.period_part(position).is_some_and(|part| hidden[part])
    }
    /// SYSTEM_VERSIONING, when it is on.
    #[must_use]
    pub fn versioning(&self) -> Option<&VersioningDef> {
        self.period.as_ref()?.versioning.as_ref()
    }
    /// The clustered index or heap.
    #[must_use]
    pub fn clustered(&self) -> &IndexDef {
        &self.indexes[0]
    }
    /// The unique index over exactly these columns, in whatever order: what a foreign key can refer to.
    #[must_use]
    pub fn candidate_key(&self, column_ids: &[i32]) -> Option<&IndexDef> {
        self.indexes.iter().find(|i| !i.disabled && i.is_key_over(column_ids))
    }
    /// Error 8655 when the clustered index is disabled: nothing reads or writes the rows until it is rebuilt.
    pub fn check_enabled(&self) -> crate::errors::Result<()> {
        match self.clustered() {
            index if index.disabled => Err(crate::errors::index_disabled(&index.name, &self.name)),
            _ => Ok(()),
        }
    }
    /// Number of columns in a stored row: ordinals run below it.
    #[must_use]
    pub fn stored_width(&self) -> usize {
        self.columns.iter().map(|c| usize::from(c.ordinal) + 1).max().unwrap_or(0)
    }
}
