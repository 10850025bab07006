//! The bytes of a value, as tables keep and clients send them (MS-SSCLRT 2.1.1, geometry and geography structures).
//!
//! ```text
//!   SRID i32 · version u8 · properties u8 · then
//!   one point:         x y [z] [m]
//!   one line segment:  x y x y [z z] [m m]
//!   else: n u32, n × (x y), [n × z], [n × m]
//!         n u32, n × figure (attribute u8, first point u32)
//!         n u32, n × shape  (parent i32, first figure i32, kind u8)
//! ```
//!
//! Shapes stand before their parts; a geography has its latitude first. Version 2 is written only for what version 1 cannot
//! say: shapes larger than a hemisphere and the full globe.

use crate::shape::{Pos, Shape};
use crate::{Error, Instance, Kind, Result};

const HAS_Z: u8 = 0x01;
const HAS_M: u8 = 0x02;
const VALID: u8 = 0x04;
const POINT: u8 = 0x08;
const SEGMENT: u8 = 0x10;
const LARGE: u8 = 0x20;

/// What the bytes say of a shape beside its positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Whether it is valid as the OGC means it.
    pub valid: bool,
    /// Whether it is larger than a hemisphere.
    pub large: bool,
}

/// The bytes of a value.
#[must_use]
pub fn write(instance: &Instance, kind: Kind, marks: Marks) -> Vec<u8> {
    let shape = &instance.shape;
    let points = shape.positions();
    let (z, m) = (points.iter().any(|p| p.z.is_some()), points.iter().any(|p| p.m.is_some()));
    let short = match shape {
        Shape::Point(Some(_)) => POINT,
        Shape::LineString(line) if line.len() == 2 => SEGMENT,
        _ => 0,
    };
    let large = marks.large || matches!(shape, Shape::FullGlobe);
    let flag = |on: bool, bit: u8| if on { bit } else { 0 };
    let mut out = Vec::with_capacity(32 + 16 * points.len());
    out.extend_from_slice(&instance.srid.to_le_bytes());
    out.push(if large { 2 } else { 1 });
    out.push(flag(z, HAS_Z) | flag(m, HAS_M) | flag(marks.valid, VALID) | short | flag(large, LARGE));
    if short == 0 {
        put_count(&mut out, points.len());
    }
    put_points(&mut out, &points, kind, z, m);
    if short == 0 {
        put_tables(&mut out, shape, large);
    }
    out
}

fn put_points(out: &mut Vec<u8>, points: &[Pos], kind: Kind, z: bool, m: bool) {
    let mut put = |n: f64| out.extend_from_slice(&n.to_le_bytes());
    for p in points {
        let (first, second) = if kind == Kind::Geography { (p.y, p.x) } else { (p.x, p.y) };
        put(first);
        put(second);
    }
    let absent = f64::NAN;
    if z {
        points.iter().for_each(|p| put(p.z.unwrap_or(absent)));
    }
    if m {
        points.iter().for_each(|p| put(p.m.unwrap_or(absent)));
    }
}

/// Figures and shapes while they are collected.
#[derive(Default)]
struct Tables {
    points: u32,
    figures: Vec<(u8, u32)>,
    shapes: Vec<(i32, i32, u8)>,
    second: bool,
}

impl Tables {
    fn add(&mut self, shape: &Shape, parent: i32) {
        let first = if shape.positions().is_empty() { -1 } else { self.figures.len() as i32 };
        let own = self.shapes.len() as i32;
        self.shapes.push((parent, first, code(shape)));
        match shape {
            Shape::Point(p) => p.iter().for_each(|_| self.figure(if self.second { 0 } else { 1 }, 1)),
            Shape::LineString(line) if !line.is_empty() => self.figure(1, line.len()),
            Shape::Polygon(rings) => {
                for (i, ring) in rings.iter().enumerate() {
                    let outer = if i == 0 { 2 } else { 0 };
                    self.figure(if self.second { 1 } else { outer }, ring.len());
                }
            }
            other => other.parts().iter().for_each(|part| self.add(part, own)),
        }
    }

    fn figure(&mut self, attribute: u8, points: usize) {
        self.figures.push((attribute, self.points));
        self.points += points as u32;
    }
}

fn put_tables(out: &mut Vec<u8>, shape: &Shape, second: bool) {
    let mut tables = Tables { second, ..Tables::default() };
    tables.add(shape, -1);
    put_count(out, tables.figures.len());
    for (attribute, point) in tables.figures {
        out.push(attribute);
        out.extend_from_slice(&point.to_le_bytes());
    }
    put_count(out, tables.shapes.len());
    for (parent, figure, code) in tables.shapes {
        out.extend_from_slice(&parent.to_le_bytes());
        out.extend_from_slice(&figure.to_le_bytes());
        out.push(code);
    }
}

fn put_count(out: &mut Vec<u8>, n: usize) {
    out.extend_from_slice(&(n as u32).to_le_bytes());
}

