//! Functions and `@@variables` whose values only the session knows.
//!
//! One table, [`ALL`]: name, number of arguments, result type, and the function itself. The index in the table is the id
//! that plans carry. Adding one is adding a line.

mod full_text;
mod hadr;
mod metadata;
mod object_property;
mod security;
mod sequence;
pub(crate) mod server;
mod session;

pub use metadata::{find as find_named, find_seen, split_name, type_number};
pub use sequence::CurrentRow;

use crate::keys::functions as keys;
use crate::session::info::Info;
use keel_query::IsolationLevel;
use keel_query::scope::SessionFunction;
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};
pub use server::PRODUCT_VERSION;
pub(crate) use server::monitored;

/// The code of a function.
pub type Eval = fn(&Info, &[Value]) -> Result<Value>;

/// One function.
pub struct Function {
    /// Upper-case name.
    pub name: &'static str,
    /// Least number of arguments.
    pub least: usize,
    /// Greatest number of arguments.
    pub most: usize,
    /// What its arguments are converted to; nothing where they are taken as they are. Bytes take texts and bytes alone.
    pub params: &'static [SqlType],
    /// Result.
    pub ty: SqlType,
    /// One value per statement.
    pub stable: bool,
    /// What it computes.
    pub eval: Eval,
}

const fn f(name: &'static str, least: usize, most: usize, ty: SqlType, eval: Eval) -> Function {
    Function { name, least, most, params: &[], ty, stable: true, eval }
}

/// Changes within a statement.
const fn volatile(name: &'static str, most: usize, ty: SqlType, eval: Eval) -> Function {
    Function { name, least: 0, most, params: &[], ty, stable: false, eval }
}

/// One of keys: every argument has its type. Those that draw something are not stable.
const fn key(
    name: &'static str,
    least: usize,
    params: &'static [SqlType],
    ty: SqlType,
    stable: bool,
    eval: Eval,
) -> Function {
    Function { name, least, most: params.len(), params, ty, stable, eval }
}

const INT: SqlType = SqlType::Int;
const BYTES: SqlType = SqlType::VarBinary(Length::Max);
const SEALED: SqlType = SqlType::VarBinary(Length::Limited(8000));
const GUID: SqlType = SqlType::UniqueIdentifier;
const BIG: SqlType = SqlType::BigInt;
const NAME: SqlType = SqlType::SYSNAME;
const TEXT: SqlType = SqlType::NVarChar(Length::Limited(4000));
const VARIANT: SqlType = SqlType::SqlVariant;
const NUMBER38: SqlType = SqlType::Numeric { precision: 38, scale: 0 };

