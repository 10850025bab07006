//! Code pages of `char` and `varchar` other than 1252.
//!
//! Strings are Unicode inside whatever their page. A page says which characters a column can hold, how many bytes of the
//! column's length each takes, and what clients are sent. Those of Windows are the encoding library's; 437 and 850 are
//! here. 65001 is UTF-8; 0 is no page at all.

use super::cp1252;
use encoding_rs as e;
use std::borrow::Cow;

/// Windows-1252, the page of the default collation.
pub const LATIN1: u16 = 1252;
/// UTF-8.
pub const UTF8: u16 = 65001;

/// Characters of 80..=FF in code page 437.
const HIGH_437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}";
/// Characters of 80..=FF in code page 850.
const HIGH_850: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
    └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{AD}±‗¾¶§÷¸°¨·¹³²■\u{A0}";

enum Page {
    Latin1,
    Utf8,
    Table(&'static str),
    Library(&'static e::Encoding),
}

fn page(number: u16) -> Page {
    match number {
        UTF8 => Page::Utf8,
        437 => Page::Table(HIGH_437),
        850 => Page::Table(HIGH_850),
        874 => Page::Library(e::WINDOWS_874),
        932 => Page::Library(e::SHIFT_JIS),
        936 => Page::Library(e::GBK),
        949 => Page::Library(e::EUC_KR),
        950 => Page::Library(e::BIG5),
        1250 => Page::Library(e::WINDOWS_1250),
        1251 => Page::Library(e::WINDOWS_1251),
        1253 => Page::Library(e::WINDOWS_1253),
        1254 => Page::Library(e::WINDOWS_1254),
        1255 => Page::Library(e::WINDOWS_1255),
        1256 => Page::Library(e::WINDOWS_1256),
        1257 => Page::Library(e::WINDOWS_1257),
        1258 => Page::Library(e::WINDOWS_1258),
        _ => Page::Latin1,
    }
}

impl Page {
    /// Appends the bytes of a character; false, and nothing, when the page has no such character.
    fn put(&self, out: &mut Vec<u8>, c: char) -> bool {
        if c.is_ascii() {
            out.push(c as u8);
            return true;
        }
        let mut utf8 = [0; 4];
        match self {
            Page::Utf8 => out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes()),
            Page::Latin1 => match cp1252::to_byte(c) {
                Some(b) => out.push(b),
                None => return false,
            },
            Page::Table(high) => match high.chars().position(|h| h == c) {
                Some(at) => out.push(0x80 + at as u8),
                None => return false,
            },
            Page::Library(encoding) => {
                let (bytes, _, lost) = encoding.encode(c.encode_utf8(&mut utf8));
                if lost {
                    return false;
                }
                out.extend_from_slice(&bytes);
            }
        }
        true
    }

    fn put_fitting(&self, out: &mut Vec<u8>, c: char) {
        if self.put(out, c) {
            return;
        }
        // A character outside the basic plane was two units, so it leaves two question marks.
        let fit = cp1252::ascii_fit(c);
        out.extend(std::iter::repeat_n(fit, c.len_utf16()));
    }
}

/// Appends text in a page; what it does not have becomes its base letter or a question mark.
pub fn encode(out: &mut Vec<u8>, text: &str, number: u16) {
    if text.is_ascii() {
        return out.extend_from_slice(text.as_bytes());
    }
    let page = page(number);
    for c in text.chars() {
        page.put_fitting(out, c);
    }
}

/// Text of bytes in a page.
#[must_use]
pub fn decode(bytes: &[u8], number: u16) -> Cow<'_, str> {
    match page(number) {
        Page::Latin1 => cp1252::decode(bytes),
        Page::Utf8 => String::from_utf8_lossy(bytes),
        Page::Table(high) => {
            let high: Vec<char> = high.chars().collect();
            let char_of = |b: &u8| b.checked_sub(0x80).map_or(char::from(*b), |at| high[usize::from(at)]);
            Cow::Owned(bytes.iter().map(char_of).collect())
        }
        Page::Library(encoding) => encoding.decode_without_bom_handling(bytes).0,
    }
}

