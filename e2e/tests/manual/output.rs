//! Compares a command's output with the output on the page.

use e2e::page::is_like;

/// A line that stands for any number of lines.
const ANY_LINES: &str = "…";

/// Compares lines. The widths of columns do not count, nor does an empty line at the end.
pub fn is_as_shown(output: &str, shown: &[&str]) -> bool {
    let lines: Vec<String> = output.trim_end().lines().map(plain).collect();
    let shown = shown.join("\n");
    let shown: Vec<String> = shown.trim_end().lines().map(plain).collect();
    matches(&lines, &shown)
}

fn matches(lines: &[String], shown: &[String]) -> bool {
    let Some((first, more)) = shown.split_first() else {
        return lines.is_empty();
    };
    if first == ANY_LINES {
        return (0..=lines.len()).any(|skipped| matches(&lines[skipped..], more));
    }
    let Some((line, rest)) = lines.split_first() else {
        return false;
    };
    is_like(line, first) && matches(rest, more)
}

/// A line without the widths of columns: a single space for several, two dashes for more.
fn plain(line: &str) -> String {
    let mut plain = String::new();
    for letter in line.trim_end().chars() {
        let is_more = match letter {
            ' ' | '\t' => plain.ends_with([' ', '\t']),
            '-' => plain.ends_with("--"),
            _ => false,
        };
        if !is_more {
            plain.push(letter);
        }
    }
    plain
}

#[test]
fn dots_in_examples_match_text_and_lines() {
    let output = "+----+------+\n| id | name |\n+----+------+\n| 1  | Ada  |\n+----+------+\n";
    let shown = |text: &str| is_as_shown(output, &text.lines().collect::<Vec<_>>());
    assert!(shown(output));
    assert!(shown(
        "+-------+---+\n| id    | name |\n…\n| … | Ada |\n+----+------+"
    ));
    assert!(shown("…"));
    assert!(!shown("…\n| 2 | Ada |\n+----+------+"));
    assert!(!shown("+----+------+\n| id | name |"));
    assert!(!shown(""));
    assert!(is_as_shown("", &[]));
    assert!(!is_as_shown("a warning", &[]));
}
