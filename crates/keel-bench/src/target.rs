//! A server under test, started here or named by address.

use anyhow::Result;
use keel_workload::Connection;

/// Something to connect to.
pub trait Server: Sync {
    /// Name in reports.
    fn name(&self) -> String;
    /// A new session, logged in, in the benchmark's database.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses the login.
    fn connect(&self) -> Result<Box<dyn Connection + Send>>;
}
