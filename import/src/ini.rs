//! Files of sections `[name]` with lines `key = value`, the format of MaxScale and MySQL Router.

use crate::source::Refusal;

/// A section.
#[derive(Debug)]
pub struct Section {
    /// The text between the brackets.
    pub name: String,
    /// The line of the brackets.
    pub line: usize,
    /// The lines below it.
    pub entries: Vec<Entry>,
}

/// A line `key = value`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key as it is written.
    pub key: String,
    /// The value without blanks around it, and without quotes around the whole.
    pub value: String,
    /// The line.
    pub line: usize,
}

/// The most entries that are read.
const ENTRIES_MAX: usize = 100_000;

impl Section {
    /// The last entry of this name; case and `-` for `_` do not matter.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|it| plain(&it.key) == key)
    }

    /// Its value.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.entry(key).map(|it| it.value.as_str())
    }
}

/// A key in lower case with `_`.
pub fn plain(key: &str) -> String {
    key.trim().to_ascii_lowercase().replace('-', "_")
}

/// Reads all sections. A line that begins with a blank continues the value before it.
///
/// # Errors
/// The first line that is neither a section nor an entry.
pub fn read(text: &str) -> Result<Vec<Section>, Refusal> {
    let mut sections: Vec<Section> = Vec::new();
    let mut count = 0;
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let trimmed = raw.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = trimmed.strip_prefix('[') {
            let Some((name, _)) = rest.split_once(']') else {
                return Err(Refusal::at(
                    line,
                    "a section has no closing bracket",
                    "write [name]",
                ));
            };
            sections.push(Section {
                name: name.trim().to_owned(),
                line,
                entries: Vec::new(),
            });
            continue;
        }
        count += 1;
        if count > ENTRIES_MAX {
            let text = format!("the file has more than {ENTRIES_MAX} settings");
            return Err(Refusal::at(
                line,
                text,
                "name the configuration file itself",
            ));
        }
        let Some(section) = sections.last_mut() else {
            let hint = "write the section's name in brackets above the line";
            return Err(Refusal::at(
                line,
                "the line stands before the first section",
                hint,
            ));
        };
        let is_continued = raw.starts_with([' ', '\t']) && !section.entries.is_empty();
        match (trimmed.split_once('='), section.entries.last_mut()) {
            // A value over several lines; indented "key = value" lines are common, too.
            (None, Some(last)) if is_continued => last.value.push_str(trimmed),
            (None, _) => {
                let text = "the line is neither \"key = value\" nor \"[section]\"";
                return Err(Refusal::at(
                    line,
                    text,
                    "correct the line, or put # before it",
                ));
            }
            (Some((key, value)), _) => section.entries.push(Entry {
                key: key.trim().to_owned(),
                value: unquoted(value.trim()).to_owned(),
                line,
            }),
        }
    }
    Ok(sections)
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text
            .strip_prefix(quote)
            .and_then(|it| it.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner;
        }
    }
    text
}
