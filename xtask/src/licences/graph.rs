//! The crates that the workspace depends on, as cargo tells them without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use toml::Table;

use crate::read;

/// A crate, ours or another's.
#[derive(Clone, Debug)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// Its licence expression; empty if it names none.
    pub licence: String,
    /// The folder with its source.
    pub folder: PathBuf,
    /// Whether it comes from the registry.
    pub is_foreign: bool,
    /// The SHA-256 of its archive, as Cargo.lock has it.
    pub checksum: Option<String>,
    /// Those that it depends on, each as name and version.
    pub depends_on: BTreeSet<String>,
}

impl Package {
    /// Its name and version, which no two packages share.
    pub fn id(&self) -> String {
        id_of(&self.name, &self.version)
    }
}

fn id_of(name: &str, version: &str) -> String {
    format!("{name} {version}")
}

/// Every package of the workspace's graph on this platform, tests included.
pub fn packages(root: &Path) -> Result<BTreeMap<String, Package>, Vec<String>> {
    let platform = platform()?;
    let arguments = ["metadata", "--format-version=1", "--filter-platform"];
    let text = cargo(root, &[&arguments[..], &[&platform]].concat())?;
    let metadata: Value = serde_json::from_str(&text)
        .map_err(|error| vec![format!("cargo metadata cannot be read: {error}")])?;
    let checksums = checksums(root)?;
    let mut packages = BTreeMap::new();
    let mut ids = BTreeMap::new();
    for found in list(&metadata["packages"]) {
        let package = Package::of_metadata(found, &checksums);
        ids.insert(text_of(&found["id"]), package.id());
        packages.insert(package.id(), package);
    }
    for node in list(&metadata["resolve"]["nodes"]) {
        let known = list(&node["dependencies"]).iter();
        let known = known.filter_map(|id| ids.get(&text_of(id)).cloned());
        let own = ids.get(&text_of(&node["id"]));
        if let Some(package) = own.and_then(|id| packages.get_mut(id)) {
            package.depends_on = known.collect();
        }
    }
    Ok(packages)
}

impl Package {
    fn of_metadata(found: &Value, checksums: &BTreeMap<String, String>) -> Self {
        let (name, version) = (text_of(&found["name"]), text_of(&found["version"]));
        let manifest = PathBuf::from(text_of(&found["manifest_path"]));
        Self {
            checksum: checksums.get(&id_of(&name, &version)).cloned(),
            name,
            version,
            licence: text_of(&found["license"]),
            folder: manifest.parent().map(Path::to_owned).unwrap_or_default(),
            is_foreign: !found["source"].is_null(),
            depends_on: BTreeSet::new(),
        }
    }
}

/// The packages that the program is made of, and those that only build it: the ids of both.
pub fn of_the_program(root: &Path) -> Result<(BTreeSet<String>, BTreeSet<String>), Vec<String>> {
    let linked = tree(root, "normal,no-proc-macro")?;
    let all = tree(root, "normal,build")?;
    let building = all.difference(&linked).cloned().collect();
    Ok((linked, building))
}

fn tree(root: &Path, edges: &str) -> Result<BTreeSet<String>, Vec<String>> {
    let platform = platform()?;
    let text = cargo(
        root,
        &[
            "tree",
            "--package=pilotfish",
            "--prefix=none",
            "--format={p}",
            "--target",
            &platform,
            "--edges",
            edges,
        ],
    )?;
    let ids = text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some(id_of(words.next()?, words.next()?.strip_prefix('v')?))
    });
    Ok(ids.collect())
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<String, Vec<String>> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).args(["--locked", "--offline"]);
    run(command.current_dir(root))
}

/// What a program prints; an error is what it complains of.
pub fn run(command: &mut Command) -> Result<String, Vec<String>> {
    let output = command
        .output()
        .map_err(|error| vec![format!("{command:?}: {error}")])?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(vec![String::from_utf8_lossy(&output.stderr).into_owned()]),
    }
}

/// The compiler's own platform, such as `x86_64-unknown-linux-gnu`.
fn platform() -> Result<String, Vec<String>> {
    let text = run(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| vec!["rustc -vV names no host".to_owned()])
}

/// The checksums of Cargo.lock, by package.
fn checksums(root: &Path) -> Result<BTreeMap<String, String>, Vec<String>> {
    let lock: Table = read(&root.join("Cargo.lock"))?
        .parse()
        .map_err(|error| vec![format!("Cargo.lock: {error}")])?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let checksums = packages.into_iter().flatten().filter_map(|package| {
        let text = |key| package.get(key).and_then(toml::Value::as_str);
        let id = id_of(text("name")?, text("version")?);
        Some((id, text("checksum")?.to_owned()))
    });
    Ok(checksums.collect())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
