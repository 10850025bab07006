//! Listeners' IP addresses, which are on the machine of the primary: taken, kept, announced, given back.
//!
//! A client of a machine that falls silent learns of nothing: what it sends is repeated by its system for a quarter of an hour. When
//! another machine has the address, the next repetition goes there, is answered by "no such connection", and the client goes on.
//!
//! ## Model
//!
//! * While the primary is here, each of the listener's addresses that belongs to a network of this machine is taken for [`LIFETIME`],
//!   and again every [`RENEW_EVERY`]. So the address of a process that was killed or stands still goes away by itself.
//! * It is announced when it is taken, and again and again for [`ANNOUNCED_FOR`]. A machine that was cut off and is back still has the
//!   address for a moment, and says so when it asks where a client is: clients would go there.
//! * Nothing is announced while news of the others is not fresh: a primary that was cut off in one direction may not be it any more, and
//!   would call clients back from the new one.
//! * With the first announcements the clients of the other members' connections, as far as those told of them
//!   ([`keel_group::ClientConnection`]), are sent a segment that is out of place. They answer to the new owner, which knows no such connection
//!   and says so. That reaches those too who wait for an answer and would send nothing more.
//!   Before the first one the system forgets the connections that it had, and ended, when the address was here before ([`super::ended`]).
//! * When the primary leaves, the address stays for [`STAYS`], or for [`STAYS_KNOWN`] when it is known where the new one is: who comes to
//!   the old machine meanwhile is held, and let go when it is known where, instead of getting no answer. Both machines may have it for that time; clients'
//!   systems believe the newest announcement.
//! * What a process before this one left is given back when the instance starts.
//! * A claim that was not renewed in time is over. It is not taken up again before the next look ([`AGAIN_AFTER`]), by which time this
//!   instance has heard whether it still leads: a process that wakes up must not call clients back to it.
//!
//! ## Deliberately absent
//!
//! Addresses without a lifetime, which somebody else manages: they are used where they are. Networks of other machines: of the addresses
//! of a listener in several subnets each machine takes those of its own, as in the product.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use keel_group::ClientConnection;

use super::network::{Local, Network, Rtnetlink};

/// How long the system keeps an address that is not taken again. It counts whole seconds.
const LIFETIME: Duration = Duration::from_secs(3);
/// How often it is taken again.
const RENEW_EVERY: Duration = Duration::from_millis(500);
/// How soon a new owner is announced once more.
const ANNOUNCED_AGAIN: Duration = Duration::from_millis(50);
/// How often after that, and for how long: until an old primary that did not hear of its end has lost the address for certain.
const ANNOUNCED_EVERY: Duration = Duration::from_millis(250);
const ANNOUNCED_FOR: Duration = Duration::from_secs(4);
/// For how long the clients of an earlier owner are told with it.
const CLIENTS_TOLD_FOR: Duration = Duration::from_millis(1500);
/// How long an address stays when the primary has left.
const STAYS: Duration = Duration::from_secs(1);
/// How long at most when another primary is known, which has it by now.
const STAYS_KNOWN: Duration = Duration::from_millis(200);
/// When what failed is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// An address of a listener that moves with the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Virtual {
    /// The address.
    pub ip: IpAddr,
    /// Length of its network's prefix, bits, where the listener says it; else that of the machine's network that it is in.
    pub prefix: Option<u8>,
}

struct Claim {
    interface: u32,
    taken: Instant,
    renewed: Instant,
    /// Announcements made.
    announced: u128,
    /// Since when the primary is no longer here.
    left: Option<Instant>,
    /// Since when it is known to be elsewhere.
    replaced: Option<Instant>,
}

impl Claim {
    fn new(interface: u32, now: Instant) -> Claim {
        Claim { interface, taken: now, renewed: now, announced: 0, left: None, replaced: None }
    }

    fn has_stayed(&self, now: Instant) -> bool {
        let since = |at: Option<Instant>| at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        since(self.left) >= STAYS || since(self.replaced) >= STAYS_KNOWN
    }

