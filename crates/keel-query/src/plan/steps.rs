//! A plan as a tree of [`Step`]s: what SHOWPLAN_TEXT prints line by line, and what the other forms of a plan are made from.
//!
//! A step is an operator as the product would name it. That is nearly a [`Node`]; the one exception is an index with lookups, one node
//! here and three steps there.

use super::SubPlan;
use super::missing::Lack;
use super::run::Body;
use super::shown::{Part, Shown};
use crate::bind::rel::SetKind;
use crate::dml::DmlPlan;
use crate::exec::node::{Access, Decode, Node, Op};
use keel_types::SqlType;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Size taken for a value of no certain length, in bytes.
const VALUE_BYTES: u32 = 8;

/// And for one of a `max` type, as the product estimates it.
const LONG_BYTES: u32 = 4000;

/// What is asserted of a subquery that gives one value.
const ONE_ROW: &str = "CASE WHEN COUNT(*)>(1) THEN (0) ELSE NULL END";

/// An operator of a plan.
pub struct Step<'p> {
    /// Its names and arguments.
    pub shown: Cow<'p, Shown>,
    /// Estimated rows each time it is executed.
    pub rows: f64,
    /// Estimated executions.
    pub executions: f64,
    /// Estimated cost of all executions with everything below it, in units of one row read.
    pub cost: f64,
    /// Estimated size of a row, in bytes.
    pub bytes: u32,
    /// The node whose rows are counted as this step's ([`Node::identity`]).
    pub node: usize,
    /// Several threads may run it.
    pub parallel: bool,
    /// The index that it lacks.
    pub(super) lacks: Option<&'p Lack>,
    /// What it reads from.
    pub inputs: Vec<Step<'p>>,
}

impl Step<'_> {
    /// Its own part of the cost.
    #[must_use]
    pub fn own_cost(&self) -> f64 {
        (self.cost - self.inputs.iter().map(|i| i.cost).sum::<f64>()).max(0.0)
    }
}

/// The steps of a plan: of the statement, and of each subquery that is evaluated by itself.
pub(crate) fn steps<'p>(body: &'p Body, subplans: &'p [SubPlan]) -> Vec<Step<'p>> {
    let mut tree = Tree::default();
    let main = match body {
        Body::Query { root, .. } | Body::Assign { root, .. } => tree.step(root, 1.0),
        Body::Dml(dml) => change(dml, tree.step(&dml.source, 1.0)),
    };
    let asked = subplans.iter().filter(|s| s.is_asked());
    std::iter::once(main).chain(asked.map(|s| tree.step(&s.node, 1.0))).collect()
}

fn change<'p>(dml: &'p DmlPlan, source: Step<'p>) -> Step<'p> {
    Step {
        shown: Cow::Borrowed(&dml.shown),
        rows: source.rows,
        executions: 1.0,
        cost: source.cost + source.rows,
        bytes: source.bytes,
        node: dml.source.identity(),
        parallel: false,
        lacks: None,
        inputs: vec![source],
    }
}

/// Makes steps of nodes.
#[derive(Default)]
struct Tree {
    /// Shared parts whose inside has been shown: below the first place that reads them.
    shared: BTreeSet<usize>,
    /// Below a gather.
    parallel: bool,
}

