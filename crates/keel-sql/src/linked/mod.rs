//! Linked servers: other servers' tables, queries and procedures by a name of this one's.
//!
//! ```text
//!   sp_addlinkedserver … ──► rows of master ([`definition`])
//!   srv.db.schema.table ──► binder ──► [`table`] ──► text of a query ─┐
//!   OPENQUERY, OPENROWSET ───────────────────────────────────────────┤
//!   INSERT, UPDATE, DELETE of them ──► [`change`] ───────────────────┼──► [`links`] ──► [`Link`] ──► the other server
//!   EXEC srv.db.schema.proc, EXEC ('…') AT srv ──► [`call`] ─────────┘         │
//!   COMMIT ──► [`branch`]: two phases ─────────────────────────────────────────┘
//! ```
//!
//! A session keeps the connections that it has opened, each for one server, login and database, and asks them one thing at a time. How bytes
//! travel is the host's business ([`link::Connector`], set by [`crate::Engine::set_connector`]). What is sent to another server instead of being computed here is
//! decided by the planner (`keel_query::plan::remote`).
//!
//! Invariants: a password is in clear only in a [`link::Target`] on its way to the connector; a change inside an open transaction is a branch of
//! it (`branch`) or is not made.

pub(crate) mod bind;
pub(crate) mod branch;
pub mod call;
pub mod change;
pub mod columns;
pub mod definition;
pub(crate) mod errors;
pub mod link;
pub mod links;
pub mod provider;
mod settle;
pub mod table;

pub use definition::{LinkedLogin, LinkedServer};
pub use link::{Broken, Connector, Encrypt, Failed, Link, Refused, Reply, Request, Target, Wait};
pub use links::Links;

use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What an instance knows of other servers.
#[derive(Default)]
pub struct Linked {
    connector: OnceLock<Arc<dyn Connector>>,
    /// Held while a definition changes.
    changing: Mutex<()>,
    /// All definitions; `None` before they are asked for, and when one has changed.
    known: RwLock<Option<Arc<Vec<LinkedServer>>>>,
    /// Counts changes of definitions, and times when another server was found to be otherwise than it was known: what was compiled before is
    /// compiled again.
    version: AtomicU64,
    /// Branches that could not be told what was decided, as the error log says once of each.
    unheard: Mutex<std::collections::HashSet<i32>>,
    /// What is known of tables and queries of other servers.
    shapes: columns::Shapes,
}

impl Linked {
    /// How often what is known of other servers has changed.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether what was compiled then, when that was the version, is good still.
    pub(crate) fn is_current(&self, (version, at): (u64, std::time::Instant)) -> bool {
        version == self.version() && at.elapsed() < columns::SHAPE_LIFE
    }

    /// What was known of tables of other servers is not so any more.
    pub(crate) fn forget_shapes(&self) {
        self.shapes.clear();
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

impl crate::Engine {
    /// Who opens connections to other servers; set once, by the host.
    pub fn set_connector(&self, connector: Arc<dyn Connector>) {
        // A second one would be the same.
        let _ = self.linked.connector.set(connector);
    }

    /// What is known of other servers.
    #[must_use]
    pub fn linked(&self) -> &Linked {
        &self.linked
    }
}
