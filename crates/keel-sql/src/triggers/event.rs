//! One event, and the document that EVENTDATA() gives of it.
//!
//! ```text
//!   <EVENT_INSTANCE>
//!     EventType PostTime SPID ServerName LoginName [UserName] [DatabaseName]     of every event
//!     [SchemaName] [ObjectName] [ObjectType] [TargetObjectName …] …              what the event adds, in order
//!     [TSQLCommand: SetOptions, CommandText]                                     not of LOGON
//!   </EVENT_INSTANCE>
//! ```

use super::event_types::{self, EventType};
use crate::engine::DatabaseEntry;
use crate::session::info::Info;
use crate::session::options::Switches;
use keel_query::xml::push_text;
use keel_types::{SqlType, Value, cast};
use smol_str::SmolStr;
use std::sync::Arc;

/// Something that triggers of a database or of the server may fire on.
#[derive(Clone)]
pub struct Event {
    /// Which.
    pub kind: &'static EventType,
    /// The database it happens in or to; `None` for what concerns the server only.
    pub database: Option<Arc<DatabaseEntry>>,
    /// It is announced before it happens, because what happens cannot be undone.
    pub announced: bool,
    /// A trigger of the database or the server that comes with it, which does not fire on it.
    pub newborn: Option<(i32, SmolStr)>,
    /// Name of the database, which may not be there yet.
    database_name: Option<SmolStr>,
    /// The elements it adds.
    elements: String,
    /// Names and texts of those that hold a text.
    said: Vec<(SmolStr, SmolStr)>,
}

impl Event {
    fn of(kind: &str) -> Option<Event> {
        let kind = event_types::named(kind)?;
        let (database, database_name, newborn) = (None, None, None);
        let (elements, said) = (String::new(), Vec::new());
        Some(Event { kind, database, announced: false, newborn, database_name, elements, said })
    }

    /// In a database.
    pub(crate) fn within(kind: &str, entry: &Arc<DatabaseEntry>) -> Option<Event> {
        let event = Event::of(kind)?;
        Some(Event {
            database: Some(Arc::clone(entry)),
            database_name: Some(entry.name().as_ref().into()),
            ..event
        })
    }

    /// Of the server.
    pub(crate) fn server(kind: &str) -> Option<Event> {
        Some(Event { announced: true, ..Event::of(kind)? })
    }

    /// To a database as a whole, which may not be there yet.
    pub(crate) fn to_database(kind: &str, name: &str) -> Option<Event> {
        Some(Event { database_name: Some(name.into()), ..Event::server(kind)? })
    }

    /// Announces it before it happens.
    pub(crate) fn before(mut self) -> Event {
        self.announced = true;
        self
    }

    /// It can be undone, although it is the server's.
    pub(crate) fn afterwards(mut self) -> Event {
        self.announced = false;
        self
    }

    /// Adds an element.
    pub(crate) fn element(mut self, tag: &str, text: &str) -> Event {
        push_element(&mut self.elements, tag, text);
        self.said.push((tag.into(), text.into()));
        self
    }

    /// The text of an element that it adds.
    pub(crate) fn said(&self, tag: &str) -> Option<&str> {
        self.said.iter().find(|(t, _)| t == tag).map(|(_, text)| text.as_str())
    }

    /// Name of the database it happens in or to.
    pub(crate) fn database_name(&self) -> Option<&str> {
        self.database_name.as_deref()
    }

    /// Adds an element that holds others, one for each text.
    pub(crate) fn list<'t>(
        mut self,
        tag: &str,
        item: &str,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Event {
        self.elements.push_str(&format!("<{tag}>"));
        texts.into_iter().for_each(|text| push_element(&mut self.elements, item, text));
        self.elements.push_str(&format!("</{tag}>"));
        self
    }

    /// What it happens to.
    pub(crate) fn object(self, name: &str, kind: &str) -> Event {
        self.element("ObjectName", name).element("ObjectType", kind)
    }

    /// What that belongs to.
    pub(crate) fn target(self, name: &str, kind: &str) -> Event {
        self.element("TargetObjectName", name).element("TargetObjectType", kind)
    }

