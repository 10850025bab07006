//! T-SQL text, executed by an engine on a simulated disk with little memory and a second's time. Whatever was asked, the session
//! answers the next question, or it was ended and another one can be opened.

use keel_sql::{
    CancelHandle, ColumnMeta, DoneInfo, EnvChange, ResultSink, Session, SessionOptions, SinkClosed,
};
use keel_testkit::sql::Instance;
use keel_types::{SqlError, SqlType, Value};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A batch that runs longer is cancelled.
const RUN_TIME_MAX: Duration = Duration::from_secs(1);
/// How long a cancelled batch may go on.
const CANCEL_TIME_MAX: Duration = Duration::from_secs(20);
/// A result is cut after so many rows.
const ROWS_MAX: usize = 10_000;
/// Stack of a session's thread, as in the server.
const STACK_BYTES: usize = 16 << 20;

/// Tables and a procedure that texts may name.
const SETUP: &str = "create database fuzz";
const TABLES: &str = "use fuzz; create table dbo.t (id int not null primary key, a int null, b varchar(50) null, c datetime null, d decimal(10, 2) null);
    insert dbo.t values (1, 10, 'one', '2024-01-01', 1.5), (2, 20, 'two', '2024-02-29', 2.5), (3, null, null, null, null);
    create table dbo.u (k int identity primary key, t int references dbo.t (id), x xml, n nvarchar(max));
    insert dbo.u (t, x, n) values (1, '<a/>', N'{\"a\":[1,2]}'), (2, null, N'text')";

/// Executes the bytes as a batch.
///
/// # Panics
/// When the engine does, when a cancelled batch goes on, or when the session answers no more.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let instance = Instance::new();
    let session = move || {
        let mut session = open(&instance);
        ask(&mut session, SETUP);
        ask(&mut session, TABLES);
        let (finished, done) = channel();
        let cancel = session.cancel_handle();
        let watch = std::thread::spawn(move || watch(&done, &cancel));
        ask(&mut session, &text);
        drop(finished);
        watch.join().expect("the watcher only waits");
        still_answers(&instance, session);
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(session);
    if let Err(panic) = thread.expect("a thread starts").join() {
        std::panic::resume_unwind(panic);
    }
}

/// Cancels what runs too long; ends the process with what happens in it when even that does not help.
fn watch(done: &std::sync::mpsc::Receiver<()>, cancel: &CancelHandle) {
    if done.recv_timeout(RUN_TIME_MAX) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let begun = std::time::Instant::now();
    while begun.elapsed() < CANCEL_TIME_MAX {
        cancel.cancel();
        if done.recv_timeout(Duration::from_millis(100)) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
    eprintln!("a cancelled batch goes on for more than {CANCEL_TIME_MAX:?}");
    std::process::abort();
}

fn open(instance: &Instance) -> Session {
    let options = SessionOptions {
        login: "sa".to_owned(),
        sysadmin: true,
        app_name: "fuzz".to_owned(),
        packet_size: 4096,
        ansi_defaults: true,
        ..SessionOptions::default()
    };
    instance.engine().session(options).expect("a session opens")
}

fn ask(session: &mut Session, text: &str) -> Sink {
    let mut sink = Sink::default();
    session.execute_batch(text, &mut sink);
    sink
}

fn still_answers(instance: &Instance, mut session: Session) {
    if session.is_ended() {
        session = open(instance);
    }
    session.reset(false, &mut Sink::default());
    let sink = ask(&mut session, "select 1");
    assert_eq!((sink.rows, sink.errors), (1, 0), "the session answers: {:?}", sink.last);
}

#[derive(Default)]
struct Sink {
    rows: usize,
    errors: usize,
    last: Option<String>,
}

impl ResultSink for Sink {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, _: &[Value]) -> Result<(), SinkClosed> {
        self.rows += 1;
        if self.rows > ROWS_MAX { Err(SinkClosed) } else { Ok(()) }
    }
    fn done(&mut self, _: DoneInfo) {}
    fn message(&mut self, message: &SqlError) {
        if message.severity > 10 {
            self.errors += 1;
            self.last = Some(message.to_string());
        }
        assert!(message.number != 3624, "{message}");
    }
    fn return_status(&mut self, _: i32) {}
    fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
    fn env_change(&mut self, _: EnvChange) {}
}
