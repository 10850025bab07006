//! Catalog views of SQL Server 2000, made from the newer ones ([`Source`]): keys, files, members of roles, permissions, messages, servers,
//! backup devices. Columns and codes are those of the product's documentation ("Compatibility Views").

use super::{BIT, Column, INT, NAME, NULL, SID, SMALL, SystemView, TEXT, TINY, ViewContext, int, text, view};
use keel_types::{Length, SqlType, Value};
use std::collections::BTreeMap;

type Rows = Vec<Vec<Value>>;

const N255: SqlType = SqlType::NVarChar(Length::Limited(255));
const N260: SqlType = SqlType::NVarChar(Length::Limited(260));
const BYTES: SqlType = SqlType::VarBinary(Length::Limited(8000));
const DATE: SqlType = SqlType::DateTime;

/// Columns of a foreign key that `sysreferences` has room for.
const KEY_COLUMNS: usize = 16;

#[rustfmt::skip]
const REFERENCES: &[Column] = &[
    ("constid", INT), ("fkeyid", INT), ("rkeyid", INT), ("rkeyindid", SMALL), ("keycnt", SMALL), ("forkeys", BYTES), ("refkeys", BYTES),
    ("fkeydbid", SMALL), ("rkeydbid", SMALL),
    ("fkey1", SMALL), ("fkey2", SMALL), ("fkey3", SMALL), ("fkey4", SMALL), ("fkey5", SMALL), ("fkey6", SMALL), ("fkey7", SMALL), ("fkey8", SMALL),
    ("fkey9", SMALL), ("fkey10", SMALL), ("fkey11", SMALL), ("fkey12", SMALL), ("fkey13", SMALL), ("fkey14", SMALL), ("fkey15", SMALL),
    ("fkey16", SMALL),
    ("rkey1", SMALL), ("rkey2", SMALL), ("rkey3", SMALL), ("rkey4", SMALL), ("rkey5", SMALL), ("rkey6", SMALL), ("rkey7", SMALL), ("rkey8", SMALL),
    ("rkey9", SMALL), ("rkey10", SMALL), ("rkey11", SMALL), ("rkey12", SMALL), ("rkey13", SMALL), ("rkey14", SMALL), ("rkey15", SMALL),
    ("rkey16", SMALL),
];

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    view("sysforeignkeys", &[
        ("constid", INT), ("fkeyid", INT), ("rkeyid", INT), ("fkey", SMALL), ("rkey", SMALL), ("keyno", SMALL),
    ], |cx| Source::of(cx, "foreign_key_columns").taken(&[
        "constraint_object_id", "parent_object_id", "referenced_object_id", "parent_column_id", "referenced_column_id", "constraint_column_id",
    ])),
    view("sysreferences", REFERENCES, references),
    view("sysindexkeys", &[("id", INT), ("indid", SMALL), ("colid", SMALL), ("keyno", SMALL)], |cx| {
        Source::of(cx, "index_columns").taken(&["object_id", "index_id", "column_id", "index_column_id"])
    }),
    view("sysmembers", &[("memberuid", SMALL), ("groupuid", SMALL)], |cx| {
        Source::of(cx, "database_role_members").taken(&["member_principal_id", "role_principal_id"])
    }),
    view("sysmessages", &[
        ("error", INT), ("severity", TINY), ("dlevel", SMALL), ("description", N255), ("msglangid", SMALL),
    ], messages),
    view("sysfilegroups", &[("groupid", SMALL), ("allocpolicy", SMALL), ("status", INT), ("groupname", NAME)], file_groups),
    view("sysaltfiles", &[
        ("fileid", SMALL), ("groupid", SMALL), ("size", INT), ("maxsize", INT), ("growth", INT), ("status", INT), ("perf", INT),
        ("dbid", SMALL), ("name", NAME), ("filename", N260),
    ], files),
    view("sysconstraints", &[
        ("constid", INT), ("id", INT), ("colid", SMALL), ("spare1", TINY), ("status", INT), ("actions", INT), ("error", INT),
    ], constraints),
    view("sysprotects", &[
        ("id", INT), ("uid", SMALL), ("action", TINY), ("protecttype", TINY), ("columns", BYTES), ("grantor", SMALL),
    ], protects),
    view("sysservers", &[
        ("srvid", SMALL), ("srvstatus", SMALL), ("srvname", NAME), ("srvproduct", NAME), ("providername", NAME), ("datasource", TEXT),
        ("location", TEXT), ("providerstring", TEXT), ("schemadate", DATE), ("topologyx", INT), ("topologyy", INT), ("catalog", NAME),
        ("srvcollation", NAME), ("connecttimeout", INT), ("querytimeout", INT), ("srvnetname", SqlType::Char(30)), ("isremote", BIT),
        ("rpc", BIT), ("pub", BIT), ("sub", BIT), ("dist", BIT), ("dpub", BIT), ("rpcout", BIT), ("dataaccess", BIT),
        ("collationcompatible", BIT), ("system", BIT), ("useremotecollation", BIT), ("lazyschemavalidation", BIT), ("collation", NAME),
    ], servers),
    view("sysdevices", &[
        ("name", NAME), ("size", INT), ("low", INT), ("high", INT), ("status", SMALL), ("cntrltype", SMALL), ("phyname", N260),
    ], |cx| {
        // 16: a device for backups; 2: of the kind disk.
        let row = |d: crate::backup::logical::LogicalDevice| {
            vec![text(d.name), int(0), int(0), int(0), int(16), int(2), text(d.path)]
        };
        devices(cx).into_iter().map(row).collect()
    }),
    view("backup_devices", &[("name", NAME), ("type", TINY), ("type_desc", super::DESC), ("physical_name", N260)], |cx| {
        let row = |d: crate::backup::logical::LogicalDevice| vec![text(d.name), int(2), text("DISK"), text(d.path)];
        devices(cx).into_iter().map(row).collect()
    }),
    view("syscharsets", &[
        ("type", SMALL), ("id", TINY), ("csid", TINY), ("status", SMALL), ("name", NAME), ("description", N255),
        ("binarydefinition", SID), ("definition", SqlType::Image),
    ], |_| vec![
        vec![int(1001), int(1), int(0), int(0), text("iso_1"), text("ISO 8859-1 (Latin-1), Western European 8-bit character set."), NULL, NULL],
        vec![int(2001), int(52), int(1), int(0), text("nocase_iso"), text("Case-insensitive dictionary sort order for use with several \
            Western-European languages including English, French, and German. Uses the ISO 8859-1 character set."), NULL, NULL],
    ]),
];

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

