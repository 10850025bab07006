//! Which versions of the product the members of a cluster run: they are replaced one after the other, the primary last, and nobody should
//! forget one. What two versions can say to each other is another matter ([`keel_transport::limits::VERSION`]).

use std::cmp::Ordering;

/// How another version stands to the own one. What is no version is behind: it was never told before they were numbered.
#[must_use]
pub fn compare(other: Option<&str>, own: &str) -> Ordering {
    if other == Some(own) {
        return Ordering::Equal;
    }
    let parsed = |version: &str| semver::Version::parse(version).ok();
    match (other.and_then(parsed), parsed(own)) {
        (Some(other), Some(own)) => other.cmp(&own),
        _ => Ordering::Less,
    }
}

/// What is to be said of a member that does not run what this instance runs; `None` when it does.
#[must_use]
pub fn told(name: &str, other: Option<&str>, own: &str) -> Option<String> {
    let runs = match other {
        Some(version) => format!("{name} runs Evenkeel {version}"),
        None => format!("{name} runs an Evenkeel that does not tell its version"),
    };
    match compare(other, own) {
        Ordering::Equal => None,
        Ordering::Less => {
            Some(format!("{runs}, which is behind the {own} of this instance: upgrade it, too"))
        }
        Ordering::Greater => {
            Some(format!("{runs}, which is ahead of the {own} of this instance: upgrade this one, too"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(compare(Some("0.9.0"), "0.10.0"), Ordering::Less);
        assert_eq!(compare(Some("1.0.0"), "1.0.0-rc.1"), Ordering::Greater);
        assert_eq!(compare(Some("nightly"), "nightly"), Ordering::Equal);
        assert_eq!(compare(None, "0.1.0"), Ordering::Less);
    }

    #[test]
    fn who_runs_the_same_is_not_spoken_of() {
        assert_eq!(told("NODE2", Some("0.1.0"), "0.1.0"), None);
        let behind = told("NODE2", Some("0.1.0"), "0.2.0").unwrap();
        assert_eq!(
            behind,
            "NODE2 runs Evenkeel 0.1.0, which is behind the 0.2.0 of this instance: upgrade it, too"
        );
        assert!(told("NODE2", None, "0.2.0").unwrap().contains("does not tell its version"));
    }
}
