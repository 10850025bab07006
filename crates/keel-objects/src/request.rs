//! Requests: sent, sent again, and what went wrong in words.

use crate::Options;
use crate::service::Found;
use keel_base::env::objects::ObjectAddress;
use std::fmt;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ureq::Agent;
use ureq::http::{self, HeaderMap, Method};
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

const CONNECT_WITHIN: Duration = Duration::from_secs(15);
/// Nothing can be sent for so long: the connection is given up.
const STANDS_STILL: Duration = Duration::from_secs(120);
/// Nothing comes for so long: a storage may take its time, most of all over putting parts together.
const ANSWERS_WITHIN: Duration = Duration::from_secs(300);
/// How often a request is sent before it has failed.
const TIMES: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// How often who waits is asked whether he still does.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Of an answer that says what is wrong.
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// Who asks for one object.
pub(crate) struct Client {
    agent: Agent,
    pub cancelled: Arc<dyn Fn() -> bool + Send + Sync>,
    first_wait: Duration,
}

/// What is asked for.
pub(crate) struct Request {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
}

/// An answer that is not an error.
pub(crate) struct Answer {
    headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The object that it describes.
    pub fn found(&self) -> io::Result<Found> {
        let length = self.header("content-length").and_then(|n| n.parse().ok());
        let length = length.ok_or_else(|| io::Error::other("the storage does not say how long it is"))?;
        Ok(Found { length, tag: self.header("etag").map(str::to_owned) })
    }
}

/// An answer that is an error, as the storage names it and in words.
#[derive(Debug)]
struct Refusal {
    code: String,
    text: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Refusal {}

/// What a storage calls the error that it answered.
pub(crate) fn code(e: &io::Error) -> Option<&str> {
    e.get_ref()?.downcast_ref::<Refusal>().map(|refusal| refusal.code.as_str())
}

/// What went wrong with one request.
struct Failure {
    error: io::Error,
    /// It may pass.
    again: bool,
}

/// Whether somebody is still waiting.
pub(crate) type Waits<'a> = &'a dyn Fn() -> bool;
/// Makes a request anew each time that it is sent: signatures have a time.
pub(crate) type Made<'a> = &'a dyn Fn() -> Request;

impl Client {
    pub fn new(options: &Options, at: &ObjectAddress, is_plain: bool) -> io::Result<Client> {
        let tls = if is_plain { TlsConfig::default() } else { tls(options.certificates.as_deref())? };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent("evenkeel")
            .timeout_connect(Some(CONNECT_WITHIN))
            .timeout_per_read(Some(ANSWERS_WITHIN))
            .timeout_per_write(Some(STANDS_STILL))
            .timeout_recv_response(Some(ANSWERS_WITHIN))
            .tls_config(tls);
        Ok(Client {
            agent: config.build().into(),
            cancelled: Arc::clone(&at.cancelled),
            first_wait: if options.first_wait.is_zero() { FIRST_WAIT } else { options.first_wait },
        })
    }

    /// Sends a request until it is answered, or has failed often enough. An answer has at most `body_max` bytes.
    pub fn ask(&self, made: Made<'_>, body: &[u8], body_max: u64) -> io::Result<Answer> {
        self.ask_while(&|| !(self.cancelled)(), made, body, body_max)
    }

    /// The same for as long as somebody waits.
    pub fn ask_while(
        &self,
        waits: Waits<'_>,
        made: Made<'_>,
        body: &[u8],
        body_max: u64,
    ) -> io::Result<Answer> {
        let mut wait = self.first_wait;
        for time in 1.. {
            match self.send(made(), body, body_max) {
                Ok(answer) => return Ok(answer),
                Err(failure) if !failure.again || time >= TIMES => return Err(failure.error),
                Err(failure) => {
                    if !sleep(wait, waits) {
                        return Err(failure.error);
                    }
                    wait *= 2;
                }
            }
        }
        unreachable!("the loop has no end")
    }

