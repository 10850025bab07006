//! `sys.messages`: the errors this layer raises, those of system procedures, and the user's own.

use super::{BIT, INT, SMALL, SystemView, TEXT, TINY, ViewContext, bit, int, text};
use crate::engine::Engine;
use crate::errors;
use crate::hadr;
use keel_types::Value;
use std::collections::BTreeMap;

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
    (15009, 16, "The object '%s' does not exist in database '%s' or is invalid for this operation."),
    (
        15010,
        16,
        "The database '%s' does not exist. Supply a valid database name. To see available databases, use sys.databases.",
    ),
    (15033, 16, "'%s' is not a valid official language name."),
    (15015, 16, "The server '%s' does not exist. Use sp_helpserver to show available servers."),
    (15097, 16, "The size associated with an extended property cannot be more than 7,500 bytes."),
    (15165, 16, "Could not find object '%s' or you do not have permission."),
    (15180, 16, "Cannot drop. The data type is being used."),
    (15600, 15, "An invalid parameter or option was specified for procedure '%s'."),
];

/// Severity of the user's own messages.
const USERS_SEVERITY: u8 = 16;

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
        .chain(crate::events::errors::RAISED)
        .chain(crate::audit::errors::RAISED)
        .chain(crate::governor::errors::RAISED)
        .chain(crate::distributed::errors::RAISED)
        .chain(crate::linked::errors::RAISED)
        .chain(crate::backup::RAISED)
        .chain(crate::ddl::RAISED_BY_FULL_TEXT)
        .chain(crate::ddl::RAISED_BY_POLICIES)
        .chain(crate::broker::RAISED)
        .chain(crate::ddl::RAISED_BY_ENCRYPTION)
        .chain(crate::ddl::RAISED_BY_SNAPSHOTS)
        .chain(crate::ddl::RAISED_BY_STATES)
        .chain(crate::engine::RAISED_BY_SNAPSHOTS)
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

/// The text RAISERROR finds under a number: the user's, or the product's.
#[must_use]
pub fn find(engine: &Engine, number: i32) -> Option<(u8, String)> {
    let shipped = || {
        let more = more().find(|m| m.0 == number && number > 13_000).map(|m| (m.1, m.2.to_owned()));
        more.or_else(|| raised().find(|m| m.0 == number && number > 13_000).map(|m| (m.1, template(m.2))))
    };
    engine.user_message(number).map(|text| (USERS_SEVERITY, text)).or_else(shipped)
}

fn rows(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let mut all = BTreeMap::new();
    all.extend(raised().map(|m| (m.0, (m.1, template(m.2)))));
    all.extend(more().map(|m| (m.0, (m.1, m.2.to_owned()))));
    all.extend(cx.engine.user_messages().into_iter().map(|(number, text)| (number, (USERS_SEVERITY, text))));
    let row = |(number, (severity, message)): (i32, (u8, String))| {
        vec![int(number), int(1033), int(severity), bit(false), text(message)]
    };
    all.into_iter().map(row).collect()
}
