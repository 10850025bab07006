//! Scrubbing: what was written before the log was encrypted leaves the disk.
//!
//! A segment that was given back keeps its old blocks until new ones lie over them. While a scrub is under way no segment is
//! used again before it is full of zeros:
//!
//! 1. [`Log::begin_scrub`] zeroes the free segments and leaves the present one, so that everything that comes lies in clean ones.
//! 2. When the last segment that was in use then has been given back, [`Log::finish_scrub`] zeroes those too.
//!
//! A crash in between forgets where it began: it is begun again.

use crate::appender::Appender;
use crate::error::LogError;
use crate::log::Log;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far a scrub is.
#[derive(Default)]
pub(crate) struct Scrub {
    /// Segments are zeroed before they are used again.
    pub(crate) under_way: AtomicBool,
    /// The last sequence that may hold what is to go.
    last: AtomicU64,
}

impl Log {
    /// Begins to remove what was written so far. What is written from now on should be encrypted.
    pub fn begin_scrub(&self) -> Result<(), LogError> {
        let scrub = &self.shared.scrub;
        scrub.last.store(u64::MAX, Ordering::Release);
        scrub.under_way.store(true, Ordering::Release);
        if let Err(error) = self.zero_free() {
            // Not begun: whoever asks again begins anew.
            scrub.under_way.store(false, Ordering::Release);
            return Err(error);
        }
        let mut appender = self.shared.appender.lock();
        scrub.last.store(appender.sequence, Ordering::Release);
        appender.leave_segment();
        Ok(())
    }

    /// Whether one is under way.
    #[must_use]
    pub fn is_scrubbing(&self) -> bool {
        self.shared.scrub.under_way.load(Ordering::Acquire)
    }

    /// Ends it once nothing from before is needed any more; false while it is.
    pub fn finish_scrub(&self) -> Result<bool, LogError> {
        let scrub = &self.shared.scrub;
        if !scrub.under_way.load(Ordering::Acquire) {
            return Ok(true);
        }
        let last = scrub.last.load(Ordering::Acquire);
        let first = self.shared.directory.lock().live.front().map_or(0, |live| live.sequence);
        if first <= last {
            return Ok(false);
        }
        self.zero_free()?;
        scrub.under_way.store(false, Ordering::Release);
        Ok(true)
    }

    /// Zeroes the segments that hold nothing, one after the other; who needs room has the others meanwhile.
    fn zero_free(&self) -> Result<(), LogError> {
        let spares = self.shared.appender.lock().spares.len();
        for _ in 0..spares {
            self.zero_one(true)?;
        }
        let retired = self.shared.appender.lock().retired.len();
        for _ in 0..retired {
            self.zero_one(false)?;
        }
        Ok(())
    }