    /// Announcements that are due so long after it was taken.
    fn announcements(age: Duration) -> u128 {
        let age = age.min(ANNOUNCED_FOR);
        1 + u128::from(age >= ANNOUNCED_AGAIN) + age.as_nanos() / ANNOUNCED_EVERY.as_nanos()
    }

    /// How long after it was taken the next one is.
    fn next_announcement(&self) -> Option<Duration> {
        let at = match self.announced {
            0 => Duration::ZERO,
            1 => ANNOUNCED_AGAIN,
            made => ANNOUNCED_EVERY * u32::try_from(made - 1).ok()?,
        };
        (at <= ANNOUNCED_FOR).then_some(at)
    }
}

/// Why an address of the primary's is not here, as far as it should be.
struct Refusal {
    why: Option<String>,
    again: Instant,
}

/// How things stand at one look.
pub(super) struct Look<'a> {
    pub now: Instant,
    /// Addresses of listeners whose primary is here.
    pub here: Vec<Virtual>,
    /// Those whose primary is here for certain.
    pub certain: Vec<IpAddr>,
    /// Addresses of listeners whose primary is known to be elsewhere.
    pub elsewhere: Vec<IpAddr>,
    /// Addresses of all listeners.
    pub known: Vec<IpAddr>,
    /// Connections that other members served.
    pub others: &'a dyn Fn() -> Vec<ClientConnection>,
    /// Whose they are, for the log.
    pub whose: &'static str,
    /// Takes a line for the log.
    pub say: &'a dyn Fn(&str),
}

impl Look<'_> {
    fn is_here(&self, ip: &IpAddr) -> bool {
        self.here.iter().any(|v| v.ip == *ip)
    }

    fn announces(&self, ip: &IpAddr, claim: &Claim) -> bool {
        // Who has just been made primary is it, however long ago the others were heard.
        claim.left.is_none() && (claim.announced == 0 || self.certain.contains(ip))
    }
}

/// See the module's chapter. Owned by the listener thread.
pub(super) struct Claims {
    network: Box<dyn Network>,
    held: BTreeMap<IpAddr, Claim>,
    refused: BTreeMap<IpAddr, Refusal>,
    /// Addresses that have been looked at for what an earlier process left.
    seen: BTreeSet<IpAddr>,
}

impl Claims {
    pub(super) fn new(network: Box<dyn Network>) -> Claims {
        Claims { network, held: BTreeMap::new(), refused: BTreeMap::new(), seen: BTreeSet::new() }
    }

    /// Does what is due. Returns whether an address has come or gone.
    pub(super) fn tend(&mut self, look: &Look<'_>) -> bool {
        let before: Vec<IpAddr> = self.held.keys().copied().collect();
        let left = look
            .known
            .iter()
            .filter(|ip| self.seen.insert(**ip) && !look.is_here(ip))
            .copied()
            .collect::<Vec<_>>();
        let left = left.into_iter().filter(|ip| self.give_back_left(*ip)).count();
        self.refused.retain(|ip, _| look.is_here(ip));
        for ip in &before {
            self.keep(*ip, look);
        }
        for address in &look.here {
            let due = self.refused.get(&address.ip).is_none_or(|r| look.now >= r.again);
            if due && !self.held.contains_key(&address.ip) {
                self.claim(*address, look);
            }
        }
        left > 0 || !before.iter().eq(self.held.keys())
    }

    /// Gives back an address that a process before this one took: clients would come here, and be lost when its time is over. Returns
    /// whether there was one.
    fn give_back_left(&self, ip: IpAddr) -> bool {
        let local = self.network.addresses().unwrap_or_default();
        let left = local.iter().find(|l| l.ip == ip && is_own(l));
        left.is_some_and(|l| self.network.give_back(ip, l.interface).is_ok())
    }

