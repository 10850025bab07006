//! Evaluation: sequences are vectors, a step of a path goes over all nodes at once.

use super::ast::{Arith, Axis, Element, Expr, Flwor, ItemType, Order, QName, SequenceType, Step, Test};
use super::atom::{Atom, AtomType, compare};
use super::functions;
use super::{Run, attribute_outside, duplicate_attribute};
use crate::Result;
use crate::tree::{Builder, Document, Kind, Name, Node, ROOT};
use rust_decimal::{Decimal, RoundingStrategy};
use smol_str::SmolStr;
use std::cmp::Ordering;
use std::rc::Rc;

/// Nodes looked at between two questions whether to go on.
pub(super) const CHECK_INTERVAL: usize = 4096;

/// A node of a tree.
#[derive(Clone, Debug)]
pub struct NodeRef {
    /// The tree.
    pub document: Rc<Document>,
    /// Its index there.
    pub id: u32,
}

impl NodeRef {
    /// The node.
    #[must_use]
    pub fn node(&self) -> &Node {
        self.document.node(self.id)
    }

    fn at(&self, id: u32) -> Item {
        Item::Node(NodeRef { document: self.document.clone(), id })
    }

    /// Document order; trees among each other in the order of their addresses.
    fn order(&self, other: &NodeRef) -> Ordering {
        Rc::as_ptr(&self.document).cmp(&Rc::as_ptr(&other.document)).then(self.id.cmp(&other.id))
    }
}

/// A node or a value.
#[derive(Clone, Debug)]
pub enum Item {
    /// A node.
    Node(NodeRef),
    /// A value.
    Atom(Atom),
}

impl Item {
    /// The value: of a node its text, of one with a type the first of that type's values.
    #[must_use]
    pub fn atom(&self) -> Atom {
        match self {
            Item::Atom(a) => a.clone(),
            Item::Node(_) => {
                self.atoms().into_iter().next().unwrap_or_else(|| Atom::Untyped(SmolStr::default()))
            }
        }
    }

    /// The values: several of a list, none of an element that is nil.
    #[must_use]
    pub fn atoms(&self) -> Vec<Atom> {
        match self {
            Item::Atom(a) => vec![a.clone()],
            Item::Node(n) => match n.document.value_type(n.id) {
                Some((_, _, true)) => Vec::new(),
                Some((schema, ty, _)) => schema.atoms(ty, &n.document.string(n.id)),
                None => vec![Atom::Untyped(n.document.string(n.id))],
            },
        }
    }

    /// The text of its value.
    #[must_use]
    pub fn text(&self) -> SmolStr {
        match self {
            Item::Atom(a) => a.text(),
            Item::Node(n) => n.document.string(n.id),
        }
    }
}

/// A sequence.
pub type Items = Vec<Item>;

/// What `.`, `position()` and `last()` mean.
#[derive(Clone, Debug)]
pub(super) struct Focus {
    pub(super) item: Option<Item>,
    pub(super) position: usize,
    pub(super) size: usize,
}

/// One evaluation.
pub(super) struct Eval<'q, 'r> {
    pub(super) run: &'r mut dyn Run,
    pub(super) externals: &'q [Items],
    pub(super) variables: Vec<Items>,
    pub(super) focus: Focus,
    pub(super) until_check: usize,
}

/// The effective boolean value.
pub(super) fn truth(items: &[Item]) -> bool {
    match items {
        [] => false,
        [Item::Atom(Atom::Boolean(b))] => *b,
        [Item::Atom(a), ..] => match a {
            Atom::Untyped(s) | Atom::String(s) => !s.is_empty(),
            a => a.double().is_none_or(|f| f != 0.0 && !f.is_nan()),
        },
        [Item::Node(_), ..] => true,
    }
}

fn boolean(value: bool) -> Items {
    vec![Item::Atom(Atom::Boolean(value))]
}

fn texts(items: &[Item]) -> String {
    let texts: Vec<SmolStr> = items.iter().map(Item::text).collect();
    texts.join(" ")
}

impl Eval<'_, '_> {
    /// Counts nodes looked at.
    pub(super) fn tick(&mut self, nodes: usize) -> Result<()> {
        if self.until_check > nodes {
            self.until_check -= nodes;
            return Ok(());
        }
        self.until_check = CHECK_INTERVAL;
        self.run.go_on(0)
    }

