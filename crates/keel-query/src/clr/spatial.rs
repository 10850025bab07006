//! The methods of `geometry` and `geography`.
//!
//! Two instances of different reference identifiers have nothing to say to each other: their methods give NULL.

use super::{BYTES, Method, SELF, TEXT, method, property};
use crate::errors::Result;
use keel_spatial::planar::{self, Relation, SetOp};
use keel_spatial::{Error, Instance, Kind, Pos, Shape, geodetic, wkb, wkt};
use keel_types::cast::{spatial_error, spatial_kind, spatial_of, spatial_value, valid_spatial_of};
use keel_types::{SqlType, Value};

const INT: SqlType = SqlType::Int;
const FLOAT: SqlType = SqlType::Float;
const BIT: SqlType = SqlType::Bit;

/// `geometry::…` and `geography::…`
pub(super) const STATICS: &[Method] = &[
    method("Parse", &[TEXT], SELF, |ty, _, args| {
        from_text(ty, &args[0], None, |_| true, "Parse(SqlString s)")
    }),
    method("Point", &[FLOAT, FLOAT, INT], SELF, |ty, _, args| {
        let (a, b) = (number(&args[0]), number(&args[1]));
        let kind = spatial_kind(ty);
        let at = if kind == Kind::Geography { Pos::new(b, a) } else { Pos::new(a, b) };
        new_value(kind, Shape::Point(Some(at)), &args[2], "Point(Double x, Double y, Int32 srid)")
    }),
    method("STGeomFromText", &[TEXT, INT], SELF, |ty, _, args| {
        from_text(
            ty,
            &args[0],
            Some(&args[1]),
            |_| true,
            "STGeomFromText(SqlChars geometryTaggedText, Int32 srid)",
        )
    }),
    method("STPointFromText", &[TEXT, INT], SELF, |ty, _, args| {
        from_text(ty, &args[0], Some(&args[1]), |s| matches!(s, Shape::Point(_)), "STPointFromText")
    }),
    method("STLineFromText", &[TEXT, INT], SELF, |ty, _, args| {
        from_text(ty, &args[0], Some(&args[1]), |s| matches!(s, Shape::LineString(_)), "STLineFromText")
    }),
    method("STPolyFromText", &[TEXT, INT], SELF, |ty, _, args| {
        from_text(ty, &args[0], Some(&args[1]), |s| matches!(s, Shape::Polygon(_)), "STPolyFromText")
    }),
    method("STMPointFromText", &[TEXT, INT], SELF, |ty, _, args| {
        from_text(ty, &args[0], Some(&args[1]), |s| matches!(s, Shape::MultiPoint(_)), "STMPointFromText")
    }),
    method("STMLineFromText", &[TEXT, INT], SELF, |ty, _, args| {
        from_text(ty, &args[0], Some(&args[1]), |s| matches!(s, Shape::MultiLineString(_)), "STMLineFromText")
    }),
    method("STMPolyFromText", &[TEXT, INT], SELF, |ty, _, args| {
        from_text(ty, &args[0], Some(&args[1]), |s| matches!(s, Shape::MultiPolygon(_)), "STMPolyFromText")
    }),
    method("STGeomCollFromText", &[TEXT, INT], SELF, |ty, _, args| {
        from_text(ty, &args[0], Some(&args[1]), Shape::is_collection, "STGeomCollFromText")
    }),
    method("STGeomFromWKB", &[BYTES, INT], SELF, |ty, _, args| from_wkb(ty, args, |_| true)),
    method("STPointFromWKB", &[BYTES, INT], SELF, |ty, _, args| {
        from_wkb(ty, args, |s| matches!(s, Shape::Point(_)))
    }),
    method("STLineFromWKB", &[BYTES, INT], SELF, |ty, _, args| {
        from_wkb(ty, args, |s| matches!(s, Shape::LineString(_)))
    }),
    method("STPolyFromWKB", &[BYTES, INT], SELF, |ty, _, args| {
        from_wkb(ty, args, |s| matches!(s, Shape::Polygon(_)))
    }),
    method("STGeomCollFromWKB", &[BYTES, INT], SELF, |ty, _, args| from_wkb(ty, args, Shape::is_collection)),
];

