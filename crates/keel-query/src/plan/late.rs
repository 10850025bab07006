//! Columns decoded late: those that only the branches of CASE expressions read.
//!
//! A row's columns become values when the row is read. Of columns that are read in branches alone, one for a case each,
//! most would be decoded for nothing; so where the expressions stand right above a table's access, the access keeps the
//! row, and a branch decodes its columns when it is taken.
//!
//! Deliberately absent: accesses that test a condition or look rows up themselves, and expressions with queries.

use super::Planner;
use crate::bind::rel::SlotSet;
use crate::exec::node::{Decode, Node, Op};
use crate::expr::{Expr, ExprKind, Slot};
use std::sync::Arc;

impl Planner<'_, '_> {
    /// Takes out of an access what only branches of `readers` read, to be called before these are compiled. `elsewhere`
    /// are the slots that others read.
    pub fn decode_late<'e>(
        &mut self,
        node: &mut Node,
        readers: impl Iterator<Item = &'e Expr> + Clone,
        elsewhere: &SlotSet,
    ) {
        let Op::Access(access) = &mut node.op else { return };
        let Some(access) = Arc::get_mut(access) else { return };
        let plain = access.tests.is_empty() && access.lookup.is_none() && !access.direct;
        if !plain || access.row_key.is_some() || readers.clone().any(Expr::has_subquery) {
            return;
        }
        let mut certain = elsewhere.clone();
        readers.for_each(|e| add_certain_slots(e, &mut certain));
        let (now, late): (Vec<Decode>, Vec<Decode>) =
            access.decode.drain(..).partition(|d| certain.contains(&(d.slot as Slot)));
        access.decode = now;
        access.keeps_row = !late.is_empty();
        self.late.extend(late);
    }
}

/// Adds the slots that an expression reads whenever it is evaluated. Conditions count as always tested.
fn add_certain_slots(e: &Expr, set: &mut SlotSet) {
    match &e.kind {
        ExprKind::Case(whens, _) => whens.iter().for_each(|(condition, _)| condition.add_slots(set)),
        ExprKind::FirstOf(parts) => parts.first().iter().for_each(|first| add_certain_slots(first, set)),
        ExprKind::Slot(slot) => {
            set.insert(*slot);
        }
        _ => e.for_each_child(&mut |child| add_certain_slots(child, set)),
    }
}
