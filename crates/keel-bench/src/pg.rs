//! PostgreSQL as a peer: a cluster in a scratch directory with `fsync` on, and a [`Connection`] over the extended
//! protocol with prepared statements, and COPY for bulk loads.

use crate::machines::is_root;
use crate::target::Server;
use anyhow::{Context, Result, bail};
use keel_workload::tproch::rows::date_of;
use keel_workload::{CallError, Cell, Connection, Dialect};
use postgres::types::{FromSql, ToSql, Type};
use postgres::{Client, NoTls, Statement};
use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A PostgreSQL cluster of our own. Stopped and removed when dropped.
pub struct Cluster {
    bin: PathBuf,
    dir: PathBuf,
    port: u16,
    /// Put before the server's command line.
    before: Vec<String>,
}

/// What is set beside the defaults: durability stays on, memory as ours gets, and room for long checkpoints, as any
/// guide to tuning PostgreSQL for such a load advises.
const SETTINGS: &str = "listen_addresses = '127.0.0.1'
fsync = on
synchronous_commit = on
shared_buffers = 4GB
max_wal_size = 16GB
checkpoint_timeout = 15min
checkpoint_completion_target = 0.9
wal_buffers = 64MB
work_mem = 64MB
maintenance_work_mem = 512MB
effective_cache_size = 12GB
random_page_cost = 1.1
jit = off
max_connections = 200
unix_socket_directories = ''
";

impl Cluster {
    /// Makes and starts a cluster below `scratch`. The server refuses to run as root, so as root it runs as `postgres`.
    ///
    /// # Errors
    /// When PostgreSQL is not installed (Debian: `postgresql-15`) or does not start.
    pub fn start(scratch: &Path) -> Result<Cluster> {
        let cluster = Cluster::place(&scratch.join("postgres"), Vec::new())?;
        cluster.init("")?;
        cluster.serve()?;
        Ok(cluster)
    }

    /// A directory for a cluster, and a port; `before` is put before the server's command line.
    pub(crate) fn place(dir: &Path, before: Vec<String>) -> Result<Cluster> {
        let bin = programs()?;
        let port = crate::tds::free_port()?;
        let cluster = Cluster { bin, dir: dir.to_path_buf(), port, before };
        std::fs::create_dir_all(&cluster.dir)?;
        cluster.own(&cluster.dir)?;
        Ok(cluster)
    }

    /// Makes the files; `more` is appended to the settings.
    pub(crate) fn init(&self, more: &str) -> Result<()> {
        let options = ["-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8"];
        run(self.command("initdb").arg("-D").arg(self.data()).args(options))?;
        self.configure(&format!("{SETTINGS}{more}"))
    }

    /// Appends settings, and the port.
    pub(crate) fn configure(&self, settings: &str) -> Result<()> {
        let conf = self.data().join("postgresql.conf");
        let mut file = std::fs::OpenOptions::new().append(true).open(conf)?;
        Ok(file.write_all(format!("{settings}port = {}\n", self.port).as_bytes())?)
    }

    /// Gives a file or directory to the user that the server runs as.
    pub(crate) fn own(&self, path: &Path) -> Result<()> {
        if is_root() { run(Command::new("chown").arg("postgres").arg(path)) } else { Ok(()) }
    }

    /// Starts the server on the files.
    pub(crate) fn serve(&self) -> Result<()> {
        let (data, log) = (self.data(), self.dir.join("log"));
        run(self.command("pg_ctl").arg("-D").arg(data).args(["-w", "-l"]).arg(log).arg("start"))
    }

    /// Where its files are.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Its port on the loopback address.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The server's first process; the others descend from it.
    pub(crate) fn postmaster(&self) -> Result<u32> {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid"))?;
        Ok(file.lines().next().context("an empty postmaster.pid")?.trim().parse()?)
    }

