//! What cursors of the API (`sp_cursoropen` and its kin) have besides those of T-SQL: negotiated kinds, and a window of
//! rows instead of a current row.
//!
//! ```text
//!   asked (scrollopt, ccopt) ──negotiate──► Kind, Concurrency, told back in the same parameters
//!   sp_cursorfetch type, row, n ──Window::fetch──► rows start .. start + len of the cursor's 1 ..= total
//! ```
//!
//! Rows, keys and positioned changes are [`crate::cursor`]'s: there is one kind of cursor, and this is its remote control.
//! A keyset cursor reads each row again by its key when it is fetched; a static or fast-forward one shows what was there
//! when it was opened. A dynamic one looks for its rows when they are fetched, and so does a forward-only one; where the query does not
//! allow it, a dynamic one opens as KEYSET, and says so, and a forward-only one keeps its rows as a keyset cursor does.

use crate::errors;
use keel_types::error::Result;

/// Bits of `scrollopt`.
pub mod scroll {
    /// KEYSET
    pub const KEYSET: i32 = 0x0001;
    /// DYNAMIC
    pub const DYNAMIC: i32 = 0x0002;
    /// FORWARD_ONLY
    pub const FORWARD_ONLY: i32 = 0x0004;
    /// STATIC
    pub const STATIC: i32 = 0x0008;
    /// FAST_FORWARD
    pub const FAST_FORWARD: i32 = 0x0010;
    /// Declarations and values of parameters follow.
    pub const PARAMETERIZED: i32 = 0x1000;
    /// The first rows come with the answer to the opening.
    pub const AUTO_FETCH: i32 = 0x2000;
    /// The cursor closes itself behind its last row.
    pub const AUTO_CLOSE: i32 = 0x4000;
    /// Another kind than the one asked for must be among the acceptable ones.
    pub const CHECK_ACCEPTED: i32 = 0x8000;
    /// How far an acceptable kind's bit is from the kind's.
    pub const ACCEPTABLE_SHIFT: u32 = 16;
    /// The kinds.
    pub const KINDS: i32 = 0x001F;
}

/// Bits of `ccopt`.
pub mod concurrency {
    /// READ_ONLY
    pub const READ_ONLY: i32 = 0x0001;
    /// SCROLL_LOCKS
    pub const SCROLL_LOCKS: i32 = 0x0002;
    /// OPTIMISTIC, by row version
    pub const OPTIMISTIC: i32 = 0x0004;
    /// OPTIMISTIC, by values
    pub const OPTIMISTIC_VALUES: i32 = 0x0008;
    /// What cannot be a cursor is executed as it is.
    pub const ALLOW_DIRECT: i32 = 0x2000;
    /// Another concurrency than the one asked for must be among the acceptable ones.
    pub const CHECK_ACCEPTED: i32 = 0x8000;
    /// The concurrencies.
    pub const KINDS: i32 = 0x000F;
}

/// Bits of `optype` of `sp_cursor`.
pub mod operation {
    /// UPDATE
    pub const UPDATE: i32 = 0x01;
    /// DELETE
    pub const DELETE: i32 = 0x02;
    /// INSERT
    pub const INSERT: i32 = 0x04;
    /// REFRESH
    pub const REFRESH: i32 = 0x08;
    /// LOCK
    pub const LOCK: i32 = 0x10;
    /// SETPOSITION
    pub const SET_POSITION: i32 = 0x20;
    /// ABSOLUTE: the row number counts from the cursor's first row, not the window's.
    pub const ABSOLUTE: i32 = 0x40;
    /// Every bit that means something.
    pub const ALL: i32 = 0x7F;
}

/// ROWSTAT of a row that was read.
pub const ROW_FETCHED: i64 = 1;
/// ROWSTAT of a row that is no longer there.
pub const ROW_MISSING: i64 = 2;

/// What a cursor became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// One bit of [`scroll::KINDS`].
    pub kind: i32,
    /// One bit of [`concurrency::KINDS`].
    pub concurrency: i32,
}

