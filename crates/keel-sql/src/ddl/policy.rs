//! CREATE, ALTER and DROP SECURITY POLICY.
//!
//! A policy names its functions and calls them by text, as the catalog shows it; its tables are known by their ids. Whoever
//! changes a policy locks the tables it is about, before and after: a change of rows that has begun ends first, and what comes
//! behind is compiled anew, with the policy as it is by then.

use super::alter::mentions_column;
use super::binding::BoundUse;
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, Named, Picture, object_class};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::modules;
use crate::program::{Need, Program};
use crate::run::Runner;
use keel_parser::ast::{
    self, BlockOperation, Expr, ExprKind, PredicateChange, PredicateVerb, SecurityPolicy,
};
use keel_parser::keyword::Kw;
use keel_parser::lexer::{self, Tok};
use keel_parser::to_text;
use keel_query::catalog::{Catalog as _, ModuleKind, ObjectId};
use keel_query::policy::{PolicyDef, PredicateDef, PredicateKind};
use keel_query::scope::ObjectRef;
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

type E = Box<SqlError>;

crate::errors::error_functions! {
    /// A variable among the arguments.
    variables_not_allowed(verb) = 112, 15, 4, "Variables are not allowed in the {verb} SECURITY POLICY statement.";
    /// A name with a database in front of it.
    database_in_name(clause) = 166, 15, 1, "'{clause}' does not allow specifying the database name as a prefix to the object name.";
    /// No predicate there to be altered or dropped.
    no_predicate(policy, table) = 33261, 16, 1, "The security policy '{policy}' does not contain a predicate on table '{table}'.";
    /// A second predicate for an operation.
    predicate_exists(kind, table, policy) = 33262, 16, 1, "A {kind} predicate for the same operation has already been defined on table '{table}' in the security policy '{policy}'.";
    /// A predicate on something else.
    not_guardable(name) = 33263, 16, 1, "Security predicates can only be added to user tables and schema bound views. '{name}' is not a user table or a schema bound view.";
    /// Two enabled policies on a table.
    table_guarded(policy, table, other) = 33264, 16, 1, "The security policy '{policy}' cannot be enabled with a predicate on table '{table}'. Table '{table}' is already referenced by the enabled security policy '{other}'.";
    /// A table or policy that is not there.
    missing(name) = 33268, 16, 1, "Cannot find the object \"{name}\" because it does not exist or you do not have permissions.";
    /// A temporary table.
    temporary_guarded() = 33269, 15, 1, "Security predicates are not allowed on temporary objects. Object names that begin with '#' denote temporary objects.";
    /// A function that is not there, or of another kind.
    not_inline(name) = 33270, 16, 1, "Cannot find the object \"{name}\" or this object is not an inline table-valued function.";
    /// ALTER SECURITY POLICY of something else.
    not_a_policy(name) = 33271, 16, 1, "Cannot alter '{name}' because it is not a security policy.";
    /// BLOCK on a view.
    block_on_view(name) = 33503, 16, 1, "BLOCK predicates can only be added to user tables. '{name}' is not a user table.";
    /// BLOCK on a history table.
    block_on_history(name) = 33510, 16, 1, "BLOCK security predicates cannot reference history tables. Table '{name}' is a temporal or ledger history table.";
}

/// 33268 with the state that tells why.
pub(super) fn not_found(name: &ast::ObjectName, state: u8) -> Box<SqlError> {
    let mut e = missing(name);
    e.state = state;
    e
}

/// What a predicate is put on.
struct Guarded {
    object: ObjectId,
    /// `schema.name`
    name: String,
    target: ObjectRef,
}

