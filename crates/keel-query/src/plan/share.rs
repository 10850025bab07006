//! Parts of a query that stand in it more than once, as a CTE or a view does that is named twice: their rows can be computed once.
//!
//! A CTE is bound anew in each place, so that conditions go down into each by themselves. After that the parts that group,
//! distinguish or number rows are compared: two are the same when they are written the same, each with its slots counted from its
//! leaves up. The largest such parts become [`Rel::Shared`]. Whether that is cheaper than computing them in each place, where
//! there may be an index for what the place asks for, is for the planner to say, who plans both.
//!
//! Not shared: what reads the query around it, has subqueries in expressions, is volatile, locks rows for a change, or reads
//! anything but stored tables.

use crate::bind::rel::{Aggregate, Get, Rel, SharedRel, SlotSet, SortKey};
use crate::expr::{Expr, Slot};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// Trees of more nodes are left as they are: writing their parts down would take longer than it saves.
const NODES_MAX: usize = 2000;

/// The tree with shared parts; `None` when it has none.
#[must_use]
pub fn shared(rel: &Rel, need: &SlotSet) -> Option<Rel> {
    let mut nodes = 0;
    if candidates(rel, &mut nodes) < 2 || nodes > NODES_MAX {
        return None;
    }
    let mut read = need.clone();
    rel.add_used(&mut read);
    let mut sharing = Sharing { read, parts: HashMap::new(), made: 0 };
    sharing.count(rel);
    sharing.parts.retain(|_, part| part.places > 1);
    if sharing.parts.is_empty() {
        return None;
    }
    Some(sharing.replace(rel.clone(), 1))
}

fn is_candidate(rel: &Rel) -> bool {
    matches!(rel, Rel::Aggregate { .. } | Rel::Distinct { .. } | Rel::Window { .. })
}

fn candidates(rel: &Rel, nodes: &mut usize) -> usize {
    *nodes += 1;
    let below: usize = rel.inputs().into_iter().map(|r| candidates(r, nodes)).sum();
    below + usize::from(is_candidate(rel))
}

/// Parts that are written the same.
struct Part {
    places: usize,
    /// Columns, as counted in the text, that some place reads.
    columns: Vec<usize>,
    made: Option<Arc<SharedRel>>,
}

struct Sharing {
    /// Slots that the query reads anywhere.
    read: SlotSet,
    parts: HashMap<String, Part>,
    made: usize,
}

impl Sharing {
    fn count(&mut self, rel: &Rel) {
        if let Some(text) = Text::of(rel) {
            let read: Vec<usize> = rel.produced().intersection(&self.read).map(|s| text.slots[s]).collect();
            let part =
                self.parts.entry(text.text).or_insert(Part { places: 0, columns: Vec::new(), made: None });
            part.places += 1;
            part.columns.extend(read);
            part.columns.sort_unstable();
            part.columns.dedup();
        }
        rel.inputs().into_iter().for_each(|r| self.count(r));
    }

    /// Puts shared parts in. `places` is how often what is around it stands in the query: a part that stands there as often is
    /// in nothing else.
    fn replace(&mut self, mut rel: Rel, places: usize) -> Rel {
        let found = Text::of(&rel).filter(|t| self.parts.get(&t.text).is_some_and(|p| p.places > places));
        let Some(text) = found else {
            for input in rel.inputs_mut() {
                let old = std::mem::replace(input, Rel::One);
                *input = self.replace(old, places);
            }
            return rel;
        };
        let (part, columns) = match self.parts.get(&text.text) {
            Some(part) => (part, part.columns.clone()),
            None => return rel,
        };
        let (places, made) = (part.places, part.made.clone());
        let by_number: HashMap<usize, Slot> = text.slots.iter().map(|(slot, n)| (*n, *slot)).collect();
        let slots: Vec<Slot> = columns.iter().map(|n| by_number[n]).collect();
        let of = made.unwrap_or_else(|| {
            for input in rel.inputs_mut() {
                let old = std::mem::replace(input, Rel::One);
                *input = self.replace(old, places);
            }
            let made = Arc::new(SharedRel { number: self.made, rel, slots: slots.clone(), places });
            self.made += 1;
            made
        });
        if let Some(part) = self.parts.get_mut(&text.text) {
            part.made = Some(of.clone());
        }
        Rel::Shared { of, slots }
    }
}

/// A part written down with its slots numbered in the order they are made.
#[derive(Default)]
struct Text {
    text: String,
    slots: HashMap<Slot, usize>,
}

