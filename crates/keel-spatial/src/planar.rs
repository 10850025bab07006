//! Measures, relations and set operations in the plane: shapes are handed to the library `geo` and its answers are
//! brought back. Elevations and measures are not looked at and are lost.

use crate::shape::{Pos, Shape};
use geo::algorithm::line_intersection::{LineIntersection, line_intersection};
use geo::orient::Direction;
use geo::relate::IntersectionMatrix;
use geo::{
    Area, BooleanOps, Buffer, Centroid, ConvexHull, Coord, Distance, Euclidean, Geometry, GeometryCollection,
    InteriorPoint, Intersects, Length, Line, LineString, MultiLineString, MultiPoint, MultiPolygon, Orient,
    Point, Polygon, Relate, Simplify, Validation,
};

/// What two shapes can have in common, as the methods ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `STIntersects`, `Filter`
    Intersects,
    /// `STDisjoint`
    Disjoint,
    /// `STContains`
    Contains,
    /// `STWithin`
    Within,
    /// `STTouches`
    Touches,
    /// `STCrosses`
    Crosses,
    /// `STOverlaps`
    Overlaps,
    /// `STEquals`
    Equals,
}

/// The set operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    /// `STUnion`
    Union,
    /// `STIntersection`
    Intersection,
    /// `STDifference`
    Difference,
    /// `STSymDifference`
    SymDifference,
}

/// Adding makes one zero of both: the library takes -0 for another number in one place and for the same in the next.
fn coord(p: &Pos) -> Coord {
    Coord { x: p.x + 0.0, y: p.y + 0.0 }
}

fn line(positions: &[Pos]) -> LineString {
    positions.iter().map(coord).collect()
}

fn polygon(rings: &[Vec<Pos>]) -> Polygon {
    let mut rings = rings.iter().map(|r| line(r));
    Polygon::new(rings.next().unwrap_or_else(|| LineString::new(Vec::new())), rings.collect())
}

/// The shape as the library has it; empty parts are left out.
fn geometry(shape: &Shape) -> Geometry {
    let whole = shape.leaves().into_iter().filter(|s| !s.is_empty());
    let mut all: Vec<Geometry> = whole
        .filter_map(|leaf| match leaf {
            Shape::Point(p) => p.as_ref().map(|p| Geometry::Point(Point(coord(p)))),
            Shape::LineString(l) => Some(Geometry::LineString(line(l))),
            Shape::Polygon(rings) => Some(Geometry::Polygon(polygon(rings))),
            _ => None,
        })
        .collect();
    match shape {
        Shape::MultiPoint(_) => Geometry::MultiPoint(MultiPoint(
            all.into_iter().filter_map(|g| Point::try_from(g).ok()).collect(),
        )),
        Shape::MultiLineString(_) => Geometry::MultiLineString(MultiLineString(
            all.into_iter().filter_map(|g| LineString::try_from(g).ok()).collect(),
        )),
        Shape::MultiPolygon(_) => Geometry::MultiPolygon(MultiPolygon(
            all.into_iter().filter_map(|g| Polygon::try_from(g).ok()).collect(),
        )),
        _ if all.len() == 1 => all.remove(0),
        _ => Geometry::GeometryCollection(GeometryCollection(all)),
    }
}

fn pos(c: &Coord) -> Pos {
    Pos::new(c.x, c.y)
}

fn positions(l: &LineString) -> Vec<Pos> {
    l.0.iter().map(pos).collect()
}

fn shape_of_polygon(p: &Polygon) -> Shape {
    let p = p.orient(Direction::Default);
    Shape::Polygon(
        std::iter::once(p.exterior()).chain(p.interiors()).map(|r| from_lowest(positions(r))).collect(),
    )
}

/// The ring from its lowest position, of those the one farthest to the left: the library starts anywhere.
fn from_lowest(mut ring: Vec<Pos>) -> Vec<Pos> {
    ring.pop();
    let lower = |a: &Pos, b: &Pos| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x));
    let start = (0..ring.len()).min_by(|i, j| lower(&ring[*i], &ring[*j])).unwrap_or(0);
    ring.rotate_left(start);
    ring.extend(ring.first().copied());
    ring
}