/// A row for each foreign key, with up to sixteen columns of either side.
fn references(cx: &ViewContext<'_>) -> Rows {
    let columns = Source::of(cx, "foreign_key_columns").taken(&[
        "constraint_object_id",
        "parent_column_id",
        "referenced_column_id",
    ]);
    let keys = Source::of(cx, "foreign_keys").taken(&[
        "object_id",
        "parent_object_id",
        "referenced_object_id",
        "key_index_id",
    ]);
    let database = int(i64::from(cx.entry.id.0));
    let row = |mut row: Vec<Value>| {
        let own: Vec<&Vec<Value>> = columns.iter().filter(|c| number(&c[0]) == number(&row[0])).collect();
        let side = |at: usize| -> Vec<Value> {
            (0..KEY_COLUMNS).map(|i| own.get(i).map_or(int(0), |c| c[at].clone())).collect()
        };
        row.extend([int(own.len() as i64), NULL, NULL, database.clone(), database.clone()]);
        row.extend(side(1).into_iter().chain(side(2)));
        row
    };
    keys.into_iter().map(row).collect()
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

/// 8: read-only; 16: the default.
fn file_groups(cx: &ViewContext<'_>) -> Rows {
    let all = Source::of(cx, "filegroups").taken(&["data_space_id", "is_read_only", "is_default", "name"]);
    let row = |r: Vec<Value>| {
        let status = number(&r[1]) * 8 + number(&r[2]) * 16;
        vec![r[0].clone(), int(0), int(status), r[3].clone()]
    };
    all.into_iter().map(row).collect()
}

/// 2: a file of the disk; 64: one of the log.
fn files(cx: &ViewContext<'_>) -> Rows {
    let all = Source::of(cx, "master_files").taken(&[
        "file_id",
        "data_space_id",
        "size",
        "max_size",
        "growth",
        "type",
        "database_id",
        "name",
        "physical_name",
    ]);
    let row = |mut row: Vec<Value>| {
        row[5] = int(2 + number(&row[5]) * 64);
        row.insert(6, int(0));
        row
    };
    all.into_iter().map(row).collect()
}

/// Status: 1 to 5 for the kind, 16 on a column, 32 on the table.
fn constraints(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    let mut add = |id: &Value, parent: &Value, column: i64, kind: i64| {
        let status = kind + if column > 0 { 16 } else { 32 };
        rows.push(vec![id.clone(), parent.clone(), int(column), int(0), int(status), int(0), int(0)]);
    };
    for row in Source::of(cx, "key_constraints").taken(&["object_id", "parent_object_id", "type"]) {
        add(&row[0], &row[1], 0, if row[2].as_str().is_some_and(|t| t.trim() == "PK") { 1 } else { 2 });
    }
    for row in Source::of(cx, "foreign_keys").taken(&["object_id", "parent_object_id"]) {
        add(&row[0], &row[1], 0, 3);
    }
    for (name, kind) in [("check_constraints", 4), ("default_constraints", 5)] {
        for row in Source::of(cx, name).taken(&["object_id", "parent_object_id", "parent_column_id"]) {
            add(&row[0], &row[1], number(&row[2]), kind);
        }
    }
    rows
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
