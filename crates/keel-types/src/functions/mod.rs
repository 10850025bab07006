//! Scalar built-in functions that need no catalog.
//!
//! ```text
//!   lookup("substring") ──► FunctionDef ── resolve(argument types) ──► Call ── eval(ctx, values) ──► value
//!                           arity, volatility                          parameter types, result type
//! ```
//!
//! The caller converts the arguments to [`Call::params`] (implicitly; [`Call::casts`] finds the conversions), and then
//! only calls [`Call::eval`]. A [strict](Call::strict) function gives NULL when any argument is NULL, without being asked.
//! Where the first argument is a keyword (`DATEADD(day, …)`), it is passed as a string constant with the word.
//!
//! What depends on the session comes through [`FnCtx`]. Functions that ask the catalog or the server (`OBJECT_ID`,
//! `DB_NAME`, `SERVERPROPERTY`, `@@…`) live with the session; `COALESCE`, `NULLIF` and `IIF` are rewritten to `CASE` by
//! the binder.
//!
//! Each submodule is a family with a table of its functions; [`lookup`] searches them all.

mod bits;
mod compress;
mod date;
mod date_parts;
mod format;
mod format_culture;
mod format_moment;
mod hash;
mod json;
pub mod json_path;
mod logic;
mod math;
mod parse_text;
mod passphrase;
mod patterns;
mod rand;
pub mod regexp;
mod similarity;
mod string;
mod string_more;
mod zones;

pub use date_parts::DatePart;
pub use hash::decode_base64;
pub use parse_text::parse_text;
pub use rand::RandState;
pub use zones::{ZONES, Zone};

use crate::cast::{self, Cast};
use crate::collation::Collation;
use crate::datetime::language::Dates;
use crate::error::Result;
use crate::raise;
use crate::ty::{Length, SqlType};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a function may ask of the session.
pub trait FnCtx {
    /// Start of the statement in UTC, 100 ns ticks since 0001-01-01.
    fn now_utc(&self) -> i64;
    /// The same instant in the server's local time.
    fn now_local(&self) -> i64;
    /// The next number of the session's `RAND` sequence in [0, 1), reseeded when `seed` is given.
    fn rand(&self, seed: Option<i64>) -> f64;
    /// `SET DATEFIRST`, 1 = Monday … 7 = Sunday.
    fn date_first(&self) -> u8 {
        7
    }
    /// `SET DATEFORMAT` and `SET LANGUAGE`.
    fn dates(&self) -> Dates {
        Dates::US
    }
    /// A fresh random guid.
    fn new_guid(&self) -> [u8; 16] {
        uuid::Uuid::new_v4().to_bytes_le()
    }
}

/// How often a function must be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// The same arguments always give the same result.
    Deterministic,
    /// One result per statement: `GETDATE`, and `RAND` without a seed.
    Statement,
    /// A new result for every row: `NEWID`.
    Row,
}

/// An argument as the compiler sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arg<'a> {
    /// Its type.
    pub ty: SqlType,
    /// Its value, when it is a constant.
    pub constant: Option<&'a Value>,
}

/// One built-in function.
pub struct FunctionDef {
    /// Upper-case name.
    pub name: &'static str,
    /// Fewest arguments.
    pub min_args: usize,
    /// Most arguments.
    pub max_args: usize,
    /// How often it must be called.
    pub volatility: Volatility,
    /// Whether the first argument is a keyword (a datepart), not an expression.
    pub keyword_first: bool,
    resolve: fn(&Request<'_>) -> Result<Call>,
}

impl std::fmt::Debug for FunctionDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({}..={})", self.name, self.min_args, self.max_args)
    }
}

