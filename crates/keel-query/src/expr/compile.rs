//! From bound expressions to code that runs.
//!
//! A value becomes [`Code`]: a constant, a slot, a variable, or a closure; a condition becomes [`Pred`]. Leaves are kept
//! apart so that the most frequent shapes (column with constant, column with variable, column with column) are compiled
//! into closures that read their operands in place, without a call or a copy.

use super::{ArithOp, CmpOp, Expr, ExprKind, library};
use crate::bind::mask::Mask;
use crate::bind::merge_types::library_op;
use crate::bind::rel::Subquery;
use crate::errors::{self, Result};
use crate::exec::cx::Cx;
use crate::exec::node::Decode;
use crate::exec::subquery::{self, Asked};
use crate::growing::joined;
use keel_types::arith;
use keel_types::cast::{self, Cast};
use keel_types::collation::like::Pattern;
use keel_types::compare::order;
use keel_types::{Collation, SqlType, Value};
use std::sync::Arc;

type ValueFn = Box<dyn Fn(&mut Cx<'_>) -> Result<Value> + Send + Sync>;
type PredFn = Box<dyn Fn(&mut Cx<'_>) -> Result<Option<bool>> + Send + Sync>;

/// A compiled value.
pub enum Code {
    /// Always the same.
    Const(Value),
    /// A slot.
    Slot(usize),
    /// A variable.
    Var(usize),
    /// Anything else.
    Dyn(ValueFn),
}

/// A compiled condition; `None` is unknown.
pub enum Pred {
    /// Always the same.
    Const(Option<bool>),
    /// Computed.
    Dyn(PredFn),
}

impl Code {
    fn new(f: impl Fn(&mut Cx<'_>) -> Result<Value> + Send + Sync + 'static) -> Code {
        Code::Dyn(Box::new(f))
    }

    /// The value now.
    #[inline]
    pub fn eval(&self, cx: &mut Cx<'_>) -> Result<Value> {
        match self {
            Code::Const(v) => Ok(v.clone()),
            Code::Slot(s) => Ok(cx.slots[*s].clone()),
            Code::Var(v) => Ok(cx.vars[*v].clone()),
            Code::Dyn(f) => f(cx),
        }
    }

    /// Looks at the value without copying it when it stands somewhere already.
    #[inline]
    pub fn with<R>(&self, cx: &mut Cx<'_>, f: impl FnOnce(&Value) -> R) -> Result<R> {
        Ok(match self {
            Code::Const(v) => f(v),
            Code::Slot(s) => f(&cx.slots[*s]),
            Code::Var(v) => f(&cx.vars[*v]),
            Code::Dyn(code) => f(&code(cx)?),
        })
    }

    /// Evaluates into a slot.
    #[inline]
    pub fn eval_into(&self, cx: &mut Cx<'_>, slot: usize) -> Result<()> {
        let v = self.eval(cx)?;
        cx.slots[slot] = v;
        Ok(())
    }
}

impl Pred {
    fn new(f: impl Fn(&mut Cx<'_>) -> Result<Option<bool>> + Send + Sync + 'static) -> Pred {
        Pred::Dyn(Box::new(f))
    }

    /// Three-valued result.
    #[inline]
    pub fn eval(&self, cx: &mut Cx<'_>) -> Result<Option<bool>> {
        match self {
            Pred::Const(b) => Ok(*b),
            Pred::Dyn(f) => f(cx),
        }
    }

    /// True, and not unknown.
    #[inline]
    pub fn test(&self, cx: &mut Cx<'_>) -> Result<bool> {
        Ok(self.eval(cx)? == Some(true))
    }
}

/// A compiled value on its way to a variable.
pub enum Formula {
    /// Whatever it is.
    Value(Code),
    /// What the variable has and these, one after the other, of its type: NULL when one of them is.
    Append {
        /// The variable, which is the one that is assigned to or not.
        variable: usize,
        /// What is added.
        more: Vec<Code>,
    },
}

impl Formula {
    /// The value now.
    #[inline]
    pub fn eval(&self, cx: &mut Cx<'_>) -> Result<Value> {
        match self {
            Formula::Value(code) => code.eval(cx),
            Formula::Append { variable, more } => Ok(match pieces(more, cx)? {
                Some(more) => joined(&cx.vars[*variable], &more),
                None => Value::Null,
            }),
        }
    }
}

/// All of these values; `None` when one is NULL.
pub(crate) fn pieces(more: &[Code], cx: &mut Cx<'_>) -> Result<Option<smallvec::SmallVec<[Value; 2]>>> {
    let mut all = smallvec::SmallVec::new();
    for code in more {
        all.push(code.eval(cx)?);
    }
    Ok((!all.iter().any(Value::is_null)).then_some(all))
}

/// Plans the subqueries met while compiling expressions.
pub trait SubqueryPlanner {
    /// Plans it for the expression that keeps what this returns.
    fn plan_subquery(&mut self, s: &Arc<Subquery>) -> Result<Arc<Asked>>;

    /// What is being compiled belongs to the session's own thread, for this reason of the product's (`NonParallelPlanReason`).
    fn note_serial(&mut self, reason: &'static str) {
        let _ = reason;
    }

    /// What is being compiled reads this variable.
    fn note_variable(&mut self, variable: usize) {
        let _ = variable;
    }

    /// Columns that a branch of CASE has to decode before it is evaluated.
    fn late_columns(&self, e: &Expr) -> Vec<Decode> {
        let _ = e;
        Vec::new()
    }
}

/// Only the session knows what a function gives.
const INTRINSIC: &str = "NonParallelizableIntrinsicFunction";

/// Refuses subqueries (defaults, checks, computed columns).
pub struct NoSubqueries;

impl SubqueryPlanner for NoSubqueries {
    fn plan_subquery(&mut self, _: &Arc<Subquery>) -> Result<Arc<Asked>> {
        Err(keel_types::SqlError::new(
            1046,
            15,
            1,
            "Subqueries are not allowed in this context. Only scalar expressions are allowed.",
        ))
    }
}

/// Compiles values and conditions.
pub struct Compiler<'p> {
    /// Takes subqueries.
    pub subqueries: &'p mut dyn SubqueryPlanner,
}

/// A value behind a mask. Whether it applies is found once for all rows.
fn masked(mask: Arc<Mask>, input: Code, ty: SqlType) -> Code {
    Code::new(move |cx| {
        let call = Arc::as_ptr(&mask) as usize;
        let hides = cx.once(call, |session| Ok(Value::Bit(!session.sees(&mask.sources))))?;
        if matches!(hides, Value::Bit(false)) {
            return input.eval(cx);
        }
        let value = input.eval(cx).map_err(errors::without_values)?;
        let session = cx.session;
        Ok(mask.function.apply(&value, ty, &mut || session.rand(None)))
    })
}

impl Compiler<'_> {
    /// Compiles several values.
    pub fn values<'e>(&mut self, list: impl IntoIterator<Item = &'e Expr>) -> Result<Vec<Code>> {
        list.into_iter().map(|e| self.value(e)).collect()
    }

    /// Compiles a value on its way to a variable: `@v + a + b` in a type without a limit is not added up step by step.
    pub fn formula(&mut self, e: &Expr) -> Result<Formula> {
        let (mut first, mut added) = (e, Vec::new());
        while let ExprKind::Arith(ArithOp::Add, a, b) = &first.kind
            && is_unlimited(e.ty)
            && first.ty == e.ty
            && a.ty == e.ty
        {
            added.push((b, arith::resolve(library_op(ArithOp::Add), a.ty, b.ty)?.right));
            first = a;
        }
        let ExprKind::Var(variable) = first.kind else { return Ok(Formula::Value(self.value(e)?)) };
        if added.is_empty() {
            return Ok(Formula::Value(self.value(e)?));
        }
        self.subqueries.note_variable(variable);
        let more = added.into_iter().rev().map(|(b, cast)| Ok(convert(self.value(b)?, cast)));
        Ok(Formula::Append { variable, more: more.collect::<Result<_>>()? })
    }

    /// Compiles a value.
    pub fn value(&mut self, e: &Expr) -> Result<Code> {
        if e.is_condition() {
            let p = self.condition(e)?;
            return Ok(Code::new(move |cx| Ok(p.eval(cx)?.map_or(Value::Null, Value::Bit))));
        }
        let code = match &e.kind {
            ExprKind::Const(v) => Code::Const(v.clone()),
            ExprKind::Slot(s) => Code::Slot(*s as usize),
            ExprKind::Var(v) => {
                self.subqueries.note_variable(*v);
                Code::Var(*v)
            }
            ExprKind::Arith(op, a, b) => self.arith(*op, a, b, e.ty)?,
            ExprKind::Neg(a) => self.negate(a, e.ty)?,
            ExprKind::BitNot(a) => {
                let (a, ty) = (self.value(a)?, e.ty);
                Code::new(move |cx| a.with(cx, |v| library::bit_not(v, ty)))
            }
            ExprKind::Case(whens, otherwise) => {
                let whens = whens
                    .iter()
                    .map(|(c, v)| Ok((self.condition(c)?, self.branch(v)?)))
                    .collect::<Result<Vec<_>>>()?;
                let otherwise = match otherwise {
                    Some(o) => self.branch(o)?,
                    None => Code::Const(Value::Null),
                };
                Code::new(move |cx| {
                    for (c, v) in &whens {
                        if c.test(cx)? {
                            return v.eval(cx);
                        }
                    }
                    otherwise.eval(cx)
                })
            }
            ExprKind::FirstOf(parts) => {
                let mut parts = parts.iter();
                let first = parts.next().map_or(Ok(Code::Const(Value::Null)), |e| self.value(e))?;
                let others = parts.map(|e| self.branch(e)).collect::<Result<Vec<_>>>()?;
                Code::new(move |cx| {
                    let mut value = first.eval(cx)?;
                    for other in &others {
                        if !value.is_null() {
                            break;
                        }
                        value = other.eval(cx)?;
                    }
                    Ok(value)
                })
            }
            ExprKind::Cast(c) => self.cast(c, e)?,
            ExprKind::Builtin(b, args) => {
                if !b.deterministic || &*b.name == "RAND" {
                    self.subqueries.note_serial(INTRINSIC);
                }
                let args = self.values(args)?;
                b.func.compile(args)
            }
            ExprKind::Session { id, args, .. } => {
                self.subqueries.note_serial(INTRINSIC);
                let (id, args) = (*id, self.values(args)?);
                Code::new(move |cx| {
                    let values = args.iter().map(|a| a.eval(cx)).collect::<Result<Vec<_>>>()?;
                    cx.session.call(id, &values)
                })
            }
            ExprKind::Udf(info, args) => {
                self.subqueries.note_serial("TSQLUserDefinedFunctionsNotParallelizable");
                let (info, args) = (info.clone(), self.values(args)?);
                Code::new(move |cx| {
                    let values = args.iter().map(|a| a.eval(cx)).collect::<Result<Vec<_>>>()?;
                    let functions = cx.functions;
                    cx.exec_ctx(&mut [], |ctx| {
                        functions.invoke_scalar(ctx, info.database, info.object_id, &values)
                    })
                })
            }
            ExprKind::Subquery(s) => {
                let asked = self.subqueries.plan_subquery(s)?;
                Code::new(move |cx| subquery::scalar(cx, &asked))
            }
            ExprKind::Masked(mask, input) => {
                self.subqueries.note_serial(INTRINSIC);
                masked(mask.clone(), self.value(input)?, e.ty)
            }
            ExprKind::Compare(..)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Not(_)
            | ExprKind::IsNull(_)
            | ExprKind::Like(..)
            | ExprKind::InList(..) => unreachable!("conditions were compiled above"),
        };
        // Constant folding: what reads nothing is computed once. An error stays where it is, for the row that raises it.
        if !matches!(code, Code::Const(_))
            && e.is_constant()
            && let Some(v) = fold(&code)
        {
            return Ok(Code::Const(v));
        }
        Ok(code)
    }

    /// Compiles what one branch of CASE gives.
    fn branch(&mut self, e: &Expr) -> Result<Code> {
        let (code, late) = (self.value(e)?, self.subqueries.late_columns(e));
        if late.is_empty() {
            return Ok(code);
        }
        Ok(Code::new(move |cx| {
            cx.decode_late(&late);
            code.eval(cx)
        }))
    }

    /// Compiles a condition.
    pub fn condition(&mut self, e: &Expr) -> Result<Pred> {
        Ok(match &e.kind {
            ExprKind::Compare(op, a, b) => compare(*op, self.value(a)?, self.value(b)?, e.collation),
            ExprKind::And(parts) => {
                let parts = parts.iter().map(|p| self.condition(p)).collect::<Result<Vec<_>>>()?;
                Pred::new(move |cx| {
                    let mut result = Some(true);
                    for p in &parts {
                        match p.eval(cx)? {
                            Some(false) => return Ok(Some(false)),
                            None => result = None,
                            Some(true) => {}
                        }
                    }
                    Ok(result)
                })
            }
            ExprKind::Or(parts) => {
                let parts = parts.iter().map(|p| self.condition(p)).collect::<Result<Vec<_>>>()?;
                Pred::new(move |cx| {
                    let mut result = Some(false);
                    for p in &parts {
                        match p.eval(cx)? {
                            Some(true) => return Ok(Some(true)),
                            None => result = None,
                            Some(false) => {}
                        }
                    }
                    Ok(result)
                })
            }
            ExprKind::Not(inner) => {
                let p = self.condition(inner)?;
                Pred::new(move |cx| Ok(p.eval(cx)?.map(|b| !b)))
            }
            ExprKind::IsNull(inner) => match self.value(inner)? {
                Code::Slot(s) => Pred::new(move |cx| Ok(Some(matches!(cx.slots[s], Value::Null)))),
                code => Pred::new(move |cx| code.with(cx, |v| Some(matches!(v, Value::Null)))),
            },
            ExprKind::Like(v, p, escape) => self.like(v, p, escape.as_deref(), e.collation)?,
            ExprKind::InList(v, list) => self.in_list(v, list, e.collation)?,
            ExprKind::Subquery(s) if s.is_condition() => {
                let asked = self.subqueries.plan_subquery(s)?;
                match &s.usage {
                    crate::bind::rel::SubqueryUse::Any { op, needle, item } => {
                        let needle = self.value(needle)?;
                        let item = self.value(item)?;
                        let (op, collation) = (*op, e.collation);
                        Pred::new(move |cx| subquery::any(cx, &asked, op, &needle, &item, collation))
                    }
                    _ => Pred::new(move |cx| subquery::exists(cx, &asked).map(Some)),
                }
            }
            ExprKind::Const(Value::Bit(b)) => Pred::Const(Some(*b)),
            ExprKind::Const(Value::Null) => Pred::Const(None),
            _ => {
                let code = self.value(e)?;
                Pred::new(move |cx| {
                    code.with(cx, |v| match v {
                        Value::Null => None,
                        Value::Bit(b) => Some(*b),
                        Value::Int(n) => Some(*n != 0),
                        _ => Some(true),
                    })
                })
            }
        })
    }

    /// A conjunction.
    pub fn conjunction(&mut self, parts: &[Expr]) -> Result<Option<Pred>> {
        match parts {
            [] => Ok(None),
            [one] => Ok(Some(self.condition(one)?)),
            many => {
                let parts = many.iter().map(|p| self.condition(p)).collect::<Result<Vec<_>>>()?;
                Ok(Some(Pred::new(move |cx| {
                    for p in &parts {
                        if !p.test(cx)? {
                            return Ok(Some(false));
                        }
                    }
                    Ok(Some(true))
                })))
            }
        }
    }

    fn arith(&mut self, op: ArithOp, a: &Expr, b: &Expr, ty: SqlType) -> Result<Code> {
        let f = arith::resolve(library_op(op), a.ty, b.ty)?;
        let (a, b) = (convert(self.value(a)?, f.left), convert(self.value(b)?, f.right));
        let f = Operation(f.operation, ty);
        if let (Some((low, high)), ArithOp::Add | ArithOp::Sub | ArithOp::Mul) = (library::int_range(ty), op)
        {
            return Ok(int_arith(op, a, b, low, high, f));
        }
        Ok(match (a, b) {
            (Code::Slot(a), Code::Slot(b)) => {
                Code::new(move |cx| null_or(&cx.slots[a], &cx.slots[b], &f).or_else(|e| cx.arithmetic(e)))
            }
            (Code::Slot(a), Code::Const(k)) => {
                Code::new(move |cx| null_or(&cx.slots[a], &k, &f).or_else(|e| cx.arithmetic(e)))
            }
            (Code::Const(k), Code::Slot(b)) => {
                Code::new(move |cx| null_or(&k, &cx.slots[b], &f).or_else(|e| cx.arithmetic(e)))
            }
            (a, b) => Code::new(move |cx| {
                let x = a.eval(cx)?;
                b.with(cx, |y| null_or(&x, y, &f))?.or_else(|e| cx.arithmetic(e))
            }),
        })
    }

    fn negate(&mut self, a: &Expr, ty: SqlType) -> Result<Code> {
        let a = self.value(a)?;
        Ok(Code::new(move |cx| a.with(cx, |v| library::negate(v, ty))?.or_else(|e| cx.arithmetic(e))))
    }

    fn cast(&mut self, c: &super::Cast, e: &Expr) -> Result<Code> {
        let resolved: Cast =
            if c.explicit { cast::explicit(c.input.ty, e.ty)? } else { cast::implicit(c.input.ty, e.ty)? };
        let input = self.value(&c.input)?;
        if resolved.is_identity() && c.style.is_none() {
            return Ok(input);
        }
        let resolved = resolved.in_page(e.collation.code_page());
        let lenient = c.lenient;
        if let Some(style) = &c.style {
            let style = self.value(&super::super::bind::merge_types::cast_to(style.clone(), SqlType::Int))?;
            return Ok(Code::new(move |cx| {
                let n = match style.eval(cx)? {
                    Value::Int(n) => n as i32,
                    _ => return Ok(Value::Null),
                };
                let cast = resolved.with_style(n);
                let cast = library::session_dates(cast, cx);
                let v = input.with(cx, |v| if lenient { cast.try_apply(v) } else { cast.apply(v) })?;
                v.or_else(|e| cx.arithmetic(e))
            }));
        }
        if lenient {
            return Ok(Code::new(move |cx| {
                let cast = library::session_dates(resolved, cx);
                input.with(cx, |v| cast.try_apply(v))?
            }));
        }
        // The others' own styles name no months.
        let names_months =
            matches!(resolved.from, SqlType::DateTime | SqlType::SmallDateTime | SqlType::SqlVariant);
        if resolved.from.is_string() && resolved.to.is_temporal() || names_months && resolved.to.is_string() {
            return Ok(Code::new(move |cx| {
                let cast = library::session_dates(resolved, cx);
                input.with(cx, |v| cast.apply(v))?.or_else(|e| cx.arithmetic(e))
            }));
        }
        Ok(match input {
            Code::Slot(s) => Code::new(move |cx| resolved.apply(&cx.slots[s]).or_else(|e| cx.arithmetic(e))),
            Code::Var(s) => Code::new(move |cx| resolved.apply(&cx.vars[s]).or_else(|e| cx.arithmetic(e))),
            input => {
                Code::new(move |cx| input.with(cx, |v| resolved.apply(v))?.or_else(|e| cx.arithmetic(e)))
            }
        })
    }

    fn like(&mut self, v: &Expr, p: &Expr, escape: Option<&Expr>, collation: Collation) -> Result<Pred> {
        let exact = v.ty.is_national() || p.ty.is_national();
        let v = self.value(v)?;
        let p = self.value(p)?;
        // ESCAPE NULL is no escape.
        let escape =
            escape.map(|e| self.value(e)).transpose()?.filter(|e| !matches!(e, Code::Const(Value::Null)));
        if let (Code::Const(Value::Str(pattern)), None | Some(Code::Const(Value::Str(_)))) = (&p, &escape) {
            let escape = match &escape {
                Some(Code::Const(Value::Str(s))) => Some(s.as_str()),
                _ => None,
            };
            let compiled = Pattern::compile(pattern, escape, collation)?;
            let compiled = if exact { compiled.exactly() } else { compiled };
            return Ok(Pred::new(move |cx| {
                v.with(cx, |v| match v {
                    Value::Str(s) => Some(compiled.matches(s)),
                    _ => None,
                })
            }));
        }
        Ok(Pred::new(move |cx| {
            let value = v.eval(cx)?;
            let pattern = p.eval(cx)?;
            let escape = match &escape {
                Some(e) => match e.eval(cx)? {
                    Value::Str(s) => Some(s),
                    _ => None,
                },
                None => None,
            };
            Ok(match (&value, &pattern) {
                (Value::Str(s), Value::Str(p)) => {
                    let compiled = Pattern::compile(p, escape.as_deref(), collation)?;
                    Some(if exact { compiled.exactly() } else { compiled }.matches(s))
                }
                _ => None,
            })
        }))
    }

    fn in_list(&mut self, v: &Expr, list: &[Expr], collation: Collation) -> Result<Pred> {
        let v = self.value(v)?;
        let items = self.values(list)?;
        let mut constants = Vec::new();
        for item in &items {
            match item {
                Code::Const(c) => constants.push(c.clone()),
                _ => constants.clear(),
            }
        }
        if constants.len() == items.len() && !items.is_empty() {
            let has_null = constants.iter().any(|c| matches!(c, Value::Null));
            constants.retain(|c| !matches!(c, Value::Null));
            constants.sort_by(|a, b| order(a, b, collation));
            return Ok(Pred::new(move |cx| {
                v.with(cx, |v| {
                    if matches!(v, Value::Null) {
                        return None;
                    }
                    match constants.binary_search_by(|c| order(c, v, collation)) {
                        Ok(_) => Some(true),
                        Err(_) if has_null => None,
                        Err(_) => Some(false),
                    }
                })
            }));
        }
        Ok(Pred::new(move |cx| {
            let value = v.eval(cx)?;
            if matches!(value, Value::Null) {
                return Ok(None);
            }
            let mut unknown = false;
            for item in &items {
                match item.with(cx, |i| {
                    if matches!(i, Value::Null) { None } else { Some(order(&value, i, collation).is_eq()) }
                })? {
                    Some(true) => return Ok(Some(true)),
                    None => unknown = true,
                    Some(false) => {}
                }
            }
            Ok(if unknown { None } else { Some(false) })
        }))
    }
}

/// A routine of the type library over converted operands, with its result type.
#[derive(Clone, Copy)]
struct Operation(fn(&Value, &Value, SqlType) -> Result<Value>, SqlType);

/// Whether values of a type are added to without a limit.
fn is_unlimited(ty: SqlType) -> bool {
    use keel_types::Length::Max;
    matches!(ty, SqlType::VarChar(Max) | SqlType::NVarChar(Max) | SqlType::VarBinary(Max))
}

/// Applies an operand conversion; constants are converted at once.
fn convert(code: Code, cast: Option<Cast>) -> Code {
    let Some(cast) = cast else { return code };
    match code {
        Code::Const(v) => match cast.apply(&v) {
            Ok(converted) => Code::Const(converted),
            Err(_) => Code::new(move |cx| cast.apply(&v).or_else(|e| cx.arithmetic(e))),
        },
        Code::Slot(s) => Code::new(move |cx| cast.apply(&cx.slots[s]).or_else(|e| cx.arithmetic(e))),
        code => Code::new(move |cx| code.with(cx, |v| cast.apply(v))?.or_else(|e| cx.arithmetic(e))),
    }
}

#[inline]
fn null_or(a: &Value, b: &Value, f: &Operation) -> Result<Value> {
    if matches!(a, Value::Null) || matches!(b, Value::Null) { Ok(Value::Null) } else { (f.0)(a, b, f.1) }
}

#[inline]
fn compare_values(op: CmpOp, a: &Value, b: &Value, collation: Collation) -> Option<bool> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(op.holds(a.cmp(b))),
        (Value::Null, _) | (_, Value::Null) => None,
        _ => Some(op.holds(order(a, b, collation))),
    }
}

