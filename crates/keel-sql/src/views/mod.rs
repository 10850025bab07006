//! System views: tables that are computed when they are read.
//!
//! One entry per view ([`SystemView`]): schema, name, columns, and a function that makes the rows. The entries of each
//! subject stand in a module of their own, and `groups` lists the modules: adding a view is adding an entry. Rows are
//! made from a [`ViewContext`]: the database the view was named in, as the reading session's transaction sees it.

mod absent;
mod agent;
mod audit;
mod backups;
mod broker;
mod builtin_permissions;
mod capture;
mod changes;
mod collation;
mod column_keys;
mod columns;
mod commands;
mod compat;
mod constraints;
mod content_indexes;
mod counters;
mod credentials;
mod databases;
mod dependencies;
mod describe;
mod encryption;
mod endpoints;
mod events;
mod failover_cluster;
mod files;
mod full_text;
mod governor;
mod governor_counters;
mod hadr;
mod hadr_cluster;
mod hadr_counters;
mod hadr_own;
mod hadr_states;
mod indexes;
mod information_schema;
mod io;
mod keys;
mod linked;
mod locks;
mod log_records;
mod machine;
mod management;
pub mod messages;
mod mirroring;
mod missing_indexes;
mod modules;
pub(crate) mod msdb;
mod objects;
mod odbc;
mod old;
mod old_catalog;
pub(crate) mod partitions;
mod plan_guides;
pub mod plans;
mod policies;
mod principals;
mod query_store;
mod row_versions;
mod rows;
mod server;
mod sessions;
mod tokens;
mod traces;
mod triggers;
mod usage;
mod waits;
mod xml_collections;
pub use waits::waits;

pub(crate) use changes::change_versions;
pub(crate) use columns::view_columns;
pub(crate) use hadr::machine_of;
pub(crate) use io::vlfs;
pub(crate) use machine::size as machine_size;
pub(crate) use modules::module_columns;
pub(crate) use objects::{shipped_name, shipped_object};
pub(crate) use plans::handles as program_handles;
pub(crate) use principals::sid_of;
pub use rows::{captured, trigger_rows};

use crate::catalog::{Picture, fold};
use crate::engine::{DatabaseEntry, Engine};
use crate::session::info::Info;
use keel_base::{DatabaseId, TreeId};
use keel_query::ExecCtx;
use keel_query::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_store::base::BaseRoot;
use keel_types::error::{Result, SqlError};
use keel_types::{Length, SqlType, Value};
use std::cell::OnceCell;
use std::sync::Arc;

