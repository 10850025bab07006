//! Running a data change.

mod follow;
mod gone;

use super::cascade::{Child, ChildAction};
use super::indexed_view;
use super::insert::InsertRow;
use super::merge::{MergeRow, MergeStep};
use super::output::Output;
use super::target::{RowBuffers, Target};
use super::update::UpdateRow;
use super::{Buffers, Change, ChangedRows, DmlPlan};
use crate::capture::Operation;
use crate::changes::ChangeKind;
use crate::context::{DmlAction, RowSink, RunInfo, TriggerEvent};
use crate::errors::{self, Result};
use crate::exec::access::decode_into;
use crate::exec::basic::same_values;
use crate::exec::cx::Cx;
use crate::exec::{Operator, restore, save};
use crate::plan::run::{State, rows_wanted};
use follow::{Followed, Left};
use gone::Gone;
use hashbrown::HashSet;
use keel_node::{LockMode, RowRef};
use keel_types::Value;
use smallvec::SmallVec;

/// A statement's savepoints, one for each database that it changes.
type Marks = SmallVec<[(keel_base::DatabaseId, keel_node::Mark); 1]>;

/// A target row that was found, to be changed when all are known.
struct Pending {
    key: Box<[u8]>,
    /// Source slots that the change reads.
    carried: Vec<Value>,
    /// New values already computed (assigned columns of UPDATE), by position.
    assigned: Vec<Value>,
}

/// A row that was taken out of the table until its new unique keys are free.
struct Lifted<'r> {
    update: &'r UpdateRow,
    pending: Pending,
    row: RowRef,
}

