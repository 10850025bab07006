//! The syntax tree of a query, names and namespaces resolved.

use super::atom::{Atom, AtomType};
use super::functions::Function;
use smol_str::SmolStr;

/// A name in a query.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct QName {
    /// Prefix as written.
    pub prefix: SmolStr,
    /// Local part.
    pub local: SmolStr,
    /// Namespace; empty for none.
    pub uri: SmolStr,
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A literal.
    Literal(Atom),
    /// `()` and `(a, b)`
    Sequence(Vec<Expr>),
    /// `$v`, by position in the stack of bindings.
    Variable(usize),
    /// `.`
    Context,
    /// The document node above the context node.
    Root,
    /// `start/step/step`
    Path(Box<Expr>, Vec<Step>),
    /// `(e)[predicate]`
    Filter(Box<Expr>, Vec<Expr>),
    /// All or any.
    Logical(bool, Vec<Expr>),
    /// General (`=`) or value (`eq`) comparison.
    Compare(bool, Comparison, Box<Expr>, Box<Expr>),
    /// `is`, `<<`, `>>`
    Nodes(Order, Box<Expr>, Box<Expr>),
    /// `+`, `-`, `*`, `div`, `mod`
    Arith(Arith, Box<Expr>, Box<Expr>),
    /// `-e`
    Negative(Box<Expr>),
    /// A function call.
    Call(Function, Vec<Expr>),
    /// `sql:variable("…")`, `sql:column("…")`, by position in [`super::Query::externals`].
    External(usize),
    /// `xs:type(e)`, `e cast as xs:type?`
    Cast(AtomType, Box<Expr>),
    /// `e instance of type`
    Instance(Box<Expr>, SequenceType),
    /// A FLWOR expression.
    Flwor(Box<Flwor>),
    /// `some` (false) or `every` (true): bindings and the condition.
    Quantified(bool, Vec<(usize, Expr)>, Box<Expr>),
    /// `if (c) then a else b`
    If(Box<[Expr; 3]>),
    /// An element constructor: name, declarations, attributes, content.
    Element(Box<Element>),
    /// `attribute name {…}`
    Attribute(QName, Box<Expr>),
    /// `text {…}`, and the literal text of a direct constructor.
    Text(Box<Expr>),
    /// `<!-- … -->`
    Comment(SmolStr),
    /// `<?target text?>`
    Instruction(SmolStr, SmolStr),
}

/// An element constructor.
#[derive(Clone, Debug)]
pub struct Element {
    /// Name.
    pub name: QName,
    /// Declarations it writes.
    pub namespaces: Vec<(SmolStr, SmolStr)>,
    /// Attributes.
    pub attributes: Vec<(QName, Expr)>,
    /// Content; the items of one expression are separated from each other.
    pub content: Vec<Expr>,
}

/// `for`, `let`, `where`, `order by`, `return`
#[derive(Clone, Debug)]
pub struct Flwor {
    /// Bindings: whether it is a `for`, the variable, its source.
    pub bindings: Vec<(bool, usize, Expr)>,
    /// Condition.
    pub condition: Option<Expr>,
    /// Keys; true for descending.
    pub order: Vec<(Expr, bool)>,
    /// Result.
    pub result: Expr,
}

/// A step of a path.
#[derive(Clone, Debug)]
pub struct Step {
    /// Direction.
    pub axis: Axis,
    /// What it takes.
    pub test: Test,
    /// Predicates in order.
    pub predicates: Vec<Expr>,
}

/// Directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Attribute,
    Itself,
    Parent,
}

/// Node tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// A name; `None` for a wildcard part.
    Name(Option<SmolStr>, Option<SmolStr>),
    /// `node()`
    Node,
    /// `text()`
    Text,
    /// `comment()`
    Comment,
    /// `processing-instruction("target")`
    Instruction(Option<SmolStr>),
    /// `element()`, `element(name)` in `instance of`.
    Element(Option<QName>),
    /// `attribute()`, `attribute(name)` in `instance of`.
    Attribute(Option<QName>),
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Comparisons of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Is,
    Before,
    After,
}

/// Arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arith {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// The right side of `instance of`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceType {
    /// What items are.
    pub item: ItemType,
    /// An empty sequence is one.
    pub optional: bool,
    /// So are several items.
    pub many: bool,
}

/// Types of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemType {
    /// `empty()`
    Empty,
    /// `item()`
    Item,
    /// A kind of node.
    Node(Test),
    /// An atomic type.
    Atom(AtomType),
}

impl Comparison {
    /// As written: general or value comparison.
    #[must_use]
    pub fn text(self, general: bool) -> &'static str {
        use Comparison as C;
        match (self, general) {
            (C::Equal, true) => "=",
            (C::NotEqual, true) => "!=",
            (C::Less, true) => "<",
            (C::LessOrEqual, true) => "<=",
            (C::Greater, true) => ">",
            (C::GreaterOrEqual, true) => ">=",
            (C::Equal, false) => "eq",
            (C::NotEqual, false) => "ne",
            (C::Less, false) => "lt",
            (C::LessOrEqual, false) => "le",
            (C::Greater, false) => "gt",
            (C::GreaterOrEqual, false) => "ge",
        }
    }

    /// Whether it holds of an ordering.
    #[must_use]
    pub fn holds(self, o: std::cmp::Ordering) -> bool {
        match self {
            Comparison::Equal => o.is_eq(),
            Comparison::NotEqual => o.is_ne(),
            Comparison::Less => o.is_lt(),
            Comparison::LessOrEqual => o.is_le(),
            Comparison::Greater => o.is_gt(),
            Comparison::GreaterOrEqual => o.is_ge(),
        }
    }
}

impl Arith {
    /// As written.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Arith::Add => "+",
            Arith::Subtract => "-",
            Arith::Multiply => "*",
            Arith::Divide => "div",
            Arith::Modulo => "mod",
        }
    }
}
