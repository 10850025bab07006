//! Integrated authentication: a client proves by Kerberos that it is an account of a domain.
//!
//! LOGIN7 brings the first token ([MS-TDS] 2.2.6.4), wrapped in SPNEGO or not; the library says who the client is or what it is to
//! be sent, and that goes back and forth as SSPI tokens and messages (2.2.7.22, 2.2.6.8). What comes of it is a principal,
//! `user@REALM`. Which of them are accounts, and what they are called here, [`Kerberos`] decides: an account has the name `DOMAIN\user`,
//! as logins do. That the account has a login is the next question, and not this module's.

use std::net::IpAddr;

use anyhow::{Context, Result, ensure};
use keel_gss::{Accepted, Acceptor, Logon, Step};
use keel_sql::windows::{self, Account};
use keel_types::SqlError;

use crate::config::Config;
use crate::errorlog::ErrorLog;

/// First part of the names that clients call a server by.
const SERVICE: &str = "MSSQLSvc";
/// Tokens of one client. Kerberos takes one, SPNEGO one or two more.
const STEPS_MAX: usize = 8;

/// Who may log in by Kerberos, and as whom.
pub struct Kerberos {
    acceptor: Acceptor,
    /// Name and realm of each domain; none: the service's own.
    domains: Vec<(String, String)>,
}

/// Sends a client a token and gives what it answers.
pub type Ask<'a, E> = dyn FnMut(&[u8]) -> Result<Vec<u8>, E> + 'a;

/// A client that has proved who it is.
pub struct Proven {
    /// Who it is, with its groups where its domain names them.
    pub account: Account,
    /// What the client is to get before the answer to its login, so that it knows who the server is; may be empty.
    pub token: Vec<u8>,
}

impl Kerberos {
    /// As configured; `None` without keys.
    ///
    /// # Errors
    /// When the keys cannot be read, the library is not there, or a domain is not `NAME=REALM`.
    pub fn new(config: &Config) -> Result<Option<Kerberos>> {
        let domains = config.kerberos_domains.iter().map(|text| domain(text)).collect::<Result<Vec<_>>>()?;
        for (n, (name, _)) in domains.iter().enumerate() {
            let other = domains[..n].iter().any(|(other, _)| other.to_uppercase() == name.to_uppercase());
            ensure!(!other, "two Kerberos domains are called {name}: their accounts would be each other's");
        }
        let Some(keytab) = &config.kerberos_keytab else {
            ensure!(domains.is_empty(), "kerberos_domains need a kerberos_keytab");
            return Ok(None);
        };
        let acceptor =
            Acceptor::new(keytab).with_context(|| format!("cannot use the keys in {}", keytab.display()))?;
        Ok(Some(Kerberos { acceptor, domains }))
    }

    /// Takes a client's first token and asks it for more with `ask` until it has proved who it is. The inner error is what the client
    /// is told; why is in the error log.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn prove<E>(
        &self,
        first: &[u8],
        (log, peer): (&ErrorLog, IpAddr),
        ask: &mut Ask<'_, E>,
    ) -> Result<Result<Proven, SqlError>, E> {
        let mut client = match self.acceptor.begin() {
            Ok(client) => client,
            Err(e) => return Ok(Err(failed(log, peer, e.code(), &e.to_string()))),
        };
        let mut token = first.to_vec();
        for _ in 0..STEPS_MAX {
            match client.step(&token) {
                Ok(Step::Continue(answer)) => token = ask(&answer)?,
                Ok(Step::Done(accepted)) => return Ok(self.proven(accepted, log, peer)),
                Err(e) => return Ok(Err(failed(log, peer, e.code(), &e.to_string()))),
            }
        }
        Ok(Err(failed(log, peer, 0, "The client goes on and on.")))
    }

    fn proven(&self, accepted: Accepted, log: &ErrorLog, peer: IpAddr) -> Result<Proven, SqlError> {
        let Accepted { token, client, service, logon } = accepted;
        let name = account(&client, &service, logon.as_ref(), &self.domains);
        let name = name.map_err(|why| failed(log, peer, 0, &why))?;
        let (sid, groups) = logon.map_or((None, Vec::new()), |logon| (Some(logon.sid), logon.groups));
        Ok(Proven { account: Account::new(name, sid, groups), token })
    }
}

/// `NAME=REALM`
fn domain(text: &str) -> Result<(String, String)> {
    let parts = text.split_once('=').filter(|(name, realm)| !name.is_empty() && !realm.is_empty());
    let (name, realm) = parts.with_context(|| format!("a Kerberos domain is NAME=REALM, not {text}"))?;
    ensure!(!name.contains('\\'), "the name of a Kerberos domain has no backslash: {name}");
    Ok((name.to_owned(), realm.to_owned()))
}

