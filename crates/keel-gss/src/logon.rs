//! What a domain says of an account besides its name: its security identifier and those of its groups.
//!
//! Active Directory and its kin put that into each ticket, signed (the *PAC*, [MS-PAC]); the library has verified the signature with the
//! service's key when it hands it over as the attribute [`ATTRIBUTE`] of the client's name. It is the structure `KERB_VALIDATION_INFO`
//! (2.5) in NDR, as [MS-RPCE] 2.2.6 serializes a type: a header, what the structure itself holds, and then, in the order of
//! its pointers, all that they point to.

use crate::error::{Error, Result};

/// Name of the attribute.
pub(crate) const ATTRIBUTE: &str = "urn:mspac:logon-info";

/// `SE_GROUP_ENABLED`: the group counts.
const ENABLED: u32 = 4;
/// Parts of a security identifier at most ([MS-DTYP] 2.4.2.2).
const PARTS_MAX: usize = 15;
/// Before the structure: the common type header, the private header for constructed types, and a pointer to it.
const HEADER_BYTES: usize = 8 + 8 + 4;

/// An account as its domain knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logon {
    /// The domain's short name (NetBIOS).
    pub domain: String,
    /// The account's name there (`sAMAccountName`), which its principal's need not be.
    pub name: String,
    /// The account's security identifier, in binary form ([MS-DTYP] 2.4.2.2).
    pub sid: Vec<u8>,
    /// Those of all groups that it belongs to, directly and by others.
    pub groups: Vec<Vec<u8>>,
}

impl Logon {
    /// Reads one.
    ///
    /// # Errors
    /// When it is cut off, or says that something is longer than it is.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Logon> {
        decode(bytes).ok_or(Error::BadLogon)
    }
}

/// A counted text of the structure: its characters follow where its pointer's turn comes.
struct Text {
    pointer: u32,
}

/// Numbers of groups in a domain with what they count for: how many, and the pointer to them.
struct Members {
    count: u32,
    pointer: u32,
}

fn decode(bytes: &[u8]) -> Option<Logon> {
    let mut ndr = Ndr { bytes, at: HEADER_BYTES };
    // Little-endian, version 1: the only form that is allowed.
    (bytes.get(..2)? == [1, 0x10]).then_some(())?;
    ndr.skip(6 * 8)?; // Times of log-on, log-off and password.
    let names = ndr.texts::<6>()?; // The account's, and paths of its profile.
    ndr.skip(4)?; // Counts of log-ons.
    let (user, primary) = (ndr.u32()?, ndr.u32()?);
    let groups = ndr.members()?;
    ndr.skip(4 + 16)?; // Flags; a key that Kerberos does not use.
    let [server, domain] = ndr.texts::<2>()?;
    let domain_sid = ndr.u32()?;
    ndr.skip(8 + 4 + 4 + 16 + 4 + 4)?; // Control, status and times of what failed.
    let extra = ndr.members()?;
    let resource_sid = ndr.u32()?;
    let resource = ndr.members()?;

    let [name, others @ ..] = &names;
    let name = ndr.text(name)?;
    for other in others {
        ndr.text(other)?;
    }
    let groups = ndr.relative(&groups)?;
    ndr.text(&server)?;
    let domain = ndr.text(&domain)?;
    let domain_sid = ndr.sid(domain_sid)??;
    let extra = ndr.extra(&extra)?;
    let resource_sid = ndr.sid(resource_sid)?;
    let resource = ndr.relative(&resource)?;

    let of_domain = |number: u32| below(&domain_sid, number);
    let sid = of_domain(user)?;
    let mut all = vec![of_domain(primary)?];
    all.extend(groups.into_iter().map(of_domain).collect::<Option<Vec<_>>>()?);
    all.extend(extra);
    if let Some(of) = resource_sid {
        all.extend(resource.into_iter().map(|number| below(&of, number)).collect::<Option<Vec<_>>>()?);
    }
    all.sort_unstable();
    all.dedup();
    Some(Logon { domain, name, sid, groups: all })
}

/// An identifier with one more part.
fn below(domain: &[u8], number: u32) -> Option<Vec<u8>> {
    let mut sid = domain.to_vec();
    sid[1] = sid[1].checked_add(1).filter(|parts| usize::from(*parts) <= PARTS_MAX)?;
    sid.extend(number.to_le_bytes());
    Some(sid)
}

