//! # keel-spatial: `geometry` and `geography`
//!
//! An [`Instance`] is a shape with its spatial reference identifier. SQL keeps it as the bytes of [`clr`]; a method reads
//! them, works on the tree of [`Shape`], and writes bytes, text or a number.
//!
//! | module | owns |
//! | --- | --- |
//! | [`shape`] | the tree of points, lines and polygons; what can be counted and picked out of it |
//! | [`wkt`], [`wkb`] | well-known text and binary (OGC 06-103r4) |
//! | [`clr`] | the bytes in which clients and tables have a value (MS-SSCLRT) |
//! | [`planar`] | measures, relations and set operations in the plane, by the library `geo` |
//! | [`geodetic`] | the same on the ellipsoid WGS 84, by `geographiclib` and projections onto planes |
//!
//! Coordinates are `x` and `y`; of a `geography` they are longitude and latitude in degrees, and lengths are metres.
//!
//! Invariants: bytes and text of a shape give the shape back; nothing panics on any input, if shapes that are not valid are
//! only written, counted and made valid: the bytes say which they are ([`Instance::marks`]).
//!
//! Deliberately absent: SQL's values and NULLs (keel-types and keel-query), curves (CIRCULARSTRING and what is made of it),
//! GML, spatial indexes as more than a definition.

pub mod clr;
pub mod geodetic;
pub mod planar;
pub mod shape;
pub mod wkb;
pub mod wkt;

pub use shape::{Pos, Shape};

/// Which of the two types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plane.
    Geometry,
    /// The surface of the earth.
    Geography,
}

impl Kind {
    /// The identifier of values that come without one.
    #[must_use]
    pub const fn default_srid(self) -> i32 {
        match self {
            Kind::Geometry => 0,
            Kind::Geography => 4326,
        }
    }
}

/// A shape with its spatial reference identifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Spatial reference identifier: 0..=999999 of geometry, 4120..=4999 or 104001 of geography.
    pub srid: i32,
    /// The shape.
    pub shape: Shape,
}

/// What the product's library says when it refuses something: number and text, and the class that .NET throws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The class, `System.FormatException` and the like.
    pub exception: &'static str,
    /// The text, number first: `24111: The well-known text (WKT) input is not valid.`
    pub message: String,
}

impl Error {
    /// Input that is not of its format.
    #[must_use]
    pub fn format(message: impl Into<String>) -> Error {
        Error { exception: "System.FormatException", message: message.into() }
    }

    /// An argument that makes no sense.
    #[must_use]
    pub fn argument(message: impl Into<String>) -> Error {
        Error { exception: "System.ArgumentException", message: message.into() }
    }
}

/// What everything here answers with.
pub type Result<T> = std::result::Result<T, Error>;

impl Instance {
    /// An instance, if it can be one: a known identifier, latitudes within 90 degrees, enough points in every part.
    ///
    /// Errors: 24100 and 24204 (identifier), 24201 and 24202 (coordinates), 24206 (edges), 24117 and following (points).
    pub fn new(kind: Kind, shape: Shape, srid: i32) -> Result<Instance> {
        check_srid(kind, srid)?;
        check_shape(kind, &shape)?;
        Ok(Instance { srid, shape })
    }

    /// What its bytes say of it beside its positions.
    #[must_use]
    pub fn marks(&self, kind: Kind) -> clr::Marks {
        match kind {
            Kind::Geometry => clr::Marks { valid: planar::is_valid(&self.shape), large: false },
            Kind::Geography => {
                clr::Marks { valid: geodetic::is_valid(&self.shape), large: geodetic::is_large(&self.shape) }
            }
        }
    }
}

/// Error 24144 for a shape that is not valid: measures, relations and set operations are refused of one.
#[must_use]
pub fn not_valid() -> Error {
    Error::argument(
        "24144: This operation cannot be completed because the instance is not valid. Use MakeValid to convert the instance to a valid instance. Note that MakeValid may cause the points of a geometry instance to shift slightly.",
    )
}

/// Errors 24201 and 24202 (coordinates), 24206 (edges), 24117 and following (points).
fn check_shape(kind: Kind, shape: &Shape) -> Result<()> {
    if kind == Kind::Geography {
        check_degrees(shape)?;
        geodetic::check_edges(shape)?;
    }
    shape.check(kind)
}

/// Error 24100 or 24204 for an identifier that the type does not take.
pub fn check_srid(kind: Kind, srid: i32) -> Result<()> {
    match kind {
        Kind::Geometry if !(0..=999_999).contains(&srid) => Err(Error::argument(
            "24100: The spatial reference identifier (SRID) is not valid. SRIDs must be between 0 and 999999.",
        )),
        Kind::Geography if !((4120..=4999).contains(&srid) || srid == 104_001) => Err(Error::argument(
            "24204: The spatial reference identifier (SRID) is not valid. The specified SRID must match one of the supported SRIDs displayed in the sys.spatial_reference_systems catalog view.",
        )),
        _ => Ok(()),
    }
}

fn check_degrees(shape: &Shape) -> Result<()> {
    for p in shape.positions() {
        if !(-90.0..=90.0).contains(&p.y) {
            return Err(Error::format("24201: Latitude values must be between -90 and 90 degrees."));
        }
        if !(-15_069.0..=15_069.0).contains(&p.x) {
            return Err(Error::format("24202: Longitude values must be between -15069 and 15069 degrees."));
        }
    }
    Ok(())
}
