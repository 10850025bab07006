//! Who of the candidates goes first: whoever is open soonest, and of those that are about equally soon the one that comes
//! first in the group's order.
//!
//! Only members of the synchronized set are candidates at all ([`Group::is_candidate`]). Each tells with its beats how far its
//! logs are redone and how fast its redo has been. What is left, at that rate, is the time that it would keep everybody
//! waiting as the new primary. Candidates that need no more than [`ClusterOptions::redo_slack`] longer than the quickest count
//! as equal to it: an administrator's order is not overruled for what clients hardly notice, nor for what has changed since
//! the last beat.
//!
//! ```text
//!   fit before recovering ─► the quickest, and who is within the slack of it, in the group's order ─► the others, soonest first
//! ```

use crate::event::Fitness;
use crate::group::{Database, Group};
use crate::ids::ReplicaId;
use crate::message::LogBeat;
use crate::node::Cx;
use crate::status::{Choice, RedoLeft};
use crate::timing::ClusterOptions;
use keel_base::Lsn;
use std::time::Duration;

/// A backlog of fewer bytes says nothing about how fast redo could be: it may have waited for the next block.
const BUSY_BYTES: u64 = 1 << 20;
/// A longer time between two looks is not redo's: it waited for memory, which a promotion does not.
const LOOK_MAX: Duration = Duration::from_secs(1);
/// What lies further back than this counts for little.
const MEMORY: Duration = Duration::from_secs(5);

/// How fast a copy's log is redone when there is enough to do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RedoPace {
    /// At the last look: when, how far it was, and whether there was enough left.
    last: Option<(Duration, Lsn, bool)>,
    per_second: Option<f64>,
}

impl RedoPace {
    /// Redo is at `applied` of what it may redo, up to `limit`.
    pub(crate) fn look(&mut self, now: Duration, applied: Lsn, limit: Lsn) {
        let busy = applied.advance(BUSY_BYTES) <= limit;
        let Some((at, before, was_busy)) = self.last.replace((now, applied, busy)) else { return };
        let took = now.saturating_sub(at);
        if !was_busy || took.is_zero() || took > LOOK_MAX || applied <= before {
            return;
        }
        let lately = (applied.0 - before.0) as f64 / took.as_secs_f64();
        let weight = 1.0 - (-took.as_secs_f64() / MEMORY.as_secs_f64()).exp();
        self.per_second = Some(self.per_second.map_or(lately, |mean| mean + (lately - mean) * weight));
    }

    /// Bytes a second; 0 as long as it is not known.
    pub(crate) fn rate(&self) -> u64 {
        self.per_second.map_or(0, |rate| rate as u64)
    }
}

/// What is between two positions, at a rate; one that is not known is assumed.
fn left(applied: Lsn, end: Lsn, rate: u64, options: &ClusterOptions) -> RedoLeft {
    let bytes = end.0.saturating_sub(applied.0);
    let rate = if rate == 0 { options.redo_rate_assumed } else { rate }.max(1);
    let millis = bytes.saturating_mul(1000) / rate;
    RedoLeft { bytes, time: Duration::from_millis(millis) }
}

/// What decides whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    recovering: bool,
    redo: Duration,
    /// In the group's order.
    place: Option<usize>,
}

/// How many of the others come before this one.
fn come_before(one: Candidate, others: &[Candidate], slack: Duration) -> usize {
    let key = |c: Candidate| {
        let alike = others.iter().chain([&one]).filter(|o| o.recovering == c.recovering);
        let quickest = alike.map(|o| o.redo).min().unwrap_or_default();
        (c.recovering, if c.redo > quickest + slack { c.redo } else { Duration::ZERO }, c.place)
    };
    others.iter().filter(|other| key(**other) < key(one)).count()
}

impl Database {
    pub(crate) fn redo_left(&self, options: &ClusterOptions) -> RedoLeft {
        left(self.applied, self.hardened, self.pace.rate(), options)
    }
}

impl LogBeat {
    fn redo_left(&self, options: &ClusterOptions) -> RedoLeft {
        left(self.applied, self.end, self.redo_rate, options)
    }
}

impl Group {
    /// What a replica would have to redo before it is open. Its databases share its processors, so their times add up. Who
    /// has said nothing yet is taken to have nothing.
    pub(crate) fn redo_left(&self, cx: &Cx<'_>, replica: ReplicaId) -> RedoLeft {
        let options = cx.options();
        if replica == self.me {
            return self.databases.values().filter(|d| d.open).map(|d| d.redo_left(options)).sum();
        }
        self.logs.get(&replica).into_iter().flatten().map(|(_, log)| log.redo_left(options)).sum()
    }

    /// The others that could take the role now, besides `but`.
    fn other_candidates(&self, cx: &Cx<'_>, but: Option<ReplicaId>) -> Vec<ReplicaId> {
        let others = self.config.replicas.iter().filter(|r| Some(r.id) != but && r.id != self.me);
        let able = others.filter(|r| self.is_candidate(r) && r.instance.is_some_and(|i| cx.hears(i)));
        able.map(|r| r.id).filter(|r| !self.fitness_of(*r).is_unfit()).collect()
    }

