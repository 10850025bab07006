//! The directory of a domain: which accounts and groups there are, and who they are.
//!
//! `CREATE LOGIN … FROM WINDOWS` asks it for the security identifier of a name. Without one (a realm that has no directory, or a server
//! that was not told of it) any name may be an account's, and no group is known.

use std::fmt;

/// An account or a group as its domain's directory has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// `DOMAIN\name`, as it is written there.
    pub name: String,
    /// Security identifier, in binary form ([MS-DTYP] 2.4.2.2).
    pub sid: Vec<u8>,
    /// A group.
    pub group: bool,
}

/// Asks a domain. Every call asks anew, over the network; who calls waits for the answer, some seconds at most.
pub trait Directory: Send + Sync {
    /// The account or security group of that name; `None` when there is none, or no such domain.
    ///
    /// # Errors
    /// When nobody answers, in words for the error log.
    fn find(&self, domain: &str, name: &str) -> Result<Option<Listed>, Unanswered>;

    /// Security identifiers of all groups that an account or group is in, directly and by others.
    ///
    /// # Errors
    /// As for [`Directory::find`].
    fn groups_of(&self, domain: &str, name: &str) -> Result<Vec<Vec<u8>>, Unanswered>;

    /// Who is directly in a group, by name.
    ///
    /// # Errors
    /// As for [`Directory::find`].
    fn members(&self, domain: &str, group: &str) -> Result<Vec<Listed>, Unanswered>;
}

/// Why a directory did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered(pub String);

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
