//! What can be audited: groups of actions, single actions, and classes of what they are done to.
//!
//! Names, identifiers and levels are the product's (`sys.dm_audit_actions`, `sys.dm_audit_class_type_map`).

/// A group of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names are the product's: see GROUPS")]
pub enum Group {
    ApplicationRoleChangePassword,
    AuditChange,
    BackupRestore,
    BatchCompleted,
    BatchStarted,
    BrokerLogin,
    DatabaseChange,
    DatabaseLogout,
    DatabaseMirroringLogin,
    DatabaseObjectAccess,
    DatabaseObjectChange,
    DatabaseObjectOwnershipChange,
    DatabaseObjectPermissionChange,
    DatabaseOperation,
    DatabaseOwnershipChange,
    DatabasePermissionChange,
    DatabasePrincipalChange,
    DatabasePrincipalImpersonation,
    DatabaseRoleMemberChange,
    Dbcc,
    FailedDatabaseAuthentication,
    FailedLogin,
    Fulltext,
    GlobalTransactionsLogin,
    LoginChangePassword,
    Logout,
    SchemaObjectAccess,
    SchemaObjectChange,
    SchemaObjectOwnershipChange,
    SchemaObjectPermissionChange,
    ServerObjectChange,
    ServerObjectOwnershipChange,
    ServerObjectPermissionChange,
    ServerOperation,
    ServerPermissionChange,
    ServerPrincipalChange,
    ServerPrincipalImpersonation,
    ServerRoleMemberChange,
    ServerStateChange,
    SuccessfulDatabaseAuthentication,
    SuccessfulLogin,
    TraceChange,
    Transaction,
    UserChangePassword,
    UserDefinedAudit,
}

/// What is known of a group.
pub struct GroupInfo {
    /// Which.
    pub group: Group,
    /// Its name.
    pub name: &'static str,
    /// `action_id` of the group.
    pub id: &'static str,
    /// A database audit specification may have it, too; all may be in one of the server.
    pub of_database: bool,
}

const fn server(group: Group, name: &'static str, id: &'static str) -> GroupInfo {
    GroupInfo { group, name, id, of_database: false }
}

const fn both(group: Group, name: &'static str, id: &'static str) -> GroupInfo {
    GroupInfo { group, name, id, of_database: true }
}

