//! # Parameterization: one program for texts that differ in literals
//!
//! A client that writes values into its statements sends a new text for each, which would be parsed and compiled, and would drive others out of
//! the plan cache. So literals of such texts become parameters:
//!
//! ```text
//!   text ─────► shape: its tokens, literals by their types         WHERE a = 5  and  WHERE a = 7  have one
//!                 │
//!                 ├─ known ─► program, with the literals as arguments
//!                 │
//!                 └─ new ───► which of its literals may be parameters?   simple, forced
//!                             text with parameters ─► program ─► compiled: is its plan trivial?   (simple)
//! ```
//!
//! Nobody sees a difference in what a statement gives. What is *simple* is done whenever its plan is trivial; a database with
//! `PARAMETERIZATION FORCED` has it done for nearly all, and plan guides of type TEMPLATE say for single statements which it is.
//!
//! What is known of a shape holds as long as nothing is defined otherwise in the database: another index may be a reason to plan for values.
//!
//! A batch has parameters as a whole: each of its statements must be one that may, or one that cannot care (BEGIN TRANSACTION). In the product
//! each statement has its own, which only shows in the text.
//!
//! | file | owns |
//! | --- | --- |
//! | `mod` | the decision, and what is remembered of it |
//! | `shape` | a text without the values of its literals |
//! | `simple` | which literals may be parameters without anybody asking for it |
//! | `forced` | which may when somebody does |
//! | `form` | the text with parameters |
//! | `template` | guides of type TEMPLATE, `sp_get_query_template` |
//!
//! Deliberately absent: parameters in modules, in texts that have variables or parameters of their own, and where somebody wants to see
//! statements as they are written (SHOWPLAN, events of statements, audits).

mod forced;
mod form;
mod shape;
mod simple;
mod template;

pub(crate) use template::{mode as template_mode, sp_get_query_template};

use crate::cache::{BatchKey, Kept, KnownShape, Use};
use crate::config::AD_HOC_WORKLOADS;
use crate::plan_guides::is_about_batch;
use crate::program::Program;
use crate::run::{Frame, Runner};
use crate::scoped;
use crate::session::options::Switches;
use form::Form;
use keel_parser::ast::{self, StatementKind};
use keel_types::Value;
use keel_types::error::Result;
use shape::Shape;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How literals become parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Where that cannot make a plan worse.
    Simple,
    /// Nearly everywhere.
    Forced,
}

impl Mode {
    /// `query_parameterization_type`, see [`KINDS`].
    pub(crate) fn number(self) -> u8 {
        match self {
            Mode::Simple => 2,
            Mode::Forced => 3,
        }
    }
}

/// Counts of an instance, as `SQL Statistics` has them.
#[derive(Debug, Default)]
pub struct Counts {
    /// Texts for which it was tried.
    pub attempts: AtomicU64,
    /// Of these, those that may have none.
    pub failed: AtomicU64,
    /// Those that had parameters for nothing: others might be planned better.
    pub unsafe_: AtomicU64,
    /// Those that have parameters.
    pub safe: AtomicU64,
    /// The same, forced.
    pub forced: AtomicU64,
}

/// Whether that is -2147483648, which is an int although its digits alone are not: sign and digits are one literal.
fn is_least_int(op: ast::UnaryOp, operand: &ast::Expr) -> bool {
    let least = ast::Literal::Numeric { mantissa: 1 << 31, precision: 10, scale: 0 };
    op == ast::UnaryOp::Minus && operand.kind == ast::ExprKind::Literal(least)
}

/// Whether a statement may stand in a batch beside those that have parameters, as it has no use for any.
fn may_stand_beside(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::BeginTransaction(begin) => !begin.distributed && begin.mark.is_none(),
        StatementKind::Commit(_) | StatementKind::Rollback(_) => true,
        StatementKind::SetOption(set) => {
            let ast::SetOption::Switches { names, .. } = &**set else { return false };
            names.iter().all(|name| matches!(&**name, "NOCOUNT" | "XACT_ABORT"))
        }
        _ => false,
    }
}

/// Which literals of a text become parameters.
pub struct Choice {
    /// For each literal, in their order.
    parameters: Vec<bool>,
    /// Where names of tables and columns begin.
    names: hashbrown::HashSet<u32>,
}

