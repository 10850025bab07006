//! Batches and modules as they run: a flat list of instructions.
//!
//! ```text
//!   text ──parse──► tree ──lower──► Program { instructions, variables }   shared by all sessions (plan cache)
//!                                      │
//!                                      └─ Unit: one query or expression; compiled by keel-query when first executed
//!                                               and again when what it was compiled against has changed
//! ```
//!
//! Lowering decides everything that does not need a catalog: control flow becomes jumps, variables become slots, GOTO
//! targets are resolved, TRY blocks become handler pushes with a known depth. Names of tables are *not* looked up
//! (deferred name resolution): a procedure may create the table it then uses.
//!
//! Deliberately absent: execution (`run`), catalogs, anything of one session.

pub mod captured;
mod exec_text;
mod guards;
pub mod lower;
mod slots;
mod stats;
mod unit;
mod variables;

pub use guards::{Guards, Object};
pub use lower::{ModuleShape, lower_batch, lower_module};
pub use slots::Variables;
pub use stats::{RunCost, RunStats, Runs, Total};
pub use unit::{
    Compiled, CompiledCode, Dependencies, InUse, Need, OUT_OF_DATE, Sampled, Standing, Unit, UnitSource,
};

use keel_base::DatabaseId;
use keel_parser::ast;
use keel_query::catalog::ObjectId;
use keel_types::{SqlType, Value};
use smol_str::SmolStr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A place in the instruction list.
pub type Label = u32;
/// Index of a scalar variable in a frame.
pub type Slot = u32;

/// A scalar variable or parameter.
#[derive(Clone, Debug)]
pub struct VariableDef {
    /// Name with its `@`, folded.
    pub name: SmolStr,
    /// Declared type.
    pub ty: SqlType,
}

/// A parameter of a module or parameterised batch. The first variables of a program are its parameters.
#[derive(Clone, Debug)]
pub struct ParameterDef {
    /// Name with its `@`, as declared.
    pub name: SmolStr,
    /// Declared type (`SqlType::Null` for table and cursor parameters).
    pub ty: SqlType,
    /// Default, evaluated at call.
    pub default: Option<Value>,
    /// OUTPUT.
    pub output: bool,
    /// Index into the table variables when it is a table-valued parameter, with its type's name.
    pub table: Option<(usize, ast::ObjectName)>,
    /// A cursor parameter.
    pub cursor: bool,
}

/// A table variable.
#[derive(Clone, Debug)]
pub struct TableVariableDef {
    /// Name with its `@`, folded.
    pub name: SmolStr,
    /// Its columns and constraints, or the table type it has.
    pub shape: TableShape,
}

/// What a table variable looks like.
#[derive(Clone, Debug)]
pub enum TableShape {
    /// `TABLE (…)`
    Elements(Vec<ast::TableElement>),
    /// A table type.
    Type(ast::ObjectName),
}

/// Where a program comes from: for error attribution and name resolution.
#[derive(Clone, Debug)]
pub struct ModuleIdentity {
    /// Database of the module; of the batch, the one it was compiled in.
    pub database: DatabaseId,
    /// Object id; 0 for batches.
    pub object_id: ObjectId,
    /// Schema in which one-part names are looked for first.
    pub schema_id: i32,
    /// Name in messages; `None` for batches.
    pub name: Option<SmolStr>,
    /// What kind of program.
    pub kind: ProgramKind,
}

/// Kinds of programs differ in what a client sees of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// A batch from the client.
    Batch,
    /// EXEC('…') and sp_executesql.
    Dynamic,
    /// A stored procedure.
    Procedure,
    /// A scalar function.
    Function,
    /// A multi-statement table function.
    TableFunction,
    /// A trigger.
    Trigger,
}

