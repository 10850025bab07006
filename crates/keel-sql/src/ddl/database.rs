//! CREATE, ALTER and DROP DATABASE.

use super::query_store;
use crate::broker;
use crate::catalog::{DatabaseSettings, DelayedDurability, PageVerify};
use crate::engine::{DatabaseEntry, Restoring, not_of_a_snapshot};
use crate::errors;
use crate::hadr;
use crate::parameterization;
use crate::query_store::QueryStoreSettings;
use crate::run::Runner;
use crate::scoped;
use keel_parser::ast::{self, AlterDatabaseAction};
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

/// Boolean options that are remembered and reported, and otherwise have no effect here: what they switch is either always
/// on, always off, or concerns something that does not exist in this engine.
const FLAGS: &[&str] = &[
    "ANSI_NULL_DEFAULT",
    "ANSI_NULLS",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "AUTO_CLOSE",
    "AUTO_CREATE_STATISTICS",
    "AUTO_SHRINK",
    "AUTO_UPDATE_STATISTICS",
    "AUTO_UPDATE_STATISTICS_ASYNC",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "DATE_CORRELATION_OPTIMIZATION",
    "DB_CHAINING",
    "HONOR_BROKER_PRIORITY",
    "MIXED_PAGE_ALLOCATION",
    "NESTED_TRIGGERS",
    "NUMERIC_ROUNDABORT",
    "QUOTED_IDENTIFIER",
    "RECURSIVE_TRIGGERS",
    "TEMPORAL_HISTORY_RETENTION",
    "TRUSTWORTHY",
    "ACCELERATED_DATABASE_RECOVERY",
    "SUPPLEMENTAL_LOGGING",
    "DEFAULT_LANGUAGE",
    "DEFAULT_FULLTEXT_LANGUAGE",
    "TWO_DIGIT_YEAR_CUTOFF",
    "TRANSFORM_NOISE_WORDS",
    "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT",
    "FILESTREAM",
    "VARDECIMAL_STORAGE_FORMAT",
    "LEDGER",
    "DATA_RETENTION",
    "AUTOMATIC_TUNING",
    "OPTIMIZED_LOCKING",
];

/// Options that promise what does not happen here: what relies on them must not think it does.
const REFUSED: &[&str] = &["LEDGER", "FILESTREAM"];

/// Options that are remembered and do nothing when they are on, which whoever sets them should know.
const IDLE: &[&str] = &["AUTO_CLOSE", "AUTO_SHRINK", "AUTOMATIC_TUNING", "DATE_CORRELATION_OPTIMIZATION"];

/// What a database may not be set to while it is in an availability group or mirrored.
const NOT_FOR_MEMBERS: &[&str] =
    &["RECOVERY", "READ_ONLY", "SINGLE_USER", "RESTRICTED_USER", "OFFLINE", "AUTO_CLOSE", "EMERGENCY"];

