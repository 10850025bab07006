//! Encryption at rest: a database's keys, how the log tells copies of them, and turning its files from one form into another.
//!
//! ```text
//!   statement ─► new ring ─► announced in the log ─► keys.keel ─► log and pages with the new key ─► turn
//!                                  │                                 (the statement is answered once it is agreed on)
//!                                  └─► every copy: redo meets the announcement ─► keys.keel ─► the same
//! ```
//! An announcement is a block of its own, not encrypted, before every block that needs its keys; so crash recovery, a
//! secondary, a restore and seeding learn keys the same way. The ring is in `keys.keel` before anything on disk needs it, and no
//! checkpoint passes an announcement that is not there yet. What turns the files (module `turn`) is each copy's own affair: their pages
//! and segments are their own.
//!
//! A key opens with the secret of its certificate, which the layer above [knows](crate::Instance::set_secrets). Where it does not,
//! a database does not open ([`DbError::Locked`]), and a secondary stands still at the first block that it cannot read, until
//! [`Database::unlock`].
//!
//! Lock order: `changing` → `state` → the base tree's.

mod kept;
mod ring;
mod turn;

pub use ring::{KEYS_MAX, KeyRing, KeyTimes, SealedKey};

use crate::control::micros;
use crate::database::Database;
use crate::error::{DbError, TxnError};
use crate::instance::Instance;
use keel_base::cipher::{Algorithm, DataKey, Keychain};
use keel_base::env::Env;
use keel_base::{Lsn, TreeId};
use keel_redo::{Change, Group, GroupKind, record::RecordBuffer};
use keel_store::Store;
use kept::Kept;
use parking_lot::{Mutex, RwLock};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

pub(crate) use kept::path;

/// The secret of the certificate with a thumbprint, if it is here.
pub type SecretOf = Arc<dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync>;

/// Who knows the secrets of certificates.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<RwLock<Option<SecretOf>>>);

impl Secrets {
    pub(crate) fn set(&self, secret_of: SecretOf) {
        *self.0.write() = Some(secret_of);
    }

    fn of(&self, thumbprint: &[u8]) -> Option<Vec<u8>> {
        let known = self.0.read().clone();
        known.and_then(|secret_of| secret_of(thumbprint))
    }
}

/// In which form a database's files are (`sys.dm_database_encryption_keys.encryption_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncryptionState {
    /// There is a key, and nothing is encrypted.
    Unencrypted,
    /// They are being encrypted.
    Encrypting,
    /// They are encrypted.
    Encrypted,
    /// They are being encrypted with another key.
    ChangingKey,
    /// They are being decrypted.
    Decrypting,
}

/// What monitoring is told of an encrypted database, or of one that could be.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// Its keys.
    pub ring: KeyRing,
    /// The form of this copy's files.
    pub state: EncryptionState,
    /// How far turning them is, percent; 0 when nothing is turned.
    pub percent: f32,
    /// Why turning them stopped, if it did.
    pub stopped: Option<Arc<str>>,
    /// Thumbprint of the certificate whose secret is missing here.
    pub locked: Option<Vec<u8>>,
    /// When the key was opened, microseconds since 1970 UTC.
    pub opened: i64,
}

#[derive(Default)]
struct State {
    kept: Option<Kept>,
    locked: Option<Vec<u8>>,
    opened: i64,
    stopped: Option<Arc<str>>,
    /// All pages older than the first generation were written anew before the second, in this process.
    rewritten: Option<(u64, u64)>,
}

/// The keys of one database. See the module.
pub(crate) struct DatabaseKeys {
    pub(crate) chain: Arc<Keychain>,
    env: Env,
    dir: PathBuf,
    secrets: Secrets,
    /// False of tempdb: its key is made anew each time, and kept nowhere.
    durable: bool,
    /// Held by who changes the ring, and while a file is written on behalf of it.
    changing: Mutex<()>,
    state: Mutex<State>,
    store: OnceLock<Weak<Store>>,
    database: OnceLock<Weak<Database>>,
    /// Bits of an `f32`.
    percent: AtomicU32,
}

