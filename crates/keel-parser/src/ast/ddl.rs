//! Data definition: databases, schemas, tables, indexes, modules, types, sequences, synonyms.

use super::{
    Declaration, Expr, Ident, Literal, ModuleQuery, ObjectName, Opt, OptValue, Principal, Span, Statement,
    TypeName, Variable,
};
use smol_str::SmolStr;

// ---- databases and schemas ----

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    pub name: Ident,
    pub containment: Option<SmolStr>,
    pub files: Vec<FileGroup>,
    pub log_files: Vec<FileSpec>,
    pub collation: Option<Ident>,
    /// `WITH …`
    pub options: Vec<Opt>,
    /// `FOR ATTACH`, `FOR ATTACH_REBUILD_LOG`, `AS SNAPSHOT OF db`, as upper-case text.
    pub attach: Option<SmolStr>,
    pub snapshot_of: Option<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FileGroup {
    /// `None` for PRIMARY.
    pub name: Option<Ident>,
    pub options: Vec<Opt>,
    pub files: Vec<FileSpec>,
}

/// `(NAME = …, FILENAME = …, SIZE = …)`
#[derive(Clone, Debug, PartialEq)]
pub struct FileSpec {
    pub options: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabase {
    /// `None` for CURRENT.
    pub name: Option<Ident>,
    pub action: AlterDatabaseAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterDatabaseAction {
    /// `SET option, …`. States (`READ_ONLY`, `SINGLE_USER`) have no value; `RECOVERY SIMPLE` has a word; `COMPATIBILITY_LEVEL = 150` a number.
    Set {
        options: Vec<Opt>,
        termination: Option<Termination>,
    },
    SetHadr(HadrAction),
    SetPartner(PartnerAction),
    /// `SET WITNESS = 'TCP://…'`, or `OFF` (`None`).
    SetWitness(Option<SmolStr>),
    Collate(Ident),
    ModifyName(Ident),
    /// ADD/MODIFY/REMOVE FILE, LOG FILE, FILEGROUP, by verb.
    File {
        verb: SmolStr,
        files: Vec<FileSpec>,
        name: Option<Ident>,
        to_filegroup: Option<Ident>,
        options: Vec<Opt>,
    },
    /// `ALTER DATABASE SCOPED CONFIGURATION …`
    ScopedConfiguration {
        for_secondary: bool,
        options: Vec<Opt>,
    },
    /// `ALTER DATABASE … MODIFY ( … )` and other forms kept as options.
    Modify {
        options: Vec<Opt>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    RollbackImmediate,
    RollbackAfter { seconds: u32 },
    NoWait,
}

#[derive(Clone, Debug, PartialEq)]
pub enum HadrAction {
    Join { group: Ident },
    Off,
    Suspend,
    Resume,
}

/// What follows `SET PARTNER`.
#[derive(Clone, Debug, PartialEq)]
pub enum PartnerAction {
    /// `= 'TCP://host:port'`
    Server(SmolStr),
    Failover,
    ForceServiceAllowDataLoss,
    Off,
    Resume,
    Suspend,
    /// `SAFETY FULL` (true) or `SAFETY OFF`.
    Safety(bool),
    /// `TIMEOUT seconds`
    Timeout(i32),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchema {
    pub name: Option<Ident>,
    pub authorization: Option<Ident>,
    /// CREATE TABLE/VIEW, GRANT, … that follow in the same statement.
    pub elements: Vec<Statement>,
}

/// `CREATE XML SCHEMA COLLECTION name AS documents`, `ALTER XML SCHEMA COLLECTION name ADD documents`
#[derive(Clone, Debug, PartialEq)]
pub struct XmlCollection {
    /// ALTER … ADD
    pub add: bool,
    pub name: ObjectName,
    pub documents: Expr,
}

/// `ALTER SCHEMA s TRANSFER [class::]object`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSchema {
    pub schema: Ident,
    pub class: Option<SmolStr>,
    pub object: ObjectName,
}

/// `ADD SENSITIVITY CLASSIFICATION TO columns WITH (…)`, `DROP SENSITIVITY CLASSIFICATION FROM columns`
#[derive(Clone, Debug, PartialEq)]
pub struct SensitivityClassification {
    /// Tables with one of their columns each.
    pub columns: Vec<(ObjectName, Ident)>,
    /// What is said of them; `None` of DROP.
    pub options: Option<Vec<Opt>>,
}

// ---- tables ----

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub name: ObjectName,
    pub elements: Vec<TableElement>,
    pub filegroup: Option<Filegroup>,
    pub textimage_on: Option<Ident>,
    /// `WITH ( … )`: DATA_COMPRESSION, SYSTEM_VERSIONING, …
    pub options: Vec<Opt>,
    /// `AS NODE`, `AS EDGE`, `AS FILETABLE`
    pub as_kind: Option<SmolStr>,
}

/// `ON filegroup` or `ON scheme(column)`
#[derive(Clone, Debug, PartialEq)]
pub struct Filegroup {
    pub name: Ident,
    pub columns: Vec<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    Column(Box<ColumnDefinition>),
    Constraint(TableConstraint),
    Index(InlineIndex),
    /// `PERIOD FOR SYSTEM_TIME (start, end)`
    Period {
        start: Ident,
        end: Ident,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    pub name: Ident,
    pub kind: ColumnKind,
    pub collation: Option<Ident>,
    /// NULL (true) or NOT NULL (false) when written.
    pub nullable: Option<bool>,
    pub identity: Option<Identity>,
    pub rowguidcol: bool,
    pub sparse: bool,
    /// SPARSE, FILESTREAM, MASKED WITH …, GENERATED ALWAYS AS ROW START, HIDDEN, ENCRYPTED WITH …: accepted, by name.
    pub options: Vec<Opt>,
    /// DEFAULT, CHECK, PRIMARY KEY, UNIQUE, REFERENCES written at the column; their column lists are empty.
    pub constraints: Vec<TableConstraint>,
    pub index: Option<InlineIndex>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ColumnKind {
    Typed(TypeName),
    /// A bare `timestamp` column.
    Timestamp,
    Computed {
        expr: Expr,
        persisted: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Default (1, 1).
    pub seed: Literal,
    pub increment: Literal,
    pub not_for_replication: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableConstraint {
    pub name: Option<Ident>,
    pub kind: ConstraintKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    Key {
        primary: bool,
        clustered: Option<bool>,
        columns: Vec<IndexColumnRef>,
        options: Vec<Opt>,
        filegroup: Option<Filegroup>,
    },
    ForeignKey {
        columns: Vec<Ident>,
        table: ObjectName,
        /// Empty: the referenced table's primary key.
        referenced: Vec<Ident>,
        on_delete: Option<ReferentialAction>,
        on_update: Option<ReferentialAction>,
        not_for_replication: bool,
    },
    Check {
        condition: Expr,
        not_for_replication: bool,
    },
    /// `column` is set in the table form (`DEFAULT e FOR col`), which ALTER TABLE ADD has.
    Default {
        value: Expr,
        column: Option<Ident>,
        with_values: bool,
    },
    /// `EDGE CONNECTION (…)`, accepted.
    Connection(Vec<(ObjectName, ObjectName)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    NoAction,
    Cascade,
    SetNull,
    SetDefault,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexColumnRef {
    pub name: Ident,
    pub descending: bool,
}

/// `INDEX ix [UNIQUE] [CLUSTERED|NONCLUSTERED] [COLUMNSTORE] (columns) [INCLUDE] [WHERE] [WITH] [ON]`
#[derive(Clone, Debug, PartialEq)]
pub struct InlineIndex {
    pub name: Ident,
    pub unique: bool,
    pub clustered: Option<bool>,
    pub columnstore: bool,
    /// Empty at a column.
    pub columns: Vec<IndexColumnRef>,
    pub include: Vec<Ident>,
    pub filter: Option<Expr>,
    pub options: Vec<Opt>,
    pub filegroup: Option<Filegroup>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    pub table: ObjectName,
    pub action: AlterTableAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterTableAction {
    /// `[WITH CHECK|NOCHECK] ADD …`; `check` is as written.
    Add {
        check: Option<bool>,
        elements: Vec<TableElement>,
    },
    AlterColumn {
        column: Ident,
        action: AlterColumn,
    },
    Drop(Vec<AlterTableDrop>),
    /// `[WITH CHECK|NOCHECK] CHECK|NOCHECK CONSTRAINT ALL|names`; `names` empty means ALL.
    CheckConstraint {
        validate: Option<bool>,
        enable: bool,
        names: Vec<Ident>,
    },
    /// `ENABLE|DISABLE TRIGGER ALL|names`
    Trigger {
        enable: bool,
        names: Vec<Ident>,
    },
    Rebuild {
        partition: Option<SmolStr>,
        options: Vec<Opt>,
    },
    Switch {
        partition: Option<Expr>,
        target: ObjectName,
        target_partition: Option<Expr>,
    },
    /// `SET ( … )`, `ENABLE CHANGE_TRACKING`, …
    Set {
        options: Vec<Opt>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterColumn {
    Type {
        ty: TypeName,
        collation: Option<Ident>,
        /// What stands in ENCRYPTED WITH.
        encrypted: Option<OptValue>,
        /// The function of MASKED WITH.
        mask: Option<SmolStr>,
        nullable: Option<bool>,
        options: Vec<Opt>,
    },
    /// `ADD MASKED WITH (FUNCTION = '…')`, `DROP MASKED`
    Mask(Option<SmolStr>),
    /// `ADD|DROP ROWGUIDCOL|PERSISTED|NOT FOR REPLICATION|SPARSE|HIDDEN`
    Property { add: bool, name: SmolStr },
}

/// What ALTER TABLE … DROP names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// Also when no word was written.
    Constraint,
    Column,
    Index,
    /// `PERIOD FOR SYSTEM_TIME`
    Period,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterTableDrop {
    pub what: Dropped,
    pub if_exists: bool,
    pub name: Ident,
    pub options: Vec<Opt>,
}

// ---- partitions ----

/// A statement about a partition function or a partition scheme of the current database.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionStatement {
    pub name: Ident,
    pub action: PartitionAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionAction {
    CreateFunction {
        /// More than one is refused.
        types: Vec<TypeName>,
        collation: Option<Ident>,
        /// RANGE RIGHT.
        right: bool,
        values: Vec<Expr>,
    },
    /// `SPLIT RANGE (value)`
    Split(Option<Expr>),
    /// `MERGE RANGE (value)`
    Merge(Option<Expr>),
    DropFunction,
    CreateScheme {
        function: Ident,
        /// `ALL TO (filegroup)`
        all: bool,
        filegroups: Vec<Ident>,
    },
    /// `NEXT USED [filegroup]`
    NextUsed(Option<Ident>),
    DropScheme,
}

// ---- indexes and statistics ----

/// An index of what is inside of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentIndex {
    /// `PRIMARY XML`
    PrimaryXml,
    /// `XML … USING XML INDEX primary FOR VALUE|PATH|PROPERTY`
    Xml { using: Option<(Ident, SmolStr)> },
    /// `SPATIAL … USING scheme`
    Spatial { scheme: Option<SmolStr> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    pub name: Ident,
    pub table: ObjectName,
    pub unique: bool,
    pub clustered: Option<bool>,
    pub columnstore: bool,
    /// Of what is inside of a column's values.
    pub content: Option<ContentIndex>,
    pub columns: Vec<IndexColumnRef>,
    pub include: Vec<Ident>,
    pub filter: Option<Expr>,
    pub options: Vec<Opt>,
    pub filegroup: Option<Filegroup>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterIndex {
    /// `None` for ALL.
    pub name: Option<Ident>,
    pub table: ObjectName,
    pub action: AlterIndexAction,
    pub partition: Option<SmolStr>,
    pub options: Vec<Opt>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlterIndexAction {
    Rebuild,
    Reorganize,
    Disable,
    Set,
    Resume,
    Pause,
    Abort,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateStatistics {
    pub name: Ident,
    pub table: ObjectName,
    pub columns: Vec<Ident>,
    pub filter: Option<Expr>,
    pub options: Vec<Opt>,
}

// ---- modules ----

/// CREATE, ALTER or CREATE OR ALTER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleVerb {
    Create,
    Alter,
    CreateOrAlter,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    pub verb: ModuleVerb,
    pub name: ObjectName,
    pub columns: Vec<Ident>,
    pub options: ModuleOptions,
    pub query: ModuleQuery,
    pub check_option: bool,
}

/// `WITH ENCRYPTION, SCHEMABINDING, RECOMPILE, EXECUTE AS …`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModuleOptions {
    pub schema_binding: bool,
    pub encryption: bool,
    pub recompile: bool,
    pub native_compilation: bool,
    pub returns_null_on_null_input: bool,
    /// Principal and, for `'user'`, its name.
    pub execute_as: Option<(Principal, Option<SmolStr>)>,
    /// VIEW_METADATA, INLINE = ON, …, upper case.
    pub other: Vec<SmolStr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub variable: Variable,
    pub ty: ParameterType,
    pub default: Option<Expr>,
    pub output: bool,
    pub read_only: bool,
    pub nullable: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ParameterType {
    Typed(TypeName),
    /// `CURSOR VARYING OUTPUT`
    Cursor,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateProcedure {
    pub verb: ModuleVerb,
    pub name: ObjectName,
    pub number: Option<i32>,
    pub parameters: Vec<Parameter>,
    pub options: ModuleOptions,
    pub for_replication: bool,
    pub body: ModuleBody,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ModuleBody {
    Statements(Vec<Statement>),
    /// `EXTERNAL NAME assembly.class.method`
    External(ObjectName),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    pub verb: ModuleVerb,
    pub name: ObjectName,
    pub parameters: Vec<Parameter>,
    pub returns: FunctionReturns,
    pub options: ModuleOptions,
    pub body: FunctionBody,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FunctionReturns {
    Scalar(TypeName),
    /// `RETURNS TABLE`
    Inline,
    /// `RETURNS @t TABLE (…)`
    Table {
        variable: Variable,
        elements: Vec<TableElement>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum FunctionBody {
    /// `BEGIN … END`
    Statements(Vec<Statement>),
    /// `RETURN [(] select [)]`
    Inline(ModuleQuery),
    External(ObjectName),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    pub verb: ModuleVerb,
    pub name: ObjectName,
    pub target: TriggerTarget,
    pub options: ModuleOptions,
    pub timing: TriggerTiming,
    /// INSERT, UPDATE, DELETE, or DDL event names; upper case.
    pub events: Vec<SmolStr>,
    pub not_for_replication: bool,
    pub body: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerTarget {
    Object(ObjectName),
    Database,
    AllServer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTiming {
    /// AFTER or FOR.
    After,
    InsteadOf,
}

/// `ENABLE|DISABLE TRIGGER ALL|names ON target`; `names` empty means ALL.
#[derive(Clone, Debug, PartialEq)]
pub struct EnableTrigger {
    pub enable: bool,
    pub names: Vec<ObjectName>,
    pub target: TriggerTarget,
}

// ---- other objects ----

#[derive(Clone, Debug, PartialEq)]
pub struct CreateType {
    pub name: ObjectName,
    pub kind: CreateTypeKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CreateTypeKind {
    /// `FROM base [NULL | NOT NULL]`
    Alias {
        base: TypeName,
        nullable: Option<bool>,
    },
    Table {
        elements: Vec<TableElement>,
        options: Vec<Opt>,
    },
    External(ObjectName),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    pub name: ObjectName,
    pub ty: Option<TypeName>,
    pub options: Vec<SequenceOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SequenceOption {
    StartWith(Literal),
    /// `RESTART [WITH n]`
    Restart(Option<Literal>),
    IncrementBy(Literal),
    /// `None` is NO MINVALUE.
    MinValue(Option<Literal>),
    MaxValue(Option<Literal>),
    Cycle(bool),
    /// `NO CACHE` is `Some(0)`; `CACHE` without size is `None`.
    Cache(Option<i64>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateSynonym {
    pub name: ObjectName,
    pub target: ObjectName,
}

/// `CREATE DEFAULT name AS value`, `CREATE RULE name AS condition`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateBindable {
    pub name: ObjectName,
    pub is_rule: bool,
    pub expression: Expr,
}

/// `DROP class [IF EXISTS] names`
#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    pub class: DropClass,
    pub if_exists: bool,
    pub names: Vec<ObjectName>,
    /// `DROP TRIGGER … ON DATABASE | ALL SERVER`
    pub trigger_target: Option<TriggerTarget>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DropClass {
    Database,
    Schema,
    Table,
    View,
    Procedure,
    Function,
    Trigger,
    Type,
    XmlCollection,
    Sequence,
    Synonym,
    Statistics,
    Login,
    User,
    Role,
    ServerRole,
    Certificate,
    MasterKey,
    AsymmetricKey,
    SymmetricKey,
    ColumnMasterKey,
    ColumnEncryptionKey,
    Endpoint,
    AvailabilityGroup,
    SecurityPolicy,
    Rule,
    Default,
    /// Any other class, upper case: ASSEMBLY, …
    Other(SmolStr),
}

/// `DROP INDEX [IF EXISTS] ix ON t, …` and the old `DROP INDEX t.ix`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropIndex {
    pub if_exists: bool,
    pub items: Vec<DropIndexItem>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropIndexItem {
    pub index: Ident,
    pub table: ObjectName,
    pub options: Vec<Opt>,
}

/// A `DECLARE`-like list is reused for parameters of `sp_executesql` and `sp_prepare`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterList {
    pub parameters: Vec<Parameter>,
}

impl From<Vec<Parameter>> for ParameterList {
    fn from(parameters: Vec<Parameter>) -> Self {
        ParameterList { parameters }
    }
}

/// The variables of a declaration, in order.
#[must_use]
pub fn declared(declaration: &Declaration) -> &Variable {
    match declaration {
        Declaration::Variable { variable, .. }
        | Declaration::Table { variable, .. }
        | Declaration::Cursor { variable } => variable,
    }
}
