//! Always Encrypted in metadata (2.2.7.4): the table of keys in front of columns, and how each encrypted column's values are encrypted.
//! They are there only for clients that asked for the feature, and got it.

use crate::bytes::{Reader, put_b_varchar, put_us_varchar};
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::type_info::TypeInfo;

/// The only cipher there is: AEAD_AES_256_CBC_HMAC_SHA_256.
pub const AEAD_AES_256_CBC_HMAC_SHA_256: u8 = 2;
/// Version of the rules by which plaintexts become bytes.
pub const NORMALIZATION: u8 = 1;
/// A cipher that has a name instead of a number.
const NAMED_CIPHER: u8 = 0;

/// One encryption of a key (EncryptionKeyValue).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// The encrypted key.
    pub encrypted: Vec<u8>,
    /// Where its master key is kept.
    pub provider: String,
    /// Where the master key is found there.
    pub path: String,
    /// How it is encrypted.
    pub algorithm: String,
}

/// Which key, and which version of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyId {
    /// Database.
    pub database: u32,
    /// Number of the key in it.
    pub id: u32,
    /// Version of the key.
    pub version: u32,
    /// Version of what is said of the key.
    pub metadata_version: [u8; 8],
}

/// A column encryption key (EK_INFO).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Which one.
    pub id: KeyId,
    /// The key, encrypted with each of its master keys.
    pub values: Vec<KeyValue>,
}

/// How values are encrypted (CryptoMetaData).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crypto {
    /// The key. Of a returned value there is none: the client has said it.
    pub key: Option<Key>,
    /// User type of the plaintext.
    pub user_type: u32,
    /// Type of the plaintext.
    pub ty: TypeInfo,
    /// 1 deterministic, 2 randomized.
    pub kind: u8,
}

/// How an encrypted parameter is encrypted (ParamCipherInfo).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterCipher {
    /// Type of the plaintext.
    pub ty: TypeInfo,
    /// 1 deterministic, 2 randomized.
    pub kind: u8,
    /// The key.
    pub key: KeyId,
}

impl KeyId {
    fn decode(r: &mut Reader<'_>) -> Result<KeyId> {
        Ok(KeyId { database: r.u32()?, id: r.u32()?, version: r.u32()?, metadata_version: r.array()? })
    }

    fn put(&self, out: &mut Vec<u8>) {
        for number in [self.database, self.id, self.version] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.metadata_version);
    }
}

impl Key {
    fn decode(r: &mut Reader<'_>) -> Result<Key> {
        let id = KeyId::decode(r)?;
        let count = r.u8()?;
        let value = |r: &mut Reader<'_>| -> Result<KeyValue> {
            Ok(KeyValue {
                encrypted: r.us_varbyte()?.to_vec(),
                provider: r.b_varchar()?,
                path: r.us_varchar()?,
                algorithm: r.b_varchar()?,
            })
        };
        let values = (0..count).map(|_| value(r)).collect::<Result<_>>()?;
        Ok(Key { id, values })
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.id.put(out);
        out.push(u8::try_from(self.values.len()).expect("a key has two values at most"));
        for value in &self.values {
            let bytes = u16::try_from(value.encrypted.len()).expect("a value is of 8000 bytes at most");
            out.extend_from_slice(&bytes.to_le_bytes());
            out.extend_from_slice(&value.encrypted);
            put_b_varchar(out, &value.provider);
            put_us_varchar(out, &value.path);
            put_b_varchar(out, &value.algorithm);
        }
    }
}

/// Appends the table of the keys of some columns, each once; gives them in the table's order.
pub fn put_keys<'c>(out: &mut Vec<u8>, columns: impl Iterator<Item = &'c Crypto>) -> Vec<&'c Key> {
    let mut keys: Vec<&Key> = Vec::new();
    for key in columns.filter_map(|c| c.key.as_ref()) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    out.extend_from_slice(&u16::try_from(keys.len()).expect("fewer keys than columns").to_le_bytes());
    keys.iter().for_each(|key| key.put(out));
    keys
}

/// Reads the table of keys.
pub fn decode_keys(r: &mut Reader<'_>) -> Result<Vec<Key>> {
    let count = r.u16()?;
    (0..count).map(|_| Key::decode(r)).collect()
}

