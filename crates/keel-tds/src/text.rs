//! The two encodings of character data on the wire: UTF-16LE, and the code page of a collation (Windows-1252 or UTF-8).
//!
//! Both directions have a fast path for ASCII, which nearly all identifiers and most data are.

/// Code points of the bytes 0x80..=0x9F in Windows-1252; the five unassigned ones map to themselves, as in the product.
const CP1252_HIGH: [u16; 32] = [
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152,
    0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122,
    0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
];

/// Text from UTF-16LE bytes. An odd last byte is ignored; lone surrogates become U+FFFD.
#[must_use]
pub fn from_utf16le(bytes: &[u8]) -> String {
    let mut s = String::new();
    push_utf16le(&mut s, bytes);
    s
}

/// Appends UTF-16LE bytes to `s` as UTF-8. See [`from_utf16le`].
pub fn push_utf16le(s: &mut String, bytes: &[u8]) {
    s.reserve(bytes.len() / 2);
    let mut rest = bytes;
    // Eight units at a time while they are all ASCII.
    while let Some((block, tail)) = rest.split_first_chunk::<16>() {
        let word = u128::from_le_bytes(*block);
        if word & 0xFF80_FF80_FF80_FF80_FF80_FF80_FF80_FF80 != 0 {
            break;
        }
        let mut ascii = [0u8; 8];
        for (i, b) in ascii.iter_mut().enumerate() {
            *b = block[2 * i];
        }
        s.push_str(std::str::from_utf8(&ascii).expect("checked to be ASCII"));
        rest = tail;
    }
    let units = rest.chunks_exact(2).map(|u| u16::from_le_bytes([u[0], u[1]]));
    s.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
}

/// Appends text as UTF-16LE.
pub fn put_utf16le(out: &mut Vec<u8>, s: &str) {
    out.reserve(s.len() * 2);
    let bytes = s.as_bytes();
    let ascii = bytes.iter().position(|b| !b.is_ascii()).unwrap_or(bytes.len());
    let start = out.len();
    out.resize(start + ascii * 2, 0);
    for (pair, b) in out[start..].chunks_exact_mut(2).zip(&bytes[..ascii]) {
        pair[0] = *b;
    }
    for unit in s[ascii..].encode_utf16() {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}

/// Appends text as UTF-16LE, at most `units_max` code units and never half a surrogate pair. Returns the units written.
pub fn put_utf16le_limited(out: &mut Vec<u8>, s: &str, units_max: usize) -> usize {
    let start = out.len();
    if s.len() <= units_max {
        put_utf16le(out, s);
    } else {
        let mut units = 0;
        for c in s.chars() {
            units += c.len_utf16();
            if units > units_max {
                break;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(&unit.to_le_bytes());
            }
        }
    }
    (out.len() - start) / 2
}

/// UTF-16 code units of a text.
#[must_use]
pub fn utf16_units(s: &str) -> usize {
    if s.is_ascii() { s.len() } else { s.encode_utf16().count() }
}

/// Text from Windows-1252 bytes.
#[must_use]
pub fn from_cp1252(bytes: &[u8]) -> String {
    if bytes.is_ascii() {
        return std::str::from_utf8(bytes).expect("checked to be ASCII").to_owned();
    }
    bytes.iter().map(|&b| cp1252_char(b)).collect()
}

fn cp1252_char(b: u8) -> char {
    match b {
        0x80..=0x9F => {
            char::from_u32(CP1252_HIGH[usize::from(b) - 0x80].into()).expect("table holds scalar values")
        }
        _ => char::from(b),
    }
}

/// Appends text as Windows-1252; what it cannot say becomes `?`, as in the product.
pub fn put_cp1252(out: &mut Vec<u8>, s: &str) {
    if s.is_ascii() {
        out.extend_from_slice(s.as_bytes());
    } else {
        out.extend(s.chars().map(|c| cp1252_byte(c).unwrap_or(b'?')));
    }
}

/// The Windows-1252 byte of a character, if it has one.
#[must_use]
pub fn cp1252_byte(c: char) -> Option<u8> {
    match u32::from(c) {
        code @ (0..=0x7F | 0xA0..=0xFF) => u8::try_from(code).ok(),
        code => {
            let unit = u16::try_from(code).ok()?;
            let at = CP1252_HIGH.iter().position(|&u| u == unit)?;
            u8::try_from(0x80 + at).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_code_page_byte_round_trips() {
        let all: Vec<u8> = (0..=255).collect();
        let mut back = Vec::new();
        put_cp1252(&mut back, &from_cp1252(&all));
        assert_eq!(back, all);
    }

    #[test]
    fn a_limit_never_splits_a_surrogate_pair() {
        let mut out = Vec::new();
        assert_eq!(put_utf16le_limited(&mut out, "ab😀", 3), 2);
        assert_eq!(from_utf16le(&out), "ab");
    }

    proptest! {
        #[test]
        fn utf16_round_trips(s in "\\PC{0,40}") {
            let mut out = Vec::new();
            put_utf16le(&mut out, &s);
            prop_assert_eq!(out.len(), utf16_units(&s) * 2);
            prop_assert_eq!(from_utf16le(&out), s);
        }
        #[test]
        fn arbitrary_units_decode(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = from_utf16le(&bytes);
            let _ = from_cp1252(&bytes);
        }
    }
}