/// What both types have.
pub(super) const METHODS: &[Method] = &[
    // Forms of it.
    method("ToString", &[], TEXT, |ty, v, _| read(ty, v, |i| text(wkt::write(&i.shape, true)))),
    method("AsTextZM", &[], TEXT, |ty, v, _| read(ty, v, |i| text(wkt::write(&i.shape, true)))),
    method("STAsText", &[], TEXT, |ty, v, _| read(ty, v, |i| text(wkt::write(&i.shape, false)))),
    method("STAsBinary", &[], BYTES, |ty, v, _| read(ty, v, |i| Value::bytes(wkb::write(&i.shape, false)))),
    method("AsBinaryZM", &[], BYTES, |ty, v, _| read(ty, v, |i| Value::bytes(wkb::write(&i.shape, true)))),
    // What it is.
    property("STSrid", INT, |ty, v, _| read(ty, v, |i| Value::Int(i.srid.into()))),
    property("Z", FLOAT, |ty, v, _| read(ty, v, |i| of_point(i, |p| p.z))),
    property("M", FLOAT, |ty, v, _| read(ty, v, |i| of_point(i, |p| p.m))),
    property("HasZ", BIT, |ty, v, _| {
        read(ty, v, |i| Value::Bit(i.shape.positions().iter().any(|p| p.z.is_some())))
    }),
    property("HasM", BIT, |ty, v, _| {
        read(ty, v, |i| Value::Bit(i.shape.positions().iter().any(|p| p.m.is_some())))
    }),
    property("IsNull", BIT, |_, _, _| Ok(Value::Bit(false))),
    method("STGeometryType", &[], SqlType::NVarChar(keel_types::Length::Limited(4000)), |ty, v, _| {
        measured(ty, v, |i| text(i.shape.type_name().to_owned()))
    }),
    method("InstanceOf", &[TEXT], BIT, |ty, v, args| {
        let name = args[0].as_str().unwrap_or_default();
        measured(ty, v, |i| Value::Bit(i.shape.is_instance_of(name)))
    }),
    method("STDimension", &[], INT, |ty, v, _| measured(ty, v, |i| Value::Int(i.shape.dimension()))),
    method("STIsEmpty", &[], BIT, |ty, v, _| read(ty, v, |i| Value::Bit(i.shape.is_empty()))),
    method("STIsClosed", &[], BIT, |ty, v, _| measured(ty, v, |i| Value::Bit(i.shape.is_closed()))),
    method("STIsValid", &[], BIT, |ty, v, _| {
        let kind = spatial_kind(ty);
        read(ty, v, |i| Value::Bit(i.marks(kind).valid))
    }),
    method("MakeValid", &[], SELF, |ty, v, _| {
        let kind = spatial_kind(ty);
        let i = spatial_of(v, kind)?;
        let shape = if kind == Kind::Geometry { planar::make_valid(&i.shape) } else { i.shape };
        Ok(spatial_value(&Instance { srid: i.srid, shape }, kind))
    }),
    // Its parts.
    method("STNumPoints", &[], INT, |ty, v, _| measured(ty, v, |i| count(i.shape.positions().len()))),
    method("STPointN", &[INT], SELF, |ty, v, args| {
        let n = nth(ty, &args[0], "STPointN(Int32 n)")?;
        pick(ty, v, |s| s.positions().get(n - 1).map(|p| Shape::Point(Some(*p))))
    }),
    method("STStartPoint", &[], SELF, |ty, v, _| {
        pick(ty, v, |s| s.positions().first().map(|p| Shape::Point(Some(*p))))
    }),
    method("STEndPoint", &[], SELF, |ty, v, _| {
        pick(ty, v, |s| s.positions().last().map(|p| Shape::Point(Some(*p))))
    }),
    method("STNumGeometries", &[], INT, |ty, v, _| measured(ty, v, |i| count(i.shape.count()))),
    method("STGeometryN", &[INT], SELF, |ty, v, args| {
        let n = nth(ty, &args[0], "STGeometryN(Int32 n)")?;
        pick(ty, v, |s| s.part(n).cloned())
    }),
    method("STNumCurves", &[], INT, |ty, v, _| {
        measured(ty, v, |i| match &i.shape {
            Shape::LineString(l) => count(l.len().saturating_sub(1)),
            _ => Value::Null,
        })
    }),
    // Measures.
    method("STLength", &[], FLOAT, |ty, v, _| {
        let of = measure(ty, planar::length, geodetic::length);
        read(ty, v, |i| Value::Float(of(&i.shape)))
    }),
    method("STArea", &[], FLOAT, |ty, v, _| {
        let of = measure(ty, planar::area, geodetic::area);
        measured(ty, v, |i| Value::Float(of(&i.shape)))
    }),
    method("STDistance", &[SELF], FLOAT, |ty, v, args| {
        both(ty, v, &args[0], |kind, a, b| {
            let found = match kind {
                Kind::Geometry => planar::distance(a, b),
                Kind::Geography => geodetic::distance(a, b)?,
            };
            Ok(found.map_or(Value::Null, Value::Float))
        })
    }),
    // Relations.
    method("STIntersects", &[SELF], BIT, |ty, v, args| relation(ty, v, args, Relation::Intersects)),
    method("Filter", &[SELF], BIT, |ty, v, args| relation(ty, v, args, Relation::Intersects)),
    method("STDisjoint", &[SELF], BIT, |ty, v, args| relation(ty, v, args, Relation::Disjoint)),
    method("STContains", &[SELF], BIT, |ty, v, args| relation(ty, v, args, Relation::Contains)),
    method("STWithin", &[SELF], BIT, |ty, v, args| relation(ty, v, args, Relation::Within)),
    method("STOverlaps", &[SELF], BIT, |ty, v, args| relation(ty, v, args, Relation::Overlaps)),
    method("STEquals", &[SELF], BIT, |ty, v, args| relation(ty, v, args, Relation::Equals)),
    // Shapes made of it.
    method("STUnion", &[SELF], SELF, |ty, v, args| combine(ty, v, args, SetOp::Union)),
    method("STIntersection", &[SELF], SELF, |ty, v, args| combine(ty, v, args, SetOp::Intersection)),
    method("STDifference", &[SELF], SELF, |ty, v, args| combine(ty, v, args, SetOp::Difference)),
    method("STSymDifference", &[SELF], SELF, |ty, v, args| combine(ty, v, args, SetOp::SymDifference)),
    method("STConvexHull", &[], SELF, |ty, v, _| {
        change(ty, v, |kind, s| match kind {
            Kind::Geometry => Ok(planar::convex_hull(s)),
            Kind::Geography => geodetic::convex_hull(s),
        })
    }),
    method("STBuffer", &[FLOAT], SELF, |ty, v, args| buffer(ty, v, number(&args[0]))),
    method("BufferWithTolerance", &[FLOAT, FLOAT, BIT], SELF, |ty, v, args| buffer(ty, v, number(&args[0]))),
    method("Reduce", &[FLOAT], SELF, |ty, v, args| {
        let tolerance = number(&args[0]);
        change(ty, v, |kind, s| {
            Ok(if kind == Kind::Geometry {
                planar::reduce(s, tolerance)
            } else {
                geodetic::reduce(s, tolerance)
            })
        })
    }),
];

