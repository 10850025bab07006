//! Tables and queries of other servers as the planner and plans see them.
//!
//! A [`RemoteTable`] is what a name in four parts stands for. The planner makes a query of it, and of what it can send along: a [`RemoteRows`],
//! which asks when it is opened, and streams. OPENQUERY and its kin are such from the start.

use super::columns::{RemoteColumn, RemoteName, Shape};
use super::errors;
use super::link::{Reply, Request};
use super::links::{Lease, Purpose, Server, execute_sql, parameter, theirs};
use crate::convert;
use crate::session::info::Info;
use crate::sink::ColumnMeta;
use keel_query::ExecCtx;
use keel_query::scope::{RemoteSource, RowSource, SentText, VirtualColumn, VirtualTable};
use keel_types::datetime::language::Dates;
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use std::sync::Arc;

/// Whom a plan asks: a linked server by its name, which may mean another one by the time it runs, or the server of an address.
#[derive(Clone)]
pub enum Whom {
    /// A linked server.
    Linked(String),
    /// The server of OPENROWSET and OPENDATASOURCE.
    Named(Arc<Server>),
}

impl Whom {
    /// The server, as a session asks it for data.
    ///
    /// # Errors
    /// 7202 when it is gone, 7411 without DATA ACCESS, 15281 when the instance does not want addresses in queries; those of logins.
    pub fn server(&self, info: &Info) -> Result<Arc<Server>> {
        match self {
            Whom::Linked(name) => {
                let server = info.engine.linked_server(name)?;
                if !server.data_access {
                    return Err(errors::not_configured(&server.name, "DATA ACCESS"));
                }
                server.asked_by(info)
            }
            Whom::Named(server) => {
                ad_hoc_allowed(info)?;
                Ok(Arc::clone(server))
            }
        }
    }
}

/// Error 15281 where the instance does not want addresses in queries.
pub(super) fn ad_hoc_allowed(info: &Info) -> Result<()> {
    if info.engine.configuration(crate::config::AD_HOC_QUERIES).running == 0 {
        return Err(errors::ad_hoc_blocked());
    }
    Ok(())
}

/// A table of another server.
pub struct RemoteTable {
    /// Where it is.
    pub whom: Whom,
    /// Which server that is, for telling whether two tables are of one.
    pub server: String,
    /// Its name there.
    pub name: RemoteName,
    /// What it is like.
    pub shape: Arc<Shape>,
    columns: Vec<VirtualColumn>,
    quoted: String,
    strings: bool,
}

impl RemoteTable {
    /// A table; `strings`: texts compare there as they do here.
    #[must_use]
    pub fn new(
        whom: Whom,
        server: String,
        name: RemoteName,
        shape: Arc<Shape>,
        strings: bool,
    ) -> RemoteTable {
        let columns = shape.columns.iter().map(column).collect();
        let quoted = name.quoted();
        RemoteTable { whom, server, name, shape, columns, quoted, strings }
    }
}

fn column(c: &RemoteColumn) -> VirtualColumn {
    VirtualColumn { name: c.name.clone(), ty: c.ty, nullable: c.nullable, collation: c.collation }
}

impl RemoteTable {
    /// A text that its server is to execute.
    fn asks(
        &self,
        text: String,
        parameters: Vec<(String, SqlType)>,
        columns: Vec<VirtualColumn>,
        rows: u64,
        changes: bool,
    ) -> Arc<dyn VirtualTable> {
        let (whom, place) = (self.whom.clone(), self.server.clone());
        Arc::new(RemoteRows { whom, place, text, parameters, columns, rows, changes, fixed: false })
    }
}

impl VirtualTable for RemoteTable {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, ctx: &mut ExecCtx<'_>, _: &[Value]) -> Result<RowSource> {
        let names = self.columns.iter().map(|c| keel_parser::to_text::quote_name(&c.name));
        let text = format!("SELECT {} FROM {}", names.collect::<Vec<_>>().join(", "), self.quoted);
        open(ctx, &self.whom, &text, Vec::new(), &self.columns, Purpose::Read)
    }
    fn row_count_estimate(&self) -> u64 {
        self.shape.rows
    }
    fn remote(&self) -> Option<RemoteSource<'_>> {
        Some(RemoteSource { server: &self.server, object: &self.quoted, strings: self.strings })
    }
    fn remote_query(
        &self,
        text: String,
        parameters: Vec<(String, SqlType)>,
        columns: Vec<VirtualColumn>,
        rows: u64,
    ) -> Option<Arc<dyn VirtualTable>> {
        Some(self.asks(text, parameters, columns, rows, false))
    }
    fn remote_change(
        &self,
        text: String,
        parameters: Vec<(String, SqlType)>,
    ) -> Option<Arc<dyn VirtualTable>> {
        let columns = vec![VirtualColumn::new("", SqlType::BigInt)];
        Some(self.asks(text, parameters, columns, 1, true))
    }
}

/// The rows of a text that another server runs; of one that changes something its count of rows, as one row.
pub struct RemoteRows {
    /// Whom it is sent to.
    pub whom: Whom,
    place: String,
    text: String,
    parameters: Vec<(String, SqlType)>,
    columns: Vec<VirtualColumn>,
    rows: u64,
    changes: bool,
    fixed: bool,
}

impl RemoteRows {
    /// A text that somebody else has written.
    #[must_use]
    pub fn of_text(whom: Whom, place: String, text: String, shape: &Shape) -> RemoteRows {
        let columns = shape.columns.iter().map(column).collect();
        RemoteRows {
            whom,
            place,
            text,
            parameters: Vec::new(),
            columns,
            rows: shape.rows,
            changes: false,
            fixed: true,
        }
    }
}

