//! What a DELETE or UPDATE does to rows of other tables that refer to the changed one.

use super::foreign::{self, ChildKey};
use super::target::Target;
use super::update::{BoundSet, Found};
use super::{Change, DmlPlan};
use crate::bind::rel::{Hints, Rel, SlotSet};
use crate::catalog::{ReferentialAction, TableDef};
use crate::errors::Result;
use crate::exec::node::{Access, Bounds, Node, Op};
use crate::expr::{CmpOp, Expr, Slot};
use crate::plan::Planner;
use keel_base::TreeId;
use keel_types::key::KeyColumn;
use keel_types::{Length, SqlType};
use std::rc::Rc;
use std::sync::Arc;

/// Deepest chain of cascades.
const CASCADE_DEPTH_MAX: usize = 32;

/// A referencing table and what happens to its rows.
pub(crate) struct Child {
    /// Constraint name.
    pub name: String,
    /// `schema.table` of the referencing table.
    pub table: String,
    /// Its one referencing column, for the message.
    pub column: Option<String>,
    /// Referenced columns of the target (positions).
    pub referenced: Vec<usize>,
    /// The index of the target that has the referenced key: its tree, and its columns with their places in `referenced`.
    pub key: Option<(TreeId, Vec<(usize, KeyColumn)>)>,
    /// What to do.
    pub action: ChildAction,
    /// How several values are looked for at once, where looking for one reads the whole table.
    pub one_reading: Option<OneReading>,
    /// The referencing table is the target itself.
    pub own_table: bool,
}

/// Reading a referencing table once for many values.
pub(crate) struct OneReading {
    /// What is read to look for one of them.
    pub access: Arc<Access>,
    /// Slots of the referencing columns, in the order of [`Child::referenced`], and the columns referred to.
    pub columns: Vec<(usize, KeyColumn)>,
}

/// What happens to referencing rows.
pub(crate) enum ChildAction {
    /// None may exist at the end of the statement (finds them by the old values), unless their key is there again.
    Check(Arc<Node>),
    /// They change too.
    Change(Box<Follow>),
}

/// How the rows of another table follow those they refer to.
pub(crate) struct Follow {
    /// Changes the rows that refer to the one whose old values, and new ones of an UPDATE, are in the frame.
    pub plan: DmlPlan,
    /// Where `plan` has a reading of the whole table: finds a row that such a reading has met.
    pub at: Option<At>,
    /// Triggers fire, of this table or of one further down.
    pub fires: bool,
}

/// Finding the row under a clustered key that is in a slot, if it still refers to the one in the frame.
pub(crate) struct At {
    pub slot: usize,
    pub node: Node,
}

/// Compiles the referencing keys of a target. `changed` are the columns of an UPDATE; `None` for DELETE.
pub(crate) fn children(
    planner: &mut Planner<'_, '_>,
    target: &Target,
    old_first: usize,
    changed: Option<&[usize]>,
) -> Result<Vec<Child>> {
    let mut list = Vec::new();
    for child in foreign::children(planner.binder, &target.table) {
        let referenced: Vec<usize> =
            child.fk.referenced_columns.iter().filter_map(|c| target.table.column_index(*c)).collect();
        if changed.is_some_and(|c| !referenced.iter().any(|r| c.contains(r))) {
            continue;
        }
        let action = child.action(changed.is_none());
        let schema = planner.binder.scope.schema_name(child.table.database, child.table.schema_id);
        let column = match child.fk.columns.as_slice() {
            [one] => child.table.column_index(*one).map(|i| child.table.columns[i].name.clone()),
            _ => None,
        };
        let key = referenced_key(&target.table, &child.fk.referenced_columns, &referenced);
        let own_table = foreign::same_table(&child.table, &target.table);
        let (action, one_reading) =
            compile(planner, target, &child, &referenced, old_first, action, changed.is_none())?;
        list.push(Child {
            name: child.fk.name.clone(),
            table: format!("{schema}.{}", child.table.name),
            column,
            referenced,
            key,
            action,
            one_reading,
            own_table,
        });
    }
    Ok(list)
}

/// The index behind a referenced key, and for each of its columns the place among those referred to.
fn referenced_key(
    table: &TableDef,
    ids: &[i32],
    referenced: &[usize],
) -> Option<(TreeId, Vec<(usize, KeyColumn)>)> {
    let index = table.candidate_key(ids)?;
    let columns = index.key.iter().map(|k| {
        let at = table.column_index(k.column_id)?;
        let column = &table.columns[at];
        let own = KeyColumn { ty: column.ty, collation: column.collation, descending: k.descending };
        Some((referenced.iter().position(|r| *r == at)?, own))
    });
    Some((index.tree, columns.collect::<Option<Vec<_>>>()?))
}

