//! Code page 1252, the code page of `char` and `varchar`.
//!
//! Strings are Unicode inside; those of the non-national types only ever hold characters of this code page. Bytes
//! appear at the edges: the wire, `ASCII`, `CHAR`, conversion to and from binary. The five bytes that the code page
//! leaves open map to the C1 controls of the same number and back, so that every byte survives.

use std::borrow::Cow;
use unicode_normalization::char::decompose_canonical;

/// Characters of 0x80..=0x9F.
const HIGH_CONTROLS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// The character of a byte.
#[must_use]
pub const fn to_char(byte: u8) -> char {
    match byte {
        0x80..=0x9F => HIGH_CONTROLS[byte as usize - 0x80],
        _ => byte as char,
    }
}

/// The byte of a character; `None` when the code page does not have it.
#[must_use]
pub fn to_byte(c: char) -> Option<u8> {
    match c as u32 {
        n @ (0..=0x7F | 0xA0..=0xFF) => Some(n as u8),
        _ => HIGH_CONTROLS.iter().position(|h| *h == c).map(|i| 0x80 + i as u8),
    }
}

/// The byte that stands for a character: its own, its base letter's, or a question mark.
#[must_use]
pub fn best_fit(c: char) -> u8 {
    if let Some(byte) = to_byte(c) {
        return byte;
    }
    ascii_fit(c)
}

/// The ASCII character that stands for one a page does not have: its narrow form, its base letter, or a question mark.
#[must_use]
pub fn ascii_fit(c: char) -> u8 {
    if let full @ '\u{FF01}'..='\u{FF5E}' = c {
        return (full as u32 - 0xFF01 + 0x21) as u8;
    }
    let mut base = None;
    decompose_canonical(c, |part| base = base.or(Some(part)));
    base.filter(|b| b.is_ascii_alphabetic()).map_or(b'?', |b| b as u8)
}

/// Decodes bytes.
#[must_use]
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(ascii) if ascii.is_ascii() => Cow::Borrowed(ascii),
        _ => Cow::Owned(bytes.iter().map(|b| to_char(*b)).collect()),
    }
}

/// Encodes text; characters outside the code page become their [`best_fit`].
#[must_use]
pub fn encode(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    Cow::Owned(text.chars().flat_map(fit_bytes).collect())
}

/// Maps text to what the code page can hold, as conversion from a national type does.
#[must_use]
pub fn fit(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| to_byte(c).is_some()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().flat_map(fit_bytes).map(to_char).collect())
}

/// A character outside the basic plane was two units, so it leaves two question marks.
fn fit_bytes(c: char) -> impl Iterator<Item = u8> {
    std::iter::repeat_n(best_fit(c), c.len_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        for byte in 0..=255u8 {
            assert_eq!(to_byte(to_char(byte)), Some(byte));
            let (text, _, _) = encoding_rs::WINDOWS_1252.decode(std::slice::from_ref(&byte));
            assert_eq!(text.chars().next(), Some(to_char(byte)));
        }
    }

    #[test]
    fn best_fits() {
        assert_eq!(fit("Łódź Ā 中 😀"), "?ódz A ? ??");
        assert_eq!(encode("€é").as_ref(), [0x80, 0xE9]);
        assert_eq!(decode(&[0x80, b'a']), "€a");
    }
}
