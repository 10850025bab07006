//! Which statement goes where, and what all of them have in common.

use crate::errors;
use crate::program::Program;
use crate::run::{Frame, Halt, Runner};
use crate::sink::command;
use crate::triggers::{Event, command_text};
use keel_parser::ast::{DropClass, Statement, StatementKind};
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    /// Runs a statement that is interpreted from its tree.
    pub(crate) fn administer(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        statement: &Statement,
    ) -> std::result::Result<(), Halt> {
        let audited = self.info.engine.audits.any();
        if !self.info.unrestricted.get()
            && let Err(e) = self.check_definition(program, statement)
        {
            if audited {
                let events = self.events_of(program, statement);
                self.audit_statement(program, frame, statement, &events, false)?;
            }
            return Err(e.into());
        }
        if let StatementKind::BulkInsert(b) = &statement.kind {
            self.check_writable()?;
            self.begin_implicit()?;
            if audited {
                self.audit_statement(program, frame, statement, &[], true)?;
            }
            let rows = self.bulk_insert(program, b)?;
            self.info.error.set(0);
            self.info.row_count.set(rows);
            self.done_statement(Some(rows), command::INSERT);
            return Ok(());
        }
        let events = self.events_of(program, statement);
        // See the chapter of `audit`.
        let before = self.info.unrestricted.get();
        if audited && before {
            self.audit_statement(program, frame, statement, &events, true)?;
        }
        let savepoint = self.savepoint("".into());
        self.info.error.set(0);
        let mut outcome = self.administer_with(program, frame, statement, &events);
        if audited && !before {
            let told = self.audit_ended(program, frame, statement, &events, &outcome);
            outcome = told.and(outcome);
        }
        match outcome {
            Ok(command) => {
                self.statement_done(command)?;
                Ok(())
            }
            Err(e) => {
                if let Some(savepoint) = savepoint {
                    self.rollback_to(&savepoint)?;
                }
                Err(e.into())
            }
        }
    }

    /// Runs the statement between the triggers that it is announced to and those that fire when it is done.
    fn administer_with(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        statement: &Statement,
        events: &[Event],
    ) -> Result<u16> {
        let text = || command_text(program, statement);
        // One statement's are all of a kind.
        let announced = events.first().is_some_and(|e| e.announced);
        if announced {
            self.fire_events(events, &text)?;
        }
        if self.outside_transactions(program, frame, statement)? {
            return Ok(command::OTHER);
        }
        self.check_writable()?;
        self.begin_implicit()?;
        let command = self.define(program, frame, statement)?;
        if !announced {
            self.fire_events(events, &text)?;
        }
        Ok(command)
    }

    fn statement_done(&mut self, command: u16) -> Result<()> {
        self.statement_succeeded()?;
        self.info.row_count.set(0);
        self.done_statement(None, command);
        Ok(())
    }

    /// Statements that act on the instance rather than through the session's transaction. True when it was one.
    fn outside_transactions(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        statement: &Statement,
    ) -> Result<bool> {
        match &statement.kind {
            StatementKind::CreateDatabase(c) => self.create_database(c)?,
            StatementKind::AlterDatabase(a) => self.alter_database(a)?,
            StatementKind::Drop(d) if d.class == DropClass::Database => self.drop_databases(d)?,
            StatementKind::Dbcc(d) => self.dbcc(program, frame, d)?,
            StatementKind::Kill(k) => self.kill(program, frame, k)?,
            StatementKind::Checkpoint(_) => {
                let entry = self.info.current_database();
                entry.save_counters()?;
                entry.store.checkpoint().map_err(|e| crate::map::db_error(e, &entry.name()))?;
            }
            StatementKind::Reconfigure { .. } => {
                self.of_the_instance("RECONFIGURE")?;
                self.info.engine.reconfigure()?;
            }
            StatementKind::CreateLogin(c) => self.create_login(c)?,
            StatementKind::AlterLogin(a) => self.alter_login(a)?,
            StatementKind::Drop(d) if d.class == DropClass::Login => self.drop_logins(d)?,
            StatementKind::ExecuteAs(e) => self.execute_as(program, frame, e)?,
            StatementKind::Revert(cookie) => {
                let cookie = match cookie {
                    Some(cookie) => Some(self.value(program, frame, cookie, None)?),
                    None => None,
                };
                self.info.revert(match &cookie {
                    Some(Value::Bytes(bytes)) => Some(bytes),
                    Some(_) => Some(&[]),
                    None => None,
                })?;
            }
            StatementKind::InsertBulk(b) => self.announce_bulk(program, b)?,
            StatementKind::UpdateStatistics(u) => self.update_statistics(program, u)?,
            StatementKind::Shutdown { no_wait } => self.shut_down(*no_wait)?,
            StatementKind::Backup(b) => self.backup(program, frame, b)?,
            StatementKind::Restore(r) => self.restore(program, frame, r)?,
            StatementKind::AvailabilityGroup(s) => self.availability_group(s)?,
            StatementKind::Endpoint(s) => self.endpoint(s)?,
            StatementKind::Key(k) if crate::keys::changes_nothing(k) => self.key_statement(k)?,
            StatementKind::Credential(c) => return self.credential_of_the_instance(c),
            StatementKind::DatabaseEncryptionKey(k) => self.database_encryption_key(k)?,
            StatementKind::Drop(d) if d.class == DropClass::Endpoint => self.drop_endpoints(d)?,
            StatementKind::EventSession(s) => self.event_session(s)?,
            StatementKind::Audit(a) => return self.audit_outside_transactions(a),
            StatementKind::Governor(g) => self.governor_statement(g)?,
            StatementKind::Generic(g) => {
                return Err(errors::not_supported(format!("{} {}", g.verb, g.class).trim_end()));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// SHUTDOWN: asks the host to stop; WITH NOWAIT without ending sessions or a checkpoint.
    fn shut_down(&mut self, no_wait: bool) -> Result<()> {
        let login = self.info.login();
        let request = if no_wait { "NOWAIT request" } else { "request" };
        let text = format!("Server shut down by {request} from login {login}.");
        self.info.engine.options().log.write(&text);
        self.report(&keel_types::SqlError::new(6006, 10, 1, text));
        if self.info.engine.request_shutdown(no_wait) {
            Ok(())
        } else {
            Err(errors::not_supported("SHUTDOWN of a server without a host"))
        }
    }

    fn define(&mut self, program: &Arc<Program>, frame: &mut Frame, statement: &Statement) -> Result<u16> {
        let mut code = command::OTHER;
        if changes_lists(&statement.kind) {
            let entry = self.info.current_database();
            self.lock_catalog(&entry)?;
        }
        match &statement.kind {
            StatementKind::CreateTable(c) => {
                self.create_table(program, c)?;
                code = command::CREATE_TABLE;
            }
            StatementKind::AlterTable(a) => {
                self.alter_table(program, frame, a, &|| command_text(program, statement))?;
            }
            StatementKind::CreateIndex(c) => self.create_index(program, c)?,
            StatementKind::AlterIndex(a) => self.alter_index(program, a)?,
            StatementKind::DropIndex(d) => self.drop_index(program, d)?,
            StatementKind::CreateStatistics(c) => self.create_statistics(program, c)?,
            StatementKind::Truncate(t) => self.truncate(program, frame, t)?,
            StatementKind::Partition(p) => self.partition_statement(program, frame, p)?,
            StatementKind::SecurityPolicy(p) => self.security_policy(program, p)?,
            StatementKind::Broker(b) => self.broker_statement(program, b)?,
            StatementKind::FullText(f) => self.full_text_statement(program, frame, f)?,
            StatementKind::Audit(a) => self.audit_in_transaction(program, a)?,
            StatementKind::CreateSchema(c) => self.create_schema(program, frame, c)?,
            StatementKind::AlterSchema(a) => self.alter_schema(program, a)?,
            StatementKind::SensitivityClassification(c) => self.classify_columns(program, c)?,
            StatementKind::CreateView(_)
            | StatementKind::CreateProcedure(_)
            | StatementKind::CreateFunction(_)
            | StatementKind::CreateTrigger(_) => self.create_module(program, statement)?,
            StatementKind::EnableTrigger(e) => self.enable_trigger(program, e)?,
            StatementKind::CreateType(c) => self.create_type(program, c)?,
            StatementKind::XmlCollection(c) => self.xml_collection(program, frame, c)?,
            StatementKind::CreateSequence(c) => self.create_sequence(program, c, false)?,
            StatementKind::AlterSequence(c) => self.create_sequence(program, c, true)?,
            StatementKind::CreateSynonym(c) => self.create_synonym(program, c)?,
            StatementKind::CreateBindable(c) => self.create_bindable(program, statement, c)?,
            StatementKind::CreateUser(c) => self.create_user(c)?,
            StatementKind::AlterUser(a) => self.alter_user(a)?,
            StatementKind::CreateRole(c) => self.create_role(c)?,
            StatementKind::AlterRole(a) => self.alter_role(a)?,
            StatementKind::Permission(p) => self.permission(program, p)?,
            StatementKind::AlterAuthorization(a) => self.alter_authorization(a)?,
            StatementKind::Key(k) => self.key_statement(k)?,
            StatementKind::Credential(c) => self.credential_of_the_database(c)?,
            StatementKind::Drop(d) if crate::keys::drops(&d.class) => self.drop_keys(d)?,
            StatementKind::Drop(d) => {
                self.drop_objects(program, d)?;
                code = command::DROP_TABLE;
            }
            _ => return Err(errors::not_supported("This statement")),
        }
        Ok(code)
    }
}

/// Whether a statement changes what only the whole catalog's lock protects.
fn changes_lists(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::Partition(_)
        | StatementKind::SecurityPolicy(_)
        | StatementKind::FullText(_)
        | StatementKind::Broker(_)
        | StatementKind::Audit(_)
        | StatementKind::CreateSchema(_)
        | StatementKind::CreateType(_)
        | StatementKind::XmlCollection(_)
        | StatementKind::CreateUser(_)
        | StatementKind::AlterUser(_)
        | StatementKind::CreateRole(_)
        | StatementKind::AlterRole(_)
        | StatementKind::Permission(_)
        | StatementKind::Credential(_)
        | StatementKind::AlterAuthorization(_) => true,
        StatementKind::Key(k) => !crate::keys::changes_nothing(k) && !crate::keys::locks_by_itself(k),
        StatementKind::Drop(d) => {
            crate::keys::drops(&d.class)
                || matches!(
                    d.class,
                    DropClass::Schema
                        | DropClass::Type
                        | DropClass::XmlCollection
                        | DropClass::User
                        | DropClass::Role
                        | DropClass::SecurityPolicy
                )
        }
        _ => false,
    }
}
