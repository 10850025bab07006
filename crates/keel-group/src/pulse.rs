//! The pulse: signs of life, out and in.
//!
//! A thread of its own, with as much priority as the system grants, that does nothing else: every [`PULSE_EVERY`] it sends
//! each peer a heartbeat and asks the system about the connection. It takes no lock that anybody holds while he waits: a
//! connection that is being written on gets no heartbeat, because the writing is one. It allocates nothing itself (TLS keeps
//! its records in buffers of its own).
//!
//! What the system knows of a connection ([`crate::link::VitalSigns`]) is more than the reader thread has come to see: a reader
//! that waits for a disk takes no heartbeat from its socket, but the peer lives all the same, and when the peer has closed
//! that can be known before the disk is done.
//!
//! ```text
//!   pulse ── heard_at, gone ──► clock ── Heard, Disconnected ──► machine
//! ```
//! It tells the process around it that it runs ([`crate::Host::alive`]), for whoever watches that.
//!
//! The **clock** thread ([`crate::keeper`]) hands on what the pulse has found, so that the pulse never waits for the machine.

use crate::peer::Peer;
use crate::shell::Shared;
use keel_base::env::real::run_urgently;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Between two heartbeats. A fraction of the time after which silence is suspected, so that several must be lost for that.
pub(crate) const PULSE_EVERY: Duration = Duration::from_millis(50);

impl Shared {
    /// The body of the pulse's thread.
    pub(crate) fn run_pulse(&self) {
        run_urgently();
        let mut frame = Vec::with_capacity(64);
        let mut peers: Vec<Arc<Peer>> = Vec::new();
        let mut generation = u64::MAX;
        while !self.stopping.load(Ordering::Acquire) {
            self.bells.pulse.wait_for(PULSE_EVERY);
            let newest = self.connections.load(Ordering::Acquire);
            if newest != generation
                && let Some(known) = self.peers.try_read()
            {
                generation = newest;
                peers.clear();
                peers.extend(known.values().cloned());
            }
            self.host.alive(peers.len());
            let now = self.nanos();
            peers.iter().for_each(|peer| peer.pulse(now, &mut frame));
        }
    }
}
