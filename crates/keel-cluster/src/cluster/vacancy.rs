//! The election of another leader of the store on evidence that the last one is lost, without waiting for the protocol's own
//! time-out, which has to be long enough for everybody.
//!
//! Those who know it stand one after the other, in the order of their instances. A candidate that is not elected (its votes were
//! split, the disk that has to remember them is slow, or it lacks what the others have) stands again, and then lets the next one
//! go first, and so on, after a longer time each time; who sees another's candidature waits for that to end.

use super::{Cluster, Sight};
use std::time::Duration;

/// Members that stand for election on evidence do so this much apart.
const CAMPAIGN_STAGGER: Duration = Duration::from_millis(150);
/// And again after this, if nobody was elected; then twice as long, and four times.
const CAMPAIGN_AGAIN: Duration = Duration::from_millis(300);

/// How the election of another leader of the store goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vacancy {
    /// When the first in rank stands next; the others one after the other behind it.
    turn: Duration,
    /// The protocol's term: a higher one is another candidate's.
    term: u64,
    /// Candidates so far.
    tries: u32,
}

impl Vacancy {
    /// A candidate stands in this term: so long it is waited for it, longer each time, because disks may be slow.
    fn next(self, now: Duration, term: u64) -> Vacancy {
        Vacancy { turn: now + CAMPAIGN_AGAIN * 2u32.pow(self.tries.min(2)), term, tries: self.tries + 1 }
    }
}

impl Cluster {
    /// Stands for election when the leader is lost to a majority, without waiting for its silence to be long enough for
    /// everybody; and again, until somebody leads.
    pub(crate) fn replace_lost_leader(&mut self, cx: &Sight<'_>) {
        if !self.is_leader_to_be_replaced(cx) {
            self.vacancy = None;
            return;
        }
        let able = || self.voters.iter().filter(|v| **v == cx.me || self.hears(cx.peers, **v, cx.now));
        let (count, place) = (able().count().max(1), able().take_while(|v| **v != cx.me).count());
        let Some(store) = &mut self.store else { return };
        let fresh = Vacancy { turn: cx.now, term: store.term(), tries: 0 };
        let vacancy = self.vacancy.get_or_insert(fresh);
        if vacancy.term < store.term() && !store.stands() {
            // Somebody else does: that may end it.
            *vacancy = vacancy.next(cx.now, store.term());
        }
        // Who was first twice is last the next time: it may be one that nobody can vote for.
        let rank = (place + count - vacancy.tries as usize / 2 % count) % count;
        let turn = vacancy.turn + CAMPAIGN_STAGGER * u32::try_from(rank).unwrap_or(u32::MAX);
        if cx.now >= turn && store.campaign() {
            *vacancy = vacancy.next(cx.now, store.term());
        }
    }

    /// The leader of the store is lost; or it was, this instance can elect another one together with those it hears, and none
    /// is known yet.
    fn is_leader_to_be_replaced(&self, cx: &Sight<'_>) -> bool {
        let Some(store) = self.store.as_ref().filter(|_| self.voters.contains(&cx.me)) else { return false };
        let leader = store.leader();
        if leader == 0 {
            return self.vacancy.is_some() && self.is_quorate(cx);
        }
        let member = store.contents.as_ref().and_then(|c| c.member_numbered(leader));
        member.is_some_and(|m| m.instance != cx.me && self.is_lost(cx, m.instance))
    }
}
