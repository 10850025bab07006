//! What the owner does beside serving: it signs, and finds out whether it is cut off.

use super::{Member, SIGN_EVERY};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it looks whether it is to stop.
const STEP: Duration = Duration::from_millis(50);

/// The threads that watch over an owner, until dropped.
pub struct Guard {
    stopping: Arc<AtomicBool>,
}

impl Guard {
    /// `give_up` is called with the reason when the machine is cut off; it does not return to a process that serves.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn start(member: &Arc<Member>, give_up: Box<dyn Fn(&str) + Send>) -> io::Result<Guard> {
        let stopping = Arc::new(AtomicBool::new(false));
        let thread = |name: &str, body: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name(name.to_owned()).spawn(body).map(|_| ())
        };
        let (own, stop) = (Arc::clone(member), Arc::clone(&stopping));
        thread("cluster signs", Box::new(move || sign(&own, &stop)))?;
        if !member.reach.is_empty() {
            let (own, stop) = (Arc::clone(member), Arc::clone(&stopping));
            thread("cluster reach", Box::new(move || reach(&own, &stop, &*give_up)))?;
        }
        Ok(Guard { stopping })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
    }
}

/// Storage that stands still keeps this thread, and no other.
fn sign(member: &Member, stopping: &AtomicBool) {
    while !stopping.load(Ordering::Acquire) {
        // What cannot be written now is written next time; who waits goes by the lock.
        let _ = member.sign(true);
        // The view is asked for rarely: what others say is looked at as it comes.
        let _ = member.seen();
        std::thread::sleep(SIGN_EVERY / 4);
    }
}

fn reach(member: &Member, stopping: &AtomicBool, give_up: &(dyn Fn(&str) + Send)) {
    let (mut reached, pause) = (Instant::now(), member.timeout / 6);
    while !stopping.load(Ordering::Acquire) {
        if member.reaches_one() {
            reached = Instant::now();
        } else if reached.elapsed() >= member.timeout {
            let none = member.reach.join(", ");
            let ms = reached.elapsed().as_millis();
            give_up(&format!(
                "{} has reached none of {none} for {ms} ms and gives the instance up.",
                member.node
            ));
            return;
        }
        let until = Instant::now() + pause;
        while Instant::now() < until && !stopping.load(Ordering::Acquire) {
            std::thread::sleep(STEP.min(pause));
        }
    }
}
