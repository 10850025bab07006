//! Room for what is appended: free segments are made ahead of need, used again, and waited for where none is at hand.
//!
//! One thread at a time makes segments, and it may take its time, because the zeros of a new one go to the disk to which commits
//! go too. Who needs room waits for *room*, not for that thread: as soon as a segment is there he goes on, though the next one may be
//! in the making already, and as long as somebody waits nobody rests.

use crate::appender::Appender;
use crate::block::SECTOR_BYTES;
use crate::error::LogError;
use crate::log::{Log, Shared};
use crate::segment::{SEGMENT_BYTES_MIN, Segment};
use parking_lot::MutexGuard;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Which slot numbers and how many bytes the files take; guarded so that one thread at a time makes a segment.
pub(crate) struct Slots {
    pub(crate) next_slot: u32,
    pub(crate) file_bytes: u64,
    pub(crate) last_size: u64,
}

/// The right to make segments. Who waits for room looks again when it is given back: nobody else may be making any.
struct Making<'a> {
    shared: &'a Shared,
    slots: Option<MutexGuard<'a, Slots>>,
}

impl<'a> Making<'a> {
    /// Waits for it.
    fn begin(shared: &'a Shared) -> Making<'a> {
        Making { shared, slots: Some(shared.provisioning.lock()) }
    }

    /// `None` while another thread has it. May be asked by who holds the appender.
    fn begin_at_once(shared: &'a Shared) -> Option<Making<'a>> {
        Some(Making { shared, slots: Some(shared.provisioning.try_lock()?) })
    }
}

impl Deref for Making<'_> {
    type Target = Slots;

    fn deref(&self) -> &Slots {
        self.slots.as_ref().expect("it is held until it is dropped")
    }
}

impl DerefMut for Making<'_> {
    fn deref_mut(&mut self) -> &mut Slots {
        self.slots.as_mut().expect("it is held until it is dropped")
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.slots = None;
        // Under the lock: who has just found it taken is about to wait.
        let _appender = self.shared.appender.lock();
        self.shared.room_changed.notify_all();
    }
}

impl Shared {
    /// More segments that are ready for use.
    pub(crate) fn give(&self, appender: &mut Appender, segments: impl IntoIterator<Item = Arc<Segment>>) {
        appender.spares.extend(segments);
        self.room_changed.notify_all();
    }
}

impl Log {
    pub(crate) fn ask_for_segment(&self) {
        let hook = self.shared.provision_hook.read().clone();
        if let Some(hook) = hook {
            hook();
        }
    }

    /// Returns when the segments at hand have room for so many bytes of payload.
    pub(crate) fn make_room(&self, wanted: usize) -> Result<(), LogError> {
        let shared = &*self.shared;
        let mut appender = shared.appender.lock();
        loop {
            let room = appender.room();
            if room >= wanted as u64 {
                return Ok(());
            }
            if let Some(mut making) = Making::begin_at_once(shared) {
                drop(appender);
                self.make_some(&mut making, wanted as u64 - room)
                    .map_err(|source| LogError::Full { wanted, source })?;
                drop(making);
                appender = shared.appender.lock();
            } else {
                appender.waiting_for_room += 1;
                shared.room_changed.wait(&mut appender);
                appender.waiting_for_room -= 1;
            }
        }
    }

    /// One segment more: an old one, or a new one for so many bytes of payload.
    fn make_some(&self, making: &mut Making<'_>, missing: u64) -> io::Result<()> {
        if self.reuse_segment(making)? {
            Ok(())
        } else {
            self.add_segment(making, missing, &mut |_, _| Ok(()))
        }
    }

