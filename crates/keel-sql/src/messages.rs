//! Messages of users: what `sp_addmessage` adds, `sys.messages` shows, and RAISERROR and FORMATMESSAGE find by number.
//!
//! They belong to the instance: rows of `master`, all of them in memory besides. The us_english text of a message comes first, and those
//! in other languages follow it; a session gets the text of its language where there is one. `sp_altermessage` also notes here which of
//! the product's own messages the error log hears of: such a message has no texts.

use crate::catalog::object_class;
use crate::engine::Engine;
use crate::errors::error_functions;
use keel_types::SqlError;
use keel_types::datetime::language::Language;
use keel_types::error::Result;
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

type E = Box<SqlError>;

error_functions! {
    /// sp_addmessage of a number that is not for users.
    message_number_low() = 15_040, 16, 1, "User-defined error messages must have an ID greater than 50000.";
    /// sp_addmessage with another severity than there are.
    message_severity() = 15_041, 16, 1, "User-defined error messages must have a severity level between 1 and 25.";
    /// sp_addmessage of a message that is there.
    message_exists() = 15_043, 16, 1, "You must specify 'REPLACE' to overwrite an existing message.";
    /// A message, or its text in a language, that is not there.
    no_message(number) = 15_179, 16, 1, "The message number {number} or specified language version does not exist.";
    /// sp_addmessage in another language before us_english.
    us_english_first(language) = 15_279, 16, 1, "You must add the us_english version of this message before you can add the '{language}' version.";
    /// sp_dropmessage of the us_english text before the others.
    localized_first() = 15_280, 16, 1, "All localized versions of this message must be dropped before the us_english version can be dropped.";
    /// sp_addmessage in another language with another severity.
    other_severity(language, severity) = 15_304, 16, 1, "The severity level of the '{language}' version of this message must be the same as the severity level ({severity}) of the us_english version.";
    /// A language that is not installed, for a procedure.
    no_official_language(name) = 15_033, 16, 1, "'{name}' is not a valid official language name.";
}

/// The first number of a user's own message.
pub const FIRST: i32 = 50_001;

/// What is kept of one number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Its number: from [`FIRST`] on a user's, below one of the product's.
    pub number: i32,
    /// 1 to 25.
    pub severity: u8,
    /// Whether it goes to the error log whenever it is raised.
    pub logged: bool,
    /// The texts by `language_id`; none of a message of the product.
    pub texts: BTreeMap<i16, String>,
}

impl UserMessage {
    /// The text for a session of that language.
    #[must_use]
    pub fn text(&self, language: &Language) -> Option<&str> {
        let own = self.texts.get(&language.messages);
        own.or_else(|| self.us_english()).map(String::as_str)
    }

    /// The text whose places those in other languages name by number.
    #[must_use]
    pub fn us_english(&self) -> Option<&String> {
        self.texts.get(&Language::us_english().messages)
    }
}

/// All of them; see the module.
#[derive(Default)]
pub struct UserMessages {
    known: RwLock<Arc<BTreeMap<i32, UserMessage>>>,
    changing: Mutex<()>,
}

impl UserMessages {
    /// Those that `master` has, when the instance starts.
    pub(crate) fn load(&self, kept: Vec<UserMessage>) {
        *self.known.write() = Arc::new(kept.into_iter().map(|m| (m.number, m)).collect());
    }

    /// All by number.
    #[must_use]
    pub fn all(&self) -> Arc<BTreeMap<i32, UserMessage>> {
        Arc::clone(&self.known.read())
    }

    /// Whether the error log hears of that number whenever it is raised.
    #[must_use]
    pub fn is_logged(&self, number: i32) -> bool {
        self.known.read().get(&number).is_some_and(|m| m.logged)
    }
}

