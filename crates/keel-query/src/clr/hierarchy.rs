//! The methods of `hierarchyid`.

use super::{BYTES, Method, SELF, method};
use crate::errors::Result;
use keel_types::cast::hierarchy_value;
use keel_types::hierarchyid::Path;
use keel_types::{Length, SqlType, Value};

/// `hierarchyid::…`
pub(super) const STATICS: &[Method] = &[
    method("GetRoot", &[], SELF, |_, _, _| hierarchy_value(&Path::root())),
    method("Parse", &[SqlType::NVarChar(Length::Max)], SELF, |_, _, args| {
        hierarchy_value(&Path::parse(args[0].as_str().unwrap_or_default())?)
    }),
];

/// `x.…`
pub(super) const METHODS: &[Method] = &[
    method("GetLevel", &[], SqlType::SmallInt, |_, this, _| Ok(Value::Int(path(this)?.level()))),
    method("ToString", &[], SqlType::NVarChar(Length::Limited(4000)), |_, this, _| {
        Ok(Value::str(path(this)?.to_string()))
    }),
    method("GetAncestor", &[SqlType::Int], SELF, |_, this, args| {
        let found = path(this)?.ancestor(args[0].as_int().unwrap_or_default())?;
        found.map_or(Ok(Value::Null), |p| hierarchy_value(&p))
    }),
    Method {
        takes_null: true,
        ..method("GetDescendant", &[SELF, SELF], SELF, |_, this, args| {
            let child = |v: &Value| if v.is_null() { Ok(None) } else { path(v).map(Some) };
            let (low, high) = (child(&args[0])?, child(&args[1])?);
            hierarchy_value(&path(this)?.descendant(low.as_ref(), high.as_ref())?)
        })
    },
    method("IsDescendantOf", &[SELF], SqlType::Bit, |_, this, args| {
        Ok(Value::Bit(path(this)?.is_descendant_of(&path(&args[0])?)))
    }),
    method("GetReparentedValue", &[SELF, SELF], SELF, |_, this, args| {
        hierarchy_value(&path(this)?.reparented(&path(&args[0])?, &path(&args[1])?)?)
    }),
    method("Write", &[], BYTES, |_, this, _| Ok(this.clone())),
];

fn path(value: &Value) -> Result<Path> {
    Path::from_bytes(value.as_bytes().unwrap_or_default())
}
