//! The methods of xml at run time: instances to trees, values to and from the query's, rows of `nodes()`.
//!
//! A thread keeps the trees of the last few instances it has read, because the methods called on one instance (and on each row
//! of its `nodes()`) come one after the other. Small ones add up to a quarter of a megabyte of text; a larger one is kept alone,
//! and until the request ends ([`end_of_request`]).

use crate::context::{ExecCtx, SessionInfo};
use crate::errors::{self, Error, Result};
use crate::exec::cx::STATEMENT_MEMORY_MAX;
use crate::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_types::{SqlError, SqlType, Value, cast};
use keel_xml::modify::Statement;
use keel_xml::parse::{Source, parse};
use keel_xml::query::atom::{Atom, AtomType};
use keel_xml::query::{Context, Item, Items, NodeRef, Query, Run};
use keel_xml::schema::validate::validate;
use keel_xml::schema::{Schema, registry};
use keel_xml::tree::{Document, ROOT};
use keel_xml::{XmlError, write};
use smol_str::SmolStr;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Text of the instances a thread keeps the trees of.
const KEPT_BYTES: usize = 1 << 18;
/// Their number.
const KEPT: usize = 4;

/// An instance with its tree, whose nodes have the types of a schema collection when it is typed.
struct Kept {
    text: SmolStr,
    tree: Rc<Document>,
}

impl Kept {
    fn is(&self, text: &SmolStr, schema: Option<&Arc<Schema>>) -> bool {
        let own = self.tree.typed.as_ref().map(|typed| &typed.schema);
        let alike = match (own, schema) {
            (Some(own), Some(schema)) => Arc::ptr_eq(own, schema),
            (own, schema) => own.is_none() && schema.is_none(),
        };
        let known = &self.text;
        alike
            && known.len() == text.len()
            && (known.as_ptr() == text.as_ptr() || known.as_str() == text.as_str())
    }
}

thread_local! {
    static TREES: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// An error of the query language with its severity.
#[must_use]
#[allow(clippy::boxed_local, reason = "errors come boxed")]
pub fn error(e: Box<XmlError>) -> Error {
    SqlError::new(e.number, 16, e.state, e.message)
}

/// Appends text as the content of an element, or as the value of an attribute.
pub fn push_text(text: &str, attribute: bool, out: &mut String) {
    write::escape(text, attribute, out);
}

/// The tree of an instance, which is valid by a schema collection if it is typed.
pub(crate) fn tree(text: &SmolStr, schema: Option<&Arc<Schema>>) -> Result<Rc<Document>> {
    let found = TREES.with_borrow_mut(|trees| {
        let at = trees.iter().position(|kept| kept.is(text, schema))?;
        let entry = trees.remove(at);
        let tree = entry.tree.clone();
        trees.push(entry);
        Some(tree)
    });
    if let Some(tree) = found {
        return Ok(tree);
    }
    let parsed = parse(text, Source::Any, true).map_err(error)?;
    let tree = Rc::new(match schema {
        Some(schema) => validate(&parsed, schema, false).map_err(error)?,
        None => parsed,
    });
    TREES.with_borrow_mut(|trees| {
        trees.push(Kept { text: text.clone(), tree: tree.clone() });
        while trees.len() > KEPT || (trees.len() > 1 && bytes(trees) > KEPT_BYTES) {
            trees.remove(0);
        }
    });
    Ok(tree)
}

fn bytes(trees: &[Kept]) -> usize {
    trees.iter().map(|kept| kept.text.len()).sum()
}

/// A session's thread waits for its next request: it holds no large tree meanwhile.
pub fn end_of_request() {
    TREES.with_borrow_mut(|trees| {
        if bytes(trees) > KEPT_BYTES {
            trees.clear();
        }
    });
}

/// Until so much is held, nobody asks how much that may be.
const UNASKED_BYTES: usize = 1 << 20;

/// Ends an evaluation when the statement is cancelled, or holds more than a statement may.
pub(crate) struct Watch<'a> {
    session: &'a dyn SessionInfo,
    bytes: usize,
    failure: Option<Error>,
}