impl FunctionDef {
    const fn new(
        name: &'static str,
        min_args: usize,
        max_args: usize,
        resolve: fn(&Request<'_>) -> Result<Call>,
    ) -> FunctionDef {
        FunctionDef {
            name,
            min_args,
            max_args,
            volatility: Volatility::Deterministic,
            keyword_first: false,
            resolve,
        }
    }

    const fn with_keyword(mut self) -> FunctionDef {
        self.keyword_first = true;
        self
    }

    const fn per(mut self, volatility: Volatility) -> FunctionDef {
        self.volatility = volatility;
        self
    }

    /// Decides parameter types, result type and routine for these arguments. `collation` is the one in which the string
    /// arguments meet. Errors: 174 and 189 for their number, 8116 for their types, and what the function itself refuses.
    pub fn resolve(&self, args: &[Arg<'_>], collation: Collation) -> Result<Call> {
        if args.len() < self.min_args || args.len() > self.max_args {
            return Err(raise::wrong_argument_count(
                &self.name.to_ascii_lowercase(),
                self.min_args,
                self.max_args,
            ));
        }
        (self.resolve)(&Request { args, collation, name: self.name })
    }
}

/// What a resolver works on.
struct Request<'a> {
    args: &'a [Arg<'a>],
    collation: Collation,
    name: &'static str,
}

/// A resolved function.
#[derive(Clone, Debug)]
pub struct Call {
    /// Types the arguments must be converted to.
    pub params: Vec<SqlType>,
    /// Type of the result.
    pub result: SqlType,
    /// Collation in which strings compare, and of a string result.
    pub collation: Collation,
    /// Whether a NULL argument makes the result NULL without a call.
    pub strict: bool,
    /// Whether the result can be NULL although no argument is.
    pub nullable: bool,
    /// Whether every row of a statement gets the result of the first.
    pub once: bool,
    part: DatePart,
    routine: fn(&Call, &dyn FnCtx, &[Value]) -> Result<Value>,
}

type Routine = fn(&Call, &dyn FnCtx, &[Value]) -> Result<Value>;

impl Call {
    fn new(result: SqlType, params: Vec<SqlType>, routine: Routine) -> Call {
        Call {
            params,
            result,
            collation: Collation::default(),
            strict: true,
            nullable: false,
            once: false,
            part: DatePart::Day,
            routine,
        }
    }

    fn in_collation(mut self, collation: Collation) -> Call {
        self.collation = collation;
        self
    }

    fn of_part(mut self, part: DatePart) -> Call {
        self.part = part;
        self
    }

    fn lenient(mut self) -> Call {
        self.strict = false;
        self
    }

    fn nullable(mut self) -> Call {
        self.nullable = true;
        self
    }

    /// Computes the function of values that have the types of [`Call::params`].
    #[inline]
    pub fn eval(&self, ctx: &dyn FnCtx, args: &[Value]) -> Result<Value> {
        if self.strict && args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        (self.routine)(self, ctx, args)
    }

    /// The conversions from the arguments' own types, `None` where nothing has to be done.
    pub fn casts(&self, from: &[SqlType]) -> Result<Vec<Option<Cast>>> {
        let pairs = from.iter().zip(&self.params);
        pairs
            .map(|(from, to)| {
                let cast = cast::implicit(*from, *to)?;
                Ok((!cast.is_identity()).then_some(cast))
            })
            .collect()
    }
}

/// Finds a function by name, in any case.
#[must_use]
pub fn lookup(name: &str) -> Option<&'static FunctionDef> {
    static BY_NAME: LazyLock<HashMap<&'static str, &'static FunctionDef>> =
        LazyLock::new(|| all().map(|f| (f.name, f)).collect());
    let mut buffer = [0; 32];
    let upper = buffer.get_mut(..name.len())?;
    upper.copy_from_slice(name.as_bytes());
    upper.make_ascii_uppercase();
    BY_NAME.get(std::str::from_utf8(upper).ok()?).copied()
}

