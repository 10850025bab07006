//! Memory for pages: frames in large slabs, shared by counting.
//!
//! A point read touches a handful of cache lines in one random page, and with 4 KB memory pages each of them costs a
//! walk of the translation tables on top. So frames are cut from 2 MB slabs that the kernel is asked to back with
//! huge pages (a quarter more point reads per second on a gigabyte of pages), and the reference count lies in front
//! of the page's own header, in the line that every visit touches.
//!
//! ```text
//! slab (2 MB, aligned):  | header: used, first free | frame 0 | frame 1 | … | frame 253 |
//! frame (8256 bytes):    | references, frequency | page bytes | known children |
//! ```
//!
//! Free frames of a slab are linked through their first bytes. Slabs without used frames go back to the
//! operating system, but for a few kept in reserve. One lock guards all slabs: frames come and go with reads from the
//! disk and with merges, not with look-ups.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use parking_lot::Mutex;

use super::page::Page;

const SLAB_BYTES: usize = 2 << 20;
const SLAB_HEADER: usize = 64;
const FRAMES: usize = (SLAB_BYTES - SLAB_HEADER) / size_of::<Page>();

/// Slabs without used frames that are kept: a chunk of a merge gives back about as many pages as the next one needs.
const EMPTY_MAX: usize = 8;

const _: () = assert!(size_of::<Page>() == 8256, "what the picture above says");
const _: () = assert!(size_of::<SlabHeader>() <= SLAB_HEADER && align_of::<Page>() <= SLAB_HEADER);

/// A counted reference to a page in memory, like an `Arc`.
pub(super) struct PagePin(NonNull<Page>);

// SAFETY: a Page is Sync (its mutable parts are atomics and a OnceLock of Sync content), and the count is atomic.
unsafe impl Send for PagePin {}
// SAFETY: as above.
unsafe impl Sync for PagePin {}

impl PagePin {
    /// A new page, not yet shared: `make` writes it into the memory it is given, whose bytes are initialised but
    /// arbitrary.
    pub fn new(make: impl FnOnce(NonNull<Page>)) -> PagePin {
        let frame = SLABS.lock().take();
        make(frame);
        PagePin(frame)
    }

    /// The page, as long as this is its only reference.
    pub fn get_mut(&mut self) -> Option<&mut Page> {
        if self.references().load(Ordering::Acquire) != 1 {
            return None;
        }
        // SAFETY: the pointer is valid while the reference lives, and this is the only one: nobody else can make
        // another, because that takes one.
        Some(unsafe { self.0.as_mut() })
    }

    fn references(&self) -> &AtomicUsize {
        &self.references
    }
}

impl Deref for PagePin {
    type Target = Page;

    #[inline]
    fn deref(&self) -> &Page {
        // SAFETY: the frame holds an initialised Page until the last reference is gone, and this is one.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for PagePin {
    #[inline]
    fn clone(&self) -> PagePin {
        let before = self.references().fetch_add(1, Ordering::Relaxed);
        assert!(before < usize::MAX / 2, "references are leaked in a loop");
        PagePin(self.0)
    }
}

impl Drop for PagePin {
    #[inline]
    fn drop(&mut self) {
        if self.references().fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            self.release();
        }
    }
}

impl PagePin {
    #[cold]
    fn release(&mut self) {
        // SAFETY: the last reference is gone, so nobody reads the page any more; it is dropped once, here, before its
        // frame is handed back.
        unsafe { self.0.drop_in_place() };
        SLABS.lock().give_back(self.0);
    }
}

static SLABS: Mutex<Slabs> = Mutex::new(Slabs { open: Vec::new(), empty: 0 });

struct Slabs {
    /// Slabs with free frames.
    open: Vec<NonNull<SlabHeader>>,
    /// How many of them have no used frame.
    empty: usize,
}

// SAFETY: the pointers are owned by this structure, which is only reached through the mutex.
unsafe impl Send for Slabs {}

struct SlabHeader {
    used: usize,
    first_free: Option<NonNull<FreeFrame>>,
    /// Frames never handed out so far begin here; they are not linked.
    untouched: usize,
    /// Index in `Slabs::open`, while there.
    place: usize,
}

struct FreeFrame {
    next: Option<NonNull<FreeFrame>>,
}

impl Slabs {
    fn take(&mut self) -> NonNull<Page> {
        if self.open.is_empty() {
            self.add(map_slab());
            self.empty += 1;
        }
        let slab = *self.open.last().expect("one was added if there was none");
        // SAFETY: slabs in `open` are mapped and their headers initialised; the lock makes us the only user.
        let header = unsafe { &mut *slab.as_ptr() };
        let frame = match header.first_free {
            Some(free) => {
                // SAFETY: a linked frame is free, mapped, and begins with an initialised FreeFrame.
                header.first_free = unsafe { free.as_ref().next };
                free.cast()
            }
            None => {
                header.untouched += 1;
                // SAFETY: the slab is open, so a frame is untouched if none is linked: the address is inside it.
                unsafe { slab.byte_add(SLAB_HEADER + (header.untouched - 1) * size_of::<Page>()).cast() }
            }
        };
        self.empty -= usize::from(header.used == 0);
        header.used += 1;
        if header.used == FRAMES {
            self.open.pop();
        }
        frame
    }

