//! A client that keeps a ledger of what was acknowledged, and the directory of a test.

use super::{Instance, KEEL, PASSWORD};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing that a test waits for takes so long.
pub const LONG: Duration = Duration::from_secs(60);

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

/// How long the client waits before it tries another instance: one that stands still answers nothing.
const PATIENCE: Duration = Duration::from_millis(500);

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
                    let answer = answers.recv_timeout(PATIENCE);
                    if sent.is_err() || !answer.is_ok_and(|line| line.trim() == kept) {
                        break;
                    }
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
        let deadline = Instant::now() + LONG;
        while self.acknowledged.load(Ordering::Acquire) < from + count {
            assert!(Instant::now() < deadline, "writes do not go on");
            thread::park_timeout(Duration::from_millis(5));
        }
    }

    pub fn stop(self, what: &str) -> BTreeSet<u64> {
        self.stopping.store(true, Ordering::Release);
        let (held, gap) = self.writer.join().unwrap();
        // For whoever wants to know; nothing is asserted.
        eprintln!("{what}: {} commits, no commit for {gap:?} at most", held.len());
        held
    }
}
