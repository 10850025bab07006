//! What can be locked.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

use keel_base::{DatabaseId, TreeId};
use smallvec::SmallVec;

/// A lockable thing, as the caller names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource<'a> {
    /// A whole database.
    Database(DatabaseId),
    /// A table or another object.
    Object(DatabaseId, u32),
    /// One key of one tree.
    Key(DatabaseId, TreeId, &'a [u8]),
    /// Key ranges of one tree; each request names its interval.
    Range(DatabaseId, TreeId),
    /// An application lock (`sp_getapplock`): owning principal and name.
    Application(DatabaseId, u32, &'a [u8]),
    /// Some other named thing of a database (catalog entries, file list): class and id.
    Metadata(DatabaseId, u32, &'a [u8]),
}

/// Of an application lock's name; a hash of the whole stands behind them.
const SHOWN_CHARACTERS: usize = 32;

/// The stored form of a [`Resource`]; short keys are inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnedResource {
    class: Class,
    database: u32,
    id: u32,
    key: SmallVec<[u8; 24]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
enum Class {
    Database,
    Object,
    Key,
    Range,
    Application,
    Metadata,
}

impl<'a> Resource<'a> {
    #[inline]
    fn parts(&self) -> (Class, u32, u32, &'a [u8]) {
        match *self {
            Resource::Database(database) => (Class::Database, database.0, 0, &[]),
            Resource::Object(database, id) => (Class::Object, database.0, id, &[]),
            Resource::Key(database, tree, key) => (Class::Key, database.0, tree.0, key),
            Resource::Range(database, tree) => (Class::Range, database.0, tree.0, &[]),
            Resource::Application(database, principal, name) => {
                (Class::Application, database.0, principal, name)
            }
            Resource::Metadata(database, class, name) => (Class::Metadata, database.0, class, name),
        }
    }

    /// The database it belongs to.
    #[must_use]
    pub fn database(&self) -> DatabaseId {
        DatabaseId(self.parts().1)
    }

    #[inline]
    pub(super) fn hash_with(&self, state: &impl BuildHasher) -> u64 {
        let (class, database, id, key) = self.parts();
        let mut hasher = state.build_hasher();
        hasher.write_u64(u64::from(class as u8) << 32 | u64::from(database));
        hasher.write_u32(id);
        hasher.write(key);
        hasher.finish()
    }

    #[inline]
    pub(super) fn is(&self, stored: &OwnedResource) -> bool {
        let (class, database, id, key) = self.parts();
        stored.class == class && stored.id == id && stored.database == database && stored.key[..] == *key
    }

    /// The stored form.
    #[must_use]
    pub fn to_owned(&self) -> OwnedResource {
        let (class, database, id, key) = self.parts();
        OwnedResource { class, database, id, key: SmallVec::from_slice(key) }
    }

    /// The product's name of the kind, as in `sys.dm_tran_locks.resource_type`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Resource::Database(_) => "DATABASE",
            Resource::Object(..) => "OBJECT",
            Resource::Key(..) | Resource::Range(..) => "KEY",
            Resource::Application(..) => "APPLICATION",
            Resource::Metadata(..) => "METADATA",
        }
    }

    /// The key part of `resource_description`: for keys a six-byte hash in the product's form, for application locks
    /// principal, beginning of the name and a hash.
    #[must_use]
    pub fn description(&self) -> String {
        match self {
            Resource::Database(_) | Resource::Object(..) => String::new(),
            Resource::Key(_, _, key) => {
                let low = crc32c::crc32c(key);
                let high = crc32c::crc32c_append(low, key) as u16;
                format!("({high:04x}{low:08x})")
            }
            Resource::Range(..) => "(ffffffffffff)".to_owned(),
            Resource::Application(_, principal, name) => {
                let begin: String = String::from_utf8_lossy(name).chars().take(SHOWN_CHARACTERS).collect();
                format!("{principal}:[{begin}]:({:08x})", crc32c::crc32c(name))
            }
            Resource::Metadata(_, class, name) => format!("{class}:{}", String::from_utf8_lossy(name)),
        }
    }
}

impl OwnedResource {
    /// Whether it is one key of one of these trees.
    pub(super) fn is_key_of(&self, database: DatabaseId, trees: &[TreeId]) -> bool {
        self.class == Class::Key && self.database == database.0 && trees.contains(&TreeId(self.id))
    }

    /// The borrowed form.
    #[must_use]
    pub fn as_ref(&self) -> Resource<'_> {
        let (database, id) = (DatabaseId(self.database), self.id);
        match self.class {
            Class::Database => Resource::Database(database),
            Class::Object => Resource::Object(database, id),
            Class::Key => Resource::Key(database, TreeId(id), &self.key),
            Class::Range => Resource::Range(database, TreeId(id)),
            Class::Application => Resource::Application(database, id, &self.key),
            Class::Metadata => Resource::Metadata(database, id, &self.key),
        }
    }
}

impl fmt::Display for Resource<'_> {
    /// The form of `wait_resource`: `KEY: 5:72057594 (8194443284a0)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, database, id, _) = self.parts();
        match self {
            Resource::Database(_) => write!(f, "DATABASE: {database}"),
            Resource::Object(..) => write!(f, "OBJECT: {database}:{id}:0"),
            Resource::Application(..) => write!(f, "APPLICATION: {database}:{}", self.description()),
            _ => write!(f, "{}: {database}:{id} {}", self.type_name(), self.description()),
        }
    }
}
