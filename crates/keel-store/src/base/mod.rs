//! # The base tree: rows as of the checkpoint, in one copy-on-write B+tree file per database
//!
//! (chapter follows with the implementation)

mod api;

pub use api::*;