/// Whether it is valid as the OGC means it: rings that do not cross, holes inside, parts that do not overlap.
#[must_use]
pub fn is_valid(shape: &Shape) -> bool {
    let fits = |n: f64| n == 0.0 || (SMALLEST..=LARGEST).contains(&n.abs());
    shape.positions().iter().all(|p| fits(p.x) && fits(p.y))
        && has_valid_lines(shape)
        && parts_are_valid(shape)
}

/// Whether polygons are valid; those of a collection each for itself.
fn parts_are_valid(shape: &Shape) -> bool {
    match shape {
        Shape::Collection(parts) => parts.iter().all(parts_are_valid),
        Shape::Polygon(_) | Shape::MultiPolygon(_) => geometry(shape).is_valid(),
        _ => true,
    }
}

/// Whether no line lies on itself, or on another of its MULTILINESTRING; a line that ends with its last position twice does.
fn has_valid_lines(shape: &Shape) -> bool {
    match shape {
        Shape::LineString(l) if !l.is_empty() => {
            let stops = l.len() > 1 && coord(&l[l.len() - 1]) == coord(&l[l.len() - 2]);
            !stops && !lie_on_each_other(std::slice::from_ref(shape))
        }
        Shape::MultiLineString(parts) => parts.iter().all(has_valid_lines) && !lie_on_each_other(parts),
        Shape::Collection(parts) => parts.iter().all(has_valid_lines),
        _ => true,
    }
}

/// Whether any two segments of these lines share more than a position. They are looked at from left to right.
fn lie_on_each_other(lines: &[Shape]) -> bool {
    let all = lines.iter().flat_map(Shape::lines).map(|l| line(l));
    let mut segments: Vec<Line> =
        all.flat_map(|l| l.lines().collect::<Vec<_>>()).filter(|s| s.start != s.end).collect();
    let (left, right) = (|s: &Line| s.start.x.min(s.end.x), |s: &Line| s.start.x.max(s.end.x));
    segments.sort_by(|a, b| left(a).total_cmp(&left(b)));
    let shares = |a: &Line, b: &Line| matches!(line_intersection(*a, *b), Some(LineIntersection::Collinear { intersection: l }) if l.start != l.end);
    segments
        .iter()
        .enumerate()
        .any(|(i, a)| segments[i + 1..].iter().take_while(|b| left(b) <= right(a)).any(|b| shares(a, b)))
}

/// Coordinates beyond these are not computed with: their products are no numbers any more.
const LARGEST: f64 = 1e100;
const SMALLEST: f64 = 1e-100;

/// The shape made valid: polygons are what their rings enclose an odd number of times.
#[must_use]
pub fn make_valid(shape: &Shape) -> Shape {
    if is_valid(shape) {
        return shape.clone();
    }
    let near = |n: f64| if n.abs() < SMALLEST { 0.0 } else { n.clamp(-LARGEST, LARGEST) };
    Parts::of(&shape.map(&mut |p| Pos { x: near(p.x), y: near(p.y), ..p })).shape()
}

/// Length of lines and of the rings of polygons.
#[must_use]
pub fn length(shape: &Shape) -> f64 {
    let lines = shape.leaves().into_iter().flat_map(Shape::lines);
    lines.map(|l| Euclidean.length(&line(l))).sum()
}

/// Area of polygons.
#[must_use]
pub fn area(shape: &Shape) -> f64 {
    geometry(shape).unsigned_area()
}

/// The shortest way between two shapes; `None` when one is empty.
#[must_use]
pub fn distance(a: &Shape, b: &Shape) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    Some(Euclidean.distance(&geometry(a), &geometry(b)))
}

fn matrix(a: &Shape, b: &Shape) -> IntersectionMatrix {
    geometry(a).relate(&geometry(b))
}

