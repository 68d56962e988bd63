//! Faults that are put into the proxy, one at a time: does the simulation find each?
//!
//! The sources are copied, so that nobody's files change, and a folder of their own below `target` keeps what is built.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use toml::{Table, Value};

use crate::{Outcome, read};

/// Worlds that each fault has to be found in, and their operations.
const WORLDS_MAX: &str = "60";
const OPERATIONS: &str = "3000";

/// A fault.
struct Mutation {
    name: String,
    world: String,
    file: String,
    text: String,
    fault: String,
}

/// Puts each fault in and runs the simulation, which must find it within a bounded number of worlds.
pub fn run(root: &Path) -> Outcome {
    let mutations = mutations(root)?;
    let copy = copy_of(root)?;
    let mut table = format!("{:<40} {:>8}  found\n", "fault", "seconds");
    let mut missed = Vec::new();
    for mutation in &mutations {
        let (seconds, found) = try_out(root, &copy, mutation)?;
        let told = found.as_deref().unwrap_or("NOT FOUND");
        table.push_str(&format!("{:<40} {seconds:>8.1}  {told}\n", mutation.name));
        if found.is_none() {
            missed.push(format!("the simulation does not find: {}", mutation.name));
        }
    }
    print!("{table}");
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
            Ok(Mutation {
                name: text("name")?,
                world: text("world")?,
                file: text("file")?,
                text: text("text")?,
                fault: text("fault")?,
            })
        })
        .collect()
}

/// The sources as they are now, elsewhere.
fn copy_of(root: &Path) -> Result<PathBuf, Vec<String>> {
    let copy = root.join("target/mutations/source");
    let listed = Command::new("git")
        .arg("ls-files")
        .current_dir(root)
        .output();
    let listed = listed.map_err(|error| vec![format!("git ls-files: {error}")])?;
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    for name in names.lines() {
        let (from, to) = (root.join(name), copy.join(name));
        let Ok(bytes) = std::fs::read(&from) else {
            continue;
        };
        // What is the same keeps its time, and is not built again.
        if std::fs::read(&to).is_ok_and(|before| before == bytes) {
            continue;
        }
        let folder = to.parent().unwrap_or(&copy);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&to, bytes));
        written.map_err(|error| vec![format!("{}: {error}", to.display())])?;
    }
    Ok(copy)
}

/// How long the simulation took, and what it has found.
fn try_out(
    root: &Path,
    copy: &Path,
    mutation: &Mutation,
) -> Result<(f64, Option<String>), Vec<String>> {
    let path = copy.join(&mutation.file);
    let sound = read(&path)?;
    if sound.matches(&mutation.text).count() != 1 {
        let (name, file) = (&mutation.name, &mutation.file);
        return Err(vec![format!(
            "{name}: its text does not stand once in {file}"
        )]);
    }
    let faulty = sound.replace(&mutation.text, &mutation.fault);
    let put = |text: &str| {
        let written = std::fs::write(&path, text);
        written.map_err(|error| vec![format!("{}: {error}", path.display())])
    };
    put(&faulty)?;
    let built = build(root, copy);
    let tried = built.and_then(|program| {
        let began = Instant::now();
        let ran = Command::new(program)
            .args(["--world", &mutation.world, "--first-seed", "1"])
            .args(["--worlds", WORLDS_MAX, "--operations", OPERATIONS])
            .output();
        let ran = ran.map_err(|error| vec![format!("the simulation: {error}")])?;
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        let found = text.lines().find_map(|line| line.strip_prefix("BROKEN: "));
        Ok((began.elapsed().as_secs_f64(), found.map(str::to_owned)))
    });
    put(&sound)?;
    tried
}

fn build(root: &Path, copy: &Path) -> Result<PathBuf, Vec<String>> {
    let target = root.join("target/mutations/target");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--locked", "--profile", "simulation"])
        .args(["-p", "pilotfish-simulation"])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", &target)
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CLIPPY_ARGS")
        .status();
    match built {
        Ok(status) if status.success() => Ok(target.join("simulation/pilotfish-simulation")),
        Ok(_) => Err(vec!["the program with a fault cannot be built".to_owned()]),
        Err(error) => Err(vec![format!("cargo: {error}")]),
    }
}
