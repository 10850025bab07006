//! Templates: texts with forced parameters, by which guides say how statements of that form are parameterized.

use super::form::Form;
use super::shape::Shape;
use super::{Choice, Mode, OPTION, forced};
use crate::plan_guides::normal_form;
use crate::procs::{Outcome, argument, string};
use crate::query_store::parse_hints;
use crate::run::{Argument, Returned, Runner};
use crate::session::options::Switches;
use keel_parser::ast::{self, QueryHint};
use keel_types::{Length, SqlError, SqlType, Value};

impl Runner<'_> {
    /// How literals of a text become parameters: as a guide for its template says, or else as the database does.
    pub(super) fn mode_of(&self, shape: &Shape<'_>, batch: &ast::Batch) -> Mode {
        let picture = self.info.picture(&self.info.current_database());
        let mut guides = picture.plan_guides().filter(|guide| guide.template && !guide.disabled).peekable();
        if guides.peek().is_some()
            && let Some(choice) = forced::choose(shape, batch)
        {
            let form = Form::of(shape, Mode::Forced, &choice);
            let (text, declared) = (normal_form(&form.text, true), declared(shape, &choice));
            let guide = guides.find(|g| g.declared == declared && normal_form(&g.statement, true) == text);
            if let Some(mode) = guide.and_then(|guide| mode(guide.hints.as_deref()?)) {
                return mode;
            }
        }
        let is_forced = picture.settings().flags.get(OPTION).copied().unwrap_or(false);
        if is_forced { Mode::Forced } else { Mode::Simple }
    }
}

/// What `OPTION (PARAMETERIZATION …)` says; `None` of anything else.
pub(crate) fn mode(hints: &str) -> Option<Mode> {
    match &parse_hints(hints).ok()?[..] {
        [QueryHint::Other(words)] if *words == "PARAMETERIZATION FORCED" => Some(Mode::Forced),
        [QueryHint::Other(words)] if *words == "PARAMETERIZATION SIMPLE" => Some(Mode::Simple),
        _ => None,
    }
}

/// The declarations of a template's parameters in the form in which guides compare them.
fn declared(shape: &Shape<'_>, choice: &Choice) -> String {
    let parameters = shape.literals.iter().zip(&choice.parameters).filter(|(_, is_parameter)| **is_parameter);
    parameters.zip(0..).map(|((literal, _), number)| format!("@{number} {},", literal.ty)).collect()
}

/// `sp_get_query_template @querytext, @templatetext OUTPUT, @parameters OUTPUT`: errors 10524 and 10525.
pub(crate) fn sp_get_query_template(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let text = string(args, "querytext", 0).unwrap_or_default();
    let batch = runner.parse(&text).map(|batch| batch.statements).unwrap_or_default();
    let is_query = |statement: &ast::Statement| {
        use ast::StatementKind::{Delete, Insert, Merge, Select, Update};
        matches!(statement.kind, Select(_) | Insert(_) | Update(_) | Delete(_) | Merge(_))
    };
    if !matches!(&batch[..], [statement] if is_query(statement)) {
        let why = "Cannot generate query template because @querytext does not contain a valid single query.";
        return Err(SqlError::new(10524, 16, 1, why).into());
    }
    let shape = Shape::of(&text, runner.info.on(Switches::QUOTED_IDENTIFIER));
    let batch = ast::Batch { statements: batch };
    let Some((shape, choice)) = shape.and_then(|shape| {
        let choice = forced::choose(&shape, &batch)?;
        Some((shape, choice))
    }) else {
        return Err(SqlError::new(10525, 16, 1, "Cannot parameterize @querytext.").into());
    };
    let form = Form::of(&shape, Mode::Forced, &choice);
    let mut returned = Returned::default();
    for (name, at, value) in [("templatetext", 1, form.text), ("parameters", 2, form.declarations)] {
        let position = args.iter().position(|a| argument(args, name, at).is_some_and(|b| std::ptr::eq(a, b)));
        if let Some(position) = position {
            returned.outputs.push((position, Value::str(value), SqlType::NVarChar(Length::Max)));
        }
    }
    Ok(returned)
}
