//! One page: its bytes, what makes them valid, and searching them without copying.
//!
//! Pages are written once and never changed in place, so entries lie packed in key order and there is no free
//! list inside a page. All integers are little-endian. Every page begins with this header:
//!
//! | offset | type | field |
//! | --- | --- | --- |
//! | 0 | u32 | CRC32C of bytes 4..8192 |
//! | 4 | u8 | kind: 1 leaf, 2 inner, 3 overflow, 4 space bitmap, 5 bitmap directory |
//! | 5 | u8 | level: 0 for leaves, 1 for their parents, … |
//! | 6 | u16 | `n`, number of entries |
//! | 8 | u32 | page id: its own place in the file (catches misdirected writes) |
//! | 12 | u32 | file tag: first bytes of the database GUID (catches writes into another file) |
//! | 16 | u64 | generation that wrote it; a parent names the low 32 bits it expects (catches lost writes) |
//! | 24 | u16 | `p`, length of the prefix that all keys of the page share |
//! | 26 | u16 | bytes of the page in use; the rest is zero |
//! | 28 | u32 | zero |
//!
//! A **leaf** goes on with
//!
//! | offset | type | field |
//! | --- | --- | --- |
//! | 32 | n × u32 | heads: the first four bytes of each key after the prefix, as a big-endian number, zero-padded |
//! | 32+4n | n × u16 | offset of each cell |
//! | 32+6n | p bytes | prefix |
//! | … | | cells: u16 key length after the prefix, u16 value length (bit 15: overflow), key rest, value |
//!
//! An **overflow** value is a descriptor: u64 row length, u32 generation (low bits), u8 number of extents (1..=4),
//! then per extent u32 first page, u32 number of pages. The row's bytes fill the bodies of those pages in order.
//!
//! An **inner** page has for each child the smallest key that may be under it (a separator), except for the first
//! child, whose bound is the parent's:
//!
//! | offset | type | field |
//! | --- | --- | --- |
//! | 32 | n × u32 | heads as above; the first is zero |
//! | 32+4n | n × u64 | child: page id (low half), expected generation (high half) |
//! | 32+12n | n × u64 | rows under the child; bit 63: some of them have overflow pages |
//! | 32+20n | (n+1) × u16 | offset of each key rest, and the end of the last |
//! | 34+22n | p bytes | prefix |
//! | … | | key rests |
//!
//! A page is valid when: (1) the checksum matches, (2) id, tag and generation are the expected ones, (3) kind and
//! level are the expected ones and n ≥ 1, (4) every offset and length stays inside the page. Order of keys is not
//! verified on reading, only by the checker: a page that passes (1) was written by us.
//!
//! While the database is encrypted a page is stored in another form (module `sealed`).

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use super::PAGE_SIZE;
use super::frame::PagePin;

/// Bytes before the body.
pub(super) const HEADER: usize = 32;
/// Bytes a page offers to its body.
pub(super) const BODY: usize = PAGE_SIZE - HEADER;
/// Page bytes a leaf row costs beside its key rest and value: head, offset, two lengths.
pub(super) const LEAF_CELL: usize = 4 + 2 + 4;
/// Page bytes an inner entry costs beside its key rest: head, child, rows, offset.
pub(super) const INNER_ENTRY: usize = 4 + 8 + 8 + 2;
/// Bytes of an inner page before prefix and key rests, without its entries.
pub(super) const INNER_FIXED: usize = HEADER + 2;
/// Bit 15 of a value length.
const OVERFLOW_BIT: u16 = 1 << 15;
/// Bit 63 of a row count.
const ROWS_OVERFLOW_BIT: u64 = 1 << 63;
/// Most extents one overflow value may have.
pub(super) const EXTENTS_MAX: usize = 4;
/// Deepest tree that is believed: 8 KB pages with two children each still reach 2^32 pages at level 32.
pub(super) const HEIGHT_MAX: u32 = 33;

const _: () = assert!(PAGE_SIZE <= OVERFLOW_BIT as usize, "lengths and offsets inside a page fit 15 bits");
const _: () = assert!(
    INNER_FIXED + 3 * (INNER_ENTRY + super::KEY_BYTES_MAX) <= PAGE_SIZE,
    "an inner page holds at least three of the longest keys"
);

/// What a page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Leaf = 1,
    Inner = 2,
    Overflow = 3,
    Bitmap = 4,
    Directory = 5,
}

