//! Certificates: CREATE, ALTER, DROP, BACKUP.
//!
//! Those of `master` are also what endpoints show and trust, and what seals the keys of databases: what they say counts once their
//! transaction is committed ([`crate::Engine::certificates_changed`]).

use super::open::{Private, by_certificate};
use super::principal::Mapped;
use super::{
    CERTIFICATE, CertificateDef, DROPPED, LOCKED, PrivateKey, Protection, STRIPPED, errors, next_id, refused,
    rsa,
};
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, SecurableRef, fold, object_class};
use crate::clock::UNIX_EPOCH_TICKS;
use crate::engine::{DatabaseEntry, MASTER, thumbprint};
use crate::hadr::errors as hadr_errors;
use crate::hadr::store::Method;
use crate::run::Runner;
use keel_base::cipher::seal_secret;
use keel_parser::ast::{self, KeyChange, Opt, OptValue, option_text};
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

/// Seconds in a year, as certificates without EXPIRY_DATE are valid for.
const YEAR_SECONDS: i64 = 365 * 86_400;

impl Runner<'_> {
    pub(super) fn put_certificate(&mut self, entry: &Arc<DatabaseEntry>, def: CertificateDef) -> Result<()> {
        self.put(entry, CatalogObject::Certificate(Arc::new(def)))
    }

    /// A certificate that the caller may do something with. Error 15151.
    pub(super) fn certificate_for(
        &self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        permission: &str,
        verb: &str,
    ) -> Result<Arc<CertificateDef>> {
        let found = self.info.picture(entry).certificate_named(name).cloned();
        let found = found.ok_or_else(|| errors::not_found(verb, CERTIFICATE, name))?;
        self.may_key_or(entry, permission, SecurableRef::Certificate(found.id), (verb, CERTIFICATE, name))?;
        Ok(found)
    }

    pub(super) fn create_certificate(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        c: &ast::CreateCertificate,
    ) -> Result<()> {
        self.may_make_key(entry, "CREATE CERTIFICATE", "ALTER ANY CERTIFICATE")?;
        let name = c.name.text.as_str();
        self.refuse_taken_certificate(entry, name, None)?;
        let (certificate, key) = match &c.from {
            Some(from) => self.imported_certificate(from, &c.private_key)?,
            None => {
                let (certificate, key) = self.made_certificate(&c.options)?;
                (certificate, Some(key))
            }
        };
        let password = c.encryption_password.as_deref();
        let password = password.or_else(|| option_text(&c.private_key, "ENCRYPTION BY PASSWORD"));
        let own = key.as_deref().zip(password).map(|(key, password)| self.sealed_by_password(key, password));
        self.lock_catalog(entry)?;
        self.refuse_taken_certificate(entry, name, Some(&certificate))?;
        let principal = self.key_owner(entry, c.authorization.as_ref())?;
        let private = match (own, key) {
            (Some(own), _) => own,
            (None, Some(key)) => self.sealed_by_master_key(entry, &key)?,
            (None, None) => PrivateKey::default(),
        };
        let picture = self.info.picture(entry);
        let def = CertificateDef {
            id: next_id(picture.certificates().map(|c| c.id)),
            name: name.to_owned(),
            owner: String::new(),
            principal,
            certificate,
            key: None,
            sealed_key: private.by_master_key,
            by_password: private.by_password,
            own_password: false,
            key_backed_up: 0,
            inactive: c.active_for_begin_dialog == Some(false),
        };
        self.put_certificate(entry, def)
    }

    /// Error 15232 for a name that is taken, or a certificate that is there.
    fn refuse_taken_certificate(
        &self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        certificate: Option<&[u8]>,
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        let same = |known: &Arc<CertificateDef>| certificate == Some(&known.certificate);
        let taken = picture.certificate_named(name).is_some() || picture.certificates().any(same);
        if taken { Err(errors::certificate_exists(name)) } else { Ok(()) }
    }

    /// A private key as it is kept: with its own password, or with the master key. Error 15581 without either.
    fn sealed_private_key(
        &self,
        entry: &Arc<DatabaseEntry>,
        key: &[u8],
        password: Option<&str>,
    ) -> Result<PrivateKey> {
        match password {
            Some(password) => Ok(self.sealed_by_password(key, password)),
            None => self.sealed_by_master_key(entry, key),
        }
    }

    /// A private key as it is kept with a password of its own. Takes a tenth of a second.
    pub(super) fn sealed_by_password(&self, key: &[u8], password: &str) -> PrivateKey {
        let sealed = self.info.engine.options().hasher.seal(key, password);
        PrivateKey { by_master_key: None, by_password: Some(sealed) }
    }

    /// The same with the master key, which is the database's as long as its catalog is locked. Errors 15581, 33094.
    pub(super) fn sealed_by_master_key(&self, entry: &Arc<DatabaseEntry>, key: &[u8]) -> Result<PrivateKey> {
        let master = self.info.master_key_of(entry)?;
        let sealed = seal_secret(key, &master, &*self.info.engine.options().env.random);
        Ok(PrivateKey { by_master_key: Some(sealed), by_password: None })
    }

    fn made_certificate(&self, options: &[Opt]) -> Result<(Vec<u8>, Vec<u8>)> {
        let subject = option_text(options, "SUBJECT").ok_or_else(errors::subject_missing)?;
        let engine = &self.info.engine;
        let now = (engine.now_utc() - UNIX_EPOCH_TICKS) / 10_000_000;
        let start = option_text(options, "START_DATE").map_or(Ok(now), unix_seconds)?;
        let expiry = option_text(options, "EXPIRY_DATE").map_or(Ok(start + YEAR_SECONDS), unix_seconds)?;
        rsa::make(subject, start, expiry, &*engine.options().env.random).ok_or_else(errors::data_invalid)
    }

    fn imported_certificate(&self, from: &Opt, private_key: &[Opt]) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let certificate = match (from.name.as_str(), &from.value) {
            ("FILE", value) => self.read_key_file(value.text().unwrap_or("")).ok_or_else(errors::bad_file)?,
            ("BINARY", OptValue::Number(ast::Literal::Binary(bytes))) => bytes.to_vec(),
            _ => return Err(refused(&format!("CREATE CERTIFICATE FROM {}", from.name))),
        };
        let facts = rsa::read(&certificate).ok_or_else(errors::bad_file)?;
        let key = self.imported_private_key(private_key, &facts.public, CERTIFICATE)?;
        Ok((certificate, key))
    }

    /// `( FILE = …, DECRYPTION BY PASSWORD = … )` or `( BINARY = 0x…, … )`; `None` where neither is said.
    pub(super) fn imported_private_key(
        &self,
        options: &[Opt],
        public: &[u8],
        kind: &str,
    ) -> Result<Option<Vec<u8>>> {
        let binary = options.iter().find(|o| o.name == "BINARY").and_then(|o| o.value.binary());
        let sealed = match (option_text(options, "FILE"), binary) {
            (Some(file), _) => self.read_key_file(file).ok_or_else(errors::bad_file)?,
            (None, Some(bytes)) => bytes.to_vec(),
            (None, None) => return Ok(None),
        };
        let password = option_text(options, "DECRYPTION BY PASSWORD").unwrap_or("");
        let key = self.info.engine.options().hasher.open(&sealed, password);
        let key = key.ok_or_else(errors::wrong_password)?;
        if !rsa::fits(&key, public) {
            return Err(errors::other_private_key(kind));
        }
        Ok(Some(key))
    }

    pub(super) fn alter_certificate(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        change: &KeyChange,
    ) -> Result<()> {
        let found = self.certificate_for(entry, name, "ALTER", "alter")?;
        let mut def = (*found).clone();
        match change {
            KeyChange::RemovePrivateKey if def.private().protection() == Protection::Absent => {
                return Err(errors::no_private_key(CERTIFICATE));
            }
            KeyChange::RemovePrivateKey => {
                self.refuse_used_certificate(entry, &def, STRIPPED)?;
                (def.sealed_key, def.by_password, def.own_password) = (None, None, false);
            }
            KeyChange::PrivateKey(options) => {
                let public = rsa::read(&def.certificate).map(|f| f.public).unwrap_or_default();
                let private = match self.imported_private_key(options, &public, CERTIFICATE)? {
                    Some(_) if def.private().protection() != Protection::Absent => {
                        return Err(errors::private_key_set());
                    }
                    Some(key) => {
                        let password = option_text(options, "ENCRYPTION BY PASSWORD");
                        self.sealed_private_key(entry, &key, password)?
                    }
                    None => self.other_protection(entry, CERTIFICATE, &def.private(), options)?,
                };
                if private.protection() == Protection::Password {
                    self.refuse_serving_certificate(entry, &def, LOCKED)?;
                }
                (def.sealed_key, def.by_password) = (private.by_master_key, private.by_password);
                def.own_password = false;
            }
            KeyChange::ActiveForBeginDialog(active) => def.inactive = !active,
            KeyChange::Attested => return Err(refused("ATTESTED BY")),
        }
        self.put_certificate(entry, def)
    }

    /// A private key that is here, kept with another password or with the master key.
    pub(super) fn other_protection(
        &self,
        entry: &Arc<DatabaseEntry>,
        kind: &'static str,
        stored: &PrivateKey,
        options: &[Opt],
    ) -> Result<PrivateKey> {
        let decryption = option_text(options, "DECRYPTION BY PASSWORD");
        if stored.protection() == Protection::Absent {
            return Err(errors::no_private_key(kind));
        }
        let wrong = |e: Box<SqlError>| if e.number == 15556 { errors::wrong_password() } else { e };
        let key = self.info.open_private_key(entry, &Private { kind, stored }, decryption).map_err(wrong)?;
        self.sealed_private_key(entry, &key, option_text(options, "ENCRYPTION BY PASSWORD"))
    }

    pub(super) fn backup_certificate(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        b: &ast::BackupCertificate,
    ) -> Result<()> {
        let name = b.name.text.as_str();
        let found = self.certificate_for(entry, name, "CONTROL", "find")?;
        let option = |name| option_text(&b.private_key, name);
        let (Some(file), Some(password)) = (option("FILE"), option("ENCRYPTION BY PASSWORD")) else {
            return self.write_key_file(&b.file, &found.certificate, false);
        };
        if found.private().protection() == Protection::Absent && found.key.is_none() {
            return Err(errors::no_key_to_back_up(name));
        }
        let key = self.info.certificate_key(entry, &found, option("DECRYPTION BY PASSWORD"))?;
        self.write_key_file(&b.file, &found.certificate, false)?;
        self.write_key_file(file, &self.info.engine.options().hasher.seal(&key, password), true)?;
        let key_backed_up = self.info.engine.now_local();
        self.put_certificate(entry, CertificateDef { key_backed_up, ..(*found).clone() })
    }

    /// Errors 15352 and 3716 for a certificate that something hangs on.
    fn refuse_used_certificate(
        &self,
        entry: &Arc<DatabaseEntry>,
        def: &CertificateDef,
        verb: &str,
    ) -> Result<()> {
        let by = by_certificate(def);
        if self.info.picture(entry).symmetric_keys().any(|k| k.sealed.iter().any(|s| s.by == by)) {
            return Err(errors::in_use(CERTIFICATE, verb));
        }
        self.refuse_serving_certificate(entry, def, verb)
    }

    /// The same for one of master that an endpoint shows, or that seals a database's key: the server has to open it by itself.
    fn refuse_serving_certificate(
        &self,
        entry: &Arc<DatabaseEntry>,
        def: &CertificateDef,
        verb: &str,
    ) -> Result<()> {
        if entry.id != MASTER {
            return Ok(());
        }
        let shown = |m: &Method| matches!(m, Method::Certificate(c) if fold(c) == fold(&def.name));
        if self.info.engine.endpoints()?.iter().any(|e| e.authentication.iter().any(shown)) {
            return Err(hadr_errors::certificate_in_use(&def.name, verb));
        }
        let digest = thumbprint(&def.certificate);
        if self.info.engine.databases().iter().any(|d| seals_key(d, &digest)) {
            return Err(hadr_errors::certificate_seals_key(&def.name, verb));
        }
        Ok(())
    }

    pub(super) fn drop_certificate(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        if_exists: bool,
    ) -> Result<()> {
        if if_exists && self.info.picture(entry).certificate_named(name).is_none() {
            return Ok(());
        }
        let found = self.certificate_for(entry, name, "CONTROL", "drop")?;
        self.refuse_used_certificate(entry, &found, DROPPED)?;
        self.refuse_signer(entry, Mapped::Certificate, &thumbprint(&found.certificate), DROPPED)?;
        self.refuse_mapped(entry, Mapped::Certificate, &found.certificate, DROPPED)?;
        self.change(entry, CatalogOp::Remove(CatalogKey { class: object_class::CERTIFICATE, id: found.id }))
    }
}

/// Whether a database's encryption key is sealed with the certificate.
fn seals_key(database: &DatabaseEntry, thumbprint: &[u8]) -> bool {
    let encryption = database.store.encryption();
    encryption.is_some_and(|e| e.ring.key().is_some_and(|key| key.thumbprint == thumbprint))
}

/// A date of a certificate's option.
fn unix_seconds(text: &str) -> Result<i64> {
    use keel_types::datetime::language::Dates;
    use keel_types::datetime::parse::parse;
    let bad = || {
        SqlError::new(241, 16, 1, "Conversion failed when converting date and/or time from character string.")
    };
    let ticks = parse(text, Dates::US, false).ok().and_then(|p| p.civil.ticks()).ok_or_else(bad)?;
    Ok((ticks - UNIX_EPOCH_TICKS) / 10_000_000)
}
