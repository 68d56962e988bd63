//! The process as the system sees it: its pid file, its user, its limit of open files.

use std::io;
use std::path::{Path, PathBuf};

use config::Config;
use nix::unistd::{Uid, User, initgroups, setgid, setuid};

/// A file with the process id; removed when dropped.
pub struct PidFile(PathBuf);

impl PidFile {
    /// Writes the file.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn write(path: &Path) -> io::Result<PidFile> {
        std::fs::write(path, format!("{}\n", std::process::id()))?;
        Ok(PidFile(path.to_owned()))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // A proxy that changed its user may not be allowed to remove the file; the next start overwrites it.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Becomes another user, permanently. Must be called before any thread is started.
///
/// # Errors
/// There is no such user, or the process is not root.
pub fn become_user(name: &str) -> io::Result<()> {
    let user = User::from_name(name)?
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such user"))?;
    if user.uid == Uid::effective() {
        return Ok(());
    }
    let c_name = std::ffi::CString::new(name)?;
    initgroups(&c_name, user.gid)?;
    setgid(user.gid)?;
    Ok(setuid(user.uid)?)
}

/// Open files besides the two sockets of each session: listeners, reactors, log, control connections.
const FILES_BESIDE_SESSIONS: u64 = 256;

/// Raises the limit of open files to the configured number, or to the number that the allowed sessions may need, and
/// warns if the limit is too low for them.
pub fn raise_open_files(config: &Config) {
    let needed = (config.limits.sessions_max as u64).saturating_mul(2) + FILES_BESIDE_SESSIONS;
    let allowed = net::limits::open_files().hard;
    let wanted = config.open_files_max.map_or(needed.max(allowed), u64::from);
    let limit = match net::limits::raise_open_files(wanted) {
        Ok(limit) => limit.soft,
        Err(error) => {
            tracing::warn!(%error, wanted, "the proxy cannot raise its limit of open files");
            net::limits::open_files().soft
        }
    };
    if limit < needed {
        tracing::warn!(
            limit,
            needed,
            "the limit of open files is too low for limits.sessions_max: clients beyond it will wait to be accepted; raise the limit or lower the setting"
        );
    }
}
