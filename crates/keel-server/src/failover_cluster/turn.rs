//! Whose turn it is when nobody has the instance: decided, without looking at anything.

use std::time::Duration;

/// Possible owners take the instance this much apart.
const APART: Duration = Duration::from_millis(200);

/// What a machine sees that waits, while the lock is free.
pub(super) struct Seen<'a> {
    pub me: &'a str,
    /// Possible owners, in the order of preference. None before the instance is made.
    pub owners: &'a [String],
    /// Machines that give signs of life.
    pub up: &'a [String],
    /// Who had the instance last: its signs go on for a moment when it is gone.
    pub last: Option<&'a str>,
    /// To whom it is to go, by the last owner's word.
    pub wished: Option<&'a str>,
    /// How long the lock has been free.
    pub free_for: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is no possible owner.
    NoOwner,
    /// Others come first.
    Wait,
    /// It takes the instance.
    Take,
}

/// Who is wished comes first, then possible owners that are up, in their order, who had it last behind all others.
pub(super) fn judge(seen: &Seen<'_>) -> Verdict {
    if seen.owners.is_empty() {
        return Verdict::Take;
    }
    if !seen.owners.iter().any(|owner| owner == seen.me) {
        return Verdict::NoOwner;
    }
    let is_up = |owner: &&String| *owner == seen.me || seen.up.contains(owner);
    let rank = |owner: &String| match Some(owner.as_str()) {
        name if name == seen.wished => 0,
        name if name == seen.last => 2,
        _ => 1,
    };
    let mut order: Vec<&String> = seen.owners.iter().filter(is_up).collect();
    order.sort_by_key(|owner| rank(owner));
    let ahead = order.iter().take_while(|owner| **owner != seen.me).count();
    let turn = APART * u32::try_from(ahead).unwrap_or(u32::MAX);
    if seen.free_for >= turn { Verdict::Take } else { Verdict::Wait }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(owners: &[&str], up: &[&str], last: Option<&str>, wished: Option<&str>) -> String {
        let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let (owners, up) = (own(owners), own(up));
        let mut out = Vec::new();
        for me in &up {
            let at = (0..20).find(|n| {
                let free_for = Duration::from_millis(100 * n);
                let seen = Seen { me, owners: &owners, up: &up, last, wished, free_for };
                judge(&seen) == Verdict::Take
            });
            out.push(format!("{me} {}", at.map_or("never".into(), |n| (100 * n).to_string())));
        }
        out.join(", ")
    }

    #[test]
    fn possible_owners_take_turns() {
        let check =
            |owners, up, last, wished, expected| assert_eq!(turns(owners, up, last, wished), expected);
        check(&[], &["A", "B"], None, None, "A 0, B 0");
        check(&["A", "B"], &["A", "B", "C"], None, None, "A 0, B 200, C never");
        // A is gone, and its last sign is not old yet.
        check(&["A", "B", "C"], &["A", "B", "C"], Some("A"), None, "A 400, B 0, C 200");
        check(&["A", "B", "C"], &["B", "C"], Some("A"), None, "B 0, C 200");
        check(&["A", "B", "C"], &["A", "B", "C"], Some("A"), Some("C"), "A 400, B 200, C 0");
        // Whoever was wished is not there: the others come all the same.
        check(&["A", "B", "C"], &["A", "B"], Some("A"), Some("C"), "A 200, B 0");
    }
}
