//! Devices that are URLs: with which credential they are reached, and what went wrong in the product's words.
//!
//! A credential of the instance stands for the URLs that begin with its name, up to a `/` or the end: the longest name counts. WITH
//! CREDENTIAL names one instead.

use super::errors;
use super::media::Label;
use super::options::Options;
use crate::catalog::fold;
use crate::engine::Engine;
use crate::errors as sql_errors;
use crate::keys::CredentialDef;
use crate::keys::credential::ALTER_ANY;
use crate::session::info::Info;
use keel_base::env::File;
use keel_base::env::objects::{NewObject, ObjectAddress, Objects};
use keel_types::SqlError;
use keel_types::error::Result;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// What URLs of devices begin with.
const SCHEME: &str = "s3://";
/// IDENTITY of the credentials that they are reached with.
const IDENTITY: &str = "S3 Access Key";
/// The product's default where a statement says nothing.
const REGION_DEFAULT: &str = "us-east-1";
/// Bytes of a part: at least, at most, and when nothing is said.
const PART_BYTES: [usize; 3] = [5 << 20, 20 << 20, 10 << 20];
/// Characters of a device's name at most.
const LENGTH_MAX: usize = 259;

/// Whether a device's name is a URL's. Paths that look like one are not taken ([`super::options`]).
pub(super) fn is_url(device: &str) -> bool {
    device.get(..SCHEME.len()).is_some_and(|start| start.eq_ignore_ascii_case(SCHEME))
}

/// How a statement reaches its devices.
pub(super) struct Reach<'e> {
    pub engine: &'e Engine,
    urls: Option<Urls>,
}

