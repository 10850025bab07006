//! DATA_COMPRESSION, which is kept and shown, and compresses nothing.

use super::IndexDef;
use serde::{Deserialize, Serialize};

/// Values of DATA_COMPRESSION that rows can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// Of rows.
    Row,
    /// Of pages.
    Page,
}

impl Compression {
    /// In the order of the catalog's numbers, with their names.
    pub const ALL: [(Compression, &'static str); 3] =
        [(Compression::None, "NONE"), (Compression::Row, "ROW"), (Compression::Page, "PAGE")];
}

impl IndexDef {
    /// What was said of a partition, from 1.
    #[must_use]
    pub fn compression_of(&self, partition: i32) -> Compression {
        let said = |of: i32| self.compression.iter().find(|(n, _)| *n == of).map(|(_, kind)| *kind);
        said(partition).or_else(|| said(0)).unwrap_or_default()
    }

    /// Says it of a partition, or of all (0).
    pub fn compress(&mut self, partition: i32, kind: Compression) {
        self.compression.retain(|(n, _)| partition != 0 && *n != partition);
        if partition != 0 || kind != Compression::None {
            self.compression.push((partition, kind));
        }
    }
}
