//! Who may run a statement that changes definitions or administers. Members of sysadmin do not come here.
//!
//! What is missing looks like what is forbidden: most refusals are the error of an object that is not there.

use crate::catalog::{Named, SecurableRef};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::program::{Need, Program};
use crate::run::Runner;
use keel_parser::ast::{self, DropClass, ModuleVerb, Statement, StatementKind as S, TriggerTarget};
use keel_query::catalog::Catalog as _;
use keel_types::error::Result;
use std::sync::Arc;

/// What it takes to configure a database, short of altering it.
const SCOPED_CONFIGURATION: &str = "ALTER ANY DATABASE SCOPED CONFIGURATION";

impl Runner<'_> {
    /// Refuses what the session may not do.
    pub(super) fn check_definition(&self, program: &Program, statement: &Statement) -> Result<()> {
        let caller = &program.identity;
        if caller.object_id != 0 {
            // Within a module its owner's permissions count, and modules are made by those who may.
            let entry = self.info.engine.database_by_id(caller.database);
            let owner = entry.and_then(|e| {
                let picture = self.info.picture(&e);
                picture.schema(caller.schema_id).map(|s| s.owner)
            });
            if owner == Some(crate::catalog::DBO) && !is_dynamic_matter(&statement.kind) {
                return Ok(());
            }
        }
        let entry = self.info.current_database();
        match &statement.kind {
            S::CreateTable(c) if c.name.name.text.starts_with('#') => Ok(()),
            S::CreateTable(c) => self.may_create("CREATE TABLE", &c.name),
            S::CreateView(c) => self.may_define("CREATE VIEW", c.verb, program, &c.name),
            S::CreateProcedure(c) => self.may_define("CREATE PROCEDURE", c.verb, program, &c.name),
            S::CreateFunction(c) => self.may_define("CREATE FUNCTION", c.verb, program, &c.name),
            S::CreateBindable(c) => {
                self.may_create(if c.is_rule { "CREATE RULE" } else { "CREATE DEFAULT" }, &c.name)
            }
            S::CreateSynonym(c) => self.may_create("CREATE SYNONYM", &c.name),
            S::CreateType(c) => self.may_create("CREATE TYPE", &c.name),
            S::XmlCollection(c) if !c.add => self.may_create("CREATE XML SCHEMA COLLECTION", &c.name),
            S::CreateSequence(c) | S::AlterSequence(c) => self.may_create("CREATE SEQUENCE", &c.name),
            S::CreateSchema(_) => self.may_here_or_262(&entry, "CREATE SCHEMA"),
            S::Partition(_) => self.may_here_or_262(&entry, "ALTER ANY DATASPACE"),
            S::SecurityPolicy(p) => self.may_define_policy(&entry, p),
            S::Broker(b) => self.may_define_broker(&entry, program, b),
            S::FullText(f) => self.may_define_full_text(&entry, program, f),
            S::SensitivityClassification(_) => {
                self.may_here_or_262(&entry, "ALTER ANY SENSITIVITY CLASSIFICATION")
            }
            S::AlterSchema(a) => self.may_alter_schema(&entry, &a.schema.text),
            S::CreateTrigger(c) => match &c.target {
                TriggerTarget::Object(table) => self.may_alter(program, table),
                scope => {
                    let verb = if c.verb == ModuleVerb::Alter { "alter" } else { "create" };
                    self.may_define_trigger(verb, &c.name.name.text, scope)
                }
            },
            S::EnableTrigger(e) => match &e.target {
                TriggerTarget::Object(table) => self.may_alter(program, table),
                scope => {
                    let name = e.names.first().map_or("", |n| n.name.text.as_str());
                    self.may_define_trigger("alter", name, scope)
                }
            },
            S::AlterTable(a) => {
                self.may_alter(program, &a.table)?;
                self.may_mask(&entry, a)
            }
            S::CreateIndex(c) => self.may_alter(program, &c.table),
            S::AlterIndex(a) => self.may_alter(program, &a.table),
            S::DropIndex(d) => d.items.iter().try_for_each(|i| self.may_alter(program, &i.table)),
            S::Truncate(t) => self.may_alter(program, &t.table),
            S::UpdateStatistics(u) => self.may_alter(program, &u.table),
            S::CreateStatistics(c) => self.may_alter(program, &c.table),
            S::InsertBulk(b) => self.may_load(program, &b.table),
            S::BulkInsert(b) => {
                if !self.info.may_on_server("ADMINISTER BULK OPERATIONS") {
                    let text = "You do not have permission to use the bulk load statement.";
                    return Err(keel_types::SqlError::new(4834, 16, 1, text));
                }
                self.may_load(program, &b.table)
            }
            S::Shutdown { .. } if !self.info.may_on_server("SHUTDOWN") => {
                let text = "User does not have permission to perform this action.";
                Err(keel_types::SqlError::new(6004, 14, 1, text))
            }
            S::Drop(d) => self.may_drop(program, d),
            S::CreateDatabase(_) => {
                let master = self.info.find_database("master");
                let there = |e| self.info.may(&e, "CREATE DATABASE", SecurableRef::Database);
                if self.info.may_on_server("CREATE ANY DATABASE") || master.is_some_and(there) {
                    return Ok(());
                }
                Err(errors::database_permission_denied("CREATE DATABASE", "master"))
            }
            // Who may alter the group may as well: asked there.
            S::AlterDatabase(a) if matches!(a.action, ast::AlterDatabaseAction::SetHadr(_)) => Ok(()),
            S::AlterDatabase(a)
                if matches!(a.action, ast::AlterDatabaseAction::ScopedConfiguration { .. })
                    && self.info.may(&entry, SCOPED_CONFIGURATION, SecurableRef::Database) =>
            {
                Ok(())
            }
            S::AlterDatabase(a) => {
                let name = a.name.as_ref().map_or_else(|| entry.name().to_string(), |n| n.text.to_string());
                if self.may_alter_database(&name) { Ok(()) } else { Err(errors::cannot_alter_database(name)) }
            }
            S::Dbcc(d) => self.may_dbcc(&entry, d),
            S::Checkpoint(_) => self.may_here_or_262(&entry, "CHECKPOINT"),
            S::Reconfigure { .. } if !self.info.may_on_server("ALTER SETTINGS") => {
                let text = "You do not have permission to run the RECONFIGURE statement.";
                Err(keel_types::SqlError::new(5812, 14, 1, text))
            }
            _ => Ok(()),
        }
    }

    /// Error 15247 for who does not own the database.
    pub(crate) fn owner_only(&self) -> Result<()> {
        let token = self.info.token_in(&self.info.current_database());
        if token.is_some_and(|t| t.owner) { Ok(()) } else { Err(errors::no_permission("")) }
    }

    /// Error 15247 for who may not change the instance's settings.
    pub(crate) fn settings_only(&self) -> Result<()> {
        if self.info.may_on_server("ALTER SETTINGS") { Ok(()) } else { Err(errors::no_permission("")) }
    }

    /// SELECT … INTO makes a table.
    pub(crate) fn may_select_into(&self, name: &ast::ObjectName) -> Result<()> {
        if name.name.text.starts_with('#') { Ok(()) } else { self.may_create("CREATE TABLE", name) }
    }

    pub(crate) fn may_here_or_262(&self, entry: &Arc<DatabaseEntry>, permission: &str) -> Result<()> {
        if self.info.may(entry, permission, SecurableRef::Database) {
            return Ok(());
        }
        Err(errors::database_permission_denied(permission, entry.name()))
    }

    fn database_of(&self, name: &ast::ObjectName) -> Result<Arc<DatabaseEntry>> {
        match &name.database {
            Some(d) => self.info.find_database(&d.text).ok_or_else(|| errors::no_database(&d.text)),
            None => Ok(self.info.current_database()),
        }
    }

    pub(crate) fn may_create(&self, permission: &str, name: &ast::ObjectName) -> Result<()> {
        let entry = self.database_of(name)?;
        self.info.check_entry(&entry)?;
        self.may_here_or_262(&entry, permission)?;
        let own = || self.info.picture(&entry).schema_name(self.info.default_schema(&entry));
        let schema = name.schema.as_ref().map(|s| s.text.to_string()).or_else(own);
        self.may_alter_schema(&entry, &schema.unwrap_or_default())
    }

    fn may_alter_schema(&self, entry: &Arc<DatabaseEntry>, schema: &str) -> Result<()> {
        let id = self.info.picture(entry).schema_id(schema);
        match id {
            Some(id) if self.info.may(entry, "ALTER", SecurableRef::Schema(id)) => Ok(()),
            _ => Err(errors::no_schema(schema)),
        }
    }

    /// Who changes the masks of a table that is there has a permission for it.
    fn may_mask(&self, entry: &Arc<DatabaseEntry>, a: &ast::AlterTable) -> Result<()> {
        use ast::AlterColumn as Column;
        let masks = matches!(
            &a.action,
            ast::AlterTableAction::AlterColumn {
                action: Column::Mask(_) | Column::Type { mask: Some(_), .. },
                ..
            }
        );
        if !masks || self.info.may(entry, "ALTER ANY MASK", SecurableRef::Database) {
            return Ok(());
        }
        Err(errors::no_table_for_index(&a.table))
    }

    /// Who writes policies has a permission for it, and on the schema that a new one goes to.
    fn may_define_policy(&self, entry: &Arc<DatabaseEntry>, p: &ast::SecurityPolicy) -> Result<()> {
        if p.alter {
            let may = self.info.may(entry, "ALTER ANY SECURITY POLICY", SecurableRef::Database);
            return if may { Ok(()) } else { Err(super::policy::not_found(&p.name, 7)) };
        }
        self.may_create("ALTER ANY SECURITY POLICY", &p.name)
    }

    fn may_define(
        &self,
        permission: &str,
        verb: ModuleVerb,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Result<()> {
        if name.name.text.starts_with('#') {
            // Temporary procedures are the session's own.
            return Ok(());
        }
        let there = self.named(program, name).is_some();
        if verb == ModuleVerb::Create || !there {
            return self.may_create(permission, name);
        }
        self.may_alter(program, name)
    }

    pub(crate) fn object(
        &self,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Option<(Arc<DatabaseEntry>, i32, i32)> {
        Some(match self.named(program, name)? {
            (entry, Named::Table(t)) => (entry, t.object_id, t.schema_id),
            (entry, Named::Module(m)) => (entry, m.object_id, m.schema_id),
            (entry, Named::Synonym(s)) => (entry, s.object_id, s.schema_id),
            (entry, Named::Bindable(b)) => (entry, b.object_id, b.schema_id),
            (entry, Named::Sequence(s)) => (entry, s.object_id, s.schema_id),
            (entry, Named::Policy(p)) => (entry, p.object_id, p.schema_id),
            (entry, Named::Queue(q)) => (entry, q.object_id, q.schema_id),
            (entry, Named::Constraint(t, id)) => (entry, id, t.schema_id),
        })
    }

    pub(super) fn may_alter(&self, program: &Program, name: &ast::ObjectName) -> Result<()> {
        if name.name.text.starts_with('#') {
            return Ok(());
        }
        // What is not there has an error of its own.
        let Some((entry, object, _)) = self.object(program, name) else { return Ok(()) };
        if self.info.may(&entry, "ALTER", SecurableRef::Object(object)) {
            return Ok(());
        }
        Err(errors::no_table_for_index(name))
    }

    fn may_load(&self, program: &Program, name: &ast::ObjectName) -> Result<()> {
        let Some((entry, object, schema)) = self.object(program, name) else { return Ok(()) };
        let need = Need::Object { database: entry.id, object, schema, permission: "INSERT", columns: None };
        self.info.authorize(&program.identity, &[need])
    }

    fn may_drop(&self, program: &Program, d: &ast::Drop) -> Result<()> {
        let kind = match &d.class {
            DropClass::Table => "table",
            DropClass::View => "view",
            DropClass::Procedure => "procedure",
            DropClass::Function => "function",
            DropClass::Trigger => {
                if let Some(scope) = &d.trigger_target {
                    let name = d.names.first().map_or("", |n| n.name.text.as_str());
                    return self.may_define_trigger("drop", name, scope);
                }
                "trigger"
            }
            DropClass::Sequence => "sequence object",
            DropClass::Synonym => "synonym",
            DropClass::Rule => "rule",
            DropClass::Default => "default",
            DropClass::SecurityPolicy => {
                let entry = self.info.current_database();
                let may = self.info.may(&entry, "ALTER ANY SECURITY POLICY", SecurableRef::Database);
                let first = d.names.first().filter(|_| !may);
                return first.map_or(Ok(()), |n| Err(errors::cannot_drop_missing("security policy", n)));
            }
            DropClass::Database => return self.may_drop_databases(d),
            DropClass::Schema => {
                let entry = self.info.current_database();
                return d.names.iter().try_for_each(|n| {
                    let id = self.info.picture(&entry).schema_id(&n.name.text);
                    match id {
                        Some(id) if !self.info.may(&entry, "CONTROL", SecurableRef::Schema(id)) => {
                            Err(errors::cannot_alter_principal("drop", "schema", n))
                        }
                        _ => Ok(()),
                    }
                });
            }
            DropClass::Type => "type",
            DropClass::Statistics => {
                let tables = d.names.iter().filter_map(super::statistics::table_and_statistics);
                return tables.into_iter().try_for_each(|(table, _)| self.may_alter(program, &table));
            }
            _ => return Ok(()),
        };
        for name in d.names.iter().filter(|n| !n.name.text.starts_with('#')) {
            let Some((entry, object, schema)) = self.object(program, name) else { continue };
            let own = self.info.may(&entry, "CONTROL", SecurableRef::Object(object));
            if !own && !self.info.may(&entry, "ALTER", SecurableRef::Schema(schema)) {
                return Err(errors::cannot_drop_missing(kind, name));
            }
        }
        Ok(())
    }

    fn may_drop_databases(&self, d: &ast::Drop) -> Result<()> {
        for name in &d.names {
            let there = self.info.find_database(&name.name.text).is_some();
            if there && !self.may_alter_database(&name.name.text) {
                return Err(errors::cannot_drop_missing("database", name));
            }
        }
        Ok(())
    }

    pub(crate) fn may_alter_database(&self, name: &str) -> bool {
        let Some(entry) = self.info.find_database(name) else { return true };
        self.info.may_on_server("ALTER ANY DATABASE")
            || self.info.may(&entry, "ALTER", SecurableRef::Database)
                && self.info.token_in(&entry).is_some_and(|t| t.owner)
    }

    fn may_dbcc(&self, entry: &Arc<DatabaseEntry>, d: &ast::Dbcc) -> Result<()> {
        const OPEN: [&str; 5] = ["USEROPTIONS", "HELP", "OPENTRAN", "SHOW_STATISTICS", "INPUTBUFFER"];
        let owner = self.info.token_in(entry).is_some_and(|t| t.owner);
        if owner || OPEN.contains(&d.command.as_str()) {
            return Ok(());
        }
        Err(errors::cannot_dbcc(self.info.login(), d.command.to_lowercase()))
    }
}

/// Statements that no module may do on its owner's account.
fn is_dynamic_matter(kind: &S) -> bool {
    matches!(
        kind,
        S::CreateDatabase(_) | S::AlterDatabase(_) | S::Dbcc(_) | S::Reconfigure { .. } | S::Checkpoint(_)
    )
}
