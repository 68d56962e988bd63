//! Files that another process is writing.

use std::path::Path;

use serde_json::Value;

use crate::wait;

/// A file's complete lines; none if there is no such file. Text behind the last line's end is left out, because its
/// writer may be in the middle of a line.
pub fn lines(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    let text = String::from_utf8_lossy(&bytes[..end.unwrap_or(0)]);
    text.lines().map(str::to_owned).collect()
}

/// A file's lines, each a JSON value, once there are `count` of them.
///
/// # Panics
/// If the lines do not arrive in time, or if a line is not JSON.
#[track_caller]
pub fn json_lines(path: &Path, count: usize) -> Vec<Value> {
    let what = format!("{} has {count} lines", path.display());
    let lines = wait::for_some(&what, wait::SOON, || {
        let lines = lines(path);
        (lines.len() >= count).then_some(lines)
    });
    let json = |line: &String| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    lines.iter().map(json).collect()
}
