//! The client side: log in, ask, read tokens. Enough for `keel sql`, for benchmarks and for testing the server.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use crate::dialect::Dialect;
use crate::error::DecodeError;
use crate::limits::{MESSAGE_BYTES_MAX, PACKET_BYTES_MAX, PACKET_BYTES_MIN};
use crate::login::{Login, OptionFlags2, TDS_7_4, TDS_8_0};
use crate::outbox::Outbox;
use crate::packet::{PacketType, Status};
use crate::prelogin::{Encryption, EncryptionPlan, PreLogin, negotiate};
use crate::request::{self, AllHeaders, TransactionRequest};
use crate::token::{DoneStatus, EnvChange, ServerMessage, Token, TokenReader};
use crate::wire::{Wire, WireError, client_tls};

/// What kind of encryption a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientEncryption {
    /// None at all; only for tests and trusted local links.
    None,
    /// The login only, unless the server wants more.
    LoginOnly,
    /// Everything.
    On,
    /// TLS before the first packet (8.0).
    Strict,
}

/// How to connect.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The login message. Version 0 takes the one that fits the encryption.
    pub login: Login,
    /// Encryption wanted.
    pub encryption: ClientEncryption,
    /// TLS settings; needed unless encryption is none.
    pub tls: Option<Arc<rustls::ClientConfig>>,
    /// Name of the server, as its certificate should say.
    pub host: String,
}

/// Why a client call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection failed.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The server refused the login, with its messages.
    #[error("{}", .0.last().map_or("login failed", |m| m.text.as_str()))]
    Login(Vec<ServerMessage>),
    /// The server will not, or we will not, go on with this kind of encryption.
    #[error("client and server cannot agree on encryption")]
    Encryption,
    /// The server wants the client to go elsewhere.
    #[error("routed to {host}:{port}")]
    Routed {
        /// Host to log in to.
        host: String,
        /// Its port.
        port: u16,
    },
}

impl From<io::Error> for ClientError {
    fn from(e: io::Error) -> ClientError {
        ClientError::Wire(e.into())
    }
}

impl From<DecodeError> for ClientError {
    fn from(e: DecodeError) -> ClientError {
        ClientError::Wire(e.into())
    }
}

/// Makes the tokens of integrated authentication: the first of nothing, others of what the server has sent. An empty one ends it.
pub type Negotiate<'a> = dyn FnMut(Option<&[u8]>) -> io::Result<Vec<u8>> + 'a;

/// Result of client calls.
pub type Result<T> = std::result::Result<T, ClientError>;

/// A connection that is logged in.
pub struct Client<S> {
    io: S,
    wire: Wire,
    outbox: Outbox,
    dialect: Dialect,
    tokens: TokenReader,
    response: Vec<u8>,
    at: usize,
    last_packet_seen: bool,
    transaction: u64,
    reset_next: bool,
    /// Current database, as the server last told.
    pub database: String,
    /// Messages that came with the login.
    pub login_messages: Vec<ServerMessage>,
    /// Where the server says that the database is found when it is not here any more.
    pub failover_partner: Option<String>,
}

impl<S: Read + Write> Client<S> {
    /// Logs in over `io` with the name and password of the options.
    pub fn connect(io: S, options: &ConnectOptions) -> Result<Client<S>> {
        Client::log_in(io, options, None)
    }

    /// Logs in over `io` with the tokens that `negotiate` makes, whose errors are those of the connection.
    pub fn connect_integrated(
        io: S,
        options: &ConnectOptions,
        negotiate: &mut Negotiate<'_>,
    ) -> Result<Client<S>> {
        Client::log_in(io, options, Some(negotiate))
    }

