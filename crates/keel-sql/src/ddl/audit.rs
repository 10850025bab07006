//! CREATE, ALTER and DROP SERVER AUDIT: the definition is kept in master; STATE starts and stops it.

use super::event_session::predicate;
use crate::audit::definition::{AuditDef, Destination, OnFailure, ROLLOVER_UNLIMITED, SIZE_UNLIMITED};
use crate::audit::errors;
use crate::audit::record::COLUMNS;
use crate::catalog::SystemDatabase;
use crate::program::Program;
use crate::run::Runner;
use keel_parser::ast::{
    AuditAction, AuditPredicate, AuditSpecificationAction, AuditStatement, AuditTarget, Literal, Opt,
    OptValue,
};
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};

/// What messages call an audit.
const AUDIT: &str = "server audit";
/// MAXSIZE at least, bytes.
const SIZE_MIN: u64 = 2 << 20;
/// MAXSIZE below this, TB.
const TERABYTES_MAX: u64 = 16_777_215;
/// QUEUE_DELAY at least where it is not 0, and when nothing is said; milliseconds.
const QUEUE_DELAY_MIN: i32 = 1000;

impl Runner<'_> {
    /// Statements about audits and server specifications; false for one about a database specification, which is the
    /// transaction's business.
    pub(super) fn audit_outside_transactions(&mut self, s: &AuditStatement) -> Result<bool> {
        match s {
            AuditStatement::Audit { name, action } => self.server_audit(&name.text, action)?,
            AuditStatement::Specification { database: false, name, action } => {
                self.server_specification(&name.text, action)?;
            }
            AuditStatement::Specification { database: true, .. } => return Ok(false),
        }
        Ok(true)
    }

    /// The statement about a database specification that [`Runner::audit_outside_transactions`] has left.
    pub(super) fn audit_in_transaction(&mut self, program: &Program, s: &AuditStatement) -> Result<()> {
        match s {
            AuditStatement::Specification { name, action, .. } => {
                self.database_specification(program, &name.text, action)
            }
            AuditStatement::Audit { .. } => Ok(()),
        }
    }

    /// Errors 33074 outside of master; whether the session may define audits.
    pub(super) fn may_audit_server(&self, verb: &str, what: &str) -> Result<bool> {
        self.of_the_instance("SERVER AUDIT")?;
        let here = self.info.current_database();
        if self.info.system_database(here.id) != Some(SystemDatabase::Master) {
            return Err(errors::only_in_master(verb, what));
        }
        Ok(self.info.unrestricted.get() || self.info.may_on_server("ALTER ANY SERVER AUDIT"))
    }

    fn server_audit(&mut self, name: &str, action: &AuditAction) -> Result<()> {
        let verb = match action {
            AuditAction::Create { .. } => "create",
            AuditAction::Drop => "drop",
            _ => "alter",
        };
        let may = self.may_audit_server(verb, AUDIT)?;
        let engine = &self.info.engine;
        let _admin = engine.audits.admin.lock();
        let found = engine.server_audit(name)?.filter(|_| may);
        if let AuditAction::Create { to, options, predicate } = action {
            if !may {
                return Err(errors::no_permission());
            }
            if found.is_some() {
                return Err(errors::exists(AUDIT, name));
            }
            return self.create_audit(name, to, options, predicate.as_deref());
        }
        let mut audit = found.ok_or_else(|| errors::no_such(verb, AUDIT, name))?;
        if let AuditAction::Alter { to: None, options, predicate: None } = action
            && let Some(on) = state_of(options)?
        {
            return self.switch_audit(audit, on);
        }
        if audit.on {
            return Err(errors::must_be_disabled("audit"));
        }
        match action {
            AuditAction::Drop => return engine.drop_server_audit(audit.id),
            AuditAction::RemoveWhere => audit.predicate = None,
            AuditAction::Rename(new) => {
                if engine.server_audit(&new.text)?.is_some_and(|other| other.id != audit.id) {
                    return Err(errors::exists(AUDIT, &new.text));
                }
                audit.name = new.text.to_string();
            }
            AuditAction::Alter { to, options, predicate } => {
                self.set_audit_options(&mut audit, options, false)?;
                if let Some(to) = to {
                    audit.to = destination(to, Some(&audit.to))?;
                }
                if let Some(condition) = predicate {
                    set_predicate(&mut audit, condition)?;
                }
            }
            AuditAction::Create { .. } => unreachable!("made above"),
        }
        audit.modified = engine.now_local();
        engine.put_server_audit(&mut audit)
    }

    fn create_audit(
        &self,
        name: &str,
        to: &AuditTarget,
        options: &[Opt],
        condition: Option<&AuditPredicate>,
    ) -> Result<()> {
        let engine = &self.info.engine;
        let mut guid = [0; 16];
        engine.options().env.random.fill(&mut guid);
        let now = engine.now_local();
        let mut audit = AuditDef {
            id: 0,
            name: name.to_owned(),
            guid,
            principal: self.info.login_now().map_or(1, |login| login.principal_id),
            to: destination(to, None)?,
            queue_delay_ms: QUEUE_DELAY_MIN,
            on_failure: OnFailure::Continue,
            predicate: None,
            on: false,
            created: now,
            modified: now,
        };
        self.set_audit_options(&mut audit, options, true)?;
        if let Some(condition) = condition {
            set_predicate(&mut audit, condition)?;
        }
        if engine.server_audits()?.iter().any(|other| other.guid == audit.guid) {
            return Err(errors::exists(AUDIT, name));
        }
        engine.put_server_audit(&mut audit)
    }

    /// STATE = ON or OFF. Turning off what is off, or on what is on, does nothing.
    fn switch_audit(&self, mut audit: AuditDef, on: bool) -> Result<()> {
        if self.info.transaction.borrow().count > 0 {
            return Err(crate::errors::not_in_user_transaction("ALTER SERVER AUDIT"));
        }
        let engine = &self.info.engine;
        let actor = crate::audit::record::Record {
            statement: self
                .info
                .shared
                .current
                .statement()
                .map(|at| at.text().to_owned())
                .unwrap_or_default(),
            ..self.info.audit_actor()
        };
        if audit.on == on && engine.audits.running(&audit.guid).is_some() == on {
            return Ok(());
        }
        let before = std::mem::replace(&mut audit.on, on);
        if on {
            engine.start_audit(audit.clone(), self.info, &actor)?;
        } else {
            engine.stop_audit(audit.id, self.info, &actor)?;
        }
        engine.put_server_audit(&mut audit).inspect_err(|_| {
            if on && !before {
                engine.audits.stop(audit.id);
            }
        })
    }

    /// WITH. AUDIT_GUID can be said when the audit is made only.
    fn set_audit_options(&self, audit: &mut AuditDef, options: &[Opt], new: bool) -> Result<()> {
        for option in options {
            match option.name.as_str() {
                "QUEUE_DELAY" => {
                    let delay = whole(&option.value).and_then(|n| i32::try_from(n).ok());
                    let delay = delay.filter(|n| *n == 0 || *n >= QUEUE_DELAY_MIN);
                    audit.queue_delay_ms = delay.ok_or_else(errors::bad_queue_delay)?;
                }
                "ON_FAILURE" => {
                    let word = option.value.text().unwrap_or_default();
                    let mut all = OnFailure::ALL.iter();
                    let found = all.find(|(_, _, name, _)| name.eq_ignore_ascii_case(word));
                    audit.on_failure = found.ok_or_else(|| bad_option(option))?.0;
                    if audit.on_failure == OnFailure::Shutdown && !self.info.may_on_server("SHUTDOWN") {
                        return Err(errors::may_not_shut_down());
                    }
                }
                "AUDIT_GUID" if new => {
                    let text = option.value.text().unwrap_or_default();
                    audit.guid = guid_of(text).ok_or_else(|| bad_option(option))?;
                }
                "STATE" if !new => return Err(errors::state_alone()),
                _ => return Err(bad_option(option)),
            }
        }
        Ok(())
    }
}