/// A batch or module ready to run.
#[derive(Debug)]
pub struct Program {
    /// Unique in the process: the key of per-session state about it.
    pub id: u64,
    /// Where it comes from.
    pub identity: ModuleIdentity,
    /// Its text.
    pub text: Arc<str>,
    /// Parameters, the first of `variables`.
    pub parameters: Vec<ParameterDef>,
    /// Scalar variables.
    pub variables: Variables,
    /// Table variables.
    pub tables: Vec<TableVariableDef>,
    /// Cursor variables, by folded name.
    pub cursors: Vec<SmolStr>,
    /// Instructions; the last one is a `Return`.
    pub code: Vec<Instruction>,
    /// SET QUOTED_IDENTIFIER when it was parsed.
    pub quoted_identifier: bool,
    /// SET ANSI_NULLS when it was made.
    pub ansi_nulls: bool,
    /// WITH EXECUTE AS, as the catalog has it.
    pub execute_as: Option<i32>,
    /// Who has signed it.
    pub signers: Arc<[crate::keys::signature::ModuleSigner]>,
    /// WITH RECOMPILE: it is compiled for each call.
    pub recompile: bool,
    /// Its parameters stand for the literals of texts.
    pub parameterized: Option<crate::parameterization::Mode>,
    /// RETURNS NULL ON NULL INPUT: a NULL among the arguments is the answer already.
    pub null_on_null_input: bool,
    /// RETURNS of a scalar function.
    pub returns: Option<SqlType>,
    /// How often it ran and what that cost.
    pub stats: Arc<RunStats>,
    /// One more than the version of the catalog at which all columns it names were there.
    pub looked_at: AtomicU64,
}

/// What a program takes of memory whatever its text is, bytes.
const PROGRAM_BYTES: usize = 4 << 10;
/// The same without code.
const STUB_BYTES: usize = 512;
/// What a byte of its text adds: of joins, scripts and lists of INSERT 26 to 98 were counted (resident memory for thousands of each).
const TREE_BYTES: usize = 80;

impl Program {
    /// What it takes of memory, roughly, bytes: text, instructions, and the trees and plans that hang on these, which are in proportion to
    /// the text.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        if self.is_stub() {
            STUB_BYTES + self.text.len()
        } else {
            PROGRAM_BYTES + TREE_BYTES * self.text.len()
        }
    }

    /// The declarations of a text's parameters in parentheses, as views have them in front of it: `(@a int,@b nvarchar(20))`. Empty of
    /// modules, and where there are none.
    #[must_use]
    pub fn declarations(&self) -> String {
        if self.identity.object_id != 0 || self.parameters.is_empty() {
            return String::new();
        }
        let declared = |p: &ParameterDef| {
            let ty = p.table.as_ref().map_or_else(|| p.ty.to_string(), |(_, name)| name.to_string());
            format!("{} {ty}{}", p.name, if p.output { " OUTPUT" } else { "" })
        };
        format!("({})", self.parameters.iter().map(declared).collect::<Vec<_>>().join(","))
    }

    /// Where a statement begins and ends in the text with its declarations in front, in bytes of UTF-16, as the product counts; the end is
    /// -1 at the end of the text.
    #[must_use]
    pub fn offsets(&self, (start, end): (u32, u32)) -> (i64, i64) {
        let units = |text: &str| if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
        // A module has many statements, each of which asks for all that is before it.
        let until = |end: u32| units(self.text.get(..end as usize).unwrap_or_default());
        let before = units(&self.declarations());
        let rest = self.text.get(end as usize..).unwrap_or_default();
        let ends = rest.trim_end_matches(|c: char| c.is_whitespace() || c == ';').is_empty();
        let bytes = |units: usize| 2 * units as i64;
        (bytes(before + until(start)), if ends { -1 } else { bytes(before + until(end)) })
    }

    /// Whether there is nothing to run: what stays of a text that has come once.
    #[must_use]
    pub fn is_stub(&self) -> bool {
        self.code.is_empty()
    }

    /// What stays of a text that has come once.
    #[must_use]
    pub fn stub(&self) -> Program {
        let bare = Program::bare(self.identity.clone());
        Program { id: self.id, text: Arc::clone(&self.text), ..bare }
    }

    /// A program without code, as the surroundings of a single statement.
    #[must_use]
    pub fn bare(identity: ModuleIdentity) -> Program {
        Program {
            id: 0,
            identity,
            text: "".into(),
            parameters: Vec::new(),
            variables: Variables::default(),
            tables: Vec::new(),
            cursors: Vec::new(),
            code: Vec::new(),
            quoted_identifier: true,
            ansi_nulls: true,
            execute_as: None,
            signers: Arc::default(),
            recompile: false,
            parameterized: None,
            null_on_null_input: false,
            returns: None,
            stats: Arc::default(),
            looked_at: AtomicU64::default(),
        }
    }

    /// The same variables and surroundings without code, to which a statement may add variables of its own.
    #[must_use]
    pub fn bare_copy(&self) -> Program {
        Program {
            text: Arc::clone(&self.text),
            variables: self.variables.clone(),
            tables: self.tables.clone(),
            quoted_identifier: self.quoted_identifier,
            ansi_nulls: self.ansi_nulls,
            ..Program::bare(self.identity.clone())
        }
    }

    /// The slot of a variable by name.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<(Slot, &VariableDef)> {
        let slot = self.variables.slot(name)?;
        Some((slot, &self.variables[slot as usize]))
    }
    /// The index of a table variable by name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|v| v.name.eq_ignore_ascii_case(name))
    }
}

