//! Lists of names with wildcards, for users, schemas, tables and tags.

/// A name, in which `*` matches any bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wild {
    text: Box<[u8]>,
    kind: WildKind,
    case: Case,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WildKind {
    /// No wildcard.
    Exact,
    /// `*` alone.
    Any,
    /// A star somewhere.
    Stars,
}

/// Whether upper and lower case are different; for ASCII letters only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Kept,
    Folded,
}

impl Case {
    fn is_same(self, one: u8, other: u8) -> bool {
        match self {
            Self::Kept => one == other,
            Self::Folded => one.eq_ignore_ascii_case(&other),
        }
    }
}

impl Wild {
    pub fn new(text: &str, case: Case) -> Self {
        let text = text.as_bytes();
        Self {
            text: text.into(),
            kind: match text {
                b"*" => WildKind::Any,
                _ if text.contains(&b'*') => WildKind::Stars,
                _ => WildKind::Exact,
            },
            case,
        }
    }

    pub fn matches(&self, name: &[u8]) -> bool {
        match self.kind {
            WildKind::Any => true,
            WildKind::Exact => match self.case {
                Case::Kept => *self.text == *name,
                Case::Folded => self.text.eq_ignore_ascii_case(name),
            },
            WildKind::Stars => self.matches_stars(name),
        }
    }

    /// Each star first matches no bytes. If the rest does not match, the last star takes one more byte.
    /// So the work is at most the product of both lengths.
    fn matches_stars(&self, name: &[u8]) -> bool {
        let pattern = &*self.text;
        let (mut at, mut here) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while here < name.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    star = Some((at, here));
                    at += 1;
                }
                Some(byte) if self.case.is_same(*byte, name[here]) => {
                    at += 1;
                    here += 1;
                }
                _ => {
                    let Some((star_at, taken_to)) = star else {
                        return false;
                    };
                    star = Some((star_at, taken_to + 1));
                    at = star_at + 1;
                    here = taken_to + 1;
                }
            }
        }
        pattern[at..].iter().all(|byte| *byte == b'*')
    }

    /// Returns the only name that matches, apart from its case; none if there is a wildcard.
    pub fn exact(&self) -> Option<&[u8]> {
        (self.kind == WildKind::Exact).then_some(&*self.text)
    }

    /// Whether it matches everything that `other` matches. It may return false although that is so.
    pub fn covers(&self, other: &Self) -> bool {
        self == other
            || self.kind == WildKind::Any
            // The star of `other` is compared as an ordinary byte: only a star of this name can match it.
            || self.case == other.case && self.matches(&other.text)
    }
}

/// Names that are wanted and names that are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub(crate) wanted: Box<[Wild]>,
    pub(crate) unwanted: Box<[Wild]>,
}

impl Names {
    /// Reads the entries of a setting. A name with `!` in front is not wanted.
    pub(crate) fn new(entries: &[String], case: Case) -> Self {
        let wild = |entry: &str| Wild::new(entry.trim(), case);
        let unwanted = entries.iter().filter_map(|entry| entry.strip_prefix('!'));
        let wanted = entries.iter().filter(|entry| !entry.starts_with('!'));
        Self {
            unwanted: unwanted.map(wild).collect(),
            wanted: wanted.map(|entry| wild(entry)).collect(),
        }
    }

    /// Whether a single name is wanted.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        let is_wanted = self.wanted.is_empty() || self.wanted.iter().any(|it| it.matches(name));
        is_wanted && !self.unwanted.iter().any(|it| it.matches(name))
    }

    /// The only name that can match, if there is one.
    pub(crate) fn only(&self) -> Option<&[u8]> {
        match &*self.wanted {
            [one] => one.exact(),
            _ => None,
        }
    }

    /// Whether it matches everything that `other` matches. It may return false although that is so.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let is_wanted = |it: &Wild| self.wanted.iter().any(|own| own.covers(it));
        let all_wanted = self.wanted.is_empty()
            || !other.wanted.is_empty() && other.wanted.iter().all(is_wanted);
        let is_unwanted_there = |own: &Wild| other.unwanted.iter().any(|it| it.covers(own));
        all_wanted && self.unwanted.iter().all(is_unwanted_there)
    }

    /// Whether no name can match, because every wanted name is also unwanted.
    pub(crate) fn is_void(&self) -> bool {
        let is_taken_out = |it: &Wild| self.unwanted.iter().any(|other| other.covers(it));
        match self.wanted.is_empty() {
            true => self.unwanted.iter().any(|it| it.kind == WildKind::Any),
            false => self.wanted.iter().all(is_taken_out),
        }
    }
}

