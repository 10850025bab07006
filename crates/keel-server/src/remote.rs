//! Connections to linked servers: SQL's seam ([`keel_sql::linked::Connector`]) over the client side of TDS.
//!
//! A connection is a blocking socket of the session's own thread. While it waits for an answer it looks now and then whether anybody still wants one
//! (`POLL`); who does not is said so to the other server by an attention.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use keel_sql::linked::{Broken, Connector, Encrypt, Failed, Link, Refused, Reply, Request, Target, Wait};
use keel_sql::{ColumnMeta, RpcParam, RpcValue};
use keel_tds::Dialect;
use keel_tds::client::{
    Client, ClientEncryption, ClientError, ConnectOptions, trust_any_certificate, trust_roots,
};
use keel_tds::login::{Login, OptionFlags1, OptionFlags2, TypeFlags};
use keel_tds::request::TransactionRequest;
use keel_tds::request::rpc::{CallFlags, ParameterFlags, Procedure, encode_call};
use keel_tds::token::{Column, ColumnFlags, DoneKind, DoneStatus, ServerMessage, Token};
use keel_tds::type_info::TypeInfo;
use keel_tds::wire::WireError;
use keel_types::{Collation, SqlError, SqlType};

use crate::{decode, encode};

/// How often a connection that waits looks whether anybody still wants its answer.
const POLL: Duration = Duration::from_millis(50);
/// Routed logins followed before it is called a circle.
const ROUTES_MAX: usize = 3;
/// How long the answer to an attention may take before the connection is given up.
const ATTENTION_MAX: Duration = Duration::from_secs(5);
/// Where a machine says which port an instance of it has (MC-SQLR).
const BROWSER_PORT: u16 = 1434;
const BROWSER_WAIT: Duration = Duration::from_secs(2);
/// Certificates that are trusted when `SSL_CERT_FILE` names no others.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";
const PACKET_BYTES: u32 = 8000;

/// Opens connections for SQL.
pub struct Remotes {
    /// What other servers are told is the name of this machine.
    pub host_name: String,
}

impl Connector for Remotes {
    fn connect(&self, to: &Target, stop: &dyn Fn() -> bool) -> Result<Box<dyn Link>, Failed> {
        let deadline = Instant::now() + to.timeout;
        let (mut host, mut port) = (
            to.host.clone(),
            match to.port {
                Some(port) => port,
                None => port_of(&to.host, &to.instance)?,
            },
        );
        for _ in 0..ROUTES_MAX {
            let socket = reach(&host, port, to.all_addresses, deadline, stop)?;
            match self.log_in(socket, to, &host, deadline) {
                Ok(client) => return Ok(Box::new(Connection { client, pending: None })),
                Err(ClientError::Routed { host: there, port: at }) => (host, port) = (there, at),
                Err(ClientError::Login(said)) => {
                    return Err(Failed::Refused(said.iter().filter(|m| m.is_error).map(message).collect()));
                }
                Err(e) => return Err(Failed::Unreachable(reason(&e))),
            }
        }
        Err(Failed::Unreachable(format!("{}: the server routes in circles.", to.host)))
    }
}

impl Remotes {
    fn log_in(
        &self,
        socket: TcpStream,
        to: &Target,
        host: &str,
        deadline: Instant,
    ) -> Result<Client<TcpStream>, ClientError> {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(left))?;
        socket.set_write_timeout(Some(left))?;
        let mut client = Client::connect(socket, &self.options(to, host)?)?;
        client.io().set_read_timeout(Some(POLL))?;
        client.io().set_write_timeout(None)?;
        Ok(client)
    }

    fn options(&self, to: &Target, host: &str) -> Result<ConnectOptions, ClientError> {
        let encryption = match to.encrypt {
            Encrypt::Strict => ClientEncryption::Strict,
            Encrypt::Mandatory => ClientEncryption::On,
            Encrypt::Optional => ClientEncryption::LoginOnly,
        };
        // Who does not ask for encryption does not ask who it is, either: the product's drivers.
        let any = to.trust && to.encrypt != Encrypt::Strict || to.encrypt == Encrypt::Optional;
        let tls = if any { trust_any_certificate().map_err(tls_error)? } else { roots()? };
        let login = Login {
            packet_size: PACKET_BYTES,
            client_pid: std::process::id(),
            flags1: OptionFlags1::USE_DB | OptionFlags1::DATABASE_FATAL | OptionFlags1::SET_LANG,
            flags2: OptionFlags2::LANGUAGE_FATAL | OptionFlags2::ODBC,
            type_flags: TypeFlags::empty().with_if(TypeFlags::READ_ONLY_INTENT, to.read_only),
            host_name: self.host_name.clone(),
            user_name: to.user.clone(),
            password: to.password.clone(),
            app_name: "Evenkeel linked server".to_owned(),
            server_name: to.host.clone(),
            library_name: "keel-tds".to_owned(),
            database: to.database.clone(),
            ..Login::default()
        };
        let host = to.certificate_name.clone().unwrap_or_else(|| host.to_owned());
        Ok(ConnectOptions { login, encryption, tls: Some(tls), host })
    }
}

