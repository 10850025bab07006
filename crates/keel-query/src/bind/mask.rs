//! Where masks apply: what a statement shows or keeps of masked columns.
//!
//! A masked column is read as it is: conditions, orders, groups and joins see its values. Masks are put on at the end, where
//! values leave the query: for the client, into a variable, into another table. Which values those are is followed through the
//! bound tree:
//!
//! ```text
//!   the column itself, through views, joins, set operations    its own function
//!   the value of a CASE, ISNULL, scalar subquery               that of the one masked value in it
//!   anything computed of it, counts too                        default() of the result's type
//!   what a table function makes of it                          default() of each column's type
//!   the [KEY] of CONTAINSTABLE                                 that of the key's column
//!   what a condition decides                                   nothing
//! ```
//!
//! A value that several masked columns are part of is shown to who may see all of them.

use super::rel::Rel;
use super::{ArcTable, Binder, BoundQuery};
use crate::bind::rel::{AggFunc, SlotInfo, SubqueryUse};
use crate::catalog::{ObjectId, TableDef};
use crate::expr::{Coercibility, Expr, ExprKind, Slot};
use crate::mask::MaskDef;
use keel_base::DatabaseId;
use std::collections::HashMap;
use std::sync::Arc;

/// A masked column that a value is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskSource {
    /// Database of its table.
    pub database: DatabaseId,
    /// The table.
    pub object: ObjectId,
    /// The column, by id.
    pub column: i32,
}

/// How a value is masked.
#[derive(Clone, Debug)]
pub struct Mask {
    /// What stands for it.
    pub function: MaskDef,
    /// The masked columns it is made of.
    pub sources: Vec<MaskSource>,
}

impl Mask {
    /// Of something computed from masked values.
    fn computed(self) -> Mask {
        Mask { function: MaskDef::Default, ..self }
    }

    /// Of a value that is one or the other.
    fn either(a: Option<Mask>, b: Option<Mask>) -> Option<Mask> {
        let (Some(mut a), Some(b)) = (a.clone(), b.clone()) else { return a.or(b) };
        if a.function != b.function {
            a.function = MaskDef::Default;
        }
        a.sources.extend(b.sources.into_iter().filter(|s| !a.sources.contains(s)).collect::<Vec<_>>());
        Some(a)
    }
}

/// The masks of a table's columns, by position.
pub(crate) fn of_table(table: &TableDef) -> Vec<(usize, Mask)> {
    let source = |column: i32| MaskSource { database: table.database, object: table.object_id, column };
    let masked: Vec<_> = table.columns.iter().filter(|c| c.mask.is_some()).collect();
    if masked.is_empty() {
        return Vec::new();
    }
    let mut masks = Vec::new();
    for (at, c) in table.columns.iter().enumerate() {
        if let Some(function) = &c.mask {
            masks.push((at, Mask { function: function.clone(), sources: vec![source(c.column_id)] }));
        } else if let Some(computed) = &c.computed {
            let text = computed.text.to_lowercase();
            let quoted = |name: &str| keel_parser::to_text::quote_name(&name.to_lowercase());
            let read = masked.iter().filter(|m| text.contains(&quoted(&m.name)));
            let sources: Vec<MaskSource> = read.map(|m| source(m.column_id)).collect();
            if !sources.is_empty() {
                masks.push((at, Mask { function: MaskDef::Default, sources }));
            }
        }
    }
    masks
}

/// The masked columns that columns of a table are made of.
#[must_use]
pub fn sources(table: &TableDef, columns: &[i32]) -> Vec<MaskSource> {
    let named = |at: usize| columns.contains(&table.columns[at].column_id);
    of_table(table).into_iter().filter(|(at, _)| named(*at)).flat_map(|(_, mask)| mask.sources).collect()
}

/// The masks of slots.
#[derive(Default)]
pub(crate) struct Masks {
    slots: HashMap<Slot, Mask>,
    /// Of the columns of recursive CTEs, by their id.
    work: HashMap<u32, Vec<Option<Mask>>>,
}

impl Masks {
    /// Masks the columns of a table in the slots from `first` on.
    pub fn add_table(&mut self, table: &ArcTable, first: Slot) {
        self.slots.extend(of_table(table).into_iter().map(|(at, mask)| (first + at as Slot, mask)));
    }

    fn put(&mut self, slot: Slot, mask: Option<Mask>) {
        if let Some(mask) = mask {
            self.slots.insert(slot, mask);
        }
    }