/// All groups, in the order of [`Group`].
#[rustfmt::skip]
pub static GROUPS: &[GroupInfo] = &[
    both(Group::ApplicationRoleChangePassword, "APPLICATION_ROLE_CHANGE_PASSWORD_GROUP", "PWAR"),
    both(Group::AuditChange, "AUDIT_CHANGE_GROUP", "CNAU"),
    both(Group::BackupRestore, "BACKUP_RESTORE_GROUP", "BRDB"),
    both(Group::BatchCompleted, "BATCH_COMPLETED_GROUP", "BCMG"),
    both(Group::BatchStarted, "BATCH_STARTED_GROUP", "BSTG"),
    server(Group::BrokerLogin, "BROKER_LOGIN_GROUP", "LGBG"),
    both(Group::DatabaseChange, "DATABASE_CHANGE_GROUP", "MNDB"),
    both(Group::DatabaseLogout, "DATABASE_LOGOUT_GROUP", "DAGL"),
    server(Group::DatabaseMirroringLogin, "DATABASE_MIRRORING_LOGIN_GROUP", "LGMG"),
    both(Group::DatabaseObjectAccess, "DATABASE_OBJECT_ACCESS_GROUP", "ACDO"),
    both(Group::DatabaseObjectChange, "DATABASE_OBJECT_CHANGE_GROUP", "MNDO"),
    both(Group::DatabaseObjectOwnershipChange, "DATABASE_OBJECT_OWNERSHIP_CHANGE_GROUP", "TODO"),
    both(Group::DatabaseObjectPermissionChange, "DATABASE_OBJECT_PERMISSION_CHANGE_GROUP", "GRDO"),
    both(Group::DatabaseOperation, "DATABASE_OPERATION_GROUP", "OPDB"),
    both(Group::DatabaseOwnershipChange, "DATABASE_OWNERSHIP_CHANGE_GROUP", "TODB"),
    both(Group::DatabasePermissionChange, "DATABASE_PERMISSION_CHANGE_GROUP", "GRDB"),
    both(Group::DatabasePrincipalChange, "DATABASE_PRINCIPAL_CHANGE_GROUP", "MNDP"),
    both(Group::DatabasePrincipalImpersonation, "DATABASE_PRINCIPAL_IMPERSONATION_GROUP", "IMDP"),
    both(Group::DatabaseRoleMemberChange, "DATABASE_ROLE_MEMBER_CHANGE_GROUP", "ADDP"),
    both(Group::Dbcc, "DBCC_GROUP", "DBCG"),
    both(Group::FailedDatabaseAuthentication, "FAILED_DATABASE_AUTHENTICATION_GROUP", "DAGF"),
    server(Group::FailedLogin, "FAILED_LOGIN_GROUP", "LGFL"),
    server(Group::Fulltext, "FULLTEXT_GROUP", "FTG"),
    server(Group::GlobalTransactionsLogin, "GLOBAL_TRANSACTIONS_LOGIN_GROUP", "LGGG"),
    server(Group::LoginChangePassword, "LOGIN_CHANGE_PASSWORD_GROUP", "PWCG"),
    server(Group::Logout, "LOGOUT_GROUP", "LO"),
    both(Group::SchemaObjectAccess, "SCHEMA_OBJECT_ACCESS_GROUP", "ACO"),
    both(Group::SchemaObjectChange, "SCHEMA_OBJECT_CHANGE_GROUP", "MNO"),
    both(Group::SchemaObjectOwnershipChange, "SCHEMA_OBJECT_OWNERSHIP_CHANGE_GROUP", "TOO"),
    both(Group::SchemaObjectPermissionChange, "SCHEMA_OBJECT_PERMISSION_CHANGE_GROUP", "GRO"),
    server(Group::ServerObjectChange, "SERVER_OBJECT_CHANGE_GROUP", "MNSO"),
    server(Group::ServerObjectOwnershipChange, "SERVER_OBJECT_OWNERSHIP_CHANGE_GROUP", "TOSO"),
    server(Group::ServerObjectPermissionChange, "SERVER_OBJECT_PERMISSION_CHANGE_GROUP", "GRSO"),
    server(Group::ServerOperation, "SERVER_OPERATION_GROUP", "OPSV"),
    server(Group::ServerPermissionChange, "SERVER_PERMISSION_CHANGE_GROUP", "GRSV"),
    server(Group::ServerPrincipalChange, "SERVER_PRINCIPAL_CHANGE_GROUP", "MNSP"),
    server(Group::ServerPrincipalImpersonation, "SERVER_PRINCIPAL_IMPERSONATION_GROUP", "IMSP"),
    server(Group::ServerRoleMemberChange, "SERVER_ROLE_MEMBER_CHANGE_GROUP", "ADSP"),
    server(Group::ServerStateChange, "SERVER_STATE_CHANGE_GROUP", "STSV"),
    both(Group::SuccessfulDatabaseAuthentication, "SUCCESSFUL_DATABASE_AUTHENTICATION_GROUP", "DAGS"),
    server(Group::SuccessfulLogin, "SUCCESSFUL_LOGIN_GROUP", "LGSD"),
    server(Group::TraceChange, "TRACE_CHANGE_GROUP", "TRCG"),
    both(Group::Transaction, "TRANSACTION_GROUP", "TXGG"),
    both(Group::UserChangePassword, "USER_CHANGE_PASSWORD_GROUP", "UCGP"),
    both(Group::UserDefinedAudit, "USER_DEFINED_AUDIT_GROUP", "UDAG"),
];

impl Group {
    /// The group of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static GroupInfo> {
        GROUPS.iter().find(|g| g.name.eq_ignore_ascii_case(name))
    }

    /// What is known of it.
    #[must_use]
    pub fn info(self) -> &'static GroupInfo {
        &GROUPS[self as usize]
    }
}

const _: () = {
    let mut n = 0;
    while n < GROUPS.len() {
        assert!(GROUPS[n].group as usize == n);
        n += 1;
    }
};

