//! What an audit records of one action.

use super::catalog::Group;
use crate::events::catalog::{Field, Ty};
use serde::{Deserialize, Serialize};

/// A record, as files hold it: one JSON document. Names are those of `sys.fn_get_audit_file`; what is not in a document was empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the columns of sys.fn_get_audit_file")]
pub struct Record {
    /// UTC ticks.
    pub event_time: i64,
    pub action_id: String,
    pub succeeded: bool,
    pub is_column_permission: bool,
    pub session_id: i32,
    pub server_principal_id: i32,
    pub database_principal_id: i32,
    pub target_server_principal_id: i32,
    pub target_database_principal_id: i32,
    pub object_id: i32,
    pub class_type: String,
    pub session_server_principal_name: String,
    pub server_principal_name: String,
    pub server_principal_sid: Vec<u8>,
    pub database_principal_name: String,
    pub target_server_principal_name: String,
    pub target_server_principal_sid: Vec<u8>,
    pub target_database_principal_name: String,
    pub server_instance_name: String,
    pub database_name: String,
    pub schema_name: String,
    pub object_name: String,
    pub statement: String,
    pub additional_information: String,
    pub user_defined_event_id: i32,
    pub user_defined_information: String,
    /// Joins the rows of a statement that is longer than one holds.
    pub sequence_group_id: [u8; 16],
    pub transaction_id: u64,
    pub client_ip: String,
    pub application_name: String,
    pub duration_milliseconds: u64,
    pub response_rows: u64,
    pub affected_rows: u64,
    pub host_name: String,
}

/// The columns that WHERE of an audit may name.
pub static COLUMNS: &[(&str, Ty)] = &[
    ("action_id", Ty::Text),
    ("succeeded", Ty::Boolean),
    ("is_column_permission", Ty::Boolean),
    ("session_id", Ty::Int32),
    ("server_principal_id", Ty::Int32),
    ("database_principal_id", Ty::Int32),
    ("target_server_principal_id", Ty::Int32),
    ("target_database_principal_id", Ty::Int32),
    ("object_id", Ty::Int32),
    ("class_type", Ty::Text),
    ("session_server_principal_name", Ty::Text),
    ("server_principal_name", Ty::Text),
    ("server_principal_sid", Ty::Binary),
    ("database_principal_name", Ty::Text),
    ("target_server_principal_name", Ty::Text),
    ("target_server_principal_sid", Ty::Binary),
    ("target_database_principal_name", Ty::Text),
    ("server_instance_name", Ty::Text),
    ("database_name", Ty::Text),
    ("schema_name", Ty::Text),
    ("object_name", Ty::Text),
    ("statement", Ty::Text),
    ("additional_information", Ty::Text),
    ("user_defined_event_id", Ty::Int32),
    ("user_defined_information", Ty::Text),
    ("transaction_id", Ty::UInt64),
    ("client_ip", Ty::Text),
    ("application_name", Ty::Text),
    ("host_name", Ty::Text),
];