impl Crypto {
    /// Appends it, with the place of its key in the table, if there is one.
    pub fn put(&self, out: &mut Vec<u8>, keys: &[&Key], dialect: Dialect) {
        if let Some(key) = &self.key {
            let at = keys.iter().position(|k| *k == key).expect("the table has all keys of its columns");
            out.extend_from_slice(&u16::try_from(at).expect("fewer keys than columns").to_le_bytes());
        }
        dialect.put_user_type(out, self.user_type);
        self.ty.encode(out, dialect);
        out.extend_from_slice(&[AEAD_AES_256_CBC_HMAC_SHA_256, self.kind, NORMALIZATION]);
    }

    /// Reads it behind a table of keys.
    pub fn decode(r: &mut Reader<'_>, keys: &[Key], dialect: Dialect) -> Result<Crypto> {
        let at = r.u16()?;
        let key = keys.get(usize::from(at)).ok_or(DecodeError::Malformed("ordinal of a key"))?.clone();
        let user_type = dialect.user_type(r)?;
        let ty = TypeInfo::decode_column(r, dialect)?;
        let kind = cipher(r)?;
        r.u8()?;
        Ok(Crypto { key: Some(key), user_type, ty, kind })
    }
}

impl ParameterCipher {
    /// Reads it behind a parameter's value.
    pub fn decode(r: &mut Reader<'_>, dialect: Dialect) -> Result<ParameterCipher> {
        let ty = TypeInfo::decode(r, dialect)?;
        let kind = cipher(r)?;
        let key = KeyId::decode(r)?;
        r.u8()?;
        Ok(ParameterCipher { ty, kind, key })
    }
}

/// The cipher, which must be the only one, and the kind of encryption.
fn cipher(r: &mut Reader<'_>) -> Result<u8> {
    let cipher = r.u8()?;
    if cipher == NAMED_CIPHER {
        r.b_varchar()?;
    }
    if cipher != AEAD_AES_256_CBC_HMAC_SHA_256 {
        return Err(DecodeError::Unsupported { what: "cipher of an encrypted value", code: cipher.into() });
    }
    match r.u8()? {
        kind @ (1 | 2) => Ok(kind),
        kind => Err(DecodeError::Unsupported { what: "kind of encryption", code: kind.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{Column, ColumnFlags, column};

    fn encrypted(name: &str, id: u32) -> Column {
        let value = KeyValue {
            encrypted: vec![1, 2, 3],
            provider: "MSSQL_JAVA_KEYSTORE".to_owned(),
            path: "cmk".to_owned(),
            algorithm: "RSA_OAEP".to_owned(),
        };
        let id = KeyId { database: 5, id, version: 1, metadata_version: [7; 8] };
        let key = Some(Key { id, values: vec![value] });
        Column {
            user_type: 0,
            flags: ColumnFlags::NULLABLE,
            ty: TypeInfo::VarBinary(65),
            table: Vec::new(),
            crypto: Some(Box::new(Crypto { key, user_type: 0, ty: TypeInfo::IntN(4), kind: 1 })),
            name: name.to_owned(),
        }
    }

    #[test]
    fn columns_round_trip_and_a_key_is_said_once() {
        let columns = [encrypted("a", 1), encrypted("b", 2), encrypted("c", 1)];
        let mut out = Vec::new();
        column::put(&mut out, columns.iter(), Dialect::default(), true);
        // Token, columns, keys.
        assert_eq!(out[1..5], [3, 0, 2, 0]);
        let mut r = Reader::new(&out[1..]);
        let back = column::decode_of_load(&mut r, Dialect::default(), true).expect("valid");
        assert!(r.is_empty());
        let as_sent =
            |c: &Column| Column { flags: c.flags.with_if(ColumnFlags::ENCRYPTED, true), ..c.clone() };
        assert_eq!(back, columns.iter().map(as_sent).collect::<Vec<_>>());
    }

    #[test]
    fn who_did_not_ask_sees_bytes() {
        let mut out = Vec::new();
        column::put(&mut out, [encrypted("a", 1)].iter(), Dialect::default(), false);
        let mut r = Reader::new(&out[1..]);
        let back = column::decode(&mut r, Dialect::default()).expect("valid");
        assert!(r.is_empty());
        assert_eq!(back, [Column { crypto: None, ..encrypted("a", 1) }]);
    }
}
