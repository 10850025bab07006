//! RETURNVALUE (2.2.7.18): output parameters and values of functions.

use crate::bytes::{Reader, put_b_varchar};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::token::{ColumnFlags, RETURNVALUE};
use crate::type_info::TypeInfo;
use crate::value::{Data, Place};

/// Status: an output parameter.
pub const OUTPUT: u8 = 1;
/// Status: the value of a function.
pub const FUNCTION: u8 = 2;

/// A returned value.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnValue<'a> {
    /// Place of the parameter in the call, from 0.
    pub ordinal: u16,
    /// Name with its `@`, or empty.
    pub name: String,
    /// [`OUTPUT`] or [`FUNCTION`].
    pub status: u8,
    /// Type.
    pub ty: TypeInfo,
    /// Value.
    pub value: Data<'a>,
}

impl<'a> ReturnValue<'a> {
    pub(crate) fn decode(r: &mut Reader<'a>, dialect: Dialect) -> Result<ReturnValue<'a>> {
        let ordinal = r.u16()?;
        let name = r.b_varchar()?;
        let status = r.u8()?;
        let _user_type = dialect.user_type(r)?;
        let _flags = r.u16()?;
        let ty = TypeInfo::decode_column(r, dialect)?;
        let value = Data::decode(r, &ty, Place::Row)?;
        Ok(ReturnValue { ordinal, name, status, ty, value })
    }

    /// Appends the token.
    pub fn put(&self, out: &mut Vec<u8>, dialect: Dialect) {
        put_head(out, self.ordinal, &self.name, self.status, ColumnFlags::empty(), dialect);
        self.ty.encode(out, dialect);
        self.value.encode(out, &self.ty, Place::Row);
    }
}

/// Appends everything before the type, which the caller writes with the value.
pub fn put_head(
    out: &mut Vec<u8>,
    ordinal: u16,
    name: &str,
    status: u8,
    flags: ColumnFlags,
    dialect: Dialect,
) {
    out.push(RETURNVALUE);
    out.extend_from_slice(&ordinal.to_le_bytes());
    put_b_varchar(out, name);
    out.push(status);
    dialect.put_user_type(out, 0);
    out.extend_from_slice(&flags.0.to_le_bytes());
}