fn tls_error(e: rustls::Error) -> ClientError {
    ClientError::Wire(WireError::Tls(e))
}

fn roots() -> Result<Arc<rustls::ClientConfig>, ClientError> {
    let path = std::env::var_os("SSL_CERT_FILE").map_or_else(|| PathBuf::from(SYSTEM_ROOTS), PathBuf::from);
    let pem = std::fs::read(path)?;
    let mut roots = rustls::RootCertStore::empty();
    for certificate in rustls_pemfile::certs(&mut &pem[..]).flatten() {
        // Bundles hold certificates that the library does not take; the others still count.
        let _ = roots.add(certificate);
    }
    trust_roots(roots).map_err(tls_error)
}

/// Why there is no connection, as the provider's message says it.
fn reason(e: &ClientError) -> String {
    match e {
        ClientError::Wire(e) if e.is_would_block() => "Login timeout expired".to_owned(),
        e => e.to_string(),
    }
}

/// A socket to the first address that answers; with `all` they are asked at once, as MultiSubnetFailover wants it.
fn reach(
    host: &str,
    port: u16,
    all: bool,
    deadline: Instant,
    stop: &dyn Fn() -> bool,
) -> Result<TcpStream, Failed> {
    let unreachable =
        |why: String| Failed::Unreachable(format!("A connection to {host},{port} cannot be made: {why}"));
    let addresses: Vec<SocketAddr> =
        (host, port).to_socket_addrs().map_err(|e| unreachable(e.to_string()))?.collect();
    let (tell, told) = mpsc::channel();
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let tries = if all { addresses.chunks(addresses.len().max(1)) } else { addresses.chunks(1) };
    let mut last = "it has no address".to_owned();
    for group in tries {
        // In threads of their own, so that who cancels need not wait for a silent machine.
        for address in group {
            let address = *address;
            let (tell, limit) = (tell.clone(), left());
            let attempt = move || drop(tell.send(TcpStream::connect_timeout(&address, limit)));
            std::thread::Builder::new()
                .name("linked server".into())
                .spawn(attempt)
                .map_err(|e| unreachable(e.to_string()))?;
        }
        let mut open = group.len();
        while open > 0 {
            if stop() {
                return Err(Failed::Stopped);
            }
            match told.recv_timeout(POLL) {
                Ok(Ok(socket)) => return Ok(socket),
                Ok(Err(e)) => (open, last) = (open - 1, e.to_string()),
                Err(_) if Instant::now() >= deadline => {
                    return Err(unreachable("Login timeout expired".to_owned()));
                }
                Err(_) => {}
            }
        }
    }
    Err(unreachable(last))
}

/// The port of a named instance, which its machine's browser says.
fn port_of(host: &str, instance: &str) -> Result<u16, Failed> {
    let failed = |why: String| {
        Failed::Unreachable(format!("The port of instance {instance} on {host} cannot be found: {why}"))
    };
    let ask = || -> std::io::Result<Vec<u8>> {
        let socket = UdpSocket::bind(("0.0.0.0", 0))?;
        socket.set_read_timeout(Some(BROWSER_WAIT))?;
        socket.connect((host, BROWSER_PORT))?;
        socket.send(&[&[0x04], instance.as_bytes(), &[0]].concat())?;
        let mut answer = vec![0; 1024];
        let n = socket.recv(&mut answer)?;
        answer.truncate(n);
        Ok(answer)
    };
    let answer = ask().map_err(|e| failed(e.to_string()))?;
    browsed_port(&answer).ok_or_else(|| failed("the answer names no port".to_owned()))
}

/// The port in the browser's answer: 0x05, a length, and `name;value;…`.
fn browsed_port(answer: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(answer.strip_prefix(&[0x05])?.get(2..)?).into_owned();
    let mut words = text.split(';');
    words.find(|word| word.eq_ignore_ascii_case("tcp"))?;
    words.next()?.parse().ok()
}

/// A connection to another server.
struct Connection {
    client: Client<TcpStream>,
    /// Why the connection cannot be used any more.
    pending: Option<String>,
}

impl Link for Connection {
    fn ask(&mut self, request: &Request<'_>, reset: bool) -> Result<(), Refused> {
        if let Some(why) = &self.pending {
            return Err(Refused(why.clone()));
        }
        if reset {
            self.client.reset_before_next();
        }
        let sent = match request {
            Request::Batch(text) => self.client.batch(text),
            Request::Call(name, parameters) => self.client.call(|out| put_call(out, name, parameters)),
            Request::Propagate(cookie) => {
                self.client.transaction(&TransactionRequest::Propagate(cookie.to_vec()))
            }
        };
        sent.map_err(|e| Refused(self.lost(&e)))
    }

