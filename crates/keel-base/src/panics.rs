//! What a panic said, for those who catch one and go on: a session, a background thread, the simulator. And [`EndsProcess`], for
//! those after whom nothing can go on.

use std::any::Any;

/// The message of a caught panic, `no message` when it is none that can be shown.
#[must_use]
pub fn text(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// Held by who does work without which the process only seems to be there: a panic meanwhile ends the process. Others see that at once,
/// and take over; of one that lives on without a part of itself they would hear signs of life for ever.
#[must_use = "it is for as long as it is held"]
pub struct EndsProcess {
    /// The thread was panicking before.
    before: bool,
}

impl EndsProcess {
    /// From here on.
    pub fn on_panic() -> EndsProcess {
        EndsProcess { before: std::thread::panicking() }
    }
}

impl Drop for EndsProcess {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.before {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("without a name");
            eprintln!(
                "keel: the process ends, because it is of no use after a failed assertion in the thread '{name}'"
            );
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    const CHILD: &str = "KEEL_TEST_ENDS_PROCESS";

    #[test]
    fn a_panic_ends_the_process() {
        if std::env::var_os(CHILD).is_some() {
            let panicking = std::thread::spawn(|| {
                let _ends = EndsProcess::on_panic();
                panic!("it was told to");
            });
            // If it comes back the process goes on, and the test below fails.
            let _ = panicking.join();
            return;
        }
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "panics::tests::a_panic_ends_the_process"]).env(CHILD, "1");
        let ended = child.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(ended.signal(), Some(libc::SIGABRT), "{ended}");
    }
}