/// A pointer to a page: where it is, and which generation must be found there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageRef {
    pub page: u32,
    pub generation: u32,
}

impl PageRef {
    /// No page: page 0 is a superblock.
    pub const NONE: PageRef = PageRef { page: 0, generation: 0 };

    pub fn is_none(self) -> bool {
        self.page == 0
    }

    pub fn pack(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.page)
    }

    pub fn unpack(word: u64) -> PageRef {
        PageRef { page: word as u32, generation: (word >> 32) as u32 }
    }
}

/// A run of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub first: u32,
    pub pages: u32,
}

/// Rows under a child and whether any of them has overflow pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub count: u64,
    pub overflow: bool,
}

impl Rows {
    pub fn pack(self) -> u64 {
        self.count | if self.overflow { ROWS_OVERFLOW_BIT } else { 0 }
    }

    pub fn unpack(word: u64) -> Rows {
        Rows { count: word & !ROWS_OVERFLOW_BIT, overflow: word & ROWS_OVERFLOW_BIT != 0 }
    }

    pub fn add(&mut self, other: Rows) {
        self.count += other.count;
        self.overflow |= other.overflow;
    }
}

/// Why bytes are not the page they should be.
pub(super) type Reason = &'static str;

/// An immutable page in memory.
///
/// The field order is kept: what every visit touches lies beside the reference counts.
#[repr(C, align(64))]
pub(super) struct Page {
    /// Holders; belongs to [`PagePin`].
    pub references: AtomicUsize,
    /// How often the cache saw it lately (0..=3); belongs to the cache.
    pub frequency: AtomicU8,
    _aligns_the_bytes: [u8; 7],
    bytes: [u8; PAGE_SIZE],
    /// Of pages of level 2 and above: child pages already found, so that a search passes the upper levels without
    /// asking the cache. They live as long as this page.
    children: OnceLock<Children>,
}

/// Child pages found so far, and the account they are counted in.
pub(super) struct Children {
    found: Box<[OnceLock<PagePin>]>,
    account: Arc<AtomicUsize>,
}

impl Drop for Children {
    fn drop(&mut self) {
        let found = self.found.iter().filter(|child| child.get().is_some()).count();
        self.account.fetch_sub(found, Relaxed);
    }
}

impl Page {
    /// A page whose bytes `fill` provides and that has not been verified.
    pub fn with_bytes<E>(fill: impl FnOnce(&mut [u8; PAGE_SIZE]) -> Result<(), E>) -> Result<PagePin, E> {
        let mut page = PagePin::new(|frame| {
            let page = frame.as_ptr();
            // SAFETY: the frame is ours alone, large enough and aligned; each write goes to a field of its own. The
            // bytes are left as they are: a frame's memory is always initialised.
            unsafe {
                (&raw mut (*page).references).write(AtomicUsize::new(1));
                (&raw mut (*page).frequency).write(AtomicU8::new(0));
                (&raw mut (*page).children).write(OnceLock::new());
            }
        });
        fill(&mut page.get_mut().expect("it was made a line ago and not shared").bytes)?;
        Ok(page)
    }

    /// A child found earlier.
    #[inline]
    pub fn known_child(&self, index: usize) -> Option<&PagePin> {
        self.children.get()?.found[index].get()
    }

    /// Keeps a child for later searches, counting it in `account`.
    pub fn keep_child(&self, index: usize, child: PagePin, account: &Arc<AtomicUsize>) -> &PagePin {
        let children = self.children.get_or_init(|| Children {
            found: (0..self.len()).map(|_| OnceLock::new()).collect(),
            account: account.clone(),
        });
        children.found[index].get_or_init(|| {
            account.fetch_add(1, Relaxed);
            child
        })
    }

    /// Asks the processor for the lines that a search reads first, all at once instead of one after the other.
    #[inline]
    pub fn prefetch(&self) {
        let start = std::ptr::from_ref(self).cast::<u8>();
        (0..6).for_each(|line| prefetch(start.wrapping_add(64 * line)));
    }

    /// Asks the processor for the front of a leaf row that a scan will come to, if there is one.
    #[inline]
    pub fn prefetch_row(&self, index: usize) {
        // The index comes first: a reverse scan asks for rows before the first one, by wrapping around.
        if index >= self.len() {
            return;
        }
        let at = HEADER + 4 * self.len() + 2 * index;
        if at + 2 <= PAGE_SIZE {
            let row = self.bytes.as_ptr().wrapping_add(usize::from(get_u16(&self.bytes, at)));
            prefetch(row);
            prefetch(row.wrapping_add(64));
        }
    }

