//! # keel-parser: T-SQL text to syntax tree
//!
//! (chapter to come)

pub mod ast;
pub mod error;

pub use error::{ParseError, Result};

use ast::{Batch, Expr, Parameter, TypeName};

/// Session settings that change how a text reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseOptions {
    /// `SET QUOTED_IDENTIFIER`: double quotes delimit names (on) or strings (off).
    pub quoted_identifier: bool,
}

impl Default for ParseOptions {
    fn default() -> Self {
        ParseOptions { quoted_identifier: true }
    }
}

/// Parses a batch.
///
/// # Errors
/// The first thing in the text that is not T-SQL.
pub fn parse_batch(text: &str, options: ParseOptions) -> Result<Batch> {
    let _ = (text, options);
    Err(ParseError::new(102, 1, "Incorrect syntax near ''."))
}

/// Parses a value expression or a condition, as stored for defaults, checks and computed columns.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_expr(text: &str) -> Result<Expr> {
    let _ = text;
    Err(ParseError::new(102, 1, "Incorrect syntax near ''."))
}

/// Parses a type as written in a declaration: `decimal(10, 2)`, `dbo.MyType`.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_type(text: &str) -> Result<TypeName> {
    let _ = text;
    Err(ParseError::new(102, 1, "Incorrect syntax near ''."))
}

/// Parses the parameter declarations of `sp_executesql`, `sp_prepare` and their kin: `@a int, @b nvarchar(10) OUTPUT`.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_parameters(text: &str) -> Result<Vec<Parameter>> {
    let _ = text;
    Err(ParseError::new(102, 1, "Incorrect syntax near ''."))
}
