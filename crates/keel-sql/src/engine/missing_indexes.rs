//! Indexes that plans lacked, since the instance started: `sys.dm_db_missing_index_…`.
//!
//! Whoever compiles a statement notes what its plan lacks ([`keel_query::plan::missing`]), and whoever executes it that it did. What was
//! noted of a table is forgotten when the table is defined otherwise, for then the index may be there. As in the product, no more are
//! noted than [`GROUPS_MAX`].

use super::Engine;
use crate::program::{Program, Unit};
use keel_base::DatabaseId;
use keel_query::catalog::{Catalog as _, ObjectId, TableDef};
use keel_query::plan::MissingIndex;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Indexes that are remembered: the product's number.
const GROUPS_MAX: usize = 600;
/// Statements that are told apart of each.
const QUERIES_MAX: usize = 50;

/// The executions that lacked an index.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lacked {
    /// How many.
    pub seeks: u64,
    /// When the last ended, local ticks.
    pub last: i64,
    /// Sum of what their plans cost, in the product's units.
    cost: f64,
    /// Sum of the part of it that the index would save, in a hundred.
    impact: f64,
}

impl Lacked {
    fn add(&mut self, index: &MissingIndex, now: i64) {
        self.seeks += 1;
        self.last = now;
        self.cost += index.cost;
        self.impact += index.impact;
    }

    /// What a plan costs on average, and what of it the index would save, in a hundred.
    #[must_use]
    pub fn averages(&self) -> (f64, f64) {
        let count = self.seeks.max(1) as f64;
        (self.cost / count, self.impact / count)
    }
}

/// A statement that lacked an index.
#[derive(Clone, Debug)]
pub struct Query {
    /// What ran last, with the place of the statement in it, bytes.
    pub last: (Weak<Program>, (u32, u32)),
    /// `query_plan_hash`.
    pub plan_hash: u64,
    /// Its executions.
    pub lacked: Lacked,
}

/// An index that is not there.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its number.
    pub handle: i32,
    /// What it is.
    pub index: MissingIndex,
    /// Plans that lacked it.
    pub compiles: u64,
    /// Executions that lacked it.
    pub lacked: Lacked,
    /// Those of the first so many statements, by `query_hash`.
    pub queries: HashMap<u64, Query>,
}

/// What tells indexes of a table apart.
type Columns = (Vec<i32>, Vec<i32>, Vec<i32>);

/// What was noted of a table.
struct OfTable {
    table: Arc<TableDef>,
    groups: HashMap<Columns, Group>,
}

#[derive(Default)]
struct Noted {
    last_handle: i32,
    count: usize,
    tables: HashMap<(DatabaseId, ObjectId), OfTable>,
}

/// All that was noted.
#[derive(Default)]
pub struct MissingIndexes(Mutex<Noted>);

impl Noted {
    /// What is noted of an index; `None` when nothing more is.
    fn group(&mut self, index: &MissingIndex) -> Option<&mut Group> {
        let table = &index.table;
        let key = (table.database, table.object_id);
        let of = self
            .tables
            .entry(key)
            .or_insert_with(|| OfTable { table: Arc::clone(table), groups: HashMap::new() });
        if !Arc::ptr_eq(&of.table, table) {
            self.count -= of.groups.len();
            *of = OfTable { table: Arc::clone(table), groups: HashMap::new() };
        }
        let columns = (index.equality.clone(), index.inequality.clone(), index.included.clone());
        if !of.groups.contains_key(&columns) {
            if self.count >= GROUPS_MAX {
                return None;
            }
            self.count += 1;
            self.last_handle += 1;
        }
        let handle = self.last_handle;
        let new = || Group {
            handle,
            index: index.clone(),
            compiles: 0,
            lacked: Lacked::default(),
            queries: HashMap::new(),
        };
        Some(of.groups.entry(columns).or_insert_with(new))
    }
}

impl Engine {
    /// A plan was made that lacks these.
    pub(crate) fn note_missing(&self, missing: &[MissingIndex]) {
        if missing.is_empty() {
            return;
        }
        self.forget_old_indexes();
        let mut noted = self.missing_indexes.0.lock();
        for index in missing {
            if let Some(group) = noted.group(index) {
                group.compiles += 1;
            }
        }
    }

    /// A plan was executed that lacks these.
    #[cold]
    pub(crate) fn note_lacked(
        &self,
        missing: &[MissingIndex],
        program: &Arc<Program>,
        unit: &Unit,
        plan_hash: impl Fn() -> u64,
    ) {
        let (span, hash) = (unit.span(), unit.query_hash(program));
        let now = self.now_local();
        let mut noted = self.missing_indexes.0.lock();
        for index in missing {
            let Some(group) = noted.group(index) else { continue };
            group.lacked.add(index, now);
            let is_new = !group.queries.contains_key(&hash);
            if is_new && group.queries.len() >= QUERIES_MAX {
                continue;
            }
            let new =
                || Query { last: (Weak::new(), span), plan_hash: plan_hash(), lacked: Lacked::default() };
            let query = group.queries.entry(hash).or_insert_with(new);
            query.last = (Arc::downgrade(program), span);
            query.lacked.add(index, now);
        }
    }

    /// What is noted of tables that are as they were, by number.
    pub(crate) fn missing_indexes(&self) -> Vec<Group> {
        self.forget_old_indexes();
        let noted = self.missing_indexes.0.lock();
        let mut all: Vec<Group> = noted.tables.values().flat_map(|of| of.groups.values().cloned()).collect();
        all.sort_by_key(|group| group.handle);
        all
    }

    /// Forgets what was noted of tables that are gone or have become others.
    fn forget_old_indexes(&self) {
        let mut noted = self.missing_indexes.0.lock();
        let Noted { count, tables, .. } = &mut *noted;
        tables.retain(|(database, object), of| {
            let entry = self.database_by_id(*database);
            let now = entry.and_then(|entry| entry.picture().table_by_id(*object));
            let is_same = now.is_some_and(|now| Arc::ptr_eq(&now, &of.table));
            if !is_same {
                *count -= of.groups.len();
            }
            is_same
        });
    }
}
