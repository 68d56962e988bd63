//! Needles: a needle is a byte string that every match of a regular expression contains. The proxy searches a
//! text for the needles of all rules in one pass, and runs only the expressions whose needle was found.

use std::collections::HashMap;
use std::num::NonZeroU32;

use aho_corasick::AhoCorasick;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Shorter needles would be found in almost every text.
const BYTES_MIN: usize = 3;
/// With fewer needles than this, running the expressions is faster than the search.
const COUNT_MIN: usize = 4;
/// The number of bits in a [`Found`]. With more needles some share a bit, and an expression may run in vain.
const BITS: usize = 1024;

/// Returns the longest byte string that every match of an expression contains, in lower case; none if no
/// such string is long enough.
pub(crate) fn needle(hir: &Hir) -> Option<Vec<u8>> {
    let mut search = Search::default();
    search.walk(hir);
    search.end_run();
    (search.best.len() >= BYTES_MIN).then_some(search.best)
}

#[derive(Default)]
struct Search {
    /// The bytes that certainly follow one another up to this point.
    run: Vec<u8>,
    best: Vec<u8>,
}

impl Search {
    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run.len() > self.best.len() {
            self.best = run;
        }
    }

    fn walk(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => {
                let lower = literal.0.iter().map(u8::to_ascii_lowercase);
                self.run.extend(lower);
            }
            HirKind::Class(class) => match only_letter(class) {
                Some(letter) => self.run.push(letter),
                None => self.end_run(),
            },
            HirKind::Capture(capture) => self.walk(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.walk(part)),
            HirKind::Repetition(repetition) => {
                self.end_run();
                if repetition.min > 0 {
                    self.walk(&repetition.sub);
                    self.end_run();
                }
            }
            HirKind::Alternation(_) => self.end_run(),
        }
    }
}

/// Returns the letter of a class of one ASCII letter in both cases, or of one ASCII character.
fn only_letter(class: &Class) -> Option<u8> {
    let mut bytes = Vec::with_capacity(2);
    let mut add = |from: u32, to: u32| {
        let is_ascii_one = from == to && from < 0x80;
        bytes.push(is_ascii_one.then_some(from as u8));
    };
    match class {
        Class::Bytes(class) => {
            let ranges = class.ranges().iter().take(3);
            ranges.for_each(|it| add(it.start().into(), it.end().into()));
        }
        Class::Unicode(class) => {
            let ranges = class.ranges().iter().take(3);
            ranges.for_each(|it| add(it.start().into(), it.end().into()));
        }
    }
    match bytes.as_slice() {
        [Some(one)] => Some(one.to_ascii_lowercase()),
        [Some(upper), Some(lower)] if upper.to_ascii_lowercase() == *lower => Some(*lower),
        _ => None,
    }
}

/// All needles for one sort of text: for statements, or for digests.
#[derive(Debug, Default)]
pub(crate) struct Needles {
    numbers: HashMap<Box<[u8]>, NeedleNumber>,
    finder: Option<AhoCorasick>,
}

/// The needles that were found in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found([u64; BITS / 64]);

/// The number of a needle within its [`Needles`], from 1, so that an `Option` of it takes no more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NeedleNumber(NonZeroU32);

impl Needles {
    /// Prepares the search for these needles. If they are too few, there is no search.
    pub fn new<'n>(all: impl IntoIterator<Item = &'n [u8]>) -> Self {
        let mut numbers = HashMap::new();
        let mut distinct: Vec<&[u8]> = Vec::new();
        for needle in all {
            numbers.entry(needle.into()).or_insert_with(|| {
                let earlier = distinct.len() as u32;
                distinct.push(needle);
                NeedleNumber(NonZeroU32::MIN.saturating_add(earlier))
            });
        }
        if distinct.len() < COUNT_MIN {
            return Self::default();
        }
        let mut builder = AhoCorasick::builder();
        // If there is no finder, every expression is run.
        let finder = builder.ascii_case_insensitive(true).build(&distinct).ok();
        Self { numbers, finder }
    }

    /// Returns the number of this needle; none if it is not searched for.
    pub fn number(&self, needle: &[u8]) -> Option<NeedleNumber> {
        self.finder.as_ref()?;
        self.numbers.get(needle).copied()
    }

    /// Searches the text for all needles at once.
    pub fn scan(&self, text: &[u8]) -> Found {
        let mut found = Found([0; BITS / 64]);
        if let Some(finder) = &self.finder {
            for hit in finder.find_overlapping_iter(text) {
                let (word, bit) = place(hit.pattern().as_u32());
                found.0[word] |= bit;
            }
        }
        found
    }
}

