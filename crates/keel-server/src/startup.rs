//! The threads of procedures that run when the instance starts ([`keel_sql::startup`]).

use std::sync::Arc;

use keel_sql::{Engine, startup};

use crate::errorlog::ErrorLog;

/// Starts each on a thread of its own; `stack` is that of a session's thread, in bytes. They end by themselves, or with the sessions of the instance.
pub fn start(engine: &Arc<Engine>, log: &ErrorLog, stack: usize) {
    for procedure in startup::procedures(engine) {
        let thread = std::thread::Builder::new().name("startup".into()).stack_size(stack);
        if let Err(e) = thread.spawn(move || procedure.run()) {
            log.entry("Startup", &format!("A procedure could not be started, for want of a thread: {e}."));
        }
    }
}
