//! Certificates and the master key, as scripts for endpoints use them: made with a key, written to files, read from
//! another instance's files.

use super::store::{Method, StoredCertificate, StoredMasterKey};
use super::{Hadr, errors};
use crate::catalog::fold;
use crate::engine::{DatabaseEntry, MASTER};
use crate::run::Runner;
use keel_base::env::OpenMode;
use keel_parser::ast::{self, Opt};
use keel_types::SqlError;
use keel_types::error::Result;
use std::path::Path;
use std::sync::Arc;

/// Seconds in a year, as certificates without EXPIRY_DATE are valid for.
const YEAR_SECONDS: i64 = 365 * 86_400;
/// Ticks from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_TICKS: i64 = 621_355_968_000_000_000;
/// Largest certificate or key file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

fn option<'a>(options: &'a [Opt], name: &str) -> Option<&'a str> {
    options.iter().find(|o| o.name == name)?.value.text()
}

impl Runner<'_> {
    fn keys_ddl(&self) -> Result<Arc<dyn Hadr>> {
        self.sysadmin()?;
        if self.info.current_database().id != MASTER {
            return Err(crate::errors::not_supported("A certificate or a master key outside master"));
        }
        self.hadr()
    }

    /// CREATE CERTIFICATE
    pub(crate) fn create_certificate(&mut self, c: &ast::CreateCertificate) -> Result<()> {
        let hadr = self.keys_ddl()?;
        let engine = &self.info.engine;
        let name = c.name.text.as_str();
        if engine.certificate(name)?.is_some() {
            return Err(errors::certificate_exists(name));
        }
        let (certificate, key) = match &c.from {
            Some(from) => self.imported(&*hadr, from, &c.private_key)?,
            None => {
                if c.encryption_password.is_none() && engine.master_key()?.is_none() {
                    return Err(errors::no_master_key());
                }
                let made = self.made(&*hadr, &c.options)?;
                (made.0, Some(made.1))
            }
        };
        if engine.certificates()?.iter().any(|known| known.certificate == certificate) {
            return Err(errors::certificate_exists(name));
        }
        engine.put_certificate(StoredCertificate {
            id: 0,
            name: name.to_owned(),
            owner: c.authorization.as_ref().map_or_else(String::new, |a| a.text.to_string()),
            certificate,
            key,
            sealed_key: None,
            own_password: c.encryption_password.is_some(),
            key_backed_up: 0,
        })?;
        engine.unlock_databases();
        self.endpoint_changed()
    }

    fn made(&self, hadr: &dyn Hadr, options: &[Opt]) -> Result<(Vec<u8>, Vec<u8>)> {
        let subject = option(options, "SUBJECT").ok_or_else(errors::certificate_subject_missing)?;
        let now = (self.info.engine.now_utc() - UNIX_EPOCH_TICKS) / 10_000_000;
        let start = option(options, "START_DATE").map_or(Ok(now), unix_seconds)?;
        let expiry = option(options, "EXPIRY_DATE").map_or(Ok(start + YEAR_SECONDS), unix_seconds)?;
        let made = hadr.make_certificate(subject, start, expiry)?;
        Ok((made.certificate, made.key))
    }

    fn imported(
        &self,
        hadr: &dyn Hadr,
        from: &Opt,
        private_key: &[Opt],
    ) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let certificate = match (from.name.as_str(), &from.value) {
            ("FILE", value) => self.read_file(value.text().unwrap_or(""))?,
            ("BINARY", ast::OptValue::Number(ast::Literal::Binary(bytes))) => bytes.to_vec(),
            _ => return Err(crate::errors::not_supported(format!("CREATE CERTIFICATE FROM {}", from.name))),
        };
        if hadr.read_certificate(&certificate).is_none() {
            return Err(errors::bad_certificate_file());
        }
        let Some(file) = option(private_key, "FILE") else { return Ok((certificate, None)) };
        let password = option(private_key, "DECRYPTION BY PASSWORD").unwrap_or("");
        let key = hadr.open_key(&self.read_file(file)?, password).ok_or_else(errors::wrong_key_password)?;
        Ok((certificate, Some(key)))
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        let disk = &self.info.engine.options().env.disk;
        let read = || -> std::io::Result<Vec<u8>> {
            let file = disk.open(Path::new(path), OpenMode::Read)?;
            let length = file.len()?.min(FILE_BYTES_MAX);
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
            let mut at = 0;
            while at < bytes.len() {
                match file.read_at(&mut bytes[at..], at as u64)? {
                    0 => break,
                    n => at += n,
                }
            }
            bytes.truncate(at);
            Ok(bytes)
        };
        read().map_err(|_| errors::bad_certificate_file())
    }

    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let disk = &self.info.engine.options().env.disk;
        let write = || -> std::io::Result<()> {
            let file = disk.open(Path::new(path), OpenMode::CreateNew)?;
            file.write_at(bytes, 0)?;
            file.sync_all()?;
            // A backup that a power cut takes with it is none.
            Path::new(path).parent().map_or(Ok(()), |dir| disk.sync_dir(dir))
        };
        write().map_err(|_| errors::certificate_file_exists(path))
    }

    /// BACKUP CERTIFICATE
    pub(crate) fn backup_certificate(&mut self, b: &ast::BackupCertificate) -> Result<()> {
        let hadr = self.keys_ddl()?;
        let name = b.name.text.as_str();
        let found = self.info.engine.certificate(name)?;
        let certificate = found.ok_or_else(|| errors::no_certificate(name))?;
        self.write_file(&b.file, &certificate.certificate)?;
        if let Some(file) = option(&b.private_key, "FILE") {
            let key = certificate.key.clone().ok_or_else(|| errors::certificate_without_key(name))?;
            let password = option(&b.private_key, "ENCRYPTION BY PASSWORD").unwrap_or("");
            self.write_file(file, &hadr.seal_key(&key, password))?;
            let engine = &self.info.engine;
            engine.put_certificate(StoredCertificate {
                key: Some(key),
                key_backed_up: engine.now_local(),
                ..certificate
            })?;
        }
        Ok(())
    }

    /// DROP CERTIFICATE
    pub(crate) fn drop_certificates(&mut self, d: &ast::Drop) -> Result<()> {
        self.keys_ddl()?;
        for name in &d.names {
            let name = &name.name.text;
            let Some(certificate) = self.info.engine.certificate(name)? else {
                if d.if_exists {
                    continue;
                }
                return Err(errors::no_certificate(name));
            };
            let used = self.info.engine.endpoints()?.iter().any(|e| {
                e.authentication.iter().any(|m| matches!(m, Method::Certificate(c) if fold(c) == fold(name)))
            });
            if used {
                return Err(errors::certificate_in_use(name));
            }
            let thumbprint = crate::engine::thumbprint(&certificate.certificate);
            if self.info.engine.databases().iter().any(|d| seals_key(d, &thumbprint)) {
                return Err(errors::certificate_seals_key(name));
            }
            self.info.engine.drop_certificate(certificate.id)?;
            self.endpoint_changed()?;
        }
        Ok(())
    }

    /// CREATE, ALTER, OPEN, CLOSE MASTER KEY
    pub(crate) fn master_key(&mut self, key: &ast::MasterKey) -> Result<()> {
        self.keys_ddl()?;
        let engine = &self.info.engine;
        let existing = engine.master_key()?;
        match key {
            ast::MasterKey::Create { password } => {
                if existing.is_some() {
                    return Err(errors::master_key_exists());
                }
                let password = password.as_deref().unwrap_or("");
                let hadr = self.hadr()?;
                let by_password = |key: &[u8]| hadr.seal_key(key, password);
                let key = engine.new_master_key(engine.options().hasher.hash(password), &by_password)?;
                engine.put_master_key(Some(&key))
            }
            ast::MasterKey::Open { password } => {
                let existing = existing.ok_or_else(errors::no_master_key)?;
                if engine.options().hasher.verify(password, &existing.password_hash) {
                    self.reseal_master_key(existing, password)
                } else {
                    Err(SqlError::new(
                        15313,
                        16,
                        1,
                        "The key is not encrypted using the specified decryptor.",
                    ))
                }
            }
            ast::MasterKey::Close => existing.map(|_| ()).ok_or_else(errors::no_master_key),
            ast::MasterKey::Other { verb, .. } => {
                Err(crate::errors::not_supported(format!("{verb} MASTER KEY")))
            }
        }
    }

    /// A master key that came from elsewhere is sealed with this instance's service master key, and what it opens is opened.
    fn reseal_master_key(&self, stored: StoredMasterKey, password: &str) -> Result<()> {
        let engine = &self.info.engine;
        if engine.opens_master_key(&stored) {
            return Ok(());
        }
        let sealed = stored.by_password.as_deref().unwrap_or_default();
        let key = self.hadr()?.open_key(sealed, password).ok_or_else(errors::no_master_key)?;
        engine.put_master_key(Some(&engine.seal_master_key(stored, &key)?))?;
        engine.unlock_databases();
        Ok(())
    }

    /// DROP MASTER KEY
    pub(crate) fn drop_master_key(&mut self) -> Result<()> {
        self.keys_ddl()?;
        let engine = &self.info.engine;
        engine.master_key()?.ok_or_else(errors::no_master_key)?;
        let sealed = |c: &StoredCertificate| c.key.is_some() || c.sealed_key.is_some();
        if engine.stored_certificates()?.iter().any(|c| sealed(c) && !c.own_password) {
            return Err(SqlError::new(
                15580,
                16,
                1,
                "Cannot drop master key because certificate private keys are encrypted by it.",
            ));
        }
        engine.put_master_key(None)
    }
}

/// Whether a database's encryption key is sealed with the certificate.
fn seals_key(database: &DatabaseEntry, thumbprint: &[u8]) -> bool {
    let encryption = database.store.encryption();
    encryption.is_some_and(|e| e.ring.key().is_some_and(|key| key.thumbprint == thumbprint))
}

/// A date of a certificate's option.
fn unix_seconds(text: &str) -> Result<i64> {
    let bad = || {
        SqlError::new(241, 16, 1, "Conversion failed when converting date and/or time from character string.")
    };
    use keel_types::datetime::language::Dates;
    use keel_types::datetime::parse::parse;
    let ticks = parse(text, Dates::US, false).ok().and_then(|p| p.civil.ticks()).ok_or_else(bad)?;
    Ok((ticks - UNIX_EPOCH_TICKS) / 10_000_000)
}