    /// A program of the same version, run as the user that the server runs as.
    pub(crate) fn command(&self, program: &str) -> Command {
        let path = self.bin.join(program);
        let mut words: Vec<String> = self.before.clone();
        if is_root() {
            let user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];
            words.extend(user.map(str::to_owned));
        }
        words.push(path.display().to_string());
        let mut command = Command::new(&words[0]);
        // libpq looks there for certificates, and the caller's home is closed to the server's user.
        command.args(&words[1..]).current_dir("/").env("HOME", &self.dir);
        command
    }

    /// `pgbench` of the same version, pointed at this cluster.
    #[must_use]
    pub fn pgbench(&self) -> Command {
        let mut command = Command::new(self.bin.join("pgbench"));
        command.args(["-h", "127.0.0.1", "-U", "postgres", "-p", &self.port.to_string()]);
        command
    }

    /// The peer's settings, for the report.
    #[must_use]
    pub fn settings(&self) -> &'static str {
        SETTINGS
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Best effort: the scratch directory goes with it.
        let _ = run(self.command("pg_ctl").arg("-D").arg(self.data()).args(["-m", "immediate", "stop"]));
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Server for Cluster {
    fn name(&self) -> String {
        "PostgreSQL".into()
    }

    fn connect(&self) -> Result<Box<dyn Connection + Send>> {
        Ok(Box::new(PgConnection::open(&format!("host=127.0.0.1 port={} user=postgres", self.port))?))
    }

    fn pids(&self) -> Vec<u32> {
        self.postmaster().map(crate::process::family).unwrap_or_default()
    }

    fn database(&self, name: &str) -> Result<Box<dyn Server + Send>> {
        let place = Database { port: self.port, name: name.into() };
        let there = format!("SELECT 1 FROM pg_database WHERE datname = '{name}'");
        let mut session = self.connect()?;
        if session.query(&there)?.is_empty() {
            session.execute(&format!("CREATE DATABASE {name}"))?;
        }
        Ok(Box::new(place))
    }
}

/// A database of a cluster.
struct Database {
    port: u16,
    name: String,
}

impl Server for Database {
    fn name(&self) -> String {
        "PostgreSQL".into()
    }

    fn connect(&self) -> Result<Box<dyn Connection + Send>> {
        let at = format!("host=127.0.0.1 port={} user=postgres dbname={}", self.port, self.name);
        Ok(Box::new(PgConnection::open(&at)?))
    }
}

/// Where the newest version's programs are.
pub(crate) fn programs() -> Result<PathBuf> {
    std::fs::read_dir("/usr/lib/postgresql")
        .context("PostgreSQL is not installed (Debian: apt-get install postgresql-15)")?
        .filter_map(|e| e.ok().map(|e| e.path().join("bin")))
        .max()
        .context("no PostgreSQL version found")
}

pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("running {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// A session.
pub(crate) struct PgConnection {
    client: Client,
    /// Calls of procedures by name.
    prepared: HashMap<String, Statement>,
    /// Queries by handle.
    queries: Vec<Statement>,
}

impl PgConnection {
    /// A session by libpq's kind of connection string.
    pub(crate) fn open(at: &str) -> Result<PgConnection> {
        let client = Client::connect(at, NoTls)?;
        Ok(PgConnection { client, prepared: HashMap::new(), queries: Vec::new() })
    }
}

fn sorted(error: postgres::Error) -> CallError {
    let text = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
    match error.code().map(|c| c.code()) {
        Some("40001" | "40P01") => CallError::Retry(text),
        Some(_) => CallError::Refused(text),
        None => CallError::Lost(text),
    }
}

/// A cell as text parameter: the server casts it, as it does for every driver that has no decimal type.
fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Int(i) => Some(i.to_string()),
        Cell::Decimal(digits, scale) => Some(decimal(*digits, *scale)),
        Cell::Text(s) => Some(s.clone()),
        Cell::Date(day) => Some(date_of(*day).to_string()),
        // PostgreSQL's own spelling of seconds since the epoch is not accepted by COPY; the loads use one moment.
        Cell::Timestamp(_) => Some("2023-11-14 22:13:20".into()),
    }
}

