//! What the session that fires an event says of itself.

use super::catalog::{Action, Field};
use crate::engine::{Engine, SessionShared};
use crate::session::info::Info;
use std::sync::atomic::Ordering;

/// Who fires an event.
pub trait Actor {
    /// What an action collects.
    fn action(&self, action: Action) -> Field;
}

/// A thread of the instance that is no session's.
pub struct Nobody;

impl Actor for Nobody {
    fn action(&self, action: Action) -> Field {
        of_process(action)
    }
}

/// A thread of the instance that is no session's, in a database.
pub struct InDatabase<'a> {
    /// The database.
    pub name: &'a str,
}

impl Actor for InDatabase<'_> {
    fn action(&self, action: Action) -> Field {
        if action == Action::DatabaseName { self.name.into() } else { of_process(action) }
    }
}

/// A session, seen by another thread.
pub struct Existing<'a> {
    /// The instance.
    pub engine: &'a Engine,
    /// The session.
    pub session: &'a SessionShared,
}

impl Actor for Existing<'_> {
    fn action(&self, action: Action) -> Field {
        let (shared, login) = (self.session, &self.session.login);
        let database = shared.database.load(Ordering::Relaxed);
        match action {
            Action::SqlText => shared.shown_text().into(),
            Action::DatabaseId => database.into(),
            Action::DatabaseName => self.engine.database_name(database).into(),
            Action::SessionId => shared.id.into(),
            Action::Username | Action::ServerPrincipalName | Action::SessionServerPrincipalName => {
                login.login.clone().into()
            }
            Action::ClientAppName => login.app_name.clone().into(),
            Action::ClientHostname => login.host_name.clone().into(),
            Action::ClientPid => login.client_pid.into(),
            Action::IsSystem => false.into(),
            other => of_process(other),
        }
    }
}

/// Somebody who was not logged in.
pub struct Attempt<'a> {
    /// The name that was given.
    pub name: &'a str,
    /// The client's program and host, as it says.
    pub client: (&'a str, &'a str),
    /// State of error 18456, as the error log has it.
    pub state: u8,
    /// Why, as the error log has it.
    pub text: &'a str,
}

impl Actor for Attempt<'_> {
    fn action(&self, action: Action) -> Field {
        match action {
            Action::ServerPrincipalName | Action::SessionServerPrincipalName | Action::Username => {
                self.name.into()
            }
            Action::ClientAppName => self.client.0.into(),
            Action::ClientHostname => self.client.1.into(),
            other => of_process(other),
        }
    }
}

/// What holds for every thread.
fn of_process(action: Action) -> Field {
    match action {
        Action::ProcessId => std::process::id().into(),
        Action::SystemThreadId | Action::CollectCurrentThreadId => {
            rustix::thread::gettid().as_raw_nonzero().get().into()
        }
        Action::CpuId | Action::SchedulerId => (rustix::thread::sched_getcpu() as u32).into(),
        Action::IsSystem => true.into(),
        Action::LastError => 0u32.into(),
        _ => Field::Null,
    }
}

impl Actor for Info {
    fn action(&self, action: Action) -> Field {
        let shared = &self.shared;
        let login = &shared.login;
        match action {
            Action::SqlText => shared.shown_text().into(),
            Action::DatabaseId => self.current_database().id.0.into(),
            Action::DatabaseName => self.current_database().name().to_string().into(),
            Action::SessionId => shared.id.into(),
            Action::Username | Action::ServerPrincipalName => self.login().to_string().into(),
            Action::SessionServerPrincipalName => login.login.clone().into(),
            Action::NtUsername | Action::SessionNtUsername => match login.account() {
                ("", _) => "".into(),
                _ => login.login.clone().into(),
            },
            Action::ServerPrincipalSid => {
                self.login_of(&self.identity_now()).map_or(Field::Null, |login| Field::Bytes(login.sid))
            }
            Action::ClientAppName => login.app_name.clone().into(),
            Action::ClientHostname => login.host_name.clone().into(),
            Action::ClientPid => login.client_pid.into(),
            Action::ServerInstanceName => self.engine.options().server_name.clone().into(),
            Action::IsSystem => false.into(),
            Action::TransactionId => shared.transaction_id.load(Ordering::Relaxed).into(),
            Action::RequestId => 0u32.into(),
            Action::ContextInfo => Field::Bytes(shared.context_info.lock().clone()),
            Action::NumResponseRows => {
                let (rows, before) = (&shared.used.rows, &shared.used_before.rows);
                rows.load(Ordering::Relaxed).saturating_sub(before.load(Ordering::Relaxed)).into()
            }
            Action::SessionResourceGroupId => shared.group().id.into(),
            Action::SessionResourcePoolId => shared.group().pool.id.into(),
            Action::PlanHandle
            | Action::QueryHash
            | Action::QueryPlanHash
            | Action::QueryHashSigned
            | Action::QueryPlanHashSigned
            | Action::TsqlFrame
            | Action::TsqlStack => self.of_statement(action),
            Action::CollectSystemTime => self.engine.now_utc().into(),
            // Given by who delivers it.
            Action::EventSequence => Field::Null,
            Action::ProcessId
            | Action::CollectCurrentThreadId
            | Action::LastError
            | Action::SystemThreadId
            | Action::SchedulerId
            | Action::CpuId => of_process(action),
        }
    }
}

impl Info {
    fn of_statement(&self, action: Action) -> Field {
        let Some(at) = self.shared.current.statement() else { return Field::Null };
        match action {
            Action::PlanHandle => {
                let [_, plan] = crate::views::program_handles(&at.program);
                plan.as_bytes().map_or(Field::Null, |bytes| Field::Bytes(bytes.to_vec()))
            }
            Action::QueryHash => at.query_hash().into(),
            Action::QueryHashSigned => at.query_hash().cast_signed().into(),
            Action::QueryPlanHash => at.plan_hash().into(),
            Action::QueryPlanHashSigned => at.plan_hash().cast_signed().into(),
            _ => {
                let [sql, _] = crate::views::program_handles(&at.program);
                let handle = super::predicate::hex(sql.as_bytes().unwrap_or_default());
                let (from, to) = at.offsets();
                let frame = format!(
                    "<frame level='1' handle='{handle}' line='{}' offsetStart='{from}' offsetEnd='{to}'/>",
                    at.line
                );
                let stack = action == Action::TsqlStack;
                if stack { format!("<frames>{frame}</frames>").into() } else { frame.into() }
            }
        }
    }
}