/// Thumbprints as messages show them.
fn shown(thumbprint: &[u8]) -> Arc<str> {
    thumbprint.iter().fold(String::from("0x"), |hex, byte| hex + &format!("{byte:02X}")).into()
}

/// The ring that a block of the log announces.
fn announced(payload: &[u8]) -> Option<KeyRing> {
    let group = Group::decode(payload).filter(|group| group.kind == GroupKind::Note)?;
    let mut ring = None;
    let walked = group.for_each_of(0, 1, |_, record| {
        if let (ANNOUNCED_KEY, Change::Put(row)) = (record.key, record.change) {
            ring = KeyRing::decode(row);
        }
        Ok::<(), ()>(())
    });
    walked?.ok()?;
    ring
}

/// Whether these bytes are a ring in its stored form.
pub(crate) fn is_stored_ring(bytes: &[u8]) -> bool {
    KeyRing::decode(bytes).is_some()
}

/// Key of the one record of an announcement.
const ANNOUNCED_KEY: &[u8] = b"keys";

impl DatabaseKeys {
    /// Of the database in `dir`: without a key file, none yet.
    ///
    /// # Errors
    /// [`DbError::Locked`] without the secret of the key that everything is to be encrypted with; [`DbError::Corrupt`].
    pub(crate) fn open(instance: &Instance, dir: &Path) -> Result<Arc<DatabaseKeys>, DbError> {
        let kept = Kept::read(instance.env(), dir)?;
        let keys = DatabaseKeys::with(instance, dir, kept, true);
        let mut state = keys.state.lock();
        keys.activate(&mut state)?;
        if let Some(thumbprint) = &state.locked {
            return Err(DbError::Locked(shown(thumbprint)));
        }
        drop(state);
        Ok(keys)
    }

    /// Of a new database, which has none.
    pub(crate) fn none(instance: &Instance, dir: &Path, durable: bool) -> Arc<DatabaseKeys> {
        DatabaseKeys::with(instance, dir, None, durable)
    }

    /// Of a copy that is to be made in `dir` with a ring from elsewhere, which is written there.
    ///
    /// # Errors
    /// [`DbError::Locked`] without the secret, before anything is written.
    pub(crate) fn adopt(
        instance: &Instance,
        dir: &Path,
        ring: &[u8],
        at: Lsn,
    ) -> Result<Arc<DatabaseKeys>, DbError> {
        if ring.is_empty() {
            return Ok(DatabaseKeys::none(instance, dir, true));
        }
        let bad = || DbError::Corrupt("the keys of the copy are damaged".into());
        let ring = KeyRing::decode(ring).ok_or_else(bad)?;
        // Its pages are new; its log begins with what was written before, which may have been in another form.
        let kept = Kept { log_done: ring.goal() == 0, ..Kept::fresh(instance.env(), ring, at) };
        let keys = DatabaseKeys::with(instance, dir, Some(kept.clone()), true);
        keys.activate(&mut keys.state.lock())?;
        if let Some(thumbprint) = &keys.state.lock().locked {
            return Err(DbError::Locked(shown(thumbprint)));
        }
        kept.write(instance.env(), dir)?;
        Ok(keys)
    }

    fn with(instance: &Instance, dir: &Path, kept: Option<Kept>, durable: bool) -> Arc<DatabaseKeys> {
        let keys = Arc::new(DatabaseKeys {
            chain: Arc::default(),
            env: instance.env().clone(),
            dir: dir.to_path_buf(),
            secrets: instance.secrets.clone(),
            durable,
            changing: Mutex::new(()),
            state: Mutex::new(State { kept, ..State::default() }),
            store: OnceLock::new(),
            database: OnceLock::new(),
            percent: AtomicU32::new(0f32.to_bits()),
        });
        let weak = Arc::downgrade(&keys);
        keys.chain.on_announced(Box::new(move |payload, end| match weak.upgrade() {
            Some(keys) => keys.learn(payload, end).map_err(|e| std::io::Error::other(e.to_string())),
            None => Ok(()),
        }));
        keys
    }

