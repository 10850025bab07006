//! Logins and users.

use super::{
    BIT, Column, DATE, DESC, INT, KIND, NAME, NULL, SID, SystemView, ViewContext, bit, date, int, text,
};
use crate::catalog::{
    ENDPOINT_PERMISSIONS, FIXED_SERVER_ROLES, GROUP_PERMISSIONS, GUEST_USER, Named, PERMISSIONS,
    PermissionDef, PermissionState, PrincipalDef, SERVER_PERMISSIONS, SecurableRef,
};
use crate::engine::LoginRecord;
use crate::keys::principal::Mapped;
use crate::session::scope::Scope;
use keel_query::catalog::Catalog as _;
use keel_types::{Length, SqlType, Value};

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

const SQL_LOGIN: &[Column] = &super::joined::<14>(
    SERVER.split_at(11).0,
    &[
        ("is_policy_checked", BIT),
        ("is_expiration_checked", BIT),
        ("password_hash", SqlType::VarBinary(Length::Limited(256))),
    ],
);

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

const PERMISSION: &[Column] = &[
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
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "server_principals", columns: SERVER, rows: server_principals },
    SystemView {
        schema: "sys",
        name: "sql_logins",
        columns: SQL_LOGIN,
        rows: |cx| {
            // Policies of the operating system do not apply. The hash of a password is for those who make the login on other replicas.
            let hash = |name: &Value| {
                let login = cx.info.login_named(name.as_str()?).filter(|_| cx.info.unrestricted.get())?;
                Some(Value::bytes(login.password_hash))
            };
            let login = |r: &Vec<Value>| r[3].as_str().is_some_and(|t| t.trim() == "S");
            let rows = server_principals(cx).into_iter().filter(login);
            rows.map(|mut r| {
                let own = vec![bit(false), bit(false), hash(&r[0]).unwrap_or(NULL)];
                [r.drain(..11).collect(), own].concat()
            })
            .collect()
        },
    },
    SystemView { schema: "sys", name: "database_principals", columns: DATABASE, rows: database_principals },
    SystemView {
        schema: "sys",
        name: "database_role_members",
        columns: &[("role_principal_id", INT), ("member_principal_id", INT)],
        rows: role_members,
    },
    SystemView {
        schema: "sys",
        name: "server_role_members",
        columns: &[("role_principal_id", INT), ("member_principal_id", INT)],
        rows: server_role_members,
    },
    SystemView {
        schema: "sys",
        name: "database_permissions",
        columns: PERMISSION,
        rows: database_permissions,
    },
    SystemView {
        schema: "sys",
        name: "fn_my_permissions",
        columns: &[("entity_name", NAME), ("subentity_name", NAME), ("permission_name", DESC)],
        rows: my_permissions,
    },
    SystemView { schema: "sys", name: "server_permissions", columns: PERMISSION, rows: server_permissions },
    SystemView { schema: "sys", name: "sysusers", columns: SYSUSER, rows: sysusers },
    SystemView { schema: "sys", name: "syslogins", columns: SYSLOGIN, rows: syslogins },
];

const SYSUSER: &[Column] = &[
    ("uid", super::SMALL),
    ("status", super::SMALL),
    ("name", NAME),
    ("sid", SID),
    ("roles", SqlType::VarBinary(Length::Limited(2048))),
    ("createdate", DATE),
    ("updatedate", DATE),
    ("altuid", super::SMALL),
    ("password", SqlType::VarBinary(Length::Limited(256))),
    ("gid", super::SMALL),
    ("environ", SqlType::VarChar(Length::Limited(255))),
    ("hasdbaccess", INT),
    ("islogin", INT),
    ("isntname", INT),
    ("isntgroup", INT),
    ("isntuser", INT),
    ("issqluser", INT),
    ("isaliased", INT),
    ("issqlrole", INT),
    ("isapprole", INT),
];

