//! Walking expressions and logical trees: slots used, substitution, properties.

use super::{Expr, ExprKind, Slot};
use crate::bind::rel::{Aggregate, Rel, SlotSet, SortKey, Subquery, SubqueryUse, WindowCall};
use std::collections::HashMap;
use std::sync::Arc;

impl Expr {
    /// Calls `f` on each direct operand, including the needle of a subquery but not its inside.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match &self.kind {
            ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Var(_) => {}
            ExprKind::Arith(_, a, b) | ExprKind::Compare(_, a, b) => {
                f(a);
                f(b);
            }
            ExprKind::Neg(a)
            | ExprKind::BitNot(a)
            | ExprKind::Not(a)
            | ExprKind::IsNull(a)
            | ExprKind::Masked(_, a) => f(a),
            ExprKind::And(list)
            | ExprKind::Or(list)
            | ExprKind::FirstOf(list)
            | ExprKind::Builtin(_, list)
            | ExprKind::Session { args: list, .. }
            | ExprKind::Udf(_, list) => list.iter().for_each(f),
            ExprKind::Case(whens, otherwise) => {
                for (c, v) in whens {
                    f(c);
                    f(v);
                }
                if let Some(e) = otherwise {
                    f(e);
                }
            }
            ExprKind::Cast(c) => {
                f(&c.input);
                if let Some(s) = &c.style {
                    f(s);
                }
            }
            ExprKind::Like(a, b, c) => {
                f(a);
                f(b);
                if let Some(c) = c {
                    f(c);
                }
            }
            ExprKind::InList(a, list) => {
                f(a);
                list.iter().for_each(f);
            }
            ExprKind::Subquery(s) => {
                if let SubqueryUse::Any { needle, .. } = &s.usage {
                    f(needle);
                }
            }
        }
    }

    /// Calls `f` on each direct operand, mutably. Subqueries are left alone.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            ExprKind::Const(_) | ExprKind::Slot(_) | ExprKind::Var(_) | ExprKind::Subquery(_) => {}
            ExprKind::Arith(_, a, b) | ExprKind::Compare(_, a, b) => {
                f(a);
                f(b);
            }
            ExprKind::Neg(a)
            | ExprKind::BitNot(a)
            | ExprKind::Not(a)
            | ExprKind::IsNull(a)
            | ExprKind::Masked(_, a) => f(a),
            ExprKind::And(list)
            | ExprKind::Or(list)
            | ExprKind::FirstOf(list)
            | ExprKind::Builtin(_, list)
            | ExprKind::Session { args: list, .. }
            | ExprKind::Udf(_, list) => list.iter_mut().for_each(f),
            ExprKind::Case(whens, otherwise) => {
                for (c, v) in whens {
                    f(c);
                    f(v);
                }
                if let Some(e) = otherwise {
                    f(e);
                }
            }
            ExprKind::Cast(c) => {
                f(&mut c.input);
                if let Some(s) = &mut c.style {
                    f(s);
                }
            }
            ExprKind::Like(a, b, c) => {
                f(a);
                f(b);
                if let Some(c) = c {
                    f(c);
                }
            }
            ExprKind::InList(a, list) => {
                f(a);
                list.iter_mut().for_each(f);
            }
        }
    }

    /// Adds every slot this expression reads. Slots that a subquery produces itself do not count.
    pub fn add_slots(&self, set: &mut SlotSet) {
        match &self.kind {
            ExprKind::Slot(s) => {
                set.insert(*s);
            }
            ExprKind::Subquery(s) => s.add_outer_slots(set),
            _ => self.for_each_child(&mut |c| c.add_slots(set)),
        }
    }

    /// The slots this expression reads.
    #[must_use]
    pub fn slots(&self) -> SlotSet {
        let mut set = SlotSet::new();
        self.add_slots(&mut set);
        set
    }

    /// Whether `f` holds for this node or any operand (not inside subqueries).
    pub fn any(&self, f: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if f(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |c| found = found || c.any(f));
        found
    }

    /// Contains a subquery.
    #[must_use]
    pub fn has_subquery(&self) -> bool {
        self.any(&mut |e| matches!(e.kind, ExprKind::Subquery(_)))
    }

    /// May give different values, or have effects, each time it runs within a statement.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        self.any(&mut |e| match &e.kind {
            ExprKind::Builtin(b, _) => !b.deterministic,
            ExprKind::Udf(..) => true,
            ExprKind::Session { stable, .. } => !stable,
            ExprKind::Masked(..) => true,
            _ => false,
        })
    }

    /// Whether it asks the session for something that changes while a statement runs: `IDENT_CURRENT`, the next value of a sequence.
    #[must_use]
    pub fn is_of_the_moment(&self) -> bool {
        self.any(&mut |e| matches!(e.kind, ExprKind::Session { stable: false, .. }))
    }

    /// Reads no slot and no variable and is not volatile.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        !self.any(&mut |e| {
            matches!(
                e.kind,
                ExprKind::Slot(_)
                    | ExprKind::Var(_)
                    | ExprKind::Subquery(_)
                    | ExprKind::Session { .. }
                    | ExprKind::Udf(..)
                    | ExprKind::Masked(..)
            ) || matches!(&e.kind, ExprKind::Builtin(b, _) if !b.foldable)
        })
    }

    /// Replaces slots by expressions, also inside subqueries.
    pub fn substitute(&mut self, map: &HashMap<Slot, Expr>) {
        match &mut self.kind {
            ExprKind::Slot(s) => {
                if let Some(e) = map.get(s) {
                    *self = e.clone();
                }
            }
            ExprKind::Subquery(s) => {
                let mut outer = SlotSet::new();
                s.add_outer_slots(&mut outer);
                if outer.iter().any(|o| map.contains_key(o)) {
                    let s = Arc::make_mut(s);
                    s.for_each_expr_mut(&mut |e| e.substitute(map));
                }
            }
            _ => self.for_each_child_mut(&mut |c| c.substitute(map)),
        }
    }
}