    /// Why an address that should be here is not; `None` when it need not be.
    pub(super) fn refusal(&self, ip: &IpAddr) -> Option<&str> {
        self.refused.get(ip)?.why.as_deref()
    }

    /// Gives everything back.
    pub(super) fn release(&mut self) {
        for (ip, claim) in std::mem::take(&mut self.held) {
            // If it cannot be given back it goes when its time is over.
            let _ = self.network.give_back(ip, claim.interface);
        }
    }

    /// Keeps what is held, or lets it go.
    fn keep(&mut self, ip: IpAddr, look: &Look<'_>) {
        let (now, say, whose) = (look.now, look.say, look.whose);
        let Some(claim) = self.held.get_mut(&ip) else { return };
        if now.duration_since(claim.renewed) >= LIFETIME {
            self.held.remove(&ip);
            self.refused.insert(ip, Refusal { why: None, again: now + AGAIN_AFTER });
            say(&format!("The address {ip} of {whose} was not kept in time and is no longer here."));
            return;
        }
        if !look.is_here(&ip) {
            let replaced = look.elsewhere.contains(&ip).then_some(now);
            (claim.left, claim.replaced) = (claim.left.or(Some(now)), claim.replaced.or(replaced));
        } else if claim.left.is_some() {
            *claim = Claim { renewed: claim.renewed, ..Claim::new(claim.interface, now) };
        }
        if claim.left.is_some() && (claim.has_stayed(now) || !look.known.contains(&ip)) {
            let interface = claim.interface;
            self.held.remove(&ip);
            match self.network.give_back(ip, interface) {
                Ok(()) => say(&format!("The address {ip} of {whose} has been given back.")),
                Err(e) => say(&format!("The address {ip} of {whose} cannot be given back: {e}.")),
            }
            return;
        }
        if now.duration_since(claim.renewed) >= RENEW_EVERY {
            match self.network.take(ip, claim.interface, LIFETIME) {
                Ok(()) => claim.renewed = now,
                Err(e) => self.refuse(ip, &e, look),
            }
        }
    }

    /// Takes an address, if it belongs here and nobody else manages it.
    fn claim(&mut self, address: Virtual, look: &Look<'_>) {
        let (ip, now) = (address.ip, look.now);
        let taken = self.network.addresses().and_then(|local| match interface_for(address, &local) {
            Some(interface) => {
                self.network.ask_by_own_address(interface);
                self.network.take(ip, interface, LIFETIME).map(|()| Some(interface))
            }
            None => Ok(None),
        });
        match taken {
            Ok(Some(interface)) => {
                self.refused.remove(&ip);
                self.held.insert(ip, Claim::new(interface, now));
                (look.say)(&format!(
                    "The address {ip} of {} has been taken: who serves it is here.",
                    look.whose
                ));
            }
            Ok(None) => {
                self.refused.insert(ip, Refusal { why: None, again: now + AGAIN_AFTER });
            }
            Err(e) => self.refuse(ip, &e, look),
        }
    }

    fn refuse(&mut self, ip: IpAddr, error: &io::Error, look: &Look<'_>) {
        let needs = match error.kind() {
            io::ErrorKind::PermissionDenied => "; that needs CAP_NET_ADMIN",
            _ => "",
        };
        let why = format!("it cannot be taken: {error}{needs}");
        if self.held.remove(&ip).is_some() {
            (look.say)(&format!("The address {ip} of {} is lost: {why}.", look.whose));
        }
        self.refused.insert(ip, Refusal { why: Some(why), again: look.now + AGAIN_AFTER });
    }

    /// Makes the announcements that are due. To be called when the listener listens on what [`Claims::tend`] took: clients that come
    /// would be refused.
    pub(super) fn announce(&mut self, look: &Look<'_>) {
        for (ip, claim) in self.held.iter_mut().filter(|(ip, claim)| look.announces(ip, claim)) {
            announce(&*self.network, *ip, claim, look);
        }
    }

