//! Types of Always Encrypted: what a client encrypts before it sends it, and decrypts when it comes back.
//!
//! To the server a value of such a type is bytes that it cannot read. What it knows is the [`Scheme`]: which type they become when they
//! are decrypted, with which key, and whether equal values have equal bytes. [`SqlType`] is copied and compared everywhere; so it has
//! the scheme's number, and schemes are kept here, each once and for as long as the process runs: there are as many of them as
//! there are different columns and versions of keys.
//!
//! ```text
//! catalog: column, key ──► Scheme ──► number in SqlType::Encrypted ──► checks of the binder, metadata of the wire
//! ```
//!
//! Two encrypted types are the same to an operator when their keys are the same, both are deterministic, and the plaintexts of both are
//! normalized alike: a char as a varchar, a smaller integer as a larger one.

use super::{Collation, Length, SqlType};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, RwLock};

/// `ALGORITHM`: the only one there is.
pub const ALGORITHM: &str = "AEAD_AES_256_CBC_HMAC_SHA_256";
/// Bytes of a ciphertext that are not the padded plaintext: version, authentication tag, initialization vector.
const OVERHEAD: u32 = 1 + 32 + 16;
const BLOCK: u32 = 16;

/// One of the values of a column encryption key: the key, encrypted with a column master key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyValue {
    /// The encrypted key.
    pub encrypted: Arc<[u8]>,
    /// `KEY_STORE_PROVIDER_NAME` of the master key.
    pub provider: SmolStr,
    /// `KEY_PATH` of the master key.
    pub path: SmolStr,
    /// `ALGORITHM` of the value.
    pub algorithm: SmolStr,
}

/// A column encryption key, as clients are told of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnKey {
    /// `database_id` of its database.
    pub database_id: u32,
    /// Name of its database.
    pub database: SmolStr,
    /// `column_encryption_key_id`
    pub id: i32,
    /// Name.
    pub name: SmolStr,
    /// When it was last changed: another version for those who keep what they know of it.
    pub modified: i64,
    /// Its values, one for every master key.
    pub values: Vec<KeyValue>,
}

/// How a column's values are encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scheme {
    /// The type that the client sees.
    pub plain: SqlType,
    /// Collation of a plaintext of characters.
    pub collation: Collation,
    /// RANDOMIZED: equal values have different bytes. Otherwise DETERMINISTIC.
    pub randomized: bool,
    /// COLUMN_ENCRYPTION_KEY.
    pub key: Arc<ColumnKey>,
}

/// The number of a [`Scheme`]. It means nothing outside of this process: what is stored is the scheme, with its key's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Encrypted {
    number: u32,
}

/// An encrypted type in a stored definition. The catalog that reads it puts the key in that it has by this number.
#[derive(Serialize, Deserialize)]
struct Stored {
    plain: SqlType,
    collation: Collation,
    randomized: bool,
    key: i32,
}

impl From<Encrypted> for Stored {
    fn from(e: Encrypted) -> Stored {
        let Scheme { plain, collation, randomized, key } = e.scheme();
        Stored { plain: *plain, collation: *collation, randomized: *randomized, key: key.id }
    }
}

impl From<Stored> for Encrypted {
    fn from(s: Stored) -> Encrypted {
        let Stored { plain, collation, randomized, key: id } = s;
        // What is read may be damaged: no type is encrypted twice.
        let plain = if may_be_encrypted(plain) { plain } else { SqlType::VarBinary(Length::Max) };
        let key = Arc::new(ColumnKey { id, ..(*NONE.key).clone() });
        Scheme { plain, collation, randomized, key }.number()
    }
}

#[derive(Default)]
struct Registry {
    schemes: Vec<&'static Scheme>,
    numbers: HashMap<&'static Scheme, u32>,
    /// The newest version of every key, by database and number: what a client's parameters name.
    keys: HashMap<(u32, i32), Arc<ColumnKey>>,
}

static REGISTRY: LazyLock<RwLock<Registry>> = LazyLock::new(RwLock::default);

/// The scheme of a type that no catalog has seen yet.
static NONE: LazyLock<Scheme> = LazyLock::new(|| Scheme {
    plain: SqlType::VarBinary(Length::Max),
    collation: Collation::default(),
    randomized: true,
    key: Arc::new(ColumnKey {
        database_id: 0,
        database: SmolStr::default(),
        id: 0,
        name: SmolStr::default(),
        modified: 0,
        values: Vec::new(),
    }),
});

impl Scheme {
    /// The type whose values are encrypted so.
    #[must_use]
    pub fn sql_type(&self) -> SqlType {
        SqlType::Encrypted(self.number())
    }

    fn number(&self) -> Encrypted {
        let mut registry = REGISTRY.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(number) = registry.numbers.get(self) {
            return Encrypted { number: *number };
        }
        let scheme: &'static Scheme = Box::leak(Box::new(self.clone()));
        registry.schemes.push(scheme);
        let number = u32::try_from(registry.schemes.len()).expect("fewer schemes than bytes of memory");
        registry.numbers.insert(scheme, number);
        Encrypted { number }
    }

