//! # keel-types: SQL values, types and what can be done with one value at a time
//!
//! A [`Value`] is what a column, a variable or an expression holds at run time; a [`SqlType`] is what it was declared
//! as. A value does not know its type: whoever holds it does, from compile time on. So nothing in this crate asks per
//! row "what are you?": a caller **resolves** an operation once, by types, to a function, and calls that per row.
//!
//! ```text
//!   compile time                                   run time
//!   ------------                                   --------
//!   promote::binary_result(op, a, b) → type
//!   arith::resolve(op, a, b)        → BinaryFn ──► f(&Value, &Value) → Result<Value>
//!   cast::resolve(from, to, style)  → CastFn   ──► f(&Value)         → Result<Value>
//!   compare::resolve(a, b, collation) → fn     ──► f(&Value, &Value) → Ordering
//!   functions::lookup(name)         → def      ──► eval(&mut FnCtx, &[Value])
//! ```
//!
//! | module | owns |
//! | --- | --- |
//! | [`ty`] | declared types: names, parsing, precedence, result types, catalog numbers |
//! | [`value`] | the run-time value |
//! | [`mod@column`] | stored bytes of a column, specified by byte |
//! | [`key`] | order-preserving key bytes, specified by byte |
//! | [`collation`] | string order, equality, hashing, `LIKE`, code page 1252 |
//! | [`arith`], [`compare`] | operators |
//! | [`cast`] | conversion between types, string forms |
//! | [`functions`] | built-in functions |
//! | [`hierarchyid`] | positions in trees, the methods of the type |
//! | [`decimal`] | decimal arithmetic |
//! | [`datetime`] | calendar, date parsing and printing |
//! | [`error`], [`raise`] | the product's errors |
//!
//! Invariants: keys order as [`compare`] orders; equal values hash alike; a stored column reads back as the same value;
//! a value of a type is always in the type's range, rounded to its scale, padded to its length; no function panics on
//! any value.
//!
//! Deliberately absent: sessions, catalogs, rows, and anything that would need one; aggregates (keel-query).

pub mod arith;
pub mod cast;
pub mod cell;
pub mod collation;
pub mod column;
pub mod compare;
pub mod datetime;
pub mod decimal;
pub mod error;
pub mod functions;
pub mod hierarchyid;
pub mod key;
pub mod raise;
pub mod ty;
pub mod value;

#[cfg(test)]
mod testing;

pub use error::{Result, SqlError};
pub use ty::{Collation, Length, SqlType, XmlSchema};
pub use value::{Decimal, Value};
