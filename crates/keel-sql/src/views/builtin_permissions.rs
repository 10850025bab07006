//! `fn_builtin_permissions(class)`: the permissions that there are, and by which others each is held: of its own class, and of what the securable
//! is in.
//!
//! Most of it follows from few rules: CONTROL covers everything of its class, what has the same name on what is above covers it there.

use super::{Column, DESC, NAME, SystemView, ViewContext, text};
use crate::catalog::{PERMISSIONS, SERVER_PERMISSIONS};
use keel_types::{SqlType, Value};

type Rows = Vec<Vec<Value>>;

const COLUMNS: &[Column] = &[
    ("class_desc", DESC),
    ("permission_name", NAME),
    ("type", SqlType::Char(4)),
    ("covering_permission_name", NAME),
    ("parent_class_desc", DESC),
    ("parent_covering_permission_name", NAME),
];

pub(super) static VIEWS: &[SystemView] = &[SystemView {
    schema: "sys",
    name: "fn_builtin_permissions",
    columns: COLUMNS,
    rows: builtin_permissions,
}];

/// A class of securables that is in another one.
struct Class {
    name: &'static str,
    parent: &'static str,
    /// What covers ALTER there.
    alter: &'static str,
    permissions: &'static [&'static str],
}

const fn class(
    name: &'static str,
    parent: &'static str,
    alter: &'static str,
    permissions: &'static [&'static str],
) -> Class {
    Class { name, parent, alter, permissions }
}

const OWNED: &[&str] = &["VIEW DEFINITION", "ALTER", "TAKE OWNERSHIP", "CONTROL"];
const REFERENCED: &[&str] = &["VIEW DEFINITION", "ALTER", "TAKE OWNERSHIP", "CONTROL", "REFERENCES"];
const PLAIN: &[&str] = &["VIEW DEFINITION", "ALTER", "CONTROL"];
const IMPERSONATED: &[&str] = &["IMPERSONATE", "VIEW DEFINITION", "ALTER", "CONTROL"];
#[rustfmt::skip]
const ON_OBJECTS: &[&str] = &[
    "SELECT", "UPDATE", "REFERENCES", "INSERT", "DELETE", "EXECUTE", "RECEIVE", "VIEW CHANGE TRACKING", "UNMASK", "VIEW DEFINITION", "ALTER",
    "TAKE OWNERSHIP", "CONTROL",
];
#[rustfmt::skip]
const ON_SCHEMAS: &[&str] = &[
    "SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES", "EXECUTE", "VIEW CHANGE TRACKING", "UNMASK", "VIEW DEFINITION", "ALTER", "TAKE OWNERSHIP",
    "CONTROL",
];
const ON_TYPES: &[&str] = &["REFERENCES", "EXECUTE", "VIEW DEFINITION", "TAKE OWNERSHIP", "CONTROL"];
const ON_COLLECTIONS: &[&str] =
    &["REFERENCES", "EXECUTE", "VIEW DEFINITION", "ALTER", "TAKE OWNERSHIP", "CONTROL"];
const ON_SERVICES: &[&str] = &["SEND", "VIEW DEFINITION", "ALTER", "TAKE OWNERSHIP", "CONTROL"];
const ON_ENDPOINTS: &[&str] = &["CONNECT", "VIEW DEFINITION", "ALTER", "TAKE OWNERSHIP", "CONTROL"];

