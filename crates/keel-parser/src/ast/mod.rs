//! The syntax tree: what a batch says, before anything is looked up.
//!
//! Names keep their original spelling and whether they were quoted; nothing is folded. Literals carry the type
//! that their spelling gives them. Every statement and expression has a [`Span`]: bytes in the batch text and a
//! line from 1. Two nodes are equal when they say the same thing: spans do not take part in equality.
//!
//! Deliberately absent: types of expressions, resolved objects, anything that needs a catalog.
#![allow(missing_docs, reason = "the names of the nodes and fields are the documentation")]
#![allow(clippy::large_enum_variant, reason = "trees are built once; what nests deeply is boxed")]

pub mod admin;
pub mod audit;
pub mod broker;
pub mod ddl;
pub mod dml;
pub mod event_session;
pub mod expr;
pub mod full_text;
pub mod governor;
pub mod keys;
pub mod policy;
pub mod procedural;
pub mod query;

pub use admin::*;
pub use audit::*;
pub use broker::*;
pub use ddl::*;
pub use dml::*;
pub use event_session::*;
pub use expr::*;
pub use full_text::*;
pub use governor::*;
pub use keys::*;
pub use policy::*;
pub use procedural::*;
pub use query::*;

use smol_str::SmolStr;
use std::fmt;

/// Where a node stands: byte range in the batch text and the line of its first token, from 1.
#[derive(Clone, Copy, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
    pub line: u32,
}

/// Position is not meaning: any two spans are equal, so that derived equality compares what nodes say.
impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}
impl Eq for Span {}

/// The trees print compactly, for golden files and failed assertions: a span is its line, a name itself.
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.line)
    }
}

impl Span {
    /// The text that the span covers.
    #[must_use]
    pub fn text<'a>(&self, batch: &'a str) -> &'a str {
        batch.get(self.start as usize..self.end as usize).unwrap_or("")
    }
    /// From the start of `self` to the end of `last`.
    #[must_use]
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end.max(self.end), line: self.line }
    }
}

/// A name as written, without its quotes.
#[derive(Clone, PartialEq, Eq)]
pub struct Ident {
    pub text: SmolStr,
    /// Written in brackets or double quotes.
    pub quoted: bool,
    pub span: Span,
}

impl Ident {
    /// An unquoted name that stands nowhere, for synthesised nodes.
    #[must_use]
    pub fn new(text: impl Into<SmolStr>) -> Ident {
        Ident { text: text.into(), quoted: false, span: Span::default() }
    }
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
    /// Equal to an ASCII word, ignoring case.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }
}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.quoted { write!(f, "[{}]", self.text) } else { f.write_str(&self.text) }
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `[server.][database.][schema.]name`; a part left empty (`db..t`) is `None`.
///
/// Temporary objects are plain names that start with `#` or `##`. Table variables are not `ObjectName`s.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectName {
    pub server: Option<Ident>,
    pub database: Option<Ident>,
    pub schema: Option<Ident>,
    pub name: Ident,
    pub span: Span,
}

impl ObjectName {
    /// A one-part name.
    #[must_use]
    pub fn simple(name: Ident) -> ObjectName {
        let span = name.span;
        ObjectName { server: None, database: None, schema: None, name, span }
    }
    /// `#t` or `##t`.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        self.name.text.starts_with('#')
    }
    /// `##t`.
    #[must_use]
    pub fn is_global_temporary(&self) -> bool {
        self.name.text.starts_with("##")
    }
    /// Has only its last part.
    #[must_use]
    pub fn is_simple(&self) -> bool {
        self.server.is_none() && self.database.is_none() && self.schema.is_none()
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = false;
        for part in [&self.server, &self.database, &self.schema] {
            if let Some(part) = part {
                write!(f, "{part:?}")?;
            }
            if part.is_some() || shown {
                shown = true;
                f.write_str(".")?;
            }
        }
        write!(f, "{:?}", self.name)
    }
}

/// As error messages show it: parts joined by dots, no quotes (`db..t`).
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = false;
        for part in [&self.server, &self.database, &self.schema] {
            if let Some(part) = part {
                write!(f, "{part}.")?;
                shown = true;
            } else if shown {
                f.write_str(".")?;
            }
        }
        write!(f, "{}", self.name)
    }
}

/// A variable or parameter; `name` begins with `@`.
#[derive(Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: SmolStr,
    pub span: Span,
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A type as written. Synonyms of several words are replaced by their one-word name (`double precision` → `float`,
/// `national character varying` → `nvarchar`); all else, including alias types, is as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    pub name: ObjectName,
    pub args: Vec<TypeArg>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeArg {
    Number(u32),
    Max,
    /// `xml(schema_collection)`, `xml(DOCUMENT schema_collection)`
    Collection {
        document: bool,
        name: ObjectName,
    },
}

/// `NAME = value`, `NAME value`, `NAME` in the many option lists. Names are upper case, words joined by one space.
#[derive(Clone, Debug, PartialEq)]
pub struct Opt {
    pub name: SmolStr,
    pub value: OptValue,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum OptValue {
    /// The name stands alone.
    None,
    On,
    Off,
    /// A word or quoted name; several words are joined by one space.
    Word(Ident),
    Number(Literal),
    /// A number with a unit: `10 MB`, `120 SECONDS`, `50 PERCENT`, `10%`.
    Measure(Literal, SmolStr),
    String(SmolStr),
    Variable(Variable),
    /// `( … )`
    List(Vec<Opt>),
    /// `ON ( … )` and the like: a word followed by a list.
    WordList(Ident, Vec<Opt>),
}

impl OptValue {
    /// The text of a word or string.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            OptValue::Word(word) => Some(&word.text),
            OptValue::String(text) => Some(text),
            OptValue::On => Some("ON"),
            OptValue::Off => Some("OFF"),
            _ => None,
        }
    }
    /// The value of a binary constant.
    #[must_use]
    pub fn binary(&self) -> Option<&[u8]> {
        match self {
            OptValue::Number(Literal::Binary(bytes)) => Some(bytes),
            _ => None,
        }
    }
    /// The value of a number without exponent, with or without unit.
    #[must_use]
    pub fn decimal(&self) -> Option<f64> {
        match self {
            OptValue::Number(n) | OptValue::Measure(n, _) => match n {
                Literal::Int(n) => Some(f64::from(*n)),
                Literal::Numeric { mantissa, scale, .. } => {
                    Some(*mantissa as f64 / 10f64.powi(i32::from(*scale)))
                }
                _ => None,
            },
            _ => None,
        }
    }
    /// The value of a whole number, with or without unit.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        match self {
            OptValue::Number(n) | OptValue::Measure(n, _) => n.as_i64(),
            _ => None,
        }
    }
}