/// The same principals as in `sys.database_principals`, as SQL Server 2000 knew them.
fn sysusers(cx: &ViewContext<'_>) -> Rows {
    let made = cx.picture.settings().created;
    let owner = &cx.picture.settings().owner;
    let short = |n: i32| int(i16::try_from(n).unwrap_or(i16::MAX));
    let row = |p: PrincipalDef| {
        let id = p.principal_id;
        let connects = p.permissions.iter().any(|g| g.name == "CONNECT" && g.state != PermissionState::Deny);
        let (role, application) = (p.role, p.application.is_some());
        let group = if role { short(id) } else { int(0) };
        let flag = |on: bool| int(i32::from(on));
        let (windows, windows_group) = (p.is_windows(), p.is_windows_group());
        let mapped = p.mapped();
        let modern = database_principal(p, made, owner);
        let [name, sid, created, modified] = [0, 8, 5, 6].map(|i: usize| modern[i].clone());
        let other = if role { int(1) } else { NULL };
        let mut row = vec![short(id), int(0), name, sid, NULL, created, modified, other, NULL, group, NULL];
        row.extend([flag(id == 1 || connects), flag(!role && !application)]);
        row.extend([
            flag(windows),
            flag(windows_group),
            flag(windows && !windows_group),
            flag(!role && !application && !windows && mapped.is_none()),
            int(0),
            flag(role),
            flag(application),
        ]);
        row
    };
    cx.picture.principals().into_iter().map(row).collect()
}

const SYSLOGIN: &[Column] = &[
    ("sid", SID),
    ("createdate", DATE),
    ("updatedate", DATE),
    ("name", NAME),
    ("dbname", NAME),
    ("language", NAME),
    ("denylogin", INT),
    ("hasaccess", INT),
    ("isntname", INT),
    ("isntgroup", INT),
    ("isntuser", INT),
    ("sysadmin", INT),
    ("securityadmin", INT),
    ("serveradmin", INT),
    ("setupadmin", INT),
    ("processadmin", INT),
    ("diskadmin", INT),
    ("dbcreator", INT),
    ("bulkadmin", INT),
    ("loginname", NAME),
];

fn syslogins(cx: &ViewContext<'_>) -> Rows {
    let all = cx.info.logins().unwrap_or_default();
    visible_logins(cx).iter().map(|login| syslogin(login, all.may_connect(login))).collect()
}

fn syslogin(l: &crate::engine::LoginRecord, connects: bool) -> Vec<Value> {
    let member = |role: &str| int(i32::from(l.roles.iter().any(|r| r == role)));
    let mut row = vec![Value::bytes(l.sid.clone()), date(l.created), date(l.created), text(l.name.as_str())];
    row.extend([text(l.default_database.as_str()), text(l.default_language.as_str())]);
    // A disabled one may connect too; it is turned away later.
    let flag = |on: bool| int(i32::from(on));
    let (windows, group) = (l.is_windows(), l.is_windows_group());
    row.extend([flag(!connects), flag(connects)]);
    row.extend([flag(windows), flag(group), flag(windows && !group), flag(l.sysadmin)]);
    let roles =
        ["securityadmin", "serveradmin", "setupadmin", "processadmin", "diskadmin", "dbcreator", "bulkadmin"];
    row.extend(roles.map(member));
    row.push(text(l.name.as_str()));
    row
}

/// The logins that the session may see: its own and `sa`, and all with a permission for it.
pub(super) fn visible_logins(cx: &ViewContext<'_>) -> Vec<crate::engine::LoginRecord> {
    let mut all = visible_principals(cx);
    all.retain(|l| !l.role);
    all
}

/// The same with the server roles of one's own, which everybody sees.
fn visible_principals(cx: &ViewContext<'_>) -> Vec<crate::engine::LoginRecord> {
    let mut all = cx.info.logins().unwrap_or_default().to_vec();
    if !sees_logins(cx) {
        let own = cx.info.identity_now();
        let groups_own = |l: &LoginRecord| own.account.as_ref().is_some_and(|account| account.is_in(&l.sid));
        let is_own = |l: &LoginRecord| l.name.eq_ignore_ascii_case(&own.login) || groups_own(l);
        all.retain(|l| l.role || l.principal_id == SA || is_own(l));
    }
    all
}