    /// A sequence has come to be.
    fn made(&mut self, items: &Items) -> Result<()> {
        if items.len() < CHECK_INTERVAL {
            return self.tick(items.len());
        }
        self.run.go_on(items.len() * size_of::<Item>())
    }

    pub(super) fn expr(&mut self, e: &Expr) -> Result<Items> {
        Ok(match e {
            Expr::Literal(atom) => vec![Item::Atom(atom.clone())],
            Expr::Sequence(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.append(&mut self.expr(part)?);
                }
                self.made(&all)?;
                all
            }
            Expr::Variable(i) => {
                let items = self.variables.get(*i).cloned().unwrap_or_default();
                self.made(&items)?;
                items
            }
            Expr::Context => self.focus.item.iter().cloned().collect(),
            Expr::Root => match &self.focus.item {
                Some(Item::Node(n)) => vec![n.at(ROOT)],
                _ => Vec::new(),
            },
            Expr::Path(start, steps) => {
                let mut items = self.expr(start)?;
                for step in steps {
                    items = self.step(&items, step)?;
                }
                items
            }
            Expr::Filter(inner, predicates) => {
                let items = self.expr(inner)?;
                self.filter(items, predicates)?
            }
            Expr::Logical(all, terms) => {
                let mut result = *all;
                for t in terms {
                    if truth(&self.expr(t)?) != *all {
                        result = !*all;
                        break;
                    }
                }
                boolean(result)
            }
            Expr::Compare(general, op, a, b) => self.compare(*general, *op, a, b)?,
            Expr::Nodes(order, a, b) => self.node_comparison(*order, a, b)?,
            Expr::Arith(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                match (a.first(), b.first()) {
                    (Some(a), Some(b)) => {
                        let numbers = functions::numeric(&a.atom()).zip(functions::numeric(&b.atom()));
                        numbers
                            .and_then(|(a, b)| arithmetic(*op, &a, &b))
                            .map(Item::Atom)
                            .into_iter()
                            .collect()
                    }
                    _ => Vec::new(),
                }
            }
            Expr::Negative(e) => {
                let items = self.expr(e)?;
                let number = items.first().and_then(|i| functions::numeric(&i.atom()));
                let negative = number.and_then(|n| arithmetic(Arith::Subtract, &Atom::Integer(0), &n));
                negative.map(Item::Atom).into_iter().collect()
            }
            Expr::Call(function, args) => {
                let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<Items>>>()?;
                functions::call(self, *function, args)?
            }
            Expr::External(i) => self.externals.get(*i).cloned().unwrap_or_default(),
            Expr::Cast(ty, e) => {
                let items = self.expr(e)?;
                items.first().and_then(|i| i.atom().cast(*ty)).map(Item::Atom).into_iter().collect()
            }
            Expr::Instance(e, ty) => {
                let items = self.expr(e)?;
                boolean(is_instance(&items, ty))
            }
            Expr::Flwor(f) => self.flwor(f)?,
            Expr::Quantified(every, bindings, condition) => {
                let found = self.quantified(bindings, condition, *every)?;
                boolean(found != *every)
            }
            Expr::If(parts) => {
                let holds = truth(&self.expr(&parts[0])?);
                self.expr(&parts[if holds { 1 } else { 2 }])?
            }
            Expr::Element(element) => {
                let mut builder = Builder::default();
                self.element(element, &mut builder)?;
                vec![first_of(builder.finish())]
            }
            Expr::Attribute(name, value) => {
                let value = self.expr(value)?;
                let mut builder = Builder::default();
                builder.attribute(&built(name), texts(&value).into());
                vec![first_of(builder.finish())]
            }
            Expr::Text(value) => {
                let value = self.expr(value)?;
                let mut builder = Builder::default();
                builder.text(texts(&value).into());
                let made = builder.finish();
                if made.nodes.len() > 1 { vec![first_of(made)] } else { Vec::new() }
            }
            Expr::Comment(text) => {
                let mut builder = Builder::default();
                builder.comment(text.clone());
                vec![first_of(builder.finish())]
            }
            Expr::Instruction(target, text) => {
                let mut builder = Builder::default();
                builder.instruction(target, text.clone());
                vec![first_of(builder.finish())]
            }
        })
    }

    // ---- paths ----

    fn step(&mut self, from: &Items, step: &Step) -> Result<Items> {
        let mut all = Vec::new();
        for item in from {
            let Item::Node(n) = item else { continue };
            let mut found = Vec::new();
            self.along(n, step, &mut found)?;
            if !step.predicates.is_empty() {
                found = self.filter(found, &step.predicates)?;
            }
            all.append(&mut found);
        }
        self.made(&all)?;
        let order = |a: &Item, b: &Item| match (a, b) {
            (Item::Node(a), Item::Node(b)) => a.order(b),
            _ => Ordering::Equal,
        };
        if !all.is_sorted_by(|a, b| order(a, b) == Ordering::Less) {
            all.sort_by(order);
            all.dedup_by(|a, b| order(a, b) == Ordering::Equal);
        }
        Ok(all)
    }

    fn along(&mut self, n: &NodeRef, step: &Step, found: &mut Items) -> Result<()> {
        let d = &n.document;
        let takes = |id: u32| matches(d.node(id), &step.test, step.axis);
        match step.axis {
            Axis::Child => {
                let mut seen = 0;
                for id in d.children(n.id) {
                    seen += 1;
                    if takes(id) {
                        found.push(n.at(id));
                    }
                }
                self.tick(seen)?;
            }
            Axis::Attribute => {
                found.extend(d.attributes(n.id).filter(|id| takes(*id)).map(|id| n.at(id)));
                self.tick(1)?;
            }
            Axis::Itself => found.extend(takes(n.id).then(|| n.at(n.id))),
            Axis::Parent => {
                let parent = n.node().parent;
                found.extend((n.id != ROOT && takes(parent)).then(|| n.at(parent)));
            }
            Axis::Descendant | Axis::DescendantOrSelf => {
                let first = n.id + u32::from(step.axis == Axis::Descendant);
                let end = n.node().end.max(n.id + 1);
                self.tick((end - n.id) as usize)?;
                let inside =
                    |id: &u32| *id == n.id || !matches!(d.node(*id).kind, Kind::Attribute | Kind::Namespace);
                found.extend((first..end).filter(|id| inside(id) && takes(*id)).map(|id| n.at(id)));
            }
        }
        Ok(())
    }

    fn filter(&mut self, mut items: Items, predicates: &[Expr]) -> Result<Items> {
        for p in predicates {
            if let Expr::Literal(Atom::Integer(n)) = p {
                let at = usize::try_from(*n).unwrap_or(0).wrapping_sub(1);
                items = items.into_iter().nth(at).into_iter().collect();
                continue;
            }
            let size = items.len();
            let outer = self.focus.clone();
            let mut kept = Vec::new();
            for (i, item) in items.into_iter().enumerate() {
                self.focus = Focus { item: Some(item.clone()), position: i + 1, size };
                let found = self.expr(p)?;
                let keep = match found.as_slice() {
                    [Item::Atom(a)] if a.ty().is_numeric() => a.double() == Some((i + 1) as f64),
                    other => truth(other),
                };
                if keep {
                    kept.push(item);
                }
                self.tick(1)?;
            }
            self.focus = outer;
            items = kept;
        }
        Ok(items)
    }

    // ---- comparisons ----

    fn compare(&mut self, general: bool, op: super::ast::Comparison, a: &Expr, b: &Expr) -> Result<Items> {
        let left: Vec<Atom> = self.expr(a)?.iter().flat_map(Item::atoms).collect();
        let right: Vec<Atom> = self.expr(b)?.iter().flat_map(Item::atoms).collect();
        if !general && (left.is_empty() || right.is_empty()) {
            return Ok(Vec::new());
        }
        for x in &left {
            self.tick(right.len())?;
            if right.iter().any(|y| compare(x, y).is_some_and(|o| op.holds(o))) {
                return Ok(boolean(true));
            }
        }
        Ok(boolean(false))
    }

    fn node_comparison(&mut self, order: Order, a: &Expr, b: &Expr) -> Result<Items> {
        let (a, b) = (self.expr(a)?, self.expr(b)?);
        let (Some(Item::Node(a)), Some(Item::Node(b))) = (a.first(), b.first()) else {
            return Ok(Vec::new());
        };
        let wanted = match order {
            Order::Is => Ordering::Equal,
            Order::Before => Ordering::Less,
            Order::After => Ordering::Greater,
        };
        Ok(boolean(a.order(b) == wanted))
    }

    // ---- bindings ----

    fn flwor(&mut self, f: &Flwor) -> Result<Items> {
        let mut rows: Vec<(Vec<Option<Atom>>, Items)> = Vec::new();
        self.bindings(f, 0, &mut rows)?;
        if !f.order.is_empty() {
            rows.sort_by(|(a, _), (b, _)| {
                let pairs = a.iter().zip(b).zip(&f.order);
                let unequal = pairs.map(|((a, b), (_, descending))| {
                    let o = match (a, b) {
                        (Some(a), Some(b)) => compare(a, b).unwrap_or(Ordering::Equal),
                        (a, b) => a.is_some().cmp(&b.is_some()),
                    };
                    if *descending { o.reverse() } else { o }
                });
                unequal.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
            });
        }
        let all: Items = rows.into_iter().flat_map(|(_, items)| items).collect();
        self.made(&all)?;
        Ok(all)
    }

    /// Binds from the `at`th binding on and collects a row for each combination.
    fn bindings(&mut self, f: &Flwor, at: usize, rows: &mut Vec<(Vec<Option<Atom>>, Items)>) -> Result<()> {
        let Some((is_for, variable, source)) = f.bindings.get(at) else {
            self.tick(1)?;
            if let Some(c) = &f.condition
                && !truth(&self.expr(c)?)
            {
                return Ok(());
            }
            let mut keys = Vec::new();
            for (key, _) in &f.order {
                keys.push(self.expr(key)?.first().map(Item::atom));
            }
            let items = self.expr(&f.result)?;
            if rows.len().is_multiple_of(CHECK_INTERVAL) {
                self.run.go_on(CHECK_INTERVAL * size_of::<(Vec<Option<Atom>>, Items)>())?;
            }
            rows.push((keys, items));
            return Ok(());
        };
        let items = self.expr(source)?;
        if !is_for {
            self.bind(*variable, items);
            return self.bindings(f, at + 1, rows);
        }
        for item in items {
            self.bind(*variable, vec![item]);
            self.bindings(f, at + 1, rows)?;
        }
        Ok(())
    }

    fn bind(&mut self, variable: usize, items: Items) {
        if self.variables.len() <= variable {
            self.variables.resize(variable + 1, Vec::new());
        }
        self.variables[variable] = items;
    }

    /// Whether some combination's condition differs from `every`.
    fn quantified(&mut self, bindings: &[(usize, Expr)], condition: &Expr, every: bool) -> Result<bool> {
        let Some(((variable, source), rest)) = bindings.split_first() else {
            self.tick(1)?;
            return Ok(truth(&self.expr(condition)?) != every);
        };
        for item in self.expr(source)? {
            self.bind(*variable, vec![item]);
            if self.quantified(rest, condition, every)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    // ---- constructors ----

    fn element(&mut self, element: &Element, builder: &mut Builder) -> Result<()> {
        builder.open(&built(&element.name))?;
        for (prefix, uri) in &element.namespaces {
            builder.namespace(prefix, uri.clone());
        }
        for (name, value) in &element.attributes {
            let value = self.expr(value)?;
            builder.attribute(&built(name), texts(&value).into());
        }
        // Attributes among the content come before what is really content.
        let mut content: Vec<(Option<&Element>, Items)> = Vec::new();
        let mut children = false;
        for e in &element.content {
            if let Expr::Element(inner) = e {
                children = true;
                content.push((Some(inner), Vec::new()));
                continue;
            }
            let mut rest = Vec::new();
            for item in self.expr(e)? {
                match item {
                    Item::Node(n) if n.node().kind == Kind::Attribute => {
                        if children {
                            return Err(attribute_outside());
                        }
                        add_attribute(builder, n.node())?;
                    }
                    item => {
                        children |= matches!(&item, Item::Node(n) if n.node().kind != Kind::Text);
                        rest.push(item);
                    }
                }
            }
            content.push((None, rest));
        }
        for (inner, items) in content {
            match inner {
                Some(inner) => self.element(inner, builder)?,
                None => add_items(builder, &items)?,
            }
        }
        builder.close();
        Ok(())
    }
}

/// Adds an attribute; 6308 when there is one of that name.
pub(crate) fn add_attribute(builder: &mut Builder, attribute: &Node) -> Result<()> {
    if builder.has_attribute(&attribute.name) {
        return Err(duplicate_attribute(&attribute.name.qualified()));
    }
    builder.attribute(&attribute.name, attribute.text.clone());
    Ok(())
}

/// Adds the items of one expression as content: blanks between neighbouring values.
pub(crate) fn add_items(builder: &mut Builder, items: &[Item]) -> Result<()> {
    let mut after_atom = false;
    for item in items {
        match item {
            Item::Atom(a) => {
                if after_atom {
                    builder.text(" ".into());
                }
                builder.text(a.text());
            }
            Item::Node(n) => builder.copy(&n.document, n.id)?,
        }
        after_atom = matches!(item, Item::Atom(_));
    }
    Ok(())
}

fn built(name: &QName) -> Name {
    Name { prefix: name.prefix.clone(), local: name.local.clone(), uri: name.uri.clone() }
}

fn first_of(document: Document) -> Item {
    Item::Node(NodeRef { document: Rc::new(document), id: ROOT + 1 })
}

fn matches(node: &Node, test: &Test, axis: Axis) -> bool {
    let named = match axis {
        Axis::Attribute => Kind::Attribute,
        _ => Kind::Element,
    };
    match test {
        Test::Node => axis != Axis::Attribute || node.kind == Kind::Attribute,
        Test::Text => node.kind == Kind::Text,
        Test::Comment => node.kind == Kind::Comment,
        Test::Instruction(target) => {
            node.kind == Kind::Instruction && target.as_ref().is_none_or(|t| *t == node.name.local)
        }
        Test::Name(uri, local) => {
            node.kind == named
                && uri.as_ref().is_none_or(|u| *u == node.name.uri)
                && local.as_ref().is_none_or(|l| *l == node.name.local)
        }
        Test::Element(name) => node.kind == Kind::Element && is_named(node, name.as_ref()),
        Test::Attribute(name) => node.kind == Kind::Attribute && is_named(node, name.as_ref()),
    }
}

fn is_named(node: &Node, name: Option<&QName>) -> bool {
    name.is_none_or(|n| n.local == node.name.local && n.uri == node.name.uri)
}

fn is_instance(items: &[Item], ty: &SequenceType) -> bool {
    if items.is_empty() {
        return ty.optional;
    }
    if items.len() > 1 && !ty.many {
        return false;
    }
    items.iter().all(|item| match (&ty.item, item) {
        (ItemType::Empty, _) => false,
        (ItemType::Item, _) => true,
        (ItemType::Node(Test::Node), Item::Node(_)) => true,
        (ItemType::Node(test), Item::Node(n)) => matches(n.node(), test, Axis::Itself),
        (ItemType::Atom(wanted), Item::Atom(a)) => {
            let own = a.ty();
            own == *wanted || (own.is_integer() && (wanted.is_integer() || *wanted == AtomType::Decimal))
        }
        _ => false,
    })
}

/// `a op b` of two numbers; `None` (the empty sequence) where there is no result.
pub(super) fn arithmetic(op: Arith, a: &Atom, b: &Atom) -> Option<Atom> {
    if let (Atom::Integer(x), Atom::Integer(y)) = (a, b)
        && op != Arith::Divide
    {
        return Some(Atom::Integer(match op {
            Arith::Add => x.checked_add(*y)?,
            Arith::Subtract => x.checked_sub(*y)?,
            Arith::Multiply => x.checked_mul(*y)?,
            Arith::Divide | Arith::Modulo => x.checked_rem(*y)?,
        }));
    }
    if matches!(a, Atom::Double(_)) || matches!(b, Atom::Double(_)) {
        let (x, y) = (a.double()?, b.double()?);
        return Some(Atom::Double(match op {
            Arith::Add => x + y,
            Arith::Subtract => x - y,
            Arith::Multiply => x * y,
            Arith::Divide => x / y,
            Arith::Modulo => x % y,
        }));
    }
    let (x, y) = (a.decimal()?, b.decimal()?);
    let six = |d: Decimal, how| d.round_dp_with_strategy(6, how);
    Some(Atom::Decimal(match op {
        Arith::Add => x.checked_add(y)?,
        Arith::Subtract => x.checked_sub(y)?,
        Arith::Multiply => six(x.checked_mul(y)?, RoundingStrategy::MidpointAwayFromZero),
        Arith::Divide => six(x.checked_div(y)?, RoundingStrategy::ToZero),
        Arith::Modulo => x.checked_rem(y)?,
    }))
}
