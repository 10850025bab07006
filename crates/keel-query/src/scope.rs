//! What the binder may ask of its surroundings: [`BindScope`]. The session layer implements it.
//!
//! Everything answered here is resolved once, at compile time; a plan carries no names. The answers belong to the
//! catalog versions the plan remembers (see [`crate::Plan::dependencies`]), variables and temporary tables to the
//! scope the caller keys its plan cache by.

use crate::catalog::{Catalog, ModuleDef, ObjectId, TableDef};
use crate::context::ExecCtx;
use crate::errors::Result;
use keel_node::ReadView;
use keel_types::{Collation, SqlType, Value};
use std::sync::Arc;

/// A scalar variable as the compiler sees it: an index into [`ExecCtx::vars`] and its declared type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariableInfo {
    /// Index into [`ExecCtx::vars`].
    pub index: usize,
    /// Declared type. Values stored under this index always have it.
    pub ty: SqlType,
    /// Collation of character types (the database's).
    pub collation: Collation,
}

/// Signature of a user-defined scalar function.
#[derive(Clone, Debug)]
pub struct ScalarFunctionInfo {
    /// Database it lives in.
    pub database: keel_base::DatabaseId,
    /// Its object id.
    pub object_id: ObjectId,
    /// `schema.name` for messages.
    pub name: String,
    /// Parameter types; `None` as default means the parameter is required.
    pub parameters: Vec<ParameterInfo>,
    /// RETURNS.
    pub returns: SqlType,
}

/// What `$PARTITION.function(…)` needs to know of the function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionFunctionInfo {
    /// Database it lives in.
    pub database: keel_base::DatabaseId,
    /// `function_id`.
    pub function_id: i32,
    /// Type of the parameter.
    pub ty: SqlType,
}

/// A parameter of a user-defined function.
#[derive(Clone, Debug)]
pub struct ParameterInfo {
    /// Name with its `@`.
    pub name: String,
    /// Declared type.
    pub ty: SqlType,
    /// Default used for the keyword DEFAULT.
    pub default: Option<Value>,
    /// The name of its table type, when it takes a table variable.
    pub table: Option<String>,
}

/// A function or `@@variable` whose value only the session knows (`@@ROWCOUNT`, `OBJECT_ID()`, `USER_NAME()`…).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionFunction {
    /// Passed back to [`crate::SessionInfo::call`].
    pub id: u32,
    /// What its arguments are converted to; nothing where they are taken as they are. Bytes take texts and bytes alone.
    pub params: &'static [SqlType],
    /// Type of its result.
    pub ty: SqlType,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// True when one statement sees one value (so it may be computed once and used as a seek bound).
    pub stable: bool,
}

/// A column of a virtual table.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// NULL allowed.
    pub nullable: bool,
    /// Collation.
    pub collation: Collation,
}

impl VirtualColumn {
    /// A nullable column in the default collation.
    #[must_use]
    pub fn new(name: impl Into<String>, ty: SqlType) -> VirtualColumn {
        VirtualColumn { name: name.into(), ty, nullable: true, collation: Collation::default() }
    }
}

/// What the planner knows of a table of another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteSource<'a> {
    /// Which server: what has the same can be sent there together.
    pub server: &'a str,
    /// The table's name in a text for it.
    pub object: &'a str,
    /// Texts compare there as their collation here says.
    pub strings: bool,
}

/// What a plan sends to another server, for SHOWPLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentText<'a> {
    /// Remote Query, Remote Scan or Remote Update.
    pub operator: &'static str,
    /// Name of the server.
    pub server: &'a str,
    /// The text.
    pub text: &'a str,
}

