//! A mail's query ends when whoever sends the mail is to stop.

use crate::common::{Sink, connect, server};
use keel_sql::Session;
use std::sync::{Arc, mpsc};
use std::time::Duration;

fn run(session: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(sql, &mut sink);
    sink.0.finish()
}

#[test]
fn who_stops_sending_stops_the_query() {
    let engine = server();
    keel_sql::agent::install(&engine).unwrap();
    let mut s = connect(&engine);
    run(
        &mut s,
        "exec sp_configure 'show advanced options', 1; reconfigure; exec sp_configure 'Database Mail XPs', 1; reconfigure;
         exec msdb.dbo.sysmail_add_profile_sp @profile_name = N'p'",
    );
    let (begins, begun) = mpsc::channel();
    let (ended, ends) = mpsc::channel();
    let its = Arc::clone(&engine);
    let thread = std::thread::Builder::new().stack_size(16 << 20);
    let sends = move || {
        let mut s = connect(&its);
        begins.send(s.cancel_handle()).unwrap();
        let said = run(
            &mut s,
            "exec msdb.dbo.sp_send_dbmail @profile_name = N'p', @recipients = 'a@example.com', @query = N'waitfor delay ''23:00:00'''",
        );
        ended.send(said).unwrap();
    };
    let thread = thread.spawn(sends).unwrap();
    // It waits in a session of its own, which shows what it executes.
    let mut other = connect(&engine);
    let waits = "select count(*) from sys.dm_exec_sessions where program_name = 'DatabaseMail - Query' and status = 'running'";
    while !run(&mut other, waits).contains('1') {
        std::thread::yield_now();
    }
    begun.recv().unwrap().cancel();
    ends.recv_timeout(Duration::from_secs(60)).expect("it ends");
    thread.join().unwrap();
    assert!(run(&mut other, "select count(*) as n from msdb.dbo.sysmail_allitems").contains("\n0\n"));
}
