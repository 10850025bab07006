//! A file as one value: what `OPENROWSET (BULK 'file', SINGLE_CLOB)`, `SINGLE_NCLOB` and `SINGLE_BLOB` read.

use super::{SystemView, TEXT, ViewContext, text};
use keel_base::env::OpenMode;
use keel_types::{Length, SqlError, SqlType, Value};
use std::path::Path;

type Rows = Vec<Vec<Value>>;

/// Longest value of a max type, bytes.
const BYTES_MAX: u64 = (1 << 31) - 1;

const fn reader(
    name: &'static str,
    columns: &'static [super::Column],
    rows: fn(&ViewContext<'_>) -> Rows,
) -> SystemView {
    SystemView { schema: "sys", name, columns, rows }
}

pub(super) static VIEWS: &[SystemView] = &[
    reader("fn_keel_single_clob", &[("BulkColumn", SqlType::VarChar(Length::Max))], |cx| {
        one(cx, |bytes, _| Ok(text(characters(&bytes))))
    }),
    reader("fn_keel_single_nclob", &[("BulkColumn", TEXT)], |cx| one(cx, wide)),
    reader("fn_keel_single_blob", &[("BulkColumn", SqlType::VarBinary(Length::Max))], |cx| {
        one(cx, |bytes, _| Ok(Value::bytes(bytes)))
    }),
];

type Error = Box<SqlError>;

fn error(number: i32, message: String) -> Error {
    SqlError::new(number, 16, 1, message)
}

/// The row of a file.
fn one(cx: &ViewContext<'_>, value: fn(Vec<u8>, &str) -> Result<Value, Error>) -> Rows {
    let Some(name) = cx.args.first().and_then(Value::as_str) else { return Vec::new() };
    match read(cx, name).and_then(|bytes| value(bytes, name)) {
        Ok(value) => vec![vec![value]],
        Err(e) => {
            cx.fail(e);
            Vec::new()
        }
    }
}

fn read(cx: &ViewContext<'_>, name: &str) -> Result<Vec<u8>, Error> {
    if !cx.info.may_on_server("ADMINISTER BULK OPERATIONS") {
        return Err(error(4834, "You do not have permission to use the bulk load statement.".to_owned()));
    }
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => error(
            4860,
            format!(
                "Cannot bulk load. The file \"{name}\" does not exist or you don't have file access rights."
            ),
        ),
        _ => error(
            4861,
            format!(
                "Cannot bulk load because the file \"{name}\" could not be read. Operating system error: {e}."
            ),
        ),
    };
    let file = cx.engine.options().env.disk.open(Path::new(name), OpenMode::Read).map_err(failed)?;
    let length = file.len().map_err(failed)?;
    if length > BYTES_MAX {
        return Err(error(
            4861,
            format!("Cannot bulk load because the file \"{name}\" is longer than a value may be."),
        ));
    }
    let mut bytes = vec![0; length as usize];
    let read = file.read_at(&mut bytes, 0).map_err(failed)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// UTF-8, with or without its mark; what is not is Windows-1252.
fn characters(bytes: &[u8]) -> String {
    let bytes = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

/// UTF-16 with its mark.
fn wide(bytes: Vec<u8>, name: &str) -> Result<Value, Error> {
    let Some(units) = bytes.strip_prefix(&[0xFF, 0xFE]) else {
        let message = format!(
            "SINGLE_NCLOB requires a UNICODE (widechar) input file. The file \"{name}\" is not Unicode."
        );
        return Err(error(4809, message));
    };
    Ok(text(encoding_rs::UTF_16LE.decode_without_bom_handling(units).0.into_owned()))
}
