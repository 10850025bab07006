//! What is wrong with a text: the product's number, its line and its message.

use thiserror::Error;

/// A batch that is not T-SQL. Severity is 15 unless the number says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("Msg {number}, Level {severity}, State {state}, Line {line}: {message}")]
pub struct ParseError {
    /// The product's error number: 102, 105, 156, …
    pub number: i32,
    /// Severity, 15 for syntax.
    pub severity: u8,
    /// State.
    pub state: u8,
    /// Line in the batch, from 1.
    pub line: u32,
    /// The message with its parameters filled in.
    pub message: String,
}

impl ParseError {
    /// A syntax error of severity 15, state 1.
    #[must_use]
    pub fn new(number: i32, line: u32, message: impl Into<String>) -> Box<ParseError> {
        Box::new(ParseError { number, severity: 15, state: 1, line, message: message.into() })
    }
    /// The same with another state.
    #[must_use]
    pub fn with_state(mut self: Box<Self>, state: u8) -> Box<ParseError> {
        self.state = state;
        self
    }
    /// The same with another severity.
    #[must_use]
    pub fn with_severity(mut self: Box<Self>, severity: u8) -> Box<ParseError> {
        self.severity = severity;
        self
    }
}

/// Result of parsing; the error is boxed so that the happy path stays small.
pub type Result<T> = std::result::Result<T, Box<ParseError>>;
