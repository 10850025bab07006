//! An instance of a cluster whose process stands still: its clients are let go, and it goes on when it runs again.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, PASSWORD, keel};
use keel_bench::tds::{Address, TdsConnection};
use keel_workload::Connection;
use std::io::ErrorKind;
use std::net::TcpStream;

/// The number of the newest keeper process that the log tells of.
fn keeper(node: &Instance) -> u32 {
    let log = node.log();
    let line = log.lines().rfind(|line| line.contains("holds clients' connections")).unwrap();
    line.split("The keeper process ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
}

fn runs(process: u32) -> bool {
    // One that has ended and was not yet waited for has no command line.
    std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Asks until there is no answer any more: a process that is being stopped may give one still. Returns what is wrong then.
fn until_it_fails(session: &mut TdsConnection) -> String {
    loop {
        if let Err(e) = session.execute("SELECT 1") {
            return format!("{e:?}").to_lowercase();
        }
    }
}

#[test]
fn who_stands_still_lets_its_clients_go() {
    let dir = std::env::temp_dir().join(format!("keel-keeper-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let mut one = Instance::new(&dir, 1);
    let two = Instance::new(&dir, 2);
    let said = keel(&["init", "--endpoint", &one.endpoint()], &one);
    let token = said.lines().find(|l| l.starts_with("keel://")).unwrap().trim().to_owned();
    keel(&["join", &token, "--endpoint", &two.endpoint()], &two);

    // Without another member there is nobody to go to, and no keeper.
    one.logs("holds clients' connections");
    let address = Address {
        address: format!("{}:{}", one.ip, one.port),
        user: "sa".into(),
        password: PASSWORD.into(),
        database: "master".into(),
        encrypt: true,
        read_only: false,
    };
    let mut session = address.session("master").unwrap();
    one.signal(libc::SIGSTOP);
    let waits = until_it_fails(&mut session);
    assert!(waits.contains("reset"), "{waits}");
    let refused = TcpStream::connect(&address.address).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    one.signal(libc::SIGCONT);
    one.until("SELECT 1", "1");
    one.logs("This process did not run for ");

    // And again: what was let go is held anew.
    let mut session = address.session("master").unwrap();
    one.signal(libc::SIGSTOP);
    until_it_fails(&mut session);
    one.signal(libc::SIGCONT);
    one.until("SELECT 1", "1");

    // The instance goes on without its keeper, and gets another.
    let first = keeper(&one);
    let number = libc::pid_t::try_from(first).unwrap();
    // SAFETY: a child of the instance, which has not seen it end.
    unsafe { libc::kill(number, libc::SIGKILL) };
    one.logs("Another one is started.");
    one.until("SELECT 1", "1");
    while keeper(&one) == first {
        one.until("SELECT 1", "1");
    }

    // The keeper ends with the instance, which starts again on the same port.
    let second = keeper(&one);
    assert!(runs(second));
    one.kill();
    one.start();
    while runs(second) {
        std::thread::yield_now();
    }
    one.stop();
    drop((one, two));
    std::fs::remove_dir_all(&dir).unwrap();
}