const fn code(shape: &Shape) -> u8 {
    match shape {
        Shape::Point(_) => 1,
        Shape::LineString(_) => 2,
        Shape::Polygon(_) => 3,
        Shape::MultiPoint(_) => 4,
        Shape::MultiLineString(_) => 5,
        Shape::MultiPolygon(_) => 6,
        Shape::Collection(_) => 7,
        Shape::FullGlobe => 11,
    }
}

/// Reads a value back, with its marks. `System.FormatException` for bytes that are none; 24300 for curves, which are absent here.
pub fn read(bytes: &[u8], kind: Kind) -> Result<(Instance, Marks)> {
    let mut reader = Reader { bytes };
    let (instance, marks) = reader.value(kind).ok_or_else(malformed)??;
    if reader.bytes.is_empty() && crate::check_shape(kind, &instance.shape).is_ok() {
        Ok((instance, marks))
    } else {
        Err(malformed())
    }
}

fn malformed() -> Error {
    Error::format("One of the identified items was in an invalid format.")
}

fn curves() -> Error {
    Error::argument(
        "24300: Expected a call without curves: CircularString, CompoundCurve and CurvePolygon are not supported.",
    )
}

struct Reader<'a> {
    bytes: &'a [u8],
}

/// A figure's first point, and its attribute.
type Figure = (u8, usize);

/// A shape's parent, first figure and kind.
type Row = (Option<usize>, Option<usize>, u8);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*head)
    }

    fn count(&mut self, size: usize) -> Option<usize> {
        let n = u32::from_le_bytes(self.take()?) as usize;
        (n.checked_mul(size)? <= self.bytes.len()).then_some(n)
    }

    fn index(&mut self) -> Option<Option<usize>> {
        match i32::from_le_bytes(self.take()?) {
            -1 => Some(None),
            n => usize::try_from(n).ok().map(Some),
        }
    }

    fn f64(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    fn value(&mut self, kind: Kind) -> Option<Result<(Instance, Marks)>> {
        let srid = i32::from_le_bytes(self.take()?);
        let [version] = self.take()?;
        let [properties] = self.take()?;
        let has = |bit: u8| properties & bit != 0;
        if !matches!(version, 1 | 2) || (has(POINT) && has(SEGMENT)) {
            return None;
        }
        let marks = Marks { valid: has(VALID), large: has(LARGE) };
        let n = match properties & (POINT | SEGMENT) {
            POINT => 1,
            SEGMENT => 2,
            _ => self.count(16)?,
        };
        let points = self.points(n, kind, has(HAS_Z), has(HAS_M))?;
        let shape = match properties & (POINT | SEGMENT) {
            POINT => Shape::Point(points.first().copied()),
            SEGMENT => Shape::LineString(points),
            _ => match self.tables(version, &points)? {
                Ok(shape) => shape,
                Err(e) => return Some(Err(e)),
            },
        };
        Some(Ok((Instance { srid, shape }, marks)))
    }

    fn points(&mut self, n: usize, kind: Kind, z: bool, m: bool) -> Option<Vec<Pos>> {
        let mut points = Vec::with_capacity(n);
        for _ in 0..n {
            let (first, second) = (self.f64()?, self.f64()?);
            if !first.is_finite() || !second.is_finite() {
                return None;
            }
            points.push(match kind {
                Kind::Geography => Pos::new(second, first),
                Kind::Geometry => Pos::new(first, second),
            });
        }
        for p in points.iter_mut().filter(|_| z) {
            p.z = Some(self.f64()?).filter(|n| n.is_finite());
        }
        for p in points.iter_mut().filter(|_| m) {
            p.m = Some(self.f64()?).filter(|n| n.is_finite());
        }
        Some(points)
    }

    fn tables(&mut self, version: u8, points: &[Pos]) -> Option<Result<Shape>> {
        let count = self.count(5)?;
        let mut figures = Vec::with_capacity(count);
        for _ in 0..count {
            let [attribute] = self.take()?;
            figures.push((attribute, u32::from_le_bytes(self.take()?) as usize));
        }
        let count = self.count(9)?;
        let mut rows: Vec<Row> = Vec::with_capacity(count);
        for _ in 0..count {
            rows.push((self.index()?, self.index()?, self.take::<1>()?[0]));
        }
        if rows.iter().any(|r| (8..=10).contains(&r.2)) || figures.iter().any(|f| version == 2 && f.0 > 1) {
            return Some(Err(curves()));
        }
        let build = Build { points, figures: &figures, rows: &rows };
        build.shape(0, 0).map(Ok)
    }
}

/// The tables of one value, from which its tree is built.
struct Build<'a> {
    points: &'a [Pos],
    figures: &'a [Figure],
    rows: &'a [Row],
}

