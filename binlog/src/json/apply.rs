//! Applies partial changes to the text of a JSON document (`apply_json_diffs` of MySQL's `json_diff.cc`).
//! [`super::text`] has written the text: `, ` separates members, and `: ` follows keys.

use std::ops::Range;

use super::diff::JsonDiff;

/// How many bytes may be read for the changes of one document. Without a limit the work would grow with the product
/// of the document's length and the number of changes.
const WORK_BYTES_MAX: usize = 256 << 20;

/// Returns the changed document; none if a change does not fit the document, or if the work exceeds the limit.
pub fn apply_changes(document: &str, changes: &[JsonDiff]) -> Option<String> {
    let mut text = document.to_owned();
    let mut work = 0_usize;
    for change in changes {
        work += text.len();
        if work > WORK_BYTES_MAX {
            return None;
        }
        let legs = legs(&change.path)?;
        apply(&mut text, &legs, change)?;
    }
    Some(text)
}

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
enum Leg {
    /// `.name`, `."na me"`
    Key(String),
    /// `[3]`
    Index(usize),
}

/// Parses a path such as `$.a[3]`. The server writes no wildcards, and no `last`.
fn legs(path: &str) -> Option<Vec<Leg>> {
    let mut rest = path.strip_prefix('$')?;
    let mut legs = Vec::new();
    while let Some(first) = rest.chars().next() {
        let behind = rest.get(1..)?;
        match first {
            '[' => {
                let (index, tail) = behind.split_once(']')?;
                legs.push(Leg::Index(index.parse().ok()?));
                rest = tail;
            }
            '.' if behind.starts_with('"') => {
                let end = string_end(behind, 0)?;
                legs.push(Leg::Key(serde_json::from_str(behind.get(..end)?).ok()?));
                rest = behind.get(end..)?;
            }
            '.' => {
                let end = behind.find(['.', '[']).unwrap_or(behind.len());
                let (name, tail) = behind.split_at(end);
                legs.push(Leg::Key(name.to_owned()));
                rest = tail;
            }
            _ => return None,
        }
    }
    Some(legs)
}

fn apply(text: &mut String, legs: &[Leg], change: &JsonDiff) -> Option<()> {
    let value = change.value.as_deref();
    let Some((last, parents)) = legs.split_last() else {
        // Of the operations only "replace" can apply to the whole document.
        let value = value.filter(|_| change.operation == "replace")?;
        value.clone_into(text);
        return Some(());
    };
    let mut parent = 0..text.len();
    for leg in parents {
        let members = members(text, parent)?;
        parent = members.get(position(text, &members, leg)?)?.value.clone();
    }
    let members = members(text, parent.clone())?;
    let place = position(text, &members, last);
    match (change.operation, place) {
        ("replace", Some(index)) => text.replace_range(members.get(index)?.value.clone(), value?),
        ("remove", Some(index)) => remove(text, &members, index)?,
        ("insert", _) => insert(text, parent, &members, last, value?)?,
        _ => return None,
    }
    Some(())
}

/// A member of an object or an array.
#[derive(Debug)]
struct Member {
    /// The key with its quotes; none in an array.
    key: Option<Range<usize>>,
    value: Range<usize>,
}

impl Member {
    fn start(&self) -> usize {
        self.key.as_ref().map_or(self.value.start, |it| it.start)
    }
}

/// Returns the members of the object or array at `at`; none if it is a scalar.
fn members(text: &str, at: Range<usize>) -> Option<Vec<Member>> {
    let bytes = text.as_bytes();
    let is_object = match bytes.get(at.start)? {
        b'{' => true,
        b'[' => false,
        _ => return None,
    };
    let end = at.end.checked_sub(1)?;
    let mut members = Vec::new();
    let mut place = at.start + 1;
    while place < end {
        let key = match is_object {
            true => {
                let key = place..string_end(text, place)?;
                place = key.end + ": ".len();
                Some(key)
            }
            false => None,
        };
        let value = place..value_end(text, place)?;
        // The range must not cut a multi-byte character.
        text.get(value.clone())?;
        place = value.end + ", ".len();
        members.push(Member { key, value });
    }
    Some(members)
}

/// Returns the end of the value that begins at `start`.
fn value_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut place = start;
    loop {
        match bytes.get(place) {
            Some(b'"') => {
                place = string_end(text, place)?;
                if depth == 0 {
                    return Some(place);
                }
                continue;
            }
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') if depth == 0 => return Some(place),
            Some(b'}' | b']') => {
                depth -= 1;
                if depth == 0 {
                    return Some(place + 1);
                }
            }
            Some(b',') if depth == 0 => return Some(place),
            Some(_) => {}
            None => return (depth == 0).then_some(place),
        }
        place += 1;
    }
}

/// Returns the end of the string that begins at `start`.
fn string_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut place = start + 1;
    loop {
        match bytes.get(place)? {
            b'"' => return Some(place + 1),
            b'\\' => place += 2,
            _ => place += 1,
        }
    }
}

fn position(text: &str, members: &[Member], leg: &Leg) -> Option<usize> {
    match leg {
        Leg::Index(index) => {
            let is_array = members.first().is_none_or(|it| it.key.is_none());
            (is_array && *index < members.len()).then_some(*index)
        }
        Leg::Key(key) => members.iter().position(|it| {
            let own = it.key.clone().and_then(|it| key_of(text, it));
            own.is_some_and(|own| own == *key)
        }),
    }
}

fn key_of(text: &str, range: Range<usize>) -> Option<String> {
    serde_json::from_str(text.get(range)?).ok()
}

