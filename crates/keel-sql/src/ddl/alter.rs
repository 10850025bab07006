//! ALTER TABLE.
//!
//! Adding and dropping columns changes only the definition: a row stored before keeps its ordinals, and shows
//! `missing_value` for columns it does not have; for identity, rowversion and computed columns rows are changed in place. Changing a column's type rewrites the table into new trees.

use super::dependents::Fate;
use super::storage;
use super::table::TableBuilder;
use crate::catalog::fold;
use crate::column_keys::column::encrypted_type;
use crate::engine::TEMPDB;
use crate::errors;
use crate::program::Program;
use crate::program::lower::TypeLookup as _;
use crate::run::{Frame, Runner};
use crate::session::scope::Scope;
use keel_base::DatabaseId;
use keel_parser::ast::{self, AlterTableAction, ConstraintKind, Dropped, TableElement};
use keel_query::catalog::{
    Catalog as _, CheckDef, ColumnDef, DefaultDef, IndexKind, LockEscalation, TableDef,
};
use keel_query::mask::MaskDef;
use keel_query::{CompiledCondition, CompiledExpr};
use keel_types::error::Result;
use keel_types::key::KeyColumn;
use keel_types::ty::promote;
use keel_types::{SqlError, SqlType, Value, column};
use smallvec::SmallVec;
use std::sync::Arc;

