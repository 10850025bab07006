//! The range of keys that an access reads, from the bounds that its plan has.

use crate::errors::Result;
use crate::exec::cx::Cx;
use crate::exec::node::{Access, Beyond, Bounds, KeyPart, LowHigh};
use keel_types::{Value, key};
use std::ops::Bound;

/// A byte range to scan.
#[derive(Default)]
pub(super) struct Range {
    low: Vec<u8>,
    high: Vec<u8>,
    unbounded_low: bool,
    unbounded_high: bool,
}

impl Range {
    /// All keys that start with this one.
    pub fn of_prefix(key: Vec<u8>) -> Range {
        let mut high = key.clone();
        let unbounded_high = !key::make_successor(&mut high);
        Range { low: key, high, unbounded_low: false, unbounded_high }
    }

    /// Its ends.
    pub fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let low = if self.unbounded_low { Bound::Unbounded } else { Bound::Included(&self.low[..]) };
        let high = if self.unbounded_high { Bound::Unbounded } else { Bound::Excluded(&self.high[..]) };
        (low, high)
    }

    /// Whether it ends before it begins: `BETWEEN 9 AND 1`.
    pub fn is_empty(&self) -> bool {
        !self.unbounded_low && !self.unbounded_high && self.low >= self.high
    }

    /// What is left of it begins behind this key.
    pub fn leave(&mut self, key: &[u8], backward: bool) {
        if backward {
            self.high.clear();
            self.high.extend_from_slice(key);
            self.unbounded_high = false;
        } else {
            self.low.clear();
            self.low.extend_from_slice(key);
            self.low.push(0);
            self.unbounded_low = false;
        }
    }

    /// Computes it; false when a bound is NULL and nothing can match. `start` takes what all keys in it start with.
    pub fn compute(&mut self, node: &Access, start: &mut Vec<u8>, cx: &mut Cx<'_>) -> Result<bool> {
        let (prefix, low, high) = match &node.bounds {
            Bounds::Range { prefix, low, high } => (prefix, low, high),
            _ => {
                self.unbounded_low = true;
                self.unbounded_high = true;
                return Ok(true);
            }
        };
        start.clear();
        for part in prefix {
            if !append_part(part, cx, start)? {
                return Ok(false);
            }
        }
        self.low.clear();
        self.low.extend_from_slice(start);
        self.high.clear();
        self.high.extend_from_slice(start);
        self.unbounded_low = start.is_empty();
        self.unbounded_high = !key::make_successor(&mut self.high);
        let descending =
            [low, high].iter().find_map(|b| b.as_ref().map(|b| b.column().descending)).unwrap_or(false);
        // In a descending column the greater values come first.
        let (first, last) = if descending { (high, low) } else { (low, high) };
        if first.is_none() && last.is_some() && !descending {
            // NULLs sort first and satisfy no comparison.
            set_after_null(&mut self.low, start);
            self.unbounded_low = false;
        }
        if last.is_none() && first.is_some() && descending {
            self.high.clear();
            self.high.extend_from_slice(start);
            if let Some(b) = first {
                key::append(&mut self.high, &Value::Null, b.column());
            }
            self.unbounded_high = false;
        }
        if let Some(bound) = first
            && !first_bound(bound, start, cx, self)?
        {
            return Ok(false);
        }
        if let Some(bound) = last
            && !last_bound(bound, start, cx, self)?
        {
            return Ok(false);
        }
        match &node.beyond {
            Some(beyond) => self.go_beyond(beyond, start, cx),
            None => Ok(true),
        }
    }

    /// Leaves what is behind or before a row, whose key begins with `start`. The range can be empty then.
    fn go_beyond(&mut self, beyond: &Beyond, start: &mut Vec<u8>, cx: &mut Cx<'_>) -> Result<bool> {
        if !beyond.of_entries {
            start.clear();
        }
        beyond.locator.with(cx, |v| {
            let Value::Bytes(locator) = v else { return false };
            start.extend_from_slice(locator);
            let inside = if beyond.before {
                self.unbounded_high || self.high > *start
            } else {
                self.unbounded_low || self.low <= *start
            };
            if inside {
                self.leave(start, beyond.before);
            }
            true
        })
    }
}

/// An end of a range of keys.
type End = Bound<Vec<u8>>;

/// The range that an access reads now, for who cuts it into parts; `None` when nothing can be in it.
pub(crate) fn range_of(node: &Access, cx: &mut Cx<'_>) -> Result<Option<(End, End)>> {
    let mut range = Range::default();
    if !range.compute(node, &mut Vec::new(), cx)? || range.is_empty() {
        return Ok(None);
    }
    let (low, high) = range.bounds();
    Ok(Some((low.map(<[u8]>::to_vec), high.map(<[u8]>::to_vec))))
}

/// Appends a key part's bytes; false when its value is NULL, which equals nothing.
#[inline]
pub(super) fn append_part(part: &KeyPart, cx: &mut Cx<'_>, out: &mut Vec<u8>) -> Result<bool> {
    part.code.with(cx, |v| {
        if matches!(v, Value::Null) {
            return false;
        }
        key::append(out, v, &part.column);
        true
    })
}

fn set_after_null(low: &mut Vec<u8>, prefix: &[u8]) {
    low.clear();
    low.extend_from_slice(prefix);
    // NULL is one byte, every other value starts with a greater one.
    low.push(key::NULL + 1);
}

/// The bound where the byte range starts.
fn first_bound(bound: &LowHigh, prefix: &[u8], cx: &mut Cx<'_>, range: &mut Range) -> Result<bool> {
    range.low.clear();
    range.low.extend_from_slice(prefix);
    range.unbounded_low = false;
    match bound {
        LowHigh::Value(part, inclusive) => {
            if !append_part(part, cx, &mut range.low)? {
                return Ok(false);
            }
            if !inclusive && !key::make_successor(&mut range.low) {
                return Ok(false);
            }
            Ok(true)
        }
        LowHigh::LikePrefix(code, column) => code.with(cx, |v| {
            let Value::Str(pattern) = v else { return false };
            let literal = like_prefix(pattern);
            if literal.is_empty() {
                range.low.push(key::NULL + 1);
                return true;
            }
            key::append_str_prefix(&mut range.low, literal, column.collation);
            range.high.clear();
            range.high.extend_from_slice(&range.low);
            range.unbounded_high = !key::make_successor(&mut range.high);
            true
        }),
    }
}

/// The bound where the byte range ends.
fn last_bound(bound: &LowHigh, prefix: &[u8], cx: &mut Cx<'_>, range: &mut Range) -> Result<bool> {
    let LowHigh::Value(part, inclusive) = bound else { return Ok(true) };
    range.high.clear();
    range.high.extend_from_slice(prefix);
    range.unbounded_high = false;
    if !append_part(part, cx, &mut range.high)? {
        return Ok(false);
    }
    if *inclusive {
        range.unbounded_high = !key::make_successor(&mut range.high);
    }
    Ok(true)
}

/// The characters before the first wildcard.
fn like_prefix(pattern: &str) -> &str {
    &pattern[..pattern.find(['%', '_', '[']).unwrap_or(pattern.len())]
}
