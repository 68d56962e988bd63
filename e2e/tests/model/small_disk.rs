//! A disk that a test can fill: a file system in memory, of a few megabytes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::Command;

use e2e::Folder;

/// Twice the size that a log and a table of a dialogue need.
const BYTES: &str = "8m";

/// The file that fills the free space.
const FILLER: &str = "filler";

/// A file system that is mounted as long as the value lives.
pub struct SmallDisk {
    folder: Folder,
}

impl SmallDisk {
    /// Mounts a file system; `None` if this process has no right to.
    pub fn mount() -> Option<Self> {
        let folder = Folder::new("disk");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={BYTES}"), "tmpfs"]);
        let status = mount.arg(folder.path()).status();
        status
            .is_ok_and(|it| it.success())
            .then_some(Self { folder })
    }

    /// The path of the file system.
    pub fn folder(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// Leaves no free page.
    pub fn fill(&self) {
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true);
        let mut file: File = file
            .open(self.folder.join(FILLER))
            .expect("a file of no bytes has room");
        for piece in [&[0; 65536][..], &[0; 4096]] {
            while file.write_all(piece).is_ok() {}
        }
    }

    /// Frees the space that [`SmallDisk::fill`] has taken.
    pub fn free(&self) {
        std::fs::remove_file(self.folder.join(FILLER)).expect("it is there");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let mut unmount = Command::new("umount");
        // The server may still run.
        let status = unmount.arg("--lazy").arg(self.folder.path()).status();
        assert!(status.is_ok(), "umount is everywhere");
    }
}