/// Maps text to what the page can hold.
#[must_use]
pub fn fit(text: &str, number: u16) -> Cow<'_, str> {
    match page(number) {
        _ if text.is_ascii() => Cow::Borrowed(text),
        Page::Latin1 => cp1252::fit(text),
        Page::Utf8 => Cow::Borrowed(text),
        page => {
            let mut bytes = Vec::new();
            if text.chars().all(|c| page.put(&mut bytes, c)) {
                return Cow::Borrowed(text);
            }
            let mut fitted = String::with_capacity(text.len());
            for c in text.chars() {
                bytes.clear();
                if page.put(&mut bytes, c) {
                    fitted.push(c);
                } else {
                    page.put_fitting(&mut bytes, c);
                    fitted.extend(bytes.iter().map(|b| char::from(*b)));
                }
            }
            Cow::Owned(fitted)
        }
    }
}

/// Whether a page has a character.
#[must_use]
pub fn has(c: char, number: u16) -> bool {
    page(number).put(&mut Vec::new(), c)
}

/// Bytes a character takes.
#[must_use]
pub fn width(c: char, number: u16) -> usize {
    if c.is_ascii() {
        return 1;
    }
    match page(number) {
        Page::Latin1 | Page::Table(_) => 1,
        Page::Utf8 => c.len_utf8(),
        page => {
            let mut bytes = Vec::with_capacity(4);
            page.put_fitting(&mut bytes, c);
            bytes.len()
        }
    }
}

/// Bytes text takes.
#[must_use]
pub fn length(text: &str, number: u16) -> usize {
    match number {
        _ if text.is_ascii() => text.len(),
        LATIN1 => text.chars().count(),
        UTF8 => text.len(),
        _ => text.chars().map(|c| width(c, number)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_has_its_letters() {
        let check = |number: u16, text: &str, bytes: &[u8]| {
            let mut out = Vec::new();
            encode(&mut out, text, number);
            assert_eq!(out, bytes, "{number}");
            assert_eq!(decode(bytes, number), text, "{number}");
            assert_eq!(fit(text, number), text, "{number}");
            assert_eq!(length(text, number), bytes.len(), "{number}");
        };
        check(1250, "Łódź", &[0xA3, 0xF3, 0x64, 0x9F]);
        check(1251, "Да", &[0xC4, 0xE0]);
        check(1253, "Ω", &[0xD9]);
        check(1254, "ışğ", &[0xFD, 0xFE, 0xF0]);
        check(1255, "א", &[0xE0]);
        check(1256, "ا", &[0xC7]);
        check(1257, "ž", &[0xFE]);
        check(1258, "đ", &[0xF0]);
        check(874, "ก", &[0xA1]);
        check(932, "日本ｱ", &[0x93, 0xFA, 0x96, 0x7B, 0xB1]);
        check(936, "中", &[0xD6, 0xD0]);
        check(949, "한", &[0xC7, 0xD1]);
        check(950, "中", &[0xA4, 0xA4]);
        check(437, "é╔", &[0x82, 0xC9]);
        check(850, "éÁ", &[0x82, 0xB5]);
        check(UTF8, "é日", "é日".as_bytes());
        check(LATIN1, "€é", &[0x80, 0xE9]);
    }

    #[test]
    fn every_byte_of_the_tables_survives() {
        for number in [437, 850] {
            let all: Vec<u8> = (0..=255).collect();
            let mut back = Vec::new();
            encode(&mut back, &decode(&all, number), number);
            assert_eq!(back, all);
        }
    }

    #[test]
    fn what_a_page_lacks() {
        assert_eq!(fit("Łódź 日 😀", 932), "?odz 日 ??");
        assert_eq!(fit("日é", 1250), "?é");
        assert_eq!(fit("日é", UTF8), "日é");
    }
}
