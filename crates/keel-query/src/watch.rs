//! Who wants to be told that rows of a table have changed: the rows, as far as that can be said of one row alone.
//!
//! A change of a row is told when a watch reads one of the columns that have changed, and when the row, as it was or as it is, meets
//! what the watch asks of single columns. It may be told in vain, and never not at all.

use crate::context::DmlAction;
use keel_parser::ast::CompareOp;
use keel_types::Value;
use keel_types::key::{self, KeyColumn};
use smallvec::SmallVec;
use std::sync::Arc;

/// What is to be told, and by what number.
#[derive(Debug)]
pub struct Watch {
    /// Its number, growing.
    pub id: u64,
    /// `column_id`s that it reads.
    pub columns: Vec<i32>,
    /// What it asks of a row, all of it.
    pub conditions: Vec<Condition>,
}

/// A comparison of a column with a value. NULL meets none.
#[derive(Clone, Debug)]
pub struct Condition {
    /// `column_id`
    pub column: i32,
    /// How keys of the column's values are made.
    pub by: KeyColumn,
    /// How it is compared.
    pub op: CompareOp,
    /// The key of the value that it is compared with.
    pub key: Box<[u8]>,
}

impl Condition {
    /// Whether a value of the column meets it.
    #[must_use]
    pub fn is_met(&self, value: &Value) -> bool {
        if matches!(value, Value::Null) {
            return false;
        }
        let mut own = Vec::new();
        key::append(&mut own, value, &self.by);
        let order = own.as_slice().cmp(&self.key);
        match self.op {
            CompareOp::Equal => order.is_eq(),
            CompareOp::NotEqual => order.is_ne(),
            CompareOp::Less => order.is_lt(),
            CompareOp::LessOrEqual => order.is_le(),
            CompareOp::Greater => order.is_gt(),
            CompareOp::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl Watch {
    /// Whether a row may be one that it reads. `value` gives the value of a column; `None` where it is not at hand.
    pub(crate) fn may_read(&self, value: impl Fn(i32) -> Option<Value>) -> bool {
        self.conditions.iter().all(|c| value(c.column).is_none_or(|value| c.is_met(&value)))
    }
}

/// The watches of a table while a statement changes it.
#[derive(Default)]
pub(crate) struct Watching {
    /// Those that were not told yet.
    pub(crate) open: SmallVec<[Arc<Watch>; 1]>,
}

impl Watching {
    /// Tells those that a change concerns.
    pub(crate) fn tell(
        &mut self,
        txns: &mut dyn crate::context::Transactions,
        database: keel_base::DatabaseId,
        action: DmlAction,
        concerns: impl Fn(&Watch) -> bool,
    ) {
        self.open.retain(|watch| {
            let told = concerns(watch);
            if told {
                txns.noticed(database, watch.id, action);
            }
            !told
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_types::{Collation, SqlType};

    fn check(op: CompareOp, value: Value, expect: bool) {
        let by = KeyColumn::ascending(SqlType::Int, Collation::default());
        let mut key = Vec::new();
        key::append(&mut key, &Value::Int(5), &by);
        let condition = Condition { column: 1, by, op, key: key.into() };
        assert_eq!(condition.is_met(&value), expect, "{op:?} {value:?}");
    }

    #[test]
    fn a_condition_compares_as_the_column_does() {
        check(CompareOp::Equal, Value::Int(5), true);
        check(CompareOp::Equal, Value::Int(6), false);
        check(CompareOp::NotEqual, Value::Int(-5), true);
        check(CompareOp::Less, Value::Int(-300), true);
        check(CompareOp::LessOrEqual, Value::Int(5), true);
        check(CompareOp::Greater, Value::Int(300), true);
        check(CompareOp::GreaterOrEqual, Value::Int(4), false);
        check(CompareOp::NotEqual, Value::Null, false);
    }
}
