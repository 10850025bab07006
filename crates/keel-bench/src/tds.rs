//! Evenkeel, or any server that speaks TDS: by address, or a `keel serve` started for the occasion.

use crate::target::Server;
use anyhow::{Context, Result, bail};
use keel_tds::client::{Client, ClientEncryption, ClientError, ConnectOptions, trust_any_certificate};
use keel_tds::login::{Login, OptionFlags2, TypeFlags};
use keel_tds::request::rpc::{CallFlags, ParameterFlags, encode_call, encode_parameter};
use keel_tds::request::{ProcId, Procedure};
use keel_tds::token::{Column, ColumnFlags, Done, DoneKind, DoneStatus, ROW, ServerMessage, Token, column};
use keel_tds::value::Place;
use keel_tds::{Data, TypeInfo, WireCollation};
use keel_workload::{CallError, Cell, Connection, Dialect};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Where a TDS server is and how to log in.
#[derive(Clone, Debug)]
pub struct Address {
    /// `host:port`.
    pub address: String,
    /// Login.
    pub user: String,
    /// Its password.
    pub password: String,
    /// Database of new sessions.
    pub database: String,
    /// Whether more than the login is encrypted.
    pub encrypt: bool,
    /// Whether sessions say that they only read: `ApplicationIntent=ReadOnly`.
    pub read_only: bool,
}

impl Server for Address {
    fn name(&self) -> String {
        "Evenkeel".into()
    }

    fn connect(&self) -> Result<Box<dyn Connection + Send>> {
        Ok(Box::new(self.session(&self.database)?))
    }

    fn database(&self, name: &str) -> Result<Box<dyn Server + Send>> {
        let address = Address { database: name.into(), ..self.clone() };
        address.create_if_missing()?;
        Ok(Box::new(address))
    }

    fn login(&self, database: &str, user: &str, password: &str) -> Result<Box<dyn Server + Send>> {
        let (user, password, database) = (user.into(), password.into(), database.into());
        Ok(Box::new(Address { user, password, database, ..self.clone() }))
    }
}

impl Address {
    /// A session in `database`.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses the login.
    pub fn session(&self, database: &str) -> Result<TdsConnection> {
        let socket =
            TcpStream::connect(&self.address).with_context(|| format!("connecting to {}", self.address))?;
        self.session_on(socket, database)
    }

    /// The same; who does not answer for so long, now or later, counts as lost.
    ///
    /// # Errors
    /// As [`Address::session`].
    pub fn session_within(&self, database: &str, patience: Duration) -> Result<TdsConnection> {
        let address = self.address.parse().with_context(|| format!("{} is no address", self.address))?;
        let socket = TcpStream::connect_timeout(&address, patience)?;
        socket.set_read_timeout(Some(patience))?;
        socket.set_write_timeout(Some(patience))?;
        self.session_on(socket, database)
    }

    fn session_on(&self, socket: TcpStream, database: &str) -> Result<TdsConnection> {
        socket.set_nodelay(true)?;
        let login = Login {
            user_name: self.user.clone(),
            password: self.password.clone(),
            database: database.into(),
            app_name: "keel-bench".into(),
            packet_size: 8192,
            flags2: OptionFlags2::ODBC,
            type_flags: if self.read_only { TypeFlags::READ_ONLY_INTENT } else { TypeFlags::default() },
            ..Login::default()
        };
        let host = self.address.split(':').next().unwrap_or_default().to_string();
        let options = ConnectOptions {
            login,
            encryption: if self.encrypt { ClientEncryption::On } else { ClientEncryption::LoginOnly },
            tls: Some(trust_any_certificate()?),
            host,
        };
        Ok(TdsConnection { client: Client::connect(socket, &options)? })
    }

