//! The binary as people run it: start, one query, a second server refused, a clean stop, and everything still there.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const KEEL: &str = env!("CARGO_BIN_EXE_keel");
const PASSWORD: &str = "Keel-Test-1";

/// Killed if the test fails before it stops it.
struct Running {
    child: Child,
    port: String,
}

impl Running {
    fn start(data: &Path) -> Running {
        let mut child = serve(data).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let port = ready.trim().rsplit(':').next().unwrap().to_owned();
        assert!(ready.starts_with("keel: ready for connections on 127.0.0.1:"), "{ready}");
        Running { child, port }
    }

    fn sql(&self, more: &[&str]) -> Output {
        let server = format!("127.0.0.1,{}", self.port);
        Command::new(KEEL)
            .args(["sql", "-S", &server, "-P", PASSWORD, "-C", "-W", "-b"])
            .args(more)
            .output()
            .unwrap()
    }

    fn stop(mut self) {
        let pid = libc::pid_t::try_from(self.child.id()).unwrap();
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(pid, libc::SIGTERM) };
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(data: &Path) -> Command {
    let mut command = Command::new(KEEL);
    command.args(["serve", "--listen", "127.0.0.1:0", "--max-server-memory", "256", "--data"]).arg(data);
    command.env("MSSQL_SA_PASSWORD", PASSWORD);
    command
}

#[test]
fn serve_query_stop_and_again() {
    let data = std::env::temp_dir().join(format!("keel-serve-{}", std::process::id()));
    let first = Running::start(&data);
    let made = first.sql(&["-Q", "CREATE TABLE t (a int); INSERT t VALUES (42)"]);
    assert!(made.status.success(), "{made:?}");
    let failed = first.sql(&["-Q", "SELECT * FROM nowhere"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stdout).contains("Msg 208, Level 16, State 1"), "{failed:?}");
    let second = serve(&data).output().unwrap();
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("in use by another server"), "{second:?}");
    first.stop();

    let again = Running::start(&data);
    let read = again.sql(&["--csv", "-h", "-1", "-Q", "SELECT a FROM t"]);
    assert_eq!(String::from_utf8_lossy(&read.stdout).trim(), "42", "{read:?}");
    again.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[test]
fn shutdown_stops_the_server() {
    let data = std::env::temp_dir().join(format!("keel-shutdown-{}", std::process::id()));
    for statement in ["shutdown", "shutdown with nowait"] {
        let mut server = Running::start(&data);
        // The connection may end before the reply is read.
        server.sql(&["-Q", statement]);
        assert!(server.child.wait().unwrap().success(), "{statement}");
    }
    std::fs::remove_dir_all(&data).unwrap();
}
