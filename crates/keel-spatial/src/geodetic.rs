//! Measures, relations and set operations on the earth (WGS 84), whatever the identifier says.
//!
//! Ways and areas are those of `geographiclib`. What is a question of position only (relations, set operations) is asked in
//! the gnomonic projection about the middle of the shapes, where the great circles that join positions are straight lines; so
//! both shapes must fit into one hemisphere. Buffers are drawn in the azimuthal projection that keeps distances.

use crate::planar::{self, Relation, SetOp};
use crate::shape::{Pos, Shape};
use crate::{Error, Result};
use geo::{Bearing, Destination, Distance, Geodesic, GeodesicArea, LineString, Point, Polygon};

/// Error 24206 for an edge that joins a position with the opposite one, or nearly: no one way between them is the shortest.
pub(crate) fn check_edges(shape: &Shape) -> Result<()> {
    let opposite = |w: &[Pos]| {
        let (u, v) = (vector(&w[0]), vector(&w[1]));
        let sum = [u[0] + v[0], u[1] + v[1], u[2] + v[2]];
        dot(&sum, &sum) < 1e-16
    };
    if shape.leaves().into_iter().flat_map(Shape::lines).any(|l| l.windows(2).any(opposite)) {
        return Err(Error {
            exception: GL_ARGUMENT,
            message: "24206: The specified input cannot be accepted because it contains an edge with antipodal points. For information about using spatial methods with FullGlobe objects, see Types of Spatial Data in SQL Server Books Online.".to_owned(),
        });
    }
    Ok(())
}

const GL_ARGUMENT: &str = "Microsoft.SqlServer.Types.GLArgumentException";

/// Half of the earth's surface, in square metres.
const HALF: f64 = 2.550_328_1e14;

fn point(p: &Pos) -> Point {
    Point::new(p.x, p.y)
}

fn ring(positions: &[Pos]) -> LineString {
    positions.iter().map(|p| point(p).0).collect()
}

/// The shortest way between two positions, in metres.
fn between(a: &Pos, b: &Pos) -> f64 {
    Geodesic.distance(point(a), point(b))
}

/// Length of lines and rings, in metres.
#[must_use]
pub fn length(shape: &Shape) -> f64 {
    let lines = shape.leaves().into_iter().flat_map(Shape::lines);
    lines.flat_map(|l| l.windows(2)).map(|w| between(&w[0], &w[1])).sum()
}

/// Area of polygons in square metres: what is to the left of their rings, so that a ring the other way round encloses the rest
/// of the earth.
#[must_use]
pub fn area(shape: &Shape) -> f64 {
    shape.leaves().into_iter().map(leaf_area).sum()
}

fn leaf_area(leaf: &Shape) -> f64 {
    match leaf {
        Shape::FullGlobe => 2.0 * HALF,
        Shape::Polygon(rings) => {
            let mut areas = rings.iter().map(|r| Polygon::new(ring(r), Vec::new()));
            let outer = areas.next().map_or(0.0, |p| p.geodesic_area_unsigned());
            let holes: f64 = areas.map(|p| p.geodesic_area_signed().abs()).sum();
            outer - holes
        }
        _ => 0.0,
    }
}

/// Whether it is larger than a hemisphere.
#[must_use]
pub fn is_large(shape: &Shape) -> bool {
    area(shape) > HALF
}

type Vector = [f64; 3];

fn vector(p: &Pos) -> Vector {
    let (lon, lat) = (p.x.to_radians(), p.y.to_radians());
    [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]
}