impl DmlPlan {
    /// Runs the statement.
    pub(crate) fn run(&self, state: &mut State, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<RunInfo> {
        let mark = self.begin(cx)?;
        cx.txns.statement_begins();
        let State { root, dml, row, .. } = state;
        let applied = self.apply(&mut **root, dml, row, cx, sink);
        let applied = applied.and_then(|done| indexed_view::settle(cx).map(|()| done));
        let applied = applied.map_err(|e| match e.number {
            3960 => errors::snapshot_conflict(&self.target.name, &self.target.database),
            _ => e,
        });
        let result = applied.and_then(|(info, mut followed)| {
            // Those of the table at the far end of a chain of cascades fire first.
            followed.iter_mut().try_for_each(|followed| followed.fire(cx))?;
            if self.triggers {
                self.fire(dml, cx)?;
            }
            Ok(info)
        });
        // What a trigger has undone or committed is no more the statement's to undo.
        if !cx.txns.statement_ends() {
            self.end(cx, mark, result.is_err())?;
        }
        result
    }

    /// Intent lock and savepoints.
    fn begin(&self, cx: &mut Cx<'_>) -> Result<Marks> {
        let database = self.target.table.database;
        self.lock_tables(cx)?;
        let mut marks = Marks::new();
        let followed = self.target.tracked.is_some() || self.target.queue.is_some();
        let written_down = followed || !self.target.captured.is_empty();
        let beside = self.target.history().is_some() || written_down;
        if self.savepoint || beside || !self.target.views.is_empty() {
            marks.push((database, cx.txn(database)?.savepoint()));
            for other in self.filled().into_iter().map(|t| t.database) {
                if marks.iter().all(|(d, _)| *d != other) {
                    marks.push((other, cx.txn(other)?.savepoint()));
                }
            }
        }
        Ok(marks)
    }

    /// Announces changes of the table, and of the one that keeps its history.
    fn lock_tables(&self, cx: &mut Cx<'_>) -> Result<()> {
        for target in std::iter::once(&*self.target).chain(self.target.history()) {
            let txn = cx.txn(target.table.database)?;
            txn.lock_table(target.table.object_id as u32, LockMode::IntentExclusive)
                .map_err(|e| cx.storage_error(&e))?;
        }
        Ok(())
    }

    fn end(&self, cx: &mut Cx<'_>, marks: Marks, failed: bool) -> Result<()> {
        for (database, mark) in marks {
            let txn = cx.txn(database)?;
            if failed {
                // The statement's own error is what the client sees; a failed undo dooms the transaction anyway.
                let _ = txn.rollback_to(mark);
            } else {
                txn.release(mark);
            }
        }
        Ok(())
    }

    fn apply(
        &self,
        source: &mut dyn Operator,
        b: &mut Buffers,
        row: &mut Vec<Value>,
        cx: &mut Cx<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<(RunInfo, Vec<Followed<'_>>)> {
        self.begin_changes(b, cx)?;
        let most = rows_wanted(&self.source, cx);
        let mut run = Run::new(self, b, row, sink, most);
        let result = run.all(source, cx);
        let Run { info, followed, .. } = run;
        self.end_counts(b, cx);
        result?;
        // With an inner change its values are the ones that count.
        if let Some(identity) = info.identity.filter(|_| self.nested.is_none()) {
            cx.session.identity_generated(Some(identity));
        }
        Ok((info, followed))
    }

    /// Has the buffers ready for rows.
    fn begin_changes(&self, b: &mut Buffers, cx: &mut Cx<'_>) -> Result<()> {
        self.check_set_options(cx)?;
        if self.triggers {
            b.changed.iter_mut().for_each(|c| *c = ChangedRows::default());
        }
        self.begin_counts(b);
        self.begin_watching(b, cx);
        Ok(())
    }

    /// Error 1934 where indexed views cannot be kept under the session's SET options.
    fn check_set_options(&self, cx: &Cx<'_>) -> Result<()> {
        let statement = self.change.name();
        self.target.check_set_options(cx, statement)?;
        self.outputs.iter().try_for_each(|output| match output {
            Output::Into(target, _) => target.check_set_options(cx, statement),
            Output::Client(_) => Ok(()),
        })
    }

    fn begin_counts(&self, b: &mut Buffers) {
        self.target.begin(&mut b.rows);
        if let Some(history) = self.target.history() {
            history.begin(&mut b.history);
        }
        b.into.resize_with(self.outputs.len(), RowBuffers::default);
        for (output, rows) in self.outputs.iter().zip(&mut b.into) {
            if let Output::Into(target, _) = output {
                target.begin(rows);
            }
        }
    }

    fn begin_watching(&self, b: &mut Buffers, cx: &mut Cx<'_>) {
        let action = match &self.change {
            Change::Insert(_) => DmlAction::Insert,
            Change::Delete(_) => DmlAction::Delete,
            Change::Update(_) | Change::Merge(_) => DmlAction::Update,
        };
        self.target.begin_watching(cx, &mut b.rows, action);
        for (output, rows) in self.outputs.iter().zip(&mut b.into) {
            if let Output::Into(target, _) = output {
                target.begin_watching(cx, rows, DmlAction::Insert);
            }
        }
    }

    fn end_counts(&self, b: &mut Buffers, cx: &Cx<'_>) {
        let at = cx.session.about_now_local();
        self.target.end(&mut b.rows, at);
        if let Some(history) = self.target.history() {
            history.end(&mut b.history, at);
        }
        for (output, rows) in self.outputs.iter().zip(&mut b.into) {
            if let Output::Into(target, _) = output {
                target.end(rows, at);
            }
        }
    }

    /// Runs the AFTER triggers of each action; they fire for a statement that met no row, too.
    fn fire(&self, b: &mut Buffers, cx: &mut Cx<'_>) -> Result<()> {
        let Some(triggers) = cx.triggers else { return Ok(()) };
        let columns = &self.target.table.columns;
        let assigned: Vec<i32> = self.assigned().into_iter().map(|i| columns[i].column_id).collect();
        for action in self.actions() {
            let rows = std::mem::take(&mut b.changed[action as usize]);
            let event = TriggerEvent {
                table: &self.target.table,
                action,
                inserted: &rows.inserted,
                deleted: &rows.deleted,
                updated_columns: if action == DmlAction::Update { &assigned } else { &[] },
            };
            let vars = std::mem::take(&mut cx.vars);
            let result = cx.exec_ctx(vars, |ctx| triggers.fire(ctx, event));
            cx.vars = vars;
            result?;
        }
        Ok(())
    }
}

/// A decided action of MERGE: clause, target key, source row.
type Step = (usize, Option<Box<[u8]>>, Vec<Value>);

/// One execution under way.
struct Run<'r, 'b> {
    plan: &'r DmlPlan,
    b: &'b mut Buffers,
    row: &'b mut Vec<Value>,
    sink: &'b mut dyn RowSink,
    info: RunInfo,
    /// So many rows are changed, and no more: SET ROWCOUNT, or there is one at most.
    most: u64,
    /// Keys that were referred to, maybe, and are gone: looked after at the end.
    gone: Vec<Gone<'r>>,
    /// Keys whose referring rows are still to follow.
    left: Vec<Left<'r>>,
    /// Tables whose rows have followed.
    followed: Vec<Followed<'r>>,
}

impl<'r, 'b> Run<'r, 'b> {
    fn new(
        plan: &'r DmlPlan,
        b: &'b mut Buffers,
        row: &'b mut Vec<Value>,
        sink: &'b mut dyn RowSink,
        most: u64,
    ) -> Run<'r, 'b> {
        let (gone, left, followed) = (Vec::new(), Vec::new(), Vec::new());
        Run { plan, b, row, sink, info: RunInfo::default(), most, gone, left, followed }
    }

    fn target(&self) -> &'r Target {
        &self.plan.target
    }

    fn all(&mut self, source: &mut dyn Operator, cx: &mut Cx<'_>) -> Result<()> {
        source.open(cx)?;
        match &self.plan.change {
            Change::Insert(insert) => self.insert_all(source, insert, cx)?,
            Change::Merge(merge) => self.merge_all(source, merge, cx)?,
            _ if self.plan.in_place => self.in_place(source, cx)?,
            _ => self.collected(source, cx)?,
        }
        self.follow(cx)?;
        self.check(cx)
    }

    fn insert_all(&mut self, source: &mut dyn Operator, insert: &InsertRow, cx: &mut Cx<'_>) -> Result<()> {
        insert.check_identity(&self.plan.target, cx)?;
        if self.plan.target.identity.is_none() && self.plan.nested.is_none() {
            cx.session.identity_generated(None);
        }
        if self.plan.in_place {
            while self.info.rows < self.most && source.next(cx)? {
                self.insert_next(insert, cx)?;
            }
            return Ok(());
        }
        let mut rows = Vec::new();
        while (rows.len() as u64) < self.most && source.next(cx)? {
            let row = save(cx, &self.plan.carried);
            cx.charge(crate::exec::row_bytes(&row))?;
            rows.push(row);
        }
        for row in rows {
            restore(cx, &self.plan.carried, &row);
            self.insert_next(insert, cx)?;
        }
        Ok(())
    }

    /// One of many.
    fn insert_next(&mut self, insert: &InsertRow, cx: &mut Cx<'_>) -> Result<()> {
        self.b.rows.escalate(&self.plan.target.table, cx, self.info.rows)?;
        self.insert_one(insert, cx)
    }

    fn insert_one(&mut self, insert: &InsertRow, cx: &mut Cx<'_>) -> Result<()> {
        cx.tick()?;
        let plan = self.plan;
        let given = insert.fill(&plan.target, cx)?;
        if !write_row(&plan.target, cx, &mut self.b.rows)? {
            return Ok(());
        }
        insert.blocks.check(&plan.target, cx)?;
        self.info.identity = given.or(self.info.identity);
        self.info.rows += 1;
        self.after_row(cx, true, false)
    }

    /// Changes rows as the source finds them.
    fn in_place(&mut self, source: &mut dyn Operator, cx: &mut Cx<'_>) -> Result<()> {
        while self.info.rows < self.most && source.next(cx)? {
            let Some(row) = cx.target_row.take() else { continue };
            self.b.rows.escalate(&self.plan.target.table, cx, self.info.rows)?;
            std::mem::swap(&mut cx.target_key, &mut self.b.key);
            let key = std::mem::take(&mut self.b.key);
            let result = match &self.plan.change {
                Change::Update(u) => {
                    u.evaluate(&self.plan.target, cx).and_then(|()| self.update_row(u, &key, &row, cx))
                }
                _ => self.delete_row(&key, &row, cx),
            };
            self.b.key = key;
            result?;
        }
        Ok(())
    }

    /// Collects all targets with their new values, then changes them.
    fn collected(&mut self, source: &mut dyn Operator, cx: &mut Cx<'_>) -> Result<()> {
        let mut pending = Vec::new();
        self.collect(source, &mut pending, cx)?;
        self.change(pending, cx)
    }

    fn collect(
        &mut self,
        source: &mut dyn Operator,
        pending: &mut Vec<Pending>,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let plan = self.plan;
        let mut seen: HashSet<Box<[u8]>> = HashSet::new();
        while (pending.len() as u64) < self.most && source.next(cx)? {
            let key: Box<[u8]> = match plan.row_key {
                Some(slot) => match &cx.slots[slot] {
                    Value::Bytes(k) => k[..].into(),
                    _ => continue,
                },
                None => cx.target_key[..].into(),
            };
            if plan.row_key.is_some() && !seen.insert(key.clone()) {
                continue;
            }
            self.b.rows.escalate(&plan.target.table, cx, pending.len() as u64)?;
            let assigned = match &plan.change {
                Change::Update(u) => {
                    u.evaluate(&plan.target, cx)?;
                    u.changed.iter().map(|i| cx.slots[plan.target.new_first + i].clone()).collect()
                }
                _ => Vec::new(),
            };
            cx.charge(key.len() + 64 + assigned.len() * 32)?;
            pending.push(Pending { key, carried: save(cx, &plan.carried), assigned });
        }
        Ok(())
    }

    fn change(&mut self, pending: Vec<Pending>, cx: &mut Cx<'_>) -> Result<()> {
        let plan = self.plan;
        let shifts = match &plan.change {
            Change::Update(u) => pending.len() > 1 && plan.target.shifts(&u.changed),
            _ => false,
        };
        let mut lifted = Vec::new();
        for p in pending {
            restore(cx, &plan.carried, &p.carried);
            let Some(row) = self.latest(&p.key, cx)? else { continue };
            decode_into(&row, &plan.decode, &mut cx.slots);
            match &plan.change {
                Change::Update(u) => {
                    for (i, v) in u.changed.iter().zip(&p.assigned) {
                        cx.slots[plan.target.new_first + i] = v.clone();
                    }
                    if !shifts {
                        self.update_row(u, &p.key, &row, cx)?;
                    } else if !self.update_or_lift(u, &p.key, &row, cx)? {
                        lifted.push(Lifted { update: u, pending: p, row });
                    }
                }
                _ => self.delete_row(&p.key, &row, cx)?,
            }
        }
        self.put_back(lifted, cx)
    }

    /// Updates a row of a statement that moves unique keys. If its new key is still another row's, the row is taken out
    /// of the table for now (which frees its old key) and the answer is false.
    fn update_or_lift(
        &mut self,
        u: &'r UpdateRow,
        key: &[u8],
        row: &RowRef,
        cx: &mut Cx<'_>,
    ) -> Result<bool> {
        let plan = self.plan;
        let target = &*plan.target;
        let database = target.table.database;
        u.before.check(target, cx)?;
        u.complete(target, cx, plan.old_first)?;
        let mark = cx.txn(database)?.savepoint();
        let kept = target.keep(cx, &mut self.b.history, row);
        match kept.and_then(|()| target.update(cx, &mut self.b.rows, key, row, &u.changed, plan.old_first)) {
            Ok(()) => cx.txn(database)?.release(mark),
            Err(e) if matches!(e.number, 2601 | 2627) => {
                let undone = cx.txn(database)?.rollback_to(mark);
                undone.map_err(|e| cx.storage_error(&e))?;
                target.delete(cx, &mut self.b.rows, key, plan.old_first)?;
                target.track_lifted(cx, &mut self.b.rows, u, plan.old_first)?;
                target.capture_lifted(cx, &mut self.b.rows, u, row)?;
                return Ok(false);
            }
            Err(e) => return Err(e),
        }
        target.track_update(cx, &mut self.b.rows, u, plan.old_first, false)?;
        target.capture_update(cx, &mut self.b.rows, u, row, false)?;
        target.queue_changed(cx, &mut self.b.rows, &u.changed, plan.old_first)?;
        target.tell_changed(cx, &mut self.b.rows, &u.changed, row);
        self.updated(u, cx)?;
        Ok(true)
    }

    /// Puts the rows that [`Self::update_or_lift`] took out under their new keys. All old keys are free by now, so a
    /// duplicate is a real one.
    fn put_back(&mut self, lifted: Vec<Lifted<'r>>, cx: &mut Cx<'_>) -> Result<()> {
        let plan = self.plan;
        for Lifted { update: u, pending: p, row } in lifted {
            restore(cx, &plan.carried, &p.carried);
            decode_into(&row, &plan.decode, &mut cx.slots);
            for (i, v) in u.changed.iter().zip(p.assigned) {
                cx.slots[plan.target.new_first + i] = v;
            }
            u.complete(&plan.target, cx, plan.old_first)?;
            plan.target.keep(cx, &mut self.b.history, &row)?;
            plan.target.put_back(cx, &mut self.b.rows, &p.key, &u.changed)?;
            plan.target.track_update(cx, &mut self.b.rows, u, plan.old_first, true)?;
            plan.target.capture_update(cx, &mut self.b.rows, u, &row, true)?;
            plan.target.queue_changed(cx, &mut self.b.rows, &u.changed, plan.old_first)?;
            plan.target.tell_changed(cx, &mut self.b.rows, &u.changed, &row);
            self.updated(u, cx)?;
        }
        Ok(())
    }

    fn latest(&self, key: &[u8], cx: &mut Cx<'_>) -> Result<Option<RowRef>> {
        let table = &self.plan.target.table;
        let (database, tree) = (table.database, table.clustered().tree);
        let found = cx.txn(database)?.get_latest(tree, key);
        found.map_err(|e| cx.storage_error(&e))
    }

    fn update_row(&mut self, u: &'r UpdateRow, key: &[u8], row: &RowRef, cx: &mut Cx<'_>) -> Result<()> {
        let plan = self.plan;
        let target = &*plan.target;
        u.before.check(target, cx)?;
        u.complete(target, cx, plan.old_first)?;
        if !u.changed.is_empty() {
            target.keep(cx, &mut self.b.history, row)?;
            target.update(cx, &mut self.b.rows, key, row, &u.changed, plan.old_first)?;
            target.track_update(cx, &mut self.b.rows, u, plan.old_first, false)?;
            target.capture_update(cx, &mut self.b.rows, u, row, false)?;
            target.queue_changed(cx, &mut self.b.rows, &u.changed, plan.old_first)?;
            target.tell_changed(cx, &mut self.b.rows, &u.changed, row);
        }
        self.updated(u, cx)
    }

    /// Foreign keys, OUTPUT and triggers of a row whose new values are stored.
    fn updated(&mut self, u: &'r UpdateRow, cx: &mut Cx<'_>) -> Result<()> {
        let target = &*self.plan.target;
        for p in &u.parents {
            target.check_parent(cx, &mut self.b.rows, *p, "UPDATE")?;
        }
        u.after.check(target, cx)?;
        let (old, new) = (self.plan.old_first, target.new_first);
        let kept = |cx: &Cx<'_>, i: usize| {
            !u.changed.contains(&i) || same_values(&cx.slots[old + i..=old + i], &cx.slots[new + i..=new + i])
        };
        self.after_children(&u.children, kept, cx)?;
        self.info.rows += 1;
        self.after_row(cx, true, true)
    }