const CLASSES: &[Class] = &[
    class("OBJECT", "SCHEMA", "ALTER", ON_OBJECTS),
    class("TYPE", "SCHEMA", "ALTER", ON_TYPES),
    class("SCHEMA", "DATABASE", "ALTER ANY SCHEMA", ON_SCHEMAS),
    class("XML SCHEMA COLLECTION", "SCHEMA", "ALTER", ON_COLLECTIONS),
    class("ROLE", "DATABASE", "ALTER ANY ROLE", OWNED),
    class("APPLICATION ROLE", "DATABASE", "ALTER ANY APPLICATION ROLE", PLAIN),
    class("USER", "DATABASE", "ALTER ANY USER", IMPERSONATED),
    class("MESSAGE TYPE", "DATABASE", "ALTER ANY MESSAGE TYPE", REFERENCED),
    class("CONTRACT", "DATABASE", "ALTER ANY CONTRACT", REFERENCED),
    class("SERVICE", "DATABASE", "ALTER ANY SERVICE", ON_SERVICES),
    class("ROUTE", "DATABASE", "ALTER ANY ROUTE", OWNED),
    class("FULLTEXT CATALOG", "DATABASE", "ALTER ANY FULLTEXT CATALOG", REFERENCED),
    class("FULLTEXT STOPLIST", "DATABASE", "ALTER ANY FULLTEXT CATALOG", REFERENCED),
    class("SYMMETRIC KEY", "DATABASE", "ALTER ANY SYMMETRIC KEY", REFERENCED),
    class("CERTIFICATE", "DATABASE", "ALTER ANY CERTIFICATE", REFERENCED),
    class("ASYMMETRIC KEY", "DATABASE", "ALTER ANY ASYMMETRIC KEY", REFERENCED),
    class("DATABASE SCOPED CREDENTIAL", "DATABASE", "CONTROL", REFERENCED),
    class("LOGIN", "SERVER", "ALTER ANY LOGIN", IMPERSONATED),
    class("SERVER ROLE", "SERVER", "ALTER ANY SERVER ROLE", OWNED),
    class("ENDPOINT", "SERVER", "ALTER ANY ENDPOINT", ON_ENDPOINTS),
    class("AVAILABILITY GROUP", "SERVER", "ALTER ANY AVAILABILITY GROUP", OWNED),
];

/// Those of [`PERMISSIONS`] that are of smaller things only.
const NOT_OF_DATABASES: &[&str] = &["RECEIVE", "SEND", "IMPERSONATE", "VIEW CHANGE TRACKING"];

impl Class {
    /// What covers a permission above.
    fn above(&self, permission: &'static str) -> &'static str {
        let server = self.parent == "SERVER";
        match permission {
            "ALTER" => self.alter,
            "VIEW DEFINITION" if server => "VIEW ANY DEFINITION",
            "VIEW CHANGE TRACKING" if self.name == "OBJECT" => permission,
            "CONTROL"
            | "TAKE OWNERSHIP"
            | "IMPERSONATE"
            | "CONNECT"
            | "SEND"
            | "RECEIVE"
            | "VIEW CHANGE TRACKING" => {
                if server {
                    "CONTROL SERVER"
                } else {
                    "CONTROL"
                }
            }
            same => same,
        }
    }
}

/// What covers a permission on the instance.
fn on_server(permission: &str) -> &'static str {
    match permission {
        "CONTROL SERVER" => "",
        "CREATE ANY DATABASE" => "ALTER ANY DATABASE",
        "CREATE SERVER ROLE" => "ALTER ANY SERVER ROLE",
        "VIEW ANY DATABASE" | "VIEW ANY SECURITY DEFINITION" => "VIEW ANY DEFINITION",
        "VIEW SERVER STATE" => "ALTER SERVER STATE",
        "VIEW SERVER PERFORMANCE STATE" | "VIEW SERVER SECURITY STATE" => "VIEW SERVER STATE",
        _ => "CONTROL SERVER",
    }
}

