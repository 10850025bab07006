//! Several machines on one: addresses of their own, and as root network namespaces on a bridge and file systems that can be
//! stopped, so that a machine can be cut off in either direction and its disk can stop answering, without a hook in the server.

use crate::broom::afterwards;
use crate::command;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Size of a machine's file system; its file is sparse.
const DISK_BYTES: u64 = 8 << 30;
/// A hardware address that nobody has: packets to it leave and nobody takes them.
const NOWHERE: &str = "02:00:00:00:00:fe";

/// One of them.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its address.
    pub host: String,
    /// Where its files are.
    pub data: PathBuf,
    /// What runs a program on it: put before its command line.
    pub before: Vec<String>,
    /// Its namespace, and our end of its link.
    name: Option<String>,
    image: PathBuf,
    mounted: bool,
}

/// See the module. Removed when dropped.
pub struct Machines {
    /// All of them.
    pub all: Vec<Machine>,
    bridge: Option<String>,
    /// An address that no machine has of its own.
    pub free: Option<String>,
}

/// Whether this process is root's.
#[must_use]
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
}

fn words<'a>(before: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    before.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

impl Machines {
    /// `count` of them on loopback addresses, with files below `dir`.
    ///
    /// # Errors
    /// When a directory cannot be made.
    pub fn plain(dir: &Path, count: usize) -> Result<Machines> {
        let all = (1..=count).map(|n| Machine::new(dir, n, format!("127.0.0.{n}"), None));
        Ok(Machines { all: all.collect::<Result<_>>()?, bridge: None, free: None })
    }

    /// `count` of them in network namespaces, with files below `dir`, on file systems of their own if asked for.
    ///
    /// # Errors
    /// Without root, or without `ip` (iproute2) or `mkfs.ext4` (e2fsprogs).
    pub fn apart(dir: &Path, count: usize, disks: bool) -> Result<Machines> {
        let id = std::process::id();
        let (bridge, net) = (format!("keelb{}", id % 100_000), free_network(id)?);
        command(&["ip", "link", "add", &bridge, "type", "bridge"]).context("making a bridge (as root)")?;
        afterwards(&["ip", "link", "del", &bridge]);
        let free = Some(format!("{net}.9"));
        let mut machines = Machines { all: Vec::new(), bridge: Some(bridge.clone()), free };
        command(&["ip", "addr", "add", &format!("{net}.1/24"), "dev", &bridge])?;
        command(&["ip", "link", "set", &bridge, "up"])?;
        for n in 1..=count {
            let name = format!("keelm{}-{n}", id % 100_000);
            let machine = Machine::new(dir, n, format!("{net}.{}", 10 + n), Some(name.clone()))?;
            machines.all.push(machine);
            command(&["ip", "netns", "add", &name])?;
            afterwards(&["ip", "netns", "del", &name]);
            afterwards(&["ip", "link", "del", &name]);
            command(&["ip", "link", "add", &name, "type", "veth", "peer", "name", "eth0", "netns", &name])?;
            command(&["ip", "link", "set", &name, "master", &bridge, "up"])?;
            let Some(machine) = machines.all.last_mut() else { continue };
            let address = format!("{}/24", machine.host);
            command(&words(&machine.before, &["ip", "addr", "add", &address, "dev", "eth0"]))?;
            command(&words(&machine.before, &["ip", "link", "set", "eth0", "up"]))?;
            command(&words(&machine.before, &["ip", "link", "set", "lo", "up"]))?;
            if disks {
                machine.mount()?;
            }
        }
        Ok(machines)
    }

    /// Cuts a machine off from everybody, or mends that.
    ///
    /// # Errors
    /// When it has no link of its own.
    pub fn cut(&self, machine: usize, cut: bool) -> Result<()> {
        let link = self.all[machine].name.as_deref().context("the machine has no link of its own")?;
        command(&["ip", "link", "set", link, if cut { "down" } else { "up" }]).map(|_| ())
    }

    /// Lets nothing that a machine sends arrive anywhere, or mends that.
    ///
    /// # Errors
    /// When it has no link of its own.
    pub fn mute(&self, machine: usize, mute: bool) -> Result<()> {
        let own = &self.all[machine];
        let bridge = self.bridge_address();
        let others = self.all.iter().map(|m| m.host.as_str()).filter(|host| *host != own.host);
        others.chain([bridge.as_str()]).try_for_each(|host| misdirect(&own.before, "eth0", host, mute))
    }

