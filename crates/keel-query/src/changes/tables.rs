//! CHANGETABLE: tables that are read from the trees of changes.

use super::net::Net;
use super::{ChangeKind, FIRST_VALUE, NUMBER_LEN, Stored, Versions, number};
use crate::bind::ArcTable;
use crate::catalog::{ChangeTrackingDef, ChangeTrees};
use crate::context::ExecCtx;
use crate::errors::{self, Result};
use crate::exec::error::txn_error;
use crate::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_base::DatabaseId;
use keel_node::{Isolation, ReadView, TxnError};
use keel_store::row;
use keel_types::key::{self, KeyColumn};
use keel_types::{Length, SqlType, Value, column};
use std::collections::{BTreeMap, HashMap};

const BINARY_128: SqlType = SqlType::VarBinary(Length::Limited(128));
const MASK: SqlType = SqlType::VarBinary(Length::Limited(4100));

/// Columns of the primary key, in its order: their positions and how they are encoded.
pub(crate) fn key_columns(table: &ArcTable) -> Vec<(usize, KeyColumn)> {
    let key = table.primary_key().map(|i| i.key.as_slice()).unwrap_or_default();
    let part = |k: &crate::catalog::IndexColumn| {
        let at = table.column_index(k.column_id)?;
        let c = &table.columns[at];
        Some((at, KeyColumn { ty: c.ty, collation: c.collation, descending: k.descending }))
    };
    key.iter().filter_map(part).collect()
}

/// What both tables know.
struct Tracked {
    table: ArcTable,
    def: ChangeTrackingDef,
    trees: ChangeTrees,
    key: Vec<(usize, KeyColumn)>,
    columns: Vec<VirtualColumn>,
}

impl Tracked {
    fn new(
        table: &ArcTable,
        def: &ChangeTrackingDef,
        trees: ChangeTrees,
        own: &[(&str, SqlType)],
    ) -> Tracked {
        let key = key_columns(table);
        let mut columns: Vec<_> = own.iter().map(|(name, ty)| VirtualColumn::new(*name, *ty)).collect();
        columns.extend(key.iter().map(|(at, _)| {
            let c = &table.columns[*at];
            VirtualColumn { name: c.name.clone(), ty: c.ty, nullable: false, collation: c.collation }
        }));
        Tracked { table: table.clone(), def: def.clone(), trees, key, columns }
    }

    fn values(&self, stored: &[u8]) -> impl Iterator<Item = Value> {
        self.key.iter().enumerate().map(|(n, (at, _))| {
            let bytes = row::column(stored, FIRST_VALUE + n);
            bytes.map_or(Value::Null, |bytes| column::decode(bytes, &self.table.columns[*at].ty))
        })
    }

    /// A view for a read that belongs to no statement.
    fn own_view(&self, ctx: &mut ExecCtx<'_>) -> Result<ReadView> {
        Ok(ctx.txns.transaction(self.table.database)?.view_as(Isolation::ReadCommitted))
    }