    /// From now on the base tree can be told of keys.
    pub(crate) fn attach_store(&self, store: &Arc<Store>) {
        let _ = self.store.set(Arc::downgrade(store));
    }

    /// From now on the files can be turned, if they have to be.
    pub(crate) fn attach(&self, database: &Weak<Database>) {
        let _ = self.database.set(Weak::clone(database));
        self.ask_to_turn(&self.state.lock());
    }

    /// What the log announces, on a copy or in recovery. Older announcements are known.
    fn learn(&self, payload: &[u8], end: Lsn) -> Result<(), DbError> {
        let bad = || DbError::Corrupt(format!("the keys announced before {end} are damaged").into());
        let ring = announced(payload).ok_or_else(bad)?;
        let _changing = self.changing.lock();
        let mut state = self.state.lock();
        if state.kept.as_ref().is_some_and(|kept| !ring.is_newer(&kept.ring)) {
            return Ok(());
        }
        self.keep(&mut state, ring, end)?;
        self.activate(&mut state)
    }

    /// Opens what a backup's log announces, so that the log behind it can be read; nothing else changes.
    pub(crate) fn look_into(&self, payload: &[u8]) {
        if let Some(ring) = announced(payload) {
            self.open_keys(&ring);
        }
    }

    /// Writes the ring down.
    fn keep(&self, state: &mut State, ring: KeyRing, at: Lsn) -> Result<(), DbError> {
        let kept = match &state.kept {
            Some(kept) => kept.under(ring, at),
            None => Kept::fresh(&self.env, KeyRing::default(), at).under(ring, at),
        };
        self.write(state, kept)
    }

    fn write(&self, state: &mut State, kept: Kept) -> Result<(), DbError> {
        if self.durable {
            kept.write(&self.env, &self.dir)?;
        }
        state.kept = Some(kept);
        Ok(())
    }

    /// Adds the keys of a ring that open; the thumbprint of the one that everything is to be encrypted with, when it does not.
    fn open_keys(&self, ring: &KeyRing) -> Option<Vec<u8>> {
        let mut locked = None;
        for key in &ring.keys {
            let secret = self.secrets.of(&key.thumbprint);
            let opened = secret.and_then(|s| DataKey::unwrap(key.algorithm, &key.sealed, &s));
            match opened {
                Some(opened) => self.chain.add(key.number, opened),
                None if key.number == ring.goal() && self.chain.key(key.number).is_none() => {
                    locked = Some(key.thumbprint.clone());
                }
                None => {}
            }
        }
        locked
    }

    /// Lets log and pages be written as the ring wants it.
    fn activate(&self, state: &mut State) -> Result<(), DbError> {
        let Some(kept) = state.kept.clone() else { return Ok(()) };
        let mut opening = [0; 4];
        self.env.random.fill(&mut opening);
        self.chain.set_file(kept.salt, u32::from_le_bytes(opening));
        state.locked = if self.durable { self.open_keys(&kept.ring) } else { None };
        if state.locked.is_some() {
            return Ok(());
        }
        if kept.ring.current != 0 && state.opened == 0 {
            state.opened = micros(&self.env);
        }
        let goal = kept.ring.goal();
        self.chain.set_no_plain_pages(goal != 0 && kept.pages_done);
        match self.store.get().and_then(Weak::upgrade) {
            Some(store) if self.chain.page_key() != goal || kept.before == u64::MAX => {
                // Under the writer's lock: pages of older generations are in another form.
                let before = store.base().use_key(goal)?;
                let before = if kept.before == u64::MAX { before } else { kept.before };
                self.write(state, Kept { before, ..kept })?;
            }
            Some(_) => {}
            None => self.chain.set_page_key(goal),
        }
        self.chain.set_log_key(goal);
        state.stopped = None;
        self.ask_to_turn(state);
        Ok(())
    }

