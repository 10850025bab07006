//! INSERT, UPDATE and DELETE of tables of other servers.
//!
//! Where the server has all that the statement reads, and can compute all that it wants, it is sent whole: one text. Otherwise the rows are found, or made, here:
//! new ones are sent in texts of many rows, old ones are changed one by one by a unique key of their table. All texts of a statement are one transaction
//! there: a part of the open one here, or one of its own.

use super::columns::Shape;
use super::errors;
use super::link::Request;
use super::links::{Lease, Purpose, execute_sql, parameter};
use super::table::{RemoteTable, Whom};
use crate::run::Runner;
use crate::session::scope::Scope;
use crate::sink::RpcParam;
use crate::views::same;
use keel_parser::ast::{self, StatementKind};
use keel_parser::to_text::quote_name;
use keel_query::plan::remote::RemoteParts;
use keel_query::{Plan, RowBuffer, RunInfo};
use keel_types::error::Result;
use keel_types::{SqlType, Value};
use std::sync::Arc;

/// Parameters of one text, at most: the protocol has 2,100.
const PARAMETERS_MAX: usize = 2000;
/// Rows of one VALUES, at most.
const ROWS_MAX: usize = 1000;
/// The name under which the rows of an INSERT are selected.
const SOURCE: &str = "$source";

/// A change of a table of another server.
pub struct RemoteChange {
    /// Whom it is sent to.
    whom: Whom,
    parts: Vec<Part>,
}

/// What is done with the rows of a query.
enum Part {
    /// The query is the change: its row says how many there were.
    Whole(Plan),
    /// They are new rows of these columns.
    Insert { plan: Plan, into: String, columns: Vec<String> },
    /// They are a key, and then new values of columns; without any the rows are deleted.
    ByKey { plan: Plan, table: String, key: Vec<(String, SqlType)>, set: Vec<String> },
}

impl RemoteChange {
    /// The first of its plans, for SHOWPLAN.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        self.parts.first().map(|part| match part {
            Part::Whole(plan) | Part::Insert { plan, .. } | Part::ByKey { plan, .. } => plan,
        })
    }
}

// ---- compiling ----

/// The table that a statement changes, when it is another server's: by its name, by a synonym, or by the alias of one.
fn target(scope: &Scope<'_>, statement: &StatementKind) -> Result<Option<Arc<RemoteTable>>> {
    let Some(name) = crate::run::direct_target(statement) else { return Ok(None) };
    let parts = keel_query::scope::NameParts {
        database: name.database.as_ref().map(|i| i.text.as_str()),
        schema: name.schema.as_ref().map(|i| i.text.as_str()),
        object: &name.name.text,
    };
    use keel_query::BindScope as _;
    let server = match &name.server {
        Some(server) if scope.is_own_server(&server.text) => return Ok(None),
        Some(server) => Some((server.text.to_string(), parts.database, parts.schema, parts.object)),
        None => None,
    };
    let synonym;
    let (server, database, schema, object) = match server {
        Some(found) => found,
        None => {
            synonym = match scope.remote_synonym(parts) {
                Some(target) => target,
                None => return Ok(None),
            };
            let [server, database, schema, object] = synonym.as_slice() else { return Ok(None) };
            (server.clone(), Some(database.as_str()), Some(schema.as_str()), object.as_str())
        }
    };
    scope.note_remote();
    let own = |part: Option<&str>| part.filter(|p| !p.is_empty()).map(str::to_owned);
    let name = super::columns::RemoteName {
        database: own(database),
        schema: own(schema),
        object: object.to_owned(),
    };
    super::bind::table(scope.info, &server, name).map(Some)
}