    /// When something is due next: announcements do not wait for the next look.
    pub(super) fn next(&self, look: &Look<'_>) -> Option<Duration> {
        let announced = self.held.iter().filter(|(ip, claim)| look.announces(ip, claim));
        let due = |claim: &Claim| Some(claim.taken + claim.next_announcement()?);
        announced.filter_map(|(_, c)| due(c)).min().map(|at| at.saturating_duration_since(look.now))
    }
}

/// Makes the announcements of an address that are due, as one, and has clients of an earlier owner find out that their connections are
/// over.
fn announce(network: &dyn Network, ip: IpAddr, claim: &mut Claim, look: &Look<'_>) {
    let age = look.now.duration_since(claim.taken);
    let due = Claim::announcements(age);
    if due <= claim.announced {
        return;
    }
    let first = claim.announced == 0;
    claim.announced = due;
    if first && let Err(e) = network.forget(ip) {
        (look.say)(&format!(
            "Connections that ended here when the address {ip} of {} was here before cannot be forgotten: {e}. A \
             client whose port is that of one finds out up to a minute later that its connection is over. (CAP_NET_ADMIN \
             and a system with CONFIG_INET_DIAG_DESTROY are needed.)",
            look.whose
        ));
    }
    let announced = network.announce(ip, claim.interface);
    let mut connections = if age <= CLIENTS_TOLD_FOR { (look.others)() } else { Vec::new() };
    connections.retain(|c| c.own.ip() == ip);
    let ended = if connections.is_empty() { Ok(()) } else { network.end(ip, &connections) };
    match announced.and(ended) {
        Err(e) if first => (look.say)(&format!(
            "Other machines cannot be told that the address {ip} of {} is here: {e}. Clients find it when what \
             their systems remember is over. (CAP_NET_RAW is needed.)",
            look.whose
        )),
        Ok(()) | Err(_) => {}
    }
}

/// The interface on which an address is to be taken: that of its network. None when the machine has none, or the address already,
/// from somebody else.
fn interface_for(address: Virtual, local: &[Local]) -> Option<u32> {
    if let Some(there) = local.iter().find(|l| l.ip == address.ip) {
        return is_own(there).then_some(there.interface);
    }
    let near = |l: &&Local| {
        !l.loopback && !is_own(l) && in_network(address.ip, l.ip, address.prefix.unwrap_or(l.prefix))
    };
    local.iter().find(near).map(|l| l.interface)
}

/// Addresses that an instance of this machine has taken, for whoever outlives it. None where that cannot be found out.
pub(crate) fn addresses_taken() -> Vec<IpAddr> {
    let local = Rtnetlink.addresses().unwrap_or_default();
    local.iter().filter(|local| is_own(local)).map(|local| local.ip).collect()
}

/// Whether an address is here by itself and for a time: this instance took it, perhaps before it was started again.
fn is_own(local: &Local) -> bool {
    !local.permanent && local.prefix == if local.ip.is_ipv4() { 32 } else { 128 }
}

