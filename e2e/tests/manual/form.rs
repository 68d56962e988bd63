//! The form of the manual's pages: every page of the summary has it, or is a listed exception with a reason.

use std::path::Path;

use e2e::page::text;

use super::PAGES;
use super::example::HEADING;

/// The headings of a page, in this order. Others may stand between them.
const PARTS: [&str; 4] = [HEADING, "How it works", "Reference", "What goes wrong"];

/// Pages whose examples the runner of examples cannot run, and the tests that run them.
const TESTED_ELSEWHERE: &[(&str, &str)] = &[
    ("binlog", "the_page_of_the_manual_prints_what_it_says"),
    (
        "change-feed",
        "the_page_of_the_change_feed_does_what_it_says",
    ),
    (
        "feeding-replicas",
        "replicas_continue_after_restarts_and_kills_of_the_proxy",
    ),
    ("pilotfish-lua", "the_ledger_is_closed"),
    (
        "replication-filters",
        "the_filters_of_the_manual_do_what_it_says",
    ),
    ("schema-history", "the_page_of_the_manual_does_what_it_says"),
    ("shipped-scripts", "every_dialogue_of_the_page_is_held"),
];

/// Pages that do not have the parts, and why. These pages also begin with two sentences.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("introduction", "an overview"),
    ("quick-start", "it is an example as a whole"),
    (
        "init",
        "its example needs a server without an account for the proxy",
    ),
    (
        "installation",
        "packages, tested by the packages' own tests",
    ),
    ("supported-versions", "a table"),
    ("comparison", "a table"),
    ("settings", "written from the settings' definitions"),
    ("sizing", "measured figures"),
    ("security", "an overview"),
    ("dashboard", "pictures, made by a test"),
    ("runbook", "cases, not one subject"),
    ("errors", "written from the errors' definitions"),
    (
        "proxysql",
        "a table from there to here; its example is tested by the import",
    ),
    (
        "maxscale",
        "a table from there to here; its example is tested by the import",
    ),
    (
        "haproxy",
        "a table from there to here; its example is tested by the import",
    ),
    (
        "mysql-router",
        "a table from there to here; its example is tested by the import",
    ),
    (
        "mysql-proxy",
        "a table from there to here; its example is tested by the import",
    ),
];

/// The pages of the summary, in its order.
fn pages() -> Vec<String> {
    let summary = text("SUMMARY");
    let links = summary.split("](").skip(1);
    let names = links.filter_map(|link| link.split_once(".md)"));
    let names = names.map(|(name, _)| name.to_owned());
    names
        .filter(|name| !name.starts_with("settings/"))
        .collect()
}

/// The second-level headings, without those in blocks of code.
fn headings(page: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        found.extend(line.strip_prefix("## ").filter(|_| !is_code));
    }
    found
}

/// The number of sentences of the paragraph below the title, and whether the example follows it.
fn opening(page: &str) -> (usize, bool) {
    let mut paragraphs = page.split("\n\n").skip(1);
    let first = paragraphs.next().unwrap_or_default().replace('\n', " ");
    let ends = [". ", "? ", ".) "];
    let sentences = 1 + ends
        .map(|end| first.matches(end).count())
        .iter()
        .sum::<usize>();
    let next = paragraphs.next().unwrap_or_default();
    (sentences, next == format!("## {HEADING}"))
}

/// The parts of the form that a page lacks.
fn faults(page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let (sentences, is_followed) = opening(page);
    if sentences != 2 {
        faults.push(format!("{sentences} sentences below the title, not 2"));
    }
    if !is_followed {
        faults.push(format!("no \"{HEADING}\" behind the first paragraph"));
    }
    let headings = headings(page);
    let place = |part: &&str| headings.iter().position(|heading| heading == part);
    let places: Vec<Option<usize>> = PARTS.iter().map(place).collect();
    for (part, place) in PARTS.iter().zip(&places) {
        if place.is_none() {
            faults.push(format!("no \"{part}\""));
        }
    }
    if !places.is_sorted() {
        faults.push(format!("the parts stand in another order: {headings:?}"));
    }
    if headings.last() != PARTS.last() {
        faults.push("\"What goes wrong\" is not the last part".to_owned());
    }
    faults
}

/// Whether a test runs the example of a page.
fn is_run(page: &str) -> bool {
    let mut run = PAGES.iter();
    run.any(|it| it.replace('_', "-") == page) || TESTED_ELSEWHERE.iter().any(|(it, _)| *it == page)
}

/// The faults of a page.
fn complaints(page: &str) -> Vec<String> {
    let text = text(page);
    let mut faults = faults(&text);
    if EXCEPTIONS.iter().any(|(it, _)| *it == page) {
        faults.retain(|fault| fault.contains("sentences"));
    } else if !is_run(page) {
        faults.push("no test runs its example".to_owned());
    }
    faults
}

#[test]
fn every_page_has_the_form_or_is_an_exception() {
    let mut all = Vec::new();
    for page in pages() {
        all.extend(
            complaints(&page)
                .iter()
                .map(|fault| format!("{page}: {fault}")),
        );
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn every_listed_page_is_in_the_summary_once() {
    let pages = pages();
    let named = TESTED_ELSEWHERE.iter().chain(EXCEPTIONS);
    let run = PAGES.iter().map(|page| page.replace('_', "-"));
    let mut listed: Vec<String> = named.map(|(page, _)| (*page).to_owned()).collect();
    listed.extend(run);
    for page in &listed {
        assert!(pages.contains(page), "{page} is not in the summary");
    }
    let count = listed.len();
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(listed.len(), count, "a page is in two lists");
}

#[test]
fn every_test_that_is_named_exists() {
    let mut sources = String::new();
    read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"),
        &mut sources,
    );
    for (page, test) in TESTED_ELSEWHERE {
        assert!(sources.contains(&format!("fn {test}(")), "{page}: {test}");
    }
}

fn read(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder)
        .expect("the sources are there")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            read(&path, sources);
        } else if path.extension().is_some_and(|it| it == "rs") {
            sources.push_str(&std::fs::read_to_string(path).unwrap_or_default());
        }
    }
}