/// Reads on; `None` where there is no more.
struct Ndr<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Ndr<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..)?.get(..bytes)?;
        self.at += bytes;
        Some(taken)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.take(bytes).map(drop)
    }

    /// A number, at the next multiple of its size.
    fn u32(&mut self) -> Option<u32> {
        self.at = self.at.next_multiple_of(4);
        Some(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn texts<const N: usize>(&mut self) -> Option<[Text; N]> {
        let mut texts = Vec::with_capacity(N);
        for _ in 0..N {
            self.u32()?; // Lengths, which stand before the characters once more.
            texts.push(Text { pointer: self.u32()? });
        }
        texts.try_into().ok()
    }

    fn members(&mut self) -> Option<Members> {
        Some(Members { count: self.u32()?, pointer: self.u32()? })
    }

    /// What a text's pointer points to.
    fn text(&mut self, text: &Text) -> Option<String> {
        if text.pointer == 0 {
            return Some(String::new());
        }
        let (_, offset, count) = (self.u32()?, self.u32()?, self.u32()?);
        let characters = self.take(usize::try_from(count).ok()?.checked_mul(2)?)?;
        (offset == 0).then_some(())?;
        let units = characters.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
        Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }

    /// How many things an array has, which its structure has said before.
    fn count(&mut self, members: &Members) -> Option<usize> {
        if members.pointer == 0 {
            return Some(0);
        }
        let count = self.u32()?;
        (count == members.count).then_some(())?;
        usize::try_from(count).ok()
    }

    /// `GROUP_MEMBERSHIP`s that count: their numbers in their domain.
    fn relative(&mut self, members: &Members) -> Option<Vec<u32>> {
        let mut numbers = Vec::new();
        for _ in 0..self.count(members)? {
            let (number, attributes) = (self.u32()?, self.u32()?);
            numbers.extend((attributes & ENABLED != 0).then_some(number));
        }
        Some(numbers)
    }

    /// `KERB_SID_AND_ATTRIBUTES` that count: an array of pointers, and then what they point to.
    fn extra(&mut self, members: &Members) -> Option<Vec<Vec<u8>>> {
        let mut entries = Vec::new();
        for _ in 0..self.count(members)? {
            entries.push((self.u32()?, self.u32()?));
        }
        let mut sids = Vec::new();
        for (pointer, attributes) in entries {
            let sid = self.sid(pointer)?;
            sids.extend(sid.filter(|_| attributes & ENABLED != 0));
        }
        Some(sids)
    }

    /// What a pointer to a security identifier points to: how many parts it has, and the identifier as it is stored everywhere.
    #[expect(clippy::option_option, reason = "cut off, or there is none")]
    fn sid(&mut self, pointer: u32) -> Option<Option<Vec<u8>>> {
        if pointer == 0 {
            return Some(None);
        }
        let parts = usize::try_from(self.u32()?).ok().filter(|parts| *parts <= PARTS_MAX)?;
        let sid = self.take(8 + 4 * parts)?;
        (sid[0] == 1 && usize::from(sid[1]) == parts).then(|| Some(sid.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the structure as a domain would.
    #[derive(Default)]
    struct Writer {
        bytes: Vec<u8>,
        later: Vec<u8>,
    }

    impl Writer {
        fn u32(&mut self, number: u32) {
            self.bytes.extend(number.to_le_bytes());
        }

        fn zeros(&mut self, bytes: usize) {
            self.bytes.resize(self.bytes.len() + bytes, 0);
        }

        fn later(&mut self, numbers: &[u32]) {
            self.later.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        }

        fn text(&mut self, text: &str) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let count = u32::try_from(units.len()).expect("short");
            self.u32(count * 2 * 0x1_0001);
            self.u32(0x2_0000);
            self.later(&[count, 0, count]);
            self.later.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
            self.later.resize(self.later.len().next_multiple_of(4), 0);
        }

        fn sid_later(&mut self, sid: &[u8]) {
            self.later(&[sid[1].into()]);
            self.later.extend(sid);
        }
    }

    fn sid(parts: &[u32]) -> Vec<u8> {
        let mut sid = vec![1, u8::try_from(parts.len()).expect("few"), 0, 0, 0, 0, 0, 5];
        sid.extend(parts.iter().flat_map(|part| part.to_le_bytes()));
        sid
    }

    const DOMAIN: [u32; 4] = [21, 1, 2, 3];

    fn of_domain(number: u32) -> Vec<u8> {
        sid(&[&DOMAIN[..], &[number]].concat())
    }

    /// Account 1104 of CORP with groups of its domain, one that does not count, one of elsewhere and one of a resource domain.
    fn written() -> Vec<u8> {
        let header = vec![1, 0x10, 8, 0, 0xCC, 0xCC, 0xCC, 0xCC];
        let mut w = Writer { bytes: header, ..Writer::default() };
        w.zeros(8 + 4 + 48);
        for name in ["bob", "Bob of Corp", "", "", "", ""] {
            w.text(name);
        }
        w.zeros(4);
        w.u32(1104);
        w.u32(513);
        w.u32(3);
        w.u32(0x2_0004);
        w.later(&[3, 513, 7, 1105, 7, 1106, 0x10]);
        w.zeros(20);
        w.text("DC1");
        w.text("CORP");
        w.u32(0x2_0008);
        w.sid_later(&sid(&DOMAIN));
        w.zeros(40);
        w.u32(1);
        w.u32(0x2_000C);
        w.later(&[1, 0x2_0010, 7]);
        w.sid_later(&sid(&[18, 1]));
        w.u32(0x2_0014);
        w.sid_later(&sid(&[21, 9, 9, 9]));
        w.u32(1);
        w.u32(0x2_0018);
        w.later(&[1, 1200, 0x2000_0007]);
        [w.bytes, w.later].concat()
    }

    #[test]
    fn an_account_is_in_the_groups_that_count() {
        let logon = Logon::decode(&written()).expect("it is whole");
        assert_eq!((logon.domain.as_str(), logon.name.as_str()), ("CORP", "bob"));
        assert_eq!(logon.sid, of_domain(1104));
        let mut groups = [of_domain(513), of_domain(1105), sid(&[18, 1]), sid(&[21, 9, 9, 9, 1200])];
        groups.sort_unstable();
        assert_eq!(logon.groups, groups);
    }

    #[test]
    fn what_is_cut_off_or_changed_says_so_or_something_else_and_does_not_harm() {
        let whole = written();
        for end in 0..whole.len() {
            assert_eq!(Logon::decode(&whole[..end]), Err(Error::BadLogon), "{end} bytes");
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut changed = whole.clone();
                changed[at] = value;
                let _ = Logon::decode(&changed);
            }
        }
    }
}
