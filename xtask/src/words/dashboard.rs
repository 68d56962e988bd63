//! The texts of the dashboard: the strings of its code that are sentences.

use std::fs;
use std::path::Path;

use super::blocks::Block;

const FOLDERS: &[&str] = &["web/src", "web/src/answers", "web/src/views"];

/// The sentences of each file, by its path from the repository's folder.
pub fn texts(root: &Path) -> Result<Vec<(String, Vec<Block>)>, Vec<String>> {
    let mut texts = Vec::new();
    for folder in FOLDERS {
        let found = in_folder(root, folder);
        texts.extend(found.map_err(|error| vec![format!("{folder}: {error}")])?);
    }
    texts.retain(|(_, blocks)| !blocks.is_empty());
    texts.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(texts)
}

fn in_folder(root: &Path, folder: &str) -> std::io::Result<Vec<(String, Vec<Block>)>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(root.join(folder))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".ts") {
            let path = format!("{folder}/{name}");
            let code = fs::read_to_string(root.join(&path))?;
            texts.push((path, sentences(&code)));
        }
    }
    Ok(texts)
}

/// The strings in double quotes or backticks that begin with a capital letter and end with a full stop.
fn sentences(code: &str) -> Vec<Block> {
    let lines = code.lines().enumerate();
    let of_line = |(index, line): (usize, &str)| {
        let strings = strings(line).into_iter().filter(|it| is_sentence(it));
        strings
            .map(|text| Block {
                line: index + 1,
                text: text.to_owned(),
            })
            .collect::<Vec<_>>()
    };
    lines.flat_map(of_line).collect()
}

fn is_sentence(text: &str) -> bool {
    text.starts_with(char::is_uppercase) && text.ends_with('.')
}

/// The strings of one line; the page's code breaks none.
fn strings(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(['"', '`']) {
        let quote = &rest[start..=start];
        let text = &rest[start + 1..];
        let Some(end) = text.find(quote) else { break };
        found.push(&text[..end]);
        rest = &text[end + 1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_found_and_titles_and_queries_are_not() {
        let code = "const it = new Tile(\"Sessions\", \"Connected clients.\");\nquery(`SELECT 1`, \"All.\");";
        let found = sentences(code);
        let texts: Vec<_> = found.iter().map(|it| (it.line, &*it.text)).collect();
        assert_eq!(texts, [(1, "Connected clients."), (2, "All.")]);
    }
}