impl Runner<'_> {
    pub(super) fn security_policy(&mut self, program: &Program, p: &SecurityPolicy) -> Result<()> {
        let verb = if p.alter { "ALTER" } else { "CREATE" };
        if p.name.database.is_some() {
            return Err(database_in_name(format!("{verb} SECURITY POLICY")));
        }
        let place = self.place(program, &p.name)?;
        self.lock_name(&place)?;
        let found = self.info.picture(&place.entry).named(place.schema_id, &place.name);
        let now = self.info.engine.now_local();
        let mut policy = match found {
            Some(Named::Policy(policy)) if p.alter => (*policy).clone(),
            Some(_) if p.alter => return Err(not_a_policy(&p.name)),
            None if p.alter => return Err(not_found(&p.name, 2)),
            Some(_) => return Err(errors::object_exists(&place.name)),
            None => {
                place.refuse_system_schema()?;
                PolicyDef {
                    object_id: place.entry.allocate_object(),
                    schema_id: place.schema_id,
                    name: place.name.clone(),
                    enabled: true,
                    schema_bound: p.schema_binding.unwrap_or(true),
                    not_for_replication: false,
                    predicates: Vec::new(),
                    next_predicate: 1,
                    created: now,
                    modified: now,
                }
            }
        };
        let before: Vec<ObjectId> = policy.predicates.iter().map(|p| p.target).collect();
        policy.enabled = p.state.unwrap_or(policy.enabled);
        policy.not_for_replication = p.not_for_replication.unwrap_or(policy.not_for_replication);
        policy.modified = now;
        for change in &p.changes {
            self.change_predicate(program, &place.entry, &mut policy, p, change)?;
        }
        let mut guarded: Vec<ObjectId> = policy.predicates.iter().map(|p| p.target).collect();
        refuse_under_indexed_view(&self.info.picture(&place.entry), &policy, &guarded)?;
        if policy.enabled {
            self.refuse_two_policies(&place.entry, &policy, &guarded)?;
        }
        guarded.extend(before);
        self.lock_guarded(&place.entry, guarded)?;
        self.put(&place.entry, CatalogObject::Policy(Arc::new(policy)))
    }

    /// Locks tables whose policy changes, each once and in order.
    fn lock_guarded(&mut self, entry: &Arc<DatabaseEntry>, mut guarded: Vec<ObjectId>) -> Result<()> {
        guarded.sort_unstable();
        guarded.dedup();
        guarded.into_iter().try_for_each(|object| self.lock_schema(entry.id, object))
    }

    fn change_predicate(
        &mut self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        policy: &mut PolicyDef,
        statement: &SecurityPolicy,
        change: &PredicateChange,
    ) -> Result<()> {
        let guarded = self.guarded(program, entry, policy, change)?;
        let kind = kind_of(change);
        let own = |p: &PredicateDef| p.target == guarded.object;
        let at = policy.predicates.iter().position(|p| own(p) && p.kind == kind);
        let policy_name = self.named_in_schema(entry, policy.schema_id, &policy.name);
        let Some(call) = &change.call else {
            let at = at.ok_or_else(|| no_predicate(policy_name, &guarded.name))?;
            policy.predicates.remove(at);
            return Ok(());
        };
        if change.verb == PredicateVerb::Alter && at.is_none() {
            return Err(no_predicate(policy_name, &guarded.name));
        }
        if change.verb == PredicateVerb::Add
            && policy.predicates.iter().any(|p| own(p) && p.kind.overlaps(kind))
        {
            let kind = if change.block { "BLOCK" } else { "FILTER" };
            return Err(predicate_exists(kind, &guarded.name, policy_name));
        }
        let verb = if statement.alter { "ALTER" } else { "CREATE" };
        refuse_in_arguments(change.span.text(&program.text), verb)?;
        let text = self.checked_call(program, entry, policy, statement, call, &guarded)?;
        match at {
            Some(at) => policy.predicates[at].text = text,
            None => {
                let predicate_id = policy.next_predicate;
                policy.next_predicate += 1;
                policy.predicates.push(PredicateDef { predicate_id, target: guarded.object, kind, text });
            }
        }
        Ok(())
    }

    /// The table or view that a predicate is put on.
    fn guarded(
        &self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        policy: &PolicyDef,
        change: &PredicateChange,
    ) -> Result<Guarded> {
        let name = &change.table;
        if name.is_temporary() {
            return Err(temporary_guarded());
        }
        if name.database.is_some() {
            let kind = if change.block { "BLOCK" } else { "FILTER" };
            return Err(database_in_name(format!("ADD/ALTER {kind} PREDICATE")));
        }
        if policy.schema_bound && name.schema.is_none() {
            return Err(errors::cannot_bind_name("security policy", &policy.name, &name.name));
        }
        let found = self.named(program, name).filter(|(e, _)| e.id == entry.id);
        let (object, schema_id, own, target) = match found {
            Some((_, Named::Table(t))) if change.block && t.history_of.is_some() => {
                return Err(block_on_history(&t.name));
            }
            Some((_, Named::Table(t))) => (t.object_id, t.schema_id, t.name.clone(), ObjectRef::Table(t)),
            Some((_, Named::Module(m))) if m.kind == ModuleKind::View && modules::is_schema_bound(&m) => {
                if change.block {
                    return Err(block_on_view(name));
                }
                (m.object_id, m.schema_id, m.name.clone(), ObjectRef::Module(m))
            }
            Some(_) => return Err(not_guardable(name)),
            None => return Err(missing(name)),
        };
        Ok(Guarded { object, name: self.named_in_schema(entry, schema_id, &own), target })
    }

    fn named_in_schema(&self, entry: &Arc<DatabaseEntry>, schema: i32, name: &str) -> String {
        format!("{}.{name}", self.info.picture(entry).schema_name(schema).unwrap_or_default())
    }

    /// The text of a call, once its function is there, may be called and takes these arguments.
    fn checked_call(
        &mut self,
        program: &Program,
        entry: &Arc<DatabaseEntry>,
        policy: &PolicyDef,
        statement: &SecurityPolicy,
        call: &Expr,
        guarded: &Guarded,
    ) -> Result<String> {
        let ExprKind::Function(function) = &call.kind else { return Err(not_inline("")) };
        let name = &function.name;
        if name.schema.is_none() || name.database.is_some() {
            return Err(errors::cannot_bind_name("security policy", &statement.name, name));
        }
        let found = self.named(program, name).filter(|(e, _)| e.id == entry.id);
        let Some((_, Named::Module(module))) = found else { return Err(not_inline(name)) };
        if module.kind != ModuleKind::InlineTableFunction {
            return Err(not_inline(name));
        }
        if policy.schema_bound && !modules::is_schema_bound(&module) {
            return Err(errors::not_schema_bound("security policy", &statement.name, name));
        }
        if !self.info.unrestricted.get() {
            let need = Need::Object {
                database: entry.id,
                object: module.object_id,
                schema: module.schema_id,
                permission: "SELECT",
                columns: None,
            };
            self.info.authorize(&program.identity, &[need])?;
        }
        let predicate = PredicateDef {
            predicate_id: 0,
            target: guarded.object,
            kind: PredicateKind::Filter,
            text: to_text::stored_text(call),
        };
        let scope = self.ddl_scope(program);
        keel_query::check_predicate(&scope, entry.id, &guarded.target, &predicate)?;
        Ok(predicate.text)
    }

    fn refuse_two_policies(
        &self,
        entry: &Arc<DatabaseEntry>,
        policy: &PolicyDef,
        guarded: &[ObjectId],
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        for object in guarded {
            let others = picture.policies_on(*object);
            let Some(other) = others.iter().find(|o| o.object_id != policy.object_id) else { continue };
            let name = |schema, name: &str| self.named_in_schema(entry, schema, name);
            let table = picture.objects().find(|o| o.object_id == *object);
            let table = table.map_or_else(String::new, |t| name(t.schema_id, t.name));
            let (own, other) = (name(policy.schema_id, &policy.name), name(other.schema_id, &other.name));
            return Err(table_guarded(own, table, other));
        }
        Ok(())
    }

    pub(super) fn drop_policy(
        &mut self,
        program: &Program,
        name: &ast::ObjectName,
        if_exists: bool,
    ) -> Result<()> {
        let Some((entry, Named::Policy(policy))) = self.named(program, name) else {
            let missing = || errors::cannot_drop_missing("security policy", name);
            return if if_exists { Ok(()) } else { Err(missing()) };
        };
        self.lock_guarded(&entry, policy.predicates.iter().map(|p| p.target).collect())?;
        let key = CatalogKey { class: object_class::POLICY, id: policy.object_id };
        self.change(&entry, CatalogOp::Remove(key))
    }

    /// Takes the predicates on a table or view that goes out of their policies, which are not bound to it.
    pub(super) fn forget_predicates(&mut self, entry: &Arc<DatabaseEntry>, object: ObjectId) -> Result<()> {
        let picture = self.info.picture(entry);
        for policy in picture.policies().filter(|p| p.predicates_on(object).next().is_some()) {
            let mut policy = (**policy).clone();
            policy.predicates.retain(|p| p.target != object);
            self.put(entry, CatalogObject::Policy(Arc::new(policy)))?;
        }
        Ok(())
    }
}

