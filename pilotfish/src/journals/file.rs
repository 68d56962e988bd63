//! A file that is appended to, put aside when it is large, and looked for when it has been moved.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// After a failure nothing is tried for so long.
const PAUSE: Duration = Duration::from_millis(500);

/// Where it is, and how large it may be.
#[derive(Debug, Clone)]
pub struct Place {
    pub path: PathBuf,
    /// 0: as large as it likes.
    pub bytes_max: u64,
    /// Files that were put aside.
    pub files_max: u32,
}

/// See the module.
pub struct LogFile {
    place: Place,
    open: Option<Open>,
    failed: Option<(Instant, io::ErrorKind, String)>,
}

struct Open {
    file: File,
    bytes: u64,
    /// What tells it from another file of the name.
    identity: (u64, u64),
}

impl LogFile {
    /// Nothing is opened before there is something to write.
    pub fn new(place: Place) -> Self {
        Self {
            place,
            open: None,
            failed: None,
        }
    }

    /// Writes whole entries, all or none of them.
    ///
    /// # Errors
    /// The kernel's; it is tried again with what comes after a short while.
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
        let added = entries.len() as u64;
        let Place {
            path, bytes_max, ..
        } = &self.place;
        // A file that was moved, or whose folder has gone, takes bytes that nobody will see.
        let is_there = |open: &Open| identity(path).is_some_and(|it| it == open.identity);
        self.open.take_if(|open| !is_there(open));
        let is_full = |open: &Open| {
            *bytes_max > 0 && open.bytes > 0 && open.bytes.saturating_add(added) > *bytes_max
        };
        let mut open = match self.open.take() {
            Some(open) => open,
            None => Open::new(path)?,
        };
        if is_full(&open) {
            put_aside(&self.place)?;
            open = Open::new(path)?;
        }
        if let Err(error) = open.file.write_all(entries) {
            // Half an entry would spoil the next one.
            let _ = open.file.set_len(open.bytes);
            return Err(error);
        }
        open.bytes += added;
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

/// FILE becomes FILE.1, that FILE.2, and so on; the last one goes.
fn put_aside(place: &Place) -> io::Result<()> {
    let name = |number: u32| {
        let mut name = place.path.as_os_str().to_owned();
        if number > 0 {
            name.push(format!(".{number}"));
        }
        PathBuf::from(name)
    };
    if place.files_max == 0 {
        return std::fs::remove_file(&place.path);
    }
    for number in (0..place.files_max).rev() {
        match std::fs::rename(name(number), name(number + 1)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            moved => moved?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn place(folder: &Path) -> Place {
        Place {
            path: folder.join("log"),
            bytes_max: 10,
            files_max: 2,
        }
    }

    fn read(folder: &Path, name: &str) -> Option<String> {
        std::fs::read_to_string(folder.join(name)).ok()
    }

    #[test]
    fn what_is_large_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = LogFile::new(place(folder.path()));
        for entry in [
            "one\n",
            "two\n",
            "three\n",
            "four, which is long\n",
            "five\n",
        ] {
            log.append(entry.as_bytes()).unwrap();
        }
        let read = |name| read(folder.path(), name);
        assert_eq!(read("log").as_deref(), Some("five\n"));
        assert_eq!(read("log.1").as_deref(), Some("four, which is long\n"));
        assert_eq!(read("log.2").as_deref(), Some("three\n"));
        assert_eq!(read("log.3"), None);
    }

    #[test]
    fn a_file_that_was_moved_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = LogFile::new(place(folder.path()));
        log.append(b"one\n").unwrap();
        std::fs::rename(folder.path().join("log"), folder.path().join("moved")).unwrap();
        log.append(b"two\n").unwrap();
        assert_eq!(read(folder.path(), "log").as_deref(), Some("two\n"));
        assert_eq!(read(folder.path(), "moved").as_deref(), Some("one\n"));
    }

    #[test]
    fn a_folder_that_has_gone_is_told_and_its_return_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        let mut log = LogFile::new(place(&below));
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
