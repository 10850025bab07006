//! Walking the whole tree for DBCC CHECKDB.
//!
//! Every page is read from the disk, past the cache, and verified as any reader verifies it; beyond that the
//! checker looks at what readers take on trust: keys in order and inside their parent's bounds, heads that match
//! their keys, row counts of inner pages, no page reached twice, and the space map naming exactly the pages
//! reached. A damaged page ends the walk below it, not the walk: its key range is reported and the rest is checked.

use std::ops::ControlFlow;

use super::frame::PagePin;
use super::merge::{entries_of, read_large};
use super::page::{Entry, Expect, Extent, Kind, Overflow, Page, PageRef, Rows};
use super::root::BaseRoot;
use super::space::bit;
use super::{BaseError, Result};

/// Sees every row (key with tree id, row bytes); `Break` ends the check early.
pub type CheckRow<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// Findings that are kept; the rest are counted.
const FINDINGS_MAX: usize = 1000;
/// Pages between two calls of the progress callback.
const PROGRESS_PAGES: u64 = 256;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFinding {
    /// The page.
    pub page: u32,
    /// What is wrong with it.
    pub reason: &'static str,
    /// First key of the range that cannot be trusted; empty with an empty `upper` when no rows are concerned.
    pub lower: Vec<u8>,
    /// End of that range; `None` means to the end of the file.
    pub upper: Option<Vec<u8>>,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Pages read and verified.
    pub pages: u64,
    /// Rows seen.
    pub rows: u64,
    /// What is wrong, in key order; at most a thousand.
    pub findings: Vec<CheckFinding>,
    /// All findings, those not kept included.
    pub findings_total: u64,
    /// False when the visitor ended the check.
    pub complete: bool,
}

/// The key range under a page.
#[derive(Clone, Copy)]
struct Bounds<'k> {
    lower: &'k [u8],
    upper: Option<&'k [u8]>,
}

/// One walk.
pub(super) struct Checker<'c, 'r> {
    root: &'c BaseRoot,
    /// Pages the space map calls used.
    live: Vec<u64>,
    reached: Vec<u64>,
    row: &'c mut CheckRow<'r>,
    progress: &'c mut dyn FnMut(u64, u64),
    report: CheckReport,
    stopped: bool,
}

impl<'c, 'r> Checker<'c, 'r> {
    pub fn new(
        root: &'c BaseRoot,
        live: Vec<u64>,
        row: &'c mut CheckRow<'r>,
        progress: &'c mut dyn FnMut(u64, u64),
    ) -> Checker<'c, 'r> {
        let reached = vec![0; live.len()];
        Checker { root, live, reached, row, progress, report: CheckReport::default(), stopped: false }
    }

    /// Verifies the pages of the space map.
    pub fn space_pages(&mut self, pages: &[PageRef]) {
        self.reach(0, NO_ROWS);
        self.reach(1, NO_ROWS);
        for at in pages {
            self.reach(at.page, NO_ROWS);
            let read = |kind| {
                let tag = self.root.file.tag;
                self.root.file.read_page(Expect { at: *at, tag, level: None, kind })
            };
            match read(Kind::Bitmap).or_else(|_| read(Kind::Directory)) {
                Ok(_) => self.report.pages += 1,
                Err(error) => self.find(at.page, reason_of(&error), NO_ROWS),
            }
        }
    }

    /// Verifies the tree, then compares what was reached with the space map.
    pub fn tree(mut self) -> Result<CheckReport> {
        if !self.root.tree.at.is_none() {
            let entry =
                Entry { key: Default::default(), child: self.root.tree.at, rows: self.root.tree.rows };
            self.node(&entry, self.root.tree.height - 1, Bounds { lower: &[], upper: None })?;
        }
        self.report.complete = !self.stopped;
        if self.report.complete && self.report.findings_total == 0 {
            self.compare_space();
        }
        (self.progress)(self.report.pages, self.report.pages);
        Ok(self.report)
    }

    fn node(&mut self, entry: &Entry, level: u32, bounds: Bounds<'_>) -> Result<()> {
        if self.stopped || !self.reach(entry.child.page, bounds) {
            return Ok(());
        }
        let page = match self.root.file.read_tree_page(entry.child, level) {
            Ok(page) => page,
            Err(error) => {
                self.find(entry.child.page, reason_of(&error), bounds);
                return Ok(());
            }
        };
        self.count_page();
        let found = if level == 0 { self.leaf(&page, bounds)? } else { self.inner(&page, level, bounds)? };
        if !self.stopped && found != entry.rows {
            self.find(page.id(), "its parent counts other rows", bounds);
        }
        Ok(())
    }

