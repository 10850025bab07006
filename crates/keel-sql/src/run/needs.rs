//! The permissions that a statement takes: on what it reads, on what it changes, on what OUTPUT … INTO fills. They are found out when it is
//! compiled, and asked for whenever it is executed ([`Runner::permit`](super::Runner)).

use crate::catalog::Named;
use crate::program::Need;
use crate::session::scope::Scope;
use keel_base::DatabaseId;
use keel_parser::ast::{self, StatementKind};
use keel_query::catalog::{ObjectId, TableDef};

/// An object that permissions are on.
pub(super) struct Securable {
    pub database: DatabaseId,
    pub object: ObjectId,
    schema: i32,
}

impl Securable {
    pub fn of(table: &TableDef) -> Securable {
        Securable { database: table.database, object: table.object_id, schema: table.schema_id }
    }
}

/// What a statement needs: what it reads, and its verb on what it changes. `changed` is the table whose rows change.
pub(super) fn needs_of(
    scope: &Scope<'_>,
    statement: &StatementKind,
    changed: Option<Securable>,
) -> Vec<Need> {
    let mut needs = scope.needs.take();
    add_needs(scope, statement, changed, &mut needs);
    needs
}

/// Adds what a change takes to what is read.
pub(super) fn add_needs(
    scope: &Scope<'_>,
    statement: &StatementKind,
    changed: Option<Securable>,
    needs: &mut Vec<Need>,
) {
    needs.extend(super::target::outputs(statement).filter_map(|name| inserted_into(scope, name)));
    let Some(Securable { database, object, schema }) = secured(scope, statement, changed) else { return };
    // Setting constants reads nothing.
    let blind = match statement {
        StatementKind::Update(u) => u.filter.is_none() && u.from.is_empty() && u.output.is_empty(),
        StatementKind::Delete(d) => d.filter.is_none() && d.from.is_empty() && d.output.is_empty(),
        _ => false,
    };
    let own_read = |n: &Need| matches!(n, Need::Object { database: d, object: o, permission: "SELECT", .. } if (*d, *o) == (database, object));
    if blind {
        needs.retain(|n| !own_read(n));
    }
    if let StatementKind::Insert(i) = statement
        && !i.output.is_empty()
    {
        needs.push(Need::Object { database, object, schema, permission: "SELECT", columns: None });
    }
    let assigned = assigned_columns(scope, statement, &(database, object));
    needs.extend(verbs_of(statement).into_iter().map(|permission| {
        let columns = assigned.clone().filter(|_| permission == "UPDATE");
        Need::Object { database, object, schema, permission, columns }
    }));
}

/// What OUTPUT … INTO needs.
fn inserted_into(scope: &Scope<'_>, name: &ast::ObjectName) -> Option<Need> {
    let Some((_, Named::Table(t))) = scope.resolve(crate::ddl::parts(name)) else { return None };
    let Securable { database, object, schema } = Securable::of(&t);
    Some(Need::Object { database, object, schema, permission: "INSERT", columns: None })
}

/// The permissions that a change takes; of MERGE, those of the actions it has.
fn verbs_of(statement: &StatementKind) -> Vec<&'static str> {
    let action = |w: &ast::MergeWhen| match w.action {
        ast::MergeAction::Insert { .. } => "INSERT",
        ast::MergeAction::Update(_) => "UPDATE",
        ast::MergeAction::Delete => "DELETE",
    };
    let mut verbs = match statement {
        StatementKind::Insert(_) => vec!["INSERT"],
        StatementKind::Update(_) => vec!["UPDATE"],
        StatementKind::Delete(_) => vec!["DELETE"],
        StatementKind::Merge(m) => m.whens.iter().map(action).collect(),
        _ => Vec::new(),
    };
    verbs.sort_unstable();
    verbs.dedup();
    verbs
}

/// The object whose permissions decide over a change: the table or view that the statement names, or one that its CTE or derived
/// table reads; the table itself where no such name leads to it.
fn secured(scope: &Scope<'_>, statement: &StatementKind, changed: Option<Securable>) -> Option<Securable> {
    let mut view = None;
    for name in super::target::names(statement) {
        match scope.resolve(crate::ddl::parts(name)) {
            Some((_, Named::Table(t))) => {
                let found = Securable::of(&t);
                let same = |c: &Securable| (c.database, c.object) == (found.database, found.object);
                if changed.as_ref().is_none_or(same) {
                    return Some(found);
                }
            }
            Some((entry, Named::Module(m))) => {
                view.get_or_insert(Securable {
                    database: entry.id,
                    object: m.object_id,
                    schema: m.schema_id,
                });
            }
            _ => {}
        }
    }
    view.or(changed.filter(|c| c.database != crate::engine::TEMPDB))
}

/// Ids of the columns that UPDATE or MERGE assign to.
fn assigned_columns(
    scope: &Scope<'_>,
    statement: &StatementKind,
    (database, object): &(DatabaseId, ObjectId),
) -> Option<Vec<i32>> {
    let sets: Vec<&ast::UpdateSet> = match statement {
        StatementKind::Update(u) => u.assignments.iter().collect(),
        StatementKind::Merge(m) => m
            .whens
            .iter()
            .filter_map(|w| match &w.action {
                ast::MergeAction::Update(sets) => Some(sets),
                _ => None,
            })
            .flatten()
            .collect(),
        _ => return None,
    };
    let entry = scope.info.engine.database_by_id(*database)?;
    let known = scope.info.column_names(&entry, *object);
    let assigned = sets.iter().filter_map(|set| match set {
        ast::UpdateSet::Variable { .. } => None,
        ast::UpdateSet::Column { column, .. }
        | ast::UpdateSet::VariableAndColumn { column, .. }
        | ast::UpdateSet::Write { column, .. } => Some(column),
    });
    let id = |c: &ast::ColumnRef| {
        known.iter().find(|(_, name)| crate::views::same(name, &c.name.text)).map(|(id, _)| *id)
    };
    assigned.map(id).collect()
}
