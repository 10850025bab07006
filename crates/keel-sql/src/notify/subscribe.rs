//! A SELECT with a notification: it is subscribed to before it runs, or the client is told at once why not.

use super::registry::{Stored, Subscription};
use super::request::{Destination, Request};
use super::rules::{self, Comparison, Reading};
use super::{Reason, errors};
use crate::broker::guid_text;
use crate::broker::store;
use crate::catalog::{Named, SecurableRef};
use crate::engine::{DatabaseEntry, TABLE_VARIABLES, TEMPDB};
use crate::map::txn_error;
use crate::program::{Program, Unit, UnitSource};
use crate::run::{Frame, Runner};
use keel_node::Isolation;
use keel_parser::ast::{self, StatementKind};
use keel_query::catalog::{ColumnDef, TableDef};
use keel_query::watch::{Condition, Watch};
use keel_query::{IsolationLevel, SessionInfo as _};
use keel_types::error::Result;
use keel_types::key::{self, KeyColumn};
use keel_types::{SqlType, Value};
use std::sync::Arc;

const TICKS_PER_SECOND: i64 = 10_000_000;

/// Somebody who asks for a notification.
pub(super) struct Subscriber {
    pub message: String,
    pub to: Destination,
    /// The user in the database.
    pub owner: i32,
    pub sid: Vec<u8>,
}

impl Runner<'_> {
    /// Subscribes to the query that is about to run, if the client wants that.
    pub(crate) fn subscribe(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        query: &Unit,
    ) -> Result<()> {
        let request = self.info.watched.borrow().clone();
        let (Some(request), UnitSource::Statement(statement)) = (request, &query.source) else {
            return Ok(());
        };
        let StatementKind::Select(select) = &statement.kind else { return Ok(()) };
        let entry = self.info.current_database();
        let by = self.subscriber(&entry, &request)?;
        let timeout = request.timeout()?;
        if let Some(reason) = self.unwatchable() {
            return self.tell_subscriber(&entry, &by, reason);
        }
        let table = |name: &ast::ObjectName| match self.named(program, name) {
            Some((of, Named::Table(table))) if of.id == entry.id && !name.is_temporary() => Some(table),
            _ => None,
        };
        let text = statement.span.text(&program.text);
        let Some(reading) = rules::reading(select, text, &table).filter(|_| entry.id != TEMPDB) else {
            return self.tell_subscriber(&entry, &by, Reason::QUERY);
        };
        let (conditions, values) = self.conditions(program, frame, &reading)?;
        let text = format!("{text}\u{0}{values}");
        self.replace_subscription(&entry, &by, &text)?;
        let now = self.info.engine.now_utc();
        let stored = Stored {
            id: 0,
            message: by.message.clone(),
            service: by.to.service.clone(),
            broker: by.to.broker.clone(),
            owner: by.owner,
            sid: by.sid.clone(),
            created: self.info.engine.now_local(),
            timeout,
            expires: now.saturating_add(i64::from(timeout) * TICKS_PER_SECOND),
            query: text,
        };
        self.add_subscription(&entry, stored, &reading, &conditions, &by)
    }

    /// A statement that is no query, in a request with a notification.
    pub(crate) fn refuse_subscription(&mut self) -> Result<()> {
        let Some(request) = self.info.watched.borrow().clone() else { return Ok(()) };
        let entry = self.info.current_database();
        let by = self.subscriber(&entry, &request)?;
        self.tell_subscriber(&entry, &by, Reason::INVALID)
    }

    fn subscriber(&self, entry: &Arc<DatabaseEntry>, request: &Request) -> Result<Subscriber> {
        let message = request.message()?.to_owned();
        let mut to = request.destination()?;
        if let Some(name) = &to.database {
            let found = self.info.find_database(name).ok_or_else(|| errors::not_a_database(name))?;
            to.broker = Some(guid_text(&found.broker_id()));
        }
        if entry.is_read_only() || !entry.carries_conversations() {
            return Err(crate::errors::database_read_only(entry.name()));
        }
        let may = self.info.may(entry, "SUBSCRIBE QUERY NOTIFICATIONS", SecurableRef::Database);
        let login = self.info.login();
        if !may {
            return Err(errors::may_not_subscribe(login, entry.name()));
        }
        let sid = self.info.own_sid();
        let owner = self.info.token_in(entry).map_or(crate::catalog::DBO_USER, |token| token.user);
        Ok(Subscriber { message, to, owner, sid })
    }

    /// Why nothing is watched, whatever the query is.
    fn unwatchable(&self) -> Option<Reason> {
        let nulls = self.info.on(crate::session::options::Switches::ANSI_NULLS);
        let quoted = self.info.on(crate::session::options::Switches::QUOTED_IDENTIFIER);
        if !nulls || !quoted || !self.info.wrong_index_options().is_empty() {
            return Some(Reason::OPTIONS);
        }
        let level = self.info.options.borrow().isolation;
        let odd = matches!(level, IsolationLevel::ReadUncommitted | IsolationLevel::Snapshot);
        odd.then_some(Reason::ISOLATION)
    }

    /// What the query asks of single columns, each with its place among [`Reading::sources`], and the values as a text.
    fn conditions(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        reading: &Reading<'_>,
    ) -> Result<(Vec<(usize, Condition)>, String)> {
        let (mut found, mut values) = (Vec::new(), String::new());
        for Comparison { column: (source, at), op, with } in &reading.comparisons {
            let column = &reading.sources[*source].table.columns[*at];
            let (value, ty) = self.eval_typed(program, frame, &Unit::expr((*with).clone(), None))?;
            values.push_str(&crate::convert::display(&value));
            values.push('\u{0}');
            let Some(value) = comparable(&value, ty, column) else { continue };
            let by = KeyColumn::ascending(column.ty, column.collation);
            let mut key = Vec::new();
            key::append(&mut key, &value, &by);
            found.push((*source, Condition { column: column.column_id, by, op: *op, key: key.into() }));
        }
        // Of variables elsewhere than in comparisons the text says nothing.
        for (def, value) in program.variables.iter().zip(&frame.vars) {
            values.push_str(&format!("{}={}\u{0}", def.name, crate::convert::display(value)));
        }
        Ok((found, values))
    }

    /// The same asked for again takes the place of what was asked for before.
    fn replace_subscription(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        by: &Subscriber,
        query: &str,
    ) -> Result<()> {
        let same = |s: &Subscription| {
            let s = &s.stored;
            s.sid == by.sid
                && s.message == by.message
                && s.service == by.to.service
                && s.broker == by.to.broker
                && s.query == query
        };
        for old in self.info.engine.subscriptions.of_database(entry.id, same) {
            self.info.engine.forget_subscription(entry, &old)?;
        }
        Ok(())
    }

    fn add_subscription(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        stored: Stored,
        reading: &Reading<'_>,
        conditions: &[(usize, Condition)],
        by: &Subscriber,
    ) -> Result<()> {
        let key = self.new_guid();
        let watch = |id: u64, n: usize| Watch {
            id,
            columns: reading.sources[n].columns.clone(),
            conditions: conditions.iter().filter(|(of, _)| *of == n).map(|(_, c)| c.clone()).collect(),
        };
        let make = |id: u64| Subscription {
            key,
            stored: Stored { id, ..stored },
            watches: (0..reading.sources.len())
                .map(|n| (Arc::clone(&reading.sources[n].table), Arc::new(watch(id, n))))
                .collect(),
        };
        let Some(added) = self.info.engine.subscriptions.add(entry.id, make) else {
            return self.tell_subscriber(entry, by, Reason::LIMIT);
        };
        // By itself, and durable before the query reads: what it does not see is in the log behind it.
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        let written = store::put_subscription(&mut txn, &key, &added.stored);
        let written = written.and_then(|()| txn.commit()).and_then(keel_node::Commit::wait);
        if let Err(e) = written {
            self.info.engine.subscriptions.remove(entry.id, added.stored.id);
            return Err(txn_error(e, &entry.name(), self.info.shared.id));
        }
        // A table that was changed meanwhile is not the one that was looked at.
        let picture = entry.picture();
        for (table, _) in &added.watches {
            let now = keel_query::catalog::Catalog::table_by_id(&*picture, table.object_id);
            if now.is_none_or(|now| now.columns != table.columns) {
                let reason = if picture_has(&picture, table) { Reason::ALTERED } else { Reason::DROPPED };
                self.info.engine.subscriptions.fall_due(entry.id, added.stored.id, reason);
            }
        }
        self.info.engine.broker.bell.ring();
        Ok(())
    }
}