fn position(v: &Vector) -> Pos {
    Pos::new(v[1].atan2(v[0]).to_degrees(), v[2].atan2(v[0].hypot(v[1])).to_degrees())
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: &Vector, b: &Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn scaled(v: &Vector, by: f64) -> Vector {
    [v[0] * by, v[1] * by, v[2] * by]
}

fn unit(v: &Vector) -> Option<Vector> {
    let length = dot(v, v).sqrt();
    (length > 1e-12).then(|| scaled(v, 1.0 / length))
}

fn middle(positions: &[Pos]) -> Option<Vector> {
    let sum = positions.iter().map(vector).fold([0.0; 3], |s, v| [s[0] + v[0], s[1] + v[1], s[2] + v[2]]);
    unit(&sum)
}

/// The middle of all positions, `EnvelopeCenter`.
#[must_use]
pub fn center(shape: &Shape) -> Option<Pos> {
    middle(&shape.positions()).map(|v| position(&v))
}

/// The largest angle between the middle and a position, in degrees.
#[must_use]
pub fn angle(shape: &Shape) -> Option<f64> {
    let positions = shape.positions();
    let middle = middle(&positions)?;
    let angles = positions.iter().map(|p| dot(&vector(p), &middle).clamp(-1.0, 1.0).acos().to_degrees());
    Some(angles.fold(0.0, f64::max))
}

/// The projection in which great circles are straight.
struct Gnomonic {
    middle: Vector,
    east: Vector,
    north: Vector,
}

impl Gnomonic {
    /// About the middle of these shapes. Error 24205 when they do not fit into a hemisphere.
    fn about(shapes: &[&Shape]) -> Result<Gnomonic> {
        let positions: Vec<Pos> = shapes.iter().flat_map(|s| s.positions()).collect();
        let middle = middle(&positions).ok_or_else(too_large)?;
        let large = shapes.iter().any(|s| is_large(s));
        if large || positions.iter().any(|p| dot(&vector(p), &middle) < 0.01) {
            return Err(too_large());
        }
        let pole = if middle[2].abs() > 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] };
        let east = unit(&cross(&pole, &middle)).ok_or_else(too_large)?;
        Ok(Gnomonic { north: cross(&middle, &east), middle, east })
    }

    fn plane(&self, shape: &Shape) -> Shape {
        shape.map(&mut |p| {
            let v = vector(&p);
            let depth = dot(&v, &self.middle);
            Pos { x: dot(&v, &self.east) / depth, y: dot(&v, &self.north) / depth, ..p }
        })
    }

    fn globe(&self, shape: &Shape) -> Shape {
        shape.map(&mut |p| {
            let part = |i: usize| self.middle[i] + p.x * self.east[i] + p.y * self.north[i];
            let at = position(&[part(0), part(1), part(2)]);
            Pos { x: tidy(at.x), y: tidy(at.y), ..p }
        })
    }
}

/// Degrees to the millionth of a millimetre: what the projection added beyond is noise.
fn tidy(degrees: f64) -> f64 {
    (degrees * 1e13).round() / 1e13
}

fn too_large() -> Error {
    Error {
        exception: GL_ARGUMENT,
        message: "24205: The specified input does not represent a valid geography instance because it exceeds a single hemisphere. Each geography instance must fit inside a single hemisphere. A common reason for this error is that a polygon has the wrong ring orientation.".to_owned(),
    }
}

/// Whether its rings do not cross; true of what is larger than a hemisphere, which is not looked at.
#[must_use]
pub fn is_valid(shape: &Shape) -> bool {
    Gnomonic::about(&[shape])
        .map_or(true, |around| planar::is_valid(&around.plane(shape).map(&mut |p| near_zero(p))))
}

/// What a projection makes of a position on its axis.
fn near_zero(p: Pos) -> Pos {
    let clean = |n: f64| if n.abs() < 1e-100 { 0.0 } else { n };
    Pos { x: clean(p.x), y: clean(p.y), ..p }
}

/// Whether two shapes stand in this relation.
pub fn relates(a: &Shape, b: &Shape, relation: Relation) -> Result<bool> {
    if a.is_empty() || b.is_empty() {
        return Ok(planar::relates(a, b, relation));
    }
    if matches!((a, b), (Shape::FullGlobe, _) | (_, Shape::FullGlobe)) {
        return Ok(match relation {
            Relation::Intersects => true,
            Relation::Contains => matches!(a, Shape::FullGlobe),
            Relation::Within => matches!(b, Shape::FullGlobe),
            Relation::Equals => a == b,
            _ => false,
        });
    }
    let around = match Gnomonic::about(&[a, b]) {
        Ok(around) => around,
        // Small shapes on opposite sides of the earth do not meet.
        Err(_) if far_apart(a, b) => return Ok(relation == Relation::Disjoint),
        Err(e) => return Err(e),
    };
    Ok(planar::relates(&around.plane(a), &around.plane(b), relation))
}

