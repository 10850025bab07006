//! Defaults and rules: those of columns, and the objects that CREATE DEFAULT and CREATE RULE make, to which columns and alias types are
//! bound. A column has the expression of what it is bound to beside its id, so who changes rows looks nowhere else; whoever binds and
//! unbinds keeps the two alike.

use super::ObjectId;
use keel_parser::lexer::{self, Tok};
use keel_parser::to_text::quote_name;
use serde::{Deserialize, Serialize};

/// What a column has when an INSERT does not say: a DEFAULT constraint, or what CREATE DEFAULT made and `sp_bindefault` bound to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DefaultDef {
    /// Object id of the constraint, or of the [`BindableDef`].
    pub object_id: ObjectId,
    /// Constraint name; empty of what is bound, which has its own.
    pub name: String,
    /// Expression as normalised text, with its outer parentheses.
    pub text: String,
}

impl DefaultDef {
    /// It is an object of its own.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.name.is_empty()
    }
}

/// A rule that is bound to a column or an alias type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleDef {
    /// Object id of the [`BindableDef`].
    pub object_id: ObjectId,
    /// Its condition, with one variable for the value.
    pub condition: String,
}

impl RuleDef {
    /// The condition with a column for its variable.
    #[must_use]
    pub fn on_column(&self, column: &str) -> String {
        self.with(&quote_name(column))
    }

    /// The condition with other words for its variable.
    #[must_use]
    pub fn with(&self, value: &str) -> String {
        let tokens = lexer::tokenize(&self.condition, true).unwrap_or_default();
        let (mut out, mut at) = (String::new(), 0);
        for variable in tokens.iter().filter(|t| t.tok == Tok::Variable) {
            out.push_str(&self.condition[at..variable.start as usize]);
            out.push_str(value);
            at = variable.end as usize;
        }
        out.push_str(&self.condition[at..]);
        out
    }
}

/// What CREATE DEFAULT or CREATE RULE made: columns and alias types are bound to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BindableDef {
    /// Object id.
    pub object_id: ObjectId,
    /// Schema id.
    pub schema_id: i32,
    /// Name.
    pub name: String,
    /// CREATE RULE made it.
    pub is_rule: bool,
    /// The statement that made it.
    pub text: String,
    /// The value of a default, the condition of a rule, as normalised text.
    pub expression: String,
    /// create_date.
    pub created: i64,
    /// modify_date.
    pub modified: i64,
}
