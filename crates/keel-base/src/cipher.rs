//! Encryption at rest: the key of a database, what is derived from it, and sealing of pages and log blocks.
//!
//! A database has a [`DataKey`] (the product's database encryption key). It never encrypts anything itself: for the pages
//! of one file and for the blocks of one writer of the log there are keys of their own, derived by HKDF, so that copies of a
//! database, which share the data key, never use one nonce twice under one key. Everything is sealed with AES-GCM:
//! what was changed, moved to another place or sealed with another key does not open.
//!
//! ```text
//!   secret of the certificate ──HKDF, salt──► seals the DataKey where it is stored ([`DataKey::wrap`])
//!   DataKey ──HKDF "pages", salt of the file──────────────► [`PageSealer`], nonce: page, generation, opening
//!           └─HKDF "log", log, epoch, incarnation─────────► [`BlockSealer`], nonce: first LSN
//! ```
//!
//! A [`Keychain`] holds the keys of one open database, by number, for its log and its base tree.

use crate::env::Random;
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::consts::{U12, U16};
use aes_gcm::aead::{AeadInPlace, KeyInit};
use aes_gcm::{AesGcm, TagSize};
use ctr::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use parking_lot::RwLock;
use ring::hkdf::{HKDF_SHA256, Salt};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes of a salt.
pub const SALT_BYTES: usize = 16;
/// Bytes of a page's tag.
pub const PAGE_TAG_BYTES: usize = 16;
/// Bytes of a log block's tag: those that its header has room for, the shortest that GCM has for general use.
pub const BLOCK_TAG_BYTES: usize = 12;
/// The highest number of a key: what five bits of a block's header hold.
pub const KEY_NUMBER_MAX: u8 = 31;
const NONCE_BYTES: usize = 12;

/// An algorithm by which a database is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Algorithm {
    /// `AES_128`
    Aes128,
    /// `AES_192`
    Aes192,
    /// `AES_256`
    Aes256,
}

impl Algorithm {
    /// Of the product's name; `None` of another.
    #[must_use]
    pub fn named(name: &str) -> Option<Algorithm> {
        let all = [Algorithm::Aes128, Algorithm::Aes192, Algorithm::Aes256];
        all.into_iter().find(|a| name.eq_ignore_ascii_case(&format!("AES_{}", 8 * a.key_bytes())))
    }

    /// Bytes of its keys.
    #[must_use]
    pub fn key_bytes(self) -> usize {
        match self {
            Algorithm::Aes128 => 16,
            Algorithm::Aes192 => 24,
            Algorithm::Aes256 => 32,
        }
    }
}

/// AES-GCM with one key and tags of one length.
enum Gcm<T: TagSize> {
    Aes128(Box<AesGcm<Aes128, U12, T>>),
    Aes192(Box<AesGcm<Aes192, U12, T>>),
    Aes256(Box<AesGcm<Aes256, U12, T>>),
}

impl<T: TagSize> Gcm<T> {
    fn new(algorithm: Algorithm, key: &[u8]) -> Gcm<T> {
        const LENGTH: &str = "derived to the algorithm's length";
        match algorithm {
            Algorithm::Aes128 => Gcm::Aes128(Box::new(AesGcm::new_from_slice(key).expect(LENGTH))),
            Algorithm::Aes192 => Gcm::Aes192(Box::new(AesGcm::new_from_slice(key).expect(LENGTH))),
            Algorithm::Aes256 => Gcm::Aes256(Box::new(AesGcm::new_from_slice(key).expect(LENGTH))),
        }
    }

    /// Encrypts in place and fills `tag`.
    fn seal(&self, nonce: &[u8; NONCE_BYTES], aad: &[u8], bytes: &mut [u8], tag: &mut [u8]) {
        const SHORT: &str = "a page or a block is far shorter than GCM's limit";
        match self {
            Gcm::Aes128(gcm) => {
                let made = gcm.encrypt_in_place_detached(nonce.into(), aad, bytes);
                tag.copy_from_slice(&made.expect(SHORT));
            }
            Gcm::Aes192(gcm) => {
                let made = gcm.encrypt_in_place_detached(nonce.into(), aad, bytes);
                tag.copy_from_slice(&made.expect(SHORT));
            }
            Gcm::Aes256(gcm) => {
                let made = gcm.encrypt_in_place_detached(nonce.into(), aad, bytes);
                tag.copy_from_slice(&made.expect(SHORT));
            }
        }
    }