/// What it takes to reach URLs.
struct Urls {
    /// Whether the session may use credentials.
    may: bool,
    /// WITH CREDENTIAL
    credential: Option<String>,
    region: String,
    max_transfer: Option<i64>,
    cancelled: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl<'e> Reach<'e> {
    /// Disks alone.
    pub fn disks(engine: &'e Engine) -> Reach<'e> {
        Reach { engine, urls: None }
    }

    /// As a session's statement does.
    pub fn of(info: &'e Info, options: &Options) -> Reach<'e> {
        let cancel = Arc::clone(&info.shared.cancel);
        let urls = Urls {
            may: info.unrestricted.get() || info.may_on_server(ALTER_ANY),
            credential: options.credential.clone(),
            region: options.region.clone().unwrap_or_else(|| REGION_DEFAULT.to_owned()),
            max_transfer: options.max_transfer,
            cancelled: Arc::new(move || cancel.is_cancelled()),
        };
        Reach { engine: &info.engine, urls: Some(urls) }
    }

    /// Begins an object. Error 3271 for one that is there and is not to be replaced.
    pub fn create(&self, url: &str, replace: bool) -> Result<Arc<dyn NewObject>> {
        let (objects, at) = self.address(url)?;
        let part_bytes = part_bytes(self.urls.as_ref().and_then(|urls| urls.max_transfer))?;
        objects.create(&at, part_bytes, replace).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => errors::object_exists(url),
            // The bucket: there need not be an object.
            ErrorKind::NotFound => unsupported(url, &e.to_string()),
            _ => cannot_open(url, &e),
        })
    }

    /// Opens an object to be read.
    pub fn open(&self, url: &str) -> Result<Arc<dyn File>> {
        let (objects, at) = self.address(url)?;
        objects.open(&at).map_err(|e| cannot_open(url, &e))
    }

    fn address(&self, url: &str) -> Result<(&'e Arc<dyn Objects>, ObjectAddress)> {
        let (Some(urls), Some(objects)) = (&self.urls, self.engine.objects()) else {
            return Err(unsupported(url, "Nothing here reaches URLs."));
        };
        if url.chars().count() > LENGTH_MAX {
            return Err(errors::cannot_open(url, "206(The filename or extension is too long.)"));
        }
        if !urls.may {
            return Err(errors::cannot_open(url, format!("5(Access is denied. It takes {ALTER_ANY}.)")));
        }
        let credential = self.credential(url, urls.credential.as_deref())?;
        if !credential.identity.eq_ignore_ascii_case(IDENTITY) {
            let why = format!("The credential '{}' is not of IDENTITY = '{IDENTITY}'.", credential.name);
            return Err(unsupported(url, &why));
        }
        let secret = self.engine.credential_secret(&credential)?;
        let Some((name, key)) = secret.split_once(':') else {
            let why =
                format!("The SECRET of the credential '{}' is not 'key id:secret key'.", credential.name);
            return Err(unsupported(url, &why));
        };
        let at = ObjectAddress {
            url: url.to_owned(),
            key: (name.to_owned(), key.to_owned()),
            region: urls.region.clone(),
            cancelled: Arc::clone(&urls.cancelled),
        };
        Ok((objects, at))
    }

    fn credential(&self, url: &str, named: Option<&str>) -> Result<CredentialDef> {
        if let Some(name) = named {
            let found = self.engine.credential(name)?;
            return found.ok_or_else(|| crate::keys::errors::not_found("find", "credential", name));
        }
        let all = self.engine.credentials()?;
        let stands = all.into_iter().filter(|c| stands_for(&c.name, url));
        let longest = stands.max_by_key(|c| c.name.trim_end_matches('/').len());
        longest.ok_or_else(|| unsupported(url, "There is no credential for it."))
    }
}

/// Whether a credential's name is the beginning of a URL, up to a `/` or its end.
fn stands_for(name: &str, url: &str) -> bool {
    let (name, url) = (fold(name.trim_end_matches('/')), fold(url));
    let rest = url.strip_prefix(name.as_str());
    is_url(&name) && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn unsupported(url: &str, why: &str) -> Box<SqlError> {
    errors::cannot_open(url, format!("50(The request is not supported. {why})"))
}

/// The product's numbers are those of Windows, whose words come first; then what the storage says.
fn cannot_open(url: &str, e: &io::Error) -> Box<SqlError> {
    let words = match e.kind() {
        ErrorKind::Interrupted => return sql_errors::cancelled(),
        ErrorKind::PermissionDenied => "5(Access is denied.",
        ErrorKind::NotFound => "2(The system cannot find the file specified.",
        ErrorKind::TimedOut => "12002(The operation timed out.",
        // Of a connection: what the server shows is not trusted.
        ErrorKind::InvalidData => "12175(A security error occurred.",
        ErrorKind::Unsupported => return unsupported(url, &e.to_string()),
        _ => "12029(A connection with the server could not be established.",
    };
    errors::cannot_open(url, format!("{words} {e})"))
}

/// MAXTRANSFERSIZE for URLs. Error 3217.
fn part_bytes(said: Option<i64>) -> Result<usize> {
    let Some(said) = said else { return Ok(PART_BYTES[2]) };
    let bytes = usize::try_from(said).ok().filter(|n| (PART_BYTES[0]..=PART_BYTES[1]).contains(n));
    bytes.ok_or_else(|| errors::bad_value("MAXTRANSFERSIZE"))
}

/// The region in `{"s3": {"region": "…"}}`. Error 3217.
pub(super) fn region(json: Option<&str>, option: &str) -> Result<Option<String>> {
    let read = serde_json::from_str::<serde_json::Value>(json.unwrap_or_default());
    let options = read.map_err(|_| errors::bad_value(option))?;
    let region = match options.get("s3").and_then(|s3| s3.get("region")) {
        None => return Ok(None),
        Some(region) => region.as_str().filter(|r| !r.is_empty() && r.chars().all(|c| c.is_ascii_graphic())),
    };
    region.map(|r| Some(r.to_owned())).ok_or_else(|| errors::bad_value(option))
}

/// What a label says that its set has before its end.
pub(super) fn stored(label: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Label>(label).ok().map(|label| label.stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_stands_for_what_begins_with_its_name() {
        let url = "s3://store:9000/shop/daily/full.bak";
        for name in [
            "s3://store:9000/shop",
            "S3://Store:9000/shop/",
            "s3://store:9000/shop/daily",
            url,
            "s3://store:9000",
        ] {
            assert!(stands_for(name, url), "{name}");
        }
        for name in
            ["s3://store:9000/sh", "s3://store:9000/shop/daily/full.bak/x", "s3://", "store:9000", "", "s3:"]
        {
            assert!(!stands_for(name, url), "{name}");
        }
    }
}