impl Runner<'_> {
    fn no_transaction(&self, statement: &str) -> Result<()> {
        if self.info.transaction.borrow().count > 0 {
            return Err(errors::not_in_transaction(statement));
        }
        Ok(())
    }

    pub(super) fn create_database(&mut self, c: &ast::CreateDatabase) -> Result<()> {
        self.no_transaction("CREATE DATABASE")?;
        if let Some(source) = &c.snapshot_of {
            return self.create_database_snapshot(c, &source.text);
        }
        if let Some(how) = &c.attach {
            return self.attach_database(c, how);
        }
        let mut settings = DatabaseSettings::default();
        if let Some(model) = self.info.engine.database_by_id(crate::engine::MODEL) {
            settings = DatabaseSettings {
                log_chain: None,
                differential_base: None,
                query_store: model
                    .picture()
                    .settings()
                    .query_store
                    .clone()
                    .map(|s| QueryStoreSettings { tree: None, ..s }),
                ..(**model.picture().settings()).clone()
            };
        }
        if let Some(collation) = &c.collation {
            settings.collation = super::collate::database_collation(&collation.text)?;
        }
        // File sizes and places are accepted: a database is one directory, its files grow by themselves.
        for option in &c.options {
            set_option(&mut settings, option)?;
        }
        if let Some(containment) = &c.containment {
            if containment == "PARTIAL" {
                self.may_contain("create")?;
            }
            settings.flags.insert("CONTAINMENT".to_owned(), containment == "PARTIAL");
        }
        if let Some(login) = self.info.login_now() {
            settings.owner = login.sid;
        }
        settings.broker_id = Some(self.new_guid());
        self.info.engine.create_database(&c.name.text, settings)?;
        self.begin_query_store(&c.name.text)?;
        self.put_into_context(&c.name.text)
    }

    pub(super) fn drop_databases(&mut self, d: &ast::Drop) -> Result<()> {
        self.no_transaction("DROP DATABASE")?;
        for name in &d.names {
            let name = &name.name.text;
            if d.if_exists && self.info.find_database(name).is_none() {
                continue;
            }
            let state = self.info.engine.hadr().map(|hadr| hadr.state());
            let mirrored =
                state.is_some_and(|s| s.mirroring_of(name).is_some() || s.expected_of(name).is_some());
            if mirrored {
                return Err(hadr::errors::drop_mirrored(name));
            }
            self.not_a_member(name, |d| hadr::errors::drop_refused(d))?;
            let entry = self.info.find_database(name);
            self.let_go();
            if let Some(Err(e)) = entry.map(|entry| self.tell_of_drop(&entry)) {
                let log = &self.info.engine.options().log;
                log.write(&format!(
                    "Who watches database '{name}' is not told that it is dropped: {}",
                    e.message
                ));
            }
            self.info.engine.drop_database(name)?;
        }
        Ok(())
    }

    pub(super) fn alter_database(&mut self, a: &ast::AlterDatabase) -> Result<()> {
        if let AlterDatabaseAction::SetHadr(action) = &a.action {
            let current = self.info.current_database().name();
            return self.set_hadr(a.name.as_ref().map_or(&current, |n| n.text.as_str()), action);
        }
        self.no_transaction("ALTER DATABASE")?;
        let entry = match &a.name {
            None => self.info.current_database(),
            Some(name) => self.info.find_database(&name.text).ok_or_else(|| {
                SqlError::new(5011, 14, 5, format!(
                    "User does not have permission to alter database '{}', the database does not exist, or the database is not in a state that allows access checks.", name.text))
            })?,
        };
        if entry.snapshot().is_some() {
            return Err(not_of_a_snapshot());
        }
        match &a.action {
            AlterDatabaseAction::Set { options, termination } => {
                if options.iter().any(|o| NOT_FOR_MEMBERS.contains(&o.name.as_str())) {
                    self.not_a_member(&entry.name(), |d| hadr::errors::operation_refused(d))?;
                }
                if options.iter().any(|o| o.name == "CHANGE_TRACKING") {
                    return self.alter_change_tracking(&entry, options);
                }
                if let Some(option) = options.iter().find(|o| o.name == "ENCRYPTION") {
                    return self.set_encryption(&entry, option);
                }
                if entry.is_standby() {
                    return Err(errors::warm_standby(entry.name()));
                }
                if options.iter().any(|o| o.name == query_store::CLEAR) {
                    return self.clear_query_store(&entry);
                }
                self.check_containment(&entry, options)?;
                self.prepare_broker(&entry, options)?;
                let store = self.query_store_settings(&entry, options)?;
                let now = entry.picture();
                let mut then = (**now.settings()).clone();
                for option in options {
                    set_option(&mut then, option)?;
                    self.warn_of_idle(option);
                }
                let _changing = self.make_way(&entry, now.settings(), &then, termination.as_ref())?;
                let (switched, new_broker) = (store.is_some(), self.new_guid());
                if switched || then.offline || then.read_only {
                    self.info.add_up();
                    // That its last figures are lost keeps no store on, and no database.
                    if let Err(e) = crate::query_store::write_out(&self.info.engine, &entry) {
                        let name = entry.name();
                        let text =
                            format!("The Query Store of database '{name}' was not written. {}", e.message);
                        self.info.engine.options().log.write(&text);
                    }
                }
                entry.change_settings(|settings| {
                    settings.query_store = store.or_else(|| settings.query_store.take());
                    if options.iter().any(|o| o.name == "NEW_BROKER") {
                        settings.broker_id = Some(new_broker);
                    }
                    options.iter().try_for_each(|o| set_option(settings, o))
                })?;
                self.info.engine.broker.stir();
                if options.iter().any(|o| o.name == parameterization::OPTION) {
                    self.info.engine.programs.forget(entry.id);
                }
                if switched {
                    self.info.engine.follow_query_stores();
                }
                Ok(())
            }
            AlterDatabaseAction::Collate(name) => {
                let collation = super::collate::database_collation(&name.text)?;
                entry.change_settings(|settings| {
                    settings.collation = collation;
                    Ok(())
                })
            }
            AlterDatabaseAction::ModifyName(name) => {
                self.not_a_member(&entry.name(), |d| hadr::errors::rename_refused(d))?;
                match entry.restoring() {
                    Restoring::No => {
                        // Its files keep their logical names, whatever comes between the two.
                        let file_name = entry.file_name().to_string();
                        entry.change_settings(|settings| {
                            settings.file_name.get_or_insert(file_name);
                            Ok(())
                        })?;
                        self.info.engine.rename_database(&entry, &name.text)?;
                    }
                    Restoring::Closed => return Err(errors::restoring(entry.name())),
                    Restoring::Standby => return Err(errors::warm_standby(entry.name())),
                }
                let text = format!("The database name '{}' has been set.", name.text);
                self.report(&SqlError::new(5043, 0, 1, text));
                Ok(())
            }
            AlterDatabaseAction::ScopedConfiguration { for_secondary, options } => {
                self.alter_scoped(&entry, options, *for_secondary)
            }
            // Files and their sizes are the engine's business.
            AlterDatabaseAction::File { .. } | AlterDatabaseAction::Modify { .. } => Ok(()),
            AlterDatabaseAction::SetHadr(_) => unreachable!("went its own way"),
            AlterDatabaseAction::SetPartner(action) => self.set_partner(&entry, action),
            AlterDatabaseAction::SetWitness(url) => self.set_witness(&entry, url.as_deref()),
        }
    }

    /// Error 12824 unless users may log in to databases.
    fn may_contain(&self, verb: &str) -> Result<()> {
        if self.info.engine.takes_database_users() {
            return Ok(());
        }
        Err(errors::contained_authentication_off(verb))
    }

    /// Errors 12824, and 12809 where users with a password would be left without a way in.
    fn check_containment(&self, entry: &Arc<DatabaseEntry>, options: &[ast::Opt]) -> Result<()> {
        let Some(option) = options.iter().find(|o| o.name == "CONTAINMENT") else { return Ok(()) };
        if option.value.text().is_some_and(|word| word.eq_ignore_ascii_case("PARTIAL")) {
            return self.may_contain("alter");
        }
        let picture = entry.picture();
        if picture.stored_principals().any(|p| p.password_hash.is_some()) {
            return Err(errors::contained_users_left());
        }
        Ok(())
    }

    fn alter_scoped(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        options: &[ast::Opt],
        for_secondary: bool,
    ) -> Result<()> {
        for option in options {
            match option.name.strip_prefix("CLEAR ") {
                Some("PROCEDURE_CACHE") => self.info.engine.programs.forget(entry.id),
                Some(other) => return Err(not_understood(other)),
                None => {
                    let mut idle = None;
                    entry.change_settings(|settings| {
                        idle = scoped::set(settings, option, for_secondary)?;
                        Ok(())
                    })?;
                    idle.into_iter().for_each(|name| self.say_idle(name));
                }
            }
        }
        Ok(())
    }

    /// Says that an option is remembered, and no more.
    fn warn_of_idle(&mut self, option: &ast::Opt) {
        if IDLE.contains(&option.name.as_str()) && !is_off(option) {
            self.say_idle(&option.name);
        }
    }

    fn say_idle(&mut self, name: &str) {
        let text = format!("The option '{name}' is remembered; it has no effect in Evenkeel.");
        self.report(&SqlError::new(40517, 10, 1, text));
    }
}

