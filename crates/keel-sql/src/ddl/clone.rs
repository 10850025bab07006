//! DBCC CLONEDATABASE: what a session says, and who may.

use crate::engine::{CloneOptions, FIRST_USER_DATABASE};
use crate::errors;
use crate::run::Runner;
use keel_parser::ast;
use keel_types::SqlError;
use keel_types::error::Result;

fn name_of(argument: Option<&ast::Expr>) -> Option<&str> {
    match &argument?.kind {
        ast::ExprKind::Column(c) => Some(&c.name.text),
        ast::ExprKind::Literal(ast::Literal::String { value, .. }) => Some(value),
        _ => None,
    }
}

fn incorrect() -> Box<SqlError> {
    let text = "An incorrect number of parameters was given to the DBCC statement.";
    SqlError::new(2583, 16, 3, text)
}

impl Runner<'_> {
    pub(super) fn clone_database(&mut self, d: &ast::Dbcc) -> Result<()> {
        if !self.info.identity_now().sysadmin {
            return Err(errors::cannot_dbcc(self.info.login(), "clonedatabase"));
        }
        self.of_the_instance("DBCC CLONEDATABASE")?;
        if self.info.transaction.borrow().count > 0 {
            return Err(errors::not_in_transaction("DBCC CLONEDATABASE"));
        }
        let (Some(source), Some(target)) = (name_of(d.args.first()), name_of(d.args.get(1))) else {
            return Err(incorrect());
        };
        let says = |name: &str| d.options.iter().any(|o| o.name == name);
        if says("BACKUP_CLONEDB") {
            return Err(errors::not_supported("DBCC CLONEDATABASE … WITH BACKUP_CLONEDB"));
        }
        let entry = self.info.find_database(source).ok_or_else(|| self.info.engine.not_open(source))?;
        if entry.id.0 < FIRST_USER_DATABASE || entry.snapshot().is_some() {
            return Err(errors::not_supported("DBCC CLONEDATABASE of a system database or a snapshot"));
        }
        entry.may_be_opened()?;
        let source = entry.name();
        self.dbcc_message(&format!("Database cloning for '{source}' has started with target as '{target}'."));
        let options = CloneOptions { broker: says("SERVICEBROKER"), verified: says("VERIFY_CLONEDB") };
        let broker = self.new_guid();
        let clone = self.info.engine.clone_database(&entry, target, broker, options)?;
        self.dbcc_message(&format!(
            "Database cloning for '{source}' has finished. Cloned database is '{target}'."
        ));
        let checked = clone.store.check().map_err(|e| crate::map::db_error(e, target))?;
        if let Some(problem) = checked.problems().into_iter().next() {
            return Err(errors::corruption(problem));
        }
        self.dbcc_message(&if options.verified {
            "Clone database verification has passed.".to_owned()
        } else {
            format!(
                "Database '{target}' is a cloned database. A cloned database should be used for diagnostic purposes only and is not \
                 supported for use in a production environment."
            )
        });
        Ok(())
    }
}