/// One step.
#[derive(Debug)]
pub struct Instruction {
    /// What to do.
    pub op: Op,
    /// Line that errors report.
    pub line: u32,
    /// Where its statement begins in the text, bytes.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// How often it ran and what that cost, where [`Op::is_counted`].
    pub stats: Option<Box<RunStats>>,
}

/// The steps.
#[derive(Debug)]
pub enum Op {
    /// Goes on elsewhere, leaving TRY and CATCH blocks down to `depth`.
    Jump {
        /// Where.
        target: Label,
        /// How many handlers stay.
        depth: u16,
    },
    /// Goes on elsewhere when the condition is not true.
    JumpUnless {
        /// IF or WHILE condition.
        condition: Unit,
        /// Where.
        target: Label,
    },
    /// A TRY block begins.
    EnterTry {
        /// Its CATCH block.
        handler: Label,
    },
    /// The innermost TRY or CATCH block ends.
    LeaveTry,
    /// The end of the program or RETURN.
    Return(Option<Unit>),
    /// SET @v = …, DECLARE @v … = …
    Assign {
        /// Which.
        slot: Slot,
        /// What, converted to the variable's type.
        value: Unit,
        /// DECLARE, of which clients are not told.
        declares: bool,
    },
    /// A SELECT that returns rows or assigns variables.
    Select {
        /// The query.
        query: Unit,
        /// Assigns variables and returns no rows.
        assigns: bool,
    },
    /// SELECT … INTO
    SelectInto(Box<(ast::SelectStatement, ast::Span)>),
    /// INSERT, UPDATE, DELETE, MERGE
    Dml {
        /// The statement.
        statement: Unit,
        /// Its command number.
        command: u16,
    },
    /// INSERT … EXEC
    InsertExec {
        /// INSERT … SELECT * FROM the captured rows.
        insert: Unit,
        /// What to run.
        call: Box<Call>,
    },
    /// A positioned UPDATE or DELETE.
    Positioned(Box<Positioned>),
    /// EXEC of a procedure.
    Call(Box<Call>),
    /// EXEC (string)
    ExecText {
        /// `AS LOGIN | USER = name`
        run_as: Option<Box<(ast::Principal, Unit)>>,
        /// The text.
        text: Unit,
    },
    /// PRINT
    Print(Unit),
    /// RAISERROR
    RaisError(Box<RaisErrorOp>),
    /// THROW; `None` rethrows.
    Throw(Option<Box<(Unit, Unit, Unit)>>),
    /// WAITFOR; true for TIME.
    WaitFor(Unit, bool),
    /// BEGIN TRANSACTION; what stands behind WITH MARK, if that does; whether it is DISTRIBUTED.
    Begin(Option<NameSource>, Option<SmolStr>, bool),
    /// COMMIT; whether WITH (DELAYED_DURABILITY = ON) stands behind it.
    Commit(Option<NameSource>, bool),
    /// ROLLBACK
    Rollback(Option<NameSource>),
    /// SAVE TRANSACTION
    Save(NameSource),
    /// DECLARE CURSOR or SET @c = CURSOR
    DeclareCursor(Box<CursorOp>),
    /// OPEN
    OpenCursor(CursorName),
    /// CLOSE
    CloseCursor(CursorName),
    /// DEALLOCATE
    DeallocateCursor(CursorName),
    /// FETCH
    Fetch(Box<FetchOp>),
    /// `SET @a = @b` of cursor variables.
    CopyCursor {
        /// Target, index of a cursor variable.
        to: usize,
        /// Source.
        from: CursorName,
    },
    /// USE
    Use(SmolStr),
    /// SET of session options.
    Set(Box<SetOp>),
    /// BEGIN DIALOG, SEND, RECEIVE and their kin.
    Converse(Box<crate::broker::Plan>),
    /// Everything that changes definitions or administers: interpreted from the tree.
    Statement(Box<ast::Statement>),
}

