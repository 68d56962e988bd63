//! The manual's table of errors, written from their definitions. The rest of its page is written by hand.

use std::fmt::Write as _;
use std::path::Path;

use wire::errors::{Definition, all};

use crate::{Outcome, read};

/// The page, from the repository's folder.
const PAGE: &str = "docs/manual/src/errors.md";

/// The table stands between these lines.
const BEGIN: &str = "<!-- The table is written by `xtask errors`. -->\n";
const END: &str = "<!-- The end of the table. -->\n";

/// Writes the page's table.
pub fn write(root: &Path) -> Outcome {
    let path = root.join(PAGE);
    let page = renewed(&read(&path)?)?;
    std::fs::write(&path, page).map_err(|error| vec![format!("{PAGE}: {error}")])?;
    Ok(format!("errors: wrote {PAGE}"))
}

/// Whether the page is current.
pub fn check(root: &Path) -> Outcome {
    let page = read(&root.join(PAGE))?;
    if renewed(&page)? == page {
        Ok(format!("errors: {PAGE} is current"))
    } else {
        Err(vec![format!(
            "{PAGE} is out of date: run `cargo run -p xtask -- errors`"
        )])
    }
}

/// The page with the table as it is now.
fn renewed(page: &str) -> Result<String, Vec<String>> {
    let parts = page
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        return Err(vec![format!(
            "{PAGE} lacks the lines that stand around its table"
        )]);
    };
    Ok([before, BEGIN, "\n", &table(), "\n", END, after].concat())
}

/// A row for each error, by its number.
fn table() -> String {
    let mut table = String::from(
        "| number | SQLSTATE | message | when it comes | what to do |\n|---|---|---|---|---|\n",
    );
    for definition in all() {
        let Definition {
            code,
            text,
            when,
            advice,
        } = definition;
        let state = String::from_utf8_lossy(&code.sqlstate);
        let _ = writeln!(
            table,
            "| {} | {state} | `{text}` | {when} | {advice} |",
            code.number
        );
    }
    table
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_in_the_repository_is_current() {
        assert_eq!(super::check(&crate::root()).err(), None);
    }
}
