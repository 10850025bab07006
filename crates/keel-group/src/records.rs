//! Group records on disk, written by a thread of their own so that nobody who decides waits for the disk.
//!
//! ```text
//! <dir>/groups/<group id>.group     one per group, replaced whole
//! ```
//! A record that is overtaken before it was written is skipped: the newer one holds everything.

use crate::bell::Bell;
use crate::error::GroupError;
use crate::kept;
use keel_base::env::Env;
use keel_cluster::{GroupId, GroupRecord};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const EXTENSION: &str = "group";

/// What is to be done for one group.
enum Wish {
    Write { revision: u64, record: Box<GroupRecord> },
    Remove,
}

/// The records of one instance.
pub(crate) struct Records {
    env: Env,
    dir: PathBuf,
    wishes: Mutex<BTreeMap<GroupId, Wish>>,
    bell: Bell,
    stopping: AtomicBool,
}

impl Records {
    pub(crate) fn new(env: &Env, dir: &Path) -> Records {
        Records {
            env: env.clone(),
            dir: dir.join("groups"),
            wishes: Mutex::new(BTreeMap::new()),
            bell: Bell::default(),
            stopping: AtomicBool::new(false),
        }
    }

    /// All records there are.
    pub(crate) fn read_all(&self) -> Result<Vec<GroupRecord>, GroupError> {
        let disk = self.env.disk.as_ref();
        if !disk.exists(&self.dir) {
            return Ok(Vec::new());
        }
        let mut records = Vec::new();
        for path in disk.list(&self.dir)? {
            if path.extension().is_none_or(|e| e != EXTENSION) {
                continue;
            }
            let path =
                if path.is_absolute() || path.starts_with(&self.dir) { path } else { self.dir.join(path) };
            if let Some(bytes) = kept::read_bytes(disk, &path)? {
                let record =
                    GroupRecord::decode(&bytes).map_err(|e| GroupError::damaged(&path, e.to_string()))?;
                records.push(record);
            }
        }
        Ok(records)
    }

    pub(crate) fn write(&self, group: GroupId, revision: u64, record: Box<GroupRecord>) {
        self.wishes.lock().insert(group, Wish::Write { revision, record });
        self.bell.ring();
    }

    pub(crate) fn remove(&self, group: GroupId) {
        self.wishes.lock().insert(group, Wish::Remove);
        self.bell.ring();
    }

    /// The body of the writing thread. `written` is told of each record that is durable, or could not be made so.
    pub(crate) fn run(&self, written: impl Fn(GroupId, u64, Result<(), GroupError>)) {
        loop {
            let wish = self.wishes.lock().pop_first();
            match wish {
                Some((group, Wish::Write { revision, record })) => {
                    let result =
                        kept::write_bytes(self.env.disk.as_ref(), &self.path(group), &record.encode());
                    written(group, revision, result);
                }
                Some((group, Wish::Remove)) => {
                    let path = self.path(group);
                    let disk = self.env.disk.as_ref();
                    // A record that stays is found at the next start, and the others say again that it is obsolete.
                    if disk.exists(&path) && disk.remove(&path).is_ok() {
                        let _ = disk.sync_dir(&self.dir);
                    }
                }
                None if self.stopping.load(Ordering::Acquire) => return,
                None => self.bell.wait(),
            }
        }
    }

    /// Lets the thread end when everything is written.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.bell.ring();
    }

    fn path(&self, group: GroupId) -> PathBuf {
        self.dir.join(format!("{group}.{EXTENSION}"))
    }
}