    /// Decrypts in place; false when it is not what was sealed: then the bytes are worth nothing.
    fn open(&self, nonce: &[u8; NONCE_BYTES], aad: &[u8], bytes: &mut [u8], tag: &[u8]) -> bool {
        match self {
            Gcm::Aes128(gcm) => gcm.decrypt_in_place_detached(nonce.into(), aad, bytes, tag.into()).is_ok(),
            Gcm::Aes192(gcm) => gcm.decrypt_in_place_detached(nonce.into(), aad, bytes, tag.into()).is_ok(),
            Gcm::Aes256(gcm) => gcm.decrypt_in_place_detached(nonce.into(), aad, bytes, tag.into()).is_ok(),
        }
    }
}

/// Bytes derived from a secret for one purpose.
fn derive(secret: &[u8], salt: &[u8], purpose: &[&[u8]], out: &mut [u8]) {
    struct Length(usize);
    impl ring::hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    let filled = extracted.expand(purpose, Length(out.len())).and_then(|okm| okm.fill(out));
    filled.expect("a key is shorter than HKDF can give");
}

fn secret_sealer(secret: &[u8], salt: &[u8]) -> Gcm<U16> {
    let mut key = [0; 32];
    derive(secret, salt, &[b"Evenkeel data key"], &mut key);
    Gcm::new(Algorithm::Aes256, &key)
}

/// A key, or whatever else is short and secret, sealed with another secret: a salt ([`SALT_BYTES`]), the bytes under AES-256-GCM,
/// their tag ([`PAGE_TAG_BYTES`]).
#[must_use]
pub fn seal_secret(bytes: &[u8], secret: &[u8], random: &dyn Random) -> Vec<u8> {
    let mut salt = [0; SALT_BYTES];
    random.fill(&mut salt);
    let (mut sealed, mut tag) = (bytes.to_vec(), [0; PAGE_TAG_BYTES]);
    secret_sealer(secret, &salt).seal(&[0; NONCE_BYTES], &[], &mut sealed, &mut tag);
    [&salt[..], &sealed, &tag].concat()
}

/// The way back; `None` with another secret, or when it is damaged.
#[must_use]
pub fn open_secret(sealed: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
    let (salt, rest) = sealed.split_at_checked(SALT_BYTES)?;
    let (bytes, tag) = rest.split_at_checked(rest.len().checked_sub(PAGE_TAG_BYTES)?)?;
    let mut bytes = bytes.to_vec();
    secret_sealer(secret, salt).open(&[0; NONCE_BYTES], &[], &mut bytes, tag).then_some(bytes)
}

/// The key of a database.
#[derive(Clone, PartialEq, Eq)]
pub struct DataKey {
    algorithm: Algorithm,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for DataKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DataKey({:?})", self.algorithm)
    }
}

impl DataKey {
    /// A new one.
    pub fn new(algorithm: Algorithm, random: &dyn Random) -> DataKey {
        let mut bytes = vec![0; algorithm.key_bytes()];
        random.fill(&mut bytes);
        DataKey { algorithm, bytes }
    }

    /// Of what it encrypts with.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// [Sealed](seal_secret) with a secret.
    #[must_use]
    pub fn wrap(&self, secret: &[u8], random: &dyn Random) -> Vec<u8> {
        seal_secret(&self.bytes, secret, random)
    }

    /// The way back; `None` with another secret, or when it is damaged.
    #[must_use]
    pub fn unwrap(algorithm: Algorithm, wrapped: &[u8], secret: &[u8]) -> Option<DataKey> {
        let bytes = open_secret(wrapped, secret)?;
        (bytes.len() == algorithm.key_bytes()).then_some(DataKey { algorithm, bytes })
    }

    fn sealer<T: TagSize>(&self, salt: &[u8], purpose: &[&[u8]]) -> Gcm<T> {
        let mut key = vec![0; self.algorithm.key_bytes()];
        derive(&self.bytes, salt, purpose, &mut key);
        Gcm::new(self.algorithm, &key)
    }
}

/// Which write of which page: never the same twice under one key.
#[derive(Clone, Copy, Debug)]
pub struct PageNonce {
    /// Its place in the file.
    pub page: u32,
    /// The low half of the generation that writes it.
    pub generation: u32,
    /// Random for each opening of the file: a generation that a crash cut short comes again.
    pub opening: u32,
}

