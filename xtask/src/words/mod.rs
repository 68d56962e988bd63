//! The rules of plain English that a machine can check, for the texts that people read first: pages, texts in the
//! code, and the dashboard. The number of sentences that break a rule is written down for each page and file in `xtask/words.toml`. It may
//! only fall.

#[cfg(test)]
mod before_and_after;
mod blocks;
mod code;
mod dashboard;
mod pages;
mod rules;
mod sentences;

use std::fmt::Write as _;
use std::path::Path;

use crate::ratchet::{self, Excess, Figures, File, Ratchet};
use crate::{Outcome, read};
use blocks::Block;
use rules::RULES;
use sentences::{Sentence, of_block, sentences};

const FILE: File = File {
    path: "xtask/words.toml",
    head: "\
# How many faults of plain English each page or file has today. A figure may only fall. One that is not here has none.
# `cargo run -p xtask -- words PAGE` prints the sentences.
# `cargo run -p xtask -- words --write` writes this file, and refuses a figure that has grown.
",
    command: "cargo run -p xtask -- words --write",
};

/// The one measure of this ratchet.
const MEASURE: &str = "faults of a page";

/// A sentence that breaks a rule.
struct Fault {
    rule: &'static str,
    sentence: Sentence,
}

/// Prints a table of the rules and pages. If a page has more faults than are written down, the error has its sentences.
pub fn check(root: &Path) -> Outcome {
    let pages = faults_by_page(root)?;
    let ratchet = Ratchet::read(root, &FILE)?;
    let mut lines = ratchet.faults(&[excess(&pages)]);
    for (page, faults) in &pages {
        if faults.len() > ratchet.figure(MEASURE, page).unwrap_or_default() {
            lines.push(described(page, faults));
        }
    }
    if lines.is_empty() {
        Ok(table(&pages))
    } else {
        Err(lines)
    }
}

/// Writes today's figures down; an error if one has grown.
pub fn write(root: &Path) -> Outcome {
    let pages = faults_by_page(root)?;
    let measured = [excess(&pages)];
    let grown = Ratchet::read(root, &FILE)?.grown(&measured);
    if !grown.is_empty() {
        return Err(grown);
    }
    ratchet::write(root, &FILE, &measured)?;
    Ok(table(&pages))
}

/// The sentences of a page that break a rule, a line each.
pub fn list(root: &Path, page: &str) -> Outcome {
    let of_code = |(file, faults): (String, Vec<Fault>)| (file == page).then_some(faults);
    let faults = match page.ends_with(".rs") {
        true => faults_in_code(root)?.into_iter().find_map(of_code),
        false => Some(faults(&read(&root.join(page))?)),
    };
    let faults = faults.unwrap_or_default();
    if faults.is_empty() {
        Ok(format!("words: {page} has no faults"))
    } else {
        Ok(described(page, &faults))
    }
}

/// The pages' names, and their faults.
type Pages = Vec<(String, Vec<Fault>)>;

fn faults_by_page(root: &Path) -> Result<Pages, Vec<String>> {
    let pages = pages::all(root)?.into_iter();
    let faults_of = |page: String| Ok((page.clone(), faults(&read(&root.join(page))?)));
    let mut all: Pages = pages.map(faults_of).collect::<Result<_, Vec<String>>>()?;
    all.extend(faults_in_code(root)?);
    Ok(all)
}

fn faults_in_code(root: &Path) -> Result<Pages, Vec<String>> {
    let files = code::texts(root)?
        .into_iter()
        .chain(dashboard::texts(root)?);
    let faults_of = |blocks: Vec<Block>| faults_among(blocks.iter().flat_map(of_block));
    Ok(files
        .map(|(file, blocks)| (file, faults_of(blocks)))
        .collect())
}

fn faults(text: &str) -> Vec<Fault> {
    faults_among(sentences(text))
}

fn faults_among(sentences: impl IntoIterator<Item = Sentence>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for sentence in sentences {
        let broken = RULES.iter().filter(|rule| (rule.breaks)(&sentence));
        faults.extend(broken.map(|rule| Fault {
            rule: rule.name,
            sentence: sentence.clone(),
        }));
    }
    faults
}

fn described(page: &str, faults: &[Fault]) -> String {
    let line = |fault: &Fault| {
        let Fault { rule, sentence } = fault;
        format!("{page}:{}: {rule}: {}", sentence.line, sentence.text)
    };
    faults.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn excess(pages: &Pages) -> Excess {
    let with_faults = pages.iter().filter(|(_, faults)| !faults.is_empty());
    let figures: Figures = with_faults
        .map(|(page, faults)| (page.clone(), faults.len()))
        .collect();
    Excess {
        name: MEASURE,
        limit: 0,
        figures,
    }
}

/// A line for each rule: how many sentences break it. Then the pages that have faults.
fn table(pages: &Pages) -> String {
    let mut table = format!("{:46} {:>6}\n", "plain English", "faults");
    for rule in RULES {
        let faults = pages.iter().flat_map(|(_, faults)| faults);
        let count = faults.filter(|fault| fault.rule == rule.name).count();
        let _ = writeln!(table, "{:46} {count:>6}", rule.name);
    }
    let clean = pages.iter().filter(|(_, faults)| faults.is_empty()).count();
    let _ = write!(
        table,
        "{clean} of {} pages and files have no faults",
        pages.len()
    );
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_described_by_its_line_its_rule_and_its_sentence() {
        let faults = faults("# Title\n\nThe proxy waits.\nNobody knows why.\n");
        assert_eq!(
            described("page.md", &faults),
            "page.md:4: a word that the lexicon replaces: Nobody knows why."
        );
    }
}