impl Watch<'_> {
    pub(crate) fn new(session: &dyn SessionInfo) -> Watch<'_> {
        Watch { session, bytes: 0, failure: None }
    }

    /// The error that ended it: the one of the watch rather than its stand-in.
    pub(crate) fn error(&mut self, e: Box<XmlError>) -> Error {
        self.failure.take().unwrap_or_else(|| error(e))
    }

    /// So many more bytes are held.
    pub(crate) fn note(&mut self, bytes: usize) -> Result<()> {
        self.go_on(bytes).map_err(|e| self.error(e))
    }
}

impl Run for Watch<'_> {
    fn go_on(&mut self, bytes: usize) -> keel_xml::Result<()> {
        self.bytes += bytes;
        let failure = match self.session.look_up() {
            Err(e) => e,
            Ok(()) if self.bytes <= UNASKED_BYTES => return Ok(()),
            Ok(()) => {
                let share = self.session.memory_share();
                let limit = |w: &std::sync::Arc<crate::WorkSpace>| w.memory_bytes_max_of(share.as_deref());
                if self.bytes <= self.session.work_space().map_or(STATEMENT_MEMORY_MAX, limit) {
                    return Ok(());
                }
                errors::out_of_pool(share.as_deref())
            }
        };
        let stand_in = XmlError::new(failure.number, failure.message.clone());
        self.failure = Some(failure);
        Err(stand_in)
    }
}

/// What a query takes a type of SQL for; `None` for xml. Error 9344 for types it does not take.
pub fn atom_type(ty: SqlType) -> Result<Option<AtomType>> {
    use SqlType as T;
    Ok(Some(match ty {
        T::Xml | T::TypedXml(_) => return Ok(None),
        T::Bit => AtomType::Boolean,
        T::TinyInt | T::SmallInt | T::Int => AtomType::Int,
        T::BigInt => AtomType::Long,
        T::Decimal { .. } | T::Numeric { .. } | T::Money | T::SmallMoney => AtomType::Decimal,
        T::Float => AtomType::Double,
        T::Real => AtomType::Float,
        T::Date => AtomType::Date,
        T::Time(_) => AtomType::Time,
        T::DateTime | T::SmallDateTime | T::DateTime2(_) | T::DateTimeOffset(_) => AtomType::DateTime,
        T::SqlVariant => {
            let m = format!("XQuery: The SQL type '{}' is not supported in XQuery.", ty.name());
            return Err(SqlError::new(9344, 16, 1, m));
        }
        ty if ty.is_binary() => AtomType::Base64Binary,
        _ => AtomType::String,
    }))
}

/// A value of SQL as a sequence: NULL is the empty one.
fn items(value: &Value, ty: SqlType) -> Result<Items> {
    let text = |style: i32| cast::to_text(value, ty, style);
    let atom = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Bit(b) => Atom::Boolean(*b),
        Value::Int(n) => Atom::Integer(*n),
        Value::Float(f) => Atom::Double(*f),
        Value::Bytes(b) => Atom::Binary(false, b.clone()),
        Value::Str(s) if ty.is_xml() => {
            return Ok(vec![Item::Node(NodeRef { document: tree(s, None)?, id: ROOT })]);
        }
        Value::Str(s) => Atom::String(s.clone()),
        Value::Decimal(_) | Value::Money(_) => {
            let text = text(2)?;
            let exact = Atom::String(text.clone()).cast(AtomType::Decimal);
            exact.or_else(|| Atom::String(text.clone()).cast(AtomType::Double)).unwrap_or(Atom::String(text))
        }
        Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::DateTimeOffset(..) => {
            Atom::Moment(atom_type(ty)?.unwrap_or(AtomType::String), text(126)?)
        }
        Value::Guid(_) | Value::Variant(_) => Atom::String(text(0)?),
    };
    Ok(vec![Item::Atom(atom)])
}

fn sequences(values: &[Value], types: &[SqlType]) -> Result<Vec<Items>> {
    values.iter().zip(types).map(|(v, ty)| items(v, *ty)).collect()
}