fn compile(
    planner: &mut Planner<'_, '_>,
    target: &Target,
    child: &ChildKey,
    referenced: &[usize],
    old_first: usize,
    action: ReferentialAction,
    delete: bool,
) -> Result<(ChildAction, Option<OneReading>)> {
    let binder = &mut *planner.binder;
    // The newest committed rows count, not those of the statement's view.
    let hints = Hints { repeatable: true, ..Hints::default() };
    let (get, source) = binder.get(child.table.clone(), &child.table.name, None, hints);
    let positions: Vec<usize> =
        child.fk.columns.iter().filter_map(|c| child.table.column_index(*c)).collect();
    let mut filter = Vec::new();
    for (own, theirs) in positions.iter().zip(referenced) {
        let left = binder.read(get.slot(*own));
        let right = binder.read((old_first + theirs) as Slot);
        filter.push(binder.comparison(CmpOp::Eq, left, right)?);
    }
    let (id, locator) = (get.id, get.locator);
    let slots: Vec<usize> = positions.iter().map(|i| get.slot(*i) as usize).collect();
    let rel = Rel::Get(Box::new(get));
    if action == ReferentialAction::NoAction || planner.cascade_depth >= CASCADE_DEPTH_MAX {
        let planned = planner.plan_tree(rel.filter(filter), &SlotSet::new())?;
        let one_reading = one_reading(&planned.node, &slots, &target.table, referenced);
        return Ok((ChildAction::Check(Arc::new(planned.node)), one_reading));
    }
    let source = Rc::new(source);
    let search = || Found {
        rel: rel.clone(),
        sources: vec![source.clone()],
        source: source.clone(),
        get: id,
        simple: true,
    };
    let own = Target::new(planner.binder, &child.table)?;
    planner.cascade_depth += 1;
    let mut plan = if delete && action == ReferentialAction::Cascade {
        super::delete::delete_plan(planner, search(), own, filter.clone(), Vec::new(), None)?.0
    } else {
        let mut sets = Vec::new();
        for (column, theirs) in positions.iter().zip(referenced) {
            let value = match action {
                ReferentialAction::Cascade => planner.binder.read((target.new_first + theirs) as Slot),
                ReferentialAction::SetDefault => own.default_of(planner.binder, *column)?,
                _ => Expr::null(),
            };
            sets.push(BoundSet { column: Some(*column), variable: None, value });
        }
        let changed = super::update::changed_columns(&own, &sets);
        let (filter, outputs) = (filter.clone(), Vec::new());
        super::update::update_plan(planner, search(), own, sets, filter, changed, outputs, None)?.0
    };
    planner.cascade_depth -= 1;
    // The rows that follow are found before the first of them is changed.
    plan.in_place = false;
    let one_reading = one_reading(&plan.source, &slots, &target.table, referenced);
    let at = match &one_reading {
        Some(_) => Some(at(planner, search(), filter, locator, &plan)?),
        None => None,
    };
    let fires = plan.triggers || plan.change.children().any(|c| c.follow().is_some_and(|f| f.fires));
    Ok((ChildAction::Change(Box::new(Follow { plan, at, fires })), one_reading))
}

/// Compiles the search for one row that a reading has met.
fn at(
    planner: &mut Planner<'_, '_>,
    found: Found,
    mut filter: Vec<Expr>,
    locator: Slot,
    plan: &DmlPlan,
) -> Result<At> {
    let binder = &mut *planner.binder;
    let slot = binder.typed_slot("", SqlType::VarBinary(Length::Max), false);
    let (left, right) = (binder.read(locator), binder.read(slot));
    filter.push(binder.comparison(CmpOp::Eq, left, right)?);
    let need = plan.carried.iter().map(|slot| *slot as Slot).collect();
    let located = super::update::locate(planner, found, filter, None, &need, &[])?;
    Ok(At { slot: slot as usize, node: located.node })
}

impl Child {
    /// How its rows follow; none where they may not be there.
    pub fn follow(&self) -> Option<&Follow> {
        match &self.action {
            ChildAction::Check(_) => None,
            ChildAction::Change(follow) => Some(follow),
        }
    }
}

impl Change {
    /// The tables that refer to the changed one.
    fn children(&self) -> impl Iterator<Item = &Child> {
        match self {
            Change::Update(u) => u.children.iter(),
            Change::Delete(d) => d.children.iter(),
            // Nothing cascades to these.
            Change::Insert(_) | Change::Merge(_) => [].iter(),
        }
    }
}

/// None where an index leads to the rows, or their columns are not all in what is read.
fn one_reading(node: &Node, slots: &[usize], table: &TableDef, referenced: &[usize]) -> Option<OneReading> {
    let Op::Access(access) = &node.op else { return None };
    let decoded = |slot: &usize| access.decode.iter().any(|d| d.slot == *slot);
    let apart = access.lookup.is_some() || access.direct && access.base_tree.is_some();
    if !matches!(access.bounds, Bounds::All) || apart || !slots.iter().all(decoded) {
        return None;
    }
    let columns = slots.iter().zip(referenced).map(|(slot, i)| {
        let column = &table.columns[*i];
        (*slot, KeyColumn { ty: column.ty, collation: column.collation, descending: false })
    });
    Some(OneReading { access: Arc::clone(access), columns: columns.collect() })
}
