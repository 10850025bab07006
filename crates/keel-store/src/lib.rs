//! (chapter to come)
pub mod base;