/// Compares two values of one type, three-valued.
#[must_use]
pub fn compare_three_valued(op: CmpOp, a: &Value, b: &Value, collation: Collation) -> Option<bool> {
    compare_values(op, a, b, collation)
}

fn compare(op: CmpOp, a: Code, b: Code, collation: Collation) -> Pred {
    match (a, b) {
        (Code::Slot(a), Code::Const(Value::Int(k))) => Pred::new(move |cx| {
            Ok(match &cx.slots[a] {
                Value::Int(x) => Some(op.holds(x.cmp(&k))),
                other => compare_values(op, other, &Value::Int(k), collation),
            })
        }),
        (Code::Slot(a), Code::Const(k)) => {
            Pred::new(move |cx| Ok(compare_values(op, &cx.slots[a], &k, collation)))
        }
        (Code::Const(k), Code::Slot(b)) => {
            Pred::new(move |cx| Ok(compare_values(op, &k, &cx.slots[b], collation)))
        }
        (Code::Slot(a), Code::Slot(b)) => {
            Pred::new(move |cx| Ok(compare_values(op, &cx.slots[a], &cx.slots[b], collation)))
        }
        (Code::Slot(a), Code::Var(b)) => {
            Pred::new(move |cx| Ok(compare_values(op, &cx.slots[a], &cx.vars[b], collation)))
        }
        (Code::Var(a), Code::Slot(b)) => {
            Pred::new(move |cx| Ok(compare_values(op, &cx.vars[a], &cx.slots[b], collation)))
        }
        (Code::Var(a), Code::Const(k)) => {
            Pred::new(move |cx| Ok(compare_values(op, &cx.vars[a], &k, collation)))
        }
        (Code::Var(a), Code::Var(b)) => {
            Pred::new(move |cx| Ok(compare_values(op, &cx.vars[a], &cx.vars[b], collation)))
        }
        (a, b) => Pred::new(move |cx| {
            let x = a.eval(cx)?;
            if matches!(x, Value::Null) {
                return Ok(None);
            }
            b.with(cx, |y| compare_values(op, &x, y, collation))
        }),
    }
}

