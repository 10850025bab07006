//! ERRORFILE: the rows that could not be converted, as they stand in the data file, and beside them which they were and why.

use super::{Info, failed};
use keel_base::env::{File, OpenMode};
use keel_types::SqlError;
use keel_types::error::Result;
use std::path::Path;
use std::sync::Arc;

/// One of the two files, written to its end.
struct Growing {
    file: Arc<dyn File>,
    name: String,
    written: u64,
}

impl Growing {
    /// Error 4861 when it is there already, or cannot be made.
    fn create(info: &Info, name: String) -> Result<Growing> {
        let disk = Arc::clone(&info.engine.options().env.disk);
        let file = disk.open(Path::new(&name), OpenMode::CreateNew).map_err(|e| {
            let why = match e.kind() {
                std::io::ErrorKind::AlreadyExists => "80(The file exists.)".to_owned(),
                std::io::ErrorKind::NotFound => "3(The system cannot find the path specified.)".to_owned(),
                _ => e.to_string(),
            };
            failed(
                4861,
                format!(
                    "Cannot bulk load because the file \"{name}\" could not be opened. Operating system error code {why}."
                ),
            )
        })?;
        Ok(Growing { file, name, written: 0 })
    }

    fn add(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_at(bytes, self.written).map_err(|e| {
            failed(4861, format!("Cannot bulk load because the file \"{}\" could not be written. Operating system error: {e}.", self.name))
        })?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// The file that ERRORFILE names, and the one that tells about it.
pub(super) struct Rejected {
    rows: Growing,
    log: Growing,
}

impl Rejected {
    /// Makes both: neither may be there (4861).
    pub(super) fn create(info: &Info, name: &str) -> Result<Rejected> {
        let rows = Growing::create(info, name.to_owned())?;
        let log = Growing::create(info, format!("{name}.Error.Txt"))?;
        Ok(Rejected { rows, log })
    }

    /// A row, by its number and its offset in the data file; `wide` writes it in UTF-16, as it stood there.
    pub(super) fn add(
        &mut self,
        row: u64,
        offset: u64,
        bytes: &[u8],
        wide: bool,
        why: &SqlError,
    ) -> Result<()> {
        // What OLE DB calls these errors.
        let result: u32 = match why.number {
            4864 => 0x8002_0005,
            4867 => 0x8002_000A,
            _ => 0x8000_4005,
        };
        let at = self.rows.written;
        self.log.add(
            format!("Row {row} File Offset {offset} ErrorFile Offset {at} - HRESULT {result:#010X}\r\n")
                .replace("0X", "0x")
                .as_bytes(),
        )?;
        if !wide {
            return self.rows.add(bytes);
        }
        let units: Vec<u8> =
            String::from_utf8_lossy(bytes).encode_utf16().flat_map(u16::to_le_bytes).collect();
        self.rows.add(&units)
    }
}
