//! A sentence names its subject, and says "if" for a condition: it does not begin with "who", "what" or "where".
//! Questions may.

use crate::words::sentences::{Sentence, words};

const OPENINGS: &[&str] = &[
    "who",
    "whoever",
    "whom",
    "what",
    "whatever",
    "where",
    "wherever",
    "whichever",
];

pub fn hide_the_subject(sentence: &Sentence) -> bool {
    sentence.is_whole() && sentence.text.split("; ").any(hides)
}

fn hides(clause: &str) -> bool {
    let mut words = words(clause).map(str::to_lowercase);
    match words.next().as_deref() {
        Some("that") => words.next().as_deref() == Some("which"),
        Some(first) => OPENINGS.contains(&first),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sentence;
    use super::*;

    #[test]
    fn a_hidden_subject_is_a_fault() {
        for text in [
            "Who waits longer gets an error.",
            "What is unsure goes to the primary.",
            "Where a script is configured, sessions go a third way.",
            "That which a server leaves out is added.",
            "Sessions wait; who came first is served first.",
        ] {
            assert!(hide_the_subject(&sentence(text)), "{text}");
        }
    }

    #[test]
    fn openings_rule_accepts_questions_headings_and_named_subjects() {
        for text in [
            "Where does a statement go?",
            "What pins",
            "A session that waits longer gets an error.",
            "If a script is configured, sessions go another way.",
        ] {
            assert!(!hide_the_subject(&sentence(text)), "{text}");
        }
    }
}
