//! One node of the map's tree: sorted keys behind a version word.
//!
//! ```text
//! version   bit 0 locked, bit 1 obsolete, the rest counts changes
//! prefix    up to 24 bytes that all keys of the node share
//! heads     for each key the 8 bytes after the prefix, big-endian, zero-padded: most comparisons end here
//! keys      leaf: the entries; inner: separators (entries too, without versions)
//! children  inner only: child `i` holds the keys `k` with keys[i-1] <= k < keys[i]
//! ```
//!
//! **Readers are optimistic**: note the version, read the fields in any state, validate that the version is the same;
//! nothing that was read is believed before. All fields are atomics, so that is no data race; every pointer ever
//! stored in a node leads to something that the epoch collector frees after the reader's guard. **Writers** lock by
//! turning the version that they have read into a locked one, which validates at the same time.

use std::cmp::Ordering as Compare;
use std::hint::spin_loop;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU16, AtomicU64, Ordering, fence};

use crate::delta::entry::Entry;
use crate::delta::prefetch;

/// Keys per node. 64 keep a leaf near one kilobyte and the tree of a million keys three or four levels high.
pub(super) const CAPACITY: usize = 64;
/// Bytes of a common prefix that a node can leave out.
const PREFIX_MAX: usize = 24;
const PREFIX_WORDS: usize = PREFIX_MAX / 8;

/// Heads in a cache line.
const HEADS_PER_LINE: usize = 8;

const LOCKED: u64 = 1;
const OBSOLETE: u64 = 2;
const CHANGE: u64 = 4;

/// Somebody changed what was read: begin again.
#[derive(Debug)]
pub(super) struct Restart;

pub(super) type Attempt<T> = Result<T, Restart>;

/// Bytes of a key that nodes compare as words: the longest prefix and the head behind it.
const SEARCH_BYTES: usize = PREFIX_MAX + 8;

/// A key prepared for comparisons: its first bytes, padded, so that any word of them is one load.
pub(super) struct SearchKey<'k> {
    pub(super) bytes: &'k [u8],
    padded: [u8; SEARCH_BYTES],
}

impl<'k> SearchKey<'k> {
    #[inline]
    pub(super) fn new(bytes: &'k [u8]) -> SearchKey<'k> {
        let mut padded = [0; SEARCH_BYTES];
        let len = bytes.len().min(SEARCH_BYTES);
        padded[..len].copy_from_slice(&bytes[..len]);
        SearchKey { bytes, padded }
    }

    /// The word from `at` on, which is at most [`PREFIX_MAX`].
    #[inline]
    fn word(&self, at: usize) -> u64 {
        let at = at.min(PREFIX_MAX);
        u64::from_be_bytes(self.padded[at..at + 8].try_into().expect("eight bytes"))
    }
}

/// Eight bytes from `at` on, big-endian, missing ones zero.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8) {
        Some(full) => u64::from_be_bytes(full.try_into().expect("eight bytes")),
        None => {
            let rest = bytes.get(at..).unwrap_or(&[]);
            let mut padded = [0; 8];
            padded[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(padded)
        }
    }
}

fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The first `len` of 24 bytes' word `index`.
#[inline]
fn prefix_mask(len: usize, index: usize) -> u64 {
    let inside = len.saturating_sub(index * 8).min(8);
    if inside == 0 { 0 } else { u64::MAX << (64 - inside * 8) }
}

/// A node; an inner one is the beginning of an [`Inner`].
#[repr(C, align(64))]
pub(super) struct Node {
    version: AtomicU64,
    /// 0 = leaf. Never changes.
    level: u8,
    prefix_len: AtomicU8,
    count: AtomicU16,
    prefix: [AtomicU64; PREFIX_WORDS],
    heads: [AtomicU64; CAPACITY],
    keys: [AtomicPtr<Entry>; CAPACITY],
}

