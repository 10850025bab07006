//! Built-in scalar functions: the seam to the type library.

use super::Expr;
use crate::bind::Binder;
use crate::errors::Result;
use keel_types::Value;

/// A resolved routine.
pub type BuiltinFn = fn(&[Value]) -> Result<Value>;

/// Resolves a built-in by upper-case name. The inner `Err` gives the arguments back when the library has none.
pub fn resolve(
    _binder: &Binder<'_>,
    _name: &str,
    args: Vec<Expr>,
) -> Result<std::result::Result<Expr, Vec<Expr>>> {
    Ok(Err(args))
}
