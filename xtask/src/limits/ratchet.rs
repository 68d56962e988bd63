//! `xtask/limits.toml`: what exceeds a limit today, and by which figure.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{Figures, Measured};
use crate::read;

const HEAD: &str = "\
# What exceeds a limit of the code's structure, with today's figure. A figure may only fall.
# `cargo run -p xtask -- limits --write` writes this file, and refuses a figure that has grown.
";

/// The figures that were written down, by measure.
pub struct Ratchet(Table);

impl Ratchet {
    /// Reads what was written down. An error says which file cannot be read and why.
    pub fn read(root: &Path) -> Result<Self, Vec<String>> {
        let path = path(root);
        let table = read(&path)?.parse();
        table
            .map(Self)
            .map_err(|error| vec![format!("{}: {error}", path.display())])
    }

    /// The figures that have grown, a line each.
    pub fn grown(&self, measured: &Measured) -> Vec<String> {
        let mut grown = Vec::new();
        for (measure, figures) in measured {
            for (name, figure) in figures {
                let most = self.figure(measure.name, name).unwrap_or(measure.limit);
                if *figure > most {
                    grown.push(format!(
                        "{}: {name} has {figure}, and {most} is the most (the limit is {})",
                        measure.name, measure.limit
                    ));
                }
            }
        }
        grown
    }

    /// The figures that have grown, and those that have fallen and still stand here, a line each.
    pub fn faults(&self, measured: &Measured) -> Vec<String> {
        let mut faults = self.grown(measured);
        let fallen: usize = measured
            .iter()
            .map(|(measure, figures)| self.fallen(measure.name, figures))
            .sum();
        if fallen > 0 && faults.is_empty() {
            faults.push(format!(
                "{fallen} figures of xtask/limits.toml are lower now. `cargo run -p xtask -- limits --write` writes that down"
            ));
        }
        faults
    }

    /// How many figures of this measure are lower than what stands here.
    fn fallen(&self, measure: &str, figures: &Figures) -> usize {
        let written = self.0.get(measure).and_then(Value::as_table);
        let written = written.into_iter().flatten();
        let is_lower = |(name, value): &(&String, &Value)| {
            let now = figures.get(*name).copied().unwrap_or_default();
            as_figure(value).is_some_and(|figure| figure > now)
        };
        written.filter(is_lower).count()
    }

    fn figure(&self, measure: &str, name: &str) -> Option<usize> {
        self.0.get(measure)?.get(name).and_then(as_figure)
    }
}

fn as_figure(value: &Value) -> Option<usize> {
    value.as_integer().and_then(|figure| figure.try_into().ok())
}

/// Writes the figures that exceed their limits.
pub fn write(root: &Path, measured: &Measured) -> Result<(), Vec<String>> {
    let mut text = HEAD.to_owned();
    for (measure, figures) in measured {
        text.push_str(&format!("\n[{:?}]\n", measure.name));
        for (name, figure) in figures {
            text.push_str(&format!("{name:?} = {figure}\n"));
        }
    }
    let path = path(root);
    std::fs::write(&path, text).map_err(|error| vec![format!("{}: {error}", path.display())])
}

fn path(root: &Path) -> PathBuf {
    root.join("xtask/limits.toml")
}

#[cfg(test)]
mod tests {
    use super::super::Measure;
    use super::*;

    static MEASURE: Measure = Measure {
        name: "fields",
        limit: 15,
        figures: |_| Figures::new(),
    };

    fn faults(written: &str, figures: &[(&str, usize)]) -> usize {
        let ratchet = Ratchet(written.parse().unwrap_or_default());
        let figures = figures
            .iter()
            .map(|(name, figure)| (String::from(*name), *figure));
        ratchet.faults(&vec![(&MEASURE, figures.collect())]).len()
    }

    #[test]
    fn what_exceeds_a_limit_must_be_written_down() {
        assert_eq!(faults("", &[("a", 16)]), 1);
        assert_eq!(faults("[fields]\na = 16", &[("a", 16)]), 0);
    }

    #[test]
    fn a_figure_may_not_grow() {
        assert_eq!(faults("[fields]\na = 16", &[("a", 17)]), 1);
    }

    #[test]
    fn a_figure_that_has_fallen_is_written_down() {
        assert_eq!(faults("[fields]\na = 18", &[("a", 17)]), 1);
        assert_eq!(faults("[fields]\na = 18", &[]), 1);
    }
}
