//! COLMETADATA (2.2.7.4): the columns of the rows that follow.

use crate::bits::bit_set;
use crate::bytes::{Reader, put_b_varchar};
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::limits::COLUMNS_MAX;
use crate::token::COLMETADATA;
use crate::token::encryption::{Crypto, Key, decode_keys, put_keys};
use crate::type_info::TypeInfo;

const NO_METADATA: u16 = 0xFFFF;

bit_set! {
    /// Flags of a column.
    ColumnFlags: u16 {
        /// May be NULL.
        NULLABLE = 0x0001;
        /// Compared with regard to case.
        CASE_SENSITIVE = 0x0002;
        /// Updatable.
        UPDATEABLE = 0x0004;
        /// It is not known whether it is updatable.
        UPDATEABLE_UNKNOWN = 0x0008;
        /// An identity column.
        IDENTITY = 0x0010;
        /// Computed, also: an expression.
        COMPUTED = 0x0020;
        /// A column set of sparse columns.
        SPARSE_COLUMN_SET = 0x0400;
        /// Encrypted; sent to who asked to be told.
        ENCRYPTED = 0x0800;
        /// Added for browsing.
        HIDDEN = 0x2000;
        /// Part of the key, for browsing.
        KEY = 0x4000;
        /// It is not known whether it may be NULL.
        NULLABLE_UNKNOWN = 0x8000;
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// User type; 80 marks a rowversion.
    pub user_type: u32,
    /// Flags.
    pub flags: ColumnFlags,
    /// Type.
    pub ty: TypeInfo,
    /// Table of a text, ntext or image column, part by part; empty for others.
    pub table: Vec<String>,
    /// How its values are encrypted, if they are.
    pub crypto: Option<Box<Crypto>>,
    /// Name; may be empty.
    pub name: String,
}

/// Reads what follows the token code.
pub fn decode(r: &mut Reader<'_>, dialect: Dialect) -> Result<Vec<Column>> {
    decode_with(r, dialect, false, Dialect::column_table)
}

/// The same in a bulk load. Clients (tedious, Microsoft's for JDBC and .NET, FreeTDS) send the table of a text, ntext or image
/// column as one name there, without a count of its parts; a name has less than 256 characters, which tells the two apart. `encrypts`: the
/// client has the feature, and the keys stand in front.
pub fn decode_of_load(r: &mut Reader<'_>, dialect: Dialect, encrypts: bool) -> Result<Vec<Column>> {
    decode_with(r, dialect, encrypts, |dialect, r| match r.rest() {
        [_, 0, ..] => Ok(vec![r.us_varchar()?]),
        [] | [_] => Err(DecodeError::Incomplete),
        _ => dialect.column_table(r),
    })
}

type TableName = fn(Dialect, &mut Reader<'_>) -> Result<Vec<String>>;

fn decode_with(
    r: &mut Reader<'_>,
    dialect: Dialect,
    encrypts: bool,
    table: TableName,
) -> Result<Vec<Column>> {
    let count = r.u16()?;
    if count == NO_METADATA {
        return Ok(Vec::new());
    }
    if usize::from(count) > COLUMNS_MAX {
        return Err(DecodeError::Limit("number of columns"));
    }
    let keys = if encrypts { decode_keys(r)? } else { Vec::new() };
    (0..count).map(|_| decode_one(r, dialect, &keys, table)).collect()
}

fn decode_one(r: &mut Reader<'_>, dialect: Dialect, keys: &[Key], table: TableName) -> Result<Column> {
    let user_type = dialect.user_type(r)?;
    let flags = ColumnFlags(r.u16()?);
    let ty = TypeInfo::decode_column(r, dialect)?;
    if matches!(ty, TypeInfo::Table(_)) {
        return Err(DecodeError::Malformed("table as a column"));
    }
    let table = if ty.is_lob() { table(dialect, r)? } else { Vec::new() };
    let crypto = match flags.contains(ColumnFlags::ENCRYPTED) {
        true => Some(Box::new(Crypto::decode(r, keys, dialect)?)),
        false => None,
    };
    Ok(Column { user_type, flags, ty, table, crypto, name: r.b_varchar()? })
}

/// Appends COLMETADATA. `encrypts`: the client has asked to be told how columns are encrypted.
pub fn put<'c>(
    out: &mut Vec<u8>,
    columns: impl ExactSizeIterator<Item = &'c Column> + Clone,
    dialect: Dialect,
    encrypts: bool,
) {
    out.push(COLMETADATA);
    out.extend_from_slice(&u16::try_from(columns.len()).expect("at most 4096 columns").to_le_bytes());
    let keys = match encrypts {
        true => put_keys(out, columns.clone().filter_map(|c| c.crypto.as_deref())),
        false => Vec::new(),
    };
    for column in columns {
        let crypto = column.crypto.as_ref().filter(|_| encrypts);
        dialect.put_user_type(out, column.user_type);
        let flags = column.flags.with_if(ColumnFlags::ENCRYPTED, crypto.is_some());
        out.extend_from_slice(&flags.0.to_le_bytes());
        column.ty.encode(out, dialect);
        if column.ty.is_lob() {
            dialect.put_column_table(out, &column.table);
        }
        if let Some(crypto) = crypto {
            crypto.put(out, &keys, dialect);
        }
        put_b_varchar(out, &column.name);
    }
}

/// Appends COLMETADATA that says only that the client already has it.
pub fn put_none(out: &mut Vec<u8>) {
    out.push(COLMETADATA);
    out.extend_from_slice(&NO_METADATA.to_le_bytes());
}