    /// Makes the benchmark's database unless it is there.
    ///
    /// # Errors
    /// What the server says.
    pub fn create_if_missing(&self) -> Result<()> {
        let (quoted, literal) = (self.database.replace(']', "]]"), self.database.replace('\'', "''"));
        let create = format!("IF DB_ID(N'{literal}') IS NULL CREATE DATABASE [{quoted}]");
        Ok(self.session("master")?.execute(&create)?)
    }

    /// Makes the benchmark's database, dropping an earlier one.
    ///
    /// # Errors
    /// What the server says.
    pub fn create_database(&self) -> Result<()> {
        let mut session = self.session("master")?;
        session.execute(&format!("DROP DATABASE IF EXISTS [{}]", self.database))?;
        session.execute(&format!("CREATE DATABASE [{}]", self.database))?;
        Ok(())
    }
}

/// How a `keel serve` is started, and started again after it was killed.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub binary: PathBuf,
    /// Its data directory.
    pub data: PathBuf,
    /// Address it listens on.
    pub host: String,
    /// Port it listens on.
    pub port: u16,
    /// Put before its command line: what keeps it to a core, or in a network namespace.
    pub before: Vec<String>,
    /// Appended to its command line.
    pub options: Vec<String>,
}

impl Launch {
    /// On a free port of the loopback address.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(binary: &Path, data: &Path, options: &[&str]) -> Result<Launch> {
        Ok(Launch {
            binary: binary.to_path_buf(),
            data: data.to_path_buf(),
            host: "127.0.0.1".into(),
            port: free_port()?,
            before: Vec::new(),
            options: options.iter().map(ToString::to_string).collect(),
        })
    }

    /// Starts it and waits for its ready line.
    ///
    /// # Errors
    /// When it does not become ready.
    pub fn start(&self) -> Result<Keel> {
        let address = Address {
            address: format!("{}:{}", self.host, self.port),
            user: "sa".into(),
            password: "Bench-mark-2026".into(),
            database: "tpcc".into(),
            encrypt: false,
            read_only: false,
        };
        let mut words = self.before.iter().map(AsRef::as_ref).chain([self.binary.as_os_str()]);
        let mut command = Command::new(words.next().context("a program to start")?);
        let mut child = command
            .args(words)
            .arg("serve")
            .arg("--data")
            .arg(&self.data)
            .args(["--listen", &address.address])
            .args(&self.options)
            .env("MSSQL_SA_PASSWORD", &address.password)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", self.binary.display()))?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no standard output")?).read_line(&mut line)?;
        if line.is_empty() {
            bail!("the server ended before it was ready: {}", child.wait()?);
        }
        Ok(Keel { child, address })
    }
}

/// Ports below those from which systems take one for an outgoing connection: nobody else gets one between the time it is
/// found free and the time a server listens on it, not even while that server is down.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

/// A loopback port nobody listens on, other than all that this process was given before.
///
/// # Errors
/// When there is none.
pub fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let count = u32::from(PORTS.end - PORTS.start);
    // Processes that look at the same time begin at different places.
    let start = std::process::id().wrapping_mul(97);
    for _ in 0..count {
        let at = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % count;
        let port = PORTS.start + u16::try_from(at)?;
        if TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port from {} to {} is free", PORTS.start, PORTS.end - 1)
}

/// A `keel serve` of our own on a free loopback port. Killed when dropped; its directory stays with the caller.
pub struct Keel {
    child: Child,
    address: Address,
}

impl Keel {
    /// Starts `binary` on `data` and waits for its ready line. `more` is appended to its command line.
    ///
    /// # Errors
    /// When it does not become ready.
    pub fn start(binary: &Path, data: &Path, more: &[&str]) -> Result<Keel> {
        Launch::new(binary, data, more)?.start()
    }

    /// How to reach it.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Lets the sessions to come be in another database.
    pub fn use_database(&mut self, name: &str) {
        self.address.database = name.into();
    }

    /// Encrypts the sessions to come, or not.
    pub fn encrypt(&mut self, encrypt: bool) {
        self.address.encrypt = encrypt;
    }