/// Decides kind and concurrency. `keyed` says whether the query's rows can be found again by a key, `walks` whether the next ones can be looked
/// for in their table. 16955 when what it would be is not acceptable.
pub fn negotiate(scroll_options: i32, concurrency_options: i32, keyed: bool, walks: bool) -> Result<Agreed> {
    let lowest = |bits: i32, or: i32| if bits == 0 { or } else { bits & bits.wrapping_neg() };
    let asked = lowest(scroll_options & scroll::KINDS, scroll::KEYSET);
    let kind = match asked {
        scroll::DYNAMIC if walks => scroll::DYNAMIC,
        scroll::KEYSET | scroll::DYNAMIC if keyed => scroll::KEYSET,
        scroll::KEYSET | scroll::DYNAMIC => scroll::STATIC,
        other => other,
    };
    let accepted = |options: i32, kinds: i32| options & kinds | options >> scroll::ACCEPTABLE_SHIFT & kinds;
    if scroll_options & scroll::CHECK_ACCEPTED != 0 && accepted(scroll_options, scroll::KINDS) & kind == 0 {
        return Err(errors::cursor_not_acceptable());
    }
    let wanted = lowest(concurrency_options & concurrency::KINDS, concurrency::OPTIMISTIC);
    let fixed = !keyed || matches!(kind, scroll::STATIC | scroll::FAST_FORWARD);
    let concurrency = if fixed { concurrency::READ_ONLY } else { wanted };
    if concurrency_options & concurrency::CHECK_ACCEPTED != 0
        && accepted(concurrency_options, concurrency::KINDS) & concurrency == 0
    {
        return Err(errors::cursor_not_acceptable());
    }
    Ok(Agreed { kind, concurrency })
}

/// `fetchtype` of `sp_cursorfetch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchKind {
    /// FIRST
    First,
    /// NEXT
    Next,
    /// PREV: a window that would begin before the first row is moved to it.
    Previous,
    /// PREV_NOADJUST: such a window is cut instead.
    PreviousCut,
    /// LAST
    Last,
    /// ABSOLUTE
    Absolute,
    /// RELATIVE
    Relative,
    /// REFRESH: the same window again.
    Refresh,
    /// INFO: no rows, only where the cursor is.
    Info,
}

impl FetchKind {
    /// By its code; `None` for what is none.
    #[must_use]
    pub fn of(code: i64) -> Option<FetchKind> {
        const SKIP_CONCURRENCY: i64 = 0x0400;
        Some(match code & !SKIP_CONCURRENCY {
            0x0001 => FetchKind::First,
            0x0002 => FetchKind::Next,
            0x0004 => FetchKind::Previous,
            0x0008 => FetchKind::Last,
            0x0010 => FetchKind::Absolute,
            0x0020 => FetchKind::Relative,
            0x0080 => FetchKind::Refresh,
            0x0100 => FetchKind::Info,
            0x0200 => FetchKind::PreviousCut,
            _ => return None,
        })
    }

    /// As error 16911 spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FetchKind::First => "FETCH_FIRST",
            FetchKind::Next => "FETCH_NEXT",
            FetchKind::Previous => "FETCH_PREV",
            FetchKind::PreviousCut => "FETCH_PREV_NOADJUST",
            FetchKind::Last => "FETCH_LAST",
            FetchKind::Absolute => "FETCH_ABSOLUTE",
            FetchKind::Relative => "FETCH_RELATIVE",
            FetchKind::Refresh => "FETCH_REFRESH",
            FetchKind::Info => "FETCH_INFO",
        }
    }
}

/// The rows last fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first of them, from 1; 0 before the first row, total + 1 behind the last.
    pub start: i64,
    /// How many there are.
    pub len: i64,
    /// How many were asked for: NEXT begins so many rows further on.
    asked: i64,
}

impl Window {
    /// The rows of a cursor that keeps no others than those last fetched; without any it is at 0 or 1.
    #[must_use]
    pub fn of_all(rows: usize, start: usize) -> Window {
        Window { start: start as i64, len: rows as i64, asked: rows as i64 }
    }