impl Op {
    /// Whether it is a statement that a Query Store records.
    #[must_use]
    #[inline]
    pub fn is_query(&self) -> bool {
        matches!(self, Op::Select { .. } | Op::Dml { .. } | Op::SelectInto(_))
    }

    /// Whether its runs are counted: what reads or changes rows. `asks` says whether there is a query in an expression.
    pub fn is_counted(&self, asks: impl FnOnce(&Unit) -> bool) -> bool {
        match self {
            Op::InsertExec { .. } | Op::Positioned(_) => true,
            Op::Assign { value: unit, .. }
            | Op::JumpUnless { condition: unit, .. }
            | Op::Return(Some(unit)) => asks(unit),
            other => other.is_query(),
        }
    }

    /// Whether its rows are those that `@@ROWCOUNT` has when it has ended.
    #[must_use]
    pub fn tells_rows(&self) -> bool {
        !matches!(self, Op::Return(_))
    }

    /// The query or change that a plan is kept for.
    #[must_use]
    pub fn unit(&self) -> Option<&Unit> {
        match self {
            Op::Select { query: unit, .. } | Op::Dml { statement: unit, .. } => Some(unit),
            _ => None,
        }
    }

    /// Whether it reads variables in expressions alone, which say what they read: what else grows may stay behind.
    #[must_use]
    #[inline]
    pub fn reads_by_expression(&self) -> bool {
        matches!(
            self,
            Op::Assign { .. }
                | Op::JumpUnless { .. }
                | Op::Jump { .. }
                | Op::Fetch(_)
                | Op::EnterTry { .. }
                | Op::LeaveTry
        )
    }
}

/// A transaction name: known or in a variable.
#[derive(Clone, Debug)]
pub enum NameSource {
    /// As written.
    Literal(SmolStr),
    /// In a variable.
    Slot(Slot),
}

/// A call of a procedure.
#[derive(Debug)]
pub struct Call {
    /// `@rc =`
    pub status: Option<Slot>,
    /// Whom.
    pub target: CallTarget,
    /// Arguments in order.
    pub args: Vec<CallArg>,
    /// `WITH RECOMPILE`
    pub recompile: bool,
    /// `AS LOGIN | USER = name` of EXEC (string).
    pub run_as: Option<(ast::Principal, Unit)>,
    /// `WITH RESULT SETS`: the columns of each result that there must be.
    pub results: Option<Vec<Vec<WantedColumn>>>,
    /// Where it is written.
    pub span: ast::Span,
}

