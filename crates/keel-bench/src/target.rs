//! A server under test, started here or named by address.

use anyhow::{Result, bail};
use keel_workload::{Cell, Connection, Dialect};

/// Something to connect to.
pub trait Server: Sync {
    /// Name in reports.
    fn name(&self) -> String;
    /// A new session, logged in, in the benchmark's database.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses the login.
    fn connect(&self) -> Result<Box<dyn Connection + Send>>;
    /// Its processes, where they run on this machine and are known.
    fn pids(&self) -> Vec<u32> {
        Vec::new()
    }
    /// Sessions in another database of it, which is made when missing. The server must outlive what this gives.
    ///
    /// # Errors
    /// What the server says.
    fn database(&self, name: &str) -> Result<Box<dyn Server + Send>> {
        bail!("{} has one database only, not also {name}", self.name())
    }
    /// Sessions of another login in a database of it, which are there. The server must outlive what this gives.
    ///
    /// # Errors
    /// When it has none.
    fn login(&self, _database: &str, user: &str, _password: &str) -> Result<Box<dyn Server + Send>> {
        bail!("{} has no login {user}", self.name())
    }
}

/// What a server says it is, in one line.
///
/// # Errors
/// What the server says.
pub fn version(server: &dyn Server) -> Result<String> {
    let mut connection = server.connect()?;
    let sql = match connection.dialect() {
        Dialect::TransactSql => "SELECT CONVERT(varchar(300), @@VERSION)",
        Dialect::Postgres => "SELECT version()",
    };
    let rows = connection.query(sql)?;
    match rows.first().and_then(|row| row.first()) {
        Some(Cell::Text(text)) => Ok(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        other => anyhow::bail!("the version is {other:?}"),
    }
}