impl PageNonce {
    fn bytes(self) -> [u8; NONCE_BYTES] {
        let mut bytes = [0; NONCE_BYTES];
        bytes[..4].copy_from_slice(&self.page.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.generation.to_le_bytes());
        bytes[8..].copy_from_slice(&self.opening.to_le_bytes());
        bytes
    }
}

/// Seals the pages of one file.
pub struct PageSealer(Gcm<U16>);

impl PageSealer {
    /// Encrypts in place; the tag.
    pub fn seal(&self, nonce: PageNonce, aad: &[u8], bytes: &mut [u8]) -> [u8; PAGE_TAG_BYTES] {
        let mut tag = [0; PAGE_TAG_BYTES];
        self.0.seal(&nonce.bytes(), aad, bytes, &mut tag);
        tag
    }

    /// Decrypts in place; false when it is not what was sealed.
    #[must_use]
    pub fn open(&self, nonce: PageNonce, aad: &[u8], bytes: &mut [u8], tag: &[u8; PAGE_TAG_BYTES]) -> bool {
        self.0.open(&nonce.bytes(), aad, bytes, tag)
    }
}

/// Whose blocks a [`BlockSealer`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockWriter {
    /// Number of the data key.
    pub key: u8,
    /// Identity of the log.
    pub log_id: u32,
    /// Epoch of the writer.
    pub epoch: u64,
    /// Its incarnation.
    pub incarnation: u32,
}

/// Seals the blocks of one writer of a log.
pub struct BlockSealer(Gcm<U12>);

impl BlockSealer {
    fn nonce(first_lsn: u64) -> [u8; NONCE_BYTES] {
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&first_lsn.to_le_bytes());
        nonce
    }

    /// Encrypts in place; the tag.
    pub fn seal(&self, first_lsn: u64, aad: &[u8], bytes: &mut [u8]) -> [u8; BLOCK_TAG_BYTES] {
        let mut tag = [0; BLOCK_TAG_BYTES];
        self.0.seal(&Self::nonce(first_lsn), aad, bytes, &mut tag);
        tag
    }

    /// Decrypts in place; false when it is not what was sealed.
    #[must_use]
    pub fn open(&self, first_lsn: u64, aad: &[u8], bytes: &mut [u8], tag: &[u8; BLOCK_TAG_BYTES]) -> bool {
        self.0.open(&Self::nonce(first_lsn), aad, bytes, tag)
    }
}

/// Encrypts a file that is written once from front to back, read at any place, and worth nothing after a restart: AES-256 in
/// counter mode, with a key for each file that nobody keeps. Not authenticated.
pub struct WorkSealer {
    key: [u8; 32],
}

impl WorkSealer {
    /// A new one.
    pub fn new(random: &dyn Random) -> WorkSealer {
        let mut key = [0; 32];
        random.fill(&mut key);
        WorkSealer { key }
    }

    /// Encrypts, or decrypts, what is written at an offset of the file. No place may be written twice.
    pub fn apply(&self, offset: u64, bytes: &mut [u8]) {
        let mut stream = ctr::Ctr128BE::<Aes256>::new(&self.key.into(), &[0; 16].into());
        stream.seek(offset);
        stream.apply_keystream(bytes);
    }
}

/// Is told of a log block that announces keys: its payload, and the position behind it. When it returns, what the keys
/// encrypt can be opened, if it can be here at all.
pub type Learn = Box<dyn Fn(&[u8], crate::Lsn) -> std::io::Result<()> + Send + Sync>;

/// The keys of one open database, by number (1 to [`KEY_NUMBER_MAX`]). Shared by its log, its base tree, and whoever
/// changes them. A database that is not encrypted has an empty one.
#[derive(Default)]
pub struct Keychain {
    keys: RwLock<Vec<(u8, Arc<DataKey>)>>,
    pages: RwLock<Vec<(u8, Arc<PageSealer>)>>,
    /// Of the file's pages, and of this opening of it; set before the first page is sealed.
    file: OnceLock<([u8; SALT_BYTES], u32)>,
    /// No page of the file is plain any more.
    no_plain_pages: AtomicBool,
    log_key: AtomicU8,
    page_key: AtomicU8,
    learn: OnceLock<Learn>,
}