    fn delete_row(&mut self, key: &[u8], row: &RowRef, cx: &mut Cx<'_>) -> Result<()> {
        let plan = self.plan;
        if let Change::Delete(d) = &plan.change {
            d.before.check(&plan.target, cx)?;
        }
        plan.target.keep(cx, &mut self.b.history, row)?;
        plan.target.delete(cx, &mut self.b.rows, key, plan.old_first)?;
        plan.target.track(cx, &mut self.b.rows, ChangeKind::Delete, plan.old_first)?;
        plan.target.capture_stored(cx, &mut self.b.rows, Operation::Delete, row)?;
        plan.target.queue(cx, &mut self.b.rows, plan.old_first)?;
        plan.target.tell_gone(cx, &mut self.b.rows, row);
        if let Change::Delete(d) = &plan.change {
            self.after_children(&d.children, |_, _| false, cx)?;
        }
        self.info.rows += 1;
        self.after_row(cx, false, true)?;
        self.follow_some(cx)
    }

    /// Looks after rows that refer to the one just changed, whose old values are in the frame. `kept` tells columns that
    /// have their old values.
    fn after_children(
        &mut self,
        children: &'r [Child],
        kept: impl Fn(&Cx<'_>, usize) -> bool,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        for child in children {
            if child.referenced.iter().all(|i| kept(cx, *i)) {
                continue;
            }
            match &child.action {
                ChildAction::Check(_) => {
                    let old = child.referenced.iter().map(|i| cx.slots[self.plan.old_first + i].clone());
                    let old: Vec<Value> = old.collect();
                    cx.charge(crate::exec::row_bytes(&old))?;
                    self.gone.push((child, old));
                }
                ChildAction::Change(follow) => self.leave(child, follow, cx)?,
            }
        }
        Ok(())
    }