/// Whether the caps around two shapes do not touch.
fn far_apart(a: &Shape, b: &Shape) -> bool {
    let cap = |s: &Shape| Some((vector(&center(s)?), angle(s)?)).filter(|c| c.1 < 80.0 && !is_large(s));
    match (cap(a), cap(b)) {
        (Some((u, r)), Some((v, s))) => dot(&u, &v).clamp(-1.0, 1.0).acos().to_degrees() > 1.5 * (r + s),
        _ => false,
    }
}

/// The result of a set operation.
pub fn combine(a: &Shape, b: &Shape, op: SetOp) -> Result<Shape> {
    if a.is_empty() && b.is_empty() {
        return Ok(Shape::Collection(Vec::new()));
    }
    let around = Gnomonic::about(&[a, b])?;
    Ok(around.globe(&planar::combine(&around.plane(a), &around.plane(b), op)))
}

/// The smallest convex shape around all positions.
pub fn convex_hull(shape: &Shape) -> Result<Shape> {
    if shape.is_empty() {
        return Ok(Shape::Collection(Vec::new()));
    }
    let around = Gnomonic::about(&[shape])?;
    Ok(around.globe(&planar::convex_hull(&around.plane(shape))))
}

/// Works on the shape in metres about its middle and brings the result back.
fn in_metres(shape: &Shape, work: impl Fn(&Shape) -> Shape) -> Shape {
    let Some(origin) = center(shape) else { return shape.clone() };
    let flat = shape.map(&mut |p| {
        let (far, way) = (between(&origin, &p), Geodesic.bearing(point(&origin), point(&p)).to_radians());
        let (x, y) = if far == 0.0 { (0.0, 0.0) } else { (far * way.sin(), far * way.cos()) };
        Pos { x, y, ..p }
    });
    work(&flat).map(&mut |p| {
        let way = p.x.atan2(p.y).to_degrees();
        let at = Geodesic.destination(point(&origin), way, p.x.hypot(p.y));
        Pos { x: at.x(), y: at.y(), ..p }
    })
}

/// Everything within so many metres of the shape.
#[must_use]
pub fn buffer(shape: &Shape, metres: f64) -> Shape {
    in_metres(shape, |flat| planar::buffer(flat, metres))
}

/// The shape with fewer positions, none farther from the lines left than so many metres.
#[must_use]
pub fn reduce(shape: &Shape, metres: f64) -> Shape {
    in_metres(shape, |flat| planar::reduce(flat, metres))
}

/// The shortest way between two shapes in metres; `None` when one is empty.
pub fn distance(a: &Shape, b: &Shape) -> Result<Option<f64>> {
    if a.is_empty() || b.is_empty() {
        return Ok(None);
    }
    if let (Shape::Point(Some(p)), Shape::Point(Some(q))) = (a, b) {
        return Ok(Some(between(p, q)));
    }
    let surfaces = a.dimension() == 2 || b.dimension() == 2;
    let crossing = a.dimension() > 0 && b.dimension() > 0;
    if (surfaces || crossing) && relates(a, b, Relation::Intersects)? {
        return Ok(Some(0.0));
    }
    let (edges_a, edges_b) = (edges(a), edges(b));
    let mut ways: Vec<(f64, Edge, Pos)> = Vec::new();
    for (edges, ends) in [(&edges_a, &edges_b), (&edges_b, &edges_a)] {
        for edge in edges {
            for end in ends.iter().flat_map(|e| [e.0, e.1]) {
                ways.push((rough(edge, &end), *edge, end));
            }
        }
    }
    let least = ways.iter().map(|w| w.0).fold(f64::INFINITY, f64::min);
    // The sphere is not the ellipsoid: everything nearly as near is measured.
    ways.retain(|w| w.0 <= least * 1.01 + 1e-12);
    let exact = ways.iter().take(64).map(|(_, edge, end)| along(edge, end));
    Ok(Some(exact.fold(f64::INFINITY, f64::min)))
}

/// From one position to another; of a point, both are the same.
type Edge = (Pos, Pos);

fn edges(shape: &Shape) -> Vec<Edge> {
    let of = |leaf: &Shape| -> Vec<Edge> {
        match leaf {
            Shape::Point(p) => p.iter().map(|p| (*p, *p)).collect(),
            other => other.lines().iter().flat_map(|l| l.windows(2)).map(|w| (w[0], w[1])).collect(),
        }
    };
    shape.leaves().into_iter().flat_map(of).collect()
}