    /// Follows masks through a tree.
    pub fn add(&mut self, rel: &Rel) {
        if let Rel::Recursive { id, anchor, anchor_slots, step, step_slots, slots, .. } = rel {
            self.add(anchor);
            let first = anchor_slots.iter().map(|s| self.slots.get(s).cloned()).collect();
            self.work.insert(*id, first);
            self.add(step);
            for ((slot, a), b) in slots.iter().zip(anchor_slots).zip(step_slots) {
                self.put(*slot, Mask::either(self.slots.get(a).cloned(), self.slots.get(b).cloned()));
            }
            return;
        }
        rel.inputs().into_iter().for_each(|input| self.add(input));
        match rel {
            Rel::Get(g) => self.add_table(&g.table, g.first_slot),
            Rel::Project { exprs, .. } => {
                for (slot, e) in exprs {
                    let mask = self.of(e);
                    self.put(*slot, mask);
                }
            }
            Rel::Virtual { table, args, first_slot, .. } => {
                let mask = args.iter().fold(None, |mask, e| Mask::either(mask, self.of(e)));
                let mask = mask.map(Mask::computed);
                for at in 0..table.0.columns().len() {
                    self.put(first_slot + at as Slot, Mask::either(mask.clone(), table.0.mask(at)));
                }
            }
            Rel::Values { rows, slots } => {
                for (at, slot) in slots.iter().enumerate() {
                    let mask = rows.iter().fold(None, |mask, row| Mask::either(mask, self.of(&row[at])));
                    self.put(*slot, mask);
                }
            }
            Rel::Aggregate { groups, aggs, .. } => {
                for (slot, e) in groups {
                    let mask = self.of(e);
                    self.put(*slot, mask);
                }
                for a in aggs {
                    let read = a.arg.iter().chain(&a.separator);
                    let mask = read.fold(None, |mask, e| Mask::either(mask, self.of(e)));
                    let any = a.func == AggFunc::Any;
                    self.put(a.slot, if any { mask } else { mask.map(Mask::computed) });
                }
            }
            Rel::Window { calls, .. } => {
                for c in calls {
                    let mask = c.args.iter().fold(None, |mask, e| Mask::either(mask, self.of(e)));
                    self.put(c.slot, mask.map(Mask::computed));
                }
            }
            Rel::SetOp { left_slots, right_slots, slots, .. } => {
                for ((slot, a), b) in slots.iter().zip(left_slots).zip(right_slots) {
                    self.put(*slot, Mask::either(self.slots.get(a).cloned(), self.slots.get(b).cloned()));
                }
            }
            Rel::WorkTable { id, slots } => {
                let masks = self.work.get(id).cloned().unwrap_or_default();
                slots.iter().zip(masks).for_each(|(slot, mask)| self.put(*slot, mask));
            }
            _ => {}
        }
    }

    /// The mask of a value.
    pub fn of(&mut self, e: &Expr) -> Option<Mask> {
        match &e.kind {
            ExprKind::Slot(s) => {
                let mask = self.slots.get(s).cloned()?;
                // COLLATE computes another text.
                Some(if e.coercibility == Coercibility::Explicit { mask.computed() } else { mask })
            }
            ExprKind::Cast(c) => {
                let mask = self.of(&c.input)?;
                let same = c.input.ty == e.ty && c.input.collation == e.collation;
                Some(if same { mask } else { mask.computed() })
            }
            ExprKind::Case(whens, otherwise) => {
                let values = whens.iter().map(|(_, value)| value).chain(otherwise.as_deref());
                values.fold(None, |mask, value| Mask::either(mask, self.of(value)))
            }
            ExprKind::FirstOf(list) => {
                list.iter().fold(None, |mask, value| Mask::either(mask, self.of(value)))
            }
            ExprKind::Subquery(s) => {
                let SubqueryUse::Scalar(slot) = s.usage else { return None };
                self.add(&s.rel);
                self.slots.get(&slot).cloned()
            }
            // What has a mask already, and what conditions decide.
            ExprKind::Masked(..)
            | ExprKind::Compare(..)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Not(_)
            | ExprKind::IsNull(_)
            | ExprKind::Like(..)
            | ExprKind::InList(..) => None,
            _ => {
                let mut mask = None;
                e.for_each_child(&mut |c| mask = Mask::either(mask.take(), self.of(c)));
                mask.map(Mask::computed)
            }
        }
    }

    /// The value behind its mask.
    pub fn put_on(&mut self, e: Expr) -> Expr {
        match self.of(&e) {
            None => e,
            Some(mask) => {
                let (ty, collation, nullable) = (e.ty, e.collation, e.nullable);
                let coercibility = e.coercibility;
                let kind = ExprKind::Masked(Arc::new(mask), Box::new(e));
                Expr { kind, ty, collation, coercibility, nullable }
            }
        }
    }
}

impl Binder<'_> {
    /// Remembers which columns of a table that is read are masked.
    pub(crate) fn note_masks(&mut self, table: &ArcTable) {
        let masks = of_table(table).into_iter().flat_map(|(_, mask)| mask.sources);
        self.masked.extend(masks);
    }

    /// The masks in a tree; nothing to look for where no table has any.
    pub(crate) fn masks(&self, rel: &Rel) -> Masks {
        let mut masks = Masks::default();
        if !self.masked.is_empty() {
            masks.add(rel);
        }
        masks
    }

    /// A query whose columns are behind their masks.
    pub(crate) fn masked_query(&mut self, query: BoundQuery) -> BoundQuery {
        if self.masked.is_empty() {
            return query;
        }
        let BoundQuery { rel, mut columns } = query;
        let mut masks = self.masks(&rel);
        let mut exprs = Vec::new();
        for c in &mut columns {
            let value = masks.put_on(self.read(c.slot));
            if matches!(value.kind, ExprKind::Masked(..)) {
                let info = SlotInfo { ..self.slots[c.slot as usize].clone() };
                let slot = self.new_slot(info);
                exprs.push((slot, value));
                c.slot = slot;
            }
        }
        BoundQuery { rel: rel.project(exprs), columns }
    }
}
