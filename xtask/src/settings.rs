//! The manual's page of settings, written from their definitions.

use std::path::Path;

use crate::Outcome;

/// The page, from the repository's folder.
const PAGE: &str = "docs/manual/src/settings.md";

/// Writes the page.
pub fn write(root: &Path) -> Outcome {
    let path = root.join(PAGE);
    let folder = path.parent().unwrap_or(root);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, config::manual::settings_page()))
        .map_err(|error| vec![format!("{PAGE}: {error}")])?;
    Ok(format!("settings: wrote {PAGE}"))
}

/// Whether the page is current.
pub fn check(root: &Path) -> Outcome {
    if crate::read(&root.join(PAGE))? == config::manual::settings_page() {
        Ok(format!("settings: {PAGE} is current"))
    } else {
        Err(vec![format!(
            "{PAGE} is out of date: run `cargo run -p xtask -- settings`"
        )])
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_the_repository_is_current() {
        assert_eq!(super::check(&crate::root()).err(), None);
    }
}
