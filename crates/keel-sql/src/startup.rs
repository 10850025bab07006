//! Procedures that run when the instance starts: those of master that `sp_procoption` has marked, with `scan for startup procs` in force.
//!
//! Each runs once, in a session of its own, as sa in master, beside the others and beside the clients that come meanwhile. What it says goes
//! nowhere; an error that ends it goes to the error log. One that never ends (a loop with WAITFOR) goes on until the instance stops.

use crate::catalog::{DBO, Picture};
use crate::config::{self, SCAN_FOR_STARTUP_PROCEDURES};
use crate::engine::Engine;
use crate::errors;
use crate::run::Runner;
use crate::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use keel_parser::ast::StatementKind;
use keel_parser::to_text::quote_name;
use keel_query::catalog::{ModuleDef, ModuleKind};
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use std::sync::Arc;

type E = Box<SqlError>;

errors::error_functions! {
    /// sp_procoption of what is elsewhere.
    not_in_master() = 15398, 11, 1, "Only objects in the master database owned by dbo can have the startup setting changed.";
    /// sp_procoption of a procedure that wants arguments.
    has_parameters() = 15399, 11, 1, "Could not change startup option because this option is restricted to objects that have no parameters.";
}

/// A procedure that runs at the start.
pub struct StartupProcedure {
    engine: Arc<Engine>,
    name: String,
}

/// Those that run now that the instance has started.
#[must_use]
pub fn procedures(engine: &Arc<Engine>) -> Vec<StartupProcedure> {
    if engine.configuration(SCAN_FOR_STARTUP_PROCEDURES).running == 0 {
        return Vec::new();
    }
    let picture = engine.master().picture();
    let procedure =
        |m: &Arc<ModuleDef>| StartupProcedure { engine: Arc::clone(engine), name: m.name.clone() };
    marked(&picture).map(procedure).collect()
}

fn marked(picture: &Picture) -> impl Iterator<Item = &Arc<ModuleDef>> {
    picture.modules().filter(|m| m.startup && m.schema_id == DBO)
}

impl StartupProcedure {
    /// Runs it, to its end.
    pub fn run(&self) {
        let log = &self.engine.options().log;
        let options = crate::agent::session_options(&self.engine, "Startup", "master");
        let mut heard = Heard::default();
        match self.engine.session(options) {
            Ok(mut session) => {
                log.write(&format!("Launched startup procedure '{}'.", self.name));
                session.classify();
                session.execute_batch(&format!("EXEC master.dbo.{}", quote_name(&self.name)), &mut heard);
            }
            Err(e) => heard.message(&e),
        }
        if let Some(error) = heard.0 {
            log.write(&format!("Launch of startup procedure '{}' failed. {error}", self.name));
        }
    }
}

/// The last error.
#[derive(Default)]
struct Heard(Option<String>);

impl ResultSink for Heard {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, _: &[Value]) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }
    fn done(&mut self, _: DoneInfo) {}
    fn message(&mut self, message: &SqlError) {
        if message.severity > 10 {
            self.0 = Some(format!("Error: {}. {}", message.number, message.message));
        }
    }
    fn return_status(&mut self, _: i32) {}
    fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
    fn env_change(&mut self, _: EnvChange) {}
}

impl Runner<'_> {
    /// `sp_procoption … 'startup'`: marks a procedure, or takes the mark away. `scan for startup procs` follows, from the next start on.
    pub(crate) fn set_startup(&mut self, name: &str, on: bool) -> Result<()> {
        self.sysadmin()?;
        self.of_the_instance("sp_procoption")?;
        let engine = Arc::clone(&self.info.engine);
        let master = engine.master();
        let found = crate::functions::find_named(self.info, name);
        let module = match found {
            Some((entry, crate::catalog::Named::Module(m)))
                if m.kind == ModuleKind::Procedure && entry.id == master.id && m.schema_id == DBO =>
            {
                m
            }
            Some((_, crate::catalog::Named::Module(m))) if m.kind == ModuleKind::Procedure => {
                return Err(not_in_master());
            }
            _ => return Err(errors::could_not_find_object(name)),
        };
        let parameters = match crate::modules::parse(&module)?.kind {
            StatementKind::CreateProcedure(p) => p.parameters.len(),
            _ => 0,
        };
        if parameters > 0 {
            return Err(has_parameters());
        }
        let others = marked(&self.info.picture(&master)).any(|other| other.object_id != module.object_id);
        self.in_statement(|runner| {
            runner.lock_catalog(&master)?;
            let module = ModuleDef { startup: on, ..(*module).clone() };
            runner.put(&master, crate::catalog::CatalogObject::Module(Arc::new(module)))
        })?;
        let option = config::OPTIONS.iter().find(|option| option.id == SCAN_FOR_STARTUP_PROCEDURES);
        option.map_or(Ok(()), |option| engine.configure(option, i64::from(on || others)))
    }
}