    fn log_in(
        mut io: S,
        options: &ConnectOptions,
        mut negotiate: Option<&mut Negotiate<'_>>,
    ) -> Result<Client<S>> {
        let mut wire = Wire::new();
        wire.message_bytes_max = MESSAGE_BYTES_MAX;
        let plan = pre_login(&mut io, &mut wire, options)?;
        let mut login = options.login.clone();
        if login.tds_version == 0 {
            login.tds_version =
                if options.encryption == ClientEncryption::Strict { TDS_8_0 } else { TDS_7_4 };
        }
        if let Some(negotiate) = &mut negotiate {
            login.flags2 |= OptionFlags2::INTEGRATED_SECURITY;
            login.sspi = negotiate(None)?;
        }
        let dialect = login.dialect();
        let mut client = Client {
            io,
            wire,
            outbox: Outbox::new(PacketType::Login7),
            dialect,
            tokens: TokenReader::new(dialect),
            response: Vec::new(),
            at: 0,
            last_packet_seen: true,
            transaction: 0,
            reset_next: false,
            database: String::new(),
            login_messages: Vec::new(),
            failover_partner: None,
        };
        client.send(PacketType::Login7, |out| out.extend(login.encode()))?;
        if plan == EncryptionPlan::LoginOnly {
            client.wire.drop_tls();
        }
        client.finish_login(negotiate)?;
        Ok(client)
    }

    fn finish_login(&mut self, mut negotiate: Option<&mut Negotiate<'_>>) -> Result<()> {
        let mut messages = Vec::new();
        let mut accepted = false;
        let mut routed = None;
        let mut negotiating: Option<Vec<u8>> = None;
        loop {
            let Some(token) = self.next_token()? else {
                match negotiating.take() {
                    None => break,
                    Some(_) if accepted => break,
                    // The answer to the login is a message of its own.
                    Some(answer) if answer.is_empty() => self.last_packet_seen = false,
                    Some(answer) => self.send(PacketType::Sspi, |out| out.extend(answer))?,
                }
                continue;
            };
            match token {
                Token::Sspi(token) => {
                    if let Some(negotiate) = &mut negotiate {
                        negotiating = Some(negotiate(Some(&token))?);
                    }
                }
                Token::LoginAck(_) => accepted = true,
                Token::Message(m) => messages.push(m),
                Token::EnvChange(EnvChange::Routing { host, port }) => routed = Some((host, port)),
                Token::EnvChange(EnvChange::MirrorPartner(partner)) => self.failover_partner = Some(partner),
                _ => {}
            }
        }
        if let Some((host, port)) = routed {
            return Err(ClientError::Routed { host, port });
        }
        if !accepted {
            return Err(ClientError::Login(messages));
        }
        self.login_messages = messages;
        Ok(())
    }

    fn send(&mut self, kind: PacketType, body: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.start(kind);
        body(self.outbox.payload());
        self.end()
    }

    fn start(&mut self, kind: PacketType) {
        assert!(self.last_packet_seen, "the response before must be read to its end");
        let status = Status::empty().with_if(Status::RESET_CONNECTION, std::mem::take(&mut self.reset_next));
        self.outbox.start(kind, status);
    }

    fn end(&mut self) -> Result<()> {
        self.outbox.finish(&mut self.wire, &mut self.io)?;
        self.response.clear();
        self.at = 0;
        self.last_packet_seen = false;
        self.tokens = TokenReader::new(self.dialect);
        Ok(())
    }

    fn headers(&self) -> AllHeaders {
        AllHeaders { transaction: self.transaction, outstanding: 1, ..AllHeaders::default() }
    }

    /// Sends a batch.
    pub fn batch(&mut self, sql: &str) -> Result<()> {
        let (headers, dialect) = (self.headers(), self.dialect);
        self.send(PacketType::SqlBatch, |out| request::encode_batch(out, &headers, sql, dialect))
    }

    /// Sends a batch whose results are to be watched.
    pub fn batch_watched(&mut self, sql: &str, notification: request::Notification) -> Result<()> {
        let dialect = self.dialect;
        let headers = AllHeaders { notification: Some(Box::new(notification)), ..self.headers() };
        self.send(PacketType::SqlBatch, |out| request::encode_batch(out, &headers, sql, dialect))
    }

