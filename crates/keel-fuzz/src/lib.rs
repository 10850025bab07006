//! # keel-fuzz: what hostile bytes meet, one function per way in
//!
//! Each [`Target`] takes any bytes and must return: what it calls may refuse them, but never panic, hang, or use memory
//! out of proportion. Where something can be said about the answer (what is decoded is encoded to something that decodes to
//! the same; a session that was given nonsense still answers) the target asserts it.
//!
//! | target | what the bytes are |
//! | --- | --- |
//! | `tds_requests` | messages of a client, as the server takes them apart |
//! | `tds_responses` | what a server says to our client |
//! | `peers` | frames and control messages of another instance |
//! | `files` | damage to log, pages, superblocks; small files; configuration |
//! | `parse` | T-SQL text |
//! | `execute` | T-SQL text, executed by an engine in memory |
//! | `shapes` | values of geometry, geography and hierarchyid, in every form |
//! | `xml` | a document and a query of xml |
//! | `schemas` | an XML schema and an instance |
//!
//! The functions are here, and not in the fuzzer's own crate (`fuzz/` at the top of the repository, which needs a nightly
//! compiler), so that the tests run every one of them over its seeds and over mutations of these with the stable compiler:
//! a target that no longer builds or a seed that no longer decodes fails the suite. `ARCHITECTURE.md` says how to run the
//! fuzzer.
//!
//! Under the fuzzer (`cfg(fuzzing)`) the log, the base tree and the superblock do not compare checksums, so that
//! mutations reach what stands behind them.
//!
//! ## Deliberately absent
//! Sockets and TLS (their libraries have fuzzers of their own), and anything that product code would need: nothing there
//! depends on this crate.

pub mod execute;
pub mod files;
pub mod mutate;
pub mod parse;
pub mod peers;
mod repository;
pub mod requests;
pub mod responses;
pub mod scripts;
pub mod shapes;
pub mod xml;

/// A way in.
pub struct Target {
    /// Its name: of the fuzz target, of its corpus.
    pub name: &'static str,
    /// Takes any bytes and returns, or panics: then it found something.
    pub run: fn(&[u8]),
    /// Valid inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Whether inputs are T-SQL text, to be mutated word by word.
    pub is_text: bool,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "tds_requests", run: requests::run, seeds: requests::seeds, is_text: false },
    Target { name: "tds_responses", run: responses::run, seeds: responses::seeds, is_text: false },
    Target { name: "peers", run: peers::run, seeds: peers::seeds, is_text: false },
    Target { name: "files", run: files::run, seeds: files::seeds, is_text: false },
    Target { name: "parse", run: parse::run, seeds: scripts::batches, is_text: true },
    Target { name: "execute", run: execute::run, seeds: scripts::batches, is_text: true },
    Target { name: "shapes", run: shapes::run, seeds: shapes::seeds, is_text: false },
    Target { name: "xml", run: xml::run, seeds: xml::seeds, is_text: false },
    Target { name: "schemas", run: xml::run_schema, seeds: xml::schema_seeds, is_text: false },
];

/// `bytes` without its first byte, and that byte modulo `kinds`: which of several decoders the rest is for.
fn split_kind(bytes: &[u8], kinds: u8) -> Option<(u8, &[u8])> {
    let (kind, rest) = bytes.split_first()?;
    Some((kind % kinds, rest))
}

/// `body` behind the byte that [`split_kind`] takes off.
fn with_kind(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], body].concat()
}
