//! What a data change names as its target: a table or view, by its name or by an alias in FROM, or a CTE or derived table, which
//! stands for what it reads.

use crate::views::same;
use keel_parser::ast::{self, ObjectName, StatementKind, TableSource, TableSourceKind};

/// The stored object that a data change names; `None` where it names a CTE or derived table.
pub(crate) fn direct(statement: &StatementKind) -> Option<&ObjectName> {
    match target(statement)? {
        Target::Stored(name) => Some(name),
        Target::Query(_) => None,
    }
}

/// The stored objects that the target may be: more than one, when a CTE or derived table reads several.
pub(super) fn names(statement: &StatementKind) -> Vec<&ObjectName> {
    let mut names = Vec::new();
    match target(statement) {
        Some(Target::Stored(name)) => names.push(name),
        Some(Target::Query(query)) => read_by(query, ctes(statement), &mut names),
        None => {}
    }
    names
}

/// The stored objects that OUTPUT … INTO fills.
pub(super) fn outputs(statement: &StatementKind) -> impl Iterator<Item = &ObjectName> {
    let clauses: &[ast::OutputClause] = match statement {
        StatementKind::Insert(i) => &i.output,
        StatementKind::Update(u) => &u.output,
        StatementKind::Delete(d) => &d.output,
        StatementKind::Merge(m) => &m.output,
        _ => &[],
    };
    clauses.iter().filter_map(|clause| match &clause.into.as_ref()?.target {
        ast::TableRef::Named(name) => Some(name),
        ast::TableRef::Variable(_) => None,
    })
}

/// The change whose rows an INSERT takes.
pub(super) fn nested(statement: &StatementKind) -> Option<&StatementKind> {
    let StatementKind::Insert(insert) = statement else { return None };
    let ast::InsertSource::Query(query) = &insert.source else { return None };
    let ast::QueryBody::Select(select) = &query.body else { return None };
    match &select.from.first()?.kind {
        TableSourceKind::Dml { statement, .. } => Some(&statement.kind),
        _ => None,
    }
}

enum Target<'a> {
    Stored(&'a ObjectName),
    Query(&'a ast::Query),
}

fn ctes(statement: &StatementKind) -> &[ast::Cte] {
    let with = match statement {
        StatementKind::Insert(i) => i.with.as_ref(),
        StatementKind::Update(u) => u.with.as_ref(),
        StatementKind::Delete(d) => d.with.as_ref(),
        StatementKind::Merge(m) => m.with.as_ref(),
        _ => None,
    };
    with.map_or(&[], |w| &w.ctes)
}

fn target(statement: &StatementKind) -> Option<Target<'_>> {
    let (target, from): (_, &[TableSource]) = match statement {
        StatementKind::Insert(i) => (&i.target, &[]),
        StatementKind::Update(u) => (&u.target, &u.from),
        StatementKind::Delete(d) => (&d.target, &d.from),
        StatementKind::Merge(m) => (&m.target, &[]),
        _ => return None,
    };
    let ast::TableRef::Named(name) = &target.table else { return None };
    let found = if name.is_simple() { from.iter().find_map(|s| aliased(s, &name.name.text)) } else { None };
    let target = found.unwrap_or(Target::Stored(name));
    if let Target::Stored(name) = target
        && let Some(query) = cte(name, ctes(statement))
    {
        return Some(Target::Query(query));
    }
    Some(target)
}

/// The CTE of that name, the last one that has it.
pub(super) fn cte<'a>(
    name: &ObjectName,
    ctes: impl IntoIterator<Item = &'a ast::Cte>,
) -> Option<&'a ast::Query> {
    let named = |c: &&ast::Cte| name.is_simple() && same(&c.name.text, &name.name.text);
    ctes.into_iter().filter(named).last().map(|c| &c.query)
}

fn aliased<'a>(source: &'a TableSource, wanted: &str) -> Option<Target<'a>> {
    match &source.kind {
        TableSourceKind::Named { name, alias: Some(a), .. } if same(&a.text, wanted) => {
            Some(Target::Stored(name))
        }
        TableSourceKind::Derived { query, alias, .. }
            if alias.as_ref().is_some_and(|a| same(&a.text, wanted)) =>
        {
            Some(Target::Query(query))
        }
        TableSourceKind::Join { left, right, .. } => aliased(left, wanted).or_else(|| aliased(right, wanted)),
        _ => None,
    }
}

/// Adds the stored objects that a query's FROM reads, those of CTEs before it included. CTEs do not name themselves here: nobody
/// changes rows through a recursive one.
fn read_by<'a>(query: &'a ast::Query, ctes: &'a [ast::Cte], names: &mut Vec<&'a ObjectName>) {
    let ast::QueryBody::Select(select) = &query.body else { return };
    select.from.iter().for_each(|source| read_in(source, ctes, names));
}

fn read_in<'a>(source: &'a TableSource, ctes: &'a [ast::Cte], names: &mut Vec<&'a ObjectName>) {
    match &source.kind {
        TableSourceKind::Named { name, .. } => {
            let at = ctes.iter().rposition(|c| name.is_simple() && same(&c.name.text, &name.name.text));
            match at {
                Some(at) => read_by(&ctes[at].query, &ctes[..at], names),
                None => names.push(name),
            }
        }
        TableSourceKind::Derived { query, .. } => read_by(query, ctes, names),
        TableSourceKind::Join { left, right, .. } => {
            read_in(left, ctes, names);
            read_in(right, ctes, names);
        }
        _ => {}
    }
}