/// A column of a system view.
pub type Column = (&'static str, SqlType);

/// A system view.
pub struct SystemView {
    /// `sys` or `INFORMATION_SCHEMA`.
    pub schema: &'static str,
    /// Name.
    pub name: &'static str,
    /// Columns.
    pub columns: &'static [Column],
    /// Its rows.
    pub rows: fn(&ViewContext<'_>) -> Vec<Vec<Value>>,
}

/// A view of `sys`.
const fn view(
    name: &'static str,
    columns: &'static [Column],
    rows: fn(&ViewContext<'_>) -> Vec<Vec<Value>>,
) -> SystemView {
    SystemView { schema: "sys", name, columns, rows }
}

/// Columns that two views share, and then those of the second. `N` is the number of both together.
const fn joined<const N: usize>(shared: &[Column], own: &[Column]) -> [Column; N] {
    assert!(shared.len() + own.len() == N);
    let mut columns = [("", SqlType::Null); N];
    let mut i = 0;
    while i < N {
        columns[i] = if i < shared.len() { shared[i] } else { own[i - shared.len()] };
        i += 1;
    }
    columns
}

/// What a view is computed from.
pub struct ViewContext<'a> {
    /// The reading session.
    pub info: &'a Info,
    /// The instance.
    pub engine: &'a Engine,
    /// The database the view was named in.
    pub entry: Arc<DatabaseEntry>,
    /// Its objects, as the session's user sees them.
    pub picture: Arc<Picture>,
    /// Arguments, when it is called as a table function.
    pub args: &'a [Value],
    /// Why the rows are wrong; the query ends with it.
    failed: OnceCell<Box<SqlError>>,
}

impl ViewContext<'_> {
    /// Leaf pages of a tree as of the last checkpoint. When a page on the way is damaged, the query fails (824).
    fn leaf_pages(&self, root: &BaseRoot, tree: TreeId) -> u64 {
        let (from, to) = (tree.0.to_be_bytes(), tree.0.wrapping_add(1).to_be_bytes());
        root.approximate_leaf_pages(&from, Some(&to)).unwrap_or_else(|e| {
            self.fail(SqlError::new(824, 24, 2, format!("Database '{}': {e}.", self.entry.name())));
            0
        })
    }

    fn fail(&self, error: Box<SqlError>) {
        // A second failure says nothing that the first does not.
        let _ = self.failed.set(error);
    }

    /// Number of rows in each partition of a table or index, from the first. When they cannot be read, the query fails.
    fn partition_counts(
        &self,
        table: &keel_query::catalog::TableDef,
        by: Option<keel_query::partition::PartitionedBy>,
    ) -> Vec<i64> {
        let function = by.and_then(|by| Some((self.picture.partitioned_by(Some(by))?, by.column)));
        let Some((function, column)) = function else { return vec![self.row_count(table)] };
        self.info.count_rows_by_partition(table, function, column).unwrap_or_else(|e| {
            self.fail(e);
            vec![0; function.fanout()]
        })
    }

    /// Number of rows of a table. When it cannot be read, the query fails.
    fn row_count(&self, table: &keel_query::catalog::TableDef) -> i64 {
        self.info.count_rows(table).unwrap_or_else(|e| {
            self.fail(e);
            0
        })
    }
}

fn groups() -> [&'static [SystemView]; 62] {
    [
        usage::VIEWS,
        partitions::VIEWS,
        policies::VIEWS,
        objects::VIEWS,
        columns::VIEWS,
        indexes::VIEWS,
        content_indexes::VIEWS,
        xml_collections::VIEWS,
        constraints::VIEWS,
        modules::VIEWS,
        dependencies::VIEWS,
        databases::VIEWS,
        sessions::VIEWS,
        principals::VIEWS,
        builtin_permissions::VIEWS,
        information_schema::VIEWS,
        information_schema::routines::VIEWS,
        information_schema::usage::VIEWS,
        counters::VIEWS,
        waits::VIEWS,
        io::VIEWS,
        linked::VIEWS,
        locks::VIEWS,
        log_records::VIEWS,
        old::VIEWS,
        old_catalog::VIEWS,
        row_versions::VIEWS,
        tokens::VIEWS,
        odbc::VIEWS,
        messages::VIEWS,
        server::VIEWS,
        machine::VIEWS,
        endpoints::VIEWS,
        keys::VIEWS,
        mirroring::VIEWS,
        hadr::VIEWS,
        hadr_states::VIEWS,
        failover_cluster::VIEWS,
        hadr_cluster::VIEWS,
        hadr_own::VIEWS,
        column_keys::VIEWS,
        compat::VIEWS,
        credentials::VIEWS,
        absent::VIEWS,
        encryption::VIEWS,
        management::VIEWS,
        files::VIEWS,
        describe::VIEWS,
        plans::VIEWS,
        missing_indexes::VIEWS,
        traces::VIEWS,
        events::VIEWS,
        audit::VIEWS,
        triggers::VIEWS,
        agent::VIEWS,
        broker::VIEWS,
        capture::VIEWS,
        full_text::VIEWS,
        changes::VIEWS,
        governor::VIEWS,
        plan_guides::VIEWS,
        query_store::VIEWS,
    ]
}

/// Old names without schema, and what they stand for.
const COMPATIBILITY: &[&str] = &[
    "sysobjects",
    "syscolumns",
    "sysindexes",
    "sysdatabases",
    "systypes",
    "sysusers",
    "sysprocesses",
    "syscomments",
    "sysreferences",
    "sysforeignkeys",
    "sysconfigures",
    "syslogins",
    "sysmessages",
    "sysfiles",
    "syslanguages",
    "syscharsets",
    "sysservers",
    "sysaltfiles",
    "syspermissions",
    "sysprotects",
    "sysmembers",
    "sysconstraints",
    "sysdepends",
    "sysfilegroups",
    "sysindexkeys",
    "sysperfinfo",
    "syslockinfo",
    "syscacheobjects",
    "syscurconfigs",
    "sysdevices",
    "sysfulltextcatalogs",
    "sysoledbusers",
    "sysopentapes",
    "sysremotelogins",
];

/// The view of that name.
#[must_use]
pub fn find(schema: Option<&str>, name: &str) -> Option<&'static SystemView> {
    let all = || groups().into_iter().flatten();
    let by = |schema: &str| {
        all().find(|v| v.name.eq_ignore_ascii_case(name) && v.schema.eq_ignore_ascii_case(schema))
    };
    match schema {
        Some(s) if s.eq_ignore_ascii_case("sys") || s.eq_ignore_ascii_case("INFORMATION_SCHEMA") => by(s),
        // Old names and system functions are found from everywhere; so are views through a database's dbo.
        None => {
            let function = name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("fn_"));
            let known = function || COMPATIBILITY.iter().any(|c| c.eq_ignore_ascii_case(name));
            known.then(|| by("sys")).flatten()
        }
        Some(s) if s.eq_ignore_ascii_case("dbo") => {
            COMPATIBILITY.iter().any(|c| c.eq_ignore_ascii_case(name)).then(|| by("sys")).flatten()
        }
        Some(_) => None,
    }
}

