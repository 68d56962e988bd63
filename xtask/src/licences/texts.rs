//! The licences' texts of all that is in the program, each text once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::graph::Package;
use super::list::List;
use super::parts::Part;

const HEAD: &str = "\
Pilotfish is licensed under the Apache License, version 2.0. It contains the software below. Each section names the
software first, then has the text of its licence.
";

/// What the names of files with licences begin with.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// The whole text.
pub fn all(
    packages: &[&Package],
    parts: &[Part],
    list: &List,
    every: &BTreeMap<String, Package>,
) -> Result<String, Vec<String>> {
    let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut faults = Vec::new();
    for package in packages {
        let title = format!("{} ({})", package.id(), package.licence);
        let other = list.text_of(&package.name);
        let other = other.and_then(|name| every.values().find(|it| it.name == name));
        let texts = texts_in(&other.unwrap_or(package).folder);
        if texts.is_empty() {
            faults.push(format!(
                "{title}: its source has no text of the licence; name a crate that has it in {}",
                List::FILE
            ));
        }
        for text in texts {
            sections.entry(text).or_default().push(title.clone());
        }
    }
    for part in parts {
        let title = format!("{} {} ({})", part.name, part.version, part.licence);
        sections.entry(part.text.clone()).or_default().push(title);
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut sections: Vec<(Vec<String>, String)> = sections
        .into_iter()
        .map(|(text, titles)| (titles, text))
        .collect();
    sections.sort();
    let line = "=".repeat(100);
    let sections = sections
        .iter()
        .map(|(titles, text)| format!("\n{line}\n{}\n\n{}\n", titles.join("\n"), text.trim_end()));
    Ok(HEAD.to_owned() + &sections.collect::<String>())
}

fn texts_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        path.is_file() && NAMES.iter().any(|start| name.starts_with(start))
    });
    let texts = files.filter_map(|path| fs::read(path).ok());
    let mut texts: Vec<String> = texts
        .map(|bytes| String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
        .collect();
    texts.sort();
    texts
}