/// The change that a statement makes at another server; `None` when it changes something here.
///
/// # Errors
/// 405 and 5315 for what cannot be done elsewhere; those of names and of asking.
pub(crate) fn change_of(scope: &Scope<'_>, statement: &StatementKind) -> Result<Option<RemoteChange>> {
    let (outputs, change): (&[ast::OutputClause], _) = match statement {
        StatementKind::Insert(i) => (&i.output, statement),
        StatementKind::Update(u) => (&u.output, statement),
        StatementKind::Delete(d) => (&d.output, statement),
        StatementKind::Merge(m) => {
            let named = matches!(&m.target.table, ast::TableRef::Named(name) if name.server.is_some());
            return if named && target(scope, statement)?.is_some() {
                Err(errors::remote_merge())
            } else {
                Ok(None)
            };
        }
        _ => return Ok(None),
    };
    let Some(table) = target(scope, change)? else { return Ok(None) };
    if !outputs.is_empty() {
        return Err(errors::remote_output());
    }
    let parts = match statement {
        StatementKind::Insert(insert) => inserted(scope, &table, insert)?,
        StatementKind::Update(update) => vec![updated(scope, &table, update)?],
        StatementKind::Delete(delete) => vec![deleted(scope, &table, delete)?],
        _ => return Ok(None),
    };
    Ok(Some(RemoteChange { whom: table.whom.clone(), parts }))
}

/// Error 207 for a column that the table there does not have.
fn column<'s>(shape: &'s Shape, name: &str) -> Result<&'s super::columns::RemoteColumn> {
    let found = shape.columns.iter().find(|c| same(&c.name, name));
    found.ok_or_else(|| keel_query::errors::invalid_column(name))
}

fn inserted(scope: &Scope<'_>, table: &RemoteTable, insert: &ast::Insert) -> Result<Vec<Part>> {
    let names: Vec<String> = if insert.columns.is_empty() {
        table.shape.columns.iter().filter(|c| !c.generated).map(|c| c.name.clone()).collect()
    } else {
        let named = insert.columns.iter().map(|c| column(&table.shape, &c.text).map(|c| c.name.clone()));
        named.collect::<Result<_>>()?
    };
    let into = table.name.quoted();
    let span = ast::Span::default();
    match &insert.source {
        ast::InsertSource::Values(rows) => {
            // A default is the other server's business: each row with one is a text of its own.
            let has_default =
                |row: &Vec<ast::Expr>| row.iter().any(|e| matches!(e.kind, ast::ExprKind::Default));
            if rows.iter().any(|row| row.len() != names.len()) {
                let more = rows.iter().any(|row| row.len() > names.len());
                return Err(if more {
                    keel_query::errors::insert_fewer_columns_than_values()
                } else {
                    keel_query::errors::insert_more_columns_than_values()
                });
            }
            if !rows.iter().any(has_default) {
                let plan = keel_query::compile_select(scope, &rows_of(insert, rows.clone(), &names, span))?;
                return Ok(vec![Part::Insert { plan, into, columns: names }]);
            }
            let one = |row: &Vec<ast::Expr>| {
                let given = row.iter().zip(&names).filter(|(e, _)| !matches!(e.kind, ast::ExprKind::Default));
                let (values, columns): (Vec<ast::Expr>, Vec<String>) =
                    given.map(|(e, name)| (e.clone(), name.clone())).unzip();
                if columns.is_empty() {
                    return nothing_given(scope, table, insert, span);
                }
                let plan = keel_query::compile_select(scope, &rows_of(insert, vec![values], &columns, span))?;
                Ok(Part::Insert { plan, into: into.clone(), columns })
            };
            rows.iter().map(one).collect()
        }
        ast::InsertSource::DefaultValues => Ok(vec![nothing_given(scope, table, insert, span)?]),
        ast::InsertSource::Query(query) => {
            let select = ast::SelectStatement {
                with: insert.with.clone(),
                query: (**query).clone(),
                options: insert.options.clone(),
            };
            let server = table.server.as_str();
            let list = names.iter().map(|n| quote_name(n)).collect::<Vec<_>>().join(", ");
            let make = |parts: &RemoteParts| {
                (&*parts.server == server).then(|| format!("INSERT INTO {into} ({list}) {}", parts.query))
            };
            let (plan, whole) = keel_query::compile_remote_change(scope, &select, &make)?;
            if whole {
                return Ok(vec![Part::Whole(plan)]);
            }
            if plan.columns().len() != names.len() {
                let more = plan.columns().len() > names.len();
                return Err(if more {
                    keel_query::errors::insert_select_more()
                } else {
                    keel_query::errors::insert_select_fewer()
                });
            }
            Ok(vec![Part::Insert { plan, into, columns: names }])
        }
        ast::InsertSource::Execute(_) => {
            Err(crate::errors::not_supported("INSERT … EXECUTE into a table of another server"))
        }
    }
}