    pub fn bytes(&self) -> &[u8; PAGE_SIZE] {
        &self.bytes
    }

    pub fn level(&self) -> u32 {
        u32::from(self.bytes[5])
    }

    pub fn len(&self) -> usize {
        usize::from(get_u16(&self.bytes, 6))
    }

    pub fn id(&self) -> u32 {
        get_u32(&self.bytes, 8)
    }

    pub fn reference(&self) -> PageRef {
        PageRef { page: self.id(), generation: get_u32(&self.bytes, 16) }
    }

    fn prefix_len(&self) -> usize {
        usize::from(get_u16(&self.bytes, 24))
    }

    fn is_inner(&self) -> bool {
        self.bytes[4] == Kind::Inner as u8
    }

    /// The bytes that every key of this page begins with.
    pub fn prefix(&self) -> &[u8] {
        let n = self.len();
        let start = if self.is_inner() { INNER_FIXED + INNER_ENTRY * n } else { HEADER + 6 * n };
        &self.bytes[start..start + self.prefix_len()]
    }

    fn heads(&self, from: usize) -> &[[u8; 4]] {
        self.bytes[HEADER + 4 * from..HEADER + 4 * self.len()].as_chunks().0
    }

    /// Narrows a search to the entries from `from` on whose head equals that of `key`, or says where the key
    /// would be: `Err(i)` means before entry `i`.
    fn narrow<'k>(&self, key: &'k [u8], from: usize) -> Result<(usize, usize, &'k [u8]), usize> {
        let prefix = self.prefix();
        let rest = match key.get(..prefix.len()) {
            Some(start) => match start.cmp(prefix) {
                Ordering::Less => return Err(from),
                Ordering::Greater => return Err(self.len()),
                Ordering::Equal => &key[prefix.len()..],
            },
            None => return Err(if key < prefix { from } else { self.len() }),
        };
        let head = head_of(rest);
        let heads = self.heads(from);
        let low = heads.partition_point(|h| u32::from_le_bytes(*h) < head);
        let same = |h: &[u8; 4]| u32::from_le_bytes(*h) == head;
        let equal = match &heads[low..] {
            [first, ..] if !same(first) => 0,
            // Mostly a head is the only one of its kind.
            [_, second, ..] if !same(second) => 1,
            rest => rest.partition_point(same),
        };
        if equal == 0 { Err(from + low) } else { Ok((from + low, from + low + equal, rest)) }
    }

    // ---- leaves

    /// The rest of a leaf key after the prefix, and where its value lies: (key rest, value start, value length
    /// with the overflow bit).
    #[inline]
    fn cell(&self, index: usize) -> (&[u8], usize, u16) {
        let at = usize::from(get_u16(&self.bytes, HEADER + 4 * self.len() + 2 * index));
        let key_len = usize::from(get_u16(&self.bytes, at));
        let key = &self.bytes[at + 4..at + 4 + key_len];
        (key, at + 4 + key_len, get_u16(&self.bytes, at + 2))
    }

    /// Key rest and value of a leaf row.
    #[inline]
    pub fn leaf_row(&self, index: usize) -> (&[u8], LeafValue) {
        let (key, start, len) = self.cell(index);
        (key, LeafValue { start: start as u16, len: len & !OVERFLOW_BIT, overflow: len & OVERFLOW_BIT != 0 })
    }

    /// Bytes of a value inside this page (the descriptor, when it is an overflow value).
    #[inline]
    pub fn value(&self, value: LeafValue) -> &[u8] {
        &self.bytes[usize::from(value.start)..usize::from(value.start) + usize::from(value.len)]
    }

    /// Index of `key` in a leaf, or of the first greater one.
    pub fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high, rest) = self.narrow(key, 0)?;
        while low < high {
            let middle = (low + high) / 2;
            match self.cell(middle).0.cmp(rest) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    // ---- inner pages

    /// Rest of a separator after the prefix; not meaningful for entry 0.
    pub fn separator_rest(&self, index: usize) -> &[u8] {
        let at = HEADER + 20 * self.len() + 2 * index;
        &self.bytes[usize::from(get_u16(&self.bytes, at))..usize::from(get_u16(&self.bytes, at + 2))]
    }

    /// Entry that `key` belongs under: the number of separators at or below it.
    pub fn child_index(&self, key: &[u8]) -> usize {
        let (mut low, mut high, rest) = match self.narrow(key, 1) {
            Ok(found) => found,
            Err(after) => return after - 1,
        };
        while low < high {
            let middle = (low + high) / 2;
            if self.separator_rest(middle) <= rest { low = middle + 1 } else { high = middle }
        }
        low - 1
    }

    pub fn child(&self, index: usize) -> PageRef {
        PageRef::unpack(get_u64(&self.bytes, HEADER + 4 * self.len() + 8 * index))
    }

    pub fn child_rows(&self, index: usize) -> Rows {
        Rows::unpack(get_u64(&self.bytes, HEADER + 12 * self.len() + 8 * index))
    }

    /// Whether the head of entry `index` is that of its key after the prefix.
    pub fn head_matches(&self, index: usize, rest: &[u8]) -> bool {
        get_u32(&self.bytes, HEADER + 4 * index) == head_of(rest)
    }

    // ---- other pages

    /// Everything after the header.
    pub fn body(&self) -> &[u8] {
        &self.bytes[HEADER..]
    }

    /// Bytes the rows of a leaf take, counted as when their keys shared no prefix.
    pub fn row_bytes(&self) -> usize {
        let fixed = HEADER + 6 * self.len() + self.prefix_len();
        let used = usize::from(get_u16(&self.bytes, 26)).max(fixed);
        used - fixed + self.len() * (6 + self.prefix_len())
    }

    /// Rows in a leaf, with the overflow flag.
    pub fn leaf_rows(&self) -> Rows {
        let overflow = (0..self.len()).any(|i| self.leaf_row(i).1.overflow);
        Rows { count: self.len() as u64, overflow }
    }

    /// Checks (1) to (4) of the module's list.
    pub fn verify(&self, expect: Expect) -> Result<(), Reason> {
        verify_bytes(&self.bytes, expect)?;
        self.verify_structure()
    }

    fn verify_structure(&self) -> Result<(), Reason> {
        match self.bytes[4] {
            k if k == Kind::Leaf as u8 => self.verify_leaf(),
            k if k == Kind::Inner as u8 => self.verify_inner(),
            _ => Ok(()),
        }
    }

    fn verify_leaf(&self) -> Result<(), Reason> {
        let n = self.len();
        let body = HEADER + 6 * n + self.prefix_len();
        if n == 0 || body > PAGE_SIZE {
            return Err("the entry count or prefix does not fit");
        }
        for index in 0..n {
            let at = usize::from(get_u16(&self.bytes, HEADER + 4 * n + 2 * index));
            if at < body || at + 4 > PAGE_SIZE {
                return Err("a cell lies outside the page");
            }
            let value_len = get_u16(&self.bytes, at + 2);
            let key_end = at + 4 + usize::from(get_u16(&self.bytes, at));
            let end = key_end + usize::from(value_len & !OVERFLOW_BIT);
            if end > PAGE_SIZE {
                return Err("a cell leaves the page");
            }
            if value_len & OVERFLOW_BIT != 0 && Overflow::decode(&self.bytes[key_end..end]).is_none() {
                return Err("an overflow descriptor is malformed");
            }
        }
        Ok(())
    }

    fn verify_inner(&self) -> Result<(), Reason> {
        let n = self.len();
        let body = INNER_FIXED + INNER_ENTRY * n + self.prefix_len();
        if n == 0 || body > PAGE_SIZE {
            return Err("the entry count or prefix does not fit");
        }
        let mut last = body;
        for index in 0..=n {
            let at = usize::from(get_u16(&self.bytes, HEADER + 20 * n + 2 * index));
            if at < last || at > PAGE_SIZE {
                return Err("a separator lies outside the page");
            }
            last = at;
        }
        if (0..n).any(|i| self.child(i).page < 2) {
            return Err("a child reference points at the superblocks");
        }
        Ok(())
    }
}

