//! Lock modes: which go together, and what two of them held by one owner amount to.

use std::fmt;

/// A lock mode. The range modes apply to key ranges of a tree only ([`super::Resource::Range`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Mode {
    /// Schema stability: the object keeps its definition.
    SchS,
    /// Schema modification: nobody else has anything to do with the object.
    SchM,
    /// Intent to share something inside.
    IS,
    /// Shared.
    S,
    /// Update: shared with readers, one at a time, to become exclusive.
    U,
    /// Intent to change something inside.
    IX,
    /// Shared, with intent to change something inside.
    SIX,
    /// Bulk update: rows are added by those who hold it, side by side, without locks of their own.
    BU,
    /// Exclusive.
    X,
    /// A range read by a serializable transaction: nobody writes into it.
    RangeSS,
    /// As [`Mode::RangeSS`], one at a time, to write into it.
    RangeSU,
    /// A write into a range: waits for those who read it.
    RangeIN,
    /// A range written by one.
    RangeXX,
}

impl Mode {
    /// All modes in order.
    pub const ALL: [Mode; 13] = [
        Mode::SchS,
        Mode::SchM,
        Mode::IS,
        Mode::S,
        Mode::U,
        Mode::IX,
        Mode::SIX,
        Mode::BU,
        Mode::X,
        Mode::RangeSS,
        Mode::RangeSU,
        Mode::RangeIN,
        Mode::RangeXX,
    ];

    const fn bit(self) -> u16 {
        1 << self as u16
    }

    /// The modes of others that this one cannot be granted beside.
    const fn conflicts(self) -> u16 {
        use Mode::{BU, IS, IX, RangeIN, RangeSS, RangeSU, RangeXX, S, SIX, SchM, SchS, U, X};
        let all_but_bulk = SchM.bit() | IS.bit() | S.bit() | U.bit() | IX.bit() | SIX.bit() | X.bit();
        let all_but_stability = all_but_bulk | BU.bit();
        match self {
            SchS => SchM.bit(),
            SchM => all_but_stability | SchS.bit(),
            IS => SchM.bit() | BU.bit() | X.bit(),
            S => SchM.bit() | BU.bit() | IX.bit() | SIX.bit() | X.bit(),
            U => SchM.bit() | BU.bit() | U.bit() | IX.bit() | SIX.bit() | X.bit(),
            IX => SchM.bit() | BU.bit() | S.bit() | U.bit() | SIX.bit() | X.bit(),
            SIX => SchM.bit() | BU.bit() | S.bit() | U.bit() | IX.bit() | SIX.bit() | X.bit(),
            BU => all_but_bulk,
            X => all_but_stability,
            RangeSS => RangeIN.bit() | RangeXX.bit(),
            RangeSU => RangeSU.bit() | RangeIN.bit() | RangeXX.bit(),
            RangeIN => RangeSS.bit() | RangeSU.bit() | RangeXX.bit(),
            RangeXX => RangeSS.bit() | RangeSU.bit() | RangeIN.bit() | RangeXX.bit(),
        }
    }

    /// Whether this mode can be granted while another owner holds `held`.
    #[inline]
    #[must_use]
    pub const fn compatible(self, held: Mode) -> bool {
        self.conflicts() & held.bit() == 0
    }

    /// Whether holding this mode makes asking for `wanted` unnecessary.
    #[inline]
    #[must_use]
    pub fn covers(self, wanted: Mode) -> bool {
        self.join(wanted) == self
    }

    /// The weakest mode that gives the rights of both.
    #[must_use]
    pub fn join(self, other: Mode) -> Mode {
        use Mode::{BU, IS, IX, RangeSS, RangeSU, RangeXX, S, SIX, SchM, SchS, U, X};
        if self == other {
            return self;
        }
        match if self < other { (self, other) } else { (other, self) } {
            (SchS, stronger) => stronger,
            (SchM, _) => SchM,
            // Bulk update excludes even intents, and an intent excludes other bulk updates.
            (_, BU) => X,
            (IS, stronger) => stronger,
            (S, U) => U,
            // The product has UIX for the second; nothing that one excludes is allowed beside the other.
            (S | U, IX) => SIX,
            (S | U | IX, SIX) => SIX,
            (_, X) => X,
            (RangeSS, RangeSU) => RangeSU,
            (RangeSS | RangeSU, _) => RangeXX,
            (_, stronger) => stronger,
        }
    }

    /// The product's name, as in `sys.dm_tran_locks.request_mode`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mode::SchS => "Sch-S",
            Mode::SchM => "Sch-M",
            Mode::IS => "IS",
            Mode::S => "S",
            Mode::U => "U",
            Mode::IX => "IX",
            Mode::SIX => "SIX",
            Mode::BU => "BU",
            Mode::X => "X",
            Mode::RangeSS => "RangeS-S",
            Mode::RangeSU => "RangeS-U",
            Mode::RangeIN => "RangeI-N",
            Mode::RangeXX => "RangeX-X",
        }
    }

    /// The product's wait type, as in `sys.dm_os_wait_stats`.
    #[must_use]
    pub const fn wait_type(self) -> &'static str {
        match self {
            Mode::SchS => "LCK_M_SCH_S",
            Mode::SchM => "LCK_M_SCH_M",
            Mode::IS => "LCK_M_IS",
            Mode::S => "LCK_M_S",
            Mode::U => "LCK_M_U",
            Mode::IX => "LCK_M_IX",
            Mode::SIX => "LCK_M_SIX",
            Mode::BU => "LCK_M_BU",
            Mode::X => "LCK_M_X",
            Mode::RangeSS => "LCK_M_RS_S",
            Mode::RangeSU => "LCK_M_RS_U",
            Mode::RangeIN => "LCK_M_RIn_NL",
            Mode::RangeXX => "LCK_M_RX_X",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published matrix of the common modes: `+` compatible.
    #[test]
    fn compatibility_is_the_products() {
        let modes =
            [Mode::IS, Mode::S, Mode::U, Mode::IX, Mode::SIX, Mode::BU, Mode::X, Mode::SchS, Mode::SchM];
        let table = [
            "+++++--+-", // IS
            "+++----+-", // S
            "++-----+-", // U
            "+--+---+-", // IX
            "+------+-", // SIX
            "-----+-+-", // BU
            "-------+-", // X
            "++++++++-", // Sch-S
            "---------", // Sch-M
        ];
        for (row, wanted) in modes.iter().enumerate() {
            for (column, held) in modes.iter().enumerate() {
                let expected = table[row].as_bytes()[column] == b'+';
                assert_eq!(wanted.compatible(*held), expected, "{wanted} beside {held}");
            }
        }
    }

    #[test]
    fn compatibility_is_symmetric() {
        for a in Mode::ALL {
            for b in Mode::ALL {
                assert_eq!(a.compatible(b), b.compatible(a), "{a} and {b}");
            }
        }
    }

    #[test]
    fn a_join_excludes_whatever_its_parts_exclude() {
        let plain = &Mode::ALL[..9];
        for &a in plain {
            for &b in plain {
                let join = a.join(b);
                assert_eq!(join, b.join(a));
                assert!(join.covers(a) && join.covers(b), "{a}+{b}={join}");
                for &held in plain {
                    let parts_allow = a.compatible(held) && b.compatible(held);
                    assert!(parts_allow || !join.compatible(held), "{a}+{b}={join} beside {held}");
                }
            }
        }
        assert_eq!(Mode::S.join(Mode::IX), Mode::SIX);
        assert_eq!(Mode::S.join(Mode::U), Mode::U);
        assert!(!Mode::S.covers(Mode::IX));
    }
}
