//! # Plan guides: hints for statements whose text cannot be touched
//!
//! A guide is a definition of its database, so it takes part in transactions and goes with backups and to replicas. It names a
//! statement and where that stands: in a module, or in a batch that is sent as it is written here, with these parameters or none. When such a
//! statement is compiled, the guide's hints take the place of its own; where no plan can be made with them, it is compiled as if there were no guide.
//! Hints of the Query Store go before those of a guide.
//!
//! A guide of type TEMPLATE is about all statements that have its form when their literals are parameters, and says whether these are
//! ([`crate::parameterization`]).
//!
//! Statements are compared token by token, so space, comments and the case of words make no difference; batches are compared letter by letter.
//!
//! | file | owns |
//! | --- | --- |
//! | `mod` | the definition, and which statement it is about |
//! | `procs` | the procedures that make, switch and drop guides, and what is wrong with one |
//!
//! Deliberately absent: guides that hold a plan: the Query Store forces plans.

mod procs;

pub(crate) use procs::{
    refuse_guided, refuse_guided_triggers, sp_control_plan_guide, sp_create_plan_guide,
    sp_create_plan_guide_from_handle, validate,
};

use crate::catalog::Picture;
use crate::program::Program;
use crate::query_store::{parse_hints, with_hints};
use keel_parser::ast;
use keel_parser::lexer::{Tok, tokenize};
use keel_query::catalog::ObjectId;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// A plan guide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanGuideDef {
    /// `plan_guide_id`
    pub id: i32,
    /// Name, unique in the database.
    pub name: String,
    /// The statement, as it was given.
    pub statement: String,
    /// The module that has it; 0 of a batch.
    pub object: ObjectId,
    /// The batch that has it; `None` where that is the statement alone.
    pub batch: Option<String>,
    /// The declarations of the batch's parameters, as they were given.
    pub parameters: Option<String>,
    /// The same in the form in which they are compared.
    pub declared: String,
    /// The statement is a template.
    #[serde(default)]
    pub template: bool,
    /// `OPTION (…)`; `None` takes the statement's own hints away.
    pub hints: Option<String>,
    /// Switched off.
    pub disabled: bool,
    /// Local ticks.
    pub created: i64,
    /// Local ticks.
    pub modified: i64,
}

impl PlanGuideDef {
    /// Whether the text of a batch, or the module, is what this is about.
    fn is_in(&self, program: &Program) -> bool {
        if self.template {
            return false;
        }
        if self.object != 0 {
            return program.identity.object_id == self.object;
        }
        let batch = self.batch.as_ref().unwrap_or(&self.statement);
        program.identity.object_id == 0 && *batch == *program.text && self.declared == declared(program)
    }

    /// Whether two are about the same statement.
    fn is_about(&self, other: &PlanGuideDef) -> bool {
        let batch = |guide: &PlanGuideDef| guide.batch.clone().unwrap_or_else(|| guide.statement.clone());
        let same_place = self.object == other.object
            && self.template == other.template
            && (self.object != 0 || batch(self) == batch(other) && self.declared == other.declared);
        same_place && normal_form(&self.statement, true) == normal_form(&other.statement, true)
    }
}

/// Whether a guide is about a statement of this batch, letter by letter.
pub(crate) fn is_about_batch(picture: &Picture, text: &str) -> bool {
    let mut guides = picture.plan_guides().filter(|g| g.object == 0 && !g.template && !g.disabled);
    guides.any(|guide| guide.batch.as_ref().unwrap_or(&guide.statement) == text && guide.declared.is_empty())
}

/// The declarations of a program's parameters, as they are compared.
fn declared(program: &Program) -> String {
    let mut all = String::new();
    for parameter in &program.parameters {
        let output = if parameter.output { " output" } else { "" };
        let _ = write!(all, "{} {}{output},", parameter.name.to_lowercase(), parameter.ty);
    }
    all
}

/// A statement without what makes no difference.
pub(crate) fn normal_form(statement: &str, quoted_identifier: bool) -> String {
    let Ok(tokens) = tokenize(statement, quoted_identifier) else { return statement.trim().to_owned() };
    let mut form = String::new();
    for token in tokens {
        let raw = statement.get(token.start as usize..token.end as usize).unwrap_or_default();
        match token.tok {
            Tok::Str | Tok::NStr => form.push_str(raw),
            _ => form.push_str(&raw.to_lowercase()),
        }
        form.push(' ');
    }
    form.trim_end_matches([' ', ';']).to_owned()
}

/// A statement with a guide's hints, and the guide's name; `None` of one that no guide is about, which are nearly all.
pub(crate) fn guided(
    picture: &Picture,
    program: &Program,
    statement: &ast::Statement,
) -> Option<(ast::Statement, String)> {
    let mut own = None;
    let is_about = |guide: &&std::sync::Arc<PlanGuideDef>| {
        let own = own.get_or_insert_with(|| {
            normal_form(statement.span.text(&program.text), program.quoted_identifier)
        });
        normal_form(&guide.statement, program.quoted_identifier) == *own
    };
    let there = picture.plan_guides().filter(|guide| !guide.disabled && guide.is_in(program));
    let guide = { there }.find(is_about)?;
    let hints = match &guide.hints {
        // What was accepted can be read.
        Some(hints) => parse_hints(hints).ok()?,
        None => Vec::new(),
    };
    Some((with_hints(statement, hints)?, guide.name.clone()))
}
