//! Catalog views of SQL Server 2000 that older applications still read: constraints, keys, files, roles and messages in the forms of
//! `sysconstraints`, `sysforeignkeys` and their kin. Columns and codes are those of the product's documentation ("Compatibility Views").

use super::{INT, NAME, SMALL, SystemView, TINY, ViewContext, columns, constraints, int, text};
use keel_query::catalog::Catalog as _;
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

/// What a foreign key's columns are at most in `sysreferences`, which has a column for each.
const KEY_COLUMNS: usize = 16;

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    super::view("sysconstraints", &[
        ("constid", INT), ("id", INT), ("colid", SMALL), ("spare1", TINY), ("status", INT), ("actions", INT), ("error", INT),
    ], sysconstraints),
    super::view("sysforeignkeys", &[
        ("constid", INT), ("fkeyid", INT), ("rkeyid", INT), ("fkey", SMALL), ("rkey", SMALL), ("keyno", SMALL),
    ], foreign_keys),
    super::view("sysreferences", &[
        ("constid", INT), ("fkeyid", INT), ("rkeyid", INT), ("rkeyindid", SMALL), ("keycnt", SMALL),
        ("forkeys", SqlType::VarBinary(Length::Limited(32))), ("refkeys", SqlType::VarBinary(Length::Limited(32))),
        ("fkeydbid", SMALL), ("rkeydbid", SMALL),
        ("fkey1", SMALL), ("fkey2", SMALL), ("fkey3", SMALL), ("fkey4", SMALL), ("fkey5", SMALL), ("fkey6", SMALL),
        ("fkey7", SMALL), ("fkey8", SMALL), ("fkey9", SMALL), ("fkey10", SMALL), ("fkey11", SMALL), ("fkey12", SMALL),
        ("fkey13", SMALL), ("fkey14", SMALL), ("fkey15", SMALL), ("fkey16", SMALL),
        ("rkey1", SMALL), ("rkey2", SMALL), ("rkey3", SMALL), ("rkey4", SMALL), ("rkey5", SMALL), ("rkey6", SMALL),
        ("rkey7", SMALL), ("rkey8", SMALL), ("rkey9", SMALL), ("rkey10", SMALL), ("rkey11", SMALL), ("rkey12", SMALL),
        ("rkey13", SMALL), ("rkey14", SMALL), ("rkey15", SMALL), ("rkey16", SMALL),
    ], references),
    super::view("sysindexkeys", &[("id", INT), ("indid", SMALL), ("colid", SMALL), ("keyno", SMALL)], index_keys),
    super::view("sysfilegroups", &[("groupid", SMALL), ("allocpolicy", SMALL), ("status", INT), ("groupname", NAME)], |_| {
        // 0x10: the default.
        vec![vec![int(1), int(0), int(0x10), text("PRIMARY")]]
    }),
    super::view("sysaltfiles", &[
        ("fileid", SMALL), ("groupid", SMALL), ("size", INT), ("maxsize", INT), ("growth", INT), ("status", INT), ("perf", INT),
        ("dbid", SMALL), ("name", NAME), ("filename", SqlType::NVarChar(Length::Limited(260))),
    ], super::databases::old_files),
    super::view("sysmembers", &[("memberuid", SMALL), ("groupuid", SMALL)], |cx| {
        super::principals::role_members(cx).into_iter().map(|row| row.into_iter().rev().collect()).collect()
    }),
    super::view("sysmessages", &[
        ("error", INT), ("severity", SMALL), ("dlevel", SMALL), ("description", SqlType::NVarChar(Length::Limited(255))),
        ("msglangid", SMALL),
    ], super::messages::old_rows),
];

/// Kinds of constraints in `status`, and the bit for those of a whole table.
const PRIMARY_KEY: i64 = 1;
const UNIQUE: i64 = 2;
const FOREIGN_KEY: i64 = 3;
const CHECK: i64 = 4;
const DEFAULT: i64 = 5;
const OF_COLUMN: i64 = 16;
const OF_TABLE: i64 = 32;

fn sysconstraints(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in columns::tables(cx) {
        let mut add = |id: i32, column: i32, kind: i64| {
            let reach = if column == 0 { OF_TABLE } else { OF_COLUMN };
            let mut row = vec![int(id), int(t.object_id), int(column), int(0), int(kind | reach)];
            row.extend([int(0), int(0)]);
            rows.push(row);
        };
        for i in t.indexes.iter().filter(|i| i.constraint_id != 0) {
            add(i.constraint_id, 0, if i.is_primary_key { PRIMARY_KEY } else { UNIQUE });
        }
        for k in &t.foreign_keys {
            add(k.object_id, 0, FOREIGN_KEY);
        }
        for c in &t.checks {
            add(c.object_id, c.column, CHECK);
        }
        for c in &t.columns {
            if let Some(d) = &c.default {
                add(d.object_id, c.column_id, DEFAULT);
            }
        }
    }
    rows
}

fn foreign_keys(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in columns::tables(cx) {
        for k in &t.foreign_keys {
            for (n, (own, other)) in k.columns.iter().zip(&k.referenced_columns).enumerate() {
                let ids = [k.object_id, t.object_id, k.referenced_table, *own, *other].map(int);
                rows.push(ids.into_iter().chain([int(n as i64 + 1)]).collect());
            }
        }
    }
    rows
}

fn references(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in columns::tables(cx) {
        for k in &t.foreign_keys {
            let other = cx.picture.table_by_id(k.referenced_table);
            let index =
                other.as_ref().and_then(|o| constraints::referenced_index(o, k)).map_or(1, |i| i.index_id);
            let mut row = vec![int(k.object_id), int(t.object_id), int(k.referenced_table), int(index)];
            row.push(int(k.columns.len() as i64));
            row.extend([&k.columns, &k.referenced_columns].map(|ids| Value::bytes(packed(ids))));
            row.extend([int(cx.entry.id.0), int(cx.entry.id.0)]);
            for ids in [&k.columns, &k.referenced_columns] {
                row.extend((0..KEY_COLUMNS).map(|n| int(ids.get(n).copied().unwrap_or(0))));
            }
            rows.push(row);
        }
    }
    rows
}

/// Columns as two bytes each.
fn packed(ids: &[i32]) -> Vec<u8> {
    ids.iter().take(KEY_COLUMNS).flat_map(|id| (*id as u16).to_le_bytes()).collect()
}

fn index_keys(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in columns::stored(cx) {
        for i in &t.indexes {
            for (n, key) in i.key.iter().enumerate() {
                rows.push(vec![int(t.object_id), int(i.index_id), int(key.column_id), int(n as i64 + 1)]);
            }
        }
    }
    rows
}