/// A row of defaults alone.
fn nothing_given(
    scope: &Scope<'_>,
    table: &RemoteTable,
    insert: &ast::Insert,
    span: ast::Span,
) -> Result<Part> {
    let one = ast::Expr { kind: ast::ExprKind::Literal(ast::Literal::Null), span };
    let plan = keel_query::compile_select(scope, &rows_of(insert, vec![vec![one]], &["x".to_owned()], span))?;
    Ok(Part::Insert { plan, into: table.name.quoted(), columns: Vec::new() })
}

/// `SELECT * FROM (VALUES …) AS source (columns)`
fn rows_of(
    insert: &ast::Insert,
    rows: Vec<Vec<ast::Expr>>,
    columns: &[String],
    span: ast::Span,
) -> ast::SelectStatement {
    let columns =
        columns.iter().map(|c| ast::Ident { quoted: true, ..ast::Ident::new(c.as_str()) }).collect();
    let kind = ast::TableSourceKind::Values { rows, alias: Some(ast::Ident::new(SOURCE)), columns };
    let items = vec![ast::SelectItem::Star { qualifier: None, span }];
    let from = vec![ast::TableSource { kind, span }];
    let mut select = crate::run::select_from(insert.with.clone(), items, from, None, span);
    select.options.clone_from(&insert.options);
    select
}

/// What the target of UPDATE or DELETE is called in its FROM; a FROM of its own when it has none.
fn from_of(
    target: &ast::DmlTarget,
    from: &[ast::TableSource],
    span: ast::Span,
) -> Result<(Vec<ast::TableSource>, ast::Ident)> {
    let ast::TableRef::Named(name) = &target.table else {
        return Err(crate::errors::not_supported("This target"));
    };
    if from.is_empty() {
        let alias = ast::Ident::new(name.name.text.as_str());
        return Ok((vec![crate::run::source_of(name, Some(alias.clone()), span)], alias));
    }
    if name.is_simple() {
        return Ok((from.to_vec(), name.name.clone()));
    }
    // The same table in FROM, without an alias: what FROM calls it is its own name.
    Ok((from.to_vec(), name.name.clone()))
}

fn column_of(table: &ast::Ident, name: &str, span: ast::Span) -> ast::Expr {
    let qualifier = Some(Box::new(ast::ObjectName::simple(table.clone())));
    let column = ast::ColumnRef { qualifier, name: ast::Ident { quoted: true, ..ast::Ident::new(name) } };
    ast::Expr { kind: ast::ExprKind::Column(column), span }
}

fn filter_of(filter: Option<&ast::DmlFilter>) -> Result<Option<ast::Expr>> {
    match filter {
        None => Ok(None),
        Some(ast::DmlFilter::Where(e)) => Ok(Some(e.clone())),
        Some(ast::DmlFilter::CurrentOf(_)) => {
            Err(crate::errors::not_supported("WHERE CURRENT OF a table of another server"))
        }
    }
}

/// The columns by which rows are found again: those of a unique key, or, for a change that is sent whole, any.
fn key_of(table: &RemoteTable) -> Vec<(String, SqlType)> {
    let columns = &table.shape.columns;
    table.shape.key.iter().filter_map(|at| columns.get(*at)).map(|c| (c.name.clone(), c.ty)).collect()
}

