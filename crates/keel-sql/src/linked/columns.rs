//! What columns tables and queries of other servers have: asked of them, and remembered for a while.
//!
//! A server says what a text returns by `sp_describe_first_result_set`, which knows tables, views, synonyms and functions alike. Of a table it is
//! asked besides by which columns its rows can be told apart, and how many there are.

use super::errors;
use super::link::Request;
use super::links::{Lease, Purpose, Server, parameter};
use crate::session::info::Info;
use keel_parser::to_text::quote_name;
use keel_types::error::Result;
use keel_types::ty::parse::{TypeArg, TypeSite, parse_type};
use keel_types::{Collation, Length, SqlType, Value};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long what is known of a table is good without asking again.
pub const SHAPE_LIFE: Duration = Duration::from_secs(60);
/// Shapes remembered before all are forgotten.
const SHAPES_MAX: usize = 1000;

/// A column there.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteColumn {
    /// Name; empty for an expression without one.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Collation of character types; the default one where the name there is not known here.
    pub collation: Collation,
    /// Its collation is one that is known here.
    pub known_collation: bool,
    /// NULL allowed.
    pub nullable: bool,
    /// The server makes its values itself: identity, computed columns, row versions.
    pub generated: bool,
}

/// What is known of a table or query there.
#[derive(Debug)]
pub struct Shape {
    /// Columns in order.
    pub columns: Vec<RemoteColumn>,
    /// Positions of the columns of the first unique index, the primary key's before others; empty without any.
    pub key: Vec<usize>,
    /// How many rows it had.
    pub rows: u64,
}

/// What was asked: whom (address and login), and the table or text.
type Of = (String, u16, String, String, String, String);

/// Shapes that are remembered.
#[derive(Default)]
pub struct Shapes {
    known: Mutex<HashMap<Of, (Instant, Arc<Shape>)>>,
}

impl Shapes {
    pub(super) fn clear(&self) {
        self.known.lock().clear();
    }

    fn get(&self, of: &Of) -> Option<Arc<Shape>> {
        let known = self.known.lock();
        known.get(of).filter(|(at, _)| at.elapsed() < SHAPE_LIFE).map(|(_, shape)| Arc::clone(shape))
    }

    fn put(&self, of: Of, shape: &Arc<Shape>) {
        let mut known = self.known.lock();
        if known.len() >= SHAPES_MAX {
            known.clear();
        }
        known.insert(of, (Instant::now(), Arc::clone(shape)));
    }
}

fn of(server: &Server, what: &str) -> Of {
    let t = &server.target;
    let (host, instance) = (t.host.clone(), t.instance.clone());
    (host, t.port.unwrap_or(0), instance, t.user.clone(), t.database.clone(), what.to_owned())
}

/// A table of another server, by the parts of its name that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteName {
    /// Database.
    pub database: Option<String>,
    /// Schema.
    pub schema: Option<String>,
    /// Table.
    pub object: String,
}

impl RemoteName {
    /// As it stands in a text for its server.
    #[must_use]
    pub fn quoted(&self) -> String {
        let quoted = |part: &Option<String>| part.as_deref().map(quote_name).unwrap_or_default();
        match (&self.database, &self.schema) {
            (Some(_), _) => {
                format!("{}.{}.{}", quoted(&self.database), quoted(&self.schema), quote_name(&self.object))
            }
            (None, Some(_)) => format!("{}.{}", quoted(&self.schema), quote_name(&self.object)),
            (None, None) => quote_name(&self.object),
        }
    }

    /// As messages show it.
    #[must_use]
    pub fn shown(&self) -> String {
        let parts = [&self.database, &self.schema, &Some(self.object.clone())];
        parts.iter().filter_map(|p| p.as_deref()).map(|p| format!("\"{p}\"")).collect::<Vec<_>>().join(".")
    }
}

/// What a table of another server is like.
///
/// # Errors
/// 7314 when there is none, 7325 when it has columns whose types do not travel; those of asking.
pub fn of_table(info: &Info, server: &Arc<Server>, name: &RemoteName) -> Result<Arc<Shape>> {
    let text = name.quoted();
    let of = of(server, &text);
    if let Some(known) = info.engine.linked.shapes.get(&of) {
        return Ok(known);
    }
    let mut lease = info.links.lease(info, server, Purpose::Read)?;
    let described = describe(&mut lease, &format!("SELECT * FROM {text}"));
    let missing = || errors::no_remote_table(&server.provider, &server.name, name.shown());
    let columns = match described {
        Ok(columns) if columns.is_empty() => return Err(missing()),
        Ok(columns) => columns,
        Err(e) if matches!(e.number, 208 | 229 | 911 | 916 | 2702) => return Err(missing()),
        Err(e) => return Err(e),
    };
    if columns.iter().any(|c| c.ty.is_clr()) {
        return Err(errors::clr_columns());
    }
    let (rows, key) = rows_and_key(&mut lease, name, &columns)?;
    let shape = Arc::new(Shape { columns, key, rows });
    info.engine.linked.shapes.put(of, &shape);
    Ok(shape)
}

