//! S3: requests signed in their URLs, multipart uploads.

mod address;

use crate::Options;
use crate::request::{Answer, Client, Request, Waits, element};
use crate::service::{Found, Service};
use address::{Place, place};
use keel_base::env::objects::{Access, ObjectAddress};
use rusty_s3::actions::{
    AbortMultipartUpload, CompleteMultipartUpload, CreateMultipartUpload, DeleteObject, GetObject,
    HeadObject, UploadPart,
};
use rusty_s3::{Credentials, Method, S3Action};
use std::io::{self, ErrorKind};
use std::time::Duration;
use ureq::http;

/// How long a signature is good for.
const SIGNED_FOR: Duration = Duration::from_secs(3600);
/// Parts of an object at most.
const PARTS_MAX: usize = 10_000;
/// Answers to what is asked beside the parts are short.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// An object's place and its key.
pub(crate) struct Object {
    client: Client,
    place: Place,
    credentials: Credentials,
}

impl Object {
    pub fn new(options: &Options, at: &ObjectAddress) -> io::Result<Object> {
        let Access::Key { name, secret } = &at.access else {
            return Err(io::Error::new(ErrorKind::Unsupported, "S3 storage is asked with a key"));
        };
        let place = place(&at.url, &at.region, &options.plain)?;
        let is_plain = place.bucket.base_url().scheme() == "http";
        let client = Client::new(options, at, is_plain)?;
        Ok(Object { client, place, credentials: Credentials::new(name.clone(), secret.clone()) })
    }

    fn credentials(&self) -> Option<&Credentials> {
        Some(&self.credentials)
    }

    fn ask<'a, A: S3Action<'a>>(&self, action: &A, body: &[u8], body_max: u64) -> io::Result<Answer> {
        self.client.ask(&|| signed(action), body, body_max)
    }

    fn head(&self) -> io::Result<Answer> {
        self.ask(&HeadObject::new(&self.place.bucket, self.credentials(), &self.place.key), &[], 0)
    }

    fn is_there(&self, length: u64) -> bool {
        self.look().is_ok_and(|found| found.length == length)
    }
}

/// A request whose signature begins now.
fn signed<'a, A: S3Action<'a>>(action: &A) -> Request {
    let method = match A::METHOD {
        Method::Head => http::Method::HEAD,
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Delete => http::Method::DELETE,
    };
    Request { method, url: action.sign(SIGNED_FOR).into(), headers: Vec::new() }
}

impl Service for Object {
    fn client(&self) -> &Client {
        &self.client
    }

    fn parts_max(&self) -> usize {
        PARTS_MAX
    }

    fn look(&self) -> io::Result<Found> {
        self.head()?.found()
    }

    fn read(&self, at: u64, bytes: usize, tag: Option<&str>) -> io::Result<Vec<u8>> {
        let get = GetObject::new(&self.place.bucket, self.credentials(), &self.place.key);
        let made = || {
            let mut request = signed(&get);
            request.headers.push(("range", format!("bytes={at}-{}", at + bytes as u64 - 1)));
            request.headers.extend(tag.map(|tag| ("if-match", tag.to_owned())));
            request
        };
        Ok(self.client.ask(&made, &[], bytes as u64)?.body)
    }

    fn begin(&self, replace: bool) -> io::Result<String> {
        match self.head() {
            Ok(_) if !replace => return Err(ErrorKind::AlreadyExists.into()),
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            // Who may only write is not told what is there: with FORMAT nobody asks.
            Err(e) if e.kind() == ErrorKind::PermissionDenied && replace => {}
            Err(e) => return Err(e),
        }
        let create = CreateMultipartUpload::new(&self.place.bucket, self.credentials(), &self.place.key);
        let answer = self.ask(&create, &[], ANSWER_BYTES_MAX)?;
        let text = String::from_utf8_lossy(&answer.body);
        // Not every storage names the namespace that the standard's reader asks for.
        let id = element(&text, "UploadId").map(str::to_owned);
        id.ok_or_else(|| io::Error::new(ErrorKind::Unsupported, "What answers is no S3 storage."))
    }

    fn send(&self, upload: &str, number: usize, part: &[u8], waits: Waits<'_>) -> io::Result<String> {
        let number = u16::try_from(number).map_err(io::Error::other)?;
        let put = UploadPart::new(&self.place.bucket, self.credentials(), &self.place.key, number, upload);
        let answer = self.client.ask_while(waits, &|| signed(&put), part, ANSWER_BYTES_MAX)?;
        let tag = answer.header("etag").map(str::to_owned);
        tag.ok_or_else(|| io::Error::other("the storage does not name the part"))
    }

    fn complete(&self, upload: &str, parts: &[String], length: u64, _: bool) -> io::Result<()> {
        let (place, parts) = (&self.place, parts.iter().map(String::as_str));
        let complete =
            CompleteMultipartUpload::new(&place.bucket, self.credentials(), &place.key, upload, parts);
        let body = complete.clone().body();
        match self.ask(&complete, body.as_bytes(), ANSWER_BYTES_MAX) {
            // It may be said behind a status that it went well.
            Ok(Answer { body, .. }) => match element(&String::from_utf8_lossy(&body), "Code") {
                Some(code) => Err(io::Error::other(format!("the parts did not become an object: {code}"))),
                None => Ok(()),
            },
            // Its answer was lost, and then there is no such upload any more.
            Err(e) if e.kind() == ErrorKind::NotFound && self.is_there(length) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// What cannot be taken away stays for the storage's own rules about uploads that nobody ends.
    fn abort(&self, upload: &str, waits: Waits<'_>) -> io::Result<()> {
        let abort =
            AbortMultipartUpload::new(&self.place.bucket, self.credentials(), &self.place.key, upload);
        self.client.ask_while(waits, &|| signed(&abort), &[], ANSWER_BYTES_MAX).map(drop)
    }

    fn remove(&self, waits: Waits<'_>) -> io::Result<()> {
        let delete = DeleteObject::new(&self.place.bucket, self.credentials(), &self.place.key);
        self.client.ask_while(waits, &|| signed(&delete), &[], ANSWER_BYTES_MAX).map(drop)
    }
}
