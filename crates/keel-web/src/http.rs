//! Sockets, TLS, and what every answer has in common.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use keel_server::Front;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::pages::CONTENT_SECURITY_POLICY;

/// Connections at one time; more wait to be accepted.
const CONNECTIONS_MAX: usize = 256;
/// A TLS handshake, and the head of a request, take no longer.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// A request and its answer take no longer; a failover is the longest.
const REQUEST_MAX: Duration = Duration::from_secs(60);
/// Bodies are a login or a few names.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// The client's address.
#[derive(Clone, Copy)]
pub struct Peer(pub IpAddr);

/// A bound socket that waits for [`serve`].
pub struct Bound {
    listener: std::net::TcpListener,
    address: SocketAddr,
    tls: bool,
}

impl Bound {
    /// Binds; HTTPS where others could listen in, or where it is asked for.
    pub fn new(address: &str, tls: bool) -> Result<Bound> {
        let bind = || {
            let listener = std::net::TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok::<_, std::io::Error>((listener, address))
        };
        let (listener, bound) =
            bind().with_context(|| format!("the dashboard cannot listen on {address}"))?;
        Ok(Bound { listener, address: bound, tls: tls || !bound.ip().is_loopback() })
    }

    /// Address and port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it speaks HTTPS.
    pub fn tls(&self) -> bool {
        self.tls
    }
}

/// Serves until dropped.
pub async fn serve(bound: Bound, front: Front, router: Router) -> Result<()> {
    let listener = TcpListener::from_std(bound.listener)?;
    let router = router.layer(DefaultBodyLimit::max(BODY_BYTES_MAX)).layer(from_fn(dress));
    let acceptor = bound.tls.then(|| TlsAcceptor::from(front.https()));
    let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let permit = Arc::clone(&free).acquire_owned().await?;
        match listener.accept().await {
            Ok((socket, peer)) => {
                let service = router.clone().layer(Extension(Peer(peer.ip())));
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    connection(socket, acceptor, service).await;
                    drop(permit);
                });
            }
            Err(e) => {
                front.log("Dashboard", &format!("A connection could not be accepted: {e}"));
                // Out of descriptors, usually: trying again at once would only burn the processor.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// A connection that fails is its client's business.
async fn connection(socket: TcpStream, acceptor: Option<TlsAcceptor>, service: Router) {
    match acceptor {
        None => requests(socket, service).await,
        Some(acceptor) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_MAX, acceptor.accept(socket)).await {
                requests(stream, service).await;
            }
        }
    }
}

async fn requests(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, service: Router) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    // Clients go whenever they like.
    let _ = served.await;
}

/// Bounds the time of every request and puts the headers on that keep browsers from doing more than they should.
async fn dress(request: Request, next: Next) -> Response {
    let answered = tokio::time::timeout(REQUEST_MAX, next.run(request)).await;
    let mut response = answered.unwrap_or_else(|_| StatusCode::SERVICE_UNAVAILABLE.into_response());
    let headers = response.headers_mut();
    let fixed: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The value of a cookie.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|v| v.to_str().ok());
    all.flat_map(|v| v.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(n, _)| *n == name)
        .map(|(_, v)| v)
}

/// Whether the request was sent to this machine by number or as `localhost`. A page of another site whose name was made to
/// point here (DNS rebinding) says its own name.
pub fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|h| h.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let sent = headers(header::COOKIE, "a=1; keel_80=x=y;keel_8=z");
        assert_eq!(cookie(&sent, "keel_8"), Some("z"));
        assert_eq!(cookie(&sent, "keel_80"), Some("x=y"));
        assert_eq!(cookie(&sent, "keel"), None);
    }

    #[test]
    fn rebound_names_are_noticed() {
        for good in ["127.0.0.1:80", "[::1]:80", "localhost", "LOCALHOST:1", "[::1]"] {
            assert!(names_this_machine(&headers(header::HOST, good)), "{good}");
        }
        for bad in ["evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example:1"] {
            assert!(!names_this_machine(&headers(header::HOST, bad)), "{bad}");
        }
        assert!(!names_this_machine(&HeaderMap::new()));
    }
}