/// Every function.
pub static ALL: &[Function] = &[
    // Session.
    f("@@ROWCOUNT", 0, 0, INT, session::row_count),
    f("ROWCOUNT_BIG", 0, 0, BIG, session::row_count),
    f("@@ERROR", 0, 0, INT, session::error),
    f("@@TRANCOUNT", 0, 0, INT, session::tran_count),
    f("XACT_STATE", 0, 0, SqlType::SmallInt, session::xact_state),
    f("@@IDENTITY", 0, 0, NUMBER38, session::identity),
    f("SCOPE_IDENTITY", 0, 0, NUMBER38, session::scope_identity),
    Function { least: 1, ..volatile("IDENT_CURRENT", 1, NUMBER38, metadata::ident_current) },
    f("IDENT_SEED", 1, 1, NUMBER38, metadata::ident_seed),
    f("IDENT_INCR", 1, 1, NUMBER38, metadata::ident_incr),
    f("@@FETCH_STATUS", 0, 0, INT, session::fetch_status),
    f("@@CURSOR_ROWS", 0, 0, INT, session::cursor_rows),
    f("CURSOR_STATUS", 2, 2, SqlType::SmallInt, session::cursor_status),
    f("@@NESTLEVEL", 0, 0, INT, session::nest_level),
    f("@@SPID", 0, 0, SqlType::SmallInt, session::spid),
    f("@@PROCID", 0, 0, INT, session::proc_id),
    f("@@OPTIONS", 0, 0, INT, session::options),
    f("@@LOCK_TIMEOUT", 0, 0, INT, session::lock_timeout),
    f("@@TEXTSIZE", 0, 0, INT, session::text_size),
    f("@@DATEFIRST", 0, 0, SqlType::TinyInt, session::date_first),
    f("@@LANGUAGE", 0, 0, NAME, session::language),
    f("@@LANGID", 0, 0, SqlType::SmallInt, session::lang_id),
    f("ERROR_NUMBER", 0, 0, INT, session::error_number),
    f("ERROR_MESSAGE", 0, 0, TEXT, session::error_message),
    f("ERROR_SEVERITY", 0, 0, INT, session::error_severity),
    f("ERROR_STATE", 0, 0, INT, session::error_state),
    f("ERROR_LINE", 0, 0, INT, session::error_line),
    f("ERROR_PROCEDURE", 0, 0, NAME, session::error_procedure),
    f("SESSION_CONTEXT", 1, 1, VARIANT, session::session_context),
    f("CONTEXT_INFO", 0, 0, SqlType::VarBinary(Length::Limited(128)), session::context_info),
    f("SESSIONPROPERTY", 1, 1, VARIANT, session::session_property),
    f("CURRENT_TRANSACTION_ID", 0, 0, BIG, session::transaction_id),
    f("FORMATMESSAGE", 1, 21, TEXT, session::format_message),
    f("COLUMNS_UPDATED", 0, 0, SqlType::VarBinary(Length::Limited(128)), session::columns_updated),
    f("UPDATE()", 1, 1, SqlType::Bit, session::column_updated),
    f("TRIGGER_NESTLEVEL", 0, 3, INT, session::trigger_nest_level),
    f("EVENTDATA", 0, 0, SqlType::Xml, session::event_data),
    f("XML_SCHEMA_NAMESPACE", 2, 3, SqlType::Xml, metadata::xml_schema_namespace),
    f("CONNECTIONPROPERTY", 1, 1, VARIANT, session::connection_property),
    f("GETANSINULL", 0, 1, SqlType::SmallInt, session::get_ansi_null),
    f("APPLOCK_MODE", 3, 3, TEXT, session::applock_mode),
    f("APPLOCK_TEST", 4, 4, SqlType::SmallInt, session::applock_test),
    f("SYS.FN_KEEL_CDC_REFUSE", 3, 3, SqlType::Bit, crate::capture::refuse),
    // Security.
    f("SUSER_SNAME", 0, 1, NAME, security::login_name),
    f("SUSER_NAME", 0, 1, NAME, security::login_name),
    f("SYSTEM_USER", 0, 0, NAME, security::login_name),
    f("ORIGINAL_LOGIN", 0, 0, NAME, security::original_login),
    f("SUSER_ID", 0, 1, INT, security::login_id),
    f("SUSER_SID", 0, 2, SqlType::VarBinary(Length::Limited(85)), security::login_sid),
    f("USER_NAME", 0, 1, NAME, security::user_name),
    f("USER", 0, 0, NAME, security::user_name),
    f("CURRENT_USER", 0, 0, NAME, security::user_name),
    f("SESSION_USER", 0, 0, NAME, security::user_name),
    f("USER_ID", 0, 1, INT, security::user_id),
    f("DATABASE_PRINCIPAL_ID", 0, 1, INT, security::user_id),
    f("IS_SRVROLEMEMBER", 1, 2, INT, security::is_server_role_member),
    f("IS_MEMBER", 1, 1, INT, security::is_member),
    f("IS_ROLEMEMBER", 1, 2, INT, security::is_member),
    f("HAS_PERMS_BY_NAME", 3, 5, INT, security::has_perms),
    f("HAS_DBACCESS", 1, 1, INT, security::has_db_access),
    f("PERMISSIONS", 0, 2, INT, security::permissions),
    f("PWDCOMPARE", 2, 3, INT, security::password_compare),
    f("HOST_NAME", 0, 0, NAME, security::host_name),
    f("HOST_ID", 0, 0, SqlType::NVarChar(Length::Limited(10)), security::host_id),
    f("APP_NAME", 0, 0, NAME, security::app_name),
    f("PROGRAM_NAME", 0, 0, NAME, security::app_name),
    // Keys.
    key("KEY_GUID", 1, &[TEXT], GUID, true, keys::key_guid),
    key("KEY_ID", 1, &[TEXT], INT, true, keys::key_id),
    f("KEY_NAME", 1, 1, NAME, keys::key_name),
    key("SYMKEYPROPERTY", 2, &[INT, TEXT], VARIANT, true, keys::symmetric_property),
    key("CERT_ID", 1, &[TEXT], INT, true, keys::certificate_id),
    key("CERTPROPERTY", 2, &[INT, TEXT], VARIANT, true, keys::certificate_property),
    key("CERTENCODED", 1, &[INT], SEALED, true, keys::certificate_encoded),
    key("CERTPRIVATEKEY", 2, &[INT, TEXT, TEXT], SEALED, false, keys::certificate_private_key),
    key("ASYMKEY_ID", 1, &[TEXT], INT, true, keys::asymmetric_id),
    key("ASYMKEYPROPERTY", 2, &[INT, TEXT], VARIANT, true, keys::asymmetric_property),
    key("ENCRYPTBYKEY", 2, &[GUID, BYTES, INT, BYTES], SEALED, false, keys::encrypt_by_key),
    key("DECRYPTBYKEY", 1, &[BYTES, INT, BYTES], SEALED, true, keys::decrypt_by_key),
    key(
        "DECRYPTBYKEYAUTOCERT",
        3,
        &[INT, TEXT, BYTES, INT, BYTES],
        SEALED,
        true,
        keys::decrypt_by_key_auto_cert,
    ),
    key(
        "DECRYPTBYKEYAUTOASYMKEY",
        3,
        &[INT, TEXT, BYTES, INT, BYTES],
        SEALED,
        true,
        keys::decrypt_by_key_auto_asymmetric,
    ),
    key("ENCRYPTBYCERT", 2, &[INT, BYTES], SEALED, false, keys::encrypt_by_cert),
    key("DECRYPTBYCERT", 2, &[INT, BYTES, TEXT], SEALED, true, keys::decrypt_by_cert),
    key("ENCRYPTBYASYMKEY", 2, &[INT, BYTES], SEALED, false, keys::encrypt_by_asymmetric),
    key("DECRYPTBYASYMKEY", 2, &[INT, BYTES, TEXT], SEALED, true, keys::decrypt_by_asymmetric),
    key("SIGNBYCERT", 2, &[INT, BYTES, TEXT], SEALED, true, keys::sign_by_cert),
    key("VERIFYSIGNEDBYCERT", 3, &[INT, BYTES, BYTES], INT, true, keys::verify_by_cert),
    key("SIGNBYASYMKEY", 2, &[INT, BYTES, TEXT], SEALED, true, keys::sign_by_asymmetric),
    key("IS_OBJECTSIGNED", 4, &[TEXT, INT, TEXT, BYTES], INT, true, crate::keys::signature::is_object_signed),
    key("VERIFYSIGNEDBYASYMKEY", 3, &[INT, BYTES, BYTES], INT, true, keys::verify_by_asymmetric),
    // Server.
    f("@@VERSION", 0, 0, SqlType::NVarChar(Length::Limited(300)), server::version),
    f("@@SERVERNAME", 0, 0, NAME, server::server_name),
    f("@@SERVICENAME", 0, 0, NAME, server::service_name),
    f("@@MICROSOFTVERSION", 0, 0, INT, server::microsoft_version),
    f("@@MAX_CONNECTIONS", 0, 0, INT, server::max_connections),
    f("@@MAX_PRECISION", 0, 0, SqlType::TinyInt, server::max_precision),
    f("@@CONNECTIONS", 0, 0, INT, server::connections),
    f("@@CPU_BUSY", 0, 0, INT, server::cpu_busy),
    f("@@IO_BUSY", 0, 0, INT, server::io_busy),
    f("@@IDLE", 0, 0, INT, server::idle),
    f("@@PACK_RECEIVED", 0, 0, INT, server::packets_received),
    f("@@PACK_SENT", 0, 0, INT, server::packets_sent),
    f("@@PACKET_ERRORS", 0, 0, INT, server::zero),
    f("@@TOTAL_ERRORS", 0, 0, INT, server::zero),
    f("@@TOTAL_READ", 0, 0, INT, server::total_read),
    f("@@TOTAL_WRITE", 0, 0, INT, server::total_write),
    f("@@TIMETICKS", 0, 0, INT, server::time_ticks),
    f("@@REMSERVER", 0, 0, NAME, server::null),
    f("@@DBTS", 0, 0, SqlType::VarBinary(Length::Limited(8)), server::dbts),
    f("MIN_ACTIVE_ROWVERSION", 0, 0, SqlType::Binary(8), server::min_active_rowversion),
    f("SERVERPROPERTY", 1, 1, VARIANT, server::server_property),
    f("DATABASEPROPERTYEX", 2, 2, VARIANT, server::database_property),
    f("DATABASEPROPERTY", 2, 2, INT, server::database_property_int),
    f("COLLATIONPROPERTY", 2, 2, VARIANT, server::collation_property),
    f("FULLTEXTSERVICEPROPERTY", 1, 1, INT, full_text::service_property),
    f("FULLTEXTCATALOGPROPERTY", 2, 2, INT, full_text::catalog_property),
    // Metadata.
    f("CURRENT_REQUEST_ID", 0, 0, SqlType::SmallInt, |_, _| Ok(Value::Int(0))),
    f("DB_ID", 0, 1, SqlType::SmallInt, metadata::db_id),
    f("DB_NAME", 0, 1, NAME, metadata::db_name),
    f("ORIGINAL_DB_NAME", 0, 0, NAME, metadata::original_db_name),
    f("OBJECT_ID", 1, 2, INT, metadata::object_id),
    f("OBJECT_NAME", 1, 2, NAME, metadata::object_name),
    f("OBJECT_SCHEMA_NAME", 1, 2, NAME, metadata::object_schema_name),
    f("OBJECT_DEFINITION", 1, 1, SqlType::NVarChar(Length::Max), metadata::object_definition),
    f("OBJECTPROPERTY", 2, 2, INT, object_property::object_property),
    f("OBJECTPROPERTYEX", 2, 2, VARIANT, object_property::object_property_ex),
    f("SCHEMA_ID", 0, 1, INT, metadata::schema_id),
    f("SCHEMA_NAME", 0, 1, NAME, metadata::schema_name),
    f("TYPE_ID", 1, 1, INT, metadata::type_id),
    f("TYPE_NAME", 1, 1, NAME, metadata::type_name),
    f("TYPEPROPERTY", 2, 2, INT, metadata::type_property),
    f("COL_NAME", 2, 2, NAME, metadata::col_name),
    f("COL_LENGTH", 2, 2, SqlType::SmallInt, metadata::col_length),
    f("COLUMNPROPERTY", 3, 3, INT, metadata::column_property),
    f("INDEX_COL", 3, 3, NAME, metadata::index_col),
    f("INDEXPROPERTY", 3, 3, INT, metadata::index_property),
    f("INDEXKEY_PROPERTY", 4, 4, INT, metadata::index_key_property),
    f("STATS_DATE", 2, 2, SqlType::DateTime, metadata::stats_date),
    f("FILE_ID", 1, 1, SqlType::SmallInt, metadata::file_id),
    f("FILE_IDEX", 1, 1, INT, metadata::file_id),
    f("FILEPROPERTY", 2, 2, INT, metadata::file_property),
    f("FILE_NAME", 1, 1, NAME, metadata::file_name),
    f("FILEGROUP_NAME", 1, 1, NAME, metadata::filegroup_name),
    f("FILEGROUPPROPERTY", 2, 2, INT, metadata::filegroup_property),
    f("FILEGROUP_ID", 1, 1, INT, metadata::filegroup_id),
    f("$PARTITION", 3, 3, INT, metadata::partition_number),
    Function {
        name: "NEXT VALUE FOR",
        least: 3,
        most: 3,
        params: &[],
        ty: BIG,
        stable: false,
        eval: sequence::next_value_for,
    },
    f("CHANGE_TRACKING_IS_COLUMN_IN_MASK", 2, 2, INT, metadata::is_column_in_mask),
    // Availability groups.
    f("SYS.FN_HADR_IS_PRIMARY_REPLICA", 1, 1, SqlType::Bit, hadr::is_primary_replica),
    f("SYS.FN_HADR_BACKUP_IS_PREFERRED_REPLICA", 1, 1, SqlType::Bit, hadr::backup_is_preferred_replica),
    // There is nothing that evaluates policies, and no domain whose accounts would have security identifiers.
    f("MSDB.DBO.FN_SYSPOLICY_IS_AUTOMATION_ENABLED", 0, 0, SqlType::Bit, server::no),
    f("MSDB.MANAGED_BACKUP.FN_IS_MASTER_SWITCH_ON", 0, 0, SqlType::Bit, server::no),
    f("MSDB.SMART_ADMIN.FN_IS_MASTER_SWITCH_ON", 0, 0, SqlType::Bit, server::no),
    // There are no assemblies.
    f("ASSEMBLYPROPERTY", 2, 2, VARIANT, server::null),
    f("LOGINPROPERTY", 2, 2, VARIANT, security::login_property),
    f("SID_BINARY", 1, 1, SqlType::VarBinary(Length::Limited(85)), server::null),
    volatile("SYS.FN_KEEL_COMMIT_LSN", 0, SqlType::Numeric { precision: 25, scale: 0 }, hadr::commit_lsn),
    volatile("NEWSEQUENTIALID", 0, SqlType::UniqueIdentifier, server::new_sequential_id),
];