    /// Something that turning the files has waited for has happened.
    pub(crate) fn turn_again(&self) {
        self.ask_to_turn(&self.state.lock());
    }

    /// The generation from which on all pages are as they should be, if this process has written anew those before `before`.
    fn rewritten(&self, before: u64) -> Option<u64> {
        self.state.lock().rewritten.filter(|(done, _)| *done == before).map(|(_, after)| after)
    }

    fn ask_to_turn(&self, state: &State) {
        let Some(kept) = state.kept.as_ref().filter(|kept| !kept.pages_done || !kept.log_done) else {
            return;
        };
        if kept.ring.suspended || state.locked.is_some() {
            return;
        }
        if let Some(weak) = self.database.get()
            && let Some(database) = weak.upgrade()
        {
            database.instance().turner.ask(weak);
        }
    }

    /// Everything behind `at` was cut off the log: keys that were announced there are as they were before.
    pub(crate) fn cut(&self, at: Lsn) -> Result<(), DbError> {
        let _changing = self.changing.lock();
        let mut state = self.state.lock();
        let Some(kept) = state.kept.as_ref().filter(|kept| kept.at > at) else { return Ok(()) };
        // What it has added may be on the disk: the key stays known.
        let mut ring = kept.previous.clone().unwrap_or_default();
        for key in &kept.ring.keys {
            if ring.keys.iter().all(|known| known.number != key.number) {
                ring.keys.push(key.clone());
            }
        }
        let surplus = ring.keys.len().saturating_sub(KEYS_MAX);
        ring.keys.drain(..surplus);
        let kept = Kept { previous: None, ..kept.under(ring, at) };
        self.write(&mut state, kept)?;
        self.activate(&mut state)
    }

    /// The ring in its stored form; empty without one.
    pub(crate) fn stored(&self) -> Vec<u8> {
        self.state.lock().kept.as_ref().map(|kept| kept.ring.encode()).unwrap_or_default()
    }

    /// Whether the secret of a certificate is missing.
    pub(crate) fn locked(&self) -> Option<Arc<str>> {
        self.state.lock().locked.as_deref().map(shown)
    }
}

impl Database {
    /// What monitoring shows of its encryption; `None` when it never had a key, or has none any more and nothing to turn.
    #[must_use]
    pub fn encryption(&self) -> Option<Encryption> {
        let state = self.keys.state.lock();
        let kept = state.kept.as_ref()?;
        let files = match (kept.pages_done, kept.ring.goal(), kept.from) {
            (true, 0, _) if kept.ring.current == 0 => return None,
            (true, 0, _) => EncryptionState::Unencrypted,
            (true, ..) => EncryptionState::Encrypted,
            (false, 0, _) => EncryptionState::Decrypting,
            (false, _, 0) => EncryptionState::Encrypting,
            (false, ..) => EncryptionState::ChangingKey,
        };
        let turning = f32::from_bits(self.keys.percent.load(Ordering::Relaxed));
        Some(Encryption {
            ring: kept.ring.clone(),
            state: files,
            percent: if kept.pages_done { 0.0 } else { turning },
            stopped: state.stopped.clone(),
            locked: state.locked.clone(),
            opened: state.opened,
        })
    }

