//! Which pages of the file are free.
//!
//! One bit per page. In memory there are two pictures: **live** pages belong to the newest published root (this is
//! what the file stores), **busy** pages may not be handed out: live ones, those the merge under way has taken, and
//! those that older roots held by readers still reach.
//!
//! On disk the live picture lies in bitmap pages (one per [`GROUP`] pages, half a gigabyte of file) that are written
//! copy-on-write like everything else: a publication rewrites only those whose bits changed, and the directory
//! pages that list them. That bounds what a chunk of a merge pays for its bookkeeping, and opening a file reads
//! 16 MB of bitmap per terabyte. The alternatives lost: a free list written whole grows with the file's
//! fragmentation and is paid per chunk; a walk at open reads every inner page before the first transaction.
//!
//! A bitmap page's body is one bit per page of its group, bit `i % 8` of byte `i / 8`; `n` in its header is zero. A
//! directory page's body is up to [`DIRECTORY_REFS`] references (u64), `n` of them.
//!
//! A page freed by publication `g` is pending until no root older than `g` is alive; the list is kept in order of
//! publication. The superblock of `g` is durable by then, because publishing ends with its sync.
//!
//! **Pinned** pages are those of roots that outlive restarts (module `pin`): the live picture of each pinned publication is
//! kept as it was, and what any of them has stays busy whoever lets it go. A page that only pins had is free when the last
//! of them goes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::page::{BODY, Extent, PageRef, get_u64};

/// Pages one bitmap page speaks for.
pub(super) const GROUP: u32 = (BODY * 8) as u32;
const GROUP_WORDS: usize = BODY / 8;
/// References one directory page holds.
pub(super) const DIRECTORY_REFS: usize = BODY / 8;
/// Superblocks.
const RESERVED: u32 = 2;
/// Pages handed out in a row when they are free: a write of one megabyte.
const RUN_MAX: u32 = 128;
/// Shorter free runs are left alone while longer ones exist, so that writes stay large.
const RUN_MIN: u32 = 8;
/// The file grows by an eighth, within these bounds (256 KB and 64 MB).
const GROW_MIN: u32 = 32;
const GROW_MAX: u32 = 8192;

const _: () = assert!(BODY.is_multiple_of(8), "bitmap pages hold whole words");

/// The space map of one file.
pub(super) struct Space {
    pages: u32,
    live: Vec<u64>,
    busy: Vec<u64>,
    /// Pages below `pages` whose busy bit is clear, per group.
    group_free: Vec<u32>,
    used: u32,
    run: Extent,
    /// Where the search for long runs goes on, and the one for any free page.
    scan_from: u32,
    scan_small_from: u32,
    scan_extent_from: u32,
    dirty: Vec<bool>,
    pub bitmaps: Vec<PageRef>,
    pub directories: Vec<PageRef>,
    pending: VecDeque<(u64, Vec<Extent>)>,
    pins: Vec<PinnedPicture>,
    /// The pages of all pins together.
    pinned: Vec<u64>,
}

/// The pages of one pinned publication.
pub(super) struct PinnedPicture {
    /// Its number in this process.
    pub number: u64,
    /// The publication.
    pub generation: u64,
    /// Its live picture, bookkeeping included.
    pub picture: Arc<Vec<u64>>,
    /// How many of them the newest root does not have any more.
    pub held: Arc<AtomicU64>,
}

/// What a chunk has taken and given back; undone when it fails.
#[derive(Default)]
pub(super) struct Ledger {
    pub taken: Vec<u32>,
    /// Extents taken whole, for large rows.
    pub taken_extents: Vec<Extent>,
    /// Pages of the published root that the new root does not have.
    pub freed: Vec<Extent>,
    /// Pages taken by this chunk and given back by it.
    pub wasted: Vec<Extent>,
    /// Pinned pages that the new root has again, and the published one has not.
    pub revived: Vec<Extent>,
}

/// Adds a page to a list of extents.
fn push_page(extents: &mut Vec<Extent>, page: u32) {
    match extents.last_mut() {
        Some(last) if last.first + last.pages == page => last.pages += 1,
        _ => extents.push(Extent { first: page, pages: 1 }),
    }
}