impl Found {
    /// Whether the text may contain the needle. False is certain.
    pub fn may_have(&self, needle: NeedleNumber) -> bool {
        let (word, bit) = place(needle.0.get() - 1);
        self.0[word] & bit != 0
    }
}

const fn place(needle: u32) -> (usize, u64) {
    let place = needle as usize % BITS;
    (place / 64, 1 << (place % 64))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::super::pattern::Pattern;
    use super::*;

    fn of(source: &str) -> Option<String> {
        let needle = Pattern::new(source).unwrap().needle().map(<[u8]>::to_vec);
        needle.map(|it| String::from_utf8(it).unwrap())
    }

    #[test]
    fn every_match_contains_the_needle() {
        for (source, needle) in [
            ("FROM t17\\b", Some("from t17")),
            ("(?-i)FROM t17", Some("from t17")),
            ("^SELECT .* FROM Orders ", Some(" from orders ")),
            ("force index \\((\\w+)\\)", Some("force index (")),
            ("(?:ab)+cde?fgh", Some("fgh")),
            ("(abc){2,}", Some("abc")),
            ("(abc)*de", None),
            ("abc|def", None),
            ("x(abc|def)yz123", Some("yz123")),
            ("a.b.c", None),
            ("", None),
            ("[a-c]orders", Some("orders")),
            ("o\\b\\Br\\bders", Some("orders")),
            // In Unicode, k and s have a third form that matches without regard to case.
            ("(?u)kiss me", Some(" me")),
            ("(?u)größe", None),
        ] {
            assert_eq!(of(source).as_deref(), needle, "{source}");
        }
    }

    #[test]
    fn overlapping_needles_are_all_found_in_one_scan() {
        let all: [&[u8]; 5] = [
            b"from t1",
            b"from t17",
            b"t17 where",
            b"nowhere",
            b"from t1",
        ];
        let needles = Needles::new(all);
        let found = needles.scan(b"SELECT * FROM T17 WHERE id = 1");
        let has = |needle: &[u8]| found.may_have(needles.number(needle).unwrap());
        assert!(has(b"from t1") && has(b"from t17") && has(b"t17 where"));
        assert!(!has(b"nowhere"));
        assert_eq!(needles.number(b"another"), None);
        assert_eq!(Needles::new(all[..3].to_vec()).number(b"from t1"), None);
    }

    #[test]
    fn needles_share_bits_if_there_are_more_needles_than_bits() {
        let all: Vec<_> = (0..3 * BITS).map(|it| format!("table{it:05}")).collect();
        let needles = Needles::new(all.iter().map(String::as_bytes));
        let found = needles.scan(b"SELECT 1 FROM table02000");
        let has = |needle: &str| found.may_have(needles.number(needle.as_bytes()).unwrap());
        assert!(has("table02000"));
        let others = all.iter().filter(|it| has(it)).count();
        assert_eq!(others, 3, "those that share its bit");
    }

    proptest! {
        /// Every text that an expression matches contains its needle.
        #[test]
        fn every_matching_text_contains_the_needle_of_its_pattern(
            parts in proptest::collection::vec(
                prop_oneof![
                    "[a-d]{1,4}",
                    Just("(ab|cd)".to_owned()),
                    Just("(abc)?".to_owned()),
                    Just("(bcd)+".to_owned()),
                    Just("[ab]".to_owned()),
                    Just(".".to_owned()),
                    Just("\\b".to_owned()),
                    Just("(?-i)abC".to_owned()),
                ],
                1..5,
            ),
            text in "[a-dA-D ]{0,20}",
        ) {
            let pattern = Pattern::new(&parts.concat()).unwrap();
            let Some(needle) = pattern.needle() else { return Ok(()) };
            if let Some(found) = pattern.regex().find(text.as_bytes()) {
                let found = found.as_bytes().to_ascii_lowercase();
                prop_assert!(found.windows(needle.len()).any(|part| part == needle));
            }
        }
    }
}