/// What only `geometry` has.
pub(super) const OF_GEOMETRY: &[Method] = &[
    property("STX", FLOAT, |ty, v, _| read(ty, v, |i| of_point(i, |p| Some(p.x)))),
    property("STY", FLOAT, |ty, v, _| read(ty, v, |i| of_point(i, |p| Some(p.y)))),
    method("STIsSimple", &[], BIT, |ty, v, _| measured(ty, v, |i| Value::Bit(planar::is_simple(&i.shape)))),
    method("STIsRing", &[], BIT, |ty, v, _| {
        read(ty, v, |i| match &i.shape {
            Shape::LineString(_) => Value::Bit(i.shape.is_closed() && planar::is_simple(&i.shape)),
            _ => Value::Null,
        })
    }),
    method("STTouches", &[SELF], BIT, |ty, v, args| relation(ty, v, args, Relation::Touches)),
    method("STCrosses", &[SELF], BIT, |ty, v, args| relation(ty, v, args, Relation::Crosses)),
    method("STRelate", &[SELF, TEXT], BIT, |ty, v, args| {
        let pattern = args[1].as_str().unwrap_or_default();
        check_pattern(pattern).map_err(|e| {
            spatial_error(
                spatial_kind(ty),
                &e,
                "STRelate(SqlGeometry other, String intersectionPatternMatrix)",
            )
        })?;
        both(ty, v, &args[0], |_, a, b| Ok(planar::relates_as(a, b, pattern).map_or(Value::Null, Value::Bit)))
    }),
    method("STExteriorRing", &[], SELF, |ty, v, _| pick(ty, v, |s| ring(s, 0))),
    method("STNumInteriorRing", &[], INT, |ty, v, _| {
        measured(ty, v, |i| match &i.shape {
            Shape::Polygon(rings) => count(rings.len().saturating_sub(1)),
            _ => Value::Null,
        })
    }),
    method("STInteriorRingN", &[INT], SELF, |ty, v, args| {
        let n = nth(ty, &args[0], "STInteriorRingN(Int32 n)")?;
        pick(ty, v, |s| ring(s, n))
    }),
    method("STEnvelope", &[], SELF, |ty, v, _| change(ty, v, |_, s| Ok(planar::envelope(s)))),
    method("STBoundary", &[], SELF, |ty, v, _| change(ty, v, |_, s| Ok(planar::boundary(s)))),
    method("STCentroid", &[], SELF, |ty, v, _| change(ty, v, |_, s| Ok(Shape::Point(planar::centroid(s))))),
    method("STPointOnSurface", &[], SELF, |ty, v, _| {
        change(ty, v, |_, s| Ok(Shape::Point(planar::inner_point(s))))
    }),
];