impl Text {
    fn of(rel: &Rel) -> Option<Text> {
        let mut text = Text::default();
        (is_candidate(rel) && text.rel(rel).is_some()).then_some(text)
    }

    fn made(&mut self, slot: Slot) {
        let number = self.slots.len();
        self.slots.entry(slot).or_insert(number);
    }

    /// `None` when a slot is not made below.
    fn read(&mut self, slots: &[Slot]) -> Option<()> {
        for s in slots {
            let _ = write!(self.text, "#{}", self.slots.get(s)?);
        }
        Some(())
    }

    fn expr(&mut self, e: &Expr) -> Option<()> {
        if e.has_subquery() || e.is_volatile() {
            return None;
        }
        let mut renamed = e.clone();
        self.rename(&mut renamed)?;
        let _ = write!(self.text, "{renamed:?};");
        Some(())
    }

    fn rename(&self, e: &mut Expr) -> Option<()> {
        if let crate::expr::ExprKind::Slot(s) = &mut e.kind {
            *s = Slot::try_from(*self.slots.get(s)?).ok()?;
        }
        let mut known = true;
        e.for_each_child_mut(&mut |c| known = known && self.rename(c).is_some());
        known.then_some(())
    }

    fn exprs<'e>(&mut self, of: impl IntoIterator<Item = &'e Expr>) -> Option<()> {
        of.into_iter().try_for_each(|e| self.expr(e))
    }

    fn keys(&mut self, keys: &[SortKey]) -> Option<()> {
        keys.iter().try_for_each(|k| {
            let _ = write!(self.text, "{}", k.descending);
            self.expr(&k.expr)
        })
    }

    fn table(&mut self, g: &Get) -> Option<()> {
        let locks = g.hints.update || g.hints.exclusive || g.hints.table_exclusive;
        if g.target || locks {
            return None;
        }
        let t = &g.table;
        let tree = t.clustered().tree;
        let _ = write!(self.text, "{:?}.{}.{}.{tree:?}{:?}", t.database, t.object_id, t.name, g.hints);
        (0..t.columns.len()).for_each(|i| self.made(g.slot(i)));
        self.made(g.locator);
        self.exprs(&g.policy)
    }

    fn aggregates(&mut self, aggs: &[Aggregate]) -> Option<()> {
        for a in aggs {
            let _ = write!(self.text, "{:?}{}{:?}", a.func, a.distinct, a.ty);
            self.exprs(a.arg.iter().chain(&a.separator))?;
            self.keys(&a.order)?;
        }
        Some(())
    }

    fn rel(&mut self, rel: &Rel) -> Option<()> {
        self.text.push('(');
        rel.inputs().into_iter().try_for_each(|r| self.rel(r))?;
        match rel {
            Rel::Get(g) => self.table(g)?,
            Rel::Filter { predicates, .. } => {
                self.text.push_str("filter");
                self.exprs(predicates)?;
            }
            Rel::Project { exprs, .. } => {
                self.text.push_str("project");
                for (slot, e) in exprs {
                    self.expr(e)?;
                    self.made(*slot);
                }
            }
            Rel::Join { kind, on, hint, .. } => {
                let _ = write!(self.text, "join{kind:?}{hint:?}");
                self.exprs(on)?;
            }
            Rel::Aggregate { groups, sets, grouping_id, aggs, scalar, .. } => {
                let _ = write!(self.text, "aggregate{sets:?}{}{scalar}", grouping_id.is_some());
                self.exprs(groups.iter().map(|(_, e)| e))?;
                self.aggregates(aggs)?;
                groups.iter().for_each(|(slot, _)| self.made(*slot));
                aggs.iter().for_each(|a| self.made(a.slot));
                grouping_id.iter().for_each(|slot| self.made(*slot));
            }
            Rel::Window { partition, order, calls, .. } => {
                self.text.push_str("window");
                self.exprs(partition)?;
                self.keys(order)?;
                for c in calls {
                    let _ = write!(self.text, "{:?}{:?}{:?}{}", c.func, c.frame, c.ty, c.ignore_nulls);
                    self.exprs(&c.args)?;
                }
                calls.iter().for_each(|c| self.made(c.slot));
            }
            Rel::Distinct { slots, .. } => {
                self.text.push_str("distinct");
                self.read(slots)?;
            }
            Rel::SetOp { kind, left_slots, right_slots, slots, .. } => {
                let _ = write!(self.text, "set{kind:?}");
                self.read(left_slots)?;
                self.read(right_slots)?;
                slots.iter().for_each(|slot| self.made(*slot));
            }
            _ => return None,
        }
        self.text.push(')');
        Some(())
    }
}
