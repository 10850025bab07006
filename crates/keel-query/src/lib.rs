//! # keel-query: from a parsed query to rows
//!
//! ```text
//!   syntax tree ──bind──► logical tree (Rel) ──plan──► physical tree (Node) ──open──► operators ──► RowSink
//!                 │ names, types, conversions   │ rewrites, join order,          │ slots of one frame
//!                 │ become slots                │ access paths, closures         │
//! ```
//!
//! A statement compiles once into a [`Plan`] and runs many times. All names, types, conversions and access paths are
//! decided at compile time. At run time there is one frame of *slots* per execution: operators write column values into
//! slots, compiled expressions read them, nothing is looked up by name and rows are copied only where an operator
//! must remember them (sort, hash, spool).
//!
//! | module | owns |
//! | --- | --- |
//! | [`catalog`] | what the binder knows of a database |
//! | [`scope`], [`context`] | what the session layer provides while compiling and while running |
//! | [`bind`] | names and types; the logical tree |
//! | [`expr`] | bound expressions and their compilation |
//! | [`exec`], [`exec::parallel`] | operators; several threads for one statement |
//! | [`full_text`] | full-text indexes: trees, searches |
//! | [`tvf`], [`openxml`] | functions in FROM: of the server, and over prepared documents |
//! | [`work`] | working memory of statements and the files behind it |
//! | [`usage`] | counters of what indexes are used for |
//! | [`watch`] | who wants to be told of changed rows |
//! | [`xml`], [`xml_collection`] | methods of xml; schema collections |
//! | [`errors`] | the product's errors of this layer |
//!
//! Deliberately absent: transactions' boundaries, procedural T-SQL, DDL, plan caching (the session layer's), and
//! anything that knows log positions or sockets.

pub mod bind;
pub mod capture;
pub mod catalog;
pub mod changes;
pub mod clr;
pub mod context;
pub mod dml;
pub mod entries;
pub mod errors;
pub mod exec;
pub mod expr;
pub mod full_text;
pub mod growing;
pub mod mask;
pub mod memory;
pub mod meta;
pub mod openjson;
pub mod openxml;
pub mod partition;
pub mod parts;
pub mod plan;
pub mod policy;
pub mod queue;
pub mod scope;
pub mod stats;
pub mod tvf;
pub mod usage;
pub mod watch;
pub mod work;
pub mod xml;
pub mod xml_collection;

pub use bind::deduce::deduced;
pub use bind::policy::check_predicate;
pub use bind::query::refuse_loose_order;
pub use context::{
    ExecCtx, FunctionInvoker, IsolationLevel, NoRows, RowBuffer, RowSink, RunInfo, SessionInfo, Stamp,
    Transactions,
};
pub use entries::{EntrySort, SortedEntries};
pub use exec::parallel::Workers;
pub use memory::{MemoryPool, MemoryShare};
pub use meta::ColumnMeta;
pub use plan::{
    CompiledCondition, CompiledExpr, Dml, Plan, compile_condition, compile_dml, compile_expr,
    compile_remote_change, compile_select, compile_select_into,
};
pub use scope::{BindScope, Parallelism};
pub use work::WorkSpace;
