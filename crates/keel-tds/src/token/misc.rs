//! The small tokens: RETURNSTATUS, ORDER, TABNAME, COLINFO, SSPI, FEDAUTHINFO, SESSIONSTATE.

use crate::bytes::{Reader, patch_u32, put_b_varchar, with_u16_length};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::token::{COLINFO, FEDAUTHINFO, ORDER, RETURNSTATUS, SESSIONSTATE, SSPI, TABNAME};

/// Appends RETURNSTATUS (2.2.7.17).
pub fn put_return_status(out: &mut Vec<u8>, status: i32) {
    out.push(RETURNSTATUS);
    out.extend_from_slice(&status.to_le_bytes());
}

/// Appends ORDER (2.2.7.16): columns from 1.
pub fn put_order(out: &mut Vec<u8>, columns: &[u16]) {
    out.push(ORDER);
    with_u16_length(out, |out| out.extend(columns.iter().flat_map(|c| c.to_le_bytes())));
}

pub(crate) fn decode_order(r: &mut Reader<'_>) -> Result<Vec<u16>> {
    Ok(r.us_varbyte()?.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect())
}

/// Appends TABNAME (2.2.7.23): tables of a browse-mode result, part by part.
pub fn put_tables(out: &mut Vec<u8>, tables: &[Vec<String>], dialect: Dialect) {
    out.push(TABNAME);
    with_u16_length(out, |out| tables.iter().for_each(|table| dialect.put_browsed_table(out, table)));
}

/// One entry of COLINFO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Column, from 1.
    pub column: u8,
    /// Table in TABNAME, from 1; 0 for an expression.
    pub table: u8,
    /// [`ColumnInfo::EXPRESSION`], [`ColumnInfo::KEY`], [`ColumnInfo::HIDDEN`].
    pub status: u8,
    /// Name in the table when it differs.
    pub name: Option<String>,
}

impl ColumnInfo {
    /// Not a table's column.
    pub const EXPRESSION: u8 = 0x04;
    /// Part of the key.
    pub const KEY: u8 = 0x08;
    /// Not asked for by the query.
    pub const HIDDEN: u8 = 0x10;
}

/// Appends COLINFO (2.2.7.3).
pub fn put_column_info(out: &mut Vec<u8>, columns: &[ColumnInfo]) {
    const DIFFERENT_NAME: u8 = 0x20;
    out.push(COLINFO);
    with_u16_length(out, |out| {
        for c in columns {
            let status = if c.name.is_some() { c.status | DIFFERENT_NAME } else { c.status };
            out.extend_from_slice(&[c.column, c.table, status]);
            if let Some(name) = &c.name {
                put_b_varchar(out, name);
            }
        }
    });
}

/// Appends SSPI (2.2.7.22).
pub fn put_sspi(out: &mut Vec<u8>, data: &[u8]) {
    out.push(SSPI);
    with_u16_length(out, |out| out.extend_from_slice(data));
}

/// Appends FEDAUTHINFO (2.2.7.12): the address of the token service and the service's own name.
pub fn put_fedauth_info(out: &mut Vec<u8>, options: &[(u8, &str)]) {
    out.push(FEDAUTHINFO);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&u32::try_from(options.len()).expect("two options").to_le_bytes());
    let mut data = Vec::new();
    for (id, value) in options {
        let start = data.len();
        crate::text::put_utf16le(&mut data, value);
        out.push(*id);
        out.extend_from_slice(&u32::try_from(data.len() - start).expect("short").to_le_bytes());
        let offset = 4 + options.len() * 9 + start;
        out.extend_from_slice(&u32::try_from(offset).expect("short").to_le_bytes());
    }
    out.extend(data);
    let length = u32::try_from(out.len() - at - 4).expect("short");
    patch_u32(out, at, length);
}

/// Appends SESSIONSTATE (2.2.7.21). `recoverable` says whether the session could be rebuilt from these states.
pub fn put_session_state(out: &mut Vec<u8>, sequence: u32, recoverable: bool, states: &[(u8, &[u8])]) {
    out.push(SESSIONSTATE);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&sequence.to_le_bytes());
    out.push(recoverable.into());
    crate::recovery::put_states(out, states);
    let length = u32::try_from(out.len() - at - 4).expect("short");
    patch_u32(out, at, length);
}
