//! Mail by SMTP (RFC 5321, by `lettre`): what the postman ([`keel_sql::agent::mail`]) hands over.
//!
//! A connection is encrypted when the account says so: with STARTTLS, or from its first byte on port 465. The server's certificate must
//! be one that the system trusts, or one of an authority in the directory that BACKUP TO URL trusts, too.

use std::path::PathBuf;

use keel_sql::agent::mail::{Account, Carrier, Letter};
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, Message, SmtpTransport, Transport as _};

/// Port of servers that encrypt from the first byte on (RFC 8314, 3.3).
const IMPLICIT_TLS_PORT: u16 = 465;

/// See the module.
#[derive(Debug)]
pub struct Smtp {
    /// What it calls itself to servers.
    host: String,
    /// Directory of certificates (PEM or DER) that are trusted besides the system's.
    authorities: PathBuf,
}

impl Smtp {
    /// Trusts the certificates in this directory besides the system's.
    #[must_use]
    pub fn new(authorities: PathBuf) -> Smtp {
        Smtp { host: crate::config::host_name(), authorities }
    }

    fn transport(&self, account: &Account) -> Result<SmtpTransport, String> {
        let mut transport = SmtpTransport::builder_dangerous(&account.server)
            .port(account.port)
            .hello_name(ClientId::Domain(self.host.clone()))
            .timeout(Some(account.timeout));
        if account.tls {
            let mut tls = TlsParameters::builder(account.server.clone());
            let trusted = keel_objects::trust::certificates(Some(&self.authorities));
            let trusted = trusted.map_err(|e| format!("{}: {e}", self.authorities.display()))?;
            for certificate in trusted {
                // Bundles hold certificates that the library does not take; the others still count.
                if let Ok(certificate) = Certificate::from_der(certificate.to_vec()) {
                    tls = tls.add_root_certificate(certificate);
                }
            }
            let tls = tls.build().map_err(|e| in_full(&e))?;
            let implicit = account.port == IMPLICIT_TLS_PORT;
            transport = transport.tls(if implicit { Tls::Wrapper(tls) } else { Tls::Required(tls) });
        }
        if let Some((user, password)) = &account.login {
            transport = transport.credentials(Credentials::new(user.clone(), password.clone()));
        }
        Ok(transport.build())
    }
}

impl Carrier for Smtp {
    fn carry(&self, letter: &Letter, account: &Account) -> Result<(), String> {
        let message = message(letter, account)?;
        let sent = self.transport(account)?.send(&message);
        sent.map(|_| ()).map_err(|e| format!("Cannot send mails to mail server. ({})", in_full(&e)))
    }
}

/// An error with what caused it.
pub(crate) fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        let more = e.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = e.source();
    }
    text
}

/// The message as it goes over the wire.
fn message(letter: &Letter, account: &Account) -> Result<Message, String> {
    let address = |text: &str| -> Result<Address, String> {
        text.trim().parse().map_err(|_| {
            format!("The specified string is not in the form required for an e-mail address: {text}")
        })
    };
    let mailbox = |text: &str| -> Result<Mailbox, String> {
        text.trim().parse().map_err(|_| {
            format!("The specified string is not in the form required for an e-mail address: {text}")
        })
    };
    let from = match letter.from.is_empty() {
        true => {
            let name = Some(account.display_name.clone()).filter(|name| !name.is_empty());
            Mailbox::new(name, address(&account.address)?)
        }
        false => mailbox(&letter.from)?,
    };
    let id = format!("<{}@{}>", uuid::Uuid::new_v4(), crate::config::host_name());
    let mut message =
        Message::builder().message_id(Some(id)).from(from).subject(letter.subject.replace(['\r', '\n'], " "));
    for text in addresses(&letter.recipients) {
        message = message.to(mailbox(text)?);
    }
    for text in addresses(&letter.copy_recipients) {
        message = message.cc(mailbox(text)?);
    }
    for text in addresses(&letter.blind_copy_recipients) {
        message = message.bcc(mailbox(text)?);
    }
    let reply_to = if letter.reply_to.is_empty() { &account.reply_to } else { &letter.reply_to };
    for text in addresses(reply_to) {
        message = message.reply_to(mailbox(text)?);
    }
    let message = raw_headers(letter).into_iter().fold(message, |m, (name, value)| {
        m.raw_header(HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned()))
    });
    let kind = if letter.html { ContentType::TEXT_HTML } else { ContentType::TEXT_PLAIN };
    let body = SinglePart::builder().header(kind).body(letter.body.clone());
    let built = match letter.attachments.is_empty() {
        true => message.singlepart(body),
        false => {
            let octets = ContentType::parse("application/octet-stream").expect("it is one");
            let attached = |(name, bytes): &(String, Vec<u8>)| {
                Attachment::new(name.clone()).body(bytes.clone(), octets.clone())
            };
            let parts = letter.attachments.iter().map(attached);
            message.multipart(parts.fold(MultiPart::mixed().singlepart(body), MultiPart::singlepart))
        }
    };
    built.map_err(|e| in_full(&e))
}

