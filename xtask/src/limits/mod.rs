//! The limits of the code's structure, as a table of measures. Nothing may exceed a limit.

mod circles;
mod names;
mod sizes;
pub mod source;
mod surroundings;
mod test_share;

use std::fmt::Write as _;
use std::path::Path;

use crate::Outcome;
use crate::ratchet::{Excess, Figures};
use source::Crate;
use test_share::TestShare;

/// Something that has a limit.
struct Measure {
    name: &'static str,
    limit: usize,
    /// The figures of a crate. Figures of several crates with the same name add up.
    figures: fn(&Crate) -> Figures,
    /// The full names of what a crate's figure counts. `None` if the figures themselves have full names.
    list: Option<fn(&Crate) -> Vec<String>>,
}

const MEASURES: &[Measure] = &[
    Measure {
        name: "lines of a crate without its tests",
        limit: 15_000,
        figures: sizes::lines,
        list: None,
    },
    Measure {
        name: "lines of admin and http without their tests",
        limit: 12_000,
        figures: sizes::lines_of_admin_and_http,
        list: None,
    },
    Measure {
        name: "modules that refer to each other in a circle",
        limit: 1,
        figures: circles::largest,
        list: None,
    },
    Measure {
        name: "fields of a struct",
        limit: 15,
        figures: sizes::fields,
        list: None,
    },
    Measure {
        name: "lines of a function",
        limit: 70,
        figures: sizes::functions,
        list: None,
    },
    Measure {
        name: "type names that a crate has twice",
        limit: 0,
        figures: names::repeated,
        list: Some(names::list_repeated),
    },
    Measure {
        name: "type names that say nothing",
        limit: 0,
        figures: names::empty,
        list: Some(names::list_empty),
    },
    Measure {
        name: "function and field names that say nothing",
        limit: 0,
        figures: names::empty_members,
        list: Some(names::list_empty_members),
    },
    Measure {
        name: "functions and fields named by a picture",
        limit: 0,
        figures: names::pictured_members,
        list: Some(names::list_pictured_members),
    },
    Measure {
        name: "files and types named by a picture",
        limit: 0,
        figures: names::pictures,
        list: Some(names::list_pictures),
    },
    Measure {
        name: "uses of the clock, of entropy and of threads",
        limit: 0,
        figures: surroundings::direct_uses,
        list: Some(surroundings::list_direct_uses),
    },
];

/// The crates that have limits.
const CRATES: &[&str] = &[
    "system",
    "wire",
    "config",
    "sql",
    "sqlite_file",
    "auth",
    "session",
    "route",
    "pool",
    "binlog",
    "net",
    "script",
    "link",
    "kafka",
    "stats",
    "registry",
    "backend",
    "login",
    "lanes",
    "relay",
    "session_parts",
    "script_hooks",
    "command",
    "engine",
    "explain",
    "scripted",
    "worker",
    "script_host",
    "control",
    "replication",
    "import",
    "advisor",
    "history",
    "metrics",
    "admin",
    "http",
    "sandbox",
    "pilotfish",
];

/// Prints the table of limits; an error names each figure that exceeds one.
pub fn check(root: &Path) -> Outcome {
    let crates = read_crates(root)?;
    let share = TestShare::count(root, &crates)?;
    let measured = measure(&crates);
    let mut faults = faults(&measured);
    faults.extend(share.fault());
    if faults.is_empty() {
        Ok(format!("{}\n{}", table(&measured), share.line()))
    } else {
        Err(faults)
    }
}

/// The figures that exceed their limits, a line each.
fn faults(measured: &[Excess]) -> Vec<String> {
    let mut faults = Vec::new();
    for measure in measured {
        for (name, figure) in &measure.figures {
            faults.push(format!(
                "{}: {name} has {figure}, and the limit is {}",
                measure.name, measure.limit
            ));
        }
    }
    faults
}

/// Lists all that exceeds the limit of each measure whose name contains `measure`, a line each.
pub fn list(root: &Path, measure: &str) -> Outcome {
    let crates = read_crates(root)?;
    let mut lines = Vec::new();
    for measure in MEASURES.iter().filter(|it| it.name.contains(measure)) {
        lines.push(format!("{}:", measure.name));
        match measure.list {
            Some(list) => lines.extend(crates.iter().flat_map(list)),
            None => {
                let figures = measure.excess(&crates).figures;
                lines.extend(
                    figures
                        .iter()
                        .map(|(name, figure)| format!("{name} ({figure})")),
                );
            }
        }
    }
    Ok(lines.join("\n"))
}

/// Which modules of a crate refer to which.
pub fn references(root: &Path, crate_name: &str) -> Outcome {
    Ok(circles::references(&Crate::read(root, crate_name)?))
}

/// What exceeds each measure's limit.
fn measure(crates: &[Crate]) -> Vec<Excess> {
    let measures = MEASURES.iter();
    measures.map(|measure| measure.excess(crates)).collect()
}

fn read_crates(root: &Path) -> Result<Vec<Crate>, Vec<String>> {
    CRATES.iter().map(|name| Crate::read(root, name)).collect()
}

impl Measure {
    /// What exceeds the limit.
    fn excess(&self, crates: &[Crate]) -> Excess {
        let mut figures = Figures::new();
        for (name, figure) in crates.iter().flat_map(self.figures) {
            *figures.entry(name).or_default() += figure;
        }
        figures.retain(|_, figure| *figure > self.limit);
        Excess {
            name: self.name,
            limit: self.limit,
            figures,
        }
    }
}

/// A line for each measure: its limit, how many exceed it, and the greatest of them.
fn table(measured: &[Excess]) -> String {
    let mut table = format!(
        "{:46} {:>6} {:>6}  the greatest\n",
        "limits", "limit", "above"
    );
    for measure in measured {
        let figures = &measure.figures;
        let _ = write!(
            table,
            "{:46} {:>6} {:>6}",
            measure.name,
            measure.limit,
            figures.len()
        );
        if let Some((name, figure)) = figures.iter().max_by_key(|(_, figure)| **figure) {
            let _ = write!(table, "  {figure} {name}");
        }
        table.push('\n');
    }
    table.truncate(table.trim_end().len());
    table
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::source::Module;
    use super::*;

    /// What the measure of structs says of one with so many fields.
    fn faults_of(count: usize) -> Vec<String> {
        let measure = MEASURES.iter().find(|it| it.name == "fields of a struct");
        let fields: String = (0..count).map(|it| format!("f{it}: u8,")).collect();
        let text = format!("struct A {{{fields}}}");
        let of = Crate::of_module("house", Module::of_text(&["room"], &text));
        faults(&[measure.unwrap().excess(&[of])])
    }

    #[test]
    fn figures_of_the_same_name_add_up() {
        let name = "lines of admin and http without their tests";
        let measure = MEASURES.iter().find(|it| it.name == name).unwrap();
        let lines = |count| "fn f() {}\n".repeat(count);
        let of = |name, count| Crate::of_module(name, Module::of_text(&["room"], &lines(count)));
        let crates = [of("admin", 6_000), of("http", 6_000), of("worker", 1)];
        assert!(faults(&[measure.excess(&crates)]).is_empty());
        let crates = [of("admin", 6_000), of("http", 6_001)];
        assert_eq!(faults(&[measure.excess(&crates)]).len(), 1);
    }

    #[test]
    fn figures_above_a_limit_are_refused() {
        assert_eq!(faults_of(15), [""; 0]);
        let text = "fields of a struct: house::room::A has 16, and the limit is 15";
        assert_eq!(faults_of(16), [text]);
    }
}