/// A column of a result as WITH RESULT SETS wants it.
#[derive(Clone, Debug)]
pub struct WantedColumn {
    /// Name.
    pub name: SmolStr,
    /// Type.
    pub ty: SqlType,
    /// Whether NULL may be in it.
    pub nullable: bool,
}

/// Whom to call.
#[derive(Debug)]
pub enum CallTarget {
    /// By name.
    Name(ast::ObjectName),
    /// The name is in a variable.
    Slot(Slot),
    /// EXEC (string), for INSERT … EXEC.
    Text(Unit),
    /// EXEC (string) AT a linked server.
    At(SmolStr, Unit),
}

/// An argument.
#[derive(Debug)]
pub struct CallArg {
    /// `@name =`
    pub name: Option<SmolStr>,
    /// What.
    pub value: ArgValue,
    /// OUTPUT
    pub output: bool,
}

/// What an argument is.
#[derive(Debug)]
pub enum ArgValue {
    /// DEFAULT
    Default,
    /// A constant.
    Constant(Value, SqlType),
    /// A variable.
    Slot(Slot),
    /// A table variable.
    Table(usize),
    /// A cursor variable.
    Cursor(usize),
    /// `@@name` and other expressions.
    Expr(Box<Unit>),
}

/// RAISERROR
#[derive(Debug)]
pub struct RaisErrorOp {
    /// Text or number.
    pub message: Unit,
    /// Severity.
    pub severity: Unit,
    /// State.
    pub state: Unit,
    /// Substitutions.
    pub args: Vec<Unit>,
    /// WITH LOG
    pub log: bool,
    /// WITH NOWAIT
    pub no_wait: bool,
    /// WITH SETERROR
    pub set_error: bool,
}

/// A cursor by name or variable.
#[derive(Clone, Debug)]
pub enum CursorName {
    /// A named cursor.
    Named {
        /// GLOBAL was written.
        global: bool,
        /// Folded.
        name: SmolStr,
    },
    /// Index of a cursor variable.
    Variable(usize),
}

/// DECLARE CURSOR
#[derive(Debug)]
pub struct CursorOp {
    /// Its name or variable.
    pub name: CursorName,
    /// Definition.
    pub definition: ast::CursorDefinition,
    /// Its query, with the hidden key columns when it can be updated through.
    pub query: Unit,
}

/// FETCH
#[derive(Debug)]
pub struct FetchOp {
    /// From.
    pub cursor: CursorName,
    /// Which row.
    pub direction: FetchDirection,
    /// INTO
    pub into: Vec<Slot>,
}

/// Which row.
#[derive(Debug)]
pub enum FetchDirection {
    /// NEXT
    Next,
    /// PRIOR
    Prior,
    /// FIRST
    First,
    /// LAST
    Last,
    /// ABSOLUTE n
    Absolute(Unit),
    /// RELATIVE n
    Relative(Unit),
}

/// UPDATE or DELETE … WHERE CURRENT OF.
#[derive(Debug)]
pub struct Positioned {
    /// The cursor.
    pub cursor: CursorName,
    /// The statement as written.
    pub statement: ast::Statement,
    /// Command number.
    pub command: u16,
}

/// SET of session options.
#[derive(Debug)]
pub enum SetOp {
    /// ON/OFF switches.
    Switches {
        /// Upper case.
        names: Vec<SmolStr>,
        /// ON
        on: bool,
    },
    /// STATISTICS
    Statistics {
        /// IO, TIME…
        names: Vec<SmolStr>,
        /// ON
        on: bool,
    },
    /// TRANSACTION ISOLATION LEVEL
    Isolation(ast::Isolation),
    /// IDENTITY_INSERT
    IdentityInsert {
        /// Table.
        table: ast::ObjectName,
        /// ON
        on: bool,
    },
    /// Options with a value.
    Value {
        /// Upper case.
        name: SmolStr,
        /// Value.
        value: Unit,
    },
}
