//! Tags of a statement, in its comments and in its query attributes.

use sql::{Comment, Facts};

use super::occasion::Attribute;

/// Longer tags are ignored.
pub const TAG_BYTES_MAX: usize = 256;

/// Calls `look` with each tag of a statement, until `look` returns [`Enough::Yes`].
pub(crate) fn each(
    text: &[u8],
    facts: &Facts,
    attributes: &[Attribute<'_>],
    mut look: impl FnMut(&[u8]) -> Enough,
) {
    for attribute in attributes {
        if of_attribute(attribute, &mut look) == Enough::Yes {
            return;
        }
    }
    for comment in facts.comments.iter().filter(|it| !it.is_hint) {
        if of_comment(inside(*comment, text), &mut look) == Enough::Yes {
            return;
        }
    }
}

/// Whether another tag is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enough {
    Yes,
    No,
}

/// The tag of an attribute: the value if its name is `tag`, otherwise `name=value`.
fn of_attribute(attribute: &Attribute<'_>, look: &mut impl FnMut(&[u8]) -> Enough) -> Enough {
    if attribute.name.eq_ignore_ascii_case(b"tag") {
        return look(attribute.value);
    }
    let mut tag = Tag::new();
    tag.extend(attribute.name);
    tag.extend(b"=");
    tag.extend(attribute.value);
    tag.show(look)
}

/// `tag: a, b`, `pilotfish: tag=a, …`, `key='value',…`
fn of_comment(comment: &[u8], look: &mut impl FnMut(&[u8]) -> Enough) -> Enough {
    if let Some(tags) = behind(comment, b"tag") {
        return first_enough(tags.split(|byte| *byte == b','), |tag| {
            match unquoted(tag.trim_ascii()) {
                b"" => Enough::No,
                tag => look(tag),
            }
        });
    }
    if let Some(hint) = behind(comment, b"pilotfish") {
        return first_enough(items(hint), |(key, value)| match value {
            Some(value) if key.eq_ignore_ascii_case(b"tag") => look(value),
            _ => Enough::No,
        });
    }
    of_sqlcommenter(comment, look)
}

fn first_enough<T>(items: impl Iterator<Item = T>, mut look: impl FnMut(T) -> Enough) -> Enough {
    for item in items {
        if look(item) == Enough::Yes {
            return Enough::Yes;
        }
    }
    Enough::No
}

/// A comment without its delimiters and the space around it.
pub(crate) fn inside(comment: Comment, text: &[u8]) -> &[u8] {
    let raw = comment.span.of(text);
    let inner = match raw {
        [b'/', b'*', rest @ ..] => rest.strip_suffix(b"*/").unwrap_or(rest),
        [b'-', b'-', rest @ ..] | [b'#', rest @ ..] => rest,
        rest => rest,
    };
    inner.trim_ascii()
}

/// Returns the text after `word:` or `word=`.
pub(crate) fn behind<'a>(comment: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = comment.split_at_checked(word.len())?;
    let rest = rest.trim_ascii_start();
    let is_said = head.eq_ignore_ascii_case(word);
    match rest {
        [b':' | b'=', said @ ..] if is_said => Some(said.trim_ascii()),
        _ => None,
    }
}

/// The items of a hint: `primary, timeout=2s, gtid='a:1,b:2'`, cut at commas and semicolons outside
/// quotes; values without their quotes.
pub(crate) fn items(hint: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    let mut rest = hint;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let (item, behind) = cut(rest);
            rest = behind;
            let item = item.trim_ascii();
            if !item.is_empty() {
                return Some(key_and_value(item));
            }
        }
    })
}

fn cut(hint: &[u8]) -> (&[u8], &[u8]) {
    let mut quote = None;
    for (at, byte) in hint.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (None, b'\'' | b'"') => quote = Some(*byte),
            (None, b',' | b';') => return (&hint[..at], &hint[at + 1..]),
            _ => {}
        }
    }
    (hint, b"")
}

fn key_and_value(item: &[u8]) -> (&[u8], Option<&[u8]>) {
    match item.iter().position(|byte| *byte == b'=') {
        Some(at) => {
            let value = item[at + 1..].trim_ascii();
            (item[..at].trim_ascii_end(), Some(unquoted(value)))
        }
        None => (item, None),
    }
}

fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => inner,
        plain => plain,
    }
}

/// `key='value',key='value'` as <https://google.github.io/sqlcommenter/spec/> has it: URL-encoded,
/// quotes in values escaped by backslashes. A comment that contains anything else has no tags.
fn of_sqlcommenter(comment: &[u8], look: &mut impl FnMut(&[u8]) -> Enough) -> Enough {
    let is_whole = pairs(comment).all(|pair| pair.is_some());
    if !is_whole {
        return Enough::No;
    }
    first_enough(pairs(comment).flatten(), |(key, value)| {
        let mut tag = Tag::new();
        tag.extend_decoded(key);
        tag.extend(b"=");
        tag.extend_decoded(value);
        tag.show(look)
    })
}

