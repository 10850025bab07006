//! A database's store in memory: numbers of what is stored, sums of the interval that runs, and rows that are yet to be written.

use super::identity::{Identity, directions, plan_hash_of, planned, text_key};
use super::record::{Slot, Sums};
use super::rows::{
    Compiles, ContextRow, DOCUMENT, DirectionsRow, ForcedRow, HintRow, IntervalRow, Key, PlanRow, QueryRow,
    RuntimeRow, Stored, TextRow, WaitRow, scan,
};
use super::{CaptureMode, CapturePolicy, DEFAULT_POLICY, Map, QueryStoreSettings};
use crate::engine::DatabaseEntry;
use keel_base::TreeId;
use keel_node::Commit;
use keel_types::error::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Queries that are not captured yet, and are counted; at the limit counting begins anew.
const CANDIDATES_MAX: usize = 4096;
const TICKS_PER_HOUR: i64 = 36_000_000_000;

/// Lives of memories, of all databases.
static LIVES: AtomicU64 = AtomicU64::new(1);

fn next_life() -> u64 {
    LIVES.fetch_add(1, Ordering::Relaxed)
}

/// A row that is yet to be written, or whose writing is not through.
struct Waiting {
    /// `None` of one that goes.
    bytes: Option<Arc<[u8]>>,
    /// Grows with each change.
    change: u64,
    written: bool,
}

/// A row that is to be written, or `None` for one that goes, and which change of it that is.
type Unwritten = (Key, Option<Arc<[u8]>>, u64);

/// What tells queries apart.
type QueryKey = (u64, u64, i32, u8);

/// A query that is not captured yet.
struct Candidate {
    since: i64,
    executions: u64,
    execution_ns: u64,
    compile_us: u64,
}

