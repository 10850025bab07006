//! Accounts of a domain, as logins and users have them: `DOMAIN\name`, and the security identifier that stands for each.
//!
//! Who a client is and in which groups, its domain says ([`Account`], of Kerberos, by the server's shell); what it may do, the logins of
//! its account and groups do. The security identifier of a login's name says the domain's [`Directory`], where there is one.
//! Elsewhere it is made from the name. Either way every instance comes to the same one, and the users of a database that is
//! moved, or of a replica, find their logins again.
//!
//! The binary form is that of [MS-DTYP] 2.4.2.2: revision, number of parts, authority, parts.

mod account;
mod directory;

pub use account::Account;
pub use directory::{Directory, Listed, Unanswered};

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// Revision 1; authority 5, "NT Authority". Between them is the number of parts.
const REVISION: u8 = 1;
const AUTHORITY: [u8; 6] = [0, 0, 0, 0, 0, 5];
/// First part of accounts of a domain.
const DOMAIN_ACCOUNT: u32 = 21;
/// First part of what every machine has.
const BUILTIN: u32 = 32;
/// First part of services of a machine.
const SERVICE: u32 = 80;
/// Everybody of whom it is known who he is.
const AUTHENTICATED_USERS: &[u32] = &[11];

/// Accounts whose identifiers are the same everywhere ([MS-DTYP] 2.4.2.4).
const WELL_KNOWN: &[(&str, &[u32])] = &[
    ("NT AUTHORITY\\SYSTEM", &[18]),
    ("NT AUTHORITY\\LOCAL SERVICE", &[19]),
    ("NT AUTHORITY\\NETWORK SERVICE", &[20]),
    ("NT AUTHORITY\\AUTHENTICATED USERS", AUTHENTICATED_USERS),
    ("BUILTIN\\ADMINISTRATORS", &[BUILTIN, 544]),
    ("BUILTIN\\USERS", &[BUILTIN, 545]),
];

/// Domain and account of `DOMAIN\account`; `None` when it is not of that form.
#[must_use]
pub fn parts(name: &str) -> Option<(&str, &str)> {
    let (domain, account) = name.split_once('\\')?;
    (!domain.is_empty() && !account.is_empty() && !account.contains('\\')).then_some((domain, account))
}

/// The security identifier of an account; `None` when that is not the name of one.
#[must_use]
pub fn sid(name: &str) -> Option<Vec<u8>> {
    let (domain, account) = parts(name)?;
    let upper = name.to_uppercase();
    if let Some((_, parts)) = WELL_KNOWN.iter().find(|(known, _)| *known == upper) {
        return Some(binary(parts));
    }
    if domain.eq_ignore_ascii_case("NT SERVICE") {
        // That is how Windows makes them: of the service's name.
        let utf16: Vec<u8> = account.to_uppercase().encode_utf16().flat_map(u16::to_le_bytes).collect();
        return Some(binary(&[&[SERVICE][..], &numbers(&Sha1::digest(utf16))].concat()));
    }
    let [domain, account] = [domain.to_uppercase(), upper].map(|text| numbers(&Sha256::digest(text)));
    Some(binary(&[DOMAIN_ACCOUNT, domain[0], account[0], account[1], account[2]]))
}

fn numbers(digest: &[u8]) -> Vec<u32> {
    digest.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().expect("four"))).collect()
}

fn binary(parts: &[u32]) -> Vec<u8> {
    let mut sid = vec![REVISION, u8::try_from(parts.len()).expect("a handful")];
    sid.extend(AUTHORITY);
    sid.extend(parts.iter().flat_map(|part| part.to_le_bytes()));
    sid
}

/// Whether a security identifier is one of an account of a domain or machine, as those of SQL logins are not.
#[must_use]
pub fn is_account(sid: &[u8]) -> bool {
    sid.len() >= 12
        && sid[0] == REVISION
        && sid.len() == 8 + 4 * usize::from(sid[1])
        && sid[2..8] == AUTHORITY
}

/// Whether it is one of a group that every machine has.
#[must_use]
pub fn is_shipped_group(sid: &[u8]) -> bool {
    is_account(sid) && (sid[8..12] == BUILTIN.to_le_bytes() || *sid == *binary(AUTHENTICATED_USERS))
}

/// Whether the name stands for the same on every machine: no domain is asked about it.
#[must_use]
pub fn is_shipped(name: &str) -> bool {
    let domain = parts(name).map(|(domain, _)| domain.to_uppercase());
    domain.is_some_and(|d| ["NT AUTHORITY", "NT SERVICE", "BUILTIN"].contains(&d.as_str()))
}

/// `LoginType` of events about a login.
#[must_use]
pub fn login_type(sid: &[u8]) -> &'static str {
    if is_account(sid) { "Windows (NT) Login" } else { "SQL Login" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_those_of_the_specification_where_it_has_them() {
        assert_eq!(sid("nt authority\\system"), Some(vec![1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0]));
        let administrators = sid("BUILTIN\\Administrators").expect("a name");
        assert_eq!(administrators, [1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0]);
        assert!(is_shipped_group(&administrators) && is_account(&administrators));
        // S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464, as Windows documents it.
        let installer = [80, 956_008_885, 3_418_522_649, 1_831_038_044, 1_853_292_631, 2_271_478_464];
        assert_eq!(sid("NT SERVICE\\TrustedInstaller"), Some(binary(&installer)));
    }

    #[test]
    fn an_account_has_one_whatever_its_case_and_another_than_its_neighbours() {
        let bob = sid("CORP\\bob").expect("a name");
        assert_eq!(Some(&bob), sid("corp\\BOB").as_ref());
        assert_ne!(Some(&bob), sid("CORP\\eve").as_ref());
        assert_ne!(Some(&bob), sid("CORP2\\bob").as_ref());
        assert_eq!(bob.len(), 28);
        assert!(is_account(&bob) && !is_shipped_group(&bob));
        for name in ["bob", "\\bob", "CORP\\", "CORP\\bob\\x"] {
            assert_eq!(sid(name), None, "{name}");
        }
        assert!(!is_account(&[1]) && !is_account(&[1; 16]) && !is_account(&[]));
    }
}
