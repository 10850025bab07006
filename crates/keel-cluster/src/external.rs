//! A group whose roles an outside cluster manager decides about: CLUSTER_TYPE = EXTERNAL.
//!
//! ```text
//!   manager                      here
//!   OFFLINE on the primary ────► drains, gives the role up: nobody leads
//!   FAILOVER on a member ──────► asks the primary for the role; or, when that is gone, claims it with the members that are heard
//!   OFFLINE on a secondary ────► follows nobody
//!   SET (ROLE = SECONDARY) ────► follows whoever leads
//! ```
//! The manager finds out who is lost and picks who follows, by the configuration's version that each member shows
//! (`sequence_number`); what it says is tried, not believed: the claim goes to the store as every other does. A member that starts
//! leads only when it is told to, also the last primary: the manager takes whatever has just started for a secondary. It follows of its own
//! accord, because a copy that lags is of no use to anybody. A primary that has lost its lease, or could not write its record, goes on
//! when it can, as long as nobody else was told to lead: it was told once.

use crate::action::FenceReason;
use crate::config::{ClusterType, Replica};
use crate::event::CommandError;
use crate::failover::Claim;
use crate::group::{Group, Role};
use crate::ids::{CommandId, ReplicaId};
use crate::node::Cx;

/// What a cluster manager has said since this instance started.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// This replica shall lead.
    lead: bool,
    /// It shall follow nobody.
    wait: bool,
}

impl Group {
    fn is_managed(&self) -> bool {
        self.config.options.cluster_type == ClusterType::External
    }

    /// Whether the role, which is this replica's, may be taken up without another word.
    pub(crate) fn needs_no_word(&self) -> bool {
        !self.is_managed() || self.told.lead
    }

    /// Whether this replica was told to follow nobody.
    pub(crate) fn waits_for_word(&self) -> bool {
        self.is_managed() && self.told.wait
    }

    /// FAILOVER, force, or the making of the group: this replica was told to lead.
    pub(crate) fn told_to_lead(&mut self) {
        self.told = Told { lead: true, wait: false };
    }

    /// The primary gives the role up.
    pub(crate) fn told_to_give_up(&mut self) {
        self.told.lead = false;
    }

    /// It may take the role by itself, or a cluster manager may tell it to.
    pub(crate) fn could_lead(&self, replica: &Replica) -> bool {
        let ready = replica.joined() && replica.is_synchronous() && self.config.is_failover_ready(replica.id);
        self.is_candidate(replica) || self.is_managed() && ready
    }

    /// FAILOVER where the primary does not lead: the manager says that it is lost. What it says is enough to try, because the store
    /// takes no claim that was made from an older configuration.
    pub(crate) fn claim_of_the_lost(&self, cx: &Cx<'_>, primary: ReplicaId) -> Result<Claim, CommandError> {
        if !self.is_managed() {
            return Err(CommandError::PrimaryNotConnected);
        }
        if !self.logs_allow(cx) {
            return Err(CommandError::NotSynchronized);
        }
        if !self.is_durable() {
            return Err(CommandError::Busy);
        }
        Ok(Claim::Survivors(self.heard_replicas(cx, primary)))
    }

    /// OFFLINE on a secondary.
    pub(crate) fn go_offline(&mut self, cx: &mut Cx<'_>, command: CommandId) {
        if !self.is_managed() {
            return cx.reply(command, Err(CommandError::NotPrimary));
        }
        self.told = Told { lead: false, wait: true };
        self.fence(cx, FenceReason::GaveUp);
        for id in self.databases.keys().copied().collect::<Vec<_>>() {
            self.stop_feed(cx, id);
        }
        if let Some(asked) = self.take_over.take().and_then(|t| t.command) {
            cx.reply(asked, Err(CommandError::Busy));
        }
        self.set_role(cx, Role::Resolving { since: cx.now });
        cx.reply(command, Ok(()));
    }

    /// SET (ROLE = SECONDARY) on a replica that is not the primary.
    pub(crate) fn follow_when_told(&mut self, cx: &mut Cx<'_>, command: CommandId) {
        let result = match self.role {
            _ if !self.is_managed() => Err(CommandError::NotPrimary),
            Role::Primary { .. } | Role::Promoting { .. } => Err(CommandError::IsPrimary),
            _ => Ok(()),
        };
        self.told.wait &= result.is_err();
        cx.reply(command, result);
        self.settle(cx);
    }
}
