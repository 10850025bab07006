//! Transparent data encryption: DATABASE ENCRYPTION KEY, and ALTER DATABASE … SET ENCRYPTION.
//!
//! The key is the database's own affair ([`keel_node::keys`]): what is said here is announced in its log, and every copy has it.

use crate::backup::no_private_key;
use crate::catalog::SecurableRef;
use crate::engine::{DatabaseEntry, FIRST_USER_DATABASE, MASTER, thumbprint};
use crate::errors::{self, error_functions};
use crate::hadr::errors as hadr_errors;
use crate::keys::CertificateDef;
use crate::map::txn_error;
use crate::run::Runner;
use keel_node::{Algorithm, EncryptionState, KeyRing, TxnError};
use keel_parser::ast::{self, DatabaseEncryptionKey as Key, Encryptor};
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

type E = Box<SqlError>;

error_functions! {
    /// A system database.
    system_database() = 33102, 16, 1, "Cannot encrypt a system database. Database encryption operations cannot be performed for 'master', 'model', 'tempdb', 'msdb', or 'resource' databases.";
    key_exists() = 33103, 16, 1, "A database encryption key already exists for this database.";
    no_key() = 33104, 16, 1, "A database encryption key does not exist for this database.";
    key_in_use() = 33105, 16, 1, "Cannot drop the database encryption key because it is currently in use. Database encryption needs to be turned off to be able to drop the database encryption key.";
    no_key_set() = 33106, 16, 1, "Cannot change database encryption state because no database encryption key is set.";
    already_on() = 33107, 16, 1, "Cannot enable database encryption because it is already enabled.";
    already_off() = 33108, 16, 1, "Cannot disable database encryption because it is already disabled.";
    /// SET ENCRYPTION while files are turned.
    scan_under_way() = 33109, 16, 1, "Cannot disable database encryption while an encryption, decryption, or key change scan is in progress.";
    /// A change of the key meanwhile.
    key_change_under_way() = 33110, 16, 1, "Cannot change database encryption key while an encryption, decryption, or key change scan is in progress.";
    /// A database that takes no changes.
    not_writable() = 33118, 16, 1, "Cannot enable or modify database encryption on a database that is read-only, has read-only files or is not recovered.";
    /// SUSPEND or RESUME without a scan.
    no_scan() = 5069, 16, 1, "ALTER DATABASE statement failed. There is no encryption scan that could be suspended or resumed.";
    /// The key in a file would be the only way back.
    not_backed_up() = 33091, 10, 1, "Warning: The certificate used for encrypting the database encryption key has not been backed up. You should immediately back up the certificate and the private key associated with the certificate. If the certificate ever becomes unavailable or if you must restore or attach the database on another server, you must have backups of both the certificate and the private key or you will not be able to open the database.";
}

/// What a change of keys ends with: an error of a commit, or one of the statement.
enum Refused {
    Commit(TxnError),
    Statement(E),
}

impl From<TxnError> for Refused {
    fn from(error: TxnError) -> Refused {
        Refused::Commit(error)
    }
}

/// A certificate that can seal a key.
struct Sealing {
    thumbprint: Vec<u8>,
    secret: Vec<u8>,
    /// Its key was written to a file.
    backed_up: bool,
}

fn algorithm(name: &str) -> Result<Algorithm> {
    Algorithm::named(name)
        .ok_or_else(|| errors::not_supported(format!("A database encryption key WITH ALGORITHM = {name}")))
}

/// Whether the files of the database are being turned.
fn turns(entry: &DatabaseEntry) -> bool {
    use EncryptionState::{ChangingKey, Decrypting, Encrypting};
    entry.store.encryption().is_some_and(|e| matches!(e.state, Encrypting | Decrypting | ChangingKey))
}

fn has_key(ring: &KeyRing) -> std::result::Result<(), Refused> {
    if ring.current == 0 { Err(Refused::Statement(no_key())) } else { Ok(()) }
}

