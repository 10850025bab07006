//! # keel-parser: T-SQL text to syntax tree
//!
//! Three stages, each a module:
//!
//! ```text
//! text --lexer--> tokens --parser--> ast::Batch --(to_text)--> normalised text of expressions
//! ```
//!
//! * [`lexer`] cuts the text into tokens; QUOTED_IDENTIFIER decides there what double quotes mean.
//! * `parser` is a recursive descent with one token of lookahead nearly everywhere. It stops at the first error and
//!   answers as the product does: 102 and 156 with the offending token, 105, 113, 319, 4145 and so on, with the line.
//! * [`ast`] is what the binder reads. Nothing is looked up and nothing is folded: names keep their spelling.
//! * [`to_text`] writes expressions the way the product stores defaults, checks and computed columns.
//! * [`split`] cuts a script at its `GO` lines, for the tools; GO is not T-SQL.
//!
//! ## Invariants
//!
//! * No input panics or exhausts the stack: nesting is bounded ([`ParseError`] 191), chains of operators are bounded,
//!   and no stage reads a byte more than a constant number of times.
//! * A reserved word is never a name unless quoted; every other word may be one everywhere.
//! * Line numbers are those of the text given, from 1.
//!
//! ## Absent on purpose
//!
//! Catalogs, types of expressions, meaning of options: whoever executes a statement checks them. There is no error
//! recovery: a batch with a syntax error runs nothing, so one error is enough.

pub mod ast;
pub mod error;
pub mod keyword;
pub mod lexer;
mod parser;
pub mod split;
pub mod to_text;

pub use error::{ParseError, Result};
pub use parser::read_literal;
pub use split::{GoBatch, split_go};

use ast::{Batch, Expr, Parameter, TypeName};
use parser::Parser;

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
    Parser::new(text, options.quoted_identifier)?.batch()
}

/// Parses a value expression or a condition, as stored for defaults, checks and computed columns.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_expr(text: &str) -> Result<Expr> {
    let mut parser = Parser::new(text, true)?;
    let expr = parser.either()?;
    parser.end_of_text()?;
    Ok(expr)
}

/// Parses a type as written in a declaration: `decimal(10, 2)`, `dbo.MyType`.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_type(text: &str) -> Result<TypeName> {
    let mut parser = Parser::new(text, true)?;
    let ty = parser.type_name()?;
    parser.end_of_text()?;
    Ok(ty)
}

/// Parses the parameter declarations of `sp_executesql`, `sp_prepare` and their kin: `@a int, @b nvarchar(10) OUTPUT`.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_parameters(text: &str) -> Result<Vec<Parameter>> {
    let mut parser = Parser::new(text, true)?;
    let parameters = parser.parameters()?;
    parser.end_of_text()?;
    Ok(parameters)
}
