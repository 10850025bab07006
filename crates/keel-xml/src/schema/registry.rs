//! Collections by number, so that a type of SQL, which is copied and compared everywhere, can say which collection it means.
//!
//! A number stands for one version of a collection: what `ALTER … ADD` makes is another. It is good for as long as somebody holds
//! its [`Registered`] (a catalog does); numbers are never used again. Documents are compiled when the collection is first used.

use super::{Schema, read};
use crate::{Result, XmlError};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock, RwLock, Weak};

/// A version of a collection.
#[derive(Debug)]
pub struct Registered {
    number: u32,
    documents: Vec<String>,
    /// Schema and name, for metadata.
    name: [String; 2],
    compiled: OnceLock<Option<Arc<Schema>>>,
}

#[derive(Default)]
struct Registry {
    last: u32,
    known: HashMap<u32, Weak<Registered>>,
}

static REGISTRY: LazyLock<RwLock<Registry>> = LazyLock::new(RwLock::default);

/// Takes a collection's documents in, as they were accepted. `name` is its schema and its own name.
#[must_use]
pub fn register(documents: Vec<String>, name: [String; 2]) -> Arc<Registered> {
    let mut registry = REGISTRY.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    registry.last += 1;
    let number = registry.last;
    let registered = Arc::new(Registered { number, documents, name, compiled: OnceLock::new() });
    registry.known.insert(number, Arc::downgrade(&registered));
    registered
}

/// The collection of a number, while it is there.
#[must_use]
pub fn find(number: u32) -> Option<Arc<Registered>> {
    REGISTRY.read().unwrap_or_else(std::sync::PoisonError::into_inner).known.get(&number)?.upgrade()
}

/// The schema of a number. Error 6327 when it is gone.
pub fn schema(number: u32) -> Result<Arc<Schema>> {
    let found = find(number).and_then(|r| r.schema());
    found.ok_or_else(|| {
        XmlError::new(6327, format!("The specified xml schema collection ID is not valid: {number}"))
    })
}

impl Registered {
    /// Its number, from 1.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Schema and name.
    #[must_use]
    pub fn name(&self) -> &[String; 2] {
        &self.name
    }

    /// What its documents compile to; none when they do not any more.
    #[must_use]
    pub fn schema(&self) -> Option<Arc<Schema>> {
        self.compiled
            .get_or_init(|| read::read(&self.documents, self.documents.len()).ok().map(Arc::new))
            .clone()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut registry = REGISTRY.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        registry.known.remove(&self.number);
    }
}
