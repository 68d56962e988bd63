//! Axes: which numbers to write beside a plot, and where a value lies between them.

/// A vertical axis.
#[derive(Clone, Debug)]
pub struct Scale {
    pub ticks: Vec<f64>,
    kind: ScaleKind,
}

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleKind {
    /// Evenly, from zero.
    Linear,
    /// By decades.
    Logarithmic,
}

impl Scale {
    /// The smallest scale with round ticks that holds all values, which are positive.
    pub fn holding(kind: ScaleKind, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = values
            .into_iter()
            .filter(|value| *value > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let ticks = match kind {
            _ if high == 0.0 => vec![0.0, 1.0],
            ScaleKind::Linear => linear_ticks(high),
            ScaleKind::Logarithmic => decades(low, high),
        };
        Self { ticks, kind }
    }

    /// Where `value` lies: 0 at the lowest tick, 1 at the highest.
    pub fn position(&self, value: f64) -> f64 {
        let (first, last) = (self.ticks[0], self.ticks[self.ticks.len() - 1]);
        match self.kind {
            ScaleKind::Linear => (value - first) / (last - first),
            ScaleKind::Logarithmic => (value / first).log10() / (last / first).log10(),
        }
    }
}

/// From zero in four to eight steps of 1, 2 or 5 times a power of ten.
fn linear_ticks(high: f64) -> Vec<f64> {
    let power = 10_f64.powf((high / 4.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step
        .into_iter()
        .find(|step| high / step <= 6.0)
        .unwrap_or(power * 10.0);
    let count = (high / step).ceil() as usize;
    (0..=count).map(|number| number as f64 * step).collect()
}

fn decades(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    (first..=last.max(first + 1))
        .map(|power| 10_f64.powi(power))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_the_values() {
        let scale = Scale::holding(ScaleKind::Linear, [3.0, 141_000.0]);
        assert_eq!(scale.ticks, [0.0, 50_000.0, 100_000.0, 150_000.0]);
        assert_eq!(scale.position(75_000.0), 0.5);
        let scale = Scale::holding(ScaleKind::Logarithmic, [60.0, 5_000.0]);
        assert_eq!(scale.ticks, [10.0, 100.0, 1_000.0, 10_000.0]);
        assert!((scale.position(100.0) - 1.0 / 3.0).abs() < 1e-9);
    }
}
