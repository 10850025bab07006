//! Who a client is by Kerberos: the system's GSS-API library, found when it is first needed.
//!
//! Kerberos is not ours to write: MIT's library (`libgssapi_krb5.so.2`, Debian's package `libgssapi-krb5-2`) knows the keys' files, the
//! kinds of encryption, which ticket was seen before, and SPNEGO (RFC 4178), in which clients wrap it. It is loaded at run time, so that
//! a machine without it builds and runs the server, and only whoever configures Kerberos needs it; the drivers that clients use do the
//! same.
//!
//! Two things are done with it (RFC 2743, 2744): an [`Acceptor`] has the keys of a service and finds out who a client is
//! ([`Acceptance`]) and, where its domain says so, in which groups ([`Logon`]); an [`Initiator`] has the tickets of whoever runs the program and proves it to a server. Both give and take opaque
//! tokens; who carries them is the caller's business. Nothing is signed or encrypted with the context that comes of it: connections
//! have TLS for that.

mod accept;
mod error;
mod initiate;
mod library;
mod logon;

pub use accept::{Acceptance, Accepted, Acceptor, Step};
pub use error::{Error, Result};
pub use initiate::Initiator;
pub use logon::Logon;
