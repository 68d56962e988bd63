//! A sentence has at most 30 words, and so has each part of a table's cell that is no sentence. Inline code and links
//! do not count.

use crate::words::sentences::{HIDDEN, Sentence, words};

const WORDS_MAX: usize = 30;

pub fn is_too_long(sentence: &Sentence) -> bool {
    let is_too_long = |text: &str| words(text).filter(|word| *word != HIDDEN).count() > WORDS_MAX;
    if sentence.is_whole() {
        is_too_long(&sentence.text)
    } else {
        sentence.text.split("; ").any(is_too_long)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sentence;
    use super::*;

    #[test]
    fn thirty_words_are_allowed_and_one_more_is_not() {
        let text = |words| format!("{}.", vec!["word"; words].join(" "));
        assert!(!is_too_long(&sentence(&text(30))));
        assert!(is_too_long(&sentence(&text(31))));
    }

    #[test]
    fn inline_code_does_not_count() {
        let text = |words| format!("{} `…` and […].", vec!["word"; words].join(" "));
        assert!(!is_too_long(&sentence(&text(29))));
        assert!(is_too_long(&sentence(&text(30))));
    }

    #[test]
    fn a_cell_that_is_no_sentence_is_read_in_parts() {
        let part = vec!["word"; 20].join(" ");
        assert!(!is_too_long(&sentence(&format!("{part}; {part}"))));
        assert!(is_too_long(&sentence(&format!("{part}; {part}."))));
    }
}
