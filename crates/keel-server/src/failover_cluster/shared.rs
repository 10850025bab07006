//! The small files that the machines of a failover cluster instance share. JSON, each replaced by a rename.
//!
//! | file | by whom | what |
//! | --- | --- | --- |
//! | `owners` | the owner | names of the possible owners, in the order of preference |
//! | `wish` | the owner, before it moves the instance | name of the machine that is to take it |
//! | `NAME.sign` | each machine, every second | a number that grows, and whether it has the instance |

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A machine's sign of life.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Sign {
    /// One more than last time.
    pub sequence: u64,
    /// It has the instance.
    pub owner: bool,
}

pub(super) struct Shared(PathBuf);

impl Shared {
    pub fn open(dir: &Path) -> io::Result<Shared> {
        fs::create_dir_all(dir)?;
        Ok(Shared(dir.to_path_buf()))
    }

    /// What a file has; `None` when it is not there. One that is being replaced is the old or the new one.
    fn read<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        let path = self.0.join(name);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|e| io::Error::other(format!("{} is damaged: {e}", path.display()))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// `by` makes the name of what is not in its place yet one's own.
    fn put<T: Serialize>(&self, name: &str, by: &str, value: &T, durable: bool) -> io::Result<()> {
        let unfinished = self.0.join(format!("{name}.{by}.unfinished"));
        fs::write(&unfinished, serde_json::to_vec(value)?)?;
        if durable {
            fs::File::open(&unfinished)?.sync_all()?;
        }
        fs::rename(&unfinished, self.0.join(name))?;
        if durable { fs::File::open(&self.0)?.sync_all() } else { Ok(()) }
    }

    pub fn owners(&self) -> io::Result<Vec<String>> {
        Ok(self.read("owners")?.unwrap_or_default())
    }

    pub fn set_owners(&self, names: &[String]) -> io::Result<()> {
        self.put("owners", "owner", &names, true)
    }

    pub fn wish(&self) -> io::Result<Option<String>> {
        self.read("wish")
    }

    pub fn set_wish(&self, to: &str) -> io::Result<()> {
        self.put("wish", "owner", &to, true)
    }

    pub fn clear_wish(&self) -> io::Result<()> {
        match fs::remove_file(self.0.join("wish")) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// A sign is worth nothing after a power cut, so it need not survive one.
    pub fn sign(&self, node: &str, sign: &Sign) -> io::Result<()> {
        self.put(&format!("{node}.sign"), node, sign, false)
    }

    pub fn sign_of(&self, node: &str) -> Option<Sign> {
        self.read(&format!("{node}.sign")).ok().flatten()
    }

    /// The signs of all machines that have ever been there. One that cannot be read is none.
    pub fn signs(&self) -> io::Result<Vec<(String, Sign)>> {
        let mut signs = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            let node = name.to_str().and_then(|name| name.strip_suffix(".sign")).map(str::to_owned);
            if let Some((node, sign)) = node.and_then(|node| self.sign_of(&node).map(|sign| (node, sign))) {
                signs.push((node, sign));
            }
        }
        Ok(signs)
    }
}
