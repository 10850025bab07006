//! Whether a session wants an event: WHERE of ADD EVENT.

use super::actor::Actor;
use super::catalog::{Action, Event, Field, Ty};
use keel_types::collation::{self, Collation};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

/// A condition, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Predicate {
    /// All of them.
    And(Vec<Predicate>),
    /// Any of them.
    Or(Vec<Predicate>),
    /// Not it.
    Not(Box<Predicate>),
    /// A comparison.
    Test {
        /// What is compared.
        source: Source,
        /// How.
        op: Op,
        /// With what.
        value: Constant,
    },
}

/// What a comparison looks at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Source {
    /// A column of the event.
    Column(String),
    /// Something about the session: package and name of an action.
    Global(String, String),
    /// How often this event has come so far to this place of the condition, this time included.
    Counter,
}

/// A comparator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `LIKE`
    Like,
    /// `package0.divides_by_uint64`: is a multiple of it.
    Divides,
}

/// What a comparison compares with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Constant {
    /// A number.
    Number(i128),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Op {
    fn sign(self) -> &'static str {
        match self {
            Op::Equal => "=",
            Op::NotEqual => "<>",
            Op::Less => "<",
            Op::LessOrEqual => "<=",
            Op::Greater => ">",
            Op::GreaterOrEqual => ">=",
            Op::Like => " LIKE ",
            Op::Divides => "%",
        }
    }

    /// The beginning of the comparator's name.
    fn name(self) -> &'static str {
        match self {
            Op::Equal => "equal",
            Op::NotEqual => "not_equal",
            Op::Less => "less_than",
            Op::LessOrEqual => "less_than_equal",
            Op::Greater => "greater_than",
            Op::GreaterOrEqual => "greater_than_equal",
            Op::Like => "like",
            Op::Divides => "divides_by",
        }
    }

    /// The operator of a comparator's name (`equal_uint64`, `like_i_sql_unicode_string`), and whether it compares numbers.
    #[must_use]
    pub fn of_comparator(name: &str) -> Option<(Op, bool)> {
        const OPS: [Op; 8] = [
            Op::NotEqual,
            Op::Equal,
            Op::LessOrEqual,
            Op::Less,
            Op::GreaterOrEqual,
            Op::Greater,
            Op::Like,
            Op::Divides,
        ];
        let name = name.to_ascii_lowercase();
        OPS.into_iter().find_map(|op| {
            let rest = name.strip_prefix(op.name())?;
            match rest {
                "_i_sql_unicode_string"
                | "_i_sql_ansi_string"
                | "_i_unicode_string"
                | "_i_ansi_string"
                | "_unicode_string"
                | "_ansi_string"
                | "_binary_data"
                | "_guid"
                    if op != Op::Divides =>
                {
                    Some((op, false))
                }
                "_uint64" | "_int64" | "_float64" | "_boolean" | "_ptr" if op != Op::Like => Some((op, true)),
                _ => None,
            }
        })
    }

    fn holds(self, order: Ordering) -> bool {
        match self {
            Op::Equal => order == Ordering::Equal,
            Op::NotEqual => order != Ordering::Equal,
            Op::Less => order == Ordering::Less,
            Op::LessOrEqual => order != Ordering::Greater,
            Op::Greater => order == Ordering::Greater,
            Op::GreaterOrEqual => order != Ordering::Less,
            Op::Like | Op::Divides => false,
        }
    }
}

impl Source {
    /// Its type, where an event has these columns; `None` when there is no such column.
    #[must_use]
    pub fn ty(&self, columns: &[(&str, Ty)]) -> Option<Ty> {
        match self {
            Source::Column(name) => {
                columns.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, ty)| *ty)
            }
            Source::Global(package, name) => Action::named(package, name).map(|a| a.info().ty),
            Source::Counter => Some(Ty::UInt64),
        }
    }

    fn written(&self) -> String {
        match self {
            Source::Column(name) => format!("[{name}]"),
            Source::Global(package, name) => format!("[{package}].[{name}]"),
            Source::Counter => "[package0].[counter]".to_owned(),
        }
    }
}