/// Whether two shapes stand in this relation. Nothing but being disjoint, and equal, is true of what is empty.
#[must_use]
pub fn relates(a: &Shape, b: &Shape, relation: Relation) -> bool {
    if a.is_empty() || b.is_empty() {
        return match relation {
            Relation::Disjoint => true,
            Relation::Equals => a.is_empty() && b.is_empty(),
            _ => false,
        };
    }
    if matches!(relation, Relation::Intersects | Relation::Disjoint) {
        return geometry(a).intersects(&geometry(b)) == (relation == Relation::Intersects);
    }
    let m = matrix(a, b);
    match relation {
        Relation::Intersects | Relation::Disjoint => m.is_intersects(),
        Relation::Contains => m.is_contains(),
        Relation::Within => m.is_within(),
        Relation::Touches => m.is_touches(),
        Relation::Crosses => m.is_crosses(),
        Relation::Overlaps => m.is_overlaps(),
        Relation::Equals => m.is_equal_topo(),
    }
}

/// Whether the nine intersections match a pattern of nine of `T F * 0 1 2`; `None` when it is no such pattern.
#[must_use]
pub fn relates_as(a: &Shape, b: &Shape, pattern: &str) -> Option<bool> {
    matrix(a, b).matches(pattern).ok()
}

/// The middle of the mass of polygons; `None` of anything without area.
#[must_use]
pub fn centroid(shape: &Shape) -> Option<Pos> {
    (shape.dimension() == 2).then(|| geometry(shape).centroid().map(|p| pos(&p.0)))?
}

/// A position inside.
#[must_use]
pub fn inner_point(shape: &Shape) -> Option<Pos> {
    geometry(shape).interior_point().map(|p| pos(&p.0))
}

/// The smallest convex shape around all positions.
#[must_use]
pub fn convex_hull(shape: &Shape) -> Shape {
    let points: MultiPoint = shape.positions().iter().map(|p| Point(coord(p))).collect();
    let hull = points.convex_hull();
    let mut corners = positions(hull.exterior());
    corners.dedup();
    match corners.as_slice() {
        [] => Shape::Collection(Vec::new()),
        [one] => Shape::Point(Some(*one)),
        [a, b] | [a, b, _] => Shape::LineString(vec![*a, *b]),
        _ => shape_of_polygon(&hull),
    }
}

/// The smallest rectangle with sides along the axes, as a polygon from its lower left corner.
#[must_use]
pub fn envelope(shape: &Shape) -> Shape {
    let points = shape.positions();
    let ends = |of: fn(&Pos) -> f64| {
        points.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), n| (l.min(n), h.max(n)))
    };
    if points.is_empty() {
        return Shape::Collection(Vec::new());
    }
    let ((x1, x2), (y1, y2)) = (ends(|p| p.x), ends(|p| p.y));
    let corners = [(x1, y1), (x2, y1), (x2, y2), (x1, y2), (x1, y1)];
    Shape::Polygon(vec![corners.iter().map(|(x, y)| Pos::new(*x, *y)).collect()])
}

/// Everything within a distance of the shape.
#[must_use]
pub fn buffer(shape: &Shape, distance: f64) -> Shape {
    if shape.is_empty() || distance == 0.0 {
        return shape.clone();
    }
    gathered(&geometry(shape).buffer(distance), &[], &[])
}

/// The shape with fewer positions, none farther from the lines left than the tolerance (Douglas and Peucker).
#[must_use]
pub fn reduce(shape: &Shape, tolerance: f64) -> Shape {
    let fewer = |l: &Vec<Pos>| positions(&line(l).simplify(tolerance));
    match shape {
        Shape::LineString(l) => Shape::LineString(fewer(l)),
        Shape::Polygon(rings) => Shape::Polygon(
            rings
                .iter()
                .map(|r| Some(fewer(r)).filter(|f| f.len() > 3).unwrap_or_else(|| r.clone()))
                .collect(),
        ),
        Shape::MultiLineString(parts) => {
            Shape::MultiLineString(parts.iter().map(|p| reduce(p, tolerance)).collect())
        }
        Shape::MultiPolygon(parts) => {
            Shape::MultiPolygon(parts.iter().map(|p| reduce(p, tolerance)).collect())
        }
        Shape::Collection(parts) => Shape::Collection(parts.iter().map(|p| reduce(p, tolerance)).collect()),
        other => other.clone(),
    }
}

/// Whether no line touches itself but at its ends, and no point is there twice.
#[must_use]
pub fn is_simple(shape: &Shape) -> bool {
    let points: Vec<Pos> =
        shape.leaves().into_iter().filter_map(|l| if let Shape::Point(p) = l { *p } else { None }).collect();
    let twice = points.iter().enumerate().any(|(i, p)| points[..i].contains(p));
    !twice
        && shape
            .leaves()
            .into_iter()
            .all(|leaf| if let Shape::LineString(l) = leaf { is_simple_line(l) } else { true })
}

