//! [`System`]: three machines with a database in copies, as the matrix needs it.

use crate::target::Server;
use crate::writers::Door;
use anyhow::Result;
use std::sync::Arc;

/// Three servers, numbered from 0, one of them the primary. [`Server::connect`] is to it, in the database of the ledger.
pub(super) trait System: Server {
    /// The way in for clients that know all three.
    fn door(&self) -> Arc<dyn Door>;
    /// Whether this server takes writes.
    fn is_primary(&self, node: usize) -> bool;
    /// Whether this server answers at all.
    fn answers(&self, node: usize) -> bool;
    /// Whether every copy follows, and commits wait as they should.
    fn is_whole(&self) -> bool;
    /// When the newest failover to a server was open, ms after the old primary was last heard, where the system records it.
    fn opened(&self, node: usize) -> Option<i64>;
    /// The record of that failover in words, where the system keeps one.
    fn record(&self, _node: usize) -> Option<String> {
        None
    }
    /// Failovers so far.
    ///
    /// # Errors
    /// When somebody who must be asked does not answer.
    fn failovers(&self) -> Result<i64>;
    /// Kills the database's process; what watches it lives on.
    ///
    /// # Errors
    /// When it is not there.
    fn kill(&mut self, node: usize) -> Result<()>;
    /// Stops the database and what watches it (SIGSTOP), or lets them go on.
    ///
    /// # Errors
    /// When they are not there.
    fn stop(&mut self, node: usize, stopped: bool) -> Result<()>;
    /// Kills all that runs on the machine.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn power_off(&mut self, node: usize) -> Result<()>;
    /// Starts what was killed, unless something else does.
    ///
    /// # Errors
    /// When it does not start.
    fn start_again(&mut self, node: usize) -> Result<()>;
    /// Stops a server in order, and starts what is to run there from now on.
    ///
    /// # Errors
    /// When it does not end or start; for a system that is not replaced so.
    fn replace(&mut self, node: usize) -> Result<()>;
    /// A planned failover.
    ///
    /// # Errors
    /// What the system says.
    fn fail_over(&mut self, from: usize, to: usize) -> Result<()>;
}