/// Where a query on a value of a type starts. Error 6327 when its collection is gone.
pub fn context_of(ty: SqlType) -> Result<Context> {
    let schema = match ty.xml_schema() {
        Some(of) => Some((registry::schema(of.version).map_err(error)?, of.document)),
        None => None,
    };
    Ok(Context::instance(schema))
}

/// Evaluates a query over an instance that is valid by `schema` if it is typed. `args` are the instance, the number of its context node (NULL for all of it) and what the query reads of
/// SQL, of the given types. `None` when the instance is NULL.
pub fn run(
    query: &Query,
    schema: Option<&Arc<Schema>>,
    types: &[SqlType],
    session: &dyn SessionInfo,
    args: &[Value],
) -> Result<Option<Items>> {
    let Some(Value::Str(text)) = args.first() else { return Ok(None) };
    let id = args.get(1).and_then(Value::as_int).and_then(|n| u32::try_from(n).ok()).unwrap_or(ROOT);
    let externals = sequences(args.get(2..).unwrap_or_default(), types)?;
    let mut watch = Watch::new(session);
    match query.run(NodeRef { document: tree(text, schema)?, id }, &externals, &mut watch) {
        Ok(items) => Ok(Some(items)),
        Err(e) => Err(watch.error(e)),
    }
}

/// What `value()` converts: the text of the first item, or its bytes.
#[must_use]
pub fn scalar(items: &[Item], bytes: bool) -> Value {
    let Some(first) = items.first().and_then(|item| item.atoms().into_iter().next()) else {
        return Value::Null;
    };
    match first {
        Atom::Binary(_, b) if bytes => Value::Bytes(b),
        atom if bytes => match atom.cast(AtomType::Base64Binary) {
            Some(Atom::Binary(_, b)) => Value::Bytes(b),
            _ => Value::Null,
        },
        atom => Value::Str(atom.text()),
    }
}

/// The instance after a statement of XML DML.
pub fn modify(
    statement: &Statement,
    schema: Option<&Arc<Schema>>,
    types: &[SqlType],
    session: &dyn SessionInfo,
    text: &SmolStr,
    args: &[Value],
) -> Result<Value> {
    let externals = sequences(args, types)?;
    let mut watch = Watch::new(session);
    match statement.run(&tree(text, schema)?, &externals, &mut watch) {
        Ok(document) => Ok(Value::str(write::document(&document))),
        Err(e) => Err(watch.error(e)),
    }
}

/// The rows of `nodes()`: instance and number of the node.
pub struct Nodes {
    columns: [VirtualColumn; 2],
    query: Query,
    schema: Option<Arc<Schema>>,
    types: Vec<SqlType>,
}

impl Nodes {
    /// The table of a query; `types` are those of what it reads of SQL.
    #[must_use]
    pub fn new(query: Query, schema: Option<Arc<Schema>>, types: Vec<SqlType>) -> Nodes {
        let columns = [VirtualColumn::new("", SqlType::Xml), VirtualColumn::new("", SqlType::Int)];
        Nodes { columns, query, schema, types }
    }
}

impl VirtualTable for Nodes {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, ctx: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let items =
            run(&self.query, self.schema.as_ref(), &self.types, ctx.session, args)?.unwrap_or_default();
        let instance = args.first().cloned().unwrap_or_default();
        let row = move |item: Item| match item {
            Item::Node(n) => Some(Ok(vec![instance.clone(), Value::Int(i64::from(n.id))])),
            Item::Atom(_) => None,
        };
        Ok(Box::new(items.into_iter().filter_map(row)))
    }
    fn row_count_estimate(&self) -> u64 {
        20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_no_large_tree_behind_its_request() {
        let kept = || TREES.with_borrow(|trees| trees.len());
        tree(&"<a/>".into(), None).unwrap();
        end_of_request();
        assert_eq!(kept(), 1);
        tree(&format!("<a>{}</a>", "x".repeat(KEPT_BYTES)).into(), None).unwrap();
        assert_eq!(kept(), 1, "the larger one alone");
        end_of_request();
        assert_eq!(kept(), 0);
    }
}
