//! Compares two states of schemas: object by object, line by line.

use std::collections::BTreeMap;

use crate::store::ObjectVersion;

/// The maximum number of line pairs that are compared. If there are more, all lines count as different.
const PAIRS_MAX: usize = 4_000_000;

/// Which of two definitions contain a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Both definitions.
    Both,
    /// Only the first definition.
    Before,
    /// Only the second definition.
    After,
}

/// A line of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which definitions contain it.
    pub side: Side,
    /// The line's text.
    pub text: String,
}

/// Returns the objects that differ, with the lines of both definitions. An object that does not exist has no lines.
pub fn differences(
    before: &[ObjectVersion],
    after: &[ObjectVersion],
) -> Vec<(ObjectVersion, Vec<Line>)> {
    type Key<'a> = (&'a str, &'a str, &'a str);
    fn key(object: &ObjectVersion) -> Key<'_> {
        (&object.schema, &object.kind, &object.name)
    }
    let mut all: BTreeMap<Key<'_>, [Option<&ObjectVersion>; 2]> = BTreeMap::new();
    for object in before {
        all.entry(key(object)).or_default()[0] = Some(object);
    }
    for object in after {
        all.entry(key(object)).or_default()[1] = Some(object);
    }
    let mut different = Vec::new();
    for [old, new] in all.into_values() {
        let (Some(object), true) = (new.or(old), old != new) else {
            continue;
        };
        let text = |side: Option<&ObjectVersion>| match side {
            Some(object) => object
                .definition
                .clone()
                .unwrap_or_else(|| "(not known)".to_owned()),
            None => String::new(),
        };
        let (old, new) = (text(old), text(new));
        let old: Vec<&str> = old.lines().collect();
        let new: Vec<&str> = new.lines().collect();
        different.push((object.clone(), lines(&old, &new)));
    }
    different
}

/// Merges the lines of two texts; a common line appears once. Uses the longest common subsequence.
fn lines(old: &[&str], new: &[&str]) -> Vec<Line> {
    let of = |side: Side, text: &str| Line {
        side,
        text: text.to_owned(),
    };
    let is_same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(new).take_while(is_same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = tail.take_while(is_same).count();
    let old_middle = &old_rest[..old_rest.len() - tail];
    let new_middle = &new_rest[..new_rest.len() - tail];
    let mut all: Vec<Line> = old[..head].iter().map(|it| of(Side::Both, it)).collect();
    let common = common(old_middle, new_middle);
    let (mut at_old, mut at_new) = (0, 0);
    let ends = std::iter::once((old_middle.len(), new_middle.len()));
    for (i, j) in common.into_iter().chain(ends) {
        all.extend(old_middle[at_old..i].iter().map(|it| of(Side::Before, it)));
        all.extend(new_middle[at_new..j].iter().map(|it| of(Side::After, it)));
        all.extend(old_middle.get(i).map(|it| of(Side::Both, it)));
        (at_old, at_new) = (i + 1, j + 1);
    }
    let behind = &old_rest[old_rest.len() - tail..];
    all.extend(behind.iter().map(|it| of(Side::Both, it)));
    all
}

/// Returns the index pairs of the longest common subsequence, in order.
fn common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    if (old.len() + 1).saturating_mul(width) > PAIRS_MAX {
        return Vec::new();
    }
    // For each pair of indexes: the length of the longest common subsequence from there on.
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = match old[i] == new[j] {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut places = Vec::new();
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            places.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, definition: &str) -> ObjectVersion {
        ObjectVersion {
            schema: "shop".to_owned(),
            name: name.to_owned(),
            kind: "table".to_owned(),
            definition: Some(definition.to_owned()),
        }
    }

    fn describe(before: &[ObjectVersion], after: &[ObjectVersion]) -> String {
        let mut text = String::new();
        for (object, lines) in differences(before, after) {
            text.push_str(&object.name);
            for line in lines {
                text.push(match line.side {
                    Side::Both => ' ',
                    Side::Before => '-',
                    Side::After => '+',
                });
                text.push_str(&line.text);
            }
            text.push('|');
        }
        text
    }

    #[test]
    fn only_changed_created_and_dropped_objects_are_listed() {
        let before = [table("a", "1\n2\n3"), table("b", "x"), table("c", "same")];
        let after = [table("a", "1\n4\n3"), table("c", "same"), table("d", "new")];
        assert_eq!(describe(&before, &after), "a 1-2+4 3|b-x|d+new|");
        assert_eq!(describe(&after, &after), "");
    }

    #[test]
    fn lines_in_common_stay_and_texts_that_are_too_long_are_others() {
        assert_eq!(
            describe(
                &[table("a", "a\nb\nc\nd\ne")],
                &[table("a", "a\nc\nx\nd\nf\ne")]
            ),
            "a a-b c+x d+f e|"
        );
        let long = |line: &str| table("a", &vec![line; 3000].join("\n"));
        let lines = differences(&[long("x")], &[long("y")]).remove(0).1;
        assert_eq!(lines.len(), 6000);
    }

    #[test]
    fn both_texts_can_be_made_of_the_lines() {
        let texts = ["", "a", "a\nb\na", "b\na\nb\nb", "c\na\nb\nc\na"];
        for old in texts {
            for new in texts {
                let (old, new): (Vec<&str>, Vec<&str>) =
                    (old.lines().collect(), new.lines().collect());
                let all = lines(&old, &new);
                let of = |other: Side| {
                    let kept = all.iter().filter(|line| line.side != other);
                    kept.map(|line| line.text.as_str()).collect::<Vec<_>>()
                };
                assert_eq!(of(Side::After), old);
                assert_eq!(of(Side::Before), new);
            }
        }
    }
}
