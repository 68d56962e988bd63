//! Sets of named bits, for the uses, effects and marks of a statement.

/// Defines a set of named bits with the operations that facts need.
macro_rules! bits {
    ($(#[$type_doc:meta])* $type:ident { $($(#[$doc:meta])* $name:ident = $bit:literal,)* }) => {
        $(#[$type_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $type(u64);

        impl $type {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*

            /// Every bit with its name, in order.
            pub const NAMES: &[(Self, &str)] = &[$((Self::$name, stringify!($name)),)*];

            /// None of them.
            pub const NONE: Self = Self(0);

            /// Whether nothing is set.
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Whether any bit of `other` is set here.
            pub const fn has(self, other: Self) -> bool {
                self.0 & other.0 != 0
            }

            /// Returns the set without the bits of `other`.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Sets the bits of `other`.
            pub const fn add(&mut self, other: Self) {
                self.0 |= other.0;
            }

            /// The bits that are set here or in `other`.
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Clears the bits of `other`.
            pub const fn remove(&mut self, other: Self) {
                self.0 &= !other.0;
            }

            /// The bits that are set both here and in `other`.
            pub const fn both(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// The names of the bits that are set, in order.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                let set = Self::NAMES.iter().filter(move |(bit, _)| self.has(*bit));
                set.map(|(_, name)| *name)
            }
        }

        impl std::ops::BitOr for $type {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                self.with(other)
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_set().entries(self.names()).finish()
            }
        }
    };
}

pub(crate) use bits;
