//! The sandbox's folder and its cleaner: a small process that ends the servers and removes the
//! folder when the sandbox has ended, also after Ctrl-C, a failed start, or SIGKILL.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::fault::{During, Fault};

/// The longest path of a Unix socket, in bytes; macOS has the smallest of all systems.
const SOCKET_PATH_BYTES_MAX: usize = 103;

/// A private folder (mode 0700) that is removed when the sandbox ends.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    cleaner: Child,
}

impl Folder {
    /// Makes the folder, at `wanted` or in the system's folder for temporary files.
    ///
    /// # Errors
    /// `wanted` is not empty, is too long for the servers' sockets, or cannot be made.
    pub fn create(wanted: Option<&Path>) -> Result<Self, Fault> {
        let path = match wanted {
            Some(path) => make(path)?,
            None => tempfile::Builder::new()
                .prefix("pilotfish-sandbox-")
                .tempdir()
                .during("make a temporary folder")?
                .keep(),
        };
        // Links are resolved once, so that command lines and the cleaner use the same path.
        let path = path.canonicalize().during("find the sandbox's folder")?;
        let cleaner = cleaner(&path).during("start the sandbox's cleaner (sh)")?;
        Ok(Self { path, cleaner })
    }

    /// Its path: absolute, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends every server in the folder and removes it.
    ///
    /// # Errors
    /// Parts of the folder could not be removed.
    pub fn remove(mut self) -> Result<(), Fault> {
        drop(self.cleaner.stdin.take());
        let _ = self.cleaner.wait();
        if self.path.exists() {
            return Err(Fault::new(format!(
                "could not remove all of {}",
                self.path.display()
            )));
        }
        Ok(())
    }
}

/// Makes the folder that the user has named. It may exist already, if it is empty.
fn make(path: &Path) -> Result<PathBuf, Fault> {
    let path = std::path::absolute(path).during("find the current folder")?;
    let doing = format!("make the sandbox's folder {}", path.display());
    let longest = path.join("replica-99/server.sock").as_os_str().len();
    if longest > SOCKET_PATH_BYTES_MAX {
        return Err("its name is too long for the servers' sockets").during(doing);
    }
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
    .during(&doing)?;
    match fs::read_dir(&path).during(&doing)?.next() {
        Some(_) => Err("it is not empty").during(doing),
        None => Ok(path),
    }
}

/// Starts the cleaner, in its own process group, so that the terminal's Ctrl-C does not reach it.
fn cleaner(folder: &Path) -> io::Result<Child> {
    Command::new("sh")
        .args([
            "-c",
            include_str!("cleaner.sh"),
            "pilotfish-sandbox-cleaner",
        ])
        .env("SANDBOX", folder)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A path that only this test uses.
    fn spot(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("pilotfish-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_folder_is_private_and_is_removed_with_its_server() {
        let folder = Folder::create(Some(&spot("folder"))).unwrap();
        let path = folder.path().to_owned();
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        let mut stand_in = Command::new("sh")
            .args(["-c", "read -r _", "server"])
            .arg(format!("--datadir={}/data", path.display()))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        folder.remove().unwrap();
        assert!(!path.exists());
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(stand_in.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_folder_with_something_in_it_is_left_alone() {
        let path = spot("in-use");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("precious"), "data").unwrap();
        let fault = Folder::create(Some(&path)).unwrap_err();
        assert!(fault.to_string().contains("it is not empty"), "{fault}");
        assert!(path.join("precious").exists());
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn a_folder_too_long_for_a_socket_is_refused_before_anything_is_made() {
        let path = spot(&"x".repeat(100));
        let fault = Folder::create(Some(&path)).unwrap_err();
        assert!(fault.to_string().contains("too long"), "{fault}");
        assert!(!path.exists());
    }
}
