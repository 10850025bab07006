//! From `s3://…` to what is asked: scheme, bucket, key.

use rusty_s3::{Bucket, UrlStyle};
use std::io;

const SCHEME: &str = "s3://";

/// An object's place.
#[derive(Debug)]
pub(crate) struct Place {
    pub bucket: Bucket,
    pub key: String,
}

fn unusable(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why)
}

/// `plain` are the hosts that are asked by HTTP, as `host` or `host:port`.
///
/// # Errors
/// `Unsupported` for what names no object.
pub(crate) fn place(url: &str, region: &str, plain: &[String]) -> io::Result<Place> {
    let scheme = url.get(..SCHEME.len()).filter(|start| start.eq_ignore_ascii_case(SCHEME));
    let rest =
        scheme.map(|_| &url[SCHEME.len()..]).ok_or_else(|| unusable("it does not begin with s3://"))?;
    let (authority, path) = rest.split_once('/').ok_or_else(|| unusable("it has no path"))?;
    if authority.is_empty() || authority.contains(['@', '?', '#', '%', '\\']) {
        return Err(unusable("it names no host"));
    }
    // What means another place to a server than it does to a reader.
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) || path.chars().any(char::is_control) {
        return Err(unusable("its path names no object"));
    }
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let is_plain = plain.iter().any(|p| p.eq_ignore_ascii_case(authority) || p.eq_ignore_ascii_case(host));
    let scheme = if is_plain { "http" } else { "https" };
    // Both spell the same URL: which part is the bucket is only said to have one.
    let (style, name, endpoint, key) = match path.split_once('/') {
        Some((bucket, key)) => (UrlStyle::Path, bucket, authority, key),
        None => {
            let (bucket, endpoint) =
                authority.split_once('.').ok_or_else(|| unusable("it names no bucket"))?;
            (UrlStyle::VirtualHost, bucket, endpoint, path)
        }
    };
    let endpoint = format!("{scheme}://{endpoint}").parse().map_err(|_| unusable("it names no host"))?;
    let bucket = Bucket::new(endpoint, style, name.to_owned(), region.to_owned());
    Ok(Place { bucket: bucket.map_err(|_| unusable("it names no bucket"))?, key: key.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(url: &str) -> String {
        match place(url, "us-east-1", &["127.0.0.1:9000".to_owned(), "store".to_owned()]) {
            Ok(place) => place.bucket.object_url(&place.key).to_string(),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn both_styles_are_the_same_path() {
        for (url, expected) in [
            ("s3://s3.example.com/shop/daily/full.bak", "https://s3.example.com/shop/daily/full.bak"),
            ("s3://shop.s3.example.com/full.bak", "https://shop.s3.example.com/full.bak"),
            ("s3://shop.s3.example.com/daily/full.bak", "https://shop.s3.example.com/daily/full.bak"),
            ("S3://127.0.0.1:9000/shop/a b%.bak", "http://127.0.0.1:9000/shop/a%20b%25.bak"),
            ("s3://127.0.0.1:9001/shop/a?b#c", "https://127.0.0.1:9001/shop/a%3Fb%23c"),
            ("s3://store:9001/shop/a", "http://store:9001/shop/a"),
            ("s3://[::1]:9000/shop/a", "https://[::1]:9000/shop/a"),
        ] {
            assert_eq!(asked(url), expected, "{url}");
        }
    }

    #[test]
    fn what_names_no_object_is_none() {
        for url in [
            "",
            "s3:",
            "s3://",
            "s3:///a/b",
            "s3://h",
            "s3://h/",
            "s3://h/a",
            "s3://h/b/",
            "s3://h/b//c",
            "s3://h/b/../c",
            "s3://h/../c",
            "s3://u:p@h/b/c",
            "https://h/b/c",
            "s3://h:x/b/c",
            "s3://h/b/c\nd",
            "s3://h?x/b/c",
        ] {
            assert!(place(url, "us-east-1", &[]).is_err(), "{url}: {}", asked(url));
        }
    }
}
