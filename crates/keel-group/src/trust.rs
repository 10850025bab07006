//! Whom this instance talks to: pinned certificates, join secrets that are still good, and who came with one and is not a
//! member of the cluster yet.

use crate::error::GroupError;
use crate::identity::{Fingerprint, parse_hex, to_hex};
use crate::kept;
use crate::token::{JoinKey, Secret};
use keel_base::env::Env;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use uuid::Uuid;

/// A member that was introduced by a join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its id.
    pub instance: Uuid,
    /// Its server name.
    pub name: String,
    /// Its endpoint, `TCP://host:port`; empty while it has none.
    pub url: String,
    /// Its certificate.
    pub fingerprint: Fingerprint,
}

/// A join secret that is still good.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Invitation {
    /// Hexadecimal [`JoinKey`].
    key: String,
    /// Seconds since 1970 UTC.
    expires: u64,
}

/// Who came with a token and is to become a member of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Joiner {
    pub(crate) instance: Uuid,
    /// It votes and does nothing else.
    pub(crate) witness: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Stored {
    members: Vec<Member>,
    invitations: Vec<Invitation>,
    #[serde(default)]
    joiners: Vec<Joiner>,
}

impl Stored {
    /// Whether somebody is new. Where a known member is reached it says itself: of two who have met it at different times, as a
    /// witness that moves, each would change what the other has, for ever.
    fn introduce(&mut self, members: &[Member], by: Option<Uuid>) -> bool {
        let before = self.members.len();
        for member in members {
            match self.members.iter_mut().find(|m| m.instance == member.instance) {
                Some(known) if by == Some(member.instance) || known.fingerprint != member.fingerprint => {
                    *known = member.clone();
                }
                Some(_) => {}
                None => self.members.push(member.clone()),
            }
        }
        self.members.len() > before
    }
}

struct Inner {
    stored: Stored,
    /// Certificates the endpoint's SQL configuration trusts; kept by the catalog, not here.
    certificates: BTreeSet<Fingerprint>,
}

/// Whom this instance trusts. Members are kept in `<dir>/trust.json`.
pub struct Trust {
    env: Env,
    path: PathBuf,
    inner: Mutex<Inner>,
}

impl Trust {
    /// Reads what is kept in `dir`.
    pub fn load(env: &Env, dir: &Path) -> Result<Trust, GroupError> {
        let path = dir.join("trust.json");
        let stored = kept::read(env.disk.as_ref(), &path)?.unwrap_or_default();
        let inner = Mutex::new(Inner { stored, certificates: BTreeSet::new() });
        Ok(Trust { env: env.clone(), path, inner })
    }