/// The pages of extents, one by one.
fn pages_of(extents: &[Extent]) -> impl Iterator<Item = u32> + '_ {
    extents.iter().flat_map(|e| e.first..e.first + e.pages)
}

impl Ledger {
    pub fn free(&mut self, page: u32) {
        push_page(&mut self.freed, page);
    }

    /// Everything this chunk has taken.
    pub fn all_taken(&self) -> impl Iterator<Item = Extent> + '_ {
        let single = self.taken.iter().map(|&first| Extent { first, pages: 1 });
        single.chain(self.taken_extents.iter().copied())
    }
}

/// Where a publication puts its bookkeeping.
pub(super) struct Plan {
    /// (group, new page) of each bitmap page to write.
    pub bitmaps: Vec<(usize, u32)>,
    pub directories: Vec<u32>,
}

impl Space {
    /// A file that holds nothing but superblocks.
    pub fn empty() -> Space {
        let mut space = Space {
            pages: 0,
            live: Vec::new(),
            busy: Vec::new(),
            group_free: Vec::new(),
            used: 0,
            run: Extent { first: 0, pages: 0 },
            scan_from: RESERVED,
            scan_small_from: RESERVED,
            scan_extent_from: RESERVED,
            dirty: Vec::new(),
            bitmaps: Vec::new(),
            directories: Vec::new(),
            pending: VecDeque::new(),
            pins: Vec::new(),
            pinned: Vec::new(),
        };
        space.set_pages(RESERVED);
        for page in 0..RESERVED {
            space.set_live(page, true);
            space.take(page);
        }
        space
    }

    /// A file of this length of which nothing is known to be used yet, and whose map is all to be written.
    pub fn with_pages(pages: u32) -> Space {
        let mut space = Space::empty();
        space.set_pages(pages.max(RESERVED));
        space
    }

    /// Notes that the published root reaches a page; false when it is outside the file or was noted before.
    pub fn mark_used(&mut self, page: u32) -> bool {
        if page >= self.pages || bit(&self.busy, page) {
            return false;
        }
        self.set_live(page, true);
        self.take(page);
        true
    }

    /// What a pinned publication has, for the checker: nothing is handed out of it or given back to it.
    pub fn of_pin(pages: u32, picture: &[u64], bitmaps: Vec<PageRef>, directories: Vec<PageRef>) -> Space {
        Space { pages, live: picture.to_vec(), bitmaps, directories, ..Space::empty() }
    }

    /// The picture that bitmap pages hold; `bodies` in group order. `None` when it contradicts the page count.
    pub fn load(
        pages: u32,
        bodies: &[Vec<u8>],
        bitmaps: Vec<PageRef>,
        directories: Vec<PageRef>,
    ) -> Option<Space> {
        if pages < RESERVED || bodies.len() != groups(pages) {
            return None;
        }
        let mut space = Space::empty();
        space.set_pages(pages);
        for (group, body) in bodies.iter().enumerate() {
            for word in 0..GROUP_WORDS.min(body.len() / 8) {
                space.live[group * GROUP_WORDS + word] = get_u64(body, 8 * word);
            }
        }
        let beyond = (pages..groups(pages) as u32 * GROUP).any(|page| bit(&space.live, page));
        if beyond || (0..RESERVED).any(|page| !bit(&space.live, page)) {
            return None;
        }
        space.busy.clone_from(&space.live);
        space.used = space.live.iter().map(|word| word.count_ones()).sum();
        for group in 0..groups(pages) {
            let busy: u32 =
                space.busy[group * GROUP_WORDS..][..GROUP_WORDS].iter().map(|w| w.count_ones()).sum();
            let size = (pages - group as u32 * GROUP).min(GROUP);
            space.group_free[group] = size.checked_sub(busy)?;
        }
        space.dirty.fill(false);
        (space.bitmaps, space.directories) = (bitmaps, directories);
        Some(space)
    }

    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Every bitmap page is written anew with the next publication.
    pub fn rewrite_all(&mut self) {
        self.dirty.fill(true);
    }

    /// Pages of the published root, bookkeeping and superblocks included.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Pages that may be handed out now.
    pub fn free(&self) -> u32 {
        self.group_free.iter().sum()
    }

    /// A copy of the live picture, for the checker.
    pub fn live_picture(&self) -> Vec<u64> {
        self.live.clone()
    }

