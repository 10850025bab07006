//! Logins, permissions, backup, availability groups, endpoints, DBCC and other administration.

use super::{Expr, Ident, ObjectName, Opt, OptValue, Span};
use smol_str::SmolStr;

#[derive(Clone, Debug, PartialEq)]
pub struct CreateLogin {
    pub name: Ident,
    pub source: LoginSource,
    pub options: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LoginSource {
    Password { password: Password, must_change: bool },
    Windows,
    Certificate(Ident),
    AsymmetricKey(Ident),
    ExternalProvider,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Password {
    Plain(SmolStr),
    /// `0x… HASHED`
    Hashed(std::sync::Arc<[u8]>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterLogin {
    pub name: Ident,
    pub action: AlterLoginAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterLoginAction {
    Enable(bool),
    /// `ADD | DROP CREDENTIAL c`
    Credential {
        add: bool,
        name: Ident,
    },
    Set {
        password: Option<Password>,
        old_password: Option<SmolStr>,
        must_change: bool,
        unlock: bool,
        /// NAME, DEFAULT_DATABASE, DEFAULT_LANGUAGE, CHECK_POLICY, CHECK_EXPIRATION, CREDENTIAL, NO CREDENTIAL.
        options: Vec<Opt>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateUser {
    pub name: Ident,
    pub source: UserSource,
    pub options: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum UserSource {
    /// `FOR|FROM LOGIN name`; `None`: the login of the same name.
    Login(Option<Ident>),
    WithoutLogin,
    Certificate(Ident),
    AsymmetricKey(Ident),
    ExternalProvider,
    /// `WITH PASSWORD = …` of a contained database.
    Password(Password),
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterUser {
    pub name: Ident,
    pub options: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateRole {
    pub server: bool,
    /// APPLICATION ROLE.
    pub application: bool,
    pub name: Ident,
    pub authorization: Option<Ident>,
    pub options: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterRole {
    pub server: bool,
    pub application: bool,
    pub name: Ident,
    pub action: AlterRoleAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterRoleAction {
    AddMember(Ident),
    DropMember(Ident),
    Rename(Ident),
    Set(Vec<Opt>),
}

/// GRANT, DENY, REVOKE.
#[derive(Clone, Debug, PartialEq)]
pub struct Permission {
    pub verb: PermissionVerb,
    pub permissions: Vec<PermissionItem>,
    pub on: Option<Securable>,
    pub principals: Vec<Ident>,
    /// `WITH GRANT OPTION`, or `GRANT OPTION FOR` of REVOKE.
    pub grant_option: bool,
    pub cascade: bool,
    pub as_principal: Option<Ident>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionVerb {
    Grant,
    Deny,
    Revoke,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PermissionItem {
    /// Upper case, words joined by one space: `SELECT`, `VIEW SERVER STATE`, `ALL`.
    pub name: SmolStr,
    pub columns: Vec<Ident>,
}

/// `[class::]name [(columns)]`
#[derive(Clone, Debug, PartialEq)]
pub struct Securable {
    /// Upper case: OBJECT, SCHEMA, DATABASE, ENDPOINT, LOGIN, …; `None` means OBJECT.
    pub class: Option<SmolStr>,
    pub name: ObjectName,
    pub columns: Vec<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterAuthorization {
    pub on: Securable,
    /// `None` for SCHEMA OWNER.
    pub to: Option<Ident>,
}

// ---- backup and restore ----

#[derive(Clone, Debug, PartialEq)]
pub enum NameOrVariable {
    Name(Ident),
    Variable(super::Variable),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Backup {
    pub log: bool,
    pub database: NameOrVariable,
    /// FILE = …, FILEGROUP = …, READ_WRITE_FILEGROUPS
    pub parts: Vec<Opt>,
    pub to: Vec<BackupDevice>,
    pub mirrors: Vec<Vec<BackupDevice>>,
    pub options: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BackupDevice {
    /// DISK, URL, TAPE, or `None` for a logical device.
    pub kind: Option<SmolStr>,
    pub name: DeviceName,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DeviceName {
    Text(SmolStr),
    Variable(super::Variable),
    Logical(Ident),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Restore {
    pub kind: RestoreKind,
    /// `None` for the forms that only read a device.
    pub database: Option<NameOrVariable>,
    pub parts: Vec<Opt>,
    pub from: Vec<BackupDevice>,
    pub snapshot: Option<SmolStr>,
    pub options: Vec<Opt>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreKind {
    Database,
    Log,
    HeaderOnly,
    FileListOnly,
    LabelOnly,
    VerifyOnly,
    RewindOnly,
}

// ---- small ones ----

/// `DBCC name [(args)] [WITH options]`
#[derive(Clone, Debug, PartialEq)]
pub struct Dbcc {
    /// Upper case.
    pub command: SmolStr,
    /// Bare words arrive as column references.
    pub args: Vec<Expr>,
    pub options: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kill {
    Session {
        id: Expr,
        status_only: bool,
    },
    /// `KILL 'uow' [WITH STATUSONLY | COMMIT | ROLLBACK]`
    Transaction {
        uow: SmolStr,
        status_only: bool,
        /// What becomes of a prepared one.
        commit: Option<bool>,
    },
    /// `KILL QUERY NOTIFICATION SUBSCRIPTION { id | ALL }`: `None` for all.
    Subscription(Option<Expr>),
    /// `KILL STATS JOB n`
    Other(SmolStr),
}

// ---- availability groups ----

#[derive(Clone, Debug, PartialEq)]
pub struct AvailabilityGroupStatement {
    pub name: Ident,
    pub action: AvailabilityGroupAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AvailabilityGroupAction {
    Create {
        /// `WITH (…)`; names upper case, words values upper case as typed.
        options: Vec<Opt>,
        databases: Vec<Ident>,
        replicas: Vec<ReplicaSpec>,
        listener: Option<ListenerSpec>,
        /// `AVAILABILITY GROUP ON …` of a distributed group.
        members: Vec<ReplicaSpec>,
    },
    /// `SET (…)`
    Set(Vec<Opt>),
    AddDatabase(Vec<Ident>),
    RemoveDatabase(Vec<Ident>),
    AddReplica(Vec<ReplicaSpec>),
    ModifyReplica(ReplicaSpec),
    RemoveReplica(SmolStr),
    Join {
        cluster_type: Option<SmolStr>,
        /// REBUILD_SYSTEM_DATABASES
        rebuilds: bool,
    },
    JoinDistributed(Vec<ReplicaSpec>),
    ModifyDistributed(Vec<ReplicaSpec>),
    GrantCreateAnyDatabase,
    DenyCreateAnyDatabase,
    Failover,
    ForceFailoverAllowDataLoss,
    AddListener(ListenerSpec),
    ModifyListener {
        name: SmolStr,
        change: ListenerChange,
    },
    RestartListener(SmolStr),
    RemoveListener(SmolStr),
    Offline,
    Drop,
}

/// `'server' WITH (…)`, for distributed groups `'group' WITH (…)`.
///
/// SECONDARY_ROLE and PRIMARY_ROLE are options whose value is a list; READ_ONLY_ROUTING_LIST is a list of strings
/// and lists (each an option without value, named by the server) or the word NONE.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaSpec {
    pub name: SmolStr,
    pub options: Vec<ReplicaOption>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ReplicaOption {
    /// ENDPOINT_URL, AVAILABILITY_MODE, FAILOVER_MODE, SEEDING_MODE, BACKUP_PRIORITY, SESSION_TIMEOUT, LISTENER_URL.
    Plain(Opt),
    SecondaryRole(Vec<RoleOption>),
    PrimaryRole(Vec<RoleOption>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum RoleOption {
    /// ALLOW_CONNECTIONS, READ_ONLY_ROUTING_URL, READ_WRITE_ROUTING_URL.
    Plain(Opt),
    /// READ_ONLY_ROUTING_LIST; `None` is the word NONE; each element is a load-balanced set of servers.
    RoutingList(Option<Vec<Vec<SmolStr>>>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ListenerSpec {
    pub name: SmolStr,
    pub address: ListenerAddress,
    pub port: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ListenerAddress {
    /// With subnet and mask when `ON (…)` was given.
    Dhcp(Option<(SmolStr, SmolStr)>),
    Ip(Vec<ListenerIp>),
    DistributedNetworkName,
}

/// `('10.0.0.1', '255.255.255.0')` or `('fe80::1')`
#[derive(Clone, Debug, PartialEq)]
pub struct ListenerIp {
    pub address: SmolStr,
    pub mask: Option<SmolStr>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ListenerChange {
    AddIp(ListenerIp),
    RemoveIp(ListenerIp),
    Port(i64),
}

// ---- endpoints, keys of databases ----

#[derive(Clone, Debug, PartialEq)]
pub struct EndpointStatement {
    pub create: bool,
    pub name: Ident,
    pub authorization: Option<Ident>,
    /// STARTED, STOPPED, DISABLED; upper case.
    pub state: Option<SmolStr>,
    /// `AS TCP ( LISTENER_PORT = …, LISTENER_IP = … )`: protocol and options; `(1.2.3.4)` arrives as a string.
    pub transport: Option<(SmolStr, Vec<Opt>)>,
    pub payload: Option<EndpointPayload>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EndpointPayload {
    /// DATABASE_MIRRORING, TSQL, SERVICE_BROKER.
    pub kind: SmolStr,
    /// In the order tried.
    pub authentication: Vec<EndpointAuthentication>,
    pub encryption: Option<EndpointEncryption>,
    /// WITNESS, PARTNER, ALL.
    pub role: Option<SmolStr>,
    pub other: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EndpointAuthentication {
    /// NTLM, KERBEROS, NEGOTIATE when written.
    Windows(Option<SmolStr>),
    Certificate(Ident),
}

#[derive(Clone, Debug, PartialEq)]
pub struct EndpointEncryption {
    /// DISABLED, SUPPORTED, REQUIRED.
    pub mode: SmolStr,
    /// AES, RC4 in order; empty when not written.
    pub algorithms: Vec<SmolStr>,
}

/// `CREATE | ALTER | DROP DATABASE ENCRYPTION KEY`
#[derive(Clone, Debug, PartialEq)]
pub enum DatabaseEncryptionKey {
    Create {
        algorithm: SmolStr,
        encryptor: Encryptor,
    },
    /// `REGENERATE WITH ALGORITHM = …`, `ENCRYPTION BY …`, or both.
    Alter {
        algorithm: Option<SmolStr>,
        encryptor: Option<Encryptor>,
    },
    Drop,
}

/// `SERVER CERTIFICATE c` or `SERVER ASYMMETRIC KEY k`.
#[derive(Clone, Debug, PartialEq)]
pub struct Encryptor {
    pub asymmetric_key: bool,
    pub name: Ident,
}

/// A statement kept as what it is about: `CREATE EVENT SESSION e …`.
#[derive(Clone, Debug, PartialEq)]
pub struct GenericStatement {
    /// CREATE, ALTER, DROP, …
    pub verb: SmolStr,
    /// SERVER CONFIGURATION, CREDENTIAL, …
    pub class: SmolStr,
    pub name: Option<ObjectName>,
    pub options: Vec<Opt>,
}

impl GenericStatement {
    /// The value of an option.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&OptValue> {
        self.options.iter().find(|o| o.name == name).map(|o| &o.value)
    }
}
