//! Built-in scalar functions: the seam to the type library.

use super::compile::Code;
use super::{Builtin, Coercibility, Expr, ExprKind};
use crate::bind::Binder;
use crate::bind::merge_types::{cast_to, resolve_collation};
use crate::context::SessionInfo;
use crate::errors::Result;
use crate::exec::cx::Cx;
use keel_types::datetime::language::Dates;
use keel_types::functions::{self, Arg, Call, FnCtx, Volatility};
use keel_types::{SqlType, Value};
use smallvec::SmallVec;
use std::sync::Arc;

/// A resolved routine.
#[derive(Clone)]
pub enum BuiltinFn {
    /// Of the type library.
    Library(Arc<Call>),
    /// Of this crate.
    Own(OwnFn),
    /// Of this crate, and long enough that it asks the session whether to go on.
    Long(LongFn),
}

/// A routine of this crate.
pub type OwnFn = Arc<dyn Fn(&[Value]) -> Result<Value> + Send + Sync>;

/// A routine of this crate that looks at the session.
pub type LongFn = Arc<dyn Fn(&dyn SessionInfo, &[Value]) -> Result<Value> + Send + Sync>;

impl std::fmt::Debug for BuiltinFn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuiltinFn::Library(call) => call.fmt(f),
            // Two calls of one name over the same arguments may differ in what they captured.
            BuiltinFn::Own(routine) => write!(f, "{:p}", Arc::as_ptr(routine)),
            BuiltinFn::Long(routine) => write!(f, "{:p}", Arc::as_ptr(routine)),
        }
    }
}

/// A call of a routine of this crate.
#[must_use]
pub fn own(
    name: &str,
    ty: SqlType,
    args: Vec<Expr>,
    routine: impl Fn(&[Value]) -> Result<Value> + Send + Sync + 'static,
) -> Expr {
    call(name, ty, args, BuiltinFn::Own(Arc::new(routine)), true)
}

/// A call of a routine of this crate that looks at the session; not computed before the statement runs.
#[must_use]
pub fn long(
    name: &str,
    ty: SqlType,
    args: Vec<Expr>,
    routine: impl Fn(&dyn SessionInfo, &[Value]) -> Result<Value> + Send + Sync + 'static,
) -> Expr {
    call(name, ty, args, BuiltinFn::Long(Arc::new(routine)), false)
}

fn call(name: &str, ty: SqlType, args: Vec<Expr>, func: BuiltinFn, foldable: bool) -> Expr {
    let builtin = Builtin { name: name.into(), func, deterministic: true, foldable };
    let collation = args.iter().find(|a| a.ty.is_string()).map(|a| a.collation).unwrap_or_default();
    Expr {
        kind: ExprKind::Builtin(builtin, args),
        ty,
        collation,
        coercibility: Coercibility::Default,
        nullable: true,
    }
}

/// The session as the library's functions see it.
struct Session<'a>(&'a dyn SessionInfo);

impl FnCtx for Session<'_> {
    fn now_utc(&self) -> i64 {
        self.0.now_utc()
    }
    fn now_local(&self) -> i64 {
        self.0.now_local()
    }
    fn rand(&self, seed: Option<i64>) -> f64 {
        self.0.rand(seed)
    }
    fn date_first(&self) -> u8 {
        self.0.date_first()
    }
    fn dates(&self) -> Dates {
        self.0.dates()
    }
}

