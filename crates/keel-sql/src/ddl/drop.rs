//! DROP and TRUNCATE.

use super::parts_here;
use crate::catalog::{CatalogKey, CatalogOp, Named, SYS, object_class};
use crate::engine::{DatabaseEntry, TEMPDB};
use crate::errors;
use crate::notify::Reason;
use crate::program::Program;
use crate::run::{Frame, Runner};
use crate::session::options::Switches;
use keel_base::TreeId;
use keel_parser::ast::{self, DropClass};
use keel_query::catalog::{Catalog, ModuleKind, TableDef};
use keel_query::scope::BindScope as _;
use keel_types::error::Result;
use std::sync::Arc;

/// Errors of one object that do not keep a statement from the others: it is not there, of another kind, referred to, system-versioned.
const OF_ONE: [i32; 4] = [3701, 3705, 3726, 13552];

impl Runner<'_> {
    /// Those that cannot be dropped do not keep the others: they are told when these are gone.
    pub(super) fn drop_objects(&mut self, program: &Program, d: &ast::Drop) -> Result<()> {
        let mut kept = Vec::new();
        for name in &d.names {
            match self.drop_object(program, d, name) {
                Err(e) if d.names.len() > 1 && OF_ONE.contains(&e.number) => kept.push(e),
                dropped => dropped?,
            }
        }
        let Some(last) = kept.last().map(|e| e.number) else { return Ok(()) };
        if self.is_caught() || self.info.on(Switches::XACT_ABORT) {
            return Err(kept.swap_remove(0));
        }
        kept.iter().for_each(|e| self.report(e));
        self.info.error.set(last);
        Ok(())
    }

    fn drop_object(&mut self, program: &Program, d: &ast::Drop, name: &ast::ObjectName) -> Result<()> {
        let own = name.is_temporary() && !name.is_global_temporary();
        match &d.class {
            DropClass::Table if own => self.drop_temporary(name, d.if_exists),
            DropClass::Table => self.drop_table(program, name, d.if_exists),
            DropClass::View => self.drop_module(program, name, d.if_exists, "view", &[ModuleKind::View]),
            DropClass::Procedure if own => {
                self.before_temp_change();
                let dropped = self.info.temp.borrow_mut().remove_procedure(&name.name.text);
                let found = dropped || d.if_exists;
                if found { Ok(()) } else { Err(errors::cannot_drop_missing("procedure", name)) }
            }
            DropClass::Procedure => {
                self.drop_module(program, name, d.if_exists, "procedure", &[ModuleKind::Procedure])
            }
            DropClass::Function => {
                let kinds =
                    [ModuleKind::ScalarFunction, ModuleKind::InlineTableFunction, ModuleKind::TableFunction];
                self.drop_module(program, name, d.if_exists, "function", &kinds)
            }
            DropClass::Trigger => match &d.trigger_target {
                Some(target) => self.drop_event_trigger(name, target, d.if_exists),
                None => self.drop_module(program, name, d.if_exists, "trigger", &[ModuleKind::Trigger]),
            },
            DropClass::Schema => self.drop_schema(name, d.if_exists),
            DropClass::Type => self.drop_type(program, name, d.if_exists),
            DropClass::XmlCollection => self.drop_xml_collection(program, name, d.if_exists),
            DropClass::Sequence | DropClass::Synonym => self.drop_other(program, name, d),
            DropClass::Rule | DropClass::Default => self.drop_bindable(program, name, d),
            DropClass::SecurityPolicy => self.drop_policy(program, name, d.if_exists),
            DropClass::User => self.drop_principal(name, d.if_exists, false),
            DropClass::Role => self.drop_principal(name, d.if_exists, true),
            DropClass::Other(class) if class == "APPLICATION ROLE" => {
                self.drop_application_role(&name.name.text)
            }
            DropClass::ServerRole => self.drop_server_role(&name.name.text, d.if_exists),
            DropClass::Statistics => self.drop_statistics(program, name),
            _ => Err(errors::not_supported("This DROP")),
        }
    }

    fn drop_temporary(&mut self, name: &ast::ObjectName, if_exists: bool) -> Result<()> {
        let found = self.info.temp.borrow().find(&name.name.text).cloned();
        let Some(table) = found else {
            return if if_exists { Ok(()) } else { Err(errors::cannot_drop_missing("table", name)) };
        };
        self.before_temp_change();
        self.info.temp.borrow_mut().remove(table.object_id);
        self.info.forget_temporary(&table);
        self.discard_trees(&table)
    }

    fn drop_table(&mut self, program: &Program, name: &ast::ObjectName, if_exists: bool) -> Result<()> {
        let (entry, table) = match self.find_for_drop(program, name) {
            Some((entry, Named::Table(table))) => (entry, table),
            Some((_, Named::Module(m))) if m.kind == ModuleKind::View => {
                return Err(errors::wrong_drop_kind("DROP TABLE", name, "view", "DROP VIEW"));
            }
            Some((_, Named::Policy(_))) => {
                let proper = "DROP SECURITY POLICY";
                return Err(errors::wrong_drop_kind("DROP TABLE", name, "security policy", proper));
            }
            _ if if_exists => return Ok(()),
            _ => return Err(errors::cannot_drop_missing("table", name)),
        };
        self.lock_schema(entry.id, table.object_id)?;
        if table.versioning().is_some() || table.history_of.is_some() {
            return Err(errors::versioned_dropped(self.full_name(&table)));
        }
        let picture = self.info.picture(&entry);
        if picture.referencing(table.object_id).iter().any(|(t, _)| t.object_id != table.object_id) {
            return Err(errors::referenced_by_foreign_key(name));
        }
        self.refuse_bound("DROP TABLE", name, &entry, table.object_id)?;
        let what = ("table", &*table.name);
        crate::plan_guides::refuse_guided_triggers(self, &entry, what, table.object_id)?;
        self.refuse_change_table(&table)?;
        self.forget_predicates(&entry, table.object_id)?;
        self.drop_instances(&table)?;
        for trigger in picture.triggers(table.object_id) {
            self.change(
                &entry,
                CatalogOp::Remove(CatalogKey { class: object_class::MODULE, id: trigger.object_id }),
            )?;
        }
        self.change(
            &entry,
            CatalogOp::Remove(CatalogKey { class: object_class::TABLE, id: table.object_id }),
        )?;
        self.discard_trees(&table)
    }

    /// Drops those of a session's global temporary tables that are still there.
    pub(crate) fn drop_global_tables(&mut self, made: &[i32]) -> Result<()> {
        let entry = self.entry_of(TEMPDB)?;
        for id in made {
            let Some(table) = self.info.picture(&entry).table_by_id(*id) else { continue };
            self.change(&entry, CatalogOp::Remove(CatalogKey { class: object_class::TABLE, id: *id }))?;
            self.discard_trees(&table)?;
        }
        Ok(())
    }

    fn find_for_drop(
        &self,
        program: &Program,
        name: &ast::ObjectName,
    ) -> Option<(Arc<DatabaseEntry>, Named)> {
        if name.is_global_temporary() {
            let tempdb = self.entry_of(TEMPDB).ok()?;
            let named = self.info.picture(&tempdb).named(crate::catalog::DBO, &name.name.text)?;
            return Some((tempdb, named));
        }
        self.named(program, name)
    }

    /// The trees of a table go when the transaction commits.
    pub(super) fn discard_trees(&mut self, table: &TableDef) -> Result<()> {
        self.discard_indexes(table)?;
        for def in &table.captures {
            self.discard_staged(table, def)?;
        }
        self.discard_full_text(table)?;
        self.discard_changes(table)
    }

    /// The trees of a table's rows and indexes go when the transaction commits; what is kept beside them stays.
    pub(super) fn discard_indexes(&mut self, table: &TableDef) -> Result<()> {
        table.indexes.iter().try_for_each(|index| self.discard_tree(table, index.tree))
    }

    /// A tree of a table goes when the transaction commits.
    pub(crate) fn discard_tree(&mut self, table: &TableDef, tree: TreeId) -> Result<()> {
        let session = self.info.shared.id;
        // If it stays after all, what is known of it is found out again.
        self.info.engine.statistics.forget_tree(table.database, tree);
        let txn = self.txns_dyn().transaction(table.database)?;
        txn.drop_tree(tree).map_err(|e| crate::map::txn_error(e, "", session))
    }

    fn drop_module(
        &mut self,
        program: &Program,
        name: &ast::ObjectName,
        if_exists: bool,
        kind: &str,
        kinds: &[ModuleKind],
    ) -> Result<()> {
        match self.named(program, name) {
            Some((entry, Named::Module(module))) if kinds.contains(&module.kind) => {
                match &module.rows {
                    Some(rows) => self.lock_stored(rows)?,
                    None => self.lock_schema(entry.id, module.object_id)?,
                }
                if crate::governor::classifier_is(&self.info.engine, entry.id, module.object_id) {
                    return Err(crate::governor::errors::is_classifier("drop", &module.name));
                }
                let what = format!("DROP {}", kind.to_uppercase());
                self.refuse_bound(&what, name, &entry, module.object_id)?;
                let what = ("drop", kind, &*module.name);
                crate::plan_guides::refuse_guided(self, &entry, what, module.object_id)?;
                let what = (kind, &*module.name);
                crate::plan_guides::refuse_guided_triggers(self, &entry, what, module.object_id)?;
                self.forget_predicates(&entry, module.object_id)?;
                if let Some(rows) = &module.rows {
                    self.forget_view_rows(rows)?;
                }
                let key = CatalogKey { class: object_class::MODULE, id: module.object_id };
                self.change(&entry, CatalogOp::Remove(key))?;
                for trigger in self.info.picture(&entry).triggers(module.object_id) {
                    let key = CatalogKey { class: object_class::MODULE, id: trigger.object_id };
                    self.change(&entry, CatalogOp::Remove(key))?;
                }
                Ok(())
            }
            Some((_, Named::Table(_))) => {
                let verb = format!("DROP {}", kind.to_uppercase());
                Err(errors::wrong_drop_kind(verb, name, "table", "DROP TABLE"))
            }
            _ if if_exists => Ok(()),
            _ => Err(errors::cannot_drop_missing(kind, name)),
        }
    }

    fn drop_schema(&mut self, name: &ast::ObjectName, if_exists: bool) -> Result<()> {
        let entry = self.info.current_database();
        let picture = self.info.picture(&entry);
        let Some(id) = picture.schema_id(&name.name.text) else {
            return if if_exists { Ok(()) } else { Err(errors::cannot_drop_missing("schema", name)) };
        };
        if id <= SYS {
            return Err(errors::cannot_drop_schema(&name.name.text));
        }
        if let Some(object) = picture.objects().find(|o| o.schema_id == id) {
            return Err(errors::referenced_by_object("drop schema", name, object.name));
        }
        if let Some(collection) = picture.xml_collections().find(|c| c.schema_id == id) {
            return Err(errors::referenced_by_object("drop schema", name, &collection.name));
        }
        self.change(&entry, CatalogOp::Remove(CatalogKey { class: object_class::SCHEMA, id }))
    }

    fn drop_type(&mut self, program: &Program, name: &ast::ObjectName, if_exists: bool) -> Result<()> {
        let place = self.place(program, name)?;
        let picture = self.info.picture(&place.entry);
        let Some(ty) = picture.user_type(place.schema_id, &place.name) else {
            return if if_exists { Ok(()) } else { Err(errors::cannot_drop_missing("type", name)) };
        };
        if let Some(user) = crate::declared::user_of_type(self.info, &place.entry, &picture, &ty) {
            return Err(errors::type_in_use(&place.name, &user));
        }
        let key = CatalogKey { class: object_class::TYPE, id: ty.user_type_id };
        self.change(&place.entry, CatalogOp::Remove(key))
    }

    fn drop_other(&mut self, program: &Program, name: &ast::ObjectName, d: &ast::Drop) -> Result<()> {
        let sequence = d.class == DropClass::Sequence;
        let (entry, key) = match self.named(program, name) {
            Some((entry, Named::Sequence(s))) if sequence => {
                (entry, CatalogKey { class: object_class::SEQUENCE, id: s.object_id })
            }
            Some((entry, Named::Synonym(s))) if !sequence => {
                (entry, CatalogKey { class: object_class::SYNONYM, id: s.object_id })
            }
            _ if d.if_exists => return Ok(()),
            _ => {
                let kind = if sequence { "sequence object" } else { "synonym" };
                return Err(errors::cannot_drop_missing(kind, name));
            }
        };
        self.change(&entry, CatalogOp::Remove(key))
    }

    fn truncated_table(&self, program: &Arc<Program>, name: &ast::ObjectName) -> Option<Arc<TableDef>> {
        match self.ddl_scope(program).object(parts_here(self.info, name)?)? {
            keel_query::scope::ObjectRef::Table(table) => Some(table).filter(|table| !table.queue),
            _ => None,
        }
    }

    /// TRUNCATE TABLE: the table gets new, empty trees; the old ones go at commit. Of partitions the rows are removed.
    pub(super) fn truncate(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        t: &ast::Truncate,
    ) -> Result<()> {
        let name = &t.table;
        let missing = || errors::cannot_truncate(name);
        let table = self.truncated_table(program, name).ok_or_else(missing)?;
        self.lock_schema(table.database, table.object_id)?;
        // Another session may have changed it while we waited.
        let table = self.truncated_table(program, name).ok_or_else(missing)?;
        if table.versioning().is_some() || table.history_of.is_some() {
            return Err(errors::versioned_truncated(self.full_name(&table)));
        }
        if !table.captures.is_empty() {
            return Err(super::capture::truncated(&name.name.text));
        }
        let entry = self.entry_of(table.database)?;
        let picture = self.info.picture(&entry);
        if picture.referencing(table.object_id).iter().any(|(t, _)| t.object_id != table.object_id) {
            return Err(errors::truncate_referenced(name));
        }
        if let Some(view) = picture.indexed_views(table.object_id).first() {
            let error = *errors::referenced_by_object("TRUNCATE TABLE", name, &view.name);
            return Err(Box::new(keel_types::SqlError { state: 2, ..error }));
        }
        if let Some(set) = self.own_txns() {
            set.rows_replaced(table.database, table.object_id, Reason::TRUNCATED);
        }
        if !t.partitions.is_empty() {
            if table.change_tracking.is_some() {
                return Err(super::change_tracking::not_allowed("TRUNCATE TABLE of partitions"));
            }
            self.truncate_partitions(program, frame, &table, &t.partitions)?;
            return self.repopulate(&table);
        }
        let mut new = (*table).clone();
        for index in &mut new.indexes {
            index.tree = entry.allocate_tree()?;
        }
        self.restart_tracking(&mut new)?;
        self.empty_full_text(&mut new)?;
        self.discard_trees(&table)?;
        self.replace_table(new)?;
        if table.columns.iter().any(|c| c.identity.is_some()) {
            self.info.restart_identity(&entry, table.object_id, None)?;
        }
        Ok(())
    }
}
