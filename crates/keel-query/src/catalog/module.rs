//! Views, procedures, functions and triggers: their texts, what fires them, who has signed them.

use super::{ObjectId, TableDef};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Kinds of modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModuleKind {
    /// V
    View,
    /// P
    Procedure,
    /// FN
    ScalarFunction,
    /// IF
    InlineTableFunction,
    /// TF
    TableFunction,
    /// TR
    Trigger,
}

/// What fires a trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerDef {
    /// FOR INSERT.
    pub on_insert: bool,
    /// FOR UPDATE.
    pub on_update: bool,
    /// FOR DELETE.
    pub on_delete: bool,
    /// INSTEAD OF.
    pub instead_of: bool,
    /// DISABLE TRIGGER.
    pub disabled: bool,
    /// Changes on which it fires before all others (`sp_settriggerorder`).
    #[serde(default)]
    pub first: RowActions,
    /// Changes on which it fires after all others.
    #[serde(default)]
    pub last: RowActions,
}

/// Some of the three changes of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowActions {
    /// INSERT.
    pub insert: bool,
    /// UPDATE.
    pub update: bool,
    /// DELETE.
    pub delete: bool,
}

/// `schema_id` of triggers that belong to a database: a namespace of their own.
pub const DATABASE_TRIGGERS: i32 = 0;
/// `schema_id` of triggers that belong to the server, which are kept in master.
pub const SERVER_TRIGGERS: i32 = -1;

/// What fires a trigger that belongs to a database or to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTriggerDef {
    /// Events and groups of events by their names in `sys.trigger_event_types`; `LOGON`.
    pub events: Vec<String>,
    /// Events on which it fires before all others (`sp_settriggerorder`).
    pub first: Vec<String>,
    /// Events on which it fires after all others.
    pub last: Vec<String>,
}

/// A view, procedure, function or trigger: its text; parsed and compiled by whoever uses it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleDef {
    /// Object id.
    pub object_id: ObjectId,
    /// Schema id.
    pub schema_id: i32,
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: ModuleKind,
    /// The CREATE statement as sent.
    pub text: String,
    /// SET ANSI_NULLS when created.
    pub ansi_nulls: bool,
    /// SET QUOTED_IDENTIFIER when created.
    pub quoted_identifier: bool,
    /// For a trigger, its table.
    pub parent: ObjectId,
    /// For a trigger: what fires it.
    #[serde(default)]
    pub trigger: Option<TriggerDef>,
    /// For a trigger of a database or the server: its events.
    #[serde(default)]
    pub events: Option<Box<EventTriggerDef>>,
    /// WITH EXECUTE AS: the principal it runs as, [`EXECUTE_AS_OWNER`] for its owner; `None` for its caller.
    #[serde(default)]
    pub execute_as: Option<i32>,
    /// Who has signed its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<SignatureDef>,
    /// For an indexed view: its rows, as a table that has the view's id, name and indexes.
    #[serde(default, with = "shared_rows")]
    pub rows: Option<Arc<TableDef>>,
    /// A procedure of master that runs when the instance starts.
    #[serde(default)]
    pub startup: bool,
    /// create_date.
    pub created: i64,
    /// modify_date.
    pub modified: i64,
}

/// A signature of a module: by it the module may what was granted to whoever is mapped to the certificate or key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignatureDef {
    /// A countersignature: it grants nothing, and keeps what a signed module that calls this one has by the same key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counter: bool,
    /// By an asymmetric key, not a certificate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asymmetric: bool,
    /// `thumbprint` of the certificate or key.
    pub thumbprint: Vec<u8>,
    /// What the private key made of the text.
    pub signature: Vec<u8>,
}

/// The rows of an indexed view are stored as part of its definition and shared by all who read them.
mod shared_rows {
    use super::TableDef;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub fn serialize<S: Serializer>(rows: &Option<Arc<TableDef>>, to: S) -> Result<S::Ok, S::Error> {
        rows.as_deref().serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<Arc<TableDef>>, D::Error> {
        Ok(Option::<TableDef>::deserialize(from)?.map(Arc::new))
    }
}

/// `execute_as_principal_id` of a module that runs as its owner.
pub const EXECUTE_AS_OWNER: i32 = -2;
