//! Where a program is, and how it is run: one that is installed, or one that `e2e/provision.sh` has
//! unpacked into a folder with libraries and a loader of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::find_program;

/// The folder of MySQL's server and router.
pub const MYSQL: &str = "mysql-9.7";

/// Where an unpacked program's libraries are: those of the system, and the router's own.
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "usr/lib/mysql-router"];

pub enum Program {
    Installed(PathBuf),
    Unpacked { root: PathBuf, program: PathBuf },
}

impl Program {
    /// The program that an environment variable names, or the first on the search path.
    pub fn installed(variable: &str, name: &str) -> Option<Self> {
        find_program(variable, name).map(Self::Installed)
    }

    /// The program that an environment variable names.
    pub fn named(variable: &str) -> Option<Self> {
        std::env::var_os(variable).map(|path| Self::Installed(path.into()))
    }

    /// A program of an unpacked folder.
    pub fn unpacked(folder: &str, program: &str) -> Option<Self> {
        let cache = std::env::var_os("PILOTFISH_CACHE").map(PathBuf::from);
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/pilotfish"));
        let root = cache.or_else(home)?.join(folder);
        let program = root.join(program);
        program.exists().then_some(Self::Unpacked { root, program })
    }

    /// The folder it was unpacked into.
    pub fn root(&self) -> Option<&Path> {
        match self {
            Self::Installed(_) => None,
            Self::Unpacked { root, .. } => Some(root),
        }
    }

    pub fn command(&self) -> Command {
        match self {
            Self::Installed(program) => Command::new(program),
            Self::Unpacked { root, program } => {
                let mut command = Command::new(root.join("usr/lib64/ld-linux-x86-64.so.2"));
                let libraries = LIBRARIES.map(|folder| root.join(folder).display().to_string());
                command.arg("--library-path").arg(libraries.join(":"));
                command.arg(program).env_remove("LD_PRELOAD");
                command
            }
        }
    }
}
