//! OPENXML: rows of a document that `sp_xml_preparedocument` keeps for a session.
//!
//! A pattern picks the nodes that become rows, each column takes what its own pattern finds from there: its first node, as text,
//! or as xml where the column is xml. Without a pattern it is the attribute or the child element of the column's name, as the flags
//! say. Without WITH the rows are the *edge table*: every node below the picked ones. Patterns are paths of [`keel_xml::query`]
//! and, as their last step, the properties `@mp:id`, `@mp:localname`, ….
//!
//! Deliberately absent: the flag 8 and with it overflow in `@mp:xmltext`, which is the whole node here.

use crate::context::ExecCtx;
use crate::errors::{self, Result};
use crate::scope::{RowSource, VirtualColumn, VirtualTable};
use crate::xml;
use keel_types::cast;
use keel_types::cast::Cast;
use keel_types::{Length, SqlError, SqlType, Value};
use keel_xml::parse::{Source, parse};
use keel_xml::query::{Item, NodeRef, Query, root};
use keel_xml::tree::{Document, Kind, ROOT};
use keel_xml::write::Writer;
use smol_str::SmolStr;
use std::sync::Arc;

/// What messages call a pattern.
const LABEL: &str = "OPENXML";
/// A row in memory beside its values, bytes.
const ROW_BYTES: usize = 64;
/// A value beside its text, bytes.
const VALUE_BYTES: usize = 32;

/// Prefixes of patterns and their namespaces; no prefix is the default.
pub type Namespaces = Vec<(Option<String>, String)>;

/// A document that a session keeps.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Its text, well-formed.
    pub text: SmolStr,
    /// What its patterns may use.
    pub namespaces: Arc<Namespaces>,
}

impl Prepared {
    /// Checks a document, and reads the declarations of the element that names the patterns' namespaces. Error 6602 with what is
    /// wrong.
    pub fn new(text: &str, namespaces: Option<&str>) -> Result<Prepared> {
        let read = |text: &str| parse(text, Source::Any, true).map_err(|e| not_parsed(&e.message));
        read(text)?;
        let namespaces = match namespaces {
            Some(text) => declarations(&read(text)?),
            None => Namespaces::new(),
        };
        Ok(Prepared { text: text.into(), namespaces: Arc::new(namespaces) })
    }
}

fn not_parsed(why: &str) -> errors::Error {
    SqlError::new(6602, 16, 2, format!("The error description is '{why}'."))
}

/// The declarations of the outermost element.
fn declarations(d: &Document) -> Namespaces {
    let Some(element) = d.children(ROOT).find(|id| d.node(*id).kind == Kind::Element) else {
        return Namespaces::new();
    };
    let all = d.attributes(element).map(|id| d.node(id)).filter(|n| n.kind == Kind::Namespace);
    all.map(|n| (Some(n.name.local.to_string()).filter(|p| !p.is_empty()), n.text.to_string())).collect()
}

/// The table of a call. `columns` are those of WITH, each with its pattern if it has one; `None` for the edge table.
#[must_use]
pub fn table(columns: Option<Vec<(VirtualColumn, Option<String>)>>) -> Arc<dyn VirtualTable> {
    match columns {
        Some(columns) => {
            let (columns, patterns) = columns.into_iter().unzip();
            Arc::new(OpenXml { columns, patterns: Some(patterns) })
        }
        None => Arc::new(OpenXml { columns: edge_columns(), patterns: None }),
    }
}

fn edge_columns() -> Vec<VirtualColumn> {
    let text = SqlType::NVarChar(Length::Max);
    let columns = [
        ("id", SqlType::BigInt),
        ("parentid", SqlType::BigInt),
        ("nodetype", SqlType::Int),
        ("localname", text),
        ("prefix", text),
        ("namespaceuri", text),
        ("datatype", text),
        ("prev", SqlType::BigInt),
        ("text", SqlType::NText),
    ];
    columns.map(|(name, ty)| VirtualColumn::new(name, ty)).to_vec()
}

struct OpenXml {
    columns: Vec<VirtualColumn>,
    patterns: Option<Vec<Option<String>>>,
}

impl VirtualTable for OpenXml {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, ctx: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let handle = args.first().and_then(Value::as_int).unwrap_or(0);
        let Some(document) = ctx.session.xml_document(handle) else {
            let m = format!("Could not find prepared statement with handle {handle}.");
            return Err(SqlError::new(8179, 16, 5, m));
        };
        let Some(Value::Str(pattern)) = args.get(1) else { return Ok(Box::new(std::iter::empty())) };
        let flags = Flags::new(args.get(2).and_then(Value::as_int).unwrap_or(0))?;
        let mut watch = xml::Watch::new(ctx.session);
        let rows = self.rows(&document, pattern, flags, &mut watch)?;
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
    fn row_count_estimate(&self) -> u64 {
        20
    }
}

/// How columns without a pattern find their value.
#[derive(Clone, Copy)]
struct Flags {
    attributes: bool,
    elements: bool,
}

