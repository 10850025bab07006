//! The dialects of 7.x (2.2.6.4, TDSVersion): what a client says in its login decides how everything after it is laid out.
//!
//! | since | what is there, or is laid out otherwise |
//! | --- | --- |
//! | 7.1 | collations behind the types of text; procedures called by number; bigint and sql_variant |
//! | 7.1 revision 1 | names of tables in TABNAME part by part |
//! | 7.2 | headers before requests; user types and lines of 4 bytes, counts of 8; max types, xml and CLR types; names of tables in columns part by part; transactions told by ENVCHANGE; a longer login |
//! | 7.3 A | date, time, datetime2, datetimeoffset |
//! | 7.3 B | rows with a bitmap of NULLs |
//! | 7.4, 8.0 | feature extensions, which the login itself announces |
//!
//! A type that a dialect has not is described as an older one, as the product does: max types and xml as text, ntext and image, CLR
//! types as binary, dates and times as text of the length that they are written in. This module is the only one that knows which
//! version has what; writers and readers of tokens are given a [`Dialect`] and ask it.

use crate::bytes::{Reader, put_us_varchar};
use crate::collation::WireCollation;
use crate::error::{DecodeError, Result};
use crate::login::TDS_8_0;
use crate::type_info::{Fixed, MAX, TypeInfo};

/// Length that text and image say of a column: the most that there is.
pub const LOB_BYTES: u32 = 0x7FFF_FFFF;
/// Bytes of the longest types that have no chunks.
const SHORT_BYTES: u16 = 8000;
/// Changes of the environment: the one that only 7.0 has (character set), the last that it has (packet size), and the last that 7.1
/// has (collation).
const CHARACTER_SET: u8 = 3;
const CHANGES_7_0: u8 = 4;
const CHANGES_7_1: u8 = 7;

/// A dialect of the protocol, older ones before newer ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// SQL Server 7.0.
    V7_0,
    /// SQL Server 2000.
    V7_1,
    /// SQL Server 2000 SP1, which jTDS and FreeTDS ask for.
    V7_1Revision1,
    /// SQL Server 2005.
    V7_2,
    /// SQL Server 2008, its first.
    V7_3A,
    /// SQL Server 2008.
    V7_3B,
    /// SQL Server 2012 and later. What is said is the same in 8.0.
    #[default]
    V7_4,
}

impl Dialect {
    /// Every one of them.
    pub const ALL: [Dialect; 7] = [
        Dialect::V7_0,
        Dialect::V7_1,
        Dialect::V7_1Revision1,
        Dialect::V7_2,
        Dialect::V7_3A,
        Dialect::V7_3B,
        Dialect::V7_4,
    ];

    /// Of the version in a login; `None` before 7.0. What is newer than we know is spoken to as the newest.
    #[must_use]
    pub const fn of_version(version: u32) -> Option<Dialect> {
        Some(match version {
            TDS_8_0 => Dialect::V7_4,
            0..0x7000_0000 => return None,
            0x7000_0000..0x7100_0000 => Dialect::V7_0,
            0x7100_0000 => Dialect::V7_1,
            0x7100_0001..0x7200_0000 => Dialect::V7_1Revision1,
            0x7200_0000..0x7300_0000 => Dialect::V7_2,
            0x7300_0000..0x730B_0000 => Dialect::V7_3A,
            0x730B_0000..0x7400_0000 => Dialect::V7_3B,
            0x7400_0000.. => Dialect::V7_4,
        })
    }

    /// The version that LOGINACK says where it is not the login's own (2.2.7.14).
    #[must_use]
    pub const fn acknowledged(self) -> Option<u32> {
        match self {
            Dialect::V7_0 => Some(0x0700_0000),
            Dialect::V7_1 => Some(0x0701_0000),
            Dialect::V7_1Revision1 => Some(0x7100_0001),
            _ => None,
        }
    }

