//! A sentence has at most two commas. Those of an enumeration do not count, and those between parentheses do not.

use crate::words::sentences::{Sentence, words};

const COMMAS_MAX: usize = 2;

/// A part between two commas that has no more words than this is an item of an enumeration.
const WORDS_OF_AN_ITEM: usize = 3;

pub fn are_too_many(sentence: &Sentence) -> bool {
    let text = without_parentheses(&sentence.text);
    let commas = text.split("; ").map(commas);
    if sentence.is_whole() {
        commas.sum::<usize>() > COMMAS_MAX
    } else {
        commas.max().unwrap_or(0) > COMMAS_MAX
    }
}

/// The commas that separate clauses.
fn commas(text: &str) -> usize {
    let parts: Vec<&str> = text.split(", ").collect();
    let last = parts.len() - 1;
    let is_item =
        |index: usize| 0 < index && index < last && words(parts[index]).count() <= WORDS_OF_AN_ITEM;
    (0..last)
        .filter(|comma| !is_item(*comma) && !is_item(comma + 1))
        .count()
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    let mut outside = String::new();
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside.push(character),
            _ => {}
        }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::super::sentence;
    use super::*;

    #[test]
    fn clauses_are_separated_by_two_commas_at_most() {
        let good = "If it can, the proxy sends the read again, on another connection.";
        let bad = "The state is set in the same write, if the statement reads, on the connection that is nearest, or \
            else in front of it.";
        assert!(!are_too_many(&sentence(good)));
        assert!(are_too_many(&sentence(bad)));
    }

    #[test]
    fn an_enumeration_may_have_any_number() {
        let list = "It has rules, lanes, pools of connections, scripts, and metrics.";
        assert!(!are_too_many(&sentence(list)));
    }

    #[test]
    fn commas_between_parentheses_do_not_count() {
        let text = "The kind (of an account that is known, with its own flags, as agreed, at login) is kept.";
        assert!(!are_too_many(&sentence(text)));
    }
}