fn is_simple_line(positions: &[Pos]) -> bool {
    let segments: Vec<Line> = line(positions).lines().filter(|l| l.start != l.end).collect();
    let closed = segments.first().zip(segments.last()).is_some_and(|(a, b)| a.start == b.end);
    let meets = |i: usize, j: usize| match line_intersection(segments[i], segments[j]) {
        None => false,
        Some(LineIntersection::Collinear { intersection }) => intersection.start != intersection.end,
        Some(LineIntersection::SinglePoint { intersection, .. }) => {
            let next = j == i + 1 && intersection == segments[i].end;
            let round = closed && i == 0 && j + 1 == segments.len() && intersection == segments[0].start;
            !(next || round)
        }
    };
    !(0..segments.len()).any(|i| (i + 1..segments.len()).any(|j| meets(i, j)))
}

/// The ends of lines that are not closed, the rings of polygons.
#[must_use]
pub fn boundary(shape: &Shape) -> Shape {
    let mut found = Vec::new();
    for leaf in shape.leaves() {
        match leaf {
            Shape::LineString(l) if !leaf.is_closed() => {
                found.extend(l.first().into_iter().chain(l.last()).map(|p| Shape::Point(Some(*p))));
            }
            Shape::Polygon(rings) => found.extend(rings.iter().cloned().map(Shape::LineString)),
            _ => {}
        }
    }
    Shape::gathered(found)
}

/// The result of a set operation.
#[must_use]
pub fn combine(a: &Shape, b: &Shape, op: SetOp) -> Shape {
    let (a, b) = (Parts::of(a), Parts::of(b));
    match op {
        SetOp::Union => a.union(&b).shape(),
        SetOp::Intersection => a.intersection(&b).shape(),
        SetOp::Difference => a.difference(&b).shape(),
        SetOp::SymDifference => a.difference(&b).union(&b.difference(&a)).shape(),
    }
}

/// A shape taken apart by dimension, for the set operations.
#[derive(Clone, Debug)]
struct Parts {
    surfaces: MultiPolygon,
    lines: Vec<LineString>,
    points: Vec<Coord>,
}

fn gathered(surfaces: &MultiPolygon, lines: &[LineString], points: &[Coord]) -> Shape {
    let mut all: Vec<Shape> = points.iter().map(|c| Shape::Point(Some(pos(c)))).collect();
    all.extend(lines.iter().filter(|l| l.0.len() > 1).map(|l| Shape::LineString(positions(l))));
    all.extend(surfaces.iter().map(shape_of_polygon));
    Shape::gathered(all)
}

impl Parts {
    fn of(shape: &Shape) -> Parts {
        let mut parts = Parts { surfaces: MultiPolygon(Vec::new()), lines: Vec::new(), points: Vec::new() };
        for leaf in shape.leaves().into_iter().filter(|l| !l.is_empty()) {
            match leaf {
                Shape::Point(p) => parts.points.extend(p.as_ref().map(coord)),
                Shape::LineString(l) => parts.lines.push(line(l)),
                Shape::Polygon(rings) => parts.surfaces = parts.surfaces.union(&polygon(rings)),
                _ => {}
            }
        }
        parts
    }

    fn shape(&self) -> Shape {
        gathered(&self.surfaces, &self.lines, &self.points)
    }

    /// Whether it lies on a line or in a surface.
    fn covers(&self, c: &Coord) -> bool {
        self.lines.iter().any(|l| l.intersects(c)) || self.surfaces.intersects(c)
    }

    fn union(&self, other: &Parts) -> Parts {
        let surfaces = self.surfaces.union(&other.surfaces);
        let added = without(&other.lines, &self.lines);
        let lines: Vec<LineString> = self.lines.iter().chain(&added).cloned().collect();
        let lines = clipped(&lines, &surfaces, true);
        let mut whole = Parts { surfaces, lines: joined(lines), points: Vec::new() };
        for c in self.points.iter().chain(&other.points) {
            if !whole.covers(c) && !whole.points.contains(c) {
                whole.points.push(*c);
            }
        }
        whole
    }