    fn inner(&mut self, page: &Page, level: u32, bounds: Bounds<'_>) -> Result<Rows> {
        let children = entries_of(page, bounds.lower);
        let mut rows = Rows::default();
        for (index, child) in children.iter().enumerate() {
            let upper = children.get(index + 1).map(|next| &next.key[..]).or(bounds.upper);
            let inside = index == 0 || child.key[..] > children[index - 1].key[..];
            if !inside || upper.is_some_and(|upper| upper <= &child.key[..]) {
                self.find(page.id(), "its separators are out of order or outside its range", bounds);
            }
            if index > 0 && !page.head_matches(index, page.separator_rest(index)) {
                self.find(page.id(), "a head does not match its separator", bounds);
            }
            rows.add(child.rows);
            self.node(child, level - 1, Bounds { lower: &child.key, upper })?;
        }
        Ok(rows)
    }

    fn leaf(&mut self, page: &PagePin, bounds: Bounds<'_>) -> Result<Rows> {
        let mut key = page.prefix().to_vec();
        let prefix = key.len();
        let mut before: Option<Vec<u8>> = None;
        for index in 0..page.len() {
            if self.stopped {
                break;
            }
            let (rest, value) = page.leaf_row(index);
            key.truncate(prefix);
            key.extend_from_slice(rest);
            let ordered = before.as_ref().is_none_or(|before| *before < key);
            let inside = &key[..] >= bounds.lower && bounds.upper.is_none_or(|upper| &key[..] < upper);
            if !ordered || !inside {
                self.find(page.id(), "its keys are out of order or outside its range", bounds);
            }
            if !page.head_matches(index, rest) {
                self.find(page.id(), "a head does not match its key", bounds);
            }
            let bytes = page.value(value);
            if value.overflow {
                self.large_row(page, &key, bytes, bounds)?;
            } else {
                self.visit(&key, bytes);
            }
            before = Some(key.clone());
        }
        Ok(page.leaf_rows())
    }

    fn large_row(&mut self, page: &Page, key: &[u8], descriptor: &[u8], bounds: Bounds<'_>) -> Result<()> {
        let extents = Overflow::decode(descriptor).map(|overflow| overflow.extents).unwrap_or_default();
        for Extent { first, pages } in extents {
            for page in first..first + pages {
                self.reach(page, bounds);
            }
        }
        match read_large(&self.root.file, page, descriptor) {
            Ok(row) => self.visit(key, &row),
            Err(BaseError::Corrupt { page, reason, .. }) => self.find(page, reason, bounds),
            Err(error) => self.find(page.id(), reason_of(&error), bounds),
        }
        Ok(())
    }

    fn visit(&mut self, key: &[u8], row: &[u8]) {
        self.report.rows += 1;
        self.stopped |= (self.row)(key, row).is_break();
    }

    fn count_page(&mut self) {
        self.report.pages += 1;
        if self.report.pages.is_multiple_of(PROGRESS_PAGES) {
            (self.progress)(self.report.pages, self.root.stats().used_pages);
        }
    }

    /// Marks a page as reached; false when it must not be walked.
    fn reach(&mut self, page: u32, bounds: Bounds<'_>) -> bool {
        if !bit(&self.live, page) {
            self.find(page, "the tree reaches it but the space map calls it free", bounds);
            return false;
        }
        if bit(&self.reached, page) {
            self.find(page, "it is reached from two places", bounds);
            return false;
        }
        self.reached[page as usize / 64] |= 1 << (page % 64);
        true
    }

    fn compare_space(&mut self) {
        let lost: Vec<u32> = (0..self.live.len() as u32 * 64)
            .filter(|&page| bit(&self.live, page) && !bit(&self.reached, page))
            .collect();
        for page in lost {
            self.find(page, "the space map calls it used but nothing reaches it", NO_ROWS);
        }
    }

    fn find(&mut self, page: u32, reason: &'static str, bounds: Bounds<'_>) {
        self.report.findings_total += 1;
        if self.report.findings.len() < FINDINGS_MAX {
            let (lower, upper) = (bounds.lower.to_vec(), bounds.upper.map(<[u8]>::to_vec));
            self.report.findings.push(CheckFinding { page, reason, lower, upper });
        }
    }
}

const NO_ROWS: Bounds<'static> = Bounds { lower: &[], upper: Some(&[]) };

fn reason_of(error: &BaseError) -> &'static str {
    match error {
        BaseError::Corrupt { reason, .. } => reason,
        _ => "it cannot be read",
    }
}