pub(super) fn not_understood(word: &str) -> Box<SqlError> {
    SqlError::new(102, 15, 1, format!("Incorrect syntax near '{word}'."))
}

fn is_off(option: &ast::Opt) -> bool {
    match &option.value {
        ast::OptValue::Off => true,
        ast::OptValue::Word(w) => w.is("OFF") || w.is("DISABLED"),
        // FILESTREAM (NON_TRANSACTED_ACCESS = OFF), as tools write it.
        ast::OptValue::List(options) => options.iter().all(is_off),
        _ => false,
    }
}

/// Remembers which of two words an option says, as a flag of the second.
fn choose(settings: &mut DatabaseSettings, option: &ast::Opt, words: [&str; 2]) -> Result<()> {
    let word = option.value.text().unwrap_or("").to_ascii_uppercase();
    let chosen = words.iter().position(|w| *w == word).ok_or_else(|| not_understood(&word))?;
    settings.flags.insert(option.name.to_string(), chosen == 1);
    Ok(())
}

pub(super) fn set_option(settings: &mut DatabaseSettings, option: &ast::Opt) -> Result<()> {
    let on = !is_off(option);
    let head = option.name.split(' ').next().unwrap_or_default();
    if on && REFUSED.contains(&head) {
        return Err(errors::not_supported(format!("ALTER DATABASE … SET {}", option.name)));
    }
    let word = option.value.text().unwrap_or("").to_ascii_uppercase();
    let number = option.value.number();
    match option.name.as_str() {
        "RECOVERY" => {
            if word == "SIMPLE" {
                settings.log_chain = None;
            }
            settings.recovery = word;
        }
        "READ_COMMITTED_SNAPSHOT" => settings.read_committed_snapshot = on,
        "ALLOW_SNAPSHOT_ISOLATION" => settings.allow_snapshot = on,
        "READ_ONLY" => settings.read_only = true,
        "READ_WRITE" => settings.read_only = false,
        "SINGLE_USER" | "RESTRICTED_USER" | "MULTI_USER" => settings.user_access = option.name.to_string(),
        "ONLINE" => settings.offline = false,
        // They have gone their own way.
        query_store::OPTION => {}
        "OFFLINE" => settings.offline = true,
        "COMPATIBILITY_LEVEL" => {
            let level =
                number.and_then(|n| u8::try_from(n).ok()).filter(|n| (100..=170).contains(n) && n % 10 == 0);
            settings.compatibility = level.ok_or_else(|| {
                SqlError::new(15048, 16, 1, "Valid values of the database compatibility level are 100, 110, 120, 130, 140, 150, or 160.")
            })?;
        }
        "TARGET_RECOVERY_TIME" => {
            let unit =
                if let ast::OptValue::Measure(_, unit) = &option.value { unit.as_str() } else { "SECONDS" };
            let factor = if unit.starts_with("MINUTE") { 60 } else { 1 };
            settings.target_recovery_seconds = (number.unwrap_or(60).max(0) * factor) as u32;
        }
        "DELAYED_DURABILITY" => {
            let known = DelayedDurability::ALL.into_iter().find(|(_, name)| *name == word);
            settings.delayed_durability = known.ok_or_else(|| not_understood(&word))?.0;
        }
        "ENABLE_BROKER" | "NEW_BROKER" => _ = settings.flags.insert(broker::ENABLED.to_owned(), true),
        "DISABLE_BROKER" => _ = settings.flags.insert(broker::ENABLED.to_owned(), false),
        // What it does is done by who has a session.
        "ERROR_BROKER_CONVERSATIONS" => {}
        "PAGE_VERIFY" => {
            let known = PageVerify::ALL.into_iter().find(|v| v.name() == word);
            settings.page_verify = known.ok_or_else(|| not_understood(&word))?;
        }
        "TORN_PAGE_DETECTION" => {
            settings.page_verify = if on { PageVerify::TornPageDetection } else { PageVerify::None };
        }
        parameterization::OPTION => choose(settings, option, ["SIMPLE", "FORCED"])?,
        "CURSOR_DEFAULT" => choose(settings, option, ["GLOBAL", "LOCAL"])?,
        "CONTAINMENT" => {
            let partial = match word.as_str() {
                "PARTIAL" => true,
                "NONE" => false,
                _ => return Err(not_understood(&word)),
            };
            settings.flags.insert(option.name.to_string(), partial);
        }
        name if FLAGS.contains(&name) || FLAGS.contains(&head) => {
            settings.flags.insert(name.to_owned(), on);
        }
        name => {
            return Err(SqlError::new(5058, 16, 1, format!("Option '{name}' cannot be set in database.")));
        }
    }
    Ok(())
}
