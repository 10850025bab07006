//! What of a catalog a user sees: metadata visibility.
//!
//! As in the product: an object is seen by who has any permission on it, the text of a module by who has VIEW DEFINITION. Schemas,
//! types, users and partition functions are seen by everybody. Of keys the master key alone is.

use super::Picture;
use crate::catalog::{PermissionState, SecurableRef, Token, Verdict};
use keel_query::catalog::{ModuleDef, ModuleKind, ObjectId};

/// Permissions on objects of every kind.
const ON_ALL: &[&str] = &["VIEW DEFINITION", "ALTER", "CONTROL", "TAKE OWNERSHIP"];
const ON_ROWS: &[&str] =
    &["SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES", "VIEW CHANGE TRACKING", "UNMASK"];
const ON_MODULES: &[&str] = &["EXECUTE"];
const ON_FUNCTIONS: &[&str] = &["EXECUTE", "REFERENCES"];
const ON_SEQUENCES: &[&str] = &["UPDATE", "REFERENCES"];
const ON_SYNONYMS: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE"];

impl Picture {
    /// Whether a user has a permission by which all of the database's definitions are seen, and none of them is denied.
    #[must_use]
    pub fn shows_all(&self, token: &Token) -> bool {
        let mut held = token.ids.iter().filter_map(|id| self.stored_principal(*id));
        let mut denied = || held.any(|p| p.permissions.iter().any(|p| p.state == PermissionState::Deny));
        let all = self.permits(token, "VIEW DEFINITION", SecurableRef::Database) == Verdict::Allowed;
        token.owner || all && !denied()
    }

    /// Without the objects that a user does not see, and with the texts of modules hidden that they may not read; without a user,
    /// without any object.
    #[must_use]
    pub fn seen_by(&self, token: Option<&Token>) -> Picture {
        let sees = |id: ObjectId, own: &[&str]| token.is_some_and(|token| self.sees(token, id, own));
        let mut seen = self.clone();
        seen.tables.retain(|id, _| sees(*id, ON_ROWS));
        seen.synonyms.retain(|id, _| sees(*id, ON_SYNONYMS));
        seen.sequences.retain(|id, _| sees(*id, ON_SEQUENCES));
        seen.bindables.retain(|id, _| sees(*id, &["REFERENCES"]));
        seen.policies.retain(|id, _| sees(*id, &[]));
        let controls = token
            .is_some_and(|token| self.permits(token, "CONTROL", SecurableRef::Database) == Verdict::Allowed);
        seen.see_keys(controls, |on| {
            let verdict = |token| crate::keys::shown(on, |name, on| self.permits(token, name, on));
            token.is_some_and(verdict)
        });
        let sees_keys = |permission| {
            // Everybody sees them, but who is denied it.
            let verdict = |token| self.permits(token, permission, SecurableRef::Database);
            token.is_none_or(|token| verdict(token) != Verdict::Denied)
        };
        seen.see_column_keys(
            sees_keys("VIEW ANY COLUMN MASTER KEY DEFINITION"),
            sees_keys("VIEW ANY COLUMN ENCRYPTION KEY DEFINITION"),
        );
        seen.see_xml_collections(token, self);
        seen.see_broker(|on| token.is_some_and(|token| self.sees_of_broker(token, on)));
        seen.modules.retain(|id, module| match module.kind {
            ModuleKind::Procedure => sees(*id, ON_MODULES),
            ModuleKind::ScalarFunction => sees(*id, ON_FUNCTIONS),
            ModuleKind::View | ModuleKind::InlineTableFunction | ModuleKind::TableFunction => {
                sees(*id, ON_ROWS)
            }
            // Seen with its table; of a database or the server, by who sees all.
            ModuleKind::Trigger => module.parent != 0 && sees(module.parent, ON_ROWS),
        });
        let reads = |id: ObjectId| {
            let verdict = |token| self.permits(token, "VIEW DEFINITION", SecurableRef::Object(id));
            token.is_some_and(|token| verdict(token) == Verdict::Allowed)
        };
        let texts = |module: &ModuleDef| if module.parent == 0 { module.object_id } else { module.parent };
        seen.hidden_texts = seen.modules.values().filter(|m| !reads(texts(m))).map(|m| m.object_id).collect();
        seen
    }

    /// Whether a user sees an object of the broker.
    fn sees_of_broker(&self, token: &Token, on: SecurableRef) -> bool {
        let own = match on {
            SecurableRef::Object(_) => &["RECEIVE", "SELECT", "REFERENCES"][..],
            SecurableRef::Service(_) => &["SEND"],
            _ => &["REFERENCES"],
        };
        let permits = |name: &&str| self.permits(token, name, on) == Verdict::Allowed;
        ON_ALL.iter().chain(own).any(permits)
    }

    /// Whether a user sees an object on which they may have permissions of its kind.
    fn sees(&self, token: &Token, object: ObjectId, own: &[&str]) -> bool {
        let permits =
            |name: &&str| self.permits(token, name, SecurableRef::Object(object)) == Verdict::Allowed;
        // What is granted on a column.
        let any_column = |name: &&str| self.permits_columns(token, name, object, Some(&[])).is_ok();
        ON_ALL.iter().any(permits) || own.iter().any(|name| permits(name) || any_column(name))
    }

    /// The text of a module; `None` where the user that this picture is for may not read it.
    #[must_use]
    pub fn text_of<'m>(&self, module: &'m ModuleDef) -> Option<&'m str> {
        (!self.hidden_texts.contains(&module.object_id)).then_some(module.text.as_str())
    }
}
