//! Properties of every setting, and the text and location of each fault.
#![allow(clippy::unwrap_used)]

mod accounts;
mod admin;
mod clusters;
mod faults;
mod http;
mod kernel_sessions;
mod legacy;
mod reload;
mod renamed;
mod replication;
mod retired;
mod rules;
mod values;

use std::path::{Path, PathBuf};

use crate::{Config, Fault, Loaded, Override, SourceLocation};

/// A folder with a configuration file in it.
struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("pilotfish.toml"), text).unwrap();
        Self { folder }
    }

    /// Writes another file into the same folder.
    fn with(self, name: &str, text: &str) -> Self {
        std::fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("pilotfish.toml")
    }

    fn load(&self) -> Result<Loaded, Vec<Fault>> {
        Config::load(Some(&self.path()), &[])
    }

    /// Every fault as the proxy prints it, without the folder's path.
    fn faults(&self) -> Vec<String> {
        let folder = format!("{}/", self.folder.path().display());
        let faults = self.load().err().unwrap_or_default();
        faults
            .iter()
            .map(|fault| fault.to_string().replace(&folder, ""))
            .collect()
    }
}

/// A file's text with a backend appended, because a file without a backend has a fault.
fn with_backend(text: &str) -> String {
    format!("{text}\n[[backend]]\naddress = \"db1\"\n")
}

fn load(text: &str) -> Config {
    File::new(&with_backend(text)).load().unwrap().config
}

/// An option of the command line.
fn option(setting: &'static str, words: &[&str]) -> Override {
    Override {
        setting,
        name: format!("--{}", setting.replace(['.', '_'], "-")),
        location: SourceLocation::COMMAND_LINE,
        words: words.iter().map(|&word| word.to_owned()).collect(),
    }
}

fn load_options(options: &[Override]) -> Result<Config, Vec<String>> {
    let with_backend = [&[option("backend", &["db1"])], options].concat();
    Config::load(None, &with_backend)
        .map(|loaded| loaded.config)
        .map_err(|faults| faults.iter().map(Fault::to_string).collect())
}

fn load_path(path: &Path) -> Config {
    Config::load(Some(path), &[]).unwrap().config
}