/// What covers a permission on a database there, and on the instance.
fn on_database(permission: &str) -> (String, &'static str) {
    const OF_SCHEMAS: [&str; 11] = [
        "AGGREGATE",
        "DEFAULT",
        "FUNCTION",
        "PROCEDURE",
        "QUEUE",
        "RULE",
        "SYNONYM",
        "TABLE",
        "TYPE",
        "VIEW",
        "XML SCHEMA COLLECTION",
    ];
    let own = match permission {
        "CONTROL" => String::new(),
        "CONNECT" => "CONNECT REPLICATION".to_owned(),
        "CREATE DATABASE" | "ALTER ANY MASK" | "ALTER ANY SECURITY POLICY" => "CONTROL".to_owned(),
        "CREATE DATABASE DDL EVENT NOTIFICATION" => "ALTER ANY DATABASE EVENT NOTIFICATION".to_owned(),
        "VIEW DATABASE PERFORMANCE STATE" | "VIEW DATABASE SECURITY STATE" => {
            "VIEW DATABASE STATE".to_owned()
        }
        _ if permission.starts_with("VIEW ANY COLUMN") => "VIEW DEFINITION".to_owned(),
        _ if permission.starts_with("ALTER ANY ") => "ALTER".to_owned(),
        _ => match permission.strip_prefix("CREATE ") {
            Some(what) if OF_SCHEMAS.contains(&what) => "ALTER".to_owned(),
            Some(what) => format!("ALTER ANY {what}"),
            None => "CONTROL".to_owned(),
        },
    };
    let above = match permission {
        "ALTER" => "ALTER ANY DATABASE",
        "CREATE DATABASE" => "CREATE ANY DATABASE",
        "AUTHENTICATE" => "AUTHENTICATE SERVER",
        "SHOWPLAN" => "ALTER TRACE",
        "VIEW DEFINITION" => "VIEW ANY DEFINITION",
        "VIEW DATABASE STATE" => "VIEW SERVER STATE",
        "VIEW DATABASE PERFORMANCE STATE" => "VIEW SERVER PERFORMANCE STATE",
        "VIEW DATABASE SECURITY STATE" => "VIEW SERVER SECURITY STATE",
        "ALTER ANY DATABASE AUDIT" => "ALTER ANY SERVER AUDIT",
        "ALTER ANY DATABASE EVENT SESSION" => "ALTER ANY EVENT SESSION",
        "ALTER ANY DATABASE EVENT NOTIFICATION" => "ALTER ANY EVENT NOTIFICATION",
        "CREATE DATABASE DDL EVENT NOTIFICATION" => "CREATE DDL EVENT NOTIFICATION",
        _ if permission.starts_with("VIEW ANY COLUMN") => "VIEW ANY DEFINITION",
        _ => "CONTROL SERVER",
    };
    (own, above)
}

fn row(class: &str, name: &str, code: &str, covering: &str, parent: [&str; 2]) -> Vec<Value> {
    let [parent, above] = parent;
    vec![text(class), text(name), text(format!("{code:<4}")), text(covering), text(parent), text(above)]
}

/// The rows of a class of something that is in something else.
fn rows_of(class: &'static Class) -> impl Iterator<Item = Vec<Value>> {
    class.permissions.iter().map(move |name| {
        let code = PERMISSIONS.iter().find(|p| p.0 == *name).map_or("", |p| p.1);
        let covering = if *name == "CONTROL" { "" } else { "CONTROL" };
        row(class.name, name, code, covering, [class.parent, class.above(name)])
    })
}

fn builtin_permissions(cx: &ViewContext<'_>) -> Rows {
    let database = PERMISSIONS.iter().filter(|p| !NOT_OF_DATABASES.contains(&p.0)).map(|(name, code)| {
        let (covering, above) = on_database(name);
        row("DATABASE", name, code, &covering, ["SERVER", above])
    });
    let server =
        SERVER_PERMISSIONS.iter().map(|(name, code)| row("SERVER", name, code, on_server(name), ["", ""]));
    let mut rows: Rows = database.chain(CLASSES.iter().flat_map(rows_of)).chain(server).collect();
    let wanted = cx.args.first().and_then(Value::as_str).filter(|wanted| !wanted.is_empty());
    if let Some(wanted) = wanted {
        rows.retain(|row| row[0].as_str().is_some_and(|class| class.eq_ignore_ascii_case(wanted)));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What covers something is itself a permission there, or one of the product that this server does not have.
    #[test]
    fn what_covers_is_a_permission_too() {
        const ELSEWHERE: [&str; 5] = [
            "ALTER ANY ENDPOINT",
            "ALTER ANY EVENT NOTIFICATION",
            "ALTER TRACE",
            "AUTHENTICATE SERVER",
            "CREATE DDL EVENT NOTIFICATION",
        ];
        let of_database = |name: &str| PERMISSIONS.iter().any(|p| p.0 == name);
        let of_server = |name: &str| {
            name.is_empty() || ELSEWHERE.contains(&name) || SERVER_PERMISSIONS.iter().any(|p| p.0 == name)
        };
        for (name, _) in PERMISSIONS.iter().filter(|p| !NOT_OF_DATABASES.contains(&p.0)) {
            let (own, above) = on_database(name);
            assert!(own.is_empty() || of_database(&own), "{name}: {own}");
            assert!(of_server(above), "{name}: {above}");
        }
        for (name, _) in SERVER_PERMISSIONS {
            assert!(of_server(on_server(name)), "{name}");
        }
        for class in CLASSES {
            for name in class.permissions {
                let above = class.above(name);
                let known = if class.parent == "SERVER" { of_server(above) } else { of_database(above) };
                assert!(known && of_database(name), "{} {name}: {above}", class.name);
            }
        }
    }
}
