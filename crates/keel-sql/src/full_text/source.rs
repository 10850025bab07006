//! A table as the crawl reads it: its rows in the order of their tree, the row of a full-text key, the texts of a row's columns.

use keel_node::{Direction, ReadView, Transaction, TxnError};
use keel_query::catalog::{ColumnDef, IndexKind, TableDef};
use keel_query::full_text::{self, FullTextDef};
use keel_store::row;
use keel_text::document;
use keel_types::key::{self, KeyColumn};
use keel_types::{SqlType, Value, column};
use std::ops::Bound;

/// See the module.
pub(super) struct Source<'t> {
    pub table: &'t TableDef,
    pub def: &'t FullTextDef,
    /// The key's column, and how it stands in keys.
    key: (&'t ColumnDef, KeyColumn),
}

/// A row as a document.
pub(super) struct Row {
    /// Its full-text key.
    pub key: Vec<u8>,
    /// The key's value as it is stored.
    pub value: Vec<u8>,
    /// The texts of its columns that have any.
    pub texts: Vec<(i32, String)>,
    /// Columns whose values are documents that cannot be read, or not to their ends.
    pub unread: u64,
    /// Its rowversion; 0 without one.
    pub row_version: u64,
    /// Its bytes as it is stored.
    pub size: usize,
}

/// Rows behind a place, and the last one's place; `None` at the end.
pub(super) type Behind = (Vec<Row>, Option<Vec<u8>>);

impl<'t> Source<'t> {
    /// `None` when the key index is gone, which nobody may do.
    pub fn of(table: &'t TableDef, def: &'t FullTextDef) -> Option<Source<'t>> {
        let part = def.key_index(table)?.key.first()?;
        let c = &table.columns[def.key_column(table)?];
        let key = KeyColumn { ty: c.ty, collation: c.collation, descending: part.descending };
        Some(Source { table, def, key: (c, key) })
    }

    /// The last row's place in the clustered index or heap.
    pub fn last_place(&self, txn: &Transaction, view: &ReadView) -> Result<Option<Vec<u8>>, TxnError> {
        let (all, tree) = (Bound::Unbounded, self.table.clustered().tree);
        let mut cursor = txn.scan(view, tree, all, all, Direction::Reverse)?;
        Ok(cursor.next()?.map(|(place, _)| place.to_vec()))
    }

    /// Rows behind a place in the clustered index or heap, up to another, as many as fit.
    pub fn rows_between(
        &self,
        txn: &Transaction,
        view: &ReadView,
        (from, to): (Option<&[u8]>, Option<&[u8]>),
        (rows_max, bytes_max): (usize, usize),
    ) -> Result<Behind, TxnError> {
        let lower = from.map_or(Bound::Unbounded, Bound::Excluded);
        let upper = to.map_or(Bound::Unbounded, Bound::Included);
        let tree = self.table.clustered().tree;
        let mut cursor = txn.scan(view, tree, lower, upper, Direction::Forward)?;
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while let Some((place, stored)) = cursor.next()? {
            let place = place.to_vec();
            let row = self.row(&stored);
            bytes += row.size;
            rows.push(row);
            if rows.len() >= rows_max || bytes >= bytes_max {
                return Ok((rows, Some(place)));
            }
        }
        Ok((rows, None))
    }

    /// The row of a full-text key.
    pub fn row_of(&self, txn: &Transaction, view: &ReadView, key: &[u8]) -> Result<Option<Row>, TxnError> {
        let Some(index) = self.def.key_index(self.table) else { return Ok(None) };
        let Some(entry) = txn.get(view, index.tree, key)? else { return Ok(None) };
        if index.kind == IndexKind::Clustered {
            return Ok(Some(self.row(&entry)));
        }
        let place = row::column(&entry, row::count(&entry).saturating_sub(1));
        let place = place.ok_or_else(|| full_text::damaged(index.tree))?;
        let stored = txn.get(view, self.table.clustered().tree, place)?;
        Ok(stored.map(|stored| self.row(&stored)))
    }

    fn row(&self, stored: &[u8]) -> Row {
        let (c, part) = &self.key;
        let value = self.value(stored, c);
        let mut key = Vec::new();
        key::append(&mut key, &value, part);
        let mut bytes = Vec::new();
        column::encode(&value, &c.ty, &mut bytes);
        let mut row =
            Row { key, value: bytes, texts: Vec::new(), unread: 0, row_version: 0, size: stored.len() };
        for of in &self.def.columns {
            let Some(at) = self.table.column_index(of.column_id) else { continue };
            let text = self.text(stored, &self.table.columns[at], of.type_column);
            row.unread += u64::from(!text.whole);
            row.texts.extend(text.text.map(|text| (of.column_id, text)));
        }
        row.row_version = self.row_version(stored);
        row
    }

    fn row_version(&self, stored: &[u8]) -> u64 {
        let version = self.table.columns.iter().find(|c| c.ty == SqlType::RowVersion);
        match version.map(|c| self.value(stored, c)) {
            Some(Value::Bytes(bytes)) => bytes[..].try_into().map_or(0, u64::from_be_bytes),
            _ => 0,
        }
    }

    fn text(&self, stored: &[u8], c: &ColumnDef, type_column: Option<i32>) -> Text {
        match (self.value(stored, c), c.ty) {
            (Value::Str(text), ty) => {
                let (read, whole) = (document::beginning(&text), text.len() <= document::LENGTH_MAX);
                let text = if ty.is_xml() { document::xml(read) } else { read.to_owned() };
                Text { text: Some(text), whole }
            }
            (Value::Bytes(bytes), _) => {
                let at = type_column.and_then(|id| self.table.column_index(id));
                let kind = at.map(|at| self.value(stored, &self.table.columns[at]));
                let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
                let text = document::text_of(kind, &bytes);
                let whole = text.is_some() && bytes.len() <= document::LENGTH_MAX;
                Text { text, whole }
            }
            _ => Text { text: None, whole: true },
        }
    }

    /// A column of a stored row, of one that was added after the row was stored too.
    fn value(&self, stored: &[u8], c: &ColumnDef) -> Value {
        let ordinal = usize::from(c.ordinal);
        let bytes = if ordinal < row::count(stored) {
            row::column(stored, ordinal)
        } else {
            c.missing_value.as_deref()
        };
        bytes.map_or(Value::Null, |bytes| column::decode(bytes, &c.ty))
    }
}

/// The text of a column.
struct Text {
    /// `None` for NULL, and for documents that are not read.
    text: Option<String>,
    /// Whether the value was read to its end.
    whole: bool,
}
