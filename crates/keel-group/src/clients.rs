//! Clients' connections, as each member tells the others of its own.
//!
//! Whoever takes over a listener's address from a machine that has fallen silent can end that machine's connections, if it knows them:
//! their clients would wait for an answer that nobody will give. So a primary tells its peers who is connected with it, and what it
//! said last is kept when it is gone.

use crate::groups::Groups;
use crate::peer::Peer;
use crate::shell::Shared;
use keel_cluster::InstanceId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Connections that are told of at most; of more, clients find out by themselves.
const CONNECTIONS_MAX: usize = 16_384;

/// A client's connection with a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClientConnection {
    /// The client's end.
    pub client: SocketAddr,
    /// The listener's.
    pub own: SocketAddr,
}

/// What was said last. Nobody is told twice: who comes later is told when he connects.
#[derive(Default)]
pub(crate) struct Clients {
    /// Of this instance's own, as it is sent; empty when nothing was ever said.
    own: Mutex<Vec<u8>>,
    others: Mutex<BTreeMap<InstanceId, Vec<ClientConnection>>>,
}

impl Shared {
    /// A peer says who is connected with it. False when that cannot be read.
    pub(crate) fn clients_told(&self, peer: &Peer, body: &[u8]) -> bool {
        match postcard::from_bytes::<Vec<ClientConnection>>(body) {
            Ok(told) if told.len() <= CONNECTIONS_MAX => {
                self.clients.others.lock().insert(peer.instance, told);
                true
            }
            Ok(_) | Err(_) => false,
        }
    }

    /// A new connection hears of this instance's clients. After it has been made known.
    pub(crate) fn tell_clients_to(&self, peer: &Peer) {
        let own = self.clients.own.lock();
        if !own.is_empty() {
            self.send_clients(peer, &own);
        }
    }
}

impl Groups {
    /// Tells the other members who is connected with this one's listeners: all of them, in place of what was said before. Never waits.
    pub fn tell_clients(&self, connections: &[ClientConnection]) {
        let connections = &connections[..connections.len().min(CONNECTIONS_MAX)];
        let Ok(body) = postcard::to_stdvec(connections) else { return };
        // Held until all have been told: a connection that is made meanwhile is told after this.
        let mut own = self.shared.clients.own.lock();
        *own = body;
        for peer in self.shared.peers.read().values() {
            self.shared.send_clients(peer, &own);
        }
    }

    /// Who was connected with other members' listeners, as they said last.
    #[must_use]
    pub fn clients_of_others(&self) -> Vec<ClientConnection> {
        self.shared.clients.others.lock().values().flatten().copied().collect()
    }
}