/// Checks (1) to (3) for a page of any kind; returns its entry count.
pub(super) fn verify_bytes(bytes: &[u8; PAGE_SIZE], expect: Expect) -> Result<usize, Reason> {
    if !cfg!(fuzzing) && get_u32(bytes, 0) != crc32c::crc32c(&bytes[4..]) {
        return Err("the checksum does not match");
    }
    if get_u32(bytes, 8) != expect.at.page {
        return Err("it carries another page's id (misdirected write)");
    }
    if get_u32(bytes, 12) != expect.tag {
        return Err("it carries another file's tag (misdirected write)");
    }
    if get_u32(bytes, 16) != expect.at.generation {
        return Err("it is of another generation (lost write)");
    }
    let as_expected = match expect.level {
        Some(0) => bytes[4] == Kind::Leaf as u8 && bytes[5] == 0,
        Some(level) => bytes[4] == Kind::Inner as u8 && u32::from(bytes[5]) == level,
        None => bytes[4] == expect.kind as u8,
    };
    if !as_expected {
        return Err("it is of another kind or level than its parent says");
    }
    let entries = usize::from(get_u16(bytes, 6));
    if entries > BODY { Err("more entries than a page can hold") } else { Ok(entries) }
}

/// What a reader knows about a page before reading it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expect {
    pub at: PageRef,
    pub tag: u32,
    /// Level of a tree page; `None` for the other kinds.
    pub level: Option<u32>,
    /// Consulted when `level` is `None`.
    pub kind: Kind,
}

