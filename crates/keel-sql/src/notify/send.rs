//! Messages of query notifications, and who sends them: the transaction that has changed something, or the broker.

use super::changes::Fired;
use super::registry::{Due, Stored, Subscription};
use super::subscribe::Subscriber;
use super::{Reason, errors};
use crate::broker::definition::{POST_QUERY_CONTRACT, QUERY_NOTIFICATION, QUERY_SERVICE};
use crate::broker::{Notice, Sent, guid_text, store};
use crate::engine::{DatabaseEntry, Engine};
use crate::map::txn_error;
use crate::run::Runner;
use keel_node::Isolation;
use keel_query::queue::Guid;
use keel_query::xml::push_text;
use keel_types::error::Result;
use std::fmt::Write as _;
use std::sync::Arc;

/// A deadlock: the transaction is no more.
const DEADLOCK: i32 = 1205;

impl Engine {
    /// A subscription goes, and nobody is told.
    pub(crate) fn forget_subscription(&self, entry: &Arc<DatabaseEntry>, s: &Subscription) -> Result<()> {
        self.subscriptions.remove(entry.id, s.stored.id);
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        let gone = store::take_subscription(&mut txn, &s.key);
        let gone = gone.and_then(|_| txn.commit()).and_then(keel_node::Commit::wait);
        gone.map_err(|e| txn_error(e, &entry.name(), 0))
    }
}

