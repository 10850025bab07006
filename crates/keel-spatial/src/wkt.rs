//! Well-known text, as the product reads and writes it: words in any case, Z and M as third and fourth number of a
//! position or NULL.

use crate::shape::{Line, Pos, Shape};
use crate::{Error, Kind, Result};
use std::fmt::Write;

/// Reads a shape. Errors 24111, 24112, 24114, 24141, 24142.
pub fn parse(text: &str, kind: Kind) -> Result<Shape> {
    if text.trim().is_empty() {
        return Err(Error::format(
            "24112: The well-known text (WKT) input is empty. To input an empty instance, specify an empty instance of one of the following types: Point, LineString, Polygon, MultiPoint, MultiLineString, MultiPolygon, CircularString, CompoundCurve, CurvePolygon or GeometryCollection.",
        ));
    }
    let mut reader = Reader { text, at: 0, kind, depth: 0 };
    let shape = reader.shape()?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(Error::format("24111: The well-known text (WKT) input is not valid."));
    }
    Ok(shape)
}

/// Deepest nesting of collections.
const DEEPEST: usize = 64;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    kind: Kind,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn word(&mut self) -> &'a str {
        self.blanks();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn eat(&mut self, mark: char) -> bool {
        self.blanks();
        let found = self.rest().starts_with(mark);
        self.at += if found { mark.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        if self.eat(mark) {
            return Ok(());
        }
        let has: String = self.rest().chars().take(1).collect();
        Err(Error::format(format!(
            "24142: Expected \"{mark}\" at position {}. The input has \"{has}\".",
            self.position()
        )))
    }

    /// Characters from the start, from 1.
    fn position(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn shape(&mut self) -> Result<Shape> {
        let label = self.word().to_ascii_uppercase();
        match label.as_str() {
            "POINT" => Ok(Shape::Point(self.or_empty(Reader::bracketed_pos)?)),
            "LINESTRING" => Ok(Shape::LineString(self.or_none(Reader::pos)?)),
            "POLYGON" => Ok(Shape::Polygon(self.or_none(Reader::line)?)),
            "MULTIPOINT" => Ok(Shape::MultiPoint(self.or_none(|r| r.point_of_many())?)),
            "MULTILINESTRING" => {
                Ok(Shape::MultiLineString(self.or_none(|r| Ok(Shape::LineString(r.or_none(Reader::pos)?)))?))
            }
            "MULTIPOLYGON" => {
                Ok(Shape::MultiPolygon(self.or_none(|r| Ok(Shape::Polygon(r.or_none(Reader::line)?)))?))
            }
            "GEOMETRYCOLLECTION" => Ok(Shape::Collection(self.or_none(Reader::member)?)),
            "FULLGLOBE" if self.kind == Kind::Geography => Ok(Shape::FullGlobe),
            _ => Err(bad_label(&label, self.rest())),
        }
    }

    fn member(&mut self) -> Result<Shape> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::format("24111: The well-known text (WKT) input is not valid."));
        }
        let shape = self.shape();
        self.depth -= 1;
        shape
    }

    /// EMPTY, or what there is.
    fn or_empty<T>(&mut self, read: fn(&mut Self) -> Result<T>) -> Result<Option<T>> {
        let start = self.at;
        if self.word().eq_ignore_ascii_case("EMPTY") {
            return Ok(None);
        }
        self.at = start;
        read(self).map(Some)
    }

    /// EMPTY, or a list in parentheses.
    fn or_none<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let start = self.at;
        if self.word().eq_ignore_ascii_case("EMPTY") {
            return Ok(Vec::new());
        }
        self.at = start;
        self.expect('(')?;
        let mut list = vec![one(self)?];
        while self.eat(',') {
            list.push(one(self)?);
        }
        self.expect(')')?;
        Ok(list)
    }

    fn line(&mut self) -> Result<Line> {
        self.expect('(')?;
        let mut line = vec![self.pos()?];
        while self.eat(',') {
            line.push(self.pos()?);
        }
        self.expect(')')?;
        Ok(line)
    }

    /// A point of a MULTIPOINT, with or without parentheses of its own.
    fn point_of_many(&mut self) -> Result<Shape> {
        self.blanks();
        if self.rest().starts_with(['(', 'E', 'e']) {
            return Ok(Shape::Point(self.or_empty(Reader::bracketed_pos)?));
        }
        Ok(Shape::Point(Some(self.pos()?)))
    }

    fn bracketed_pos(&mut self) -> Result<Pos> {
        self.expect('(')?;
        let pos = self.pos()?;
        self.expect(')')?;
        Ok(pos)
    }

    fn pos(&mut self) -> Result<Pos> {
        let (x, y) = (self.number()?, self.number()?);
        let z = self.more()?;
        let m = if z.is_some() { self.more()? } else { None };
        Ok(Pos { x, y, z: z.flatten(), m: m.flatten() })
    }

    /// A third or fourth number or NULL, if one follows.
    fn more(&mut self) -> Result<Option<Option<f64>>> {
        self.blanks();
        if self.rest().is_empty() || self.rest().starts_with([',', ')']) {
            return Ok(None);
        }
        let start = self.at;
        if self.word().eq_ignore_ascii_case("NULL") {
            return Ok(Some(None));
        }
        self.at = start;
        self.number().map(|n| Some(Some(n)))
    }

    fn number(&mut self) -> Result<f64> {
        self.blanks();
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E')))
            .unwrap_or(rest.len());
        match rest[..end].parse::<f64>() {
            Ok(n) if n.is_finite() => {
                self.at += end;
                Ok(n)
            }
            _ => {
                let has = rest.split([' ', ',', '(', ')']).next().unwrap_or_default();
                Err(Error::format(format!(
                    "24141: A number is expected at position {} of the input. The input has {has}.",
                    self.position()
                )))
            }
        }
    }
}

