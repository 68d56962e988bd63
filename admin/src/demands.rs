//! The data that workers are asked for, for the tables of a statement.

/// The data that workers must be asked for, for one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// No data.
    Nothing,
    /// Their current state: sessions, pools, statements under way.
    Sessions,
    /// Their statement statistics.
    Insight,
    /// Only the errors of those statistics.
    Errors,
}

/// The data that workers must be asked for, for several tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demands(u8);

impl Demands {
    /// The number of different sets of demands.
    pub const COUNT: usize = 8;

    /// The set of all these demands.
    pub fn of(all: impl Iterator<Item = Asks>) -> Self {
        let bits = all.map(Self::bit);
        Self(bits.fold(0, |all, bit| all | bit))
    }

    /// Whether a demand is in the set.
    pub fn contain(self, asks: Asks) -> bool {
        self.0 & Self::bit(asks) != 0
    }

    /// The number of this set, below [`Self::COUNT`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    fn bit(asks: Asks) -> u8 {
        match asks {
            Asks::Nothing => 0,
            Asks::Sessions => 1,
            Asks::Insight => 2,
            Asks::Errors => 4,
        }
    }
}
