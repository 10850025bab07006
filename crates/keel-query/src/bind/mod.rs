//! Binding: from the syntax tree to the logical tree, with every name, type and conversion decided.
//!
//! [`Binder`] holds what one statement accumulates (slots, references, dependencies). A [`Scope`] is what a column
//! name may mean at one place: the sources of the current FROM, then those of the queries around it. CTEs and views
//! are bound again at every reference, so each reference owns its slots.
//!
//! Deliberately absent: access paths and join order (see [`crate::plan`]), and any decision that depends on data.

mod changes;
mod clr;
mod conditional;
pub mod deduce;
pub(crate) mod encrypted;
pub mod expr;
pub mod for_clause;
pub mod from;
mod full_text;
pub mod function;
pub mod group;
mod hints;
pub mod json;
mod like;
pub mod mask;
pub mod merge_types;
mod odbc;
pub mod operators;
mod over;
pub(crate) mod policy;
pub mod query;
pub mod rel;
mod rowset;
pub mod select;
mod sequence;
mod temporal;
pub mod values;
pub mod window;
pub mod xml;

pub use changes::VERSIONS_FUNCTION;
pub use hints::{Asked, Grouping, USE_HINTS};

use crate::catalog::ModuleDef;
use crate::errors::{self, Result};
use crate::expr::{Coercibility, Expr, Slot};
use crate::plan::directions::Steering;
use crate::plan::warnings::Conversion;
use crate::scope::BindScope;
use keel_base::DatabaseId;
use keel_parser::ast;
use keel_types::{Collation, SqlType, Value};
use rel::SlotInfo;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Case-insensitive comparison of identifiers.
#[must_use]
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || !(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase()
}

/// A column visible through a source.
#[derive(Clone, Debug)]
pub struct SourceColumn {
    /// Its name; empty when it has none.
    pub name: String,
    /// Its slot.
    pub slot: Slot,
}

/// One exposed name in FROM.
#[derive(Clone, Debug)]
pub struct Source {
    /// The exposed name: alias, or the table's own name.
    pub alias: String,
    /// Schema written or implied, when there is no alias (so `dbo.t.c` matches).
    pub schema: Option<String>,
    /// Database, when it is written and there is no alias.
    pub database: Option<String>,
    /// Columns in order.
    pub columns: Vec<SourceColumn>,
    /// The table reference, when it is a stored table.
    pub get: Option<u32>,
    /// Slot of a row's locator, when it is a stored table.
    pub locator: Option<Slot>,
    /// Slots of columns that `*` leaves out.
    pub hidden: Vec<Slot>,
}

/// What a column name may mean at one place.
#[derive(Clone, Debug, Default)]
pub struct Scope<'p> {
    /// Sources of this query.
    pub sources: Vec<Rc<Source>>,
    /// The query around it.
    pub parent: Option<&'p Scope<'p>>,
}

impl<'p> Scope<'p> {
    /// A scope of these sources inside `parent`.
    #[must_use]
    pub fn new(sources: Vec<Rc<Source>>, parent: Option<&'p Scope<'p>>) -> Scope<'p> {
        Scope { sources, parent }
    }

    /// Finds a column: innermost query first. `Ok(None)` when nothing matches.
    pub fn resolve(&self, qualifier: Option<&ast::ObjectName>, name: &str) -> Result<Option<Slot>> {
        let mut found = None;
        for source in meant(&self.sources, qualifier) {
            for column in source.columns.iter().filter(|c| same_name(&c.name, name)) {
                if found.is_some_and(|slot| slot != column.slot) {
                    return Err(errors::ambiguous_column(name));
                }
                found = Some(column.slot);
            }
            if name == LOCATOR && source.locator.is_some() {
                found = source.locator;
            }
        }
        match (found, self.parent) {
            (None, Some(parent)) => parent.resolve(qualifier, name),
            (found, _) => Ok(found),
        }
    }

    /// Whether `qualifier` names a source here or further out.
    #[must_use]
    pub fn has_source(&self, qualifier: &ast::ObjectName) -> bool {
        self.sources.iter().any(|s| s.matches(qualifier))
            || self.parent.is_some_and(|p| p.has_source(qualifier))
    }
}

impl Source {
    /// Whether a qualifier means this source.
    #[must_use]
    pub fn matches(&self, qualifier: &ast::ObjectName) -> bool {
        same_name(&self.alias, &qualifier.name.text)
            && match (&qualifier.schema, &self.schema) {
                (None, _) => true,
                (Some(q), Some(s)) => same_name(q.as_str(), s),
                (Some(_), None) => false,
            }
            && match (&qualifier.database, &self.database) {
                (Some(q), Some(d)) => same_name(q.as_str(), d),
                _ => true,
            }
    }
}

