//! The end of a run: what each step took, and what failed. Steps of other programs stand in the same file.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable of the environment that names the file; the program that prints the summary sets it.
const VARIABLE: &str = "PILOTFISH_SUMMARY";

/// A file that lines are appended to. By default it stands in the build folder.
#[derive(Debug)]
pub struct Summary(PathBuf);

impl Summary {
    /// The file that the environment names, or else one of its own, empty.
    pub fn new(root: &Path) -> Self {
        if let Some(file) = std::env::var_os(VARIABLE) {
            return Self(file.into());
        }
        let folder = root.join("target/tests");
        let file = folder.join("summary");
        let _ = fs::create_dir_all(folder);
        let _ = fs::write(&file, "");
        Self(file)
    }

    /// Notes how a step ended and what it took.
    pub fn step(&self, name: &str, is_green: bool, took: Duration) {
        let outcome = if is_green { "ok" } else { "FAILED" };
        self.note(&format!("{name:<22} {outcome:<6} {:>5} s", took.as_secs()));
    }

    /// Appends lines.
    pub fn note(&self, text: &str) {
        let file = OpenOptions::new().create(true).append(true).open(&self.0);
        let written = file.and_then(|mut file| writeln!(file, "{text}"));
        if let Err(error) = written {
            eprintln!("{}: {error}", self.0.display());
        }
    }
}
