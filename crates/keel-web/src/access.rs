//! Who may look and who may press buttons.
//!
//! A browser logs in with a SQL login and gets a **seat**: a random token in a cookie that scripts cannot read and other sites cannot
//! send, and beside it a second token that every change must carry in a header. The server keeps the digest of the first; a
//! seat ends after [`IDLE_MAX`] without use, after [`AGE_MAX`] in any case, on logout, and as soon as the login is changed, disabled
//! or dropped. Wrong passwords are counted by address: after [`FAILURES_MAX`] of them an address waits for [`FAILURES_SPAN`].
//!
//! What a seat may is not decided here but by the instance, each time, by the permissions of its login.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use keel_sql::LoginRecord;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

/// A seat that nobody used for so long is free.
pub const IDLE_MAX: Duration = Duration::from_secs(30 * 60);
/// No seat lives longer.
pub const AGE_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// Seats at one time; the one that was used least recently makes room.
const SEATS_MAX: usize = 1000;
/// Wrong passwords from one address that are answered at once.
pub const FAILURES_MAX: u32 = 5;
/// After so long the count of an address begins anew.
pub const FAILURES_SPAN: Duration = Duration::from_secs(60);
/// Addresses that are counted; above this the count starts anew.
const ADDRESSES_MAX: usize = 10_000;

/// What the browser holds: the cookie, and the token for changes.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// Value of the cookie.
    pub cookie: String,
    /// Value of the header of changes.
    pub csrf: String,
}

struct Seat {
    login: String,
    /// The login's stored password when it was checked: another one ends the seat.
    password_hash: Vec<u8>,
    csrf: String,
    began: Instant,
    used: Instant,
}

type Digest = [u8; 32];

/// All seats and counts.
#[derive(Default)]
pub struct Access {
    seats: Mutex<HashMap<Digest, Seat>>,
    failures: Mutex<HashMap<IpAddr, (u32, Instant)>>,
}

fn digest_of(cookie: &str) -> Digest {
    digest(&SHA256, cookie.as_bytes()).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn random_token() -> String {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Whoever has one address of an IPv6 network has all of the last 64 bits.
fn network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => v4.into(),
            None => IpAddr::V6((u128::from(v6) & !u128::from(u64::MAX)).into()),
        },
    }
}

impl Access {
    /// Time until an address may try a password again; `None`: now.
    #[must_use]
    pub fn wait(&self, peer: IpAddr, now: Instant) -> Option<Duration> {
        let failures = self.failures.lock();
        let (count, first) = failures.get(&network(peer))?;
        let left = FAILURES_SPAN.checked_sub(now.duration_since(*first))?;
        (*count >= FAILURES_MAX).then_some(left)
    }

    /// Counts a wrong password.
    pub fn failed(&self, peer: IpAddr, now: Instant) {
        let mut failures = self.failures.lock();
        if failures.len() >= ADDRESSES_MAX {
            failures.clear();
        }
        let (count, first) = failures.entry(network(peer)).or_insert((0, now));
        if now.duration_since(*first) >= FAILURES_SPAN {
            (*count, *first) = (0, now);
        }
        *count += 1;
    }

    /// A seat for a login whose password was checked.
    pub fn seat(&self, login: &LoginRecord, now: Instant) -> Ticket {
        self.failures.lock().retain(|_, (_, first)| now.duration_since(*first) < FAILURES_SPAN);
        let ticket = Ticket { cookie: random_token(), csrf: random_token() };
        let seat = Seat {
            login: login.name.clone(),
            password_hash: login.password_hash.clone(),
            csrf: ticket.csrf.clone(),
            began: now,
            used: now,
        };
        let mut seats = self.seats.lock();
        seats.retain(|_, seat| !seat.is_over(now));
        if seats.len() >= SEATS_MAX
            && let Some(oldest) = seats.iter().min_by_key(|(_, seat)| seat.used).map(|(key, _)| *key)
        {
            seats.remove(&oldest);
        }
        seats.insert(digest_of(&ticket.cookie), seat);
        ticket
    }

    /// The login on a seat and the token for its changes. `find` gives a login as it is now.
    pub fn holder(
        &self,
        cookie: &str,
        now: Instant,
        find: impl FnOnce(&str) -> Option<LoginRecord>,
    ) -> Option<(LoginRecord, String)> {
        let key = digest_of(cookie);
        let name = self.seats.lock().get(&key)?.login.clone();
        // Reads the catalog: nobody else should wait for that.
        let login = find(&name);
        let mut seats = self.seats.lock();
        let seat = seats.get_mut(&key)?;
        let good = |login: &LoginRecord| {
            !login.disabled && login.password_hash == seat.password_hash && !seat.is_over(now)
        };
        let Some(login) = login.filter(good) else {
            seats.remove(&key);
            return None;
        };
        seat.used = now;
        Some((login, seat.csrf.clone()))
    }

    /// Ends a seat.
    pub fn leave(&self, cookie: &str) {
        self.seats.lock().remove(&digest_of(cookie));
    }
}

impl Seat {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.used) >= IDLE_MAX || now.duration_since(self.began) >= AGE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login() -> LoginRecord {
        LoginRecord {
            principal_id: 300,
            name: "ann".into(),
            sid: vec![7; 16],
            password_hash: vec![1],
            disabled: false,
            default_database: "master".into(),
            default_language: "us_english".into(),
            sysadmin: false,
            created: 0,
            roles: Vec::new(),
            permissions: Vec::new(),
            role: false,
            credentials: Vec::new(),
            group: false,
        }
    }

    #[test]
    fn a_seat_ends_by_time_logout_and_any_change_of_its_login() {
        let access = Access::default();
        let now = Instant::now();
        let take = || access.seat(&login(), now).cookie;
        let at = |cookie: &str, later: Duration, login: Option<LoginRecord>| {
            access.holder(cookie, now + later, |_| login).is_some()
        };
        let second = Duration::from_secs(1);
        let cookie = take();
        assert!(at(&cookie, IDLE_MAX - second, Some(login())));
        assert!(at(&cookie, (IDLE_MAX - second) * 2, Some(login())), "use keeps it");
        assert!(!at(&cookie, IDLE_MAX * 3, Some(login())));
        assert!(!at(&cookie, second, Some(login())), "what ended stays ended");
        for changed in [
            None,
            Some(LoginRecord { disabled: true, ..login() }),
            Some(LoginRecord { password_hash: vec![2], ..login() }),
        ] {
            assert!(!at(&take(), second, changed));
        }
        let cookie = take();
        access.leave(&cookie);
        assert!(!at(&cookie, second, Some(login())));
        assert!(!at("", second, Some(login())));
    }

    #[test]
    fn an_address_that_guesses_waits_and_others_do_not() {
        let access = Access::default();
        let now = Instant::now();
        let (bad, other): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        for _ in 0..FAILURES_MAX {
            assert_eq!(access.wait(bad, now), None);
            access.failed(bad, now);
        }
        assert_eq!(access.wait(bad, now), Some(FAILURES_SPAN));
        assert_eq!(access.wait(other, now), None);
        assert_eq!(access.wait(bad, now + FAILURES_SPAN * 2), None);
    }

    #[test]
    fn one_network_of_ipv6_is_one_address() {
        let v6 = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(v6("2001:db8::1"), v6("2001:db8::ffff:2"));
        assert_ne!(v6("2001:db8::1"), v6("2001:db8:0:1::1"));
        assert_eq!(v6("::ffff:10.0.0.1"), v6("10.0.0.1"));
    }
}
