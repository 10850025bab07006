//! The networks this machine is on, as the system lists them: to show which subnet a member of the cluster is reached over.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A network this machine has an address in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The machine's own address in it.
    pub address: IpAddr,
    /// Bits of the address that name the network.
    pub prefix: u8,
}

impl Network {
    /// The network's own address: the machine's with the other bits zero.
    #[must_use]
    pub fn subnet(&self) -> IpAddr {
        self.masked(self.address)
    }

    /// The mask, of an IPv4 network.
    #[must_use]
    pub fn mask(&self) -> Option<Ipv4Addr> {
        let ones = Ipv4Addr::BROADCAST;
        match self.masked(ones.into()) {
            IpAddr::V4(mask) if self.address.is_ipv4() => Some(mask),
            _ => None,
        }
    }

    /// Whether an address is in this network.
    #[must_use]
    pub fn holds(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && self.masked(address) == self.subnet()
    }

    fn masked(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix.min(32))).unwrap_or(0);
                Ipv4Addr::from(u32::from(ip) & mask).into()
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix.min(128))).unwrap_or(0);
                Ipv6Addr::from(u128::from(ip) & mask).into()
            }
        }
    }
}

/// All networks this machine is on; none when the system does not say.
#[must_use]
pub fn networks() -> Vec<Network> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the call writes the head of a list that it makes; it is given back below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = first;
    while !at.is_null() {
        // SAFETY: `at` is an element of the list, which lives until freeifaddrs.
        let entry = unsafe { &*at };
        // SAFETY: both pointers are null or lead to an address of the family they name, as long as the list lives.
        let pair = unsafe { (address_of(entry.ifa_addr), address_of(entry.ifa_netmask)) };
        if let (Some(address), Some(mask)) = pair {
            let ones = match mask {
                IpAddr::V4(mask) => u32::from(mask).leading_ones(),
                IpAddr::V6(mask) => u128::from(mask).leading_ones(),
            };
            found.push(Network { address, prefix: u8::try_from(ones).unwrap_or(0) });
        }
        at = entry.ifa_next;
    }
    // SAFETY: the list that getifaddrs made, given back once.
    unsafe { libc::freeifaddrs(first) };
    found
}

/// The address a structure of the system holds.
///
/// # Safety
/// `address` is null or points to a structure of the family that it names.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: not null, and every address structure begins with its family.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => {
            // SAFETY: of this family, says the caller.
            let v4 = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: of this family, says the caller.
            let v6 = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_on_its_own_loopback() {
        let loopback = networks().into_iter().find(|n| n.address == IpAddr::from(Ipv4Addr::LOCALHOST));
        let loopback = loopback.expect("every machine has one");
        assert_eq!((loopback.prefix, loopback.subnet()), (8, Ipv4Addr::new(127, 0, 0, 0).into()));
        assert_eq!(loopback.mask(), Some(Ipv4Addr::new(255, 0, 0, 0)));
        assert!(loopback.holds("127.9.9.9".parse().unwrap()));
        assert!(!loopback.holds("128.0.0.1".parse().unwrap()));
        assert!(!loopback.holds("::1".parse().unwrap()));
    }

    #[test]
    fn the_shortest_and_longest_prefixes_mask_everything_and_nothing() {
        let network = |prefix| Network { address: "fe80::1".parse().unwrap(), prefix };
        assert!(network(0).holds("::1".parse().unwrap()));
        assert!(!network(128).holds("fe80::2".parse().unwrap()));
        assert!(network(64).holds("fe80::2".parse().unwrap()));
    }
}
