//! Transactions that somebody else decides about.
//!
//! ```text
//!   several databases of this instance      a branch of a client's transaction manager (XA)
//!     the first one's log decides             the transaction manager decides
//!                   └───────────► prepared in each database ◄──────────┘
//!                                         │ the process dies, the replica fails over
//!                                         ▼
//!                       in doubt: rows locked, until who decides is heard, or KILL 'uow' WITH …
//! ```
//!
//! A database's log calls a prepared transaction by a [`Name`]: its unit of work (a guid, the product's UOW), and who decides. Nothing else
//! is kept of it: whoever wants to know what is in doubt asks the databases ([`Engine::in_doubt`]). [`decision`] has what decides about
//! transactions over several databases, and who asks it; [`branch`] the branches that are not prepared yet.

pub mod branch;
pub mod decision;
pub(crate) mod errors;

use crate::engine::{DatabaseEntry, Engine, TEMPDB};
use crate::map::txn_error;
use hashbrown::{HashMap, HashSet};
use keel_base::DatabaseId;
use keel_node::{InDoubt, Role};
use keel_types::error::Result;
use keel_types::{SqlType, Value};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A unit of work: what the product's views and KILL call a distributed transaction.
pub type Uow = [u8; 16];

/// A transaction branch as the X/Open specification names it: format and two parts of at most 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Xid {
    /// Who made it; -1 says that it is nobody's.
    pub format: i32,
    /// Of the whole transaction.
    pub global: Vec<u8>,
    /// Of this branch.
    pub branch: Vec<u8>,
}

/// Bytes of each part of an [`Xid`], at most.
pub const XID_PART_BYTES_MAX: usize = 64;

/// Who decides what becomes of a prepared transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decider {
    /// The log of the database with this family, which all its copies have.
    Database([u8; 16]),
    /// A transaction manager, who calls its branch so.
    Manager(Xid),
}

/// What a database's log calls a prepared transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// Its unit of work.
    pub uow: Uow,
    /// Who decides.
    pub decider: Decider,
}

impl Name {
    /// As it stands in the log.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain structures become JSON")
    }

    fn decode(bytes: &[u8]) -> Option<Name> {
        serde_json::from_slice(bytes).ok()
    }
}

/// A unit of work as the product writes it.
#[must_use]
pub fn uow_text(uow: &Uow) -> String {
    crate::convert::display(&Value::Guid(*uow))
}

/// The unit of work that a text means; `None` when it means none.
#[must_use]
pub fn uow_of(text: &str) -> Option<Uow> {
    let text = Value::str(text.trim().trim_start_matches('{').trim_end_matches('}'));
    let from = SqlType::VarChar(keel_types::Length::Max);
    match keel_types::cast::convert(&text, from, SqlType::UniqueIdentifier) {
        Ok(Value::Guid(uow)) => Some(uow),
        _ => None,
    }
}

/// Transactions that are not all in the logs.
#[derive(Default)]
pub struct Distributed {
    /// Those over several databases whose session is just deciding.
    deciding: Mutex<HashSet<Uow>>,
    /// Branches that are not prepared.
    branches: Mutex<HashMap<Xid, Arc<branch::Branch>>>,
    /// The stretch of time as writer in which old decisions of a database were last looked through.
    swept: Mutex<HashMap<DatabaseId, u64>>,
}

/// A transaction in doubt, in one database.
#[derive(Clone)]
pub struct Doubt {
    /// The database.
    pub entry: Arc<DatabaseEntry>,
    /// What its log calls it.
    pub name: Name,
    /// What the database knows of it.
    pub info: InDoubt,
}

impl Doubt {
    /// Those in a database, when it can be written here.
    pub(crate) fn all_of(entry: &Arc<DatabaseEntry>) -> Vec<Doubt> {
        if entry.id == TEMPDB || !matches!(entry.store.role(), Role::Standalone | Role::Primary) {
            return Vec::new();
        }
        // What is written by others is theirs to decide.
        let named = |info: InDoubt| {
            Name::decode(&info.name).map(|name| Doubt { entry: Arc::clone(entry), name, info })
        };
        entry.store.in_doubt().into_iter().filter_map(named).collect()
    }

    /// Decides. The next who asks sees it decided; durable when this returns.
    ///
    /// # Errors
    /// Those of writing the database's log: it is in doubt as before.
    pub fn decide(&self, commit: bool) -> Result<()> {
        let store = &self.entry.store;
        let stream = self.info.stream;
        let decided = if commit { store.commit_prepared(stream) } else { store.rollback_prepared(stream) };
        let fail = |e| txn_error(e, &self.entry.name(), 0);
        // Who has come first has decided the same, or is told by its own caller.
        let Some(decided) = decided.map_err(fail)? else { return Ok(()) };
        decided.wait().map_err(fail)
    }
}

impl Engine {
    /// Every transaction that is in doubt in a database that can be written here.
    #[must_use]
    pub fn in_doubt(&self) -> Vec<Doubt> {
        self.databases().iter().flat_map(Doubt::all_of).collect()
    }

    /// A unit of work that no other transaction has.
    #[must_use]
    pub fn new_uow(&self) -> Uow {
        let mut uow = [0; 16];
        self.options().env.random.fill(&mut uow);
        uow
    }

    /// `KILL 'uow'`, with what it is to become when it is prepared.
    ///
    /// # Errors
    /// The product's: 6110 when there is none, 6113 and 6118 when the other form is the right one, 6117 when a session works in it.
    pub fn kill_uow(&self, uow: &Uow, commit: Option<bool>) -> Result<()> {
        let text = uow_text(uow);
        let doubts: Vec<Doubt> = self.in_doubt().into_iter().filter(|d| d.name.uow == *uow).collect();
        if doubts.is_empty() {
            if commit.is_some() && !self.is_deciding(uow) && self.give_up_pending_branches(uow)? {
                return Ok(());
            }
            return self.kill_branch(uow, commit);
        }
        if self.is_deciding(uow) {
            return Err(errors::uow_in_use(text));
        }
        let Some(commit) = commit else { return Err(errors::uow_prepared(text)) };
        doubts.iter().try_for_each(|doubt| doubt.decide(commit))
    }

    fn kill_branch(&self, uow: &Uow, commit: Option<bool>) -> Result<()> {
        let text = uow_text(uow);
        let branch = self.branches().into_iter().find(|branch| branch.uow == *uow);
        let Some(branch) = branch else { return Err(errors::no_uow(text)) };
        if commit.is_some() {
            return Err(errors::uow_not_prepared(text));
        }
        if branch.holder().is_some() {
            return Err(errors::uow_has_session(text));
        }
        branch.give_up(self.now_utc());
        Ok(())
    }

    /// What can be decided is: transactions over several databases whose decider can be read here, and branches whose time is over. To be
    /// called about once a second; says in the error log what it did.
    pub fn settle_distributed(self: &Arc<Engine>) {
        self.resolve_in_doubt();
        self.end_late_branches();
    }
}
