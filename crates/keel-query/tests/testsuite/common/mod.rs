//! A small session over a real database in memory: enough DDL, variables and transactions to test queries through text.
#![allow(clippy::unwrap_used, missing_docs)]

pub mod varied;

use keel_base::{DatabaseId, TreeId};
use keel_node::{Database, DbOptions, Durability, Instance, InstanceOptions, Isolation, Transaction};
use keel_parser::ast;
use keel_query::catalog::{
    Catalog, CheckDef, ColumnDef, ComputedDef, DefaultDef, ForeignKeyDef, IndexColumn, IndexDef, IndexKind,
    ModuleDef, ModuleKind, ObjectId, ReferentialAction, TableDef,
};
use keel_query::errors::{self, Error, Result};
use keel_query::exec::parallel::Help;
use keel_query::scope::{
    BindScope, NameParts, ObjectRef, Parallelism, ScalarFunctionInfo, SessionFunction, VariableInfo,
};
use keel_query::{
    Dml, ExecCtx, FunctionInvoker, IsolationLevel, Plan, RowSink, SessionInfo, Transactions, compile_dml,
    compile_expr, compile_select, compile_select_into,
};
use keel_types::{Collation, SqlType, Value, cast};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub const DB: DatabaseId = DatabaseId(5);

#[derive(Clone, Default)]
pub struct TestCatalog {
    pub tables: HashMap<String, Arc<TableDef>>,
    pub modules: HashMap<String, Arc<ModuleDef>>,
}

impl Catalog for TestCatalog {
    fn version(&self) -> u64 {
        1
    }
    fn database(&self) -> DatabaseId {
        DB
    }
    fn schema_id(&self, name: &str) -> Option<i32> {
        name.eq_ignore_ascii_case("dbo").then_some(1)
    }
    fn table(&self, _: i32, name: &str) -> Option<Arc<TableDef>> {
        self.tables.get(&name.to_lowercase()).cloned()
    }
    fn table_by_id(&self, id: ObjectId) -> Option<Arc<TableDef>> {
        self.tables.values().find(|t| t.object_id == id).cloned()
    }
    fn module(&self, _: i32, name: &str) -> Option<Arc<ModuleDef>> {
        self.modules.get(&name.to_lowercase()).cloned()
    }
    fn referencing(&self, table: ObjectId) -> Vec<(Arc<TableDef>, ForeignKeyDef)> {
        let mut all = Vec::new();
        for t in self.tables.values() {
            all.extend(
                t.foreign_keys.iter().filter(|f| f.referenced_table == table).map(|f| (t.clone(), f.clone())),
            );
        }
        all
    }
}

pub struct Session {
    pub db: Arc<Database>,
    pub catalog: RefCell<TestCatalog>,
    pub vars: RefCell<Vec<Value>>,
    names: RefCell<HashMap<String, VariableInfo>>,
    txn: RefCell<Option<Transaction>>,
    explicit: Cell<bool>,
    identities: RefCell<HashMap<ObjectId, i64>>,
    row_ids: RefCell<HashMap<u32, u64>>,
    identity_insert: Cell<Option<(DatabaseId, ObjectId)>>,
    next_id: AtomicU32,
    showplan: Cell<bool>,
    pub row_count: Cell<u64>,
    /// How often a statement being compiled asked whether it is cancelled.
    pub steps: Cell<u64>,
    /// The step from which the answer is yes.
    pub cancelled_at: Cell<u64>,
    pub disabled: Vec<keel_query::plan::rewrite::Pass>,
    pub work: RefCell<Option<&'static Arc<keel_query::WorkSpace>>>,
    /// Threads that help, and most that a statement may have.
    pub helpers: RefCell<Option<(Arc<keel_query::Workers>, usize)>>,
    /// Cost from which statements are parallel.
    pub cost_threshold: Cell<f64>,
    /// Most threads that a statement has had.
    pub degree: Cell<usize>,
    /// A session's thread begins its share when its helpers have ended.
    pub begins_last: Cell<bool>,
    /// What its resource pool has for a statement.
    pub share: RefCell<Option<Arc<keel_query::MemoryShare>>>,
    /// Pages that statements have read.
    pub reads: Cell<u64>,
    /// How often a running statement may look whether it is cancelled before it is.
    pub looks_left: Cell<u64>,
    pub statistics: keel_query::stats::StatisticsCache,
    /// What statements are compiled by.
    directions: RefCell<Option<Arc<keel_query::plan::Directions>>>,
}

