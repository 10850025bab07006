//! The connection of a script: where to, and one batch at a time.

use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use keel_gss::Initiator;
use keel_tds::client::{
    Client, ClientEncryption, ClientError, ConnectOptions, trust_any_certificate, trust_roots,
};
use keel_tds::login::{Login, OptionFlags1, OptionFlags2, TypeFlags};
use keel_tds::token::{ServerMessage, Token};
use keel_tds::wire::WireError;

use super::print::Printer;

const DEFAULT_PORT: u16 = 1433;
/// How often a waiting statement looks for Ctrl-C and its time-out.
const POLL: Duration = Duration::from_millis(100);
/// Routed logins followed before it is called a circle.
const ROUTES_MAX: usize = 3;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C stops the running statement instead of the program.
pub fn catch_interrupts() {
    extern "C" fn interrupted(_: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    let handler: extern "C" fn(libc::c_int) = interrupted;
    // SAFETY: the handler only stores to an atomic, which is allowed in signal handlers.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}

/// `-N`
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Encrypt {
    /// TLS before the first packet
    #[value(name = "s", alias = "strict")]
    Strict,
    /// Everything is encrypted
    #[value(name = "m", alias = "mandatory", alias = "true", alias = "yes")]
    Mandatory,
    /// The login only
    #[value(name = "o", alias = "optional", alias = "false", alias = "no")]
    Optional,
}

/// `-K`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Intent {
    /// May be sent to a secondary
    #[value(name = "ReadOnly", alias = "readonly")]
    ReadOnly,
    /// The primary
    #[value(name = "ReadWrite", alias = "readwrite")]
    ReadWrite,
}

/// Where and how to connect.
#[derive(Clone, Debug)]
pub struct Target {
    pub server: String,
    pub user: String,
    pub password: String,
    /// By Kerberos, with the tickets of whoever runs this, instead of name and password.
    pub trusted: bool,
    /// What the server is called there; `MSSQLSvc/HOST:PORT` when empty.
    pub server_spn: String,
    pub database: String,
    pub trust: bool,
    pub encrypt: Encrypt,
    pub server_certificate: Option<PathBuf>,
    pub intent: Intent,
    pub login_timeout: u64,
    pub query_timeout: u64,
    pub packet_size: u32,
    pub workstation: String,
}

/// An open connection.
pub struct Connection {
    client: Client<TcpStream>,
    /// What it was opened with, for `:CONNECT` to start from.
    pub target: Target,
}

/// What a batch came to.
#[derive(Default)]
pub struct Outcome {
    /// Highest severity of its messages.
    pub severity: u8,
    /// First value of its first row, as a number.
    pub first_value: Option<i64>,
}

/// What to do about a server that made its certificate itself, as ours does when it starts for the first time.
fn advice(error: &ClientError) -> &'static str {
    match error {
        ClientError::Wire(WireError::Tls(rustls::Error::InvalidCertificate(_))) => {
            " (-C trusts it all the same)"
        }
        _ => "",
    }
}

impl Connection {
    /// Connects and logs in, following routing.
    pub fn open(target: Target) -> Result<Connection> {
        let (mut host, mut port) = host_and_port(&target.server)?;
        for _ in 0..ROUTES_MAX {
            let options = options(&target, &host)?;
            let io = connect(&host, port, Duration::from_secs(target.login_timeout))?;
            match log_in(io, &options, &target, &format!("MSSQLSvc/{host}:{port}")) {
                Ok(mut client) => {
                    client.io().set_read_timeout(Some(POLL))?;
                    return Ok(Connection { client, target });
                }
                Err(ClientError::Routed { host: to, port: at }) => (host, port) = (to, at),
                Err(ClientError::Login(messages)) => bail!(login_text(&messages)),
                Err(e) => bail!("cannot log in to {}: {e}{}", target.server, advice(&e)),
            }
        }
        bail!("{} routes in circles", target.server)
    }

    /// Runs a batch and prints what comes back.
    pub fn batch(&mut self, sql: &str, printer: &mut Printer) -> Result<Outcome> {
        INTERRUPTED.store(false, Ordering::Relaxed);
        self.client.batch(sql)?;
        let started = Instant::now();
        let mut outcome = Outcome::default();
        let mut seen_row = false;
        loop {
            let token = match self.client.next_token() {
                Ok(Some(token)) => token,
                Ok(None) => return Ok(outcome),
                Err(ClientError::Wire(e)) if e.is_would_block() => {
                    if self.should_stop(started) {
                        self.stop()?;
                        printer.note("The statement was stopped.")?;
                        return Ok(outcome);
                    }
                    continue;
                }
                Err(e) => return Err(e.into()),
            };
            match &token {
                Token::Message(m) => outcome.severity = outcome.severity.max(m.class),
                Token::Row(row) if !seen_row => {
                    seen_row = true;
                    outcome.first_value = row
                        .first()
                        .zip(self.client.columns().first())
                        .and_then(|(v, c)| keel_tds::display::format(v, &c.ty).parse().ok());
                }
                _ => {}
            }
            printer.token(&token)?;
        }
    }

    fn should_stop(&self, started: Instant) -> bool {
        let limit = self.target.query_timeout;
        INTERRUPTED.swap(false, Ordering::Relaxed) || (limit > 0 && started.elapsed().as_secs() >= limit)
    }

