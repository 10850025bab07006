//! Group records on disk, written by a thread of their own so that nobody who decides waits for the disk.
//!
//! ```text
//! <dir>/groups/<group id>.group     one per group, replaced whole
//! <dir>/groups/store                what the cluster has agreed on, as far as this instance knows; replaced whole
//! ```
//! A record that is overtaken before it was written is skipped: the newer one holds everything.

use crate::bell::Bell;
use crate::error::GroupError;
use crate::kept;
use keel_base::env::Env;
use keel_cluster::{GroupId, GroupRecord, StoreRecord};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const EXTENSION: &str = "group";
const STORE: &str = "store";

/// What is to be done for the store.
enum StoreWish {
    Write { revision: u64, record: Box<StoreRecord> },
    Remove,
}

/// What was written.
pub(crate) enum Written {
    Group(GroupId, u64),
    Store(u64),
}

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
    store: Mutex<Option<StoreWish>>,
    bell: Bell,
    stopping: AtomicBool,
}

impl Records {
    pub(crate) fn new(env: &Env, dir: &Path) -> Records {
        Records {
            env: env.clone(),
            dir: dir.join("groups"),
            wishes: Mutex::new(BTreeMap::new()),
            store: Mutex::new(None),
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

    /// The store's record, if there is one.
    pub(crate) fn read_store(&self) -> Result<Option<StoreRecord>, GroupError> {
        let path = self.dir.join(STORE);
        let Some(bytes) = kept::read_bytes(self.env.disk.as_ref(), &path)? else { return Ok(None) };
        StoreRecord::decode(&bytes).map(Some).map_err(|e| GroupError::damaged(&path, e.to_string()))
    }

    pub(crate) fn write_store(&self, revision: u64, record: Box<StoreRecord>) {
        *self.store.lock() = Some(StoreWish::Write { revision, record });
        self.bell.ring();
    }

    pub(crate) fn remove_store(&self) {
        *self.store.lock() = Some(StoreWish::Remove);
        self.bell.ring();
    }

    pub(crate) fn write(&self, group: GroupId, revision: u64, record: Box<GroupRecord>) {
        self.wishes.lock().insert(group, Wish::Write { revision, record });
        self.bell.ring();
    }

    pub(crate) fn remove(&self, group: GroupId) {
        self.wishes.lock().insert(group, Wish::Remove);
        self.bell.ring();
    }

    /// The body of the writing thread. `written` is told of each record that is durable, or could not be made so. The store
    /// goes first: others wait for it.
    pub(crate) fn run(&self, written: impl Fn(Written, Result<(), GroupError>)) {
        loop {
            let wish = self.store.lock().take();
            if let Some(wish) = wish {
                self.do_store(wish, &written);
                continue;
            }
            let wish = self.wishes.lock().pop_first();
            match wish {
                Some((group, Wish::Write { revision, record })) => {
                    let result =
                        kept::write_bytes(self.env.disk.as_ref(), &self.path(group), &record.encode());
                    written(Written::Group(group, revision), result);
                }
                Some((group, Wish::Remove)) => {
                    // A record that stays is found at the next start, and the others say again that it is obsolete.
                    self.remove_file(&self.path(group));
                }
                None if self.stopping.load(Ordering::Acquire) => return,
                None => self.bell.wait(),
            }
        }
    }

    fn do_store(&self, wish: StoreWish, written: &impl Fn(Written, Result<(), GroupError>)) {
        let path = self.dir.join(STORE);
        match wish {
            StoreWish::Write { revision, record } => {
                let result = kept::write_bytes(self.env.disk.as_ref(), &path, &record.encode());
                written(Written::Store(revision), result);
            }
            // One that stays makes this instance a member again, and it is told again that it is none.
            StoreWish::Remove => self.remove_file(&path),
        }
    }

    fn remove_file(&self, path: &Path) {
        let disk = self.env.disk.as_ref();
        if disk.exists(path) && disk.remove(path).is_ok() {
            let _ = disk.sync_dir(&self.dir);
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
