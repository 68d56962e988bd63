//! Why a session cannot leave its backend connection, by name.

use std::fmt;

macro_rules! pins {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// One reason why a session stays on its backend connection.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Pin {
            $($(#[$doc])* $variant,)*
        }

        impl Pin {
            /// Every pin, in the order of the enum.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name as users see it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

pins! {
    /// A transaction is open, or may be.
    Transaction = "transaction",
    /// SET TRANSACTION has set something for the next transaction, which has not begun.
    NextTransaction = "next_transaction",
    /// A temporary table exists.
    TemporaryTable = "temporary_table",
    /// LOCK TABLES
    TableLock = "table_lock",
    /// FLUSH TABLES WITH READ LOCK
    GlobalLock = "global_lock",
    /// LOCK INSTANCE FOR BACKUP, BACKUP STAGE, BACKUP LOCK
    InstanceLock = "instance_lock",
    /// GET_LOCK
    NamedLock = "named_lock",
    /// HANDLER … OPEN
    Handler = "handler",
    /// An XA transaction is between its START and its end.
    Xa = "xa",
    /// A prepared statement has an open cursor.
    Cursor = "cursor",
    /// A user variable's value is not known yet, or cannot be written as a literal.
    UserVariable = "user_variable",
    /// A session variable's value is not known yet, or cannot be set elsewhere.
    Variable = "variable",
    /// PREPARE was said in SQL text.
    PreparedText = "prepared_text",
    /// A procedure, a stored function or something not understood has run.
    Routine = "routine",
    /// The server reported changed state that no statement explains.
    State = "state",
    /// A SET that is not understood.
    OpaqueSet = "opaque_set",
    /// FOUND_ROWS() returns a count that only the server knows.
    FoundRows = "found_rows",
    /// Warnings are kept by rule.
    Warnings = "warnings",
    /// LASTVAL of a sequence.
    Sequence = "sequence",
    /// SET ROLE
    Role = "role",
    /// SET RESOURCE GROUP
    ResourceGroup = "resource_group",
    /// A statement was too long to be read.
    LargeStatement = "large_statement",
    /// A command whose effects are not known.
    Protocol = "protocol",
    /// The session has changed its own account: a new login for it may not be possible.
    Account = "account",
    /// A prepared statement, by rule.
    PreparedStatement = "prepared_statement",
}

/// A set of pins.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Pins(u32);

impl Pins {
    /// None.
    pub const NONE: Self = Self(0);

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this pin is in the set.
    pub const fn has(self, pin: Pin) -> bool {
        self.0 & bit(pin) != 0
    }

    /// Adds a pin.
    pub const fn add(&mut self, pin: Pin) {
        self.0 |= bit(pin);
    }

    /// Removes a pin.
    pub const fn remove(&mut self, pin: Pin) {
        self.0 &= !bit(pin);
    }

    /// Adds or removes a pin.
    pub const fn set(&mut self, pin: Pin, is_held: bool) {
        match is_held {
            true => self.add(pin),
            false => self.remove(pin),
        }
    }

    /// The pins that are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The pins, in order.
    pub fn iter(self) -> impl Iterator<Item = Pin> {
        Pin::ALL.iter().copied().filter(move |pin| self.has(*pin))
    }
}

const fn bit(pin: Pin) -> u32 {
    1 << pin as u32
}

impl FromIterator<Pin> for Pins {
    fn from_iter<I: IntoIterator<Item = Pin>>(pins: I) -> Self {
        let mut set = Self::NONE;
        pins.into_iter().for_each(|pin| set.add(pin));
        set
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Pins {
    /// The names, with commas between.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for pin in self.iter() {
            write!(f, "{comma}{pin}")?;
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for Pins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
