//! Remote procedure calls (2.2.6.6): one message may hold several.

use crate::bits::bit_set;
use crate::bytes::{Reader, put_b_varchar};
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::limits::{CALLS_MAX, PARAMETERS_MAX};
use crate::request::headers::AllHeaders;
use crate::text;
use crate::token::encryption::ParameterCipher;
use crate::type_info::TypeInfo;
use crate::value::{Data, Place};

const BATCH_FLAG: u8 = 0xFF;
const NO_EXEC_FLAG: u8 = 0xFE;
const BY_ID: u16 = 0xFFFF;

/// Procedures called by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum ProcId {
    /// sp_cursor
    Cursor = 1,
    /// sp_cursoropen
    CursorOpen = 2,
    /// sp_cursorprepare
    CursorPrepare = 3,
    /// sp_cursorexecute
    CursorExecute = 4,
    /// sp_cursorprepexec
    CursorPrepExec = 5,
    /// sp_cursorunprepare
    CursorUnprepare = 6,
    /// sp_cursorfetch
    CursorFetch = 7,
    /// sp_cursoroption
    CursorOption = 8,
    /// sp_cursorclose
    CursorClose = 9,
    /// sp_executesql
    ExecuteSql = 10,
    /// sp_prepare
    Prepare = 11,
    /// sp_execute
    Execute = 12,
    /// sp_prepexec
    PrepExec = 13,
    /// sp_prepexecrpc
    PrepExecRpc = 14,
    /// sp_unprepare
    Unprepare = 15,
}

/// Each id with the procedure's name.
const NAMES: [(ProcId, &str); 15] = [
    (ProcId::Cursor, "sp_cursor"),
    (ProcId::CursorOpen, "sp_cursoropen"),
    (ProcId::CursorPrepare, "sp_cursorprepare"),
    (ProcId::CursorExecute, "sp_cursorexecute"),
    (ProcId::CursorPrepExec, "sp_cursorprepexec"),
    (ProcId::CursorUnprepare, "sp_cursorunprepare"),
    (ProcId::CursorFetch, "sp_cursorfetch"),
    (ProcId::CursorOption, "sp_cursoroption"),
    (ProcId::CursorClose, "sp_cursorclose"),
    (ProcId::ExecuteSql, "sp_executesql"),
    (ProcId::Prepare, "sp_prepare"),
    (ProcId::Execute, "sp_execute"),
    (ProcId::PrepExec, "sp_prepexec"),
    (ProcId::PrepExecRpc, "sp_prepexecrpc"),
    (ProcId::Unprepare, "sp_unprepare"),
];

impl ProcId {
    fn from_code(code: u16) -> Result<ProcId> {
        NAMES
            .iter()
            .map(|(id, _)| *id)
            .find(|id| *id as u16 == code)
            .ok_or(DecodeError::Unsupported { what: "procedure id", code: code.into() })
    }
    /// The procedure's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self as u16) - 1].1
    }
    /// The id of a well-known procedure called by name, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ProcId> {
        NAMES.iter().find(|(_, n)| n.eq_ignore_ascii_case(name)).map(|(id, _)| *id)
    }
}

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Procedure {
    /// By number.
    Id(ProcId),
    /// By name, possibly of several parts and quoted.
    Name(String),
}

bit_set! {
    /// Option bits of a call.
    CallFlags: u16 {
        /// Compile anew.
        WITH_RECOMPILE = 0x01;
        /// Do not send column metadata.
        NO_METADATA = 0x02;
        /// The client still has the metadata of the call before.
        REUSE_METADATA = 0x04;
    }
}

bit_set! {
    /// Status bits of a parameter.
    ParameterFlags: u8 {
        /// By reference: an output parameter.
        BY_REF = 0x01;
        /// Use the procedure's default; the value is to be ignored.
        DEFAULT = 0x02;
        /// Encrypted: behind its value stands how.
        ENCRYPTED = 0x08;
    }
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter<'a> {
    /// Name in UTF-16LE, with its `@`; empty when passed by position.
    pub name_utf16: &'a [u8],
    /// Status bits.
    pub flags: ParameterFlags,
    /// Declared type.
    pub ty: TypeInfo,
    /// Value.
    pub value: Data<'a>,
    /// How the value is encrypted, if it is.
    pub cipher: Option<Box<ParameterCipher>>,
}

impl<'a> Parameter<'a> {
    /// The name as text.
    #[must_use]
    pub fn name(&self) -> String {
        text::from_utf16le(self.name_utf16)
    }

    fn decode(r: &mut Reader<'a>, dialect: Dialect) -> Result<Parameter<'a>> {
        let units = r.u8()?;
        let name_utf16 = r.utf16_bytes(units.into())?;
        let flags = ParameterFlags(r.u8()?);
        let ty = TypeInfo::decode(r, dialect)?;
        let value = Data::decode(r, &ty, Place::Parameter)?;
        let cipher = match flags.contains(ParameterFlags::ENCRYPTED) {
            true => Some(Box::new(ParameterCipher::decode(r, dialect)?)),
            false => None,
        };
        Ok(Parameter { name_utf16, flags, ty, value, cipher })
    }
}

/// A call with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Call<'a> {
    /// What is called.
    pub procedure: Procedure,
    /// Option bits.
    pub flags: CallFlags,
    /// Parameters in order.
    pub parameters: Vec<Parameter<'a>>,
    /// Whether it is only to be checked, not executed.
    pub no_exec: bool,
}

/// The calls of a message, decoded one at a time: an error in the third leaves the first two executed, as in the
/// product.
#[derive(Clone, Debug)]
pub struct Calls<'a> {
    /// Headers of the message.
    pub headers: AllHeaders,
    dialect: Dialect,
    rest: Reader<'a>,
    seen: usize,
}

