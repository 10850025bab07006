//! The five bytes that say how character data is encoded and compared (2.2.5.1.2).

/// A collation on the wire: 20 bits LCID, comparison flags, version, and the sort order id of the SQL collations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WireCollation {
    /// LCID in the low 20 bits, then the comparison flags, version in the top 4 bits.
    pub info: u32,
    /// Sort order id; 0 for Windows collations.
    pub sort_id: u8,
}

impl WireCollation {
    /// Comparison flag: ignore case.
    pub const IGNORE_CASE: u32 = 1 << 20;
    /// Comparison flag: ignore accents.
    pub const IGNORE_ACCENT: u32 = 1 << 21;
    /// Comparison flag: ignore kana type.
    pub const IGNORE_KANA: u32 = 1 << 22;
    /// Comparison flag: ignore width.
    pub const IGNORE_WIDTH: u32 = 1 << 23;
    /// Comparison flag: by code point.
    pub const BINARY2: u32 = 1 << 25;
    /// Non-national character data is UTF-8.
    pub const UTF8: u32 = 1 << 26;

    /// `SQL_Latin1_General_CP1_CI_AS`, the default.
    pub const LATIN1_CI_AS: WireCollation = WireCollation {
        info: 0x0409 | Self::IGNORE_CASE | Self::IGNORE_KANA | Self::IGNORE_WIDTH,
        sort_id: 52,
    };
    /// `SQL_Latin1_General_CP1_CS_AS`.
    pub const LATIN1_CS_AS: WireCollation =
        WireCollation { info: 0x0409 | Self::IGNORE_KANA | Self::IGNORE_WIDTH, sort_id: 51 };
    /// `Latin1_General_CI_AI`.
    pub const LATIN1_CI_AI: WireCollation = WireCollation {
        info: 0x0409 | Self::IGNORE_CASE | Self::IGNORE_ACCENT | Self::IGNORE_KANA | Self::IGNORE_WIDTH,
        sort_id: 0,
    };
    /// `Latin1_General_BIN2`.
    pub const LATIN1_BIN2: WireCollation = WireCollation { info: 0x0409 | Self::BINARY2, sort_id: 0 };

    /// From the wire.
    #[must_use]
    pub const fn from_bytes(b: [u8; 5]) -> WireCollation {
        WireCollation { info: u32::from_le_bytes([b[0], b[1], b[2], b[3]]), sort_id: b[4] }
    }
    /// To the wire.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 5] {
        let [a, b, c, d] = self.info.to_le_bytes();
        [a, b, c, d, self.sort_id]
    }
    /// Whether char and varchar data under it is UTF-8.
    #[must_use]
    pub const fn is_utf8(self) -> bool {
        self.info & Self::UTF8 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_collation_has_the_known_bytes() {
        assert_eq!(WireCollation::LATIN1_CI_AS.to_bytes(), [0x09, 0x04, 0xD0, 0x00, 0x34]);
        assert_eq!(WireCollation::from_bytes([0x09, 0x04, 0xD0, 0x00, 0x34]), WireCollation::LATIN1_CI_AS);
    }
}