    /// The same with another plaintext, as a parameter is declared.
    #[must_use]
    pub fn of(&self, plain: SqlType) -> SqlType {
        Scheme { plain, ..self.clone() }.sql_type()
    }

    /// The same with another version of the key.
    #[must_use]
    pub fn with_key(&self, key: &Arc<ColumnKey>) -> SqlType {
        Scheme { key: Arc::clone(key), ..self.clone() }.sql_type()
    }

    /// The type of the ciphertext, as the store and clients that do not decrypt see it.
    #[must_use]
    pub fn cipher(&self) -> SqlType {
        let plain = match self.plain {
            SqlType::Char(n) | SqlType::Binary(n) => u32::from(n),
            SqlType::NChar(n) => u32::from(n) * 2,
            SqlType::NVarChar(Length::Limited(n)) => u32::from(n) * 2,
            SqlType::VarChar(Length::Limited(n)) | SqlType::VarBinary(Length::Limited(n)) => u32::from(n),
            SqlType::UniqueIdentifier => 16,
            SqlType::Decimal { .. } | SqlType::Numeric { .. } => 17,
            SqlType::DateTimeOffset(_) => 10,
            plain if plain.is_large() => return SqlType::VarBinary(Length::Max),
            _ => 8,
        };
        let bytes = OVERHEAD + (plain / BLOCK + 1) * BLOCK;
        match u16::try_from(bytes) {
            Ok(bytes @ ..=8000) => SqlType::VarBinary(Length::Limited(bytes)),
            _ => SqlType::VarBinary(Length::Max),
        }
    }

    /// `encryption_type`
    #[must_use]
    pub fn kind(&self) -> u8 {
        if self.randomized { 2 } else { 1 }
    }

    /// `encryption_type_desc`
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        if self.randomized { "RANDOMIZED" } else { "DETERMINISTIC" }
    }

    /// Whether values of the one may be kept as the other's: same key, same way, plaintexts that are normalized alike.
    #[must_use]
    pub fn takes(&self, other: &Scheme) -> bool {
        self.same_scheme(other) && alike(other.plain, self.plain)
    }

    /// Whether the key and the way are the same, whatever the plaintext is.
    #[must_use]
    pub fn same_scheme(&self, other: &Scheme) -> bool {
        let key = |s: &Scheme| (s.key.database_id, s.key.id);
        self.randomized == other.randomized && key(self) == key(other)
    }
}

impl ColumnKey {
    /// Lets parameters name it.
    pub fn publish(self: &Arc<Self>) {
        let mut registry = REGISTRY.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        registry.keys.insert((self.database_id, self.id), Arc::clone(self));
    }
}

/// The key that a client's parameter names by its database and number.
#[must_use]
pub fn published_key(database_id: u32, id: i32) -> Option<Arc<ColumnKey>> {
    let registry = REGISTRY.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    registry.keys.get(&(database_id, id)).cloned()
}

/// As messages describe it: `(encryption_type = 'DETERMINISTIC', …)`.
impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "(encryption_type = '{}', encryption_algorithm_name = '{ALGORITHM}', column_encryption_key_name = '{}', \
             column_encryption_key_database_name = '{}')",
            self.kind_name(),
            self.key.name,
            self.key.database
        )
    }
}

/// Whether a plaintext of one type is a plaintext of the other, byte for byte. Clients normalize integers to eight bytes and decimals to
/// their scale, and pad nothing.
#[must_use]
pub fn alike(from: SqlType, to: SqlType) -> bool {
    use SqlType as T;
    match (from, to) {
        (T::Char(_) | T::VarChar(_), T::Char(_) | T::VarChar(_))
        | (T::NChar(_) | T::NVarChar(_), T::NChar(_) | T::NVarChar(_))
        | (T::Binary(_) | T::VarBinary(_), T::Binary(_) | T::VarBinary(_)) => true,
        (from, to) if from.is_integer() && to.is_integer() => from.precedence() <= to.precedence(),
        (from, to) => match (from.decimal_parts(), to.decimal_parts()) {
            (Some((_, s1)), Some((_, s2))) => s1 == s2,
            _ => from == to,
        },
    }
}

/// Whether a type may be encrypted.
#[must_use]
pub fn may_be_encrypted(ty: SqlType) -> bool {
    use SqlType as T;
    let large = matches!(ty, T::Text | T::NText | T::Image | T::RowVersion | T::SqlVariant | T::Null);
    !(large || ty.is_xml() || ty.is_clr() || matches!(ty, T::Encrypted(_)))
}

impl Encrypted {
    /// What it stands for.
    #[must_use]
    pub fn scheme(self) -> &'static Scheme {
        let registry = REGISTRY.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = (self.number as usize).checked_sub(1);
        at.and_then(|at| registry.schemes.get(at).copied()).unwrap_or(&NONE)
    }
}

