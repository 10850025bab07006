//! Credentials, of the instance and of a database. Secrets are shown nowhere.

use super::{Column, DATE, INT, NAME, NULL, SystemView, ViewContext, date, int, text, view};
use crate::keys::CredentialDef;
use crate::keys::credential::ALTER_ANY;
use keel_types::{Length, SqlType, Value};

const N100: SqlType = SqlType::NVarChar(Length::Limited(100));
const N4000: SqlType = SqlType::NVarChar(Length::Limited(4000));

#[rustfmt::skip]
const SERVER: &[Column] = &[
    ("credential_id", INT), ("name", NAME), ("credential_identity", N4000), ("create_date", DATE), ("modify_date", DATE),
    ("target_type", N100), ("target_id", INT),
];

#[rustfmt::skip]
const SCOPED: &[Column] = &[
    ("credential_id", INT), ("name", NAME), ("principal_id", INT), ("credential_identity", N4000), ("create_date", DATE),
    ("modify_date", DATE), ("target_type", N100), ("target_id", INT),
];

pub(super) static VIEWS: &[SystemView] = &[
    view("credentials", SERVER, of_the_instance),
    view("database_scoped_credentials", SCOPED, of_the_database),
    view("database_credentials", SCOPED, of_the_database),
    view("server_principal_credentials", &[("principal_id", INT), ("credential_id", INT)], of_logins),
];

/// For who may change them or see every definition.
fn of_the_instance(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let may = |permission: &&str| cx.info.may_on_server(permission);
    if !cx.info.unrestricted.get() && ![ALTER_ANY, "VIEW ANY DEFINITION"].iter().any(may) {
        return Vec::new();
    }
    let mut all = cx.engine.credentials().unwrap_or_default();
    all.sort_by_key(|c| c.id);
    all.iter().map(|c| row(c, vec![])).collect()
}

fn of_the_database(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    cx.picture.credentials().map(|c| row(c, vec![int(c.principal)])).collect()
}

fn row(c: &CredentialDef, owner: Vec<Value>) -> Vec<Value> {
    let (named, identity) = (vec![int(c.id), text(c.name.as_str())], vec![text(c.identity.as_str())]);
    [named, owner, identity, vec![date(c.created), date(c.modified), NULL, NULL]].concat()
}

fn of_logins(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for login in super::principals::visible_logins(cx) {
        rows.extend(login.credentials.iter().map(|id| vec![int(login.principal_id), int(*id)]));
    }
    rows
}