impl Subquery {
    /// Adds the slots of the outer query that it reads.
    pub fn add_outer_slots(&self, set: &mut SlotSet) {
        let mut inside = SlotSet::new();
        if let SubqueryUse::Any { needle, item, .. } = &self.usage {
            needle.add_slots(set);
            item.add_slots(&mut inside);
        }
        self.rel.add_used(&mut inside);
        let mut own = SlotSet::new();
        self.rel.add_all_produced(&mut own);
        set.extend(inside.difference(&own));
    }

    /// Every expression of it, mutably.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        if let SubqueryUse::Any { needle, item, .. } = &mut self.usage {
            f(needle);
            f(item);
        }
        self.rel.for_each_expr_mut(f);
    }
}

impl Rel {
    /// Direct inputs.
    pub fn inputs(&self) -> Vec<&Rel> {
        match self {
            Rel::One
            | Rel::Empty(_)
            | Rel::Get(_)
            | Rel::Virtual { .. }
            | Rel::Remote(_)
            | Rel::Values { .. }
            | Rel::Shared { .. }
            | Rel::WorkTable { .. } => {
                vec![]
            }
            Rel::Filter { input, .. }
            | Rel::Project { input, .. }
            | Rel::Aggregate { input, .. }
            | Rel::Window { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Top { input, .. }
            | Rel::Distinct { input, .. }
            | Rel::MaxOneRow { input } => vec![input],
            Rel::Join { left, right, .. } | Rel::SetOp { left, right, .. } => vec![left, right],
            Rel::Recursive { anchor, step, .. } => vec![anchor, step],
        }
    }

    /// Direct inputs, mutably.
    pub fn inputs_mut(&mut self) -> Vec<&mut Rel> {
        match self {
            Rel::One
            | Rel::Empty(_)
            | Rel::Get(_)
            | Rel::Virtual { .. }
            | Rel::Remote(_)
            | Rel::Values { .. }
            | Rel::Shared { .. }
            | Rel::WorkTable { .. } => {
                vec![]
            }
            Rel::Filter { input, .. }
            | Rel::Project { input, .. }
            | Rel::Aggregate { input, .. }
            | Rel::Window { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Top { input, .. }
            | Rel::Distinct { input, .. }
            | Rel::MaxOneRow { input } => vec![input],
            Rel::Join { left, right, .. } | Rel::SetOp { left, right, .. } => vec![left, right],
            Rel::Recursive { anchor, step, .. } => vec![anchor, step],
        }
    }

    /// The expressions of this node alone.
    pub fn for_own_exprs<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        fn keys<'a>(keys: &'a [SortKey], f: &mut dyn FnMut(&'a Expr)) {
            keys.iter().for_each(|k| f(&k.expr));
        }
        fn agg<'a>(a: &'a Aggregate, f: &mut dyn FnMut(&'a Expr)) {
            a.arg.iter().chain(&a.separator).for_each(&mut *f);
            keys(&a.order, f);
        }
        match self {
            Rel::Get(g) => g.policy.iter().for_each(f),
            Rel::Virtual { args, .. } => args.iter().for_each(f),
            Rel::Remote(remote) => remote.args.iter().for_each(|(_, e)| f(e)),
            Rel::Values { rows, .. } => rows.iter().flatten().for_each(f),
            Rel::Filter { predicates, .. } => predicates.iter().for_each(f),
            Rel::Project { exprs, .. } => exprs.iter().for_each(|(_, e)| f(e)),
            Rel::Join { on, .. } => on.iter().for_each(f),
            Rel::Aggregate { groups, aggs, .. } => {
                groups.iter().for_each(|(_, e)| f(e));
                aggs.iter().for_each(|a| agg(a, f));
            }
            Rel::Window { partition, order, calls, .. } => {
                partition.iter().for_each(&mut *f);
                keys(order, f);
                calls.iter().for_each(|c: &WindowCall| c.args.iter().for_each(&mut *f));
            }
            Rel::Sort { keys: k, .. } => keys(k, f),
            Rel::Top { count, ties, offset, .. } => {
                count.iter().chain(offset).for_each(&mut *f);
                if let Some(t) = ties {
                    keys(t, f);
                }
            }
            _ => {}
        }
    }

    /// Every expression in the tree, mutably.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Rel::Get(g) => g.policy.iter_mut().for_each(&mut *f),
            Rel::Virtual { args, .. } => args.iter_mut().for_each(&mut *f),
            Rel::Remote(remote) => remote.args.iter_mut().for_each(|(_, e)| f(e)),
            Rel::Values { rows, .. } => rows.iter_mut().flatten().for_each(&mut *f),
            Rel::Filter { predicates, .. } => predicates.iter_mut().for_each(&mut *f),
            Rel::Project { exprs, .. } => exprs.iter_mut().for_each(|(_, e)| f(e)),
            Rel::Join { on, .. } => on.iter_mut().for_each(&mut *f),
            Rel::Aggregate { groups, aggs, .. } => {
                groups.iter_mut().for_each(|(_, e)| f(e));
                for a in aggs {
                    a.arg.iter_mut().chain(&mut a.separator).for_each(&mut *f);
                    a.order.iter_mut().for_each(|k| f(&mut k.expr));
                }
            }
            Rel::Window { partition, order, calls, .. } => {
                partition.iter_mut().for_each(&mut *f);
                order.iter_mut().for_each(|k| f(&mut k.expr));
                calls.iter_mut().for_each(|c| c.args.iter_mut().for_each(&mut *f));
            }
            Rel::Sort { keys, .. } => keys.iter_mut().for_each(|k| f(&mut k.expr)),
            Rel::Top { count, ties, offset, .. } => {
                count.iter_mut().chain(offset).for_each(&mut *f);
                for k in ties.iter_mut().flatten() {
                    f(&mut k.expr);
                }
            }
            _ => {}
        }
        for input in self.inputs_mut() {
            input.for_each_expr_mut(f);
        }
    }

    /// Whether it has the same rows for the same outer values as long as the statement runs: it reads tables, no variable, and
    /// nothing volatile.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        let mut steady = !matches!(
            self,
            Rel::Virtual { .. } | Rel::Remote(_) | Rel::Shared { .. } | Rel::WorkTable { .. }
        );
        let varies = |e: &Expr| matches!(e.kind, ExprKind::Var(_) | ExprKind::Subquery(_));
        self.for_own_exprs(&mut |e| steady &= !e.is_volatile() && !e.any(&mut |e| varies(e)));
        steady && self.inputs().iter().all(|input| input.is_steady())
    }

    /// Adds every slot any node of the tree reads.
    pub fn add_used(&self, set: &mut SlotSet) {
        self.for_own_exprs(&mut |e| e.add_slots(set));
        match self {
            Rel::Distinct { slots, .. } => set.extend(slots),
            Rel::SetOp { left_slots, right_slots, .. } => {
                set.extend(left_slots);
                set.extend(right_slots);
            }
            Rel::Recursive { anchor_slots, step_slots, .. } => {
                set.extend(anchor_slots);
                set.extend(step_slots);
            }
            _ => {}
        }
        for input in self.inputs() {
            input.add_used(set);
        }
    }

    /// Adds every slot written anywhere in the tree, visible above or not.
    pub fn add_all_produced(&self, set: &mut SlotSet) {
        self.add_own_slots(set);
        for input in self.inputs() {
            input.add_all_produced(set);
        }
    }

    /// The slots it reads but does not produce: its outer references.
    #[must_use]
    pub fn outer_slots(&self) -> SlotSet {
        let (mut used, mut own) = (SlotSet::new(), SlotSet::new());
        self.add_used(&mut used);
        self.add_all_produced(&mut own);
        used.difference(&own).copied().collect()
    }
}
