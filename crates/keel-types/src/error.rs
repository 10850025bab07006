//! The error every SQL layer raises: the product's number, severity and state with its message text.

use std::fmt;

/// A SQL error or message as the product reports it. `line` and `procedure` are filled in by the statement
/// executor; everything below it leaves them at 0 and `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// The product's error number (`@@ERROR`, `ERROR_NUMBER()`).
    pub number: i32,
    /// Severity: 0-10 information, 11-16 caused by the user, 17-25 resources and fatal. 20+ ends the session.
    pub severity: u8,
    /// State: tells apart the places that raise one number.
    pub state: u8,
    /// Line in the batch or procedure, from 1; 0 when not yet known.
    pub line: u32,
    /// Procedure it was raised in, if any.
    pub procedure: Option<String>,
    /// The text, with its parameters filled in.
    pub message: String,
}

/// Result of everything that can raise a SQL error. Boxed: the happy path stays one word.
pub type Result<T> = std::result::Result<T, Box<SqlError>>;

impl SqlError {
    /// Makes an error; `line` and `procedure` are set later by the executor.
    pub fn new(number: i32, severity: u8, state: u8, message: impl Into<String>) -> Box<SqlError> {
        Box::new(SqlError { number, severity, state, line: 0, procedure: None, message: message.into() })
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}: {}",
            self.number, self.severity, self.state, self.line, self.message
        )
    }
}

impl std::error::Error for SqlError {}
