//! For whom a transaction works: a session, one after the other, or nobody; and how it waits.

use super::{Transaction, Wait};
use crate::locks::Agent;
use std::sync::Arc;
use std::time::Duration;

impl Transaction {
    /// Names the session it works for. Before the first lock; later it has no effect.
    pub fn set_agent(&mut self, agent: Agent) {
        self.agent = Some(agent);
    }

    /// From now on it works for another session.
    pub fn serve(&mut self, agent: Agent) {
        if let Some(owner) = self.owner.get() {
            owner.serve(agent.id, Arc::clone(&agent.context), Arc::clone(&agent.cancel));
        }
        self.agent = Some(agent);
    }

    /// From now on it works for no session, until it is given to one.
    pub fn serve_nobody(&mut self) {
        self.serve(Agent::anonymous(self.id));
    }

    /// The agent that its locks name.
    pub fn agent_id(&self) -> u64 {
        self.agent.as_ref().map_or_else(|| Agent::anonymous(self.id).id, |agent| agent.id)
    }

    /// How long to wait for locks; `None` = for ever (SET LOCK_TIMEOUT).
    pub fn set_lock_timeout(&mut self, timeout: Option<Duration>) {
        self.wait = timeout.map_or(Wait::Forever, Wait::AtMost);
    }

    /// How long it waits for locks now.
    pub fn lock_timeout(&self) -> Option<Duration> {
        match self.wait {
            Wait::Forever => None,
            Wait::AtMost(timeout) => Some(timeout),
        }
    }

    /// SET DEADLOCK_PRIORITY, -10..=10.
    pub fn set_deadlock_priority(&mut self, priority: i8) {
        self.deadlock_priority = i32::from(priority);
        if let Some(owner) = self.owner.get() {
            owner.set_deadlock_priority(self.deadlock_priority);
        }
    }
}