struct OneTransaction<'a> {
    txn: &'a mut Transaction,
}

impl Transactions for OneTransaction<'_> {
    fn transaction(&mut self, _: DatabaseId) -> Result<&mut Transaction> {
        Ok(self.txn)
    }
}

struct NoFunctions;

impl FunctionInvoker for NoFunctions {
    fn invoke_scalar(&self, _: &mut ExecCtx<'_>, _: DatabaseId, _: ObjectId, _: &[Value]) -> Result<Value> {
        Err(errors::not_supported("function"))
    }
}

impl SessionInfo for Session {
    fn isolation(&self) -> IsolationLevel {
        IsolationLevel::ReadCommitted
    }
    fn session_id(&self) -> u32 {
        51
    }
    fn cancelled(&self) -> bool {
        let left = self.looks_left.get();
        self.looks_left.set(if left == u64::MAX { left } else { left.saturating_sub(1) });
        left == 0
    }
    fn work_space(&self) -> Option<&Arc<keel_query::WorkSpace>> {
        *self.work.borrow()
    }
    fn help(&self, max_degree: Option<u16>) -> Option<Help> {
        let (workers, degree) = self.helpers.borrow().clone()?;
        let degree = max_degree.map_or(degree, |most| degree.min(most.into()));
        Some(Help { workers, degree, used: Arc::default() })
    }
    fn note_degree(&self, degree: usize) {
        self.degree.set(self.degree.get().max(degree));
        let workers = || self.helpers.borrow().as_ref().map(|(workers, _)| Arc::clone(workers));
        if let (true, Some(workers)) = (self.begins_last.get(), workers()) {
            while workers.in_use().1 > 0 {
                std::thread::yield_now();
            }
        }
    }
    fn note_reads(&self, pages: u64) {
        self.reads.set(self.reads.get() + pages);
    }
    fn memory_share(&self) -> Option<Arc<keel_query::MemoryShare>> {
        self.share.borrow().clone()
    }
    fn call(&self, id: u32, _: &[Value]) -> Result<Value> {
        Ok(match id {
            1 => Value::Int(self.row_count.get() as i64),
            _ => Value::Null,
        })
    }
    fn now_local(&self) -> i64 {
        637_134_336_000_000_000
    }
    fn now_utc(&self) -> i64 {
        637_134_336_000_000_000
    }
    fn rand(&self, _: Option<i64>) -> f64 {
        0.5
    }
    fn reserve_identity(&self, table: &TableDef, count: u64) -> Result<i64> {
        let (seed, step) = table.columns.iter().find_map(|c| c.identity).unwrap_or((1, 1));
        let mut all = self.identities.borrow_mut();
        let next = all.entry(table.object_id).or_insert(seed);
        let first = *next;
        *next += step * count as i64;
        Ok(first)
    }
    fn note_identity(&self, table: &TableDef, value: i64) {
        let mut all = self.identities.borrow_mut();
        let next = all.entry(table.object_id).or_insert(1);
        *next = (*next).max(value + 1);
    }
    fn identity_insert(&self) -> Option<(DatabaseId, ObjectId)> {
        self.identity_insert.get()
    }
    fn next_rowversion(&self, _: DatabaseId) -> u64 {
        u64::from(self.next_id.fetch_add(1, Ordering::Relaxed))
    }
    fn next_row_id(&self, _: DatabaseId, tree: TreeId, init: &mut dyn FnMut() -> Result<u64>) -> Result<u64> {
        let mut all = self.row_ids.borrow_mut();
        let last = match all.get(&tree.0) {
            Some(n) => *n,
            None => init()?,
        };
        all.insert(tree.0, last + 1);
        Ok(last + 1)
    }
}