/// The table of that name in `msdb`.
#[must_use]
pub fn find_in_msdb(schema: Option<&str>, name: &str) -> Option<&'static SystemView> {
    let schema = schema.filter(|s| !s.is_empty()).unwrap_or("dbo");
    let of_it = |v: &&SystemView| v.name.eq_ignore_ascii_case(name) && v.schema.eq_ignore_ascii_case(schema);
    msdb::TABLES.iter().chain(backups::TABLES).find(of_it)
}

/// The table of that name in `master`.
#[must_use]
pub fn find_in_master(schema: Option<&str>, name: &str) -> Option<&'static SystemView> {
    let here = schema.is_none_or(|s| s.is_empty() || s.eq_ignore_ascii_case("dbo"));
    here.then(|| compat::MASTER.iter().find(|v| v.name.eq_ignore_ascii_case(name))).flatten()
}

/// Object id of a view: negative, by its place in the list.
#[must_use]
pub fn object_id(schema: Option<&str>, name: &str) -> Option<i32> {
    let view = find(schema, name)?;
    let at = groups().into_iter().flatten().position(|v| std::ptr::eq(v, view))?;
    Some(-100 - at as i32)
}

/// The view with that object id.
#[must_use]
pub fn by_object_id(id: i32) -> Option<&'static SystemView> {
    groups().into_iter().flatten().nth(usize::try_from(-100 - id).ok()?)
}

/// All views.
pub fn all() -> impl Iterator<Item = &'static SystemView> {
    groups().into_iter().flatten()
}

struct BoundView {
    view: &'static SystemView,
    engine: Arc<Engine>,
    database: DatabaseId,
    columns: Vec<VirtualColumn>,
}

/// A view as a table of a database.
#[must_use]
pub fn bind(view: &'static SystemView, engine: &Arc<Engine>, database: DatabaseId) -> Arc<dyn VirtualTable> {
    let names = collation::of_names(view, engine, database);
    let column = |(name, ty): &Column| {
        let column = VirtualColumn::new(*name, *ty);
        if collation::is_of_names(view, name, *ty) {
            VirtualColumn { collation: names, ..column }
        } else {
            column
        }
    };
    let columns = view.columns.iter().map(column).collect();
    Arc::new(BoundView { view, engine: Arc::clone(engine), database, columns })
}

impl VirtualTable for BoundView {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, ctx: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let info = Info::of(ctx.session);
        // Views have no snapshots in which what the session has just committed could be seen.
        info.settle()?;
        let Some(entry) = self.engine.database_by_id(self.database) else {
            return Ok(Box::new(std::iter::empty()));
        };
        let picture = info.seen_picture(&entry);
        let cx = ViewContext { info, engine: &self.engine, entry, picture, args, failed: OnceCell::new() };
        let rows = (self.view.rows)(&cx);
        if let Some(failure) = cx.failed.into_inner() {
            return Err(failure);
        }
        debug_assert!(
            rows.iter().all(|r| r.len() == self.columns.len()),
            "{} has ragged rows",
            self.view.name
        );
        debug_assert!(
            rows.iter().all(|row| row.iter().zip(self.view.columns).all(fits)),
            "{} has rows of other types than its columns'",
            self.view.name
        );
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
}

/// Whether what is in a column can be sent as one of its type, where a wrong one is easily made: a `sql_variant` that says no type, or one that
/// is none.
fn fits((value, (_, ty)): (&Value, &Column)) -> bool {
    match value {
        Value::Null => true,
        value => matches!(value, Value::Variant(_)) == matches!(ty, SqlType::SqlVariant),
    }
}

/// The numbers that catalog views show of a type.
#[derive(Clone, Copy, Debug)]
pub struct TypeFacts {
    /// `system_type_id`
    pub system_type_id: u8,
    /// `user_type_id`
    pub user_type_id: i32,
    /// `max_length` in bytes, -1 for max.
    pub max_length: i16,
    /// `precision`
    pub precision: u8,
    /// `scale`
    pub scale: u8,
    /// Length in characters of character types, in bytes of binary ones; -1 for max, 0 for sql_variant.
    pub characters: Option<i32>,
    /// Character type.
    pub is_text: bool,
}

