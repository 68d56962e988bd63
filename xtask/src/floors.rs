//! The floors of the house: a crate depends on crates of strictly lower floors only.

use std::path::Path;

use toml::{Table, Value};

use crate::{Outcome, read};

/// Which floor each crate is on, by its folder.
const FLOORS: &[(&str, Floor)] = &[
    ("system", Floor::At(0)),
    ("wire", Floor::At(0)),
    ("config", Floor::At(0)),
    ("sql", Floor::At(0)),
    ("sqlite_file", Floor::At(0)),
    ("auth", Floor::At(1)),
    ("session", Floor::At(1)),
    ("route", Floor::At(1)),
    ("pool", Floor::At(1)),
    ("binlog", Floor::At(1)),
    ("net", Floor::At(2)),
    ("script", Floor::At(2)),
    ("import", Floor::At(2)),
    ("kafka", Floor::At(3)),
    ("link", Floor::At(3)),
    ("stats", Floor::At(3)),
    ("registry", Floor::At(4)),
    ("backend", Floor::At(5)),
    ("control", Floor::At(4)),
    ("advisor", Floor::At(4)),
    ("sandbox", Floor::At(5)),
    ("history", Floor::At(5)),
    ("metrics", Floor::At(5)),
    ("script_host", Floor::At(6)),
    ("lanes", Floor::At(6)),
    ("login", Floor::At(7)),
    ("relay", Floor::At(8)),
    ("session_parts", Floor::At(8)),
    ("script_hooks", Floor::At(9)),
    ("command", Floor::At(9)),
    ("engine", Floor::At(10)),
    ("explain", Floor::At(11)),
    ("scripted", Floor::At(11)),
    ("worker", Floor::At(12)),
    ("admin", Floor::At(13)),
    ("http", Floor::At(14)),
    ("pilotfish", Floor::At(15)),
    ("replication", Floor::At(5)),
    ("e2e", Floor::Outside),
    ("e2e/clients/rust-mysql-async", Floor::Outside),
    ("bench", Floor::Outside),
    ("fuzz", Floor::Outside),
    ("simulation", Floor::Outside),
    ("dialogues", Floor::Outside),
    ("xtask", Floor::Outside),
];

/// The data plane: the crates that carry what clients and servers say.
pub const DATA_PLANE: &[&str] = &[
    "wire",
    "session",
    "route",
    "pool",
    "net",
    "link",
    "registry",
    "backend",
    "script_host",
    "lanes",
    "login",
    "relay",
    "session_parts",
    "script_hooks",
    "command",
    "engine",
    "scripted",
    "worker",
];

/// Where a crate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Floor {
    /// Inside, on this floor.
    At(u8),
    /// Outside: may know every crate inside, and none knows it.
    Outside,
}

impl Floor {
    fn of(folder: &str) -> Option<Self> {
        FLOORS
            .iter()
            .find(|(name, _)| *name == folder)
            .map(|(_, floor)| *floor)
    }

    fn may_know(self, other: Self) -> bool {
        match (self, other) {
            (Self::At(own), Self::At(other)) => other < own,
            (Self::Outside, Self::At(_)) => true,
            (_, Self::Outside) => false,
        }
    }
}

/// Whether every crate of the workspace knows only lower floors.
pub fn check(root: &Path) -> Outcome {
    let workspace = read_toml(&root.join("Cargo.toml"))?;
    let folders = members(&workspace);
    let mut faults = Vec::new();
    for folder in &folders {
        let manifest = read_toml(&root.join(folder).join("Cargo.toml"))?;
        faults.extend(faults_of(folder, &manifest));
    }
    if faults.is_empty() {
        Ok(format!(
            "floors: {} crates, each knows only lower ones",
            folders.len()
        ))
    } else {
        Err(faults)
    }
}

fn read_toml(path: &Path) -> Result<Table, Vec<String>> {
    read(path)?
        .parse()
        .map_err(|error| vec![format!("{}: {error}", path.display())])
}

