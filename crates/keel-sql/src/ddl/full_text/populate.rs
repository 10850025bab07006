//! What an index is told to do: begin anew, populate, stop, pause, go on.

use super::{
    already_populating, changes_deleted, not_tracked, only_full_pauses, only_paused_resumes, stop_ignored,
};
use crate::map::txn_error;
use crate::run::Runner;
use keel_node::Isolation;
use keel_parser::ast::{ChangeTracking, Population};
use keel_query::Stamp;
use keel_query::catalog::TableDef;
use keel_query::full_text::{Crawl, FullTextDef, FullTextTrees, PopulationKind, PopulationState, Tracking};
use keel_types::SqlType;
use keel_types::error::Result;

/// CHANGE_TRACKING as it is kept.
pub(super) fn tracking(asked: ChangeTracking) -> Tracking {
    match asked {
        ChangeTracking::Auto => Tracking::Auto,
        ChangeTracking::Manual => Tracking::Manual,
        ChangeTracking::Off => Tracking::Off,
    }
}

impl Runner<'_> {
    /// New, empty trees.
    pub(super) fn full_text_trees(&self, table: &TableDef) -> Result<FullTextTrees> {
        let entry = self.entry_of(table.database)?;
        let tree = || entry.allocate_tree();
        Ok(FullTextTrees {
            documents: tree()?,
            keys: tree()?,
            postings: tree()?,
            forms: tree()?,
            pending: tree()?,
        })
    }

    /// Has an index begin anew: it is empty, and populated when that is wanted.
    pub(super) fn restart(&mut self, table: &TableDef, index: FullTextDef, populate: bool) -> Result<()> {
        let index = FullTextDef { trees: self.full_text_trees(table)?, ..index };
        self.begin_full_text(table, index, populate)
    }

    /// Puts an index with empty trees in the place of the one that a table has, if it has one.
    pub(super) fn begin_full_text(
        &mut self,
        table: &TableDef,
        index: FullTextDef,
        populate: bool,
    ) -> Result<()> {
        let before = match &table.full_text {
            Some(old) => self.read_crawl(table, old)?,
            None => Crawl::default(),
        };
        let population = if populate { Some(self.population(table, PopulationKind::Full)?) } else { None };
        let crawl = Crawl {
            population,
            last_kind: before.last_kind,
            last_started: before.last_started,
            last_ended: before.last_ended,
            ..Crawl::default()
        };
        self.discard_full_text(table)?;
        self.write_crawl(table, &index, &crawl)?;
        self.replace_table(TableDef { full_text: Some(index), ..table.clone() }).map(|_| ())
    }

    /// The trees of a table's index go when the transaction commits.
    pub(in crate::ddl) fn discard_full_text(&mut self, table: &TableDef) -> Result<()> {
        let Some(index) = &table.full_text else { return Ok(()) };
        index.trees.all().into_iter().try_for_each(|tree| self.discard_tree(table, tree))
    }

    /// The table is emptied, and its index with it.
    pub(in crate::ddl) fn empty_full_text(&mut self, table: &mut TableDef) -> Result<()> {
        let Some(index) = table.full_text.clone() else { return Ok(()) };
        let crawl = self.read_crawl(table, &index)?;
        let crawl = Crawl {
            last_kind: crawl.last_kind,
            last_started: crawl.last_started,
            last_ended: crawl.last_ended,
            ..Crawl::default()
        };
        let index = FullTextDef { trees: self.full_text_trees(table)?, ..index };
        self.write_crawl(table, &index, &crawl)?;
        table.full_text = Some(index);
        Ok(())
    }

    /// Rows of the table have gone without a statement's telling so: its index, if it follows the table, is populated anew.
    pub(in crate::ddl) fn repopulate(&mut self, table: &TableDef) -> Result<()> {
        match table.full_text.clone().filter(|index| index.enabled && index.tracking != Tracking::Off) {
            Some(index) => self.restart(table, index, true),
            None => Ok(()),
        }
    }

    fn population(&self, table: &TableDef, kind: PopulationKind) -> Result<PopulationState> {
        let entry = self.entry_of(table.database)?;
        Ok(PopulationState {
            kind,
            from: None,
            tree: None,
            to: None,
            looking_for_gone: false,
            paused: false,
            started: self.info.engine.now_local(),
            // The table is locked: what is written to it from now on has a higher one.
            row_version: entry.current_rowversion() + 1,
            processed: 0,
        })
    }

    pub(super) fn read_crawl(&mut self, table: &TableDef, index: &FullTextDef) -> Result<Crawl> {
        let session = self.info.shared.id;
        let txn = self.txns_dyn().transaction(table.database)?;
        let view = txn.view_as(Isolation::ReadCommitted);
        Crawl::read(txn, &view, &index.trees).map_err(|e| txn_error(e, "", session))
    }

    fn write_crawl(&mut self, table: &TableDef, index: &FullTextDef, crawl: &Crawl) -> Result<()> {
        let session = self.info.shared.id;
        // Whose commit wakes the crawl.
        self.txns_dyn().change_stamp(table.database, Stamp::Queued)?;
        let txn = self.txns_dyn().transaction(table.database)?;
        crawl.write(txn, &index.trees).map_err(|e| txn_error(e, "", session))
    }

    /// Changes how far the crawl is; the table is locked.
    pub(super) fn change_crawl(
        &mut self,
        table: &TableDef,
        index: &FullTextDef,
        change: impl FnOnce(&mut Crawl),
    ) -> Result<()> {
        let mut crawl = self.read_crawl(table, index)?;
        change(&mut crawl);
        self.write_crawl(table, index, &crawl)
    }

    /// SET CHANGE_TRACKING. What was not remembered is read anew.
    pub(super) fn set_tracking(&mut self, table: &TableDef, index: &FullTextDef, to: Tracking) -> Result<()> {
        let was = index.tracking;
        let index = FullTextDef { tracking: to, ..index.clone() };
        match (was, to) {
            (Tracking::Off, Tracking::Off) => Ok(()),
            (Tracking::Off, _) => self.restart(table, index, true),
            (_, Tracking::Off) => {
                let entry = self.entry_of(table.database)?;
                let mut index = index;
                self.discard_tree(table, index.trees.pending)?;
                index.trees.pending = entry.allocate_tree()?;
                self.info.say(changes_deleted(&table.name));
                self.replace_table(TableDef { full_text: Some(index), ..table.clone() }).map(|_| ())
            }
            _ => {
                // Wakes the crawl.
                self.change_crawl(table, &index, |_| {})?;
                self.replace_table(TableDef { full_text: Some(index), ..table.clone() }).map(|_| ())
            }
        }
    }

    /// START … POPULATION.
    pub(super) fn start_population(
        &mut self,
        table: &TableDef,
        index: &FullTextDef,
        kind: Population,
    ) -> Result<()> {
        let crawl = self.read_crawl(table, index)?;
        if crawl.population.is_some() {
            self.info.say(already_populating(&table.name));
            return Ok(());
        }
        let versioned = table.columns.iter().any(|c| c.ty == SqlType::RowVersion);
        let kind = match kind {
            Population::Update if index.tracking == Tracking::Off => return Err(not_tracked(&table.name)),
            Population::Update => PopulationKind::Update,
            Population::Incremental if versioned && crawl.last_ended > 0 => PopulationKind::Incremental,
            _ => return self.restart(table, index.clone(), true),
        };
        let population = self.population(table, kind)?;
        self.change_crawl(table, index, |crawl| crawl.population = Some(population))
    }

    /// STOP POPULATION.
    pub(super) fn stop_population(&mut self, table: &TableDef, index: &FullTextDef) -> Result<()> {
        let crawl = self.read_crawl(table, index)?;
        match crawl.population {
            None if index.tracking == Tracking::Auto => {
                self.info.say(stop_ignored());
                Ok(())
            }
            None => Ok(()),
            Some(_) => self.change_crawl(table, index, |crawl| crawl.population = None),
        }
    }

    /// PAUSE and RESUME POPULATION.
    pub(super) fn pause_population(
        &mut self,
        table: &TableDef,
        index: &FullTextDef,
        pause: bool,
    ) -> Result<()> {
        let crawl = self.read_crawl(table, index)?;
        let full = crawl.population.as_ref().filter(|p| p.kind == PopulationKind::Full);
        if full.is_none_or(|p| p.paused == pause) {
            self.info.say(if pause { only_full_pauses() } else { only_paused_resumes() });
            return Ok(());
        }
        self.change_crawl(table, index, |crawl| {
            if let Some(population) = &mut crawl.population {
                population.paused = pause;
            }
        })
    }
}
