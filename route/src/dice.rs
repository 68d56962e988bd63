//! A worker's random numbers and round-robin turns. They are seeded, so that a run can be repeated.

use crate::ClusterId;

/// A small generator of uniform pseudo-random numbers, and the round-robin turns. Each worker owns one.
#[derive(Debug, Clone)]
pub struct Dice {
    random: u64,
    spread: u64,
    /// The next index of each cluster, by cluster id.
    turns: Vec<usize>,
    /// The index at which the turns of a cluster begin.
    first_index: usize,
}

/// 2⁶⁴ divided by the golden ratio: steps of this length fill the circle evenly at any count.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Dice {
    /// Makes dice that give the same numbers for the same seed. Give each worker another seed, so that their
    /// turns begin at different backends.
    pub fn new(seed: u64) -> Dice {
        let mut dice = Dice {
            random: seed,
            spread: 0,
            turns: Vec::new(),
            first_index: 0,
        };
        dice.spread = dice.next();
        dice.first_index = dice.next() as usize;
        dice
    }

    /// Returns any 64-bit number.
    pub fn throw(&mut self) -> u64 {
        self.next()
    }

    /// Returns a number in `0..bound`; zero if `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        scaled(self.next(), bound)
    }

    /// Returns a number in `0..bound` from a sequence that covers the range evenly after any number of
    /// calls. Independent random numbers would form clusters.
    pub fn spread_below(&mut self, bound: u64) -> u64 {
        self.spread = self.spread.wrapping_add(GOLDEN);
        scaled(self.spread, bound)
    }

    /// Returns the index of the next turn in a cluster with `count` backends.
    pub(crate) fn next_index(&self, cluster: ClusterId, count: usize) -> usize {
        let turn = self.turns.get(cluster.0 as usize);
        turn.copied().unwrap_or(self.first_index) % count.max(1)
    }

    /// Lets the next turn of a cluster begin after the backend with this index.
    pub(crate) fn set_last_index(&mut self, cluster: ClusterId, last: usize) {
        let index = cluster.0 as usize;
        if self.turns.len() <= index {
            self.turns.resize(index + 1, self.first_index);
        }
        self.turns[index] = last + 1;
    }

    /// SplitMix64 (Steele, Lea, Flood 2014): one addition, two multiplications, any seed is good.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(GOLDEN);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Maps all of `u64` onto `0..bound` (multiply and shift; no division, a bias below bound/2⁶⁴).
fn scaled(number: u64, bound: u64) -> u64 {
    ((u128::from(number) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_throws() {
        let throws = |seed| {
            let mut dice = Dice::new(seed);
            (0..32).map(|_| dice.below(6)).collect::<Vec<_>>()
        };
        assert_eq!(throws(1), throws(1));
        assert_ne!(throws(1), throws(2));
    }

    #[test]
    fn throws_are_even_and_within_bounds() {
        let mut dice = Dice::new(7);
        let mut seen = [0u32; 6];
        for _ in 0..6000 {
            seen[dice.below(6) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (900..1100).contains(n)), "{seen:?}");
    }

    #[test]
    fn twenty_spread_draws_cover_every_tenth_of_the_range() {
        let mut dice = Dice::new(7);
        for _ in 0..50 {
            let mut seen = [0u32; 10];
            for _ in 0..20 {
                seen[dice.spread_below(10) as usize] += 1;
            }
            assert!(seen.iter().all(|n| *n >= 1), "{seen:?}");
        }
    }
}
