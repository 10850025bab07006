//! Evaluation at compile time of code that reads no slot, variable or session state.

use super::Expr;
use super::compile::{Code, Compiler, NoSubqueries};
use crate::context::{ExecCtx, FunctionInvoker, IsolationLevel, SessionInfo, Transactions};
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use keel_base::{DatabaseId, TreeId};
use keel_node::Transaction;
use keel_types::Value;
use keel_types::datetime::language::{Dates, Language};
use keel_types::datetime::parse::DateOrder;
use std::cell::Cell;

/// A surrounding that has nothing: whatever asks it is not a constant.
struct Nowhere;

impl Transactions for Nowhere {
    fn transaction(&mut self, _: DatabaseId) -> Result<&mut Transaction> {
        Err(errors::not_supported("constant"))
    }
}

impl FunctionInvoker for Nowhere {
    fn invoke_scalar(&self, _: &mut ExecCtx<'_>, _: DatabaseId, _: i32, _: &[Value]) -> Result<Value> {
        Err(errors::not_supported("constant"))
    }
}

/// A session of which only the date settings can be asked, which it notes, and the time.
struct Settings {
    dates: Dates,
    first: u8,
    asked: Cell<bool>,
    now: Now,
}

/// The time as a statement sees it, ticks of 100 ns since 0001-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Of the place.
    pub local: i64,
    /// UTC.
    pub utc: i64,
}

impl SessionInfo for Settings {
    fn dates(&self) -> Dates {
        self.asked.set(true);
        self.dates
    }
    fn date_first(&self) -> u8 {
        self.asked.set(true);
        self.first
    }
    fn isolation(&self) -> IsolationLevel {
        IsolationLevel::ReadCommitted
    }
    fn session_id(&self) -> u32 {
        0
    }
    fn cancelled(&self) -> bool {
        false
    }
    fn call(&self, _: u32, _: &[Value]) -> Result<Value> {
        Err(errors::not_supported("constant"))
    }
    fn now_local(&self) -> i64 {
        self.now.local
    }
    fn now_utc(&self) -> i64 {
        self.now.utc
    }
    fn rand(&self, _: Option<i64>) -> f64 {
        0.0
    }
    fn reserve_identity(&self, _: &crate::catalog::TableDef, _: u64) -> Result<i64> {
        Err(errors::not_supported("constant"))
    }
    fn note_identity(&self, _: &crate::catalog::TableDef, _: i64) {}
    fn identity_insert(&self) -> Option<(DatabaseId, i32)> {
        None
    }
    fn next_rowversion(&self, _: DatabaseId) -> u64 {
        0
    }
    fn next_row_id(&self, _: DatabaseId, _: TreeId, _: &mut dyn FnMut() -> Result<u64>) -> Result<u64> {
        Err(errors::not_supported("constant"))
    }
}

/// The value of an expression that is the same wherever it is evaluated (conversions of constants too).
#[must_use]
pub fn constant(e: &Expr) -> Option<Value> {
    if let Some(v) = e.as_const() {
        return Some(v.clone());
    }
    if !e.is_constant() {
        return None;
    }
    let code = Compiler { subqueries: &mut NoSubqueries }.value(e).ok()?;
    evaluate(&code)
}

/// The value of an expression that reads nothing but constants and the time, if that is now. Date settings are the usual ones: it is for
/// estimates.
#[must_use]
pub fn at(e: &Expr, now: Now) -> Option<Value> {
    let code = Compiler { subqueries: &mut NoSubqueries }.value(e).ok()?;
    evaluate_under(&code, &Settings { dates: Dates::US, first: 7, asked: Cell::new(false), now })
}

/// The value of constant code, or `None` when computing it raises an error or when the session's DATEFORMAT,
/// LANGUAGE or DATEFIRST decide what it is.
#[must_use]
pub fn evaluate(code: &Code) -> Option<Value> {
    let under = |dates, first| Settings { dates, first, asked: Cell::new(false), now: Now::default() };
    let usual = under(Dates::US, 7);
    let value = evaluate_under(code, &usual)?;
    if usual.asked.get() {
        // No month is called the same in all three.
        for (order, first, language) in [(DateOrder::Dmy, 1, "Finnish"), (DateOrder::Ymd, 3, "Japanese")] {
            let language = Language::find(language)?;
            let other = evaluate_under(code, &under(Dates { order, language }, first))?;
            if format!("{other:?}") != format!("{value:?}") {
                return None;
            }
        }
    }
    Some(value)
}

fn evaluate_under(code: &Code, settings: &Settings) -> Option<Value> {
    let mut transactions = Nowhere;
    let mut ctx = ExecCtx {
        vars: &mut [],
        txns: &mut transactions,
        session: settings,
        functions: &Nowhere,
        triggers: None,
    };
    let mut cx = Cx::new(&mut ctx, Vec::new());
    code.eval(&mut cx).ok()
}
