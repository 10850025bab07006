//! Catalog views of SQL Server 2000 that older applications still read: constraints, keys, files, roles, permissions, messages, servers and
//! backup devices in the forms of `sysconstraints`, `sysforeignkeys` and their kin. Columns and codes are those of the product's documentation ("Compatibility Views").

use super::{
    BIT, Column, INT, NAME, NULL, SID, SMALL, SystemView, TEXT, TINY, ViewContext, columns, constraints, int,
    text,
};
use keel_query::catalog::Catalog as _;
use keel_types::{Length, SqlType, Value};
use std::collections::BTreeMap;

type Rows = Vec<Vec<Value>>;

const N255: SqlType = SqlType::NVarChar(Length::Limited(255));
const N260: SqlType = SqlType::NVarChar(Length::Limited(260));
const BYTES: SqlType = SqlType::VarBinary(Length::Limited(8000));
const DATE: SqlType = SqlType::DateTime;

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
        ("error", INT), ("severity", TINY), ("dlevel", SMALL), ("description", N255), ("msglangid", SMALL),
    ], messages),
    super::view("sysprotects", &[
        ("id", INT), ("uid", SMALL), ("action", TINY), ("protecttype", TINY), ("columns", BYTES), ("grantor", SMALL),
    ], protects),
    super::view("sysservers", &[
        ("srvid", SMALL), ("srvstatus", SMALL), ("srvname", NAME), ("srvproduct", NAME), ("providername", NAME), ("datasource", TEXT),
        ("location", TEXT), ("providerstring", TEXT), ("schemadate", DATE), ("topologyx", INT), ("topologyy", INT), ("catalog", NAME),
        ("srvcollation", NAME), ("connecttimeout", INT), ("querytimeout", INT), ("srvnetname", SqlType::Char(30)), ("isremote", BIT),
        ("rpc", BIT), ("pub", BIT), ("sub", BIT), ("dist", BIT), ("dpub", BIT), ("rpcout", BIT), ("dataaccess", BIT),
        ("collationcompatible", BIT), ("system", BIT), ("useremotecollation", BIT), ("lazyschemavalidation", BIT), ("collation", NAME),
    ], servers),
    super::view("sysdevices", &[
        ("name", NAME), ("size", INT), ("low", INT), ("high", INT), ("status", SMALL), ("cntrltype", SMALL), ("phyname", N260),
    ], |cx| {
        // 16: a device for backups; 2: of the kind disk.
        let row = |d: crate::backup::logical::LogicalDevice| {
            vec![text(d.name), int(0), int(0), int(0), int(16), int(2), text(d.path)]
        };
        devices(cx).into_iter().map(row).collect()
    }),
    super::view("backup_devices", &[("name", NAME), ("type", TINY), ("type_desc", super::DESC), ("physical_name", N260)], |cx| {
        let row = |d: crate::backup::logical::LogicalDevice| vec![text(d.name), int(2), text("DISK"), text(d.path)];
        devices(cx).into_iter().map(row).collect()
    }),
    super::view("syscharsets", &[
        ("type", SMALL), ("id", TINY), ("csid", TINY), ("status", SMALL), ("name", NAME), ("description", N255),
        ("binarydefinition", SID), ("definition", SqlType::Image),
    ], |_| vec![
        vec![int(1001), int(1), int(0), int(0), text("iso_1"), text("ISO 8859-1 (Latin-1), Western European 8-bit character set."), NULL, NULL],
        vec![int(2001), int(52), int(1), int(0), text("nocase_iso"), text("Case-insensitive dictionary sort order for use with several \
            Western-European languages including English, French, and German. Uses the ISO 8859-1 character set."), NULL, NULL],
    ]),
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
            if let Some(d) = c.default_constraint() {
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

/// The rows of a newer view, by its columns' names.
struct Source {
    columns: &'static [Column],
    rows: Rows,
}

impl Source {
    fn of(cx: &ViewContext<'_>, name: &str) -> Source {
        let view = super::find(Some("sys"), name).expect("the newer views are there");
        Source { columns: view.columns, rows: (view.rows)(cx) }
    }

    fn at(&self, name: &str) -> usize {
        self.columns.iter().position(|c| c.0 == name).unwrap_or_else(|| panic!("a view has no column {name}"))
    }

    /// These columns of all rows.
    fn taken(self, names: &[&str]) -> Rows {
        let at: Vec<usize> = names.iter().map(|name| self.at(name)).collect();
        self.rows.into_iter().map(|row| at.iter().map(|i| row[*i].clone()).collect()).collect()
    }
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        Value::Bit(b) => i64::from(*b),
        _ => 0,
    }
}