/// Describes a type.
#[must_use]
pub fn facts(ty: SqlType) -> TypeFacts {
    let chars = |l: Length| match l {
        Length::Limited(n) => i32::from(n),
        Length::Max => -1,
    };
    // Of what is encrypted the catalog shows what it is encrypted from.
    let ty = ty.plain();
    let characters = match ty {
        SqlType::Char(n) | SqlType::NChar(n) | SqlType::Binary(n) => Some(i32::from(n)),
        SqlType::VarChar(l) | SqlType::NVarChar(l) | SqlType::VarBinary(l) => Some(chars(l)),
        SqlType::Text | SqlType::Image => Some(i32::MAX),
        SqlType::NText => Some(1_073_741_823),
        SqlType::Xml | SqlType::TypedXml(_) | SqlType::Geometry | SqlType::Geography => Some(-1),
        SqlType::HierarchyId => Some(892),
        SqlType::SqlVariant => Some(0),
        _ => None,
    };
    let is_text = matches!(
        ty,
        SqlType::Char(_)
            | SqlType::NChar(_)
            | SqlType::VarChar(_)
            | SqlType::NVarChar(_)
            | SqlType::Text
            | SqlType::NText
    );
    TypeFacts {
        system_type_id: ty.system_type_id(),
        user_type_id: ty.user_type_id(),
        max_length: ty.max_length_bytes(),
        precision: ty.precision(),
        scale: ty.scale(),
        characters,
        is_text,
    }
}

/// Whether two names are the same.
#[must_use]
pub fn same(a: &str, b: &str) -> bool {
    fold(a) == fold(b)
}

pub(crate) const INT: SqlType = SqlType::Int;
pub(crate) const SMALL: SqlType = SqlType::SmallInt;
pub(crate) const TINY: SqlType = SqlType::TinyInt;
pub(crate) const BIG: SqlType = SqlType::BigInt;
pub(crate) const BIT: SqlType = SqlType::Bit;
pub(crate) const NAME: SqlType = SqlType::SYSNAME;
pub(crate) const DATE: SqlType = SqlType::DateTime;
pub(crate) const TEXT: SqlType = SqlType::NVarChar(Length::Max);
pub(crate) const DESC: SqlType = SqlType::NVarChar(Length::Limited(60));
pub(crate) const KIND: SqlType = SqlType::Char(2);
pub(crate) const CHAR4: SqlType = SqlType::Char(4);
pub(crate) const GUID: SqlType = SqlType::UniqueIdentifier;
pub(crate) const SID: SqlType = SqlType::VarBinary(Length::Limited(85));
pub(crate) const VARIANT: SqlType = SqlType::SqlVariant;

pub(crate) fn int(n: impl Into<i64>) -> Value {
    Value::Int(n.into())
}
/// A whole number of an identity column or a sequence, as `sql_variant` of its type.
pub(crate) fn whole_number(ty: SqlType, n: i64) -> Value {
    let value = match ty {
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => {
            Value::Decimal(keel_types::Decimal::new(i128::from(n), 0))
        }
        _ => Value::Int(n),
    };
    Value::Variant(Arc::new((ty, value)))
}
pub(crate) fn bit(b: bool) -> Value {
    Value::Bit(b)
}
pub(crate) fn text(s: impl Into<smol_str::SmolStr>) -> Value {
    Value::str(s)
}
/// A date and time as `datetime` holds it.
pub(crate) fn date(ticks: i64) -> Value {
    Value::DateTime(keel_types::datetime::round_to_datetime(ticks))
}
pub(crate) const NULL: Value = Value::Null;

/// `log_reuse_wait` and its description.
pub(crate) fn log_reuse_wait(cx: &ViewContext<'_>, d: &DatabaseEntry) -> (i64, &'static str) {
    use keel_node::LogReuseWait as W;
    match d.store.log_reuse_wait() {
        W::Nothing => (0, "NOTHING"),
        W::Checkpoint => (1, "CHECKPOINT"),
        W::LogBackup => (2, "LOG_BACKUP"),
        W::ActiveTransaction => (4, "ACTIVE_TRANSACTION"),
        W::AvailabilityReplica if hadr::state(cx).mirroring_of(&d.name()).is_some() => {
            (5, "DATABASE_MIRRORING")
        }
        W::AvailabilityReplica => (9, "AVAILABILITY_REPLICA"),
    }
}
