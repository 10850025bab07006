//! Azure's Blob Storage: requests with a shared access signature or signed with the account's key, block blobs.
//!
//! ```text
//!   begin ──► Get Blob Properties: what is there is in the way, or is to be replaced; an upload's name is made up here
//!   a part ──► Put Block, named by the upload and its number ──► a block that nobody sees
//!   complete ──► Put Block List, which needs the blob not to be there unless it is replaced ──► the blob, with the upload's name as metadata
//! ```
//!
//! There is nothing to abort: blocks that no list names are no part of a blob, and the storage throws them away when the next list comes or
//! after a week. To make an empty blob of them and delete that would put one under the name for a moment, and for good where the signature
//! does not let it be deleted.

mod address;
mod shared_key;

use crate::Options;
use crate::request::{Client, Request, Waits, code};
use crate::service::{Found, Service};
use address::{Place, place};
use keel_base::env::objects::{Access, ObjectAddress};
use shared_key::SharedKey;
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use ureq::http::Method;

/// Of the protocol: old enough for private clouds, and has all that is asked for here.
const VERSION: &str = "2019-07-07";
/// Blocks of a blob at most.
const BLOCKS_MAX: usize = 50_000;
/// Answers to what is asked beside the blocks are short.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// The metadata that names the upload that a blob comes from.
const UPLOAD: &str = "x-ms-meta-upload";

/// A blob's place, and how its requests are signed.
pub(crate) struct Blob {
    client: Client,
    place: Place,
    signer: Signer,
}

enum Signer {
    /// A part of the query, without its question mark.
    Signature(String),
    Key(SharedKey),
}

/// What is asked for, before it is signed.
struct Asked<'a> {
    method: Method,
    /// Of the query, in the order of their names. There is nothing in them that would have to be encoded.
    parameters: &'a [(&'static str, &'a str)],
    headers: Vec<(&'static str, String)>,
    body_bytes: usize,
}

impl Blob {
    pub fn new(options: &Options, at: &ObjectAddress) -> io::Result<Blob> {
        let place = place(&at.url, &options.plain)?;
        let signer = match &at.access {
            Access::Signature(token) => Signer::Signature(token.trim_start_matches('?').to_owned()),
            Access::Key { name, secret } => Signer::Key(SharedKey::new(name, secret)?),
        };
        Ok(Blob { client: Client::new(options, at, place.is_plain)?, place, signer })
    }

    /// A request that is signed now.
    fn request(&self, asked: &Asked<'_>) -> Request {
        let mut headers = asked.headers.clone();
        headers.push(("x-ms-version", VERSION.to_owned()));
        let mut url = self.place.url();
        let mut mark = '?';
        for (name, value) in asked.parameters {
            let _ = write!(url, "{mark}{name}={value}");
            mark = '&';
        }
        match &self.signer {
            Signer::Signature(token) => {
                let _ = write!(url, "{mark}{token}");
            }
            Signer::Key(key) => {
                key.sign(&asked.method, &self.place.path, asked.parameters, &mut headers, asked.body_bytes)
            }
        }
        Request { method: asked.method.clone(), url, headers }
    }

    fn get(&self, method: Method, headers: Vec<(&'static str, String)>) -> Asked<'static> {
        Asked { method, parameters: &[], headers, body_bytes: 0 }
    }

    /// Whether the blob is what an upload has become.
    fn is_of(&self, upload: &str, waits: Waits<'_>) -> bool {
        let head = self.get(Method::HEAD, Vec::new());
        let found = self.client.ask_while(waits, &|| self.request(&head), &[], 0);
        found.is_ok_and(|answer| answer.header(UPLOAD) == Some(upload))
    }
}

impl Service for Blob {
    fn client(&self) -> &Client {
        &self.client
    }

    fn parts_max(&self) -> usize {
        BLOCKS_MAX
    }

    fn look(&self) -> io::Result<Found> {
        let head = self.get(Method::HEAD, Vec::new());
        self.client.ask(&|| self.request(&head), &[], 0)?.found()
    }

    fn read(&self, at: u64, bytes: usize, tag: Option<&str>) -> io::Result<Vec<u8>> {
        let mut headers = vec![("range", format!("bytes={at}-{}", at + bytes as u64 - 1))];
        headers.extend(tag.map(|tag| ("if-match", tag.to_owned())));
        let get = self.get(Method::GET, headers);
        Ok(self.client.ask(&|| self.request(&get), &[], bytes as u64)?.body)
    }

    fn begin(&self, replace: bool) -> io::Result<String> {
        match self.look() {
            Ok(_) if !replace => return Err(ErrorKind::AlreadyExists.into()),
            Ok(_) => {}
            // The container has to be there.
            Err(e) if e.kind() == ErrorKind::NotFound && code(&e) != Some("ContainerNotFound") => {}
            Err(e) => return Err(e),
        }
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(|e| io::Error::other(e.to_string()))?;
        Ok(format!("{:016x}", u64::from_le_bytes(name)))
    }

    /// A block's name is Base64 to the storage, and as long as those of all blocks of the blob: hexadecimal digits are both.
    fn send(&self, upload: &str, number: usize, part: &[u8], waits: Waits<'_>) -> io::Result<String> {
        let name = format!("{upload}{number:08x}");
        // There are no empty blocks: an empty blob has none.
        if part.is_empty() {
            return Ok(String::new());
        }
        let put = Asked {
            method: Method::PUT,
            parameters: &[("blockid", &name), ("comp", "block")],
            headers: Vec::new(),
            body_bytes: part.len(),
        };
        self.client.ask_while(waits, &|| self.request(&put), part, ANSWER_BYTES_MAX)?;
        Ok(name)
    }

    fn complete(&self, upload: &str, parts: &[String], _: u64, replace: bool) -> io::Result<()> {
        let mut body = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
        for name in parts.iter().filter(|name| !name.is_empty()) {
            let _ = write!(body, "<Latest>{name}</Latest>");
        }
        body.push_str("</BlockList>");
        let mut headers = vec![(UPLOAD, upload.to_owned())];
        headers.extend((!replace).then(|| ("if-none-match", "*".to_owned())));
        let put = Asked {
            method: Method::PUT,
            parameters: &[("comp", "blocklist")],
            headers,
            body_bytes: body.len(),
        };
        match self.client.ask(&|| self.request(&put), body.as_bytes(), ANSWER_BYTES_MAX) {
            Ok(_) => Ok(()),
            // Somebody else's, unless the answer to what was asked before was lost.
            Err(e) if e.kind() == ErrorKind::AlreadyExists && self.is_of(upload, &|| true) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// The list may have become the blob, and only its answers were lost.
    fn abort(&self, upload: &str, waits: Waits<'_>) -> io::Result<()> {
        if self.is_of(upload, waits) { self.remove(waits) } else { Ok(()) }
    }

    fn remove(&self, waits: Waits<'_>) -> io::Result<()> {
        let delete = self.get(Method::DELETE, Vec::new());
        self.client.ask_while(waits, &|| self.request(&delete), &[], ANSWER_BYTES_MAX).map(drop)
    }
}
