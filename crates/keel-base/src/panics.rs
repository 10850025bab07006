//! What a panic said, for those who catch one and go on: a session, a background thread, the simulator. [`Damaged`], for those who
//! find that what is stored cannot be read. And [`EndsProcess`], for those after whom nothing can go on.

use std::any::Any;

/// The message of a caught panic, `no message` when it is none that can be shown.
#[must_use]
pub fn text(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| damage(panic)).or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// What a reader panics with that finds bytes which nobody has written so, in a place that was thought to be whole: what it found. Whoever
/// catches it knows that data are damaged, where another panic is a fault of the program.
pub struct Damaged(pub String);

/// What was found damaged, if that is why the panic was.
#[must_use]
pub fn damage(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<Damaged>().map(|damaged| damaged.0.as_str())
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

    #[test]
    fn damage_is_told_from_other_panics() {
        let damaged = std::panic::catch_unwind(|| std::panic::panic_any(Damaged("short".to_owned())));
        let damaged = damaged.unwrap_err();
        assert_eq!((damage(&*damaged), text(&*damaged)), (Some("short"), "short"));
        let other = std::panic::catch_unwind(|| panic!("no {}", "way")).unwrap_err();
        assert_eq!((damage(&*other), text(&*other)), (None, "no way"));
    }

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
