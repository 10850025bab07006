//! Index keys: bytes that compare like the values they stand for.
//!
//! A key is the concatenation of its columns, each self-delimiting, so `memcmp` of two keys orders them column by column,
//! and every key with given leading columns lies in the range from that prefix to its [`successor`].
//! NULL sorts first; a descending column has all its bytes inverted (so NULL comes last there).
//!
//! | value | bytes |
//! | --- | --- |
//! | NULL | `00` |
//! | integers, bit, decimal, money, date, time, date and time | `20 + n`, then the n significant bytes, big-endian; negative: `1F - n`, then the n significant bytes of the two's complement |
//! | float, real | `20`, then 8 bytes IEEE big-endian, sign bit flipped (all bits when negative) |
//! | strings | `20`, then the collation's sort key (see [`crate::collation`]), which ends in `00` and holds no other |
//! | binary | `20`, bytes without trailing zeros, `00` written `00 FF`, ended by `00 00` |
//! | guid | `20`, 16 bytes in the product's order of comparison |
//! | sql_variant | family rank, then the base value's bytes |
//!
//! Integers of all widths encode alike, so a `bigint` seeks in an `int` index without a cast. Decimals encode their
//! mantissa: both sides must be at the column's scale. Keys cannot be decoded; the row holds the values.

use crate::collation::{self, Collation};
use crate::ty::Family;
use crate::{SqlType, Value};

/// What the encoding of one key column depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// The column's type.
    pub ty: SqlType,
    /// Its collation; ignored for anything but strings.
    pub collation: Collation,
    /// Whether the index orders this column downwards.
    pub descending: bool,
}

impl KeyColumn {
    /// An ascending column.
    #[must_use]
    pub const fn ascending(ty: SqlType, collation: Collation) -> KeyColumn {
        KeyColumn { ty, collation, descending: false }
    }
}

/// Marker of NULL.
pub const NULL: u8 = 0x00;
/// Marker of zero and of every non-NULL value without a length of its own.
const BASE: u8 = 0x20;

/// Appends the key bytes of all values, the i-th by the i-th column. Fewer values than columns give a prefix.
pub fn encode_key(values: &[Value], columns: &[KeyColumn], out: &mut Vec<u8>) {
    for (value, column) in values.iter().zip(columns) {
        append(out, value, column);
    }
}

/// Appends the key bytes of one column. The value is of the column's type (any width of it).
#[inline]
pub fn append(out: &mut Vec<u8>, value: &Value, column: &KeyColumn) {
    let start = out.len();
    match value {
        Value::Int(n) => append_i64(out, *n),
        Value::Str(s) => append_str(out, s, column.collation),
        other => append_rare(out, other, column),
    }
    if column.descending {
        invert(&mut out[start..]);
    }
}

fn append_rare(out: &mut Vec<u8>, value: &Value, column: &KeyColumn) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bit(b) => append_i64(out, i64::from(*b)),
        Value::Int(n) | Value::Money(n) | Value::Time(n) | Value::DateTime(n) => append_i64(out, *n),
        Value::DateTimeOffset(ticks, _) => append_i64(out, *ticks),
        Value::Date(n) => append_i64(out, i64::from(*n)),
        Value::Decimal(d) => append_i128(out, d.mantissa()),
        Value::Float(f) => append_f64(out, *f),
        Value::Str(s) => append_str(out, s, column.collation),
        Value::Bytes(b) => append_bytes(out, b),
        Value::Guid(g) => append_guid(out, g),
        Value::Variant(v) => {
            out.push(variant_rank(v.0));
            append_rare(out, &variant_comparand(&v.1), column);
        }
    }
}

/// Appends an ascending integer column.
#[inline]
pub fn append_i64(out: &mut Vec<u8>, n: i64) {
    let magnitude = if n < 0 { !n } else { n };
    let len = 8 - (magnitude.leading_zeros() / 8) as usize;
    let marker = if n < 0 { BASE - 1 - len as u8 } else { BASE + len as u8 };
    // A copy of constant length, cut afterwards, is cheaper than one of variable length.
    let digits = (n as u64).checked_shl(64 - 8 * len as u32).unwrap_or(0);
    let mut buffer = [0; 9];
    buffer[0] = marker;
    buffer[1..].copy_from_slice(&digits.to_be_bytes());
    let end = out.len() + 1 + len;
    out.extend_from_slice(&buffer);
    out.truncate(end);
}

