//! [`Slots`]: a small state that changes often, durable in two files written in turns: the cluster store's, and how far the
//! copies of databases reach ([`crate::marks`]).
//!
//! ```text
//! <dir>/state.0, state.1
//!   0   8  "KEELCST1"
//!   8   8  number of this state, grows by one with each write       little endian, as everything
//!  16   4  length of the state
//!  20   4  CRC-32C of number, length and state
//!  24   …  the state; what a longer one has left behind it means nothing
//! ```
//! State `n` is written over state `n - 2` and synced: one write and one sync for each change, and a power cut in the middle
//! leaves state `n - 1` whole. The first state goes into both files, so that a single file that cannot be read is known to be
//! the rest of a first write that nobody was told of.
//!
//! Reading takes the newest whole state. A file that is not whole beside one that is has been cut short by a crash or was damaged
//! later; which of the two cannot be told, so it is said aloud ([`Found::damage`]). With two files and none whole, the state is
//! lost, and that is said too: the instance then takes part under a new number, as one with an empty disk does, and never
//! votes again under the old one.

use crate::error::GroupError;
use keel_base::env::{Disk, Env, OpenMode};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"KEELCST1";
const HEADER_BYTES: usize = 24;

/// Where states go.
pub(crate) struct Slots {
    env: Env,
    dir: PathBuf,
    /// Number of the newest state; 0 while there is none.
    newest: u64,
}

/// What was there at the start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The newest whole state.
    pub(crate) state: Option<Vec<u8>>,
    /// What is wrong with the files, in words.
    pub(crate) damage: Option<String>,
}

/// One file as read.
enum Slot {
    Missing,
    Whole(u64, Vec<u8>),
    Torn,
}

impl Slots {
    /// Reads what is in `dir`.
    pub(crate) fn open(env: &Env, dir: &Path) -> Result<(Slots, Found), GroupError> {
        let mut slots = Slots { env: env.clone(), dir: dir.to_path_buf(), newest: 0 };
        let mut found = Found::default();
        let mut torn = Vec::new();
        for n in 0..2 {
            let path = slots.path(n);
            match read(env.disk.as_ref(), &path)? {
                Slot::Missing => {}
                Slot::Torn => torn.push(path),
                Slot::Whole(number, state) if number > slots.newest => {
                    slots.newest = number;
                    found.state = Some(state);
                }
                Slot::Whole(..) => {}
            }
        }
        found.damage = match (&torn[..], slots.newest) {
            ([path], n) if n > 0 => Some(format!(
                "{} is not whole: an interrupted write, or damage. State {n} of the cluster, the newest that is whole, counts.",
                path.display()
            )),
            ([_, _], _) => Some(format!(
                "The state of the cluster in {} is lost: neither copy is whole. This instance will take part under a new number.",
                slots.dir.display()
            )),
            _ => None,
        };
        Ok((slots, found))
    }

    /// Writes the next state. Durable when it returns; after an error the one before counts, or this one.
    pub(crate) fn write(&mut self, state: &[u8]) -> Result<(), GroupError> {
        let number = self.newest + 1;
        let bytes = encode(number, state)
            .ok_or_else(|| GroupError::damaged(&self.dir, "the cluster's state is too long".into()))?;
        let disk = self.env.disk.as_ref();
        if self.newest == 0 {
            crate::kept::make_dir(disk, &self.dir)?;
            for n in 0..2 {
                disk.open(&self.path(n), OpenMode::Create)?.write_durable_at(&bytes, 0)?;
            }
            disk.sync_dir(&self.dir)?;
        } else {
            disk.open(&self.path(number), OpenMode::Create)?.write_durable_at(&bytes, 0)?;
        }
        self.newest = number;
        Ok(())
    }

    /// Removes every state.
    pub(crate) fn clear(&mut self) -> Result<(), GroupError> {
        let disk = self.env.disk.as_ref();
        self.newest = 0;
        for n in 0..2 {
            if disk.exists(&self.path(n)) {
                disk.remove(&self.path(n))?;
            }
        }
        if disk.exists(&self.dir) {
            disk.sync_dir(&self.dir)?;
        }
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("state.{}", number % 2))
    }
}

fn checksum(number: u64, state: &[u8]) -> u32 {
    let mut head = [0; 12];
    head[..8].copy_from_slice(&number.to_le_bytes());
    head[8..].copy_from_slice(&u32::try_from(state.len()).unwrap_or(u32::MAX).to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&head), state)
}

fn encode(number: u64, state: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(state.len()).ok()?;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + state.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&checksum(number, state).to_le_bytes());
    bytes.extend_from_slice(state);
    Some(bytes)
}