    /// Kills it as a power cut of the process would: no warning, no clean-up.
    pub fn kill(&mut self) {
        // It may be dead already; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends it as an operator does (SIGTERM), and waits for that.
    ///
    /// # Errors
    /// When the signal cannot be sent.
    pub fn end(mut self) -> Result<()> {
        crate::command(&["kill", "-TERM", &self.pid().to_string()])?;
        self.child.wait()?;
        Ok(())
    }

    /// Process id, for whoever measures it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Keel {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Server for Keel {
    fn name(&self) -> String {
        self.address.name()
    }

    fn connect(&self) -> Result<Box<dyn Connection + Send>> {
        self.address.connect()
    }

    fn pids(&self) -> Vec<u32> {
        vec![self.pid()]
    }

    fn database(&self, name: &str) -> Result<Box<dyn Server + Send>> {
        self.address.database(name)
    }

    fn login(&self, database: &str, user: &str, password: &str) -> Result<Box<dyn Server + Send>> {
        self.address.login(database, user, password)
    }
}

/// A session over TDS.
pub struct TdsConnection {
    client: Client<TcpStream>,
}

fn lost(error: ClientError) -> CallError {
    CallError::Lost(error.to_string())
}

impl TdsConnection {
    /// Sends a batch, and tells the server after a pause to stop, as a client does whose time is over. The session goes on.
    ///
    /// # Errors
    /// When the connection is lost, and what the server said before it stopped.
    pub fn cancel(&mut self, sql: &str, after: Duration) -> Result<(), CallError> {
        self.client.batch(sql).map_err(lost)?;
        std::thread::sleep(after);
        self.client.attention().map_err(lost)?;
        self.client.drain_attention().map_err(lost)?.map_or(Ok(()), |m| Err(call_error(&m)))
    }

