//! # keel-types: SQL values, types and what can be done with one value at a time
//!
//! (chapter to come)
pub mod error;
pub mod ty;
pub mod value;

pub use error::SqlError;
pub use ty::{Collation, Length, SqlType};
pub use value::{Decimal, Value};
