//! The components of a collection as the catalog views list them, and its documents as `XML_SCHEMA_NAMESPACE` gives them back.

use super::XmlCollectionDef;
use keel_xml::parse::{Source, parse};
use keel_xml::schema::lexical::Primitive;
use keel_xml::schema::simple::{Simple, Variety};
use keel_xml::schema::{Constraint, Key, Schema, Type, builtin};
use keel_xml::tree::{Document, Kind, ROOT};
use keel_xml::write::Writer;

/// What a component is: letter and word of `kind`, letter and word of `symbol_space`.
pub type ComponentKind = ([&'static str; 2], [&'static str; 2]);

const TYPES: [&str; 2] = ["T", "TYPE"];

/// A row of `sys.xml_schema_components`.
#[derive(Clone, Debug)]
pub struct Component {
    /// `xml_component_id`: unique in the database.
    pub id: i64,
    /// `xml_namespace_id`; 1 is the first of the collection.
    pub namespace: i64,
    /// Its name is in its namespace.
    pub qualified: bool,
    /// Name; none of anonymous types.
    pub name: Option<String>,
    /// Kind.
    pub kind: ComponentKind,
    /// Letter and word of `derivation`.
    pub derivation: [&'static str; 2],
    /// `xml_component_id` of the base type, or of the type of an element or attribute.
    pub base: Option<i64>,
    /// What its own view says besides.
    pub detail: Detail,
}

/// What the view of a kind of component says.
#[derive(Clone, Debug)]
pub enum Detail {
    /// Abstract, mixed, blocks (extension, restriction), finals.
    Type(bool, bool, [bool; 2], [bool; 2]),
    /// Abstract, nillable, blocks (extension, restriction, substitution), `default` or `fixed`.
    Element(bool, bool, [bool; 3], Option<Constraint>),
    /// `default` or `fixed`.
    Attribute(Option<Constraint>),
    /// Nothing.
    Group,
}

/// Target namespaces of a collection, in the order of their ids.
#[must_use]
pub fn namespaces(def: &XmlCollectionDef) -> Vec<String> {
    let schema = def.registered.as_ref().and_then(|r| r.schema());
    schema.map_or_else(Vec::new, |s| s.namespaces.iter().map(ToString::to_string).collect())
}

/// All components of a collection: types, elements, global attributes, groups.
#[must_use]
pub fn components(def: &XmlCollectionDef) -> Vec<Component> {
    let Some(schema) = def.registered.as_ref().and_then(|r| r.schema()) else { return Vec::new() };
    let first = i64::from(def.collection_id) << 20;
    let list = List { schema: &schema, first };
    let mut all: Vec<Component> =
        (builtin::COUNT..schema.types.len() as u32).map(|id| list.of_type(id)).collect();
    all.extend(schema.elements.iter().enumerate().map(|(i, e)| Component {
        id: list.element(i),
        namespace: list.namespace(&e.name),
        qualified: !e.name.0.is_empty(),
        name: Some(e.name.1.to_string()),
        kind: (["E", "ELEMENT"], ["E", "ELEMENT"]),
        derivation: if e.head.is_some() { ["S", "SUBSTITUTION"] } else { ["N", "NONE"] },
        base: Some(list.ty(e.ty)),
        detail: Detail::Element(e.is_abstract, e.nillable, e.block, e.constraint.clone()),
    }));
    let behind = list.element(schema.elements.len());
    let mut attributes: Vec<_> = schema.attributes.iter().collect();
    attributes.sort_by_key(|(name, _)| (*name).clone());
    let mut groups: Vec<_> = schema.groups.keys().collect();
    groups.sort();
    let named = |i: usize, name: &Key, kind: ComponentKind, base: Option<i64>, detail: Detail| Component {
        id: behind + i as i64,
        namespace: list.namespace(name),
        qualified: !name.0.is_empty(),
        name: Some(name.1.to_string()),
        kind,
        derivation: ["N", "NONE"],
        base,
        detail,
    };
    let kinds = [["A", "ATTRIBUTE"], ["M", "MODEL_GROUP"], ["G", "ATTRIBUTE_GROUP"]];
    for (i, (name, of)) in attributes.iter().enumerate() {
        let detail = Detail::Attribute(of.constraint.clone());
        all.push(named(i, name, (kinds[0], kinds[0]), Some(list.ty(of.ty)), detail));
    }
    let others = groups
        .into_iter()
        .map(|g| (g, kinds[1]))
        .chain(schema.attribute_groups.iter().map(|g| (g, kinds[2])));
    for (i, (name, kind)) in others.enumerate() {
        all.push(named(attributes.len() + i, name, (kind, kind), None, Detail::Group));
    }
    all
}

struct List<'a> {
    schema: &'a Schema,
    /// Ids begin behind it.
    first: i64,
}