fn picture_has(picture: &crate::catalog::Picture, table: &TableDef) -> bool {
    keel_query::catalog::Catalog::table_by_id(picture, table.object_id).is_some()
}

/// The value as one of the column's type, where comparing the two means comparing that.
fn comparable(value: &Value, ty: SqlType, column: &ColumnDef) -> Option<Value> {
    let to = column.ty;
    let whole =
        |ty: SqlType| matches!(ty, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt);
    match value {
        Value::Null => None,
        Value::Int(_) if whole(to) && whole(ty) => Some(value.clone()),
        Value::Str(_) if to.is_string() => (to.is_national() || !ty.is_national()).then(|| value.clone()),
        Value::Str(_)
            if ty.is_string()
                && matches!(
                    to,
                    SqlType::UniqueIdentifier
                        | SqlType::Date
                        | SqlType::DateTime
                        | SqlType::SmallDateTime
                        | SqlType::DateTime2(_)
                ) =>
        {
            keel_types::cast::explicit(ty, to).ok()?.apply(value).ok()
        }
        _ if ty == to && !matches!(to, SqlType::Float | SqlType::Real) => Some(value.clone()),
        _ => None,
    }
}

/// Whether rows of a database can be watched.
pub(crate) fn is_watchable(database: keel_base::DatabaseId) -> bool {
    database != TABLE_VARIABLES && database != TEMPDB
}
