//! What exceeds a limit today, and by which figure, is written down in a file. A figure there may only fall.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

use crate::read;

/// The figures of one measure: what was measured (a crate, the path of an item, a page), and how much it is.
pub type Figures = BTreeMap<String, usize>;

/// What exceeds the limit of one measure.
pub struct Excess {
    /// The measure, which is the name of the file's table.
    pub name: &'static str,
    pub limit: usize,
    pub figures: Figures,
}

/// A file of figures.
pub struct File {
    /// From the repository's folder.
    pub path: &'static str,
    /// The comment at its top.
    pub head: &'static str,
    /// The command that writes it.
    pub command: &'static str,
}

/// The figures that were written down, by measure.
pub struct Ratchet {
    file: &'static File,
    written: Table,
}

impl Ratchet {
    /// Reads what was written down. An error says which file cannot be read and why.
    pub fn read(root: &Path, file: &'static File) -> Result<Self, Vec<String>> {
        let written = read(&root.join(file.path))?
            .parse()
            .map_err(|error| vec![format!("{}: {error}", file.path)])?;
        Ok(Self { file, written })
    }

    /// The figures that have grown, a line each.
    pub fn grown(&self, measured: &[Excess]) -> Vec<String> {
        let mut grown = Vec::new();
        for Excess {
            name: measure,
            limit,
            figures,
        } in measured
        {
            for (name, figure) in figures {
                let most = self.figure(measure, name).unwrap_or(*limit);
                if *figure > most {
                    grown.push(format!(
                        "{measure}: {name} has {figure}, and {most} is the most (the limit is {limit})"
                    ));
                }
            }
        }
        grown
    }

    /// The figures that have grown, and those that have fallen and still stand here, a line each.
    pub fn faults(&self, measured: &[Excess]) -> Vec<String> {
        let mut faults = self.grown(measured);
        let fallen: usize = measured.iter().map(|measure| self.fallen(measure)).sum();
        if fallen > 0 && faults.is_empty() {
            faults.push(format!(
                "{fallen} figures of {} are lower now. `{}` writes that down",
                self.file.path, self.file.command
            ));
        }
        faults
    }

    /// How many figures of this measure are lower than what stands here.
    fn fallen(&self, measure: &Excess) -> usize {
        let written = self.written.get(measure.name).and_then(Value::as_table);
        let written = written.into_iter().flatten();
        let is_lower = |(name, value): &(&String, &Value)| {
            let now = measure.figures.get(*name).copied().unwrap_or_default();
            as_figure(value).is_some_and(|figure| figure > now)
        };
        written.filter(is_lower).count()
    }

    /// The figure of a measure that was written down.
    pub fn figure(&self, measure: &str, name: &str) -> Option<usize> {
        self.written.get(measure)?.get(name).and_then(as_figure)
    }
}

fn as_figure(value: &Value) -> Option<usize> {
    value.as_integer().and_then(|figure| figure.try_into().ok())
}

/// Writes the figures that exceed their limits.
pub fn write(root: &Path, file: &File, measured: &[Excess]) -> Result<(), Vec<String>> {
    let mut text = file.head.to_owned();
    for measure in measured {
        text.push_str(&format!("\n[{:?}]\n", measure.name));
        for (name, figure) in &measure.figures {
            text.push_str(&format!("{name:?} = {figure}\n"));
        }
    }
    std::fs::write(root.join(file.path), text)
        .map_err(|error| vec![format!("{}: {error}", file.path)])
}

#[cfg(test)]
mod tests {
    use super::*;

    static FILE: File = File {
        path: "figures.toml",
        head: "",
        command: "write",
    };

    fn faults(written: &str, figures: &[(&str, usize)]) -> usize {
        let ratchet = Ratchet {
            file: &FILE,
            written: written.parse().unwrap_or_default(),
        };
        let figures = figures
            .iter()
            .map(|(name, figure)| (String::from(*name), *figure));
        let measured = Excess {
            name: "fields",
            limit: 15,
            figures: figures.collect(),
        };
        ratchet.faults(&[measured]).len()
    }

    #[test]
    fn figures_above_a_limit_must_be_recorded() {
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