/// What a principal is called as an account: `DOMAIN\user`. It is none when it is from another realm, or has called another service
/// whose key happens to be in the file: its token may have been meant for that one, and brought here by it. Where its domain says
/// more of it, that is its name: a principal may have several, and be called as somebody else is.
fn account(
    client: &str,
    service: &str,
    logon: Option<&Logon>,
    domains: &[(String, String)],
) -> Result<String, String> {
    let (called, home) = principal(service).unwrap_or_default();
    if !called.split('/').next().is_some_and(|first| first.eq_ignore_ascii_case(SERVICE)) {
        return Err(format!("The ticket is for {service}, not for {SERVICE}."));
    }
    let (user, realm) = principal(client).ok_or_else(|| format!("{client} is no account of a domain."))?;
    let domain = match domains.iter().find(|(_, of)| of == realm) {
        Some((name, _)) => name.clone(),
        None if domains.is_empty() && realm == home => match logon {
            Some(logon) => logon.domain.clone(),
            None => realm.split('.').next().unwrap_or(realm).to_uppercase(),
        },
        None => return Err(format!("{client} is of a realm that is not trusted.")),
    };
    let name = format!("{domain}\\{}", logon.map_or(user, |logon| &logon.name));
    match windows::parts(&name) {
        Some(_) => Ok(name),
        None => Err(format!("{client} is no account of a domain.")),
    }
}

/// Name and realm of a principal. `None` for names with special characters, which stand behind backslashes (RFC 1964, 2.1.1): what
/// comes of them could look like another's.
fn principal(text: &str) -> Option<(&str, &str)> {
    let (name, realm) = text.split_once('@')?;
    (!name.is_empty() && !realm.is_empty() && !text.contains('\\')).then_some((name, realm))
}

/// Writes a failure to the error log; what the client is told of it.
fn failed(log: &ErrorLog, peer: IpAddr, code: u32, why: &str) -> SqlError {
    const TOLD: &str = "Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication.";
    // A name must not look like a line of the log.
    let why = why.replace(char::is_control, " ");
    log.entry("Logon", "Error: 17806, Severity: 20, State: 14.");
    let text = format!(
        "SSPI handshake failed with error code 0x{code:x}, state 14 while establishing a connection with integrated security; \
         the connection has been closed. Reason: {why} [CLIENT: {peer}]"
    );
    log.entry("Logon", &text);
    log.entry("Logon", "Error: 18452, Severity: 14, State: 1.");
    log.entry("Logon", &format!("{TOLD} [CLIENT: {peer}]"));
    SqlError { line: 1, ..*SqlError::new(18_452, 14, 1, TOLD) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "MSSQLSvc/db.corp.example.com:1433@CORP.EXAMPLE.COM";

    fn listed() -> Vec<(String, String)> {
        vec![domain("CORP=CORP.EXAMPLE.COM").expect("one"), domain("LAB=LAB.EXAMPLE.COM").expect("one")]
    }

    #[test]
    fn without_domains_the_services_realm_counts_by_the_first_part_of_its_name() {
        let name = |client| account(client, OURS, None, &[]);
        assert_eq!(name("bob@CORP.EXAMPLE.COM").as_deref(), Ok("CORP\\bob"));
        assert!(name("bob@CORP.EVIL.COM").is_err());
        assert!(name("bob@corp.example.com").is_err(), "realms are told apart by case");
        assert!(name("bob").is_err() && name("@CORP.EXAMPLE.COM").is_err());
    }

    #[test]
    fn domains_that_are_listed_are_all_there_are() {
        let name = |client| account(client, OURS, None, &listed());
        assert_eq!(name("bob@LAB.EXAMPLE.COM").as_deref(), Ok("LAB\\bob"));
        assert_eq!(name("bob@CORP.EXAMPLE.COM").as_deref(), Ok("CORP\\bob"));
        assert!(account("bob@CORP.EXAMPLE.COM", OURS, None, &listed()[1..]).is_err());
        for text in ["CORP", "=X", "CORP=", "A\\B=X"] {
            assert!(domain(text).is_err(), "{text}");
        }
    }

    #[test]
    fn two_realms_are_not_one_domain() {
        let both = ["CORP=CORP.EXAMPLE.COM", "corp=OTHER.EXAMPLE.COM"].map(str::to_owned).to_vec();
        let config = Config { kerberos_domains: both, ..Config::default() };
        let e = Kerberos::new(&config).err().expect("it is refused").to_string();
        assert!(e.contains("are called corp"), "{e}");
    }

    #[test]
    fn an_account_is_called_as_its_domain_calls_it() {
        let logon = |domain: &str, name: &str| Logon {
            domain: domain.to_owned(),
            name: name.to_owned(),
            sid: Vec::new(),
            groups: Vec::new(),
        };
        let name =
            |logon, domains: &[_]| account("robert.smith@CORP.EXAMPLE.COM", OURS, Some(&logon), domains);
        assert_eq!(name(logon("KEELAD", "bob"), &[]).as_deref(), Ok("KEELAD\\bob"));
        assert_eq!(name(logon("KEELAD", "bob"), &listed()).as_deref(), Ok("CORP\\bob"));
        assert!(name(logon("", "bob"), &[]).is_err() && name(logon("A", "b\\c"), &[]).is_err());
    }

    #[test]
    fn nobody_is_taken_for_another() {
        let name = |client| account(client, OURS, None, &[]);
        for client in ["LAB\\\\bob@CORP.EXAMPLE.COM", "sa\\@x@CORP.EXAMPLE.COM", "a\\/b@CORP.EXAMPLE.COM"] {
            assert!(name(client).is_err(), "{client}");
        }
        assert!(account("bob@CORP.EXAMPLE.COM", "HTTP/db@CORP.EXAMPLE.COM", None, &[]).is_err());
        assert!(account("bob@CORP.EXAMPLE.COM", "", None, &[]).is_err());
    }
}