    /// `between` is told how many bytes of how many are there.
    fn add_segment(
        &self,
        making: &mut Making<'_>,
        payload_bytes: u64,
        between: &mut dyn FnMut(u64, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let options = &self.shared.options;
        let largest = options.segment_bytes_max.max(SEGMENT_BYTES_MIN);
        let wanted = (making.last_size * 2).clamp(SEGMENT_BYTES_MIN, largest);
        let needed = (payload_bytes + payload_bytes / 8).clamp(SEGMENT_BYTES_MIN, largest);
        let sector = SECTOR_BYTES as u64;
        let size = wanted.max(needed) / sector * sector;
        if making.file_bytes + size > options.log_bytes_max {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the log has reached its maximum size"));
        }
        let (disk, dir) = (self.shared.disk.as_ref(), &self.shared.dir);
        let segment = Segment::create(disk, dir, making.next_slot, size, &mut |done| between(done, size))?;
        making.next_slot += 1;
        making.file_bytes += size;
        making.last_size = size;
        self.shared.file_bytes.store(making.file_bytes, Ordering::Relaxed);
        self.shared.counters.segments_created.fetch_add(1, Ordering::Relaxed);
        self.shared.give(&mut self.shared.appender.lock(), [segment]);
        Ok(())
    }

    /// Makes the oldest segment that was given back ready for use; false when there is none.
    fn reuse_segment(&self, _making: &mut Making<'_>) -> io::Result<bool> {
        let Some(segment) = self.shared.appender.lock().retired.front().map(Arc::clone) else {
            return Ok(false);
        };
        if self.shared.scrub.under_way.load(Ordering::Acquire) {
            segment.zero()?;
        } else {
            segment.wipe_header()?;
        }
        let mut appender = self.shared.appender.lock();
        appender.retired.pop_front();
        self.shared.give(&mut appender, [segment]);
        Ok(true)
    }

    /// Does something while nobody makes or takes back segments.
    pub(crate) fn making_segments<T>(&self, work: impl FnOnce() -> T) -> T {
        let _making = Making::begin(&self.shared);
        work()
    }

    /// Makes segments that were given back ready for use, and a new one when none is. Called by a background thread when
    /// the [hook](Log::set_provision_hook) has asked. The zeros of a new one go to the disk to which commits go too, so
    /// `rest` is called between parts of it as long as they are written faster than they will be needed; it may sleep for a
    /// moment. When it gives false the segment is given up.
    pub fn provision(&self, rest: &dyn Fn() -> bool) -> Result<(), LogError> {
        let mut making = Making::begin(&self.shared);
        while self.reuse_segment(&mut making).map_err(|source| LogError::Full { wanted: 0, source })? {}
        if !self.shared.appender.lock().spares.is_empty() {
            return Ok(());
        }
        let mut given_up = false;
        let made = self.add_segment(&mut making, 0, &mut |done, of| {
            given_up = self.is_early(done, of) && !rest();
            if given_up { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        });
        match made {
            Err(_) if given_up => Ok(()),
            made => made.map_err(|source| LogError::Full { wanted: 0, source }),
        }
    }

    /// Whether nobody waits, and `done` bytes of a new segment are more than twice the share of the present one that is in use.
    fn is_early(&self, done: u64, of: u64) -> bool {
        let appender = self.shared.appender.lock();
        appender.waiting_for_room == 0
            && u128::from(done) * u128::from(appender.segment.size)
                > 2 * u128::from(appender.position) * u128::from(of)
    }

    /// Returns when no segment is in the making.
    pub fn wait_for_provisioning(&self) {
        drop(Making::begin(&self.shared));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogOptions;
    use keel_base::env::sim::{SimDisk, env};
    use std::path::Path;
    use std::sync::atomic::AtomicU32;

    fn log() -> Log {
        let options = LogOptions {
            segment_bytes: SEGMENT_BYTES_MIN,
            segment_bytes_max: SEGMENT_BYTES_MIN,
            ..LogOptions::default()
        };
        Log::create(&env(&SimDisk::new(), 1), Path::new("db/log"), options).unwrap()
    }

    /// Until a thread waits for room.
    fn until_somebody_waits(log: &Log) {
        while log.shared.appender.lock().waiting_for_room == 0 {
            std::thread::yield_now();
        }
    }

    /// More than a segment.
    const MUCH: usize = SEGMENT_BYTES_MIN as usize;

    #[test]
    fn whoever_waits_for_room_goes_on_when_there_is_some_though_the_next_segment_is_being_made() {
        let log = log();
        let mut first = Making::begin(&log.shared);
        std::thread::scope(|scope| {
            let appending = scope.spawn(|| log.append(&[7; MUCH], |_| ()));
            until_somebody_waits(&log);
            log.add_segment(&mut first, 0, &mut |_, _| Ok(())).unwrap();
            // The right to make segments has not been given back.
            appending.join().unwrap().unwrap();
        });
        drop(first);
    }

    #[test]
    fn nobody_rests_while_somebody_waits_for_room() {
        let (log, rests) = (log(), AtomicU32::new(0));
        std::thread::scope(|scope| {
            // At the beginning of a segment every part of the next one is early.
            let making = scope.spawn(|| {
                log.provision(&|| {
                    until_somebody_waits(&log);
                    rests.fetch_add(1, Ordering::Relaxed);
                    true
                })
            });
            while log.shared.provisioning.try_lock().is_some() {
                std::thread::yield_now();
            }
            log.append(&[7; MUCH], |_| ()).unwrap();
            making.join().unwrap().unwrap();
        });
        assert!(rests.into_inner() <= 1, "the one in which somebody came");
    }
}
