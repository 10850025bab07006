//! Making a connection: TCP, TLS, then one hello in each direction.
//!
//! ```text
//!   dialing                                accepting
//!   connect ──────────────────────────────► accept
//!   TLS 1.3, both show certificates ◄─────► (possession of keys proved)
//!   is it whom I expect?
//!   hello(instance, versions, proof?) ─────► trusted, or the proof is good? versions fit?
//!   hello ◄──────────────────────────────── hello, or bye(why not)
//!   product ◄─────────────────────────────► product, where both know that frame
//! ```
//! The dialing side says nothing before it has checked the certificate. The accepting side reads one hello of a stranger
//! and nothing else.

use crate::error::ConnectError;
use crate::identity::Fingerprint;
use crate::link::{Link, LinkReader, ReadError};
use crate::tls::{self, Tls};
use keel_transport::limits::{VERSION, VERSION_MIN, VERSION_PRODUCT};
use keel_transport::{Frame, Hello, Purpose};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a machine may take to answer the first packet: long enough for one that was lost to be sent again, short enough
/// that one that is away is not waited for.
pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(1500);
/// How long each further step of making a connection may take.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(5);

/// Codes of [`Frame::Bye`].
pub mod bye {
    /// The certificate is not trusted.
    pub const UNTRUSTED: u16 = 1;
    /// No version in common.
    pub const VERSION: u16 = 2;
    /// The endpoint is disabled.
    pub const DISABLED: u16 = 3;
    /// The join secret is not good.
    pub const JOIN_REFUSED: u16 = 4;
    /// The instance stops, or its endpoint does.
    pub const STOPPING: u16 = 5;
    /// Two instances with one id, or an instance that talks to itself.
    pub const SELF: u16 = 6;
    /// A newer connection between the two took over.
    pub const REPLACED: u16 = 7;
    /// The peer was silent too long, or broke the protocol.
    pub const GIVEN_UP: u16 = 8;
    /// Another instance has the name already.
    pub const NAME_TAKEN: u16 = 9;
}

/// What this side says of itself.
#[derive(Clone, Debug)]
pub struct Own {
    /// Instance id.
    pub instance: [u8; 16],
    /// Random per start.
    pub boot: u64,
    /// Server name.
    pub name: String,
    /// `TCP://host:port` of its endpoint, or empty.
    pub url: String,
    /// It votes in the cluster and does nothing else.
    pub witness: bool,
    /// The product's version.
    pub product: String,
}

impl Own {
    fn hello(&self, purpose: Purpose, proof: [u8; 32]) -> Frame {
        Frame::Hello(Hello {
            version_min: VERSION_MIN,
            version_max: VERSION,
            purpose,
            instance: self.instance,
            boot: self.boot,
            proof,
            name: self.name.clone(),
            url: self.url.clone(),
        })
    }
}

/// A connection that both sides have agreed to.
pub struct Met {
    /// The connection.
    pub link: Link,
    /// Its reading half, with what has come in already.
    pub reader: LinkReader,
    /// Who is on the other side.
    pub peer: Hello,
    /// Which version of the product it runs; `None` for one from before that was told.
    pub product: Option<String>,
    /// With which certificate.
    pub fingerprint: Fingerprint,
}

impl From<ReadError> for ConnectError {
    fn from(error: ReadError) -> ConnectError {
        match error {
            ReadError::Tls(e) => ConnectError::Tls(e.to_string()),
            other => ConnectError::Refused(other.to_string()),
        }
    }
}

/// The `host:port` of an endpoint address (`TCP://host:port`, in any case of letters).
#[must_use]
pub fn host_and_port(url: &str) -> Option<&str> {
    let rest = url.get(..6).filter(|scheme| scheme.eq_ignore_ascii_case("tcp://")).map(|_| &url[6..])?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = rest.rsplit_once(':')?;
    (!host.is_empty() && port.parse::<u16>().is_ok_and(|p| p != 0)).then_some(rest)
}

fn unreachable(address: &str, what: impl ToString) -> ConnectError {
    ConnectError::Unreachable { address: address.to_owned(), what: what.to_string() }
}

fn open(address: &str) -> Result<TcpStream, ConnectError> {
    let mut last = None;
    for resolved in address.to_socket_addrs().map_err(|e| unreachable(address, e))? {
        match TcpStream::connect_timeout(&resolved, CONNECT_TIMEOUT) {
            Ok(socket) => return Ok(socket),
            Err(e) => last = Some(e),
        }
    }
    Err(last.map_or_else(|| unreachable(address, "no address"), |e| unreachable(address, e)))
}

