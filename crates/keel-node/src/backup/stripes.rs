//! Several files as one: a media set of several families, as `TO DISK = …, DISK = …` makes it.
//!
//! # A family's file, by byte
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 4 | magic | `KBST` |
//! | 4 | 2 | families | files of the set, 2 to 64 |
//! | 6 | 2 | number | which of them this is, from 1 |
//! | 8 | 4 | stripe | bytes of a stripe |
//! | 12 | 16 | set | id of the media set |
//! | 28 | 8 | finished | when the newest backup in it was finished, local ticks; 0 before |
//! | 36 | 4 | checksum | CRC32C of what is before |
//! | 4096 | | stripes | stripe `s` of the whole is in family `s % families`, at `s / families` |
//!
//! The whole is what a backup to one file has in it; one file alone has no such header.

use keel_base::env::File;
use std::io;
use std::sync::Arc;

const MAGIC: &[u8; 4] = b"KBST";
const FIELDS_BYTES: usize = 40;
/// Before the stripes.
const HEADER_BYTES: u64 = 4096;
const STRIPE_BYTES: u64 = 256 << 10;
/// Devices of a statement at most.
pub const FAMILIES_MAX: usize = 64;

/// What a family's file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Files of its set.
    pub families: u16,
    /// Which of them it is, from 1.
    pub number: u16,
    /// Id of the media set.
    pub set: [u8; 16],
    /// When the newest backup in it was finished, local ticks; 0 before.
    pub finished: i64,
    stripe: u32,
}

impl Family {
    /// The `number`th (from 1) of `families` files of a new set.
    ///
    /// # Panics
    /// When there are more than 65,535.
    #[must_use]
    pub fn new(families: usize, number: usize, set: [u8; 16]) -> Family {
        let small = |n: usize| u16::try_from(n).expect("there are at most 64");
        let stripe = u32::try_from(STRIPE_BYTES).expect("it is a constant");
        Family { families: small(families), number: small(number), set, finished: 0, stripe }
    }

    /// Of a file; `None` when it is none of several.
    pub fn read(file: &dyn File) -> io::Result<Option<Family>> {
        let mut bytes = [0; FIELDS_BYTES];
        let n = file.read_at(&mut bytes, 0)?;
        Ok(Family::decode(&bytes).filter(|_| n == FIELDS_BYTES))
    }

    fn decode(bytes: &[u8; FIELDS_BYTES]) -> Option<Family> {
        fn at<const N: usize>(bytes: &[u8], from: usize) -> [u8; N] {
            bytes[from..from + N].try_into().expect("the range is as long")
        }
        let whole = u32::from_le_bytes(at(bytes, 36)) == crc32c::crc32c(&bytes[..36]);
        let family = Family {
            families: u16::from_le_bytes(at(bytes, 4)),
            number: u16::from_le_bytes(at(bytes, 6)),
            stripe: u32::from_le_bytes(at(bytes, 8)),
            set: at(bytes, 12),
            finished: i64::from_le_bytes(at(bytes, 28)),
        };
        let sane = (2..=FAMILIES_MAX).contains(&family.families.into())
            && (1..=family.families).contains(&family.number)
            && family.stripe > 0;
        (bytes.starts_with(MAGIC) && whole && sane).then_some(family)
    }

    /// Writes it at the beginning of its file.
    pub fn write(&self, file: &dyn File) -> io::Result<()> {
        let mut bytes = vec![0; HEADER_BYTES as usize];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4..6].copy_from_slice(&self.families.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.stripe.to_le_bytes());
        bytes[12..28].copy_from_slice(&self.set);
        bytes[28..36].copy_from_slice(&self.finished.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..36]);
        bytes[36..40].copy_from_slice(&checksum.to_le_bytes());
        file.write_at(&bytes, 0)
    }
}

/// All families of a set, in their order, as the file that is striped over them.
pub struct Striped {
    files: Vec<Arc<dyn File>>,
    stripe: u64,
}

impl Striped {
    /// `files` with what they say of themselves: all of one set, each once.
    #[must_use]
    pub fn new(mut files: Vec<(Family, Arc<dyn File>)>) -> Striped {
        files.sort_by_key(|(family, _)| family.number);
        let stripe = files.first().map_or(STRIPE_BYTES, |(family, _)| family.stripe.into());
        Striped { files: files.into_iter().map(|(_, file)| file).collect(), stripe }
    }

    /// The file that has a byte of the whole, where there, and how many bytes follow it there.
    fn place(&self, at: u64) -> (usize, u64, u64) {
        let (stripe, within, n) = (at / self.stripe, at % self.stripe, self.files.len() as u64);
        let place = HEADER_BYTES + stripe / n * self.stripe + within;
        ((stripe % n) as usize, place, self.stripe - within)
    }