/// What stands in FROM for rows of another server without a name of four parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteRowset<'a> {
    /// OPENQUERY: a linked server and a text for it.
    Query(&'a str, &'a str),
    /// OPENROWSET: provider, connection (string, or address, login, password) and a text.
    Text(&'a str, &'a [String], &'a str),
    /// OPENROWSET with a table, OPENDATASOURCE: the same with up to three parts of a name.
    Table(&'a str, &'a [String], NameParts<'a>),
}

/// Rows a virtual table hands out, one boxed row at a time, in column order.
pub type RowSource = Box<dyn Iterator<Item = Result<Vec<Value>>>>;

/// A table that is computed when it is read: a system view, or a table-valued function (`OPENJSON`, a
/// multi-statement function), registered by the session or server.
pub trait VirtualTable: Send + Sync {
    /// Columns in order.
    fn columns(&self) -> &[VirtualColumn];
    /// Starts a read. `args` are the function's arguments (empty for a view).
    fn open(&self, ctx: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource>;
    /// The database whose trees it reads itself: it is opened with [`VirtualTable::open_at`] then.
    fn reads(&self) -> Option<keel_base::DatabaseId> {
        None
    }
    /// Starts a read in the statement's own view of that database, under locks in one without: what it shows belongs to what
    /// the statement reads besides.
    fn open_at(&self, ctx: &mut ExecCtx<'_>, args: &[Value], view: ReadView) -> Result<RowSource> {
        let _ = view;
        self.open(ctx, args)
    }
    /// Parameters of a user's function: arguments are counted and converted. `None` for views and for functions that take
    /// what they get.
    fn parameters(&self) -> Option<Vec<ParameterInfo>> {
        None
    }
    /// The mask of a column, by position, that shows a masked column of a table as it is.
    fn mask(&self, column: usize) -> Option<crate::bind::mask::Mask> {
        let _ = column;
        None
    }
    /// An error that its rows have met (a message of at most severity 10 is told anyway). Told to the client, and reading goes on
    /// behind it, or the statement's end.
    fn tell(&self, session: &dyn crate::SessionInfo, error: Box<keel_types::SqlError>) -> Result<()> {
        let _ = session;
        Err(error)
    }
    /// A guess of the number of rows, for the planner.
    fn row_count_estimate(&self) -> u64 {
        100
    }
    /// Of a table of another server: where that is. Queries over it may be made then.
    fn remote(&self) -> Option<RemoteSource<'_>> {
        None
    }
    /// A query that its server runs, with parameters that [`VirtualTable::open`] gets as arguments; these columns, about so many rows.
    fn remote_query(
        &self,
        text: String,
        parameters: Vec<(String, SqlType)>,
        columns: Vec<VirtualColumn>,
        rows: u64,
    ) -> Option<Arc<dyn VirtualTable>> {
        let _ = (text, parameters, columns, rows);
        None
    }
    /// A change that its server makes: opened it is made, and its one row has the number of rows changed.
    fn remote_change(
        &self,
        text: String,
        parameters: Vec<(String, SqlType)>,
    ) -> Option<Arc<dyn VirtualTable>> {
        let _ = (text, parameters);
        None
    }
    /// The change that opening it makes.
    fn change(&self) -> Option<&crate::Plan> {
        None
    }
    /// What it sends to another server.
    fn shown(&self) -> Option<SentText<'_>> {
        None
    }
}

/// What a name in FROM (or as the target of DML) stands for.
#[derive(Clone)]
pub enum ObjectRef {
    /// A stored table: permanent, temporary or table variable.
    Table(Arc<TableDef>),
    /// A view, or an inline table function when it is called with arguments: its text is parsed and bound in place.
    Module(Arc<ModuleDef>),
    /// A system view or table function computed by the session or server.
    Virtual(Arc<dyn VirtualTable>),
}

/// A name of up to four parts as written; empty parts (`db..t`) are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameParts<'a> {
    /// Database.
    pub database: Option<&'a str>,
    /// Schema.
    pub schema: Option<&'a str>,
    /// Object.
    pub object: &'a str,
}

/// Compile-time settings of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindOptions {
    /// SET QUOTED_IDENTIFIER.
    pub quoted_identifier: bool,
    /// SET ANSI_NULLS.
    pub ansi_nulls: bool,
    /// SET CONCAT_NULL_YIELDS_NULL.
    pub concat_null_yields_null: bool,
    /// SET FORCEPLAN.
    pub force_plan: bool,
    /// Collation of the current database: of literals, variables and temporary columns.
    pub collation: Collation,
}

impl Default for BindOptions {
    fn default() -> BindOptions {
        BindOptions {
            quoted_identifier: true,
            ansi_nulls: true,
            concat_null_yields_null: true,
            force_plan: false,
            collation: Collation::default(),
        }
    }
}

/// Whether statements become parallel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parallelism {
    /// Threads that may work for a statement that has no MAXDOP; 1 for its own alone.
    pub degree: usize,
    /// Threads that may work for one that has, at most.
    pub degree_max: usize,
    /// `cost threshold for parallelism`, in the product's units: cheaper statements stay serial.
    pub cost_threshold: f64,
}

impl Default for Parallelism {
    fn default() -> Parallelism {
        Parallelism { degree: 1, degree_max: 1, cost_threshold: 5.0 }
    }
}

