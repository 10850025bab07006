//! Audits and server audit specifications of an instance: rows of master, and those that run.

use super::catalog::Group;
use super::definition::{AuditDef, Destination, SpecificationDef};
use super::errors;
use super::record::{Happening, Record};
use super::running::{Outcome, Running};
use crate::catalog::object_class;
use crate::engine::Engine;
use crate::events::actor::{Actor, Nobody};
use crate::events::target::Surroundings;
use keel_types::SqlError;
use keel_types::error::Result;
use std::path::PathBuf;
use std::sync::Arc;

impl Engine {
    /// The audits there are, by number.
    pub fn server_audits(&self) -> Result<Vec<AuditDef>> {
        let mut all: Vec<AuditDef> = self.master_rows(object_class::AUDIT)?;
        all.sort_by_key(|d| d.id);
        Ok(all)
    }

    /// The audit of that name.
    pub fn server_audit(&self, name: &str) -> Result<Option<AuditDef>> {
        let same = |d: &AuditDef| crate::views::same(&d.name, name);
        Ok(self.server_audits()?.into_iter().find(same))
    }

    /// Keeps an audit; number 0 gets the next one.
    pub(crate) fn put_server_audit(&self, definition: &mut AuditDef) -> Result<()> {
        if definition.id == 0 {
            // Far from the numbers of objects in databases, as the product has them.
            definition.id = self.server_audits()?.iter().map(|d| d.id).max().unwrap_or(65_535) + 1;
        }
        self.put_master_row(object_class::AUDIT, definition.id, Some(&*definition))
    }

    /// Forgets one that does not run.
    pub(crate) fn drop_server_audit(&self, id: i32) -> Result<()> {
        self.put_master_row::<AuditDef>(object_class::AUDIT, id, None)
    }

    /// The server's audit specifications, by number.
    pub fn server_audit_specifications(&self) -> Result<Vec<SpecificationDef>> {
        let mut all: Vec<SpecificationDef> = self.master_rows(object_class::AUDIT_SPECIFICATION)?;
        all.sort_by_key(|d| d.id);
        Ok(all)
    }

    /// Keeps one, or forgets that of the number when there is none; those that are on audit from now on.
    pub(crate) fn put_server_specification(
        &self,
        id: i32,
        definition: Option<&SpecificationDef>,
    ) -> Result<()> {
        self.put_master_row(object_class::AUDIT_SPECIFICATION, id, definition)?;
        self.load_server_specifications()
    }

    fn load_server_specifications(&self) -> Result<()> {
        let on = self.server_audit_specifications()?.into_iter().filter(|s| s.on).collect();
        self.audits.specify(on);
        Ok(())
    }

    /// Where relative paths of audits begin: beside the error log.
    #[must_use]
    pub fn audit_directory(&self) -> PathBuf {
        self.event_directory()
    }

    /// Starts an audit. 33222 when its file cannot be made; the error log says why.
    pub(crate) fn start_audit(&self, definition: AuditDef, actor: &dyn Actor, by: &Record) -> Result<()> {
        let name = definition.name.clone();
        let (dir, options) = (self.audit_directory(), self.options());
        let around =
            Surroundings { disk: &options.env.disk, dir: &dir, log: &options.log, now: self.now_utc() };
        let path = match &definition.to {
            Destination::File { path, .. } => super::running::file_path(&dir, &definition, path),
            Destination::ErrorLog => PathBuf::new(),
        };
        let running = Running::start(definition, &around).map_err(|e| {
            let told = errors::cannot_create(path.display());
            options.log.write(&format!("Error: {}, Severity: {}, State: 1.", told.number, told.severity));
            options.log.write(&format!("{} {e}", told.message));
            let mut failed = errors::failed_to(&name, "start");
            failed.severity = 16;
            failed
        })?;
        let running = Arc::new(running);
        self.audits.start(Arc::clone(&running));
        let told = self.tell_session_changed(&running, "STARTED", actor, by);
        if told.is_err() {
            self.audits.stop(running.definition.id);
        }
        told
    }

    /// Stops one, if it runs; all that was recorded is durable then.
    pub(crate) fn stop_audit(&self, id: i32, actor: &dyn Actor, by: &Record) -> Result<()> {
        let Some(stopped) = self.audits.stop(id) else { return Ok(()) };
        // That it cannot write is a good reason to stop it.
        let _ = self.tell_session_changed(&stopped, "STOPPED", actor, by);
        stopped.settle(&*self.options().log);
        Ok(())
    }