    /// OUTPUT and trigger rows.
    fn after_row(&mut self, cx: &mut Cx<'_>, inserted: bool, deleted: bool) -> Result<()> {
        let plan = self.plan;
        for (n, output) in plan.outputs.iter().enumerate() {
            match output {
                Output::Client(codes) => {
                    self.row.clear();
                    for code in codes {
                        self.row.push(code.eval(cx)?);
                    }
                    self.sink.row(self.row)?;
                }
                Output::Into(target, insert) => {
                    insert.fill(target, cx)?;
                    if write_row(target, cx, &mut self.b.into[n])? {
                        insert.blocks.check(target, cx)?;
                    }
                }
            }
        }
        if plan.triggers {
            let width = plan.target.table.columns.len();
            let action = match (inserted, deleted) {
                (true, true) => DmlAction::Update,
                (true, false) => DmlAction::Insert,
                _ => DmlAction::Delete,
            };
            let rows = &mut self.b.changed[action as usize];
            if inserted {
                let first = plan.target.new_first;
                rows.inserted.push(cx.slots[first..first + width].to_vec());
            }
            if deleted {
                rows.deleted.push(cx.slots[plan.old_first..plan.old_first + width].to_vec());
            }
        }
        Ok(())
    }

    /// MERGE: decides for every joined row, then acts.
    fn merge_all(&mut self, source: &mut dyn Operator, merge: &'r MergeRow, cx: &mut Cx<'_>) -> Result<()> {
        let plan = self.plan;
        let mut steps: Vec<Step> = Vec::new();
        let mut seen: HashSet<Box<[u8]>> = HashSet::new();
        while (steps.len() as u64) < self.most && source.next(cx)? {
            cx.tick()?;
            let key: Option<Box<[u8]>> = match plan.row_key.map(|s| &cx.slots[s]) {
                Some(Value::Bytes(k)) => Some(k[..].into()),
                _ => None,
            };
            let in_source = !matches!(cx.slots[merge.source_present], Value::Null);
            let Some(n) = merge.choose(key.is_some(), in_source, cx)? else { continue };
            if let Some(k) = &key
                && !seen.insert(k.clone())
            {
                return Err(errors::merge_twice());
            }
            let row = save(cx, &plan.carried);
            cx.charge(crate::exec::row_bytes(&row))?;
            self.b.rows.escalate(&plan.target.table, cx, steps.len() as u64)?;
            steps.push((n, key, row));
        }
        // What goes makes room for what comes.
        steps.sort_by_key(|(n, ..)| merge.steps[*n].turn());
        let mut lifted = Vec::new();
        let mut steps = steps.into_iter().peekable();
        while let Some(step) = steps.next_if(|(n, ..)| merge.steps[*n].action() != DmlAction::Insert) {
            self.merge_step(merge, step, &mut lifted, cx)?;
        }
        cx.slots[merge.action_slot] = Value::Str(DmlAction::Update.name().into());
        self.put_back(std::mem::take(&mut lifted), cx)?;
        steps.try_for_each(|step| self.merge_step(merge, step, &mut lifted, cx))
    }

