//! The agent's tables and procedures: T-SQL that an instance runs in `msdb` when it starts and has not run in this version.

use super::Office;
use super::clerk::Clerk;
use crate::catalog::SystemDatabase;
use crate::engine::Engine;
use crate::hadr::ContainedGroup;
use crate::program::ModuleIdentity;
use crate::session::info::Info;
use keel_parser::split::split_go;
use keel_types::error::Result;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, LazyLock};

/// Property of `msdb` that tells which texts were run.
const STAMP: &str = "keel_agent";

/// In the order in which they refer to each other.
const SCRIPTS: [&str; 6] = [
    include_str!("tables.sql"),
    include_str!("jobs.sql"),
    include_str!("schedules.sql"),
    include_str!("running.sql"),
    include_str!("alerts.sql"),
    include_str!("mail.sql"),
];

/// Names of what the scripts make, folded; it counts as shipped.
static SHIPPED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let makers = [
        "create table dbo.",
        "create or alter procedure dbo.",
        "create or alter view dbo.",
        "create or alter function dbo.",
    ];
    let name = |line: &str| {
        let rest = makers.iter().find_map(|maker| line.trim_start().strip_prefix(maker))?;
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        Some(crate::catalog::fold(name).to_string())
    };
    let mut names: Vec<_> = SCRIPTS.iter().flat_map(|script| script.lines()).filter_map(name).collect();
    names.sort();
    names
});

/// Whether an object of `msdb` is one of these.
#[must_use]
pub fn is_shipped(name: &str) -> bool {
    SHIPPED.binary_search_by(|shipped| shipped.as_str().cmp(&crate::catalog::fold(name))).is_ok()
}

/// Whether it is one of these that the session executes: they have asked who it is.
#[must_use]
pub fn is_calling(info: &Info) -> bool {
    let modules = info.modules.borrow();
    let in_msdb =
        |module: &ModuleIdentity| info.system_database(module.database) == Some(SystemDatabase::Msdb);
    let shipped = |module: &ModuleIdentity| in_msdb(module) && module.name.as_deref().is_some_and(is_shipped);
    modules.iter().rev().find(|m| m.object_id >= 0).is_some_and(shipped)
}

fn stamp() -> String {
    let mut hasher = DefaultHasher::new();
    SCRIPTS.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Makes in `msdb` what this version of the agent needs, if that has not been done.
///
/// # Errors
/// The first statement's that fails.
pub fn install(engine: &Arc<Engine>) -> Result<()> {
    install_in(&Office::of_instance(engine))
}

/// The same in the `msdb` of a group that is to be contained.
pub(crate) fn install_contained(engine: &Arc<Engine>, group: &ContainedGroup) -> Result<()> {
    install_in(&Office::of_group(engine, group)?)
}

/// The same in any `msdb` that can be written here.
pub(super) fn install_in(office: &Office) -> Result<()> {
    let wanted = stamp();
    let installed =
        office.msdb().picture().properties().any(|p| p.name == STAMP && p.value.as_deref() == Some(&wanted));
    if installed {
        return Ok(());
    }
    let mut clerk = Clerk::new(office, "SQLAgent - Install")?;
    for batch in SCRIPTS.iter().flat_map(|script| split_go(script)) {
        clerk.run(batch.text)?;
    }
    // Last, so that an installation that was cut off is done again.
    clerk.run(&format!(
        "if exists (select 1 from sys.extended_properties where class = 0 and name = N'{STAMP}')
             exec sp_updateextendedproperty N'{STAMP}', '{wanted}'
         else exec sp_addextendedproperty N'{STAMP}', '{wanted}'"
    ))
}