/// What the first result of a text is like.
///
/// # Errors
/// 7357 when it has none; those of the other server and of asking.
pub fn of_text(info: &Info, server: &Arc<Server>, text: &str) -> Result<Arc<Shape>> {
    let of = of(server, text);
    if let Some(known) = info.engine.linked.shapes.get(&of) {
        return Ok(known);
    }
    let mut lease = info.links.lease(info, server, Purpose::Read)?;
    let columns = describe(&mut lease, text)?;
    if columns.is_empty() {
        return Err(errors::no_columns(text, &server.provider, &server.name));
    }
    let shape = Arc::new(Shape { columns, key: Vec::new(), rows: 1000 });
    info.engine.linked.shapes.put(of, &shape);
    Ok(shape)
}

fn describe(lease: &mut Lease, text: &str) -> Result<Vec<RemoteColumn>> {
    let tsql = parameter("@tsql", SqlType::NVarChar(Length::Max), Value::str(text));
    let answer = lease.run(&Request::Call("sys.sp_describe_first_result_set", &[tsql]))?;
    let Some((columns, rows)) = answer.sets.first() else { return Ok(Vec::new()) };
    let place = |name: &str| columns.iter().position(|c| c.name.eq_ignore_ascii_case(name));
    let value =
        |row: &[Value], name: &str| place(name).and_then(|at| row.get(at).cloned()).unwrap_or_default();
    let is = |row: &[Value], name: &str| value(row, name).as_int().is_some_and(|n| n != 0);
    let mut found = Vec::with_capacity(rows.len());
    for row in rows.iter().filter(|row| !is(row, "is_hidden")) {
        let written = value(row, "system_type_name");
        // A CLR type has none.
        let ty = written.as_str().map_or(Ok(SqlType::Geometry), type_of)?;
        let name = value(row, "collation_name");
        let known = name.as_str().and_then(Collation::by_name);
        found.push(RemoteColumn {
            name: value(row, "name").as_str().unwrap_or_default().to_owned(),
            ty,
            collation: known.unwrap_or_default(),
            known_collation: known.is_some(),
            nullable: is(row, "is_nullable"),
            generated: is(row, "is_identity_column")
                || is(row, "is_computed_column")
                || ty == SqlType::RowVersion,
        });
    }
    Ok(found)
}

/// `decimal(9,2)`, `nvarchar(max)`, `int`
fn type_of(written: &str) -> Result<SqlType> {
    let (name, rest) = written.split_once('(').unwrap_or((written, ""));
    let arg = |text: &str| match text.trim() {
        max if max.eq_ignore_ascii_case("max") => Some(TypeArg::Max),
        number => number.parse().ok().map(TypeArg::Number),
    };
    let args: Vec<TypeArg> = rest.trim_end_matches(')').split(',').filter_map(arg).collect();
    parse_type(name, &args, TypeSite::default())
}

fn rows_and_key(lease: &mut Lease, name: &RemoteName, columns: &[RemoteColumn]) -> Result<(u64, Vec<usize>)> {
    let at = name.database.as_deref().map(|d| format!("{}.", quote_name(d))).unwrap_or_default();
    let id = format!("OBJECT_ID(N'{}')", name.quoted().replace('\'', "''"));
    let text = format!(
        "SELECT SUM(p.rows) FROM {at}sys.partitions AS p WHERE p.object_id = {id} AND p.index_id IN (0, 1); \
         SELECT i.index_id, c.name FROM {at}sys.indexes AS i \
         JOIN {at}sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id \
         JOIN {at}sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id \
         WHERE i.object_id = {id} AND i.is_unique = 1 AND i.has_filter = 0 AND i.is_disabled = 0 AND ic.is_included_column = 0 \
         ORDER BY i.is_primary_key DESC, i.index_id, ic.key_ordinal"
    );
    // Who may not look into the catalog there reads the table all the same.
    let Ok(answer) = lease.run(&Request::Batch(&text)) else { return Ok((1000, Vec::new())) };
    let rows = answer.rows().first().and_then(|row| row.first()?.as_int());
    let keys = answer.sets.get(1).map(|(_, rows)| rows.as_slice()).unwrap_or_default();
    let first = keys.first().and_then(|row| row.first()?.as_int());
    let of_first = keys.iter().filter(|row| row.first().and_then(Value::as_int) == first);
    let places: Option<Vec<usize>> = of_first
        .map(|row| {
            let wanted = row.get(1)?.as_str()?;
            columns.iter().position(|c| c.name.eq_ignore_ascii_case(wanted))
        })
        .collect();
    let rows = rows.and_then(|n| u64::try_from(n).ok()).unwrap_or(1000);
    Ok((rows, places.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_as_servers_write_them() {
        assert_eq!(type_of("decimal(9,2)").unwrap(), SqlType::Decimal { precision: 9, scale: 2 });
        assert_eq!(type_of("nvarchar(max)").unwrap(), SqlType::NVarChar(Length::Max));
        assert_eq!(type_of("datetime2(3)").unwrap(), SqlType::DateTime2(3));
        assert_eq!(type_of("timestamp").unwrap(), SqlType::RowVersion);
    }

    #[test]
    fn names_as_they_are_sent() {
        let name = |database: Option<&str>, schema: Option<&str>| {
            let name = RemoteName {
                database: database.map(str::to_owned),
                schema: schema.map(str::to_owned),
                object: "a]b".to_owned(),
            };
            name.quoted()
        };
        assert_eq!(name(Some("shop"), Some("dbo")), "[shop].[dbo].[a]]b]");
        assert_eq!(name(Some("shop"), None), "[shop]..[a]]b]");
        assert_eq!(name(None, Some("dbo")), "[dbo].[a]]b]");
        assert_eq!(name(None, None), "[a]]b]");
    }
}
