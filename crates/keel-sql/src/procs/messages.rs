//! Messages of users: `sp_addmessage`, `sp_altermessage`, `sp_dropmessage`.

use super::{Outcome, number, ok, string};
use crate::errors;
use crate::messages::{self, FIRST, UserMessage, with_text, without_text};
use crate::run::{Argument, Runner};
use keel_types::datetime::language::Language;
use std::collections::BTreeMap;

/// Severities that a message may have.
const SEVERITIES: std::ops::RangeInclusive<i64> = 1..=25;

/// `TRUE` or `FALSE`.
fn flag(text: &str, parameter: &str) -> keel_types::Result<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(errors::bad_parameter(parameter)),
    }
}

fn users_number(args: &[Argument]) -> keel_types::Result<i32> {
    let given = number(args, "msgnum", 0).and_then(|n| i32::try_from(n).ok());
    given.filter(|n| *n >= FIRST).ok_or_else(messages::message_number_low)
}

/// The language of that name; the session's when none is said.
fn language(runner: &Runner<'_>, name: Option<&str>) -> keel_types::Result<&'static Language> {
    match name {
        Some(name) => Language::find(name).ok_or_else(|| messages::no_official_language(name)),
        None => Ok(runner.info.options.borrow().dates.language),
    }
}

/// `sp_addmessage @msgnum, @severity, @msgtext [, @lang [, @with_log [, @replace]]]`
pub(super) fn sp_addmessage(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    let number_of_it = users_number(args)?;
    let severity = number(args, "severity", 1).filter(|s| SEVERITIES.contains(s));
    let severity = severity.and_then(|s| u8::try_from(s).ok()).ok_or_else(messages::message_severity)?;
    let text = string(args, "msgtext", 2).ok_or_else(|| errors::bad_parameter("msgtext"))?;
    let language = language(runner, string(args, "lang", 3).as_deref())?;
    let logged = string(args, "with_log", 4).map_or(Ok(false), |text| flag(&text, "with_log"))?;
    let replace = match string(args, "replace", 5) {
        None => false,
        Some(word) if word.trim().eq_ignore_ascii_case("replace") => true,
        Some(_) => return Err(messages::message_exists().into()),
    };
    let texts = BTreeMap::from([(language.messages, text)]);
    let new = UserMessage { number: number_of_it, severity, logged, texts };
    runner
        .info
        .engine
        .change_message(number_of_it, |old| with_text(old, new, language, replace).map(Some))?;
    ok()
}

/// `sp_altermessage @message_id, 'WITH_LOG', 'true' | 'false'`: whether the error log hears of it whenever it is raised, also of the
/// product's own.
pub(super) fn sp_altermessage(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    let id = number(args, "message_id", 0).and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
    let parameter = string(args, "parameter", 1).unwrap_or_default();
    if !parameter.trim().eq_ignore_ascii_case("WITH_LOG") {
        return Err(errors::bad_parameter("parameter").into());
    }
    let logged = flag(&string(args, "parameter_value", 2).unwrap_or_default(), "parameter_value")?;
    let shipped = crate::views::messages::shipped(id);
    runner.info.engine.change_message(id, |old| {
        let of_the_product =
            shipped.map(|severity| UserMessage { number: id, severity, ..UserMessage::default() });
        let mut message = old.or(of_the_product).ok_or_else(|| messages::no_message(id))?;
        message.logged = logged;
        Ok(Some(message).filter(|m| m.logged || !m.texts.is_empty()))
    })?;
    ok()
}

/// `sp_dropmessage @msgnum [, @lang | 'all']`: the text in that language, or all.
pub(super) fn sp_dropmessage(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    runner.settings_only()?;
    let id = users_number(args)?;
    let name = string(args, "lang", 1);
    let all = name.as_deref().is_some_and(|name| name.trim().eq_ignore_ascii_case("all"));
    let language = if all { None } else { Some(language(runner, name.as_deref())?) };
    runner.info.engine.change_message(id, |old| without_text(old, id, language))?;
    ok()
}
