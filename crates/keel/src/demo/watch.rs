//! What the instances say of themselves: one thread each asks the system views, ten times a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use keel_bench::tds::Address;
use keel_workload::{Cell, Connection};

use super::FRAME;

const QUERY: &str =
    "SELECT r.role_desc, d.synchronization_state_desc, d.redo_queue_size, d.database_state_desc
    FROM sys.dm_hadr_availability_replica_states r
    LEFT JOIN sys.dm_hadr_database_replica_states d ON d.replica_id = r.replica_id AND d.is_local = 1
    WHERE r.is_local = 1";

/// One instance, as it said last.
#[derive(Clone, Default)]
pub struct NodeView {
    /// It answers.
    pub up: bool,
    /// PRIMARY, SECONDARY or RESOLVING.
    pub role: String,
    /// SYNCHRONIZED and so on.
    pub state: String,
    /// Log that is not redone yet, KB.
    pub redo_queue: i64,
}

impl NodeView {
    fn is_primary(&self) -> bool {
        self.up && self.role == "PRIMARY"
    }
}

/// The threads that ask.
pub struct Watch {
    nodes: Arc<Mutex<Vec<NodeView>>>,
    stop: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Watch {
    /// Starts asking.
    pub fn start(addresses: Vec<Address>) -> Watch {
        let nodes = Arc::new(Mutex::new(vec![NodeView::default(); addresses.len()]));
        let stop = Arc::new(AtomicBool::new(false));
        let threads = addresses.into_iter().enumerate().map(|(number, address)| {
            let (nodes, stop) = (Arc::clone(&nodes), Arc::clone(&stop));
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    ask(&address, &stop, |view| {
                        if let Ok(mut nodes) = nodes.lock() {
                            nodes[number] = view;
                        }
                    });
                    std::thread::sleep(FRAME);
                }
            })
        });
        Watch { threads: Mutex::new(threads.collect()), nodes, stop }
    }

    /// All instances, as they said last.
    pub fn nodes(&self) -> Vec<NodeView> {
        self.nodes.lock().map(|nodes| nodes.clone()).unwrap_or_default()
    }

    /// The primary, if exactly one says that it is.
    pub fn primary(&self) -> Option<usize> {
        let nodes = self.nodes();
        let mut primaries = nodes.iter().enumerate().filter(|(_, node)| node.is_primary());
        let first = primaries.next()?.0;
        primaries.next().is_none().then_some(first)
    }

    /// Every instance answers and its copy is synchronized.
    pub fn whole(&self) -> bool {
        self.primary().is_some() && self.nodes().iter().all(|node| node.up && node.state == "SYNCHRONIZED")
    }

    /// Ends the asking.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.lock().map(|mut t| std::mem::take(&mut *t)).unwrap_or_default() {
            // A panic there was printed; the picture is not what this is about.
            let _ = thread.join();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Asks over one session until it is lost or there is enough.
fn ask(address: &Address, stop: &AtomicBool, tell: impl Fn(NodeView)) {
    let Ok(mut session) = address.session("master") else {
        tell(NodeView::default());
        return;
    };
    while !stop.load(Ordering::Relaxed) {
        match session.query(QUERY) {
            Ok(rows) => {
                tell(rows.first().map_or(NodeView { up: true, ..NodeView::default() }, |row| view(row)))
            }
            Err(_) => {
                tell(NodeView::default());
                return;
            }
        }
        std::thread::sleep(FRAME);
    }
}

fn view(row: &[Cell]) -> NodeView {
    let text = |n: usize| match row.get(n) {
        Some(Cell::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let redo_queue = if let Some(Cell::Int(kb)) = row.get(2) { *kb } else { 0 };
    NodeView { up: true, role: text(0), state: text(1), redo_queue }
}