impl Engine {
    /// Changes what is kept of a number: `change` gets what there is and says what there is to be.
    ///
    /// # Errors
    /// Those of `change`; when master cannot be written. Then nothing has changed.
    pub fn change_message(
        &self,
        number: i32,
        change: impl FnOnce(Option<UserMessage>) -> Result<Option<UserMessage>>,
    ) -> Result<()> {
        let _changing = self.messages.changing.lock();
        let mut all = BTreeMap::clone(&self.messages.all());
        let message = change(all.get(&number).cloned())?;
        self.put_master_row(object_class::USER_MESSAGE, number, message.as_ref())?;
        match message {
            Some(message) => all.insert(number, message),
            None => all.remove(&number),
        };
        *self.messages.known.write() = Arc::new(all);
        Ok(())
    }
}

/// A message with one more text, or another one: [`Engine::change_message`]'s for `sp_addmessage`.
///
/// # Errors
/// 15043 when the text is there and `replace` was not said; 15279 when the us_english one is not; 15304 when that has another severity.
pub fn with_text(
    old: Option<UserMessage>,
    new: UserMessage,
    language: &Language,
    replace: bool,
) -> Result<UserMessage> {
    let first = *language == *Language::us_english() || language.messages == Language::us_english().messages;
    let Some(mut message) = old else {
        return if first { Ok(new) } else { Err(us_english_first(language.alias)) };
    };
    if !replace && message.texts.contains_key(&language.messages) {
        return Err(message_exists());
    }
    if !first && message.severity != new.severity {
        return Err(other_severity(language.alias, message.severity));
    }
    message.texts.extend(new.texts);
    if first {
        (message.severity, message.logged) = (new.severity, new.logged);
    }
    Ok(message)
}

/// A message without one of its texts, or (`None`) without any: `sp_dropmessage`'s. What is left, if anything.
///
/// # Errors
/// 15179 when it is not there; 15280 when the us_english one would leave others behind.
pub fn without_text(
    old: Option<UserMessage>,
    number: i32,
    language: Option<&Language>,
) -> Result<Option<UserMessage>> {
    let mut message = old.ok_or_else(|| no_message(number))?;
    let Some(language) = language else { return Ok(None) };
    message.texts.remove(&language.messages).ok_or_else(|| no_message(number))?;
    match (language.messages == Language::us_english().messages, message.texts.is_empty()) {
        (true, false) => Err(localized_first()),
        (_, true) => Ok(None),
        (false, false) => Ok(Some(message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, severity: u8, language: &Language) -> UserMessage {
        let texts = BTreeMap::from([(language.messages, text.to_owned())]);
        UserMessage { number: 50_001, severity, logged: false, texts }
    }

    #[test]
    fn each_language_has_a_text_of_its_own() {
        let (english, french) = (Language::us_english(), Language::find("French").expect("installed"));
        let number = |e: Box<keel_types::SqlError>| e.number;
        let early = with_text(None, said("un", 16, french), french, false).map_err(number);
        assert_eq!(early, Err(15_279));
        let one = with_text(None, said("one", 16, english), english, false).expect("the first");
        let again = with_text(Some(one.clone()), said("1", 16, english), english, false).map_err(number);
        assert_eq!(again, Err(15_043));
        let graver = with_text(Some(one.clone()), said("un", 11, french), french, false).map_err(number);
        assert_eq!(graver, Err(15_304));
        let both = with_text(Some(one), said("un", 16, french), french, false).expect("the second");
        assert_eq!((both.text(french), both.text(english)), (Some("un"), Some("one")));
        assert_eq!(both.text(Language::find("German").expect("installed")), Some("one"));
        assert_eq!(without_text(Some(both.clone()), 50_001, Some(english)).map_err(number), Err(15_280));
        let left =
            without_text(Some(both.clone()), 50_001, Some(french)).expect("is there").expect("one is left");
        assert_eq!(left.texts.len(), 1);
        assert_eq!(without_text(Some(left), 50_001, Some(english)), Ok(None));
        assert_eq!(without_text(Some(both), 50_001, None), Ok(None));
    }
}