impl SqlType {
    /// How its values are encrypted, if they are.
    #[must_use]
    pub fn scheme(self) -> Option<&'static Scheme> {
        match self {
            SqlType::Encrypted(e) => Some(e.scheme()),
            _ => None,
        }
    }

    /// Whether its values are encrypted.
    #[must_use]
    pub const fn is_encrypted(self) -> bool {
        matches!(self, SqlType::Encrypted(_))
    }

    /// The type as it is declared: of an encrypted one what the client sees.
    #[must_use]
    pub fn plain(self) -> SqlType {
        self.scheme().map_or(self, |s| s.plain)
    }

    /// The name in messages about operands: `varchar(max)`, but `varchar` whatever its length otherwise; of an encrypted type with everything
    /// that has to be the same.
    #[must_use]
    pub fn operand_name(self) -> String {
        let Some(scheme) = self.scheme() else {
            let wide = matches!(
                self,
                SqlType::VarChar(Length::Max)
                    | SqlType::NVarChar(Length::Max)
                    | SqlType::VarBinary(Length::Max)
            );
            return if wide { format!("{}(max)", self.name()) } else { self.name().to_owned() };
        };
        let plain = match scheme.plain {
            SqlType::VarChar(Length::Limited(_)) => SqlType::VarChar(Length::Limited(8000)),
            SqlType::NVarChar(Length::Limited(_)) => SqlType::NVarChar(Length::Limited(4000)),
            SqlType::VarBinary(Length::Limited(_)) => SqlType::VarBinary(Length::Limited(8000)),
            plain => plain,
        };
        let collation = match plain.is_string() {
            true => format!(" collation_name = '{}'", scheme.collation.name()),
            false => String::new(),
        };
        format!("{plain} encrypted with {scheme}{collation}")
    }
}

/// Whether one encrypted type's values may stand where the other's are wanted.
#[must_use]
pub fn takes(to: SqlType, from: SqlType) -> bool {
    match (to.scheme(), from.scheme()) {
        (Some(to), Some(from)) => to.takes(from),
        _ => false,
    }
}

/// Whether values of both types may be compared for equality: the schemes are the same and deterministic.
#[must_use]
pub fn compares(left: SqlType, right: SqlType) -> bool {
    match (left.scheme(), right.scheme()) {
        (Some(l), Some(r)) => !l.randomized && (l.takes(r) || r.takes(l)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(plain: SqlType, randomized: bool, id: i32) -> Scheme {
        let key = ColumnKey { id, name: "k".into(), database: "d".into(), ..(*NONE.key).clone() };
        Scheme { plain, randomized, key: Arc::new(key), ..NONE.clone() }
    }

    #[test]
    fn a_scheme_has_one_number() {
        let one = scheme(SqlType::Int, false, 7).sql_type();
        assert_eq!(one, scheme(SqlType::Int, false, 7).sql_type());
        assert_ne!(one, scheme(SqlType::Int, true, 7).sql_type());
        assert_eq!(one.plain(), SqlType::Int);
        let name = "int encrypted with (encryption_type = 'DETERMINISTIC', encryption_algorithm_name = \
             'AEAD_AES_256_CBC_HMAC_SHA_256', column_encryption_key_name = 'k', column_encryption_key_database_name = 'd')";
        assert_eq!(one.operand_name(), name);
    }

    #[test]
    fn ciphertexts_are_whole_blocks() {
        let bytes = |plain| scheme(plain, true, 1).cipher();
        assert_eq!(bytes(SqlType::Int), SqlType::VarBinary(Length::Limited(65)));
        assert_eq!(bytes(SqlType::UniqueIdentifier), SqlType::VarBinary(Length::Limited(81)));
        assert_eq!(bytes(SqlType::NVarChar(Length::Limited(50))), SqlType::VarBinary(Length::Limited(161)));
        assert_eq!(bytes(SqlType::Char(8000)), SqlType::VarBinary(Length::Max));
        assert_eq!(bytes(SqlType::VarChar(Length::Max)), SqlType::VarBinary(Length::Max));
    }

    #[test]
    fn what_compares() {
        let of = |plain, randomized, id| scheme(plain, randomized, id).sql_type();
        let (char, varchar) = (SqlType::Char(11), SqlType::VarChar(Length::Limited(8000)));
        assert!(compares(of(char, false, 1), of(varchar, false, 1)));
        assert!(!compares(of(char, false, 1), of(varchar, false, 2)));
        assert!(!compares(of(char, true, 1), of(varchar, true, 1)));
        assert!(!compares(of(char, false, 1), of(SqlType::NChar(11), false, 1)));
        assert!(takes(of(SqlType::BigInt, true, 1), of(SqlType::Int, true, 1)));
        assert!(!takes(of(SqlType::Int, true, 1), of(SqlType::BigInt, true, 1)));
    }
}
