//! The tree of a shape, and what can be counted and picked out of it without measuring.

use crate::{Error, Kind, Result};

/// A position. Of a `geography`, `x` is the longitude and `y` the latitude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pos {
    /// First coordinate.
    pub x: f64,
    /// Second coordinate.
    pub y: f64,
    /// Elevation, if it has one.
    pub z: Option<f64>,
    /// Measure, if it has one.
    pub m: Option<f64>,
}

impl Pos {
    /// A position in the plane.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Pos {
        Pos { x, y, z: None, m: None }
    }
}

/// A ring of a polygon or the positions of a line.
pub type Line = Vec<Pos>;

/// A shape. Empty lists, and a point without a position, are the EMPTY of their kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// POINT
    Point(Option<Pos>),
    /// LINESTRING
    LineString(Line),
    /// POLYGON: the outer ring, then the holes
    Polygon(Vec<Line>),
    /// MULTIPOINT, of points
    MultiPoint(Vec<Shape>),
    /// MULTILINESTRING, of lines
    MultiLineString(Vec<Shape>),
    /// MULTIPOLYGON, of polygons
    MultiPolygon(Vec<Shape>),
    /// GEOMETRYCOLLECTION
    Collection(Vec<Shape>),
    /// FULLGLOBE, of geography only
    FullGlobe,
}

