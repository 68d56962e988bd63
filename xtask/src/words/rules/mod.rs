//! The rules, a file each.

mod commas;
mod length;
mod openings;
mod vocabulary;

use super::sentences::Sentence;

pub struct Rule {
    pub name: &'static str,
    pub breaks: fn(&Sentence) -> bool,
}

pub const RULES: &[Rule] = &[
    Rule {
        name: "more than 30 words",
        breaks: length::is_too_long,
    },
    Rule {
        name: "more than two commas",
        breaks: commas::are_too_many,
    },
    Rule {
        name: "a word that the lexicon replaces",
        breaks: vocabulary::is_replaced,
    },
    Rule {
        name: "begins with who, what or where",
        breaks: openings::hide_the_subject,
    },
];

#[cfg(test)]
fn sentence(text: &str) -> Sentence {
    Sentence {
        line: 1,
        text: text.to_owned(),
    }
}