impl Tree {
    /// A node that is opened so many times. An operator that brings together what several threads have made of its input shows as
    /// theirs, with the gather above it.
    fn step<'p>(&mut self, n: &'p Node, executions: f64) -> Step<'p> {
        let order = match &n.op {
            Op::Aggregate(a) if a.input.is_made_by_threads() => Some(Vec::new()),
            Op::Sort(s) if s.input.is_made_by_threads() => {
                let by = s.shown.parts.iter().find(|part| matches!(part, Part::OrderBy(_)));
                Some(by.into_iter().cloned().collect())
            }
            _ => None,
        };
        let Some(order) = order.filter(|_| !self.parallel) else { return self.own_step(n, executions) };
        self.parallel = true;
        let made = self.own_step(n, executions);
        self.parallel = false;
        Step {
            shown: Cow::Owned(Shown::of("Parallelism", "Gather Streams", order)),
            rows: made.rows,
            executions,
            cost: made.cost,
            bytes: made.bytes,
            node: made.node,
            parallel: true,
            lacks: None,
            inputs: vec![made],
        }
    }

    fn own_step<'p>(&mut self, n: &'p Node, executions: f64) -> Step<'p> {
        let made = |name, parts| Cow::Owned(Shown::new(name, parts));
        let parallel = self.parallel;
        let mut below = |input: &'p Node| self.step(input, executions);
        let (shown, inputs) = match &n.op {
            Op::One | Op::Empty => (made("Constant Scan", Vec::new()), Vec::new()),
            Op::Access(a) => return access(n, a, executions, parallel),
            // It is shown above what reads it.
            Op::Gather(g) if parallel => return self.step(&g.input, executions),
            Op::Virtual(v) => match v.table.0.change() {
                Some(change) => return change.steps().swap_remove(0),
                None => (Cow::Borrowed(&v.shown), Vec::new()),
            },
            Op::Values(_) => (made("Constant Scan", vec![Part::Word("VALUES")]), Vec::new()),
            Op::Filter(f) => (Cow::Borrowed(&f.shown), vec![below(&f.input)]),
            Op::Project(p) => (Cow::Borrowed(&p.shown), vec![below(&p.input)]),
            Op::Loop(l) => {
                let outer = below(&l.outer);
                let inner = self.step(&l.inner, executions * l.outer.rows.max(1.0));
                (Cow::Borrowed(&l.shown), vec![outer, inner])
            }
            Op::HashJoin(h) => (Cow::Borrowed(&h.shown), vec![below(&h.build), below(&h.probe)]),
            Op::Aggregate(a) => (Cow::Borrowed(&a.shown), vec![below(&a.input)]),
            Op::Sort(s) => (Cow::Borrowed(&s.shown), vec![below(&s.input)]),
            Op::Top(t) => (Cow::Borrowed(&t.shown), vec![below(&t.input)]),
            Op::Distinct(d) if d.ordered => {
                let group = vec![Part::GroupBy(Vec::new())];
                (Cow::Owned(Shown::of("Stream Aggregate", "Aggregate", group)), vec![below(&d.input)])
            }
            Op::Distinct(d) => {
                let logical = if d.few { "Flow Distinct" } else { "Aggregate" };
                (Cow::Owned(Shown::of("Hash Match", logical, Vec::new())), vec![below(&d.input)])
            }
            Op::SetOp(s) => {
                let shown = match s.kind {
                    SetKind::UnionAll => Shown::new("Concatenation", Vec::new()),
                    SetKind::Intersect => Shown::of("Hash Match", "Left Semi Join", Vec::new()),
                    SetKind::Except => Shown::of("Hash Match", "Left Anti Semi Join", Vec::new()),
                };
                (Cow::Owned(shown), vec![below(&s.left), below(&s.right)])
            }
            Op::Window(w) => (made("Window Aggregate", Vec::new()), vec![below(&w.input)]),
            Op::Recursive(r) => {
                let both = vec![below(&r.anchor), below(&r.step)];
                let all = Step {
                    shown: made("Concatenation", Vec::new()),
                    rows: n.rows,
                    executions,
                    cost: n.cost * executions,
                    bytes: both[0].bytes,
                    node: n.identity(),
                    parallel: false,
                    lacks: None,
                    inputs: both,
                };
                (spool("Index Spool", true), vec![all])
            }
            Op::WorkTable(_) => (spool("Table Spool", true), Vec::new()),
            Op::MaxOneRow(i) => (made("Assert", vec![Part::Where(ONE_ROW.to_owned())]), vec![below(i)]),
            Op::Spool(s) => (spool("Table Spool", false), vec![below(&s.input)]),
            Op::IndexSpool(s) => (Cow::Borrowed(&s.shown), vec![self.step(&s.fill, 1.0)]),
            Op::Gather(g) => {
                self.parallel = true;
                let input = self.step(&g.input, executions);
                self.parallel = false;
                let (rows, bytes, node) = (n.rows, input.bytes, g.input.identity());
                let (cost, inputs) = (n.cost.max(input.cost), vec![input]);
                let shown = Cow::Borrowed(&g.shown);
                let lacks = None;
                return Step { shown, rows, executions, cost, bytes, node, parallel: true, lacks, inputs };
            }
            Op::Shared(s) => {
                let first = self.shared.insert(s.of.number);
                (
                    spool("Table Spool", false),
                    if first { vec![self.step(s.of.input(), 1.0)] } else { Vec::new() },
                )
            }
        };
        let bytes = inputs.iter().map(|i| i.bytes).sum::<u32>().max(VALUE_BYTES);
        let cost = (n.cost * executions).max(inputs.iter().map(|i| i.cost).sum());
        let (node, parallel) = (n.identity(), self.parallel);
        Step { shown, rows: n.rows, executions, cost, bytes, node, parallel, lacks: None, inputs }
    }
}