/// All functions.
pub fn all() -> impl Iterator<Item = &'static FunctionDef> {
    [
        string::FUNCTIONS,
        string_more::FUNCTIONS,
        patterns::FUNCTIONS,
        regexp::FUNCTIONS,
        similarity::FUNCTIONS,
        date::FUNCTIONS,
        math::FUNCTIONS,
        logic::FUNCTIONS,
        format::FUNCTIONS,
        hash::FUNCTIONS,
        passphrase::FUNCTIONS,
        bits::FUNCTIONS,
        compress::FUNCTIONS,
        json::FUNCTIONS,
        zones::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
}

impl Request<'_> {
    fn ty(&self, i: usize) -> SqlType {
        self.args[i].ty
    }

    fn has(&self, i: usize) -> bool {
        i < self.args.len()
    }

    /// The integer value of a constant argument.
    fn constant_int(&self, i: usize) -> Option<i64> {
        self.args.get(i)?.constant?.as_int()
    }

    fn bad_argument(&self, i: usize) -> Box<crate::SqlError> {
        raise::bad_argument_type(self.ty(i), i + 1, &self.name.to_ascii_lowercase())
    }

    /// The string type in which the function takes this argument: its own, or the one that holds its printed form.
    fn text(&self, i: usize) -> Result<SqlType> {
        let ty = self.ty(i);
        match ty {
            SqlType::Text => Ok(SqlType::VarChar(Length::Max)),
            SqlType::NText | SqlType::Xml | SqlType::TypedXml(_) => Ok(SqlType::NVarChar(Length::Max)),
            _ if ty.is_string() => Ok(ty),
            SqlType::Null => Ok(SqlType::VarChar(Length::Limited(1))),
            SqlType::Image | SqlType::SqlVariant => Err(self.bad_argument(i)),
            _ if ty.is_binary() => match ty.length() {
                Some(length) => Ok(SqlType::VarChar(length)),
                None => Ok(SqlType::VarChar(Length::Limited(8000))),
            },
            _ => Ok(SqlType::VarChar(Length::Limited(ty.display_size().unwrap_or(8000).min(8000) as u16))),
        }
    }

    /// Like [`Request::text`], without the types that only few functions take: 8116.
    fn string(&self, i: usize) -> Result<SqlType> {
        match self.ty(i) {
            SqlType::Text | SqlType::NText | SqlType::Xml | SqlType::TypedXml(_) => Err(self.bad_argument(i)),
            _ => self.text(i),
        }
    }

    /// Like [`Request::text`], but binary stays binary.
    fn text_or_binary(&self, i: usize) -> Result<SqlType> {
        match self.ty(i) {
            SqlType::Image => Ok(SqlType::VarBinary(Length::Max)),
            ty if ty.is_binary() => Ok(match ty.length() {
                Some(length) => SqlType::VarBinary(length),
                None => ty,
            }),
            _ => self.text(i),
        }
    }

    /// `nvarchar` of the argument's length.
    fn national_text(&self, i: usize) -> Result<SqlType> {
        Ok(variable_like(self.text(i)?, true, None))
    }

    fn int(&self) -> SqlType {
        SqlType::Int
    }
}

/// `varchar` or `nvarchar` of a string type's length, or of another.
fn variable_like(ty: SqlType, national: bool, length: Option<u32>) -> SqlType {
    let cap = if national { 4000 } else { 8000 };
    let length = match (length, ty.length()) {
        (Some(n), _) => Length::Limited(n.clamp(1, cap) as u16),
        (None, Some(Length::Limited(n))) => Length::Limited(n.clamp(1, cap as u16)),
        (None, _) => Length::Max,
    };
    if ty.is_binary() {
        SqlType::VarBinary(length)
    } else if national {
        SqlType::NVarChar(length)
    } else {
        SqlType::VarChar(length)
    }
}

fn int_at(args: &[Value], i: usize) -> i64 {
    args.get(i).and_then(Value::as_int).unwrap_or_default()
}

fn str_at(args: &[Value], i: usize) -> &str {
    args.get(i).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
