//! Functions over files of SQL trace. Nothing is traced here, not by default either: `sys.traces` has no
//! row, no trace has an id, and no file is a trace file.

use super::{BIG, DATE, GUID, INT, SID, SystemView, TEXT, VARIANT, ViewContext};
use keel_types::{Length, SqlError, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const N256: SqlType = SqlType::NVarChar(Length::Limited(256));

fn nothing(_: &ViewContext<'_>) -> Rows {
    Vec::new()
}

/// The file that is asked for cannot be a trace.
fn no_trace_file(cx: &ViewContext<'_>) -> Rows {
    if let Some(file) = cx.args.first().and_then(Value::as_str) {
        let text = format!(
            "File '{file}' either does not exist or is not a recognizable trace file. Or there was an error opening the file."
        );
        cx.fail(SqlError::new(567, 16, 1, text));
    }
    Vec::new()
}

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "fn_trace_gettable",
        columns: &[
            ("TextData", TEXT), ("BinaryData", SID), ("DatabaseID", INT), ("TransactionID", BIG), ("LineNumber", INT), ("NTUserName", N256),
            ("NTDomainName", N256), ("HostName", N256), ("ClientProcessID", INT), ("ApplicationName", N256), ("LoginName", N256),
            ("SPID", INT), ("Duration", BIG), ("StartTime", DATE), ("EndTime", DATE), ("Reads", BIG), ("Writes", BIG), ("CPU", INT),
            ("Permissions", BIG), ("Severity", INT), ("EventSubClass", INT), ("ObjectID", INT), ("Success", INT), ("IndexID", INT),
            ("IntegerData", INT), ("ServerName", N256), ("EventClass", INT), ("ObjectType", INT), ("NestLevel", INT), ("State", INT),
            ("Error", INT), ("Mode", INT), ("Handle", INT), ("ObjectName", N256), ("DatabaseName", N256), ("FileName", N256),
            ("OwnerName", N256), ("RoleName", N256), ("TargetUserName", N256), ("DBUserName", N256), ("LoginSid", SID),
            ("TargetLoginName", N256), ("TargetLoginSid", SID), ("ColumnPermissions", INT), ("LinkedServerName", N256),
            ("ProviderName", N256), ("MethodName", N256), ("RowCounts", BIG), ("RequestID", INT), ("XactSequence", BIG),
            ("EventSequence", BIG), ("BigintData1", BIG), ("BigintData2", BIG), ("GUID", GUID), ("IntegerData2", INT), ("ObjectID2", BIG),
            ("Type", INT), ("OwnerID", INT), ("ParentName", N256), ("IsSystem", INT), ("Offset", INT), ("SourceDatabaseID", INT),
            ("SqlHandle", SID), ("SessionLoginName", N256), ("PlanHandle", SID), ("GroupID", INT),
        ],
        rows: no_trace_file,
    },
    SystemView {
        schema: "sys",
        name: "fn_trace_getinfo",
        columns: &[("traceid", INT), ("property", INT), ("value", VARIANT)],
        rows: nothing,
    },
    SystemView {
        schema: "sys",
        name: "fn_trace_geteventinfo",
        columns: &[("eventid", INT), ("columnid", INT)],
        rows: nothing,
    },
    SystemView {
        schema: "sys",
        name: "fn_trace_getfilterinfo",
        columns: &[("columnid", INT), ("logical_operator", INT), ("comparison_operator", INT), ("value", VARIANT)],
        rows: nothing,
    },
];