/// Where a leaf value lies inside its page.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafValue {
    pub start: u16,
    pub len: u16,
    pub overflow: bool,
}

/// Where a large row lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Overflow {
    pub len: u64,
    pub generation: u32,
    pub extents: smallvec::SmallVec<[Extent; EXTENTS_MAX]>,
}

impl Overflow {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.push(self.extents.len() as u8);
        for extent in &self.extents {
            out.extend_from_slice(&extent.first.to_le_bytes());
            out.extend_from_slice(&extent.pages.to_le_bytes());
        }
    }

    /// `None` when the bytes contradict themselves.
    pub fn decode(bytes: &[u8]) -> Option<Overflow> {
        let n = usize::from(*bytes.get(12)?);
        if n == 0 || n > EXTENTS_MAX || bytes.len() != 13 + 8 * n {
            return None;
        }
        let extents: smallvec::SmallVec<[Extent; EXTENTS_MAX]> = (0..n)
            .map(|i| Extent { first: get_u32(bytes, 13 + 8 * i), pages: get_u32(bytes, 17 + 8 * i) })
            .collect();
        let inside = |e: &Extent| e.first >= 2 && e.pages > 0 && e.first.checked_add(e.pages).is_some();
        let pages: u64 = extents.iter().map(|e| u64::from(e.pages)).sum();
        let len = get_u64(bytes, 0);
        let fits = len.div_ceil(BODY as u64) == pages && extents.iter().all(inside);
        fits.then(|| Overflow { len, generation: get_u32(bytes, 8), extents })
    }
}

/// Hints that a line will be read soon.
#[inline]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint; it reads nothing and faults on no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// First four bytes of a key rest as a number that orders like the bytes.
#[inline]
pub(super) fn head_of(rest: &[u8]) -> u32 {
    match rest.first_chunk::<4>() {
        Some(four) => u32::from_be_bytes(*four),
        None => {
            let mut four = [0; 4];
            four[..rest.len()].copy_from_slice(rest);
            u32::from_be_bytes(four)
        }
    }
}

/// Length of the common start of two keys.
#[inline]
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    while let (Some(x), Some(y)) = (a[at..].first_chunk::<8>(), b[at..].first_chunk::<8>()) {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return at + (differ.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
}

/// Fields of a header that the builder of a page decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seal {
    pub at: PageRef,
    /// The whole generation, of which `at` holds the low bits.
    pub generation: u64,
    pub tag: u32,
}

/// Fills the common header fields and the checksum of a page whose body, kind, level and count are in place.
pub(super) fn seal(bytes: &mut [u8; PAGE_SIZE], seal: Seal) {
    put(bytes, 8, &seal.at.page.to_le_bytes());
    put(bytes, 12, &seal.tag.to_le_bytes());
    put(bytes, 16, &seal.generation.to_le_bytes());
    let sum = crc32c::crc32c(&bytes[4..]);
    put(bytes, 0, &sum.to_le_bytes());
}

/// The common fields of a page that was decrypted.
pub(super) fn reseal(bytes: &mut [u8; PAGE_SIZE], page: u32, tag: u32, generation: u64) {
    seal(bytes, Seal { at: PageRef { page, generation: generation as u32 }, generation, tag });
}