    fn give_back(&mut self, frame: NonNull<Page>) {
        let offset = frame.addr().get() % SLAB_BYTES;
        // SAFETY: frames lie in slabs aligned to their size, so the slab begins `offset` bytes before.
        let slab: NonNull<SlabHeader> = unsafe { frame.byte_sub(offset).cast() };
        // SAFETY: the slab is mapped as long as one of its frames is used; the lock makes us the only user.
        let header = unsafe { &mut *slab.as_ptr() };
        let free: NonNull<FreeFrame> = frame.cast();
        // SAFETY: the frame is no page any more, is large enough and aligned.
        unsafe { free.write(FreeFrame { next: header.first_free }) };
        header.first_free = Some(free);
        header.used -= 1;
        if header.used == FRAMES - 1 {
            self.add(slab);
        } else if header.used == 0 && self.empty < EMPTY_MAX {
            self.empty += 1;
        } else if header.used == 0 {
            let place = header.place;
            self.open.swap_remove(place);
            if let Some(moved) = self.open.get(place) {
                // SAFETY: as for `header`; `moved` is another slab.
                unsafe { (*moved.as_ptr()).place = place };
            }
            unmap_slab(slab);
        }
    }

    fn add(&mut self, slab: NonNull<SlabHeader>) {
        // SAFETY: the slab is mapped and its header initialised; the lock makes us the only user.
        unsafe { (*slab.as_ptr()).place = self.open.len() };
        self.open.push(slab);
    }
}

/// Memory for a slab, zeroed, aligned to its size.
fn map_slab() -> NonNull<SlabHeader> {
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing that exists.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            2 * SLAB_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        std::alloc::handle_alloc_error(slab_layout());
    }
    let front = address.addr().next_multiple_of(SLAB_BYTES) - address.addr();
    let slab = address.wrapping_byte_add(front);
    // SAFETY: both ranges are the parts of the mapping made above that lie outside the aligned slab; a length of zero is
    // refused by the kernel without effect. The advice concerns the slab only and changes no content.
    unsafe {
        if front > 0 {
            libc::munmap(address, front);
        }
        libc::munmap(slab.wrapping_byte_add(SLAB_BYTES), SLAB_BYTES - front);
        #[cfg(target_os = "linux")]
        libc::madvise(slab, SLAB_BYTES, libc::MADV_HUGEPAGE);
    }
    let header = NonNull::new(slab.cast::<SlabHeader>()).expect("the kernel maps nothing at address zero");
    // SAFETY: the memory is ours, large enough and aligned.
    unsafe { header.write(SlabHeader { used: 0, first_free: None, untouched: 0, place: 0 }) };
    header
}

fn unmap_slab(slab: NonNull<SlabHeader>) {
    // SAFETY: the slab was mapped by `map_slab`, none of its frames is used, and `Slabs` has forgotten it.
    unsafe { libc::munmap(slab.as_ptr().cast(), SLAB_BYTES) };
}

fn slab_layout() -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(SLAB_BYTES, SLAB_BYTES).expect("a power of two")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(fill: u8) -> PagePin {
        let made: Result<_, ()> = Page::with_bytes(|bytes| {
            bytes.fill(fill);
            Ok(())
        });
        made.expect("fills")
    }

    #[test]
    fn frames_keep_their_bytes_and_slabs_come_and_go() {
        for round in 0..3 {
            let mut pages: Vec<PagePin> = (0..3 * FRAMES).map(|i| page((i + round) as u8)).collect();
            for (i, page) in pages.iter().enumerate() {
                assert!(page.bytes().iter().all(|&b| b == (i + round) as u8));
            }
            let kept: Vec<PagePin> = pages.iter().step_by(7).cloned().collect();
            pages.retain(|page| page.bytes()[0] % 2 == 0);
            let again: Vec<PagePin> = (0..FRAMES).map(|_| page(200)).collect();
            for (i, page) in kept.iter().enumerate() {
                assert!(page.bytes().iter().all(|&b| b == (7 * i + round) as u8));
            }
            drop(pages);
            assert!(again.iter().all(|page| page.bytes()[8191] == 200));
        }
    }

    #[test]
    fn only_a_sole_reference_may_change_the_page() {
        let mut one = page(1);
        assert!(one.get_mut().is_some());
        let two = one.clone();
        assert!(one.get_mut().is_none());
        drop(one);
        assert_eq!(two.bytes()[0], 1);
    }

    #[test]
    fn references_pass_between_threads() {
        let shared = page(9);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let mut mine = shared.clone();
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        mine = mine.clone();
                        let other = page(3);
                        assert_eq!((mine.bytes()[100], other.bytes()[100]), (9, 3));
                    }
                });
            }
        });
        assert_eq!(shared.bytes()[8000], 9);
    }
}