    /// Whether requests begin with ALL_HEADERS.
    #[must_use]
    pub fn has_headers(self) -> bool {
        self >= Dialect::V7_2
    }
    /// Whether a login says more than 86 fixed bytes: a new password, and where its extensions are.
    #[must_use]
    pub fn has_long_login(self) -> bool {
        self >= Dialect::V7_2
    }
    /// Whether NULLs may come as a bitmap (NBCROW).
    #[must_use]
    pub fn has_null_bitmaps(self) -> bool {
        self >= Dialect::V7_3B
    }
    /// Whether clients know this change of the environment, by its type.
    #[must_use]
    pub fn knows_change(self, kind: u8) -> bool {
        match self {
            Dialect::V7_0 => kind <= CHANGES_7_0,
            Dialect::V7_1 | Dialect::V7_1Revision1 => kind <= CHANGES_7_1 && kind != CHARACTER_SET,
            _ => kind != CHARACTER_SET,
        }
    }
    /// Whether `flag` stands between two calls of one message, or before one that is not to be executed.
    pub(crate) fn separates_calls(self, flag: u8) -> bool {
        match flag {
            0xFF | 0xFE => self >= Dialect::V7_2,
            0x80 => self < Dialect::V7_2,
            _ => false,
        }
    }

    /// The type as which a column of type `ty` is described.
    #[must_use]
    pub fn column_type(self, ty: TypeInfo) -> TypeInfo {
        let ty = if self < Dialect::V7_3A { dates_as_text(ty) } else { ty };
        let ty = if self < Dialect::V7_2 { without_chunks(ty) } else { ty };
        if self < Dialect::V7_1 { without_collations(ty) } else { ty }
    }

    /// The type as which a returned value of type `ty` is described: there a dialect that has no max types has no text either, and
    /// longer values are cut.
    #[must_use]
    pub fn returned_type(self, ty: TypeInfo) -> TypeInfo {
        match self.column_type(ty) {
            TypeInfo::Text(_, c) if self < Dialect::V7_2 => TypeInfo::VarChar(SHORT_BYTES, c),
            TypeInfo::NText(_, c) if self < Dialect::V7_2 => TypeInfo::NVarChar(SHORT_BYTES, c),
            TypeInfo::Image(_) if self < Dialect::V7_2 => TypeInfo::VarBinary(SHORT_BYTES),
            ty => ty,
        }
    }

    pub(crate) fn put_collation(self, out: &mut Vec<u8>, collation: WireCollation) {
        if self >= Dialect::V7_1 {
            out.extend_from_slice(&collation.to_bytes());
        }
    }

    pub(crate) fn collation(self, r: &mut Reader<'_>) -> Result<WireCollation> {
        if self >= Dialect::V7_1 {
            r.array().map(WireCollation::from_bytes)
        } else {
            Ok(WireCollation::LATIN1_CI_AS)
        }
    }

    /// The length of a type of at most 8000 bytes; one without bound is not in every dialect.
    pub(crate) fn short_length(self, r: &mut Reader<'_>) -> Result<u16> {
        match r.u16()? {
            MAX if self < Dialect::V7_2 => Err(DecodeError::Malformed("type length")),
            length => Ok(length),
        }
    }

    pub(crate) fn put_user_type(self, out: &mut Vec<u8>, user_type: u32) {
        self.put_number(out, user_type);
    }

    pub(crate) fn user_type(self, r: &mut Reader<'_>) -> Result<u32> {
        self.number(r)
    }

    pub(crate) fn put_line(self, out: &mut Vec<u8>, line: u32) {
        self.put_number(out, line);
    }

    pub(crate) fn line(self, r: &mut Reader<'_>) -> Result<u32> {
        self.number(r)
    }

    /// What was of 2 bytes before 7.2; what does not fit is said to be the most that does.
    fn put_number(self, out: &mut Vec<u8>, number: u32) {
        if self >= Dialect::V7_2 {
            out.extend_from_slice(&number.to_le_bytes());
        } else {
            out.extend_from_slice(&u16::try_from(number).unwrap_or(u16::MAX).to_le_bytes());
        }
    }