    fn intersection(&self, other: &Parts) -> Parts {
        let surfaces = self.surfaces.intersection(&other.surfaces);
        let mut lines = clipped(&self.lines, &other.surfaces, false);
        lines.extend(without(&clipped(&other.lines, &self.surfaces, false), &lines));
        let (shared, crossings) = common(&self.lines, &other.lines);
        lines.extend(without(&shared, &lines));
        let mut found = Parts { surfaces, lines: joined(lines), points: Vec::new() };
        let inside = |points: &[Coord], of: &Parts| -> Vec<Coord> {
            points.iter().filter(|c| of.covers(c) || of.points.contains(c)).copied().collect()
        };
        for c in crossings.into_iter().chain(inside(&self.points, other)).chain(inside(&other.points, self)) {
            if !found.covers(&c) && !found.points.contains(&c) {
                found.points.push(c);
            }
        }
        found
    }

    fn difference(&self, other: &Parts) -> Parts {
        let lines = without(&clipped(&self.lines, &other.surfaces, true), &other.lines);
        let points = self.points.iter().filter(|c| !other.covers(c) && !other.points.contains(c));
        Parts {
            surfaces: self.surfaces.difference(&other.surfaces),
            lines: joined(lines),
            points: points.copied().collect(),
        }
    }
}

/// What of the lines is inside of the surfaces, or outside.
fn clipped(lines: &[LineString], surfaces: &MultiPolygon, outside: bool) -> Vec<LineString> {
    if lines.is_empty() || surfaces.0.is_empty() {
        return if outside { lines.to_vec() } else { Vec::new() };
    }
    surfaces.clip(&MultiLineString(lines.to_vec()), outside).0
}

/// What of the lines no other line covers, in segments where one does.
fn without(lines: &[LineString], others: &[LineString]) -> Vec<LineString> {
    if others.is_empty() {
        return lines.to_vec();
    }
    let cutters: Vec<Line> = others.iter().flat_map(LineString::lines).collect();
    let mut left = Vec::new();
    for segment in lines.iter().flat_map(LineString::lines) {
        let mut pieces = vec![segment];
        for cutter in &cutters {
            pieces = pieces.into_iter().flat_map(|p| minus(p, *cutter)).collect();
        }
        left.extend(pieces.into_iter().map(|l| LineString::new(vec![l.start, l.end])));
    }
    left
}

fn minus(segment: Line, cutter: Line) -> Vec<Line> {
    let Some(LineIntersection::Collinear { intersection: cut }) = line_intersection(segment, cutter) else {
        return vec![segment];
    };
    let along = |c: Coord| (c.x - segment.start.x).hypot(c.y - segment.start.y);
    let (near, far) =
        if along(cut.start) <= along(cut.end) { (cut.start, cut.end) } else { (cut.end, cut.start) };
    [Line::new(segment.start, near), Line::new(far, segment.end)]
        .into_iter()
        .filter(|l| l.start != l.end)
        .collect()
}

/// What two sets of lines share: segments, and points where they cross.
fn common(a: &[LineString], b: &[LineString]) -> (Vec<LineString>, Vec<Coord>) {
    let (mut shared, mut crossings) = (Vec::new(), Vec::new());
    for s in a.iter().flat_map(LineString::lines) {
        for t in b.iter().flat_map(LineString::lines) {
            match line_intersection(s, t) {
                Some(LineIntersection::Collinear { intersection: l }) if l.start != l.end => {
                    shared.push(LineString::new(vec![l.start, l.end]));
                }
                Some(LineIntersection::Collinear { intersection: l }) => crossings.push(l.start),
                Some(LineIntersection::SinglePoint { intersection, .. }) => crossings.push(intersection),
                None => {}
            }
        }
    }
    (shared, crossings)
}