/// Actions that a database audit specification names one by one: `action_id` and name.
pub const ACCESSES: [(&str, &str); 7] = [
    ("SL", "SELECT"),
    ("IN", "INSERT"),
    ("UP", "UPDATE"),
    ("DL", "DELETE"),
    ("EX", "EXECUTE"),
    ("RF", "REFERENCES"),
    ("RC", "RECEIVE"),
];

/// The `action_id` of a permission on objects that is audited.
#[must_use]
pub fn access_id(permission: &str) -> Option<&'static str> {
    let all = ACCESSES.iter().chain(&[("VWCT", "VIEW CHANGETRACKING")]);
    let name = if permission == "VIEW CHANGE TRACKING" { "VIEW CHANGETRACKING" } else { permission };
    all.into_iter().find(|(_, n)| *n == name).map(|(id, _)| *id)
}

/// An action that records are of.
pub struct ActionInfo {
    /// `action_id`
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Class of what it is done to.
    pub class: &'static str,
    /// The group that has it.
    pub group: Group,
}

const fn action(id: &'static str, name: &'static str, class: &'static str, group: Group) -> ActionInfo {
    ActionInfo { id, name, class, group }
}

/// The actions that this server records, by class.
#[rustfmt::skip]
pub static ACTIONS: &[ActionInfo] = &[
    action("SL", "SELECT", "OBJECT", Group::SchemaObjectAccess),
    action("IN", "INSERT", "OBJECT", Group::SchemaObjectAccess),
    action("UP", "UPDATE", "OBJECT", Group::SchemaObjectAccess),
    action("DL", "DELETE", "OBJECT", Group::SchemaObjectAccess),
    action("EX", "EXECUTE", "OBJECT", Group::SchemaObjectAccess),
    action("RF", "REFERENCES", "OBJECT", Group::SchemaObjectAccess),
    action("VWCT", "VIEW CHANGETRACKING", "OBJECT", Group::SchemaObjectAccess),
    action("CR", "CREATE", "OBJECT", Group::SchemaObjectChange),
    action("AL", "ALTER", "OBJECT", Group::SchemaObjectChange),
    action("DR", "DROP", "OBJECT", Group::SchemaObjectChange),
    action("G", "GRANT", "OBJECT", Group::SchemaObjectPermissionChange),
    action("GWG", "GRANT WITH GRANT", "OBJECT", Group::SchemaObjectPermissionChange),
    action("D", "DENY", "OBJECT", Group::SchemaObjectPermissionChange),
    action("DWC", "DENY WITH CASCADE", "OBJECT", Group::SchemaObjectPermissionChange),
    action("R", "REVOKE", "OBJECT", Group::SchemaObjectPermissionChange),
    action("RWC", "REVOKE WITH CASCADE", "OBJECT", Group::SchemaObjectPermissionChange),
    action("RWG", "REVOKE WITH GRANT", "OBJECT", Group::SchemaObjectPermissionChange),
    action("TO", "TAKE OWNERSHIP", "OBJECT", Group::SchemaObjectOwnershipChange),
    action("CR", "CREATE", "DATABASE", Group::DatabaseChange),
    action("AL", "ALTER", "DATABASE", Group::DatabaseChange),
    action("DR", "DROP", "DATABASE", Group::DatabaseChange),
    action("CR", "CREATE", "SCHEMA", Group::DatabaseObjectChange),
    action("AL", "ALTER", "SCHEMA", Group::DatabaseObjectChange),
    action("DR", "DROP", "SCHEMA", Group::DatabaseObjectChange),
    action("G", "GRANT", "DATABASE", Group::DatabasePermissionChange),
    action("D", "DENY", "DATABASE", Group::DatabasePermissionChange),
    action("R", "REVOKE", "DATABASE", Group::DatabasePermissionChange),
    action("G", "GRANT", "SCHEMA", Group::DatabaseObjectPermissionChange),
    action("D", "DENY", "SCHEMA", Group::DatabaseObjectPermissionChange),
    action("R", "REVOKE", "SCHEMA", Group::DatabaseObjectPermissionChange),
    action("TO", "TAKE OWNERSHIP", "DATABASE", Group::DatabaseOwnershipChange),
    action("TO", "TAKE OWNERSHIP", "SCHEMA", Group::DatabaseObjectOwnershipChange),
    action("CR", "CREATE", "USER", Group::DatabasePrincipalChange),
    action("AL", "ALTER", "USER", Group::DatabasePrincipalChange),
    action("DR", "DROP", "USER", Group::DatabasePrincipalChange),
    action("APRL", "ADD MEMBER", "ROLE", Group::DatabaseRoleMemberChange),
    action("DPRL", "DROP MEMBER", "ROLE", Group::DatabaseRoleMemberChange),
    action("PWCS", "CHANGE OWN PASSWORD", "USER", Group::UserChangePassword),
    action("PWC", "CHANGE PASSWORD", "USER", Group::UserChangePassword),
    action("PWC", "CHANGE PASSWORD", "APPLICATION ROLE", Group::ApplicationRoleChangePassword),
    action("IMP", "IMPERSONATE", "USER", Group::DatabasePrincipalImpersonation),
    action("CP", "CHECKPOINT", "DATABASE", Group::DatabaseOperation),
    action("BA", "BACKUP", "DATABASE", Group::BackupRestore),
    action("BAL", "BACKUP LOG", "DATABASE", Group::BackupRestore),
    action("RS", "RESTORE", "DATABASE", Group::BackupRestore),
    action("DBCC", "DBCC", "DATABASE", Group::Dbcc),
    action("BA", "BACKUP", "CERTIFICATE", Group::BackupRestore),
    action("BA", "BACKUP", "MASTER KEY", Group::BackupRestore),
    action("RS", "RESTORE", "MASTER KEY", Group::BackupRestore),
    action("CR", "CREATE", "CERTIFICATE", Group::DatabaseObjectChange),
    action("AL", "ALTER", "CERTIFICATE", Group::DatabaseObjectChange),
    action("DR", "DROP", "CERTIFICATE", Group::DatabaseObjectChange),
    action("CR", "CREATE", "ASYMMETRIC KEY", Group::DatabaseObjectChange),
    action("AL", "ALTER", "ASYMMETRIC KEY", Group::DatabaseObjectChange),
    action("DR", "DROP", "ASYMMETRIC KEY", Group::DatabaseObjectChange),
    action("CR", "CREATE", "SYMMETRIC KEY", Group::DatabaseObjectChange),
    action("AL", "ALTER", "SYMMETRIC KEY", Group::DatabaseObjectChange),
    action("DR", "DROP", "SYMMETRIC KEY", Group::DatabaseObjectChange),
    action("CR", "CREATE", "MASTER KEY", Group::DatabaseObjectChange),
    action("AL", "ALTER", "MASTER KEY", Group::DatabaseObjectChange),
    action("DR", "DROP", "MASTER KEY", Group::DatabaseObjectChange),
    action("CR", "CREATE", "DATABASE SCOPED CREDENTIAL", Group::DatabaseObjectChange),
    action("AL", "ALTER", "DATABASE SCOPED CREDENTIAL", Group::DatabaseObjectChange),
    action("DR", "DROP", "DATABASE SCOPED CREDENTIAL", Group::DatabaseObjectChange),
    action("OP", "OPEN", "SYMMETRIC KEY", Group::DatabaseObjectAccess),
    action("OP", "OPEN", "MASTER KEY", Group::DatabaseObjectAccess),
    action("DBAS", "DATABASE AUTHENTICATION SUCCEEDED", "DATABASE", Group::SuccessfulDatabaseAuthentication),
    action("DBAF", "DATABASE AUTHENTICATION FAILED", "DATABASE", Group::FailedDatabaseAuthentication),
    action("DBL", "DATABASE LOGOUT", "DATABASE", Group::DatabaseLogout),
    action("BST", "BATCH STARTED", "DATABASE", Group::BatchStarted),
    action("BCM", "BATCH COMPLETED", "DATABASE", Group::BatchCompleted),
    action("TXBG", "TRANSACTION BEGIN", "DATABASE", Group::Transaction),
    action("TXCM", "TRANSACTION COMMIT", "DATABASE", Group::Transaction),
    action("TXRB", "TRANSACTION ROLLBACK", "DATABASE", Group::Transaction),
    action("UDAU", "USER DEFINED AUDIT", "DATABASE", Group::UserDefinedAudit),
    action("LGIS", "LOGIN SUCCEEDED", "LOGIN", Group::SuccessfulLogin),
    action("LGIF", "LOGIN FAILED", "LOGIN", Group::FailedLogin),
    action("LGO", "LOGOUT", "LOGIN", Group::Logout),
    action("CR", "CREATE", "LOGIN", Group::ServerPrincipalChange),
    action("AL", "ALTER", "LOGIN", Group::ServerPrincipalChange),
    action("DR", "DROP", "LOGIN", Group::ServerPrincipalChange),
    action("LGEA", "ENABLE", "LOGIN", Group::ServerPrincipalChange),
    action("LGDA", "DISABLE", "LOGIN", Group::ServerPrincipalChange),
    action("CMLG", "CREDENTIAL MAP TO LOGIN", "LOGIN", Group::ServerPrincipalChange),
    action("NMLG", "NO CREDENTIAL MAP TO LOGIN", "LOGIN", Group::ServerPrincipalChange),
    action("PWC", "CHANGE PASSWORD", "LOGIN", Group::LoginChangePassword),
    action("PWCS", "CHANGE OWN PASSWORD", "LOGIN", Group::LoginChangePassword),
    action("IMP", "IMPERSONATE", "LOGIN", Group::ServerPrincipalImpersonation),
    action("APRL", "ADD MEMBER", "SERVER ROLE", Group::ServerRoleMemberChange),
    action("DPRL", "DROP MEMBER", "SERVER ROLE", Group::ServerRoleMemberChange),
    action("G", "GRANT", "SERVER", Group::ServerPermissionChange),
    action("D", "DENY", "SERVER", Group::ServerPermissionChange),
    action("R", "REVOKE", "SERVER", Group::ServerPermissionChange),
    action("CR", "CREATE", "ENDPOINT", Group::ServerObjectChange),
    action("AL", "ALTER", "ENDPOINT", Group::ServerObjectChange),
    action("DR", "DROP", "ENDPOINT", Group::ServerObjectChange),
    action("G", "GRANT", "ENDPOINT", Group::ServerObjectPermissionChange),
    action("D", "DENY", "ENDPOINT", Group::ServerObjectPermissionChange),
    action("R", "REVOKE", "ENDPOINT", Group::ServerObjectPermissionChange),
    action("TO", "TAKE OWNERSHIP", "ENDPOINT", Group::ServerObjectOwnershipChange),
    action("CR", "CREATE", "CREDENTIAL", Group::ServerObjectChange),
    action("AL", "ALTER", "CREDENTIAL", Group::ServerObjectChange),
    action("DR", "DROP", "CREDENTIAL", Group::ServerObjectChange),
    action("ALST", "ALTER SETTINGS", "SERVER", Group::ServerOperation),
    action("ALCN", "ALTER CONNECTION", "SERVER", Group::ServerOperation),
    action("SVSR", "SERVER STARTED", "SERVER", Group::ServerStateChange),
    action("SVSD", "SERVER SHUTDOWN", "SERVER", Group::ServerStateChange),
    action("CR", "CREATE", "SERVER AUDIT", Group::AuditChange),
    action("AL", "ALTER", "SERVER AUDIT", Group::AuditChange),
    action("DR", "DROP", "SERVER AUDIT", Group::AuditChange),
    action("AUSC", "AUDIT SESSION CHANGED", "SERVER AUDIT", Group::AuditChange),
];

