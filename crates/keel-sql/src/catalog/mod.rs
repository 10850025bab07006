//! The objects of a database: how they are stored, pictured, changed and published.
//!
//! ```text
//!   system tree (TreeId 1)          Picture (immutable, Arc)            transaction
//!   class ++ id → JSON row   load   name → definition maps       ops    Overlay = picture + own changes
//!                           ─────►  version n              ◄──────────  put/remove, made visible at commit
//! ```
//!
//! * One row of the system tree per object, keyed by class and id, holding the definition as JSON in one column. The
//!   rows change through the same transaction as everything else, so DDL is atomic, durable and replicated by the log.
//! * A [`Picture`] is what plans are compiled against. Every committed change makes a new one with the next version.
//! * An [`Overlay`] is one transaction's own view: the picture it last saw with its own operations applied.
//!
//! Publication rule: a transaction that changed the catalog keeps its schema locks until its commit is hardened and its
//! changes are published. So a writer that waited for the lock sees the new picture, and no reader compiles a plan
//! over an index whose entries its snapshot cannot see.

mod object;
mod overlay;
mod picture;
mod principal;

pub use object::{
    CatalogKey, CatalogObject, ChangeRetention, DatabaseSettings, DelayedDurability, DifferentialBase,
    LogChain, PageVerify, PropertyDef, SchemaDef, SystemDatabase, decode, encode, object_class,
    property_class, property_class_of,
};
pub(crate) use overlay::apply_op;
pub use overlay::{CatalogOp, Overlay};
pub use picture::{Named, ObjectRef, Picture, fold, id_of, module_kind_code, table_names, table_objects};
pub use principal::{
    DB_OWNER, DBO_USER, ENDPOINT_PERMISSIONS, FIRST_PRINCIPAL, FIXED_ROLES, FIXED_SERVER_ROLES,
    GROUP_PERMISSIONS, GUEST_USER, KEY_PERMISSIONS, PERMISSIONS, PUBLIC, PermissionDef, PermissionState,
    PrincipalDef, Refusal, SERVER_PERMISSIONS, SecurableRef, Token, Verdict, XML_COLLECTION_PERMISSIONS,
    decide,
};

use keel_base::TreeId;

/// The system tree of every database.
pub const SYSTEM_TREE: TreeId = TreeId(1);
/// The first tree that a user object can have.
pub const FIRST_USER_TREE: u32 = 100;
/// The first object id of a user object.
pub const FIRST_USER_OBJECT: i32 = 581_577_110;
/// `dbo`
pub const DBO: i32 = 1;
/// `guest`
pub const GUEST: i32 = 2;
/// `INFORMATION_SCHEMA`
pub const INFORMATION_SCHEMA: i32 = 3;
/// `sys`
pub const SYS: i32 = 4;