    /// Sends one or more procedure calls, written by `body` with the functions of [`crate::request::rpc`].
    pub fn call(&mut self, body: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let (headers, dialect) = (self.headers(), self.dialect);
        self.send(PacketType::Rpc, |out| {
            headers.encode(out, dialect);
            body(out);
        })
    }

    /// Sends a transaction request.
    pub fn transaction(&mut self, request: &TransactionRequest) -> Result<()> {
        let (headers, dialect) = (self.headers(), self.dialect);
        self.send(PacketType::TransactionManager, |out| request.encode(out, &headers, dialect))
    }

    /// Sends a bulk load, written by `body` from COLMETADATA to DONE: whole, or in pieces that are sent as they come. It
    /// is called again as long as it says that there is more.
    pub fn bulk(&mut self, mut body: impl FnMut(&mut Vec<u8>) -> bool) -> Result<()> {
        self.start(PacketType::BulkLoad);
        while body(self.outbox.payload()) {
            if self.outbox.is_full() {
                self.outbox.flush_full(&mut self.wire, &mut self.io)?;
            }
        }
        self.end()
    }

    /// Lets the next request reset the session first, as connection pools do.
    pub fn reset_before_next(&mut self) {
        self.reset_next = true;
    }

    /// Asks the server to stop. The response then ends with a DONE that answers it; read on until then.
    pub fn attention(&mut self) -> Result<()> {
        self.outbox.start(PacketType::Attention, Status::empty());
        self.outbox.finish(&mut self.wire, &mut self.io)?;
        Ok(())
    }

    /// Reads everything up to the answer to an attention, and drops it but for the first error.
    pub fn drain_attention(&mut self) -> Result<Option<ServerMessage>> {
        let mut error = None;
        loop {
            match self.next_token()? {
                Some(Token::Done(d)) if d.status.contains(DoneStatus::ATTENTION) => break,
                Some(Token::Message(m)) if m.is_error && error.is_none() => error = Some(m),
                Some(_) => {}
                // The response had ended before the attention arrived: its answer is a message of its own.
                None => self.last_packet_seen = false,
            }
        }
        while self.next_token()?.is_some() {}
        Ok(error)
    }

    /// The next token of the response; `None` at its end.
    pub fn next_token(&mut self) -> Result<Option<Token<'static>>> {
        loop {
            if self.at < self.response.len() {
                match self.tokens.next(&self.response[self.at..]) {
                    Ok((token, length)) => {
                        self.at += length;
                        let token = token.into_owned();
                        self.note(&token);
                        return Ok(Some(token));
                    }
                    Err(DecodeError::Incomplete) if !self.last_packet_seen => {}
                    Err(DecodeError::Incomplete) => {
                        return Err(DecodeError::Malformed("end of response").into());
                    }
                    Err(e) => return Err(e.into()),
                }
            } else if self.last_packet_seen {
                return Ok(None);
            }
            self.response.drain(..self.at);
            self.at = 0;
            let response = &mut self.response;
            let header = self.wire.read_packet(&mut self.io, |header, payload| {
                response.extend_from_slice(payload);
                header
            })?;
            if header.kind != PacketType::TabularResult {
                return Err(DecodeError::Malformed("response packet type").into());
            }
            self.last_packet_seen = header.status.contains(Status::END_OF_MESSAGE);
        }
    }

    fn note(&mut self, token: &Token<'_>) {
        match token {
            Token::EnvChange(EnvChange::PacketSize { new, .. }) => {
                self.outbox.set_packet_bytes((*new).clamp(PACKET_BYTES_MIN, PACKET_BYTES_MAX));
            }
            Token::EnvChange(EnvChange::Database { new, .. }) => self.database.clone_from(new),
            Token::EnvChange(EnvChange::BeginTransaction(d)) => self.transaction = *d,
            Token::EnvChange(
                EnvChange::CommitTransaction(_)
                | EnvChange::RollbackTransaction(_)
                | EnvChange::TransactionEnded(_)
                | EnvChange::DefectTransaction(_),
            ) => self.transaction = 0,
            _ => {}
        }
    }

    /// The columns of the current result set.
    #[must_use]
    pub fn columns(&self) -> &[crate::token::Column] {
        self.tokens.columns()
    }
    /// Whether the connection is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.wire.is_encrypted()
    }
    /// The socket.
    pub fn io(&mut self) -> &mut S {
        &mut self.io
    }
}

