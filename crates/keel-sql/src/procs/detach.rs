//! `sp_detach_db`: a database is let go with its files.

use super::{Outcome, ok, string};
use crate::errors;
use crate::run::{Argument, Runner};
use keel_parser::to_text::quote_name;
use keel_types::SqlError;

/// `sp_detach_db @dbname [, @skipchecks] [, @keepfulltextindexfile]`: statistics are made anew before it when @skipchecks is 'false'. Indexes
/// of full text are a part of the files.
pub(super) fn sp_detach_db(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let missing = || errors::parameter_missing("sp_detach_db", "@dbname");
    let name = string(args, "dbname", 0).ok_or_else(missing)?;
    let truth =
        |name: &str, at: usize| match string(args, name, at).map(|word| word.trim().to_ascii_lowercase()) {
            None => Ok(None),
            Some(word) if word == "true" => Ok(Some(true)),
            Some(word) if word == "false" => Ok(Some(false)),
            Some(_) => Err(errors::invalid_procedure_option("sys.sp_detach_db")),
        };
    let skip_checks = truth("skipchecks", 1)?;
    truth("keepfulltextindexfile", 2)?;
    if skip_checks == Some(false) && runner.info.find_database(&name).is_some() {
        let text = format!("EXEC {}.sys.sp_updatestats", quote_name(&name));
        runner.run_dynamic(text.into(), "".into(), &[], &[])?;
    }
    let dir = runner.detach_database(&name)?;
    let text = format!("Database '{name}' is detached. Its files are in '{}'.", dir.display());
    runner.report(&SqlError::new(0, 0, 1, text));
    ok()
}
