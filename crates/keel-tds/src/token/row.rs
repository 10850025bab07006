//! ROW and NBCROW (2.2.7.19, 2.2.7.15). The server's encoder writes values itself; NULL bitmaps are prepared here.

use crate::bytes::Reader;
use crate::error::Result;
use crate::token::Column;
use crate::token::{NBCROW, ROW};
use crate::value::{Data, Place};

/// Reads the values of a ROW.
pub fn decode_row<'a>(r: &mut Reader<'a>, columns: &[Column]) -> Result<Vec<Data<'a>>> {
    columns.iter().map(|c| Data::decode(r, &c.ty, Place::Row)).collect()
}

/// Reads the values of an NBCROW: a bit per column, set for NULL, then the others.
pub fn decode_nbc_row<'a>(r: &mut Reader<'a>, columns: &[Column]) -> Result<Vec<Data<'a>>> {
    let nulls = r.take(columns.len().div_ceil(8))?;
    let value = |(i, c): (usize, &Column)| {
        if nulls[i / 8] & (1 << (i % 8)) != 0 { Ok(Data::Null) } else { Data::decode(r, &c.ty, Place::Row) }
    };
    columns.iter().enumerate().map(value).collect()
}

/// Appends a ROW.
pub fn put_row(out: &mut Vec<u8>, columns: &[Column], values: &[Data<'_>]) {
    out.push(ROW);
    for (value, column) in values.iter().zip(columns) {
        value.encode(out, &column.ty, Place::Row);
    }
}

/// Appends an NBCROW.
pub fn put_nbc_row(out: &mut Vec<u8>, columns: &[Column], values: &[Data<'_>]) {
    let bitmap = start_nbc_row(out, columns.len());
    for (i, (value, column)) in values.iter().zip(columns).enumerate() {
        if *value == Data::Null {
            mark_null(out, bitmap, i);
        } else {
            value.encode(out, &column.ty, Place::Row);
        }
    }
}

/// Appends the start of an NBCROW with no column marked; returns where its bitmap is.
pub fn start_nbc_row(out: &mut Vec<u8>, columns: usize) -> usize {
    out.push(NBCROW);
    let at = out.len();
    out.resize(at + columns.div_ceil(8), 0);
    at
}

/// Marks column `i` as NULL in the bitmap that [`start_nbc_row`] returned.
pub fn mark_null(out: &mut [u8], bitmap: usize, i: usize) {
    out[bitmap + i / 8] |= 1 << (i % 8);
}