    /// Reads the response to its end; hands rows to `each`.
    fn finish(&mut self, mut each: impl FnMut(Vec<Data<'static>>)) -> Result<u64, CallError> {
        self.read(|token| {
            if let Token::Row(values) = token {
                each(values);
            }
        })
    }

    /// Reads the response to its end; hands rows and output parameters to `each`.
    fn read(&mut self, mut each: impl FnMut(Token<'static>)) -> Result<u64, CallError> {
        let (mut failed, mut rows) = (None, 0);
        loop {
            match self.client.next_token().map_err(lost)? {
                None => break,
                Some(token @ (Token::Row(_) | Token::ReturnValue(_))) => each(token),
                Some(Token::Done(done)) if done.status.contains(DoneStatus::COUNT) => rows = done.rows,
                Some(Token::Message(m)) if m.is_error && failed.is_none() => failed = Some(call_error(&m)),
                Some(_) => {}
            }
        }
        failed.map_or(Ok(rows), Err)
    }
}

fn call_error(m: &ServerMessage) -> CallError {
    let text = format!("Msg {}, Level {}, State {}, Line {}: {}", m.number, m.class, m.state, m.line, m.text);
    match m.number {
        1205 | 3960 | 1222 => CallError::Retry(text),
        _ => CallError::Refused(text),
    }
}

/// Days from the first of the wire's to 1970-01-01.
const UNIX_EPOCH_DAYS: i64 = 719_162;

/// The type a cell is sent as.
fn type_of(cell: &Cell) -> TypeInfo {
    match cell {
        Cell::Null | Cell::Int(_) => TypeInfo::IntN(4),
        Cell::Decimal(_, scale) => TypeInfo::Decimal { numeric: false, precision: 18, scale: *scale },
        Cell::Text(_) => TypeInfo::VarChar(8000, WireCollation::LATIN1_CI_AS),
        Cell::Date(_) => TypeInfo::DateN,
        Cell::Timestamp(_) => TypeInfo::DateTime2N(3),
    }
}

fn data(cell: Cell) -> Data<'static> {
    match cell {
        Cell::Null => Data::Null,
        Cell::Int(i) => Data::Int(i as i32),
        Cell::Decimal(digits, scale) => {
            Data::Decimal { negative: digits < 0, magnitude: digits.unsigned_abs().into(), scale }
        }
        Cell::Text(s) => Data::Char(s.into_bytes().into()),
        Cell::Date(day) => Data::Date(u32::try_from(i64::from(day) + UNIX_EPOCH_DAYS).unwrap_or_default()),
        Cell::Timestamp(seconds) => {
            let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
            let days = u32::try_from(days + UNIX_EPOCH_DAYS).unwrap_or_default();
            Data::DateTime2 { days, time: second as u64 * 10_000_000 }
        }
    }
}

/// Appends a value of a row.
fn put_cell(out: &mut Vec<u8>, cell: Cell, ty: &TypeInfo) {
    match (ty, cell) {
        // What most columns are goes straight from the cell.
        (TypeInfo::IntN(4), Cell::Int(i)) => {
            let [a, b, c, d] = (i as i32).to_le_bytes();
            out.extend_from_slice(&[4, a, b, c, d]);
        }
        (TypeInfo::VarChar(longest, _), Cell::Text(s)) if s.len() <= usize::from(*longest) => {
            out.extend_from_slice(&(s.len() as u16).to_le_bytes());
            out.extend_from_slice(s.as_bytes());
        }
        (ty, cell) => data(cell).encode(out, ty, Place::Row),
    }
}

fn cell(value: Data<'_>) -> Cell {
    match value {
        Data::TinyInt(i) => Cell::Int(i.into()),
        Data::SmallInt(i) => Cell::Int(i.into()),
        Data::Int(i) => Cell::Int(i.into()),
        Data::BigInt(i) => Cell::Int(i),
        Data::Bit(b) => Cell::Int(b.into()),
        Data::Decimal { negative, magnitude, scale } => {
            let digits = i64::try_from(magnitude).unwrap_or(i64::MAX);
            Cell::Decimal(if negative { -digits } else { digits }, scale)
        }
        Data::Money(m) => Cell::Decimal(m, 4),
        Data::Date(days) => i32::try_from(i64::from(days) - UNIX_EPOCH_DAYS).map_or(Cell::Null, Cell::Date),
        Data::Char(bytes) => Cell::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Data::NChar(bytes) => Cell::Text(keel_tds::text::from_utf16le(&bytes)),
        _ => Cell::Null,
    }
}

impl Connection for TdsConnection {
    fn execute(&mut self, sql: &str) -> Result<(), CallError> {
        self.client.batch(sql).map_err(lost)?;
        self.finish(|_| {}).map(|_| ())
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, CallError> {
        self.client.batch(sql).map_err(lost)?;
        let mut rows = Vec::new();
        self.finish(|row| rows.push(row.into_iter().map(cell).collect()))?;
        Ok(rows)
    }

    fn call(&mut self, procedure: &str, arguments: &[Cell]) -> Result<Option<Vec<Cell>>, CallError> {
        self.client
            .call(|out| {
                encode_call(out, &Procedure::Name(procedure.into()), CallFlags(0));
                for argument in arguments {
                    let (ty, value) = (type_of(argument), data(argument.clone()));
                    encode_parameter(out, "", ParameterFlags(0), &ty, &value);
                }
            })
            .map_err(lost)?;
        let mut first = None;
        self.finish(|row| {
            first.get_or_insert_with(|| row.into_iter().map(cell).collect());
        })?;
        Ok(first)
    }

    fn prepare(&mut self, sql: &str, parameters: usize) -> Result<u64, CallError> {
        let declared: Vec<String> = (1..=parameters).map(|i| format!("@p{i} int")).collect();
        let text = |s: &str| {
            let utf16: Vec<u8> = s.encode_utf16().flat_map(u16::to_le_bytes).collect();
            (TypeInfo::NVarChar(8000, WireCollation::LATIN1_CI_AS), Data::NChar(utf16.into()))
        };
        self.client
            .call(|out| {
                encode_call(out, &Procedure::Id(ProcId::Prepare), CallFlags(0));
                encode_parameter(out, "", ParameterFlags::BY_REF, &TypeInfo::IntN(4), &Data::Null);
                for (ty, value) in [text(&declared.join(", ")), text(sql)] {
                    encode_parameter(out, "", ParameterFlags(0), &ty, &value);
                }
                encode_parameter(out, "", ParameterFlags(0), &TypeInfo::IntN(4), &Data::Int(1));
            })
            .map_err(lost)?;
        let mut handle = None;
        self.read(|token| {
            if let Token::ReturnValue(value) = token
                && let Data::Int(n) = value.value
            {
                handle = Some(n as u64);
            }
        })?;
        handle.ok_or_else(|| CallError::Refused("sp_prepare gave no handle".into()))
    }

    fn run(&mut self, handle: u64, arguments: &[i64]) -> Result<Option<Vec<Cell>>, CallError> {
        self.client
            .call(|out| {
                encode_call(out, &Procedure::Id(ProcId::Execute), CallFlags(0));
                for n in std::iter::once(handle as i32).chain(arguments.iter().map(|n| *n as i32)) {
                    encode_parameter(out, "", ParameterFlags(0), &TypeInfo::IntN(4), &Data::Int(n));
                }
            })
            .map_err(lost)?;
        let mut first = None;
        self.finish(|row| {
            first.get_or_insert_with(|| row.into_iter().map(cell).collect());
        })?;
        Ok(first)
    }

    fn bulk(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &mut dyn Iterator<Item = Vec<Cell>>,
    ) -> Result<u64, CallError> {
        let mut rows = rows.peekable();
        let Some(first) = rows.peek() else { return Ok(0) };
        // A column's type is that of its first row; the workloads never start one with NULL.
        let types: Vec<TypeInfo> = first.iter().map(type_of).collect();
        let declared: Vec<String> =
            columns.iter().zip(&types).map(|(name, ty)| format!("[{name}] {}", sql_type(ty))).collect();
        let sql = format!("INSERT BULK [{table}] ({}) WITH (TABLOCK)", declared.join(", "));
        self.client.batch(&sql).map_err(lost)?;
        self.finish(|_| {})?;
        let metadata: Vec<Column> = columns
            .iter()
            .zip(types)
            .map(|(name, ty)| Column {
                user_type: 0,
                flags: ColumnFlags::NULLABLE,
                ty,
                table: Vec::new(),
                crypto: None,
                name: (*name).into(),
            })
            .collect();
        let mut begun = false;
        self.client
            .bulk(|out| {
                if !std::mem::replace(&mut begun, true) {
                    column::put(out, metadata.iter(), keel_tds::Dialect::default(), false);
                }
                match rows.next() {
                    Some(cells) => {
                        out.push(ROW);
                        cells.into_iter().zip(&metadata).for_each(|(cell, c)| put_cell(out, cell, &c.ty));
                        true
                    }
                    None => {
                        let done = Done { kind: DoneKind::Done, status: DoneStatus(0), command: 0, rows: 0 };
                        done.put(out, keel_tds::Dialect::default());
                        false
                    }
                }
            })
            .map_err(lost)?;
        self.finish(|_| {})
    }

    fn dialect(&self) -> Dialect {
        Dialect::TransactSql
    }
}

fn sql_type(ty: &TypeInfo) -> String {
    match ty {
        TypeInfo::IntN(_) => "int".into(),
        TypeInfo::Decimal { precision, scale, .. } => format!("decimal({precision},{scale})"),
        TypeInfo::DateN => "date".into(),
        TypeInfo::DateTime2N(scale) => format!("datetime2({scale})"),
        _ => "varchar(8000)".into(),
    }
}
