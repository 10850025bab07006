//! CREATE, ALTER and DROP of resource pools and workload groups, and ALTER RESOURCE GOVERNOR.
//!
//! They change what master keeps; RECONFIGURE puts it in force ([`crate::governor`]).

use crate::errors::{cannot_alter_principal, no_permission, not_in_user_transaction, not_supported};
use crate::governor::classify::find_classifier;
use crate::governor::definition::{INTERNAL, Importance, is_own};
use crate::governor::{Configuration, GroupChange, GroupDef, PoolChange, PoolDef, errors};
use crate::run::Runner;
use keel_parser::ast::{
    GovernorAction, GovernorSetting, GovernorStatement, Ident, Opt, OptValue, PoolAffinity,
};
use keel_types::error::Result;

/// What a statement is called in messages.
fn called(alter: bool, kind: &str) -> String {
    format!("{} {kind}", if alter { "ALTER" } else { "CREATE" })
}

/// Most that MAX_OUTSTANDING_IO_PER_VOLUME takes.
const OUTSTANDING_IO_MAX: i64 = 100;

impl Runner<'_> {
    /// Runs a statement of the resource governor.
    pub(super) fn governor_statement(&mut self, s: &GovernorStatement) -> Result<()> {
        let whole = matches!(s, GovernorStatement::Governor(_));
        if !self.info.may_on_server("CONTROL SERVER") {
            return Err(if whole { errors::no_permission() } else { no_permission("") });
        }
        if self.info.transaction.borrow().count > 0 {
            return Err(not_in_user_transaction(statement_name(s)));
        }
        match s {
            GovernorStatement::Pool { alter, name, options, affinity } => {
                self.put_pool(*alter, &name.text, options, affinity.as_ref())
            }
            GovernorStatement::DropPool(name) => self.drop_pool(&name.text),
            GovernorStatement::Group { alter, name, options, pool, external_pool } => {
                if external_pool.is_some() {
                    return Err(not_supported("EXTERNAL of a workload group"));
                }
                self.put_group(*alter, &name.text, options.as_deref(), pool.as_ref())
            }
            GovernorStatement::DropGroup(name) => self.drop_group(&name.text),
            GovernorStatement::Governor(action) => self.alter_governor(action),
        }
    }

    fn put_pool(
        &self,
        alter: bool,
        name: &str,
        options: &[Opt],
        affinity: Option<&PoolAffinity>,
    ) -> Result<()> {
        let statement = called(alter, "RESOURCE POOL");
        self.info.engine.define_pool(|all| {
            let mut pool = if alter { pool_to_alter(all, name)? } else { all.new_pool(name)? };
            for option in options {
                pool.set(&option.name, option.value.number(), &statement)?;
            }
            if let Some(affinity) = affinity {
                pool.schedulers = self.schedulers_of(affinity)?;
            }
            all.check_pool(&pool)?;
            Ok(PoolChange::Put(pool))
        })
    }

    /// The schedulers that a pool is to keep to; `None` for all.
    fn schedulers_of(&self, affinity: &PoolAffinity) -> Result<Option<Vec<u32>>> {
        let there = self.info.engine.governor().schedulers() as i64;
        let (ranges, what, most) = match affinity {
            PoolAffinity::Auto => return Ok(None),
            PoolAffinity::Schedulers(ranges) => (ranges, "scheduler", there),
            // One node has all of them.
            PoolAffinity::Nodes(ranges) => (ranges, "NUMA node", 1),
        };
        for (from, to) in ranges {
            if let Some(bad) = [*from, *to].into_iter().find(|n| !(0..most).contains(n)) {
                return Err(errors::no_such_scheduler(what, bad));
            }
            if from > to {
                return Err(errors::no_such_scheduler(what, from));
            }
        }
        if matches!(affinity, PoolAffinity::Nodes(_)) {
            return Ok(Some((0..there as u32).collect()));
        }
        let mut all: Vec<u32> = ranges.iter().flat_map(|(from, to)| *from as u32..=*to as u32).collect();
        all.sort_unstable();
        all.dedup();
        Ok(Some(all))
    }

    fn drop_pool(&self, name: &str) -> Result<()> {
        self.info.engine.define_pool(|all| {
            let pool = all.pool(name).ok_or_else(|| cannot_alter_principal("drop", "resource pool", name))?;
            all.check_drop(pool)?;
            Ok(PoolChange::Drop(pool.id))
        })
    }

    fn put_group(
        &self,
        alter: bool,
        name: &str,
        options: Option<&[Opt]>,
        pool: Option<&Ident>,
    ) -> Result<()> {
        let (statement, verb) = (called(alter, "WORKLOAD GROUP"), if alter { "alter" } else { "create" });
        self.info.engine.define_group(|all| {
            let mut group = if alter { group_to_alter(all, name)? } else { all.new_group(name)? };
            if alter && options.is_none() && pool.is_none() {
                return Err(errors::nothing_altered());
            }
            for option in options.unwrap_or_default() {
                set_option(&mut group, option, &statement)?;
            }
            if let Some(pool) = pool {
                group.pool = all.pool_for_group(&pool.text, verb, &group)?;
            }
            Ok(GroupChange::Put(group))
        })
    }

    fn drop_group(&self, name: &str) -> Result<()> {
        self.info.engine.define_group(|all| match all.group(name) {
            None => Err(cannot_alter_principal("drop", "workload group", name)),
            Some(group) if !is_own(group.id) => Err(errors::predefined_dropped("workload group")),
            Some(group) => Ok(GroupChange::Drop(group.id)),
        })
    }

    fn alter_governor(&self, action: &GovernorAction) -> Result<()> {
        let engine = &self.info.engine;
        match action {
            GovernorAction::Reconfigure => engine.reconfigure_governor(),
            GovernorAction::Disable => engine.disable_governor(),
            GovernorAction::ResetStatistics => {
                engine.reset_governor();
                Ok(())
            }
            GovernorAction::Set(settings) => {
                settings.iter().try_for_each(|setting| self.set_governor_option(setting))
            }
        }
    }

    fn set_governor_option(&self, setting: &GovernorSetting) -> Result<()> {
        match setting {
            GovernorSetting::Classifier(name) => {
                let classifier = match name {
                    Some(name) => find_classifier(self.info, name)?,
                    None => 0,
                };
                self.info.engine.set_governor(|settings| settings.classifier = classifier)
            }
            GovernorSetting::OutstandingIo(number) => {
                let number = number.unwrap_or(0);
                if !(0..=OUTSTANDING_IO_MAX).contains(&number) {
                    let (option, statement) = ("MAX_OUTSTANDING_IO_PER_VOLUME", "ALTER RESOURCE GOVERNOR");
                    return Err(errors::bad_option(option, statement));
                }
                self.info.engine.set_governor(|settings| settings.outstanding_io = number as i32)
            }
        }
    }
}

