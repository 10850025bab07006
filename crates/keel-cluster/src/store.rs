//! The store: what the instances of one cluster agree on by vote.
//!
//! ```text
//!   Group ── Write { from, config } ──► Replicator (raft) ──► a majority has it ──► Contents::apply on every member
//!                                            │                                            │
//!                                            └─ PersistStore … StorePersisted             └─► the group takes it over
//! ```
//! One store per cluster, whatever the number of groups. Its members are instances and witnesses; each has a vote or has
//! not (`cluster` decides who). It keeps the members and, for each group of the cluster, the one configuration
//! that counts.
//!
//! ## Writes are conditional
//! A write names the [`Stamp`](crate::Stamp) it was made from and takes effect only where that is what is stored. So of two
//! replicas that claim the same role one wins, and a primary that was overtaken cannot take anybody out of a set any more.
//! Whether a write took effect is not answered: whoever proposed it looks at what is stored, and proposes again while that
//! has not changed. A proposal that comes twice, late, or not at all therefore does no harm.
//!
//! ## Generations
//! An operator may force a quorum where most votes are gone for good. That begins a new **generation** of the store with one
//! vote, out of what this member has. Members of an older generation give up what they have when they meet a newer one. The
//! generation is the upper part of every epoch begun in it, so whatever was configured on another side is older.
//!
//! ## Invariants
//! 1. Nothing is sent that rests on something that is not on disk: messages wait for the [`StoreRecord`] they came with.
//! 2. A member whose record was lost comes back under a new number; the old one never votes again. So does one whose record is found to
//!    be older than what it has acknowledged (its disk is a copy of before); from a leader of that kind nothing is taken. Who has the
//!    only vote asks the others before it elects itself.
//! 3. Who votes is on a member's disk as soon as it knows that it is agreed, not with whatever is written next.
//! 4. Members that have applied the same entries hold the same [`Contents`]; `Contents::digest` chains over all of them.

mod contents;
mod replicator;

pub(crate) use contents::Change;
pub use contents::{Contents, StoreMember};
pub(crate) use replicator::{Forgotten, Output, Replicator, Vote};

use crate::ids::ClusterId;
use serde::{Deserialize, Serialize};

/// What a member keeps of the store on disk: read at start, written whole and atomically by
/// [`crate::Action::PersistStore`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreRecord {
    pub(crate) cluster: ClusterId,
    pub(crate) generation: u64,
    /// This member's number in the votes.
    pub(crate) raft: u64,
    /// Term, vote and commit position, as the protocol encodes them.
    pub(crate) hard: Vec<u8>,
    /// The contents up to a position, and who voted then.
    pub(crate) snapshot: Vec<u8>,
    /// What came after it.
    pub(crate) entries: Vec<Vec<u8>>,
}

impl StoreRecord {
    /// Bytes for the file (postcard); the caller adds length, version and checksum.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self)
            .expect("writing to a vector cannot fail and every type here has a fixed shape")
    }

    /// Reads what [`StoreRecord::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are not such a record.
    pub fn decode(bytes: &[u8]) -> Result<StoreRecord, crate::DecodeError> {
        postcard::from_bytes(bytes).map_err(|source| crate::DecodeError::new("store record", source))
    }
}

/// What members of the store say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoreMsg {
    /// You shall be a member: say under which number.
    Enlist {
        /// The cluster.
        cluster: ClusterId,
        /// Its generation.
        generation: u64,
    },
    /// Under this number; `None`: no, the receiver of the offer is in another cluster.
    Enlisted {
        /// The cluster asked for.
        cluster: ClusterId,
        /// Its generation.
        generation: u64,
        /// The number.
        raft: Option<u64>,
    },
    /// A message of the protocol.
    Raft {
        /// The cluster.
        cluster: ClusterId,
        /// Its generation.
        generation: u64,
        /// The message, as the protocol encodes it.
        message: Vec<u8>,
    },
    /// You are no member (any more).
    Dismissed {
        /// Of this cluster.
        cluster: ClusterId,
        /// As of this generation.
        generation: u64,
    },
}