fn in_network(a: IpAddr, b: IpAddr, prefix: u8) -> bool {
    let prefix = u32::from(prefix);
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= prefix,
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= prefix,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    const OWN: u32 = 2;

    #[derive(Default)]
    struct Asked {
        others: Vec<ClientConnection>,
        local: Vec<Local>,
        calls: Vec<String>,
        forbidden: bool,
        /// Connections cannot be forgotten.
        remembers: bool,
    }

    struct Fake(Rc<RefCell<Asked>>);

    impl Network for Fake {
        fn addresses(&self) -> io::Result<Vec<Local>> {
            Ok(self.0.borrow().local.clone())
        }
        fn ask_by_own_address(&self, _: u32) {}
        fn take(&self, ip: IpAddr, interface: u32, lifetime: Duration) -> io::Result<()> {
            let mut asked = self.0.borrow_mut();
            if asked.forbidden {
                return Err(io::Error::from_raw_os_error(libc::EPERM));
            }
            asked.calls.push(format!("take {ip} on {interface} for {lifetime:?}"));
            Ok(())
        }
        fn give_back(&self, ip: IpAddr, interface: u32) -> io::Result<()> {
            self.0.borrow_mut().calls.push(format!("give back {ip} on {interface}"));
            Ok(())
        }
        fn forget(&self, ip: IpAddr) -> io::Result<()> {
            let mut asked = self.0.borrow_mut();
            if asked.remembers {
                return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
            }
            asked.calls.push(format!("forget those of {ip}"));
            Ok(())
        }
        fn announce(&self, ip: IpAddr, interface: u32) -> io::Result<()> {
            self.0.borrow_mut().calls.push(format!("announce {ip} on {interface}"));
            Ok(())
        }
        fn end(&self, ip: IpAddr, connections: &[ClientConnection]) -> io::Result<()> {
            let clients: Vec<String> = connections.iter().map(|c| c.client.to_string()).collect();
            self.0.borrow_mut().calls.push(format!("end those of {ip} with {}", clients.join(" and ")));
            Ok(())
        }
    }

    struct Bed {
        asked: Rc<RefCell<Asked>>,
        elsewhere: Vec<IpAddr>,
        uncertain: bool,
        claims: Claims,
        began: Instant,
        /// Lines for the log of the last look.
        said: Vec<String>,
    }

    impl Bed {
        fn new() -> Bed {
            let asked = Rc::new(RefCell::new(Asked::default()));
            asked.borrow_mut().local = vec![
                Local { ip: ip("127.0.0.1"), prefix: 8, interface: 1, loopback: true, permanent: true },
                Local { ip: ip("10.0.0.2"), prefix: 16, interface: OWN, loopback: false, permanent: true },
                Local { ip: ip("fd00::2"), prefix: 64, interface: OWN, loopback: false, permanent: true },
            ];
            let claims = Claims::new(Box::new(Fake(Rc::clone(&asked))));
            Bed {
                asked,
                elsewhere: Vec::new(),
                uncertain: false,
                claims,
                began: Instant::now(),
                said: Vec::new(),
            }
        }

        /// What is asked of the network `ms` after the beginning.
        fn at(&mut self, ms: u64, here: &[Virtual]) -> String {
            let known: Vec<IpAddr> = vec![ip("10.0.0.9"), ip("10.0.1.9"), ip("fd00::9")];
            let others = self.asked.borrow().others.clone();
            let now = self.began + Duration::from_millis(ms);
            let elsewhere = self.elsewhere.clone();
            let here = here.to_vec();
            let certain = here.iter().filter(|_| !self.uncertain).map(|v| v.ip).collect();
            let said = RefCell::new(Vec::new());
            let say = |line: &str| said.borrow_mut().push(line.to_owned());
            let whose = "a listener";
            let look =
                Look { now, here, certain, elsewhere, known, others: &|| others.clone(), whose, say: &say };
            self.claims.tend(&look);
            self.claims.announce(&look);
            self.said = said.into_inner();
            self.asked.borrow_mut().calls.drain(..).collect::<Vec<_>>().join(", ")
        }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn v4(text: &str) -> Virtual {
        Virtual { ip: ip(text), prefix: Some(24) }
    }

    #[test]
    fn an_address_is_taken_kept_and_given_back_a_while_after_the_primary_has_left() {
        let (mut bed, here) = (Bed::new(), [v4("10.0.0.9")]);
        assert_eq!(
            bed.at(0, &here),
            "take 10.0.0.9 on 2 for 3s, forget those of 10.0.0.9, announce 10.0.0.9 on 2"
        );
        assert_eq!(bed.at(20, &here), "");
        assert_eq!(bed.at(60, &here), "announce 10.0.0.9 on 2");
        assert_eq!(bed.at(500, &here), "take 10.0.0.9 on 2 for 3s, announce 10.0.0.9 on 2");
        assert_eq!(bed.at(600, &[]), "");
        assert_eq!(bed.at(1_100, &[]), "take 10.0.0.9 on 2 for 3s");
        assert_eq!(bed.at(1_600, &[]), "give back 10.0.0.9 on 2");
        assert_eq!(
            bed.at(2_000, &here),
            "take 10.0.0.9 on 2 for 3s, forget those of 10.0.0.9, announce 10.0.0.9 on 2"
        );
    }

    #[test]
    fn an_address_that_another_primary_has_is_soon_given_back() {
        let (mut bed, here) = (Bed::new(), [v4("10.0.0.9")]);
        bed.at(0, &here);
        bed.at(40, &[]);
        bed.elsewhere.push(ip("10.0.0.9"));
        assert_eq!((bed.at(140, &[]), bed.at(330, &[])), (String::new(), String::new()));
        assert_eq!(bed.at(340, &[]), "give back 10.0.0.9 on 2");
    }

    #[test]
    fn who_may_have_been_replaced_announces_nothing() {
        let (mut bed, here) = (Bed::new(), [v4("10.0.0.9")]);
        bed.uncertain = true;
        assert_eq!(
            bed.at(0, &here),
            "take 10.0.0.9 on 2 for 3s, forget those of 10.0.0.9, announce 10.0.0.9 on 2",
            "it has just become it"
        );
        assert_eq!(bed.at(400, &here), "");
        bed.uncertain = false;
        assert_eq!(bed.at(420, &here), "announce 10.0.0.9 on 2");
    }

    #[test]
    fn a_new_owner_is_announced_again_and_again() {
        let (mut bed, here) = (Bed::new(), [v4("10.0.0.9")]);
        let mut at = Vec::new();
        for ms in (0..10_000).step_by(10) {
            if bed.at(ms, &here).contains("announce") {
                at.push(ms);
            }
        }
        assert_eq!((at[0], at[1], &at[2..4], at.last(), at.len()), (0, 50, &[250, 500][..], Some(&4000), 18));
        let claim = Claim { announced: 18, ..Claim::new(OWN, bed.began) };
        assert_eq!(claim.next_announcement(), None);
        assert_eq!(Claim { announced: 17, ..claim }.next_announcement(), Some(ANNOUNCED_FOR));
    }

    #[test]
    fn clients_of_the_old_owner_are_told_with_each_announcement() {
        let (mut bed, here) = (Bed::new(), [v4("10.0.0.9")]);
        let with = |client: &str, own: &str| ClientConnection {
            client: client.parse().unwrap(),
            own: own.parse().unwrap(),
        };
        bed.asked.borrow_mut().others =
            vec![with("10.0.0.1:40000", "10.0.0.9:1433"), with("10.0.0.1:40001", "10.0.0.3:1433")];
        let said = bed.at(0, &here);
        assert!(
            said.ends_with("announce 10.0.0.9 on 2, end those of 10.0.0.9 with 10.0.0.1:40000"),
            "{said}"
        );
        assert_eq!(bed.at(60, &here), "announce 10.0.0.9 on 2, end those of 10.0.0.9 with 10.0.0.1:40000");
    }

    #[test]
    fn what_an_earlier_process_left_is_given_back_unless_the_primary_is_here() {
        let left = |ip| Local { ip, prefix: 32, interface: OWN, loopback: false, permanent: false };
        let mut bed = Bed::new();
        bed.asked.borrow_mut().local.push(left(ip("10.0.0.9")));
        assert_eq!(bed.at(0, &[]), "give back 10.0.0.9 on 2");
        assert_eq!(bed.at(10, &[]), "");
        let mut bed = Bed::new();
        bed.asked.borrow_mut().local.push(left(ip("10.0.0.9")));
        assert_eq!(
            bed.at(0, &[v4("10.0.0.9")]),
            "take 10.0.0.9 on 2 for 3s, forget those of 10.0.0.9, announce 10.0.0.9 on 2"
        );
    }

    #[test]
    fn a_primary_that_returns_at_once_announces_itself_anew() {
        let (mut bed, here) = (Bed::new(), [v4("10.0.0.9")]);
        bed.at(0, &here);
        assert_eq!(bed.at(100, &[]), "");
        assert_eq!(bed.at(200, &here), "forget those of 10.0.0.9, announce 10.0.0.9 on 2");
    }

    #[test]
    fn a_process_that_stood_still_does_not_call_clients_back() {
        let (mut bed, here) = (Bed::new(), [v4("10.0.0.9")]);
        bed.at(0, &here);
        assert_eq!(bed.at(10_000, &here), "", "it has not heard yet that somebody else leads");
        assert_eq!(bed.at(10_500, &[]), "");
        assert_eq!(
            bed.at(12_000, &here),
            "take 10.0.0.9 on 2 for 3s, forget those of 10.0.0.9, announce 10.0.0.9 on 2"
        );
    }

    #[test]
    fn addresses_of_other_networks_and_those_that_are_managed_are_left_alone() {
        let mut bed = Bed::new();
        assert_eq!(
            bed.at(0, &[v4("10.0.1.9"), v4("127.0.0.9")]),
            "",
            "the listener's mask says that it is another network"
        );
        assert_eq!(bed.claims.refusal(&ip("10.0.1.9")), None);
        let managed =
            Local { ip: ip("10.0.0.9"), prefix: 24, interface: OWN, loopback: false, permanent: true };
        bed.asked.borrow_mut().local.push(managed);
        assert_eq!(bed.at(1_000, &[v4("10.0.0.9")]), "");
        let six = Virtual { ip: ip("fd00::9"), prefix: None };
        assert_eq!(
            bed.at(2_000, &[six]),
            "take fd00::9 on 2 for 3s, forget those of fd00::9, announce fd00::9 on 2"
        );
    }

    #[test]
    fn what_the_system_refuses_is_said_and_tried_again() {
        let (mut bed, here) = (Bed::new(), [v4("10.0.0.9")]);
        bed.asked.borrow_mut().forbidden = true;
        assert_eq!(bed.at(0, &here), "");
        assert!(bed.claims.refusal(&ip("10.0.0.9")).unwrap().contains("CAP_NET_ADMIN"));
        bed.asked.borrow_mut().forbidden = false;
        assert_eq!(bed.at(500, &here), "");
        assert_eq!(
            bed.at(1_000, &here),
            "take 10.0.0.9 on 2 for 3s, forget those of 10.0.0.9, announce 10.0.0.9 on 2"
        );
        assert_eq!(bed.claims.refusal(&ip("10.0.0.9")), None);
    }

    #[test]
    fn a_system_that_forgets_nothing_is_said_and_the_address_announced() {
        let (mut bed, here) = (Bed::new(), [v4("10.0.0.9")]);
        bed.asked.borrow_mut().remembers = true;
        assert_eq!(bed.at(0, &here), "take 10.0.0.9 on 2 for 3s, announce 10.0.0.9 on 2");
        assert!(bed.said.iter().any(|line| line.contains("CONFIG_INET_DIAG_DESTROY")), "{:?}", bed.said);
        assert_eq!(bed.at(60, &here), "announce 10.0.0.9 on 2");
        assert!(bed.said.is_empty(), "{:?}", bed.said);
    }

    #[test]
    fn a_listener_that_is_removed_leaves_no_address() {
        let (mut bed, here) = (Bed::new(), [v4("10.0.0.8")]);
        assert_eq!(
            bed.at(0, &here),
            "take 10.0.0.8 on 2 for 3s, forget those of 10.0.0.8, announce 10.0.0.8 on 2"
        );
        assert_eq!(bed.at(10, &[]), "give back 10.0.0.8 on 2");
        bed.at(20, &here);
        bed.claims.release();
        assert_eq!(bed.asked.borrow().calls.last().unwrap(), "give back 10.0.0.8 on 2");
    }
}