impl<'a> Calls<'a> {
    /// Reads the headers; the calls come from the iterator.
    pub fn decode(payload: &'a [u8], dialect: Dialect) -> Result<Calls<'a>> {
        let mut rest = Reader::new(payload);
        let headers = AllHeaders::decode(&mut rest, dialect)?;
        Ok(Calls { headers, dialect, rest, seen: 0 })
    }
    /// Whether another call follows.
    #[must_use]
    pub const fn has_more(&self) -> bool {
        !self.rest.is_empty()
    }
    /// The next call; its parameters are put into `reuse`, whose room is kept from call to call.
    pub fn next_call(&mut self, reuse: Vec<Parameter<'a>>) -> Option<Result<Call<'a>>> {
        if self.rest.is_empty() {
            return None;
        }
        self.seen += 1;
        if self.seen > CALLS_MAX {
            self.rest = Reader::new(&[]);
            return Some(Err(DecodeError::Limit("number of calls")));
        }
        let call = decode_call(&mut self.rest, self.dialect, reuse);
        if call.is_err() {
            self.rest = Reader::new(&[]);
        }
        Some(call)
    }
}

fn decode_call<'a>(
    r: &mut Reader<'a>,
    dialect: Dialect,
    mut parameters: Vec<Parameter<'a>>,
) -> Result<Call<'a>> {
    parameters.clear();
    let procedure = match r.u16()? {
        BY_ID => Procedure::Id(ProcId::from_code(r.u16()?)?),
        units => Procedure::Name(r.utf16(units.into())?),
    };
    let flags = CallFlags(r.u16()?);
    let mut no_exec = false;
    while let Some(next) = r.peek() {
        if dialect.separates_calls(next) {
            r.u8()?;
            no_exec = next == NO_EXEC_FLAG;
            break;
        }
        if parameters.len() == PARAMETERS_MAX {
            return Err(DecodeError::TooManyParameters(PARAMETERS_MAX));
        }
        parameters.push(Parameter::decode(r, dialect)?);
    }
    Ok(Call { procedure, flags, parameters, no_exec })
}

/// Appends a call; several calls of a message are separated by [`encode_separator`].
pub fn encode_call(out: &mut Vec<u8>, procedure: &Procedure, flags: CallFlags) {
    match procedure {
        Procedure::Id(id) => {
            out.extend_from_slice(&BY_ID.to_le_bytes());
            out.extend_from_slice(&(*id as u16).to_le_bytes());
        }
        Procedure::Name(name) => crate::bytes::put_us_varchar(out, name),
    }
    out.extend_from_slice(&flags.0.to_le_bytes());
}

/// Appends a parameter, as every dialect since 7.1 has it.
pub fn encode_parameter(
    out: &mut Vec<u8>,
    name: &str,
    flags: ParameterFlags,
    ty: &TypeInfo,
    value: &Data<'_>,
) {
    put_b_varchar(out, name);
    out.push(flags.0);
    ty.encode(out, Dialect::default());
    value.encode(out, ty, Place::Parameter);
}

/// Appends what stands between two calls.
pub fn encode_separator(out: &mut Vec<u8>) {
    out.push(BATCH_FLAG);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn two_calls() -> Vec<u8> {
        let mut out = Vec::new();
        AllHeaders { transaction: 7, outstanding: 1, ..AllHeaders::default() }
            .encode(&mut out, Dialect::default());
        encode_call(&mut out, &Procedure::Id(ProcId::ExecuteSql), CallFlags::NO_METADATA);
        let mut sql = Vec::new();
        text::put_utf16le(&mut sql, "SELECT @p");
        let ty = TypeInfo::NVarChar(8000, crate::WireCollation::LATIN1_CI_AS);
        encode_parameter(&mut out, "", ParameterFlags::empty(), &ty, &Data::NChar(Cow::Owned(sql)));
        encode_parameter(&mut out, "@p", ParameterFlags::BY_REF, &TypeInfo::IntN(4), &Data::Int(5));
        encode_separator(&mut out);
        encode_call(&mut out, &Procedure::Name("dbo.p".into()), CallFlags::empty());
        out
    }

    #[test]
    fn two_calls_round_trip() {
        let bytes = two_calls();
        let mut calls = Calls::decode(&bytes, Dialect::default()).expect("valid");
        assert_eq!(calls.headers.transaction, 7);
        let first = calls.next_call(Vec::new()).expect("there").expect("valid");
        assert_eq!(first.procedure, Procedure::Id(ProcId::ExecuteSql));
        assert_eq!(first.parameters.len(), 2);
        assert_eq!(first.parameters[1].name(), "@p");
        assert!(first.parameters[1].flags.contains(ParameterFlags::BY_REF));
        assert_eq!(first.parameters[1].value, Data::Int(5));
        assert!(calls.has_more());
        let second = calls.next_call(Vec::new()).expect("there").expect("valid");
        assert_eq!(second.procedure, Procedure::Name("dbo.p".into()));
        assert!(calls.next_call(Vec::new()).is_none());
    }

    #[test]
    fn truncation_never_panics_and_never_invents_calls() {
        let bytes = two_calls();
        for end in 0..bytes.len() {
            if let Ok(mut calls) = Calls::decode(&bytes[..end], Dialect::default()) {
                let mut good = 0;
                while let Some(Ok(_)) = calls.next_call(Vec::new()) {
                    good += 1;
                }
                assert!(good <= 2);
            }
        }
    }

    #[test]
    fn names_and_ids_agree() {
        for (id, name) in NAMES {
            assert_eq!(id.name(), name);
            assert_eq!(ProcId::from_name(&name.to_uppercase()), Some(id));
        }
    }
}
