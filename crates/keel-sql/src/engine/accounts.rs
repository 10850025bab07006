//! Accounts and groups of a domain by their names: its directory says who they are, where the host has set one.

use std::sync::Arc;

use keel_types::error::Result;

use super::Engine;
use crate::errors;
use crate::windows::{self, Account, Directory, Listed, Unanswered};

impl Engine {
    /// Sets what is asked about accounts of domains, once, before the first client.
    pub fn set_directory(&self, directory: Arc<dyn Directory>) {
        let _ = self.directory.set(directory);
    }

    /// The directory, and the two parts of a name that it is to be asked about; `None` without one, and for names that mean the same everywhere.
    fn asked<'n>(&self, name: &'n str) -> Option<(&Arc<dyn Directory>, &'n str, &'n str)> {
        let (domain, account) = windows::parts(name)?;
        let directory = self.directory.get().filter(|_| !windows::is_shipped(name))?;
        Some((directory, domain, account))
    }

    /// The account or group that is called so.
    ///
    /// # Errors
    /// 15407 for what is no account's name, 15401 where the directory has none of this name, 15404 when it does not answer.
    pub fn find_account(&self, name: &str) -> Result<Listed> {
        let sid = windows::sid(name).ok_or_else(|| errors::not_a_windows_name(name))?;
        let Some((directory, domain, account)) = self.asked(name) else {
            return Ok(Listed { name: name.to_owned(), group: windows::is_shipped_group(&sid), sid });
        };
        let found = directory.find(domain, account).map_err(|why| self.unanswered(name, &why))?;
        found.ok_or_else(|| errors::no_windows_account(name))
    }

    /// An account with the groups that its domain has it in, without its having come: somebody else takes its place.
    ///
    /// # Errors
    /// As for [`Engine::find_account`].
    pub fn account(&self, name: &str) -> Result<Account> {
        let found = self.find_account(name)?;
        let groups = match self.asked(name) {
            Some((directory, domain, account)) => {
                directory.groups_of(domain, account).map_err(|why| self.unanswered(name, &why))?
            }
            None => Vec::new(),
        };
        Ok(Account::new(found.name, Some(found.sid), groups))
    }

    /// Who is directly in a group; nobody where there is no directory to ask.
    ///
    /// # Errors
    /// As for [`Engine::find_account`].
    pub(crate) fn members_of_group(&self, name: &str) -> Result<Vec<Listed>> {
        let Some((directory, domain, group)) = self.asked(name) else { return Ok(Vec::new()) };
        directory.members(domain, group).map_err(|why| self.unanswered(name, &why))
    }

    fn unanswered(&self, name: &str, why: &Unanswered) -> Box<keel_types::SqlError> {
        let text = format!("The directory was asked about {name} and did not answer: {why}");
        self.options().log.write(&text);
        errors::windows_unanswered(name)
    }
}