/// A node with children.
#[repr(C)]
pub(super) struct Inner {
    node: Node,
    children: [AtomicPtr<Node>; CAPACITY + 1],
}

impl Node {
    fn empty(level: u8) -> Node {
        Node {
            version: AtomicU64::new(0),
            level,
            prefix_len: AtomicU8::new(0),
            count: AtomicU16::new(0),
            prefix: [const { AtomicU64::new(0) }; PREFIX_WORDS],
            heads: [const { AtomicU64::new(0) }; CAPACITY],
            keys: [const { AtomicPtr::new(null_mut()) }; CAPACITY],
        }
    }

    pub(super) fn new_leaf() -> *mut Node {
        Box::into_raw(Box::new(Node::empty(0)))
    }

    pub(super) fn new_inner(level: u8, first_child: *mut Node) -> *mut Node {
        assert!(level > 0, "inner nodes are above leaves");
        let children = [const { AtomicPtr::new(null_mut()) }; CAPACITY + 1];
        children[0].store(first_child, Ordering::Relaxed);
        Box::into_raw(Box::new(Inner { node: Node::empty(level), children })).cast()
    }

    /// Frees the node alone, not what it points to.
    ///
    /// # Safety
    /// Nobody can reach it any more; called once.
    pub(super) unsafe fn free(node: *mut Node) {
        // SAFETY: allocated as what the level says, by the two constructors.
        unsafe {
            if (*node).level == 0 {
                drop(Box::from_raw(node))
            } else {
                drop(Box::from_raw(node.cast::<Inner>()))
            }
        }
    }

    #[inline]
    pub(super) fn is_leaf(&self) -> bool {
        self.level == 0
    }

    pub(super) fn level(&self) -> u8 {
        self.level
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        usize::from(self.count.load(Ordering::Acquire))
    }

    pub(super) fn is_full(&self) -> bool {
        self.count() == CAPACITY
    }

    #[inline]
    fn inner(&self) -> &Inner {
        assert!(self.level > 0, "leaves have no children");
        // SAFETY: nodes above the leaves are allocated as `Inner`, of which `Node` is the first field.
        unsafe { &*std::ptr::from_ref(self).cast::<Inner>() }
    }