impl Runner<'_> {
    /// Tells a client that its query is not watched.
    pub(super) fn tell_subscriber(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        by: &Subscriber,
        reason: Reason,
    ) -> Result<()> {
        let body = body((0, 0), &by.sid, &by.message, reason);
        self.in_statement(|runner| {
            runner.send_message_to(entry, &by.to.service, by.to.broker.as_ref(), by.owner, &body)
        })
    }

    fn send_message_to(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        service: &str,
        broker: Option<&String>,
        owner: i32,
        body: &str,
    ) -> Result<()> {
        let notice = Notice {
            from: QUERY_SERVICE,
            contract: POST_QUERY_CONTRACT,
            message_type: QUERY_NOTIFICATION,
            to: service,
            broker,
            owner,
            body,
        };
        let sent = self.send_notice(entry, &notice)?;
        if let Sent::Failed { handle, why } = sent {
            let text = format!(
                "Query notification delivery could not send message on dialog '{}'. Delivery failed for notification '{body}' because of the following error in service broker: '{why}'.",
                guid_text(&handle)
            );
            self.info.engine.options().log.write(&text);
        }
        Ok(())
    }

    /// Before the transaction commits: tells of what it has changed.
    pub(crate) fn tell_of_changes(&mut self) -> Result<()> {
        match self.own_txns() {
            Some(set) if !set.changes.fired.is_empty() => self.tell_fired(),
            _ => Ok(()),
        }
    }

    fn tell_fired(&mut self) -> Result<()> {
        let fired = self.own_txns().map(|set| std::mem::take(&mut set.changes.fired)).unwrap_or_default();
        for f in fired {
            let savepoint = self.savepoint("".into());
            match self.tell_one(&f) {
                Ok(true) => {
                    if let Some(set) = self.own_txns() {
                        set.changes.told.push((f.database, f.watch));
                    }
                }
                Err(e) if e.number == DEADLOCK => return Err(e),
                // Somebody else is about to tell of it, or it went wrong: the broker looks after it.
                done => {
                    if let (Err(_), Some(savepoint)) = (done, savepoint) {
                        self.rollback_to(&savepoint)?;
                    }
                    if let Some(set) = self.own_txns() {
                        set.changes.fire(f);
                    }
                }
            }
        }
        Ok(())
    }

    /// Says whether it was told, or is no more.
    fn tell_one(&mut self, fired: &Fired) -> Result<bool> {
        let Some(s) = self.info.engine.subscriptions.get(fired.database, fired.watch) else {
            return Ok(true);
        };
        let entry = self.entry_of(fired.database)?;
        if !entry.carries_conversations() {
            return Ok(false);
        }
        match self.broker_rows(&entry, |txn| store::try_take_subscription(txn, &s.key))? {
            None => Ok(false),
            Some(false) => Ok(true),
            Some(true) => self.send_of(&entry, &s.stored, fired.reason).map(|()| true),
        }
    }

    fn send_of(&mut self, entry: &Arc<DatabaseEntry>, s: &Stored, reason: Reason) -> Result<()> {
        let body = body((s.id, entry.id.0), &s.sid, &s.message, reason);
        self.send_message_to(entry, &s.service, s.broker.as_ref(), s.owner, &body)
    }

    /// Tells of a database's subscriptions that are due. Says whether some could not be told.
    pub(crate) fn tell_due(&mut self, entry: &Arc<DatabaseEntry>) -> Result<bool> {
        let (mut left, mut failed) = (false, Ok(()));
        for due in self.info.engine.subscriptions.take_due(entry.id) {
            let told = self.in_statement(|runner| {
                let found = runner.broker_rows(entry, |txn| store::subscription(txn, &due.key))?;
                let Some(stored) = found else { return Ok(true) };
                match runner.broker_rows(entry, |txn| store::try_take_subscription(txn, &due.key))? {
                    None => Ok(false),
                    Some(false) => Ok(true),
                    Some(true) => runner.send_of(entry, &stored, due.reason).map(|()| true),
                }
            });
            if !matches!(told, Ok(true)) {
                self.info.engine.subscriptions.push_due(due);
                left = true;
            }
            failed = failed.and(told.map(|_| ()));
        }
        failed.map(|()| left)
    }

    /// A database is about to be dropped: who watches it is told, where the service is not dropped with it.
    pub(crate) fn tell_of_drop(&mut self, entry: &Arc<DatabaseEntry>) -> Result<()> {
        if !entry.carries_conversations() {
            return Ok(());
        }
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        let found = store::subscriptions(&mut txn);
        txn.rollback();
        let found = found.map_err(|e| txn_error(e, &entry.name(), 0))?;
        // It stays as long as somebody is in it, or a snapshot is of it.
        let engine = &self.info.engine;
        let goes = engine.is_left_alone(entry) && engine.has_no_snapshots(entry.id, "drop").is_ok();
        if found.is_empty() || !goes {
            return Ok(());
        }
        for (key, s) in found {
            self.in_statement(|runner| {
                match runner.broker_rows(entry, |txn| store::try_take_subscription(txn, &key))? {
                    Some(true) => runner.send_of(entry, &s, Reason::DATABASE_DROPPED),
                    _ => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// KILL QUERY NOTIFICATION SUBSCRIPTION
    pub(crate) fn kill_subscriptions(&mut self, id: Option<i64>) -> Result<()> {
        let all = self.info.engine.subscriptions.all();
        let chosen = |s: &Subscription| id.is_none_or(|id| u64::try_from(id) == Ok(s.stored.id));
        let own = self.info.own_sid();
        let any = self.info.may_on_server("ALTER SERVER STATE");
        let mut killed = 0;
        for (database, s) in all.iter().filter(|(_, s)| chosen(s) && (any || s.stored.sid == own)) {
            let Some(entry) = self.info.engine.database_by_id(*database) else { continue };
            self.info.engine.forget_subscription(&entry, s)?;
            killed += 1;
        }
        match id {
            Some(id) if killed == 0 => Err(errors::not_there(id)),
            _ => Ok(()),
        }
    }
}

/// Those of a database that nobody knows in memory: the instance was started, or another one was the primary before.
pub(crate) fn find_forgotten(engine: &Engine, entry: &Arc<DatabaseEntry>) -> Result<()> {
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    let found = store::subscriptions(&mut txn);
    let waits = store::any_waiting(&mut txn);
    txn.rollback();
    let failed = |e| txn_error(e, &entry.name(), 0);
    let known: Vec<Guid> =
        engine.subscriptions.of_database(entry.id, |_| true).iter().map(|s| s.key).collect();
    for (key, _) in found.map_err(failed)? {
        if !known.contains(&key) {
            let due = Due { database: entry.id, key, reason: Reason::RESTART };
            engine.subscriptions.push_due(due);
        }
    }
    if waits.map_err(failed)? {
        engine.subscriptions.sends(entry.id);
    }
    Ok(())
}

/// The message.
fn body((id, database): (u64, u32), sid: &[u8], message: &str, reason: Reason) -> String {
    let mut out = String::from(
        "<qn:QueryNotification xmlns:qn=\"http://schemas.microsoft.com/SQL/Notifications/QueryNotification\"",
    );
    let Reason { kind, source, info } = reason;
    let _ = write!(out, " id=\"{id}\" type=\"{kind}\" source=\"{source}\" info=\"{info}\"");
    let _ = write!(out, " database_id=\"{database}\" sid=\"0x");
    for byte in sid {
        let _ = write!(out, "{byte:02X}");
    }
    out.push_str("\"><qn:Message>");
    push_text(message, false, &mut out);
    out.push_str("</qn:Message></qn:QueryNotification>");
    out
}
