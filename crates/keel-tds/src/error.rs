//! What can be wrong with bytes from the peer, sorted by what the reader does next.

/// A decoding failure. `Incomplete` asks for more bytes (or, at the end of a message, means malformed); all others end
/// the connection or the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The input ends inside a structure; with more bytes it could be valid.
    #[error("the message ends early")]
    Incomplete,
    /// The input contradicts the specification.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// A count or length is larger than we accept (see [`crate::limits`]).
    #[error("{0} exceeds its limit")]
    Limit(&'static str),
    /// A remote procedure call with more parameters than there may be.
    #[error("more than {0} parameters")]
    TooManyParameters(usize),
    /// Valid protocol that this implementation does not speak.
    #[error("unsupported {what} 0x{code:02X}")]
    Unsupported {
        /// The kind of thing.
        what: &'static str,
        /// Its code on the wire.
        code: u32,
    },
}

/// Result of decoding.
pub type Result<T> = std::result::Result<T, DecodeError>;
