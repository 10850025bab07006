//! BACKUP and RESTORE: a database in a file, and back.
//!
//! ```text
//!   BACKUP DATABASE … TO DISK ──► options ──► media: the file, what is in it ──► keel_node::backup::back_up
//!                                                                            └─► history: msdb's tables
//!   RESTORE DATABASE … FROM DISK ► options ─► media: the set ──► a place beside ──► keel_node::backup::restore ──► takes the name
//!   RESTORE HEADERONLY … ────────────────────► show
//! ```
//!
//! ## Model
//! * The file's form is the engine's ([`keel_node::backup`]); what a set says of itself, its `media::Label`, is this layer's, as JSON.
//! * Several devices are one file striped over them ([`keel_node::backup::Striped`]).
//! * A file holds one set behind the other (NOINIT, the product's default) until it is begun anew (INIT, FORMAT). A relative name is
//!   one in `backup` of the data directory.
//! * A device that is a URL ([`keel_base::env::objects`]) is written once, has one set, and is there when the backup is whole or not at all.
//! * A device in a [repository](keel_repository) is a file there: who writes and reads it does not know.
//! * A restored database is made beside the one it replaces, which goes only when the new one is whole.
//! * The chain of log backups is a part of the database ([`crate::catalog::LogChain`]), and so is the full backup that differential ones
//!   refer to ([`crate::catalog::DifferentialBase`]): they go with it to the members of its group.
//! * Errors come in two, as in the product: what happened, then 3013, which is what CATCH gets.
//!
//! ## Deliberately absent
//! Files and filegroups, tape: refused by name (40517).

mod device;
mod differential;
mod encryption;
mod errors;
pub(crate) mod history;
pub(crate) mod logical;
mod media;
mod mirror;
mod options;
mod restore;
mod show;
mod tail;
mod url;
mod write;

pub(crate) use device::{Devices, default_directory};
pub(crate) use errors::{RAISED, device_kind, no_certificate_of, no_option, no_private_key};
pub(crate) use history::note_mark;
pub(crate) use media::{remove_backup, remove_old};
