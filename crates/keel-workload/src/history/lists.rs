//! Lists to which transactions append numbers that nobody appends twice.
//!
//! A read shows a list whole, and with it in which order its writers came. From that follow, for the reads of transactions that
//! are known, and the appends of those that are known or seen to have committed:
//!
//! ```text
//!   ww   T appended right before U did                T → U
//!   wr   U read a list that ends with T's append      T → U
//!   rw   T read a list that U's append comes after    T → U
//! ```
//!
//! | anomaly | what it is |
//! | --- | --- |
//! | G0 | a cycle of ww |
//! | G1a | a read of what an aborted transaction appended |
//! | G1b | a read of what a transaction appended to a list before it appended more to it |
//! | G1c | a cycle of ww and wr |
//! | G-single | a cycle with exactly one rw |
//! | G2 | a cycle with more than one |
//!
//! Beside these: acknowledged appends that are not there in the end, numbers that nobody appended, lists of which neither is the
//! beginning of the other, numbers twice in a list, and transactions that do not see what they have appended themselves.

use super::Outcome;
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// One step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// This number was appended to this list.
    Append(i64, i64),
    /// This list was read. `None`: the answer did not come.
    Read(i64, Option<Vec<i64>>),
}

/// A transaction as its client saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// How it ended.
    pub outcome: Outcome,
}

/// What the isolation level lets happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// G-single and G2 may happen.
    ReadCommitted,
    /// G2 may happen (write skew).
    Snapshot,
    /// Nothing may.
    Serializable,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An acknowledged append is not there in the end.
    Lost,
    /// A number was read that nobody appended.
    Phantom,
    /// A number is twice in a list.
    Doubled,
    /// Two reads of a list of which neither is the beginning of the other.
    Parted,
    /// A transaction does not see its own appends.
    Internal,
    /// See the module.
    G0,
    /// See the module.
    G1a,
    /// See the module.
    G1b,
    /// See the module.
    G1c,
    /// See the module.
    GSingle,
    /// See the module.
    G2,
}

impl Kind {
    /// Whether it may happen at this level.
    #[must_use]
    pub fn is_allowed(self, level: Isolation) -> bool {
        match self {
            Kind::GSingle => level < Isolation::Snapshot,
            Kind::G2 => level < Isolation::Serializable,
            _ => false,
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// What.
    pub kind: Kind,
    /// Transactions concerned, by their place in the history.
    pub transactions: Vec<usize>,
    /// In words.
    pub what: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {} (transactions {:?})", self.kind, self.what, self.transactions)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Ww,
    Wr,
    Rw,
}

/// Everything that is wrong with a history at any level. `last` holds each list as it was read when all was over.
#[must_use]
pub fn check(history: &[Transaction], last: &BTreeMap<i64, Vec<i64>>) -> Vec<Anomaly> {
    let mut check = Check { history, found: Vec::new(), writers: BTreeMap::new(), orders: last.clone() };
    check.note_writers();
    check.note_reads();
    check.look_for_losses(last);
    check.look_for_cycles();
    check.found
}

struct Check<'a> {
    history: &'a [Transaction],
    found: Vec<Anomaly>,
    /// Who appended a number to a list.
    writers: BTreeMap<(i64, i64), usize>,
    /// The longest that each list was seen.
    orders: BTreeMap<i64, Vec<i64>>,
}

impl Check<'_> {
    fn find(&mut self, kind: Kind, transactions: Vec<usize>, what: String) {
        self.found.push(Anomaly { kind, transactions, what });
    }

    fn note_writers(&mut self) {
        for (t, transaction) in self.history.iter().enumerate() {
            for step in &transaction.steps {
                if let Step::Append(list, number) = step {
                    self.writers.insert((*list, *number), t);
                }
            }
        }
    }

