//! What the figures were measured on.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::process::version_line;

/// Processor, number of cores and memory in one line.
pub fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = value(&info, "model name").unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: u64 = value(&memory, "MemTotal")
        .and_then(|text| text.trim_end_matches(" kB").parse().ok())
        .unwrap_or_default();
    format!(
        "{cores} cores ({model}), {:.0} GiB of memory",
        kib as f64 / 1048576.0
    )
}

/// The kernel's release, and the congestion control that all connections get: BBR paces even on the
/// loopback.
pub fn kernel() -> String {
    let setting = |path: &str| {
        fs::read_to_string(path)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let release = setting("/proc/sys/kernel/osrelease");
    let control = setting("/proc/sys/net/ipv4/tcp_congestion_control");
    format!("Linux {release} (TCP {control})")
}

pub fn distribution() -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("unknown").trim_matches('"').to_owned()
}

/// The commit the working copy stands at.
pub fn commit() -> String {
    version_line(Command::new("git").args(["rev-parse", "--short", "HEAD"]))
}

/// Now, UTC, to the minute.
pub fn date() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let (year, month, day) = civil((seconds / 86_400) as i64);
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Year, month and day of a number of days since 1970 (Hinnant, "chrono-compatible date algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Raises the number of files this process and its children may open as far as it goes, and returns it.
pub fn raise_open_files() -> u64 {
    const WANTED: u64 = 65_536;
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(WANTED);
    let more = Rlimit {
        current: Some(WANTED),
        maximum: Some(WANTED.max(hard)),
    };
    let most = Rlimit {
        current: Some(hard),
        maximum: limit.maximum,
    };
    // Beyond the hard limit only a privileged process gets.
    match setrlimit(Resource::Nofile, more).or_else(|_| setrlimit(Resource::Nofile, most)) {
        Ok(()) => getrlimit(Resource::Nofile).current.unwrap_or(WANTED),
        Err(_) => limit.current.unwrap_or(WANTED),
    }
}

fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_777), (2026, 11, 20));
    }
}
