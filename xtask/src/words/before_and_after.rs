//! The page `docs/plain-texts.md` has texts as they were and as they are. What it says of today must be so.
#![allow(clippy::unwrap_used)]

use crate::root;

/// The columns of a row: the texts in backquotes.
fn row(line: &str) -> Option<(&str, &str, &str)> {
    let mut texts = line.split('`').skip(1).step_by(2);
    Some((texts.next()?, texts.next()?, texts.next()?))
}

/// A text as one line: without the breaks of strings and comments.
fn joined(text: &str) -> String {
    let text = text.replace("\\\n", "\n");
    let lines = text
        .lines()
        .map(|line| line.trim().trim_start_matches("///"));
    let words: Vec<_> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

#[test]
fn each_text_of_today_is_in_its_file() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let page = read("docs/plain-texts.md");
    let rows: Vec<_> = page.lines().filter_map(row).collect();
    assert!(rows.len() >= 30, "{} rows", rows.len());
    for (before, after, file) in rows {
        let text = joined(&read(file));
        assert!(text.contains(after), "{file} has not: {after}");
        let is_part = after.contains(before);
        assert!(is_part || !text.contains(before), "{file} has: {before}");
    }
}
