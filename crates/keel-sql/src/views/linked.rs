//! Servers by name, and who is whom there.

use super::{BIT, Column, DATE, INT, NAME, NULL, SystemView, TEXT, ViewContext, bit, date, int, text};
use crate::linked::LinkedServer;
use keel_types::Value;

const SERVER: &[Column] = &[
    ("server_id", INT),
    ("name", NAME),
    ("product", NAME),
    ("provider", NAME),
    ("data_source", TEXT),
    ("location", TEXT),
    ("provider_string", TEXT),
    ("catalog", NAME),
    ("connect_timeout", INT),
    ("query_timeout", INT),
    ("is_linked", BIT),
    ("is_remote_login_enabled", BIT),
    ("is_rpc_out_enabled", BIT),
    ("is_data_access_enabled", BIT),
    ("is_collation_compatible", BIT),
    ("uses_remote_collation", BIT),
    ("collation_name", NAME),
    ("lazy_schema_validation", BIT),
    ("is_system", BIT),
    ("is_publisher", BIT),
    ("is_subscriber", BIT),
    ("is_distributor", BIT),
    ("is_nonsql_subscriber", BIT),
    ("is_remote_proc_transaction_promotion_enabled", BIT),
    ("modify_date", DATE),
    ("is_rda_server", BIT),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "servers",
        columns: SERVER,
        rows: |cx| std::iter::once(own(cx)).chain(linked(cx).iter().map(server)).collect(),
    },
    SystemView {
        schema: "sys",
        name: "linked_logins",
        columns: &[
            ("server_id", INT),
            ("local_principal_id", INT),
            ("uses_self_credential", BIT),
            ("remote_name", NAME),
            ("modify_date", DATE),
        ],
        rows: linked_logins,
    },
    SystemView {
        schema: "sys",
        name: "remote_logins",
        columns: &[
            ("server_id", INT),
            ("remote_name", NAME),
            ("local_principal_id", INT),
            ("modify_date", DATE),
        ],
        // Who comes from another server logs in as everybody does.
        rows: |_| Vec::new(),
    },
];

fn linked(cx: &ViewContext<'_>) -> Vec<LinkedServer> {
    cx.engine.linked_servers().map(|all| all.to_vec()).unwrap_or_default()
}

/// The instance itself.
fn own(cx: &ViewContext<'_>) -> Vec<Value> {
    let name = cx.engine.options().server_name.as_str();
    let mut row = vec![int(0), text(name), text("SQL Server"), text("SQLNCLI"), text(name)];
    row.extend([NULL, NULL, NULL, int(0), int(0)]);
    row.extend([false, true, true, false, false, true].map(bit));
    row.push(NULL);
    row.extend([false; 7].map(bit));
    row.extend([date(cx.engine.started()), bit(false)]);
    row
}

fn server(s: &LinkedServer) -> Vec<Value> {
    let may = |t: &Option<String>| t.as_deref().map_or(NULL, text);
    let marked = |mark: &str| s.marks.iter().any(|m| m == mark);
    let mut row = vec![int(s.id), text(s.name.as_str()), text(s.product.as_str()), text(s.provider.as_str())];
    row.extend([may(&s.data_source), may(&s.location), may(&s.provider_string), may(&s.catalog)]);
    row.extend([int(s.connect_timeout), int(s.query_timeout)]);
    let options = [true, s.rpc, s.rpc_out, s.data_access, s.collation_compatible, s.use_remote_collation];
    row.extend(options.map(bit));
    row.push(may(&s.collation_name));
    let options =
        [s.lazy_schema_validation, marked("system"), marked("pub"), marked("sub"), marked("dist"), false];
    row.extend(options.map(bit));
    row.extend([bit(s.promotion), date(s.modified), bit(false)]);
    row
}

/// Who is whom: seen by who may change it, and one's own line by everybody.
fn linked_logins(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let all = cx.info.unrestricted.get() || cx.info.may_on_server("ALTER ANY LOGIN");
    let own = cx.info.login_now().map(|login| login.sid);
    let logins = cx.info.logins().ok();
    let mut rows = vec![];
    if all {
        rows.push(vec![int(0), int(0), bit(true), NULL, date(cx.engine.started())]);
    }
    for server in linked(cx) {
        for login in server.logins.iter().filter(|l| all || l.local.is_none() || l.local == own) {
            let id =
                login.local.as_ref().map_or(Some(0), |sid| Some(logins.as_ref()?.of_sid(sid)?.principal_id));
            let name = login.remote_name.as_deref().map_or(NULL, text);
            // A login that was dropped is nobody's any more.
            let Some(id) = id else { continue };
            rows.push(vec![int(server.id), int(id), bit(login.uses_self), name, date(login.modified)]);
        }
    }
    rows
}
