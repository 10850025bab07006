//! NEXT VALUE FOR: the values of sequences, one in each row however often it is asked for.

use super::{metadata, text};
use crate::catalog::Named;
use crate::engine::DatabaseEntry;
use crate::session::info::Info;
use keel_base::DatabaseId;
use keel_query::catalog::{ObjectId, SequenceDef};
use keel_types::error::Result;
use keel_types::{Decimal, SqlError, SqlType, Value};
use smallvec::SmallVec;

/// The values that sequences have in the row being made.
#[derive(Debug, Default)]
pub struct CurrentRow {
    /// Which rows they are, by the binder's number.
    row: i64,
    values: SmallVec<[CurrentValue; 1]>,
}

#[derive(Debug)]
struct CurrentValue {
    sequence: (DatabaseId, ObjectId),
    value: Value,
    /// The places in the row that have it. One that asks again asks for the next row.
    places: SmallVec<[i64; 4]>,
}

impl CurrentRow {
    /// The value that another place of the same row was given.
    fn shared(&mut self, row: i64, sequence: (DatabaseId, ObjectId), place: i64) -> Option<Value> {
        if self.row != row {
            self.row = row;
            self.values.clear();
        }
        let at = self.values.iter().position(|v| v.sequence == sequence)?;
        if self.values[at].places.contains(&place) {
            self.values.swap_remove(at);
            return None;
        }
        self.values[at].places.push(place);
        Some(self.values[at].value.clone())
    }
}

/// NEXT VALUE FOR: the sequence's name, the rows it is asked in, the place in them.
pub(super) fn next_value_for(info: &Info, args: &[Value]) -> Result<Value> {
    let name = text(args, 0).unwrap_or("");
    let Some((entry, Named::Sequence(s))) = metadata::find(info, name) else {
        return Err(crate::errors::invalid_object_name(metadata::split_name(name).join(".")));
    };
    let [_, Value::Int(row), Value::Int(place)] = args else { return advance(&entry, &s) };
    let sequence = (entry.id, s.object_id);
    if let Some(value) = info.sequence_row.borrow_mut().shared(*row, sequence, *place) {
        return Ok(value);
    }
    let value = advance(&entry, &s)?;
    let places = SmallVec::from_slice(&[*place]);
    info.sequence_row.borrow_mut().values.push(CurrentValue { sequence, value: value.clone(), places });
    Ok(value)
}

fn advance(entry: &DatabaseEntry, s: &SequenceDef) -> Result<Value> {
    let value = entry.sequence_advance(s.object_id, s.start, s.increment, 1)?;
    let of_its_type = |n: i64| match s.ty {
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => Value::Decimal(Decimal::new(n.into(), 0)),
        _ => Value::Int(n),
    };
    if (s.minimum..=s.maximum).contains(&value) {
        return Ok(of_its_type(value));
    }
    if !s.cycle {
        entry.sequence_restart(s.object_id, value, s.increment)?;
        return Err(SqlError::new(
            11728,
            16,
            1,
            format!(
                "The sequence object '{}' has reached its minimum or maximum value. Restart the sequence object to allow new values to be generated.",
                s.name
            ),
        ));
    }
    let first = if s.increment < 0 { s.maximum } else { s.minimum };
    entry.sequence_restart(s.object_id, first, s.increment)?;
    Ok(of_its_type(entry.sequence_advance(s.object_id, s.start, s.increment, 1)?))
}
