//! Faults that are put into the proxy, each behind a switch: does the simulation find each?
//!
//! The sources are copied, so that nobody's files change, and a folder of their own below `target` keeps what is built. It
//! begins with hard links to what `.ci/build` has built, so that only crates with a fault, and those above, are built.
//! They are built once, with all faults; an environment variable says which fault a run has.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use toml::{Table, Value};

use crate::{Outcome, read};

/// Worlds that each fault has to be found in, and their operations.
const WORLDS_MAX: &str = "60";
const OPERATIONS: &str = "3000";

/// The word of a fault's text that is true in the runs with this fault.
const SWITCH: &str = "FAULT";

/// The environment variable that has the fault's name.
const VARIABLE: &str = "PILOTFISH_FAULT";

/// The code that is added to each file with a fault.
const HAS_FAULT: &str = r#"
fn has_fault(name: &str) -> bool {
    static NAME: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var("PILOTFISH_FAULT").ok());
    NAME.as_deref() == Some(name)
}
"#;

/// A fault.
struct Mutation {
    name: String,
    finder: Finder,
    file: String,
    text: String,
    fault: String,
}

/// The check that must find a fault.
enum Finder {
    /// Worlds of a kind, from the first seed on.
    World(String),
    /// The scenes whose names begin with this text.
    Scene(String),
}

/// The programs that are built with all faults.
struct Programs {
    worlds: PathBuf,
    scenes: PathBuf,
}

/// The way in which a fault was found, or that it was not found.
struct Tried {
    statements: String,
    seconds: f64,
    found: Option<Found>,
}

struct Found {
    seed: String,
    broken: String,
}

/// Puts each fault in and runs the simulation, which must find it within a bounded number of worlds. `wanted`: a part of
/// the names of the faults that are tried.
pub fn run(root: &Path, wanted: &str) -> Outcome {
    let mut mutations = mutations(root)?;
    let copy = copy_of(root, &mutations)?;
    seed_target(root)?;
    let programs = build(root, &copy)?;
    mutations.retain(|mutation| mutation.name.contains(wanted));
    println!("| fault | world or scene | seed | statements | seconds | what is broken |");
    println!("|---|---|---|---|---|---|");
    let mut missed = Vec::new();
    for mutation in &mutations {
        let (tried, place) = match &mutation.finder {
            Finder::World(world) => {
                let tried = simulate(&programs.worlds, mutation, world)?;
                (tried, world)
            }
            Finder::Scene(scene) => (play(&programs.scenes, mutation, scene)?, scene),
        };
        let name = &mutation.name;
        let (statements, seconds) = (&tried.statements, tried.seconds);
        let (seed, broken) = match &tried.found {
            Some(found) => (&*found.seed, &*found.broken),
            None => {
                missed.push(format!("{place} does not find: {name}"));
                ("–", "NOT FOUND")
            }
        };
        println!("| {name} | {place} | {seed} | {statements} | {seconds:.0} | {broken} |");
    }
    match missed.is_empty() {
        true => Ok(format!("mutations: all {} are found", mutations.len())),
        false => Err(missed),
    }
}

fn mutations(root: &Path) -> Result<Vec<Mutation>, Vec<String>> {
    let path = root.join("simulation/mutations.toml");
    let text = read(&path)?;
    let faulty = |what: String| vec![format!("{}: {what}", path.display())];
    let table: Table = text.parse().map_err(|error| faulty(format!("{error}")))?;
    let all = table.get("mutation").and_then(Value::as_array);
    let all = all.ok_or_else(|| faulty("there is no [[mutation]]".to_owned()))?;
    all.iter()
        .map(|entry| {
            let text = |key: &str| {
                let value = entry.get(key).and_then(Value::as_str);
                let value = value.ok_or_else(|| faulty(format!("a mutation has no `{key}`")));
                value.map(|value| value.trim_start_matches('\n').to_owned())
            };
            let finder = match entry.get("scene") {
                Some(_) => Finder::Scene(text("scene")?),
                None => Finder::World(text("world")?),
            };
            Ok(Mutation {
                name: text("name")?,
                finder,
                file: text("file")?,
                text: text("text")?,
                fault: text("fault")?,
            })
        })
        .collect()
}

/// The sources as they are now, with all faults, elsewhere, with their times.
fn copy_of(root: &Path, mutations: &[Mutation]) -> Result<PathBuf, Vec<String>> {
    let copy = root.join("target/mutations/source");
    let listed = Command::new("git")
        .arg("ls-files")
        .current_dir(root)
        .output();
    let listed = listed.map_err(|error| vec![format!("git ls-files: {error}")])?;
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    for name in names.lines() {
        let (from, to) = (root.join(name), copy.join(name));
        let Ok(mut bytes) = std::fs::read(&from) else {
            continue;
        };
        let faults: Vec<_> = mutations.iter().filter(|it| it.file == name).collect();
        for mutation in &faults {
            bytes = mutation.put_into(&bytes)?;
        }
        // A file that is the same keeps its time, and is not built again.
        if std::fs::read(&to).is_ok_and(|before| before == bytes) {
            continue;
        }
        let keeps_time = faults.is_empty() && !to.exists();
        let copied = copy_file(&from, &to, &bytes, keeps_time);
        copied.map_err(|error| vec![format!("{}: {error}", to.display())])?;
    }
    Ok(copy)
}