impl BindScope for Session {
    fn object(&self, name: NameParts<'_>) -> Option<ObjectRef> {
        let catalog = self.catalog.borrow();
        if let Some(t) = catalog.table(1, name.object) {
            return Some(ObjectRef::Table(t));
        }
        catalog.module(1, name.object).map(ObjectRef::Module)
    }
    fn catalog(&self, _: DatabaseId) -> Option<Arc<dyn Catalog>> {
        Some(Arc::new(self.catalog.borrow().clone()))
    }
    fn database_name(&self, _: DatabaseId) -> String {
        "test".into()
    }
    fn schema_name(&self, _: DatabaseId, _: i32) -> String {
        "dbo".into()
    }
    fn variable(&self, name: &str) -> Option<VariableInfo> {
        self.names.borrow().get(&name.to_lowercase()).copied()
    }
    fn table_variable(&self, name: &str) -> Option<Arc<TableDef>> {
        self.catalog.borrow().table(1, name)
    }
    fn scalar_function(&self, _: NameParts<'_>) -> Option<ScalarFunctionInfo> {
        None
    }
    fn statistics(&self, table: &TableDef) -> Option<Arc<keel_query::stats::TableStatistics>> {
        Some(self.statistics.get(&self.db, table, true, Default::default()))
    }
    fn directions(&self) -> Option<Arc<keel_query::plan::Directions>> {
        self.directions.borrow().clone()
    }
    fn cancelled(&self) -> bool {
        self.steps.set(self.steps.get() + 1);
        self.steps.get() >= self.cancelled_at.get()
    }
    fn parallelism(&self) -> Parallelism {
        let degree = self.helpers.borrow().as_ref().map_or(1, |(_, degree)| *degree);
        Parallelism { degree, degree_max: degree, cost_threshold: self.cost_threshold.get() }
    }
    fn disabled_passes(&self) -> &[keel_query::plan::rewrite::Pass] {
        &self.disabled
    }
    fn session_function(&self, name: &str, _: &[SqlType]) -> Option<SessionFunction> {
        let id = match name.to_lowercase().as_str() {
            "@@rowcount" => 1,
            _ => return None,
        };
        Some(SessionFunction { id, params: &[], ty: SqlType::Int, nullable: false, stable: true })
    }
}

/// Prints rows as they arrive.
struct Printer<'a> {
    out: &'a mut String,
    types: Vec<SqlType>,
}

impl RowSink for Printer<'_> {
    fn row(&mut self, values: &[Value]) -> Result<()> {
        let cells: Vec<String> = values.iter().zip(&self.types).map(|(v, t)| text(v, *t)).collect();
        writeln!(self.out, "{}", cells.join(" | ")).unwrap();
        Ok(())
    }
    fn message(&mut self, message: &Error) {
        writeln!(self.out, "message {}: {}", message.number, message.message).unwrap();
    }
}

