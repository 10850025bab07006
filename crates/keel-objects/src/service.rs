//! What a storage speaks: what can be asked for one object, whichever storage has it.

use crate::request::{Client, Waits};
use std::io;

/// An object that is there.
pub(crate) struct Found {
    pub length: u64,
    /// Which version of the object it is.
    pub tag: Option<String>,
}

/// One object's place, and how its storage is asked.
pub(crate) trait Service: Send + Sync {
    fn client(&self) -> &Client;

    /// Parts of an object at most.
    fn parts_max(&self) -> usize;

    fn look(&self) -> io::Result<Found>;

    /// Bytes of a version of the object, as many as are asked for or fewer.
    fn read(&self, at: u64, bytes: usize, tag: Option<&str>) -> io::Result<Vec<u8>>;

    /// Begins an upload: what it is called. `AlreadyExists` when an object is there that is not to be replaced.
    fn begin(&self, replace: bool) -> io::Result<String>;

    /// Sends a part, numbered from 1: what it is called.
    fn send(&self, upload: &str, number: usize, part: &[u8], waits: Waits<'_>) -> io::Result<String>;

    /// Makes parts an object of a length.
    fn complete(&self, upload: &str, parts: &[String], length: u64, replace: bool) -> io::Result<()>;

    /// Takes away what an upload that did not become an object has left.
    fn abort(&self, upload: &str, waits: Waits<'_>) -> io::Result<()>;

    fn remove(&self, waits: Waits<'_>) -> io::Result<()>;
}
