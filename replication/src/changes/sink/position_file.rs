//! The files with which a sink keeps its place: a lock, so that it has one writer, and the position after which it
//! goes on.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::changes::error::ChangeError;

/// `PATH.suffix`
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// Opens a file for reading and appending. A new file can be read by its owner only.
///
/// # Errors
/// The system refuses it.
pub fn opened(path: &Path) -> Result<File, ChangeError> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    options.open(path).map_err(io_error(path))
}

/// Locks a file, and creates it if needed. The lock ensures that a sink has one writer.
///
/// # Errors
/// Another writer has the lock, or the system refuses it.
pub fn lock(path: &Path) -> Result<File, ChangeError> {
    let file = opened(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            Err(ChangeError::InUse(path.display().to_string()))
        }
        Err(std::fs::TryLockError::Error(error)) => Err(io_error(path)(error)),
    }
}

/// Returns the position in the position file; none if the file does not exist.
///
/// # Errors
/// The file cannot be read.
pub fn saved_position(path: &Path) -> Result<Option<String>, ChangeError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(path)(error)),
    }
}

/// Replaces the position file atomically: after a crash it has the old or the new text.
///
/// # Errors
/// The system refuses it.
pub fn save_position(path: &Path, position: &str) -> Result<(), ChangeError> {
    replace(path, position).map_err(io_error(path))
}

fn replace(path: &Path, position: &str) -> io::Result<()> {
    let next = with_suffix(path, "next");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&next)?;
    file.write_all(position.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    std::fs::rename(&next, path)?;
    sync_folder(path)
}

/// Syncs the folder of a file, so that the file's name survives a crash.
///
/// # Errors
/// The system refuses it.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Wraps an error of the operating system about a file.
pub fn io_error(path: &Path) -> impl Fn(io::Error) -> ChangeError {
    let path: PathBuf = path.to_owned();
    move |error| ChangeError::Io {
        target: path.display().to_string(),
        error,
    }
}
