//! The methods and properties of `hierarchyid`, `geometry` and `geography`: one table row per name.
//!
//! A [`Method`] is found once, when an expression is bound, and says what it takes and gives. A method of a NULL, or with a NULL
//! argument, gives NULL unless its row says otherwise. Names are matched as .NET does: by their case.

mod hierarchy;
mod spatial;

use crate::errors::Result;
use keel_types::{Length, SqlError, SqlType, Value};

/// What a method works on: its own value first (NULL of a static method), then its arguments, converted to their types.
pub type Routine = fn(ty: SqlType, this: &Value, args: &[Value]) -> Result<Value>;

/// A method, a property, or a static of either.
#[derive(Clone, Copy)]
pub struct Method {
    /// Name, by its case.
    pub name: &'static str,
    /// Types of the arguments; [`SELF`] for the type itself.
    pub params: &'static [SqlType],
    /// Type of the result; [`SELF`] for the type itself.
    pub returns: SqlType,
    /// Whether it is read without parentheses.
    pub property: bool,
    /// Whether it is called for NULL arguments too.
    pub takes_null: bool,
    /// What does it.
    pub run: Routine,
}

/// Stands for the type whose method it is.
pub const SELF: SqlType = SqlType::Null;

const TEXT: SqlType = SqlType::NVarChar(Length::Max);
const BYTES: SqlType = SqlType::VarBinary(Length::Max);

const fn method(name: &'static str, params: &'static [SqlType], returns: SqlType, run: Routine) -> Method {
    Method { name, params, returns, property: false, takes_null: false, run }
}

const fn property(name: &'static str, returns: SqlType, run: Routine) -> Method {
    Method { name, params: &[], returns, property: true, takes_null: false, run }
}

const fn null(ty: SqlType, _: &Value, _: &[Value]) -> Result<Value> {
    let _ = ty;
    Ok(Value::Null)
}

/// The static method or property of this name.
#[must_use]
pub fn static_method(ty: SqlType, name: &str) -> Option<&'static Method> {
    const NULL: Method = property("Null", SELF, null);
    let of = if ty == SqlType::HierarchyId { hierarchy::STATICS } else { spatial::STATICS };
    of.iter().chain(std::iter::once(&NULL)).find(|m| m.name == name)
}

/// The method or property of this name.
#[must_use]
pub fn instance_method(ty: SqlType, name: &str) -> Option<&'static Method> {
    let of: [&[Method]; 2] = match ty {
        SqlType::HierarchyId => [hierarchy::METHODS, &[]],
        SqlType::Geometry => [spatial::METHODS, spatial::OF_GEOMETRY],
        _ => [spatial::METHODS, spatial::OF_GEOGRAPHY],
    };
    of.into_iter().flatten().find(|m| m.name == name)
}

/// The .NET class of a type, for messages.
#[must_use]
pub fn class_of(ty: SqlType) -> &'static str {
    match ty {
        SqlType::HierarchyId => "SqlHierarchyId",
        SqlType::Geometry => "SqlGeometry",
        _ => "SqlGeography",
    }
}

/// 6506 or 6592: the type has no such method or property.
#[must_use]
pub fn unknown(ty: SqlType, name: &str, property: bool) -> Box<SqlError> {
    let class = class_of(ty);
    let (number, what) = if property { (6592, "property or field") } else { (6506, "method") };
    SqlError::new(
        number,
        16,
        10,
        format!(
            "Could not find {what} '{name}' for type 'Microsoft.SqlServer.Types.{class}' in assembly 'Microsoft.SqlServer.Types'"
        ),
    )
}