impl Choice {
    /// Of these, which begin there; `None` of none.
    fn of(shape: &Shape<'_>, literals: &[u32], names: Vec<u32>) -> Option<Choice> {
        let literals: hashbrown::HashSet<u32> = literals.iter().copied().collect();
        let parameters: Vec<bool> = shape.literals.iter().map(|l| literals.contains(&l.start)).collect();
        let names = names.into_iter().collect();
        parameters.contains(&true).then_some(Choice { parameters, names })
    }

    fn is_of_all(&self) -> bool {
        !self.parameters.contains(&false)
    }
}

/// What became of a text with parameters.
enum Made {
    Program(Arc<Program>),
    /// Its statements are better off without.
    Nothing,
    /// That cannot be said now.
    Later,
}

/// A program with the values of its parameters; without any where the text runs as it is written.
pub type Prepared = (Arc<Program>, Vec<Value>);

impl Runner<'_> {
    /// The program of a text without parameters of its own, which may be one with parameters in the place of its literals.
    pub fn text_program(&mut self, text: &Arc<str>, dynamic: bool) -> Result<Prepared> {
        let key = self.batch_key(text, &Arc::from(""), dynamic);
        let programs = &self.info.engine.programs;
        if let Some(program) = programs.batch(&key) {
            return Ok((program, Vec::new()));
        }
        let shape = if self.may_parameterize(&key) {
            Shape::of(text, self.info.on(Switches::QUOTED_IDENTIFIER))
        } else {
            None
        };
        let Some(shape) = shape else { return self.as_written(key) };
        let version = self.info.catalog_version(key.database);
        let of = |shape: String| BatchKey { text: shape.into(), parameters: Arc::from(SHAPE), ..key.clone() };
        let all = of(shape.key(None));
        match programs.shape(&all, version) {
            Some(Use::AsWritten) => self.as_written(key),
            Some(Use::Parameters(program)) => Ok((program, shape.values(None))),
            Some(Use::Partly(parameters)) => {
                let own = of(shape.key(Some(&parameters)));
                match programs.shape(&own, version) {
                    Some(Use::Parameters(program)) => Ok((program, shape.values(Some(&parameters)))),
                    Some(_) => self.as_written(key),
                    None => self.decide(key, shape, all, version),
                }
            }
            None => self.decide(key, shape, all, version),
        }
    }

    fn as_written(&mut self, key: BatchKey) -> Result<Prepared> {
        let batch = self.parse(&key.text)?;
        let (program, keeps) = self.lower(&key, &batch, &[])?;
        Ok((self.keep(key, program, keeps), Vec::new()))
    }

    fn keep(&self, key: BatchKey, program: Arc<Program>, keeps: bool) -> Arc<Program> {
        self.info.engine.programs.missed();
        if keeps {
            let stubs = self.keeps_stubs(&key);
            self.info.engine.programs.keep_program(key, &program, stubs);
        }
        program
    }

    /// Whether a text that has come once leaves nothing but that: `optimize for ad hoc workloads`, of the instance or the database.
    fn keeps_stubs(&self, key: &BatchKey) -> bool {
        let engine = &self.info.engine;
        let of_database = || {
            let entry = engine.database_by_id(key.database);
            entry.is_some_and(|e| scoped::keeps_stubs(e.picture().settings()))
        };
        engine.configuration(AD_HOC_WORKLOADS).running != 0 || of_database()
    }

    /// Whether nobody wants to see the text as it is written.
    fn may_parameterize(&self, key: &BatchKey) -> bool {
        let engine = &self.info.engine;
        key.encryption == 0
            && !self.only_compiles()
            && !engine.events.wants_statements()
            && !engine.audits.any()
            && self.info.watched.borrow().is_none()
            && !self.info.on(Switches::PARSEONLY)
            && !is_about_batch(&self.info.picture(&self.info.current_database()), &key.text)
    }

    /// Finds out what may become of a shape that is new, and runs the first text of it so.
    fn decide(&mut self, key: BatchKey, shape: Shape<'_>, all: BatchKey, version: u64) -> Result<Prepared> {
        let programs = &self.info.engine.programs;
        let batch = self.parse(&key.text)?;
        let (written, keeps) = self.lower(&key, &batch, &[])?;
        let counts = &programs.parameterized;
        counts.attempts.fetch_add(1, Ordering::Relaxed);
        let known = |used| Kept::Shape(Arc::new(KnownShape { version, used }));
        let chosen = if keeps { self.choose(&shape, &batch) } else { None };
        let made = match &chosen {
            Some((mode, choice)) => self.with_parameters(&key, &shape, (*mode, choice), &written),
            None => Made::Nothing,
        };
        if let (Made::Program(program), Some((_, choice))) = (&made, &chosen) {
            let parameters = Some(&*choice.parameters).filter(|_| !choice.is_of_all());
            if let Some(parameters) = parameters {
                let own = BatchKey { text: shape.key(Some(parameters)).into(), ..all.clone() };
                programs.keep_batch(all, known(Use::Partly(parameters.into())));
                programs.keep_batch(own, known(Use::Parameters(Arc::clone(program))));
            } else {
                programs.keep_batch(all, known(Use::Parameters(Arc::clone(program))));
            }
            programs.missed();
            return Ok((Arc::clone(program), shape.values(parameters)));
        }
        if !matches!(made, Made::Later) {
            programs.keep_batch(all, known(Use::AsWritten));
        }
        Ok((self.keep(key, written, keeps), Vec::new()))
    }

    /// Which literals become parameters, and how.
    fn choose(&self, shape: &Shape<'_>, batch: &ast::Batch) -> Option<(Mode, Choice)> {
        let counts = &self.info.engine.programs.parameterized;
        let chosen = match self.mode_of(shape, batch) {
            Mode::Forced => forced::choose(shape, batch).map(|choice| (Mode::Forced, choice)),
            Mode::Simple => None,
        };
        let chosen = chosen.or_else(|| simple::choose(shape, batch).map(|choice| (Mode::Simple, choice)));
        if chosen.is_none() {
            counts.failed.fetch_add(1, Ordering::Relaxed);
        }
        chosen
    }

    /// The program of a text with parameters, compiled already.
    fn with_parameters(
        &mut self,
        key: &BatchKey,
        shape: &Shape<'_>,
        (mode, choice): (Mode, &Choice),
        written: &Program,
    ) -> Made {
        let counts = &self.info.engine.programs.parameterized;
        let form = Form::of(shape, mode, choice);
        let Some(mut program) = self.lower_form(key, form) else { return Made::Nothing };
        program.parameterized = Some(mode);
        // Errors are told with the lines that the client knows.
        for (own, other) in program.code.iter_mut().zip(&written.code) {
            own.line = other.line;
        }
        let program = Arc::new(program);
        let values = shape.literals.iter().zip(&choice.parameters);
        let values =
            values.filter(|(_, is_parameter)| **is_parameter).map(|(literal, _)| literal.value.clone());
        let mut frame = Frame::new(&program, 0);
        frame.vars.splice(..program.parameters.len(), values);
        let done = match (mode, self.compiles_trivially(&program, &frame)) {
            (Mode::Forced, Ok(_)) => &counts.forced,
            (Mode::Simple, Ok(true)) => &counts.safe,
            (Mode::Simple, Ok(false)) => {
                counts.unsafe_.fetch_add(1, Ordering::Relaxed);
                return Made::Nothing;
            }
            (_, Err(_)) => return Made::Later,
        };
        done.fetch_add(1, Ordering::Relaxed);
        Made::Program(program)
    }

    fn lower_form(&self, key: &BatchKey, form: Form) -> Option<Program> {
        let declared = keel_parser::parse_parameters(&form.declarations).ok()?;
        let batch = self.parse(&form.text).ok()?;
        let key = BatchKey { text: form.text.into(), ..key.clone() };
        let (program, _) = self.lower(&key, &batch, &declared).ok()?;
        Arc::into_inner(program)
    }

    /// Compiles the statements of a program; whether all of them have trivial plans. What cannot be compiled may be about a table that the
    /// text makes, or a database that is not open; or a hint wants an index for values that are known.
    fn compiles_trivially(&mut self, program: &Arc<Program>, frame: &Frame) -> Result<bool> {
        for unit in program.code.iter().filter_map(|instruction| instruction.op.unit()) {
            let trivial = self.compile_ahead(program, frame, unit)?;
            if !trivial && program.parameterized == Some(Mode::Simple) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The option of a database that says how literals become parameters, and the flag of its settings.
pub(crate) const OPTION: &str = "PARAMETERIZATION";

/// Stands where a key has declarations of parameters: the key is a shape's.
const SHAPE: &str = "\u{1}";

/// `query_parameterization_type_desc` by number.
pub(crate) const KINDS: [&str; 4] = ["None", "User", "Simple", "Forced"];
