//! From the first byte to a session: pre-login, TLS, LOGIN7, password, and the answer clients expect.

use std::net::SocketAddr;
use std::sync::Arc;

use keel_sql::events::actor::Attempt;
use keel_sql::hadr::ContainedGroup;
use keel_sql::windows::Account;
use keel_sql::{PasswordHasher, Secret, SessionOptions};
use keel_tds::features;
use keel_tds::limits::{MESSAGE_BYTES_MAX, PACKET_BYTES_DEFAULT, PACKET_BYTES_MIN, PACKET_BYTES_TLS_MAX};
use keel_tds::login::{Login, OptionFlags2, OptionFlags3, TDS_7_4, TDS_8_0, TypeFlags};
use keel_tds::outbox::Outbox;
use keel_tds::packet::PacketType;
use keel_tds::prelogin::{Encryption, EncryptionPlan, PreLogin, negotiate};
use keel_tds::recovery::Recovery;
use keel_tds::token::done::DoneStatus;
use keel_tds::token::misc;
use keel_tds::token::{EnvChange, LoginAck};
use keel_tds::wire::{Message, Wire, WireError, server_tls};
use keel_tds::{DecodeError, Dialect};
use keel_types::SqlError;

use crate::backend::SqlSession;
use crate::credentials::{Credentials, Reason, Who};
use crate::integrated::{Ask, Proven};
use crate::link::Link;
use crate::listener::Place;
use crate::recovery::{self, Known};
use crate::server::Shared;
use crate::sink::Speaker;
use crate::version;

/// A connection that is logged in.
pub struct LoggedIn {
    /// Its session.
    pub session: Box<dyn SqlSession>,
    /// Its outbox, with packet size and process id set.
    pub outbox: Outbox,
    /// What its client understands.
    pub dialect: Dialect,
    /// Whether it wants to know how columns are encrypted.
    pub encrypts: bool,
    /// Login name, for the log.
    pub user: String,
    /// What the client keeps of the session, if it asked to be told.
    pub known: Option<Known>,
}

/// Why there is no session.
pub enum Refused {
    /// The connection or protocol failed; the client gets nothing.
    Wire(WireError),
    /// The client was told.
    Told,
}

impl From<WireError> for Refused {
    fn from(e: WireError) -> Refused {
        Refused::Wire(e)
    }
}

impl From<DecodeError> for Refused {
    fn from(e: DecodeError) -> Refused {
        Refused::Wire(e.into())
    }
}

impl From<std::io::Error> for Refused {
    fn from(e: std::io::Error) -> Refused {
        Refused::Wire(e.into())
    }
}

/// Where a login belongs, as far as that is known before it is read.
pub enum Way {
    /// Here: the listener it came through, of this group, has its primary here, or nobody knows better.
    Here(Option<[u8; 16]>),
    /// At this host and port, where the primary of the listener is.
    Route(String, u16),
    /// It came to the instance's own port: here, unless it calls a listener by name whose primary is elsewhere.
    ByName,
}

impl Way {
    /// Host and port of a login that belongs elsewhere.
    fn route(&self, shared: &Shared, login: &Login) -> Option<(String, u16)> {
        match self {
            Way::Here(_) => None,
            Way::Route(host, port) => Some((host.clone(), *port)),
            Way::ByName => {
                let door = shared.doors.named(&login.server_name)?;
                let Place::There(target) = door.place().0 else { return None };
                target.route.or_else(|| target.addresses.into_iter().next()).filter(|_| can_route(login))
            }
        }
    }
}

impl Way {
    /// The group whose listener the client has called.
    fn group(&self, shared: &Shared, login: &Login) -> Option<[u8; 16]> {
        match self {
            Way::Here(group) => *group,
            Way::Route(..) => None,
            Way::ByName => shared.doors.named(&login.server_name).map(|door| door.standing().id),
        }
    }
}

/// Whether the client understands routing tokens.
fn can_route(login: &Login) -> bool {
    matches!(login.tds_version, TDS_7_4 | TDS_8_0)
}