fn page_sealer(key: &DataKey, salt: &[u8]) -> Arc<PageSealer> {
    Arc::new(PageSealer(key.sealer(salt, &[b"pages"])))
}

impl std::fmt::Debug for Keychain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keychain(log {}, pages {})", self.log_key(), self.page_key())
    }
}

impl Keychain {
    /// The salt of the file's pages, and a random number of this opening of it; the first ones set stay. Before, keys open log
    /// alone.
    pub fn set_file(&self, salt: [u8; SALT_BYTES], opening: u32) {
        let (keys, mut pages) = (self.keys.write(), self.pages.write());
        if self.file.set((salt, opening)).is_ok() {
            pages.extend(keys.iter().map(|(number, key)| (*number, page_sealer(key, &salt))));
        }
    }

    /// The random number of this opening of the file.
    #[must_use]
    pub fn opening(&self) -> u32 {
        self.file.get().map_or(0, |file| file.1)
    }

    /// Whether no page of the file is plain any more: then none is taken for one of the database's.
    #[must_use]
    pub fn has_no_plain_pages(&self) -> bool {
        self.no_plain_pages.load(Ordering::Acquire)
    }

    /// Says so, or that there may be some.
    pub fn set_no_plain_pages(&self, none: bool) {
        self.no_plain_pages.store(none, Ordering::Release);
    }

    /// Adds a key; one of that number is replaced.
    ///
    /// # Panics
    /// Of a number that there cannot be.
    pub fn add(&self, number: u8, key: DataKey) {
        assert!((1..=KEY_NUMBER_MAX).contains(&number), "keys are numbered from 1 to {KEY_NUMBER_MAX}");
        let (mut keys, mut pages) = (self.keys.write(), self.pages.write());
        keys.retain(|known| known.0 != number);
        pages.retain(|known| known.0 != number);
        if let Some((salt, _)) = self.file.get() {
            pages.push((number, page_sealer(&key, salt)));
        }
        keys.push((number, Arc::new(key)));
    }

    /// The key of a number.
    #[must_use]
    pub fn key(&self, number: u8) -> Option<Arc<DataKey>> {
        self.keys.read().iter().find(|known| known.0 == number).map(|known| Arc::clone(&known.1))
    }

    /// What seals pages with the key of a number.
    #[must_use]
    pub fn page_sealer(&self, number: u8) -> Option<Arc<PageSealer>> {
        self.pages.read().iter().find(|known| known.0 == number).map(|known| Arc::clone(&known.1))
    }

    /// What seals the blocks of a writer; `None` without its key.
    #[must_use]
    pub fn block_sealer(&self, writer: BlockWriter) -> Option<BlockSealer> {
        let key = self.key(writer.key)?;
        let purpose: [&[u8]; 4] = [
            b"log",
            &writer.log_id.to_le_bytes(),
            &writer.epoch.to_le_bytes(),
            &writer.incarnation.to_le_bytes(),
        ];
        Some(BlockSealer(key.sealer(&[], &purpose)))
    }

    /// The key with which log is written; 0 for none.
    #[must_use]
    pub fn log_key(&self) -> u8 {
        self.log_key.load(Ordering::Acquire)
    }

    /// Log is written with another key, or with none, from the next group on.
    pub fn set_log_key(&self, number: u8) {
        self.log_key.store(number, Ordering::Release);
    }

    /// The key with which pages are written; 0 for none.
    #[must_use]
    pub fn page_key(&self) -> u8 {
        self.page_key.load(Ordering::Acquire)
    }

    /// Pages are written with another key, or with none, from the next publication on.
    pub fn set_page_key(&self, number: u8) {
        self.page_key.store(number, Ordering::Release);
    }

    /// Sets who learns the keys that the log announces; the first one set stays.
    pub fn on_announced(&self, learn: Learn) {
        let _ = self.learn.set(learn);
    }

