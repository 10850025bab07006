//! Prepared statements of a session.

use std::sync::Arc;

/// What a handle stands for.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A text, and the declarations of its parameters.
    Text(Arc<str>, Arc<str>),
    /// A call of a procedure, whose parameters have its own names.
    Call(Arc<str>),
}

/// Prepared statements by handle.
#[derive(Debug, Default)]
pub struct Prepared {
    next: i32,
    all: hashbrown::HashMap<i32, Statement>,
}

impl Prepared {
    /// Keeps a statement; gives its handle.
    pub fn add(&mut self, statement: Statement) -> i32 {
        self.next += 1;
        self.all.insert(self.next, statement);
        self.next
    }
    /// What a handle stands for.
    #[must_use]
    pub fn get(&self, handle: i32) -> Option<Statement> {
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