    fn read<T>(
        &self,
        ctx: &mut ExecCtx<'_>,
        view: ReadView,
        read: impl FnOnce(&Versions<'_>) -> std::result::Result<T, TxnError>,
    ) -> Result<T> {
        let session = ctx.session.session_id();
        let versions = Versions::at(ctx.txns.transaction(self.table.database)?, view, self.trees);
        let read = versions.settle().and_then(|()| read(&versions));
        read.map_err(|e| txn_error(&e, session))
    }
}

fn version(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

fn bytes(b: Option<&[u8]>) -> Value {
    b.map_or(Value::Null, Value::bytes)
}

/// `CHANGETABLE (CHANGES t, @version)`: rows that were changed after a version, each once, in the order of their keys.
pub struct ChangesTable(Tracked);

impl ChangesTable {
    /// Of this table.
    #[must_use]
    pub fn new(table: &ArcTable, def: &ChangeTrackingDef, trees: ChangeTrees) -> ChangesTable {
        let own = [
            ("SYS_CHANGE_VERSION", SqlType::BigInt),
            ("SYS_CHANGE_CREATION_VERSION", SqlType::BigInt),
            ("SYS_CHANGE_OPERATION", SqlType::NChar(1)),
            ("SYS_CHANGE_COLUMNS", MASK),
            ("SYS_CHANGE_CONTEXT", BINARY_128),
        ];
        ChangesTable(Tracked::new(table, def, trees, &own))
    }

    fn net(
        &self,
        versions: &Versions<'_>,
        since: u64,
    ) -> std::result::Result<BTreeMap<Vec<u8>, Net>, TxnError> {
        let mut rows: BTreeMap<Vec<u8>, Net> = BTreeMap::new();
        let all = versions.after(since, usize::MAX)?;
        let numbers = all.iter().map(|v| v.transaction);
        let (Some(least), Some(greatest)) = (numbers.clone().min(), numbers.max()) else { return Ok(rows) };
        // Numbers of transactions are nearly in the order of versions: what lies between theirs and is of others is little.
        let of: HashMap<u64, u64> = all.iter().map(|v| (v.transaction, v.number)).collect();
        versions.between(self.0.def.changes, (least, greatest), |own, stored| {
            let (Some(version), Some(change)) = (of.get(&number(own)), Stored::read(&stored)) else {
                return Ok(());
            };
            let place = (*version, own.get(NUMBER_LEN..).map_or(0, number));
            match rows.get_mut(change.key) {
                Some(net) => net.add(place, &change, &stored),
                None => drop(rows.insert(change.key.to_vec(), Net::new(place, &change, &stored))),
            }
            Ok(())
        })?;
        Ok(rows)
    }
}

impl VirtualTable for ChangesTable {
    fn columns(&self) -> &[VirtualColumn] {
        &self.0.columns
    }

    fn row_count_estimate(&self) -> u64 {
        1000
    }

    fn reads(&self) -> Option<DatabaseId> {
        Some(self.0.table.database)
    }

    fn open(&self, ctx: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let view = self.0.own_view(ctx)?;
        self.open_at(ctx, args, view)
    }

    fn open_at(&self, ctx: &mut ExecCtx<'_>, args: &[Value], view: ReadView) -> Result<RowSource> {
        let since = match args.first() {
            Some(Value::Int(n)) => match u64::try_from(*n) {
                Ok(n) => n,
                // Nobody can have seen it: the product shows nothing.
                Err(_) => return Ok(Box::new(std::iter::empty())),
            },
            _ => 0,
        };
        let net = self.0.read(ctx, view, |versions| self.net(versions, since))?;
        let row = |net: &Net| {
            let kind = match net.kind() {
                ChangeKind::Insert => "I",
                ChangeKind::Update => "U",
                ChangeKind::Delete => "D",
            };
            let mut row =
                vec![version(net.version()), net.creation.map_or(Value::Null, version), Value::str(kind)];
            row.extend([bytes(net.mask().as_deref()), bytes(net.context.as_deref())]);
            row.extend(self.0.values(&net.stored));
            Ok(row)
        };
        let rows: Vec<Result<Vec<Value>>> = net.values().map(row).collect();
        Ok(Box::new(rows.into_iter()))
    }
}

/// `CHANGETABLE (VERSION t, (columns), (values))`: one row, with the version of the last change of the row that has this key.
pub struct RowVersionTable(Tracked);

impl RowVersionTable {
    /// Of this table.
    #[must_use]
    pub fn new(table: &ArcTable, def: &ChangeTrackingDef, trees: ChangeTrees) -> RowVersionTable {
        let own = [("SYS_CHANGE_VERSION", SqlType::BigInt), ("SYS_CHANGE_CONTEXT", BINARY_128)];
        RowVersionTable(Tracked::new(table, def, trees, &own))
    }

    /// Version and context of the last change under a key.
    #[allow(clippy::type_complexity)] // a version, and what came with it
    fn last(
        &self,
        versions: &Versions<'_>,
        key: &[u8],
    ) -> std::result::Result<Option<(u64, Option<Vec<u8>>)>, TxnError> {
        // Versions are not in the order of transactions' numbers.
        let mut last: Option<((u64, u64), [u8; 2 * NUMBER_LEN])> = None;
        let mut known: Option<(u64, Option<u64>)> = None;
        versions.each(self.0.def.by_key, key, |entry, _| {
            let Some(own) = entry.get(key.len()..).and_then(|own| own.try_into().ok()) else { return Ok(()) };
            let own: [u8; 2 * NUMBER_LEN] = own;
            let transaction = number(&own);
            let of = match known {
                Some((t, of)) if t == transaction => of,
                _ => versions.of(transaction)?,
            };
            known = Some((transaction, of));
            let Some(version) = of else { return Ok(()) };
            let place = (version, number(&own[NUMBER_LEN..]));
            if last.is_none_or(|(before, _)| before < place) {
                last = Some((place, own));
            }
            Ok(())
        })?;
        let Some(((version, _), own)) = last else { return Ok(None) };
        let stored = versions.txn.get(&versions.view, self.0.def.changes, &own)?;
        let context = stored.and_then(|stored| Some(Stored::read(&stored)?.context?.to_vec()));
        Ok(Some((version, context)))
    }
}

impl VirtualTable for RowVersionTable {
    fn columns(&self) -> &[VirtualColumn] {
        &self.0.columns
    }

    fn row_count_estimate(&self) -> u64 {
        1
    }

    fn reads(&self) -> Option<DatabaseId> {
        Some(self.0.table.database)
    }

    fn open(&self, ctx: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let view = self.0.own_view(ctx)?;
        self.open_at(ctx, args, view)
    }

    /// The arguments are values of the key's columns, in the key's order.
    fn open_at(&self, ctx: &mut ExecCtx<'_>, args: &[Value], view: ReadView) -> Result<RowSource> {
        if args.len() != self.0.key.len() {
            return Err(errors::changetable_version_arguments());
        }
        let mut bytes_of_key = Vec::new();
        for ((_, column), value) in self.0.key.iter().zip(args) {
            key::append(&mut bytes_of_key, value, column);
        }
        let last = self.0.read(ctx, view, |versions| self.last(versions, &bytes_of_key))?;
        let (of, context) = last.map_or((Value::Null, None), |(of, context)| (version(of), context));
        let mut row = vec![of, bytes(context.as_deref())];
        row.extend(args.iter().cloned());
        Ok(Box::new(std::iter::once(Ok(row))))
    }
}