fn members(workspace: &Table) -> Vec<String> {
    let members = workspace.get("workspace").and_then(|it| it.get("members"));
    let members = members.and_then(Value::as_array).into_iter().flatten();
    members
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// What is wrong with one crate, a line each.
fn faults_of(folder: &str, manifest: &Table) -> Vec<String> {
    let Some(own) = Floor::of(folder) else {
        return vec![format!(
            "{folder}: has no floor; name it in xtask/src/floors.rs"
        )];
    };
    let mut faults = Vec::new();
    for known in crates_known(manifest) {
        match Floor::of(&known) {
            Some(floor) if !own.may_know(floor) => {
                faults.push(format!(
                    "{folder} ({own:?}) must not depend on {known} ({floor:?})"
                ));
            }
            _ => {}
        }
    }
    faults
}

/// The folders of the crates of ours that a manifest depends on, in whatever way.
fn crates_known(manifest: &Table) -> Vec<String> {
    let targets = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flatten();
    let targets = targets.filter_map(|(_, target)| target.as_table());
    let tables = [manifest].into_iter().chain(targets);
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables: Vec<&Table> = tables.collect();
    let of_kind = |kind: &'static str| {
        let dependencies = tables.iter().filter_map(move |table| table.get(kind));
        let dependencies = dependencies.filter_map(Value::as_table).flatten();
        dependencies
            .map(|(key, value)| value.get("package").and_then(Value::as_str).unwrap_or(key))
            .map(|name| name.strip_prefix("pilotfish-").unwrap_or(name).to_owned())
            // Real servers, the model of servers and scripted servers may be had for the tests of any crate.
            .filter(move |name| {
                let is_for_tests = matches!(name.as_str(), "e2e" | "simulation" | "dialogues");
                !(kind == "dev-dependencies" && is_for_tests)
            })
            .collect::<Vec<_>>()
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn faults(folder: &str, manifest: &str) -> Vec<String> {
        faults_of(folder, &manifest.parse().unwrap())
    }

    #[test]
    fn the_floors_hold() {
        assert_eq!(check(&crate::root()).err(), None);
    }

    #[test]
    fn crates_of_the_data_plane_have_floors() {
        for name in DATA_PLANE {
            assert!(matches!(Floor::of(name), Some(Floor::At(_))), "{name}");
        }
    }

    #[test]
    fn a_dependency_upwards_is_found() {
        let found = faults(
            "wire",
            "[dependencies]\nworker.workspace = true\nbytes = \"1\"\n",
        );
        assert_eq!(found, ["wire (At(0)) must not depend on worker (At(12))"]);
    }

    #[test]
    fn a_dependency_on_the_same_floor_is_found() {
        let found = faults("registry", "[dependencies]\ncontrol.workspace = true\n");
        assert_eq!(
            found,
            ["registry (At(4)) must not depend on control (At(4))"]
        );
    }

    #[test]
    fn floor_check_finds_a_dependency_in_each_spelling() {
        for manifest in [
            "[dev-dependencies]\nnet.workspace = true",
            "[build-dependencies]\nnet = { path = \"../net\" }",
            "[dependencies]\nother = { path = \"../net\", package = \"pilotfish-net\" }",
            "[dependencies]\npilotfish-net = { path = \"../net\" }",
            "[target.'cfg(unix)'.dependencies]\nnet.workspace = true",
        ] {
            assert_eq!(faults("route", manifest).len(), 1, "{manifest}");
        }
    }

    #[test]
    fn tests_of_any_crate_may_have_real_servers() {
        let known = "[dev-dependencies]\ne2e.workspace = true";
        assert_eq!(faults("session", known), [""; 0]);
        let model = "[dev-dependencies]\npilotfish-simulation = { path = \"../simulation\" }";
        assert_eq!(faults("e2e", model), [""; 0]);
        let built_in = "[dependencies]\ne2e.workspace = true";
        assert_eq!(faults("session", built_in).len(), 1);
    }

    #[test]
    fn test_crates_may_use_all_crates_and_no_crate_uses_them() {
        assert_eq!(
            faults("e2e", "[dependencies]\npilotfish-worker = \"0\""),
            [""; 0]
        );
        assert_eq!(
            faults("bench", "[dependencies]\ne2e.workspace = true").len(),
            1
        );
        assert_eq!(
            faults(
                "pilotfish",
                "[dependencies]\nxtask = { path = \"../xtask\" }"
            )
            .len(),
            1
        );
    }

    #[test]
    fn a_crate_without_a_floor_is_found() {
        assert_eq!(faults("attic", "").len(), 1);
    }
}
