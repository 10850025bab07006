//! Directions: what was decided on the way to a plan, so that the plan can be made again.
//!
//! Planning decides where it has a choice: how each table is read, in which order and how tables are joined, how groups that a hint
//! asks for are made, whether a part is computed once, and where several threads work. What was decided is noted by where that is; what was
//! decided for alternatives that were not taken is struck out again, so that at the end there is what made the plan, and nothing else.
//!
//! A statement that is compiled by directions decides as they say, whatever that costs. All else follows from the statement, the
//! tables and these decisions. Where a direction is about something that is not there any more, the planner decides by itself; whoever gave
//! directions compares the plan that he gets with the one that he wants.
//!
//! **Places.** A table is known by the number of its reference in the statement, and indexes are known by their names: other indexes and columns
//! of the table make no difference. A join is known by the tables and the nodes below it. System views, functions and rows of VALUES have no
//! numbers: they are known by where they are among the columns of the statement.

use super::Planner;
use crate::bind::rel::{Get, Rel};
use crate::bind::{Grouping, same_name};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// A node of a statement's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place(u64);

impl Place {
    /// That of the node above these.
    pub(crate) fn above(inputs: &[&Rel]) -> Place {
        // FNV: the same wherever and whenever it is computed.
        const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        Place(inputs.iter().fold(BASIS, |hash, rel| mixed(with_tables(rel, hash), u64::MAX)))
    }
}

fn mixed(hash: u64, n: u64) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    n.to_le_bytes().iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

fn with_tables(rel: &Rel, hash: u64) -> u64 {
    let own = match rel {
        Rel::Get(get) => u64::from(get.id) + 1,
        // They have no numbers.
        Rel::Virtual { first_slot, .. } => u64::from(*first_slot) << 32,
        Rel::Values { slots, .. } => u64::from(slots.first().copied().unwrap_or_default()) << 32,
        _ => 0,
    };
    rel.inputs().into_iter().fold(mixed(hash, own), |hash, input| with_tables(input, hash))
}

/// How one side of an inner join is joined to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum InnerWay {
    /// Read for each row of those.
    Loop,
    /// Its rows are put into a hash table.
    Built,
    /// Its rows are looked up in a hash table of those.
    Probed,
}

/// How a left, full, semi or anti join is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OuterWay {
    Loop,
    Hash,
    /// A semi join at the table that it is about, before the joins on its left.
    Early,
    /// A semi join from its right side.
    Reversed,
}

/// What was decided in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Direction {
    /// By which index a table is read; none is its heap.
    Read { table: u32, name: String, index: Option<String> },
    /// In which order the parts of inner joins, as they are written, are joined, and how each but the first is.
    Inner { at: Place, order: Vec<usize>, ways: Vec<InnerWay> },
    /// How another join is made.
    Outer { at: Place, way: OuterWay },
    /// Groups are made as a hint says, of rows in order if true, else by a hash table.
    Groups { at: Place, ordered: bool },
    /// Whether parts are computed once for several places.
    Shared { at: Place, shared: bool },
    /// Which of the places where several threads may work they do, in the order in which these are met.
    Gathers(Vec<usize>),
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directions(Vec<Direction>);

impl Directions {
    fn find<T>(&self, wanted: impl Fn(&Direction) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(wanted)
    }
}

/// Whether a plan was made by directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The planner decided by itself.
    Nothing,
    /// It was.
    Directions,
    /// It was, but an index that a direction names is not there, or is disabled.
    LostIndex,
}

/// What a statement is compiled by, and what has been decided for it so far.
#[derive(Default)]
pub(crate) struct Steering {
    told: Option<Arc<Directions>>,
    decided: Vec<Direction>,
    /// An index that a direction names is not there, or is disabled.
    lost_index: bool,
    /// Values may have had a say in how a table is read.
    pub(super) weighed: Cell<bool>,
}

impl Steering {
    /// By directions, or none.
    pub(crate) fn by(told: Option<Arc<Directions>>) -> Steering {
        Steering { told, ..Steering::default() }
    }

    /// What was decided.
    pub(crate) fn decided(&self) -> Directions {
        Directions(self.decided.clone())
    }

    /// Whether values may have had a say in how a table is read.
    pub(crate) fn weighed(&self) -> bool {
        self.weighed.get()
    }

    /// Whether it is compiled by directions.
    pub(crate) fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// What became of the directions.
    pub(crate) fn told_so(&self) -> Told {
        match (&self.told, self.lost_index) {
            (None, _) => Told::Nothing,
            (Some(_), true) => Told::LostIndex,
            (Some(_), false) => Told::Directions,
        }
    }
}

impl Planner<'_, '_> {
    /// How much has been decided.
    pub(super) fn decided(&self) -> usize {
        self.binder.steering.decided.len()
    }

