//! A client that has come as an account of a domain: what it is called there, and all the identifiers that it goes by.

use super::{AUTHENTICATED_USERS, binary, sid};

/// An account of which its domain has said that it is the client's, and the groups that the domain has it in. Permissions are granted to
/// logins and users; those of an account are the ones with an identifier of its own or of one of its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// `DOMAIN\name`
    name: String,
    /// The domain's first, where it has told one; then the one that is made of the name, by which the account was known before.
    own: Vec<Vec<u8>>,
    groups: Vec<Vec<u8>>,
}

impl Account {
    /// An account `DOMAIN\name` with its own security identifier and its groups', as far as the domain tells them. Whoever has proved to
    /// be anybody is one of `NT AUTHORITY\Authenticated Users`.
    #[must_use]
    pub fn new(name: String, told: Option<Vec<u8>>, mut groups: Vec<Vec<u8>>) -> Account {
        let own: Vec<Vec<u8>> = told.into_iter().chain(sid(&name)).collect();
        groups.push(binary(AUTHENTICATED_USERS));
        Account { name, own, groups }
    }

    /// `DOMAIN\name`
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The security identifier that it is shown with; empty for what is not the name of an account.
    #[must_use]
    pub fn sid(&self) -> &[u8] {
        self.own.first().map_or(&[], Vec::as_slice)
    }

    /// Whether a security identifier is its own.
    #[must_use]
    pub fn is(&self, sid: &[u8]) -> bool {
        self.own.iter().any(|own| own == sid)
    }

    /// Whether it is one of a group's.
    #[must_use]
    pub fn is_in(&self, group: &[u8]) -> bool {
        self.groups.iter().any(|known| known == group)
    }
}