impl Runner<'_> {
    pub(super) fn alter_table(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        a: &ast::AlterTable,
        text: &dyn Fn() -> String,
    ) -> Result<()> {
        let found = super::find_table(&self.ddl_scope(program), &a.table);
        let table = found.ok_or_else(|| errors::cannot_find_object(&a.table))?;
        self.lock_schema(table.database, table.object_id)?;
        let table = super::find_table(&self.ddl_scope(program), &a.table)
            .ok_or_else(|| errors::cannot_find_object(&a.table))?;
        self.refuse_history(&table, &a.action)?;
        self.alter_as_asked(program, frame, &table, &a.action)?;
        self.note_columns(&table, &a.action, text)
    }

    fn alter_as_asked(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        table: &Arc<TableDef>,
        action: &AlterTableAction,
    ) -> Result<()> {
        match action {
            AlterTableAction::Add { check, elements } => {
                super::options::of_elements(elements, "ALTER TABLE")?;
                if elements.iter().any(|e| matches!(e, TableElement::Index(_))) {
                    self.memory_optimized_only(table, "ADD")?;
                }
                self.alter_add(program, table, elements, check.unwrap_or(true))?;
                self.history_adds(table, elements)
            }
            AlterTableAction::AlterColumn { column, action } => {
                self.alter_column(program, table, column, action)?;
                self.alter_captured(program, table, column, action)?;
                match (self.history_of(table), action) {
                    (Some(history), ast::AlterColumn::Type { .. } | ast::AlterColumn::Mask(_)) => {
                        self.alter_column(program, &history, column, action)
                    }
                    _ => Ok(()),
                }
            }
            AlterTableAction::Drop(items) => self.alter_drop(Arc::clone(table), items),
            AlterTableAction::Set { options } => match options.as_slice() {
                [option] if option.name == "ENABLE CHANGE_TRACKING" => self.enable_tracking(table, option),
                [option] if option.name == "DISABLE CHANGE_TRACKING" => self.disable_tracking(table),
                [option] if option.name == "LOCK_ESCALATION" => self.set_escalation(table, option),
                options => self.set_versioning(table, options),
            },
            AlterTableAction::CheckConstraint { validate, enable, names } => {
                self.switch_constraints(table, names, *enable, validate.unwrap_or(false))
            }
            AlterTableAction::Trigger { enable, names } => {
                let names: Vec<&str> = names.iter().map(|n| n.text.as_str()).collect();
                self.switch_triggers(table, &names, *enable)
            }
            AlterTableAction::Rebuild { partition, options } => {
                self.rebuild_table(table, partition.as_deref(), options)
            }
            AlterTableAction::Switch { partition, target, target_partition } => {
                let (partition, target_partition) = (partition.as_ref(), target_partition.as_ref());
                let switch = super::switch::Switch { partition, target, target_partition };
                self.switch_tables(program, frame, table, &switch)
            }
        }
    }

    fn set_escalation(&mut self, table: &TableDef, option: &ast::Opt) -> Result<()> {
        let word = option.value.text().unwrap_or_default().to_ascii_uppercase();
        let known = LockEscalation::ALL.into_iter().find(|(_, name)| *name == word);
        let (lock_escalation, _) =
            known.ok_or_else(|| SqlError::new(102, 15, 6, format!("Incorrect syntax near '{word}'.")))?;
        self.replace_table(TableDef { lock_escalation, ..table.clone() }).map(|_| ())
    }

    fn alter_add(
        &mut self,
        program: &Arc<Program>,
        table: &Arc<TableDef>,
        elements: &[TableElement],
        validate: bool,
    ) -> Result<()> {
        let entry = self.entry_of(table.database)?;
        let before = table.columns.len();
        let old_indexes: Vec<i32> = table.indexes.iter().map(|i| i.index_id).collect();
        let mut fresh = {
            let scope = self.ddl_scope(program);
            let mut builder = TableBuilder::new(&scope, &entry, table.schema_id, &table.name);
            builder.table = (**table).clone();
            builder.private = table.object_id < 0;
            for element in elements {
                if let TableElement::Column(c) = element {
                    builder.column(c)?;
                }
            }
            builder.period(elements)?;
            for element in elements {
                match element {
                    TableElement::Column(c) => {
                        for constraint in &c.constraints {
                            self.one_primary_key(table, constraint)?;
                            builder.key(constraint, Some(&c.name))?;
                        }
                    }
                    TableElement::Constraint(c) => {
                        self.one_primary_key(table, c)?;
                        self.nullable_key(table, c)?;
                        builder.key(c, None)?;
                        if let ConstraintKind::Default { value, column: Some(column), .. } = &c.kind {
                            let def = builder.default(c.name.as_ref(), value, &column.text);
                            builder.refuse_variables(&def.text)?;
                            let named = |c: &&ColumnDef| fold(&c.name) == fold(&column.text);
                            if let Some(c) = builder.table.columns.iter().find(named) {
                                builder.check_default(value, c.ty)?;
                            }
                            set_default(&mut builder.table, column, def)?;
                        }
                    }
                    TableElement::Index(index) => builder.inline_index(index, None)?,
                    TableElement::Period { .. } => {}
                }
            }
            builder.align(None, &old_indexes)?;
            builder.check_row_size()?;
            for element in elements {
                builder.rest_of(element)?;
            }
            builder.table
        };
        self.lock_schemes(&entry, &fresh)?;
        self.lock_collections(&entry, &fresh)?;
        if table.object_id >= 0 {
            self.check_constraint_names(&entry, &fresh, storage::constraint_names(table))?;
        }
        self.fill_missing(&mut fresh, before, elements)?;
        if table.period.is_none() && fresh.period.is_some() {
            self.check_period(table, &fresh)?;
        }
        if !validate {
            fresh.checks[table.checks.len()..].iter_mut().for_each(|c| c.untrusted = true);
            fresh.foreign_keys[table.foreign_keys.len()..].iter_mut().for_each(|k| k.untrusted = true);
        }
        let keys: Vec<_> =
            fresh.indexes.iter().filter(|i| !old_indexes.contains(&i.index_id)).cloned().collect();
        let clustered = keys.iter().find(|k| k.kind == IndexKind::Clustered).cloned();
        if let Some(clustered) = clustered {
            fresh.indexes.retain(|i| i.kind == IndexKind::Nonclustered);
            let mut old = (**table).clone();
            old.columns.clone_from(&fresh.columns);
            self.cluster(&old, fresh.clone(), clustered)?;
        } else {
            for key in &keys {
                self.build_index(&fresh, key)?;
            }
            self.replace_table(fresh.clone())?;
        }
        if validate {
            let checks: Vec<_> = fresh.checks[table.checks.len()..].to_vec();
            for check in &checks {
                self.validate_check(&fresh, check)?;
            }
            let keys: Vec<_> = fresh.foreign_keys[table.foreign_keys.len()..].to_vec();
            for key in &keys {
                self.validate_foreign_key(&fresh, key)?;
            }
        }
        Ok(())
    }

    fn one_primary_key(&self, table: &TableDef, c: &ast::TableConstraint) -> Result<()> {
        let primary = matches!(c.kind, ConstraintKind::Key { primary: true, .. });
        if primary && table.indexes.iter().any(|i| i.is_primary_key) {
            self.info.say(errors::second_primary_key(&table.name));
            return Err(errors::constraint_not_created());
        }
        Ok(())
    }

    fn nullable_key(&self, table: &TableDef, c: &ast::TableConstraint) -> Result<()> {
        let ConstraintKind::Key { primary: true, columns, .. } = &c.kind else { return Ok(()) };
        let nullable = |name: &str| table.columns.iter().any(|o| fold(&o.name) == fold(name) && o.nullable);
        if columns.iter().any(|c| nullable(&c.name.text)) {
            self.info.say(errors::nullable_primary_key(&table.name));
            return Err(errors::constraint_not_created());
        }
        Ok(())
    }

    /// What rows stored before show for new columns.
    pub(super) fn fill_missing(
        &mut self,
        table: &mut TableDef,
        first_new: usize,
        elements: &[TableElement],
    ) -> Result<()> {
        let empty = self.is_empty_table(table)?;
        let mut rewrite = false;
        let mut by_row = Vec::new();
        if table.columns.iter().skip(first_new).any(|c| c.identity.is_some()) {
            // Another one that the table had before is no matter of this one.
            let entry = self.entry_of(table.database)?;
            self.info.restart_identity(&entry, table.object_id, None)?;
        }
        for at in first_new..table.columns.len() {
            let c = table.columns[at].clone();
            if empty {
                continue;
            }
            // Computed values are stored with the row, whether they are declared PERSISTED or not.
            if c.computed.is_some() || c.identity.is_some() || c.ty == SqlType::RowVersion {
                rewrite = true;
                continue;
            }
            let with_values = elements.iter().any(|e| default_with_values(e, &c.name));
            let shown = !c.nullable || with_values;
            if c.default.as_ref().is_some_and(|default| shown && differs_by_row(&default.text)) {
                by_row.push(at);
                continue;
            }
            let value = match &c.default {
                Some(default) if shown => {
                    let default = self.row_expression(table, &default.text, c.ty)?;
                    let mut no_row = vec![Value::Null; table.columns.len()];
                    default.eval(&mut self.context_with(&mut no_row))?
                }
                _ => Value::Null,
            };
            if matches!(value, Value::Null) {
                if !c.nullable {
                    return Err(errors::add_not_null(&c.name, &table.name));
                }
                continue;
            }
            let mut bytes = Vec::new();
            column::encode(&value, &c.ty, &mut bytes);
            table.columns[at].missing_value = Some(bytes);
        }
        if rewrite || !by_row.is_empty() { self.fill_rows(table, first_new, &by_row) } else { Ok(()) }
    }

    pub(super) fn is_empty_table(&mut self, table: &TableDef) -> Result<bool> {
        let txn = self.txns_dyn().transaction(table.database)?;
        let tree = table.indexes[0].tree;
        let fail = |e| crate::map::txn_error(e, "", 0);
        let unbounded = std::ops::Bound::Unbounded;
        let mut cursor =
            txn.scan_latest(tree, unbounded, unbounded, keel_node::Direction::Forward).map_err(fail)?;
        Ok(cursor.next().map_err(fail)?.is_none())
    }

    /// Gives the existing rows values for new IDENTITY, rowversion and computed columns, and for those in `by_row` their
    /// defaults, in place.
    fn fill_rows(&mut self, table: &TableDef, first_new: usize, by_row: &[usize]) -> Result<()> {
        let entry = self.entry_of(table.database)?;
        let mut computed = Vec::new();
        for (at, c) in table.columns.iter().enumerate().skip(first_new) {
            let default = c.default.as_ref().filter(|_| by_row.contains(&at));
            let text = c.computed.as_ref().map(|def| &def.text).or(default.map(|default| &default.text));
            if let Some(text) = text {
                computed.push((at, self.row_expression(table, text, c.ty)?));
            }
        }
        let info = self.info;
        let mut rows = self.stored_rows(table)?;
        while let Some((key, bytes)) = rows.next(info)? {
            let mut values = storage::decode_row(table, &bytes);
            let new = table.columns.iter().zip(values.iter_mut()).skip(first_new);
            for (c, value) in new {
                if let Some((seed, increment)) = c.identity {
                    let n = entry.reserve_identity(table.object_id, seed, increment, 1)?;
                    *value = keel_query::dml::identity_value(n, c.ty)?;
                } else if c.ty == SqlType::RowVersion {
                    *value = Value::bytes(entry.next_rowversion().to_be_bytes().to_vec());
                }
            }
            for (at, expression) in &computed {
                let mut vars = values.clone();
                values[*at] = expression.eval(&mut self.context_with(&mut vars))?;
            }
            let row = super::index::encode_row(table, &values);
            let txn = self.txns_dyn().transaction(table.database)?;
            txn.update(table.indexes[0].tree, key, &row, None)
                .map_err(|e| crate::map::txn_error(e, "", info.shared.id))?;
        }
        Ok(())
    }

    pub(super) fn alter_column(
        &mut self,
        program: &Program,
        table: &TableDef,
        name: &ast::Ident,
        action: &ast::AlterColumn,
    ) -> Result<()> {
        let at = table.columns.iter().position(|c| fold(&c.name) == fold(&name.text));
        let at = at.ok_or_else(|| {
            errors::alter_unknown_column("ALTER TABLE ALTER COLUMN", &name.text, &table.name)
        })?;
        let (ty, collation, encrypted, mask, nullable) = match action {
            ast::AlterColumn::Type { ty, collation, encrypted, mask, nullable, .. } => {
                (ty, collation, encrypted, mask, nullable)
            }
            ast::AlterColumn::Mask(mask) => return self.alter_mask(table, at, mask.as_deref()),
            ast::AlterColumn::Property { add, name } => return self.column_property(table, at, *add, name),
        };
        let old = &table.columns[at];
        super::full_text::refuse_column(table, old)?;
        if table.period_part(at).is_some() {
            return Err(errors::period_column_altered(&old.name));
        }
        let mut new = table.clone();
        let c = &mut new.columns[at];
        c.ty = self.ddl_scope(program).scalar(ty)?;
        if c.ty.xml_schema().is_some() {
            let entry = self.entry_of(table.database)?;
            self.lock_collections(&entry, &new)?;
        }
        let c = &mut new.columns[at];
        let here = table.database == self.info.current_database().id;
        c.alias = self.ddl_scope(program).made_type(ty).filter(|_| here).map(|t| t.user_type_id);
        c.nullable = nullable.unwrap_or(true);
        // Without COLLATE it is the database's again.
        let default = self.entry_of(table.database)?.picture().settings().default_collation();
        let temporary = table.database == crate::engine::TEMPDB;
        let named = if temporary { self.ddl_scope(program).database_collation() } else { default };
        if c.ty.is_string() || collation.is_some() {
            c.collation = super::collate::column_collation(collation.as_ref(), c.ty, default, named)?;
        }
        // Without MASKED it has no mask any more.
        c.mask = mask.as_ref().map(|text| MaskDef::parse(text, &c.name, c.ty)).transpose()?;
        if let Some(with) = encrypted {
            let picture = self.info.picture(&self.entry_of(table.database)?);
            c.ty = encrypted_type(&picture, &table.name, c, with)?;
        }
        if c.ty.is_encrypted() != old.ty.is_encrypted() && !self.is_empty_table(table)? {
            // Only a client can encrypt and decrypt what is there.
            return Err(promote::operand_clash(old.ty, c.ty));
        }
        let changed = c.ty != old.ty || c.collation != old.collation;
        if c.nullable {
            super::full_text::refuse_nullable(table, at)?;
        }
        let widens = !is_rewritten(old, c);
        let c = c.clone();
        if changed {
            let sized = old.ty.system_type_id() == c.ty.system_type_id() && c.collation == old.collation;
            let fate = match (widens, sized) {
                (true, _) => Fate::Widened,
                (false, true) => Fate::Resized,
                (false, false) => Fate::Replaced,
            };
            self.check_dependents(table, at, fate)?;
        } else {
            self.check_bound(table, at)?;
        }
        if !c.nullable && old.nullable {
            self.refuse_nulls(table, at)?;
        }
        if widens || !changed {
            return self.replace_table(new).map(|_| ());
        }
        self.rewrite_column(table, new, at)
    }

    fn refuse_nulls(&mut self, table: &TableDef, at: usize) -> Result<()> {
        let info = self.info;
        let column = &table.columns[at];
        let mut rows = self.stored_rows(table)?;
        let mut found = false;
        while !found && let Some((_, bytes)) = rows.next(info)? {
            found = matches!(storage::decode_column(column, &bytes), Value::Null);
        }
        if !found {
            return Ok(());
        }
        let entry = self.entry_of(table.database)?;
        Err(SqlError::new(
            515,
            16,
            2,
            format!(
                "Cannot insert the value NULL into column '{}', table '{}.dbo.{}'; column does not allow nulls. UPDATE fails.",
                table.columns[at].name,
                entry.name(),
                table.name
            ),
        ))
    }

    /// Converts a column's values into new trees.
    fn rewrite_column(&mut self, old: &TableDef, mut new: TableDef, at: usize) -> Result<()> {
        let entry = self.entry_of(old.database)?;
        let info = self.info;
        let (from, to) = (old.columns[at].ty, new.columns[at].ty);
        new.columns[at].missing_value = None;
        new.indexes[0].tree = entry.allocate_tree()?;
        let mut rows = self.stored_rows(old)?;
        while let Some((key, bytes)) = rows.next(info)? {
            let mut values = storage::decode_row(old, &bytes);
            let value = std::mem::take(&mut values[at]);
            values[at] = crate::convert::store(value, from, to)?;
            let row = super::index::encode_row(&new, &values);
            let txn = self.txns_dyn().transaction(new.database)?;
            txn.put_index(new.indexes[0].tree, key, &row)
                .map_err(|e| crate::map::txn_error(e, "", info.shared.id))?;
        }
        self.discard_tree(old, old.indexes[0].tree)?;
        self.replace_table(new).map(|_| ())
    }

    fn alter_drop(&mut self, mut table: Arc<TableDef>, items: &[ast::AlterTableDrop]) -> Result<()> {
        for item in items {
            match item.what {
                Dropped::Period => self.drop_period(&table)?,
                Dropped::Column => {
                    self.drop_column(&table, item)?;
                    if let Some(history) = self.history_of(&table) {
                        self.drop_column(&history, item)?;
                    }
                }
                Dropped::Index => self.drop_index_of(&table, item)?,
                Dropped::Constraint => self.drop_constraint(&table, item)?,
            }
            let current = self.info.table_by_id(table.database, table.object_id);
            table = current.ok_or_else(|| errors::cannot_find_object(&table.name))?;
        }
        Ok(())
    }

    fn drop_column(&mut self, table: &TableDef, item: &ast::AlterTableDrop) -> Result<()> {
        let name = &item.name.text;
        let Some(at) = table.columns.iter().position(|c| fold(&c.name) == fold(name)) else {
            if item.if_exists {
                return Ok(());
            }
            return Err(errors::alter_unknown_column("ALTER TABLE DROP COLUMN", name, &table.name));
        };
        let c = &table.columns[at];
        super::full_text::refuse_column(table, c)?;
        self.check_dependents(table, at, Fate::Dropped)?;
        if table.columns.len() == 1 {
            return Err(errors::last_column(&table.name));
        }
        let (major, minor) = (table.object_id, Some(c.column_id));
        let mut new = table.clone();
        new.columns.remove(at);
        self.replace_table(new)?;
        let entry = self.entry_of(table.database)?;
        self.forget_properties(&entry, crate::catalog::property_class::OBJECT, major, minor)
    }

    fn drop_constraint(&mut self, table: &TableDef, item: &ast::AlterTableDrop) -> Result<()> {
        let name = fold(&item.name.text);
        let mut new = table.clone();
        if let Some(at) = table.indexes.iter().position(|i| i.constraint_id != 0 && fold(&i.name) == name) {
            let index = &table.indexes[at];
            let entry = self.entry_of(table.database)?;
            // Another key over the same columns does as well.
            let mut without = table.clone();
            without.indexes.remove(at);
            for (other, fk) in self.info.picture(&entry).referencing(table.object_id) {
                if index.is_key_over(&fk.referenced_columns)
                    && without.candidate_key(&fk.referenced_columns).is_none()
                {
                    let text = format!(
                        "The constraint '{}' is being referenced by table '{}', foreign key constraint '{}'.",
                        index.name, other.name, fk.name
                    );
                    self.info.say(SqlError::new(3725, 16, 0, text));
                    return Err(errors::constraint_not_dropped());
                }
            }
            if index.is_primary_key && table.change_tracking.is_some() {
                self.info.say(super::change_tracking::key_needed(&index.name, &table.name));
                return Err(errors::constraint_not_dropped());
            }
            return self.remove_index(table, at, &item.options);
        }
        if let Some(at) = new.checks.iter().position(|c| fold(&c.name) == name) {
            new.checks.remove(at);
        } else if let Some(at) = new.foreign_keys.iter().position(|k| fold(&k.name) == name) {
            new.foreign_keys.remove(at);
        } else if let Some(c) =
            new.columns.iter_mut().find(|c| c.default_constraint().is_some_and(|d| fold(&d.name) == name))
        {
            c.default = None;
        } else {
            if item.if_exists {
                return Ok(());
            }
            self.info.say(errors::not_a_constraint(&item.name.text));
            return Err(errors::constraint_not_dropped());
        }
        self.replace_table(new).map(|_| ())
    }

    fn switch_constraints(
        &mut self,
        table: &TableDef,
        names: &[ast::Ident],
        enable: bool,
        validate: bool,
    ) -> Result<()> {
        let chosen = |name: &str| names.is_empty() || names.iter().any(|n| fold(&n.text) == fold(name));
        let known = |name: &ast::Ident| {
            let mut all =
                table.checks.iter().map(|c| &c.name).chain(table.foreign_keys.iter().map(|k| &k.name));
            all.any(|known| fold(known) == fold(&name.text))
        };
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            return Err(SqlError::new(4917, 16, 0, format!("Constraint '{}' does not exist.", unknown.text)));
        }
        let mut new = table.clone();
        let mut changes = false;
        let checks =
            new.checks.iter_mut().filter(|c| chosen(&c.name)).map(|c| (&mut c.disabled, &mut c.untrusted));
        let keys = new
            .foreign_keys
            .iter_mut()
            .filter(|k| chosen(&k.name))
            .map(|k| (&mut k.disabled, &mut k.untrusted));
        for (disabled, untrusted) in checks.chain(keys) {
            let before = (*disabled, *untrusted);
            *disabled = !enable;
            // Enabled again without a look at the rows, it is no more to be relied on than before.
            *untrusted = !enable || (*untrusted && !validate);
            changes |= before != (*disabled, *untrusted);
        }
        // Tools switch those of all tables, most of which have none.
        if changes {
            self.replace_table(new.clone())?;
        }
        if enable && validate {
            for check in new.checks.iter().filter(|c| chosen(&c.name)) {
                self.validate_check(&new, check)?;
            }
            for key in new.foreign_keys.iter().filter(|k| chosen(&k.name)) {
                self.validate_foreign_key(&new, key)?;
            }
        }
        Ok(())
    }

    /// Error 547 when a row does not satisfy a condition.
    fn validate_check(&mut self, table: &TableDef, check: &CheckDef) -> Result<()> {
        let violated = self.row_condition(table, &format!("NOT ({})", check.text))?;
        let info = self.info;
        let mut rows = self.stored_rows(table)?;
        while let Some((_, bytes)) = rows.next(info)? {
            if self.row_matches(&violated, &storage::decode_row(table, &bytes))? {
                return Err(self.violation(table, "CHECK", &check.name, Some(check.column)));
            }
        }
        Ok(())
    }

    /// `column` is the `column_id` of the one column that it is about.
    fn violation(&self, table: &TableDef, kind: &str, name: &str, column: Option<i32>) -> Box<SqlError> {
        let full = self.full_name(table);
        let (database, full) = full.split_once('.').unwrap_or(("", &full));
        let column = table.columns.iter().find(|c| Some(c.column_id) == column);
        let column = column.map_or(String::new(), |c| format!(", column '{}'", c.name));
        errors::constraint_violated("ALTER TABLE", kind, name, database, full, column)
    }

    /// Error 547 when a row refers to nothing.
    fn validate_foreign_key(
        &mut self,
        table: &TableDef,
        key: &keel_query::catalog::ForeignKeyDef,
    ) -> Result<()> {
        let info = self.info;
        let Some(before) = info.table_by_id(table.database, key.referenced_table) else { return Ok(()) };
        // Who is taking rows away has looked for references before there were any.
        self.lock_schema(before.database, before.object_id)?;
        // Another session may have dropped it while we waited, or given it other trees.
        let named = ast::ObjectName::simple(ast::Ident::new(before.name.as_str()));
        let other = info.table_by_id(table.database, key.referenced_table);
        let other = other.ok_or_else(|| errors::foreign_key_no_table(&key.name, &named))?;
        let index = other.candidate_key(&key.referenced_columns);
        let index = index.ok_or_else(|| errors::no_candidate_key(&named, &key.name))?;
        let columns: Vec<(&ColumnDef, KeyColumn)> = super::index::key_columns(&other, index)
            .filter_map(|(at, column)| {
                let of_pair =
                    key.referenced_columns.iter().position(|id| *id == other.columns[at].column_id)?;
                let own = table.columns.iter().find(|c| c.column_id == key.columns[of_pair])?;
                Some((own, column))
            })
            .collect();
        let (mut bytes, mut found) = (Vec::new(), Vec::new());
        let mut rows = self.stored_rows(table)?;
        while let Some((_, row)) = rows.next(info)? {
            let values: SmallVec<[Value; 4]> =
                columns.iter().map(|(own, _)| storage::decode_column(own, &row)).collect();
            if values.iter().any(|v| matches!(v, Value::Null)) {
                continue;
            }
            bytes.clear();
            for (value, (_, column)) in values.iter().zip(&columns) {
                keel_types::key::append(&mut bytes, value, column);
            }
            // Rows that follow each other often refer to the same.
            if bytes == found {
                continue;
            }
            let txn = self.txns_dyn().transaction(other.database)?;
            let there = txn
                .get_latest(index.tree, &bytes)
                .map_err(|e| crate::map::txn_error(e, "", info.shared.id))?;
            if there.is_none() {
                let same = other.object_id == table.object_id;
                let kind = if same { "FOREIGN KEY SAME TABLE" } else { "FOREIGN KEY" };
                return Err(self.violation(&other, kind, &key.name, single(&key.referenced_columns)));
            }
            std::mem::swap(&mut bytes, &mut found);
        }
        Ok(())
    }

    /// Compiles a condition over a table's columns, which become variables.
    pub(super) fn row_condition(&self, table: &TableDef, text: &str) -> Result<CompiledCondition> {
        let e = keel_parser::parse_expr(text).map_err(crate::run::parse_error)?;
        let e = columns_to_variables(e, table)?;
        let program = row_program(table);
        let scope = Scope::bare(self.info, self.home_of(table)).with_program(&program);
        keel_query::compile_condition(&scope, &e)
    }

    /// Compiles an expression over a table's columns, converted to `ty`.
    fn row_expression(&self, table: &TableDef, text: &str, ty: SqlType) -> Result<CompiledExpr> {
        let e = keel_parser::parse_expr(text).map_err(crate::run::parse_error)?;
        let e = columns_to_variables(e, table)?;
        let program = row_program(table);
        let scope = Scope::bare(self.info, self.home_of(table)).with_program(&program);
        keel_query::compile_expr(&scope, &e, Some(ty))
    }

    /// Where the functions are that a table's conditions and expressions name: in its database, a temporary table's in the session's.
    fn home_of(&self, table: &TableDef) -> DatabaseId {
        if table.database == TEMPDB { self.info.current_database().id } else { table.database }
    }

    /// Whether a row satisfies a condition.
    pub(super) fn row_matches(&mut self, condition: &CompiledCondition, values: &[Value]) -> Result<bool> {
        let mut vars = values.to_vec();
        condition.test(&mut self.context_with(&mut vars))
    }
}