/// The angle between a position and an edge on the sphere, in radians.
fn rough(edge: &Edge, to: &Pos) -> f64 {
    let (a, b, p) = (vector(&edge.0), vector(&edge.1), vector(to));
    let apart = |u: &Vector, v: &Vector| dot(u, v).clamp(-1.0, 1.0).acos();
    let ends = apart(&a, &p).min(apart(&b, &p));
    let Some(normal) = unit(&cross(&a, &b)) else { return ends };
    let within = dot(&cross(&normal, &a), &p) > 0.0 && dot(&cross(&normal, &b), &p) < 0.0;
    if within { dot(&normal, &p).abs().min(1.0).asin() } else { ends }
}

/// The shortest way from a position to an edge, in metres: searched between thirds, since it falls and then grows.
fn along(edge: &Edge, to: &Pos) -> f64 {
    let (a, b) = (vector(&edge.0), vector(&edge.1));
    let at = |t: f64| {
        let part = |i: usize| a[i] * (1.0 - t) + b[i] * t;
        between(&position(&[part(0), part(1), part(2)]), to)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let third = (high - low) / 3.0;
        if at(low + third) < at(high - third) { high -= third } else { low += third }
    }
    at((low + high) / 2.0).min(between(&edge.0, to)).min(between(&edge.1, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, wkt};

    fn shape(text: &str) -> Shape {
        wkt::parse(text, Kind::Geography).unwrap()
    }

    fn near(found: f64, expect: f64, tolerance: f64) {
        assert!((found - expect).abs() <= tolerance, "{found} is not {expect}");
    }

    /// Figures of the product's documentation of the methods.
    #[test]
    fn measures_of_the_product() {
        let block = shape(
            "POLYGON((-122.358 47.653, -122.348 47.649, -122.348 47.658, -122.358 47.658, -122.358 47.653))",
        );
        let line = shape("LINESTRING(-122.360 47.656, -122.343 47.656)");
        near(length(&line), 1276.07, 1.0);
        near(distance(&line, &shape("POINT(-122.34900 47.65100)")).unwrap().unwrap(), 555.95, 1.0);
        assert!(relates(&block, &line, Relation::Intersects).unwrap());
        assert!(!is_large(&block) && is_large(&block.reoriented()));
        // 0.01 degrees by 0.005 to 0.009 at this latitude.
        near(area(&block), 583_600.0, 2_000.0);
        near(area(&Shape::FullGlobe), 5.1e14, 1e12);
    }

    #[test]
    fn edges_are_great_circles() {
        // Between two positions of one latitude the way leads over higher ones.
        let line = shape("LINESTRING(-120 45, 0 45)");
        let above = distance(&line, &shape("POINT(-60 63)")).unwrap().unwrap();
        assert!(above < 100_000.0, "{above}");
        assert!(!relates(&line, &shape("POINT(-60 45)"), Relation::Intersects).unwrap());
    }

    #[test]
    fn around_the_date_line() {
        let a = shape("POLYGON((179 -1, -179 -1, -179 1, 179 1, 179 -1))");
        assert!(relates(&a, &shape("POINT(180 0)"), Relation::Contains).unwrap());
        assert!(!relates(&a, &shape("POINT(0 0)"), Relation::Intersects).unwrap());
        let b = shape("POLYGON((179.5 -1, 178 -1, 178 1, 179.5 1, 179.5 -1))").reoriented();
        let both = combine(&a, &b, SetOp::Intersection).unwrap();
        near(area(&both), area(&a) / 4.0, area(&a) / 100.0);
    }

    #[test]
    fn buffers_are_metres() {
        let round = buffer(&shape("POINT(10 50)"), 1000.0);
        near(area(&round), std::f64::consts::PI * 1e6, 3e4);
        assert!(!is_large(&round));
        assert!(relates(&round, &shape("POINT(10.01 50)"), Relation::Contains).unwrap());
    }

    #[test]
    fn nothing_larger_than_a_hemisphere_is_combined() {
        let e = combine(&shape("MULTIPOINT(0 0, 180 0, 90 0)"), &shape("POINT(-90 0)"), SetOp::Union)
            .unwrap_err();
        assert!(e.message.starts_with("24205"));
    }
}