/// `sa`'s principal id.
const SA: i32 = 1;

fn sees_logins(cx: &ViewContext<'_>) -> bool {
    cx.info.unrestricted.get()
        || ["VIEW ANY DEFINITION", "ALTER ANY LOGIN"].into_iter().any(|p| cx.info.may_on_server(p))
}

fn server_principals(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for l in visible_logins(cx) {
        let mut row = vec![text(l.name.as_str()), int(l.principal_id), Value::bytes(l.sid.clone())];
        let (kind, description) = l.kind();
        row.extend([text(kind), text(description), bit(l.disabled), date(l.created), date(l.created)]);
        row.extend([
            text(l.default_database.as_str()),
            text(l.default_language.as_str()),
            l.credentials.first().map_or(NULL, |id| int(*id)),
            NULL,
            bit(false),
        ]);
        rows.push(row);
    }
    for role in cx.info.logins().unwrap_or_default().iter().filter(|l| l.role) {
        let mut row = vec![text(role.name.as_str()), int(role.principal_id), Value::bytes(role.sid.clone())];
        row.extend([text("R"), text("SERVER_ROLE"), bit(false), date(role.created), date(role.created)]);
        row.extend([NULL, NULL, NULL, int(SA), bit(false)]);
        rows.push(row);
    }
    let public = ("public", 2);
    for (name, id) in std::iter::once(public).chain(FIXED_SERVER_ROLES.iter().copied()) {
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
    let made = cx.picture.settings().created;
    cx.picture
        .principals()
        .into_iter()
        .map(|p| database_principal(p, made, &cx.picture.settings().owner))
        .collect()
}

fn database_principal(p: PrincipalDef, made: i64, owner: &[u8]) -> Vec<Value> {
    let id = p.principal_id;
    let (kind, description) = match (p.role, &p.application) {
        (true, _) => ("R", "DATABASE_ROLE"),
        (false, Some(_)) => ("A", "APPLICATION_ROLE"),
        (false, None) if p.is_windows_group() => ("G", "WINDOWS_GROUP"),
        (false, None) if p.is_windows() => ("U", "WINDOWS_USER"),
        (false, None) => match p.mapped() {
            Some(Mapped::Certificate) => ("C", "CERTIFICATE_MAPPED_USER"),
            Some(Mapped::AsymmetricKey) => ("K", "ASYMMETRIC_KEY_MAPPED_USER"),
            None => ("S", "SQL_USER"),
        },
    };
    let schema = match id {
        // Until somebody says otherwise.
        GUEST_USER if p.default_schema == "dbo" => text("guest"),
        _ if p.role || (p.is_fixed() && id != 1) => NULL,
        _ => text(p.default_schema.as_str()),
    };
    let ticks = |t: i64| date(if t == 0 { made } else { t });
    let sid = if id == 1 { Some(owner.to_vec()) } else { p.sid.clone() };
    let (authentication, authenticated) = match (&p.password_hash, &sid) {
        (Some(_), _) => (2, "DATABASE"),
        (None, Some(_)) if p.is_windows() => (3, "WINDOWS"),
        (None, Some(_)) if p.mapped().is_none() => (1, "INSTANCE"),
        (None, _) => (0, "NONE"),
    };
    let mut row = vec![text(p.name.as_str()), int(id), text(kind), text(description), schema];
    row.extend([ticks(p.created), ticks(p.modified), if p.role { int(1) } else { NULL }]);
    row.extend([
        sid.or_else(|| sid_of(&p)).map_or(NULL, Value::bytes),
        bit(p.role && p.is_fixed() && id != 0),
    ]);
    row.extend([int(authentication), text(authenticated)]);
    row.extend([NULL, NULL, bit(false)]);
    row
}

/// What `public` has behind the part that says it is a role, in every database.
const PUBLIC_SID: [u8; 16] =
    [0x83, 0x74, 0x1B, 0x00, 0x67, 0x49, 0xC0, 0x4B, 0xA9, 0x43, 0xC0, 0x27, 0x02, 0xF2, 0xA7, 0x62];

/// The `sid` that a principal is shown with.
pub(crate) fn sid_of(p: &PrincipalDef) -> Option<Vec<u8>> {
    p.sid.clone().or_else(|| own_sid(p))
}

/// The `sid` of a principal that has no login: S-1-9-4-… of roles, S-1-9-3-… of users, with four numbers of its own.
fn own_sid(p: &PrincipalDef) -> Option<Vec<u8>> {
    let id = p.principal_id;
    if p.is_fixed() && !p.role {
        return (id == GUEST_USER).then(|| vec![0]);
    }
    let own = match id {
        0 => PUBLIC_SID,
        _ if p.is_fixed() => (i128::from(id) << 96).to_le_bytes(),
        _ => (i128::from(p.created) << 32 | i128::from(id)).to_le_bytes(),
    };
    let mut sid = vec![1, 5, 0, 0, 0, 0, 0, 9, if p.role { 4 } else { 3 }, 0, 0, 0];
    sid.extend(own);
    Some(sid)
}

pub(super) fn role_members(cx: &ViewContext<'_>) -> Rows {
    let all = cx.picture.principals();
    let memberships = all.iter().flat_map(|p| p.member_of.iter().map(|role| (*role, p.principal_id)));
    let mut rows: Vec<_> = memberships.collect();
    rows.sort_unstable();
    rows.into_iter().map(|(role, member)| vec![int(role), int(member)]).collect()
}

fn server_role_members(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    let roles = cx.info.logins().unwrap_or_default();
    for login in visible_principals(cx) {
        let own = login.roles.iter().filter_map(|role| roles.role(role));
        rows.extend(own.map(|role| vec![int(role.principal_id), int(login.principal_id)]));
        for (name, id) in FIXED_SERVER_ROLES {
            if *name == "sysadmin" && login.sysadmin || login.roles.iter().any(|r| r == name) {
                rows.push(vec![int(*id), int(login.principal_id)]);
            }
        }
    }
    rows
}

fn permission_row(grantee: i32, p: &PermissionDef, codes: &[(&str, &str)]) -> Vec<Value> {
    let minor = match p.on {
        SecurableRef::Column(_, column) => column,
        _ => 0,
    };
    let (class, description, major) = match p.on {
        SecurableRef::Database => (0, "DATABASE", 0),
        SecurableRef::Object(id) | SecurableRef::Column(id, _) => (1, "OBJECT_OR_COLUMN", id),
        SecurableRef::Schema(id) => (3, "SCHEMA", id),
        SecurableRef::XmlCollection(id) => (10, "XML_SCHEMA_COLLECTION", id),
        SecurableRef::Principal(id) => (4, "DATABASE_PRINCIPAL", id),
        SecurableRef::MessageType(id) => (15, "MESSAGE_TYPE", id),
        SecurableRef::Contract(id) => (16, "SERVICE_CONTRACT", id),
        SecurableRef::Service(id) => (17, "SERVICE", id),
        SecurableRef::Route(id) => (19, "ROUTE", id),
        SecurableRef::SymmetricKey(id) => (24, "SYMMETRIC_KEYS", id),
        SecurableRef::Certificate(id) => (25, "CERTIFICATE", id),
        SecurableRef::AsymmetricKey(id) => (26, "ASYMMETRIC_KEY", id),
        SecurableRef::Server => (100, "SERVER", 0),
        SecurableRef::Endpoint(id) => (105, "ENDPOINT", id),
        SecurableRef::AvailabilityGroup(id) => (108, "AVAILABILITY GROUP", group_number(id)),
    };
    let code = codes.iter().find(|(name, _)| *name == p.name).map_or("", |(_, code)| *code);
    let (state, word) = match p.state {
        PermissionState::Grant => ("G", "GRANT"),
        PermissionState::GrantOption => ("W", "GRANT_WITH_GRANT_OPTION"),
        PermissionState::Deny => ("D", "DENY"),
    };
    let mut row = vec![int(class), text(description), int(major), int(minor), int(grantee), int(1)];
    row.extend([text(code), text(p.name.as_str()), text(state), text(word)]);
    row
}

fn database_permissions(cx: &ViewContext<'_>) -> Rows {
    let stored = cx.picture.stored_principals();
    stored
        .flat_map(|p| p.permissions.iter().map(|q| permission_row(p.principal_id, q, PERMISSIONS)))
        .collect()
}

/// `fn_my_permissions(securable, class)`: what the session may; of tables and views also on each column.
fn my_permissions(cx: &ViewContext<'_>) -> Rows {
    let argument = |n: usize| cx.args.get(n).and_then(Value::as_str);
    let class = argument(1).unwrap_or_default().to_ascii_uppercase();
    let mut rows = Vec::new();
    let mut add =
        |entity: &str, part: &str, name: &str| rows.push(vec![text(entity), text(part), text(name)]);
    match (class.as_str(), argument(0)) {
        ("SERVER", _) => {
            for (name, _) in SERVER_PERMISSIONS.iter().filter(|(name, _)| cx.info.may_on_server(name)) {
                add("server", "", name);
            }
        }
        ("DATABASE", _) => {
            let on = SecurableRef::Database;
            for (name, _) in PERMISSIONS.iter().filter(|(name, _)| cx.info.may(&cx.entry, name, on)) {
                add("database", "", name);
            }
        }
        ("SCHEMA", Some(schema)) => {
            let Some(id) = cx.picture.schema_id(schema) else { return rows };
            for name in OBJECT_PERMISSIONS {
                if cx.info.may(&cx.entry, name, SecurableRef::Schema(id)) {
                    add(schema, "", name);
                }
            }
        }
        ("OBJECT", Some(written)) => {
            let Ok(name) = crate::run::procedure_name(written) else { return rows };
            let scope = Scope::bare(cx.info, cx.entry.id);
            let object = match scope.resolve_unfollowed(crate::ddl::parts(&name)) {
                Some((_, Named::Table(t))) => t.object_id,
                Some((_, Named::Module(m))) => m.object_id,
                _ => return rows,
            };
            let may = |name: &str, on| cx.info.may(&cx.entry, name, on);
            let columns = cx.info.column_names(&cx.entry, object);
            let runs = columns.is_empty();
            for name in OBJECT_PERMISSIONS.iter().filter(|n| runs == (**n == "EXECUTE") || !is_row_right(n)) {
                if may(name, SecurableRef::Object(object)) {
                    add(written, "", name);
                }
            }
            for (id, column) in &columns {
                for name in ["SELECT", "UPDATE", "REFERENCES"] {
                    if may(name, SecurableRef::Column(object, *id)) {
                        add(written, column, name);
                    }
                }
            }
        }
        _ => {}
    }
    rows
}

/// Permissions that objects have.
const OBJECT_PERMISSIONS: [&str; 10] = [
    "SELECT",
    "UPDATE",
    "REFERENCES",
    "INSERT",
    "DELETE",
    "EXECUTE",
    "VIEW DEFINITION",
    "ALTER",
    "TAKE OWNERSHIP",
    "CONTROL",
];

/// Permissions that either tables or procedures have.
fn is_row_right(name: &str) -> bool {
    matches!(name, "SELECT" | "UPDATE" | "REFERENCES" | "INSERT" | "DELETE" | "EXECUTE")
}

fn server_permissions(cx: &ViewContext<'_>) -> Rows {
    let logins = visible_principals(cx);
    let codes = |on| match on {
        SecurableRef::Endpoint(_) => ENDPOINT_PERMISSIONS,
        SecurableRef::AvailabilityGroup(_) => GROUP_PERMISSIONS,
        _ => SERVER_PERMISSIONS,
    };
    let rows = logins
        .iter()
        .flat_map(|l| l.permissions.iter().map(|q| permission_row(l.principal_id, q, codes(q.on))));
    rows.collect()
}

/// The number that stands for a group's id where there is room for an `int` only.
fn group_number(id: [u8; 16]) -> i32 {
    i32::from_le_bytes(id[..4].try_into().expect("four of sixteen")) & i32::MAX
}
