//! Parts of a plan that stand in it more than once: whoever is opened first computes the rows, all read them. Rows that memory does
//! not hold are in a file.

use super::count::Counts;
use super::cx::Cx;
use super::node::{SharedNode, SharedPart};
use super::{Operator, restore, row_bytes, save};
use crate::errors::Result;
use crate::work::{Run, RunReader, RunWriter};
use keel_types::Value;
use std::sync::Arc;

/// The rows of a part.
#[derive(Clone)]
pub enum SharedRows {
    /// In memory.
    Kept(Arc<Vec<Vec<Value>>>),
    /// In a file.
    Written(StoredRows),
}

/// Rows in a file, opaque outside of the crate.
#[derive(Clone)]
pub struct StoredRows(Run);

impl SharedRows {
    /// Runs the part to its end.
    fn compute(mut input: Box<dyn Operator>, part: &SharedPart, cx: &mut Cx<'_>) -> Result<SharedRows> {
        let rows = Self::collect(&mut *input, part, cx);
        input.close();
        rows
    }

    fn collect(input: &mut dyn Operator, part: &SharedPart, cx: &mut Cx<'_>) -> Result<SharedRows> {
        let (mut rows, mut own) = (Vec::new(), 0);
        let mut file: Option<RunWriter> = None;
        input.open(cx)?;
        while input.next(cx)? {
            cx.tick()?;
            if let Some(file) = &mut file {
                file.row(part.slots.iter().map(|s| &cx.slots[*s]))?;
                continue;
            }
            let row = save(cx, &part.slots);
            let bytes = row_bytes(&row);
            own += bytes;
            let fits = cx.fits(bytes, own);
            rows.push(row);
            if !fits {
                let mut writer = RunWriter::new(&cx.work_space()?.file()?);
                for row in rows.drain(..) {
                    writer.row(row.iter())?;
                }
                cx.discharge(std::mem::take(&mut own));
                file = Some(writer);
            }
        }
        Ok(match file {
            Some(file) => SharedRows::Written(StoredRows(file.finish()?)),
            None => SharedRows::Kept(Arc::new(rows)),
        })
    }
}

/// Where one place is.
enum Position {
    Closed,
    Kept(Arc<Vec<Vec<Value>>>, usize),
    Written(RunReader),
}

/// One place that reads a part.
pub struct SharedOp {
    node: Arc<SharedNode>,
    position: Position,
    row: Vec<Value>,
    /// What computes the rows if this place is the first, where that is counted; else it is made when it is needed.
    counted: Option<Box<dyn Operator>>,
}

impl SharedOp {
    /// An operator for this place.
    #[must_use]
    pub fn new(node: Arc<SharedNode>, counts: Option<&Counts>) -> SharedOp {
        let counted = counts.map(|_| node.of.input().operator(counts));
        SharedOp { node, position: Position::Closed, row: Vec::new(), counted }
    }
}

impl Operator for SharedOp {
    fn open(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let number = self.node.of.number;
        let known = cx.rare().shared.get(number).cloned().flatten();
        let rows = match known {
            Some(rows) => rows,
            None => {
                let input = self.counted.take().unwrap_or_else(|| self.node.of.input().operator(None));
                let rows = SharedRows::compute(input, &self.node.of, cx)?;
                let shared = &mut cx.rare().shared;
                if shared.len() <= number {
                    shared.resize(number + 1, None);
                }
                shared[number] = Some(rows.clone());
                rows
            }
        };
        self.position = match rows {
            SharedRows::Kept(rows) => Position::Kept(rows, 0),
            SharedRows::Written(StoredRows(run)) => Position::Written(RunReader::new(&run)),
        };
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        match &mut self.position {
            Position::Closed => Ok(false),
            Position::Kept(rows, at) => {
                let Some(row) = rows.get(*at) else { return Ok(false) };
                *at += 1;
                restore(cx, &self.node.slots, row);
                Ok(true)
            }
            Position::Written(reader) => {
                let more = reader.next(&mut self.row)?;
                if more {
                    restore(cx, &self.node.slots, &self.row);
                }
                Ok(more)
            }
        }
    }

    fn close(&mut self) {
        self.position = Position::Closed;
        self.row = Vec::new();
    }
}
