//! The `xml` type: text to tree and back, and the XQuery that the type's methods take.
//!
//! * [`tree`]: a document as one vector of nodes in document order;
//! * [`parse`]: XML text to tree, on the tokens of `quick-xml`, with the product's well-formedness errors (94xx);
//! * [`mod@write`]: tree to text, in the form in which the product hands `xml` out;
//! * [`query`]: the argument of `value()`, `exist()`, `nodes()` and `query()`: compiled once, with the static checks of the
//!   product (a singleton where one is required), evaluated per row;
//! * [`modify`]: XML DML, the argument of `modify()`.
//!
//! An instance is content: any number of elements and texts on the top level. Trees are at most [`tree::DEPTH_MAX`] deep, as
//! in the product, and queries nest at most [`query::DEPTH_MAX`] deep, so recursion over either is bounded. A long evaluation
//! asks its caller now and then whether to go on ([`query::Run`]).
//!
//! The evaluator is our own because no library speaks this language: it is a part of XQuery 1.0 (not XPath 3.1) with static
//! cardinality, the extensions `sql:variable` and `sql:column`, and update statements.
//!
//! [`schema`] is what schema collections are made of: XML Schema, validation, and the types that queries over typed xml know.
//!
//! Deliberately absent: DTDs, the reverse and sibling axes (the product refuses them too).

pub mod modify;
pub mod parse;
pub mod query;
pub mod schema;
pub mod tree;
pub mod write;

/// An error with the product's number, of severity 16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlError {
    /// The product's error number.
    pub number: i32,
    /// State.
    pub state: u8,
    /// The text.
    pub message: String,
}

/// Result of everything that can raise one.
pub type Result<T> = std::result::Result<T, Box<XmlError>>;

impl XmlError {
    /// An error of state 1.
    pub fn new(number: i32, message: impl Into<String>) -> Box<XmlError> {
        Box::new(XmlError { number, state: 1, message: message.into() })
    }
}

impl std::fmt::Display for XmlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.number, self.message)
    }
}

impl std::error::Error for XmlError {}

/// The text as the product keeps it: parsed, without declaration and insignificant white space (unless `preserve`), written
/// again. Errors: those of [`parse::parse`].
pub fn normalize(text: &str, source: parse::Source, preserve: bool) -> Result<String> {
    Ok(write::document(&parse::parse(text, source, preserve)?))
}