    /// Looks for free runs from the front of the file again, so that its end empties.
    pub fn rewind(&mut self) {
        (self.scan_from, self.scan_small_from, self.scan_extent_from) = (RESERVED, RESERVED, RESERVED);
        self.run.pages = 0;
    }

    /// Hands out one page; `None` when the file has to grow.
    pub fn alloc(&mut self) -> Option<u32> {
        if self.run.pages == 0 {
            self.run = self.find_run()?;
        }
        let page = self.run.first;
        self.run = Extent { first: page + 1, pages: self.run.pages - 1 };
        self.take(page);
        Some(page)
    }

    /// Hands out `pages` pages in a row; `None` when no gap is large enough.
    pub fn alloc_extent(&mut self, pages: u32) -> Option<Extent> {
        let mut from = if pages < RUN_MAX { self.scan_extent_from } else { RESERVED };
        while let Some(first) = self.next_free(from) {
            let end = self.next_busy(first, pages);
            if end - first == pages {
                if first < self.run.first + self.run.pages && self.run.first < end {
                    (self.scan_from, self.run.pages) = (self.run.first, 0);
                }
                if pages < RUN_MAX {
                    self.scan_extent_from = end;
                }
                (first..end).for_each(|page| self.take(page));
                return Some(Extent { first, pages });
            }
            from = end;
        }
        None
    }

    /// Length to grow to when at least `more` pages are needed; `None` at the format's limit.
    pub fn growth(&self, more: u32) -> Option<u32> {
        let step = (self.pages / 8).clamp(GROW_MIN, GROW_MAX).max(more);
        let target = self.pages.checked_add(step)?;
        target.div_ceil(GROW_MIN).checked_mul(GROW_MIN)
    }

    /// The file now has room for `pages` pages.
    pub fn grown(&mut self, pages: u32) {
        self.run.pages = 0;
        self.set_pages(pages);
    }

    /// The length the file can be cut to, if that is worth it: a quarter of it lies free at the end.
    pub fn excess(&self) -> Option<u32> {
        let last_busy = self.busy.iter().rposition(|&word| word != 0)?;
        let end = last_busy as u32 * 64 + 64 - self.busy[last_busy].leading_zeros();
        let keep = end.div_ceil(GROW_MIN).saturating_mul(GROW_MIN);
        (keep < self.pages && self.pages - keep >= (self.pages / 4).max(2 * GROW_MIN)).then_some(keep)
    }

    /// Cuts the picture to `pages`; the pages beyond are free.
    pub fn cut(&mut self, pages: u32, ledger: &mut Ledger) {
        for old in self.bitmaps.split_off(groups(pages).min(self.bitmaps.len())) {
            self.drop_live(old.page, ledger);
        }
        self.rewind();
        self.set_pages(pages);
    }

    /// Makes pages reusable that no living root reaches; `oldest` is the generation of the oldest one.
    pub fn reclaim(&mut self, oldest: u64, mut reusable: impl FnMut(u32)) {
        while self.pending.front().is_some_and(|(generation, _)| *generation <= oldest) {
            let (_, extents) = self.pending.pop_front().expect("its front was looked at");
            for page in pages_of(&extents).filter(|&page| !bit(&self.pinned, page)).collect::<Vec<u32>>() {
                reusable(page);
                self.give_back(page);
            }
        }
    }

    /// Keeps the pages of a publication. At opening they are taken from the free ones; before anything is handed out.
    /// False, and nothing happens, when it has pages that the file has not.
    pub fn pin(&mut self, pin: PinnedPicture) -> bool {
        if set_bits(&pin.picture).any(|page| page >= self.pages) {
            return false;
        }
        let missing = set_bits(&pin.picture).filter(|&page| !bit(&self.busy, page)).collect::<Vec<u32>>();
        missing.into_iter().for_each(|page| self.take(page));
        self.run.pages = 0;
        merge_bits(&mut self.pinned, &pin.picture);
        pin.held.store(count_difference(&pin.picture, &self.live), Ordering::Relaxed);
        self.pins.push(pin);
        true
    }

