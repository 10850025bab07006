//! Numbers and lengths as they lie in seeding chunks and in backups: little-endian, lengths of four bytes. What is read came from
//! elsewhere, so nothing is taken that is not there.

/// A length as it is written.
pub(crate) fn length(n: usize) -> u32 {
    u32::try_from(n).expect("keys, rows and lists are far below 4 GB")
}

/// Bytes that came from elsewhere, taken from the front.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(front)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// What stands behind its length.
    pub(crate) fn sized(&mut self) -> Option<&'a [u8]> {
        let n = self.u32()?;
        self.take(n as usize)
    }
}