impl List<'_> {
    /// Built-in types have the same ids in all collections.
    fn ty(&self, id: u32) -> i64 {
        if id < builtin::COUNT { i64::from(id) + 1 } else { self.first + i64::from(id - builtin::COUNT) }
    }

    fn element(&self, at: usize) -> i64 {
        self.first + (self.schema.types.len() - builtin::COUNT as usize + at) as i64
    }

    fn namespace(&self, name: &Key) -> i64 {
        let at = self.schema.namespaces.iter().position(|n| *n == name.0);
        at.map_or(1, |at| at as i64 + 1)
    }

    fn of_type(&self, id: u32) -> Component {
        let ty = self.schema.ty(id);
        let (name, base, kind, derivation, detail) = match ty {
            Type::Simple(s) => {
                let kind = kind_of(s);
                (
                    &s.name,
                    s.base,
                    kind,
                    ["R", "RESTRICTION"],
                    Detail::Type(false, false, [false; 2], [false; 2]),
                )
            }
            Type::Complex(c) => {
                let simple = matches!(c.content, keel_xml::schema::Content::Simple(_));
                let kind = if simple { ["C", "COMPLEX_SIMPLE_TYPE"] } else { ["K", "COMPLEX_TYPE"] };
                let derivation = if c.extends { ["X", "EXTENSION"] } else { ["R", "RESTRICTION"] };
                (&c.name, c.base, kind, derivation, Detail::Type(c.is_abstract, c.mixed, c.block, c.is_final))
            }
        };
        Component {
            id: self.ty(id),
            namespace: name.as_ref().map_or(1, |n| self.namespace(n)),
            qualified: name.as_ref().is_some_and(|n| !n.0.is_empty()),
            name: name.as_ref().map(|n| n.1.to_string()),
            kind: (kind, TYPES),
            derivation,
            base: Some(self.ty(base)),
            detail,
        }
    }
}

fn kind_of(simple: &Simple) -> [&'static str; 2] {
    match (&simple.variety, simple.primitive) {
        (Variety::List(_), _) => ["L", "LIST_TYPE"],
        (Variety::Union(_), _) => ["U", "UNION_TYPE"],
        (Variety::Atomic, Primitive::Any) => ["Z", "ANY_SIMPLE_TYPE"],
        (Variety::Atomic, _) => ["S", "SIMPLE_TYPE"],
    }
}

/// The schema documents of a collection, of one target namespace or of all; annotations and comments are not kept. `None` when
/// it has nothing of that namespace.
#[must_use]
pub fn document_of(def: &XmlCollectionDef, namespace: Option<&str>) -> Option<String> {
    let mut out = Writer::default();
    let mut found = namespace.is_none();
    for text in &def.documents {
        let Ok(document) = parse(text, Source::Any, false) else { continue };
        let roots: Vec<u32> = document.children(ROOT).collect();
        for root in roots.into_iter().filter(|r| document.node(*r).kind == Kind::Element) {
            let target = document.attributes(root).map(|a| document.node(a));
            let target =
                target.into_iter().find(|a| a.kind == Kind::Attribute && a.name.local == "targetNamespace");
            let target = target.map_or("", |a| a.text.as_str());
            if namespace.is_some_and(|wanted| wanted != target) {
                continue;
            }
            found = true;
            if let Some(bare) = bare(&document, root) {
                out.node(&bare, ROOT);
            }
        }
    }
    found.then_some(out.out)
}

/// A schema element without annotations and comments.
fn bare(from: &Document, id: u32) -> Option<Document> {
    let mut to = keel_xml::tree::Builder::default();
    copy(from, id, &mut to)?;
    Some(to.finish())
}

fn copy(from: &Document, id: u32, to: &mut keel_xml::tree::Builder) -> Option<()> {
    let node = from.node(id);
    if node.kind != Kind::Element || node.name.local == "annotation" {
        return Some(());
    }
    to.open(&node.name).ok()?;
    for a in from.attributes(id) {
        to.copy(from, a).ok()?;
    }
    for child in from.children(id) {
        copy(from, child, to)?;
    }
    to.close();
    Some(())
}
