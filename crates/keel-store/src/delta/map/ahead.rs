//! [`Search`]: several keys looked for at once.
//!
//! A descent waits for memory at every node, and for the entry at its end; the processor has nothing else to do
//! meanwhile. Who knows what comes next (redo does) lets the searches for the next keys take turns instead: each
//! [step](Search::step) reads what an earlier one has asked the cache for, asks for the next, and lets the others go on.
//!
//! What a search finds is a [`Place`], a hint: whoever uses it validates it again, and descends anew when it is stale.

use crossbeam_epoch::Guard;

use super::node::{Attempt, Node, Restart, SearchKey};
use super::{Map, descend_later};
use crate::delta::entry::Entry;
use crate::delta::prefetch;

/// Where a key is or belongs, as of some moment under the guard.
#[derive(Clone, Copy)]
pub(crate) enum Place<'g> {
    /// Not known.
    Unknown,
    /// In this leaf, which had no entry for it at this version.
    Leaf(LeafAt<'g>),
    /// Its entry; it may be dead by now.
    Entry(&'g Entry),
}

/// A leaf at a version of it.
#[derive(Clone, Copy)]
pub(crate) struct LeafAt<'g> {
    pub(super) node: &'g Node,
    pub(super) version: u64,
}

enum Stage<'g> {
    /// A child was asked for, of a node at this version.
    Toward {
        node: &'g Node,
        version: u64,
        child: &'g Node,
    },
    /// The entry was asked for.
    Found(&'g Entry),
    Over(Place<'g>),
}

/// A search under way.
pub(crate) struct Search<'k, 'g> {
    key: SearchKey<'k>,
    stage: Stage<'g>,
}

impl<'k, 'g> Search<'k, 'g> {
    /// Begins at the root, which is seldom far.
    pub(super) fn new(map: &Map, key: &'k [u8], guard: &'g Guard) -> Search<'k, 'g> {
        let key = SearchKey::new(key);
        let stage = map.enter(guard).and_then(|(root, version)| look(&key, root, version, guard));
        Search { key, stage: stage.unwrap_or(Stage::Over(Place::Unknown)) }
    }

    /// One step; false when there is none left. In doubt the search ends with nothing known.
    pub(crate) fn step(&mut self, guard: &'g Guard) -> bool {
        let next = match self.stage {
            Stage::Over(_) => return false,
            Stage::Found(entry) => {
                entry.prefetch_head();
                Ok(Stage::Over(Place::Entry(entry)))
            }
            Stage::Toward { node, version, child } => {
                arrive(node, version, child).and_then(|version| look(&self.key, child, version, guard))
            }
        };
        self.stage = next.unwrap_or(Stage::Over(Place::Unknown));
        true
    }

    /// What was found.
    pub(crate) fn place(&self) -> Place<'g> {
        match self.stage {
            Stage::Over(place) => place,
            Stage::Found(entry) => Place::Entry(entry),
            Stage::Toward { .. } => Place::Unknown,
        }
    }
}

/// The child's version, both as of one moment.
fn arrive(node: &Node, version: u64, child: &Node) -> Attempt<u64> {
    let child_version = child.read_version()?;
    node.validate(version)?;
    Ok(child_version)
}

fn look<'g>(key: &SearchKey<'_>, node: &'g Node, version: u64, guard: &'g Guard) -> Attempt<Stage<'g>> {
    if !node.is_leaf() {
        let child = descend_later(node, version, node.upper_bound(key), guard)?;
        return Ok(Stage::Toward { node, version, child });
    }
    let (index, found) = node.lower_bound(key);
    let entry = if found { node.key(index) } else { std::ptr::null_mut() };
    node.validate(version)?;
    // SAFETY: in the tree when validated, so freed after the guard.
    match unsafe { entry.as_ref() } {
        Some(entry) => {
            prefetch(entry);
            Ok(Stage::Found(entry))
        }
        None if found => Err(Restart),
        None => Ok(Stage::Over(Place::Leaf(LeafAt { node, version }))),
    }
}