    /// Only reads of transactions that committed count. Before that a transaction may be shown what is not hardened yet, as long
    /// as it cannot commit without it.
    fn note_reads(&mut self) {
        let mut reads: Vec<(Option<usize>, i64, Vec<i64>)> =
            self.orders.iter().map(|(list, seen)| (None, *list, seen.clone())).collect();
        for (t, transaction) in self.history.iter().enumerate() {
            let mut own: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
            for step in &transaction.steps {
                match step {
                    Step::Append(list, number) => own.entry(*list).or_default().push(*number),
                    Step::Read(list, Some(seen)) => {
                        let mine = own.get(list).map_or(&[][..], Vec::as_slice);
                        if !seen.ends_with(mine) {
                            let what = format!("list {list} was read as {seen:?} after appending {mine:?}");
                            self.find(Kind::Internal, vec![t], what);
                        } else if transaction.outcome == Outcome::Ok {
                            // What it appended itself is in nobody else's order before it commits.
                            let before = seen[..seen.len() - mine.len()].to_vec();
                            reads.push((Some(t), *list, before));
                        }
                    }
                    Step::Read(_, None) => {}
                }
            }
        }
        for (t, list, seen) in reads {
            self.note_read(t, list, &seen);
        }
    }

    fn note_read(&mut self, t: Option<usize>, list: i64, seen: &[i64]) {
        let reader: Vec<usize> = t.into_iter().collect();
        if seen.iter().collect::<BTreeSet<_>>().len() != seen.len() {
            self.find(Kind::Doubled, reader.clone(), format!("list {list} was read as {seen:?}"));
        }
        for number in seen {
            match self.writers.get(&(list, *number)).copied() {
                None => {
                    let what = format!("{number} in list {list} was appended by nobody");
                    self.find(Kind::Phantom, reader.clone(), what);
                }
                Some(writer) if self.history[writer].outcome == Outcome::Fail => {
                    let both = reader.iter().copied().chain([writer]).collect();
                    let what =
                        format!("{number} in list {list} was appended by a transaction that was taken back");
                    self.find(Kind::G1a, both, what);
                }
                Some(_) => {}
            }
        }
        if let Some((newest, writer)) = seen.last().and_then(|n| Some((*n, *self.writers.get(&(list, *n))?)))
            && t != Some(writer)
            && self.final_append(writer, list) != Some(newest)
        {
            let both = reader.iter().copied().chain([writer]).collect();
            self.find(
                Kind::G1b,
                both,
                format!("list {list} was read up to {newest}, in the midst of its writer"),
            );
        }
        let order = self.orders.entry(list).or_default();
        let common = order.len().min(seen.len());
        if order[..common] != seen[..common] {
            let what = format!("list {list} was read as {seen:?} and as {order:?}");
            self.find(Kind::Parted, reader, what);
        } else if seen.len() > order.len() {
            *order = seen.to_vec();
        }
    }

    fn final_append(&self, writer: usize, list: i64) -> Option<i64> {
        self.history[writer].steps.iter().rev().find_map(|step| match step {
            Step::Append(l, number) if *l == list => Some(*number),
            _ => None,
        })
    }

    fn look_for_losses(&mut self, last: &BTreeMap<i64, Vec<i64>>) {
        for (t, transaction) in self.history.iter().enumerate() {
            if transaction.outcome != Outcome::Ok {
                continue;
            }
            for step in &transaction.steps {
                if let Step::Append(list, number) = step
                    && !last.get(list).is_some_and(|numbers| numbers.contains(number))
                {
                    let what =
                        format!("{number} was appended to list {list}, acknowledged, and is not there");
                    self.found.push(Anomaly { kind: Kind::Lost, transactions: vec![t], what });
                }
            }
        }
    }

    // ---- cycles -----------------------------------------------------------------------------------------------------