/// Does all of it. The wire stays locked: nobody else has business here before the login is done.
pub fn log_in(shared: &Shared, link: &Arc<Link>, peer: SocketAddr, way: Way) -> Result<LoggedIn, Refused> {
    let mut wire = link.wire.lock();
    let strict = wire.opens_with_tls(&mut &link.socket)?;
    if strict {
        wire.start_strict(&mut Both(link), server_tls(shared.tls.strict.clone())?)?;
    }
    let mut outbox = Outbox::new(PacketType::TabularResult);
    let (plan, several, opening) = pre_login(shared, link, &mut wire, &mut outbox, strict)?;

    let message = match opening {
        Some(login) => login,
        None => wire.read_message(&mut &link.socket)?,
    };
    if message.kind != PacketType::Login7 {
        return Err(
            DecodeError::Unsupported { what: "packet before the login", code: message.kind as u32 }.into()
        );
    }
    if plan == EncryptionPlan::LoginOnly {
        wire.drop_tls();
    }
    let version = Login::version(message.payload())?;
    let server = shared.backend.server_name();
    let Some(dialect) = Dialect::of_version(version) else {
        let speaker = Speaker { server, dialect: Dialect::V7_0, encrypts: false };
        refuse(&too_old(), speaker, &mut wire, &mut outbox, link)?;
        return Err(DecodeError::Unsupported { what: "version of TDS", code: version }.into());
    };
    let speaker = Speaker { server, dialect, encrypts: false };
    if plan == EncryptionPlan::Refused {
        refuse(&unencrypted(), speaker, &mut wire, &mut outbox, link)?;
        return Err(Refused::Told);
    }
    let login = Login::decode(message.payload())?;
    wire.recycle(message);
    outbox.start(PacketType::TabularResult, keel_tds::Status::empty());
    let encrypted = wire.is_encrypted();
    if let Some((host, port)) = way.route(shared, &login) {
        redirect(speaker, &login, host, port, outbox.payload());
        outbox.finish(&mut wire, &mut &link.socket)?;
        wire.close(&mut &link.socket);
        return Err(Refused::Told);
    }
    let asked = login.features.iter().find(|f| f.id == features::id::SESSION_RECOVERY);
    let lost = asked.map(|f| Recovery::decode(&f.data)).transpose()?;
    let context = shared.backend.context(way.group(shared, &login), &login.database);
    let proof = prove(shared, &login, peer, &mut |token| ask(token, &mut wire, &mut outbox, link))?;
    if let Ok(Some(proven)) = &proof
        && !proven.token.is_empty()
    {
        // Clients look for the answer to their login in a message of its own.
        put_token(&proven.token, &mut wire, &mut outbox, link)?;
    }
    let session = match &proof {
        Ok(account) => authenticate(shared, &login, account.as_ref(), link, peer, encrypted, context),
        Err(error) => Err(vec![error.clone()]),
    };
    let proven = proof.ok().flatten();
    match session.and_then(|session| recovered(session, lost.as_ref().and_then(Option::as_ref))) {
        Ok(session) => {
            outbox.set_spid(session.id());
            let mut known = lost.map(|lost| Known::new(session.as_ref(), lost.as_ref()));
            answer(shared, speaker, &login, session.as_ref(), (encrypted, known.as_mut()), &mut outbox);
            let packet_bytes = packet_bytes(shared, &login, encrypted);
            outbox.finish(&mut wire, &mut &link.socket)?;
            outbox.set_packet_bytes(packet_bytes);
            if several {
                wire.start_multiplex()?;
            }
            wire.message_bytes_max = MESSAGE_BYTES_MAX;
            link.set_session(session.cancel(), session.killed());
            let encrypts = login.features.iter().any(|f| f.id == features::id::COLUMN_ENCRYPTION);
            let user = proven.map_or(login.user_name, |proven| proven.account.name().to_owned());
            Ok(LoggedIn { session, outbox, dialect, encrypts, user, known })
        }
        Err(errors) => {
            for error in &errors {
                speaker.put_message(outbox.payload(), error);
            }
            speaker.put_done(outbox.payload(), DoneStatus::ERROR);
            outbox.finish(&mut wire, &mut &link.socket)?;
            wire.close(&mut &link.socket);
            Err(Refused::Told)
        }
    }
}

/// The error of a client whose version this server does not speak.
fn too_old() -> SqlError {
    let text = "The client uses a version of the TDS protocol before 7.0, which is not supported.";
    SqlError { line: 1, ..*SqlError::new(17_830, 20, 1, text) }
}

/// The error of a client that encrypts nothing where everything is to be encrypted.
fn unencrypted() -> SqlError {
    let text = "Encryption is required to connect to this server but the client library does not support encryption; \
                the connection has been closed. Please upgrade your client library.";
    SqlError { line: 1, ..*SqlError::new(17_835, 20, 1, text) }
}

