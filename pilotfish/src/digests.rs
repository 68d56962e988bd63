//! The file of recently seen digests: a running proxy writes it, `pilotfish plan` reads it.
//! Each line has, separated by tabs, the count, the user, the default schema and the digest.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Instant;

use config::StatementStatsConfig;
use stats::SeenDigest;
use worker::DataPlane;

/// The first line.
const TITLE: &str = "# Digests that Pilotfish has seen: count, user, schema, digest";

/// Writes the file from time to time.
pub struct Notes {
    written: Instant,
    /// The log already says that the file cannot be written.
    has_failed: bool,
}

impl Notes {
    /// Begins without writing; the first write is due after an interval.
    pub fn new() -> Self {
        Self {
            written: Instant::now(),
            has_failed: false,
        }
    }

    /// Writes the file if a write is due.
    pub async fn keep(&mut self, config: &StatementStatsConfig, plane: &DataPlane) {
        if self.written.elapsed() >= config.plan_interval {
            self.write(config, plane).await;
        }
    }

    /// Writes the file, if one is configured.
    pub async fn write(&mut self, config: &StatementStatsConfig, plane: &DataPlane) {
        let Some(file) = config.plan_file.clone() else {
            return;
        };
        self.written = Instant::now();
        let Some(seen) = plane.seen_digests().await else {
            // A worker did not answer, so the file has more digests than the workers that did.
            return;
        };
        let lines = lines(seen);
        let shown = file.display().to_string();
        let written = tokio::task::spawn_blocking(move || replace(&file, &lines)).await;
        let outcome = written.unwrap_or_else(|error| Err(io::Error::other(error)));
        match &outcome {
            Err(error) if !self.has_failed => {
                tracing::error!(file = shown, %error, "the proxy cannot write the file of digests (statement_stats.plan_file) and tries again later");
            }
            _ => {}
        }
        self.has_failed = outcome.is_err();
    }
}

/// The digests of all workers, the most frequent first.
fn lines(seen: Vec<SeenDigest>) -> String {
    let mut all = HashMap::new();
    for SeenDigest {
        text,
        user,
        schema,
        count,
    } in seen
    {
        // Quoted names may contain any character. A digest with control characters is left out, because it would not
        // fit on one line.
        let is_plain = |text: &str| !text.contains(|it: char| it.is_control());
        if is_plain(&text) && is_plain(&user) && is_plain(&schema) {
            *all.entry((user, schema, text)).or_insert(0u64) += count;
        }
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by(|(one, count), (other, most)| (most, one).cmp(&(count, other)));
    let mut lines = format!("{TITLE}\n");
    for ((user, schema, text), count) in all {
        lines.push_str(&format!("{count}\t{user}\t{schema}\t{text}\n"));
    }
    lines
}

/// Replaces the file as a whole: a reader sees the old one or the new one.
fn replace(file: &Path, lines: &str) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let mut options = std::fs::OpenOptions::new();
    let mut new = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&name)?;
    new.write_all(lines.as_bytes())?;
    std::fs::rename(&name, file)
}

/// The digests in the file.
///
/// # Errors
/// The file cannot be read, or has a malformed line.
pub fn read(file: &Path) -> Result<Vec<SeenDigest>, String> {
    let fault = |what: &dyn std::fmt::Display| format!("{}: {what}", file.display());
    let bytes = std::fs::read(file).map_err(|error| fault(&error))?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, it)| !it.starts_with('#'));
    lines
        .map(|(number, line)| {
            parse_line(line).ok_or_else(|| fault(&format_args!("line {number} is no digest")))
        })
        .collect()
}

fn parse_line(line: &str) -> Option<SeenDigest> {
    let mut columns = line.splitn(4, '\t');
    let count = columns.next()?.parse().ok()?;
    let mut text = || columns.next().map(str::to_owned);
    let (user, schema, text) = (text()?, text()?, text()?);
    Some(SeenDigest {
        text,
        user,
        schema,
        count,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn digest(text: &str, user: &str, count: u64) -> SeenDigest {
        SeenDigest {
            text: text.to_owned(),
            user: user.to_owned(),
            schema: String::new(),
            count,
        }
    }

    #[test]
    fn written_digests_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("digests");
        let seen = vec![
            digest("SELECT ?", "a", 2),
            digest("SELECT * FROM t", "b", 4),
            digest("SELECT ?", "a", 3),
            digest("SELECT `a\tb`", "a", 9),
        ];
        replace(&file, "what was before").unwrap();
        assert!(read(&file).unwrap_err().ends_with("line 1 is no digest"));
        replace(&file, &lines(seen)).unwrap();
        let expected = [
            digest("SELECT ?", "a", 5),
            digest("SELECT * FROM t", "b", 4),
        ];
        assert_eq!(read(&file).unwrap(), expected);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
