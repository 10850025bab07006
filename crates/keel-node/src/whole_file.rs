//! Small files that are replaced as a whole: a header with magic, version, length and checksum, and a body.
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 8 | magic | which kind |
//! | 8 | 4 | version | of the body's form |
//! | 12 | 4 | length | of the body |
//! | 16 | 4 | checksum | CRC32C of bytes 0..16 and of the body |
//! | 20 | | body | |
//!
//! All numbers are little-endian. A file has its name only when it is whole: it is written under another one, made durable, and renamed.

use crate::bytes::{Bytes, length};
use crate::error::DbError;
use keel_base::env::{Env, OpenMode};
use std::path::Path;

const HEADER_BYTES: usize = 20;
const CHECKSUM_AT: usize = 16;

/// Magic and version of a kind of files.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) magic: &'static [u8; 8],
    pub(crate) version: u32,
    /// No file of the kind is larger: what is behind is not read.
    pub(crate) bytes_max: usize,
}

impl Kind {
    /// The bytes of a file with a body.
    pub(crate) fn seal(self, body: &[u8]) -> Vec<u8> {
        let mut out = self.magic.to_vec();
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&length(body.len()).to_le_bytes());
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&out), body);
        out.extend_from_slice(&checksum.to_le_bytes());
        out.extend_from_slice(body);
        out
    }

    /// The body in the bytes of a file; `None` when they are damaged, or another kind's.
    pub(crate) fn open(self, bytes: &[u8]) -> Option<&[u8]> {
        let (head, body) = bytes.split_at_checked(HEADER_BYTES)?;
        let mut fields = Bytes(head);
        let known = fields.take(8)? == self.magic && fields.u32()? == self.version;
        if !known || fields.u32()? as usize != body.len() {
            return None;
        }
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&head[..CHECKSUM_AT]), body);
        (cfg!(fuzzing) || fields.u32()? == checksum).then_some(body)
    }

    /// Writes a file with a body at `path`, whole or not at all, durably; `unfinished` is its name meanwhile, in the same directory.
    pub(crate) fn write(
        self,
        env: &Env,
        dir: &Path,
        unfinished: &str,
        path: &Path,
        body: &[u8],
    ) -> Result<(), DbError> {
        let fresh = dir.join(unfinished);
        if env.disk.exists(&fresh) {
            env.disk.remove(&fresh)?;
        }
        let file = env.disk.open(&fresh, OpenMode::CreateNew)?;
        file.write_durable_at(&self.seal(body), 0)?;
        file.sync_all()?;
        env.disk.rename(&fresh, path)?;
        env.disk.sync_dir(dir)?;
        Ok(())
    }

    /// Reads the body of the file at `path`, which must be there; `None` when it is damaged.
    pub(crate) fn read(self, env: &Env, path: &Path) -> Result<Option<Vec<u8>>, DbError> {
        let file = env.disk.open(path, OpenMode::Read)?;
        let mut bytes = vec![0; self.bytes_max];
        let mut n = 0;
        while n < bytes.len() {
            match file.read_at(&mut bytes[n..], n as u64)? {
                0 => break,
                more => n += more,
            }
        }
        Ok(self.open(&bytes[..n]).map(<[u8]>::to_vec))
    }
}
