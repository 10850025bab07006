//! A client that waits for an answer when its server fails. It has nothing to send, so that its system would not find out by itself that nobody
//! is there any more.

use crate::writers::Door;
use anyhow::{Context, Result};
use std::sync::mpsc;
use std::time::Duration;

/// Longer than any run.
const PATIENCE: Duration = Duration::from_secs(3600);

/// See the module. Ends with its process if nobody tells it anything.
pub(super) struct Waiter(mpsc::Receiver<()>);

impl Waiter {
    /// Connects, and begins to wait.
    pub(super) fn start(door: &dyn Door) -> Result<Waiter> {
        let mut session = door.open(0, PATIENCE)?;
        let (over, told) = mpsc::channel();
        let wait = move || {
            // However it ends, the client has been told something.
            let _ = session.query("WAITFOR DELAY '01:00:00'");
            // Nobody may ask any more.
            let _ = over.send(());
        };
        std::thread::Builder::new()
            .name("waiter".into())
            .spawn(wait)
            .context("no thread for a client that waits")?;
        Ok(Waiter(told))
    }

    /// Whether it has been told within `time` that it waits for nobody.
    pub(super) fn is_over(&self, time: Duration) -> bool {
        self.0.recv_timeout(time).is_ok()
    }
}