    /// Lets a pin go: the pages that nobody else has become reusable.
    pub fn unpin(&mut self, number: u64, mut reusable: impl FnMut(u32)) {
        let Some(index) = self.pins.iter().position(|pin| pin.number == number) else { return };
        let gone = self.pins.swap_remove(index);
        self.pinned.clear();
        for pin in &self.pins {
            merge_bits(&mut self.pinned, &pin.picture);
        }
        let mut waiting = Vec::new();
        for page in self.pending.iter().flat_map(|(_, extents)| pages_of(extents)) {
            set_bit(&mut waiting, page);
        }
        for page in set_bits(&gone.picture) {
            let others = bit(&self.live, page) || bit(&self.pinned, page) || bit(&waiting, page);
            if !others && bit(&self.busy, page) {
                reusable(page);
                self.give_back(page);
            }
        }
    }

    /// Whether a publication before a generation is pinned.
    pub fn is_pinned_before(&self, generation: u64) -> bool {
        self.pins.iter().any(|pin| pin.generation < generation)
    }

    /// Pages that are kept for pins alone.
    pub fn held(&self) -> u64 {
        count_difference(&self.pinned, &self.live)
    }

    /// The new root is that of a pin: notes what it has again, and what goes. The places of both maps are not its own: those
    /// of the present one go when the new one is made.
    pub fn go_back(&mut self, picture: &[u64], bookkeeping: &[PageRef], ledger: &mut Ledger) {
        let (mut maps, mut others) = (Vec::new(), Vec::new());
        self.bitmaps.iter().chain(&self.directories).for_each(|at| set_bit(&mut maps, at.page));
        bookkeeping.iter().for_each(|at| set_bit(&mut others, at.page));
        let word = |words: &[u64], index: usize| words.get(index).copied().unwrap_or(0);
        for (index, live) in self.live.iter().enumerate() {
            let wanted = word(picture, index) & !word(&others, index);
            let changed = live ^ wanted;
            for page in (0..64).filter(|bit| changed >> bit & 1 != 0).map(|bit| index as u32 * 64 + bit) {
                if !bit(&self.live, page) {
                    push_page(&mut ledger.revived, page);
                } else if !bit(&maps, page) {
                    ledger.free(page);
                }
            }
        }
    }

    /// Moves the live picture on to what the chunk made, and finds places for the bookkeeping of the new picture,
    /// which is itself part of it. `grow` is asked when the file is full.
    pub fn prepare<E>(
        &mut self,
        ledger: &mut Ledger,
        mut grow: impl FnMut(&mut Space) -> Result<(), E>,
    ) -> Result<Plan, E> {
        self.apply(ledger);
        let mut plan = Plan { bitmaps: Vec::new(), directories: Vec::new() };
        for old in std::mem::take(&mut self.directories) {
            self.drop_live(old.page, ledger);
        }
        let mut planned = vec![false; groups(self.pages)];
        loop {
            planned.resize(groups(self.pages), false);
            let wanted = groups(self.pages).div_ceil(DIRECTORY_REFS);
            let group =
                (0..planned.len()).find(|&g| !planned[g] && (self.dirty[g] || g >= self.bitmaps.len()));
            if group.is_none() && plan.directories.len() == wanted {
                return Ok(plan);
            }
            let page = loop {
                match self.alloc() {
                    Some(page) => break page,
                    None => grow(self)?,
                }
            };
            ledger.taken.push(page);
            self.set_live(page, true);
            match group {
                Some(group) => {
                    planned.resize(groups(self.pages), false);
                    planned[group] = true;
                    plan.bitmaps.push((group, page));
                    if let Some(old) = self.bitmaps.get(group).copied() {
                        self.drop_live(old.page, ledger);
                    }
                }
                None => plan.directories.push(page),
            }
        }
    }

    fn drop_live(&mut self, page: u32, ledger: &mut Ledger) {
        self.set_live(page, false);
        ledger.free(page);
    }

