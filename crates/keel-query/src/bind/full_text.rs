//! CONTAINS, FREETEXT, and the functions in FROM that they are made of.
//!
//! `CONTAINS (columns, search)` is `key IN (SELECT [KEY] FROM CONTAINSTABLE (t, columns, search))`, as in the product's plans: so it can stand
//! wherever a condition can, and the planner reads the rows that were found or looks up those that it reads, whichever is less.

use super::expr::{Clause, ExprCx};
use super::from::{BoundSource, join, rename};
use super::merge_types::assign_to;
use super::rel::{Hints, JoinKind, Rel, Subquery, SubqueryUse};
use super::{ArcTable, Binder, Scope, Source, same_name};
use crate::errors::{self, Result};
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use crate::full_text::{FullTextDef, FullTextTable, SYSTEM_STOPLIST, Searched};
use crate::scope::ObjectRef;
use keel_parser::ast;
use keel_types::{SqlType, Value};
use std::rc::Rc;
use std::sync::Arc;

/// A predicate's parts.
pub(super) struct FullTextPredicate<'p> {
    pub contains: bool,
    /// Empty for `*`.
    pub columns: &'p [ast::ColumnRef],
    /// Of `t.*`.
    pub table: Option<&'p ast::ObjectName>,
    pub search: &'p ast::Expr,
    pub language: Option<&'p ast::Expr>,
}

