//! A file that entries are appended to. If it has been moved, a new one is created.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// After a failure nothing is written for this long.
const PAUSE: Duration = Duration::from_millis(500);

/// See the module.
pub struct LogFile {
    path: PathBuf,
    open: Option<Open>,
    failed: Option<(Instant, io::ErrorKind, String)>,
}

struct Open {
    file: File,
    bytes: u64,
    /// Device and inode, which tell the file from another one of the same name.
    identity: (u64, u64),
}

impl LogFile {
    /// A log file. It is opened when there is something to write.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            open: None,
            failed: None,
        }
    }

    /// Writes whole entries, all or none of them.
    ///
    /// # Errors
    /// The kernel's error. Entries that come after a short pause are tried again.
    pub fn append(&mut self, entries: &[u8]) -> io::Result<()> {
        if let Some((at, kind, cause)) = &self.failed
            && at.elapsed() < PAUSE
        {
            return Err(io::Error::new(*kind, cause.clone()));
        }
        let written = self.try_append(entries);
        self.failed = written.as_ref().err().map(|error| {
            let cause = error.to_string();
            (Instant::now(), error.kind(), cause)
        });
        if written.is_err() {
            self.open = None;
        }
        written
    }

    fn try_append(&mut self, entries: &[u8]) -> io::Result<()> {
        // If the file was moved or its folder was deleted, entries in the open file would not be at `path`.
        let is_there = |open: &Open| identity(&self.path).is_some_and(|it| it == open.identity);
        self.open.take_if(|open| !is_there(open));
        let mut open = match self.open.take() {
            Some(open) => open,
            None => Open::new(&self.path)?,
        };
        if let Err(error) = open.file.write_all(entries) {
            // Removes a partly written entry, because the next entry would continue its line.
            let _ = open.file.set_len(open.bytes);
            return Err(error);
        }
        open.bytes += entries.len() as u64;
        self.open = Some(open);
        Ok(())
    }
}

impl Open {
    fn new(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).mode(0o640).open(path)?;
        let metadata = file.metadata()?;
        Ok(Self {
            bytes: metadata.len(),
            identity: (metadata.dev(), metadata.ino()),
            file,
        })
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(folder: &Path, name: &str) -> Option<String> {
        std::fs::read_to_string(folder.join(name)).ok()
    }

    #[test]
    fn a_file_that_was_moved_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = LogFile::new(folder.path().join("log"));
        log.append(b"one\n").unwrap();
        std::fs::rename(folder.path().join("log"), folder.path().join("moved")).unwrap();
        log.append(b"two\n").unwrap();
        assert_eq!(read(folder.path(), "log").as_deref(), Some("two\n"));
        assert_eq!(read(folder.path(), "moved").as_deref(), Some("one\n"));
    }

    #[test]
    fn a_missing_folder_is_reported_and_its_return_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        let mut log = LogFile::new(below.join("log"));
        assert_eq!(
            log.append(b"x").unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        std::fs::create_dir(&below).unwrap();
        assert!(log.append(b"y").is_err(), "not at once");
        log.failed = None;
        log.append(b"z").unwrap();
        assert_eq!(read(&below, "log").as_deref(), Some("z"));
    }
}
