//! TPROC-C terminals in the background of something else that is measured.

use crate::target::Server;
use crate::tpcc::{Settings, think};
use anyhow::{Result, anyhow};
use keel_workload::tpcc::run::{Ledger, Terminal};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the measured part sees of the terminals.
pub struct Load {
    done: AtomicU64,
    stop: AtomicBool,
}

impl Load {
    /// Transactions acknowledged so far.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Ends the terminals. Happens by itself when the measured part returns.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Runs `part` while the settings' clients work, and returns what it gives with what the clients were told.
///
/// # Errors
/// Those of `part`, and what the server says to a client.
pub fn during<T>(
    server: &dyn Server,
    settings: Settings,
    seed: u64,
    part: impl FnOnce(&Load) -> Result<T>,
) -> Result<(T, Vec<Ledger>)> {
    let load = Load { done: AtomicU64::new(0), stop: AtomicBool::new(false) };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..settings.clients)
            .map(|n| {
                let load = &load;
                scope.spawn(move || -> Result<Ledger> {
                    let mut connection = server.connect()?;
                    let mut terminal = Terminal::new(n, settings.scale, settings.seed ^ (seed << 8));
                    while !load.stop.load(Ordering::Relaxed) {
                        terminal.step(&mut *connection)?;
                        load.done.fetch_add(1, Ordering::Relaxed);
                        think(terminal.think_time(settings.think), &load.stop);
                    }
                    Ok(terminal.ledger)
                })
            })
            .collect();
        let given = part(&load);
        load.stop();
        let ledgers = handles.into_iter().map(|h| h.join().map_err(|_| anyhow!("a terminal panicked"))?);
        let ledgers = ledgers.collect::<Result<Vec<_>>>();
        Ok((given?, ledgers?))
    })
}
