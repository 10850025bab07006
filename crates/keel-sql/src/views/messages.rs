//! `sys.messages`: the errors this layer raises, those of system procedures, and the user's own.

use super::{BIT, INT, SMALL, SystemView, TEXT, TINY, ViewContext, bit, int, text};
use crate::engine::Engine;
use crate::errors;
use crate::hadr;
use crate::run::Template;
use keel_types::Value;
use keel_types::datetime::language::Language;
use std::collections::BTreeMap;

/// RAISERROR takes none of the product's numbers up to here.
const SYNTAX_LAST: i32 = 13_000;

/// Messages that procedures written in T-SQL raise by number, and those scripts expect to find.
const MORE: &[(i32, u8, &str)] = &[
    (102, 15, "Incorrect syntax near '%.*ls'."),
    (207, 16, "Invalid column name '%.*ls'."),
    (245, 16, "Conversion failed when converting the %ls value '%.*ls' to data type %ls."),
    (
        515,
        16,
        "Cannot insert the value NULL into column '%.*ls', table '%.*ls'; column does not allow nulls. %ls fails.",
    ),
    (
        547,
        16,
        "The %ls statement conflicted with the %ls constraint \"%.*ls\". The conflict occurred in database \"%.*ls\", table \"%.*ls\"%ls%.*ls%ls.",
    ),
    (
        1205,
        13,
        "Transaction (Process ID %d) was deadlocked on %.*ls resources with another process and has been chosen as the deadlock victim. Rerun the transaction.",
    ),
    (1222, 16, "Lock request time out period exceeded."),
    (
        2601,
        14,
        "Cannot insert duplicate key row in object '%.*ls' with unique index '%.*ls'. The duplicate key value is %ls.",
    ),
    (
        2627,
        14,
        "Violation of %ls constraint '%.*ls'. Cannot insert duplicate key in object '%.*ls'. The duplicate key value is %ls.",
    ),
    (8134, 16, "Divide by zero error encountered."),
    (15001, 16, "Object '%ls' does not exist or is not a valid object for this operation."),
    (15004, 16, "Name cannot be NULL."),
    (15009, 16, "The object '%s' does not exist in database '%s' or is invalid for this operation."),
    (
        15010,
        16,
        "The database '%s' does not exist. Supply a valid database name. To see available databases, use sys.databases.",
    ),
    (15015, 16, "The server '%s' does not exist. Use sp_helpserver to show available servers."),
    (15097, 16, "The size associated with an extended property cannot be more than 7,500 bytes."),
    (15165, 16, "Could not find object '%s' or you do not have permission."),
    (15180, 16, "Cannot drop. The data type is being used."),
    (15198, 16, "The name supplied (%s) is not a user, role, or aliased login."),
    (
        15281,
        10,
        "SQL Server blocked access to procedure '%s' of component '%s' because this component is turned off as part of the security configuration for this server. A system administrator can enable the use of '%s' by using sp_configure. For more information about enabling '%s', search for '%s' in SQL Server Books Online.",
    ),
    (
        15286,
        16,
        "Terminating this procedure. The @action '%s' is unrecognized. Try 'REPORT', 'UPDATE_ONE', or 'AUTO_FIX'.",
    ),
    (15291, 16, "Terminating this procedure. The %s name '%s' is absent or invalid."),
    (
        15292,
        10,
        "The row for user '%s' will be fixed by updating its login link to a login already in existence.",
    ),
    (
        15293,
        10,
        "Barring a conflict, the row for user '%s' will be fixed by updating its link to a new login.",
    ),
    (15294, 10, "The number of orphaned users fixed by adding new logins and then updating users was %d."),
    (15295, 10, "The number of orphaned users fixed by updating users was %d."),
    (
        15300,
        11,
        "No recognized letter is contained in the parameter value for General Permission Type (%s). Valid letters are in this set: %s .",
    ),
    (15330, 11, "There are no matching rows on which to report."),
    (15401, 11, "Windows NT user or group '%s' not found. Check the name again."),
    (15411, 11, "Database principal or schema '%s' does not exist in this database."),
    (15412, 11, "'%s' is not a known fixed role."),
    (15477, 10, "Caution: Changing any part of an object name could break scripts and stored procedures."),
    (15600, 15, "An invalid parameter or option was specified for procedure '%s'."),
];