/// Removes a member, together with the comma before or after it.
fn remove(text: &mut String, members: &[Member], index: usize) -> Option<()> {
    let member = members.get(index)?;
    let range = match (members.get(index + 1), index.checked_sub(1)) {
        (Some(next), _) => member.start()..next.start(),
        (None, Some(before)) => members.get(before)?.value.end..member.value.end,
        (None, None) => member.start()..member.value.end,
    };
    text.replace_range(range, "");
    Some(())
}

/// Inserts a member. Keys are ordered by length, then by bytes. An array takes a value at an index, or at its end.
fn insert(
    text: &mut String,
    parent: Range<usize>,
    members: &[Member],
    leg: &Leg,
    value: &str,
) -> Option<()> {
    let is_object = text.as_bytes().get(parent.start) == Some(&b'{');
    let (index, member) = match leg {
        Leg::Key(key) if is_object => {
            let order = |key: &str| (key.len(), key.to_owned());
            let keys = members.iter().map(|it| key_of(text, it.key.clone()?));
            let keys = keys.collect::<Option<Vec<String>>>()?;
            let index = keys.iter().position(|it| order(it) > order(key));
            let quoted = serde_json::to_string(key).ok()?;
            (index, format!("{quoted}: {value}"))
        }
        Leg::Index(index) if !is_object => (
            Some(*index).filter(|it| *it < members.len()),
            value.to_owned(),
        ),
        _ => return None,
    };
    match (index.and_then(|it| members.get(it)), members.last()) {
        (Some(next), _) => text.insert_str(next.start(), &format!("{member}, ")),
        (None, Some(last)) => text.insert_str(last.value.end, &format!(", {member}")),
        (None, None) => text.insert_str(parent.start + 1, &member),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(operation: &'static str, path: &str, value: Option<&str>) -> JsonDiff {
        JsonDiff {
            operation,
            path: path.to_owned(),
            value: value.map(str::to_owned),
        }
    }

    const DOCUMENT: &str = r#"{"a": 1, "b": [1, "x, ]\"", {"c": null}], "a b": {}}"#;

    #[test]
    fn json_changes_apply_at_their_paths() {
        for (operation, path, value, expected) in [
            (
                "replace",
                "$.a",
                Some("99"),
                r#"{"a": 99, "b": [1, "x, ]\"", {"c": null}], "a b": {}}"#,
            ),
            (
                "replace",
                "$.b[1]",
                Some("[]"),
                r#"{"a": 1, "b": [1, [], {"c": null}], "a b": {}}"#,
            ),
            (
                "replace",
                "$.b[2].c",
                Some("2.50"),
                r#"{"a": 1, "b": [1, "x, ]\"", {"c": 2.50}], "a b": {}}"#,
            ),
            ("replace", "$", Some("true"), "true"),
            (
                "remove",
                "$.a",
                None,
                r#"{"b": [1, "x, ]\"", {"c": null}], "a b": {}}"#,
            ),
            (
                "remove",
                "$.\"a b\"",
                None,
                r#"{"a": 1, "b": [1, "x, ]\"", {"c": null}]}"#,
            ),
            (
                "remove",
                "$.b[2].c",
                None,
                r#"{"a": 1, "b": [1, "x, ]\"", {}], "a b": {}}"#,
            ),
            (
                "insert",
                "$.b[1]",
                Some("0"),
                r#"{"a": 1, "b": [1, 0, "x, ]\"", {"c": null}], "a b": {}}"#,
            ),
            (
                "insert",
                "$.b[9]",
                Some("0"),
                r#"{"a": 1, "b": [1, "x, ]\"", {"c": null}, 0], "a b": {}}"#,
            ),
            (
                "insert",
                "$.\"a b\".d",
                Some("0"),
                r#"{"a": 1, "b": [1, "x, ]\"", {"c": null}], "a b": {"d": 0}}"#,
            ),
            (
                "insert",
                "$.aa",
                Some("0"),
                r#"{"a": 1, "b": [1, "x, ]\"", {"c": null}], "aa": 0, "a b": {}}"#,
            ),
            (
                "insert",
                "$.long",
                Some("0"),
                r#"{"a": 1, "b": [1, "x, ]\"", {"c": null}], "a b": {}, "long": 0}"#,
            ),
        ] {
            let applied = apply_changes(DOCUMENT, &[change(operation, path, value)]);
            assert_eq!(applied.as_deref(), Some(expected), "{operation} {path}");
        }
    }

    #[test]
    fn several_changes_are_made_one_after_another() {
        let changes = [
            change("replace", "$.b", Some("[1, 2]")),
            change("insert", "$.b[0]", Some("0")),
            change("remove", "$.b[2]", None),
        ];
        let expected = r#"{"a": 1, "b": [0, 1], "a b": {}}"#;
        assert_eq!(apply_changes(DOCUMENT, &changes).as_deref(), Some(expected));
    }

    #[test]
    fn changes_that_do_not_fit_give_no_document() {
        for (operation, path, value) in [
            ("replace", "$.missing", Some("1")),
            ("replace", "$[0]", Some("1")),
            ("replace", "$.a.b", Some("1")),
            ("replace", "$.b[3]", Some("1")),
            ("remove", "$", None),
            ("insert", "$.b.c", Some("1")),
            ("replace", "a", Some("1")),
            ("replace", "$.b[x]", Some("1")),
            ("replace", "$.b[1", Some("1")),
            ("replace", "$.\"b", Some("1")),
            ("replace", "$é", Some("1")),
        ] {
            let applied = apply_changes(DOCUMENT, &[change(operation, path, value)]);
            assert_eq!(applied, None, "{operation} {path}");
        }
        assert_eq!(
            apply_changes("{\"a", &[change("remove", "$.a", None)]),
            None
        );
    }
}