impl Build<'_> {
    fn shape(&self, at: usize, depth: usize) -> Option<Shape> {
        if depth > 64 {
            return None;
        }
        let (_, first, code) = *self.rows.get(at)?;
        let mut lines = self.lines(at, first)?;
        Some(match code {
            1 if lines.is_empty() => Shape::Point(None),
            1 if lines.len() == 1 && lines[0].len() == 1 => Shape::Point(lines[0].first().copied()),
            2 if lines.len() <= 1 => Shape::LineString(lines.pop().unwrap_or_default()),
            3 => Shape::Polygon(lines),
            4 => Shape::MultiPoint(self.parts(at, depth, |s| matches!(s, Shape::Point(_)))?),
            5 => Shape::MultiLineString(self.parts(at, depth, |s| matches!(s, Shape::LineString(_)))?),
            6 => Shape::MultiPolygon(self.parts(at, depth, |s| matches!(s, Shape::Polygon(_)))?),
            7 => Shape::Collection(self.parts(at, depth, |_| true)?),
            11 => Shape::FullGlobe,
            _ => return None,
        })
    }

    fn parts(&self, at: usize, depth: usize, fits: fn(&Shape) -> bool) -> Option<Vec<Shape>> {
        let own = (at + 1..self.rows.len()).filter(|i| self.rows[*i].0 == Some(at));
        own.map(|i| self.shape(i, depth + 1).filter(fits)).collect()
    }

    /// The figures of a shape that has no parts: up to those of the next shape that has any.
    fn lines(&self, at: usize, first: Option<usize>) -> Option<Vec<Vec<Pos>>> {
        let (Some(first), false) = (first, matches!(self.rows[at].2, 4..=7)) else { return Some(Vec::new()) };
        let end = self.rows[at + 1..].iter().find_map(|r| r.1).unwrap_or(self.figures.len());
        let line = |i: usize| {
            let from = self.figures.get(i)?.1;
            let to = self.figures.get(i + 1).map_or(self.points.len(), |f| f.1);
            self.points.get(from..to).map(<[Pos]>::to_vec)
        };
        (first..end).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wkt;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02X}")).collect()
    }

    /// Bytes that the product shows for these texts (its documentation, and MS-SSCLRT 3).
    #[test]
    fn bytes_of_the_product() {
        let check = |kind: Kind, srid: i32, text: &str, expect: &str| {
            let instance = Instance { srid, shape: wkt::parse(text, kind).unwrap() };
            let marks = Marks { valid: true, large: false };
            let bytes = write(&instance, kind, marks);
            assert_eq!(hex(&bytes), expect, "{text}");
            assert_eq!(read(&bytes, kind).unwrap().0, instance);
        };
        check(
            Kind::Geography,
            4326,
            "POINT (-122.34900 47.65100)",
            "E6100000010C17D9CEF753D347407593180456965EC0",
        );
        check(Kind::Geometry, 0, "POINT EMPTY", "000000000104000000000000000001000000FFFFFFFFFFFFFFFF01");
        check(
            Kind::Geometry,
            0,
            "LINESTRING (0 0, 1 2)",
            "00000000011400000000000000000000000000000000000000000000F03F0000000000000040",
        );
        check(Kind::Geography, 4326, "FULLGLOBE", "E61000000224000000000000000001000000FFFFFFFFFFFFFFFF0B");
    }

    #[test]
    fn every_shape_comes_back() {
        for text in [
            "POINT (1 2 3 4)",
            "POINT (1 2 NULL 4)",
            "LINESTRING (0 0, 1 1, 2 0)",
            "LINESTRING (0 0 7, 1 1)",
            "POLYGON ((0 0, 3 0, 3 3, 0 0), (1 1, 2 1, 2 2, 1 1))",
            "MULTIPOINT ((1 2), EMPTY, (3 4))",
            "MULTILINESTRING ((0 0, 1 1), (2 2, 3 3, 4 4))",
            "MULTIPOLYGON (((0 0, 3 0, 3 3, 0 0)), ((5 5, 6 5, 6 6, 5 5)))",
            "GEOMETRYCOLLECTION (POINT (1 1), GEOMETRYCOLLECTION (LINESTRING (0 0, 1 1), POINT EMPTY), POLYGON EMPTY)",
            "GEOMETRYCOLLECTION EMPTY",
        ] {
            for kind in [Kind::Geometry, Kind::Geography] {
                let instance = Instance { srid: 4326, shape: wkt::parse(text, kind).unwrap() };
                let bytes = write(&instance, kind, Marks { valid: true, large: false });
                let (back, _) = read(&bytes, kind).unwrap();
                assert_eq!(wkt::write(&back.shape, true), text);
                assert_eq!(back, instance);
                for cut in 0..bytes.len() {
                    assert!(read(&bytes[..cut], kind).is_err(), "{text} cut at {cut}");
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_shape_or_refused(
            mut bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..120),
            properties in 0u8..64,
        ) {
            if bytes.len() > 5 {
                bytes[4] = 1;
                bytes[5] = properties;
            }
            let _ = read(&bytes, Kind::Geography);
        }
    }
}