    fn merge_step(
        &mut self,
        merge: &'r MergeRow,
        (n, key, carried): Step,
        lifted: &mut Vec<Lifted<'r>>,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let plan = self.plan;
        restore(cx, &plan.carried, &carried);
        let step = &merge.steps[n];
        cx.slots[merge.action_slot] = Value::Str(step.action().name().into());
        match (step, key) {
            (MergeStep::Insert(_, _, insert), _) => {
                crate::exec::set_null(cx, &merge.old_slots);
                insert.check_identity(&plan.target, cx)?;
                self.insert_one(insert, cx)
            }
            (MergeStep::Update(_, _, u), Some(key)) => {
                let Some(row) = self.latest(&key, cx)? else { return Ok(()) };
                decode_into(&row, &plan.decode, &mut cx.slots);
                u.evaluate(&plan.target, cx)?;
                if !plan.target.shifts(&u.changed) {
                    return self.update_row(u, &key, &row, cx);
                }
                let new = u.changed.iter().map(|i| cx.slots[plan.target.new_first + i].clone());
                let pending = Pending { carried, assigned: new.collect(), key };
                if !self.update_or_lift(u, &pending.key, &row, cx)? {
                    lifted.push(Lifted { update: u, pending, row });
                }
                Ok(())
            }
            (MergeStep::Delete(_, _, d), Some(key)) => {
                let Some(row) = self.latest(&key, cx)? else { return Ok(()) };
                decode_into(&row, &plan.decode, &mut cx.slots);
                d.before.check(&plan.target, cx)?;
                crate::exec::set_null(cx, &merge.new_slots);
                plan.target.keep(cx, &mut self.b.history, &row)?;
                plan.target.delete(cx, &mut self.b.rows, &key, plan.old_first)?;
                plan.target.track(cx, &mut self.b.rows, ChangeKind::Delete, plan.old_first)?;
                plan.target.capture_stored(cx, &mut self.b.rows, Operation::Delete, &row)?;
                plan.target.queue(cx, &mut self.b.rows, plan.old_first)?;
                plan.target.tell_gone(cx, &mut self.b.rows, &row);
                self.after_children(&d.children, |_, _| false, cx)?;
                self.info.rows += 1;
                self.after_row(cx, false, true)
            }
            _ => Ok(()),
        }
    }
}

/// Stores the row in the new slots and checks its foreign keys. False: an ignored duplicate.
pub(crate) fn write_row(target: &Target, cx: &mut Cx<'_>, b: &mut RowBuffers) -> Result<bool> {
    if !target.insert(cx, b)? {
        return Ok(false);
    }
    target.track(cx, b, ChangeKind::Insert, target.new_first)?;
    target.capture_new(cx, b)?;
    target.queue(cx, b, target.new_first)?;
    target.tell_new(cx, b);
    for n in 0..target.parents.len() {
        target.check_parent(cx, b, n, DmlAction::Insert.name())?;
    }
    Ok(true)
}