/// Lines of which one ends where the next begins are one line.
fn joined(lines: Vec<LineString>) -> Vec<LineString> {
    let mut whole: Vec<LineString> = Vec::new();
    for l in lines {
        match whole.last_mut() {
            Some(last) if last.0.last() == l.0.first() && l.0.last() != last.0.first() => {
                last.0.extend_from_slice(&l.0[1..]);
            }
            _ => whole.push(l),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, wkt};

    fn shape(text: &str) -> Shape {
        wkt::parse(text, Kind::Geometry).unwrap()
    }

    fn text(shape: &Shape) -> String {
        wkt::write(shape, false)
    }

    const SQUARE: &str = "POLYGON ((0 0, 3 0, 3 3, 0 3, 0 0))";

    #[test]
    fn measures() {
        assert_eq!(area(&shape("POLYGON ((0 0, 3 0, 3 3, 0 3, 0 0), (2 2, 2 1, 1 1, 1 2, 2 2))")), 8.0);
        assert_eq!(length(&shape(SQUARE)), 12.0);
        assert_eq!(length(&shape("LINESTRING (0 0, 3 4, 3 5)")), 6.0);
        assert_eq!(distance(&shape("POINT (0 5)"), &shape(SQUARE)), Some(2.0));
        assert_eq!(distance(&shape("POINT EMPTY"), &shape(SQUARE)), None);
        assert_eq!(centroid(&shape(SQUARE)), Some(Pos::new(1.5, 1.5)));
        assert_eq!(centroid(&shape("POINT (1 1)")), None);
    }

    #[test]
    fn relations() {
        let check = |a: &str, b: &str, expect: &[Relation]| {
            use Relation as R;
            let all = [
                R::Intersects,
                R::Disjoint,
                R::Contains,
                R::Within,
                R::Touches,
                R::Crosses,
                R::Overlaps,
                R::Equals,
            ];
            let found: Vec<R> = all.into_iter().filter(|r| relates(&shape(a), &shape(b), *r)).collect();
            assert_eq!(found, expect, "{a} {b}");
        };
        check(SQUARE, "POINT (1 1)", &[Relation::Intersects, Relation::Contains]);
        check("POINT (3 3)", SQUARE, &[Relation::Intersects, Relation::Touches]);
        check(SQUARE, "LINESTRING (1 1, 5 5)", &[Relation::Intersects, Relation::Crosses]);
        check(SQUARE, "POLYGON ((2 2, 5 2, 5 5, 2 5, 2 2))", &[Relation::Intersects, Relation::Overlaps]);
        check(SQUARE, "POINT (9 9)", &[Relation::Disjoint]);
        check(SQUARE, "POINT EMPTY", &[Relation::Disjoint]);
        assert_eq!(relates_as(&shape(SQUARE), &shape("POINT (1 1)"), "T*****FF*"), Some(true));
        assert_eq!(relates_as(&shape(SQUARE), &shape("POINT (1 1)"), "T*"), None);
    }

    /// What SQL Server 2025 says of these.
    #[test]
    fn validity() {
        let valid = [
            "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))",
            "LINESTRING(0 0, 2 2, 2 0, 0 2)",
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(1 1,2 1,2 2,1 2,1 1))",
            "MULTIPOINT((0 0),(0 0))",
            "LINESTRING(0 0,1 1,1 1,2 2)",
            "MULTIPOLYGON(((0 0,2 0,2 2,0 2,0 0)),((2 2,4 2,4 4,2 4,2 2)))",
            "LINESTRING(0 0, 2 0, 1 1)",
            "LINESTRING(0 0, 2 2, 2 0, 0 2, 0 0)",
            "MULTILINESTRING((0 0,2 0),(2 0,4 0))",
            "MULTILINESTRING((0 0,2 0),(1 -1,1 1))",
            "POINT EMPTY",
            "POLYGON EMPTY",
            "GEOMETRYCOLLECTION EMPTY",
            "GEOMETRYCOLLECTION(POLYGON((0 0,2 0,2 2,0 2,0 0)),POLYGON((1 1,3 1,3 3,1 3,1 1)))",
            "GEOMETRYCOLLECTION(LINESTRING(0 0,2 0),LINESTRING(0 0,2 0))",
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(1 1,2 1,2 2,1 2,1 1),(2 2,3 2,3 3,2 3,2 2))",
            "POLYGON((0 0,1 1,2 0,3 1,4 0,4 4,0 4,0 0))",
            "LINESTRING(0 0, 0 0, 2 0)",
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(0 2,1 1,2 2,1 3,0 2))",
        ];
        let not = [
            "POLYGON((0 0, 2 2, 0 2, 2 0, 0 0))",
            "LINESTRING(0 0, 1 1, 0 0)",
            "LINESTRING(0 0, 0 0)",
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(5 5,6 5,6 6,5 6,5 5))",
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(0 0,2 0,2 2,0 2,0 0))",
            "MULTIPOLYGON(((0 0,2 0,2 2,0 2,0 0)),((1 1,3 1,3 3,1 3,1 1)))",
            "MULTIPOLYGON(((0 0,2 0,2 2,0 2,0 0)),((2 0,4 0,4 2,2 2,2 0)))",
            "MULTILINESTRING((0 0,2 2),(0 0,2 2))",
            "POLYGON((0 0,0 0,0 0,0 0))",
            "POLYGON((0 0,2 0,2 0,0 0,0 0))",
            "LINESTRING(0 0, 2 0, 1 0)",
            "LINESTRING(0 0, 2 0, 2 0)",
            "MULTILINESTRING((0 0,2 0),(1 0,3 0))",
            "GEOMETRYCOLLECTION(POLYGON((0 0, 2 2, 0 2, 2 0, 0 0)))",
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(0 1,2 2,0 3,0 1))",
        ];
        for (texts, expect) in [(&valid[..], true), (&not[..], false)] {
            let wrong: Vec<_> = texts.iter().filter(|t| is_valid(&shape(t)) != expect).collect();
            assert!(wrong.is_empty(), "{expect} is expected of {wrong:?}");
        }
    }

    #[test]
    fn set_operations() {
        let check = |a: &str, op: SetOp, b: &str, expect: &str| {
            assert_eq!(text(&combine(&shape(a), &shape(b), op)), expect, "{a} {op:?} {b}");
        };
        check("POINT (1 1)", SetOp::Union, "POINT (2 2)", "MULTIPOINT ((1 1), (2 2))");
        check("POINT (1 1)", SetOp::Union, SQUARE, SQUARE);
        check("LINESTRING (1 1, 5 1)", SetOp::Intersection, SQUARE, "LINESTRING (1 1, 3 1)");
        check("LINESTRING (1 1, 5 1)", SetOp::Difference, SQUARE, "LINESTRING (3 1, 5 1)");
        check("LINESTRING (0 0, 4 4)", SetOp::Intersection, "LINESTRING (0 4, 4 0)", "POINT (2 2)");
        check(
            "LINESTRING (0 0, 4 0)",
            SetOp::Difference,
            "LINESTRING (1 0, 2 0)",
            "MULTILINESTRING ((0 0, 1 0), (2 0, 4 0))",
        );
        check("POINT (9 9)", SetOp::Intersection, SQUARE, "GEOMETRYCOLLECTION EMPTY");
        let both =
            combine(&shape(SQUARE), &shape("POLYGON ((2 2, 5 2, 5 5, 2 5, 2 2))"), SetOp::SymDifference);
        assert_eq!(area(&both), 16.0);
    }

    #[test]
    fn shapes_made_of_shapes() {
        assert_eq!(text(&envelope(&shape("LINESTRING (1 2, 3 0)"))), "POLYGON ((1 0, 3 0, 3 2, 1 2, 1 0))");
        assert_eq!(text(&convex_hull(&shape("MULTIPOINT (0 0, 2 2)"))), "LINESTRING (0 0, 2 2)");
        assert_eq!(text(&boundary(&shape("LINESTRING (0 0, 1 1)"))), "MULTIPOINT ((0 0), (1 1))");
        assert_eq!(text(&reduce(&shape("LINESTRING (0 0, 1 0.1, 2 0)"), 0.5)), "LINESTRING (0 0, 2 0)");
        assert!(
            !is_simple(&shape("LINESTRING (0 0, 2 2, 2 0, 0 2)"))
                && is_simple(&shape("LINESTRING (0 0, 1 0, 1 1, 0 0)"))
        );
        let bow = shape("POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))");
        assert!(!is_valid(&bow) && is_valid(&make_valid(&bow)));
        let round = area(&buffer(&shape("POINT (0 0)"), 1.0));
        assert!((round - std::f64::consts::PI).abs() < 0.05, "{round}");
    }
}
