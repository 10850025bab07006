//! Reading and writing the primitive fields of 2.2.5: little-endian integers and length-prefixed strings.

use crate::error::{DecodeError, Result};
use crate::text;

/// A cursor over received bytes. Nothing is consumed before it is known to be there.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

macro_rules! fixed_width {
    ($($(#[$meta:meta])* $name:ident: $int:ty;)*) => {
        $($(#[$meta])*
        pub fn $name(&mut self) -> Result<$int> {
            let (head, rest) = self.rest.split_first_chunk().ok_or(DecodeError::Incomplete)?;
            self.rest = rest;
            Ok(<$int>::from_le_bytes(*head))
        })*
    };
}

impl<'a> Reader<'a> {
    /// Over all of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }
    /// Bytes not yet consumed.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }
    /// Whether everything is consumed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
    /// The bytes not yet consumed.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
    /// The next byte, without consuming it.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }
    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or(DecodeError::Incomplete)?;
        self.rest = rest;
        Ok(head)
    }
    /// The next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(DecodeError::Incomplete)?;
        self.rest = rest;
        Ok(*head)
    }
    fixed_width! {
        /// BYTE
        u8: u8;
        /// USHORT
        u16: u16;
        /// SHORT
        i16: i16;
        /// ULONG, DWORD
        u32: u32;
        /// LONG
        i32: i32;
        /// ULONGLONG
        u64: u64;
        /// LONGLONG
        i64: i64;
        /// FLT4
        f32: f32;
        /// FLT8
        f64: f64;
    }
    /// USHORT in network order (packet headers, pre-login).
    pub fn u16_be(&mut self) -> Result<u16> {
        self.u16().map(u16::swap_bytes)
    }
    /// ULONG in network order (pre-login and LOGINACK versions).
    pub fn u32_be(&mut self) -> Result<u32> {
        self.u32().map(u32::swap_bytes)
    }
    /// `units` UTF-16 code units, undecoded.
    pub fn utf16_bytes(&mut self, units: usize) -> Result<&'a [u8]> {
        self.take(units.checked_mul(2).ok_or(DecodeError::Limit("string length"))?)
    }
    /// `units` UTF-16 code units as text; lone surrogates become U+FFFD.
    pub fn utf16(&mut self, units: usize) -> Result<String> {
        self.utf16_bytes(units).map(text::from_utf16le)
    }
    /// B_VARCHAR: one length byte in code units.
    pub fn b_varchar(&mut self) -> Result<String> {
        let units = self.u8()?;
        self.utf16(units.into())
    }
    /// US_VARCHAR: two length bytes in code units.
    pub fn us_varchar(&mut self) -> Result<String> {
        let units = self.u16()?;
        self.utf16(units.into())
    }
    /// B_VARBYTE: one length byte in bytes.
    pub fn b_varbyte(&mut self) -> Result<&'a [u8]> {
        let bytes = self.u8()?;
        self.take(bytes.into())
    }
    /// US_VARBYTE: two length bytes in bytes.
    pub fn us_varbyte(&mut self) -> Result<&'a [u8]> {
        let bytes = self.u16()?;
        self.take(bytes.into())
    }
}

/// Appends B_VARCHAR, cut to the 255 code units its length byte can say.
pub fn put_b_varchar(out: &mut Vec<u8>, s: &str) {
    let at = out.len();
    out.push(0);
    let units = text::put_utf16le_limited(out, s, 255);
    out[at] = u8::try_from(units).expect("limited to 255");
}

/// Appends US_VARCHAR, cut to the 65,535 code units its length can say.
pub fn put_us_varchar(out: &mut Vec<u8>, s: &str) {
    let at = out.len();
    out.extend_from_slice(&[0, 0]);
    let units = text::put_utf16le_limited(out, s, 65_535);
    patch_u16(out, at, u16::try_from(units).expect("limited to 65535"));
}

/// Appends B_VARBYTE; the caller's value is at most 255 bytes.
pub fn put_b_varbyte(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(u8::try_from(bytes.len()).expect("B_VARBYTE holds at most 255 bytes"));
    out.extend_from_slice(bytes);
}

/// Writes a USHORT over the two bytes at `at`, which the caller reserved.
pub fn patch_u16(out: &mut [u8], at: usize, v: u16) {
    out[at..at + 2].copy_from_slice(&v.to_le_bytes());
}

/// Writes a ULONG over the four bytes at `at`, which the caller reserved.
pub fn patch_u32(out: &mut [u8], at: usize, v: u32) {
    out[at..at + 4].copy_from_slice(&v.to_le_bytes());
}

/// Reserves a USHORT length, runs `body`, and fills in how many bytes it appended.
/// Token bodies that can exceed 65,535 bytes must be cut by their writers; here that is a programmer's error.
pub fn with_u16_length(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0, 0]);
    body(out);
    let length = out.len() - at - 2;
    patch_u16(out, at, u16::try_from(length).expect("a token body with a USHORT length is below 64 KB"));
}
