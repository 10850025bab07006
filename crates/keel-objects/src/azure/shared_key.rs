//! Requests signed with an account's key ("Shared Key").

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use std::io;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use ureq::http::Method;

/// As HTTP has it.
const DATE: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");
/// Headers that are signed by their values alone, in this order.
const BY_PLACE: [&str; 11] = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
];

/// An account and its key.
pub(crate) struct SharedKey {
    account: String,
    key: hmac::Key,
}

impl SharedKey {
    /// # Errors
    /// `Unsupported` when it is no key.
    pub fn new(account: &str, secret: &str) -> io::Result<SharedKey> {
        let no_key =
            |_| io::Error::new(io::ErrorKind::Unsupported, "The key of the storage account is not Base64.");
        let bytes = STANDARD.decode(secret.trim()).map_err(no_key)?;
        Ok(SharedKey { account: account.to_owned(), key: hmac::Key::new(hmac::HMAC_SHA256, &bytes) })
    }

    /// Adds what a request is signed with.
    pub fn sign(
        &self,
        method: &Method,
        path: &str,
        parameters: &[(&'static str, &str)],
        headers: &mut Vec<(&'static str, String)>,
        body_bytes: usize,
    ) {
        // The form has nothing in it that could fail.
        let now = OffsetDateTime::now_utc().format(DATE).unwrap_or_default();
        headers.push(("x-ms-date", now));
        let text = self.signed_text(method, path, parameters, headers, body_bytes);
        let signature = STANDARD.encode(hmac::sign(&self.key, text.as_bytes()));
        headers.push(("authorization", format!("SharedKey {}:{signature}", self.account)));
    }

    fn signed_text(
        &self,
        method: &Method,
        path: &str,
        parameters: &[(&'static str, &str)],
        headers: &[(&'static str, String)],
        body_bytes: usize,
    ) -> String {
        let mut text = format!("{method}\n");
        for name in BY_PLACE {
            let value = headers.iter().find(|header| header.0 == name).map(|header| header.1.clone());
            let length = (name == "content-length" && body_bytes > 0).then(|| body_bytes.to_string());
            text += &length.or(value).unwrap_or_default();
            text.push('\n');
        }
        let mut own: Vec<_> = headers.iter().filter(|(name, _)| name.starts_with("x-ms-")).collect();
        own.sort_unstable();
        for (name, value) in own {
            text += &format!("{name}:{value}\n");
        }
        text += &format!("/{}{path}", self.account);
        for (name, value) in parameters {
            text += &format!("\n{name}:{value}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_in_the_storages_order() {
        let key = SharedKey::new("acc", "c2VjcmV0").expect("it is a key");
        let headers = [
            ("if-none-match", "*".to_owned()),
            ("x-ms-version", "2019-07-07".to_owned()),
            ("x-ms-meta-upload", "u".to_owned()),
            ("x-ms-date", "Sat, 28 Nov 2026 03:00:00 GMT".to_owned()),
        ];
        let text = key.signed_text(&Method::PUT, "/shop/a%20b", &[("comp", "blocklist")], &headers, 12);
        let expected = "PUT\n\n\n12\n\n\n\n\n\n*\n\n\nx-ms-date:Sat, 28 Nov 2026 03:00:00 GMT\nx-ms-meta-upload:u\n\
            x-ms-version:2019-07-07\n/acc/shop/a%20b\ncomp:blocklist";
        assert_eq!(text, expected);
        let get = [("range", "bytes=0-9".to_owned()), ("if-match", "\"1\"".to_owned())];
        let text = key.signed_text(&Method::GET, "/acc/shop/a", &[], &get, 0);
        assert_eq!(text, "GET\n\n\n\n\n\n\n\n\"1\"\n\n\nbytes=0-9\n/acc/acc/shop/a");
        assert!(SharedKey::new("acc", "no key!").is_err());
    }
}