    fn stop(&mut self) -> Result<()> {
        self.client.attention()?;
        self.client.io().set_read_timeout(None)?;
        self.client.drain_attention()?;
        self.client.io().set_read_timeout(Some(POLL))?;
        Ok(())
    }
}

/// Logs in by name and password or, of whoever is trusted, by Kerberos.
fn log_in(
    io: TcpStream,
    options: &ConnectOptions,
    target: &Target,
    spn: &str,
) -> std::result::Result<Client<TcpStream>, ClientError> {
    if !target.trusted {
        return Client::connect(io, options);
    }
    let spn = if target.server_spn.is_empty() { spn } else { &target.server_spn };
    let mut initiator = Initiator::new(spn).map_err(std::io::Error::other)?;
    Client::connect_integrated(io, options, &mut |token| initiator.step(token).map_err(std::io::Error::other))
}

fn login_text(messages: &[ServerMessage]) -> String {
    let lines: Vec<String> =
        messages.iter().filter(|m| m.is_error).map(|m| format!("Error {}: {}", m.number, m.text)).collect();
    lines.join("\n")
}

/// `host`, `host,port`, `host:port`, `[v6]:port`, with an optional `tcp:` before it.
fn host_and_port(server: &str) -> Result<(String, u16)> {
    let server = server.strip_prefix("tcp:").unwrap_or(server);
    let split = match server.rsplit_once([',', ':']) {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => Some((host, port)),
        _ => None,
    };
    let (host, port) = match split {
        Some((host, port)) => (host, port.trim().parse().with_context(|| format!("{port} is not a port"))?),
        None => (server, DEFAULT_PORT),
    };
    let host = host.split('\\').next().unwrap_or(host).trim_matches(['[', ']']);
    let host = if host == "." || host.eq_ignore_ascii_case("(local)") { "127.0.0.1" } else { host };
    Ok((host.to_owned(), port))
}

fn connect(host: &str, port: u16, timeout: Duration) -> Result<TcpStream> {
    let addresses = (host, port).to_socket_addrs().with_context(|| format!("{host} has no address"))?;
    let mut last = anyhow!("{host} has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(io) => {
                io.set_nodelay(true)?;
                io.set_read_timeout(Some(timeout))?;
                return Ok(io);
            }
            Err(e) => last = anyhow!(e).context(format!("cannot connect to {address}")),
        }
    }
    Err(last)
}

fn options(target: &Target, host: &str) -> Result<ConnectOptions> {
    let encryption = match target.encrypt {
        Encrypt::Strict => ClientEncryption::Strict,
        Encrypt::Mandatory => ClientEncryption::On,
        Encrypt::Optional => ClientEncryption::LoginOnly,
    };
    let tls = if target.trust || matches!(target.encrypt, Encrypt::Optional) {
        trust_any_certificate()?
    } else {
        trusted_roots(target.server_certificate.as_deref())?
    };
    let login = Login {
        packet_size: target.packet_size,
        client_pid: std::process::id(),
        flags1: OptionFlags1::USE_DB | OptionFlags1::DATABASE_FATAL | OptionFlags1::SET_LANG,
        flags2: OptionFlags2::LANGUAGE_FATAL | OptionFlags2::ODBC,
        type_flags: TypeFlags::empty()
            .with_if(TypeFlags::READ_ONLY_INTENT, target.intent == Intent::ReadOnly),
        host_name: if target.workstation.is_empty() {
            keel_server::config::host_name()
        } else {
            target.workstation.clone()
        },
        user_name: if target.trusted { String::new() } else { target.user.clone() },
        password: if target.trusted { String::new() } else { target.password.clone() },
        app_name: "keel sql".to_owned(),
        server_name: target.server.clone(),
        library_name: "keel-tds".to_owned(),
        database: target.database.clone(),
        ..Login::default()
    };
    Ok(ConnectOptions { login, encryption, tls: Some(tls), host: host.to_owned() })
}

fn trusted_roots(file: Option<&Path>) -> Result<Arc<rustls::ClientConfig>> {
    const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";
    let path = file
        .map(Path::to_owned)
        .or_else(|| std::env::var_os("SSL_CERT_FILE").map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from(SYSTEM));
    let pem = std::fs::read(&path).with_context(|| {
        format!("cannot read trusted certificates from {} (-C trusts any)", path.display())
    })?;
    let mut roots = rustls::RootCertStore::empty();
    for certificate in rustls_pemfile::certs(&mut &pem[..]) {
        // Bundles hold certificates this library does not take; the others still count.
        let _ = roots.add(certificate?);
    }
    Ok(trust_roots(roots)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_as_people_write_them() {
        let check = |server: &str, host: &str, port: u16| {
            assert_eq!(host_and_port(server).unwrap(), (host.to_owned(), port), "{server}");
        };
        check("db", "db", 1433);
        check("db,1444", "db", 1444);
        check("db:1444", "db", 1444);
        check("tcp:db,1444", "db", 1444);
        check(".", "127.0.0.1", 1433);
        check("[::1]:1444", "::1", 1444);
        check("::1", "::1", 1433);
        check("db\\instance", "db", 1433);
        assert!(host_and_port("db,x").is_err());
    }
}