pub fn text(v: &Value, ty: SqlType) -> String {
    match v {
        Value::Null => "NULL".into(),
        Value::Bytes(b) => b.iter().fold("0x".to_owned(), |s, x| s + &format!("{x:02X}")),
        v => {
            cast::to_text(v, ty, if ty.is_temporal() { 121 } else { 0 }).map_or("?".into(), |s| s.to_string())
        }
    }
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

impl Session {
    pub fn new() -> Session {
        let disk = keel_base::env::sim::SimDisk::new();
        let env = keel_base::env::sim::env(&disk, 1);
        let options = InstanceOptions { automatic_checkpoints: false, ..InstanceOptions::default() };
        let instance = Instance::new(env, options);
        let durability = Durability::Volatile;
        let db = Database::create(
            &instance,
            DB,
            std::path::Path::new("/db"),
            &DbOptions { durability, ..DbOptions::default() },
        )
        .unwrap();
        Session {
            db,
            catalog: RefCell::default(),
            vars: RefCell::default(),
            names: RefCell::default(),
            txn: RefCell::new(None),
            explicit: Cell::new(false),
            work: RefCell::new(None),
            helpers: RefCell::new(None),
            cost_threshold: Cell::new(5.0),
            degree: Cell::new(0),
            begins_last: Cell::new(false),
            share: RefCell::new(None),
            reads: Cell::new(0),
            looks_left: Cell::new(u64::MAX),
            identities: RefCell::default(),
            row_ids: RefCell::default(),
            identity_insert: Cell::new(None),
            next_id: AtomicU32::new(100),
            showplan: Cell::new(false),
            row_count: Cell::new(0),
            steps: Cell::new(0),
            cancelled_at: Cell::new(u64::MAX),
            disabled: Vec::new(),
            statistics: Default::default(),
            directions: RefCell::default(),
        }
    }

    fn id(&self) -> i32 {
        self.next_id.fetch_add(1, Ordering::Relaxed) as i32
    }

    /// Runs `f` with an execution context; commits unless a transaction was begun.
    pub fn with_ctx<T>(&self, f: impl FnOnce(&mut ExecCtx<'_>) -> Result<T>) -> Result<T> {
        let mut txn = self.txn.borrow_mut().take().unwrap_or_else(|| self.db.begin(Isolation::ReadCommitted));
        let mut vars = self.vars.take();
        let result = {
            let mut txns = OneTransaction { txn: &mut txn };
            let mut ctx = ExecCtx {
                vars: &mut vars,
                txns: &mut txns,
                session: self,
                functions: &NoFunctions,
                triggers: None,
            };
            f(&mut ctx)
        };
        self.vars.replace(vars);
        if self.explicit.get() {
            self.txn.replace(Some(txn));
        } else if result.is_ok() {
            txn.commit().unwrap().wait().unwrap();
        } else {
            txn.rollback();
        }
        result
    }

    pub fn run_plan(&self, plan: &Plan, sink: &mut dyn RowSink) -> Result<keel_query::RunInfo> {
        self.with_ctx(|ctx| plan.run(ctx, sink))
    }

    /// Runs a batch and returns its transcript.
    pub fn run(&self, sql: &str) -> String {
        let mut out = String::new();
        let batch = match keel_parser::parse_batch(sql, keel_parser::ParseOptions::default()) {
            Ok(b) => b,
            Err(e) => return format!("parse error {}: {}\n", e.number, e.message),
        };
        for s in &batch.statements {
            if let Err(e) = self.statement(s, sql, &mut out) {
                writeln!(out, "error {}, level {}, state {}: {}", e.number, e.severity, e.state, e.message)
                    .unwrap();
            }
        }
        out
    }

    /// Runs a batch that must succeed and returns what it printed.
    pub fn ok(&self, sql: &str) -> String {
        let out = self.run(sql);
        assert!(!out.contains("error "), "{sql}\n{out}");
        out
    }

    fn execute(&self, plan: &Plan, out: &mut String) -> Result<()> {
        if self.showplan.get() {
            for line in plan.explain() {
                writeln!(out, "{line}").unwrap();
            }
            return Ok(());
        }
        let types = plan.columns().iter().map(|c| c.ty).collect();
        if plan.returns_rows() {
            let names: Vec<&str> = plan.columns().iter().map(|c| c.name.as_str()).collect();
            writeln!(out, "[{}]", names.join(", ")).unwrap();
        }
        let info = self.run_plan(plan, &mut Printer { out, types })?;
        self.row_count.set(info.rows);
        writeln!(out, "({} rows)", info.rows).unwrap();
        Ok(())
    }

    /// Compiles a statement, and once more by what was decided on the way: that has to be the same plan.
    fn remade(&self, compile: impl Fn(&Session) -> Result<Plan>) -> Result<Plan> {
        let plan = compile(self)?;
        let (steps, cancelled_at) = (self.steps.get(), self.cancelled_at.replace(u64::MAX));
        self.directions.replace(Some(Arc::new(plan.directions().clone())));
        let again = compile(self).expect("it was compiled before");
        self.directions.take();
        self.steps.set(steps);
        self.cancelled_at.set(cancelled_at);
        assert_eq!(again.explain(), plan.explain());
        assert_eq!(again.directions(), plan.directions());
        Ok(plan)
    }

    fn statement(&self, s: &ast::Statement, sql: &str, out: &mut String) -> Result<()> {
        use ast::StatementKind as K;
        match &s.kind {
            K::Select(select) => {
                let plan = self.remade(|s| compile_select(s, select))?;
                if let Some(name) = plan.into_target() {
                    let table = self.table_of(name.name.as_str(), plan.columns());
                    self.catalog.borrow_mut().tables.insert(name.name.text.to_lowercase(), table.clone());
                    return self.execute(&compile_select_into(self, select, table, None)?, out);
                }
                self.execute(&plan, out)
            }
            K::Insert(x) => self.execute(&self.remade(|s| compile_dml(s, Dml::Insert(x)))?, out),
            K::Update(x) => self.execute(&self.remade(|s| compile_dml(s, Dml::Update(x)))?, out),
            K::Delete(x) => self.execute(&self.remade(|s| compile_dml(s, Dml::Delete(x)))?, out),
            K::Merge(x) => self.execute(&self.remade(|s| compile_dml(s, Dml::Merge(x)))?, out),
            K::CreateTable(x) => {
                let table = self.create_table(x, sql);
                self.catalog.borrow_mut().tables.insert(x.name.name.text.to_lowercase(), Arc::new(table));
                Ok(())
            }
            K::CreateIndex(x) => self.create_index(x),
            K::CreateView(x) => self.module(x.name.name.as_str(), ModuleKind::View, sql),
            K::Declare(list) => {
                for d in list {
                    if let ast::Declaration::Variable { variable, ty, value } = d {
                        let ty = keel_query::bind::merge_types::resolve_type(self, ty, false)?;
                        let index = self.vars.borrow().len();
                        self.vars.borrow_mut().push(Value::Null);
                        let info = VariableInfo { index, ty, collation: Collation::default() };
                        self.names.borrow_mut().insert(variable.name.to_lowercase(), info);
                        if let Some(v) = value {
                            self.set(index, ty, v)?;
                        }
                    }
                }
                Ok(())
            }
            K::SetVariable(x) => {
                let info = self
                    .variable(&x.variable.name)
                    .ok_or_else(|| errors::undeclared_variable(&x.variable.name))?;
                if let ast::SetValue::Expr { value, .. } = &x.value {
                    self.set(info.index, info.ty, value)?;
                }
                Ok(())
            }
            K::SetOption(o) => {
                match &**o {
                    ast::SetOption::IdentityInsert { table, on } => {
                        let id = self.catalog.borrow().table(1, table.name.as_str()).unwrap().object_id;
                        self.identity_insert.set(on.then_some((DB, id)));
                    }
                    ast::SetOption::Switches { on, .. } => self.showplan.set(*on),
                    _ => {}
                }
                Ok(())
            }
            K::BeginTransaction(_) => {
                self.explicit.set(true);
                Ok(())
            }
            K::Commit(_) => {
                self.explicit.set(false);
                if let Some(t) = self.txn.borrow_mut().take() {
                    t.commit().unwrap().wait().unwrap();
                }
                Ok(())
            }
            K::Rollback(_) => {
                self.explicit.set(false);
                if let Some(t) = self.txn.borrow_mut().take() {
                    t.rollback();
                }
                Ok(())
            }
            _ => Err(errors::not_supported("statement in tests")),
        }
    }

    fn set(&self, index: usize, ty: SqlType, value: &ast::Expr) -> Result<()> {
        let e = compile_expr(self, value, Some(ty))?;
        let v = self.with_ctx(|ctx| e.eval(ctx))?;
        self.vars.borrow_mut()[index] = v;
        Ok(())
    }

    fn module(&self, name: &str, kind: ModuleKind, text: &str) -> Result<()> {
        let module = ModuleDef {
            object_id: self.id(),
            schema_id: 1,
            name: name.to_owned(),
            kind,
            text: text.to_owned(),
            ansi_nulls: true,
            quoted_identifier: true,
            parent: 0,
            execute_as: None,
            signatures: Vec::new(),
            rows: None,
            startup: false,
            trigger: None,
            events: None,
            created: 0,
            modified: 0,
        };
        self.catalog.borrow_mut().modules.insert(name.to_lowercase(), Arc::new(module));
        Ok(())
    }

    fn table_of(&self, name: &str, columns: &[keel_query::ColumnMeta]) -> Arc<TableDef> {
        let mut t = self.empty_table(name);
        for (i, c) in columns.iter().enumerate() {
            t.columns.push(column(i, &c.name, c.ty, c.nullable));
        }
        Arc::new(t)
    }

    fn empty_table(&self, name: &str) -> TableDef {
        let object_id = self.id();
        let heap = self.index("", IndexKind::Heap, 0);
        TableDef { indexes: vec![heap], ..TableDef::plain(DB, object_id, 1, name, Vec::new(), 0) }
    }

    fn index(&self, name: &str, kind: IndexKind, index_id: i32) -> IndexDef {
        IndexDef::plain(index_id, TreeId(self.id() as u32), name, kind, Vec::new())
    }

    fn create_table(&self, x: &ast::CreateTable, sql: &str) -> TableDef {
        let mut t = self.empty_table(x.name.name.as_str());
        let mut constraints = Vec::new();
        for e in &x.elements {
            match e {
                ast::TableElement::Column(c) => {
                    let i = t.columns.len();
                    let (ty, computed) = match &c.kind {
                        ast::ColumnKind::Typed(ty) => {
                            (keel_query::bind::merge_types::resolve_type(self, ty, false).unwrap(), None)
                        }
                        ast::ColumnKind::Timestamp => (SqlType::RowVersion, None),
                        ast::ColumnKind::Computed { expr, persisted } => {
                            let text = expr.span.text(sql).to_owned();
                            (SqlType::Int, Some(ComputedDef { text, persisted: *persisted }))
                        }
                    };
                    let primary = c
                        .constraints
                        .iter()
                        .any(|k| matches!(k.kind, ast::ConstraintKind::Key { primary: true, .. }));
                    let mut column = column(
                        i,
                        c.name.as_str(),
                        ty,
                        c.nullable.unwrap_or(!primary && c.identity.is_none()),
                    );
                    column.computed = computed;
                    column.identity = c
                        .identity
                        .as_ref()
                        .map(|i| (i.seed.as_i64().unwrap(), i.increment.as_i64().unwrap()));
                    for k in &c.constraints {
                        if let ast::ConstraintKind::Default { value, .. } = &k.kind {
                            let text = value.span.text(sql).to_owned();
                            column.default =
                                Some(DefaultDef { object_id: self.id(), name: "df".into(), text });
                        } else {
                            constraints.push((k.clone(), Some(c.name.clone())));
                        }
                    }
                    t.columns.push(column);
                }
                ast::TableElement::Constraint(k) => constraints.push((k.clone(), None)),
                _ => {}
            }
        }
        for (k, column) in constraints {
            self.constraint(&mut t, &k, column, sql);
        }
        t
    }

    fn constraint(&self, t: &mut TableDef, k: &ast::TableConstraint, column: Option<ast::Ident>, sql: &str) {
        let position =
            |t: &TableDef, n: &str| t.columns.iter().position(|c| c.name.eq_ignore_ascii_case(n)).unwrap();
        let name =
            |kind: &str| k.name.as_ref().map_or_else(|| format!("{kind}_{}", t.name), |n| n.text.to_string());
        match &k.kind {
            ast::ConstraintKind::Key { primary, clustered, columns, .. } => {
                let key: Vec<IndexColumn> = if columns.is_empty() {
                    let i = position(t, column.unwrap().as_str());
                    vec![IndexColumn { column_id: i as i32 + 1, descending: false }]
                } else {
                    let of = |c: &ast::IndexColumnRef| IndexColumn {
                        column_id: position(t, c.name.as_str()) as i32 + 1,
                        descending: c.descending,
                    };
                    columns.iter().map(of).collect()
                };
                if *primary {
                    for c in &key {
                        t.columns[c.column_id as usize - 1].nullable = false;
                    }
                }
                let clustered = clustered.unwrap_or(*primary);
                let kind = if clustered { IndexKind::Clustered } else { IndexKind::Nonclustered };
                let id = if clustered { 1 } else { t.indexes.len() as i32 + 1 };
                let mut index = self.index(&name(if *primary { "PK" } else { "UQ" }), kind, id);
                index.unique = true;
                index.is_primary_key = *primary;
                index.is_unique_constraint = !primary;
                index.key = key;
                if clustered {
                    t.indexes[0] = index;
                } else {
                    t.indexes.push(index);
                }
            }
            ast::ConstraintKind::Check { condition, .. } => {
                let text = condition.span.text(sql).to_owned();
                t.checks.push(CheckDef {
                    object_id: self.id(),
                    name: name("CK"),
                    text,
                    column: 0,
                    disabled: false,
                    untrusted: false,
                });
            }
            ast::ConstraintKind::ForeignKey { columns, table, referenced, on_delete, on_update, .. } => {
                let own: Vec<i32> = if columns.is_empty() {
                    vec![position(t, column.unwrap().as_str()) as i32 + 1]
                } else {
                    columns.iter().map(|c| position(t, c.as_str()) as i32 + 1).collect()
                };
                let catalog = self.catalog.borrow();
                let parent = if table.name.text.eq_ignore_ascii_case(&t.name) {
                    Arc::new(t.clone())
                } else {
                    catalog.table(1, table.name.as_str()).unwrap()
                };
                let theirs: Vec<i32> = if referenced.is_empty() {
                    parent
                        .indexes
                        .iter()
                        .find(|i| i.is_primary_key)
                        .unwrap()
                        .key
                        .iter()
                        .map(|k| k.column_id)
                        .collect()
                } else {
                    referenced.iter().map(|c| position(&parent, c.as_str()) as i32 + 1).collect()
                };
                let action = |a: &Option<ast::ReferentialAction>| match a {
                    None | Some(ast::ReferentialAction::NoAction) => ReferentialAction::NoAction,
                    Some(ast::ReferentialAction::Cascade) => ReferentialAction::Cascade,
                    Some(ast::ReferentialAction::SetNull) => ReferentialAction::SetNull,
                    Some(ast::ReferentialAction::SetDefault) => ReferentialAction::SetDefault,
                };
                t.foreign_keys.push(ForeignKeyDef {
                    object_id: self.id(),
                    name: name("FK"),
                    columns: own,
                    referenced_table: parent.object_id,
                    referenced_columns: theirs,
                    on_delete: action(on_delete),
                    on_update: action(on_update),
                    disabled: false,
                    untrusted: false,
                });
            }
            _ => {}
        }
    }

    fn create_index(&self, x: &ast::CreateIndex) -> Result<()> {
        let old = self
            .catalog
            .borrow()
            .table(1, x.table.name.as_str())
            .ok_or_else(|| errors::invalid_object("t"))?;
        let mut t = (*old).clone();
        let id = t.indexes.len() as i32 + 1;
        let mut index = self.index(x.name.as_str(), IndexKind::Nonclustered, id);
        let position = |n: &str| t.columns.iter().find(|c| c.name.eq_ignore_ascii_case(n)).unwrap().column_id;
        index.unique = x.unique;
        index.key = x
            .columns
            .iter()
            .map(|c| IndexColumn { column_id: position(c.name.as_str()), descending: c.descending })
            .collect();
        index.included = x.include.iter().map(|c| position(c.as_str())).collect();
        self.with_ctx(|ctx| {
            let txn = ctx.txns.transaction(DB)?;
            let view = txn.statement_snapshot();
            let unbounded = std::ops::Bound::Unbounded;
            let mut entries = Vec::new();
            let mut cursor = txn
                .scan(&view, t.indexes[0].tree, unbounded, unbounded, keel_node::Direction::Forward)
                .unwrap();
            while let Some((key, row)) = cursor.next().unwrap() {
                entries.push(keel_query::dml::index_entry(&t, &index, key, &row));
            }
            drop(cursor);
            for (key, row) in entries {
                txn.put_index(index.tree, &key, &row).unwrap();
            }
            Ok(())
        })?;
        t.indexes.push(index);
        self.catalog.borrow_mut().tables.insert(t.name.to_lowercase(), Arc::new(t));
        Ok(())
    }
}

fn column(i: usize, name: &str, ty: SqlType, nullable: bool) -> ColumnDef {
    ColumnDef { nullable, ..ColumnDef::plain(i, name, ty) }
}

/// Runs a golden script: each paragraph (ended by a line `GO`) is a batch; the transcript follows each.
pub fn golden(name: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name);
    let script = std::fs::read_to_string(path.with_extension("sql")).unwrap();
    let session = Session::new();
    let mut transcript = String::new();
    for batch in script.split("\nGO\n").map(str::trim).filter(|b| !b.is_empty()) {
        writeln!(transcript, "{batch}\n---").unwrap();
        transcript.push_str(&session.run(batch));
        transcript.push('\n');
    }
    let expected = path.with_extension("out");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&expected, transcript).unwrap();
        return;
    }
    let known = std::fs::read_to_string(&expected).unwrap_or_default();
    for (i, (old, new)) in known.lines().zip(transcript.lines()).enumerate() {
        assert_eq!(old, new, "{name}.out line {}: set UPDATE_GOLDEN=1 to accept", i + 1);
    }
    assert_eq!(known.len(), transcript.len(), "{name}: set UPDATE_GOLDEN=1 to accept");
}