fn updated(scope: &Scope<'_>, table: &RemoteTable, update: &ast::Update) -> Result<Part> {
    let span = ast::Span::default();
    let (from, alias) = from_of(&update.target, &update.from, span)?;
    let (mut set, mut values) = (Vec::new(), Vec::new());
    for assignment in &update.assignments {
        let ast::UpdateSet::Column { column: named, op, value } = assignment else {
            return Err(crate::errors::not_supported("This SET of a table of another server"));
        };
        if matches!(value.kind, ast::ExprKind::Default) {
            return Err(crate::errors::not_supported("SET … = DEFAULT of a table of another server"));
        }
        set.push(column(&table.shape, &named.name.text)?.name.clone());
        values.push(match op {
            ast::AssignOp::Set => value.clone(),
            ast::AssignOp::Compound(op) => {
                let left = Box::new(column_of(&alias, &named.name.text, value.span));
                let kind = ast::ExprKind::Binary { op: *op, left, right: Box::new(value.clone()) };
                ast::Expr { kind, span: value.span }
            }
        });
    }
    let make = |parts: &RemoteParts, key: usize| {
        let new = parts.values.get(key..)?;
        let list: Vec<String> =
            set.iter().zip(new).map(|(c, v)| format!("{} = {v}", quote_name(c))).collect();
        Some(format!(
            "UPDATE {} SET {} FROM {}{}",
            parts.target.as_deref()?,
            list.join(", "),
            parts.from,
            condition(parts)
        ))
    };
    let source = Source {
        table,
        from,
        alias,
        filter: filter_of(update.filter.as_ref())?,
        with: update.with.clone(),
        top: update.top.clone(),
    };
    source.change(scope, values, set.clone(), &make)
}

fn deleted(scope: &Scope<'_>, table: &RemoteTable, delete: &ast::Delete) -> Result<Part> {
    let (from, alias) = from_of(&delete.target, &delete.from, ast::Span::default())?;
    let make = |parts: &RemoteParts, _: usize| {
        Some(format!("DELETE {} FROM {}{}", parts.target.as_deref()?, parts.from, condition(parts)))
    };
    let source = Source {
        table,
        from,
        alias,
        filter: filter_of(delete.filter.as_ref())?,
        with: delete.with.clone(),
        top: delete.top.clone(),
    };
    source.change(scope, Vec::new(), Vec::new(), &make)
}

fn condition(parts: &RemoteParts) -> String {
    if parts.conditions.is_empty() { String::new() } else { format!(" WHERE {}", parts.conditions) }
}

/// Which rows UPDATE and DELETE change.
struct Source<'a> {
    table: &'a RemoteTable,
    from: Vec<ast::TableSource>,
    alias: ast::Ident,
    filter: Option<ast::Expr>,
    with: Option<ast::With>,
    top: Option<ast::Top>,
}

impl Source<'_> {
    fn change(
        self,
        scope: &Scope<'_>,
        values: Vec<ast::Expr>,
        set: Vec<String>,
        make: &dyn Fn(&RemoteParts, usize) -> Option<String>,
    ) -> Result<Part> {
        let (table, span) = (self.table, ast::Span::default());
        let key = key_of(table);
        // For the name of the table there any column will do.
        let named: Vec<String> = match (key.is_empty(), table.shape.columns.first()) {
            (true, Some(first)) => vec![first.name.clone()],
            _ => key.iter().map(|(name, _)| name.clone()).collect(),
        };
        let found = named.iter().map(|name| column_of(&self.alias, name, span));
        let items: Vec<ast::SelectItem> =
            found.chain(values).map(|expr| ast::SelectItem::Expr { expr, alias: None }).collect();
        let mut select = crate::run::select_from(self.with, items, self.from, self.filter, span);
        if let (Some(top), ast::QueryBody::Select(body)) = (self.top, &mut select.query.body) {
            body.top = Some(top);
        }
        let server = table.server.as_str();
        let whole = |parts: &RemoteParts| {
            (parts.open && &*parts.server == server).then(|| make(parts, named.len())).flatten()
        };
        let (plan, whole) = keel_query::compile_remote_change(scope, &select, &whole)?;
        if whole {
            return Ok(Part::Whole(plan));
        }
        if key.is_empty() {
            return Err(errors::no_unique_key(table.name.shown()));
        }
        Ok(Part::ByKey { plan, table: table.name.quoted(), key, set })
    }
}