fn spool(name: &'static str, stack: bool) -> Cow<'static, Shown> {
    let parts = if stack { vec![Part::Word("WITH STACK")] } else { Vec::new() };
    Cow::Owned(Shown::of(name, "Lazy Spool", parts))
}

/// An index, and the rows it points to.
fn access<'p>(n: &Node, a: &'p Access, executions: f64, parallel: bool) -> Step<'p> {
    let read = |shown: &'p Shown, decode: &[Decode], rows: f64, executions: f64, cost: f64| Step {
        shown: Cow::Borrowed(shown),
        rows,
        executions,
        cost,
        bytes: decode.iter().map(|d| bytes_of(&d.ty)).sum::<u32>().max(VALUE_BYTES),
        node: n.identity(),
        parallel,
        lacks: None,
        inputs: Vec::new(),
    };
    let cost = n.cost * executions;
    let (Some(lookup), Some(shown)) = (&a.lookup, &a.shown_lookup) else {
        let read = read(&a.shown, &a.decode, n.rows, executions, cost);
        return Step { lacks: a.lacks.as_deref(), ..read };
    };
    let fetched = super::cost::LOOKUP * n.rows * executions;
    let found = read(&a.shown, &a.decode, n.rows, executions, (cost - fetched).max(0.0));
    let fetch = read(shown, &lookup.decode, 1.0, executions * n.rows.max(1.0), fetched.min(cost));
    Step {
        shown: Cow::Owned(Shown::of("Nested Loops", "Inner Join", Vec::new())),
        rows: n.rows,
        executions,
        cost,
        bytes: found.bytes + fetch.bytes,
        node: n.identity(),
        parallel,
        lacks: a.lacks.as_deref(),
        inputs: vec![found, fetch],
    }
}

/// What a value takes, by its type: half of the most for those whose length varies, as the product estimates it.
fn bytes_of(ty: &SqlType) -> u32 {
    let varies = matches!(ty, SqlType::VarChar(_) | SqlType::NVarChar(_) | SqlType::VarBinary(_));
    match u32::try_from(ty.max_length_bytes()) {
        Ok(most) if varies => (most / 2).max(1),
        Ok(most) => most,
        Err(_) => LONG_BYTES,
    }
}

/// The lines of SHOWPLAN_TEXT, each step below the one that reads it.
pub(crate) fn lines(all: &[Step<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    all.iter().for_each(|step| add_lines(step, 0, &mut lines));
    lines
}

/// How a step's line begins, so far below the topmost.
#[must_use]
pub fn indented(depth: usize, line: &str) -> String {
    format!("{}|--{line}", " ".repeat(2 + depth * 5))
}

fn add_lines(step: &Step<'_>, depth: usize, lines: &mut Vec<String>) {
    lines.push(indented(depth, &step.shown.line()));
    step.inputs.iter().for_each(|input| add_lines(input, depth + 1, lines));
}