    fn next(&mut self, wait: &Wait<'_>) -> Result<Option<Reply>, Broken> {
        loop {
            match self.client.next_token() {
                Ok(None) => return Ok(None),
                Ok(Some(token)) => {
                    if let Some(reply) = self.reply(token)? {
                        return Ok(Some(reply));
                    }
                }
                Err(ClientError::Wire(e)) if e.is_would_block() => {
                    let late = wait.deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    if !late && !(wait.stop)() {
                        continue;
                    }
                    if !self.cancel() {
                        return Err(Broken::Lost(self.pending.clone().unwrap_or_default()));
                    }
                    return Err(if late { Broken::TimedOut } else { Broken::Stopped });
                }
                Err(e) => return Err(Broken::Lost(self.lost(&e))),
            }
        }
    }

    /// Between requests there is nothing to read but the connection's end.
    fn is_open(&mut self) -> bool {
        let socket = self.client.io();
        let look = (|| {
            socket.set_nonblocking(true)?;
            let seen = socket.peek(&mut [0]);
            socket.set_nonblocking(false)?;
            seen
        })();
        self.pending.is_none() && look.is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock)
    }

    fn cancel(&mut self) -> bool {
        let cancelled = (|| {
            self.client.io().set_read_timeout(Some(ATTENTION_MAX))?;
            self.client.attention()?;
            self.client.drain_attention()?;
            self.client.io().set_read_timeout(Some(POLL))?;
            Ok::<(), ClientError>(())
        })();
        match cancelled {
            Ok(()) => true,
            Err(e) => {
                self.lost(&e);
                false
            }
        }
    }
}

impl Connection {
    fn lost(&mut self, e: &ClientError) -> String {
        let why = format!("The connection is lost: {e}.");
        self.pending = Some(why.clone());
        why
    }

    fn reply(&mut self, token: Token<'static>) -> Result<Option<Reply>, Broken> {
        let nonsense = |what: &str| Broken::Lost(format!("The answer makes no sense: {what}."));
        Ok(match token {
            Token::Columns(_) => Some(Reply::Columns(self.client.columns().iter().map(meta).collect())),
            Token::Row(row) => {
                let columns = self.client.columns();
                let values = row.into_iter().zip(columns).map(|(data, column)| {
                    decode::value(&column.ty, data).map(|(_, value)| value).ok_or_else(|| nonsense("a value"))
                });
                Some(Reply::Row(values.collect::<Result<_, _>>()?))
            }
            Token::Message(m) => Some(Reply::Message(message(&m))),
            Token::Done(done) if done.kind != DoneKind::Proc => {
                let count = done.status.contains(DoneStatus::COUNT).then_some(done.rows);
                Some(Reply::Done { count, command: done.command })
            }
            Token::ReturnStatus(status) => Some(Reply::Status(status)),
            Token::ReturnValue(v) => {
                let (ty, value) =
                    decode::value(&v.ty, v.value).ok_or_else(|| nonsense("an output parameter"))?;
                Some(Reply::Output(v.ordinal.into(), ty, value))
            }
            _ => None,
        })
    }
}

fn message(m: &ServerMessage) -> SqlError {
    SqlError {
        number: m.number,
        severity: m.class,
        state: m.state,
        line: m.line,
        procedure: Some(m.procedure.clone()).filter(|p| !p.is_empty()),
        message: m.text.clone(),
    }
}

fn meta(column: &Column) -> ColumnMeta {
    let ty = match &column.ty {
        TypeInfo::Xml(_) => SqlType::Xml,
        ty => decode::sql_type(ty).unwrap_or(SqlType::Null),
    };
    ColumnMeta {
        nullable: column.flags.contains(ColumnFlags::NULLABLE),
        collation: Collation::default(),
        ..ColumnMeta::new(column.name.as_str(), ty)
    }
}

fn put_call(out: &mut Vec<u8>, name: &str, parameters: &[RpcParam]) {
    encode_call(out, &Procedure::Name(name.to_owned()), CallFlags::empty());
    let dialect = Dialect::default();
    for p in parameters {
        let (value, default) = match &p.value {
            RpcValue::Scalar(value) => (value, false),
            // Tables are not sent: SQL refuses them before.
            RpcValue::Default | RpcValue::Table { .. } => (&keel_types::Value::Null, true),
        };
        let flags = ParameterFlags::empty()
            .with_if(ParameterFlags::BY_REF, p.output)
            .with_if(ParameterFlags::DEFAULT, default);
        encode::put_parameter(out, &p.name, flags, p.ty, value, dialect);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_says_the_port() {
        let text = b"ServerName;DB;InstanceName;SQL2;IsClustered;No;Version;16.0.1;tcp;1450;;";
        let length = u16::try_from(text.len()).unwrap().to_le_bytes();
        let answer = [&[0x05], &length[..], text].concat();
        assert_eq!(browsed_port(&answer), Some(1450));
        assert_eq!(browsed_port(&answer[..20]), None);
        assert_eq!(browsed_port(&[]), None);
    }
}