fn bad_label(label: &str, rest: &str) -> Error {
    let more: String = rest.chars().take(20).collect();
    Error::format(format!(
        "24114: The label {label}{more} in the input well-known text (WKT) is not valid. Valid labels are POINT, LINESTRING, POLYGON, MULTIPOINT, MULTILINESTRING, MULTIPOLYGON, GEOMETRYCOLLECTION, CIRCULARSTRING, COMPOUNDCURVE, CURVEPOLYGON and FULLGLOBE (geography Data Type only)."
    ))
}

/// Writes a shape; `more` with elevations and measures, as `ToString` and `AsTextZM` do.
#[must_use]
pub fn write(shape: &Shape, more: bool) -> String {
    let mut out = String::new();
    put(&mut out, shape, more);
    out
}

fn put(out: &mut String, shape: &Shape, more: bool) {
    out.push_str(&shape.type_name().to_ascii_uppercase());
    if matches!(shape, Shape::FullGlobe) {
        return;
    }
    out.push(' ');
    put_body(out, shape, more);
}

fn put_body(out: &mut String, shape: &Shape, more: bool) {
    match shape {
        Shape::Point(Some(p)) => put_list(out, std::slice::from_ref(p), |out, p| put_pos(out, p, more)),
        Shape::LineString(line) if !line.is_empty() => put_list(out, line, |out, p| put_pos(out, p, more)),
        Shape::Polygon(rings) if !rings.is_empty() => {
            put_list(out, rings, |out, ring| put_list(out, ring, |out, p| put_pos(out, p, more)));
        }
        Shape::Collection(parts) if !parts.is_empty() => put_list(out, parts, |out, p| put(out, p, more)),
        many if !many.parts().is_empty() => put_list(out, many.parts(), |out, p| put_body(out, p, more)),
        _ => out.push_str("EMPTY"),
    }
}

fn put_list<T>(out: &mut String, items: &[T], mut one: impl FnMut(&mut String, &T)) {
    out.push('(');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        one(out, item);
    }
    out.push(')');
}