/// `-12345, 2` → `-123.45`.
pub(crate) fn decimal(digits: i64, scale: u8) -> String {
    let unit = 10_u64.pow(u32::from(scale));
    let sign = if digits < 0 { "-" } else { "" };
    let digits = digits.unsigned_abs();
    format!("{sign}{}.{:0width$}", digits / unit, digits % unit, width = usize::from(scale))
}

impl Connection for PgConnection {
    fn execute(&mut self, sql: &str) -> Result<(), CallError> {
        self.client.batch_execute(sql).map_err(sorted)
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, CallError> {
        let rows = self.client.query(sql, &[]).map_err(sorted)?;
        Ok(rows.iter().map(|row| (0..row.len()).map(|i| cell(row, i)).collect()).collect())
    }

    fn call(&mut self, procedure: &str, arguments: &[Cell]) -> Result<Option<Vec<Cell>>, CallError> {
        if !self.prepared.contains_key(procedure) {
            let types: Vec<Type> = arguments
                .iter()
                .map(|a| if matches!(a, Cell::Int(_)) { Type::INT4 } else { Type::TEXT })
                .collect();
            let places: Vec<String> = arguments
                .iter()
                .enumerate()
                .map(|(i, a)| {
                    format!("${}{}", i + 1, if matches!(a, Cell::Decimal(..)) { "::decimal" } else { "" })
                })
                .collect();
            let sql = format!("SELECT * FROM {procedure}({})", places.join(", "));
            let statement = self.client.prepare_typed(&sql, &types).map_err(sorted)?;
            self.prepared.insert(procedure.to_string(), statement);
        }
        let values: Vec<Box<dyn ToSql + Sync>> = arguments
            .iter()
            .map(|a| match a {
                Cell::Int(i) => Box::new(*i as i32) as Box<dyn ToSql + Sync>,
                other => Box::new(text(other)),
            })
            .collect();
        let references: Vec<&(dyn ToSql + Sync)> = values.iter().map(AsRef::as_ref).collect();
        let rows = self.client.query(&self.prepared[procedure], &references).map_err(sorted)?;
        Ok(rows.first().map(|row| (0..row.len()).map(|i| cell(row, i)).collect()))
    }

    fn prepare(&mut self, sql: &str, parameters: usize) -> Result<u64, CallError> {
        let statement = self.client.prepare_typed(sql, &vec![Type::INT4; parameters]).map_err(sorted)?;
        self.queries.push(statement);
        Ok(self.queries.len() as u64 - 1)
    }

    fn run(&mut self, handle: u64, arguments: &[i64]) -> Result<Option<Vec<Cell>>, CallError> {
        let values: Vec<i32> = arguments.iter().map(|n| *n as i32).collect();
        let references: Vec<&(dyn ToSql + Sync)> = values.iter().map(|v| v as &(dyn ToSql + Sync)).collect();
        let rows = self.client.query(&self.queries[handle as usize], &references).map_err(sorted)?;
        Ok(rows.first().map(|row| (0..row.len()).map(|i| cell(row, i)).collect()))
    }

    fn bulk(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &mut dyn Iterator<Item = Vec<Cell>>,
    ) -> Result<u64, CallError> {
        let sql = format!("COPY {table} ({}) FROM STDIN", columns.join(", "));
        let mut writer = self.client.copy_in(&sql).map_err(sorted)?;
        let mut buffer = Vec::with_capacity(1 << 16);
        let lost = |e: std::io::Error| CallError::Lost(e.to_string());
        for row in rows {
            for (i, cell) in row.iter().enumerate() {
                if i > 0 {
                    buffer.push(b'\t');
                }
                buffer.extend_from_slice(text(cell).as_deref().unwrap_or("\\N").as_bytes());
            }
            buffer.push(b'\n');
            if buffer.len() > 60_000 {
                writer.write_all(&buffer).map_err(lost)?;
                buffer.clear();
            }
        }
        writer.write_all(&buffer).map_err(lost)?;
        writer.finish().map_err(sorted)
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }
}

/// A value of `numeric`.
struct Numeric(Cell);

/// Decimals of a [`Numeric`]; what is behind them is cut off.
const DECIMALS: u32 = 9;

/// `numeric` as the server sends it: how many digits of base 10,000 follow, the power of the first, sign, decimals to show, digits.
fn numeric(raw: &[u8]) -> Option<Cell> {
    let mut words = raw.chunks_exact(2).map(|two| i16::from_be_bytes([two[0], two[1]]));
    let (_digits, weight, sign, _shown) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let mut value = 0i128;
    for (digit, place) in words.zip(0..) {
        // Decimal places that the digit's last one is above the last that is kept.
        let above = (i32::from(weight) - place) * 4 + DECIMALS as i32;
        value += match above {
            0.. => i128::from(digit).checked_mul(10_i128.checked_pow(above as u32)?)?,
            -3..0 => i128::from(digit) / 10_i128.pow(above.unsigned_abs()),
            _ => 0,
        };
    }
    let mut scale = DECIMALS;
    while i64::try_from(value).is_err() && scale > 0 {
        value /= 10;
        scale -= 1;
    }
    let value = i64::try_from(value).ok()?;
    Some(Cell::Decimal(if sign == 0 { value } else { -value }, scale as u8))
}

impl FromSql<'_> for Numeric {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Numeric, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Numeric(numeric(raw).ok_or("a numeric that is none, or too large")?))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::NUMERIC
    }
}