fn decode(bytes: &[u8]) -> Option<(u64, Vec<u8>)> {
    let (magic, rest) = bytes.split_first_chunk::<8>()?;
    let (number, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let number = u64::from_le_bytes(*number);
    let state = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    let whole = magic == MAGIC && number > 0 && u32::from_le_bytes(*sum) == checksum(number, state);
    whole.then(|| (number, state.to_vec()))
}

fn read(disk: &dyn Disk, path: &Path) -> Result<Slot, GroupError> {
    if !disk.exists(path) {
        return Ok(Slot::Missing);
    }
    let file = disk.open(path, OpenMode::Read)?;
    let length = usize::try_from(file.len()?).map_err(|_| GroupError::damaged(path, "too long".into()))?;
    let mut bytes = vec![0; length];
    let n = file.read_at(&mut bytes, 0)?;
    Ok(decode(&bytes[..n]).map_or(Slot::Torn, |(number, state)| Slot::Whole(number, state)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, SplitMix, Tear, env};
    use std::sync::Arc;

    const DIR: &str = "groups/store";

    fn open(disk: &Arc<SimDisk>) -> Result<(Slots, Found), GroupError> {
        Slots::open(&env(disk, 1), Path::new(DIR))
    }

    fn state(n: u64) -> Vec<u8> {
        // Lengths go up and down, across sectors and below them.
        let length = usize::try_from(SplitMix(n).next() % 3000).unwrap();
        [&n.to_le_bytes()[..], &vec![n as u8; length]].concat()
    }

    #[test]
    fn the_newest_state_is_found_again() {
        let disk = SimDisk::new();
        assert_eq!(open(&disk).unwrap().1, Found::default());
        for n in 1..40 {
            let (mut slots, _) = open(&disk).unwrap();
            slots.write(&state(n)).unwrap();
            assert_eq!(open(&disk).unwrap().1, Found { state: Some(state(n)), damage: None });
        }
    }

    #[test]
    fn a_power_cut_at_any_operation_leaves_what_was_promised() {
        for seed in 0..8 {
            for cut_at in 1.. {
                let disk = SimDisk::new();
                disk.create_dir_all(Path::new(DIR)).unwrap();
                disk.sync_dir(Path::new("")).unwrap();
                let (mut slots, _) = open(&disk).unwrap();
                disk.cut_power_at(cut_at);
                let durable = (1..8).take_while(|n| slots.write(&state(*n)).is_ok()).count() as u64;
                if durable == 7 {
                    break;
                }
                let (_, found) = open(&disk.crash(Tear::Random(seed))).unwrap();
                let next = Some(state(durable + 1));
                let promised = if durable == 0 { None } else { Some(state(durable)) };
                assert!(found.state == promised || found.state == next, "cut at {cut_at}, seed {seed}");
            }
        }
    }

    #[test]
    fn an_operation_that_fails_once_does_no_harm() {
        for fail_at in 1.. {
            let disk = SimDisk::new();
            let (mut slots, _) = open(&disk).unwrap();
            slots.write(&state(1)).unwrap();
            disk.fail_nth(fail_at);
            let mut last = 1;
            for n in 2..6 {
                while slots.write(&state(n)).is_err() {}
                last = n;
            }
            assert_eq!(open(&disk).unwrap().1.state, Some(state(last)));
            if disk.fault_pending() {
                break;
            }
        }
    }

    #[test]
    fn damage_is_noticed_and_said() {
        let disk = SimDisk::new();
        let (mut slots, _) = open(&disk).unwrap();
        (1..4).for_each(|n| slots.write(&state(n)).unwrap());
        let newest = Path::new(DIR).join("state.1");
        let length = HEADER_BYTES + state(3).len();
        for at in 0..length as u64 {
            disk.flip(&newest, at, 4);
            let found = open(&disk).unwrap().1;
            assert_eq!(found.state, Some(state(2)), "byte {at}");
            assert!(found.damage.is_some_and(|d| d.contains("state.1 is not whole")), "byte {at}");
            disk.flip(&newest, at, 4);
        }
        disk.flip(&newest, 30, 1);
        disk.flip(&Path::new(DIR).join("state.0"), 30, 1);
        let (mut slots, found) = open(&disk).unwrap();
        assert_eq!(found.state, None);
        assert!(found.damage.is_some_and(|d| d.contains("is lost")));
        slots.write(&state(9)).unwrap();
        assert_eq!(open(&disk).unwrap().1, Found { state: Some(state(9)), damage: None });
        slots.clear().unwrap();
        assert_eq!(open(&disk).unwrap().1, Found::default());
    }
}
