//! # keel-store: rows, versions, locks
//!
//! ```text
//! read:   delta (versions, newest first) ──miss──► base tree (immutable snapshot)
//! ```
//!
//! The chapter grows with the modules; see each module's own header.

pub mod base;
pub mod row;
