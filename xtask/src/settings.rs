//! The manual's pages of settings, written from their definitions.

use std::fs;
use std::path::Path;

use config::manual::{Page, settings_pages};

use crate::Outcome;

/// The manual's folder, from the repository's.
const FOLDER: &str = "docs/manual/src";
/// The folder of the tables' pages.
const TABLES: &str = "docs/manual/src/settings";
/// The manual's table of contents.
const SUMMARY: &str = "docs/manual/src/SUMMARY.md";

/// Writes the pages, and their lines in the table of contents.
pub fn write(root: &Path) -> Outcome {
    let pages = settings_pages();
    let told = |what: &str, error: std::io::Error| vec![format!("{what}: {error}")];
    let tables = root.join(TABLES);
    match fs::remove_dir_all(&tables) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(told(TABLES, error));
        }
        _ => {}
    }
    fs::create_dir_all(&tables).map_err(|error| told(TABLES, error))?;
    for page in &pages {
        let path = root.join(FOLDER).join(&page.path);
        fs::write(&path, &page.text).map_err(|error| told(&page.path, error))?;
    }
    let summary = summary(&crate::read(&root.join(SUMMARY))?, &pages);
    fs::write(root.join(SUMMARY), summary).map_err(|error| told(SUMMARY, error))?;
    Ok(format!("settings: wrote {} pages", pages.len()))
}

/// Whether the pages are current, and all in the table of contents.
pub fn check(root: &Path) -> Outcome {
    let pages = settings_pages();
    let is_current = |page: &&Page| {
        crate::read(&root.join(FOLDER).join(&page.path)).is_ok_and(|text| text == page.text)
    };
    let old = pages.iter().find(|page| !is_current(page));
    let old = old.map(|page| page.path.clone());
    let files = fs::read_dir(root.join(TABLES)).map_or(0, Iterator::count);
    let strange = (files + 1 != pages.len()).then(|| format!("{TABLES} has other files"));
    let contents = crate::read(&root.join(SUMMARY))?;
    let left_out = (summary(&contents, &pages) != contents).then(|| SUMMARY.to_owned());
    match old.or(strange).or(left_out) {
        None => Ok(format!("settings: {} pages are current", pages.len())),
        Some(what) => Err(vec![format!(
            "{what} is out of date: run `cargo run -p xtask -- settings`"
        )]),
    }
}

/// The table of contents with the pages below that of all settings.
fn summary(contents: &str, pages: &[Page]) -> String {
    let is_table = |line: &&str| !line.contains("](settings/");
    let mut lines = Vec::new();
    for line in contents.lines().filter(is_table) {
        lines.push(line.to_owned());
        if line.contains("](settings.md)") {
            let tables = pages.iter().skip(1);
            lines.extend(tables.map(|page| format!("  - [{}]({})", page.title, page.path)));
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_pages_in_the_repository_are_current() {
        assert_eq!(super::check(&crate::root()).err(), None);
    }
}