fn start(bytes: &mut [u8; PAGE_SIZE], kind: Kind, level: u8, n: usize, prefix_len: usize) {
    bytes[..HEADER].fill(0);
    bytes[4] = kind as u8;
    bytes[5] = level;
    put(bytes, 6, &(n as u16).to_le_bytes());
    put(bytes, 24, &(prefix_len as u16).to_le_bytes());
}

fn finish(bytes: &mut [u8; PAGE_SIZE], used: usize) {
    put(bytes, 26, &(used as u16).to_le_bytes());
    bytes[used..].fill(0);
}

/// One row on its way into a leaf.
pub(super) struct LeafCell<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
    pub overflow: bool,
}

/// Builds a leaf from `n` cells in key order; the caller has made sure that they fit.
pub(super) fn write_leaf<'a>(bytes: &mut [u8; PAGE_SIZE], n: usize, cell: impl Fn(usize) -> LeafCell<'a>) {
    let (first, last) = (cell(0).key, cell(n - 1).key);
    let prefix = common_prefix(first, last);
    start(bytes, Kind::Leaf, 0, n, prefix);
    let mut at = HEADER + 6 * n;
    put(bytes, at, &first[..prefix]);
    at += prefix;
    for index in 0..n {
        let LeafCell { key, value, overflow } = cell(index);
        let rest = &key[prefix..];
        put(bytes, HEADER + 4 * index, &head_of(rest).to_le_bytes());
        put(bytes, HEADER + 4 * n + 2 * index, &(at as u16).to_le_bytes());
        let flag = if overflow { OVERFLOW_BIT } else { 0 };
        put(bytes, at, &(rest.len() as u16).to_le_bytes());
        put(bytes, at + 2, &(value.len() as u16 | flag).to_le_bytes());
        put(bytes, at + 4, rest);
        put(bytes, at + 4 + rest.len(), value);
        at += 4 + rest.len() + value.len();
    }
    finish(bytes, at);
}

/// A child on its way into an inner page.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Smallest key that may be under the child; empty for the leftmost of the tree.
    pub key: smallvec::SmallVec<[u8; 32]>,
    pub child: PageRef,
    pub rows: Rows,
}

/// Bytes of an inner page made of `entries`.
pub(super) fn inner_size(entries: &[Entry]) -> usize {
    let keys: usize = entries[1..].iter().map(|e| e.key.len()).sum();
    INNER_FIXED + INNER_ENTRY * entries.len() + keys - inner_prefix(entries) * entries.len().saturating_sub(2)
}

fn inner_prefix(entries: &[Entry]) -> usize {
    match entries {
        [_, first, .., last] => common_prefix(&first.key, &last.key),
        [_, only] => only.key.len(),
        _ => 0,
    }
}

/// Builds an inner page; the caller has made sure that the entries fit.
pub(super) fn write_inner(bytes: &mut [u8; PAGE_SIZE], level: u8, entries: &[Entry]) {
    let n = entries.len();
    let prefix = inner_prefix(entries);
    start(bytes, Kind::Inner, level, n, prefix);
    let mut at = INNER_FIXED + INNER_ENTRY * n;
    if let Some(entry) = entries.get(1) {
        put(bytes, at, &entry.key[..prefix]);
    }
    at += prefix;
    for (index, entry) in entries.iter().enumerate() {
        let rest = if index == 0 { &[][..] } else { &entry.key[prefix..] };
        put(bytes, HEADER + 4 * index, &head_of(rest).to_le_bytes());
        put(bytes, HEADER + 4 * n + 8 * index, &entry.child.pack().to_le_bytes());
        put(bytes, HEADER + 12 * n + 8 * index, &entry.rows.pack().to_le_bytes());
        put(bytes, HEADER + 20 * n + 2 * index, &(at as u16).to_le_bytes());
        put(bytes, at, rest);
        at += rest.len();
    }
    put(bytes, HEADER + 20 * n + 2 * n, &(at as u16).to_le_bytes());
    finish(bytes, at);
}

/// Builds an overflow, bitmap or directory page; `n` is the number of bytes or entries in use.
pub(super) fn write_plain(bytes: &mut [u8; PAGE_SIZE], kind: Kind, n: usize, body: &[u8]) {
    start(bytes, kind, 0, n, 0);
    put(bytes, HEADER, body);
    finish(bytes, HEADER + body.len());
}

#[inline]
pub(super) fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
pub(super) fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("four bytes inside a verified page"))
}

#[inline]
pub(super) fn get_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("eight bytes inside a verified page"))
}

#[inline]
pub(super) fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}