    /// The body of a group's bitmap page.
    pub fn bitmap_body(&self, group: usize) -> Vec<u8> {
        let words = &self.live[group * GROUP_WORDS..][..GROUP_WORDS];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The publication `generation` is durable: what it freed waits for its readers.
    pub fn published(&mut self, generation: u64, ledger: Ledger) {
        self.dirty.fill(false);
        for page in pages_of(&ledger.wasted) {
            self.give_back(page);
        }
        if !ledger.revived.is_empty() {
            self.forget_pending(&ledger.revived);
        }
        for pin in &self.pins {
            let gone = pages_of(&ledger.freed).filter(|&page| bit(&pin.picture, page)).count() as u64;
            let back = pages_of(&ledger.revived).filter(|&page| bit(&pin.picture, page)).count() as u64;
            pin.held.store(pin.held.load(Ordering::Relaxed) + gone - back, Ordering::Relaxed);
        }
        self.pending.push_back((generation, ledger.freed));
    }

    /// Pages that wait to become reusable are in use again.
    fn forget_pending(&mut self, revived: &[Extent]) {
        let mut again = Vec::new();
        pages_of(revived).for_each(|page| set_bit(&mut again, page));
        for (_, extents) in &mut self.pending {
            let mut rest = Vec::new();
            pages_of(extents).filter(|&page| !bit(&again, page)).for_each(|page| push_page(&mut rest, page));
            *extents = rest;
        }
    }

    /// The chunk failed before anything referred to its pages.
    pub fn undo(&mut self, ledger: &Ledger, bitmaps: Vec<PageRef>, directories: Vec<PageRef>) {
        for page in ledger.all_taken().flat_map(|e| e.first..e.first + e.pages) {
            self.set_live(page, false);
            self.give_back(page);
        }
        for page in pages_of(&ledger.freed) {
            self.set_live(page, true);
        }
        for page in pages_of(&ledger.revived) {
            self.set_live(page, false);
        }
        (self.bitmaps, self.directories) = (bitmaps, directories);
        self.run.pages = 0;
    }

    fn apply(&mut self, ledger: &Ledger) {
        let again = pages_of(&ledger.revived);
        for page in ledger.all_taken().flat_map(|e| e.first..e.first + e.pages).chain(again) {
            self.set_live(page, true);
        }
        for page in ledger.freed.iter().chain(&ledger.wasted).flat_map(|e| e.first..e.first + e.pages) {
            self.set_live(page, false);
        }
    }

    fn set_pages(&mut self, pages: u32) {
        let old = self.pages;
        let words = groups(pages) * GROUP_WORDS;
        self.live.resize(words, 0);
        self.busy.resize(words, 0);
        self.dirty.resize(groups(pages), true);
        self.group_free.resize(groups(pages), 0);
        self.pages = pages;
        let changed = old.min(pages) / GROUP..groups(pages) as u32;
        for group in changed {
            let size = (pages - group * GROUP).min(GROUP);
            let busy = self.busy[group as usize * GROUP_WORDS..][..GROUP_WORDS].iter();
            self.group_free[group as usize] = size - busy.map(|w| w.count_ones()).sum::<u32>();
        }
    }

    fn set_live(&mut self, page: u32, live: bool) {
        let mask = 1 << (page % 64);
        let word = &mut self.live[page as usize / 64];
        if (*word & mask != 0) == live {
            return;
        }
        *word ^= mask;
        self.used = if live { self.used + 1 } else { self.used - 1 };
        self.dirty[(page / GROUP) as usize] = true;
    }

    fn take(&mut self, page: u32) {
        assert!(!bit(&self.busy, page), "a page is handed out once");
        self.busy[page as usize / 64] |= 1 << (page % 64);
        self.group_free[(page / GROUP) as usize] -= 1;
    }

    fn give_back(&mut self, page: u32) {
        assert!(bit(&self.busy, page), "a page is given back once");
        self.busy[page as usize / 64] &= !(1 << (page % 64));
        self.group_free[(page / GROUP) as usize] += 1;
    }

    fn find_run(&mut self) -> Option<Extent> {
        while let Some(first) = self.next_free(self.scan_from) {
            let end = self.next_busy(first, RUN_MAX);
            self.scan_from = end;
            if end - first >= RUN_MIN {
                return Some(Extent { first, pages: end - first });
            }
        }
        if self.free() < self.pages / 4 {
            return None;
        }
        let first = self.next_free(self.scan_small_from)?;
        self.scan_small_from = self.next_busy(first, RUN_MAX);
        Some(Extent { first, pages: self.scan_small_from - first })
    }

    /// First page at or after `from` that may be handed out.
    pub(super) fn next_free(&self, from: u32) -> Option<u32> {
        let mut page = from;
        while page < self.pages {
            if page.is_multiple_of(GROUP) && self.group_free[(page / GROUP) as usize] == 0 {
                page = page.checked_add(GROUP)?;
                continue;
            }
            let word = !self.busy[page as usize / 64] >> (page % 64);
            if word != 0 {
                let found = page + word.trailing_zeros();
                return (found < self.pages).then_some(found);
            }
            page = (page / 64 + 1) * 64;
        }
        None
    }

    /// First busy page after `from`, or `from + limit`, or the end of the file.
    pub(super) fn next_busy(&self, from: u32, limit: u32) -> u32 {
        let end = from.saturating_add(limit).min(self.pages);
        let mut page = from;
        while page < end {
            let word = self.busy[page as usize / 64] >> (page % 64);
            if word != 0 {
                return (page + word.trailing_zeros()).min(end);
            }
            page = (page / 64 + 1) * 64;
        }
        end
    }
}

/// Groups that a file of `pages` pages has.
pub(super) fn groups(pages: u32) -> usize {
    pages.div_ceil(GROUP) as usize
}

/// Whether `page` is set in a picture.
pub(super) fn bit(words: &[u64], page: u32) -> bool {
    words.get(page as usize / 64).is_some_and(|word| word >> (page % 64) & 1 != 0)
}

/// The pages of a picture, ascending.
pub(super) fn set_bits(words: &[u64]) -> impl Iterator<Item = u32> + '_ {
    words.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(|(index, word)| {
        (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| index as u32 * 64 + bit)
    })
}

