//! # keel-group: availability groups in a running process
//!
//! Who this instance is ([`identity`]), whom it trusts ([`trust`], [`token`]), and how a connection to a peer is made and
//! used ([`handshake`], [`tls`], [`link`]).
//!
//! ## Trust
//! Certificates are self-signed and pinned by fingerprint. A peer is trusted because a join token's bearer proved itself, or
//! because the endpoint's SQL configuration names its certificate. TLS is 1.3 only, with a certificate on both sides.

pub mod error;
pub mod handshake;
pub mod identity;
pub mod kept;
pub mod link;
pub mod tls;
pub mod token;
pub mod trust;