impl Mutation {
    /// A file's text with the fault, behind its switch.
    fn put_into(&self, bytes: &[u8]) -> Result<Vec<u8>, Vec<String>> {
        let sound = String::from_utf8_lossy(bytes);
        let Mutation { name, file, .. } = self;
        if sound.matches(&self.text).count() != 1 {
            return Err(vec![format!(
                "{name}: its text does not stand once in {file}"
            )]);
        }
        let fault = self
            .fault
            .replace(SWITCH, &format!("has_fault(\"{name}\")"));
        let mut faulty = sound.replace(&self.text, &fault);
        if !faulty.contains(HAS_FAULT) {
            faulty.push_str(HAS_FAULT);
        }
        Ok(faulty.into_bytes())
    }
}

/// A file that keeps its time is one that the artifacts in `target` know.
fn copy_file(from: &Path, to: &Path, bytes: &[u8], keeps_time: bool) -> std::io::Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(to, bytes)?;
    if keeps_time {
        let changed = std::fs::metadata(from)?.modified()?;
        File::options()
            .append(true)
            .open(to)?
            .set_modified(changed)?;
    }
    Ok(())
}

/// Where what is built with faults is kept.
fn target_of(root: &Path) -> PathBuf {
    root.join("target/mutations/target")
}

/// Has the first build find all libraries, and all crates without a fault. Cargo replaces files that it builds again, and
/// writes into those that are copied here.
fn seed_target(root: &Path) -> Result<(), Vec<String>> {
    let (built, target) = (root.join("target/debug"), target_of(root).join("debug"));
    if target.exists() || !built.join("deps").exists() {
        return Ok(());
    }
    let script = "set -e; mkdir -p \"$2.new\"; cp -al \"$1/deps\" \"$2.new\"; \
        cp -a \"$1/.fingerprint\" \"$1/build\" \"$2.new\"; cd \"$2.new/deps\"; \
        for file in *.d; do cp -a \"$file\" new; mv new \"$file\"; done; mv \"$2.new\" \"$2\"";
    let copied = Command::new("sh")
        .args(["-c", script, "seed"])
        .args([&built, &target])
        .status();
    match copied {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(vec![format!("{} cannot be copied", built.display())]),
        Err(error) => Err(vec![format!("sh: {error}")]),
    }
}

/// Plays scenes, of which one must fail.
fn play(program: &Path, mutation: &Mutation, scene: &str) -> Result<Tried, Vec<String>> {
    let began = Instant::now();
    let ran = Command::new(program)
        .arg(scene)
        .env(VARIABLE, &mutation.name)
        .env("RUST_BACKTRACE", "0")
        .output();
    let ran = ran.map_err(|error| vec![format!("the scenes: {error}")])?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let mut failed = text.lines().filter(|line| line.ends_with("FAILED"));
    let first = failed.find_map(|line| line.strip_prefix("test ")?.split(' ').next());
    Ok(Tried {
        statements: "–".to_owned(),
        seconds: began.elapsed().as_secs_f64(),
        found: first.map(|name| Found {
            seed: "–".to_owned(),
            broken: format!("{name} fails"),
        }),
    })
}

/// Runs worlds until one is broken.
fn simulate(program: &Path, mutation: &Mutation, world: &str) -> Result<Tried, Vec<String>> {
    let began = Instant::now();
    let ran = Command::new(program)
        .args(["--world", world, "--first-seed", "1"])
        .args(["--worlds", WORLDS_MAX, "--operations", OPERATIONS])
        .env(VARIABLE, &mutation.name)
        .output();
    let ran = ran.map_err(|error| vec![format!("the simulation: {error}")])?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let after = |start: &str| text.lines().find_map(|line| line.split_once(start));
    let first = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    let found = after("BROKEN: ").zip(after("SEED="));
    Ok(Tried {
        statements: after(" worlds, ").map_or_else(String::new, |(_, rest)| first(rest)),
        seconds: began.elapsed().as_secs_f64(),
        found: found.map(|((_, broken), (_, seed))| Found {
            seed: first(seed),
            broken: broken.to_owned(),
        }),
    })
}

/// As `.ci/build` does, so that what that has built is of use. So a fault must be one that no lint finds.
fn build(root: &Path, copy: &Path) -> Result<Programs, Vec<String>> {
    let target = target_of(root);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--locked"])
        .args(["--package", "pilotfish-simulation"])
        .args(["--bin", "pilotfish-simulation", "--test", "scenes"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .env(
            "CLIPPY_ARGS",
            "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
        )
        .stderr(Stdio::inherit())
        .output();
    let built = built.map_err(|error| vec![format!("cargo: {error}")])?;
    if !built.status.success() {
        return Err(vec![
            "the programs with the faults cannot be built".to_owned(),
        ]);
    }
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    let program = |target: &str| {
        let found = messages
            .lines()
            .filter_map(|line| executable(line, target))
            .next_back();
        found.ok_or_else(|| vec![format!("cargo names no program of {target}")])
    };
    Ok(Programs {
        worlds: program("pilotfish-simulation")?,
        scenes: program("scenes")?,
    })
}

/// The program of a target, if a message of cargo is about it.
fn executable(message: &str, target: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let is_of_target = message["target"]["name"] == target;
    let path = message["executable"].as_str().filter(|_| is_of_target);
    path.map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_fault_can_be_put_into_its_file() {
        let root = crate::root();
        for mutation in mutations(&root).unwrap() {
            let bytes = std::fs::read(root.join(&mutation.file)).unwrap_or_default();
            let faulty = mutation.put_into(&bytes).unwrap();
            assert!(String::from_utf8_lossy(&faulty).contains(&mutation.name));
        }
    }
}