/// A class of what actions are done to.
pub struct ClassInfo {
    /// `class_type`
    pub id: &'static str,
    /// `class_type_desc`
    pub name: &'static str,
    /// `securable_class_desc`
    pub securable: &'static str,
}

const fn class(id: &'static str, name: &'static str, securable: &'static str) -> ClassInfo {
    ClassInfo { id, name, securable }
}

/// The classes that records of this server have.
#[rustfmt::skip]
pub static CLASSES: &[ClassInfo] = &[
    class("A", "SERVER AUDIT", "SERVER AUDIT"),
    class("AG", "AVAILABILITY GROUP", "AVAILABILITY GROUP"),
    class("AK", "ASYMMETRIC KEY", "ASYMMETRIC KEY"),
    class("AR", "APPLICATION ROLE", "APPLICATION ROLE"),
    class("CD", "CREDENTIAL", "CREDENTIAL"),
    class("CR", "CERTIFICATE", "CERTIFICATE"),
    class("D", "DEFAULT", "OBJECT"),
    class("DA", "DATABASE AUDIT SPECIFICATION", "DATABASE AUDIT SPECIFICATION"),
    class("DB", "DATABASE", "DATABASE"),
    class("DC", "DATABASE SCOPED CREDENTIAL", "DATABASE SCOPED CREDENTIAL"),
    class("DK", "DATABASE ENCRYPTION KEY", "DATABASE ENCRYPTION KEY"),
    class("DT", "DATABASE TRIGGER", "DATABASE TRIGGER"),
    class("EP", "ENDPOINT", "ENDPOINT"),
    class("ES", "SERVER EVENT SESSION", "SERVER EVENT SESSION"),
    class("FC", "FULLTEXT CATALOG", "FULLTEXT CATALOG"),
    class("FL", "FULLTEXT STOPLIST", "FULLTEXT STOPLIST"),
    class("FN", "FUNCTION", "OBJECT"),
    class("IX", "INDEX", "OBJECT"),
    class("LX", "LOGIN", "LOGIN"),
    class("MK", "MASTER KEY", "MASTER KEY"),
    class("P", "STORED PROCEDURE", "OBJECT"),
    class("PF", "PARTITION FUNCTION", "PARTITION FUNCTION"),
    class("PS", "PARTITION SCHEME", "PARTITION SCHEME"),
    class("RG", "RESOURCE GOVERNOR", "RESOURCE GOVERNOR"),
    class("RL", "ROLE", "ROLE"),
    class("SA", "SERVER AUDIT SPECIFICATION", "SERVER AUDIT SPECIFICATION"),
    class("SC", "SCHEMA", "SCHEMA"),
    class("SG", "SERVER ROLE", "SERVER ROLE"),
    class("SK", "SYMMETRIC KEY", "SYMMETRIC KEY"),
    class("SL", "SQL LOGIN", "LOGIN"),
    class("SN", "SYNONYM", "OBJECT"),
    class("SO", "SEQUENCE OBJECT", "OBJECT"),
    class("SP", "SECURITY POLICY", "OBJECT"),
    class("SR", "SERVER", "SERVER"),
    class("ST", "STATISTICS", "OBJECT"),
    class("SU", "SQL USER", "USER"),
    class("TR", "TRIGGER", "OBJECT"),
    class("TY", "TYPE", "TYPE"),
    class("U", "TABLE", "OBJECT"),
    class("V", "VIEW", "OBJECT"),
];