impl Flags {
    fn new(flags: i64) -> Result<Flags> {
        if flags & 8 != 0 {
            return Err(errors::not_supported("OPENXML with the flag 8"));
        }
        Ok(Flags { attributes: flags & 1 != 0 || flags & 2 == 0, elements: flags & 2 != 0 })
    }
}

impl OpenXml {
    fn rows(
        &self,
        prepared: &Prepared,
        pattern: &str,
        flags: Flags,
        watch: &mut xml::Watch<'_>,
    ) -> Result<Vec<Vec<Value>>> {
        let tree = xml::tree(&prepared.text, None)?;
        let rows = Pattern::new(pattern, &prepared.namespaces)?.nodes(&root(tree.clone()), watch)?;
        let Some(patterns) = &self.patterns else {
            return edges(&tree, &rows, watch);
        };
        let column = |(column, pattern): (&VirtualColumn, &Option<String>)| {
            Taker::new(column, pattern.as_deref(), flags, &prepared.namespaces)
        };
        let takers = self.columns.iter().zip(patterns).map(column).collect::<Result<Vec<_>>>()?;
        let mut all = Vec::new();
        for row in &rows {
            let values = takers.iter().map(|t| t.take(row, watch)).collect::<Result<Vec<_>>>()?;
            watch.note(bytes(&values))?;
            all.push(values);
        }
        Ok(all)
    }
}

fn bytes(values: &[Value]) -> usize {
    let text = |v: &Value| VALUE_BYTES + if let Value::Str(s) = v { s.len() } else { 0 };
    ROW_BYTES + values.iter().map(text).sum::<usize>()
}

/// A compiled path, and a property of what it finds.
struct Pattern {
    query: Option<Query>,
    property: Option<Property>,
}

impl Pattern {
    fn new(text: &str, namespaces: &Namespaces) -> Result<Pattern> {
        let (path, property) = match text.rsplit_once("@mp:") {
            Some((path, name)) => (path.trim().trim_end_matches('/'), Some(Property::by_name(name.trim())?)),
            None => (text, None),
        };
        let query = (property.is_none() || !path.is_empty())
            .then(|| Query::parse(path, LABEL, namespaces).map_err(xml::error))
            .transpose()?;
        Ok(Pattern { query, property })
    }

    /// What the path finds, in document order.
    fn items(&self, from: &NodeRef, watch: &mut xml::Watch<'_>) -> Result<Vec<Item>> {
        match &self.query {
            Some(query) => query.run(from.clone(), &[], watch).map_err(|e| watch.error(e)),
            None => Ok(vec![Item::Node(from.clone())]),
        }
    }

    fn nodes(&self, from: &NodeRef, watch: &mut xml::Watch<'_>) -> Result<Vec<NodeRef>> {
        let node = |item| if let Item::Node(n) = item { Some(n) } else { None };
        Ok(self.items(from, watch)?.into_iter().filter_map(node).collect())
    }
}

/// What is asked of a node beside its value.
#[derive(Clone, Copy)]
enum Property {
    Id,
    ParentId,
    LocalName,
    ParentLocalName,
    NamespaceUri,
    ParentNamespaceUri,
    Prefix,
    ParentPrefix,
    Prev,
    XmlText,
}

impl Property {
    /// Error 6603 for one that does not exist.
    fn by_name(name: &str) -> Result<Property> {
        use Property as P;
        Ok(match name {
            "id" => P::Id,
            "parentid" => P::ParentId,
            "localname" => P::LocalName,
            "parentlocalname" => P::ParentLocalName,
            "namespaceuri" => P::NamespaceUri,
            "parentnamespaceuri" => P::ParentNamespaceUri,
            "prefix" => P::Prefix,
            "parentprefix" => P::ParentPrefix,
            "prev" => P::Prev,
            "xmltext" => P::XmlText,
            _ => {
                let m = format!("XML parsing error: the property 'mp:{name}' does not exist.");
                return Err(SqlError::new(6603, 16, 2, m));
            }
        })
    }

    fn of(self, n: &NodeRef) -> Value {
        use Property as P;
        let d = &n.document;
        let parent = n.node().parent;
        let name = |id: u32| &d.node(id).name;
        let text = |s: &SmolStr| if s.is_empty() { Value::Null } else { Value::Str(s.clone()) };
        match self {
            P::Id => number(id(n.id)),
            P::ParentId => number(parent_id(d, n.id)),
            P::LocalName => text(&name(n.id).local),
            P::ParentLocalName => text(&name(parent).local),
            P::NamespaceUri => text(&name(n.id).uri),
            P::ParentNamespaceUri => text(&name(parent).uri),
            P::Prefix => text(&name(n.id).prefix),
            P::ParentPrefix => text(&name(parent).prefix),
            P::Prev => number(previous(d, n.id)),
            P::XmlText => Value::str(outer(n)),
        }
    }
}

/// The number of a node for clients: the first of a document has 0.
fn id(node: u32) -> Option<i64> {
    (node != ROOT).then(|| i64::from(node) - 1)
}