impl Candidate {
    fn meets(&self, policy: CapturePolicy) -> bool {
        let reaches = |n: u64, limit: i32| n >= u64::try_from(limit).unwrap_or(0);
        reaches(self.executions, policy.executions)
            || reaches(self.execution_ns / 1_000_000, policy.execution_ms)
            || reaches(self.compile_us / 1000, policy.compile_ms)
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Memory {
    loaded: bool,
    /// Changes when numbers that were found before may be of something else.
    life: u64,
    texts: Map<(u64, u64), u64>,
    contexts: Map<ContextRow, u64>,
    pub queries: BTreeMap<u64, QueryRow>,
    by_key: Map<QueryKey, u64>,
    pub plans: BTreeMap<u64, PlanRow>,
    by_shape: Map<(u64, u64), u64>,
    /// Queries with their plans.
    of_queries: BTreeSet<(u64, u64)>,
    /// Queries with hints.
    pub hints: BTreeMap<u64, (u64, HintRow)>,
    /// Queries with a plan that is forced.
    pub forced: BTreeMap<u64, (u64, ForcedRow)>,
    interval: Option<(u64, IntervalRow)>,
    /// Of the interval that runs: by plan and outcome, and with the category of waits.
    runtime: BTreeMap<(u64, u8), (u64, RuntimeRow)>,
    waits: BTreeMap<(u64, u8, u8), (u64, WaitRow)>,
    candidates: Map<((u64, u64), ContextRow, i32), Candidate>,
    /// The last number given, by kind.
    numbers: [u64; 16],
    /// Bytes of every row.
    sizes: BTreeMap<Key, u32>,
    bytes: u64,
    over: BTreeMap<Key, Waiting>,
    changes: u64,
    commits: Vec<(Commit, Vec<(Key, u64)>)>,
}

impl Memory {
    /// Reads what is stored in the tree that [`super::tree_of`] said, once.
    pub fn load(&mut self, entry: &DatabaseEntry, tree: Option<TreeId>) -> Result<()> {
        if self.loaded {
            return Ok(());
        }
        let Some(tree) = tree else {
            self.loaded = true;
            self.life = next_life();
            return Ok(());
        };
        let mut fresh = Memory { life: next_life(), ..Memory::default() };
        scan(entry, tree, None, |key, bytes| fresh.learn(key, bytes))?;
        fresh.forget_old_interval(0);
        fresh.loaded = true;
        *self = fresh;
        Ok(())
    }

    /// The store is off: nothing is known any more, once all is written.
    pub fn leave(&mut self) {
        self.settle();
        if self.loaded && self.over.is_empty() {
            *self = Memory::default();
        }
    }

    /// A row that is stored.
    fn learn(&mut self, key: Key, bytes: &[u8]) {
        let (kind, number) = key;
        self.resize(key, Some(bytes.len()));
        let place = usize::from(kind).min(self.numbers.len() - 1);
        self.numbers[place] = self.numbers[place].max(number);
        match kind {
            TextRow::KIND => {
                if let Some(row) = TextRow::decode(bytes) {
                    self.texts.insert(text_key(&row.text), number);
                }
            }
            ContextRow::KIND => {
                if let Some(row) = ContextRow::decode(bytes) {
                    self.contexts.insert(row, number);
                }
            }
            QueryRow::KIND => {
                if let Some(row) = QueryRow::decode(bytes) {
                    self.by_key.insert(query_key(&row), number);
                    self.queries.insert(number, row);
                }
            }
            PlanRow::KIND => {
                if let Some(row) = PlanRow::decode(bytes) {
                    self.by_shape.insert((row.query, row.hash), number);
                    self.of_queries.insert((row.query, number));
                    self.plans.insert(number, row);
                }
            }
            HintRow::KIND => {
                if let Some(row) = HintRow::decode(bytes) {
                    self.hints.insert(row.query, (number, row));
                }
            }
            ForcedRow::KIND => {
                if let Some(row) = ForcedRow::decode(bytes) {
                    self.forced.insert(row.query, (number, row));
                }
            }
            IntervalRow::KIND => {
                // Numbers of later intervals are greater: the last one stays.
                if let Some(row) = IntervalRow::decode(bytes) {
                    self.interval = Some((number, row));
                }
            }
            RuntimeRow::KIND => {
                if let Some(row) = RuntimeRow::decode(bytes)
                    && self.interval.is_some_and(|(number, _)| number == row.interval)
                {
                    self.runtime.insert((row.plan, row.execution), (number, row));
                }
            }
            WaitRow::KIND => {
                if let Some(row) = WaitRow::decode(bytes)
                    && self.interval.is_some_and(|(number, _)| number == row.interval)
                {
                    self.waits.insert((row.plan, row.execution, row.category), (number, row));
                }
            }
            _ => {}
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn resize(&mut self, key: Key, bytes: Option<usize>) {
        let size = bytes.map(|bytes| u32::try_from(bytes + size_of::<Key>()).unwrap_or(u32::MAX));
        let before = match size {
            Some(size) => self.sizes.insert(key, size),
            None => self.sizes.remove(&key),
        };
        self.bytes = self.bytes + u64::from(size.unwrap_or(0)) - u64::from(before.unwrap_or(0));
    }

    fn set(&mut self, key: Key, bytes: Option<Vec<u8>>) {
        self.resize(key, bytes.as_ref().map(Vec::len));
        self.changes += 1;
        let waiting = Waiting { bytes: bytes.map(Into::into), change: self.changes, written: false };
        self.over.insert(key, waiting);
    }

    pub fn put<T: Stored>(&mut self, number: u64, row: &T) {
        self.set((T::KIND, number), Some(row.encode()));
    }

    fn add<T: Stored>(&mut self, row: &T) -> u64 {
        let number = self.next_number(T::KIND);
        self.put(number, row);
        number
    }

    fn next_number(&mut self, kind: u8) -> u64 {
        let last = &mut self.numbers[usize::from(kind)];
        *last += 1;
        *last
    }

    /// Rows of a kind that a reader of the tree would not see, or as something else.
    pub fn waiting(&mut self, kind: u8) -> BTreeMap<u64, Option<Arc<[u8]>>> {
        self.encode_sums();
        let range = (kind, 0)..=(kind, u64::MAX);
        self.over.range(range).map(|((_, number), row)| (*number, row.bytes.clone())).collect()
    }

    // ---- what has run ----

    /// Takes over what a session has added up; local ticks are behind UTC by `behind`.
    pub fn take(
        &mut self,
        settings: &QueryStoreSettings,
        compatibility: u8,
        slot: &Slot,
        taken: &[(u8, Sums)],
        behind: i64,
    ) {
        let Some(latest) = taken.iter().map(|(_, sums)| sums.last).max().map(|at| at - behind) else {
            return;
        };
        let Some(plan) = self.place_of(settings, compatibility, slot, taken, latest) else { return };
        let interval = self.interval_at(settings, latest);
        if let Some(row) = self.plans.get_mut(&plan) {
            row.executed = row.executed.max(latest);
            let (row, query) = (row.clone(), row.query);
            self.put(plan, &row);
            if let Some(row) = self.queries.get_mut(&query) {
                row.executed = row.executed.max(latest);
                let row = row.clone();
                self.put(query, &row);
            }
        }
        for (execution, sums) in taken {
            self.count(plan, interval, *execution, sums, behind);
            if settings.waits {
                self.count_waits(plan, interval, *execution, sums);
            }
        }
    }

    fn count(&mut self, plan: u64, interval: u64, execution: u8, sums: &Sums, behind: i64) {
        let key = (plan, execution);
        if !self.runtime.contains_key(&key) {
            let number = self.next_number(RuntimeRow::KIND);
            let (count, first, last) = (0, sums.first - behind, 0);
            let figures = vec![Default::default(); sums.figures.len()];
            let row = RuntimeRow { plan, interval, execution, count, first, last, figures };
            self.runtime.insert(key, (number, row));
        }
        let Some((number, row)) = self.runtime.get_mut(&key) else { return };
        for (sum, more) in row.figures.iter_mut().zip(&sums.figures) {
            sum.merge(row.count, more);
        }
        row.count += sums.count;
        // Sessions are gathered in any order.
        row.first = row.first.min(sums.first - behind);
        row.last = row.last.max(sums.last - behind);
        let number = *number;
        self.set((RuntimeRow::KIND, number), Some(Vec::new()));
    }

    fn count_waits(&mut self, plan: u64, interval: u64, execution: u8, sums: &Sums) {
        for (category, count, waited) in &sums.waits {
            let key = (plan, execution, *category);
            if !self.waits.contains_key(&key) {
                let number = self.next_number(WaitRow::KIND);
                let category = *category;
                let row =
                    WaitRow { plan, interval, execution, category, count: 0, waited: Default::default() };
                self.waits.insert(key, (number, row));
            }
            let Some((number, row)) = self.waits.get_mut(&key) else { continue };
            row.waited.merge(row.count, waited);
            row.count += count;
            let number = *number;
            self.set((WaitRow::KIND, number), Some(Vec::new()));
        }
    }

    /// Sums are encoded when somebody wants them, and not each time they grow.
    fn encode_sums(&mut self) {
        let empty = |over: &BTreeMap<Key, Waiting>, key: Key| {
            over.get(&key).is_some_and(|w| w.bytes.as_ref().is_some_and(|b| b.is_empty()))
        };
        let mut encoded = Vec::new();
        for (number, row) in self.runtime.values() {
            let key = (RuntimeRow::KIND, *number);
            if empty(&self.over, key) {
                encoded.push((key, row.encode()));
            }
        }
        for (number, row) in self.waits.values() {
            let key = (WaitRow::KIND, *number);
            if empty(&self.over, key) {
                encoded.push((key, row.encode()));
            }
        }
        for (key, bytes) in encoded {
            self.resize(key, Some(bytes.len()));
            if let Some(waiting) = self.over.get_mut(&key) {
                waiting.bytes = Some(bytes.into());
            }
        }
    }

    /// The interval that a time is in; one that has ended goes from memory to what is written.
    fn interval_at(&mut self, settings: &QueryStoreSettings, at: i64) -> u64 {
        if let Some((number, interval)) = self.interval
            && at < interval.end
        {
            return number;
        }
        self.forget_old_interval(at);
        let length = i64::from(settings.interval_minutes.max(1)) * 600_000_000;
        let start = at - at.rem_euclid(length);
        let row = IntervalRow { start, end: start + length };
        let number = self.add(&row);
        self.interval = Some((number, row));
        number
    }

    fn forget_old_interval(&mut self, at: i64) {
        self.encode_sums();
        if at > 0 {
            self.runtime.clear();
            self.waits.clear();
        }
    }

    // ---- numbers ----

    /// The plan that a slot is of; `None` of what is not captured.
    fn place_of(
        &mut self,
        settings: &QueryStoreSettings,
        compatibility: u8,
        slot: &Slot,
        taken: &[(u8, Sums)],
        at: i64,
    ) -> Option<u64> {
        if let Some((_, plan)) = slot.place.lock().filter(|(life, _)| *life == self.life) {
            return Some(plan);
        }
        let identity = slot.identity();
        let compile_us = slot.compiled.as_ref().map_or(0, |c| c.first_seen_us());
        let query = self.query_of(settings, slot, &identity, taken, compile_us, at)?;
        let shape = (query, plan_hash_of(slot));
        let mut compile_us = compile_us;
        let plan = match self.by_shape.get(&shape) {
            Some(plan) => self.known_plan(*plan, slot),
            None => {
                // Its compiling was counted, perhaps, while it was not captured.
                compile_us = slot.compiled.as_ref().map_or(0, |c| c.took_us.into());
                let plans = self.plans_of(query).count();
                let most = usize::try_from(settings.plans_max).unwrap_or(0);
                if most > 0 && plans >= most {
                    return None;
                }
                self.new_plan(query, &identity, compatibility, slot)
            }
        };
        if compile_us > 0 {
            if let Some(row) = self.plans.get_mut(&plan) {
                row.compiles.add(compile_us, at);
            }
            if let Some(row) = self.queries.get_mut(&query) {
                row.compiles.add(compile_us, at);
            }
        }
        *slot.place.lock() = Some((self.life, plan));
        Some(plan)
    }

    fn new_plan(&mut self, query: u64, identity: &Identity, compatibility: u8, slot: &Slot) -> u64 {
        let planned = planned(slot, identity.hash);
        let row = PlanRow {
            query,
            hash: planned.hash,
            compiles: Compiles::default(),
            executed: 0,
            parallel: planned.parallel,
            compatibility,
            failures: 0,
            failure: 0,
        };
        let plan = self.add(&row);
        self.by_shape.insert((query, row.hash), plan);
        self.of_queries.insert((query, plan));
        self.plans.insert(plan, row);
        if let Some(document) = planned.document {
            self.set((DOCUMENT, plan), Some(document.into_bytes()));
        }
        self.known_plan(plan, slot)
    }

    /// A plan that a slot is of. Its directions are kept when it is seen first, or, where it was captured before there were any, now.
    fn known_plan(&mut self, plan: u64, slot: &Slot) -> u64 {
        if !self.has_directions(plan)
            && let Some(directions) = directions(slot)
        {
            self.put(plan, &directions);
        }
        plan
    }

    /// Whether it is known how a plan can be made again.
    pub fn has_directions(&self, plan: u64) -> bool {
        self.sizes.contains_key(&(DirectionsRow::KIND, plan))
    }

    fn query_of(
        &mut self,
        settings: &QueryStoreSettings,
        slot: &Slot,
        identity: &Identity,
        taken: &[(u8, Sums)],
        compile_us: u64,
        at: i64,
    ) -> Option<u64> {
        let text_key = text_key(&identity.text);
        let text = self.texts.get(&text_key).copied();
        let context = self.contexts.get(&slot.context).copied();
        if let (Some(text), Some(context)) = (text, context)
            && let Some(query) = self.by_key.get(&(text, context, identity.object, identity.parameters))
        {
            return Some(*query);
        }
        let captured = match settings.capture {
            CaptureMode::All => true,
            CaptureMode::None => false,
            CaptureMode::Auto => {
                self.weigh(DEFAULT_POLICY, (text_key, slot, identity), taken, compile_us, at)
            }
            CaptureMode::Custom => {
                self.weigh(settings.policy, (text_key, slot, identity), taken, compile_us, at)
            }
        };
        if !captured {
            return None;
        }
        let text = text.unwrap_or_else(|| {
            let number = self.add(&TextRow { text: identity.text.clone(), restricted: identity.restricted });
            self.texts.insert(text_key, number);
            number
        });
        let context = context.unwrap_or_else(|| {
            let number = self.add(&slot.context);
            self.contexts.insert(slot.context.clone(), number);
            number
        });
        let row = QueryRow {
            text,
            context,
            object: identity.object,
            hash: identity.hash,
            parameters: identity.parameters,
            offsets: slot.offsets(),
            compiles: Compiles::default(),
            executed: 0,
        };
        let query = self.add(&row);
        self.by_key.insert(query_key(&row), query);
        self.queries.insert(query, row);
        Some(query)
    }

    /// Whether a query that is not known has become worth capturing.
    fn weigh(
        &mut self,
        policy: CapturePolicy,
        (text, slot, identity): ((u64, u64), &Slot, &Identity),
        taken: &[(u8, Sums)],
        compile_us: u64,
        at: i64,
    ) -> bool {
        if self.candidates.len() >= CANDIDATES_MAX {
            self.candidates.clear();
        }
        let key = (text, slot.context.clone(), identity.object);
        let new = || Candidate { since: at, executions: 0, execution_ns: 0, compile_us: 0 };
        let candidate = self.candidates.entry(key.clone()).or_insert_with(new);
        if at - candidate.since > i64::from(policy.stale_hours) * TICKS_PER_HOUR {
            *candidate = new();
        }
        for (_, sums) in taken {
            candidate.executions += sums.count;
            candidate.execution_ns += sums.figures[super::figure::CPU].total;
        }
        candidate.compile_us += compile_us;
        let meets = candidate.meets(policy);
        if meets {
            self.candidates.remove(&key);
        }
        meets
    }

    /// The plans of a query.
    pub fn plans_of(&self, query: u64) -> impl Iterator<Item = u64> {
        self.of_queries.range((query, 0)..=(query, u64::MAX)).map(|(_, plan)| *plan)
    }

    // ---- removing ----

    fn remove(&mut self, key: Key) {
        if self.sizes.contains_key(&key) {
            self.set(key, None);
        }
    }

    /// Removes statistics of plans; `rows` are those that are stored.
    pub fn remove_statistics(&mut self, plans: &BTreeSet<u64>, rows: &[(Key, u64)]) {
        for (key, plan) in rows {
            if plans.contains(plan) {
                self.remove(*key);
            }
        }
        let gone: Vec<Key> = self
            .runtime
            .values()
            .filter(|(_, row)| plans.contains(&row.plan))
            .map(|(number, _)| (RuntimeRow::KIND, *number))
            .chain(
                self.waits
                    .values()
                    .filter(|(_, row)| plans.contains(&row.plan))
                    .map(|(number, _)| (WaitRow::KIND, *number)),
            )
            .collect();
        gone.into_iter().for_each(|key| self.remove(key));
        self.runtime.retain(|_, (_, row)| !plans.contains(&row.plan));
        self.waits.retain(|_, (_, row)| !plans.contains(&row.plan));
    }

    /// Removes plans, whose statistics are gone already.
    pub fn remove_plans(&mut self, plans: &BTreeSet<u64>) {
        self.life = next_life();
        for plan in plans {
            if let Some(row) = self.plans.remove(plan) {
                self.by_shape.remove(&(row.query, row.hash));
                self.of_queries.remove(&(row.query, *plan));
            }
            self.remove((PlanRow::KIND, *plan));
            self.remove((DOCUMENT, *plan));
            self.remove((DirectionsRow::KIND, *plan));
            let of_plan = self.forced.iter().find(|(_, (_, row))| row.plan == *plan).map(|(query, _)| *query);
            if let Some(query) = of_plan {
                self.unforce(query);
            }
        }
    }

    /// Removes queries, whose plans are gone already, with texts that no other has.
    pub fn remove_queries(&mut self, queries: &[u64]) {
        self.life = next_life();
        let mut texts = BTreeSet::new();
        for query in queries {
            let Some(row) = self.queries.remove(query) else { continue };
            self.by_key.remove(&query_key(&row));
            self.remove((QueryRow::KIND, *query));
            if let Some((number, _)) = self.hints.remove(query) {
                self.remove((HintRow::KIND, number));
            }
            self.unforce(*query);
            texts.insert(row.text);
        }
        for row in self.queries.values() {
            texts.remove(&row.text);
        }
        self.texts.retain(|_, text| !texts.contains(text));
        texts.into_iter().for_each(|text| self.remove((TextRow::KIND, text)));
    }

    /// Removes a row of statistics, or an interval.
    pub fn remove_row(&mut self, key: Key) {
        self.remove(key);
    }

    /// The number of the interval that runs.
    pub fn interval(&self) -> Option<u64> {
        self.interval.map(|(number, _)| number)
    }

    /// Removes all; numbers begin anew.
    pub fn clear(&mut self) {
        let keys: Vec<Key> = self.sizes.keys().copied().collect();
        keys.into_iter().for_each(|key| self.remove(key));
        let over = std::mem::take(&mut self.over);
        let commits = std::mem::take(&mut self.commits);
        let (life, changes) = (next_life(), self.changes);
        *self = Memory { loaded: true, life, changes, over, commits, ..Memory::default() };
    }

    /// Sets the hints of a query, or takes them away.
    pub fn set_hints(&mut self, query: u64, text: Option<String>) {
        if let Some((number, _)) = self.hints.remove(&query) {
            self.remove((HintRow::KIND, number));
        }
        if let Some(text) = text {
            let row = HintRow { query, text };
            let number = self.add(&row);
            self.hints.insert(query, (number, row));
        }
    }

    /// Whether somebody has said how a query is to be compiled: it is not cleaned away.
    pub fn is_advised(&self, query: u64) -> bool {
        self.hints.contains_key(&query) || self.forced.contains_key(&query)
    }

    /// A plan is forced from now on, in the place of another.
    pub fn force(&mut self, query: u64, plan: u64, since: i64) {
        if self.forced.get(&query).is_some_and(|(_, row)| row.plan == plan) {
            return;
        }
        self.unforce(query);
        let row = ForcedRow { query, plan, since };
        let number = self.add(&row);
        self.forced.insert(query, (number, row));
        self.set_failures(plan, |row| (row.failures, row.failure) = (0, 0));
    }

    /// No plan of a query is forced any more.
    pub fn unforce(&mut self, query: u64) {
        if let Some((number, _)) = self.forced.remove(&query) {
            self.remove((ForcedRow::KIND, number));
        }
    }

    /// A plan could not be forced, because of an error of this number.
    pub fn count_failure(&mut self, plan: u64, failure: i32) {
        self.set_failures(plan, |row| (row.failures, row.failure) = (row.failures + 1, failure));
    }

    fn set_failures(&mut self, plan: u64, set: impl FnOnce(&mut PlanRow)) {
        if let Some(row) = self.plans.get_mut(&plan) {
            set(row);
            let row = row.clone();
            self.put(plan, &row);
        }
    }

    // ---- writing ----

    /// Rows that are yet to be written, so many at most.
    pub fn unwritten(&mut self, rows_max: usize) -> Vec<Unwritten> {
        self.encode_sums();
        self.settle();
        let rows = self.over.iter().filter(|(_, row)| !row.written);
        rows.take(rows_max).map(|(key, row)| (*key, row.bytes.clone(), row.change)).collect()
    }

    /// These have been written by a transaction.
    pub fn written(&mut self, rows: Vec<(Key, u64)>, commit: Commit) {
        for (key, change) in &rows {
            if let Some(row) = self.over.get_mut(key).filter(|row| row.change == *change) {
                row.written = true;
            }
        }
        self.commits.push((commit, rows));
        self.settle();
    }

    /// Whoever reads the tree sees what was decided.
    fn settle(&mut self) {
        let commits = std::mem::take(&mut self.commits);
        for (commit, rows) in commits {
            if !commit.is_decided() {
                self.commits.push((commit, rows));
                continue;
            }
            for (key, change) in rows {
                if self.over.get(&key).is_some_and(|row| row.change == change) {
                    self.over.remove(&key);
                }
            }
        }
    }
}

fn query_key(row: &QueryRow) -> QueryKey {
    (row.text, row.context, row.object, row.parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_off_needs_no_memory_once_all_is_written() {
        let mut memory = Memory { loaded: true, ..Memory::default() };
        memory.texts.insert((1, 1), memory.numbers[0]);
        let number = memory.add(&TextRow { text: "select 1".to_owned(), restricted: false });
        memory.leave();
        assert!(memory.loaded && !memory.texts.is_empty(), "a row is yet to be written");
        memory.over.remove(&(TextRow::KIND, number));
        memory.leave();
        assert!(!memory.loaded && memory.texts.is_empty() && memory.bytes() == 0);
    }
}