impl Shape {
    /// What `STGeometryType` calls it.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Shape::Point(_) => "Point",
            Shape::LineString(_) => "LineString",
            Shape::Polygon(_) => "Polygon",
            Shape::MultiPoint(_) => "MultiPoint",
            Shape::MultiLineString(_) => "MultiLineString",
            Shape::MultiPolygon(_) => "MultiPolygon",
            Shape::Collection(_) => "GeometryCollection",
            Shape::FullGlobe => "FullGlobe",
        }
    }

    /// Whether `InstanceOf` says so: the kind by its name or by one of those it is a kind of, without regard to case.
    #[must_use]
    pub fn is_instance_of(&self, name: &str) -> bool {
        let broader: &[&str] = match self {
            Shape::Point(_) => &[],
            Shape::LineString(_) => &["Curve"],
            Shape::Polygon(_) => &["Surface"],
            Shape::MultiPoint(_) => &["GeometryCollection"],
            Shape::MultiLineString(_) => &["GeometryCollection", "MultiCurve"],
            Shape::MultiPolygon(_) => &["GeometryCollection", "MultiSurface"],
            Shape::Collection(_) | Shape::FullGlobe => &[],
        };
        [self.type_name(), "Geometry"].iter().chain(broader).any(|n| n.eq_ignore_ascii_case(name))
    }

    /// The parts of a collection of any kind; none of a single shape.
    #[must_use]
    pub fn parts(&self) -> &[Shape] {
        match self {
            Shape::MultiPoint(parts)
            | Shape::MultiLineString(parts)
            | Shape::MultiPolygon(parts)
            | Shape::Collection(parts) => parts,
            _ => &[],
        }
    }

    /// Whether it is a collection of any kind.
    #[must_use]
    pub const fn is_collection(&self) -> bool {
        matches!(
            self,
            Shape::MultiPoint(_) | Shape::MultiLineString(_) | Shape::MultiPolygon(_) | Shape::Collection(_)
        )
    }

    /// The shapes that are no collections, in order.
    #[must_use]
    pub fn leaves(&self) -> Vec<&Shape> {
        if self.is_collection() { self.parts().iter().flat_map(Shape::leaves).collect() } else { vec![self] }
    }

    /// The lines of one shape: the ring of positions of a line, the rings of a polygon.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        match self {
            Shape::LineString(line) => std::slice::from_ref(line),
            Shape::Polygon(rings) => rings,
            _ => &[],
        }
    }

    /// All positions, in order.
    #[must_use]
    pub fn positions(&self) -> Vec<Pos> {
        self.leaves()
            .into_iter()
            .flat_map(|leaf| match leaf {
                Shape::Point(p) => p.iter().copied().collect(),
                other => other.lines().concat(),
            })
            .collect()
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !matches!(self, Shape::FullGlobe) && self.positions().is_empty()
    }

    /// 0, 1 or 2; -1 of what is empty.
    #[must_use]
    pub fn dimension(&self) -> i64 {
        let of = |leaf: &Shape| match leaf {
            _ if leaf.is_empty() => -1,
            Shape::Point(_) => 0,
            Shape::LineString(_) => 1,
            _ => 2,
        };
        self.leaves().into_iter().map(of).max().unwrap_or(-1)
    }

    /// Number of parts: 1 of a single shape that is not empty.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            s if s.is_collection() => s.parts().len(),
            s => usize::from(!s.is_empty()),
        }
    }

    /// The n-th part from 1; the shape itself as its only one.
    #[must_use]
    pub fn part(&self, n: usize) -> Option<&Shape> {
        if self.is_collection() {
            return self.parts().get(n.checked_sub(1)?);
        }
        (n == 1 && !self.is_empty()).then_some(self)
    }

    /// Whether all lines end where they begin; false of points and of what is empty.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let closed = |leaf: &Shape| {
            let lines = leaf.lines();
            !lines.is_empty()
                && lines
                    .iter()
                    .all(|l| l.first().zip(l.last()).is_some_and(|(a, b)| a.x == b.x && a.y == b.y))
        };
        let leaves = self.leaves();
        !leaves.is_empty() && (matches!(self, Shape::FullGlobe) || leaves.into_iter().all(closed))
    }

    /// The same shape with every position changed.
    #[must_use]
    pub fn map(&self, f: &mut dyn FnMut(Pos) -> Pos) -> Shape {
        let mut line = |l: &Line| l.iter().map(|p| f(*p)).collect::<Line>();
        match self {
            Shape::Point(p) => Shape::Point(p.map(f)),
            Shape::LineString(l) => Shape::LineString(line(l)),
            Shape::Polygon(rings) => Shape::Polygon(rings.iter().map(line).collect()),
            Shape::MultiPoint(parts) => Shape::MultiPoint(parts.iter().map(|p| p.map(f)).collect()),
            Shape::MultiLineString(parts) => Shape::MultiLineString(parts.iter().map(|p| p.map(f)).collect()),
            Shape::MultiPolygon(parts) => Shape::MultiPolygon(parts.iter().map(|p| p.map(f)).collect()),
            Shape::Collection(parts) => Shape::Collection(parts.iter().map(|p| p.map(f)).collect()),
            Shape::FullGlobe => Shape::FullGlobe,
        }
    }

    /// The same shape with the rings of its polygons the other way round.
    #[must_use]
    pub fn reoriented(&self) -> Shape {
        match self {
            Shape::Polygon(rings) => {
                Shape::Polygon(rings.iter().map(|r| r.iter().rev().copied().collect()).collect())
            }
            Shape::MultiPolygon(parts) => Shape::MultiPolygon(parts.iter().map(Shape::reoriented).collect()),
            Shape::Collection(parts) => Shape::Collection(parts.iter().map(Shape::reoriented).collect()),
            other => other.clone(),
        }
    }

    /// The smallest shape that holds these: the one itself, a multi of one kind, or a collection.
    #[must_use]
    pub fn gathered(mut shapes: Vec<Shape>) -> Shape {
        let all = |is: fn(&Shape) -> bool, shapes: &[Shape]| shapes.iter().all(is);
        match shapes.len() {
            0 => Shape::Collection(shapes),
            1 => shapes.remove(0),
            _ if all(|s| matches!(s, Shape::Point(_)), &shapes) => Shape::MultiPoint(shapes),
            _ if all(|s| matches!(s, Shape::LineString(_)), &shapes) => Shape::MultiLineString(shapes),
            _ if all(|s| matches!(s, Shape::Polygon(_)), &shapes) => Shape::MultiPolygon(shapes),
            _ => Shape::Collection(shapes),
        }
    }

    /// Enough positions everywhere: two in a line, four in a ring that ends where it begins. Errors 24117; 24118 to 24121 of
    /// geometry, 24305 and 24306 of geography.
    pub(crate) fn check(&self, kind: Kind) -> Result<()> {
        for leaf in self.leaves() {
            match leaf {
                Shape::LineString(line) if line.len() == 1 => {
                    return Err(Error::format(
                        "24117: The LineString input is not valid because it does not have enough distinct points. A LineString must have at least two distinct points.",
                    ));
                }
                Shape::Polygon(rings) => {
                    for (i, ring) in rings.iter().enumerate() {
                        check_ring(kind, ring, i)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn check_ring(kind: Kind, ring: &[Pos], at: usize) -> Result<()> {
    let (short, open, shown) = match (kind, at) {
        (Kind::Geography, at) => (24_305, 24_306, format!("ring number {}", at + 1)),
        (Kind::Geometry, 0) => (24_118, 24_119, "exterior ring".to_owned()),
        (Kind::Geometry, at) => (24_120, 24_121, format!("interior ring number {at}")),
    };
    if ring.len() < 4 {
        return Err(Error::format(format!(
            "{short}: The Polygon input is not valid because the {shown} does not have enough points. Each ring of a polygon must contain at least four points."
        )));
    }
    let (first, last) = (ring[0], ring[ring.len() - 1]);
    if first.x != last.x || first.y != last.y {
        return Err(Error::format(format!(
            "{open}: The Polygon input is not valid because the start and end points of the {shown} are not the same. Each ring of a polygon must have the same start and end points."
        )));
    }
    Ok(())
}