impl Record {
    /// Its values in the order of [`COLUMNS`].
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        let text = |s: &str| Field::from(s);
        vec![
            text(&self.action_id),
            self.succeeded.into(),
            self.is_column_permission.into(),
            self.session_id.into(),
            self.server_principal_id.into(),
            self.database_principal_id.into(),
            self.target_server_principal_id.into(),
            self.target_database_principal_id.into(),
            self.object_id.into(),
            text(&self.class_type),
            text(&self.session_server_principal_name),
            text(&self.server_principal_name),
            Field::Bytes(self.server_principal_sid.clone()),
            text(&self.database_principal_name),
            text(&self.target_server_principal_name),
            Field::Bytes(self.target_server_principal_sid.clone()),
            text(&self.target_database_principal_name),
            text(&self.server_instance_name),
            text(&self.database_name),
            text(&self.schema_name),
            text(&self.object_name),
            text(&self.statement),
            text(&self.additional_information),
            self.user_defined_event_id.into(),
            text(&self.user_defined_information),
            self.transaction_id.into(),
            text(&self.client_ip),
            text(&self.application_name),
            text(&self.host_name),
        ]
    }

    /// The document. What is empty is left out of it.
    #[must_use]
    pub fn document(&self) -> String {
        let mut all = serde_json::to_value(self).expect("a record holds nothing that JSON cannot");
        if let Some(members) = all.as_object_mut() {
            members.retain(|_, value| !is_empty(value));
        }
        all.to_string()
    }

    /// The way back; `None` for what is no record.
    #[must_use]
    pub fn parse(document: &str) -> Option<Record> {
        serde_json::from_str(document).ok()
    }

    /// As a line of the error log, in the product's form. Characters that could begin another line, or move a terminal's cursor, are
    /// escaped: what somebody sends must not look like another record.
    #[must_use]
    pub fn line(&self) -> String {
        let all = serde_json::to_value(self).expect("a record holds nothing that JSON cannot");
        let members = all.as_object().into_iter().flatten();
        let mut out = String::from("Audit event: audit_schema_version:1");
        for (name, value) in members.filter(|(_, value)| !is_empty(value)) {
            let shown = match (name.as_str(), value) {
                ("event_time", _) => crate::events::record::timestamp(self.event_time),
                (_, serde_json::Value::String(text)) => text.clone(),
                (_, serde_json::Value::Array(bytes)) => hex(bytes),
                (_, other) => other.to_string(),
            };
            out.push_str(&format!(" {name}:"));
            push_escaped(&shown, &mut out);
        }
        out
    }
}

fn push_escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
}

fn is_empty(value: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match value {
        Json::Null => true,
        Json::Bool(b) => !b,
        Json::Number(n) => n.as_i64() == Some(0),
        Json::String(s) => s.is_empty(),
        Json::Array(a) => a.iter().all(|b| b.as_i64() == Some(0)),
        Json::Object(o) => o.is_empty(),
    }
}

fn hex(bytes: &[serde_json::Value]) -> String {
    bytes.iter().map(|b| format!("{:02x}", b.as_u64().unwrap_or(0))).collect()
}

/// What happens, as who tells it sees it; the rest of its [`Record`] is the session's.
#[derive(Clone, Debug, Default)]
pub struct Happening {
    /// `action_id`
    pub action: &'static str,
    /// The groups that have it.
    pub groups: &'static [Group],
    /// Permission was there.
    pub succeeded: bool,
    /// `class_type`
    pub class: &'static str,
    /// Database it happens in or to, by id: specifications of that database may audit it.
    pub database: Option<keel_base::DatabaseId>,
    /// Name of the database; that of `database` when it is empty.
    pub database_name: String,
    /// Object and schema that an action of a database specification may be about.
    pub object: Option<(i32, i32)>,
    /// `object_id`
    pub object_id: i32,
    /// Schema.
    pub schema_name: String,
    /// Object.
    pub object_name: String,
    /// Only some columns were asked for.
    pub columns: bool,
    /// Login or server role that it is done to.
    pub target_login: String,
    /// User or role that it is done to.
    pub target_user: String,
    /// The statement; that which runs when it is `None`.
    pub statement: Option<String>,
    /// `additional_information`, besides the modules that run.
    pub information: String,
    /// `sp_audit_write`: number and text.
    pub user_defined: Option<(i32, String)>,
    /// BATCH COMPLETED: milliseconds, rows sent, rows changed.
    pub cost: [u64; 3],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_back() {
        let record = Record {
            event_time: 5,
            action_id: "SL".into(),
            statement: "SELECT '\n\"' AS \u{1F600}".into(),
            server_principal_sid: vec![1, 2],
            ..Record::default()
        };
        let document = record.document();
        assert!(!document.contains("schema_name") && !document.contains('\n'));
        assert_eq!(Record::parse(&document), Some(record));
        assert_eq!(Record::parse("{\"event_time\":"), None);
        assert_eq!(Record::default().fields().len(), COLUMNS.len());
    }
}
