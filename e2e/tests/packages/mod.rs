//! The packages and the container image: their contents, and that an installed service works. They take minutes and
//! special tools (`e2e/package-tools.sh`), so they run at night.

mod contents;
mod debian_root;
mod image;
mod life;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use e2e::program;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate is in the repository")
}

/// Runs a program to its end.
fn run(program: impl AsRef<OsStr>, arguments: &[&str]) -> Output {
    let output = Command::new(program).args(arguments).output();
    output.expect("the program can be started")
}

/// The output of a program, which must succeed.
#[track_caller]
fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{errors}");
    text
}

/// Runs a script of `packaging/`, which prints the path of the file that it has made.
fn made(script: &str, program: &Path, release: u32) -> PathBuf {
    /// The scripts share their folders below `target`.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|it| it.into_inner());
    let mut command = Command::new(repository().join("packaging").join(script));
    command
        .arg(program)
        .env("RELEASE", release.to_string())
        // Good compression takes most of the time, and the test does not need it.
        .env("DPKG_DEB_COMPRESSOR_TYPE", "gzip")
        .env("DPKG_DEB_COMPRESSOR_LEVEL", "1")
        .env("XTASK", repository().join("target/debug/xtask"));
    let output = command.output().expect("the script can be started");
    repository().join(printed(&output).trim())
}

/// The Debian package of this build's program.
fn deb(release: u32) -> PathBuf {
    made("deb.sh", &program(), release)
}

/// The static program of `make static`, if it was built.
fn static_program() -> Option<PathBuf> {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let program = repository()
        .join("target")
        .join(target)
        .join("release/pilotfish");
    if program.exists() {
        return Some(program);
    }
    println!("LEFT OUT: make static has built no program");
    None
}
