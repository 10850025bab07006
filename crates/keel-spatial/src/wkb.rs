//! Well-known binary: read in either byte order, written little-endian. Elevations and measures are of the kinds 1001.. (Z),
//! 2001.. (M) and 3001.. (both).

use crate::shape::{Line, Pos, Shape};
use crate::{Error, Result};

/// Reads a shape. Error 24115 for what is not one.
pub fn parse(bytes: &[u8]) -> Result<Shape> {
    let mut reader = Reader { bytes, little: true };
    let shape = reader.shape(0);
    match shape {
        Some(shape) if reader.bytes.is_empty() => Ok(shape),
        _ => Err(Error::format("24115: The well-known binary (WKB) input is not valid.")),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        let b = self.take()?;
        Some(if self.little { u32::from_le_bytes(b) } else { u32::from_be_bytes(b) })
    }

    fn f64(&mut self) -> Option<f64> {
        let b = self.take()?;
        let n = if self.little { f64::from_le_bytes(b) } else { f64::from_be_bytes(b) };
        n.is_finite().then_some(n)
    }

    fn shape(&mut self, depth: usize) -> Option<Shape> {
        if depth > 64 {
            return None;
        }
        self.little = match self.take::<1>()? {
            [0] => false,
            [1] => true,
            _ => return None,
        };
        let code = self.u32()?;
        let (z, m) = match code / 1000 {
            0 => (false, false),
            1 => (true, false),
            2 => (false, true),
            3 => (true, true),
            _ => return None,
        };
        match code % 1000 {
            1 => self.point(z, m).map(Shape::Point),
            2 => self.line(z, m).map(Shape::LineString),
            3 => {
                let count = self.u32()?;
                (0..count).map(|_| self.line(z, m)).collect::<Option<_>>().map(Shape::Polygon)
            }
            4 => self.parts(depth, |s| matches!(s, Shape::Point(_))).map(Shape::MultiPoint),
            5 => self.parts(depth, |s| matches!(s, Shape::LineString(_))).map(Shape::MultiLineString),
            6 => self.parts(depth, |s| matches!(s, Shape::Polygon(_))).map(Shape::MultiPolygon),
            7 => self.parts(depth, |_| true).map(Shape::Collection),
            _ => None,
        }
    }

    fn parts(&mut self, depth: usize, fits: fn(&Shape) -> bool) -> Option<Vec<Shape>> {
        let count = self.u32()?;
        (0..count).map(|_| self.shape(depth + 1).filter(fits)).collect()
    }

    /// A point whose coordinates are no numbers is empty.
    fn point(&mut self, z: bool, m: bool) -> Option<Option<Pos>> {
        if self.bytes.get(..16)?.chunks(8).all(|c| c[if self.little { 7 } else { 0 }] & 0x7F == 0x7F) {
            self.take::<16>()?;
            for _ in 0..usize::from(z) + usize::from(m) {
                self.take::<8>()?;
            }
            return Some(None);
        }
        self.pos(z, m).map(Some)
    }

    fn line(&mut self, z: bool, m: bool) -> Option<Line> {
        let count = self.u32()?;
        (0..count).map(|_| self.pos(z, m)).collect()
    }

    fn pos(&mut self, z: bool, m: bool) -> Option<Pos> {
        let (x, y) = (self.f64()?, self.f64()?);
        let z = if z { Some(self.f64()?) } else { None };
        let m = if m { Some(self.f64()?) } else { None };
        Some(Pos { x, y, z, m })
    }
}

/// Writes a shape; `more` with elevations and measures where any position has one.
#[must_use]
pub fn write(shape: &Shape, more: bool) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, shape, more);
    out
}

fn put(out: &mut Vec<u8>, shape: &Shape, more: bool) {
    let positions = shape.positions();
    let z = more && positions.iter().any(|p| p.z.is_some());
    let m = more && positions.iter().any(|p| p.m.is_some());
    let code = match shape {
        Shape::Point(_) => 1,
        Shape::LineString(_) => 2,
        Shape::Polygon(_) => 3,
        Shape::MultiPoint(_) => 4,
        Shape::MultiLineString(_) => 5,
        Shape::MultiPolygon(_) => 6,
        Shape::Collection(_) => 7,
        Shape::FullGlobe => 126,
    };
    out.push(1);
    put_u32(out, code + 1000 * u32::from(z) + 2000 * u32::from(m));
    let pos = |out: &mut Vec<u8>, p: &Pos| {
        let more =
            [(z, p.z), (m, p.m)].into_iter().filter(|(has, _)| *has).map(|(_, n)| n.unwrap_or(f64::NAN));
        for n in [p.x, p.y].into_iter().chain(more) {
            out.extend_from_slice(&n.to_le_bytes());
        }
    };
    match shape {
        Shape::Point(p) => pos(out, &p.unwrap_or(Pos::new(f64::NAN, f64::NAN))),
        Shape::LineString(line) => put_all(out, line, pos),
        Shape::Polygon(rings) => put_all(out, rings, |out, ring| put_all(out, ring, pos)),
        many => {
            if !matches!(many, Shape::FullGlobe) {
                put_all(out, many.parts(), |out, part| put(out, part, more));
            }
        }
    }
}

fn put_all<T>(out: &mut Vec<u8>, items: &[T], mut one: impl FnMut(&mut Vec<u8>, &T)) {
    put_u32(out, items.len() as u32);
    for item in items {
        one(out, item);
    }
}

fn put_u32(out: &mut Vec<u8>, n: u32) {
    out.extend_from_slice(&n.to_le_bytes());
}
