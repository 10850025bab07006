//! Where the nodes are, and how they are cut off.
//!
//! In namespaces each node has a machine's network of its own on one bridge. A direction is cut by giving the other side a wrong
//! hardware address: packets leave, and nobody takes them; nobody is told.

use crate::command;
use anyhow::{Result, ensure};

/// Where the nodes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// On 127.0.0.1 to 127.0.0.3: nothing can be cut.
    Loopback,
    /// In network namespaces, as root.
    Namespaces,
}

const BRIDGE: &str = "keelhist0";
const NET: &str = "10.92.7";
const NOBODY: &str = "02:00:00:00:00:fe";

/// The network of a run. Taken down when dropped.
pub(super) struct Wires {
    network: Network,
    nodes: usize,
}

fn name(node: usize) -> String {
    format!("keelhist{}", node + 1)
}

impl Wires {
    /// Lays it; what an earlier run has left is removed first.
    pub(super) fn new(network: Network, nodes: usize) -> Result<Wires> {
        let wires = Wires { network, nodes };
        if network == Network::Namespaces {
            wires.remove();
            command(&["ip", "link", "add", BRIDGE, "type", "bridge"])?;
            command(&["ip", "addr", "add", &format!("{NET}.1/24"), "dev", BRIDGE])?;
            command(&["ip", "link", "set", BRIDGE, "up"])?;
            (0..nodes).try_for_each(|node| wires.add(node))?;
        }
        Ok(wires)
    }

    fn add(&self, node: usize) -> Result<()> {
        let ns = name(node);
        command(&["ip", "netns", "add", &ns])?;
        command(&["ip", "link", "add", &ns, "type", "veth", "peer", "name", "eth0", "netns", &ns])?;
        command(&["ip", "link", "set", &ns, "master", BRIDGE, "up"])?;
        self.inside(node, &["ip", "addr", "add", &format!("{}/24", self.address(node)), "dev", "eth0"])?;
        self.inside(node, &["ip", "link", "set", "eth0", "up"])?;
        self.inside(node, &["ip", "link", "set", "lo", "up"])
    }

    fn inside(&self, node: usize, words: &[&str]) -> Result<()> {
        let ns = name(node);
        let words: Vec<&str> = ["ip", "netns", "exec", &ns].iter().chain(words).copied().collect();
        command(&words).map(|_| ())
    }

    /// A node's address.
    pub(super) fn address(&self, node: usize) -> String {
        match self.network {
            Network::Loopback => format!("127.0.0.{}", node + 1),
            Network::Namespaces => format!("{NET}.{}", node + 11),
        }
    }

    /// What is put before the command line of a node's process.
    pub(super) fn before(&self, node: usize) -> Vec<String> {
        match self.network {
            Network::Loopback => Vec::new(),
            Network::Namespaces => ["ip", "netns", "exec", &name(node)].map(str::to_owned).to_vec(),
        }
    }

    /// Nothing that the node sends arrives (`out`), nothing arrives there (`into`).
    pub(super) fn cut(&self, node: usize, out: bool, into: bool) -> Result<()> {
        ensure!(self.network == Network::Namespaces, "only nodes in namespaces can be cut off");
        let others: Vec<usize> = (0..self.nodes).filter(|n| *n != node).collect();
        let me = self.address(node);
        if out {
            let mut there: Vec<String> = others.iter().map(|n| self.address(*n)).collect();
            there.push(format!("{NET}.1"));
            for address in &there {
                self.inside(node, &misdirect(address, "eth0"))?;
            }
        }
        if into {
            for other in others {
                self.inside(other, &misdirect(&me, "eth0"))?;
            }
            command(&misdirect(&me, BRIDGE))?;
        }
        Ok(())
    }

    /// Everything arrives again.
    pub(super) fn heal(&self, node: usize) -> Result<()> {
        let me = self.address(node);
        for other in (0..self.nodes).filter(|n| *n != node) {
            // Who was not misdirected has nothing to forget.
            let _ = self.inside(node, &["ip", "neigh", "del", &self.address(other), "dev", "eth0"]);
            let _ = self.inside(other, &["ip", "neigh", "del", &me, "dev", "eth0"]);
        }
        let _ = self.inside(node, &["ip", "neigh", "del", &format!("{NET}.1"), "dev", "eth0"]);
        let _ = command(&["ip", "neigh", "del", &me, "dev", BRIDGE]);
        Ok(())
    }

    fn remove(&self) {
        for node in 0..self.nodes {
            // It need not be there.
            let _ = command(&["ip", "link", "del", &name(node)]);
            let _ = command(&["ip", "netns", "del", &name(node)]);
        }
        let _ = command(&["ip", "link", "del", BRIDGE]);
    }
}

fn misdirect<'a>(address: &'a str, device: &'a str) -> [&'a str; 10] {
    ["ip", "neigh", "replace", address, "lladdr", NOBODY, "dev", device, "nud", "permanent"]
}

impl Drop for Wires {
    fn drop(&mut self) {
        if self.network == Network::Namespaces {
            self.remove();
        }
    }
}