/// Tells a client why its login is not looked at.
fn refuse(
    error: &SqlError,
    speaker: Speaker<'_>,
    wire: &mut Wire,
    outbox: &mut Outbox,
    link: &Arc<Link>,
) -> Result<(), Refused> {
    outbox.start(PacketType::TabularResult, keel_tds::Status::empty());
    speaker.put_message(outbox.payload(), error);
    speaker.put_done(outbox.payload(), DoneStatus::ERROR);
    outbox.finish(wire, &mut &link.socket)?;
    wire.close(&mut &link.socket);
    Ok(())
}

/// Whether and how the connection is encrypted, whether it carries several conversations, and the login if the client begins with
/// that: those of 7.0 and 7.1 that encrypt nothing do.
fn pre_login(
    shared: &Shared,
    link: &Arc<Link>,
    wire: &mut Wire,
    outbox: &mut Outbox,
    strict: bool,
) -> Result<(EncryptionPlan, bool, Option<Message>), Refused> {
    let message = wire.read_message(&mut &link.socket)?;
    if message.kind == PacketType::Login7 {
        let plan = if strict {
            EncryptionPlan::Everything
        } else {
            negotiate(Encryption::NotSupported, shared.config.force_encryption).1
        };
        return Ok((plan, false, Some(message)));
    }
    if message.kind != PacketType::PreLogin {
        return Err(DecodeError::Unsupported { what: "first packet", code: message.kind as u32 }.into());
    }
    let hello = PreLogin::decode(message.payload())?;
    wire.recycle(message);
    let asked = hello.encryption.unwrap_or(Encryption::NotSupported);
    let (answer, plan) = if strict {
        (Encryption::On, EncryptionPlan::Everything)
    } else {
        negotiate(asked, shared.config.force_encryption)
    };
    let several = hello.mars == Some(true);
    let reply = PreLogin {
        version: (version::MAJOR, version::MINOR, version::BUILD, 0),
        encryption: Some(answer),
        instance: hello.instance.map(|_| Vec::new()),
        mars: hello.mars,
        fedauth_required: hello.fedauth_required.map(|_| false),
        ..PreLogin::default()
    };
    outbox.payload().extend(reply.encode());
    outbox.finish(wire, &mut &link.socket)?;
    match plan {
        EncryptionPlan::Refused => return Err(Refused::Told),
        EncryptionPlan::LoginOnly | EncryptionPlan::Everything if !strict => {
            wire.start_tls(&mut Both(link), server_tls(shared.tls.wrapped.clone())?)?;
        }
        _ => {}
    }
    Ok((plan, several, None))
}

/// Reads and writes one socket, as TLS handshakes and several conversations need.
pub(crate) struct Both<'a>(pub &'a Link);

impl std::io::Read for Both<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        (&self.0.socket).read(buf)
    }
}

impl std::io::Write for Both<'_> {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        (&self.0.socket).write(buf)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Who a client is that does not say so with a name and a password; `None` of one that does. The inner error is for the client.
fn prove(
    shared: &Shared,
    login: &Login,
    peer: SocketAddr,
    ask: &mut Ask<'_, Refused>,
) -> Result<Result<Option<Proven>, SqlError>, Refused> {
    if !login.flags2.contains(OptionFlags2::INTEGRATED_SECURITY) && login.sspi.is_empty() {
        return Ok(Ok(None));
    }
    match &shared.kerberos {
        Some(kerberos) => {
            let proven = kerberos.prove(&login.sspi, (&shared.log, peer.ip()), ask)?;
            if let Err(e) = &proven {
                let text = format!("{} [CLIENT: {}]", e.message, peer.ip());
                let client = (login.app_name.as_str(), login.host_name.as_str());
                shared.backend.login_failed(&Attempt { name: "", client, state: e.state, text: &text });
            }
            Ok(proven.map(Some))
        }
        None => Ok(Err(credentials(shared, login, &login.user_name, peer, None).failed(&Reason::Integrated))),
    }
}

/// Sends a client a token of integrated authentication.
fn put_token(token: &[u8], wire: &mut Wire, outbox: &mut Outbox, link: &Arc<Link>) -> Result<(), Refused> {
    misc::put_sspi(outbox.payload(), token);
    outbox.finish(wire, &mut &link.socket)?;
    outbox.start(PacketType::TabularResult, keel_tds::Status::empty());
    Ok(())
}

