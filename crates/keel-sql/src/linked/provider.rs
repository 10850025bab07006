//! Data sources and provider strings, as they are written for the product's providers, and what of them means something here.

use super::errors;
use super::link::{Encrypt, Target};
use keel_types::error::Result;
use std::time::Duration;

/// The port of a default instance.
const DEFAULT_PORT: u16 = 1433;

/// Providers that stand for a server like this one.
const PROVIDERS: [&str; 6] = ["SQLNCLI", "SQLNCLI10", "SQLNCLI11", "MSOLEDBSQL", "MSOLEDBSQL19", "SQLOLEDB"];

/// The provider as it is shown; `None` for one that is not there (7403).
#[must_use]
pub fn provider(name: &str) -> Option<&'static str> {
    // Versions may stand behind a point: `SQLNCLI11.1`.
    let name = name.trim().split('.').next().unwrap_or_default();
    PROVIDERS.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// Where a server is, and how to speak to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: Option<u16>,
    instance: String,
    encrypt: Encrypt,
    trust: bool,
    certificate_name: Option<String>,
    read_only: bool,
    all_addresses: bool,
    /// Database that the string names.
    pub database: Option<String>,
    /// Login and password that the string names.
    pub login: Option<(String, String)>,
}

impl Address {
    /// Reads `@datasrc` and `@provstr`. What the string says of an address counts before the source.
    ///
    /// # Errors
    /// A value that is none of those that its key takes (7399).
    pub fn read(source: &str, string: &str) -> Result<Address> {
        let mut address = Address {
            host: String::new(),
            port: None,
            instance: String::new(),
            encrypt: Encrypt::Optional,
            trust: false,
            certificate_name: None,
            read_only: false,
            all_addresses: false,
            database: None,
            login: None,
        };
        address.place(source)?;
        let (mut user, mut password) = (None, None);
        for (key, value) in pairs(string)? {
            let is = |names: &[&str]| names.iter().any(|name| key.eq_ignore_ascii_case(name));
            if is(&["Server", "Data Source", "Address", "Addr", "Network Address"]) {
                address.place(&value)?;
            } else if is(&["Database", "Initial Catalog"]) {
                address.database = Some(value);
            } else if is(&["UID", "User ID", "User"]) {
                user = Some(value);
            } else if is(&["PWD", "Password"]) {
                password = Some(value);
            } else if is(&["Encrypt", "Use Encryption for Data"]) {
                address.encrypt = match value.to_ascii_lowercase().as_str() {
                    "yes" | "true" | "mandatory" | "1" => Encrypt::Mandatory,
                    "strict" => Encrypt::Strict,
                    "no" | "false" | "optional" | "0" => Encrypt::Optional,
                    _ => return Err(errors::bad_provider_string(format!("{key}={value}"))),
                };
            } else if is(&["TrustServerCertificate", "Trust Server Certificate"]) {
                address.trust = truth(&key, &value)?;
            } else if is(&["HostNameInCertificate", "Host Name In Certificate"]) {
                address.certificate_name = Some(value).filter(|name| !name.is_empty());
            } else if is(&["ApplicationIntent", "Application Intent"]) {
                address.read_only = value.eq_ignore_ascii_case("ReadOnly");
            } else if is(&["MultiSubnetFailover", "Multi Subnet Failover"]) {
                address.all_addresses = truth(&key, &value)?;
            } else if is(&["Trusted_Connection", "Integrated Security"])
                && (value.eq_ignore_ascii_case("SSPI") || truth(&key, &value)?)
            {
                // There are no logins of Windows: who is who is said by sp_addlinkedsrvlogin.
                user = None;
            }
            // What other keys say (packet sizes, names of applications, MARS) changes nothing that could be seen.
        }
        address.login = user.map(|user| (user, password.unwrap_or_default()));
        Ok(address)
    }

    /// `host`, `host,port`, `host\instance`, with `tcp:` before it.
    fn place(&mut self, source: &str) -> Result<()> {
        let source = source.trim();
        let bad = || errors::bad_provider_string(format!("'{source}' is no address of a server"));
        if ["np:", "lpc:", "admin:"].iter().any(|p| source.to_ascii_lowercase().starts_with(p)) {
            return Err(bad());
        }
        let rest = match source.get(..4) {
            Some(start) if start.eq_ignore_ascii_case("tcp:") => &source[4..],
            _ => source,
        };
        let (place, port) = match rest.rsplit_once(',') {
            Some((place, port)) => (place, Some(port.trim().parse().map_err(|_| bad())?)),
            None => (rest, None),
        };
        let (host, instance) = place.split_once('\\').unwrap_or((place, ""));
        let host = host.trim().trim_matches(['[', ']']);
        let local = host == "." || host.eq_ignore_ascii_case("(local)") || host.is_empty();
        self.host = if local { "127.0.0.1".to_owned() } else { host.to_owned() };
        let instance = instance.trim();
        let default = instance.is_empty() || instance.eq_ignore_ascii_case("MSSQLSERVER");
        self.instance = if default || port.is_some() { String::new() } else { instance.to_owned() };
        self.port = port.or(default.then_some(DEFAULT_PORT));
        Ok(())
    }

