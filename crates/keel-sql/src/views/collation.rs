//! In which collation the columns of system views are: names of what belongs to a database in that database's, names of what belongs to
//! the instance in the instance's, words of the system (types, descriptions) in one that is the same everywhere.

use super::SystemView;
use crate::engine::Engine;
use keel_base::DatabaseId;
use keel_types::{Collation, SqlType};

/// Beginnings of names of views that show the instance, whichever database they are asked in.
const INSTANCE_PREFIXES: [&str; 14] = [
    "availability_",
    "database_mirroring",
    "dm_",
    "endpoint",
    "fn_hadr",
    "fn_trace",
    "fn_xe",
    "linked_",
    "remote_logins",
    "resource_governor_",
    "server",
    "tcp_endpoints",
    "trace",
    "spt_",
];

/// Others of them.
const INSTANCE: [&str; 33] = [
    "backup_devices",
    "change_tracking_databases",
    "configurations",
    "credentials",
    "cryptographic_providers",
    "databases",
    "fn_get_audit_file",
    "fn_helpcollations",
    "fn_servershareddrives",
    "fn_virtualservernodes",
    "http_endpoints",
    "login_token",
    "master_files",
    "messages",
    "securable_classes",
    "soap_endpoints",
    "sql_logins",
    "sysaltfiles",
    "syscacheobjects",
    "syscharsets",
    "sysconfigures",
    "syscurconfigs",
    "sysdatabases",
    "sysdevices",
    "syslanguages",
    "syslockinfo",
    "syslogins",
    "sysmessages",
    "sysperfinfo",
    "sysprocesses",
    "sysremotelogins",
    "sysservers",
    "time_zone_info",
];

/// Views of `sys.dm_…` that show a database.
const DATABASE_PREFIXES: [&str; 3] = ["dm_db_", "dm_sql_", "dm_fts_"];

/// Ends of columns' names in INFORMATION_SCHEMA that hold names and texts of the database.
const NAMES: [&str; 8] =
    ["_CATALOG", "_SCHEMA", "_NAME", "_DEFINITION", "_DEFAULT", "_CLAUSE", "_OWNER", "_BODY"];

fn is_of_the_instance(view: &SystemView) -> bool {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| view.name.starts_with(prefix));
    let of_it = begins(&INSTANCE_PREFIXES) && !begins(&DATABASE_PREFIXES);
    view.schema == "sys" && (of_it || INSTANCE.contains(&view.name))
}

/// The collation of the names in a view that is read in a database.
pub(super) fn of_names(view: &SystemView, engine: &Engine, database: DatabaseId) -> Collation {
    match engine.database_by_id(database).filter(|_| !is_of_the_instance(view)) {
        Some(entry) => entry.picture().settings().default_collation(),
        None => engine.collation(),
    }
}

/// Whether a column holds names, or texts that users have written.
pub(super) fn is_of_names(view: &SystemView, column: &str, ty: SqlType) -> bool {
    if view.schema == "INFORMATION_SCHEMA" {
        let other = column.starts_with("COLLATION_") || column.starts_with("CHARACTER_SET_");
        return !other && NAMES.iter().any(|end| column.ends_with(end));
    }
    ty.is_string() && !matches!(ty, SqlType::Char(_)) && column != "type" && !column.ends_with("_desc")
}