    /// Lets nothing that anybody sends arrive at a machine, or mends that.
    ///
    /// # Errors
    /// When it has no link of its own.
    pub fn deafen(&self, machine: usize, deaf: bool) -> Result<()> {
        let own = &self.all[machine];
        let bridge = self.bridge.as_deref().context("the machine has no link of its own")?;
        misdirect(&[], bridge, &own.host, deaf)?;
        if let Some(free) = self.free.as_deref().filter(|_| deaf) {
            // As long as nobody says that it is elsewhere: an entry that is not permanent can be replaced.
            point(&[], bridge, free, "reachable")?;
        }
        let others = self.all.iter().filter(|m| m.host != own.host);
        others.map(|m| &m.before).try_for_each(|before| misdirect(before, "eth0", &own.host, deaf))
    }

    /// Takes from a machine the address that it may have taken: one without power has none, and its system here goes on.
    ///
    /// # Errors
    /// When the machine's addresses cannot be asked for.
    pub fn forget_free(&self, machine: usize) -> Result<()> {
        let (Some(free), before) = (&self.free, &self.all[machine].before) else { return Ok(()) };
        let own = command(&words(before, &["ip", "-o", "addr", "show", "dev", "eth0", "to", free]))?;
        if own.trim().is_empty() {
            return Ok(());
        }
        command(&words(before, &["ip", "addr", "del", &format!("{free}/32"), "dev", "eth0"])).map(|_| ())
    }

    /// Stops a machine's file system: writes do not end; or lets it go on.
    ///
    /// # Errors
    /// When it has none of its own.
    pub fn freeze(&self, machine: usize, frozen: bool) -> Result<()> {
        self.all[machine].freeze(frozen)
    }

    fn bridge_address(&self) -> String {
        let host = self.all.first().map_or("", |m| m.host.as_str());
        host.rsplit_once('.').map_or_else(String::new, |(net, _)| format!("{net}.1"))
    }
}

/// A network that no other benchmark on this machine has taken, as its first three numbers.
fn free_network(id: u32) -> Result<String> {
    let nets = (0..250).map(|n| format!("10.91.{}", (id + n) % 250));
    for net in nets {
        if command(&["ip", "-o", "addr", "show", "to", &format!("{net}.0/24")])?.trim().is_empty() {
            return Ok(net);
        }
    }
    anyhow::bail!("all networks from 10.91.0.0/24 to 10.91.249.0/24 are taken on this machine")
}

fn misdirect(before: &[String], device: &str, host: &str, wrong: bool) -> Result<()> {
    if wrong {
        return point(before, device, host, "permanent");
    }
    command(&words(before, &["ip", "neigh", "del", host, "dev", device])).map(|_| ())
}

/// Points an address to a hardware address that nobody has.
fn point(before: &[String], device: &str, host: &str, state: &str) -> Result<()> {
    let set = ["ip", "neigh", "replace", host, "lladdr", NOWHERE, "dev", device, "nud", state];
    command(&words(before, &set)).map(|_| ())
}

impl Machine {
    /// The processes that run on it; of a machine apart.
    ///
    /// # Errors
    /// When it has no namespace of its own.
    pub fn pids(&self) -> Result<Vec<u32>> {
        let name = self.name.as_deref().context("the machine has no namespace of its own")?;
        Ok(command(&["ip", "netns", "pids", name])?
            .split_whitespace()
            .filter_map(|w| w.parse().ok())
            .collect())
    }

    fn new(dir: &Path, number: usize, host: String, name: Option<String>) -> Result<Machine> {
        let data = dir.join(format!("node{number}"));
        std::fs::create_dir_all(&data).with_context(|| format!("making {}", data.display()))?;
        let before = name.iter().flat_map(|name| ["ip", "netns", "exec", name].map(str::to_owned)).collect();
        Ok(Machine { host, data, before, name, image: dir.join(format!("node{number}.img")), mounted: false })
    }

    fn mount(&mut self) -> Result<()> {
        std::fs::File::create(&self.image)?.set_len(DISK_BYTES)?;
        let (image, data) = (self.image.display().to_string(), self.data.display().to_string());
        command(&["mkfs.ext4", "-q", &image])?;
        command(&["mount", "-o", "loop", &image, &data])?;
        afterwards(&["umount", "-l", &data]);
        afterwards(&["fsfreeze", "-u", &data]);
        self.mounted = true;
        Ok(())
    }

    fn freeze(&self, frozen: bool) -> Result<()> {
        let data = self.data.display().to_string();
        command(&["fsfreeze", if frozen { "-f" } else { "-u" }, &data]).map(|_| ())
    }
}

impl Drop for Machines {
    /// Best effort: what is gone already is not missed.
    fn drop(&mut self) {
        for machine in &self.all {
            if machine.mounted {
                let _ = machine.freeze(false);
                let _ = command(&["umount", "-l", &machine.data.display().to_string()]);
            }
            if let Some(name) = &machine.name {
                let _ = command(&["ip", "link", "del", name]);
                let _ = command(&["ip", "netns", "del", name]);
            }
        }
        if let Some(bridge) = &self.bridge {
            let _ = command(&["ip", "link", "del", bridge]);
        }
    }
}