    /// Whether it is, or is to be, encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.keys.chain.page_key() != 0
    }

    /// Changes the keys, or what is done with them, on this copy and all others: `change` makes the next ring of the present
    /// one. Returns when the group has it; files are turned afterwards, in the background.
    ///
    /// # Errors
    /// Those of a commit, and what `change` returns: then nothing has changed.
    pub fn change_keys<E: From<TxnError>>(
        &self,
        change: impl FnOnce(&mut KeyRing) -> Result<(), E>,
    ) -> Result<(), E> {
        let _changing = self.keys.changing.lock();
        let mut ring = self.keys.state.lock().kept.as_ref().map(|kept| kept.ring.clone()).unwrap_or_default();
        change(&mut ring)?;
        ring.number += 1;
        self.announce(ring)?;
        Ok(())
    }

    fn announce(&self, mut ring: KeyRing) -> Result<(), TxnError> {
        let Some(log) = self.log() else {
            let mut state = self.keys.state.lock();
            return Ok(self
                .keys
                .keep(&mut state, ring, Lsn::ZERO)
                .and_then(|()| self.keys.activate(&mut state))?);
        };
        let term = log.term();
        ring.epoch = log.epoch();
        let mut buffer = RecordBuffer::new();
        buffer.add(TreeId(0), ANNOUNCED_KEY, Change::Put(&ring.encode()));
        let group = buffer.seal(GroupKind::Note, 0, micros(self.instance().env()));
        // A checkpoint that passed it before the ring is kept would leave it in no log that is replayed.
        let passing = self.block_checkpoints();
        let lsn = log.announce_keys(term, group)?;
        log.flush()?;
        {
            let mut state = self.keys.state.lock();
            self.keys.keep(&mut state, ring, lsn)?;
            // Not when it is agreed: a primary that loses its role meanwhile has applied the announcement as its own, and no
            // redo tells it of that again. If it is cut off, so is what was written with it.
            self.keys.activate(&mut state)?;
        }
        drop(passing);
        self.wait_committed(lsn, term)
    }

    /// Encrypts a volatile database with a key that nobody keeps; once.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn encrypt_volatile(&self) -> Result<(), DbError> {
        let _changing = self.keys.changing.lock();
        let mut state = self.keys.state.lock();
        if state.kept.is_some() {
            return Ok(());
        }
        let (now, algorithm) = (micros(&self.keys.env), Algorithm::Aes256);
        let key = SealedKey { number: 1, algorithm, thumbprint: Vec::new(), sealed: Vec::new() };
        let times = KeyTimes { created: now, regenerated: now, modified: now, set: now, scan: now };
        let ring = KeyRing { keys: vec![key], current: 1, on: true, times, ..KeyRing::default() };
        self.keys.keep(&mut state, ring, Lsn::ZERO)?;
        let salt = state.kept.as_ref().map(|kept| kept.salt).unwrap_or_default();
        self.keys.chain.set_file(salt, 0);
        self.keys.chain.add(1, DataKey::new(algorithm, &*self.keys.env.random));
        if let Some(kept) = &mut state.kept {
            kept.log_done = true;
        }
        self.keys.activate(&mut state)
    }

    /// Tries again to open keys whose certificate was missing: it may be here now. True when none is missing (any more).
    ///
    /// # Errors
    /// When the key file cannot be written.
    pub fn unlock(&self) -> Result<bool, DbError> {
        {
            let _changing = self.keys.changing.lock();
            let mut state = self.keys.state.lock();
            if state.locked.is_none() {
                return Ok(true);
            }
            self.keys.activate(&mut state)?;
            if state.locked.is_some() {
                return Ok(false);
            }
        }
        self.forget_failed_redo();
        self.poke_redo();
        Ok(true)
    }
}

impl From<DbError> for TxnError {
    fn from(error: DbError) -> TxnError {
        match error {
            DbError::Poisoned(what) => TxnError::Poisoned(what),
            DbError::Role(what) => TxnError::RoleChanged(what),
            DbError::Io(what) => TxnError::Io(what),
            DbError::Invalid(what) | DbError::Corrupt(what) | DbError::Locked(what) => {
                TxnError::Corrupt(what)
            }
        }
    }
}
