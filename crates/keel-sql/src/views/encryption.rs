//! `sys.dm_database_encryption_keys`: which databases are encrypted, and how far turning them is.

use super::{DATE, INT, NAME, NULL, SID, SystemView, date, int, text};
use crate::clock::{TICKS_PER_MINUTE, offset_minutes};
use crate::engine::DatabaseEntry;
use keel_node::{Algorithm, Encryption, EncryptionState};
use keel_types::{Length, SqlType, Value};

const N60: SqlType = SqlType::NVarChar(Length::Limited(60));

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[SystemView {
    schema: "sys",
    name: "dm_database_encryption_keys",
    columns: &[
        ("database_id", INT), ("encryption_state", INT), ("create_date", DATE), ("regenerate_date", DATE), ("modify_date", DATE),
        ("set_date", DATE), ("opened_date", DATE), ("key_algorithm", N60), ("key_length", INT), ("encryptor_thumbprint", SID),
        ("encryptor_type", NAME), ("percent_complete", SqlType::Real), ("encryption_state_desc", N60),
        ("encryption_scan_state", INT), ("encryption_scan_state_desc", N60), ("encryption_scan_modify_date", DATE),
    ],
    rows: |cx| cx.engine.databases().iter().filter_map(|d| row(d)).collect(),
}];

/// A time of microseconds since 1970 UTC, local; never, when it is 0.
fn time(micros: i64) -> Value {
    let local = i64::from(offset_minutes()) * TICKS_PER_MINUTE;
    if micros == 0 { NULL } else { date(crate::clock::UNIX_EPOCH_TICKS + micros * 10 + local) }
}

fn state(e: &Encryption) -> (i64, &'static str) {
    match e.state {
        EncryptionState::Unencrypted => (1, "UNENCRYPTED"),
        EncryptionState::Encrypting => (2, "ENCRYPTION_IN_PROGRESS"),
        EncryptionState::Encrypted => (3, "ENCRYPTED"),
        EncryptionState::ChangingKey => (4, "KEY_CHANGE_IN_PROGRESS"),
        EncryptionState::Decrypting => (5, "DECRYPTION_IN_PROGRESS"),
    }
}

fn scan(e: &Encryption) -> (i64, &'static str) {
    use EncryptionState::{Encrypted, Unencrypted};
    match e.state {
        Unencrypted if e.ring.times.set == 0 => (0, "NONE"),
        Unencrypted | Encrypted => (4, "COMPLETE"),
        _ if e.ring.suspended => (2, "SUSPENDED"),
        _ if e.stopped.is_some() || e.locked.is_some() => (3, "ABORTED"),
        _ => (1, "RUNNING"),
    }
}

fn row(d: &DatabaseEntry) -> Option<Vec<Value>> {
    let e = d.store.encryption()?;
    // One that was dropped while pages are decrypted has none to show.
    let key = e.ring.key()?;
    let ((number, words), (scan_number, scan_words), times) = (state(&e), scan(&e), e.ring.times);
    let bits = match key.algorithm {
        Algorithm::Aes128 => 128,
        Algorithm::Aes192 => 192,
        Algorithm::Aes256 => 256,
    };
    let mut row = vec![int(d.id.0), int(number)];
    row.extend([times.created, times.regenerated, times.modified, times.set, e.opened].map(time));
    let sealed = !key.thumbprint.is_empty();
    row.extend([text("AES"), int(bits)]);
    row.push(if sealed { Value::bytes(key.thumbprint.clone()) } else { Value::bytes(Vec::new()) });
    row.push(if sealed { text("CERTIFICATE") } else { text("") });
    row.extend([
        Value::Float(f64::from(e.percent)),
        text(words),
        int(scan_number),
        text(scan_words),
        time(times.scan),
    ]);
    Some(row)
}
