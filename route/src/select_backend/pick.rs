//! The choice among several suitable backends, by policy.

use super::{Round, StatementCandidate};
use crate::candidate::FULL_SHARE;
use crate::{Dice, ReadPolicy};

impl StatementCandidate {
    /// Its weight, reduced by slow start.
    pub(super) fn weight(&self) -> u64 {
        u64::from(self.weight) * self.share
    }

    /// Whether it has fewer statements in flight than `other`, in proportion to its weight.
    fn has_fewer_than(&self, other: &StatementCandidate) -> bool {
        u64::from(self.in_flight) * u64::from(other.weight)
            < u64::from(other.in_flight) * u64::from(self.weight)
    }

    /// Always true outside slow start. During slow start, true as often as its share says.
    fn takes_its_share(&self, dice: &mut Dice) -> bool {
        self.share == FULL_SHARE || dice.below(FULL_SHARE) < self.share
    }
}

impl Round<'_, '_> {
    /// Chooses one of at least two candidates.
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

    /// The next turn begins after the chosen backend, as in [`choose`](crate::choose).
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

    /// Chooses between two random candidates, each in proportion to the other's cost. The slower one is
    /// chosen now and then too, because otherwise the proxy would not notice that it has become faster.
    fn by_latency<'c>(
        &self,
        several: &'c [StatementCandidate],
        dice: &mut Dice,
    ) -> Option<&'c StatementCandidate> {
        let count = several.len();
        let one = dice.below(count as u64) as usize;
        // The second one is drawn from the other candidates: a step of 1 ..= count − 1 round the list.
        let step = 1 + dice.below(count as u64 - 1) as usize;
        let (one, other) = (several.get(one)?, several.get((one + step) % count)?);
        let cost = |candidate: &StatementCandidate| {
            let latency = self.latency(candidate);
            let latency = latency.map(|it| it.as_secs_f64())?;
            let queue = f64::from(candidate.in_flight + 1);
            Some(latency * queue / candidate.weight() as f64)
        };
        // If one has not been measured, both count as equally fast.
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

/// Chooses among the candidates with the fewest statements in flight, each as often as its weight says. A backend
/// in slow start is idle and would get every statement. So it gets only its share of all statements, and only
/// while it has no more in flight than the best other backend.
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