impl Source {
    /// What is called by an alias, and is no stored table.
    pub(crate) fn of(alias: &str, columns: Vec<SourceColumn>) -> Source {
        let (schema, database, hidden) = (None, None, Vec::new());
        Source { alias: alias.to_owned(), schema, database, columns, get: None, locator: None, hidden }
    }

    /// Whether both are exposed under the same name.
    pub(crate) fn is_called_like(&self, other: &Source) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| match (a, b) {
            (Some(a), Some(b)) => same_name(a, b),
            (a, b) => a == b,
        };
        same_name(&self.alias, &other.alias)
            && same(&self.schema, &other.schema)
            && same(&self.database, &other.database)
    }
}

/// The sources that a qualifier means; all of them without one. Tables of several databases may have a name in common: as that is written, it
/// means one of them.
pub(crate) fn meant<'s>(
    sources: &'s [Rc<Source>],
    qualifier: Option<&'s ast::ObjectName>,
) -> impl Iterator<Item = &'s Rc<Source>> {
    let alike = |s: &Source, q: &ast::ObjectName| s.database.is_some() == q.database.is_some();
    let whole = qualifier.is_some_and(|q| {
        let parts = q.schema.is_some() || q.database.is_some();
        parts && sources.iter().any(|s| s.matches(q) && alike(s, q))
    });
    sources.iter().filter(move |s| qualifier.is_none_or(|q| s.matches(q) && (!whole || alike(s, q))))
}

/// A common table expression in sight.
#[derive(Clone)]
struct CteEntry {
    cte: Rc<ast::Cte>,
    /// CTEs it may itself refer to: those before it.
    visible: usize,
}

/// A recursive CTE being bound: references to it become the work table.
struct RecursiveFrame {
    name: String,
    id: u32,
    /// Names and slot descriptions of the anchor.
    columns: Vec<(String, SlotInfo)>,
    referenced: bool,
}

/// The recursive member of a CTE while it is bound.
#[derive(Default)]
struct Member {
    refused: Option<fn(&str) -> errors::Error>,
}

/// An output column of a bound query.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Name; empty when it has none.
    pub name: String,
    /// Slot that holds its value.
    pub slot: Slot,
}

/// A bound query: its tree and the columns it shows.
#[derive(Clone, Debug)]
pub struct BoundQuery {
    /// The tree.
    pub rel: rel::Rel,
    /// Visible columns in order.
    pub columns: Vec<OutputColumn>,
}

/// Binds one statement.
pub struct Binder<'a> {
    /// Surroundings.
    pub scope: &'a dyn BindScope,
    /// Everything known of each slot.
    pub slots: Vec<SlotInfo>,
    /// Databases of the tables the statement refers to, for plan dependencies.
    pub databases: Vec<DatabaseId>,
    /// MAXRECURSION in force.
    pub max_recursion: u32,
    /// What else OPTION asks of the plan.
    pub(crate) asked: Asked,
    /// The statement assigns variables while it runs.
    pub(crate) assigns_variables: bool,
    /// Values of variables that the plan is made for.
    planned_for: RefCell<Vec<(usize, Value)>>,
    /// What the plan is made by, and what has been decided about it.
    pub(crate) steering: Steering,
    /// Indexed views are read by their tables, unless NOEXPAND says otherwise: EXPAND VIEWS, and where a view may be what
    /// the statement changes.
    pub(crate) expands_views: bool,
    /// MAXDOP.
    pub(crate) max_degree: Option<u16>,
    /// ENABLE_PARALLEL_PLAN_PREFERENCE.
    pub(crate) prefers_parallel: bool,
    /// Tables and parameters of texts for other servers so far.
    remote_names: u32,
    next_get: u32,
    /// Stored tables by the numbers of their references.
    gets: Vec<(u32, ArcTable)>,
    next_recursion: u32,
    ctes: Vec<CteEntry>,
    /// A change may stand in FROM: the source of an INSERT.
    pub(crate) takes_change: Option<crate::dml::nested::Surroundings>,
    /// That change.
    pub(crate) nested: Option<Arc<crate::plan::run::Plan>>,
    /// CHANGE_TRACKING_CONTEXT of the statement.
    pub(crate) change_context: Option<Expr>,
    /// XMLNAMESPACES in force: prefix (none for the default) and URI.
    namespaces: Vec<(Option<String>, String)>,
    /// Columns of `nodes()`: slot of the instance, and the rest.
    xml_rows: HashMap<Slot, xml::RowColumn>,
    recursive: Vec<RecursiveFrame>,
    /// In the text of a recursive member: what in it is not allowed there, when something was met.
    member: Option<Member>,
    /// FOR SYSTEM_TIME of the view being bound: of every system-versioned table in it.
    system_time: Option<temporal::TimeRange>,
    /// Depth of what is bound without regard to security policies: predicates, and views for what they are made of.
    unguarded: u32,
    /// A predicate of a security policy is part of the statement.
    pub(crate) guarded: bool,
    /// Something in its plan lacks an index.
    pub(crate) lacks_index: bool,
    /// Conversions that its plan suffers from.
    pub(crate) conversions: Vec<Conversion>,
    /// Masked columns of the tables that are read.
    pub(crate) masked: Vec<mask::MaskSource>,
    /// Parameters of the inline functions being expanded, innermost last.
    parameters: Vec<HashMap<String, Expr>>,
    /// Depth of expanded views, to refuse endless ones.
    depth: u32,
    /// Tables and views the statement names itself.
    named: Vec<NamedSource>,
    /// Slots its own text reads.
    read_slots: Vec<Slot>,
    /// Views and inline functions being bound.
    in_modules: u32,
    /// Slots of computed text whose collation gives way to a column's.
    giving_way: HashSet<Slot>,
    /// Slots of bare NULLs, which are ints wherever a type is asked for, and of every type where they are assigned.
    bare_nulls: HashSet<Slot>,
    /// Columns of set operations that are NULL in every query so far: the next one decides their type.
    untyped: HashSet<Slot>,
    /// Columns that `$IDENTITY` or `$ROWGUID` may stand for.
    pseudo_columns: HashMap<Slot, &'static str>,
    /// The rows being described: what NEXT VALUE FOR is asked for in one of them is one value.
    row: u64,
    /// NEXT VALUE FORs met so far.
    next_values: u32,
    /// Queries around the one being bound, innermost last.
    around: Vec<Around>,
}

