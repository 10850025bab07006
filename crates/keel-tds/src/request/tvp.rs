//! Table-valued parameters (2.2.5.5.5).

use crate::bytes::{Reader, put_b_varchar};
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::limits::COLUMNS_MAX;
use crate::type_info::TypeInfo;
use crate::value::{Data, Place};

const NULL_TOKEN: u16 = 0xFFFF;
const ROW: u8 = 0x01;
const ORDER_UNIQUE: u8 = 0x10;
const COLUMN_ORDERING: u8 = 0x11;
const END: u8 = 0x00;
/// Column flag: the client sends no value, the type's default is used.
const DEFAULT_FLAG: u16 = 0x0200;

/// A column of a table-valued parameter. Names are not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Flags as in COLMETADATA, and whether the column's default is to be used.
    pub flags: u16,
    /// Type.
    pub ty: TypeInfo,
}

impl TableColumn {
    /// Whether the column is not sent and takes its default.
    #[must_use]
    pub const fn is_default(&self) -> bool {
        self.flags & DEFAULT_FLAG != 0
    }
}

/// A table-valued parameter that is not NULL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table<'a> {
    /// Columns in order of the type.
    pub columns: Vec<TableColumn>,
    /// Rows; a value per column, NULL for default columns.
    pub rows: Vec<Vec<Data<'a>>>,
}

impl<'a> Table<'a> {
    /// What follows the type name. `None` is the NULL table.
    pub fn decode(r: &mut Reader<'a>) -> Result<Option<Table<'a>>> {
        let count = r.u16()?;
        let mut table = Table::default();
        let is_null = count == NULL_TOKEN;
        if !is_null {
            if usize::from(count) > COLUMNS_MAX {
                return Err(DecodeError::Limit("number of columns"));
            }
            for _ in 0..count {
                let _user_type = r.u32()?;
                let flags = r.u16()?;
                // A dialect that has tables has everything that they hold.
                let ty = TypeInfo::decode(r, Dialect::default())?;
                if matches!(ty, TypeInfo::Table(_)) {
                    return Err(DecodeError::Malformed("table in a table"));
                }
                r.b_varchar()?;
                table.columns.push(TableColumn { flags, ty });
            }
        }
        skip_ordering(r)?;
        loop {
            match r.u8()? {
                END => return Ok((!is_null).then_some(table)),
                ROW => {
                    let row = table.columns.iter().map(|c| {
                        if c.is_default() { Ok(Data::Null) } else { Data::decode(r, &c.ty, Place::Parameter) }
                    });
                    let row = row.collect::<Result<Vec<_>>>()?;
                    // A row without columns would cost a byte on the wire and a vector here.
                    if row.is_empty() {
                        return Err(DecodeError::Malformed("row without columns"));
                    }
                    table.rows.push(row);
                }
                _ => return Err(DecodeError::Malformed("table-valued parameter")),
            }
        }
    }

    /// Appends columns and rows.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&u16::try_from(self.columns.len()).expect("limited columns").to_le_bytes());
        for column in &self.columns {
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&column.flags.to_le_bytes());
            column.ty.encode(out, Dialect::default());
            put_b_varchar(out, "");
        }
        out.push(END);
        for row in &self.rows {
            out.push(ROW);
            for (value, column) in row.iter().zip(&self.columns).filter(|(_, c)| !c.is_default()) {
                value.encode(out, &column.ty, Place::Parameter);
            }
        }
        out.push(END);
    }

    /// Appends the NULL table.
    pub fn encode_null(out: &mut Vec<u8>) {
        out.extend_from_slice(&NULL_TOKEN.to_le_bytes());
        out.extend_from_slice(&[END, END]);
    }

    /// A copy that borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> Table<'static> {
        let rows = self.rows.into_iter().map(|row| row.into_iter().map(Data::into_owned).collect());
        Table { columns: self.columns, rows: rows.collect() }
    }
}

/// Ordering hints, which we do not use, up to the end of the metadata.
fn skip_ordering(r: &mut Reader<'_>) -> Result<()> {
    loop {
        let bytes_each = match r.u8()? {
            END => return Ok(()),
            ORDER_UNIQUE => 3,
            COLUMN_ORDERING => 2,
            _ => return Err(DecodeError::Malformed("table-valued parameter metadata")),
        };
        let count = usize::from(r.u16()?);
        r.take(count * bytes_each)?;
    }
}