/// What only `geography` has.
pub(super) const OF_GEOGRAPHY: &[Method] = &[
    property("Lat", FLOAT, |ty, v, _| read(ty, v, |i| of_point(i, |p| Some(p.y)))),
    property("Long", FLOAT, |ty, v, _| read(ty, v, |i| of_point(i, |p| Some(p.x)))),
    method("NumRings", &[], INT, |ty, v, _| {
        measured(ty, v, |i| match &i.shape {
            Shape::Polygon(rings) => count(rings.len()),
            _ => Value::Null,
        })
    }),
    method("RingN", &[INT], SELF, |ty, v, args| {
        let n = nth(ty, &args[0], "RingN(Int32 n)")?;
        pick(ty, v, |s| ring(s, n - 1))
    }),
    method("EnvelopeCenter", &[], SELF, |ty, v, _| {
        pick(ty, v, |s| geodetic::center(s).map(|p| Shape::Point(Some(p))))
    }),
    method("EnvelopeAngle", &[], FLOAT, |ty, v, _| {
        measured(ty, v, |i| geodetic::angle(&i.shape).map_or(Value::Null, Value::Float))
    }),
    method("ReorientObject", &[], SELF, |ty, v, _| change(ty, v, |_, s| Ok(s.reoriented()))),
];

/// Nine characters of those that a pattern of `STRelate` has. Errors 24109, 24110.
fn check_pattern(pattern: &str) -> keel_spatial::Result<()> {
    let count = pattern.chars().count();
    if count != 9 {
        return Err(Error::format(format!(
            "24109: The intersectionPatternMatrix argument to STRelate is not valid. This argument must contain exactly 9 characters, but the string provided has {count} characters."
        )));
    }
    match pattern.chars().enumerate().find(|(_, c)| !"012TF*".contains(*c)) {
        Some((at, c)) => Err(Error::format(format!(
            "24110: Character {at} ({c}) of the intersectionPatternMatrix argument to STRelate is not valid. This argument must only contain the characters 0, 1, 2, T, F, and *."
        ))),
        None => Ok(()),
    }
}

fn number(v: &Value) -> f64 {
    if let Value::Float(f) = v { *f } else { 0.0 }
}

fn text(s: String) -> Value {
    Value::str(s)
}

fn count(n: usize) -> Value {
    Value::Int(n as i64)
}

/// The n-th, from 1. Error 24103 for anything below.
fn nth(ty: SqlType, v: &Value, method: &str) -> Result<usize> {
    let n = v.as_int().unwrap_or_default();
    usize::try_from(n).ok().filter(|n| *n > 0).ok_or_else(|| {
        let m = format!("24103: The given index {n} is not valid: it must be 1 or more.");
        spatial_error(spatial_kind(ty), &Error::argument(m), method)
    })
}

fn from_text(
    ty: SqlType,
    written: &Value,
    srid: Option<&Value>,
    fits: fn(&Shape) -> bool,
    method: &str,
) -> Result<Value> {
    let kind = spatial_kind(ty);
    let written = written.as_str().unwrap_or_default();
    let shape = wkt::parse(written, kind).and_then(|s| {
        if fits(&s) {
            Ok(s)
        } else {
            Err(Error::format("24111: The well-known text (WKT) input is not valid."))
        }
    });
    let shape = shape.map_err(|e| spatial_error(kind, &e, method))?;
    let default = Value::Int(kind.default_srid().into());
    new_value(kind, shape, srid.unwrap_or(&default), method)
}

fn from_wkb(ty: SqlType, args: &[Value], fits: fn(&Shape) -> bool) -> Result<Value> {
    let kind = spatial_kind(ty);
    let method = "STGeomFromWKB(SqlBytes wkbGeometry, Int32 srid)";
    let shape = wkb::parse(args[0].as_bytes().unwrap_or_default()).and_then(|s| {
        if fits(&s) {
            Ok(s)
        } else {
            Err(Error::format("24115: The well-known binary (WKB) input is not valid."))
        }
    });
    new_value(kind, shape.map_err(|e| spatial_error(kind, &e, method))?, &args[1], method)
}