impl BuiltinFn {
    /// Code that evaluates the arguments and calls the routine.
    #[must_use]
    pub fn compile(&self, args: Vec<Code>) -> Code {
        let call = match self {
            BuiltinFn::Library(call) => call.clone(),
            BuiltinFn::Own(routine) => {
                let routine = routine.clone();
                return Code::Dyn(Box::new(move |cx| routine(&values(&args, cx)?)));
            }
            BuiltinFn::Long(routine) => {
                let routine = routine.clone();
                return Code::Dyn(Box::new(move |cx| {
                    let values = values(&args, cx)?;
                    routine(cx.session, &values)
                }));
            }
        };
        if call.once {
            return Code::Dyn(Box::new(move |cx| {
                let at = Arc::as_ptr(&call) as usize;
                cx.once(at, |session| call.eval(&Session(session), &[]))
            }));
        }
        match <[Code; 1]>::try_from(args) {
            Ok([arg]) => Code::Dyn(Box::new(move |cx| {
                let value = [arg.eval(cx)?];
                call.eval(&Session(cx.session), &value).or_else(|e| cx.arithmetic(e))
            })),
            Err(args) => Code::Dyn(Box::new(move |cx| {
                let values = values(&args, cx)?;
                call.eval(&Session(cx.session), &values).or_else(|e| cx.arithmetic(e))
            })),
        }
    }
}

/// The arguments of a call; those of most without an allocation.
fn values(args: &[Code], cx: &mut Cx<'_>) -> Result<SmallVec<[Value; 4]>> {
    let mut values = SmallVec::new();
    for arg in args {
        values.push(arg.eval(cx)?);
    }
    Ok(values)
}

/// Resolves a built-in by upper-case name. The inner `Err` gives the arguments back when the library has none.
pub fn resolve(
    binder: &Binder<'_>,
    name: &str,
    args: Vec<Expr>,
) -> Result<std::result::Result<Expr, Vec<Expr>>> {
    if name == "ISNULL" && args.len() == 2 {
        return is_null_function(args).map(Ok);
    }
    let Some(def) = functions::lookup(name) else { return Ok(Err(args)) };
    binder.refuse_encrypted(&args)?;
    let mut model = Expr { collation: binder.collation(), ..Expr::null() };
    for a in args.iter().filter(|a| a.ty.is_string()) {
        if !model.ty.is_string() {
            model = Expr { kind: ExprKind::Const(Value::Null), ..a.clone() };
        } else {
            (model.collation, model.coercibility) = resolve_collation(&model, a, &name.to_ascii_lowercase())?;
        }
    }
    let shapes: Vec<Arg<'_>> = args.iter().map(|a| Arg { ty: a.ty, constant: a.as_const() }).collect();
    let call = def.resolve(&shapes, model.collation)?;
    // Those that take nothing or NULL for an empty string always have a value; of all others the product says that they may not.
    let nullable = call.nullable || !matches!(def.name, "CONCAT" | "CONCAT_WS") && !args.is_empty();
    let args: Vec<Expr> = args.into_iter().zip(&call.params).map(|(a, ty)| cast_to(a, *ty)).collect();
    let coercibility = if call.result.is_string() { model.coercibility } else { Coercibility::Default };
    let (ty, collation) = (call.result, model.collation);
    let builtin = Builtin {
        name: def.name.into(),
        func: BuiltinFn::Library(Arc::new(call)),
        deterministic: def.volatility != Volatility::Row,
        foldable: def.volatility == Volatility::Deterministic,
    };
    Ok(Ok(Expr { kind: ExprKind::Builtin(builtin, args), ty, collation, coercibility, nullable }))
}

/// ISNULL(a, b): takes the type of its first argument.
fn is_null_function(mut args: Vec<Expr>) -> Result<Expr> {
    let (b, a) = (args.pop(), args.pop());
    let (Some(a), Some(b)) = (a, b) else { return Ok(Expr::null()) };
    if a.ty == SqlType::Null {
        return Ok(b);
    }
    let b = crate::bind::merge_types::assign_to(b, a.ty)?;
    // The second is brought to the first's type and collation, whatever its own.
    let (ty, collation, coercibility, nullable) =
        (a.ty, a.collation, a.coercibility, a.nullable && b.nullable);
    Ok(Expr { kind: ExprKind::FirstOf(vec![a, b]), ty, collation, coercibility, nullable })
}
