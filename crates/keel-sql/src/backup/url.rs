//! Devices that are URLs: with which credential they are reached, and what went wrong in the product's words.
//!
//! A credential of the instance stands for the URLs that begin with its name, up to a `/` or the end: the longest name counts. WITH
//! CREDENTIAL names one instead; to Azure's storage that is one with the account's key, while those that are found have a shared access
//! signature.

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
use keel_base::env::objects::{Access, NewObject, ObjectAddress, Objects};
use keel_types::SqlError;
use keel_types::error::Result;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// The product's default where a statement says nothing.
const REGION_DEFAULT: &str = "us-east-1";
/// Characters of a device's name at most.
const LENGTH_MAX: usize = 259;

/// A kind of object storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    S3,
    Azure,
}

/// What URLs of devices begin with.
const SCHEMES: [(&str, Kind); 3] = [("s3://", Kind::S3), ("https://", Kind::Azure), ("http://", Kind::Azure)];

impl Kind {
    /// Of a URL.
    fn of(device: &str) -> Option<Kind> {
        let begins = |s: &str| device.get(..s.len()).is_some_and(|start| start.eq_ignore_ascii_case(s));
        SCHEMES.iter().find(|(scheme, _)| begins(scheme)).map(|(_, kind)| *kind)
    }

    /// IDENTITY of the credentials that it is reached with.
    fn identity(self) -> &'static str {
        match self {
            Kind::S3 => "S3 Access Key",
            Kind::Azure => "SHARED ACCESS SIGNATURE",
        }
    }

    /// MAXTRANSFERSIZE: bytes of a part. Error 3217.
    fn part_bytes(self, said: Option<i64>) -> Result<usize> {
        let (least, most, unit, default) = match self {
            Kind::S3 => (5 << 20, 20 << 20, 1, 10 << 20),
            Kind::Azure => (64 << 10, 4 << 20, 64 << 10, 4 << 20),
        };
        let Some(said) = said else { return Ok(default) };
        let fits = |n: &usize| (least..=most).contains(n) && n.is_multiple_of(unit);
        let bytes = usize::try_from(said).ok().filter(fits);
        bytes.ok_or_else(|| errors::bad_value("MAXTRANSFERSIZE"))
    }
}

/// Whether a device's name is a URL's. Paths that look like one are not taken ([`super::options`]).
pub(super) fn is_url(device: &str) -> bool {
    Kind::of(device).is_some()
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
        let (objects, at, kind) = self.address(url)?;
        let part_bytes = kind.part_bytes(self.urls.as_ref().and_then(|urls| urls.max_transfer))?;
        objects.create(&at, part_bytes, replace).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => errors::object_exists(url),
            // The bucket or container: there need not be an object.
            ErrorKind::NotFound => unsupported(url, &e.to_string()),
            _ => cannot_open(url, &e),
        })
    }

    /// Opens an object to be read.
    pub fn open(&self, url: &str) -> Result<Arc<dyn File>> {
        let (objects, at, _) = self.address(url)?;
        objects.open(&at).map_err(|e| cannot_open(url, &e))
    }

    fn address(&self, url: &str) -> Result<(&'e Arc<dyn Objects>, ObjectAddress, Kind)> {
        let (Some(urls), Some(objects), Some(kind)) = (&self.urls, self.engine.objects(), Kind::of(url))
        else {
            return Err(unsupported(url, "Nothing here reaches URLs."));
        };
        if url.chars().count() > LENGTH_MAX {
            return Err(errors::cannot_open(url, "206(The filename or extension is too long.)"));
        }
        if !urls.may {
            return Err(errors::cannot_open(url, format!("5(Access is denied. It takes {ALTER_ANY}.)")));
        }
        let named = urls.credential.as_deref();
        let at = ObjectAddress {
            url: url.to_owned(),
            access: self.access(url, kind, &self.credential(url, named)?, named.is_some())?,
            region: urls.region.clone(),
            cancelled: Arc::clone(&urls.cancelled),
        };
        Ok((objects, at, kind))
    }

    /// What a credential has for a storage. Error 3225 for a signature that WITH CREDENTIAL names.
    fn access(&self, url: &str, kind: Kind, credential: &CredentialDef, is_named: bool) -> Result<Access> {
        let is = |identity: &str| credential.identity.eq_ignore_ascii_case(identity);
        let unfit = |what: &str| unsupported(url, &format!("The {what}."));
        let (name, is_of_kind) = (&credential.name, is(kind.identity()));
        if kind == Kind::Azure && is("Managed Identity") {
            return Err(unfit(&format!(
                "credential '{name}' is of a managed identity, which is not asked for here"
            )));
        }
        // With a name it is the account's, whatever that is called.
        let is_account = kind == Kind::Azure && is_named;
        if is_account && is_of_kind {
            return Err(errors::credential_has_signature());
        }
        if !is_account && !is_of_kind {
            return Err(unfit(&format!("credential '{name}' is not of IDENTITY = '{}'", kind.identity())));
        }
        let secret = self.engine.credential_secret(credential)?;
        let unfit = |what: &str| unfit(&format!("SECRET of the credential '{name}' is not {what}"));
        match kind {
            Kind::S3 => {
                let (name, key) = secret.split_once(':').ok_or_else(|| unfit("'key id:secret key'"))?;
                Ok(Access::Key { name: name.to_owned(), secret: key.to_owned() })
            }
            Kind::Azure if is_account => {
                Ok(Access::Key { name: credential.identity.clone(), secret: secret.clone() })
            }
            Kind::Azure => {
                let is_query =
                    secret.contains("sig=") && secret.chars().all(|c| c.is_ascii_graphic() && c != '#');
                if !is_query {
                    return Err(unfit("a shared access signature ('sv=…&sig=…')"));
                }
                Ok(Access::Signature(secret.clone()))
            }
        }
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
        assert!(stands_for("https://a.blob.core.windows.net/shop", "HTTPS://A.blob.core.windows.net/shop/x"));
        for name in
            ["s3://store:9000/sh", "s3://store:9000/shop/daily/full.bak/x", "s3://", "store:9000", "", "s3:"]
        {
            assert!(!stands_for(name, url), "{name}");
        }
    }
}