/// STATE, if it is among the options: alone then.
pub(super) fn state_of(options: &[Opt]) -> Result<Option<bool>> {
    let Some(state) = options.iter().find(|o| o.name == "STATE") else { return Ok(None) };
    match (&state.value, options.len()) {
        (OptValue::On, 1) => Ok(Some(true)),
        (OptValue::Off, 1) => Ok(Some(false)),
        (OptValue::On | OptValue::Off, _) => Err(errors::state_alone()),
        _ => Err(bad_option(state)),
    }
}

/// An option that is none, or has a value that it cannot have.
fn bad_option(option: &Opt) -> Box<keel_types::SqlError> {
    errors::syntax_near(&option.name)
}

fn guid_of(text: &str) -> Option<[u8; 16]> {
    let from = SqlType::VarChar(Length::Limited(64));
    match keel_types::cast::convert(&Value::str(text), from, SqlType::UniqueIdentifier) {
        Ok(Value::Guid(guid)) => Some(guid),
        _ => None,
    }
}

fn set_predicate(audit: &mut AuditDef, condition: &AuditPredicate) -> Result<()> {
    let found = predicate(&condition.condition, COLUMNS, &audit.name)?;
    audit.predicate = Some((found, condition.text.to_string()));
    Ok(())
}

fn whole(value: &OptValue) -> Option<u64> {
    match value {
        OptValue::Number(Literal::Int(n)) => u64::try_from(*n).ok(),
        OptValue::Number(Literal::Numeric { mantissa, scale: 0, .. }) => u64::try_from(*mantissa).ok(),
        _ => None,
    }
}

