//! What workers are asked for the tables of a statement.

/// What workers have to be asked for a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Nothing.
    Nothing,
    /// What they have: sessions, pools, statements under way.
    Sessions,
    /// What they keep about statements.
    Insight,
    /// The errors of that alone.
    Errors,
}

/// What workers have to be asked for several tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demands(u8);

impl Demands {
    /// How many different ones there are.
    pub const COUNT: usize = 8;

    /// All of these.
    pub fn of(all: impl Iterator<Item = Asks>) -> Self {
        let bits = all.map(Self::bit);
        Self(bits.fold(0, |all, bit| all | bit))
    }

    /// Whether this is among them.
    pub fn contain(self, asks: Asks) -> bool {
        self.0 & Self::bit(asks) != 0
    }

    /// Its number, below [`Self::COUNT`].
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
