//! CREATE DATABASE … AS SNAPSHOT OF.

use crate::engine::{DatabaseEntry, FIRST_USER_DATABASE};
use crate::errors::error_functions;
use crate::run::Runner;
use keel_parser::ast;
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

type E = Box<SqlError>;

error_functions! {
    /// A property of a file that a snapshot's has not.
    no_property(name) = 1815, 16, 1, "The {name} property cannot be used with database snapshot files.";
    /// Of master, model, msdb or tempdb.
    system_database(name) = 1816, 16, 1, "Database snapshot on the system database {name} is not allowed.";
    /// By somebody else.
    not_the_owner(name) = 1817, 16, 1, "Only the owner of database \"{name}\" or the system administrator can create a database snapshot on it.";
    /// Of a snapshot.
    of_a_snapshot() = 1821, 16, 1, "Cannot create a database snapshot on another database snapshot.";
    /// Of what waits for log, or is offline.
    not_online() = 1822, 16, 1, "The database must be online to have a database snapshot.";
    /// What comes from the source.
    no_groups_no_collations() = 1825, 16, 1, "Filegroups and collations cannot be specified for database snapshots.";
    /// A logical name twice.
    name_twice(name) = 1828, 16, 1, "The logical file name \"{name}\" is already in use. Choose a different name.";
    /// Anything else that creates a database.
    not_supported_on_it(what) = 1844, 16, 1, "{what} is not supported on a database snapshot.";
    /// A file without its name or its place.
    file_option_required(option) = 1036, 15, 1, "File option {option} is required in this CREATE/ALTER DATABASE statement.";
    /// A name that no data file has.
    no_file(name, database) = 5014, 16, 3, "The file '{name}' does not exist in database '{database}'.";
    /// A data file that is not named.
    file_missing(name) = 5127, 16, 1, "All files must be specified for database snapshot creation. Missing the file \"{name}\".";
    /// Another snapshot's place.
    path_taken(path) = 5170, 16, 1, "Cannot create file '{path}' because it already exists. Change the file path or the file name, and retry the operation.";
}

/// A file of the statement.
struct File<'a> {
    name: &'a str,
    path: &'a str,
}

fn file(spec: &ast::FileSpec) -> Result<File<'_>> {
    let text = |wanted: &str| {
        let found = spec.options.iter().find(|o| o.name.eq_ignore_ascii_case(wanted));
        let value = found.and_then(|o| o.value.text()).filter(|value| !value.trim().is_empty());
        value.ok_or_else(|| file_option_required(wanted))
    };
    let strange =
        |o: &&ast::Opt| !["NAME", "FILENAME"].iter().any(|known| o.name.eq_ignore_ascii_case(known));
    if let Some(option) = spec.options.iter().find(strange) {
        return Err(no_property(&option.name));
    }
    Ok(File { name: text("NAME")?, path: text("FILENAME")? })
}

impl Runner<'_> {
    /// The source as it is now, by another name. Its data file must be named, as the product wants all to be.
    pub(super) fn create_database_snapshot(&mut self, c: &ast::CreateDatabase, source: &str) -> Result<()> {
        let entry = self.info.find_database(source).ok_or_else(|| self.info.engine.not_open(source))?;
        self.may_have_snapshot(&entry)?;
        if !c.log_files.is_empty() {
            return Err(not_supported_on_it("LOG ON"));
        }
        if c.attach.is_some() || !c.options.is_empty() || c.containment.is_some() {
            return Err(not_supported_on_it("An option of CREATE DATABASE"));
        }
        if c.collation.is_some() || c.files.iter().any(|group| group.name.is_some()) {
            return Err(no_groups_no_collations());
        }
        let path = self.snapshot_path(c, &entry)?;
        self.info.engine.create_snapshot(&c.name.text, &entry, &path)?;
        Ok(())
    }

    fn may_have_snapshot(&self, entry: &Arc<DatabaseEntry>) -> Result<()> {
        if entry.id.0 < FIRST_USER_DATABASE {
            return Err(system_database(entry.name()));
        }
        if entry.snapshot().is_some() {
            return Err(of_a_snapshot());
        }
        // A copy of a group, which its role may keep anybody from reading, can have one.
        let waits = entry.restoring() != crate::engine::Restoring::No;
        if waits || entry.picture().settings().offline {
            return Err(not_online());
        }
        let owns = || self.info.token_in(entry).is_some_and(|token| token.owner);
        if !self.info.unrestricted.get() && !self.info.may_on_server("CONTROL SERVER") && !owns() {
            return Err(not_the_owner(entry.name()));
        }
        Ok(())
    }

    /// Where the statement says the one data file is.
    fn snapshot_path(&self, c: &ast::CreateDatabase, entry: &DatabaseEntry) -> Result<String> {
        let files = c.files.iter().flat_map(|group| &group.files).map(file).collect::<Result<Vec<_>>>()?;
        let wanted = entry.file_name();
        let same = |name: &str| crate::views::same(name, &wanted);
        if let Some(strange) = files.iter().find(|file| !same(file.name)) {
            return Err(no_file(strange.name, entry.name()));
        }
        match &files[..] {
            [] => Err(file_missing(&wanted)),
            [only] => {
                let taken = |e: &Arc<DatabaseEntry>| e.snapshot().is_some_and(|s| s.path == only.path);
                if self.info.engine.databases().iter().any(taken) {
                    return Err(path_taken(only.path));
                }
                Ok(only.path.to_owned())
            }
            [first, ..] => Err(name_twice(first.name)),
        }
    }
}