fn devices(cx: &ViewContext<'_>) -> Vec<crate::backup::logical::LogicalDevice> {
    cx.engine.logical_devices().unwrap_or_else(|e| {
        cx.fail(e);
        Vec::new()
    })
}

/// 128: the error log hears of it.
fn messages(cx: &ViewContext<'_>) -> Rows {
    let all = Source::of(cx, "messages").taken(&[
        "message_id",
        "severity",
        "is_event_logged",
        "text",
        "language_id",
    ]);
    let row = |mut row: Vec<Value>| {
        row[2] = int(number(&row[2]) * 128);
        row[3] = text(row[3].as_str().unwrap_or_default().chars().take(255).collect::<String>());
        row
    };
    all.into_iter().map(row).collect()
}

/// The numbers of permissions that there were in that version.
const ACTIONS: &[(&str, i64)] = &[
    ("REFERENCES", 26),
    ("CREATE FUNCTION", 178),
    ("SELECT", 193),
    ("INSERT", 195),
    ("DELETE", 196),
    ("UPDATE", 197),
    ("CREATE TABLE", 198),
    ("CREATE DATABASE", 203),
    ("CREATE VIEW", 207),
    ("CREATE PROCEDURE", 222),
    ("EXECUTE", 224),
    ("BACKUP DATABASE", 228),
    ("CREATE DEFAULT", 233),
    ("BACKUP LOG", 235),
    ("CREATE RULE", 236),
];

/// Permissions on objects and of statements. `columns` has a bit for each column, the lowest for all.
fn protects(cx: &ViewContext<'_>) -> Rows {
    let all = Source::of(cx, "database_permissions").taken(&[
        "class",
        "major_id",
        "grantee_principal_id",
        "permission_name",
        "state",
        "grantor_principal_id",
        "minor_id",
    ]);
    let mut columns: BTreeMap<[i64; 5], Vec<u8>> = BTreeMap::new();
    for row in all.iter().filter(|row| number(&row[0]) < 2) {
        let name = row[3].as_str().unwrap_or_default();
        let Some((_, action)) = ACTIONS.iter().find(|(known, _)| *known == name) else { continue };
        let kind = match row[4].as_str().unwrap_or_default().trim() {
            "W" => 204,
            "G" => 205,
            _ => 206,
        };
        let key = [number(&row[1]), number(&row[2]), *action, kind, number(&row[5])];
        let bits = columns.entry(key).or_default();
        let column = usize::try_from(number(&row[6])).unwrap_or(0);
        bits.resize(bits.len().max(column / 8 + 1), 0);
        bits[column / 8] |= 1 << (column % 8);
    }
    let row = |([id, grantee, action, kind, grantor], bits): ([i64; 5], Vec<u8>)| {
        vec![int(id), int(grantee), int(action), int(kind), Value::bytes(bits), int(grantor)]
    };
    columns.into_iter().map(row).collect()
}

/// Status: 64 for the instance itself, 128 and 32 for others with and without data access.
fn servers(cx: &ViewContext<'_>) -> Rows {
    let all = Source::of(cx, "servers").taken(&[
        "server_id",
        "is_linked",
        "name",
        "product",
        "provider",
        "data_source",
        "location",
        "provider_string",
        "modify_date",
        "catalog",
        "collation_name",
        "connect_timeout",
        "query_timeout",
        "is_remote_login_enabled",
        "is_rpc_out_enabled",
        "is_data_access_enabled",
        "is_collation_compatible",
        "is_system",
        "uses_remote_collation",
        "lazy_schema_validation",
    ]);
    let row = |r: Vec<Value>| {
        let status = match (number(&r[1]), number(&r[15])) {
            (0, _) => 64,
            (_, 0) => 32,
            _ => 128,
        };
        let no = || Value::Bit(false);
        let mut row = vec![r[0].clone(), int(status)];
        row.extend(r[2..9].iter().cloned());
        row.extend([int(0), int(0), r[9].clone(), r[10].clone(), r[11].clone(), r[12].clone()]);
        let net: String = r[2].as_str().unwrap_or_default().chars().take(30).collect();
        row.extend([
            text(format!("{net:<30}")),
            Value::Bit(number(&r[1]) == 0),
            r[13].clone(),
            no(),
            no(),
            no(),
            no(),
        ]);
        row.extend([
            r[14].clone(),
            r[15].clone(),
            r[16].clone(),
            r[17].clone(),
            r[18].clone(),
            r[19].clone(),
            r[10].clone(),
        ]);
        row
    };
    all.into_iter().map(row).collect()
}
