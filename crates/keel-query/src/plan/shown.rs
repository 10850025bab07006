//! What SHOWPLAN says of an operator: its names and its arguments.
//!
//! Made when a plan is, because names are not known afterwards. SHOWPLAN_TEXT prints the [line](Shown::line), SHOWPLAN_ALL the names and
//! the [argument](Shown::argument) in columns of their own, SHOWPLAN_XML an element for each part ([`super::xml`]).

use crate::catalog::IndexKind;
use std::fmt::{self, Write};

/// An operator with its names, as in the showplan reference, and its arguments.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Physical operator.
    pub physical: &'static str,
    /// Logical operator.
    pub logical: &'static str,
    /// Arguments, in the order in which they are printed.
    pub parts: Vec<Part>,
}

/// An argument of an operator. Expressions are texts in the product's style.
#[derive(Clone, Debug)]
pub enum Part {
    /// The table or index.
    Object(Box<Object>),
    /// What is looked for in an index.
    Seek(Vec<SeekKey>),
    /// A condition on each row.
    Where(String),
    /// Keys of a hash join (equalities), or of a hash aggregate.
    Hash(Vec<String>),
    /// Conditions of a join that are no keys of it.
    Residual(String),
    /// Keys of an aggregate whose input is ordered by them.
    GroupBy(Vec<String>),
    /// Keys of a sort, and whether they descend.
    OrderBy(Vec<(String, bool)>),
    /// Names of new values, and what they are.
    Define(Vec<(String, String)>),
    /// A sort that keeps the first rows.
    TopN,
    /// How many rows are passed over.
    Offset(String),
    /// How many first rows there are, or how many in a hundred.
    Top {
        /// The number.
        count: String,
        /// PERCENT.
        percent: bool,
    },
    /// WITH TIES: the keys of the order.
    Ties(Vec<String>),
    /// The order in which an index is read; `true` is backward.
    Ordered(bool),
    /// Fetches the rows that another index found.
    Lookup,
    /// A server, and the text that is sent to it.
    Sent(String, String),
    /// A word of its own.
    Word(&'static str),
    /// Columns that are read, by name: part of no line.
    Columns(Vec<String>),
}

/// A table, by way of one of its indexes.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// Database; empty for tables that are none, like a function's.
    pub database: String,
    /// Schema.
    pub schema: String,
    /// Table.
    pub table: String,
    /// Index, when it has a name.
    pub index: Option<String>,
    /// Alias, when it is not the table's name.
    pub alias: Option<String>,
    /// Kind of the index that is read.
    pub kind: Option<IndexKind>,
}

/// A condition that a seek answers.
#[derive(Clone, Debug)]
pub struct SeekKey {
    /// All of it.
    pub text: String,
    /// The column, how it compares and with what, where it is a comparison of one.
    pub comparison: Option<(String, &'static str, String)>,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.database.is_empty() {
            return write!(f, "[{}]", self.table);
        }
        write!(f, "[{}].[{}].[{}]", self.database, self.schema, self.table)?;
        if let Some(index) = &self.index {
            write!(f, ".[{index}]")?;
        }
        self.alias.as_ref().map_or(Ok(()), |alias| write!(f, " AS [{alias}]"))
    }
}

impl Shown {
    /// An operator that is called the same in both ways.
    #[must_use]
    pub fn new(name: &'static str, parts: Vec<Part>) -> Shown {
        Shown { physical: name, logical: name, parts }
    }

    /// With a logical name of its own.
    #[must_use]
    pub fn of(physical: &'static str, logical: &'static str, parts: Vec<Part>) -> Shown {
        Shown { physical, logical, parts }
    }

    /// The line of SHOWPLAN_TEXT.
    #[must_use]
    pub fn line(&self) -> String {
        let argument = self.argument();
        // What kind of join it is belongs to its name.
        let kind = match self.physical {
            "Nested Loops" | "Hash Match" | "Parallelism" => self.logical,
            _ => "",
        };
        match (kind.is_empty(), argument.is_empty()) {
            (true, true) => self.physical.to_owned(),
            (true, false) => format!("{}({argument})", self.physical),
            (false, true) => format!("{}({kind})", self.physical),
            (false, false) => format!("{}({kind}, {argument})", self.physical),
        }
    }

