//! Sorted intervals of transaction numbers.

/// The numbers from `start` to `end`, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Interval {
    /// The first number, at least 1.
    pub start: u64,
    /// The last number, at least `start`.
    pub end: u64,
}

/// The highest number: `GNO_END` − 1 of MySQL.
pub(crate) const NUMBER_MAX: u64 = i64::MAX as u64 - 1;

/// Disjoint intervals in order, with a gap between neighbours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Intervals {
    sorted: Vec<Interval>,
}

impl Intervals {
    pub(crate) fn as_slice(&self) -> &[Interval] {
        &self.sorted
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Returns the last interval that begins at or before a number.
    fn at_or_before(&self, number: u64) -> Option<&Interval> {
        let behind = self.sorted.partition_point(|it| it.start <= number);
        behind.checked_sub(1).and_then(|at| self.sorted.get(at))
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.at_or_before(number).is_some_and(|it| number <= it.end)
    }

    pub(crate) fn contains_all(&self, other: &Self) -> bool {
        other.sorted.iter().all(|it| {
            self.at_or_before(it.start)
                .is_some_and(|own| it.end <= own.end)
        })
    }

    /// Adds an interval, and merges it with the intervals that it touches.
    pub(crate) fn add(&mut self, added: Interval) {
        let first = self
            .sorted
            .partition_point(|it| it.end < added.start.saturating_sub(1));
        let behind = self
            .sorted
            .partition_point(|it| it.start <= added.end.saturating_add(1));
        let touched = self.sorted.get(first..behind).unwrap_or_default();
        let joined = Interval {
            start: touched
                .first()
                .map_or(added.start, |it| it.start.min(added.start)),
            end: touched.last().map_or(added.end, |it| it.end.max(added.end)),
        };
        self.sorted.splice(first..behind.max(first), [joined]);
    }

    /// Merges intervals that are in any order.
    pub(crate) fn of(mut intervals: Vec<Interval>) -> Self {
        intervals.sort_unstable();
        let mut sorted: Vec<Interval> = Vec::new();
        for next in intervals {
            match sorted.last_mut() {
                Some(last) if next.start <= last.end + 1 => last.end = last.end.max(next.end),
                _ => sorted.push(next),
            }
        }
        Self { sorted }
    }

    /// Adds all numbers of another set.
    pub(crate) fn union(&mut self, other: &Self) {
        *self = Self::of([self.as_slice(), other.as_slice()].concat());
    }

    /// Removes all numbers of another set.
    pub(crate) fn subtract(&mut self, other: &Self) {
        let mut rest = Vec::new();
        let mut others = other.sorted.iter().peekable();
        for own in &self.sorted {
            let mut start = own.start;
            while let Some(removed) = others.peek() {
                if removed.start > own.end {
                    break;
                }
                if removed.start > start {
                    let end = removed.start - 1;
                    rest.push(Interval { start, end });
                }
                start = start.max(removed.end + 1);
                // A removed interval that ends after this one may overlap the next one, so keep it.
                if removed.end > own.end {
                    break;
                }
                others.next();
            }
            if start <= own.end {
                let end = own.end;
                rest.push(Interval { start, end });
            }
        }
        self.sorted = rest;
    }
}