/// The same, and waits for its answer.
fn ask(token: &[u8], wire: &mut Wire, outbox: &mut Outbox, link: &Arc<Link>) -> Result<Vec<u8>, Refused> {
    put_token(token, wire, outbox, link)?;
    let message = wire.read_message(&mut &link.socket)?;
    if message.kind != PacketType::Sspi {
        let what = "packet instead of a token of authentication";
        return Err(DecodeError::Unsupported { what, code: message.kind as u32 }.into());
    }
    let answer = message.payload().to_vec();
    wire.recycle(message);
    Ok(answer)
}

fn credentials<'a>(
    shared: &'a Shared,
    login: &'a Login,
    name: &'a str,
    peer: SocketAddr,
    context: Option<&'a ContainedGroup>,
) -> Credentials<'a> {
    Credentials { shared, name, peer: peer.ip(), client: (&login.app_name, &login.host_name), context }
}

fn authenticate(
    shared: &Shared,
    login: &Login,
    proven: Option<&Proven>,
    link: &Link,
    peer: SocketAddr,
    encrypted: bool,
    context: Option<ContainedGroup>,
) -> Result<Box<dyn SqlSession>, Vec<SqlError>> {
    let account = proven.map(|proven| &proven.account);
    let name = account.map_or(login.user_name.as_str(), Account::name);
    let credentials = credentials(shared, login, name, peer, context.as_ref());
    let who = match account {
        Some(account) => credentials.check_in_account(account, &login.database),
        None => credentials.check_in(&login.database, &login.password),
    };
    let who = who.map_err(|e| vec![e])?;
    if proven.is_none() && login.flags3.contains(OptionFlags3::CHANGE_PASSWORD) {
        let Who::Login(record) = &who else {
            return Err(vec![credentials.failed(&Reason::PasswordOfUser)]);
        };
        let hash = shared.passwords.hash(&login.change_password);
        if !shared.backend.set_password(context.as_ref(), record, hash).map_err(|e| vec![*e])? {
            return Err(vec![credentials.failed(&Reason::UnknownLogin)]);
        }
    }
    let (name, sid, sysadmin, user, default_database) = match who {
        Who::Login(record) => (record.name, record.sid, record.sysadmin, None, record.default_database),
        Who::User(user) => (user.name, user.sid, false, Some(user.user), login.database.clone()),
    };
    let options = SessionOptions {
        login: name,
        password: if proven.is_some() { Secret::default() } else { Secret::new(&login.password) },
        sid,
        account: account.cloned().map(Arc::new),
        sysadmin,
        user,
        database: if login.database.is_empty() { default_database } else { login.database.clone() },
        language: login.language.clone(),
        app_name: login.app_name.clone(),
        host_name: login.host_name.clone(),
        client_interface: login.library_name.clone(),
        client_pid: i32::from_le_bytes(login.client_pid.to_le_bytes()),
        client_address: peer.ip().to_string(),
        client_port: Some(peer.port()),
        // Fails only when the connection is gone already.
        local: link.socket.local_addr().ok(),
        traffic: Arc::clone(&link.traffic),
        packet_size: i32::try_from(packet_bytes(shared, login, encrypted)).expect("at most 32767"),
        encrypted,
        tds_version: known_version(login),
        ansi_defaults: login.flags2.contains(OptionFlags2::ODBC),
        read_only_intent: login.type_flags.contains(TypeFlags::READ_ONLY_INTENT),
        can_route: can_route(login),
        context: context.clone(),
    };
    let begun = shared.backend.session(options).and_then(|mut session| {
        session.log_on(false, shared.config.logon_triggers)?;
        session.classify();
        Ok(session)
    });
    begun.map_err(|mut e| {
        e.line = e.line.max(1);
        let about_database = matches!(
            e.number,
            911 | 916 | 927 | 942 | 954 | 955 | 956 | 976 | 978 | 979 | 982 | 983 | 988 | 4060 | 4064
        );
        if about_database {
            vec![*e, credentials.failed(&Reason::DatabaseUnavailable(&login.database))]
        } else {
            vec![*e]
        }
    })
}

