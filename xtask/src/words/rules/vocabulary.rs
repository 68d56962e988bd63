//! Words for which the lexicon has others: pictures, and words that leave open what they mean.

use crate::words::sentences::Sentence;

/// Whole words. Those that the field uses as well are not here: order, line, cut, window, board.
const WORDS: &[&str] = &[
    // Pictures.
    "aboard",
    "ashore",
    "luggage",
    "passenger",
    "passengers",
    "porter",
    "desk",
    "desks",
    "shelf",
    "shelves",
    "roster",
    "ride",
    "rides",
    "rider",
    "riders",
    "fare",
    "lend",
    "lends",
    "lent",
    "keeper",
    "ceiling",
    "errand",
    "errands",
    "lesson",
    "lessons",
    "clerk",
    "visitor",
    "aftermath",
    "debt",
    "owed",
    "foresee",
    "habits",
    "kin",
    "ear",
    "hear",
    "hears",
    "heard",
    "appeal",
    "optimism",
    "relive",
    "luck",
    // Words that name no subject.
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "whoever",
    "whichever",
    "likes",
    "shall",
    "thereof",
    "wherein",
];

/// Several words in a row.
const PHRASES: &[&[&str]] = &[
    &["its", "like"],
    &["their", "like"],
    &["and", "the", "like"],
    &["of", "the", "moment"],
    &["that", "one"],
    &["stands", "in", "line"],
    &["stand", "in", "line"],
    &["that", "which"],
];

pub fn is_replaced(sentence: &Sentence) -> bool {
    let words: Vec<String> = sentence.words().map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let has_phrase = |phrase: &&[&str]| words.windows(phrase.len()).any(|it| it == *phrase);
    words.iter().any(|word| WORDS.contains(word))
        || PHRASES.iter().any(has_phrase)
        || has_bare_such(&words)
}

/// "Such" stands for something that was said before; "such as" does not.
fn has_bare_such(words: &[&str]) -> bool {
    let pairs = words.iter().zip(words.iter().skip(1).chain([&""]));
    pairs
        .into_iter()
        .any(|(word, next)| *word == "such" && *next != "as")
}

#[cfg(test)]
mod tests {
    use super::super::sentence;
    use super::*;

    #[test]
    fn pictures_and_words_without_a_subject_are_faults() {
        for text in [
            "A statement that ends with a warning stays ashore.",
            "Its like are known.",
            "It is sent to the backend of the moment.",
            "Nobody waits for it.",
            "Such a statement is sent again.",
        ] {
            assert!(is_replaced(&sentence(text)), "{text}");
        }
    }

    #[test]
    fn vocabulary_rule_accepts_parts_of_words_and_such_as() {
        for text in [
            "The dashboard shows a request, such as a query.",
            "A script overrides it.",
            "It looks like the moment of its start.",
        ] {
            assert!(!is_replaced(&sentence(text)), "{text}");
        }
    }
}
