//! Groups and distinct rows: by their order where the input has one, by a hash table otherwise, or as HASH GROUP and ORDER GROUP say.

use super::physical::{Planned, positions};
use super::{Planner, SortOrder, cost};
use crate::bind::Grouping;
use crate::bind::rel::{Aggregate, Rel, SlotSet, SortKey};
use crate::errors::Result;
use crate::exec::node::{AggregateCall, AggregateNode, DistinctNode, Op};
use crate::expr::{Expr, Slot};
use keel_types::SqlType;
use keel_types::key::KeyColumn;
use std::sync::Arc;

impl Planner<'_, '_> {
    /// DISTINCT; `row_goal` when few rows of it are wanted.
    pub(super) fn plan_distinct(
        &mut self,
        input: Rel,
        slots: Vec<Slot>,
        row_goal: Option<f64>,
    ) -> Result<Planned> {
        let inside: SlotSet = slots.iter().copied().collect();
        let grouping = self.grouping_above(&input);
        let planned = self.plan_grouped(input, &inside, Some(slots.clone()), grouping)?;
        let columns = slots.iter().map(|s| (*s as usize, self.key_column(*s))).collect();
        let (rows, cost) = (planned.node.rows, planned.node.cost);
        let distinct = self.distinct_of(&slots, rows);
        // Equal rows arrive together when the order is by all columns, whichever comes first.
        let open = slots.iter().filter(|s| !planned.fixed.contains(s)).count();
        let by = planned.order.iter().map(|(s, _)| s).filter(|s| !planned.fixed.contains(s));
        let by: SlotSet = by.take(open).copied().collect();
        let ordered = slots.iter().all(|s| by.contains(s) || planned.fixed.contains(s))
            && grouping != Some(Grouping::Hash);
        let few = row_goal.is_some();
        let node = DistinctNode { input: Arc::new(planned.node), columns, ordered, few };
        let cost = cost + rows * if ordered { cost::TOUCH } else { cost::HASH_BUILD };
        let mut out = Planned::plain(Op::Distinct(Arc::new(node)), distinct, cost, inside);
        if ordered {
            out.order = planned.order;
        }
        out.fixed = planned.fixed;
        Ok(out)
    }

    /// Input whose equal rows are to be found; sorted by the columns in question where ORDER GROUP asks for that.
    fn plan_grouped(
        &mut self,
        input: Rel,
        need: &SlotSet,
        by: Option<Vec<Slot>>,
        grouping: Option<Grouping>,
    ) -> Result<Planned> {
        match by.filter(|by| !by.is_empty() && grouping == Some(Grouping::Order)) {
            Some(by) => {
                let key = |slot| SortKey { expr: self.binder.read(slot), descending: false };
                let keys = by.into_iter().map(key).collect();
                self.plan_sort(input, keys, need, Vec::new(), None)
            }
            None => self.plan(input, need, &SortOrder::NONE),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one logical node")]
    pub(super) fn plan_aggregate(
        &mut self,
        input: Rel,
        groups: Vec<(Slot, Expr)>,
        sets: Option<Vec<Vec<usize>>>,
        grouping_id: Option<Slot>,
        aggs: Vec<Aggregate>,
        scalar: bool,
        need: &SlotSet,
    ) -> Result<Planned> {
        let aggs: Vec<Aggregate> = aggs.into_iter().filter(|a| need.contains(&a.slot)).collect();
        let mut inside = SlotSet::new();
        groups.iter().for_each(|(_, e)| e.add_slots(&mut inside));
        for a in &aggs {
            a.arg.iter().chain(&a.separator).for_each(|e| e.add_slots(&mut inside));
            a.order.iter().for_each(|k| k.expr.add_slots(&mut inside));
        }
        let group_slots: Option<Vec<Slot>> = groups.iter().map(|(_, e)| e.as_slot()).collect();
        let sorted = group_slots.clone().filter(|_| sets.is_none() && !scalar);
        let grouping = self.grouping_above(&input);
        let planned = self.plan_grouped(input, &inside, sorted, grouping)?;
        let hashed = grouping == Some(Grouping::Hash);
        let ordered = sets.is_none()
            && (scalar
                || !hashed
                    && group_slots.as_ref().is_some_and(|g| {
                        let have: Vec<Slot> = planned
                            .order
                            .iter()
                            .map(|(s, _)| *s)
                            .filter(|s| !planned.fixed.contains(s))
                            .collect();
                        let open: Vec<&Slot> = g.iter().filter(|s| !planned.fixed.contains(s)).collect();
                        open.len() <= have.len() && have[..open.len()].iter().all(|s| open.contains(&s))
                    }));
        let shown = self.show_aggregate(&groups, &aggs, ordered);
        let rows = planned.node.rows;
        let estimated = if scalar && groups.is_empty() {
            1.0
        } else {
            let slots: Vec<Slot> = groups.iter().flat_map(|(_, e)| e.slots()).collect();
            self.distinct_of(&slots, rows) * sets.as_ref().map_or(1.0, |s| s.len() as f64)
        };
        let cost = planned.node.cost + rows * if ordered { cost::TOUCH } else { cost::HASH_BUILD };
        let mut produced: SlotSet = groups.iter().map(|(s, _)| *s).collect();
        produced.extend(aggs.iter().map(|a| a.slot));
        produced.extend(grouping_id);
        let order = if ordered && !scalar {
            let rename = |s: Slot| groups.iter().find(|(_, e)| e.as_slot() == Some(s)).map(|(g, _)| *g);
            planned.order.iter().map_while(|(s, d)| rename(*s).map(|g| (g, *d))).collect()
        } else {
            Vec::new()
        };
        let mut keys = Vec::new();
        for (slot, e) in &groups {
            let column =
                KeyColumn::ascending(if e.ty == SqlType::Null { SqlType::Int } else { e.ty }, e.collation);
            keys.push((self.compiler().value(e)?, column, *slot as usize));
        }
        let calls = aggs.iter().map(|a| self.aggregate_call(a)).collect::<Result<Vec<_>>>()?;
        let input_slots = positions(planned.produced.intersection(&inside).copied());
        let node = AggregateNode {
            input: Arc::new(planned.node),
            groups: keys,
            sets,
            grouping_id: grouping_id.map(|s| s as usize),
            aggs: calls,
            input_slots,
            scalar: scalar && groups.is_empty(),
            ordered,
            shown,
        };
        let mut out = Planned::plain(Op::Aggregate(Arc::new(node)), estimated, cost, produced);
        out.order = order;
        Ok(out)
    }

    fn aggregate_call(&mut self, a: &Aggregate) -> Result<AggregateCall> {
        Ok(AggregateCall {
            func: a.func,
            arg: a.arg.as_ref().map(|e| self.compiler().value(e)).transpose()?,
            arg_ty: a.arg.as_ref().map_or(SqlType::Int, |e| e.ty),
            collation: a.arg.as_ref().map(|e| e.collation).unwrap_or_default(),
            separator: a.separator.as_ref().map(|e| self.compiler().value(e)).transpose()?,
            order: self.order_keys(&a.order)?,
            distinct: a.distinct,
            slot: a.slot as usize,
            ty: a.ty,
        })
    }
}
