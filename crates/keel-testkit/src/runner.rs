//! Drives the sessions of a script, each on a thread of its own.

use crate::script::{self, Step};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The world a script runs in.
pub trait World {
    /// How to open a session; called on the thread that the session stays on.
    fn connect(&mut self, name: &str) -> Connect;
    /// How many sessions wait for a lock, or for their turn in a workload group, right now.
    fn waiting(&self) -> usize;
    /// Cuts the power and opens everything again. All sessions are gone before.
    fn restart(&mut self);
}

/// Opens a session.
pub type Connect = Box<dyn FnOnce() -> Box<dyn Connection> + Send>;

/// A session.
pub trait Connection {
    /// Runs a batch and returns its transcript.
    fn run(&mut self, batch: &str) -> String;
}

/// Longest wait for a batch that should end: a script that hangs fails instead of hanging the suite.
const BATCH_SECONDS_MAX: u64 = 60;

/// Stack of a session's thread, as in the server.
pub(crate) const STACK_BYTES: usize = 16 << 20;

/// Time between two looks at the lock manager while a batch is expected to wait.
const LOOK: Duration = Duration::from_millis(1);

struct Worker {
    batches: Sender<String>,
    answers: Receiver<String>,
    thread: Option<JoinHandle<()>>,
    /// A started batch whose answer has not been shown.
    pending: bool,
}

impl Worker {
    fn start(connect: Connect) -> Worker {
        let (batches, inbox) = channel::<String>();
        let (outbox, answers) = channel();
        let session = move || {
            let mut connection = connect();
            for batch in inbox {
                if outbox.send(connection.run(&batch)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(session);
        Worker { batches, answers, thread: thread.ok(), pending: false }
    }

    fn send(&self, batch: &str) {
        // A dead worker shows as a missing answer.
        let _ = self.batches.send(batch.to_owned());
    }

    fn answer(&self) -> String {
        match self.answers.recv_timeout(Duration::from_secs(BATCH_SECONDS_MAX)) {
            Ok(answer) => answer,
            Err(_) => {
                format!("!! no answer within {BATCH_SECONDS_MAX} s, or the session's thread panicked\n")
            }
        }
    }

    fn close(mut self) {
        let Worker { batches, answers, thread, .. } = &mut self;
        let (dead, _) = channel();
        drop(std::mem::replace(batches, dead));
        // A session that still waits is left behind: joining it would hang the suite.
        if let Some(thread) = thread.take()
            && !matches!(
                answers.recv_timeout(Duration::from_secs(1)),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout)
            )
        {
            let _ = thread.join();
        }
    }
}

/// Runs a script and returns its transcript.
pub fn run(text: &str, world: &mut dyn World) -> String {
    let steps = script::parse(text);
    let several = steps.iter().any(|step| match step {
        Step::Run { session, .. } | Step::Start { session, .. } => session != script::MAIN,
        _ => true,
    });
    let mut runner = Runner { world, workers: BTreeMap::new(), out: String::new(), several };
    for step in steps {
        runner.step(step);
    }
    runner.finish()
}

struct Runner<'w> {
    world: &'w mut dyn World,
    workers: BTreeMap<String, Worker>,
    out: String,
    /// Whether lines show their session.
    several: bool,
}

impl Runner<'_> {
    fn step(&mut self, step: Step) {
        match step {
            Step::Run { session, text, count } => {
                self.echo(&session, &text);
                for _ in 0..count {
                    let worker = self.worker(&session);
                    worker.send(&text);
                    let answer = worker.answer();
                    self.out.push_str(&answer);
                }
            }
            Step::Start { session, text } => {
                self.echo(&session, &text);
                self.start(&session, &text);
            }
            Step::Resume { session } => {
                let worker = self.worker(&session);
                if std::mem::take(&mut worker.pending) {
                    let answer = worker.answer();
                    let _ = writeln!(self.out, "{session} resumes\n{}", answer.trim_end());
                } else {
                    let _ = writeln!(self.out, "!! {session} was not waiting");
                }
            }
            Step::Restart => {
                self.close_all();
                self.world.restart();
                self.out.push_str("(restart)\n");
            }
        }
        if !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn echo(&mut self, session: &str, text: &str) {
        for line in text.lines() {
            let prompt = if self.several { session } else { "" };
            let _ = writeln!(self.out, "{}", format!("{prompt}> {line}").trim_end());
        }
    }

    fn worker(&mut self, session: &str) -> &mut Worker {
        let Runner { workers, world, .. } = self;
        workers.entry(session.to_owned()).or_insert_with(|| Worker::start(world.connect(session)))
    }

    /// Starts a batch and returns once it waits for a lock, or is done against the script's expectation.
    fn start(&mut self, session: &str, text: &str) {
        let waiting_before = self.workers.values().filter(|w| w.pending).count();
        self.worker(session).send(text);
        for _ in 0..BATCH_SECONDS_MAX * 1000 {
            if self.world.waiting() > waiting_before {
                self.worker(session).pending = true;
                self.out.push_str("(waits)\n");
                return;
            }
            if let Ok(answer) = self.worker(session).answers.recv_timeout(LOOK) {
                let _ = write!(self.out, "(does not wait)\n{answer}");
                return;
            }
        }
        self.out.push_str("!! neither waits nor ends\n");
    }

    fn close_all(&mut self) {
        for (_, worker) in std::mem::take(&mut self.workers) {
            worker.close();
        }
    }

    fn finish(mut self) -> String {
        let pending: Vec<String> =
            self.workers.iter().filter(|(_, w)| w.pending).map(|(n, _)| n.clone()).collect();
        for session in pending {
            let _ = writeln!(self.out, "!! {session} still waits at the end");
        }
        self.close_all();
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Condvar, Mutex};

    /// A toy: `lock` takes the one lock, `unlock` gives it back, `say x` answers x.
    #[derive(Default)]
    struct Toy {
        state: Arc<(Mutex<(bool, usize)>, Condvar)>,
    }

    struct ToySession(Arc<(Mutex<(bool, usize)>, Condvar)>);

    impl World for Toy {
        fn connect(&mut self, _: &str) -> Connect {
            let state = Arc::clone(&self.state);
            Box::new(|| Box::new(ToySession(state)))
        }
        fn waiting(&self) -> usize {
            self.state.0.lock().unwrap().1
        }
        fn restart(&mut self) {
            *self = Toy::default();
        }
    }

    impl Connection for ToySession {
        fn run(&mut self, batch: &str) -> String {
            let (state, changed) = &*self.0;
            let mut guard = state.lock().unwrap();
            match batch.trim() {
                "lock" => {
                    guard.1 += 1;
                    guard = changed.wait_while(guard, |s| s.0).unwrap();
                    guard.1 -= 1;
                    guard.0 = true;
                    "locked\n".into()
                }
                "unlock" => {
                    guard.0 = false;
                    changed.notify_all();
                    "unlocked\n".into()
                }
                other => format!("{}\n", other.trim_start_matches("say ")),
            }
        }
    }

    #[test]
    fn a_step_waits_and_resumes() {
        let script = "say hi\n-- session a:\nlock\n-- session b waits:\nlock\n-- session a:\nunlock\n-- session b resumes:\n";
        let expect = "main> say hi\nhi\n\na> lock\nlocked\n\nb> lock\n(waits)\n\na> unlock\nunlocked\n\nb resumes\nlocked\n\n";
        assert_eq!(run(script, &mut Toy::default()), expect);
    }
}
