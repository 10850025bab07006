//! Application locks (`sp_getapplock`, `APPLOCK_MODE`): names that applications agree on, in the instance's lock manager.
//!
//! A resource is a database, a principal of it, and a name of at most 255 characters, compared byte by byte. All of a
//! session's application locks have one owner in the lock manager, so that a session is never in its own way; which of
//! them end with the transaction is remembered here, asking by asking. Waits, time-outs, cancelling and deadlocks are the
//! lock manager's: a session that waits for a row and one that waits for an application lock find each other.

use super::info::Info;
use crate::engine::SessionShared;
use crate::errors;
use keel_store::lock::{LockError, LockOwner, Mode, OwnedResource, OwnerContext, Resource, Wait};
use keel_types::error::Result;
use std::cell::OnceCell;
use std::sync::Arc;

/// Longer names are cut.
const NAME_CHARACTERS: usize = 255;

/// Who gives a lock back: `@LockOwner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// COMMIT or ROLLBACK.
    Transaction,
    /// `sp_releaseapplock` or the end of the connection.
    Session,
}

/// One asking that was granted and not yet taken back.
#[derive(Clone, Debug)]
pub struct Held {
    /// What is locked.
    pub resource: OwnedResource,
    /// How.
    pub mode: Mode,
    /// Who gives it back.
    pub owner: Owner,
}

/// The procedure or function that is told wrong things, for its errors.
#[derive(Clone, Copy)]
pub struct Caller(pub &'static str);

impl Caller {
    /// `@LockMode`.
    pub fn mode(self, word: &str) -> Result<Mode> {
        let named = |(name, _): &&(&str, Mode)| name.eq_ignore_ascii_case(word);
        MODES.iter().find(named).map(|(_, mode)| *mode).ok_or_else(|| errors::application_lock_mode(self.0))
    }

    /// `@LockOwner`.
    pub fn owner(self, word: &str) -> Result<Owner> {
        match word {
            _ if word.eq_ignore_ascii_case("transaction") => Ok(Owner::Transaction),
            _ if word.eq_ignore_ascii_case("session") => Ok(Owner::Session),
            _ => Err(errors::application_lock_owner(self.0)),
        }
    }

    /// What is locked by a name in the current database. The principal must be the caller or a role of his.
    pub fn resource(self, info: &Info, principal: &str, name: &str) -> Result<OwnedResource> {
        let database = info.current_database();
        let known = info.picture(&database).principal_named(principal).map(|p| p.principal_id);
        let mine = known.filter(|id| {
            info.unrestricted.get() || info.token_in(&database).is_some_and(|token| token.is(*id))
        });
        let principal = mine.ok_or_else(|| errors::application_lock_principal(self.0))?;
        if name.is_empty() {
            return Err(errors::application_lock_resource(self.0));
        }
        let end = name.char_indices().nth(NAME_CHARACTERS).map_or(name.len(), |(at, _)| at);
        let bytes = &name.as_bytes()[..end];
        Ok(Resource::Application(database.id, principal.cast_unsigned(), bytes).to_owned())
    }
}

const MODES: [(&str, Mode); 5] = [
    ("Shared", Mode::S),
    ("Update", Mode::U),
    ("IntentShared", Mode::IS),
    ("IntentExclusive", Mode::IX),
    ("Exclusive", Mode::X),
];

/// The owner of a session's application locks, made by the first of them.
#[derive(Default)]
pub struct AppLocks(OnceCell<LockOwner>);

impl Info {
    fn app_lock_owner(&self) -> &LockOwner {
        let owner = self.app_locks.0.get_or_init(|| {
            let context = Arc::clone(&self.shared) as Arc<dyn OwnerContext>;
            let cancel = Arc::clone(&self.shared.cancel);
            LockOwner::new(self.engine.instance().locks(), self.shared.id.into(), context, cancel)
        });
        owner.set_deadlock_priority(self.options.borrow().deadlock_priority.into());
        owner
    }

    /// Takes a lock, once more if it is held.
    pub fn take_app_lock(
        &self,
        resource: OwnedResource,
        mode: Mode,
        owner: Owner,
        wait: Wait,
    ) -> std::result::Result<(), LockError> {
        self.app_lock_owner().lock(&resource.as_ref(), mode, wait)?;
        self.shared.app_locks.lock().push(Held { resource, mode, owner });
        Ok(())
    }

    /// Takes back the last asking; false when there was none.
    pub fn release_app_lock(&self, resource: &OwnedResource, owner: Owner) -> bool {
        let mut held = self.shared.app_locks.lock();
        let Some(at) = held.iter().rposition(|h| h.owner == owner && h.resource == *resource) else {
            return false;
        };
        held.remove(at);
        drop(held);
        self.app_lock_owner().unlock(&resource.as_ref());
        true
    }

    /// Whether the transaction has any.
    pub fn holds_transaction_app_locks(&self) -> bool {
        self.shared.app_locks.lock().iter().any(|held| held.owner == Owner::Transaction)
    }

    /// The transaction is over: its locks end.
    pub fn end_transaction_app_locks(&self) {
        let mut ended = Vec::new();
        self.shared.app_locks.lock().retain(|held| {
            let ends = held.owner == Owner::Transaction;
            if ends {
                ended.push(held.resource.clone());
            }
            !ends
        });
        for resource in ended {
            self.app_lock_owner().unlock(&resource.as_ref());
        }
    }

    /// Gives all of them back: the connection is reset.
    pub fn release_all_app_locks(&self) {
        self.shared.app_locks.lock().clear();
        if let Some(owner) = self.app_locks.0.get() {
            owner.release_all();
        }
    }

    /// Whether a lock would be granted now, to this session.
    pub fn would_get_app_lock(&self, resource: &OwnedResource, mode: Mode) -> bool {
        let own = u64::from(self.shared.id);
        let locks = self.engine.instance().locks().locks();
        let mut others = locks.iter().filter(|lock| lock.agent != own && lock.resource == *resource);
        others.all(|lock| mode.compatible(lock.mode))
    }
}

impl SessionShared {
    /// `APPLOCK_MODE`: what all askings amount to.
    pub fn app_lock_mode(&self, resource: &OwnedResource, owner: Owner) -> &'static str {
        let held = self.app_locks.lock();
        let modes = held.iter().filter(|h| h.owner == owner && h.resource == *resource).map(|h| h.mode);
        let all: Vec<Mode> = modes.collect();
        let together = all.iter().copied().reduce(Mode::join);
        match together {
            None => "NoLock",
            Some(Mode::SIX) if all.contains(&Mode::U) => "*UpdateIntentExclusive",
            Some(Mode::SIX) => "*SharedIntentExclusive",
            Some(mode) => MODES.iter().find(|(_, m)| *m == mode).map_or("NoLock", |(name, _)| name),
        }
    }

    /// Whether a session, not a transaction, holds an application lock (`dm_tran_locks.request_owner_type`).
    pub fn holds_app_lock_as_session(&self, resource: &OwnedResource) -> bool {
        self.app_locks.lock().iter().any(|h| h.owner == Owner::Session && h.resource == *resource)
    }
}