    /// What ALTER TABLE does, to which columns and constraints of the table.
    pub(crate) fn actions(mut self, parts: &[(&str, Vec<&str>, Vec<&str>)]) -> Event {
        if parts.iter().all(|(_, columns, constraints)| columns.is_empty() && constraints.is_empty()) {
            return self;
        }
        self.elements.push_str("<AlterTableActionList>");
        for (action, columns, constraints) in parts {
            if columns.is_empty() && constraints.is_empty() {
                continue;
            }
            self.elements.push_str(&format!("<{action}>"));
            if !columns.is_empty() {
                self = self.list("Columns", "Name", columns.iter().copied());
            }
            if !constraints.is_empty() {
                self = self.list("Constraints", "Name", constraints.iter().copied());
            }
            self.elements.push_str(&format!("</{action}>"));
        }
        self.elements.push_str("</AlterTableActionList>");
        self
    }

    /// Whether a trigger that names these events fires on it.
    #[must_use]
    pub fn is_among(&self, names: &[String]) -> bool {
        names.iter().filter_map(|n| event_types::named(n)).any(|t| self.kind.within(t))
    }

    /// The document; `command` is the statement's text.
    pub(crate) fn document(&self, info: &Info, command: &str) -> Value {
        let mut out = String::from("<EVENT_INSTANCE>");
        push_header(&mut out, info, self.kind.name);
        if self.database.is_some() {
            let user = self.database.as_ref().and_then(|entry| {
                let token = info.token_in(entry)?;
                Some(info.picture(entry).principal(token.user)?.name)
            });
            push_element(&mut out, "UserName", user.as_deref().unwrap_or(""));
        }
        if let Some(name) = &self.database_name {
            push_element(&mut out, "DatabaseName", name);
        }
        out.push_str(&self.elements);
        push_command(&mut out, info, command);
        out.push_str("</EVENT_INSTANCE>");
        Value::str(out)
    }
}

/// The document of a session's beginning.
pub(crate) fn logon_document(info: &Info, pooled: bool) -> Value {
    use base64::Engine as _;
    let login = &info.shared.login;
    let sid = info.login_of(&info.identity_at_login()).map(|l| l.sid).unwrap_or_default();
    let mut out = String::from("<EVENT_INSTANCE>");
    push_header(&mut out, info, event_types::LOGON);
    push_element(&mut out, "LoginType", crate::windows::login_type(&sid));
    push_element(&mut out, "SID", &base64::engine::general_purpose::STANDARD.encode(sid));
    push_element(&mut out, "ClientHost", &login.client_address);
    push_element(&mut out, "IsPooled", if pooled { "1" } else { "0" });
    out.push_str("</EVENT_INSTANCE>");
    Value::str(out)
}

/// What every event begins with, to the login's name.
fn push_header(out: &mut String, info: &Info, kind: &str) {
    let now = crate::views::date(info.engine.now_local());
    let now = cast::to_text(&now, SqlType::DateTime, 126).unwrap_or_default();
    push_element(out, "EventType", kind);
    push_element(out, "PostTime", &now);
    push_element(out, "SPID", &info.shared.id.to_string());
    push_element(out, "ServerName", &info.engine.options().server_name);
    push_element(out, "LoginName", &info.login());
}

fn push_command(out: &mut String, info: &Info, command: &str) {
    let on = |switch| if info.on(switch) { "ON" } else { "OFF" };
    out.push_str("<TSQLCommand><SetOptions");
    let options = [
        ("ANSI_NULLS", on(Switches::ANSI_NULLS)),
        ("ANSI_NULL_DEFAULT", on(Switches::NULL_DEFAULT_ON)),
        ("ANSI_PADDING", on(Switches::ANSI_PADDING)),
        ("QUOTED_IDENTIFIER", on(Switches::QUOTED_IDENTIFIER)),
        ("ENCRYPTED", "FALSE"),
    ];
    for (name, value) in options {
        out.push_str(&format!(" {name}=\"{value}\""));
    }
    out.push_str("/>");
    push_element(out, "CommandText", command);
    out.push_str("</TSQLCommand>");
}

fn push_element(out: &mut String, tag: &str, text: &str) {
    if text.is_empty() {
        out.push_str(&format!("<{tag}/>"));
        return;
    }
    out.push_str(&format!("<{tag}>"));
    push_text(text, false, out);
    out.push_str(&format!("</{tag}>"));
}