/// Whether a default has another value for every row.
fn differs_by_row(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    ["NEWID(", "NEWSEQUENTIALID(", "NEXT VALUE FOR", "CRYPT_GEN_RANDOM("]
        .iter()
        .any(|call| text.contains(call))
}

/// The column of a key over one.
fn single(columns: &[i32]) -> Option<i32> {
    match columns {
        [column] => Some(*column),
        _ => None,
    }
}

/// Whether the stored text of an expression names a column.
pub(crate) fn mentions_column(text: &str, name: &str) -> bool {
    fold(text).contains(fold(&keel_parser::to_text::quote_name(name)).as_str())
}

fn set_default(table: &mut TableDef, column: &ast::Ident, def: DefaultDef) -> Result<()> {
    let name = table.name.clone();
    let c = table.columns.iter_mut().find(|c| fold(&c.name) == fold(&column.text));
    let c =
        c.ok_or_else(|| errors::alter_unknown_column("ALTER TABLE ADD CONSTRAINT", &column.text, &name))?;
    if c.default.is_some() {
        return Err(SqlError::new(1781, 16, 1, "Column already has a DEFAULT bound to it."));
    }
    c.default = Some(def);
    Ok(())
}

fn default_with_values(element: &TableElement, column: &str) -> bool {
    let TableElement::Column(c) = element else { return false };
    fold(&c.name.text) == fold(column)
        && c.constraints.iter().any(|k| matches!(k.kind, ConstraintKind::Default { with_values: true, .. }))
}