pub(super) static VIEWS: &[SystemView] = &[SystemView {
    schema: "sys",
    name: "messages",
    columns: &[
        ("message_id", INT),
        ("language_id", SMALL),
        ("severity", TINY),
        ("is_event_logged", BIT),
        ("text", TEXT),
    ],
    rows,
}];

fn raised() -> impl Iterator<Item = &'static (i32, u8, &'static str)> {
    errors::RAISED
        .iter()
        .chain(hadr::errors::RAISED)
        .chain(crate::keys::errors::RAISED)
        .chain(crate::column_keys::errors::RAISED)
        .chain(crate::events::errors::RAISED)
        .chain(crate::audit::errors::RAISED)
        .chain(crate::governor::errors::RAISED)
        .chain(crate::distributed::errors::RAISED)
        .chain(crate::linked::errors::RAISED)
        .chain(crate::messages::RAISED)
        .chain(crate::startup::RAISED)
        .chain(crate::backup::RAISED)
        .chain(crate::ddl::RAISED_BY_FULL_TEXT)
        .chain(crate::ddl::RAISED_BY_POLICIES)
        .chain(crate::broker::RAISED)
        .chain(crate::notify::errors::RAISED)
        .chain(crate::ddl::RAISED_BY_ENCRYPTION)
        .chain(crate::ddl::RAISED_BY_SNAPSHOTS)
        .chain(crate::ddl::RAISED_BY_STATES)
        .chain(crate::engine::RAISED_BY_SNAPSHOTS)
        .chain(crate::engine::RAISED_BY_ATTACHING)
        .chain(crate::ddl::RAISED_BY_ATTACHING)
        .chain(crate::ddl::RAISED_BY_BINDABLES)
}

/// What T-SQL raises.
fn more() -> impl Iterator<Item = &'static (i32, u8, &'static str)> {
    MORE.iter().chain(crate::agent::MESSAGES).chain(crate::capture::MESSAGES)
}

/// A text with `%s` where its arguments go.
fn template(raised: &str) -> String {
    let mut out = String::with_capacity(raised.len());
    let mut rest = raised;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match after.split_once('}') {
            Some((_, after)) => {
                out.push_str("%s");
                rest = after;
            }
            None => rest = after,
        }
    }
    out.push_str(rest);
    out
}

/// The severity and the text that RAISERROR finds under a number in a session of that language: the user's, or the product's.
#[must_use]
pub fn find(engine: &Engine, number: i32, language: &Language) -> Option<(u8, Template)> {
    let users = engine.messages.all();
    if let Some((own, text)) = users.get(&number).and_then(|m| Some((m, m.text(language)?))) {
        let first = own.us_english().filter(|first| *first != text);
        return Some((own.severity, Template { text: text.to_owned(), first: first.cloned() }));
    }
    if number <= SYNTAX_LAST {
        return None;
    }
    let more = more().find(|m| m.0 == number).map(|m| (m.1, m.2.to_owned()));
    let found = more.or_else(|| raised().find(|m| m.0 == number).map(|m| (m.1, template(m.2))));
    found.map(|(severity, text)| (severity, text.into()))
}

/// The severity of a message of the product's that this server knows.
#[must_use]
pub fn shipped(number: i32) -> Option<u8> {
    more().chain(raised()).find(|m| m.0 == number).map(|m| m.1)
}

fn rows(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let english = Language::us_english().messages;
    let mut all = BTreeMap::new();
    all.extend(raised().map(|m| ((m.0, english), (m.1, template(m.2)))));
    all.extend(more().map(|m| ((m.0, english), (m.1, m.2.to_owned()))));
    let users = cx.engine.messages.all();
    for message in users.values() {
        let texts = message.texts.iter();
        all.extend(
            texts.map(|(language, text)| ((message.number, *language), (message.severity, text.clone()))),
        );
    }
    let row = |((number, language), (severity, message)): ((i32, i16), (u8, String))| {
        let logged = users.get(&number).is_some_and(|m| m.logged);
        vec![int(number), int(language), int(severity), bit(logged), text(message)]
    };
    all.into_iter().map(row).collect()
}