/// A value of `date`: days since 2000-01-01, which is day 10,957 since 1970-01-01.
struct Day(Cell);

impl FromSql<'_> for Day {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Day, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Day(Cell::Date(i32::from_be_bytes(raw.try_into()?).saturating_add(10_957))))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::DATE
    }
}

/// Numbers, days and texts are read; other types are not asked for by the workloads and come back as NULL.
fn cell(row: &postgres::Row, i: usize) -> Cell {
    let int = |n: Option<i64>| n.map_or(Cell::Null, Cell::Int);
    match *row.columns()[i].type_() {
        Type::INT2 => int(row.try_get::<_, Option<i16>>(i).ok().flatten().map(i64::from)),
        Type::INT4 => int(row.try_get::<_, Option<i32>>(i).ok().flatten().map(i64::from)),
        Type::INT8 => int(row.try_get(i).ok().flatten()),
        Type::NUMERIC => row.try_get::<_, Option<Numeric>>(i).ok().flatten().map_or(Cell::Null, |n| n.0),
        Type::DATE => row.try_get::<_, Option<Day>>(i).ok().flatten().map_or(Cell::Null, |day| day.0),
        _ => row.try_get::<_, Option<String>>(i).ok().flatten().map_or(Cell::Null, Cell::Text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_is_read_to_its_ninth_decimal() {
        let raw = |words: &[i16]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();
        // 12345.678 is 1 × 10,000 + 2345 and 6780 ten-thousandths.
        assert_eq!(numeric(&raw(&[3, 1, 0, 3, 1, 2345, 6780])), Some(Cell::Decimal(12_345_678_000_000, 9)));
        assert_eq!(numeric(&raw(&[1, -1, 0x4000, 2, 500])), Some(Cell::Decimal(-50_000_000, 9)));
        // A third: only nine of its decimals.
        let third = raw(&[4, -1, 0, 16, 3333, 3333, 3333, 3333]);
        assert_eq!(numeric(&third), Some(Cell::Decimal(333_333_333, 9)));
        // 3 × 10^12 has room for six.
        assert_eq!(numeric(&raw(&[1, 3, 0, 0, 3])), Some(Cell::Decimal(3_000_000_000_000_000_000, 6)));
        assert_eq!(numeric(&raw(&[0, 0, 0, 0])), Some(Cell::Decimal(0, 9)));
        assert_eq!(numeric(&[0, 1]), None);
    }

    #[test]
    fn programs_look_for_their_own_files_beside_the_cluster() {
        let dir = std::env::temp_dir().join(format!("keel-bench-pg-{}", std::process::id()));
        let cluster = Cluster { bin: "/nowhere".into(), dir: dir.clone(), port: 1, before: Vec::new() };
        let command = cluster.command("pg_basebackup");
        assert!(command.get_envs().any(|(name, value)| name == "HOME" && value == Some(dir.as_os_str())));
    }
}