/// Whether values of a column are stored in another form when it becomes the other.
pub(super) fn is_rewritten(old: &ColumnDef, new: &ColumnDef) -> bool {
    !widened(old.ty, new.ty) || new.collation != old.collation
}

/// Whether values of one type are stored alike under the other.
fn widened(from: SqlType, to: SqlType) -> bool {
    use keel_types::Length::{Limited, Max};
    match (from, to) {
        (a, b) if a == b => true,
        (SqlType::VarChar(Limited(a)), SqlType::VarChar(Limited(b)))
        | (SqlType::NVarChar(Limited(a)), SqlType::NVarChar(Limited(b)))
        | (SqlType::VarBinary(Limited(a)), SqlType::VarBinary(Limited(b))) => a <= b,
        (SqlType::VarChar(_), SqlType::VarChar(Max))
        | (SqlType::NVarChar(_), SqlType::NVarChar(Max))
        | (SqlType::VarBinary(_), SqlType::VarBinary(Max)) => true,
        _ => false,
    }
}

/// A program whose variables are a table's columns, named `@` and the column's position.
fn row_program(table: &TableDef) -> Program {
    let identity = crate::program::ModuleIdentity {
        database: table.database,
        object_id: 0,
        schema_id: table.schema_id,
        name: None,
        kind: crate::program::ProgramKind::Batch,
    };
    let variables = table.columns.iter().enumerate();
    let variable =
        |(i, c): (usize, &ColumnDef)| crate::program::VariableDef { name: format!("@{i}").into(), ty: c.ty };
    Program { variables: variables.map(variable).collect(), ..Program::bare(identity) }
}

/// Rewrites `[a] > [b]` to `@0 > @1`.
fn columns_to_variables(e: ast::Expr, table: &TableDef) -> Result<ast::Expr> {
    let text = keel_parser::to_text::to_text(&e);
    let mut out = String::with_capacity(text.len());
    // The text form quotes every column reference in brackets and nothing else, strings apart.
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        if c == '\'' {
            quoted = !quoted;
        }
        if c != '[' || quoted {
            out.push(c);
            continue;
        }
        let mut name = String::new();
        while let Some(c) = chars.next() {
            if c == ']' {
                if chars.peek() == Some(&']') {
                    chars.next();
                } else {
                    break;
                }
            }
            name.push(c);
        }
        match table.columns.iter().position(|o| fold(&o.name) == fold(&name)) {
            Some(at) => out.push_str(&format!("@{at}")),
            None => out.push_str(&format!("[{name}]")),
        }
    }
    keel_parser::parse_expr(&out).map_err(crate::run::parse_error)
}