impl Predicate {
    /// As `sys.server_event_session_events` shows it.
    #[must_use]
    pub fn written(&self) -> String {
        let joined = |terms: &[Predicate], word: &str| {
            let terms: Vec<String> = terms.iter().map(Predicate::written).collect();
            format!("({})", terms.join(word))
        };
        match self {
            Predicate::And(terms) => joined(terms, " AND "),
            Predicate::Or(terms) => joined(terms, " OR "),
            Predicate::Not(inner) => format!("(NOT {})", inner.written()),
            Predicate::Test { source, op, value } => {
                let value = match value {
                    Constant::Number(n) => format!("({n})"),
                    Constant::Text(text) => format!("N'{}'", text.replace('\'', "''")),
                    Constant::Bytes(bytes) => hex(bytes),
                };
                let source = source.written();
                match op {
                    Op::Divides => format!("[package0].[divides_by_uint64]({source},{value})"),
                    op => format!("({source}{}{value})", op.sign()),
                }
            }
        }
    }

    /// The tree as XML.
    pub fn push_xml(&self, event: Event, out: &mut String) {
        let list = |tag: &str, terms: &[Predicate], out: &mut String| {
            let _ = write!(out, "<{tag}>");
            terms.iter().for_each(|term| term.push_xml(event, out));
            let _ = write!(out, "</{tag}>");
        };
        match self {
            Predicate::And(terms) => list("and", terms, out),
            Predicate::Or(terms) => list("or", terms, out),
            Predicate::Not(inner) => list("not", std::slice::from_ref(inner), out),
            Predicate::Test { source, op, value } => {
                let text = matches!(value, Constant::Text(_));
                let (package, kind) =
                    if text { ("sqlserver", "i_sql_unicode_string") } else { ("package0", "uint64") };
                let _ = write!(
                    out,
                    "<leaf><comparator name=\"{}_{kind}\" package=\"{package}\"></comparator>",
                    op.name()
                );
                let _ = match source {
                    Source::Column(name) => write!(
                        out,
                        "<event name=\"{}\" package=\"sqlserver\"><field name=\"{name}\"></field></event>",
                        event.info().name
                    ),
                    Source::Global(package, name) => {
                        write!(out, "<global name=\"{name}\" package=\"{package}\"></global>")
                    }
                    Source::Counter => {
                        out.write_str("<global name=\"counter\" package=\"package0\"></global>")
                    }
                };
                out.push_str("<value>");
                match value {
                    Constant::Number(n) => drop(write!(out, "{n}")),
                    Constant::Text(text) => keel_query::xml::push_text(text, false, out),
                    Constant::Bytes(bytes) => out.push_str(&hex(bytes)),
                }
                out.push_str("</value></leaf>");
            }
        }
    }
}

/// Bytes as a constant of T-SQL.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 + 2 * bytes.len());
    out.push_str("0x");
    for byte in bytes {
        let _ = write!(out, "{byte:02X}");
    }
    out
}

/// A condition made ready for an event.
pub enum Check {
    /// All of them.
    And(Vec<Check>),
    /// Any of them.
    Or(Vec<Check>),
    /// Not it.
    Not(Box<Check>),
    /// A comparison of a column.
    Column(usize, Test),
    /// A comparison of something about the session.
    Global(Action, Test),
    /// A comparison of how often it was asked.
    Counter(AtomicU64, Test),
    /// Nothing of that name is there: an older definition that is not understood wants nothing.
    Never,
}

/// An operator and what is compared with.
pub struct Test {
    op: Op,
    value: Constant,
    pattern: Option<collation::like::Pattern>,
    /// Names of the map whose keys are compared.
    ty: Ty,
}

impl Check {
    /// The condition for an event.
    #[must_use]
    pub fn of(predicate: &Predicate, event: Event) -> Check {
        Check::over(predicate, event.info().columns)
    }

    /// The condition for what has these columns.
    #[must_use]
    pub fn over(predicate: &Predicate, columns: &[(&str, Ty)]) -> Check {
        let all = |terms: &[Predicate]| terms.iter().map(|term| Check::over(term, columns)).collect();
        match predicate {
            Predicate::And(terms) => Check::And(all(terms)),
            Predicate::Or(terms) => Check::Or(all(terms)),
            Predicate::Not(inner) => Check::Not(Box::new(Check::over(inner, columns))),
            Predicate::Test { source, op, value } => {
                let Some(ty) = source.ty(columns) else { return Check::Never };
                let pattern = match (op, value) {
                    (Op::Like, Constant::Text(text)) => {
                        collation::like::Pattern::compile(text, None, Collation::default()).ok()
                    }
                    _ => None,
                };
                let test = Test { op: *op, value: value.clone(), pattern, ty };
                match source {
                    Source::Column(name) => {
                        let at = columns.iter().position(|(n, _)| n.eq_ignore_ascii_case(name));
                        at.map_or(Check::Never, |at| Check::Column(at, test))
                    }
                    Source::Global(package, name) => {
                        Action::named(package, name).map_or(Check::Never, |a| Check::Global(a, test))
                    }
                    Source::Counter => Check::Counter(AtomicU64::new(0), test),
                }
            }
        }
    }

