//! What goes wrong, in the library's words.

use std::path::PathBuf;

use crate::library::{Library, Oid, Owned, Status};

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no context.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The library is not on this machine, or is not what it should be.
    #[error("Kerberos needs {name} (Debian: libgssapi-krb5-2), which cannot be loaded: {why}")]
    Unavailable {
        /// The file that was looked for.
        name: &'static str,
        /// The loader's words.
        why: String,
    },
    /// A path that cannot be told to the library: it holds a zero byte.
    #[error("{0:?} cannot be the name of a file with keys")]
    BadPath(PathBuf),
    /// What a ticket says of its account's groups is not what a domain writes, or nobody has signed it.
    #[error("What the ticket says about the account and its groups cannot be read or is not signed")]
    BadLogon,
    /// The library said no.
    #[error("{text}")]
    Failed {
        /// The mechanism's own number (`minor_status`), 0 if it gave none; for the error log.
        code: u32,
        /// What it says about it.
        text: String,
    },
}

impl Error {
    /// The number that the error log shows.
    #[must_use]
    pub fn code(&self) -> u32 {
        match self {
            Error::Failed { code, .. } => *code,
            Error::Unavailable { .. } | Error::BadPath(_) | Error::BadLogon => 0,
        }
    }
}

const GSS_CODE: i32 = 1;
const MECHANISM_CODE: i32 = 2;

impl Library {
    /// Nothing if a call went well, its status in words otherwise.
    pub(crate) fn check(&self, status: Status) -> Result<()> {
        if status.is_error() { Err(self.failure(status)) } else { Ok(()) }
    }

    fn failure(&self, status: Status) -> Error {
        let own = match status.minor {
            0 => Vec::new(),
            minor => self.words(minor, MECHANISM_CODE),
        };
        // What the mechanism says is all there is to say of a failure without a name.
        let mut parts = match status.is_unspecified() && !own.is_empty() {
            true => Vec::new(),
            false => self.words(status.major, GSS_CODE),
        };
        parts.extend(own);
        parts.dedup();
        Error::Failed { code: status.minor, text: parts.join(": ") }
    }

    /// What a code means: the library may have several sentences for it.
    fn words(&self, code: u32, kind: i32) -> Vec<String> {
        let mut sentences = Vec::new();
        let mut more = 0;
        loop {
            let mut text = Owned::new(self);
            let mut minor = 0;
            // SAFETY: all pointers are to variables that outlive the call; no mechanism is the default one.
            let major = unsafe {
                (self.display_status)(&mut minor, code, kind, Oid::none(), &mut more, text.as_mut_ptr())
            };
            if (Status { major, minor }).is_error() {
                break;
            }
            // Some end in a zero byte.
            let sentence = String::from_utf8_lossy(text.bytes());
            let sentence = sentence.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned();
            if !sentence.is_empty() {
                sentences.push(sentence);
            }
            if more == 0 {
                break;
            }
        }
        sentences
    }
}
