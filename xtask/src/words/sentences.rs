//! The sentences of a page. Inline code and links are one word each.

use super::blocks::{Block, blocks};

/// Stands for inline code.
const CODE: &str = "`…`";

/// Stands for a link with its text.
const LINK: &str = "[…]";

/// The word that both are.
pub const HIDDEN: &str = "…";

/// A sentence, a heading, or the words of a table's cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    pub line: usize,
    pub text: String,
}

impl Sentence {
    /// Its words, without the marks around them.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        words(&self.text)
    }

    /// Whether it ends as sentences do. Headings and most cells do not.
    pub fn is_whole(&self) -> bool {
        self.text
            .trim_end_matches(['*', ')', '"', '_'])
            .ends_with(['.', ':', '!'])
    }
}

/// The words of a text, without the marks around them.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split([' ', '/', '—', '–']);
    let bare = parts.map(|word| word.trim_matches(|it: char| !it.is_alphanumeric() && it != '…'));
    bare.filter(|word| !word.is_empty())
}

/// The sentences of a page, from top to bottom.
pub fn sentences(page: &str) -> Vec<Sentence> {
    blocks(page).iter().flat_map(of_block).collect()
}

/// The sentences of one block.
pub fn of_block(block: &Block) -> Vec<Sentence> {
    let text = masked(&block.text);
    let mut sentences = Vec::new();
    let mut rest = text.as_str();
    let mut line = block.line;
    while !rest.is_empty() {
        let (sentence, after) = rest.split_at(end(rest));
        let before = sentence.len() - sentence.trim_start().len();
        let breaks = |text: &str| text.matches('\n').count();
        sentences.push(Sentence {
            line: line + breaks(&sentence[..before]),
            text: sentence.split_whitespace().collect::<Vec<_>>().join(" "),
        });
        line += breaks(sentence);
        rest = after;
    }
    sentences.retain(|sentence| sentence.words().next().is_some());
    sentences
}

/// Where the first sentence of a text ends.
fn end(text: &str) -> usize {
    let mut from = 0;
    while let Some(found) = text[from..].find(['.', '!', '?']) {
        let mark = from + found;
        let after = text[mark + 1..].trim_start_matches(['*', ')', '"', '_', '”']);
        from = text.len() - after.len();
        if after.starts_with(char::is_whitespace) && begins_sentence(after) {
            return from;
        }
    }
    text.len()
}

fn begins_sentence(text: &str) -> bool {
    let begin = text
        .trim_start()
        .trim_start_matches(['*', '(', '"', '_', '“']);
    begin.starts_with(|it: char| it.is_uppercase() || it.is_ascii_digit() || it == '`' || it == '[')
}

/// A text whose inline code and links are one word each. The line breaks in them stand behind the word.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['`', '[']) {
        masked.push_str(&rest[..start]);
        let (mask, length) = if rest[start..].starts_with('`') {
            (CODE, code(&rest[start..]))
        } else {
            (LINK, link(&rest[start..]))
        };
        let (hidden, after) = rest[start..].split_at(length.unwrap_or(1));
        masked.push_str(if length.is_some() { mask } else { "" });
        masked.extend(hidden.chars().filter(|it| *it == '\n'));
        rest = after;
    }
    masked.push_str(rest);
    masked
}

/// How long the inline code is that a text begins with.
fn code(text: &str) -> Option<usize> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let end = text[ticks..].find(&text[..ticks])?;
    Some(ticks + end + ticks)
}

/// How long the link is that a text begins with.
fn link(text: &str) -> Option<usize> {
    let middle = text.find("](")?;
    let nested = text[1..middle].contains('[');
    let end = text[middle..].find(')')?;
    (!nested).then_some(middle + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(page: &str) -> Vec<String> {
        sentences(page).into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn a_full_stop_before_a_capital_ends_a_sentence() {
        assert_eq!(
            texts("One (of two.) **Two.** Version 8.0 is e.g. three."),
            ["One (of two.)", "**Two.**", "Version 8.0 is e.g. three."]
        );
    }

    #[test]
    fn code_and_links_are_a_word_each() {
        let page = "Say `a. B`, see [the long\npage](page.md). `x` is next.";
        assert_eq!(texts(page), ["Say `…`, see […] .", "`…` is next."]);
    }

    #[test]
    fn a_sentence_knows_its_line() {
        let page = "Intro\nof it. Here\nwe go. [a\nb](c) ends.\nLast.";
        let lines: Vec<usize> = sentences(page).iter().map(|it| it.line).collect();
        assert_eq!(lines, [1, 2, 3, 5]);
    }

    #[test]
    fn words_have_no_marks() {
        let found: Vec<&str> = words("(so-called) `…`, and/or “x” — 5").collect();
        assert_eq!(found, ["so-called", "…", "and", "or", "x", "5"]);
    }
}
