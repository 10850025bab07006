//! What is said of a column's contents.

use serde::{Deserialize, Serialize};

/// How sensitive what is in a column is, in words that an organisation has chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// LABEL
    pub label: Option<String>,
    /// LABEL_ID
    pub label_id: Option<String>,
    /// INFORMATION_TYPE
    pub information_type: Option<String>,
    /// INFORMATION_TYPE_ID
    pub information_type_id: Option<String>,
    /// RANK: 0 (NONE), 10 (LOW), 20 (MEDIUM), 30 (HIGH) or 40 (CRITICAL).
    pub rank: Option<u8>,
}
