//! The process, as the kernel reports it.

use std::fs;
use std::time::Duration;

use crate::table::{Asks, Cell, Schema, TableDefinition, columns, microseconds, seconds};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<ProcessRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "process",
    about: "The process, as the kernel reports it.",
    asks: Asks::Nothing,
    columns: columns! {
        integer "pid", "Its number.", |it| it.pid.into();
        text "version", "The version of Pilotfish.", |_| env!("CARGO_PKG_VERSION").into();
        text "host", "The name of the machine.", |it| it.host.clone().into();
        measure "started" ["s"], "When it began, since 1970.", |it| seconds(it.started);
        measure "uptime_seconds" ["s"], "How long it has run.", |it| seconds(it.uptime);
        measure "cpu_us" ["us"], "Processor time that it has taken, in steps of the kernel's clock.",
            |it| it.cpu.map_or(Cell::Null, microseconds);
        measure "resident_bytes" ["bytes"], "Memory that it has, as far as that is not paged out.",
            |it| it.resident_bytes.into();
        integer "threads", "Its threads.", |it| it.threads.into();
        integer "open_files", "Files and sockets that are open.", |it| it.open_files.into();
        integer "open_files_max", "How many there may be.", |it| it.open_files_max.into();
    },
    items,
};

/// The kernel's facts about the process; those that it does not tell are missing.
pub struct ProcessRow {
    pid: u32,
    host: String,
    started: Duration,
    uptime: Duration,
    cpu: Option<Duration>,
    resident_bytes: Option<u64>,
    threads: Option<u64>,
    open_files: Option<usize>,
    open_files_max: Option<u64>,
}

fn items(input: &TableInput) -> Vec<ProcessRow> {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let stat = Stat::read(&stat);
    let open_files = fs::read_dir("/proc/self/fd").ok();
    let uptime = input.now.0;
    let now = input.data_plane.system().clock.unix_time();
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    vec![ProcessRow {
        pid: std::process::id(),
        host: fs::read_to_string("/proc/sys/kernel/hostname")
            .unwrap_or_default()
            .trim()
            .to_owned(),
        started: now.saturating_sub(uptime),
        uptime,
        cpu: stat.as_ref().map(|it| it.cpu),
        resident_bytes: stat.as_ref().map(|it| it.resident_bytes),
        threads: stat.as_ref().map(|it| it.threads),
        // Reading the folder opens it, so one file is the folder itself.
        open_files: open_files.map(|folder| folder.count().saturating_sub(1)),
        open_files_max: files.current,
    }]
}

/// The processor time that the process has taken, and the bytes of memory that it has, if the kernel tells them.
pub fn usage() -> Option<(Duration, u64)> {
    let stat = Stat::read(&fs::read_to_string("/proc/self/stat").ok()?)?;
    Some((stat.cpu, stat.resident_bytes))
}

/// What stands in `/proc/PID/stat`, see proc_pid_stat(5).
struct Stat {
    cpu: Duration,
    threads: u64,
    resident_bytes: u64,
}

impl Stat {
    fn read(text: &str) -> Option<Self> {
        // A name may contain blanks and brackets, so the fields are counted from the last bracket on; the first is
        // field 3.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<_> = rest.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let ticks = number(14)?.checked_add(number(15)?)?;
        let ticks_per_second = rustix::param::clock_ticks_per_second().max(1);
        let page_bytes = rustix::param::page_size() as u64;
        Some(Self {
            cpu: Duration::from_micros(ticks.saturating_mul(1_000_000) / ticks_per_second),
            threads: number(20)?,
            resident_bytes: number(24)?.saturating_mul(page_bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_table_reads_the_kernels_stat_file() {
        let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let stat = Stat::read(&text);
        assert!(stat.is_some_and(|it| it.threads > 1 && it.resident_bytes > 1 << 20));
        let strange = text.replacen("pilotfish", "a) b (c", 1);
        assert!(Stat::read(&strange).is_some());
        assert!(Stat::read("").is_none());
    }
}