impl Runner<'_> {
    /// What may be encrypted, by whom.
    fn may_encrypt(&self, entry: &Arc<DatabaseEntry>) -> Result<()> {
        if !self.info.may(entry, "CONTROL", SecurableRef::Database) {
            return Err(errors::no_permission(""));
        }
        if entry.id.0 < FIRST_USER_DATABASE {
            return Err(system_database());
        }
        if entry.picture().settings().read_only || entry.is_standby() || entry.is_restoring() {
            return Err(not_writable());
        }
        Ok(())
    }

    /// The certificate of a statement. Who may not see it is told that there is none.
    fn sealing(&self, by: &Encryptor) -> Result<Sealing> {
        let name = by.name.text.as_str();
        if by.asymmetric_key {
            return Err(SqlError::new(
                15151,
                16,
                1,
                format!(
                    "Cannot find the asymmetric key '{name}', because it does not exist or you do not have permission."
                ),
            ));
        }
        let sees = self.info.unrestricted.get() || self.info.may_on_server("VIEW ANY DEFINITION");
        let found = self.info.engine.certificate(name)?.filter(|_| sees);
        let CertificateDef { certificate, key, own_password, key_backed_up, .. } =
            found.ok_or_else(|| hadr_errors::no_certificate(name))?;
        let secret = key.filter(|_| !own_password).ok_or_else(|| no_private_key(name))?;
        Ok(Sealing { thumbprint: thumbprint(&certificate), secret, backed_up: key_backed_up != 0 })
    }

    fn warn_unless_backed_up(&mut self, sealing: &Sealing) {
        if !sealing.backed_up {
            self.report(&not_backed_up());
        }
    }

    /// Changes the keys of a database; times are noted here.
    fn change_keys(
        &self,
        entry: &DatabaseEntry,
        change: impl FnOnce(&mut KeyRing, i64) -> std::result::Result<(), Refused>,
    ) -> Result<()> {
        let clock = &self.info.engine.options().env.clock;
        let now = i64::try_from(clock.unix_nanos() / 1000).unwrap_or(i64::MAX);
        entry.store.change_keys(|ring| change(ring, now)).map_err(|refused| match refused {
            Refused::Statement(error) => error,
            Refused::Commit(error) => txn_error(error, &entry.name(), self.info.shared.id),
        })
    }

    /// CREATE, ALTER, DROP DATABASE ENCRYPTION KEY
    pub(super) fn database_encryption_key(&mut self, key: &Key) -> Result<()> {
        let entry = self.info.current_database();
        let verb = match key {
            Key::Create { .. } => "CREATE DATABASE ENCRYPTION KEY",
            Key::Alter { .. } => "ALTER DATABASE ENCRYPTION KEY",
            Key::Drop => "DROP DATABASE ENCRYPTION KEY",
        };
        if self.info.transaction.borrow().count > 0 {
            return Err(errors::not_in_transaction(verb));
        }
        self.may_encrypt(&entry)?;
        // Nobody drops or changes the certificate meanwhile.
        if let Some(master) = self.info.engine.database_by_id(MASTER) {
            self.lock_catalog(&master)?;
        }
        match key {
            Key::Create { algorithm: name, encryptor } => self.create_key(&entry, name, encryptor),
            Key::Alter { algorithm: name, encryptor } => {
                if let Some(name) = name {
                    self.regenerate_key(&entry, name)?;
                }
                encryptor.as_ref().map_or(Ok(()), |by| self.seal_key_anew(&entry, by))
            }
            Key::Drop => self.drop_key(&entry),
        }
    }

    fn create_key(&mut self, entry: &DatabaseEntry, name: &str, by: &Encryptor) -> Result<()> {
        let algorithm = algorithm(name)?;
        let sealing = self.sealing(by)?;
        let random = Arc::clone(&self.info.engine.options().env.random);
        self.change_keys(entry, |ring, now| {
            if ring.current != 0 {
                return Err(Refused::Statement(key_exists()));
            }
            ring.add(algorithm, &sealing.thumbprint, &sealing.secret, &*random);
            (ring.times.created, ring.times.regenerated, ring.times.modified) = (now, now, now);
            (ring.times.set, ring.times.scan) = (0, 0);
            Ok(())
        })?;
        self.warn_unless_backed_up(&sealing);
        Ok(())
    }

    fn regenerate_key(&mut self, entry: &DatabaseEntry, name: &str) -> Result<()> {
        let algorithm = algorithm(name)?;
        if turns(entry) {
            return Err(key_change_under_way());
        }
        let engine = Arc::clone(&self.info.engine);
        let random = &*engine.options().env.random;
        self.change_keys(entry, |ring, now| {
            has_key(ring)?;
            let thumbprint = ring.key().map(|key| key.thumbprint.clone()).unwrap_or_default();
            let certificate = engine.certificate_of(&thumbprint).map_err(Refused::Statement)?;
            let secret = certificate.and_then(|c| c.key).ok_or_else(|| {
                let shown = thumbprint.iter().fold(String::from("0x"), |hex, b| hex + &format!("{b:02X}"));
                Refused::Statement(crate::backup::no_certificate_of(shown))
            })?;
            ring.add(algorithm, &thumbprint, &secret, random);
            (ring.times.regenerated, ring.times.modified) = (now, now);
            if ring.on {
                ring.times.scan = now;
            }
            Ok(())
        })
    }

    fn seal_key_anew(&mut self, entry: &DatabaseEntry, by: &Encryptor) -> Result<()> {
        let sealing = self.sealing(by)?;
        let engine = Arc::clone(&self.info.engine);
        let secret_of = |thumbprint: &[u8]| engine.certificate_of(thumbprint).ok()??.key;
        self.change_keys(entry, |ring, now| {
            has_key(ring)?;
            let by = (&sealing.thumbprint[..], &sealing.secret[..]);
            if !ring.seal_anew(&secret_of, by, &*engine.options().env.random) {
                let old = ring.key().map(|key| key.thumbprint.clone()).unwrap_or_default();
                let shown = old.iter().fold(String::from("0x"), |hex, b| hex + &format!("{b:02X}"));
                return Err(Refused::Statement(crate::backup::no_certificate_of(shown)));
            }
            ring.times.modified = now;
            Ok(())
        })?;
        self.warn_unless_backed_up(&sealing);
        Ok(())
    }

    fn drop_key(&mut self, entry: &DatabaseEntry) -> Result<()> {
        let turning = turns(entry);
        self.change_keys(entry, |ring, _| {
            has_key(ring)?;
            if ring.on || turning {
                return Err(Refused::Statement(key_in_use()));
            }
            ring.current = 0;
            Ok(())
        })
    }

    /// ALTER DATABASE … SET ENCRYPTION ON | OFF | SUSPEND | RESUME
    pub(super) fn set_encryption(&mut self, entry: &Arc<DatabaseEntry>, option: &ast::Opt) -> Result<()> {
        self.may_encrypt(entry)?;
        let word = match &option.value {
            ast::OptValue::On => "ON".to_owned(),
            ast::OptValue::Off => "OFF".to_owned(),
            value => value.text().unwrap_or_default().to_ascii_uppercase(),
        };
        let turning = turns(entry);
        self.change_keys(entry, |ring, now| {
            if ring.current == 0 {
                return Err(Refused::Statement(no_key_set()));
            }
            match word.as_str() {
                "ON" if ring.on => return Err(Refused::Statement(already_on())),
                "OFF" if !ring.on => return Err(Refused::Statement(already_off())),
                "ON" | "OFF" if turning => return Err(Refused::Statement(scan_under_way())),
                "ON" | "OFF" => (ring.on, ring.suspended, ring.times.set) = (word == "ON", false, now),
                "SUSPEND" | "RESUME" if !turning => return Err(Refused::Statement(no_scan())),
                "SUSPEND" | "RESUME" => ring.suspended = word == "SUSPEND",
                _ => {
                    let written = option.value.text().unwrap_or_default();
                    let text = format!("Incorrect syntax near '{written}'.");
                    return Err(Refused::Statement(SqlError::new(102, 15, 1, text)));
                }
            }
            ring.times.scan = now;
            Ok(())
        })?;
        self.info.engine.encrypt_work();
        Ok(())
    }
}
