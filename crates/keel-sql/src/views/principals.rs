//! Logins and users.

use super::{
    BIT, Column, DATE, DESC, INT, KIND, NAME, NULL, SID, SystemView, ViewContext, bit, date, int, text,
};
use keel_types::Value;

type Rows = Vec<Vec<Value>>;

const SERVER: &[Column] = &[
    ("name", NAME),
    ("principal_id", INT),
    ("sid", SID),
    ("type", KIND),
    ("type_desc", DESC),
    ("is_disabled", BIT),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("default_database_name", NAME),
    ("default_language_name", NAME),
    ("credential_id", INT),
    ("owning_principal_id", INT),
    ("is_fixed_role", BIT),
];

const DATABASE: &[Column] = &[
    ("name", NAME),
    ("principal_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("default_schema_name", NAME),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("owning_principal_id", INT),
    ("sid", SID),
    ("is_fixed_role", BIT),
    ("authentication_type", INT),
    ("authentication_type_desc", DESC),
    ("default_language_name", NAME),
    ("default_language_lcid", INT),
    ("allow_encrypted_value_modifications", BIT),
];

const FIXED_ROLES: &[(&str, i64)] = &[
    ("db_owner", 16384),
    ("db_accessadmin", 16385),
    ("db_securityadmin", 16386),
    ("db_ddladmin", 16387),
    ("db_backupoperator", 16389),
    ("db_datareader", 16390),
    ("db_datawriter", 16391),
    ("db_denydatareader", 16392),
    ("db_denydatawriter", 16393),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "server_principals", columns: SERVER, rows: server_principals },
    SystemView {
        schema: "sys",
        name: "sql_logins",
        columns: SERVER,
        rows: |cx| {
            server_principals(cx)
                .into_iter()
                .filter(|r| r[3].as_str().is_some_and(|t| t.trim() == "S"))
                .collect()
        },
    },
    SystemView { schema: "sys", name: "database_principals", columns: DATABASE, rows: database_principals },
    SystemView {
        schema: "sys",
        name: "database_role_members",
        columns: &[("role_principal_id", INT), ("member_principal_id", INT)],
        rows: |_| vec![vec![int(16384), int(1)]],
    },
    SystemView {
        schema: "sys",
        name: "server_role_members",
        columns: &[("role_principal_id", INT), ("member_principal_id", INT)],
        rows: |cx| {
            let logins = cx.engine.logins().unwrap_or_default();
            logins.iter().filter(|l| l.sysadmin).map(|l| vec![int(3), int(l.principal_id)]).collect()
        },
    },
    SystemView {
        schema: "sys",
        name: "database_permissions",
        columns: &[
            ("class", super::TINY),
            ("class_desc", DESC),
            ("major_id", INT),
            ("minor_id", INT),
            ("grantee_principal_id", INT),
            ("grantor_principal_id", INT),
            ("type", super::CHAR4),
            ("permission_name", NAME),
            ("state", super::CHAR4),
            ("state_desc", DESC),
        ],
        rows: |_| Vec::new(),
    },
    SystemView {
        schema: "sys",
        name: "servers",
        columns: &[
            ("server_id", INT),
            ("name", NAME),
            ("product", NAME),
            ("provider", NAME),
            ("data_source", super::TEXT),
            ("is_linked", BIT),
            ("is_remote_login_enabled", BIT),
            ("is_rpc_out_enabled", BIT),
            ("is_data_access_enabled", BIT),
        ],
        rows: |cx| {
            let name = cx.engine.options().server_name.as_str();
            let mut row = vec![int(0), text(name), text("SQL Server"), text("SQLNCLI"), text(name)];
            row.extend([bit(false), bit(true), bit(true), bit(false)]);
            vec![row]
        },
    },
    SystemView {
        schema: "sys",
        name: "sysusers",
        columns: &[
            ("uid", super::SMALL),
            ("status", super::SMALL),
            ("name", NAME),
            ("sid", SID),
            ("islogin", INT),
        ],
        rows: |_| vec![vec![int(1), int(0), text("dbo"), Value::bytes(vec![1]), int(1)]],
    },
    SystemView {
        schema: "sys",
        name: "syslogins",
        columns: &[("sid", SID), ("name", NAME), ("dbname", NAME), ("loginname", NAME), ("sysadmin", INT)],
        rows: |cx| {
            let logins = cx.engine.logins().unwrap_or_default();
            let row = |l: &crate::engine::LoginRecord| {
                vec![
                    Value::bytes(l.sid.clone()),
                    text(l.name.as_str()),
                    text(l.default_database.as_str()),
                    text(l.name.as_str()),
                    int(i32::from(l.sysadmin)),
                ]
            };
            logins.iter().map(row).collect()
        },
    },
];

fn server_principals(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for l in cx.engine.logins().unwrap_or_default() {
        let mut row = vec![text(l.name.as_str()), int(l.principal_id), Value::bytes(l.sid.clone())];
        row.extend([text("S"), text("SQL_LOGIN"), bit(l.disabled), date(l.created), date(l.created)]);
        row.extend([
            text(l.default_database.as_str()),
            text(l.default_language.as_str()),
            NULL,
            NULL,
            bit(false),
        ]);
        rows.push(row);
    }
    for (name, id) in [("public", 2), ("sysadmin", 3)] {
        let mut row = vec![text(name), int(id), Value::bytes(vec![id as u8]), text("R"), text("SERVER_ROLE")];
        row.extend([
            bit(false),
            date(cx.engine.started()),
            date(cx.engine.started()),
            NULL,
            NULL,
            NULL,
            int(1),
            bit(true),
        ]);
        rows.push(row);
    }
    rows
}

fn database_principals(cx: &ViewContext<'_>) -> Rows {
    let created = cx.picture.settings().created;
    let mut rows = Vec::new();
    let users = [
        ("public", 0, "R"),
        ("dbo", 1, "S"),
        ("guest", 2, "S"),
        ("INFORMATION_SCHEMA", 3, "S"),
        ("sys", 4, "S"),
    ];
    let roles = FIXED_ROLES.iter().map(|(name, id)| (*name, *id, "R"));
    for (name, id, kind) in users.into_iter().chain(roles) {
        let role = kind == "R";
        let description = if role { "DATABASE_ROLE" } else { "SQL_USER" };
        let schema = if id == 1 { text("dbo") } else { NULL };
        let sid = if id == 1 { Value::bytes(vec![1]) } else { NULL };
        let mut row =
            vec![text(name), int(id), text(kind), text(description), schema, date(created), date(created)];
        row.extend([if role { int(1) } else { NULL }, sid, bit(role && id != 0), int(i32::from(id == 1))]);
        row.extend([text(if id == 1 { "INSTANCE" } else { "NONE" }), NULL, NULL, bit(false)]);
        rows.push(row);
    }
    rows
}