    /// What was decided between two moments was for something that is not taken.
    pub(super) fn strike_out(&mut self, range: Range<usize>) {
        self.binder.steering.decided.drain(range);
    }

    fn decide(&mut self, direction: Direction) {
        self.binder.steering.decided.push(direction);
    }

    fn told<T>(&self, wanted: impl Fn(&Direction) -> Option<T>) -> Option<T> {
        self.binder.steering.told.as_ref().and_then(|told| told.find(wanted))
    }

    // ---- tables ----

    /// A table is read by this index of it.
    pub(super) fn decide_read(&mut self, get: &Get, index: usize) {
        let index = &get.table.indexes[index];
        let name = (index.index_id != 0).then(|| index.name.clone());
        self.decide(Direction::Read { table: get.id, name: get.table.name.clone(), index: name });
    }

    /// The index by which a table is to be read.
    pub(super) fn told_read(&self, get: &Get) -> Option<usize> {
        let index = self.told(|d| match d {
            Direction::Read { table, name, index }
                if *table == get.id && same_name(name, &get.table.name) =>
            {
                Some(index.clone())
            }
            _ => None,
        })?;
        get.table.indexes.iter().position(|i| match &index {
            None => i.index_id == 0,
            Some(name) => i.index_id != 0 && !i.disabled && same_name(name, &i.name),
        })
    }

    /// Looks whether the index that a direction names for a table is there.
    pub(super) fn check_told_read(&mut self, get: &Get) {
        let is_named = self.told(|d| match d {
            Direction::Read { table, name, .. } => {
                (*table == get.id && same_name(name, &get.table.name)).then_some(())
            }
            _ => None,
        });
        if is_named.is_some() && self.told_read(get).is_none() {
            self.binder.steering.lost_index = true;
        }
    }

    // ---- joins ----

    pub(super) fn decide_inner(&mut self, at: Place, order: Vec<usize>, ways: Vec<InnerWay>) {
        self.decide(Direction::Inner { at, order, ways });
    }

    /// The order of inner joins, with the way of each but the first.
    pub(super) fn told_inner(&self, at: Place) -> Option<(Vec<usize>, Vec<InnerWay>)> {
        self.told(|d| match d {
            Direction::Inner { at: there, order, ways } if *there == at => {
                Some((order.clone(), ways.clone()))
            }
            _ => None,
        })
    }

    /// A join is made in this way; what was decided for other ways, in the order of time, is struck out.
    pub(super) fn decide_outer(
        &mut self,
        at: Place,
        way: OuterWay,
        others: impl IntoIterator<Item = Range<usize>, IntoIter: DoubleEndedIterator>,
    ) {
        others.into_iter().rev().for_each(|other| self.strike_out(other));
        self.decide(Direction::Outer { at, way });
    }

    pub(super) fn told_outer(&self, at: Place) -> Option<OuterWay> {
        self.told(|d| match d {
            Direction::Outer { at: there, way } if *there == at => Some(*way),
            _ => None,
        })
    }

    // ---- groups, parts, threads ----

    /// How the groups above an input are to be made, where that is not left to the order of its rows.
    pub(super) fn grouping_above(&mut self, input: &Rel) -> Option<Grouping> {
        let asked = self.binder.asked.grouping;
        if asked.is_none() && !self.binder.steering.is_told() {
            return None;
        }
        let at = Place::above(&[input]);
        let told = self.told(|d| match d {
            Direction::Groups { at: there, ordered } if *there == at => Some(*ordered),
            _ => None,
        });
        let grouping = match told {
            Some(true) => Some(Grouping::Order),
            Some(false) => Some(Grouping::Hash),
            None if self.binder.steering.is_told() => None,
            None => asked,
        };
        if let Some(grouping) = grouping {
            self.decide(Direction::Groups { at, ordered: grouping == Grouping::Order });
        }
        grouping
    }

    pub(super) fn decide_shared(&mut self, at: Place, shared: bool) {
        self.decide(Direction::Shared { at, shared });
    }

    pub(super) fn told_shared(&self, at: Place) -> Option<bool> {
        self.told(|d| match d {
            Direction::Shared { at: there, shared } if *there == at => Some(*shared),
            _ => None,
        })
    }

    pub(super) fn decide_gathers(&mut self, places: Vec<usize>) {
        if !places.is_empty() {
            self.decide(Direction::Gathers(places));
        }
    }

    /// Where several threads are to work; `None` where the planner decides that.
    pub(super) fn told_gathers(&self) -> Option<Vec<usize>> {
        self.binder.steering.told.as_ref()?;
        let places = self.told(|d| match d {
            Direction::Gathers(places) => Some(places.clone()),
            _ => None,
        });
        Some(places.unwrap_or_default())
    }
}
