//! Nested loops: inner, left, semi and anti.

use super::count::Counts;
use super::cx::Cx;
use super::node::LoopNode;
use super::{Operator, set_null};
use crate::bind::rel::JoinKind;
use crate::errors::Result;
use std::sync::Arc;

/// Nested loops.
pub struct LoopOp {
    node: Arc<LoopNode>,
    outer: Box<dyn Operator>,
    inner: Box<dyn Operator>,
    /// The inner side is open for the current outer row.
    inside: bool,
    matched: bool,
}

impl LoopOp {
    /// An operator with its inputs.
    #[must_use]
    pub fn new(node: Arc<LoopNode>, counts: Option<&Counts>) -> LoopOp {
        let (outer, inner) = (node.outer.operator(counts), node.inner.operator(counts));
        LoopOp { node, outer, inner, inside: false, matched: false }
    }

    fn inner_match(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while self.inner.next(cx)? {
            match &self.node.on {
                Some(p) if !p.test(cx)? => cx.tick()?,
                _ => return Ok(true),
            }
        }
        Ok(false)
    }
}

impl Operator for LoopOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.inside = false;
        self.outer.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if !self.inside {
                if !self.outer.next(cx)? {
                    return Ok(false);
                }
                cx.tick()?;
                self.inner.open(cx)?;
                self.inside = true;
                self.matched = false;
            }
            let found = self.inner_match(cx)?;
            match self.node.kind {
                JoinKind::Semi | JoinKind::Anti => {
                    self.inside = false;
                    if found == (self.node.kind == JoinKind::Semi) {
                        return Ok(true);
                    }
                }
                JoinKind::Inner if found => return Ok(true),
                _ if found => {
                    self.matched = true;
                    return Ok(true);
                }
                _ => {
                    self.inside = false;
                    if self.node.kind == JoinKind::Left && !self.matched {
                        set_null(cx, &self.node.inner_slots);
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn close(&mut self) {
        self.outer.close();
        self.inner.close();
    }
}
