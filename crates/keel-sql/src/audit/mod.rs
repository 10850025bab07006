//! Audits: who did what, in files that the server reads back to those who may.
//!
//! ```text
//!   what happens ── any audit on? ──no──► goes on (one load)
//!        │ yes
//!        ▼
//!   Happening ──► specifications that are on: the server's (master), the database's (its catalog)
//!        │          by group, or by action, object and principal
//!        ▼
//!   Record ──► each audit they name, if its WHERE lets it in ──► its file, before what happens goes on
//!                                                                 └─ cannot be written: ON_FAILURE
//! ```
//!
//! | module | owns |
//! | --- | --- |
//! | [`catalog`] | groups, actions and classes |
//! | [`definition`] | audits and specifications as they are kept |
//! | [`record`] | what is recorded, and its form in files |
//! | [`running`] | an audit that runs, and its target |
//! | `kept` | audits and server specifications in master, started and stopped |
//! | [`tell`] | where sessions tell what happens |
//! | `change` | which actions a statement is that defines or administers |
//! | `call` | which actions a call of a system procedure is |
//! | [`errors`] | what can be wrong with audits |
//!
//! A database specification is a part of its database: a copy of it audits by the audit of its own instance that has the same GUID, and
//! does nothing where there is none. Compiled statements carry the permissions they use whether or not somebody audits them, so a plan
//! that is older than an audit is audited like any other.
//!
//! Permission is what is audited, as in the product: a record is made when it has been checked, before the statement runs; `succeeded`
//! says how the check went. Statements of who is no member of sysadmin that define or administer check as they go; their record is made
//! when they have ended, inside their transaction where they have one.

mod call;
pub mod catalog;
mod change;
pub mod definition;
pub mod errors;
mod kept;
pub mod record;
pub mod running;
pub mod tell;

use crate::engine::DatabaseEntry;
use definition::{Guid, SpecificationDef};
use parking_lot::{Mutex, RwLock};
use record::Happening;
use running::Running;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The audits of an instance that run, and its server specifications.
#[derive(Default)]
pub struct Audits {
    /// Some audit runs.
    any: AtomicBool,
    running: RwLock<Vec<Arc<Running>>>,
    /// Those that are on.
    specifications: RwLock<Arc<Vec<SpecificationDef>>>,
    /// Held while an audit or a specification of the server is defined, started or stopped. Taken before all else here.
    pub(crate) admin: Mutex<()>,
}

impl Audits {
    /// Whether any audit runs. Asked wherever something could be audited: one relaxed load.
    #[must_use]
    #[inline]
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// All that run, by number.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Running>> {
        self.running.read().clone()
    }

    /// The one with that GUID, if it runs.
    #[must_use]
    pub fn running(&self, guid: &Guid) -> Option<Arc<Running>> {
        self.running.read().iter().find(|r| r.definition.guid == *guid).cloned()
    }

    /// Puts an audit among those that run.
    pub fn start(&self, audit: Arc<Running>) {
        let mut running = self.running.write();
        running.retain(|r| r.definition.id != audit.definition.id);
        running.push(audit);
        running.sort_by_key(|r| r.definition.id);
        self.any.store(true, Ordering::Relaxed);
    }

    /// Ends one, and gives it; `None` when it does not run.
    pub fn stop(&self, id: i32) -> Option<Arc<Running>> {
        let mut running = self.running.write();
        let at = running.iter().position(|r| r.definition.id == id)?;
        let stopped = running.remove(at);
        self.any.store(!running.is_empty(), Ordering::Relaxed);
        Some(stopped)
    }

    /// From now on these are the specifications of the server that are on.
    pub fn specify(&self, specifications: Vec<SpecificationDef>) {
        *self.specifications.write() = Arc::new(specifications);
    }

    /// The audits that take what happens, in a database, to who belongs to these principals of it.
    #[must_use]
    pub fn takers(
        &self,
        h: &Happening,
        entry: Option<&DatabaseEntry>,
        principals: impl Fn() -> Vec<i32>,
    ) -> Vec<Arc<Running>> {
        let of_server = Arc::clone(&*self.specifications.read());
        let picture = entry.map(DatabaseEntry::picture);
        let by_action = |s: &SpecificationDef| {
            h.object.is_some_and(|object| s.has_action(h.action, object, &principals()))
        };
        let takes = |audit: &Arc<Running>| {
            let guid = audit.definition.guid;
            let of_database = || {
                let mut all = picture.iter().flat_map(|p| p.audit_specifications());
                all.any(|s| s.on && s.audit == guid && (s.has_any(h.groups) || by_action(s)))
            };
            of_server.iter().any(|s| s.audit == guid && s.has_any(h.groups)) || of_database()
        };
        self.running.read().iter().filter(|audit| takes(audit)).cloned().collect()
    }
}
