//! One query or expression of a program, compiled when it is first executed.

use keel_base::DatabaseId;
use keel_parser::ast;
use keel_query::catalog::ObjectId;
use keel_query::stats::TableStatistics;
use keel_types::SqlType;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What is compiled.
#[derive(Debug)]
pub enum UnitSource {
    /// A value, converted to a type when one is given.
    Expr(ast::Expr, Option<SqlType>),
    /// A condition.
    Condition(ast::Expr),
    /// A SELECT, INSERT, UPDATE, DELETE or MERGE.
    Statement(ast::Statement),
}

/// What a compiled unit was compiled against. It is good as long as all of it is still so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// The session's current database and its user's default schema there, for texts that follow USE and EXECUTE AS.
    pub current: Option<(DatabaseId, i32)>,
    /// The contained group in whose context `master` or `msdb` was named, or none: outside of any. `None` when neither was.
    pub context: Option<Option<crate::hadr::Guid>>,
    /// Catalog versions.
    pub catalogs: Vec<(DatabaseId, u64)>,
    /// Tables and modules it names, through views too.
    pub objects: Vec<(DatabaseId, ObjectId)>,
    /// Those of the tables that are locked when it runs, whatever the isolation level, and others that foreign keys lead to.
    pub locked: Vec<(DatabaseId, ObjectId)>,
    /// Databases of which it reads tables as they were committed, whatever the isolation level.
    pub committed: Vec<DatabaseId>,
    /// Temporary tables and table variables by name, with the version of what the name stood for.
    pub temporary: Vec<(smol_str::SmolStr, u64)>,
    /// It names something of other servers: how often what is known of these had changed, and when it was asked.
    pub remote: Option<(u64, std::time::Instant)>,
    /// Format files of bulk rowsets.
    pub formats: Vec<crate::session::bulk_file::FormatFile>,
}

/// What has to be as it was for a compiled form to be good: what nearly all depend on, so that an execution has one thing to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing, whoever executes it: an expression of variables and constants.
    Always,
    /// The catalog of this database, which has this version.
    While(DatabaseId, u64),
    /// All of its dependencies.
    Otherwise,
}

impl Dependencies {
    /// What has to be looked at before something is executed that was compiled against these and takes such permissions.
    #[must_use]
    pub fn standing(&self, needs: &[Need]) -> Standing {
        let Dependencies {
            current,
            context,
            catalogs,
            objects,
            temporary,
            remote,
            formats,
            locked: _,
            committed: _,
        } = self;
        let outside = remote.is_some() || !formats.is_empty();
        if current.is_some() || context.is_some() || !temporary.is_empty() || outside {
            return Standing::Otherwise;
        }
        match catalogs[..] {
            [] if objects.is_empty() && needs.is_empty() => Standing::Always,
            [(database, version)] => Standing::While(database, version),
            _ => Standing::Otherwise,
        }
    }
}

/// Statistics of a table that a plan's estimates were made from: the plan is made anew when there are others.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// Where the table is.
    pub database: DatabaseId,
    /// Its object id.
    pub object: ObjectId,
    /// What was known of it.
    pub statistics: Arc<TableStatistics>,
}

/// A permission that a statement needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// On the instance.
    Server {
        /// Its name.
        permission: &'static str,
    },
    /// On an object.
    Object {
        /// Where it is.
        database: DatabaseId,
        /// Object id.
        object: ObjectId,
        /// Schema of the object.
        schema: i32,
        /// The permission's name.
        permission: &'static str,
        /// Columns it is needed on, by id; an empty list for any, `None` for all.
        columns: Option<Vec<i32>>,
    },
}

/// Compiled forms that a unit keeps as long as it lives. They are read without a trace; a unit that is compiled more often than
/// this keeps the newest beside them, which costs each execution two writes to its thread's own memory.
const KEPT: usize = 4;

/// A unit with its compiled form.
pub struct Unit {
    /// What is compiled.
    pub source: UnitSource,
    /// The first compiled forms, oldest first.
    kept: [OnceLock<Arc<Compiled>>; KEPT],
    /// The newest after those.
    cache: arc_swap::ArcSwapOption<Compiled>,
    /// How often it was compiled again.
    pub recompilations: AtomicU64,
    query_hash: OnceLock<u64>,
}

/// The compiled form.
pub struct Compiled {
    /// What can be executed.
    pub code: CompiledCode,
    /// What it depends on.
    pub dependencies: Dependencies,
    /// What of that has to be looked at each time.
    pub standing: Standing,
    /// The columns it returns, as the client is told.
    pub columns: Vec<crate::sink::ColumnMeta>,
    /// What whoever executes it must be allowed to do.
    pub needs: Vec<Need>,
    /// What is read and run besides, which the owner of a view or function answers for: audits want to know.
    pub answered: Vec<Need>,
    /// What compiling took, µs.
    pub took_us: u32,
    /// Whether a Query Store has counted that.
    pub counted: AtomicBool,
    /// What is taken before it runs, after which the catalog is checked again.
    pub guards: super::Guards,
    /// Statistics that its estimates were made from.
    pub sampled: Vec<Sampled>,
    /// When it was seen last that these are still what is known (`Engine::look`); [`OUT_OF_DATE`] when they were not.
    pub looked: AtomicU64,
}

