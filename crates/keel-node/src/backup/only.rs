//! The set of a file that has one, found from the file's two ends: what lies between may be far away.

use super::frames::{Kind, Reader};
use super::{BackupSet, content_of, decode_end};
use crate::error::DbError;
use keel_base::env::File;

/// The only set of a file: its first frame and its last, and nothing between them is read. `stored` says of a label how many bytes its
/// set has before its end. `None` when the file does not end with the end of the set that it begins with: then it is
/// for [`super::sets`] to find out what is in it.
///
/// # Errors
/// Those of the file, and [`DbError::Corrupt`] for frames that are damaged.
pub fn only_set(
    file: &dyn File,
    stored: &dyn Fn(&[u8]) -> Option<u64>,
) -> Result<Option<BackupSet>, DbError> {
    let mut reader = Reader::at(file, 0, None)?;
    let Some(head) = reader.head()? else { return Ok(None) };
    let content = content_of(&mut reader, &head)?;
    let Some(at) = reader.last_frame()? else { return Ok(None) };
    reader.at = at;
    let end = match reader.head()? {
        Some(head) if head.kind == Kind::End => decode_end(&reader.payload(&head)?),
        _ => None,
    };
    let Some((last, bytes, label)) = end else { return Ok(None) };
    let alone = stored(&label) == Some(at);
    Ok(alone.then_some(BackupSet { at: 0, end: reader.at, content, last, bytes, label, key: None }))
}
