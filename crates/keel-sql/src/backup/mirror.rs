//! `MIRROR TO`: a device and its copies, written as one.

use super::errors;
use keel_base::env::File;
use keel_types::error::Result;
use std::io;
use std::sync::Arc;

/// Mirrors of a statement at most.
pub(super) const MIRRORS_MAX: usize = 3;
/// What is compared at the end of a device and its copies.
const END_BYTES: u64 = 64 << 10;

/// A device with its copies. All are written, the first is read.
pub(super) struct Mirrored(Vec<(String, Arc<dyn File>)>);

impl Mirrored {
    /// Of files with their paths, that of the TO clause first. Unless they are to be begun anew, they have the same in them.
    ///
    /// # Errors
    /// 3215 when all are empty and not begun anew, 3240 when they are not the same.
    pub(super) fn new(files: Vec<(String, Arc<dyn File>)>, format: bool) -> Result<Mirrored> {
        let (device, first) = &files[0];
        let failed = |e| errors::cannot_read(device, e);
        if !format && first.is_empty().map_err(failed)? {
            return Err(errors::mirrors_need_format());
        }
        for (_, other) in &files[1..] {
            if !format && !ends_alike(&**first, &**other).map_err(failed)? {
                return Err(errors::mirrors_differ());
            }
        }
        Ok(Mirrored(files))
    }

    fn each(&self, act: impl Fn(&dyn File) -> io::Result<()>) -> io::Result<()> {
        self.0.iter().try_for_each(|(path, file)| {
            act(&**file).map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))
        })
    }

    fn first(&self) -> &dyn File {
        &*self.0[0].1
    }
}

/// The last set's end has what no other set has.
fn ends_alike(one: &dyn File, other: &dyn File) -> io::Result<bool> {
    let len = one.len()?;
    if other.len()? != len {
        return Ok(false);
    }
    let at = len.saturating_sub(END_BYTES);
    let mut ends = [vec![0; (len - at) as usize], vec![0; (len - at) as usize]];
    for (file, end) in [one, other].into_iter().zip(&mut ends) {
        if file.read_at(end, at)? != end.len() {
            return Ok(false);
        }
    }
    Ok(ends[0] == ends[1])
}

impl File for Mirrored {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        self.first().read_at(bytes, at)
    }
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.each(|file| file.write_at(bytes, at))
    }
    fn sync_data(&self) -> io::Result<()> {
        self.each(|file| file.sync_data())
    }
    fn sync_all(&self) -> io::Result<()> {
        self.each(|file| file.sync_all())
    }
    fn len(&self) -> io::Result<u64> {
        self.first().len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.each(|file| file.set_len(len))
    }
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.each(|file| file.allocate(len))
    }
}
