//! From results to a page: `benchmarks.md`, and beside it a folder with the results and the plots.

mod article;
mod aside;
mod bars;
mod comparison;
mod goals;
mod number;
mod page;
mod picture;
mod plot;
mod scale;
mod summary;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::results::Results;

/// The folder of results and plots, beside the page.
const FOLDER: &str = "benchmarks";
const RESULTS: &str = "results.json";
/// The picture of CPU by workload: its file and its title.
const BARS: (&str, &str) = (
    "workloads.svg",
    "CPU of a proxy for a query (less is better)",
);

/// Writes results, plots and page into `out`.
///
/// # Errors
/// When a file cannot be written.
pub fn write(results: &Results, out: &Path) -> Result<()> {
    let folder = out.join(FOLDER);
    fs::create_dir_all(&folder)?;
    fs::write(
        folder.join(RESULTS),
        serde_json::to_string_pretty(results)? + "\n",
    )?;
    render(results, out)
}

/// Renders plots and page again from the results in `out`.
///
/// # Errors
/// When there are none, or a file cannot be written.
pub fn again(out: &Path) -> Result<()> {
    let file = out.join(FOLDER).join(RESULTS);
    let text = fs::read(&file).with_context(|| format!("no results in {}", file.display()))?;
    render(&serde_json::from_slice(&text)?, out)
}

fn render(results: &Results, out: &Path) -> Result<()> {
    let plots = plot::all(results);
    let mut pictures: Vec<_> = plots
        .iter()
        .map(|plot| (plot.file, plot.title, plot.svg()))
        .collect();
    if let Some(bars) = bars::svg(results, BARS.1) {
        pictures.insert(pictures.len().min(1), (BARS.0, BARS.1, bars));
    }
    for (file, _, svg) in &pictures {
        fs::write(out.join(FOLDER).join(file), svg)?;
    }
    let page = out.join("benchmarks.md");
    let pictures: Vec<_> = pictures
        .iter()
        .map(|(file, title, _)| (*file, *title))
        .collect();
    fs::write(&page, page::markdown(results, &pictures, FOLDER))?;
    eprintln!(
        "{}",
        goals::all(results)
            .iter()
            .map(|goal| format!("{goal}\n"))
            .collect::<String>()
    );
    println!("{}", page.display());
    Ok(())
}
