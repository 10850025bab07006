//! Feature extensions of the login and their acknowledgement (2.2.6.4, 2.2.7.11).
//!
//! A feature the server does not acknowledge is declined; clients then go on without it.

use crate::bytes::Reader;
use crate::error::{DecodeError, Result};
use crate::limits::FEATURES_MAX;

const TERMINATOR: u8 = 0xFF;
/// Token code of FEATUREEXTACK.
pub const FEATUREEXTACK: u8 = 0xAE;

/// Ids of the features clients ask for.
pub mod id {
    /// Session recovery after a lost connection.
    pub const SESSION_RECOVERY: u8 = 0x01;
    /// Federated authentication.
    pub const FEDAUTH: u8 = 0x02;
    /// Always-encrypted columns.
    pub const COLUMN_ENCRYPTION: u8 = 0x04;
    /// Global transactions.
    pub const GLOBAL_TRANSACTIONS: u8 = 0x05;
    /// The cloud service.
    pub const AZURE_SQL_SUPPORT: u8 = 0x08;
    /// Data classification.
    pub const DATA_CLASSIFICATION: u8 = 0x09;
    /// UTF-8 collations.
    pub const UTF8_SUPPORT: u8 = 0x0A;
    /// The cloud service's name caching.
    pub const DNS_CACHING: u8 = 0x0B;
    /// The json type.
    pub const JSON_SUPPORT: u8 = 0x0D;
    /// The vector type.
    pub const VECTOR_SUPPORT: u8 = 0x0E;
    /// Routing that also names the database.
    pub const ENHANCED_ROUTING: u8 = 0x0F;
    /// What the client is built from.
    pub const USER_AGENT: u8 = 0x10;
}

/// One feature with its data, whose meaning depends on the id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// See [`id`].
    pub id: u8,
    /// Option data.
    pub data: Vec<u8>,
}

/// Reads a list of features up to and with its terminator.
pub fn decode(r: &mut Reader<'_>) -> Result<Vec<Feature>> {
    let mut features = Vec::new();
    loop {
        let id = r.u8()?;
        if id == TERMINATOR {
            return Ok(features);
        }
        if features.len() == FEATURES_MAX {
            return Err(DecodeError::Limit("number of feature extensions"));
        }
        let length = r.u32()?;
        let data = r.take(usize::try_from(length).map_err(|_| DecodeError::Limit("feature extension"))?)?;
        features.push(Feature { id, data: data.to_vec() });
    }
}

/// Appends a list of features with its terminator.
pub fn encode(out: &mut Vec<u8>, features: &[Feature]) {
    for feature in features {
        out.push(feature.id);
        let length = u32::try_from(feature.data.len()).expect("feature data is short");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&feature.data);
    }
    out.push(TERMINATOR);
}

/// Version of column encryption that is spoken: without enclaves.
const COLUMN_ENCRYPTION_VERSION: u8 = 1;

/// What this server acknowledges of what was asked: UTF-8, column encryption, and session recovery if `states` are given, those of a new session.
/// Everything else is declined by silence.
#[must_use]
pub fn acknowledge(asked: &[Feature], states: Option<&[(u8, &[u8])]>) -> Vec<Feature> {
    let data = |id| match (id, states) {
        (id::UTF8_SUPPORT, _) => Some(vec![1]),
        (id::COLUMN_ENCRYPTION, _) => Some(vec![COLUMN_ENCRYPTION_VERSION]),
        (id::SESSION_RECOVERY, Some(states)) => {
            let mut data = Vec::new();
            crate::recovery::put_states(&mut data, states);
            Some(data)
        }
        _ => None,
    };
    asked.iter().filter_map(|f| Some(Feature { id: f.id, data: data(f.id)? })).collect()
}

/// Appends FEATUREEXTACK.
pub fn put_ack(out: &mut Vec<u8>, acknowledged: &[Feature]) {
    out.push(FEATUREEXTACK);
    encode(out, acknowledged);
}