/// How many bytes the column takes that a key begins with, of a type that is encoded as an integer is; `None` when the key ends before
/// it does.
#[must_use]
pub fn integer_len(key: &[u8], descending: bool) -> Option<usize> {
    let marker = if descending { !*key.first()? } else { *key.first()? };
    let digits = match marker {
        NULL => 0,
        negative if negative < BASE => BASE - 1 - negative,
        positive => positive - BASE,
    };
    let len = 1 + usize::from(digits);
    (len <= key.len()).then_some(len)
}

fn append_i128(out: &mut Vec<u8>, n: i128) {
    let magnitude = if n < 0 { !n } else { n };
    let len = 16 - (magnitude.leading_zeros() / 8) as usize;
    let marker = if n < 0 { BASE - 1 - len as u8 } else { BASE + len as u8 };
    out.push(marker);
    out.extend_from_slice(&n.to_be_bytes()[16 - len..]);
}

fn append_f64(out: &mut Vec<u8>, f: f64) {
    let bits = if f == 0.0 { 0 } else { f.to_bits() };
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.push(BASE);
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// Appends an ascending string column.
#[inline]
pub fn append_str(out: &mut Vec<u8>, s: &str, collation: Collation) {
    out.push(BASE);
    collation::append_sort_key(out, s, collation);
}

/// Appends what the keys of all strings that begin with `prefix` begin with: the lower bound of a `LIKE 'prefix%'` search,
/// whose upper bound is the [`successor`]. The range may hold more than the matches (accents, trailing blanks), never fewer.
pub fn append_str_prefix(out: &mut Vec<u8>, prefix: &str, collation: Collation) {
    out.push(BASE);
    collation::append_prefix_weights(out, prefix.trim_end_matches(' '), collation);
}

fn append_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(BASE);
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
    for b in &bytes[..end] {
        out.push(*b);
        if *b == 0 {
            out.push(0xFF);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The order in which the product compares the bytes of a guid.
pub const GUID_ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];

fn append_guid(out: &mut Vec<u8>, guid: &[u8; 16]) {
    out.push(BASE);
    out.extend(GUID_ORDER.iter().map(|i| guid[*i]));
}

/// Rank of a base type's family in the order of `sql_variant` values.
pub(crate) fn variant_rank(base: SqlType) -> u8 {
    match base.family() {
        Family::Binary => 1,
        Family::Guid => 2,
        Family::String | Family::NationalString | Family::Xml => 3,
        Family::Bit | Family::Integer | Family::Decimal | Family::Money => 4,
        Family::Float => 5,
        Family::Time => 6,
        Family::Date | Family::DateTime | Family::DateTime2 => 7,
        Family::DateTimeOffset => 8,
        Family::Null | Family::Variant | Family::Clr | Family::Encrypted => 0,
    }
}

/// Exact numerics of different base types meet in one order: as decimals of a common scale, or as they are when they
/// are too large for it.
pub(crate) fn variant_comparand(value: &Value) -> Value {
    const SCALE: u8 = 10;
    let widened = |mantissa: i128, scale: u8| {
        let up = SCALE.checked_sub(scale).and_then(|d| mantissa.checked_mul(10i128.pow(u32::from(d))));
        let at = up.unwrap_or_else(|| mantissa / 10i128.pow(u32::from(scale.saturating_sub(SCALE))));
        Value::Decimal(crate::Decimal::new(at, SCALE))
    };
    match value {
        Value::Bit(b) => widened(i128::from(*b), 0),
        Value::Int(n) => widened(i128::from(*n), 0),
        Value::Money(n) => widened(i128::from(*n), 4),
        Value::Decimal(d) => widened(d.mantissa(), d.scale),
        Value::Date(days) => Value::DateTime(i64::from(*days) * crate::datetime::TICKS_PER_DAY),
        other => other.clone(),
    }
}

fn invert(bytes: &mut [u8]) {
    for b in bytes {
        *b = !*b;
    }
}

/// The smallest key greater than every key that begins with `prefix`: the exclusive end of the prefix's range. `None`
/// when there is none (an empty prefix, or only `FF` bytes).
#[must_use]
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    make_successor(&mut end).then_some(end)
}

/// [`successor`] in place; false (and an emptied vector) when there is none.
#[must_use]
pub fn make_successor(prefix: &mut Vec<u8>) -> bool {
    while let Some(last) = prefix.last_mut() {
        if *last < 0xFF {
            *last += 1;
            return true;
        }
        prefix.pop();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{pair_of_one_type, typed_value};
    use proptest::prelude::*;

    fn key(value: &Value, descending: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let ty = SqlType::Int;
        append(&mut out, value, &KeyColumn { ty, collation: Collation::default(), descending });
        out
    }

    #[test]
    fn an_integer_column_knows_its_length() {
        let second = KeyColumn::ascending(SqlType::Int, Collation::default());
        for n in [i64::MIN, -70_000, -257, -256, -1, 0, 1, 255, 256, 70_000, i64::MAX] {
            for descending in [false, true] {
                let column =
                    KeyColumn { descending, ..KeyColumn::ascending(SqlType::BigInt, second.collation) };
                let mut key = Vec::new();
                append(&mut key, &Value::Int(n), &column);
                let len = key.len();
                append(&mut key, &Value::Int(7), &second);
                assert_eq!(integer_len(&key, descending), Some(len), "{n}");
                assert_eq!(integer_len(&key[..len], descending), Some(len), "{n}");
                assert_eq!(integer_len(&key[..len - 1], descending), None, "{n}");
            }
        }
        assert_eq!(integer_len(&[NULL, 9], false), Some(1));
        assert_eq!(integer_len(&[!NULL, 9], true), Some(1));
    }

    #[test]
    fn frozen_bytes() {
        assert_eq!(key(&Value::Null, false), [0]);
        assert_eq!(key(&Value::Int(0), false), [0x20]);
        assert_eq!(key(&Value::Int(5), false), [0x21, 5]);
        assert_eq!(key(&Value::Int(300), false), [0x22, 1, 44]);
        assert_eq!(key(&Value::Int(-1), false), [0x1F]);
        assert_eq!(key(&Value::Int(-2), false), [0x1E, 0xFE]);
        assert_eq!(key(&Value::Int(5), true), [!0x21, !5]);
    }

    #[test]
    fn trailing_blanks_and_case_do_not_count() {
        assert_eq!(key(&Value::Str("Smith ".into()), false), key(&Value::Str("smith".into()), false));
        assert_ne!(key(&Value::Str("Smith é".into()), false), key(&Value::Str("Smith e".into()), false));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn integers_in_order(a in any::<i64>(), shift in 0u32..64, b in any::<i64>()) {
            let (a, b) = (a >> shift, b >> shift);
            prop_assert_eq!(a.cmp(&b), key(&Value::Int(a), false).cmp(&key(&Value::Int(b), false)));
            prop_assert_eq!(b.cmp(&a), key(&Value::Int(a), true).cmp(&key(&Value::Int(b), true)));
        }

        #[test]
        fn keys_order_like_values((ty, collation, a, b) in pair_of_one_type(), descending in any::<bool>()) {
            let column = KeyColumn { ty, collation, descending };
            let (mut ka, mut kb) = (Vec::new(), Vec::new());
            append(&mut ka, &a, &column);
            append(&mut kb, &b, &column);
            let order = crate::compare::order(&a, &b, collation);
            let expect = if descending { order.reverse() } else { order };
            prop_assert_eq!(ka.cmp(&kb), expect, "{:?} {:?}", a, b);
            // Self-delimiting: no key is a proper prefix of another.
            prop_assert!(ka == kb || !kb.starts_with(&ka));
        }

        #[test]
        fn prefixes_are_followed_by_their_successor((ty, value) in typed_value(), tail in any::<u8>()) {
            let mut k = Vec::new();
            append(&mut k, &value, &KeyColumn::ascending(ty, Collation::default()));
            let end = successor(&k).unwrap();
            k.push(tail);
            prop_assert!(k < end);
        }

        #[test]
        fn like_prefix_range_holds_the_matches(prefix in "[a-zA-Z0-9éÉß _-]{0,6}", rest in "[a-zé ]{0,5}") {
            let whole = format!("{prefix}{rest}");
            for collation in Collation::samples() {
                let (mut low, mut k) = (Vec::new(), Vec::new());
                append_str_prefix(&mut low, &prefix, collation);
                append_str(&mut k, &whole, collation);
                prop_assert!(k >= low && k < successor(&low).unwrap(), "{:?} {:?}", collation, whole);
            }
        }
    }
}
