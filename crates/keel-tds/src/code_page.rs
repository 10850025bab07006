//! Which code page a collation's non-national text is in, and reading it ([MS-TDS] 2.2.5.1.2): of the SQL collations the sort order
//! says it, of the others the language of the LCID.

use crate::collation::WireCollation;
use crate::text;
use encoding_rs::Encoding;

/// Text from bytes in a collation's code page; what is no text there becomes U+FFFD.
#[must_use]
pub fn decode(bytes: &[u8], collation: WireCollation) -> String {
    if collation.is_utf8() {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    match encoding(collation) {
        Some(encoding) if !bytes.is_ascii() => encoding.decode_without_bom_handling(bytes).0.into_owned(),
        _ => text::from_cp1252(bytes),
    }
}

/// `None` is Windows-1252, and the code pages of DOS, which the library does not have.
fn encoding(collation: WireCollation) -> Option<&'static Encoding> {
    if collation.sort_id != 0 {
        return match collation.sort_id {
            80..=96 => Some(encoding_rs::WINDOWS_1250),
            104..=108 => Some(encoding_rs::WINDOWS_1251),
            112..=124 => Some(encoding_rs::WINDOWS_1253),
            128..=130 => Some(encoding_rs::WINDOWS_1254),
            136..=138 => Some(encoding_rs::WINDOWS_1255),
            144..=146 => Some(encoding_rs::WINDOWS_1256),
            152..=160 => Some(encoding_rs::WINDOWS_1257),
            _ => None,
        };
    }
    let lcid = collation.info & 0xFFFF;
    match (lcid & 0x3FF, lcid) {
        (0x04, 0x0404 | 0x0C04 | 0x1404) => Some(encoding_rs::BIG5),
        (0x04, _) => Some(encoding_rs::GBK),
        (0x11, _) => Some(encoding_rs::SHIFT_JIS),
        (0x12, _) => Some(encoding_rs::EUC_KR),
        (0x1E, _) => Some(encoding_rs::WINDOWS_874),
        (0x1A, 0x0C1A | 0x1C1A | 0x201A) => Some(encoding_rs::WINDOWS_1251),
        (0x05 | 0x0E | 0x15 | 0x18 | 0x1A | 0x1B | 0x1C | 0x24 | 0x42, _) => Some(encoding_rs::WINDOWS_1250),
        (0x02 | 0x19 | 0x22 | 0x23 | 0x2F | 0x3F | 0x44 | 0x6D, _) => Some(encoding_rs::WINDOWS_1251),
        (0x08, _) => Some(encoding_rs::WINDOWS_1253),
        (0x1F | 0x2C, _) => Some(encoding_rs::WINDOWS_1254),
        (0x0D, _) => Some(encoding_rs::WINDOWS_1255),
        (0x01 | 0x20 | 0x29 | 0x80 | 0x8C, _) => Some(encoding_rs::WINDOWS_1256),
        (0x25..=0x27, _) => Some(encoding_rs::WINDOWS_1257),
        (0x2A, _) => Some(encoding_rs::WINDOWS_1258),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_or_the_sort_order_says_the_code_page() {
        let of = |info: u32, sort_id: u8, bytes: &[u8]| decode(bytes, WireCollation { info, sort_id });
        assert_eq!(of(0x0411, 0, b"\x93\xfa\x96\x7b"), "日本");
        assert_eq!(of(0x0419, 0, b"\xc4\xe0"), "Да");
        assert_eq!(of(0x0804, 0, b"\xd6\xd0"), "中");
        assert_eq!(of(0x0404, 0, b"\xa4\xa4"), "中");
        assert_eq!(of(0x0405, 0, b"\x8a"), "Š");
        assert_eq!(of(0x0409, 104, b"\xc4\xe0"), "Да");
        assert_eq!(of(0x0409, 52, b"\x80 \xe4"), "€ ä");
        assert_eq!(of(0x0409 | WireCollation::UTF8, 0, "λ".as_bytes()), "λ");
    }
}