/// Integer arithmetic inline; the library's routine takes over for NULL, overflow and its error.
fn int_arith(op: ArithOp, a: Code, b: Code, low: i64, high: i64, f: Operation) -> Code {
    #[inline]
    fn apply(op: ArithOp, a: &Value, b: &Value, low: i64, high: i64, f: &Operation) -> Result<Value> {
        if let (Value::Int(x), Value::Int(y)) = (a, b) {
            let r = match op {
                ArithOp::Add => x.checked_add(*y),
                ArithOp::Sub => x.checked_sub(*y),
                _ => x.checked_mul(*y),
            };
            if let Some(r) = r.filter(|r| (low..=high).contains(r)) {
                return Ok(Value::Int(r));
            }
        }
        null_or(a, b, f)
    }
    match (a, b) {
        (Code::Slot(a), Code::Const(k)) => {
            Code::new(move |cx| apply(op, &cx.slots[a], &k, low, high, &f).or_else(|e| cx.arithmetic(e)))
        }
        (Code::Slot(a), Code::Slot(b)) => Code::new(move |cx| {
            apply(op, &cx.slots[a], &cx.slots[b], low, high, &f).or_else(|e| cx.arithmetic(e))
        }),
        (Code::Slot(a), Code::Var(b)) => Code::new(move |cx| {
            apply(op, &cx.slots[a], &cx.vars[b], low, high, &f).or_else(|e| cx.arithmetic(e))
        }),
        (Code::Var(a), Code::Const(k)) => {
            Code::new(move |cx| apply(op, &cx.vars[a], &k, low, high, &f).or_else(|e| cx.arithmetic(e)))
        }
        (Code::Var(a), Code::Var(b)) => Code::new(move |cx| {
            apply(op, &cx.vars[a], &cx.vars[b], low, high, &f).or_else(|e| cx.arithmetic(e))
        }),
        (a, b) => Code::new(move |cx| {
            let x = a.eval(cx)?;
            b.with(cx, |y| apply(op, &x, y, low, high, &f))?.or_else(|e| cx.arithmetic(e))
        }),
    }
}

/// Evaluates code that reads nothing. `None` when it raises an error.
fn fold(code: &Code) -> Option<Value> {
    super::fold::evaluate(code)
}
