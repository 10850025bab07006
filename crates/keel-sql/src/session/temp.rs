//! Temporary tables and procedures of a session, by nesting level.
//!
//! A local temporary table belongs to the level that made it: the batch's (it lives until the session ends) or a
//! procedure's (it goes with it). Inner levels see outer tables. The definitions are not in tempdb's catalog: nobody else
//! can name them, and making one costs no catalog change. Local temporary procedures live until the session ends, whoever made
//! them.

use crate::catalog::fold;
use keel_base::DatabaseId;
use keel_query::catalog::{ModuleDef, ObjectId, TableDef};
use smol_str::SmolStr;
use std::sync::Arc;

/// A temporary table.
#[derive(Clone, Debug)]
pub struct TempTable {
    /// Folded name.
    pub name: SmolStr,
    /// Nesting level that made it.
    pub level: u32,
    /// Definition, in tempdb.
    pub table: Arc<TableDef>,
    /// A number that no other table and no earlier definition of this one in the session has.
    pub version: u64,
}

/// A temporary procedure.
#[derive(Clone, Debug)]
pub struct TempProcedure {
    /// The database it was made in, where its names are looked for.
    pub database: DatabaseId,
    /// Definition.
    pub module: Arc<ModuleDef>,
}

/// What a session has, for rollback.
#[derive(Clone, Debug, Default)]
pub struct TempSnapshot {
    tables: Vec<TempTable>,
    procedures: Vec<TempProcedure>,
}

/// Characters of a temporary table's name in tempdb.
const SHOWN_CHARS: usize = 128;

/// The name that tempdb shows: filled up with underscores, and a number that keeps those of different sessions apart.
#[must_use]
pub fn shown_name(table: &TableDef) -> String {
    format!("{:_<116.116}{:012X}", table.name, table.object_id.unsigned_abs())
}

/// What tells a table variable from any other, as the [version](TempTable::version) does a temporary table: nothing alters it.
#[must_use]
pub fn variable_version(table: &TableDef) -> u64 {
    u64::from(table.object_id.cast_unsigned())
}

/// The temporary tables and procedures of a session, oldest first.
#[derive(Debug, Default)]
pub struct TempTables {
    tables: Vec<TempTable>,
    procedures: Vec<TempProcedure>,
    /// The last version given.
    versions: u64,
}

impl TempTables {
    /// The innermost table of that name, short or as tempdb shows it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<TableDef>> {
        self.innermost(name).map(|t| &t.table)
    }

    /// The [version](TempTable::version) of what the name stands for: what was compiled holds as long as it is the same.
    #[must_use]
    pub fn version(&self, name: &str) -> Option<u64> {
        self.innermost(name).map(|t| t.version)
    }

    fn innermost(&self, name: &str) -> Option<&TempTable> {
        if self.tables.is_empty() {
            return None;
        }
        let name = fold(name);
        let shown = name.len() >= SHOWN_CHARS;
        let fits = |t: &&TempTable| t.name == name || shown && fold(&shown_name(&t.table)) == name;
        self.tables.iter().rev().find(fits)
    }

    /// Whether this level has one of that name.
    #[must_use]
    pub fn exists_at(&self, name: &str, level: u32) -> bool {
        let name = fold(name);
        self.tables.iter().any(|t| t.name == name && t.level == level)
    }

    /// By id.
    #[must_use]
    pub fn by_id(&self, id: ObjectId) -> Option<&Arc<TableDef>> {
        self.tables.iter().find(|t| t.table.object_id == id).map(|t| &t.table)
    }

    /// Adds one.
    pub fn add(&mut self, level: u32, table: Arc<TableDef>) {
        self.versions += 1;
        self.tables.push(TempTable { name: fold(&table.name), level, table, version: self.versions });
    }

    /// Replaces a definition (ALTER TABLE, CREATE INDEX, TRUNCATE TABLE).
    pub fn replace(&mut self, table: Arc<TableDef>) {
        self.versions += 1;
        if let Some(t) = self.tables.iter_mut().find(|t| t.table.object_id == table.object_id) {
            t.table = table;
            t.version = self.versions;
        }
    }

    /// Takes one out.
    pub fn remove(&mut self, id: ObjectId) -> Option<Arc<TableDef>> {
        let at = self.tables.iter().position(|t| t.table.object_id == id)?;
        Some(self.tables.remove(at).table)
    }

    /// Takes out the tables of `level` and deeper; with the session's own level, 0, all procedures too.
    pub fn leave_level(&mut self, level: u32) -> Vec<Arc<TableDef>> {
        if level == 0 {
            self.procedures.clear();
        }
        if self.tables.iter().all(|t| t.level < level) {
            return Vec::new();
        }
        let (gone, kept) = std::mem::take(&mut self.tables).into_iter().partition(|t| t.level >= level);
        self.tables = kept;
        let gone: Vec<TempTable> = gone;
        gone.into_iter().map(|t| t.table).collect()
    }

    /// Whether there is neither table nor procedure.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.procedures.is_empty()
    }

    /// The procedure of that name.
    #[must_use]
    pub fn find_procedure(&self, name: &str) -> Option<&TempProcedure> {
        let name = fold(name);
        self.procedures.iter().find(|p| fold(&p.module.name) == name)
    }

    /// Adds a procedure, or puts it in place of the one with its id.
    pub fn put_procedure(&mut self, procedure: TempProcedure) {
        let id = procedure.module.object_id;
        match self.procedures.iter_mut().find(|p| p.module.object_id == id) {
            Some(old) => *old = procedure,
            None => self.procedures.push(procedure),
        }
    }

    /// Takes a procedure out. False: there is none.
    pub fn remove_procedure(&mut self, name: &str) -> bool {
        let found = self.find_procedure(name).map(|p| p.module.object_id);
        self.procedures.retain(|p| Some(p.module.object_id) != found);
        found.is_some()
    }

    /// The present state, for rollback of CREATE and DROP.
    #[must_use]
    pub fn snapshot(&self) -> TempSnapshot {
        TempSnapshot { tables: self.tables.clone(), procedures: self.procedures.clone() }
    }

    /// Goes back to a snapshot.
    pub fn restore(&mut self, snapshot: TempSnapshot) {
        self.tables = snapshot.tables;
        self.procedures = snapshot.procedures;
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &TempTable> {
        self.tables.iter()
    }
}