/// Finds a function for the binder.
#[must_use]
pub fn bind(name: &str, args: &[SqlType]) -> Option<SessionFunction> {
    let upper = name.to_ascii_uppercase().replace(['[', ']'], "");
    let upper = upper.strip_prefix("MASTER.").unwrap_or(&upper);
    let id = ALL.iter().position(|f| f.name == upper)?;
    let function = &ALL[id];
    if args.len() < function.least || args.len() > function.most {
        return None;
    }
    Some(SessionFunction {
        id: id as u32,
        params: function.params,
        ty: function.ty,
        nullable: true,
        stable: function.stable,
    })
}

/// Calls a function by the id that [`bind`] gave.
pub fn call(info: &Info, id: u32, args: &[Value]) -> Result<Value> {
    (ALL[id as usize].eval)(info, args)
}

/// As DBCC USEROPTIONS shows it.
#[must_use]
pub fn isolation_name(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::ReadUncommitted => "read uncommitted",
        IsolationLevel::ReadCommitted => "read committed",
        IsolationLevel::RepeatableRead => "repeatable read",
        IsolationLevel::Serializable => "serializable",
        IsolationLevel::Snapshot => "snapshot",
    }
}

/// A string argument; `None` for NULL and other types.
pub(crate) fn text(args: &[Value], at: usize) -> Option<&str> {
    args.get(at).and_then(Value::as_str)
}

