//! CREATE DATABASE … FOR ATTACH, and `sp_detach_db`: what a session says, and who may.

use super::database::{not_understood, set_option};
use super::database_snapshot::file_option_required;
use crate::broker;
use crate::engine::{Attach, NotAttached};
use crate::errors;
use crate::hadr;
use crate::run::Runner;
use keel_parser::ast;
use keel_types::SqlError;
use keel_types::error::Result;
use std::path::PathBuf;

type E = Box<SqlError>;

errors::error_functions! {
    /// COLLATE is of new databases.
    no_collation() = 1812, 16, 1, "CREATE DATABASE failed. COLLATE clause cannot be used with the FOR ATTACH option.";
    /// A system procedure that ends transactions.
    procedure_in_transaction(name) = 15002, 16, 1, "The procedure '{name}' cannot be executed within a transaction.";
}

/// What CREATE DATABASE … FOR ATTACH may say behind WITH.
const OPTIONS: &[&str] = &["ENABLE_BROKER", "NEW_BROKER", "ERROR_BROKER_CONVERSATIONS", "RESTRICTED_USER"];

/// What a database that comes from elsewhere is not trusted with.
const DISTRUSTED: &[&str] = &["TRUSTWORTHY", "DB_CHAINING"];

fn file_name(file: &ast::FileSpec) -> Result<&str> {
    let named = file.options.iter().find(|o| o.name == "FILENAME");
    named.and_then(|o| o.value.text()).ok_or_else(|| file_option_required("FILENAME"))
}

impl Runner<'_> {
    pub(super) fn attach_database(&mut self, c: &ast::CreateDatabase, how: &str) -> Result<()> {
        let name = &c.name.text;
        self.of_the_instance("CREATE DATABASE … FOR ATTACH")?;
        if c.collation.is_some() {
            return Err(no_collation());
        }
        if !["ATTACH", "ATTACH_REBUILD_LOG"].contains(&how) {
            return Err(not_understood(how));
        }
        if let Some(option) = c.options.iter().find(|o| !OPTIONS.contains(&o.name.as_str())) {
            return Err(not_understood(&option.name));
        }
        let files = c.files.iter().flat_map(|group| &group.files).chain(&c.log_files);
        let files = files.map(file_name).collect::<Result<Vec<_>>>()?;
        let [data, others @ ..] = &files[..] else { return Err(not_understood(how)) };
        let owner = self.info.login_now().map(|login| login.sid);
        let attached = self.info.engine.attach_database(&Attach { name, data, others }, |settings| {
            settings.owner = owner.unwrap_or_else(|| settings.owner.clone());
            settings.offline = false;
            for distrusted in DISTRUSTED {
                settings.flags.insert((*distrusted).to_owned(), false);
            }
            settings.flags.insert(broker::ENABLED.to_owned(), false);
        });
        let entry = match attached {
            Ok(entry) => entry,
            Err(NotAttached { said, error }) => {
                said.into_iter().for_each(|why| self.info.say(why));
                return Err(error);
            }
        };
        if c.options.is_empty() {
            return Ok(());
        }
        // It is attached, whatever becomes of the broker.
        self.prepare_broker(&entry, &c.options)?;
        let new_broker = self.new_guid();
        entry.change_settings(|settings| {
            if c.options.iter().any(|o| o.name == "NEW_BROKER") {
                settings.broker_id = Some(new_broker);
            }
            c.options.iter().try_for_each(|o| set_option(settings, o))
        })?;
        self.info.engine.broker.stir();
        Ok(())
    }

    /// `sp_detach_db`. Says where the files are.
    pub(crate) fn detach_database(&mut self, name: &str) -> Result<PathBuf> {
        self.of_the_instance("sp_detach_db")?;
        if self.info.transaction.borrow().count > 0 {
            return Err(procedure_in_transaction("sys.sp_detach_db"));
        }
        let Some(entry) = self.info.find_database(name) else {
            // What could not be opened has no owner to ask.
            if self.info.unrestricted.get() || self.info.may_on_server("CONTROL SERVER") {
                return self.info.engine.detach_database(name);
            }
            return Err(errors::no_default_database(name));
        };
        let owns = || self.info.token_in(&entry).is_some_and(|token| token.owner);
        if !self.info.unrestricted.get() && !self.info.may_on_server("CONTROL SERVER") && !owns() {
            return Err(errors::no_permission(""));
        }
        self.not_a_member(name, |d| hadr::errors::operation_refused(d))?;
        self.let_go();
        self.info.engine.detach_database(name)
    }
}