    /// Where to connect, as whom.
    pub(super) fn target(
        &self,
        user: String,
        password: String,
        database: String,
        timeout: Duration,
    ) -> Target {
        Target {
            host: self.host.clone(),
            port: self.port,
            instance: self.instance.clone(),
            encrypt: self.encrypt,
            trust: self.trust,
            certificate_name: self.certificate_name.clone(),
            read_only: self.read_only,
            all_addresses: self.all_addresses,
            user,
            password,
            database,
            timeout,
        }
    }
}

fn truth(key: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "yes" | "true" | "1" => Ok(true),
        "no" | "false" | "0" | "" => Ok(false),
        _ => Err(errors::bad_provider_string(format!("{key}={value}"))),
    }
}

/// `key=value;key={value with ; and =};…`; quotes of both kinds hold a value, too, and are doubled in it.
fn pairs(string: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = string.trim_start_matches([';', ' ']);
    while !rest.is_empty() {
        let bad = || errors::bad_provider_string(format!("'{rest}' has no value"));
        let (key, behind) = rest.split_once('=').ok_or_else(bad)?;
        let behind = behind.trim_start();
        let (value, after) = match behind.chars().next() {
            Some(open @ ('{' | '"' | '\'')) => held(behind, open).ok_or_else(bad)?,
            _ => {
                let (value, after) = behind.split_once(';').unwrap_or((behind, ""));
                (value.trim().to_owned(), after)
            }
        };
        found.push((key.trim().to_owned(), value));
        rest = after.trim_start_matches([';', ' ']);
    }
    Ok(found)
}

/// A value in braces or quotes, and what follows it.
fn held(text: &str, open: char) -> Option<(String, &str)> {
    let close = if open == '{' { '}' } else { open };
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != close {
            value.push(c);
        } else if chars.peek().is_some_and(|(_, next)| *next == close) {
            chars.next();
            value.push(c);
        } else {
            return Some((value, &text[at + c.len_utf8()..]));
        }
    }
    None
}

/// The string as it may be kept and shown: without its password.
///
/// # Errors
/// When it cannot be read.
pub fn without_password(string: &str) -> Result<String> {
    let secret = |key: &str| key.eq_ignore_ascii_case("PWD") || key.eq_ignore_ascii_case("Password");
    let all = pairs(string)?;
    if !all.iter().any(|(key, _)| secret(key)) {
        return Ok(string.to_owned());
    }
    let shown = all.iter().filter(|(key, _)| !secret(key));
    Ok(shown
        .map(|(key, value)| format!("{key}={{{}}}", value.replace('}', "}}")))
        .collect::<Vec<_>>()
        .join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str, string: &str) -> Target {
        let address = Address::read(source, string).unwrap();
        let (user, password) = address.login.clone().unwrap_or_default();
        let database = address.database.clone().unwrap_or_default();
        address.target(user, password, database, Duration::from_secs(1))
    }

    #[test]
    fn sources_as_people_write_them() {
        let check = |source: &str, host: &str, port: Option<u16>, instance: &str| {
            let target = read(source, "");
            assert_eq!(
                (target.host.as_str(), target.port, target.instance.as_str()),
                (host, port, instance),
                "{source}"
            );
        };
        check("db", "db", Some(1433), "");
        check("tcp:db,1444", "db", Some(1444), "");
        check("db\\SQL2", "db", None, "SQL2");
        check("db\\SQL2,1450", "db", Some(1450), "");
        check("(local)", "127.0.0.1", Some(1433), "");
        check("[::1],1444", "::1", Some(1444), "");
        assert!(Address::read("db,x", "").is_err());
        assert!(Address::read("np:db", "").is_err());
    }

    #[test]
    fn strings_as_people_write_them() {
        let target = read(
            "ignored",
            "Server=db,1500;UID=me;PWD={a;b}};c};Encrypt=Strict;TrustServerCertificate=yes;ApplicationIntent=READONLY;Database=\"x\"\"y\";",
        );
        assert_eq!((target.host.as_str(), target.port), ("db", Some(1500)));
        assert_eq!((target.user.as_str(), target.password.as_str()), ("me", "a;b};c"));
        assert_eq!(target.database, "x\"y");
        assert!(target.trust && target.read_only && target.encrypt == Encrypt::Strict);
        assert!(Address::read("db", "Encrypt=perhaps").is_err());
        assert!(Address::read("db", "Encrypt").is_err());
    }

    #[test]
    fn pieces_of_a_string_are_read_or_refused() {
        let whole = "Server=tcp:[::1],15;PWD={a}}};UID='x''y';Encrypt=\"no\";ü={ö";
        for end in (0..=whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            for begin in (0..=end).filter(|begin| whole.is_char_boundary(*begin)) {
                let piece = &whole[begin..end];
                let read = Address::read(piece, piece).is_ok();
                assert_eq!(without_password(piece).is_ok(), pairs(piece).is_ok(), "{piece} {read}");
            }
        }
    }

    #[test]
    fn a_kept_string_has_no_password() {
        let kept = without_password("UID=me;PWD=secret;Encrypt=yes").unwrap();
        assert!(!kept.contains("secret"), "{kept}");
        assert_eq!(read("db", &kept).user, "me");
    }
}