    /// Zeroes the segment that has waited longest: a spare one, or one that was given back, the oldest of them.
    fn zero_one(&self, spare: bool) -> Result<(), LogError> {
        let next = |appender: &mut Appender| {
            if spare { appender.spares.pop_front() } else { appender.retired.pop_front() }
        };
        self.making_segments(|| {
            let Some(segment) = next(&mut self.shared.appender.lock()) else { return Ok(()) };
            let zeroed = segment.zero();
            let mut appender = self.shared.appender.lock();
            match &zeroed {
                Ok(()) if spare => self.shared.give(&mut appender, [segment]),
                Ok(()) => appender.retired.push_back(segment),
                // It may still have its old header: it stays the first.
                Err(_) => appender.retired.push_front(segment),
            }
            Ok(zeroed?)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::segment::SEGMENT_BYTES_MIN;
    use crate::{Log, LogOptions, OpenFrom};
    use keel_base::cipher::{Algorithm, DataKey, Keychain};
    use keel_base::env::sim::{SimDisk, SimRandom, env};
    use std::path::Path;
    use std::sync::Arc;

    const MARKER: &[u8] = b"a marker nobody else writes";

    fn options(keys: &Arc<Keychain>) -> LogOptions {
        LogOptions {
            segment_bytes: SEGMENT_BYTES_MIN,
            segment_bytes_max: SEGMENT_BYTES_MIN,
            keys: Arc::clone(keys),
            ..LogOptions::default()
        }
    }

    fn keys() -> Arc<Keychain> {
        let keys = Keychain::default();
        keys.add(1, DataKey::new(Algorithm::Aes256, &SimRandom::new(3)));
        Arc::new(keys)
    }

    fn times_on_disk(env: &keel_base::env::Env, dir: &Path) -> usize {
        let mut found = 0;
        for path in env.disk.list(dir).unwrap() {
            let file = env.disk.open(&path, keel_base::env::OpenMode::Read).unwrap();
            let mut bytes = vec![0; file.len().unwrap() as usize];
            file.read_at(&mut bytes, 0).unwrap();
            found += bytes.windows(MARKER.len()).filter(|w| *w == MARKER).count();
        }
        found
    }

    fn append(log: &Log, times: usize) {
        for _ in 0..times {
            log.append(&MARKER.repeat(40), |_| ()).unwrap();
            log.flush().unwrap();
        }
    }

    fn payloads(log: &Log) -> Vec<u8> {
        let mut scanner = log.scan(log.truncated()).unwrap();
        let mut all = Vec::new();
        while let Some(block) = scanner.next_open().unwrap() {
            all.extend_from_slice(block.payload());
        }
        all
    }

    #[test]
    fn plain_log_leaves_the_disk_once_it_is_truncated() {
        let (env, dir, keys) = (env(&SimDisk::new(), 1), Path::new("log"), keys());
        let log = Log::create(&env, dir, options(&keys)).unwrap();
        append(&log, 300);
        log.truncate_before(log.hardened());
        append(&log, 300);
        assert!(times_on_disk(&env, dir) > 0);
        keys.set_log_key(1);
        log.begin_scrub().unwrap();
        append(&log, 10);
        assert!(!log.finish_scrub().unwrap(), "it is not truncated yet");
        log.truncate_before(log.hardened());
        assert!(log.finish_scrub().unwrap());
        append(&log, 300);
        assert_eq!(times_on_disk(&env, dir), 0);
        assert!(payloads(&log).len() > 300 * 40 * MARKER.len());
        let (before, end) = (payloads(&log), log.hardened());
        drop(log);
        let log = Log::open(&env, dir, options(&keys), OpenFrom::default()).unwrap();
        assert_eq!(log.hardened(), end);
        assert_eq!(payloads(&log), before);
    }

    #[test]
    fn a_log_that_turned_from_plain_to_encrypted_and_back_is_followed_cut_and_opened_without_a_key() {
        let keys = keys();
        let (one, two) = (env(&SimDisk::new(), 1), env(&SimDisk::new(), 2));
        let (dir, none) = (Path::new("log"), Arc::<Keychain>::default());
        let log = Log::create(&one, dir, options(&keys)).unwrap();
        let copy = Log::create(&two, dir, options(&none)).unwrap();
        copy.end_term();
        append(&log, 5);
        keys.set_log_key(1);
        append(&log, 5);
        let switched = log.hardened();
        keys.set_log_key(0);
        append(&log, 5);
        let mut scanner = log.scan(log.truncated()).unwrap();
        while let Some(block) = scanner.next().unwrap() {
            copy.append_block(block.header.epoch, block.bytes).unwrap();
        }
        copy.flush().unwrap();
        assert_eq!(copy.last_checksum(), log.last_checksum());
        copy.cut(switched).unwrap();
        drop(copy);
        let from = OpenFrom { received: true, ..OpenFrom::default() };
        let copy = Log::open(&two, dir, options(&none), from).unwrap();
        assert_eq!(copy.hardened(), switched);
        let mut scanner = copy.scan(copy.truncated()).unwrap();
        let locked = std::iter::from_fn(|| Some(scanner.next_open().map(|b| b.map(|_| ()))))
            .find_map(|next| next.err())
            .unwrap();
        assert!(matches!(locked, crate::LogError::Locked { number: 1, .. }), "{locked}");
    }
}