// ---- running ----

impl Runner<'_> {
    /// Makes a change at another server; how many rows there were.
    pub(crate) fn run_remote(&mut self, change: &RemoteChange, vars: &mut [Value]) -> Result<RunInfo> {
        let mut rows = 0;
        for part in &change.parts {
            rows += match part {
                Part::Whole(plan) => {
                    let mut count = RowBuffer::default();
                    plan.run(&mut self.context_with(vars), &mut count)?;
                    let count = count.rows.first().and_then(|row| row.first()?.as_int());
                    count.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
                }
                Part::Insert { plan, into, columns } => {
                    self.send_rows(&change.whom, (into, columns), plan, vars)?
                }
                Part::ByKey { plan, table, key, set } => {
                    let found = self.rows_of(plan, vars)?;
                    self.change_rows(&change.whom, (table, key, set), plan, found)?
                }
            };
        }
        Ok(RunInfo { rows, identity: None })
    }

    fn rows_of(&mut self, plan: &Plan, vars: &mut [Value]) -> Result<Vec<Vec<Value>>> {
        let mut rows = RowBuffer::default();
        plan.run(&mut self.context_with(vars), &mut rows)?;
        Ok(rows.rows)
    }

    /// Sends texts as one transaction; how many rows they have changed.
    fn send(&mut self, whom: &Whom, texts: impl Iterator<Item = Vec<RpcParam>>) -> Result<u64> {
        let server = whom.server(self.info)?;
        let mut lease = self.info.links.lease(self.info, &server, Purpose::Change)?;
        let own = !lease.is_in_branch();
        if own {
            lease.run(&Request::Batch(BEGIN))?;
        }
        let done = texts
            .into_iter()
            .try_fold(0, |rows, parameters| send_one(&mut lease, &parameters).map(|n| rows + n));
        if own { end(&mut lease, done) } else { done }
    }

    /// Sends new rows as they are made. Inside a transaction, where there is one connection for what is read there and for what is changed, they are
    /// made first.
    fn send_rows(
        &mut self,
        whom: &Whom,
        (into, columns): (&str, &[String]),
        plan: &Plan,
        vars: &mut [Value],
    ) -> Result<u64> {
        if columns.is_empty() {
            let text = execute_sql(&format!("INSERT INTO {into} DEFAULT VALUES"), Vec::new());
            return self.send(whom, std::iter::once(text));
        }
        let texts = Inserts::new(into, columns, plan);
        if self.info.transaction.borrow().count > 0 {
            let rows = self.rows_of(plan, vars)?;
            return self.send(whom, rows.chunks(texts.at_once).map(|rows| texts.of(rows)));
        }
        let server = whom.server(self.info)?;
        let mut lease = self.info.links.lease(self.info, &server, Purpose::Change)?;
        lease.run(&Request::Batch(BEGIN))?;
        let mut sending = Sending { lease: &mut lease, texts: &texts, rows: Vec::new(), sent: 0 };
        let done = plan.run(&mut self.context_with(vars), &mut sending).and_then(|_| sending.flush());
        let sent = sending.sent;
        end(&mut lease, done.map(|()| sent))
    }

    fn change_rows(
        &mut self,
        whom: &Whom,
        (table, key, set): (&str, &[(String, SqlType)], &[String]),
        plan: &Plan,
        rows: Vec<Vec<Value>>,
    ) -> Result<u64> {
        if rows.is_empty() {
            return Ok(0);
        }
        let types: Vec<SqlType> = plan.columns().iter().map(|c| c.ty).collect();
        let name = |n: usize| format!("@p{}", n + 1);
        let assigned: Vec<String> = set
            .iter()
            .enumerate()
            .map(|(n, c)| format!("{} = {}", quote_name(c), name(key.len() + n)))
            .collect();
        let text_of = |row: &Vec<Value>| {
            let found = key.iter().enumerate().map(|(n, (c, _))| {
                let null = row.get(n).is_none_or(Value::is_null);
                if null {
                    format!("{} IS NULL", quote_name(c))
                } else {
                    format!("{} = {}", quote_name(c), name(n))
                }
            });
            let found = found.collect::<Vec<_>>().join(" AND ");
            let text = if set.is_empty() {
                format!("DELETE FROM {table} WHERE {found}")
            } else {
                format!("UPDATE {table} SET {} WHERE {found}", assigned.join(", "))
            };
            let values = row.iter().zip(&types).enumerate();
            execute_sql(
                &text,
                values.map(|(n, (value, ty))| parameter(&name(n), *ty, value.clone())).collect(),
            )
        };
        self.send(whom, rows.iter().map(text_of))
    }
}

