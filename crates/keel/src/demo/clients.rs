//! The clients: TPROC-C terminals that find the primary, and find it again when it is gone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use keel_bench::tds::{Address, TdsConnection};
use keel_bench::tpcc::Settings;
use keel_workload::tpcc::run::{Ledger, Terminal};
use keel_workload::{Cell, Connection};

use super::DATABASE;

/// Pause before all instances are asked again who the primary is.
const RETRY: Duration = Duration::from_millis(5);

/// What the terminals share.
struct Shared {
    addresses: Vec<Address>,
    began: Instant,
    stop: AtomicBool,
    acknowledged: AtomicU64,
    /// Of the newest acknowledgement, microseconds after `began`.
    newest: AtomicU64,
    /// Longest time between two acknowledgements, microseconds.
    gap: AtomicU64,
    /// Where the primary was last found.
    primary: AtomicU64,
    /// What the newest transaction that failed was told.
    failure: Mutex<Option<String>>,
}

/// Terminals at work.
pub struct Clients {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<Ledger>>>,
}

impl Clients {
    /// Starts as many as the settings say.
    pub fn start(addresses: &[Address], settings: Settings) -> Clients {
        let shared = Arc::new(Shared {
            addresses: addresses.to_vec(),
            began: Instant::now(),
            stop: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
            newest: AtomicU64::new(0),
            gap: AtomicU64::new(0),
            primary: AtomicU64::new(0),
            failure: Mutex::new(None),
        });
        let threads = (0..settings.clients)
            .map(|number| {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.work(Terminal::new(number, settings.scale, settings.seed)))
            })
            .collect();
        Clients { shared, threads: Mutex::new(threads) }
    }

    /// Transactions acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.shared.acknowledged.load(Ordering::Relaxed)
    }

    /// Starts the search for the longest gap anew.
    pub fn forget_gap(&self) {
        self.shared.gap.store(0, Ordering::Relaxed);
    }

    /// The longest time between two acknowledgements, of whichever client.
    pub fn longest_gap(&self) -> Duration {
        Duration::from_micros(self.shared.gap.load(Ordering::Relaxed))
    }

    /// How long nothing has been acknowledged since `moment`; nothing when something has.
    pub fn silent_since(&self, moment: Instant) -> Option<Duration> {
        let newest = self.shared.began + Duration::from_micros(self.shared.newest.load(Ordering::Relaxed));
        (newest <= moment).then(|| moment.elapsed())
    }

    /// What the newest transaction that failed was told; empty when none has.
    pub fn newest_failure(&self) -> String {
        let failure = self.shared.failure.lock().map(|f| f.clone()).unwrap_or_default();
        failure.map_or_else(String::new, |text| format!("; a client was told: {text}"))
    }

    /// Ends all of them; returns what each was told. An error when that is not known of each: then nothing can be proved.
    pub fn stop(&self) -> Result<Vec<Ledger>> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let unknown = || anyhow!("a client has panicked: what it was told is not known");
        let threads = std::mem::take(&mut *self.threads.lock().map_err(|_| unknown())?);
        threads.into_iter().map(|thread| thread.join().map_err(|_| unknown())).collect()
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        // Nobody asks any more what they were told.
        let _ = self.stop();
    }
}

impl Shared {
    fn work(&self, mut terminal: Terminal) -> Ledger {
        let mut connection = None;
        while !self.stop.load(Ordering::Relaxed) {
            let Some(session) = &mut connection else {
                connection = self.find_primary();
                continue;
            };
            match terminal.step(session) {
                Ok(_) => self.told(),
                // Lost, or refused because the role went elsewhere: the ledger has it as in doubt.
                Err(error) => {
                    connection = None;
                    if let Ok(mut failure) = self.failure.lock() {
                        *failure = Some(error.to_string());
                    }
                }
            }
        }
        terminal.ledger
    }

    fn told(&self) {
        let now = self.began.elapsed().as_micros() as u64;
        let before = self.newest.fetch_max(now, Ordering::Relaxed);
        self.gap.fetch_max(now.saturating_sub(before), Ordering::Relaxed);
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks the instances in turn, beginning where the primary was last.
    fn find_primary(&self) -> Option<TdsConnection> {
        let count = self.addresses.len();
        let last = self.primary.load(Ordering::Relaxed) as usize;
        for number in (0..count).map(|n| (last + n) % count) {
            if let Some(session) = primary_session(&self.addresses[number]) {
                self.primary.store(number as u64, Ordering::Relaxed);
                return Some(session);
            }
        }
        std::thread::sleep(RETRY);
        None
    }
}

/// A session in the database, if the instance is its primary.
fn primary_session(address: &Address) -> Option<TdsConnection> {
    let mut session = address.session(DATABASE).ok()?;
    let rows = session.query(&format!("SELECT sys.fn_hadr_is_primary_replica('{DATABASE}')")).ok()?;
    matches!(rows.first().map(Vec::as_slice), Some([Cell::Int(1)])).then_some(session)
}