fn put_pos(out: &mut String, p: &Pos, more: bool) {
    out.push_str(&number(p.x));
    out.push(' ');
    out.push_str(&number(p.y));
    if !more || (p.z.is_none() && p.m.is_none()) {
        return;
    }
    let _ = write!(out, " {}", p.z.map_or_else(|| "NULL".to_owned(), number));
    if let Some(m) = p.m {
        let _ = write!(out, " {}", number(m));
    }
}

/// A number as .NET prints it to be read back: 15 digits if they are enough, else 17.
fn number(n: f64) -> String {
    if n == 0.0 {
        return "0".to_owned();
    }
    let short = format!("{n:.14e}");
    let digits = if short.parse() == Ok(n) { short } else { format!("{n:.16e}") };
    let Some((mantissa, exponent)) = digits.split_once('e') else { return digits };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trimmed = mantissa.trim_end_matches('0').trim_end_matches('.');
    if (-4..15).contains(&exponent) {
        return plain(trimmed, exponent);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{trimmed}E{sign}{:02}", exponent.abs())
}

/// The digits of `d.ddd` with the point moved by the exponent.
fn plain(mantissa: &str, exponent: i32) -> String {
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
    let digits: String = digits.chars().filter(|c| *c != '.').collect();
    let Ok(whole) = usize::try_from(exponent + 1) else {
        return format!("{sign}0.{}{digits}", "0".repeat(-(exponent + 1) as usize));
    };
    match digits.len() {
        0 => format!("{sign}0"),
        n if whole == 0 => format!("{sign}0.{}", &digits[..n]),
        n if n <= whole => format!("{sign}{digits}{}", "0".repeat(whole - n)),
        _ => format!("{sign}{}.{}", &digits[..whole], &digits[whole..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_as_the_product_writes_it() {
        let check = |text: &str, expect: &str| {
            assert_eq!(write(&parse(text, Kind::Geography).unwrap(), true), expect, "{text}");
        };
        check("point(1 2)", "POINT (1 2)");
        check("POINT (1.50 -2e3 NULL 4)", "POINT (1.5 -2000 NULL 4)");
        check("POINT(1 2 3)", "POINT (1 2 3)");
        check("LINESTRING(0 0, 0.1 1E20)", "LINESTRING (0 0, 0.1 1E+20)");
        check(
            "POLYGON((0 0,0 3,3 3,3 0,0 0),(1 1,1 2,2 1,1 1))",
            "POLYGON ((0 0, 0 3, 3 3, 3 0, 0 0), (1 1, 1 2, 2 1, 1 1))",
        );
        check("MULTIPOINT(1 2, (3 4), EMPTY)", "MULTIPOINT ((1 2), (3 4), EMPTY)");
        check("MULTIPOLYGON(((0 0,0 3,3 3,0 0)),EMPTY)", "MULTIPOLYGON (((0 0, 0 3, 3 3, 0 0)), EMPTY)");
        check(
            "GEOMETRYCOLLECTION(POINT(1 2),GEOMETRYCOLLECTION EMPTY,LINESTRING EMPTY)",
            "GEOMETRYCOLLECTION (POINT (1 2), GEOMETRYCOLLECTION EMPTY, LINESTRING EMPTY)",
        );
        check("FULLGLOBE", "FULLGLOBE");
        check("POINT(0.30000000000000004 1e-7)", "POINT (0.30000000000000004 1E-07)");
        check("POINT(-0.00001 123456789012345)", "POINT (-1E-05 123456789012345)");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, number: &str| {
            let e = parse(text, Kind::Geometry).unwrap_err();
            assert!(e.message.starts_with(number), "{text}: {}", e.message);
        };
        check("", "24112");
        check("FOO(1 2)", "24114");
        check("FULLGLOBE", "24114");
        check("POINT:10 20", "24142: Expected \"(\" at position 6. The input has \":\".");
        check("POINT(a 2)", "24141: A number is expected at position 7 of the input. The input has a.");
        check("POINT(1 2", "24142");
        check("POINT(1 2) x", "24111");
        check(&"GEOMETRYCOLLECTION(".repeat(500), "24111");
    }
}
