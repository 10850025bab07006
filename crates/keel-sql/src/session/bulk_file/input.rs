//! The bytes of a data file, block by block.

use super::failed;
use keel_base::env::File;
use keel_types::error::Result;
use std::sync::Arc;

/// Bytes read at once.
const BLOCK_BYTES: usize = 256 << 10;

/// The bytes of a file, in blocks; UTF-16 becomes UTF-8 on the way.
pub(super) struct Input {
    file: Arc<dyn File>,
    pub(super) name: String,
    at: u64,
    buf: Vec<u8>,
    pos: usize,
    form: Form,
    odd: Vec<u8>,
    ended: bool,
    /// The bytes of a row are kept until the next one begins.
    pub(super) keep_rows: bool,
    /// Where the row begins, in `buf`.
    row: usize,
    /// The offset in the file of what stands there; known when rows are kept.
    offset: u64,
}

/// What the bytes of a file are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Text of one code page.
    Narrow,
    /// UTF-16.
    Wide,
    /// What a layout says.
    Raw,
}

/// How a field ended.
#[derive(PartialEq, Eq)]
pub(super) enum End {
    Found,
    File,
}

impl Input {
    pub(super) fn new(file: Arc<dyn File>, name: String, form: Form) -> Input {
        let (buf, odd) = (Vec::new(), Vec::new());
        Input { file, name, at: 0, buf, pos: 0, form, odd, ended: false, keep_rows: false, row: 0, offset: 0 }
    }

    fn more(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let used = if self.keep_rows { self.row } else { self.pos };
        self.buf.drain(..used);
        self.pos -= used;
        self.row = 0;
        let mut block = vec![0; BLOCK_BYTES];
        let n = self.file.read_at(&mut block, self.at);
        let n = n.map_err(|e| {
            failed(4861, format!("Cannot bulk load because the file \"{}\" could not be read. Operating system error: {e}.", self.name))
        })?;
        block.truncate(n);
        let first = self.at == 0;
        self.at += n as u64;
        self.ended = n == 0;
        if first && self.form != Form::Raw && block.starts_with(&[0xFF, 0xFE]) {
            self.form = Form::Wide;
            block.drain(..2);
        } else if first && self.form != Form::Raw && block.starts_with(&[0xEF, 0xBB, 0xBF]) {
            block.drain(..3);
        }
        if self.form != Form::Wide {
            self.buf.extend_from_slice(&block);
            return Ok(!self.ended);
        }
        self.odd.extend_from_slice(&block);
        let mut units: Vec<u16> =
            self.odd.chunks_exact(2).map(|p| u16::from_le_bytes([p[0], p[1]])).collect();
        let split = units.last().is_some_and(|u| (0xD800..0xDC00).contains(u)) && !self.ended;
        if split {
            units.pop();
        }
        self.odd.drain(..units.len() * 2);
        self.buf.extend_from_slice(String::from_utf16_lossy(&units).as_bytes());
        Ok(!self.ended)
    }

    /// How many bytes of the file such bytes are.
    fn in_file(&self, bytes: &[u8]) -> u64 {
        match self.form {
            Form::Wide => 2 * String::from_utf8_lossy(bytes).encode_utf16().count() as u64,
            _ => bytes.len() as u64,
        }
    }

    /// A row begins here. The first is looked for from the end of what has been read, since a mark of the byte order may stand before it.
    pub(super) fn begin_row(&mut self) {
        if !self.keep_rows {
            return;
        }
        self.offset = match self.offset {
            0 => self.at - self.odd.len() as u64 - self.in_file(&self.buf[self.pos..]),
            before => before + self.in_file(&self.buf[self.row..self.pos]),
        };
        self.row = self.pos;
    }

    /// The offset in the file of the row that is being read, and its bytes so far. Of kept rows only.
    pub(super) fn row(&self) -> (u64, &[u8]) {
        (self.offset, &self.buf[self.row..self.pos])
    }

    /// Whether the file is in UTF-16.
    pub(super) fn is_wide(&self) -> bool {
        self.form == Form::Wide
    }

