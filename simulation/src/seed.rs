//! Chance that a seed decides.

/// A generator of numbers: the same seed gives the same numbers. It is SplitMix64 (Steele, Lea, Flood: "Fast
/// splittable pseudorandom number generators", 2014), which is small and passes for this use.
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// A generator that begins at `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Another generator, which this one decides.
    pub fn split(&mut self) -> Dice {
        Dice::new(self.number())
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias is below one in 2^32 for all bounds used here.
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }

    /// An index into something of `length`, which is not zero.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Whether one case of `cases` comes.
    pub fn one_in(&mut self, cases: u64) -> bool {
        self.below(cases) == 0
    }

    /// A number of milliseconds from `least` to `most`.
    pub fn millis(&mut self, least: u64, most: u64) -> std::time::Duration {
        std::time::Duration::from_millis(least + self.below(most - least + 1))
    }
}