    /// The members introduced so far.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        self.inner.lock().stored.members.clone()
    }

    /// The member with this id.
    #[must_use]
    pub fn member(&self, instance: Uuid) -> Option<Member> {
        self.inner.lock().stored.members.iter().find(|m| m.instance == instance).cloned()
    }

    /// Sets the certificates that the endpoint's SQL configuration trusts.
    pub fn set_certificates(&self, certificates: impl IntoIterator<Item = Fingerprint>) {
        self.inner.lock().certificates = certificates.into_iter().collect();
    }

    /// Whether `instance` may speak with this certificate: a member with the one it was introduced with, anybody with one
    /// that SQL trusts.
    #[must_use]
    pub fn allows(&self, fingerprint: Fingerprint, instance: Uuid) -> bool {
        let inner = self.inner.lock();
        inner.certificates.contains(&fingerprint)
            || inner.stored.members.iter().any(|m| m.fingerprint == fingerprint && m.instance == instance)
    }

    /// Whether anybody is trusted with this certificate.
    #[must_use]
    pub fn knows(&self, fingerprint: Fingerprint) -> bool {
        let inner = self.inner.lock();
        inner.certificates.contains(&fingerprint)
            || inner.stored.members.iter().any(|m| m.fingerprint == fingerprint)
    }

    /// Adds or renews members, as an instance tells of them. Returns whether somebody is new, who is to be made known to others. Durable
    /// when it returns.
    pub fn introduce(&self, members: &[Member], by: Option<Uuid>) -> Result<bool, GroupError> {
        let mut inner = self.inner.lock();
        let mut next = inner.stored.clone();
        let news = next.introduce(members, by);
        if next.members != inner.stored.members {
            self.keep(&mut inner, next)?;
        }
        Ok(news)
    }

    fn keep(&self, inner: &mut Inner, next: Stored) -> Result<(), GroupError> {
        kept::write(self.env.disk.as_ref(), &self.path, &next)?;
        inner.stored = next;
        Ok(())
    }

    /// The same for one who came with a token: it is to become a member of the cluster, until [`Trust::settle_joiner`].
    pub(crate) fn introduce_joiner(&self, member: &Member, witness: bool) -> Result<(), GroupError> {
        let mut inner = self.inner.lock();
        let mut next = inner.stored.clone();
        next.introduce(std::slice::from_ref(member), Some(member.instance));
        next.joiners.retain(|j| j.instance != member.instance);
        next.joiners.push(Joiner { instance: member.instance, witness });
        self.keep(&mut inner, next)
    }

    /// Who came with a token, and has neither become a member of the cluster nor been refused by it.
    pub(crate) fn joiners(&self) -> Vec<Joiner> {
        self.inner.lock().stored.joiners.clone()
    }

    /// It is a member of the cluster now, or cannot be.
    pub(crate) fn settle_joiner(&self, instance: Uuid) -> Result<(), GroupError> {
        let mut inner = self.inner.lock();
        let mut next = inner.stored.clone();
        next.joiners.retain(|j| j.instance != instance);
        if next.joiners == inner.stored.joiners {
            return Ok(());
        }
        self.keep(&mut inner, next)
    }

    /// Makes a join secret that is good for `valid`, for any number of joins until then.
    pub fn invite(&self, valid: Duration) -> Result<Secret, GroupError> {
        let mut secret = Secret([0; 16]);
        self.env.random.fill(&mut secret.0);
        let now = self.seconds();
        let mut inner = self.inner.lock();
        let mut next = inner.stored.clone();
        next.invitations.retain(|i| i.expires > now);
        let expires = now.saturating_add(valid.as_secs());
        next.invitations.push(Invitation { key: to_hex(&secret.key().0), expires });
        self.keep(&mut inner, next)?;
        Ok(secret)
    }

    /// Whether a joiner's proof is made with a secret that is still good.
    #[must_use]
    pub fn accepts(&self, proof: &[u8; 32], joiner: Fingerprint, own: Fingerprint) -> bool {
        let now = self.seconds();
        let inner = self.inner.lock();
        let good = inner.stored.invitations.iter().filter(|i| i.expires > now);
        good.filter_map(|i| parse_hex(&i.key)).any(|key| JoinKey(key).accepts(proof, joiner, own))
    }

    fn seconds(&self) -> u64 {
        u64::try_from(self.env.clock.unix_nanos() / 1_000_000_000).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, env};

    #[test]
    fn members_and_invitations_survive_a_restart() {
        let disk = SimDisk::new();
        let env = env(&disk, 3);
        let dir = Path::new("endpoint");
        let (one, two) = (Fingerprint::of(b"one"), Fingerprint::of(b"two"));
        let trust = Trust::load(&env, dir).unwrap();
        let member = Member {
            instance: Uuid::from_u128(5),
            name: "B".into(),
            url: "TCP://b:1".into(),
            fingerprint: two,
        };
        let introduce = |member: &Member, by| trust.introduce(std::slice::from_ref(member), by).unwrap();
        assert!(introduce(&member, None));
        assert!(!introduce(&member, None));
        let moved = Member { url: "TCP://elsewhere:5022".into(), ..member.clone() };
        assert!(!introduce(&moved, Some(Uuid::from_u128(99))));
        assert_eq!(trust.member(member.instance).as_ref(), Some(&member), "others have met it before");
        introduce(&moved, Some(member.instance));
        assert_eq!(trust.member(member.instance), Some(moved));
        introduce(&member, Some(member.instance));
        let joiner = Member { instance: Uuid::from_u128(7), ..member.clone() };
        trust.introduce_joiner(&joiner, true).unwrap();
        trust.introduce_joiner(&member, false).unwrap();
        trust.settle_joiner(member.instance).unwrap();
        let secret = trust.invite(Duration::from_secs(60)).unwrap();
        let expired = trust.invite(Duration::ZERO).unwrap();
        let trust = Trust::load(&env, dir).unwrap();
        assert_eq!(trust.members(), vec![member, joiner]);
        assert_eq!(trust.joiners(), vec![Joiner { instance: Uuid::from_u128(7), witness: true }]);
        assert!(trust.accepts(&secret.key().prove(two, one), two, one));
        assert!(!trust.accepts(&expired.key().prove(two, one), two, one));
        assert!(trust.allows(two, Uuid::from_u128(5)));
        assert!(!trust.allows(two, Uuid::from_u128(6)), "a member speaks for itself only");
        assert!(!trust.allows(one, Uuid::from_u128(5)));
        trust.set_certificates([one]);
        assert!(trust.allows(one, Uuid::from_u128(9)));
    }
}