fn pool_to_alter(all: &Configuration, name: &str) -> Result<PoolDef> {
    match all.pool(name) {
        None => Err(cannot_alter_principal("alter", "resource pool", name)),
        Some(pool) if pool.id == INTERNAL => Err(errors::predefined_altered(&pool.name, "resource pool")),
        Some(pool) => Ok(pool.clone()),
    }
}

fn group_to_alter(all: &Configuration, name: &str) -> Result<GroupDef> {
    match all.group(name) {
        None => Err(cannot_alter_principal("alter", "workload group", name)),
        Some(group) if group.id == INTERNAL => Err(errors::predefined_altered(&group.name, "workload group")),
        Some(group) => Ok(group.clone()),
    }
}

fn set_option(group: &mut GroupDef, option: &Opt, statement: &str) -> Result<()> {
    if let OptValue::Word(word) = &option.value {
        let importance = Importance::parse(&word.text);
        group.importance = importance.ok_or_else(|| errors::bad_option(&option.name, statement))?;
        return Ok(());
    }
    group.set(&option.name, option.value.decimal(), statement)
}

fn statement_name(s: &GovernorStatement) -> &'static str {
    match s {
        GovernorStatement::Pool { alter: false, .. } => "CREATE RESOURCE POOL",
        GovernorStatement::Pool { .. } => "ALTER RESOURCE POOL",
        GovernorStatement::DropPool(_) => "DROP RESOURCE POOL",
        GovernorStatement::Group { alter: false, .. } => "CREATE WORKLOAD GROUP",
        GovernorStatement::Group { .. } => "ALTER WORKLOAD GROUP",
        GovernorStatement::DropGroup(_) => "DROP WORKLOAD GROUP",
        GovernorStatement::Governor(_) => "ALTER RESOURCE GOVERNOR",
    }
}
