//! Conversion to and from the types with methods: their text form and their bytes, both checked.

use super::{Cast, Step, mismatch};
use crate::error::{Result, SqlError};
use crate::hierarchyid::Path;
use crate::raise;
use crate::ty::{Family, SqlType};
use crate::value::Value;
use keel_spatial::{Instance, Kind, clr, wkt};

pub(super) fn step(from: SqlType, to: SqlType) -> Option<Step> {
    match from.family() {
        _ if matches!(from, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::RowVersion) => None,
        Family::String | Family::NationalString => Some(from_text),
        Family::Binary if to == SqlType::HierarchyId => Some(bytes_to_hierarchy),
        Family::Binary => Some(bytes_to_spatial),
        _ => None,
    }
}

/// Which of the two a spatial type is.
#[must_use]
pub const fn spatial_kind(ty: SqlType) -> Kind {
    if matches!(ty, SqlType::Geography) { Kind::Geography } else { Kind::Geometry }
}

fn from_text(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Str(text) = value else { return Err(mismatch(value, cast)) };
    match cast.to {
        SqlType::HierarchyId => hierarchy_value(&Path::parse(text)?),
        ty => {
            let kind = spatial_kind(ty);
            let parsed =
                wkt::parse(text, kind).and_then(|shape| Instance::new(kind, shape, kind.default_srid()));
            parsed.map(|i| spatial_value(&i, kind)).map_err(|e| spatial_error(kind, &e, "Parse(SqlString s)"))
        }
    }
}

fn bytes_to_hierarchy(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Bytes(bytes) = value else { return Err(mismatch(value, cast)) };
    Path::from_bytes(bytes).map(|_| value.clone())
}

fn bytes_to_spatial(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Bytes(bytes) = value else { return Err(mismatch(value, cast)) };
    let kind = spatial_kind(cast.to);
    match clr::read(bytes, kind) {
        // The identifier -1 is how the bytes say NULL.
        Ok((instance, _)) if instance.srid == -1 => Ok(Value::Null),
        // What it says of itself is not believed: whoever computes with it relies on that.
        Ok((instance, marks)) => {
            keel_spatial::check_srid(kind, instance.srid).map_err(|e| spatial_error(kind, &e, READ))?;
            Ok(if marks == instance.marks(kind) { value.clone() } else { spatial_value(&instance, kind) })
        }
        Err(e) => Err(spatial_error(kind, &e, READ)),
    }
}

const READ: &str = "Read(BinaryReader r)";

/// The text of a value of such a type.
pub(super) fn text(value: &Value, ty: SqlType) -> Result<String> {
    let bytes = value.as_bytes().unwrap_or_default();
    match ty {
        SqlType::HierarchyId => Path::from_bytes(bytes).map(|p| p.to_string()),
        ty => spatial_of(value, spatial_kind(ty)).map(|i| wkt::write(&i.shape, true)),
    }
}

/// The value of a position. Error 6522 when its bytes would be more than 892.
pub fn hierarchy_value(path: &Path) -> Result<Value> {
    let bytes = path.bytes();
    bytes
        .map(Value::bytes)
        .ok_or_else(|| Path::parse(&path.to_string()).err().unwrap_or_else(raise::truncated))
}

/// The instance of a value. Error 6522 for bytes that are none.
pub fn spatial_of(value: &Value, kind: Kind) -> Result<Instance> {
    let read = clr::read(value.as_bytes().unwrap_or_default(), kind);
    read.map(|(instance, _)| instance).map_err(|e| spatial_error(kind, &e, READ))
}

/// The instance of a value that is computed with. Error 6522 with 24144 when it is not valid.
pub fn valid_spatial_of(value: &Value, kind: Kind, method: &str) -> Result<Instance> {
    match clr::read(value.as_bytes().unwrap_or_default(), kind) {
        Ok((instance, marks)) if marks.valid => Ok(instance),
        Ok(_) => Err(spatial_error(kind, &keel_spatial::not_valid(), method)),
        Err(e) => Err(spatial_error(kind, &e, READ)),
    }
}

/// The value of an instance, with whether it is valid.
#[must_use]
pub fn spatial_value(instance: &Instance, kind: Kind) -> Value {
    Value::bytes(clr::write(instance, kind, instance.marks(kind)))
}

/// Error 6522 of a method of a spatial type.
#[must_use]
pub fn spatial_error(kind: Kind, error: &keel_spatial::Error, method: &str) -> Box<SqlError> {
    let (ty, class) = match kind {
        Kind::Geometry => ("geometry", "SqlGeometry"),
        Kind::Geography => ("geography", "SqlGeography"),
    };
    let site = format!("Microsoft.SqlServer.Types.{class}.{method}");
    raise::clr_error(ty, 1, error.exception, &error.message, &site)
}