    /// An audit records by itself when it starts and stops.
    fn tell_session_changed(&self, audit: &Running, how: &str, actor: &dyn Actor, by: &Record) -> Result<()> {
        let information = format!(
            "<action_info xmlns=\"http://schemas.microsoft.com/sqlserver/2008/sqlaudit_data\"><session><![CDATA[{}]]></session><action>{how}</action></action_info>",
            audit.definition.name
        );
        let record = Record {
            event_time: self.now_utc(),
            action_id: "AUSC".to_owned(),
            succeeded: true,
            class_type: "A".to_owned(),
            object_id: audit.definition.id,
            object_name: audit.definition.name.clone(),
            server_instance_name: self.options().server_name.clone(),
            additional_information: information,
            ..by.clone()
        };
        if audit.wants(&record, actor) { self.record(audit, &record) } else { Ok(()) }
    }

    /// Writes a record, and does what ON_FAILURE says when it cannot be written: error 33239, or the server stops, too.
    pub(super) fn record(&self, audit: &Running, record: &Record) -> Result<()> {
        let log = &self.options().log;
        match audit.take(record, &**log) {
            Outcome::GoesOn => Ok(()),
            Outcome::Fails => Err(errors::operation_failed()),
            Outcome::Stops => {
                log.write(&errors::stopped(&audit.definition.name).message);
                self.request_shutdown(true);
                Err(errors::operation_failed())
            }
        }
    }

    /// Records what no session has done.
    pub(super) fn audit_as(&self, h: &Happening, record: &Record, actor: &dyn Actor) -> Result<()> {
        let entry = h.database.and_then(|d| self.database_by_id(d));
        let takers = self.audits.takers(h, entry.as_deref(), || vec![crate::catalog::PUBLIC]);
        self.record_in(&takers, record, actor)
    }

    /// Writes a record to all audits that want it, also behind one that cannot. The error is that of the first that could not.
    pub(super) fn record_in(
        &self,
        audits: &[Arc<Running>],
        record: &Record,
        actor: &dyn Actor,
    ) -> Result<()> {
        let wanting = audits.iter().filter(|audit| audit.wants(record, actor));
        wanting.map(|audit| self.record(audit, record)).fold(Ok(()), Result::and)
    }

    /// The audits that were on go on, before anybody is let in. One that cannot start and whose failure stops the server is an error: the
    /// server does not start.
    pub(crate) fn begin_audits(&self) -> Result<()> {
        self.load_server_specifications()?;
        let on: Vec<AuditDef> = self.server_audits()?.into_iter().filter(|a| a.on).collect();
        if on.is_empty() {
            return Ok(());
        }
        let log = &self.options().log;
        log.write("SQL Server Audit is starting the audits. This is an informational message. No user action is required.");
        let mut failed = false;
        for audit in on {
            let (name, stops) =
                (audit.name.clone(), audit.on_failure == super::definition::OnFailure::Shutdown);
            if let Err(e) = self.start_audit(audit, &Nobody, &Record::default()) {
                log.write(&e.message);
                if stops {
                    log.write(&errors::stopped(&name).message);
                    return Err(e);
                }
                failed = true;
            }
        }
        log.write(if failed {
            "One or more audits failed to start. Refer to previous errors in the error log to identify the cause, and correct the problems associated with each error."
        } else {
            "SQL Server Audit has started the audits. This is an informational message. No user action is required."
        });
        self.audit_server_state("SVSR", &Record::default(), &Nobody);
        Ok(())
    }

    /// The server has started, or is about to stop.
    pub(crate) fn audit_server_state(&self, action: &'static str, by: &Record, actor: &dyn Actor) {
        let groups = &[Group::ServerStateChange];
        let h = Happening { action, groups, class: "SR", succeeded: true, ..Happening::default() };
        let record = Record {
            event_time: self.now_utc(),
            action_id: action.to_owned(),
            succeeded: true,
            class_type: "SR".to_owned(),
            object_name: self.options().server_name.clone(),
            server_instance_name: self.options().server_name.clone(),
            ..by.clone()
        };
        let _ = self.audit_as(&h, &record, actor);
    }

    /// Makes records durable that have waited for as long as their audit lets them. Called every second; says what went wrong.
    pub fn settle_due_audits(&self) -> Vec<SqlError> {
        if !self.audits.any() {
            return Vec::new();
        }
        let now = self.now_utc();
        let failed = self.audits.all().into_iter().filter_map(|audit| {
            let (error, outcome) = audit.settle_due(now).err()?;
            if outcome == Outcome::Stops {
                self.options().log.write(&errors::stopped(&audit.definition.name).message);
                self.request_shutdown(true);
            }
            let path = audit.status().0.map_or_else(PathBuf::new, |(path, _)| path);
            let told = errors::cannot_write(path.display());
            Some(SqlError { message: format!("{} {error}", told.message), ..*told })
        });
        failed.collect()
    }

    /// All that was recorded is durable: the instance is about to end.
    pub(crate) fn settle_audits(&self) {
        self.audits.all().iter().for_each(|audit| audit.settle(&*self.options().log));
    }
}