/// The result of comparing several names one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    pub wanted: bool,
    pub unwanted: bool,
}

impl Names {
    /// Compares one of several names, and adds the result to `findings`.
    pub(crate) fn scan(&self, name: &[u8], findings: &mut Findings) {
        findings.wanted |= self.wanted.iter().any(|it| it.matches(name));
        findings.unwanted |= self.unwanted.iter().any(|it| it.matches(name));
    }

    /// Whether the names match: none is unwanted, and at least one is wanted if the list has wanted names.
    pub(crate) fn is_met(&self, findings: Findings) -> bool {
        !findings.unwanted && (findings.wanted || self.wanted.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(entries: &[&str]) -> Names {
        let entries: Vec<_> = entries.iter().map(|it| (*it).to_owned()).collect();
        Names::new(&entries, Case::Kept)
    }

    #[test]
    fn stars_stand_for_any_bytes() {
        for (pattern, name, is_match) in [
            ("a", "a", true),
            ("a", "A", false),
            ("a", "ab", false),
            ("*", "", true),
            ("log_*", "log_2026", true),
            ("log_*", "log_", true),
            ("log_*", "blog_1", false),
            ("*_log", "a_log_log", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYb", false),
            ("a**c", "ac", true),
            ("*a*", "bbb", false),
            ("", "", true),
            ("", "a", false),
        ] {
            let wild = Wild::new(pattern, Case::Kept);
            assert_eq!(wild.matches(name.as_bytes()), is_match, "{pattern} {name}");
        }
        assert!(Wild::new("LOG_*", Case::Folded).matches(b"log_1"));
    }

    #[test]
    fn entries_with_an_exclamation_mark_take_out() {
        let some = names(&["app_*", "!app_test"]);
        assert!(some.matches(b"app_1") && !some.matches(b"app_test") && !some.matches(b"root"));
        let all_but = names(&["!root"]);
        assert!(all_but.matches(b"app") && !all_but.matches(b"root"));
    }

    #[test]
    fn a_list_with_an_exclusion_fails_if_any_name_is_excluded() {
        let all_but = names(&["!b"]);
        for (entries, is_met) in [(vec![], true), (vec!["a"], true), (vec!["a", "b"], false)] {
            let mut findings = Findings::default();
            entries
                .iter()
                .for_each(|it: &&str| all_but.scan(it.as_bytes(), &mut findings));
            assert_eq!(all_but.is_met(findings), is_met, "{entries:?}");
        }
    }

    #[test]
    fn a_list_covers_another_where_it_takes_all_of_it() {
        for (one, other, covers) in [
            (&["a*"][..], &["ab", "ac"][..], true),
            (&["a*"], &["ab*"], true),
            (&["ab*"], &["a*"], false),
            (&["a"], &["a", "b"], false),
            (&["*"], &[], false),
            (&["!x"], &["a"], false),
            (&["!x"], &["a", "!x"], true),
            (&["a"], &["a", "!x"], true),
        ] {
            assert_eq!(
                names(one).covers(&names(other)),
                covers,
                "{one:?} {other:?}"
            );
        }
    }

    #[test]
    fn a_list_that_takes_out_all_is_void() {
        for (entries, is_void) in [
            (&["a", "!a"][..], true),
            (&["a", "b", "!a"], false),
            (&["ab", "!a*"], true),
            (&["!*"], true),
            (&["!a"], false),
        ] {
            assert_eq!(names(entries).is_void(), is_void, "{entries:?}");
        }
    }
}