fn new_value(kind: Kind, shape: Shape, srid: &Value, method: &str) -> Result<Value> {
    let srid = i32::try_from(srid.as_int().unwrap_or_default()).unwrap_or(-1);
    let made = Instance::new(kind, shape, srid).map_err(|e| spatial_error(kind, &e, method))?;
    Ok(spatial_value(&made, kind))
}

fn measure(ty: SqlType, plane: fn(&Shape) -> f64, globe: fn(&Shape) -> f64) -> fn(&Shape) -> f64 {
    if ty == SqlType::Geography { globe } else { plane }
}

fn of_point(i: &Instance, of: impl Fn(&Pos) -> Option<f64>) -> Value {
    match &i.shape {
        Shape::Point(Some(p)) => of(p).map_or(Value::Null, Value::Float),
        _ => Value::Null,
    }
}

fn ring(shape: &Shape, n: usize) -> Option<Shape> {
    match shape {
        Shape::Polygon(rings) => rings.get(n).cloned().map(Shape::LineString),
        _ => None,
    }
}

fn read(ty: SqlType, v: &Value, of: impl Fn(&Instance) -> Value) -> Result<Value> {
    Ok(of(&spatial_of(v, spatial_kind(ty))?))
}

/// What is computed of a valid instance.
fn measured(ty: SqlType, v: &Value, of: impl Fn(&Instance) -> Value) -> Result<Value> {
    Ok(of(&valid_spatial_of(v, spatial_kind(ty), "ThrowIfInvalid()")?))
}

/// A part of it, or NULL.
fn pick(ty: SqlType, v: &Value, of: impl Fn(&Shape) -> Option<Shape>) -> Result<Value> {
    let kind = spatial_kind(ty);
    let i = valid_spatial_of(v, kind, "ThrowIfInvalid()")?;
    let part = of(&i.shape).map(|shape| Instance { srid: i.srid, shape });
    Ok(part.map_or(Value::Null, |p| spatial_value(&p, kind)))
}

fn change(ty: SqlType, v: &Value, of: impl Fn(Kind, &Shape) -> keel_spatial::Result<Shape>) -> Result<Value> {
    let kind = spatial_kind(ty);
    let i = valid_spatial_of(v, kind, "ThrowIfInvalid()")?;
    let shape = of(kind, &i.shape).map_err(|e| spatial_error(kind, &e, "MakeValid()"))?;
    Ok(spatial_value(&Instance { srid: i.srid, shape }, kind))
}

fn buffer(ty: SqlType, v: &Value, distance: f64) -> Result<Value> {
    change(ty, v, |kind, s| {
        Ok(if kind == Kind::Geometry { planar::buffer(s, distance) } else { geodetic::buffer(s, distance) })
    })
}

/// Of two instances; NULL when their identifiers differ.
fn both(
    ty: SqlType,
    a: &Value,
    b: &Value,
    of: impl Fn(Kind, &Shape, &Shape) -> keel_spatial::Result<Value>,
) -> Result<Value> {
    let kind = spatial_kind(ty);
    let valid = |v: &Value| valid_spatial_of(v, kind, "ThrowIfInvalid()");
    let (a, b) = (valid(a)?, valid(b)?);
    if a.srid != b.srid {
        return Ok(Value::Null);
    }
    of(kind, &a.shape, &b.shape).map_err(|e| spatial_error(kind, &e, "STRelation(SqlGeometry other)"))
}

fn relation(ty: SqlType, v: &Value, args: &[Value], relation: Relation) -> Result<Value> {
    both(ty, v, &args[0], |kind, a, b| {
        Ok(Value::Bit(match kind {
            Kind::Geometry => planar::relates(a, b, relation),
            Kind::Geography => geodetic::relates(a, b, relation)?,
        }))
    })
}

fn combine(ty: SqlType, v: &Value, args: &[Value], op: SetOp) -> Result<Value> {
    let kind = spatial_kind(ty);
    let valid = |v: &Value| valid_spatial_of(v, kind, "ThrowIfInvalid()");
    let (a, b) = (valid(v)?, valid(&args[0])?);
    if a.srid != b.srid {
        return Ok(Value::Null);
    }
    let shape = match kind {
        Kind::Geometry => planar::combine(&a.shape, &b.shape, op),
        Kind::Geography => geodetic::combine(&a.shape, &b.shape, op)
            .map_err(|e| spatial_error(kind, &e, "STUnion(SqlGeography other)"))?,
    };
    Ok(spatial_value(&Instance { srid: a.srid, shape }, kind))
}