    /// The log announces keys.
    ///
    /// # Errors
    /// Of whoever learns them: they could not be kept.
    pub fn announce(&self, payload: &[u8], end: crate::Lsn) -> std::io::Result<()> {
        self.learn.get().map_or(Ok(()), |learn| learn(payload, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::sim::SimRandom;

    const ALL: [Algorithm; 3] = [Algorithm::Aes128, Algorithm::Aes192, Algorithm::Aes256];

    fn chain(seed: u64, algorithm: Algorithm) -> Keychain {
        let chain = Keychain::default();
        chain.set_file([7; SALT_BYTES], 1);
        chain.add(3, DataKey::new(algorithm, &SimRandom::new(seed)));
        chain
    }

    #[test]
    fn a_wrapped_key_opens_with_its_secret_alone() {
        let random = SimRandom::new(1);
        for algorithm in ALL {
            let key = DataKey::new(algorithm, &random);
            let wrapped = key.wrap(b"secret", &random);
            assert_eq!(DataKey::unwrap(algorithm, &wrapped, b"secret"), Some(key));
            assert_eq!(DataKey::unwrap(algorithm, &wrapped, b"another"), None);
            for at in 0..wrapped.len() {
                let mut bad = wrapped.clone();
                bad[at] ^= 1;
                assert_eq!(DataKey::unwrap(algorithm, &bad, b"secret"), None, "byte {at}");
                assert_eq!(DataKey::unwrap(algorithm, &wrapped[..at], b"secret"), None);
            }
        }
    }

    #[test]
    fn a_page_opens_at_its_place_alone() {
        for algorithm in ALL {
            let sealer = chain(1, algorithm).page_sealer(3).unwrap();
            let nonce = PageNonce { page: 9, generation: 4, opening: 77 };
            let mut page = *b"rows of a page, sixteen and more";
            let tag = sealer.seal(nonce, b"aad", &mut page);
            assert_ne!(&page, b"rows of a page, sixteen and more");
            let opens = |nonce, aad: &[u8], tag| sealer.open(nonce, aad, &mut page.clone(), tag);
            assert!(opens(nonce, b"aad", &tag));
            assert!(!opens(PageNonce { page: 10, ..nonce }, b"aad", &tag));
            assert!(!opens(PageNonce { generation: 5, ..nonce }, b"aad", &tag));
            assert!(!opens(PageNonce { opening: 78, ..nonce }, b"aad", &tag));
            assert!(!opens(nonce, b"other", &tag));
            let other = chain(2, algorithm).page_sealer(3).unwrap();
            assert!(!other.open(nonce, b"aad", &mut page.clone(), &tag));
        }
    }

    #[test]
    fn a_work_file_is_read_at_any_place() {
        let sealer = WorkSealer::new(&SimRandom::new(1));
        let plain: Vec<u8> = (0..1000u32).map(|n| n as u8).collect();
        let mut sealed = plain.clone();
        for (n, part) in sealed.chunks_mut(77).enumerate() {
            sealer.apply(77 * n as u64, part);
        }
        assert_ne!(sealed, plain);
        for from in [0, 1, 15, 16, 500, 999] {
            let mut part = sealed[from..].to_vec();
            sealer.apply(from as u64, &mut part);
            assert_eq!(part, plain[from..]);
        }
    }

    #[test]
    fn files_and_writers_of_one_data_key_have_keys_of_their_own() {
        let key = DataKey::new(Algorithm::Aes256, &SimRandom::new(5));
        let [one, two] = [[1; SALT_BYTES], [2; SALT_BYTES]].map(|salt| {
            let chain = Keychain::default();
            chain.set_file(salt, 1);
            chain.add(1, key.clone());
            chain
        });
        let nonce = PageNonce { page: 1, generation: 1, opening: 1 };
        let sealed = |chain: &Keychain| {
            let mut page = [0; 16];
            chain.page_sealer(1).unwrap().seal(nonce, b"", &mut page);
            page
        };
        assert_ne!(sealed(&one), sealed(&two));
        let writer = BlockWriter { key: 1, log_id: 1, epoch: 1, incarnation: 1 };
        let block = |writer| {
            let mut block = [0; 16];
            one.block_sealer(writer).unwrap().seal(1, b"", &mut block);
            block
        };
        assert_ne!(block(writer), block(BlockWriter { epoch: 2, ..writer }));
        assert_ne!(block(writer), block(BlockWriter { incarnation: 2, ..writer }));
        let late = Keychain::default();
        late.add(1, key.clone());
        assert!(late.page_sealer(1).is_none());
        late.set_file([1; SALT_BYTES], 1);
        assert_eq!(sealed(&late), sealed(&one), "whichever comes first");
        assert!(one.block_sealer(BlockWriter { key: 2, ..writer }).is_none());
        assert_eq!(two.block_sealer(writer).map(|_| ()), Some(()));
    }
}