    /// Whether it holds for these columns.
    pub fn holds(&self, actor: &dyn Actor, fields: &[Field]) -> bool {
        match self {
            Check::And(terms) => terms.iter().all(|term| term.holds(actor, fields)),
            Check::Or(terms) => terms.iter().any(|term| term.holds(actor, fields)),
            Check::Not(inner) => !inner.holds(actor, fields),
            Check::Column(at, test) => test.holds(fields.get(*at).unwrap_or(&Field::Null)),
            Check::Global(action, test) => test.holds(&actor.action(*action)),
            Check::Counter(count, test) => {
                let n = count.fetch_add(1, Memory::Relaxed) + 1;
                test.holds(&Field::Number(n.into()))
            }
            Check::Never => false,
        }
    }
}

impl Test {
    fn holds(&self, field: &Field) -> bool {
        match (field, &self.value) {
            (Field::Null, _) => self.op == Op::NotEqual,
            (Field::Number(n), Constant::Number(with)) if self.op == Op::Divides => {
                *with != 0 && n % with == 0
            }
            (Field::Number(n), Constant::Number(with)) => self.op.holds(n.cmp(with)),
            (Field::Number(n), Constant::Text(text)) => {
                let Ty::Map(map) = self.ty else { return false };
                self.text(map.text(u32::try_from(*n).unwrap_or(u32::MAX)), text)
            }
            (Field::Text(have), Constant::Text(text)) => self.text(have, text),
            (Field::Bytes(have), Constant::Bytes(with)) => self.op.holds(have.cmp(with)),
            _ => false,
        }
    }

    fn text(&self, have: &str, with: &str) -> bool {
        match &self.pattern {
            Some(pattern) => pattern.matches(have),
            None => self.op.holds(collation::compare(have, with, Collation::default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::actor::Nobody;

    fn test(column: &str, op: Op, value: Constant) -> Predicate {
        Predicate::Test { source: Source::Column(column.into()), op, value }
    }

    fn holds(predicate: &Predicate, fields: &[Field]) -> bool {
        Check::of(predicate, Event::ErrorReported).holds(&Nobody, fields)
    }

    #[test]
    fn conditions_decide_by_columns() {
        let fields: Vec<Field> = vec![
            208.into(),
            16.into(),
            1.into(),
            false.into(),
            2.into(),
            2.into(),
            false.into(),
            "No Such".into(),
        ];
        let number = test("error_number", Op::Equal, Constant::Number(208));
        let grave = test("severity", Op::GreaterOrEqual, Constant::Number(20));
        let like = test("message", Op::Like, Constant::Text("no s%".into()));
        let map = test("category", Op::Equal, Constant::Text("server".into()));
        assert!(
            holds(&number, &fields)
                && !holds(&grave, &fields)
                && holds(&like, &fields)
                && holds(&map, &fields)
        );
        assert!(!holds(&Predicate::And(vec![number.clone(), grave.clone()]), &fields));
        assert!(holds(&Predicate::Or(vec![grave.clone(), number.clone()]), &fields));
        assert!(holds(&Predicate::Not(Box::new(grave.clone())), &fields));
        assert!(holds(&test("error_number", Op::Divides, Constant::Number(4)), &fields));
        let both = Predicate::And(vec![number, grave]);
        assert_eq!(both.written(), "(([error_number]=(208)) AND ([severity]>=(20)))");
    }

    #[test]
    fn counters_count_what_reaches_them() {
        let first_two =
            Predicate::Test { source: Source::Counter, op: Op::LessOrEqual, value: Constant::Number(2) };
        let check = Check::of(&first_two, Event::ErrorReported);
        let held: Vec<bool> = (0..4).map(|_| check.holds(&Nobody, &[])).collect();
        assert_eq!(held, [true, true, false, false]);
    }

    #[test]
    fn comparators_go_by_their_names() {
        assert_eq!(Op::of_comparator("greater_than_equal_uint64"), Some((Op::GreaterOrEqual, true)));
        assert_eq!(Op::of_comparator("Equal_i_sql_unicode_string"), Some((Op::Equal, false)));
        assert_eq!(Op::of_comparator("like_uint64"), None);
        assert_eq!(Op::of_comparator("divides_by_uint64"), Some((Op::Divides, true)));
    }
}
