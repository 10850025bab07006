//! What a client asks for: the fields of MS-TDS 2.2.5.3.1, and the options in one of them.
//!
//! ```text
//!   Service=name [; Local Database=name | ; Broker Instance=id]          a value may stand in quotes, doubled in it
//! ```

use super::errors;
use keel_types::error::Result;

/// Characters of what the client says of a notification.
const MESSAGE_MAX: usize = 2_000;
/// Characters of the options.
const OPTIONS_MAX: usize = 1_000;
/// Seconds for which a subscription counts when the client does not say: five days.
const TIMEOUT_DEFAULT_S: u32 = 432_000;

/// A notification as it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What comes back in the message.
    pub message: String,
    /// Where it goes.
    pub deployment: String,
    /// Seconds.
    pub timeout_s: Option<u32>,
}

/// Where the message goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// Service
    pub service: String,
    /// Broker Instance
    pub broker: Option<String>,
    /// Local Database
    pub database: Option<String>,
}

impl Request {
    /// For how long it counts, seconds.
    ///
    /// # Errors
    /// 9204
    pub fn timeout(&self) -> Result<u32> {
        match self.timeout_s {
            None | Some(0) => Ok(TIMEOUT_DEFAULT_S),
            Some(seconds) if i32::try_from(seconds).is_ok() => Ok(seconds),
            Some(_) => Err(errors::timeout_invalid()),
        }
    }

    /// What the client says of it.
    ///
    /// # Errors
    /// 9202
    pub fn message(&self) -> Result<&str> {
        let fits = self.message.chars().count() <= MESSAGE_MAX && self.message.chars().all(is_of_xml);
        if fits { Ok(&self.message) } else { Err(errors::message_invalid()) }
    }

    /// Reads the options.
    ///
    /// # Errors
    /// 9225, 9227 to 9235
    pub fn destination(&self) -> Result<Destination> {
        let length = self.deployment.chars().count();
        if length > OPTIONS_MAX {
            return Err(errors::options_too_long(length, OPTIONS_MAX));
        }
        let mut found = Destination::default();
        let (mut service, mut rest) = (None, self.deployment.trim());
        while !rest.is_empty() {
            let end = rest.find(['=', ';', '\'', '"']).unwrap_or(rest.len());
            let name = rest[..end].trim();
            if name.is_empty() {
                return Err(errors::name_expected());
            }
            let (place, shown) = match &*name.to_ascii_lowercase() {
                "service" => (&mut service, "Service"),
                "broker instance" => (&mut found.broker, "Broker Instance"),
                "local database" => (&mut found.database, "Local Database"),
                _ => return Err(errors::unknown_option(name)),
            };
            let Some(behind) = rest[end..].strip_prefix('=') else {
                return Err(errors::equal_expected(rest[end..].chars().next().unwrap_or(' ')));
            };
            if place.is_some() {
                return Err(errors::option_twice(shown));
            }
            let (value, behind) = value(behind.trim_start())?;
            if value.is_empty() {
                return Err(errors::value_missing(shown));
            }
            *place = Some(value);
            rest = match behind.trim_start() {
                "" => "",
                behind => {
                    behind.strip_prefix(';').ok_or_else(|| errors::semicolon_expected(behind))?.trim_start()
                }
            };
        }
        found.service = service.ok_or_else(errors::service_missing)?;
        if found.broker.is_some() && found.database.is_some() {
            return Err(errors::both_places());
        }
        Ok(found)
    }
}

/// Whether XML can hold a character.
fn is_of_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// A value, and what stands behind it.
fn value(text: &str) -> Result<(String, &str)> {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        let end = text.find(';').unwrap_or(text.len());
        return Ok((text[..end].trim().to_owned(), &text[end..]));
    };
    let (mut value, mut rest) = (String::new(), &text[1..]);
    loop {
        let end = rest.find(quote).ok_or_else(errors::unmatched_quote)?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(quote) {
            Some(behind) => {
                value.push(quote);
                rest = behind;
            }
            None => return Ok((value, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(deployment: &str, expect: std::result::Result<(&str, Option<&str>, Option<&str>), i32>) {
        let request = Request { deployment: deployment.to_owned(), ..Request::default() };
        let found = request.destination().map_err(|e| e.number);
        let found = found.as_ref().map(|d| (&*d.service, d.broker.as_deref(), d.database.as_deref()));
        assert_eq!(found.map_err(|number| *number), expect, "{deployment}");
    }

    #[test]
    fn options_are_read_as_they_are_written() {
        check("service=s", Ok(("s", None, None)));
        check("Service = s ; Local Database = d b ;", Ok(("s", None, Some("d b"))));
        check("local database=d;SERVICE='a;''b'", Ok(("a;'b", None, Some("d"))));
        check("service=s;broker instance=x-y", Ok(("s", Some("x-y"), None)));
        check("", Err(9233));
        check("local database=d", Err(9233));
        check("=s", Err(9228));
        check("queue=s", Err(9229));
        check("service=s;service=t", Err(9230));
        check("service", Err(9231));
        check("service='s' t", Err(9232));
        check("service='s", Err(9227));
        check("service=;", Err(9235));
        check("service=s;broker instance=b;local database=d", Err(9234));
    }
}
