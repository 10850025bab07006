//! Who has the only vote elects itself, whoever else there is: that is how the last member of a cluster, and the primary of two, comes
//! back alone. A disk of before may say so as well, of a cluster in which others have votes since. So after a start such a member asks
//! all that it hears whether they would vote for it, and elects itself when they have answered and none of them knows more to be agreed
//! than it has: whoever has the only vote has had part in everything that was agreed.
//!
//! Who is not heard is not waited for, and who is heard and says nothing (its disk stands still) not for long. So an older copy of the disk
//! of the only vote, started where nobody can tell it, decides alone: nothing on it is different from a disk that may.

use super::{Cluster, Sight};
use crate::action::Action;
use crate::ids::InstanceId;
use crate::message::Msg;
use crate::store::StoreMsg;
use crate::timing::{ANSWER_MAX, PROPOSE_AGAIN};
use std::collections::BTreeMap;
use std::time::Duration;

/// What those that are heard have said since the start.
#[derive(Default)]
pub(super) struct Inquiry {
    others: BTreeMap<InstanceId, Asked>,
}

struct Asked {
    first: Duration,
    /// Asked last at; none before it has shown under which number.
    last: Option<Duration>,
    answered: bool,
}

impl Cluster {
    /// Asks those that were not asked yet or have not answered. True while there are such.
    pub(super) fn waits_for_answers(&mut self, cx: &Sight<'_>, out: &mut Vec<Action>) -> bool {
        let Some(store) = self.store.as_ref() else { return false };
        if store.leader() != 0 {
            self.inquiry = None;
        }
        let Some(mut inquiry) = self.inquiry.take() else { return false };
        let mut waits = false;
        for peer in cx.peers.keys().copied().filter(|_| store.has_only_vote()) {
            let Some(number) = self.number_to_ask(cx, peer) else { continue };
            let fresh = Asked { first: cx.now, last: None, answered: false };
            let asked = inquiry.others.entry(peer).or_insert(fresh);
            if asked.answered || cx.now.saturating_sub(asked.first) >= ANSWER_MAX {
                continue;
            }
            waits = true;
            if let Some(number) = number
                && asked.last.is_none_or(|last| cx.now.saturating_sub(last) >= PROPOSE_AGAIN)
            {
                asked.last = Some(cx.now);
                let (cluster, generation) = (store.cluster, store.generation);
                let message = store.question(number);
                let msg = Msg::Store(StoreMsg::Raft { cluster, generation, message });
                out.push(Action::Send { peer, msg });
            }
        }
        self.inquiry = Some(inquiry);
        waits
    }

    /// Whether the peer can tell something, and under which number it is asked, once it has shown that.
    fn number_to_ask(&self, cx: &Sight<'_>, peer: InstanceId) -> Option<Option<u64>> {
        let (cluster, generation, _) = self.membership().filter(|_| self.hears(cx.peers, peer, cx.now))?;
        match &cx.peers.get(&peer)?.pulsed {
            Some(pulsed) => {
                let (theirs, of, number) = pulsed.pulse.cluster?;
                // Whoever is of a newer generation has its leader say so.
                (theirs == cluster && of >= generation).then_some((of == generation).then_some(number))
            }
            None => self.contents().is_some_and(|c| c.members.contains_key(&peer)).then_some(None),
        }
    }

    /// A message of the protocol came from the peer: perhaps what it was asked for.
    pub(super) fn note_answer(&mut self, peer: InstanceId, message: &[u8]) {
        let (Some(inquiry), Some(store)) = (&mut self.inquiry, &self.store) else { return };
        if let Some(asked) = inquiry.others.get_mut(&peer) {
            asked.answered |= store.is_answer(message);
        }
    }
}