/// The surroundings of a statement being compiled.
pub trait BindScope {
    /// What [`BindScope::object`] has just found is read by the statement (or by a module it names: see
    /// [`BindScope::enter_module`]); what is only changed is not.
    fn note_read(&self, object: &ObjectRef) {
        let _ = object;
    }
    /// The changes of a table are read, besides the columns of its primary key, which are its `column_id`s.
    fn note_changes(&self, table: &Arc<TableDef>, key: &[i32]) {
        let _ = (table, key);
    }
    /// Which columns of an object that was noted as read the statement names, by id; those of a view count from 1. Comes
    /// once everything is bound, for each reference.
    fn note_columns(&self, object: &ObjectRef, columns: &[i32]) {
        let _ = (object, columns);
    }
    /// The text of a view or inline function that this scope has found follows, until [`BindScope::leave_module`]: names in it mean
    /// what they mean in its own database.
    fn enter_module(&self, module: &ModuleDef) {
        let _ = module;
    }
    /// It has ended.
    fn leave_module(&self) {}
    /// An expression that a table of a database keeps follows: names in it mean what they mean there. False when they mean it anyway;
    /// else until [`BindScope::leave_module`].
    fn enter_database(&self, database: keel_base::DatabaseId) -> bool {
        let _ = database;
        false
    }
    /// The database of a module that this scope has found.
    fn database_of(&self, module: &ModuleDef) -> Option<keel_base::DatabaseId> {
        let _ = module;
        None
    }
    /// A predicate of a security policy follows, until [`BindScope::leave_predicate`]. Where the policy is schema-bound nobody
    /// is asked for permissions on what is found for it.
    fn enter_predicate(&self, schema_bound: bool) {
        let _ = schema_bound;
    }
    /// It has ended.
    fn leave_predicate(&self) {}
    /// The inline function of a predicate, by its schema and name in a database.
    fn predicate_function(
        &self,
        database: keel_base::DatabaseId,
        name: NameParts<'_>,
    ) -> Option<Arc<ModuleDef>> {
        let _ = (database, name);
        None
    }
    /// The indexed views whose rows come from a table.
    fn indexed_views(&self, table: &TableDef) -> Vec<Arc<ModuleDef>> {
        let _ = table;
        Vec::new()
    }
    /// The SET options, by name, that are not as indexed views need them.
    fn wrong_index_options(&self) -> Vec<&'static str> {
        Vec::new()
    }
    /// Whether the statement removes what is too old from history tables, which no other may change.
    fn cleans_history(&self) -> bool {
        false
    }
    /// Settings.
    fn options(&self) -> BindOptions {
        BindOptions::default()
    }
    /// Resolves a table, view, temporary table (`#t`), synonym or system view. `None`: error 208.
    fn object(&self, name: NameParts<'_>) -> Option<ObjectRef>;
    /// Whether a name in four parts is of this server, by its first.
    fn is_own_server(&self, name: &str) -> bool {
        let _ = name;
        false
    }
    /// A table of another server. Error 7202 when there is none of that name, and others of asking it.
    fn remote_object(&self, server: &str, name: NameParts<'_>) -> Result<Arc<dyn VirtualTable>> {
        let _ = name;
        Err(crate::errors::no_linked_server(server))
    }
    /// Rows of another server.
    fn remote_rowset(&self, rowset: &RemoteRowset<'_>) -> Result<Arc<dyn VirtualTable>> {
        match rowset {
            RemoteRowset::Query(server, _) => Err(crate::errors::no_linked_server(server)),
            RemoteRowset::Text(provider, ..) | RemoteRowset::Table(provider, ..) => {
                Err(crate::errors::no_provider(provider))
            }
        }
    }
    /// The rows of a file: `OPENROWSET (BULK 'file', options)`.
    fn bulk_rowset(&self, file: &str, options: &[keel_parser::ast::Opt]) -> Result<Arc<dyn VirtualTable>> {
        let _ = (file, options);
        Err(crate::errors::not_supported("OPENROWSET (BULK …)"))
    }
    /// The four parts that a synonym of something at another server stands for.
    fn remote_synonym(&self, name: NameParts<'_>) -> Option<Vec<String>> {
        let _ = name;
        None
    }
    /// Whether what [`BindScope::object`] did not find is a synonym of something that is not there (5313).
    fn is_synonym(&self, name: NameParts<'_>) -> bool {
        let _ = name;
        false
    }
    /// Resolves a table-valued function by name (multi-statement and inline user functions, system functions).
    fn table_function(&self, name: NameParts<'_>) -> Option<ObjectRef> {
        self.object(name)
    }
    /// The catalog of a database a bound table lives in (for foreign keys and plan versions). Temporary tables'
    /// databases may answer `None`.
    fn catalog(&self, database: keel_base::DatabaseId) -> Option<Arc<dyn Catalog>>;
    /// Name of a database, for messages and SHOWPLAN.
    fn database_name(&self, database: keel_base::DatabaseId) -> String;
    /// Name of a schema of a database, for messages and SHOWPLAN.
    fn schema_name(&self, database: keel_base::DatabaseId, schema_id: i32) -> String;
    /// A scalar variable or parameter; `name` has its `@`.
    fn variable(&self, name: &str) -> Option<VariableInfo>;
    /// Name of a scalar variable, with its `@`, for SHOWPLAN.
    fn variable_name(&self, index: usize) -> Option<String> {
        let _ = index;
        None
    }
    /// Whether it is told of indexes that the statement could have used on this table if they were there.
    fn notes_missing_indexes(&self, table: &TableDef) -> bool {
        let _ = table;
        false
    }
    /// What a scalar variable has while the statement is compiled: a parameter's value, or with `any` that of a local variable too. `None` where
    /// it has none, or where plans are not to be made for values of parameters.
    fn variable_value(&self, index: usize, any: bool) -> Option<Value> {
        let _ = (index, any);
        None
    }
    /// The time, for estimates.
    fn now(&self) -> crate::expr::fold::Now {
        crate::expr::fold::Now::default()
    }
    /// A table variable; `name` has its `@`.
    fn table_variable(&self, name: &str) -> Option<Arc<TableDef>>;
    /// What a parameter of the table type `wanted` gets for a table variable: a number by which
    /// [`BindScope::lent_table`] knows it; never 0, which stands for no rows. Errors 137 and 206.
    fn lend_table(&self, name: &str, wanted: &str) -> Result<Value> {
        let _ = wanted;
        Err(crate::errors::undeclared_variable(name))
    }
    /// The table behind such a number.
    fn lent_table(&self, lent: &Value) -> Option<Arc<TableDef>> {
        let _ = lent;
        None
    }
    /// Whether a table variable is a parameter, which nobody may change.
    fn is_table_parameter(&self, name: &str) -> bool {
        let _ = name;
        false
    }
    /// A user-defined scalar function (always schema-qualified in T-SQL).
    fn scalar_function(&self, name: NameParts<'_>) -> Option<ScalarFunctionInfo>;
    /// The type of a sequence, by its quoted name.
    fn sequence_type(&self, name: &str) -> Option<SqlType> {
        let _ = name;
        None
    }
    /// The statement itself takes a value of a sequence, by its quoted name.
    fn note_sequence(&self, name: &str) {
        let _ = name;
    }
    /// The partition function that `$PARTITION` names: its type and collation, and what the session knows it by when it is
    /// asked for a value's partition.
    fn partition_function(&self, database: Option<&str>, name: &str) -> Option<PartitionFunctionInfo> {
        let _ = (database, name);
        None
    }
    /// The parameters of an inline table-valued function given by its module.
    fn module_parameters(&self, module: &ModuleDef) -> Vec<ParameterInfo> {
        let _ = module;
        Vec::new()
    }
    /// A session or metadata function or `@@name`. Asked only for names the type library does not know.
    fn session_function(&self, name: &str, args: &[SqlType]) -> Option<SessionFunction>;
    /// Whether AFTER triggers exist for a change of a table.
    fn has_triggers(&self, table: &TableDef, action: crate::context::DmlAction) -> bool {
        let _ = (table, action);
        false
    }
    /// Statistics of a table, when they are kept. Called at most once per table and compilation.
    fn statistics(&self, table: &TableDef) -> Option<Arc<crate::stats::TableStatistics>> {
        let _ = table;
        None
    }
    /// What is compiled takes a lock of this table when it runs, besides those that its target has: whoever runs it asks for that first, and
    /// compiles again if the table was defined otherwise meanwhile.
    fn will_lock(&self, database: keel_base::DatabaseId, table: crate::catalog::ObjectId) {
        let _ = (database, table);
    }
    /// A table of that database is read as it was committed, whatever the isolation level.
    fn reads_committed(&self, database: keel_base::DatabaseId) {
        let _ = database;
    }
    /// The counters of an index or heap; `None` where nobody counts.
    fn index_use(
        &self,
        database: keel_base::DatabaseId,
        tree: keel_base::TreeId,
    ) -> Option<Arc<crate::usage::IndexUse>> {
        let _ = (database, tree);
        None
    }
    /// Up to how many threads may work for the statement, and from which cost.
    fn parallelism(&self) -> Parallelism {
        Parallelism::default()
    }
    /// Decisions that the statement's plan is to be made by.
    fn directions(&self) -> Option<Arc<crate::plan::Directions>> {
        None
    }
    /// True once the client cancelled or the session was killed; asked at each step of binding and planning.
    fn cancelled(&self) -> bool {
        false
    }
    /// Rewrites that are switched off (for tests that compare results with and without).
    fn disabled_passes(&self) -> &[crate::plan::rewrite::Pass] {
        &[]
    }
    /// `xml(collection)`. Error 6314 when there is none of this name.
    fn xml_type(&self, name: &keel_parser::ast::ObjectName, document: bool) -> Result<SqlType> {
        let _ = document;
        Err(crate::errors::no_xml_collection(name.name.as_str()))
    }
    /// Type of a user-defined type name (`sysname`, alias types).
    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<SqlType> {
        let _ = schema;
        name.eq_ignore_ascii_case("sysname").then_some(SqlType::NVarChar(keel_types::Length::Limited(128)))
    }
}