/// Returns key and value of each pair. At the first part that is no pair it returns none and ends.
fn pairs(comment: &[u8]) -> impl Iterator<Item = Option<(&[u8], &[u8])>> {
    let mut rest = Some(comment);
    std::iter::from_fn(move || {
        let here = rest.take()?;
        let Some((key, value, behind)) = pair(here) else {
            return Some(None);
        };
        match behind.trim_ascii_start() {
            [] => {}
            [b',', more @ ..] => rest = Some(more),
            _ => return Some(None),
        }
        Some(Some((key, value)))
    })
}

/// Returns key and value of `key='value'`, and the text after it.
fn pair(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let equal = text.iter().position(|byte| *byte == b'=')?;
    let key = text[..equal].trim_ascii();
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.~%".contains(byte);
    let [b'\'', value @ ..] = text[equal + 1..].trim_ascii_start() else {
        return None;
    };
    if key.is_empty() || !key.iter().all(is_key) {
        return None;
    }
    let mut at = 0;
    loop {
        match value.get(at)? {
            b'\\' => at += 2,
            b'\'' => return Some((key, &value[..at], &value[at + 1..])),
            _ => at += 1,
        }
    }
}

/// A tag that is put together in a fixed buffer, without allocation.
struct Tag {
    bytes: [u8; TAG_BYTES_MAX],
    size: usize,
    is_too_long: bool,
}

impl Tag {
    fn new() -> Self {
        Self {
            bytes: [0; TAG_BYTES_MAX],
            size: 0,
            is_too_long: false,
        }
    }

    fn push(&mut self, byte: u8) {
        match self.bytes.get_mut(self.size) {
            Some(place) => {
                *place = byte;
                self.size += 1;
            }
            None => self.is_too_long = true,
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.push(*byte));
    }

    /// Appends bytes, with URL encoding and backslashes removed.
    fn extend_decoded(&mut self, mut bytes: &[u8]) {
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|it| it as u8);
        while let Some((byte, rest)) = bytes.split_first() {
            bytes = rest;
            match (byte, rest) {
                (b'%', [high, low, behind @ ..]) => match (digit(*high), digit(*low)) {
                    (Some(high), Some(low)) => {
                        self.push(high << 4 | low);
                        bytes = behind;
                    }
                    _ => self.push(b'%'),
                },
                (b'\\', [escaped, behind @ ..]) => {
                    self.push(*escaped);
                    bytes = behind;
                }
                _ => self.push(*byte),
            }
        }
    }

    fn show(&self, look: &mut impl FnMut(&[u8]) -> Enough) -> Enough {
        match self.is_too_long {
            true => Enough::No,
            false => look(&self.bytes[..self.size]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(statement: &str, attributes: &[(&str, &str)]) -> Vec<String> {
        let facts = sql::facts(statement.as_bytes(), sql::Flags::default());
        let attributes: Vec<_> = attributes
            .iter()
            .map(|(name, value)| Attribute {
                name: name.as_bytes(),
                value: value.as_bytes(),
            })
            .collect();
        let mut tags = Vec::new();
        each(statement.as_bytes(), &facts, &attributes, |tag| {
            tags.push(String::from_utf8_lossy(tag).into_owned());
            Enough::No
        });
        tags
    }

    #[test]
    fn comments_bear_tags_in_three_styles() {
        for (statement, expected) in [
            ("SELECT 1", &[][..]),
            ("/* tag: batch */ SELECT 1", &["batch"]),
            ("/* tag=batch, nightly */ SELECT 1", &["batch", "nightly"]),
            ("SELECT 1 -- tag: x", &["x"]),
            ("SELECT 1 # TAG:x", &["x"]),
            (
                "/* pilotfish: replica, tag=a; tag = 'b,c' */ SELECT 1",
                &["a", "b,c"],
            ),
            ("/* pilotfish: tag */ SELECT 1", &[]),
            ("/* tags: x */ SELECT 1", &[]),
            ("/*+ tag: x */ SELECT 1", &[]),
            ("SELECT '/* tag: x */'", &[]),
            (
                "SELECT 1 /*action='%2Fparam*d',controller='index',framework='spring'*/",
                &["action=/param*d", "controller=index", "framework=spring"],
            ),
            ("SELECT 1 /*a='it\\'s',b='100%'*/", &["a=it's", "b=100%"]),
            ("SELECT 1 /* a='b' and more */", &[]),
            ("SELECT 1 /* a='b */", &[]),
            ("SELECT 1 /* x = 1 */", &[]),
        ] {
            assert_eq!(tags(statement, &[]), expected, "{statement}");
        }
    }

    #[test]
    fn attributes_are_tags() {
        let attributes = [("tag", "batch"), ("app", "shop")];
        assert_eq!(tags("SELECT 1", &attributes), ["batch", "app=shop"]);
    }

    #[test]
    fn a_tag_that_is_too_long_is_none() {
        let long = "x".repeat(TAG_BYTES_MAX);
        assert!(tags(&format!("SELECT 1 /*a='{long}'*/"), &[("a", &long)]).is_empty());
        let fits = "x".repeat(TAG_BYTES_MAX - 2);
        assert_eq!(tags(&format!("SELECT 1 /*a='{fits}'*/"), &[]).len(), 1);
    }
}
