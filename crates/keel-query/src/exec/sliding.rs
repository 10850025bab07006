//! Aggregates over a frame whose two ends only move forward, without taking anything out: the frame is what came up to some
//! row in the middle, of which every end of it is aggregated, and what came since, aggregated once.
//!
//! ```text
//!   rows     a   b   c   d   e   f          the frame is b … f
//!   suffix   abc bc  c │
//!   recent             │ def                its aggregate: bc and def
//! ```
//!
//! When the frame has left the middle behind, the suffixes are made anew from all that is in it: each row is taken in twice,
//! however long the frame is (Tangwongsan, Hirzel, Schneider, "Low-Latency Sliding-Window Aggregation in Worst-Case Constant
//! Time", 2017: the two stacks).

use super::aggregate::{Acc, DistinctSpill};
use super::cx::Cx;
use super::node::AggregateCall;
use crate::errors::Result;
use keel_types::Value;
use std::ops::Range;

/// One call over one partition.
pub struct Sliding {
    /// From the row in the middle backwards: the last is of the frame's first row.
    suffixes: Vec<Acc>,
    /// Where the suffixes end.
    middle: usize,
    /// From the middle to `end`.
    recent: Acc,
    end: usize,
}

impl Sliding {
    /// A frame that is empty so far.
    #[must_use]
    pub fn new(call: &AggregateCall) -> Sliding {
        Sliding { suffixes: Vec::new(), middle: 0, recent: Acc::new(call), end: 0 }
    }

    /// The aggregate of the rows of a frame, by their numbers in the partition; neither end lies before that of the frame
    /// asked for last. `value` gives the argument of a row in it.
    ///
    /// # Errors
    /// What taking in a value or finishing gives (an overflow).
    pub fn over(
        &mut self,
        frame: Range<usize>,
        call: &AggregateCall,
        value: impl Fn(usize) -> Value,
        cx: &mut Cx<'_>,
    ) -> Result<Value> {
        let mut take = |acc: &mut Acc, row: usize| {
            cx.slots[call.slot] = value(row);
            acc.step(call, cx, 0, &mut DistinctSpill::default())
        };
        if frame.start >= self.end {
            *self = Sliding { middle: frame.start, end: frame.start, ..Sliding::new(call) };
        }
        if frame.start > self.middle {
            self.suffixes.clear();
            for row in (frame.start..self.end).rev() {
                let mut suffix = Acc::new(call);
                take(&mut suffix, row)?;
                if let Some(behind) = self.suffixes.last() {
                    suffix.absorb(call, behind.clone())?;
                }
                self.suffixes.push(suffix);
            }
            (self.middle, self.recent) = (self.end, Acc::new(call));
        }
        self.suffixes.truncate(self.middle - frame.start);
        for row in self.end..frame.end {
            take(&mut self.recent, row)?;
        }
        self.end = self.end.max(frame.end);
        let Some(suffix) = self.suffixes.last() else { return self.recent.finish(call) };
        let mut whole = suffix.clone();
        whole.absorb(call, self.recent.clone())?;
        whole.finish(call)
    }
}