/// A number argument.
pub(crate) fn number(args: &[Value], at: usize) -> Option<i64> {
    match args.get(at)? {
        Value::Int(n) => Some(*n),
        Value::Bit(b) => Some(i64::from(*b)),
        Value::Decimal(d) if d.scale == 0 => i64::try_from(d.mantissa()).ok(),
        Value::Str(s) => s.trim().parse().ok(),
        _ => None,
    }
}

/// A number or NULL.
pub(crate) fn int(n: Option<i64>) -> Value {
    n.map_or(Value::Null, Value::Int)
}

/// A string or NULL.
pub(crate) fn string(s: Option<impl Into<smol_str::SmolStr>>) -> Value {
    s.map_or(Value::Null, |s| Value::str(s))
}

/// A sql_variant.
pub(crate) fn variant(ty: SqlType, value: Value) -> Value {
    match value {
        Value::Null => Value::Null,
        value => Value::Variant(std::sync::Arc::new((ty, value))),
    }
}

/// A sql_variant of type int.
fn variant_int(n: i64) -> Value {
    variant(INT, Value::Int(n))
}

/// A sql_variant of type nvarchar.
pub(crate) fn variant_text(s: impl Into<smol_str::SmolStr>) -> Value {
    variant(SqlType::NVarChar(Length::Limited(128)), Value::str(s))
}