    /// Child `index`; null when the node changed under the reader.
    #[inline]
    pub(super) fn child(&self, index: usize) -> *mut Node {
        self.inner().children[index].load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn key(&self, index: usize) -> *mut Entry {
        self.keys[index].load(Ordering::Acquire)
    }

    // Versions.

    /// The version, once nobody holds the lock.
    #[inline]
    pub(super) fn read_version(&self) -> Attempt<u64> {
        let mut rounds = 0;
        loop {
            let version = self.version.load(Ordering::Acquire);
            if version & LOCKED == 0 {
                return if version & OBSOLETE == 0 { Ok(version) } else { Err(Restart) };
            }
            rounds += 1;
            // The holder may have lost its core.
            if rounds % 64 == 0 { std::thread::yield_now() } else { spin_loop() }
        }
    }

    /// Whether nothing has changed since `version` was read.
    #[inline]
    pub(super) fn validate(&self, version: u64) -> Attempt<()> {
        fence(Ordering::Acquire);
        if self.version.load(Ordering::Relaxed) == version { Ok(()) } else { Err(Restart) }
    }

    /// Locks the node if nothing has changed since `version` was read.
    pub(super) fn lock(&self, version: u64) -> Attempt<Locked<'_>> {
        match self.version.compare_exchange(version, version | LOCKED, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                fence(Ordering::Release);
                Ok(Locked { node: self, version })
            }
            Err(_) => Err(Restart),
        }
    }

    // Searching. Results mean nothing before validation, or under the lock.

    /// Asks the cache for the heads before they are compared one after the other.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&self.version);
        for line in self.heads.chunks(HEADS_PER_LINE * 2) {
            // The hardware fetches lines in pairs.
            prefetch(&line[HEADS_PER_LINE / 2]);
        }
    }

    /// Number of keys less than `key`, and whether the next one equals it.
    #[inline]
    pub(super) fn lower_bound(&self, key: &SearchKey<'_>) -> (usize, bool) {
        self.search(key, false)
    }

    /// Number of keys less than or equal to `key`.
    #[inline]
    pub(super) fn upper_bound(&self, key: &SearchKey<'_>) -> usize {
        self.search(key, true).0
    }

    #[inline]
    fn search(&self, key: &SearchKey<'_>, after_equal: bool) -> (usize, bool) {
        let count = self.count();
        let prefix_len = usize::from(self.prefix_len.load(Ordering::Relaxed));
        match self.compare_prefix(key, prefix_len) {
            Compare::Less => return (0, false),
            Compare::Greater => return (count, false),
            Compare::Equal => {}
        }
        let head = key.word(prefix_len);
        let low = self.heads_below(head, count);
        if low == count || self.heads[low].load(Ordering::Relaxed) != head {
            return (low, false);
        }
        self.search_equal_heads(key, head, low, count, after_equal)
    }

    /// Number of heads less than `head`. The outcome of each comparison is a coin toss, so it becomes an offset, not a
    /// branch.
    #[inline]
    fn heads_below(&self, head: u64, count: usize) -> usize {
        if count == 0 {
            return 0;
        }
        // The index is in range anyway; said so that nothing has to be checked.
        let below = |index: usize| self.heads[index % CAPACITY].load(Ordering::Relaxed) < head;
        // The first comparison leaves a power of two of them: from then on halves are halves.
        let mut half = 1 << count.ilog2();
        let mut low = if below(half - 1) { count - half } else { 0 };
        while half > HEADS_PER_LINE {
            half /= 2;
            low += if below(low + half - 1) { half } else { 0 };
        }
        prefetch(&self.keys[low % CAPACITY]);
        while half > 1 {
            half /= 2;
            low += if below(low + half - 1) { half } else { 0 };
        }
        low + usize::from(below(low))
    }

    /// The search among the keys from `low` on, whose heads are not less than `head`, by their whole bytes.
    #[inline]
    fn search_equal_heads(
        &self,
        key: &SearchKey<'_>,
        head: u64,
        mut low: usize,
        mut high: usize,
        after_equal: bool,
    ) -> (usize, bool) {
        // Heads seldom repeat: the first one decides nearly always.
        let mut middle = low;
        while low < high {
            let order = match self.heads[middle].load(Ordering::Relaxed).cmp(&head) {
                // SAFETY: see the module's header: freed after the guard at the earliest.
                Compare::Equal => match unsafe { self.key(middle).as_ref() } {
                    Some(entry) => entry.key().cmp(key.bytes),
                    None => Compare::Less,
                },
                order => order,
            };
            match order {
                Compare::Less => low = middle + 1,
                Compare::Greater => high = middle,
                Compare::Equal => return (if after_equal { middle + 1 } else { middle }, true),
            }
            middle = (low + high) / 2;
        }
        (low, false)
    }

    #[inline]
    fn compare_prefix(&self, key: &SearchKey<'_>, prefix_len: usize) -> Compare {
        let (whole, rest) = (prefix_len / 8, prefix_len % 8);
        for (index, mine) in self.prefix.iter().enumerate().take(whole) {
            let (mine, theirs) = (mine.load(Ordering::Relaxed), key.word(index * 8));
            if theirs != mine {
                return theirs.cmp(&mine);
            }
        }
        if rest > 0 {
            let (mine, theirs) = (&self.prefix[whole % PREFIX_WORDS], key.word(whole * 8));
            match (theirs & prefix_mask(rest, 0)).cmp(&mine.load(Ordering::Relaxed)) {
                Compare::Equal => {}
                other => return other,
            }
        }
        // Equal as padded; a key shorter than the prefix is less than everything here.
        if key.bytes.len() < prefix_len { Compare::Less } else { Compare::Equal }
    }
}

