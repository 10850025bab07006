//! The process' allocator: mimalloc, asked for aligned memory only where its blocks are not aligned anyway.
//!
//! Blocks lie at multiples of a word, and from two words on of two. So rows, keys and nearly everything else take mimalloc's
//! shortest way. The wrapper crate asks for an alignment each time, which is looked at each time.
//!
//! Memory lies on the system's huge pages. Giving back a part of one breaks it: what is taken again later is taken in pages of
//! 4 KB, each by a fault of its own, and stays on those. A server does that all the time: a checkpoint frees rows here and
//! there, and the next ones take their places. So it gives back whole huge pages only ([`keep_huge_pages_whole`]).

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_long};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};

/// Multiples of this are where every block begins.
const WORD: usize = size_of::<usize>();

// SAFETY: the signatures are those of mimalloc.h. The crate declares them too, with a dependency more, but does not name the option.
unsafe extern "C" {
    fn mi_option_set_default(option: c_int, value: c_long);
    fn mi_option_set(option: c_int, value: c_long);
    #[cfg(test)]
    fn mi_option_get(option: c_int) -> c_long;
}

/// mimalloc's option `purge_delay`, in milliseconds, and what it is by itself.
const PURGE_DELAY: c_int = 15;
const PURGE_DELAY_MS: c_long = 1_000;
/// Nothing goes back.
const NEVER: c_long = -1;
/// mimalloc's option `minimal_purge_size`, in KiB.
const MINIMAL_PURGE_SIZE: c_int = 44;
/// KiB of a huge page on x86-64, and on other processors with base pages of 4 KB.
const HUGE_PAGE_KIB: c_long = 2_048;

/// From now on freed memory goes back to the system in whole huge pages only, unless `MIMALLOC_MINIMAL_PURGE_SIZE` says else.
pub fn keep_huge_pages_whole() {
    // SAFETY: the option is one that mimalloc has; setting it is for any thread at any time.
    unsafe { mi_option_set_default(MINIMAL_PURGE_SIZE, HUGE_PAGE_KIB) };
}

/// From now on freed memory is kept, or goes back to the system after a second again, whatever `MIMALLOC_PURGE_DELAY` says; what is
/// free at that time stays as it is.
pub fn keep_what_is_freed(keep: bool) {
    // SAFETY: as above.
    unsafe { mi_option_set(PURGE_DELAY, if keep { NEVER } else { PURGE_DELAY_MS }) };
}

/// mimalloc.
pub struct Allocator;

/// Whether a block of so many bytes is aligned so without being asked.
#[inline]
fn is_natural(bytes: usize, align: usize) -> bool {
    align <= WORD || (align <= 2 * WORD && bytes >= 2 * WORD)
}

// SAFETY: mimalloc gives blocks that overlap no other, are as long as asked for, and as aligned as asked for or as said in
// `is_natural`; it gives null when it cannot, and what one of its functions has given another takes back.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (bytes, align) = (layout.size(), layout.align());
        // SAFETY: both may be called with any size, and the second with any power of two.
        unsafe {
            if is_natural(bytes, align) { mi_malloc(bytes) } else { mi_malloc_aligned(bytes, align) }.cast()
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (bytes, align) = (layout.size(), layout.align());
        // SAFETY: as in `alloc`.
        unsafe {
            if is_natural(bytes, align) { mi_zalloc(bytes) } else { mi_zalloc_aligned(bytes, align) }.cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller has it from here, and gives it back once.
        unsafe { mi_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let align = layout.align();
        // SAFETY: the caller has the block from here; the rest as in `alloc`.
        unsafe {
            if is_natural(bytes, align) {
                mi_realloc(block.cast(), bytes)
            } else {
                mi_realloc_aligned(block.cast(), bytes, align)
            }
            .cast()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_those_that_mimalloc_calls_so() {
        const SIZE: &str = "MIMALLOC_MINIMAL_PURGE_SIZE";
        const DELAY: &str = "MIMALLOC_PURGE_DELAY";
        // SAFETY: it reads a setting.
        let now = |option| unsafe { mi_option_get(option) };
        if std::env::var_os(SIZE).is_some() {
            keep_huge_pages_whole();
            assert_eq!(now(MINIMAL_PURGE_SIZE), 8_192, "what the environment says stays");
            assert_eq!(now(PURGE_DELAY), 77);
            return;
        }
        // The environment is read when a process begins.
        let itself = std::env::current_exe().unwrap();
        let test = "allocator::tests::the_options_are_those_that_mimalloc_calls_so";
        let mut child = std::process::Command::new(itself);
        let child = child.args([test, "--exact"]).env(SIZE, "8MiB").env(DELAY, "77").output().unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        assert_eq!((now(MINIMAL_PURGE_SIZE), now(PURGE_DELAY)), (0, PURGE_DELAY_MS));
        keep_huge_pages_whole();
        assert_eq!(now(MINIMAL_PURGE_SIZE), HUGE_PAGE_KIB);
        keep_what_is_freed(true);
        assert_eq!(now(PURGE_DELAY), NEVER);
        keep_what_is_freed(false);
        assert_eq!(now(PURGE_DELAY), PURGE_DELAY_MS);
    }

    #[test]
    fn blocks_are_aligned_as_asked_and_keep_their_bytes_when_they_grow() {
        for align in [1usize, 2, 4, 8, 16, 32, 64, 4096] {
            for bytes in [1usize, 7, 8, 9, 15, 16, 17, 24, 100, 1000, 5000, 70_000] {
                let layout = Layout::from_size_align(bytes, align).unwrap();
                // SAFETY: each block is used within its layout, and given back once with the layout that it has then.
                unsafe {
                    let zeroed = Allocator.alloc_zeroed(layout);
                    let mut block = Allocator.alloc(layout);
                    for block in [zeroed, block] {
                        assert!(!block.is_null() && block.addr().is_multiple_of(align), "{bytes} at {align}");
                    }
                    assert!(std::slice::from_raw_parts(zeroed, bytes).iter().all(|b| *b == 0));
                    block.write_bytes(0xA5, bytes);
                    block = Allocator.realloc(block, layout, bytes * 3);
                    assert!(block.addr().is_multiple_of(align), "{bytes} at {align}, grown");
                    assert!(std::slice::from_raw_parts(block, bytes).iter().all(|b| *b == 0xA5));
                    Allocator.dealloc(block, Layout::from_size_align(bytes * 3, align).unwrap());
                    Allocator.dealloc(zeroed, layout);
                }
            }
        }
    }
}