    /// The arguments, as SHOWPLAN_ALL has them in its column `Argument`.
    #[must_use]
    pub fn argument(&self) -> String {
        let mut s = String::new();
        for part in self.parts.iter().filter(|p| !matches!(p, Part::Columns(_))) {
            if !s.is_empty() {
                let apart = !matches!(part, Part::Define(_) | Part::Ordered(_) | Part::Lookup);
                s.push_str(if apart { ", " } else { " " });
            }
            part.write(&mut s);
        }
        s
    }

    /// The columns that are read of a table: the column `OutputList`.
    #[must_use]
    pub fn outputs(&self) -> String {
        let columns = self.parts.iter().find_map(|p| if let Part::Columns(c) = p { Some(c) } else { None });
        let object = self.parts.iter().find_map(|p| if let Part::Object(o) = p { Some(o) } else { None });
        let (Some(columns), Some(object)) = (columns, object) else { return String::new() };
        let of = object.alias.as_ref().unwrap_or(&object.table);
        columns.iter().map(|c| format!("[{of}].[{c}]")).collect::<Vec<_>>().join(", ")
    }

    /// Names of new values with what they are: the column `DefinedValues`.
    #[must_use]
    pub fn defined(&self) -> String {
        self.parts
            .iter()
            .find_map(|p| if let Part::Define(d) = p { Some(definitions(d)) } else { None })
            .unwrap_or_default()
    }
}

fn definitions(all: &[(String, String)]) -> String {
    all.iter().map(|(name, what)| format!("[{name}]={what}")).collect::<Vec<_>>().join(", ")
}

impl Part {
    fn write(&self, s: &mut String) {
        let list = |s: &mut String, label: &str, all: &[String], between: &str| {
            s.push_str(label);
            if !all.is_empty() {
                let _ = write!(s, ":({})", all.join(between));
            }
        };
        let written = match self {
            Part::Object(o) => write!(s, "OBJECT:({o})"),
            Part::Seek(keys) => {
                let all: Vec<String> = keys.iter().map(|k| k.text.clone()).collect();
                write!(s, "SEEK:({})", all.join(" AND "))
            }
            Part::Where(e) => write!(s, "WHERE:({e})"),
            Part::Residual(e) => write!(s, "RESIDUAL:({e})"),
            Part::Hash(keys) => return list(s, "HASH", keys, ", "),
            Part::GroupBy(keys) => return list(s, "GROUP BY", keys, ", "),
            Part::OrderBy(keys) => {
                let word = |d: &bool| if *d { "DESC" } else { "ASC" };
                let all: Vec<String> = keys.iter().map(|(e, d)| format!("{e} {}", word(d))).collect();
                return list(s, "ORDER BY", &all, ", ");
            }
            Part::Define(all) => write!(s, "DEFINE:({})", definitions(all)),
            Part::TopN => write!(s, "TOP N"),
            Part::Offset(count) => write!(s, "OFFSET EXPRESSION:({count})"),
            Part::Top { count, percent } => {
                write!(s, "TOP EXPRESSION:({count}){}", if *percent { " PERCENT" } else { "" })
            }
            Part::Ties(keys) => return list(s, "TIE COLUMNS", keys, ", "),
            Part::Ordered(false) => write!(s, "ORDERED FORWARD"),
            Part::Ordered(true) => write!(s, "ORDERED BACKWARD"),
            Part::Lookup => write!(s, "LOOKUP ORDERED FORWARD"),
            Part::Sent(server, text) => write!(s, "SOURCE:({server}), QUERY:({text})"),
            Part::Word(word) => write!(s, "{word}"),
            Part::Columns(_) => Ok(()),
        };
        written.expect("a string takes everything");
    }
}
