//! Whoever comes with a join token becomes a member of the cluster, without another command.
//!
//! The token makes two instances trust each other; the one that issued it then asks the cluster to take the other in, as soon as
//! there is a connection and a cluster to be taken into, and again until it is a member or the cluster refuses it; also after a
//! restart, because who is waited for is kept with the trust.

use crate::ask::TAKE_OVER_TIMEOUT;
use crate::shell::Shared;
use keel_cluster::{Command, CommandError, InstanceId};
use std::sync::Arc;
use std::time::Duration;

/// An instance that is to become a member.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Adoption {
    /// It votes and does nothing else.
    pub(crate) witness: bool,
    /// The cluster is not asked before.
    pub(crate) not_before: Duration,
}

/// The cluster has its own time-out for this; then it is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(35);
/// Pause after a refusal that will not last: one change of members at a time, no quorum yet.
const ASK_SOON: Duration = Duration::from_millis(200);

impl Shared {
    /// Asks the cluster to take in whoever is due. Called by the keeper.
    pub(crate) fn adopt(self: &Arc<Self>) {
        if self.adoptions.lock().is_empty() {
            return;
        }
        let Some(cluster) = self.machine.lock().cluster_status() else { return };
        let now = self.now();
        let due: Vec<(InstanceId, bool)> = {
            let is_member = |i: &InstanceId| cluster.members.iter().any(|m| m.member.instance == *i);
            let done: Vec<InstanceId> = self.adoptions.lock().keys().copied().filter(is_member).collect();
            done.into_iter().for_each(|instance| self.end_adoption(instance));
            let mut adoptions = self.adoptions.lock();
            let waiting = adoptions
                .iter_mut()
                .filter(|(instance, adoption)| self.peer(**instance).is_some() && now >= adoption.not_before);
            let due = waiting.map(|(instance, adoption)| {
                adoption.not_before = now + ASK_AGAIN;
                (*instance, adoption.witness)
            });
            due.collect()
        };
        for (instance, witness) in due {
            let Some(member) = self.trust.member(instance.0) else { continue };
            // A thread that waits for the answer; without one the cluster is asked again later.
            let _ = self.spawn("adoption", move |shared| {
                let command = Command::AddMember { instance, url: member.url.clone(), witness };
                match shared.command(command, TAKE_OVER_TIMEOUT) {
                    Some(Ok(()) | Err(CommandError::MemberExists)) => {
                        shared.note(None, &format!("{} is a member of the cluster.", member.name));
                        shared.end_adoption(instance);
                    }
                    Some(Err(CommandError::OtherCluster)) => {
                        let text = format!(
                            "{} cannot become a member of this cluster: it is a member of another one.",
                            member.name
                        );
                        shared.note(None, &text);
                        shared.end_adoption(instance);
                    }
                    Some(Err(_)) => {
                        let soon = shared.now() + ASK_SOON;
                        if let Some(adoption) = shared.adoptions.lock().get_mut(&instance) {
                            adoption.not_before = soon;
                        }
                    }
                    None => {}
                }
            });
        }
    }

    /// It is a member, or will not be. What cannot be written down is found out again after a restart.
    pub(crate) fn end_adoption(&self, instance: InstanceId) {
        self.adoptions.lock().remove(&instance);
        if let Err(error) = self.trust.settle_joiner(instance.0) {
            self.note(
                None,
                &format!("That an instance is no longer waited for could not be recorded: {error}"),
            );
        }
    }
}