/// No plan is looked at in this moment.
pub const OUT_OF_DATE: u64 = u64::MAX;

impl Compiled {
    /// Whether it is for one execution: nobody keeps it.
    #[must_use]
    pub fn is_for_once(&self) -> bool {
        matches!(&self.code, CompiledCode::Plan(plan) if plan.is_for_once())
    }

    /// What compiling took, µs and one at least, for the first who asks.
    #[must_use]
    pub fn first_seen_us(&self) -> u64 {
        if self.counted.swap(true, Ordering::Relaxed) { 0 } else { u64::from(self.took_us.max(1)) }
    }
}

/// A compiled form while it is used. One that all sessions share is borrowed, not counted: a count would be a cache line
/// that every statement of every session writes to.
pub enum InUse<'u> {
    /// What the unit keeps for ever.
    Kept(&'u Arc<Compiled>),
    /// What the unit keeps.
    Shared(arc_swap::Guard<Option<Arc<Compiled>>>),
    /// Anything else.
    Own(Arc<Compiled>),
}

impl InUse<'_> {
    /// For whoever keeps it longer than a statement.
    #[must_use]
    pub fn share(&self) -> Arc<Compiled> {
        match self {
            InUse::Kept(compiled) => Arc::clone(compiled),
            InUse::Shared(guard) => Arc::clone(guard.as_ref().expect("made from a unit that keeps one")),
            InUse::Own(compiled) => Arc::clone(compiled),
        }
    }
}

impl std::ops::Deref for InUse<'_> {
    type Target = Compiled;
    fn deref(&self) -> &Compiled {
        match self {
            InUse::Kept(compiled) => compiled,
            InUse::Shared(guard) => guard.as_deref().expect("made from a unit that keeps one"),
            InUse::Own(compiled) => compiled,
        }
    }
}

/// Executable forms.
pub enum CompiledCode {
    /// A value.
    Expr(keel_query::CompiledExpr),
    /// A condition.
    Condition(keel_query::CompiledCondition),
    /// A query or data change.
    Plan(Box<keel_query::Plan>),
    /// A data change that an INSTEAD OF trigger takes over.
    Instead(Box<crate::run::Instead>),
    /// A data change at another server.
    Remote(Box<crate::linked::change::RemoteChange>),
}

impl Unit {
    /// Not yet compiled.
    #[must_use]
    pub fn new(source: UnitSource) -> Unit {
        let kept = [const { OnceLock::new() }; KEPT];
        let cache = arc_swap::ArcSwapOption::empty();
        Unit { source, kept, cache, recompilations: AtomicU64::new(0), query_hash: OnceLock::new() }
    }
    /// Where it is in its program's text, bytes.
    #[must_use]
    pub fn span(&self) -> (u32, u32) {
        let span = match &self.source {
            UnitSource::Statement(statement) => statement.span,
            UnitSource::Expr(e, _) | UnitSource::Condition(e) => e.span,
        };
        (span.start, span.end)
    }
    /// `query_hash` of its statement, in its program.
    #[must_use]
    pub fn query_hash(&self, program: &super::Program) -> u64 {
        *self.query_hash.get_or_init(|| crate::query_store::query_hash(program, self.span()))
    }
    /// A value.
    #[must_use]
    pub fn expr(expr: ast::Expr, ty: Option<SqlType>) -> Unit {
        Unit::new(UnitSource::Expr(expr, ty))
    }
    /// The newest of the compiled forms that stay.
    #[must_use]
    pub fn kept(&self) -> Option<&Arc<Compiled>> {
        self.kept.iter().rev().find_map(OnceLock::get)
    }
    /// The newest of all.
    #[must_use]
    #[inline]
    pub fn newest(&self) -> Option<InUse<'_>> {
        let is_full = self.kept.last().is_some_and(|last| last.get().is_some());
        let cached = if is_full { Some(self.cache.load()).filter(|cached| cached.is_some()) } else { None };
        cached.map(InUse::Shared).or_else(|| self.kept().map(InUse::Kept))
    }
    /// Keeps a compiled form for the next execution, by whichever session.
    pub fn keep(&self, mut compiled: Arc<Compiled>) {
        for place in &self.kept {
            match place.set(compiled) {
                Ok(()) => return,
                Err(refused) => compiled = refused,
            }
        }
        self.cache.store(Some(compiled));
    }
}

impl std::fmt::Debug for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.source.fmt(f)
    }
}
