//! What a panic said, for those who catch one and go on: a session, a background thread, the simulator.

use std::any::Any;

/// The message of a caught panic, `no message` when it is none that can be shown.
#[must_use]
pub fn text(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