    /// Moves behind the next `terminator`; the bytes before it go to `out`. One that ends a line, and says more than that, may end it in either way.
    pub(super) fn until(&mut self, terminator: &[u8], out: &mut Vec<u8>) -> Result<End> {
        let line = terminator.len() > 1 && terminator.ends_with(b"\n") && !terminator.ends_with(b"\r\n");
        let wanted = if line { &terminator[..terminator.len() - 1] } else { terminator };
        let mut from = self.pos;
        loop {
            let found = find(&self.buf[from..], wanted).map(|i| from + i);
            if let Some(at) = found {
                let behind = &self.buf[at + wanted.len()..];
                let end = match behind {
                    _ if !line => Some(0),
                    [b'\n', ..] => Some(1),
                    [b'\r', b'\n', ..] => Some(2),
                    // The rest of it may not have been read yet.
                    [] | [b'\r'] if !self.ended => {
                        let ahead = at - self.pos;
                        self.more()?;
                        from = self.pos + ahead;
                        continue;
                    }
                    _ => None,
                };
                let Some(end) = end else {
                    from = at + 1;
                    continue;
                };
                out.extend_from_slice(&self.buf[self.pos..at]);
                self.pos = at + wanted.len() + end;
                return Ok(End::Found);
            }
            let seen = (self.buf.len() - self.pos).saturating_sub(wanted.len() - 1);
            if !self.more()? && self.ended {
                out.extend_from_slice(&self.buf[self.pos..]);
                self.pos = self.buf.len();
                return Ok(End::File);
            }
            from = self.pos + seen;
        }
    }

    /// Moves behind the next `terminator`, exactly as it is, at a multiple of `step` bytes from here; the bytes before it go to `out`.
    pub(super) fn until_exactly(&mut self, terminator: &[u8], step: usize, out: &mut Vec<u8>) -> Result<End> {
        let mut seen = 0;
        loop {
            let ahead = &self.buf[self.pos..];
            while let Some(found) = find(&ahead[seen..], terminator).map(|at| seen + at) {
                if found % step == 0 {
                    out.extend_from_slice(&ahead[..found]);
                    self.pos += found + terminator.len();
                    return Ok(End::Found);
                }
                seen = found + 1;
            }
            seen = seen.max((ahead.len() + 1).saturating_sub(terminator.len()));
            if !self.more()? && self.ended {
                out.extend_from_slice(&self.buf[self.pos..]);
                self.pos = self.buf.len();
                return Ok(End::File);
            }
        }
    }

    /// The next `count` bytes; false when the file has no more so many.
    pub(super) fn take(&mut self, count: usize, out: &mut Vec<u8>) -> Result<bool> {
        let ahead = self.buf.len() - self.pos;
        // What a damaged length asks for is not read into memory to find that it is not there.
        if count > ahead
            && self.file.len().is_ok_and(|all| (count - ahead) as u64 > all.saturating_sub(self.at))
        {
            return Ok(false);
        }
        while self.buf.len() - self.pos < count && (self.more()? || !self.ended) {}
        let Some(bytes) = self.buf[self.pos..].get(..count) else { return Ok(false) };
        out.extend_from_slice(bytes);
        self.pos += count;
        Ok(true)
    }

    /// Whether `text` comes next; it is passed over then.
    pub(super) fn eat(&mut self, text: &[u8]) -> Result<bool> {
        while self.buf.len() - self.pos < text.len() && self.more()? {}
        let here = self.buf[self.pos..].starts_with(text);
        if here {
            self.pos += text.len();
        }
        Ok(here)
    }

    pub(super) fn at_end(&mut self) -> Result<bool> {
        while self.pos == self.buf.len() {
            if !self.more()? && self.ended {
                return Ok(self.pos == self.buf.len());
            }
        }
        Ok(false)
    }
}

pub(super) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let first = *what.first()?;
    let mut from = 0;
    while let Some(i) = bytes[from..].iter().position(|b| *b == first) {
        if bytes[from + i..].starts_with(what) {
            return Some(from + i);
        }
        from += i + 1;
    }
    None
}