    fn send(&self, asked: Request, body: &[u8], body_max: u64) -> Result<Answer, Failure> {
        let has_body = asked.method == Method::PUT || asked.method == Method::POST;
        let mut request = http::Request::builder().method(asked.method).uri(asked.url);
        for (name, value) in asked.headers {
            request = request.header(name, value);
        }
        let unsendable = |e: http::Error| Failure { error: io::Error::other(e), again: false };
        let sent = if has_body {
            self.agent.run(request.body(body).map_err(unsendable)?)
        } else {
            self.agent.run(request.body(()).map_err(unsendable)?)
        };
        let mut response = sent.map_err(not_sent)?;
        let status = response.status().as_u16();
        let (headers, limit) =
            (response.headers().clone(), if status < 300 { body_max } else { TEXT_BYTES_MAX });
        let mut bytes = Vec::new();
        let read = response.body_mut().as_reader().take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| Failure { error, again: true })?;
        match status {
            200..=299 if bytes.len() as u64 <= limit => Ok(Answer { headers, body: bytes }),
            200..=299 => Err(Failure {
                error: io::Error::other("the answer is longer than was asked for"),
                again: false,
            }),
            _ => Err(refused(status, &headers, &String::from_utf8_lossy(&bytes))),
        }
    }
}

/// Waits, as long as somebody else does: false when nobody does any more.
fn sleep(time: Duration, waits: Waits<'_>) -> bool {
    let until = Instant::now() + time;
    loop {
        if !waits() {
            return false;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(LOOK_EVERY));
    }
}

/// The text of an element of an answer.
pub(crate) fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}

/// What an answer that is an error says.
fn refused(status: u16, headers: &HeaderMap, body: &str) -> Failure {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let code = element(body, "Code").or_else(|| header("x-ms-error-code")).unwrap_or_default();
    // Of another region: Amazon says 301, and 400 to what was signed for the wrong one and has no body to say so.
    let region = header("x-amz-bucket-region").filter(|_| status <= 400);
    let kind = match status {
        400 if region.is_some() => ErrorKind::Unsupported,
        401 | 403 => ErrorKind::PermissionDenied,
        404 => ErrorKind::NotFound,
        409 if code == "BlobAlreadyExists" => ErrorKind::AlreadyExists,
        // Of another region, or a server that speaks something else.
        300..=399 => ErrorKind::Unsupported,
        408 => ErrorKind::TimedOut,
        _ => ErrorKind::Other,
    };
    let mut text = format!("HTTP {status}");
    if !code.is_empty() {
        text = format!("{text} {code}");
    }
    // Behind its first line Azure has the request's number and time.
    let message = element(body, "Message").and_then(|message| message.lines().next());
    if let Some(message) = message.filter(|m| !m.is_empty()) {
        text = format!("{text}: {message}");
    }
    if let Some(region) = region {
        text = format!("{text} (the bucket's region is {region})");
    }
    let again = matches!(status, 408 | 429 | 500 | 502 | 503 | 504) || code == "RequestTimeout";
    let error = io::Error::new(kind, Refusal { code: code.to_owned(), text });
    Failure { error, again }
}

fn not_sent(e: ureq::Error) -> Failure {
    let again = matches!(
        e,
        ureq::Error::Io(_)
            | ureq::Error::Timeout(_)
            | ureq::Error::ConnectionFailed
            | ureq::Error::HostNotFound
            | ureq::Error::Protocol(_)
    );
    let error = match e {
        ureq::Error::Timeout(_) => io::Error::new(ErrorKind::TimedOut, e.to_string()),
        // The certificate is not trusted, say: trying again helps nobody.
        ureq::Error::Io(e) if e.kind() == ErrorKind::InvalidData => {
            return Failure { error: e, again: false };
        }
        ureq::Error::Io(e) => e,
        e => io::Error::other(e.to_string()),
    };
    Failure { error, again }
}

/// Trust in the system's roots and what lies in a directory.
fn tls(directory: Option<&Path>) -> io::Result<TlsConfig> {
    let trusted = crate::trust::certificates(directory)?;
    let roots: Vec<_> = trusted.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}
