//! A growing byte buffer at an address that direct writes accept.

use keel_base::env::DIRECT_ALIGN;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Like `Vec<u8>`, but its first byte lies on a multiple of [`DIRECT_ALIGN`].
pub(crate) struct AlignedBytes {
    start: NonNull<u8>,
    len: usize,
    /// 0, or the size of the allocation at `start`.
    capacity: usize,
}

const CAPACITY_MIN: usize = 64 << 10;

// SAFETY: the bytes are owned like a vector's.
unsafe impl Send for AlignedBytes {}
// SAFETY: shared access only reads.
unsafe impl Sync for AlignedBytes {}

impl Default for AlignedBytes {
    fn default() -> Self {
        AlignedBytes { start: NonNull::dangling(), len: 0, capacity: 0 }
    }
}

fn layout(capacity: usize) -> Layout {
    Layout::from_size_align(capacity, DIRECT_ALIGN).expect("a capacity is far below the address space")
}

impl AlignedBytes {
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Bytes that fit without another allocation.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Gives memory back beyond `capacity`; only when empty.
    pub(crate) fn shrink_to(&mut self, capacity: usize) {
        if self.len == 0 && self.capacity > capacity {
            *self = AlignedBytes::default();
        }
    }

    pub(crate) fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        // SAFETY: `reserve` made room for `bytes` after the first `len` bytes, which no `&[u8]` can overlap while
        // `self` is borrowed exclusively.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(self.len), bytes.len());
        }
        self.len += bytes.len();
    }

    /// Appends zeros up to `len` bytes.
    pub(crate) fn extend_to(&mut self, len: usize) {
        let more = len.checked_sub(self.len).expect("the buffer only grows");
        self.reserve(more);
        // SAFETY: as above.
        unsafe {
            std::ptr::write_bytes(self.start.as_ptr().add(self.len), 0, more);
        }
        self.len = len;
    }

    fn reserve(&mut self, more: usize) {
        let needed = self.len + more;
        if needed > self.capacity {
            self.grow(needed.max(self.capacity * 2).max(CAPACITY_MIN));
        }
    }

    #[cold]
    fn grow(&mut self, capacity: usize) {
        // SAFETY: the size is not zero.
        let fresh = unsafe { alloc(layout(capacity)) };
        let Some(fresh) = NonNull::new(fresh) else { handle_alloc_error(layout(capacity)) };
        // SAFETY: the new allocation holds at least `len` bytes and is another one than the old.
        unsafe {
            std::ptr::copy_nonoverlapping(self.start.as_ptr(), fresh.as_ptr(), self.len);
        }
        self.free();
        (self.start, self.capacity) = (fresh, capacity);
    }

    fn free(&mut self) {
        if self.capacity > 0 {
            // SAFETY: allocated with this layout in `grow`.
            unsafe { dealloc(self.start.as_ptr(), layout(self.capacity)) }
        }
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the first `len` bytes are written; when nothing is allocated, `len` is 0 and `start` dangles.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for AlignedBytes {
    fn drop(&mut self) {
        self.free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_vector_on_an_aligned_address() {
        let mut bytes = AlignedBytes::default();
        let mut model: Vec<u8> = Vec::new();
        assert!(bytes.is_empty());
        for n in 0..300usize {
            let part: Vec<u8> = (0..n * 7).map(|i| (i * n) as u8).collect();
            bytes.extend_from_slice(&part);
            model.extend_from_slice(&part);
            let padded = model.len().next_multiple_of(512);
            bytes.extend_to(padded);
            model.resize(padded, 0);
            assert!(bytes.is_empty() || (bytes.as_ptr() as usize).is_multiple_of(DIRECT_ALIGN));
        }
        bytes[5] = 9;
        model[5] = 9;
        assert!(bytes[..] == model[..]);
        bytes.clear();
        bytes.shrink_to(0);
        bytes.extend_from_slice(b"again");
        assert_eq!(&bytes[..], b"again");
    }
}
