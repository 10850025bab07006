//! Full-text search: catalogs, indexes, stop lists, and the rows that CONTAINSTABLE and FREETEXTTABLE stand for.

use super::{Expr, Ident, ObjectName};
use smol_str::SmolStr;

/// CREATE, ALTER, DROP of FULLTEXT CATALOG, INDEX and STOPLIST.
#[derive(Clone, Debug, PartialEq)]
pub enum FullTextStatement {
    CreateCatalog {
        name: Ident,
        /// ACCENT_SENSITIVITY
        accents: Option<bool>,
        default: bool,
        owner: Option<Ident>,
    },
    AlterCatalog {
        name: Ident,
        change: CatalogChange,
    },
    DropCatalog(Ident),
    CreateIndex(Box<CreateFullTextIndex>),
    AlterIndex {
        table: ObjectName,
        change: FullTextIndexChange,
    },
    DropIndex(ObjectName),
    CreateStoplist {
        name: Ident,
        from: Option<StoplistSource>,
        owner: Option<Ident>,
    },
    AlterStoplist {
        name: Ident,
        change: StoplistChange,
    },
    DropStoplist(Ident),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogChange {
    /// REBUILD [WITH ACCENT_SENSITIVITY]
    Rebuild(Option<bool>),
    Reorganize,
    AsDefault,
}

/// `CREATE FULLTEXT INDEX ON t (…) KEY INDEX i ON c WITH …`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFullTextIndex {
    pub table: ObjectName,
    pub columns: Vec<FullTextColumn>,
    pub key_index: Ident,
    pub catalog: Option<Ident>,
    pub tracking: Option<ChangeTracking>,
    pub no_population: bool,
    pub stoplist: Option<StoplistChoice>,
    /// SEARCH PROPERTY LIST, of which there are none.
    pub property_list: Option<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FullTextColumn {
    pub name: Ident,
    /// TYPE COLUMN
    pub type_column: Option<Ident>,
    /// LANGUAGE: a number, or a name as a string.
    pub language: Option<Expr>,
    pub semantics: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeTracking {
    Auto,
    Manual,
    Off,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StoplistChoice {
    Off,
    System,
    Named(Ident),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Population {
    Full,
    Incremental,
    Update,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FullTextIndexChange {
    Enable,
    Disable,
    Tracking(ChangeTracking),
    Add {
        columns: Vec<FullTextColumn>,
        no_population: bool,
    },
    Drop {
        columns: Vec<Ident>,
        no_population: bool,
    },
    /// ALTER COLUMN … ADD or DROP STATISTICAL_SEMANTICS
    Semantics {
        column: Ident,
        add: bool,
    },
    Start(Population),
    Stop,
    Pause,
    Resume,
    Stoplist {
        choice: StoplistChoice,
        no_population: bool,
    },
    /// SET SEARCH PROPERTY LIST; `None` for OFF.
    PropertyList(Option<Ident>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum StoplistSource {
    System,
    Named { database: Option<Ident>, name: Ident },
}

#[derive(Clone, Debug, PartialEq)]
pub enum StoplistChange {
    Add {
        word: SmolStr,
        language: Expr,
    },
    Drop {
        word: SmolStr,
        language: Expr,
    },
    /// DROP ALL, of one language when it is named.
    DropAll(Option<Expr>),
}

/// `CONTAINSTABLE (table, columns, search [, LANGUAGE l] [, top])`, `FREETEXTTABLE (…)`
#[derive(Clone, Debug, PartialEq)]
pub struct FullTextRows {
    pub contains: bool,
    pub table: ObjectName,
    /// Empty for `*`.
    pub columns: Vec<Ident>,
    pub search: Expr,
    pub language: Option<Expr>,
    /// top_n_by_rank
    pub top: Option<Expr>,
}
