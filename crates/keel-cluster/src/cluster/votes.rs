//! Who has a vote in the store (see [the module above](super), "Votes"): what the leader wishes, and the one step nearer to it that
//! is safe now.

use super::{Cluster, Sight, WishFor};
use crate::ids::InstanceId;
use crate::store::{Contents, Replicator, StoreMember, Vote};
use std::collections::BTreeSet;

impl Cluster {
    /// The leader brings the votes one step nearer to what they should be.
    pub(super) fn settle_votes(&mut self, cx: &Sight<'_>) {
        let Some(store) = self.store.as_ref().filter(|s| s.leads() && !s.is_changing()) else { return };
        let Some(contents) = store.contents.as_ref() else { return };
        let wish = self.wished_votes(cx, contents);
        let voters: BTreeSet<u64> = store.voters().into_iter().collect();
        let number = store.number;
        // A number that its instance does not answer to (its disk was lost) would never vote.
        let near = |n: &u64| *n == number || store.is_near(*n) && self.answers_to(cx, *n);
        let more = wish.iter().copied().find(|n| !voters.contains(n) && near(n));
        // Those that are not there go first, and never so many that the rest could not decide.
        let superfluous = || voters.iter().copied().filter(|n| !wish.contains(n) && *n != number);
        let less = superfluous().find(|n| !self.is_there(cx, *n)).or_else(|| superfluous().next());
        let less = less.filter(|n| self.can_decide_without(cx, *n));
        // Nobody is left out before who comes instead is in.
        let complete = wish.iter().all(|n| voters.contains(n));
        let heir = wish.iter().copied().find(|n| voters.contains(n) && *n != number && near(n));
        let Some(store) = self.store.as_mut() else { return };
        if let Some(more) = more {
            store.propose_vote(more, Vote::With, None);
        } else if let Some(less) = less.filter(|_| complete || wish.is_empty()) {
            store.propose_vote(less, Vote::Without, None);
        } else if complete
            && voters.contains(&number)
            && !wish.contains(&number)
            && let Some(heir) = heir
        {
            store.hand_lead_to(heir);
        } else if let Some(gone) = self.removal() {
            self.carry_out_removal(cx, gone);
        }
    }

    /// The instance that has this number says so itself.
    pub(super) fn answers_to(&self, cx: &Sight<'_>, number: u64) -> bool {
        let Some(store) = self.store.as_ref() else { return false };
        let instance = store.contents.as_ref().and_then(|c| c.member_numbered(number)).map(|m| m.instance);
        let pulsed = instance.and_then(|i| cx.peers.get(&i)?.pulsed.as_ref());
        pulsed.is_some_and(|p| p.pulse.cluster == Some((store.cluster, store.generation, number)))
    }

    /// The member is heard, and its vote can be counted on.
    pub(super) fn is_there(&self, cx: &Sight<'_>, number: u64) -> bool {
        let Some(store) = self.store.as_ref() else { return false };
        let member = store.contents.as_ref().and_then(|c| c.member_numbered(number));
        let heard = member.is_some_and(|m| self.hears(cx.peers, m.instance, cx.now));
        number == store.number
            || heard && self.answers_to(cx, number) && (!store.leads() || store.is_near(number))
    }

    /// Of the votes that are left without this one a majority is there.
    pub(super) fn can_decide_without(&self, cx: &Sight<'_>, number: u64) -> bool {
        let voters = self.store.as_ref().map(Replicator::voters).unwrap_or_default();
        if !voters.contains(&number) {
            return true;
        }
        let there = voters.iter().filter(|n| **n != number && self.is_there(cx, **n)).count();
        there * 2 > voters.len() - 1
    }

    fn wished_votes(&self, cx: &Sight<'_>, contents: &Contents) -> BTreeSet<u64> {
        let leaving: Vec<InstanceId> = self
            .wishes
            .iter()
            .filter_map(|w| match w.what {
                WishFor::NoMember(instance) => Some(instance),
                WishFor::Member { .. } => None,
            })
            .collect();
        let active = |m: &&StoreMember| {
            let heard = self.heard.get(&m.instance).copied().unwrap_or(self.started);
            m.instance == cx.me || cx.now.saturating_sub(heard) < self.options.vote_after
        };
        let staying = contents.members.values().filter(|m| !leaving.contains(&m.instance)).filter(active);
        let (witnesses, nodes): (Vec<&StoreMember>, Vec<&StoreMember>) = staying.partition(|m| m.witness);
        let mut wish: BTreeSet<u64> = nodes.iter().map(|m| m.number).collect();
        if nodes.len() % 2 == 1 || nodes.is_empty() {
            return wish;
        }
        if let Some(witness) = witnesses.first() {
            wish.insert(witness.number);
            return wish;
        }
        let primaries: BTreeSet<InstanceId> =
            contents.groups.values().filter(|g| !g.dropped).filter_map(|g| g.primary_instance()).collect();
        let votes_now = |m: &&&StoreMember| self.voters.contains(&m.instance);
        let others = || nodes.iter().filter(|m| !primaries.contains(&m.instance));
        let withheld = others().find(|m| !votes_now(m)).or_else(|| others().next_back()).or(nodes.last());
        if let Some(withheld) = withheld {
            wish.remove(&withheld.number);
        }
        wish
    }
}
