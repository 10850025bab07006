//! Documents that `sp_xml_preparedocument` keeps for OPENXML.

use keel_query::openxml::Prepared;

/// Documents of a session by handle.
#[derive(Debug, Default)]
pub struct XmlDocuments {
    next: i64,
    all: hashbrown::HashMap<i64, Prepared>,
}

impl XmlDocuments {
    /// Keeps a document; gives its handle. `None` when the session would hold more than `bytes_max` of text.
    pub fn add(&mut self, document: Prepared, bytes_max: usize) -> Option<i64> {
        let held: usize = self.all.values().map(|d| d.text.len()).sum();
        if held + document.text.len() > bytes_max {
            return None;
        }
        self.next += 1;
        self.all.insert(self.next, document);
        Some(self.next)
    }

    /// The document of a handle.
    #[must_use]
    pub fn get(&self, handle: i64) -> Option<Prepared> {
        self.all.get(&handle).cloned()
    }

    /// Forgets one; false when there was none.
    pub fn remove(&mut self, handle: i64) -> bool {
        self.all.remove(&handle).is_some()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.all.clear();
    }
}
