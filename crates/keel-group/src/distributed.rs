//! Where the other member of a distributed availability group is looked for.
//!
//! `LISTENER_URL` is an address at which some instance of that group answers; it says where the others are, and one of them leads. As
//! long as none that leads is connected, all of them are dialled.

use crate::endpoint::Target;
use crate::handshake::host_and_port;
use crate::shell::Shared;
use keel_cluster::Distributed;

impl Shared {
    /// The addresses of the other member's instances. Called with the machine locked.
    pub(crate) fn distributed_targets(&self, distributed: &Distributed) -> Vec<Target> {
        let dialer = self.dialer.lock();
        let known = distributed.endpoints.iter().filter_map(|endpoint| {
            let address = host_and_port(&endpoint.url)?.to_owned();
            let (name, instance) = (endpoint.name.clone(), Some(endpoint.instance.0));
            Some(Target { name, address, instance })
        });
        let listener = distributed.other().and_then(|other| {
            let address = host_and_port(&other.listener_url)?.to_owned();
            // Whoever answered there last is not called again while it is connected.
            let instance = dialer.last_at(&address);
            Some(Target { name: other.listener_url.clone(), address, instance })
        });
        known.chain(listener).collect()
    }
}
