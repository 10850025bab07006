//! The cluster store's record on disk ([`crate::slots`]), written by a thread of its own before everything else: the members'
//! messages wait for it.

use crate::bell::Bell;
use crate::error::GroupError;
use crate::slots::Slots;
use keel_base::env::Env;
use keel_base::env::real::run_urgently;
use keel_cluster::StoreRecord;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is to be done; a wish that is overtaken before it was begun is skipped.
enum Wish {
    Write { revision: u64, record: Box<StoreRecord> },
    Forget,
}

/// The store's record of one instance.
pub(crate) struct Stored {
    slots: Mutex<Slots>,
    wish: Mutex<Option<Wish>>,
    bell: Bell,
    stopping: AtomicBool,
}

/// What there was at the start.
pub(crate) struct Kept {
    pub(crate) record: Option<StoreRecord>,
    /// What is wrong with the files, in words.
    pub(crate) damage: Option<String>,
}

impl Stored {
    /// Reads what is in `dir`.
    pub(crate) fn open(env: &Env, dir: &Path) -> Result<(Stored, Kept), GroupError> {
        let (slots, found) = Slots::open(env, &dir.join("store"))?;
        let record = found.state.map(|bytes| StoreRecord::decode(&bytes)).transpose();
        let record = record.map_err(|e| GroupError::damaged(&dir.join("store"), e.to_string()))?;
        let stored = Stored {
            slots: Mutex::new(slots),
            wish: Mutex::new(None),
            bell: Bell::default(),
            stopping: AtomicBool::new(false),
        };
        Ok((stored, Kept { record, damage: found.damage }))
    }

    pub(crate) fn write(&self, revision: u64, record: Box<StoreRecord>) {
        *self.wish.lock() = Some(Wish::Write { revision, record });
        self.bell.ring();
    }

    pub(crate) fn forget(&self) {
        *self.wish.lock() = Some(Wish::Forget);
        self.bell.ring();
    }

    /// The body of the writing thread. `written` is told of each record that is durable, or could not be made so.
    pub(crate) fn run(&self, written: impl Fn(u64, Result<(), GroupError>)) {
        run_urgently();
        loop {
            let wish = self.wish.lock().take();
            match wish {
                Some(Wish::Write { revision, record }) => {
                    let result = self.slots.lock().write(&record.encode());
                    written(revision, result);
                }
                // A record that stays is found at the next start, and the others say again that it is obsolete.
                Some(Wish::Forget) => drop(self.slots.lock().clear()),
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
}
