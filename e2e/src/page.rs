//! Pages of the manual, as tests read them.

use std::path::{Path, PathBuf};

/// The folder of the manual's pages.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/manual/src")
}

/// The text of a page, by its name without `.md`.
pub fn text(name: &str) -> String {
    let path = folder().join(name).with_extension("md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of code in a language, from top to bottom.
pub fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let found = text.split(&*fence).skip(1);
    found
        .map(|block| block.split("```").next().unwrap_or_default())
        .collect()
}

/// The section with this heading, up to the next heading of the same level.
pub fn section<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let begin = format!("\n## {heading}\n");
    let (_, rest) = text.split_once(&*begin)?;
    let end = rest.find("\n## ").unwrap_or(rest.len());
    rest.get(..end)
}

/// Whether a line matches the page's line, in which `…` stands for any text.
pub fn is_like(line: &str, page: &str) -> bool {
    let mut parts = page.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let found = match parts.peek() {
            Some(_) => rest.find(part).map(|at| &rest[at + part.len()..]),
            None => return rest.ends_with(part),
        };
        let Some(found) = found else {
            return false;
        };
        rest = found;
    }
    rest.is_empty()
}