/// A node locked by this thread; unlocks when dropped.
pub(super) struct Locked<'n> {
    node: &'n Node,
    version: u64,
}

impl std::ops::Deref for Locked<'_> {
    type Target = Node;
    fn deref(&self) -> &Node {
        self.node
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.node.version.store(self.version + CHANGE, Ordering::Release);
    }
}

impl Locked<'_> {
    /// Unlocks a node that has left the tree: whoever meets it begins again.
    pub(super) fn make_obsolete(self) {
        self.node.version.store((self.version + CHANGE) | OBSOLETE, Ordering::Release);
        std::mem::forget(self);
    }

    fn entry(&self, index: usize) -> &Entry {
        // SAFETY: under the lock the keys below `count` are in the tree.
        unsafe { &*self.node.key(index) }
    }

    fn set_count(&self, count: usize) {
        self.node.count.store(count as u16, Ordering::Release);
    }

    fn set_key(&self, index: usize, head: u64, entry: *mut Entry) {
        self.node.heads[index].store(head, Ordering::Relaxed);
        self.node.keys[index].store(entry, Ordering::Release);
    }

    fn move_key(&self, from: usize, to: usize) {
        self.set_key(to, self.node.heads[from].load(Ordering::Relaxed), self.node.key(from));
    }

    fn move_child(&self, from: usize, to: usize) {
        let child = self.node.child(from);
        self.node.inner().children[to].store(child, Ordering::Release);
    }

    /// Puts an entry at `index` of a leaf that is not full.
    pub(super) fn insert_entry(&self, key: &SearchKey<'_>, index: usize, entry: *mut Entry) {
        let count = self.node.count();
        assert!(count < CAPACITY, "a full node is split first");
        self.make_prefix_fit(key);
        for at in (index..count).rev() {
            self.move_key(at, at + 1);
        }
        let prefix_len = usize::from(self.node.prefix_len.load(Ordering::Relaxed));
        self.set_key(index, word_at(key.bytes, prefix_len), entry);
        self.set_count(count + 1);
        // A leaf that began with one key learns what its keys share.
        if count + 1 == CAPACITY / 4 {
            self.refresh_prefix();
        }
    }

    /// Puts a separator at `index` and the child to its right behind it.
    pub(super) fn insert_child(&self, separator: *mut Entry, right: *mut Node) {
        // SAFETY: the caller has just made the separator.
        let bytes = unsafe { (*separator).key() };
        let key = SearchKey::new(bytes);
        let index = self.node.lower_bound(&key).0;
        let count = self.node.count();
        for at in (index + 1..=count).rev() {
            self.move_child(at, at + 1);
        }
        self.node.inner().children[index + 1].store(right, Ordering::Release);
        self.insert_entry(&key, index, separator);
    }

    /// Takes out child `index` and the separator beside it; its keys' range goes to a neighbour.
    pub(super) fn remove_child(&self, index: usize) -> *mut Entry {
        let count = self.node.count();
        assert!(count > 0, "the last child stays");
        let separator_at = index.saturating_sub(1);
        let separator = self.node.key(separator_at);
        for at in separator_at + 1..count {
            self.move_key(at, at - 1);
        }
        for at in index + 1..=count {
            self.move_child(at, at - 1);
        }
        self.set_count(count - 1);
        separator
    }

    /// Keeps the entries of a leaf that `keep` says.
    pub(super) fn retain(&self, mut keep: impl FnMut(*mut Entry) -> bool) {
        let count = self.node.count();
        let mut kept = 0;
        for at in 0..count {
            if keep(self.node.key(at)) {
                if kept != at {
                    self.move_key(at, kept);
                }
                kept += 1;
            }
        }
        self.set_count(kept);
    }

    /// Moves the upper part of a full node into a new one. `at` is where the next key wants to go: a node that grows
    /// at its end is cut there, so that ascending keys leave full nodes behind. Returns the separator and the new node.
    pub(super) fn split(&self, at: usize) -> (*mut Entry, *mut Node) {
        let count = self.node.count();
        assert!(count == CAPACITY, "only full nodes are split");
        let cut = if at >= count - 1 { count - 1 } else { count / 2 };
        if self.node.is_leaf() { self.split_leaf(cut) } else { self.split_inner(cut.min(count - 2)) }
    }

    fn split_leaf(&self, cut: usize) -> (*mut Entry, *mut Node) {
        let right = Node::new_leaf();
        // SAFETY: just made, seen by nobody.
        let locked = unsafe { (*right).lock(0) }.expect("a new node is not locked");
        self.copy_keys(cut, &locked);
        let (low, high) = (self.entry(cut - 1).key(), self.entry(cut).key());
        let separator = Entry::allocate(&high[..(common_len(low, high) + 1).min(high.len())]).as_ptr();
        self.set_count(cut);
        self.refresh_prefix();
        locked.refresh_prefix();
        (separator, right)
    }

    /// The separator at `cut` moves up.
    fn split_inner(&self, cut: usize) -> (*mut Entry, *mut Node) {
        let separator = self.node.key(cut);
        let right = Node::new_inner(self.node.level, self.node.child(cut + 1));
        // SAFETY: just made, seen by nobody.
        let locked = unsafe { (*right).lock(0) }.expect("a new node is not locked");
        self.copy_keys(cut + 1, &locked);
        for at in cut + 2..=self.node.count() {
            locked.node.inner().children[at - cut - 1].store(self.node.child(at), Ordering::Release);
        }
        self.set_count(cut);
        self.refresh_prefix();
        locked.refresh_prefix();
        (separator, right)
    }

    /// Copies the keys from `from` on to the new node `to`, with this node's prefix.
    fn copy_keys(&self, from: usize, to: &Locked<'_>) {
        let count = self.node.count();
        for at in from..count {
            to.set_key(at - from, self.node.heads[at].load(Ordering::Relaxed), self.node.key(at));
        }
        for (mine, theirs) in self.node.prefix.iter().zip(&to.node.prefix) {
            theirs.store(mine.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        to.node.prefix_len.store(self.node.prefix_len.load(Ordering::Relaxed), Ordering::Relaxed);
        to.set_count(count - from);
    }

    /// Shortens the prefix to what `key` shares with it.
    fn make_prefix_fit(&self, key: &SearchKey<'_>) {
        let prefix_len = usize::from(self.node.prefix_len.load(Ordering::Relaxed));
        if self.node.compare_prefix(key, prefix_len) == Compare::Equal {
            return;
        }
        let shared = if self.node.count() == 0 { 0 } else { common_len(key.bytes, self.entry(0).key()) };
        self.set_prefix(key.bytes, shared.min(prefix_len));
    }

    /// Sets the prefix to all that the keys share, when that is more than now.
    fn refresh_prefix(&self) {
        let count = self.node.count();
        if count < 2 {
            return;
        }
        let (first, last) = (self.entry(0).key(), self.entry(count - 1).key());
        let shared = common_len(first, last).min(PREFIX_MAX);
        if shared > usize::from(self.node.prefix_len.load(Ordering::Relaxed)) {
            self.set_prefix(first, shared);
        }
    }

    fn set_prefix(&self, bytes: &[u8], len: usize) {
        for (index, word) in self.node.prefix.iter().enumerate() {
            word.store(word_at(bytes, index * 8) & prefix_mask(len, index), Ordering::Relaxed);
        }
        self.node.prefix_len.store(len as u8, Ordering::Relaxed);
        for at in 0..self.node.count() {
            self.node.heads[at].store(word_at(self.entry(at).key(), len), Ordering::Relaxed);
        }
    }
}
