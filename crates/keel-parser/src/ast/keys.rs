//! Master keys, certificates, asymmetric and symmetric keys, credentials.

use super::{Ident, ObjectName, Opt, OptValue};
use smol_str::SmolStr;
use std::sync::Arc;

/// A statement about keys. Their DROPs are [`super::Drop`]s.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyStatement {
    MasterKey(MasterKey),
    CreateCertificate(CreateCertificate),
    AlterCertificate {
        name: Ident,
        change: KeyChange,
    },
    BackupCertificate(BackupCertificate),
    CreateAsymmetricKey(CreateAsymmetricKey),
    AlterAsymmetricKey {
        name: Ident,
        change: KeyChange,
    },
    CreateSymmetricKey(CreateSymmetricKey),
    /// `ADD | DROP ENCRYPTION BY …`
    AlterSymmetricKey {
        name: Ident,
        add: bool,
        by: Vec<Protector>,
    },
    OpenSymmetricKey {
        name: Ident,
        by: Protector,
    },
    CloseSymmetricKey(Ident),
    CloseAllSymmetricKeys,
    Signature(SignatureStatement),
    /// `CREATE COLUMN MASTER KEY name WITH ( KEY_STORE_PROVIDER_NAME = …, KEY_PATH = … )`
    CreateColumnMasterKey {
        name: Ident,
        options: Vec<Opt>,
    },
    /// `CREATE COLUMN ENCRYPTION KEY name WITH VALUES ( … ), …`
    CreateColumnEncryptionKey {
        name: Ident,
        values: Vec<ColumnKeyValue>,
    },
    /// `ALTER COLUMN ENCRYPTION KEY name ADD | DROP VALUE ( … )`
    AlterColumnEncryptionKey {
        name: Ident,
        add: bool,
        value: ColumnKeyValue,
    },
}

/// `ADD | DROP [COUNTER] SIGNATURE TO | FROM [class::]module BY signer, …`
#[derive(Clone, Debug, PartialEq)]
pub struct SignatureStatement {
    pub add: bool,
    pub counter: bool,
    /// `OBJECT`, when it is said.
    pub class: Option<Ident>,
    pub module: ObjectName,
    pub signers: Vec<Signer>,
}

/// `CERTIFICATE name | ASYMMETRIC KEY name [WITH PASSWORD = '…' | WITH SIGNATURE = 0x…]`
#[derive(Clone, Debug, PartialEq)]
pub struct Signer {
    pub asymmetric: bool,
    pub name: Ident,
    pub password: Option<SmolStr>,
    /// What was made elsewhere.
    pub signature: Option<Arc<[u8]>>,
}

/// `( COLUMN_MASTER_KEY = key, ALGORITHM = '…', ENCRYPTED_VALUE = 0x… )`
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnKeyValue {
    pub master: Ident,
    pub algorithm: Option<SmolStr>,
    pub encrypted: Option<Arc<[u8]>>,
}

/// CREATE, ALTER and DROP of CREDENTIAL and of DATABASE SCOPED CREDENTIAL
#[derive(Clone, Debug, PartialEq)]
pub struct CredentialStatement {
    /// DATABASE SCOPED
    pub scoped: bool,
    pub name: Ident,
    pub action: CredentialAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CredentialAction {
    Create(CredentialOptions),
    Alter(CredentialOptions),
    Drop { if_exists: bool },
}

/// `WITH IDENTITY = '…' [, SECRET = '…'] [FOR CRYPTOGRAPHIC PROVIDER p]`
#[derive(Clone, Debug, PartialEq)]
pub struct CredentialOptions {
    pub identity: SmolStr,
    pub secret: Option<SmolStr>,
    pub provider: Option<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MasterKey {
    Create {
        password: Option<SmolStr>,
    },
    Open {
        password: SmolStr,
    },
    Close,
    /// `[FORCE] REGENERATE WITH ENCRYPTION BY PASSWORD = '…'`
    Regenerate {
        force: bool,
        password: SmolStr,
    },
    /// `ADD | DROP ENCRYPTION BY SERVICE MASTER KEY | PASSWORD = '…'`; `None` is the service master key.
    Encryption {
        add: bool,
        password: Option<SmolStr>,
    },
    Backup {
        file: SmolStr,
        password: SmolStr,
    },
    Restore {
        file: SmolStr,
        decryption: SmolStr,
        encryption: SmolStr,
        force: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateCertificate {
    pub name: Ident,
    pub authorization: Option<Ident>,
    /// `FROM FILE = '…'`, `FROM BINARY = 0x…`, `FROM ASSEMBLY …`
    pub from: Option<Opt>,
    pub private_key: Vec<Opt>,
    pub encryption_password: Option<SmolStr>,
    /// SUBJECT, START_DATE, EXPIRY_DATE
    pub options: Vec<Opt>,
    pub active_for_begin_dialog: Option<bool>,
}

/// What ALTER does to a certificate or an asymmetric key.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyChange {
    RemovePrivateKey,
    /// `WITH PRIVATE KEY ( FILE = …, DECRYPTION BY PASSWORD = …, ENCRYPTION BY PASSWORD = … )`
    PrivateKey(Vec<Opt>),
    /// `WITH ACTIVE FOR BEGIN_DIALOG = ON | OFF`
    ActiveForBeginDialog(bool),
    /// `ATTESTED BY …`, `REMOVE ATTESTED OPTION`
    Attested,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BackupCertificate {
    pub name: Ident,
    pub file: SmolStr,
    pub private_key: Vec<Opt>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateAsymmetricKey {
    pub name: Ident,
    pub authorization: Option<Ident>,
    /// `FROM FILE`, `EXECUTABLE FILE`, `ASSEMBLY`, `PROVIDER`, upper case.
    pub from: Option<SmolStr>,
    /// RSA_2048 and its like, upper case.
    pub algorithm: Option<SmolStr>,
    pub password: Option<SmolStr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateSymmetricKey {
    pub name: Ident,
    pub authorization: Option<Ident>,
    /// `FROM PROVIDER p`
    pub provider: Option<Ident>,
    /// ALGORITHM, KEY_SOURCE, IDENTITY_VALUE and those of providers.
    pub options: Vec<Opt>,
    pub by: Vec<Protector>,
}

/// What a symmetric key is encrypted or decrypted by.
#[derive(Clone, Debug, PartialEq)]
pub enum Protector {
    Password(SmolStr),
    /// With the password of its private key, where one is said.
    Certificate(Ident, Option<SmolStr>),
    AsymmetricKey(Ident, Option<SmolStr>),
    SymmetricKey(Ident),
}

/// The text of an option by its name.
#[must_use]
pub fn option_text<'o>(options: &'o [Opt], name: &str) -> Option<&'o str> {
    options.iter().find(|o| o.name == name).map(|o| &o.value).and_then(OptValue::text)
}