/// A new session as the one that was lost, if there is one to recover.
fn recovered(
    mut session: Box<dyn SqlSession>,
    lost: Option<&Recovery>,
) -> Result<Box<dyn SqlSession>, Vec<SqlError>> {
    match lost.map_or(Ok(()), |lost| recovery::recover(session.as_mut(), lost)) {
        Ok(()) => Ok(session),
        Err(mut e) => {
            e.line = e.line.max(1);
            Err(vec![*e])
        }
    }
}

/// The packet size agreed on: what the client asked for, within the limits.
fn packet_bytes(shared: &Shared, login: &Login, encrypted: bool) -> usize {
    let most = if encrypted { PACKET_BYTES_TLS_MAX } else { usize::MAX };
    match usize::try_from(login.packet_size) {
        Ok(0) | Err(_) => PACKET_BYTES_DEFAULT,
        Ok(asked) => {
            asked.clamp(PACKET_BYTES_MIN, shared.config.max_packet_size.max(PACKET_BYTES_MIN)).min(most)
        }
    }
}

/// The whole answer to a login that belongs elsewhere. Nobody is authenticated for it: the primary does that, and may know
/// logins that are not here.
fn redirect(speaker: Speaker<'_>, login: &Login, host: String, port: u16, out: &mut Vec<u8>) {
    if !can_route(login) {
        let text = format!(
            "The primary replica is at {host}:{port}, and this client's protocol version has no routing. Connect there, or use \
             a listener whose primary has no READ_WRITE_ROUTING_URL."
        );
        speaker.put_message(out, &SqlError { line: 1, ..*SqlError::new(50_602, 16, 1, text) });
        return speaker.put_done(out, DoneStatus::ERROR);
    }
    acknowledge(login).put(out);
    EnvChange::Routing { host, port }.put(out, speaker.dialect);
    speaker.put_done(out, DoneStatus::empty());
}

/// The client's version, or the newest that we know.
fn known_version(login: &Login) -> u32 {
    if login.tds_version == TDS_8_0 { TDS_8_0 } else { login.tds_version.min(TDS_7_4) }
}

fn acknowledge(login: &Login) -> LoginAck {
    let tds_version = login.dialect().acknowledged().unwrap_or(known_version(login));
    LoginAck {
        tds_version,
        program: version::PROGRAM.to_owned(),
        version: (version::MAJOR, version::MINOR, version::BUILD),
    }
}

/// The tokens of a successful login, in the product's order.
fn answer(
    shared: &Shared,
    speaker: Speaker<'_>,
    login: &Login,
    session: &dyn SqlSession,
    (encrypted, mut known): (bool, Option<&mut Known>),
    outbox: &mut Outbox,
) {
    let dialect = speaker.dialect;
    let database = session.database();
    let info = |number: i32, state: u8, text: String| {
        let mut m = SqlError::new(number, 0, state, text);
        m.line = 1;
        m
    };
    let packet_bytes = packet_bytes(shared, login, encrypted);
    let out = outbox.payload();
    EnvChange::Database { new: database.to_owned(), old: "master".to_owned() }.put(out, dialect);
    speaker.put_message(out, &info(5701, 2, format!("Changed database context to '{database}'.")));
    // To 7.0, which has no collations: the code page in which it gets text.
    EnvChange::CharacterSet("iso_1".to_owned()).put(out, dialect);
    EnvChange::Collation { new: Some(crate::encode::wire_collation(session.collation())), old: None }
        .put(out, dialect);
    let language = session.language();
    EnvChange::Language { new: language.clone(), old: String::new() }.put(out, dialect);
    speaker.put_message(out, &info(5703, 1, format!("Changed language setting to {language}.")));
    acknowledge(login).put(out);
    if let Some((host, port)) = session.route() {
        // The client hangs up after this answer and logs in there.
        EnvChange::Routing { host: host.to_owned(), port }.put(out, dialect);
    }
    if let Some(partner) = session.failover_partner() {
        EnvChange::MirrorPartner(partner.to_owned()).put(out, dialect);
    }
    EnvChange::PacketSize { new: packet_bytes, old: PACKET_BYTES_DEFAULT }.put(out, dialect);
    let mut acknowledged = Vec::new();
    match &known {
        Some(known) => {
            known.initial(|states| acknowledged = features::acknowledge(&login.features, Some(states)))
        }
        None => acknowledged = features::acknowledge(&login.features, None),
    }
    if !acknowledged.is_empty() {
        features::put_ack(out, &acknowledged);
    }
    if let Some(known) = &mut known {
        known.tell(session, out);
    }
    speaker.put_done(out, DoneStatus::empty());
}