/// A batch: what a client sends between two GOs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub statements: Vec<Statement>,
}

/// One statement. `span.line` is the line that errors raised while it runs report.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

/// All statements. Large ones are boxed so that the tree of a procedure stays compact.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    // Queries and DML.
    Select(Box<SelectStatement>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    Truncate(Box<Truncate>),
    BulkInsert(Box<BulkInsert>),
    InsertBulk(Box<InsertBulk>),
    UpdateStatistics(Box<UpdateStatistics>),

    // Procedural.
    Declare(Vec<Declaration>),
    DeclareCursor(Box<DeclareCursor>),
    SetVariable(Box<SetVariable>),
    SetOption(Box<SetOption>),
    Block(Vec<Statement>),
    If(Box<If>),
    While(Box<While>),
    Break,
    Continue,
    Label(Ident),
    Goto(Ident),
    Return(Option<Expr>),
    TryCatch(Box<TryCatch>),
    Print(Expr),
    RaisError(Box<RaisError>),
    Throw(Option<Box<Throw>>),
    WaitFor(WaitFor),
    Execute(Box<Execute>),
    BeginTransaction(BeginTransaction),
    Commit(EndTransaction),
    Rollback(EndTransaction),
    Save(TransactionName),
    OpenCursor(CursorRef),
    CloseCursor(CursorRef),
    DeallocateCursor(CursorRef),
    Fetch(Box<Fetch>),
    Use(Ident),
    ExecuteAs(ExecuteAs),
    Revert(Option<Expr>),

    // DDL.
    CreateDatabase(Box<CreateDatabase>),
    AlterDatabase(Box<AlterDatabase>),
    CreateSchema(Box<CreateSchema>),
    AlterSchema(Box<AlterSchema>),
    SensitivityClassification(Box<SensitivityClassification>),
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    CreateIndex(Box<CreateIndex>),
    AlterIndex(Box<AlterIndex>),
    CreateStatistics(Box<CreateStatistics>),
    CreateView(Box<CreateView>),
    CreateProcedure(Box<CreateProcedure>),
    CreateFunction(Box<CreateFunction>),
    CreateTrigger(Box<CreateTrigger>),
    EnableTrigger(Box<EnableTrigger>),
    CreateType(Box<CreateType>),
    XmlCollection(Box<XmlCollection>),
    CreateSequence(Box<CreateSequence>),
    AlterSequence(Box<CreateSequence>),
    CreateSynonym(Box<CreateSynonym>),
    CreateBindable(Box<CreateBindable>),
    Drop(Box<Drop>),
    DropIndex(Box<DropIndex>),

    // Security and administration.
    CreateLogin(Box<CreateLogin>),
    AlterLogin(Box<AlterLogin>),
    CreateUser(Box<CreateUser>),
    AlterUser(Box<AlterUser>),
    CreateRole(Box<CreateRole>),
    AlterRole(Box<AlterRole>),
    Permission(Box<Permission>),
    AlterAuthorization(Box<AlterAuthorization>),
    Backup(Box<Backup>),
    Restore(Box<Restore>),
    Dbcc(Box<Dbcc>),
    Kill(Kill),
    Checkpoint(Option<Expr>),
    Reconfigure {
        with_override: bool,
    },
    Shutdown {
        no_wait: bool,
    },
    AvailabilityGroup(Box<AvailabilityGroupStatement>),
    Endpoint(Box<EndpointStatement>),
    /// Master keys, certificates, asymmetric and symmetric keys
    Key(Box<KeyStatement>),
    /// CREATE, ALTER, DROP of CREDENTIAL and of DATABASE SCOPED CREDENTIAL
    Credential(Box<CredentialStatement>),
    /// CREATE, ALTER, DROP DATABASE ENCRYPTION KEY
    DatabaseEncryptionKey(Box<DatabaseEncryptionKey>),
    Partition(Box<PartitionStatement>),
    SecurityPolicy(Box<SecurityPolicy>),
    /// CREATE, ALTER, DROP of FULLTEXT CATALOG, INDEX, STOPLIST
    FullText(Box<FullTextStatement>),
    EventSession(Box<EventSessionStatement>),
    /// CREATE, ALTER, DROP of SERVER AUDIT and of audit specifications
    Audit(Box<AuditStatement>),
    Governor(Box<GovernorStatement>),
    /// CREATE, ALTER, DROP of MESSAGE TYPE, CONTRACT, QUEUE, SERVICE, ROUTE
    Broker(Box<BrokerStatement>),
    /// BEGIN DIALOG, SEND, RECEIVE and their kin
    Conversation(Box<Conversation>),
    /// CREATE/ALTER/DROP of object classes that are kept as name and options (server configuration, external tables, …).
    Generic(Box<GenericStatement>),
}