    /// Bytes of each file when the whole has so many.
    fn lengths(&self, len: u64) -> impl Iterator<Item = (&dyn File, u64)> {
        let (stripe, within, n) = (len / self.stripe, len % self.stripe, self.files.len() as u64);
        self.files.iter().zip(0_u64..).map(move |(file, number)| {
            let last = match number.cmp(&(stripe % n)) {
                std::cmp::Ordering::Less => self.stripe,
                std::cmp::Ordering::Equal => within,
                std::cmp::Ordering::Greater => 0,
            };
            (&**file, HEADER_BYTES + stripe / n * self.stripe + last)
        })
    }
}

impl File for Striped {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            let (file, at, room) = self.place(offset + done as u64);
            let wanted = (buf.len() - done).min(usize::try_from(room).unwrap_or(usize::MAX));
            let n = self.files[file].read_at(&mut buf[done..done + wanted], at)?;
            done += n;
            if n < wanted {
                break;
            }
        }
        Ok(done)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buf.len() {
            let (file, at, room) = self.place(offset + done as u64);
            let n = (buf.len() - done).min(usize::try_from(room).unwrap_or(usize::MAX));
            self.files[file].write_at(&buf[done..done + n], at)?;
            done += n;
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.files.iter().try_for_each(|file| file.sync_data())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.files.iter().try_for_each(|file| file.sync_all())
    }

    fn len(&self) -> io::Result<u64> {
        let n = self.files.len() as u64;
        let mut end = 0;
        for (file, number) in self.files.iter().zip(0..) {
            let bytes = file.len()?.saturating_sub(HEADER_BYTES);
            if let Some(last) = bytes.checked_sub(1) {
                let stripe = last / self.stripe * n + number;
                end = end.max(stripe * self.stripe + last % self.stripe + 1);
            }
        }
        Ok(end)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.lengths(len).try_for_each(|(file, len)| file.set_len(len))
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.lengths(len).try_for_each(|(file, len)| file.allocate(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::SimDisk;
    use keel_base::env::{Disk as _, OpenMode};
    use std::path::Path;

    fn striped(disk: &Arc<SimDisk>, families: usize) -> Striped {
        let file = |number: usize| {
            let path = format!("/{number}");
            let file = disk.open(Path::new(&path), OpenMode::Create).unwrap();
            let family = Family { stripe: 1000, ..Family::new(families, number, [7; 16]) };
            family.write(&*file).unwrap();
            assert_eq!(Family::read(&*file).unwrap(), Some(family));
            (family, file)
        };
        // In whatever order they are named.
        Striped::new((1..=families).rev().map(file).collect())
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 64, ..Default::default() })]
        /// It is a file: what was written is read, wherever the stripes end, and its length is where it ends.
        #[test]
        fn several_files_are_one(families in 2_usize..5, writes in proptest::collection::vec((0_u64..9000, 1_usize..4000), 1..8), cut in 0_u64..9000) {
            let disk = SimDisk::new();
            let file = striped(&disk, families);
            let mut model: Vec<u8> = Vec::new();
            for (n, (at, len)) in writes.into_iter().enumerate() {
                // As backups do: never behind a gap.
                let at = at.min(model.len() as u64);
                let bytes = vec![n as u8 + 1; len];
                file.write_at(&bytes, at).unwrap();
                model.resize(model.len().max(at as usize + len), 0);
                model[at as usize..at as usize + len].copy_from_slice(&bytes);
                proptest::prop_assert_eq!(file.len().unwrap(), model.len() as u64);
            }
            let cut = cut.min(model.len() as u64);
            file.set_len(cut).unwrap();
            model.truncate(cut as usize);
            proptest::prop_assert_eq!(file.len().unwrap(), cut);
            let mut read = vec![0; model.len() + 10];
            let n = file.read_at(&mut read, 0).unwrap();
            proptest::prop_assert_eq!(&read[..n], &model[..]);
        }
    }

    #[test]
    fn what_is_no_family_is_none() {
        let family = Family::new(2, 1, [1; 16]);
        let disk = SimDisk::new();
        let file = disk.open(Path::new("/f"), OpenMode::Create).unwrap();
        assert_eq!(Family::read(&*file).unwrap(), None);
        family.write(&*file).unwrap();
        for byte in 0..FIELDS_BYTES {
            let mut one = [0];
            file.read_at(&mut one, byte as u64).unwrap();
            file.write_at(&[one[0] ^ 0x10], byte as u64).unwrap();
            assert_eq!(Family::read(&*file).unwrap(), None, "byte {byte}");
            file.write_at(&one, byte as u64).unwrap();
        }
        assert_eq!(Family::read(&*file).unwrap(), Some(family));
    }
}
