//! The pages that are checked.

use std::fs;
use std::path::Path;

/// Single pages, and folders of pages, from the repository's folder. The page of settings is written from their
/// definitions in `config/`: its faults are put right there.
const PAGES: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "e2e/README.md",
    "nap/README.md",
    "bench/README.md",
];
const FOLDERS: &[&str] = &["docs", "docs/manual/src"];

/// The names of all pages, sorted.
pub fn all(root: &Path) -> Result<Vec<String>, Vec<String>> {
    let mut pages: Vec<String> = PAGES.iter().map(|page| String::from(*page)).collect();
    for folder in FOLDERS {
        let found = in_folder(root, folder);
        pages.extend(found.map_err(|error| vec![format!("{folder}: {error}")])?);
    }
    pages.sort();
    Ok(pages)
}

fn in_folder(root: &Path, folder: &str) -> std::io::Result<Vec<String>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(root.join(folder))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            pages.push(format!("{folder}/{name}"));
        }
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    #[test]
    fn checked_pages_include_the_readme_and_the_manual() {
        let pages = super::all(&crate::root()).unwrap_or_default();
        for page in ["README.md", "docs/manual/src/pooling.md"] {
            assert!(pages.iter().any(|it| it == page), "{page}");
        }
    }
}