fn set_bit(words: &mut Vec<u64>, page: u32) {
    let index = page as usize / 64;
    if index >= words.len() {
        words.resize(index + 1, 0);
    }
    words[index] |= 1 << (page % 64);
}

fn merge_bits(into: &mut Vec<u64>, from: &[u64]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    into.iter_mut().zip(from).for_each(|(into, from)| *into |= from);
}

/// Pages of the first picture that the second does not have.
fn count_difference(first: &[u64], second: &[u64]) -> u64 {
    let second = second.iter().copied().chain(std::iter::repeat(0));
    first.iter().zip(second).map(|(first, second)| u64::from((first & !second).count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn grow(space: &mut Space) -> Result<(), ()> {
        let pages = space.growth(1).ok_or(())?;
        space.grown(pages);
        Ok(())
    }

    fn alloc(space: &mut Space, ledger: &mut Ledger) -> u32 {
        loop {
            match space.alloc() {
                Some(page) => {
                    ledger.taken.push(page);
                    return page;
                }
                None => grow(space).expect("grows"),
            }
        }
    }

    /// Publishes what the ledger holds; returns the bodies a reader of the file would find.
    fn publish(space: &mut Space, mut ledger: Ledger, generation: u64) -> Vec<Vec<u8>> {
        let plan = space.prepare(&mut ledger, grow).expect("prepares");
        space.bitmaps.resize(groups(space.pages()), PageRef::NONE);
        for (group, page) in plan.bitmaps {
            space.bitmaps[group] = PageRef { page, generation: generation as u32 };
        }
        space.directories =
            plan.directories.iter().map(|&page| PageRef { page, generation: generation as u32 }).collect();
        assert_eq!(space.directories.len(), groups(space.pages()).div_ceil(DIRECTORY_REFS));
        space.published(generation, ledger);
        (0..groups(space.pages())).map(|group| space.bitmap_body(group)).collect()
    }

    fn live(space: &Space) -> BTreeSet<u32> {
        (0..space.pages()).filter(|&page| bit(&space.live, page)).collect()
    }

    #[test]
    fn a_file_of_many_groups_survives_a_round_trip() {
        let mut space = Space::empty();
        let (mut held, mut generation) = (BTreeSet::new(), 0);
        for round in 0..6u32 {
            generation += 1;
            let mut ledger = Ledger::default();
            space.rewind();
            for _ in 0..40_000 {
                assert!(held.insert(alloc(&mut space, &mut ledger)), "no page is handed out twice");
            }
            let taken: BTreeSet<u32> = ledger.taken.iter().copied().collect();
            let old = held.iter().copied().filter(|page| page % 7 == round % 7 && !taken.contains(page));
            for page in old.take(500).collect::<Vec<u32>>() {
                held.remove(&page);
                ledger.free(page);
            }
            let bodies = publish(&mut space, ledger, generation);
            space.reclaim(generation, |_| ());
            let (bitmaps, directories) = (space.bitmaps.clone(), space.directories.clone());
            let loaded = Space::load(space.pages(), &bodies, bitmaps, directories).expect("loads");
            let mut expected = held.clone();
            expected.extend(0..RESERVED);
            expected.extend(space.bitmaps.iter().chain(&space.directories).map(|at| at.page));
            assert_eq!(live(&loaded), expected);
            assert_eq!((loaded.used(), loaded.free()), (space.used(), space.free()));
            assert_eq!(loaded.used() + loaded.free(), loaded.pages());
        }
        assert!(groups(space.pages()) > 3);
    }

    #[test]
    fn pages_wait_for_the_readers_of_older_roots() {
        let mut space = Space::empty();
        let mut ledger = Ledger::default();
        let first = alloc(&mut space, &mut ledger);
        publish(&mut space, ledger, 1);
        let mut ledger = Ledger::default();
        ledger.free(first);
        publish(&mut space, ledger, 2);
        let mut reusable = Vec::new();
        space.reclaim(1, |page| reusable.push(page));
        assert!(!reusable.contains(&first), "root 1 still reaches it");
        space.reclaim(2, |page| reusable.push(page));
        assert!(reusable.contains(&first));
    }

    #[test]
    fn a_failed_chunk_leaves_no_trace() {
        let mut space = Space::empty();
        let mut ledger = Ledger::default();
        let kept: Vec<u32> = (0..100).map(|_| alloc(&mut space, &mut ledger)).collect();
        publish(&mut space, ledger, 1);
        let before = (live(&space), space.free(), space.used());
        let (bitmaps, directories, pages) = (space.bitmaps.clone(), space.directories.clone(), space.pages());
        let mut ledger = Ledger::default();
        while space.pages() == pages {
            alloc(&mut space, &mut ledger);
        }
        let extent = space.alloc_extent(5).expect("has just grown");
        ledger.taken_extents.push(extent);
        ledger.wasted.push(Extent { first: ledger.taken[0], pages: 1 });
        kept.iter().for_each(|&page| ledger.free(page));
        let grown = space.pages() - pages;
        space.prepare(&mut ledger, grow).expect("prepares");
        space.undo(&ledger, bitmaps, directories);
        assert_eq!((live(&space), space.free() - grown, space.used()), before);
    }

    #[test]
    fn extents_and_runs_share_the_gaps() {
        let mut space = Space::empty();
        let mut ledger = Ledger::default();
        grow(&mut space).expect("grows");
        let mut seen = BTreeSet::new();
        while space.free() > 10 {
            seen.insert(alloc(&mut space, &mut ledger));
            let Some(extent) = space.alloc_extent(3) else { break };
            for page in extent.first..extent.first + 3 {
                assert!(seen.insert(page), "page {page} is handed out once");
            }
        }
        assert!(seen.len() as u32 > space.pages() - 20, "little is lost between them");
        assert_eq!(space.growth(u32::MAX), None);
    }

    #[test]
    fn an_empty_end_is_cut_off() {
        let mut space = Space::empty();
        let mut ledger = Ledger::default();
        let pages: Vec<u32> = (0..70_000).map(|_| alloc(&mut space, &mut ledger)).collect();
        publish(&mut space, ledger, 1);
        let mut ledger = Ledger::default();
        pages[1_000..].iter().for_each(|&page| ledger.free(page));
        publish(&mut space, ledger, 2);
        space.reclaim(2, |_| ());
        space.rewind();
        let mut ledger = Ledger::default();
        publish(&mut space, std::mem::take(&mut ledger), 3);
        space.reclaim(3, |_| ());
        let keep = space.excess().expect("most of it is free");
        assert!(keep < 2_000, "{keep}");
        space.cut(keep, &mut ledger);
        let bodies = publish(&mut space, ledger, 4);
        assert_eq!((groups(space.pages()), bodies.len()), (1, 1));
        assert_eq!(space.bitmaps.len(), 1);
    }
}