/// Brings a socket through TLS. Returns the link and the certificate on the other side.
fn secure(
    mut socket: TcpStream,
    tls: &Tls,
    dialing: bool,
) -> Result<(Link, LinkReader, Fingerprint), ConnectError> {
    let failed = |e: std::io::Error| ConnectError::Tls(e.to_string());
    socket.set_read_timeout(Some(STEP_TIMEOUT)).map_err(failed)?;
    socket.set_write_timeout(Some(STEP_TIMEOUT)).map_err(failed)?;
    socket.set_nodelay(true).map_err(failed)?;
    let mut connection = tls.start(dialing)?;
    while connection.is_handshaking() || connection.wants_write() {
        connection.complete_io(&mut socket).map_err(failed)?;
    }
    let fingerprint = tls::peer_fingerprint(&connection)
        .ok_or_else(|| ConnectError::Tls("the peer showed no certificate".into()))?;
    let link = Link::new(socket, connection).map_err(failed)?;
    let mut reader = LinkReader::default();
    reader.take_early(&link)?;
    Ok((link, reader, fingerprint))
}

fn send(link: &Link, frame: &Frame) -> Result<(), ConnectError> {
    link.send(&frame.to_bytes()).map_err(|e| ConnectError::Refused(e.to_string()))
}

/// Refuses with a reason; the connection is of no further use.
fn refuse(link: &Link, code: u16, error: ConnectError) -> ConnectError {
    // The peer may have gone already; then there is nobody to tell.
    let _ = send(link, &Frame::Bye { code, text: error.to_string() });
    link.close();
    error
}

fn check_version(hello: &Hello) -> Result<(), ConnectError> {
    if hello.version_min <= VERSION && VERSION_MIN <= hello.version_max {
        return Ok(());
    }
    Err(ConnectError::Version {
        peer_min: hello.version_min,
        peer_max: hello.version_max,
        own_min: VERSION_MIN,
        own_max: VERSION,
    })
}

/// Dials. `proof` is made once the other side's certificate is known and has been accepted by `expected`.
pub fn dial(
    address: &str,
    tls: &Tls,
    own: &Own,
    expected: impl FnOnce(Fingerprint) -> bool,
    proof: Option<&dyn Fn(Fingerprint) -> [u8; 32]>,
) -> Result<Met, ConnectError> {
    let (link, mut reader, fingerprint) = secure(open(address)?, tls, true)?;
    if !expected(fingerprint) {
        link.close();
        return Err(ConnectError::PeerUntrusted(address.to_owned()));
    }
    let hello = match proof {
        Some(prove) if own.witness => own.hello(Purpose::JoinAsWitness, prove(fingerprint)),
        Some(prove) => own.hello(Purpose::Join, prove(fingerprint)),
        None => own.hello(Purpose::Member, [0; 32]),
    };
    send(&link, &hello)?;
    let peer = match reader.next(&link)? {
        Frame::Hello(peer) => peer,
        Frame::Bye { code, text } => return Err(refused(code, text)),
        _ => return Err(ConnectError::Refused("the peer did not say hello".into())),
    };
    check_version(&peer).map_err(|e| refuse(&link, bye::VERSION, e))?;
    let product = products(&link, &mut reader, own, &peer)?;
    link.without_time_limit();
    Ok(Met { link, reader, peer, product, fingerprint })
}

/// Both sides tell what they run.
fn products(
    link: &Link,
    reader: &mut LinkReader,
    own: &Own,
    peer: &Hello,
) -> Result<Option<String>, ConnectError> {
    if peer.version_max < VERSION_PRODUCT {
        return Ok(None);
    }
    send(link, &Frame::Product(own.product.clone()))?;
    match reader.next(link)? {
        Frame::Product(product) => Ok(Some(product)),
        Frame::Bye { code, text } => Err(refused(code, text)),
        _ => Err(ConnectError::Refused("the peer did not say what it runs".into())),
    }
}

/// What the other side's good-bye says.
pub(crate) fn refused(code: u16, text: String) -> ConnectError {
    match code {
        bye::UNTRUSTED => ConnectError::Untrusted,
        bye::DISABLED => ConnectError::Disabled,
        bye::JOIN_REFUSED => ConnectError::JoinRefused,
        bye::SELF => ConnectError::Itself,
        _ => ConnectError::Refused(text),
    }
}

/// What the accepting side thinks of a stranger's hello.
pub enum Verdict {
    /// Welcome.
    Welcome,
    /// No, with the code and the reason.
    Refuse(u16, ConnectError),
}