/// TO. What ALTER does not say of a file stays as `before` has it.
fn destination(to: &AuditTarget, before: Option<&Destination>) -> Result<Destination> {
    match to.kind.as_str() {
        "FILE" => file_destination(&to.options, before),
        "APPLICATION_LOG" if to.options.is_empty() => Ok(Destination::ErrorLog),
        kind @ ("SECURITY_LOG" | "EXTERNAL_MONITOR" | "URL") => {
            Err(crate::errors::not_supported(format!("SERVER AUDIT … TO {kind}")))
        }
        kind => Err(errors::syntax_near(kind)),
    }
}

fn file_destination(options: &[Opt], before: Option<&Destination>) -> Result<Destination> {
    let has = |name: &str| options.iter().any(|o| o.name == name);
    if has("MAX_FILES") && has("MAX_ROLLOVER_FILES") {
        return Err(errors::files_or_rollover());
    }
    let (mut path, mut size_max, mut rollover, mut files_max, mut reserve) = match before {
        Some(Destination::File { path, size_max, rollover, files_max, reserve }) => {
            (path.clone(), *size_max, *rollover, *files_max, *reserve)
        }
        _ => (String::new(), SIZE_UNLIMITED, ROLLOVER_UNLIMITED, 0, false),
    };
    for option in options {
        let count = || {
            let unlimited = option.value.text().is_some_and(|w| w.eq_ignore_ascii_case("UNLIMITED"));
            let number = whole(&option.value).and_then(|n| u32::try_from(n).ok());
            if unlimited { Some(ROLLOVER_UNLIMITED) } else { number }.ok_or_else(|| bad_option(option))
        };
        match option.name.as_str() {
            "FILEPATH" => match &option.value {
                OptValue::String(text) if !text.trim().is_empty() && !text.contains('\0') => {
                    path = text.to_string()
                }
                _ => return Err(errors::bad_path()),
            },
            "MAXSIZE" => size_max = size(option)?,
            "MAX_ROLLOVER_FILES" => (rollover, files_max) = (count()?, 0),
            "MAX_FILES" => (files_max, rollover) = (count()?, ROLLOVER_UNLIMITED),
            "RESERVE_DISK_SPACE" => {
                reserve = match option.value {
                    OptValue::On => true,
                    OptValue::Off => false,
                    _ => return Err(bad_option(option)),
                }
            }
            _ => return Err(bad_option(option)),
        }
    }
    if path.is_empty() {
        return Err(errors::bad_path());
    }
    if reserve && size_max == SIZE_UNLIMITED {
        return Err(errors::reserve_of_unlimited());
    }
    Ok(Destination::File { path, size_max, rollover, files_max, reserve })
}

/// MAXSIZE in bytes.
fn size(option: &Opt) -> Result<u64> {
    if option.value.text().is_some_and(|w| w.eq_ignore_ascii_case("UNLIMITED")) {
        return Ok(SIZE_UNLIMITED);
    }
    let OptValue::Measure(number, unit) = &option.value else { return Err(bad_option(option)) };
    let shift = match unit.to_ascii_uppercase().as_str() {
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return Err(bad_option(option)),
    };
    let number = whole(&OptValue::Number(number.clone())).ok_or_else(|| bad_option(option))?;
    match number.checked_mul(1 << shift) {
        None => Err(errors::size_too_large()),
        Some(bytes) if bytes >> 40 >= TERABYTES_MAX => Err(errors::size_too_large()),
        Some(0) => Ok(SIZE_UNLIMITED),
        Some(bytes) if bytes < SIZE_MIN => Err(errors::size_too_small()),
        Some(bytes) => Ok(bytes),
    }
}

/// What a specification does.
pub(super) fn verb_of(action: &AuditSpecificationAction) -> &'static str {
    match action {
        AuditSpecificationAction::Create { .. } => "create",
        AuditSpecificationAction::Alter { .. } => "alter",
        AuditSpecificationAction::Drop => "drop",
    }
}
