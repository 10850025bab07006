//! # keel-query: from a parsed query to rows
//!
//! (chapter to come)
pub mod catalog;
