//! Numbers that look random and are the same every time for the same seed.

/// A generator of such numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A generator that begins with `seed`. Neighbouring seeds give unrelated numbers.
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed);
        dice.next();
        dice
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }

    /// True once in `n` times, on average.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.roll(n) == 0
    }

    /// Returns one of these items.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.index(items.len())]
    }

    /// An index into a list of this length.
    pub fn index(&mut self, length: usize) -> usize {
        let length = u64::try_from(length).expect("a length fits");
        usize::try_from(self.roll(length)).expect("it is below the length")
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}
