//! Master keys, certificates, asymmetric and symmetric keys, keys of encrypted columns, credentials.

use super::Parser;
use crate::ast::{
    BackupCertificate, ColumnKeyValue, CreateAsymmetricKey, CreateCertificate, CreateSymmetricKey,
    CredentialAction, CredentialOptions, CredentialStatement, KeyChange, KeyStatement, Literal, MasterKey,
    Opt, OptValue, Protector, SignatureStatement, Signer, StatementKind,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::{SmolStr, StrExt as _};

type Key = KeyStatement;

/// What is said of a private key; the last one not of one that is written.
const KEY_OPTIONS: [&str; 4] = ["FILE", "DECRYPTION BY PASSWORD", "ENCRYPTION BY PASSWORD", "BINARY"];

impl Parser<'_> {
    /// Behind a verb; `None` when it is about something else.
    pub(super) fn key_statement(&mut self, verb: &str) -> Result<Option<StatementKind>> {
        let key = if self.at_words(&["MASTER", "KEY"]) {
            self.at += 2;
            Key::MasterKey(self.master_key(verb)?)
        } else if self.at_word("CERTIFICATE") && matches!(verb, "CREATE" | "ALTER" | "BACKUP") {
            self.bump();
            match verb {
                "CREATE" => Key::CreateCertificate(self.create_certificate()?),
                "ALTER" => Key::AlterCertificate { name: self.ident()?, change: self.key_change()? },
                _ => Key::BackupCertificate(self.backup_certificate()?),
            }
        } else if self.at_words(&["ASYMMETRIC", "KEY"]) && matches!(verb, "CREATE" | "ALTER") {
            self.at += 2;
            match verb {
                "CREATE" => Key::CreateAsymmetricKey(self.create_asymmetric_key()?),
                _ => Key::AlterAsymmetricKey { name: self.ident()?, change: self.key_change()? },
            }
        } else if self.at_words(&["SYMMETRIC", "KEY"]) {
            self.at += 2;
            self.symmetric_key(verb)?
        } else if verb == "CREATE" && self.eat_words(&["COLUMN", "MASTER", "KEY"]) {
            let name = self.ident()?;
            self.expect_kw(Kw::WITH)?;
            Key::CreateColumnMasterKey { name, options: self.options_in_parentheses()? }
        } else if matches!(verb, "CREATE" | "ALTER") && self.eat_words(&["COLUMN", "ENCRYPTION", "KEY"]) {
            self.column_encryption_key(verb)?
        } else if verb == "CLOSE" && self.eat_words(&["ALL", "SYMMETRIC", "KEYS"]) {
            Key::CloseAllSymmetricKeys
        } else {
            return Ok(None);
        };
        Ok(Some(StatementKind::Key(Box::new(key))))
    }

    /// Behind a verb, at CREDENTIAL or DATABASE SCOPED CREDENTIAL; `None` when it is about something else.
    pub(super) fn credential_statement(&mut self, verb: &str) -> Result<Option<StatementKind>> {
        let scoped = self.eat_words(&["DATABASE", "SCOPED", "CREDENTIAL"]);
        if !scoped && !self.eat_word("CREDENTIAL") {
            return Ok(None);
        }
        let if_exists = verb == "DROP" && self.if_exists();
        let name = self.ident()?;
        let action = match verb {
            "CREATE" => CredentialAction::Create(self.credential_options(scoped)?),
            "ALTER" => CredentialAction::Alter(self.credential_options(scoped)?),
            _ => CredentialAction::Drop { if_exists },
        };
        Ok(Some(StatementKind::Credential(Box::new(CredentialStatement { scoped, name, action }))))
    }

    fn credential_options(&mut self, scoped: bool) -> Result<CredentialOptions> {
        self.expect_kw(Kw::WITH)?;
        self.expect_word("IDENTITY")?;
        let identity = self.password_text()?;
        let secret = if self.eat(Tok::Comma) {
            self.expect_word("SECRET")?;
            Some(self.password_text()?)
        } else {
            None
        };
        let provided = !scoped && self.eat_words(&["FOR", "CRYPTOGRAPHIC", "PROVIDER"]);
        let provider = if provided { Some(self.ident()?) } else { None };
        Ok(CredentialOptions { identity, secret, provider })
    }

    /// `= 'password'`
    fn password_text(&mut self) -> Result<SmolStr> {
        self.expect(Tok::Eq)?;
        self.string()
    }

    /// `ENCRYPTION BY PASSWORD = '…'`, with the first word given.
    fn by_password(&mut self, word: &str) -> Result<SmolStr> {
        self.expect_words(&[word, "BY", "PASSWORD"])?;
        self.password_text()
    }

    // ---- master keys ----

    fn master_key(&mut self, verb: &str) -> Result<MasterKey> {
        Ok(match verb {
            "CREATE" if self.at_word("ENCRYPTION") => {
                MasterKey::Create { password: Some(self.by_password("ENCRYPTION")?) }
            }
            "CREATE" => MasterKey::Create { password: None },
            "OPEN" => MasterKey::Open { password: self.by_password("DECRYPTION")? },
            "CLOSE" => MasterKey::Close,
            "ALTER" => self.alter_master_key()?,
            "BACKUP" => {
                let file = self.key_file(Kw::TO)?;
                MasterKey::Backup { file, password: self.by_password("ENCRYPTION")? }
            }
            "RESTORE" => {
                let file = self.key_file(Kw::FROM)?;
                let decryption = self.by_password("DECRYPTION")?;
                let encryption = self.by_password("ENCRYPTION")?;
                MasterKey::Restore { file, decryption, encryption, force: self.eat_word("FORCE") }
            }
            _ => return Err(self.unexpected()),
        })
    }

    /// `TO FILE = '…'`
    fn key_file(&mut self, direction: Kw) -> Result<SmolStr> {
        self.expect_kw(direction)?;
        self.expect_kw(Kw::FILE)?;
        self.expect(Tok::Eq)?;
        self.string()
    }

    fn alter_master_key(&mut self) -> Result<MasterKey> {
        let force = self.eat_word("FORCE");
        if self.eat_word("REGENERATE") {
            self.expect_kw(Kw::WITH)?;
            return Ok(MasterKey::Regenerate { force, password: self.by_password("ENCRYPTION")? });
        }
        let add = self.eat_kw(Kw::ADD);
        if force || !add && !self.eat_kw(Kw::DROP) {
            return Err(self.unexpected());
        }
        self.expect_words(&["ENCRYPTION", "BY"])?;
        if self.eat_words(&["SERVICE", "MASTER", "KEY"]) {
            return Ok(MasterKey::Encryption { add, password: None });
        }
        self.expect_word("PASSWORD")?;
        Ok(MasterKey::Encryption { add, password: Some(self.password_text()?) })
    }

    // ---- signatures ----

    /// Behind ADD or DROP; `None` when it is about something else.
    pub(super) fn signature_statement(&mut self, add: bool) -> Result<Option<StatementKind>> {
        let counter = self.eat_words(&["COUNTER", "SIGNATURE"]);
        if !counter && !self.eat_word("SIGNATURE") {
            return Ok(None);
        }
        self.expect_kw(if add { Kw::TO } else { Kw::FROM })?;
        let mut class = None;
        if self.tok_ahead(1) == Tok::DoubleColon {
            class = Some(self.any_word()?);
            self.bump();
        }
        let module = self.object_name()?;
        self.expect_kw(Kw::BY)?;
        let signers = self.list(|p| p.signer(add))?;
        let statement = SignatureStatement { add, counter, class, module, signers };
        Ok(Some(StatementKind::Key(Box::new(Key::Signature(statement)))))
    }

    /// One by whom a module is signed; with what, where it is added.
    fn signer(&mut self, add: bool) -> Result<Signer> {
        let asymmetric = self.eat_words(&["ASYMMETRIC", "KEY"]);
        if !asymmetric {
            self.expect_word("CERTIFICATE")?;
        }
        let mut signer = Signer { asymmetric, name: self.ident()?, password: None, signature: None };
        if add && self.eat_kw(Kw::WITH) {
            if self.eat_word("PASSWORD") {
                signer.password = Some(self.password_text()?);
            } else {
                self.expect_word("SIGNATURE")?;
                self.expect(Tok::Eq)?;
                let Some(Literal::Binary(bytes)) = self.literal()? else { return Err(self.unexpected()) };
                signer.signature = Some(bytes);
            }
        }
        Ok(signer)
    }

    // ---- certificates ----

    fn create_certificate(&mut self) -> Result<CreateCertificate> {
        let name = self.ident()?;
        let mut certificate = CreateCertificate {
            name,
            authorization: None,
            from: None,
            private_key: Vec::new(),
            encryption_password: None,
            options: Vec::new(),
            active_for_begin_dialog: None,
        };
        if self.eat_kw(Kw::AUTHORIZATION) {
            certificate.authorization = Some(self.any_word()?);
        }
        if self.eat_kw(Kw::FROM) {
            let executable = self.eat_word("EXECUTABLE");
            let mut from = self.option()?;
            if executable {
                from.name = SmolStr::new_static("EXECUTABLE FILE");
            }
            certificate.from = Some(from);
        }
        if self.at_word("ENCRYPTION") {
            certificate.encryption_password = Some(self.by_password("ENCRYPTION")?);
        }
        if self.eat_words(&["WITH", "PRIVATE", "KEY"]) {
            certificate.private_key = self.key_options(&KEY_OPTIONS)?;
        } else if self.eat_kw(Kw::WITH) {
            certificate.options = self.option_list()?;
        }
        if self.eat_words(&["ACTIVE", "FOR", "BEGIN_DIALOG"]) {
            self.expect(Tok::Eq)?;
            certificate.active_for_begin_dialog = Some(self.on_off()?);
        }
        Ok(certificate)
    }

    /// Behind the name of ALTER CERTIFICATE and ALTER ASYMMETRIC KEY.
    fn key_change(&mut self) -> Result<KeyChange> {
        if self.eat_words(&["REMOVE", "PRIVATE", "KEY"]) {
            return Ok(KeyChange::RemovePrivateKey);
        }
        if self.eat_words(&["WITH", "PRIVATE", "KEY"]) {
            return Ok(KeyChange::PrivateKey(self.key_options(&KEY_OPTIONS)?));
        }
        if self.eat_words(&["WITH", "ACTIVE", "FOR", "BEGIN_DIALOG"]) {
            self.expect(Tok::Eq)?;
            return Ok(KeyChange::ActiveForBeginDialog(self.on_off()?));
        }
        if self.at_words(&["REMOVE", "ATTESTED"]) || self.at_words(&["ATTESTED", "BY"]) {
            self.rest_of_statement()?;
            return Ok(KeyChange::Attested);
        }
        Err(self.unexpected())
    }

    fn backup_certificate(&mut self) -> Result<BackupCertificate> {
        let name = self.ident()?;
        let file = self.key_file(Kw::TO)?;
        let mut private_key = Vec::new();
        if self.eat_kw(Kw::WITH) {
            self.expect_words(&["PRIVATE", "KEY"])?;
            private_key = self.key_options(&KEY_OPTIONS[..3])?;
            // A file without a password would be open to everybody.
            let said = |name: &str| private_key.iter().any(|o| o.name == name);
            if !said("FILE") || !said("ENCRYPTION BY PASSWORD") {
                return Err(self.unexpected_at(self.at - 1));
            }
        }
        Ok(BackupCertificate { name, file, private_key })
    }

    // ---- column encryption keys ----

    /// Behind a verb and COLUMN ENCRYPTION KEY.
    fn column_encryption_key(&mut self, verb: &str) -> Result<KeyStatement> {
        let name = self.ident()?;
        if verb == "CREATE" {
            self.expect_words(&["WITH", "VALUES"])?;
            return Ok(Key::CreateColumnEncryptionKey { name, values: self.list(Self::column_key_value)? });
        }
        let add = self.eat_kw(Kw::ADD);
        if !add {
            self.expect_kw(Kw::DROP)?;
        }
        self.expect_word("VALUE")?;
        let at = self.at;
        let value = self.column_key_value()?;
        if add != value.encrypted.is_some() {
            return Err(self.unexpected_at(at));
        }
        Ok(Key::AlterColumnEncryptionKey { name, add, value })
    }

    fn column_key_value(&mut self) -> Result<ColumnKeyValue> {
        let at = self.at;
        let (mut master, mut algorithm, mut encrypted) = (None, None, None);
        self.parenthesized_list(|p| {
            let at = p.at;
            let name = p.upper_word()?;
            p.expect(Tok::Eq)?;
            match name.as_str() {
                "COLUMN_MASTER_KEY" => master = Some(p.ident()?),
                "ALGORITHM" => algorithm = Some(p.string()?),
                "ENCRYPTED_VALUE" => match p.literal()? {
                    Some(Literal::Binary(bytes)) => encrypted = Some(bytes),
                    _ => return Err(p.unexpected_at(p.at - 1)),
                },
                _ => return Err(p.unexpected_at(at)),
            }
            Ok(())
        })?;
        let master = master.ok_or_else(|| self.unexpected_at(at))?;
        if encrypted.is_some() != algorithm.is_some() {
            return Err(self.unexpected_at(at));
        }
        Ok(ColumnKeyValue { master, algorithm, encrypted })
    }

    // ---- asymmetric and symmetric keys ----

    fn create_asymmetric_key(&mut self) -> Result<CreateAsymmetricKey> {
        let name = self.ident()?;
        let authorization = if self.eat_kw(Kw::AUTHORIZATION) { Some(self.any_word()?) } else { None };
        let mut key =
            CreateAsymmetricKey { name, authorization, from: None, algorithm: None, password: None };
        if self.eat_kw(Kw::FROM) {
            let executable = self.eat_word("EXECUTABLE");
            let from = self.option()?;
            key.from = Some(if executable { SmolStr::new_static("EXECUTABLE FILE") } else { from.name });
        }
        if self.eat_kw(Kw::WITH) {
            let options = self.option_list()?;
            let algorithm = options.iter().find(|o| o.name == "ALGORITHM").and_then(|o| o.value.text());
            key.algorithm = algorithm.map(|a| a.to_uppercase_smolstr());
        }
        if key.from.is_none() && key.algorithm.is_none() {
            return Err(self.unexpected());
        }
        if self.at_word("ENCRYPTION") {
            key.password = Some(self.by_password("ENCRYPTION")?);
        }
        Ok(key)
    }

    /// Behind a verb and SYMMETRIC KEY.
    fn symmetric_key(&mut self, verb: &str) -> Result<KeyStatement> {
        let name = self.ident()?;
        Ok(match verb {
            "CREATE" => {
                let authorization =
                    if self.eat_kw(Kw::AUTHORIZATION) { Some(self.any_word()?) } else { None };
                let from = self.eat_kw(Kw::FROM);
                let provider = if from {
                    self.expect_word("PROVIDER")?;
                    Some(self.ident()?)
                } else {
                    None
                };
                let options = if self.eat_kw(Kw::WITH) { self.option_list()? } else { Vec::new() };
                if provider.is_none() && options.is_empty() {
                    return Err(self.unexpected());
                }
                let by = self.protectors("ENCRYPTION")?;
                Key::CreateSymmetricKey(CreateSymmetricKey { name, authorization, provider, options, by })
            }
            "ALTER" => {
                let add = self.eat_kw(Kw::ADD);
                if !add {
                    self.expect_kw(Kw::DROP)?;
                }
                let by = self.protectors("ENCRYPTION")?;
                if by.is_empty() {
                    return Err(self.unexpected());
                }
                Key::AlterSymmetricKey { name, add, by }
            }
            "OPEN" => {
                self.expect_words(&["DECRYPTION", "BY"])?;
                Key::OpenSymmetricKey { name, by: self.protector()? }
            }
            "CLOSE" => Key::CloseSymmetricKey(name),
            _ => return Err(self.unexpected()),
        })
    }

    /// `ENCRYPTION BY a, b …`, if it follows.
    fn protectors(&mut self, word: &str) -> Result<Vec<Protector>> {
        if !self.eat_words(&[word, "BY"]) {
            return Ok(Vec::new());
        }
        self.list(|p| {
            // The words may be said again for each.
            p.eat_words(&[word, "BY"]);
            p.protector()
        })
    }

    fn protector(&mut self) -> Result<Protector> {
        if self.eat_word("PASSWORD") {
            return Ok(Protector::Password(self.password_text()?));
        }
        if self.eat_words(&["SYMMETRIC", "KEY"]) {
            return Ok(Protector::SymmetricKey(self.ident()?));
        }
        let asymmetric = self.eat_words(&["ASYMMETRIC", "KEY"]);
        if !asymmetric {
            self.expect_word("CERTIFICATE")?;
        }
        let name = self.ident()?;
        let password = if self.eat_words(&["WITH", "PASSWORD"]) { Some(self.password_text()?) } else { None };
        Ok(match asymmetric {
            true => Protector::AsymmetricKey(name, password),
            false => Protector::Certificate(name, password),
        })
    }

    /// `( FILE = '…', DECRYPTION BY PASSWORD = '…', ENCRYPTION BY PASSWORD = '…', BINARY = 0x… )`: constants, and no other names.
    fn key_options(&mut self, names: &[&str]) -> Result<Vec<Opt>> {
        self.parenthesized_list(|p| {
            let (start, at, token) = (p.span(), p.at, p.token());
            let mut name = p.upper_word()?;
            if p.eat_words(&["BY", "PASSWORD"]) {
                name = SmolStr::from(format!("{} BY PASSWORD", p.raw(token).to_uppercase_smolstr()));
            }
            if !names.contains(&name.as_str()) {
                return Err(p.unexpected_at(at));
            }
            p.expect(Tok::Eq)?;
            let value = if name == "BINARY" {
                let at = p.at;
                match p.literal()? {
                    Some(literal @ Literal::Binary(_)) => OptValue::Number(literal),
                    _ => return Err(p.unexpected_at(at)),
                }
            } else {
                OptValue::String(p.string()?)
            };
            Ok(Opt { name, value, span: p.since(start) })
        })
    }
}