/// A query whose select list, HAVING or ORDER BY has the subquery that is being bound.
#[derive(Default)]
struct Around {
    /// Columns of its sources.
    columns: HashSet<Slot>,
    /// Its aggregates that stand in the subquery: those that read nothing else.
    aggs: Vec<rel::Aggregate>,
}

/// An object read, with the slots of its columns.
struct NamedSource {
    object: crate::scope::ObjectRef,
    /// Slot and column id.
    columns: Vec<(Slot, i32)>,
}

/// The name by which cursors read and find a row by its locator ([`rel::Get::locator`]), or those behind or before it: locators are in the
/// order of the table.
pub const LOCATOR: &str = "%%locator%%";

/// Deepest nesting of views and functions, as in the product.
const NESTING_MAX: u32 = 32;

impl<'a> Binder<'a> {
    /// A binder without anything bound yet.
    #[must_use]
    pub fn new(scope: &'a dyn BindScope) -> Binder<'a> {
        Binder {
            scope,
            slots: Vec::new(),
            databases: Vec::new(),
            max_recursion: 100,
            asked: Asked::default(),
            assigns_variables: false,
            planned_for: RefCell::default(),
            steering: Steering::default(),
            expands_views: false,
            max_degree: None,
            prefers_parallel: false,
            remote_names: 0,
            next_get: 0,
            gets: Vec::new(),
            next_recursion: 0,
            ctes: Vec::new(),
            takes_change: None,
            nested: None,
            change_context: None,
            namespaces: Vec::new(),
            xml_rows: HashMap::new(),
            recursive: Vec::new(),
            member: None,
            system_time: None,
            unguarded: 0,
            guarded: false,
            lacks_index: false,
            conversions: Vec::new(),
            masked: Vec::new(),
            parameters: Vec::new(),
            depth: 0,
            named: Vec::new(),
            read_slots: Vec::new(),
            in_modules: 0,
            giving_way: HashSet::new(),
            bare_nulls: HashSet::new(),
            untyped: HashSet::new(),
            pseudo_columns: HashMap::new(),
            row: new_row(),
            next_values: 0,
            around: Vec::new(),
        }
    }

    /// A binder of a statement whose plan is made by the directions that its scope has, if it has some.
    pub(crate) fn directed(scope: &'a dyn BindScope) -> Binder<'a> {
        Binder { steering: Steering::by(scope.directions()), ..Binder::new(scope) }
    }

    /// The plan depends on this value of a variable.
    pub(crate) fn note_value(&self, variable: usize, value: &Value) {
        let mut known = self.planned_for.borrow_mut();
        if !known.iter().any(|(v, _)| *v == variable) {
            known.push((variable, value.clone()));
        }
    }

    /// Values of variables that the plan is made for, by the variables' indexes.
    pub(crate) fn planned_for(&self) -> Vec<(usize, Value)> {
        let mut known = self.planned_for.borrow().clone();
        known.sort_by_key(|(variable, _)| *variable);
        known
    }

    /// Runs `f` over the expressions of another row than those around.
    pub(crate) fn in_row<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let around = std::mem::replace(&mut self.row, new_row());
        let result = f(self);
        self.row = around;
        result
    }

    /// A step of binding or planning: error 3617 when the statement is cancelled.
    pub(crate) fn step(&self) -> Result<()> {
        if self.scope.cancelled() { Err(errors::cancelled()) } else { Ok(()) }
    }

    /// A number that nothing else in the statement's texts for other servers has.
    pub(crate) fn remote_number(&mut self) -> u32 {
        self.remote_names += 1;
        self.remote_names
    }

    /// A new slot.
    pub fn new_slot(&mut self, info: SlotInfo) -> Slot {
        self.slots.push(info);
        (self.slots.len() - 1) as Slot
    }

    /// A new slot for the value of an expression. What has the default collation only for want of another gives way to a
    /// column's through the slot too.
    pub fn slot_for(&mut self, name: &str, e: &Expr) -> Slot {
        let gives_way = e.ty.is_string() && e.coercibility == Coercibility::Default;
        let slot = self.new_slot(SlotInfo {
            name: name.to_owned(),
            ty: if e.ty == SqlType::Null { SqlType::Int } else { e.ty },
            collation: e.collation,
            nullable: e.nullable,
            origin: None,
        });
        if gives_way {
            self.giving_way.insert(slot);
        }
        if e.ty == SqlType::Null && e.as_const().is_some() {
            self.bare_nulls.insert(slot);
        }
        slot
    }

    /// Gives a slot the collation of the expression whose values it holds, and its strength.
    pub fn collate_like(&mut self, slot: Slot, e: &Expr) {
        self.slots[slot as usize].collation = e.collation;
        if e.coercibility == Coercibility::Default {
            self.giving_way.insert(slot);
        }
    }

    /// An expression that reads a slot in order to assign it to a column.
    #[must_use]
    pub fn read_to_assign(&self, slot: Slot) -> Expr {
        if self.bare_nulls.contains(&slot) {
            return Expr::constant(Value::Null, SqlType::Null);
        }
        self.read(slot)
    }

    /// An expression as it is assigned: a bare NULL of a derived table has the type of what it is assigned to.
    #[must_use]
    pub fn to_assign(&self, e: Expr) -> Expr {
        match e.as_slot() {
            Some(slot) if self.bare_nulls.contains(&slot) => self.read_to_assign(slot),
            _ => e,
        }
    }

    /// A slot of the given type.
    pub fn typed_slot(&mut self, name: &str, ty: SqlType, nullable: bool) -> Slot {
        let collation = self.collation();
        self.new_slot(SlotInfo { name: name.to_owned(), ty, collation, nullable, origin: None })
    }

    /// An expression that reads a slot.
    #[must_use]
    pub fn read(&self, slot: Slot) -> Expr {
        let info = &self.slots[slot as usize];
        let mut e = Expr::slot(slot, info.ty, info.collation, info.nullable);
        if self.giving_way.contains(&slot) {
            e.coercibility = Coercibility::Default;
        }
        e
    }

    /// The current database's collation.
    #[must_use]
    pub fn collation(&self) -> Collation {
        self.scope.options().collation
    }

    /// Runs `f` with the CTEs of a WITH clause in sight.
    pub fn with_ctes<T>(
        &mut self,
        with: Option<&ast::With>,
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.ctes.len();
        let namespaces = self.namespaces.len();
        if let Some(e) = with.and_then(|w| w.change_context.as_ref()) {
            let context = self.value(e, &mut expr::ExprCx::new(&Scope::default(), expr::Clause::Other))?;
            crate::dml::track::check_context(context.ty)?;
            self.change_context = Some(context);
        }
        for n in with.iter().flat_map(|w| &w.namespaces) {
            self.namespaces.push((n.prefix.as_ref().map(ToString::to_string), n.uri.to_string()));
        }
        for cte in with.iter().flat_map(|w| &w.ctes) {
            let visible = self.ctes.len();
            if self.ctes[before..].iter().any(|c| same_name(&c.cte.name.text, &cte.name.text)) {
                self.ctes.truncate(before);
                return Err(errors::duplicate_cte(&cte.name.text));
            }
            self.ctes.push(CteEntry { cte: Rc::new(cte.clone()), visible });
        }
        let result = f(self);
        self.ctes.truncate(before);
        self.namespaces.truncate(namespaces);
        result
    }

    /// Runs `f`; what it binds may be changed, so that indexed views stand for their tables.
    pub(crate) fn expanding<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.expands_views, true);
        let result = f(self);
        self.expands_views = before;
        result
    }

    /// Whether a name is that of a common table expression here.
    pub(crate) fn is_cte(&self, name: &ast::ObjectName) -> bool {
        name.is_simple() && self.ctes.iter().any(|c| same_name(&c.cte.name.text, &name.name.text))
    }

    /// Remembers a source that the statement names itself.
    pub(crate) fn note_source(&mut self, object: crate::scope::ObjectRef, source: &Source) {
        if self.in_modules > 0 {
            return;
        }
        let id = |(at, _): (usize, &SourceColumn)| match &object {
            crate::scope::ObjectRef::Table(t) => t.columns.get(at).map_or(0, |c| c.column_id),
            _ => at as i32 + 1,
        };
        let columns = source.columns.iter().enumerate().map(|c| (c.1.slot, id(c))).collect();
        self.named.push(NamedSource { object, columns });
    }

    /// Lets another slot stand for a column that has one already (`inserted.c` of an UPDATE).
    pub(crate) fn same_column(&mut self, slot: Slot, as_slot: Slot) {
        for source in &mut self.named {
            if let Some((_, id)) = source.columns.iter().find(|(s, _)| *s == as_slot) {
                let id = *id;
                source.columns.push((slot, id));
            }
        }
    }

    /// The statement's text reads a column.
    pub(crate) fn note_slot(&mut self, slot: Slot) {
        if self.in_modules == 0 {
            self.read_slots.push(slot);
        }
    }

    /// Whether what is bound is a view's or a rule of a table's, and not the statement's own.
    pub(crate) fn in_a_module(&self) -> bool {
        self.in_modules > 0
    }

    /// Binds what a table of a database keeps: names mean what they mean there.
    pub(crate) fn kept_in<T>(
        &mut self,
        database: keel_base::DatabaseId,
        bind: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let entered = self.scope.enter_database(database);
        let bound = bind(self);
        if entered {
            self.scope.leave_module();
        }
        bound
    }

    /// Runs `f`; the columns it reads are not the statement's own (rules of a table).
    pub(crate) fn unnoticed<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.in_modules += 1;
        let result = f(self);
        self.in_modules -= 1;
        result
    }

    /// Tells the surroundings which columns are read.
    pub(crate) fn report_columns(&self) {
        for source in &self.named {
            let read = source.columns.iter().filter(|(s, _)| self.read_slots.contains(s));
            let mut ids: Vec<i32> = read.map(|(_, id)| *id).collect();
            ids.sort_unstable();
            ids.dedup();
            self.scope.note_columns(&source.object, &ids);
        }
    }

    /// Binds the text of a view or inline function: what it reads is its owner's business.
    fn in_module<T>(&mut self, module: &ModuleDef, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.in_modules += 1;
        self.scope.enter_module(module);
        let result = self.nested(f);
        self.scope.leave_module();
        self.in_modules -= 1;
        result
    }

    /// Notes what a recursive member must not contain.
    fn refuse_in_member(&mut self, present: bool, error: fn(&str) -> errors::Error) {
        if let Some(member) = self.member.as_mut().filter(|_| present) {
            member.refused.get_or_insert(error);
        }
    }

    /// Enters a view, function or CTE body.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= NESTING_MAX {
            return Err(keel_types::SqlError::new(
                217,
                16,
                1,
                "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).",
            ));
        }
        self.depth += 1;
        let member = self.member.take();
        let result = f(self);
        self.member = member;
        self.depth -= 1;
        result
    }

    /// Converts a written type.
    pub fn type_of(&self, ty: &ast::TypeName, cast: bool) -> Result<SqlType> {
        merge_types::resolve_type(self.scope, ty, cast)
    }
}

/// A number that no other row of any statement has.
fn new_row() -> u64 {
    static ROWS: AtomicU64 = AtomicU64::new(0);
    ROWS.fetch_add(1, Ordering::Relaxed)
}

/// Turns a parse error of stored text (views, defaults, checks) into a SQL error.
pub(crate) fn parse_error(e: keel_parser::ParseError) -> errors::Error {
    let mut error = keel_types::SqlError::new(e.number, 15, 1, e.message.to_string());
    error.line = e.line;
    error
}

/// Shorthand used across the binder.
pub(crate) type ArcTable = Arc<crate::catalog::TableDef>;
