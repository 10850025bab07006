//! Partition functions and schemes: into which of some ranges a value falls, and where the ranges are kept.
//!
//! A partitioned table or index has one tree like any other: a partition is the rows whose value in the partitioning column
//! falls into a range. What is asked of partitions (`$PARTITION`, counts, TRUNCATE, SWITCH) is answered by looking the value
//! up among the function's boundaries.
//!
//! ```text
//!   boundaries      10      20
//!   LEFT        …..10] 11..20] 21…     a boundary belongs to the range before it
//!   RIGHT       …...9 [10..19 [20…     a boundary belongs to the range behind it
//!   number          1       2    3
//! ```
//!
//! NULL is less than every value. The definitions are stored in the catalog (see [`crate::catalog`]).

use keel_types::key::{self, KeyColumn};
use keel_types::{Collation, SqlType, Value, column};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// The greatest number of partitions.
pub const MAX_PARTITIONS: usize = 15_000;

/// CREATE PARTITION FUNCTION.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionFunctionDef {
    /// `function_id`, from 65536.
    pub function_id: i32,
    /// Name.
    pub name: String,
    /// Type of the parameter.
    pub ty: SqlType,
    /// Collation of the parameter, when it is of a character type.
    pub collation: Collation,
    /// RANGE RIGHT.
    pub right: bool,
    /// Encoded boundary values (`keel_types::column`), least first; `None` is NULL.
    pub boundaries: Vec<Option<Vec<u8>>>,
    /// create_date.
    pub created: i64,
    /// modify_date.
    pub modified: i64,
    /// The boundaries as bytes that compare as they do; made when first asked for.
    #[serde(skip)]
    keys: OnceLock<Vec<Vec<u8>>>,
}

impl PartitionFunctionDef {
    /// A function without boundaries.
    #[must_use]
    pub fn new(
        function_id: i32,
        name: String,
        ty: SqlType,
        collation: Collation,
        right: bool,
    ) -> PartitionFunctionDef {
        let (boundaries, keys) = (Vec::new(), OnceLock::new());
        PartitionFunctionDef {
            function_id,
            name,
            ty,
            collation,
            right,
            boundaries,
            created: 0,
            modified: 0,
            keys,
        }
    }

    /// Number of partitions.
    #[must_use]
    pub fn fanout(&self) -> usize {
        self.boundaries.len() + 1
    }

    /// The boundary values, least first.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        let decode = |b: &Option<Vec<u8>>| b.as_ref().map_or(Value::Null, |b| column::decode(b, &self.ty));
        self.boundaries.iter().map(decode).collect()
    }

    /// Number, from 1, of the partition that a value of the parameter's type falls into.
    #[must_use]
    pub fn partition_of(&self, value: &Value) -> usize {
        let key = self.key(value);
        let keys = self.keys();
        1 + keys.partition_point(|b| if self.right { *b <= key } else { *b < key })
    }

    /// Where a value is among the boundaries, or where it would be.
    pub fn find(&self, value: &Value) -> Result<usize, usize> {
        self.keys().binary_search(&self.key(value))
    }

    /// The function with one boundary more.
    #[must_use]
    pub fn with(&self, at: usize, value: &Value) -> PartitionFunctionDef {
        let mut new = PartitionFunctionDef { keys: OnceLock::new(), ..self.clone() };
        let encoded = match value {
            Value::Null => None,
            value => {
                let mut bytes = Vec::new();
                column::encode(value, &self.ty, &mut bytes);
                Some(bytes)
            }
        };
        new.boundaries.insert(at, encoded);
        new
    }

    /// The function with one boundary less.
    #[must_use]
    pub fn without(&self, at: usize) -> PartitionFunctionDef {
        let mut new = PartitionFunctionDef { keys: OnceLock::new(), ..self.clone() };
        new.boundaries.remove(at);
        new
    }

    fn keys(&self) -> &[Vec<u8>] {
        self.keys.get_or_init(|| self.values().iter().map(|v| self.key(v)).collect())
    }

    fn key(&self, value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        key::append(
            &mut bytes,
            value,
            &KeyColumn { ty: self.ty, collation: self.collation, descending: false },
        );
        bytes
    }
}

/// CREATE PARTITION SCHEME.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionSchemeDef {
    /// `data_space_id`, from 65601.
    pub data_space_id: i32,
    /// Name.
    pub name: String,
    /// Its partition function.
    pub function_id: i32,
    /// Filegroup of each partition, as named.
    pub filegroups: Vec<String>,
    /// NEXT USED.
    pub next_used: Option<String>,
}

/// `ON scheme(column)` of a table or index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionedBy {
    /// `data_space_id` of the scheme.
    pub scheme: i32,
    /// `column_id` of the partitioning column.
    pub column: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(right: bool, values: &[Value]) -> PartitionFunctionDef {
        let empty = PartitionFunctionDef::new(65536, "pf".into(), SqlType::Int, Collation::default(), right);
        values.iter().fold(empty, |f, v| f.with(f.find(v).unwrap_err(), v))
    }

    #[test]
    fn a_boundary_belongs_to_the_side_that_was_asked_for() {
        let values = [Value::Int(20), Value::Int(10), Value::Int(-5)];
        let of = |right: bool, n| function(right, &values).partition_of(&Value::Int(n));
        assert_eq!([-6, -5, -4, 10, 11, 20, 21].map(|n| of(false, n)), [1, 1, 2, 2, 3, 3, 4]);
        assert_eq!([-6, -5, -4, 9, 10, 19, 20].map(|n| of(true, n)), [1, 2, 2, 2, 3, 3, 4]);
    }

    #[test]
    fn null_comes_first_unless_it_is_a_boundary_on_the_right() {
        let values = [Value::Int(1), Value::Null];
        assert_eq!(function(true, &values).partition_of(&Value::Null), 2);
        assert_eq!(function(false, &values).partition_of(&Value::Null), 1);
        assert_eq!(function(false, &values).partition_of(&Value::Int(0)), 2);
        assert_eq!(function(true, &values[..1]).partition_of(&Value::Null), 1);
    }

    #[test]
    fn a_stored_function_finds_the_same_partitions() {
        let f = function(false, &[Value::Int(7), Value::Null]);
        assert_eq!(f.partition_of(&Value::Int(8)), 3);
        let json = serde_json::to_string(&f).unwrap();
        let read: PartitionFunctionDef = serde_json::from_str(&json).unwrap();
        assert_eq!(read.partition_of(&Value::Int(8)), 3);
        assert_eq!(read.without(0).partition_of(&Value::Int(8)), 2);
    }
}
