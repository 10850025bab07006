//! What a statement says about its result before the first row: [`ColumnMeta`].

use crate::catalog::ObjectId;
use keel_base::DatabaseId;
use keel_types::{Collation, SqlType};

/// One column of a result set, as drivers ask for it (COLMETADATA, `sp_describe_first_result_set`).
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnMeta {
    /// Name; empty when the column has none.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Collation of character types.
    pub collation: Collation,
    /// Whether a NULL can appear.
    pub nullable: bool,
    /// Comes straight from an IDENTITY column.
    pub identity: bool,
    /// Comes straight from a computed column.
    pub computed: bool,
    /// Comes straight from a column that can be updated through a cursor.
    pub updatable: bool,
    /// The base table and column, when it comes straight from one.
    pub source: Option<Box<SourceColumn>>,
}

/// Where a result column comes from (browse mode, cursor updates, `sp_describe_first_result_set`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    /// The table's database.
    pub database: DatabaseId,
    /// Its object id.
    pub object_id: ObjectId,
    /// Its schema.
    pub schema_id: i32,
    /// Table name.
    pub table: String,
    /// Column name.
    pub column: String,
    /// `column_id`.
    pub column_id: i32,
}

impl ColumnMeta {
    /// A plain column: nullable, not updatable, without a source.
    #[must_use]
    pub fn new(name: impl Into<String>, ty: SqlType) -> ColumnMeta {
        ColumnMeta {
            name: name.into(),
            ty,
            collation: Collation::default(),
            nullable: true,
            identity: false,
            computed: false,
            updatable: false,
            source: None,
        }
    }
}
