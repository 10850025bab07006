//! Binding of FROM: tables, views, functions, derived tables, CTEs, joins, APPLY, PIVOT.

use super::expr::{Clause, ExprCx};
use super::rel::{AggFunc, Aggregate, Get, Hints, JoinKind, JoinMethod, Rel, SlotInfo, VirtualRef};
use super::{
    ArcTable, Binder, BoundQuery, CteEntry, LOCATOR, Member, RecursiveFrame, Scope, Source, SourceColumn,
    parse_error, same_name,
};
use crate::catalog::{ModuleDef, ModuleKind, ObjectId};
use crate::dml::nested;
use crate::errors::{self, Result};
use crate::expr::{CmpOp, Expr, Slot};
use crate::scope::{NameParts, ObjectRef, VirtualTable};
use keel_parser::ast;
use keel_types::{Length, SqlType};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A bound table source: its tree and the names it exposes.
pub type BoundSource = (Rel, Vec<Rc<Source>>);

impl Binder<'_> {
    /// Binds a whole FROM clause: comma means cross join.
    pub fn from_clause(
        &mut self,
        from: &[ast::TableSource],
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundSource> {
        let mut rel = Rel::One;
        let mut sources: Vec<Rc<Source>> = Vec::new();
        if from.len() > 1 {
            nested::refuse(from, errors::nested_in_join)?;
        }
        for (i, item) in from.iter().enumerate() {
            let (right, mut exposed) = self.table_source(item, parent, &sources)?;
            check_exposed(&sources, &exposed, (&from[..i], std::slice::from_ref(item)))?;
            rel = if i == 0 { right } else { join(JoinKind::Inner, rel, right, Vec::new()) };
            sources.append(&mut exposed);
        }
        Ok((rel, sources))
    }

    /// Binds one table source. `left` are the sources an APPLY or lateral function may refer to.
    pub fn table_source(
        &mut self,
        source: &ast::TableSource,
        parent: Option<&Scope<'_>>,
        left: &[Rc<Source>],
    ) -> Result<BoundSource> {
        use ast::TableSourceKind as K;
        self.step()?;
        match &source.kind {
            K::Named { name, alias, hints, system_time: Some(time), .. } => {
                self.named_at(name, alias.as_ref(), hints, time, parent)
            }
            K::Named { name, alias, hints, .. } => self.named(name, alias.as_ref(), hints, parent),
            K::Variable { variable, alias, hints } => {
                let lent = self.parameter(&variable.name).and_then(|own| own.as_const().cloned());
                let table = match lent {
                    Some(lent) => self.scope.lent_table(&lent),
                    None => self.scope.table_variable(&variable.name),
                };
                let table = table.ok_or_else(|| errors::undeclared_table_variable(&variable.name))?;
                let alias = alias.as_ref().map_or(variable.name.as_str(), |a| a.as_str());
                self.stored(table, alias, None, self.hints(hints, None)?)
            }
            K::Function { name, args, schema, alias, columns } => {
                let outer = Scope::new(left.to_vec(), parent);
                self.table_function(name, args, schema.as_ref(), alias.as_ref(), columns, &outer)
            }
            K::Bulk { file, options, alias, columns } => {
                self.bulk_rowset(file, options, alias.as_ref(), columns)
            }
            K::Changes { table, of, alias, columns } => {
                let outer = Scope::new(left.to_vec(), parent);
                self.change_table(table, of, (alias.as_ref(), columns), &outer)
            }
            K::FullText { rows, alias, columns } => self.full_text_rows(rows, (alias.as_ref(), columns)),
            K::VariableMethod { variable, method, args, alias, columns } => {
                self.variable_method(variable, method, args, (alias.as_ref(), columns), parent, left)
            }
            K::Derived { query, alias, columns } => {
                let bound = self.query(query, parent, true)?;
                let alias = alias.as_ref().map_or("", |a| a.as_str());
                self.derived(bound, alias, columns)
            }
            K::Values { rows, alias, columns } => {
                let outer = Scope::new(left.to_vec(), parent);
                let bound = self.values_table(rows, &outer)?;
                let alias = alias.as_ref().map_or("", |a| a.as_str());
                self.derived(bound, alias, columns)
            }
            K::Dml { statement, alias, columns } => self.nested_change(statement, alias.as_ref(), columns),
            K::Join { left: l, right: r, kind, hint, on } => {
                self.join_source(l, r, *kind, *hint, on.as_ref(), parent, left)
            }
            K::Pivot { source, aggregate, column, values, alias } => {
                nested::refuse(std::slice::from_ref(source), errors::nested_in_pivot)?;
                let input = self.table_source(source, parent, left)?;
                self.pivot(input, aggregate, column, values, alias, parent)
            }
            K::Unpivot { source, value_column, name_column, columns, alias } => {
                nested::refuse(std::slice::from_ref(source), errors::nested_in_pivot)?;
                let input = self.table_source(source, parent, left)?;
                self.unpivot(input, value_column, name_column, columns, alias, parent)
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one join")]
    fn join_source(
        &mut self,
        l: &ast::TableSource,
        r: &ast::TableSource,
        kind: ast::JoinKind,
        hint: Option<ast::JoinHint>,
        on: Option<&ast::Expr>,
        parent: Option<&Scope<'_>>,
        outer_left: &[Rc<Source>],
    ) -> Result<BoundSource> {
        use ast::JoinKind as J;
        nested::refuse(std::slice::from_ref(l), errors::nested_in_join)?;
        nested::refuse(std::slice::from_ref(r), errors::nested_in_join)?;
        let (left, mut sources) = self.table_source(l, parent, outer_left)?;
        let lateral = matches!(kind, J::CrossApply | J::OuterApply);
        let visible: Vec<Rc<Source>> = outer_left.iter().chain(&sources).cloned().collect();
        let (right, mut right_sources) = if lateral {
            let scope = Scope::new(visible.clone(), parent);
            self.table_source(r, Some(&scope), &visible)?
        } else {
            self.table_source(r, parent, &visible)?
        };
        check_exposed(&sources, &right_sources, (std::slice::from_ref(l), std::slice::from_ref(r)))?;
        sources.append(&mut right_sources);
        let on = match on {
            Some(on) => {
                let scope = Scope::new(sources.clone(), parent);
                self.conjuncts(on, &mut ExprCx::new(&scope, Clause::Where))?
            }
            None => Vec::new(),
        };
        let hint = hint.map(|h| match h {
            ast::JoinHint::Hash | ast::JoinHint::Merge => JoinMethod::Hash,
            ast::JoinHint::Loop | ast::JoinHint::Remote => JoinMethod::Loop,
        });
        self.refuse_in_member(matches!(kind, J::Left | J::Right | J::Full), errors::recursive_outer_join);
        let (kind, left, right) = match kind {
            J::Inner | J::Cross | J::CrossApply => (JoinKind::Inner, left, right),
            J::Left | J::OuterApply => (JoinKind::Left, left, right),
            J::Right => (JoinKind::Left, right, left),
            J::Full => (JoinKind::Full, left, right),
        };
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            self.make_nullable(&right);
        }
        if kind == JoinKind::Full {
            self.make_nullable(&left);
        }
        Ok((Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, hint }, sources))
    }

    /// `@x.nodes('…') AS t(c)`
    fn variable_method(
        &mut self,
        variable: &ast::Variable,
        method: &ast::Ident,
        args: &[ast::Expr],
        exposed: (Option<&ast::Ident>, &[ast::Ident]),
        parent: Option<&Scope<'_>>,
        left: &[Rc<Source>],
    ) -> Result<BoundSource> {
        let outer = Scope::new(left.to_vec(), parent);
        let target = ast::Expr { kind: ast::ExprKind::Variable(variable.name.clone()), span: variable.span };
        self.nodes_source(&target, method, args, exposed, &outer)
    }

    fn make_nullable(&mut self, rel: &Rel) {
        for slot in rel.produced() {
            self.slots[slot as usize].nullable = true;
        }
    }

    pub(super) fn named(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        hints: &[ast::TableHint],
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundSource> {
        let exposed = alias.map_or(name.name.as_str(), |a| a.as_str()).to_owned();
        if name.is_simple() {
            if let Some(found) = self.recursive_reference(&name.name.text, &exposed) {
                return Ok(found);
            }
            if let Some(i) = self.ctes.iter().rposition(|c| same_name(&c.cte.name.text, &name.name.text)) {
                let entry = self.ctes[i].clone();
                return self.cte(&entry, &exposed, parent);
            }
        }
        let object = self.lookup(name)?;
        self.scope.note_read(&object);
        let written = name.database.as_ref().filter(|_| alias.is_none());
        match object {
            ObjectRef::Table(table) => {
                refuse_no_expand(hints, name)?;
                let hints = self.hints_of(&exposed, hints, &table)?;
                let schema = alias.is_none().then(|| self.scope.schema_name(table.database, table.schema_id));
                let bound = match self.system_time.clone() {
                    Some(range) if table.versioning().is_some() => {
                        self.versions(&table, &exposed, schema, hints, &range)?
                    }
                    _ => self.stored(table.clone(), &exposed, schema, hints)?,
                };
                let bound = in_database(bound, written);
                self.note_source(ObjectRef::Table(table), &bound.1[0]);
                Ok(bound)
            }
            ObjectRef::Virtual(table) => {
                let bound = self.virtual_table(table, &exposed, Vec::new(), alias.is_none(), name);
                Ok(in_database(bound, written))
            }
            ObjectRef::Module(module) if module.kind == ModuleKind::View => {
                if let Some(rows) = self.stored_view(&module, hints, name)? {
                    let hints = self.hints_of(&exposed, hints, &rows)?;
                    let schema =
                        alias.is_none().then(|| self.scope.schema_name(rows.database, rows.schema_id));
                    let bound = in_database(self.stored(rows, &exposed, schema, hints)?, written);
                    self.note_source(ObjectRef::Module(module), &bound.1[0]);
                    return Ok(bound);
                }
                let bound = self.view(&module)?;
                let (rel, mut sources) = self.derived(bound, &exposed, &[])?;
                if let (None, Some(s), Some(source)) = (alias, &name.schema, sources.first_mut()) {
                    Rc::make_mut(source).schema = Some(s.as_str().to_owned());
                }
                let (rel, sources) = in_database((rel, sources), written);
                let conditions = match self.scope.database_of(&module) {
                    Some(database) => self.row_filter(database, module.object_id, &sources[0])?,
                    None => Vec::new(),
                };
                self.note_source(ObjectRef::Module(module), &sources[0]);
                Ok((rel.filter(conditions), sources))
            }
            ObjectRef::Module(_) => Err(errors::invalid_object(&name.to_string())),
        }
    }

    /// Resolves an object name or raises 208.
    pub fn lookup(&self, name: &ast::ObjectName) -> Result<ObjectRef> {
        if let Some(remote) = self.elsewhere(name) {
            return remote;
        }
        self.scope.object(parts(name)).ok_or_else(|| self.not_found(name))
    }

    fn stored(
        &mut self,
        table: ArcTable,
        alias: &str,
        schema: Option<String>,
        hints: Hints,
    ) -> Result<BoundSource> {
        let (get, source) = self.guarded_get(table, alias, schema, hints)?;
        Ok((Rel::Get(Box::new(get)), vec![source]))
    }

    /// Makes a reference to a stored table as far as security policies show it.
    pub(crate) fn guarded_get(
        &mut self,
        table: ArcTable,
        alias: &str,
        schema: Option<String>,
        hints: Hints,
    ) -> Result<(Get, Rc<Source>)> {
        let (database, object) = (table.database, table.object_id);
        let (mut get, source) = self.get(table, alias, schema, hints);
        let source = Rc::new(source);
        get.policy = self.row_filter(database, object, &source)?;
        Ok((get, source))
    }

    /// Makes a reference to a stored table.
    pub fn get(
        &mut self,
        table: ArcTable,
        alias: &str,
        schema: Option<String>,
        hints: Hints,
    ) -> (Get, Source) {
        let id = self.next_get;
        self.next_get += 1;
        self.gets.push((id, table.clone()));
        if !self.databases.contains(&table.database) {
            self.databases.push(table.database);
        }
        self.note_masks(&table);
        let first_slot = self.slots.len() as Slot;
        let mut columns = Vec::with_capacity(table.columns.len());
        for (i, c) in table.columns.iter().enumerate() {
            let slot = self.new_slot(SlotInfo {
                name: c.name.clone(),
                ty: c.ty,
                collation: c.collation,
                nullable: c.nullable,
                origin: Some((id, i)),
            });
            if c.identity.is_some() {
                self.pseudo_columns.insert(slot, "$IDENTITY");
            }
            if c.rowguid {
                self.pseudo_columns.insert(slot, "$ROWGUID");
            }
            columns.push(SourceColumn { name: c.name.clone(), slot });
        }
        let locator = self.typed_slot(LOCATOR, SqlType::VarBinary(Length::Max), true);
        let get = Get {
            id,
            table,
            alias: alias.to_owned(),
            first_slot,
            hints,
            locator,
            policy: Vec::new(),
            target: false,
        };
        let table = &get.table;
        let hidden = (0..table.columns.len()).filter(|i| table.is_hidden(*i)).map(|i| get.slot(i)).collect();
        let locator = Some(get.locator);
        (get, Source { schema, get: Some(id), locator, hidden, ..Source::of(alias, columns) })
    }

    pub(crate) fn virtual_table(
        &mut self,
        table: Arc<dyn VirtualTable>,
        alias: &str,
        args: Vec<Expr>,
        qualified: bool,
        name: &ast::ObjectName,
    ) -> BoundSource {
        let first_slot = self.slots.len() as Slot;
        let mut columns = Vec::new();
        for c in table.columns() {
            let slot = self.new_slot(SlotInfo {
                name: c.name.clone(),
                ty: c.ty,
                collation: c.collation,
                nullable: c.nullable,
                origin: None,
            });
            columns.push(SourceColumn { name: c.name.clone(), slot });
        }
        let schema = name.schema.as_ref().filter(|_| qualified).map(|s| s.as_str().to_owned());
        let source = Source { schema, ..Source::of(alias, columns) };
        let rel = Rel::Virtual { table: VirtualRef(table), alias: alias.to_owned(), args, first_slot };
        (rel, vec![Rc::new(source)])
    }

    /// The rows of an indexed view, where a reference reads them and not the view's tables: NOEXPAND asks for that, and EXPAND
    /// VIEWS, masked columns, or SET options with which they might be others than the query's, for the tables.
    fn stored_view(
        &self,
        module: &ModuleDef,
        hints: &[ast::TableHint],
        name: &ast::ObjectName,
    ) -> Result<Option<ArcTable>> {
        let rows = module.rows.as_ref().filter(|rows| !rows.clustered().disabled);
        let asked = hints.contains(&ast::TableHint::NoExpand);
        let Some(rows) = rows else { return refuse_no_expand(hints, name).map(|()| None) };
        let wrong = self.scope.wrong_index_options();
        if asked && !wrong.is_empty() {
            return Err(errors::wrong_set_options("SELECT", &wrong.join(", ")));
        }
        // Masks are those that the tables have now: the query puts them where they belong.
        let catalog = self.scope.catalog(rows.database);
        let table = |id: &ObjectId| catalog.as_ref().and_then(|c| c.table_by_id(*id));
        let is_masked = |t: ArcTable| t.columns.iter().any(|c| c.mask.is_some());
        if rows.view_of.iter().filter_map(table).any(is_masked) {
            return Ok(None);
        }
        // Without NOEXPAND hints about indexes mean nothing.
        let hinted = hints.iter().any(|h| matches!(h, ast::TableHint::Index(_)));
        let plain = wrong.is_empty() && !hinted && !self.expands_views && self.system_time.is_none();
        Ok((asked || plain).then(|| rows.clone()))
    }

    /// Binds a view's query; names inside see neither the statement's CTEs nor its parameters.
    pub fn view(&mut self, module: &ModuleDef) -> Result<BoundQuery> {
        let options = keel_parser::ParseOptions { quoted_identifier: module.quoted_identifier };
        let batch = keel_parser::parse_batch(&module.text, options).map_err(|e| parse_error(*e))?;
        let Some(ast::StatementKind::CreateView(view)) = batch.statements.into_iter().next().map(|s| s.kind)
        else {
            return Err(errors::invalid_object(&module.name));
        };
        let saved = std::mem::take(&mut self.ctes);
        self.parameters.push(HashMap::new());
        let result = self.in_module(module, |b| b.select_statement_query(&view.query.select, None));
        self.parameters.pop();
        self.ctes = saved;
        let mut bound = result?;
        rename_columns(&mut bound, &view.columns, &module.name)?;
        Ok(bound)
    }

    /// Exposes a bound query under an alias.
    pub fn derived(
        &mut self,
        mut bound: BoundQuery,
        alias: &str,
        columns: &[ast::Ident],
    ) -> Result<BoundSource> {
        rename_columns(&mut bound, columns, alias)?;
        let mut exposed: Vec<SourceColumn> = Vec::with_capacity(bound.columns.len());
        let mut extra = Vec::new();
        for (i, c) in bound.columns.iter().enumerate() {
            if c.name.is_empty() {
                return Err(errors::derived_column_unnamed(i + 1, alias));
            }
            if exposed.iter().any(|e| same_name(&e.name, &c.name)) {
                return Err(errors::derived_column_twice(&c.name, alias));
            }
            // A slot shown under two names is read through a second slot, so that each name means one column.
            let slot = if exposed.iter().any(|e| e.slot == c.slot) {
                let value = self.read(c.slot);
                let slot = self.slot_for(&c.name, &value);
                extra.push((slot, value));
                slot
            } else {
                c.slot
            };
            exposed.push(SourceColumn { name: c.name.clone(), slot });
        }
        let source = Source::of(alias, exposed);
        Ok((bound.rel.project(extra), vec![Rc::new(source)]))
    }

    fn cte(&mut self, entry: &CteEntry, alias: &str, parent: Option<&Scope<'_>>) -> Result<BoundSource> {
        let hidden = self.ctes.split_off(entry.visible);
        let cte = entry.cte.clone();
        let result = self.nested(|b| {
            if references(&cte.query.body, &cte.name.text) > 0 {
                b.recursive_cte(&cte, parent)
            } else {
                b.query(&cte.query, None, true)
            }
        });
        self.ctes.extend(hidden);
        let bound = result?;
        self.derived(bound, alias, &cte.columns)
    }

    fn recursive_reference(&mut self, name: &str, alias: &str) -> Option<BoundSource> {
        let i = self.recursive.iter().rposition(|r| same_name(&r.name, name))?;
        self.recursive[i].referenced = true;
        let id = self.recursive[i].id;
        let columns = self.recursive[i].columns.clone();
        let mut exposed = Vec::new();
        let mut slots = Vec::new();
        for (name, info) in columns {
            let slot = self.new_slot(SlotInfo { nullable: true, origin: None, ..info });
            slots.push(slot);
            exposed.push(SourceColumn { name, slot });
        }
        let source = Source::of(alias, exposed);
        Some((Rel::WorkTable { id, slots }, vec![Rc::new(source)]))
    }

    fn recursive_cte(&mut self, cte: &ast::Cte, _parent: Option<&Scope<'_>>) -> Result<BoundQuery> {
        let ast::QueryBody::Set { op: ast::SetOp::Union, all: true, terms } = &cte.query.body else {
            return Err(errors::recursive_cte_no_anchor(&cte.name.text));
        };
        let (anchors, steps): (Vec<_>, Vec<_>) =
            terms.iter().partition(|t| references(t, &cte.name.text) == 0);
        if anchors.is_empty() {
            return Err(errors::recursive_cte_no_anchor(&cte.name.text));
        }
        if terms[..anchors.len()].iter().any(|t| references(t, &cte.name.text) > 0) {
            return Err(errors::anchor_behind_recursion(&cte.name.text));
        }
        if steps.iter().any(|t| references(t, &cte.name.text) > 1) {
            return Err(errors::recursive_references(&cte.name.text));
        }
        let wrap = |terms: Vec<&ast::QueryBody>| {
            let body = if terms.len() == 1 {
                terms[0].clone()
            } else {
                ast::QueryBody::Set {
                    op: ast::SetOp::Union,
                    all: true,
                    terms: terms.into_iter().cloned().collect(),
                }
            };
            ast::Query { body, order_by: Vec::new(), offset: None, for_clause: None, span: cte.query.span }
        };
        let mut anchor = self.query(&wrap(anchors), None, true)?;
        rename_columns(&mut anchor, &cte.columns, &cte.name.text)?;
        let id = self.next_recursion;
        self.next_recursion += 1;
        let columns = anchor
            .columns
            .iter()
            .map(|c| (c.name.clone(), self.slots[c.slot as usize].clone()))
            .collect::<Vec<_>>();
        self.recursive.push(RecursiveFrame {
            name: cte.name.text.to_string(),
            id,
            columns,
            referenced: false,
        });
        self.member = Some(Member::default());
        let step = self.query(&wrap(steps), None, true);
        self.recursive.pop();
        let refused = self.member.take().and_then(|member| member.refused);
        let step = step?;
        if let Some(error) = refused {
            return Err(error(&cte.name.text));
        }
        if step.columns.len() != anchor.columns.len() {
            return Err(errors::set_operation_columns());
        }
        let mut slots = Vec::new();
        let mut out = Vec::new();
        for (a, s) in anchor.columns.iter().zip(&step.columns) {
            let (at, st) = (self.slots[a.slot as usize].clone(), self.slots[s.slot as usize].ty);
            if at.ty != st && st != SqlType::Null {
                return Err(errors::recursive_type_mismatch(&a.name, &cte.name.text));
            }
            let slot = self.new_slot(SlotInfo { nullable: true, origin: None, ..at });
            slots.push(slot);
            out.push(super::OutputColumn { name: a.name.clone(), slot });
        }
        let rel = Rel::Recursive {
            id,
            anchor_slots: anchor.columns.iter().map(|c| c.slot).collect(),
            step_slots: step.columns.iter().map(|c| c.slot).collect(),
            anchor: Box::new(anchor.rel),
            step: Box::new(step.rel),
            slots,
            limit: self.max_recursion,
        };
        Ok(BoundQuery { rel, columns: out })
    }

    fn pivot(
        &mut self,
        (rel, sources): BoundSource,
        aggregate: &ast::FunctionCall,
        column: &ast::ColumnRef,
        values: &[ast::Ident],
        alias: &ast::Ident,
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundSource> {
        let scope = Scope::new(sources.clone(), parent);
        let mut cx = ExprCx::new(&scope, Clause::SelectList);
        let key = ast::Expr { kind: ast::ExprKind::Column(column.clone()), span: ast::Span::default() };
        let key = self.value(&key, &mut cx)?;
        let func = super::function::aggregate_function(aggregate.name.name.as_str())
            .ok_or_else(|| errors::unknown_function(aggregate.name.name.as_str()))?;
        let arg = aggregate.args.first().map(|a| self.value(a, &mut cx)).transpose()?;
        let used: Vec<Slot> = key.slots().into_iter().chain(arg.iter().flat_map(|a| a.slots())).collect();
        let mut groups = Vec::new();
        let mut columns = Vec::new();
        for c in sources.iter().flat_map(|s| &s.columns).filter(|c| !used.contains(&c.slot)) {
            let value = self.read(c.slot);
            let slot = self.slot_for(&c.name, &value);
            groups.push((slot, value));
            columns.push(SourceColumn { name: c.name.clone(), slot });
        }
        let mut aggs = Vec::new();
        for (at, v) in values.iter().enumerate() {
            if values[..at].iter().any(|other| same_name(&other.text, &v.text)) {
                return Err(errors::derived_column_twice(&v.text, &alias.text));
            }
            let literal = self.literal(&ast::Literal::String { value: v.text.clone(), national: true });
            let literal = super::merge_types::cast_to(literal, key.ty);
            let matches = self.comparison(CmpOp::Eq, key.clone(), literal)?;
            let value = arg.clone().unwrap_or_else(|| Expr::int(1));
            let case = self.make_case(vec![(matches, value)], None)?;
            let func = if func == AggFunc::CountStar { AggFunc::Count } else { func };
            let ty = super::function::aggregate_type(func, Some(case.ty))?;
            let slot = self.typed_slot(&v.text, ty, true);
            if case.ty.is_string() {
                self.collate_like(slot, &case);
            }
            aggs.push(Aggregate {
                slot,
                func,
                arg: Some(super::function::prepare_argument(func, ty, case)),
                separator: None,
                order: vec![],
                distinct: false,
                ty,
            });
            columns.push(SourceColumn { name: v.text.to_string(), slot });
        }
        let scalar = groups.is_empty();
        let rel =
            Rel::Aggregate { input: Box::new(rel), groups, sets: None, grouping_id: None, aggs, scalar };
        Ok((rel, vec![Rc::new(Source::of(alias.text.as_str(), columns))]))
    }

    fn unpivot(
        &mut self,
        (rel, sources): BoundSource,
        value_column: &ast::Ident,
        name_column: &ast::Ident,
        columns: &[ast::ColumnRef],
        alias: &ast::Ident,
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundSource> {
        let scope = Scope::new(sources.clone(), parent);
        let mut cx = ExprCx::new(&scope, Clause::SelectList);
        let mut rows = Vec::new();
        let mut used = Vec::new();
        for c in columns {
            let e = ast::Expr { kind: ast::ExprKind::Column(c.clone()), span: ast::Span::default() };
            let value = self.value(&e, &mut cx)?;
            if rows.first().is_some_and(|r: &Vec<Expr>| !same_kind(r[0].ty, value.ty)) {
                return Err(errors::unpivot_types(&c.name.text));
            }
            used.extend(value.slots());
            let name = self.literal(&ast::Literal::String { value: c.name.text.clone(), national: true });
            rows.push(vec![
                value,
                super::merge_types::cast_to(name, SqlType::NVarChar(keel_types::Length::Limited(128))),
            ]);
        }
        let Some(first) = rows.first() else { return Err(errors::syntax_near(")")) };
        let value_slot = self.slot_for(&value_column.text, &first[0].clone());
        let name_slot = self.slot_for(&name_column.text, &first[1].clone());
        let values = Rel::Values { rows, slots: vec![value_slot, name_slot] };
        let present = super::expr::is_null(self.read(value_slot)).not();
        let rel = join(JoinKind::Inner, rel, values.filter(vec![present]), Vec::new());
        let mut exposed: Vec<SourceColumn> =
            sources.iter().flat_map(|s| s.columns.clone()).filter(|c| !used.contains(&c.slot)).collect();
        exposed.push(SourceColumn { name: value_column.text.to_string(), slot: value_slot });
        exposed.push(SourceColumn { name: name_column.text.to_string(), slot: name_slot });
        Ok((rel, vec![Rc::new(Source::of(alias.text.as_str(), exposed))]))
    }
}

/// Error 8171 when NOEXPAND is said of what has no rows as a view.
fn refuse_no_expand(hints: &[ast::TableHint], name: &ast::ObjectName) -> Result<()> {
    if hints.contains(&ast::TableHint::NoExpand) {
        return Err(errors::invalid_hint("noexpand", &name.to_string()));
    }
    Ok(())
}

/// The parts of a written name.
#[must_use]
pub fn parts(name: &ast::ObjectName) -> NameParts<'_> {
    NameParts {
        database: name.database.as_ref().map(|d| d.as_str()),
        schema: name.schema.as_ref().map(|s| s.as_str()),
        object: name.name.as_str(),
    }
}

/// Whether two types are one but for their lengths.
fn same_kind(left: SqlType, right: SqlType) -> bool {
    std::mem::discriminant(&left) == std::mem::discriminant(&right)
}

/// A join without hint.
#[must_use]
pub fn join(kind: JoinKind, left: Rel, right: Rel, on: Vec<Expr>) -> Rel {
    Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, hint: None }
}

/// What stands in FROM with its database's name and without an alias is exposed under that, too.
fn in_database((rel, mut sources): BoundSource, written: Option<&ast::Ident>) -> BoundSource {
    if let (Some(source), Some(database)) = (sources.first_mut(), written) {
        Rc::make_mut(source).database = Some(database.as_str().to_owned());
    }
    (rel, sources)
}

/// Names are exposed once: error 1011 of two aliases, 1012 of an alias and a table, 1013 of two tables.
fn check_exposed(
    left: &[Rc<Source>],
    right: &[Rc<Source>],
    written: (&[ast::TableSource], &[ast::TableSource]),
) -> Result<()> {
    for r in right.iter().filter(|r| !r.alias.is_empty()) {
        for l in left.iter().filter(|l| same_name(&l.alias, &r.alias)) {
            let find = |written: &[ast::TableSource]| written.iter().find_map(|s| unqualified(s, &r.alias));
            return Err(match (find(written.0), find(written.1)) {
                (Some(true), Some(true)) => errors::same_correlation_name(&r.alias),
                (Some(_), Some(true)) | (Some(true), Some(_)) => errors::alias_exposed(&r.alias),
                _ if l.is_called_like(r) => {
                    let name = |sources: &[_], source| super::select::written_name(sources, source);
                    errors::same_exposed_name(&name(written.0, l), &name(written.1, r))
                }
                _ => continue,
            });
        }
    }
    Ok(())
}

/// Whether a source, or one that it joins, has that name without a schema before it: as its alias, or (false) by what it is.
fn unqualified(source: &ast::TableSource, name: &str) -> Option<bool> {
    use ast::TableSourceKind as K;
    match (&source.kind, source.alias()) {
        (K::Join { left, right, .. }, _) => unqualified(left, name).or_else(|| unqualified(right, name)),
        (_, Some(alias)) => same_name(alias.as_str(), name).then_some(true),
        (K::Named { name: table, .. }, None) if table.schema.is_none() => {
            same_name(table.name.as_str(), name).then_some(false)
        }
        _ => None,
    }
}

/// Applies a column list to a query's columns.
pub fn rename_columns(bound: &mut BoundQuery, columns: &[ast::Ident], alias: &str) -> Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    match columns.len().cmp(&bound.columns.len()) {
        std::cmp::Ordering::Less => return Err(errors::more_columns_than_list(alias)),
        std::cmp::Ordering::Greater => return Err(errors::fewer_columns_than_list(alias)),
        std::cmp::Ordering::Equal => {}
    }
    for (c, name) in bound.columns.iter_mut().zip(columns) {
        c.name = name.text.to_string();
    }
    Ok(())
}

pub(super) fn rename(sources: &mut [Rc<Source>], columns: &[ast::Ident], alias: &str) -> Result<()> {
    let Some(source) = sources.first_mut() else { return Ok(()) };
    if columns.is_empty() {
        return Ok(());
    }
    if columns.len() != source.columns.len() {
        return Err(errors::more_columns_than_list(alias));
    }
    for (c, name) in Rc::make_mut(source).columns.iter_mut().zip(columns) {
        c.name = name.text.to_string();
    }
    Ok(())
}

/// How often a query body mentions a table of this one-part name in a FROM (directly or in joins and derived tables).
fn references(body: &ast::QueryBody, name: &str) -> usize {
    fn source(s: &ast::TableSource, name: &str) -> usize {
        use ast::TableSourceKind as K;
        match &s.kind {
            K::Named { name: n, .. } => usize::from(n.is_simple() && same_name(&n.name.text, name)),
            K::Derived { query, .. } => references(&query.body, name),
            K::Join { left, right, .. } => source(left, name) + source(right, name),
            K::Pivot { source: s, .. } | K::Unpivot { source: s, .. } => source(s, name),
            _ => 0,
        }
    }
    match body {
        ast::QueryBody::Select(s) => s.from.iter().map(|f| source(f, name)).sum(),
        ast::QueryBody::Set { terms, .. } => terms.iter().map(|t| references(t, name)).sum(),
    }
}