/// Error 33265: an indexed view has rows whoever looks at it.
fn refuse_under_indexed_view(picture: &Picture, policy: &PolicyDef, guarded: &[ObjectId]) -> Result<()> {
    for table in guarded.iter().filter_map(|id| picture.table_by_id(*id)) {
        if let Some(view) = picture.indexed_views(table.object_id).first() {
            return Err(errors::policy_under_indexed_view(&policy.name, &table.name, &view.name));
        }
    }
    Ok(())
}

fn kind_of(change: &PredicateChange) -> PredicateKind {
    match change.operation {
        None if !change.block => PredicateKind::Filter,
        None => PredicateKind::Block,
        Some(BlockOperation::AfterInsert) => PredicateKind::AfterInsert,
        Some(BlockOperation::AfterUpdate) => PredicateKind::AfterUpdate,
        Some(BlockOperation::BeforeUpdate) => PredicateKind::BeforeUpdate,
        Some(BlockOperation::BeforeDelete) => PredicateKind::BeforeDelete,
    }
}

/// Arguments are made of columns, constants and functions: errors 112 and 1046.
fn refuse_in_arguments(text: &str, verb: &str) -> Result<()> {
    for token in lexer::tokenize(text, true).unwrap_or_default() {
        match token.tok {
            Tok::Variable => return Err(variables_not_allowed(verb)),
            Tok::Kw(Kw::SELECT) => return Err(errors::no_subqueries()),
            _ => {}
        }
    }
    Ok(())
}

