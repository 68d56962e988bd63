//! Which of several backends that would do, by policy.

use super::{Round, StatementCandidate};
use crate::candidate::FULL_SHARE;
use crate::{Dice, ReadPolicy};

impl StatementCandidate {
    /// Its weight as slow start has it now.
    pub(super) fn weight(&self) -> u64 {
        u64::from(self.weight) * self.share
    }

    /// Has it fewer in flight, in proportion to its weight, than `other`?
    fn has_fewer_than(&self, other: &StatementCandidate) -> bool {
        u64::from(self.in_flight) * u64::from(other.weight)
            < u64::from(other.in_flight) * u64::from(self.weight)
    }

    /// Always true outside slow start; in it, as often as its share.
    fn takes_its_share(&self, dice: &mut Dice) -> bool {
        self.share == FULL_SHARE || dice.below(FULL_SHARE) < self.share
    }
}

impl Round<'_, '_> {
    /// `several` are at least two.
    pub(super) fn pick<'c>(
        &self,
        several: &'c [StatementCandidate],
        dice: &mut Dice,
    ) -> &'c StatementCandidate {
        let picked = match self.topology.reads {
            ReadPolicy::FewestInFlight | ReadPolicy::Sticky => fewest_in_flight(several, dice),
            ReadPolicy::Latency => self.by_latency(several, dice),
            ReadPolicy::RoundRobin => self.round_robin(several, dice),
            ReadPolicy::Weighted => weighted(several.iter(), dice),
        };
        picked.unwrap_or(&several[0])
    }

    /// The turn goes on behind the one that took it, as in [`choose`](crate::choose).
    fn round_robin<'c>(
        &self,
        several: &'c [StatementCandidate],
        dice: &mut Dice,
    ) -> Option<&'c StatementCandidate> {
        let cluster = self.wish.cluster;
        let turn = dice.next_index(cluster, self.topology.backends.len());
        let next = several.iter().position(|c| c.index >= turn).unwrap_or(0);
        let (before, from_next) = several.split_at(next);
        let mut round = from_next.iter().chain(before);
        let picked = round.find(|c| c.takes_its_share(dice));
        let picked = picked.or(from_next.first())?;
        dice.set_last_index(cluster, picked.index);
        Some(picked)
    }

    /// Of two drawn at random each as often as the other would make one wait. The slower one is
    /// taken as well now and then, or nobody would notice that it has become faster.
    fn by_latency<'c>(
        &self,
        several: &'c [StatementCandidate],
        dice: &mut Dice,
    ) -> Option<&'c StatementCandidate> {
        let count = several.len();
        let one = dice.below(count as u64) as usize;
        // Drawn from the others: a step of 1 ..= count − 1 round the list.
        let step = 1 + dice.below(count as u64 - 1) as usize;
        let (one, other) = (several.get(one)?, several.get((one + step) % count)?);
        let cost = |candidate: &StatementCandidate| {
            let latency = self.latency(candidate);
            let latency = latency.map(|it| it.as_secs_f64())?;
            let queue = f64::from(candidate.in_flight + 1);
            Some(latency * queue / candidate.weight() as f64)
        };
        // One that nobody has measured is taken to be as fast as the other.
        let (of_one, of_other) = match (cost(one), cost(other)) {
            (Some(of_one), Some(of_other)) => (of_one, of_other),
            _ => (1.0 / one.weight() as f64, 1.0 / other.weight() as f64),
        };
        const PARTS: u64 = 1 << 32;
        let share = of_other / (of_one + of_other);
        match (dice.below(PARTS) as f64) < share * PARTS as f64 {
            true => Some(one),
            false => Some(other),
        }
    }
}

/// Of those with as few in flight each as often as its weight says. One in slow start, which is idle
/// and would take all, gets its part of what all get, as long as it has no more in flight than
/// others.
fn fewest_in_flight<'c>(
    several: &'c [StatementCandidate],
    dice: &mut Dice,
) -> Option<&'c StatementCandidate> {
    let full = several.iter().filter(|c| c.share == FULL_SHARE);
    let Some(best) = fewest(full, dice) else {
        return fewest(several.iter(), dice);
    };
    let all: u64 = several.iter().map(StatementCandidate::weight).sum();
    let mut returning = several.iter().filter(|c| c.share != FULL_SHARE);
    let returned = returning.find(|c| !best.has_fewer_than(c) && dice.below(all) < c.weight());
    Some(returned.unwrap_or(best))
}

fn fewest<'c>(
    candidates: impl Iterator<Item = &'c StatementCandidate> + Clone,
    dice: &mut Dice,
) -> Option<&'c StatementCandidate> {
    let best = candidates.clone().reduce(|best, candidate| {
        if candidate.has_fewer_than(best) {
            candidate
        } else {
            best
        }
    })?;
    let mut equals = candidates.filter(|c| !best.has_fewer_than(c));
    match (equals.next(), equals.clone().next()) {
        (Some(first), Some(_)) => weighted(std::iter::once(first).chain(equals), dice),
        _ => Some(best),
    }
}

fn weighted<'c>(
    candidates: impl Iterator<Item = &'c StatementCandidate> + Clone,
    dice: &mut Dice,
) -> Option<&'c StatementCandidate> {
    let total = candidates.clone().map(StatementCandidate::weight).sum();
    let mut point = dice.spread_below(total);
    let mut candidates = candidates;
    candidates.find(|candidate| {
        let hit = point < candidate.weight();
        point = point.saturating_sub(candidate.weight());
        hit
    })
}
