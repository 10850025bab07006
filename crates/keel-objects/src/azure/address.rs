//! From `https://…` to what is asked: the URL as it stands, with everything encoded that has to be.

use std::fmt::Write as _;
use std::io;
use ureq::http::uri::Authority;

/// A blob's place. Whether the account is the host's first part or the path's does not matter: both are the URL's.
#[derive(Debug)]
pub(crate) struct Place {
    pub is_plain: bool,
    authority: String,
    /// Begins with a `/`; encoded.
    pub path: String,
}

impl Place {
    pub fn url(&self) -> String {
        let scheme = if self.is_plain { "http" } else { "https" };
        format!("{scheme}://{}{}", self.authority, self.path)
    }
}

fn unusable(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why)
}

/// `plain` are the hosts that may be asked by HTTP, as `host` or `host:port`.
///
/// # Errors
/// `Unsupported` for what names no blob.
pub(crate) fn place(url: &str, plain: &[String]) -> io::Result<Place> {
    let (scheme, rest) = url.split_once("://").ok_or_else(|| unusable("it is no URL"))?;
    let is_plain = scheme.eq_ignore_ascii_case("http");
    if !is_plain && !scheme.eq_ignore_ascii_case("https") {
        return Err(unusable("it does not begin with https://"));
    }
    let (authority, path) = rest.split_once('/').ok_or_else(|| unusable("it has no path"))?;
    if authority.is_empty() || authority.contains(['@', '?', '#', '%', '\\', ' ']) {
        return Err(unusable("it names no host"));
    }
    let host = host(authority).ok_or_else(|| unusable("it names no host"))?;
    if is_plain && !plain.iter().any(|p| p.eq_ignore_ascii_case(authority) || p.eq_ignore_ascii_case(&host)) {
        return Err(unusable("it begins with http://, and --plain-http does not name its host"));
    }
    if path.contains(['?', '#']) {
        return Err(unusable("it has more than a path: a signature is the credential's SECRET"));
    }
    // What means another place to a server than it does to a reader.
    let is_strange = |part| matches!(part, "" | "." | "..");
    if path.split('/').any(is_strange) || path.chars().any(char::is_control) || !path.contains('/') {
        return Err(unusable("its path names no blob in a container"));
    }
    Ok(Place { is_plain, authority: authority.to_owned(), path: format!("/{}", encoded(path)) })
}

/// The host of `host` or `host:port`.
fn host(authority: &str) -> Option<String> {
    let parsed = authority.parse::<Authority>().ok()?;
    let is_whole = parsed.host() == authority || parsed.port_u16().is_some();
    is_whole.then(|| parsed.host().to_owned())
}

/// A path with everything encoded but what is encoded already.
fn encoded(path: &str) -> String {
    let bytes = path.as_bytes();
    let is_code = |at: usize| bytes.get(at + 1..at + 3).is_some_and(|c| c.iter().all(u8::is_ascii_hexdigit));
    let mut text = String::with_capacity(path.len());
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(*byte as char)
            }
            b'%' if is_code(at) => text.push('%'),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(url: &str) -> String {
        match place(url, &["127.0.0.1:10000".to_owned(), "store".to_owned()]) {
            Ok(place) => place.url(),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn the_url_is_asked_as_it_stands() {
        for (url, expected) in [
            (
                "https://a.blob.core.windows.net/shop/full.bak",
                "https://a.blob.core.windows.net/shop/full.bak",
            ),
            ("HTTPS://127.0.0.1:10000/acc/shop/daily/a.bak", "https://127.0.0.1:10000/acc/shop/daily/a.bak"),
            ("https://h/shop/a b (1)%.bak", "https://h/shop/a%20b%20%281%29%25.bak"),
            ("https://h/shop/a%20b%2.bak", "https://h/shop/a%20b%252.bak"),
            ("https://h/shop/\u{e4}", "https://h/shop/%C3%A4"),
            ("http://127.0.0.1:10000/acc/shop/a", "http://127.0.0.1:10000/acc/shop/a"),
            ("http://store:10001/acc/shop/a", "http://store:10001/acc/shop/a"),
            ("https://store:10001/acc/shop/a", "https://store:10001/acc/shop/a"),
            ("https://[::1]:10000/acc/shop/a", "https://[::1]:10000/acc/shop/a"),
        ] {
            assert_eq!(asked(url), expected, "{url}");
        }
    }

    #[test]
    fn what_names_no_blob_is_none() {
        for url in [
            "",
            "https:",
            "https://",
            "https:///a/b",
            "https://h",
            "https://h/",
            "https://h/a",
            "https://h/a/",
            "https://h/a//c",
            "https://h/a/../c",
            "https://h/../c",
            "https://u:p@h/b/c",
            "s3://h/b/c",
            "http://h/b/c",
            "http://127.0.0.1:10001/b/c",
            "https://h:x/b/c",
            "https://h i/b/c",
            "https://h/b/c\nd",
            "https://h/b/c?sig=x",
            "https://h/b/c#d",
            "https://h?x/b/c",
        ] {
            let plain = ["127.0.0.1:10000".to_owned()];
            assert!(place(url, &plain).is_err(), "{url}: {}", asked(url));
        }
    }
}
