//! Bit sets as newtypes: the protocol's flag bytes are combined by clients in every way, so none of them is an enum.

/// Declares a bit set over an unsigned integer with named single bits.
macro_rules! bit_set {
    ($(#[$meta:meta])* $name:ident: $int:ty { $($(#[$bit_meta:meta])* $bit:ident = $value:expr;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$bit_meta])* pub const $bit: $name = $name($value);)*

            /// No bit set.
            #[must_use]
            pub const fn empty() -> $name {
                $name(0)
            }
            /// Whether every bit of `other` is set here.
            #[must_use]
            pub const fn contains(self, other: $name) -> bool {
                self.0 & other.0 == other.0
            }
            /// This set with the bits of `other` when `on`, unchanged otherwise.
            #[must_use]
            pub const fn with_if(self, other: $name, on: bool) -> $name {
                if on { $name(self.0 | other.0) } else { self }
            }
        }

        impl std::ops::BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }
        }

        impl std::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: $name) {
                self.0 |= other.0;
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut rest = self.0;
                let mut separator = "";
                write!(f, "{}(", stringify!($name))?;
                $(
                    if $value != 0 && self.0 & $value == $value {
                        write!(f, "{separator}{}", stringify!($bit))?;
                        separator = "|";
                        rest &= !$value;
                    }
                )*
                if rest != 0 {
                    write!(f, "{separator}{rest:#x}")?;
                }
                write!(f, ")")
            }
        }
    };
}

pub(crate) use bit_set;
