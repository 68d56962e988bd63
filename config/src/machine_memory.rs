//! The memory of the machine or of the container that the process runs in, and the default that follows from it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The memory in bytes if neither the kernel nor a container tells it.
const UNKNOWN_BYTES: u64 = 4 << 30;

/// Three quarters of the memory that this process may use. The system is asked once.
pub(crate) fn default_memory_bytes_max() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let bytes = memory_bytes(Path::new("/")).unwrap_or(UNKNOWN_BYTES);
        (bytes / 4 * 3).max(1 << 20)
    })
}

/// The minimum of the machine's memory and the limits of the process's control groups. `root`: the folder of
/// `proc` and `sys`.
fn memory_bytes(root: &Path) -> Option<u64> {
    let machine = machine_bytes(&fs::read_to_string(root.join("proc/meminfo")).ok()?);
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = limit_files(root, &groups).into_iter();
    let limits = limits.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    // In version 1, a number near 2^63 means "no limit".
    limits.chain(machine).filter(|bytes| *bytes < 1 << 60).min()
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn machine_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The possible files of the limits of the groups in `/proc/self/cgroup` and of all groups above them: `memory.max`
/// (version 2, with number 0 and no controllers) and `memory.limit_in_bytes` (version 1).
fn limit_files(root: &Path, groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let (mount, name) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            controllers if controllers.split(',').any(|it| it == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        // In a container the path may be a path outside the container: then the group itself is at the mount.
        let above = path
            .ancestors()
            .map(|path| root.join(mount).join(path).join(name));
        files.extend(above);
    }
    files
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MEMINFO: &str = "MemTotal:       16777216 kB\nMemFree:         1024 kB\n";

    fn machine(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        memory_bytes(root.path())
    }

    #[test]
    fn the_smallest_memory_limit_of_the_machine_and_cgroups_applies() {
        let all = machine(&[("proc/meminfo", MEMINFO)]);
        assert_eq!(all, Some(16 << 30));
        let of_version_2 = machine(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "0::/system.slice/pilotfish.service\n"),
            (
                "sys/fs/cgroup/system.slice/pilotfish.service/memory.max",
                "max\n",
            ),
            ("sys/fs/cgroup/system.slice/memory.max", "1073741824\n"),
        ]);
        assert_eq!(of_version_2, Some(1 << 30));
        let in_a_container = machine(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "536870912\n"),
        ]);
        assert_eq!(in_a_container, Some(512 << 20));
        let of_version_1 = machine(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "4:cpu,cpuacct:/a\n3:memory:/docker/1\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n"),
            (
                "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ]);
        assert_eq!(of_version_1, Some(2 << 30));
        assert_eq!(machine(&[]), None);
    }

    #[test]
    fn the_default_memory_limit_of_this_machine_exceeds_16_mib() {
        assert!(default_memory_bytes_max() > 16 << 20);
    }
}