fn parent_id(d: &Document, node: u32) -> Option<i64> {
    id(d.node(node).parent)
}

/// The sibling before a node; attributes have none.
fn previous(d: &Document, node: u32) -> Option<i64> {
    if node == ROOT {
        return None;
    }
    d.children(d.node(node).parent).take_while(|sibling| *sibling < node).last().and_then(id)
}

fn number(n: Option<i64>) -> Value {
    n.map_or(Value::Null, Value::Int)
}

/// A node with its tags.
fn outer(n: &NodeRef) -> String {
    let mut w = Writer::default();
    w.node(&n.document, n.id);
    w.out
}

/// How one column gets its value from a row's node.
struct Taker {
    /// Tried one after the other.
    patterns: Vec<Pattern>,
    cast: Cast,
    xml: bool,
}

impl Taker {
    fn new(
        column: &VirtualColumn,
        pattern: Option<&str>,
        flags: Flags,
        namespaces: &Namespaces,
    ) -> Result<Taker> {
        let texts = match pattern {
            Some(pattern) => vec![pattern.to_owned()],
            None => {
                let attribute = flags.attributes.then(|| format!("@{}", column.name));
                attribute.into_iter().chain(flags.elements.then(|| column.name.clone())).collect()
            }
        };
        let patterns = texts.iter().map(|t| Pattern::new(t, namespaces)).collect::<Result<Vec<_>>>()?;
        let cast = cast::explicit(SqlType::NVarChar(Length::Max), column.ty)?;
        Ok(Taker { patterns, cast, xml: column.ty.is_xml() })
    }

    fn take(&self, row: &NodeRef, watch: &mut xml::Watch<'_>) -> Result<Value> {
        for pattern in &self.patterns {
            let Some(item) = pattern.items(row, watch)?.into_iter().next() else { continue };
            let value = match (pattern.property, &item) {
                (Some(property), Item::Node(n)) => property.of(n),
                (None, Item::Node(n)) if self.xml && n.node().kind != Kind::Attribute => Value::str(outer(n)),
                _ => Value::Str(item.atom().text()),
            };
            return match value {
                Value::Int(n) => self.cast.apply(&Value::Str(smol_str::format_smolstr!("{n}"))),
                value => self.cast.apply(&value),
            };
        }
        Ok(Value::Null)
    }
}

/// The rows of the edge table: every node at and below the picked ones, and the texts of attributes, which are nodes there.
fn edges(tree: &Document, picked: &[NodeRef], watch: &mut xml::Watch<'_>) -> Result<Vec<Vec<Value>>> {
    let mut all = Vec::new();
    let mut next = 0;
    for n in picked {
        // A node below one that has been shown is shown already.
        let (first, end) = (n.id.max(next).max(ROOT + 1), n.node().end.max(n.id + 1));
        for at in first..end {
            let node = tree.node(at);
            let texts = matches!(node.kind, Kind::Attribute | Kind::Namespace);
            let edge = edge(tree, at);
            watch.note(bytes(&edge))?;
            all.push(edge);
            if texts {
                all.push(text_of_attribute(tree, at));
            }
        }
        next = next.max(end);
    }
    Ok(all)
}

const TEXT: &str = "#text";
const TEXT_NODE: i64 = 3;

fn edge(tree: &Document, at: u32) -> Vec<Value> {
    let node = tree.node(at);
    let text = |s: &str| if s.is_empty() { Value::Null } else { Value::str(s) };
    let (kind, local, prefix) = match node.kind {
        Kind::Element | Kind::Document => (1, node.name.local.as_str(), node.name.prefix.as_str()),
        Kind::Attribute => (2, node.name.local.as_str(), node.name.prefix.as_str()),
        Kind::Namespace if node.name.local.is_empty() => (2, "xmlns", ""),
        Kind::Namespace => (2, node.name.local.as_str(), "xmlns"),
        Kind::Text => (TEXT_NODE, TEXT, ""),
        Kind::Instruction => (7, node.name.local.as_str(), ""),
        Kind::Comment => (8, "#comment", ""),
    };
    let own = matches!(node.kind, Kind::Text | Kind::Comment | Kind::Instruction);
    vec![
        number(id(at)),
        number(parent_id(tree, at)),
        Value::Int(kind),
        text(local),
        text(prefix),
        text(&node.name.uri),
        Value::Null,
        if kind == 2 { Value::Null } else { number(previous(tree, at)) },
        if own { Value::Str(node.text.clone()) } else { Value::Null },
    ]
}

/// Its number follows those of the tree's nodes.
fn text_of_attribute(tree: &Document, at: u32) -> Vec<Value> {
    let mut row = vec![Value::Null; 9];
    row[0] = Value::Int(tree.nodes.len() as i64 + i64::from(at));
    row[1] = number(id(at));
    row[2] = Value::Int(TEXT_NODE);
    row[3] = Value::str(TEXT);
    row[8] = Value::Str(tree.node(at).text.clone());
    row
}
