//! Where two logs part: by epoch, never by guess.
//!
//! Every epoch is started by one replica at one position and written by one primary, which sends whole blocks in order. So
//! two logs that both hold blocks of epoch `e` are equal up to the place where the first of them leaves `e`; before `e` they
//! are equal too, because the one who began `e` wrote all of it upon one log. The position at which a log shows an epoch to
//! begin is not compared: a log whose beginning was truncated shows a later one.

use keel_base::{Epoch, Lsn};

/// The last position up to which both logs are equal, or `None` when they share no epoch.
///
/// `current`: the primary's present epoch. Whatever the follower has of that, it got from this primary in this life, which
/// may itself not have hardened it yet; so there the follower's end counts alone.
pub(crate) fn common_end(
    primary: &[(Epoch, Lsn)],
    primary_end: Lsn,
    current: Epoch,
    follower: &[(Epoch, Lsn)],
    follower_end: Lsn,
) -> Option<Lsn> {
    for (at, (epoch, _)) in primary.iter().enumerate().rev() {
        let Some(there) = follower.iter().position(|(e, _)| e == epoch) else { continue };
        let end =
            |history: &[(Epoch, Lsn)], at: usize, end: Lsn| history.get(at + 1).map_or(end, |next| next.1);
        let theirs = end(follower, there, follower_end);
        if *epoch == current {
            return Some(theirs);
        }
        return Some(theirs.min(end(primary, at, primary_end)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h(pairs: &[(u64, u64)]) -> Vec<(Epoch, Lsn)> {
        pairs.iter().map(|(e, l)| (Epoch(*e), Lsn(*l))).collect()
    }

    fn check(primary: &[(u64, u64)], p_end: u64, follower: &[(u64, u64)], f_end: u64) -> Option<u64> {
        let current = Epoch(primary.last().map_or(0, |p| p.0).max(1000));
        common_end(&h(primary), Lsn(p_end), current, &h(follower), Lsn(f_end)).map(|l| l.0)
    }

    #[test]
    fn the_follower_is_a_prefix() {
        assert_eq!(check(&[(1, 0)], 100, &[(1, 0)], 60), Some(60));
        assert_eq!(check(&[(1, 0), (2, 50)], 100, &[(1, 0)], 40), Some(40));
    }

    #[test]
    fn the_follower_has_a_tail_of_its_own() {
        assert_eq!(check(&[(1, 0), (2, 50)], 100, &[(1, 0)], 80), Some(50));
        assert_eq!(check(&[(1, 0), (3, 50)], 100, &[(1, 0), (2, 70)], 80), Some(50));
        assert_eq!(check(&[(1, 0), (3, 70)], 100, &[(1, 0), (2, 50)], 80), Some(50));
    }

    #[test]
    fn nothing_in_common() {
        assert_eq!(check(&[(2, 50)], 100, &[(1, 0)], 80), None);
        assert_eq!(check(&[], 0, &[(1, 0)], 80), None);
    }

    #[test]
    fn in_the_present_epoch_the_follower_may_be_ahead() {
        let (p, f) = (h(&[(1, 0), (2, 50)]), h(&[(1, 0), (2, 50)]));
        assert_eq!(common_end(&p, Lsn(60), Epoch(2), &f, Lsn(80)), Some(Lsn(80)));
    }
}