impl VirtualTable for RemoteRows {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, ctx: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let values = self.parameters.iter().zip(args);
        let values = values.map(|((name, ty), value)| parameter(name, *ty, value.clone())).collect();
        let purpose = if self.changes { Purpose::Change } else { Purpose::Read };
        open(ctx, &self.whom, &self.text, values, &self.columns, purpose)
    }
    fn row_count_estimate(&self) -> u64 {
        self.rows
    }
    fn shown(&self) -> Option<SentText<'_>> {
        let operator = match (self.changes, self.fixed) {
            (true, _) => "Remote Update",
            (false, true) => "Remote Scan",
            (false, false) => "Remote Query",
        };
        Some(SentText { operator, server: &self.place, text: &self.text })
    }
}

fn open(
    ctx: &mut ExecCtx<'_>,
    whom: &Whom,
    text: &str,
    values: Vec<crate::RpcParam>,
    columns: &[VirtualColumn],
    purpose: Purpose,
) -> Result<RowSource> {
    let info = Info::of(ctx.session);
    let server = whom.server(info)?;
    // A batch cannot have parameters, and a query without any need not be prepared.
    let all = execute_sql(text, values);
    let request = if all.len() > 1 { Request::Call("sp_executesql", &all) } else { Request::Batch(text) };
    let mut lease = info.links.lease(info, &server, purpose)?;
    if purpose == Purpose::Change {
        let answer = lease.run(&request).inspect_err(|e| forget(info, e))?;
        let count = i64::try_from(answer.count.unwrap_or(0)).unwrap_or(i64::MAX);
        return Ok(Box::new(std::iter::once(Ok(vec![Value::Int(count)]))));
    }
    let begun = begin(lease, &server, &request, columns).inspect_err(|e| forget(info, e))?;
    if !begun.lease.is_in_branch() {
        return Ok(Box::new(begun));
    }
    // The transaction has one connection there: the next who asks needs it.
    let rows = begun.collect::<Result<Vec<_>>>()?;
    Ok(Box::new(rows.into_iter().map(Ok)))
}

/// What the other server says it does not have is asked for again before the next statement.
fn forget(info: &Info, e: &SqlError) {
    if matches!(e.number, 207 | 208 | 213 | 7356) {
        info.engine.linked.forget_shapes();
    }
}

fn begin(
    mut lease: Lease,
    server: &Arc<Server>,
    request: &Request<'_>,
    columns: &[VirtualColumn],
) -> Result<Streamed> {
    lease.ask(request)?;
    loop {
        match lease.reply()? {
            Some(Reply::Columns(sent)) => {
                let conversions = conversions(server, &sent, columns)?;
                return Ok(Streamed { lease, conversions, over: false });
            }
            Some(Reply::Message(e)) if e.severity > 10 => return Err(theirs(e)),
            Some(_) => {}
            None => return Err(errors::no_columns("", &server.provider, &server.name)),
        }
    }
}

/// For each column what it is to become, where it is not that already.
fn conversions(
    server: &Server,
    sent: &[ColumnMeta],
    wanted: &[VirtualColumn],
) -> Result<Vec<Option<(SqlType, SqlType)>>> {
    if sent.len() != wanted.len() {
        let name = wanted.last().map_or("", |c| c.name.as_str());
        return Err(errors::inconsistent(&server.provider, &server.name, name));
    }
    let one = |(sent, wanted): (&ColumnMeta, &VirtualColumn)| {
        if sent.ty == wanted.ty || is_same(sent.ty, wanted.ty) {
            return Ok(None);
        }
        let possible = keel_types::cast::implicit(sent.ty, wanted.ty);
        let inconsistent = |_| errors::inconsistent(&server.provider, &server.name, &wanted.name);
        possible.map(|_| Some((sent.ty, wanted.ty))).map_err(inconsistent)
    };
    sent.iter().zip(wanted).map(one).collect()
}

/// Types whose values are the same as they are sent: xml comes as text.
fn is_same(sent: SqlType, wanted: SqlType) -> bool {
    use SqlType as T;
    matches!(
        (sent, wanted),
        (T::NVarChar(_), T::Xml | T::TypedXml(_) | T::NText)
            | (T::VarChar(_), T::Text)
            | (T::VarBinary(_) | T::Binary(_), T::Image | T::RowVersion)
            | (T::Decimal { .. }, T::Numeric { .. })
            | (T::Numeric { .. }, T::Decimal { .. })
    ) && sent.decimal_parts() == wanted.decimal_parts()
}

/// Rows on their way.
struct Streamed {
    lease: Lease,
    conversions: Vec<Option<(SqlType, SqlType)>>,
    over: bool,
}

impl Streamed {
    fn converted(&self, mut row: Vec<Value>) -> Result<Vec<Value>> {
        for (value, conversion) in row.iter_mut().zip(&self.conversions) {
            if let Some((from, to)) = conversion {
                *value = convert::assign(std::mem::take(value), *from, *to, Dates::US)?;
            }
        }
        Ok(row)
    }
}

impl Iterator for Streamed {
    type Item = Result<Vec<Value>>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            match self.lease.reply() {
                Ok(Some(Reply::Row(row))) => return Some(self.converted(row)),
                // Of several results the first counts.
                Ok(Some(Reply::Columns(_))) => self.over = true,
                Ok(Some(Reply::Message(e))) if e.severity > 10 => {
                    self.over = true;
                    return Some(Err(theirs(e)));
                }
                Ok(Some(_)) => {}
                Ok(None) => self.over = true,
                Err(e) => {
                    self.over = true;
                    return Some(Err(e));
                }
            }
        }
        None
    }
}