/// Headers of importance and sensitivity (RFC 2156 and 4021) where they are not the usual ones.
fn raw_headers(letter: &Letter) -> Vec<(&'static str, &'static str)> {
    let mut headers = Vec::new();
    match letter.importance.as_str() {
        "HIGH" => headers.extend([("X-Priority", "1"), ("Importance", "high")]),
        "LOW" => headers.extend([("X-Priority", "5"), ("Importance", "low")]),
        _ => {}
    }
    match letter.sensitivity.as_str() {
        "PERSONAL" => headers.push(("Sensitivity", "Personal")),
        "PRIVATE" => headers.push(("Sensitivity", "Private")),
        "CONFIDENTIAL" => headers.push(("Sensitivity", "Company-Confidential")),
        _ => {}
    }
    headers
}

/// Addresses of a list; a comma inside of quotes belongs to a name.
fn addresses(list: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let split = move |c: char| {
        quoted ^= c == '"';
        !quoted && matches!(c, ';' | ',')
    };
    list.split(split).map(str::trim).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter() -> Letter {
        Letter {
            recipients: "bob@example.com; \"Doe, Jane\" <jane@example.com>".into(),
            subject: "Half past\r\nBcc: eve@example.com".into(),
            body: "Ça va".into(),
            ..Letter::default()
        }
    }

    fn account() -> Account {
        Account { address: "keel@example.com".into(), display_name: "Keel".into(), ..Account::default() }
    }

    #[test]
    fn a_message_has_what_the_letter_says_and_no_header_more() {
        let sent = message(&letter(), &account()).expect("it is one");
        let text = String::from_utf8(sent.formatted()).expect("mail is text");
        assert!(
            text.contains("From: Keel <keel@example.com>")
                || text.contains("From: \"Keel\" <keel@example.com>"),
            "{text}"
        );
        assert!(!text.contains("\r\nBcc:"), "a subject makes no header: {text}");
        assert!(text.contains("jane@example.com"), "{text}");
        assert!(text.contains("Message-ID: <"), "{text}");
        assert_eq!(sent.envelope().to().len(), 2);
    }

    #[test]
    fn importance_and_attachments_are_told() {
        let letter = Letter {
            importance: "HIGH".into(),
            sensitivity: "CONFIDENTIAL".into(),
            attachments: vec![("a.txt".into(), b"x".to_vec())],
            html: true,
            ..letter()
        };
        let text =
            String::from_utf8(message(&letter, &account()).expect("it is one").formatted()).expect("text");
        for part in [
            "Importance: high",
            "X-Priority: 1",
            "Sensitivity: Company-Confidential",
            "a.txt",
            "text/html",
            "multipart/mixed",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn what_is_no_address_is_said() {
        let wrong = Letter { recipients: "nobody".into(), ..letter() };
        assert!(message(&wrong, &account()).expect_err("it is none").contains("nobody"));
        assert_eq!(addresses(" a@b.c ;; d@e.f, ").collect::<Vec<_>>(), ["a@b.c", "d@e.f"]);
    }
}