    fn number(self, r: &mut Reader<'_>) -> Result<u32> {
        if self >= Dialect::V7_2 { r.u32() } else { r.u16().map(u32::from) }
    }

    pub(crate) fn put_count(self, out: &mut Vec<u8>, rows: u64) {
        if self >= Dialect::V7_2 {
            out.extend_from_slice(&rows.to_le_bytes());
        } else {
            out.extend_from_slice(&u32::try_from(rows).unwrap_or(u32::MAX).to_le_bytes());
        }
    }

    pub(crate) fn count(self, r: &mut Reader<'_>) -> Result<u64> {
        if self >= Dialect::V7_2 { r.u64() } else { r.u32().map(u64::from) }
    }

    /// The table of a text, ntext or image column.
    pub(crate) fn put_column_table(self, out: &mut Vec<u8>, parts: &[String]) {
        put_table(out, parts, self >= Dialect::V7_2);
    }

    pub(crate) fn column_table(self, r: &mut Reader<'_>) -> Result<Vec<String>> {
        if self < Dialect::V7_2 {
            return Ok(vec![r.us_varchar()?]);
        }
        let parts = r.u8()?;
        (0..parts).map(|_| r.us_varchar()).collect()
    }

    /// A table in TABNAME.
    pub(crate) fn put_browsed_table(self, out: &mut Vec<u8>, parts: &[String]) {
        put_table(out, parts, self >= Dialect::V7_1Revision1);
    }
}

fn put_table(out: &mut Vec<u8>, parts: &[String], part_by_part: bool) {
    if part_by_part {
        out.push(u8::try_from(parts.len()).expect("a table name has at most four parts"));
        parts.iter().for_each(|part| put_us_varchar(out, part));
    } else {
        put_us_varchar(out, &parts.join("."));
    }
}

/// Dates and times are described by the length of their text: 10 of a date, 8 of a time of day, 6 of an offset with its sign, what is
/// between them, and a point and the digits behind it.
fn dates_as_text(ty: TypeInfo) -> TypeInfo {
    let fraction = |scale: u8| if scale == 0 { 0 } else { u16::from(scale) + 1 };
    let units = match &ty {
        TypeInfo::DateN => 10,
        TypeInfo::TimeN(scale) => 8 + fraction(*scale),
        TypeInfo::DateTime2N(scale) => 19 + fraction(*scale),
        TypeInfo::DateTimeOffsetN(scale) => 26 + fraction(*scale),
        _ => return ty,
    };
    TypeInfo::NVarChar(units * 2, WireCollation::LATIN1_CI_AS)
}

fn without_chunks(ty: TypeInfo) -> TypeInfo {
    match ty {
        TypeInfo::VarChar(MAX, c) => TypeInfo::Text(LOB_BYTES, c),
        TypeInfo::NVarChar(MAX, c) => TypeInfo::NText(LOB_BYTES - 1, c),
        TypeInfo::Xml(_) => TypeInfo::NText(LOB_BYTES - 1, WireCollation::LATIN1_CI_AS),
        TypeInfo::VarBinary(MAX) => TypeInfo::Image(LOB_BYTES),
        TypeInfo::UdtColumn(column) if column.max_bytes > SHORT_BYTES => TypeInfo::Image(LOB_BYTES),
        TypeInfo::UdtColumn(column) => TypeInfo::VarBinary(column.max_bytes),
        ty => ty,
    }
}

/// SQL Server 7.0 had neither bigint nor sql_variant.
fn without_collations(ty: TypeInfo) -> TypeInfo {
    match ty {
        TypeInfo::Fixed(Fixed::Int8) | TypeInfo::IntN(8) => {
            TypeInfo::Decimal { numeric: true, precision: 19, scale: 0 }
        }
        TypeInfo::Variant(_) => TypeInfo::NVarChar(SHORT_BYTES, WireCollation::LATIN1_CI_AS),
        ty => ty,
    }
}
