//! Prepared statements of a session.

use std::sync::Arc;

/// Texts and parameter declarations by handle.
#[derive(Debug, Default)]
pub struct Prepared {
    next: i32,
    all: hashbrown::HashMap<i32, (Arc<str>, Arc<str>)>,
}

impl Prepared {
    /// Keeps a text; gives its handle.
    pub fn add(&mut self, text: Arc<str>, declarations: Arc<str>) -> i32 {
        self.next += 1;
        self.all.insert(self.next, (text, declarations));
        self.next
    }
    /// Text and declarations of a handle.
    #[must_use]
    pub fn get(&self, handle: i32) -> Option<(Arc<str>, Arc<str>)> {
        self.all.get(&handle).cloned()
    }
    /// Forgets a handle; false when there was none.
    pub fn remove(&mut self, handle: i32) -> bool {
        self.all.remove(&handle).is_some()
    }
    /// Forgets all.
    pub fn clear(&mut self) {
        self.all.clear();
    }
}