/// Answers a dialing peer. `judge` sees its certificate and hello.
pub fn answer(
    socket: TcpStream,
    tls: &Tls,
    own: &Own,
    judge: impl FnOnce(Fingerprint, &Hello) -> Verdict,
) -> Result<Met, ConnectError> {
    let (link, mut reader, fingerprint) = secure(socket, tls, false)?;
    let Frame::Hello(peer) = reader.next(&link)? else {
        return Err(refuse(&link, bye::GIVEN_UP, ConnectError::Refused("the peer did not say hello".into())));
    };
    check_version(&peer).map_err(|e| refuse(&link, bye::VERSION, e))?;
    match judge(fingerprint, &peer) {
        Verdict::Welcome => {}
        Verdict::Refuse(code, error) => return Err(refuse(&link, code, error)),
    }
    send(&link, &own.hello(peer.purpose, [0; 32]))?;
    let product = products(&link, &mut reader, own, &peer)?;
    link.without_time_limit();
    Ok(Met { link, reader, peer, product, fingerprint })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Certificate;
    use crate::link::Sent;
    use std::net::TcpListener;
    use std::thread;

    fn own(n: u8) -> Own {
        let (name, product) = (format!("S{n}"), format!("0.{n}.0"));
        Own { instance: [n; 16], boot: 1, name, url: String::new(), witness: false, product }
    }

    fn tls(n: u8) -> Tls {
        Tls::new(&Certificate::generate(&format!("S{n}")).unwrap()).unwrap()
    }

    type Judged = (Result<Met, ConnectError>, Result<Met, ConnectError>);

    fn meet(
        expected: impl FnOnce(Fingerprint) -> bool,
        judge: impl FnOnce(Fingerprint, &Hello) -> Verdict + Send + 'static,
    ) -> Judged {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let accepting = thread::spawn(move || answer(listener.accept().unwrap().0, &tls(2), &own(2), judge));
        let dialed = dial(&address, &tls(1), &own(1), expected, None);
        (dialed, accepting.join().unwrap())
    }

    #[test]
    fn two_that_trust_each_other_meet_and_talk() {
        let (dialed, accepted) = meet(|_| true, |_, _| Verdict::Welcome);
        let (dialed, mut accepted) = (dialed.unwrap(), accepted.unwrap());
        assert_eq!(dialed.peer.instance, [2; 16]);
        assert_eq!(accepted.peer.instance, [1; 16]);
        assert_eq!((dialed.product.as_deref(), accepted.product.as_deref()), (Some("0.2.0"), Some("0.1.0")));
        let frame = Frame::Control(vec![7; 300_000]);
        let bytes = frame.to_bytes();
        let sender = thread::spawn(move || dialed.link.send(&bytes).map(|()| dialed));
        assert_eq!(accepted.reader.next(&accepted.link).unwrap(), frame);
        sender.join().unwrap().unwrap();
    }

    #[test]
    fn what_the_system_knows_of_a_connection_needs_no_reader() {
        let (dialed, accepted) = meet(|_| true, |_, _| Verdict::Welcome);
        let (dialed, mut accepted) = (dialed.unwrap(), accepted.unwrap());
        let signs = || accepted.link.vital_signs().unwrap();
        assert!(signs().open);
        let beat = Frame::Heartbeat(keel_transport::Heartbeat::default());
        assert_eq!(dialed.link.send_idle(&beat.to_bytes()).unwrap(), Sent::All);
        while !signs().unread {
            thread::yield_now();
        }
        assert!(signs().open);
        assert_eq!(accepted.reader.next(&accepted.link).unwrap(), beat);
        assert!(!signs().unread);
        {
            let _writing = dialed.link.begin();
            assert_eq!(dialed.link.send_idle(&beat.to_bytes()).unwrap(), Sent::Busy);
        }
        dialed.link.close();
        while signs().open {
            thread::yield_now();
        }
    }

    #[test]
    fn the_dialing_side_says_nothing_to_a_stranger() {
        let (dialed, accepted) = meet(|_| false, |_, _| Verdict::Welcome);
        assert!(matches!(dialed, Err(ConnectError::PeerUntrusted(_))));
        assert!(accepted.is_err());
    }

    #[test]
    fn the_dialing_side_learns_why_it_was_refused() {
        let (dialed, _) = meet(|_| true, |_, _| Verdict::Refuse(bye::UNTRUSTED, ConnectError::Untrusted));
        assert_eq!(dialed.err(), Some(ConnectError::Untrusted));
        let (dialed, _) = meet(|_| true, |_, _| Verdict::Refuse(bye::DISABLED, ConnectError::Disabled));
        assert_eq!(dialed.err().map(|e| e.number()), Some(35204));
    }

    #[test]
    fn nobody_there_is_its_own_error() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let error = dial(&free, &tls(1), &own(1), |_| true, None).err().unwrap();
        assert_eq!(error.number(), 35201);
    }

    #[test]
    fn endpoint_addresses() {
        assert_eq!(host_and_port("TCP://db-1:5022"), Some("db-1:5022"));
        assert_eq!(host_and_port("tcp://[::1]:5022/"), Some("[::1]:5022"));
        for bad in ["", "tcp", "TCP://", "TCP://a", "TCP://:1", "TCP://a:0", "TCP://a:99999", "http://a:1"] {
            assert_eq!(host_and_port(bad), None, "{bad}");
        }
    }
}