/// The class of an object type's name, as EVENTDATA() has it; `None` for one that is not audited by itself.
#[must_use]
pub fn class_named(name: &str) -> Option<&'static str> {
    let name = match name {
        "PROCEDURE" => "STORED PROCEDURE",
        "SEQUENCE" => "SEQUENCE OBJECT",
        "USER" => "SQL USER",
        "LOGIN" => "SQL LOGIN",
        "RESOURCE POOL" | "WORKLOAD GROUP" => "RESOURCE GOVERNOR",
        "FULLTEXT INDEX" | "XML INDEX" | "SPATIAL INDEX" => "INDEX",
        "CONSTRAINT" => "TABLE",
        "APPLICATION_ROLE" => "APPLICATION ROLE",
        name => name,
    };
    CLASSES.iter().find(|c| c.name == name).map(|c| c.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_their_names() {
        assert_eq!(Group::named("dbcc_group").map(|g| g.id), Some("DBCG"));
        assert!(Group::named("DBCC").is_none());
        assert_eq!(Group::UserDefinedAudit.info().name, "USER_DEFINED_AUDIT_GROUP");
    }

    #[test]
    fn classes_have_names_of_their_own() {
        for (n, class) in CLASSES.iter().enumerate() {
            assert!(CLASSES[..n].iter().all(|c| c.id != class.id && c.name != class.name), "{}", class.name);
        }
    }
}