/// What schema-bound policies hold of an object: the columns that their calls name of a table, or their function.
pub(super) fn bound_to(picture: &Picture, wanted: ObjectId) -> Vec<BoundUse> {
    let mut bound = Vec::new();
    for policy in picture.policies().filter(|p| p.schema_bound) {
        let mut uses = policy.predicates.iter().filter_map(|p| named_columns(picture, p, wanted));
        let Some(mut columns) = uses.next() else { continue };
        columns.extend(uses.flatten());
        bound.push(BoundUse { module: policy.name.clone(), columns });
    }
    bound
}

/// The columns that a predicate names of an object; `None` when it does not name it.
fn named_columns(picture: &Picture, predicate: &PredicateDef, wanted: ObjectId) -> Option<Vec<i32>> {
    if predicate.target == wanted {
        return Some(guarded_columns(picture, predicate));
    }
    let name = parts_of_call(predicate)?;
    let function = picture.named(picture.schema_id(&name.schema.as_ref()?.text)?, &name.name.text)?;
    matches!(function, Named::Module(m) if m.object_id == wanted).then(Vec::new)
}

fn parts_of_call(predicate: &PredicateDef) -> Option<ast::ObjectName> {
    match keel_parser::parse_expr(&predicate.text).ok()?.kind {
        ExprKind::Function(call) => Some(call.name),
        _ => None,
    }
}

/// The columns of its table that a predicate hands to its function, by id.
pub(crate) fn guarded_columns(picture: &Picture, predicate: &PredicateDef) -> Vec<i32> {
    let Ok(ExprKind::Function(call)) = keel_parser::parse_expr(&predicate.text).map(|e| e.kind) else {
        return Vec::new();
    };
    let arguments: Vec<String> = call.args.iter().map(to_text::to_text).collect();
    let named = |name: &str| arguments.iter().any(|a| mentions_column(a, name));
    let table = picture.table_by_id(predicate.target);
    let columns = table.iter().flat_map(|t| &t.columns).filter(|c| named(&c.name));
    columns.map(|c| c.column_id).collect()
}
