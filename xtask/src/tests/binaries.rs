//! The test binaries of the workspace: how they are built and run.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Suite;
use super::output::{Reader, Run};

/// A program that `cargo test` has built.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The crate's name.
    pub package: String,
    /// The target's name: the crate's, or that of a test binary of it.
    pub target: String,
    /// Whether it holds the tests of a `tests` folder, and not those inside a library or program.
    pub is_integration: bool,
    program: PathBuf,
    /// The crate's folder, in which its tests run.
    folder: PathBuf,
}

/// What `cargo clippy -- -D warnings` gives its driver.
const DENY_WARNINGS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// Crates that [`Suite::Fast`] does not need. `.ci/build fast` leaves out the same.
const NOT_FAST: [&str; 3] = [
    "pilotfish-e2e",
    "pilotfish-bench",
    "pilotfish-client-rust-mysql-async",
];

/// Builds the program and the test binaries, with the artifacts of the lints (`.ci/build`): the same profile, the
/// same features, the same compiler.
pub fn build(root: &Path, suite: Suite) -> Result<Vec<Binary>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let left_out = match suite {
        Suite::Fast => &NOT_FAST[..],
        Suite::Change | Suite::Nightly => &[],
    };
    let output = Command::new(cargo)
        .args(["test", "--no-run", "--locked", "--workspace"])
        .args(left_out.iter().flat_map(|package| ["--exclude", package]))
        .arg("--message-format=json-render-diagnostics")
        .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .env("CLIPPY_ARGS", DENY_WARNINGS)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !output.status.success() {
        return Err("the tests cannot be built".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let binaries: Vec<Binary> = text.lines().filter_map(Binary::of_message).collect();
    match binaries.is_empty() {
        true => Err("cargo has named no test binary".to_owned()),
        false => Ok(binaries),
    }
}

impl Binary {
    /// What a message of cargo's tells of, if it is a test binary.
    fn of_message(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_test = message["profile"]["test"].as_bool()?;
        let program = message["executable"].as_str().filter(|_| is_test)?;
        let manifest = Path::new(message["manifest_path"].as_str()?);
        let folder = manifest.parent()?.to_owned();
        Some(Self {
            package: folder.file_name()?.to_str()?.to_owned(),
            target: message["target"]["name"].as_str()?.to_owned(),
            is_integration: message["target"]["kind"][0] == "test",
            program: program.into(),
            folder,
        })
    }

    /// True for those that need servers.
    pub fn is_end_to_end(&self) -> bool {
        self.package == "e2e"
    }

    /// Where it is.
    pub fn path(&self) -> String {
        self.program.display().to_string()
    }

    /// Runs it to the end; what it prints is printed as it comes.
    pub fn run(&self, arguments: &[String], suite: Suite) -> Run {
        let mut reader = Reader::of(&format!("{}::{}", self.package, self.target));
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if suite == Suite::Nightly {
            command.env("PILOTFISH_TESTS", "nightly");
        }
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                eprintln!("{} cannot be started: {error}", self.path());
                return reader.ended(false);
            }
        };
        let lines = child.stdout.take().map(BufReader::new);
        for line in lines.into_iter().flat_map(|lines| lines.split(b'\n')) {
            let Ok(line) = line else { break };
            reader.line(&String::from_utf8_lossy(&line));
        }
        let is_success = child.wait().is_ok_and(|status| status.success());
        reader.ended(is_success)
    }

    /// Runs one test with nothing beside it.
    pub fn run_alone(&self, test: &str, suite: Suite) -> Run {
        let arguments = ["--exact", test, "--test-threads=1"].map(str::to_owned);
        self.run(&arguments, suite)
    }

    /// The names of its tests that contain `pattern`.
    pub fn list(&self, pattern: &str) -> Vec<String> {
        let output = Command::new(&self.program)
            .args(["--list", pattern])
            .current_dir(&self.folder)
            .output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        names.map(str::to_owned).collect()
    }
}
