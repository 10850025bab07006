//! Money is moved between accounts and never made: every snapshot holds the same sum.

/// One look at all accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Where it was read.
    pub place: String,
    /// The balances, in any order.
    pub balances: Vec<i64>,
}

/// What is wrong with the looks, if anything: accounts missing, sums that differ from `total`.
#[must_use]
pub fn check(looks: &[Look], accounts: usize, total: i64) -> Vec<String> {
    let wrong = looks.iter().filter_map(|look| {
        let sum: i64 = look.balances.iter().sum();
        if look.balances.len() != accounts {
            Some(format!(
                "{} accounts instead of {accounts} were seen on {}",
                look.balances.len(),
                look.place
            ))
        } else if sum != total {
            Some(format!("the accounts held {sum} instead of {total} on {}: {:?}", look.place, look.balances))
        } else {
            None
        }
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_snapshot_and_a_lost_account_are_found() {
        let look = |balances: &[i64]| Look { place: "NODE2".into(), balances: balances.to_vec() };
        assert!(check(&[look(&[3, 7]), look(&[10, 0])], 2, 10).is_empty());
        assert_eq!(check(&[look(&[3, 8])], 2, 10).len(), 1);
        assert_eq!(check(&[look(&[10])], 2, 10).len(), 1);
    }
}
