//! Relay files on a disk that is full for some time.

use std::process::Command;

use super::*;

both! {
    a_full_disk_stops_the_stream_and_free_space_continues_it
}

/// A small file system in memory.
pub(crate) struct SmallDisk {
    folder: Folder,
}

impl SmallDisk {
    const BYTES: usize = 1 << 20;

    pub(crate) fn new() -> Self {
        let disk = Self {
            folder: Folder::new("files"),
        };
        let size = format!("size={},mode=1777", Self::BYTES);
        let place = disk.folder.path().to_str().unwrap();
        as_root(&["mount", "-t", "tmpfs", "-o", &size, "pilotfish-test", place]);
        disk
    }

    /// The path of the file system.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn ballast(&self) -> PathBuf {
        self.folder.path().join("ballast")
    }

    /// Fills the file system except for this many bytes.
    pub(crate) fn fill(&self, room: u64) {
        let disk = rustix::fs::statvfs(self.folder.path()).unwrap();
        let free = disk.f_bavail * disk.f_frsize;
        let ballast = usize::try_from(free - room).unwrap();
        std::fs::write(self.ballast(), vec![0; ballast]).unwrap();
    }

    pub(crate) fn empty(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        as_root(&["umount", "--lazy", self.folder.path().to_str().unwrap()]);
    }
}

/// Runs a command as root. The tests are run by root, or by a user of sudo.
fn as_root(command: &[&str]) {
    let is_root = rustix::process::geteuid().is_root();
    let sudo = if is_root { &[][..] } else { &["sudo", "-n"] };
    let all = [sudo, command].concat();
    let output = Command::new(all[0]).args(&all[1..]).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

fn a_full_disk_stops_the_stream_and_free_space_continues_it(product: Product) {
    const FULL: &str = "No space left on device";
    let disk = SmallDisk::new();
    let fed = Fed::new(product);
    let relay = disk.path().join("relay");
    std::fs::create_dir(&relay).unwrap();
    let text = std::fs::read_to_string(&fed.config).unwrap();
    let own = fed.config.parent().unwrap().join("relay");
    let text = text.replace(own.to_str().unwrap(), relay.to_str().unwrap());
    std::fs::write(&fed.config, text).unwrap();
    let proxy = fed.proxy();
    fed.primary.root().run("CREATE DATABASE shop");
    let create = "CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)";
    fed.primary.root().run(create);
    fed.write(0, 5);
    let replica = fed.replica(2);
    fed.check(&[&replica]);

    // A few transactions fit into this room.
    disk.fill(64 << 10);
    fed.write(5, 40);
    proxy.wait_event("replication_failed", &["cause=\"relay\"", FULL]);
    let address = Address::Tcp(([127, 0, 0, 1], fed.admin).into());
    let mut admin = RawConn::connect(&address, &Login::with("root", "all")).unwrap();
    wait::until("the full disk is shown", wait::SOON, || {
        let select = format!("SELECT state FROM replication WHERE last_error LIKE '%{FULL}%'");
        admin.run(&select).texts() == [["waiting"]]
    });
    // The files have the transactions that the replica has got. The others follow when there is room.
    proxy.kill();
    let proxy = fed.proxy();
    proxy.wait_event("replication_failed", &[FULL]);
    disk.empty();
    fed.write(40, 45);
    fed.check(&[&replica]);
    let late = fed.replica(3);
    fed.check(&[&late]);
    proxy.stop();
}