    /// Moves by ODBC's rules for rowsets. True when a move that would have ended before the first row was made to end on
    /// it (return status 2 of `sp_cursorfetch`).
    pub fn fetch(&mut self, kind: FetchKind, row: i64, count: i64, total: i64) -> bool {
        let (start, after) = (self.start, total + 1);
        let mut adjusted = false;
        let mut count = count;
        let mut to = match kind {
            FetchKind::Refresh | FetchKind::Info => return false,
            FetchKind::First if count == 0 => 0,
            FetchKind::First => 1,
            FetchKind::Last if count == 0 => after,
            FetchKind::Last => (after - count).max(1),
            FetchKind::Next if start == 0 => 1,
            FetchKind::Next => start + self.asked,
            FetchKind::Previous | FetchKind::PreviousCut => start - count,
            FetchKind::Absolute if row < 0 => after + row,
            FetchKind::Absolute => row,
            FetchKind::Relative if start == after && row < 0 => after + row,
            FetchKind::Relative => start + row,
        };
        if to < 1 && start > 1 && kind == FetchKind::PreviousCut {
            (to, count) = (1, start - 1);
        } else if to < 1 {
            let near = match kind {
                FetchKind::Previous => start > 1,
                FetchKind::Absolute => row < 0 && row.saturating_neg() <= count,
                FetchKind::Relative => start > 1 && row.saturating_neg() <= count,
                _ => false,
            };
            adjusted = near && total > 0;
            to = i64::from(adjusted);
        }
        self.start = to.clamp(0, after);
        self.asked = count;
        self.len = if self.start == 0 { 0 } else { count.clamp(0, after - self.start) };
        adjusted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(total: i64, moves: &[(FetchKind, i64, i64)]) -> Vec<(i64, i64, bool)> {
        let mut window = Window::default();
        let step = |&(kind, row, count): &(FetchKind, i64, i64)| {
            let adjusted = window.fetch(kind, row, count, total);
            (window.start, window.len, adjusted)
        };
        moves.iter().map(step).collect()
    }

    #[test]
    fn windows_move_as_odbc_describes_rowsets() {
        use FetchKind::{Absolute, First, Last, Next, Previous, PreviousCut, Refresh, Relative};
        let forward = walk(5, &[(Next, 0, 2), (Next, 0, 2), (Next, 0, 2), (Next, 0, 2), (Previous, 0, 2)]);
        assert_eq!(forward, [(1, 2, false), (3, 2, false), (5, 1, false), (6, 0, false), (4, 2, false)]);
        let ends = walk(5, &[(First, 0, 0), (Next, 0, 3), (Last, 0, 0), (Last, 0, 3), (Refresh, 0, 0)]);
        assert_eq!(ends, [(0, 0, false), (1, 3, false), (6, 0, false), (3, 3, false), (3, 3, false)]);
        let back = walk(5, &[(Absolute, 4, 1), (Previous, 0, 9), (Absolute, 4, 1), (PreviousCut, 0, 9)]);
        assert_eq!(back, [(4, 1, false), (1, 5, true), (4, 1, false), (1, 3, false)]);
        let far = walk(5, &[(Absolute, -6, 9), (Absolute, -6, 1), (Absolute, 2, 1), (Relative, -2, 9)]);
        assert_eq!(far, [(1, 5, true), (0, 0, false), (2, 1, false), (1, 5, true)]);
        assert_eq!(walk(0, &[(First, 0, 3), (Previous, 0, 3)]), [(1, 0, false), (0, 0, false)]);
    }

    proptest::proptest! {
        #[test]
        fn a_window_stays_within_the_rows(
            total in 0i64..20,
            moves in proptest::collection::vec((0usize..9, -30i64..30, 0i64..30), 1..30),
        ) {
            let mut window = Window::default();
            for (kind, row, count) in moves {
                let kind = FetchKind::of([1, 2, 4, 8, 0x10, 0x20, 0x80, 0x100, 0x200][kind]).expect("a fetch type");
                window.fetch(kind, row, count, total);
                proptest::prop_assert!((0..=total + 1).contains(&window.start));
                proptest::prop_assert!(window.len >= 0);
                proptest::prop_assert!(window.len == 0 || window.start >= 1 && window.start + window.len <= total + 1);
            }
        }
    }

    #[test]
    fn kinds_are_negotiated() {
        let kind_of = |s, c, keyed, walks| {
            negotiate(s, c, keyed, walks).map(|a| (a.kind, a.concurrency)).map_err(|e| e.number)
        };
        let agreed = |s, c, keyed| kind_of(s, c, keyed, false);
        assert_eq!(agreed(0, 0, true), Ok((scroll::KEYSET, concurrency::OPTIMISTIC)));
        assert_eq!(agreed(scroll::DYNAMIC, 2, true), Ok((scroll::KEYSET, concurrency::SCROLL_LOCKS)));
        assert_eq!(kind_of(scroll::DYNAMIC, 2, true, true), Ok((scroll::DYNAMIC, concurrency::SCROLL_LOCKS)));
        assert_eq!(agreed(scroll::KEYSET, 4, false), Ok((scroll::STATIC, concurrency::READ_ONLY)));
        assert_eq!(agreed(scroll::FAST_FORWARD, 1, true), Ok((scroll::FAST_FORWARD, concurrency::READ_ONLY)));
        assert_eq!(agreed(scroll::DYNAMIC | scroll::CHECK_ACCEPTED, 1, true), Err(16955));
        let keyset_too =
            scroll::DYNAMIC | scroll::CHECK_ACCEPTED | scroll::KEYSET << scroll::ACCEPTABLE_SHIFT;
        assert_eq!(agreed(keyset_too, 1, true), Ok((scroll::KEYSET, concurrency::READ_ONLY)));
    }
}