    fn place_of(&self, replica: ReplicaId) -> Option<usize> {
        self.config.replicas.iter().position(|r| r.id == replica)
    }

    /// How many others that are heard come before this replica, see the module. Who is unfit does not come at all.
    pub(crate) fn rank(&self, cx: &Cx<'_>, primary: ReplicaId) -> u32 {
        let candidate = |replica: ReplicaId| Candidate {
            recovering: matches!(self.fitness_of(replica), Fitness::Recovering(_)),
            redo: self.redo_left(cx, replica).time,
            place: self.place_of(replica),
        };
        let others: Vec<_> = self.other_candidates(cx, Some(primary)).into_iter().map(candidate).collect();
        let before = come_before(candidate(self.me), &others, cx.options().redo_slack);
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    /// What there was to choose from, for the record: this replica, and the others that could have taken the role.
    pub(crate) fn choice(&self, cx: &Cx<'_>, from: Option<ReplicaId>) -> Choice {
        let redo = self.redo_left(cx, self.me);
        let others = self.other_candidates(cx, from).into_iter().map(|r| (r, self.redo_left(cx, r)));
        let passed_over = |other: &(ReplicaId, RedoLeft)| {
            self.place_of(other.0) < self.place_of(self.me)
                && other.1.time > redo.time + cx.options().redo_slack
        };
        let (passed_over, others) = others.partition(passed_over);
        Choice { redo, passed_over, others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn redo_is_measured_only_while_it_has_enough_to_do_and_memory() {
        let mut pace = RedoPace::default();
        let ms = Duration::from_millis;
        // It keeps up: that it redoes 100 KB in 50 ms says nothing.
        for n in 0..20 {
            pace.look(ms(n * 50), Lsn(n * 100_000), Lsn(n * 100_000 + 50_000));
        }
        assert_eq!(pace.rate(), 0);
        // It lags, and redoes 2 MB in 50 ms: the first look that counts comes after one with a backlog.
        let (mut at, mut applied) = (ms(1000), Lsn(2_000_000));
        for _ in 0..10 {
            pace.look(at, applied, Lsn(1 << 40));
            (at, applied) = (at + ms(50), applied.advance(2 * MB));
        }
        assert_eq!(pace.rate(), 40 * MB);
        // It waits for memory for half a minute.
        pace.look(at + ms(30_000), applied, Lsn(1 << 40));
        assert_eq!(pace.rate(), 40 * MB);
    }

    /// The turns of candidates with so much to redo each, in the group's order.
    fn turns(redo_ms: &[u64]) -> Vec<usize> {
        let candidate = |(place, ms): (usize, &u64)| Candidate {
            recovering: false,
            redo: Duration::from_millis(*ms),
            place: Some(place),
        };
        let all: Vec<_> = redo_ms.iter().enumerate().map(candidate).collect();
        let turn = |(n, one): (usize, &Candidate)| {
            let others: Vec<_> = all.iter().enumerate().filter(|o| o.0 != n).map(|o| *o.1).collect();
            come_before(*one, &others, Duration::from_millis(500))
        };
        all.iter().enumerate().map(turn).collect()
    }

    #[test]
    fn the_groups_order_counts_unless_somebody_is_open_much_sooner() {
        assert_eq!(turns(&[0, 0, 0]), [0, 1, 2]);
        assert_eq!(turns(&[500, 0, 300]), [0, 1, 2], "clients hardly notice");
        assert_eq!(turns(&[501, 0, 300]), [2, 0, 1]);
        assert_eq!(turns(&[9000, 0, 4000]), [2, 0, 1], "the others go soonest first");
        assert_eq!(turns(&[9000, 8700, 9100]), [0, 1, 2], "late are all of them");
        // A chain in which each is close to the next has no circle: the quickest is what all are compared with.
        assert_eq!(turns(&[900, 450, 0]), [2, 0, 1]);
    }

    #[test]
    fn who_recovers_comes_after_who_is_fit_however_little_it_has_to_redo() {
        let fit = Candidate { recovering: false, redo: Duration::from_secs(30), place: Some(2) };
        let recovering = Candidate { recovering: true, redo: Duration::ZERO, place: Some(0) };
        assert_eq!(come_before(fit, &[recovering], Duration::ZERO), 0);
        assert_eq!(come_before(recovering, &[fit], Duration::ZERO), 1);
    }

    #[test]
    fn a_rate_that_is_not_known_is_assumed() {
        let options = ClusterOptions { redo_rate_assumed: 10 * MB, ..ClusterOptions::default() };
        let known = left(Lsn(5 * MB), Lsn(25 * MB), 20 * MB, &options);
        assert_eq!(known, RedoLeft { bytes: 20 * MB, time: Duration::from_secs(1) });
        assert_eq!(left(Lsn(5 * MB), Lsn(25 * MB), 0, &options).time, Duration::from_secs(2));
        assert_eq!(left(Lsn(7), Lsn(3), 0, &options), RedoLeft::default());
    }
}