fn pre_login<S: Read + Write>(
    io: &mut S,
    wire: &mut Wire,
    options: &ConnectOptions,
) -> Result<EncryptionPlan> {
    let start = |wire: &mut Wire, io: &mut S, strict: bool| -> Result<()> {
        let config = options.tls.clone().ok_or(ClientError::Encryption)?;
        if strict {
            let mut config = (*config).clone();
            config.alpn_protocols = vec![b"tds/8.0".to_vec()];
            wire.start_strict(io, client_tls(Arc::new(config), &options.host)?)?;
        } else {
            wire.start_tls(io, client_tls(config, &options.host)?)?;
        }
        Ok(())
    };
    let asked = match options.encryption {
        ClientEncryption::None => Encryption::NotSupported,
        ClientEncryption::LoginOnly => Encryption::Off,
        ClientEncryption::On => Encryption::On,
        ClientEncryption::Strict => {
            start(wire, io, true)?;
            Encryption::On
        }
    };
    let hello = PreLogin { encryption: Some(asked), mars: Some(false), ..PreLogin::default() };
    let mut outbox = Outbox::new(PacketType::PreLogin);
    outbox.payload().extend(hello.encode());
    outbox.finish(wire, io)?;
    let message = wire.read_message(io)?;
    let answer = PreLogin::decode(message.payload())?;
    wire.recycle(message);
    if options.encryption == ClientEncryption::Strict {
        return Ok(EncryptionPlan::Everything);
    }
    let plan = match answer.encryption.unwrap_or(Encryption::NotSupported) {
        Encryption::Off => EncryptionPlan::LoginOnly,
        Encryption::On | Encryption::Required => EncryptionPlan::Everything,
        Encryption::NotSupported => EncryptionPlan::None,
    };
    let wanted = negotiate(asked, false).1;
    match (plan, wanted) {
        // Never less than what was asked for.
        (EncryptionPlan::None, EncryptionPlan::Everything | EncryptionPlan::LoginOnly)
        | (EncryptionPlan::LoginOnly, EncryptionPlan::Everything)
        | (EncryptionPlan::Everything | EncryptionPlan::LoginOnly, EncryptionPlan::None) => {
            Err(ClientError::Encryption)
        }
        (EncryptionPlan::None, _) => Ok(plan),
        _ => {
            start(wire, io, false)?;
            Ok(plan)
        }
    }
}

impl Token<'_> {
    /// A copy that borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> Token<'static> {
        match self {
            Token::Row(values) => Token::Row(values.into_iter().map(crate::Data::into_owned).collect()),
            Token::ReturnValue(v) => Token::ReturnValue(crate::token::ReturnValue {
                ordinal: v.ordinal,
                name: v.name,
                status: v.status,
                ty: v.ty,
                value: v.value.into_owned(),
            }),
            Token::Columns(c) => Token::Columns(c),
            Token::Done(d) => Token::Done(d),
            Token::Message(m) => Token::Message(m),
            Token::LoginAck(a) => Token::LoginAck(a),
            Token::EnvChange(e) => Token::EnvChange(e),
            Token::ReturnStatus(s) => Token::ReturnStatus(s),
            Token::Order(o) => Token::Order(o),
            Token::Sspi(token) => Token::Sspi(token),
            Token::Features(f) => Token::Features(f),
            Token::Other(code) => Token::Other(code),
        }
    }
}

/// TLS settings that accept any certificate: encryption against listeners only, as `-C` of the command line asks for.
pub fn trust_any_certificate() -> std::result::Result<Arc<rustls::ClientConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustAny(provider)))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// TLS settings that accept certificates issued by `roots` for the server's name.
pub fn trust_roots(
    roots: rustls::RootCertStore,
) -> std::result::Result<Arc<rustls::ClientConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct TrustAny(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