fn send_one(lease: &mut Lease, parameters: &[RpcParam]) -> Result<u64> {
    let answer = lease.run(&Request::Call("sp_executesql", parameters))?;
    Ok(answer.count.unwrap_or(0))
}

/// A transaction of its own at the other server.
const BEGIN: &str = "SET XACT_ABORT ON; BEGIN TRANSACTION";

/// Ends it as what it was for has ended.
fn end(lease: &mut Lease, done: Result<u64>) -> Result<u64> {
    match done {
        Ok(rows) => lease.run(&Request::Batch("COMMIT TRANSACTION; SET XACT_ABORT OFF")).map(|_| rows),
        Err(e) => {
            // The connection's next request resets it, should it not hear this.
            let _ = lease.run(&Request::Batch("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET XACT_ABORT OFF"));
            Err(e)
        }
    }
}

/// The texts that insert rows.
struct Inserts {
    begin: String,
    types: Vec<SqlType>,
    /// Rows of one text.
    at_once: usize,
}

impl Inserts {
    fn new(into: &str, columns: &[String], plan: &Plan) -> Inserts {
        let list = columns.iter().map(|c| quote_name(c)).collect::<Vec<_>>().join(", ");
        Inserts {
            begin: format!("INSERT INTO {into} ({list}) VALUES "),
            types: plan.columns().iter().map(|c| c.ty).collect(),
            at_once: (PARAMETERS_MAX / columns.len().max(1)).clamp(1, ROWS_MAX),
        }
    }

    fn of(&self, rows: &[Vec<Value>]) -> Vec<RpcParam> {
        let (mut values, mut parameters) = (Vec::new(), Vec::new());
        for row in rows {
            let mut names = Vec::with_capacity(row.len());
            for (value, ty) in row.iter().zip(&self.types) {
                let name = format!("@p{}", parameters.len() + 1);
                parameters.push(parameter(&name, *ty, value.clone()));
                names.push(name);
            }
            values.push(format!("({})", names.join(", ")));
        }
        execute_sql(&format!("{}{}", self.begin, values.join(", ")), parameters)
    }
}

/// Rows on their way.
struct Sending<'a> {
    lease: &'a mut Lease,
    texts: &'a Inserts,
    rows: Vec<Vec<Value>>,
    sent: u64,
}

impl Sending<'_> {
    fn flush(&mut self) -> Result<()> {
        if !self.rows.is_empty() {
            self.sent += send_one(self.lease, &self.texts.of(&self.rows))?;
            self.rows.clear();
        }
        Ok(())
    }
}

impl keel_query::RowSink for Sending<'_> {
    fn row(&mut self, values: &[Value]) -> Result<()> {
        self.rows.push(values.to_vec());
        if self.rows.len() >= self.texts.at_once { self.flush() } else { Ok(()) }
    }
}
