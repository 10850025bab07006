//! A client that keeps a ledger of what was acknowledged, and the directory of a test.

use super::{Instance, KEEL, PASSWORD, comes};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// A directory that goes with the test.
pub struct Dir(pub PathBuf);

impl Dir {
    pub fn new(test: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("keel-failover-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A client that writes numbers, one commit each, to whoever leads, and remembers what was acknowledged.
pub struct Ledger {
    stopping: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    writer: thread::JoinHandle<(BTreeSet<u64>, Duration)>,
}

fn session(server: &str) -> Child {
    let mut command = Command::new(KEEL);
    command.args([
        "sql", "-S", server, "-P", PASSWORD, "-C", "-W", "-b", "-h", "-1", "-l", "1", "-t", "2", "-d", "shop",
    ]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// How long the client waits at first before it tries another instance: one that stands still answers nothing. Where nobody has
/// answered, on a busy machine too, it waits longer the next time.
const PATIENCE: Duration = Duration::from_millis(500);
const PATIENCE_MAX: Duration = Duration::from_secs(10);

fn lines_of(client: &mut Child) -> mpsc::Receiver<String> {
    let (line, lines) = mpsc::channel();
    let output = BufReader::new(client.stdout.take().unwrap());
    thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|text| line.send(text)));
    lines
}

impl Ledger {
    pub fn start(nodes: &[Instance]) -> Ledger {
        let servers: Vec<String> = nodes.iter().map(Instance::server).collect();
        let stopping = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(AtomicU64::new(0));
        let (stop, count) = (Arc::clone(&stopping), Arc::clone(&acknowledged));
        let writer = thread::spawn(move || {
            let (mut held, mut next) = (BTreeSet::new(), 0);
            let (mut last, mut gap) = (Instant::now(), Duration::ZERO);
            let mut patience = PATIENCE;
            for server in servers.iter().cycle() {
                if stop.load(Ordering::Acquire) {
                    break;
                }
                let mut client = session(server);
                let mut input = client.stdin.take().unwrap();
                let answers = lines_of(&mut client);
                while !stop.load(Ordering::Acquire) {
                    next += 1;
                    let batch = format!(
                        "SET NOCOUNT ON; INSERT dbo.ledger VALUES ({next}); PRINT 'kept {next}'\nGO\n"
                    );
                    let sent = input.write_all(batch.as_bytes()).and_then(|()| input.flush());
                    let kept = format!("kept {next}");
                    let answer = answers.recv_timeout(patience);
                    if answer == Err(RecvTimeoutError::Timeout) {
                        patience = PATIENCE_MAX.min(patience * 5 / 4);
                    }
                    if sent.is_err() || !answer.is_ok_and(|line| line.trim() == kept) {
                        break;
                    }
                    patience = PATIENCE;
                    held.insert(next);
                    gap = gap.max(last.elapsed());
                    last = Instant::now();
                    count.fetch_add(1, Ordering::AcqRel);
                }
                let _ = client.kill();
                let _ = client.wait();
            }
            (held, gap)
        });
        Ledger { stopping, acknowledged, writer }
    }

    /// Waits until this many more were acknowledged.
    pub fn more(&self, count: u64) {
        let from = self.acknowledged.load(Ordering::Acquire);
        let more = comes(|| (self.acknowledged.load(Ordering::Acquire) >= from + count).then_some(()));
        assert!(more.is_some(), "writes do not go on");
    }

    pub fn stop(self, what: &str) -> BTreeSet<u64> {
        self.stopping.store(true, Ordering::Release);
        let (held, gap) = self.writer.join().unwrap();
        // For whoever wants to know; nothing is asserted.
        eprintln!("{what}: {} commits, no commit for {gap:?} at most", held.len());
        held
    }
}