impl Binder<'_> {
    /// CONTAINS and FREETEXT. Errors 7601, 7615, 7646 and 7677, and those of names.
    pub(super) fn full_text_predicate(
        &mut self,
        p: &FullTextPredicate<'_>,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let name = if p.contains { "CONTAINS" } else { "FREETEXT" };
        let source = self.searched_source(p, cx.scope)?;
        let Some((table, slots)) = self.table_of(&source) else {
            return Err(errors::not_full_text_indexed_at(name, &source.alias));
        };
        let def = table.full_text.clone().filter(|def| def.enabled);
        let def = def.ok_or_else(|| errors::not_full_text_indexed_at(name, &table.name))?;
        let names: Vec<&str> = p.columns.iter().map(|c| c.name.text.as_str()).collect();
        let columns = searched_columns(&table, &def, &names)?;
        for id in &columns {
            if let Some((slot, _)) = slots.iter().find(|(_, of)| of == id) {
                self.note_slot(*slot);
            }
        }
        let key = def.key_column(&table).map(|at| table.columns[at].column_id);
        let key = slots.iter().find(|(_, id)| Some(*id) == key).map(|(slot, _)| *slot);
        let key = key.ok_or_else(|| errors::not_full_text_indexed_at(name, &table.name))?;
        let args = [Some(p.search), p.language, None];
        let (rel, sources) = self.search_rows(&table, def, p.contains, columns, args, name)?;
        let found = sources.first().and_then(|s| s.columns.first()).map(|c| c.slot);
        let found = found.ok_or_else(errors::subquery_one_column)?;
        let compared = self.comparison(CmpOp::Eq, self.read(key), self.read(found))?;
        let ExprKind::Compare(op, needle, item) = compared.kind else {
            return Err(errors::subquery_one_column());
        };
        let usage = SubqueryUse::Any { op, needle, item };
        let mut e = Expr::condition(ExprKind::Subquery(Arc::new(Subquery { usage, rel })));
        e.collation = compared.collation;
        e.nullable = compared.nullable;
        Ok(e)
    }

    /// The one source that a predicate is about.
    fn searched_source(&self, p: &FullTextPredicate<'_>, scope: &Scope<'_>) -> Result<Rc<Source>> {
        if let Some(table) = p.table {
            let named = find_source(scope, |s| s.matches(table));
            return named.ok_or_else(|| errors::multi_part(&format!("{table}.*")));
        }
        if p.columns.is_empty() {
            let mut stored = scope.sources.iter().filter(|s| s.get.is_some());
            return match (stored.next(), stored.next()) {
                (Some(only), None) => Ok(Rc::clone(only)),
                (None, _) => Err(errors::search_without_table()),
                _ => Err(errors::search_of_all()),
            };
        }
        let mut found: Option<Rc<Source>> = None;
        for column in p.columns {
            let slot = scope.resolve(column.qualifier.as_deref(), &column.name.text)?;
            let slot = slot.ok_or_else(|| match &column.qualifier {
                Some(q) => errors::multi_part(&format!("{q}.{}", column.name.text)),
                None => errors::invalid_column(&column.name.text),
            })?;
            let source = find_source(scope, |s| s.columns.iter().any(|c| c.slot == slot));
            let source = source.ok_or_else(errors::search_without_table)?;
            match &found {
                Some(before) if !Rc::ptr_eq(before, &source) => {
                    return Err(errors::search_of_two(&before.alias, &source.alias));
                }
                _ => found = Some(source),
            }
        }
        found.ok_or_else(errors::search_without_table)
    }

    /// The stored table of a source, and slots and ids of its columns.
    fn table_of(&self, source: &Source) -> Option<(ArcTable, Vec<(Slot, i32)>)> {
        let table =
            self.gets.iter().find(|(id, _)| Some(*id) == source.get).map(|(_, table)| table.clone())?;
        let slots = source.columns.iter().filter_map(|c| {
            let column = table.columns.iter().find(|t| same_name(&t.name, &c.name))?;
            Some((c.slot, column.column_id))
        });
        let slots = slots.collect();
        Some((table, slots))
    }

    /// `CONTAINSTABLE (…) [AS alias]`, `FREETEXTTABLE (…)`. Errors 7601 and 7677, and those of names.
    pub(super) fn full_text_rows(
        &mut self,
        rows: &ast::FullTextRows,
        (alias, renamed): (Option<&ast::Ident>, &[ast::Ident]),
    ) -> Result<BoundSource> {
        let name = if rows.contains { "CONTAINSTABLE" } else { "FREETEXTTABLE" };
        let object = self.lookup(&rows.table)?;
        self.scope.note_read(&object);
        let table = match &object {
            ObjectRef::Table(table) => Some(table),
            ObjectRef::Module(view) => view.rows.as_ref(),
            ObjectRef::Virtual(_) => None,
        };
        let missing = || errors::not_full_text_indexed_at(name, &rows.table.name.text);
        let table = table.ok_or_else(missing)?;
        let def = table.full_text.clone().filter(|def| def.enabled);
        let def = def.ok_or_else(|| errors::not_full_text_indexed_at(name, &table.name))?;
        let names: Vec<&str> = rows.columns.iter().map(|c| c.text.as_str()).collect();
        let columns = searched_columns(table, &def, &names)?;
        self.note_searched(&object, table, &def, &columns);
        let alias = alias.map_or(name, ast::Ident::as_str);
        let args = [Some(&rows.search), rows.language.as_ref(), rows.top.as_ref()];
        let (mut rel, mut sources) =
            self.search_rows(table, def.clone(), rows.contains, columns, args, alias)?;
        if let Some(found) = sources.first().and_then(|s| s.columns.first()).map(|c| c.slot) {
            rel = self.without_hidden_rows(rel, table, &def, found)?;
        }
        rename(&mut sources, renamed, alias)?;
        Ok((rel, sources))
    }

    /// Where a security policy hides rows of the table, their keys are not told either.
    fn without_hidden_rows(
        &mut self,
        rel: Rel,
        table: &ArcTable,
        def: &FullTextDef,
        found: Slot,
    ) -> Result<Rel> {
        let (get, _) = self.guarded_get(table.clone(), "", None, Hints::default())?;
        let key = def.key_column(table).map(|at| get.slot(at));
        let Some(key) = key.filter(|_| !get.policy.is_empty()) else { return Ok(rel) };
        let same = self.comparison(CmpOp::Eq, self.read(found), self.read(key))?;
        Ok(join(JoinKind::Inner, rel, Rel::Get(Box::new(get)), vec![same]))
    }

    /// The columns of a table that a statement searches itself are read by it, and so is the key.
    fn note_searched(&mut self, object: &ObjectRef, table: &ArcTable, def: &FullTextDef, columns: &[i32]) {
        self.note_masks(table);
        if !self.in_a_module() {
            let key = def.key_column(table).map(|at| table.columns[at].column_id);
            self.scope.note_columns(object, &[columns, key.as_slice()].concat());
        }
        if !self.databases.contains(&table.database) {
            self.databases.push(table.database);
        }
    }

    /// The rows of a search: its arguments are what is searched for, the language and the number of rows wanted.
    fn search_rows(
        &mut self,
        table: &ArcTable,
        def: FullTextDef,
        contains: bool,
        columns: Vec<i32>,
        [search, language, top]: [Option<&ast::Expr>; 3],
        alias: &str,
    ) -> Result<BoundSource> {
        let mut value = |e: Option<&ast::Expr>| match e {
            Some(e) => self.value(e, &mut ExprCx::new(&Scope::default(), Clause::Other)),
            None => Ok(Expr::constant(Value::Null, SqlType::Null)),
        };
        let (search, language, top) = (value(search)?, value(language)?, value(top)?);
        if !(search.ty.is_string() || search.ty == SqlType::Null) {
            return Err(errors::search_type(search.ty));
        }
        let top = match top.ty {
            SqlType::Null => top,
            _ => assign_to(top, SqlType::BigInt)?,
        };
        let catalog = self.scope.catalog(table.database);
        let stoplist = def.stoplist.filter(|id| *id != SYSTEM_STOPLIST);
        let stoplist = stoplist.and_then(|id| catalog?.stoplist(id));
        let searched = Searched { table: table.clone(), def, stoplist, contains, columns };
        let rows = Arc::new(FullTextTable::new(searched)?);
        let name = ast::ObjectName::simple(ast::Ident::new(alias));
        Ok(self.virtual_table(rows, alias, vec![search, language, top], false, &name))
    }
}

/// A source by what is so of it: innermost query first.
fn find_source(scope: &Scope<'_>, is: impl Fn(&Source) -> bool + Copy) -> Option<Rc<Source>> {
    let own = scope.sources.iter().find(|s| is(s)).cloned();
    own.or_else(|| find_source(scope.parent?, is))
}

/// The ids of the columns that are searched: all when none is named. Error 7677 for one that is not indexed.
fn searched_columns(table: &ArcTable, def: &FullTextDef, names: &[&str]) -> Result<Vec<i32>> {
    if names.is_empty() {
        return Ok(def.columns.iter().map(|c| c.column_id).collect());
    }
    let id = |name: &&str| {
        let column = table.columns.iter().find(|c| same_name(&c.name, name));
        let column = column.ok_or_else(|| errors::invalid_column(name))?;
        let indexed = def.column(column.column_id);
        indexed.map(|c| c.column_id).ok_or_else(|| errors::column_not_searched(name))
    };
    names.iter().map(id).collect()
}