    fn graph(&self) -> DiGraph<usize, Edge> {
        let mut graph = DiGraph::new();
        let nodes: Vec<NodeIndex> = (0..self.history.len()).map(|t| graph.add_node(t)).collect();
        let mut add = |from: usize, to: usize, edge: Edge| {
            if from != to {
                graph.update_edge_kind(nodes[from], nodes[to], edge);
            }
        };
        for (list, order) in &self.orders {
            let writers: Vec<Option<usize>> =
                order.iter().map(|n| self.writers.get(&(*list, *n)).copied()).collect();
            for pair in writers.windows(2) {
                if let [Some(from), Some(to)] = pair {
                    add(*from, *to, Edge::Ww);
                }
            }
        }
        for (t, transaction) in self.history.iter().enumerate() {
            if transaction.outcome != Outcome::Ok {
                continue;
            }
            let mut own: BTreeSet<i64> = BTreeSet::new();
            for step in &transaction.steps {
                match step {
                    Step::Append(list, _) => drop(own.insert(*list)),
                    // Behind its own appends it reads what it already depends on by them.
                    Step::Read(list, Some(seen)) if !own.contains(list) => {
                        let order = &self.orders[list];
                        let writer = |n: &i64| self.writers.get(&(*list, *n)).copied();
                        if let Some(from) = seen.last().and_then(writer) {
                            add(from, t, Edge::Wr);
                        }
                        if let Some(to) = order.get(seen.len()).and_then(writer) {
                            add(t, to, Edge::Rw);
                        }
                    }
                    Step::Read(..) => {}
                }
            }
        }
        graph
    }

    fn look_for_cycles(&mut self) {
        let graph = self.graph();
        for component in tarjan_scc(&graph).into_iter().filter(|c| c.len() > 1) {
            let inside: BTreeSet<NodeIndex> = component.iter().copied().collect();
            let edges: Vec<(NodeIndex, NodeIndex, Edge)> = graph
                .edge_references()
                .filter(|e| inside.contains(&e.source()) && inside.contains(&e.target()))
                .map(|e| (e.source(), e.target(), *e.weight()))
                .collect();
            if let Some((kind, cycle)) = worst_cycle(&edges) {
                let transactions: Vec<usize> = cycle.iter().map(|n| graph[*n]).collect();
                let steps: Vec<String> =
                    transactions.iter().map(|t| format!("{:?}", self.history[*t].steps)).collect();
                self.find(kind, transactions, format!("each depends on the next: {}", steps.join(" -> ")));
            }
        }
    }
}

/// The worst cycle that a component holds: with the fewest kinds of dependencies.
fn worst_cycle(edges: &[(NodeIndex, NodeIndex, Edge)]) -> Option<(Kind, Vec<NodeIndex>)> {
    let closing = |which: Edge, by: &[Edge]| {
        let with = edges.iter().filter(|e| e.2 == which);
        with.filter_map(|(from, to, _)| path(edges, *to, *from, by)).min_by_key(Vec::len)
    };
    let tries: [(Kind, Edge, &[Edge]); 4] = [
        (Kind::G0, Edge::Ww, &[Edge::Ww]),
        (Kind::G1c, Edge::Wr, &[Edge::Ww, Edge::Wr]),
        (Kind::GSingle, Edge::Rw, &[Edge::Ww, Edge::Wr]),
        (Kind::G2, Edge::Rw, &[Edge::Ww, Edge::Wr, Edge::Rw]),
    ];
    tries.into_iter().find_map(|(kind, which, by)| Some((kind, closing(which, by)?)))
}

/// The shortest way over edges of these kinds.
fn path(
    edges: &[(NodeIndex, NodeIndex, Edge)],
    from: NodeIndex,
    to: NodeIndex,
    by: &[Edge],
) -> Option<Vec<NodeIndex>> {
    let mut before: BTreeMap<NodeIndex, NodeIndex> = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        if at == to {
            let mut way = vec![at];
            while let Some(previous) = way.last().filter(|n| **n != from).and_then(|n| before.get(n)) {
                way.push(*previous);
            }
            way.reverse();
            return Some(way);
        }
        for (_, next, _) in edges.iter().filter(|e| e.0 == at && by.contains(&e.2)) {
            if *next != from && !before.contains_key(next) {
                before.insert(*next, at);
                queue.push_back(*next);
            }
        }
    }
    None
}

/// Parallel dependencies of different kinds are kept, the same one is not kept twice.
trait UpdateKind {
    fn update_edge_kind(&mut self, from: NodeIndex, to: NodeIndex, edge: Edge);
}

impl UpdateKind for DiGraph<usize, Edge> {
    fn update_edge_kind(&mut self, from: NodeIndex, to: NodeIndex, edge: Edge) {
        if !self.edges_connecting(from, to).any(|e| *e.weight() == edge) {
            self.add_edge(from, to, edge);
        }
    }
}

#[cfg(test)]
mod tests;
