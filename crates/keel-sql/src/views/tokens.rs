//! Who the session is, with all that it belongs to: `sys.login_token` and `sys.user_token`.

use super::{Column, INT, NAME, SID, SystemView, ViewContext, int, text, view};
use crate::catalog::FIXED_SERVER_ROLES;
use keel_types::Value;

type Rows = Vec<Vec<Value>>;

const TOKEN: &[Column] =
    &[("principal_id", INT), ("sid", SID), ("name", NAME), ("type", NAME), ("usage", NAME)];

pub(super) static VIEWS: &[SystemView] =
    &[view("login_token", TOKEN, of_the_login), view("user_token", TOKEN, of_the_user)];

fn row(id: i32, sid: Vec<u8>, name: &str, kind: &str) -> Vec<Value> {
    vec![int(id), Value::bytes(sid), text(name), text(kind), text("GRANT OR DENY")]
}

/// The login, public, and the server roles that it is a member of, directly and by others.
fn of_the_login(cx: &ViewContext<'_>) -> Rows {
    let Some(login) = cx.info.login_now() else { return Rows::new() };
    let all = cx.info.logins().unwrap_or_default();
    let mut roles = all.roles_of(&login);
    if login.sysadmin && !roles.contains(&"sysadmin") {
        roles.push("sysadmin");
    }
    let mut rows = vec![row(login.principal_id, login.sid.clone(), &login.name, "SQL LOGIN")];
    rows.push(row(PUBLIC, vec![PUBLIC as u8], "public", "SERVER ROLE"));
    for name in roles {
        let fixed = FIXED_SERVER_ROLES.iter().find(|(known, _)| *known == name);
        match (fixed, all.role(name)) {
            (Some((name, id)), _) => rows.push(row(*id, vec![*id as u8], name, "SERVER ROLE")),
            (None, Some(role)) => {
                rows.push(row(role.principal_id, role.sid.clone(), &role.name, "SERVER ROLE"));
            }
            (None, None) => {}
        }
    }
    rows
}

/// `public` among server principals.
const PUBLIC: i32 = 2;

/// The user, public, and the roles that it is a member of, directly and by others.
fn of_the_user(cx: &ViewContext<'_>) -> Rows {
    let Some(token) = cx.info.token_in(&cx.entry) else { return Rows::new() };
    let principals = token.ids.iter().filter_map(|id| cx.picture.principal(*id));
    principals
        .map(|p| {
            let kind = if p.role { "ROLE" } else { "SQL USER" };
            row(p.principal_id, p.sid.unwrap_or_default(), &p.name, kind)
        })
        .collect()
}
