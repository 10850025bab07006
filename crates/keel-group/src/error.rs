//! What can go wrong, by what the caller does next.

use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The disk or the network.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file of ours is not what we wrote.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A certificate or key that cannot be made or used.
    #[error("certificate: {0}")]
    Certificate(String),
    /// Text that is no join token.
    #[error("this is not a join token")]
    Token,
    /// The connection could not be made; the step says where it failed.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl GroupError {
    pub(crate) fn damaged(path: &Path, what: String) -> GroupError {
        GroupError::Damaged { path: path.to_path_buf(), what }
    }
}

/// Why a connection to a peer was not made: the failing step, so that a firewall, a stopped endpoint and a wrong certificate
/// can be told apart. The numbers are the product's messages for them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The address cannot be resolved or nobody answers there (35201).
    #[error("cannot reach {address}: {what}")]
    Unreachable {
        /// `host:port`.
        address: String,
        /// What the system says.
        what: String,
    },
    /// TLS failed (35207).
    #[error("TLS handshake: {0}")]
    Tls(String),
    /// The peer's certificate is not trusted here (35207).
    #[error("the certificate of {0} is not trusted here")]
    PeerUntrusted(String),
    /// The peer does not trust our certificate (35207).
    #[error("the peer does not trust this instance's certificate")]
    Untrusted,
    /// No protocol version in common (35203).
    #[error(
        "the peer speaks protocol versions {peer_min} to {peer_max}, this instance {own_min} to {own_max}"
    )]
    Version {
        /// Peer's oldest.
        peer_min: u16,
        /// Peer's newest.
        peer_max: u16,
        /// Our oldest.
        own_min: u16,
        /// Our newest.
        own_max: u16,
    },
    /// The peer's endpoint is disabled (35204).
    #[error("the peer's endpoint is disabled")]
    Disabled,
    /// The peer's join secret has expired or was never given.
    #[error("the join token has expired or is not known there")]
    JoinRefused,
    /// It is this instance itself that is there (35207).
    #[error("an instance does not connect to itself")]
    Itself,
    /// It answered with something else (35207).
    #[error("{0}")]
    Refused(String),
}

impl ConnectError {
    /// `last_connect_error_number` of the product's views.
    #[must_use]
    pub fn number(&self) -> i32 {
        match self {
            ConnectError::Unreachable { .. } => 35201,
            ConnectError::Version { .. } => 35203,
            ConnectError::Disabled => 35204,
            ConnectError::Tls(_)
            | ConnectError::PeerUntrusted(_)
            | ConnectError::Untrusted
            | ConnectError::JoinRefused
            | ConnectError::Itself
            | ConnectError::Refused(_) => 35207,
        }
    }
}
